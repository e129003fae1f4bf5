"""Sparse iteration matrices of implicit methods: the same steps as with dense ones, chosen by size, faults named."""

import numpy as np
import pytest
from steps import stepper_of

import dalembert as da

DASSL = [(da.Dassl, {"formulation": f}) for f in ("index1", "index2", "ggl", "baumgarte")]
RADAU = [(da.Radau5, {"formulation": f}) for f in ("index1", "index2", "index3", "ggl", "baumgarte")]
ODASSL = [(da.Odassl, {"level": level}) for level in ("velocity", "acceleration")]


PROBLEMS = ["andrews", "car_axis", "motor_pendulum", "truck", "ball_in_ellipse"]
CASES = [(name, *method) for name in PROBLEMS for method in (*DASSL, *RADAU, *ODASSL)]
CASES += [("rolling_disc", *method) for method in (*DASSL, *RADAU, ODASSL[1])]  # nonholonomic


@pytest.mark.parametrize(("name", "kind", "options"), CASES)
def test_sparse_and_dense_matrices_agree(name, kind, options):
    problem = da.problems.catalogue()[name]()
    # rounding errors of the start values alone change the steps of Dassl on the truck, which starts at rest, by up to
    # 45 %: the medians of several tolerances are what can be compared
    dense, sparse = (
        [
            problem.simulate(method=kind(**options, linear_solver=how), rtol=tolerance, atol=tolerance)
            for tolerance in 1e-7 * np.linspace(0.98, 1.02, 9)
        ]
        for how in (da.Dense(), da.Sparse())
    )
    assert problem.error(sparse[4]) < max(2e-3, 20 * problem.error(dense[4]))
    assert sparse[4].max_residual("position") < 10 * dense[4].max_residual("position") + 1e-9
    steps = [np.median([sol.stats.accepted for sol in runs]) for runs in (dense, sparse)]
    assert abs(steps[1] - steps[0]) < 0.2 * steps[0]


@pytest.mark.parametrize("kind", [da.Dassl, da.Radau5, da.Odassl])
def test_large_systems_are_sparse_by_themselves(kind):
    problem = da.problems.pendulum_chain(12, t_end=0.3)
    results, seen = {}, {}
    for how, solver in (("auto", da.Auto()), ("dense", da.Dense()), ("sparse", da.Sparse())):
        method = kind(linear_solver=solver)
        results[how] = problem.simulate(method=method, rtol=1e-7, atol=1e-7)
        seen[how] = "to" in stepper_of(method, problem.model).algebra.dtype.names
    assert seen == {"auto": True, "dense": False, "sparse": True}
    np.testing.assert_allclose(results["auto"].p[-1], results["dense"].p[-1], atol=1e-6)
    np.testing.assert_array_equal(results["auto"].p[-1], results["sparse"].p[-1])


@pytest.mark.parametrize("kind", [da.Dassl, da.Radau5, da.Odassl])
def test_singular_matrices_are_named(kind):
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1, 2 * (s.x**2 + s.y**2 - 1)], lam=["rod", "same rod"],
    )  # fmt: skip
    with pytest.raises(da.SingularMatrix, match=r"(same )?rod"):
        da.simulate(model, (0, 1), p0=[1, 0], method=kind(linear_solver=da.Sparse()))


def test_relaxed_increments_are_the_dense_ones():
    """One step of ODASSL from a point that violates the constraints: the same matrix, the same relaxation."""
    problem = da.problems.pendulum_chain(12)
    increments = []
    for how in (da.Dense(), da.Sparse()):
        stepper = stepper_of(da.Odassl(linear_solver=how), problem.model)
        n, rng = stepper.form.n, np.random.default_rng(2)
        x = np.concatenate([problem.p0, problem.v0, np.zeros(n - 72)]) + 1e-2 * rng.normal(size=n)
        stepper.start(0.0, x, rng.normal(size=n), 1.0, 1e-3)
        stepper.advance()
        increments.append(stepper.state.increment.copy())
    assert np.abs(increments[0]).max() > 1e-3
    np.testing.assert_allclose(increments[1], increments[0], rtol=1e-8, atol=1e-10)


def test_sparse_matrices_by_differences():
    problem = da.problems.andrews()
    for strategy in (da.GroupedDifferences(), da.GroupedDifferences(pattern="estimated", partitioned=True)):
        method = da.Dassl(jacobian=strategy, linear_solver=da.Sparse())
        assert problem.error(problem.simulate(method=method, rtol=1e-8, atol=1e-8)) < 3e-4


@pytest.mark.parametrize("kind", [da.Dassl, da.Radau5, da.Odassl])
@pytest.mark.parametrize(
    ("option", "message"),
    [
        (dict(linear_algebra="sparse"), "no option 'linear_algebra'; did you mean 'linear_solver'"),
        (dict(linear_solver="sparse"), r"must be a solver object; did you mean Sparse\(\)"),
        (dict(linear_solver=7), r"must be a solver object such as Auto\(\), Dense\(\) or Sparse\(\)"),
        (dict(linear_solver=da.Recursive()), r"made for saddle-point systems of the half-explicit.*take Auto\(\)"),
        (dict(linear_solver=da.NullSpace()), r"made for projected iteration matrices of Geoms.*or Sparse\(\)"),
    ],
)
def test_refused_solvers_name_the_methods_that_take_them(kind, option, message):
    with pytest.raises(da.OptionError, match=message):
        kind(**option)


def test_threshold_of_sparse_factors_arrives():
    """Pivots may fall to this fraction of their column: a strict one is chosen anew more often."""
    problem = da.problems.pendulum_chain(12, t_end=1.0)
    for kind, names in ((da.Radau5, ("real", "complex")), (da.Dassl, ("lu",)), (da.Odassl, ("lu",))):
        algebra = stepper_of(kind(linear_solver=da.Sparse(threshold=0.05)), problem.model).algebra
        assert [float(getattr(algebra, name).threshold) for name in names] == [0.05] * len(names)
