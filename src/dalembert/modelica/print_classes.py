"""Trees of classes and files back to Modelica text."""

from __future__ import annotations

from dalembert.modelica import tree
from dalembert.modelica.printer import Printer, _list, _ref, expression_text, literal_text
from dalembert.modelica.source import Source

_ELEMENT_ORDER = ("redeclare", "final", "inner", "outer", "replaceable")
_TYPE_ORDER = ("flow", "stream", "discrete", "parameter", "constant", "input", "output")
_CLASS_ORDER = ("encapsulated", "partial", "pure", "impure")


def file_text(file: tree.File, source: Source | None = None) -> str:
    """A whole file as text.

    Examples
    --------
    >>> from dalembert.modelica.parser import parse
    >>> print(file_text(parse("model A parameter Real k=2; Real x; equation der(x)=-k*x; end A;")))
    model A
      parameter Real k = 2;
      Real x;
    equation
      der(x) = -k * x;
    end A;
    """
    printer = ClassPrinter(source)
    if file.within is not None:
        printer.line(f"within {'.'.join(file.within)};" if file.within else "within;")
    for one in file.classes:
        printer.element(one)
    return "\n".join(printer.lines)


class ClassPrinter(Printer):
    """Classes as lines of text."""

    def element(self, node: tree.Element) -> None:
        self.line(self.element_text(node) + ";")

    def element_text(self, node: tree.Element) -> str:
        match node:
            case tree.Import():
                return f"import {self.import_text(node)}{self.comment(node.comment)}"
            case tree.Extends():
                return f"extends {_ref(node.type)}{self.args(node.args)}{self.note(node.annotation)}"
            case tree.Component():
                return self.component(node)
        return self.class_text(node)

    @staticmethod
    def import_text(node: tree.Import) -> str:
        path = ".".join(node.path)
        if not node.names:
            return path + ".*"
        if node.names[0][1] is not None:
            return f"{path}.{{{', '.join(name for name, _ in node.names)}}}"
        name = node.names[0][0]
        return path if name == node.path[-1] else f"{name} = {path}"

    def component(self, node: tree.Component) -> str:
        words = _words(node.prefixes, _ELEMENT_ORDER, _TYPE_ORDER)
        dims = f"[{_list(node.dims)}]" if node.dims else ""
        condition = f" if {expression_text(node.condition)}" if node.condition is not None else ""
        text = f"{words}{_ref(node.type)} {node.name}{dims}{self.modification(node.modification)}{condition}"
        return text + self.comment(node.comment) + self.constraint(node.constraint)

    def constraint(self, node: tree.Constraint | None) -> str:
        return (
            ""
            if node is None
            else f" constrainedby {_ref(node.type)}{self.args(node.args)}{self.comment(node.comment)}"
        )

    def modification(self, node: tree.Modification | None) -> str:
        if node is None:
            return ""
        return self.args(node.args) + (f" = {expression_text(node.value)}" if node.value is not None else "")

    def args(self, args: tuple[tree.Modifier | tree.Redeclaration, ...] | None, always: bool = False) -> str:
        if not args:
            return "()" if always and args is not None else ""
        return f"({', '.join(self.modifier(one) for one in args)})"

    def modifier(self, node: tree.Modifier | tree.Redeclaration) -> str:
        words = _words(node.prefixes, ("each", "final"))
        if isinstance(node, tree.Redeclaration):
            first = "redeclare " if "redeclare" in node.element.prefixes else ""
            prefixes = tuple(word for word in node.element.prefixes if word != "redeclare")
            return first + words + self.element_text(node.element._replace(prefixes=prefixes))
        value = f" = {expression_text(node.value)}" if node.value is not None else ""
        comment = f" {literal_text(node.comment)}" if node.comment is not None else ""
        return f"{words}{node.name}{self.args(node.args, always=True)}{value}{comment}"

    def class_text(self, node: tree.ClassDef) -> str:
        extends = " extends" if "extends" in node.prefixes else ""
        head = f"{_words(node.prefixes, _ELEMENT_ORDER, _CLASS_ORDER)}{node.kind}{extends} {node.name}"
        comment = f" {literal_text(node.comment)}" if node.comment is not None else ""
        if node.short is not None:
            behind = comment + self.note(node.annotation) + self.constraint(node.constraint)
            return f"{head} = {self.short(node.short)}{behind}"
        inner = ClassPrinter(self.source)
        inner.depth = self.depth + 1
        protected = False
        for one in node.elements:
            if ("protected" in one.prefixes) != protected:
                protected = not protected
                inner.depth -= 1
                inner.line("protected" if protected else "public")
                inner.depth += 1
            inner.element(one)
        inner.depth -= 1
        for section in node.sections:
            inner.section(section)
        inner.depth += 1
        if node.external is not None:
            inner.line(self.external(node.external))
        if node.annotation is not None and self.source is not None:
            inner.line(self.note(node.annotation)[1:] + ";")
        inner.depth -= 1
        inner.line(f"end {node.name}")
        return "\n".join([f"{head}{self.args(node.args)}{comment}", *inner.lines]) + self.constraint(node.constraint)

    def short(self, node: tree.Short | tree.Enumeration | tree.Derivative) -> str:
        match node:
            case tree.Enumeration(literals=None):
                return "enumeration(:)"
            case tree.Enumeration():
                return f"enumeration({', '.join(name + self.comment(comment) for _, name, comment in node.literals)})"
            case tree.Derivative():
                return f"der({', '.join([_ref(node.function), *node.names])})"
        dims = f"[{_list(node.dims)}]" if node.dims else ""
        return f"{_words(node.prefixes, _TYPE_ORDER)}{_ref(node.type)}{dims}{self.args(node.args)}"

    def external(self, node: tree.External) -> str:
        text = "external" + (f" {literal_text(node.language)}" if node.language is not None else "")
        if node.function is not None:
            result = f"{_ref(node.result)} = " if node.result is not None else ""
            text += f" {result}{node.function}({_list(node.args)})"
        return text + self.note(node.annotation) + ";"


def _words(prefixes: tuple[str, ...], *orders: tuple[str, ...]) -> str:
    return "".join(word + " " for order in orders for word in order if word in prefixes)
