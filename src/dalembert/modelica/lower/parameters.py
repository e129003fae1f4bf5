"""Values of constants and parameters: numbers, symbols in θ, or expressions of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import casadi as ca

from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.flat import FlatVariable
from dalembert.modelica.lower.atoms import all_names
from dalembert.modelica.lower.classify import scalar_equations
from dalembert.modelica.lower.context import Context, Equations
from dalembert.modelica.source import nearest
from dalembert.modelica.values import EnumType, EnumValue

#: types whose values may stand in θ
NUMBERS = ("Real", "Integer", "Boolean")


def is_free(variable: FlatVariable) -> bool:
    """Whether a parameter is found at the start, because it has fixed = false."""
    fixed = variable.attributes.get("fixed")
    return variable.variability == "parameter" and isinstance(fixed, tree.Literal) and fixed.value is False


class Parameters:
    """Evaluates them in the order of their dependencies.

    A parameter of its own is a symbol, one that follows from others an expression; other values need no new
    translation. Constants, final values and those on which sizes depend are numbers.
    """

    def __init__(self, context: Context, evaluator: Equations, given: Mapping[str, Any]):
        self.context, self.evaluator = context, evaluator
        self.flat, self.space = context.flat, context.space
        self.free: list[str] = []  # found at the start
        self.said: set[int] = set()  # numbers of initial equations that only say what parameters are
        self.bound: dict[str, Any] = {}  # what they say, by parameter
        self.held: dict[str, str] = {}  # parameters that depend on the time of the start, and their discrete entries
        self.given = {name: self._given(name, value) for name, value in given.items()}

    def evaluate(self) -> None:
        self._bind_by_initial_equations()
        for name in self._sorted():
            variable = self.flat.variables[name]
            self.context.origin = variable.origin
            if is_free(variable) and name not in self.given and name not in self.bound:
                self.free.append(name)
                self.context.values[name] = self.space.unknowns[name]
                continue
            if "time" in all_names(self.bound.get(name)):
                self.held[name] = self.space.entry(name)
                self.context.values[name] = self.space.discrete[self.held[name]]
                continue
            self._evaluate(name, variable)

    def _evaluate(self, name: str, variable: FlatVariable) -> None:
        context = self.context
        value = self._value(name, variable)
        is_own = not isinstance(value, ca.SX)
        changeable = variable.variability == "parameter" and not variable.structural
        if variable.structural and variable.variability == "parameter":
            context.folded[name] = "sizes or the choice of equations"
        in_theta = variable.type in NUMBERS or isinstance(variable.type, EnumType)
        if is_own and changeable and in_theta and not variable.final:
            context.numbers[name] = context.watch.values[name] = float(value)
            value = self.space.parameters[name]
        context.values[name] = value

    def _value(self, name: str, variable: FlatVariable) -> Any:
        if name in self.given:
            return self.given[name]
        node = self.bound.get(name, variable.binding)
        if node is None:
            node = variable.attributes.get("start")
            if node is None:
                if variable.type in NUMBERS and variable.attributes.get("fixed") is None and variable.type != "Real":
                    return False if variable.type == "Boolean" else 0
                self.context.fail(
                    f"the parameter `{name}` has no value", None, f'Give it one: parameters={{"{name}": …}}'
                )
        value = self.evaluator.value(node)
        if variable.type == "Real" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        return value

    def _node(self, name: str) -> Any:
        """What says the value of a parameter."""
        variable = self.flat.variables[name]
        if name in self.bound or variable.binding is not None:
            return self.bound.get(name, variable.binding)
        return variable.attributes.get("start")

    def _bind_by_initial_equations(self) -> None:
        """An initial equation p = … of parameters and time is the value of a parameter with fixed = false."""
        for number, equation in enumerate(self.flat.initial_equations):
            parts = list(scalar_equations(equation))
            found: dict[str, Any] = {}
            for one in parts:
                for left, right in ((one.left, one.right), (one.right, one.left)):
                    name = left.names[0] if isinstance(left, tree.Ref) and left.subs is None else None
                    variable = self.flat.variables.get(name)
                    if variable is None or not is_free(variable) or name in self.bound or name in found:
                        continue
                    if all(other == "time" or self._is_parameter(other) for other in all_names(right)):
                        found[name] = right
                        break
            if len(found) == len(parts) and not self._closes_a_circle(found):
                self.bound |= found
                self.said.add(number)

    def _is_parameter(self, name: str) -> bool:
        variable = self.flat.variables.get(name)
        return variable is not None and variable.variability in ("parameter", "constant")

    def _closes_a_circle(self, found: dict[str, Any]) -> bool:
        waiting = [name for node in found.values() for name in all_names(node)]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in found:
                return True
            if name in seen or name not in self.flat.variables:
                continue
            seen.add(name)
            node = self._node(name)
            if node is not None:
                waiting += all_names(node)
        return False

    def _given(self, name: str, value: Any) -> Any:
        """A value that was given from outside, as what its type needs."""
        variable = self.flat.variables.get(name)
        if variable is None or variable.variability not in ("parameter", "constant"):
            if variable is not None:
                raise ModelicaError(f"`{name}` is no parameter; its value cannot be given")
            raise ModelicaError(f"the model {self.flat.name} has no parameter `{name}`",
                                suggestion=nearest(name, self.flat.variables))  # fmt: skip
        if variable.variability == "constant":
            raise ModelicaError(f"`{name}` is a constant; its value cannot be changed")
        if variable.final:
            raise ModelicaError(f"`{name}` is final; its value follows from others")
        kind = variable.type
        if isinstance(value, EnumValue):
            value = value.literal
        if isinstance(kind, EnumType):
            literal = value.rsplit(".", 1)[-1] if isinstance(value, str) else None
            if literal in kind.literals:
                return kind.literals.index(literal) + 1
            if isinstance(value, int) and 1 <= value <= len(kind.literals):
                return value
            raise ModelicaError(f"{name} = {value!r} is not one of {', '.join(kind.literals)}")
        fits = {
            "Real": lambda: isinstance(value, int | float) and not isinstance(value, bool),
            "Integer": lambda: float(value).is_integer() and not isinstance(value, bool),
            "Boolean": lambda: isinstance(value, bool) or value in (0, 1),
            "String": lambda: isinstance(value, str),
        }
        try:
            good = fits[kind]()
        except (KeyError, TypeError, ValueError):
            good = False
        if not good:
            raise ModelicaError(f"{name} = {value!r} is not of type {kind}")
        return {"Real": float, "Integer": int, "Boolean": bool, "String": str}[kind](value)

    def _sorted(self) -> Iterator[str]:
        """Names of constants and parameters, those that others need first."""
        wanted = {
            name: variable
            for name, variable in self.flat.variables.items()
            if variable.variability in ("parameter", "constant")
        }
        done: set[str] = set()
        for first in wanted:
            waiting = [(first, False)]
            while waiting:
                name, leaving = waiting.pop()
                if name in done:
                    continue
                if leaving:
                    done.add(name)
                    yield name
                    continue
                waiting.append((name, True))
                node = self._node(name)
                if node is not None and name not in self.given:
                    waiting += [(other, False) for other in all_names(node) if other in wanted and other not in done]
