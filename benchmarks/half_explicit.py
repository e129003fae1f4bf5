"""Time inside the kernels of the half-explicit methods, for given errors, beside IDAS in the same run.

    python benchmarks/half_explicit.py [--repeat 15]

For each problem, error and method: the cheapest of many tolerances that reaches the error, best CPU time of alternating
runs, in milliseconds within the compiled kernel and, in parentheses, of the whole of `simulate`; then the ratio of both
to CasADi's IDAS (index 1, accelerations among the unknowns, the better of two linear solvers). Goals are for Hem5's
kernel, as ratios to IDAS: they do not depend on the machine as much. Exit code 1 if one is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np

import dalembert as da
from dalembert.solvers.half.stepper import HalfStepper
from dalembert.studies.peers import CasadiIdas

METHODS = {"hem5": da.Hem5(), "hedop5": da.Hedop5(), "phem56": da.Phem56(), "rkf45": da.Rkf45(), "mexx": da.Mexx()}
TOLERANCES = np.geomspace(1e-4, 1e-11, 29)
#: what IDAS gets; errors of its index-1 form lie far above
IDAS_TOLERANCES = np.geomspace(1e-5, 1e-12, 29)


class Case(NamedTuple):
    """A problem, and for each error the largest ratio of Hem5's kernel to IDAS."""

    title: str
    problem: da.problems.Problem
    goals: dict[float, float | None]


CASES = (
    Case("Andrews' mechanism", da.problems.andrews(), {1e-4: 0.06, 1e-6: 0.07, 1e-8: None}),
    Case("pendulum to t = 100", da.problems.pendulum(t_end=100.0), {1e-4: 0.038}),
    Case("car axis", da.problems.car_axis(), {1e-4: None, 1e-6: None}),
)


class Kernel:
    """A clock that runs while a kernel does."""

    def __init__(self) -> None:
        self.seconds = 0.0
        inner = HalfStepper.take_steps

        def take_steps(stepper: HalfStepper) -> int:
            start = time.process_time()
            try:
                return inner(stepper)
            finally:
                self.seconds += time.process_time() - start

        HalfStepper.take_steps = take_steps


class Found(NamedTuple):
    tolerance: float
    error: float
    kernel: float
    whole: float
    steps: int


def our_runs(problem: da.problems.Problem, method, clock: Kernel, repeat: int, errors: list[float]) -> list[Found]:
    """One row for each tolerance that is the cheapest for one of the errors."""
    errors_by_tolerance, steps = [], []
    for tolerance in TOLERANCES:
        solution = problem.simulate(method=method, rtol=tolerance, atol=tolerance)
        errors_by_tolerance.append(problem.error(solution))
        steps.append(solution.stats.accepted + solution.stats.rejected)
    wanted = set()
    for error in errors:  # the fewest steps are the cheapest run of one method
        good = [k for k, reached in enumerate(errors_by_tolerance) if reached <= error]
        wanted |= {min(good, key=lambda k: steps[k])} if good else set()
    rows = []
    for k in sorted(wanted):
        kernel = whole = np.inf
        for _ in range(repeat):
            clock.seconds, start = 0.0, time.process_time()
            problem.simulate(method=method, rtol=TOLERANCES[k], atol=TOLERANCES[k])
            kernel, whole = min(kernel, clock.seconds), min(whole, time.process_time() - start)
        rows.append(Found(float(TOLERANCES[k]), errors_by_tolerance[k], kernel, whole, steps[k]))
    return rows


def idas_runs(problem: da.problems.Problem, repeat: int, errors: list[float]) -> list[Found]:
    """Both linear solvers, from loose to tight tolerances until all errors are reached or IDAS fails."""
    rows = []
    for peer in (CasadiIdas(), CasadiIdas(linear_solver="qr")):
        left = set(errors)
        for tolerance in IDAS_TOLERANCES:
            try:
                p, v, counters = peer.run(problem, tolerance)
            except RuntimeError:  # CasADi's word for a tolerance that is too tight
                break
            found = max(
                float(np.max(np.abs(a - b) / (1 + np.abs(b))))
                for a, b in ((p, problem.reference.p), (v, problem.reference.v))
            )
            new = {error for error in left if found <= error}
            if not new:
                continue
            left -= new
            best = np.inf
            for _ in range(repeat):
                start = time.process_time()
                peer.run(problem, tolerance)
                best = min(best, time.process_time() - start)
            rows.append(Found(float(tolerance), found, best, best, int(counters["accepted"])))
            if not left:
                break
    return rows


def cheapest(rows: list[Found], error: float) -> Found | None:
    return min((row for row in rows if row.error <= error), key=lambda row: row.kernel, default=None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--no-peer", action="store_true", help="our methods alone: no ratios, no goals")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    clock, missed = Kernel(), 0
    for case in CASES:
        errors = list(case.goals)
        idas = [] if arguments.no_peer else idas_runs(case.problem, max(3, arguments.repeat // 5), errors)
        ours = {
            label: our_runs(case.problem, method, clock, arguments.repeat, errors) for label, method in METHODS.items()
        }
        for error, goal in case.goals.items():
            print(f"{case.title}, mixed error <= {error:.0e}")
            peer = cheapest(idas, error)
            if peer is not None:
                print(f"  {'idas':<8} {1e3 * peer.whole:9.2f} ms             tolerance {peer.tolerance:.0e}")
            for label, rows in ours.items():
                row = cheapest(rows, error)
                if row is None:
                    print(f"  {label:<8} no tolerance reaches it")
                    continue
                line = f"  {label:<8} {1e3 * row.kernel:9.3f} ms ({1e3 * row.whole:7.3f})"
                line += f"  {1e6 * row.kernel / row.steps:6.2f} µs a step, {row.steps} steps"
                line += f", tolerance {row.tolerance:.0e}"
                if peer is not None:
                    line += f", {row.kernel / peer.whole:.4f} ({row.whole / peer.whole:.4f}) of idas"
                    if label == "hem5" and goal is not None:
                        good = row.kernel <= goal * peer.whole
                        line += f", goal {goal:g} {'ok' if good else 'MISSED'}"
                        missed += not good
                print(line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
