"""Kinds of joints as data: which elementary motions follow each other, and what their coordinates are called."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from dalembert.kept import computed
from dalembert.multibody import moves


class Move(IntEnum):
    """Elementary motions of one frame relative to another, see `moves`."""

    REVOLUTE = moves.REVOLUTE
    PRISMATIC = moves.PRISMATIC
    SCREW = moves.SCREW
    SPHERICAL = moves.SPHERICAL
    FREE = moves.FREE


#: numbers of coordinates and of velocities
COUNTS = {
    Move.REVOLUTE: (1, 1), Move.PRISMATIC: (1, 1), Move.SCREW: (1, 1), Move.SPHERICAL: (4, 3), Move.FREE: (7, 6),
}  # fmt: skip


@dataclass(frozen=True)
class JointKind:
    """Moves of a joint in their order from the first body to the second; each with "axis", "second" or x, y, z."""

    name: str
    moves: tuple[tuple[Move, str], ...]
    coordinates: tuple[str, ...]
    planar: bool | None = False  # for planar systems, for spatial ones, or (None) for both

    @computed
    def rates(self) -> tuple[str, ...]:
        """Names of the velocities: those of coordinates with `_dot`, and turning speeds about the body's axes."""
        if "e0" not in self.coordinates:
            return tuple(f"{name}_dot" for name in self.coordinates)
        moving = tuple(f"{name}_dot" for name in self.coordinates if not name.startswith("e"))
        return (*moving, "wx", "wy", "wz")

    @computed
    def freedoms(self) -> int:
        return len(self.rates)


_E = ("e0", "e1", "e2", "e3")
KINDS = {
    kind.name: kind
    for kind in (
        JointKind("revolute", ((Move.REVOLUTE, "axis"),), ("angle",), None),
        JointKind("prismatic", ((Move.PRISMATIC, "axis"),), ("distance",), None),
        JointKind("screw", ((Move.SCREW, "axis"),), ("angle",)),
        JointKind("cylindrical", ((Move.PRISMATIC, "axis"), (Move.REVOLUTE, "axis")), ("distance", "angle")),
        JointKind("universal", ((Move.REVOLUTE, "axis"), (Move.REVOLUTE, "second")), ("angle1", "angle2")),
        JointKind("spherical", ((Move.SPHERICAL, "axis"),), _E),
        JointKind(
            "planar", ((Move.PRISMATIC, "x"), (Move.PRISMATIC, "y"), (Move.REVOLUTE, "z")), ("x", "y", "angle"), None
        ),
        JointKind("free", ((Move.FREE, "axis"),), ("x", "y", "z", *_E)),
        JointKind("fixed", (), (), None),
        JointKind("pin in slot", ((Move.PRISMATIC, "x"), (Move.REVOLUTE, "z")), ("distance", "angle"), True),
        JointKind("rolling disc", ((Move.PRISMATIC, "x"), (Move.REVOLUTE, "z")), ("distance", "angle"), True),
    )
}
#: how bodies move that no joint holds, or whose coordinates are absolute: their centres of mass
FREE_BODY = JointKind("free body", ((Move.FREE, "axis"),), ("com_x", "com_y", "com_z", *_E))
FREE_PLANAR_BODY = JointKind(
    "free body", ((Move.PRISMATIC, "x"), (Move.PRISMATIC, "y"), (Move.REVOLUTE, "z")), ("com_x", "com_y", "angle"), True
)
