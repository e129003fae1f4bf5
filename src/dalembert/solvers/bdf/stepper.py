"""The driver's side of the BDF methods: sets up the records, calls the kernel."""

from __future__ import annotations

import numpy as np

from dalembert.compile.memory import Memory
from dalembert.compile.monitor import CALL2, CALL3, CALL_REALS3
from dalembert.compile.system import CompiledSystem
from dalembert.kept import Slot
from dalembert.solvers.bdf import core
from dalembert.solvers.bdf.options import ALGEBRAIC_ERRORS, BdfOptions
from dalembert.solvers.implicit import LARGEST_LOOKED_AT, ImplicitStepper, differences_of, time_unit
from dalembert.solvers.method import RunSpec

STATES: Slot[Memory] = Slot("records of BDF methods", most=5)


class BdfStepper(ImplicitStepper):
    """A run of a BDF method with the linear algebra in the record `algebra`."""

    algebra_kernels = (
        ("decompose", "decomposition", CALL2),
        ("prepare", "factorization", CALL_REALS3),
        ("solve", "substitution", CALL3),
    )

    interpolates = True
    #: whether the linear algebra needs E for itself, not in c E − J only
    leading_apart = False

    def __init__(self, options: BdfOptions, compiled: CompiledSystem, algebra: Memory):
        system, self.options = compiled.system, options
        m, order = compiled.residual.n_out, options.max_order
        state = system.kept.get(
            STATES, order, lambda: core.new_state(system.n, m, system.index, int(algebra.n_nonzeros), order)
        )
        differences = differences_of(compiled, options.jacobian, self.leading_apart)
        super().__init__(compiled, algebra, state, differences, order + 1)
        self._cleared = self.state.places(core.FLAGS)

    def link(self, spec: RunSpec) -> None:
        super().link(spec)
        state, system, options = self.state, self.form, self.options
        state.rtol[:], state.atol[:] = spec.tolerances.rtol, spec.tolerances.atol
        excluded = options.algebraic_errors == "excluded"
        index = system.index
        if excluded and system.model.own_formulation is not None:
            index = np.where(system.differential, index, 2)  # what has no derivative may have any index
        state.index[:] = index
        tested = int(np.sum(index == 1)) if excluded else system.n
        state.set(
            newton_limit=options.newton_limit, range=options.range, unit=np.finfo(float).eps, max_step=spec.max_step,
            max_steps=spec.max_steps, max_iterations=options.newton_iterations, n_error=max(tested, 1),
            weighted=ALGEBRAIC_ERRORS.index(options.algebraic_errors), time_unit=time_unit(system, spec.tolerances),
        )  # fmt: skip

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        state = self.state
        state.x[:], state.x_dot[:] = x, x_dot
        state.weight[:] = state.atol + state.rtol * np.abs(x)
        span = t_end - t
        # the differences are those of this step: were it shortened behind them, the first error would look smaller
        h = abs(first_step) if first_step else self._first_step(abs(span))
        h = np.copysign(min(h, abs(span), self.spec.max_step), span)
        state.phi[:] = 0.0
        state.phi[0], state.phi[1] = x, h * x_dot
        state.psi[:] = 0.0
        state.psi[0] = h
        state.memory[self._cleared] = 0
        state.set(
            t=t, t_end=t_end, h=h, h_old=0.0, c=0.0, c_last=0.0, c_matrix=1.0, contraction=core.NEW_CONTRACTION,
            order=1, starting=1, need_jacobian=1,
        )  # fmt: skip

    def limit_first_step(self, h: float) -> None:
        """Shorten the step that `start` has chosen; the kernel brings the differences to it."""
        if 0 < h < abs(self.state.h):
            self.state.set(h=np.copysign(h, self.state.h))

    def _first_step(self, span: float) -> float:
        state, moving = self.state, self.form.differential
        scale = 1 / state.weight[moving]
        speed = np.sqrt(np.mean((state.x_dot[moving] * scale) ** 2)) if moving.any() else 0.0
        return min(1e-3 * span, 0.5 / speed if speed > 0 else np.inf)

    def take_steps(self) -> int:
        return core.bdf(self.algebra.address, self.ports, self.state.record, self.buffer, self.scan)


class OverdeterminedStepper(BdfStepper):
    """A run of ODASSL: the first n equations are square, the others constraints."""

    leading_apart = True

    def link(self, spec: RunSpec) -> None:
        super().link(spec)
        self.algebra.metric[self.form.slices.get("v", slice(0, 0))] = float(self.state.time_unit) ** -2

    def _singularity(self) -> str | None:
        """Constraints that depend on each other are behind most singular matrices."""
        system, state = self.form, self.state
        if system.n > LARGEST_LOOKED_AT:
            return None
        rows, columns = self.compiled.jacobian_pattern
        nonzeros = np.zeros(int(self.algebra.n_nonzeros))
        both = np.concatenate([state.x, state.x_dot])
        if self.compiled.jacobian.call_status(self.t, both, self.ports.theta, nonzeros):
            return None
        J = np.zeros((len(system.equations), system.n))
        J[rows, columns] = nonzeros[: len(rows)]
        h = J[system.n :]
        scale = np.abs(h).max(axis=1, initial=0)
        scale[scale == 0] = 1
        if not np.isfinite(h).all():
            return None
        U, S, _ = np.linalg.svd(h / scale[:, None])
        if len(S) == len(h) and S[-1] > 1e-12 * S[0]:
            return super()._singularity()
        guilty = np.argsort(-np.abs(U[:, -1]), kind="stable")[:2]
        return " and ".join(system.equations[system.n + i] for i in sorted(guilty)) + " depend on each other"
