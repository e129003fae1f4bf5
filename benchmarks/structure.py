"""Structural analysis of large DAEs: CPU time of `analyse`, without the construction of the model.

    python benchmarks/structure.py [unknowns]

Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import dalembert as da
from dalembert.regularize.structure import analyse

GOAL = 2.0  # seconds for 10 000 equations


def ladder(n: int) -> da.ImplicitDAE:
    """A chain of resistors with capacitors to ground, fed by a voltage: index 1."""
    m = n // 2

    def residual(s):
        v, i = s.x[:m], s.x[m:]
        before = [s.feed, *v[:-1]]
        return [*(s.C * s.dx[k] - i[k] + (i[k + 1] if k + 1 < m else 0) for k in range(m)),
                *(before[k] - v[k] - s.R * i[k] for k in range(m))]  # fmt: skip

    names = [*(f"v{k}" for k in range(m)), *(f"i{k}" for k in range(m))]
    return da.ImplicitDAE(
        x=names, residual=residual, parameters={"C": 1e-6, "R": 1e3}, inputs={"feed": np.sin}, name="ladder"
    )


def pendulums(n: int) -> da.ImplicitDAE:
    """Points on a chain of rods, in Cartesian coordinates and of first order: index 3."""
    m = n // 5

    def residual(s):
        x, y, vx, vy, lam = (s.x[k * m : (k + 1) * m] for k in range(5))
        dx, dy, ax, ay = (s.dx[k * m : (k + 1) * m] for k in range(4))
        rows = []
        for k in range(m):
            gx, gy = (x[k], y[k]) if k == 0 else (x[k] - x[k - 1], y[k] - y[k - 1])
            pull_x, pull_y = lam[k] * gx, lam[k] * gy
            if k + 1 < m:
                pull_x, pull_y = pull_x - lam[k + 1] * (x[k + 1] - x[k]), pull_y - lam[k + 1] * (y[k + 1] - y[k])
            rows += [dx[k] - vx[k], dy[k] - vy[k], ax[k] + pull_x, ay[k] + pull_y + 9.81, gx**2 + gy**2 - 1]
        return rows

    names = [f"{kind}{k}" for kind in ("x", "y", "vx", "vy", "lam") for k in range(m)]
    return da.ImplicitDAE(x=names, residual=residual, name="rods")


def cascade(n: int) -> da.ImplicitDAE:
    """Equations in a row of which the first is differentiated once, and every other one therefore: long paths."""

    def residual(s):
        return [*(s.x[k] - np.sin(s.x[k + 1]) for k in range(n - 2)), s.x[0] - s.t, s.dx[n - 2] - s.x[n - 1]]

    return da.ImplicitDAE(x=[f"x{k}" for k in range(n)], residual=residual, name="cascade")


def integrators(n: int) -> da.ImplicitDAE:
    """A hundred integrators in a row driven backwards, side by side: index 100."""
    long = 100

    def residual(s):
        rows = []
        for start in range(0, n, long):
            rows += [s.dx[k] - s.x[k + 1] for k in range(start, start + long - 1)]
            rows.append(s.x[start] - np.sin(s.t))
        return rows

    return da.ImplicitDAE(x=[f"x{k}" for k in range(n)], residual=residual, name="integrators")


def random(n: int) -> da.ImplicitDAE:
    """Three more unknowns in each equation, derivatives with probability one half."""
    rng = np.random.default_rng(7)
    others, rate = rng.integers(0, n, (n, 3)), rng.random((n, 4)) < 0.5
    own = rng.permutation(n)

    def residual(s):
        def term(j, with_rate):
            return s.dx[j] if with_rate else s.x[j]

        return [term(own[i], rate[i, 3]) - sum(term(j, r) for j, r in zip(others[i], rate[i], strict=False))
                for i in range(n)]  # fmt: skip

    return da.ImplicitDAE(x=[f"x{k}" for k in range(n)], residual=residual, name="random")


def main(n: int = 10_000) -> None:
    missed = False
    for build in (ladder, pendulums, cascade, integrators, random):
        start = time.process_time()
        model = build(n)
        built = time.process_time() - start
        start = time.process_time()
        structure = analyse(model)
        blocks = structure.blocks
        seconds = time.process_time() - start
        largest = max(len(rows) for rows, _ in blocks)
        missed |= seconds > GOAL * n / 10_000
        print(
            f"{model.name:<12} {n} equations, index {structure.index:3}, {len(blocks):5} blocks, the largest of "
            f"{largest:5}: {seconds:6.2f} s (the model itself {built:.2f} s)"
        )
    sys.exit(missed)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
