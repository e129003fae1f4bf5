"""Checks of what the functions that make problems are given."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, flag, real, said, shown
from dalembert.errors import OptionError

#: bodies or links of a problem at most: what is larger would fill the memory before anything could be said
MOST = 100_000


def check_count(problem: str, name: str, value: Any, least: int) -> None:
    plain = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    if not plain or not least <= value <= MOST:
        raise OptionError(
            f"{problem}: {name} must be a whole number, at least {least} and at most {MOST}, not {shown(value)}"
        )


def check_choice(problem: str, name: str, value: Any, choices: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{problem}: {name} must be one of {', '.join(map(repr, choices))}, not {shown(value)}")


def check_positive(problem: str, **values: Any) -> None:
    for name, value in values.items():
        if not _is_number(value) or not value > 0:
            raise OptionError(f"{problem}: {name} must be a positive number, not {shown(value)}")


def check_finite(problem: str, **values: Any) -> None:
    for name, value in values.items():
        if not _is_number(value):
            raise OptionError(f"{problem}: {name} must be a number, not {shown(value)}")


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(real(value))
    except NoNumber:
        return False


def checked(make: Any) -> Any:
    """A function that makes a problem, with arguments converted to what their annotations say.

    The problem itself then only asks what its numbers mean, which may be anything but NaN or infinite.
    """
    signature = inspect.signature(make)
    kinds = {name: str(parameter.annotation) for name, parameter in signature.parameters.items()}

    @functools.wraps(make)
    def checking(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options)
        for name, value in given.arguments.items():
            given.arguments[name] = _converted(make.__name__, name, kinds[name], value)
        try:
            with np.errstate(all="ignore"):
                return make(*given.args, **given.kwargs)
        except ArithmeticError as error:
            raise OptionError(f"{make.__name__}: numbers beyond reach come of these values ({said(error)})") from error

    return checking


def _converted(problem: str, name: str, kind: str, value: Any) -> Any:
    if isinstance(value, str) and "str" in kind:
        return str.__str__(value)
    if kind == "str":
        raise OptionError(f"{problem}: {name} must be text, not {shown(value)}")
    if kind == "int":
        check_count(problem, name, value, -MOST)
        return int(value)
    try:
        if kind == "bool":
            return flag(value)
        if "float" in kind:
            check_finite(problem, **{name: value})
            return real(value)
    except NoNumber as reason:
        raise OptionError(f"{problem}: {name}={shown(value)} {reason}") from None
    return value
