"""The few figures that images of planar scenes are drawn with: outlines (n, 2) of bars, circles, springs and arrows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


def _arc(start: float, end: float, count: int) -> np.ndarray:
    turn = np.linspace(start, end, count)
    return np.stack([np.cos(turn), np.sin(turn)], -1)


#: a circle of radius 1, and the round end of a bar that points to the right
CIRCLE, END = _arc(0, 2 * np.pi, 33), _arc(np.pi / 2, 3 * np.pi / 2, 9)


@lru_cache(maxsize=4096)
def darker(color: Any) -> Any:
    """For edges."""
    from matplotlib.colors import to_rgba

    r, g, b, a = to_rgba(color)
    return (0.62 * r, 0.62 * g, 0.62 * b, a)


def escaped(text: str) -> str:
    """A text that matplotlib shows as it is: dollar signs begin no formula."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "").replace("$", r"\$")


def bar(a: np.ndarray, b: np.ndarray, half: float) -> np.ndarray:
    """A bar with round ends."""
    angle = np.arctan2(b[1] - a[1], b[0] - a[0])
    c, s = half * np.cos(angle), half * np.sin(angle)
    end = END @ np.array([[c, s], [-s, c]])
    return np.concatenate([a + end, b - end, a + end[:1]])


def circle(at: np.ndarray, radius: float) -> np.ndarray:
    return at + radius * CIRCLE


def zigzag(a: np.ndarray, b: np.ndarray, coils: int, width: float) -> np.ndarray:
    """A spring."""
    along = b - a
    aside = np.array([-along[1], along[0]]) / (np.hypot(*along) or 1.0) * width / 2
    steps = np.linspace(0.1, 0.9, 2 * coils + 2)
    sign = np.where(np.arange(2 * coils + 2) % 2, 1.0, -1.0)
    sign[[0, -1]] = 0.0
    return np.concatenate([[a], a + steps[:, None] * along + sign[:, None] * aside, [b]])


def arrow(a: np.ndarray, b: np.ndarray, half: float, head: float) -> np.ndarray:
    """From a to b, with a shaft of half this width, and a head that is this long."""
    length = float(np.hypot(*(b - a)))
    u = (b - a) / length
    n, head = np.array([-u[1], u[0]]), min(head, 0.6 * length)
    neck, shaft, barb = b - head * u, half * n, 0.4 * head * n
    return np.array([a + shaft, neck + shaft, neck + barb, b, neck - barb, neck - shaft, a - shaft])
