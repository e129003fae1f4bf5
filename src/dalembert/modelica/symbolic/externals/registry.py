"""External functions by their names in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.modelica.values import scalars

if TYPE_CHECKING:
    from dalembert.modelica.symbolic.functions import Body


@dataclass
class Answer:
    """The value of an external function, and what it writes into its arguments, by their numbers."""

    value: Any = None
    args: dict[int, Any] = field(default_factory=dict)


@dataclass
class Question:
    """A call of an external function: its arguments, and the body in which it stands."""

    name: str
    args: list[Any]
    body: Body

    def known(self, i: int) -> Any:
        """Argument number `i`, which has to be known before the simulation."""
        return self.body.evaluator.known(self.args[i], f"an argument of {self.name}", self.body.call)

    def all_known(self) -> bool:
        """Whether no argument waits for the simulation."""
        return not any(isinstance(one, ca.SX) for arg in self.args for one in scalars(arg))


FUNCTIONS: dict[str, Callable[[Question], Any]] = {}


def external(*names: str) -> Callable[[Callable[[Question], Any]], Callable[[Question], Any]]:
    """Make a function known under names in C."""

    def register(function: Callable[[Question], Any]) -> Callable[[Question], Any]:
        for name in names:
            FUNCTIONS[name] = function
        return function

    return register
