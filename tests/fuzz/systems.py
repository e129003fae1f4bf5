"""A handful of small models, each with its own reduced equations, which SciPy integrates: the answers to compare with.

A `System` has a model, its start, and `rates(t, y, case, brake)` of minimal coordinates y; `state(y)` gives from these
what the model calls its unknowns, p and v or x. A `Case` is what may change from run to run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da

#: drives by name: u(t) as users write it
DRIVES = {
    "none": lambda t: 0.0 * t,
    "sine": lambda t: 2.0 * np.sin(3.0 * t),
    "number": lambda t: 0.7,
}


@dataclass(frozen=True)
class Case:
    """One run: what its exact solution depends on."""

    t_span: tuple[float, float]
    g: float = 9.81
    drive: str = "none"
    brake: float = 0.0
    kicks: bool = False  # at every root of the system's watched variable velocities are halved, and the brake goes on


@dataclass(frozen=True)
class System:
    """A model and what is known about it."""

    name: str
    make: Callable[[], Any]
    start: dict[str, list[float]]
    y0: tuple[float, ...]
    rates: Callable
    state: Callable  # y -> values of the model's unknowns in the order of `compared`
    compared: tuple[str, ...]  # names of these
    watched: Callable | None = None  # s -> what an event may look at
    watched_y: Callable | None = None  # the same of y
    slowed: Callable | None = None  # y -> y with halved velocities
    speeds: tuple[str, ...] = ()  # names of the velocities that are halved

    @property
    def model(self):
        return _model(self.name)


@cache
def _model(name):
    return SYSTEMS[name].make()


# -- pendulum ----------------------------------------------------------------------------------------------------------

OTHERS = {"parameters": {"g": 9.81}, "inputs": {"drive": DRIVES["none"]}, "discrete": {"brake": 0}}


def pendulum_model(**changes):
    return da.EquationsOfMotion(
        p=["x", "y"],
        mass=[1, 1],
        force=lambda s: [s.drive - s.brake * s.x_dot, -s.g - s.brake * s.y_dot],
        **{"holonomic": lambda s: [s.x**2 + s.y**2 - 1], **OTHERS, **changes},
    )


def pendulum_rates(t, y, case, brake):
    angle, rate = y
    return [rate, DRIVES[case.drive](t) * np.cos(angle) - case.g * np.sin(angle) - brake * rate]


def pendulum_state(y):
    angle, rate = y
    return np.array([np.sin(angle), -np.cos(angle), rate * np.cos(angle), rate * np.sin(angle)])


PENDULUM = {
    "start": {"p0": [np.sin(1.0), -np.cos(1.0)], "v0": [0.5 * np.cos(1.0), 0.5 * np.sin(1.0)]},
    "y0": (1.0, 0.5),
    "rates": pendulum_rates,
    "state": pendulum_state,
    "compared": ("x", "y", "x_dot", "y_dot"),
    "watched": lambda s: s.x - 0.2,
    "watched_y": lambda y: np.sin(y[0]) - 0.2,
    "slowed": lambda y: np.array([y[0], 0.5 * y[1]]),
    "speeds": ("x_dot", "y_dot"),
}


# -- two springs: no constraint at all ---------------------------------------------------------------------------------


def springs_model():
    return da.EquationsOfMotion(
        p=["c", "d"],
        mass=lambda s: [[2, 0.5], [0.5, 1]],
        force=lambda s: [-3 * s.c + s.drive - s.brake * s.c_dot, -s.g * s.d - s.brake * s.d_dot],
        **OTHERS,
    )


def springs_rates(t, y, case, brake):
    c, d, c_dot, d_dot = y
    force = [-3 * c + DRIVES[case.drive](t) - brake * c_dot, -case.g * d - brake * d_dot]
    return [c_dot, d_dot, *np.linalg.solve([[2, 0.5], [0.5, 1]], force)]


# -- two rods in absolute coordinates ----------------------------------------------------------------------------------


def double_model():
    return da.EquationsOfMotion(
        p=["x1", "y1", "x2", "y2"],
        mass=[1, 1, 1, 1],
        force=lambda s: [
            s.drive - s.brake * s.x1_dot, -s.g - s.brake * s.y1_dot, -s.brake * s.x2_dot, -s.g - s.brake * s.y2_dot,
        ],
        holonomic=lambda s: [s.x1**2 + s.y1**2 - 1, (s.x2 - s.x1) ** 2 + (s.y2 - s.y1) ** 2 - 1],
        **OTHERS,
    )  # fmt: skip


def double_parts(y):
    """Positions, velocities, Jacobian of positions by angles, and what second derivatives add."""
    (a, b), (da_, db) = y[:2], y[2:]
    p = np.array([np.sin(a), -np.cos(a), np.sin(a) + np.sin(b), -np.cos(a) - np.cos(b)])
    J = np.array([[np.cos(a), 0], [np.sin(a), 0], [np.cos(a), np.cos(b)], [np.sin(a), np.sin(b)]])
    bent = np.array([-np.sin(a) * da_**2, np.cos(a) * da_**2, 0, 0])
    bent[2:] = bent[:2] + np.array([-np.sin(b), np.cos(b)]) * db**2
    return p, J @ [da_, db], J, bent


def double_rates(t, y, case, brake):
    _, v, J, bent = double_parts(y)
    force = np.array([DRIVES[case.drive](t), -case.g, 0, -case.g]) - brake * v
    return [*y[2:], *np.linalg.solve(J.T @ J, J.T @ (force - bent))]


# -- a skate: a nonholonomic constraint --------------------------------------------------------------------------------


def skate_model():
    return da.EquationsOfMotion(
        p=["x", "y", "phi"],
        mass=[1, 1, 0.5],
        force=lambda s: [s.drive - s.brake * s.x_dot, 0.1 * s.g - s.brake * s.y_dot, 0.3 - s.brake * s.phi_dot],
        nonholonomic=lambda s: [-np.sin(s.phi) * s.x_dot + np.cos(s.phi) * s.y_dot],
        **OTHERS,
    )


def skate_rates(t, y, case, brake):
    _, _, phi, u, turn = y
    push = DRIVES[case.drive](t) * np.cos(phi) + 0.1 * case.g * np.sin(phi) - brake * u
    return [u * np.cos(phi), u * np.sin(phi), turn, push, (0.3 - brake * turn) / 0.5]


def skate_state(y):
    x, y_, phi, u, turn = y
    return np.array([x, y_, phi, u * np.cos(phi), u * np.sin(phi), turn])


# -- DAEs that are no mechanisms ---------------------------------------------------------------------------------------


def root_of(y):
    """z with z + z³ = y."""
    z = np.cbrt(y)
    for _ in range(60):
        z -= (z + z**3 - y) / (1 + 3 * z * z)
    return z


def quasi_linear_model():
    return da.QuasiLinearDAE(
        x=["a", "b", "z"],
        leading=lambda s: [[1, 0, 0], [0, 2, 0], [0, 0, 0]],
        rhs=lambda s: [s.b, -s.g * s.a - s.brake * s.b + s.drive, s.z + s.z**3 - s.a],
        **OTHERS,
    )


def implicit_model():
    return da.ImplicitDAE(
        x=["a", "b"],
        residual=lambda s: [s.dx[0] + s.dx[0] ** 3 - s.b, s.dx[1] + s.g * s.a + s.brake * s.b - s.drive],
        **OTHERS,
    )


SYSTEMS = {
    system.name: system
    for system in (
        System("pendulum", pendulum_model, **PENDULUM),
        System("redundant", lambda: pendulum_model(
            holonomic=lambda s: [s.x**2 + s.y**2 - 1, 2 * s.x**2 + 2 * s.y**2 - 2]), **PENDULUM),
        System(
            "springs", springs_model, {"p0": [1.0, -0.5], "v0": [0.0, 1.0]}, (1.0, -0.5, 0.0, 1.0), springs_rates,
            np.array, ("c", "d", "c_dot", "d_dot"), lambda s: s.c - 0.1, lambda y: y[0] - 0.1,
            lambda y: np.array([y[0], y[1], y[2] / 2, y[3] / 2]), ("c_dot", "d_dot"),
        ),
        System(
            "double", double_model,
            {"p0": [np.sin(0.4), -np.cos(0.4), np.sin(0.4) + np.sin(0.9), -np.cos(0.4) - np.cos(0.9)], "v0": [0.0] * 4},
            (0.4, 0.9, 0.0, 0.0), double_rates, lambda y: np.concatenate(double_parts(y)[:2]),
            ("x1", "y1", "x2", "y2", "x1_dot", "y1_dot", "x2_dot", "y2_dot"), lambda s: s.x2 - 0.9,
            lambda y: np.sin(y[0]) + np.sin(y[1]) - 0.9, lambda y: np.array([y[0], y[1], y[2] / 2, y[3] / 2]),
            ("x1_dot", "y1_dot", "x2_dot", "y2_dot"),
        ),
        System(
            "skate", skate_model, {"p0": [0.0, 0.0, 0.3], "v0": [np.cos(0.3), np.sin(0.3), 0.2]},
            (0.0, 0.0, 0.3, 1.0, 0.2), skate_rates, skate_state, ("x", "y", "phi", "x_dot", "y_dot", "phi_dot"),
            lambda s: s.x - 0.6, lambda y: y[0] - 0.6, lambda y: np.array([*y[:3], y[3] / 2, y[4] / 2]),
            ("x_dot", "y_dot", "phi_dot"),
        ),
        System(
            "quasi-linear", quasi_linear_model, {"x0": [1.0, 0.5, root_of(1.0)]}, (1.0, 0.5),
            lambda t, y, case, brake: [y[1], (-case.g * y[0] - brake * y[1] + DRIVES[case.drive](t)) / 2],
            lambda y: np.array([y[0], y[1], root_of(y[0])]), ("a", "b", "z"), lambda s: s.a - 0.3, lambda y: y[0] - 0.3,
            lambda y: np.array([y[0], y[1] / 2]), ("b",),
        ),
        System(
            "implicit", implicit_model, {"x0": [1.0, 0.5]}, (1.0, 0.5),
            lambda t, y, case, brake: [root_of(y[1]), -case.g * y[0] - brake * y[1] + DRIVES[case.drive](t)],
            np.array, ("a", "b"), lambda s: s.a - 0.3, lambda y: y[0] - 0.3,
            lambda y: np.array([y[0], y[1] / 2]), ("b",),
        ),
    )
}  # fmt: skip


@lru_cache(maxsize=4096)
def reference(name: str, case: Case):
    """Stretches (t0, t1, dense solution in y) between kicks, in the order of time of the run."""
    system, (t, t1) = SYSTEMS[name], case.t_span
    y, brake, stretches = np.array(system.y0), case.brake, []
    while True:
        if stretches:  # right behind a kick it goes on to the side to which it was heading
            ahead = 1e-6 * np.sign(t1 - t) * np.array(system.rates(t, y, case, brake))
        side = system.watched_y(y + ahead if stretches else y)
        found = _until_root(system, case, brake, t, y, side)
        end = found.t[-1]
        stretches.append((t, end, found.sol))
        if end == t1 or len(stretches) > 50:
            return stretches
        t, y, brake = end, system.slowed(found.y[:, -1]), 1.0


def _until_root(system, case, brake, t, y, side):
    """To the next root of what is watched, or to the end if that has no consequences."""

    def root(time, state, *_):
        return system.watched_y(state) if abs(time - t) > 1e-9 else np.sign(side)

    root.terminal = True
    return solve_ivp(
        system.rates, (t, case.t_span[1]), y, "DOP853", dense_output=True, rtol=2.5e-14, atol=1e-13,
        args=(case, brake), events=root if case.kicks else None,
    )  # fmt: skip


def exact(name: str, case: Case, t: float) -> np.ndarray | None:
    """The state at a time; None within a hair of a kick, where it has two values."""
    system, stretches = SYSTEMS[name], reference(name, case)
    if case.t_span[0] == case.t_span[1]:
        return system.state(np.array(system.y0))
    if any(abs(t - start) < 1e-4 for start, _, _ in stretches[1:]):
        return None
    for start, end, solution in stretches:
        if min(start, end) <= t <= max(start, end):
            return system.state(solution(t))
    return None
