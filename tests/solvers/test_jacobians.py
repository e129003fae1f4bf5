"""Jacobians by differences: values, groups of columns, estimated patterns, updates, counters."""

import numba as nb
import numpy as np
import pytest
from steps import stepper_of

import dalembert as da
from dalembert.compile.kernel import kernel
from dalembert.compile.system import compile_system
from dalembert.solvers.difference_kernels import group_columns
from dalembert.solvers.differences import differences_at
from dalembert.solvers.implicit import differences_of

STRATEGIES = [
    da.Exact(partitioned=True),
    da.Differences(),
    da.Differences(partitioned=True),
    da.GroupedDifferences(),
    da.GroupedDifferences(partitioned=True),
    da.GroupedDifferences(pattern="estimated"),
    da.GroupedDifferences(pattern="estimated", partitioned=True),
]


@kernel(nb.int64(nb.uint64))
def color(address):
    d = differences_at(address)
    group_columns(d)
    return d.n_groups


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("name", ["andrews", "car_axis", "truck", "motor_pendulum"])
def test_every_strategy_solves(name, strategy):
    problem = da.problems.catalogue()[name]()
    for formulation in ("ggl", "index1"):
        method = da.Dassl(formulation=formulation, jacobian=strategy)
        assert problem.error(problem.simulate(method=method, rtol=1e-8, atol=1e-8)) < 3e-4


@pytest.mark.parametrize("strategy", STRATEGIES[1:], ids=repr)
@pytest.mark.parametrize("formulation", ["ggl", "index2"])
def test_differences_are_the_exact_jacobian(strategy, formulation):
    """After one step: c E − J from differences and from the graph, at the predicted point."""
    problem = da.problems.andrews()
    method = da.Dassl(formulation=formulation, jacobian=strategy)
    compiled = compile_system(method.formulate(problem.model))
    n = compiled.system.n
    stepper = stepper_of(method, problem.model, 1e-6)
    x, x_dot = np.zeros(n), np.zeros(n)
    rng = np.random.default_rng(1)
    x[:7], x[7:14], x_dot[:7] = problem.p0, rng.normal(size=7), rng.normal(size=7)
    stepper.start(0.0, x, x_dot, 1.0, 1e-3)
    stepper.advance()
    c, theta = float(stepper.state.c_matrix), problem.model.theta()
    rows, columns = compiled.jacobian_pattern
    matrices = []
    for nonzeros in (stepper.algebra.nonzeros, compiled.jacobian(1e-3, stepper.state.predicted.copy(), theta)):
        A = np.zeros((n, n))
        A[compiled.leading_pattern] = c * nonzeros[len(rows) :]
        A[rows, columns] -= nonzeros[: len(rows)]
        matrices.append(A)
    scale = np.abs(matrices[1]).max(axis=1, keepdims=True)
    assert np.abs(matrices[0] / scale - matrices[1] / scale).max() < 1e-3  # (17) is coarse for unknowns near zero


def test_groups_of_the_papers_example():
    """Equation (19): six columns in three groups."""
    pattern = np.array(
        [
            [1, 0, 0, 1, 0, 0],
            [1, 1, 1, 0, 0, 0],
            [1, 0, 1, 0, 0, 1],
            [0, 0, 0, 1, 1, 0],
            [0, 1, 1, 0, 1, 0],
            [1, 1, 0, 0, 0, 0],
        ]
    )
    model = da.QuasiLinearDAE(
        x=[f"x{i}" for i in range(1, 7)], leading=[1, 1, 1, 1, 1, 0], rhs=lambda s: [row @ s.x**2 for row in pattern]
    )
    compiled = compile_system(da.formulate(model))
    record = differences_of(compiled, da.GroupedDifferences())
    assert color(record.address) == 3
    for k in range(3):
        assert pattern[:, record.group == k].sum(axis=1).max() == 1


def test_a_chain_needs_a_fixed_number_of_groups():
    """And memory that does not grow with the square of its length."""
    groups, most = [], []
    for N in (8, 16, 160):
        problem = da.problems.pendulum_chain(N)
        compiled = compile_system(da.formulate(problem.model, "index2"))
        record = differences_of(compiled, da.GroupedDifferences())
        groups.append(color(record.address))
        most.append(len(record.occupied))
    assert groups[0] == groups[1] == groups[2] < 20
    assert groups[2] <= most[1] == most[2] < 100


def test_counters():
    problem = da.problems.andrews()  # ggl: 26 unknowns, of which 6 are η, whose columns are derived
    stats = problem.simulate(method=da.Dassl(jacobian=da.Differences()), rtol=1e-6, atol=1e-6).stats
    assert stats.difference_evaluations == 21 * stats.jacobian_evaluations
    grouped = problem.simulate(method=da.Dassl(jacobian=da.GroupedDifferences()), rtol=1e-6, atol=1e-6).stats
    assert grouped.accepted == stats.accepted  # the same Jacobian to the last bit
    assert grouped.difference_evaluations < 0.7 * stats.difference_evaluations
    kept = problem.simulate(method=da.Dassl(jacobian=da.Exact(partitioned=True)), rtol=1e-6, atol=1e-6).stats
    assert kept.difference_evaluations == 0
    assert kept.jacobian_updates > 0
    assert kept.jacobian_evaluations + kept.jacobian_updates == kept.decompositions
    assert stats.jacobian_updates == 0


def test_nearly_linear_models_need_one_jacobian():
    """The chain of pendulums of the paper, N = 12: only c changes."""
    problem = da.problems.moving_chain(12)
    stats = {
        kept: problem.simulate(method=da.Dassl(jacobian=da.Differences(partitioned=kept)), rtol=1e-4, atol=1e-6).stats
        for kept in (False, True)
    }
    assert stats[True].jacobian_evaluations <= 2
    assert stats[False].jacobian_evaluations > 10


def test_estimated_patterns_grow():
    """A stiff stop between two masses is not touched at first: its columns are missing in the first pattern."""
    model = da.EquationsOfMotion(
        p=["l", "q"], mass=[1.0, 1.0],
        force=lambda s: [-s.l - 1e6 * np.maximum(s.l - s.q, 0.0), -s.q + 1e6 * np.maximum(s.l - s.q, 0.0)],
    )  # fmt: skip
    method = da.Dassl(jacobian=da.GroupedDifferences(pattern="estimated"))
    stepper = stepper_of(method, model, 1e-7, max_steps=100_000)
    known, groups = [], []
    for end in (0.5, 3.0):
        if end == 0.5:
            stepper.start(0.0, np.array([-1.0, 0.5, 2.0, 0.0]), np.array([2.0, 0.0, 1.0, -0.5]), end, None)
        else:
            stepper.state.set(t_end=end)
        while stepper.t < end:
            stepper.advance()
            stepper.collect()
        known.append(stepper.differences.j_on.copy())
        groups.append(int(stepper.differences.n_groups))
    assert (known[1] >= known[0]).all()
    assert known[1].sum() >= known[0].sum() + 2  # ∂f_l/∂q and ∂f_q/∂l
    assert groups[1] > groups[0]
    exact = da.simulate(model, (0, 3), p0=[-1.0, 0.5], v0=[2.0, 0.0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(stepper.x[:2], exact.p[-1], atol=5e-3)


def test_extended_updates_follow_the_inputs():
    """Springs whose stiffness is an input, and large: ∂F/∂x swings with it."""
    n = 6
    model = da.EquationsOfMotion(
        p=[f"q{i}" for i in range(n)], mass=np.ones(n), inputs={"k": lambda t: 2e4 * (1 + 0.9 * np.sin(3 * t))},
        force=lambda s: -s.k * (s.p - np.sin(s.t)) - 400 * s.v,
    )  # fmt: skip
    stats = {}
    for extended in (False, True):
        strategy = da.Differences(partitioned=True, extended=extended)
        sol = da.simulate(
            model, (0, 10), p0=np.zeros(n), v0=np.ones(n), method=da.Dassl(jacobian=strategy), rtol=1e-6, atol=1e-6
        )
        stats[extended] = sol.stats
    exact = da.simulate(model, (0, 10), p0=np.zeros(n), v0=np.ones(n), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.p[-1], exact.p[-1], atol=1e-4)
    assert stats[True].jacobian_evaluations < 0.5 * stats[False].jacobian_evaluations


def test_odassl_and_implicit_equations_by_differences():
    problem = da.problems.andrews()
    for level in ("velocity", "acceleration"):
        method = da.Odassl(level=level, jacobian=da.GroupedDifferences())
        assert problem.error(problem.simulate(method=method, rtol=1e-8, atol=1e-8)) < 1e-3
    model = da.ImplicitDAE(x=["a", "z"], residual=lambda s: [s.a_dot**3 + s.a_dot + s.z, s.z**3 + s.z - s.a])
    sols = [
        da.simulate(model, (0, 2), x0=[2.0, 1.0], method=da.Dassl(jacobian=j), rtol=1e-8, atol=1e-8)
        for j in (da.Exact(), *STRATEGIES)
    ]
    for sol in sols:
        np.testing.assert_allclose(sol.x[-1], sols[0].x[-1], atol=1e-5)


def test_functions_in_python():
    """A force that cannot be traced: differences run on its residual inside the kernel."""

    def force(s):
        return [-(float(s.x) ** 3)]

    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=force)
    sols = [
        da.simulate(model, (0, 2), p0=[1.0], method=da.Dassl(jacobian=j), rtol=1e-8, atol=1e-8)
        for j in (da.Exact(), da.Differences(), da.GroupedDifferences(pattern="estimated", partitioned=True))
    ]
    for sol in sols:
        np.testing.assert_allclose(sol.p[-1], sols[0].p[-1], atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.GroupedDifferences(pattern="grph"), "did you mean 'graph'"),
        (lambda: da.Differences(extended=True), "needs partitioned=True"),
        (lambda: da.Exact(partitioned=1), "must be True or False"),
        (lambda: da.Exact(extended=True), "no option 'extended'"),
        (lambda: da.Differences(pattern="graph"), "no option 'pattern'"),
        (lambda: da.Dassl(jacobian="exact"), r"must be Exact\(\), Differences\(\)"),
    ],
)
def test_impossible_options(make, message):
    with pytest.raises(da.OptionError, match=message):
        make()


def test_repr():
    assert repr(da.Dassl(jacobian=da.GroupedDifferences(pattern="estimated"))) == (
        "Dassl(jacobian=GroupedDifferences(pattern='estimated'))"
    )


@pytest.mark.parametrize("name", ["andrews", "car_axis", "truck", "motor_pendulum"])
def test_radau5_by_differences(name):
    problem = da.problems.catalogue()[name]()
    for formulation in ("ggl", "index1"):
        exact = problem.simulate(method=da.Radau5(formulation=formulation), rtol=1e-7, atol=1e-7).stats
        for strategy in (da.Differences(), da.GroupedDifferences(), da.GroupedDifferences(pattern="estimated")):
            method = da.Radau5(formulation=formulation, jacobian=strategy)
            sol = problem.simulate(method=method, rtol=1e-7, atol=1e-7)
            assert problem.error(sol) < 3e-4
            assert sol.stats.accepted < 1.3 * exact.accepted + 5
            assert sol.stats.difference_evaluations > sol.stats.jacobian_evaluations
    assert exact.difference_evaluations == 0


@pytest.mark.parametrize("method", [da.Radau5, da.Geoms])
def test_radau_methods_keep_parts_anyway(method):
    with pytest.raises(da.OptionError, match=f"{method.__name__} keeps .* partitioned= has no place"):
        method(jacobian=da.Differences(partitioned=True))
    with pytest.raises(da.OptionError, match="must be Exact"):
        method(jacobian="exact")


@pytest.mark.parametrize("strategy", [da.Differences(), da.GroupedDifferences()], ids=repr)
@pytest.mark.parametrize("name", ["andrews", "slider_crank", "truck", "rolling_disc"])
def test_geoms_by_differences(name, strategy):
    problem, tol = da.problems.catalogue()[name](), 1e-7
    for options in ({}, {"formulation": "index1"}, {"selector": "adaptive"}):
        exact = problem.simulate(method=da.Geoms(**options), rtol=tol, atol=tol)
        sol = problem.simulate(method=da.Geoms(jacobian=strategy, **options), rtol=tol, atol=tol)
        np.testing.assert_allclose(sol.p[-1], exact.p[-1], rtol=tol, atol=tol)
        assert sol.stats.accepted < 1.05 * exact.stats.accepted + 5
        assert sol.max_residual("position") < 1e-9
        assert sol.max_residual("velocity") < 1e-8
        assert sol.stats.difference_evaluations > sol.stats.jacobian_evaluations > 0
        assert exact.stats.difference_evaluations == 0


@pytest.mark.parametrize("name", ["ball_in_ellipse", "motor_pendulum", "heavy_top"])
def test_geoms_by_differences_with_contact_points_force_elements_and_kinematics(name):
    problem = da.problems.catalogue()[name]()
    for selector in ("every", "adaptive"):
        method = da.Geoms(selector=selector, jacobian=da.GroupedDifferences(pattern="estimated"))
        assert problem.error(problem.simulate(method=method, rtol=1e-7, atol=1e-7)) < 3e-5


def test_counters_of_geoms():
    problem = da.problems.andrews()  # 7 positions and 7 velocities; λ is not differenced
    stats = {
        strategy: problem.simulate(method=da.Geoms(jacobian=strategy), rtol=1e-6, atol=1e-6).stats
        for strategy in (da.Differences(), da.GroupedDifferences(), da.GroupedDifferences(pattern="estimated"))
    }
    every, grouped, estimated = stats.values()
    assert every.difference_evaluations == 15 * every.jacobian_evaluations
    assert grouped.accepted == every.accepted  # the same Jacobian to the last bit
    assert grouped.difference_evaluations < 0.7 * every.difference_evaluations
    assert estimated.difference_evaluations < 0.8 * 15 * estimated.jacobian_evaluations


@pytest.mark.parametrize("strategy", [da.Differences(), da.GroupedDifferences(pattern="estimated")], ids=repr)
@pytest.mark.parametrize("form", ["strangeness-free", "index1"])
def test_constraint_jacobians_of_geoms_stay_exact(form, strategy):
    """After one step, with the matrix of its start: what ranks depend on is the exact derivative, to the last bit."""
    problem = da.problems.andrews()
    method = da.Geoms(formulation=form, jacobian=strategy, jacobian_rate=0.9)
    compiled = compile_system(method.formulate(problem.model))
    n, blocks = compiled.system.n, compiled.system.blocks
    stepper = stepper_of(method, problem.model, 1e-6)
    start = problem.simulate(method=da.Geoms()).at(0.01)  # in motion
    x = np.concatenate([start.p, start.v, start.lam])
    stepper.start(0.0, x, np.zeros(n), 1.0, 1e-4)
    stepper.advance()
    assert stepper.counters["jacobian_evaluations"] == 1
    given = stepper.algebra.nonzeros
    exact = compiled.jacobian(0.0, np.concatenate([x, np.zeros(n)]), problem.model.theta())
    rows, columns = compiled.jacobian_pattern
    by_state = (columns < 14) & np.isin(rows, np.concatenate([blocks.dynamic, blocks.F1]))
    kept = np.concatenate([~by_state, np.ones(len(compiled.leading_pattern[0]), bool)])
    assert np.array_equal(given[kept], exact[kept])
    assert not np.array_equal(given[~kept], exact[~kept])
    scale = np.array([np.abs(exact[: len(rows)][rows == row]).max() for row in rows])[by_state]
    np.testing.assert_allclose(given[~kept] / scale, exact[~kept] / scale, atol=1e-3)


def test_geoms_by_differences_with_redundant_constraints_and_singular_positions():
    bricard = da.problems.bricard(t_end=1.0)
    method = da.Geoms(algebraic="svd", jacobian=da.Differences())
    assert bricard.error(bricard.simulate(method=method, rtol=1e-8, atol=1e-8)) < 1e-6
    with pytest.raises(da.RedundantConstraints):
        bricard.simulate(method=da.Geoms(jacobian=da.Differences()))
    chain = da.problems.four_bar_chain(t_end=1.0)
    ends = [
        chain.simulate(method=da.Geoms(singular="step over", jacobian=j), rtol=1e-7, atol=1e-7).p[-1]
        for j in (da.Exact(), da.GroupedDifferences())
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


def test_geoms_by_differences_of_functions_in_python():
    """Forces and constraints that cannot be traced; what they raise is raised again."""
    limit = np.inf

    def force(s):
        return [0.0, -9.81 - 0.1 * abs(float(s.y_dot))]

    def circle(s):
        if float(s.x) < limit:
            return [float(s.x) ** 2 + float(s.y) ** 2 - 1.0]
        raise ZeroDivisionError("too far")

    with pytest.warns(da.UntraceableWarning):
        models = [
            da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=force, holonomic=holonomic)
            for holonomic in (circle, lambda s: [s.x**2 + s.y**2 - 1])
        ]
    ends = [
        da.simulate(model, (0, 0.5), p0=[0.6, -0.8], method=da.Geoms(jacobian=j), rtol=1e-6, atol=1e-6).p[-1]
        for model in models
        for j in (da.Exact(), da.Differences())
    ]
    for end in ends:
        np.testing.assert_allclose(end, ends[-1], atol=1e-5)
    limit = 0.7
    with pytest.raises(da.FunctionFailed, match="too far"):
        da.simulate(models[0], (0, 2), p0=[0.6, -0.8], v0=[0.8, 0.6], method=da.Geoms(jacobian=da.Differences()))


def test_profile_of_geoms_by_differences():
    sol = da.problems.andrews().simulate(method=da.Geoms(jacobian=da.Differences()), profile=True)
    assert sol.profile["jacobian"].calls == sol.stats.jacobian_evaluations
    assert sol.profile["residual"].calls == sol.stats.rhs_evaluations + sol.stats.difference_evaluations
