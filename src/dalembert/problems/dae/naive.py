"""Mechanical problems as textbooks write them: a DAE of first order, with nothing differentiated and nothing hinted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import OptionError
from dalembert.model import QuasiLinearDAE
from dalembert.model.expression import Expr
from dalembert.model.kinematics import jacobian, solve
from dalembert.model.vocabulary import MECHANICAL

from ..arguments import checked
from ..problem import Problem, Reference


@dataclass(frozen=True, kw_only=True, eq=False)
class NaiveProblem(Problem):
    """A mechanical problem as a `QuasiLinearDAE`; `origin` is the problem with `EquationsOfMotion`.

    Entries of x that the reference does not know are NaN. Errors are those of positions and velocities, as there.
    """

    origin: Problem

    def parts(self, x: Any) -> dict[str, np.ndarray]:
        """Unknowns, or rows of them, by kind: p, v, r, w, s, lam and mu."""
        x, ends = np.asarray(x), np.cumsum([len(self.origin.model.names(kind)) for kind in MECHANICAL])
        return dict(zip(MECHANICAL, np.split(x, ends[:-1], axis=-1), strict=True))

    def error(self, solution: Any) -> float:
        """Mixed error of the last point of `solution`: max |y - ref| / (1 + |ref|) over p and v."""
        parts = self.parts(solution.x[-1:])
        return self.origin.error(SimpleNamespace(t=solution.t, p=parts["p"], v=parts["v"]))


@checked
def naive(problem: Problem, *, invariants: bool = False, hidden: str | None = None) -> NaiveProblem:
    """The first-order DAE of a mechanical problem, as it would be written down without thinking of its index.

    ::

        p' = Z v,   M v' = f − Zᵀ Gᵀ λ − Zᵀ Hᵀ μ,   r' = b,   0 = d,   0 = c,   0 = g,   0 = H Z v + h

    The unknowns are p, v, r, w, s, λ and μ by their names; parameters, inputs, outputs and start values are those of
    the problem, guesses of λ and μ are zero. Constraints on positions make the index 3.

    Parameters
    ----------
    problem : Problem
        With `EquationsOfMotion` whose functions are traced, without contacts.
    invariants : bool
        Give the model's invariants as `constraints=`. Default: they are left out.

    Examples
    --------
    >>> import dalembert as da
    >>> da.problems.naive(da.problems.pendulum()).model
    QuasiLinearDAE('naive_pendulum': 5 unknowns, 5 equations)
    """
    model: Any = getattr(problem, "model", None)
    if not isinstance(problem, Problem) or not getattr(model, "mechanical", False):
        raise OptionError(f"naive() takes a Problem with EquationsOfMotion, not {shown(problem)}")
    if model.has_contacts and (model.contacts or model.dry):
        raise OptionError(
            f"naive(): the model of problem '{problem.name}' has contacts, which equations do not describe"
        )
    untraced = [role for role, function in model.graph.functions.items() if not function.traced]
    if untraced:
        raise OptionError(
            f"naive(): of problem '{problem.name}' {', '.join(untraced)} cannot be written as expressions: they are "
            "native or Python code"
        )
    equations = _Equations(model, invariants)
    settings: dict[str, Any] = {} if hidden is None else {"hidden": hidden}
    dae = QuasiLinearDAE(
        name=f"naive_{model.name}",
        x=[name for kind in MECHANICAL for name in model.names(kind)],
        parameters=model.parameters,
        inputs={name: given.given for name, given in model.inputs.items()},
        discrete=model.discrete,
        leading=equations.leading,
        rhs=equations.rhs,
        constraints=equations.constraints if equations.has_constraints else None,
        drawing=getattr(model.drawing, "given", None),
        **settings,
    )
    references = tuple(_reference(model, reference) for reference in problem.references)
    best = next((n for n, r in zip(references, problem.references, strict=True) if r is problem.reference), None)
    return NaiveProblem(
        name=f"naive_{problem.name}",
        title=f"{problem.title}, as a DAE of first order",
        model=dae,
        t_end=problem.t_end,
        x0=_together(model, {kind: getattr(problem, f"{kind}0", None) for kind in MECHANICAL}, 0.0),
        reference=best,
        references=references,
        origin=problem,
    )


def _together(model: Any, values: Mapping[str, np.ndarray | None], missing: float) -> np.ndarray:
    parts = []
    for kind in MECHANICAL:
        size, given = len(model.names(kind)), values.get(kind)
        parts.append(np.full(size, missing) if given is None else np.asarray(given, float))
    return np.concatenate(parts)


def _reference(model: Any, reference: Reference) -> Reference:
    x = _together(model, {kind: getattr(reference, kind) for kind in MECHANICAL}, np.nan)
    return Reference(t=reference.t, x=x, source=reference.source, accuracy=reference.accuracy)


class _Equations:
    """The functions of the DAE: expressions of the mechanical model, evaluated with the symbols of the other."""

    def __init__(self, model: Any, invariants: bool):
        graph = model.graph
        self.model, self.diagonal = model, _is_diagonal(graph.value("mass"))
        unknowns = [graph.symbol.get(kind, ca.SX(0, 1)) for kind in MECHANICAL]
        p, v, r, _, s, lam, mu = unknowns

        def value(role: str) -> ca.SX:
            return graph.value(role) if role in graph.functions else ca.SX(0, 1)

        Z, M = graph.value("kinematics"), graph.value("mass")
        G, H = ca.SX(0, p.numel()), ca.SX(0, v.numel())
        if lam.numel():
            G = jacobian(graph, "holonomic", "p")
            if s.numel():  # the contact points move with the positions
                c_s, c_p = (jacobian(graph, "contact_points", kind) for kind in "sp")
                G = G - ca.mtimes(jacobian(graph, "holonomic", "s"), solve(c_s, c_p))
        if mu.numel():
            H = jacobian(graph, "nonholonomic", "v")
        force = value("force") - ca.mtimes(ca.mtimes(G, Z).T, lam) - ca.mtimes(H.T, mu)
        algebraic = ca.vertcat(*map(value, ("auxiliary", "contact_points", "holonomic", "nonholonomic")))
        k = ca.vertcat(ca.mtimes(Z, v), force, value("dynamics"), algebraic)
        ones, zeros = ca.SX.ones, ca.SX.zeros
        if self.diagonal:
            E = ca.vertcat(ones(p.numel()), ca.diag(M), ones(r.numel()), zeros(algebraic.numel()))
        else:
            E = ca.diagcat(ca.SX.eye(p.numel()), M, ca.SX.eye(r.numel()), ca.SX(algebraic.numel(), algebraic.numel()))
        e = value("invariant") if invariants else ca.SX(0, 1)
        self.has_constraints = bool(e.numel())
        arguments = [graph.t, ca.vertcat(*unknowns), graph.parameter_symbols, graph.discrete_symbols, graph.u, graph.du]
        self._functions = {
            name: ca.Function(name, arguments, [ca.densify(sx)]) for name, sx in (("E", E), ("k", k), ("e", e))
        }

    def _of(self, name: str, s: Any) -> ca.SX:
        graph = self.model.graph
        unknowns = [s[variable] for kind in MECHANICAL for variable in self.model.names(kind)]
        return self._functions[name](
            s.t.sx,
            _column(unknowns),
            _column([entry for parameter in graph.parameters for entry in np.ravel(s[parameter])]),
            _column([s[mode] for mode in graph.discrete]),
            _column([s[given] for given in graph.inputs]),
            _column([s[f"{given}_dot"] for given in graph.inputs]),
        )

    def leading(self, s: Any) -> ca.SX:
        return self._of("E", s)

    def rhs(self, s: Any) -> ca.SX:
        return self._of("k", s)

    def constraints(self, s: Any) -> ca.SX:
        return self._of("e", s)


def _column(entries: list[Expr]) -> ca.SX:
    return ca.vertcat(*(entry.sx for entry in entries)) if entries else ca.SX(0, 1)


def _is_diagonal(M: ca.SX) -> bool:
    return ca.sparsify(M).sparsity().is_diag()
