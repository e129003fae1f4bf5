"""`dalembert demo`, `problems`, `reproduce`: what comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.app import app
from dalembert.cli.shown import PICTURES, check_output, new_console, new_table, row, writing
from dalembert.cli.subjects import catalogue
from dalembert.errors import OptionError


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the picture goes.")] = Path(
        "dalembert_demo.png"
    ),
) -> None:
    """Simulate mechanisms of the catalogue, print how they went, and draw them."""
    check_output(output, PICTURES)
    from dalembert import demo as content

    console = new_console()
    with console.status("compiling ...") as status:
        results = content.simulate_all(announce=lambda title: status.update(f"{title} ..."))
        status.update("drawing ...")
        with writing(output):
            content.picture(results).savefig(output, dpi=130)
    console.print(content.table(results))
    console.print(f"The picture is in {output}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def problems() -> None:
    """List the catalogue of test problems."""
    table = new_table("name", ">p", ">v", ">r, w, s, x", ">holonomic", ">nonhol.", ">t_end", "description")
    for name, make in catalogue().items():
        problem = make()
        size = problem.model.graph.size
        others = sum(size(kind) for kind in "rwsx")
        row(
            table,
            name,
            *(str(n) for n in (size("p"), size("v"), others, size("lam"), size("mu"))),
            f"{problem.t_end:g}",
            problem.title,
        )
    console = new_console()
    console.print(table)
    console.print("Run one with: dalembert simulate NAME", highlight=False)


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(help="Whose results: geoms, mexx, hem5, corrector, qualidaes.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the figures into this folder.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter intervals and fewer tolerances.")] = False,
) -> None:
    """Print our results beside the published ones of a paper."""
    if plot is not None and plot.exists() and not plot.is_dir():
        raise OptionError(f"'{plot}' is not a folder")
    from dalembert.studies import reproduce as sections

    for section in sections(paper, quick=quick):
        typer.echo(f"{section}\n")
        if plot is not None:
            with writing(plot):
                path = section.save(plot)
            if path is not None:
                typer.echo(f"The picture is in {path}\n")
