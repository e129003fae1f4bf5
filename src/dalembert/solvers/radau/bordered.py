"""Sparse linear algebra of GEOMS and QUALIDAES: selectors as borders of one sparse matrix, in place of bases of null
spaces.

The constraints stand in a chain of blocks, each with unknowns of its own (`constraints.py`). The selector of a block,
S = Kᵀ with K a basis of the null space of A = ∂F/∂x for its constraints F and unknowns x, annihilates exactly the range
of Aᵀ. So the projected equations hold if and only if the others hold up to such vectors, and with ν for each constraint
of each block that leaves directions free all increments solve

    (σ E − J) Δx + Aᵀ ν = R        the equations of the block's unknowns; of those without a derivative: Aᵀ ν = 0
              (σ E − J) Δx = R     force elements
                  −∂F/∂x Δx = R_F  all constraints

one square sparse matrix, for a real and a complex σ: the increments of dense blocks without ever forming a basis, which
would be full. Where E of a block's own equations is not symmetric and positive definite, the border is E Aᵀ, and S
annihilates that. In the equations of motion the blocks are F3(s, p), F2(v), F1(w, λ, μ). Without the constraints on
acceleration level multipliers are free, the equations of motion all selected, and there is no ν for F2. Where p' = v,
only holonomic constraints act, and forces contain neither w nor multipliers (`Blocks.partitioned`), the constraint
forces vanish in ν, the variables of F1 follow once all others are known, from factors that do not depend on σ, and
∂F2/∂v = ∂F3/∂p.

Constraints alone are corrected by the smallest Δx of each block in turn: [I Aᵀ; A 0], factored with each Jacobian.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, cvec, imat, ivec, layout, mat, member, vec
from dalembert.linalg.factors.sparse_lu import (
    factor_sparse,
    factor_sparse_complex,
    lu_at,
    new_sparse_lu,
    sparse_lu_cost,
    substitute_sparse,
    substitute_sparse_complex,
)
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.radau.constraints import NONE, places
from dalembert.solvers.radau.state import LINEAR_ALGEBRA
from dalembert.solvers.status import Count

#: pivots of A Aᵀ carry rounding errors of this size: what is smaller is zero
LEAST = 1e-14

#: places in the port's output, and in the matrix, of J, of its borders, of E, and of products E Aᵀ (two places first)
PLACES = ("j", "border", "e", "products")
LINK = layout(
    arrays=[
        "next",  # the block that is solved after this one, or 0
        "lu",  # A, or [I Aᵀ; A 0] if it leaves directions free
        "a", "a_border",  # places in the port's output, and in this matrix, of A and Aᵀ
        "unit",  # places of I
        "f",  # nonzeros that lead from other variables into its rows: place in the port's output, row, variable
        "rows", "unknowns", "given", "solution",
    ],
    wholes=[
        "n_rows", "n_unknowns", "n_a", "n_f",
        "wide",  # leaves directions free
        "like_first",  # has the matrix of the first block, and its factors
        "fault",  # what la.trouble becomes where rank is missing
    ],
)  # fmt: skip
link_at = member(LINK)
ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        "real", "complex",  # σ E − J with its borders
        "chain",  # the constraint blocks
        "row_of", "column_of",  # equation and variable of a row and a column of the matrix; −1: border
        *PLACES, "given", "solution", "given3", "solution3",
    ],
    reals=["least", "threshold", "near"],
    wholes=[
        "n", "n_rows", "n_main", "n_nonzeros", *(f"n_{name}" for name in PLACES), "apart", "rank3", "trouble",
        "singular",
    ],
)  # fmt: skip


def algebra(compiled, addresses: dict[str, int], threshold: float, rank_threshold: float) -> Memory:
    """Set up for a compiled projected system; `threshold` is that of `Sparse`, `rank_threshold` that of the method."""
    blocks, n, m = compiled.system.blocks, compiled.system.n, len(compiled.system.equations)
    rows, columns = compiled.jacobian_pattern
    e_rows, e_columns = compiled.leading_pattern
    apart = bool(blocks.partitioned)
    free_multipliers = np.isin(blocks.free, blocks.multipliers)

    # columns: variables (those of F1 only if they stand in the others' equations), then borders; rows: each equation
    # where its variable stands among them
    kept = np.setdiff1d(np.arange(n), blocks.Y) if apart else np.arange(n)
    column_at = places(kept, n)
    row_at = np.full(m, -1)
    row_at[blocks.elements] = column_at[blocks.free[~free_multipliers]]
    n_main, border, products = len(kept), np.zeros(0, np.int64), np.zeros((2, 0), np.int64)
    in_rows = [places(link.rows, m) for link in blocks.constraints]
    in_unknowns = [places(link.unknowns, n) for link in blocks.constraints]
    inside = [np.flatnonzero((r[rows] >= 0) & (c[columns] >= 0)) for r, c in zip(in_rows, in_unknowns, strict=True)]
    for link, own in reversed(list(zip(blocks.constraints, inside, strict=True))):
        if not link.splits:
            row_at[link.rows] = column_at[link.unknowns]
            continue
        moves = link.own >= 0
        row_at[link.own[moves]] = column_at[link.unknowns[moves]]
        if link.directs:
            row_at[link.rows] = column_at[blocks.free[free_multipliers]]
            continue
        row_at[link.rows] = n_main + np.arange(len(link.rows))
        n_main += len(link.rows)
        if link.definite:
            border = np.concatenate([border, own])
            continue
        resting = np.isin(columns[own], link.unknowns[~moves])
        border = np.concatenate([border, own[resting]])
        with_own = np.flatnonzero(np.isin(e_rows, link.own[moves]) & np.isin(e_columns, link.unknowns))
        products = np.concatenate([products, _products(with_own, e_columns, own[~resting], columns)], axis=1)

    j = np.flatnonzero((row_at[rows] >= 0) & (column_at[columns] >= 0))
    e = np.flatnonzero(row_at[e_rows] >= 0)
    of_e, of_a = products
    main_rows = np.concatenate([row_at[rows[j]], column_at[columns[border]], row_at[e_rows[e]], row_at[e_rows[of_e]]])
    main_columns = np.concatenate(
        [column_at[columns[j]], row_at[rows[border]], column_at[e_columns[e]], row_at[rows[of_a]]]
    )
    real, to = new_sparse_lu(main_rows, main_columns, n_main, threshold=threshold)
    both = new_sparse_lu(main_rows, main_columns, n_main, threshold=threshold, dtype=complex, like=real)[0]
    j_to, border_to, e_to, products_to = np.split(to, np.cumsum([len(j), len(border), len(e)]))

    chain: Memory | int = 0
    costs = []
    last = len(blocks.constraints) - 1
    for number in range(last, -1, -1):
        link = blocks.constraints[number]
        outside = np.flatnonzero((in_rows[number][rows] >= 0) & (in_unknowns[number][columns] < 0))
        chain = _new_link(
            link, chain, (rows, columns), (inside[number], outside), (in_rows[number], in_unknowns[number]),
            threshold, like_first=apart and number == 1, fault=last + 1 - number,
        )  # fmt: skip
        costs.append(sparse_lu_cost(chain.lu))
    entries = dict(j=_pairs(j, j_to), border=_pairs(border, border_to), e=_pairs(e + len(rows), e_to))
    entries["products"] = np.ascontiguousarray([of_e + len(rows), of_a, products_to], dtype=np.int64)
    row_of, column_of = np.full(n_main, -1), np.full(n_main, -1)
    row_of[row_at[row_at >= 0]] = np.flatnonzero(row_at >= 0)
    column_of[: len(kept)] = kept
    factors, substitution = sparse_lu_cost(real)
    rest = costs[0][1] if apart else 0
    return Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0, nonzeros=np.zeros(len(rows) + len(e_rows)), real=real, complex=both,
            chain=chain, row_of=row_of, column_of=column_of, **entries,
            **{f"n_{name}": found.shape[1] for name, found in entries.items()},
            given=np.zeros(n_main), solution=np.zeros(n_main), given3=np.zeros((n_main, 3)),
            solution3=np.zeros((n_main, 3)),
            cost=np.array([
                sum(each[0] for each in costs), 5 * factors, 5 * substitution + 3 * rest, substitution + rest,
            ]),
            least=max(rank_threshold**2, LEAST), threshold=rank_threshold, near=0.0, n=n, n_rows=m, n_main=n_main,
            n_nonzeros=len(rows) + len(e_rows), apart=int(apart), rank3=len(blocks.constraints[0].rows), trouble=NONE,
            singular=-1,
        ),
    )  # fmt: skip


def _products(e: np.ndarray, e_columns: np.ndarray, a: np.ndarray, a_columns: np.ndarray) -> np.ndarray:
    """Pairs of entries e of E and a of A that stand in the same column."""
    order = np.argsort(a_columns[a], kind="stable")
    a = a[order]
    first, last = (np.searchsorted(a_columns[a], e_columns[e], side=side) for side in ("left", "right"))
    count = last - first
    start = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count) if len(e) else first
    return np.stack([np.repeat(e, count), a[start + np.arange(count.sum())]])


def _pairs(where: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray([where, at], dtype=np.int64)


def _new_link(link, following, pattern, nonzeros, at, threshold: float, *, like_first: bool, fault: int) -> Memory:
    """The record of a block: `nonzeros` inside of it and beside it, places `at` of rows and unknowns in it."""
    (rows, columns), (inside, outside), (in_rows, in_unknowns) = pattern, nonzeros, at
    r, c = len(link.rows), len(link.unknowns)
    unit = border = np.zeros(0, np.int64)
    if like_first:
        inside = inside[:0]
        lu, to = new_sparse_lu(inside, inside, 0, threshold=threshold)
    elif link.splits:
        lu, to, border, unit = _wide(in_rows[rows[inside]], in_unknowns[columns[inside]], r, c, threshold)
    else:
        lu, to = new_sparse_lu(in_rows[rows[inside]], in_unknowns[columns[inside]], r, threshold=threshold)
    size = c + r if link.splits else r
    f = np.ascontiguousarray([outside, in_rows[rows[outside]], columns[outside]], dtype=np.int64)
    return Memory(
        LINK,
        dict(
            next=following, lu=lu, a=_pairs(inside, to), a_border=_pairs(inside, border if len(border) else to),
            unit=unit, f=f, rows=np.ascontiguousarray(link.rows, np.int64),
            unknowns=np.ascontiguousarray(link.unknowns, np.int64), given=np.zeros(size), solution=np.zeros(size),
            n_rows=r, n_unknowns=c, n_a=len(inside), n_f=len(outside), wide=int(link.splits),
            like_first=int(like_first), fault=fault,
        ),
    )  # fmt: skip


def _wide(rows: np.ndarray, columns: np.ndarray, r: int, c: int, threshold: float) -> tuple:
    """[I Aᵀ; A 0] for an r × c matrix A, and where A, Aᵀ and I stand in it."""
    unit = np.arange(c)
    all_rows, all_columns = np.concatenate([c + rows, columns, unit]), np.concatenate([columns, c + rows, unit])
    lu, to = new_sparse_lu(all_rows, all_columns, c + r, threshold=threshold)
    return lu, *(part.copy() for part in np.split(to, [len(rows), 2 * len(rows)]))


@device
def put(la, entries, count, A, sign):
    """A[place] += sign × nonzero."""
    nz, at = vec(la.nonzeros, la.n_nonzeros), imat(entries, 2, count)
    for k in range(count):
        A[at[1, k]] += sign * nz[at[0, k]]


@device
def clear(A):
    for p in range(A.size):
        A[p] = 0.0


@device
def has_full_rank(la, lu):
    """Factor; False if there is a pivot that counts as zero."""
    if factor_sparse(lu) != 0:
        return False
    pivot, largest = vec(lu.pivot, lu.n), 0.0  # inverses
    for k in range(lu.n):
        largest = max(largest, abs(pivot[k]))
    return largest * la.least <= 1.0


@device
def factor_link(la, link):
    """Factor A, or [I Aᵀ; A 0]; False if A has not full rank."""
    lu = lu_at(link.lu)
    A, unit = vec(lu.A, lu.nnz), ivec(link.unit, link.n_unknowns if link.wide == 1 else 0)
    clear(A)
    put(la, link.a, link.n_a, A, 1.0)
    if link.wide == 1:
        put(la, link.a_border, link.n_a, A, 1.0)
        for k in range(unit.size):
            A[unit[k]] = 1.0
    return has_full_rank(la, lu)


@device
def decompose(la, state):
    """The constraint blocks; the rest depends on σ. False if constraints are redundant."""
    add(state, Count.CONSTRAINT_DECOMPOSITIONS, 1)
    add(state, Count.SELECTORS, 1)
    la.trouble = NONE
    at = la.chain
    while at != 0:
        link = link_at(at)
        if link.like_first == 0 and not factor_link(la, link):
            la.trouble = link.fault
            return False
        at = link.next
    state.convergence_failed = 0
    return True


@device
def load(la, A, sigma):
    """σ E − J with its borders into A, real or complex as σ is."""
    nz, e = vec(la.nonzeros, la.n_nonzeros), imat(la.e, 2, la.n_e)
    clear(A)
    put(la, la.j, la.n_j, A, -1.0)
    put(la, la.border, la.n_border, A, 1.0)
    products = imat(la.products, 3, la.n_products)
    for k in range(la.n_products):
        A[products[2, k]] += nz[products[0, k]] * nz[products[1, k]]
    for k in range(la.n_e):
        A[e[1, k]] += sigma * nz[e[0, k]]


@device
def prepare(la, gamma, alpha, beta):
    """Factor for σ = γ and σ = α + iβ. Returns False if a matrix is singular."""
    real, both = lu_at(la.real), lu_at(la.complex)
    load(la, vec(real.A, real.nnz), gamma)
    failed = factor_sparse(real)
    if failed == 0:
        load(la, cvec(both.A, both.nnz), complex(alpha, beta))
        failed = factor_sparse_complex(both)
    if failed != 0:
        variable = ivec(la.column_of, la.n_main)[failed - 1]
        # the equation of a border is the one whose rows it extends
        la.singular = variable if variable >= 0 else la.n - 1 - ivec(la.row_of, la.n_main)[failed - 1]
    return failed == 0


@device
def solve_link(la, link, factors, R, x):
    """The unknowns of a block, all before being known: those that it determines, or the smallest that satisfy it."""
    nz, f = vec(la.nonzeros, la.n_nonzeros), imat(link.f, 3, link.n_f)
    rows, unknowns = ivec(link.rows, link.n_rows), ivec(link.unknowns, link.n_unknowns)
    first = link.n_unknowns if link.wide == 1 else 0
    given, solution = vec(link.given, first + link.n_rows), vec(link.solution, first + link.n_rows)
    for i in range(first):
        given[i] = 0.0
    for i in range(link.n_rows):
        given[first + i] = -R[rows[i]]
    for k in range(link.n_f):
        given[first + f[1, k]] -= nz[f[0, k]] * x[f[2, k]]
    substitute_sparse(lu_at(factors), given, solution)
    for i in range(link.n_unknowns):
        x[unknowns[i]] = solution[i]


@device
def rest_of(la, R, x):
    """The variables of the last block, all others being known."""
    link = link_at(la.chain)
    while link.next != 0:
        link = link_at(link.next)
    solve_link(la, link, link.lu, R, x)


@device
def solve_stages(la, R, D):
    """Three columns: σ = γ, and real and imaginary part of σ = α + iβ."""
    N, row, column = la.n_main, ivec(la.row_of, la.n_main), ivec(la.column_of, la.n_main)
    given, solution = mat(la.given3, N, 3), mat(la.solution3, N, 3)
    for i in range(N):
        r = row[i]
        for k in range(3):
            given[i, k] = R[r, k] if r >= 0 else 0.0
    substitute_sparse(lu_at(la.real), given[:, 0], solution[:, 0])
    substitute_sparse_complex(lu_at(la.complex), given, solution)
    for j in range(N):
        if column[j] >= 0:
            for k in range(3):
                D[column[j], k] = solution[j, k]
    if la.apart == 1:
        for k in range(3):
            rest_of(la, R[:, k], D[:, k])


@device
def solve_real(la, R, out):
    """One vector, σ = γ."""
    N, row, column = la.n_main, ivec(la.row_of, la.n_main), ivec(la.column_of, la.n_main)
    given, solution = vec(la.given, N), vec(la.solution, N)
    for i in range(N):
        given[i] = R[row[i]] if row[i] >= 0 else 0.0
    substitute_sparse(lu_at(la.real), given, solution)
    for j in range(N):
        if column[j] >= 0:
            out[column[j]] = solution[j]
    if la.apart == 1:
        rest_of(la, R, out)


@device
def correct(la, F, out):
    """The constraint rows alone, block after block."""
    for i in range(la.n):
        out[i] = 0.0
    at = la.chain
    while at != 0:
        link = link_at(at)
        solve_link(la, link, link_at(la.chain).lu if link.like_first == 1 else link.lu, F, out)
        at = link.next
    return True
