"""Which equations of an overdetermined DAE to take for the DAE: those of which the others are consequences."""

from __future__ import annotations

import numpy as np

from dalembert.model import Model
from dalembert.regularize.structure.combine import singular_everywhere, structure_of
from dalembert.regularize.structure.incidence import Equations, Incidence
from dalembert.regularize.structure.matching import deepest_rows, first_rows


def base_rows(model: Model, equations: Equations, sigma: Incidence) -> np.ndarray:
    """As many rows as have a transversal: of several choices that which leaves fewest degrees of freedom.

    A choice whose equations depend on each other, wherever one looks, is none.
    """
    differential = np.bincount(sigma.rows, sigma.order, sigma.shape[0]) > 0
    backwards = np.lexsort((-np.arange(sigma.shape[0]), ~differential))
    choices = [first_rows(sigma), deepest_rows(sigma), np.sort(backwards[first_rows(sigma.take(backwards))])]
    best, fewest = choices[0], sigma.shape[1] + 1
    if len(best) < sigma.shape[1]:
        return best
    for rows in choices:
        part = equations.some(rows)
        structure = structure_of(model, part, sigma.take(rows))
        if structure.degrees_of_freedom < fewest and not singular_everywhere(model, part, structure):
            best, fewest = rows, structure.degrees_of_freedom
    return best
