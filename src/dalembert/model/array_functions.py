"""NumPy's two protocols for symbols: ufuncs, and functions of arrays (`np.where`, `np.linalg.solve`, ...).

Most of NumPy's own implementations only move elements about or call ufuncs, and are right for symbols as they are.
Those that compare, sort or call LAPACK are replaced here; any other that needs numbers raises `UntraceableError`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DalembertError, UntraceableError
from dalembert.model import elementary
from dalembert.model.expression import (
    SX,
    Expr,
    ExprArray,
    array,
    column,
    elements,
    is_real,
    lift,
    matrix,
    objects,
    refuse,
    to_sx,
    vector,
    wrap,
)

_REPLACED: dict[Callable, Callable] = {}
# Right for numbers only, yet NumPy's implementation would return something for symbols.
_DENIED = {np.nan_to_num, np.isposinf, np.isneginf, np.isclose, np.allclose}
LONG = 16  # elements of an array from which on CasADi is called once for all
_LARGEST_DETERMINANT = 12  # its graph grows as n 2**n


def _scalar_function(ufunc: np.ufunc) -> Callable:
    function = elementary.BY_UFUNC.get(ufunc)
    if function is None and ufunc.__name__ in elementary.SPECIAL:
        special = sys.modules.get("scipy.special")
        if special is not None and getattr(special, ufunc.__name__) is ufunc:
            function = elementary.SPECIAL[ufunc.__name__]
    if function is None:
        refuse(f"the function {ufunc.__name__!r} of a symbol is not supported: it has no symbolic form here")
    return function


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, options: dict) -> Any:
    """Do what `ufunc(*inputs)`, or one of its methods, means; the other half of `__array_ufunc__`."""
    out = options.pop("out", None)
    axes = {name: options.pop(name) for name in ("axis", "keepdims", "initial", "axes") if name in options}
    dtype = options.pop("dtype", None)
    if dtype is not None and np.dtype(dtype).kind not in ("b" if ufunc.__name__.startswith("logical") else "fO"):
        refuse(f"np.{ufunc.__name__} of symbols with dtype={dtype}: a symbol stands for a float")
    if options.pop("where", True) is not True:
        refuse(f"np.{ufunc.__name__}(..., where=mask) of symbols: use np.where(mask, a, b)")
    arrays = [objects(value) for value in inputs] if method != "at" else []
    if ufunc.signature or ufunc.__name__.endswith("(vectorized)"):  # matmul and its like; np.frompyfunc
        result = getattr(ufunc, method)(*arrays, **axes)
    elif method == "__call__":
        result = elementwise(_scalar_function(ufunc), arrays, ufunc.nout)
    elif method == "outer":
        a, b = arrays
        result = elementwise(_scalar_function(ufunc), [a.reshape(a.shape + (1,) * b.ndim), b], ufunc.nout)
    elif method in ("reduce", "accumulate") and ufunc in elementary.REDUCIBLE:
        result = (_reduce if method == "reduce" else _accumulate)(ufunc, arrays[0], **axes)
    else:
        refuse(f"np.{ufunc.__name__}.{method} of symbols is not supported")
    if out is None:
        return wrap(result)
    for target, value in zip(out, result if isinstance(result, tuple) else (result,), strict=True):
        if target.dtype != object:
            refuse("a symbol put into an array of floats (a += x, out=a): write a = a + x")
        target[...] = value
    targets = tuple(target if isinstance(target, ExprArray) else target.view(ExprArray) for target in out)
    return targets if len(targets) > 1 else targets[0]


def elementwise(function: Callable, arrays: list[np.ndarray], results: int = 1) -> Any:
    """Apply a function of SX scalars to each element, after broadcasting."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    if math.prod(shape) >= LONG and function in elementary.OF_COLUMNS:
        columns = [lift(a.item()) if a.size == 1 else column(np.broadcast_to(a, shape).flat) for a in arrays]
        return elements(function(*columns)).reshape(shape)
    outputs = [np.empty(shape, dtype=object) for _ in range(results)]
    flat = [output.reshape(-1) for output in outputs]
    for i, parts in enumerate(zip(*(np.broadcast_to(a, shape).flat for a in arrays), strict=True)):
        values = function(*map(lift, parts))
        for output, value in zip(flat, values if results > 1 else (values,), strict=True):
            output[i] = Expr(value)
    return tuple(outputs) if results > 1 else outputs[0]


def _reduce(ufunc: np.ufunc, a: np.ndarray, axis: Any = 0, keepdims: bool = False, initial: Any = None) -> np.ndarray:
    function = elementary.BY_UFUNC[ufunc]
    axes = range(a.ndim) if axis is None or a.ndim == 0 else axis if isinstance(axis, tuple) else (axis,)
    for k in axes:
        if not -a.ndim <= k < a.ndim:
            raise np.exceptions.AxisError(k, a.ndim)
    axes = [k % a.ndim for k in axes]
    kept = [k for k in range(a.ndim) if k not in axes]
    rows = a.transpose(*axes, *kept).reshape(-1, *(a.shape[k] for k in kept))
    given = isinstance(initial, Expr) or is_real(initial)
    start = initial if given else elementary.IDENTITIES.get(ufunc)
    if len(rows) == 0 and start is None:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    skip_start = len(rows) > 0 and not given
    total = rows[0] if skip_start else np.full(rows.shape[1:], start, dtype=object)
    for row in rows[1:] if skip_start else rows:
        total = elementwise(function, [objects(total), objects(row)])
    total = objects(total)
    return total.reshape([1 if k in axes else n for k, n in enumerate(a.shape)]) if keepdims else total


def _accumulate(ufunc: np.ufunc, a: np.ndarray, axis: int = 0) -> np.ndarray:
    result = np.moveaxis(a, axis, 0).copy()
    for k in range(1, len(result)):
        result[k, ...] = elementwise(elementary.BY_UFUNC[ufunc], [objects(result[k - 1]), objects(result[k])])
    return np.moveaxis(result, 0, axis)


def apply_function(function: Any, args: tuple, kwargs: dict) -> Any:
    """Do what `function(*args, **kwargs)` means; the other half of `__array_function__`."""
    name = f"{function.__module__.removeprefix('numpy').lstrip('.')}.{function.__name__}".lstrip(".")
    if function in _DENIED:
        raise UntraceableError(f"np.{name} of symbols is not supported: it asks for the value of a symbol")
    try:
        if function in _REPLACED:
            return wrap(_REPLACED[function](*args, **kwargs))
        return wrap(function._implementation(*args, **kwargs))
    except UntraceableError as error:
        raise UntraceableError(f"in np.{name}: {error}") from error
    except DalembertError:
        raise
    except (TypeError, AttributeError, NotImplementedError) as error:
        raise UntraceableError(f"np.{name} of symbols is not supported ({error})") from error


def _instead_of(function: Callable) -> Callable:
    def register(replacement: Callable) -> Callable:
        _REPLACED[function] = replacement
        return replacement

    return register


@_instead_of(np.where)
def where(condition: Any, *choices: Any) -> np.ndarray:
    if len(choices) != 2:
        raise UntraceableError("the form with one argument asks for values: use np.where(condition, a, b)")
    a, b = choices
    return elementwise(elementary.where, [objects(condition), objects(a), objects(b)])


@_instead_of(np.select)
def select(condlist: list, choicelist: list, default: Any = 0) -> np.ndarray:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return objects(result)


@_instead_of(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: list, *args: Any, **kw: Any) -> np.ndarray:
    conditions = [condlist] if isinstance(condlist, (Expr, ExprArray)) else list(condlist)
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError("piecewise needs one function per condition, and at most one more for the rest")
    x = wrap(objects(x))
    values = [part(x, *args, **kw) if callable(part) else part for part in funclist]
    default = values.pop() if len(values) > len(conditions) else 0
    # NumPy lets the last condition that holds decide; np.select the first.
    return select(conditions[::-1], values[::-1], default)


@_instead_of(np.sinc)
def sinc(x: Any) -> np.ndarray:
    return elementwise(lambda x: elementary.sinc(np.pi * x), [objects(x)])


@_instead_of(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    if out is not None:
        raise UntraceableError("out= is not supported: write a = np.clip(a, ...)")
    lower, upper = options.pop("min", a_min), options.pop("max", a_max)
    result = objects(a)
    if lower is not None:
        result = elementwise(ca.fmax, [result, objects(lower)])
    if upper is not None:
        result = elementwise(ca.fmin, [result, objects(upper)])
    return result


@_instead_of(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> np.ndarray:
    if period is not None:
        raise UntraceableError("period= is not supported: give np.mod(x, period) and a table over one period")
    xs, fs = [lift(e) for e in objects(xp)], [lift(e) for e in objects(fp)]
    if len(xs) != len(fs) or not xs:
        raise ValueError("fp and xp are not of the same length, or empty")
    below = fs[0] if left is None else lift(left)
    above = fs[-1] if right is None else lift(right)

    def one(at: SX) -> SX:
        result = elementary.where(at > xs[-1], above, fs[-1])
        for i in reversed(range(len(xs) - 1)):
            line = fs[i] + (fs[i + 1] - fs[i]) / (xs[i + 1] - xs[i]) * (at - xs[i])
            result = elementary.where(at < xs[i + 1], line, result)
        return elementary.where(at < xs[0], below, result)

    return elementwise(one, [objects(x)])


@_instead_of(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = array(x)
    if not (ord is None or isinstance(axis, int) or (axis is None and x.ndim == 1) or ord == "fro"):
        raise UntraceableError(f"ord={ord!r} of a matrix is not supported: only the Frobenius norm is")
    if ord is None or ord in (2, "fro"):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    size = np.abs(x)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _square(a: Any) -> SX:
    sx, ndim = to_sx(a)
    if ndim != 2 or sx.shape[0] != sx.shape[1]:
        raise np.linalg.LinAlgError(f"one square matrix is needed, not shape {np.shape(a)}")
    return ca.sparsify(sx)


@_instead_of(np.linalg.solve)
def solve(a: Any, b: Any) -> np.ndarray:
    right, ndim = to_sx(b)
    solution = ca.densify(ca.solve(_square(a), right))
    return vector(solution) if ndim == 1 else matrix(solution)


@_instead_of(np.linalg.inv)
def inv(a: Any) -> np.ndarray:
    a = _square(a)
    # Cofactors are the shorter graph for the small matrices, QR for the larger ones.
    return matrix(ca.densify(ca.inv_minor(a) if a.shape[0] <= 3 else ca.solve(a, SX.eye(a.shape[0]))))


@_instead_of(np.linalg.det)
def det(a: Any) -> Expr:
    sx = ca.densify(_square(a))
    n = sx.shape[0]
    if n > _LARGEST_DETERMINANT:
        raise UntraceableError(f"the determinant of a {n}x{n} matrix of symbols has too long a graph")

    @cache
    def minor(columns: tuple[int, ...]) -> SX:
        """Determinant of the last rows and these columns, by expansion along the first of those rows."""
        if not columns:
            return SX(1)
        row = n - len(columns)
        terms = (
            (-1) ** k * sx[row, column] * minor(columns[:k] + columns[k + 1 :])
            for k, column in enumerate(columns)
            if not sx[row, column].is_zero()
        )
        return sum(terms, SX(0))

    return Expr(minor(tuple(range(n))))
