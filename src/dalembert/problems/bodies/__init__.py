"""Problems described by bodies and joints: one description each, equations in every set of coordinates."""

from .andrews import andrews_from_bodies
from .benchmarks import bricard_from_bodies, four_bars_from_bodies, pendulum_from_bodies
from .chain import chain_of_bodies, chain_system
from .problem import BodiesProblem
from .robot import six_axis_robot
from .slider_crank import spatial_slider_crank
from .stewart import stewart_platform
from .truck import truck_from_bodies

__all__ = [
    "BodiesProblem",
    "andrews_from_bodies",
    "bricard_from_bodies",
    "chain_of_bodies",
    "chain_system",
    "four_bars_from_bodies",
    "pendulum_from_bodies",
    "six_axis_robot",
    "spatial_slider_crank",
    "stewart_platform",
    "truck_from_bodies",
]
