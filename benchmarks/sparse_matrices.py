"""Dense and sparse iteration matrices of implicit methods: CPU time of a run on chains of N pendulums.

    python benchmarks/sparse_matrices.py

Where sparse ones begin to win decides what `linear_algebra="auto"` takes (`LARGE` in solvers/radau5.py and
solvers/bdf/options.py). Exit code 1 if "auto" is slower than the better one by more than a quarter.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import dalembert as da

SIZES = (2, 3, 4, 5, 6, 8, 12, 16, 32, 64)
REPEAT = 7
ALLOWED = 1.25

METHODS = {
    "Radau5 ggl": lambda how: da.Radau5(linear_algebra=how),
    "Radau5 index1": lambda how: da.Radau5(formulation="index1", linear_algebra=how),
    "Dassl ggl": lambda how: da.Dassl(linear_algebra=how),
    "Dassl index1": lambda how: da.Dassl(formulation="index1", linear_algebra=how),
    "Odassl": lambda how: da.Odassl(linear_algebra=how),
}


def main() -> int:
    slow = []
    print("CPU milliseconds of a run, best of several; unknowns, dense, sparse, auto / better")
    print("   N  " + "".join(f"{label:>32}" for label in METHODS))
    for N in SIZES:
        problem = da.problems.pendulum_chain(N, t_end=0.3)
        cells = []
        for label, method in METHODS.items():
            n = method("auto").formulate(problem.model).n
            best = dict.fromkeys(("dense", "sparse", "auto"), np.inf)
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
    print(f"auto is slow: {', '.join(slow)}" if slow else "auto takes the better one, or one as good")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
