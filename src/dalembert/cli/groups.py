"""Groups of options: a command takes one argument for a group, and the command line shows its options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def expanded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with every field of a group, which is a dataclass, as an argument of its own.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> def norm(point: Point, order: int = 2) -> float:
    ...     return (point.x**order + point.y**order) ** (1 / order)
    >>> inspect.signature(expanded(norm))
    <Signature (*, x: int, y: int = 0, order: int = 2)>
    >>> expanded(norm)(x=3, y=4)
    5.0
    """
    plan: list[tuple[str, type | None, dict[str, inspect.Parameter]]] = []
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if dataclasses.is_dataclass(kind):
            plan.append((parameter.name, kind, _fields(kind)))
        else:
            own = parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
            plan.append((parameter.name, None, {parameter.name: own}))

    parameters = {name: parameter for _, _, own in plan for name, parameter in own.items()}
    defaults = {name: own.default for name, own in parameters.items() if own.default is not own.empty}

    @functools.wraps(function)
    def run(**given: Any) -> Any:
        given = defaults | given
        return function(
            **{
                name: given[name] if group is None else group(**{each: given[each] for each in own})
                for name, group, own in plan
            }
        )

    del run.__wrapped__  # whose signature is another one
    described: Any = run
    described.__signature__ = inspect.Signature(list(parameters.values()))
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run


def _fields(group: Any) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(group)
    }
