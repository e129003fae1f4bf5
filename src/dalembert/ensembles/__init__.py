"""Ensembles: many trajectories of one mechanism by an integrator that is generated around it, on all cores or a GPU."""

from dalembert.ensembles.result import Ensemble
from dalembert.ensembles.run import ensemble

__all__ = ["Ensemble", "ensemble"]
