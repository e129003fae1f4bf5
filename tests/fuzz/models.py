"""Random models, methods, tolerances and outputs: each run against its reference, faults by class.

    python -m tests.fuzz.models --count 1000 --seed 7

prints a table of what came of the runs with numbers 7, 8, …; the number of a run reproduces it (`--count 1`). Runs are
made by child processes, so that a crash or an endless loop is one more class.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

import dalembert as da

from .cases import METHODS, Case, condition, integrate
from .masses import random_masses
from .others import random_cart, random_dae, random_sleigh

KINDS = ((random_masses, 0.6), (random_cart, 0.15), (random_sleigh, 0.1), (random_dae, 0.15))
#: of the tolerance, times the condition of the problem, that a result may be off
ALLOWED = 1e4
#: but not more than this, however large the tolerance
COARSEST = 0.1
#: of the tolerance: of motions that part quicker nothing is said
LARGEST_GROWTH = 1e-2
#: CPU seconds a run may take, and steps: those of a hopeless run should not take longer
LONGEST, MOST_STEPS = 30.0, 100_000
#: what may be said of a run as it should be: an accurate result, an error of ours, a problem too sensitive to tell
GOOD = ("fine", "refused", "sensitive", "no reference")


class Result(NamedTuple):
    """The class of what happened, and words for a reader."""

    fault: str
    words: str


class Run(NamedTuple):
    case: Case
    method: Any
    tolerance: float
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.case.name} {sorted(self.case.features)} {self.method!r} tol={self.tolerance:.1e}"


def random_run(seed: int) -> Run:
    """Everything about the run of this number."""
    rng = np.random.default_rng(seed)
    makers, shares = zip(*KINDS, strict=True)
    case = makers[rng.choice(len(makers), p=shares)](rng)
    suitable = [method for method, takes in METHODS if takes(case)]
    method, tolerance = suitable[rng.integers(len(suitable))], float(10 ** rng.uniform(-10, -4))
    arguments: dict[str, Any] = dict(rtol=tolerance, atol=tolerance, max_steps=MOST_STEPS)
    if rng.random() < 0.4:
        arguments["t_eval"] = np.sort(rng.uniform(0, case.t_end, int(rng.integers(1, 20))))
    elif rng.random() < 0.3:
        arguments["dense_output"] = False
    if case.kinds[0] == "p" and rng.random() < 0.3:
        level = float(case.start["p0"][0] + rng.uniform(-0.3, 0.3))
        arguments["events"] = [da.Event(lambda s: s.p[0] - level, name="passes")]
    return Run(case, method, tolerance, arguments)


def perform(seed: int) -> Result:
    """Simulate and compare."""
    run = random_run(seed)
    case, began = run.case, time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            solution = da.simulate(case.model, (0.0, case.t_end), **case.start, method=run.method, **run.arguments)
    except da.DalembertError as error:
        return Result("refused", f"{run}: {type(error).__name__}: {str(error)[:150]}")
    except Exception as error:
        return Result(f"foreign {type(error).__name__}", f"{run}: {error!r}"[:300])
    if time.process_time() - began > LONGEST:
        return Result("slow", f"{run}: {time.process_time() - began:.0f} s")
    return judge(run, solution, np.random.default_rng(seed + 1))


def judge(run: Run, solution: Any, rng: np.random.Generator) -> Result:
    """Compare with the reference at up to six of the solution's times."""
    case, points = run.case, run.case.vectors(solution)
    if not np.isfinite(points).all() or not np.isfinite(solution.x).all():
        return Result("not finite", str(run))
    times = np.unique(solution.t[solution.t > 0])
    times = times[np.unique(np.linspace(0, len(times) - 1, 6).astype(int))]
    begun = run.arguments.get("t_eval") is None
    if begun:
        start = points[0]
    else:  # the start is not among the points that were asked for
        start = np.concatenate([np.asarray(case.start[f"{kind}0"], float) for kind in case.kinds])
    try:
        exact = integrate(case, start, list(times))
        growth = condition(case, start, list(times), exact, rng)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        return Result("no reference", f"{run}: {error}")
    found = np.array([points[np.flatnonzero(solution.t == t)[-1]] for t in times])
    error = float(np.max(np.abs(found - exact) / (1 + np.abs(exact)))) / run.tolerance
    if not begun and "inconsistent" in case.features:  # what they were corrected to is not known here
        error = max(error - 1e-5 / run.tolerance, 0.0)
    words = f"{run}: {error:.1e} tolerances, condition {growth:.1e}"
    if growth * max(run.tolerance, 1e-8) > LARGEST_GROWTH:
        return Result("sensitive", words)
    return Result("fine" if error <= min(ALLOWED, COARSEST / run.tolerance) * growth else "inaccurate", words)


# -- the command line --------------------------------------------------------------------------------------------------


def child(first: int, count: int) -> None:
    """Perform runs and print a line for each as soon as it is known."""
    for seed in range(first, first + count):
        print(json.dumps([seed, "begun", ""]), flush=True)
        print(json.dumps([seed, *perform(seed)]), flush=True)


def in_children(first: int, count: int, chunk: int = 100):
    """Yield (seed, fault, words). A child that dies or hangs is a fault of the run it had begun."""
    seed, last = first, first + count
    while seed < last:
        many = min(chunk, last - seed)
        command = [sys.executable, "-m", "tests.fuzz.models", "--child", str(seed), str(many)]
        begun = seed
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                number, fault, words = json.loads(line)
                if fault == "begun":
                    begun = number
                else:
                    yield number, fault, words
                    begun = number + 1
        if begun < seed + many:
            yield begun, f"crash ({process.returncode})", str(random_run(begun))
            begun += 1
        seed = begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int, nargs=2, metavar=("FIRST", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return 0
    classes: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for seed, fault, words in in_children(options.seed, options.count):
        classes[fault].append((seed, words))
        if fault not in GOOD:
            print(f"seed {seed}: {fault}: {words}", flush=True)
    print(f"\n{'class':28}{'runs':>8}  seeds")
    for fault, runs in sorted(classes.items(), key=lambda item: -len(item[1])):
        print(f"{fault:28}{len(runs):8}  {', '.join(str(seed) for seed, _ in runs[:8])}{' …' if len(runs) > 8 else ''}")
    return int(any(fault not in GOOD for fault in classes))


if __name__ == "__main__":
    raise SystemExit(main())
