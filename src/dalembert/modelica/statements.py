"""When-clauses and algorithms of instances to those of the flat model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.modelica import tree
from dalembert.modelica.components import Instance
from dalembert.modelica.evaluate import Evaluator
from dalembert.modelica.flat import FlatAlgorithm, FlatModel, FlatWhen, Origin, names_in, targets
from dalembert.modelica.restrictions import check_loops
from dalembert.modelica.scopes import Scope
from dalembert.modelica.values import AT, NUMBER, Arr, RecordValue, as_tree, is_known, shape_of


class Statements:
    """The part of the flattener that is about what happens in order, or at events."""

    flat: FlatModel
    evaluator: Evaluator
    # of the other parts
    origin: Callable[[Any, Scope, Instance], Origin]
    equality: Callable[..., list[Any]]
    results: Callable[..., list[Any]]
    scalars: Callable[..., list[tuple[tree.Expression, tree.Expression]]]

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
        check_loops(section.items, scope.part.source)
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
                pairs = self.assigned(target, value, node, scope)
                return at_once([self.assignment(a, b, node, scope) for a, b in pairs])
            case tree.Assignment():
                origin = Origin(scope.part.source, node.at, "")
                found = self.results(node.target, node.value, node, scope, origin, whole=False)
                return at_once([
                    tree.Assignment(AT, one.left, one.right) if isinstance(one.left, tree.Tuple)
                    else self.assignment(one.left, one.right, node, scope) for one in found
                ])  # fmt: skip
            case tree.If():
                return self.choice_of(node, scope, lambda item: self.statement(item, scope))
            case tree.For():
                turns = evaluator.turns(node.iterators, node.body, scope)
                body = [one for turn in turns for item in node.body for one in self.statement(item, turn)]
                return [_one_turn(body)] if _breaks(node.body) else body
            case tree.While():
                condition = evaluator.value(node.condition, scope)
                if condition is False:
                    return []
                if not isinstance(condition, tuple | bool):
                    evaluator.fail("a condition has to be true or false", node.condition, scope)
                body = tuple(one for item in node.body for one in self.statement(item, scope))
                return [tree.While(AT, as_tree(condition), body)]
            case tree.Break():
                return [tree.Break(AT)]
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
        if isinstance(node, tree.Return):
            evaluator.fail("`return` is for functions, and not for algorithms of models", node, scope)
        evaluator.fail("this cannot stand in an algorithm", node, scope)

    def somewhere(self, node: tree.Assignment, value: tree.Expression, scope: Scope) -> list[tree.Statement]:
        """An assignment to an element whose number is only known in the simulation: every element keeps its value or
        gets the new one."""
        ref: Any = node.target  # a name, and no tuple of them
        subs = ref.subs[-1] if ref.subs is not None else None
        if subs is None or len(subs) != 1 or any(one is not None for one in ref.subs[:-1]):
            self.evaluator.fail("a single subscript may be unknown before the simulation", node, scope)
        number = self.evaluator.value(subs[0], scope)
        elements = self.evaluator.value(ref._replace(subs=None), scope)
        found: list[tree.Statement] = []
        for k, element in enumerate(elements.items, 1):
            here = tree.Binary(AT, "==", number, tree.Literal(NUMBER, k))
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
        name = evaluator.registered(function)
        return [tree.CallStatement(AT, evaluator_call(name, list(given.values())))]

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


def at_once(parts: list[tree.Assignment]) -> list[tree.Assignment]:
    """The assignments to the elements of an array; a single one, of arrays, if elements are read that are assigned to
    before, as in v := {v[2], v[1]}."""
    seen: set[str] = set()
    for one in parts:
        if seen and not seen.isdisjoint(names_in(one.value)):
            left, right = (tuple(getattr(part, side) for part in parts) for side in ("target", "value"))
            return [tree.Assignment(AT, tree.Array(AT, left), tree.Array(AT, right))]
        seen.update(names_in(one.target))
    return parts


def evaluator_call(name: str, values: list[Any]) -> tree.Call:
    return tree.Call(AT, tree.Ref(AT, (name,)), tuple(as_tree(value) for value in values))


def _breaks(body: tuple[tree.Statement, ...]) -> bool:
    """Whether a loop with this body may be left by `break`."""
    for one in body:
        if isinstance(one, tree.Break):
            return True
        if isinstance(one, tree.If) and (
            any(_breaks(inner) for _, inner in one.branches) or _breaks(one.otherwise or ())
        ):
            return True
    return False


def _one_turn(body: list[tree.Statement]) -> tree.For:
    """A loop of one turn: what `break` leaves when a loop was unrolled."""
    once = tree.Array(AT, (tree.Literal(AT, 1),))
    return tree.For(AT, (tree.Iterator(AT, "turn", once),), tuple(body))
