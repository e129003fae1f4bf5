"""Expressions as formulas: MathML, which browsers and notebooks set without any library."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import casadi as ca

from dalembert.model.graph import Graph

#: operations of an expression beyond which it is not written out
MOST_OPERATIONS = 3000
#: operations of a part that occurs several times from which on it gets a name
SHARED = 5
#: letters of an equation beyond which it is folded
LONG = 90

_LETTERS = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "lam", "mu", "nu",
    "xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Sigma",
    "Phi", "Psi", "Omega",
)  # fmt: skip
GREEK = dict(zip(_LETTERS, "αβγδεζηθικλλμνξπρστφχψωΓΔΘΛΣΦΨΩ", strict=True))

# how tightly operations bind
SUM, PRODUCT, SIGN, POWER, ATOM = 1, 2, 3, 4, 5

FUNCTIONS = {
    ca.OP_SIN: "sin", ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "arcsin", ca.OP_ACOS: "arccos",
    ca.OP_ATAN: "arctan", ca.OP_ATAN2: "atan2", ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh",
    ca.OP_ASINH: "arsinh", ca.OP_ACOSH: "arcosh", ca.OP_ATANH: "artanh", ca.OP_LOG: "ln", ca.OP_FMIN: "min",
    ca.OP_FMAX: "max", ca.OP_SIGN: "sign", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_ERF: "erf",
    ca.OP_COPYSIGN: "copysign", ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1", ca.OP_HYPOT: "hypot", ca.OP_FMOD: "mod",
}  # fmt: skip
RELATIONS = {ca.OP_LT: "<", ca.OP_LE: "≤", ca.OP_EQ: "=", ca.OP_NE: "≠", ca.OP_AND: "∧", ca.OP_OR: "∨"}


@dataclass(frozen=True)
class Formula:
    """A piece of MathML: its text, how tightly it binds, about how many letters it has."""

    text: str
    binds: int = ATOM
    letters: int = 1


@dataclass(frozen=True)
class Equation:
    """One equation, ready to be shown."""

    math: str
    letters: int

    def html(self) -> str:
        """Folded if it is long."""
        inner = f'<math display="block">{self.math}</math>'
        if self.letters <= LONG:
            return f'<div class="da-equation">{inner}</div>'
        left = self.math.partition("<mo>=</mo>")[0]
        summary = f"<summary><math>{left}<mo>=</mo><mo>…</mo></math></summary>"
        return f'<details class="da-equation">{summary}<div>{inner}</div></details>'


@dataclass
class Typeset:
    """The rows of expressions as formulas, and the parts of them that have got names."""

    rows: list[Formula]
    named: list[Equation] = field(default_factory=list)


def identifier(name: str) -> str:
    """A name as MathML: Greek letters, digits as indices, rates with a dot.

    >>> identifier("beta")
    '<mi>β</mi>'
    >>> identifier("x1_dot")
    '<msub><mover><mi>x</mi><mo>˙</mo></mover><mn>1</mn></msub>'
    """
    head, dots = name, 0
    while head.endswith("_dot"):
        head, dots = head[:-4], dots + 1
    if head.endswith("_ddot"):
        head, dots = head[:-5], dots + 2
    match = re.fullmatch(r"([A-Za-zΑ-Ωα-ω]+?)_?(\d+(?:_?[A-Za-z\d]*)?|(?<=_).+)?", head) if "." not in head else None
    if match is None or not match[1]:
        base, index = head, ""
    else:
        base, index = match[1], (match[2] or "").strip("_")
    letter = GREEK.get(base, base)
    plain = f"<mi>{escape(letter)}</mi>"
    if dots:
        plain = f"<mover>{plain}<mo>{'˙' if dots == 1 else '¨'}</mo></mover>"
    if not index:
        return plain
    inner = f"<mn>{index}</mn>" if index.isdigit() else f"<mi>{escape(GREEK.get(index, index))}</mi>"
    return f"<msub>{plain}{inner}</msub>"


def number(value: float) -> Formula:
    """A constant; one that is near a simple fraction of π is not guessed to be it."""
    text = f"{value:.10g}"
    if "e" in text:
        digits, power = text.split("e")
        sign, digits = ("<mo>−</mo>", digits[1:]) if digits.startswith("-") else ("", digits)
        times = "" if digits == "1" else f"<mn>{digits}</mn><mo>·</mo>"
        return Formula(f"<mrow>{sign}{times}<msup><mn>10</mn><mn>{int(power)}</mn></msup></mrow>", PRODUCT, len(text))
    if text.startswith("-"):
        return Formula(f"<mrow><mo>−</mo><mn>{text[1:]}</mn></mrow>", SIGN, len(text))
    return Formula(f"<mn>{text}</mn>", ATOM, len(text))


def typeset(graph: Graph, expression: ca.SX) -> Typeset | None:
    """The rows of a column as formulas in the names of a model; None if that would be too long."""
    column = ca.densify(ca.vec(expression))
    symbols, names = _symbols(graph, column)
    function = ca.Function("rows", [symbols], [column])
    if function.n_instructions() > MOST_OPERATIONS:
        return None
    return _Writer(function, names).typeset(column.numel())


def _symbols(graph: Graph, column: ca.SX) -> tuple[ca.SX, list[str]]:
    """All symbols that occur, and their names."""
    parts: list[ca.SX] = [graph.t, graph.discrete_symbols, graph.u, graph.du]
    names = ["t", *graph.discrete, *graph.inputs, *(f"{name}_dot" for name in graph.inputs)]
    parameters = []
    for name, value in graph.parameters.items():
        parameters += [name] if value.ndim == 0 else [f"{name}_{k + 1}" for k in range(value.size)]
    parts.append(graph.parameter_symbols)
    names += parameters
    for kind, symbol in graph.symbol.items():
        parts.append(symbol)
        names += graph.names(kind)
    if "v" in graph.vectors:
        parts.append(graph.a)
        names += [f"{name}_dot" for name in graph.names("v")]
    elif "x" in graph.vectors and getattr(graph, "dx", None) is not None:
        parts.append(graph.dx)
        names += [f"{name}_dot" for name in graph.names("x")]
    known = ca.vertcat(*parts)
    other = [one for one in ca.symvar(column) if not ca.depends_on(known, one)]
    return ca.vertcat(known, *other), [*names, *(one.name() for one in other)]


class _Writer:
    """Reads the tape of a function, and writes each of its results as a formula."""

    def __init__(self, function: ca.Function, names: list[str]):
        self.nodes: list[tuple] = []  # (operation, numbers of arguments, what it is)
        registers: dict[int, int] = {}
        self.results: dict[int, int] = {}
        for k in range(function.n_instructions()):
            operation, to, of = (
                function.instruction_id(k),
                function.instruction_output(k),
                function.instruction_input(k),
            )
            if operation == ca.OP_OUTPUT:
                self.results[to[1]] = registers[of[0]]
                continue
            if operation == ca.OP_CONST:
                node = (operation, (), function.instruction_constant(k))
            elif operation == ca.OP_INPUT:
                node = (operation, (), names[of[1]])
            else:
                node = (operation, tuple(registers[r] for r in of), None)
            registers[to[0]] = len(self.nodes)
            self.nodes.append(node)
        self.uses = [0] * len(self.nodes)
        self.size = [0] * len(self.nodes)
        for n, (_, arguments, _) in enumerate(self.nodes):
            self.size[n] = 1 + sum(self.size[a] for a in arguments) if arguments else 0
            for a in set(arguments):
                self.uses[a] += 1
        for n in self.results.values():
            self.uses[n] += 1

    def typeset(self, rows: int) -> Typeset:
        formulas: list[Formula] = []
        found = Typeset([])
        own = set(self.results.values())
        for n, (operation, arguments, what) in enumerate(self.nodes):
            formula = self._formula(operation, [formulas[a] for a in arguments], what)
            if self.uses[n] > 1 and self.size[n] >= SHARED and n not in own:
                symbol = f"<msub><mi>τ</mi><mn>{len(found.named) + 1}</mn></msub>"
                found.named.append(Equation(f"{symbol}<mo>=</mo>{formula.text}", formula.letters + 3))
                formula = Formula(symbol, ATOM, 2)
            formulas.append(formula)
        found.rows = [formulas[self.results[k]] if k in self.results else number(0.0) for k in range(rows)]
        return found

    def _formula(self, operation: int, given: list[Formula], what: Any) -> Formula:
        if operation == ca.OP_CONST:
            return number(what)
        if operation == ca.OP_INPUT:
            return Formula(identifier(what), ATOM, len(what))
        letters = 1 + sum(one.letters for one in given)
        texts = [one.text for one in given]
        if operation in (ca.OP_ADD, ca.OP_SUB):
            left, right = texts[0], _bound(given[1], SUM if operation == ca.OP_ADD else PRODUCT)
            sign = "+" if operation == ca.OP_ADD else "−"
            return Formula(f"<mrow>{left}<mo>{sign}</mo>{right}</mrow>", SUM, letters)
        if operation == ca.OP_MUL:
            a, b = _bound(given[0], PRODUCT), _bound(given[1], POWER if given[1].binds == SIGN else PRODUCT)
            between = "<mo>·</mo>" if b.startswith("<mn>") else "<mo>&#x2062;</mo><mspace width='0.2em'/>"
            return Formula(f"<mrow>{a}{between}{b}</mrow>", PRODUCT, letters)
        if operation in (ca.OP_DIV, ca.OP_INV):
            top, bottom = texts if len(texts) == 2 else ("<mn>1</mn>", texts[0])
            return Formula(f"<mfrac>{top}{bottom}</mfrac>", ATOM, letters)
        if operation == ca.OP_NEG:
            return Formula(f"<mrow><mo>−</mo>{_bound(given[0], PRODUCT)}</mrow>", SIGN, letters)
        if operation == ca.OP_TWICE:
            twice = f"<mn>2</mn><mspace width='0.15em'/>{_bound(given[0], PRODUCT)}"
            return Formula(f"<mrow>{twice}</mrow>", PRODUCT, letters)
        if operation == ca.OP_SQ:
            return Formula(f"<msup>{_bound(given[0], ATOM)}<mn>2</mn></msup>", POWER, letters)
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            return Formula(f"<msup>{_bound(given[0], ATOM)}{texts[1]}</msup>", POWER, letters)
        if operation == ca.OP_EXP:
            return Formula(f"<msup><mi>e</mi>{texts[0]}</msup>", POWER, letters)
        if operation == ca.OP_SQRT:
            return Formula(f"<msqrt>{texts[0]}</msqrt>", ATOM, letters)
        if operation == ca.OP_FABS:
            return Formula(f"<mrow><mo>|</mo>{texts[0]}<mo>|</mo></mrow>", ATOM, letters)
        if operation in RELATIONS:
            return Formula(f"<mrow>{texts[0]}<mo>{RELATIONS[operation]}</mo>{texts[1]}</mrow>", 0, letters)
        if operation == ca.OP_IF_ELSE_ZERO:  # a condition as a number
            inner = f"<mrow><mo>[</mo>{texts[0]}<mo>]</mo></mrow>"
            return Formula(f"<mrow>{inner}{_bound(given[1], PRODUCT)}</mrow>", PRODUCT, letters)
        if operation == ca.OP_NOT:
            return Formula(f"<mrow><mo>¬</mo>{_bound(given[0], ATOM)}</mrow>", SIGN, letters)
        name = FUNCTIONS.get(operation, f"op{operation}")
        inner = "<mo>,</mo>".join(texts)
        return Formula(f"<mrow><mi>{name}</mi><mo>&#x2061;</mo><mo>(</mo>{inner}<mo>)</mo></mrow>", POWER, letters + 3)


def _bound(formula: Formula, least: int) -> str:
    """In parentheses if it does not bind tightly enough."""
    if formula.binds >= least:
        return formula.text
    return f"<mrow><mo>(</mo>{formula.text}<mo>)</mo></mrow>"


def equations(lefts: Iterable[str], found: Typeset) -> list[Equation]:
    """Left-hand sides, as MathML, and rows."""
    return [
        Equation(f"{left}<mo>=</mo>{row.text}", row.letters + 3) for left, row in zip(lefts, found.rows, strict=True)
    ]
