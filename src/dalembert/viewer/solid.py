"""A scene in space as images: what films of it are made of, without a browser and without a graphics card."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.viewer import raster
from dalembert.viewer.camera import Camera
from dalembert.viewer.clock import Clock, titled
from dalembert.viewer.figures import CIRCLE
from dalembert.viewer.geometry import Surface, composed, cone, cylinder, helix, towards, turned
from dalembert.viewer.now import Now
from dalembert.viewer.palette import FIXED, JOINT, PIN, SPRING, THEMES, TRACE, assigned

if TYPE_CHECKING:
    from dalembert.viewer.animation import Animation

#: a pixel of the image is made of four
FINE = 2
#: how far away the floor is lost in the haze, in distances of the camera
HAZE = 3.2
#: opacity of hollow balls
CLEAR = 0.16
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


class SolidStage:
    """Draws moments of an animation in space into arrays of pixels."""

    def __init__(self, animation: Animation, width: int, height: int, *, dark: bool, view: tuple[float, float]):
        self.scene, self.t, self.theme = animation.scene, animation.t, THEMES[dark]
        self.size = width, height
        self.camera = Camera(self.scene, FINE * width, FINE * height, view)
        self.clock, self.title = Clock(self.theme["soft"]), titled(animation.title, self.theme["soft"], width)
        self.body_colors, self.item_colors = assigned(self.scene, self.theme)
        self._floor()
        self._background: tuple[np.ndarray, np.ndarray] | None = None
        self._still: tuple[list, list, list] | None = None  # what does not move

    def close(self) -> None:
        """Nothing is held."""

    def draw(self, moment: float) -> np.ndarray:
        """The image at a place among the frames; (height, width, 4) of bytes, all of them opaque."""
        now = Now(self.scene, moment)
        if self.scene.follow:
            self.camera.go_to(np.array([now.value(c) for c in self.scene.centre]))
        self.image, self.depth = self._ground()
        if self._still is None:
            self.triangles, self.balls, self.lines = [], [], []
            for item, color in self._items(still=True):
                self._item(now, item, color)
            self._still = self.triangles, self.balls, self.lines
        self.triangles, self.balls, self.lines = (list(one) for one in self._still)
        for item, color in self._items(still=False):
            self._item(now, item, color)
        self._shade()
        width, height = self.size
        out = np.empty((height, width, 4), np.uint8)
        raster.reduce_by_two(self.image, out)
        self.clock.write(out, f"t = {now.t(self.t):.4g}")
        self.title(out)
        return out

    def _items(self, *, still: bool) -> list[tuple[dict[str, Any], str]]:
        """Those that do not move, or the others, with their colours."""

        def rests(item: dict[str, Any]) -> bool:
            places = [item[end] for end in ("a", "b", "at") if isinstance(item.get(end), dict)]
            places += item.get("through", [])
            moves = item["kind"] in ("body", "trace", "arrow", "label", "columns")
            return not moves and all("x" in place for place in places)

        both = zip(self.scene.items, self.item_colors, strict=True)
        return [(item, color) for item, color in both if rests(item) == still]

    # -- the floor -------------------------------------------------------------------------------------------------

    def _floor(self) -> None:
        """Its height: that of a plane that looks up, or below everything."""
        k, camera = "xyz".index(self.scene.up), self.camera
        self.level = self.scene.box[0][k] - 0.002 * self.scene.size
        for item in self.scene.items:
            for shape in item.get("shapes", ()):
                if "half" in shape and shape["half"][k] > 0.99:
                    self.level = shape["at"][k]
        self.light = camera.up + 0.35 * camera.along[0] - 0.45 * camera.along[1]
        self.light /= np.linalg.norm(self.light)

    def _ground(self) -> tuple[np.ndarray, np.ndarray]:
        """The floor, which need not be drawn again where the camera stays."""
        if self._background is None or self.scene.follow:
            width, height = self.size  # it is smooth: it need not be finer than the image
            image = np.empty((height, width, 3), np.float32)
            image[:] = _rgb(self.theme["back"])
            depth = np.zeros((height, width), np.float32)
            step = _nice(self.camera.distance / 9)
            numbers = [self.camera.focal / FINE, self.level, step, HAZE * self.camera.distance]
            given = np.array([*numbers, *_rgb(self.theme["far"]), *_rgb(self.theme["line"])])
            along = np.array([self.camera.up, *self.camera.along])
            raster.fill_floor(image, depth, self.camera.axes, self.camera.eye, along, given)
            self._background = _enlarged(image), _enlarged(depth)
        return self._background[0].copy(), self._background[1].copy()

    # -- what there is ---------------------------------------------------------------------------------------------

    def _item(self, now: Now, item: dict[str, Any], color: str) -> None:
        kind, thin = item["kind"], 0.0085 * self.scene.size
        if kind in ("fixed", "body"):
            body = self.scene.bodies[item["b"]] if kind == "body" else item
            pose = now.poses[item["b"]] if kind == "body" else np.array([0.0, 0.0, 0.0, *NO_TURN])
            for shape in body["shapes"]:
                self._shape(shape, pose, shape["color"] or (self.body_colors[item["b"]] if kind == "body" else FIXED))
        elif kind == "trace":
            self.lines.append((now.way(item["at"]), item["color"] or TRACE, 1.1))
        elif kind == "link":
            self._rod(now.place(item["a"]), now.place(item["b"]), item["width"] / 2 if item["width"] else thin, color)
        elif kind == "spring":
            radius = item["width"] / 2 if item["width"] else 2.6 * thin
            a, b = now.place(item["a"]), now.place(item["b"])
            size = np.array([radius, radius, np.linalg.norm(b - a)])
            self._solid(helix(item["coils"]), a, towards(b - a), size, item["color"] or SPRING)
        elif kind == "path":
            points = [now.place(place) for place in item["through"]]
            points += points[:1] if item["closed"] else []
            for a, b in itertools.pairwise(points):
                self._rod(a, b, item["width"] / 2 if item["width"] else 0.6 * thin, color)
        elif kind in ("dot", "pin"):
            own = color if item.get("radius") else PIN if kind == "pin" else JOINT
            self.balls.append((now.place(item["at"]), item.get("radius") or 1.55 * thin, (*_rgb(own), 1.0)))
        elif kind == "arrow" and item["of"] not in self.scene.quiet:
            self._arrow(now, item, color, thin)

    def _shape(self, shape: dict[str, Any], pose: np.ndarray, color: str) -> None:
        if "line" in shape:
            points = pose[:3] + turned(pose[3:], np.array(shape["line"]))
            self.lines.append((points, color, 1.6))
        elif shape.get("mesh") == "sphere":
            at = pose[:3] + turned(pose[3:], np.array(shape["at"]))
            self.balls.append((at, shape["scale"][0], (*_rgb(color), CLEAR if shape.get("hollow") else 1.0)))
        elif "mesh" in shape:
            at = pose[:3] + turned(pose[3:], np.array(shape["at"]))
            turn = composed(pose[3:], np.array(shape["q"]))
            self._solid(self.scene.surfaces[shape["mesh"]], at, turn, np.array(shape["scale"]), color)

    def _solid(self, own: Surface, at: np.ndarray, turn: np.ndarray, scale: np.ndarray, color: str) -> None:
        vertices = at + turned(turn, own.vertices * scale)
        normals = turned(turn, own.normals / np.maximum(scale, 1e-9))
        self.triangles.append((vertices[own.faces], normals[own.faces], _rgb(color)))

    def _rod(self, a: np.ndarray, b: np.ndarray, radius: float, color: str) -> None:
        length = float(np.linalg.norm(b - a))
        self._solid(cylinder(), (a + b) / 2, towards(b - a), np.array([radius, radius, length]), color)

    def _arrow(self, now: Now, item: dict[str, Any], color: str, thin: float) -> None:
        at = now.place(item["at"])
        vector = np.array([now.value(c) for c in item["vector"]["c"]]) * self.scene.scales[item["of"]]
        length = float(np.linalg.norm(vector))
        if length < 1e-3 * self.scene.size:
            return
        head = min(0.05 * self.scene.size, 0.5 * length)
        neck = at + vector * (1 - head / length)
        self._rod(at, neck, 0.55 * thin, color)
        self._solid(cone(), neck, towards(vector), np.array([1.7 * thin, 1.7 * thin, head]), color)

    # -- pixels ----------------------------------------------------------------------------------------------------

    def _shade(self) -> None:
        camera, up = self.camera, self.camera.up
        if self.triangles:
            corners = np.concatenate([one for one, _, _ in self.triangles])
            normals = np.concatenate([one for _, one, _ in self.triangles])
            counts = [len(one) for one, _, _ in self.triangles]
            tints = np.repeat([tint for _, _, tint in self.triangles], counts, axis=0)
        else:
            corners, normals, tints = np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 3))
        self._shadows(corners)
        seen = camera.seen(corners)
        ahead = (seen[..., 2] > 0).all(axis=1)
        to_eye = np.ascontiguousarray(camera.axes[2])
        given = seen[ahead], np.ascontiguousarray(normals[ahead]), np.ascontiguousarray(tints[ahead])
        raster.fill_triangles(self.image, self.depth, *given, self.light, up, to_eye)
        for clear in (False, True):
            balls = [one for one in self.balls if (one[2][3] < 1) == clear]
            if balls:
                places = camera.seen(np.array([at for at, _, _ in balls]))
                radius = np.array([radius for _, radius, _ in balls])
                rows = np.column_stack([places, camera.focal * radius * places[:, 2], radius])
                tints = np.array([tint for _, _, tint in balls])
                raster.fill_balls(self.image, self.depth, rows[places[:, 2] > 0], tints[places[:, 2] > 0], camera.axes,
                                  self.light, up)  # fmt: skip
            if not clear:
                for points, color, wide in self.lines:
                    self._line(points, color, wide)

    def _shadows(self, corners: np.ndarray) -> None:
        """Along the light onto the floor, as far as the camera is above it."""
        camera, up = self.camera, self.camera.up
        if camera.eye @ up < self.level:
            return
        across = np.linalg.svd(self.light[None])[2][1:]  # two directions that the light is perpendicular to
        discs = [at + radius * (CIRCLE[::3] @ across) for at, radius, tint in self.balls if tint[3] == 1]
        fans = [np.stack([np.broadcast_to(disc[0], disc[1:-1].shape), disc[1:-1], disc[2:]], 1) for disc in discs]
        whole = np.concatenate([corners, *fans])
        height = whole @ up - self.level
        flat = whole - height[..., None] * self.light / (self.light @ up)
        seen = camera.seen(flat)
        ahead = ((seen[..., 2] > 0) & (height > -1e-3 * self.scene.size)).all(axis=1)
        mask = np.zeros_like(self.depth)
        black = np.zeros(3)
        raster.fill_flat(self.image, self.depth, mask, seen[ahead], black, float(self.theme["shadow"]))

    def _line(self, points: np.ndarray, color: str, wide: float) -> None:
        """Two triangles for each piece, so many pixels wide."""
        seen = self.camera.seen(points)
        a, b = seen[:-1], seen[1:]
        good = (a[:, 2] > 0) & (b[:, 2] > 0)
        a, b = a[good], b[good]
        along = b[:, :2] - a[:, :2]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        aside = np.zeros_like(a)
        aside[:, :2] = FINE * wide / 2 * along[:, ::-1] * [-1, 1] / np.maximum(length, 1e-9)
        over = np.zeros_like(a)  # pieces overlap a little, so that there are no gaps in bends
        over[:, :2] = 0.5 * along / np.maximum(length, 1e-9)
        a, b = a - over, b + over
        corners = np.concatenate([np.stack([a + aside, b + aside, b - aside], 1),
                                  np.stack([a + aside, b - aside, a - aside], 1)])  # fmt: skip
        mask = np.zeros_like(self.depth)
        raster.fill_flat(self.image, self.depth, mask, np.ascontiguousarray(corners), _rgb(color), 0.85)


def _rgb(color: str) -> np.ndarray:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(color))


def _enlarged(image: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(image, FINE, axis=0), FINE, axis=1)


def _nice(rough: float) -> float:
    """1, 2 or 5 times a power of ten, near the given number."""
    power = 10.0 ** np.floor(np.log10(rough))
    digit = rough / power
    return float(power * (1 if digit < 1.5 else 2 if digit < 3.5 else 5 if digit < 7.5 else 10))

