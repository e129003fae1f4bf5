"""Start values of equations of motion in one call: what `regularize.initial` does, as long as nothing is unusual.

Residuals that are nothing but rounding leave the given values as they are; others are corrected by minimum-norm
Gauss-Newton steps; accelerations, auxiliary variables and multipliers follow from a square system. Whatever is
irregular is left to Python, which finds the answer or the words for its failure: see the reasons to return below.
"""

import math

import numba as nb
import numpy as np

from dalembert.compile.kernel import call_port, device, kernel
from dalembert.compile.memory import ivec, layout, mat, reference, vec
from dalembert.linalg.factors import lu
from dalembert.solvers.limits import CORRECTIONS, INDEPENDENT, NEARLY, ROUNDINGS, UNIT

i8, u8, f8 = nb.int64, nb.uint64, nb.float64

# reasons to return
FOUND = 0
NOT_FINITE = 1  # a given value, a residual or a derivative
RANK = 2  # equations depend on each other, nearly so, or are more than unknowns
NO_CONVERGENCE = 3  # a full step does not help, or too many are needed
FORBIDDEN = 4  # a correction in mode "check"

# modes
CORRECT, CHECK, TRUST = 0, 1, 2

# vectors that were given, of those that are computed otherwise: bits of a number
GIVEN = {"s": 1, "w": 2, "lam": 4, "mu": 8}
GIVEN_S, GIVEN_W, GIVEN_LAM, GIVEN_MU = GIVEN.values()

#: iterations; Python is more patient
NEWTON_STEPS, REFINEMENTS, SCALINGS = 15, 3, 3
#: condition numbers beyond this are looked at more closely
REGULAR = 1e10

RECORD = layout(
    arrays=[
        "x", "start", "theta", "out", "position_rows", "position_columns", "position_unknowns", "velocity_rows",
        "velocity_columns", "velocity_unknowns", "acceleration_rows", "acceleration_columns", "acceleration_unknowns",
        "J", "Q", "L", "residual", "scale", "columns", "step", "z", "work", "pivots",
    ],
    reals=["correction"],
    wholes=[
        "n_x", "n_theta", "n_fixed", "n_out", "n_p", "n_v", "n_r", "n_w", "n_s", "n_lam", "n_mu", "position_m",
        "position_nz", "velocity_m", "velocity_nz", "acceleration_n", "acceleration_nz", "affine", "late_rates",
    ],
)  # fmt: skip


@device
def load(out, at, m, nz, rows, columns, J, n, m_used, n_used):
    """The Jacobian behind a residual of m entries at out[at]; entries beyond the part that is used are left out."""
    for i in range(m_used):
        for j in range(n_used):
            J[i, j] = 0.0
    for k in range(nz):
        if rows[k] < m_used and columns[k] < n_used:
            J[rows[k], columns[k]] = out[at + m + k]


@device
def holds(F, J, x, unknowns, m, n, roundings):
    """Whether all residuals are rounding errors of their terms."""
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(x[unknowns[j]]))
    unit = roundings * UNIT
    for i in range(m):
        terms = 0.0
        for j in range(n):
            terms += abs(J[i, j]) * (abs(x[unknowns[j]]) + unit * largest)
        if not abs(F[i]) <= unit * terms:
            return False
    return True


@device
def minimum_norm_step(J, F, scale, m, n, Q, y, step):
    """step = −J⁺ F by Householder reflections of the rows, divided by `scale`; Q is work space.

    Returns FOUND or RANK.
    """
    if m > n:
        return RANK
    for i in range(m):
        for j in range(n):
            Q[i, j] = J[i, j] / scale[i]
    for k in range(m):
        length = 0.0
        for j in range(n):
            length += Q[k, j] * Q[k, j]
        tail = 0.0
        for j in range(k, n):
            tail += Q[k, j] * Q[k, j]
        if not tail > INDEPENDENT * INDEPENDENT * length:
            return RANK
        alpha = -math.copysign(math.sqrt(tail), Q[k, k])
        # y solves L y = −F, row by row
        total = -F[k] / scale[k]
        for j in range(k):
            total -= Q[k, j] * y[j]
        y[k] = total / alpha
        head = Q[k, k] - alpha
        beta = tail - alpha * Q[k, k]
        Q[k, k] = head
        for i in range(k + 1, m):
            product = 0.0
            for j in range(k, n):
                product += Q[k, j] * Q[i, j]
            product /= beta
            for j in range(k, n):
                Q[i, j] -= product * Q[k, j]
    for j in range(n):
        step[j] = y[j] if j < m else 0.0
    for k in range(m - 1, -1, -1):
        product, square = 0.0, 0.0
        for j in range(k, n):
            product += Q[k, j] * step[j]
            square += Q[k, j] * Q[k, j]
        product *= 2.0 / square
        for j in range(k, n):
            step[j] -= product * Q[k, j]
    return FOUND


@device
def scaled_norm(F, scale, m):
    total = 0.0
    for i in range(m):
        total += (F[i] / scale[i]) ** 2
    return math.sqrt(total)


@device
def correct(st, port, t, at, m, nz, rows, columns, unknowns, m_used, n_used):
    """Move the unknowns of a problem, whose residual stands at out[at], by the smallest corrections until it holds.

    `m_used` equations and `n_used` unknowns: the contact points are a part of the positions' problem. `out` belongs to
    `x` before and after. Returns FOUND or why not.
    """
    x, theta, out = vec(st.x, st.n_x), vec(st.theta, st.n_theta), vec(st.out, st.n_out)
    n = max(n_used, 1)
    J, Q = mat(st.J, m_used, n), mat(st.Q, m_used, n)
    F, scale = vec(st.residual, m_used), vec(st.scale, m_used)
    step, y, z = vec(st.step, n_used), vec(st.work, m_used), vec(st.z, n_used)
    for _ in range(CORRECTIONS):
        for i in range(m_used):
            F[i] = out[at + i]
        load(out, at, m, nz, rows, columns, J, n, m_used, n_used)
        if holds(F, J, x, unknowns, m_used, n_used, ROUNDINGS):
            return FOUND
        for i in range(m_used):
            scale[i] = 0.0
            for j in range(n_used):
                scale[i] = max(scale[i], abs(J[i, j]))
            if scale[i] == 0.0:
                return RANK
        if minimum_norm_step(J, F, scale, m_used, n_used, Q, y, step) != FOUND:
            return RANK
        before = scaled_norm(F, scale, m_used)
        for j in range(n_used):
            z[j] = x[unknowns[j]]
            x[unknowns[j]] += step[j]
        if call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data) != 0:
            return NOT_FINITE
        for i in range(m_used):
            F[i] = out[at + i]
        if not scaled_norm(F, scale, m_used) <= 0.9 * before:
            return as_good_as_rounding(st, port, t, at, J, unknowns, m_used, n_used)
    return NO_CONVERGENCE


@device
def as_good_as_rounding(st, port, t, at, J, unknowns, m_used, n_used):
    """Where a step has not helped: FOUND, at the point before, if residuals there are nearly rounding errors."""
    x, theta, out = vec(st.x, st.n_x), vec(st.theta, st.n_theta), vec(st.out, st.n_out)
    F, z = vec(st.residual, m_used), vec(st.z, n_used)
    for j in range(n_used):
        x[unknowns[j]] = z[j]
    if call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data) != 0:
        return NOT_FINITE
    for i in range(m_used):
        F[i] = out[at + i]
    return FOUND if holds(F, J, x, unknowns, m_used, n_used, NEARLY) else NO_CONVERGENCE


@device
def near_root(largest):
    """A power of two near 1/√largest; 1 for zero."""
    if largest == 0.0:
        return 1.0
    _, exponent = math.frexp(largest)
    return math.ldexp(1.0, -(exponent // 2))


@device
def scale_matrix(A, B, r, c, n):
    """B = A with rows multiplied by r and columns by c, chosen to bring their largest entries near one."""
    for i in range(n):
        r[i], c[i] = 1.0, 1.0
        for j in range(n):
            B[i, j] = A[i, j]
    for _ in range(SCALINGS):
        for i in range(n):
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(B[i, j]))
            factor = near_root(largest)
            r[i] *= factor
            for j in range(n):
                B[i, j] *= factor
        for j in range(n):
            largest = 0.0
            for i in range(n):
                largest = max(largest, abs(B[i, j]))
            factor = near_root(largest)
            c[j] *= factor
            for i in range(n):
                B[i, j] *= factor


@device
def substitute_transposed(A, pivots, b, n):
    """Solve with the transpose of what `lu.factor` has decomposed, in place."""
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= A[j, i] * b[j]
        b[i] = total / A[i, i]
    for i in range(n - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, n):
            total -= A[j, i] * b[j]
        b[i] = total
    for k in range(n - 1, -1, -1):
        row = pivots[k]
        if row != k:
            b[k], b[row] = b[row], b[k]


@device
def inverse_norm(A, pivots, x, n):
    """An estimate of the 1-norm of the inverse from its factors: Hager's ascent over the corners of the unit sphere."""
    norm, corner = 0.0, -1
    for j in range(n):
        x[j] = 1.0 / n
    for _ in range(4):
        lu.substitute(A, pivots, x, n)
        total = 0.0
        for j in range(n):
            total += abs(x[j])
        if not total > norm:
            break
        norm = total
        for j in range(n):
            x[j] = -1.0 if x[j] < 0.0 else 1.0
        substitute_transposed(A, pivots, x, n)
        best = 0
        for j in range(n):
            if abs(x[j]) > abs(x[best]):
                best = j
        if best == corner:
            break
        corner = best
        for j in range(n):
            x[j] = 0.0
        x[corner] = 1.0
    for j in range(n):  # where all of that is misled by cancellation
        x[j] = (1.0 + j / max(n - 1, 1)) * (-1.0 if j % 2 else 1.0)
    lu.substitute(A, pivots, x, n)
    total = 0.0
    for j in range(n):
        total += abs(x[j])
    return max(norm, 2.0 * total / (3.0 * n))


@device
def decompose(A, B, r, c, pivots, work, n):
    """Factors of the scaled matrix in B. Returns FOUND or RANK."""
    scale_matrix(A, B, r, c, n)
    norm = 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            total += abs(B[i, j])
        norm = max(norm, total)
    if lu.factor(B, pivots, n) != 0:
        return RANK
    return FOUND if norm * inverse_norm(B, pivots, work, n) < REGULAR else RANK


@device
def newton_step(B, r, c, pivots, F, step, n):
    """step = −A⁻¹ F with the factors of `decompose`."""
    for i in range(n):
        step[i] = -F[i] * r[i]
    lu.substitute(B, pivots, step, n)
    for j in range(n):
        step[j] *= c[j]


@device
def accelerations(st, port, t):
    """a, w, λ and μ, written to x. Returns FOUND or why not."""
    n = st.acceleration_n
    x, theta, out = vec(st.x, st.n_x), vec(st.theta, st.n_theta), vec(st.out, st.n_out)
    unknowns = ivec(st.acceleration_unknowns, n)
    rows, columns = ivec(st.acceleration_rows, st.acceleration_nz), ivec(st.acceleration_columns, st.acceleration_nz)
    J, B, pivots = mat(st.J, n, n), mat(st.L, n, n), ivec(st.pivots, n)
    F, r, c = vec(st.residual, n), vec(st.scale, n), vec(st.columns, n)
    step, z, work = vec(st.step, n), vec(st.z, n), vec(st.work, n)
    at = st.position_m + st.position_nz + st.velocity_m + st.velocity_nz
    roundings = ROUNDINGS + math.sqrt(n)
    for _ in range(NEWTON_STEPS):
        for i in range(n):
            F[i], z[i] = out[at + i], x[unknowns[i]]
        load(out, at, n, st.acceleration_nz, rows, columns, J, n, n, n)
        if decompose(J, B, r, c, pivots, work, n) != FOUND:
            return RANK
        met = False
        for _ in range(REFINEMENTS):
            newton_step(B, r, c, pivots, F, step, n)
            for j in range(n):
                x[unknowns[j]] += step[j]
            if st.affine == 0:
                if call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data) != 0:
                    return NOT_FINITE
                for i in range(n):
                    F[i] = out[at + i]
                load(out, at, n, st.acceleration_nz, rows, columns, J, n, n, n)
            else:
                for i in range(n):
                    total = out[at + i]
                    for j in range(n):
                        total += J[i, j] * (x[unknowns[j]] - z[j])
                    F[i] = total
            met = holds(F, J, x, unknowns, n, n, roundings)
            if met or st.affine == 0:
                break
        if met:
            return FOUND
        if st.affine != 0:
            return NO_CONVERGENCE
    return NO_CONVERGENCE


@device
def corrections(st, port, t, mode, s_given):
    """Contact points for the positions as they are, then positions with contact points, then velocities."""
    at = 0
    for problem in range(3):
        m, nz, n_used = st.position_m, st.position_nz, st.n_s + st.n_p
        rows, columns, unknowns = st.position_rows, st.position_columns, st.position_unknowns
        m_used = m
        if problem == 0:
            m_used, n_used = st.n_s, st.n_s
            if mode == TRUST and s_given:
                continue
        elif mode == TRUST:
            return FOUND
        elif problem == 2:
            at = m + nz
            m, nz, n_used = st.velocity_m, st.velocity_nz, st.n_v
            rows, columns, unknowns = st.velocity_rows, st.velocity_columns, st.velocity_unknowns
            m_used = m
        status = correct(
            st, port, t, at, m, nz, ivec(rows, nz), ivec(columns, nz), ivec(unknowns, n_used), m_used, n_used
        )
        if status != FOUND:
            return status
    return FOUND


@device
def judge(x, start, n, mode, rtol, atol):
    """The largest relative change of positions and velocities; infinite if mode "check" forbids it."""
    correction = 0.0
    for i in range(n):
        change = abs(x[i] - start[i])
        if mode == CHECK and change > atol + rtol * abs(start[i]):
            return np.inf
        correction = max(correction, change / (1.0 + abs(start[i])))
    return correction


@device
def keep(x, start, at, n):
    """What is trusted stays as it was given."""
    for i in range(at, at + n):
        x[i] = start[i]


@kernel(i8(reference(RECORD), u8, u8, f8, i8, i8, f8, f8))
def start_kernel(record, port, inputs, t, mode, given, rtol, atol):
    """Complete the values in x, behind which p' and r' are written. Returns FOUND or why not."""
    st = record[0]
    x, start, theta, out = vec(st.x, st.n_x), vec(st.start, st.n_x), vec(st.theta, st.n_theta), vec(st.out, st.n_out)
    n_p, n_v, n_r, n_s = st.n_p, st.n_v, st.n_r, st.n_s
    for i in range(st.n_x):
        start[i] = x[i]
        if not np.isfinite(x[i]):
            return NOT_FINITE
    if inputs != 0:
        u = theta[st.n_fixed :]
        if call_port(inputs, t, x.ctypes.data, x.ctypes.data, u.ctypes.data) != 0:
            return NOT_FINITE
    if call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data) != 0:
        return NOT_FINITE
    status = corrections(st, port, t, mode, given & GIVEN_S)
    if status != FOUND:
        return status
    st.correction = 0.0
    if mode != TRUST:
        st.correction = judge(x, start, n_p + n_v, mode, rtol, atol)
        if st.correction == np.inf:
            return FORBIDDEN
    status = accelerations(st, port, t)
    if status != FOUND:
        return status
    if mode == TRUST and given > GIVEN_S:
        at = n_p + n_v + n_r
        if given & GIVEN_W:
            keep(x, start, at, st.n_w)
        at += st.n_w + n_s
        if given & GIVEN_LAM:
            keep(x, start, at, st.n_lam)
        if given & GIVEN_MU:
            keep(x, start, at + st.n_lam, st.n_mu)
    if st.late_rates != 0 and call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data) != 0:
        return NOT_FINITE
    rates = vec(st.x, st.n_x + n_p + n_r)
    for i in range(n_p + n_r):
        rates[st.n_x + i] = out[st.n_out - n_p - n_r + i]
    return FOUND
