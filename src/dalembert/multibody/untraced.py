"""Users' functions of force elements that run as Python code, since symbols cannot pass through them.

In expressions their values are symbols. What depends on these becomes a Python function of the model's namespace: it
evaluates what the user's function reads, calls it with numbers, and puts the results into the compiled rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import said, users_arithmetic
from dalembert.errors import ModelError, UntraceableError
from dalembert.model.expression import to_sx
from dalembert.model.functions import call_with_numbers, describe
from dalembert.model.namespace import Namespace

#: numbers of what a function reads, by name (None: its one argument); made of expressions when first asked for
Read = Callable[[str | None], Any]


@dataclass(frozen=True, eq=False)
class Untraced:
    """A function with the symbols that stand for its values.

    It reads one number, `argument`, or a namespace, whose symbols `lookup` knows.
    """

    where: str
    function: Callable
    reason: str
    symbol: ca.SX
    argument: ca.SX | None = None
    lookup: Callable[[str], Any] | None = None
    names: frozenset[str] | None = None

    def reads(self, name: str | None) -> tuple[ca.SX, int]:
        """The expression that it reads under this name, and its number of dimensions."""
        return (self.argument, 0) if name is None else to_sx(self.lookup(name))

    def __call__(self, read: Read) -> np.ndarray:
        return values_of(self.where, self.function, self.names, self.symbol.numel(), read)


def values_of(where: str, function: Callable, names: frozenset[str] | None, count: int, read: Read) -> np.ndarray:
    """What a function returns for numbers, as many as expected."""
    given = read(None) if names is None else Namespace(read, names)
    values = call_with_numbers(function, given).ravel()
    if values.size != count:
        raise ModelError(wrong_count(where, function, values.size, count))
    return values


def shaped(value: ca.DM, ndim: int) -> Any:
    array = np.array(value)
    return float(array[0, 0]) if ndim == 0 else array.ravel() if ndim == 1 else array


def try_out(untraced: Sequence[Untraced], symbols: Sequence[ca.SX], values: Callable[[], list[np.ndarray]]) -> None:
    """Raise ModelError if a function does not work with numbers either; `values()` makes some for the symbols."""

    def reader(one: Untraced) -> Read:
        here = [ca.DM(x) for x in values()]

        def read(name: str | None) -> Any:
            expression, ndim = one.reads(name)
            return shaped(ca.Function("f", list(symbols), [ca.densify(expression)]).call(here)[0], ndim)

        return read

    for one in untraced:
        failure: Exception | None = None
        for _ in range(5):
            try:
                with users_arithmetic():
                    one(reader(one))
            except ModelError:
                raise
            except Exception as error:
                failure = error
            else:
                break
        else:
            hint = "" if one.reason in said(failure) else f" (with symbols: {one.reason})"
            raise ModelError(f"{one.where}: {describe('function', one.function)}: {said(failure)}{hint}") from None


def wrong_count(where: str, function: Callable, found: int, needed: int) -> str:
    return f"{where}: {describe('function', function)} returned {found} value{'' if found == 1 else 's'}; {needed} " + (
        "is needed" if needed == 1 else "are needed"
    )


class WithPython:
    """An expression that contains values of untraced functions, as a function of a model's namespace.

    It travels with compiled functions of everything that may be read, in place of the expressions.
    """

    def __init__(self, own: Mapping[str, ca.SX], expression: ca.SX, inside: Sequence[Untraced]):
        self._sources: tuple | None = (dict(own), inside)
        self.where, self.reason = inside[0].where, inside[0].reason
        self.calls = [(one.where, one.function, one.names, one.symbol.numel()) for one in inside]
        self.vector = expression.shape[1] == 1
        self._functions: dict[Any, tuple[ca.Function, list[str], int]] = {}
        self._compile("expression", expression, 2, [one.symbol for one in inside])

    @property
    def __wrapped__(self) -> Callable:
        """Whose file and line messages name."""
        return self.calls[0][1]

    def _compile(self, key: Any, expression: ca.SX, ndim: int, more: Sequence[ca.SX] = ()) -> None:
        own, _ = self._sources
        used = [name for name, symbol in own.items() if symbol.numel() and ca.depends_on(expression, symbol)]
        arguments = [own[name] for name in used] + list(more)
        self._functions[key] = ca.Function("f", arguments, [ca.densify(expression)]), used, ndim

    def __call__(self, s: Namespace) -> np.ndarray:
        if not isinstance(s.t, float | int):
            raise UntraceableError(f"{self.where}: {self.reason}")

        def evaluate(key: Any, *more: np.ndarray) -> Any:
            if key not in self._functions:
                if self._sources is None:
                    raise KeyError(key)
                k, name = key
                self._compile(key, *self._sources[1][k].reads(name))
            function, used, ndim = self._functions[key]
            return shaped(function.call([*(ca.DM(s[name]) for name in used), *map(ca.DM, more)])[0], ndim)

        values = [
            values_of(*call, lambda name, k=k: evaluate((k, name)))  # as many as there are functions inside
            for k, call in enumerate(self.calls)
        ]
        result = evaluate("expression", *values)
        return result.ravel() if self.vector else result

    def __getstate__(self) -> dict[str, Any]:
        if self._sources is not None:
            for k, one in enumerate(self._sources[1]):
                for name in (None,) if one.names is None else one.names:
                    if (k, name) not in self._functions:
                        with contextlib.suppress(KeyError):
                            self._compile((k, name), *one.reads(name))
        return self.__dict__ | {"_sources": None}
