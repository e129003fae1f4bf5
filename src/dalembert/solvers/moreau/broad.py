"""The broad phase: shapes that are near each other, from cells of several sizes.

A shape stands in a cell of its level, whose cells are as wide as the largest shape of the level; it is compared with
those in neighbouring cells of its own level and of higher ones. Pairs are looked for with a margin, and hold until a
shape has moved by half of it. All of it is linear in the number of shapes and pairs.
"""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import imat, ivec, mat, vec

#: cells beyond this many along an axis are one: nobody is there but bodies that were lost
FARTHEST = 1 << 40


@inlined
def scattered(number, mask):
    """A number as a place in a table of mask + 1 entries."""
    return np.int64((np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(29)) & mask


@inlined
def bucket(level, i, j, k, mask):
    """Of a cell; different cells may share one."""
    return scattered(((i * 73856093) ^ (j * 19349663) ^ (k * 83492791)) * 31 + level, mask)


@inlined
def number_of_cell(x, size):
    c = np.floor(x / size)
    return np.int64(min(max(c, -FARTHEST), FARTHEST))


@device
def moved_too_far(own):
    """Whether a shape has left the margin in which pairs were looked for."""
    center, built = mat(own.center, own.n_shapes, 3), mat(own.built, own.n_shapes, 3)
    limit = 0.25 * own.margin * own.margin
    for s in range(own.n_shapes):
        x, y, z = center[s, 0] - built[s, 0], center[s, 1] - built[s, 1], center[s, 2] - built[s, 2]
        if not x * x + y * y + z * z <= limit:
            return True
    return False


@device
def are_ignored(own, a, b):
    """Whether two bodies never collide, by bisection."""
    keys, key = ivec(own.ignored, own.n_ignored), min(a, b) * own.n_bodies + max(a, b)
    low, high = 0, own.n_ignored
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < own.n_ignored and keys[low] == key


@device
def add_pair(own, a, b):
    """If the two shapes are near each other; a shape of lower kind comes first."""
    body, kind = ivec(own.shape_body, own.n_shapes), ivec(own.shape_kind, own.n_shapes)
    center, bound = mat(own.center, own.n_shapes, 3), vec(own.shape_bound, own.n_shapes)
    x, y, z = center[a, 0] - center[b, 0], center[a, 1] - center[b, 1], center[a, 2] - center[b, 2]
    reach = bound[a] + bound[b] + own.margin
    if x * x + y * y + z * z > reach * reach or body[a] == body[b]:
        return
    if own.n_ignored > 0 and body[a] >= 0 and body[b] >= 0 and are_ignored(own, body[a], body[b]):
        return
    if own.n_pairs == own.room_pairs:
        own.full = 1
        return
    pairs = imat(own.pairs, own.room_pairs, 2)
    if kind[a] > kind[b] or (kind[a] == kind[b] and a > b):
        a, b = b, a
    pairs[own.n_pairs, 0], pairs[own.n_pairs, 1] = a, b
    own.n_pairs += 1


@device
def look_in_cell(own, a, level, i, j, k, all_of_it):
    """Pairs of a shape with those in a cell: with all of them, or with those that were put there before it."""
    mask = own.n_buckets - 1
    head, after = ivec(own.head, own.n_buckets), ivec(own.after, own.n_shapes)
    cell, levels = imat(own.cell, own.n_shapes, 3), ivec(own.shape_level, own.n_shapes)
    b = after[a] if not all_of_it else head[bucket(level, i, j, k, mask)]
    while b >= 0:
        if levels[b] == level and cell[b, 0] == i and cell[b, 1] == j and cell[b, 2] == k:
            add_pair(own, a, b)
        b = after[b]


@device
def find_pairs(own):
    """Pairs of shapes, into `pairs`; `full` is set if they do not fit."""
    m, mask = own.n_shapes, own.n_buckets - 1
    head, after = ivec(own.head, own.n_buckets), ivec(own.after, m)
    cell, level, size = imat(own.cell, m, 3), ivec(own.shape_level, m), vec(own.level_size, own.n_levels)
    used, center, built = ivec(own.level_used, own.n_levels), mat(own.center, m, 3), mat(own.built, m, 3)
    own.n_pairs = 0
    for k in range(own.n_buckets):
        head[k] = -1
    for s in range(m):
        width = size[level[s]] + own.margin
        for k in range(3):
            cell[s, k] = number_of_cell(center[s, k], width)
            built[s, k] = center[s, k]
        place = bucket(level[s], cell[s, 0], cell[s, 1], cell[s, 2], mask)
        after[s] = head[place]
        head[place] = s
    for s in range(m):
        i, j, k = cell[s, 0], cell[s, 1], cell[s, 2]
        look_in_cell(own, s, level[s], i, j, k, False)
        for turn in range(14, 27):  # half of the neighbours: the others look here
            look_in_cell(own, s, level[s], i + turn // 9 - 1, j + turn // 3 % 3 - 1, k + turn % 3 - 1, True)
        for higher in range(level[s] + 1, own.n_levels):
            if used[higher] == 0:
                continue
            width = size[higher] + own.margin
            i, j, k = (
                number_of_cell(center[s, 0], width),
                number_of_cell(center[s, 1], width),
                number_of_cell(center[s, 2], width),
            )
            for turn in range(27):
                look_in_cell(own, s, higher, i + turn // 9 - 1, j + turn // 3 % 3 - 1, k + turn % 3 - 1, True)
    own.valid = 1
