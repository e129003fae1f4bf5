"""What a translated model consists of, before any programming language is chosen.

    E(x,t) x' = k(z,t),   0 = h(z,t),   z = (x, y)

with all constraints h that the equations hide (`regularize.structure`); y are derivatives that are unknowns of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import real, shown
from dalembert.errors import ModelError, OptionError
from dalembert.model import Model
from dalembert.regularize import consistent_initial_values
from dalembert.regularize.structure import aliases
from dalembert.regularize.structure.hidden import regularized
from dalembert.regularize.structure.system import with_all_constraints


@dataclass(frozen=True, kw_only=True, eq=False)
class Content:
    """Expressions in the symbols t, z, w and p, and their names.

    `moving` are the numbers of the unknowns whose derivatives w the equations contain; E is square, for these. K is the
    derivative of k − E w by z. `rough` are unknowns whose errors count by the step size, as they follow from derivatives.
    """

    name: str
    t: ca.SX
    z: ca.SX
    w: ca.SX
    p: ca.SX
    unknowns: tuple[str, ...]
    moving: np.ndarray
    rough: np.ndarray
    parameters: Mapping[str, float]
    E: ca.SX
    k: ca.SX
    h: ca.SX
    differential_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    results: ca.SX
    result_names: tuple[str, ...]
    start: ca.SX  # of the parameters
    conditions: ca.SX = field(default_factory=lambda: ca.SX(0, 1))  # residuals that vanish at the start
    condition_names: tuple[str, ...] = ()
    t_span: tuple[float, float]
    rtol: float
    atol: float
    comments: tuple[str, ...] = ()
    K: ca.SX = field(init=False)
    H: ca.SX = field(init=False)

    def __post_init__(self) -> None:
        K = ca.sparsify(ca.jacobian(self.k - ca.mtimes(self.E, self.w), self.z))
        object.__setattr__(self, "K", K)
        object.__setattr__(self, "H", ca.sparsify(ca.jacobian(self.h, self.z)))


def content_of(model: Model, t_span: Any, start: Mapping[str, Any], rtol: float, atol: float) -> Content:
    """Everything that is written about a model."""
    _check(model)
    t0, t_end = _interval(t_span)
    reduction = aliases.reduction_of(model)
    own = model if reduction is None else reduction.of(model)
    whole = with_all_constraints(own) if model.hidden == "given" else None
    form = _Form.of_system(whole) if whole is not None else _Form.of_regularized(own)
    moving = np.flatnonzero(np.diff(form.E.sparsity().colind()) > 0)
    if len(moving) != form.E.shape[0]:
        raise ModelError(
            f"model '{model.name}' cannot be translated: {form.E.shape[0]} equations contain derivatives, of "
            f"{len(moving)} unknowns"
        )
    given = consistent_initial_values(model, t0, rtol=rtol, atol=atol, **start)
    kept = np.arange(len(model.names("x"))) if reduction is None else reduction.expansion.kept
    values = np.concatenate([given.values["x"][kept], _derivatives(form, given.values["x_dot"][kept])])
    everything = own.graph.symbol["x"] if reduction is None else reduction.expansion.expressions(own.graph.symbol["x"])
    results, names = [everything, form.y], [*model.names("x"), *form.y_names]
    for name in own.outputs:
        column = ca.densify(ca.vec(own.outputs.expression(name)))
        results.append(column)
        names += [name] if column.numel() == 1 else [f"{name}[{i + 1}]" for i in range(column.numel())]
    parameters = _parameters(own)
    replace = _replacement(own)
    p = ca.vertcat(own.graph.parameter_symbols, own.graph.discrete_symbols)
    E, k, h, shown_results = replace(form.E[:, moving.tolist()], form.k, form.h, ca.vertcat(*results))
    return Content(
        name=model.name,
        t=own.graph.t,
        z=ca.vertcat(own.graph.symbol["x"], form.y),
        w=ca.SX.sym("w", len(moving)),
        p=p,
        unknowns=(*own.names("x"), *form.y_names),
        moving=moving,
        rough=form.rough,
        parameters=parameters,
        E=ca.sparsify(E),
        k=ca.densify(k),
        h=ca.densify(h),
        differential_names=form.differential_names,
        constraint_names=form.constraint_names,
        results=shown_results,
        result_names=tuple(names),
        start=ca.SX(ca.DM(values)),
        t_span=(t0, t_end),
        rtol=real(rtol),
        atol=real(atol),
        comments=form.comments,
    )


@dataclass(frozen=True, eq=False)
class _Form:
    """Differential equations and constraints of a model."""

    E: ca.SX
    k: ca.SX
    h: ca.SX
    y: ca.SX
    y_names: tuple[str, ...]
    y_of: np.ndarray
    rough: np.ndarray
    differential_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    comments: tuple[str, ...]

    @classmethod
    def of_regularized(cls, model: Model) -> _Form:
        form = regularized(model)
        h = ca.vertcat(form.constraints, form.invariants.rows)
        names = tuple(
            f"{name} (level {number})" for number, level in enumerate(form.levels) for name in level.names
        ) + tuple(f"{name} (invariant)" for name in form.invariants.names)
        # unknowns that derivatives of equations determine are rougher than those that they act on
        derived = ca.vertcat(*(level.rows for level in form.levels[1:]), ca.SX(0, 1))
        occurs = np.diff(ca.jacobian_sparsity(derived, form.x).colind()) > 0 if derived.numel() else False
        rough = np.concatenate([occurs & (form.structure.d == 0), np.ones(form.y.numel(), bool)])
        counts = ", ".join(f"{len(level)} of level {number}" for number, level in enumerate(form.levels))
        comments = (
            f"index {form.structure.index}, {form.structure.degrees_of_freedom} degrees of freedom",
            f"{form.k.numel()} differential equations; constraints: {counts or 'none'}",
        )
        return cls(
            form.E, form.k, h, form.y, form.y_names, form.y_of, rough, form.differential_names, names, comments
        )  # fmt: skip

    @classmethod
    def of_system(cls, stacked: Any) -> _Form:
        """Of a model whose hidden constraints are not to be looked for."""
        system = stacked.system
        rows = np.flatnonzero(system.differential_equations).tolist()
        others = np.flatnonzero(~system.differential_equations).tolist()
        still = ca.substitute(system.residual, system.x_dot, ca.SX.zeros(system.x_dot.numel()))
        names = system.equations
        return cls(
            system.leading[rows, :],
            still[rows] if rows else ca.SX(0, 1),
            still[others] if others else ca.SX(0, 1),
            ca.SX(0, 1),
            (),
            np.zeros((0, 2), int),
            np.asarray(system.index) > 1,
            tuple(names[i] for i in rows),
            tuple(names[i] for i in others),
            (f"{len(rows)} differential equations, {len(others)} constraints",),
        )


def _check(model: Any) -> None:
    """Models that can be translated: DAEs in expressions."""
    if not isinstance(model, Model):
        raise OptionError(f"translation needs a model, not {shown(model)}")
    if model.mechanical or model.own_formulation is None:
        raise ModelError(
            f"model '{model.name}' is an EquationsOfMotion: translate it as a DAE, dalembert.problems.naive(problem).model"
        )
    if model.untraceable:
        names = ", ".join(model.untraceable)
        raise ModelError(f"model '{model.name}' cannot be translated: {names} run as Python code")
    for name, given in model.inputs.items():
        if given.sx is None:
            raise ModelError(f"model '{model.name}' cannot be translated: input '{name}' runs as Python code")
        if given.breakpoints:
            raise ModelError(f"model '{model.name}' cannot be translated: input '{name}' has breakpoints")
    hybrid = getattr(model, "hybrid", None)
    if hybrid is not None:
        what = [relation.name for relation in hybrid.relations] or ["assignments at events"]
        raise ModelError(
            f"model '{model.name}' cannot be translated: it has events ({', '.join(what[:4])}"
            f"{', …' if len(what) > 4 else ''}), which sources do not have yet"
        )


def _interval(t_span: Any) -> tuple[float, float]:
    try:
        t0, t_end = (real(value) for value in t_span)
    except (TypeError, ValueError):
        raise OptionError(f"t_span={shown(t_span)} must be two times, (start, end)") from None
    if not (np.isfinite([t0, t_end]).all() and t0 < t_end):
        raise OptionError(f"t_span={shown(t_span)}: the end must come after the start, both finite")
    return t0, t_end


def _parameters(model: Model) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in model.graph.parameters.items():
        flat = np.ravel(value)  # column by column as the graph has them
        if flat.size == 1:
            found[name] = float(flat[0])
        else:
            found.update({f"{name}[{i + 1}]": float(entry) for i, entry in enumerate(flat)})
    return found | dict(zip(model.graph.discrete, model.graph.discrete_values.tolist(), strict=True))


def _replacement(model: Model) -> Any:
    """Inputs become expressions of time."""
    graph = model.graph
    if not model.inputs:
        return lambda *expressions: expressions
    values = [given.sx(graph.t) for given in model.inputs.values()]
    old = ca.vertcat(graph.u, graph.du, graph.ddu)
    new = ca.vertcat(*(value[order] for order in range(3) for value in values))
    return lambda *expressions: ca.substitute(list(expressions), [old], [new])


def _derivatives(form: _Form, rates: np.ndarray) -> np.ndarray:
    """First guesses for derivatives that are unknowns."""
    return np.array([rates[j] if order == 1 else 0.0 for j, order in form.y_of.tolist()])
