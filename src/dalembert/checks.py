"""Numbers, flags and texts that users hand over: converted in one place, refused with a reason, never by accident.

What looks like a number is not always one: text, masked values, complex numbers, durations and missing values of tables
become numbers in NumPy or in Python without a word, and whole numbers beyond 10³⁰⁸ raise OverflowError. The functions
here give a number or raise `NoNumber`, whose text completes a sentence that begins with name and value.
"""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Iterator, Mapping, Sized
from contextvars import ContextVar
from typing import Any

import numpy as np

#: numbers in one argument at most: more than this is a slip, and would take all memory before anybody could say so
MOST_VALUES = 100_000_000
#: characters of a value in a message
MOST_SHOWN = 80
#: the largest whole number that kernels can count to
LARGEST_WHOLE = 2**63 - 1


class NoNumber(ValueError):
    """A value is not what it should be; the text says why, and goes behind name and value: "is not a number"."""


def shown(value: Any) -> str:
    """A value for a message: `repr`, shortened, whatever the value does when it is asked.

    >>> shown("01"), shown(10**400)[:12]
    ("'01'", '100000000000')
    """
    try:
        text = repr(value)
    except Exception:  # of the user's own class, or a whole number with too many digits
        many = isinstance(value, int)
        return f"a whole number of {value.bit_length()} bits" if many else f"an object of type {type(value).__name__}"
    if len(text) <= MOST_SHOWN:
        return text
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    return f"{text[: MOST_SHOWN // 2]}… ({type(value).__name__}{shape})".replace("\n", " ")


def said(error: BaseException) -> str:
    """Class and text of an exception, which may itself fail, or be empty.

    >>> said(ValueError("too cold"))
    'ValueError: too cold'
    """
    return f"{type(error).__name__}: {words(error) or 'no message'}"


def words(error: BaseException) -> str:
    """The text of an exception, empty if it has none."""
    try:
        return str(error).strip()
    except Exception:
        return "its text cannot be shown"


def digits(number: float) -> str:
    """A number with all the digits that tell it from its neighbours.

    >>> digits(5.0), digits(np.nextafter(5.0, 6.0))
    ('5', '5.000000000000001')
    """
    return repr(float(number)).removesuffix(".0")


def real(value: Any, *, flags: bool = False) -> float:
    """A float, which may be NaN or infinite, of any real number; True and False count only if `flags` says so.

    >>> from fractions import Fraction
    >>> real(Fraction(1, 4)), real(np.float32(0.5)), real(np.array(3))
    (0.25, 0.5, 3.0)
    """
    if type(value) is float or type(value) is int:
        return _as_float(value)
    if isinstance(value, bool | np.bool_):
        if flags:
            return float(value)
        raise NoNumber("is not a number but True or False")
    if isinstance(value, np.ndarray | np.generic):
        if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
            raise NoNumber("is masked: there is no number")
        if value.ndim or value.dtype.kind not in ("buif" if flags else "uifO"):
            raise NoNumber("is not a number")
        return real(value.item(), flags=flags) if value.dtype.kind == "O" else _as_float(value)
    if isinstance(value, str | bytes | bytearray | complex | Sized) or value is None:
        raise NoNumber("is not a number")
    return _as_float(value)


def _as_float(value: Any) -> float:
    try:
        if isinstance(value, np.longdouble):  # may be larger than floats, which NumPy would warn of
            with np.errstate(all="ignore"):
                return float(value)
        return float(value)
    except OverflowError:
        raise NoNumber("is too large for a floating-point number") from None
    except Exception:
        raise NoNumber("is not a number") from None


def whole(value: Any) -> int:
    """A whole number of any size; floats count if they have no fraction, True and False do not.

    >>> whole(np.int8(5)), whole(7.0)
    (5, 7)
    """
    if type(value) is int:
        return value
    plain = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_ | np.timedelta64)
    try:
        if plain:
            return int(value)
        number = real(value)
        if number == int(number):
            return int(number)
    except Exception:
        raise NoNumber("is not a whole number") from None
    raise NoNumber("is not a whole number")


def reals(values: Any) -> np.ndarray:
    """A new float array, of any shape, of real numbers; True and False count as 1 and 0.

    >>> from fractions import Fraction
    >>> reals([1, Fraction(1, 2)])
    array([1. , 0.5])
    """
    if type(values) is float or type(values) is np.float64:  # most often
        return np.array(values)
    _must_fit(values)
    if type(values) is np.ndarray and values.dtype == float:
        return values.copy()
    if isinstance(values, str | bytes | bytearray | memoryview | Mapping):
        raise NoNumber("is not an array of numbers")
    if _is_masked(values):  # NumPy takes them for zero
        raise NoNumber("has masked entries: there are no numbers")
    try:
        array = np.asarray(values)
    except OverflowError:
        raise NoNumber("has entries that are too large for floating-point numbers") from None
    except Exception as reason:
        ragged = isinstance(reason, ValueError) and "inhomogeneous" in str(reason)
        raise NoNumber("has rows of different lengths" if ragged else "is not an array of numbers") from None
    _must_fit(array)
    if array.dtype.kind == "O":
        entries = [_entry(item) for item in array.flat]
        return np.array(entries, float).reshape(array.shape)
    if array.dtype.kind not in "buif":
        raise NoNumber("is not an array of numbers")
    with np.errstate(all="ignore"):  # long doubles may be larger than doubles
        return np.array(array, float)


def _is_masked(values: Any, depth: int = 4) -> bool:
    if isinstance(values, list | tuple):
        return depth > 0 and any(_is_masked(item, depth - 1) for item in values)
    return np.ma.isMaskedArray(values) and bool(np.ma.getmaskarray(values).any())


def _entry(item: Any) -> float:
    try:
        return real(item, flags=True)
    except NoNumber as reason:
        large = "too large" in str(reason)
        raise NoNumber(
            f"has the entry {shown(item)}, which {reason}" if large else "is not an array of numbers"
        ) from None


def _must_fit(values: Any) -> None:
    try:
        count = int(values.size) if isinstance(values, np.ndarray) else len(values)
    except Exception:  # no size, or none that can be told
        return
    if count > MOST_VALUES:
        raise NoNumber(f"has {count} entries, more than {MOST_VALUES}")


def flag(value: Any) -> bool:
    """True or False; also NumPy's, and 0-d arrays of them.

    >>> flag(np.bool_(True))
    True
    """
    single = isinstance(value, np.ndarray) and value.shape == () and value.dtype == bool and not _is_masked(value)
    if single or isinstance(value, bool | np.bool_):
        return bool(value)
    raise NoNumber("must be True or False")


# -- arithmetic of ours and of users ---------------------------------------------------------------------------------

#: how the user wants NumPy to answer overflow and the like, while our own code computes without a word
_USERS: ContextVar[Any] = ContextVar("users_arithmetic", default=None)


class quiet_arithmetic:
    """Overflow and NaN in our own code are no news: what comes of them is looked at, and told in words.

    Neither warnings of NumPy nor the exceptions that ``np.seterr(all="raise")`` asks for come from inside.
    """

    def __enter__(self) -> None:
        known = _USERS.get()
        self._users = _USERS.set(np.geterr() if known is None else known)
        self._ours = np.errstate(all="ignore")
        self._ours.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._ours.__exit__(*exception)
        _USERS.reset(self._users)


@contextlib.contextmanager
def users_arithmetic() -> Iterator[None]:
    """Around functions of users: NumPy warns there as they have set it."""
    users = _USERS.get()
    if users is None:
        yield
        return
    with np.errstate(**users):
        yield
