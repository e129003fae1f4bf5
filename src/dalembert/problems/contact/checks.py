"""Checks of what problems with contacts are given, besides those of all problems."""

from __future__ import annotations

from dalembert.errors import OptionError


def check_restitution(problem: str, **values: float) -> None:
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise OptionError(f"{problem}: {name} must lie between 0 (no rebound) and 1 (elastic), not {value:g}")


def check_friction(problem: str, **values: float) -> None:
    for name, value in values.items():
        if value < 0:
            raise OptionError(f"{problem}: {name} must not be negative, not {value:g}")
