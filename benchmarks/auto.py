"""How far method="auto" is from the best method, on every problem of the catalogue.

    python benchmarks/auto.py [problem ...] [--tolerances 1e-4 1e-6 1e-8] [--rounds 5] [--all]

Times are CPU times of whole calls of `simulate`, everything prepared before, the best of several rounds in which
methods take turns; a call before each that is timed lets the processor know the code again. The best method is the
quickest of those whose error is not far beyond that of auto: at most `LESS` times larger. The last columns are errors
at the end as multiples of the tolerance: of the motion, and of the multipliers beside those that belong to the same
motion.
With --all a line shows every method.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings

import numpy as np

import dalembert as da
from dalembert import problems

METHODS = ("hem5", "hedop5", "phem56", "mexx", "radau5", "geoms", "qualidaes", "dassl", "odassl", "rkf45")
#: an error that is so many times larger is not that of the same quality
LESS = 10.0
#: seconds for all rounds of a method at a tolerance
PATIENCE = 2.0


def timed(problem: problems.Problem, method: str, tolerance: float) -> tuple[float, da.Solution]:
    begun = time.process_time()
    solution = problem.simulate(method=method, rtol=tolerance, atol=tolerance, max_steps=200_000)
    return time.process_time() - begun, solution


def measured(problem: problems.Problem, tolerance: float, rounds: int) -> dict[str, tuple[float, float, da.Solution]]:
    """Best time, error and a solution of each method that comes to the end."""
    found: dict[str, tuple[float, float, da.Solution]] = {}
    spent: dict[str, float] = {}
    for method in ("auto", *METHODS):
        try:
            seconds, solution = timed(problem, method, tolerance)
            spent[method], found[method] = seconds, (seconds, error_of(problem, solution), solution)
        except da.DalembertError as error:
            if method == "auto":
                print(f"auto: {type(error).__name__}: {str(error)[:100]}")
    for _ in range(rounds):
        for method, (best, error, solution) in found.items():
            if spent[method] < PATIENCE:
                again, _ = timed(problem, method, tolerance)
                seconds, _ = timed(problem, method, tolerance)
                spent[method] += again + seconds
                found[method] = min(best, seconds), error, solution
    return found


def error_of(problem: problems.Problem, solution: da.Solution) -> float:
    return float(problem.error(solution)) if problem.reference is not None else math.nan


def multipliers_error(problem: problems.Problem, solution: da.Solution, tolerance: float) -> float:
    """Of λ at the end, relative to their size, beside those that belong to the state there."""
    model = problem.model
    if not getattr(model, "mechanical", False) or not len(model.names("lam")) or model.has_contacts:
        return math.nan
    given = {f"{kind}0": getattr(solution, kind)[-1] for kind in ("p", "v", "r", "s", "w") if len(model.names(kind))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = da.consistent_initial_values(model, solution.t[-1], **given).lam
    return float(np.abs(solution.lam[-1] - right).max() / (1.0 + np.abs(right).max()))


def line(name: str, tolerance: float, found: dict, problem: problems.Problem, everything: bool) -> float:
    own, error, solution = found["auto"]
    fair = {m: t for m, (t, e, _) in found.items() if m != "auto" and not e > LESS * max(error, tolerance)}
    best = min(fair, key=fair.get) if fair else "auto"
    ratio = own / fair.get(best, own)
    lam = multipliers_error(problem, solution, tolerance)
    ways = solution.method if len(solution.method) < 40 else solution.method[:37] + "..."
    print(
        f"{name:24} {tolerance:7.0e} {1e3 * own:9.2f} {1e3 * fair.get(best, own):9.2f} {best:10} {ratio:6.2f} "
        f"{error / tolerance:9.1e} {lam / tolerance:9.1e}  {ways}", flush=True,
    )  # fmt: skip
    if everything:
        print("    " + ", ".join(f"{m} {1e3 * t:.2f} ({e:.0e})" for m, (t, e, _) in found.items()))
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--tolerances", nargs="+", type=float, default=[1e-4, 1e-6, 1e-8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    makers: dict = {}
    for kind in ("", "_large", "_quasi_linear", "_multibody", "_contact", "_singular"):
        makers |= getattr(problems, f"catalogue{kind}")()
    print(
        f"{'problem':24} {'tol':>7} {'auto, ms':>9} {'best, ms':>9} {'of':10} {'ratio':>6} {'error':>9} {'of λ':>9}  "
        "auto took"
    )
    ratios = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in asked.problems or makers:
            problem = makers[name]()
            for tolerance in asked.tolerances:
                found = measured(problem, tolerance, asked.rounds)
                if "auto" in found:
                    ratios[name, tolerance] = line(name, tolerance, found, problem, asked.all)
    worst = sorted(ratios, key=ratios.get)[-5:]
    print(f"{sum(r > 2 for r in ratios.values())} of {len(ratios)} beyond 2; largest: ", end="")
    print(", ".join(f"{name} {tolerance:.0e} {ratios[name, tolerance]:.2f}" for name, tolerance in worst[::-1]))


if __name__ == "__main__":
    main()
