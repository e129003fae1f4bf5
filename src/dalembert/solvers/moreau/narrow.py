"""The narrow phase: points in which shapes touch, with normals from the first body to the second.

Spheres and capsules are points and segments with a radius. Boxes touch with faces: of all faces the one that is
penetrated least, cut with the face of the other that looks at it; edges that cross each other count as such faces.
"""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import imat, ivec, mat, vec
from dalembert.model.shape_kinds import BOX, CAPSULE, SPHERE
from dalembert.solvers.moreau.broad import scattered
from dalembert.solvers.moreau.collide import (
    ARM_A,
    ARM_B,
    BODY_A,
    BODY_B,
    CORRECTION,
    FEATURES,
    GAP,
    IMPULSE,
    KEY,
    MOST_POINTS,
    N_COLUMNS,
    N_WHOLES,
    NORMAL,
    TANGENT1,
    TANGENT2,
)


@device
def old_impulse(own, key):
    """Place of a key among the impulses of the last step, or −1."""
    mask, keys = own.n_hash - 1, ivec(own.old_keys, own.n_hash)
    slot = scattered(key, mask)
    while keys[slot] >= 0:
        if keys[slot] == key:
            return slot
        slot = (slot + 1) & mask
    return -1


@device
def keep_impulses(own):
    """Put the impulses of this step where the next one finds them."""
    mask, keys, old = own.n_hash - 1, ivec(own.old_keys, own.n_hash), mat(own.old_impulses, own.n_hash, 3)
    wholes, contacts = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)
    for k in range(own.n_hash):
        keys[k] = -1
    for c in range(own.n_contacts):
        slot = scattered(wholes[c, KEY], mask)
        while keys[slot] >= 0:
            slot = (slot + 1) & mask
        keys[slot] = wholes[c, KEY]
        # as a vector in space: tangents may be others in the next step
        for i in range(3):
            old[slot, i] = (
                contacts[c, IMPULSE] * contacts[c, NORMAL + i]
                + contacts[c, IMPULSE + 1] * contacts[c, TANGENT1 + i]
                + contacts[c, IMPULSE + 2] * contacts[c, TANGENT2 + i]
            )


@device
def add_contact(own, a, b, key, n0, n1, n2, x, y, z, gap):
    """A contact of bodies a and b (−1: the ground) with normal n in the point (x, y, z), if it is closed."""
    if gap > 0.0:
        return
    if own.n_contacts == own.room_contacts:
        own.full = 1
        return
    c, place = own.n_contacts, mat(own.place, own.n_bodies, 3)
    wholes, row = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)[c]
    wholes[c, BODY_A], wholes[c, BODY_B], wholes[c, KEY] = a, b, key
    row[NORMAL], row[NORMAL + 1], row[NORMAL + 2] = n0, n1, n2
    if own.planar == 1:
        t0, t1, t2 = -n1, n0, 0.0
    elif abs(n0) < 0.6:  # perpendicular to the normal and to the axis from which that is far
        length = np.sqrt(n1 * n1 + n2 * n2)
        t0, t1, t2 = 0.0, n2 / length, -n1 / length
    else:
        length = np.sqrt(n0 * n0 + n2 * n2)
        t0, t1, t2 = -n2 / length, 0.0, n0 / length
    row[TANGENT1], row[TANGENT1 + 1], row[TANGENT1 + 2] = t0, t1, t2
    row[TANGENT2], row[TANGENT2 + 1] = n1 * t2 - n2 * t1, n2 * t0 - n0 * t2
    row[TANGENT2 + 2] = n0 * t1 - n1 * t0
    for k in range(3):
        point = x if k == 0 else y if k == 1 else z
        row[ARM_A + k] = point - place[a, k] if a >= 0 else 0.0
        row[ARM_B + k] = point - place[b, k] if b >= 0 else 0.0
        row[CORRECTION] = 0.0
    row[GAP] = gap
    slot, old = old_impulse(own, key), mat(own.old_impulses, own.n_hash, 3)
    for i in range(3):
        row[IMPULSE + i] = 0.0
        if slot >= 0:
            at = NORMAL if i == 0 else TANGENT1 if i == 1 else TANGENT2
            row[IMPULSE + i] = old[slot, 0] * row[at] + old[slot, 1] * row[at + 1] + old[slot, 2] * row[at + 2]
    row[IMPULSE] = max(row[IMPULSE], 0.0)
    own.n_contacts += 1


@device
def between_points(own, a, b, key, ax, ay, az, ra, bx, by, bz, rb):
    """Two balls."""
    x, y, z = bx - ax, by - ay, bz - az
    reach, square = ra + rb, x * x + y * y + z * z
    if square > reach * reach:
        return
    distance = np.sqrt(square)
    if distance == 0.0:  # centres coincide: any direction is as good
        x, y, z, distance = 0.0, 1.0, 0.0, 1.0
        gap = -reach
    else:
        gap = distance - reach
    n0, n1, n2 = x / distance, y / distance, z / distance
    at = ra + 0.5 * gap
    add_contact(own, a, b, key, n0, n1, n2, ax + at * n0, ay + at * n1, az + at * n2, gap)


@inlined
def nearest_on_segment(px, py, pz, ax, ay, az, dx, dy, dz):
    """Parameter in [−1, 1] of the point a + s d nearest to p."""
    square = dx * dx + dy * dy + dz * dz
    s = ((px - ax) * dx + (py - ay) * dy + (pz - az) * dz) / square if square > 0.0 else 0.0
    return min(max(s, -1.0), 1.0)


@device
def nearest_of_segments(ax, ay, az, dx, dy, dz, bx, by, bz, ex, ey, ez):
    """Parameters of the nearest points a + s d and b + t e, both in [−1, 1]."""
    d2, e2 = dx * dx + dy * dy + dz * dz, ex * ex + ey * ey + ez * ez
    de = dx * ex + dy * ey + dz * ez
    det = d2 * e2 - de * de
    s = 0.0
    if det > 1e-12 * d2 * e2:
        rd = (bx - ax) * dx + (by - ay) * dy + (bz - az) * dz
        re = (bx - ax) * ex + (by - ay) * ey + (bz - az) * ez
        s = min(max((rd * e2 - re * de) / det, -1.0), 1.0)
    t = nearest_on_segment(ax + s * dx, ay + s * dy, az + s * dz, bx, by, bz, ex, ey, ez)
    s = nearest_on_segment(bx + t * ex, by + t * ey, bz + t * ez, ax, ay, az, dx, dy, dz)
    t = nearest_on_segment(ax + s * dx, ay + s * dy, az + s * dz, bx, by, bz, ex, ey, ez)
    return s, t


@device
def axis_of(own, s):
    """Half the axis of a capsule, in space."""
    body = ivec(own.shape_body, own.n_shapes)[s]
    Q, half = mat(own.shape_rotation, own.n_shapes, 9)[s], mat(own.shape_size, own.n_shapes, 3)[s, 1]
    x, y, z = half * Q[2], half * Q[5], half * Q[8]
    if body < 0:
        return x, y, z
    R = mat(own.axes, own.n_bodies, 9)[body]
    return (
        R[0] * x + R[1] * y + R[2] * z,
        R[3] * x + R[4] * y + R[5] * z,
        R[6] * x + R[7] * y + R[8] * z,
    )


@device
def axis_of_box(own, s, k):
    """Axis k of a box in space."""
    body, Q = ivec(own.shape_body, own.n_shapes)[s], mat(own.shape_rotation, own.n_shapes, 9)[s]
    x, y, z = Q[k], Q[3 + k], Q[6 + k]
    if body < 0:
        return x, y, z
    R = mat(own.axes, own.n_bodies, 9)[body]
    return (
        R[0] * x + R[1] * y + R[2] * z,
        R[3] * x + R[4] * y + R[5] * z,
        R[6] * x + R[7] * y + R[8] * z,
    )


@device
def distance_to_box(own, s, x, y, z):
    """Signed distance of a point from a box, and the direction outwards."""
    center, half = mat(own.center, own.n_shapes, 3)[s], mat(own.shape_size, own.n_shapes, 3)[s]
    x, y, z = x - center[0], y - center[1], z - center[2]
    n0, n1, n2, square = 0.0, 0.0, 0.0, 0.0
    depth, i0, i1, i2 = -np.inf, 0.0, 0.0, 0.0
    for k in range(3):
        a0, a1, a2 = axis_of_box(own, s, k)
        at = a0 * x + a1 * y + a2 * z
        out = abs(at) - half[k]
        sign = 1.0 if at >= 0.0 else -1.0
        if out > 0.0:
            n0, n1, n2 = n0 + sign * out * a0, n1 + sign * out * a1, n2 + sign * out * a2
            square += out * out
        # in the plane, boxes have no faces in front and behind
        elif out > depth and not (own.planar == 1 and k == 2):
            depth, i0, i1, i2 = out, sign * a0, sign * a1, sign * a2
    if square > 0.0:
        distance = np.sqrt(square)
        return distance, n0 / distance, n1 / distance, n2 / distance
    return depth, i0, i1, i2


@device
def on_box(own, a, b, key, box, x, y, z, r):
    """A ball of body a on a box of body b."""
    distance, n0, n1, n2 = distance_to_box(own, box, x, y, z)
    gap = distance - r
    at = r + 0.5 * gap
    add_contact(own, a, b, key, -n0, -n1, -n2, x - at * n0, y - at * n1, z - at * n2, gap)


@device
def capsule_on_box(own, a, b, key, capsule, box):
    """Both ends, and the point between them that is nearest, or deepest, if that is none of them."""
    center, r = mat(own.center, own.n_shapes, 3)[capsule], mat(own.shape_size, own.n_shapes, 3)[capsule, 0]
    dx, dy, dz = axis_of(own, capsule)
    low, high = -1.0, 1.0
    for _ in range(40):  # the distance from something convex has one valley along a line
        third = (high - low) / 3.0
        s, t = low + third, high - third
        at_s = distance_to_box(own, box, center[0] + s * dx, center[1] + s * dy, center[2] + s * dz)[0]
        at_t = distance_to_box(own, box, center[0] + t * dx, center[1] + t * dy, center[2] + t * dz)[0]
        if at_s < at_t:
            high = t
        else:
            low = s
    middle = 0.5 * (low + high)
    for k in range(3):
        s = -1.0 if k == 0 else 1.0 if k == 1 else middle
        if k < 2 or abs(middle) < 0.98:
            on_box(own, a, b, key + k, box, center[0] + s * dx, center[1] + s * dy, center[2] + s * dz, r)


@inlined
def half_width(own, s, k):
    """Half the extent of a box along its axis k; nothing across the plane of planar systems."""
    return 0.0 if own.planar == 1 and k == 2 else mat(own.shape_size, own.n_shapes, 3)[s, k]


@device
def reach_along(own, s, x, y, z):
    """How far a box reaches from its centre in a direction."""
    total = 0.0
    for k in range(3):
        a0, a1, a2 = axis_of_box(own, s, k)
        total += half_width(own, s, k) * abs(a0 * x + a1 * y + a2 * z)
    return total


@device
def least_overlap(own, s, t):
    """Of two boxes: the least overlap along axes of the first, that axis, and its sense towards the second."""
    center = mat(own.center, own.n_shapes, 3)
    x, y, z = center[t, 0] - center[s, 0], center[t, 1] - center[s, 1], center[t, 2] - center[s, 2]
    least, axis, sense = np.inf, 0, 1.0
    for k in range(3 - own.planar):
        a0, a1, a2 = axis_of_box(own, s, k)
        at = a0 * x + a1 * y + a2 * z
        overlap = half_width(own, s, k) + reach_along(own, t, a0, a1, a2) - abs(at)
        if overlap < least:
            least, axis, sense = overlap, k, 1.0 if at >= 0.0 else -1.0
    return least, axis, sense


@device
def set_facing(own, t, n0, n1, n2):
    """Corners of the face of box t that looks most against the direction n, into `polygon`. Returns their number."""
    points, center = mat(own.polygon, MOST_POINTS, 3), mat(own.center, own.n_shapes, 3)[t]
    best, face, sense = -1.0, 0, 1.0
    for k in range(3 - own.planar):
        a0, a1, a2 = axis_of_box(own, t, k)
        at = a0 * n0 + a1 * n1 + a2 * n2
        if abs(at) > best:
            best, face, sense = abs(at), k, -1.0 if at >= 0.0 else 1.0
    f0, f1, f2 = axis_of_box(own, t, face)
    u0, u1, u2 = axis_of_box(own, t, (face + 1) % 3)
    w0, w1, w2 = axis_of_box(own, t, (face + 2) % 3)
    f, u, w = sense * half_width(own, t, face), half_width(own, t, (face + 1) % 3), half_width(own, t, (face + 2) % 3)
    for c in range(4):
        a = u if c == 0 or c == 3 else -u
        b = w if c < 2 else -w
        points[c, 0] = center[0] + f * f0 + a * u0 + b * w0
        points[c, 1] = center[1] + f * f1 + a * u1 + b * w1
        points[c, 2] = center[2] + f * f2 + a * u2 + b * w2
    return 4


@device
def cut(own, count, x, y, z, limit):
    """Cut `polygon` by the half-space of points with (x, y, z)·r ≤ limit. Returns the number of its points."""
    points, out, kept = mat(own.polygon, MOST_POINTS, 3), mat(own.clipped, MOST_POINTS, 3), 0
    for i in range(count):
        j = (i + 1) % count
        here = x * points[i, 0] + y * points[i, 1] + z * points[i, 2] - limit
        there = x * points[j, 0] + y * points[j, 1] + z * points[j, 2] - limit
        if here <= 0.0 and kept < MOST_POINTS:
            for k in range(3):
                out[kept, k] = points[i, k]
            kept += 1
        if (here < 0.0 < there or there < 0.0 < here) and kept < MOST_POINTS:
            part = here / (here - there)
            for k in range(3):
                out[kept, k] = points[i, k] + part * (points[j, k] - points[i, k])
            kept += 1
    for i in range(kept):
        for k in range(3):
            points[i, k] = out[i, k]
    return kept


@device
def face_to_face(own, s, axis, sense, t, swapped, key):
    """Contacts of a face of box s with box t. `swapped`: t is the first of the pair."""
    m = own.n_shapes
    body, center, points = ivec(own.shape_body, m), mat(own.center, m, 3)[s], mat(own.polygon, MOST_POINTS, 3)
    n0, n1, n2 = axis_of_box(own, s, axis)
    n0, n1, n2 = sense * n0, sense * n1, sense * n2
    count = set_facing(own, t, n0, n1, n2)
    for turn in range(1, 3):
        k = (axis + turn) % 3
        if own.planar == 1 and k == 2:
            continue
        a0, a1, a2 = axis_of_box(own, s, k)
        at, half = a0 * center[0] + a1 * center[1] + a2 * center[2], half_width(own, s, k)
        # a little more, so that faces of the same size keep all their corners
        half += 1e-9 * half
        count = cut(own, count, a0, a1, a2, at + half)
        count = cut(own, count, -a0, -a1, -a2, half - at)
    height = n0 * center[0] + n1 * center[1] + n2 * center[2] + half_width(own, s, axis)
    small = 1e-12 * (vec(own.shape_bound, m)[s] + vec(own.shape_bound, m)[t])
    for i in range(count):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        again = False
        for j in range(i):
            again = again or abs(x - points[j, 0]) + abs(y - points[j, 1]) + abs(z - points[j, 2]) <= small
        if again:
            continue
        gap = n0 * x + n1 * y + n2 * z - height
        x, y, z = x - 0.5 * gap * n0, y - 0.5 * gap * n1, z - 0.5 * gap * n2
        if swapped:
            add_contact(own, body[t], body[s], key + i, -n0, -n1, -n2, x, y, z, gap)
        else:
            add_contact(own, body[s], body[t], key + i, n0, n1, n2, x, y, z, gap)


@device
def between_boxes(own, s, t, key):
    """Two boxes, by the face that is penetrated least; of equal ones that of the first."""
    first, axis, sense = least_overlap(own, s, t)
    if first < 0.0:
        return
    second, other_axis, other_sense = least_overlap(own, t, s)
    if second < 0.0:
        return
    if second < first * (1.0 - 1e-6):
        face_to_face(own, t, other_axis, other_sense, s, True, key)
    else:
        face_to_face(own, s, axis, sense, t, False, key)


@device
def box_on_plane(own, s, plane, key):
    """Corners of a box on a half-space."""
    m = own.n_shapes
    body, center = ivec(own.shape_body, m)[s], mat(own.center, m, 3)[s]
    normal, point = mat(own.plane_normal, own.n_planes, 3)[plane], mat(own.plane_point, own.n_planes, 3)[plane]
    n0, n1, n2 = normal[0], normal[1], normal[2]
    for c in range(8 if own.planar == 0 else 4):
        x, y, z = center[0], center[1], center[2]
        for k in range(3):
            a0, a1, a2 = axis_of_box(own, s, k)
            half = half_width(own, s, k) * (1.0 if (c >> k) & 1 == 1 else -1.0)
            x, y, z = x + half * a0, y + half * a1, z + half * a2
        gap = n0 * (x - point[0]) + n1 * (y - point[1]) + n2 * (z - point[2])
        at = 0.5 * gap
        add_contact(own, -1, body, key + c, n0, n1, n2, x - at * n0, y - at * n1, z - at * n2, gap)


@device
def on_planes(own, s):
    """A shape on the half-spaces of the ground."""
    kind, body = ivec(own.shape_kind, own.n_shapes)[s], ivec(own.shape_body, own.n_shapes)[s]
    if body < 0:
        return
    center, r = mat(own.center, own.n_shapes, 3)[s], mat(own.shape_size, own.n_shapes, 3)[s, 0]
    normals, points = mat(own.plane_normal, own.n_planes, 3), mat(own.plane_point, own.n_planes, 3)
    bound = vec(own.shape_bound, own.n_shapes)[s]
    for k in range(own.n_planes):
        n0, n1, n2 = normals[k, 0], normals[k, 1], normals[k, 2]
        x, y, z = center[0] - points[k, 0], center[1] - points[k, 1], center[2] - points[k, 2]
        height = n0 * x + n1 * y + n2 * z
        if height > bound:
            continue
        key = ((own.n_shapes + k) * (own.n_shapes + own.n_planes) + s) * FEATURES
        if kind == BOX:
            box_on_plane(own, s, k, key)
            continue
        if kind == SPHERE:
            at, gap = 0.5 * (height + r), height - r
            add_contact(
                own, -1, body, key, n0, n1, n2, center[0] - at * n0, center[1] - at * n1, center[2] - at * n2, gap
            )
            continue
        dx, dy, dz = axis_of(own, s)
        along = n0 * dx + n1 * dy + n2 * dz
        for end in range(2):
            sign = 1.0 if end == 1 else -1.0
            at, gap = 0.5 * (height + sign * along + r), height + sign * along - r
            x, y, z = center[0] + sign * dx - at * n0, center[1] + sign * dy - at * n1, center[2] + sign * dz - at * n2
            add_contact(own, -1, body, key + end, n0, n1, n2, x, y, z, gap)


@device
def touch(own, s, t):
    """Two shapes, the kind of the first not above that of the second."""
    m = own.n_shapes
    kind, body, size = ivec(own.shape_kind, m), ivec(own.shape_body, m), mat(own.shape_size, m, 3)
    center = mat(own.center, m, 3)
    a, b, key = body[s], body[t], (s * (m + own.n_planes) + t) * FEATURES
    x, y, z, r = center[s, 0], center[s, 1], center[s, 2], size[s, 0]
    u, v, w, q = center[t, 0], center[t, 1], center[t, 2], size[t, 0]
    if kind[s] == SPHERE and kind[t] == SPHERE:
        between_points(own, a, b, key, x, y, z, r, u, v, w, q)
    elif kind[s] == SPHERE and kind[t] == CAPSULE:
        dx, dy, dz = axis_of(own, t)
        k = nearest_on_segment(x, y, z, u, v, w, dx, dy, dz)
        between_points(own, a, b, key, x, y, z, r, u + k * dx, v + k * dy, w + k * dz, q)
    elif kind[s] == CAPSULE and kind[t] == CAPSULE:
        dx, dy, dz = axis_of(own, s)
        ex, ey, ez = axis_of(own, t)
        k, o = nearest_of_segments(x, y, z, dx, dy, dz, u, v, w, ex, ey, ez)
        between_points(
            own, a, b, key, x + k * dx, y + k * dy, z + k * dz, r, u + o * ex, v + o * ey, w + o * ez, q
        )  # fmt: skip
    elif kind[s] == CAPSULE and kind[t] == BOX:
        capsule_on_box(own, a, b, key, s, t)
    elif kind[s] == BOX:
        between_boxes(own, s, t, key)
    else:
        on_box(own, a, b, key, t, x, y, z, r)


@device
def find_contacts(own):
    """All closed contacts of the current place of shapes; `full` is set if they do not fit."""
    own.n_contacts = 0
    pairs = imat(own.pairs, own.room_pairs, 2)
    for s in range(own.n_shapes):
        on_planes(own, s)
    for k in range(own.n_pairs):
        touch(own, pairs[k, 0], pairs[k, 1])
