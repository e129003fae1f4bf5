"""Mechanical problems as DAEs of first order, with nothing differentiated."""

import casadi as ca
import numpy as np
import pytest
from index1 import Index1

import dalembert as da
from dalembert import problems
from dalembert.errors import OptionError
from dalembert.problems import naive

MECHANICAL = problems.catalogue() | problems.catalogue_large() | problems.catalogue_singular()


def evaluated(model, t, x):
    """E and k of a DAE."""
    graph = model.graph
    sx = [ca.densify(graph.functions[role].sx) for role in ("leading", "rhs")]
    values = ca.Function("dae", [graph.t, graph.symbol["x"], graph.theta], sx)(t, x, model.theta(t))
    return tuple(np.array(value) for value in values)


@pytest.mark.parametrize("name", MECHANICAL)
def test_every_mechanical_problem_has_a_naive_form(name):
    problem = MECHANICAL[name]()
    twin = naive(problem)
    names = [variable for kind in ("p", "v", "r", "w", "s", "lam", "mu") for variable in problem.model.names(kind)]
    assert list(twin.model.names("x")) == names
    assert twin.origin is problem
    assert twin.model.untraceable == {}
    assert twin.model.parameters.keys() == problem.model.parameters.keys()
    assert twin.t_end == problem.t_end
    parts = twin.parts(twin.x0)
    for kind in "pvrws":
        given = getattr(problem, f"{kind}0")
        np.testing.assert_array_equal(parts[kind], np.zeros(len(parts[kind])) if given is None else given)
    assert not parts["lam"].any()


@pytest.mark.parametrize("name", problems.catalogue())
def test_the_equations_are_those_of_motion(name):
    """Accelerations and multipliers of another implementation satisfy them, where forces and constraints are random."""
    problem = MECHANICAL[name]()
    twin, oracle = naive(problem), Index1(problem)
    rng = np.random.default_rng(5)
    t, y = 0.3, oracle.y0 * (1 + 0.1 * rng.uniform(-1, 1, len(oracle.y0)))
    a, multipliers = oracle.accelerations(t, y)
    x = np.concatenate([y, multipliers])
    E, k = evaluated(twin.model, t, x)
    parts, n_p = oracle.split(y), len(problem.model.names("p"))
    rates = np.concatenate([oracle.rhs(t, y)[:n_p], a])
    rows = slice(0, len(rates))
    left = E[rows, rows] @ rates
    np.testing.assert_allclose(
        left, k[rows, 0], atol=1e-9 * (1 + np.abs(left).max() + np.abs(multipliers).max(initial=0))
    )
    n_r = len(parts["r"])
    residuals = oracle.residuals(t, y)
    largest = max(residuals[level] for level in ("position", "contact", "auxiliary"))
    algebraic = np.abs(k[len(rates) + n_r :, 0])
    assert algebraic.max(initial=0.0) <= 1.001 * max(largest, residuals["velocity"]) + 1e-12
    assert not E[len(rates) + n_r :].any()


def test_references_are_carried_over_and_unknown_entries_are_nan():
    problem = problems.andrews()
    twin = naive(problem)
    assert len(twin.references) == len(problem.references)
    parts = twin.parts(twin.reference.x)
    np.testing.assert_array_equal(parts["p"], problem.reference.p)
    np.testing.assert_array_equal(parts["v"], problem.reference.v)
    assert twin.reference.source == problem.reference.source
    drum = naive(problems.truck())
    assert np.isnan(drum.parts(drum.reference.x)["lam"]).all() == (problems.truck().reference.lam is None)


def test_error_is_that_of_positions_and_velocities():
    twin = naive(problems.pendulum())
    sol = twin.simulate(rtol=1e-8, atol=1e-8)
    parts = twin.parts(sol.x)
    reference = twin.origin.reference
    expected = max(
        np.max(np.abs(parts[kind][-1] - getattr(reference, kind)) / (1 + np.abs(getattr(reference, kind))))
        for kind in "pv"
    )
    assert twin.error(sol) == expected
    with pytest.raises(OptionError, match="ends at t"):
        twin.error(da.simulate(twin.model, (0, 1), **twin.start()))


def test_invariants_are_left_out_or_constraints():
    problem = problems.pendulum(energy=True)
    assert naive(problem).model.n_constraints == 0
    assert naive(problem, invariants=True).model.n_constraints == 1


def test_inputs_and_their_breakpoints_are_taken_over():
    problem = problems.railway_carriage()
    twin = naive(problem)
    assert tuple(twin.model.inputs) == tuple(problem.model.inputs)
    assert twin.model.breakpoints == problem.model.breakpoints


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (problems.transistor_amplifier(), "EquationsOfMotion"),
        (None, "EquationsOfMotion"),
        ("pendulum", "EquationsOfMotion"),
        (problems.bouncing_ball(), "contacts"),
    ],
)
def test_what_has_no_naive_form_is_refused(given, message):
    with pytest.raises(OptionError, match=message):
        naive(given)


def test_native_functions_are_refused():
    with pytest.raises(OptionError, match="native"):
        naive(problems.chain_of_bodies(200))
