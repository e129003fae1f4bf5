"""What users may rely on with equations as they are written down, of whatever index: figures on known problems."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.problems import naive
from dalembert.regularize.structure import regularized

#: of the QUALIDAES paper, section 5, at tolerance 1e-6: 2-norm over all that is listed there
PUBLISHED_PENDULUM, PUBLISHED_CAR_AXIS = 1.9097e-5, 5.8529e-5
#: gravity in the paper
GRAVITY = 13.7503716373295


def levels_at(problem, solution):
    """The constraints of all levels at the points of a solution whose derivatives need no unknowns of their own."""
    form, graph = regularized(problem.model), problem.model.graph
    assert not form.y.numel()
    function = ca.Function("levels", [graph.t, graph.symbol["x"], graph.theta], [ca.densify(form.constraints)])
    theta = np.column_stack([problem.model.theta(t) for t in solution.t])
    return np.array(function(solution.t[None, :], solution.x.T, theta))


def distance(solution, reference):
    """2-norm of the difference at the end, where the reference is known."""
    difference = solution.x[-1] - reference.x
    return float(np.linalg.norm(difference[~np.isnan(difference)]))


# -- published errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "problem",
    [
        problems.pendulum_written_out(g=GRAVITY),
        problems.pendulum_written_out(g=GRAVITY, hidden=1),
        naive(problems.pendulum(g=GRAVITY)),
    ],
    ids=["written out", "to level 1", "naive"],
)
@pytest.mark.parametrize("method", [da.Qualidaes(), "auto"], ids=["qualidaes", "auto"])
def test_pendulum_is_at_least_as_accurate_as_published(problem, method):
    solution = problem.simulate(method=method, rtol=1e-6, atol=1e-6)
    assert distance(solution, problem.reference) <= PUBLISHED_PENDULUM


@pytest.mark.parametrize(
    "problem",
    [
        problems.car_axis_written_out(),
        problems.car_axis_written_out(hidden=1),
        problems.car_axis_written_out(hidden=0),
        naive(problems.car_axis()),
    ],
    ids=["written out", "to level 1", "to level 0", "naive"],
)
@pytest.mark.parametrize("method", [da.Qualidaes(), "auto"], ids=["qualidaes", "auto"])
def test_car_axis_is_at_least_as_accurate_as_published(problem, method):
    solution = problem.simulate(method=method, rtol=1e-6, atol=1e-6)
    assert distance(solution, problem.reference) <= PUBLISHED_CAR_AXIS


# -- mechanics without any hint ------------------------------------------------------------------------------------

#: end times where that of the problem takes long, and how often the tolerance the error may be
CATALOGUE = problems.catalogue()


@pytest.mark.parametrize("name", CATALOGUE)
def test_naive_equations_give_the_same_solution(name):
    """As the equations of motion to the tolerance: both errors, compared with Geoms at a tighter one."""
    problem = CATALOGUE[name]()
    twin, t_end = naive(problem), min(problem.t_end, 5.0)
    exact = da.simulate(problem.model, (0, t_end), **problem.start(), method=da.Geoms(), rtol=1e-11, atol=1e-11)
    errors = []
    for subject, parts in ((problem, None), (twin, twin.parts)):
        method = da.Geoms() if parts is None else da.Qualidaes()
        run = da.simulate(subject.model, (0, t_end), **subject.start(), method=method, rtol=1e-8, atol=1e-8)
        p, v = (run.p, run.v) if parts is None else (parts(run.x)["p"], parts(run.x)["v"])
        errors.append(max(mixed(p[-1], exact.p[-1]), mixed(v[-1], exact.v[-1])))
    assert errors[1] <= 10 * errors[0] + 1e-8


def mixed(value, reference):
    return float(np.max(np.abs(value - reference) / (1 + np.abs(reference))))


@pytest.mark.parametrize("name", CATALOGUE)
def test_hidden_constraints_are_those_of_the_equations_of_motion(name):
    """Level by level, at random points near the start, to rounding."""
    problem = CATALOGUE[name]()
    twin = naive(problem)
    form, hidden, graph = regularized(twin.model), da.hidden_constraints(problem.model), twin.model.graph
    rows = [ca.densify(level.rows) for level in form.levels]
    function = ca.Function("levels", [graph.t, graph.symbol["x"], form.y, graph.theta], rows)
    n_g, n_h = len(problem.model.names("lam")), len(problem.model.names("mu"))
    holonomic = len(twin.model.names("x")) - n_g - n_h + np.arange(n_g)  # numbers of their equations
    nonholonomic = holonomic[-1:].max(initial=len(twin.model.names("x")) - n_h - 1) + 1 + np.arange(n_h)
    rng, t = np.random.default_rng(3), 0.2
    for _ in range(3):
        x = twin.x0 + 0.1 * rng.uniform(-1, 1, len(twin.x0))
        state = twin.parts(x)
        given = {kind: state[kind] for kind in ("p", "v", "r", "w", "s", "lam", "mu")}
        expected = [
            (1, holonomic, hidden.velocity(state["p"], state["v"], t=t, s=state["s"])),
            (2, holonomic, hidden.acceleration(t=t, **given)),
            (1, nonholonomic, hidden.nonholonomic_acceleration(t=t, **given)),
        ]
        found = function(t, x, derivatives(form, twin, t, x), twin.model.theta(t))
        found = [found] if len(rows) == 1 else found
        for level, equations, values in expected:
            if not len(equations):
                continue
            ours = dict(zip(form.levels[level].equations.tolist(), np.array(found[level]).ravel(), strict=True))
            ours = np.array([ours[i] for i in equations.tolist()])
            np.testing.assert_allclose(ours, values, rtol=1e-10, atol=1e-10 * (1 + np.abs(values).max()))


def derivatives(form, twin, t, x):
    """Unknown derivatives y: those that make the other rows zero, which are linear in them."""
    if not form.y.numel():
        return np.zeros(0)
    graph, n_s = twin.model.graph, len(twin.origin.model.names("s"))
    assert n_s
    contact = len(twin.model.names("x")) - len(twin.origin.model.names("lam")) - n_s + np.arange(n_s)
    chosen = [
        level.rows[k]
        for number, level in enumerate(form.levels)
        for k, equation in enumerate(level.equations)
        if number and equation in contact
    ]
    rows = ca.vertcat(*chosen)
    function = ca.Function("y", [graph.t, graph.symbol["x"], form.y, graph.theta], [rows, ca.jacobian(rows, form.y)])
    y = np.zeros(form.y.numel())
    for _ in range(3):  # the second derivative depends on the first
        residual, jacobian = (np.array(part) for part in function(t, x, y, twin.model.theta(t)))
        y = y - np.linalg.solve(jacobian, residual.ravel())
    return y


def test_naive_points_on_a_sphere_keep_all_constraints():
    twin = naive(problems.fekete(20, t_end=20.0))
    solution = twin.simulate(method=da.Qualidaes(), rtol=1e-6, atol=1e-6)
    assert np.abs(levels_at(twin, solution)).max() < 1e-8


@pytest.mark.slow
def test_naive_points_on_a_sphere_keep_all_constraints_until_they_are_at_rest():
    twin = naive(problems.fekete())
    solution = twin.simulate(method=da.Qualidaes(), rtol=1e-6, atol=1e-6)
    assert np.abs(levels_at(twin, solution)).max() < 1e-8
    assert twin.error(solution) < 1e-5


# -- index ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("N", range(2, 9))
def test_integrators_driven_backwards(N):
    problem = problems.integrator_chain(N)
    assert problem.model.index == N
    solution = problem.simulate(rtol=1e-8, atol=1e-8)
    assert problem.error(solution) < 1e-8
    middle = problems.integrator_chain(N, t_end=0.77).reference.x
    np.testing.assert_allclose(solution.at(0.77).x, middle, atol=1e-6)


@pytest.mark.parametrize("load", [True, False])
def test_robot_on_a_given_path(load):
    problem = problems.elastic_robot(load=load)
    assert problem.model.index == 5
    for tolerance, allowed in ((1e-6, 2e-5), (1e-9, 2e-8)):
        assert problem.error(problem.simulate(rtol=tolerance, atol=tolerance)) < allowed


@pytest.mark.parametrize(
    ("problem", "index"),
    [
        (problems.transistor_amplifier(), 1),
        (problems.miller_integrator(), 2),
        (problems.bridge_rectifier(), 2),
        (problems.bridge_rectifier(node=True), 2),
        (problems.current_transformer(), 2),
        (problems.batch_reactor(), 2),
        (problems.batch_reactor(jacket=True), 3),
        (problems.rc_ladder(), 1),
        (problems.rc_ladder(source="node"), 2),
    ],
    ids=lambda given: getattr(getattr(given, "model", None), "name", str(given)),
)
def test_circuits_and_reactors(problem, index):
    assert problem.model.index == index
    for tolerance, allowed in ((1e-6, 1e-5), (1e-9, 2e-8)):
        assert problem.error(problem.simulate(method=da.Qualidaes(), rtol=tolerance, atol=tolerance)) < allowed


# -- other methods, other ways to say the same ---------------------------------------------------------------------

#: errors that a method may have at tolerance 1e-7
ALLOWED = {"Qualidaes": 1e-6, "Radau5": 1e-5, "Dassl": 1e-4, "Odassl": 1e-4}


@pytest.mark.parametrize(
    "method", [da.Qualidaes(), da.Radau5(), da.Dassl(), da.Odassl()], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize(
    "problem",
    [
        problems.batch_reactor(jacket=True),
        problems.elastic_robot(),
        problems.integrator_chain(6),
        problems.current_transformer(),
        problems.rc_ladder(40, source="node"),
        naive(problems.rolling_disc()),
        naive(problems.four_bar_linkage()),
        naive(problems.motor_pendulum()),
    ],
    ids=lambda problem: problem.model.name,
)
def test_every_method_takes_the_regularized_equations(problem, method):
    solution = problem.simulate(method=method, rtol=1e-7, atol=1e-7)
    assert problem.error(solution) < ALLOWED[type(method).__name__]


def implicit(problem):
    """A `QuasiLinearDAE` as F(t, x, x') = 0, k - E x' = 0."""
    graph = problem.model.graph
    E, k = (graph.functions[role].sx for role in ("leading", "rhs"))
    function = ca.Function(
        "F", [graph.t, graph.symbol["x"], graph.dx, graph.parameter_symbols], [k - ca.mtimes(E, graph.dx)]
    )
    parameters = list(problem.model.parameters)
    names = [f"unknown{k}" for k in range(len(problem.x0))]  # x and x_dot may both be unknowns of the problem

    def residual(s):
        given = ca.vertcat(*(s[name].sx for name in parameters)) if parameters else ca.SX(0, 1)
        columns = [[s[name + end].sx for name in names] for end in ("", "_dot")]
        return function(s.t.sx, *(ca.vertcat(*column) for column in columns), given)

    return da.ImplicitDAE(x=names, residual=residual, parameters=problem.model.parameters)


@pytest.mark.parametrize(
    "problem",
    [problems.elastic_robot(), problems.current_transformer(), problems.batch_reactor(jacket=True),
     naive(problems.car_axis()), problems.integrator_chain(4)],
    ids=lambda problem: problem.model.name,
)  # fmt: skip
def test_implicit_equations_are_as_good(problem):
    model = implicit(problem)
    assert model.index == problem.model.index
    tolerances = {"rtol": 1e-8, "atol": 1e-8}
    one = da.simulate(model, (0, problem.t_end), **problem.start(), **tolerances)
    other = problem.simulate(**tolerances)
    assert problem.error(one) < 3 * problem.error(other) + 1e-6


@pytest.mark.parametrize(
    "constraint",
    [
        lambda s: np.sqrt(s.x**2 + s.y**2) - 1,
        lambda s: 1e4 * (s.x**2 + s.y**2 - 1),
        lambda s: np.log(s.x**2 + s.y**2),
        lambda s: s.x * s.x**3 / s.x**2 + s.y**2 - 1 + 0 * s.vx,
    ],
)
def test_the_same_circle_in_other_words(constraint):
    model = da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "pull"], leading=[1, 1, 1, 1, 0],
        rhs=lambda s: [s.vx, s.vy, -s.pull * s.x, -s.pull * s.y - 9.81, constraint(s)],
    )  # fmt: skip
    assert model.index == 3
    reference = problems.pendulum(g=9.81, start=1.0, t_end=3.0).reference
    start = [np.sin(1.0), -np.cos(1.0), 0, 0, 0]
    solution = da.simulate(model, (0, 3), x0=start, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(solution.x[-1, :4], [*reference.p, *reference.v], atol=1e-6)
