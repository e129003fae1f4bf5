"""Native functions: processor time to build and to prepare a chain of masses on springs, and memory.

python benchmarks/native_chain.py [masses]        # 100 000 by default
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np

import dalembert as da

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from native_recipes import names, native_force

METHODS = (da.Rkf45(), da.Hem5(), da.Mexx())


def megabytes() -> int:
    """The most memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    da.simulate(small := chain(10), (0, 0.1), p0=np.zeros(10), method=METHODS[0])  # loads what all models share
    print(f"{small} first; then {n} masses")
    print(f"{'method':8} {'build':>8} {'prepare':>8} {'again':>8}   s of processor time; memory")
    for method in METHODS:
        da.simulate(chain(10), (0, 0.1), p0=np.zeros(10), method=method)
        laps = [time.process_time()]
        model = chain(n)
        laps.append(time.process_time())
        for _ in range(2):
            da.simulate(model, (0, 1e-3), p0=np.linspace(0.5, 1, n), method=method, t_eval=[0, 1e-3])
            laps.append(time.process_time())
        build, prepare, again = np.diff(laps)
        print(f"{type(method).__name__:8} {build:8.2f} {prepare:8.2f} {again:8.2f}   {megabytes()} MB")


def chain(n: int) -> da.EquationsOfMotion:
    return da.EquationsOfMotion(p=names(n), parameters={"k": 3.0, "c": 0.1}, mass=np.ones(n), force=native_force(n))


if __name__ == "__main__":
    main()
