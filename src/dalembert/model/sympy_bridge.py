"""SymPy expressions as symbols of a model, by walking the expression tree (no source text is generated).

`import dalembert` must not import SymPy: everything here looks at `sys.modules` and at class names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import UntraceableError
from dalembert.model import elementary
from dalembert.model.expression import SX, Expr, ExprArray, lift, wrap

_FUNCTIONS: dict[str, Callable[..., SX]] = {
    "sin": ca.sin,
    "cos": ca.cos,
    "tan": ca.tan,
    "cot": lambda x: 1 / ca.tan(x),
    "sec": lambda x: 1 / ca.cos(x),
    "csc": lambda x: 1 / ca.sin(x),
    "sinc": elementary.sinc,
    "asin": ca.asin,
    "acos": ca.acos,
    "atan": ca.atan,
    "acot": lambda x: ca.atan(1 / x),
    "asec": lambda x: ca.acos(1 / x),
    "acsc": lambda x: ca.asin(1 / x),
    "atan2": ca.atan2,
    "sinh": ca.sinh,
    "cosh": ca.cosh,
    "tanh": ca.tanh,
    "coth": lambda x: 1 / ca.tanh(x),
    "sech": lambda x: 1 / ca.cosh(x),
    "csch": lambda x: 1 / ca.sinh(x),
    "asinh": ca.asinh,
    "acosh": ca.acosh,
    "atanh": ca.atanh,
    "acoth": lambda x: ca.atanh(1 / x),
    "exp": ca.exp,
    "log": ca.log,
    "Abs": ca.fabs,
    "sign": ca.sign,
    "floor": ca.floor,
    "ceiling": ca.ceil,
    "frac": lambda x: x - ca.floor(x),
    "Mod": elementary.mod,
    "Heaviside": elementary.heaviside,
    "erf": ca.erf,
    "erfc": lambda x: 1 - ca.erf(x),
    "erfinv": ca.erfinv,
    "re": lambda x: x,
    "conjugate": lambda x: x,
    "im": lambda x: SX(0),
    "StrictLessThan": lambda x, y: x < y,
    "LessThan": lambda x, y: x <= y,
    "StrictGreaterThan": lambda x, y: x > y,
    "GreaterThan": lambda x, y: x >= y,
    "Equality": lambda x, y: x == y,
    "Unequality": lambda x, y: x != y,
    "Not": elementary.logical_not,
    "ITE": elementary.where,
}
_FOLDED: dict[str, tuple[Callable[[SX, SX], SX], float | None]] = {  # of any number of arguments, with their identity
    "Min": (ca.fmin, None),
    "Max": (ca.fmax, None),
    "And": (elementary.logical_and, 1.0),
    "Or": (elementary.logical_or, 0.0),
    "Xor": (elementary.logical_xor, 0.0),
}


def is_sympy(value: Any) -> bool:
    """Whether `value` is a SymPy expression or matrix, or a list, tuple or array that holds one.

    Examples
    --------
    >>> is_sympy([1.0, "x"])
    False
    """
    sympy = sys.modules.get("sympy")
    if sympy is None or not hasattr(sympy, "Basic"):
        return False
    if isinstance(value, (list, tuple)):
        return any(map(is_sympy, value))
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(map(is_sympy, value.flat))
    return isinstance(value, (sympy.Basic, sympy.MatrixBase))


def sympy_to_expr(expression: Any, lookup: Callable[[str], Expr]) -> Expr | ExprArray:
    """Translate a SymPy expression, matrix, or nested list of them.

    Parameters
    ----------
    expression : sympy expression or matrix, number, `Expr`, or nested list of these
        A matrix with one column becomes a two-dimensional array, as SymPy has it.
    lookup : callable
        Gives the `Expr` of a name, or raises KeyError. `x` and `x(t)` have the name "x", `Derivative(x(t), t)` "x_dot".

    Examples
    --------
    >>> import casadi as ca, sympy
    >>> from dalembert.model.expression import scalar
    >>> symbols = {"x": scalar(ca.SX.sym("x"))}
    >>> sympy_to_expr(sympy.sin(sympy.Symbol("x")) ** 2, symbols.__getitem__)
    sq(sin(x))
    """
    return wrap(_translate(expression, _Walk(lookup)))


def _translate(value: Any, walk: _Walk) -> np.ndarray:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Tuple":
        parts = [_translate(part, walk) for part in value]
        if len({part.shape for part in parts}) > 1:
            raise UntraceableError("a list whose entries have different shapes")
        return np.stack(parts) if parts else np.empty(0, dtype=object)
    if hasattr(value, "rows") and hasattr(value, "cols"):  # every kind of SymPy matrix
        if not hasattr(value, "tolist"):
            value = value.as_explicit()
        entries = [_translate(entry, walk) for row in value.tolist() for entry in row]
        result = np.stack(entries) if entries else np.empty(0, dtype=object)
        return result.reshape(value.rows, value.cols)
    result = np.empty((), dtype=object)
    result[()] = Expr(walk(value))
    return result


class _Walk:
    """Translates trees to SX; equal subtrees, which SymPy stores once, are translated once."""

    def __init__(self, lookup: Callable[[str], Expr]):
        self.lookup = lookup
        self.done: dict[Any, SX] = {}

    def __call__(self, root: Any) -> SX:
        if not is_sympy(root):
            return lift(root)
        # Depth first with an explicit stack: long sums of products nest deeper than Python's recursion limit.
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in self.done:
                continue
            if ready:
                self.done[node] = self.node(node)
                continue
            stack.append((node, True))
            stack.extend((part, False) for part in self.parts(node))
        return self.done[root]

    def parts(self, node: Any) -> tuple:
        """The subtrees whose values the node needs."""
        name = type(node).__name__
        if not node.args or name == "Derivative" or _is_undefined(node):
            return ()
        if name == "Piecewise":
            return tuple(part for pair in node.args for part in pair.args)
        if not (node.is_Add or node.is_Mul or node.is_Pow or name in _FOLDED or name in _FUNCTIONS):
            raise UntraceableError(f"the SymPy node {name} in {node} is not supported")
        return node.args

    def named(self, name: str, node: Any) -> SX:
        try:
            return lift(self.lookup(name))
        except KeyError:
            raise UntraceableError(
                f"the SymPy expression contains {node}, but the model has no variable or parameter {name!r}"
            ) from None

    def node(self, node: Any) -> SX:
        name = type(node).__name__
        if node.is_Symbol:
            return self.named(node.name, node)
        if _is_undefined(node):
            return self.named(type(node).__name__, node)
        if name == "Derivative":
            return self.derivative(node)
        if name in ("BooleanTrue", "BooleanFalse"):
            return SX(float(name == "BooleanTrue"))
        if not node.args:
            return self.number(node)
        if name == "Piecewise":
            result = SX(float("nan"))  # no condition holds
            for value, condition in reversed([pair.args for pair in node.args]):
                result = elementary.where(self.done[condition], self.done[value], result)
            return result
        arguments = [self.done[part] for part in node.args]
        if node.is_Add:
            return sum(arguments[1:], arguments[0])
        if node.is_Mul:
            return self.product(node)
        if node.is_Pow:
            return self.power(node, *arguments)
        return self.function(name, node, arguments)

    def number(self, node: Any) -> SX:
        # Numbers, and constants such as pi, E, EulerGamma, oo.
        if not node.is_number or node.is_extended_real is False or type(node).__name__ == "ComplexInfinity":
            raise UntraceableError(f"the SymPy object {node!r} ({type(node).__name__}) is no real number or symbol")
        return SX(float(node))

    def product(self, node: Any) -> SX:
        # a * b**-1 as a / b: one operation less, and one rounding.
        above, below = SX(1), SX(1)
        for part in node.args:
            if part.is_Pow and part.exp.is_Integer and part.exp.is_negative:
                base = self.done[part.base]
                below *= base ** float(-part.exp)
            elif part.is_Rational and not part.is_Integer:
                above, below = above * float(part.p), below * float(part.q)
            else:
                above *= self.done[part]
        return above / below

    def power(self, node: Any, base: SX, exponent: SX) -> SX:
        if node.base.is_Rational and node.base == 0 and node.exp.is_negative:
            raise UntraceableError(f"division by zero in {node}")
        if type(node.base).__name__ == "Exp1":
            return ca.exp(exponent)
        return base**exponent

    def derivative(self, node: Any) -> SX:
        variables = node.variables
        if not _is_undefined(node.expr) or len(variables) != 1:
            raise UntraceableError(
                f"the SymPy expression contains {node}: only first time derivatives of functions x(t) have a name here"
            )
        return self.named(f"{type(node.expr).__name__}_dot", node)

    def function(self, name: str, node: Any, arguments: list[SX]) -> SX:
        if name in _FOLDED:
            fold, identity = _FOLDED[name]
            result = arguments[0] if identity is None else SX(identity)
            for argument in arguments[1:] if identity is None else arguments:
                result = fold(result, argument)
            return result
        if name == "Heaviside" and len(arguments) == 1:
            arguments = [*arguments, SX(0.5)]
        try:
            return _FUNCTIONS[name](*arguments)
        except TypeError as error:
            raise UntraceableError(f"the SymPy node {name} in {node} is not supported ({error})") from error


def _is_undefined(node: Any) -> bool:
    """Whether node is x(t), the application of a function without a definition."""
    return type(type(node)).__name__ == "UndefinedFunction"
