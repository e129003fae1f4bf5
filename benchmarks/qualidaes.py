"""Qualidaes on DAEs without a hint: against Geoms on equations of motion, and on ladders of growing size.

    python benchmarks/qualidaes.py               both tables
    python benchmarks/qualidaes.py andrews       the mechanism alone
    python benchmarks/qualidaes.py ladder 10000  ladders up to so many unknowns

CPU time, the best of many interleaved runs; of ladders also the time for preparation: the model, structural analysis,
the form, code and memory.
"""

from __future__ import annotations

import sys
import time

import dalembert as da

#: mixed errors are to be compared where they are about this large
WANTED = 1e-6


def cpu(*tasks, repeat: int = 25) -> list[float]:
    """The best CPU time of each task, of runs that take turns."""
    best = [float("inf")] * len(tasks)
    for _ in range(repeat):
        for k, task in enumerate(tasks):
            begun = time.process_time()
            task()
            best[k] = min(best[k], time.process_time() - begun)
    return best


def mechanics(names: list[str]) -> None:
    """Naive mechanisms by Qualidaes against equations of motion by Geoms, at the tolerance with the wanted error."""
    print(
        f"{'problem':18}{'tolerance':>10}{'error':>10}{'(Geoms)':>10}{'steps':>7}{'(Geoms)':>9}{'ms':>8}{'(Geoms)':>9}{'ratio':>7}"
    )
    for name in names:
        problem = da.problems.catalogue()[name]()
        dae = da.problems.naive(problem)
        for tolerance in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9):
            options = dict(rtol=tolerance, atol=tolerance)
            own = problem.simulate(method=da.Geoms(), **options)
            if problem.error(own) <= WANTED:
                break
        sol = dae.simulate(method=da.Qualidaes(), **options)
        ours, theirs = cpu(
            lambda dae=dae, options=options: dae.simulate(method=da.Qualidaes(), **options),
            lambda problem=problem, options=options: problem.simulate(method=da.Geoms(), **options),
        )
        print(
            f"{name:18}{tolerance:10.0e}{dae.error(sol):10.1e}{problem.error(own):10.1e}{sol.stats.accepted:7d}"
            f"{own.stats.accepted:9d}{1e3 * ours:8.2f}{1e3 * theirs:9.2f}{ours / theirs:7.2f}"
        )


def ladders(largest: int) -> None:
    """Cost of a step of ladders of resistors and capacitors, of index 1 and 2."""
    print(f"{'unknowns':>9}{'index':>6}{'steps':>7}{'error':>10}{'prepared s':>12}{'step ms':>9}{'µs/unknown':>12}")
    n = 100
    while n <= largest:
        for source, index in (("resistor", 1), ("node", 2)):
            begun = time.process_time()
            problem = da.problems.rc_ladder(n, source=source)
            options = dict(method=da.Qualidaes(), rtol=1e-6, atol=1e-6)
            sol = problem.simulate(**options)
            first = time.process_time() - begun
            (run,) = cpu(lambda problem=problem, options=options: problem.simulate(**options), repeat=3)
            step = run / sol.stats.accepted
            print(
                f"{n:9d}{index:6d}{sol.stats.accepted:7d}{problem.error(sol):10.1e}{first - run:12.2f}{1e3 * step:9.2f}"
                f"{1e6 * step / n:12.2f}"
            )
        n *= 10


if __name__ == "__main__":
    asked = sys.argv[1:]
    if not asked or asked[0] == "andrews":
        mechanics(["andrews"] if asked else ["andrews", "car_axis", "four_bar_linkage", "heavy_top", "truck"])
    if not asked or asked[0] == "ladder":
        ladders(int(asked[1]) if len(asked) > 1 else 10000)
