"""Forces in joints as expressions: from multipliers where joints are cut, by Newton and Euler along the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.kept import computed
from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import Vector
from dalembert.multibody.closure import closure, driven, reaction
from dalembert.multibody.parts import Body, Frame, Joint
from dalembert.multibody.scene import Scene
from dalembert.multibody.skeleton import Carrier

if TYPE_CHECKING:
    from dalembert.multibody.equations import Expressions
    from dalembert.multibody.system import Multibody


class Reactions:
    """The part of an `Observer` that knows what joints transmit."""

    system: Multibody
    parts: Expressions
    scene: Scene
    lam: ca.SX
    _acceleration: Callable[[Frame], tuple[Vector, Vector]]
    _brakes_in: Callable[[Joint], tuple[Vector, Vector]]
    _acting_in_contacts: Callable[[], list[tuple[Frame, Vector, Vector]]]

    def _multipliers(self, joint: Joint, *labels: str) -> list[ca.SX]:
        """Those of a joint's constraints: of the given labels, or all."""
        return [
            self.lam[k]
            for k, (owner, label) in enumerate(self.parts.owners)
            if owner is joint and (not labels or label in labels)
        ]

    def _rows(self, joint: Joint) -> Callable[[Any, Any], list]:
        """The joint's constraints as far as they act between its bodies at the cut."""
        symbols = self.parts.symbols

        def rows(A: Any, B: Any) -> list:
            found = closure(self.scene, joint, A, B)
            if joint.drive is not None:
                found = found + driven(self.scene, joint, symbols.inputs[joint.drive], A, B)
            return found

        return rows

    def _reaction(self, joint: Joint) -> tuple[Vector, Vector]:
        """(torque, force) on the second body at its joint's frame."""
        scene = self.scene
        if joint in scene.bones.cut:
            torque, force = self._at_cut(joint)
            own_torque, own_force = scene.in_cuts.get(joint.number, (al.ZERO, al.ZERO))
            return al.add(torque, own_torque), al.add(force, own_force)
        carrier = next(carrier for carrier in scene.bones.carriers if carrier.joint is joint)
        if joint.kind.moves:
            number = int(scene.bones.link_of[carrier.body])
            n, f = (scene.tree.out(number, part) for part in self._carried[number])
        else:
            n, f = self._through_weld(carrier)
        return self._seen_from_second(joint, carrier.backwards, n, f)

    def _at_cut(self, joint: Joint) -> tuple[Vector, Vector]:
        """What multipliers do in a cut joint: those of its own, and those of couplings with other joints."""
        torque, force = reaction(self.scene, joint, self._multipliers(joint), self._rows(joint))
        n, f = self._brakes_in(joint)
        torque, force = al.add(torque, n), al.add(force, f)
        for element, lam in self._couplings:
            for other, slope in element.slopes(self.scene):
                if other is joint:
                    n, f = self.scene.wrench_in(joint, -al.times(slope, lam))
                    torque, force = al.add(torque, n), al.add(force, f)
        return torque, force

    @computed
    def _couplings(self) -> list[tuple[Any, ca.SX]]:
        """Elements with one constraint, and its multiplier."""
        places = {name.partition(".lam_")[0]: k for k, (name, _) in enumerate(self.parts.rows)}
        return [
            (element, self.lam[places[element.name]])
            for element in self.system.elements
            if element.name in places and element.slopes(self.scene)
        ]

    @computed
    def _acting(self) -> list[tuple[Frame, Vector, Vector]]:
        """Everything that acts on bodies besides gravity and joints of the tree: frame, torque, force."""
        acting = list(self.scene.on_frames)
        for joint in self.scene.bones.cut:
            torque, force = self._at_cut(joint)
            acting += [
                (joint.second, torque, force),
                (joint.first, *self.scene.reversed_wrench(joint, torque, force)),
            ]
        return acting + self._acting_in_contacts()

    @computed
    def _gravity(self) -> Vector:
        return tuple(self.scene.value(x) for x in self.system.gravity)

    @computed
    def _carried(self) -> list[tuple[Vector, Vector]]:
        """What links get from their parents, by Newton and Euler with the accelerations and all multipliers."""
        scene = self.scene
        forces: dict[int, list[tuple[Vector, Vector]]] = {}
        for frame, torque, force in self._acting:
            motion = scene.motion(frame)
            if motion.link >= 0:
                forces.setdefault(motion.link, []).append(scene.about_link(motion, torque, force))
        return scene.tree.newton_euler(scene.v, self.parts.symbols.a.elements(), self._gravity, forces)[1]

    def _through_weld(self, carrier: Carrier) -> tuple[Vector, Vector]:
        """(torque, force) that a fixed joint of the tree transmits to the body that it carries, at its frame there.

        Newton and Euler for that body and all that is welded to it farther on, less what acts on them, and with what
        they hand on to joints.
        """
        scene, joint = self.scene, carrier.joint
        beyond = {carrier.body}
        handed_on: list[Carrier] = []
        for other in scene.bones.carriers:
            if other.joint is None or other is carrier:
                continue
            inner = (other.joint.second if other.backwards else other.joint.first).body.number
            if inner in beyond:
                if other.joint.kind.moves:
                    handed_on.append(other)
                else:
                    beyond.add(other.body)
        at = scene.motion(joint.first if carrier.backwards else joint.second).x
        n, f = al.ZERO, al.ZERO
        for number in sorted(beyond):
            needed, push, centre = self._inertia_of(self.system.bodies[number])
            n, f = al.add(n, needed, al.cross(al.subtract(centre, at), push)), al.add(f, push)
        for frame, torque, force in self._acting:
            if frame.body.number in beyond:
                arm = al.subtract(scene.motion(frame).x, at)
                n, f = al.subtract(n, al.add(torque, al.cross(arm, force))), al.subtract(f, force)
        for other in handed_on:
            link = int(scene.bones.link_of[other.body])
            torque, force = (scene.tree.out(link, part) for part in self._carried[link])
            arm = al.subtract(scene.tree.links[link].x, at)
            n, f = al.add(n, torque, al.cross(arm, force)), al.add(f, force)
        return n, f

    def _inertia_of(self, body: Body) -> tuple[Vector, Vector, Vector]:
        """Torque about its centre of mass and force that the motion of a body takes, and where that is."""
        scene, frame = self.scene, Frame(body, body.com)
        motion = scene.motion(frame)
        turning, moving = self._acceleration(frame)
        xx, xy, xz, yy, yz, zz = scene.values(body.inertia)
        J = al.turned_inertia(motion.R, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
        torque = al.add(al.turn(J, turning), al.cross(motion.w, al.turn(J, motion.w)))
        return torque, al.scale(scene.value(body.mass), al.subtract(moving, self._gravity)), motion.x

    def _seen_from_second(self, joint: Joint, backwards: bool, n: Vector, f: Vector) -> tuple[Vector, Vector]:
        """A wrench on the carried body at its joint's frame as that on the second body at its own."""
        if not backwards:
            return n, f
        arm = al.subtract(self.scene.motion(joint.first).x, self.scene.motion(joint.second).x)
        return al.negative(al.add(n, al.cross(arm, f))), al.negative(f)
