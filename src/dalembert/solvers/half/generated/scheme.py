"""What of a method, and of what is asked of it, becomes part of generated code; everything else is numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.solvers.half.tableau import NEXT, HalfExplicitTableau

if TYPE_CHECKING:
    from dalembert.solvers.hem5 import Hem5


@dataclass(frozen=True)
class EventScheme:
    """Which roots of an event function count."""

    direction: int = 0
    terminal: int = 0  # the run ends at this root; 0: at none


@dataclass(frozen=True)
class Scheme:
    """A method on some outputs and events."""

    tableau: HalfExplicitTableau
    positions: bool = True  # are projected
    velocities: bool = True
    positions_only: bool = False  # errors of positions count, others do not
    uniform: bool = False  # all unknowns have the same tolerances
    outputs: bool = False  # there are times of t_eval
    multipliers: bool = False  # are wanted at these times, too
    events: tuple[EventScheme, ...] = ()
    samples: int = 6  # points of a step at which event functions are looked at
    room: int = 0  # for roots of each event

    @classmethod
    def of(cls, options: Hem5, **asked: Any) -> Scheme:
        """Of a method with its options; `asked` is what else is."""
        return cls(
            tableau=options.tableau, positions=options.projection == "both",
            velocities=options.projection != "none", positions_only=options.error == "positions", **asked,
        )  # fmt: skip

    @property
    def looks_between(self) -> bool:
        """Whether polynomials of steps are needed."""
        return self.outputs or bool(self.events)

    def __post_init__(self) -> None:
        tableau = self.tableau
        if any(link != NEXT for link in tableau.links) or tableau.estimate_at_end or tableau.project_estimate:
            raise NotImplementedError(f"{tableau.name}: closing points must be the next stages")
