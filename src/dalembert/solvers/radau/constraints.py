"""Constraint blocks: ranks, particular solutions, the basis of the null space.

Each block is a set of equations that determine or restrict some unknowns, those of the blocks before it being known;
they stand in a chain of records in the order in which they are solved. Which equations and unknowns these are is data
(`regularize.projected.ConstraintBlock`). In the equations of motion the unknowns are y | free | v | z, and the chain is
F3(z), F2(v, z), F1(y, free, v, z) with wide ∂F3/∂z, ∂F2/∂v, which leave directions free (`splits`), and square ∂F1/∂y.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, imat, ivec, layout, mat, member, vec
from dalembert.linalg.factors.blocks import (
    SVD,
    block_at,
    clear,
    decompose_block,
    factor_block,
    new_block,
    solve_block,
    solve_block3,
    solve_block_many,
)

BY_ROWS, BY_STEP, NOT_SCALED = range(3)
#: the same by the names users see
SCALINGS = ("rows", "step", "none")

# why decompose returned False (la.trouble)
NONE, CHANGED, NOT_UNIFORM, NEAR, UNDETERMINED = 0, -1, -2, -3, -4
DEFICIENT_1, DEFICIENT_2, DEFICIENT_3 = 1, 2, 3  # the first block from the end, and so on: there may be more

#: when the smallest singular value or pivot of the position constraints falls below this fraction of what it was at the
#: start, a singular position that is to be stepped over may be near
ANNOUNCED = 0.02
#: one that proved to be regular is behind when the value has risen to this multiple of that
BEHIND = 2.0

CONSTRAINT = layout(
    arrays=[
        "next",  # the constraint that is solved after this one, or 0
        "block",
        "rows", "unknowns",
        "own",  # place of an unknown's own equation among the differential ones, or −1
        "a", "f",  # nonzeros: place in the port's output, local row, local column (a: dense block) or variable
        "kept",  # pivots for which the selectors were computed: 1 for dependent variables
        "rhs", "rhs3",
    ],
    wholes=[
        "n_rows", "n_unknowns", "n_a", "n_f",
        "splits",  # leaves directions free; otherwise it determines its unknowns
        "directs",  # free multipliers select along its rows: they are kept in la.G
        "first", "null",  # columns of the null space that belong to it
        "rank",  # at the first decomposition; −1 before
        "fault",  # what la.trouble becomes where rank is missing
    ],
)  # fmt: skip
constraint_at = member(CONSTRAINT)


def new_constraints(blocks, in_d: np.ndarray, pattern: tuple[np.ndarray, np.ndarray], m: int, n: int) -> Memory:
    """The chain for the constraints of `Blocks`, in a system of m equations and n unknowns; `in_d` places differential
    equations, `pattern` is that of ∂F/∂x."""
    rows, columns = pattern
    chain: Memory | int = 0
    last = len(blocks.constraints)
    for number, each in reversed(list(enumerate(blocks.constraints))):
        in_rows, in_unknowns = places(each.rows, m), places(each.unknowns, n)
        own = np.full(len(each.unknowns), -1)
        own[each.own >= 0] = in_d[each.own[each.own >= 0]]
        mine, inside = in_rows[rows] >= 0, in_unknowns[columns] >= 0
        a, f = np.flatnonzero(mine & inside), np.flatnonzero(mine & ~inside)
        entries = dict(
            a=np.ascontiguousarray([a, in_rows[rows[a]], in_unknowns[columns[a]]], dtype=np.int64),
            f=np.ascontiguousarray([f, in_rows[rows[f]], columns[f]], dtype=np.int64),
        )
        r, c = len(each.rows), len(each.unknowns)
        chain = Memory(
            CONSTRAINT,
            dict(
                next=chain, block=new_block(r, c), rows=np.ascontiguousarray(each.rows, np.int64),
                unknowns=np.ascontiguousarray(each.unknowns, np.int64), own=own.astype(np.int64), **entries,
                kept=np.full(c, -1), rhs=np.zeros(r), rhs3=np.zeros((r, 3)), n_rows=r, n_unknowns=c, n_a=len(a),
                n_f=len(f), splits=int(each.splits), directs=int(each.directs), first=0, null=0, rank=-1,
                fault=last - number,
            ),
        )  # fmt: skip
    return chain


def places(members: np.ndarray, size: int) -> np.ndarray:
    """Of each of `size` things its place among the members, or −1."""
    out = np.full(size, -1)
    out[members] = np.arange(len(members))
    return out


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
    """Whether the decomposed position constraints announce a singular position that is to be stepped over; not again
    before one that the method passes by itself is behind (`suspended`)."""
    if la.near == 0.0 or block.rank == 0:
        return False
    smallest = vec(block.values, block.rows)[block.rank - 1]
    if la.reference == 0.0:
        la.reference = smallest
    if la.suspended == 1:
        la.suspended = 1 if smallest < BEHIND * la.near * la.reference else 0
        return False
    if smallest < la.near * la.reference or la.rank3 > block.rank:
        la.trouble = NEAR
        return True
    return False


@device
def decompose_constraints(la):
    """Scatter the Jacobian into the blocks, decompose them, check their ranks. Returns whether all is well."""
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        block = block_at(own.block)
        scatter(la, own.a, own.n_a, block)
        if own.directs == 1:
            G, A = mat(la.G, own.n_rows, own.n_unknowns), mat(block.A, own.n_rows, own.n_unknowns)
            for i in range(own.n_rows):
                for j in range(own.n_unknowns):
                    G[i, j] = A[i, j]
        decompose_constraint(la, block)
        at = own.next
    la.trouble = NONE
    if is_near(la, block_at(constraint_at(la.chain).block)):
        return False
    if la.algebraic == SVD:
        return has_old_ranks(la)
    at = la.chain
    while at != 0 and la.trouble == NONE:
        own = constraint_at(at)
        if block_at(own.block).rank < own.n_rows:
            la.trouble = own.fault
        at = own.next
    return la.trouble == NONE


@device
def has_old_ranks(la):
    """Redundant constraints must stay what they were, and be the same ones on all levels."""
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        if own.rank >= 0 and own.rank != block_at(own.block).rank:
            la.trouble = CHANGED
            return False
        if own.directs == 1 and block_at(own.block).rank < own.n_rows:
            la.trouble = UNDETERMINED  # of free multipliers there is no smallest solution
            return False
        at = own.next
    if la.levels == 1:
        third = constraint_at(la.chain)
        second = constraint_at(third.next)
        first = constraint_at(second.next)
        missing1 = first.n_rows - block_at(first.block).rank
        missing2 = second.n_rows - block_at(second.block).rank
        missing3 = third.n_rows - block_at(third.block).rank
        if first.n_rows > 0 and (missing1 != missing2 or missing3 > missing2):
            la.trouble = NOT_UNIFORM
            return False
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        own.rank = block_at(own.block).rank
        at = own.next
    la.rank3 = constraint_at(la.chain).rank
    return True


@device
def last_of(la):
    """The last block of the chain: in the equations of motion the one that determines multipliers."""
    own = constraint_at(la.chain)
    while own.next != 0:
        own = constraint_at(own.next)
    return own


@device
def missing_rank(la):
    """How many directions the last block leaves to its unknowns, though it should determine them."""
    own = last_of(la)
    return 0 if own.splits == 1 else own.n_unknowns - block_at(own.block).rank


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
    """X: unit vectors of free variables, then the null space of each block, the last one's first; then what the blocks
    after it add to them."""
    most = la.n_most
    X, rhs, part = mat(la.X, la.n, most), mat(la.many, la.n, most), mat(la.part_many, la.n, most)
    free = ivec(la.free, la.n_free)
    la.n_f = la.n_free
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        own.null = own.n_unknowns - block_at(own.block).rank if own.splits == 1 else 0
        la.n_f += own.null
        at = own.next
    for i in range(la.n):
        for c in range(la.n_f):
            X[i, c] = 0.0
    for c in range(la.n_free):
        X[free[c], c] = 1.0
    end = la.n_f
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        own.first = end - own.null
        end = own.first
        K, unknowns = mat(block_at(own.block).K, own.n_unknowns, own.n_unknowns), ivec(own.unknowns, own.n_unknowns)
        for j in range(own.n_unknowns):
            for c in range(own.null):
                X[unknowns[j], own.first + c] = K[j, c]
        at = own.next
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        if own.n_f > 0:
            negative_product(la, own.f, own.n_f, X, own.n_rows, rhs)
            solve_block_many(block_at(own.block), la.algebraic, rhs, part, la.n_f)
            unknowns = ivec(own.unknowns, own.n_unknowns)
            for j in range(own.n_unknowns):
                for c in range(la.n_f):
                    X[unknowns[j], c] += part[j, c]
        at = own.next


@device
def subtract_products(la, entries, count, x, out):
    """out −= (sparse matrix) x."""
    nz, at = vec(la.nonzeros, la.n_nonzeros), imat(entries, 3, count)
    for k in range(count):
        out[at[1, k]] -= nz[at[0, k]] * x[at[2, k]]


@device
def particular(la, R, x):
    """X0: the constraint rows solved for the dependent variables, block after block."""
    part = vec(la.part, la.n_part)
    for i in range(la.n):
        x[i] = 0.0
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        rhs, rows, unknowns = vec(own.rhs, own.n_rows), ivec(own.rows, own.n_rows), ivec(own.unknowns, own.n_unknowns)
        for i in range(own.n_rows):
            rhs[i] = -R[rows[i]]
        subtract_products(la, own.f, own.n_f, x, rhs)
        solve_block(block_at(own.block), la.algebraic, rhs, part)
        for j in range(own.n_unknowns):
            x[unknowns[j]] = part[j]
        at = own.next


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
    part = mat(la.part3, la.n_part, 3)
    for i in range(la.n):
        x[i, 0], x[i, 1], x[i, 2] = 0.0, 0.0, 0.0
    at = la.chain
    while at != 0:
        own = constraint_at(at)
        rhs = mat(own.rhs3, own.n_rows, 3)
        negative_rows3(la, R, ivec(own.rows, own.n_rows), own.n_rows, own.f, own.n_f, x, rhs)
        solve_part3(block_at(own.block), la.algebraic, rhs, ivec(own.unknowns, own.n_unknowns), own.n_unknowns, part, x)
        at = own.next
