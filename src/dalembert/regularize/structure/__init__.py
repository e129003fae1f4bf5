"""Structural analysis of DAEs: index, hidden constraints, and what methods integrate in place of the equations."""

from dalembert.regularize.structure.analysis import Structure, analyse, listed
from dalembert.regularize.structure.hidden import Constraints, Regularized, regularized
from dalembert.regularize.structure.incidence import Equations, Incidence

__all__ = ["Constraints", "Equations", "Incidence", "Regularized", "Structure", "analyse", "listed", "regularized"]
