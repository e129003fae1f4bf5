"""`Solution.animate`: a result as a moving picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.draw import Columns, Drawing
from dalembert.draw.sketch import sketch
from dalembert.errors import DalembertError, FileError, OptionError
from dalembert.viewer.curves import Plot, plots_of
from dalembert.viewer.measures import is_ball
from dalembert.viewer.page import page, player
from dalembert.viewer.sampling import marks, sampled
from dalembert.viewer.scene import Scene, build

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution
    from dalembert.solution.state_view import StateView

#: frames by default, at least of large scenes, and how many there can be
FRAMES, FEWEST_FRAMES, MOST_FRAMES = 480, 30, 20_000
#: numbers that move, in all frames together, beyond which a scene has fewer frames: some 6 MB of a page
MOST_NUMBERS = 4_000_000
#: seconds that a film lasts by default if the time of the model does not suit
SHORTEST, LONGEST, SECONDS = 2.0, 40.0, 10.0
#: unknowns that are drawn as columns where there is no drawing
MOST_COLUMNS = 16
#: what a name of a file may end with
KINDS = (".html", ".gif", ".mp4", ".png")


class Animation:
    """A result as a moving picture: a page for browsers, or a film.

    Notebooks show it. `save` writes a page (``.html``), a film (``.gif``, or ``.mp4`` with the extra ``video``) or a
    picture (``.png``).

    Attributes
    ----------
    t : array
        Times of the frames.
    path : Path or None
        Where it was written last.

    Examples
    --------
    >>> import dalembert as da
    >>> animation = da.problems.pendulum().simulate().animate()
    >>> animation
    Animation('Pendulum', 480 frames, planar, t = 0 … 2)
    """

    def __init__(
        self, sol: Solution, view: StateView, scene: Scene, plots: list[Plot], *, title: str, speed: float | None
    ):
        self.t = np.asarray(view.t, float)
        self.scene, self.plots, self.title = scene, plots, title
        self.marks = marks(sol)
        self.speed = _speed(self.t) if speed is None else speed
        self.subtitle = f"{sol.method_name}, {sol.stats.accepted} steps" if sol.method else ""
        self.note = ""  # that is shown in the picture
        self.path: Path | None = None

    def __repr__(self) -> str:
        kind = "planar" if self.scene.planar else "spatial"
        return f"Animation({self.title!r}, {len(self.t)} frames, {kind}, t = {self.t[0]:.6g} … {self.t[-1]:.6g})"

    def html(self) -> str:
        """The page as text: it needs nothing besides."""
        return page(self.title, player(self))

    def _repr_html_(self) -> str:
        from html import escape

        frame = "width:100%;height:560px;border:0;border-radius:10px"
        title = escape(self.title, quote=True)
        return f'<iframe title="{title}" style="{frame}" srcdoc="{escape(self.html(), quote=True)}"></iframe>'

    def save(self, path: str | PathLike, **options: Any) -> Animation:
        """Write it; what depends on the name: ``.html``, ``.gif``, ``.mp4`` or ``.png``.

        Parameters
        ----------
        path : path
        **options
            Of films: fps=25, width=640, height=480, dpi=100, seconds (how long it lasts), dark=False, view=(azimuth,
            elevation) in degrees. Of pictures the same and t, the time.
        """
        try:
            path = Path(path)
        except TypeError:
            raise OptionError(f"path={shown(path)} must be the name of a file") from None
        kind = path.suffix.lower()
        if kind not in KINDS:
            raise OptionError(f"path={shown(str(path))}: the name must end with {', '.join(KINDS[:-1])} or {KINDS[-1]}")
        if "\0" in str(path):
            raise OptionError(f"path={shown(str(path))}: names of files cannot contain the character NUL")
        if kind == ".html":
            if options:
                raise OptionError(f"{', '.join(options)}: a page has no such option; films and pictures have them")
            write_page(path, self.html())
        else:
            from dalembert.viewer.film import film

            film(self, path, kind, options)
        self.path = path
        return self


def animate(
    sol: Solution,
    path: str | PathLike | None = None,
    *,
    drawing: Any = None,
    frames: Any = None,
    plots: Any = None,
    title: str | None = None,
    speed: Any = None,
    **options: Any,
) -> Animation:
    """See `Solution.animate`."""
    model = sol.model
    if model is None:
        raise DalembertError(
            "an animation needs the model, and this result has none; use Solution.load(path, model=...)"
        )
    own = sketch_of(model, drawing)
    frames, note = _fitting(own.layout) if frames is None else (_whole("frames", frames), "")
    if speed is not None:
        speed = _positive("speed", speed)
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title={shown(title)} must be text")
    view = sampled(sol, frames)
    title = title or own.layout.name or named(model.name)
    found = Animation(sol, view, scene_of(view, own, model), plots_of(sol, plots), title=title, speed=speed)
    found.note = note if len(found.t) < FRAMES else ""
    if path is not None:
        found.save(path, **options)
    elif options:
        raise OptionError(f"{next(iter(options))}=: there is no such option without a file")
    return found


def sketch_of(model: Any, drawing: Any = None) -> Any:
    """The drawing that was given, or the model's, or columns."""
    if drawing is None:
        drawing = model.drawing
    return sketch(default_drawing(model) if drawing is None else drawing, model)


def scene_of(view: StateView, own: Any, model: Any) -> Scene:
    """What a drawing shows at the points of a view."""
    source: Any = view._output_source()  # a model, or there is nothing to draw

    def evaluate(outputs: Any, name: str) -> np.ndarray:
        return (
            source.values(view, name)
            if outputs is None
            else dataclasses.replace(source, outputs=outputs).values(view, name)
        )

    parameters: Mapping[str, Any] = model.parameters
    return build(own.layout, own.entries(view, evaluate, parameters), len(view.t))


def default_drawing(model: Any) -> Drawing:
    """Of a model that nobody has drawn: its positions, or unknowns, as columns."""
    kind = "p" if model.mechanical else "x"
    return Drawing([Columns(model.names(kind)[:MOST_COLUMNS])])


def _fitting(layout: Any) -> tuple[int, str]:
    """How many frames a drawing has if nobody says so, and what is told of it: pages of large ones stay small."""
    places = sum(len(getattr(part, name)) if isinstance(getattr(part, name), tuple) else 1
                 for part in layout.parts for name in part.places)  # fmt: skip
    numbers = 3 * places + sum(0 if is_ball(body) else 4 for body in layout.bodies)
    frames = max(FEWEST_FRAMES, min(FRAMES, MOST_NUMBERS // max(numbers, 1)))
    note = f"{frames} frames in place of {FRAMES}: {len(layout.bodies) or places} parts move; frames= asks for more"
    return frames, note if frames < FRAMES else ""


def _speed(t: np.ndarray) -> float:
    """Time of the model in a second: its own if that can be watched, otherwise so that it takes some seconds."""
    length = abs(float(t[-1] - t[0]))
    if SHORTEST <= length <= LONGEST or not length:
        return 1.0
    speed = length / SECONDS
    power = 10.0 ** np.floor(np.log10(speed))
    return float(power * min((1, 2, 5, 10), key=lambda n: abs(np.log(n * power / speed))))


def title_of(model: Any) -> str:
    """What the page of a model is called: as its drawing says, or by the name of the model."""
    layout = getattr(model.drawing, "layout", None)
    return getattr(layout, "name", None) or named(model.name)


def named(name: str) -> str:
    """The name of a model for people."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:] or name


def _whole(name: str, value: Any) -> int:
    number = _positive(name, value)
    if number != int(number) or not 2 <= number <= MOST_FRAMES:
        raise OptionError(f"{name}={shown(value)} must be a whole number from 2 to {MOST_FRAMES}")
    return int(number)


def _positive(name: str, value: Any) -> float:
    try:
        number = real(value)
    except NoNumber as reason:
        raise OptionError(f"{name}={shown(value)} {reason}") from None
    if not 0 < number < np.inf:
        raise OptionError(f"{name}={shown(value)} must be positive")
    return number


def write_page(path: Path, text: str) -> None:
    """The text as a file; names may contain halves of characters, which no file can hold."""
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except (OSError, ValueError) as error:  # of names that the system does not take
        if isinstance(error, ValueError):
            raise FileError(f"{shown(str(path))}: cannot be written: {error}") from error
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from error
