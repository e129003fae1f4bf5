"""What expressions become: numbers, truth values, strings, enumeration values, arrays, records, or trees.

A tree stands for a scalar that is only known in the simulation. Arrays hold scalars (or records) in row-major order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dalembert.modelica import tree

AT = 0  # trees of the flat model have no place of their own: their equation has
NUMBER = -1  # the place of a literal that is the number of an element


class EnumType:
    """An enumeration with its full name and its literals in order."""

    __slots__ = ("literals", "name")

    def __init__(self, name: str, literals: Sequence[str]):
        self.name, self.literals = name, tuple(literals)

    def value(self, literal: str) -> EnumValue:
        return EnumValue(self, self.literals.index(literal) + 1)

    def values(self) -> list[EnumValue]:
        return [EnumValue(self, i + 1) for i in range(len(self.literals))]


class EnumValue:
    """A value of an enumeration; `index` counts from 1."""

    __slots__ = ("index", "type")

    def __init__(self, type_: EnumType, index: int):
        self.type, self.index = type_, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumValue) and (self.type.name, self.index) == (other.type.name, other.index)

    def __hash__(self) -> int:
        return hash((self.type.name, self.index))

    @property
    def literal(self) -> str:
        return self.type.literals[self.index - 1]

    def __repr__(self) -> str:
        return f"{self.type.name}.{self.literal}"


class Arr:
    """An array; `items` in row-major order.

    Examples
    --------
    >>> stack([stack([1, 2]), stack([3, 4])])[1]
    Arr((2,), [3, 4])
    """

    __slots__ = ("items", "shape")

    def __init__(self, shape: tuple[int, ...], items: list[Any]):
        self.shape, self.items = shape, items

    def __repr__(self) -> str:
        return f"Arr({self.shape}, {self.items})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arr) and self.shape == other.shape and self.items == other.items

    __hash__ = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, i: int) -> Any:
        """Part `i` along the first dimension, counted from 0."""
        if len(self.shape) == 1:
            return self.items[i]
        size = math.prod(self.shape[1:])
        return Arr(self.shape[1:], self.items[i * size : (i + 1) * size])

    def parts(self) -> list[Any]:
        return [self[i] for i in range(self.shape[0])]

    def map(self, function: Callable[[Any], Any]) -> Arr:
        return Arr(self.shape, [function(item) for item in self.items])

    def pick(self, subscripts: Sequence[int | list[int]]) -> Any:
        """Elements by numbers from 0; lists of numbers keep their dimension."""
        subs = [*subscripts, *(list(range(n)) for n in self.shape[len(subscripts) :])]
        steps = [math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]
        shape = tuple(len(sub) for sub in subs if isinstance(sub, list))
        ranges = [sub if isinstance(sub, list) else [sub] for sub in subs]
        offsets = [[i * step for i in sub] for sub, step in zip(ranges, steps, strict=True)]
        items = [self.items[sum(where)] for where in itertools.product(*offsets)]
        return Arr(shape, items) if shape else items[0]


class RecordValue:
    """Values of fields by name; `type` is the full name of the record class."""

    __slots__ = ("fields", "type")

    def __init__(self, type_: str, fields: dict[str, Any]):
        self.type, self.fields = type_, fields

    def __repr__(self) -> str:
        return f"{self.type}({self.fields})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordValue) and self.fields == other.fields

    __hash__ = None


class FunctionValue:
    """A function that is handed over, with some inputs bound."""

    __slots__ = ("bound", "klass")

    def __init__(self, klass: Any, bound: dict[str, Any]):
        self.klass, self.bound = klass, bound

    def __repr__(self) -> str:
        return f"function {self.klass.name}"


def products(dims: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All subscripts of an array, from 1."""
    return itertools.product(*(range(1, n + 1) for n in dims))


def stack(parts: Sequence[Any]) -> Arr:
    """An array of parts of equal shape. Raises ValueError if shapes differ."""
    if parts and isinstance(parts[0], Arr):
        shape = parts[0].shape
        for part in parts:
            if not isinstance(part, Arr) or part.shape != shape:
                raise ValueError(f"its elements have different sizes: {list(shape)} and {list(shape_of(part))}")
        return Arr((len(parts), *shape), [item for part in parts for item in part.items])
    if any(isinstance(part, Arr) for part in parts):
        raise ValueError("its elements are scalars and arrays")
    return Arr((len(parts),), list(parts))


def shape_of(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, Arr) else ()


def scalars(value: Any) -> Iterable[Any]:
    """All scalars within a value."""
    if isinstance(value, Arr):
        for item in value.items:
            yield from scalars(item)
    elif isinstance(value, RecordValue):
        for item in value.fields.values():
            yield from scalars(item)
    else:
        yield value


def is_known(value: Any) -> bool:
    """Whether nothing within a value waits for the simulation."""
    return not any(isinstance(one, tuple) for one in scalars(value))


def as_tree(value: Any) -> tree.Expression:
    """A value as an expression."""
    if isinstance(value, Arr):
        if not value.shape[0] or not all(value.shape):
            filler = tree.Ref(AT, ("fill",))
            return tree.Call(AT, filler, (tree.Literal(AT, 0.0), *(tree.Literal(AT, n) for n in value.shape)))
        return tree.Array(AT, tuple(as_tree(part) for part in value.parts()))
    if isinstance(value, RecordValue):
        named = tuple(tree.Named(AT, name, as_tree(field)) for name, field in value.fields.items())
        return tree.Call(AT, tree.Ref(AT, (value.type,)), (), named)
    if isinstance(value, EnumValue):
        return tree.Ref(AT, (value.type.name, value.literal))
    if isinstance(value, FunctionValue):
        named = tuple(tree.Named(AT, name, as_tree(one)) for name, one in value.bound.items())
        return tree.Partial(AT, tree.Ref(AT, (value.klass.name,)), named)
    if isinstance(value, bool | int | float | str):
        return tree.Literal(AT, value)
    return value
