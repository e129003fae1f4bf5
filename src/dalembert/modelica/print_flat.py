"""Flat models as Modelica text, which can be read again: names of components become quoted identifiers."""

from __future__ import annotations

import re
from typing import Any

from dalembert.modelica import tree
from dalembert.modelica.flat import FlatModel, FlatVariable
from dalembert.modelica.flat_functions import FlatFunction, FlatRecord, Formal
from dalembert.modelica.printer import Printer, expression_text, literal_text
from dalembert.modelica.source import KEYWORDS
from dalembert.modelica.values import EnumType

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|'(?:[^'\\]|\\.)*'")
_ORDER = ("quantity", "unit", "displayUnit", "min", "max", "start", "fixed", "nominal", "stateSelect", "unbounded")
_KEPT = {"StateSelect", "AssertionLevel"}


def flat_text(flat: FlatModel) -> str:
    """A class with scalar declarations and equations; functions and types stand beside it, in one package."""
    printer = Printer()
    types = [one for name, one in flat.enumerations.items() if name not in _KEPT]
    alone = not (types or flat.records or flat.functions or flat.externals)
    if not alone:
        printer.line(f"package {identifier(flat.name + '.flat')}")
        printer.depth += 1
        for one in types:
            printer.line(f"type {identifier(one.name)} = enumeration({', '.join(one.literals)});")
        for record in flat.records.values():
            _record(printer, record)
        for name, functions in flat.externals.items():
            printer.line(f"class {identifier(name)}")
            printer.depth += 1
            printer.line("extends ExternalObject;")
            for function in functions:
                _function(printer, function, function.name.rsplit(".", 1)[-1])
            printer.depth -= 1
            printer.line(f"end {identifier(name)};")
        for function in flat.functions.values():
            _function(printer, function, identifier(function.name))
    _model(printer, flat)
    if not alone:
        printer.depth -= 1
        printer.line(f"end {identifier(flat.name + '.flat')};")
    return "\n".join(printer.lines) + "\n"


def identifier(name: str) -> str:
    """A name as one identifier.

    Examples
    --------
    >>> identifier("x"), identifier("r[1].R"), identifier("model")
    ('x', "'r[1].R'", "'model'")
    """
    if _PLAIN.fullmatch(name) and name not in KEYWORDS:
        return name
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def renamed(node: Any) -> Any:
    """A tree whose names are identifiers."""
    if isinstance(node, tree.Ref):
        subs = None if node.subs is None else tuple(renamed(one) for one in node.subs)
        names = node.names if node.names[0] in ("der", "initial", "pure") else tuple(map(identifier, node.names))
        return node._replace(names=names, subs=subs)
    if isinstance(node, tuple):
        children = [renamed(child) if isinstance(child, tuple) else child for child in node]
        return type(node)(*children) if hasattr(node, "_fields") else tuple(children)
    return node


def _text(node: tree.Expression, floor: int = 0) -> str:
    return expression_text(renamed(node), floor)


def _type(type_: str | EnumType) -> str:
    return identifier(type_.name if isinstance(type_, EnumType) else type_)


def _model(printer: Printer, flat: FlatModel) -> None:
    comment = f" {literal_text(flat.comment)}" if flat.comment else ""
    printer.line(f"class {identifier(flat.name)}{comment}")
    printer.depth += 1
    for variable in flat.variables.values():
        printer.line(_declaration(variable))
    printer.depth -= 1
    _equations(printer, "initial equation", flat.initial_equations)
    for algorithm in flat.initial_algorithms:
        printer.line("initial algorithm")
        printer.block(renamed(tuple(algorithm.statements)))
    if flat.equations or flat.whens or flat.asserts or flat.terminations:
        _equations(printer, "equation", flat.equations, always=True)
        printer.depth += 1
        for when in flat.whens:
            printer.statement(renamed(tree.When(0, tuple((c, tuple(body)) for c, body in when.branches))))
        for one in flat.asserts:
            level = f", AssertionLevel.{one.level}" if one.level != "error" else ""
            printer.line(f"assert({_text(one.condition)}, {_text(one.message)}{level});")
        for condition, message in flat.terminations:
            printer.line(f"when {_text(condition)} then terminate({_text(message)}); end when;")
        printer.depth -= 1
    for algorithm in flat.algorithms:
        printer.line("algorithm")
        printer.block(renamed(tuple(algorithm.statements)))
    if flat.experiment:
        printer.depth += 1
        values = ", ".join(f"{name} = {value!r}" for name, value in flat.experiment.items())
        printer.line(f"annotation(experiment({values}));")
        printer.depth -= 1
    printer.line(f"end {identifier(flat.name)};")


def _equations(printer: Printer, title: str, equations: list, always: bool = False) -> None:
    if equations or always:
        printer.line(title)
        printer.depth += 1
        for one in equations:
            printer.line(f"{_text(one.left, 1)} = {_text(one.right)};")
        printer.depth -= 1


def _declaration(variable: FlatVariable) -> str:
    words = "final " if variable.final and variable.variability in ("parameter", "constant") else ""
    if variable.variability in ("parameter", "constant") or (
        variable.variability == "discrete" and variable.type == "Real"
    ):
        words += variable.variability + " "
    words += f"{variable.causality} " if variable.causality else ""
    attributes = [f"{name} = {_text(variable.attributes[name])}" for name in _ORDER if name in variable.attributes]
    inside = f"({', '.join(attributes)})" if attributes else ""
    value = f" = {_text(variable.binding)}" if variable.binding is not None else ""
    comment = f" {literal_text(variable.comment)}" if variable.comment else ""
    return f"{words}{_type(variable.type)} {identifier(variable.name)}{inside}{value}{comment};"


def _formal(formal: Formal) -> str:
    dims = f"[{', '.join(_text(size) for size in formal.dims)}]" if formal.dims else ""
    default = f" = {_text(formal.default)}" if formal.default is not None else ""
    return f"{_type(formal.type)} {identifier(formal.name)}{dims}{default};"


def _record(printer: Printer, record: FlatRecord) -> None:
    printer.line(f"record {identifier(record.name)}")
    printer.depth += 1
    for one in record.fields:
        printer.line(_formal(one))
    printer.depth -= 1
    printer.line(f"end {identifier(record.name)};")


def _function(printer: Printer, function: FlatFunction, name: str) -> None:
    printer.line(f"{'' if function.pure else 'impure '}function {name}")
    printer.depth += 1
    for word, formals in (("input ", function.inputs), ("output ", function.outputs)):
        for one in formals:
            printer.line(word + _formal(one))
    printer.depth -= 1
    if function.locals:
        printer.line("protected")
        printer.depth += 1
        for one in function.locals:
            printer.line(_formal(one))
        printer.depth -= 1
    if function.external is None:  # an algorithm may be empty, where outputs have values of their own
        printer.line("algorithm")
        printer.block(renamed(tuple(function.statements)))
    printer.depth += 1
    if function.external is not None:
        external = function.external
        call = ""
        if external.function is not None:
            result = f"{_text(external.result)} = " if external.result is not None else ""
            call = f" {result}{external.function}({', '.join(map(_text, external.args))})"
        printer.line(f"external {literal_text(external.language or 'C')}{call};")
    if function.derivatives:
        rules = []
        for rule in function.derivatives:
            inside = [f"order = {rule.order}"] if rule.order != 1 else []
            inside += [f"noDerivative = {name}" for name in rule.without] + [
                f"zeroDerivative = {name}" for name in rule.zero
            ]
            rules.append(f"derivative{f'({chr(44).join(inside)})' if inside else ''} = {identifier(rule.function)}")
        printer.line(f"annotation({', '.join(rules)});")
    printer.depth -= 1
    printer.line(f"end {name};")
