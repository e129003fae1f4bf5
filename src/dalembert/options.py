"""What options classes share: names are checked, numbers are numbers, and only what was changed is shown."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from typing import Any

import numpy as np

from dalembert.errors import OptionError


@functools.cache
def _names(cls: type) -> tuple[str, ...]:
    """Of all options of a class."""
    return tuple(field.name for field in dataclasses.fields(cls))


@functools.cache
def _numbers(cls: type) -> tuple[tuple[str, bool, bool], ...]:
    """The options that are numbers: name, whether it is a whole one, whether it may be None."""
    kinds = ((field.name, str(field.type)) for field in dataclasses.fields(cls))
    return tuple(
        (name, kind.startswith("int"), kind.endswith(" | None"))
        for name, kind in kinds
        if kind.removesuffix(" | None") in ("float", "int")
    )


class Options:
    """Base of the options classes: frozen dataclasses with `repr=False`. Unknown options suggest the nearest name."""

    def __new__(cls, *args: Any, **given: Any) -> Options:
        known = _names(cls)
        if args:
            example = f", e.g. {cls.__name__}({known[0]}=...)" if known else "; it has none"
            raise OptionError(f"{cls.__name__} takes its options by name{example}")
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else f" (known: {', '.join(known)})"
                raise OptionError(f"{cls.__name__} has no option '{name}'{hint}")
        return super().__new__(cls)

    def coerce_numbers(self) -> None:
        """Options that are numbers become what their annotation says; anything else is an error that names them."""
        for name, whole, optional in _numbers(type(self)):
            value = getattr(self, name)
            if (value is None and optional) or (type(value) is int and whole):
                continue
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = np.nan
            if not np.isfinite(number) or (whole and number != int(number)) or isinstance(value, str):
                kind = "a whole number" if whole else "a finite number"
                raise OptionError(f"{type(self).__name__}: {name}={value!r} must be {kind}")
            object.__setattr__(self, name, int(number) if whole else number)

    def __repr__(self) -> str:
        """The options that differ from their defaults, the method's own ones first."""
        known = self.__dict__.get("_text")  # every result has it
        if known is None:
            own = type(self).__annotations__
            fields = sorted(dataclasses.fields(self), key=lambda f: f.name not in own)
            changed = [f for f in fields if getattr(self, f.name) != f.default]
            known = f"{type(self).__name__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in changed)})"
            object.__setattr__(self, "_text", known)
        return known


def require(condition: bool, message: str) -> None:
    """Raise OptionError unless the condition holds."""
    if not condition:
        raise OptionError(message)


def one_of(name: str, value: Any, allowed: tuple) -> None:
    """Raise OptionError, with the nearest alternative, unless value is allowed."""
    if value in allowed:
        return
    near = difflib.get_close_matches(str(value), [str(a) for a in allowed], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise OptionError(f"{name}={value!r} is unknown{hint} (one of {', '.join(repr(a) for a in allowed)})")
