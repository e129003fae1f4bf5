"""Arrays in expressions: subscripts, ranges, comprehensions, reductions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.modelica import builtins, operators, tree
from dalembert.modelica.symbolic.choices import Value, either
from dalembert.modelica.values import Arr, shape_of, stack

if TYPE_CHECKING:
    from dalembert.modelica.symbolic.context import Context

MOST_TURNS = 100_000  # of a loop or comprehension
_REDUCTIONS = ("sum", "product", "min", "max", "array")


class Arrays:
    """The part of the evaluator that is about arrays."""

    context: Context
    guards: list[Any]
    # of the other parts
    value: Callable[[tree.Expression], Value]
    known: Callable[[Value, str, Any], Value]
    whole: Callable[[Value, str, Any], int]

    def __init__(self) -> None:
        self.ends: list[int] = []  # what `end` means, innermost last
        self.turns: list[dict[str, Any]] = []  # values of iterators, innermost last

    # -- subscripts ----------------------------------------------------------------------------------------------

    def subscripted(self, value: Value, subs: tuple[tree.Expression, ...], node: Any) -> Value:
        if not isinstance(value, Arr) or len(subs) > len(value.shape):
            self.context.fail(f"there are {len(subs)} subscripts for {len(shape_of(value))} dimensions", node)
        return self.picked(value, [self.subscript(sub, n) for sub, n in zip(subs, value.shape, strict=False)], node)

    def picked(self, value: Arr, picks: list[Any], node: Any) -> Value:
        """A part of an array; a subscript that is a graph makes a choice between all elements."""
        for i, pick in enumerate(picks):
            if isinstance(pick, ca.SX):
                cases = [self.picked(value, [*picks[:i], k, *picks[i + 1 :]], node) for k in range(value.shape[i])]
                if not cases:
                    self.context.fail("an array without elements has no subscripts", node)
                found = cases[-1]
                for k in range(len(cases) - 2, -1, -1):
                    found = either(pick <= k + 1, cases[k], found)
                return found
        return value.pick(picks)

    def subscript(self, sub: tree.Expression, n: int) -> int | list[int] | ca.SX:
        """A number or a list of numbers from 0, or a graph (from 1)."""
        if isinstance(sub, tree.Colon):
            return list(range(n))
        self.ends.append(n)
        try:
            found = self.value(sub)
        finally:
            self.ends.pop()
        if isinstance(found, Arr):
            found = self.known(found, "subscripts", sub)
            return [self.number_of(item, n, sub) for item in found.items]
        return found if isinstance(found, ca.SX) else self.number_of(found, n, sub)

    def number_of(self, value: Any, n: int, sub: Any) -> int:
        if isinstance(value, bool):
            value = int(value) + 1
        value = self.whole(value, "a subscript", sub)
        if not 1 <= value <= n:
            if self.guards and n:
                return 0  # never looked at
            self.context.fail(f"the subscript {value} is not between 1 and {n}", sub)
        return value - 1

    # -- ranges and iterators -----------------------------------------------------------------------------------------

    def range(self, node: tree.Range) -> Arr:
        parts = [node.start, node.stop] if node.step is None else [node.start, node.step, node.stop]
        values = [self.known(self.value(part), "a range", node) for part in parts]
        if isinstance(values[0], bool):
            return stack([v for v in (False, True) if values[0] <= v <= values[-1]])
        start, stop = values[0], values[-1]
        step = values[1] if len(values) == 3 else 1
        if not all(map(operators.is_number, values)) or step == 0:
            self.context.fail("a range needs numbers, and a step that is not 0", node)
        turns = (stop - start) / step
        count = int(turns + 1e-10) + 1 if turns >= -1e-10 else 0
        if count > MOST_TURNS:
            self.context.fail(f"this range has {count} elements", node)
        start, step = (int(one) if isinstance(one, float) and one.is_integer() and not any(
            isinstance(v, float) and not v.is_integer() for v in values) else one for one in (start, step))  # fmt: skip
        return stack([start + i * step for i in range(count)])

    def array(self, node: tree.Array) -> Arr:
        if node.iterators:
            return self.comprehension(node.items[0], node.iterators)
        return stack([self.value(item) for item in node.items])

    def comprehension(self, item: tree.Expression, iterators: tuple[tree.Iterator, ...]) -> Value:
        """Arrays with iterators; the last iterator is the outermost dimension."""
        if not iterators:
            return self.value(item)
        parts = []
        for value in self.iterator_values(iterators[-1], (item,)):
            with self.turn(iterators[-1].name, value):
                parts.append(self.comprehension(item, iterators[:-1]))
        return stack(parts)

    @contextmanager
    def turn(self, name: str, value: Any) -> Iterator[None]:
        self.turns.append({name: value})
        try:
            yield
        finally:
            self.turns.pop()

    def iterator_values(self, iterator: tree.Iterator, body: Any) -> list[Any]:
        if iterator.range is None:
            n = self.implied_size(iterator.name, body)
            if n is None:
                self.context.fail(f"the range of `{iterator.name}` cannot be deduced", iterator, "Write `in 1:n`")
            return list(range(1, n + 1))
        found = self.value(iterator.range)
        return found.parts() if isinstance(found, Arr) else [found]

    def implied_size(self, name: str, node: Any) -> int | None:
        """The size of an array that has this name as one of its subscripts."""
        if isinstance(node, tree.Ref) and node.subs is not None:
            for i, subs in enumerate(node.subs):
                for k, sub in enumerate(subs or ()):
                    if isinstance(sub, tree.Ref) and sub.names == (name,):
                        whole = node._replace(names=node.names[: i + 1], subs=(*node.subs[:i], None))
                        return shape_of(self.value(whole))[k]
        if isinstance(node, tuple):
            for child in node:
                if isinstance(child, tuple) and (found := self.implied_size(name, child)) is not None:
                    return found
        return None

    def reduction(self, node: tree.Call, name: str) -> Value:
        if name not in _REDUCTIONS:
            self.context.fail(f"`{name}` cannot be used with `for`; {', '.join(_REDUCTIONS)} can", node)
        if name == "array":
            return self.comprehension(node.args[0], node.iterators)
        values: list[Any] = []
        ranges = [self.iterator_values(one, node.args) for one in node.iterators]
        for row in itertools.product(*ranges):
            self.turns.append(dict(zip((one.name for one in node.iterators), row, strict=True)))
            try:
                values.append(self.value(node.args[0]))
            finally:
                self.turns.pop()
        if name == "sum":
            return operators.total(values)
        if name == "product":
            return builtins.ARRAY["product"](stack(values))
        return builtins.extreme(name, [stack(values)])
