"""Small things about parts of scenes: colours, extents, numbers that can be shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.draw import parts as of_drawings
from dalembert.errors import ModelError
from dalembert.multibody.shapes import Sphere
from dalembert.viewer.geometry import Surface, turned


def is_ball(body: of_drawings.Body) -> bool:
    return bool(body.shape) and all(type(one) is Sphere and not one.position.any() for one in body.shape)


def css_color(color: Any) -> str | None:
    """A colour as pages understand it; None: as the theme has it."""
    if color is None:
        return None
    from matplotlib.colors import to_hex

    try:
        return to_hex(color, keep_alpha=not isinstance(color, str) and len(color) == 4)
    except ValueError:
        raise ModelError(f"'{color}' is no colour that is known; take a name such as 'tab:blue' or '#1f77b4'") from None


def listed(ref: Any) -> tuple:
    return ref if isinstance(ref, tuple) else (ref,)


def held_values(values: np.ndarray) -> np.ndarray:
    """Values that are no numbers become the last ones that were, or the first that will be; zero if there are none."""
    values = np.array(values, float, order="C")
    for column in values.reshape(len(values), -1).T:
        good = np.flatnonzero(np.isfinite(column))
        if len(good) == len(column):
            continue
        if not len(good):
            column[:] = 0.0
            continue
        last = np.searchsorted(good, np.arange(len(column)), "right") - 1
        column[:] = column[good[np.maximum(last, 0)]]
    return values


def extent(shape: dict[str, Any], width: int, surfaces: dict[str, Surface]) -> tuple[np.ndarray, np.ndarray] | None:
    """The box around a drawn shape in the frame of its body; None for planes, which have no end."""
    if "half" in shape:
        return None
    points = shape.get("polygon") or shape.get("line")
    if "mesh" in shape:
        vertices = surfaces[shape["mesh"]].vertices * shape["scale"]
        points = turned(np.array(shape["q"]), vertices) + shape["at"]
    if points is not None:
        return np.min(points, axis=0)[:width], np.max(points, axis=0)[:width]
    at, radius = np.array(shape["at"]), shape.get("circle") or shape.get("ring")
    return at - radius, at + radius


def rounded(values: np.ndarray) -> list[float]:
    return [short(x) for x in values]


def short(x: float) -> float:
    return float(f"{x:.7g}")
