"""The saddle-point matrix as one full matrix with scaled rows and columns, for kernels."""

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, vec
from dalembert.linalg.saddle.saddle import check_and_scale, saddle_at


@device
def assemble(la, A, r, c):
    """A = the whole matrix with rows scaled by r and columns by c."""
    sizes = ivec(la.sizes, 7)
    n_v, n_m, n_g, n_u = sizes[0], sizes[2], sizes[3], sizes[4]
    n = n_v + sizes[1]
    M, mi, mj = vec(la.M, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    G, gi, gj = vec(la.G, n_g), ivec(la.G_rows, n_g), ivec(la.G_columns, n_g)
    U, ui, uj = vec(la.U, n_u), ivec(la.U_rows, n_u), ivec(la.U_columns, n_u)
    for i in range(n):
        for j in range(n):
            A[i, j] = 0.0
    for k in range(n_m):
        A[mi[k], mj[k]] += M[k] * r[mi[k]] * c[mj[k]]
    symmetric = sizes[5] == 1
    for k in range(n_g):
        row, column = n_v + gi[k], gj[k]
        value = G[k] * r[row] * c[column]
        A[row, column] += value
        if symmetric:
            A[column, row] += value
    for k in range(n_u):
        row, column = uj[k], n_v + ui[k]
        A[row, column] += U[k] * r[row] * c[column]


@device
def load_scaled(own, A, r, c):
    """The scaled matrix of a record in A, its scales in r and c. Returns 0, or 1 + unknown if a value is not finite."""
    la = saddle_at(own)
    bad = check_and_scale(la, r, c)
    if bad == 0:
        assemble(la, A, r, c)
    return bad


@device
def multiply(scales, x, out, n):
    """out = scales × x, each with each."""
    for i in range(n):
        out[i] = scales[i] * x[i]
