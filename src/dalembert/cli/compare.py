"""`dalembert compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dalembert.cli.answer import Answer, code_of
from dalembert.cli.app import command
from dalembert.cli.exits import Exit
from dalembert.cli.methods import limits, with_options
from dalembert.cli.options import METHOD, RESULTS, Interval, Screen, Steps, Tolerances, Which, option
from dalembert.cli.progress import over_members, progress
from dalembert.cli.shown import PICTURES, check_output, line, writing
from dalembert.cli.subjects import simulated
from dalembert.errors import Interrupted, OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from dalembert.studies.comparison import Comparison


@command(
    examples=(
        "dalembert compare andrews",
        "dalembert compare andrews --method hem5 --method radau5:formulation=index2 --tolerance 1e-5 --plot work.png",
        "dalembert compare Pendulum.mo --t-end 2 --method qualidaes --method radau5 --repeat 1 --json",
    )
)
def compare(
    which: Which,
    interval: Interval,
    steps: Steps,
    screen: Screen,
    method: Annotated[
        list[str] | None,
        option(
            "--method", "-m", metavar="NAME", panel=METHOD,
            help="A method to be tried, with options as in radau5:formulation=index2. Repeatable; default: all that "
            "can treat the model.",
        ),
    ] = None,
    tolerance: Annotated[
        list[float] | None,
        option(
            "--tolerance", metavar="TOL", panel=METHOD,
            help="A tolerance, relative and absolute. Repeatable; default: 1e-4 1e-6 1e-8.",
        ),
    ] = None,
    repeat: Annotated[
        int, option("--repeat", metavar="N", panel=METHOD, show_default=True, help="Timed runs; the quickest counts.")
    ] = 3,
    patience: Annotated[
        float,
        option(
            "--patience", metavar="SECONDS", panel=METHOD, show_default=True,
            help="After a run that takes longer, tighter tolerances of its method are left out.",
        ),
    ] = 10,
    error: Annotated[
        float | None,
        option(
            "--error", metavar="E", panel=METHOD,
            help="What a recommended method has to reach; default: ten times the middle tolerance.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, option("--plot", metavar="FILE", panel=RESULTS, help="Draw the work-precision diagram.")
    ] = None,
    csv: Annotated[Path | None, option("--csv", metavar="FILE", panel=RESULTS, help="Write the table as text.")] = None,
    save: Annotated[Path | None, option("--save", metavar="FILE", panel=RESULTS, help="Write it as HDF5.")] = None,
) -> Answer:  # fmt: skip
    """Try methods at several tolerances, measure time and error, and recommend one."""
    check_output(plot, PICTURES)
    check_output(csv)
    check_output(save)
    subject = simulated(which)
    from dalembert.studies.compare import TOLERANCES
    from dalembert.studies.compare import compare as run

    methods = {text: with_options(text, {}, subject.model) for text in method or ()}
    whole = subject.problem is not None and interval == Interval()
    how: dict[str, Any] = {} if whole else {"t_span": subject.interval(interval), **subject.start}
    how |= limits(steps, Tolerances())
    failure = None
    try:
        with progress(screen.progress, still=True) as tell:
            found = run(
                subject.problem if whole else subject.model, methods or None, tolerance or TOLERANCES, repeat=repeat,
                patience=patience, progress=over_members(tell, "trials"), **how,
            )  # fmt: skip
    except Interrupted as interrupt:
        if interrupt.solution is None or not getattr(interrupt.solution, "trials", ()):
            raise
        failure, found = interrupt, interrupt.solution
    best, why = _recommended(found, error)
    written = {}
    for name, place, write in (("csv", csv, found.to_csv), ("save", save, found.save), ("plot", plot, found.plot)):
        if place is not None:
            with writing(place):
                write(place)
            written[name] = str(place)

    def show(console: Console) -> None:
        line(console, f"{found.problem}, errors against {found.reference}\n{found.table()}\n{why}")
        for name, place in written.items():
            what = {"csv": "The table", "save": "The comparison", "plot": "The picture"}[name]
            line(console, f"{what} is in {place}")

    result = {
        "problem": found.problem, "reference": found.reference, "trials": [vars(one) for one in found.trials],
        "recommendation": best, "files": written,
    }  # fmt: skip
    if failure is not None:
        return Answer(result, show, failure, code_of(failure))
    return Answer(result, show, code=Exit.ERROR if all(one.failure for one in found.trials) else Exit.OK)


def _recommended(found: Comparison, error: float | None) -> tuple[dict[str, Any] | None, str]:
    try:
        best = found.recommend(error)
    except OptionError as reason:
        if error is not None and not error > 0:
            raise
        return None, str(reason)
    return {**vars(best), "options": repr(best.options)}, str(best)
