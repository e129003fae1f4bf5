"""What does not move in a drawing, colours, sizes and texts, is checked when the drawing is made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError

#: entries of a sequence that is read
MOST_ENTRIES = 100_000
MOST_COILS = 200


def checked(part: Any, where: str, faults: list[str]) -> Any:
    """The part with numbers as floats and sequences as tuples; what is wrong goes to `faults`."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(part):
        check, value = _CHECKS.get(field.name), getattr(part, field.name)
        if check is None or value is field.default:
            continue
        try:
            found[field.name] = check(value)
        except _Wrong as reason:
            faults.append(f"{where}: {field.name}={shown(value)} {reason}")
    return dataclasses.replace(part, **found) if found else part


class _Wrong(Exception):
    """Why a value cannot be taken."""


def _length(value: Any) -> float | None:
    try:
        number = None if value is None else real(value)
    except NoNumber as reason:
        raise _Wrong(reason) from None
    if number is not None and not 0 < number < math.inf:
        raise _Wrong("must be positive and finite")
    return number


def _coils(value: Any) -> int:
    number = _length(value)
    if number is None or number != int(number) or number > MOST_COILS:
        raise _Wrong(f"must be a whole number from 1 to {MOST_COILS}")
    return int(number)


def _text(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise _Wrong("must be text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise _Wrong("must be True or False")
    return bool(value)


def _sequence(value: Any) -> tuple:
    if not isinstance(value, list | tuple):
        raise _Wrong("must be a list")
    if not 0 < len(value) <= MOST_ENTRIES:
        raise _Wrong("is empty" if not value else "is too long")
    return tuple(value)


def _labels(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    found = _sequence(value)
    if not all(type(one) is str for one in found):
        raise _Wrong("must be a list of texts")
    return found


def _color(value: Any) -> Any:
    from dalembert.multibody.boundaries import Point  # which checks what all shapes have

    try:
        return Point(color=value).color
    except ModelError:
        raise _Wrong("must be the name of a colour, or three or four numbers from 0 to 1") from None


_CHECKS = {
    "width": _length,
    "radius": _length,
    "coils": _coils,
    "text": _text,
    "name": _text,
    "closed": _flag,
    "filled": _flag,
    "through": _sequence,
    "values": _sequence,
    "labels": _labels,
    "color": _color,
}


def point(value: Any) -> tuple[float, float, float] | None:
    """A point in the frame of a body; None if it is none."""
    try:
        numbers = reals(value)
    except NoNumber:
        return None
    if numbers.shape not in ((2,), (3,)) or not np.isfinite(numbers).all():
        return None
    x, y, z = (*numbers.tolist(), 0.0)[:3]
    return x, y, z


def names(given: Any) -> bool:
    """Whether these are places by name."""
    try:
        return isinstance(given, Mapping) and all(type(name) is str for name in given)
    except Exception:  # of mappings of users' own making
        return False
