"""Models: named variables, functions, parameters, start values; the user's functions traced into one CasADi graph."""

from dalembert.model.base import Model
from dalembert.model.equations_of_motion import EquationsOfMotion
from dalembert.model.implicit import ImplicitDAE
from dalembert.model.inputs import Input
from dalembert.model.quasi_linear import QuasiLinearDAE

__all__ = ["EquationsOfMotion", "ImplicitDAE", "Input", "Model", "QuasiLinearDAE"]
