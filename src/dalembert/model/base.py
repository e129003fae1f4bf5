"""What all models share: named vectors, parameters, inputs, validation that collects every fault, a place for results
of compilation."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Kept, Slot
from dalembert.model.functions import ModelFunction, describe, numbers_of, trace
from dalembert.model.graph import Graph
from dalembert.model.inputs import TracedInput
from dalembert.model.namespace import RESERVED, explain_unknown
from dalembert.model.opaque import DEPENDENCIES, WITHOUT_INPUT_RATES

#: whether no function of a model contains the time itself
THROUGH_INPUTS: Slot[bool] = Slot("time acts through inputs", most=1)


class Model:
    """Base of `EquationsOfMotion`, `QuasiLinearDAE` and `ImplicitDAE`.

    Immutable: variants share the graph and compiled code.
    """

    name: str
    graph: Graph
    reserved: frozenset[str] = RESERVED

    def _begin(
        self,
        name: str,
        vectors: Mapping[str, Sequence[str]],
        parameters: Mapping[str, Any],
        inputs: Mapping[str, Any],
        faults: list[str],
    ) -> None:
        self.name = name
        reserved = self.reserved
        parameters, inputs = _mapping("parameters", parameters, faults), _mapping("inputs", inputs, faults)
        vectors = {kind: check_names(kind, names, reserved, faults) for kind, names in vectors.items()}
        values = _parameter_values(parameters, reserved, faults)
        self._inputs: dict[str, TracedInput] = {}
        for input_name, given in inputs.items():
            if not isinstance(input_name, str) or not input_name:
                faults.append(f"input {input_name!r}: names are non-empty strings")
            elif input_name in reserved - {"u"}:  # a single input may well be called u
                faults.append(f"input '{input_name}': this name is reserved; choose another, e.g. '{input_name}_'")
            else:
                self._set_input(input_name, given, faults)
        self.graph = Graph(vectors, values, tuple(self._inputs))
        rates = [f"{n}_dot" for n in self._inputs]
        _check_unique([*(n for names in vectors.values() for n in names), *values, *self._inputs, *rates], faults)
        if faults:  # nothing can be traced with broken names
            raise ModelError(f"model '{name}' has faults", faults)
        #: what was derived from the graph; shared by all variants of this model
        self.kept = Kept()
        self.cache: dict[Any, Any] = {}
        self.lock = self.kept.lock

    def _begin_dae(self, name: str, x: Any, parameters: Any, inputs: Any) -> list[str]:
        """`_begin` with the only vector x, which must not be empty; returns the list for further faults."""
        faults: list[str] = []
        self._begin(name, {"x": x}, parameters, inputs, faults)
        if not self.graph.size("x"):
            raise ModelError(f"model '{name}' has faults", ["x=: a DAE needs at least one unknown"])
        return faults

    def _set_input(self, name: str, given: Any, faults: list[str]) -> None:
        try:
            self._inputs[name] = TracedInput(name, given)
        except ModelError as error:
            faults.append(str(error))

    def _hidden_names(self, kinds: Iterable[str], role: str) -> dict[str, str]:
        """For every name that exists but must not be used in `role`: why not."""
        sentence = {
            "v": "is a velocity",
            "r": "is a dynamic force variable",
            "w": "is an auxiliary variable",
            "s": "is a contact-point coordinate",
            "lam": "is a multiplier",
            "mu": "is a multiplier",
            "p": "is a position",
            "x": "is a state",
            "a": "is an acceleration",
        }
        allowed = ", ".join([*kinds, "t"])
        hidden = {}
        # multipliers and accelerations are no vectors of the graph yet while the constraints are traced
        later = {} if "x" in self.graph.vectors else {"lam": (), "mu": (), "a": ()}
        for kind, names in (later | dict(self.graph.vectors)).items():
            if kind in kinds:
                continue
            for name in (kind, *names):
                hidden[name] = f"it {sentence[kind]}, and {role}= may depend on {allowed}, parameters and inputs only"
        if role in WITHOUT_INPUT_RATES:
            for name in self.graph.inputs:
                hidden[f"{name}_dot"] = f"{role}= is differentiated twice in time and must not contain rates of inputs"
        return hidden

    def _trace(self, role: str, function: Any, faults: list[str]) -> ModelFunction | None:
        kinds = tuple(k for k in DEPENDENCIES[role] if k in ("a", "dx") or k in self.graph.vectors)
        hidden = self._hidden_names(kinds, role)
        rates = role not in WITHOUT_INPUT_RATES
        symbols = self.graph.symbols(kinds, hidden, rates)
        traced = trace(role, function, symbols, lambda: self.graph.sample_points(kinds, hidden, rates), faults)
        if traced is not None and traced.traced and contains_nan(traced.sx):
            faults.append(
                f"{describe(role, function)}: contains a constant that is NaN or infinite; check the numbers in it"
            )
        return traced

    # -- parameters and inputs -------------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values by name (a copy)."""
        return {k: float(v) if v.ndim == 0 else v.copy() for k, v in self.graph.parameters.items()}

    @property
    def inputs(self) -> dict[str, TracedInput]:
        return dict(self._inputs)

    def replace(self, parameters: Mapping[str, Any] | None = None, inputs: Mapping[str, Any] | None = None) -> Model:
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

    def theta(self, t: float | None = None) -> np.ndarray:
        """Parameters followed by u, u', u'' (at time t, or zero)."""
        u = np.zeros((3, len(self._inputs))) if t is None or not self._inputs else self.input_values(t)
        return np.concatenate([self.graph.parameter_values, u.ravel()])

    def thetas(self, t: np.ndarray) -> np.ndarray:
        """`theta` at many times, as columns."""
        t = np.asarray(t, float)
        constant = np.repeat(self.graph.parameter_values[:, None], len(t), axis=1)
        if not self._inputs:
            return constant
        if any(traced.sx is None for traced in self._inputs.values()) or len(t) == 0:
            return np.concatenate(
                [constant, np.array([self.input_values(time).ravel() for time in t]).reshape(len(t), -1).T]
            )
        # a CasADi function takes a row of times at once: three rows for each input
        rows = np.array([np.array(traced.sx(t[None, :]), float) for traced in self._inputs.values()])
        return np.concatenate([constant, rows.transpose(1, 0, 2).reshape(-1, len(t))])

    def input_values(self, t: float) -> np.ndarray:
        """u, u', u'' at time t as three rows."""
        columns = []
        for traced in self._inputs.values():
            columns.append(traced.python(t) if traced.sx is None else np.asarray(traced.sx(t), float).ravel())
        return np.array(columns, float).reshape(len(columns), 3).T

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times at which an input is not smooth."""
        return tuple(sorted({b for traced in self._inputs.values() for b in traced.breakpoints}))

    @property
    def time_acts_through_inputs(self) -> bool:
        """Whether no function contains the time itself; those that could not be traced might."""
        functions = self.graph.functions.values()
        return self.kept.get(
            THROUGH_INPUTS, None, lambda: all(f.traced and not ca.depends_on(f.sx, self.graph.t) for f in functions)
        )

    @property
    def untraceable(self) -> dict[str, str]:
        """Functions that run as Python code, with the reason."""
        reasons = {role: f.reason for role, f in self.graph.functions.items() if role in DEPENDENCIES and not f.traced}
        return reasons | {f"input {n}": i.reason for n, i in self._inputs.items() if i.sx is None}

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the components of a vector: p, v, r, w, s, lam, mu, or x."""
        return tuple(self.graph.vectors.get(kind, ()))


def _mapping(what: str, given: Any, faults: list[str]) -> dict[Any, Any]:
    if given is None or isinstance(given, Mapping):
        return dict(given or ())
    faults.append(f"{what}={given!r}: give a mapping of names to values, e.g. {what}={{'m': 1.0}}")
    return {}


def check_names(kind: str, names: Any, reserved: frozenset[str], faults: list[str]) -> tuple[str, ...]:
    """The names that can be used; what is wrong with the others goes to `faults`."""
    if isinstance(names, str):
        faults.append(f"{kind}={names!r}: give a list of names, e.g. {kind}=[{names!r}]")
        return ()
    if not isinstance(names, Iterable):
        faults.append(f"{kind}={names!r}: give a list of names")
        return ()
    good = []
    for name in names:
        if not isinstance(name, str) or not name:
            faults.append(f"{kind}: {name!r} is not a name; names are non-empty strings")
        elif name in reserved:
            faults.append(
                f"{kind}: the name '{name}' is reserved for a vector of the namespace; choose another, e.g. '{name}_'"
            )
        else:
            good.append(name)
    return tuple(good)


def _parameter_values(
    parameters: Mapping[str, Any], reserved: frozenset[str], faults: list[str]
) -> dict[str, np.ndarray]:
    values = {}
    for name, given in parameters.items():
        if not isinstance(name, str) or not name or name in reserved:
            faults.append(
                f"parameter {name!r}: "
                + ("this name is reserved" if name in reserved else "names are non-empty strings")
            )
            continue
        try:
            value = numbers_of(given)
        except (TypeError, ValueError):
            faults.append(f"parameter '{name}' = {given!r} is not a number or an array of numbers")
            continue
        if not np.isfinite(value).all():
            faults.append(f"parameter '{name}' = {given!r} is not finite")
            continue
        values[name] = value
    return values


def _check_unique(names: Sequence[str], faults: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            faults.append(
                f"the name '{name}' is given twice; "
                "variables, their rates (name_dot), parameters and inputs share one namespace"
            )
        seen.add(name)


def contains_nan(sx: ca.SX) -> bool:
    """Whether a NaN or infinite constant stands in the expression."""
    tape = ca.Function("f", [ca.veccat(*ca.symvar(sx))], [sx])
    return any(
        tape.instruction_id(k) == ca.OP_CONST and not np.isfinite(tape.instruction_constant(k))
        for k in range(tape.n_instructions())
    )
