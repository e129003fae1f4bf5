"""The gallery: a page for each problem of the catalogue and each example, with a picture and a live animation."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dalembert as da

if TYPE_CHECKING:
    from docs.builder.stage import Stage

EXAMPLES = Path(__file__).parents[2] / "examples"
#: catalogues by their titles
CATALOGUES = {
    "Mechanisms": "catalogue",
    "Bodies and joints": "catalogue_multibody",
    "Contact": "catalogue_contact",
    "Many bodies, long times": "catalogue_large",
    "Singular positions, redundant constraints": "catalogue_singular",
    "Other differential-algebraic equations": "catalogue_quasi_linear",
}
#: of problems that the method chosen by default cannot finish
METHODS = {"four_bar_chain": 'da.Geoms(singular="step over")'}
#: scripts in examples/ that are none
NO_EXAMPLES = ("make_docs_images",)
#: where in time a picture is taken, by share of the whole
MOMENT = 0.37
SIZE = {"width": 400, "height": 300}


@dataclass(frozen=True)
class Choice:
    """What a gallery holds; None: everything."""

    problems: tuple[str, ...] | None = None
    examples: tuple[str, ...] | None = None


EVERYTHING = Choice()


@dataclass(frozen=True)
class Card:
    """One entry of the gallery."""

    name: str
    title: str
    page: str  # its text, in Markdown
    picture: bytes
    animation: bytes | None
    drawn: bytes | None = None  # what an example draws


def problems(choice: Choice = EVERYTHING) -> dict[str, dict[str, Callable]]:
    """Functions that make problems, by catalogue and name; each problem once.

    >>> "andrews" in problems()["Mechanisms"], "woodpecker" in problems()["Contact"]
    (True, True)
    """
    seen: set[str] = set()
    found: dict[str, dict[str, Callable]] = {}
    for title, catalogue in CATALOGUES.items():
        for name, make in getattr(da.problems, catalogue)().items():
            if name not in seen and (choice.problems is None or name in choice.problems):
                found.setdefault(title, {})[name] = make
                seen.add(name)
    return found


def examples(choice: Choice = EVERYTHING) -> list[Path]:
    """The scripts."""
    scripts = (path for path in sorted(EXAMPLES.glob("*.py")) if path.stem not in NO_EXAMPLES)
    return [path for path in scripts if choice.examples is None or path.stem in choice.examples]


def stage(here: Stage, beside: Stage, cache: Path, fingerprint: str, choice: Choice, say: Callable) -> None:
    """Put the pages of the gallery and their files where Sphinx finds them."""
    sections: dict[str, list[Card]] = {}
    for script in examples(choice):
        sections.setdefault("Examples", []).append(
            _kept(cache / fingerprint[:24] / f"example_{script.stem}", lambda script=script: example_card(script), say)
        )
    for title, makers in problems(choice).items():
        for name, make in makers.items():
            place = cache / fingerprint[:24] / name
            card = _kept(place, lambda name=name, make=make: problem_card(name, make), say)
            sections.setdefault(title, []).append(card)
    for card in (card for cards in sections.values() for card in cards):
        here.text(f"gallery/{card.name}.md", card.page)
        beside.bytes(f"gallery/{card.name}.png", card.picture)
        if card.animation is not None:
            beside.bytes(f"gallery/{card.name}_animation.html", card.animation)
        if card.drawn is not None:
            beside.bytes(f"gallery/{card.name}_drawn.png", card.drawn)
    here.text("gallery/index.md", overview(sections))
    for old in cache.iterdir() if cache.exists() else ():
        if old.name != fingerprint[:24]:
            shutil.rmtree(old)


def _kept(place: Path, make: Callable[[], Card], say: Callable) -> Card:
    """A card from the cache, or a new one."""
    files = {"picture": place / "picture.png", "animation": place / "animation.html", "drawn": place / "drawn.png"}
    try:
        told = json.loads((place / "card.json").read_text(encoding="utf-8"))
        return Card(**told, **{what: path.read_bytes() if path.exists() else None for what, path in files.items()})
    except (OSError, ValueError, TypeError):
        say(f"gallery: {place.name}")
    card = make()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for what, path in files.items():
        if getattr(card, what) is not None:
            path.write_bytes(getattr(card, what))
    told = json.dumps({"name": card.name, "title": card.title, "page": card.page})
    (place / "card.json").write_text(told, encoding="utf-8")
    return card


def problem_card(name: str, make: Callable) -> Card:
    """Simulate a problem, and describe how that went."""
    problem = make()
    method = METHODS.get(name)
    sol = problem.simulate(**({"method": eval(method)} if method else {}))
    picture, animation = _pictures(sol)
    code = ["import dalembert as da", "", f"problem = da.problems.{make.__name__}()"]
    code += [f"sol = problem.simulate({f'method={method}' if method else ''})", f'sol.animate("{name}.html")']
    text = [f"# {problem.title}", "", _frame(name), "", "```python", *code, "```", "", *_facts(problem, sol), ""]
    text += ["```{eval-rst}", f".. autofunction:: dalembert.problems.{make.__name__}", "```"]
    return Card(name, problem.title, "\n".join(text) + "\n", picture, animation)


def _facts(problem: Any, sol: Any) -> list[str]:
    """A table of the model and of the run."""
    rows = {"model": f"`{problem.model!r}`"}
    rows["method"] = f"`{sol.method}`, {sol.stats.accepted} steps to t = {sol.t[-1]:g}"
    if problem.reference is not None:
        rows["error"] = f"{problem.error(sol):.1e} at tolerances 1e-6 and 1e-8; reference: {problem.reference.source}"
    return ["| | |", "|---|---|", *(f"| {what} | {_cell(told)} |" for what, told in rows.items())]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def example_card(script: Path) -> Card:
    """Run an example as a user would, with the name of a picture, and look at the result that it leaves."""
    source = script.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(source)) or script.stem
    title, _, rest = about.partition("\n")
    with tempfile.TemporaryDirectory() as folder:
        space, printed = _run(script, Path(folder) / "picture.png")
        picture = (Path(folder) / "picture.png").read_bytes()
    sol = _result(space)
    name, short = f"example_{script.stem}", _short(title)  # problems may have the same name
    text = [f"# {short}", "", title if short != title else "", "", _prose(rest), ""]
    if sol is not None:
        text += [_frame(name), ""]
    text += ["```{raw} html", f'<p><img class="shown" src="{name}_drawn.png" alt="{escape(short)}"></p>', "```", ""]
    text += ["## The script", "", "```python", source.rstrip(), "```", "", "## What it prints", "", "```text"]
    text += [*_head(printed.rstrip().splitlines()), "```"]
    moving = None if sol is None else _pictures(sol)
    return Card(name, short, "\n".join(text) + "\n", *(moving or (picture, None)), drawn=picture)


def _run(script: Path, picture: Path) -> tuple[dict, str]:
    arguments, path, out = sys.argv, list(sys.path), io.StringIO()
    sys.argv, sys.path = [str(script), str(picture)], [str(script.parent), *path]
    try:
        with contextlib.redirect_stdout(out):
            space = runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path = arguments, path
    return space, out.getvalue()


def _result(space: dict) -> Any:
    """The solution that an example leaves as `sol`, if its model has a drawing."""
    sol = space.get("sol")
    return sol if sol is not None and getattr(sol.model, "drawing", None) is not None else None


def _short(title: str) -> str:
    """What stands before the colon."""
    return title.partition(":")[0].rstrip(".?") if ":" in title else title.rstrip(".")


def _prose(text: str) -> str:
    """Indented lines of a docstring are commands."""

    def block(found: re.Match) -> str:
        return "```sh\n" + re.sub("(?m)^ {4}", "", found[1]).rstrip() + "\n```\n"

    return re.sub(r"(?m)((?:^ {4}.*\n?)+)", block, text)


def _head(lines: list[str], most: int = 40) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], "…"]


def _pictures(sol: Any) -> tuple[bytes, bytes]:
    """A picture and the page of a solution."""
    animation = sol.animate()
    t = float(sol.t[0] + MOMENT * (sol.t[-1] - sol.t[0]))
    with tempfile.TemporaryDirectory() as folder:
        animation.save(Path(folder) / "picture.png", t=t, **SIZE)
        return (Path(folder) / "picture.png").read_bytes(), animation.html().encode()


def _frame(name: str) -> str:
    address = f"{name}_animation.html"
    return (
        f'```{{raw}} html\n<figure class="live animation"><iframe src="{address}" title="{name}" loading="lazy">'
        f'</iframe><figcaption><a href="{address}">the animation as a page of its own</a></figcaption></figure>\n```'
    )


def overview(sections: dict[str, list[Card]]) -> str:
    """The first page of the gallery."""
    text = ["# Gallery", "", "Every picture leads to a page with a live animation and the code that makes it.", ""]
    for title, cards in sections.items():
        text += [f"## {title}", "", "```{raw} html", '<div class="cards">']
        for card in cards:
            text.append(
                f'<a class="card" href="{card.name}.html"><img src="{card.name}.png" alt="" loading="lazy">'
                f"<span>{escape(card.title)}</span></a>"
            )
        text += ["</div>", "```", ""]
    names = [card.name for cards in sections.values() for card in cards]
    text += ["```{toctree}", ":hidden:", "", *names, "```"]
    return "\n".join(text) + "\n"
