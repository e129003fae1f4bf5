"""Start values: the kernel beside the Python implementation, and large models.

    python benchmarks/start_values.py            # with a chain of 10 000 rods: a minute
    python benchmarks/start_values.py --quick    # 1000 rods

Prints µs of CPU time of a call on a model that has been prepared, best of many, taken in turns; how far results differ
(largest difference over 1 + largest value); ms of preparing the kernel's side of a model; then seconds for a chain of
rods, which is too large for the kernel. Goals: at most 25 µs with the kernel for the small ones, and no more than 2 s
for the first start values of 10 000 rods.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import dalembert as da
from dalembert.regularize import InitialValues
from dalembert.solvers import start

PROBLEMS = ("pendulum", "andrews", "slider_crank", "pendulum_chain")
GOAL, GOAL_LARGE = 25.0, 2.0
ROUNDS, CALLS = 100, 5


def seconds(function: Callable[[], object]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def best(*functions: Callable[[], object]) -> list[float]:
    """µs of each function, measured in turns."""

    def several(function: Callable[[], object]) -> None:
        for _ in range(CALLS):
            function()

    times = [[seconds(lambda f=function: several(f)) for function in functions] for _ in range(ROUNDS)]
    return (1e6 / CALLS * np.min(times, axis=0)).tolist()


def difference(found: InitialValues, expected: InitialValues) -> float:
    return max(
        np.abs(found.values[kind] - value).max(initial=0) / (1 + np.abs(value).max(initial=0))
        for kind, value in expected.values.items()
    )


def small(name: str) -> None:
    problem = da.problems.catalogue()[name]()
    model, values = problem.model, problem.start()
    prepare = 1e3 * seconds(lambda: start._prepared(model))
    found, expected = start.start_values(model, 0.0, values), da.consistent_initial_values(model, **values)
    python, kernel = best(
        lambda: da.consistent_initial_values(model, **values), lambda: start.start_values(model, 0.0, values)
    )
    restart = {f"{kind}0": expected.values[kind] for kind in ("p", "v")}
    (trusted,) = best(lambda: start.start_values(model, 0.0, restart, mode="trust"))
    verdict = "met" if kernel <= GOAL else "MISSED"
    print(
        f"{name:16}{python:10.1f}{kernel:10.1f}{trusted:10.1f}{python / kernel:8.1f}"
        f"{difference(found, expected):12.1e}{prepare:11.1f}   {verdict}"
    )


def large(rods: int) -> None:
    problem = da.problems.pendulum_chain(rods)
    values = problem.start()
    times = [seconds(lambda: start.start_values(problem.model, 0.0, values)) for _ in range(2)]
    fresh = da.problems.pendulum_chain(rods).model
    times.append(seconds(lambda: start.start_values(fresh, 0.0, values, mode="trust")))
    verdict = "met" if times[0] <= GOAL_LARGE else "MISSED"
    print(f"\n{rods} rods, s: first {times[0]:.2f}, again {times[1]:.2f}, first if trusted {times[2]:.2f}   {verdict}")


def main() -> None:
    start.start_values(da.problems.pendulum().model, 0.0, {"p0": [1.0, 0.0]})  # loads the kernel
    columns = f"{'Python':>10}{'kernel':>10}{'restart':>10}{'ratio':>8}{'difference':>12}{'prepare ms':>11}"
    print(f"{'µs a call':16}{columns}")
    for name in PROBLEMS:
        small(name)
    large(1000 if "--quick" in sys.argv else 10_000)


if __name__ == "__main__":
    main()
