"""Operators on values: on numbers at once, else as trees; element by element where arrays are meant.

Faults raise ValueError with a reason; who knows the place adds it.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any, Protocol

from dalembert.modelica import tree
from dalembert.modelica.values import AT, Arr, EnumValue, FunctionValue, RecordValue, as_tree, shape_of

_MANY = 100  # terms of a sum


class Algebra(Protocol):
    """What is done with open scalars that are no trees."""

    def binary(self, op: str, left: Any, right: Any) -> Any: ...

    def unary(self, op: str, value: Any) -> Any: ...

    def call(self, name: str, args: list[Any]) -> Any: ...


#: by type: scalars other than trees that are only known in the simulation (`symbolic` adds graphs)
ALGEBRAS: dict[type, Algebra] = {}

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "<>": operator.ne,
}  # fmt: skip


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def binary(op: str, left: Any, right: Any) -> Any:
    """The value of `left op right`.

    Examples
    --------
    >>> binary("*", Arr((2,), [1, 2]), Arr((2,), [3, 4]))
    11
    """
    a, b = isinstance(left, Arr), isinstance(right, Arr)
    for value in (left, right):
        if isinstance(value, RecordValue):
            raise ValueError(f"`{op}` on records (operator overloading) is not supported: {value.type}")
    if not a and not b:
        return scalar(op.lstrip("."), left, right)
    if op in ("+", "-"):
        if shape_of(left) != shape_of(right):
            raise ValueError(f"`{op}` needs equal sizes, not {_sizes(left)} and {_sizes(right)}")
        return elementwise(op, left, right)
    if op == "*":
        return elementwise("*", left, right) if not (a and b) else product(left, right)
    if op == "/":
        if b:
            raise ValueError("an array cannot be a divisor; element by element it is `./`")
        return elementwise("/", left, right)
    if op == "^":
        return _power(left, right)
    if op[0] == "." or op in ("and", "or"):
        return elementwise(op.lstrip("."), left, right)
    if a and b and all(map(is_number, (*left.items, *right.items))) and op in ("==", "<>"):
        return (left == right) == (op == "==")
    raise ValueError(f"`{op}` is for scalars")


def elementwise(op: str, left: Any, right: Any) -> Arr:
    if isinstance(left, Arr) and isinstance(right, Arr):
        if left.shape != right.shape:
            raise ValueError(f"`{op}` needs equal sizes, not {_sizes(left)} and {_sizes(right)}")
        return Arr(left.shape, [binary(op, x, y) for x, y in zip(left.items, right.items, strict=True)])
    if isinstance(left, Arr):
        return left.map(lambda x: binary(op, x, right))
    return right.map(lambda y: binary(op, left, y))


def product(left: Arr, right: Arr) -> Any:
    """Products of vectors and matrices."""
    n, m = len(left.shape), len(right.shape)
    if n > 2 or m > 2 or left.shape[-1] != right.shape[0]:
        raise ValueError(f"`*` does not fit sizes {_sizes(left)} and {_sizes(right)}")
    if n == 1 and m == 1:
        return total([scalar("*", x, y) for x, y in zip(left.items, right.items, strict=True)])
    if n == 1:
        return Arr(right.shape[1:], [product(left, column) for column in transpose(right).parts()])
    if m == 1:
        return Arr(left.shape[:1], [product(row, right) for row in left.parts()])
    columns = transpose(right).parts()
    items = [product(row, column) for row in left.parts() for column in columns]
    return Arr((left.shape[0], right.shape[1]), items)


def transpose(value: Arr) -> Arr:
    if len(value.shape) < 2:
        raise ValueError("transpose needs a matrix")
    rows, columns, *rest = value.shape
    size = math.prod(rest)
    items = [
        value.items[(i * columns + j) * size + k]
        for j, i, k in itertools.product(range(columns), range(rows), range(size))
    ]
    return Arr((columns, rows, *rest), items)


def total(items: list[Any]) -> Any:
    """A sum; of many terms the sum of two halves, as trees should not be too deep."""
    if len(items) > _MANY:
        middle = len(items) // 2
        return binary("+", total(items[:middle]), total(items[middle:]))
    found: Any = 0
    for item in items:
        found = item if is_number(found) and found == 0 else binary("+", found, item)
    return found


def _power(left: Any, right: Any) -> Any:
    if (
        not isinstance(left, Arr)
        or len(left.shape) != 2
        or left.shape[0] != left.shape[1]
        or not isinstance(right, int)
    ):
        raise ValueError("`^` with arrays is for square matrices and whole numbers; element by element it is `.^`")
    n = left.shape[0]
    found = Arr((n, n), [1 if i == j else 0 for i in range(n) for j in range(n)])
    for _ in range(right):
        found = product(found, left)
    return found


def scalar(op: str, left: Any, right: Any) -> Any:
    """An operator on two scalars."""
    algebra = ALGEBRAS.get(type(left)) or ALGEBRAS.get(type(right))
    if algebra is not None:
        return algebra.binary(op, left, right)
    if op in ("and", "or"):
        return _logical(op, left, right)
    if op in _RELATIONS:
        return _relation(op, left, right)
    for value in (left, right):
        if isinstance(value, bool | EnumValue | FunctionValue) or (isinstance(value, str) and op != "+"):
            raise ValueError(f"`{op}` is for numbers, not for {_shown(value)}")
    if isinstance(left, str) or isinstance(right, str):
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        if is_number(left) or is_number(right):
            raise ValueError("a string and a number cannot be added; use String(x)")
        return tree.Binary(AT, op, as_tree(left), as_tree(right))
    if is_number(left) and is_number(right):
        return _arithmetic(op, left, right)
    return simplified(op, left, right)


def _arithmetic(op: str, left: float, right: float) -> float | int:
    try:
        if op == "+":
            return left + right
        if op == "-":
            return left - right
        if op == "*":
            return left * right
        if op == "/":
            return left / right
        if left < 0 and right != int(right):
            raise ValueError(f"{left} ^ ({right}) is not real")
        return float(left) ** right
    except ZeroDivisionError:
        raise ValueError(f"division by zero: {left} {op} {right}") from None
    except OverflowError:
        raise ValueError(f"{left} {op} {right} is too large") from None


def simplified(op: str, left: Any, right: Any) -> Any:
    """A tree, shorter where 0 or 1 is an operand."""
    if op == "+":
        if is_number(left) and left == 0:
            return right
        if is_number(right) and right == 0:
            return left
        if isinstance(right, tree.Unary) and right.op == "-":
            return tree.Binary(AT, "-", as_tree(left), right.operand)
    elif op == "-":
        if is_number(right) and right == 0:
            return left
        if is_number(left) and left == 0:
            return negated(right)
        if isinstance(right, tree.Unary) and right.op == "-":
            return tree.Binary(AT, "+", as_tree(left), right.operand)
    elif op == "*":
        for one, other in ((left, right), (right, left)):
            if is_number(one):
                if one == 0:
                    return 0
                if one == 1:
                    return other
                if one == -1:
                    return negated(other)
    elif op == "/":
        if is_number(left) and left == 0:
            return 0
        if is_number(right):
            if right == 0:
                raise ValueError("division by zero")
            if right == 1:
                return left
    elif op == "^" and is_number(right) and right == 1:
        return left
    return tree.Binary(AT, op, as_tree(left), as_tree(right))


def negated(value: Any) -> Any:
    if is_number(value):
        return -value
    if isinstance(value, tree.Unary) and value.op == "-":
        return value.operand
    if isinstance(value, tree.Binary) and value.op == "-":
        return tree.Binary(AT, "-", value.right, value.left)
    return tree.Unary(AT, "-", as_tree(value))


def _logical(op: str, left: Any, right: Any) -> Any:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, bool):
            if one == (op == "or"):
                return one
            return other
    for value in (left, right):
        if not isinstance(value, tuple):
            raise ValueError(f"`{op}` is for Boolean values, not for {_shown(value)}")
    return tree.Binary(AT, op, left, right)


def _relation(op: str, left: Any, right: Any) -> Any:
    if isinstance(left, tuple) or isinstance(right, tuple):
        return tree.Binary(AT, op, as_tree(left), as_tree(right))
    kinds = [_kind(left), _kind(right)]
    if kinds[0] != kinds[1] or kinds[0] in ("a record", "a function"):
        raise ValueError(f"{_shown(left)} and {_shown(right)} cannot be compared")
    if isinstance(left, EnumValue):
        left, right = left.index, right.index
    return _RELATIONS[op](left, right)


def unary(op: str, value: Any) -> Any:
    """The value of `op value`."""
    if isinstance(value, Arr):
        return value.map(lambda item: unary(op, item))
    if type(value) in ALGEBRAS:
        return ALGEBRAS[type(value)].unary(op, value)
    if op == "not":
        if isinstance(value, bool):
            return not value
        if isinstance(value, tuple):
            return tree.Unary(AT, "not", value)
        raise ValueError(f"`not` is for Boolean values, not for {_shown(value)}")
    if not is_number(value) and not isinstance(value, tuple):
        raise ValueError(f"`{op}` is for numbers, not for {_shown(value)}")
    return negated(value) if op.lstrip(".") == "-" else value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a Boolean"
    if isinstance(value, str):
        return "a String"
    if isinstance(value, EnumValue):
        return f"a value of {value.type.name}"
    return "a number" if is_number(value) else "a record" if isinstance(value, RecordValue) else "a function"


def _shown(value: Any) -> str:
    if isinstance(value, RecordValue | Arr):
        return "a record" if isinstance(value, RecordValue) else "an array"
    return f"{_kind(value)} ({str(value)[:40]})"


def _sizes(value: Any) -> str:
    return f"[{', '.join(map(str, shape_of(value)))}]" if shape_of(value) else "a scalar"
