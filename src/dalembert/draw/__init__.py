"""What a model looks like: points, links, shapes of bodies, springs, traces and arrows, as data.

A drawing is given with the model (``EquationsOfMotion(..., drawing=...)``) or with ``sol.animate(drawing=...)``;
systems of bodies have one from their shapes and joints.

>>> import dalembert as da
>>> pendulum = da.EquationsOfMotion(
...     p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1],
...     drawing=[da.draw.Link((0, 0), ("x", "y")), da.draw.Dot(("x", "y")), da.draw.Trace(("x", "y"))])
>>> pendulum.drawing
Drawing(1 link, 1 dot, 1 trace)
"""

from dalembert.draw.parts import (
    Arrow,
    Body,
    Columns,
    Dot,
    Drawing,
    Fixed,
    Label,
    Link,
    On,
    Part,
    Path,
    Pin,
    Spring,
    Trace,
)

__all__ = [
    "Arrow",
    "Body",
    "Columns",
    "Dot",
    "Drawing",
    "Fixed",
    "Label",
    "Link",
    "On",
    "Part",
    "Path",
    "Pin",
    "Spring",
    "Trace",
]
