"""Sparse linear algebra of GEOMS: selectors as borders of one sparse matrix, in place of bases of null spaces.

The selectors of `projected`, S_v = K_vᵀ with K_v a basis of the null space of F2_v = ∂F2/∂v and S_p = K_zᵀ on the rows
of p' with K_z one of F3_z, annihilate exactly the range of F2_vᵀ and of F3_zᵀ. So the projected equations hold if and
only if the others hold up to such vectors, and with ν and η as further unknowns all increments solve

    (σ E − J)_v Δx + F2_vᵀ ν = R_v        equations of motion
    (σ E − J)_p Δx + F3_pᵀ η = R_p        kinematic equations
                     F3_sᵀ η = 0          contact points s have no equations of their own
    (σ E − J)_r Δx           = R_r        force elements
            −∂(F1, F2, F3)Δx = R_1, R_2, R_3

one square sparse matrix, for a real and a complex σ: the increments of dense blocks without ever forming a basis, which
would be full. Without the constraints on acceleration level multipliers are free, the equations of motion all selected,
and there is no ν. Where p' = v, only holonomic constraints act, and forces contain neither w nor multipliers
(`Blocks.partitioned`), the constraint forces vanish in ν, the variables of F1 follow once all others are known, from
factors that do not depend on σ, and F2_v = F3_p.

Constraints alone are corrected by the smallest Δz, then Δv, that satisfy them: [I Gᵀ; G 0], factored with each
Jacobian.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, cvec, imat, ivec, layout, mat, vec
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
from dalembert.solvers.radau.constraints import DEFICIENT_1, DEFICIENT_2, DEFICIENT_3, NONE, places
from dalembert.solvers.radau.state import LINEAR_ALGEBRA
from dalembert.solvers.status import Count

#: places in the port's output, and in the matrix, of J and of its borders, of E, and of constraint blocks
PLACES = ("j", "border", "e", "a1", "a2", "a2_border", "a3", "a3_border")
#: nonzeros that lead from other variables into the rows of F1 and F2: place in the port's output, row, variable
COUPLINGS = ("f1", "f2")
ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        "real", "complex",  # σ E − J with its borders
        "first", "second", "third",  # F1_y, and [I Gᵀ; G 0] of F2_v and F3_z
        "row_of", "column_of",  # equation and variable of a row and a column of the matrix; −1: border
        *PLACES, *COUPLINGS,
        "unit2", "unit3",  # places of I
        "c1_row", "c2_row", "c3_row", "Y", "V", "Z",
        "given", "solution", "given3", "solution3",
        "given_1", "solution_1", "given_2", "solution_2", "given_z", "solution_z",
    ],
    reals=["least", "threshold", "near"],
    wholes=[
        "n", "n_rows", "n_main", "n_1", "n_2", "n_3", "n_V", "n_Z", "n_nonzeros",
        *(f"n_{name}" for name in (*PLACES, *COUPLINGS)), "apart", "rank3", "trouble", "singular",
    ],
)  # fmt: skip


def algebra(compiled, addresses: dict[str, int], threshold: float, rank_threshold: float) -> Memory:
    """Set up for a compiled projected system; `threshold` is that of `Sparse`, `rank_threshold` that of `Geoms`."""
    blocks, n, m = compiled.system.blocks, compiled.system.n, len(compiled.system.equations)
    rows, columns = compiled.jacobian_pattern
    e_rows, e_columns = compiled.leading_pattern
    apart = bool(blocks.partitioned)
    elements = blocks.free[~np.isin(blocks.free, blocks.multipliers)]
    free_multipliers = blocks.free[np.isin(blocks.free, blocks.multipliers)]

    # columns: variables (those of F1 only if they stand in the others' equations), ν, η; rows: each equation where its
    # variable stands among them, those of s for F3_sᵀ η = 0
    kept = np.setdiff1d(np.arange(n), blocks.Y) if apart else np.arange(n)
    column_at = places(kept, n)
    with_nu = len(free_multipliers) == 0
    n_nu = len(blocks.F2) if with_nu else 0
    nu, eta = len(kept) + np.arange(n_nu), len(kept) + n_nu + np.arange(len(blocks.F3))
    row_at = np.full(m, -1)
    row_at[blocks.kinematic] = column_at[blocks.P]
    row_at[blocks.dynamic] = column_at[blocks.V]
    row_at[blocks.elements] = column_at[elements]
    if not apart:
        row_at[blocks.F1] = column_at[blocks.Y]
    row_at[blocks.F2] = nu if with_nu else column_at[free_multipliers]
    row_at[blocks.F3] = eta
    n_main = len(kept) + n_nu + len(blocks.F3)

    j = np.flatnonzero((row_at[rows] >= 0) & (column_at[columns] >= 0))
    e = np.flatnonzero(row_at[e_rows] >= 0)
    in_1, in_2, in_3 = (places(r, m) for r in (blocks.F1, blocks.F2, blocks.F3))
    in_Y, in_V, in_Z = (places(c, n) for c in (blocks.Y, blocks.V, blocks.Z))
    a1 = np.flatnonzero((in_1[rows] >= 0) & (in_Y[columns] >= 0))
    a2 = np.flatnonzero((in_2[rows] >= 0) & (in_V[columns] >= 0))
    a3 = np.flatnonzero(in_3[rows] >= 0)
    f1 = np.flatnonzero((in_1[rows] >= 0) & (in_Y[columns] < 0))
    f2 = np.flatnonzero((in_2[rows] >= 0) & (in_V[columns] < 0))
    border = np.concatenate([a2 if with_nu else a2[:0], a3])

    main_rows = np.concatenate([row_at[rows[j]], column_at[columns[border]], row_at[e_rows[e]]])
    main_columns = np.concatenate([column_at[columns[j]], row_at[rows[border]], column_at[e_columns[e]]])
    real, to = new_sparse_lu(main_rows, main_columns, n_main, threshold=threshold)
    both = new_sparse_lu(main_rows, main_columns, n_main, threshold=threshold, dtype=complex)[0]
    j_to, border_to, e_to = np.split(to, [len(j), len(j) + len(border)])
    first, a1_to = new_sparse_lu(in_1[rows[a1]], in_Y[columns[a1]], len(blocks.F1), threshold=threshold)
    own = a2[:0] if apart else a2  # where F2_v = F3_p the factors are the same
    second, a2_to, a2_border, unit2 = _wide(
        in_2[rows[own]], in_V[columns[own]], 0 if apart else len(blocks.F2), 0 if apart else len(blocks.V), threshold
    )
    third, a3_to, a3_border, unit3 = _wide(in_3[rows[a3]], in_Z[columns[a3]], len(blocks.F3), len(blocks.Z), threshold)

    def pairs(where: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray([where, at], dtype=np.int64)

    def triplets(where: np.ndarray, local_row: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray([where, local_row[rows[where]], columns[where]], dtype=np.int64)

    entries = dict(
        j=pairs(j, j_to), border=pairs(border, border_to), e=pairs(e + len(rows), e_to), a1=pairs(a1, a1_to),
        a2=pairs(own, a2_to), a2_border=pairs(own, a2_border), a3=pairs(a3, a3_to), a3_border=pairs(a3, a3_border),
        f1=triplets(f1, in_1), f2=triplets(f2, in_2),
    )  # fmt: skip
    row_of, column_of = np.full(n_main, -1), np.full(n_main, -1)
    row_of[row_at[row_at >= 0]] = np.flatnonzero(row_at >= 0)
    column_of[: len(kept)] = kept
    factors, substitution = sparse_lu_cost(real)
    constraint_costs = [sparse_lu_cost(lu) for lu in (first, second, third)]
    rest = constraint_costs[0][1] if apart else 0
    n_1, n_2, n_3, n_V, n_Z = (len(a) for a in (blocks.F1, blocks.F2, blocks.F3, blocks.V, blocks.Z))
    return Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0, nonzeros=np.zeros(len(rows) + len(e_rows)), real=real, complex=both,
            first=first, second=second, third=third, row_of=row_of, column_of=column_of, **entries,
            **{f"n_{name}": found.shape[1] for name, found in entries.items()}, unit2=unit2, unit3=unit3,
            **{name: np.ascontiguousarray(a, dtype=np.int64) for name, a in (
                ("c1_row", blocks.F1), ("c2_row", blocks.F2), ("c3_row", blocks.F3), ("Y", blocks.Y), ("V", blocks.V),
                ("Z", blocks.Z))},
            given=np.zeros(n_main), solution=np.zeros(n_main), given3=np.zeros((n_main, 3)),
            solution3=np.zeros((n_main, 3)), given_1=np.zeros(n_1), solution_1=np.zeros(n_1),
            given_2=np.zeros(n_V + n_2), solution_2=np.zeros(n_V + n_2),
            given_z=np.zeros(n_Z + n_3), solution_z=np.zeros(n_Z + n_3),
            cost=np.array([
                sum(each[0] for each in constraint_costs), 5 * factors, 5 * substitution + 3 * rest,
                substitution + rest,
            ]),
            least=max(rank_threshold**2, LEAST), threshold=rank_threshold, near=0.0, n=n, n_rows=m, n_main=n_main,
            n_1=n_1, n_2=n_2, n_3=n_3, n_V=n_V, n_Z=n_Z, n_nonzeros=len(rows) + len(e_rows), apart=int(apart),
            rank3=n_3, trouble=NONE, singular=-1,
        ),
    )  # fmt: skip


#: pivots of G Gᵀ carry rounding errors of this size: what is smaller is zero
LEAST = 1e-14


def _wide(rows: np.ndarray, columns: np.ndarray, r: int, c: int, threshold: float) -> tuple:
    """[I Gᵀ; G 0] for an r × c matrix G, and where G, Gᵀ and I stand in it."""
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
def factor_wide(la, lu, entries, border, count, unit, n_unit):
    """Factor [I Gᵀ; G 0]; False if G has not full rank."""
    A, at = vec(lu.A, lu.nnz), ivec(unit, n_unit)
    clear(A)
    put(la, entries, count, A, 1.0)
    put(la, border, count, A, 1.0)
    for k in range(n_unit):
        A[at[k]] = 1.0
    return has_full_rank(la, lu)


@device
def decompose(la, state):
    """The constraint blocks; the rest depends on σ. False if constraints are redundant."""
    add(state, Count.CONSTRAINT_DECOMPOSITIONS, 1)
    add(state, Count.SELECTORS, 1)
    la.trouble = NONE
    if not factor_wide(la, lu_at(la.third), la.a3, la.a3_border, la.n_a3, la.unit3, la.n_Z):
        la.trouble = DEFICIENT_3
        return False
    if la.apart == 0 and not factor_wide(la, lu_at(la.second), la.a2, la.a2_border, la.n_a2, la.unit2, la.n_V):
        la.trouble = DEFICIENT_2
        return False
    first = lu_at(la.first)
    A = vec(first.A, first.nnz)
    clear(A)
    put(la, la.a1, la.n_a1, A, 1.0)
    if not has_full_rank(la, first):
        la.trouble = DEFICIENT_1
        return False
    state.convergence_failed = 0
    return True


@device
def load(la, A, sigma):
    """σ E − J with its borders into A, real or complex as σ is."""
    nz, e = vec(la.nonzeros, la.n_nonzeros), imat(la.e, 2, la.n_e)
    clear(A)
    put(la, la.j, la.n_j, A, -1.0)
    put(la, la.border, la.n_border, A, 1.0)
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
def rest_of(la, R, x):
    """The variables of F1, all others being known."""
    nz, f1 = vec(la.nonzeros, la.n_nonzeros), imat(la.f1, 3, la.n_f1)
    c1, Y = ivec(la.c1_row, la.n_1), ivec(la.Y, la.n_1)
    given, solution = vec(la.given_1, la.n_1), vec(la.solution_1, la.n_1)
    for i in range(la.n_1):
        given[i] = -R[c1[i]]
    for k in range(la.n_f1):
        given[f1[1, k]] -= nz[f1[0, k]] * x[f1[2, k]]
    substitute_sparse(lu_at(la.first), given, solution)
    for i in range(la.n_1):
        x[Y[i]] = solution[i]


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
def smallest(lu, given, solution, variables, count, x):
    """x[variables] = the smallest solution of G x = b, b standing in given[count:]."""
    for i in range(count):
        given[i] = 0.0
    substitute_sparse(lu, given, solution)
    for i in range(count):
        x[variables[i]] = solution[i]


@device
def correct(la, F, out):
    """The constraint rows alone: z from F3, then v from F2, then y from F1."""
    nz, f2 = vec(la.nonzeros, la.n_nonzeros), imat(la.f2, 3, la.n_f2)
    c2, c3 = ivec(la.c2_row, la.n_2), ivec(la.c3_row, la.n_3)
    given_z, given_2 = vec(la.given_z, la.n_Z + la.n_3), vec(la.given_2, la.n_V + la.n_2)
    for i in range(la.n):
        out[i] = 0.0
    for i in range(la.n_3):
        given_z[la.n_Z + i] = -F[c3[i]]
    smallest(lu_at(la.third), given_z, vec(la.solution_z, la.n_Z + la.n_3), ivec(la.Z, la.n_Z), la.n_Z, out)
    for i in range(la.n_2):
        given_2[la.n_V + i] = -F[c2[i]]
    for k in range(la.n_f2):
        given_2[la.n_V + f2[1, k]] -= nz[f2[0, k]] * out[f2[2, k]]
    second = lu_at(la.third if la.apart == 1 else la.second)
    smallest(second, given_2, vec(la.solution_2, la.n_V + la.n_2), ivec(la.V, la.n_V), la.n_V, out)
    rest_of(la, F, out)
    return True
