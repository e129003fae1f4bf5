"""Putting the parts of a translation together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.model.hybrid import Assignment, Claim, Hybrid, Reinit, SymbolicDAE, Symbols
from dalembert.modelica.lower.order import in_order
from dalembert.modelica.lower.symbols import DERIVATIVE, INPUT, TIME, UNKNOWN
from dalembert.modelica.lower.whens import truth

if TYPE_CHECKING:
    from dalembert.modelica.lower.translate import Translation

#: the unknown of models that have none
DUMMY = "without unknowns"

#: steps that are made at least where unknowns follow time directly
LEAST_STEPS = 500


def assemble(translation: Translation, residuals: list[tuple[Any, Any, Any]]) -> SymbolicDAE:
    space, flat = translation.space, translation.flat
    outputs = outputs_of(translation)
    # everything that may ask for further unknowns is done by now, but for start values
    names = [name for name in translation.classes.continuous if name not in translation.elimination.definitions]
    provisional = translation.start.beginning(names)
    del provisional
    kept, texts = equations(translation, residuals)
    kept = linear_in_rates(translation, kept)
    for name, symbol in translation.aux.items():
        names.append(f"der({name})")
        kept.append(symbol - space.derivatives[name])
        texts.append(f"der({name})")
    if not names:
        names.append(DUMMY)
        kept.append(space.derivatives[DUMMY])
        texts.append("nothing to solve")
    beginning = translation.start.beginning(names)
    numbers = {name: i for i, name in enumerate(names)}
    hybrid = events(translation, numbers)
    symbols = Symbols(
        t=space.t,
        x=ca.vertcat(*(space.unknowns[name] for name in names)),
        dx=ca.vertcat(*(space.derivatives[name] for name in names)),
        parameters=space.parameters.column(),
        discrete=space.discrete.column(),
        u=space.inputs.column(),
        x_names=tuple(names),
        parameter_values={name: translation.context.numbers[name] for name in space.parameters.symbols},
        discrete_values={name: space.starts[name] for name in space.discrete.symbols},
        inputs=translation.inputs,
    )
    experiment = flat.experiment
    t_span = None
    if "StopTime" in experiment or "StartTime" in experiment:
        begin = experiment.get("StartTime", 0.0)
        t_span = (begin, experiment.get("StopTime", begin + 1.0))
    return SymbolicDAE(
        name=flat.name,
        symbols=symbols,
        residual=ca.vertcat(*kept),
        equation_names=tuple(texts),
        outputs=outputs,
        beginning=beginning,
        hybrid=hybrid,
        nominal=nominals(translation, names),
        t_span=t_span,
        tolerance=experiment.get("Tolerance"),
        least_steps=LEAST_STEPS if names == [DUMMY] or follow_time(translation, kept) else 0,
    )


def equations(translation: Translation, residuals: list[tuple[Any, Any, Any]]) -> tuple[list[ca.SX], list[str]]:
    """Residuals that say something about unknowns, and what they are called."""
    kept: list[ca.SX] = []
    texts: list[str] = []
    for value, text, origin in residuals:
        kinds = translation.space.kinds(value)
        if UNKNOWN in kinds or DERIVATIVE in kinds:
            kept.append(ca.SX(value))
            texts.append(f"{text()} ({origin})")
        elif not _vanishes(translation, value):
            origin.source.fail(
                f"the equation {text()} contains no unknown any more, and does not hold: it contradicts others",
                origin.at, "Some equations may say the same twice",
            )  # fmt: skip
    return kept, texts


def follow_time(translation: Translation, residuals: list[ca.SX]) -> bool:
    """Whether unknowns that are not differentiated follow time directly: the control of errors does not see them."""
    space = translation.space
    insides = [space.in_graph(one) for one in residuals]
    moving = {name for inside in insides for kind, name in inside if kind == DERIVATIVE}
    for inside in insides:
        kinds = {kind for kind, _ in inside}
        if TIME in kinds or INPUT in kinds:
            unknowns = {name for kind, name in inside if kind == UNKNOWN}
            if DERIVATIVE not in kinds and unknowns and unknowns.isdisjoint(moving):
                return True
    return False


def linear_in_rates(translation: Translation, residuals: list[ca.SX]) -> list[ca.SX]:
    """Residuals in which unknowns of their own stand for derivatives that do not enter linearly."""
    space = translation.space
    if not residuals or not space.derivatives.symbols:
        return residuals
    column, rates = ca.vertcat(*residuals), space.derivatives.column()
    names = [name for kind, name in space.in_graph(ca.jacobian(column, rates)) if kind == DERIVATIVE]
    if not names:
        return residuals
    symbols = ca.vertcat(*(space.derivatives[name] for name in names))
    others = ca.vertcat(*(translation.rate_unknown(name) for name in names))
    return ca.vertsplit(ca.substitute(column, symbols, others))


def _vanishes(translation: Translation, value: Any) -> bool:
    """Whether a value without unknowns is zero for all times and discrete values that are tried."""
    if not isinstance(value, ca.SX):
        return abs(value) <= 1e-9
    value = translation.space.with_values([value], translation.context.numbers)
    free = ca.symvar(value)
    function = ca.Function("f", [ca.vertcat(*free)] if free else [], [value])
    random = np.random.default_rng(1)
    for _ in range(4):
        point = random.uniform(0, 1, len(free))
        found = float(function(point) if free else function()["o0"])
        if not abs(found) <= 1e-9:
            return False
    return True


def events(translation: Translation, numbers: dict[str, int]) -> Hybrid | None:
    space, whens, watch = translation.space, translation.whens, translation.watch
    context = translation.context
    assignments = in_order([*watch.assignments, *whens.assignments, *translation.assignments], space)
    assignments = [
        Assignment(place=one.place, value=context.without_rates(one.value), name=one.name) for one in assignments
    ]
    reinits = []
    for condition, target, value, text in whens.restarts:
        unknown, factor = restarted(translation, target)
        if unknown not in numbers:
            context.fail(f"`reinit` of `{target}`, which is not an unknown of its own", None)
        value = ca.SX(value) * factor
        reinits.append(Reinit(condition=truth(condition), unknown=numbers[unknown], value=value, name=text))
    claims = list(whens.claims)
    for slope, name in watch.signs:
        message = (f"the model was translated for times of {name} that come in order; load it with these parameters",)
        claims.append(Claim(condition=slope > 0, message=message, name=name))
    for factor, name in translation.elimination.divisors:
        if not factor.is_symbolic():  # of those the recipe takes care
            message = f"an equation was solved for {name}, whose factor is zero now: load it with these parameters"
            claims.append(Claim(condition=factor != 0, message=(message,), name=f"factor of {name}"))
    if not (space.discrete.symbols or claims or watch.relations):
        return None
    places = {name: space.place(entry) for name, entry in translation._flags.items()}
    return Hybrid(
        relations=tuple(watch.relations),
        assignments=tuple(assignments),
        previous={space.place(now): space.place(before) for now, before in space.previous.items()},
        samples=tuple(watch.samples),
        reinits=tuple(reinits),
        claims=tuple(claims),
        initial=places.get("initial"),
        terminal=places.get("terminal"),
    )


def restarted(translation: Translation, name: str) -> tuple[str, float]:
    """The unknown that is set anew, and its sign, if an alias of it is."""
    row = translation.elimination.definitions.get(name)
    if row is None:
        return name, 1.0
    if len(row.linear) == 1 and not row.rest:
        (_, other), coefficient = next(iter(row.linear.items()))
        return other, -1.0 / coefficient
    return name, 1.0


def outputs_of(translation: Translation) -> dict[str, ca.SX]:
    """Everything that has a name and is neither an unknown nor an entry of θ."""
    space, found = translation.space, {}
    taken = {*space.parameters.symbols, *space.discrete.symbols, *space.inputs.symbols}
    for name in translation.flat.variables:
        if name in taken:
            continue
        value = translation.context.values.get(name)
        if value is None and name in translation.classes.continuous:
            value = translation.value_of(name)
        if isinstance(value, bool | int | float):
            found[name] = ca.SX(float(value))
        elif isinstance(value, ca.SX):
            if value.is_symbolic() and name in space.unknowns:
                continue
            found[name] = translation.context.without_rates(value)
    return found


def nominals(translation: Translation, names: list[str]) -> dict[str, float]:
    found = {}
    for name in names:
        variable = translation.flat.variables.get(name)
        node = variable.attributes.get("nominal") if variable is not None else None
        if node is None:
            continue
        translation.context.origin = variable.origin
        with translation.evaluator.without_events():
            value = translation.evaluator.value(node)
        if isinstance(value, ca.SX):
            value = translation.space.with_values([value], translation.context.numbers)
            if not value.is_constant():
                continue
        if abs(float(value)) > 0:
            found[name] = abs(float(value))
    return found
