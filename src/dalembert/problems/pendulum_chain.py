"""Planar chain of N rods: one mechanism, in coordinates of the bodies or in angles."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_choice, check_count, check_finite, check_positive, checked
from .drawings import chains
from .problem import Problem, Reference

COORDINATES = ("absolute", "joint")

_DEFAULT = {"N": 4, "m": 1.0, "L": 1.0, "g": 9.81, "angle": np.pi / 2, "t_end": 1.0}
# of the default chain at its end
_ANGLES = [-0.050179021832214746, 0.11106068620267434, -0.3222763702762096, -0.8408035312781883]
_RATES = [-1.5916247634976532, -1.4087315468126198, -6.206132188727956, -2.888516115698463]
_LAM = [-6.60857659971154, -66.02399693338721, 4.045569262464689, -55.48082969170274, -1.8430913044031279,
        -46.239074371211274, -17.630382636301245, -24.50479728123692]  # fmt: skip


@checked
def pendulum_chain(
    N: int = 4,
    coordinates: str = "absolute",
    *,
    m: float = 1.0,
    L: float = 1.0,
    g: float = 9.81,
    angle: float = np.pi / 2,
    t_end: float = 1.0,
) -> Problem:
    """Chain of N uniform rods that hangs from a fixed point and falls from rest, all rods at one angle.

    The angles phi_i are measured from the downward vertical. Both descriptions are the same mechanism:

    - "absolute": every rod has its centre (xi, yi) and phi_i; 3N coordinates, a constant diagonal mass matrix and two
      constraints for each pin joint, from the suspension downwards. The graph, M and G grow linearly with N, and the
      joints form a tree.
    - "joint": the angles alone, no constraints. The mass matrix is full,

          M_ij = m L² (N - max(i, j) + 1/2) cos(phi_i - phi_j),   M_ii = m L² (N - i + 1/3),

      and its graph grows with N².

    Energy is conserved. From three rods on the motion is chaotic: errors grow quickly with time.

    Parameters
    ----------
    N : number of rods.
    coordinates : "absolute" or "joint".
    m, L, g : mass and length of each rod, gravity.
    angle : of all rods at the start, in radians.
    t_end : end time. There is a reference for the default values.
    """
    check_count("pendulum_chain", "N", N, 1)
    check_choice("pendulum_chain", "coordinates", coordinates, COORDINATES)
    check_positive("pendulum_chain", m=m, L=L, t_end=t_end)
    check_finite("pendulum_chain", g=g, angle=angle)
    absolute = coordinates == "absolute"
    parameters = {"m": m, "L": L, "g": g}
    model = _absolute(N, parameters) if absolute else _joint(N, parameters)

    def values(phi, rate):
        phi, rate = np.asarray(phi, float), np.asarray(rate, float)
        return _bodies(phi, rate, L) if absolute else (phi, rate)

    p0, v0 = values(np.full(N, float(angle)), np.zeros(N))
    reference = None
    if {"N": N, "m": m, "L": L, "g": g, "angle": angle, "t_end": t_end} == _DEFAULT:
        p, v = values(_ANGLES, _RATES)
        reference = Reference(
            t=t_end,
            p=p,
            v=v,
            lam=_LAM if absolute else None,
            source="computed by us: DOP853 in angles, rtol 2.3e-14 and 1e-12 compared",
            accuracy=1e-11,
        )
    return Problem(
        name="pendulum_chain",
        title=f"Chain of {N} rod{'s' if N > 1 else ''} ({coordinates} coordinates)",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=reference,
    )


def _absolute(N: int, parameters: dict[str, float]) -> EquationsOfMotion:
    return EquationsOfMotion(
        name=f"pendulum_chain_{N}",
        drawing=chains.pendulum_chain(N, absolute=True),
        p=[f"{axis}{i}" for i in range(1, N + 1) for axis in ("x", "y", "phi")],
        parameters=parameters,
        mass=lambda s: np.tile([s.m, s.m, s.m * s.L**2 / 12], N),
        force=lambda s: np.tile([0.0, -s.m * s.g, 0.0], N),
        holonomic=_pins,
        lam=[f"joint{i}_{axis}" for i in range(1, N + 1) for axis in "xy"],
    )


def _pins(s):
    x, y, phi = s.p[0::3], s.p[1::3], s.p[2::3]
    half_x, half_y = s.L / 2 * np.sin(phi), -s.L / 2 * np.cos(phi)
    above_x, above_y = ((centre + half)[:-1] for centre, half in ((x, half_x), (y, half_y)))
    gap_x = x - half_x - np.concatenate([[0.0], above_x])
    gap_y = y - half_y - np.concatenate([[0.0], above_y])
    return np.stack([gap_x, gap_y], axis=1).ravel()


def _joint(N: int, parameters: dict[str, float]) -> EquationsOfMotion:
    coupling = N - np.arange(1, N + 1) + 0.5
    return EquationsOfMotion(
        name=f"pendulum_chain_{N}_joint",
        drawing=chains.pendulum_chain(N, absolute=False),
        p=[f"phi{i}" for i in range(1, N + 1)],
        parameters=parameters,
        mass=lambda s: full_mass(s.p, s.m * s.L**2, coupling, coupling - 1 / 6),
        force=lambda s: -s.m * s.L * (s.L * turning(s.p, s.v, coupling) + s.g * coupling * np.sin(s.p)),
    )


def full_mass(phi, inertia, coupling: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Mass matrix of a chain in angles: inertia · coupling_max(i,j) · cos(phi_i - phi_j), and inertia · diagonal_i."""
    N = len(coupling)
    entries = np.empty((N, N), dtype=object)
    for i in range(N):
        entries[i, i] = inertia * diagonal[i]
        entries[i, :i] = entries[:i, i] = inertia * coupling[i] * np.cos(phi[i] - phi[:i])
    return entries


def turning(phi, rate, coupling: np.ndarray):
    """Σ_j coupling_max(i,j) sin(phi_i - phi_j) phi_j'², in a graph that grows with N, not with N²."""

    def coupled(x):
        from_above = np.cumsum(x)
        from_below = np.cumsum((coupling * x)[::-1])[::-1]
        return coupling * from_above + np.concatenate([from_below[1:], [0.0]])

    sine, cosine, square = np.sin(phi), np.cos(phi), rate**2
    return sine * coupled(cosine * square) - cosine * coupled(sine * square)


def _bodies(phi: np.ndarray, rate: np.ndarray, L: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of all bodies, from angles and rates."""
    along = L * np.array([np.sin(phi), -np.cos(phi)])
    across = L * np.array([np.cos(phi), np.sin(phi)]) * rate
    p = np.stack([*(np.cumsum(along, axis=1) - along / 2), phi], axis=1)
    v = np.stack([*(np.cumsum(across, axis=1) - across / 2), rate], axis=1)
    return p.ravel(), v.ravel()
