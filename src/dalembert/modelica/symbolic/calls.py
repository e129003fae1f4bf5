"""Functions, records and enumerations of a flat model."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.modelica import tree
from dalembert.modelica.source import nearest
from dalembert.modelica.symbolic.execution import Budget
from dalembert.modelica.symbolic.externals import Answer, call_external
from dalembert.modelica.symbolic.externals.lapack import WHOLE
from dalembert.modelica.symbolic.functions import Body, arguments, empty_record, spread, together
from dalembert.modelica.values import Arr, EnumType, RecordValue

if TYPE_CHECKING:
    from dalembert.modelica.flat import FlatModel
    from dalembert.modelica.flat_functions import FlatFunction, FlatRecord
    from dalembert.modelica.symbolic.expressions import Expressions

DEEPEST = 60  # calls within calls
_BUILTIN = {
    "StateSelect": EnumType("StateSelect", ("never", "avoid", "default", "prefer", "always")),
    "AssertionLevel": EnumType("AssertionLevel", ("warning", "error")),
}


class Calls:
    """What can be called in a flat model: functions, constructors of records and of external objects.

    Calls of one function with the same arguments are carried out once. (Several scalar equations may stand for one
    whose sides are arrays, and contain the call each.)
    """

    def __init__(self, flat: FlatModel | None = None):
        self.functions: dict[str, FlatFunction] = {} if flat is None else flat.functions
        self.records: dict[str, FlatRecord] = {} if flat is None else flat.records
        self.enumerations: dict[str, EnumType] = _BUILTIN | ({} if flat is None else flat.enumerations)
        self.externals: dict[str, list[FlatFunction]] = {} if flat is None else flat.externals
        self.notes: dict[str, None] = {}  # what is worth knowing about the calls that were made, in order
        self._made: dict[Hashable, tuple[Any, list[Any]]] = {}
        self._depth = 0
        self._budget = Budget()

    def literal(self, node: tree.Ref) -> int:
        """The number of a value of an enumeration."""
        enumeration = self.enumerations[node.names[0]]
        if node.names[1] not in enumeration.literals:
            raise ValueError(f"{enumeration.name} has no value `{node.names[1]}`")
        return enumeration.literals.index(node.names[1]) + 1

    def call(
        self, name: str, args: list[Any], named: dict[str, Any], node: tree.Call, evaluator: Expressions
    ) -> list[Any]:
        """All results. `evaluator` is that of the place of the call, which is `node`."""
        if name in self.records and name not in self.functions:
            return [self.construct(self.records[name], args, named, evaluator)]
        if name in self.functions:
            function = self.functions[name]
        elif name in self.externals:
            function = self.externals[name][0]
        elif named and not args:  # a record whose type is another name of a record's
            return [RecordValue(name, dict(named))]
        else:
            hint = nearest(name, self.functions)
            raise ValueError(f"there is no function `{name}`" + (f". {hint}" if hint else ""))
        given = arguments(function, args, named)
        rows = spread(function, given)
        if rows is not None:
            return together(rows[0], [self.once(function, given | row, node, evaluator) for row in rows[1]])
        return self.once(function, given, node, evaluator)

    def once(self, function: FlatFunction, given: dict[str, Any], node: tree.Call, evaluator: Expressions) -> list[Any]:
        """The results, from memory if the same call was made before."""
        path = evaluator.path()
        key = (function.name, _key(path), tuple(given), *map(_key, given.values()))
        if key not in self._made or not function.pure:
            self._made[key] = ((path, given), self.run(function, given, node, evaluator))  # keeps what the key means
        return self._made[key][1]

    def run(self, function: FlatFunction, given: dict[str, Any], node: tree.Call, evaluator: Expressions) -> list[Any]:
        if self._depth >= DEEPEST:
            evaluator.context.fail(f"function {function.name} is called within more than {DEEPEST} calls", node)
        if self._depth == 0:
            self._budget = Budget()
        self._depth += 1
        try:
            whole = WHOLE.get(function.name)
            if whole is not None and (found := whole(list(given.values()))) is not None:
                return found
            body = Body(function, self, evaluator, node)
            if function.external is not None:
                return self.external(function, body.begin(given), body)
            return body.run(given, self._budget)
        finally:
            self._depth -= 1

    def external(self, function: FlatFunction, values: dict[str, Any], body: Body) -> list[Any]:
        """Results of a function that is not written in Modelica."""
        node = function.external
        name = node.function or function.name.rsplit(".", 1)[-1]
        inputs = {one.name for one in function.inputs}
        outputs = [one.name for one in function.outputs]
        args: list[Any] = []
        places: dict[str, int] = {}
        for i, arg in enumerate(node.args if node.function else [tree.Ref(0, (one.name,)) for one in function.inputs]):
            if isinstance(arg, tree.Ref) and arg.names[0] in values and arg.names[0] not in inputs:
                places[arg.names[0]] = i  # an output, or something to work with
                args.append(values[arg.names[0]])
            else:
                args.append(body.evaluator.value(arg))
        answer = call_external(name, args, function, body)
        found = []
        for output in outputs:
            result = node.result is not None and node.result.names[0] == output
            if result or (not places and len(outputs) == 1):
                found.append(answer.value if isinstance(answer, Answer) else answer)
            elif output in places and isinstance(answer, Answer) and places[output] in answer.args:
                found.append(answer.args[places[output]])
            else:
                body.fail(f"the external function `{name}` gives no value to `{output}`", body.call)
        return found

    # -- records -------------------------------------------------------------------------------------------------

    def construct(
        self, record: FlatRecord, args: list[Any], named: dict[str, Any], evaluator: Expressions
    ) -> RecordValue:
        names = [one.name for one in record.fields]
        if len(args) > len(names):
            raise ValueError(f"record {record.name} has {len(names)} fields, not {len(args)}")
        for name in named:
            if name not in names:
                raise ValueError(f"record {record.name} has no field `{name}`")
        given = dict(zip(names, args, strict=False)) | named
        missing = [one for one in record.fields if one.name not in given]
        defaults = empty_record(record, self, evaluator).fields if missing else {}
        for one in missing:
            if defaults[one.name] is None:
                raise ValueError(f"the field `{one.name}` of record {record.name} is not given")
        return RecordValue(record.name, {name: given.get(name, defaults.get(name)) for name in names})

    def empty(self, record: FlatRecord, evaluator: Expressions) -> RecordValue:
        return empty_record(record, self, evaluator)


def _key(value: Any) -> Hashable:
    """Something that is equal for equal values, as long as the values live."""
    if isinstance(value, ca.SX):
        return ("graph", value.element_hash())
    if isinstance(value, Arr):
        return ("array", value.shape, *map(_key, value.items))
    if isinstance(value, RecordValue):
        return ("record", *((name, _key(one)) for name, one in value.fields.items()))
    if isinstance(value, bool | int | float | str) or value is None:
        return (type(value).__name__, value)
    return ("object", id(value))
