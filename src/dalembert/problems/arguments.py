"""Checks of what the functions that make problems are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import OptionError


def check_count(problem: str, name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{problem}: {name} must be a whole number, at least {least}, not {value!r}")


def check_choice(problem: str, name: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise OptionError(f"{problem}: {name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_positive(problem: str, **values: Any) -> None:
    for name, value in values.items():
        if not _is_number(value) or not value > 0:
            raise OptionError(f"{problem}: {name} must be a positive number, not {value!r}")


def check_finite(problem: str, **values: Any) -> None:
    for name, value in values.items():
        if not _is_number(value):
            raise OptionError(f"{problem}: {name} must be a number, not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))
