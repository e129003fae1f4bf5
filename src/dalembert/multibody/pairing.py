"""Which features of two shapes can touch: for every pair of pieces a function that lists them.

The smallest gap of all features of a pair is the distance of the two pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.features import (
    CornerCavity,
    CornerCuboid,
    CornerPlane,
    CornerPolygon,
    CornerRound,
    Crossing,
    Feature,
    Swapped,
)
from dalembert.multibody.pieces import Cavity, Corners, Cuboid, HalfSpace, Piece, Polygon, Round, pieces
from dalembert.multibody.shapes import Shape

Lister = Callable[[str, Any, Any, bool], list[Feature]]


def contacts_between(a: Shape, b: Shape, *, planar: bool = False, where: str = "contact") -> list[Feature]:
    """All features in which two shapes can touch; each has `touch(A, B)`, the gap for two motions of their frames.

    Raises
    ------
    ModelError
        If there are no contacts of such shapes, or normals would not be defined. It begins with `where`.

    Examples
    --------
    >>> import dalembert as da
    >>> len(contacts_between(da.Box((1, 1, 1)), da.Plane()))
    8
    """
    found: dict[Feature, None] = {}  # corners that two pieces share come once
    for one in pieces(where, a, planar):
        for two in pieces(where, b, planar):
            found |= dict.fromkeys(_of_pieces(where, one, two, planar))
    return list(found)


def _of_pieces(where: str, a: Piece, b: Piece, planar: bool) -> list[Feature]:
    make, turned = _LISTERS.get((type(a), type(b))), _LISTERS.get((type(b), type(a)))
    if make is not None:
        return make(where, a, b, planar)
    if turned is not None:
        return [Swapped(feature) for feature in turned(where, b, a, planar)]
    hint = "; put spheres (da.Sphere) at the corners of one of them" if isinstance(a, Cuboid | Corners) else ""
    place = "in the plane" if planar else "in space"
    raise ModelError(f"{where}: contacts of a {a.what} with a {b.what} {place} are not known{hint}")


def _on_plane(where: str, a: Any, b: HalfSpace, planar: bool) -> list[Feature]:
    sides = (_tuple(b.tangents[0]), _tuple(b.tangents[1]))
    return [CornerPlane(_tuple(x), a.radius, _tuple(b.point), _tuple(b.normal), sides) for x in a.corners]


def _in_cavity(where: str, a: Any, b: Cavity, planar: bool) -> list[Feature]:
    reach = np.linalg.norm(a.corners - a.corners.mean(axis=0), axis=1).max() + a.radius
    if reach >= b.radius:
        raise ModelError(
            f"{where}: the {a.what} reaches {reach:g} from its middle and does not fit into the {b.what} of radius "
            f"{b.radius:g}"
        )
    return [CornerCavity(_tuple(x), a.radius, _tuple(b.center), b.radius) for x in a.corners]


def _rounds(where: str, a: Round, b: Round, planar: bool) -> list[Feature]:
    _thick(where, a, b)
    if len(b.corners) < len(a.corners):
        return [Swapped(feature) for feature in _rounds(where, b, a, planar)]
    found = _ends(a, b)
    if len(a.corners) == 2:
        found += [Swapped(feature) for feature in _ends(b, a)]
        if not planar:
            ends = [_tuple(x.corners[0]) for x in (a, b)]
            along, lengths = zip(*(_line(x) for x in (a, b)), strict=True)
            found.append(Crossing(tuple(ends), along, lengths, (a.radius, b.radius)))
    return found


def _ends(a: Any, b: Round) -> list[Feature]:
    """Corners of the first piece against the second, which is a point or a line."""
    along, length = _line(b)
    return [CornerRound(_tuple(x), a.radius, _tuple(b.corners[0]), along, length, b.radius) for x in a.corners]


def _line(a: Round) -> tuple[Any, float]:
    if len(a.corners) == 1:
        return None, 0.0
    step = a.corners[1] - a.corners[0]
    length = float(np.linalg.norm(step))
    return _tuple(step / length), length


def _round_polygon(where: str, a: Round, b: Polygon, planar: bool) -> list[Feature]:
    found = _against(a, b, ())
    if len(a.corners) == 2:
        _thick(where, a, b)
        found += [Swapped(feature) for feature in _ends(b, a)]
    return found


def _polygons(where: str, a: Polygon, b: Polygon, planar: bool) -> list[Feature]:
    return _against(a, b, _sides(a)) + [Swapped(feature) for feature in _against(b, a, _sides(b))]


def _sides(a: Polygon) -> list[tuple]:
    """Of each corner the directions of the two edges that leave it."""
    along = a.edges[0]
    return [(_tuple(one), _tuple(-two)) for one, two in zip(along, np.roll(along, 1, axis=0), strict=True)]


def _against(a: Any, b: Polygon, sides: Any) -> list[Feature]:
    """Corners of the first piece against the polygon."""
    along, lengths, normals = b.edges
    edges = (
        tuple(map(_tuple, b.corners)),
        tuple(map(_tuple, along)),
        tuple(lengths.tolist()),
        tuple(map(_tuple, normals)),
    )
    sides = sides or [()] * len(a.corners)
    return [CornerPolygon(_tuple(x), a.radius, side, *edges) for x, side in zip(a.corners, sides, strict=True)]


def _ball_box(where: str, a: Round, b: Cuboid, planar: bool) -> list[Feature]:
    if len(a.corners) > 1:
        raise ModelError(
            f"{where}: contacts of a {a.what} with a {b.what} in space are not known; take spheres along it"
        )
    axes = tuple(_tuple(axis) for axis in b.axes.T)
    return [CornerCuboid(_tuple(a.corners[0]), a.radius, _tuple(b.center), axes, _tuple(b.half))]


def _thick(where: str, a: Any, b: Any) -> None:
    if a.radius + b.radius == 0.0:
        raise ModelError(
            f"{where}: {a.what} and {b.what} both have no thickness, so that there are no normals where they touch; "
            "take da.Capsule or da.Sphere for one of them"
        )


def _tuple(x: np.ndarray) -> tuple[float, ...]:
    return tuple(x.tolist())


_LISTERS: dict[tuple[type, type], Lister] = {
    **{(kind, HalfSpace): _on_plane for kind in (Round, Polygon, Cuboid, Corners)},
    **{(kind, Cavity): _in_cavity for kind in (Round, Polygon, Cuboid, Corners)},
    (Round, Round): _rounds,
    (Round, Polygon): _round_polygon,
    (Polygon, Polygon): _polygons,
    (Round, Cuboid): _ball_box,
}
