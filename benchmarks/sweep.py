"""How busy a study keeps the processors: 1000 runs of Andrews' mechanism.

    python benchmarks/sweep.py [members] [auto|threads|processes]

Prints the wall-clock time and the share of the processors that was used, by this process and by its workers. The
machine must be quiet: what else it does is missing from the share.
"""

import os
import resource
import sys
import time

import numpy as np

import dalembert as da
from dalembert.sweeps.engines import processors


def used() -> float:
    """Seconds of processors, of this process and of those that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main(members: int, engine: str) -> None:
    problem = da.problems.andrews()
    da.sweep(problem, {"m1": [0.043, 0.044]}, engine="threads")  # compiles
    begun, before = time.perf_counter(), used()
    study = da.sweep(problem, {"m1": np.linspace(0.04, 0.05, members)}, engine=engine)
    wall, busy = time.perf_counter() - begun, used() - before
    print(f"{study!r}, by {study.engine}")
    print(f"{wall:.2f} s, {1e3 * wall / members:.2f} ms per member, {os.getloadavg()[0]:.1f} load")
    print(f"{100 * busy / wall / processors():.0f} % of {processors()} processors")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2] if len(sys.argv) > 2 else "auto")
