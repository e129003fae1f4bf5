"""Problems that are no equations of motion: circuits, a reactor, a robot, chains."""

import copy
import dataclasses

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import problems
from dalembert.errors import OptionError
from dalembert.kept import Kept
from dalembert.problems.dae.chains import exact_ladder
from dalembert.problems.dae.reactor import reactor_state, temperature
from dalembert.problems.dae.robot import exact_robot

VARIANTS = {
    "transistor_amplifier": [{}],
    "miller_integrator": [{}, {"R_load": 50.0, "t_end": 0.013}],
    "bridge_rectifier": [{}, {"node": True}],
    "current_transformer": [{}],
    "batch_reactor": [{}, {"jacket": True}],
    "elastic_robot": [{}, {"load": False}],
    "integrator_chain": [{"N": N} for N in range(1, 9)],
    "rc_ladder": [{}, {"source": "node"}, {"n": 4, "source": "node"}],
    "pendulum_written_out": [{}, {"hidden": 1}, {"hidden": 0}],
    "car_axis_written_out": [{}, {"hidden": 1}, {"hidden": 0}],
}
EVERY = [(name, options) for name, some in VARIANTS.items() for options in some]


def equations(model):
    """E, k and h as functions of t and x, by CasADi."""
    graph, functions = model.graph, model.graph.functions
    sx = [functions[role].sx if role in functions else ca.SX(0, 1) for role in ("leading", "rhs", "constraints")]
    function = ca.Function("dae", [graph.t, graph.symbol["x"], graph.theta], [ca.densify(part) for part in sx])
    return lambda t, x: tuple(np.array(part) for part in function(t, x, model.theta(t)))


def violation(model, t, x, x_dot):
    """Largest |E x' - k| and |h|, each by the size of its terms."""
    E, k, h = equations(model)(t, x)
    size = 1 + np.abs(E) @ np.abs(x_dot) + np.abs(k.ravel())
    return max(np.max(np.abs(E @ x_dot - k.ravel()) / size), np.max(np.abs(h), initial=0.0))


def algebraic(model, t, x):
    """Largest residual of the equations without derivatives: the combinations of rows in which E vanishes, and h."""
    E, k, h = equations(model)(t, x)
    U, sizes, _ = np.linalg.svd(E)
    rank = int(np.sum(sizes > 1e-9 * sizes[0])) if sizes.size else 0
    return max(np.max(np.abs(U[:, rank:].T @ k), initial=0.0), np.max(np.abs(h), initial=0.0))


def test_catalogue_is_apart_and_complete():
    catalogue = problems.catalogue_quasi_linear()
    assert set(catalogue) == set(VARIANTS)
    others = problems.catalogue() | problems.catalogue_large() | problems.catalogue_singular()
    assert not set(catalogue) & set(others)
    for name, make in catalogue.items():
        assert getattr(problems, name) is make
        assert make().name == name


@pytest.mark.parametrize(("name", "options"), EVERY)
def test_start_and_reference_satisfy_the_equations_without_derivatives(name, options):
    problem = getattr(problems, name)(**options)
    assert problem.model.untraceable == {}
    assert problem.reference.t == problem.t_end
    assert algebraic(problem.model, 0.0, problem.x0) < 1e-12
    x = problem.reference.x
    if not np.isnan(x).any():
        assert algebraic(problem.model, problem.t_end, x) < 1e-11 * (1 + np.abs(x).max())


# -- exact solutions -----------------------------------------------------------------------------------------------


def central(exact, t, h=1e-4):
    """x' from values around t; the error is of order 6."""
    a, b, c = (exact(t + k * h) - exact(t - k * h) for k in (1, 2, 3))
    return (45 * a - 9 * b + c) / (60 * h)


@pytest.mark.parametrize("load", [True, False])
def test_robot_is_where_its_equations_say(load):
    model = problems.elastic_robot(load=load).model
    for t in (0.1, 0.7, 1.9):
        x_dot = central(lambda t: exact_robot(t, load), t)
        assert violation(model, t, exact_robot(t, load), x_dot) < 1e-9


@pytest.mark.parametrize("given", [True, False])
def test_ladder_is_where_its_equations_say(given):
    model = problems.rc_ladder(12, source="node" if given else "resistor").model
    for t in (0.02, 0.3):
        x_dot = central(lambda t: exact_ladder(6, t, given), t)
        assert violation(model, t, exact_ladder(6, t, given), x_dot) < 1e-9


@pytest.mark.parametrize("N", [1, 2, 5, 9])
def test_integrators_are_where_their_equations_say(N):
    model = problems.integrator_chain(N).model

    def exact(t):
        return problems.integrator_chain(N, t_end=t).reference.x

    assert violation(model, 0.8, exact(0.8), central(exact, 0.8)) < 1e-10


def test_integrator_amplifier_is_where_its_equations_say():
    model = problems.miller_integrator().model

    def exact(t):
        return problems.miller_integrator(t_end=t).reference.x

    assert violation(model, 0.003, exact(0.003), central(exact, 0.003, 1e-5)) < 1e-10


# -- reference values of our own -----------------------------------------------------------------------------------


@pytest.mark.parametrize("jacket", [True, False])
def test_reactor_follows_from_its_concentrations(jacket):
    """The two that are left are integrated by other means; the rest follows, as the equations confirm."""

    def rates(t, y):
        first = 4 * np.exp(5000 * (1 / 320 - 1 / temperature(t))) * y[0]
        second = 0.6 * np.exp(7000 * (1 / 320 - 1 / temperature(t))) * y[1]
        return [-first, first - second]

    run = solve_ivp(rates, (0, 1), [1, 0], method="DOP853", rtol=1e-13, atol=1e-15, dense_output=True)
    problem = problems.batch_reactor(jacket=jacket)
    np.testing.assert_allclose(reactor_state(1.0, *run.y[:, -1], jacket), problem.reference.x, rtol=1e-11)

    def state(t):
        return np.array(reactor_state(t, *run.sol(t), jacket))

    assert violation(problem.model, 0.4, state(0.4), central(state, 0.4, 1e-3)) < 1e-6  # of the interpolation


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("miller_integrator", {}),
        ("bridge_rectifier", {"node": True}),
        ("bridge_rectifier", {}),
        ("current_transformer", {}),
        ("batch_reactor", {}),
        ("integrator_chain", {"N": 2}),
        ("rc_ladder", {}),
        ("rc_ladder", {"source": "node"}),
    ],
)
def test_the_equations_as_they_stand_reach_the_reference(name, options):
    """Index 1 and 2, by a method that takes them without any preparation."""
    problem = getattr(problems, name)(**options)
    given = as_given(problem)
    for tolerance, allowed in ((1e-6, 1e-5), (1e-10, 5e-9)):
        solution = given.simulate(method=da.Radau5(), rtol=tolerance, atol=tolerance)
        assert problem.error(solution) < allowed


def as_given(problem):
    """The problem with a model of which nothing is derived."""
    model = copy.copy(problem.model)
    model.hidden, model.kept = "given", Kept()
    return dataclasses.replace(problem, model=model)


def test_balances_at_both_nodes_of_a_capacitor_are_as_good_as_their_sum():
    """Their derivatives are the same up to the sign, which the structure alone cannot show."""
    for node in (False, True):
        problem = problems.bridge_rectifier(node=node)
        assert problem.model.index == 2
        assert problem.model.structure.degrees_of_freedom == 1
        assert problem.error(problem.simulate(method=da.Qualidaes(), rtol=1e-8, atol=1e-8)) < 1e-6


def test_the_bridge_charges_to_the_peak_and_currents_balance():
    problem = problems.bridge_rectifier()
    sol = as_given(problem).simulate(method=da.Radau5(), rtol=1e-8, atol=1e-8)
    assert 3.5 < sol["u_plus"].max() < 5.0
    np.testing.assert_allclose(sol["u_a"] + sol["u_b"], sol["u_plus"], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        ("integrator_chain", {"N": 0}),
        ("integrator_chain", {"N": 2.5}),
        ("rc_ladder", {"n": 7}),
        ("rc_ladder", {"n": 2}),
        ("rc_ladder", {"source": "battery"}),
        ("miller_integrator", {"C": 0.0}),
        ("pendulum_written_out", {"g": -1.0}),
        ("pendulum_written_out", {"hidden": 3}),
        ("car_axis_written_out", {"hidden": -1}),
    ],
)
def test_impossible_arguments_are_refused(make, options):
    with pytest.raises(OptionError, match=make):
        getattr(problems, make)(**options)
