"""`build`: from a DAE in symbols, as translators hand it over, to a model.

Nothing is traced: equations, outputs and start values are expressions already. Variables may have any name; in
namespaces of users' functions these hide the names of vectors, the time and derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.locks import forks_wait
from dalembert.model.base import contains_nan, occurrences
from dalembert.model.belongings import Belongings
from dalembert.model.functions import ModelFunction
from dalembert.model.graph import Graph
from dalembert.model.hybrid import SymbolicDAE, Symbols
from dalembert.model.implicit import ImplicitDAE
from dalembert.model.outputs import Outputs
from dalembert.model.quasi_linear import QuasiLinearDAE

#: faults of one kind that are listed
MOST = 10


@forks_wait
def build(dae: SymbolicDAE) -> QuasiLinearDAE | ImplicitDAE:
    """The model of a DAE in symbols.

    Derivatives that enter linearly make a `QuasiLinearDAE`; of more equations than unknowns, those without
    derivatives are its constraints. All other DAEs are `ImplicitDAE`.

    Raises
    ------
    ModelError
        That lists all faults, with the names of equations and unknowns.

    Examples
    --------
    >>> import casadi as ca
    >>> import dalembert as da
    >>> from dalembert.model.hybrid import Beginning, Symbols, SymbolicDAE
    >>> t, x, dx, k = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("dx", 2), ca.SX.sym("k")
    >>> spring = SymbolicDAE(
    ...     name="spring",
    ...     symbols=Symbols(t=t, x=x, dx=dx, parameters=k, discrete=ca.SX(0, 1), u=ca.SX(0, 1),
    ...                     x_names=("mass.s", "mass.v"), parameter_values={"spring.c": 4.0}, discrete_values={},
    ...                     inputs={}),
    ...     residual=ca.vertcat(dx[0] - x[1], dx[1] + k * x[0]), equation_names=("der(mass.s) = mass.v", "Newton"),
    ...     outputs={"spring.f": k * x[0]}, beginning=Beginning(guesses=ca.vertcat(1, 0), given=frozenset([0])),
    ...     t_span=(0.0, 2.0))
    >>> sol = da.simulate(build(spring))
    >>> float(sol["mass.s"][-1].round(4)), float(sol["spring.f"][0]), float(sol["spring.c"][0])
    (-0.6536, 4.0, 4.0)
    """
    symbols, n = dae.symbols, dae.symbols.x.numel()
    residual = ca.densify(ca.vec(dae.residual))
    _must_fit(dae, residual)
    E = ca.sparsify(ca.jacobian(residual, symbols.dx))
    linear = not ca.depends_on(E, symbols.dx)
    rows = residual.numel()
    if not linear and rows > n:
        raise ModelError(
            f"model '{dae.name}' has faults",
            [
                f"{rows} equations for {n} unknowns, and derivatives do not enter linearly: constraints beside as many "
                "equations as unknowns are possible only where they do"
            ],
        )
    model = (QuasiLinearDAE if linear else ImplicitDAE)._of_symbols(dae.name, symbols)
    names = tuple(dae.equation_names)
    if linear:
        rhs = -ca.substitute(residual, symbols.dx, ca.SX.zeros(n, 1))
        has_rates = np.diff(E.sparsity().T.colind()) > 0
        own = np.flatnonzero(has_rates) if rows > n else np.arange(rows)
        constraints = np.setdiff1d(np.arange(rows), own)
        parts = {"rhs": ca.densify(rhs[own.tolist()]), "leading": E[own.tolist(), :]}
        if len(constraints):
            parts["constraints"] = ca.densify(-rhs[constraints.tolist()])
        names = tuple(names[i] for i in (*own, *constraints))
    else:
        parts = {"residual": residual}
    for role, sx in parts.items():
        model.graph.functions[role] = ModelFunction(role, sx.shape, 2 if role == "leading" else 1, sx)
    model._equation_names = names
    if dae.outputs:
        model._outputs = Outputs.of_expressions(dae.outputs, model.graph, dae.name)
    model._own = Belongings(
        model.graph, dae.beginning, dae.hybrid, dict(dae.nominal), dae.t_span, dae.tolerance, dae.least_steps
    )
    model._start = model._own.start(model.graph, dae.name)
    return model


def graph_of(s: Symbols) -> Graph:
    """The graph whose symbols are these."""
    parameters = {name: np.array(float(value)) for name, value in s.parameter_values.items()}
    discrete = {name: float(value) for name, value in s.discrete_values.items()}
    graph = Graph({"x": tuple(s.x_names)}, parameters, tuple(s.inputs), discrete)
    graph.t, graph.symbol, graph.dx, graph.u = s.t, {"x": s.x}, s.dx, s.u
    graph.parameter_symbols, graph.discrete_symbols = s.parameters, s.discrete
    graph.free_names = True  # ty: ignore[invalid-attribute-access]  # of this graph alone
    graph._put_together()
    return graph


# -- faults ------------------------------------------------------------------------------------------------------------


def _must_fit(dae: SymbolicDAE, residual: ca.SX) -> None:
    s, n, rows = dae.symbols, dae.symbols.x.numel(), residual.numel()
    faults: list[str] = []
    if not n:
        raise ModelError(f"model '{dae.name}' has faults", ["a DAE needs at least one unknown"])
    lengths = {
        "names of unknowns": (len(s.x_names), n),
        "symbols of derivatives": (s.dx.numel(), n),
        "names of equations": (len(dae.equation_names), rows),
        "values of parameters": (len(s.parameter_values), s.parameters.numel()),
        "values of discrete variables": (len(s.discrete_values), s.discrete.numel()),
        "inputs": (len(s.inputs), s.u.numel()),
        "guesses": (dae.beginning.guesses.numel(), n),
        "names of initial conditions": (len(dae.beginning.condition_names), dae.beginning.conditions.numel()),
    }
    faults += [f"{have} {what}, and {need} are needed" for what, (have, need) in lengths.items() if have != need]
    if faults:
        raise ModelError(f"model '{dae.name}' has faults", faults)
    known = (*s.x_names, *s.parameter_values, *s.discrete_values, *s.inputs, *dae.outputs)
    if len(set(known)) < len(known):
        seen: set[str] = set()
        twice = []
        for name in known:
            (twice.append if name in seen else seen.add)(name)
        faults += [f"the name '{name}' is given twice" for name in twice[:MOST]]
    if rows < n:
        faults.append(f"{rows} equations for {n} unknowns: {n - rows} more are needed")
    contain, _ = occurrences(residual, ca.vertcat(s.x, s.dx))
    faults += _listed(dae, np.flatnonzero(~contain), "contains neither a derivative nor an unknown")
    if contains_nan(residual):
        bad = [i for i in range(rows) if contains_nan(residual[i])]
        faults += _listed(dae, bad, "contains a constant that is NaN or infinite")
    if rows == n:
        _, occurs = occurrences(residual, ca.vertcat(s.x, s.dx))
        occurs = occurs[:n] | occurs[n:]
        faults += [f"'{s.x_names[j]}' occurs in no equation" for j in np.flatnonzero(~occurs)[:MOST]]
    for name, value in (*s.parameter_values.items(), *s.discrete_values.items()):
        if not np.isfinite(value):
            faults.append(f"'{name}' = {value} is not finite")
    if faults:
        raise ModelError(f"model '{dae.name}' has faults", faults)


def _listed(dae: SymbolicDAE, rows: Sequence[int], what: str) -> list[str]:
    return [f"{dae.equation_names[i]}: {what}" for i in list(rows)[:MOST]]
