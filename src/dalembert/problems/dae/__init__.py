"""Problems that are no equations of motion, of index 1 to 5 or of any index, and mechanics written naively."""

from .chains import integrator_chain, rc_ladder
from .circuits import bridge_rectifier, current_transformer, miller_integrator
from .naive import NaiveProblem, naive
from .reactor import batch_reactor
from .robot import elastic_robot
from .transistor_amplifier import transistor_amplifier
from .written_out import car_axis_written_out, pendulum_written_out

__all__ = [
    "NaiveProblem",
    "batch_reactor",
    "bridge_rectifier",
    "car_axis_written_out",
    "current_transformer",
    "elastic_robot",
    "integrator_chain",
    "miller_integrator",
    "naive",
    "pendulum_written_out",
    "rc_ladder",
    "transistor_amplifier",
]
