"""Formulations: their structure, and that a solution of the equations of motion satisfies every one of them."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.model.evaluate import PointFunction
from dalembert.regularize import FORMULATIONS, formulate


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", sorted(da.problems.catalogue()))
def test_consistent_values_satisfy_every_formulation(name, formulation):
    problem = da.problems.catalogue()[name]()
    start = da.consistent_initial_values(problem.model, **problem.start())
    system = formulate(problem.model, formulation)
    x, x_dot = system.start(start)
    graph = problem.model.graph
    both = ca.vertcat(system.x, system.x_dot)
    function = ca.Function("F", [graph.t, both, graph.theta], [system.residual, system.constraints])
    residual, constraints = function(0.0, np.concatenate([x, x_dot]), problem.model.theta(0.0))
    scale = 1 + np.abs(x_dot).max() + np.abs(x).max()
    assert np.abs(np.array(residual)).max() < 1e-9 * scale
    assert constraints.numel() == 0 or np.abs(np.array(constraints)).max() < 1e-9


def test_sizes_and_indices():
    model = da.problems.andrews().model
    sizes = {f: formulate(model, f).n for f in FORMULATIONS}
    assert sizes == dict(index1=20, index2=20, index3=20, ggl=26, baumgarte=20, overdetermined=20, overdetermined2=20)
    assert formulate(model, "overdetermined").constraints.numel() == 12
    assert formulate(model, "index3").index.tolist() == [1] * 7 + [2] * 7 + [3] * 6
    assert formulate(model, "index2").index.tolist() == [1] * 14 + [2] * 6


def test_positions_are_eliminated_from_newton_systems():
    """p' = v lets Newton's matrices shrink by n_p; of Euler parameters one can go, since e0' does not read e0."""
    assert len(formulate(da.problems.andrews().model, "index2").eliminable()) == 7
    assert len(formulate(da.problems.andrews().model, "ggl").eliminable()) == 7
    system = formulate(da.problems.heavy_top().model, "index2")
    assert [system.variables[column] for _, column in system.eliminable()] == ["x", "y", "z", "e0"]


def test_eliminated_rows_do_not_read_eliminated_variables():
    model = da.QuasiLinearDAE(x=["a", "b", "c"], rhs=lambda s: [s.b, s.c, -s.a])
    system = formulate(model)
    pairs = system.eliminable()
    columns = {column for _, column in pairs}
    rows, reads = system.jacobian.sparsity().get_triplet()
    assert pairs
    assert not any(row in {r for r, _ in pairs} and column in columns for row, column in zip(rows, reads, strict=True))


def test_leading_matrix_is_found_constant():
    assert formulate(da.problems.car_axis().model, "index2").leading_is_constant
    assert not formulate(da.problems.andrews().model, "index2").leading_is_constant


def test_formulations_are_built_once_and_unknown_ones_suggest():
    model = da.problems.pendulum().model
    assert formulate(model, "ggl") is formulate(model, "ggl")
    assert formulate(model, "baumgarte", alpha=1) is not formulate(model, "baumgarte", alpha=2)
    with pytest.raises(da.OptionError, match="did you mean 'index2'"):
        formulate(model, "index-2")


def test_overdetermined_form_contains_all_constraints_and_invariants():
    system = formulate(da.problems.pendulum(energy=True).model, "overdetermined")
    assert system.constraint_names == (
        "holonomic constraint 'lam1'",
        "holonomic constraint 'lam1' on velocity level",
        "invariant 1",
    )


def test_point_function_many_agrees_with_single_calls():
    model = da.problems.pendulum().model
    hidden = da.hidden_constraints(model)
    function = PointFunction(model, [hidden.g_I, hidden.g])
    rng = np.random.default_rng(1)
    values = {k: rng.normal(size=(model.graph.size(k), 4)) for k in model.graph.vectors}
    t, theta = np.arange(4.0), np.tile(model.theta(0.0)[:, None], 4)
    many = function.many(t, values, theta)
    for i in range(4):
        single = function(t[i], {k: v[:, i] for k, v in values.items()}, theta[:, i])
        for a, b in zip(many, single, strict=True):
            np.testing.assert_array_equal(a[i], b.ravel())
