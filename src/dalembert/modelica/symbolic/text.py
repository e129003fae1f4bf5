"""`String(…)`: numbers as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import casadi as ca

_FORMAT = re.compile(r"[-+ #0]*\d{0,3}(?:\.\d{0,3})?[diouxXeEfFgG]")


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
    for name in names:
        wanted = {"leftJustified": bool, "format": str}.get(name, int)
        if not isinstance(options[name], wanted):
            raise ValueError(f"the option {name} of String has to be known, and of another type")
    if not isinstance(value, bool | int | float | str):
        raise ValueError("String is for scalars")
    if isinstance(value, bool):
        found = "true" if value else "false"
    elif "format" in options:
        wanted = options["format"].lstrip("%")
        if not _FORMAT.fullmatch(wanted):
            raise ValueError(f"{wanted[:40]!r} is no format of a number")
        try:
            found = f"%{wanted}" % value
        except (ValueError, TypeError):
            raise ValueError(f"{wanted!r} is no format of this value") from None
    elif isinstance(value, str | int):
        found = str(value)
    else:
        found = f"%.{min(max(options['significantDigits'], 1), 99)}g" % value
    length = options["minimumLength"]
    if length > 10_000:
        raise ValueError(f"a text of {length} characters is too long")
    return found.ljust(length) if options["leftJustified"] else found.rjust(length)
