"""Random DAEs with a known solution: what is found is checked against that solution and against matrix pencils."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.regularize.structure import regularized

HIGHEST = 10  # derivatives of the solution


class Known:
    """x_j(t) = a_j sin(w_j t + φ_j), for numbers and for the symbol t."""

    def __init__(self, n, rng):
        self.a, self.w, self.phase = rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, n), rng.uniform(0, 6, n)

    def __call__(self, t, order=0):
        shift = order * np.pi / 2
        return [a * w**order * np.sin(w * t + phase + shift) for a, w, phase in zip(self.a, self.w, self.phase)]  # noqa: B905


def degrees_of_freedom(E, A):
    """Degree of det(λ E + A): the rank of values on a circle, by their Fourier coefficients."""
    n, radius = len(E), 3.0
    points = radius * np.exp(2j * np.pi * np.arange(2 * n + 2) / (2 * n + 2))
    values = np.array([np.linalg.det(z * E + A) for z in points])
    coefficients = np.abs(np.fft.fft(values)) / radius ** np.arange(2 * n + 2)
    large = coefficients[: n + 1] > 1e-9 * coefficients[: n + 1].max()
    return int(np.flatnonzero(large).max())


def check(form, known, dof):
    """Constraints hold on the known solution, are independent, and leave as many directions as there should be."""
    model, n, n_y = form.model, form.x.numel(), form.y.numel()
    h, both = form.constraints, ca.vertcat(form.x, form.y)
    assert form.degrees_of_freedom == dof == n + n_y - h.numel()
    rates, E = form.rates, form.E
    function = ca.Function("h", [model.graph.t, form.x, form.y, model.graph.theta],
                           [h, ca.jacobian(h, both), E, form.k, rates])  # fmt: skip
    for t in (0.3, 1.1):
        derivatives = [np.array(known(t, order)) for order in range(HIGHEST)]
        y = [derivatives[order][j] for j, order in form.y_of]
        rows, J, E, k, rates = (np.array(part) for part in function(t, derivatives[0], y, model.theta(t)))
        scale = max(np.abs(part).max() for part in derivatives[: 2 + form.structure.c.max()])
        size = 1 + np.abs(J).sum(axis=1).max(initial=0)
        np.testing.assert_allclose(rows, 0, atol=1e-10 * scale * size)
        np.testing.assert_allclose(
            E @ derivatives[1] - k.ravel(), 0, atol=1e-10 * scale * (1 + np.abs(E).max(initial=0))
        )
        there = form.determined
        np.testing.assert_allclose(rates.ravel()[there], derivatives[1][there], atol=1e-8 * scale * size)
        assert np.linalg.matrix_rank(J) == len(J)
        E_D = E[:, there]
        assert E_D.shape[0] == E_D.shape[1]
        assert not len(E_D) or np.linalg.cond(E_D) < 1e12
        # differential equations and constraints together determine x' and y
        whole = np.vstack([np.hstack([E, np.zeros((len(E), n_y))]), J])
        assert np.linalg.matrix_rank(whole) == n + n_y


def check_invariance(form, known):
    """Where all constraints hold, they go on holding: none is missing.

    Points are those of the constraints nearest to points beside the known solution.
    """
    graph, rng = form.model.graph, np.random.default_rng(0)
    h, both = form.constraints, ca.vertcat(form.x, form.y)
    function = ca.Function("h", [graph.t, both], [h, ca.jacobian(h, both), ca.jtimes(h, form.x, form.rates) +
                           ca.jacobian(h, graph.t)])  # fmt: skip
    derivatives = [np.array(known(0.4, order)) for order in range(HIGHEST)]
    z = np.concatenate([derivatives[0], [derivatives[order][j] for j, order in form.y_of]])
    z = z + 0.05 * rng.uniform(-1, 1, len(z)) * (1 + np.abs(z))
    for _ in range(30):
        rows, J, moving = (np.array(part) for part in function(0.4, z))
        if np.abs(rows).max(initial=0) < 1e-11 * (1 + np.abs(z).max()):
            break
        z = z - np.linalg.lstsq(J, rows.ravel(), rcond=None)[0]
    else:
        return False  # no point found
    free = J[:, np.concatenate([~form.determined, np.ones(form.y.numel(), bool)])]  # their derivatives follow
    if free.shape[1]:
        moving = moving - free @ np.linalg.lstsq(free, moving, rcond=None)[0]
    scale = np.abs(J).sum(axis=1) * max(np.abs(part).max() for part in derivatives[: 2 + form.structure.c.max()])
    np.testing.assert_allclose(moving.ravel(), 0, atol=1e-7 * (1 + scale.max(initial=0)))
    return True


def linear(E, A, rng, implicit=True):
    """E x' + A x = f(t), with f such that the solution is known."""
    n, known = len(E), Known(len(E), rng)

    def rhs(s):
        x, x_dot = known(s.t), known(s.t, 1)
        return [
            sum(E[i, j] * x_dot[j] + A[i, j] * x[j] for j in range(n)) - sum(A[i, j] * s.x[j] for j in range(n))
            for i in range(n)
        ]

    names = [f"x{j + 1}" for j in range(n)]
    if implicit:
        return da.ImplicitDAE(
            x=names, residual=lambda s: [r - sum(E[i, j] * s.dx[j] for j in range(n)) for i, r in enumerate(rhs(s))]
        ), known
    return da.QuasiLinearDAE(x=names, leading=E, rhs=rhs), known


def weierstrass(rng, sizes, n_d):
    """diag(I, N) x' + diag(J, I) x = f: `sizes` of the nilpotent blocks, the largest being the index."""
    n = n_d + sum(sizes)
    E, A = np.zeros((n, n)), np.zeros((n, n))
    E[:n_d, :n_d] = np.eye(n_d)
    A[:n_d, :n_d] = rng.integers(-2, 3, (n_d, n_d))
    start = n_d
    for size in sizes:
        for k in range(size):
            A[start + k, start + k] = 1
            if k + 1 < size:
                E[start + k, start + k + 1] = 1
        start += size
    return E, A


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 4), max_size=3), st.integers(0, 3), st.booleans())
def test_weierstrass_form_with_coupling_in_one_direction(seed, sizes, n_d, implicit):
    """Couplings from later blocks to earlier ones, scaling and permutations leave the structure alone."""
    if not sizes and not n_d:
        sizes = [1]
    rng = np.random.default_rng(seed)
    E, A = weierstrass(rng, sizes, n_d)
    n = len(E)
    A[:n_d, n_d:] = rng.integers(-1, 2, (n_d, n - n_d))  # the dynamics read the algebraic part
    scale = [rng.choice([0.5, 1.0, 2.0, 3.0], n) for _ in range(2)]
    rows, columns = rng.permutation(n), rng.permutation(n)
    E, A = ((M * scale[0][:, None] * scale[1])[rows][:, columns] for M in (E, A))
    model, known = linear(E, A, rng, implicit)
    form = regularized(model)
    assert degrees_of_freedom(E, A) == n_d
    check(form, known, n_d)
    # the last unknown of each nilpotent block is found at once, the first by size − 1 derivatives
    assert form.structure.c.max(initial=0) == max([size - 1 for size in sizes], default=0)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.15, 0.6), st.booleans())
def test_sparse_pencils(seed, n, density, implicit):
    """Either the degrees of freedom are right and everything fits, or somebody says what is singular."""
    rng = np.random.default_rng(seed)
    E = rng.choice([1.0, 2.0, -1.0], (n, n)) * (rng.random((n, n)) < density)
    A = rng.choice([1.0, 2.0, -1.0], (n, n)) * (rng.random((n, n)) < density) + np.diag(rng.random(n) < 0.7)
    there = E.any(axis=1) | A.any(axis=1), E.any(axis=0) | A.any(axis=0)
    A += np.diag(1.0 * ~(there[0] & there[1]))  # every equation and every unknown is there
    try:
        model, known = linear(E, A, rng, implicit)
        form = regularized(model)
    except (da.StructurallySingular, da.NumericallySingular):
        return
    if not form.hides:
        return  # taken as it stands, and judged by its pencil
    check(form, known, degrees_of_freedom(E, A))
    assert check_invariance(form, known)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 4), max_size=3), st.integers(0, 3), st.booleans())
def test_mixed_equations_and_unknowns(seed, sizes, n_d, whole_numbers):
    """Dense matrices show nothing of the index: combinations of equations do, or somebody says what is singular."""
    rng = np.random.default_rng(seed)
    E, A = weierstrass(rng, sizes or [1], n_d)
    n = len(E)
    if whole_numbers:
        P, Q = (np.eye(n) + np.triu(rng.integers(-1, 2, (n, n)), 1) for _ in range(2))
        P, Q = P[rng.permutation(n)], Q.T
    else:
        P, Q = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    E, A = P @ E @ Q, P @ A @ Q
    model, known = linear(E, A, rng)
    try:
        form = regularized(model)
    except da.NumericallySingular as error:
        assert error.equations  # noqa: PT017
        return
    if form.hides:
        check(form, known, n_d)
        assert check_invariance(form, known)
        assert model.index >= max(sizes or [1])


@settings(derandomize=True, max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
def test_too_optimistic_structure_is_noticed(seed, n, constant):
    """Two equations whose derivatives are the same up to a factor, one behind the other in all kinds of company.

    If the factor is a number, the structure is put right; if it is a function, the equations are named.
    """
    rng = np.random.default_rng(seed)
    E, A = np.diag(np.ones(n)), np.triu(rng.integers(-1, 2, (n, n)).astype(float), 1) + np.diag(np.arange(1.0, n + 1))
    E[0, 1] = E[1, 0] = 1.0
    E[1] *= rng.choice([2.0, -1.0, 3.0])
    # an equation of higher index besides
    E, A = np.pad(E, (0, 2)), np.pad(A, (0, 2))
    E[n, n], A[n, n + 1], A[n + 1, n] = 1, 1, 1
    rows, columns = rng.permutation(n + 2), rng.permutation(n + 2)
    E, A = (M[rows][:, columns] for M in (E, A))
    place, names = np.argsort(rows), [f"x{j + 1}" for j in range(n + 2)]
    if constant:
        model, known = linear(E, A, rng)
        check(regularized(model), known, degrees_of_freedom(E, A))
        return
    factor = np.ones(n + 2, object)

    def residual(s):
        factor[place[1]] = 2 + np.sin(s.x[np.argsort(columns)[0]])
        return [
            sum(factor[i] * E[i, j] * s.dx[j] + A[i, j] * s.x[j] for j in range(n + 2)) - np.cos(s.t)
            for i in range(n + 2)
        ]

    with pytest.raises(da.NumericallySingular) as caught:
        regularized(da.ImplicitDAE(x=names, residual=residual))
    assert set(caught.value.equations) == {f"equation {place[i] + 1}" for i in (0, 1)}
    assert set(caught.value.variables) == {f"x{np.argsort(columns)[j] + 1}" for j in (0, 1)}


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(0, 3), st.floats(0.1, 0.8))
def test_random_nonlinear_equations_of_given_offsets(seed, n, highest, density):
    """Offsets first, then equations that have them: nonlinear terms of all derivatives that may occur."""
    rng = np.random.default_rng(seed)
    d = rng.integers(0, highest + 2, n)
    c = np.maximum(d - rng.integers(0, 2, n), 0)
    order = rng.permutation(n)
    c, known = c[order], Known(n, rng)  # row i is matched with column order[i]
    coupled = rng.random((n, n)) < density

    def residual_with(s):
        exact = [known(s.t), known(s.t, 1)]
        here = [s.x, s.dx]
        rows = []
        for i in range(n):
            row = 0
            for j in range(n):
                top = min(d[j] - c[i], 1)
                if top < 0 or not (coupled[i, j] or j == order[i]):
                    continue
                for values, sign in ((here, 1), (exact, -1)):
                    z = values[top][j]
                    if j == order[i]:
                        row = row + sign * (4.0 * z + (0.3 * z**3 if (i + seed) % 2 else 0))
                    else:
                        row = row + sign * 0.3 * np.sin(z)
                    if top == 1:
                        row = row + sign * 0.5 * values[0][j] ** 2
            rows.append(row)
        return rows

    model = da.ImplicitDAE(x=[f"x{j + 1}" for j in range(n)], residual=residual_with)
    form = regularized(model)
    assert (form.structure.d <= d).all()
    check(form, known, form.structure.degrees_of_freedom)
    check_invariance(form, known)
