"""Structural analysis of DAEs: index, hidden constraints, and what methods integrate in place of the equations."""

from dalembert.regularize.structure.aliases import Alias, reduced
from dalembert.regularize.structure.analysis import Structure, analyse, listed
from dalembert.regularize.structure.forms import Constraints, Regularized
from dalembert.regularize.structure.hidden import regularized
from dalembert.regularize.structure.incidence import Equations, Incidence
from dalembert.regularize.structure.levels import HiddenLevels, hidden_levels

__all__ = [
    "Alias",
    "Constraints",
    "Equations",
    "HiddenLevels",
    "Incidence",
    "Regularized",
    "Structure",
    "analyse",
    "hidden_levels",
    "listed",
    "reduced",
    "regularized",
]
