"""Inputs of models from SymPy, and their derivatives, which equations of moving supports have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import ModelError
from dalembert.model.expression import scalar, to_sx
from dalembert.model.inputs import Input, TracedInput


def name_of(symbol: Any) -> str:
    """Of q(t), of its derivative (q_dot, q_ddot), or of a plain symbol."""
    if type(symbol).__name__ == "Derivative":
        return f"{name_of(symbol.expr)}_{'d' * order_of(symbol)}ot"
    return getattr(getattr(symbol, "func", None), "__name__", None) if getattr(symbol, "args", ()) else str(symbol)


def order_of(derivative: Any) -> int:
    return int(sum(count for _, count in derivative.variable_count))


def number(value: Any) -> Any:
    """Numbers of SymPy as those of Python; all others as they are, which the model looks at."""
    return float(value) if getattr(value, "is_number", False) and getattr(value, "is_real", False) else value


@dataclass(frozen=True)
class Rate:
    """A derivative of an input as a function of time, which can be traced if the input can."""

    of: TracedInput
    order: int

    def __call__(self, time: Any) -> Any:
        if self.of.sx is None:
            return self.of.python(float(time))[self.order]
        if isinstance(time, int | float):
            return float(self.of.sx(float(time))[self.order])
        return scalar(self.of.sx(to_sx(time)[0])[self.order])


class Signals:
    """Inputs by name; derivatives that expressions have of them become inputs of their own."""

    def __init__(self, given: Mapping[str, Any]):
        self._given = given
        self.functions = {name: _function(value) for name, value in given.items()}

    def expressions(self, value: Any) -> Any:
        """The same lists and mappings of expressions, with s_dot(t) in the place of a derivative of s(t)."""
        import sympy

        if isinstance(value, list):
            return [self.expressions(entry) for entry in value]
        if isinstance(value, dict):
            return {key: self.expressions(entry) for key, entry in value.items()}
        if not isinstance(value, sympy.Basic | sympy.MatrixBase):
            return value
        known = {}
        for derivative in value.atoms(sympy.Derivative):
            base = name_of(derivative.expr)
            if base in self._given:
                name = self._rate(derivative, base)
                known[derivative] = sympy.Function(name)(*derivative.expr.args)
        return value.xreplace(known)

    def _rate(self, derivative: Any, base: str) -> str:
        """The name of an input for a derivative, which is added if it was not given."""
        import sympy
        from sympy.physics.mechanics import dynamicsymbols

        name, order, given = name_of(derivative), order_of(derivative), self._given[base]
        if name in self.functions:
            return name
        if isinstance(given, sympy.Basic):
            self.functions[name] = _function(given.diff(dynamicsymbols._t, order))
        elif order > 2:
            raise ModelError(
                f"from_sympy: the equations have derivative number {order} of the input '{base}'; give it as a SymPy "
                "expression of t, or the derivative itself as an input"
            )
        elif isinstance(given, Input) and given.derivatives is not None:
            self.functions[name] = Input(given.derivatives[order - 1], breakpoints=given.breakpoints)
        else:
            traced = TracedInput(base, given)
            self.functions[name] = Input(Rate(traced, order), breakpoints=traced.breakpoints)
        return name


def _function(value: Any) -> Any:
    """What an input of a model can be: an expression of t becomes a function."""
    import sympy
    from sympy.physics.mechanics import dynamicsymbols

    if not isinstance(value, sympy.Basic) or value.is_number:
        return number(value)
    if value.free_symbols - {dynamicsymbols._t} or value.atoms(sympy.core.function.AppliedUndef):
        raise ModelError(f"from_sympy: the input {value} must be a function of t alone")
    return sympy.lambdify(dynamicsymbols._t, value, "numpy")
