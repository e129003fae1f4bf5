"""What the drivers of all implicit methods share: records, ports, explanations of failure."""

from __future__ import annotations

import numpy as np

from dalembert.compile.memory import Memory
from dalembert.compile.monitor import PORT, Monitor, Watched
from dalembert.compile.ports import Port
from dalembert.compile.system import CompiledSystem, input_port, leading_port
from dalembert.errors import FunctionFailed, SimulationError, SingularMatrix, StepSizeTooSmall, TooManySteps
from dalembert.linalg.lu import null_vector
from dalembert.model import Model
from dalembert.solvers import status as codes
from dalembert.solvers.buffer import collect, new_buffer
from dalembert.solvers.differences import differences_record
from dalembert.solvers.events import new_scan
from dalembert.solvers.jacobians import Jacobian
from dalembert.solvers.method import counters
from dalembert.solvers.ports import Ports

PORTS = ("residual", "jacobian", "inputs", "events")


def differences_of(
    compiled: CompiledSystem,
    model: Model,
    strategy: Jacobian,
    leading_apart: bool = False,
    exact: np.ndarray | None = None,
) -> Memory:
    """A record of `solvers.differences` for one run; `leading_apart`: E is needed for itself; `exact`: nonzeros of
    ∂F/∂x that are not to be differences, always the same for a system."""
    apart = strategy.partitioned or leading_apart
    key = ("differences", id(compiled), strategy, tuple(model.inputs), apart, exact is None)
    with model.lock:
        if key not in model.cache:
            leading = leading_port(compiled.system) if apart else None
            address = leading.address if leading else 0
            # the port stays alive with the record
            record = differences_record(compiled, strategy, 3 * len(model.inputs), address, exact)
            model.cache[key] = (record, leading)
        return model.cache[key][0].fresh()


class ImplicitStepper:
    """A run of a method on F(t, x, x') = 0, with the linear algebra in the record `algebra`.

    The record `state` has at least t, h, x, x_dot, count, error, scale, failed, failed_t and refused.
    """

    #: the iteration matrix is σ E − J with σ = leading_coefficient / h
    leading_coefficient = 1.0
    #: the kernels of the linear algebra: field of the record, what a profile calls it, and how it is called
    algebra_kernels: tuple[tuple[str, str, int], ...] = ()

    def __init__(
        self,
        algebra: Memory,
        compiled: CompiledSystem,
        model: Model,
        state: Memory,
        n_coefficients: int,
        max_steps: int,
        events: Port | None,
        samples: int,
    ):
        self.system, self.compiled, self.algebra, self.state = compiled.system, compiled, algebra, state
        self.max_steps = max_steps
        n = self.system.n
        self.jacobian = compiled.jacobian  # the port that the kernel calls
        algebra.set(own=algebra.address, state=state.address)
        self._inputs = input_port(model)
        self._events = events
        theta = model.theta()
        self.ports = Ports(
            residual=np.uintp(compiled.residual.address),
            jacobian=np.uintp(self.jacobian.address),
            inputs=np.uintp(self._inputs.address if self._inputs else 0),
            events=np.uintp(events.address if events else 0),
            theta=theta,
            n_parameters=len(theta) - 3 * len(model.inputs),
        )
        self.buffer = new_buffer(n_coefficients, n)
        self.scan = new_scan(self.system, events, samples)

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

    def collect(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return collect(self.buffer)

    # -- profile ---------------------------------------------------------------------------------------------------

    def watched(self) -> list[Watched]:
        """What the kernel calls, for a `Monitor`."""
        model = [Watched(name, int(getattr(self.ports, name)), PORT) for name in PORTS]
        algebra = [Watched(name, int(getattr(self.algebra, field)), kind) for field, name, kind in self.algebra_kernels]
        return [function for function in (*model, *algebra) if function.address]

    def watch(self, monitor: Monitor) -> None:
        """Call the relays of a monitor of `watched` in place of the functions."""
        relays = {f.address: relay for f, relay in zip(monitor.functions, monitor.addresses, strict=True)}
        if "monitor" in self.state.dtype.names:
            self.state.set(monitor=monitor.clock)
        self.ports = self.ports._replace(
            **{name: np.uintp(relays.get(int(getattr(self.ports, name)), 0)) for name in PORTS}
        )
        self.algebra.set(**{field: relays[int(getattr(self.algebra, field))] for field, _, _ in self.algebra_kernels})

    # -- explanations ----------------------------------------------------------------------------------------------

    def explain(self, status: int) -> Exception:
        t = self.t
        for port in (self.compiled.residual, self.jacobian, self._inputs, self._events):
            error = port.take_error() if port is not None else None
            if error is not None:
                ours = isinstance(error, SimulationError) or not isinstance(error, Exception)  # Ctrl-C, exit
                return error if ours else self._wrapped(error, t)
        if status == codes.TOO_MANY_STEPS:
            return TooManySteps(
                f"{self.max_steps} steps did not reach the end; stopped at t = {t:.9g}. Raise max_steps, "
                "loosen rtol and atol, or look for a fast oscillation or a chattering input there."
            )
        if status in (codes.NOT_FINITE, codes.PORT_FAILED):
            return FunctionFailed(f"{self._not_finite()} at t = {self.state.failed_t:.9g}: check the model there")
        singular = self._singularity()
        if status == codes.SINGULAR or singular:
            culprit = singular or self._pivot()
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
        for port in (self.compiled.residual, self.jacobian, self._inputs):
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
        """If σ E − J is numerically singular, the equation and variable that dominate its null spaces."""
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
        matrix[e_rows, e_columns] += self.leading_coefficient / h * nonzeros[len(rows) :]
        matrix = matrix[: system.n]
        if not np.isfinite(matrix).all():
            return None
        left, right, reciprocal = null_vector(matrix)
        if reciprocal > 1e-15:
            return None
        equation = system.equations[int(np.argmax(np.abs(left)))]
        variable = system.variables[int(np.argmax(np.abs(right)))]
        return f"{equation} and variable '{variable}' are behind it"

    def _pivot(self) -> str:
        at = int(self.algebra.singular)
        name = f"variable '{self.system.variables[at]}'" if at >= 0 else self.system.equations[self.system.n - 1 - at]
        return f"{name} has no pivot"

    def _worst_variable(self) -> str:
        return self.system.variables[int(np.argmax(np.abs(self.state.error * self.state.scale)))]
