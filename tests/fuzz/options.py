"""Random sets of options and arguments on the models of `systems`: what is legal is right, the rest refused in words.

    python -m tests.fuzz.options --count 10000 --seed 3

One number, the seed, determines a run. Runs happen in a child process, which says which one it begins with: a crash or
a hang is attributed to it, and another child goes on behind it. What counts as a fault: an exception that is not ours,
a warning that is not ours, NaN in a result, more than `LONGEST` seconds, and a success that is wrong by more than
`MOST_TOLERANCES` tolerances.
"""

import argparse
import dataclasses
import faulthandler
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.solvers import METHODS as ALL_METHODS

from .hostile import HOSTILE
from .systems import DRIVES, SYSTEMS, Case, exact

#: time stepping has a fixed step and an error of its own: tolerances say nothing about it
METHODS = {name: options for name, options in ALL_METHODS.items() if name != "moreaujean"}

#: seconds of processor time of one run
LONGEST = 30
#: seconds on the clock after which a child gives up: the machine may be busy with other things
WATCHDOG = 200
MOST_TOLERANCES = 1e4
#: how a child finds this module
MODULE, HOME = "tests.fuzz.options", Path(__file__).resolve().parents[2]

# -- options of methods ------------------------------------------------------------------------------------------------


def log_uniform(low, high):
    return lambda rng: float(10 ** rng.uniform(np.log10(low), np.log10(high)))


def of(*values):
    return lambda rng: values[rng.integers(len(values))]


def whole(low, high):
    return lambda rng: int(rng.integers(low, high + 1))


SADDLE = of(
    da.Auto(), da.Dense(), da.Sparse(), da.Sparse(threshold=0.1), da.Compiled(), da.Recursive(), da.Symmetric(),
    da.RangeSpace(), da.Block(), da.ConjugateGradient(),
)  # fmt: skip
ITERATION = of(da.Auto(), da.Dense(), da.Sparse(), da.Sparse(threshold=1e-6))
PROJECTED = of(
    da.Auto(), da.Dense(), da.Sparse(), da.NullSpace(), da.NullSpace(constraints="svd"), da.NullSpace(constraints="qr"),
    da.NullSpace(differential="qr"),
)  # fmt: skip
JACOBIANS = of(
    da.Exact(), da.Differences(), da.GroupedDifferences(), da.GroupedDifferences(pattern="estimated"),
    da.Exact(partitioned=True), da.Differences(partitioned=True),
)  # fmt: skip
#: legal values by option, among them those at the edge of what is legal
LEGAL = {
    "initial_values": of("correct", "check", "trust"),
    "formulation": of("index1", "index2", "index3", "ggl", "baumgarte", "strangeness-free"),
    "alpha": log_uniform(0.1, 100),
    "beta": log_uniform(0.1, 100),
    "form": of("residual", "explicit"),
    "level": of("velocity", "acceleration"),
    "controller": of("predictive", "classical"),
    "start": of("extrapolated", "constant"),
    "newton_iterations": of(2, 3, 7, 20, 1000),
    "newton_limit": of(None, 1e-6, 1e-3, 0.03, 0.33, 0.9),
    "newton_matrix": of("start", "stage1", "stage2", "stage3"),
    "newton_updates": of(0, 1, 5, 1000),
    "safety": of(1e-3, 0.1, 0.5, 0.85, 0.99, np.nextafter(1, 0)),
    "max_growth": of(np.nextafter(1, 2), 1.01, 2.0, 8.0, 1e3, 1e100, 1.7e308),
    "max_shrink": of(5e-324, 1e-10, 0.1, 0.2, 0.9, np.nextafter(1, 0)),
    "keep_step": of((1.0, 1.2), (0.5, 3.0), (1.0, 1.0), (1e-300, 1e300)),
    "jacobian_rate": of(-1.0, 0.0, 1e-300, 1e-3, 0.1, 1.0, 1e300),
    "rounding_unit": of(5e-324, 1e-300, 2.2e-16, 1e-12, 1e-8, 9.9e-5),
    "jacobian": JACOBIANS,
    "invariants": of("project", "impose", "ignore", True, False),
    "algebraic": of("lu", "qr", "svd"),
    "differential": of("lu", "qr"),
    "selector": of("every", "adaptive"),
    "corrections": of(0, 1, 3, 1000),
    "singular": of("stop", "step over"),
    "scaling": of("rows", "step", "none"),
    "accelerations": of("auto", "eliminated", "unknown"),
    "rank_threshold": of(1e-14, 1e-11, 1e-6),
    "max_order": whole(1, 13),
    "algebraic_errors": of("full", "scaled", "excluded"),
    "matrix_range": of(None, 0.0, 0.25, 0.5, 0.9),
    "projection": of("both", "velocities", "none"),
    "stages": of("equality", "complementarity"),
    "steps": of("kernel", "generated", "background"),
    "projection_every": of(1, 2, 10, 2**63 - 1),
    "projection_limit": of(5e-324, 1e-8, 1e-2, 1.0),
    "drift_limit": of(None, 5e-324, 1e-10, 1e-3, 1.7e308),
    "min_step": of(0.0, 5e-324, 1e-12, 1e-3, 1.7e308),
    "error": of("all", "positions"),
    "extrapolate": of(True, False),
    "sequence": of("released", "paper", (2, 3, 4), (2, 4, 6, 8, 10, 12), tuple(range(2, 15)), (2, 20, 50)),
    "discretization": of("auto", "standard", "paper", "modified"),
    "dense_order": of(None, 3, 5, 100, 2**63 - 1),
    "dense_limit": of(None, 5e-324, 1.0, 2e4, 1.7e308),
    "jump_limit": of(None, 1e-3, 1.0, 10.0, 1e4),
}
SOLVERS = {"radau5": ITERATION, "dassl": ITERATION, "odassl": ITERATION, "geoms": PROJECTED, "qualidaes": PROJECTED}


#: what each method calls its own, where others mean something else by it
OWN = {
    ("geoms", "formulation"): of("strangeness-free", "index1"),
    ("radau5", "formulation"): of("index1", "index2", "index3", "ggl", "baumgarte"),
    ("dassl", "formulation"): of("index1", "index2", "ggl", "baumgarte"),
    **{
        (name, "jacobian"): of(da.Exact(), da.Differences(), da.GroupedDifferences())
        for name in ("radau5", "geoms", "qualidaes")
    },
    **{(name, "newton_limit"): of(1e-6, 1e-3, 0.33, 0.9) for name in ("dassl", "odassl")},
    ("dassl", "max_order"): whole(1, 5),
    ("odassl", "max_order"): whole(1, 5),
    ("mexx", "max_order"): whole(3, 13),
}
#: methods that can treat a model, most of the time
FOR = {
    "implicit": ["dassl"],
    "quasi-linear": ["radau5", "dassl", "qualidaes"],
    "redundant": ["geoms", "geoms", "radau5", "hem5", "mexx"],
    "springs": sorted({*METHODS} - {"odassl", "qualidaes"}),
    "skate": sorted({*METHODS} - {"odassl", "qualidaes"}),
}


def some_method(rng, system):
    """The name of a method, and options as they will be given, most of which go together."""
    name = str(
        rng.choice(FOR.get(system.name, sorted({*METHODS} - {"qualidaes"})) if rng.random() < 0.95 else sorted(METHODS))
    )
    fields = [field.name for field in dataclasses.fields(METHODS[name])]
    chosen = rng.choice(fields, min(len(fields), int(rng.choice([0, 1, 2, 3, 6]))), replace=False)
    options = {}
    for option in map(str, chosen):
        make = OWN.get((name, option)) or (SOLVERS.get(name, SADDLE) if option == "linear_solver" else LEGAL[option])
        options[option] = make(rng)
    if system.name == "redundant" and name == "geoms" and rng.random() < 0.8:
        options.pop("linear_solver", None)
        options["algebraic"] = "svd"
    return name, options


# -- arguments of simulate ---------------------------------------------------------------------------------------------


def some_tolerances(rng, system):
    rtol, atol = log_uniform(1e-10, 1e-2)(rng), log_uniform(1e-10, 1e-2)(rng)
    if rng.random() < 0.1:
        rtol, atol = float(rng.choice([1.1e-14, 1e-13, 0.999])), float(rng.choice([1e-99, 1e-20, 1e99, 1e3]))
    kind = rng.integers(5)
    if kind == 3:
        return dict.fromkeys(system.compared[:2], rtol), atol, max(rtol, 1e-6), atol  # others have the default
    if kind == 4:
        return np.float32(rtol) * 1.0, {system.compared[0]: atol}, rtol, max(atol, 1e-8)
    return rtol, atol, rtol, atol


def opaque(function):
    """The same, but not traceable."""

    def call(s):
        float(s.t if hasattr(s, "t") else s)
        return function(s)

    return call


def some_input(rng, drive):
    function = DRIVES[drive]
    if drive == "number":
        return [0.7, np.float64(0.7), da.Input(0.7), function][rng.integers(4)]
    if drive == "none":
        return [function, 0, da.Input(lambda t: 0.0, breakpoints=[0.25, 0.5])][rng.integers(3)]
    rates = lambda t: 6.0 * np.cos(3.0 * t), lambda t: -18.0 * np.sin(3.0 * t)
    python = lambda t: function(float(t))  # noqa: E731
    kinds = [
        function, da.Input(function, breakpoints=[0.3]), da.Input(python, derivatives=rates), python,
        da.Input(function, breakpoints=(-1.0, 0.0, 5.0)),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]


def some_events(rng, system, kicks):
    events = []
    if kicks:

        def act(s):
            return {"brake": 1.0, **{name: 0.5 * s[name] for name in system.speeds}}

        function = system.watched if rng.random() < 0.7 else opaque(system.watched)
        events.append(da.Event(function, action=act, name="kick", check_points=int(rng.choice([1, 6, 12]))))
    for k in range(int(rng.integers(0, 3))):
        look = system.watched if k == 0 else lambda s: s.t - 0.4
        look = opaque(look) if rng.random() < 0.3 else look
        options = {
            "direction": [0, 1, -1][rng.integers(3)],
            "terminal": [False, False, True, 2][rng.integers(4)] if not kicks else False,
            "threshold": [0.0, 1e-12, 1e-3][rng.integers(3)],
        }
        events.append(da.Event(look, name=f"look {k}", **options))
    return events


def some_output(rng, system, t0, t1):
    low, high = min(t0, t1), max(t0, t1)
    inside = np.unique(np.concatenate([rng.uniform(low, high, 4), [t0, t1]]))
    kinds = [
        None, None, inside if t1 >= t0 else inside[::-1], [t1], (), da.Output(),
        da.Output(points=int(rng.integers(0, 9))),
        da.Output(per_step=int(rng.integers(0, 4))), da.Output(max_spacing=0.05),
        da.Output(components=list(system.compared)), da.Output(points=3, components=[system.compared[-1]]),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]


def some_run(seed):
    """The system, the case, the method with its options, and the arguments of one run."""
    rng = np.random.default_rng([20251, seed])
    system = SYSTEMS[str(rng.choice(sorted(SYSTEMS)))]
    t0 = float(rng.choice([0.0, 0.0, 0.0, 1.5, -2.0]))
    t1 = t0 + float(rng.choice([0.5, 1.0, 2.0, -1.0, 0.0, 1e-9]))
    kicks = rng.random() < 0.2
    drive = str(rng.choice(sorted(DRIVES)))
    case = Case((t0, t1), float(rng.choice([9.81, 1.0, 0.0])), drive, float(rng.choice([0.0, 0.3])), kicks)
    method, options = some_method(rng, system)
    rtol, atol, tight_rtol, tight_atol = some_tolerances(rng, system)
    arguments = {
        **system.start, "rtol": rtol, "atol": atol, "max_steps": int(rng.choice([500, 3000])),
        "parameters": {"g": case.g}, "inputs": {"drive": some_input(rng, case.drive)},
        "discrete": {"brake": case.brake}, "events": some_events(rng, system, kicks) or None,
        "t_eval": some_output(rng, system, t0, t1),
    }  # fmt: skip
    if callable(arguments["inputs"]["drive"]):  # may run as Python code, dozens of times in a stage
        arguments["max_steps"] = 300
    if rng.random() < 0.05:
        arguments["max_steps"] = 1 if options else 2**63 - 1  # without options of its own a method comes to the end
    for name, chance, values in (
        ("first_step", 0.15, [1e-10, 1e-3, 0.1, 1e10, 1e-129]), ("max_step", 0.15, [1e-2, 0.1, 1e300, np.inf]),
        ("dense_output", 0.2, [True, False]), ("profile", 0.05, [True]), ("trace", 0.1, [True]),
    ):  # fmt: skip
        if rng.random() < chance:
            arguments[name] = values[rng.integers(len(values))]
    hostile = None
    if rng.random() < 0.2:
        hostile = str(rng.choice(sorted(HOSTILE)))
        value = HOSTILE[hostile]()
        places = ("arguments", "options", "parameters", "inputs", "discrete")
        where = str(rng.choice(places))
        if where == "arguments":
            known = sorted({*arguments, "first_step", "max_step", "max_steps", "lam0", "initial_conditions", "trace"})
            arguments[str(rng.choice(known))] = value
        elif where == "options":
            names = [field.name for field in dataclasses.fields(METHODS[method])]
            options[str(rng.choice(names))] = value
        else:
            arguments[where] = {{"parameters": "g", "inputs": "drive", "discrete": "brake"}[where]: value}
    return system, case, method, options, arguments, hostile, (tight_rtol, tight_atol)


# -- one run -----------------------------------------------------------------------------------------------------------


def faults_of(seed):
    """What is wrong with one run, as a list of sentences."""
    system, case, method, options, arguments, hostile, tolerances = some_run(seed)
    begin, faults, solution, error = time.process_time(), [], None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            chosen = METHODS[method](**options)
            solution = da.simulate(system.model, case.t_span, method=chosen, **arguments)
            faults += looked_at(solution)
            if hostile is None:
                warned = any(issubclass(w.category, da.StepMissedTolerance) for w in caught)
                faults += [] if warned else wrong_by(solution, system, case, chosen, tolerances)
        except da.DalembertError as failure:
            error = failure
            if not str(failure).strip():
                faults.append("an error without text")
            partial = getattr(failure, "solution", None)
            if partial is not None:
                faults += looked_at(partial)
        except Exception as failure:
            where = failure.__traceback__
            while where.tb_next is not None:
                where = where.tb_next
            place = f"{where.tb_frame.f_code.co_filename.split('dalembert/')[-1]}:{where.tb_lineno}"
            faults.append(f"{type(failure).__name__} at {place}: {str(failure)[:200]}")
    for warning in caught:
        if warning.category.__module__ != "dalembert.errors":
            place = f"{warning.filename.split('dalembert/')[-1]}:{warning.lineno}"
            faults.append(f"{warning.category.__name__} at {place}: {str(warning.message)[:100]}")
    spent = time.process_time() - begin
    if spent > LONGEST:
        faults.append(f"took {spent:.0f} seconds")
    outcome = type(error).__name__ if error is not None else solution.status if solution is not None else "foreign"
    return faults, outcome, spent


def looked_at(solution):
    """Everything that can be seen of a result is finite."""
    faults = []
    if not np.isfinite(solution.t).all():
        faults.append("times that are not finite")
    if not all(np.isfinite(solution[name]).all() for name in solution.names):
        faults.append("states that are not finite")
    str(solution), len(solution.events)
    if solution.trajectory.dense:
        last = solution.at(solution.trajectory.interval[1])
        if not all(np.isfinite(last[name]) for name in last.names):
            faults.append("a state between points that is not finite")
    return faults


def wrong_by(solution, system, case, method, tolerances):
    """By how many tolerances too much a result is wrong, if it is."""
    rtol, atol = tolerances
    faults = []
    names = [name for name in system.compared if name in solution.names]
    if getattr(method, "error", "all") == "positions":  # says so: velocities are not looked at
        names = [name for name in names if not name.endswith("_dot")]
    columns = [system.compared.index(name) for name in names]
    points = [] if not len(solution.t) else [len(solution.t) // 2, len(solution.t) - 1]
    for point in points:
        t = float(solution.t[point])
        truth = exact(system.name, case, t)
        if truth is None or not names:
            continue
        found = np.array([solution[name][point] for name in names])
        error = np.abs(found - truth[columns])
        # numbers near zero are differences of larger ones, and have their rounding errors
        weight = atol + max(rtol, 1e-13) * np.maximum(np.abs(truth[columns]), 0.1)
        worst = float(np.max(error / weight))
        if worst > MOST_TOLERANCES:
            faults.append(f"{worst:.1e} tolerances off at t = {t:.6g} in {names[int(np.argmax(error / weight))]}")
    end = solution.trajectory.interval[1]
    if solution.status == "finished" and solution.t_eval is None and abs(end - case.t_span[1]) > 1e-12 * (1 + abs(end)):
        faults.append(f"finished at {end}, not at {case.t_span[1]}")
    return faults


# -- many runs ---------------------------------------------------------------------------------------------------------


def child(first, count):
    """Runs one after the other; a line before each, and one after it."""
    for seed in range(first, first + count):
        print(json.dumps({"seed": seed}), flush=True)
        faulthandler.dump_traceback_later(WATCHDOG, exit=True)
        faults, outcome, spent = faults_of(seed)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"seed": seed, "faults": faults, "outcome": outcome, "spent": spent}), flush=True)


def run(first, count, report=lambda line: None):
    """Runs `count` seeds from `first`; returns the faults by seed and the outcomes counted."""
    faults, outcomes, seed = {}, {}, first
    while seed < first + count:
        left = str(first + count - seed)
        command = [sys.executable, "-m", MODULE, "--child", "--seed", str(seed), "--count", left]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=HOME) as process:
            last, done = None, None
            for line in process.stdout:
                said = json.loads(line)
                last = said["seed"]
                if "faults" in said:
                    done = last
                    outcomes[said["outcome"]] = outcomes.get(said["outcome"], 0) + 1
                    if said["faults"]:
                        faults[last] = said["faults"]
                        report(f"{last}: {'; '.join(said['faults'])}")
            ended = process.stderr.read()
        if last is None:
            raise RuntimeError(f"no run could be begun:\n{ended}")
        if last != done:
            faults[last] = [f"ended by {process.returncode}: {ended[-1500:]}"]
            report(f"{last}: {faults[last][0]}")
        seed = last + 1
    return faults, outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.seed, given.count)
        return
    faults, outcomes = run(given.seed, given.count, lambda line: print(line, flush=True))
    print(f"{given.count} runs, {len(faults)} with faults; outcomes: {outcomes}")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
