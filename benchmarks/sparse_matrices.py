"""Dense and sparse iteration matrices of implicit methods: CPU time of a run on chains of N pendulums.

    python benchmarks/sparse_matrices.py            small chains, dense and sparse; then how sparse Geoms grows
    python benchmarks/sparse_matrices.py long       the latter alone

Where sparse ones begin to win decides what `linear_solver=Auto()` takes (`LARGE` in solvers/radau5.py, solvers/geoms.py
and solvers/bdf/options.py). Exit code 1 if it is slower than the better one by more than a quarter.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import dalembert as da

SIZES = (2, 3, 4, 5, 6, 8, 12, 16, 32, 64)
REPEAT = 7
ALLOWED = 1.25
LONG = (125, 250, 500, 1000, 2000)

METHODS = {
    "Radau5 ggl": lambda how: da.Radau5(linear_solver=how),
    "Radau5 index1": lambda how: da.Radau5(formulation="index1", linear_solver=how),
    "Dassl ggl": lambda how: da.Dassl(linear_solver=how),
    "Dassl index1": lambda how: da.Dassl(formulation="index1", linear_solver=how),
    "Odassl": lambda how: da.Odassl(linear_solver=how),
    "Geoms": lambda how: da.Geoms(linear_solver=how),
}


def grow() -> None:
    """Geoms on long chains: preparation, run, and what is left of the constraints."""
    print("Geoms on chains of N pendulums, t = 0 ... 0.1, tolerance 1e-6; CPU milliseconds, the run best of three")
    print("    N  unknowns  first run       run  steps  factors  run/N/factors (us)   position   velocity")
    for N in LONG:
        problem, method = da.problems.pendulum_chain(N, t_end=0.1), da.Geoms()
        times = []
        for _ in range(4):
            start = time.process_time()
            sol = problem.simulate(method=method, rtol=1e-6, atol=1e-6)
            times.append(time.process_time() - start)
        best, stats = min(times[1:]), sol.stats
        each = 1e6 * best / N / stats.decompositions
        kept = [sol.max_residual(level) for level in ("position", "velocity")]
        print(
            f"{N:5d} {method.formulate(problem.model).n:9d} {1e3 * times[0]:10.0f} {1e3 * best:9.1f} "
            f"{stats.accepted:6d} {stats.decompositions:8d} {each:19.2f} {kept[0]:10.1e} {kept[1]:10.1e}",
            flush=True,
        )


def main() -> int:
    if sys.argv[1:] == ["long"]:
        grow()
        return 0
    slow = []
    print("CPU milliseconds of a run, best of several; unknowns, dense, sparse, auto / better")
    print("   N  " + "".join(f"{label:>32}" for label in METHODS))
    for N in SIZES:
        problem = da.problems.pendulum_chain(N, t_end=0.3)
        cells = []
        for label, method in METHODS.items():
            n = method(da.Auto()).formulate(problem.model).n
            best = dict.fromkeys((da.Dense(), da.Sparse(), da.Auto()), np.inf)
            for _ in range(REPEAT):
                for how in best:
                    start = time.process_time()
                    problem.simulate(method=method(how), rtol=1e-5, atol=1e-5)
                    best[how] = min(best[how], time.process_time() - start)
            dense, sparse, auto = best.values()
            ratio = auto / min(dense, sparse)
            if ratio > ALLOWED:
                slow.append(f"{label} at N = {N}")
            cells.append(f"{n:5d} {1e3 * dense:8.2f} {1e3 * sparse:8.2f} {ratio:5.2f}")
        print(f"{N:4d}  " + "".join(f"{cell:>32}" for cell in cells), flush=True)
    grow()
    print(f"auto is slow: {', '.join(slow)}" if slow else "auto takes the better one, or one as good")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
