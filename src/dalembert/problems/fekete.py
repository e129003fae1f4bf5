"""Points on a sphere that repel each other until they are spread out: Fekete's problem as a mechanism."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_count, check_positive, checked
from .drawings import chains
from .fekete_references import FEKETE
from .problem import Problem, Reference

# number of points on a circle of latitude, its latitude, and the azimuth of its first point minus one step
_CIRCLES = ((3, 3 / 8, 1 / 13), (7, 1 / 8, 1 / 29), (6, -2 / 15, 1 / 7), (4, -3 / 10, 1 / 17 - 1 / 2))  # in units of π


@checked
def fekete(N: int = 20, *, t_end: float = 1000.0) -> Problem:
    """N points on the unit sphere with damped motion: 3 N coordinates, N constraints, a long way to rest [1]_.

    Where the product of all distances is largest, the points repel each other by 1/distance and are at rest on the
    sphere. The motion p_i'' = Σ (p_i - p_j)/|p_i - p_j|² - ½ p_i' - 2 λ_i p_i with |p_i|² = 1 ends there. The source
    states it with index 2 and a second multiplier; here it is given as it comes, with the constraints on the
    positions (index 3), and the rest is left to the formulation. The source's multipliers have the other sign.

    At rest p_i · Σ (p_i - p_j)/|p_i - p_j|² = (N - 1)/2 for every i, because |p_i - p_j|² = 2 - 2 p_i · p_j on the
    sphere: so all λ_i = (N - 1)/4. The way to rest is what counts: there are other equilibria, and which one is found
    depends on the start.

    Parameters
    ----------
    N : number of points. The source has 20, on four circles of latitude; there is a reference for these. Others
        start on a spiral from pole to pole (our choice), at rest as well, and have no reference.
    t_end : end time; the reference is for 1000.

    References
    ----------
    .. [1] F. Mazzia, C. Magherini, "Test set for initial value problem solvers", release 2.4, 2008, problem "Fekete".
    """
    check_count("fekete", "N", N, 2)
    check_positive("fekete", t_end=t_end)
    model = EquationsOfMotion(
        name=f"fekete_{N}",
        drawing=chains.fekete(N),
        p=[f"{axis}{i}" for i in range(1, N + 1) for axis in "xyz"],
        parameters={"damping": 0.5},
        mass=np.ones(3 * N),
        force=lambda s: _repulsion(s.p.reshape(N, 3)).ravel() - s.damping * s.v,
        holonomic=lambda s: np.sum(s.p.reshape(N, 3) ** 2, axis=1) - 1,
        lam=[f"sphere{i}" for i in range(1, N + 1)],
    )
    reference = None
    if N == 20 and t_end == 1000.0:
        reference = Reference(
            t=t_end,
            p=FEKETE,
            v=np.zeros(3 * N),
            lam=np.full(N, (N - 1) / 4),
            source="computed by us: DOP853, tolerance 1e-12; the published positions agree to 2.8e-12; v and lam exact",
            accuracy=3e-12,
        )
    return Problem(
        name="fekete",
        title=f"{N} points on a sphere",
        model=model,
        p0=(_circles() if N == 20 else _spiral(N)).ravel(),
        v0=np.zeros(3 * N),
        t_end=t_end,
        reference=reference,
    )


def _repulsion(points):
    """Σ (p_i - p_j)/|p_i - p_j|² for every i; each pair is worked out once."""
    i, j = np.triu_indices(len(points), 1)
    apart = points[i] - points[j]
    push = apart / np.sum(apart**2, axis=1)[:, None]
    forces = [0.0 * points[0]] * len(points)
    for k, (a, b) in enumerate(zip(i, j, strict=True)):
        forces[a] = forces[a] + push[k]
        forces[b] = forces[b] - push[k]
    return np.stack(forces)


def _circles() -> np.ndarray:
    return np.concatenate(
        [
            _on_sphere(np.pi * (2 * np.arange(1, count + 1) / count + first), np.full(count, np.pi * latitude))
            for count, latitude, first in _CIRCLES
        ]
    )


def _spiral(N: int) -> np.ndarray:
    """At equal distances of latitude, turned by the golden angle from one to the next: no two points coincide."""
    height = 1 - (2 * np.arange(N) + 1) / N
    return _on_sphere(np.pi * (3 - np.sqrt(5)) * np.arange(N), np.arcsin(height))


def _on_sphere(azimuth: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    across = np.cos(latitude)
    return np.stack([across * np.cos(azimuth), across * np.sin(azimuth), np.sin(latitude)], axis=1)
