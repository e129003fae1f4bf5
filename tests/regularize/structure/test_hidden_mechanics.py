"""Mechanical problems written as plain first-order DAEs: hidden constraints are those of the equations of motion."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import regularized
from naive_forms import naive

PROBLEMS = {**da.problems.catalogue(), **da.problems.catalogue_multibody(), **da.problems.catalogue_singular()}


def contact_points(model, p, t):
    """s with c(p, s, t) = 0, by Newton's method from generic values."""
    graph = model.graph
    c = graph.value("contact_points")
    symbols = [graph.symbol["s"], graph.symbol["p"], graph.t, graph.theta]
    function = ca.Function("c", symbols, [c, ca.jacobian(c, graph.symbol["s"])])
    s = np.full(graph.size("s"), 0.1)
    for _ in range(50):
        residual, J = function(s, p, t, model.theta(t))
        s = s - np.linalg.solve(np.array(J), np.array(residual)).ravel()
    assert np.abs(np.array(residual)).max() < 1e-10
    return s


class Rows:
    """Numbers of all constraints by name, at a point at which the contact-point equations hold with derivatives."""

    def __init__(self, form, contact_rows):
        self.form, graph = form, form.model.graph
        names = np.array(form.constraint_names)
        self.for_y = np.array([any(name.endswith(f" of constraint {i + 1}") for i in contact_rows) for name in names])
        h = form.constraints
        self.function = ca.Function("h", [form.y, form.x, graph.t, graph.theta], [h, ca.jacobian(h, form.y)])

    def __call__(self, t, x):
        y = np.zeros(self.form.y.numel())
        for _ in range(4):
            rows, J = (np.array(part) for part in self.function(y, x, t, self.form.model.theta(t)))
            if len(y):
                y = y - np.linalg.solve(J[self.for_y], rows.ravel()[self.for_y])
        return dict(zip(self.form.constraint_names, rows.ravel(), strict=True))


@pytest.mark.parametrize("name", PROBLEMS)
def test_hidden_constraints_are_those_of_the_equations_of_motion(name):
    problem = PROBLEMS[name]()
    model, graph = problem.model, problem.model.graph
    if not all(function.traced for function in graph.functions.values()):
        pytest.skip("functions that are not traced")
    form, hidden = regularized(naive(model)), da.hidden_constraints(model)
    n_w, n_s, n_lam, n_mu = (graph.size(kind) for kind in ("w", "s", "lam", "mu"))
    numbers_of_rows = Rows(form, range(n_w, n_w + n_s))
    kinds = [kind for kind in model.state_kinds if graph.size(kind)]
    center = {"p": problem.p0, "v": problem.v0 if problem.v0 is not None else np.zeros(graph.size("v"))}
    compared = 0
    for seed in range(3):
        rng, t = np.random.default_rng(seed), 0.03 + seed
        values = {kind: 0.02 * rng.uniform(0.2, 1.0, graph.size(kind)) + center.get(kind, 0.0) for kind in kinds}
        if n_s:
            values["s"] = contact_points(model, values["p"], t)
        rows = numbers_of_rows(t, np.concatenate([values[kind] for kind in kinds]))
        expected = {}
        if n_lam:
            on_velocities = hidden.velocity(values["p"], values["v"], t, s=values.get("s", ()))
            on_accelerations = hidden.acceleration(t=t, **values)
            for i in range(n_lam):
                expected[f"derivative 1 of constraint {n_w + n_s + i + 1}"] = on_velocities[i]
                expected[f"derivative 2 of constraint {n_w + n_s + i + 1}"] = on_accelerations[i]
        if n_mu:
            for i, value in enumerate(hidden.nonholonomic_acceleration(t=t, **values)):
                expected[f"derivative 1 of constraint {n_w + n_s + n_lam + i + 1}"] = value
        scale = 1 + max(map(abs, expected.values()), default=0)
        for row, value in expected.items():
            assert abs(rows[row] - value) < 1e-12 * scale
            compared += 1
        others = {name for name in rows if name.startswith("derivative")} - set(expected)
        assert len(others) == 2 * n_s if form.y.numel() else not others
    assert compared == 3 * (2 * n_lam + n_mu)
    assert form.structure.degrees_of_freedom == form.x.numel() + form.y.numel() - form.constraints.numel()
