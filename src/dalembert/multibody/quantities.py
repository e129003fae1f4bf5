"""Numbers, vectors and rotations that users give, checked once; a number may stay a parameter of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError
from dalembert.model.base import wrong_name

_LETTERS = {
    "x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip
#: whole numbers up to here are real ones without a second look
MOST_WHOLE = 2**50
#: how far a rotation matrix may be from orthogonal; it is then made so
ORTHOGONAL = 1e-6
#: in radians: beyond it hardly a digit is left of where an angle ends
LARGEST_ANGLE = 1e12


class Parameter:
    """A number of the description that can be changed later without compiling anew; `Multibody.parameter` makes it.

    It stands wherever masses, inertias, points, stiffnesses and the like are given, also as a component of vectors.
    """

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: float):
        self.name, self.value = name, value

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.value:g})"


Number = float | Parameter


def number(where: str, what: str, value: Any, *, least: float | None = None, above: float | None = None) -> Number:
    """A finite number, or a parameter; `least` and `above` bound it."""
    if type(value) is Parameter:
        number(where, f"{what} ({value.name})", value.value, least=least, above=above)
        return value
    if type(value) is int and -MOST_WHOLE < value < MOST_WHOLE:
        value = float(value)
    if type(value) is not float:
        try:
            value = real(value)
        except NoNumber as reason:
            raise ModelError(f"{where}: {what}={shown(value)} {reason}") from None
    if not math.isfinite(value):
        raise ModelError(f"{where}: {what}={value} must be finite")
    if least is not None and value < least:
        raise ModelError(f"{where}: {what}={value:g} must not be {'negative' if least == 0 else f'below {least:g}'}")
    if above is not None and value <= above:
        raise ModelError(f"{where}: {what}={value:g} must be {'positive' if above == 0 else f'above {above:g}'}")
    return value


def vector(where: str, what: str, value: Any, planar: bool) -> tuple[Number, Number, Number]:
    """Three numbers; in planar systems two, which get a zero behind them."""
    length = 2 if planar else 3
    if type(value) is tuple and len(value) == length:  # plain numbers need no more: descriptions have many of them
        for x in value:
            if type(x) is not float or not math.isfinite(x):
                break
        else:
            return (*value, 0.0) if planar else value
    array = isinstance(value, np.ndarray)
    if isinstance(value, str) or not (isinstance(value, Sequence) or (array and value.ndim == 1)):
        raise ModelError(f"{where}: {what}={shown(value)} must be a vector of {length} numbers")
    if len(value) != length:
        raise ModelError(
            f"{where}: {what}={shown(value)} has {len(value)} components; "
            f"vectors of a {'planar' if planar else 'spatial'} system have {length}"
        )
    entries = [value[k] for k in range(length)] if array and np.ma.isMaskedArray(value) else value
    entries = entries.tolist() if isinstance(entries, np.ndarray) else entries
    checked = tuple(
        x if type(x) is float and math.isfinite(x) else number(where, f"{what}[{k}]", x) for k, x in enumerate(entries)
    )
    return (*checked, 0.0) if planar else checked


def direction(where: str, what: str, value: Any) -> tuple[float, float, float]:
    """A unit vector: "x", "y", "z", "-x", …, or three numbers that are not all zero."""
    if isinstance(value, str):
        if value not in _LETTERS:
            raise ModelError(
                f"{where}: {what}={shown(value)} must be 'x', 'y', 'z', with a minus if need be, or a vector"
            )
        return _LETTERS[value]
    try:
        entries = reals(value)
    except NoNumber as reason:
        raise ModelError(f"{where}: {what}={shown(value)} {reason}") from None
    if entries.shape != (3,) or not np.isfinite(entries).all():
        raise ModelError(f"{where}: {what}={shown(value)} must have three finite components")
    largest = np.abs(entries).max()
    if largest == 0.0:
        raise ModelError(f"{where}: {what} is the zero vector, which has no direction")
    entries = entries / largest
    return tuple((entries / np.linalg.norm(entries)).tolist())


def rotation(where: str, what: str, value: Any, planar: bool) -> np.ndarray | None:
    """A rotation matrix from one, from a rotation vector, or, in planar systems, from an angle; None for none."""
    if value is None:
        return None
    from dalembert.multibody.algebra import rotation_vector

    try:
        entries = reals(value)
    except NoNumber as reason:
        raise ModelError(f"{where}: {what}={shown(value)} {reason}") from None
    if not np.isfinite(entries).all():
        raise ModelError(f"{where}: {what}={shown(value)} must be finite")
    if entries.shape != (3, 3) and entries.size and np.abs(entries).max() > LARGEST_ANGLE:
        raise ModelError(f"{where}: {what}={shown(value)} is too large for an angle in radians")
    if planar:
        if entries.ndim:
            raise ModelError(f"{where}: {what}={shown(value)} must be one angle, in radians, in a planar system")
        return rotation_vector([0.0, 0.0, float(entries)])
    if entries.shape == (3,):
        return rotation_vector(entries)
    if entries.shape != (3, 3):
        raise ModelError(f"{where}: {what}={shown(value)} must be a 3×3 rotation matrix or a rotation vector")
    away = np.abs(entries @ entries.T - np.eye(3)).max()
    if away > ORTHOGONAL or np.linalg.det(entries) < 0:
        why = "is a reflection" if away <= ORTHOGONAL else f"is not orthogonal (R Rᵀ − 1 has entries of {away:.1e})"
        raise ModelError(f"{where}: the matrix {what} {why}; give a rotation")
    left, _, right = np.linalg.svd(entries)
    # what is orthogonal to the last bit, such as a permutation of axes, stays as it is
    return entries if away == 0.0 else left @ right


def name_of(what: str, name: Any) -> str:
    """A name for a body, joint or element: not empty, no dot (which stands between it and its quantities)."""
    if wrong_name(name):
        raise ModelError(f"{what}: {shown(name)} is not a name; {wrong_name(name)}")
    if "." in name:
        raise ModelError(f"{what} {name!r}: names must not contain a dot, which separates them from their quantities")
    return name


def value_of(value: Number) -> float:
    """The number itself."""
    return value.value if type(value) is Parameter else value


def values_of(entries: Sequence[Number]) -> tuple[float, ...]:
    return tuple(value_of(x) for x in entries)
