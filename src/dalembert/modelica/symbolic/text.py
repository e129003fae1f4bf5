"""`String(…)`: numbers as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca


@dataclass(frozen=True, eq=False)
class OpenText:
    """A text that contains numbers of the simulation: strings and graphs."""

    parts: tuple[str | ca.SX, ...]


def joined(left: str | OpenText, right: str | OpenText) -> str | OpenText:
    """`left + right`."""
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return OpenText((*parts(left), *parts(right)))


def parts(value: str | OpenText) -> tuple[str | ca.SX, ...]:
    return value.parts if isinstance(value, OpenText) else (value,)


def text(args: list[Any], named: dict[str, Any]) -> str | OpenText:
    """A value as text, as Modelica's `String` writes it; how open numbers are written is decided where they are known.

    Examples
    --------
    >>> text([1.5], {}), text([True], {}), text([3], {"minimumLength": 4}), text([2.0], {"format": "8.3f"})
    ('1.5', 'true', '3   ', '   2.000')
    """
    if not args:
        raise ValueError("String needs a value")
    value = args[0]
    if isinstance(value, ca.SX):
        return OpenText((value,))
    options = {"significantDigits": 6, "minimumLength": 0, "leftJustified": True} | named
    names = [name for name in ("significantDigits", "minimumLength", "leftJustified", "format") if name in options]
    if isinstance(value, bool | int):  # these have no digits
        names = [name for name in names if name != "significantDigits"]
    options |= dict(zip(names, args[1:], strict=False))
    if isinstance(value, bool):
        found = "true" if value else "false"
    elif "format" in options:
        try:
            found = f"%{str(options['format']).lstrip('%')}" % value
        except (ValueError, TypeError):
            raise ValueError(f"{options['format']!r} is no format of a number") from None
    elif isinstance(value, str | int):
        found = str(value)
    else:
        found = f"%.{int(options['significantDigits'])}g" % value
    length = int(options["minimumLength"])
    if length > 10_000:
        raise ValueError(f"a text of {length} characters is too long")
    return found.ljust(length) if options["leftJustified"] else found.rjust(length)
