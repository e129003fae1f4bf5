"""What the driver expects of a method: an options object that makes a stepper, and the stepper itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dalembert.options import Options, one_of, require  # noqa: F401
from dalembert.regularize import System
from dalembert.solvers.status import Count

if TYPE_CHECKING:
    from dalembert.compile.monitor import Monitor, Watched


@dataclass(frozen=True)
class Tolerances:
    """Relative and absolute tolerance, one number or one for each variable."""

    rtol: np.ndarray
    atol: np.ndarray


class Stepper(Protocol):
    """A method at work on one problem. All its state is in arrays, so that it can go on after every return."""

    system: System
    t: float
    x: np.ndarray

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        """Begin (again) at a point, without history."""

    def limit_first_step(self, h: float) -> None:
        """Shorten the step that `start` has chosen."""

    def advance(self) -> int:
        """Take steps until something happens; returns one of the codes in `status`."""

    def collect(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step ends, step sizes and polynomials since the last call, as copies."""

    def explain(self, status: int) -> Exception:
        """The exception for a failure status, naming equation or variable."""

    def watched(self) -> list[Watched]:
        """The functions that the kernel calls by address, for a profile."""

    def watch(self, monitor: Monitor) -> None:
        """Call the relays of a monitor of `watched` in place of the functions."""


class MethodOptions(Options):
    """Base of the options classes of methods."""


def first_step_guess(x: np.ndarray, x_dot: np.ndarray, weight: np.ndarray, span: float) -> float:
    """A step over which the solution changes by a small fraction; the controller does the rest."""
    size = np.sqrt(np.mean((x / weight) ** 2)) if x.size else 0.0
    speed = np.sqrt(np.mean((x_dot / weight) ** 2)) if x.size else 0.0
    guess = 0.01 * size / speed if size > 1e-5 and speed > 1e-5 else 1e-6
    return min(100 * guess, (0.01 / speed) ** 0.2 if speed > 0 else np.inf, 0.1 * span)


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
