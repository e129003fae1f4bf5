"""Values that no argument should break on: each is accepted as what it is, or refused in our words."""

import datetime
import decimal
import fractions
import itertools

import numpy as np
import scipy.sparse


class Raises:
    """Whatever it is asked, it raises; its own exceptions cannot be shown either."""

    def __init__(self, error=RuntimeError):
        self.error = error

    def _raise(self, *_, **__):
        raise self.error("on purpose")

    __float__ = __int__ = __index__ = __len__ = __iter__ = __bool__ = __array__ = __call__ = _raise


class Unshowable(Raises):
    __repr__ = __str__ = Raises._raise


class NotEqual:
    """Comparisons give arrays, and there is no hash."""

    __hash__ = None

    def __eq__(self, other):
        return np.array([True, False])


class Word(str):
    """Text of a class of its own."""

    __slots__ = ()


class NoText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def endless():
    return itertools.count()


def failing_generator():
    yield 0.0
    raise RuntimeError("on purpose")


def recursive():
    values = []
    values.append(values)
    return values


#: makers, so that every use gets a fresh one
HOSTILE = {
    "2**63": lambda: 2**63,
    "-2**63 - 1": lambda: -(2**63) - 1,
    "2**64": lambda: 2**64,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "-1": lambda: -1,
    "0": lambda: 0,
    "-0.0": lambda: -0.0,
    "1e300": lambda: 1e300,
    "1.7e308": lambda: 1.7e308,
    "5e-324": lambda: 5e-324,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: -float("inf"),
    "True": lambda: True,
    "False": lambda: False,
    "np.True_": lambda: np.True_,
    "None": lambda: None,
    "digits as text": lambda: "01",
    "text": lambda: "text",
    "empty text": lambda: "",
    "NUL": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "bytes": lambda: b"01",
    "bytearray": lambda: bytearray(b"01"),
    "text of a subclass": lambda: Word("radau5"),
    "np.str_": lambda: np.str_("ggl"),
    "complex": lambda: 1 + 2j,
    "complex128": lambda: np.complex128(1 + 2j),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "Decimal": lambda: decimal.Decimal("0.5"),
    "Decimal NaN": lambda: decimal.Decimal("sNaN"),
    "float32": lambda: np.float32(0.5),
    "float16": lambda: np.float16(0.5),
    "longdouble": lambda: np.longdouble("1e4000"),
    "int8": lambda: np.int8(5),
    "uint64": lambda: np.uint64(2**64 - 1),
    "masked": lambda: np.ma.masked,
    "masked array": lambda: np.ma.array([1.0, 0.0], mask=[False, True]),
    "list with masked": lambda: [1.0, np.ma.masked],
    "0-d array": lambda: np.array(1.0),
    "0-d array of text": lambda: np.array("x"),
    "0-d object": lambda: np.array(None, object),
    "array of one": lambda: np.array([1.0]),
    "array of two": lambda: np.array([1.0, 0.0]),
    "array of flags": lambda: np.array([True, False]),
    "array of text": lambda: np.array(["ggl", "x"]),
    "array of objects": lambda: np.array([1, "x", None], object),
    "structured array": lambda: np.zeros(2, [("a", float), ("b", int)]),
    "matrix": lambda: np.ones((2, 2)),
    "empty array": lambda: np.zeros(0),
    "endlessly broadcast": lambda: np.broadcast_to(1.0, (10**12,)),
    "many dimensions": lambda: np.zeros((1,) * 30),
    "huge range": lambda: range(10**12),
    "list": lambda: [1.0, 0.0],
    "empty list": lambda: [],
    "ragged list": lambda: [[1.0, 2.0], 3.0],
    "list with a huge number": lambda: [10**400, 0],
    "list with NaN": lambda: [float("nan"), 0],
    "list with None": lambda: [None, None],
    "list of text": lambda: ["1", "0"],
    "recursive list": recursive,
    "tuple": lambda: (0, 0.01),
    "set": lambda: {0.0, 0.01},
    "frozenset": lambda: frozenset({0.0, 0.01}),
    "dict": lambda: {"x": 1.0, "y": 0.0},
    "dict of numbers": lambda: {1: 2},
    "dict of hostile values": lambda: {"x": 10**400, "y": np.ma.masked},
    "dict of unshowable": lambda: {"x": Unshowable()},
    "generator": lambda: (t for t in (0.0, 0.01)),
    "failing generator": failing_generator,
    "endless": endless,
    "sparse matrix": lambda: scipy.sparse.eye(2),
    "sparse array": lambda: scipy.sparse.csr_array(np.eye(2)),
    "date": lambda: datetime.datetime(2020, 1, 1),
    "duration": lambda: datetime.timedelta(seconds=1),
    "datetime64": lambda: np.datetime64("2020-01-01"),
    "timedelta64": lambda: np.timedelta64(1, "s"),
    "array of durations": lambda: np.array([0, 1], "m8[s]"),
    "object": object,
    "class": lambda: dict,
    "module": lambda: np,
    "function": lambda: lambda s: s,
    "function without arguments": lambda: lambda: 1.0,
    "function that fails": lambda: Raises(),
    "function that fails without text": lambda: Raises(NoText),
    "memory error": lambda: Raises(MemoryError),
    "recursion error": lambda: Raises(RecursionError),
    "unshowable": lambda: Unshowable(),
    "unhashable": lambda: NotEqual(),
    "Ellipsis": lambda: ...,
    "slice": lambda: slice(0, 1),
    "memoryview": lambda: memoryview(b"01"),
}

try:
    import pandas as pd
except ImportError:
    pass
else:
    HOSTILE["Series"] = lambda: pd.Series([1.0, 0.0])
    HOSTILE["Series of one"] = lambda: pd.Series([1.0])
    HOSTILE["Series with NA"] = lambda: pd.Series([1, None], dtype="Int64")
    HOSTILE["DataFrame"] = lambda: pd.DataFrame({"x": [1.0], "y": [0.0]})
    HOSTILE["NA"] = lambda: pd.NA
    HOSTILE["NaT"] = lambda: pd.NaT
