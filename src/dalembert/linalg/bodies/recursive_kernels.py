"""Recursive elimination as kernels: sons before fathers, each body in a block of memory of its own.

`data` holds the blocks one after the other, and behind them the nonzeros of the constraints that were cut. Unknowns are
kept body by body (w, then λ) in `x`. With T the matrix of the tree and C the cut constraints, the whole matrix is
[T C_Uᵀ; C_G 0]: its Schur complement C_G T⁻¹ C_Uᵀ closes the loops. If some block is singular, or nearly so, a sparse
factorization of the whole matrix takes over (`rescue`).
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, call1, call2, call3, device, kernel
from dalembert.compile.memory import Memory, imat, ivec, layout, mat, member, vec
from dalembert.linalg.bodies import common as of
from dalembert.linalg.bodies.body_kernels import BACKWARD, COLUMNS, ELIMINATE, FIRST, FORWARD, START, addresses
from dalembert.linalg.factors import lu
from dalembert.linalg.saddle.saddle import SADDLE, new_saddle, not_finite, saddle_at, scale
from dalembert.linalg.saddle.sparse import Sparse

i8, u8 = nb.int64, nb.uint64


RECORD = layout(
    arrays=[
        *SADDLE,
        "sweep",  # kernel: T⁻¹ x in place
        "data",
        "to",  # where nonzero k of M, then G, then U goes in `data`
        "body",  # the table of bodies: see `body_kernels`
        "careful",  # the same with way GENERAL throughout, and `careful_to`: if a matrix is not definite after all
        "careful_to",
        "unknown",  # which unknown stands at a place of x
        "x",
        # cut constraints: number, place in x of each nonzero, and the values' place in data
        "cut_row", "cut_place", "force_row", "force_place",
        "W", "S", "S_pivots", "mu", "r", "c", "rescue",
    ],
    wholes=[
        "n", "n_bodies", "n_data", "n_careful", "n_to", "n_cut", "n_cut_G", "n_cut_U", "cut_at",
        "definite",  # `body` is in use, not `careful`
        "rescued",  # the last matrix was left to `rescue`
    ],
)  # fmt: skip
_at = member(RECORD)

# limits beyond which `rescue` takes over: a loop yields hardly, compared with free bodies, or what is left without the
# cut constraints is nearly singular and yields without end
STIFF = 1e-6
LIMP = 1e4


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
        solver, pattern, RECORD, address_of(factor), address_of(solve), sweep=address_of(sweep),
        data=np.zeros(max(n_data, n_careful)), to=to, body=body, careful=careful, careful_to=careful_to,
        unknown=np.array(unknown, np.int64), x=np.zeros(pattern.n), cut_row=cut_row, cut_place=cut_place,
        force_row=force_row, force_place=force_place, W=np.zeros((n_cut, pattern.n - n_cut)),
        S=np.zeros((n_cut, n_cut)), S_pivots=np.zeros(n_cut, np.int64), mu=np.zeros(n_cut), r=np.ones(pattern.n),
        c=np.ones(pattern.n), rescue=Sparse().build(pattern), n=pattern.n, n_bodies=len(body), n_data=n_data,
        n_careful=n_careful, n_to=len(to), n_cut=n_cut, n_cut_G=len(cut_row), n_cut_U=len(force_row), cut_at=0,
        definite=1, rescued=0,
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
        way = of.GENERAL
        if not careful and on_diagonal[list(velocities)].all():
            way = of.DEFINITE if pattern.symmetric else of.NEARLY
        elif not careful and pattern.symmetric and 0 < tree.joint_coordinates[k] == n - m:
            way = of.JOINT
        up, above = (table[father][START] - start, table[father][FIRST] - first) if father >= 0 else (0, 0)
        # in the symmetric case what is careful is hardly ever called: no code for fixed sizes
        kernels = addresses(way, 0, 0, 0) if careful and pattern.symmetric else addresses(way, n, m, f)
        table.append([way, n, m, f, up, start, first, *kernels, above, int(pattern.symmetric)])
        home[list(velocities)], at[list(velocities)] = k, np.arange(n)
        with_body[list(constraints)], row[list(constraints)] = k, np.arange(m)
        start += of.block_length(way, n, m, f)
        first += n + m
    table = np.array(table, np.int64).reshape(-1, COLUMNS)
    way, n, m, f, _, begin = table.T[:6]

    def joint(rows, columns, force: bool) -> np.ndarray:
        """Places of nonzeros of G (or U) in the blocks; those of cut constraints follow behind all blocks."""
        nonlocal start
        k = with_body[rows]
        own = home[columns] == k
        shift = np.where(force, m[k] * (n[k] + f[k]), 0) + n[k] * n[k]
        behind = np.where(way[k] == of.DEFINITE, m[k] * m[k], 0)
        places = begin[k] + shift + np.where(
            own, row[rows] * n[k] + at[columns], m[k] * n[k] + behind + row[rows] * f[k] + at[columns]
        )  # fmt: skip
        cut = k < 0
        places[cut] = start + np.arange(cut.sum())
        start += int(cut.sum())
        return places

    if len(table) == 0:
        return table, np.zeros(0, np.int64), 0
    places = [begin[home[mi]] + at[mi] * n[home[mi]] + at[mj], joint(*pattern.constraint, False)]
    if not pattern.symmetric:
        places.append(joint(*pattern.force, True))
    return table, np.concatenate(places).astype(np.int64), start


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


@kernel(i8(u8, u8))
def sweep(own, x):
    """T⁻¹ x in place; x is the address of numbers in the order of the bodies."""
    la = _at(own)
    table = la.body if la.definite == 1 else la.careful
    body = imat(table, la.n_bodies, COLUMNS)
    for k in range(la.n_bodies - 1, -1, -1):
        call3(body[k, FORWARD], la.data + 8 * body[k, START], x + 8 * body[k, FIRST], table + 8 * COLUMNS * k)
    for k in range(la.n_bodies):
        call3(body[k, BACKWARD], la.data + 8 * body[k, START], x + 8 * body[k, FIRST], table + 8 * COLUMNS * k)
    return 0


@device
def eliminate(la):
    """All bodies, sons first. Returns 0, or 1 + the place in x at which a block proved singular."""
    table = la.body if la.definite == 1 else la.careful
    body = imat(table, la.n_bodies, COLUMNS)
    for k in range(la.n_bodies - 1, -1, -1):
        failed = call2(body[k, ELIMINATE], la.data + 8 * body[k, START], table + 8 * COLUMNS * k)
        if failed != 0:
            return body[k, FIRST] + failed
    return 0


@device
def close_loops(la, own):
    """W = (T⁻¹ C_Uᵀ)ᵀ and the factors of C_G T⁻¹ C_Uᵀ. Returns 0, or 1 + the place in x of a cut constraint."""
    n, n_cut = la.n - la.n_cut, la.n_cut
    W, S = mat(la.W, n_cut, n), mat(la.S, n_cut, n_cut)
    G = vec(la.data + 8 * la.cut_at, la.n_cut_G)
    row, place = ivec(la.cut_row, la.n_cut_G), ivec(la.cut_place, la.n_cut_G)
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
        call2(la.sweep, own, la.W + 8 * i * n)
    for k in range(la.n_cut_G):
        for j in range(n_cut):
            S[row[k], j] += G[k] * W[j, place[k]]
    unknown, r, c = ivec(la.unknown, la.n), vec(la.r, la.n), vec(la.c, la.n)
    scale(saddle_at(own), r, c)  # S would have diagonal 1 if the cut constraints were alone
    for i in range(n_cut):
        for j in range(n_cut):
            S[i, j] *= r[unknown[n + i]] * c[unknown[n + j]]
        for j in range(n):
            if not abs(W[i, j]) * c[unknown[n + i]] < LIMP * c[unknown[j]]:
                return n + i + 1
    failed = lu.factor(S, ivec(la.S_pivots, n_cut), n_cut)
    for i in range(n_cut):
        if failed == 0 and not abs(S[i, i]) > STIFF:
            failed = i + 1
    return failed if failed == 0 else n + failed


@device
def rescue(la):
    """Sparse factorization. Returns its code."""
    sizes, other = ivec(la.sizes, 7), saddle_at(la.rescue)
    other.own = la.rescue
    copy(vec(la.M, sizes[2]), vec(other.M, sizes[2]), sizes[2])
    copy(vec(la.G, sizes[3]), vec(other.G, sizes[3]), sizes[3])
    copy(vec(la.U, sizes[4]), vec(other.U, sizes[4]), sizes[4])
    return call1(other.factor, la.rescue)


@device
def copy(a, b, n):
    for k in range(n):
        b[k] = a[k]


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    bad = not_finite(saddle_at(own))
    if bad != 0:
        return bad
    failed = 0
    while True:
        n = la.n_data if la.definite == 1 else la.n_careful
        la.cut_at = n - la.n_cut_G - (0 if ivec(la.sizes, 7)[5] == 1 else la.n_cut_U)
        load(la, ivec(la.to if la.definite == 1 else la.careful_to, la.n_to), n)
        failed = eliminate(la)
        if failed == 0:
            failed = close_loops(la, own) if la.n_cut > 0 else 0
            break
        if la.definite == 0:
            break
        la.definite = 0  # try again without relying on it
    if failed != 0:
        la.definite = 1
        la.rescued = 1
        return rescue(la)
    la.rescued = 0
    return 0


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    if la.rescued == 1:
        return call3(saddle_at(la.rescue).solve, la.rescue, b, x)
    n = la.n - la.n_cut
    given, out, y, unknown = vec(b, la.n), vec(x, la.n), vec(la.x, la.n), ivec(la.unknown, la.n)
    for i in range(la.n):
        y[i] = given[unknown[i]]
    call2(la.sweep, own, la.x)
    if la.n_cut > 0:
        W, mu = mat(la.W, la.n_cut, n), vec(la.mu, la.n_cut)
        G, row = vec(la.data + 8 * la.cut_at, la.n_cut_G), ivec(la.cut_row, la.n_cut_G)
        place = ivec(la.cut_place, la.n_cut_G)
        for i in range(la.n_cut):
            mu[i] = -y[n + i]
        for k in range(la.n_cut_G):
            mu[row[k]] += G[k] * y[place[k]]
        r, c = vec(la.r, la.n), vec(la.c, la.n)
        for i in range(la.n_cut):
            mu[i] *= r[unknown[n + i]]
        lu.substitute(mat(la.S, la.n_cut, la.n_cut), ivec(la.S_pivots, la.n_cut), mu, la.n_cut)
        for i in range(la.n_cut):
            mu[i] *= c[unknown[n + i]]
            for j in range(n):
                y[j] -= W[i, j] * mu[i]
            y[n + i] = mu[i]
    for i in range(la.n):
        out[unknown[i]] = y[i]
    return 0
