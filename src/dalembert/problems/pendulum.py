"""The planar pendulum in Cartesian coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ellipj, ellipk, ellipkinc

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion

from .arguments import checked
from .drawings import planar
from .problem import Problem, Reference

#: 4 K(1/2)², K the complete elliptic integral of the first kind: a pendulum of length 1 released from the horizontal
#: then has period 2. The value 13.7503716373295 often printed is off by 1.3e-9, and so is the period with it.
GRAVITY_OF_PERIOD_2 = 13.7503716360407456549801915596

_ANGLES = {"horizontal": np.pi / 2, "hanging": 0.0}  # from the lower rest position


@checked
def pendulum(
    *,
    g: float = GRAVITY_OF_PERIOD_2,
    L: float = 1.0,
    m: float = 1.0,
    start: str | float = "horizontal",
    v0: float = 0.0,
    t_end: float = 2.0,
    energy: bool = False,
) -> Problem:
    """Planar pendulum: the smallest index-3 problem, with an exact solution by elliptic functions.

    With the defaults the pendulum swings once from (1, 0) to the other side and is back at rest at t = 2.
    ``pendulum(start="hanging", v0=2.8, energy=True)`` is the overdetermined run of the GEOMS paper [1]_: the energy
    is one more constraint.

    Parameters
    ----------
    g, L, m : gravity, length and mass.
    start : "horizontal" for (L, 0), "hanging" for (0, -L), or the angle in radians from the lower rest position.
    v0 : speed at the start, counter-clockwise positive.
    t_end : end time; the exact reference follows it.
    energy : add conservation of energy as an invariant.

    References
    ----------
    .. [1] A. Steinbrecher, "GEOMS: A software package for the numerical integration of general model equations of
       multibody systems", WIAS Preprint 1259, 2007.
    """
    if isinstance(start, str) and start not in _ANGLES:
        raise OptionError(f"pendulum: start must be one of {sorted(_ANGLES)} or an angle, not {start!r}")
    angle = _ANGLES[start] if isinstance(start, str) else float(start)
    p0, velocity0 = _cartesian(angle, v0 / L, L)
    total = 0.5 * m * v0**2 + m * g * p0[1]

    model = EquationsOfMotion(
        name="pendulum",
        drawing=planar.pendulum(radius=0.07 * L),
        p=["x", "y"],
        parameters={"m": m, "L": L, "g": g} | ({"energy": total} if energy else {}),
        mass=lambda s: [s.m, s.m],
        force=lambda s: [0, -s.m * s.g],
        holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2],
        invariant=(
            (lambda s: [0.5 * s.m * (s.x_dot**2 + s.y_dot**2) + s.m * s.g * s.y - s.energy]) if energy else None
        ),
    )
    angle1, rate1 = exact_angle(angle, v0 / L, g / L, t_end)
    p1, v1 = _cartesian(angle1, rate1, L)
    return Problem(
        name="pendulum",
        title="Planar pendulum in Cartesian coordinates",
        model=model,
        p0=p0,
        v0=velocity0,
        t_end=t_end,
        reference=Reference(
            t=t_end,
            p=p1,
            v=v1,
            lam=[m * (v1 @ v1 - g * p1[1]) / (2 * L**2)],
            source="exact: Jacobi elliptic functions",
            accuracy=1e-14 * (1 + t_end * np.sqrt(g / L)),
        ),
    )


def iftomm_pendulum() -> Problem:
    """Pendulum of the IFToMM benchmark library (A01) [1]_: mass and length 1, g = 9.81, from (-1, 0) at rest, 10 s.

    `pendulum` with these numbers; the period is 2.3678419475762374 s. The benchmark looks at the drift of energy and
    at how little time a method needs for a given accuracy.

    References
    ----------
    .. [1] M. González, D. Dopico, U. Lugrís, J. Cuadrado, "A benchmarking system for MBS simulation software: problem
       standardization and performance measurement", Multibody System Dynamics 16, 2006.
    """
    problem = pendulum(g=9.81, start=-np.pi / 2, t_end=10.0)
    return replace(problem, name="iftomm_pendulum", title="Planar pendulum of the IFToMM benchmarks")


def _cartesian(angle: float, rate: float, L: float) -> tuple[np.ndarray, np.ndarray]:
    sine, cosine = np.sin(angle), np.cos(angle)
    if abs(angle) == np.pi / 2:
        cosine = 0.0  # cos(pi/2) is 6e-17 in floating point; the starts (±L, 0) are meant exactly
    return L * np.array([sine, 0.0 - cosine]), L * rate * np.array([cosine, sine])


def exact_angle(angle: float, rate: float, g_over_L: float, t: float) -> tuple[float, float]:
    """Angle and rate at time t of θ'' = -(g/L) sin θ."""
    omega = np.sqrt(g_over_L)
    modulus2 = (rate / (2 * omega)) ** 2 + np.sin(angle / 2) ** 2  # energy; 1 on the separatrix
    if modulus2 == 0.0:
        return angle, 0.0
    direction = -1.0 if rate < 0 else 1.0
    k = np.sqrt(modulus2)
    if modulus2 < 1.0:  # swings: sin(θ/2) = k sn(ω t + const, k²)
        quarter = ellipk(modulus2)
        turns = omega * t / (4 * quarter)
        if abs(turns - round(turns)) < 1e-15 * (1 + turns):
            return angle, rate  # whole periods: the start itself, without rounding
        phase = ellipkinc(np.arcsin(np.clip(direction * np.sin(angle / 2) / k, -1.0, 1.0)), modulus2)
        sn, cn, _, _ = ellipj(omega * t + phase, modulus2)
        return direction * 2 * np.arcsin(k * sn), direction * 2 * omega * k * cn
    # Goes round: θ/2 is the Jacobi amplitude of k ω t + const with parameter 1/k².
    phase = ellipkinc(direction * angle / 2, 1 / modulus2)
    _, _, dn, amplitude = ellipj(k * omega * t + phase, 1 / modulus2)
    return direction * 2 * amplitude, direction * 2 * omega * k * dn
