"""Models of Pinocchio as `Topology`, and their states in our conventions."""

from pathlib import Path

import numpy as np

from dalembert.multibody.topology import FREE, PRISMATIC, REVOLUTE, SPHERICAL, Topology


def robots(pin):
    """Every URDF of the package example-robot-data, if it is installed beside Pinocchio."""
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    return sorted(folder.rglob("*.urdf"))


def to_z(axis):
    """A rotation whose third column is the axis."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    x = np.eye(3)[np.argmin(np.abs(z))]
    x = x - z * (z @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def kind_of(joint, data):
    """Kind and axis of a joint: where it can move is in its data."""
    name = joint.shortname().removeprefix("JointModel")
    if name.startswith("FreeFlyer"):
        return FREE, None
    if name.startswith("Spherical") and "ZYX" not in name:
        return SPHERICAL, None
    along, about = np.split(np.array(data.S).ravel(), 2) if joint.nv == 1 else (None, None)
    if along is None or (along.any() and about.any()):
        raise NotImplementedError(name)
    return (PRISMATIC, along) if along.any() else (REVOLUTE, about)


class Twin:
    """A model of Pinocchio and the same tree as `topology`."""

    def __init__(self, pin, model):
        self.pin, self.model = pin, model
        self.data = model.createData()
        pin.forwardKinematics(model, self.data, pin.neutral(model))
        joints, found = list(model.joints)[1:], list(self.data.joints)[1:]
        kinds, axes = zip(*map(kind_of, joints, found), strict=True)
        turns = [np.eye(3) if axis is None else to_z(axis) for axis in axes]
        parents = np.array([int(parent) for parent in model.parents][1:]) - 1
        rotation, offset, mass, com, inertia = [], [], [], [], []
        for k, parent in enumerate(parents):
            place, body = model.jointPlacements[k + 1], model.inertias[k + 1]
            above = np.eye(3) if parent < 0 else turns[parent]
            rotation.append(above.T @ place.rotation @ turns[k])
            offset.append(above.T @ place.translation)
            mass.append(body.mass)
            com.append(turns[k].T @ body.lever)
            inertia.append((turns[k].T @ body.inertia @ turns[k])[np.triu_indices(3)])
        self.topology = Topology(
            parent=parents, kind=kinds, rotation=rotation, offset=offset, mass=mass, com=com, inertia=inertia,
            gravity=model.gravity.linear,
        )  # fmt: skip

    def random_state(self, seed):
        """p, v and a of ours."""
        rng = np.random.default_rng(seed)
        t = self.topology
        return rng.normal(size=t.n_q), rng.normal(size=t.n_v), rng.normal(size=t.n_v)

    def theirs(self, p, v, a):
        """The same state as Pinocchio has it: axes of the body for free joints, quaternions with the scalar last."""
        t, model = self.topology, self.model
        q, qv, qa = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        for k, joint in enumerate(list(model.joints)[1:]):
            at, va = t.q_at[k], t.v_at[k]
            if t.kind[k] == FREE:
                e = p[at + 3 : at + 7] / np.linalg.norm(p[at + 3 : at + 7])
                R = self.rotation(e)
                q[joint.idx_q : joint.idx_q + 7] = [*p[at : at + 3], *e[1:], e[0]]
                w, u = v[va + 3 : va + 6], R.T @ v[va : va + 3]
                qv[joint.idx_v : joint.idx_v + 6] = [*u, *w]
                qa[joint.idx_v : joint.idx_v + 6] = [*(R.T @ a[va : va + 3] - np.cross(w, u)), *a[va + 3 : va + 6]]
            elif t.kind[k] == SPHERICAL:
                e = p[at : at + 4] / np.linalg.norm(p[at : at + 4])
                q[joint.idx_q : joint.idx_q + 4] = [*e[1:], e[0]]
                qv[joint.idx_v : joint.idx_v + 3], qa[joint.idx_v : joint.idx_v + 3] = v[va : va + 3], a[va : va + 3]
            else:
                two = joint.nq == 2
                q[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(p[at]), np.sin(p[at])] if two else p[at]
                qv[joint.idx_v], qa[joint.idx_v] = v[va], a[va]
        return q, qv, qa

    def rotation(self, e):
        return self.pin.Quaternion(e[0], e[1], e[2], e[3]).toRotationMatrix()

    def forces(self, p, tau):
        """Generalized forces of theirs as ours."""
        t, out = self.topology, np.zeros(self.topology.n_v)
        for k, joint in enumerate(list(self.model.joints)[1:]):
            at, va, size = t.q_at[k], t.v_at[k], joint.nv
            part = tau[joint.idx_v : joint.idx_v + size].copy()
            if t.kind[k] == FREE:
                e = p[at + 3 : at + 7] / np.linalg.norm(p[at + 3 : at + 7])
                part[:3] = self.rotation(e) @ part[:3]
            out[va : va + size] = part
        return out

    def to_their_velocities(self, p):
        """The matrix T with v_theirs = T v_ours."""
        zero = np.zeros(self.topology.n_v)
        return np.array([self.theirs(p, e, zero)[1] for e in np.eye(self.topology.n_v)]).T
