"""When-clauses, algorithms, assertions: what happens at events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.model.hybrid import Assignment, Claim
from dalembert.modelica import tree
from dalembert.modelica.flat import FlatAssert, FlatEquation, FlatWhen, Origin
from dalembert.modelica.lower.atoms import call_name
from dalembert.modelica.lower.classify import scalar_equations
from dalembert.modelica.lower.context import short_text
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.expressions import Expressions

if TYPE_CHECKING:
    from dalembert.modelica.lower.translate import Translation


def truth(value: Any) -> ca.SX:
    """A truth value as a graph."""
    return value if isinstance(value, ca.SX) else ca.SX(float(value))


class Whens:
    """Collects assignments, new starts, claims."""

    def __init__(self, translation: Translation):
        self.translation = translation
        self.space, self.watch = translation.space, translation.watch
        self.context, self.evaluator = translation.context, translation.evaluator
        self.assigned: dict[str, list[tuple[Any, Any]]] = {}  # name -> pairs of condition and value
        self.assignments: list[Assignment] = []
        self.restarts: list[tuple[Any, str, Any, str]] = []  # condition, unknown, value, text
        self.claims: list[Claim] = []

    # -- conditions ----------------------------------------------------------------------------------------------

    def fires(self, condition: tree.Expression, evaluator: Expressions) -> Any:
        """Whether a condition of a when-clause becomes true in this event."""
        if isinstance(condition, tree.Array):
            found: Any = False
            for one in condition.items:
                found = scalars.logical("or", found, self.fires(one, evaluator))
            return found
        value = self.context.without_rates(evaluator.value(condition))
        if not isinstance(value, ca.SX):
            return False  # it does not become true
        if self.translation.is_flag(value):
            return value
        entry = self.space.entry_of(value)
        if entry is not None and self.watch.is_clock(entry):
            return value
        if entry is None:
            entry = self.space.entry(f"when {short_text(condition)}")
            self.assignments.append(Assignment(place=self.space.place(entry), value=value, name=entry))
        now, before = self.space.discrete[entry], self.space.before(entry)
        rises = scalars.logical("and", now, scalars.negation(before))
        return scalars.logical("and", rises, scalars.negation(self.translation.flag("initial")))

    def held(self, name: str) -> Any:
        """What a variable keeps if nothing assigns to it."""
        translation = self.translation
        if name in translation.classes.discrete and not translation.begins_here(name):
            return translation.previous_value(name)
        value = translation.start.value(name)
        is_truth = translation.flat.variables[name].type == "Boolean" and not isinstance(value, ca.SX)
        return bool(value) if is_truth else value

    # -- clauses -------------------------------------------------------------------------------------------------

    def clause(self, when: FlatWhen) -> None:
        self.context.origin = when.origin
        earlier: Any = False
        for condition, body in when.branches:
            fires = self.fires(condition, self.evaluator)
            active = scalars.logical("and", fires, scalars.negation(earlier))
            if active is not False:
                with self.evaluator.without_events():
                    self.actions(body, active, when.origin)
            earlier = scalars.logical("or", earlier, fires)

    def actions(self, body: Iterable[tree.Statement], active: Any, origin: Origin) -> None:
        for one in body:
            if isinstance(one, tree.Equation):
                for part in scalar_equations(FlatEquation(one.left, one.right, origin)):
                    value = self.context.without_rates(self.evaluator.value(part.right))
                    self.assigned.setdefault(part.left.names[0], []).append((active, value))
            elif isinstance(one, tree.If):
                rest: Any = True
                for condition, inner in one.branches:
                    holds = self.evaluator.value(condition)
                    here = scalars.logical("and", rest, holds)
                    self.actions(inner, scalars.logical("and", active, here), origin)
                    rest = scalars.logical("and", rest, scalars.negation(holds))
                self.actions(one.otherwise or (), scalars.logical("and", active, rest), origin)
            elif isinstance(one, tree.CallStatement):
                self.act(one.call, active, self.evaluator)
            else:
                self.context.fail("this cannot stand in a when-clause", one)

    def act(self, call: tree.Call, active: Any, evaluator: Expressions) -> None:
        """reinit, assert, terminate under a condition."""
        if active is False:
            return
        name = call_name(call)
        if name == "reinit":
            target, value = call.args
            if not isinstance(target, tree.Ref):
                self.context.fail("`reinit` needs a variable", call)
            value = self.context.without_rates(evaluator.value(value))
            self.restarts.append((active, target.names[0], value, f"reinit({target.names[0]}, …)"))
        elif name == "terminate":
            self.claim(active, evaluator.message(call.args[0]), "terminate", ends=True)
        elif name == "assert":
            condition = evaluator.value(call.args[0])
            warns = len(call.args) > 2 and short_text(call.args[2]).endswith("warning")
            holds = scalars.logical("or", scalars.negation(active), condition)
            self.claim(holds, evaluator.message(call.args[1]), short_text(call.args[0]), warns=warns)
        else:  # nothing in the model follows from it
            self.context.flat.notes.append(
                f"`{name}` in {self.context.origin} has no results; it is not called in the simulation"
            )

    def finish(self) -> None:
        """Assignments of what when-clauses determine."""
        for name, pairs in self.assigned.items():
            value = self.held(name)
            for active, new in reversed(pairs):
                value = scalars.choice(active, new, value)
            self.translation.assign(name, value, f"when … {name} = …")

    # -- claims --------------------------------------------------------------------------------------------------

    def assertion(self, one: FlatAssert) -> None:
        self.context.origin = one.origin
        condition = self.evaluator.value(one.condition)
        message = self.evaluator.message(one.message)
        self.claim(condition, message, short_text(one.condition), warns=one.level == "warning")

    def claim(
        self, condition: Any, message: tuple[str | ca.SX, ...], name: str, ends: bool = False, warns: bool = False
    ) -> None:
        condition = self.context.without_rates(condition)
        if not isinstance(condition, ca.SX):
            if bool(condition) != ends:
                return
            if not ends and not warns:
                self.context.fail("an assertion does not hold: " + "".join(map(str, message)), None)
        parts = tuple(self.context.without_rates(part) for part in message)
        self.claims.append(Claim(condition=truth(condition), message=parts, name=name, ends=ends, warns=warns))
