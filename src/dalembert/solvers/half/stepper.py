"""The driver's side of the methods on the descriptor form: sets up the records, calls the kernel, explains failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dalembert.compile.half_explicit import CompiledDescriptor, constant_nonzeros
from dalembert.compile.memory import Memory
from dalembert.compile.monitor import CALL1, CALL3, PORT, Monitor, Watched
from dalembert.compile.ports import Port
from dalembert.errors import (
    FunctionFailed,
    InconsistentInitialValues,
    OptionError,
    SingularMatrix,
    StepMissedTolerance,
    StepSizeTooSmall,
    TooManySteps,
    warn_user,
)
from dalembert.kept import Slot
from dalembert.linalg.saddle.saddle import SaddlePattern, factor, solve
from dalembert.model.vocabulary import constraint_name, equation_names
from dalembert.regularize.contradiction import ill_posed, impossible_velocities
from dalembert.regularize.half_explicit import DescriptorForm
from dalembert.solvers.half import core
from dalembert.solvers.half.options import HalfExplicitOptions, Parts
from dalembert.solvers.half.quickest import VECTORS
from dalembert.solvers.limits import NEARLY_THERE
from dalembert.solvers.method import RunSpec, first_step_guess
from dalembert.solvers.status import Outcome, Status
from dalembert.solvers.stepper import KernelStepper

#: part of contact forces that their polynomials may miss: steps shall see how these move, as events depend on them
MULTIPLIER_LIMIT = 1e-3
STATES: Slot[Memory] = Slot("records of half-explicit methods", most=8)
SADDLES: Slot[Memory] = Slot("saddle-point systems", most=8)


def saddle_pattern(compiled: CompiledDescriptor, *, symmetric: bool, friction: bool = False) -> SaddlePattern:
    """The pattern of the saddle-point systems; `symmetric`: U = G, otherwise U is G at another point.

    `friction`: behind the entries of G stand those of −Fᵀ in U, if there are any.
    """
    form = compiled.form
    symmetric = symmetric or not form.constraint_names
    force = None if symmetric else compiled.constraint_pattern
    if friction and form.has_friction:
        (rows, columns), (of, by) = compiled.constraint_pattern, compiled.friction_pattern
        force = np.concatenate([rows, by]), np.concatenate([columns, of])
    return SaddlePattern(
        n_v=form.mass.shape[0],
        n_lam=len(form.constraint_names),
        mass=compiled.mass_pattern,
        constraint=compiled.constraint_pattern,
        force=force,
        velocity_names=form.model.names("v"),
        constraint_names=form.constraint_names,
        mass_values=constant_nonzeros(form.mass),
        constraint_values=constant_nonzeros(form.constraint),
    )


class HalfStepper(KernelStepper):
    """A run of a method.

    `parts` are kernel and records of the method.
    """

    projects = True
    form: DescriptorForm
    saddle: Memory

    def __init__(self, options: HalfExplicitOptions, compiled: CompiledDescriptor, parts: Parts):
        self.options, self.compiled, self.kernel, self._quickest = options, compiled, parts.kernel, parts.quickest
        kept, key = compiled.form.kept, (type(options), parts.kind)
        state = kept.get(STATES, key, parts.prepare)

        def build() -> Memory:
            needed = parts.pattern()
            return options.solver(needed).build(needed)

        saddle = kept.get(SADDLES, (*key, options.linear_solver), build)
        super().__init__(compiled.form, {"state": state, "saddle": saddle}, int(state.n_coefficients))
        common = {*core.REALS, *core.WHOLES, *parts.fixed}
        own = [name for name in state.dtype.names if state.dtype[name].kind in "fi" and name not in common]
        self._cleared, self._settings = self.state.places((*core.FLAGS, *own)), options.own_settings()
        self._moving = slice(0, int(state.n_d))

    def link(self, spec: RunSpec) -> None:
        options, state, saddle = self.options, self.state, self.saddle
        if options.min_step > spec.max_step:
            raise OptionError(f"min_step={options.min_step:g} is larger than max_step={spec.max_step:g}")
        saddle.set(own=saddle.address)
        state.set(
            saddle=saddle.address, symmetric=int(saddle.pattern.symmetric), max_step=spec.max_step,
            max_steps=spec.max_steps, multiplier_limit=MULTIPLIER_LIMIT if spec.model.contacts else 0.0,
            **options.settings(),
        )  # fmt: skip
        state.rtol[:], state.atol[:] = spec.tolerances.rtol, spec.tolerances.atol

    # -- the protocol ----------------------------------------------------------------------------------------------

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        state = self.state
        if self.options.initial_values == "trust":
            self._velocities_must_be_possible(t, x)
        state.x[:], state.x_dot[:], state.next[:] = x, x_dot, x
        span, moving = t_end - t, self._moving
        weight = state.atol + state.rtol * np.abs(x)
        h = first_step or first_step_guess(x[moving], x_dot[moving], weight[moving], abs(span))
        h = max(min(abs(h), float(state.max_step)), float(state.min_step))
        last = h * NEARLY_THERE >= abs(span)
        h = np.copysign(abs(span) if last else h, span)
        state.memory[self._cleared] = 0
        state.set(t=t, t_end=t_end, h=h, h_old=h, first=1, last=int(last), **self._settings)

    def _velocities_must_be_possible(self, t: float, x: np.ndarray) -> None:
        """Raise if constraints contradict each other: the first stage would change velocities to whatever they demand,
        and estimates of the error do not see that."""
        state, names = self.state, self.form.constraint_names
        if len(names) > 1:
            C, residual = self._constraints(t, x)
            v = self.form.slices["v"]
            tolerance = (state.atol + state.rtol * np.abs(x))[v]
            error = impossible_velocities(t, [constraint_name(name) for name in names], C, residual, tolerance)
            if error is not None:
                raise error

    def _constraints(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C as a full matrix, and C v + (g_t, h)."""
        state, compiled = self.state, self.compiled
        values, (rows, columns) = np.zeros(compiled.matrices.n_out), compiled.constraint_pattern
        first, last = int(state.n_M), int(state.n_M + state.n_C)
        C = np.zeros((int(state.n_m), int(state.n_v)))
        if compiled.matrices.call_status(t, np.ascontiguousarray(x), self.model.theta(t), values):
            return C, values[last:]
        C[rows, columns] = values[first:last]
        return C, values[last:] + C @ x[self.form.slices["v"]]

    def limit_first_step(self, h: float) -> None:
        """Shorten the step that `start` has chosen."""
        if 0 < h < abs(self.state.h):
            h = max(h, float(self.state.min_step))
            self.state.set(h=np.copysign(h, self.state.h), last=0)

    def take_steps(self) -> int:
        status = self.kernel(self.state.record, self.ports, self.buffer, self.scan)
        if status == Status.DONE and self.state.forced:
            warn_user(
                f"{int(self.state.forced)} steps of size min_step = {self.options.min_step:g} were accepted although "
                "they missed the tolerance or the drift limit",
                StepMissedTolerance,
            )
            self.state.set(forced=0)
        return status

    def projected(self, t: float, x: np.ndarray) -> np.ndarray | None:
        """The nearest point to x on the constraints, (2.9)-(2.12) of MEXX; None if there is none nearby."""
        state, saddle, compiled, form = self.state, self.saddle, self.compiled, self.form
        if not form.constraint_names:
            return x
        theta, x = self.model.theta(t), x.copy()
        n_M, n_C, n_v, n_lam = (int(n) for n in (state.n_M, state.n_C, state.n_v, state.n_lam))
        p, v = form.slices["p"], form.slices["v"]
        weight = (state.atol + state.rtol * np.abs(x))[p]
        saddle.U[:] = 0.0
        values = np.zeros(compiled.matrices.n_out)
        direction, size = x.copy(), np.inf

        def factored() -> bool:
            if compiled.matrices.call_status(t, x, theta, values):
                return False
            saddle.M[:], saddle.G[:] = values[:n_M], values[n_M : n_M + n_C]
            if not saddle.pattern.symmetric:
                saddle.U[:n_C] = saddle.G
            return factor(saddle) == 0

        for iteration in range(10 if compiled.position is not None else 0):
            g, right = np.zeros(n_lam), np.zeros(n_v + len(form.constraint_names))
            if (iteration == 0 and not factored()) or compiled.position.call_status(t, x, theta, g):
                return None
            right[n_v : n_v + n_lam] = -g
            direction[v] = solve(saddle, right)[:n_v]
            move = direction[v] if compiled.kinematics is None else compiled.kinematics(t, direction, theta)
            x[p] += move
            before, size = size, float(np.sqrt(np.mean((move / weight) ** 2)))
            if size <= 1e-2 * state.projection_limit:
                break
            if not size < 2 * before:
                return None
        if not factored():
            return None
        residual = values[n_M + n_C :].copy()
        np.add.at(residual, compiled.constraint_pattern[0], saddle.G * x[v][compiled.constraint_pattern[1]])
        x[v] += solve(saddle, np.concatenate([np.zeros(n_v), -residual]))[:n_v]
        return x

    def largest_rate(self, t: float | None = None, x: np.ndarray | None = None) -> float:
        """See `Stepper`. −1 if functions cannot be evaluated near the point."""
        if self._quickest is None:
            return super().largest_rate()
        if x is not None:
            self.state.set(t=t)
            self.state.x[:] = x
        work = np.empty(VECTORS * len(self.state.x))
        return float(self._quickest(self.state.record, self.ports, work))

    # -- profile ---------------------------------------------------------------------------------------------------

    def watched(self) -> list[Watched]:
        """What the kernel calls, for a `Monitor`."""
        state, saddle, ports = self.state, self.saddle, self.ports
        model = [Watched(name, int(getattr(state, f"{name}_port")), PORT) for name in core.PORTS]
        own = [Watched("inputs", int(ports.inputs), PORT), Watched("events", int(ports.events), PORT)]
        algebra = [
            Watched("factorization", int(saddle.factor), CALL1),
            Watched("substitution", int(saddle.solve), CALL3),
        ]
        return [function for function in (*model, *own, *algebra) if function.address]

    def watch_by(self, monitor: Monitor) -> None:
        relay = {f.name: address for f, address in zip(monitor.functions, monitor.addresses, strict=True)}
        self.state.set(monitor=monitor.clock, **{f"{name}_port": relay.get(name, 0) for name in core.PORTS})
        # the short cuts `once` and `factor_at` would not be seen
        self.saddle.set(factor=relay["factorization"], solve=relay["substitution"], once=0, factor_at=0)
        self.ports = self.ports._replace(
            inputs=np.uintp(relay.get("inputs", 0)), events=np.uintp(relay.get("events", 0))
        )

    # -- explanations ----------------------------------------------------------------------------------------------

    def explain(self, status: int) -> Exception:
        t, state = self.t, self.state
        error = self.function_error()
        if error is not None:
            return error
        if status == Status.TOO_MANY_STEPS:
            drifting = 2 * max(state.residual_p, state.residual_v) > state.drift_limit > 0
            remedy = (
                f"The drift of the constraints, which projection='both' would remove, comes near drift_limit = "
                f"{state.drift_limit:g}."
                if drifting
                else "Raise max_steps, loosen rtol and atol, look for a fast oscillation or a chattering input there, "
                "or take Radau5 if the model is stiff."
            )
            return TooManySteps(f"{int(state.max_steps)} steps did not reach the end; stopped at t = {t:.9g}. {remedy}")
        if status in (Status.NOT_FINITE, Status.PORT_FAILED):
            return FunctionFailed(f"{self.not_finite()} at t = {state.failed_t:.9g}: check the model there")
        if status == Status.SINGULAR:
            culprit = self.saddle.solver.explain(self.saddle, int(state.singular))
            return SingularMatrix(
                f"the saddle-point matrix is singular at t = {t:.9g}: {culprit}. Geoms(algebraic='svd') treats "
                "redundant constraints, Geoms(singular='step over') isolated singular positions; surfaces that follow "
                "each other are contacts (unilateral=), which are not all in force."
            )
        return self._step_too_small(t, status, int(state.why))

    def _step_too_small(self, t: float, status: int, why: int) -> Exception:
        state, size = self.state, self.shrunk(status)
        if why == Outcome.CANNOT_EVALUATE:
            return FunctionFailed(
                f"{self.not_finite()} beyond t = {t:.9g} (tried t = {state.failed_t:.9g}), and no step size avoids "
                "it: the solution may leave the domain of a function there (root, logarithm, division)"
            )
        if why == Outcome.DRIFTED:
            return StepSizeTooSmall(
                f"{size}: the constraints' residuals, {state.residual_p:.2e} on position and {state.residual_v:.2e} on "
                f"velocity level, do not come below drift_limit = {state.drift_limit:.2e}. What earlier steps left "
                "behind no step size takes away: use projection='both', or a larger limit."
            )
        if why in (Outcome.NOT_PROJECTED, Outcome.FAR_FROM_CONSTRAINTS):
            contradiction = self._contradiction(t)
            if contradiction is not None:
                return contradiction
            worst = self._worst_constraint()
            if state.first == 1:
                return InconsistentInitialValues(
                    f"the start values at t = {t:.9g} are too far from the position constraints to be projected onto "
                    f"them, worst is {worst}: give better ones, or leave initial_values='correct'"
                )
            return StepSizeTooSmall(
                f"{size}: the projection onto the position constraints does not converge, worst is {worst}. Start "
                "values that violate the constraints, or a singular position, may be the reason."
            )
        return StepSizeTooSmall(
            f"{size}; the largest error is in '{self._worst_variable()}'. The solution may be discontinuous, singular "
            "or stiff there (then take Radau5), or the tolerances too tight."
        )

    def _contradiction(self, t: float) -> Exception | None:
        """The exception for position constraints with nearly parallel rows that no position suits."""
        state, n = self.state, int(self.state.n_lam)
        names = [constraint_name(name) for name in self.form.constraint_names]
        C, _ = self._constraints(t, state.next)
        return ill_posed(t, names[:n], C[:n], state.g.copy())

    def _worst_variable(self) -> str:
        n = int(self.state.n_d)
        return self.form.variables[int(np.argmax(np.abs(self.state.error[:n])))]

    def _worst_constraint(self) -> str:
        return f"'{self.form.constraint_names[int(np.argmax(np.abs(self.state.g)))]}'"

    def model_ports(self) -> tuple[Port | None, ...]:
        return self.compiled.ports

    def bad_outputs(self, t: float, x: np.ndarray, theta: np.ndarray) -> Iterator[str]:
        for port, names in self._outputs():
            out = np.zeros(port.n_out)
            port.call_status(t, x, theta, out)
            yield from (names(i) for i in np.flatnonzero(~np.isfinite(out)))

    def refusal(self) -> str | None:
        said = super().refusal()
        return None if said is None else said + self._if_it_reads_multipliers()

    def _if_it_reads_multipliers(self) -> str:
        force = self.form.model.graph.functions["force"]
        if force.traced or force.native is not None or not self.form.constraint_names or self.form.has_friction:
            return ""
        return "; multipliers are NaN for forces, which are evaluated before them"

    def _outputs(self) -> list[tuple[Port, Callable[[int], str]]]:
        """Ports, and what their outputs are called."""
        compiled, form = self.compiled, self.form
        model, constraints = form.model, form.constraint_names
        rates = [name for kind in model.differential_kinds for name in equation_names(kind, model.names(kind))]
        mass, of = compiled.mass_pattern[0], compiled.constraint_pattern[0]
        matrices = [
            *(f"mass of '{model.names('v')[i]}'" for i in mass),
            *(f"derivative of {constraint_name(constraints[i])}" for i in of),
            *(constraint_name(n, "velocity") for n in constraints),
        ]
        return [
            (port, names.__getitem__)
            for port, names in (
                (compiled.rates, rates),
                (compiled.matrices, matrices),
                (compiled.position, equation_names("lam", model.names("lam"))),
                (compiled.acceleration, [constraint_name(n, "acceleration") for n in constraints]),
            )
            if port is not None
        ]
