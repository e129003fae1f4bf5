"""Multipliers of results: those that follow from the accelerations, computed when somebody looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.model import Model
from dalembert.regularize.form import Form
from dalembert.solvers.multipliers import DEGREE, settler

if TYPE_CHECKING:
    from dalembert.solution import Trajectory

#: coefficients of steps with settled multipliers, at least
ROWS = DEGREE + 1


class Stretch(NamedTuple):
    """Steps that follow each other without a jump."""

    first: int
    last: int  # the one behind them
    form: Form
    model: Model  # with its parameters, inputs, and values of discrete variables


class Owed:
    """The steps of a run whose multipliers are still those of the method: an `Unsettled` of its trajectory."""

    def __init__(self) -> None:
        self._ends: list[Stretch] = []
        self._between: list[Stretch] = []

    def __bool__(self) -> bool:
        return bool(self._between)

    def add(self, stretch: Stretch) -> None:
        self._ends.append(stretch)
        self._between.append(stretch)

    def settle_ends(self, trajectory: Trajectory, coefficients: np.ndarray) -> None:
        for stretch in self._ends:
            steps = slice(stretch.first, stretch.last)
            t, h, c = trajectory.t[steps], trajectory.h[steps], coefficients[steps]
            settler(stretch.form).settle_ends(stretch.model, t, h, c)
        self._ends.clear()

    def settle(self, trajectory: Trajectory, coefficients: np.ndarray) -> None:
        self.settle_ends(trajectory, coefficients)
        for stretch in self._between:
            steps = slice(stretch.first, stretch.last)
            t, h, c = trajectory.t[steps], trajectory.h[steps], coefficients[steps]
            settler(stretch.form).settle_between(stretch.model, t, h, c)
        self._between.clear()
