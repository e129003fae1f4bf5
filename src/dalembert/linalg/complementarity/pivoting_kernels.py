"""Lemke's algorithm with lexicographic pivoting: w = M z + q, 0 ≤ w ⊥ z ≥ 0, for any square M.

The tableau has the columns of w, z, the artificial variable z₀ and the right-hand side. Those of w hold the inverse of
the basis, by whose rows ties are broken: no basis comes twice, however degenerate the problem is. Rows and columns are
scaled so that entries are of size 1. In the end the equations of the basis are solved anew from M and q, so that
rounding errors of the pivots do not count.

Other kernels call `lemke` with arrays of their own:

    status = lemke(M, q, z, work, whole)

M is n × n and q of length n (both unchanged), z gets the solution; `work` has `lemke_reals(n)` numbers and `whole`
`lemke_wholes(n)` whole ones. Afterwards whole[0] is the number of pivots, and whole[1] the variable that goes to
infinity after RAY.

References
----------
.. [1] R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem", 1992, sections 4.4 and 4.9.
"""

from __future__ import annotations

import numba as nb

from dalembert.compile.kernel import device, kernel
from dalembert.compile.memory import ivec, mat, vec
from dalembert.linalg.factors import lu

# what `lemke` returns
SOLVED, RAY, LIMIT, INACCURATE, NOT_FINITE = 0, 1, 2, 3, 4
#: natural residual, in scaled variables, that a solution may have
GOOD = 1e-11
#: what is smaller is zero in the tableau, tried in this order
PIVOTS = (1e-10, 1e-12, 1e-8, 1e-10, 1e-10)
#: ratios that are equal but for rounding
TIE = 1e-13
#: of the terms of a sum, what rounding may make of it
ROUNDING = 1e-15
#: but not more than this, q being of size 1
UNCERTAIN = 1e-7
#: sweeps of the scaling
SWEEPS = 4

f8, i8 = nb.float64, nb.int64


@device
def lemke_reals(n):
    """Numbers in `work`."""
    return n * (2 * n + 2) + n * n + 6 * n


@device
def lemke_wholes(n):
    """Whole numbers in `whole`."""
    return 4 * n + 2


@device
def lemke(M, q, z, work, whole):
    """Solve the problem. Returns SOLVED, RAY (no solution was found on the way to infinity), LIMIT, INACCURATE or
    NOT_FINITE; z is the best that was found."""
    n = q.size
    whole[0] = 0
    whole[1] = 0
    negative = False
    for i in range(n):
        z[i] = 0.0
        if not abs(q[i]) < 1e300:
            return NOT_FINITE
        negative |= q[i] < 0.0
        for j in range(n):
            if not abs(M[i, j]) < 1e300:
                return NOT_FINITE
    if not negative:
        return SOLVED
    address, size = work.ctypes.data, 8 * n
    T = mat(address, n, 2 * n + 2)
    address += size * (2 * n + 2)
    F = mat(address, n, n)
    address += size * n
    rows = vec(address, n)
    columns = vec(address + size, n)
    cover = vec(address + 2 * size, n)
    x = vec(address + 3 * size, n)
    rest = vec(address + 4 * size, n)
    trial = vec(address + 5 * size, n)
    places = whole.ctypes.data + 16
    basis, ties, active, swaps = (
        ivec(places, n),
        ivec(places + size, n),
        ivec(places + 2 * size, n),
        ivec(places + 3 * size, n),
    )

    unit = _scale(M, q, rows, columns, n)
    best, result = 1e300, INACCURATE
    for attempt in range(len(PIVOTS)):
        for i in range(n):
            # other directions to come from, where the first one leads nowhere
            cover[i] = 1.0 if attempt < 3 else 0.5 + ((i + 1) * 0.6180339887498949 * (attempt - 1)) % 1.0
        outcome = _pivot_until_done(M, q, T, basis, ties, cover, rows, columns, unit, PIVOTS[attempt], whole)
        if outcome == SOLVED:
            count = 0
            for i in range(n):
                trial[i] = 0.0
            for i in range(n):
                if n <= basis[i] < 2 * n:
                    trial[basis[i] - n] = max(T[i, 2 * n + 1], 0.0)
            error = _violation(M, q, trial, rows, columns, unit, n)
            if error < best:
                best = error
                for i in range(n):
                    z[i] = trial[i] * columns[i] * unit
            for i in range(n):
                if trial[i] > 0.0:
                    active[count] = i
                    count += 1
            if _solve_basis(M, q, F, swaps, active, count, x, rest, rows, columns, unit):
                for i in range(n):
                    trial[i] = 0.0
                for k in range(count):
                    trial[active[k]] = max(x[k], 0.0)
                error = _violation(M, q, trial, rows, columns, unit, n)
                if error <= best:
                    best = error
                    for i in range(n):
                        z[i] = trial[i] * columns[i] * unit
            if best <= GOOD:
                return SOLVED
        elif result != RAY:
            result = outcome
    return result if best > 1e299 else INACCURATE


@device
def _scale(M, q, rows, columns, n):
    """Factors of rows and columns, powers of 2, by which entries come near 1. Returns the unit of q in these rows."""
    for i in range(n):
        rows[i] = 1.0
        columns[i] = 1.0
    for _ in range(SWEEPS):
        for i in range(n):
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(M[i, j]) * columns[j])
            largest *= rows[i]
            if largest > 0.0:
                rows[i] *= _power_of_two(1.0 / largest**0.5)
        for j in range(n):
            largest = 0.0
            for i in range(n):
                largest = max(largest, abs(M[i, j]) * rows[i])
            largest *= columns[j]
            if largest > 0.0:
                columns[j] *= _power_of_two(1.0 / largest**0.5)
    unit = 0.0
    for i in range(n):
        unit = max(unit, abs(q[i]) * rows[i])
    return _power_of_two(unit)


@device
def _power_of_two(x):
    """The one next to x > 0."""
    power = 1.0
    while power > 1.4 * x:
        power *= 0.5
    while power < 0.7 * x:
        power *= 2.0
    return power


@device
def _pivot_until_done(M, q, T, basis, ties, cover, rows, columns, unit, tolerance, whole):
    """From z₀ into the basis until it has left it. Returns SOLVED, RAY or LIMIT."""
    n = q.size
    artificial, right = 2 * n, 2 * n + 1
    leaving = 0
    for i in range(n):
        for j in range(n):
            T[i, j] = 0.0
            T[i, n + j] = -rows[i] * M[i, j] * columns[j]
        T[i, i] = 1.0
        T[i, artificial] = -cover[i]
        T[i, right] = q[i] * rows[i] / unit
        basis[i] = i
        # of equal ones the last: then the rows of the next tableau are lexicographically positive
        if T[i, right] / cover[i] <= T[leaving, right] / cover[leaving]:
            leaving = i
    entering = artificial
    for _ in range(100 + 50 * n):
        gone = basis[leaving]
        _pivot(T, leaving, entering, n)
        basis[leaving] = entering
        whole[0] += 1
        if gone == artificial:
            return SOLVED
        entering = gone + n if gone < n else gone - n
        leaving = _leaving_row(T, basis, ties, entering, n, tolerance)
        if leaving < 0:
            whole[1] = entering % n
            for i in range(n):
                if basis[i] == artificial and T[i, right] <= 1e-12:
                    return SOLVED  # z₀ is zero already, and stays so
            return RAY
    return LIMIT


@device
def _pivot(T, row, column, n):
    """Make `column` a unit vector."""
    width = 2 * n + 2
    inverse = 1.0 / T[row, column]
    for j in range(width):
        T[row, j] *= inverse
    T[row, column] = 1.0
    for i in range(n):
        f = T[i, column]
        if i != row and f != 0.0:
            for j in range(width):
                T[i, j] -= f * T[row, j]
            T[i, column] = 0.0


@device
def _leaving_row(T, basis, ties, entering, n, tolerance):
    """The row of the smallest ratio, ties broken by the inverse; that of z₀ if it is among them. -1: none."""
    artificial, right = 2 * n, 2 * n + 1
    count = 0
    for i in range(n):
        if T[i, entering] > tolerance:
            ties[count] = i
            count += 1
    if count == 0:
        return -1
    # the right-hand side first, then the inverse column by column
    for k in range(-1, n):
        column = right if k < 0 else k
        least = 1e300
        for c in range(count):
            i = ties[c]
            least = min(least, T[i, column] / T[i, entering])
        bound = least + TIE * (1.0 + abs(least))
        kept = 0
        for c in range(count):
            i = ties[c]
            if T[i, column] / T[i, entering] <= bound:
                ties[kept] = i
                kept += 1
        count = kept
        if k < 0:
            for c in range(count):
                if basis[ties[c]] == artificial:
                    return ties[c]
        if count <= 1:
            break
    return ties[0]


@device
def _solve_basis(M, q, F, swaps, active, count, x, rest, rows, columns, unit):
    """x of the active variables such that their w vanish, refined. Returns whether that was possible."""
    for a in range(count):
        i = active[a]
        for b in range(count):
            F[a, b] = rows[i] * M[i, active[b]] * columns[active[b]]
        x[a] = 0.0
    if lu.factor(F, swaps, count) != 0:
        return False
    for _ in range(3):
        for a in range(count):
            i = active[a]
            total = q[i] * rows[i] / unit
            for b in range(count):
                total += rows[i] * M[i, active[b]] * columns[active[b]] * x[b]
            rest[a] = -total
        lu.substitute(F, swaps, rest, count)
        for a in range(count):
            x[a] += rest[a]
    total = 0.0
    for a in range(count):
        total += abs(x[a])
    return total < 1e300  # nor NaN


@device
def _violation(M, q, x, rows, columns, unit, n):
    """Largest |min(x, w)| of scaled variables (q is of size 1) beyond what rounding of their terms may be."""
    worst = 0.0
    for i in range(n):
        w = q[i] * rows[i] / unit
        terms = abs(w)
        for j in range(n):
            term = rows[i] * M[i, j] * columns[j] * x[j]
            w += term
            terms += abs(term)
        rounding = ROUNDING * terms
        worst = max(worst, abs(min(x[i], w)) + (-rounding if rounding <= UNCERTAIN else rounding - UNCERTAIN))
    return worst


@kernel(i8(f8[:, ::1], f8[::1], f8[::1], f8[::1], i8[::1]))
def lemke_kernel(M, q, z, work, whole):
    """`lemke` for Python."""
    return lemke(M, q, z, work, whole)
