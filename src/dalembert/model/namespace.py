"""The namespace `s` that model functions receive: every variable, parameter, input and `t` by name.

One class serves tracing (values are symbols) and evaluation (values are numbers). A name that does not exist, or that
this function may not use, raises `UnknownName` with the nearest names: it is a fault of the model, never a reason to
fall back to Python code.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from dalembert.checks import shown
from dalembert.errors import DalembertError


class UnknownName(DalembertError, AttributeError):
    """A model function asked for a name that does not exist or that it must not depend on."""


class Namespace:
    """Read-only attributes and items by name; names that are no identifiers are reached as `s["body 1.x"]`.

    `lookup` maps a name to its value or raises KeyError. `hidden` gives, for names that exist in the model but not
    here, the sentence that says why.
    """

    __slots__ = ("_hidden", "_lookup", "_names")

    def __init__(self, lookup: Callable[[str], Any], names: Iterable[str], hidden: Mapping[str, str] | None = None):
        object.__setattr__(self, "_lookup", lookup)
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_hidden", hidden or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in self._names:
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise UnknownName(f"s[{name!r}]: the namespace is read by name; components of a vector are s.p[0], s.v[1]")
        try:
            return self._lookup(name)
        except KeyError:
            raise UnknownName(explain_unknown(name, self._names, self._hidden)) from None

    def __iter__(self) -> NoReturn:
        raise UnknownName("the namespace s is not a sequence: iterate over s.p, s.v, … or take variables by name")

    def __setattr__(self, name: str, value: Any) -> None:
        raise DalembertError(
            f"model functions must not assign to s.{name}: they only compute values from the namespace"
        )

    def __dir__(self) -> list[str]:
        return sorted(self._names)


def explain_unknown(name: Any, names: Iterable[str], hidden: Mapping[str, str] | None = None) -> str:
    """Say why `name` is not available, with the nearest names that are."""
    if not isinstance(name, str):
        return f"{shown(name)} is not a name; known names: {', '.join(sorted(names)) or 'none'}"
    if hidden and name in hidden:
        return f"'{name}' cannot be used here: {hidden[name]}"
    near = difflib.get_close_matches(name, list(names), n=3)
    if near:
        return f"there is no '{name}'; did you mean {' or '.join(repr(n) for n in near)}?"
    return f"there is no '{name}'; known names: {', '.join(sorted(names)) or 'none'}"
