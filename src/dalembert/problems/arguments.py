"""Checks of what the functions that make problems are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.errors import OptionError


def check_count(problem: str, name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{problem}: {name} must be a whole number, at least {least}, not {shown(value)}")


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
