"""Attributes of URDF elements as numbers, vectors and poses; faults are collected with their lines."""

from __future__ import annotations

import math
import re

import numpy as np

from dalembert.checks import shown
from dalembert.multibody.placement import fixed, from_quaternion, from_rpy
from dalembert.multibody.urdf.robot import UNTURNED, Pose
from dalembert.multibody.urdf.xml_tree import Element

#: beyond this no length, mass or angle makes sense, and squares of it soon overflow
LARGEST = 1e30

#: characters of a name, and of the numbers of an attribute
LONGEST_NAME, LONGEST_NUMBERS = 1000, 10_000

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_XACRO = re.compile(r"\$[{(]")


class Findings:
    """What is wrong with a description, what is ignored in it, and which inertias are doubtful; with lines."""

    def __init__(self) -> None:
        self.faults: list[tuple[int, str]] = []
        self.notes: list[tuple[int, str]] = []
        self.doubts: list[tuple[int, str]] = []

    def fault(self, line: int, where: str, what: str) -> None:
        self.faults.append((line, f"line {line}, {where}: {what}"))

    def note(self, line: int, where: str, what: str) -> None:
        self.notes.append((line, f"line {line}, {where}: {what}"))

    def doubt(self, line: int, where: str, what: str) -> None:
        self.doubts.append((line, f"line {line}, {where}: {what}"))

    # -- attributes ------------------------------------------------------------------------------------------------

    def text(self, element: Element, attribute: str, where: str, longest: int = LONGEST_NAME) -> str | None:
        """An attribute that must be there and not be empty."""
        value = element.attributes.get(attribute)
        if value is None:
            self.fault(element.line, where, f"<{element.tag}> has no attribute {attribute}")
            return None
        if not value.strip():
            self.fault(element.line, where, f"the attribute {attribute} of <{element.tag}> is empty")
            return None
        if len(value) > longest:
            self.fault(
                element.line, where, f"the attribute {attribute} of <{element.tag}> has more than {longest} characters"
            )
            return None
        return value

    def number(
        self, element: Element, attribute: str, where: str, default: float | None = None, *, infinite: bool = False
    ) -> float | None:
        """A number; the default if there is none or a wrong one. Without default it must be there."""
        value = element.attributes.get(attribute)
        if value is None:
            if default is None:
                self.fault(element.line, where, f"<{element.tag}> has no attribute {attribute}")
            return default
        found = self.numbers(element, attribute, value, where, 1, infinite=infinite)
        return default if found is None else found[0]

    def vector(self, element: Element, attribute: str, where: str, count: int = 3) -> list[float] | None:
        """Numbers with blanks between them; None if there are none or wrong ones."""
        value = element.attributes.get(attribute)
        return None if value is None else self.numbers(element, attribute, value, where, count)

    def numbers(
        self, element: Element, what: str, text: str, where: str, count: int, *, infinite: bool = False
    ) -> list[float] | None:
        """As many numbers as they should be, from a text; otherwise None, and a fault."""
        if len(text) > LONGEST_NUMBERS:
            self.fault(element.line, where, f"{what} of <{element.tag}> has more than {LONGEST_NUMBERS} characters")
            return None
        pieces = text.split()
        for piece in pieces:
            why = _not_a_number(piece, infinite)
            if why:
                self.fault(element.line, where, f'<{element.tag} {what}="{short(text)}">: {shown(piece)} {why}')
                return None
        if len(pieces) != count:
            needed = "one number" if count == 1 else f"{count} numbers"
            written = f'<{element.tag} {what}="{short(text)}">'
            self.fault(element.line, where, f"{written} has {len(pieces)} numbers; it needs {needed}")
            return None
        return [float(piece) for piece in pieces]

    # -- elements --------------------------------------------------------------------------------------------------

    def single(self, parent: Element, tag: str, where: str) -> Element | None:
        """The child of this name, of which there may be one at most."""
        found = parent.all(tag)
        if len(found) > 1:
            lines = f"{found[0].line} and {found[1].line}"
            self.fault(found[1].line, where, f"<{parent.tag}> has more than one <{tag}> (lines {lines}); remove one")
        return found[0] if found else None

    def pose(self, element: Element | None, where: str) -> Pose:
        """Position and rotation that attributes xyz and rpy (or quat_xyzw) give; zero is the default of either."""
        if element is None:
            return Pose()
        xyz = self.vector(element, "xyz", where) or [0.0, 0.0, 0.0]
        rotation = UNTURNED
        if "quat_xyzw" in element.attributes:
            quaternion = self.vector(element, "quat_xyzw", where, 4)
            if "rpy" in element.attributes:
                self.fault(element.line, where, f"<{element.tag}> has both rpy and quat_xyzw; remove one")
            elif quaternion is not None and not any(quaternion):
                self.fault(element.line, where, f"<{element.tag}> has a quaternion of zeros, which is no rotation")
            elif quaternion is not None:
                rotation = fixed(from_quaternion(*quaternion))
        else:
            angles = self.vector(element, "rpy", where)
            if angles is not None and any(angles):
                rotation = fixed(from_rpy(*angles))
        return Pose(fixed(np.array(xyz)), rotation)

    def direction(self, element: Element, values: list[float] | None, where: str) -> np.ndarray | None:
        """The unit vector along these numbers."""
        if values is None:
            return None
        largest = max(map(abs, values))
        if largest == 0:
            self.fault(element.line, where, f"<{element.tag}> has the axis 0 0 0, which has no direction")
            return None
        scaled = np.array(values) / largest  # numbers of any size have a direction
        return fixed(scaled / math.hypot(*scaled))

    def axis(self, element: Element | None, where: str) -> np.ndarray:
        """The unit vector of an axis element; x is the default."""
        found = None
        if element is not None and self.text(element, "xyz", where, LONGEST_NUMBERS) is not None:
            found = self.direction(element, self.vector(element, "xyz", where), where)
        return fixed(np.array([1.0, 0.0, 0.0])) if found is None else found


def _not_a_number(piece: str, infinite: bool) -> str:
    """Why a text is no number that we take; empty if it is one."""
    if infinite and piece.lower().lstrip("+-") in ("inf", "infinity"):
        return ""
    if not _NUMBER.fullmatch(piece):
        if _XACRO.search(piece):
            return "is a macro of xacro, which must be expanded before: xacro robot.urdf.xacro > robot.urdf"
        if piece.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            return "is not finite"
        return "is not a number" + ("; decimals are separated by a point" if "," in piece else "")
    if abs(float(piece)) > LARGEST:
        return f"is too large: numbers go to {LARGEST:g}"
    return ""


def short(text: str) -> str:
    """At most sixty characters of a text, for messages."""
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:60] + "…"
