"""Test problems with published or verified reference values.

Every function returns a `Problem`; `catalogue()` lists by name those that every method should solve,
`catalogue_large()` those with many bodies or long time spans, `catalogue_singular()` those with redundant constraints
or singular positions, `catalogue_quasi_linear()` those that are not equations of motion, `catalogue_multibody()` those
described by bodies and joints, `catalogue_contact()` those with contacts.

>>> from dalembert import problems
>>> problems.catalogue()["pendulum"]().title
'Planar pendulum in Cartesian coordinates'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .andrews import andrews
from .ball_in_ellipse import ball_in_ellipse
from .bodies import (
    BodiesProblem,
    andrews_from_bodies,
    bricard_from_bodies,
    chain_of_bodies,
    chain_system,
    four_bars_from_bodies,
    pendulum_from_bodies,
    six_axis_robot,
    spatial_slider_crank,
    stewart_platform,
    truck_from_bodies,
)
from .bricard import bricard, bricard_point
from .cable_drum import cable_drum
from .car_axis import car_axis
from .contact import (
    WOODPECKER_CYCLE,
    ImpactProblem,
    KnownImpact,
    ball_chain,
    ball_over_corner,
    ball_over_edge,
    ball_stack,
    billiard,
    bouncing_ball,
    bouncing_balls,
    falling_block,
    four_bar_stop,
    newtons_cradle,
    painleve_rod,
    rimless_wheel,
    sliding_box,
    woodpecker,
)
from .dae import (
    NaiveProblem,
    batch_reactor,
    bridge_rectifier,
    car_axis_written_out,
    current_transformer,
    elastic_robot,
    integrator_chain,
    miller_integrator,
    naive,
    pendulum_written_out,
    rc_ladder,
    transistor_amplifier,
)
from .fekete import fekete
from .four_bar_chain import four_bar_chain, four_bar_singular_times
from .four_bar_linkage import four_bar_linkage
from .heavy_top import heavy_top
from .insulator_chain import INSULATOR_CHAIN_TURN, insulator_chain
from .motor_pendulum import motor_pendulum
from .moving_chain import moving_chain
from .nonholonomic import rolling_disc, sleigh
from .passenger_car import passenger_car
from .pendulum import iftomm_pendulum, pendulum
from .pendulum_chain import pendulum_chain
from .problem import Problem, Reference
from .railway_carriage import railway_carriage
from .rocking_block import ROCKING_BLOCK_FLAT, rocking_block
from .slider_crank import slider_crank
from .spheres import spheres_in_box
from .truck import truck
from .truck11 import truck11

__all__ = [
    "INSULATOR_CHAIN_TURN",
    "ROCKING_BLOCK_FLAT",
    "WOODPECKER_CYCLE",
    "BodiesProblem",
    "ImpactProblem",
    "KnownImpact",
    "NaiveProblem",
    "Problem",
    "Reference",
    "andrews",
    "andrews_from_bodies",
    "ball_chain",
    "ball_in_ellipse",
    "ball_over_corner",
    "ball_over_edge",
    "ball_stack",
    "batch_reactor",
    "billiard",
    "bouncing_ball",
    "bouncing_balls",
    "bricard",
    "bricard_from_bodies",
    "bricard_point",
    "bridge_rectifier",
    "cable_drum",
    "car_axis",
    "car_axis_written_out",
    "catalogue",
    "catalogue_contact",
    "catalogue_large",
    "catalogue_multibody",
    "catalogue_quasi_linear",
    "catalogue_singular",
    "chain_of_bodies",
    "chain_system",
    "current_transformer",
    "elastic_robot",
    "falling_block",
    "fekete",
    "four_bar_chain",
    "four_bar_linkage",
    "four_bar_singular_times",
    "four_bar_stop",
    "four_bars_from_bodies",
    "heavy_top",
    "iftomm_pendulum",
    "insulator_chain",
    "integrator_chain",
    "miller_integrator",
    "motor_pendulum",
    "moving_chain",
    "naive",
    "newtons_cradle",
    "painleve_rod",
    "passenger_car",
    "pendulum",
    "pendulum_chain",
    "pendulum_from_bodies",
    "pendulum_written_out",
    "railway_carriage",
    "rc_ladder",
    "rimless_wheel",
    "rocking_block",
    "rolling_disc",
    "six_axis_robot",
    "sleigh",
    "slider_crank",
    "sliding_box",
    "spatial_slider_crank",
    "spheres_in_box",
    "stewart_platform",
    "transistor_amplifier",
    "truck",
    "truck11",
    "truck_from_bodies",
    "woodpecker",
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
    iftomm_pendulum,
    cable_drum,
    four_bar_linkage,
    rocking_block,
    pendulum_chain,
    passenger_car,
)

_LARGE: tuple[Callable[..., Problem], ...] = (insulator_chain, moving_chain, fekete, railway_carriage)

_QUASI_LINEAR: tuple[Callable[..., Problem], ...] = (
    transistor_amplifier,
    miller_integrator,
    bridge_rectifier,
    current_transformer,
    batch_reactor,
    elastic_robot,
    integrator_chain,
    rc_ladder,
    pendulum_written_out,
    car_axis_written_out,
)

_SINGULAR: tuple[Callable[..., Problem], ...] = (four_bar_chain, bricard)


_BODIES: tuple[Callable[..., BodiesProblem], ...] = (
    andrews_from_bodies,
    truck_from_bodies,
    six_axis_robot,
    spatial_slider_crank,
    stewart_platform,
    chain_of_bodies,
    pendulum_from_bodies,
    four_bars_from_bodies,
    bricard_from_bodies,
)


_CONTACT: tuple[Callable[..., ImpactProblem], ...] = (
    bouncing_ball,
    bouncing_balls,
    ball_stack,
    ball_chain,
    newtons_cradle,
    falling_block,
    four_bar_stop,
    woodpecker,
    sliding_box,
    painleve_rod,
    rimless_wheel,
    billiard,
    ball_over_edge,
    ball_over_corner,
)


def _by_name(functions: Iterable[Any]) -> dict[str, Any]:
    return {function.__name__: function for function in functions}


def catalogue() -> dict[str, Callable[..., Problem]]:
    """All problems whose constraints are independent: name to the function that makes the problem."""
    return _by_name(_PROBLEMS)


def catalogue_large() -> dict[str, Callable[..., Problem]]:
    """Problems of many bodies or long time spans: too much work for dense methods at every tolerance.

    Their functions take the number of bodies; so does `pendulum_chain`, which is small by default.
    """
    return _by_name(_LARGE)


def catalogue_quasi_linear() -> dict[str, Callable[..., Problem]]:
    """Problems whose model is a `QuasiLinearDAE`: values in x, neither positions nor formulations."""
    return _by_name(_QUASI_LINEAR)


def catalogue_multibody() -> dict[str, Callable[..., BodiesProblem]]:
    """Problems described by bodies and joints; their functions take `coordinates`, "joint", "absolute" or "mixed"."""
    return _by_name(_BODIES)


def catalogue_contact() -> dict[str, Callable[..., ImpactProblem]]:
    """Problems with contacts: impacts, friction, and what is closed and open changes."""
    return _by_name(_CONTACT)


def catalogue_singular() -> dict[str, Callable[..., Problem]]:
    """Problems whose constraint Jacobian lacks full row rank, always (redundant constraints) or at some positions.

    Methods that factorize the saddle-point matrix fail on them or lose accuracy, so they are not part of `catalogue`.
    Multipliers need not be unique, and references may have none.
    """
    return _by_name(_SINGULAR)
