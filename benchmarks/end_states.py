"""End states of every problem of the catalogue with every method, bit for bit: what a refactoring must not change.

    python benchmarks/end_states.py record FILE       before
    python benchmarks/end_states.py compare FILE      after; exit code 1 if something differs

A run that fails is recorded by its exception, so that a failure that appears or goes away is seen as well.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import dalembert as da

METHODS = {
    "radau5": da.Radau5(),
    "radau5 index1": da.Radau5(formulation="index1"),
    "radau5 index2": da.Radau5(formulation="index2"),
    "radau5 index3": da.Radau5(formulation="index3"),
    "geoms": da.Geoms(),
    "geoms svd": da.Geoms(algebraic="svd"),
    "hem5": da.Hem5(),
    "rkf45": da.Rkf45(),
    "mexx": da.Mexx(),
    "dassl": da.Dassl(),
    "dassl differences": da.Dassl(jacobian=da.GroupedDifferences()),
    "odassl": da.Odassl(),
}
TOLERANCES = (1e-5, 1e-8)
#: a second of the long ones is enough
LONGEST = 5.0


def problems() -> Iterator[da.problems.Problem]:
    makers = da.problems.catalogue() | da.problems.catalogue_quasi_linear() | da.problems.catalogue_singular()
    yield from (make() for make in makers.values())


def outcome(problem: da.problems.Problem, method, tolerance: float) -> dict:
    """The last state and the numbers of steps as text that keeps every bit; or what was raised."""
    t_end = min(problem.t_end, LONGEST)
    try:
        solution = da.simulate(
            problem.model, (0.0, t_end), **problem.start(), method=method, rtol=tolerance, atol=tolerance,
            max_steps=20_000,
        )  # fmt: skip
    except da.DalembertError as error:
        return {"raised": type(error).__name__}
    stats = solution.stats
    return {
        "x": [float(value).hex() for value in solution.x[-1]],
        "steps": [stats.accepted, stats.error_rejections, stats.convergence_rejections],
    }


def every_outcome() -> dict[str, dict]:
    warnings.simplefilter("ignore")
    return {
        f"{problem.name} | {label} | {tolerance:g}": outcome(problem, method, tolerance)
        for problem in problems()
        for label, method in METHODS.items()
        for tolerance in TOLERANCES
    }


def difference(before: dict, after: dict) -> str:
    """In words."""
    if "raised" in before or "raised" in after:
        return f"{before.get('raised', 'fine')} -> {after.get('raised', 'fine')}"
    largest = max(
        abs(float.fromhex(a) - float.fromhex(b)) / (1 + abs(float.fromhex(a)))
        for a, b in zip(before["x"], after["x"], strict=True)
    )
    return f"steps {before['steps']} -> {after['steps']}, largest difference {largest:.1e}"


def main(action: str, path: str) -> int:
    found = every_outcome()
    if action == "record":
        Path(path).write_text(json.dumps(found, indent=0), encoding="utf-8")
        print(f"{len(found)} end states recorded")
        return 0
    known = json.loads(Path(path).read_text(encoding="utf-8"))
    differing = {key: difference(known[key], found[key]) for key in known if known[key] != found.get(key)}
    for key, words in differing.items():
        print(f"{key}: {words}")
    print(f"{len(known) - len(differing)} of {len(known)} end states are bit for bit the same")
    return 1 if differing else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
