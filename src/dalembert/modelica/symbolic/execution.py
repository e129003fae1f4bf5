"""Statements on graphs: what is known is carried out, and what is open is done under conditions.

An `if` whose condition is only known in the simulation is carried out in all its branches, and every variable becomes
a choice between what they made of it. After a `return` or `break` under such a condition, statements change nothing
where the condition holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import casadi as ca

from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.choices import either, mapped
from dalembert.modelica.symbolic.expressions import Expressions
from dalembert.modelica.values import Arr, RecordValue, shape_of

MOST_STATEMENTS = 200_000  # of one call or algorithm, those of functions that it calls included
MOST_OPEN_TURNS = 100  # of a loop whose end is only known in the simulation


class Budget:
    """Statements that may still be carried out."""

    def __init__(self) -> None:
        self.left = MOST_STATEMENTS
        self.open_turns = MOST_OPEN_TURNS * 4  # of all loops whose end is open


@dataclass(slots=True)
class State:
    """Values by name, and whether the rest is left out: what was `return`ed from, which loop is `break`ing."""

    values: dict[str, Any]
    returned: Any = False
    broken: Any = False

    def alive(self) -> Any:
        """Whether the next statement is reached: True, False or a graph."""
        return scalars.negation(scalars.logical("or", self.returned, self.broken))


class Host(Protocol):
    """Who carries out statements: a function, or an algorithm of a model."""

    state: State

    def target(self, name: str, node: tree.Ref) -> None:
        """Refuse what cannot be assigned to."""

    def action(self, call: tree.Call, evaluator: Expressions) -> None:
        """A call whose results are not used, under the condition `evaluator.path()`."""

    def when(self, node: tree.When, execution: Execution) -> None:
        """A when-statement."""

    def claim(self, condition: ca.SX, message: tuple[Any, ...], node: Any) -> bool:
        """What has to hold in the simulation; whether an event looks at it."""

    def fail(self, message: str, node: Any, suggestion: str | None = None) -> NoReturn: ...


class Execution:
    """Carries out statements of a host."""

    def __init__(self, host: Host, evaluator: Expressions, budget: Budget):
        self.host, self.evaluator, self.budget = host, evaluator, budget

    def block(self, statements: tuple[tree.Statement, ...] | list[tree.Statement]) -> None:
        for i, node in enumerate(statements):
            alive = self.host.state.alive()
            if alive is False:
                return
            if alive is not True:
                self.under(alive, lambda i=i: self.block(statements[i:]))
                return
            self.placed(node)

    def under(self, condition: ca.SX, action: Any) -> None:
        """Do something that only counts where a condition holds."""
        before = self.host.state
        after = self.apart(condition, action, before)
        self.host.state = merged(condition, after, before)

    def apart(self, condition: Any, action: Any, start: State) -> State:
        """The state after an action that is taken under a condition, from a state that is left as it is."""
        host = self.host
        before = host.state
        host.state = State(dict(start.values))
        try:
            with self.evaluator.under_condition(condition):
                action()
            return host.state
        finally:
            host.state = before

    def placed(self, node: tree.Statement) -> None:
        """Carry out a statement; what is wrong is an error at its place."""
        try:
            self.statement(node)
        except ValueError as reason:
            if isinstance(reason, ModelicaError):
                raise
            self.host.fail(str(reason), node)

    def statement(self, node: tree.Statement) -> None:
        self.spend(node)
        match node:
            case tree.Assignment(target=tree.Ref()):
                self.assign(node.target, self.evaluator.value(node.value))
            case tree.Assignment(target=tree.Array()):
                values = [self.evaluator.value(one) for one in node.value.items]
                for target, value in zip(node.target.items, values, strict=True):
                    self.assign(target, value)
            case tree.Assignment():
                self.assign_many(node)
            case tree.If():
                self.choice(node)
            case tree.For():
                self.turns(node, node.iterators)
            case tree.While():
                self.repeat(node)
            case tree.Break():
                self.host.state.broken = True
            case tree.Return():
                self.host.state.returned = True
            case tree.When():
                self.host.when(node, self)
            case tree.CallStatement():
                self.host.action(node.call, self.evaluator)
            case _:
                self.host.fail("this statement cannot stand in an algorithm", node)

    # -- branches and loops --------------------------------------------------------------------------------------

    def choice(self, node: tree.If) -> None:
        open_: list[tuple[Any, Any]] = []
        last = node.otherwise or ()
        for condition, body in node.branches:
            value = self.condition(condition)
            if value is True:
                last = body
                break
            if value is not False:
                open_.append((value, body))
        self.branches(open_, last)

    def branches(self, open_: list[tuple[Any, Any]], last: Any) -> None:
        """Bodies under conditions of which the first that holds counts, and `last` if none does."""
        if not open_:
            self.block(last)
            return
        start = self.host.state
        reached: Any = True
        ends = []
        for condition, body in open_:
            here = scalars.logical("and", reached, condition)
            ends.append((condition, self.apart(here, lambda body=body: self.block(body), start)))
            reached = scalars.logical("and", reached, scalars.negation(condition))
        found = self.apart(reached, lambda: self.block(last), start)
        for condition, end in reversed(ends):
            found = merged(condition, end, found)
        self.host.state = found

    def condition(self, node: tree.Expression) -> Any:
        value = self.evaluator.value(node)
        if not isinstance(value, bool | ca.SX):
            self.host.fail("a condition has to be true or false", node)
        return value

    def turns(self, node: tree.For, iterators: tuple[tree.Iterator, ...]) -> None:
        """A loop; with several iterators it is one loop in another."""
        if not iterators:
            self.block(node.body)
            return
        for value in self.evaluator.iterator_values(iterators[0], node.body):
            alive = self.host.state.alive()
            if alive is False:
                break
            self.spend(node)
            with self.evaluator.turn(iterators[0].name, value):
                if alive is True:
                    self.turns(node, iterators[1:])
                else:
                    self.under(alive, lambda: self.turns(node, iterators[1:]))
        self.host.state.broken = False

    def repeat(self, node: tree.While) -> None:
        """A while-loop. If its end is only known in the simulation, it is unrolled under conditions; where it has not
        ended then, a claim is broken; and values are nan if no event can look at that."""
        start = self.host.state.values
        turns = 0
        while (alive := self.host.state.alive()) is not False:
            if alive is True:
                going = self.condition(node.condition)
            else:
                with self.evaluator.under_condition(alive):
                    going = scalars.logical("and", alive, self.condition(node.condition))
            if going is False:
                break
            self.spend(node)
            if going is True:
                self.block(node.body)
                continue
            turns += 1
            if turns > MOST_OPEN_TURNS:
                self.endless(going, start, node)
                break
            self.budget.open_turns -= 1
            if self.budget.open_turns < 0:
                self.host.fail(
                    "there are too many loops, one in the other, whose end is only known in the simulation", node,
                    "Write for-loops with a known number of turns and `break`",
                )  # fmt: skip
            self.host.state.broken = scalars.logical("or", self.host.state.broken, scalars.negation(going))
            self.block(node.body)
        self.host.state.broken = False

    def endless(self, going: ca.SX, start: dict[str, Any], node: tree.While) -> None:
        host = self.host
        ended = scalars.negation(scalars.logical("and", self.evaluator.path(), going))
        if host.claim(ended, (f"a loop has not ended after {MOST_OPEN_TURNS} turns",), node):
            return
        for name, value in host.state.values.items():
            if value is not start.get(name):
                host.state.values[name] = mapped(
                    value, lambda one: one if one is None else scalars.choice(going, math.nan, one)
                )

    def spend(self, node: Any) -> None:
        self.budget.left -= 1
        if self.budget.left < 0:
            self.host.fail(f"this takes more than {MOST_STATEMENTS} statements", node)

    # -- assignments ---------------------------------------------------------------------------------------------

    def assign_many(self, node: tree.Assignment) -> None:
        if isinstance(node.value, tree.Call) and not node.value.iterators:
            results = self.evaluator.results(node.value)
        else:
            results = [self.evaluator.value(node.value)]
        if len(results) < len(node.target.items):
            self.host.fail(f"there are {len(results)} results for {len(node.target.items)} variables", node)
        for target, value in zip(node.target.items, results, strict=False):
            if target is not None:
                self.assign(target, value)

    def assign(self, target: tree.Ref, value: Any) -> None:
        name = target.names[0]
        self.host.target(name, target)
        values = self.host.state.values
        if target.subs is None and len(target.names) == 1:
            old = values.get(name)
            if isinstance(old, Arr) and shape_of(value) != old.shape:
                self.host.fail(f"a value of {_sized(value)} is assigned to `{name}`, of {_sized(old)}", target)
            values[name] = value
            return
        values[name] = self.replaced(values.get(name), target, 0, value)

    def replaced(self, old: Any, target: tree.Ref, i: int, value: Any) -> Any:
        """`old` with the part that the target names, from name number `i` on, replaced."""
        subs = None if target.subs is None else target.subs[i]
        if subs is None:
            if i + 1 == len(target.names):
                return value
            name = target.names[i + 1]
            if not isinstance(old, RecordValue) or name not in old.fields:
                self.host.fail(f"there is no field `{name}`", target)
            return RecordValue(old.type, old.fields | {name: self.replaced(old.fields[name], target, i + 1, value)})
        if not isinstance(old, Arr) or len(subs) > len(old.shape):
            self.host.fail(f"`{target.names[i]}` is no array with {len(subs)} dimensions, or has no size yet", target)
        picks = [self.evaluator.subscript(sub, n) for sub, n in zip(subs, old.shape, strict=False)]
        return self.element(old, picks, target, i, value)

    def element(self, old: Arr, picks: list[Any], target: tree.Ref, i: int, value: Any) -> Arr:
        for k, pick in enumerate(picks):
            if isinstance(pick, ca.SX):  # every element is replaced, where its number is meant
                found = old
                for number in range(old.shape[k]):
                    new = self.element(found, [*picks[:k], number, *picks[k + 1 :]], target, i, value)
                    found = choose(pick == number + 1, new, found)
                return found
        where = Arr(old.shape, list(range(len(old.items)))).pick(picks)
        items = list(old.items)
        last = i + 1 == len(target.names)
        if isinstance(where, Arr):
            if not last or shape_of(value) != where.shape:
                self.host.fail(f"a value of {_sized(value)} does not fit {_sized(where)}", target)
            for k, item in zip(where.items, value.items, strict=True):
                items[k] = item
        elif last:
            if isinstance(value, Arr):
                self.host.fail(f"a value of {_sized(value)} is assigned to one element", target)
            items[where] = value
        else:
            rest = tree.Ref(target.at, target.names[i:], (None, *target.subs[i + 1 :]))
            items[where] = self.replaced(items[where], rest, 0, value)
        return Arr(old.shape, items)


def merged(condition: ca.SX, then: State, otherwise: State) -> State:
    """The state after a choice."""
    values = {}
    for name in {**then.values, **otherwise.values}:
        a, b = then.values.get(name), otherwise.values.get(name)
        values[name] = a if a is b else choose(condition, a, b)
    return State(
        values,
        scalars.choice(condition, then.returned, otherwise.returned),
        scalars.choice(condition, then.broken, otherwise.broken),
    )


def choose(condition: ca.SX, then: Any, otherwise: Any) -> Any:
    """A choice of which one side may have no value yet (None): the other is then the only one that makes sense."""
    if then is None or otherwise is None:
        return otherwise if then is None else then
    if then is otherwise:
        return then
    if isinstance(then, Arr) and isinstance(otherwise, Arr) and then.shape == otherwise.shape:
        pairs = zip(then.items, otherwise.items, strict=True)
        return Arr(then.shape, [choose(condition, a, b) for a, b in pairs])
    if isinstance(then, RecordValue) and isinstance(otherwise, RecordValue):
        return RecordValue(
            then.type, {name: choose(condition, one, otherwise.fields[name]) for name, one in then.fields.items()}
        )
    return either(condition, then, otherwise)


def _sized(value: Any) -> str:
    return f"size {list(shape_of(value))}" if shape_of(value) else "one scalar"
