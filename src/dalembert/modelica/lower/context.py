"""What names, relations and operators such as `der` mean in the equations of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import casadi as ca

from dalembert.modelica import tree
from dalembert.modelica.flat import FlatModel, Origin
from dalembert.modelica.lower.atoms import Result, call_name
from dalembert.modelica.lower.symbols import DERIVATIVE, DISCRETE, PARAMETER, TIME, Space
from dalembert.modelica.lower.watch import Watch
from dalembert.modelica.printer import expression_text
from dalembert.modelica.source import nearest
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.calls import Calls
from dalembert.modelica.symbolic.expressions import Expressions
from dalembert.modelica.values import scalars as scalars_of

if TYPE_CHECKING:
    from dalembert.modelica.lower.translate import Translation

#: characters of an expression in a name
LONGEST = 100


class Context:
    """The context of all equations of a model: `origin` is where the present one stands."""

    def __init__(self, flat: FlatModel, space: Space, watch: Watch):
        self.flat, self.space, self.watch = flat, space, watch
        self.values: dict[str, Any] = {}  # of everything that has one by now
        self.numbers: dict[str, float] = {}  # of parameters
        self.beginnings: dict[str, Any] = {}  # of parameters that depend on the time of the start
        self.folded: dict[str, str] = {}  # parameters whose values are part of the translation, and why
        self.origin: Origin | None = None
        self.translation: Translation | None = None  # of variables; parameters have none

    # -- what expressions ask ------------------------------------------------------------------------------------

    def name(self, node: tree.Ref) -> Any:
        name = node.names[0]
        if name in self.values:
            return self.values[name]
        if name == "time":
            return self.space.t
        if self.translation is not None and name in self.flat.variables:
            return self.translation.value_of(name)
        self.fail(f"`{name}` has no value here", node, nearest(name, self.flat.variables))

    def relation(self, op: str, left: Any, right: Any, node: tree.Expression) -> Any:
        if op in ("==", "<>") or isinstance(left, str) or isinstance(right, str):
            return scalars.relation(op, left, right)
        value = left - right if op in (">", ">=") else right - left
        if not self.space.moves(value):
            return scalars.relation(op, left, right)
        return self.watch.relation(short_text(node), self.without_rates(value), op in (">=", "<="))

    def special(self, name: str, node: tree.Call, evaluator: Expressions) -> Any:
        if name in scalars.JUMPING:
            return self.jumping(name, node, evaluator)
        count = {"sample": 2, "initial": 0, "terminal": 0}.get(name, 1)
        if name in ("delay", "spatialDistribution"):
            self.fail(f"`{name}` is not supported", node)
        args = [*node.args, *(one.value for one in node.named)]
        if len(args) != count:
            self.fail(f"`{name}` has {count} argument{'s' * (count != 1)}, not {len(args)}", node)
        if self.translation is None:
            self.fail(f"`{name}` cannot stand in the value of a parameter", node)
        if name == "der":
            return self.translation.rate(args[0], evaluator)
        if name in ("initial", "terminal"):
            return self.translation.flag(name)
        if name == "sample":
            start, interval = (self.at_start(evaluator.value(arg)) for arg in args)
            for what, value in (("start", start), ("interval", interval)):
                if self.space.kinds(value) - {PARAMETER, TIME} or (what == "interval" and self.space.moves(value)):
                    self.fail(f"the {what} of a sample has to be known before the simulation", node)
            return self.watch.sample(short_text(node), start, interval)
        before = self.translation.before(args[0], evaluator)
        if name == "pre":
            return before
        now = evaluator.value(args[0])
        if name == "edge":
            return scalars.logical("and", now, scalars.negation(before))
        return scalars.relation("<>", now, before)

    def known(self, values: list[ca.SX], what: str, node: Any) -> list[float]:
        found = self.space.with_values(values, self.numbers)
        if not found.is_constant():
            self.fail(f"{what} has to be known before the simulation", node)
        for value in values:
            for kind, name in self.space.in_graph(value):
                if kind == PARAMETER:
                    self.folded.setdefault(name, what)
        return [float(one) for one in ca.DM(found).full().ravel()]

    def fail(self, message: str, node: Any, suggestion: str | None = None) -> NoReturn:
        origin = self.origin or next(iter(self.flat.variables.values())).origin
        inside = f" (in `{origin.component}`)" if origin.component else ""
        raise origin.source.error(message + inside, origin.at, suggestion)

    # -- algorithms ----------------------------------------------------------------------------------------------

    def fires(self, condition: tree.Expression, node: Any, evaluator: Expressions) -> Any:
        return self.translation.whens.fires(condition, evaluator)

    def before(self, name: str) -> Any:
        return self.translation.whens.held(name)

    def act(self, call: tree.Call, condition: Any, evaluator: Expressions) -> None:
        self.translation.whens.act(call, condition, evaluator)

    def claim(self, condition: ca.SX, message: tuple[str | ca.SX, ...], node: Any) -> None:
        """Something that a function asserts."""
        if self.translation is not None:
            self.translation.whens.claim(condition, message, short_text(node))

    def at_start(self, value: Any) -> Any:
        """A value with what it is at the start in place of parameters that depend on the time of the start."""
        names = [name for kind, name in self.space.in_graph(value) if kind == DISCRETE and name in self.beginnings]
        if not names:
            return value
        symbols = ca.vertcat(*(self.space.discrete[name] for name in names))
        return ca.substitute(value, symbols, ca.vertcat(*(ca.SX(self.beginnings[name]) for name in names)))

    # -- details -------------------------------------------------------------------------------------------------

    def without_rates(self, value: Any) -> Any:
        """A value in which unknowns of their own stand for derivatives: events see no derivatives."""
        if not isinstance(value, ca.SX) or DERIVATIVE not in self.space.kinds(value):
            return value
        names = [name for kind, name in self.space.in_graph(value) if kind == DERIVATIVE]
        symbols = ca.vertcat(*(self.space.derivatives[name] for name in names))
        return ca.substitute(value, symbols, ca.vertcat(*(self.translation.rate_unknown(name) for name in names)))

    def jumping(self, name: str, node: tree.Call, evaluator: Expressions) -> Any:
        """floor, ceil, integer, div, mod, rem: whole numbers that change at events."""
        args = [evaluator.value(arg) for arg in node.args]
        if not any(self.space.moves(arg) for arg in args):
            return scalars.function(name, args)
        args = [self.without_rates(arg) for arg in args]
        text = short_text(tree.Call(node.at, node.function, tuple(map(_shown, args))))
        if name in ("floor", "integer"):
            return self.watch.floor(text, args[0])
        if name == "ceil":
            return -self.watch.floor(text, -args[0])
        quotient = ca.SX(args[0]) / args[1]
        if name == "mod":
            return args[0] - self.watch.floor(text, quotient) * args[1]
        up = self.watch.relation(f"{text} >= 0", quotient, True)
        whole = ca.if_else(up, self.watch.floor(f"{text} up", quotient), -self.watch.floor(f"{text} down", -quotient))
        return whole if name == "div" else args[0] - whole * args[1]


class Equations(Expressions):
    """Evaluates trees of equations; algorithms are run once."""

    context: Context

    def __init__(self, context: Context, calls: Calls):
        super().__init__(context, calls)
        self.rules[Result] = self.algorithm
        self.run_algorithm: Any = None
        self._loops: dict[str, bool] = {}

    def results(self, node: tree.Call) -> list[Any]:
        """All results of a function. Whole numbers and truth values among its arguments are numbers, if they are
        parameters: they choose what the function does. So are all parameters, if it repeats something until it is
        good enough: such loops have no end in symbols.
        """
        name = call_name(node)
        args = [self.chosen(self.value(arg), node) for arg in node.args]
        named = {one.name: self.chosen(self.value(one.value), node) for one in node.named}
        if self._repeats(name):
            values = [one for value in (*args, *named.values()) for one in scalars_of(value)]
            if not any(self.context.space.kinds(value) - {PARAMETER} for value in values):
                what = f"what {name} is applied to"
                args = [self.known(value, what, node) for value in args]
                named = {key: self.known(value, what, node) for key, value in named.items()}
        return self.calls.call(name, args, named, node, self)

    def chosen(self, value: Any, node: tree.Call) -> Any:
        if not isinstance(value, ca.SX):
            return value
        variables = self.context.flat.variables
        inside = self.context.space.in_graph(value)
        if not all(kind == PARAMETER and variables[name].type != "Real" for kind, name in inside):
            return value
        number = self.known(value, f"an argument of {call_name(node)}", node)
        types = {variables[name].type for _, name in inside}
        return bool(number) if types == {"Boolean"} else int(number) if number == int(number) else number

    def _repeats(self, name: str) -> bool:
        """Whether a function, or one that it calls, has a while-loop."""
        if name not in self._loops:
            self._loops[name] = False  # it may call itself
            function = self.calls.functions.get(name)
            waiting: list[Any] = [] if function is None else [tuple(function.statements)]
            while waiting and not self._loops[name]:
                one = waiting.pop()
                if isinstance(one, tree.While) or (isinstance(one, tree.Call) and self._repeats(call_name(one))):
                    self._loops[name] = True
                elif isinstance(one, tuple):
                    waiting += [child for child in one if isinstance(child, tuple)]
        return self._loops[name]

    def algorithm(self, node: Result) -> Any:
        return self.run_algorithm(node.algorithm)[node.target]


def short_text(node: Any) -> str:
    """An expression for messages."""
    text = expression_text(node)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _shown(value: Any) -> tree.Expression:
    text = str(value)
    return tree.Ref(0, (text if len(text) < LONGEST else "…",))
