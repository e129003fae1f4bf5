"""From a description to `EquationsOfMotion`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import OptionError
from dalembert.locks import forks_wait
from dalembert.model import EquationsOfMotion
from dalembert.model.expression import scalar
from dalembert.model.outputs import LazyOutputs
from dalembert.multibody import algebra as al
from dalembert.multibody.closure import closure, driven, rolling
from dalembert.multibody.holding import check_held
from dalembert.multibody.kinds import Move
from dalembert.multibody.observe import Observer, transplant
from dalembert.multibody.parts import Joint
from dalembert.multibody.scene import Scene, Symbols
from dalembert.multibody.skeleton import Skeleton, skeleton
from dalembert.multibody.untraced import try_out

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

COORDINATES = ("joint", "absolute", "mixed")
FORMALISMS = ("auto", "residual", "explicit")
#: joints at a body from which on it has coordinates of its own among mixed ones
HUB = 3


@dataclass(frozen=True, eq=False)
class Expressions:
    """Everything that the equations consist of, in symbols of its own."""

    scene: Scene
    symbols: Symbols
    rows: tuple[tuple[str, Any], ...]  # holonomic constraints with full names
    owners: tuple[tuple[Joint | None, str], ...]  # of each row: its joint (None for couplings), its label
    states: dict[str, float]
    state_rates: tuple[Any, ...]

    @property
    def bones(self) -> Skeleton:
        return self.scene.bones


@forks_wait
def equations(system: Multibody, coordinates: str, formalism: str, absolute: Sequence[str] | None) -> EquationsOfMotion:
    """See `Multibody.equations`."""
    for what, given, known in (("coordinates", coordinates, COORDINATES), ("formalism", formalism, FORMALISMS)):
        if not isinstance(given, str) or given not in known:
            raise OptionError(f"{what}={shown(given)} must be one of {', '.join(known)}")
    own = own_bodies(system, coordinates, absolute)
    parts = expressions(system, own)
    if formalism == "explicit" and parts.rows:
        raise OptionError(
            f"formalism='explicit' is for systems without constraints, and this one has {len(parts.rows)} "
            f"({parts.rows[0][0]}, …); take formalism='residual'"
        )
    return _model(system, parts, Observer(system, own, parts), explicit=formalism == "explicit")


def own_bodies(system: Multibody, coordinates: str, absolute: Sequence[str] | None) -> set[int] | None:
    """Numbers of the bodies with coordinates of their own; None: all of them."""
    if absolute is not None and coordinates != "mixed":
        raise OptionError("absolute= names bodies for coordinates='mixed' only")
    if coordinates == "absolute":
        return None
    if coordinates == "joint":
        return set()
    if absolute is not None:
        known = {body.name: body.number for body in system.bodies}
        if not isinstance(absolute, list | tuple | set | frozenset):
            raise OptionError(f"absolute={shown(absolute)} must be a list of names of bodies")
        unknown = [name for name in absolute if not isinstance(name, str) or name not in known]
        if unknown:
            raise OptionError(f"absolute={shown(absolute)} must list names of bodies; {shown(unknown[0])} is none")
        return {known[name] for name in absolute}
    count: dict[int, int] = {}
    for joint in system.joints:
        for body in (joint.first.body, joint.second.body):
            count[body.number] = count.get(body.number, 0) + 1
    return {number for number, joints in count.items() if number >= 0 and joints >= HUB}


def expressions(system: Multibody, own: set[int] | None) -> Expressions:
    """Kinematics, forces and constraints of a system in the coordinates that follow from `own`."""
    parameters = {name: ca.SX.sym(name) for name in system.parameters}
    bones = skeleton(system, own, {name: scalar(symbol) for name, symbol in parameters.items()})
    states: dict[str, float] = {}
    for element in system.elements:
        states |= element.state_values()
    symbols = Symbols(
        ca.SX.sym("t"), ca.SX.sym("p", bones.n_q), ca.SX.sym("v", bones.n_v), ca.SX.sym("a", bones.n_v),
        ca.SX.sym("r", len(states)), ca.SX(0, 1), {name: ca.SX.sym(name) for name in system.inputs},
        {name: ca.SX.sym(f"{name}_dot") for name in system.inputs}, parameters, tuple(states),
    )  # fmt: skip
    scene = Scene(bones, symbols)
    rows: list[tuple[str, Any]] = []
    owners: list[tuple[Joint | None, str]] = []

    def add(name: str, joint: Joint | None, found: list) -> None:
        for label, row in found:
            rows.append((f"{name}.lam_{label}", row))
            owners.append((joint, label))

    for joint in bones.cut:
        add(joint.name, joint, closure(scene, joint))
    for joint in system.joints:
        if joint.kind.name == "rolling disc" and bones.in_tree(joint):
            add(joint.name, joint, rolling(scene, joint))
        if joint.drive is not None:
            add(joint.name, joint, driven(scene, joint, symbols.inputs[joint.drive]))
        _own_forces(scene, joint)
    for element in system.elements:
        element.act(scene)
        add(element.name, None, element.constraints(scene))
    rates = [rate for element in system.elements for rate in element.dynamics(scene)]
    check_held(scene, [row for _, row in rows], kinematics(scene))
    if symbols.untraced:
        rng = np.random.default_rng(0)
        try_out(
            symbols.untraced, symbols.everything, lambda: [rng.uniform(0.1, 1, x.numel()) for x in symbols.everything]
        )
    return Expressions(scene, symbols, tuple(rows), tuple(owners), states, tuple(rates))


def _own_forces(scene: Scene, joint: Joint) -> None:
    """Spring and damper that belong to the joint itself."""
    k, d = scene.value(joint.stiffness), scene.value(joint.damping)
    if (type(k) is float and k == 0.0) and (type(d) is float and d == 0.0):
        return
    force = al.times(d, scene.rate(joint))
    if not (type(k) is float and k == 0.0):
        deflection = al.minus(scene.coordinate(joint), scene.value(joint.rest))
        elastic = al.times(k, deflection)
        scene.potential = al.plus(scene.potential, al.times(0.5, al.times(elastic, deflection)))
        force = al.plus(force, elastic)
    scene.drive(joint, -force)


def _model(system: Multibody, parts: Expressions, observer: Observer, *, explicit: bool) -> EquationsOfMotion:
    scene, bones = parts.scene, parts.bones
    gravity = tuple(scene.value(x) for x in system.gravity)
    if explicit:
        force = scene.tree.articulated(scene.v, scene.joint_forces, gravity, scene.forces)
        mass = ca.SX.eye(bones.n_v)
    else:
        needed, _ = scene.tree.newton_euler(scene.v, None, gravity, scene.forces)
        force = [al.minus(f, tau) for f, tau in zip(scene.joint_forces, needed, strict=True)]
        mass = al.sx_matrix(scene.tree.mass_matrix())

    def given(expression: ca.SX) -> Callable:
        return transplant(parts.symbols, expression)

    Z = kinematics(scene)
    names = [name for name, _ in parts.rows]
    return EquationsOfMotion(
        p=bones.names,
        v=bones.rates,
        r=tuple(parts.states),
        mass=given(mass),
        force=given(ca.vertcat(*force)),
        kinematics=None if Z is None else given(Z),
        dynamics=given(ca.vertcat(*parts.state_rates)) if parts.states else None,
        holonomic=given(ca.vertcat(*(row for _, row in parts.rows))) if names else None,
        lam=names or None,
        parameters={name: parameter.value for name, parameter in system.parameters.items()},
        inputs=system.inputs or None,
        outputs=LazyOutputs(observer.descriptions(), observer),
        name=system.name,
    )


def kinematics(scene: Scene) -> ca.SX | None:
    """Z in p' = Z v; None if it is one."""
    bones = scene.bones
    if not any(link.move in (Move.SPHERICAL, Move.FREE) for link in scene.tree.links):
        return None
    Z = ca.SX(bones.n_q, bones.n_v)
    for i, link in enumerate(scene.tree.links):
        row, column = int(bones.q_at[i]), int(bones.v_at[i])
        plain = {Move.SPHERICAL: 0, Move.FREE: 3}.get(link.move, len(link.places))
        for k in range(plain):
            Z[row + k, column + k] = 1
        if link.move in (Move.SPHERICAL, Move.FREE):
            e = tuple(scene.q[row + plain : row + plain + 4])
            Z[row + plain : row + plain + 4, column + plain : column + plain + 3] = al.sx_matrix(
                al.euler_parameter_rates(e)
            )
    return Z
