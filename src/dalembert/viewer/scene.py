"""From a drawing and a result to a scene: parts that point at channels, functions of time.

A scene is data for whoever draws it, the page or the maker of films. Points are given in three ways: ``{"c": [i, j]}``
by channels, ``{"x": [x, y]}`` at rest, ``{"b": body, "at": [x, y]}`` fixed to a body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from dalembert.draw import parts as of_drawings
from dalembert.draw.sketch import Layout, OnBody
from dalembert.errors import ModelError
from dalembert.multibody.boundaries import Plane
from dalembert.multibody.shapes import Line
from dalembert.viewer.bounds import Bounds
from dalembert.viewer.encode import Channel
from dalembert.viewer.geometry import Surface, helix, outline, quaternion, steady, surface, turned
from dalembert.viewer.measures import css_color, extent, held_values, is_ball, listed, rounded, short

#: parts of the size of a scene: how fine positions must be, and how long the longest arrow of a kind is
FINE, ARROW = 1 / 8000, 0.22
#: of angles, in radians, and of Euler parameters
FINE_ANGLE = 1e-3


@dataclass
class Scene:
    """What is drawn, and the channels that move it."""

    planar: bool
    up: str = "z"
    bodies: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    channels: list[Channel] = field(default_factory=list)
    surfaces: dict[str, Surface] = field(default_factory=dict)
    box: tuple[Sequence[float], Sequence[float]] = ((), ())  # of everything at all times
    size: float = 1.0  # of the mechanism itself
    reach: list[float] = field(default_factory=list)  # how far it extends from its middle
    centre: list[int] = field(default_factory=list)  # channels of its middle
    follow: bool = False
    scales: dict[str, float] = field(default_factory=dict)  # of arrows: length over size of the vector
    quiet: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return 2 if self.planar else 3

    def values(self, place: dict[str, Any], count: int) -> np.ndarray:
        """A place over time, (N, width)."""
        if "x" in place:
            return np.tile(place["x"], (count, 1)).astype(float)
        if "c" in place:
            return np.stack([self.channels[k].values for k in place["c"]], -1)
        at = np.array(place["at"], float)
        if place["b"] < 0:
            return np.tile(at[: self.width], (count, 1))
        pose = np.stack([self.channels[k].values for k in self.bodies[place["b"]]["c"]], -1)
        if self.planar:
            c, s = np.cos(pose[:, 2]), np.sin(pose[:, 2])
            return pose[:, :2] + np.stack([c * at[0] - s * at[1], s * at[0] + c * at[1]], -1)
        return pose[:, :3] + turned(pose[:, 3:], at)


def build(layout: Layout, entries: list[np.ndarray], count: int) -> Scene:
    """The scene of a layout whose entries have these values at `count` moments."""
    return _Builder(layout, entries, count).scene


class _Builder:
    def __init__(self, layout: Layout, entries: list[np.ndarray], count: int):
        self.layout, self.count = layout, count
        self.entries = [held_values(entry) for entry in entries]
        planar = layout.planar
        if planar is None:
            planar = not any(self._is_spatial(part) for part in layout.parts)
        self.scene = Scene(planar, layout.up, quiet=layout.quiet)
        self._known: dict[Any, int] = {}
        self._shapes: dict[Any, Any] = {}
        refs = [ref for part in layout.parts for name in part.places for ref in listed(getattr(part, name))]
        held = {ref.body for ref in refs if isinstance(ref, OnBody) and any(ref.at)}
        for number, body in enumerate(layout.bodies):
            self._body(body, turns=number in held or not is_ball(body))
        self._measure()
        self._drawn = 0  # bodies that have an item already
        for part in layout.parts:
            self._part(part)

    def _is_spatial(self, part: of_drawings.Part) -> bool:
        if isinstance(part, of_drawings.Body) and part.rotation is not None:
            return True
        refs = [ref for name in part.places for ref in listed(getattr(part, name))]
        return any(isinstance(ref, int) and self.entries[ref].shape[1:] == (3,) for ref in refs)

    # -- channels --------------------------------------------------------------------------------------------------

    def _channel(self, values: np.ndarray, fine: float = 0.0) -> int:
        constant = bool((values == values[0]).all())
        key = ("constant", float(values[0])) if constant else blake2b(values.tobytes(), digest_size=16).digest()
        if key not in self._known:
            self._known[key] = len(self.scene.channels)
            self.scene.channels.append(Channel(np.array(values, float), fine))
        return self._known[key]

    def _point(self, ref: Any) -> np.ndarray:
        """Values of an entry as points of the scene's width."""
        values, width = self.entries[ref], self.scene.width
        if values.ndim != 2 or values.shape[1] not in (2, 3):
            raise ModelError(f"a place of the drawing has the shape {values.shape[1:]}; it needs two or three entries")
        if values.shape[1] < width:
            values = np.column_stack([values, np.zeros(len(values))])
        return values[:, :width]

    def _number(self, ref: int) -> np.ndarray:
        """Values of an entry that is one number."""
        values = self.entries[ref]
        if values.size != self.count:
            raise ModelError(f"an angle or column of the drawing has the shape {values.shape[1:]}; it must be a number")
        return values.reshape(self.count)

    def _place(self, ref: Any) -> dict[str, Any]:
        if isinstance(ref, OnBody):
            return {"b": ref.body, "at": [short(x) for x in ref.at[: self.scene.width]]}
        return self._placed(self._point(ref))

    def _placed(self, values: np.ndarray) -> dict[str, Any]:
        if (values == values[0]).all():
            return {"x": [short(x) for x in values[0]]}
        return {"c": [self._channel(column, self.scene.size * FINE) for column in values.T]}

    # -- bodies ----------------------------------------------------------------------------------------------------

    def _body(self, body: of_drawings.Body, *, turns: bool) -> None:
        """A ball in space looks the same however it is turned: that need not be stored."""
        scene = self.scene
        at = self._point(body.at) if not isinstance(body.at, OnBody) else scene.values(self._place(body.at), self.count)
        if scene.planar:
            angle = np.zeros(self.count) if body.angle is None else self._number(body.angle)
            columns = [*at.T, angle]
        else:
            rotation = self._rotation(body) if turns else np.tile([1.0, 0.0, 0.0, 0.0], (self.count, 1))
            columns = [*at.T, *rotation.T]
        shapes = [found for shape in body.shape if (found := self._shape(shape, body.color)) is not None]
        if scene.planar and np.ptp(angle):  # a radius shows that a disc turns
            shapes = [shape | {"turns": 1} if "circle" in shape else shape for shape in shapes]
        channels = [self._channel(c, FINE_ANGLE if k >= scene.width else 0.0) for k, c in enumerate(columns)]
        scene.bodies.append({"name": body.name or f"body {len(scene.bodies) + 1}", "c": channels, "shapes": shapes})

    def _rotation(self, body: of_drawings.Body) -> np.ndarray:
        if body.rotation is None:
            angle = np.zeros(self.count) if body.angle is None else self._number(body.angle)
            zero = 0 * angle
            return steady(np.stack([np.cos(angle / 2), zero, zero, np.sin(angle / 2)], -1))
        values = self.entries[body.rotation]
        if values.shape[1:] == (3, 3):
            return steady(quaternion(values))
        if values.shape[1:] != (4,):
            raise ModelError(
                f"the rotation of {body.name or 'a body'} in the drawing has the shape {values.shape[1:]}; it needs a "
                "3×3 matrix or four Euler parameters"
            )
        return steady(values / np.linalg.norm(values, axis=1, keepdims=True))

    def _shape(self, shape: Any, color: Any = None) -> dict[str, Any] | None:
        """A shape as it is drawn; thousands of bodies may share one."""
        key = (id(shape), str(color))
        if key not in self._shapes:
            self._shapes[key] = self._drawn_shape(shape, color)
        return self._shapes[key]

    def _drawn_shape(self, shape: Any, color: Any) -> dict[str, Any] | None:
        found = {"color": css_color(color if shape.color is None else shape.color)}
        if self.scene.planar:
            drawn = outline(shape)
            return None if drawn is None else found | drawn
        place = {"at": rounded(shape.position), "q": rounded(quaternion(shape.rotation))}
        if isinstance(shape, Line):
            return found | {"line": [rounded(shape.position + shape.rotation @ point) for point in shape.points]}
        if isinstance(shape, Plane):
            normal = shape.rotation @ shape.outward(False)
            return found | {"half": rounded(normal), "at": rounded(shape.position)}
        solid = surface(shape)
        if solid is None:
            return None
        name, factors, triangles = solid
        self.scene.surfaces.setdefault(name, triangles)
        hollow = {"hollow": 1} if type(shape).__name__ == "HollowSphere" else {}
        return found | place | {"mesh": name, "scale": rounded(factors)} | hollow

    # -- size ------------------------------------------------------------------------------------------------------

    def _measure(self) -> None:
        scene, width = self.scene, self.scene.width
        bounds = Bounds(self.count, width)
        for number in range(len(scene.bodies)):
            self._around_body(bounds, number)
        for part in self.layout.parts:
            self._around_part(bounds, part)
        level = [k for k in range(width) if "xyz"[k] != ("y" if scene.planar else scene.up)]
        measures = bounds.measured(level, self.layout.follow)
        scene.box, scene.size, scene.reach, scene.follow = measures.box, measures.size, measures.reach, measures.follow
        scene.centre = [self._channel(column, scene.size * FINE) for column in measures.middle.T]
        for body in scene.bodies:  # how fine they have to be is known only now
            for k in body["c"][:width]:
                scene.channels[k] = Channel(scene.channels[k].values, scene.size * FINE)

    def _around_body(self, bounds: Bounds, number: int) -> None:
        scene, width = self.scene, self.scene.width
        body, given = scene.bodies[number], self.layout.bodies[number]
        if is_ball(given):
            at = np.stack([scene.channels[k].values for k in body["c"][:width]], -1)
            bounds.add(at, max(shape.radius for shape in given.shape))
            return
        boxes = [box for shape in body["shapes"] if (box := extent(shape, width, scene.surfaces)) is not None]
        low = np.min([b[0] for b in boxes] or [[0.0] * width], axis=0)
        high = np.max([b[1] for b in boxes] or [[0.0] * width], axis=0)
        at = scene.values({"b": number, "at": [0.0] * width}, self.count)
        directions = np.eye(width).tolist()
        axes = np.stack([scene.values({"b": number, "at": one}, self.count) - at for one in directions], -1)
        bounds.add_box(low, high, at, axes)

    def _around_part(self, bounds: Bounds, part: of_drawings.Part) -> None:
        scene, width, count = self.scene, self.scene.width, self.count
        if isinstance(part, of_drawings.Body | of_drawings.Arrow):
            return
        radius, places = float(getattr(part, "radius", None) or 0.0), []
        for ref in (ref for name in part.places for ref in listed(getattr(part, name))):
            places.append(scene.values(self._at_first(ref), count) if isinstance(ref, OnBody) else self._point(ref))
        if isinstance(part, of_drawings.Path) and all((values == values[0]).all() for values in places):
            points = np.array([values[0] for values in places])  # a road, a rail: as large as it may be
            bounds.fixed.append((points.min(axis=0), points.max(axis=0)))
            return
        for values in places:
            bounds.add(values, radius)
        if isinstance(part, of_drawings.Columns):
            for corner in chart(np.stack([self._number(k) for k in part.values], -1)).corners:
                bounds.add(np.tile(corner, (count, 1)))
        if isinstance(part, of_drawings.Fixed):
            for shape in part.shape:
                drawn = self._shape(shape)
                box = None if drawn is None else extent(drawn, width, scene.surfaces)
                if isinstance(shape, Plane):  # of a plane without end the point below everything
                    normal = (shape.rotation @ shape.outward(scene.planar))[:width]
                    foot = bounds.middle - normal * float(normal @ (bounds.middle - shape.position[:width]))
                    box = (foot, foot)
                if box is not None:
                    bounds.fixed.append(box)

    def _at_first(self, ref: OnBody) -> dict[str, Any]:
        return {"b": ref.body, "at": list(ref.at[: self.scene.width])}

    # -- parts -----------------------------------------------------------------------------------------------------

    def _part(self, part: of_drawings.Part) -> None:
        items, kind = self.scene.items, part.noun
        color = css_color(getattr(part, "color", None))
        if isinstance(part, of_drawings.Fixed):
            shapes = [found for one in part.shape if (found := self._shape(one, part.color)) is not None]
            items.append({"kind": "fixed", "shapes": shapes})
        elif isinstance(part, of_drawings.Body):
            items.append({"kind": "body", "b": self._drawn})
            self._drawn += 1
        elif isinstance(part, of_drawings.Link | of_drawings.Spring):
            item = {"kind": kind, "a": self._place(part.first), "b": self._place(part.second), "width": part.width}
            if isinstance(part, of_drawings.Spring):
                item["coils"] = int(part.coils)
                if not self.scene.planar:
                    self.scene.surfaces.setdefault(f"helix {part.coils}", helix(int(part.coils)))
            items.append(item | {"color": color})
        elif isinstance(part, of_drawings.Path):
            through = [self._place(ref) for ref in part.through]
            item = {"kind": kind, "through": through, "closed": part.closed, "filled": part.filled}
            items.append(item | {"width": part.width, "color": color})
        elif isinstance(part, of_drawings.Dot):
            items.append({"kind": kind, "at": self._place(part.at), "radius": part.radius, "color": color})
        elif isinstance(part, of_drawings.Pin | of_drawings.Trace):
            items.append({"kind": kind, "at": self._place(part.at), "color": color})
        elif isinstance(part, of_drawings.Label):
            items.append({"kind": kind, "at": self._place(part.at), "text": part.text})
        elif isinstance(part, of_drawings.Arrow):
            self._arrow(part, color)
        elif isinstance(part, of_drawings.Columns):
            self._columns(part)

    def _arrow(self, part: of_drawings.Arrow, color: str | None) -> None:
        scene, vectors = self.scene, self._point(part.vector)
        longest = float(np.percentile(np.linalg.norm(vectors, axis=1), 98)) or float(np.abs(vectors).max())
        if not longest > 0:
            return
        scene.scales[part.kind] = min(scene.scales.get(part.kind, np.inf), ARROW * scene.size / longest)
        vector = {"c": [self._channel(column) for column in vectors.T]}
        at = self._place(part.at)
        item = {"kind": "arrow", "at": at, "vector": vector, "of": part.kind, "color": color, "name": part.name}
        scene.items.append(item)

    def _columns(self, part: of_drawings.Columns) -> None:
        values = [self._number(k) for k in part.values]
        frame = chart(np.stack(values, -1))
        labels = [str(label) for label in part.labels or ()]
        item: dict[str, Any] = {"kind": "columns", "labels": labels, "x": rounded(frame.x)}
        item |= {"c": [self._channel(value) for value in values], "width": short(frame.width)}
        self.scene.items.append(item | {"low": short(frame.low), "high": short(frame.high)})


@dataclass(frozen=True)
class Chart:
    """Where columns stand: from zero to each value, in a picture about half as wide again as high."""

    x: np.ndarray
    width: float
    low: float
    high: float

    @property
    def corners(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Around the columns, the numbers beside and the names below them."""
        height, end = self.high - self.low, float(self.x[-1]) + self.x[0]
        return (-0.09 * end, self.low - 0.1 * height), (end, self.high + 0.05 * height)


def chart(values: np.ndarray) -> Chart:
    """The frame for columns of these values (times, columns)."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    if not high > low:
        high = low + 1.0
    step = 1.5 * (high - low) / values.shape[1]
    return Chart((np.arange(values.shape[1]) + 0.5) * step, 0.62 * step, low, high)
