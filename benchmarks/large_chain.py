"""Large systems: chains of rods in absolute coordinates, and the chain of cap insulators [MEXX, section 5.4].

    python benchmarks/large_chain.py            # up to 10 000 rods: some minutes
    python benchmarks/large_chain.py --quick    # up to 1000
    python benchmarks/large_chain.py --prepare  # only how long 10 000 rods take to build and prepare, by part

Prints how long it takes to build the model, to prepare the run (start values, compilation, records) and to simulate one
second of the rods' fall (0.1 s of the insulators, as published), time per step and body, what the step is made of, and
how far the constraints and the energy are kept. Polynomials are not kept: 10 000 rods would need 4 MB for each step.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import resource
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import dalembert as da

LENGTHS = (10, 100, 1000, 10000)
INSULATORS = (16, 32, 64, 128, 256, 512, 1024)
GOALS = {"Hem5": 5.0, "Radau5": 10.0}  # seconds to build and prepare 10 000 rods
METHODS = (da.Hem5(), da.Rkf45(), da.Radau5(), da.Dassl())
ALGEBRA = ("decomposition", "factorization", "substitution")
MODEL = ("rates", "matrices", "position", "acceleration", "residual", "jacobian")


def measured(problem: da.problems.Problem, method, t_end: float) -> tuple[da.Solution, float]:
    """The solution at start and end, and the time of everything before the integration."""
    start = time.perf_counter()
    sol = da.simulate(
        problem.model, (0, t_end), **problem.start(), method=method, t_eval=[0, t_end], dense_output=False, profile=True
    )
    return sol, time.perf_counter() - start - sol.stats.seconds


def energy(sol: da.Solution, g: float = 9.81) -> np.ndarray:
    """Kinetic and potential energy of a chain of rods of mass and length 1."""
    x_dot, y_dot, turn = sol.v[:, 0::3], sol.v[:, 1::3], sol.v[:, 2::3]
    return (0.5 * (x_dot**2 + y_dot**2 + turn**2 / 12) + g * sol.p[:, 1::3]).sum(axis=1)


def row(bodies: int, build: float, prepare: float, sol: da.Solution) -> str:
    steps, seconds, profile = sol.stats.accepted, sol.stats.seconds, sol.profile
    parts = [sum(profile.share(name) for name in names if name in profile) for names in (MODEL, ALGEBRA)]
    parts.append(1 - sum(parts))
    method = sol.method.split("(")[0]
    return (
        f"{bodies:7}  {method:7}{build:8.2f}{prepare:9.2f}{steps:7}{seconds:10.3f}{1e3 * seconds / steps:10.3f}"
        f"{1e6 * seconds / steps / bodies:9.2f}   {100 * parts[0]:3.0f} {100 * parts[1]:3.0f} {100 * parts[2]:3.0f} %"
        f"{sol.max_residual('position'):10.1e}{sol.max_residual('velocity'):9.1e}"
    )


PARTS = {  # functions whose time, with what they call, is a part of the preparation
    "symbolic form": ("formulate",),
    "ports": ("compile_descriptor", "compile_system"),
    "of these: CasADi functions": ("port_function",),
    "of these: loading": ("load_function",),
    "start values": ("consistent_initial_values",),
    "tree": ("_find_tree",),
    "stepper and its records": ("new_stepper",),
}


def preparation() -> None:
    """Processor time of preparation, and of its parts under a profiler, which makes those of many calls longer.

    What is measured within another part counts in both.
    """
    for method in (da.Hem5(), da.Radau5()):
        small = da.problems.pendulum_chain(100)
        da.simulate(small.model, (0, 1e-3), **small.start(), method=method)  # loads kernels
        start = time.process_time()
        problem = da.problems.pendulum_chain(LENGTHS[-1])
        build = time.process_time() - start
        start = time.process_time()
        sol = da.simulate(problem.model, (0, 1e-3), **problem.start(), method=method, t_eval=[0, 1e-3])
        prepare = time.process_time() - start - sol.stats.seconds
        problem = da.problems.pendulum_chain(LENGTHS[-1])  # once more for the parts: the profiler takes time itself
        profile = cProfile.Profile(time.process_time)
        profile.enable()
        da.simulate(problem.model, (0, 1e-3), **problem.start(), method=method, t_eval=[0, 1e-3])
        profile.disable()
        name = type(method).__name__
        print(f"{name}: build {build:.2f} s, prepare {prepare:.2f} s, both {build + prepare:.1f}, goal {GOALS[name]}")
        entries = pstats.Stats(profile).stats
        for part, functions in PARTS.items():
            own = [v[3] for (file, _, function), v in entries.items() if function in functions and "dalembert" in file]
            if own:
                print(f"    {part:28}{max(own):7.2f}", flush=True)


def main() -> None:
    if "--prepare" in sys.argv:
        preparation()
        return
    quick = "--quick" in sys.argv
    head = (
        " bodies  method    build  prepare  steps   seconds   ms/step  µs/step/body  model,"
        " algebra, rest   |g|      |g'|"
    )
    print("Chain of rods, 1 s, rtol 1e-6, atol 1e-8\n" + head + "   energy")
    for N in LENGTHS[: 3 if quick else 4]:
        for method in METHODS:
            start = time.perf_counter()
            problem = da.problems.pendulum_chain(N)
            build = time.perf_counter() - start
            sol, prepare = measured(problem, method, 1.0)
            before, after = energy(sol)
            # the chain starts at height 0: its energy is measured by what it falls through
            fallen = 9.81 * np.abs(sol.p[1, 1::3]).sum()
            print(f"{row(N, build, prepare, sol)}{abs(after - before) / fallen:9.1e}", flush=True)
            goal = GOALS.get(type(method).__name__) if LENGTHS[-1] == N else None
            if goal is not None:
                verdict = "met" if build + prepare <= goal else "missed"
                print(f"{'':9}build and prepare: {build + prepare:.1f} s, goal {goal:.0f} s: {verdict}", flush=True)
    print("\nChain of insulators, 0.1 s, rtol 1e-6, atol 1e-8\n" + head)
    for N in INSULATORS[: 4 if quick else 7]:
        start = time.perf_counter()
        problem = da.problems.insulator_chain(N)
        build = time.perf_counter() - start
        sol, prepare = measured(problem, da.Hem5(), 0.1)
        print(row(N + 1, build, prepare, sol), flush=True)
    print(f"\nLargest memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
