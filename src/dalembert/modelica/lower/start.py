"""Where unknowns begin: start values, fixed ones, initial equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.model.hybrid import Beginning
from dalembert.modelica import tree
from dalembert.modelica.lower.atoms import VALUE, Result, all_names, call_name
from dalembert.modelica.lower.classify import ScalarEquation, scalar_equations
from dalembert.modelica.lower.eliminate import PREFERRED
from dalembert.modelica.lower.linear import Row, is_number
from dalembert.modelica.lower.symbols import PARAMETER, TIME, UNKNOWN
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.values import AT

if TYPE_CHECKING:
    from dalembert.modelica.lower.translate import Translation

#: what stateSelect (never, avoid, default, prefer, always) is worth in the choice of unknowns that are kept
_PREFERRED = (-8, -1, 0, PREFERRED, 2 * PREFERRED)


class Start:
    """What is said about the beginning of each variable."""

    def __init__(self, translation: Translation):
        self.translation = translation
        self.flat, self.context = translation.flat, translation.context
        self.evaluator = translation.evaluator
        self._values: dict[str, Any] = {}
        self._fixed: dict[str, bool] = {}
        self._ranks: dict[str, int] = {}

    # -- attributes ----------------------------------------------------------------------------------------------

    def is_given(self, name: str) -> bool:
        variable = self.flat.variables.get(name)
        return variable is not None and ("start" in variable.attributes or name in self.translation.starts)

    def value(self, name: str) -> Any:
        """The start value of a variable: a number or an expression of parameters."""
        if name not in self._values:
            self._values[name] = self._value(name)
        return self._values[name]

    def _value(self, name: str) -> Any:
        variable = self.flat.variables.get(name)
        if variable is None:
            return 0.0
        self.context.origin = variable.origin
        node = variable.attributes.get("start")
        if node is not None:
            with self.evaluator.without_events():
                value = self.evaluator.value(node)
            kinds = self.translation.space.kinds(value) - {PARAMETER}
            if kinds and not any(other in self.translation.parameters.free for other in all_names(node)):
                self.context.fail(f"the start value of `{name}` is not an expression of parameters", node)
            return 0.0 if kinds else value
        if variable.type != "Real":
            return 0 if variable.type in ("Integer", "Boolean") else 1
        for bound, choose in (("min", max), ("max", min)):
            node = variable.attributes.get(bound)
            value = node.value if isinstance(node, tree.Literal) else 0.0
            if isinstance(value, int | float) and choose(0.0, value) != 0:
                return float(value)
        return 0.0

    def is_fixed(self, name: str) -> bool:
        if name not in self._fixed:
            self._fixed[name] = self._is_fixed(name)
        return self._fixed[name]

    def _is_fixed(self, name: str) -> bool:
        variable = self.flat.variables.get(name)
        node = variable.attributes.get("fixed") if variable is not None else None
        if node is None or variable.variability in ("parameter", "constant"):
            return False
        self.context.origin = variable.origin
        return bool(self.evaluator.known(self.evaluator.value(node), "`fixed`", node))

    def number(self, name: str) -> float | None:
        """The start value with the present parameters."""
        return self._number(self.value(name))

    def _number(self, value: Any) -> float | None:
        if isinstance(value, ca.SX):
            value = self.translation.space.with_values([value], self.context.numbers)
            return float(value) if value.is_constant() else None
        return float(value)

    def rank(self, name: str) -> int:
        """What an unknown is worth: those of low rank are eliminated first."""
        if name not in self._ranks:
            self._ranks[name] = self._rank(name)
        return self._ranks[name]

    def _rank(self, name: str) -> int:
        variable = self.flat.variables.get(name)
        if variable is None:
            return 0
        select, preferred = variable.attributes.get("stateSelect"), 0
        if select is not None:
            self.context.origin = variable.origin
            number = self.evaluator.known(self.evaluator.value(select), "`stateSelect`", select)
            preferred = _PREFERRED[int(number) - 1]
        return 8 * self.is_fixed(name) + 4 * self.is_given(name) + preferred

    def agrees(self, name: str, row: Row) -> bool:
        """Whether the start value of an unknown follows from those of the others in a row, or is only a guess."""
        variable = self.flat.variables.get(name)
        if not self.is_given(name) or "fixed" in variable.attributes:
            return True
        total = 0.0
        for (_, other), coefficient in row.linear.items():
            value, factor = self.number(other), self._number(coefficient)
            if value is None or factor is None:
                return False
            total += factor * value
        for coefficient, node in row.rest:
            if not self.translation.is_constant(node):
                return False
            value, factor = self._number(self.evaluator.value(node)), self._number(coefficient)
            if value is None or factor is None:
                return False
            total += factor * value
        return abs(total) <= 1e-12

    # -- the beginning -------------------------------------------------------------------------------------------

    def beginning(self, names: list[str]) -> Beginning:
        """Start values of the unknowns that are left, and what else has to hold."""
        translation = self.translation
        numbers = {name: i for i, name in enumerate(names)}
        guesses = {name: self.value(name) for name in names}
        given = {name for name in names if self.is_given(name)}
        fixed = {name for name in names if self.is_fixed(name)}
        conditions: list[tuple[Any, str]] = []
        for name, row in translation.elimination.definitions.items():
            self._hand_over(name, row, numbers, guesses, given, fixed, conditions)
        given |= fixed
        self._follow_hints(guesses, given)
        conditions += self.initial_equations()
        conditions += self.initial_algorithms()
        kept = [(ca.SX(value), text) for value, text in conditions if isinstance(value, ca.SX)]
        return Beginning(
            guesses=ca.vertcat(*(ca.SX(guesses[name]) for name in names)) if names else ca.SX(0, 1),
            given=frozenset(numbers[name] for name in given),
            fixed=frozenset(numbers[name] for name in fixed),
            conditions=ca.vertcat(*(value for value, _ in kept)) if kept else ca.SX(0, 1),
            condition_names=tuple(text for _, text in kept),
        )

    def _hand_over(
        self, name: str, row: Row, numbers: dict, guesses: dict, given: set, fixed: set, conditions: list
    ) -> None:
        """What was said about an unknown that was eliminated: its alias has it, or it is a condition."""
        alias = None
        if len(row.linear) == 1 and not row.rest:
            (kind, other), coefficient = next(iter(row.linear.items()))
            if kind == VALUE and other in numbers and is_number(coefficient) and abs(coefficient) == 1:
                alias = other
        if alias is not None and self.is_given(name) and alias not in given:
            guesses[alias] = -coefficient * self.value(name)
            given.add(alias)
            if self.is_fixed(name):
                fixed.add(alias)
        elif self.is_fixed(name):
            if alias is not None and alias not in fixed:
                guesses[alias] = -coefficient * self.value(name)
                fixed.add(alias)
                return
            value = self.translation.value_of(name)
            difference = value - self.value(name)
            if alias is not None:
                mine, others = self.number(name), self.number(alias)
                if mine is not None and others is not None and abs(mine + coefficient * others) < 1e-12:
                    return
            if isinstance(difference, ca.SX) and not difference.is_constant():
                conditions.append((difference, f"start value of {name}"))

    def _follow_hints(self, guesses: dict[str, Any], given: set[str]) -> None:
        """Guesses for unknowns about which nothing is said, from those of others in an equation solved for it."""
        translation, space = self.translation, self.translation.space
        for name, row in translation.elimination.hints.items():
            pivot = row.linear.get((VALUE, name))
            if name not in guesses or name in given or pivot is None:
                continue
            value = translation.sum(row, -1 / pivot, without=(VALUE, name))
            inside = space.in_graph(value)
            if any(kind not in (UNKNOWN, PARAMETER, TIME) for kind, _ in inside):
                continue
            others = [other for kind, other in inside if kind == UNKNOWN and other in guesses]
            symbols = ca.vertcat(space.t, *(space.unknowns[other] for other in others))
            begin = self.flat.experiment.get("StartTime", 0.0)
            numbers = ca.vertcat(begin, *(ca.SX(guesses[other]) for other in others))
            guess = ca.substitute(ca.SX(value), symbols, numbers)
            if space.kinds(guess) <= {PARAMETER}:
                guesses[name] = guess

    def initial_equations(self) -> list[tuple[Any, str]]:
        found = []
        for number, equation in enumerate(self.flat.initial_equations):
            if number in self.translation.parameters.said:
                continue
            for one in scalar_equations(equation):
                self.context.origin = one.origin
                if self._of_discrete(one):
                    continue
                with self.evaluator.without_events():
                    difference = scalars.arithmetic(
                        "-", self.evaluator.value(one.left), self.evaluator.value(one.right)
                    )
                found.append((difference, one.text()))
        return found

    def initial_algorithms(self) -> list[tuple[Any, str]]:
        found = []
        for i, algorithm in enumerate(self.flat.initial_algorithms):
            self.context.origin = algorithm.origin
            number = len(self.flat.algorithms) + i
            for target in algorithm.targets:
                if target in self.translation.classes.discrete:
                    continue
                with self.evaluator.without_events():
                    value = self.evaluator.value(Result(AT, number, target, ()))
                found.append((self.translation.value_of(target) - value, f"initial value of {target}"))
        return found

    # -- discrete variables --------------------------------------------------------------------------------------

    def discrete_beginnings(self) -> dict[str, tree.Expression]:
        """Trees of the values that initial equations and algorithms say for discrete variables, or for their `pre`."""
        found: dict[str, tree.Expression] = {}
        for equation in self.flat.initial_equations:
            for one in scalar_equations(equation):
                name = self._discrete_target(one)
                if name is not None:
                    found[self._said_about(name)] = one.right
        for i, algorithm in enumerate(self.flat.initial_algorithms):
            number = len(self.flat.algorithms) + i
            for target in algorithm.targets:
                if target in self.translation.classes.discrete:
                    found[self._said_about(target)] = Result(AT, number, target, ())
        return found

    def _said_about(self, name: str) -> str:
        """The variable of which something is said: about `w`, if v = pre(w)."""
        classes = self.translation.classes
        while name in classes.aliases:
            name = classes.aliases[name]
        right = classes.defined[name].right if name in classes.defined else None
        if call_name(right) == "pre" and isinstance(right.args[0], tree.Ref):
            return right.args[0].names[0]
        return name

    def _of_discrete(self, one: ScalarEquation) -> bool:
        return self._discrete_target(one) is not None

    def _discrete_target(self, one: ScalarEquation) -> str | None:
        """The discrete variable that an initial equation determines; the equation is turned so that it stands left."""
        for left, right in ((one.left, one.right), (one.right, one.left)):
            node = left.args[0] if call_name(left) == "pre" else left
            if isinstance(node, tree.Ref) and node.names[0] in self.translation.classes.discrete:
                one.left, one.right = left, right
                return node.names[0]
        return None
