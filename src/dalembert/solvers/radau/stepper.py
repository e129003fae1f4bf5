"""The driver's side of the Radau family: sets up the records, calls the kernel, explains failures."""

from __future__ import annotations

import numpy as np

from dalembert.compile.memory import Memory
from dalembert.compile.monitor import CALL2, CALL3, CALL_REALS3, PORT, Monitor, Watched
from dalembert.compile.ports import Port
from dalembert.compile.system import CompiledSystem, input_port
from dalembert.errors import FunctionFailed, SimulationError, SingularMatrix, StepSizeTooSmall, TooManySteps
from dalembert.linalg.lu import null_vector
from dalembert.model import Model
from dalembert.solvers import status as codes
from dalembert.solvers.buffer import collect, new_buffer
from dalembert.solvers.events import new_scan
from dalembert.solvers.method import Tolerances, counters, first_step_guess
from dalembert.solvers.ports import Ports
from dalembert.solvers.radau import core

PORTS = ("residual", "jacobian", "inputs", "events")
#: the kernels of a linear algebra, what a profile calls them, and how they are called
ALGEBRA = (
    ("decompose", "decomposition", CALL2),
    ("prepare", "factorization", CALL_REALS3),
    ("solve_stages", "substitution", CALL3),
    ("solve_real", "substitution", CALL3),
    ("correct", "correction", CALL3),
)


class RadauStepper:
    """A run of a Radau method with the linear algebra in the record `algebra`."""

    def __init__(
        self,
        algebra: Memory,
        compiled: CompiledSystem,
        model: Model,
        tolerances: Tolerances,
        control: core.Control,
        events: Port | None,
        samples: int,
    ):
        system = compiled.system
        self.system, self.compiled, self.algebra, self.control = system, compiled, algebra, control
        n = system.n
        key = ("radau state", id(compiled))
        with model.lock:
            if key not in model.cache:
                equations = ~system.differential_equations
                n_inputs = 3 * len(model.inputs)
                model.cache[key] = core.new_state(n, system.index, equations, int(algebra.n_nonzeros), n_inputs)
            self.state = model.cache[key].fresh()
        algebra.set(own=algebra.address, state=self.state.address)
        # RADAU5's internal tolerances: they make the true error follow the tolerance the user gave
        self.state.rtol[:] = 0.1 * tolerances.rtol ** (2 / 3)
        self.state.atol[:] = tolerances.atol * self.state.rtol / tolerances.rtol
        self._inputs = input_port(model)
        self._events = events
        theta = model.theta()
        self.ports = Ports(
            residual=np.uintp(compiled.residual.address),
            jacobian=np.uintp(compiled.jacobian.address),
            inputs=np.uintp(self._inputs.address if self._inputs else 0),
            events=np.uintp(events.address if events else 0),
            theta=theta,
            n_parameters=len(theta) - 3 * len(model.inputs),
        )
        self.buffer = new_buffer(4, n)
        self.scan = new_scan(system, events, samples)

    # -- the protocol ----------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        return float(self.state.t)

    @property
    def x(self) -> np.ndarray:
        return self.state.x

    @property
    def counters(self) -> dict[str, int]:
        counts = counters(self.state.count)
        # a constant mass matrix is evaluated once; otherwise it comes with the Jacobian
        constant = self.system.leading_is_constant
        counts["mass_evaluations"] = (
            min(1, counts["jacobian_evaluations"]) if constant else counts["jacobian_evaluations"]
        )
        return counts

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        state = self.state
        state.x[:], state.x_dot[:] = x, x_dot
        state.weight[:] = state.atol + state.rtol * np.abs(x)
        span = t_end - t
        h = min(abs(first_step) if first_step else self._first_step(abs(span)), self.control.max_step)
        last = h * 1.0001 >= abs(span)
        h = np.copysign(abs(span) if last else h, span)
        state.set(**dict.fromkeys(core.FLAGS, 0))
        state.set(t=t, t_end=t_end, h=h, h_old=h, rate=1.0, contraction=1.0, first=1, need_jacobian=1, last=int(last))

    def limit_first_step(self, h: float) -> None:
        """Shorten the step that `start` has chosen."""
        if 0 < h < abs(self.state.h):
            h = np.copysign(h, self.state.h)
            self.state.set(h=h, h_old=h, last=0)

    def _first_step(self, span: float) -> float:
        state, moving = self.state, self.system.differential
        return first_step_guess(state.x[moving], state.x_dot[moving], state.weight[moving], span)

    def advance(self) -> int:
        return core.radau(self.algebra.address, self.ports, self.state.record, self.control, self.buffer, self.scan)

    def collect(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return collect(self.buffer)

    # -- profile ---------------------------------------------------------------------------------------------------

    def watched(self) -> list[Watched]:
        """What the kernel calls, for a `Monitor`."""
        model = [Watched(name, int(getattr(self.ports, name)), PORT) for name in PORTS]
        algebra = [Watched(name, int(getattr(self.algebra, field)), kind) for field, name, kind in ALGEBRA]
        return [function for function in (*model, *algebra) if function.address]

    def watch(self, monitor: Monitor) -> None:
        """Call the relays of a monitor of `watched` in place of the functions."""
        relays = {f.address: relay for f, relay in zip(monitor.functions, monitor.addresses, strict=True)}
        self.state.set(monitor=monitor.clock)
        self.ports = self.ports._replace(
            **{name: np.uintp(relays.get(int(getattr(self.ports, name)), 0)) for name in PORTS}
        )
        self.algebra.set(**{field: relays[int(getattr(self.algebra, field))] for field, _, _ in ALGEBRA})

    # -- explanations ----------------------------------------------------------------------------------------------

    def explain(self, status: int) -> Exception:
        t = self.t
        for port in (self.compiled.residual, self.compiled.jacobian, self._inputs, self._events):
            error = port.take_error() if port is not None else None
            if error is not None:
                ours = isinstance(error, SimulationError) or not isinstance(error, Exception)  # Ctrl-C, exit
                return error if ours else self._wrapped(error, t)
        if status == codes.TOO_MANY_STEPS:
            return TooManySteps(
                f"{self.control.max_steps} steps did not reach the end; stopped at t = {t:.9g}. Raise max_steps, "
                "loosen rtol and atol, or look for a fast oscillation or a chattering input there."
            )
        if status in (codes.NOT_FINITE, codes.PORT_FAILED):
            return FunctionFailed(f"{self._not_finite()} at t = {self.state.failed_t:.9g}: check the model there")
        singular = self._singularity()
        if status == codes.SINGULAR or singular:
            culprit = singular or f"variable '{self.system.variables[int(self.algebra.singular)]}' has no pivot"
            return SingularMatrix(
                f"the iteration matrix is singular at t = {t:.9g}: {culprit}. Look for redundant constraints, a "
                "variable that no equation determines, or a singular configuration."
            )
        if self.state.refused:
            return FunctionFailed(
                f"{self._not_finite()} beyond t = {t:.9g} (tried t = {self.state.failed_t:.9g}), and no "
                "step size avoids it: the solution may leave the domain of a function there (root, logarithm, division)"
            )
        return StepSizeTooSmall(
            f"the step size fell to {abs(self.state.h):.2e} at t = {t:.9g}; the largest error is in "
            f"'{self._worst_variable()}'. The solution may be discontinuous or singular there, or the "
            "tolerances too tight."
        )

    def _wrapped(self, error: BaseException, t: float) -> Exception:
        return FunctionFailed(f"a model function raised {type(error).__name__}: {error} near t = {t:.9g}")

    def _not_finite(self) -> str:
        """Name what is not finite at the point that could not be evaluated, or repeat what a function said."""
        for port in (self.compiled.residual, self.compiled.jacobian, self._inputs):
            refusal = port.take_refusal() if port is not None else None
            if refusal is not None and str(refusal):
                return f"a model function refused ({refusal})"
        state = self.state
        out = np.zeros(self.compiled.residual.n_out)
        t = float(state.failed_t)
        n_u = len(self.ports.theta) - self.ports.n_parameters
        if self._inputs is not None:
            inputs = np.zeros(n_u)
            if self._inputs.call_status(t, np.zeros(0), np.zeros(0), inputs):
                return "an input is not finite"
        self.compiled.residual.call_status(t, state.failed, self.ports.theta, out)
        bad = np.flatnonzero(~np.isfinite(out))
        if bad.size:
            names = ", ".join(self.system.equations[i] for i in bad[:3])
            return f"{names} cannot be evaluated (NaN or infinite)"
        return "a function or a derivative of the model is not finite"

    def _singularity(self) -> str | None:
        """If (γ/h E − J) is numerically singular, the equation and variable that dominate its null spaces."""
        system, state = self.system, self.state
        rows, columns = self.compiled.jacobian_pattern
        e_rows, e_columns = self.compiled.leading_pattern
        nonzeros = np.zeros(len(rows) + len(e_rows))
        both = np.concatenate([state.x, state.x_dot])
        if self.compiled.jacobian.call_status(self.t, both, self.ports.theta, nonzeros):
            return None
        # a step size of the size of the motion, not the one that failed: tiny steps hide singular constraints
        speed = np.max(np.abs(state.x_dot), initial=0.0)
        h = (1 + np.max(np.abs(state.x), initial=0.0)) / max(speed, 1.0) * 1e-2
        matrix = np.zeros((len(system.equations), system.n))
        matrix[rows, columns] -= nonzeros[: len(rows)]
        matrix[e_rows, e_columns] += core.GAMMA / h * nonzeros[len(rows) :]
        if not np.isfinite(matrix).all():
            return None
        left, right, reciprocal = null_vector(matrix)
        if reciprocal > 1e-15:
            return None
        equation = system.equations[int(np.argmax(np.abs(left)))]
        variable = system.variables[int(np.argmax(np.abs(right)))]
        return f"{equation} and variable '{variable}' are behind it"

    def _worst_variable(self) -> str:
        return self.system.variables[int(np.argmax(np.abs(self.state.error * self.state.scale)))]
