"""Functions of the flat model on graphs: their statements are carried out once, on what they are called with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn

import casadi as ca

from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.source import nearest
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.execution import Budget, Execution, State
from dalembert.modelica.symbolic.expressions import Expressions
from dalembert.modelica.values import Arr, RecordValue, shape_of, stack
from dalembert.modelica.values import scalars as scalars_of

if TYPE_CHECKING:
    from dalembert.modelica.flat_functions import FlatFunction, FlatRecord, Formal
    from dalembert.modelica.symbolic.calls import Calls

#: calls for which nothing is done
SILENT = ("Modelica.Utilities.Streams.print", "print")


class Body:
    """One call of a function: the context of its expressions, and the host of its statements."""

    def __init__(self, function: FlatFunction, calls: Calls, caller: Expressions, call: tree.Call):
        self.function, self.calls, self.caller, self.call = function, calls, caller, call
        self.state = State({})
        self.evaluator = Expressions(self, calls)
        self.evaluator.quiet = 1
        self.evaluator.guards = list(caller.guards)
        self.inputs = {one.name for one in function.inputs}

    # -- context -------------------------------------------------------------------------------------------------

    def name(self, node: tree.Ref) -> Any:
        name = node.names[0]
        if name not in self.state.values:
            self.fail(f"there is no `{name}` here", node, nearest(name, self.state.values))
        value = self.state.values[name]
        if value is None:
            self.fail(f"`{name}` has no value here", node)
        return value

    def relation(self, op: str, left: Any, right: Any, node: Any) -> Any:
        return scalars.relation(op, left, right)

    def special(self, name: str, node: tree.Call, evaluator: Expressions) -> NoReturn:
        self.fail(f"`{name}` cannot stand in a function", node)

    def known(self, values: list[ca.SX], what: str, node: Any) -> list[float]:
        return self.caller.context.known(values, f"{what} (function {self.function.name})", self.call)

    def claim(self, condition: ca.SX, message: tuple[Any, ...], node: Any) -> bool:
        """What has to hold in the simulation; whether an event looks at it."""
        caller = self.caller
        message = (f"function {self.function.name}: ", *message)
        if isinstance(caller.context, Body):
            return caller.context.claim(condition, message, node)
        if not caller.quiet:  # relations in functions make no events, and a claim is looked at at events
            condition = caller.context.relation(">", condition, 0.5, self.call)
        caller.context.claim(condition, message, self.call)
        return not caller.quiet

    def fail(self, message: str, node: Any, suggestion: str | None = None) -> NoReturn:
        at = getattr(node, "at", 0) if node is not self.call else 0
        message = f"function {self.function.name}: {message}"
        if self.function.source is None or not at:
            self.caller.context.fail(message, self.call, suggestion)
        self.function.source.fail(message, at, suggestion)

    # -- host ----------------------------------------------------------------------------------------------------

    def target(self, name: str, node: tree.Ref) -> None:
        if name not in self.state.values or name in self.inputs:
            self.fail(f"`{name}` cannot be assigned to here", node)

    def when(self, node: tree.When, execution: Execution) -> NoReturn:
        self.fail("`when` cannot stand in a function", node)

    def action(self, call: tree.Call, evaluator: Expressions) -> None:
        name = ".".join(call.function.names)
        if name == "assert":
            self.assertion(call)
        elif name in ("reinit", "terminate"):
            self.fail(f"`{name}` cannot stand in a function", call)
        elif name not in SILENT:
            evaluator.results(call)

    def assertion(self, call: tree.Call) -> None:
        given = dict(zip(("condition", "message", "level"), call.args, strict=False))
        given |= {one.name: one.value for one in call.named}
        if "condition" not in given:
            self.fail("`assert` needs a condition", call)
        condition = self.evaluator.value(given["condition"])
        message = self.evaluator.message(given["message"]) if "message" in given else ("it does not hold",)
        level = given.get("level")
        if isinstance(level, tree.Ref) and level.names[-1] == "warning":
            return
        claimed = scalars.logical("or", scalars.negation(self.evaluator.path()), condition)
        if claimed is False:
            self.fail(f"an assertion does not hold: {''.join(map(str, message))}", call)
        if claimed is not True:
            self.claim(claimed, message, call)

    # -- the call ------------------------------------------------------------------------------------------------

    def begin(self, given: dict[str, Any]) -> dict[str, Any]:
        """The values of all declared names before the first statement."""
        function, values = self.function, self.state.values
        values.update(given)
        for formal in function.inputs:
            if formal.name not in given:
                if formal.default is None:
                    self.fail(f"the input `{formal.name}` is not given", self.call)
                values[formal.name] = self.evaluator.value(formal.default)
        for formal in function.inputs:
            self.check(formal, values[formal.name])
        waiting = [*function.outputs, *function.locals]
        for formal in waiting:
            values[formal.name] = None  # known as a name
        while waiting:  # sizes and values may be said with what is declared below
            rest = [formal for formal in waiting if not self.declare(formal, last=False)]
            if len(rest) == len(waiting):
                self.declare(rest.pop(0), last=True)
            waiting = rest
        return values

    def run(self, given: dict[str, Any], budget: Budget) -> list[Any]:
        """All outputs."""
        self.begin(given)
        Execution(self, self.evaluator, budget).block(self.function.statements)
        return [self.output(formal) for formal in self.function.outputs]

    def declare(self, formal: Formal, last: bool) -> bool:
        """Give a declared name its first value; False if that needs another one that has none yet."""
        try:
            if formal.default is not None:
                self.state.values[formal.name] = self.evaluator.value(formal.default)
            else:
                self.state.values[formal.name] = self.empty(formal)
            return True
        except ModelicaError as reason:
            if last or "has no value here" not in str(reason):
                raise
            return False

    def check(self, formal: Formal, value: Any) -> None:
        """Refuse arguments whose size does not fit."""
        shape = shape_of(value)
        if len(shape) != len(formal.dims):
            self.fail(f"the input `{formal.name}` has {len(formal.dims)} dimensions, not {len(shape)}", self.call)
        for size, n in zip(formal.dims, shape, strict=True):
            if not isinstance(size, tree.Colon) and not isinstance(size, tree.Call):
                wanted = self.size(size)
                if wanted != n:
                    self.fail(f"the input `{formal.name}` has size {n}, and {wanted} is declared", self.call)

    def size(self, node: tree.Expression) -> int:
        if isinstance(node, tree.Ref) and len(node.names) == 1:
            if node.names[0] in self.calls.enumerations:
                return len(self.calls.enumerations[node.names[0]].literals)
            if node.names[0] == "Boolean":
                return 2
        found = self.evaluator.whole(self.evaluator.value(node), "a size", node)
        if found < 0:
            self.fail(f"the size {found} is negative", node)
        return found

    def empty(self, formal: Formal) -> Any:
        """A declared name without value: None for scalars and arrays of unknown size, else arrays and records of it."""
        item = None
        if isinstance(formal.type, str) and formal.type in self.calls.records:
            item = self.calls.empty(self.calls.records[formal.type], self.evaluator)
        if not formal.dims:
            return item
        if any(isinstance(size, tree.Colon) for size in formal.dims):
            return None
        shape = tuple(self.size(size) for size in formal.dims)
        if math.prod(shape) > 1_000_000:
            self.fail(f"`{formal.name}` has {math.prod(shape)} elements", self.call)
        return Arr(shape, [item] * math.prod(shape))

    def output(self, formal: Formal) -> Any:
        value = self.state.values[formal.name]
        if value is None or any(one is None for one in scalars_of(value)):
            self.fail(f"its output `{formal.name}` gets no value", self.call)
        return real(value) if formal.type == "Real" else value


def real(value: Any) -> Any:
    """Whole numbers as Real ones."""
    if isinstance(value, Arr):
        return value.map(real)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def arguments(function: FlatFunction, args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, without those that have to come from defaults. Raises ValueError if they do not fit."""
    names = [one.name for one in function.inputs]
    if len(args) > len(names):
        raise ValueError(f"function {function.name} has {len(names)} inputs, not {len(args)}")
    given = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in names:
            hint = nearest(name, names)
            raise ValueError(f"function {function.name} has no input `{name}`" + (f"; {hint}" if hint else ""))
        if name in given:
            raise ValueError(f"the input `{name}` of function {function.name} is given twice")
        given[name] = value
    return given


def spread(function: FlatFunction, given: dict[str, Any]) -> tuple[tuple[int, ...], list[dict[str, Any]]] | None:
    """Arrays where scalars are declared: the sizes over which the function is applied to each element, and those."""
    extra: dict[str, int] = {}
    sizes: tuple[int, ...] | None = None
    for formal in function.inputs:
        if formal.name in given and (more := len(shape_of(given[formal.name])) - len(formal.dims)) > 0:
            shape = given[formal.name].shape[:more]
            if sizes not in (None, shape):
                raise ValueError(f"the arguments of {function.name} have different sizes")
            extra[formal.name], sizes = more, shape
    if sizes is None:
        return None
    rows = []
    for k in range(math.prod(sizes)):
        row = {}
        for name in extra:
            value = given[name]
            rest = value.shape[len(sizes) :]
            n = math.prod(rest)
            row[name] = Arr(rest, value.items[k * n : (k + 1) * n]) if rest else value.items[k]
        rows.append(row)
    return sizes, rows


def together(sizes: tuple[int, ...], rows: list[list[Any]]) -> list[Any]:
    """Results of calls for each element as arrays."""
    found = []
    for column in zip(*rows, strict=True):
        whole = stack(list(column))
        found.append(Arr(sizes + whole.shape[1:], whole.items))
    return found


def empty_record(record: FlatRecord, calls: Calls, evaluator: Expressions) -> RecordValue:
    """A record whose fields have their default values, or none yet."""
    fields: dict[str, Any] = {}
    for formal in record.fields:
        if formal.default is not None:
            fields[formal.name] = evaluator.value(formal.default)
            continue
        item = None
        if isinstance(formal.type, str) and formal.type in calls.records:
            item = empty_record(calls.records[formal.type], calls, evaluator)
        shape: tuple[int, ...] | None = ()
        for size in formal.dims:
            if isinstance(size, tree.Colon) or shape is None:
                shape = None
            else:
                shape += (evaluator.whole(evaluator.value(size), "a size", size),)
        fields[formal.name] = None if shape is None else Arr(shape, [item] * math.prod(shape)) if shape else item
    return RecordValue(record.name, fields)
