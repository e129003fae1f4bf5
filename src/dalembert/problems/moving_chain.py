"""Chain of mathematical pendulums whose suspension moves."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_choice, check_count, check_finite, check_positive, checked
from .drawings import chains
from .moving_chain_references import MOVING_CHAIN
from .pendulum_chain import COORDINATES, full_mass, turning
from .problem import Problem, Reference

_PARAMETERS = {"m": 1.0, "L": 1.0, "g": 9.81, "x_mean": 2.0, "x_amplitude": 0.3, "y_amplitude": 0.2}


@checked
def moving_chain(N: int = 12, *, omega: float = 0.05, coordinates: str = "joint", t_end: float = 200.0) -> Problem:
    """N point masses on massless rods below a suspension that moves slowly [1]_: small oscillations over 200 s.

    The suspension is at (2 + 0.3 sin ωt, 0.2 sin ωt); one more mass rides on it and has no say. The angles are
    measured from the downward vertical:

    - "joint": the angles a1 … aN, no constraints, a full mass matrix
      M_ij = m L² (N + 1 - max(i, j)) cos(a_i - a_j).
    - "absolute": the points (xi, yi) with one constraint for the length of each rod.

    The source does not give the start, and calls ω = 0.05 a frequency in Hz. We start with all angles and their rates
    zero, so that all points have the suspension's velocity, and keep references for both readings: ω = 0.05 rad/s
    (the default, 1.6 periods) and ω = 2π·0.05 rad/s (10 periods).

    Parameters
    ----------
    N : number of rods. There are references for 12, 14 and 16.
    omega : angular frequency of the suspension.
    coordinates : "joint" or "absolute".
    t_end : end time; the references are for 200.

    References
    ----------
    .. [1] M. Arnold, A. Fuchs, C. Führer, "Efficient corrector iteration for DAE time integration in multibody
       dynamics", Computer Methods in Applied Mechanics and Engineering 195, 2006, section 4.2.1.
    """
    check_count("moving_chain", "N", N, 1)
    check_choice("moving_chain", "coordinates", coordinates, COORDINATES)
    check_finite("moving_chain", omega=omega)
    check_positive("moving_chain", t_end=t_end)
    absolute = coordinates == "absolute"
    parameters = {**_PARAMETERS, "omega": omega}
    model = _absolute(N, parameters) if absolute else _joint(N, parameters)

    def values(t, angles, rates):
        angles, rates = np.asarray(angles, float), np.asarray(rates, float)
        return _points(t, omega, angles, rates) if absolute else (angles, rates)

    p0, v0 = values(0.0, np.zeros(N), np.zeros(N))
    reference = None
    for (known_omega, known_N), state in MOVING_CHAIN.items():
        if known_N == N and abs(omega - known_omega) < 1e-15 and t_end == 200.0:
            p, v = values(t_end, *state)
            reference = Reference(
                t=t_end,
                p=p,
                v=v,
                source="computed by us: DOP853 in angles, rtol 2.3e-14 and 1e-12 compared",
                accuracy=2e-12,
            )
    return Problem(
        name="moving_chain",
        title=f"Chain of {N} pendulums with moving suspension ({coordinates} coordinates)",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=reference,
    )


def _joint(N: int, parameters: dict[str, float]) -> EquationsOfMotion:
    coupling = N + 1.0 - np.arange(1, N + 1)  # masses below the upper end of each rod

    def force(s):
        # the suspension's acceleration acts like gravity
        swing = -(s.omega**2) * np.sin(s.omega * s.t)
        across = (s.g + s.y_amplitude * swing) * np.sin(s.p) + s.x_amplitude * swing * np.cos(s.p)
        return -s.m * s.L * (s.L * turning(s.p, s.v, coupling) + coupling * across)

    return EquationsOfMotion(
        name=f"moving_chain_{N}_joint",
        drawing=chains.moving_chain(N, absolute=False),
        p=[f"a{i}" for i in range(1, N + 1)],
        parameters=parameters,
        mass=lambda s: full_mass(s.p, s.m * s.L**2, coupling, coupling),
        force=force,
    )


def _absolute(N: int, parameters: dict[str, float]) -> EquationsOfMotion:
    def lengths(s):
        swing = np.sin(s.omega * s.t)
        x = np.concatenate([[s.x_mean + s.x_amplitude * swing], s.p[0::2]])
        y = np.concatenate([[s.y_amplitude * swing], s.p[1::2]])
        return np.diff(x) ** 2 + np.diff(y) ** 2 - s.L**2

    return EquationsOfMotion(
        name=f"moving_chain_{N}",
        drawing=chains.moving_chain(N, absolute=True),
        p=[f"{axis}{i}" for i in range(1, N + 1) for axis in "xy"],
        parameters=parameters,
        mass=lambda s: np.tile([s.m, s.m], N),
        force=lambda s: np.tile([0.0, -s.m * s.g], N),
        holonomic=lengths,
        lam=[f"rod{i}" for i in range(1, N + 1)],
    )


def _points(t: float, omega: float, angles: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of the points, from angles and rates."""
    mean, L = np.array([_PARAMETERS["x_mean"], 0.0]), _PARAMETERS["L"]
    amplitude = np.array([_PARAMETERS["x_amplitude"], _PARAMETERS["y_amplitude"]])
    along = L * np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    across = L * np.stack([np.cos(angles), np.sin(angles)], axis=1) * rates[:, None]
    p = mean + amplitude * np.sin(omega * t) + np.cumsum(along, axis=0)
    v = amplitude * omega * np.cos(omega * t) + np.cumsum(across, axis=0)
    return p.ravel(), v.ravel()
