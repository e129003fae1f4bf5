"""Structural analysis of DAEs: index, hidden constraints, and what methods integrate in place of the equations."""

from dalembert.regularize.structure.analysis import Structure, analyse
from dalembert.regularize.structure.incidence import Equations, Incidence

__all__ = ["Equations", "Incidence", "Structure", "analyse"]
