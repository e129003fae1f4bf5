"""Test problems with published or verified reference values.

Every function returns a `Problem`; `catalogue()` lists them by name.

>>> from dalembert import problems
>>> problems.catalogue()["pendulum"]().title
'Planar pendulum in Cartesian coordinates'
"""

from __future__ import annotations

from collections.abc import Callable

from .andrews import andrews
from .ball_in_ellipse import ball_in_ellipse
from .car_axis import car_axis
from .heavy_top import heavy_top
from .motor_pendulum import motor_pendulum
from .nonholonomic import rolling_disc, sleigh
from .pendulum import pendulum
from .problem import Problem, Reference
from .slider_crank import slider_crank
from .truck import truck
from .truck11 import truck11

__all__ = [
    "Problem",
    "Reference",
    "andrews",
    "ball_in_ellipse",
    "car_axis",
    "catalogue",
    "heavy_top",
    "motor_pendulum",
    "pendulum",
    "rolling_disc",
    "sleigh",
    "slider_crank",
    "truck",
    "truck11",
]

_PROBLEMS: tuple[Callable[..., Problem], ...] = (
    pendulum,
    andrews,
    car_axis,
    truck,
    truck11,
    slider_crank,
    heavy_top,
    rolling_disc,
    sleigh,
    ball_in_ellipse,
    motor_pendulum,
)


def catalogue() -> dict[str, Callable[..., Problem]]:
    """All problems: name to the function that makes the problem."""
    return {function.__name__: function for function in _PROBLEMS}
