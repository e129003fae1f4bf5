"""The parts that drawings consist of.

A *place* is where something is: two or three entries, each a number, the name of a variable, parameter or output, or a
function of the namespace; or one function that returns them all; or the name of a vector output; or the name of one of
the drawing's `points`; or a point that is fixed `On` a body of the drawing.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dalembert.checks import shown
from dalembert.draw.checks import checked, names
from dalembert.errors import ModelError

#: what arrows stand for; each kind can be shown and hidden, and has a scale of its own
ARROWS = ("force", "contact", "velocity")


class Part:
    """Base of all parts. `places`, `numbers`, `vectors` and `rotations` name the fields that move."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    places: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[tuple[str, ...]] = ()
    vectors: ClassVar[tuple[str, ...]] = ()
    rotations: ClassVar[tuple[str, ...]] = ()
    noun: ClassVar[str] = "part"


@dataclass(frozen=True, eq=False)
class On:
    """A place that is fixed to a `Body` of the drawing: its name, and the point in its frame."""

    body: str
    at: Any = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Link(Part):
    """A bar between two places. `width` is in units of length; by default it suits the size of the picture."""

    first: Any
    second: Any
    width: float | None = None
    color: Any = None
    places = ("first", "second")
    noun = "link"


@dataclass(frozen=True, eq=False)
class Spring(Part):
    """A spring between two places."""

    first: Any
    second: Any
    coils: int = 8
    width: float | None = None  # its diameter
    color: Any = None
    places = ("first", "second")
    noun = "spring"


@dataclass(frozen=True, eq=False)
class Path(Part):
    """A line through several places; a surface if it is `filled`."""

    through: Sequence[Any]
    closed: bool = False
    filled: bool = False
    width: float | None = None
    color: Any = None
    places = ("through",)
    noun = "path"


@dataclass(frozen=True, eq=False)
class Dot(Part):
    """A point. `radius` is in units of length; without it the dot is as small as a joint."""

    at: Any
    radius: float | None = None
    color: Any = None
    places = ("at",)
    noun = "dot"


@dataclass(frozen=True, eq=False)
class Pin(Part):
    """A bearing that is fixed to the ground."""

    at: Any
    places = ("at",)
    noun = "pin"


@dataclass(frozen=True, eq=False)
class Body(Part):
    """Shapes that move together.

    Parameters
    ----------
    at : place
        Origin of the body's frame.
    shape : a shape or several, such as ``da.Box(...)``
    angle : number, name or function, optional
        Of the body in the plane.
    rotation : function or sequence, optional
        In space: a 3×3 matrix, or four Euler parameters (the scalar first).
    name : str, optional
        By which points can be fixed `On` it.
    """

    at: Any
    shape: Any = ()
    angle: Any = None
    rotation: Any = None
    name: str | None = None
    color: Any = None
    places = ("at",)
    numbers = ("angle",)
    rotations = ("rotation",)
    noun = "body"


@dataclass(frozen=True, eq=False)
class Fixed(Part):
    """Shapes that do not move: the ground."""

    shape: Any
    color: Any = None
    noun = "fixed shape"


@dataclass(frozen=True, eq=False)
class Trace(Part):
    """The way that a place has taken."""

    at: Any
    color: Any = None
    places = ("at",)
    noun = "trace"


@dataclass(frozen=True, eq=False)
class Arrow(Part):
    """A vector at a place. All of one `kind` ("force", "contact", "velocity") have the same scale."""

    at: Any
    vector: Any
    kind: str = "force"
    color: Any = None
    name: str | None = None
    places = ("at",)
    vectors = ("vector",)
    noun = "arrow"


@dataclass(frozen=True, eq=False)
class Label(Part):
    """A text at a place."""

    at: Any
    text: str
    places = ("at",)
    noun = "label"


@dataclass(frozen=True, eq=False)
class Columns(Part):
    """Values as columns side by side, for what has no shape: voltages, concentrations."""

    values: Sequence[Any]
    labels: Sequence[str] | None = None
    numbers = ("values",)
    noun = "row of columns"


@dataclass(frozen=True, eq=False)
class Drawing:
    """What a model looks like.

    Parameters
    ----------
    parts : sequence of parts
    points : mapping, optional
        Places by name.
    up : {"x", "y", "z"}, optional
        Which way is up in space. Default: z.
    name : str, optional
        Title of the picture.
    follow : bool, optional
        Whether the camera goes along. Default: if the mechanism goes far away.

    Examples
    --------
    >>> import dalembert as da
    >>> crank = da.draw.Drawing(
    ...     [da.draw.Pin("O"), da.draw.Link("O", "A"), da.draw.Dot("A"), da.draw.Trace("A")],
    ...     points={"O": (0, 0), "A": ("x", "y")})
    >>> crank
    Drawing(1 pin, 1 link, 1 dot, 1 trace)
    """

    parts: Sequence[Part]
    points: Mapping[str, Any] = field(default_factory=dict)
    up: str = "z"
    name: str | None = None
    follow: bool | None = None

    def __post_init__(self) -> None:
        faults: list[str] = []
        given = (self.parts,) if isinstance(self.parts, Part) else self.parts
        if not isinstance(given, list | tuple):
            raise ModelError(f"a drawing is a list of parts such as da.draw.Link(...), not {shown(given)}")
        parts = []
        for number, part in enumerate(given, 1):
            if not isinstance(part, Part):
                faults.append(f"part {number}, {shown(part)}, is none; take those of da.draw, as da.draw.Link(...)")
                continue
            where = f"{part.noun} {number}"
            if isinstance(part, Arrow) and not (type(part.kind) is str and part.kind in ARROWS):
                faults.append(f"{where}: kind={shown(part.kind)} of an arrow must be one of {', '.join(ARROWS)}")
            parts.append(checked(part, where, faults))
        if not names(self.points):
            faults.append(f"points={shown(self.points)} must be a mapping of names to places")
        if not (type(self.up) is str and self.up in ("x", "y", "z")):
            faults.append(f"up={shown(self.up)} must be 'x', 'y' or 'z'")
        if self.name is not None and type(self.name) is not str:
            faults.append(f"name={shown(self.name)} must be text")
        if self.follow is not None and not isinstance(self.follow, bool):
            faults.append(f"follow={shown(self.follow)} must be True, False or None")
        if faults:
            raise ModelError("this drawing has faults", faults)
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "points", dict(self.points))

    def __repr__(self) -> str:
        return f"Drawing({counted(self.parts)})"


def counted(parts: Sequence[Part]) -> str:
    """How many parts of which kind."""
    counts = Counter(part.noun for part in parts)
    plural = {"body": "bodies", "row of columns": "rows of columns"}
    return ", ".join(f"{n} {noun if n == 1 else plural.get(noun, noun + 's')}" for noun, n in counts.items()) or "empty"
