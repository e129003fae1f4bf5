"""Pages that need nothing besides: player, style and data in one text."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.viewer.encode import Channel, Packer
from dalembert.viewer.geometry import Surface, cone, cylinder
from dalembert.viewer.sampling import thinned

if TYPE_CHECKING:
    from dalembert.viewer.animation import Animation
    from dalembert.viewer.curves import Plot

#: the player's files in the order in which they stand in a page
SCRIPTS = (
    "data.js", "theme.js", "planar.js", "linear.js", "webgl.js", "spatial.js", "plots.js", "controls.js", "player.js",
    "start.js",
)  # fmt: skip


@cache
def asset(name: str) -> str:
    """A file of the page."""
    return files("dalembert.viewer").joinpath("page", name).read_text("utf-8")


def script() -> str:
    """The whole player, as one function."""
    return "(() => {\n'use strict';\n" + "\n".join(asset(name) for name in SCRIPTS) + "\n})();"


def page(title: str, body: str, *, style: str = "", kind: str = "viewer") -> str:
    """A complete page around a body."""
    return asset("page.html").format(
        title=escape(title), kind=kind, style=asset("style.css") + style, body=body, script=script()
    )


def player(animation: Animation) -> str:
    """The element of an animation, with its data."""
    return f'<section class="da-player" data-scene="1">{embedded(scene_data(animation))}</section>'


def compact(data: dict[str, Any]) -> str:
    """Data as JSON."""
    return json.dumps(_finite(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def embedded(data: dict[str, Any]) -> str:
    """Data as an element that scripts read; nothing in there can end it."""
    text = compact(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f'<script type="application/json">{text}</script>'


def scene_data(animation: Animation) -> dict[str, Any]:
    """Everything that the player wants to know."""
    scene, packer = animation.scene, Packer()
    packer.table(animation.t, scene.channels)
    plots = plotted(packer, animation.plots)
    surfaces = {name: surface for name, surface in scene.surfaces.items() if name != "sphere"}
    if not scene.planar:
        surfaces = {"rod": cylinder(), "cone": cone()} | surfaces
    meshes = {name: _packed(packer, surface) for name, surface in surfaces.items()}
    numbers = {name: k for k, name in enumerate(meshes)} | {"sphere": -1}  # balls need no triangles
    bodies = [body | {"shapes": [_numbered(shape, numbers) for shape in body["shapes"]]} for body in scene.bodies]
    items = [
        item | {"shapes": [_numbered(shape, numbers) for shape in item["shapes"]]} if "shapes" in item else item
        for item in scene.items
    ]
    packer.text(compact({"bodies": bodies, "items": items, "meshes": list(meshes.values()), "meshNames": list(meshes)}))
    view: dict[str, Any] = {"planar": scene.planar, "up": scene.up, "box": scene.box, "size": scene.size}
    view["centre"] = scene.centre
    view |= {"reach": scene.reach, "follow": scene.follow, "scales": scene.scales, "quiet": list(scene.quiet)}
    marks = [[mark.t, mark.kind, mark.name] for mark in animation.marks]
    said: dict[str, Any] = {"title": animation.title, "subtitle": animation.subtitle, "note": animation.note}
    said |= {"speed": animation.speed, "marks": marks}
    return said | view | {"plots": plots, "data": packer.described()}


def plotted(packer: Packer, plots: list[Plot]) -> list[dict[str, Any]]:
    """Plots for the page: of each curve, where it stands in which table. Long ones are thinned out."""
    found = []
    for plot in plots:
        together: dict[bytes, list[tuple[str, np.ndarray, np.ndarray]]] = {}  # curves at the same points
        for name, values in plot.curves.items():
            values = np.asarray(values, float)
            if plot.log:  # a logarithm needs relative accuracy, which steps of equal size have not
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = np.log10(values)
            rows = thinned(values)
            together.setdefault(rows.tobytes(), []).append((name, rows, values[rows]))
        places = {}
        for same in together.values():
            table = packer.curve(np.asarray(plot.t, float)[same[0][1]], [Channel(values) for _, _, values in same])
            places |= {name: {"name": name, "table": table, "c": c} for c, (name, _, _) in enumerate(same)}
        found.append({"title": plot.title, "curves": [places[name] for name in plot.curves], "log": plot.log})
    return found


def _packed(packer: Packer, surface: Surface) -> dict[str, Any]:
    """Vertices as parts of the largest coordinate, so that 16 bits do."""
    size = float(np.abs(surface.vertices).max()) or 1.0
    vertices = packer.array(np.rint(surface.vertices / size * 32767))
    normals = packer.array(np.rint(surface.normals * 32767))
    faces = surface.faces.astype(np.int64)
    low, high = faces & 0x7FFF, faces >> 15
    wide = bool(high.any())
    found = {"size": size, "v": vertices, "n": normals, "f": packer.array(low)}
    return found | ({"fh": packer.array(high)} if wide else {})


def _numbered(shape: dict[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
    return shape | {"mesh": numbers[shape["mesh"]]} if "mesh" in shape else shape


def _finite(value: Any) -> Any:
    """Numbers that JSON does not know become null."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
