"""Colours of films, and which part has which: as the player has them (`page/theme.js`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.viewer.scene import Scene

PALETTE = ("#3b7dd8", "#f2933b", "#2fa37c", "#c06bb0", "#e2574c", "#27a6b8", "#d9b22f", "#8d6e63")
ARROWS = {"force": "#e2574c", "contact": "#12a594", "velocity": "#3b7dd8"}
TRACE, FIXED, SPRING, JOINT, PIN = "#e2574c", "#9aa7b5", "#8796a8", "#e8edf3", "#5b6b7e"
#: by whether it is dark
THEMES: dict[bool, dict[str, Any]] = {
    False: {
        "back": "#f7f9fc", "far": "#e6ecf5", "ink": "#1d2733", "soft": "#6b7a8c", "line": "#d5dde8",
        "ground": "#c9d3df", "bar": "#64748b", "shadow": 0.2,
    },
    True: {
        "back": "#161b22", "far": "#0d1117", "ink": "#e6edf3", "soft": "#8b98a9", "line": "#2b3440",
        "ground": "#3a4654", "bar": "#94a3b8", "shadow": 0.45,
    },
}  # fmt: skip
#: links up to which each has a colour of its own
FEW = 12


def assigned(scene: Scene, theme: dict) -> tuple[list[str], list[str]]:
    """Colours of bodies and of items: one after the other where nobody gave them."""
    number = 0

    def following() -> str:
        nonlocal number
        number += 1
        return PALETTE[(number - 1) % len(PALETTE)]

    few = sum(item["kind"] == "link" for item in scene.items) <= FEW
    bodies = [
        following() if not body["shapes"] or any(not shape["color"] for shape in body["shapes"]) else "#888888"
        for body in scene.bodies
    ]
    items: list[str] = []
    for item in scene.items:
        color = item.get("color")
        place = item.get("a") or (item.get("through") or [None])[0] or {}
        needs = item["kind"] == "link" or (item["kind"] == "path" and item["filled"])
        if color is None and needs:
            on = place.get("b", -1)
            color = bodies[on] if on >= 0 else following() if few or item["kind"] == "path" else None
        elif color is None and item["kind"] == "dot" and item.get("radius"):
            color = following()
        elif color is None and item["kind"] == "arrow":
            color = ARROWS[item["of"]]
        items.append(color or theme["bar"])
    return bodies, items
