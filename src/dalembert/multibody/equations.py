"""From a description to `EquationsOfMotion`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import CannotAssemble, FunctionFailed, OptionError
from dalembert.kept import computed
from dalembert.locks import forks_wait
from dalembert.model import EquationsOfMotion
from dalembert.model.contacts import IMPACTS
from dalembert.model.expression import scalar
from dalembert.multibody import algebra as al
from dalembert.multibody.closure import closure, driven, rolling
from dalembert.multibody.colliding import collisions
from dalembert.multibody.conserved import ENERGY, check_conservative, energy_at
from dalembert.multibody.drawn import BodiesSketch
from dalembert.multibody.holding import check_held
from dalembert.multibody.kinds import Move
from dalembert.multibody.large import functions as flat_functions
from dalembert.multibody.large import suits_kernels
from dalembert.multibody.observe import Observer, Results, transplant
from dalembert.multibody.parts import Joint
from dalembert.multibody.scene import Scene, Symbols
from dalembert.multibody.skeleton import Skeleton, skeleton
from dalembert.multibody.touching import Touching, contact_arguments, has_contacts
from dalembert.multibody.untraced import try_out

if TYPE_CHECKING:
    from dalembert.multibody.assembly import Assembly
    from dalembert.multibody.system import Multibody

COORDINATES = ("joint", "absolute", "mixed")
FORMALISMS = ("auto", "residual", "explicit")
REDUNDANT = ("drop", "keep")
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
    kernels: bool  # whether forces in joints of the tree are left to kernels

    @property
    def bones(self) -> Skeleton:
        return self.scene.bones

    @computed
    def touching(self) -> Touching:
        """Contacts; they are no rows among `rows`, which are always in force."""
        return Touching(self.scene)


@forks_wait
def equations(
    system: Multibody,
    coordinates: str,
    formalism: str,
    absolute: Sequence[str] | None,
    known: Mapping[str, Any] | bool | None = None,
    redundant: str = "drop",
    invariant: str | None = None,
    impact: str = "newton",
) -> EquationsOfMotion:
    """See `Multibody.equations`."""
    from dalembert.multibody.redundancy import select

    for what, given, allowed in (
        ("coordinates", coordinates, COORDINATES),
        ("formalism", formalism, FORMALISMS),
        ("redundant", redundant, REDUNDANT),
        ("impact", impact, IMPACTS),
    ):
        if not isinstance(given, str) or given not in allowed:
            raise OptionError(f"{what}={shown(given)} must be one of {', '.join(allowed)}")
    if invariant is not None:
        if not isinstance(invariant, str) or invariant != "energy":
            raise OptionError(f"invariant={shown(invariant)} must be 'energy' or None")
        check_conservative(system)
    own = own_bodies(system, coordinates, absolute)
    # matrices of absolute coordinates are sparse; where nothing is joined, they are those of the joints. Friction of
    # contacts stands in graphs
    kernels = (own is not None or not system.joints) and suits_kernels(system) and not has_contacts(system)
    parts = expressions(system, own, kernels=kernels)
    large = parts.kernels
    if formalism == "explicit" and has_contacts(system):
        raise OptionError(
            "formalism='explicit' is for systems without contacts and dry friction, and this one has "
            f"'{(*system.contacts, *system.brakes)[0].name}'; take formalism='residual'"
        )
    if formalism == "explicit" and parts.rows:
        raise OptionError(
            f"formalism='explicit' is for systems without constraints, and this one has {len(parts.rows)} "
            f"({parts.rows[0][0]}, …); take formalism='residual'"
        )
    if formalism == "auto":
        formalism = "explicit" if large and not parts.rows else "residual"
    assembly = at_start(system, parts, coordinates, known)
    start = None
    if known is not False and assembly is not None:
        start = assembly.start | ({"r0": list(parts.states.values())} if parts.states else {})
    chosen = select(system, parts, redundant, assembly)
    if chosen.axes:
        parts = expressions(system, own, chosen.axes, kernels=large)
    functions = (flat_functions if large else graph_functions)(parts, explicit=formalism == "explicit")
    observer = Observer(system, own, None if large else parts, chosen)
    rows, owners = ([of[k] for k in chosen.kept] for of in (parts.rows, parts.owners))
    parts = replace(parts, rows=tuple(rows), owners=tuple(owners))
    if invariant is not None:
        functions["invariant"] = energy_kept(observer)
    functions |= contact_arguments(parts, len(parts.rows), impact)
    return _model(system, parts, observer, functions, start)


def energy_kept(observer: Observer) -> Callable:
    """The total energy less that at the start, which is a parameter."""
    at_start = ca.SX.sym(ENERGY)
    return transplant(observer.parts.symbols, ca.SX(observer._energy_total()) - at_start, **{ENERGY: at_start})


def at_start(
    system: Multibody, parts: Expressions, coordinates: str, known: Mapping[str, Any] | bool | None
) -> Assembly | None:
    """The system assembled from what is known; with known=False None where that is impossible."""
    from dalembert.multibody.assembly import assembled

    plain = coordinates == "joint" and not system.parameters  # the tree of joints, in numbers
    if known is False and not parts.rows:
        return None
    bones = parts.bones if plain else skeleton(system, ())
    try:
        return assembled(system, bones, None if known is False else known, coordinates, parts.bones, 0.0)
    except FunctionFailed:  # a drive that has no value at t = 0
        return None
    except CannotAssemble:
        if known is False:
            return None
        raise


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


def expressions(
    system: Multibody, own: set[int] | None, axes: Mapping[int, str] | None = None, *, kernels: bool = False
) -> Expressions:
    """Kinematics, forces and constraints of a system in the coordinates that follow from `own`.

    If `kernels` are to compute the motion, and can, springs and dampers that belong to joints of the tree are left out.
    """
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
    kernels = kernels and not bones.backwards.any()  # they take Euler parameters from parent to child only
    scene = Scene(bones, symbols, axes)
    for element in system.elements:
        element.act(scene)
    kernels = kernels and not symbols.untraced  # what users' Python functions return goes through graphs
    for joint in system.joints:
        if not (kernels and bones.in_tree(joint)):
            _own_forces(scene, joint)
    rows, owners = constraints(scene)
    rates = [rate for element in system.elements for rate in element.dynamics(scene)]
    check_held(scene, [row for _, row in rows], lambda: kinematics(scene))
    if symbols.untraced:
        rng = np.random.default_rng(0)
        try_out(
            symbols.untraced, symbols.everything, lambda: [rng.uniform(0.1, 1, x.numel()) for x in symbols.everything]
        )
    return Expressions(scene, symbols, tuple(rows), tuple(owners), states, tuple(rates), kernels)


def constraints(scene: Scene) -> tuple[list[tuple[str, Any]], list[tuple[Joint | None, str]]]:
    """Holonomic constraints with full names, and of each its joint (None for couplings) and label."""
    rows: list[tuple[str, Any]] = []
    owners: list[tuple[Joint | None, str]] = []

    def add(name: str, joint: Joint | None, found: list) -> None:
        for label, row in found:
            rows.append((f"{name}.lam_{label}", row))
            owners.append((joint, label))

    for joint in scene.bones.cut:
        add(joint.name, joint, closure(scene, joint))
    for joint in scene.system.joints:
        if joint.kind.name == "rolling disc" and scene.bones.in_tree(joint):
            add(joint.name, joint, rolling(scene, joint))
        if joint.drive is not None:
            add(joint.name, joint, driven(scene, joint, scene.symbols.inputs[joint.drive]))
    for element in scene.system.elements:
        add(element.name, None, element.constraints(scene))
    return rows, owners


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


def graph_functions(parts: Expressions, *, explicit: bool) -> dict[str, Any]:
    """mass, force and kinematics as expressions."""
    scene = parts.scene
    gravity = tuple(scene.value(x) for x in scene.system.gravity)
    if explicit:
        force = scene.tree.articulated(scene.v, scene.joint_forces, gravity, scene.forces)
        mass = ca.SX.eye(parts.bones.n_v)
    else:
        needed, _ = scene.tree.newton_euler(scene.v, None, gravity, scene.forces)
        force = [al.minus(f, tau) for f, tau in zip(scene.joint_forces, needed, strict=True)]
        mass = al.sx_matrix(scene.tree.mass_matrix())
    found = {"mass": transplant(parts.symbols, mass), "force": transplant(parts.symbols, ca.vertcat(*force))}
    Z = kinematics(scene)
    return found if Z is None else found | {"kinematics": transplant(parts.symbols, Z)}


def _model(
    system: Multibody,
    parts: Expressions,
    observer: Observer,
    functions: dict[str, Any],
    start: Mapping[str, Any] | None,
) -> EquationsOfMotion:
    bones, names = parts.bones, [name for name, _ in parts.rows]
    parameters = {name: parameter.value for name, parameter in system.parameters.items()}
    if "invariant" in functions:
        parameters[ENERGY] = 0.0 if start is None else energy_at(observer, start["p0"], start["v0"])

    def given(expressions: Iterable[Any]) -> Callable:
        return transplant(parts.symbols, ca.vertcat(*expressions))

    return EquationsOfMotion(
        p=bones.names,
        v=bones.rates,
        r=tuple(parts.states),
        dynamics=given(parts.state_rates) if parts.states else None,
        holonomic=given(row for _, row in parts.rows) if names else None,
        lam=names or None,
        parameters=parameters,
        inputs=system.inputs or None,
        outputs=Results(observer),
        drawing=BodiesSketch(system, observer.own),
        start=start,
        name=system.name,
        collisions=collisions(system, bones),
        **functions,
    )


def kinematics(scene: Scene) -> ca.SX | None:
    """Z in p' = Z v; None if it is one."""
    bones = scene.bones
    turning = np.flatnonzero(np.isin(bones.move, (Move.SPHERICAL, Move.FREE)))
    if not len(turning):
        return None
    plain = np.array([1, 1, 1, 0, 3])[bones.move]  # coordinates whose rates are velocities
    k = np.arange(plain.sum()) - np.repeat(np.cumsum(plain) - plain, plain)
    rows, columns = (np.repeat(at, plain) + k for at in (bones.q_at, bones.v_at))
    Z = ca.SX(ca.DM.triplet(rows.tolist(), columns.tolist(), ca.DM.ones(len(rows)), bones.n_q, bones.n_v))
    for i in turning.tolist():
        row, column = int(bones.q_at[i] + plain[i]), int(bones.v_at[i] + plain[i])
        rates = al.euler_parameter_rates(tuple(scene.q[row : row + 4]))
        Z[row : row + 4, column : column + 3] = al.sx_matrix(rates)
    return Z
