"""What expressions need to know about the place where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import casadi as ca

from dalembert.modelica import tree

if TYPE_CHECKING:
    from dalembert.modelica.symbolic.expressions import Expressions


class Context(Protocol):
    """Equations, algorithms and bodies of functions: who evaluates trees there."""

    def name(self, node: tree.Ref) -> Any:
        """The value of `node.names[0]`; subscripts and fields are applied to it afterwards."""

    def relation(self, op: str, left: Any, right: Any, node: tree.Expression) -> Any:
        """A relation of which one side at least is a graph; in equations it makes an event."""

    def special(self, name: str, node: tree.Call, evaluator: Expressions) -> Any:
        """der, pre, edge, change, sample, initial, terminal, delay; floor, ceil, integer, div, mod, rem where they make
        events. The arguments of the latter are evaluated: `Literal` nodes that hold values.
        """

    def known(self, values: list[ca.SX], what: str, node: Any) -> list[float]:
        """The numbers of graphs that have to be known now, for `what`: expressions of parameters alone.

        Other values of these parameters then need another translation.
        """

    def claim(self, condition: ca.SX, message: tuple[str | ca.SX, ...], node: Any) -> None:
        """What has to hold in the simulation: an assertion within a function, or that a loop ends."""

    def fail(self, message: str, node: Any, suggestion: str | None = None) -> NoReturn:
        """A `ModelicaError` at the place."""
