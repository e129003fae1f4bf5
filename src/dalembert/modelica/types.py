"""Types of the flat model: what is no number is not added, conditions are true or false, both sides of equations fit.

Numbers are checked while expressions are evaluated; this is about what only the simulation knows.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dalembert.modelica import builtins, tree
from dalembert.modelica.flat import FlatModel, Origin
from dalembert.modelica.printer import expression_text
from dalembert.modelica.values import NUMBER, EnumType

NUMBERS = ("Real", "Integer")
_BUILTIN = ("Real", "Integer", "Boolean", "String")
_SAME = {"pre": 0, "noEvent": 0, "smooth": 1, "homotopy": 0, "delay": 0}  # which argument has the type of the result
_REAL = {"start": None, "min": None, "max": None, "nominal": None, "fixed": "Boolean", "unit": "String"}

Type = str | None  # None: not known, or a record or an array


class _Fault(Exception):
    pass


def check_types(flat: FlatModel) -> None:
    """Raise ModelicaError where types do not fit.

    Examples
    --------
    >>> from dalembert.modelica import flatten
    >>> flatten("model A Boolean b = time > 1; Real x = b + 1; end A;")
    Traceback (most recent call last):
    dalembert.errors.ModelicaError: Modelica text:1:42: `+` is for numbers, and `b` is a Boolean
        model A Boolean b = time > 1; Real x = b + 1; end A;
                                               ^
    """
    types = _Types(flat)
    for variable in flat.variables.values():
        origin = variable.origin
        if variable.binding is not None:
            types.fits(_name(variable.type), variable.binding, origin, f"`{variable.name}`")
        for attribute, value in variable.attributes.items():
            wanted = _REAL.get(attribute, "")
            if wanted != "":
                types.fits(wanted or _name(variable.type), value, origin, f"`{attribute}` of `{variable.name}`")
    for equation in (*flat.equations, *flat.initial_equations):
        types.equal(equation.left, equation.right, equation.origin)
    for when in flat.whens:
        types.statements([tree.When(0, tuple((a, tuple(b)) for a, b in when.branches))], when.origin)
    for algorithm in (*flat.algorithms, *flat.initial_algorithms):
        types.statements(algorithm.statements, algorithm.origin)
    for one in flat.asserts:
        types.fits("Boolean", one.condition, one.origin, "the condition of an assertion")
        types.fits("String", one.message, one.origin, "the message of an assertion")


def _name(type_: str | EnumType) -> str:
    return type_.name if isinstance(type_, EnumType) else type_


def _shown(type_: Type) -> str:
    return f"an {type_}" if type_ == "Integer" else f"a {type_}"


def _text(node: tree.Expression) -> str:
    text = expression_text(node)
    return text if len(text) < 60 else text[:57] + "…"


class _Types:
    """Types of expressions."""

    def __init__(self, flat: FlatModel):
        self.flat = flat
        self.names = {name: _name(one.type) for name, one in flat.variables.items()}
        self.names["time"] = "Real"
        self.known: dict[int, tuple[Any, Type]] = {}  # trees are shared

    # -- what has to hold ----------------------------------------------------------------------------------------

    def fail(self, message: str, origin: Origin) -> NoReturn:
        origin.source.fail(message, origin.at)

    def fits(self, wanted: Type, node: tree.Expression, origin: Origin, what: str) -> None:
        found = self.at(node, origin)
        if wanted in (None, found) or found is None or wanted not in (*_BUILTIN, *self.flat.enumerations):
            return
        if not (wanted == "Real" and found == "Integer"):
            self.fail(f"{what} is of type {wanted}, and `{_text(node)}` is {_shown(found)}", origin)

    def at(self, node: tree.Expression, origin: Origin) -> Type:
        try:
            return self.of(node)
        except _Fault as fault:
            self.fail(str(fault), origin)

    def equal(self, left: tree.Expression, right: tree.Expression, origin: Origin) -> None:
        if isinstance(left, tree.Tuple | tree.Array):
            self.at(right, origin)
            return
        a, b = self.at(left, origin), self.at(right, origin)
        if a is None or b is None or a == b or (a in NUMBERS and b in NUMBERS and not self.narrows(left, b)):
            return
        self.fail(f"`{_text(left)}` is {_shown(a)}, and `{_text(right)}` is {_shown(b)}", origin)

    def narrows(self, left: tree.Expression, found: Type) -> bool:
        """Whether a whole number would be set to one that is not."""
        return found == "Real" and isinstance(left, tree.Ref) and self.of(left) == "Integer"

    def statements(self, statements: Any, origin: Origin) -> None:
        for one in statements:
            match one:
                case tree.Equation():
                    self.equal(one.left, one.right, origin)
                case tree.Assignment():
                    self.equal(one.target, one.value, origin)
                case tree.If() | tree.When():
                    for condition, body in one.branches:
                        for part in condition.items if isinstance(condition, tree.Array) else (condition,):
                            self.fits("Boolean", part, origin, "a condition")
                        self.statements(body, origin)
                    self.statements(getattr(one, "otherwise", None) or (), origin)
                case tree.While():
                    self.fits("Boolean", one.condition, origin, "a condition")
                    self.statements(one.body, origin)
                case tree.For():
                    self.statements(one.body, origin)
                case tree.CallStatement():
                    self.procedure(one.call, origin)

    def procedure(self, call: tree.Call, origin: Origin) -> None:
        name = call.function.names[0]
        if name == "assert":
            self.fits("Boolean", call.args[0], origin, "the condition of an assertion")
            self.fits("String", call.args[1], origin, "the message of an assertion")
        elif name == "terminate":
            self.fits("String", call.args[0], origin, "the message of terminate")
        elif name == "reinit":
            self.fits("Real", call.args[0], origin, "what is started again")
            name = _text(call.args[0])
            variable = self.flat.variables.get(call.args[0].names[0]) if isinstance(call.args[0], tree.Ref) else None
            if variable is None or variable.variability != "continuous":
                self.fail(f"`reinit` is for unknowns of the model, and `{name}` is none", origin)
            self.fits("Real", call.args[1], origin, "a new value")
        else:
            self.at(call, origin)

    # -- expressions ---------------------------------------------------------------------------------------------

    def of(self, node: Any) -> Type:
        """The type of an expression. Raises _Fault."""
        key = id(node)
        if key not in self.known:
            self.known[key] = node, self.find(node)  # the node is kept, so that its number is not used again
        return self.known[key][1]

    def find(self, node: Any) -> Type:
        match node:
            case tree.Literal():
                return _of_value(node.value)
            case tree.Ref():
                if len(node.names) == 1:
                    return self.names.get(node.names[0])
                return node.names[0] if len(node.names) == 2 else None  # a value of an enumeration
            case tree.Unary():
                return self.unary(node)
            case tree.Binary():
                return self.binary(node)
            case tree.IfExpression():
                found = self.of(node.otherwise)
                for condition, value in node.branches:
                    self.wanted("Boolean", condition, "a condition")
                    found = self.joined(found, self.of(value), node)
                return found
            case tree.Call():
                return self.call(node)
            case tree.Index():
                return self.element(node)
        return None

    def wanted(self, type_: str, node: tree.Expression, what: str) -> None:
        found = self.of(node)
        if found is not None and found != type_:
            raise _Fault(f"{what} has to be {_shown(type_)}, and `{_text(node)}` is {_shown(found)}")

    def number(self, node: tree.Expression, op: str) -> Type:
        found = self.of(node)
        if found is not None and found not in NUMBERS:
            raise _Fault(f"`{op}` is for numbers, and `{_text(node)}` is {_shown(found)}")
        return found

    def joined(self, a: Type, b: Type, node: tree.Expression) -> Type:
        if a is None or b is None or a == b:
            return a or b
        if a in NUMBERS and b in NUMBERS:
            return "Real"
        raise _Fault(f"`{_text(node)}` is {_shown(a)} or {_shown(b)}")

    def unary(self, node: tree.Unary) -> Type:
        if node.op == "not":
            self.wanted("Boolean", node.operand, "what stands behind `not`")
            return "Boolean"
        return self.number(node.operand, node.op)

    def binary(self, node: tree.Binary) -> Type:
        spine = [node]  # sums may be long
        while isinstance(spine[-1].left, tree.Binary) and id(spine[-1].left) not in self.known:
            spine.append(spine[-1].left)
        found: Type = None
        for one in reversed(spine):
            found = self.operation(one)
            self.known[id(one)] = one, found
        return found

    def operation(self, node: tree.Binary) -> Type:
        op = node.op.lstrip(".")
        if op in ("and", "or"):
            self.wanted("Boolean", node.left, f"what stands before `{op}`")
            self.wanted("Boolean", node.right, f"what stands behind `{op}`")
            return "Boolean"
        a, b = self.of(node.left), self.of(node.right)
        if op in ("<", "<=", ">", ">=", "==", "<>"):
            numbered = isinstance(node.right, tree.Literal) and node.right.at == NUMBER  # of an enumeration, perhaps
            if a is not None and b is not None and a != b and not (a in NUMBERS and b in NUMBERS) and not numbered:
                raise _Fault(f"{_shown(a)} and {_shown(b)} cannot be compared: `{_text(node)}`")
            return "Boolean"
        if op == "+" and "String" in (a, b):
            if a is not None and b is not None and a != b:
                raise _Fault("a string and something else cannot be added; use String(x)")
            return "String"
        self.number(node.left, op)
        self.number(node.right, op)
        return "Integer" if a == b == "Integer" and op not in ("/", "^") else "Real"

    def call(self, node: tree.Call) -> Type:
        name = node.function.names[0] if len(node.function.names) == 1 else ""
        for one in node.named:
            self.of(one.value)
        args = [self.of(arg) for arg in node.args]
        if name in self.flat.functions:
            return self.user(node, args)
        if name in _SAME and len(args) > _SAME[name]:
            return args[_SAME[name]]
        if name in ("edge", "change", "initial", "terminal", "sample"):
            for arg in node.args:
                if name == "edge":
                    self.wanted("Boolean", arg, "the argument of `edge`")
                elif name == "sample":
                    self.number(arg, name)
            return "Boolean"
        if name == "der":
            if args and args[0] not in (None, "Real"):
                raise _Fault(f"`der` is for Real variables, and `{_text(node.args[0])}` is {_shown(args[0])}")
            variable = self.flat.variables.get(node.args[0].names[0]) if isinstance(node.args[0], tree.Ref) else None
            if variable is not None and variable.variability == "discrete":
                raise _Fault(f"`der` is for continuous variables, and `{variable.name}` changes at events only")
            return "Real"
        if name == "String":
            return "String"
        if name == "Integer":
            return "Integer"
        if name in ("min", "max") and len(args) == 2:
            return self.joined(args[0], args[1], node)
        if name in builtins.SCALAR:
            for arg in node.args:
                self.number(arg, name)
            if name in ("sign", "integer"):
                return "Integer"
            if name in ("abs", "div", "mod", "rem"):
                return "Integer" if all(arg == "Integer" for arg in args) else "Real"
            return "Real"
        return "Real" if name == "semiLinear" else None

    def user(self, node: tree.Call, args: list[Type]) -> Type:
        function = self.flat.functions[node.function.names[0]]
        for formal, arg, found in zip(function.inputs, node.args, args, strict=False):
            wanted = _name(formal.type)
            known = wanted in _BUILTIN or wanted in self.flat.enumerations
            if formal.dims or found is None or not known or wanted == found or (wanted, found) == ("Real", "Integer"):
                continue
            raise _Fault(
                f"the input `{formal.name}` of function {function.name} is of type {wanted}, and `{_text(arg)}` is "
                f"{_shown(found)}"
            )
        return self.result(function.outputs[0]) if function.outputs and not function.outputs[0].dims else None

    def result(self, formal: Any) -> Type:
        name = _name(formal.type)
        return name if name in _BUILTIN or name in self.flat.enumerations else None

    def element(self, node: tree.Index) -> Type:
        """An element of the result of a function, or one of several results."""
        base = node.base
        self.of(base)
        if isinstance(base, tree.Call) and base.function.names[0] in self.flat.functions:
            return self.result(self.flat.functions[base.function.names[0]].outputs[0])
        return None


def _of_value(value: Any) -> Type:
    if isinstance(value, bool):
        return "Boolean"
    if isinstance(value, int):
        return "Integer"
    return "Real" if isinstance(value, float) else "String"
