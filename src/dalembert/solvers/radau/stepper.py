"""The driver's side of the Radau family: sets up the records, calls the kernel."""

from __future__ import annotations

import numpy as np

from dalembert.compile.memory import Memory
from dalembert.compile.monitor import CALL2, CALL3, CALL_REALS3
from dalembert.compile.ports import Port
from dalembert.compile.system import CompiledSystem
from dalembert.model import Model
from dalembert.solvers.implicit import ImplicitStepper, differences_of
from dalembert.solvers.jacobians import EXACT, Exact, Jacobian
from dalembert.solvers.method import Tolerances, first_step_guess
from dalembert.solvers.radau.control import Control
from dalembert.solvers.radau.core import radau
from dalembert.solvers.radau.state import FLAGS, N_COEFFICIENTS, new_state
from dalembert.solvers.radau.tableau import GAMMA
from dalembert.solvers.shell import NEARLY_THERE


class RadauStepper(ImplicitStepper):
    """A run of a Radau method with the linear algebra in the record `algebra`."""

    leading_coefficient = GAMMA
    algebra_kernels = (
        ("decompose", "decomposition", CALL2),
        ("prepare", "factorization", CALL_REALS3),
        ("solve_stages", "substitution", CALL3),
        ("solve_real", "substitution", CALL3),
        ("correct", "correction", CALL3),
    )

    def __init__(
        self,
        algebra: Memory,
        compiled: CompiledSystem,
        model: Model,
        tolerances: Tolerances,
        control: Control,
        events: Port | None,
        samples: int,
        jacobian: Jacobian = EXACT,
    ):
        key = ("radau state", id(compiled))
        with model.lock:
            if key not in model.cache:
                model.cache[key] = new_state(compiled, int(algebra.n_nonzeros), 3 * len(model.inputs))
            state = model.cache[key].fresh()
        super().__init__(algebra, compiled, model, state, N_COEFFICIENTS, control.max_steps, events, samples)
        self.control = control
        state.set(max_step=control.max_step, max_steps=control.max_steps)
        self.get_jacobians_by(self.differences_by(model, jacobian))
        # RADAU5's internal tolerances: they make the true error follow the tolerance the user gave
        state.rtol[:] = 0.1 * tolerances.rtol ** (2 / 3)
        state.atol[:] = tolerances.atol * state.rtol / tolerances.rtol

    def differences_by(self, model: Model, jacobian: Jacobian) -> Memory:
        """The record that says how the kernel gets the Jacobian."""
        return differences_of(self.compiled, model, jacobian, leading_apart=not isinstance(jacobian, Exact))

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        state = self.state
        state.x[:], state.x_dot[:] = x, x_dot
        state.weight[:] = state.atol + state.rtol * np.abs(x)
        span = t_end - t
        h = min(abs(first_step) if first_step else self._first_step(abs(span)), self.control.max_step)
        last = h * NEARLY_THERE >= abs(span)
        h = np.copysign(abs(span) if last else h, span)
        state.set(**dict.fromkeys(FLAGS, 0))
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
        return radau(self.algebra.address, self.ports, self.state.record, self.control, self.buffer, self.scan)
