"""Redundant constraints: a report, models without them, and reactions that are not unique."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.locks import forks_wait
from dalembert.multibody import algebra as al
from dalembert.multibody.assembly import Assembly, loop_of
from dalembert.multibody.dependence import Dependence, dependence, in_other_coordinates
from dalembert.multibody.equations import Expressions, expressions, kinematics
from dalembert.multibody.observe import Observer
from dalembert.multibody.search import quietly
from dalembert.multibody.skeleton import skeleton

if TYPE_CHECKING:
    from dalembert.multibody.parts import Joint
    from dalembert.multibody.system import Multibody

#: below this margin rows that are left out count as needed in some positions
NEEDED = 0.1
#: components of a reaction that change by less than this part of the others are unique
_UNIQUE = 1e-7


@dataclass(frozen=True)
class RedundantLoop:
    """Constraints that depend on each other.

    Attributes
    ----------
    joints : tuple of str
        Along the loops that they close.
    constraints : tuple of str
        All that take part, as "joint.label".
    redundant : tuple of str
        Those that equations of motion leave out.
    margin : float
        How far these are from being needed somewhere, from 0 to 1.
    """

    joints: tuple[str, ...]
    constraints: tuple[str, ...]
    redundant: tuple[str, ...]
    margin: float


@dataclass(frozen=True)
class Redundancy:
    """The rank of a system's constraints, in coordinates of the joints.

    Attributes
    ----------
    freedoms : int
        Of the joints along the tree.
    constraints, rank : int
        Numbers of all constraints, and of independent ones.
    mobility : int
        Degrees of freedom that remain.
    loops : tuple of RedundantLoop
    not_unique : dict of str to tuple of str
        Of each joint the components of its reaction, in axes of the world, that rigid bodies do not determine.
    driven_twice : tuple of str
        Joints whose drives prescribe what is prescribed already.
    """

    name: str
    freedoms: int
    constraints: int
    rank: int
    loops: tuple[RedundantLoop, ...]
    not_unique: dict[str, tuple[str, ...]]
    driven_twice: tuple[str, ...]

    @property
    def mobility(self) -> int:
        return self.freedoms - self.rank

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of the constraints that equations of motion leave out."""
        return tuple(name for loop in self.loops for name in loop.redundant)

    def __bool__(self) -> bool:
        return bool(self.loops)

    def __str__(self) -> str:
        count = len(self.redundant)
        lines = [
            f"{self.name}: {_many(self.freedoms, 'freedom')} in joints, {_many(self.constraints, 'constraint')} "
            f"of rank {self.rank}, {_many(self.mobility, 'degree')} of freedom; "
            + (f"{_many(count, 'constraint')} redundant" if count else "no constraint is redundant")
        ]
        for loop in self.loops:
            lines.append(f"  loop {', '.join(loop.joints)}: {', '.join(loop.redundant) or 'none can be left out'}")
            if loop.margin < NEEDED:
                lines.append("    (there may be positions in which they are needed)")
        for joint, parts in self.not_unique.items():
            lines.append(f"  not unique in joint {joint}: {', '.join(parts)}")
        if self.driven_twice:
            lines.append(f"  driven although prescribed already: {', '.join(self.driven_twice)}")
        return "\n".join(lines)


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


@forks_wait
@quietly
def redundancy(system: Multibody, known: Mapping[str, Any] | None = None) -> Redundancy:
    """See `Multibody.redundancy`."""
    bones = skeleton(system, ())
    found = dependence(system, bones, known)
    if found is None:
        return Redundancy(system.name, bones.n_v, 0, 0, (), {}, ())
    rows = found.closing.rows
    loops: dict[tuple[str, ...], RedundantLoop] = {}
    for group in found.groups:
        owners = dict.fromkeys(rows[k].owner for k in group.rows)
        joints = [joint for joint in system.joints if joint.name in owners]
        along = dict.fromkeys(name for joint in joints for name in _loop(bones, joint))
        along |= dict.fromkeys(owner for owner in owners if owner not in along)
        names = tuple(f"{rows[k].owner}.{rows[k].label}" for k in group.rows)
        dropped = tuple(f"{rows[k].owner}.{rows[k].label}" for k in group.dropped)
        key = tuple(along)
        same = loops.get(key, RedundantLoop(key, (), (), 1.0))  # of one loop: reported together
        margin = min(same.margin, group.margin)
        loops[key] = RedundantLoop(key, same.constraints + names, same.redundant + dropped, margin)
    unique = _not_unique(system, found) if found.groups else {}
    return Redundancy(
        system.name,
        bones.n_v,
        len(rows),
        found.rank,
        tuple(loops.values()),
        unique,
        tuple(dict.fromkeys(found.driven_twice)),
    )


def _loop(bones: Any, joint: Joint) -> list[str]:
    return loop_of(bones, joint) if joint in bones.cut else [joint.name]


# -- equations of motion -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """Constraints of a description by number: those that a model has, and those that follow from the others."""

    kept: tuple[int, ...]
    dependent: tuple[int, ...] = ()
    axes: Mapping[int, str] | None = None  # in which joints are to be closed, see `Scene`


def select(system: Multibody, parts: Expressions, redundant: str, assembly: Assembly | None) -> Selection:
    """Constraints that depend on no position go, and with "drop" all redundant ones, as far as it is assembled."""
    every = tuple(range(len(parts.rows)))
    if not every:
        return Selection(())
    constant = {k for k in every if _constant(parts, k)}
    found = None if assembly is None else dependence(system, assembly.bones, None, assembly)
    if found is None or not found.groups:
        return Selection(tuple(k for k in every if k not in constant), tuple(sorted(constant)))
    if found.driven_twice and redundant == "drop":
        raise ModelError(
            f"the drive{'' if len(found.driven_twice) == 1 else 's'} of {', '.join(found.driven_twice)} prescribe what "
            "other constraints prescribe already: leave out one of them"
        )
    names = [
        (name.partition(".lam_")[0], label) for (name, _), (_, label) in zip(parts.rows, parts.owners, strict=True)
    ]
    if not found.names <= set(names):  # a joint is in this tree and not in that one
        found = in_other_coordinates(found, parts.bones if not system.parameters else _numbers(system, parts))
    dependent = {k for k in every if names[k] in found.names} | constant
    gone = constant if redundant == "keep" else dependent
    return Selection(tuple(k for k in every if k not in gone), tuple(sorted(dependent)), found.axes)


def _numbers(system: Multibody, parts: Expressions) -> Any:
    """The skeleton of a model's coordinates with parameters as numbers."""
    return skeleton(system, set(parts.bones.own))


def _constant(parts: Expressions, k: int) -> bool:
    row = parts.rows[k][1]
    if type(row) is not ca.SX:
        return True
    return ca.jacobian(row, parts.symbols.p).nnz() == 0 and not any(
        ca.depends_on(row, symbol) for symbol in parts.symbols.inputs.values()
    )


# -- multipliers of all constraints --------------------------------------------------------------------------------


def all_multipliers(observer: Observer, chosen: Selection, lam: ca.SX) -> ca.SX:
    """Multipliers of all constraints from those of the model, such that forces and torques in all joints are least.

    With dependent rows g_d = B g_k, every (λ_k − Bᵀ c, λ_d + c) exerts the same forces on the system as λ does. Of
    these, c makes the sum of squares of reactions in the joints least, torques being divided by the system's length.
    """
    parts = observer.parts
    dependent = list(chosen.dependent)
    whole = ca.SX.zeros(len(parts.rows))
    whole[list(chosen.kept)] = lam
    if not dependent:
        return whole
    rows = ca.vertcat(*(ca.SX(row) for _, row in parts.rows))
    G = ca.jacobian(rows, parts.symbols.p)
    Z = kinematics(parts.scene)
    G = G if Z is None else ca.mtimes(G, Z)
    T = ca.SX(len(parts.rows), len(dependent))
    for column, k in enumerate(dependent):
        T[k, column] = 1
    involved = _connected(G, [k for k in range(len(parts.rows)) if k not in set(dependent)], dependent)
    if involved:
        G_k, G_d = G[involved, :], G[dependent, :]
        B = ca.solve(ca.mtimes(G_k, G_k.T), ca.mtimes(G_k, G_d.T))  # transposed
        T[involved, :] = -ca.densify(B)
    symbols = ca.SX.sym("all", len(parts.rows))
    reactions = _reactions(observer, symbols)
    by = ca.jacobian(reactions, symbols)
    A = ca.mtimes(by, T)
    now = ca.substitute(reactions, symbols, whole)
    c = -ca.solve(ca.densify(ca.mtimes(A.T, A)), ca.densify(ca.mtimes(A.T, now)))
    return whole + ca.mtimes(T, c)


def _connected(G: ca.SX, kept: list[int], dependent: list[int]) -> list[int]:
    """Rows that share velocities with the dependent ones, directly or by way of others."""
    pattern = np.array(ca.DM(G.sparsity(), 1.0).full(), bool)
    reached = pattern[dependent].any(axis=0)
    found: list[int] = []
    while True:
        new = [k for k in kept if k not in found and (pattern[k] & reached).any()]
        if not new:
            return sorted(found)
        found += new
        reached |= pattern[new].any(axis=0)


def _reactions(observer: Observer, lam: ca.SX) -> ca.SX:
    """Forces and torques (over a length) of all joints, with given multipliers."""
    shadow = Observer(observer.system, observer.own, observer.parts)
    shadow.__dict__ |= {"lam": lam, "contact_forces": observer.contact_forces}
    bones = observer.parts.bones
    size = _size(observer)
    found: list[Any] = []
    for joint in observer.system.joints:
        if joint in bones.cut or joint.kind.moves:
            torque, force = shadow._reaction(joint)
            found += [*force, *al.scale(1.0 / size, torque)]
    return ca.vertcat(*map(ca.SX, found))


def _size(observer: Observer) -> float:
    from dalembert.multibody.closing import size_of

    return size_of(skeleton(observer.system, ()))


_COMPONENTS = ("force x", "force y", "force z", "torque x", "torque y", "torque z")


def _not_unique(system: Multibody, found: Dependence) -> dict[str, tuple[str, ...]]:
    """Components of reactions that change where multipliers do nothing to the system, at any of the positions."""
    parts = expressions(system, set(), found.axes)
    observer = Observer(system, set(), parts)
    symbols = ca.SX.sym("all", len(parts.rows))
    by = ca.jacobian(_reactions(observer, symbols), symbols)
    values = [ca.SX(parameter.value) for parameter in system.parameters.values()]
    if values:
        (by,) = ca.substitute([by], list(parts.symbols.parameters.values()), values)
    inputs = ca.vertcat(*parts.symbols.inputs.values()) if parts.symbols.inputs else ca.SX(0, 1)
    function = ca.Function("by", [parts.symbols.p, inputs], [by])
    joints = [joint for joint in system.joints if joint in parts.bones.cut or joint.kind.moves]
    scale = np.array([found.closing.size if row.length else 1.0 for row in found.closing.rows])
    changing = np.zeros(6 * len(joints), bool)
    given = found.closing.inputs
    for p in found.positions:
        G = found.closing.evaluate(p, np.arange(found.closing.bones.n_v))[1]
        G = G if isinstance(G, np.ndarray) else G.toarray()
        U, s, _ = np.linalg.svd(G, full_matrices=G.shape[0] > G.shape[1])
        rank = int((s > 1e-9 * s.max(initial=0.0)).sum())
        if rank == found.rank:
            effect = np.abs(function(p, given).full() @ (U[:, rank:] / scale[:, None])).max(axis=1, initial=0.0)
            changing |= effect > _UNIQUE * max(effect.max(), 1e-300)
    used = {joint.name: [c for c, on in zip(_COMPONENTS, changing[6 * k : 6 * k + 6], strict=True) if on]
            for k, joint in enumerate(joints)}  # fmt: skip
    return {name: tuple(c.replace("torque z", "torque") if system.planar else c for c in components)
            for name, components in used.items() if components}  # fmt: skip
