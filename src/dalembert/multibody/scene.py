"""A system at one state, as expressions: what force elements, constraints and results are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import said, words
from dalembert.errors import ModelError, UntraceableError
from dalembert.kept import computed
from dalembert.model.expression import scalar, to_sx, vector
from dalembert.model.functions import describe
from dalembert.model.namespace import Namespace, UnknownName
from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import ZERO, Scalar, Vector
from dalembert.multibody.motion import Tree, Twist, entries, entry, matrix
from dalembert.multibody.parts import Frame, Joint
from dalembert.multibody.readings import Motion, Reading, read
from dalembert.multibody.skeleton import Skeleton
from dalembert.multibody.untraced import Untraced, wrong_count


@dataclass(frozen=True)
class Symbols:
    """Everything that expressions of a system may contain."""

    t: ca.SX
    p: ca.SX
    v: ca.SX
    a: ca.SX
    r: ca.SX
    lam: ca.SX
    inputs: dict[str, ca.SX]
    input_rates: dict[str, ca.SX]
    parameters: dict[str, ca.SX]
    states: tuple[str, ...]  # names of r
    untraced: list[Untraced] = field(default_factory=list)  # functions whose values are symbols, too

    @property
    def everything(self) -> list[ca.SX]:
        return [
            self.t, self.p, self.v, self.a, self.r, self.lam, ca.vertcat(*self.inputs.values()),
            ca.vertcat(*self.input_rates.values()), ca.vertcat(*self.parameters.values()),
        ]  # fmt: skip


class Scene:
    """The tree with velocities, and the forces that elements put in."""

    def __init__(self, bones: Skeleton, symbols: Symbols, closing_axes: Mapping[int, str] | None = None):
        self.bones, self.symbols = bones, symbols
        self.system = bones.system
        self.planar = bones.system.planar
        #: of joints whose points are held together in axes of the "first" or "second" body, not of the world
        self.closing_axes: Mapping[int, str] = closing_axes or {}
        self.forces: dict[int, list[tuple[Vector, Vector]]] = {}
        self.on_frames: list[tuple[Frame, Vector, Vector]] = []  # the same where they act: torque, force
        self.joint_forces: list[Scalar] = [0.0] * bones.n_v
        self.potential: Scalar = 0.0  # of elements
        self.without_potential: list[str] = []  # elements whose energy is not known
        self.in_cuts: dict[int, tuple[Vector, Vector]] = {}  # (torque, force) of elements in cut joints
        self.reports: dict[str, tuple[Any, str]] = {}  # what elements tell: value and description by name
        self._motions: dict[int, tuple[Frame, Motion]] = {}

    # -- kinematics ------------------------------------------------------------------------------------------------

    @computed
    def q(self) -> list[ca.SX]:
        return self.symbols.p.elements()

    @computed
    def v(self) -> list[ca.SX]:
        return self.symbols.v.elements()

    @computed
    def tree(self) -> Tree:
        return Tree(self.bones, self.q)

    @computed
    def twists(self) -> Sequence[Twist]:
        return self.tree.velocities(self.v)

    def motion(self, frame: Frame) -> Motion:
        """Where a frame is and how it moves."""
        known = self._motions.get(id(frame))
        if known is not None:
            return known[1]
        number, R, x = self.bones.placement(frame)
        turned, at = matrix(R), entries(x)
        mounted = float(np.arctan2(R[1, 0], R[0, 0])) if self.planar else 0.0
        if number < 0:
            motion = Motion(at, turned, mounted, ZERO, ZERO, -1, mounted)
        else:
            link, twist = self.tree.links[number], self.twists[number]
            arm = al.turn(link.R, at)
            w = self.tree.out(number, twist.w)
            v = al.add(self.tree.out(number, twist.v), al.cross(w, arm))
            angle = al.plus(link.angle, mounted) if self.planar else 0.0
            motion = Motion(al.add(link.x, arm), al.product(link.R, turned), angle, v, w, number, mounted)
        self._motions[id(frame)] = (frame, motion)  # the frame is kept: its id must not be given to another
        return motion

    def value(self, given: Any) -> Scalar:
        """A number or a parameter of the description."""
        return entry(self.bones.values(given))

    def values(self, given: Sequence[Any]) -> Vector:
        return tuple(self.value(x) for x in given)

    def coordinate(self, joint: Joint) -> Scalar:
        """The (last) coordinate of a joint, in the tree or not; angles of cut joints in space lie in (−π, π]."""
        if self.bones.in_tree(joint):
            return self.q[self._place(joint, self.bones.coordinates_of(joint))]
        return self.reading(joint).coordinates[joint.kind.coordinates[-1]]

    def rate(self, joint: Joint) -> Scalar:
        """The rate of `coordinate`."""
        if self.bones.in_tree(joint):
            return self.v[self._place(joint, self.bones.rates_of(joint))]
        return self.reading(joint).rates[joint.kind.rates[-1]]

    def reading(self, joint: Joint) -> Reading:
        """Coordinates and rates as the frames of a joint tell them, in the tree or not."""
        A, B = self.motion(joint.first), self.motion(joint.second)
        return read(joint, self.planar, A, B, self.value(joint.pitch))

    def _place(self, joint: Joint, places: range) -> int:
        """Joints of several freedoms are asked for their angle."""
        if len(places) == 1:
            return places[0]
        backwards = any(c.joint is joint and c.backwards for c in self.bones.carriers)
        return places[0] if backwards else places[-1]

    # -- forces ----------------------------------------------------------------------------------------------------

    def act(self, frame: Frame, force: Vector = ZERO, torque: Vector = ZERO) -> None:
        """A force at the origin of a frame and a torque, in axes of the world."""
        motion = self.motion(frame)
        if motion.link >= 0:
            wrench = self.about_link(motion, torque, force)
            self.forces.setdefault(motion.link, []).append(wrench)
        self.on_frames.append((frame, torque, force))

    def about_link(self, motion: Motion, torque: Vector, force: Vector) -> tuple[Vector, Vector]:
        """The same about the origin of the link that the frame moves with."""
        arm = al.subtract(motion.x, self.tree.links[motion.link].x)
        return al.add(torque, al.cross(arm, force)), force

    def drive(self, joint: Joint, force: Scalar) -> None:
        """A generalized force in a joint, between its bodies."""
        if self.bones.in_tree(joint):
            place = self._place(joint, self.bones.rates_of(joint))
            self.joint_forces[place] = al.plus(self.joint_forces[place], force)
            return
        torque, pull = self.wrench_in(joint, force)
        before = self.in_cuts.get(joint.number, (ZERO, ZERO))
        self.in_cuts[joint.number] = (al.add(before[0], torque), al.add(before[1], pull))
        self.act(joint.second, pull, torque)
        back = self.reversed_wrench(joint, torque, pull)
        self.act(joint.first, back[1], back[0])

    def wrench_in(self, joint: Joint, force: Scalar) -> tuple[Vector, Vector]:
        """(torque, force) on the second body at its frame, of a generalized force in a joint of one freedom."""
        sliding = joint.kind.name == "prismatic"
        axis = al.turn(self.motion(joint.first).R, joint.axis if sliding or not self.planar else (0.0, 0.0, 1.0))
        along = al.scale(force, axis)
        return (ZERO, along) if sliding else (along, ZERO)

    def reversed_wrench(self, joint: Joint, torque: Vector, force: Vector) -> tuple[Vector, Vector]:
        """What the first body feels at its frame of what acts on the second one at its own."""
        arm = al.subtract(self.motion(joint.second).x, self.motion(joint.first).x)
        return al.negative(al.add(torque, al.cross(arm, force))), al.negative(force)

    # -- users' functions ------------------------------------------------------------------------------------------

    def namespace(self, motion: Motion | None = None, more: Mapping[str, Any] | None = None) -> Namespace:
        """What a function of a force element reads."""
        symbols, named = self.symbols, dict(more or {})
        named |= {name: scalar(symbol) for name, symbol in symbols.parameters.items()}
        named |= {name: scalar(symbol) for name, symbol in symbols.inputs.items()}
        named |= {f"{name}_dot": scalar(symbol) for name, symbol in symbols.input_rates.items()}
        named |= {name: scalar(symbols.r[k]) for k, name in enumerate(symbols.states)}
        named["t"] = scalar(symbols.t)
        if motion is not None:
            width = 2 if self.planar else 3
            named["position"] = vector(ca.vertcat(*motion.x[:width]))
            named["velocity"] = vector(ca.vertcat(*motion.v[:width]))
            if self.planar:
                named["angle"], named["angular_velocity"] = scalar(ca.SX(motion.angle)), scalar(ca.SX(motion.w[2]))
            else:
                named["orientation"] = np.stack([vector(ca.vertcat(*row)) for row in motion.R])
                named["angular_velocity"] = vector(ca.vertcat(*motion.w))
        joints = {
            f"{j.name}.{part}" for j in self.system.joints for part in (*j.kind.coordinates, *j.kind.rates, "speed")
        }

        def lookup(name: str) -> Any:
            if name not in named:
                named[name] = self._of_joint(name)
            return named[name]

        return Namespace(lookup, {*named, *joints})

    def _of_joint(self, name: str) -> Any:
        joint_name, _, part = name.partition(".")
        joint = next((j for j in self.system.joints if j.name == joint_name), None)
        if joint is None or part not in (*joint.kind.coordinates, *joint.kind.rates, "speed"):
            raise KeyError(name)
        if self.bones.in_tree(joint):
            if name in self.bones.names:
                return scalar(self.symbols.p[self.bones.names.index(name)])
            if name in self.bones.rates:
                return scalar(self.symbols.v[self.bones.rates.index(name)])
        if joint.kind.freedoms != 1:
            raise KeyError(name)
        return scalar(ca.SX(self.coordinate(joint) if part in joint.kind.coordinates else self.rate(joint)))

    def call(self, where: str, function: Any, count: int, motion: Motion | None = None, more: Any = None) -> Vector:
        """Values of a user's function, as many as expected."""
        namespace = self.namespace(motion, more)
        return self._traced(
            where, function, count, namespace, lookup=namespace._lookup, names=frozenset(namespace._names)
        )

    def apply(self, where: str, function: Any, argument: Scalar) -> Scalar:
        """A user's function of one number."""
        argument = ca.SX(argument)
        return self._traced(where, function, 1, scalar(argument), argument=argument)[0]

    def _traced(self, where: str, function: Any, count: int, given: Any, **reads: Any) -> Vector:
        try:
            value, _ = to_sx(function(given))
        except UnknownName as unknown:
            raise ModelError(f"{where}: {describe('function', function)}: {unknown}") from None
        except Exception as error:  # with numbers it may work; if not, the model says so
            reason = words(error).splitlines()[0] if isinstance(error, UntraceableError) else said(error)
            symbol = ca.SX.sym(f"value of {where}", count)
            self.symbols.untraced.append(Untraced(where, function, reason, symbol, **reads))
            return tuple(symbol.elements())
        found = value.elements()
        if len(found) != count:
            raise ModelError(wrong_count(where, function, len(found), count))
        return tuple(found)
