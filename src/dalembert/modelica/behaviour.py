"""Equations and algorithms of instances to those of the flat model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.errors import ModelicaError
from dalembert.modelica import operators, tree
from dalembert.modelica.components import Instance, Variable
from dalembert.modelica.connections import Connections
from dalembert.modelica.evaluate import Evaluator
from dalembert.modelica.flat import FlatAlgorithm, FlatAssert, FlatEquation, FlatModel, FlatWhen, Origin
from dalembert.modelica.overconstrained import asks
from dalembert.modelica.scopes import Part, Scope, World
from dalembert.modelica.statements import Statements, evaluator_call
from dalembert.modelica.values import (
    AT,
    Arr,
    EnumValue,
    FunctionValue,
    RecordValue,
    as_tree,
    is_known,
    products,
    shape_of,
)

Flat = FlatEquation | FlatWhen | FlatAssert | FlatAlgorithm | tree.CallStatement


class Behaviour(Statements):
    """The part of the flattener that is about equations."""

    flat: FlatModel

    def __init__(self, world: World):
        self.evaluator = Evaluator(world)
        self.connections = Connections(self.evaluator)
        self.variables: list[Variable] = []
        self.waiting: list[Callable[[], None]] = []  # what asks about all connections
        self.all_connected = False

    def sections(self, part: Part, instance: Instance) -> None:
        if part.definition.node.sections and instance.kind in ("record", "connector", "expandable connector"):
            at = part.definition.node.sections[0].at
            part.source.fail(f"{instance.kind} {part.definition.name} cannot have equations", at)
        for section in part.definition.node.sections:
            scope = Scope(part)
            if section.kind == "algorithm":
                self.algorithm(section, scope, instance)
                continue
            found: list[Flat] = []
            for node in section.items:
                if asks(node) and not self.all_connected:
                    self.later(node, scope, instance, section.initial)
                    continue
                found += self.equation(node, scope, instance)
            for one in found:
                self.put(one, section.initial)

    def answer_questions(self) -> None:
        """Equations that depend on all connections, once these are known."""
        self.all_connected = True
        self.flat.equations += self.connections.graph.solve()
        for one in self.waiting:
            one()

    def later(self, node: tree.Statement, scope: Scope, instance: Instance, initial: bool) -> None:
        def put() -> None:
            for one in self.equation(node, scope, instance):
                self.put(one, initial)

        self.waiting.append(put)

    def put(self, one: Flat, initial: bool) -> None:
        flat = self.flat
        if isinstance(one, FlatEquation):
            (flat.initial_equations if initial else flat.equations).append(one)
        elif isinstance(one, FlatWhen):
            flat.whens.append(one)
        elif isinstance(one, FlatAssert):
            flat.asserts.append(one)
        elif isinstance(one, FlatAlgorithm):
            (flat.initial_algorithms if initial else flat.algorithms).append(one)
        else:
            flat.terminations.append((tree.Literal(AT, True), one.call.args[0]))

    def origin(self, node: Any, scope: Scope, instance: Instance) -> Origin:
        return Origin(scope.part.source, node.at, instance.name)

    # -- equations -----------------------------------------------------------------------------------------------

    def equation(self, node: tree.Statement, scope: Scope, instance: Instance) -> list[Flat]:
        """What an equation of the text means, in scalars."""
        origin = self.origin(node, scope, instance)
        match node:
            case tree.Equation():
                return self.equality(node, scope, origin)
            case tree.Connect():
                self.connections.connect(node, scope, origin)
                return []
            case tree.For():
                found: list[Flat] = []
                for turn in self.evaluator.turns(node.iterators, node.body, scope):
                    for one in node.body:
                        found += self.equation(one, turn, instance)
                return found
            case tree.If():
                return self.conditional(node, scope, instance)
            case tree.When():
                return [self.when(node, scope, instance)]
            case tree.CallStatement():
                return self.call(node, scope, origin)
        self.evaluator.fail("this cannot stand among equations", node, scope)

    def equality(self, node: tree.Equation, scope: Scope, origin: Origin) -> list[Flat]:
        value = self.evaluator.value
        if isinstance(node.left, tree.Tuple):
            return self.results(node.left, node.right, node, scope, origin)
        left, right = value(node.left, scope), value(node.right, scope)
        call = whole_call(right)
        if call is not None and isinstance(left, Arr) and left.shape == right.shape and _names_only(left):
            return [FlatEquation(as_tree(left), call, origin)]
        return [FlatEquation(a, b, origin) for a, b in self.scalars(left, right, node, scope)]

    def scalars(self, left: Any, right: Any, node: Any, scope: Scope) -> list[tuple[tree.Expression, tree.Expression]]:
        """Pairs of scalars of two values that have to be equal."""
        if isinstance(left, RecordValue) and isinstance(right, RecordValue):
            if set(left.fields) != set(right.fields):
                odd = sorted(set(left.fields) ^ set(right.fields))
                self.evaluator.fail(f"the records differ in {', '.join(odd)}", node, scope)
            return [
                pair
                for name in left.fields
                for pair in self.scalars(left.fields[name], right.fields[name], node, scope)
            ]
        if isinstance(left, RecordValue) or isinstance(right, RecordValue):
            self.evaluator.fail("a record and something else are set equal", node, scope)
        if isinstance(left, Arr) or isinstance(right, Arr):
            if shape_of(left) != shape_of(right):
                sizes = [list(shape_of(x)) or "a scalar" for x in (left, right)]
                self.evaluator.fail(f"both sides have different sizes: {sizes[0]} and {sizes[1]}", node, scope)
            pairs = zip(left.items, right.items, strict=True)
            return [pair for a, b in pairs for pair in self.scalars(a, b, node, scope)]
        if isinstance(left, FunctionValue) or isinstance(right, FunctionValue):
            self.evaluator.fail("a function has no value without its arguments", node, scope)
        if is_known(left) and is_known(right):
            if left == right:
                return []  # nothing is said
            self.evaluator.fail(f"this equation says {as_text(left)} = {as_text(right)}", node, scope)
        return [(as_tree(left), as_tree(right))]

    def results(
        self, left: tree.Tuple, right: tree.Expression, node: Any, scope: Scope, origin: Origin, whole: bool = True
    ) -> list[Flat]:
        """(a, b) = f(x); arrays on the left stay `whole` if they may."""
        evaluator = self.evaluator
        klass = evaluator.called_class(right.function, scope) if isinstance(right, tree.Call) else None
        if klass is None or isinstance(klass.definition, str) or klass.kind != "function":
            evaluator.fail("several results need a function call on the right", node, scope)
        args = [evaluator.value(arg, scope) for arg in right.args]
        named = {one.name: evaluator.value(one.value, scope) for one in right.named}
        function = evaluator.function(klass)
        values = function.call_all(args, named, right, scope)
        if len(left.items) > len(values):
            evaluator.fail(f"function {klass.name} has {len(values)} results", node, scope)
        items: list[Any] = [None if item is None else evaluator.value(item, scope) for item in left.items]
        given = list(function.arguments(args, named, right, scope).values())
        simple = not any(isinstance(one, RecordValue) for one in (*items, *values)) and not any(
            isinstance(item, Arr) and not (whole and _names_only(item)) for item in items
        )
        if simple and not all(is_known(v) for v in values):
            call = evaluator_call(evaluator.registered(function), given)
            if len(items) == 1:
                return [FlatEquation(as_tree(items[0]), call, origin)]
            return [FlatEquation(tree.Tuple(AT, tuple(None if i is None else as_tree(i) for i in items)), call, origin)]
        found: list[Flat] = []
        for item, value in zip(items, values, strict=False):
            if item is not None:
                found += [FlatEquation(a, b, origin) for a, b in self.scalars(item, value, node, scope)]
        return found

    def call(self, node: tree.CallStatement, scope: Scope, origin: Origin) -> list[Flat]:
        evaluator = self.evaluator
        call = node.call
        name = ".".join(call.function.names)
        if name == "assert":
            return self.assertion(call, scope, origin)
        if name == "terminate":
            if len(call.args) != 1:
                evaluator.fail("`terminate` needs a message", node, scope)
            return [tree.CallStatement(AT, evaluator_call(name, [evaluator.value(arg, scope) for arg in call.args]))]
        if name == "reinit":
            evaluator.fail("`reinit` can only stand in a when-clause", node, scope)
        if call.function.names[0] == "Connections" and scope.part.world.top("Connections") is None:
            self.connections.graph.state(call, scope)
            return []
        klass = evaluator.called_class(call.function, scope)
        if klass is None:
            evaluator.builtin(name, call, scope)
            evaluator.fail(f"`{name}` cannot stand as an equation", node, scope)
        statements = self.procedure(node, scope)
        return [FlatAlgorithm(statements, [], origin)] if statements else []

    def assertion(self, call: tree.Call, scope: Scope, origin: Origin) -> list[Flat]:
        evaluator = self.evaluator
        by_name = {one.name: one.value for one in call.named}
        given = dict(zip(("condition", "message", "level"), call.args, strict=False)) | by_name
        if "condition" not in given or "message" not in given:
            evaluator.fail("`assert` needs a condition and a message", call, scope)
        condition = evaluator.value(given["condition"], scope)
        level = evaluator.known_value(given["level"], scope, "a level") if "level" in given else None
        severity = level.literal if isinstance(level, EnumValue) else "error"
        if condition is True:
            return []
        message = as_tree(evaluator.value(given["message"], scope))
        if condition is False and severity == "error":
            text = message.value if isinstance(message, tree.Literal) else "see there"
            evaluator.fail(f"an assertion does not hold: {text}", call, scope)
        return [FlatAssert(as_tree(condition), message, severity, origin)]

    # -- if ------------------------------------------------------------------------------------------------------

    def conditional(self, node: tree.If, scope: Scope, instance: Instance) -> list[Flat]:
        evaluator = self.evaluator
        open_: list[tuple[tree.Expression, tuple[tree.Statement, ...]]] = []
        last: tuple[tree.Statement, ...] = node.otherwise or ()
        for condition, body in node.branches:
            value = evaluator.value(condition, scope)
            if isinstance(value, bool):
                if value:
                    last = body
                    break
                continue
            if not isinstance(value, tuple):
                evaluator.fail("a condition has to be true or false", condition, scope)
            open_.append((value, body))
        if not open_:
            return [one for item in last for one in self.equation(item, scope, instance)]
        failure = None  # what is wrong with a branch; it does not matter if the branch is not chosen
        try:
            merged = None if _has_structure(node) else self.merged(open_, last, node, scope, instance)
        except ModelicaError as reason:
            failure = reason
        else:
            if merged is not None:
                return merged
        # the branches differ in structure: parameters decide which one it is
        for condition, body in node.branches:
            try:
                value = evaluator.known_value(condition, scope, "this condition")
            except ModelicaError as reason:
                raise failure or scope.part.source.error(
                    "the branches of this if-equation have different numbers of equations, or connections, and its "
                    "condition is not known before the simulation", condition.at, str(reason).split("\n")[0],
                ) from None  # fmt: skip
            if not isinstance(value, bool):
                evaluator.fail("a condition has to be true or false", condition, scope)
            if value:
                return [one for item in body for one in self.equation(item, scope, instance)]
        return [one for item in node.otherwise or () for one in self.equation(item, scope, instance)]

    def merged(self, open_: list, last: tuple, node: tree.If, scope: Scope, instance: Instance) -> list[Flat] | None:
        """Branches as one set of equations with if-expressions; None if they do not fit each other."""
        origin = self.origin(node, scope, instance)
        bodies = [[one for item in body for one in self.equation(item, scope, instance)] for _, body in open_]
        bodies.append([one for item in last for one in self.equation(item, scope, instance)])
        conditions = [condition for condition, _ in open_]
        sums = [[one for one in body if isinstance(one, FlatEquation)] for body in bodies]
        if len({len(one) for one in sums}) != 1 or not all(_is_simple(one) for body in bodies for one in body):
            return None
        same = all(len({equation.left for equation in row}) == 1 for row in zip(*sums, strict=True))
        if not same and self.known_conditions(node, scope):
            return None
        found: list[Flat] = []
        for row in zip(*sums, strict=True):
            if len({equation.left for equation in row}) == 1:
                found.append(FlatEquation(row[0].left, _choice(conditions, [one.right for one in row]), row[0].origin))
            else:
                residuals = [self.residual(one) for one in row]
                found.append(FlatEquation(tree.Literal(AT, 0.0), _choice(conditions, residuals), origin))
        for i, body in enumerate(bodies):
            before = [tree.Unary(AT, "not", condition) for condition in conditions[:i]] + conditions[i : i + 1]
            for one in body:
                if isinstance(one, FlatAssert):
                    guard = before[0]
                    for more in before[1:]:
                        guard = tree.Binary(AT, "and", guard, more)
                    holds = tree.Binary(AT, "or", tree.Unary(AT, "not", guard), one.condition)
                    found.append(FlatAssert(holds, one.message, one.level, one.origin))
        return found

    def residual(self, equation: FlatEquation) -> tree.Expression:
        try:
            return as_tree(operators.scalar("-", _bare(equation.left), _bare(equation.right)))
        except ValueError as reason:
            equation.origin.source.fail(str(reason), equation.origin.at)

    def known_conditions(self, node: tree.If, scope: Scope) -> bool:
        """Whether parameters alone decide."""
        try:
            for condition, _ in node.branches:
                self.evaluator.value(condition, scope.constant())
        except ModelicaError:
            return False
        return True


def as_text(value: Any) -> str:
    from dalembert.modelica.printer import expression_text

    return expression_text(as_tree(value))


def whole_call(value: Any) -> tree.Call | None:
    """The call of which an array is the result, if it is one: the call is then made once."""
    if not isinstance(value, Arr) or not value.items:
        return None
    first = value.items[0]
    call = first.base if isinstance(first, tree.Index) else None
    if not isinstance(call, tree.Call) or not all(
        isinstance(one, tree.Index) and one.base is call for one in value.items
    ):
        return None
    wanted = list(products(value.shape))
    given = [tuple(getattr(sub, "value", None) for sub in one.subs) for one in value.items]
    return call if given == wanted else None


def _names_only(value: Arr) -> bool:
    return all(isinstance(item, tree.Ref) for item in value.items)


def _bare(node: tree.Expression) -> Any:
    return node.value if isinstance(node, tree.Literal) else node


def _choice(conditions: list[tree.Expression], values: list[tree.Expression]) -> tree.Expression:
    if all(value == values[0] for value in values):
        return values[0]
    return tree.IfExpression(AT, tuple(zip(conditions, values, strict=False)), values[-1])


def _is_simple(one: Flat) -> bool:
    """Whether it can stand in a branch that is chosen in the simulation."""
    if isinstance(one, FlatEquation):
        return not isinstance(one.left, tree.Tuple | tree.Array)
    return isinstance(one, FlatAssert)


def _has_structure(node: tree.If) -> bool:
    """Whether connections stand within an if-equation."""

    def inside(one: Any) -> bool:
        if isinstance(one, tree.Connect | tree.When):
            return True
        if isinstance(one, tree.CallStatement):
            return one.call.function.names[0] == "Connections"
        if isinstance(one, tree.If | tree.For):
            return any(inside(item) for item in _bodies(one))
        return False

    return any(inside(item) for item in _bodies(node))


def _bodies(node: tree.If | tree.For) -> list[tree.Statement]:
    if isinstance(node, tree.For):
        return list(node.body)
    return [item for _, body in node.branches for item in body] + list(node.otherwise or ())
