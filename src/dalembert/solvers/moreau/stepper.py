"""The driver's side of Moreau and Jean's method: sets up the records, calls the kernel, explains failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.compile.half_explicit import CompiledDescriptor
from dalembert.compile.memory import Memory
from dalembert.compile.monitor import CALL1, CALL3, PORT, Monitor, Watched
from dalembert.compile.ports import Port
from dalembert.errors import (
    ContactsNotSolved,
    FunctionFailed,
    OptionError,
    SingularMatrix,
    StepSizeTooSmall,
    TooManySteps,
    warn_user,
)
from dalembert.kept import Slot
from dalembert.model.vocabulary import constraint_name, equation_names
from dalembert.solvers.limits import NEARLY_THERE
from dalembert.solvers.method import RunSpec, counters
from dalembert.solvers.moreau.kernel import moreau_jean
from dalembert.solvers.moreau.state import CLOSED, CONTACTS, FLAGS, ITERATIONS, PORTS, new_state
from dalembert.solvers.moreau.tables import Tables, make_tables
from dalembert.solvers.status import Outcome, Status
from dalembert.solvers.stepper import KernelStepper

if TYPE_CHECKING:
    from dalembert.regularize.half_explicit import DescriptorForm
    from dalembert.solvers.moreau_jean import MoreauJean

TABLES: Slot[Tables] = Slot("tables of Moreau and Jean's method", most=2)
SOLVERS: Slot[Memory] = Slot("linear solvers of Moreau and Jean's method", most=2)

#: rows of the polynomial of a step
N_COEFFICIENTS = 3
#: positions count as projected when the last correction is this small, in units of the tolerance
PROJECTED = 1e-3


class MoreauStepper(KernelStepper):
    """A run of the method."""

    default_tolerance = 1e-8
    form: DescriptorForm
    saddle: Memory

    def __init__(self, options: MoreauJean, compiled: CompiledDescriptor, room: int = 0):
        self.options, self.compiled = options, compiled
        kept, key = compiled.form.kept, options.implicit
        self.tables = kept.get(TABLES, key, lambda: make_tables(compiled, options.implicit))
        records = {
            "state": new_state(self.tables, N_COEFFICIENTS, room),
            "saddle": kept.get(SOLVERS, key, self.tables.solver),
        }
        super().__init__(compiled.form, records, N_COEFFICIENTS)
        self._cleared = self.state.places(FLAGS)

    def link(self, spec: RunSpec) -> None:
        options, state, saddle = self.options, self.state, self.saddle
        if self.model.contacts and spec.max_step < options.h:
            raise OptionError(f"max_step={spec.max_step:g} is smaller than the fixed step size h={options.h:g}")
        saddle.set(own=saddle.address)
        state.set(
            saddle=saddle.address, max_step=spec.max_step, max_steps=spec.max_steps, min_step=0.0, step=options.h,
            theta=options.theta, tolerance=options.tolerance or self.default_tolerance, iterations=options.iterations,
            project=int(options.projection), projection_limit=PROJECTED,
        )  # fmt: skip
        state.rtol[:], state.atol[:] = spec.tolerances.rtol, spec.tolerances.atol
        if self.model.contacts:
            state.restitution[:], state.friction[:] = spec.model.contact_values()

    # -- the protocol ----------------------------------------------------------------------------------------------

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        state, span = self.state, t_end - t
        if span < 0 and self.model.contacts:
            raise OptionError(
                f"from t = {t:g} to {t_end:g}: impacts and friction have no past that follows from what comes after "
                "them; contacts are simulated forwards in time"
            )
        state.x[:], state.x_dot[:] = x, x_dot
        h = min(first_step or self.options.h, float(state.max_step))
        last = h * NEARLY_THERE >= abs(span)
        state.memory[self._cleared] = 0
        state.kept[:] = 0.0
        state.set(t=t, t_end=t_end, h=np.copysign(abs(span) if last else h, span), first=1, last=int(last))

    def limit_first_step(self, h: float) -> None:
        """Steps have a fixed size."""

    def advance(self, most: int | None = None) -> int:
        status, state = super().advance(), self.state
        if status == Status.DONE and state.unsolved:
            warn_user(
                f"in {int(state.unsolved)} steps the impulses of contacts did not settle to tolerance = "
                f"{float(state.tolerance):g} within {self.options.iterations} iterations: raise either, or take a "
                "smaller h",
                ContactsNotSolved,
            )
            state.set(unsolved=0)
        return status

    def take_steps(self) -> int:
        return moreau_jean(self.state.record, self.ports, self.buffer, self.scan)

    def name_counts(self, counts: np.ndarray) -> dict[str, int]:
        own = {"contacts": CONTACTS, "contact_iterations": ITERATIONS, "closed_contacts": CLOSED}
        return counters(counts) | {name: int(counts[place]) for name, place in own.items()}

    # -- profile ---------------------------------------------------------------------------------------------------

    def watched(self) -> list[Watched]:
        """What the kernel calls, for a `Monitor`."""
        state, saddle, ports = self.state, self.saddle, self.ports
        model = [Watched(name, int(getattr(state, f"{name}_port")), PORT) for name in PORTS]
        own = [Watched("inputs", int(ports.inputs), PORT), Watched("events", int(ports.events), PORT)]
        algebra = [
            Watched("factorization", int(saddle.factor), CALL1),
            Watched("substitution", int(saddle.solve), CALL3),
        ]
        return [function for function in (*model, *own, *algebra) if function.address]

    def watch_by(self, monitor: Monitor) -> None:
        relay = {f.name: address for f, address in zip(monitor.functions, monitor.addresses, strict=True)}
        self.state.set(monitor=monitor.clock, **{f"{name}_port": relay.get(name, 0) for name in PORTS})
        self.saddle.set(factor=relay["factorization"], solve=relay["substitution"])
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
            return TooManySteps(
                f"{int(state.max_steps)} steps of size h = {self.options.h:g} did not reach the end; stopped at "
                f"t = {t:.9g}. Raise max_steps or h."
            )
        if status in (Status.NOT_FINITE, Status.PORT_FAILED) or int(state.why) == Outcome.CANNOT_EVALUATE:
            return FunctionFailed(
                f"{self.not_finite()} at t = {state.failed_t:.9g}, whatever the step size: the solution may leave the "
                "domain of a function there (root, logarithm, division), or have grown without bound"
            )
        if status == Status.SINGULAR or int(state.why) == Outcome.SINGULAR:
            culprit = self.saddle.solver.explain(self.saddle, int(state.singular))
            return SingularMatrix(
                f"the matrix of a step is singular at t = {t:.9g}: {culprit}. Redundant constraints must be left out; "
                "velocities without mass need constraints that determine them."
            )
        return StepSizeTooSmall(f"{self.shrunk(status)}: h = {self.options.h:g} is lost in the rounding of t")

    def model_ports(self) -> tuple[Port | None, ...]:
        return (*self.compiled.ports, self.tables.jacobian)

    def bad_outputs(self, t: float, x: np.ndarray, theta: np.ndarray) -> Iterator[str]:
        for port, names in self._outputs():
            out = np.zeros(port.n_out)
            port.call_status(t, x, theta, out)
            yield from (names(i) for i in np.flatnonzero(~np.isfinite(out)))

    def _outputs(self) -> list[tuple[Port, Callable[[int], str]]]:
        """Ports, and what their outputs are called."""
        compiled, form = self.compiled, self.form
        model, constraints = form.model, form.constraint_names
        rates = [name for kind in model.differential_kinds for name in equation_names(kind, model.names(kind))]
        matrices = [
            *(f"mass of '{model.names('v')[i]}'" for i in compiled.mass_pattern[0]),
            *(f"derivative of {constraint_name(constraints[i])}" for i in compiled.constraint_pattern[0]),
            *(constraint_name(n, "velocity") for n in constraints),
        ]
        return [
            (port, names.__getitem__)
            for port, names in (
                (compiled.rates, rates),
                (compiled.matrices, matrices),
                (compiled.position, equation_names("lam", model.names("lam"))),
            )
            if port is not None
        ]
