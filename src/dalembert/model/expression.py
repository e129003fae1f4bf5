"""Symbols that behave like NumPy numbers: the scalar `Expr` and the array `ExprArray`.

A user's function is called once with these to obtain a CasADi graph. Raw `casadi.SX` will not do: `math.sin(sx)`,
`float(sx)` and `ndarray * sx` silently give NaN. Here every operation either builds the graph NumPy's result would
have, or raises `UntraceableError` with the remedy.

Examples
--------
>>> import casadi as ca, numpy as np
>>> from dalembert.model.expression import scalar
>>> x, y = scalar(ca.SX.sym("x")), scalar(ca.SX.sym("y"))
>>> np.sqrt(x**2 + 1) * np.array([1.0, 2.0])
ExprArray([sqrt((sq(x)+1)), (2.*sqrt((sq(x)+1)))], dtype=object)
>>> np.where(x > y, x, 0)
((y<x)?x:0)
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from dalembert.errors import UntraceableError
from dalembert.model import elementary

SX = ca.SX
_CONVERSION = (
    "a symbol was used as a number ({0}; a function of `math`, or a value put into an array of floats, does the same): "
    "use the NumPy function (np.sin, not math.sin), and np.stack([...]) or np.zeros(n, dtype=object) for arrays"
)


def refuse(what: str) -> NoReturn:
    raise UntraceableError(what)


def _protocols():
    from dalembert.model import array_functions  # which imports this module

    return array_functions


def is_real(value: Any) -> bool:
    return isinstance(value, (float, int, np.floating, np.integer, np.bool_)) or (
        isinstance(value, numbers.Real) and not isinstance(value, np.generic)
    )


def lift(value: Any) -> SX:
    """The 1x1 SX of an `Expr`, a real number or a scalar SX."""
    if isinstance(value, Expr):
        return value.sx
    if is_real(value):
        return SX(float(value))
    if isinstance(value, (SX, ca.DM)) and value.shape == (1, 1):
        return ca.densify(SX(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return lift(value.item())
    if isinstance(value, numbers.Complex):
        refuse(f"complex number {value!r} together with a symbol: write real and imaginary part apart")
    refuse(f"an object of type {type(value).__name__!r} where a number or a symbol is needed")


class Expr:
    """A scalar expression in the model's symbols. Immutable; `sx` is the CasADi graph (1x1).

    It may be an element of a column that is never taken apart: functions of long arrays are one call of CasADi.
    """

    __slots__ = ("_column", "_index", "_sx")

    def __init__(self, sx: SX | None, column: SX | None = None, index: int = 0):
        self._sx, self._column, self._index = sx, column, index

    @property
    def sx(self) -> SX:
        if self._sx is None:
            self._sx = self._column.nz[self._index]
        return self._sx

    # --- what a NumPy scalar also has
    shape: tuple[()] = ()
    ndim = 0
    size = 1
    imag = 0.0

    @property
    def real(self) -> Expr:
        return self

    @property
    def T(self) -> Expr:
        return self

    def item(self) -> Expr:
        return self

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: dict) -> Expr:
        return self

    def __SX__(self) -> SX:
        """Lets CasADi's own functions take an `Expr`."""
        return self.sx

    def __repr__(self) -> str:
        return str(self.sx)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return format(self._number(f"format '{spec}'"), spec)

    # --- what only numbers can do
    def _number(self, how: str) -> float:
        if self.sx.is_constant():
            return float(self.sx)
        raise UntraceableError(_CONVERSION.format(how))

    def __float__(self) -> float:
        return self._number("float()")

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __index__(self) -> int:
        if self.sx.is_constant() and float(self.sx).is_integer():
            return int(float(self.sx))
        refuse("a symbol as index, range or repeat count: use np.where or np.select to choose by value")

    def __bool__(self) -> bool:
        if self.sx.is_constant():
            return float(self.sx) != 0
        refuse(
            "a branch on the value of a symbol (if, and, or, not, min, max, sorted, or NumPy doing so on an array made "
            "by np.array): use np.where(condition, a, b), np.minimum, np.maximum, &, |, ~, and np.stack for arrays"
        )

    def __hash__(self) -> int:
        if self.sx.is_constant():
            return hash(float(self.sx))
        refuse("a symbol as key of a dictionary, member of a set or argument of a cached function: it has no value")

    def __iter__(self) -> NoReturn:
        refuse("iteration over a scalar symbol: the vectors of the namespace (p, v, ...) can be iterated")

    def __len__(self) -> NoReturn:
        refuse("len() of a scalar symbol: the vectors of the namespace (p, v, ...) have a length")

    # --- arithmetic: the binary operators are attached below
    def __neg__(self) -> Expr:
        return Expr(-self.sx)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return Expr(ca.fabs(self.sx))

    def __invert__(self) -> Expr:
        return Expr(elementary.UNARY["invert"](self.sx))

    def __floor__(self) -> Expr:
        return Expr(ca.floor(self.sx))

    def __ceil__(self) -> Expr:
        return Expr(ca.ceil(self.sx))

    def __trunc__(self) -> Expr:
        return Expr(elementary.trunc(self.sx))

    def __round__(self, digits: int | None = None) -> Expr:
        factor = 10.0 ** (digits or 0)
        return Expr(elementary.rint(self.sx * factor) / factor)

    def __divmod__(self, other: Any) -> tuple:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple:
        return other // self, other % self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        function = elementary.BY_UFUNC.get(ufunc)
        if function and ufunc.nout == 1 and method == "__call__" and not options and all(map(_is_scalar, inputs)):
            return Expr(function(*map(lift, inputs)))  # the common case, without the detour through arrays
        return _protocols().apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable, types: Iterable[type], args: tuple, kwargs: dict) -> Any:
        return _protocols().apply_function(function, args, kwargs)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Expr) or is_real(value)


def _operators(ufunc: np.ufunc) -> tuple[Callable, Callable]:
    function = elementary.BY_UFUNC[ufunc]

    def forward(self: Expr, other: Any) -> Any:
        if isinstance(other, Expr):
            return Expr(function(self.sx, other.sx))
        if isinstance(other, np.ndarray):
            return ufunc(self, other)
        if is_real(other) or isinstance(other, (numbers.Complex, SX, ca.DM)):
            return Expr(function(self.sx, lift(other)))
        return NotImplemented

    def reflected(self: Expr, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return ufunc(other, self)
        if is_real(other) or isinstance(other, (numbers.Complex, SX, ca.DM)):
            return Expr(function(lift(other), self.sx))
        return NotImplemented

    return forward, reflected


def _method(function: Callable) -> Callable:
    def method(self: Expr, *others: Any) -> Expr:
        return Expr(function(self.sx, *map(lift, others)))

    return method


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "xor": np.bitwise_xor, "and": np.bitwise_and, "or": np.bitwise_or,
}.items():  # fmt: skip
    _forward, _reflected = _operators(_ufunc)
    setattr(Expr, f"__{_name}__", _forward)
    setattr(Expr, f"__r{_name}__", _reflected)
for _name, _ufunc in {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}.items():  # fmt: skip
    setattr(Expr, f"__{_name}__", _operators(_ufunc)[0])
# NumPy's loops over plain object arrays call the method of that name on each element.
for _name, _function in {**elementary.UNARY, **elementary.BINARY}.items():
    setattr(Expr, _name, _method(_function))


class ExprArray(np.ndarray):
    """An array of `Expr` (and numbers): NumPy's object array, with every function of NumPy that has a graph."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return _protocols().apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable, types: Iterable[type], args: tuple, kwargs: dict) -> Any:
        return _protocols().apply_function(function, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        _check_key(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check_key(key)
        super().__setitem__(key, value)

    def clip(self, min: Any = None, max: Any = None, **options: Any) -> Any:
        return np.clip(self, min, max, **options)


def _check_key(key: Any) -> None:
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, ExprArray) and part.dtype == object:
            refuse("an array of symbols as index or mask: use np.where(mask, a, b)")


# --- conversions


def scalar(sx: SX) -> Expr:
    """The symbol or expression `sx` (1x1) as an `Expr`."""
    return Expr(lift(SX(sx)))


def vector(sx: SX) -> ExprArray:
    """A column of SX as a one-dimensional `ExprArray`, also for one element."""
    return np.atleast_1d(objects(ca.vec(SX(sx)))).view(ExprArray)


def matrix(sx: SX) -> ExprArray:
    """A matrix of SX as a two-dimensional `ExprArray`."""
    sx = SX(sx)
    return objects(ca.vec(sx)).reshape(sx.shape, order="F").view(ExprArray)


def array(value: Any) -> ExprArray:
    """Like `np.array`, of nested lists of symbols and numbers; the result knows all of NumPy's functions."""
    return objects(value).view(ExprArray)


def wrap(value: Any) -> Any:
    """A result of NumPy as users should see it: `Expr` for zero dimensions, else `ExprArray`."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        if value.ndim:
            return value.view(ExprArray)
        return value if value[()] is None else Expr(lift(value[()]))  # None: np.empty_like before it is filled
    if isinstance(value, (tuple, list)) and any(isinstance(part, (np.ndarray, Expr)) for part in value):
        return type(value)(map(wrap, value)) if type(value) in (tuple, list) else value
    return value


def objects(value: Any) -> np.ndarray:
    """Numbers, symbols, arrays and nested lists as a plain array of objects, numbers being Python's."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufO":
            refuse(f"an array of {value.dtype} together with symbols: only real numbers have a meaning here")
        return np.asarray(value).view(np.ndarray).astype(object, copy=False)
    if isinstance(value, (list, tuple)):
        return _stack([objects(part) for part in value])
    if isinstance(value, (SX, ca.DM)) and value.shape != (1, 1):
        sx = ca.densify(SX(value))
        flat = elements(sx)
        return flat if sx.is_column() else flat.reshape(sx.shape, order="F")
    if hasattr(value, "toarray") and not isinstance(value, (SX, ca.DM)):  # scipy.sparse
        return objects(value.toarray())
    result = np.empty((), dtype=object)
    result[()] = value if isinstance(value, Expr) or is_real(value) else Expr(lift(value))
    return result


def elements(sx: SX) -> np.ndarray:
    """The entries of a dense matrix, column by column, as a plain array of objects."""
    flat, together = np.empty(sx.numel(), dtype=object), ca.vec(sx)
    flat[:] = [Expr(None, together, i) for i in range(sx.numel())]
    return flat


def column(entries: Iterable[Any]) -> SX:
    """What `elements` takes apart, or symbols and numbers from anywhere, as a column."""
    sources: list[SX] = []
    start: dict[int, int] = {}  # of each source, by identity, in all of them together
    end, numbers_, where = 0, [], []
    for entry in entries:
        if isinstance(entry, Expr):  # first: `is_real` takes its time to say no
            source, index = (entry._sx, 0) if entry._column is None else (entry._column, entry._index)
        elif is_real(entry):
            numbers_.append(float(entry))
            where.append(-len(numbers_))  # they come last, in reverse
            continue
        else:
            source, index = lift(entry), 0
        place = start.get(id(source))
        if place is None:
            place = start[id(source)] = end
            sources.append(source)
            end += source.numel()
        where.append(place + index)
    joined = ca.vertcat(*sources, SX(ca.DM(numbers_[::-1])) if numbers_ else SX(0, 1))
    chosen = np.array(where, dtype=np.int64) % max(joined.numel(), 1)
    if len(chosen) == joined.numel() and (chosen == np.arange(len(chosen))).all():
        return joined
    return joined.nz[chosen.tolist()]


def _stack(parts: list[np.ndarray]) -> np.ndarray:
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        refuse(
            f"a list whose entries have different shapes {sorted(shapes)}: join vectors and scalars with "
            "np.concatenate or np.hstack"
        )
    return np.stack(parts) if parts else np.empty(0, dtype=object)


def to_sx(value: Any) -> tuple[SX, int]:
    """What a user's function returned, as a dense SX matrix, and its number of dimensions (0, 1 or 2).

    Numbers and scalars are 1x1, lists and vectors columns. An SX or DM with one column counts as a vector.
    """
    if isinstance(value, (SX, ca.DM)) and value.shape == (1, 1):
        return lift(value), 0
    entries = objects(value)
    if entries.ndim > 2:
        refuse(f"a result with {entries.ndim} dimensions (shape {entries.shape}): at most a matrix has a meaning")
    rows, columns = (*entries.shape, 1, 1)[:2]
    if not entries.size:
        return SX(rows, columns), entries.ndim
    return ca.reshape(column(entries.ravel(order="F")), rows, columns), entries.ndim
