"""Functions of the language itself, on values. Faults raise ValueError with a reason."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dalembert.modelica import tree
from dalembert.modelica.operators import ALGEBRAS, binary, is_number, scalar, total, transpose, unary
from dalembert.modelica.values import AT, Arr, EnumValue, as_tree, shape_of, stack


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)


def _div(x: float, y: float) -> float | int:
    found = math.trunc(x / y)
    return found if isinstance(x, int) and isinstance(y, int) else float(found)


def _mod(x: float, y: float) -> float | int:
    return x - math.floor(x / y) * y


def _rem(x: float, y: float) -> float | int:
    return x - math.trunc(x / y) * y


#: functions of numbers, applied to each element of arrays
SCALAR: dict[str, Callable[..., Any]] = {
    "abs": abs, "sign": _sign, "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "atan2": math.atan2, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh,
    "exp": math.exp, "log": math.log, "log10": math.log10, "div": _div, "mod": _mod, "rem": _rem,
    "ceil": lambda x: float(math.ceil(x)), "floor": lambda x: float(math.floor(x)), "integer": math.floor,
}  # fmt: skip

#: operators that only mean something in the simulation
TEMPORAL = {
    "der", "pre", "edge", "change", "initial", "terminal", "sample", "delay", "reinit", "noEvent", "smooth", "homotopy",
    "semiLinear", "assert", "terminate",
}  # fmt: skip

_CLOCKED = (
    *("subSample", "superSample", "shiftSample", "backSample", "noClock", "interval", "firstTick", "Clock"),
    *("previous", "hold"),
)
_MACHINES = ["transition", "initialState", "activeState", "ticksInState", "timeInState"]
UNSUPPORTED = {
    "spatialDistribution": "spatialDistribution() is",
    "inStream": "stream connectors are",
    "actualStream": "stream connectors are",
    **dict.fromkeys(_CLOCKED, "clocked equations are"),
    **dict.fromkeys(_MACHINES, "state machines are"),
}


def call_tree(name: str, *args: Any) -> tree.Call:
    """A call of a builtin function that waits for the simulation."""
    return tree.Call(AT, tree.Ref(AT, (name,)), tuple(as_tree(arg) for arg in args))


def apply_scalar(name: str, args: list[Any]) -> Any:
    """A function of numbers on numbers, trees or arrays of them."""
    size = next((arg.shape for arg in args if isinstance(arg, Arr)), None)
    if size is not None:
        columns = []
        for arg in args:
            if isinstance(arg, Arr) and arg.shape != size:
                raise ValueError(f"the arguments of {name} have different sizes")
            columns.append(arg.items if isinstance(arg, Arr) else [arg] * math.prod(size))
        return Arr(size, [apply_scalar(name, list(row)) for row in zip(*columns, strict=True)])
    for arg in args:
        if type(arg) in ALGEBRAS:
            return ALGEBRAS[type(arg)].call(name, args)
    if all(map(is_number, args)):
        try:
            return SCALAR[name](*args)
        except ZeroDivisionError:
            raise ValueError(f"{name} divides by zero") from None
        except (ValueError, OverflowError, TypeError):
            raise ValueError(f"{name}({', '.join(map(str, args))}) has no value") from None
    if not all(is_number(arg) or isinstance(arg, tuple) for arg in args):
        if name == "integer" and isinstance(args[0], EnumValue):
            return args[0].index
        raise ValueError(f"{name} is for numbers")
    return call_tree(name, *args)


def extreme(name: str, args: list[Any]) -> Any:
    """min and max of an array or of two scalars."""
    items = args
    if len(args) == 1:
        if not isinstance(args[0], Arr):
            return args[0]
        items = args[0].items
        if not items:
            return 1.7976931348623157e308 if name == "min" else -1.7976931348623157e308
    elif any(isinstance(arg, Arr) for arg in args):
        raise ValueError(f"{name} needs one array or two scalars")
    for item in items:
        if type(item) in ALGEBRAS:
            return ALGEBRAS[type(item)].call(name, list(items))
    choose = min if name == "min" else max
    if all(isinstance(item, EnumValue) for item in items):
        return choose(items, key=lambda item: item.index)
    known = [item for item in items if not isinstance(item, tuple)]
    open_ = [item for item in items if isinstance(item, tuple)]
    if not open_:
        return choose(known)
    found: Any = choose(known) if known else open_.pop(0)
    for item in open_:
        found = call_tree(name, found, item)
    return found


def filled(value: Any, sizes: list[Any]) -> Any:
    for n in reversed(sizes):
        if not isinstance(n, int) or isinstance(n, bool):
            raise ValueError("sizes have to be known whole numbers")
        if n < 0:
            raise ValueError(f"the size {n} is negative")
        if n * max(1, len(value.items) if isinstance(value, Arr) else 1) > 10_000_000:
            raise ValueError("the array is too large")
        value = Arr((n, *shape_of(value)), [*(value.items if isinstance(value, Arr) else [value])] * n)
    return value


def identity(n: Any) -> Arr:
    if not isinstance(n, int) or not 0 <= n < 3000:
        raise ValueError("the size has to be a known whole number")
    return Arr((n, n), [int(i == j) for i in range(n) for j in range(n)])


def diagonal(v: Any) -> Arr:
    if len(v.shape) != 1:
        raise ValueError("diagonal() needs a vector")
    n = len(v)
    return Arr((n, n), [v[i] if i == j else 0 for i in range(n) for j in range(n)])


def linspace(first: Any, last: Any, n: Any) -> Arr:
    if not isinstance(n, int) or n < 2:
        raise ValueError("linspace needs at least two points")
    step = scalar("/", scalar("-", last, first), n - 1)
    return Arr((n,), [scalar("+", first, scalar("*", i, step)) for i in range(n)])


def promoted(value: Any, n: int) -> Arr:
    shape, items = (value.shape, value.items) if isinstance(value, Arr) else ((), [value])
    return Arr(shape + (1,) * (n - len(shape)), items)


def concatenated(k: int, parts: list[Any]) -> Arr:
    """cat(k, …), k from 1."""
    if k == 1:
        rest = next((part.shape[1:] for part in parts if part.shape[0]), parts[0].shape[1:])
        parts = [part for part in parts if part.shape[0] or part.shape[1:] == rest]
        if any(part.shape[1:] != rest for part in parts):
            raise ValueError(
                f"sizes {', '.join(str(list(part.shape)) for part in parts)} do not fit along dimension {k}"
            )
        return Arr((sum(part.shape[0] for part in parts), *rest), [item for part in parts for item in part.items])
    if len({part.shape[0] for part in parts}) != 1:
        raise ValueError(f"sizes {', '.join(str(list(part.shape)) for part in parts)} do not fit along dimension {k}")
    rows = [concatenated(k - 1, [part[i] for part in parts]) for i in range(parts[0].shape[0])]
    if not rows:
        return Arr((0, sum(part.shape[1] for part in parts), *parts[0].shape[2:]), [])
    return stack(rows)


def matrix(rows: list[list[Any]]) -> Arr:
    """[a, b; c, d]: promoted to matrices, side by side, then one above the other."""
    n = max(2, *(len(shape_of(item)) for row in rows for item in row))
    return concatenated(1, [concatenated(2, [promoted(item, n) for item in row]) for row in rows])


def cross(a: Arr, b: Arr) -> Arr:
    if a.shape != (3,) or b.shape != (3,):
        raise ValueError("cross needs vectors of length 3")

    def entry(i: int, j: int) -> Any:
        return scalar("-", scalar("*", a[i], b[j]), scalar("*", a[j], b[i]))

    return Arr((3,), [entry(1, 2), entry(2, 0), entry(0, 1)])


def skew(a: Arr) -> Arr:
    if a.shape != (3,):
        raise ValueError("skew() needs a vector of length 3")
    minus = a.map(lambda x: unary("-", x))
    return Arr((3, 3), [0, minus[2], a[1], a[2], 0, minus[0], minus[1], a[0], 0])


def reduced_to_scalar(value: Any) -> Any:
    if isinstance(value, Arr):
        if len(value.items) != 1:
            raise ValueError("scalar() needs an array with one element")
        return value.items[0]
    return value


def as_vector(value: Any) -> Arr:
    if not isinstance(value, Arr):
        return Arr((1,), [value])
    if sum(n > 1 for n in value.shape) > 1:
        raise ValueError("vector() needs an array with at most one size above 1")
    return Arr((len(value.items),), value.items)


def as_matrix(value: Any) -> Arr:
    value = promoted(value, 2)
    return Arr(value.shape[:2], value.items)


def symmetric(a: Arr) -> Arr:
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("symmetric() needs a square matrix")
    n = a.shape[0]
    return Arr((n, n), [a[min(i, j)][max(i, j)] for i in range(n) for j in range(n)])


#: functions of whole values
ARRAY: dict[str, Callable[..., Any]] = {
    "sum": lambda v: total(v.items) if isinstance(v, Arr) else v,
    "product": lambda v: _product(v.items),
    "ndims": lambda v: len(shape_of(v)),
    "zeros": lambda *n: filled(0, list(n)), "ones": lambda *n: filled(1, list(n)),
    "fill": lambda value, *n: filled(value, list(n)),
    "identity": identity, "diagonal": diagonal, "linspace": linspace, "transpose": transpose,
    "outerProduct": lambda a, b: binary("*", promoted(a, 2), Arr((1, len(b)), b.items)),
    "cross": cross, "skew": skew, "symmetric": symmetric, "scalar": reduced_to_scalar, "vector": as_vector,
    "matrix": as_matrix, "cat": lambda k, *parts: concatenated(k, list(parts)), "array": lambda *parts: stack(parts),
    "promote": promoted,
}  # fmt: skip


def _product(items: list[Any]) -> Any:
    found: Any = 1
    for item in items:
        found = scalar("*", found, item)
    return found
