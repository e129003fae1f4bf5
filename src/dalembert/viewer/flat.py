"""A planar scene as images, drawn with matplotlib: what films of it are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.viewer.clock import Clock, titled
from dalembert.viewer.figures import arrow, bar, circle, darker, escaped, zigzag
from dalembert.viewer.now import Now
from dalembert.viewer.palette import PALETTE, THEMES, TRACE, assigned

if TYPE_CHECKING:
    from dalembert.viewer.animation import Animation

NOTHING = (0, 0, 0, 0)


class FlatStage:
    """Draws moments of a planar animation into arrays of pixels.

    Everything that moves is one collection of polygons, drawn over a copy of what does not (blitting).
    """

    def __init__(self, animation: Animation, width: int, height: int, *, dark: bool):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        self.scene, self.t, self.theme = animation.scene, animation.t, THEMES[dark]
        self.figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=self.theme["back"])
        self.canvas = FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.body_colors, self.item_colors = assigned(self.scene, self.theme)
        self.half = self._window(width / height)
        self._look_at(np.mean(self.scene.box, axis=0))
        self.polygons = PolyCollection([], closed=True, animated=True)
        self.axes.add_collection(self.polygons)
        self.clock, self.title = Clock(self.theme["soft"]), titled(animation.title, self.theme["soft"], width)
        self._texts()
        self.canvas.draw()
        self.background = self.canvas.copy_from_bbox(self.figure.bbox)

    def close(self) -> None:
        self.figure.clear()

    def _window(self, ratio: float) -> np.ndarray:
        """Half the width and the height of what is seen."""
        scene = self.scene
        low, high = (np.array([-1.12, 1.12])[:, None] * scene.reach) if scene.follow else scene.box
        across, up = np.subtract(high, low) / 2 * 1.16
        up = max(up, across / ratio, 0.05 * scene.size)
        return np.array([up * ratio, up])

    def _look_at(self, middle: np.ndarray) -> None:
        self.axes.set_xlim(middle[0] - self.half[0], middle[0] + self.half[0])
        self.axes.set_ylim(middle[1] - self.half[1], middle[1] + self.half[1])

    def _texts(self) -> None:
        """What is written once: names of columns."""
        for item in self.scene.items:
            for x, label in zip(item["x"], item["labels"], strict=True) if item["kind"] == "columns" else ():
                at = (x, item["low"] - 0.03 * (item["high"] - item["low"]))
                small = max(5.0, min(9.0, 60.0 / len(item["x"])))
                self.axes.text(*at, escaped(label), ha="center", va="top", color=self.theme["ink"], fontsize=small)

    def draw(self, moment: float) -> np.ndarray:
        """The image at a place among the frames; (height, width, 4) of bytes, all of them opaque."""
        now = Now(self.scene, moment)
        if self.scene.follow:
            self._look_at(np.array([now.value(c) for c in self.scene.centre]))
        self.drawn: list[tuple[float, np.ndarray, Any, Any, float]] = []
        for item, color in zip(self.scene.items, self.item_colors, strict=True):
            self.layer = _layer(item)
            self._item(now, item, color)
        self.drawn.sort(key=lambda one: one[0])
        self.polygons.set_verts([one[1] for one in self.drawn], closed=False)
        self.polygons.set_facecolor([one[2] for one in self.drawn])
        self.polygons.set_edgecolor([one[3] for one in self.drawn])
        self.polygons.set_linewidth([one[4] for one in self.drawn])
        self.canvas.restore_region(self.background)
        self.axes.draw_artist(self.polygons)
        image = np.array(self.canvas.buffer_rgba())
        self.clock.write(image, f"t = {now.t(self.t):.4g}")
        self.title(image)
        return image

    def _add(self, points: np.ndarray, color: Any, edge: Any, width: float = 0.8) -> None:
        self.drawn.append((self.layer, points, color, edge, width))

    @property
    def _thin(self) -> float:
        """Half the width of a bar in units of length."""
        return 0.009 * self.scene.size

    def _item(self, now: Now, item: dict[str, Any], color: Any) -> None:
        from matplotlib.colors import to_rgba

        kind, theme, add = item["kind"], self.theme, self._add
        if kind == "fixed":
            for shape in item["shapes"]:
                pale = 0.6 if shape["color"] is None else None  # where nobody gave it a colour
                self._shape(shape, None, to_rgba(shape["color"] or theme["ground"], pale))
        elif kind == "body":
            for shape in self.scene.bodies[item["b"]]["shapes"]:
                self._shape(shape, now.poses[item["b"]], to_rgba(shape["color"] or self.body_colors[item["b"]]))
        elif kind == "trace":
            add(now.way(item["at"]), NOTHING, to_rgba(item["color"] or TRACE, 0.8), 1.2)
        elif kind in ("link", "spring"):
            a, b = now.place(item["a"]), now.place(item["b"])
            if kind == "link":
                add(bar(a, b, item["width"] / 2 if item["width"] else self._thin), color, darker(color))
            else:
                wire = zigzag(a, b, item["coils"], item["width"] or 4 * self._thin)
                add(wire, NOTHING, item["color"] or theme["soft"], 1.6)
        elif kind == "path":
            points = np.array([now.place(place) for place in item["through"]])
            points = np.concatenate([points, points[:1]]) if item["closed"] else points
            if item["filled"]:
                add(points, to_rgba(color, 0.7), darker(color), 1.4)
            else:
                add(points, NOTHING, color, self._points(item["width"]) if item["width"] else 2.2)
        elif kind in ("dot", "pin"):
            self._dot(now.place(item["at"]), item, color)
        elif kind == "arrow" and item["of"] not in self.scene.quiet:
            at = now.place(item["at"])
            tip = at + np.array([now.value(c) for c in item["vector"]["c"]]) * self.scene.scales[item["of"]]
            if np.hypot(*(tip - at)) > 2e-3 * self.scene.size:
                add(arrow(at, tip, 0.4 * self._thin, 0.045 * self.scene.size), color, theme["back"], 0.6)
        elif kind == "columns":
            self._columns(now, item)

    def _points(self, length: float) -> float:
        """A width in units of length as matplotlib takes it."""
        return max(1.0, length / (2 * self.half[1]) * self.figure.get_figheight() * 72)

    def _dot(self, at: np.ndarray, item: dict[str, Any], color: Any) -> None:
        theme = self.theme
        if item.get("radius"):
            self._add(circle(at, item["radius"]), color, darker(color))
            return
        if item["kind"] == "pin":
            foot = at + 3.4 * self._thin * np.array([(0.0, 0.0), (-0.7, -1.1), (0.7, -1.1), (0.0, 0.0)])
            self._add(foot, theme["ground"], theme["soft"])
        self._add(circle(at, 0.75 * self._thin), theme["back"], theme["ink"])

    def _columns(self, now: Now, item: dict[str, Any]) -> None:
        half, count = item["width"] / 2, len(item["x"])
        for k, x in enumerate(item["x"]):
            top, color = now.value(item["c"][k]), PALETTE[k if count <= len(PALETTE) else 0]
            corners = [(x - half, 0.0), (x + half, 0.0), (x + half, top), (x - half, top), (x - half, 0.0)]
            self._add(np.array(corners), color, darker(color))
        ends = np.array([(0.0, 0.0), (item["x"][-1] + item["x"][0], 0.0)])
        self._add(ends, NOTHING, self.theme["soft"], 1.2)

    def _shape(self, shape: dict[str, Any], pose: np.ndarray | None, color: Any) -> None:
        """One shape of a body at a pose, or of the ground."""

        def placed(points: Any) -> np.ndarray:
            points = np.atleast_2d(np.array(points, float))
            if pose is not None:
                c, s = np.cos(pose[2]), np.sin(pose[2])
                points = pose[:2] + points @ np.array([[c, s], [-s, c]])
            return points

        if "polygon" in shape:
            points = placed(shape["polygon"])
            self._add(np.concatenate([points, points[:1]]), color, darker(color))
        elif "line" in shape:
            self._add(placed(shape["line"]), NOTHING, color, 2.0 + shape["width"])
        elif "half" in shape:
            foot, normal = placed(shape["at"])[0], np.array(shape["half"])
            along, far = np.array([-normal[1], normal[0]]), 100 * self.scene.size
            sides = [(-1, 0), (1, 0), (1, -1), (-1, -1)]
            corners = [foot + far * (across * along + down * normal) for across, down in sides]
            self._add(np.array(corners), color, self.theme["soft"])
        else:
            at = placed(shape["at"])[0]
            radius: float = shape.get("circle") or shape["ring"]
            disc = "circle" in shape
            self._add(circle(at, radius), color if disc else NOTHING, darker(color), 0.8 if disc else 2.5)
            if pose is not None and shape.get("turns"):  # a radius shows that it turns
                end = at + 0.8 * radius * np.array([np.cos(pose[2]), np.sin(pose[2])])
                self._add(np.array([at, end]), NOTHING, darker(color), 1.4)


def _layer(item: dict[str, Any]) -> float:
    """As in planar.js: what lies behind, parts as they were given, then joints and arrows."""
    joint = item["kind"] == "pin" or (item["kind"] == "dot" and not item["radius"])
    return {"fixed": 0.0, "trace": 1.0, "arrow": 4.0}.get(item["kind"], 3.0 if joint else 2.0)
