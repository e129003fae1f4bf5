"""A skeleton as a `Topology`: flat arrays for the kernels, in which every axis is z."""

from __future__ import annotations

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.kinds import Move
from dalembert.multibody.skeleton import Skeleton
from dalembert.multibody.topology import Topology


def aligned(axes: np.ndarray) -> np.ndarray:
    """Rotations (n, 3, 3) that turn z into the given unit vectors; the identity for z itself."""
    n = len(axes)
    Q = np.empty((n, 3, 3))
    Q[:] = np.eye(3)
    other = np.flatnonzero((axes != (0.0, 0.0, 1.0)).any(axis=1))
    if len(other):
        z = axes[other]
        # perpendicular to z: the cross product with the axis from which z is farthest
        side = np.eye(3)[np.argmin(np.abs(z), axis=1)]
        x = np.cross(side, z)
        x /= np.linalg.norm(x, axis=1)[:, None]
        Q[other] = np.stack([x, np.cross(z, x), z], axis=2)
    return Q


def topology(bones: Skeleton) -> tuple[Topology, np.ndarray]:
    """The arrays, and for each link the rotation from the kernels' axes to the link's own."""
    if bones.backwards.any():
        number = int(np.flatnonzero(bones.backwards)[0])
        name = next(joint.name for joint in bones.system.joints if bones.first_link.get(joint.number) == number)
        raise ModelError(
            f"joint '{name}': its second body is nearer to the ground than its first, which kernels cannot take for "
            "Euler parameters; exchange the two bodies"
        )
    plain = np.isin(bones.move, (Move.REVOLUTE, Move.PRISMATIC, Move.SCREW))
    Q = aligned(np.where(plain[:, None], bones.axis, (0.0, 0.0, 1.0)))
    up = np.concatenate([Q, np.eye(3)[None]])[bones.parent]  # of the parent; the ground is the last
    back = np.swapaxes(up, 1, 2)
    turned = np.swapaxes(Q, 1, 2)
    J = turned @ bones.inertia @ Q
    damping, stiffness, rest = _in_joints(bones)
    return Topology(
        parent=bones.parent,
        kind=bones.move,
        rotation=back @ bones.rotation @ Q,
        offset=np.matmul(back, bones.offset[:, :, None])[:, :, 0],
        pitch=bones.pitch,
        mass=bones.mass,
        com=np.matmul(turned, bones.com[:, :, None])[:, :, 0],
        inertia=J.reshape(-1, 9)[:, [0, 1, 2, 4, 5, 8]],
        q_at=bones.q_at,
        v_at=bones.v_at,
        damping=damping,
        stiffness=stiffness,
        rest=rest,
        gravity=bones.values.vectors([bones.system.gravity])[0],
    ), Q


def _in_joints(bones: Skeleton) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dampers and springs of joints with one freedom, by velocity."""
    found = np.zeros((3, bones.n_v))
    for joint in bones.system.joints:
        if (joint.damping or joint.stiffness) and joint.number in bones.first_link:
            place = bones.v_at[bones.first_link[joint.number]]
            found[:, place] = [bones.values(x) for x in (joint.damping, joint.stiffness, joint.rest)]
    return found[0], found[1], found[2]
