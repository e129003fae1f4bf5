"""The time in the corner of a film's images: letters are drawn once and copied, since a new text each time is slow."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from dalembert.viewer.figures import escaped

#: from the corner of the image, in pixels
MARGIN = 12
SIZE = 9.0


@cache
def letter(name: str) -> np.ndarray:
    """How much of each pixel a letter covers, from 0 to 1; all letters have the same size."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.085, 0.16), dpi=100, facecolor="white")
    figure.text(0.0, 0.2, name, family="monospace", fontsize=SIZE, color="black")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return 1.0 - np.asarray(canvas.buffer_rgba())[..., 0] / 255.0


def titled(text: str, color: str, width: int) -> Callable[[np.ndarray], None]:
    """What writes a title into the upper right corner of images of some width."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 100, 0.32), dpi=100, facecolor="white")
    figure.text(1 - MARGIN / width, 0.5, escaped(text), fontsize=SIZE, ha="right", va="center", color="black")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    share = 1.0 - np.asarray(canvas.buffer_rgba())[..., :1] / 255.0
    tint = 255.0 * np.array(to_rgb(color))

    def write(image: np.ndarray) -> None:
        part = image[: len(share), :, :3]
        part[:] = (1 - share[: len(part)]) * part + share[: len(part)] * tint

    return write


class Clock:
    """Writes texts of one colour into images."""

    def __init__(self, color: str):
        from matplotlib.colors import to_rgb

        self._color = 255.0 * np.array(to_rgb(color))

    def write(self, image: np.ndarray, text: str) -> None:
        """In place, into the upper left corner, as far as there is room."""
        covered = np.concatenate([letter(name) for name in text], axis=1)
        height, width = (min(have, there - MARGIN) for have, there in zip(covered.shape, image.shape, strict=False))
        if min(height, width) <= 0:
            return
        share = covered[:height, :width, None]
        part = image[MARGIN : MARGIN + height, MARGIN : MARGIN + width, :3]
        part[:] = (1 - share) * part + share * self._color
