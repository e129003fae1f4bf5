"""`dalembert sweep`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dalembert.cli.answer import Answer, code_of
from dalembert.cli.app import command
from dalembert.cli.exits import Exit
from dalembert.cli.methods import events_of, limits, method_of, output_times
from dalembert.cli.options import (
    RESULTS,
    SCREEN,
    Events,
    Interval,
    Method,
    Points,
    Screen,
    Steps,
    Tolerances,
    Which,
    option,
)
from dalembert.cli.progress import over_members, progress
from dalembert.cli.results import chosen_names
from dalembert.cli.shown import PICTURES, check_output, line, writing
from dalembert.cli.subjects import simulated
from dalembert.cli.values import NUMBER, named, numbers, read_table
from dalembert.errors import Interrupted, OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from dalembert.sweeps import Sweep

#: variables of a sweep that a summary shows
MOST_NAMES = 12
#: variables of a picture
MOST_PANELS = 6
SAMPLES = "Samples"


@command(
    examples=(
        "dalembert sweep andrews --vary m1=0.04:0.05:11 --keep beta --csv andrews.csv --plot andrews.png",
        "dalembert sweep andrews --sample m1=0.0433~0.001 --count 50 --store andrews.h5 --progress",
        "dalembert sweep pendulum --samples cases.csv --points 5 --keep x,y --csv pendulums.csv",
        "dalembert sweep arm.urdf --t-end 1 --vary shoulder.angle=0,0.5,1 --json",
    )
)
def sweep(
    which: Which,
    interval: Interval,
    points: Points,
    events: Events,
    method: Method,
    tolerances: Tolerances,
    steps: Steps,
    screen: Screen,
    vary: Annotated[
        list[str] | None,
        option(
            "--vary", metavar="NAME=VALUES", panel=SAMPLES,
            help="m=1,2,5 or m=1:2:11 (from:to:count); all combinations. Parameters, start values, inputs. Repeatable.",
        ),
    ] = None,
    sample: Annotated[
        list[str] | None,
        option(
            "--sample", metavar="NAME=RANGE", panel=SAMPLES,
            help="m=0.9..1.1 (uniform) or m=1~0.1 (normal: mean, deviation). Repeatable.",
        ),
    ] = None,
    samples: Annotated[
        Path | None,
        option("--samples", metavar="FILE", panel=SAMPLES, help="A CSV file: names, then a line for each member."),
    ] = None,
    count: Annotated[
        int, option("--count", metavar="N", panel=SAMPLES, show_default=True, help="How many members --sample draws.")
    ] = 100,
    design: Annotated[
        str,
        option(
            "--design", metavar="NAME", panel=SAMPLES, show_default=True,
            help="Of --sample: random, latin, sobol or halton.",
        ),
    ] = "random",
    seed: Annotated[
        int, option("--seed", metavar="N", panel=SAMPLES, show_default=True, help="The same seed draws the same.")
    ] = 0,
    keep: Annotated[
        list[str] | None,
        option(
            "--keep", metavar="NAMES", panel=RESULTS,
            help="Variables or outputs to be kept, as in 'x*,energy'. Repeatable; default: all variables.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        option(
            "--store", metavar="FILE", panel=RESULTS,
            help="Keep results in this HDF5 file; the same command goes on where it was stopped.",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        option("--csv", metavar="FILE", panel=RESULTS, help="Write a line for each member (and output time)."),
    ] = None,
    plot: Annotated[
        Path | None,
        option("--plot", metavar="FILE", panel=RESULTS, help="Draw what is kept over what is varied, or over time."),
    ] = None,
    workers: Annotated[
        int | None,
        option("--workers", metavar="N", panel=SCREEN, help="Threads or processes; default: one for each processor."),
    ] = None,
    engine: Annotated[
        str, option("--engine", metavar="NAME", panel=SCREEN, show_default=True, help="auto, threads or processes.")
    ] = "auto",
    retries: Annotated[
        int, option("--retries", metavar="N", panel=SCREEN, show_default=True, help="Of members whose process died.")
    ] = 1,
) -> Answer:  # fmt: skip
    """Simulate a model many times with other parameters or start values."""
    check_output(csv)
    check_output(store)
    check_output(plot, PICTURES)
    subject = simulated(which)
    drawn = samples_of(vary, sample, samples, count, design)
    from dalembert.sweeps import sweep as run

    model = subject.model
    known = [name for kind in model.graph.vectors for name in model.names(kind)]
    kept = chosen_names(known, keep, model.outputs.names, option="--keep") if keep else None
    watched = events_of(events, subject)
    how = limits(steps, tolerances) | ({"events": watched} if watched else {})
    failure = None
    try:
        with progress(screen.progress) as tell:
            study = run(
                model, drawn, subject.interval(interval), **subject.start, **how, method=method_of(method, model),
                t_eval=output_times(points, subject, interval), keep=kept, store=store, workers=workers,
                engine=engine, seed=seed, retries=retries, progress=over_members(tell, "members"),
            )  # fmt: skip
    except Interrupted as error:
        if error.solution is None:
            raise
        failure, study = error, error.solution
    written = {} if store is None else {"store": str(store)}
    for name, place, write in (
        ("csv", csv, lambda place: study.to_csv(place, at_times=study.t is not None)),
        ("plot", plot, lambda place: draw(study, place, model.name)),
    ):  # fmt: skip
        if place is not None:
            with writing(place):
                write(place)
            written[name] = str(place)

    def show(console: Console) -> None:
        line(console, summary(study))
        for name, place in written.items():
            what = {"store": "The study", "csv": "The table", "plot": "The picture"}[name]
            line(console, f"{what} is in {place}")

    return Answer(lambda: {**described(study), "files": written}, show, failure, _code(study, failure))


def _code(study: Sweep, failure: Interrupted | None) -> Exit:
    if failure is not None:
        return code_of(failure)
    if not study.success.any():
        return Exit.ERROR
    return Exit.OK if study.success.all() else Exit.PARTIAL


def samples_of(
    vary: Sequence[str] | None, sample: Sequence[str] | None, samples: Path | None, count: int, design: str
) -> Any:
    """A grid, draws, or a table.

    >>> samples_of(["m=1:2:3", "L=0.5,1"], None, None, 1, "random").draw(0)["m"].tolist()
    [1.0, 1.0, 1.5, 1.5, 2.0, 2.0]
    """
    from dalembert.sweeps import Grid, MonteCarlo

    if sum(map(bool, (vary, sample, samples))) != 1:
        raise OptionError(
            "give --vary NAME=VALUES, --sample NAME=RANGE or --samples FILE: one of them says what is varied"
        )
    if samples is not None:
        return read_table(samples, f"--samples {samples}")
    if vary:
        example = "NAME=1,2,5 or NAME=1:2:11 (from:to:count)"
        pairs = [named(text, "--vary", example) for text in vary]
        _once("--vary", [name for name, _ in pairs])
        return Grid({name: numbers(values, f"--vary {name}", example) for name, values in pairs})
    pairs = [_distribution(text) for text in sample or ()]
    _once("--sample", [name for name, _ in pairs])
    return MonteCarlo(dict(pairs), count, design)


def _once(option: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"{option}: '{name}' is given twice")


def _distribution(text: str) -> tuple[str, Any]:
    example = "NAME=0.9..1.1 (uniform) or NAME=1~0.1 (normal: mean, deviation)"
    name, values = named(text, "--sample", example)
    if ends := re.fullmatch(rf"({NUMBER})\.\.({NUMBER})", values.replace(" ", "")):
        return name, (float(ends[1]), float(ends[2]))
    if (shape := re.fullmatch(rf"({NUMBER})~({NUMBER})", values.replace(" ", ""))) and float(shape[2]) > 0:
        from scipy.stats import norm

        return name, norm(float(shape[1]), float(shape[2]))
    raise OptionError(f"--sample {text}: write {example}")


# -- what is said ------------------------------------------------------------------------------------------------------


def described(study: Sweep) -> dict[str, Any]:
    """A study as plain data."""
    return {
        "members": len(study), "finished": int(study.success.sum()), "engine": study.engine, "t": study.t,
        "samples": study.samples, "values": {name: study[name] for name in study.names}, "status": study.status,
        "errors": study.errors,
    }  # fmt: skip


def summary(study: Sweep) -> str:
    import numpy as np

    width = max([16, *(len(name) + 2 for name in study.names[:MOST_NAMES])])
    lines = [repr(study), f"{'':{width}s}{'least':>14s}{'mean':>14s}{'largest':>14s}"]
    for name in study.names[:MOST_NAMES]:
        values = study[name][study.success]
        if values.size and values.ndim == (1 if study.t is None else 2):
            few = (np.nanmin(values), np.nanmean(values), np.nanmax(values))
            lines.append(f"{name:{width}s}" + "".join(f"{value:14.6g}" for value in few))
    if len(study.names) > MOST_NAMES:
        lines.append(f"… and {len(study.names) - MOST_NAMES} more")
    for number, text in list(study.errors.items())[:5]:
        lines.append(f"member {number} failed: {' '.join(text.split())}")
    if len(study.errors) > 5:
        lines.append(f"… and {len(study.errors) - 5} more failed")
    return "\n".join(lines)


def draw(study: Sweep, path: Path, title: str) -> None:
    """A panel for each variable: over time, in colours of the sample that varies, or over that sample."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    own = 1 if study.t is None else 2
    names = [name for name in study.names if study[name].ndim == own][:MOST_PANELS]
    if not names:
        raise OptionError("--plot: there is nothing to draw: no variable has one value for each member")
    varied = _varied(study)
    values = study.samples[varied]
    shades = ScalarMappable(Normalize(values.min(), values.max()), colormaps["viridis"])
    figure = Figure(figsize=(7.5, 1 + 2.3 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), sharex=True, squeeze=False)
    for ax, name in zip(panels.flat, names, strict=True):
        if study.t is None:
            ax.plot(values, study[name], ".", color="C0", ms=4)
        for number in range(len(study)) if study.t is not None else ():
            ax.plot(study.t, study[name][number], lw=0.9, alpha=0.8, color=shades.to_rgba(values[number]))
        ax.set(ylabel=name)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    ax.set_xlabel(varied if study.t is None else "t")
    if study.t is not None:
        figure.colorbar(shades, ax=panels, label=varied, fraction=0.05)
    figure.suptitle(f"{title}: {int(study.success.sum())} of {len(study)} members")
    figure.savefig(path, dpi=130)


def _varied(study: Sweep) -> str:
    """The sample with the most values."""
    import numpy as np

    scalars = [name for name, values in study.samples.items() if values.ndim == 1]
    if not scalars:
        raise OptionError("--plot: what is varied are vectors; there is nothing to draw over")
    return max(scalars, key=lambda name: len(np.unique(study.samples[name])))
