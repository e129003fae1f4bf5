"""`dalembert demo`, `problems`, `reproduce`: what comes with the package."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.answer import Answer
from dalembert.cli.app import command
from dalembert.cli.options import RESULTS, Json, option
from dalembert.cli.progress import progress
from dalembert.cli.shown import PICTURES, check_output, line, new_table, row, writing
from dalembert.cli.subjects import catalogue
from dalembert.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from dalembert.problems import Problem


@command(examples=("dalembert demo --output demo.png",))
def demo(
    output: Annotated[
        Path, option("--output", "-o", metavar="FILE", panel=RESULTS, show_default=True, help="Where the picture goes.")
    ] = Path("dalembert_demo.png"),
    json: Json = False,
) -> Answer:
    """Simulate mechanisms of the catalogue, print how they went, and draw them."""
    check_output(output, PICTURES)
    from dalembert import demo as content

    with progress(None) as tell:
        count = len(content.MECHANISMS) + 1
        done = iter(range(count))
        results = content.simulate_all(announce=lambda title: tell and tell(next(done) / count, title))
        if tell:
            tell(next(done, count) / count, "drawing")
        with writing(output):
            content.picture(results).savefig(output, dpi=130)

    def result() -> dict[str, Any]:
        return {"problems": [content.facts(one) for one in results], "files": {"plot": str(output)}}

    def show(console: Console) -> None:
        console.print(content.table(results))
        line(console, f"The picture is in {output}")
        line(console, "A moving one: dalembert simulate andrews --animate andrews.html")

    return Answer(result, show)


@command(examples=("dalembert problems", "dalembert problems '*chain*' --json"))
def problems(
    pattern: Annotated[
        str | None,
        typer.Argument(metavar="NAMES", show_default=False, help="Which ones, as in '*chain*'; default: all."),
    ] = None,
    json: Json = False,
) -> Answer:
    """List the catalogue of test problems."""
    known = catalogue()
    names = [name for name in known if pattern is None or fnmatchcase(name, pattern)]
    if not names:
        from dalembert.model.namespace import explain_unknown

        raise OptionError(f"problems: {explain_unknown(pattern, known)}")
    facts = [_facts(name, known[name]()) for name in names]

    def show(console: Console) -> None:
        table = new_table("name", ">p", ">v", ">r, w, s, x", ">holonomic", ">nonhol.", ">t_end", "description")
        for one in facts:
            counts = (str(one[key]) for key in ("p", "v", "others", "holonomic", "nonholonomic"))
            row(table, one["name"], *counts, f"{one['t_end']:g}", one["title"])
        console.print(table)
        line(console, "Run one with: dalembert simulate NAME")

    return Answer({"problems": facts}, show)


def _facts(name: str, problem: Problem) -> dict[str, Any]:
    size, reference = problem.model.graph.size, problem.reference
    return {
        "name": name, "title": problem.title, "t_end": problem.t_end, "p": size("p"), "v": size("v"),
        "others": sum(size(kind) for kind in "rwsx"), "holonomic": size("lam"), "nonholonomic": size("mu"),
        "parameters": list(problem.model.parameters), "reference": None if reference is None else reference.source,
    }  # fmt: skip


@command(examples=("dalembert reproduce mexx --quick", "dalembert reproduce geoms --quick --plot figures --json"))
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", show_default=False, help="Whose results: geoms, mexx, hem5, corrector, qualidaes."
        ),
    ],
    plot: Annotated[
        Path | None, option("--plot", metavar="FOLDER", panel=RESULTS, help="Draw the figures into this folder.")
    ] = None,
    quick: Annotated[bool, option("--quick", panel=RESULTS, help="Shorter intervals and fewer tolerances.")] = False,
    json: Json = False,
) -> Answer:
    """Print our results beside the published ones of a paper."""
    if plot is not None and plot.exists() and not plot.is_dir():
        raise OptionError(f"'{plot}' is not a folder")
    from dalembert.studies import reproduce as sections

    found = sections(paper, quick=quick)  # nothing is computed yet

    def drawn() -> Iterator[tuple[Any, Path | None]]:
        for section in found:
            place = None
            if plot is not None:
                with writing(plot):
                    place = section.save(plot)
            yield section, place

    def result() -> dict[str, Any]:
        return {
            "paper": paper,
            "sections": [
                {"title": one.title, "table": one.table, "remark": one.remark, "picture": place}
                for one, place in drawn()
            ],
        }

    def show(console: Console) -> None:
        for section, place in drawn():
            line(console, f"{section}\n")
            if place is not None:
                line(console, f"The picture is in {place}\n")

    return Answer(result, show)
