"""The record of colliding bodies: what `model.collisions` says, and all that changes from step to step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.compile.memory import Memory, layout, member
from dalembert.model.shape_kinds import HALF_SPACE

if TYPE_CHECKING:
    from dalembert.model.collisions import Collisions

#: columns of a contact: normal, two tangents, arms from both centres of mass, 3×3 matrix, what is added to the normal
#: velocity by restitution, gap, impulse, correction of positions
NORMAL, TANGENT1, TANGENT2, ARM_A, ARM_B, MATRIX, BOUNCE, GAP, IMPULSE, CORRECTION = 0, 3, 6, 9, 12, 15, 24, 25, 26, 29
N_COLUMNS = 30
#: whole numbers of a contact: bodies (−1: the ground), key of the pair of shapes
BODY_A, BODY_B, KEY = 0, 1, 2
N_WHOLES = 3
#: points of a polygon that four planes have cut out of another with four corners, with room to spare
MOST_POINTS = 16
#: keys of one pair of shapes, which may touch in several points
FEATURES = 16

ARRAYS = (
    "p_at", "v_at", "inverse_mass", "inverse_inertia", "round",  # of bodies
    "place", "axes", "inertia", "velocity", "shift",  # of bodies in the step: position, rotation, I⁻¹, (v, ω), (dx, dθ)
    "shape_body", "shape_kind", "shape_position", "shape_rotation", "shape_size", "shape_bound", "shape_level",
    "center", "built",  # of shapes: now, and when pairs were looked for
    "level_size", "level_used", "cell", "head", "after",  # cells of the broad phase
    "plane_normal", "plane_point", "ignored",
    "polygon", "clipped",  # points of one face of a box within another
    "pairs",  # of shapes that are near each other
    "wholes", "contacts",
    "old_keys", "old_impulses",  # of the last step, a hash table
)  # fmt: skip
REALS = ("friction", "restitution", "margin", "slack", "scale")
WHOLES = (
    "n_bodies", "n_shapes", "n_planes", "n_levels", "n_buckets", "n_ignored", "n_hash", "planar",
    "room_pairs", "room_contacts", "n_pairs", "n_contacts", "valid", "full",
)  # fmt: skip
COLLISIONS = layout(arrays=ARRAYS, reals=REALS, wholes=WHOLES)
collisions_at = member(COLLISIONS)


def power_of_two(n: int) -> int:
    return 1 << max(int(n) - 1, 1).bit_length()


def new_collisions(data: Collisions, room: int) -> Memory:
    """A record with room for this many contacts and four times as many pairs."""
    plane = data.shape_kind == HALF_SPACE
    R, kept = data.shape_rotation, np.flatnonzero(~plane)
    bound = data.bounds()[kept]
    n, m = len(data.mass), len(kept)
    size = np.maximum(bound, 1e-3 * bound.max(initial=1e-300))
    largest = size.max(initial=1.0)
    level = np.ceil(np.log2(size / largest)).astype(np.int64)  # 0: the largest, −1: half of it, …
    level -= level.min(initial=0)
    n_levels = int(level.max(initial=0)) + 1
    level_size = 2.0 * largest * 2.0 ** (np.arange(n_levels) - (n_levels - 1.0))
    smallest = bound[(bound > 0) & (data.shape_body[kept] >= 0)].min(initial=largest)
    n_hash, n_buckets = power_of_two(2 * room), power_of_two(2 * m + 1)
    inverse_inertia = np.zeros((n, 9))
    if n:
        inverse_inertia[:] = np.linalg.inv(data.inertia).reshape(n, 9) if not data.planar else 0.0
        if data.planar:
            inverse_inertia[:, 8] = 1.0 / data.inertia[:, 2, 2]
    spherical = (data.inertia == data.inertia[:, :1, :1] * np.eye(3)).all(axis=(1, 2)).astype(np.int64)
    arrays = dict(
        p_at=data.p_at, v_at=data.v_at, inverse_mass=1.0 / data.mass, inverse_inertia=inverse_inertia, round=spherical,
        place=np.zeros((n, 3)), axes=np.zeros((n, 9)), inertia=np.zeros((n, 9)), velocity=np.zeros((n, 6)),
        shift=np.zeros((n, 6)), shape_body=data.shape_body[kept], shape_kind=data.shape_kind[kept],
        shape_position=data.shape_position[kept], shape_rotation=R[kept].reshape(m, 9),
        shape_size=data.shape_size[kept], shape_bound=bound, shape_level=level, center=np.zeros((m, 3)),
        built=np.zeros((m, 3)), level_size=level_size, level_used=np.bincount(level, minlength=n_levels),
        cell=np.zeros((m, 3), np.int64), head=np.zeros(n_buckets, np.int64), after=np.zeros(m, np.int64),
        plane_normal=np.ascontiguousarray(R[plane][:, :, 2]), plane_point=data.shape_position[plane],
        ignored=data.ignored_keys(),
        polygon=np.zeros((MOST_POINTS, 3)), clipped=np.zeros((MOST_POINTS, 3)), pairs=np.zeros((4 * room, 2), np.int64),
        wholes=np.zeros((room, N_WHOLES), np.int64), contacts=np.zeros((room, N_COLUMNS)),
        old_keys=np.full(n_hash, -1), old_impulses=np.zeros((n_hash, 3)),
    )  # fmt: skip
    scalars = dict(
        friction=data.friction, restitution=data.restitution, margin=0.4 * smallest, slack=0.0, scale=0.0,
        n_bodies=n, n_shapes=m,
        n_planes=int(plane.sum()), n_levels=n_levels, n_buckets=n_buckets, n_ignored=len(arrays["ignored"]),
        n_hash=n_hash, planar=int(data.planar), room_pairs=4 * room, room_contacts=room, n_pairs=0, n_contacts=0,
        valid=0, full=0,
    )  # fmt: skip
    return Memory(COLLISIONS, {name: np.ascontiguousarray(value) for name, value in arrays.items()} | scalars)


def with_more_room(old: Memory, data: Collisions, room: int) -> Memory:
    """The same with more room; impulses of the last step are kept."""
    new = new_collisions(data, room)
    known = old.old_keys >= 0
    mask = len(new.old_keys) - 1
    for key, impulse in zip(old.old_keys[known], old.old_impulses[known], strict=True):
        slot = first_slot(int(key), mask)
        while new.old_keys[slot] >= 0:
            slot = (slot + 1) & mask
        new.old_keys[slot], new.old_impulses[slot] = key, impulse
    return new


def first_slot(key: int, mask: int) -> int:
    """Where the search for a key begins; kernels compute the same (`broad.slot_of`)."""
    return (((key * 0x9E3779B97F4A7C15) % 2**64) >> 29) & mask
