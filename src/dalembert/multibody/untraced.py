"""Users' functions of force elements that run as Python code, since symbols cannot pass through them.

In expressions their values are symbols. What depends on these becomes a Python function of the model's namespace: it
evaluates what the user's function reads, calls it with numbers, and puts the results into the compiled rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import said, users_arithmetic
from dalembert.errors import ModelError, UntraceableError
from dalembert.model.expression import to_sx
from dalembert.model.functions import call_with_numbers, describe
from dalembert.model.namespace import Namespace

Read = Callable[[Any, ca.SX], np.ndarray]  # numbers of an expression, which is known by a key


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
    names: Iterable[str] = ()

    def __call__(self, read: Read) -> np.ndarray:
        if self.argument is not None:
            given: Any = float(read(id(self), self.argument)[0, 0])
        else:
            given = Namespace(lambda name: self._number(name, read), self.names)
        values = call_with_numbers(self.function, given).ravel()
        if values.size != self.symbol.numel():
            raise ModelError(wrong_count(self.where, self.function, values.size, self.symbol.numel()))
        return values

    def _number(self, name: str, read: Read) -> Any:
        expression, ndim = to_sx(self.lookup(name))
        value = read((id(self), name), expression)
        return float(value[0, 0]) if ndim == 0 else value.ravel() if ndim == 1 else value


def try_out(untraced: Sequence[Untraced], symbols: Sequence[ca.SX], values: Callable[[], list[np.ndarray]]) -> None:
    """Raise ModelError if a function does not work with numbers either; `values()` makes some for the symbols."""

    def read(_: Any, expression: ca.SX) -> np.ndarray:
        return np.array(ca.Function("f", list(symbols), [ca.densify(expression)]).call(list(map(ca.DM, here)))[0])

    for one in untraced:
        failure: Exception | None = None
        for _ in range(5):
            here = values()
            try:
                with users_arithmetic():
                    one(read)
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
    """An expression that contains values of untraced functions, as a function of a model's namespace."""

    def __init__(self, own: Mapping[str, ca.SX], expression: ca.SX, inside: list[Untraced]):
        self.own, self.expression, self.inside = dict(own), expression, inside
        self.__wrapped__ = inside[0].function  # whose file and line messages name
        self._functions: dict[Any, tuple[ca.Function, list[str]]] = {}

    def __call__(self, s: Namespace) -> np.ndarray:
        if not isinstance(s.t, float | int):
            raise UntraceableError(f"{self.inside[0].where}: {self.inside[0].reason}")

        def read(key: Any, expression: ca.SX, *values: np.ndarray) -> np.ndarray:
            if key not in self._functions:
                used = [name for name, x in self.own.items() if x.numel() and ca.depends_on(expression, x)]
                symbols = [self.own[name] for name in used] + ([one.symbol for one in self.inside] if values else [])
                self._functions[key] = ca.Function("f", symbols, [ca.densify(expression)]), used
            function, used = self._functions[key]
            return np.array(function.call([*(ca.DM(s[name]) for name in used), *map(ca.DM, values)])[0])

        values = [one(read) for one in self.inside]
        result = read("expression", self.expression, *values)
        return result.ravel() if self.expression.shape[1] == 1 else result
