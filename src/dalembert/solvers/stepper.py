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
from dalembert.solvers.buffer import collect, new_buffer
from dalembert.solvers.events import new_scan
from dalembert.solvers.method import counters
from dalembert.solvers.ports import Ports


class KernelStepper:
    """A run of a method, all of which is in the record `state`; it has at least t, x, count, failed and failed_t."""

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
            n_fixed=model.theta_layout.n_fixed,
        )
        self.buffer = new_buffer(n_coefficients, system.n)
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
        return counters(self.state.count)

    def collect(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return collect(self.buffer)

    # -- errors of functions ---------------------------------------------------------------------------------------

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
            layout = self.model.theta_layout
            inputs = np.zeros(layout.n_moving)
            if self._inputs.call_status(t, np.zeros(0), np.zeros(0), inputs):
                return "an input is not finite"
            theta[layout.inputs] = inputs
        bad = list(dict.fromkeys(self.bad_outputs(t, self.state.failed, theta)))
        if bad:
            return f"{', '.join(bad[:3])} cannot be evaluated (NaN or infinite)"
        return "a function or a derivative of the model is not finite"
