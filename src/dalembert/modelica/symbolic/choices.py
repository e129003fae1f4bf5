"""Whole values: changed or chosen scalar by scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import casadi as ca

from dalembert.modelica.symbolic import scalars
from dalembert.modelica.values import Arr, RecordValue, shape_of

Value: TypeAlias = "bool | int | float | str | ca.SX | Arr | RecordValue"


def mapped(value: Value, change: Callable[[Any], Any]) -> Value:
    """A value with all its scalars changed."""
    if isinstance(value, Arr):
        return value.map(lambda item: mapped(item, change))
    if isinstance(value, RecordValue):
        return RecordValue(value.type, {name: mapped(one, change) for name, one in value.fields.items()})
    return change(value)


def either(condition: Any, then: Value, otherwise: Value) -> Value:
    """A choice, element by element and field by field."""
    if isinstance(then, Arr) or isinstance(otherwise, Arr):
        if shape_of(then) != shape_of(otherwise):
            raise ValueError(f"the branches have different sizes: {list(shape_of(then))}, {list(shape_of(otherwise))}")
        pairs = zip(then.items, otherwise.items, strict=True)
        return Arr(then.shape, [either(condition, a, b) for a, b in pairs])
    if isinstance(then, RecordValue) and isinstance(otherwise, RecordValue):
        fields = {name: either(condition, one, otherwise.fields[name]) for name, one in then.fields.items()}
        return RecordValue(then.type, fields)
    return scalars.choice(condition, then, otherwise)
