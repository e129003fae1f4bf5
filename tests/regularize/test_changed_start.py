"""Start values that were given: none is changed, filled in or left out without a word."""

import warnings

import numpy as np
import pytest

import dalembert as da


def changed(make):
    """The result, and the warnings about changed start values."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = make()
    return result, [str(w.message) for w in caught if w.category is da.InitialValuesCorrected]


def quasi_linear(rng, n_d, n_a, mixed):
    """E x' = k with known parts: y' = …, 0 = z − c(y), in other coordinates if `mixed`."""
    n = n_d + n_a
    P, Q = (rng.normal(size=(n, n)) + 3 * np.eye(n) for _ in range(2)) if mixed else (np.eye(n), np.eye(n))
    E = P @ np.diag([1.0] * n_d + [0.0] * n_a) @ Q
    C = rng.normal(size=(n_a, n_d))

    def rhs(s):
        w = Q @ s.x
        y, z = w[:n_d], w[n_d:]
        rows = np.array([-y[i] + z[i % n_a] for i in range(n_d)] + [z[i] + z[i] ** 3 - C[i] @ y for i in range(n_a)])
        return P @ rows

    return da.QuasiLinearDAE(x=[f"x{i}" for i in range(n)], leading=E, rhs=rhs), Q


def implicit(rng, n_d, n_a, mixed):
    n = n_d + n_a
    P, Q = (rng.normal(size=(n, n)) + 3 * np.eye(n) for _ in range(2)) if mixed else (np.eye(n), np.eye(n))
    C = rng.normal(size=(n_a, n_d))

    def residual(s):
        w, w_dot = Q @ s.x, Q @ s.dx
        y, z = w[:n_d], w[n_d:]
        rows = [w_dot[i] + 0.1 * w_dot[i] ** 3 + y[i] for i in range(n_d)]
        return P @ np.array(rows + [z[i] + z[i] ** 3 - C[i] @ y for i in range(n_a)])

    return da.ImplicitDAE(x=[f"x{i}" for i in range(n)], residual=residual), Q


@pytest.mark.parametrize("mixed", [False, True], ids=["plain", "mixed"])
@pytest.mark.parametrize("kind", [quasi_linear, implicit])
@pytest.mark.parametrize("seed", range(5))
def test_index_1_keeps_differential_parts(kind, mixed, seed):
    """Whatever guess algebraic parts have, the others stay: bit for bit where they are unknowns of their own."""
    rng = np.random.default_rng(seed)
    n_d, n_a = rng.integers(1, 4, 2)
    model, Q = kind(rng, n_d, n_a, mixed)
    x0 = rng.normal(size=n_d + n_a)
    (start, told) = changed(lambda: da.consistent_initial_values(model, x0=x0))
    if mixed:
        np.testing.assert_allclose((Q @ start.x)[:n_d], (Q @ x0)[:n_d], rtol=1e-12, atol=1e-12)
    else:
        assert start.x[:n_d].tolist() == x0[:n_d].tolist()
    assert len(told) == 1  # the guesses were wrong, and were no zeros
    with pytest.raises(da.InconsistentInitialValues, match="violate the equations"):
        da.consistent_initial_values(model, x0=x0, mode="check")
    _, told = changed(lambda: da.consistent_initial_values(model, x0=start.x, mode="check"))
    assert not told


@pytest.mark.parametrize("kind", ["quasi-linear", "implicit"])
@pytest.mark.parametrize("q", [4.0, 0.25, 1e4])
def test_a_guess_without_a_gradient(kind, q):
    """0 = z² − q: at z = 0 no step helps, and q must not be moved to 0 for that."""
    if kind == "implicit":
        model = da.ImplicitDAE(x=["q", "z"], residual=lambda s: [s.q_dot + s.q, s.z**2 - s.q])
    else:
        model = da.QuasiLinearDAE(x=["q", "z"], leading=[1, 0], rhs=lambda s: [-s.q, s.z**2 - s.q])
    start, told = changed(lambda: da.consistent_initial_values(model, x0=[q, 0.0]))
    assert start.x[0] == q
    assert abs(start.x[1]) == pytest.approx(np.sqrt(q), rel=1e-12)
    assert not told  # zero is no guess


def test_a_differential_value_that_violates_an_equation_is_told():
    model = da.QuasiLinearDAE(x=["q", "z"], leading=[1, 0], rhs=lambda s: [s.z, s.q - np.sin(s.t)])
    with pytest.warns(da.InitialValuesCorrected, match=r"'q' changed from 0.1 to 0 to satisfy the equations at t = 0"):
        assert da.simulate(model, (0, 1), x0=[0.1, 1.0]).x[0, 0] == 0.0
    with pytest.raises(da.InconsistentInitialValues, match="'q' would have to change"):
        da.simulate(model, (0, 1), x0=[0.1, 1.0], method=da.Radau5(initial_values="check"))
    _, told = changed(lambda: da.simulate(model, (0, 1), x0=[1e-9, 1.0]))  # not noticeable
    assert not told


def test_an_algebraic_value_is_told_if_it_was_given():
    model = da.QuasiLinearDAE(x=["q", "z"], leading=[1, 0], rhs=lambda s: [-s.q, s.q + s.z - 3])
    for x0, expected in (([1.0, 5.0], 1), ([1.0, 2.0], 0), ([1.0, 0.0], 0), ({"q": 1.0}, 0), ({"q": 1.0, "z": 5}, 1)):
        start, told = changed(lambda x0=x0: da.consistent_initial_values(model, x0=x0))
        assert start.x.tolist() == [1.0, 2.0]
        assert len(told) == expected


def test_what_follows_from_an_action_is_no_start_value():
    model = da.QuasiLinearDAE(x=["q", "z"], leading=[1, 0], rhs=lambda s: [-s.q, s.q + s.z - 3])
    kick = da.Event(lambda s: s.t - 0.5, action=lambda s: {"q": 2.0})
    sol, told = changed(lambda: da.simulate(model, (0, 1), x0=[1.0, 2.0], events=kick))
    assert not told
    assert np.abs(sol.x.sum(axis=1) - 3).max() < 1e-10


def test_a_leading_matrix_that_depends_on_x():
    """Which equation is algebraic depends on where the unknowns are."""
    model = da.QuasiLinearDAE(
        x=["a", "b"], leading=lambda s: [[1, s.b], [s.a, s.a * s.b]], rhs=lambda s: [1, s.a - s.b + s.a**3]
    )
    start, _ = changed(lambda: da.consistent_initial_values(model, x0=[1.0, 0.3]))
    a, b = start.x
    assert abs(a - b + a**3 - a) < 1e-12  # row 2 − a · row 1


# -- mappings ------------------------------------------------------------------------------------------------------


def test_a_position_that_a_mapping_leaves_out_is_missed():
    free = da.EquationsOfMotion(p=["x", "y", "z"], mass=[1, 1, 1], force=[0, 0, -9.81])
    with pytest.raises(da.ModelError, match="p0: the start values of 'y', 'z' must be given"):
        da.simulate(free, (0, 1), p0={"x": 1.0})
    held = da.problems.pendulum().model
    with pytest.raises(da.ModelError, match=r"'y' must be given, too.*need a guess"):
        da.simulate(held, (0, 1), p0={"x": 1.0})
    with pytest.raises(da.ModelError, match="'x', 'y' must be given"):
        da.simulate(held, (0, 1), p0={})


def test_other_mappings_are_completed_as_if_nothing_were_given():
    """Velocities by zeros, what is computed by no guess, and values that the model has by those."""
    model = da.EquationsOfMotion(
        p=["x", "y"], r=["F", "G"], lam=["rod", "wall"], parameters={"m": 2.0, "k": 3.0}, discrete={"c": 1, "d": 2},
        mass=lambda s: [s.m, s.m], force=lambda s: [-s.k * s.c, s.d], dynamics=[0, 0],
        holonomic=lambda s: [s.x, s.y],
    )  # fmt: skip
    start = da.consistent_initial_values(model, p0=[0, 0], v0={"y_dot": 0.0}, r0={"G": 4.0}, lam0={"rod": 1.0})
    assert start.r.tolist() == [0.0, 4.0]
    np.testing.assert_allclose(start.lam, [-3.0, 2.0])
    trusted = da.consistent_initial_values(model, p0=[0, 0], lam0={"rod": 1.0}, mode="trust")
    assert trusted.lam.tolist() == [1.0, 2.0]  # what was not given is computed
    sol = da.simulate(model, (0, 1), p0=[0, 0], parameters={"k": 5.0}, discrete={"d": 7}, atol={"x": 1e-9})
    assert sol.parameters == {"m": 2.0, "k": 5.0}
    np.testing.assert_allclose(sol.lam[0], [-5.0, 7.0])


@pytest.mark.parametrize("kind", ["quasi-linear", "implicit"])
def test_unknowns_without_derivatives_may_be_left_out(kind):
    if kind == "implicit":
        model = da.ImplicitDAE(x=["q", "z"], residual=lambda s: [s.q_dot + s.z, s.q - s.z])
    else:
        model = da.QuasiLinearDAE(x=["q", "z"], leading=[1, 0], rhs=lambda s: [-s.z, s.q - s.z])
    x = da.consistent_initial_values(model, x0={"q": 2.0}).x
    assert x[0] == 2.0
    assert x[1] == pytest.approx(2.0, rel=1e-15)
    with pytest.raises(da.ModelError, match="the start value of 'q' must be given"):
        da.consistent_initial_values(model, x0={"z": 2.0})


@pytest.mark.parametrize("value", [10**400, np.ma.masked, None, "one", [1, 2], 1j])
def test_numbers_that_are_none(value):
    model = da.problems.pendulum().model
    for p0 in ({"x": value, "y": 0}, [value, 0]):
        with pytest.raises(da.ModelError, match="p0"):
            da.simulate(model, (0, 1), p0=p0)
    with pytest.raises(da.ModelError, match="'m'"):
        da.simulate(model, (0, 1), p0=[1, 0], parameters={"m": value})
