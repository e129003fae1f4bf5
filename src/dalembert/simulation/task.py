"""What a simulation is to do: the arguments of `simulate`, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model import Model
from dalembert.model.event import Event
from dalembert.regularize.form import Form
from dalembert.simulation.checkpoint import Saving
from dalembert.simulation.output import Sampling
from dalembert.solvers.method import MethodOptions, Tolerances

if TYPE_CHECKING:
    from dalembert.simulation.pilot import Pilot


@dataclass(kw_only=True, slots=True, eq=False)  # not frozen: that would take longer than all the rest
class Task:
    """Read only."""

    model: Model
    options: MethodOptions
    form: Form  # of the whole model
    t0: float
    t1: float
    given: Mapping[str, Any]  # start values
    initial_conditions: Callable[[Any], Any] | None
    fixed: Sequence[str]  # unknowns whose start values stay
    tolerances: Tolerances
    first_step: float | None
    max_step: float
    max_steps: int
    events: Sequence[Event]
    own_events: int  # how many of them, the first ones, are the user's
    sampling: Sampling
    dense_output: bool
    trace: bool
    bar: Callable[[float], None] | None
    checkpoint: Saving | None
    pilot: Pilot | None = None  # changes the method on the way

    def settings(self) -> dict[str, str]:
        """Arguments of `simulate` for people."""
        found = {"rtol": _range(self.tolerances.rtol), "atol": _range(self.tolerances.atol)}
        if self.first_step is not None:
            found["first step"] = f"{self.first_step:.6g}"
        if np.isfinite(self.max_step):
            found["largest step"] = f"{self.max_step:.6g}"
        return found


def _range(numbers: Any) -> str:
    """One number, or the smallest and the largest.

    >>> _range([1e-8, 1e-6]), _range(1e-6)
    ('1e-08 … 1e-06', '1e-06')
    """
    low, high = float(np.min(numbers)), float(np.max(numbers))
    return f"{low:.3g}" if low == high else f"{low:.3g} … {high:.3g}"
