"""Which variables are discrete, and which equations determine them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from dalembert.modelica import tree
from dalembert.modelica.balance import match
from dalembert.modelica.flat import FlatEquation, FlatModel, Origin, assigned, targets
from dalembert.modelica.values import AT


@dataclass
class ScalarEquation:
    """left = right, one scalar."""

    left: tree.Expression
    right: tree.Expression
    origin: Origin

    def text(self) -> str:
        from dalembert.modelica.lower.context import short_text

        return f"{short_text(self.left)} = {short_text(self.right)}"


@dataclass
class Classes:
    """Names of all variables that are determined in the simulation, and what determines the discrete ones.

    `defined` maps discrete variables to the equation that says their value, `aliases` to other ones that they equal.
    `equations` are all that are left: those of the continuous unknowns.
    """

    continuous: dict[str, None] = field(default_factory=dict)
    discrete: dict[str, None] = field(default_factory=dict)
    by_event: set[str] = field(default_factory=set)  # determined by when-clauses and algorithms
    defined: dict[str, ScalarEquation] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    equations: list[ScalarEquation] = field(default_factory=list)


def classify(flat: FlatModel, free: Collection[str]) -> Classes:
    """Sort variables; parameters that are `free` are found at the start, as unknowns that stay what they are."""
    classes = Classes()
    held = {name for when in flat.whens for name in assigned(when)}
    in_algorithms: set[str] = set()
    determined = [(name, when.origin) for when in flat.whens for name in assigned(when)]
    determined += [(name, algorithm.origin) for algorithm in flat.algorithms for name in algorithm.targets]
    for name, origin in determined:
        if name not in flat.variables or not flat.variables[name].is_unknown:
            origin.source.fail(f"`{name}` cannot be assigned to", origin.at)
    for algorithm in flat.algorithms:
        in_algorithms.update(algorithm.targets)
        held |= _only_in_when(algorithm.statements)
    for name, variable in flat.variables.items():
        if name in free:
            classes.continuous[name] = None
        elif variable.is_unknown:
            is_discrete = variable.type != "Real" or variable.variability == "discrete" or name in held
            (classes.discrete if is_discrete else classes.continuous)[name] = None
    classes.by_event = (held | in_algorithms) & classes.discrete.keys()
    _match_discrete(flat, classes)
    return classes


def scalar_equations(equation: FlatEquation) -> Iterator[ScalarEquation]:
    """One for each scalar on the left; the right side is then one call with several results."""
    left, right = equation.left, equation.right
    if isinstance(left, tree.Tuple):
        call = tree.Tuple(AT, (right,))
        for i, item in enumerate(left.items, 1):
            if item is not None:
                for part, subs in _elements(item):
                    numbers = tuple(tree.Literal(AT, k) for k in (i, *subs))
                    yield ScalarEquation(part, tree.Index(AT, call, numbers), equation.origin)
    elif isinstance(left, tree.Array):
        for part, subs in _elements(left):
            numbers = tuple(tree.Literal(AT, k) for k in subs)
            yield ScalarEquation(part, tree.Index(AT, right, numbers), equation.origin)
    else:
        yield ScalarEquation(left, right, equation.origin)


def _elements(node: Any) -> Iterator[tuple[tree.Expression, tuple[int, ...]]]:
    if isinstance(node, tree.Array):
        for i, item in enumerate(node.items, 1):
            for part, subs in _elements(item):
                yield part, (i, *subs)
    elif not (isinstance(node, tree.Call) and node.function.names == ("fill",)):  # that is an array without elements
        yield node, ()


def _only_in_when(statements: list[tree.Statement]) -> set[str]:
    """Variables that are only assigned to within when."""
    inside = {name for one in statements if isinstance(one, tree.When) for name in targets([one])}
    outside = {name for one in statements if not isinstance(one, tree.When) for name in targets([one])}
    return inside - outside


def _match_discrete(flat: FlatModel, classes: Classes) -> None:
    """Every discrete variable gets an equation in which it stands alone on one side."""
    everything = [one for equation in flat.equations for one in scalar_equations(equation)]
    wanted = {name: i for i, name in enumerate(name for name in classes.discrete if name not in classes.by_event)}
    rows = [[wanted[name] for side in (one.left, one.right) if (name := _alone(side)) in wanted] for one in everything]
    candidates = [k for k, row in enumerate(rows) if row]
    partner = match([rows[k] for k in candidates], len(wanted))
    taken: set[int] = set()
    for name, i in wanted.items():
        if partner[i] < 0:
            origin = flat.variables[name].origin
            origin.source.fail(
                f"no equation has the discrete variable `{name}` alone on one side", origin.at,
                f"Write `{name} = …`",
            )  # fmt: skip
        k = candidates[partner[i]]
        taken.add(k)
        one = everything[k]
        if _alone(one.left) != name:
            one = ScalarEquation(one.right, one.left, one.origin)
        classes.defined[name] = one
        other = _alone(one.right)
        if other in classes.discrete and flat.variables[other].type == flat.variables[name].type:
            classes.aliases[name] = other
    _cut_circles(classes)
    classes.equations = [one for k, one in enumerate(everything) if k not in taken]


def _cut_circles(classes: Classes) -> None:
    for name in list(classes.aliases):
        seen = {name}
        other = classes.aliases.get(name)
        while other is not None and other not in seen:
            seen.add(other)
            other = classes.aliases.get(other)
        if other is not None:  # nothing but each other determines them
            origin = classes.defined[name].origin
            origin.source.fail(f"`{name}` is only said to be equal to itself", origin.at)


def _alone(node: Any) -> str | None:
    return node.names[0] if isinstance(node, tree.Ref) and len(node.names) == 1 and node.subs is None else None
