"""Equations of motion as they are written without any hint: p' = Z v, M v' = f − Gᵀ λ, 0 = g, in one vector x."""

import casadi as ca
import numpy as np

from dalembert import QuasiLinearDAE, hidden_constraints
from dalembert.model.expression import to_sx


def naive(model, constraints=None):
    """A `QuasiLinearDAE` with the unknowns of all vectors of the model, named z_<name>.

    `constraints` is a CasADi function of t, x and θ for constraints in place of those of the model.
    """
    graph, hidden = model.graph, hidden_constraints(model)
    kinds = [kind for kind in model.state_kinds if graph.size(kind)]
    z = ca.vertcat(*(graph.symbol[kind] for kind in kinds))
    z_dot = ca.SX.sym("z_dot", z.numel())
    rate, start = {}, 0
    for kind in kinds:
        rate[kind] = z_dot[start : start + graph.size(kind)]
        start += graph.size(kind)
    left = [rate["p"], ca.mtimes(graph.value("mass"), rate["v"])]
    right = [hidden.p_dot, graph.value("force") - hidden.constraint_force]
    if "r" in rate:
        left, right = [*left, rate["r"]], [*right, graph.value("dynamics")]
    algebraic = [graph.value("auxiliary")] if "w" in rate else []
    h = ca.vertcat(*algebraic, hidden.c, hidden.g, hidden.h)
    E = ca.jacobian(ca.vertcat(*left), z_dot)
    if constraints is not None:
        h = constraints(graph.t, z, graph.theta)
    function = ca.Function("naive", [graph.t, z, graph.theta], [E, ca.vertcat(*right), h])

    def part(number):
        def evaluate(s):
            parameters = [_flat(getattr(s, name), value) for name, value in model.parameters.items()]
            others = [getattr(s, name) for name in model.discrete_names]
            inputs = [getattr(s, name + end) for end in ("", "_dot") for name in model.inputs]
            theta = [to_sx(value)[0] for value in (*parameters, *others, *inputs)]
            return function(to_sx(s.t)[0], to_sx(s.x)[0], ca.vertcat(*theta, *[0] * len(model.inputs)))[number]

        return evaluate

    return QuasiLinearDAE(
        x=[f"z_{name}" for kind in kinds for name in model.names(kind)],
        leading=part(0),
        rhs=part(1),
        constraints=part(2) if h.numel() else None,
        parameters=model.parameters,
        inputs={name: traced.given for name, traced in model.inputs.items()},
        discrete=model.discrete,
        name=f"naive {model.name}",
    )


def _flat(value, number):
    return np.ravel(value) if np.ndim(number) else value
