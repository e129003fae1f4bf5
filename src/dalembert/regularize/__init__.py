"""Hidden constraints, formulations, consistent initial values: everything between a model and its integration."""

from dalembert.regularize.formulations import FORMULATIONS, formulate
from dalembert.regularize.half_explicit import DescriptorForm, descriptor_form
from dalembert.regularize.hidden import HiddenConstraints, hidden_constraints
from dalembert.regularize.initial import InitialValues, consistent_initial_values, start_vectors
from dalembert.regularize.projected import ProjectedSystem, projected
from dalembert.regularize.system import System

__all__ = [
    "FORMULATIONS",
    "DescriptorForm",
    "HiddenConstraints",
    "InitialValues",
    "ProjectedSystem",
    "System",
    "consistent_initial_values",
    "descriptor_form",
    "formulate",
    "hidden_constraints",
    "projected",
    "start_vectors",
]
