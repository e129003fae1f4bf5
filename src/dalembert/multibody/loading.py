"""How couplings and force elements are added to a `Multibody`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, flag, shown
from dalembert.errors import ModelError
from dalembert.multibody import elements
from dalembert.multibody.parts import Body, Frame, Joint
from dalembert.multibody.quantities import Number, name_of, number, value_of, vector


class Loading:
    """The methods of a `Multibody` that add couplings and force elements."""

    planar: bool
    elements: list[elements.Element]
    _names: dict[str, str]
    # of the other parts
    _new: Callable[[str, Any], str]
    _mine: Callable[[str, str, Any], None]
    _my_joint: Callable[..., Joint]
    _my_parameters: Callable[..., None]

    def coupling(self, name: str, joint: Joint | str, other: Joint | str, ratio: Any = 1.0, offset: Any = 0.0):
        """Let the coordinate of a joint be `ratio` times that of another one, plus `offset`."""
        where = f"coupling '{self._new('coupling', name)}'"
        return self._couple(
            where, name, joint, other, (number(where, "ratio", ratio), 1.0), number(where, "offset", offset)
        )

    def _couple(self, where: str, name: str, joint: Any, other: Any, ratio: tuple[Number, Number], offset: Number):
        one, two = self._my_joint(where, joint), self._my_joint(where, other)
        if one is two:
            raise ModelError(f"{where}: couples joint '{one.name}' with itself")
        coupling = self._element(elements.Coupling(name, one, two, *ratio, offset))
        for joint in (one, two):
            joint.counted = joint.counted or joint.kind.name in ("revolute", "screw")
        return coupling

    def gear(
        self, name: str, joint: Joint | str, other: Joint | str, teeth: Any, other_teeth: Any, inner: bool = False
    ):
        """Two wheels in mesh: joint · teeth = −other · other_teeth, or plus with `inner` teeth."""
        where = f"gear '{self._new('gear', name)}'"
        mine, others = number(where, "teeth", teeth, above=0.0), number(where, "other_teeth", other_teeth, above=0.0)
        reverses = not _flag(where, "inner", inner)
        gear = self._couple(where, name, joint, other, (others, mine), 0.0)
        gear.reverses = reverses
        return gear

    def rack(self, name: str, slider: Joint | str, wheel: Joint | str, radius: Any):
        """A rack moved by a pinion: the slider's distance is `radius` times the angle of the wheel."""
        where = f"rack '{self._new('rack', name)}'"
        return self._couple(where, name, slider, wheel, (number(where, "radius", radius), 1.0), 0.0)

    # -- forces ----------------------------------------------------------------------------------------------------

    def _element(self, element: elements.Element) -> elements.Element:
        where = f"{type(element).__name__.lower()} '{element.name}'"
        for value in vars(element).values():
            self._my_parameters(where, *(value if isinstance(value, tuple) else (value,)))
            if isinstance(value, Frame):
                self._my_parameters(where, *value.at)
        self.elements.append(element)
        self._names[element.name] = where
        return element

    def _frame(self, where: str, which: str, part: Any) -> Frame:
        self._mine(where, which, part)
        return part if isinstance(part, Frame) else Frame(part)

    def spring(self, name: str, first, second, stiffness: Any, damping: Any = 0.0, length: Any = 0.0):
        """A spring and damper between two points.

        Parameters
        ----------
        first, second : Body or Frame
        stiffness : float, or function of the elongation that returns the force
        damping : float, or function of the rate of the length that returns the force
        length : float
            At which the spring is without force.
        """
        where = f"spring '{self._new('spring', name)}'"
        a, b = self._frame(where, "first", first), self._frame(where, "second", second)
        if a.body is b.body:
            raise ModelError(f"{where}: both ends are on '{a.body.name}', where it does nothing")
        k = stiffness if callable(stiffness) else number(where, "stiffness", stiffness)
        d = damping if callable(damping) else number(where, "damping", damping, least=0.0)
        return self._element(elements.Spring(name, a, b, k, d, number(where, "length", length, least=0.0)))

    def torsion(self, name: str, joint: Joint | str, stiffness: Any, damping: Any = 0.0, rest: Any = 0.0):
        """A spring and damper in a joint of one freedom; numbers, or functions of deflection and of rate."""
        where = f"torsion '{self._new('torsion', name)}'"
        joint = self._my_joint(where, joint)
        k = stiffness if callable(stiffness) else number(where, "stiffness", stiffness)
        d = damping if callable(damping) else number(where, "damping", damping, least=0.0)
        torsion = self._element(elements.Torsion(name, joint, k, d, number(where, "rest", rest)))
        joint.counted = joint.counted or joint.kind.name in ("revolute", "screw")
        return torsion

    def bushing(
        self,
        name: str,
        first,
        second,
        stiffness: Any,
        rotational: Any,
        damping: Any = 0.0,
        rotational_damping: Any = 0.0,
    ):
        """Holds two frames together elastically, with stiffness and damping along and about the axes of the first.

        The restoring torque grows with the sine of the angle between the frames. Numbers hold for all axes.
        """
        where = f"bushing '{self._new('bushing', name)}'"
        a, b = self._frame(where, "first", first), self._frame(where, "second", second)
        if a.body is b.body:
            raise ModelError(f"{where}: both ends are on '{a.body.name}', where it does nothing")
        given = (
            ("stiffness", stiffness),
            ("rotational", rotational),
            ("damping", damping),
            ("rotational_damping", rotational_damping),
        )
        return self._element(elements.Bushing(name, a, b, *(_three(where, what, value) for what, value in given)))

    def actuator(
        self,
        name: str,
        joint: Joint | str,
        command: Any = 0.0,
        *,
        time_constant: Any = None,
        states: Mapping[str, float] | None = None,
        dynamics: Callable | None = None,
        force: Callable | None = None,
    ):
        """A motor in a joint.

        Parameters
        ----------
        command : float or function of the namespace s
            The torque, or force. Functions may read `s["joint.angle"]`, rates, inputs, parameters and `s.t`.
        time_constant : float, optional
            The torque follows the command with this delay: it is then a state, "name.force".
        states, dynamics, force : mapping, function, function
            For motors of your own: start values of the states by name, their derivatives, the force; functions of s,
            in which states are `s["name.state"]`.
        """
        where = f"actuator '{self._new('actuator', name)}'"
        joint = self._my_joint(where, joint)
        if states is None and (dynamics is not None or force is not None):
            raise ModelError(f"{where}: dynamics= and force= need states=, the start values by name")
        if states is not None:
            if not isinstance(states, Mapping) or not states:
                raise ModelError(f"{where}: states={shown(states)} must map names to start values")
            if not (callable(dynamics) and callable(force)):
                raise ModelError(f"{where}: states= need dynamics= and force=, two functions of s")
            states = {
                name_of(f"{where}, state", k): value_of(number(where, f"states[{shown(k)}]", v))
                for k, v in states.items()
            }
        if time_constant is not None:
            time_constant = number(where, "time_constant", time_constant, above=0.0)
        if not callable(command):
            command = number(where, "command", command)
        return self._element(elements.Actuator(name, joint, command, time_constant, states, dynamics, force))

    def friction(self, name: str, joint: Joint | str, coulomb: Any, *, viscous: Any = 0.0, stiction: Any = None,
                 stribeck: Any = 0.1, smoothing: Any = 1e-3):  # fmt: skip
        """Friction in a joint: coulomb · tanh(rate/smoothing) + viscous · rate, and more near rest with `stiction`.

        `stiction` is the force at rest, from which it falls to `coulomb` over rates of the size `stribeck`.
        """
        where = f"friction '{self._new('friction', name)}'"
        joint = self._my_joint(where, joint)
        c = number(where, "coulomb", coulomb, least=0.0)
        return self._element(
            elements.Friction(
                name, joint, c, number(where, "viscous", viscous, least=0.0),
                c if stiction is None else number(where, "stiction", stiction, least=0.0),
                number(where, "stribeck", stribeck, above=0.0), number(where, "smoothing", smoothing, above=0.0),
            )
        )  # fmt: skip

    def force(self, name: str, frame: Body | Frame, force: Any = None, torque: Any = None, *, local: bool = False):
        """A force at the origin of a frame, and a torque.

        Parameters
        ----------
        force, torque : vectors, or functions of the namespace s that return them
            s has `position`, `velocity`, `orientation`, `angular_velocity` of the frame, `t`, inputs, parameters, and
            joint coordinates and rates as `s["motor.angle"]`. In planar systems a torque is a number.
        local : bool
            Whether they are given in axes of the frame rather than in those of the world.
        """
        where = f"force '{self._new('force', name)}'"
        at = self._frame(where, "frame", frame)
        if at.body.is_ground:
            raise ModelError(f"{where}: acts on the ground, where it does nothing")
        if force is None and torque is None:
            raise ModelError(f"{where}: give force= or torque=")
        if force is not None and not callable(force):
            force = vector(where, "force", force, self.planar)
        if torque is not None and not callable(torque):
            torque = (
                (0.0, 0.0, number(where, "torque", torque)) if self.planar else vector(where, "torque", torque, False)
            )
        return self._element(elements.Force(name, at, force, torque, _flag(where, "local", local)))

    def drag(self, name: str, frame: Body | Frame, coefficient: Any, *, linear: Any = 0.0, wind: Any = None):
        """Resistance of the air: −(coefficient |v| + linear) v at a frame, with v relative to the wind.

        `coefficient` is ½ ρ c_w A.
        """
        where = f"drag '{self._new('drag', name)}'"
        at = self._frame(where, "frame", frame)
        if at.body.is_ground:
            raise ModelError(f"{where}: acts on the ground, where it does nothing")
        blowing = (0.0, 0.0, 0.0) if wind is None else vector(where, "wind", wind, self.planar)
        c, d = number(where, "coefficient", coefficient, least=0.0), number(where, "linear", linear, least=0.0)
        return self._element(elements.Drag(name, at, c, d, blowing))


def _flag(where: str, what: str, value: Any) -> bool:
    try:
        return flag(value)
    except NoNumber:
        raise ModelError(f"{where}: {what}={shown(value)} must be True or False") from None


def _three(where: str, what: str, value: Any) -> tuple[Number, Number, Number]:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return vector(where, what, value, False)
    single = number(where, what, value, least=0.0)
    return (single, single, single)
