"""Saddle-point solvers on the chain of cap insulators [MEXX, section 5.4]: CPU time of one factorization and solution.

    python benchmarks/linear_solvers.py

Prints times for N = 16 … 4096 insulators, their growth, and ratios to SciPy's SuperLU (splu and solve). Full-matrix
methods stop where they would need minutes. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # CPU time of waiting threads would count

import numba as nb
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import dalembert as da
from dalembert.compile.kernel import call1, call3, kernel
from dalembert.linalg.saddle import saddle
from dalembert.linalg.saddle.saddle import SaddlePattern, saddle_at

LENGTHS = (16, 64, 256, 1024, 4096)
SOLVERS = {  # with the longest chain each is measured for
    "Recursive": (da.Recursive(), 4096),
    "Sparse": (da.Sparse(), 4096),
    "Recursive, U ≠ G": (da.Recursive(), 4096),
    "Sparse, U ≠ G": (da.Sparse(), 4096),
    "ConjugateGradient": (da.ConjugateGradient(inner=da.Sparse()), 4096),
    "Dense": (da.Dense(), 256),
    "Symmetric": (da.Symmetric(), 256),
    "RangeSpace": (da.RangeSpace(), 256),
    "Block": (da.Block(), 256),
}
SPLU = "SciPy splu"
SECONDS = 0.05  # of one measurement
REPEAT = 7

i8, u8 = nb.int64, nb.uint64


@kernel(i8(u8, u8, u8, i8))
def factor_and_solve(own, b, x, times):
    la = saddle_at(own)
    for _ in range(times):
        code = call1(la.factor, la.own)
        if code == 0:
            code = call3(la.solve, la.own, b, x)
        if code != 0:
            return code
    return 0


def insulator_chain(N: int, phi: np.ndarray) -> tuple[sp.coo_matrix, sp.coo_matrix]:
    """M and G for p = (x0, y0, x1, y1, phi1, …); phi[i] belongs to body i. Body 1 is the triangle."""
    i = np.arange(2, N + 1)  # insulators that carry another one
    m, inertia = np.full(N + 2, 15.0), np.full(N + 2, 0.35)
    d, c = np.full(N + 2, 0.12), np.full(N + 2, 0.08)
    m[1], inertia[1], d[1] = 34.0, 3.1, 0.37
    m[N + 1], inertia[N + 1], d[N + 1] = 9.8, 0.05, 0.16
    at = 3 * np.arange(N + 2) - 1  # x_i; y_i and phi_i follow
    sin, cos = np.sin(phi), np.cos(phi)
    masses = np.stack([m[1:], m[1:], inertia[1:]], axis=1).ravel()
    M = sp.coo_matrix((masses, (np.arange(2, 3 * N + 5), np.arange(2, 3 * N + 5))), shape=(3 * N + 5, 3 * N + 5))
    entries: list[tuple] = []

    def put(rows, columns, values):
        entries.append(tuple(np.atleast_1d(a) for a in np.broadcast_arrays(rows, columns, values)))

    a, b = d[1] / 2 * np.sqrt(3), d[1] / 2
    corner = (-a * sin[1] - b * cos[1], a * cos[1] - b * sin[1])
    lever, upper = (
        (-d * cos, -d * sin),
        (-c * cos, -c * sin),
    )  # derivatives of d (−sin, cos) and −c (−sin, cos) … by phi
    for q in range(2):
        put(q, q, 1.0)  # force application point at the triangle, (5.9)
        put(q, at[1] + q, -1.0)
        put(q, at[1] + 2, lever[q][1])
        put(2 + q, at[1] + q, 1.0)  # triangle and bottom insulator, (5.10)
        put(2 + q, at[1] + 2, corner[q])
        put(2 * i + q, at[i] + q, 1.0)  # insulators, (5.11)
        put(2 * i + q, at[i] + 2, lever[q][i])
        below = np.arange(1, N + 1)
        put(2 * below + q, at[below + 1] + q, -1.0)
        put(2 * below + q, at[below + 1] + 2, upper[q][below + 1])
        put(2 * N + 2 + q, at[N + 1] + q, 1.0)  # top insulator and suspension point, (5.12)
        put(2 * N + 2 + q, at[N + 1] + 2, lever[q][N + 1])
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    return M, sp.coo_matrix((values, (rows, columns)), shape=(2 * N + 4, 3 * N + 5))


def best(run, least: int = 1) -> float:
    """CPU seconds of one call of what `run(times)` repeats: the best of several measurements."""
    times = least
    while True:
        start = time.process_time()
        run(times)
        spent = time.process_time() - start
        if spent > SECONDS / 4:
            break
        times *= 4
    times = max(1, int(times * SECONDS / spent))
    results = []
    for _ in range(REPEAT):
        start = time.process_time()
        run(times)
        results.append((time.process_time() - start) / times)
    return min(results)


def matrix(M: sp.coo_matrix, G: sp.coo_matrix, U: sp.coo_matrix) -> sp.csc_matrix:
    return sp.bmat([[M, U.T], [G, None]], format="csc")


def right_hand_side(M: sp.coo_matrix, G: sp.coo_matrix) -> np.ndarray:
    b = np.zeros(M.shape[0] + G.shape[0])
    b[:2] = 1000.0, -230000.0
    return b


def measure(solver, N: int, symmetric: bool) -> float:
    """Of one of our solvers; conjugate gradients meet a matrix whose angles have moved by 1e-4 since its factors."""
    phi = 0.3 * np.sin(np.arange(N + 2.0))
    M, G = insulator_chain(N, phi)
    U = G if symmetric else insulator_chain(N, phi + 0.01)[1]  # force directions at an earlier point
    force = None if symmetric else (U.row, U.col)
    memory = solver.build(SaddlePattern(M.shape[0], G.shape[0], (M.row, M.col), (G.row, G.col), force))
    memory.M[:], memory.G[:] = M.data, G.data
    if not symmetric:
        memory.U[:] = U.data
    if saddle.factor(memory) != 0:
        sys.exit(f"{solver} cannot factor the matrix for N = {N}")
    if isinstance(solver, da.ConjugateGradient):
        M, G = insulator_chain(N, phi + 1e-4 * np.cos(np.arange(N + 2.0)))
        U = G
        memory.G[:] = G.data
    b = right_hand_side(M, G)
    x = np.zeros_like(b)
    seconds = best(lambda times: factor_and_solve(memory.address, b.ctypes.data, x.ctypes.data, times))
    A = matrix(M, G, U)
    backward = np.abs(A @ x - b).max() / np.max(abs(A) @ np.abs(x))
    if not backward < 1e-12:
        sys.exit(f"{solver} is wrong for N = {N}: backward error {backward:.1e}")
    return seconds


def measure_splu(N: int) -> float:
    M, G = insulator_chain(N, 0.3 * np.sin(np.arange(N + 2.0)))
    A, b = matrix(M, G, G), right_hand_side(M, G)

    def run(times: int) -> None:
        for _ in range(times):
            splu(A).solve(b)

    return best(run)


def slope(times: dict[int, float]) -> float:
    """Exponent of the growth with N."""
    N = np.array(list(times), float)
    return float(np.polyfit(np.log(N), np.log(list(times.values())), 1)[0])


def main() -> int:
    results: dict[str, dict[int, float]] = {name: {} for name in (*SOLVERS, SPLU)}
    for name, (solver, longest) in SOLVERS.items():
        for N in LENGTHS:
            if longest >= N:
                results[name][N] = measure(solver, N, "U ≠ G" not in name)
    for N in LENGTHS:
        results[SPLU][N] = measure_splu(N)
    print("Insulator chain, factorization and solution, microseconds of CPU time (best of several)")
    print(f"{'N':>18} " + "".join(f"{N:>10}" for N in LENGTHS) + "     growth")
    print(f"{'unknowns':>18} " + "".join(f"{5 * N + 9:>10}" for N in LENGTHS))
    for name, times in results.items():
        row = "".join(f"{1e6 * times[N]:>10.1f}" if N in times else f"{'–':>10}" for N in LENGTHS)
        print(f"{name:>18} {row}     N^{slope(times):.2f}")
    print("\nSciPy splu divided by")
    for name in ("Recursive", "Sparse"):
        print(f"{name:>18} " + "".join(f"{results[SPLU][N] / results[name][N]:>10.1f}" for N in LENGTHS))
    recursive, sparse = results["Recursive"], results["Sparse"]
    goals = {
        "Recursive grows linearly (exponent at most 1.1)": slope(recursive) <= 1.1,
        "Sparse grows linearly (exponent at most 1.1)": slope(sparse) <= 1.1,
        "Recursive beats Sparse at every length": all(recursive[N] < sparse[N] for N in LENGTHS),
        "Recursive beats splu five times at N = 1024": results[SPLU][1024] >= 5 * recursive[1024],
    }
    print()
    for goal, met in goals.items():
        print(f"  {goal:<52} {'ok' if met else 'MISSED'}")
    return 0 if all(goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
