"""ODASSL: all constraints at once, without additional unknowns."""

import numpy as np
import pytest
from steps import stepper_of

import dalembert as da
from dalembert.compile.system import compile_system

HOLONOMIC = sorted(set(da.problems.catalogue()) - {"rolling_disc", "sleigh"})


@pytest.mark.parametrize("name", HOLONOMIC)
@pytest.mark.parametrize("level", ["velocity", "acceleration"])
def test_reference_values(name, level):
    problem = da.problems.catalogue()[name]()
    method = da.Odassl(level=level)
    loose, tight = (problem.simulate(method=method, rtol=tol, atol=tol) for tol in (1e-6, 1e-9))
    assert problem.error(loose) < 3e-2
    assert problem.error(tight) < 5e-4
    assert problem.error(tight) < problem.error(loose)
    speed = 1 + np.abs(tight.v).max()
    assert tight.max_residual("position") < 1e-7
    assert tight.max_residual("velocity") < 1e-7 * speed


@pytest.mark.parametrize("name", ["rolling_disc", "sleigh"])
def test_nonholonomic_constraints_on_acceleration_level(name):
    problem = da.problems.catalogue()[name]()
    sol = problem.simulate(method=da.Odassl(level="acceleration"), rtol=1e-9, atol=1e-9)
    assert problem.error(sol) < 1e-6
    assert sol.max_residual("velocity") < 1e-7
    with pytest.raises(da.ModelError, match=r"no position constraints.*Take Dassl"):
        problem.simulate(method=da.Odassl())


@pytest.mark.parametrize("level", ["velocity", "acceleration"])
def test_increments_are_those_of_the_formula(level):
    """d = A₁⁻¹ (r₁ + B Q⁻¹ (r₂ − A₂ A₁⁻¹ r₁)), B = E A₂ᵀ; on velocity level B = A₂ᵀ."""
    from dalembert.solvers.bdf.overdetermined import prepare, solve

    problem, method = da.problems.andrews(), da.Odassl(level=level)
    compiled = compile_system(method.formulate(problem.model))
    n, rows = compiled.system.n, len(compiled.system.equations)
    stepper = stepper_of(method, problem.model)
    rng = np.random.default_rng(0)
    point = np.concatenate([np.array(problem.p0), rng.normal(size=2 * n - 7)])
    la = stepper.algebra
    nonzeros = compiled.jacobian(0.0, point, problem.model.theta())
    la.nonzeros[:] = nonzeros
    from dalembert.solvers.bdf.overdetermined import decompose

    c = 1e4
    assert decompose(la.address, stepper.state.address) == 1
    assert prepare(la.address, c, 0.0, 0.0) == 1
    R, d = rng.normal(size=rows), np.zeros(n)
    solve(la.address, R.ctypes.data, d.ctypes.data)
    J, E = np.zeros((rows, n)), np.zeros((rows, n))
    J[compiled.jacobian_pattern] = nonzeros[: len(compiled.jacobian_pattern[0])]
    E[compiled.leading_pattern] = nonzeros[len(compiled.jacobian_pattern[0]) :]
    A1, A2, B = c * E[:n] - J[:n], -J[n:], E[:n] @ -J[n:].T
    if level == "velocity":
        np.testing.assert_allclose(B, A2.T, atol=1e-15)
    first = np.linalg.solve(A1, R[:n])
    expected = first + np.linalg.solve(A1, B @ np.linalg.solve(A2 @ np.linalg.solve(A1, B), R[n:] - A2 @ first))
    np.testing.assert_allclose(d, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(A2 @ d, R[n:], rtol=1e-6, atol=1e-6)  # constraints exactly


def test_relaxing_the_equations_themselves_would_fail_at_rest():
    """Why B is E A₂ᵀ: with A₂ᵀ and constraints on acceleration level, Q is singular where v = 0."""
    model = da.problems.pendulum().model
    compiled = compile_system(da.Odassl(level="acceleration").formulate(model))
    n, rows, c = compiled.system.n, len(compiled.system.equations), 100.0
    nonzeros = compiled.jacobian(0.0, np.array([0.6, -0.8, *np.zeros(2 * n - 2)]), model.theta())
    J, E = np.zeros((rows, n)), np.zeros((rows, n))
    J[compiled.jacobian_pattern] = nonzeros[: len(compiled.jacobian_pattern[0])]
    E[compiled.leading_pattern] = nonzeros[len(compiled.jacobian_pattern[0]) :]
    A1, A2 = c * E[:n] - J[:n], -J[n:]
    condition = [np.linalg.cond(A2 @ np.linalg.solve(A1, B)) for B in (A2.T, E[:n] @ A2.T)]
    assert condition[0] > 1e12
    assert condition[1] < 1e3


def test_invariants_of_ordinary_differential_equations():
    """A quasi-linear DAE with more equations than unknowns."""
    circle = da.QuasiLinearDAE(x=["a", "b"], rhs=lambda s: [s.b, -s.a], constraints=lambda s: [s.a**2 + s.b**2 - 1])
    sol = da.simulate(circle, (0, 50), x0=[1, 0], method=da.Odassl(), rtol=1e-7, atol=1e-7)
    assert sol.max_residual("constraints") < 5e-6  # what the last iteration of a step leaves
    np.testing.assert_allclose(sol.x[-1], [np.cos(50), -np.sin(50)], atol=1e-3)
    plain = da.QuasiLinearDAE(x=["a", "b"], rhs=lambda s: [s.b, -s.a])
    with pytest.raises(da.ModelError, match="nothing is overdetermined"):
        da.simulate(plain, (0, 1), x0=[1, 0], method="odassl")


def test_energy_as_an_invariant():
    problem = da.problems.pendulum(energy=True, t_end=20.0)
    sol = problem.simulate(method=da.Odassl(level="acceleration"), rtol=1e-6, atol=1e-6)
    assert sol.max_residual("invariant") < 1e-4
    assert problem.error(sol) < 2e-3


def test_events_restarts_and_t_eval():
    problem = da.problems.pendulum()
    turn = da.Event(lambda s: s.t - 0.3, action=lambda s: {"v": -s.v})
    sol = problem.simulate(method=da.Odassl(), rtol=1e-9, atol=1e-9, events=turn, t_eval=[0.3, 0.6])
    np.testing.assert_allclose(sol.p[-1], problem.p0, atol=1e-5)


def test_redundant_constraints_are_named():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], lam=["rod", "same rod"],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1, 2 * (s.x**2 + s.y**2 - 1)],
    )  # fmt: skip
    for level in ("velocity", "acceleration"):
        with pytest.raises(da.SingularMatrix, match=r"'rod'.*'same rod'.*depend on each other"):
            da.simulate(model, (0, 1), p0=[1, 0], method=da.Odassl(level=level))


def test_impossible_options():
    with pytest.raises(da.OptionError, match="did you mean 'velocity'"):
        da.Odassl(level="velocities")
    with pytest.raises(da.OptionError, match="between 1 and 5"):
        da.Odassl(max_order=7)


# -- constraints that follow from a DAE in any way ---------------------------------------------------------------------

LEVELS = {
    "position": lambda s: s.x**2 + s.y**2 - 1,
    "velocity": lambda s: s.x * s.vx + s.y * s.vy,
    "acceleration": lambda s: s.vx**2 + s.vy**2 - 9.81 * s.y - 2 * s.L * (s.x**2 + s.y**2),
}


@pytest.mark.parametrize("own", LEVELS)
def test_it_does_not_matter_which_constraint_is_the_equation(own):
    """A pendulum as a quasi-linear DAE: one level of its constraint is its fifth equation, the others stand beside."""
    beside = [level for level in LEVELS if level != own]
    model = da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "L"],
        leading=[1, 1, 1, 1, 0],
        rhs=lambda s: [s.vx, s.vy, -2 * s.x * s.L, -9.81 - 2 * s.y * s.L, LEVELS[own](s)],
        constraints=lambda s: [LEVELS[level](s) for level in beside],
    )
    sol = da.simulate(model, (0, 2), x0=[1, 0, 0, 0, 0], method=da.Odassl(), rtol=1e-7, atol=1e-7)
    pendulum = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1]
    )
    exact = da.simulate(pendulum, (0, 2), p0=[1, 0], method=da.Geoms(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(sol.x[-1, :4], np.concatenate([exact.p[-1], exact.v[-1]]), atol=1e-5)
    np.testing.assert_allclose(sol.x[-1, 4], exact.lam[-1, 0], atol=1e-3)
    assert sol.max_residual("constraints") < 1e-5  # of terms up to 30, on acceleration level
    assert sol.stats.accepted < 1000


def test_a_hidden_constraint_with_an_unknown_that_has_no_derivative():
    model = da.QuasiLinearDAE(
        x=["one", "two", "z"],
        leading=[1, 1, 0],
        rhs=lambda s: [s.z + s.two, -s.one * s.z, s.one - np.sin(s.t)],
        constraints=lambda s: [s.z + s.two - np.cos(s.t)],
    )
    reduced = da.QuasiLinearDAE(
        x=["one", "two", "z"],
        leading=[1, 1, 0],
        rhs=lambda s: [s.z + s.two, -s.one * s.z, s.z + s.two - np.cos(s.t)],
    )
    exact = da.simulate(reduced, (0, 2), x0=[0, 0.5, 0.5], method=da.Radau5(), rtol=1e-11, atol=1e-11)
    for tolerance in (1e-4, 1e-6, 1e-8):
        sol = da.simulate(model, (0, 2), x0=[0, 0.5, 0.5], method=da.Odassl(), rtol=tolerance, atol=tolerance)
        assert np.abs(sol.x[-1] - exact.x[-1]).max() < 200 * tolerance


def test_constraints_that_depend_on_each_other_are_named():
    model = da.QuasiLinearDAE(
        x=["one", "two"], leading=[1, 1], rhs=lambda s: [s.two, -s.one],
        constraints=lambda s: [s.one**2 + s.two**2 - 1, 2 * s.one**2 + 2 * s.two**2 - 2],
    )  # fmt: skip
    with pytest.raises(da.SingularMatrix, match="constraint 1 and constraint 2 depend on each other"):
        da.simulate(model, (0, 1), x0=[1, 0], method=da.Odassl())
