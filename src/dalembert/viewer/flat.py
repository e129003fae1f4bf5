"""A scene in the plane of an image, drawn with matplotlib: what films are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.viewer.geometry import turned
from dalembert.viewer.now import Now, bar, circle, darker, zigzag

if TYPE_CHECKING:
    from dalembert.viewer.animation import Animation

PALETTE = ("#3b7dd8", "#f2933b", "#2fa37c", "#c06bb0", "#e2574c", "#27a6b8", "#d9b22f", "#8d6e63")
ARROWS = {"force": "#e2574c", "contact": "#12a594", "velocity": "#3b7dd8"}
THEMES = {
    False: {"back": "#f7f9fc", "ink": "#1d2733", "soft": "#6b7a8c", "ground": "#c9d3df", "bar": "#64748b"},
    True: {"back": "#161b22", "ink": "#e6edf3", "soft": "#8b98a9", "ground": "#3a4654", "bar": "#94a3b8"},
}
#: links up to which each has a colour of its own
FEW = 12
LIGHT = np.array([0.35, -0.45, 1.0]) / np.linalg.norm([0.35, -0.45, 1.0])


class Stage:
    """Draws moments of an animation into arrays of pixels."""

    def __init__(self, animation: Animation, width: int, height: int, *, dark: bool, view: tuple[float, float]):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        self.scene, self.t, self.theme = animation.scene, animation.t, THEMES[dark]
        self.figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=self.theme["back"])
        self.canvas = FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.ratio = width / height
        self.pixels = min(width, height)
        self._camera(view)
        self._colors()
        self._half = self._window()
        if not self.scene.follow:
            self._look_at(self._project(np.array([self._box_middle()]))[0])
        self.polygons = PolyCollection([], closed=True, animated=True)
        self.axes.add_collection(self.polygons)
        self.clock = self.axes.text(
            0.02, 0.97, "", transform=self.axes.transAxes, va="top", color=self.theme["soft"], family="monospace",
            fontsize=9, animated=True,
        )  # fmt: skip
        self.axes.text(
            0.98, 0.97, animation.title, transform=self.axes.transAxes, va="top", ha="right", color=self.theme["soft"],
            fontsize=9,
        )  # fmt: skip
        self.canvas.draw()
        self.background = self.canvas.copy_from_bbox(self.figure.bbox)

    def close(self) -> None:
        self.figure.clear()

    # -- camera ----------------------------------------------------------------------------------------------------

    def _camera(self, view: tuple[float, float]) -> None:
        """Directions to the right, up, and to the eye; parallel projection."""
        if self.scene.planar:
            self.right, self.above, self.eye = np.eye(3)
            return
        azimuth, elevation = np.radians(view)
        shift = {"x": 1, "y": 2, "z": 0}[self.scene.up]  # axes are exchanged so that up is up

        def oriented(v: list[float]) -> np.ndarray:
            return np.roll(v, shift)

        c, s, up = np.cos(azimuth), np.sin(azimuth), np.sin(elevation)
        self.eye = oriented([c * np.cos(elevation), s * np.cos(elevation), up])
        self.right = oriented([-s, c, 0.0])
        self.above = oriented([-c * up, -s * up, np.cos(elevation)])
        self.light = oriented(LIGHT.tolist())

    def _project(self, points: np.ndarray) -> np.ndarray:
        """(…, 2 or 3) to (…, 3): right, up, towards the eye."""
        if points.shape[-1] == 2:
            return np.concatenate([points, np.zeros((*points.shape[:-1], 1))], -1)
        return points @ np.stack([self.right, self.above, self.eye], -1)

    def _box_middle(self) -> np.ndarray:
        return np.mean(self.scene.box, axis=0)

    def _window(self) -> tuple[float, float]:
        scene = self.scene
        if scene.follow:
            half = 0.68 * scene.size
            return (half * max(self.ratio, 1.0), half * max(1.0, 1.0 / self.ratio))
        low, high = scene.box
        corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(len(low), -1).T
        flat = self._project(corners)
        across, up = np.ptp(flat[:, 0]) / 2 * 1.16, np.ptp(flat[:, 1]) / 2 * 1.16
        up = max(up, across / self.ratio, 0.05 * scene.size)
        return up * self.ratio, up

    def _look_at(self, middle: np.ndarray) -> None:
        self.axes.set_xlim(middle[0] - self._half[0], middle[0] + self._half[0])
        self.axes.set_ylim(middle[1] - self._half[1], middle[1] + self._half[1])

    def _colors(self) -> None:
        """As the player assigns them: one after the other."""
        scene, number = self.scene, 0

        def following() -> str:
            nonlocal number
            number += 1
            return PALETTE[(number - 1) % len(PALETTE)]

        few = sum(item["kind"] == "link" for item in scene.items) <= FEW
        self.body_colors = [
            following() if not body["shapes"] or any(not shape["color"] for shape in body["shapes"]) else "#888888"
            for body in scene.bodies
        ]
        self.item_colors: list[str] = []
        for item in scene.items:
            color, place = item.get("color"), item.get("a") or (item.get("through") or [None])[0] or {}
            needs = item["kind"] == "link" or (item["kind"] == "path" and item["filled"])
            if color is None and needs:
                on = place.get("b", -1)
                color = self.body_colors[on] if on >= 0 else following() if few or item["kind"] == "path" else None
            elif color is None and item["kind"] == "dot" and item.get("radius"):
                color = following()
            elif color is None and item["kind"] == "arrow":
                color = ARROWS[item["of"]]
            self.item_colors.append(color or self.theme["bar"])

    # -- one moment ------------------------------------------------------------------------------------------------

    def draw(self, moment: float) -> np.ndarray:
        """The image at a place among the frames; (height, width, 3) of bytes."""
        now = Now(self.scene, moment)
        if self.scene.follow:
            centre = np.array([now.value(c) for c in self.scene.centre])
            self._look_at(self._project(centre[None])[0])
        faces, edges, colors, depths, widths = self._faces(now)
        order = np.argsort(depths, kind="stable")
        self.polygons.set_verts([faces[k] for k in order], closed=False)
        self.polygons.set_facecolor([colors[k] for k in order])
        self.polygons.set_edgecolor([edges[k] for k in order])
        self.polygons.set_linewidth([widths[k] for k in order])
        self.clock.set_text(f"t = {now.t(self.t):.4g}")
        self.canvas.restore_region(self.background)
        self.axes.draw_artist(self.polygons)
        self.axes.draw_artist(self.clock)
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()

    @property
    def _thin(self) -> float:
        """Half the width of a bar in units of length."""
        return 0.009 * self.scene.size

    def _faces(self, now: Now) -> tuple[list, list, list, list, list]:
        """Polygons, their edges' and own colours, depths, and widths of edges."""
        from matplotlib.colors import to_rgba

        faces: list[np.ndarray] = []
        edges: list[Any] = []
        colors: list[Any] = []
        depths: list[float] = []
        widths: list[float] = []

        def add(
            points: np.ndarray, color: Any, *, edge: Any = None, depth: float | None = None, width: float = 0.8
        ) -> None:
            faces.append(points[:, :2])
            colors.append(color)
            edges.append(color if edge is None else edge)
            depths.append(float(points[:, 2].mean()) if depth is None else depth)
            widths.append(width)

        scene, planar, none = self.scene, self.scene.planar, (0, 0, 0, 0)
        for item, color in zip(scene.items, self.item_colors, strict=True):
            kind = item["kind"]
            if kind == "fixed":
                for shape in item["shapes"]:
                    self._shape(add, shape, None, to_rgba(shape["color"] or self.theme["ground"], 0.6), -np.inf)
            elif kind == "trace":
                way = self._project(now.way(item["at"]))
                add(
                    way,
                    none,
                    edge=to_rgba(item["color"] or "#e2574c", 0.8),
                    depth=-1e290 if planar else None,
                    width=1.2,
                )
            elif kind in ("link", "spring"):
                a, b = (self._project(now.place(item[end])[None])[0] for end in "ab")
                half = item["width"] / 2 if item["width"] else self._thin
                if kind == "link":
                    add(bar(a, b, half), color, edge=darker(color), depth=1.0 if planar else None)
                else:
                    wire = zigzag(a, b, item["coils"], item["width"] or 4 * self._thin)
                    add(wire, none, edge=item["color"] or self.theme["soft"], depth=0.9 if planar else None, width=1.6)
            elif kind == "path":
                points = self._project(np.array([now.place(place) for place in item["through"]]))
                points = np.concatenate([points, points[:1]]) if item["closed"] else points
                fill = to_rgba(color, 0.65) if item["filled"] else none
                wide = 1.2 if item.get("thin") else 2.2
                add(
                    points,
                    fill,
                    edge=darker(color) if item["filled"] else color,
                    depth=0.2 if planar else None,
                    width=wide,
                )
            elif kind in ("dot", "pin"):
                at = self._project(now.place(item["at"])[None])[0]
                radius = item.get("radius") or 0.75 * self._thin
                fill = color if item.get("radius") else self.theme["back"]
                edge = darker(color) if item.get("radius") else self.theme["ink"]
                add(circle(at, radius), fill, edge=edge, depth=2.0 if planar else at[2] + radius)
            elif kind == "arrow" and item["of"] not in scene.quiet:
                self._arrow(add, now, item, color)
        for body, pose, color in zip(scene.bodies, now.poses, self.body_colors, strict=True):
            for shape in body["shapes"]:
                self._shape(add, shape, pose, to_rgba(shape["color"] or color), 0.0)
        return faces, edges, colors, depths, widths

    def _arrow(self, add: Any, now: Now, item: dict[str, Any], color: str) -> None:
        at = now.place(item["at"])
        tip = at + np.array([now.value(c) for c in item["vector"]["c"]]) * self.scene.scales[item["of"]]
        a, b = self._project(at[None])[0], self._project(tip[None])[0]
        along = b - a
        length = float(np.hypot(*along[:2]))
        if length < 2e-3 * self.scene.size:
            return
        u = along[:2] / length
        n, head = np.array([-u[1], u[0]]), min(0.04 * self.scene.size, 0.6 * length)
        half = 0.35 * self._thin
        neck = b[:2] - head * u
        shaft, barb = half * n, 0.4 * head * n
        outline = [a[:2] + shaft, neck + shaft, neck + barb, b[:2], neck - barb, neck - shaft, a[:2] - shaft]
        points = np.column_stack([outline, np.full(7, b[2])])
        add(points, color, depth=3.0 if self.scene.planar else None)

    def _shape(self, add: Any, shape: dict[str, Any], pose: np.ndarray | None, color: Any, depth: float) -> None:
        """One shape of a body at a pose, or of the ground."""
        if self.scene.planar:
            self._outline(add, shape, pose, color, depth)
        elif "mesh" in shape:
            self._solid(add, shape, pose, color)
        elif "line" in shape:
            points = np.array(shape["line"])
            points = points if pose is None else pose[:3] + turned(pose[3:], points)
            add(self._project(points), (0, 0, 0, 0), edge=color, width=2.5)

    def _outline(self, add: Any, shape: dict[str, Any], pose: np.ndarray | None, color: Any, depth: float) -> None:
        def placed(points: Any) -> np.ndarray:
            points = np.atleast_2d(np.array(points, float))
            if pose is not None:
                c, s = np.cos(pose[2]), np.sin(pose[2])
                points = pose[:2] + points @ np.array([[c, s], [-s, c]])
            return self._project(points)

        edge = darker(color)
        if "polygon" in shape:
            points = placed(shape["polygon"])
            add(np.concatenate([points, points[:1]]), color, edge=edge, depth=depth)
        elif "line" in shape:
            add(placed(shape["line"]), (0, 0, 0, 0), edge=color, depth=depth, width=2.0 + shape["width"])
        elif "half" in shape:
            foot, normal = placed(shape["at"])[0, :2], np.array(shape["half"])
            along, far = np.array([-normal[1], normal[0]]), 100 * self.scene.size
            corners = [
                foot - far * along,
                foot + far * along,
                foot + far * along - far * normal,
                foot - far * along - far * normal,
            ]
            add(np.column_stack([corners, np.zeros(4)]), color, edge=self.theme["soft"], depth=-1e300)
        else:
            radius, at = shape.get("circle") or shape.get("ring"), placed(shape["at"])[0]
            fill = color if "circle" in shape else (0, 0, 0, 0)
            add(circle(at, radius), fill, edge=edge, depth=depth, width=0.8 if "circle" in shape else 2.5)
            if pose is not None and "circle" in shape:  # a radius shows that it turns
                end = at + 0.86 * radius * np.array([np.cos(pose[2]), np.sin(pose[2]), 0.0])
                add(np.array([at, end]), (0, 0, 0, 0), edge=edge, depth=depth + 0.01, width=1.2)

    def _solid(self, add: Any, shape: dict[str, Any], pose: np.ndarray | None, color: Any) -> None:
        """Triangles that look at the eye, in their shade; a ball is a disc."""
        at, q, scale = (np.array(shape[name]) for name in ("at", "q", "scale"))

        def placed(points: np.ndarray) -> np.ndarray:
            points = turned(q, points) + at
            return points if pose is None else pose[:3] + turned(pose[3:], points)

        if shape["mesh"] == "sphere":
            centre = self._project(placed(np.zeros((1, 3))))[0]
            if shape.get("hollow"):
                color = (*color[:3], 0.18)
                add(circle(centre, scale[0]), color, edge=(*color[:3], 0.6), depth=-1e280)
                return
            self._ball(add, centre, float(scale[0]), color)
            return
        surface = self.scene.surfaces[shape["mesh"]]
        corners = placed(surface.vertices * scale)[surface.faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.linalg.norm(normals, axis=1)
        normals /= np.maximum(size, 1e-300)[:, None]
        seen = (normals @ self.eye > 0) & (size > 0)
        bright = 0.5 + 0.5 * np.maximum(normals @ self.light, 0.0)
        flat = self._project(corners)
        for k in np.flatnonzero(seen):
            add(flat[k], (*(np.array(color[:3]) * bright[k]).tolist(), color[3]), width=0.4)

    def _ball(self, add: Any, centre: np.ndarray, radius: float, color: Any) -> None:
        glint = np.array([self.light @ self.right, self.light @ self.above, 0.0]) * 0.35 * radius
        base = np.array(color[:3])
        for share, bright in ((1.0, 0.62), (0.82, 0.8), (0.55, 0.95), (0.25, 1.15)):
            tone = np.clip(base * bright + (0.1 if bright > 1 else 0.0), 0, 1)
            disc = circle(centre + glint * (1 - share), radius * share)
            add(disc, (*tone.tolist(), color[3]), depth=centre[2] + radius * (1 - share) * 1e-3)
