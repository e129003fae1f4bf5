"""Naive DAEs of any index: chains of constraints are found, all methods agree, constraints of all levels hold."""

import casadi as ca
import numpy as np
import pytest
from steps import fixed_steps, orders

import dalembert as da
from dalembert.model.expression import to_sx
from dalembert.problems import naive
from dalembert.regularize.projected import Blocks
from dalembert.regularize.structure import regularized
from dalembert.regularize.structure.chain import Chain

#: options that are different linear algebras of one method
ALGEBRAS = [
    da.Qualidaes(),
    da.Qualidaes(algebraic="qr"),
    da.Qualidaes(algebraic="svd"),
    da.Qualidaes(differential="qr"),
    da.Qualidaes(linear_solver=da.Sparse()),
]
MECHANICS = ["andrews", "car_axis", "four_bar_linkage", "heavy_top", "motor_pendulum", "sleigh", "truck"]


def levels(model, t, x):
    """Residuals of the constraints of all levels at points of a solution, by level; there must be no other unknowns."""
    form = regularized(model)
    assert not form.y.numel()
    graph = model.graph
    function = ca.Function("h", [graph.t, form.x, graph.theta], [level.rows for level in form.levels])
    values = [function(at, point, model.theta(at)) for at, point in zip(t, x, strict=True)]
    return [max(float(ca.norm_inf(value[k])) for value in values) for k in range(len(form.levels))]


@pytest.mark.parametrize("name", MECHANICS)
def test_mechanics_without_a_hint(name):
    """The steps of Geoms, and its result."""
    problem = da.problems.catalogue()[name]()
    dae = naive(problem)
    own = problem.simulate(method=da.Geoms(), rtol=1e-7, atol=1e-7)
    reference = np.concatenate([own.p[-1], own.v[-1]])
    for method in ALGEBRAS:
        sol = dae.simulate(method=method, rtol=1e-7, atol=1e-7)
        assert abs(sol.stats.accepted - own.stats.accepted) <= 0.1 * own.stats.accepted
        np.testing.assert_allclose(sol.x[-1][: len(reference)], reference, rtol=3e-5, atol=3e-5)
        assert max(levels(dae.model, sol.t, sol.x)) < 1e-8 * (1 + np.abs(sol.x).max())


@pytest.mark.parametrize("name", ["andrews", "car_axis", "four_bar_linkage", "truck"])
@pytest.mark.parametrize("method", [da.Radau5(), da.Dassl(), da.Odassl()])
def test_other_methods_on_the_same_equations(name, method):
    problem = da.problems.catalogue()[name]()
    sol = naive(problem).simulate(method=method, rtol=1e-8, atol=1e-8)
    assert naive(problem).error(sol) < (2e-5 if isinstance(method, da.Radau5) else 3e-4)
    found = levels(naive(problem).model, sol.t[1:], sol.x[1:])
    scale = 1 + np.abs(sol.x).max()
    assert found[0] < 1e-6 * scale
    assert found[1] < 1e-5 * scale


def test_blocks_of_equations_of_motion_are_found():
    """Whatever the order of unknowns and equations, and the scale of constraints."""
    problem = da.problems.andrews()
    plain = naive(problem)
    form = da.Qualidaes().formulate(plain.model)
    assert type(form.blocks) is Blocks
    assert form.blocks.partitioned
    own = plain.simulate(method=da.Qualidaes(), rtol=1e-7, atol=1e-7)
    model, rng = plain.model, np.random.default_rng(3)
    graph = model.graph
    E, k = graph.value("leading"), graph.value("rhs")
    function = ca.Function("parts", [graph.t, graph.symbol["x"], graph.theta], [E, k])
    n = graph.size("x")
    unknowns = rows = rng.permutation(n)  # equations in the order of the unknowns that they belong to
    algebraic = np.diff(E.sparsity().T.colind()) == 0
    times = np.where(algebraic, 10.0 ** rng.uniform(-4, 4, n), 1.0)[rows]

    def part(s, number):
        x = ca.vertcat(*(to_sx(getattr(s, f"z{j}"))[0] for j in range(n)))
        return function(to_sx(s.t)[0], x, ca.DM(model.theta(0.0)))[number]

    mixed = da.QuasiLinearDAE(
        x=[f"z{j}" for j in unknowns],
        leading=lambda s: part(s, 0)[rows.tolist(), unknowns.tolist()],
        rhs=lambda s: ca.DM(times) * part(s, 1)[rows.tolist()],
    )
    found = da.Qualidaes().formulate(mixed)
    assert found.blocks.partitioned
    x0 = np.asarray(plain.x0)[unknowns]
    sol = da.simulate(mixed, (0, plain.t_end), x0=x0, method=da.Qualidaes(), rtol=1e-7, atol=1e-7)
    back = np.empty(n)
    back[unknowns] = sol.x[-1]
    np.testing.assert_allclose(back[:14], own.x[-1][:14], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("N", [2, 3, 5, 8])
@pytest.mark.parametrize("method", [*ALGEBRAS, da.Radau5(), da.Dassl(), da.Odassl()])
def test_nothing_is_left_to_integrate(N, method):
    """Index N: what is between the points must be right as well, though constraints determine the points."""
    problem = da.problems.integrator_chain(N)
    sol = problem.simulate(method=method, rtol=1e-6, atol=1e-6)
    t = np.linspace(0, problem.t_end, 101)
    exact = np.array([np.tile([np.sin(at), np.cos(at), -np.sin(at), -np.cos(at)], 2)[:N] for at in t])
    assert np.abs(sol.x[-1] - exact[-1]).max() < 1e-14
    assert np.abs(sol.at(t).x - exact).max() < 1e-4


@pytest.mark.parametrize("kind", [da.Qualidaes, da.Radau5])
def test_order_of_convergence(kind):
    """Five in positions and velocities, also where the leading matrix changes with the state and mixes equations."""
    model, method, errors = mixed_pendulum(), kind(newton_limit=1e-10, newton_iterations=30, jacobian_rate=1e-14), []
    times = np.linspace(0.1, 1.0, 10)
    references = [da.problems.pendulum(g=9.81, start=np.pi / 2, t_end=t).reference for t in times]
    exact = np.array([[*reference.p, *reference.v] for reference in references])
    for steps in (20, 40, 80):
        sol = fixed_steps(model, 1.0, steps, method, x0=[1, 0, 0, 0, 0])
        errors.append(np.abs(sol.x[steps // 10 :: steps // 10, :4] - exact).max())
    found = orders(np.array(errors))
    assert (found > 4.4).all(), (found, errors)


def mixed_pendulum(**more):
    """A pendulum whose equations are multiplied by a matrix that depends on the state and is not symmetric."""

    def leading(s):
        return [[1, 0.3 * s.y, 0, 0, 0], [-0.2, 1, 0, 0, 0], [0, 0, 1, 0.5 * s.x, 0], [0, 0, -0.4, 2, 0]]

    def rhs(s):
        rate = [s.vx, s.vy, -s.pull * s.x, -s.pull * s.y - 9.81]
        return [sum(a * b for a, b in zip(row, rate, strict=False)) for row in leading(s)]

    given = dict(leading=leading, rhs=rhs, constraints=lambda s: [s.x**2 + s.y**2 - 1])
    return da.QuasiLinearDAE(x=["x", "y", "vx", "vy", "pull"], **{**given, **more})


@pytest.mark.parametrize("method", [*ALGEBRAS, da.Radau5(), da.Dassl(), da.Odassl()])
def test_derivatives_that_no_equation_gives(method):
    """They are unknowns of their own, which results do not show."""
    model = mixed_pendulum()
    sol = da.simulate(model, (0, 5), x0=[1, 0, 0, 0, 0], method=method, rtol=1e-8, atol=1e-8)
    reference = da.problems.pendulum(g=9.81, start=np.pi / 2, t_end=5.0).reference
    assert sol.x.shape[1] == 5
    np.testing.assert_allclose(sol.x[-1][:4], [*reference.p, *reference.v], atol=2e-5)
    x, y, vx, vy, _ = sol.x.T
    assert np.abs(x**2 + y**2 - 1).max() < 1e-7
    assert np.abs(x * vx + y * vy).max() < 1e-6


@pytest.mark.parametrize("hidden", ["auto", "given"])
def test_leading_matrix_that_is_not_symmetric(hidden):
    """All constraints written out: dense and sparse matrices select along E, and agree."""
    model = mixed_pendulum(
        constraints=lambda s: [
            s.x**2 + s.y**2 - 1,
            s.x * s.vx + s.y * s.vy,
            s.vx**2 + s.vy**2 - s.pull - 9.81 * s.y,
        ],
        hidden=hidden,
    )
    ends = []
    for method in ALGEBRAS:
        sol = da.simulate(model, (0, 5), x0=[1, 0, 0, 0, 0], method=method, rtol=1e-8, atol=1e-8)
        assert sol.max_residual("constraints") < 1e-10
        ends.append(sol.x[-1])
    np.testing.assert_allclose(ends, np.tile(ends[0], (len(ends), 1)), atol=1e-5)
    form = da.Qualidaes().formulate(model)
    assert isinstance(form.blocks, Chain)
    if hidden == "given":
        assert form.blocks.selector == "image"
        assert not all(link.definite for link in form.blocks.constraints)


@pytest.mark.parametrize("algebraic", ["lu", "qr", "svd"])
@pytest.mark.parametrize("name", ["car_axis", "andrews"])
def test_without_the_highest_level(name, algebraic):
    """Multipliers of index 2: the steps of Geoms in its formulation of index 1."""
    problem = da.problems.catalogue()[name]()
    form = regularized(naive(problem).model)
    graph = form.model.graph
    h = ca.Function("h", [graph.t, form.x, graph.theta], [ca.vertcat(form.levels[0].rows, form.levels[1].rows)])
    parts = ca.Function("parts", [graph.t, form.x, graph.theta], [form.E, form.k])
    theta = ca.DM(form.model.theta(0.0))
    names = form.model.names("x")

    def at(s):
        return to_sx(s.t)[0], ca.vertcat(*(to_sx(getattr(s, name))[0] for name in names)), theta

    model = da.QuasiLinearDAE(
        x=names,
        leading=lambda s: parts(*at(s))[0],
        rhs=lambda s: parts(*at(s))[1],
        constraints=lambda s: h(*at(s)),
        hidden="given",
    )
    own = problem.simulate(method=da.Geoms(formulation="index1", algebraic=algebraic), rtol=1e-7, atol=1e-7)
    x0 = np.concatenate([own.p[0], own.v[0], own.lam[0]])
    method = da.Qualidaes(algebraic=algebraic, initial_values="trust")
    assert (method.formulate(model).index[-own.lam.shape[1] :] == 2).all()
    sol = da.simulate(model, (0, problem.t_end), x0=x0, method=method, rtol=1e-7, atol=1e-7)
    assert abs(sol.stats.accepted - own.stats.accepted) <= 0.05 * own.stats.accepted
    np.testing.assert_allclose(sol.x[-1][: own.p.shape[1]], own.p[-1], rtol=1e-5, atol=1e-5)


def test_no_drift_in_the_long_run():
    dae = naive(da.problems.pendulum(t_end=300.0))
    sol = dae.simulate(method=da.Qualidaes(), rtol=1e-6, atol=1e-6)
    assert max(levels(dae.model, sol.t, sol.x)) < 1e-8


@pytest.mark.parametrize("invariants", ["project", "impose", "ignore"])
def test_invariants(invariants):
    """A constraint that follows from none of the others, and stays zero: the energy of an oscillator."""
    model = da.QuasiLinearDAE(
        x=["q", "w"],
        rhs=lambda s: [s.w, -np.sin(s.q)],
        constraints=lambda s: [0.5 * s.w**2 - np.cos(s.q) + np.cos(2.0)],
    )
    # imposed, it leaves nothing to integrate and is singular where the motion turns
    t_end = 1.0 if invariants == "impose" else 100.0
    method = da.Qualidaes(invariants=invariants)
    x0 = [0.0, np.sqrt(2 * (1 - np.cos(2.0)))]
    sol = da.simulate(model, (0, t_end), x0=x0, method=method, rtol=1e-4, atol=1e-4)
    drift = np.abs(0.5 * sol["w"] ** 2 - np.cos(sol["q"]) + np.cos(2.0)).max()
    assert drift > 1e-5 if invariants == "ignore" else drift < 1e-6  # corrections stop at 1e-3 of the tolerance


def test_a_singular_position_is_named():
    """A four-bar linkage that can fold flat: both rods lie along one line there."""
    model = da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "left", "right"],
        leading=np.eye(6)[:4],
        rhs=lambda s: [s.vx, s.vy, -s.left * s.x - s.right * (s.x - 2), 1.0 - s.left * s.y - s.right * s.y + 0 * s.x],
        constraints=lambda s: [s.x**2 + s.y**2 - (1 + 0.5 * (1 - s.t)) ** 2, (s.x - 2) ** 2 + s.y**2 - 1],
    )
    method = da.Qualidaes(initial_values="correct")
    with pytest.raises((da.SingularConfiguration, da.RedundantConstraints, da.StepSizeTooSmall), match="constraint"):
        da.simulate(model, (0, 2), x0=[1.4, 0.6, 0, 0, 0, 0], method=method, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_matter(factor):
    """Multipliers and constraints in other units, with tolerances in these units."""

    def model(c):
        return da.QuasiLinearDAE(
            x=["x", "y", "vx", "vy", "pull"],
            leading=np.eye(5)[:4],
            rhs=lambda s: [s.vx, s.vy, -s.pull / c * s.x, -s.pull / c * s.y - 9.81],
            constraints=lambda s: [c * (s.x**2 + s.y**2 - 1)],
        )  # fmt: skip

    def run(c):
        atol = {"x": 1e-8, "y": 1e-8, "vx": 1e-8, "vy": 1e-8, "pull": 1e-8 * c}
        return da.simulate(model(c), (0, 5), x0=[1, 0, 0, 0, 0], method=da.Qualidaes(), rtol=1e-8, atol=atol)

    one, other = run(1.0), run(factor)
    assert abs(one.stats.accepted - other.stats.accepted) <= 0.05 * one.stats.accepted
    np.testing.assert_allclose(other.x[-1][:4], one.x[-1][:4], atol=1e-6)


@pytest.mark.parametrize("source", ["resistor", "node"])
def test_many_unknowns(source):
    problem = da.problems.rc_ladder(2000, source=source)
    form = da.Qualidaes().formulate(problem.model)
    assert form.blocks.bordered
    sol = problem.simulate(method=da.Qualidaes(), rtol=1e-6, atol=1e-6)
    assert problem.error(sol) < 1e-5


@pytest.mark.parametrize("method", [da.Qualidaes(), da.Radau5()])
def test_tolerances_of_the_model_alone(method):
    """Arrays have its unknowns; what a form has besides takes tolerances in the middle of these."""
    model, options = mixed_pendulum(), dict(x0=[1, 0, 0, 0, 0], method=method, rtol=1e-7)
    one = da.simulate(model, (0, 1), atol=1e-7, **options)
    array = da.simulate(model, (0, 1), atol=np.full(5, 1e-7), **options)
    assert array.stats.accepted == one.stats.accepted
    named = da.simulate(model, (0, 1), atol=dict.fromkeys(model.names("x"), 1e-07), **options)
    assert named.stats.accepted == one.stats.accepted
    with pytest.raises(da.OptionError, match="the 5 unknowns are x, y, vx, vy, pull"):
        da.simulate(model, (0, 1), atol=np.full(6, 1e-7), **options)


def test_derivatives_that_occur_nonlinearly():
    """a' + a'³ = −a: nothing is hidden, and the derivative an unknown of its own."""
    model = da.ImplicitDAE(x=["a", "b"], residual=lambda s: [s.a_dot + s.a_dot**3 + s.b, s.b - s.a])
    ends = [
        da.simulate(model, (0, 1), x0=[1, 1], method=method, rtol=1e-9, atol=1e-9).x[-1]
        for method in (da.Qualidaes(), da.Dassl())
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


@pytest.mark.parametrize("jacobian", [da.Differences(), da.GroupedDifferences()])
def test_differences(jacobian):
    problem = da.problems.elastic_robot()
    sol = problem.simulate(method=da.Qualidaes(jacobian=jacobian), rtol=1e-7, atol=1e-7)
    assert problem.error(sol) < 1e-5
