"""What all models share: named vectors, parameters, discrete variables, inputs, validation that collects every fault,
a place for results of compilation."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError
from dalembert.kept import Kept, Slot
from dalembert.model.functions import ModelFunction, describe, trace
from dalembert.model.graph import Graph
from dalembert.model.inputs import TracedInput
from dalembert.model.namespace import explain_unknown
from dalembert.model.outputs import NO_OUTPUTS, Outputs, checked_outputs, role_of
from dalembert.model.start import Start, checked_start
from dalembert.model.theta import NamedValues, ThetaLayout
from dalembert.model.travel import ARRIVED, Shared
from dalembert.model.vocabulary import FUNCTIONS, OTHERS, VOCABULARY, Role, select

if TYPE_CHECKING:
    from dalembert.model.hybrid import Beginning, Hybrid

WITHOUT_RATES: Slot[frozenset[str]] = Slot("inputs whose derivatives nobody reads", most=1)
#: functions of a mechanism that no method differentiates with respect to time
UNDIFFERENTIATED = ("mass", "force", "dynamics")
#: whether no function of a model contains the time itself
THROUGH_INPUTS: Slot[bool] = Slot("time acts through inputs", most=1)


class Model(Shared):
    """Base of `EquationsOfMotion`, `QuasiLinearDAE` and `ImplicitDAE`.

    Immutable: variants and copies share the graph and compiled code. Pickled, a model takes its graph along, and the
    functions that could not be traced; see `model.travel`.
    """

    name: str
    graph: Graph
    _outputs: Outputs = NO_OUTPUTS
    _start: Start = MappingProxyType({})
    _drawing: Any = None  # a sketch, see `draw`

    # -- what kind of model it is: other rooms ask this in place of the class ----------------------------------------

    #: kinds of the unknowns, in the order in which they stand in states
    state_kinds: tuple[str, ...]
    #: kinds that functions of the namespace may read
    readable_kinds: tuple[str, ...]
    #: kinds of which start values may be given, as the argument kind + "0"
    start_kinds: tuple[str, ...]
    #: what `Solution.residual` can be asked for
    residual_levels: tuple[str, ...]
    #: how a DAE is integrated, which is as it stands; None: there are several formulations
    own_formulation: str | None = None
    #: whether there are positions and velocities, a mass matrix, and constraints of several levels
    mechanical: bool = False
    #: whether constraints are in force at times only: contacts, dry friction
    has_contacts: bool = False
    #: whether derivatives enter by a matrix, E(x,t) x' = k(x,t)
    linear_in_rates: bool = True
    #: of a DAE: "auto": constraints that its equations hide are derived; "given": it is taken as it stands
    hidden: str = "given"
    #: of a DAE from symbols: what changes at events, start values with conditions and unknowns that keep theirs,
    #: interval, tolerance and sizes of unknowns of its experiment
    hybrid: Hybrid | None = None
    beginning: Beginning | None = None
    fixed_at_start: tuple[str, ...] = ()
    t_span: tuple[float, float] | None = None
    tolerance: float | None = None
    least_steps: int = 0
    nominal: Mapping[str, float] = MappingProxyType({})
    #: of a model that was translated: units and descriptions of variables, parameters and outputs, by name
    units: Mapping[str, str] = MappingProxyType({})
    comments: Mapping[str, str] = MappingProxyType({})
    #: what is to be done with the `continuous_kinds` where inputs jump: a mode of `consistent_initial_values`
    restart_mode: str = "correct"
    if TYPE_CHECKING:  # what only some kinds have: whoever reads it has asked for the kind before
        contacts: tuple[Any, ...]
        dry: tuple[Any, ...]
        impact: str
        edges: tuple[Any, ...]
        collisions: Any
        bilateral: Any
        n_differential: Any
        n_constraints: Any
        equation_names: Any
        structure: Any
        _equation_names: Any
        index: Any
        hidden_constraints: Any
        contact_values: Any

    @property
    def reserved(self) -> frozenset[str]:
        """Names of the namespace that no variable or parameter may have."""
        return frozenset((*OTHERS, *(kind for kind in self.readable_kinds if VOCABULARY[kind].reserved)))

    @property
    def differential_kinds(self) -> tuple[str, ...]:
        """Kinds whose derivatives occur."""
        return select(self.state_kinds, Role.DIFFERENTIAL, Role.UNKNOWN)

    @property
    def continuous_kinds(self) -> tuple[str, ...]:
        """Kinds that stay where inputs jump, so that a restart needs them; the others follow."""
        return select(self.state_kinds, Role.DIFFERENTIAL, Role.CONTACT, Role.UNKNOWN)

    @property
    def settable_kinds(self) -> tuple[str, ...]:
        """Kinds of which an event's action may set values that mean something: all but multipliers, which follow."""
        return tuple(kind for kind in self.state_kinds if VOCABULARY[kind].role is not Role.MULTIPLIER)

    @property
    def given_rates(self) -> tuple[str, ...]:
        """Kinds of start values that are derivatives; at a restart the last ones tell where to look for the next."""
        return select(self.start_kinds, Role.RATE)

    def guesses(self, kind: str) -> np.ndarray:
        """Where to look for start values that nobody gives: at zero, unless the model says more."""
        return np.zeros(self.graph.size(kind))

    def found_at_start(self, kind: str) -> frozenset[str]:
        """Components of a vector that is needed at the start which may be left out, since equations determine them."""
        return frozenset()

    # -- building --------------------------------------------------------------------------------------------------

    def _begin(
        self,
        name: str,
        vectors: Mapping[str, Sequence[str]],
        parameters: Mapping[str, Any],
        inputs: Mapping[str, Any],
        discrete: Mapping[str, Any],
        faults: list[str],
    ) -> None:
        if wrong_name(name):
            faults.append(f"name={shown(name)}: {wrong_name(name)}")
            name = "model"
        self.name = name
        reserved = self.reserved
        parameters, inputs = _mapping("parameters", parameters, faults), _mapping("inputs", inputs, faults)
        discrete = _mapping("discrete", discrete, faults)
        vectors = {kind: check_names(kind, names, reserved, faults) for kind, names in vectors.items()}
        values = _parameter_values(parameters, reserved, faults)
        modes = _discrete_values(discrete, reserved, faults)
        self._inputs: dict[str, TracedInput] = {}
        for input_name, given in inputs.items():
            if wrong_name(input_name):
                faults.append(f"input {shown(input_name)}: {wrong_name(input_name)}")
            elif input_name in reserved - {"u"}:  # a single input may well be called u
                faults.append(f"input '{input_name}': this name is reserved; choose another, e.g. '{input_name}_'")
            else:
                self._set_input(input_name, given, faults)
        self.graph = Graph(vectors, values, tuple(self._inputs), modes)
        variables = [n for names in vectors.values() for n in names]
        _check_unique([*variables, *self.graph.other_names()], faults)
        if faults:  # nothing can be traced with broken names
            raise ModelError(f"model '{name}' has faults", faults)
        #: what was derived from the graph; shared by all variants of this model
        self.kept = Kept()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what was derived from it."""
        return {name: value for name, value in dict(self.__dict__).items() if name != "kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of models that come again and again (tasks of a sweep), what was derived for the first serves all."""
        self.__dict__.update(state)
        if self._outputs:
            self._outputs = self._outputs.bound(self.graph)
        if self._drawing is not None:
            self._drawing = self._drawing.bound(self.graph)
        known = ARRIVED.get(self.graph.digest)
        # forms name their model in messages, and have what was hidden or not
        same = type(known) is type(self) and known.name == self.name and known.hidden == self.hidden
        if same and known.graph.t is self.graph.t:
            self.kept = known.kept
            return
        self.kept = Kept()
        ARRIVED.put(self.graph.digest, self)

    def _set_input(self, name: str, given: Any, faults: list[str]) -> None:
        try:
            self._inputs[name] = TracedInput(name, given)
        except ModelError as error:
            faults.append(str(error))

    def _hidden_names(self, kinds: Iterable[str], role: str) -> dict[str, str]:
        """For every name that exists but must not be used in `role`: why not."""
        allowed = ", ".join([*kinds, "t"])
        hidden = {}
        for kind in self.readable_kinds:
            if kind in kinds:
                continue
            # multipliers are no vectors of the graph yet while the constraints are traced
            for name in (kind, *self.graph.vectors.get(kind, ())):
                sentence = VOCABULARY[kind].sentence
                hidden[name] = f"it {sentence}, and {role}= may depend on {allowed}, parameters and inputs only"
        if not FUNCTIONS[role].input_rates:
            for name in self.graph.inputs:
                hidden[f"{name}_dot"] = f"{role}= is differentiated twice in time and must not contain rates of inputs"
        return hidden

    def _trace(self, role: str, function: Any, faults: list[str]) -> ModelFunction | None:
        if isinstance(function, np.ndarray) and function.dtype.kind in "fiu" and function.ndim in (1, 2):
            return self._constant(role, function, faults)  # no names are looked up
        may = FUNCTIONS[role]
        kinds = tuple(k for k in may.reads if VOCABULARY[k].role is Role.RATE or k in self.graph.vectors)
        hidden, rates = self._hidden_names(kinds, role), may.input_rates
        # all symbols there are: functions may share helpers that look at more than this one uses in the end
        more = tuple(k for k in self.readable_kinds if k in self.graph.vectors and k not in kinds)
        symbols = self.graph.symbols((*kinds, *more), hidden)
        traced = trace(role, function, symbols, lambda: self.graph.sample_points(kinds, hidden, rates), faults)
        if traced is not None and traced.traced and self._depends(role, function, traced.sx, more, hidden, faults):
            return None
        if traced is not None and traced.traced and contains_nan(traced.sx):
            faults.append(
                f"{describe(role, function)}: contains a constant that is NaN or infinite; check the numbers in it"
            )
        return traced

    @staticmethod
    def _constant(role: str, numbers: np.ndarray, faults: list[str]) -> ModelFunction:
        if not np.isfinite(numbers).all():
            faults.append(f"{role}: contains a constant that is NaN or infinite; check the numbers in it")
        sx = ca.SX(ca.DM(numbers.astype(float)))
        return ModelFunction(role, sx.shape, numbers.ndim, sx)

    def _depends(
        self, role: str, function: Any, value: ca.SX, kinds: Iterable[str], hidden: Mapping[str, str], faults: list[str]
    ) -> bool:
        """Whether what a function was shown and must not contain occurs in its value; each is a fault."""
        graph = self.graph
        names, symbols = [], ca.SX(0, 1)
        for kind in kinds:
            names, symbols = [*names, *graph.names(kind)], ca.vertcat(symbols, graph.symbol[kind])
        if not FUNCTIONS[role].input_rates:
            names, symbols = [*names, *(f"{name}_dot" for name in graph.inputs)], ca.vertcat(symbols, graph.du)
        if not names or not ca.depends_on(value, symbols):
            return False
        pattern = ca.jacobian_sparsity(ca.densify(ca.vec(value)), symbols)
        rows = dict(zip(pattern.get_triplet()[1], pattern.get_triplet()[0], strict=True))
        for column in sorted(rows):
            name = names[column]
            faults.append(
                f"{describe(role, function)}: '{name}' cannot be used here: {hidden[name]} (value {rows[column] + 1} "
                "of the result contains it)"
            )
        return bool(rows)

    def _finish(self, outputs: Any, start: Any, faults: list[str], drawing: Any = None) -> None:
        """What is no part of the equations: outputs, start values, a drawing; then all faults are raised."""
        if outputs is not None:
            given = checked_outputs(outputs, self._taken_names(), wrong_name, faults)
            if given:
                self._outputs = Outputs(given, self.graph, self.name)
                self._outputs.trace_all(faults)
        if start is not None:
            self._start = checked_start(self, start, faults)
        if drawing is not None:
            self._set_drawing(drawing, faults)
        if faults:
            raise ModelError(f"model '{self.name}' has faults", faults)

    def _set_drawing(self, given: Any, faults: list[str]) -> None:
        from dalembert.draw.sketch import sketch  # which needs models

        try:
            self._drawing = sketch(given, self)
        except ModelError as error:
            faults.append(f"drawing=: {error}")

    def _taken_names(self) -> dict[str, str]:
        """What has a name already, in words."""
        graph = self.graph
        taken = dict.fromkeys((*self.reserved, *self.readable_kinds), "is part of the namespace")
        for kind in (*graph.vectors, *(kind for kind in self.readable_kinds if kind == "dx")):
            taken |= dict.fromkeys(graph.names(kind), VOCABULARY[kind].sentence)
        taken |= dict.fromkeys(graph.parameters, "is a parameter")
        taken |= dict.fromkeys(graph.discrete, "is a discrete variable") | dict.fromkeys(graph.inputs, "is an input")
        return taken | {f"{name}_dot": "is the rate of an input" for name in graph.inputs}

    # -- outputs and start values ----------------------------------------------------------------------------------

    @property
    def outputs(self) -> Outputs:
        """Named quantities that follow from the state."""
        return self._outputs

    @property
    def start(self) -> dict[str, Any]:
        """Start values that belong to the model, as keyword arguments of `simulate` (a copy)."""
        return {key: value.copy() for key, value in self._start.items()}

    @property
    def drawing(self) -> Any:
        """What the model looks like; None if nobody said so."""
        return self._drawing

    def _repr_html_(self) -> str:
        """For notebooks."""
        from dalembert.model.presented import model_html

        return model_html(self)

    # -- parameters and inputs -------------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values by name (a copy)."""
        return {k: float(v) if v.ndim == 0 else v.copy() for k, v in self.graph.parameters.items()}

    @property
    def inputs(self) -> dict[str, TracedInput]:
        return dict(self._inputs)

    @property
    def discrete(self) -> dict[str, float]:
        """Start values of the discrete variables by name (a copy)."""
        return dict(self.graph.discrete)

    @property
    def discrete_names(self) -> tuple[str, ...]:
        """Names of the discrete variables in the order in which their values stand in θ."""
        return tuple(self.graph.discrete)

    def discrete_values(self, given: Mapping[str, Any] | None = None) -> np.ndarray:
        """Values of the discrete variables in their order: those given by name, the model's start values elsewhere.

        >>> import dalembert as da
        >>> brake = da.EquationsOfMotion(
        ...     p=["x"], mass=[1.0], force=lambda s: [-s.pressed * s.x_dot], discrete={"pressed": 0, "gear": 1})
        >>> brake.discrete_values({"pressed": True})
        array([1., 1.])
        """
        faults: list[str] = []
        values = self.discrete
        for name, value in _discrete_values(_mapping("discrete", given, faults), self.reserved, faults).items():
            if name in values:
                values[name] = value
            else:
                faults.append(f"discrete: {explain_unknown(name, values)}")
        if faults:
            raise ModelError(f"model '{self.name}': discrete variables", faults)
        return np.array(list(values.values()), float)

    def replace(self, parameters: Mapping[str, Any] | None = None, inputs: Mapping[str, Any] | None = None) -> Self:
        """A variant with other parameter values or inputs. Shares the graph and all compiled code with this one."""
        faults: list[str] = []
        parameters, inputs = _mapping("parameters", parameters, faults), _mapping("inputs", inputs, faults)
        if not (parameters or inputs or faults):
            return self
        variant = copy.copy(self)
        if parameters:
            values = dict(self.graph.parameters)
            for name, value in _parameter_values(parameters, self.reserved, faults).items():
                if name not in values:
                    faults.append(f"parameters: {explain_unknown(name, values)}")
                elif value.shape != values[name].shape:
                    faults.append(
                        f"parameter '{name}' has shape {value.shape}; the model was built with {values[name].shape}"
                    )
                else:
                    values[name] = value
            variant.graph = copy.copy(self.graph)
            variant.graph.parameters = values
        if inputs:
            variant._inputs = dict(self._inputs)
            for name, given in inputs.items():
                if name not in self._inputs:
                    faults.append(f"inputs: {explain_unknown(name, self._inputs)}")
                    continue
                variant._set_input(name, given, faults)
        if faults:
            raise ModelError(f"model '{self.name}' cannot be changed like this", faults)
        return variant

    def with_discrete(self, values: np.ndarray) -> Self:
        """A variant with these values of the discrete variables, in their order."""
        if not self.graph.discrete or np.array_equal(values, self.graph.discrete_values):
            return self
        variant = copy.copy(self)
        variant.graph = copy.copy(self.graph)
        known = self.graph.discrete
        names = self.discrete_names
        variant.graph.discrete = known.other(values) if isinstance(known, NamedValues) else NamedValues(names, values)
        return variant

    @property
    def theta_layout(self) -> ThetaLayout:
        """Where parameters, discrete variables and inputs stand in `theta`."""
        return self.graph.layout

    def theta(self, t: float | None = None, discrete: np.ndarray | None = None) -> np.ndarray:
        """A new θ with the inputs at time t (default: zero) and the discrete variables' values (default: at start)."""
        graph = self.graph
        inputs = self.input_values(t) if t is not None and self._inputs else None
        values = graph.discrete_values if discrete is None else discrete
        return graph.layout.assemble(graph.parameter_values, values, inputs)

    def thetas(self, t: np.ndarray, discrete: np.ndarray | None = None) -> np.ndarray:
        """`theta` at N times, as columns; `discrete` holds the values for all times, or (n, N) for each of them."""
        t, graph = np.asarray(t, float), self.graph
        values = graph.discrete_values if discrete is None else discrete
        return graph.layout.assemble_many(graph.parameter_values, values, self._input_columns(t), len(t))

    def _input_columns(self, t: np.ndarray) -> np.ndarray | None:
        """u, u', u'' at many times, a column for each."""
        if not self._inputs:
            return None
        if any(traced.sx is None for traced in self._inputs.values()) or len(t) == 0:
            columns = np.zeros((self.theta_layout.n_moving, len(t)))
            for i, time in enumerate(t):
                columns[:, i] = self.input_values(time).ravel()
            return columns
        # a CasADi function takes a row of times at once: three rows for each input
        rows = np.array([np.array(traced.sx(t[None, :]), float) for traced in self._inputs.values()])
        return rows.transpose(1, 0, 2)

    def input_values(self, t: float, *, to_move: bool = False) -> np.ndarray:
        """u, u', u'' at time t as three rows. `to_move`: derivatives that would have to be estimated are 0 where the
        motion does not depend on them; outputs and events may."""
        columns, unread = [], self._without_rates if to_move else ()
        for name, traced in self._inputs.items():
            if traced.sx is None:
                columns.append(traced.python(t, rates=name not in unread))
            else:
                columns.append(np.asarray(traced.sx(t), float).ravel())
        return np.array(columns, float).reshape(len(columns), 3).T

    @property
    def _without_rates(self) -> frozenset[str]:
        """Inputs that forces alone depend on: constraints are differentiated, and so is what they depend on."""

        def find() -> frozenset[str]:
            graph = self.graph
            if not self.mechanical or not all(f.traced for f in graph.functions.values()):
                return frozenset()
            every = [f.sx for f in graph.functions.values()]
            differentiated = [f.sx for role, f in graph.functions.items() if role not in UNDIFFERENTIATED]
            read = [(graph.u, differentiated), (graph.du, every), (graph.ddu, every)]
            return frozenset(
                name
                for k, name in enumerate(self._inputs)
                if not any(ca.depends_on(sx, symbols[k]) for symbols, functions in read for sx in functions)
            )

        return self.kept.get(WITHOUT_RATES, None, find)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times at which an input is not smooth."""
        return tuple(sorted({b for traced in self._inputs.values() for b in traced.breakpoints}))

    @property
    def time_acts_through_inputs(self) -> bool:
        """Whether no function contains the time itself; those that could not be traced might."""
        t, functions = self.graph.t, self.graph.functions.values()

        def timeless(f: ModelFunction) -> bool:
            if f.native is not None:
                return not f.native.moves and (f.applied is None or not ca.depends_on(f.applied, t))
            return f.traced and not ca.depends_on(f.sx, t)

        return self.kept.get(THROUGH_INPUTS, None, lambda: all(map(timeless, functions)))

    @property
    def untraceable(self) -> dict[str, str]:
        """Functions that run as Python code, with the reason."""
        functions = self.graph.functions
        python = [role for role, f in functions.items() if role in FUNCTIONS and not f.traced and f.native is None]
        reasons = {role: functions[role].reason for role in python}
        reasons |= {f"input {n}": i.reason for n, i in self._inputs.items() if i.sx is None}
        return reasons | {role_of(name): reason for name, reason in self._outputs.untraceable.items()}

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the components of a vector: p, v, r, w, s, lam, mu, or x, dx."""
        return self.graph.names(kind) if isinstance(kind, str) and kind in VOCABULARY else ()


def _mapping(what: str, given: Any, faults: list[str]) -> dict[Any, Any]:
    if given is None or isinstance(given, Mapping):
        return dict(given or ())
    faults.append(f"{what}={shown(given)}: give a mapping of names to values, e.g. {what}={{'m': 1.0}}")
    return {}


def check_names(kind: str, names: Any, reserved: frozenset[str], faults: list[str]) -> tuple[str, ...]:
    """The names that can be used; what is wrong with the others goes to `faults`."""
    if isinstance(names, str):
        faults.append(f"{kind}={names!r}: give a list of names, e.g. {kind}=[{names!r}]")
        return ()
    try:
        names = list(names)
    except Exception:  # no sequence, or one of its own making that fails
        faults.append(f"{kind}={shown(names)}: give a list of names")
        return ()
    good = []
    for name in names:
        if wrong_name(name):
            faults.append(f"{kind}: {shown(name)} is not a name; {wrong_name(name)}")
        elif name in reserved:
            faults.append(
                f"{kind}: the name '{name}' is reserved for a vector of the namespace; choose another, e.g. '{name}_'"
            )
        else:
            good.append(name)
    return tuple(good)


def wrong_name(name: Any) -> str:
    """Why this cannot be the name of anything; empty if it can. Names go into files and messages."""
    if not isinstance(name, str) or not name:
        return "names are non-empty strings"
    if "\0" in name:
        return "names must not contain the character NUL"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "names must not contain half of a pair of characters (a lone surrogate): that cannot be written"
    return ""


def _parameter_values(
    parameters: Mapping[str, Any], reserved: frozenset[str], faults: list[str]
) -> dict[str, np.ndarray]:
    values = {}
    for name, given in parameters.items():
        wrong = wrong_name(name) or ("this name is reserved" if name in reserved else "")
        if wrong:
            faults.append(f"parameter {shown(name)}: {wrong}")
            continue
        try:
            value = reals(given)
        except NoNumber as reason:
            why = "is not a number or an array of numbers" if "not an array" in str(reason) else reason
            faults.append(f"parameter '{name}' = {shown(given)} {why}")
            continue
        if not (np.isfinite(value).all() if value.ndim else math.isfinite(value)):
            faults.append(f"parameter '{name}' = {shown(given)} is not finite")
            continue
        values[name] = value
    return values


def _discrete_values(given: Mapping[str, Any], reserved: frozenset[str], faults: list[str]) -> dict[str, float]:
    values = {}
    for name, value in given.items():
        if wrong_name(name):
            faults.append(f"discrete variable {shown(name)}: {wrong_name(name)}")
            continue
        if name in reserved:
            faults.append(f"discrete variable '{name}': this name is reserved; choose another, e.g. '{name}_'")
            continue
        try:
            number = real(value, flags=True)
        except NoNumber:
            number = np.nan
        if not np.isfinite(number):
            faults.append(f"discrete variable '{name}' = {shown(value)} must be a finite number")
            continue
        values[name] = number
    return values


def _check_unique(names: Sequence[str], faults: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            faults.append(
                f"the name '{name}' is given twice; "
                "variables, their rates (name_dot), parameters, discrete variables and inputs share one namespace"
            )
        seen.add(name)


def occurrences(expression: ca.SX, symbols: ca.SX) -> tuple[np.ndarray, np.ndarray]:
    """Which entries of an expression contain any of the symbols, and which symbols occur: two masks."""
    pattern = ca.jacobian_sparsity(ca.densify(ca.vec(expression)), symbols)
    return np.diff(pattern.T.colind()) > 0, np.diff(pattern.colind()) > 0


def contains_nan(sx: ca.SX) -> bool:
    """Whether a NaN or infinite constant stands in the expression."""
    sx = ca.SX(sx)  # numbers alone may be a DM
    tape = ca.Function("f", [ca.veccat(*ca.symvar(sx))], [sx])
    kinds = np.fromiter(map(tape.instruction_id, range(tape.n_instructions())), int)
    return any(not np.isfinite(tape.instruction_constant(k)) for k in np.flatnonzero(kinds == ca.OP_CONST).tolist())
