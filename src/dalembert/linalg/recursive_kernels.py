"""Recursive elimination as kernels: sons before fathers, each body in a block of memory of its own.

`data` holds the blocks one after the other, and behind them the nonzeros of the constraints that were cut. Unknowns are
kept body by body (w, then λ) in `x`. With T the matrix of the tree and C the cut constraints, the whole matrix is
[T C_Uᵀ; C_G 0]: its Schur complement C_G T⁻¹ C_Uᵀ closes the loops.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, imat, ivec, layout, mat, member, vec
from dalembert.linalg import lu
from dalembert.linalg.bodies import (
    DEFINITE, GENERAL, backward_definite, backward_general, block_length, eliminate_definite, eliminate_general,
    forward_definite, forward_general,
)  # fmt: skip
from dalembert.linalg.dense_kernels import rank_deficient
from dalembert.linalg.saddle import SADDLE, new_saddle, not_finite

i8, u8 = nb.int64, nb.uint64

#: (n, m, f) of bodies for which there is code of fixed size: points, planar and spatial bodies
FIXED = ((2, 1, 2), (3, 2, 3), (6, 3, 6), (6, 5, 6))

RECORD = layout(
    arrays=[
        *SADDLE,
        "data",
        "to",  # where nonzero k of M, then G, then U goes in `data`
        "body",  # for each body: way or code of fixed size, n, m, f, father, start of block, start of unknowns
        "careful",  # the same with way GENERAL throughout, and `careful_to`: if a matrix is not definite after all
        "careful_to",
        "unknown",  # which unknown stands at a place of x
        "x", "pivots",
        # cut constraints: number, place in x of each nonzero, and the values' place in data
        "cut_row", "cut_place", "force_row", "force_place",
        "W", "S", "S_pivots", "mu",
    ],
    wholes=["n", "n_bodies", "n_data", "n_careful", "n_to", "n_cut", "n_cut_G", "n_cut_U", "definite", "cut_at"],
)  # fmt: skip
_at = member(RECORD)


def recursive_memory(solver, pattern, tree) -> Memory:
    plans = [_plan(pattern, tree, careful) for careful in (False, True)]
    body, to, n_data = plans[0]
    careful, careful_to, n_careful = plans[1]
    unknown = []
    for velocities, constraints in zip(tree.bodies, tree.joints, strict=True):
        unknown += [*velocities, *(pattern.n_v + c for c in constraints)]
    n_cut = len(tree.cut)
    place = np.zeros(pattern.n, np.int64)
    place[unknown] = np.arange(len(unknown))
    number = np.full(pattern.n_lam, -1)
    number[list(tree.cut)] = np.arange(n_cut)

    def cut(entries):
        rows, columns = entries
        of = np.flatnonzero(number[rows] >= 0)
        return number[rows[of]].astype(np.int64), place[columns[of]]

    cut_row, cut_place = cut(pattern.constraint)
    force_row, force_place = cut(pattern.force or pattern.constraint)
    unknown += [pattern.n_v + c for c in tree.cut]
    memory = new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), data=np.zeros(max(n_data, n_careful)), to=to,
        body=body, careful=careful, careful_to=careful_to, unknown=np.array(unknown, np.int64), x=np.zeros(pattern.n),
        pivots=np.zeros(pattern.n, np.int64), cut_row=cut_row, cut_place=cut_place, force_row=force_row,
        force_place=force_place, W=np.zeros((n_cut, pattern.n - n_cut)), S=np.zeros((n_cut, n_cut)),
        S_pivots=np.zeros(n_cut, np.int64), mu=np.zeros(n_cut), n=pattern.n, n_bodies=len(body), n_data=n_data,
        n_careful=n_careful, n_to=len(to), n_cut=n_cut, n_cut_G=len(cut_row), n_cut_U=len(force_row),
        definite=1, cut_at=0,
    )  # fmt: skip
    memory.tree = tree
    return memory


def _plan(pattern, tree, careful: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """The table of bodies, where each nonzero goes, and the length of the data."""
    mi, mj = pattern.mass
    on_diagonal = np.zeros(pattern.n_v, bool)
    on_diagonal[mi[mi == mj]] = True
    table, home, at = [], np.zeros(pattern.n_v, np.int64), np.zeros(pattern.n_v, np.int64)
    with_body, row = np.full(pattern.n_lam, -1), np.zeros(pattern.n_lam, np.int64)
    start, first = 0, 0
    for k, (velocities, constraints, father) in enumerate(zip(tree.bodies, tree.joints, tree.father, strict=True)):
        n, m, f = len(velocities), len(constraints), len(tree.bodies[father]) if father >= 0 else 0
        definite = pattern.symmetric and not careful and on_diagonal[list(velocities)].all()
        way = DEFINITE if definite else GENERAL
        code = 10 + FIXED.index((n, m, f)) if definite and (n, m, f) in FIXED else way
        table.append([code, n, m, f, father, start, first, way])
        home[list(velocities)], at[list(velocities)] = k, np.arange(n)
        with_body[list(constraints)], row[list(constraints)] = k, np.arange(m)
        start += block_length(way, n, m, f)
        first += n + m
    table = np.array(table, np.int64).reshape(-1, 8)
    _, n, m, f, father, begin, _, way = table.T

    def joint(rows, columns, force: bool) -> np.ndarray:
        """Places of nonzeros of G (or U) in the blocks; those of cut constraints follow behind all blocks."""
        nonlocal start
        k = with_body[rows]
        own = home[columns] == k
        shift = np.where(force, m[k] * (n[k] + f[k]), 0) + n[k] * n[k]
        behind = np.where(way[k] == DEFINITE, m[k] * m[k], 0)
        places = begin[k] + shift + np.where(
            own, row[rows] * n[k] + at[columns], m[k] * n[k] + behind + row[rows] * f[k] + at[columns]
        )  # fmt: skip
        cut = k < 0
        places[cut] = start + np.arange(cut.sum())
        start += int(cut.sum())
        return places

    if len(table) == 0:
        return table[:, :7], np.zeros(0, np.int64), 0
    places = [begin[home[mi]] + at[mi] * n[home[mi]] + at[mj], joint(*pattern.constraint, False)]
    if not pattern.symmetric:
        places.append(joint(*pattern.force, True))
    return np.ascontiguousarray(table[:, :7]), np.concatenate(places).astype(np.int64), start


@device
def load(la, to, n):
    """Nonzeros into the blocks."""
    sizes = ivec(la.sizes, 7)
    data, M, G, U = vec(la.data, n), vec(la.M, sizes[2]), vec(la.G, sizes[3]), vec(la.U, sizes[4])
    for i in range(n):
        data[i] = 0.0
    for k in range(sizes[2]):
        data[to[k]] += M[k]
    first = sizes[2]
    for k in range(sizes[3]):
        data[to[first + k]] += G[k]
    first += sizes[3]
    for k in range(sizes[4]):
        data[to[first + k]] += U[k]


@device
def eliminate(la, body):
    """All bodies, sons first. Returns 0, or 1 + the place in x at which a block proved singular."""
    symmetric = ivec(la.sizes, 7)[5] == 1
    pivots = ivec(la.pivots, la.n)
    for k in range(la.n_bodies - 1, -1, -1):
        code, n, m, f, father, start = body[k, 0], body[k, 1], body[k, 2], body[k, 3], body[k, 4], body[k, 5]
        own = la.data + 8 * start
        above = la.data + 8 * body[father, 5] if father >= 0 else own
        if code == 11:
            failed = eliminate_definite(vec(own, 64), vec(above, 9), 3, 2, 3)
        elif code == 10:
            failed = eliminate_definite(vec(own, 64), vec(above, 4), 2, 1, 2)
        elif code == 12:
            failed = eliminate_definite(vec(own, 128), vec(above, 36), 6, 3, 6)
        elif code == 13:
            failed = eliminate_definite(vec(own, 128), vec(above, 36), 6, 5, 6)
        elif code == DEFINITE:
            failed = eliminate_definite(vec(own, la.n_data), vec(above, f * f), n, m, f)
        else:
            failed = eliminate_general(
                vec(own, la.n_careful), vec(above, f * f), n, m, f, pivots[body[k, 6] :], symmetric
            )
        if failed != 0:
            return body[k, 6] + failed
    return 0


@device
def solve_tree(la, body, x):
    """T⁻¹ x in place; x is the address of numbers in the order of the bodies."""
    symmetric = ivec(la.sizes, 7)[5] == 1
    pivots = ivec(la.pivots, la.n)
    for k in range(la.n_bodies - 1, -1, -1):
        code, n, m, f, father = body[k, 0], body[k, 1], body[k, 2], body[k, 3], body[k, 4]
        own, mine = la.data + 8 * body[k, 5], x + 8 * body[k, 6]
        above = x + 8 * body[father, 6] if father >= 0 else mine
        if code == 11:
            forward_definite(vec(own, 64), vec(mine, 5), vec(above, 3), 3, 2, 3)
        elif code == 10:
            forward_definite(vec(own, 64), vec(mine, 3), vec(above, 2), 2, 1, 2)
        elif code == 12:
            forward_definite(vec(own, 128), vec(mine, 9), vec(above, 6), 6, 3, 6)
        elif code == 13:
            forward_definite(vec(own, 128), vec(mine, 11), vec(above, 6), 6, 5, 6)
        elif code == DEFINITE:
            forward_definite(vec(own, la.n_data), vec(mine, n + m), vec(above, f), n, m, f)
        else:
            forward_general(
                vec(own, la.n_careful), vec(mine, n + m), vec(above, f), n, m, f, pivots[body[k, 6] :], symmetric
            )
    for k in range(la.n_bodies):
        code, n, m, f, father = body[k, 0], body[k, 1], body[k, 2], body[k, 3], body[k, 4]
        own, mine = la.data + 8 * body[k, 5], x + 8 * body[k, 6]
        above = x + 8 * body[father, 6] if father >= 0 else mine
        if code == 11:
            backward_definite(vec(own, 64), vec(mine, 5), vec(above, 3), 3, 2, 3)
        elif code == 10:
            backward_definite(vec(own, 64), vec(mine, 3), vec(above, 2), 2, 1, 2)
        elif code == 12:
            backward_definite(vec(own, 128), vec(mine, 9), vec(above, 6), 6, 3, 6)
        elif code == 13:
            backward_definite(vec(own, 128), vec(mine, 11), vec(above, 6), 6, 5, 6)
        elif code == DEFINITE:
            backward_definite(vec(own, la.n_data), vec(mine, n + m), vec(above, f), n, m, f)
        else:
            backward_general(vec(own, la.n_careful), vec(mine, n + m), vec(above, f), n, m, f)


@device
def close_loops(la, body):
    """W = (T⁻¹ C_Uᵀ)ᵀ and the factors of C_G T⁻¹ C_Uᵀ. Returns 0, or 1 + the place in x of a cut constraint."""
    n, n_cut = la.n - la.n_cut, la.n_cut
    W, S = mat(la.W, n_cut, n), mat(la.S, n_cut, n_cut)
    G, row, place = vec(la.data + 8 * la.cut_at, la.n_cut_G), ivec(la.cut_row, la.n_cut_G), ivec(la.cut_place, la.n_cut_G)
    symmetric = ivec(la.sizes, 7)[5] == 1
    U = G if symmetric else vec(la.data + 8 * (la.cut_at + la.n_cut_G), la.n_cut_U)
    force_row, force_place = ivec(la.force_row, la.n_cut_U), ivec(la.force_place, la.n_cut_U)
    for i in range(n_cut):
        for j in range(n):
            W[i, j] = 0.0
        for j in range(n_cut):
            S[i, j] = 0.0
    for k in range(la.n_cut_U):
        W[force_row[k], force_place[k]] += U[k]
    for i in range(n_cut):
        solve_tree(la, body, la.W + 8 * i * n)
    for k in range(la.n_cut_G):
        for j in range(n_cut):
            S[row[k], j] += G[k] * W[j, place[k]]
    failed = lu.factor(S, ivec(la.S_pivots, n_cut), n_cut)
    if failed == 0:
        failed = rank_deficient(S, n_cut, False)
    return failed if failed == 0 else n + failed


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    bad = not_finite(la)
    if bad != 0:
        return bad
    failed = 0
    while True:
        n = la.n_data if la.definite == 1 else la.n_careful
        la.cut_at = n - la.n_cut_G - (0 if ivec(la.sizes, 7)[5] == 1 else la.n_cut_U)
        body = imat(la.body if la.definite == 1 else la.careful, la.n_bodies, 7)
        load(la, ivec(la.to if la.definite == 1 else la.careful_to, la.n_to), n)
        failed = eliminate(la, body)
        if failed == 0:
            failed = close_loops(la, body) if la.n_cut > 0 else 0
            break
        if la.definite == 0:
            break
        la.definite = 0  # try again without relying on it
    if failed != 0:
        la.definite = 1
        return ivec(la.unknown, la.n)[failed - 1] + 1
    return 0


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n = la.n - la.n_cut
    given, out, y, unknown = vec(b, la.n), vec(x, la.n), vec(la.x, la.n), ivec(la.unknown, la.n)
    body = imat(la.body if la.definite == 1 else la.careful, la.n_bodies, 7)
    for i in range(la.n):
        y[i] = given[unknown[i]]
    solve_tree(la, body, la.x)
    if la.n_cut > 0:
        W, mu = mat(la.W, la.n_cut, n), vec(la.mu, la.n_cut)
        G, row = vec(la.data + 8 * la.cut_at, la.n_cut_G), ivec(la.cut_row, la.n_cut_G)
        place = ivec(la.cut_place, la.n_cut_G)
        for i in range(la.n_cut):
            mu[i] = -y[n + i]
        for k in range(la.n_cut_G):
            mu[row[k]] += G[k] * y[place[k]]
        lu.substitute(mat(la.S, la.n_cut, la.n_cut), ivec(la.S_pivots, la.n_cut), mu, la.n_cut)
        for i in range(la.n_cut):
            for j in range(n):
                y[j] -= W[i, j] * mu[i]
            y[n + i] = mu[i]
    for i in range(la.n):
        out[unknown[i]] = y[i]
    return 0
