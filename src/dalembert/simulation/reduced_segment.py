"""Segments of DAEs from which unknowns were eliminated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dalembert.model import Model
from dalembert.regularize import InitialValues
from dalembert.regularize.judgement import warn_of_change
from dalembert.regularize.structure.aliases import Reduction
from dalembert.simulation.segments import Segment


@dataclass(frozen=True, eq=False)
class ReducedSegment(Segment):
    """A segment whose model and form have the kept unknowns."""

    reduction: Reduction = field(kw_only=True)
    all_x: slice = field(kw_only=True)  # where all unknowns stand in the result

    @property
    def theta(self) -> np.ndarray:
        return self.model.theta()

    def in_whole(self, x: np.ndarray, n: int) -> np.ndarray:
        """States (last axis), or polynomials of steps, of which all but the first coefficients are differences."""
        out = super().in_whole(x, n)
        kept = x[..., self.form.slices["x"]]
        expansion = self.reduction.expansion
        out[..., self.all_x] = expansion.rates(kept)
        values = out[:, 0] if x.ndim == 3 else out
        values[..., self.all_x] += expansion.constants(self.theta)
        return out

    def start(self, initial: InitialValues) -> tuple[np.ndarray, np.ndarray]:
        kept = self.reduction.expansion.kept
        own = {kind: initial.values[kind][kept] for kind in ("x", "x_dot")}
        return self.form.start(replace(initial, values={**initial.values, **own}))

    def own_vectors(
        self, t: float, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], occasion: tuple[str, str]
    ) -> dict[str, np.ndarray]:
        """Of unknowns that are one and the same an action may set any; if it sets several, the kept one counts."""
        expansion, given = self.reduction.expansion, after["x"]
        chosen = given[expansion.kept]
        set_too = expansion.eliminated[given[expansion.eliminated] != before["x"][expansion.eliminated]]
        for j in set_too[expansion.source[set_too] >= 0]:
            k = expansion.source[j]
            if chosen[k] == before["x"][expansion.kept[k]]:
                chosen[k] = expansion.factor[j] * given[j]
        if len(set_too):
            names, found = self.reduction.base.graph.whole.vectors["x"], expansion.states(chosen, self.theta)
            told = [names[j] for j in set_too]
            warn_of_change(told, given[set_too], found[set_too], "the equations", t, occasion)
        return {**after, "x": chosen}

    def rates(self, x_dot: np.ndarray) -> np.ndarray:
        return self.reduction.expansion.rates(super().rates(x_dot))

    def vectors(self, x: np.ndarray, whole: Model) -> dict[str, np.ndarray]:
        own = self.form.vectors(x)
        return {**own, "x": self.reduction.expansion.states(own["x"], self.theta)}
