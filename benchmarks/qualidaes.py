"""Qualidaes on naive equations against Geoms on equations of motion, and on ladders of many unknowns.

    python benchmarks/qualidaes.py                  # both tables
    python benchmarks/qualidaes.py ladder 10000     # one ladder

CPU times of this process, the best of many runs that alternate. The first table takes the loosest tolerance at which
each method reaches a mixed error of 1e-6 or less, in steps of 10^(1/4). The second says what building the model and
preparing it costs, start values included, and what a step does.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

import dalembert as da

ERROR = 1e-6
TOLERANCES = 10.0 ** -np.arange(5.0, 11.0, 0.25)
MECHANISMS = ("pendulum", "andrews", "car_axis", "slider_crank", "heavy_top", "four_bar_linkage", "pendulum_chain")


def tolerance_for(problem: da.problems.Problem, method) -> float:
    """The loosest from which on all errors are small enough."""
    good = [problem.error(problem.simulate(method=method, rtol=t, atol=t)) <= ERROR for t in TOLERANCES]
    return float(TOLERANCES[len(good) - next((k for k, ok in enumerate(reversed(good)) if not ok), len(good))])


def seconds(run) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def mechanisms() -> None:
    print(f"time until the mixed error is {ERROR:g}, in ms\n")
    print(f"{'problem':18} {'geoms':>8} {'naive':>8} {'ratio':>6}   tolerances, steps")
    for name in MECHANISMS:
        problem = da.problems.catalogue()[name]()
        cases = [(problem, da.Geoms()), (da.problems.naive(problem), da.Qualidaes())]
        runs, remarks = [], []
        for subject, method in cases:
            tol = tolerance_for(subject, method)

            def run(subject=subject, method=method, tol=tol):
                return subject.simulate(method=method, rtol=tol, atol=tol)

            remarks.append(f"{tol:.0e} {run().stats.accepted}")
            runs.append(run)
        best = [np.inf, np.inf]
        for _ in range(30):
            best = [min(b, seconds(run)) for b, run in zip(best, runs, strict=True)]
        geoms, naive = (1e3 * b for b in best)
        print(f"{name:18} {geoms:8.2f} {naive:8.2f} {naive / geoms:6.2f}   {', '.join(remarks)}", flush=True)


def ladder(n: int) -> None:
    for source in ("resistor", "node"):
        start = time.process_time()
        problem = da.problems.rc_ladder(n, source=source)
        built = time.process_time() - start
        brief = replace(problem, t_end=1e-9)
        prepare, again = (seconds(lambda brief=brief: brief.simulate(method=da.Qualidaes())) for _ in range(2))
        start = time.process_time()
        solution = problem.simulate(method=da.Qualidaes(), rtol=1e-6, atol=1e-6)
        steps = solution.stats.accepted
        step = (time.process_time() - start - again) / steps
        print(
            f"{n:7} {source:9} build {built:6.2f} s, prepare {prepare:6.2f} s, again {again:6.2f} s, "
            f"{1e3 * step:7.2f} ms a step, {steps} steps, error {problem.error(solution):.1e}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["ladder"]:
        for size in sys.argv[2:]:
            ladder(int(size))
    else:
        mechanisms()
        print()
        for size in (100, 300, 1000, 3000, 10000):
            ladder(size)
