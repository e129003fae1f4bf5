"""Dense LU factorization with partial pivoting, real and complex, for kernels.

Complex matrices are kept as separate real and imaginary parts: the inner loops then vectorize, which makes them faster
than LAPACK at the sizes that mechanisms have.
"""

from __future__ import annotations

import numpy as np

from dalembert.compile.kernel import device


@device
def factor(A, pivots, n):
    """A = P L U in place, A being the leading n × n part. Returns 0, or k + 1 if column k has no nonzero pivot."""
    for k in range(n):
        best, row = abs(A[k, k]), k
        for i in range(k + 1, n):
            size = abs(A[i, k])
            if size > best:
                best, row = size, i
        pivots[k] = row
        if not best > 0.0:
            return k + 1
        if row != k:
            for j in range(n):
                A[k, j], A[row, j] = A[row, j], A[k, j]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, n):
            f = A[i, k] * inverse
            A[i, k] = f
            if f != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
    return 0


@device
def substitute(A, pivots, b, n):
    """Solve with the factors of `factor`, in place."""
    for k in range(n):
        row = pivots[k]
        if row != k:
            b[k], b[row] = b[row], b[k]
    for i in range(1, n):
        total = b[i]
        for j in range(i):
            total -= A[i, j] * b[j]
        b[i] = total
    for i in range(n - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, n):
            total -= A[i, j] * b[j]
        b[i] = total / A[i, i]


@device
def factor_complex(Ar, Ai, pivots, n):
    """As `factor`, for Ar + i Ai. The diagonal holds the inverses of the pivots afterwards."""
    for k in range(n):
        best, row = abs(Ar[k, k]) + abs(Ai[k, k]), k
        for i in range(k + 1, n):
            size = abs(Ar[i, k]) + abs(Ai[i, k])
            if size > best:
                best, row = size, i
        pivots[k] = row
        if not best > 0.0:
            return k + 1
        if row != k:
            for j in range(n):
                Ar[k, j], Ar[row, j] = Ar[row, j], Ar[k, j]
                Ai[k, j], Ai[row, j] = Ai[row, j], Ai[k, j]
        pr, pi = Ar[k, k], Ai[k, k]
        scale = 1.0 / (pr * pr + pi * pi)
        pr, pi = pr * scale, -pi * scale
        Ar[k, k], Ai[k, k] = pr, pi
        for i in range(k + 1, n):
            ar, ai = Ar[i, k], Ai[i, k]
            if ar == 0.0 and ai == 0.0:
                continue
            fr = ar * pr - ai * pi
            fi = ar * pi + ai * pr
            Ar[i, k], Ai[i, k] = fr, fi
            for j in range(k + 1, n):
                Ar[i, j] -= fr * Ar[k, j] - fi * Ai[k, j]
                Ai[i, j] -= fr * Ai[k, j] + fi * Ar[k, j]
    return 0


@device
def substitute_complex(Ar, Ai, pivots, br, bi, n):
    """Solve with the factors of `factor_complex`, in place."""
    for k in range(n):
        row = pivots[k]
        if row != k:
            br[k], br[row] = br[row], br[k]
            bi[k], bi[row] = bi[row], bi[k]
    for i in range(1, n):
        sr, si = br[i], bi[i]
        for j in range(i):
            sr -= Ar[i, j] * br[j] - Ai[i, j] * bi[j]
            si -= Ar[i, j] * bi[j] + Ai[i, j] * br[j]
        br[i], bi[i] = sr, si
    for i in range(n - 1, -1, -1):
        sr, si = br[i], bi[i]
        for j in range(i + 1, n):
            sr -= Ar[i, j] * br[j] - Ai[i, j] * bi[j]
            si -= Ar[i, j] * bi[j] + Ai[i, j] * br[j]
        pr, pi = Ar[i, i], Ai[i, i]
        br[i] = sr * pr - si * pi
        bi[i] = sr * pi + si * pr


def null_vector(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Left and right singular vectors of the smallest singular value of A, equilibrated, and 1/condition."""
    rows = np.abs(A).max(axis=1)
    rows[rows == 0] = 1
    B = A / rows[:, None]
    columns = np.abs(B).max(axis=0)
    columns[columns == 0] = 1
    U, S, V = np.linalg.svd(B / columns)
    return U[:, -1], V[-1], float(S[-1] / S[0]) if S[0] > 0 else 0.0
