"""The graph of a model: its symbols, its functions as expressions of them, and what stands in for Python functions.

A function that cannot be traced enters the graph as *external symbols*: its value, and where the regularization needs
them its derivatives, are inputs of the graph that `opaque.py` fills with numbers at every evaluation. Everything
downstream treats both kinds alike. Native functions (`native.py`) do the same with sparse patterns, and ports fill them
by machine code.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np

from dalembert.model.expression import scalar, vector
from dalembert.model.functions import ModelFunction
from dalembert.model.namespace import Namespace
from dalembert.model.native_blocks import NativeBlock, native_block
from dalembert.model.theta import ThetaLayout, values_of
from dalembert.model.travel import ARRIVED, Shared, carried, pack_expressions, unpack_expressions
from dalembert.model.vocabulary import VOCABULARY, Role

if TYPE_CHECKING:
    from dalembert.model.outputs import Outputs

#: Symbols of a graph besides those of its vectors
SYMBOLS = ("t", "a", "dx", "u", "du", "ddu", "parameter_symbols", "discrete_symbols")
#: What a graph makes of these
DERIVED = ("theta", "time", "changing", "_parameter_values", "digest")
#: Variables that a sample point for untraceable functions gets, one set per try.
SAMPLES = (0.31, -0.47, 1.13)


@dataclass(frozen=True)
class External:
    """A block of external symbols: `what` of the untraceable function `role`, column by column.

    `what` is "value", "time" (partial derivative by explicit time), "first" and "second" (derivatives along the
    flow p' = Z v, s' = …, t' = 1), or "by p", "by s", "by v" (Jacobian). Of a native function it is a quantity, and the
    symbols are its nonzeros in the order in which its code writes them.
    """

    role: str
    what: str
    symbol: ca.SX
    shape: tuple[int, int]
    native: NativeBlock | None = None

    @property
    def needs_flow(self) -> bool:
        return self.native is None and self.what in ("first", "second")


@dataclass
class Graph(Shared):
    """Symbols and functions of one model.

    `vectors` maps p, v, … to names, `parameters` and `discrete` map names to values. `layout` says where the parts of
    the vector `theta` stand.
    """

    vectors: Mapping[str, Sequence[str]]
    parameters: Mapping[str, np.ndarray]
    inputs: Sequence[str]
    discrete: Mapping[str, float] = field(default_factory=dict)  # start values: constant until an event sets others
    functions: dict[str, ModelFunction] = field(default_factory=dict)
    externals: dict[tuple[str, str], External] = field(default_factory=dict)
    promises: frozenset[str] = frozenset()  # "autonomous", "constant mass": for functions that cannot be traced
    #: what the namespaces of a branch offer besides, for events and the like
    outputs: ClassVar[Outputs | None] = None
    #: whether variables may have any names, also those of vectors, of the time and of derivatives, and hide these
    free_names: ClassVar[bool] = False
    #: of a graph from which unknowns were eliminated: the one before, and its vectors by those that are left
    whole: ClassVar[Graph]
    expressions: ClassVar[Mapping[str, Any]]
    #: of a graph that came from elsewhere: what it has in common with others of the same model, by hash
    digest: str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.t = ca.SX.sym("t")
        self.symbol: dict[str, ca.SX] = {}
        for kind, names in self.vectors.items():
            self.symbol[kind] = ca.SX.sym(kind, len(names))
        self.a, self.dx = (ca.SX.sym(kind, self.size(kind)) for kind in ("a", "dx"))
        n_parameters, n_u = sum(value.size for value in self.parameters.values()), len(self.inputs)
        self.layout = ThetaLayout(n_parameters, len(self.discrete), n_u)
        self.u, self.du, self.ddu = (ca.SX.sym(name, n_u) for name in ("u", "du", "ddu"))
        self.parameter_symbols = ca.SX.sym("theta", n_parameters)
        self.discrete_symbols = ca.SX.sym("discrete", len(self.discrete))
        self._put_together()

    def _put_together(self) -> None:
        self.theta = ca.vertcat(self.parameter_symbols, self.discrete_symbols, self.u, self.du, self.ddu)
        #: the time and what moves with it
        self.time = ca.vertcat(self.t, self.u, self.du, self.ddu)
        #: everything beside the state that may change in a simulation, be it at events only
        self.changing = ca.vertcat(self.time, self.discrete_symbols)

    # -- pickling --------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """All expressions in one piece; external symbols are made anew at the other end when they are needed."""
        # a copy first: another thread may just be simulating
        state = {name: value for name, value in dict(self.__dict__).items() if name not in (*DERIVED, *SYMBOLS)}
        functions = {role: replace(f, python=carried(f.python, f.role)) for role, f in self.functions.items()}
        traced = [role for role, f in functions.items() if f.traced]
        applied = [role for role, f in functions.items() if f.applied is not None]
        symbols = [*(getattr(self, name) for name in SYMBOLS), *self.symbol.values()]
        state |= {
            "symbol": tuple(self.symbol),
            "functions": {role: replace(f, sx=None, applied=None) for role, f in functions.items()},
            "traced": traced,
            "applied": applied,
            "externals": {},
            "casadi": ca.__version__,
            "expressions": pack_expressions(
                [*symbols, *(functions[role].sx for role in traced), *(functions[role].applied for role in applied)]
            ),
        }
        return state

    def _digest(self, state: dict[str, Any]) -> str | None:
        """Hash of all but the parameters' values; None if functions that cannot be compared belong to it."""
        functions = state["functions"]
        natives = {role: f.native for role, f in functions.items() if f.native is not None}
        if type(self) is not Graph or len(state["traced"]) + len(natives) < len(functions):
            return None
        shapes = {name: value.shape for name, value in state["parameters"].items()}
        others = (*(state[name] for name in ("vectors", "inputs", "discrete", "casadi")), sorted(state["promises"]))
        content = repr((others, shapes, [(role, f.shape, f.ndim) for role, f in functions.items()]))
        code = pickle.dumps(natives) if natives else b""
        return hashlib.sha256(content.encode() + state["expressions"] + code).hexdigest()

    def __setstate__(self, state: dict[str, Any]) -> None:
        digest = self._digest(state)
        known = ARRIVED.get(digest)
        if known is not None:  # a variant of a model that is here already
            self.__dict__.update(known.graph.__dict__)
            self.parameters = state["parameters"]
            return
        kinds, traced, applied = state.pop("symbol"), state.pop("traced"), state.pop("applied")
        expressions = iter(unpack_expressions(state.pop("expressions"), state.pop("casadi")))
        self.__dict__.update(state)
        self.digest = digest
        for name in SYMBOLS:
            setattr(self, name, next(expressions))
        self.symbol = {kind: next(expressions) for kind in kinds}
        for role in traced:
            self.functions[role] = replace(self.functions[role], sx=next(expressions))
        for role in applied:
            self.functions[role] = replace(self.functions[role], applied=next(expressions))
        self._put_together()

    # -- sizes and names -------------------------------------------------------------------------------------------

    def size(self, kind: str) -> int:
        """Number of components; accelerations and other rates have those of their vectors."""
        return len(self.vectors.get(VOCABULARY[kind].of or kind, ()))

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the components in states; those of rates and of a formulation's own vectors are made up."""
        word = VOCABULARY[kind]
        if word.of is None and word.component == "{}":
            return tuple(self.vectors.get(kind, ()))
        return tuple(word.component.format(name) for name in self.vectors.get(word.of or kind, ()))

    @property
    def event_kinds(self) -> tuple[str, ...]:
        """What event functions may depend on: everything, also accelerations."""
        return (*self.vectors, "a") if self.size("v") else tuple(self.vectors)

    def other_names(self) -> tuple[str, ...]:
        """Names in the namespace that are no variables: parameters, discrete variables, inputs and their rates."""
        return (*self.parameters, *self.discrete, *self.inputs, *(f"{name}_dot" for name in self.inputs))

    def add_vector(self, kind: str, names: Sequence[str]) -> None:
        """Add a vector whose length is known only after tracing (the multipliers)."""
        self.vectors = {**self.vectors, kind: tuple(names)}
        self.symbol[kind] = ca.SX.sym(kind, len(names))

    def add_discrete(self, values: Mapping[str, float]) -> None:
        """Add discrete variables, before anything is made of θ."""
        self.discrete = {**self.discrete, **values}
        self.discrete_symbols = ca.vertcat(self.discrete_symbols, ca.SX.sym("mode", len(values)))
        self.layout = ThetaLayout(self.layout.n_parameters, len(self.discrete), len(self.inputs))
        self._put_together()

    def branch(self, outputs: Outputs | None = None) -> Graph:
        """A graph with the same symbols to which functions can be added without changing this one.

        Its namespaces have the model's `outputs`, too, if these are given.
        """
        twin = copy.copy(self)
        twin.functions, twin.externals = dict(self.functions), dict(self.externals)
        if outputs:
            twin.outputs = outputs  # ty: ignore[invalid-attribute-access]  # of this graph alone
        return twin

    @property
    def parameter_values(self) -> np.ndarray:
        """All parameters as one vector, not to be written."""
        known = self.__dict__.get("_parameter_values")
        if known is None or known[0] is not self.parameters:
            values = np.concatenate([np.ravel(value) for value in self.parameters.values()] or [np.zeros(0)])
            values.flags.writeable = False
            known = self._parameter_values = (self.parameters, values)
        return known[1]

    @property
    def discrete_values(self) -> np.ndarray:
        """Start values of the discrete variables as one vector."""
        return values_of(self.discrete)

    # -- namespaces ------------------------------------------------------------------------------------------------

    def symbols(self, kinds: Iterable[str], hidden: Mapping[str, str], input_rates: bool = True) -> Namespace:
        """Namespace of symbols for tracing a function that may depend on `kinds` (besides t, parameters, inputs)."""
        places = self._places(tuple(kinds), input_rates)
        values: dict[str, Any] = {}  # made at first use: a model of many bodies has many names

        def lookup(name: str) -> Any:
            if name not in values:
                own = self.outputs is not None and name in self.outputs
                values[name] = self.outputs.symbol(name, self) if own else self._symbol_at(*places[name])
            return values[name]

        return Namespace(lookup, self._known(places), {k: v for k, v in hidden.items() if k not in places})

    def _symbol_at(self, kind: str, where: Any) -> Any:
        if kind == "t":
            return scalar(self.t)
        if kind == "parameter":
            start, shape = where
            part = self.parameter_symbols[start : start + int(np.prod(shape))]
            return scalar(part) if shape == () else vector(part).reshape(shape)
        if kind == "discrete":
            return scalar(self.discrete_symbols[where])
        if kind == "input":
            return scalar(ca.vertcat(self.u, self.du)[where])
        if kind == "inputs":
            return vector(self.u)
        symbol = getattr(self, kind) if VOCABULARY[kind].role is Role.RATE else self.symbol[kind]
        return vector(symbol) if where is None else scalar(symbol[where])

    def numbers(
        self,
        kinds: Iterable[str],
        hidden: Mapping[str, str],
        t: float,
        values: Mapping[str, np.ndarray],
        theta: np.ndarray,
        input_rates: bool = True,
    ) -> Namespace:
        """Namespace of numbers for evaluating an untraceable function."""
        places, layout = self._places(tuple(kinds), input_rates), self.layout

        def lookup(name: str) -> Any:
            if self.outputs is not None and name in self.outputs:
                return self.outputs.number(name, t, values, theta)
            kind, where = places[name]
            if kind == "t":
                return t
            if kind == "parameter":
                start, shape = where
                size = int(np.prod(shape))
                return float(theta[start]) if shape == () else theta[start : start + size].reshape(shape)
            if kind == "discrete":
                return float(theta[layout.discrete][where])
            if kind == "input":
                return float(theta[layout.inputs][where])
            if kind == "inputs":
                return np.array(theta[layout.u])
            return np.array(values[kind]) if where is None else float(values[kind][where])

        return Namespace(lookup, self._known(places), {k: v for k, v in hidden.items() if k not in places})

    def _known(self, places: Mapping[str, Any]) -> Collection[str]:
        """Names in a namespace."""
        return places.keys() if self.outputs is None else ChainMap(places, self.outputs)

    def _places(self, kinds: tuple[str, ...], input_rates: bool) -> dict[str, tuple[str, Any]]:
        places: dict[str, tuple[str, Any]] = {"t": ("t", None), "u": ("inputs", None)}
        rates: dict[str, tuple[str, Any]] = {}
        for kind in kinds:
            places[kind] = (kind, None)
            if kind != "a" and not (kind == "dx" and self.free_names):  # their names come last
                for i, name in enumerate(self.names(kind)):
                    places[name] = (kind, i)
        offset = 0
        for name, value in self.parameters.items():
            places[name] = ("parameter", (offset, value.shape))
            offset += value.size
        for i, name in enumerate(self.discrete):
            places[name] = ("discrete", i)
        for i, name in enumerate(self.inputs):
            places[name] = ("input", i)
            if input_rates:
                rates[f"{name}_dot"] = ("input", len(self.inputs) + i)
        if self.free_names:
            rates |= {name: ("dx", i) for i, name in enumerate(self.names("dx"))} if "dx" in kinds else {}
            return {"time": ("t", None), **rates, **places}
        places |= rates
        if "a" in kinds:
            for i, name in enumerate(self.acceleration_names()):
                places.setdefault(name, ("a", i))
        return places

    def acceleration_names(self) -> tuple[str, ...]:
        """x_ddot where the velocity is x_dot, omega_dot where it is omega; names that are taken mean what they did."""
        positions = frozenset(self.vectors.get("p", ()))
        return tuple(
            f"{name[:-4]}_ddot" if name.endswith("_dot") and name[:-4] in positions else f"{name}_dot"
            for name in self.vectors.get("v", ())
        )

    def sample_points(
        self, kinds: Iterable[str], hidden: Mapping[str, str], input_rates: bool = True
    ) -> list[Namespace]:
        """A few generic points at which an untraceable function is tried while the model is built."""
        kinds = tuple(kinds)
        lengths = {kind: self.size(kind) for kind in kinds}
        points = []
        for k, sample in enumerate(SAMPLES):
            values = {kind: sample + 0.1 * np.arange(length) for kind, length in lengths.items()}
            theta = self.sample_theta(sample)
            points.append(self.numbers(kinds, hidden, 0.1 * k, values, theta, input_rates))
        return points

    def sample_theta(self, inputs: float, discrete: float = 0.0) -> np.ndarray:
        """θ with all inputs and their rates at one value, and the discrete variables moved by `discrete`."""
        return self.layout.assemble(
            self.parameter_values, self.discrete_values + discrete, np.full(self.layout.n_moving, inputs)
        )

    # -- functions as expressions ----------------------------------------------------------------------------------

    def value(self, role: str) -> ca.SX:
        """The function's value: its traced expression or external symbols in its shape."""
        function = self.functions[role]
        if function.traced:
            return function.sx
        if function.native is not None:
            return self.native_rows(role)
        value = self.external(role, "value", function.shape)
        return ca.diag(value) if role == "mass" and function.ndim == 1 else value

    def external(self, role: str, what: str, shape: tuple[int, int]) -> ca.SX:
        """External symbols for `what` of an untraceable function, made at first use."""
        key = (role, what)
        if key not in self.externals:
            symbol = ca.SX.sym("external", shape[0] * shape[1])
            self.externals.setdefault(key, External(role, what, symbol, shape))  # another thread may have been quicker
        return ca.reshape(self.externals[key].symbol, *shape)

    def native(self, role: str, what: str = "value") -> ca.SX:
        """A quantity of a native function as external symbols in its pattern, made at first use."""
        key = (role, what)
        if key not in self.externals:
            block = native_block(self, role, what)
            symbol = ca.SX.sym("native", block.size)
            self.externals.setdefault(key, External(role, what, symbol, block.shape, block))
        external = self.externals[key]
        if external.native.pattern is None:
            return external.symbol
        return external.native.matrix(external.symbol)

    def native_rows(self, role: str, what: str = "value") -> ca.SX:
        """The same, with those rows that are in force."""
        rows = self.functions[role].chosen
        return self.native(role, what) if rows is None else self.native(role, what)[list(rows), :]

    def argument(self, kind: str) -> ca.SX:
        """A vector as native functions read it."""
        return self.a if kind == "a" else self.symbol[kind]

    def whole_values(self, values: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Numbers of the vectors as native functions read them."""
        return values

    def native_size(self, role: str, what: str) -> int:
        """How many numbers the code of a quantity writes."""
        return native_block(self, role, what).size

    @property
    def has_native(self) -> bool:
        """Whether a function is native."""
        return any(function.native is not None for function in self.functions.values())

    def theta_places(self) -> dict[str, slice]:
        """Where parameters, discrete variables, inputs and their rates stand in θ, by name."""
        layout, places, offset = self.layout, {}, 0
        for name, value in self.parameters.items():
            places[name] = slice(offset, offset + value.size)
            offset += value.size
        for i, name in enumerate(self.discrete):
            places[name] = slice(layout.discrete.start + i, layout.discrete.start + i + 1)
        for i, name in enumerate(self.inputs):
            for part, suffix in ((layout.u, ""), (layout.du, "_dot"), (layout.ddu, "_ddot")):
                places[name + suffix] = slice(part.start + i, part.start + i + 1)
        return places

    def externals_in(self, expression: ca.SX) -> list[External]:
        """The external blocks an expression depends on."""
        blocks = list(self.externals.values())  # another thread may be adding some
        return [block for block in blocks if ca.depends_on(expression, block.symbol)]
