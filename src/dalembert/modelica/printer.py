"""Trees back to Modelica text.

Annotations are printed if the source is given in which they stand; comments between tokens are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dalembert.modelica import tree
from dalembert.modelica.source import Source

_STRENGTH = {
    "or": 1, "and": 2, "not": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "<>": 4,
    "+": 5, "-": 5, ".+": 5, ".-": 5, "*": 6, "/": 6, ".*": 6, "./": 6, "^": 7, ".^": 7,
}  # fmt: skip
_LOOSE, _RANGE_PART, _TIGHT = 0, 1, 8
_INDENT = "  "
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}


def expression_text(node: tree.Expression, floor: int = _LOOSE) -> str:
    """An expression as text; in parentheses where operators around it, of strength `floor`, need them.

    Examples
    --------
    >>> from dalembert.modelica.parser import parse_expression
    >>> expression_text(parse_expression("((a+b))*(-1)"))
    '(a + b) * (-1)'
    """
    return _EXPRESSIONS[type(node)](node, floor)


def _enclosed(text: str, strength: int, floor: int) -> str:
    return f"({text})" if strength < floor else text


def literal_text(value: float | int | bool | str) -> str:
    """A value as Modelica writes it.

    Examples
    --------
    >>> literal_text(True), literal_text(1e-3), literal_text('a "b"')
    ('true', '0.001', '"a \\\\"b\\\\""')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(c, c) for c in value) + '"'
    return repr(value)


def _literal(node: tree.Literal, floor: int) -> str:
    text = literal_text(node.value)
    return f"({text})" if text.startswith("-") and floor > 5 else text


def _ref(node: tree.Ref, floor: int = 0) -> str:
    if node.subs is None:
        text = ".".join(node.names)
    else:
        text = ".".join(
            name if subs is None else f"{name}[{_list(subs)}]" for name, subs in zip(node.names, node.subs, strict=True)
        )
    return "." + text if node.rooted else text


def _list(nodes: Iterable[tree.Expression]) -> str:
    return ", ".join(expression_text(node) for node in nodes)


def _unary(node: tree.Unary, floor: int) -> str:
    if node.op == "not":
        return _enclosed("not " + expression_text(node.operand, 4), 3, floor)
    return _enclosed(node.op + expression_text(node.operand, 6), 5, floor)


def _binary(node: tree.Binary, floor: int) -> str:
    strength = _STRENGTH[node.op]
    parts = []  # the left spine may be long
    left: tree.Expression = node
    while isinstance(left, tree.Binary) and _STRENGTH[left.op] == strength and (left is node or strength not in (4, 7)):
        parts.append(f" {left.op} {expression_text(left.right, strength + 1)}")
        left = left.left
    sharp = strength + 1 if strength in (4, 7) else strength
    parts.append(expression_text(left, sharp))
    return _enclosed("".join(reversed(parts)), strength, floor)


def _if(node: tree.IfExpression, floor: int) -> str:
    text = " else".join(f"if {expression_text(c)} then {expression_text(v)}" for c, v in node.branches)
    return _enclosed(f"{text} else {expression_text(node.otherwise)}", -1 if floor else 0, floor)


def _range(node: tree.Range, floor: int) -> str:
    parts = [node.start, node.stop] if node.step is None else [node.start, node.step, node.stop]
    return _enclosed(":".join(expression_text(part, _RANGE_PART) for part in parts), 0, floor)


def _arguments(node: tree.Call | tree.Partial) -> str:
    parts = [expression_text(arg) for arg in node.args] if isinstance(node, tree.Call) else []
    text = ", ".join(parts + [f"{one.name} = {expression_text(one.value)}" for one in node.named])
    return text + (_iterators(node.iterators) if isinstance(node, tree.Call) and node.iterators else "")


def _iterators(nodes: tuple[tree.Iterator, ...]) -> str:
    return " for " + ", ".join(
        one.name if one.range is None else f"{one.name} in {expression_text(one.range)}" for one in nodes
    )


_EXPRESSIONS: dict[type, Callable[..., str]] = {
    tree.Literal: _literal,
    tree.Ref: _ref,
    tree.Unary: _unary,
    tree.Binary: _binary,
    tree.IfExpression: _if,
    tree.Range: _range,
    tree.Call: lambda node, floor: f"{_ref(node.function)}({_arguments(node)})",
    tree.Partial: lambda node, floor: f"function {_ref(node.function)}({_arguments(node)})",
    tree.Array: lambda node, floor: f"{{{_list(node.items)}{_iterators(node.iterators) if node.iterators else ''}}}",
    tree.Matrix: lambda node, floor: f"[{'; '.join(_list(row) for row in node.rows)}]",
    tree.Tuple: lambda node, floor: f"({_items(node)})",
    tree.Index: lambda node, floor: f"({expression_text(node.base)})[{_list(node.subs)}]",
    tree.Field: lambda node, floor: f"({expression_text(node.base)}).{node.name}",
    tree.End: lambda node, floor: "end",
    tree.Colon: lambda node, floor: ":",
}


def _items(node: tree.Tuple) -> str:
    return ", ".join("" if item is None else expression_text(item) for item in node.items)


# -- equations and statements ---------------------------------------------------------------------------------------


class Printer:
    """Statements and classes as lines of text."""

    def __init__(self, source: Source | None = None):
        self.source = source
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append(_INDENT * self.depth + text)

    def note(self, annotation: tree.Annotation | None) -> str:
        if annotation is None or self.source is None:
            return ""
        return " annotation" + self.source.span(annotation.at, annotation.stop)

    def comment(self, comment: tree.Comment | None) -> str:
        if comment is None:
            return ""
        return (f" {literal_text(comment.text)}" if comment.text is not None else "") + self.note(comment.annotation)

    def statement(self, node: tree.Statement) -> None:
        comment = self.comment(node.comment)
        match node:
            case tree.Equation():
                self.line(f"{expression_text(node.left, 1)} = {expression_text(node.right)}{comment};")
            case tree.Assignment():
                self.line(f"{expression_text(node.target)} := {expression_text(node.value)}{comment};")
            case tree.Connect():
                self.line(f"connect({_ref(node.left)}, {_ref(node.right)}){comment};")
            case tree.CallStatement():
                self.line(f"{expression_text(node.call)}{comment};")
            case tree.Break():
                self.line(f"break{comment};")
            case tree.Return():
                self.line(f"return{comment};")
            case tree.For():
                self.line(f"{_iterators(node.iterators)[1:]} loop")
                self.block(node.body, "end for", comment)
            case tree.While():
                self.line(f"while {expression_text(node.condition)} loop")
                self.block(node.body, "end while", comment)
            case tree.When() | tree.If():
                word = "when" if isinstance(node, tree.When) else "if"
                for i, (condition, body) in enumerate(node.branches):
                    self.line(f"{'else' if i else ''}{word} {expression_text(condition)} then")
                    self.block(body)
                if isinstance(node, tree.If) and node.otherwise is not None:
                    self.line("else")
                    self.block(node.otherwise)
                self.line(f"end {word}{comment};")

    def block(self, body: Iterable[tree.Statement], end: str | None = None, comment: str = "") -> None:
        self.depth += 1
        for one in body:
            self.statement(one)
        self.depth -= 1
        if end:
            self.line(f"{end}{comment};")

    def section(self, node: tree.Section) -> None:
        self.line(f"{'initial ' if node.initial else ''}{node.kind}")
        self.block(node.items)
