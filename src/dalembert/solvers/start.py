"""Consistent start values, quickly: a compiled kernel for the ordinary case, `consistent_initial_values` for the rest.

The kernel (`start_kernel`) serves equations of motion of moderate size whose functions could be traced. Whenever
anything is irregular, from a misspelled argument to redundant constraints, it is left to the Python implementation:
answers, warnings and errors are the same as without the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.compile.kernel import load
from dalembert.compile.memory import Memory
from dalembert.compile.start import CompiledStart, compile_start
from dalembert.compile.system import input_port
from dalembert.kept import Pool, Slot
from dalembert.model import Model
from dalembert.model.vocabulary import MECHANICAL
from dalembert.regularize import InitialValues
from dalembert.regularize.initial import completed_values
from dalembert.regularize.initial_invariants import invariants_hold
from dalembert.regularize.judgement import NOTEWORTHY, OCCASION, warn_of_change

#: records of a model that are kept for further calls: one for each thread that asks at the same time
SPARE = 8

PREPARED: Slot[Prepared | None] = Slot("start values by a kernel", most=1)

_PLAIN = frozenset((float, int, np.float64))

_MODES = {"correct": 0, "check": 1, "trust": 2}


def start_values(
    model: Model,
    t0: float,
    given: Mapping[str, Any],
    *,
    mode: str = "correct",
    rtol: float = 1e-6,
    atol: float = 1e-8,
    initial_conditions: Callable[[Any], Any] | None = None,
    fixed: Sequence[str] = (),
) -> InitialValues:
    """What ``consistent_initial_values(model, t0, mode=mode, ..., **given)`` returns, up to rounding, in less time.

    Start values of the model itself are not looked at.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.solvers.start import start_values
    >>> start_values(da.problems.pendulum(g=9.81).model, 0.0, {"p0": [0.6, -0.8], "v0": [0.4, 0.3]}).lam
    array([4.049])
    """
    if initial_conditions is None and mode in _MODES and type(fixed) is tuple and not fixed:
        prepared = prepared_start(model)
        found = prepared.solve(model, t0, given, mode, rtol, atol) if prepared is not None else None
        if found is not None and (mode == "trust" or invariants_hold(model, found.t, found.values, rtol, atol)):
            if found.correction > NOTEWORTHY:
                _tell(model, given, found)
            return found
    return completed_values(
        model, t0, given, mode=mode, initial_conditions=initial_conditions, fixed=fixed, rtol=rtol, atol=atol
    )


def _tell(model: Model, given: Mapping[str, Any], found: InitialValues) -> None:
    """Warn of what was corrected."""
    for kind, level in (("p", "position"), ("v", "velocity")):
        after, value = found.values[kind], given.get(f"{kind}0")
        before = np.zeros(after.size) if value is None else np.asarray(value, float)
        demanded_by = f"the constraints on {level} level"
        warn_of_change(model.names(kind), before, after, demanded_by, found.t, OCCASION.get())


def prepared_start(model: Model) -> Prepared | None:
    """The kernel's side of a model, made once; None if there is none."""
    return model.kept.get(PREPARED, None, lambda: _prepare(model))


def _prepare(model: Model) -> Prepared | None:
    compiled = compile_start(model) if model.mechanical else None
    return Prepared(model, compiled) if compiled is not None else None


class Prepared:
    """Port, kernel and records for the start values of a model and its variants."""

    def __init__(self, model: Model, compiled: CompiledStart):
        load("dalembert.solvers.start_kernel")
        from dalembert.solvers import start_kernel

        self._kernel, self.port, self.slices = start_kernel.start_kernel, compiled.port, compiled.slices
        self.record = _record(model, compiled, start_kernel.RECORD)
        self._spare: Pool[_Run] = Pool(SPARE)
        sizes = {kind: model.graph.size(kind) for kind in MECHANICAL}
        #: for every argument: its place, its length, and its bit in what the kernel is told
        self._places = {
            f"{kind}0": (compiled.slices[kind], n, start_kernel.GIVEN.get(kind, 0)) for kind, n in sizes.items()
        }
        end = compiled.port.n_x
        rates = {"p_dot": slice(end, end + sizes["p"]), "r_dot": slice(end + sizes["p"], end + sizes["p"] + sizes["r"])}
        self._parts = tuple({**compiled.slices, **rates}.items())

    def solve(
        self, model: Model, t0: float, given: Mapping[str, Any], mode: str, rtol: float, atol: float
    ) -> InitialValues | None:
        """Start values, or None if Python has to look at it."""
        run = self._spare.take(None) or _Run(self.record.fresh())
        try:
            return self._solve(run, model, t0, given, mode, rtol, atol)
        finally:
            self._spare.give_back(None, run)

    def _solve(
        self, run: _Run, model: Model, t0: float, given: Mapping[str, Any], mode: str, rtol: float, atol: float
    ) -> InitialValues | None:
        x, known, places = run.x, 0, self._places
        x.fill(0.0)
        if "p0" not in given:
            return None
        for key, value in given.items():
            if key not in places:
                return None
            if value is None:
                continue
            part, n, bit = places[key]
            # plain numbers in the right number; a shape that would be broadcast is not meant so
            if type(value) is np.ndarray:
                if value.shape != (n,) or value.dtype.kind not in "fiu":
                    return None
            elif not _plain_numbers(value, n):
                return None
            try:
                x[part] = value
            except OverflowError:
                return None
            known |= bit
        t0 = float(t0)
        if not math.isfinite(t0):
            return None
        inputs = run.set_theta(model, t0)
        if self._kernel(run.record, self.port.address, inputs, t0, _MODES[mode], known, rtol, atol):
            return None
        result = x.copy()
        values = {kind: result[part] for kind, part in self._parts}
        return InitialValues(t0, values, run.correction)


def _plain_numbers(value: Any, n: int) -> bool:
    """Whether it is a list of n numbers that NumPy takes as they are meant."""
    return (type(value) is list or type(value) is tuple) and len(value) == n and _PLAIN.issuperset(map(type, value))


class _Run:
    """A record and the arrays in it that Python writes and reads."""

    def __init__(self, memory: Memory):
        self._memory, self.record = memory, memory.record
        self.x, self._theta = memory.x, memory.theta

    @property
    def correction(self) -> float:
        return float(self._memory.correction)

    def set_theta(self, model: Model, t: float) -> int:
        """Bring parameters and inputs to those of a model; returns the address of a port for the inputs, or 0."""
        theta, graph, layout = self._theta, model.graph, model.theta_layout
        theta[layout.parameters], theta[layout.discrete] = graph.parameter_values, graph.discrete_values
        if not layout.n_inputs:
            return 0
        port = input_port(model)
        if port.backend == "python":  # its exceptions are for Python to handle
            theta[layout.inputs] = model.input_values(t).ravel()
            return 0
        return port.address


def _record(model: Model, compiled: CompiledStart, dtype: np.dtype) -> Memory:
    sizes = {kind: model.graph.size(kind) for kind in MECHANICAL}
    n_x, n_theta = compiled.port.n_x, compiled.port.n_theta

    def places(*kinds: str) -> np.ndarray:
        return np.concatenate([np.arange(n_x)[compiled.slices[kind]] for kind in kinds])

    position_m, velocity_m = sizes["s"] + sizes["lam"], sizes["lam"] + sizes["mu"]
    n = sizes["v"] + sizes["w"] + velocity_m
    most = max(n, sizes["s"] + sizes["p"], position_m)
    arrays = dict(
        x=np.zeros(n_x + sizes["p"] + sizes["r"]), start=np.zeros(n_x), theta=np.zeros(n_theta),
        out=np.zeros(compiled.port.n_out), J=np.zeros((most, most)), Q=np.zeros((most, most)), L=np.zeros((n, n)),
        pivots=np.zeros(n, np.int64),
        **{name: np.zeros(most) for name in ("residual", "scale", "columns", "step", "z", "work")},
        position_unknowns=places("s", "p"), velocity_unknowns=places("v"),
        acceleration_unknowns=places("a", "w", "lam", "mu"),
    )  # fmt: skip
    for problem in ("position", "velocity", "acceleration"):
        arrays[f"{problem}_rows"], arrays[f"{problem}_columns"] = getattr(compiled, problem)
    return Memory(
        dtype,
        {
            **arrays,
            **{f"n_{kind}": size for kind, size in sizes.items()},
            "correction": 0.0, "n_x": n_x, "n_theta": n_theta, "n_fixed": model.theta_layout.n_fixed,
            "n_out": compiled.port.n_out, "position_m": position_m, "position_nz": len(compiled.position[0]),
            "velocity_m": velocity_m, "velocity_nz": len(compiled.velocity[0]), "acceleration_n": n,
            "acceleration_nz": len(compiled.acceleration[0]), "affine": int(compiled.affine),
            "late_rates": int(compiled.late_rates),
        },
    )  # fmt: skip
