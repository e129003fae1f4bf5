"""Animations, reports and pages for notebooks: what people look at.

`animation.py` turns a result into an `Animation`; `scene.py` makes data of its drawing, `encode.py` bytes of the data,
and `page/` holds the player, plain JavaScript that every browser runs from a file. `film.py` draws the same scene into
images.
"""

from dalembert.viewer.animation import Animation, animate

__all__ = ["Animation", "animate"]
