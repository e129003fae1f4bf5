"""What the steppers of all methods share: the record of a run, ports, collected steps, errors of functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.compile.memory import Memory
from dalembert.compile.ports import Port
from dalembert.compile.system import input_port
from dalembert.errors import FunctionFailed, SimulationError
from dalembert.model import Model
from dalembert.solvers.attempts import N_COLUMNS, new_trace, take_attempts
from dalembert.solvers.buffer import collect, new_buffer
from dalembert.solvers.events import new_scan
from dalembert.solvers.method import counters
from dalembert.solvers.ports import Ports
from dalembert.solvers.status import Status

#: the counter behind a status, and what went wrong
_IN_A_ROW = {
    Status.ERROR_FAILURES: ("error_failures", "missed the tolerance"),
    Status.CONVERGENCE_FAILURES: ("convergence_failures", "failed"),
    Status.EVALUATION_FAILURES: ("evaluation_failures", "met a function that cannot be evaluated"),
}


class KernelStepper:
    """A run of a method, all of which is in the record `state`: the fields of `shell.py`, failed, failed_t …"""

    def __init__(
        self,
        model: Model,
        system: Any,
        state: Memory,
        n_coefficients: int,
        events: Port | None,
        samples: int,
        *,
        residual: int = 0,
        jacobian: int = 0,
    ):
        self.model, self.system, self.state = model, system, state
        self._inputs, self._events = input_port(model), events
        theta = model.theta()
        self.ports = Ports(
            residual=np.uintp(residual),
            jacobian=np.uintp(jacobian),
            inputs=np.uintp(self._inputs.address if self._inputs else 0),
            events=np.uintp(events.address if events else 0),
            theta=theta,
            n_parameters=len(theta) - 3 * len(model.inputs),
        )
        self.buffer = new_buffer(n_coefficients, system.n)
        self.scan = new_scan(system, events, samples)
        self._trace: Memory | None = None
        self._attempts: list[np.ndarray] = []

    # -- the protocol ----------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        return float(self.state.t)

    @property
    def x(self) -> np.ndarray:
        return self.state.x

    @property
    def counters(self) -> dict[str, int]:
        return counters(self.state.count)

    def collect(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._trace is not None:
            self._attempts.append(take_attempts(self._trace))
        return collect(self.buffer)

    # -- trace -----------------------------------------------------------------------------------------------------

    @property
    def traced(self) -> bool:
        return self._trace is not None

    @property
    def attempts(self) -> int:
        """How many the trace holds."""
        return sum(map(len, self._attempts)) + (int(self._trace.used) if self._trace is not None else 0)

    def keep_trace(self) -> None:
        """From now on keep a row for each attempted step."""
        self._trace = new_trace()
        self.state.set(trace=self._trace.address)

    def collect_trace(self) -> np.ndarray:
        """All attempts since `keep_trace`, rows of `status.ATTEMPT`, as one copy."""
        if self._trace is not None:
            self._attempts.append(take_attempts(self._trace))
        return np.concatenate([np.zeros((0, N_COLUMNS)), *self._attempts])

    def cut_trace(self, rows: int) -> None:
        """Forget all attempts but the first so many: a detour is not part of the run."""
        if self.traced:
            self._attempts = [self.collect_trace()[:rows]]

    # -- errors ----------------------------------------------------------------------------------------------------

    def shrunk(self, status: int) -> str:
        """How small the steps became when a kernel returned one of `status.NO_STEP`."""
        size, where = f"{abs(self.state.h):.2e}", f"t = {self.t:.9g}"
        if status == Status.STEP_TOO_SMALL:
            return f"the step size fell to {size} at {where}"
        field, what = _IN_A_ROW[status]
        return f"{int(getattr(self.state, field))} attempts in a row {what} at {where}, the last with step size {size}"

    def model_ports(self) -> tuple[Port | None, ...]:
        """Those that evaluate functions of the model."""
        raise NotImplementedError

    def bad_outputs(self, t: float, x: np.ndarray, theta: np.ndarray) -> Iterator[str]:
        """Names of what is not finite at a point."""
        raise NotImplementedError

    def function_error(self) -> BaseException | None:
        """What a Python function raised, in our words if it is not an exception of ours."""
        for port in (*self.model_ports(), self._inputs, self._events):
            error = port.take_error() if port is not None else None
            if error is None:
                continue
            if isinstance(error, SimulationError) or not isinstance(error, Exception):  # Ctrl-C, exit
                return error
            return FunctionFailed(f"a model function raised {type(error).__name__}: {error} near t = {self.t:.9g}")
        return None

    def refusal(self) -> str | None:
        """What a Python function said when it refused a point."""
        for port in (*self.model_ports(), self._inputs):
            refusal = port.take_refusal() if port is not None else None
            if refusal is not None and str(refusal):
                return f"a model function refused ({refusal})"
        return None

    def not_finite(self) -> str:
        """Name what is not finite at the point that could not be evaluated, or repeat what a function said."""
        refusal = self.refusal()
        if refusal is not None:
            return refusal
        t, theta = float(self.state.failed_t), self.ports.theta
        if self._inputs is not None:
            inputs = np.zeros(len(theta) - self.ports.n_parameters)
            if self._inputs.call_status(t, np.zeros(0), np.zeros(0), inputs):
                return "an input is not finite"
            theta[self.ports.n_parameters :] = inputs
        bad = list(dict.fromkeys(self.bad_outputs(t, self.state.failed, theta)))
        if bad:
            return f"{', '.join(bad[:3])} cannot be evaluated (NaN or infinite)"
        return "a function or a derivative of the model is not finite"
