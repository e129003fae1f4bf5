"""Saddle-point systems in kernels: one record for all solvers, worked by two kernels that are called by address.

The record begins with the fields SADDLE. `sizes` is [n_v, n_lam, nnz(M), nnz(G), nnz(U), symmetric, fresh]. The caller
writes the nonzeros M, G (and U unless symmetric) in the order of the pattern and calls

    call1(la.factor, la.own)          0, or 1 + number of the unknown at which the matrix proved singular
    call3(la.solve, la.own, b, x)     0; b and x are addresses of n_v + n_lam doubles and may be equal

`solve` works with the matrix of the last `factor`, whatever has been written since. It returns nonzero in one case:
`ConjugateGradient` factors late, and finds only then that the matrix is singular. `sizes[6] = 1`, set at the beginning
of a step, asks `ConjugateGradient` for a new preconditioner; other solvers ignore it.

`once`, if it is not zero, is the address of code for one step of a half-explicit method, which needs no factors:

    call_code(la.once, -s, here, there, f, v, out)      M w + C_hereᵀ λ = f, C_there (v + s w) + c = 0

`here` and `there` are addresses of the nonzeros of M, then of C, then of c. It returns 0 and writes w, λ and a number
that is positive if all pivots are good; otherwise `factor` and `solve` have to do it. `factor_at`, if it is not zero,
factors the same matrix where it stands:

    call3(la.factor_at, la.own, here, there)            what `factor` does after M, G and U have been written
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.errors import ModelError, SingularMatrix
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern

__all__ = [
    "SADDLE", "LinearSolver", "SaddlePattern", "add_product", "check_and_scale", "factor", "fresh_saddle", "hand_on",
    "new_saddle", "not_finite", "saddle_at", "scale", "solve", "solve_saddle",
]  # fmt: skip

SADDLE = (
    "factor", "solve", "own", "sizes", "M", "M_rows", "M_columns", "G", "G_rows", "G_columns", "U", "U_rows",
    "U_columns", "once", "factor_at",
)  # fmt: skip
saddle_at = member(layout(arrays=SADDLE))

#: pivots of the scaled matrix below this fraction of their column count as zero
TINY = 1e-13


def new_saddle(
    solver: LinearSolver,
    pattern: SaddlePattern,
    dtype: np.dtype,
    factor: int,
    solve: int,
    once: int = 0,
    factor_at: int = 0,
    **own: Any,
) -> Memory:
    """A record of type `dtype` for the pattern: header and the solver's own fields."""
    none = np.zeros(0, np.int64)
    (mi, mj), (gi, gj), (ui, uj) = pattern.mass, pattern.constraint, pattern.force or (none, none)
    sizes = np.array([pattern.n_v, pattern.n_lam, len(mi), len(gi), len(ui), int(pattern.symmetric), 1])
    memory = Memory(
        dtype,
        dict(
            factor=factor, solve=solve, own=0, sizes=sizes, M=np.zeros(len(mi)), M_rows=mi, M_columns=mj,
            G=np.zeros(len(gi)), G_rows=gi, G_columns=gj, U=np.zeros(len(ui)), U_rows=ui, U_columns=uj,
            once=once, factor_at=factor_at, **own,
        ),
    )  # fmt: skip
    memory.set(own=memory.address)
    memory.pattern, memory.solver = pattern, solver  # copies of the record keep them
    return memory


def fresh_saddle(memory: Memory) -> Memory:
    """An independent copy, for another run."""
    twin = memory.fresh()
    twin.set(own=twin.address)
    return twin


def factor(memory: Memory) -> int:
    """Call the record's kernel from Python."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64)(int(memory.factor))(int(memory.own))


def solve(memory: Memory, b: np.ndarray) -> np.ndarray:
    """x for a right-hand side (f, g), with the last factors."""
    x = np.array(b, dtype=float)
    if x.shape != (memory.pattern.n,):
        raise ModelError(f"the right-hand side has shape {x.shape}, not ({memory.pattern.n},)")
    kernel = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(int(memory.solve))
    code = kernel(int(memory.own), x.ctypes.data, x.ctypes.data)
    if code != 0:
        raise SingularMatrix(_failure(memory, code))
    return x


def solve_saddle(
    solver: LinearSolver, M: Any, G: Any, f: Any, g: Any, U: Any = None, *, velocity_names=(), constraint_names=()
) -> tuple[np.ndarray, np.ndarray]:
    """Solve [M Uᵀ; G 0] [w; λ] = [f; g] for dense or SciPy-sparse matrices; U = G if it is not given.

    >>> from dalembert.linalg.saddle.dense import Dense
    >>> w, lam = solve_saddle(Dense(), [[2, 0], [0, 2]], [[1, 1]], [2, 4], [0])
    >>> w, lam
    (array([-0.5,  0.5]), array([3.]))
    """
    (mi, mj, m), (gi, gj, gv), (ui, uj, u) = _triplets(M), _triplets(G), _triplets(U if U is not None else G)
    f, g = np.atleast_1d(np.asarray(f, float)), np.atleast_1d(np.asarray(g, float))
    force = None if U is None else (ui, uj)
    pattern = SaddlePattern(len(f), len(g), (mi, mj), (gi, gj), force, tuple(velocity_names), tuple(constraint_names))
    memory = solver.build(pattern)
    memory.M[:], memory.G[:] = m, gv
    if U is not None:
        memory.U[:] = u
    code = factor(memory)
    if code != 0:
        raise SingularMatrix(_failure(memory, code))
    x = solve(memory, np.concatenate([f, g]))
    return x[: len(f)], x[len(f) :]


def _failure(memory: Memory, code: int) -> str:
    return f"the saddle-point matrix is singular: {memory.solver.explain(memory, code)}"


def _triplets(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if hasattr(A, "tocoo"):
        A = A.tocoo()
        return A.row.astype(np.int64), A.col.astype(np.int64), A.data.astype(float)
    A = np.asarray(A, float)
    A = A.reshape(0, 0) if A.size == 0 else np.atleast_2d(A)
    rows, columns = np.nonzero(A)
    return rows, columns, A[rows, columns]


@device
def add_product(factor, values, rows, columns, n, x, out):
    """out += factor × A x, A given by its nonzeros."""
    for k in range(n):
        out[rows[k]] += factor * values[k] * x[columns[k]]


@device
def hand_on(M, G, U, other):
    """Give the values to another solver of the same pattern."""
    sizes = ivec(other.sizes, 7)
    to_M, to_G, to_U = vec(other.M, sizes[2]), vec(other.G, sizes[3]), vec(other.U, sizes[4])
    for k in range(sizes[2]):
        to_M[k] = M[k]
    for k in range(sizes[3]):
        to_G[k] = G[k]
    for k in range(sizes[4]):
        to_U[k] = U[k]


@device
def _bad(values, rows, n):
    """1 + row of the first value that is not finite, or 0."""
    total = 0.0
    for k in range(n):
        total += 0.0 * values[k]
    if total == 0.0:
        return 0
    for k in range(n):
        if not np.isfinite(values[k]):
            return rows[k] + 1
    return 0


@device
def not_finite(la):
    """1 + number of the unknown in whose row M, G or U is not finite, or 0."""
    sizes = ivec(la.sizes, 7)
    bad = _bad(vec(la.M, sizes[2]), ivec(la.M_rows, sizes[2]), sizes[2])
    if bad != 0:
        return bad
    bad = _bad(vec(la.G, sizes[3]), ivec(la.G_rows, sizes[3]), sizes[3])
    if bad == 0:
        bad = _bad(vec(la.U, sizes[4]), ivec(la.U_rows, sizes[4]), sizes[4])
    return bad if bad == 0 else sizes[0] + bad


@device
def check_and_scale(la, r, c):
    """`scale` if all values are finite. Returns 0, or what `not_finite` does."""
    bad = not_finite(la)
    if bad == 0:
        scale(la, r, c)
    return bad


@device
def scale(la, r, c):
    """Scales of rows and columns, r and c, that make ranks independent of units: M with unit diagonal, massless
    velocities like those that stand in the same constraints, rows of G and U with largest entry 1. They are equal in
    the symmetric case."""
    sizes = ivec(la.sizes, 7)
    n_v, n_lam, n_m, n_g, n_u = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    M, mi, mj = vec(la.M, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    G, gi, gj = vec(la.G, n_g), ivec(la.G_rows, n_g), ivec(la.G_columns, n_g)
    for i in range(n_v + n_lam):
        r[i] = 0.0
        c[i] = 0.0
    for k in range(n_m):
        if mi[k] == mj[k]:
            r[mi[k]] += M[k]
    massless = False
    for i in range(n_v):
        if r[i] != 0.0:
            r[i] = 1.0 / np.sqrt(abs(r[i]))
        else:
            massless = True
    largest_in_rows(G, gi, gj, n_g, r, r, n_v)
    if massless:
        for k in range(n_g):
            if r[gj[k]] == 0.0 and r[n_v + gi[k]] > 0.0:
                c[gj[k]] = max(c[gj[k]], abs(G[k]) / r[n_v + gi[k]])
        for k in range(n_g):
            if r[gj[k]] == 0.0 and r[n_v + gi[k]] == 0.0:  # no mass anywhere in this constraint
                c[gj[k]] = max(c[gj[k]], abs(G[k]))
        for i in range(n_v):
            if r[i] == 0.0:
                r[i] = 1.0 / c[i] if c[i] > 0.0 else 1.0
        largest_in_rows(G, gi, gj, n_g, r, r, n_v)
    for i in range(n_v):
        c[i] = r[i]
    if sizes[5] == 0:
        largest_in_rows(vec(la.U, n_u), ivec(la.U_rows, n_u), ivec(la.U_columns, n_u), n_u, r, c, n_v)
    for i in range(n_v, n_v + n_lam):
        r[i] = 1.0 / r[i] if r[i] > 0.0 else 1.0
        if sizes[5] == 1:
            c[i] = r[i]
        else:
            c[i] = 1.0 / c[i] if c[i] > 0.0 else 1.0


@device
def largest_in_rows(values, rows, columns, n, scales, out, n_v):
    """out[n_v + row] = largest scaled value of the row, if that is larger than what stands there."""
    for k in range(n):
        size = abs(values[k]) * scales[columns[k]]
        if size > out[n_v + rows[k]]:
            out[n_v + rows[k]] = size
