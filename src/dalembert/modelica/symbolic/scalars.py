"""Operators and functions on scalars that are numbers or CasADi graphs.

What is known stays a Python number, and what follows from it is computed at once. Truth values are `bool`, or graphs
that are 0 or 1. Faults raise ValueError with a reason; who knows the place adds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import casadi as ca

from dalembert.modelica import operators
from dalembert.modelica.builtins import SCALAR as NUMBERS
from dalembert.modelica.operators import is_number

Scalar: TypeAlias = "bool | int | float | str | ca.SX"

RELATIONS = ("<", "<=", ">", ">=", "==", "<>")

_RELATION: dict[str, Callable[[Any, Any], ca.SX]] = {
    "<": ca.lt, "<=": ca.le, ">": ca.gt, ">=": ca.ge, "==": ca.eq, "<>": ca.ne,
}  # fmt: skip


def folded(value: ca.SX) -> Scalar:
    """A number, if a graph is one."""
    return float(value) if value.is_constant() else value


def arithmetic(op: str, left: Scalar, right: Scalar) -> Scalar:
    """`left op right` for + - * / ^ on numbers and graphs.

    Examples
    --------
    >>> x = ca.SX.sym("x")
    >>> arithmetic("*", 0, x), arithmetic("+", x, 0), arithmetic("*", 3, x)
    (0, SX(x), SX((3*x)))
    """
    for value in (left, right):
        if not isinstance(value, ca.SX) and not is_number(value):
            raise ValueError(f"`{op}` is for numbers, not for {value!r}")
    if not isinstance(left, ca.SX) and not isinstance(right, ca.SX):
        return operators.scalar(op, left, right)
    if op == "+":
        if _is(left, 0):
            return right
        return left if _is(right, 0) else folded(left + right)
    if op == "-":
        return left if _is(right, 0) else folded(left - right)
    if op == "*":
        if _is(left, 0) or _is(right, 0):
            return 0
        if _is(left, 1):
            return right
        return left if _is(right, 1) else folded(left * right)
    if op == "/":
        if _is(right, 0):
            raise ValueError("division by zero")
        if _is(left, 0):
            return 0
        return left if _is(right, 1) else folded(left / right)
    if _is(right, 1):
        return left
    return 1.0 if _is(right, 0) else folded(left**right)


def _is(value: Scalar, number: int) -> bool:
    return not isinstance(value, ca.SX) and value == number


def truth(value: Scalar, op: str) -> None:
    if not isinstance(value, bool | ca.SX):
        raise ValueError(f"`{op}` is for Boolean values, not for {value!r}")


def logical(op: str, left: Scalar, right: Scalar) -> Scalar:
    """`and`, `or`."""
    truth(left, op)
    truth(right, op)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, bool):
            return one if one == (op == "or") else other
    if ca.is_equal(left, right):
        return left
    return ca.logic_and(left, right) if op == "and" else ca.logic_or(left, right)


def negation(value: Scalar) -> Scalar:
    """`not`."""
    truth(value, "not")
    return ca.logic_not(value) if isinstance(value, ca.SX) else not value


def relation(op: str, left: Scalar, right: Scalar) -> Scalar:
    """A relation as it stands, without an event."""
    if isinstance(left, ca.SX) or isinstance(right, ca.SX):
        if isinstance(left, str) or isinstance(right, str):
            raise ValueError("a string and a number cannot be compared")
        found = _RELATION[op](left, right)
        return bool(found) if found.is_constant() else found
    return operators.scalar(op, left, right)


def choice(condition: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """`if condition then … else …`. What the branch that is not taken gives, even nan, does not matter."""
    if not isinstance(condition, ca.SX):
        truth(condition, "if")
        return then if condition else otherwise
    numbers = bool | int | float | ca.SX
    if not isinstance(then, numbers) or not isinstance(otherwise, numbers):
        if then == otherwise:
            return then
        raise ValueError("which text, or which external object, is only known in the simulation; that is not supported")
    if not isinstance(then, ca.SX) and not isinstance(otherwise, ca.SX):
        if then == otherwise and isinstance(then, bool) == isinstance(otherwise, bool):
            return then
        if then is True and otherwise is False:
            return condition
        if then is False and otherwise is True:
            return negation(condition)
    elif isinstance(then, ca.SX) and isinstance(otherwise, ca.SX) and ca.is_equal(then, otherwise):
        return then
    return ca.if_else(condition, then, otherwise)


_GRAPHS: dict[str, Callable[..., Any]] = {
    "abs": ca.fabs, "sign": ca.sign, "sqrt": ca.sqrt, "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "asin": ca.asin,
    "acos": ca.acos, "atan": ca.atan, "atan2": ca.atan2, "sinh": ca.sinh, "cosh": ca.cosh, "tanh": ca.tanh,
    "exp": ca.exp, "log": ca.log, "log10": ca.log10, "floor": ca.floor, "ceil": ca.ceil, "integer": ca.floor,
    "div": lambda x, y: _truncated(ca.SX(x) / y), "mod": lambda x, y: x - ca.floor(ca.SX(x) / y) * y,
    "rem": lambda x, y: x - _truncated(ca.SX(x) / y) * y,
}  # fmt: skip

#: functions of one or two numbers, by name
FUNCTIONS = frozenset(_GRAPHS)

#: those whose values jump: in equations, they make events
JUMPING = frozenset(("floor", "ceil", "integer", "div", "mod", "rem"))


def _truncated(x: ca.SX) -> ca.SX:
    return ca.if_else(x >= 0, ca.floor(x), ca.ceil(x))


def function(name: str, args: list[Scalar]) -> Scalar:
    """A function of numbers as it stands, without an event; `min` and `max` of any number of them."""
    for arg in args:
        if not isinstance(arg, ca.SX) and not is_number(arg):
            if name in ("min", "max") and isinstance(arg, bool):
                continue
            raise ValueError(f"{name} is for numbers, not for {arg!r}")
    if name in ("min", "max"):
        return _extreme(name, args)
    if any(isinstance(arg, ca.SX) for arg in args):
        return folded(_GRAPHS[name](*args))
    try:
        return NUMBERS[name](*args)
    except ZeroDivisionError:
        raise ValueError(f"{name} divides by zero") from None
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f"{name}({', '.join(map(str, args))}) has no value") from None


def _extreme(name: str, args: list[Scalar]) -> Scalar:
    known = [arg for arg in args if not isinstance(arg, ca.SX)]
    choose, graph = (min, ca.fmin) if name == "min" else (max, ca.fmax)
    found = [choose(known)] if known else []
    for arg in args:
        if isinstance(arg, ca.SX):
            found = [graph(found[0], arg)] if found else [arg]
    return found[0]


class _Graphs:
    """How the operators on arrays treat their elements."""

    def binary(self, op: str, left: Scalar, right: Scalar) -> Scalar:
        if op in RELATIONS:
            return relation(op, left, right)
        return logical(op, left, right) if op in ("and", "or") else arithmetic(op, left, right)

    def unary(self, op: str, value: Scalar) -> Scalar:
        return negation(value) if op == "not" else -value if op.lstrip(".") == "-" else value

    def call(self, name: str, args: list[Scalar]) -> Scalar:
        return function(name, args)


operators.ALGEBRAS[ca.SX] = _Graphs()
