"""The constraint blocks of GEOMS: ranks, particular solutions, the basis of the null space.

Unknowns y | free | v | z, constraints F1(y, free, v, z), F2(v, z), F3(z) with square ∂F1/∂y and wide ∂F2/∂v, ∂F3/∂z:
they are solved for z, then v, then y.
"""

from dalembert.compile.kernel import device
from dalembert.compile.memory import imat, ivec, mat, vec
from dalembert.linalg.factors.blocks import (
    SVD,
    block_at,
    clear,
    decompose_block,
    factor_block,
    solve_block,
    solve_block3,
    solve_block_many,
)

BY_ROWS, BY_STEP, NOT_SCALED = range(3)
#: the same by the names users see
SCALINGS = ("rows", "step", "none")

# why decompose returned False (la.trouble)
NONE, DEFICIENT_1, DEFICIENT_2, DEFICIENT_3, CHANGED, NOT_UNIFORM, NEAR = range(7)

#: when the smallest singular value or pivot of the position constraints falls below this fraction of what it was at the
#: start, a singular position that is to be stepped over is near
ANNOUNCED = 0.03


@device
def scatter(la, entries, count, block):
    """Put the nonzeros of a dense block in place."""
    nz, at, A = vec(la.nonzeros, la.n_nonzeros), imat(entries, 3, count), mat(block.A, block.rows, block.columns)
    clear(block)
    for k in range(count):
        A[at[1, k], at[2, k]] = nz[at[0, k]]


@device
def set_row_factor(la, state):
    """1/h for scaling by the step."""
    la.row_factor = 1.0 / abs(state.h) if la.scaling == BY_STEP else 1.0


@device
def decompose_constraint(la, block):
    """Decompose a constraint block, scaled as the options say; returns its rank."""
    return decompose_block(block, la.algebraic, la.threshold, la.scaling == BY_ROWS, la.row_factor)


@device
def factor_constraint(la, block):
    """`decompose_constraint` without a basis of the null space."""
    return factor_block(block, la.algebraic, la.threshold, la.scaling == BY_ROWS, la.row_factor)


@device
def is_near(la, block):
    """Whether the decomposed position constraints announce a singular position that is to be stepped over."""
    if la.near == 0.0 or block.rank == 0:
        return False
    smallest = vec(block.values, block.rows)[block.rank - 1]
    if la.reference == 0.0:
        la.reference = smallest
    if smallest < la.near * la.reference or la.rank3 > block.rank:
        la.trouble = NEAR
        return True
    return False


@device
def decompose_constraints(la):
    """Scatter the Jacobian into the three blocks, decompose them, check their ranks. Returns whether all is well."""
    b1, b2, b3 = block_at(la.b1), block_at(la.b2), block_at(la.b3)
    scatter(la, la.a1, la.n_a1, b1)
    scatter(la, la.a2, la.n_a2, b2)
    scatter(la, la.a3, la.n_a3, b3)
    G, A2 = mat(la.G, la.n_2, la.n_V), mat(b2.A, la.n_2, la.n_V)
    for i in range(la.n_2):
        for j in range(la.n_V):
            G[i, j] = A2[i, j]
    rank3 = decompose_constraint(la, b3)
    rank2 = decompose_constraint(la, b2)
    rank1 = decompose_constraint(la, b1)
    missing1, missing2, missing3 = la.n_1 - rank1, la.n_2 - rank2, la.n_3 - rank3
    la.trouble = NONE
    if is_near(la, b3):
        return False
    if la.algebraic != SVD:
        if missing3 > 0:
            la.trouble = DEFICIENT_3
        elif missing2 > 0:
            la.trouble = DEFICIENT_2
        elif missing1 > 0:
            la.trouble = DEFICIENT_1
        return la.trouble == NONE
    changed = la.rank1 >= 0 and (la.rank1 != rank1 or la.rank2 != rank2 or la.rank3 != rank3)
    if changed:
        la.trouble = CHANGED
        return False
    if la.n_1 > 0 and (missing1 != missing2 or missing3 > missing2):
        la.trouble = NOT_UNIFORM
        return False
    if la.rank1 < 0:
        la.rank1, la.rank2, la.rank3 = rank1, rank2, rank3
    return True


@device
def negative_product(la, entries, count, X, rows, out):
    """out = −(sparse matrix) X for the n_f columns of X."""
    nz, at, width = vec(la.nonzeros, la.n_nonzeros), imat(entries, 3, count), la.n_f
    for i in range(rows):
        for c in range(width):
            out[i, c] = 0.0
    for k in range(count):
        value, i, j = nz[at[0, k]], at[1, k], at[2, k]
        for c in range(width):
            out[i, c] -= value * X[j, c]


@device
def null_space(la):
    """X: unit vectors of free variables, null space of F2, null space of F3; then what F2 and F1 add to them."""
    b1, b2, b3 = block_at(la.b1), block_at(la.b2), block_at(la.b3)
    most = la.n_most
    X, rhs, part = mat(la.X, la.n, most), mat(la.many, la.n, most), mat(la.part_many, la.n, most)
    free, V, Z, Y = ivec(la.free, la.n_free), ivec(la.V, la.n_V), ivec(la.Z, la.n_Z), ivec(la.Y, la.n_Y)
    K2, K3 = mat(b2.K, la.n_V, la.n_V), mat(b3.K, la.n_Z, la.n_Z)
    null2, null3 = la.n_V - b2.rank, la.n_Z - b3.rank
    la.n_f = la.n_free + null2 + null3
    for i in range(la.n):
        for c in range(la.n_f):
            X[i, c] = 0.0
    for c in range(la.n_free):
        X[free[c], c] = 1.0
    for j in range(la.n_V):
        for c in range(null2):
            X[V[j], la.n_free + c] = K2[j, c]
    for j in range(la.n_Z):
        for c in range(null3):
            X[Z[j], la.n_free + null2 + c] = K3[j, c]
    negative_product(la, la.f2, la.n_f2, X, la.n_2, rhs)
    solve_block_many(b2, la.algebraic, rhs, part, la.n_f)
    for j in range(la.n_V):
        for c in range(la.n_f):
            X[V[j], c] += part[j, c]
    negative_product(la, la.f1, la.n_f1, X, la.n_1, rhs)
    solve_block_many(b1, la.algebraic, rhs, part, la.n_f)
    for j in range(la.n_Y):
        for c in range(la.n_f):
            X[Y[j], c] = part[j, c]


@device
def subtract_products(la, entries, count, x, out):
    """out −= (sparse matrix) x."""
    nz, at = vec(la.nonzeros, la.n_nonzeros), imat(entries, 3, count)
    for k in range(count):
        out[at[1, k]] -= nz[at[0, k]] * x[at[2, k]]


@device
def set_part(block, kind, rhs, variables, count, part, x):
    """x[variables] = solution of a block."""
    solve_block(block, kind, rhs, part)
    for j in range(count):
        x[variables[j]] = part[j]


@device
def particular(la, R, x):
    """X0: constraint rows solved for the dependent variables, F3, then F2, then F1."""
    part = vec(la.part, max(la.n_Y, la.n_V, la.n_Z))
    rhs1, rhs2, rhs3 = vec(la.rhs1, la.n_1), vec(la.rhs2, la.n_2), vec(la.rhs3, la.n_3)
    c1, c2, c3 = ivec(la.c1_row, la.n_1), ivec(la.c2_row, la.n_2), ivec(la.c3_row, la.n_3)
    for i in range(la.n):
        x[i] = 0.0
    for i in range(la.n_3):
        rhs3[i] = -R[c3[i]]
    set_part(block_at(la.b3), la.algebraic, rhs3, ivec(la.Z, la.n_Z), la.n_Z, part, x)
    for i in range(la.n_2):
        rhs2[i] = -R[c2[i]]
    subtract_products(la, la.f2, la.n_f2, x, rhs2)
    set_part(block_at(la.b2), la.algebraic, rhs2, ivec(la.V, la.n_V), la.n_V, part, x)
    for i in range(la.n_1):
        rhs1[i] = -R[c1[i]]
    subtract_products(la, la.f1, la.n_f1, x, rhs1)
    set_part(block_at(la.b1), la.algebraic, rhs1, ivec(la.Y, la.n_Y), la.n_Y, part, x)


@device
def solve_part3(block, kind, rhs, variables, count, part, x):
    """x[variables] = solution of a block, for three right-hand sides."""
    solve_block3(block, kind, rhs, part)
    for j in range(count):
        v = variables[j]
        x[v, 0], x[v, 1], x[v, 2] = part[j, 0], part[j, 1], part[j, 2]


@device
def negative_rows3(la, R, rows, count, entries, n_entries, x, out):
    """out = −R[rows] − (sparse matrix) x, three columns."""
    nz, at = vec(la.nonzeros, la.n_nonzeros), imat(entries, 3, n_entries)
    for i in range(count):
        r = rows[i]
        out[i, 0], out[i, 1], out[i, 2] = -R[r, 0], -R[r, 1], -R[r, 2]
    for k in range(n_entries):
        value, i, j = nz[at[0, k]], at[1, k], at[2, k]
        out[i, 0] -= value * x[j, 0]
        out[i, 1] -= value * x[j, 1]
        out[i, 2] -= value * x[j, 2]


@device
def particular3(la, R, x):
    """`particular` for three columns: the constraint blocks are real, so complex systems pass through them in parts."""
    part = mat(la.part3, max(la.n_Y, la.n_V, la.n_Z), 3)
    rhs1, rhs2, rhs3 = mat(la.rhs1_3, la.n_1, 3), mat(la.rhs2_3, la.n_2, 3), mat(la.rhs3_3, la.n_3, 3)
    for i in range(la.n):
        x[i, 0], x[i, 1], x[i, 2] = 0.0, 0.0, 0.0
    negative_rows3(la, R, ivec(la.c3_row, la.n_3), la.n_3, la.f2, 0, x, rhs3)
    solve_part3(block_at(la.b3), la.algebraic, rhs3, ivec(la.Z, la.n_Z), la.n_Z, part, x)
    negative_rows3(la, R, ivec(la.c2_row, la.n_2), la.n_2, la.f2, la.n_f2, x, rhs2)
    solve_part3(block_at(la.b2), la.algebraic, rhs2, ivec(la.V, la.n_V), la.n_V, part, x)
    negative_rows3(la, R, ivec(la.c1_row, la.n_1), la.n_1, la.f1, la.n_f1, x, rhs1)
    solve_part3(block_at(la.b1), la.algebraic, rhs1, ivec(la.Y, la.n_Y), la.n_Y, part, x)
