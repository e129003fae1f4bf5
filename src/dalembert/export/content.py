"""What a translated model consists of, before any programming language is chosen.

    E(x,t) x' = k(z,t),   0 = h(z,t),   z = (x, y)

with all constraints h that the equations hide (`regularize.structure`); y are derivatives that are unknowns, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.errors import InconsistentInitialValues, ModelError, OptionError, SimulationError
from dalembert.export.events import Events
from dalembert.model import Model
from dalembert.regularize import consistent_initial_values
from dalembert.regularize.structure import aliases
from dalembert.regularize.structure.forms import picked
from dalembert.regularize.structure.hidden import regularized
from dalembert.regularize.structure.system import with_all_constraints


@dataclass(frozen=True, kw_only=True, eq=False)
class Content:
    """Expressions in the symbols t, z, w and p, and their names.

    `moving` are the numbers of the unknowns whose derivatives w the equations contain; E is square, for these. K is the
    derivative of k − E w by z. Errors of `rough` unknowns count by the step size, as these follow from derivatives.
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
    events: Events = field(default_factory=Events)
    K: ca.SX = field(init=False)
    H: ca.SX = field(init=False)

    def __post_init__(self) -> None:
        K = ca.sparsify(ca.jacobian(self.k - ca.mtimes(self.E, self.w), self.z))
        object.__setattr__(self, "K", K)
        object.__setattr__(self, "H", ca.sparsify(ca.jacobian(self.h, self.z)))


def content_of(
    model: Model,
    t_span: Any,
    start: Mapping[str, Any],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Content:
    """Everything that is written about a model."""
    _check(model)
    model = model.replace(parameters)
    t_span = _interval(model.t_span if t_span is None else t_span)
    rtol, atol = _tolerance("rtol", rtol, model.tolerance or 1e-6), _tolerance("atol", atol, 1e-8)
    reduction = aliases.reduction_of(model)
    own = model if reduction is None else reduction.of(model)
    form = _Form.of_system(with_all_constraints(own)) if model.hidden == "given" else _Form.of_regularized(own)
    moving = np.flatnonzero(np.diff(form.E.sparsity().colind()) > 0)
    if len(moving) != form.E.shape[0]:
        raise ModelError(
            f"model '{model.name}' cannot be translated: {form.E.shape[0]} equations contain derivatives, of "
            f"{len(moving)} unknowns"
        )
    w = ca.SX.sym("w", len(moving))
    events = Events.of(model, _whole(own, reduction), reduction, _replacement(own))
    expressions, names = _results(model, own, reduction, form, bool(events))
    beginning = Start.of(model, own, reduction, form, moving, w)
    values = beginning.values(_found(model, t_span[0], start, rtol, atol, bool(events)))
    columns = form.E[:, moving.tolist()], form.k, form.h, expressions, values, beginning.conditions
    E, k, h, expressions, values, conditions = _replacement(own)(*columns)
    return Content(
        name=model.name,
        t=own.graph.t,
        z=ca.vertcat(own.graph.symbol["x"], form.y),
        w=w,
        p=own.graph.parameter_symbols
        if events
        else ca.vertcat(own.graph.parameter_symbols, own.graph.discrete_symbols),
        unknowns=(*own.names("x"), *form.y_names),
        moving=moving,
        rough=form.rough,
        parameters=_parameters(own, discrete=not events),
        E=ca.sparsify(E),
        k=ca.densify(k),
        h=ca.densify(h),
        differential_names=form.differential_names,
        constraint_names=form.constraint_names,
        results=expressions,
        result_names=names,
        start=values,
        conditions=conditions,
        condition_names=beginning.names,
        t_span=t_span,
        rtol=rtol,
        atol=atol,
        comments=form.comments,
        events=events,
    )


def _found(model: Model, t: float, start: Mapping[str, Any], rtol: float, atol: float, events: bool) -> Any:
    """Consistent start values; of a model with events, what it says itself: the program looks for them."""
    try:
        return consistent_initial_values(model, t, rtol=rtol, atol=atol, **start)
    except (InconsistentInitialValues, SimulationError):
        if not events:
            raise
    return None


def _results(model: Model, own: Model, reduction: Any, form: _Form, hybrid: bool) -> tuple[ca.SX, tuple[str, ...]]:
    """All unknowns, also those that were eliminated, discrete variables that are no truth values, and outputs."""
    expressions = [_whole(own, reduction), form.y]
    names = [*model.names("x"), *form.y_names]
    if hybrid:
        places = visible_discrete(model)
        expressions.append(picked(model.graph.discrete_symbols, places))
        names += [model.discrete_names[place] for place in places]
    for name in own.outputs:
        column = ca.densify(ca.vec(own.outputs.expression(name)))
        expressions.append(column)
        names += [name] if column.numel() == 1 else [f"{name}[{i + 1}]" for i in range(column.numel())]
    return ca.vertcat(*expressions), tuple(names)


def visible_discrete(model: Model) -> list[int]:
    """Places of discrete variables that have names of their own: no truth values of relations, no values before."""
    hybrid: Any = model.hybrid  # there is one, or nothing would change
    internal = {relation.place for relation in hybrid.relations} | set(hybrid.previous.values())
    internal |= {sample.place for sample in hybrid.samples} | {hybrid.initial, hybrid.terminal}
    return [place for place in range(len(model.discrete_names)) if place not in internal]


def _whole(own: Model, reduction: Any, rates: bool = False) -> ca.SX:
    """All unknowns of a model, or their derivatives, by those that were not eliminated."""
    symbols = own.graph.dx if rates else own.graph.symbol["x"]
    return symbols if reduction is None else reduction.expansion.expressions(symbols, constant=not rates)


@dataclass(frozen=True, eq=False)
class Start:
    """How a run begins: guesses by parameters, and conditions beside the constraints."""

    guesses: ca.SX  # of the unknowns that are kept
    conditions: ca.SX
    names: tuple[str, ...]
    model: Model
    kept: np.ndarray
    form: _Form

    @classmethod
    def of(cls, model: Model, own: Model, reduction: Any, form: _Form, moving: np.ndarray, w: ca.SX) -> Start:
        kept = np.arange(len(model.names("x"))) if reduction is None else reduction.expansion.kept
        beginning = model.beginning
        if beginning is None:
            return cls(ca.SX.zeros(len(kept)), ca.SX(0, 1), (), model, kept, form)
        x, dx, names = _whole(own, reduction), _whole(own, reduction, rates=True), model.names("x")
        fixed = sorted(beginning.fixed)
        rows = [x[j] - beginning.guesses[j] for j in fixed]
        conditions = ca.substitute(
            beginning.conditions, ca.vertcat(model.graph.symbol["x"], model.graph.dx), ca.vertcat(x, dx)
        )
        resting = np.setdiff1d(np.arange(own.graph.dx.numel()), moving)
        if len(resting) and ca.depends_on(conditions, picked(own.graph.dx, resting)):
            raise ModelError(
                f"model '{model.name}' cannot be translated: initial equations contain derivatives of unknowns whose "
                "derivatives no other equation contains"
            )
        conditions = ca.substitute(ca.vertcat(*rows, conditions), picked(own.graph.dx, moving), w)
        titles = (*(f"fixed start value of {names[j]}" for j in fixed), *beginning.condition_names)
        return cls(picked(beginning.guesses, kept), ca.densify(conditions), titles, model, kept, form)

    def values(self, found: Any) -> ca.SX:
        """Values that were found, written by parameters where the model says how."""
        if found is None:
            x, rates = self.model.guesses("x")[self.kept], np.zeros(len(self.kept))
        else:
            x, rates = found.values["x"][self.kept], found.values["x_dot"][self.kept]
        y = np.array([rates[j] if order == 1 else 0.0 for j, order in self.form.y_of.tolist()])
        parameters = self.model.graph.parameter_symbols
        guessed = ca.Function("guesses", [parameters], [ca.densify(self.guesses)])
        change = x - np.array(guessed(self.model.graph.parameter_values), float).ravel()
        change[abs(change) <= 1e-14 * abs(x)] = 0.0
        values = []
        for j, value in enumerate(x):
            known = ca.symvar(self.guesses[j])
            values.append(self.guesses[j] + change[j] if known else ca.SX(float(value)))
        return ca.densify(ca.vertcat(*values, ca.SX(ca.DM(y))))


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
            picked(still, rows),
            picked(still, others),
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
            f"model '{model.name}' is an EquationsOfMotion: translate the DAE that dalembert.problems.naive(problem) "
            "makes one"
        )
    if model.untraceable:
        names = ", ".join(model.untraceable)
        raise ModelError(f"model '{model.name}' cannot be translated: {names} run as Python code")
    for name, given in model.inputs.items():
        if given.sx is None:
            raise ModelError(f"model '{model.name}' cannot be translated: input '{name}' runs as Python code")
        if given.breakpoints:
            raise ModelError(f"model '{model.name}' cannot be translated: input '{name}' has breakpoints")


def _tolerance(name: str, value: Any, default: float) -> float:
    """A tolerance that can be met."""
    try:
        number = default if value is None else real(value)
    except NoNumber as reason:
        raise OptionError(f"{name}={shown(value)} {reason}") from None
    if not 1e-14 <= number < 1.0 and not (name == "atol" and 0.0 < number < np.inf):
        raise OptionError(f"{name}={shown(value)} must be between 1e-14 and 1")
    return number


def _interval(t_span: Any) -> tuple[float, float]:
    if t_span is None:
        raise OptionError("t_span= is needed: (start, end); the model does not know when to end")
    try:
        t0, t_end = (real(value) for value in t_span)
    except (TypeError, ValueError):
        raise OptionError(f"t_span={shown(t_span)} must be two times, (start, end)") from None
    if not (np.isfinite([t0, t_end]).all() and t0 < t_end):
        raise OptionError(f"t_span={shown(t_span)}: the end must come after the start, both finite")
    return t0, t_end


def _parameters(model: Model, discrete: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in model.graph.parameters.items():
        flat = np.ravel(value)  # column by column as the graph has them
        if flat.size == 1:
            found[name] = float(flat[0])
        else:
            found.update({f"{name}[{i + 1}]": float(entry) for i, entry in enumerate(flat)})
    constant = dict(zip(model.graph.discrete, model.graph.discrete_values.tolist(), strict=True))
    return found | constant if discrete else found


def _replacement(model: Model) -> Any:
    """Inputs become expressions of time."""
    graph = model.graph
    if not model.inputs:
        return lambda *expressions: expressions
    values = [given.sx(graph.t) for given in model.inputs.values()]
    old = ca.vertcat(graph.u, graph.du, graph.ddu)
    new = ca.vertcat(*(value[order] for order in range(3) for value in values))
    return lambda *expressions: ca.substitute(list(expressions), [old], [new])
