"""What a description by bodies costs beside equations written by hand.

    python benchmarks/multibody.py [andrews] [--repeat 15]

andrews: Andrews' mechanism by hand (seven angles), from bodies in joint coordinates (the same seven) and in absolute
ones (21 coordinates, 20 constraints). CPU time of `simulate`, best of alternating runs, as ratio to the hand-written
model: at equal tolerance, and at equal error, for which every model takes the cheapest of many tolerances that reaches
it. Errors are those of the angles of the seven bodies and of their rates, in all coordinates alike. The goal is 1.5 in
both sets of coordinates, for every method. Exit code 1 if it is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import dalembert as da
from dalembert.problems import Problem, andrews, andrews_from_bodies

METHODS = {name: getattr(da, name)() for name in ("Hem5", "Mexx", "Radau5", "Geoms", "Dassl")}
EQUAL = (1e-4, 1e-6, 1e-8)
ERRORS = (1e-3, 1e-5)
TOLERANCES = np.geomspace(1e-3, 1e-10, 29)
GOAL = 1.5
PATIENCE = 0.2  # s: runs that take longer are not repeated again and again


@dataclass
class Cell:
    """A model with one method and one tolerance."""

    problem: Problem
    method: object
    tolerance: float
    error_of: Callable
    seconds: float = np.inf
    error: float = np.inf
    failed: bool = False
    runs: int = 0

    def run(self) -> None:
        if self.failed or (self.runs > 1 and self.seconds > PATIENCE):  # the first run compiles
            return
        self.runs += 1
        start = time.process_time()
        try:
            solution = self.problem.simulate(method=self.method, rtol=self.tolerance, atol=self.tolerance)
        except da.DalembertError:
            self.failed = True
            return
        self.seconds = min(self.seconds, time.process_time() - start)
        self.error = self.error_of(solution)


# -- Andrews' mechanism ----------------------------------------------------------------------------------------------

#: angles of the seven bodies as sums of the seven angles
_SUMS = np.array([[1, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0],
                  [0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1]])  # fmt: skip
_ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")


def _error(angles: np.ndarray, rates: np.ndarray) -> float:
    reference = andrews().reference
    pairs = ((angles, _SUMS @ reference.p), (rates, _SUMS @ reference.v))
    return max(float(np.max(np.abs(found - known) / (1 + np.abs(known)))) for found, known in pairs)


def _of_joints(solution) -> float:
    """From angles of joints, by hand or from bodies."""
    places = [
        next(k for k, name in enumerate(solution.model.names("p")) if name.split(".")[0] == angle) for angle in _ANGLES
    ]
    return _error(_SUMS @ solution.p[-1][places], _SUMS @ solution.v[-1][places])


def _of_bodies(solution) -> float:
    names = solution.model.names("p")
    places = [names.index(f"K{k}.angle") for k in range(1, 8)]
    return _error(solution.p[-1][places], solution.v[-1][places])


def of_andrews(repeat: int) -> bool:
    """Print both tables; whether the goals are met."""
    models = {
        "by hand": (andrews(), _of_joints),
        "joint": (andrews_from_bodies("joint"), _of_joints),
        "absolute": (andrews_from_bodies("absolute"), _of_bodies),
    }
    print("Andrews' mechanism, equal tolerance: ms by hand, ratios of joint and absolute coordinates (errors)")
    at_tolerance: dict[str, list[float]] = {"joint": [], "absolute": []}
    for name, method in METHODS.items():
        for tolerance in EQUAL:
            cells = {which: Cell(problem, method, tolerance, error) for which, (problem, error) in models.items()}
            _measure(list(cells.values()), repeat)
            _print_row(f"{name:7s} {tolerance:.0e}", cells, at_tolerance)
    print("the same, equal error")
    at_error: dict[str, list[float]] = {"joint": [], "absolute": []}
    for name, method in METHODS.items():
        many = {
            which: [Cell(problem, method, tolerance, error) for tolerance in TOLERANCES]
            for which, (problem, error) in models.items()
        }
        _measure([cell for cells in many.values() for cell in cells], max(3, repeat // 3))
        for error in ERRORS:
            chosen = {}
            for which, cells in many.items():
                good = [cell for cell in cells if cell.error <= error]
                if good:
                    chosen[which] = min(good, key=lambda cell: cell.seconds)
            if len(chosen) == len(models):
                _measure(list(chosen.values()), repeat)
                _print_row(f"{name:7s} {error:.0e}", chosen, at_error)
            else:
                print(f"{name:7s} {error:.0e}  not reached")
    worst = {which: max(at_tolerance[which] + at_error[which]) for which in at_tolerance}
    for which, ratio in worst.items():
        print(f"{which}: at most {ratio:.2f}, goal {GOAL} for every method: {'ok' if ratio <= GOAL else 'MISSED'}")
    return all(ratio <= GOAL for ratio in worst.values())


def _print_row(title: str, cells: dict[str, Cell], ratios: dict[str, list[float]]) -> None:
    base = cells["by hand"].seconds
    parts = [f"{title}  {base * 1e3:8.2f} ms ({cells['by hand'].error:.0e})"]
    for which, found in ratios.items():
        ratio = cells[which].seconds / base
        found.append(ratio)
        parts.append(f"{which} {ratio:5.2f} ({cells[which].error:.0e})")
    print("   ".join(parts), flush=True)


def _measure(cells: list[Cell], repeat: int) -> None:
    """Runs in turn, so that all see the same state of the machine; the first ones compile."""
    for _ in range(repeat):
        for cell in cells:
            cell.run()


PARTS: dict[str, Callable[[int], bool]] = {"andrews": of_andrews}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--repeat", type=int, default=15)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    met = [PARTS[name](arguments.repeat) for name in arguments.parts or PARTS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
