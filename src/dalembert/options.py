"""What options classes share: names are checked, numbers are numbers, and only what was changed is shown."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
from typing import Any, ClassVar, Self

from dalembert.checks import LARGEST_WHOLE, NoNumber, flag, real, shown, whole
from dalembert.errors import OptionError

#: values that can be shown whatever they are
_PLAIN = (float, bool, type(None))


@functools.cache
def _names(cls: type[Options]) -> tuple[str, ...]:
    """Of all options of a class."""
    return tuple(field.name for field in dataclasses.fields(cls))


@functools.cache
def _kinds(cls: type[Options]) -> tuple[tuple[str, str, bool], ...]:
    """The options that are numbers, flags or words: name, which of them, whether it may be None."""
    kinds = ((field.name, str(field.type)) for field in dataclasses.fields(cls))
    return tuple(
        (name, kind.removesuffix(" | None"), kind.endswith(" | None"))
        for name, kind in kinds
        if kind.removesuffix(" | None") in ("float", "int", "bool", "str")
    )


class Options:
    """Base of the options classes: frozen dataclasses with `repr=False`. Unknown options suggest the nearest name."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __new__(cls, *args: Any, **given: Any) -> Self:
        known = _names(cls)
        if args:
            example = f", e.g. {cls.__name__}({known[0]}=...)" if known else "; it has none"
            raise OptionError(f"{cls.__name__} takes its options by name{example}")
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else f" (known: {', '.join(known)})"
                raise OptionError(f"{cls.__name__} has no option '{name}'{hint}")
            if type(given[name]) not in _PLAIN:
                _must_be_shown(cls, name, given[name])
        return super().__new__(cls)

    def coerce_numbers(self) -> None:
        """Numbers, flags and words become what their annotation says; anything else is an error that names them."""
        for name, kind, optional in _kinds(type(self)):
            value = getattr(self, name)
            if value is None and optional:
                continue
            try:
                value = _CONVERT[kind](value)
            except NoNumber:
                raise OptionError(f"{type(self).__name__}: {name}={shown(value)} must be {_CALLED[kind]}") from None
            object.__setattr__(self, name, value)

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


def _must_be_shown(cls: type, name: str, value: Any) -> None:
    """Options are shown in messages and results: what cannot be shown cannot be one."""
    try:
        repr(value)
    except Exception:
        raise OptionError(f"{cls.__name__}: {name} is {shown(value)}, which cannot even be shown") from None


def _number(value: Any) -> float:
    number = real(value)
    if not math.isfinite(number):
        raise NoNumber("is not finite")
    return number


def _count(value: Any) -> int:
    count = whole(value)
    if abs(count) > LARGEST_WHOLE:
        raise NoNumber("is too large")
    return count


def _word(value: Any) -> Any:
    """Plain text of text; `one_of` looks at everything else."""
    return str.__str__(value) if isinstance(value, str) else value


_CONVERT = {"float": _number, "int": _count, "bool": flag, "str": _word}
_CALLED = {"float": "a finite number", "int": "a whole number below 2**63", "bool": "True or False", "str": "text"}


def require(condition: bool, message: str) -> None:
    """Raise OptionError unless the condition holds."""
    if not condition:
        raise OptionError(message)


def one_of(name: str, value: Any, allowed: tuple) -> None:
    """Raise OptionError, with the nearest alternative, unless value is allowed."""
    if isinstance(value, str) and value in allowed:
        return
    near = difflib.get_close_matches(value, [str(a) for a in allowed], n=1) if isinstance(value, str) else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise OptionError(f"{name}={shown(value)} is unknown{hint} (one of {', '.join(repr(a) for a in allowed)})")


def between(name: str, value: int, least: int, most: int) -> None:
    """Raise OptionError unless a whole number lies within these limits."""
    if not least <= value <= most:
        raise OptionError(f"{name}={shown(value)} must lie between {least} and {most}")
