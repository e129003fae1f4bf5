"""What the steppers of all methods share: records, ports, collected steps, snapshots, errors of functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dalembert.background import in_background
from dalembert.checks import said, words
from dalembert.compile.memory import Memory
from dalembert.compile.monitor import Monitor, Watched
from dalembert.compile.ports import Port
from dalembert.compile.system import input_port
from dalembert.errors import FunctionFailed, OptionError, SimulationError
from dalembert.locks import away
from dalembert.model import Model
from dalembert.regularize.form import Form
from dalembert.solvers.attempts import N_COLUMNS, new_trace, take_attempts
from dalembert.solvers.buffer import collect, new_buffer
from dalembert.solvers.events import new_scan
from dalembert.solvers.method import RunSpec, Snapshot, counters
from dalembert.solvers.phases import Phase
from dalembert.solvers.ports import Ports
from dalembert.solvers.status import Count, Status

#: the counter behind a status, and what went wrong
_IN_A_ROW = {
    Status.ERROR_FAILURES: ("error_failures", "missed the tolerance"),
    Status.CONVERGENCE_FAILURES: ("convergence_failures", "failed"),
    Status.EVALUATION_FAILURES: ("evaluation_failures", "met a function that cannot be evaluated"),
}

#: steps after which the pace of a kernel is looked at first, and the number of unknowns from which it is not waited for
FIRST, LARGE = 128, 64
#: seconds that a kernel may work on without a chance for Ctrl-C
IMPATIENT = 0.2
#: seconds for a full buffer up to which the pace need not be looked at again
QUICK = 0.03

#: bytes of records up to which their contents at the beginning of a run are remembered for the next one
REMEMBERED = 1 << 20


class KernelStepper:
    """A method at work, all of which is in records. It is made once for a form, and prepared for every run.

    Parameters
    ----------
    form : Form
    records : mapping of names to Memory
        As they are at the beginning of a run. Each becomes an attribute, a copy for this stepper; one of them is
        `state`, which has the fields of `shell.py`, failed and failed_t.
    n_coefficients : int
        Of the polynomial of a step.
    """

    interpolates = False
    projects = False
    steps_over = False
    form: Form
    state: Memory

    def __init__(self, form: Form, records: Mapping[str, Memory], n_coefficients: int):
        self.form, self._pristine = form, dict(records)
        for name, record in records.items():
            setattr(self, name, record.fresh())
        self.buffer = new_buffer(n_coefficients, form.n)
        self._theta = form.model.theta()
        self._seen_by: tuple[Port | None, int] | None = None  # whom the scan was made for
        self._monitor: Monitor | None = None
        self.on_release: Callable[[], None] | None = None
        self.spec: RunSpec | None = None
        self._trace: Memory | None = None
        self._attempts: list[np.ndarray] = []
        self._pace: float | None = None  # seconds that a step takes, as far as is known
        self._quick = False  # steps take so little that nobody needs to look at the time any more
        self._begun: list[tuple[np.ndarray, np.ndarray]] = []  # memory, and what was in it when `spec` was prepared

    def prepare(self, spec: RunSpec) -> None:
        """Begin a run: records as if they were new, parameters and tolerances of this one."""
        self.buffer.used[0] = 0
        self._attempts.clear()
        if self._trace is not None:
            self._trace.set(used=0)
        if self._begun and spec.is_like(self.spec):
            for memory, contents in self._begun:
                memory[:] = contents
            return
        for name, pristine in self._pristine.items():
            getattr(self, name).become(pristine)
        model = spec.model
        self.spec, self.model, self._monitor = spec, model, None
        self._inputs, self._events = input_port(model, to_move=spec.events is None), spec.events
        self._theta[:] = model.theta()
        self.ports = Ports(
            residual=np.uintp(0),
            jacobian=np.uintp(0),
            inputs=np.uintp(self._inputs.address if self._inputs else 0),
            events=np.uintp(spec.events.address if spec.events else 0),
            theta=self._theta,
            n_fixed=model.theta_layout.n_fixed,
        )
        if self._seen_by != (spec.events, spec.samples):
            self.scan = new_scan(self.form, spec.events, spec.samples)
            self._seen_by = (spec.events, spec.samples)
        self._trace = new_trace() if spec.trace else None
        if self._trace is not None:
            self.state.set(trace=self._trace.address)
        self.link(spec)
        memories = [self._theta, *(getattr(self, name).memory for name in self._pristine)]
        small = sum(memory.nbytes for memory in memories) <= REMEMBERED
        self._begun = [(memory, memory.copy()) for memory in memories] if small else []

    def set_discrete(self, model: Model) -> None:
        self.model, self._begun = model, []
        fixed = model.theta_layout.fixed
        self._theta[fixed] = model.theta()[fixed]

    def link(self, spec: RunSpec) -> None:
        """Write into the records what belongs to this run: tolerances, limits, addresses of each other."""
        raise NotImplementedError

    def take_steps(self) -> int:
        """Call the kernel; see `Stepper.advance`."""
        raise NotImplementedError

    # -- the protocol ----------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        return float(self.state.t)

    @property
    def x(self) -> np.ndarray:
        return self.state.x

    @property
    def x_dot(self) -> np.ndarray:
        return self.state.x_dot

    @property
    def counts(self) -> np.ndarray:
        return self.state.count

    @property
    def counters(self) -> dict[str, int]:
        return self.name_counts(self.state.count)

    def name_counts(self, counts: np.ndarray) -> dict[str, int]:
        return counters(counts)

    def advance(self, most: int | None = None) -> int:
        self.buffer.used[0] = 0
        if most is not None:
            reason = self._few(most)
            return Status.BUFFER_FULL if self._may_go_on(reason) else reason
        if self._quick:
            with away():
                return self._work()
        if self._pace is not None:
            return self._measured()
        reason = self._few(FIRST)
        return self._measured() if self._may_go_on(reason) else reason

    def _few(self, most: int) -> int:
        """Let the kernel try so many steps; TOO_MANY_STEPS if these were not enough."""
        limit = self.spec.max_steps
        self.state.set(max_steps=min(int(self.counts[Count.STEPS]) + most, limit))
        reason = self._measured()
        self.state.set(max_steps=limit)
        return reason

    def _may_go_on(self, reason: int) -> bool:
        """Whether a kernel has stopped for nothing but the limit of `_few`."""
        return reason == Status.TOO_MANY_STEPS and self.counts[Count.STEPS] < self.spec.max_steps

    def _measured(self) -> int:
        """Let the kernel work, and look at the time that its steps take."""
        before = int(self.counts[Count.STEPS])
        with away():  # a kernel has only memory of this run
            begun = time.perf_counter()
            reason = in_background(self._work, self.stop) if self._takes_long() else self._work()
            seconds = time.perf_counter() - begun
        self._pace = seconds / max(int(self.counts[Count.STEPS]) - before, 1)
        self._quick = self._pace * len(self.buffer.t) < QUICK
        return reason

    def _work(self) -> int:
        if self._monitor is None:
            return self.take_steps()
        with self._monitor.phase(int(Phase.STAGES)):
            return self.take_steps()

    def _takes_long(self) -> bool:
        """Whether the kernel may not look up for so long that a user becomes impatient."""
        if self._pace is None:
            long = self.form.n >= LARGE
        else:
            long = self._pace * len(self.buffer.t) > IMPATIENT
        # functions in Python are interrupted there, and their exceptions are looked for in the same thread
        return long and not any(
            port is not None and port.backend == "python" for port in (*self.model_ports(), self._inputs, self._events)
        )

    def stop(self) -> None:
        """Ask a kernel that works in another thread to return before its next step. The run is over then."""
        self.state.set(max_steps=0)

    def collect(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._trace is not None:
            self._attempts.append(take_attempts(self._trace))
        return collect(self.buffer)

    def standing(self, x: np.ndarray) -> np.ndarray:
        c = np.zeros((1, *self.buffer.coefficients.shape[1:]))
        c[0, 0] = x
        return c

    def take_trace(self) -> np.ndarray | None:
        if self._trace is None:
            return None
        rows = np.concatenate([np.zeros((0, N_COLUMNS)), *self._attempts, take_attempts(self._trace)])
        self._attempts.clear()
        return rows

    def keep_trace(self, rows: np.ndarray | None) -> None:
        """Give back what `take_trace` has taken."""
        if rows is not None:
            self._attempts.insert(0, rows)

    def projected(self, t: float, x: np.ndarray) -> np.ndarray | None:
        return None

    def wants_to_step_over(self, status: int) -> bool:
        return False

    def passes(self, status: int) -> bool:
        return False

    def regularity(self, x: np.ndarray) -> float:
        return 1.0

    def largest_rate(self, t: float | None = None, x: np.ndarray | None = None) -> float:
        return -1.0

    def release(self) -> None:
        if self.on_release is not None and self._monitor is None:
            self.on_release()

    # -- snapshots -------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        arrays = {f"record {name}": getattr(self, name).contents() for name in self._pristine}
        return Snapshot(type(self).__name__, arrays | {name: array.copy() for name, array in self._loose()})

    def restore(self, snapshot: Snapshot) -> None:
        lengths = {f"record {name}": len(getattr(self, name).contents()) for name in self._pristine}
        lengths |= {name: array.size for name, array in self._loose()}
        if snapshot.method != type(self).__name__ or lengths != {k: a.size for k, a in snapshot.arrays.items()}:
            raise OptionError(
                "the snapshot is of another method, model or other events: prepare a run like the one it was taken of"
            )
        for name in self._pristine:
            getattr(self, name).set_contents(snapshot.arrays[f"record {name}"])
        for name, array in self._loose():
            array[...] = snapshot.arrays[name]

    def _loose(self) -> Iterator[tuple[str, np.ndarray]]:
        """What changes during a run outside of the records."""
        yield "theta", self._theta
        yield "buffer used", self.buffer.used
        for name, array in self.buffer._asdict().items():
            if name != "used":
                yield f"buffer {name}", array
        for name, array in self.scan._asdict().items():
            if isinstance(array, np.ndarray):
                yield f"scan {name}", array

    # -- profile ---------------------------------------------------------------------------------------------------

    def watched(self) -> list[Watched]:
        """The functions that the kernel calls by address."""
        raise NotImplementedError

    def watch_by(self, monitor: Monitor) -> None:
        """Call the relays of a monitor of `watched` in place of the functions."""
        raise NotImplementedError

    def watch(self) -> Monitor:
        self._begun = []  # addresses in the records change
        self._monitor = Monitor(self.watched(), len(Phase))
        self.watch_by(self._monitor)
        return self._monitor

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
            return FunctionFailed(f"a model function raised {said(error)} near t = {self.t:.9g}")
        return None

    def refusal(self) -> str | None:
        """What a Python function said when it refused a point."""
        for port in (*self.model_ports(), self._inputs):
            refusal = port.take_refusal() if port is not None else None
            if refusal is not None and words(refusal):
                return f"a model function refused ({words(refusal)})"
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
