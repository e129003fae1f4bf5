"""Functions that are not written in Modelica: those of the standard library's own C code, and LAPACK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.modelica.flat_functions import FlatFunction
    from dalembert.modelica.symbolic.functions import Body


@dataclass
class Answer:
    """The value of an external function, and what it writes into its arguments, by their numbers."""

    value: Any = None
    args: dict[int, Any] = field(default_factory=dict)


def call_external(name: str, args: list[Any], function: FlatFunction, body: Body) -> Any:
    body.fail(f"the external function `{name}` is not supported", body.call)
