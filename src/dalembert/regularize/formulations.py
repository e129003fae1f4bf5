"""Formulations of a model: what stands in place of the constraints, and with which index.

| name           | equations for λ                     | index | keeps                                  |
|----------------|-------------------------------------|-------|----------------------------------------|
| index3         | g = 0                               | 3     | positions                              |
| index2         | g^I = 0                             | 2     | velocities; positions drift slowly     |
| index1         | g^II = 0                            | 1     | accelerations; the rest drifts         |
| ggl            | g^I = 0, and g = 0 with p' = Z v − Gᵀ η | 2 | positions and velocities [1]_          |
| baumgarte      | g^II + 2α g^I + β² g = 0            | 1     | all, up to a transient [2]_            |
| overdetermined | g^II = 0, and all others beside it  | 1     | all; more equations than unknowns [3]_ |
| overdetermined2 | g^I = 0, and g = 0 beside it       | 2     | positions and velocities; as before    |

References
----------
.. [1] C.W. Gear, B. Leimkuhler, G.K. Gupta, "Automatic integration of Euler-Lagrange equations with constraints", 1985.
.. [2] J. Baumgarte, "Stabilization of constraints and integrals of motion in dynamical systems", 1972.
.. [3] C. Führer, B.J. Leimkuhler, "Numerical solution of differential-algebraic equations for constrained mechanical
   motion", 1991.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.errors import ModelError, OptionError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.chain import total_jacobian
from dalembert.model.graph import Graph
from dalembert.model.vocabulary import equation_names, numbered
from dalembert.regularize.hidden import hidden_constraints
from dalembert.regularize.system import System, places

SYSTEMS: Slot[System] = Slot("formulations", most=16)
#: level of the constraints that determine λ and μ
LEVEL = {
    "index1": "acceleration",
    "index2": "velocity",
    "index3": "position",
    "ggl": "velocity",
    "baumgarte": "baumgarte",
    "overdetermined": "acceleration",
    "overdetermined2": "velocity",
}
#: the largest of Baumgarte's coefficients: their squares stand in the equations
STRONGEST = 1e50
FORMULATIONS = tuple(LEVEL)


def formulate(model: Model, formulation: str = "index2", *, alpha: float = 5.0, beta: float = 5.0) -> System:
    """Build (once) a formulation of a model.

    Parameters
    ----------
    formulation : str
        One of `FORMULATIONS`; a `QuasiLinearDAE` or `ImplicitDAE` is taken as it stands.
    alpha, beta : float
        Baumgarte's coefficients.
    """
    if not isinstance(model, Model):
        raise OptionError(f"formulate needs a model, not {shown(model)}")
    if model.own_formulation is None:
        if not isinstance(formulation, str):
            raise OptionError(f"formulation={shown(formulation)} must be one of {', '.join(FORMULATIONS)}")
        formulation = str.__str__(formulation)
        if formulation not in FORMULATIONS:
            near = difflib.get_close_matches(formulation, FORMULATIONS, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise OptionError(f"unknown formulation '{formulation}'{hint} (known: {', '.join(FORMULATIONS)})")
        alpha, beta = _coefficient("alpha", alpha), _coefficient("beta", beta)
        key = (formulation, alpha, beta) if formulation == "baumgarte" else formulation
        return model.kept.get(SYSTEMS, key, lambda: _equations_of_motion(model, formulation, alpha, beta))
    build = {"quasi-linear": _quasi_linear, "implicit": _implicit}[model.own_formulation]
    return model.kept.get(SYSTEMS, None, lambda: build(model))


def _coefficient(name: str, value: Any) -> float:
    try:
        number = real(value)
    except NoNumber as reason:
        raise OptionError(f"{name}={shown(value)} {reason}") from None
    if not 0 <= number <= STRONGEST:
        raise OptionError(
            f"{name}={number} must lie between 0 and {STRONGEST:g}: negative ones drive the motion away from the "
            "constraints, larger ones are nothing but stiff"
        )
    return number


def _equations_of_motion(model: Model, formulation: str, alpha: float, beta: float) -> System:
    graph = model.graph
    hidden = hidden_constraints(model)
    stabilized = formulation == "ggl"
    kinds = [kind for kind in model.state_kinds if graph.size(kind)]
    rate = {kind: ca.SX.sym(f"{kind}_dot", graph.size(kind)) for kind in kinds}
    if gives_missing_force(graph):
        rate["v"] = graph.a  # which its code reads
    eta = ca.SX.sym("eta", graph.size("lam") if stabilized else 0)
    g_II, h_I = (ca.substitute(expression, graph.a, rate["v"]) for expression in (hidden.g_II, hidden.h_I))

    # nonholonomic constraints have no position level
    level = {"lam": LEVEL[formulation], "mu": "velocity" if formulation == "index3" else LEVEL[formulation]}
    constraints: dict[str, Callable[[], tuple[ca.SX, ca.SX]]] = {
        "position": lambda: (hidden.g, hidden.h),
        "velocity": lambda: (hidden.g_I, hidden.h),
        "acceleration": lambda: (g_II, h_I),
        "baumgarte": lambda: (g_II + 2 * alpha * hidden.g_I + beta**2 * hidden.g, h_I + alpha * hidden.h),
    }
    for_lam, for_mu = constraints[LEVEL[formulation]]()
    kinematic = hidden.p_dot - rate["p"]
    if stabilized:
        kinematic -= ca.mtimes(hidden.G.T, eta)
    rows = {
        "p": kinematic,
        "v": motion(graph, rate["v"], hidden.constraint_force),
        "r": graph.value("dynamics") - rate["r"] if graph.size("r") else None,
        "w": graph.value("auxiliary") if graph.size("w") else None,
        "s": hidden.c,
        "lam": for_lam,
        "mu": for_mu,
    }
    equations = {kind: equation_names(kind, graph.vectors[kind], level.get(kind)) for kind in kinds}
    if stabilized:
        kinds.append("eta")
        rows["eta"] = hidden.g
        equations["eta"] = equation_names("eta", graph.vectors["lam"])
        rate["eta"] = ca.SX.sym("eta_dot", eta.numel())

    slices = places({kind: graph.size(kind) for kind in kinds})
    x = ca.vertcat(*(eta if kind == "eta" else graph.symbol[kind] for kind in kinds))
    x_dot = ca.vertcat(*(rate[kind] for kind in kinds))
    residual = ca.densify(ca.vertcat(*(rows[kind] for kind in kinds)))
    J = total_jacobian(graph, residual, x)
    if stabilized:
        # η vanishes on the solution: Newton's matrix does without ∂(Gᵀη)/∂p, and the positions can be eliminated
        J = ca.sparsify(
            ca.vertcat(ca.substitute(J[slices["p"], :], eta, ca.SX.zeros(eta.numel())), J[slices["p"].stop :, :])
        )
    # Weights of the error norms. In the index-1 forms λ and μ come out of v', a difference quotient of stages: an
    # error ε of v shows in them as ε/h, as in index 2. η vanishes on the solution and is not controlled for itself.
    index_of = {
        "index3": {"v": 2, "lam": 3, "mu": 2},
        "ggl": {"lam": 2, "mu": 2, "eta": 3},
    }.get(formulation, {"lam": 2, "mu": 2})
    index = {kind: np.full(graph.size(kind), index_of.get(kind, 1)) for kind in kinds}
    if formulation == "index3":
        index["v"][~_feels_multipliers(graph, residual[slices["v"]])] = 1
    if graph.size("w"):
        _follow_multipliers(graph, residual[slices["w"]], index)
    extra, extra_names = ca.SX(0, 1), ()
    if formulation in ("overdetermined", "overdetermined2"):
        extra = hidden.g
        extra_names = equation_names("lam", graph.vectors["lam"])
        if formulation == "overdetermined":
            extra = ca.vertcat(extra, hidden.g_I, hidden.h)
            extra_names += equation_names("lam", graph.vectors["lam"], "velocity")
            extra_names += equation_names("mu", graph.vectors["mu"], "velocity")
        if "invariant" in graph.functions:
            invariant = graph.value("invariant")
            extra = ca.vertcat(extra, invariant)
            extra_names += numbered("invariant", invariant.numel())
    return System(
        model=model,
        formulation=formulation,
        slices=slices,
        variables=tuple(name for kind in kinds for name in model.names(kind)),
        equations=tuple(name for kind in kinds for name in equations[kind]),
        index=np.concatenate([index[kind] for kind in kinds]),
        x=x,
        x_dot=x_dot,
        residual=residual,
        jacobian=J,
        leading=-ca.sparsify(total_jacobian(graph, residual, x_dot)),
        constraints=extra,
        constraint_names=extra_names,
    )


def gives_missing_force(graph: Graph) -> bool:
    """Whether native code gives M a − f as a whole, which takes it less time than M alone."""
    native = graph.functions["force"].native
    return native is not None and "with a" in native.gives


def motion(graph: Graph, rate: ca.SX, pull: ca.SX) -> ca.SX:
    """f − pull − M v' with v' = `rate`; native code gives it as a whole if `rate` is the symbol a."""
    if gives_missing_force(graph) and rate is graph.a:
        return -graph.native("force", "with a") - pull
    return graph.value("force") - pull - ca.mtimes(graph.value("mass"), rate)


def _feels_multipliers(graph: Graph, motion: ca.SX) -> np.ndarray:
    """Mask of the velocities whose derivatives depend on λ: it stands in their equation of motion, or inertia connects
    them to one of these. Functions that could not be traced may depend on it."""
    M = ca.sparsify(graph.value("mass"))
    if not graph.size("lam"):
        return np.zeros(M.shape[0], bool)
    opaque = [block.symbol for block in graph.externals_in(motion) if block.native is None]
    symbols = ca.vertcat(graph.symbol["lam"], *opaque)
    direct = np.diff(total_jacobian(graph, motion, symbols).sparsity().T.colind()) > 0
    group = _connected(M.sparsity())
    return np.isin(group, group[direct])


def _follow_multipliers(graph: Graph, auxiliary: ca.SX, index: dict[str, np.ndarray]) -> None:
    """Auxiliary variables that depend on λ or μ have their index."""
    group = _connected(ca.jacobian(auxiliary, graph.symbol["w"]).sparsity())
    for kind in ("mu", "lam"):
        if graph.size(kind):
            direct = np.diff(ca.jacobian(auxiliary, graph.symbol[kind]).sparsity().T.colind()) > 0
            index["w"][np.isin(group, group[direct])] = index[kind].max()


def _connected(pattern: ca.Sparsity) -> np.ndarray:
    """For each row of a square pattern the number of the group of rows and columns that it connects."""
    _, order, ends = (pattern + pattern.T).scc()
    group = np.empty(len(order), int)
    group[order] = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    return group


def _quasi_linear(model: Model) -> System:
    graph = model.graph
    n = graph.size("x")
    x, x_dot = graph.symbol["x"], ca.SX.sym("x_dot", n)
    E, k = graph.value("leading"), graph.value("rhs")
    rows = [k - ca.mtimes(E, x_dot)]
    names = [*model.equation_names[: k.numel()]]
    extra, extra_names = ca.SX(0, 1), ()
    if model.n_constraints:
        h = graph.value("constraints")
        constraint_names = model.equation_names[k.numel() :]
        if k.numel() + h.numel() == n:
            rows.append(h)
            names.extend(constraint_names)
        else:
            extra, extra_names = h, constraint_names
    residual = ca.densify(ca.vertcat(*rows))
    if residual.numel() > n:
        raise ModelError(f"model '{model.name}': {residual.numel()} differential equations for {n} unknowns")
    return System(
        model=model,
        formulation="quasi-linear",
        slices={"x": slice(0, n)},
        variables=tuple(graph.vectors["x"]),
        equations=tuple(names),
        index=np.ones(n, int),
        x=x,
        x_dot=x_dot,
        residual=residual,
        jacobian=ca.jacobian(residual, x),
        leading=-ca.sparsify(ca.jacobian(residual, x_dot)),
        constraints=extra,
        constraint_names=extra_names,
    )


def _implicit(model: Model) -> System:
    graph = model.graph
    n, x, x_dot, residual = graph.size("x"), graph.symbol["x"], graph.dx, graph.value("residual")
    if graph.functions["residual"].traced:
        by_x, by_x_dot = ca.jacobian(residual, x), ca.sparsify(ca.jacobian(residual, x_dot))
    else:
        by_x, by_x_dot = (graph.external("residual", f"by {kind}", (n, n)) for kind in ("x", "dx"))
    return System(
        model=model,
        formulation="implicit",
        slices={"x": slice(0, n)},
        variables=tuple(graph.vectors["x"]),
        equations=model.equation_names,
        index=np.ones(n, int),
        x=x,
        x_dot=x_dot,
        residual=residual,
        jacobian=by_x,
        leading=-by_x_dot,
    )
