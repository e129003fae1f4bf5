"""Geoms with sparse factors: the increments of dense blocks, in one bordered matrix."""

import numpy as np
import pytest

import dalembert as da

LEVELS = ("position", "velocity", "acceleration")
TIGHT = dict(rtol=1e-7, atol=1e-7)


def both(problem, options=None, **more):
    options = options or {}
    return [
        problem.simulate(method=da.Geoms(linear_solver=solver, **options), **{**TIGHT, **more})
        for solver in (da.Dense(), da.Sparse())
    ]


# p' = v and holonomic constraints alone; kinematics, contact points, force elements, nonholonomic constraints, λ in
# forces
@pytest.mark.parametrize(
    "name",
    ["pendulum", "andrews", "car_axis", "truck", "rolling_disc", "ball_in_ellipse", "heavy_top", "motor_pendulum"],
)
@pytest.mark.parametrize("options", [{}, {"formulation": "index1"}, {"accelerations": "unknown"}])
def test_sparse_and_dense_blocks_agree(name, options):
    problem = da.problems.catalogue()[name]()
    dense, sparse = both(problem, {"invariants": "impose" if name == "heavy_top" else "ignore", **options})
    assert problem.error(sparse) < max(2e-3, 20 * problem.error(dense))
    # rounding errors decide some steps, and points are corrected in other directions; the work is the same
    assert abs(sparse.stats.accepted - dense.stats.accepted) < 0.1 * dense.stats.accepted + 2
    for level in LEVELS[: 2 if "formulation" in options else 3]:
        assert sparse.max_residual(level) < 10 * dense.max_residual(level) + 1e-9


@pytest.mark.parametrize("N", [64, 256])
def test_long_chains(N):
    """Every level of every constraint, at the cost of a sparse matrix; dense blocks would take minutes at N = 256."""
    problem = da.problems.pendulum_chain(N, t_end=0.2)
    sol = problem.simulate(method=da.Geoms(), rtol=1e-6, atol=1e-6)
    other = problem.simulate(method=da.Hem5(), rtol=1e-9, atol=1e-9)
    assert sol.max_residual("position") < 1e-12
    assert sol.max_residual("velocity") < 1e-12
    assert sol.max_residual("acceleration") < 1e-6
    np.testing.assert_allclose(sol.p[-1], other.p[-1], atol=1e-5)
    np.testing.assert_allclose(sol.v[-1], other.v[-1], atol=1e-4)


def test_chain_of_64_in_dense_blocks():
    dense, sparse = both(da.problems.pendulum_chain(64, t_end=0.05), rtol=1e-6, atol=1e-6)
    assert sparse.stats.accepted == dense.stats.accepted
    np.testing.assert_allclose(sparse.x[-1], dense.x[-1], atol=1e-6)


def test_work_grows_linearly():
    operations = []
    for N in (32, 128):
        sol = da.problems.pendulum_chain(N, t_end=0.05).simulate(method=da.Geoms(), rtol=1e-6, atol=1e-6)
        operations.append(sol.stats.linear_algebra_operations / sol.stats.decompositions)
    assert operations[1] < 5 * operations[0]


@pytest.mark.parametrize(("N", "sparse"), [(8, False), (32, True)])
def test_auto_goes_by_size(N, sparse):
    problem = da.problems.pendulum_chain(N, t_end=0.05)
    auto, same = (
        problem.simulate(method=da.Geoms(linear_solver=solver), **TIGHT)
        for solver in (da.Auto(), da.Sparse() if sparse else da.Dense())
    )
    np.testing.assert_array_equal(auto.x[-1], same.x[-1])
    assert auto.stats.linear_algebra_operations == same.stats.linear_algebra_operations


def test_null_space_is_the_long_name_of_algebraic_and_differential():
    problem = da.problems.andrews()
    for short in (dict(algebraic="svd"), dict(algebraic="qr", differential="qr"), dict(differential="qr")):
        solver = da.NullSpace(constraints=short.get("algebraic", "lu"), differential=short.get("differential", "lu"))
        long = da.Geoms(linear_solver=solver)
        assert (long.algebraic, long.differential) == (solver.constraints, solver.differential)
        one, other = (problem.simulate(method=method, rtol=1e-5, atol=1e-5) for method in (da.Geoms(**short), long))
        np.testing.assert_array_equal(one.x[-1], other.x[-1])


def rods(scale):
    """Two rods in a row, the second one given twice."""
    model = da.EquationsOfMotion(
        p=["x1", "y1", "x2", "y2"], mass=[1, 1, 1, 1], force=[0, -9.81, 0, -9.81], lam=["rod", "arm", "copy"],
        holonomic=lambda s: [
            s.x1**2 + s.y1**2 - 1, (s.x2 - s.x1) ** 2 + (s.y2 - s.y1) ** 2 - 1,
            scale * ((s.x2 - s.x1) ** 2 + (s.y2 - s.y1) ** 2 - 1),
        ],
    )  # fmt: skip
    return model, dict(p0=[1, 0, 2, 0], v0=[0, 0, 0, 0])


def test_redundant_constraints_are_named():
    model, start = rods(3.0)
    method = da.Geoms(linear_solver=da.Sparse(), initial_values="trust")
    with pytest.raises(da.RedundantConstraints, match=r"position level.*'arm'.*'copy'.*algebraic='svd'"):
        da.simulate(model, (0, 1), **start, method=method)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(algebraic="svd"), "algebraic='svd' asks for dense blocks"),
        (dict(differential="qr"), "differential='qr' asks for dense blocks"),
        (dict(selector="adaptive"), "selector='adaptive' asks for dense blocks"),
        (dict(scaling="none"), "scaling='none' asks for dense blocks"),
        (dict(singular="step over"), "singular='step over' needs the singular values"),
    ],
)
def test_options_that_ask_for_dense_blocks(options, message):
    with pytest.raises(da.OptionError, match=rf"{message}.*use Auto\(\), Dense\(\), NullSpace\(\) or Sparse\(\)"):
        da.problems.pendulum().simulate(method=da.Geoms(linear_solver=da.Sparse(), **options))
    da.problems.pendulum_chain(32, t_end=0.01).simulate(method=da.Geoms(**options))  # Auto() takes what can


def test_projected_invariants_ask_for_dense_blocks():
    with pytest.raises(da.OptionError, match="projected onto invariants along a basis"):
        da.problems.pendulum(energy=True).simulate(method=da.Geoms(linear_solver=da.Sparse()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(linear_solver=da.Recursive()), r"made for saddle-point systems.*take Auto\(\), Dense\(\), NullSpace"),
        (dict(linear_solver="sparse"), r"did you mean Sparse\(\)"),
        (dict(linear_solver=da.NullSpace(constraints="qr"), algebraic="svd"), "algebraic='svd' contradicts"),
        (dict(linear_algebra="sparse"), "did you mean 'linear_solver'"),
    ],
)
def test_wrong_solvers(options, message):
    with pytest.raises(da.OptionError, match=message):
        da.Geoms(**options)


def test_wrong_decompositions_suggest_the_right_ones():
    with pytest.raises(da.OptionError, match="constraints='sdv' is unknown; did you mean 'svd'"):
        da.NullSpace(constraints="sdv")
    with pytest.raises(da.OptionError, match="differential='svd' is unknown"):
        da.NullSpace(differential="svd")
    with pytest.raises(da.OptionError, match="made for projected iteration matrices of Geoms"):
        da.Hem5(linear_solver=da.NullSpace())
