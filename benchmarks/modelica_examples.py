"""Examples of the Modelica Standard Library against public trajectories: how many flatten, simulate, agree.

    MODELICAPATH=/path/to/library python benchmarks/modelica_examples.py TRAJECTORIES [NAME ...] [--json FILE]

TRAJECTORIES is the folder that holds `Modelica/Blocks/Examples/…/NAME.csv` (the branch of MAP-LIB_ReferenceResults
that belongs to the library). A NAME is a full name or a part of one; without any, all models of the packages below are
run. Every model has a process of its own, with limits of time (`--limit`) and memory, so that none can stop the table.
With `--json` results are kept in a file, and what is there already is not run again (`--again` all, `--retry` what
failed).

A signal agrees if every point of the reference lies within 2e-3 of the largest value of the signal from our curve,
where curve means everything between one output interval of the reference before and after. Near a jump of the reference
it may come earlier or later by 2e-3 of the whole time: references have errors of their own, and times of events that
follow from such values differ more than the values do. The signals are those that the reference names.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = (
    "Modelica.Blocks",
    "Modelica.Electrical.Analog",
    "Modelica.Mechanics.Rotational",
    "Modelica.Mechanics.Translational",
    "Modelica.Thermal.HeatTransfer",
)
TOLERANCE = 2e-3  # of the largest value of a signal, and near jumps of the whole time
MEMORY = 8 << 30
STAGES = ("flatten", "simulate", "agree")


# -- references -------------------------------------------------------------------------------------------------------


class Trajectory:
    """A reference: settings, names of signals, and values by name; times stand twice where something jumps."""

    def __init__(self, folder: Path, name: str):
        place = folder.joinpath(*name.split("."))
        settings = (place / "creation.txt").read_text(errors="replace")
        self.start = _setting(settings, "StartTime", 0.0)
        self.stop = _setting(settings, "StopTime", 1.0)
        self.tolerance = _setting(settings, "Tolerance", 1e-6)
        table = place / f"{place.name}.csv"
        with table.open() as lines:
            columns = [one.strip().strip('"') for one in _split(lines.readline())]
        values = np.loadtxt(table, delimiter=",", skiprows=1, ndmin=2)
        self.t = values[:, 0]
        wanted = (place / "comparisonSignals.txt").read_text().split()
        self.values = {one: values[:, columns.index(one)] for one in wanted if one != "time" and one in columns}
        steps = np.diff(self.t)
        self.interval = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 0.0


def _split(line: str) -> list[str]:
    """The names of a first line; commas stand within quotes, too."""
    return re.findall(r'"[^"]*"|[^,]+', line.strip())


def _setting(text: str, key: str, default: float) -> float:
    found = re.search(rf"^{key} *= *([-+0-9.eE]+)", text, re.MULTILINE)
    return float(found[1]) if found else default


def names_of(folder: Path, packages: tuple[str, ...] = PACKAGES) -> list[str]:
    """The models below `packages` that have a trajectory."""
    found = []
    for package in packages:
        root = folder.joinpath(*package.split("."))
        found += [
            ".".join(path.parent.relative_to(folder).parts)
            for path in sorted(root.rglob("*.csv"))
            if path.stem == path.parent.name
        ]
    return found


# -- one model --------------------------------------------------------------------------------------------------------


def widths(at: np.ndarray, wanted: np.ndarray, narrow: float) -> np.ndarray:
    """How much earlier or later a curve may pass by each point of a reference."""
    wide = TOLERANCE * (at[-1] - at[0])
    size = TOLERANCE * np.max(np.abs(wanted), initial=0.0)
    jumps = at[1:][(np.diff(at) <= 1e-9 * (at[-1] - at[0])) & (np.abs(np.diff(wanted)) > size)]
    if not len(jumps):
        return np.full(len(at), narrow)
    right = np.clip(np.searchsorted(jumps, at), 0, len(jumps) - 1)
    nearest = np.minimum(np.abs(jumps[right] - at), np.abs(jumps[np.maximum(right - 1, 0)] - at))
    return np.where(nearest <= wide, max(wide, narrow), narrow)


def highest(y: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The largest of y[first:last] for many pairs; -inf where there are none.

    Examples
    --------
    >>> highest(np.array([3.0, 1, 4, 1, 5]), np.array([0, 1, 2, 4]), np.array([2, 4, 5, 4]))
    array([  3.,   4.,   5., -inf])
    """
    found = np.full(len(first), -np.inf)
    level, size = y, 1  # level[i] is the largest of y[i : i + size]
    while len(level):
        now = (last - first >= size) & (last - first < 2 * size)
        found[now] = np.maximum(level[first[now]], level[last[now] - size])
        level, size = np.maximum(level[:-size], level[size:]), 2 * size
    return found


def beyond(t: np.ndarray, y: np.ndarray, at: np.ndarray, points: np.ndarray, width: np.ndarray | float) -> np.ndarray:
    """How far points lie above or below all that a curve (t, y) is within ± `width` in time."""
    first, last = np.searchsorted(t, at - width, "left"), np.searchsorted(t, at + width, "right")
    edges = np.interp([at - width, at + width], t, y)
    high = np.maximum(edges.max(0), highest(y, first, last))
    low = np.minimum(edges.min(0), -highest(-y, first, last))
    return np.minimum(np.abs(np.interp(at, t, y) - points), np.maximum(np.maximum(low - points, points - high), 0.0))


def distance(
    t: np.ndarray, y: np.ndarray, at: np.ndarray, wanted: np.ndarray, width: np.ndarray | float
) -> tuple[float, float]:
    """How far a curve (t, y) and a reference (at, wanted) are apart at worst, and when that is.

    At each time of the reference its value is near to what the curve is around there, or the curve is near to what the
    reference is around there: it may hold something for a moment only.

    Examples
    --------
    A step that comes a little late:

    >>> t, y = np.array([0, 1.01, 1.01, 2]), np.array([0.0, 0, 1, 1])
    >>> at = np.array([0, 1, 1, 1.4, 1.5])
    >>> distance(t, y, at, np.array([0.0, 0, 1, 1, 1]), 0.02)
    (0.0, 0.0)
    >>> distance(t, y, at, np.array([0.0, 0, 1, 1.5, 1.5]), 0.02)
    (0.5, 1.5)
    """
    error = np.minimum(beyond(t, y, at, wanted, width), beyond(at, wanted, at, np.interp(at, t, y), width))
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    return float(error[worst]), float(at[worst])


def compare(sol: Any, reference: Trajectory) -> dict[str, Any]:
    """The signal that differs most, in parts of its largest value."""
    times = np.unique(np.clip(reference.t, sol.t[0], sol.t[-1]))
    there = sol.at(times)
    t = np.concatenate([sol.t, times])
    order = np.argsort(t, kind="stable")
    worst: dict[str, Any] = {"error": 0.0}
    missing = []
    for name, wanted in reference.values.items():
        try:
            y = np.concatenate([np.broadcast_to(sol[name], sol.t.shape), np.broadcast_to(there[name], times.shape)])
        except Exception as reason:
            missing.append(f"{name}: {reason}".split("\n")[0])
            continue
        largest = float(np.max(np.abs(wanted), initial=0.0))
        width = widths(reference.t, wanted, 1.001 * reference.interval)
        error, when = distance(t[order], y[order], reference.t, wanted, width)
        part = error / largest if largest > 1e-12 else error
        if not part <= worst["error"]:
            worst = {"error": part if np.isfinite(part) else 1e300, "signal": name, "time": when}
    if sol.t[-1] < reference.t[-1] - 1e-6 * abs(reference.t[-1]):
        missing.append(f"the simulation ends at {sol.t[-1]:g} ({sol.status})")
    return {**worst, "missing": missing}


def _kind(error: BaseException) -> str:
    return type(error).__name__


def run_one(name: str, folder: Path) -> None:
    """Print what becomes of a model, one line of JSON for each stage."""
    import dalembert as da

    def say(**what: Any) -> None:
        print("@" + json.dumps(what), flush=True)

    reference = Trajectory(folder, name)
    stage, clock = "flatten", time.perf_counter()
    try:
        flat = da.modelica.flatten(name)
        say(flatten=True, equations=flat.equation_count(), flatten_s=time.perf_counter() - clock)
        stage, clock = "load", time.perf_counter()
        model = da.modelica.load(name)
        say(load_s=time.perf_counter() - clock, unknowns=len(model.x_names) if hasattr(model, "x_names") else None)
        stage, clock = "simulate", time.perf_counter()
        sol = da.simulate(model, (reference.start, reference.stop), rtol=reference.tolerance)
        say(simulate=True, simulate_s=time.perf_counter() - clock, steps=sol.stats.accepted, events=len(sol.events))
        stage = "compare"
        found = compare(sol, reference)
        agree = not found["missing"] and found["error"] <= TOLERANCE
        reason = None
        if not agree:
            reason = "; ".join(found["missing"]) or (
                f"differs by {found['error']:.2g} of its largest value: {found['signal']} at t = {found['time']:g}"
            )
        say(agree=agree, reason=reason, **found)
    except Exception as error:
        say(reason=f"{_kind(error)}: {str(error).strip()}", failed_in=stage)
        raise SystemExit(1) from None


def run_apart(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, str(arguments.trajectories), name, "--one"]

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    result: dict[str, Any] = {"name": name, "flatten": False, "simulate": False, "agree": False, "reason": None}
    begin = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=confine, errors="replace"
    ) as process:
        try:
            out, err = process.communicate(timeout=arguments.limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            result["reason"] = f"takes longer than {arguments.limit:g} s"
    for line in out.splitlines():
        if line.startswith("@"):
            result |= {key: value for key, value in json.loads(line[1:]).items() if value is not None}
    if result["reason"] is None and not result["agree"]:
        last = err.strip().splitlines()[-1:] or ["nothing was said"]
        result["reason"] = f"the process ended with {process.returncode}: {last[0]}"
    result["seconds"] = time.perf_counter() - begin
    return result


# -- the table --------------------------------------------------------------------------------------------------------


def grouped(reason: str) -> str:
    """A reason without places, names and numbers."""
    text = re.sub(r"\S+\.mo:\d+(:\d+)?: ", "", reason.split("\n")[0])
    return re.sub(r"`[^`]*`|\([^)]*\)|-?\d[\d.e+-]*", "…", text)[:150]


def package_of(name: str) -> str:
    return next((one for one in PACKAGES if name.startswith(one + ".")), name.rsplit(".", 1)[0])


def print_table(results: dict[str, dict[str, Any]], names: list[str], verbose: bool) -> None:
    rows = [results[name] for name in names if name in results]
    print(f"\n{'package':36} {'models':>7} {'flatten':>8} {'simulate':>9} {'agree':>6}")
    for package in dict.fromkeys(package_of(row["name"]) for row in rows):
        mine = [row for row in rows if package_of(row["name"]) == package]
        print(f"{package:36} {len(mine):7} " + " ".join(
            f"{sum(bool(row[stage]) for row in mine):{width}}" for stage, width in zip(STAGES, (8, 9, 6), strict=True)
        ))  # fmt: skip
    total = len(rows)
    counts = [sum(bool(row[stage]) for row in rows) for stage in STAGES]
    print(f"{'all':36} {total:7} {counts[0]:8} {counts[1]:9} {counts[2]:6}")
    if total:
        print(f"{'':36} {'':7} " + " ".join(f"{c / total:{w}.0%}" for c, w in zip(counts, (8, 9, 6), strict=True)))
    failed = [row for row in rows if not row["agree"]]
    if failed:
        print("\nreasons")
        for text, count in Counter(grouped(row["reason"]) for row in failed).most_common():
            print(f"{count:5}  {text}")
            for row in failed:
                if verbose and grouped(row["reason"]) == text:
                    print(f"         {row['name']}: {row['reason'].splitlines()[0][:180]}")


def line(row: dict[str, Any]) -> str:
    marks = "".join(letter if row[stage] else "-" for letter, stage in zip("FSA", STAGES, strict=True))
    text = "" if row["agree"] else row["reason"].splitlines()[0][:150]
    return f"{marks} {row['seconds']:6.1f} s  {row['name']}  {text}"


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trajectories", type=Path)
    parser.add_argument("names", nargs="*", help="full names, or parts of them")
    parser.add_argument("--json", type=Path, help="where results are kept")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a model")
    parser.add_argument("--again", action="store_true", help="run also what is in the file already")
    parser.add_argument("--retry", action="store_true", help="run what failed again")
    parser.add_argument("--table", action="store_true", help="run nothing, print what is in the file")
    parser.add_argument("--verbose", action="store_true", help="name the models below each reason")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(given: list[str] | None = None) -> None:
    arguments = parsed(given)
    if arguments.one:
        run_one(arguments.names[0], arguments.trajectories)
        return
    if not os.environ.get("MODELICAPATH"):
        sys.exit("MODELICAPATH has to name the directory with the library")
    everything = names_of(arguments.trajectories)
    names = [one for one in everything if not arguments.names or any(part in one for part in arguments.names)]
    if not names:  # a model of another package
        names = [one for one in arguments.names if arguments.trajectories.joinpath(*one.split(".")).is_dir()]
    results: dict[str, dict[str, Any]] = {}
    if arguments.json and arguments.json.exists():
        results = json.loads(arguments.json.read_text())
    for name in names:
        known = results.get(name)
        if arguments.table or (known and not arguments.again and (known["agree"] or not arguments.retry)):
            continue
        results[name] = run_apart(name, arguments)
        print(line(results[name]), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1))
    print_table(results, names, arguments.verbose)


if __name__ == "__main__":
    main()
