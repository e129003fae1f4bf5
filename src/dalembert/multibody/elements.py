"""Force elements: what acts between bodies besides joints. Each puts its forces into a `Scene`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.errors import ModelError
from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import Scalar
from dalembert.multibody.parts import Frame, Joint

if TYPE_CHECKING:
    from dalembert.multibody.scene import Scene


#: added to squares of lengths and speeds below roots: also the cube of its root is far from the smallest numbers
TINY = 1e-60


#: of an orientation: about x, then about the fixed y, then about the fixed z
ANGLES = ("roll", "pitch", "yaw")


class Element:
    """Base of all. `states` are variables of its own with start values, `act` puts in the forces."""

    name: str

    def state_values(self) -> dict[str, float]:
        """Start values of the element's own states, by full name."""
        return {}

    def act(self, scene: Scene) -> None:
        """Put forces, potential energy and reports into the scene."""

    def dynamics(self, scene: Scene) -> list[Scalar]:
        """Derivatives of the states."""
        return []

    def constraints(self, scene: Scene) -> list[tuple[str, Scalar]]:
        """Holonomic constraints, each with a label."""
        return []

    def slopes(self, scene: Scene) -> list[tuple[Joint, Scalar]]:
        """Derivatives of the one constraint by coordinates of joints of one freedom."""
        return []


@dataclass(eq=False)
class Coupling(Element):
    """q = ratio/per · q_other + offset, with the opposite sign if it reverses."""

    name: str
    joint: Joint
    other: Joint
    ratio: Any
    per: Any
    offset: Any
    reverses: bool = False

    def _factor(self, scene: Scene) -> Scalar:
        ratio = scene.value(self.ratio) / scene.value(self.per)
        return -ratio if self.reverses else ratio

    def constraints(self, scene: Scene) -> list[tuple[str, Scalar]]:
        follows = al.times(self._factor(scene), scene.coordinate(self.other))
        follows = al.plus(follows, scene.value(self.offset))
        return [("coupling", al.minus(scene.coordinate(self.joint), follows))]

    def slopes(self, scene: Scene) -> list[tuple[Joint, Scalar]]:
        return [(self.joint, 1.0), (self.other, -self._factor(scene))]


@dataclass(eq=False)
class Drive(Element):
    """One of several coordinates of a joint, or one of three angles of its orientation, is prescribed."""

    name: str  # "tube.angle"
    joint: Joint
    part: str  # a coordinate, or "roll", "pitch", "yaw"
    inputs: tuple[str, ...]  # one, or those of all three angles

    def constraints(self, scene: Scene) -> list[tuple[str, Scalar]]:
        if not scene.bones.in_tree(self.joint):
            raise ModelError(
                f"joint '{self.joint.name}' is driven and has several freedoms, but its loop is opened at it; open "
                "it at another joint (cut=True)"
            )
        values = [scene.symbols.inputs[name] for name in self.inputs]
        if self.part not in ANGLES:
            place = scene.bones.names.index(f"{self.joint.name}.{self.part}")
            return [("drive", al.minus(scene.q[place], values[0]))]
        A, B = scene.motion(self.joint.first), scene.motion(self.joint.second)
        roll, pitch, yaw = (al.rotation_about(axis, value) for axis, value in zip(al.UNIT, values, strict=True))
        wanted = al.product(A.R, al.product(yaw, al.product(pitch, roll)))
        k = ANGLES.index(self.part)  # the component of the small rotation that is left
        i, j = (k + 1) % 3, (k + 2) % 3
        left = al.minus(
            al.dot(al.column(wanted, j), al.column(B.R, i)), al.dot(al.column(wanted, i), al.column(B.R, j))
        )
        return [("drive", al.times(0.5, left))]


@dataclass(eq=False)
class Spring(Element):
    """Along the line between two points."""

    name: str
    first: Frame
    second: Frame
    stiffness: Any
    damping: Any
    length: Any

    def act(self, scene: Scene) -> None:
        A, B = scene.motion(self.first), scene.motion(self.second)
        d, u = al.subtract(B.x, A.x), al.subtract(B.v, A.v)
        rest = scene.value(self.length)
        bare = type(rest) is not ca.SX and rest == 0.0
        if bare and self.damping == 0.0 and not callable(self.stiffness):
            k = scene.value(self.stiffness)  # linear in the positions: no root, and nothing to divide by
            pull = al.scale(k, d)
            scene.potential = al.plus(scene.potential, al.times(0.5, al.times(k, al.dot(d, d))))
            length = al.norm(d)
            force = al.times(k, length)
        else:
            # without a rest length the force vanishes with the length: what is added only keeps 0/0 away
            length = al.root(al.plus(al.dot(d, d), TINY)) if bare else al.norm(d)
            rate = al.dot(d, u) / length
            force = al.plus(self._elastic(scene, length - rest), self._viscous(scene, rate))
            pull = al.scale(force / length, d)
        scene.act(self.first, pull)
        scene.act(self.second, al.negative(pull))
        scene.reports[f"{self.name}.force"] = (force, "pull of the spring")
        scene.reports[f"{self.name}.length"] = (length, "length of the spring")

    def _elastic(self, scene: Scene, elongation: Scalar) -> Scalar:
        if callable(self.stiffness):
            scene.without_potential.append(f"spring '{self.name}'")
            return scene.apply(f"spring '{self.name}'", self.stiffness, elongation)
        k = scene.value(self.stiffness)
        scene.potential = al.plus(scene.potential, al.times(0.5, al.times(k, elongation**2)))
        return al.times(k, elongation)

    def _viscous(self, scene: Scene, rate: Scalar) -> Scalar:
        if callable(self.damping):
            return scene.apply(f"spring '{self.name}'", self.damping, rate)
        return al.times(scene.value(self.damping), rate)


@dataclass(eq=False)
class Torsion(Element):
    """In a joint."""

    name: str
    joint: Joint
    stiffness: Any
    damping: Any
    rest: Any

    def act(self, scene: Scene) -> None:
        deflection = al.minus(scene.coordinate(self.joint), scene.value(self.rest))
        rate, where = scene.rate(self.joint), f"torsion '{self.name}'"
        if callable(self.stiffness):
            scene.without_potential.append(where)
            elastic = scene.apply(where, self.stiffness, deflection)
        else:
            k = scene.value(self.stiffness)
            elastic = al.times(k, deflection)
            scene.potential = al.plus(scene.potential, al.times(0.5, al.times(elastic, deflection)))
        d = self.damping
        viscous = scene.apply(where, d, rate) if callable(d) else al.times(scene.value(d), rate)
        force = -al.plus(elastic, viscous)
        scene.drive(self.joint, force)
        scene.reports[f"{self.name}.force"] = (force, "torque, or force, of the spring in the joint")


@dataclass(eq=False)
class Bushing(Element):
    """Six linear springs and dampers between two frames."""

    name: str
    first: Frame
    second: Frame
    stiffness: tuple
    rotational: tuple
    damping: tuple
    rotational_damping: tuple

    def act(self, scene: Scene) -> None:
        A, B = scene.motion(self.first), scene.motion(self.second)
        d = al.turn_back(A.R, al.subtract(B.x, A.x))
        w = al.turn_back(A.R, al.subtract(B.w, A.w))
        u = al.turn_back(A.R, al.subtract(al.subtract(B.v, A.v), al.cross(A.w, al.subtract(B.x, A.x))))
        Q = al.product(al.transpose(A.R), B.R)
        k, c = scene.values(self.stiffness), scene.values(self.rotational)
        if scene.planar:
            sine = al.sine(al.minus(B.angle, A.angle))
            cosine = al.cosine(al.minus(B.angle, A.angle))
            turned, potential = (0.0, 0.0, sine), al.times(c[2], al.minus(1.0, cosine))
        else:
            turned = tuple(
                al.times(0.5, al.minus(Q[(i + 2) % 3][(i + 1) % 3], Q[(i + 1) % 3][(i + 2) % 3])) for i in range(3)
            )
            # c (1 − cos) of the angle of the relative rotation; with different stiffnesses there is none
            potential = al.times(c[0], al.times(0.5, al.minus(3.0, al.total([Q[0][0], Q[1][1], Q[2][2]]))))
            if len(set(self.rotational)) > 1:
                scene.without_potential.append(f"bushing '{self.name}' with different rotational stiffnesses")
        force = tuple(
            -al.plus(al.times(ki, di), al.times(bi, ui))
            for ki, di, bi, ui in zip(k, d, scene.values(self.damping), u, strict=True)
        )
        torque = tuple(
            -al.plus(al.times(ki, si), al.times(bi, wi))
            for ki, si, bi, wi in zip(c, turned, scene.values(self.rotational_damping), w, strict=True)
        )
        potential = al.plus(
            potential, al.times(0.5, al.total([al.times(ki, al.times(x, x)) for ki, x in zip(k, d, strict=True)]))
        )
        scene.potential = al.plus(scene.potential, potential)
        force, torque = al.turn(A.R, force), al.turn(A.R, torque)
        scene.act(self.second, force, torque)
        arm = al.subtract(B.x, A.x)
        scene.act(self.first, al.negative(force), al.negative(al.add(torque, al.cross(arm, force))))
        scene.reports[f"{self.name}.force"] = (force, "force of the bushing on the second body")
        scene.reports[f"{self.name}.torque"] = (torque, "torque of the bushing on the second body")


@dataclass(eq=False)
class Actuator(Element):
    """A motor, with states of its own if it has any."""

    name: str
    joint: Joint
    command: Any
    time_constant: Any
    states: dict[str, float] | None
    rates: Callable | None
    output: Callable | None

    def state_values(self) -> dict[str, float]:
        if self.states is not None:
            return {f"{self.name}.{state}": value for state, value in self.states.items()}
        return {} if self.time_constant is None else {f"{self.name}.force": 0.0}

    def _command(self, scene: Scene) -> Scalar:
        where = f"actuator '{self.name}'"
        return scene.call(where, self.command, 1)[0] if callable(self.command) else scene.value(self.command)

    def _state(self, scene: Scene, name: str) -> ca.SX:
        return scene.symbols.r[scene.symbols.states.index(name)]

    def act(self, scene: Scene) -> None:
        if self.states is not None:
            force = scene.call(f"actuator '{self.name}'", self.output, 1)[0]
        elif self.time_constant is not None:
            scene.drive(self.joint, self._state(scene, f"{self.name}.force"))  # a state, and so among the results
            return
        else:
            force = self._command(scene)
        scene.drive(self.joint, force)
        if f"{self.name}.force" not in self.state_values():
            scene.reports[f"{self.name}.force"] = (force, "torque, or force, of the motor")

    def dynamics(self, scene: Scene) -> list[Scalar]:
        if self.states is not None:
            return list(scene.call(f"actuator '{self.name}'", self.rates, len(self.states)))
        if self.time_constant is None:
            return []
        return [(self._command(scene) - self._state(scene, f"{self.name}.force")) / scene.value(self.time_constant)]


@dataclass(eq=False)
class Friction(Element):
    """In a joint, smooth at rest."""

    name: str
    joint: Joint
    coulomb: Any
    viscous: Any
    stiction: Any
    stribeck: Any
    smoothing: Any

    def act(self, scene: Scene) -> None:
        rate = scene.rate(self.joint)
        level = scene.value(self.coulomb)
        more = al.minus(scene.value(self.stiction), level)
        if type(more) is ca.SX or more != 0.0:
            level = level + more * ca.exp(-((rate / scene.value(self.stribeck)) ** 2))
        force = -(level * ca.tanh(rate / scene.value(self.smoothing)) + al.times(scene.value(self.viscous), rate))
        scene.drive(self.joint, force)
        scene.reports[f"{self.name}.force"] = (force, "torque, or force, of friction")


@dataclass(eq=False)
class Force(Element):
    """A force and a torque that a user gives."""

    name: str
    frame: Frame
    force: Any
    torque: Any
    local: bool

    def act(self, scene: Scene) -> None:
        motion = scene.motion(self.frame)
        where = f"force '{self.name}'"
        width = 2 if scene.planar else 3
        force, torque = al.ZERO, al.ZERO
        if self.force is not None:
            given = scene.call(where, self.force, width, motion) if callable(self.force) else scene.values(self.force)
            force = (*given, 0.0)[:3]
        if self.torque is not None:
            if callable(self.torque):
                given = scene.call(where, self.torque, 1 if scene.planar else 3, motion)
                torque = (0.0, 0.0, *given)[-3:]
            else:
                torque = scene.values(self.torque)
        if self.local:
            force, torque = al.turn(motion.R, force), al.turn(motion.R, torque)
        scene.act(self.frame, force, torque)
        scene.reports[f"{self.name}.force"] = (force, "the force")


@dataclass(eq=False)
class Drag(Element):
    """Resistance of the air."""

    name: str
    frame: Frame
    coefficient: Any
    linear: Any
    wind: tuple

    def act(self, scene: Scene) -> None:
        u = al.subtract(scene.motion(self.frame).v, scene.values(self.wind))
        # |u| has no derivative at rest, but |u| u has: what is added there is far below any tolerance
        speed = al.root(al.plus(al.dot(u, u), TINY))
        factor = al.plus(al.times(scene.value(self.coefficient), speed), scene.value(self.linear))
        force = al.negative(al.scale(factor, u))
        scene.act(self.frame, force)
        scene.reports[f"{self.name}.force"] = (force, "resistance of the air")
