"""Functions, records and enumerations of a flat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.modelica import tree
from dalembert.modelica.source import nearest
from dalembert.modelica.values import EnumType, RecordValue

if TYPE_CHECKING:
    from dalembert.modelica.flat import FlatModel
    from dalembert.modelica.flat_functions import FlatFunction, FlatRecord
    from dalembert.modelica.symbolic.expressions import Expressions


class Calls:
    """What can be called in a flat model."""

    def __init__(self, flat: FlatModel | None = None):
        self.functions: dict[str, FlatFunction] = {} if flat is None else flat.functions
        self.records: dict[str, FlatRecord] = {} if flat is None else flat.records
        self.enumerations: dict[str, EnumType] = {} if flat is None else flat.enumerations
        self.externals: dict[str, list[FlatFunction]] = {} if flat is None else flat.externals

    def literal(self, node: tree.Ref) -> int:
        """The number of a value of an enumeration."""
        enumeration = self.enumerations[node.names[0]]
        if node.names[1] not in enumeration.literals:
            raise ValueError(f"{enumeration.name} has no value `{node.names[1]}`")
        return enumeration.literals.index(node.names[1]) + 1

    def call(
        self, name: str, args: list[Any], named: dict[str, Any], node: tree.Call, evaluator: Expressions
    ) -> list[Any]:
        """All results."""
        if name in self.records:
            return [self.construct(self.records[name], args, named)]
        raise ValueError(f"there is no function `{name}` ({nearest(name, self.functions) or 'none'})")

    def construct(self, record: FlatRecord, args: list[Any], named: dict[str, Any]) -> RecordValue:
        fields = dict(zip((one.name for one in record.fields), args, strict=False)) | named
        return RecordValue(record.name, fields)
