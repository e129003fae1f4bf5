"""A chain of insulators after one of two chains has broken: any number of bodies, a massless point, damping forces."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_count, check_positive, checked
from .drawings import chains
from .insulator_chain_references import INSULATOR_CHAIN
from .problem import Problem, Reference

_PARAMETERS = {
    # the triangle, the insulators, the last of them at the suspension: mass, inertia, distances of the joints
    "m1": 34.0, "I1": 3.1, "d1": 0.37,
    "m": 15.0, "I": 0.35, "d": 0.12, "c": 0.08,
    "m_top": 9.8, "I_top": 0.05, "d_top": 0.16, "c_top": 0.08,
    # the conductor: Young's modulus, cross section, density, static force
    "E": 8e9, "A": 3.4e-4, "rho": 3325.0, "F0": 230000.0,
}  # fmt: skip

#: Time of the first root of phi33' (N = 32), when the insulator at the suspension turns back: an event.
INSULATOR_CHAIN_TURN = 0.12829577


@checked
def insulator_chain(N: int = 32, *, t_end: float = 0.1) -> Problem:
    """Chain of N cap insulators after the other one of a pair has broken off (MEXX [1]_, section 5.4).

    p = (x0, y0, x1, y1, phi1, …, x_{N+1}, y_{N+1}, phi_{N+1}): the point where the conductor pulls, the triangle it
    hangs on, the insulators from there to the suspension at the origin. 3(N+1)+2 coordinates, 2(N+1)+2 constraints, a
    sparse system: the dimension of [M Gᵀ; G 0] is 89, 169, 329 for N = 16, 32, 64, with 327, 631, 1239 nonzeros.

    The point (x0, y0) has no mass: M is semi-definite, and its equations are a balance of forces. The conductor pulls
    with F (sin β, -cos β), where F = F0 + y0' E A/C_L and β = -arctan(x0'/C_Q), both of which damp. Gravity is
    neglected beside F0.

    Read the source with care: the equations (5.8) are meant with second derivatives; c_Q and C_Q are the same, the
    speed sqrt(F0/(A ρ)); at the start all angles vanish, not phi1 alone. Its switching function is the velocity
    phi_{N+1}' itself, not the derivative of it, whose first root for N = 32 is 0.12829577
    (`problems.INSULATOR_CHAIN_TURN`, printed as 0.1283). Before that, the upper end has not moved yet, and signs of
    phi_{N+1}' are rounding errors.

    Parameters
    ----------
    N : number of insulators, at least 2.
    t_end : end time. There are references for N = 16, 32 and 64 at t = 0.1.

    References
    ----------
    .. [1] C. Lubich, U. Nowak, U. Pöhle, C. Engstler, "MEXX - Numerical software for the integration of constrained
       mechanical multibody systems", Konrad-Zuse-Zentrum Berlin, 1992.
    """
    check_count("insulator_chain", "N", N, 2)
    check_positive("insulator_chain", t_end=t_end)
    model = EquationsOfMotion(
        name=f"insulator_chain_{N}",
        drawing=chains.insulator_chain(N),
        p=["x0", "y0"] + [f"{axis}{i}" for i in range(1, N + 2) for axis in ("x", "y", "phi")],
        parameters=dict(_PARAMETERS),
        mass=lambda s: [
            0.0, 0.0, s.m1, s.m1, s.I1, *(N - 1) * [s.m, s.m, s.I], s.m_top, s.m_top, s.I_top
        ],
        force=lambda s: _pull(s) + 3 * (N + 1) * [0.0],
        holonomic=lambda s: _joints(s, N),
    )  # fmt: skip
    p0, v0 = _bodies(np.zeros(N + 1), np.zeros(N + 1))
    reference = None
    if N in INSULATOR_CHAIN and t_end == 0.1:
        angles, rates, lam = INSULATOR_CHAIN[N]
        p, v = _bodies(np.array(angles), np.array(rates))
        reference = Reference(
            t=t_end,
            p=p,
            v=v,
            lam=lam,
            source="computed by us: DOP853 in angles, rtol 2.3e-14 and 1e-11 compared",
            accuracy=1e-9,
        )
    return Problem(
        name="insulator_chain",
        title=f"Chain of {N} insulators",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=reference,
    )


def _pull(s):
    longitudinal, transversal = np.sqrt(s.E / s.rho), np.sqrt(s.F0 / (s.A * s.rho))
    force = s.F0 + s.y0_dot * s.E * s.A / longitudinal
    beta = -np.arctan(s.x0_dot / transversal)
    return [force * np.sin(beta), -force * np.cos(beta)]


def _joints(s, N: int):
    x, y, phi = s.p[2::3], s.p[3::3], s.p[4::3]
    down_x, down_y = np.sin(phi), -np.cos(phi)
    d = np.array((N - 1) * [s.d] + [s.d_top])
    c = np.array((N - 1) * [s.c] + [s.c_top])
    # upper ends of all bodies; that of the triangle is its other corner, at (√3, 1) d1/2 in its frame
    upper_x, upper_y = x[1:] - d * down_x[1:], y[1:] - d * down_y[1:]
    corner_x = x[0] + s.d1 / 2 * (np.sqrt(3) * np.cos(phi[0]) - np.sin(phi[0]))
    corner_y = y[0] + s.d1 / 2 * (np.sqrt(3) * np.sin(phi[0]) + np.cos(phi[0]))
    upper_x, upper_y = np.concatenate([[corner_x], upper_x]), np.concatenate([[corner_y], upper_y])
    lower_x, lower_y = x[1:] + c * down_x[1:], y[1:] + c * down_y[1:]
    pull = [s.x0 - x[0] - s.d1 * down_x[0], s.y0 - y[0] - s.d1 * down_y[0]]
    inner = np.stack([upper_x[:-1] - lower_x, upper_y[:-1] - lower_y], axis=1).ravel()
    return np.concatenate([pull, inner, [upper_x[-1], upper_y[-1]]])


def _bodies(phi: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of all bodies from angles and rates, joint by joint from the suspension down."""
    n = len(phi)
    d = np.array([_PARAMETERS["d1"], *(n - 2) * [_PARAMETERS["d"]], _PARAMETERS["d_top"]])
    c = np.array([0.0, *(n - 2) * [_PARAMETERS["c"]], _PARAMETERS["c_top"]])
    down = np.stack([np.sin(phi), -np.cos(phi)], axis=1)
    down_rate = np.stack([np.cos(phi), np.sin(phi)], axis=1) * rate[:, None]

    def positions(down, corner):
        found = np.empty((n, 2))
        joint = np.zeros(2)
        for i in range(n - 1, 0, -1):
            found[i] = joint + d[i] * down[i]
            joint = found[i] + c[i] * down[i]
        found[0] = joint - corner
        return found[0] + d[0] * down[0], found

    first, turn = phi[0], rate[0]
    corner = (
        d[0] / 2 * np.array([np.sqrt(3) * np.cos(first) - np.sin(first), np.sqrt(3) * np.sin(first) + np.cos(first)])
    )
    corner_rate = turn * np.array([-corner[1], corner[0]])
    point, centres = positions(down, corner)
    point_rate, centre_rates = positions(down_rate, corner_rate)
    p = np.concatenate([point, np.column_stack([centres, phi]).ravel()])
    v = np.concatenate([point_rate, np.column_stack([centre_rates, rate]).ravel()])
    return p, v
