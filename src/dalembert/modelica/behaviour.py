"""Equations and algorithms of instances to those of the flat model."""

from __future__ import annotations

from typing import Any

from dalembert.errors import ModelicaError
from dalembert.modelica import operators, tree
from dalembert.modelica.components import Instance, Variable
from dalembert.modelica.connections import Connections
from dalembert.modelica.evaluate import Evaluator, Scope, products
from dalembert.modelica.flat import FlatAlgorithm, FlatAssert, FlatEquation, FlatModel, FlatWhen, Origin, targets
from dalembert.modelica.scopes import Part, World
from dalembert.modelica.values import AT, Arr, EnumValue, RecordValue, as_tree, is_known, shape_of

Flat = FlatEquation | FlatWhen | FlatAssert | FlatAlgorithm | tree.CallStatement


class Behaviour:
    """The part of the flattener that is about equations."""

    flat: FlatModel

    def __init__(self, world: World):
        self.evaluator = Evaluator(world)
        self.connections = Connections(self.evaluator)
        self.variables: list[Variable] = []

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
                found += self.equation(node, scope, instance)
            for one in found:
                self.put(one, section.initial)

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
            call = tree.Call(AT, tree.Ref(AT, (klass.name,)), tuple(as_tree(v) for v in given))
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
            return [tree.CallStatement(AT, evaluator_call(name, [evaluator.value(arg, scope) for arg in call.args]))]
        if name == "reinit":
            evaluator.fail("`reinit` can only stand in a when-clause", node, scope)
        if call.function.names[0] == "Connections":
            evaluator.called_class(call.function, scope)
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
        merged = None if _has_structure(node) else self.merged(open_, last, node, scope, instance)
        if merged is not None:
            return merged
        # the branches differ in structure: parameters decide which one it is
        for condition, body in node.branches:
            try:
                value = evaluator.known_value(condition, scope, "this condition")
            except ModelicaError as reason:
                raise scope.part.source.error(
                    "the branches of this if-equation have different numbers of equations, or connections, and its "
                    "condition is not known before the simulation", condition.at, str(reason).split("\n")[0],
                ) from None  # fmt: skip
            if value:
                return [one for item in body for one in self.equation(item, scope, instance)]
        return [one for item in node.otherwise or () for one in self.equation(item, scope, instance)]

    def merged(self, open_: list, last: tuple, node: tree.If, scope: Scope, instance: Instance) -> list[Flat] | None:
        """Branches as one set of equations with if-expressions; None if they do not fit each other."""
        origin = self.origin(node, scope, instance)
        try:
            bodies = [[one for item in body for one in self.equation(item, scope, instance)] for _, body in open_]
            bodies.append([one for item in last for one in self.equation(item, scope, instance)])
        except ModelicaError:
            return None
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
                residuals = [as_tree(operators.scalar("-", _bare(one.left), _bare(one.right))) for one in row]
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

    def known_conditions(self, node: tree.If, scope: Scope) -> bool:
        """Whether parameters alone decide."""
        try:
            for condition, _ in node.branches:
                self.evaluator.value(condition, scope.constant())
        except ModelicaError:
            return False
        return True

    # -- when ----------------------------------------------------------------------------------------------------

    def when(self, node: tree.When, scope: Scope, instance: Instance) -> FlatWhen:
        branches = []
        for condition, body in node.branches:
            value = self.evaluator.value(condition, scope)
            actions: list[tree.Statement] = []
            for one in body:
                actions += self.action(one, scope, instance)
            branches.append((as_tree(value), actions))
        return FlatWhen(branches, self.origin(node, scope, instance))

    def action(self, node: tree.Statement, scope: Scope, instance: Instance) -> list[tree.Statement]:
        """What happens at an event."""
        evaluator = self.evaluator
        match node:
            case tree.Equation():
                found = self.equality(node, scope, self.origin(node, scope, instance))
                for one in found:
                    if not isinstance(one.left, tree.Ref | tree.Tuple | tree.Array):
                        evaluator.fail("equations in when-clauses have a variable on the left", node, scope)
                return [tree.Equation(AT, one.left, one.right) for one in found]
            case tree.CallStatement() if node.call.function.names in (("reinit",), ("terminate",), ("assert",)):
                values = [evaluator.value(arg, scope) for arg in node.call.args]
                name = node.call.function.names[0]
                if name != "reinit":
                    return [tree.CallStatement(AT, evaluator_call(name, values))]
                if len(values) != 2:
                    evaluator.fail("`reinit` needs a state and its new value", node, scope)
                pairs = self.scalars(*values, node, scope)
                return [tree.CallStatement(AT, evaluator_call("reinit", list(pair))) for pair in pairs]
            case tree.For():
                turns = evaluator.turns(node.iterators, node.body, scope)
                return [one for turn in turns for item in node.body for one in self.action(item, turn, instance)]
            case tree.If():
                return self.choice_of(node, scope, lambda item: self.action(item, scope, instance))
            case tree.CallStatement():
                return self.procedure(node, scope)
        evaluator.fail("this cannot stand in a when-clause", node, scope)

    def choice_of(self, node: tree.If, scope: Scope, one: Any) -> list[tree.Statement]:
        """An if of actions or statements; branches that are known are chosen."""
        branches = []
        otherwise = node.otherwise
        for condition, body in node.branches:
            value = self.evaluator.value(condition, scope)
            if value is False:
                continue
            if value is True:
                otherwise = body
                break
            if not isinstance(value, tuple):
                self.evaluator.fail("a condition has to be true or false", condition, scope)
            branches.append((value, tuple(found for item in body for found in one(item))))
        rest = tuple(found for item in otherwise or () for found in one(item))
        if not branches:
            return list(rest)
        return [tree.If(AT, tuple(branches), rest or None)]

    # -- algorithms ----------------------------------------------------------------------------------------------

    def algorithm(self, section: tree.Section, scope: Scope, instance: Instance) -> None:
        statements = [found for item in section.items for found in self.statement(item, scope)]
        names = targets(statements)
        found = FlatAlgorithm(statements, names, self.origin(section, scope, instance))
        (self.flat.initial_algorithms if section.initial else self.flat.algorithms).append(found)

    def statement(self, node: tree.Statement, scope: Scope) -> list[tree.Statement]:
        evaluator = self.evaluator
        match node:
            case tree.Assignment(target=tree.Ref()):
                target, value = evaluator.value(node.target, scope), evaluator.value(node.value, scope)
                if isinstance(target, tree.IfExpression):
                    return self.somewhere(node, as_tree(value), scope)
                if isinstance(target, Arr) and not isinstance(value, Arr):
                    evaluator.fail("an array is assigned a scalar", node, scope)
                return [self.assignment(a, b, node, scope) for a, b in self.assigned(target, value, node, scope)]
            case tree.Assignment():
                origin = Origin(scope.part.source, node.at, "")
                found = self.results(node.target, node.value, node, scope, origin, whole=False)
                return [
                    tree.Assignment(AT, one.left, one.right) if isinstance(one.left, tree.Tuple)
                    else self.assignment(one.left, one.right, node, scope) for one in found
                ]  # fmt: skip
            case tree.If():
                return self.choice_of(node, scope, lambda item: self.statement(item, scope))
            case tree.For():
                turns = evaluator.turns(node.iterators, node.body, scope)
                return [one for turn in turns for item in node.body for one in self.statement(item, turn)]
            case tree.When():
                branches = tuple(
                    (
                        as_tree(evaluator.value(c, scope)),
                        tuple(one for item in body for one in self.statement(item, scope)),
                    )
                    for c, body in node.branches
                )
                return [tree.When(AT, branches)]
            case tree.CallStatement() if node.call.function.names in (("reinit",), ("terminate",), ("assert",)):
                values = [evaluator.value(arg, scope) for arg in node.call.args]
                return [tree.CallStatement(AT, evaluator_call(node.call.function.names[0], values))]
            case tree.CallStatement():
                return self.procedure(node, scope)
        what = {tree.While: "while", tree.Break: "break", tree.Return: "return"}.get(type(node), "this statement")
        evaluator.fail(f"`{what}` in an algorithm of a model is not supported", node, scope, "Put it into a function")

    def somewhere(self, node: tree.Assignment, value: tree.Expression, scope: Scope) -> list[tree.Statement]:
        """An assignment to an element whose number is only known in the simulation: every element keeps its value or
        gets the new one."""
        ref = node.target
        subs = ref.subs[-1] if ref.subs is not None else None
        if subs is None or len(subs) != 1 or any(one is not None for one in ref.subs[:-1]):
            self.evaluator.fail("a single subscript may be unknown before the simulation", node, scope)
        number = self.evaluator.value(subs[0], scope)
        elements = self.evaluator.value(ref._replace(subs=None), scope)
        found: list[tree.Statement] = []
        for k, element in enumerate(elements.items, 1):
            here = tree.Binary(AT, "==", number, tree.Literal(AT, k))
            found.append(tree.Assignment(AT, element, tree.IfExpression(AT, ((here, value),), element)))
        return found

    def procedure(self, node: tree.CallStatement, scope: Scope) -> list[tree.Statement]:
        """A call whose results are not used; where everything is known, it is carried out now."""
        evaluator = self.evaluator
        klass = evaluator.called_class(node.call.function, scope)
        name = ".".join(node.call.function.names)
        if klass is None or isinstance(klass.definition, str) or klass.kind != "function":
            evaluator.fail(f"`{name}` cannot be called here", node, scope)
        args = [evaluator.value(arg, scope) for arg in node.call.args]
        named = {one.name: evaluator.value(one.value, scope) for one in node.call.named}
        function = evaluator.function(klass)
        given = function.arguments(args, named, node.call, scope)
        if function.external is None and all(map(is_known, given.values())):
            function.run(given, node.call, scope)
            return []
        evaluator.functions.setdefault(function.name, function)
        return [tree.CallStatement(AT, evaluator_call(function.name, list(given.values())))]

    def assigned(self, target: Any, value: Any, node: Any, scope: Scope) -> list[tuple[Any, Any]]:
        if isinstance(target, Arr) and isinstance(value, Arr) and target.shape == value.shape:
            pairs = zip(target.items, value.items, strict=True)
            return [pair for a, b in pairs for pair in self.assigned(a, b, node, scope)]
        if isinstance(target, RecordValue) and isinstance(value, RecordValue):
            return [
                pair for k in target.fields for pair in self.assigned(target.fields[k], value.fields[k], node, scope)
            ]
        if shape_of(target) != shape_of(value):
            self.evaluator.fail("both sides have different sizes", node, scope)
        return [(target, value)]

    def assignment(self, target: Any, value: Any, node: Any, scope: Scope) -> tree.Assignment:
        if not isinstance(target, tree.Ref):
            self.evaluator.fail("only variables can be assigned to", node, scope)
        return tree.Assignment(AT, target, as_tree(value))


def evaluator_call(name: str, values: list[Any]) -> tree.Call:
    return tree.Call(AT, tree.Ref(AT, (name,)), tuple(as_tree(value) for value in values))


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
