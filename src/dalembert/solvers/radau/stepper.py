"""The driver's side of the Radau family: sets up the records, calls the kernel."""

from __future__ import annotations

import numpy as np

from dalembert.compile.memory import Memory
from dalembert.compile.monitor import CALL2, CALL3, CALL_REALS3
from dalembert.compile.ports import Port
from dalembert.compile.system import CompiledSystem
from dalembert.kept import Slot
from dalembert.solvers.implicit import ImplicitStepper, differences_of, time_unit
from dalembert.solvers.jacobians import Exact, Jacobian
from dalembert.solvers.limits import NEARLY_THERE
from dalembert.solvers.method import RunSpec, first_step_guess
from dalembert.solvers.radau.core import radau
from dalembert.solvers.radau.options import RadauOptions
from dalembert.solvers.radau.state import FLAGS, N_COEFFICIENTS, new_state
from dalembert.solvers.radau.tableau import GAMMA

STATES: Slot[Memory] = Slot("records of Radau methods", most=1)


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

    def __init__(self, options: RadauOptions, compiled: CompiledSystem, algebra: Memory):
        system, self.options = compiled.system, options
        state = system.kept.get(
            STATES, None, lambda: new_state(compiled, int(algebra.n_nonzeros), system.model.theta_layout.n_moving)
        )
        differences, jacobian = self.jacobian_by(compiled, options.jacobian)
        super().__init__(compiled, algebra, state, differences, N_COEFFICIENTS, jacobian)
        self._cleared = self.state.places(FLAGS)

    def jacobian_by(self, compiled: CompiledSystem, strategy: Jacobian) -> tuple[Memory, Port | None]:
        """The record that says how the kernel gets the Jacobian, and the port for that if it is not the whole one."""
        return differences_of(compiled, strategy, leading_apart=not isinstance(strategy, Exact)), None

    def link(self, spec: RunSpec) -> None:
        super().link(spec)
        self.control = self.options.control(spec)
        # RADAU5's internal tolerances: they make the true error follow the tolerance the user gave
        state, tolerances = self.state, spec.tolerances
        unit = time_unit(self.form, tolerances)
        state.set(max_step=spec.max_step, max_steps=spec.max_steps, time_unit=unit)
        rtol = 0.1 * tolerances.rtol ** (2 / 3)
        state.rtol[:], state.atol[:] = rtol, tolerances.atol * rtol / tolerances.rtol

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        state = self.state
        state.x[:], state.x_dot[:] = x, x_dot
        state.weight[:] = state.atol + state.rtol * np.abs(x)
        span = t_end - t
        h = min(abs(first_step) if first_step else self._first_step(abs(span)), self.spec.max_step)
        last = h * NEARLY_THERE >= abs(span)
        h = np.copysign(abs(span) if last else h, span)
        state.memory[self._cleared] = 0
        state.set(
            t=t, t_end=t_end, h=h, h_old=h, rate=1.0, contraction=1.0, ceiling=0.0, since_failure=1000, first=1,
            need_jacobian=1, last=int(last),
        )  # fmt: skip

    def limit_first_step(self, h: float) -> None:
        """Shorten the step that `start` has chosen."""
        if 0 < h < abs(self.state.h):
            h = np.copysign(h, self.state.h)
            self.state.set(h=h, h_old=h, last=0)

    def _first_step(self, span: float) -> float:
        state, moving = self.state, self.form.differential
        unit = float(state.time_unit)
        return first_step_guess(state.x[moving], state.x_dot[moving], state.weight[moving], span, unit)

    def take_steps(self) -> int:
        return radau(self.algebra.address, self.ports, self.state.record, self.control, self.buffer, self.scan)
