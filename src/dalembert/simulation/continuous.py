"""The unknowns of a hybrid DAE at an event, for given discrete values: those whose derivatives occur stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.model import Model
from dalembert.regularize import InitialValues
from dalembert.regularize.initial import completed_values
from dalembert.regularize.judgement import OCCASION
from dalembert.simulation.iteration import Point

if TYPE_CHECKING:
    from dalembert.regularize.structure.aliases import Reduction


class Continuous:
    """Solves for the unknowns of a model."""

    def __init__(self, model: Model, reduction: Reduction | None):
        self.model, self._reduction = model, reduction

    def solve(self, t: float, point: Point, differs: Callable[[np.ndarray, np.ndarray], bool]) -> Point:
        """The point with unknowns that suit its discrete values; itself if nothing that they depend on has changed."""
        if not point.held and point.found_for is not None and not differs(point.discrete, point.found_for):
            return point
        found = self._found(t, point)
        return replace(point, x=found.values["x"], found=found, found_for=point.discrete, held=())

    def complete(self, t: float, point: Point) -> Point:
        """The point with all that a method starts from."""
        if point.found is not None:
            return point
        return replace(point, found=self._found(t, point))

    def _found(self, t: float, point: Point) -> InitialValues:
        model = self.model.with_discrete(point.discrete)
        token = OCCASION.set(None)
        try:
            fixed = tuple(self.model.names("x")[j] for j in point.held)
            try:
                return completed_values(model, t, {"x0": point.x}, fixed=fixed)
            except InconsistentInitialValues:
                if not fixed:
                    raise
                return completed_values(model, t, {"x0": point.x})
        finally:
            OCCASION.reset(token)
