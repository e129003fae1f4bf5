"""Published results beside ours: `reproduce("geoms")` computes anew what a paper shows in its tables and figures.

A reproduction is a function of `quick` that yields sections; it joins by being named in `REPRODUCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .work_precision import _known


@dataclass(frozen=True, kw_only=True)
class Section:
    """What is comparable with one or more tables or figures of a paper."""

    title: str
    table: str  # aligned text
    remark: str = ""  # what the paper says about it, and how far ours is comparable
    picture: str | None = None  # name of the file, without folder
    draw: Callable[[Path], object] | None = None  # into that file

    def __str__(self) -> str:
        line = "-" * len(self.title)
        return "\n".join(part for part in (self.title, line, self.table, self.remark) if part)

    def save(self, folder: str | Path) -> Path | None:
        """Draw into the folder, which is made if it is missing; the file, or None if there is nothing to draw."""
        if self.draw is None or self.picture is None:
            return None
        path = Path(folder) / self.picture
        path.parent.mkdir(parents=True, exist_ok=True)
        self.draw(path)
        return path


def _geoms(quick: bool) -> Iterator[Section]:
    from .reproduce_geoms import sections  # at first use: it needs this module

    return sections(quick)


def _mexx(quick: bool) -> Iterator[Section]:
    from .reproduce_mexx import sections

    return sections(quick)


def _hem5(quick: bool) -> Iterator[Section]:
    from .reproduce_hem5 import sections

    return sections(quick)


def _corrector(quick: bool) -> Iterator[Section]:
    from .reproduce_corrector import sections

    return sections(quick)


def _qualidaes(quick: bool) -> Iterator[Section]:
    from .reproduce_qualidaes import sections

    return sections(quick)


#: Reproductions by the name of the paper's method.
REPRODUCTIONS: dict[str, Callable[[bool], Iterator[Section]]] = {
    "geoms": _geoms,
    "mexx": _mexx,
    "hem5": _hem5,
    "corrector": _corrector,
    "qualidaes": _qualidaes,
}


def reproduce(name: str, *, quick: bool = False) -> Iterator[Section]:
    """Compute the tables and figures of a paper, section by section.

    Parameters
    ----------
    name : a name of `REPRODUCTIONS`
    quick : shorter intervals and fewer tolerances, where the paper's take long

    Examples
    --------
    >>> from dalembert.studies import reproduce
    >>> print(next(reproduce("geoms", quick=True)).title)
    Tables 3 and 4: pendulum, counters of GEOMS(psfEoM)
    """
    return REPRODUCTIONS[_known("reproduction", name, REPRODUCTIONS)](quick)
