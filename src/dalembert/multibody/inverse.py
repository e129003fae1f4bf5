"""Inverse dynamics: the forces in joints that a motion needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, reals, shown
from dalembert.errors import ModelError, OptionError
from dalembert.locks import forks_wait
from dalembert.model.namespace import explain_unknown
from dalembert.multibody import algebra as al
from dalembert.multibody.mechanics import Mechanics
from dalembert.multibody.parts import Joint

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

#: how well a given motion has to satisfy constraints, and actuators have to balance forces
_CLOSED = 1e-6


@dataclass(frozen=True, eq=False)
class JointForces:
    """Forces and torques in joints at one or at N times.

    Attributes
    ----------
    names : tuple of str
        Names of the rates that they do work on, such as "motor.angle_dot".
    values : array (n,) or (N, n)
    residual : float
        What cannot be balanced by the actuators, relative to the largest force.

    ``forces["motor"]`` is that of a joint; of several freedoms there are as many columns.
    """

    names: tuple[str, ...]
    values: np.ndarray
    residual: float

    def __getitem__(self, name: str) -> np.ndarray:
        places = [k for k, own in enumerate(self.names) if own == name or own.partition(".")[0] == name]
        if not places:
            heads = dict.fromkeys(own.partition(".")[0] for own in self.names)
            raise KeyError(explain_unknown(name, [*heads, *self.names]))
        return self.values.T[places[0]] if len(places) == 1 else self.values[..., places]


@forks_wait
def inverse_dynamics(
    system: Multibody, q: Any, v: Any, a: Any, t: Any = 0.0, actuators: Sequence[str] | None = None
) -> JointForces:
    """See `Multibody.inverse_dynamics`."""
    joints = _chosen(system, actuators)
    mech = Mechanics(system)
    bones = mech.bones
    given = (("q", q, bones.names), ("v", v, bones.rates), ("a", a, bones.rates))
    (q, q_many), (v, v_many), (a, a_many) = (_series(*one) for one in given)
    times = _times(t)
    single = not (q_many or v_many or a_many or np.ndim(t))
    count = max(x.shape[0] for x in (q, v, a, times[:, None]))
    for what, x in (("q", q), ("v", v), ("a", a), ("t", times)):
        if len(x) not in (1, count):
            raise OptionError(f"inverse_dynamics: {what} has {len(x)} points in time, others have {count}")
    q, v, a = (np.broadcast_to(x, (count, x.shape[1])) for x in (q, v, a))
    needed, G, B, names = _evaluate(mech, q, v, a, np.broadcast_to(times, count), joints)
    if not mech.rows and joints is None:
        return JointForces(bones.rates, needed[0] if single else needed, 0.0)
    tau, residual = _by_actuators(mech, needed, G, B)
    return JointForces(names, tau[0] if single else tau, residual)


def _chosen(system: Multibody, actuators: Sequence[str] | None) -> list[Joint] | None:
    if actuators is None:
        return None
    return [system._my_joint("inverse_dynamics, actuators", name, single=False)
            for name in ([actuators] if isinstance(actuators, str) else actuators)]  # fmt: skip


def _series(what: str, value: Any, names: tuple[str, ...]) -> tuple[np.ndarray, bool]:
    """One row for each point in time, and whether there are many; mappings give values by name."""
    if isinstance(value, Mapping):
        wrong = [name for name in value if name not in names]
        missing = [name for name in names if name not in value]
        if wrong or missing:
            raise OptionError(
                f"inverse_dynamics, {what}: "
                + (explain_unknown(wrong[0], names) if wrong else f"'{missing[0]}' is missing")
            )
        value = np.stack(np.broadcast_arrays(*(value[name] for name in names)), axis=-1)
    try:
        entries = np.asarray(reals(value), float)
    except NoNumber as reason:
        raise OptionError(f"inverse_dynamics: {what}={shown(value)} {reason}") from None
    many = entries.ndim > 1
    entries = entries if many else entries[None]
    if entries.ndim != 2 or entries.shape[1] != len(names) or not np.isfinite(entries).all():
        raise OptionError(
            f"inverse_dynamics: {what} must have {len(names)} finite components ({', '.join(names[:4])}"
            f"{', …' if len(names) > 4 else ''}), or rows of them; its shape is {np.shape(value)}"
        )
    return entries, many


def _times(t: Any) -> np.ndarray:
    try:
        return np.atleast_1d(np.asarray(reals(t), float))
    except NoNumber as reason:
        raise OptionError(f"inverse_dynamics: t={shown(t)} {reason}") from None


def _evaluate(
    mech: Mechanics, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: np.ndarray, joints: list[Joint] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Generalized forces that the motion needs besides applied ones, G, the actuators' directions B, their names."""
    scene, bones = mech.parts.scene, mech.bones
    gravity = tuple(scene.value(x) for x in mech.system.gravity)
    needed, _ = scene.tree.newton_euler(scene.v, mech.a.elements(), gravity, scene.forces)
    tau = ca.vertcat(*(ca.SX(al.minus(n, f)) for n, f in zip(needed, scene.joint_forces, strict=True)))
    directions, names = _directions(mech, joints)
    moving = ca.mtimes(mech.G, mech.v) + ca.jtimes(mech.F, mech.u, mech.du)
    arguments = [mech.p, mech.v, mech.a, mech.symbols.t, mech.u, mech.du]
    f = ca.Function("f", [*arguments, mech.r, mech._parameters],
                    [ca.densify(e) for e in (tau, ca.vec(mech.G), ca.vec(directions), mech.F, moving)])  # fmt: skip
    inputs = np.array([mech._inputs(x) for x in t]) if len(mech.system.inputs) else np.zeros((len(t), 0, 3))
    n, k = bones.n_v, len(mech.rows)
    values = (q.T, v.T, a.T, t[None], inputs[:, :, 0].T, inputs[:, :, 1].T)
    fixed = (np.tile(mech.r0[:, None], len(t)), np.tile(mech._values[:, None], len(t)))
    found = [x.full().T for x in f.map(len(t)).call([ca.DM(x) for x in (*values, *fixed)])]
    for violation, size, level in ((found[3], 1.0, "positions"), (found[4], np.abs(v).max(initial=1.0), "velocities")):
        if np.abs(violation).max(initial=0.0) > _CLOSED * size:
            at, row = np.unravel_index(int(np.argmax(np.abs(violation))), violation.shape)
            raise ModelError(
                f"inverse_dynamics: the {level} violate the constraints of '{mech.rows[row].owner}' at point {at}; "
                "take them from mb.assemble(...) or from a solution"
            )
    G = np.swapaxes(found[1].reshape(len(t), n, k), 1, 2)
    B = np.swapaxes(found[2].reshape(len(t), len(names), n), 1, 2)
    return found[0], G, B, names


def _directions(mech: Mechanics, joints: list[Joint] | None) -> tuple[ca.SX, tuple[str, ...]]:
    """Columns: what a unit force in each of the actuators' freedoms does to the coordinates."""
    scene, bones = mech.parts.scene, mech.bones
    chosen = mech.system.joints if joints is None else joints
    columns, names = [], []
    for joint in chosen:
        if bones.in_tree(joint):
            for place in bones.rates_of(joint):
                column = ca.SX(bones.n_v, 1)
                column[place] = 1
                columns.append(column)
                names.append(bones.rates[place])
        elif joint.kind.freedoms == 1:
            # by virtual work: the rate of the joint as a function of the velocities
            columns.append(ca.jacobian(ca.SX(scene.rate(joint)), mech.v).T)
            names.append(joint.rates[0])
        elif joints is not None:
            raise OptionError(
                f"inverse_dynamics: joint '{joint.name}' has {joint.kind.freedoms} freedoms and closes a loop; it "
                "cannot be an actuator. Open the loop elsewhere (cut=True at another joint)"
            )
    if joints is None:  # bodies that no joint holds
        for place, rate in enumerate(bones.rates):
            if rate not in names:
                column = ca.SX(bones.n_v, 1)
                column[place] = 1
                columns.append(column)
                names.append(rate)
    return ca.horzcat(*columns) if columns else ca.SX(bones.n_v, 0), tuple(names)


def _by_actuators(mech: Mechanics, needed: np.ndarray, G: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, float]:
    """The least forces of the actuators; constraints take the rest."""
    scale = mech.columns
    tau = np.zeros((len(needed), B.shape[2]))
    worst, where = 0.0, 0
    for k in range(len(needed)):
        f, directions = needed[k] * scale, B[k] * scale[:, None]
        if G.shape[1]:
            _, s, Vt = np.linalg.svd(G[k] * scale)
            N = Vt[int((s > 1e-9 * s.max(initial=0.0)).sum()) :]
            f_free, directions = N @ f, N @ directions
        else:
            f_free = f
        tau[k] = np.linalg.lstsq(directions, f_free, rcond=1e-10)[0]
        left = np.abs(f_free - directions @ tau[k]).max(initial=0.0) / max(np.abs(f).max(initial=0.0), 1e-300)
        if left > worst:
            worst, where = left, k
    if worst > _CLOSED:
        raise ModelError(
            f"inverse_dynamics: the actuators cannot cause this motion; at point {where} a part of {worst:.1e} of the "
            "forces acts on freedoms that none of them moves: name more of them in actuators=[...]"
        )
    return tau, float(worst)
