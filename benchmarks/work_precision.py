"""Time against error: our methods and the solvers a user would take instead, on the test problems, in one run.

    python benchmarks/work_precision.py
    python benchmarks/work_precision.py andrews pendulum --methods "radau5 index2" "casadi idas" --tolerances 1e-6 1e-9

Prints every measurement, then the cheapest time of each method for given errors, as ratios; writes a figure.
Peers need `pip install dalembert[peers]`; those that are not installed are left out, with the reason.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dalembert.problems import catalogue
from dalembert.studies import METHODS, PEERS, available_peers, work_precision

PROBLEMS = ("andrews", "car_axis", "slider_crank", "truck")
TOLERANCES = tuple(10.0**-k for k in range(4, 11))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ", ".join(f"'{label}'" for label in (*METHODS, *PEERS))
    parser.add_argument(
        "problems", nargs="*", help=f"default: {' '.join(PROBLEMS)}; or any of {', '.join(catalogue())}"
    )
    parser.add_argument("--methods", nargs="+", metavar="LABEL", help=f"default: all that can run, of {known}")
    parser.add_argument("--tolerances", nargs="+", type=float, default=TOLERANCES, help="rtol = atol")
    parser.add_argument(
        "--errors", nargs="+", type=float, default=(1e-2, 1e-4, 1e-6, 1e-8), help="columns of the ratios"
    )
    parser.add_argument("--relative-to", metavar="LABEL", help="the method whose times are 1; default: the fastest")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs of each; the best counts")
    parser.add_argument(
        "--patience", type=float, default=5.0, help="seconds for one run before tighter ones are skipped"
    )
    parser.add_argument("--no-peers", action="store_true", help="only our own methods")
    parser.add_argument(
        "--output", type=Path, default=Path("work_precision.png"), help="the figure (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> int:
    given = arguments()
    methods = {label: make() for label, make in METHODS.items()}
    if not given.no_peers:
        methods |= available_peers(report=print)
    if given.methods:
        unknown = [label for label in given.methods if label not in methods]
        if unknown:
            print(f"not available: {', '.join(unknown)}; there are {', '.join(methods)}", file=sys.stderr)
            return 2
        methods = {label: methods[label] for label in given.methods}
    problems = given.problems or PROBLEMS
    study = work_precision(
        problems,
        methods,
        given.tolerances,
        given.repeat,
        patience=given.patience,
        report=lambda text: print(f"... {text}"),
    )
    print(f"\n{study.table()}\n")
    print(f"Cheapest time that reaches an error, relative to {given.relative_to or 'the fastest'}:")
    print(study.ratios(given.errors, given.relative_to))
    if study.failures:
        print(f"\n{len(study.failures)} of {len(study.rows)} runs failed; the reasons stand in the first table.")
    print(f"\nfigure: {study.plot(given.output)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
