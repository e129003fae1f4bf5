"""How joints are added to a `Multibody`."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, reals, shown
from dalembert.errors import ModelError, OptionError
from dalembert.multibody.elements import ANGLES, Drive, Element
from dalembert.multibody.kinds import KINDS, Move
from dalembert.multibody.parts import Body, Frame, Joint, placed
from dalembert.multibody.quantities import Parameter, direction, number, values_of, vector


class Joining:
    """The methods of a `Multibody` that add joints."""

    planar: bool
    joints: list[Joint]
    elements: list[Element]
    inputs: dict[str, Any]
    parameters: dict[str, Parameter]
    _names: dict[str, str]
    _new: Callable[[str, Any], str]  # of the other parts

    def revolute(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """A hinge: the second body turns about an axis of the first.

        Parameters
        ----------
        name : str
        first, second : Body or Frame
        axis : "x", "y", "z" or vector
            In axes of the joint's frames. Default z.
        at, rotation : vector, rotation
            The joint's frame on the first body (or relative to the given frame). Default: the body's own frame.
        to, rotation_to : vector, rotation
            The joint's frame on the second body. Where all coordinates are zero, both frames coincide.
        q0, v0 : float, optional
            Coordinate and its rate at the start, if they are known.
        drive : function of time or Input, or a mapping of coordinates to these, optional
            Prescribes the coordinate.
        damping, stiffness, rest : float
            A force −damping · rate − stiffness · (coordinate − rest) in the joint.
        limits : (float, float), optional
            Range of the coordinate; not enforced.
        cut : bool, optional
            Whether a loop is to be opened at this joint.

        All joints take these arguments as far as they have a meaning.
        """
        return self._joint("revolute", name, first, second, options)

    def prismatic(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """A slider: the second body moves along an axis of the first. Arguments: see `revolute`."""
        return self._joint("prismatic", name, first, second, options)

    def screw(self, name: str, first: Body | Frame, second: Body | Frame, pitch: Any, **options: Any) -> Joint:
        """A screw: turning by one radian moves the second body by `pitch` along the axis. See `revolute`."""
        return self._joint("screw", name, first, second, options | {"pitch": pitch})

    def cylindrical(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """The second body turns about an axis and moves along it. See `revolute`."""
        return self._joint("cylindrical", name, first, second, options)

    def universal(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """Turns about `axis`, then about `second_axis` (default x), which is perpendicular to it. See `revolute`."""
        return self._joint("universal", name, first, second, options)

    def spherical(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """A ball joint. Coordinates: Euler parameters e0 … e3; speeds wx, wy, wz in axes of the second body."""
        return self._joint("spherical", name, first, second, options)

    def plane(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """The second body moves in the plane x, y of the joint's frame and turns about its z."""
        return self._joint("planar", name, first, second, options)

    def free(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """No constraint at all, but coordinates of the second body relative to the first."""
        return self._joint("planar" if self.planar else "free", name, first, second, options)

    def fixed(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """Holds the second body on the first."""
        return self._joint("fixed", name, first, second, options)

    def pin_in_slot(self, name: str, first: Body | Frame, second: Body | Frame, **options: Any) -> Joint:
        """A pin of the second body in a slot of the first, along x of the joint's frame there (planar systems)."""
        return self._joint("pin in slot", name, first, second, options)

    def rolling_disc(self, name: str, first: Body | Frame, second: Body | Frame, radius: Any, **options: Any) -> Joint:
        """A disc, fixed to the second body with its centre at `to`, rolls on the line x of the first (planar systems).

        It lies on the side of positive y (radius > 0), and touches the origin of the joint's frame at angle zero.
        """
        return self._joint("rolling disc", name, first, second, options | {"radius": radius})

    def _joint(
        self, kind_name: str, name: str, first: Body | Frame, second: Body | Frame, options: dict[str, Any]
    ) -> Joint:
        name = self._new("joint", name)
        where = f"joint '{name}'"
        kind = KINDS[kind_name]
        if kind.planar is not None and kind.planar != self.planar:
            raise ModelError(
                f"{where}: a {kind.name} joint is for {'planar' if kind.planar else 'spatial'} systems"
                + (", and this one has planar=True" if self.planar else "; this one has planar=False")
            )
        for option in options:
            if option not in _OPTIONS and option != _MORE.get(kind_name):
                known = _OPTIONS | {_MORE[kind_name]} if kind_name in _MORE else _OPTIONS
                near = difflib.get_close_matches(option, known, n=1)
                hint = f"; did you mean {near[0]}=?" if near else f" (it takes {', '.join(sorted(known))})"
                raise OptionError(f"{where}: a {kind.name} joint takes no {option}={hint}")
        self._mine(where, "first", first)
        self._mine(where, "second", second)
        ends = (
            placed(f"{where}, first body", first, options.get("at"), options.get("rotation")),
            placed(f"{where}, second body", second, options.get("to"), options.get("rotation_to")),
        )
        if ends[0].body is ends[1].body:
            raise ModelError(
                f"{where}: both ends are on '{ends[0].body.name}'; a joint connects two bodies, or a body and mb.ground"
            )
        joint = Joint(len(self.joints), name, kind, *ends)
        if "axis" in options:
            if self.planar and kind_name == "prismatic":
                joint.axis = _in_plane(where, options["axis"])
            elif self.planar:
                raise ModelError(f"{where}: in a planar system everything turns about z; leave out axis=")
            elif not any(which == "axis" for move, which in kind.moves if move <= Move.SCREW):
                raise OptionError(f"{where}: a {kind.name} joint has no axis of its own; turn its frame by rotation=")
            else:
                joint.axis = direction(where, "axis", options["axis"])
        elif self.planar and kind_name == "prismatic":
            joint.axis = (1.0, 0.0, 0.0)
        if kind_name == "universal":
            joint.second_axis = direction(where, "second_axis", options.get("second_axis", "x"))
            if abs(np.dot(joint.axis, joint.second_axis)) > 1e-9:
                raise ModelError(f"{where}: second_axis must be perpendicular to axis; give another one")
        if kind_name == "screw":
            joint.pitch = number(where, "pitch", options["pitch"])
        if kind_name == "rolling disc":
            joint.radius = number(where, "radius", options["radius"], above=0.0)
        self._set_motion(where, joint, options)
        self._my_parameters(where, *ends[0].at, *ends[1].at, joint.pitch, joint.radius, joint.damping, joint.stiffness)
        self._my_parameters(where, joint.rest)
        drives = _drives(where, joint, options.get("drive"))
        if joint.drive is not None:
            self.inputs[joint.drive] = options["drive"]
        self.joints.append(joint)
        self._names[name] = where
        for drive, functions in drives:
            self.inputs |= dict(zip(drive.inputs, functions, strict=True))
            self.elements.append(drive)
        return joint

    def _my_parameters(self, where: str, *values: Any) -> None:
        """Refuse parameters that another system has made."""
        for value in values:
            if type(value) is Parameter and self.parameters.get(value.name) is not value:
                raise ModelError(
                    f"{where}: parameter '{value.name}' belongs to another Multibody; "
                    "make it with mb.parameter(...) of this one"
                )

    def _set_motion(self, where: str, joint: Joint, options: Mapping[str, Any]) -> None:
        kind = joint.kind
        for option, count in (("q0", len(kind.coordinates)), ("v0", kind.freedoms)):
            if options.get(option) is not None:
                setattr(joint, option, _start_values(where, option, options[option], count))
        if joint.q0 is not None and kind.name in ("spherical", "free"):
            _check_euler_parameters(where, joint.q0[-4:])
        single = kind.freedoms == 1
        for option in ("damping", "stiffness", "rest"):
            if option not in options:
                continue
            if not single:
                raise ModelError(
                    f"{where}: {option}= is for joints with one freedom; this {kind.name} one has {kind.freedoms}"
                )
            setattr(joint, option, number(where, option, options[option], least=None if option == "rest" else 0.0))
        joint.counted = joint.stiffness != 0.0 and kind.name in ("revolute", "screw")
        if options.get("drive") is not None and single:
            joint.drive = f"{joint.name}.drive"
        if options.get("limits") is not None:
            low, high = values_of(_start_values(where, "limits", options["limits"], 2))
            if low > high:
                raise ModelError(f"{where}: limits=({low:g}, {high:g}) are in the wrong order")
            joint.limits = (low, high)
        if not isinstance(options.get("cut"), bool | None):
            raise ModelError(f"{where}: cut={shown(options['cut'])} must be True, False or None")
        joint.cut = options.get("cut")

    def _mine(self, where: str, which: str, part: Any) -> None:
        body = part.body if isinstance(part, Frame) else part
        if not isinstance(body, Body):
            known = isinstance(part, str) and part in self._names
            hint = f"; mb.bodies has one of this name: take what mb.body({part!r}) returned" if known else ""
            raise ModelError(f"{where}: {which}={shown(part)} must be a body, a frame, or mb.ground{hint}")
        if body.system is not self:
            raise ModelError(f"{where}: '{body.name}' belongs to another Multibody ('{body.system.name}')")

    def _my_joint(self, where: str, joint: Any, *, single: bool = True) -> Joint:
        if isinstance(joint, str):
            found = [candidate for candidate in self.joints if candidate.name == joint]
            if not found:
                near = difflib.get_close_matches(joint, [candidate.name for candidate in self.joints], n=1)
                raise ModelError(
                    f"{where}: there is no joint '{joint}'" + (f"; did you mean '{near[0]}'?" if near else "")
                )
            joint = found[0]
        if not isinstance(joint, Joint) or joint.number >= len(self.joints) or self.joints[joint.number] is not joint:
            raise ModelError(f"{where}: {shown(joint)} is not a joint of this system")
        if single and joint.kind.freedoms != 1 and joint.kind.name != "rolling disc":
            raise ModelError(
                f"{where}: joint '{joint.name}' is {joint.kind.name} and has {joint.kind.freedoms} freedoms; "
                "one with a single freedom is needed"
            )
        return joint


_OPTIONS = {
    "axis", "at", "to", "rotation", "rotation_to", "q0", "v0", "drive", "damping", "stiffness", "rest", "limits", "cut",
}  # fmt: skip
_EULER = ("e0", "e1", "e2", "e3")
#: options of single kinds
_MORE = {"screw": "pitch", "rolling disc": "radius", "universal": "second_axis"}


def _drives(where: str, joint: Joint, given: Any) -> list[tuple[Drive, tuple]]:
    """Drives of a joint with several freedoms, each with the functions of its inputs."""
    kind = joint.kind
    if given is None or kind.freedoms == 1:
        return []
    if not kind.freedoms:
        raise ModelError(f"{where}: a fixed joint has no coordinate that could be driven")
    parts = tuple(part for part in kind.coordinates if part not in _EULER)
    turns = len(parts) < len(kind.coordinates)
    allowed = (*parts, "orientation") if turns else parts
    if not isinstance(given, Mapping):
        raise ModelError(
            f"{where}: a {kind.name} joint has several coordinates; give drive={{{allowed[0]!r}: function, …}} with "
            f"some of {', '.join(allowed)}"
        )
    found = []
    for part, function in given.items():
        if part not in allowed:
            raise ModelError(f"{where}: drive={{{shown(part)}: …}}: a {kind.name} joint has {', '.join(allowed)}")
        if part == "orientation":
            if isinstance(function, str) or not isinstance(function, Sequence) or len(function) != 3:
                raise ModelError(f"{where}: drive={{'orientation': …}} needs three functions: roll, pitch, yaw")
            names = tuple(f"{joint.name}.{angle}_drive" for angle in ANGLES)
            found += [(Drive(f"{joint.name}.{angle}", joint, angle, names), tuple(function)) for angle in ANGLES]
        else:
            names = (f"{joint.name}.{part}_drive",)
            found.append((Drive(f"{joint.name}.{part}", joint, part, names), (function,)))
    joint.kept = bool(found)
    return found


def _in_plane(where: str, axis: Any) -> tuple[float, float, float]:
    if isinstance(axis, str) and axis in ("x", "y", "-x", "-y"):
        return direction(where, "axis", axis)
    x, y, _ = values_of(vector(where, "axis", axis, True))
    return direction(where, "axis", (x, y, 0.0))


def _start_values(where: str, what: str, value: Any, count: int) -> tuple[float, ...]:
    if count == 1 and type(value) is float and math.isfinite(value):
        return (value,)
    try:
        entries = reals(value)
    except NoNumber as reason:
        raise ModelError(f"{where}: {what}={shown(value)} {reason}") from None
    if entries.shape != (count,) and not (count == 1 and entries.ndim == 0):
        raise ModelError(f"{where}: {what}={shown(value)} must have {count} component{'' if count == 1 else 's'}")
    if not np.isfinite(entries).all():
        raise ModelError(f"{where}: {what}={shown(value)} must be finite")
    return tuple(np.ravel(entries).tolist())


def _check_euler_parameters(where: str, e: tuple[float, ...]) -> None:
    if abs(math.hypot(*e) - 1.0) > 1e-6:
        raise ModelError(f"{where}: the Euler parameters in q0, {e}, must have length 1")
