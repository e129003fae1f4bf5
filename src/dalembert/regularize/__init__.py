"""Hidden constraints, formulations, consistent initial values: everything between a model and its integration."""

from dalembert.regularize.formulations import FORMULATIONS, formulate
from dalembert.regularize.hidden import HiddenConstraints, hidden_constraints
from dalembert.regularize.initial import InitialValues, consistent_initial_values, start_vectors
from dalembert.regularize.system import System

__all__ = [
    "FORMULATIONS",
    "HiddenConstraints",
    "InitialValues",
    "System",
    "consistent_initial_values",
    "formulate",
    "hidden_constraints",
    "start_vectors",
]
