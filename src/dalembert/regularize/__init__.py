"""Hidden constraints, formulations, consistent initial values: everything between a model and its integration."""

from dalembert.regularize.form import Form
from dalembert.regularize.formulations import FORMULATIONS, formulate
from dalembert.regularize.half_explicit import DescriptorForm, descriptor_form
from dalembert.regularize.hidden import HiddenConstraints, hidden_constraints
from dalembert.regularize.initial import InitialValues, consistent_initial_values
from dalembert.regularize.projected import ProjectedSystem, projected
from dalembert.regularize.system import System

__all__ = [
    "FORMULATIONS",
    "DescriptorForm",
    "Form",
    "HiddenConstraints",
    "InitialValues",
    "ProjectedSystem",
    "System",
    "consistent_initial_values",
    "descriptor_form",
    "formulate",
    "hidden_constraints",
    "projected",
]
