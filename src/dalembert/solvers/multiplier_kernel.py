"""Multipliers from the accelerations, at many points in one call: see `solvers.multipliers`."""

import math

import numba as nb
import numpy as np

from dalembert.compile.kernel import call_port, device, kernel
from dalembert.compile.memory import ivec, mat, reference, vec
from dalembert.linalg.factors import lu
from dalembert.solvers.records import i8, indices, matrix, vector
from dalembert.solvers.start_kernel import RECORD, load, scale_matrix

u8 = nb.uint64

#: Newton steps where forces depend on the multipliers in another way than linearly
STEPS = 8
#: a step that changes w, λ and μ by less than this fraction is the last: the next one would change its square
SMALL = 1e-6
#: pivots of the scaled matrix below this are those of constraints that depend on each other
SINGULAR = 1e-12


@device
def smallest_pivot(B, n):
    """Of the factors of a scaled matrix."""
    smallest = np.inf
    for i in range(n):
        smallest = min(smallest, abs(B[i, i]))
    return smallest


@device
def settle_point(st, port, t):
    """a, w, λ and μ from p, v, r and s, starting from what is in x. Returns whether they were found."""
    n = st.acceleration_n
    x, theta, out = vec(st.x, st.n_x), vec(st.theta, st.n_theta), vec(st.out, st.n_out)
    unknowns = ivec(st.acceleration_unknowns, n)
    rows, columns = ivec(st.acceleration_rows, st.acceleration_nz), ivec(st.acceleration_columns, st.acceleration_nz)
    J, B, pivots = mat(st.J, n, n), mat(st.L, n, n), ivec(st.pivots, n)
    step, r, c = vec(st.step, n), vec(st.scale, n), vec(st.columns, n)
    at = st.position_m + st.position_nz + st.velocity_m + st.velocity_nz
    before = np.inf
    for _ in range(STEPS):
        if call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data) != 0:
            return False
        load(out, at, n, st.acceleration_nz, rows, columns, J, n, n, n)
        scale_matrix(J, B, r, c, n)
        if lu.factor(B, pivots, n) != 0 or not smallest_pivot(B, n) > SINGULAR:
            return False
        for i in range(n):
            step[i] = -out[at + i] * r[i]
        lu.substitute(B, pivots, step, n)
        change, size = 0.0, 0.0
        for j in range(n):
            x[unknowns[j]] += step[j] * c[j]
            if j >= st.n_v:  # the accelerations, of which nothing is known, occur linearly
                change += step[j] * step[j]  # not unscaled: all unknowns count alike
                size += (x[unknowns[j]] / c[j]) ** 2
        change = math.sqrt(change)
        if not math.isfinite(change):
            return False
        if st.affine != 0 or change <= SMALL * math.sqrt(size):
            return True
        if not change < before:
            return False
        before = change
    return False


@kernel(i8(reference(RECORD), u8, vector, matrix, matrix, indices, indices))
def settle(record, port, times, points, thetas, places, settled):
    """Replace the unknowns `settled` of all points, rows of `points`. Returns how many points stay as they are.

    `places` says where the unknowns of a point stand in x of the record, −1 if they have none there; `thetas` has a row
    for each point, or one for all.
    """
    st = record[0]
    x, theta, n = vec(st.x, st.n_x), vec(st.theta, st.n_theta), places.size
    left = 0
    for k in range(times.size):
        for i in range(st.n_x):
            x[i] = 0.0
        for i in range(n):
            if places[i] >= 0:
                x[places[i]] = points[k, i]
        row = min(k, thetas.shape[0] - 1)
        for i in range(theta.size):
            theta[i] = thetas[row, i]
        if settle_point(st, port, times[k]):
            for i in settled:
                points[k, i] = x[places[i]]
        else:
            left += 1
    return left
