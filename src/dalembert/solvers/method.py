"""What the driver expects of a method: an options object that makes a stepper, and the stepper itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert.kept import Pool, Slot, computed
from dalembert.options import Options, between, one_of, require  # noqa: F401
from dalembert.solvers.status import Count

if TYPE_CHECKING:
    from dalembert.compile.monitor import Monitor
    from dalembert.compile.ports import Port
    from dalembert.model import Model
    from dalembert.regularize.form import Form
    from dalembert.solvers.events import EventScan
    from dalembert.solvers.ports import Ports


@dataclass(frozen=True)
class Tolerances:
    """Relative and absolute tolerance, one number or one for each variable."""

    rtol: np.ndarray
    atol: np.ndarray

    @computed
    def tightest(self) -> tuple[float, float]:
        """The smallest relative and the smallest absolute one."""
        return float(np.min(self.rtol)), float(np.min(self.atol))

    def at(self, places: np.ndarray) -> Tolerances:
        """Those of the variables at `places`; the tightest ones where there is none (−1)."""
        return Tolerances(*(np.where(places >= 0, array[places], array.min()) for array in (self.rtol, self.atol)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSpec:
    """What a stepper is told about one run, besides the form and the options of the method."""

    model: Model  # with the parameters and inputs of this run, which those of the form's model need not be
    tolerances: Tolerances
    max_step: float = np.inf
    max_steps: int = 1_000_000
    events: Port | None = None
    samples: int = 1  # points of each step at which event functions are looked at
    trace: bool = False  # keep a row for each attempted step

    def is_like(self, other: RunSpec) -> bool:
        """Whether both mean the same objects and limits."""
        return (
            self.model is other.model
            and self.tolerances is other.tolerances
            and self.events is other.events
            and (self.max_step, self.max_steps, self.samples) == (other.max_step, other.max_steps, other.samples)
            and self.trace == other.trace
        )


@dataclass(frozen=True)
class Snapshot:
    """Everything that changes while a stepper works, as arrays by name; addresses are left out."""

    method: str
    arrays: Mapping[str, np.ndarray]


#: of the interval: no first step is guessed to be shorter
SHORTEST_FIRST = 1e-10


class Stepper(Protocol):
    """A method at work on one form. All its state is in arrays, so that it can go on after every return."""

    form: Form
    model: Model
    state: Any  # the record
    scan: EventScan
    ports: Ports
    on_release: Callable[[], None] | None
    #: whether the error test covers the polynomial between the points: then roots on it need not be stepped to
    interpolates: bool
    #: whether `projected` can be asked for points on the constraints
    projects: bool
    #: whether the driver shall remember accepted points, from which `wants_to_step_over` may ask it to extrapolate
    steps_over: bool

    @property
    def t(self) -> float:
        """The time that was reached."""

    @property
    def x(self) -> np.ndarray:
        """The unknowns there."""

    @property
    def x_dot(self) -> np.ndarray:
        """Their derivatives."""

    @property
    def counts(self) -> np.ndarray:
        """The counters, in the order of `status.Count`; may be written."""

    @property
    def counters(self) -> dict[str, int]:
        """The counters by the names that users see."""

    def name_counts(self, counts: np.ndarray) -> dict[str, int]:
        """A copy of the counters, by the names that users see."""

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        """Begin (again) at a point, without history."""

    def limit_first_step(self, h: float) -> None:
        """Shorten the step that `start` has chosen."""

    def set_discrete(self, model: Model) -> None:
        """Go on with a variant of the run's model that has other values of its discrete variables."""

    def advance(self, most: int | None = None) -> int:
        """Take steps until something happens, or `most` of them were tried; returns a `status.Status`."""

    def collect(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ends, sizes and polynomials of the steps that the last `advance` took, as copies."""

    def standing(self, x: np.ndarray) -> np.ndarray:
        """The polynomial of a step in which nothing changes, as `collect` gives them."""

    def take_trace(self) -> np.ndarray | None:
        """Rows (`status.ATTEMPT`) of the steps that were tried since the last call; None if the run is not traced."""

    def explain(self, status: int) -> Exception:
        """The exception for a failure status, naming equation or variable."""

    def projected(self, t: float, x: np.ndarray) -> np.ndarray | None:
        """The nearest point to x on the constraints, if this method `projects`; None if there is none nearby."""

    def wants_to_step_over(self, status: int) -> bool:
        """Whether it stopped because a singular position is near, and the options say to pass it."""

    def passes(self, status: int) -> bool:
        """Whether the method gets through such a position by itself after all, and is ready to."""

    def regularity(self, x: np.ndarray) -> float:
        """How far the constraints are from losing rank at x, if this method `steps_over` singular positions."""

    def largest_rate(self, t: float | None = None, x: np.ndarray | None = None) -> float:
        """How quickly the quickest part of the motion could change at the current point, or at another one before a
        start, in 1/s: the largest modulus of an eigenvalue. −1 if that cannot be told."""

    def snapshot(self) -> Snapshot:
        """A copy of all records, from which `restore` goes on bit for bit."""

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot that was taken of a stepper of the same method, options and model."""

    def watch(self) -> Monitor:
        """Have everything that the kernel calls counted and timed from now on."""

    def release(self) -> None:
        """This run is over: another one may use the records."""


STEPPERS: Slot[Pool] = Slot("steppers that nobody uses", most=1)


class MethodOptions(Options):
    """Base of the options classes of methods."""

    initial_values: str
    #: index of a DAE that is taken as it stands up to which the method is known to work
    trusted_index = 1
    #: whether it deals with contacts itself, step by step; else the driver stops at their events
    treats_contacts = False
    #: whether its steps contain all closed contacts as inequalities, so that edges of surfaces need not be found
    complementary = False
    #: whether the same run has the same bits
    repeats = True

    def formulate(self, model: Model) -> Form:
        """What this method integrates; raises ModelError if it cannot treat the model."""
        raise NotImplementedError

    def new_stepper(self, form: Form, model: Model) -> Stepper:
        """Records for runs on a form with the parameters of `model`; `prepare` tells it which run."""
        raise NotImplementedError

    def variety(self, form: Form, model: Model) -> Hashable:
        """What the records depend on besides form and options: choices that parameters decide."""
        return None

    def stepper(self, form: Form, spec: RunSpec) -> Stepper:
        """Set up a run on a form that this method has made."""
        pool, key = form.kept.get(STEPPERS, None, Pool), (self, self.variety(form, spec.model))
        stepper = pool.take(key)
        if stepper is None:
            stepper = self.new_stepper(form, spec.model)
            stepper.on_release = lambda: pool.give_back(key, stepper)
        stepper.prepare(spec)
        return stepper


def root_mean_square(values: np.ndarray) -> float:
    """A tenth of the time that `np.mean` would take."""
    square = np.add.reduce(values * values)
    if square == np.inf and np.isfinite(values).all():  # 1e200 has no square, but it has a root mean square
        largest = np.abs(values).max()
        return float(largest * root_mean_square(values / largest))
    return math.sqrt(square / values.size)


def first_step_guess(
    x: np.ndarray, x_dot: np.ndarray, weight: np.ndarray, span: float, time_unit: float = 1.0
) -> float:
    """A step over which the solution changes by a small fraction; the controller does the rest.

    The rule has numbers that are times: they are meant in `time_unit`.
    """
    size, speed = (root_mean_square(y / weight) if x.size else 0.0 for y in (x, x_dot))
    speed *= time_unit
    guess = 0.01 * size / speed if size > 1e-5 and speed > 1e-5 else 1e-6
    first = min(time_unit * min(100 * guess, (0.01 / speed) ** 0.2 if speed > 0 else np.inf), 0.1 * span)
    return max(first, SHORTEST_FIRST * span)  # derivatives of unknowns that jump say nothing


def counters(count: np.ndarray) -> dict[str, int]:
    """Counters by the names users see."""
    names = {
        "accepted": Count.ACCEPTED, "error_rejections": Count.ERROR_REJECTIONS,
        "convergence_rejections": Count.CONVERGENCE_REJECTIONS, "rhs_evaluations": Count.RHS,
        "jacobian_evaluations": Count.JACOBIAN, "mass_evaluations": Count.MASS, "selectors": Count.SELECTORS,
        "constraint_decompositions": Count.CONSTRAINT_DECOMPOSITIONS, "decompositions": Count.DECOMPOSITIONS,
        "back_substitutions": Count.BACK_SUBSTITUTIONS, "linear_solves": Count.LINEAR_SOLVES,
        "event_evaluations": Count.EVENT_EVALUATIONS, "linear_algebra_operations": Count.FLOPS,
        "difference_evaluations": Count.DIFFERENCES, "jacobian_updates": Count.UPDATES,
    }  # fmt: skip
    return {name: int(count[place]) for name, place in names.items()}
