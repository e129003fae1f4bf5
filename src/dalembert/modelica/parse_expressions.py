"""Recursive descent: tokens to expressions."""

from __future__ import annotations

import re
from sys import intern
from typing import NoReturn

from dalembert.errors import ModelicaError
from dalembert.modelica.source import KEYWORDS, Source, nearest
from dalembert.modelica.tree import (
    Array,
    Binary,
    Call,
    Colon,
    End,
    Expression,
    Field,
    IfExpression,
    Index,
    Iterator,
    Literal,
    Matrix,
    Named,
    Partial,
    Range,
    Ref,
    Tuple,
    Unary,
)

DEEPEST = 100  # parentheses, classes, statements and the like within each other
LONGEST = 1000  # operators in a row, as a + b + c + …

_STRENGTH = {
    "or": 1, "and": 2, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "<>": 4,
    "+": 5, "-": 5, ".+": 5, ".-": 5, "*": 6, "/": 6, ".*": 6, "./": 6, "^": 7, ".^": 7,
}  # fmt: skip
_NOT, _RELATION, _SUM, _PRODUCT, _POWER = 3, 4, 5, 6, 7
_CALLABLE_WORDS = frozenset(("der", "initial", "pure"))
_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = frozenset("'\"?\\abfnrtv")
_MOST_DIGITS = 400  # of an integer: longer ones are beyond every number


class ExpressionParser:
    """Expressions of one source. `i` is the number of the token that is looked at."""

    __slots__ = ("depth", "i", "source", "subscripts", "t")

    def __init__(self, source: Source):
        self.source, self.t, self.i = source, source.tokens(), 0
        self.depth = self.subscripts = 0

    # -- errors --------------------------------------------------------------------------------------------------

    def fail(self, message: str, at: int | None = None, suggestion: str | None = None) -> NoReturn:
        self.source.fail(message, self.i if at is None else at, suggestion)

    def unexpected(self, wanted: str) -> NoReturn:
        """Say what stands here in place of what was wanted."""
        raise self.wrong(wanted)

    def wrong(self, wanted: str) -> ModelicaError:
        token = self.t[self.i]
        shown = _shown(token)
        if wanted in (";", ")", "]", "}", ",", "then", "loop") and self.i:
            message = f"`{wanted}` is missing before {shown}"
            hint = None
            if token == "=" and wanted == ";":
                hint = "An equation has one `=`; equality in conditions is `==`, assignments in algorithms are `:=`"
            elif token == ":=":
                hint = "`:=` is for algorithms; equations and modifiers have `=`"
            elif token in ("else", "elseif") and wanted == ";":
                hint = "Every equation and statement ends with `;`"
            elif token == "==":
                hint = "Equations have a single `=`"
            elif self.t[self.i - 1].isidentifier() and self.t[self.i - 1] not in KEYWORDS:
                hint = nearest(self.t[self.i - 1], KEYWORDS)
            return self.source.error(message, self.i - 1, hint, behind=True)
        hint = nearest(token, KEYWORDS) if token.isidentifier() and token not in KEYWORDS else None
        if wanted == "a name" and token in KEYWORDS:
            hint = f"`{token}` is a word of the language; a name could be '{token}', with the quotes"
        return self.source.error(f"{wanted} was expected here, not {shown}", self.i, hint)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"more than {DEEPEST} levels are nested here", suggestion="Divide this into smaller parts")

    # -- words ---------------------------------------------------------------------------------------------------

    def expect(self, token: str) -> None:
        if self.t[self.i] != token:
            self.unexpected(token if token in (";", ")", "]", "}", ",", "then", "loop") else f"`{token}`")
        self.i += 1

    def accept(self, token: str) -> bool:
        if self.t[self.i] == token:
            self.i += 1
            return True
        return False

    def name(self) -> str:
        token = self.t[self.i]
        if (token.isidentifier() and token not in KEYWORDS) or (token and token[0] == "'"):
            self.i += 1
            return intern(token)
        self.unexpected("a name")

    def dotted(self) -> Ref:
        """The name of a class."""
        at = self.i
        rooted = self.accept(".")
        names = [self.name()]
        while self.t[self.i] == ".":
            self.i += 1
            names.append(self.name())
        return Ref(at, tuple(names), None, rooted)

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        at = self.i
        if self.t[at] == "if":
            return self.if_expression()
        first = self.operand(1)
        if self.t[self.i] != ":":
            return first
        self.i += 1
        second = self.operand(1)
        if self.t[self.i] != ":":
            return Range(at, first, None, second)
        self.i += 1
        return Range(at, first, second, self.operand(1))

    def if_expression(self) -> IfExpression:
        at = self.i
        self.deeper()
        branches = []
        while not branches or self.t[self.i] == "elseif":
            self.i += 1
            condition = self.expression()
            self.expect("then")
            branches.append((condition, self.expression()))
        if self.t[self.i] != "else":
            self.fail("this if-expression has no `else`", at, "An if-expression needs a value for every case")
        self.i += 1
        otherwise = self.expression()
        self.depth -= 1
        return IfExpression(at, tuple(branches), otherwise)

    def operand(self, floor: int) -> Expression:
        """What is bound by operators of strength `floor` and more."""
        tokens = self.t
        token = tokens[self.i]
        if token == "not" and floor <= _NOT:
            at = self.i
            self.i += 1
            left = Unary(at, "not", self.operand(_RELATION))
        elif token in ("-", "+", ".-", ".+"):
            at = self.i
            if floor > _SUM:
                self.fail(f"a sign cannot follow the operator `{tokens[at - 1]}`", at, "Put parentheses around it")
            self.i += 1
            left = Unary(at, token, self.operand(_PRODUCT))
        else:
            left = self.primary()
        length = 0
        while (strength := _STRENGTH.get(tokens[self.i], 0)) >= floor:
            at = self.i
            self.i += 1
            left = Binary(at, intern(tokens[at]), left, self.operand(strength + 1))
            length += 1
            if strength in (_RELATION, _POWER) and _STRENGTH.get(tokens[self.i]) == strength:
                hint = "Combine relations with `and`" if strength == _RELATION else "Put parentheses around one of them"
                self.fail(f"`{tokens[at]}` and `{tokens[self.i]}` cannot follow each other", suggestion=hint)
            if length > LONGEST:
                self.fail(f"more than {LONGEST} operators follow each other", at, "Put parentheses around parts of it")
        return left

    def primary(self) -> Expression:
        at = self.i
        token = self.t[at]
        if token.isidentifier():
            if token not in KEYWORDS:
                return self.reference_or_call()
            if token in ("true", "false"):
                self.i += 1
                return Literal(at, token == "true")
            if token == "end" and self.subscripts:
                self.i += 1
                return End(at)
            if token in _CALLABLE_WORDS:
                self.i += 1
                return self.call(Ref(at, (intern(token),)))
            self.unexpected("an expression")
        first = token[:1]
        if first.isdigit() or (first == "." and token[1:2].isdigit()):
            self.i += 1
            return Literal(at, self.number(token, at))
        if first == '"':
            self.i += 1
            return Literal(at, self.string(token, at))
        if first == "'" or token == ".":
            return self.reference_or_call()
        if token == "(":
            return self.parentheses()
        if token == "{":
            return self.braces()
        if token == "[":
            self.i += 1
            self.deeper()
            rows = [self.expressions()]
            while self.accept(";"):
                rows.append(self.expressions())
            self.expect("]")
            self.depth -= 1
            return Matrix(at, tuple(rows))
        self.unexpected("an expression")

    def number(self, token: str, at: int) -> float | int:
        if not token.isdigit():
            value = float(token)
            if value == float("inf"):
                self.fail("this number is too large", at, "The largest is about 1.8e308")
            return value
        if len(token) > _MOST_DIGITS:
            self.fail("this integer is too large", at, "Write it as a real number")
        return int(token)

    def string(self, token: str, at: int) -> str:
        """The characters that a string token stands for."""
        if "\\" not in token:
            return token[1:-1]
        for match in _ESCAPE.finditer(token):
            if match[1] not in _ESCAPED:
                self.fail(f"the string has an unknown escape sequence \\{match[1]}", at, "A backslash is written \\\\")
        return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1])

    def expressions(self) -> tuple[Expression, ...]:
        found = [self.expression()]
        while self.t[self.i] == ",":
            self.i += 1
            found.append(self.expression())
        return tuple(found)

    def parentheses(self) -> Expression:
        """A single expression in parentheses is that expression; others are tuples."""
        at = self.i
        self.i += 1
        self.deeper()
        items: list[Expression | None] = []
        commas = 0
        if self.t[self.i] != ")":
            while True:
                items.append(None if self.t[self.i] in (",", ")") else self.expression())
                if not self.accept(","):
                    break
                commas += 1
        self.expect(")")
        self.depth -= 1
        found: Expression = items[0] if len(items) == 1 and items[0] is not None else Tuple(at, tuple(items))
        follows = self.t[self.i]
        if follows == "[":
            return Index(at, found, self.array_subscripts())
        if follows == ".":
            self.i += 1
            return Field(at, found, self.name())
        return found

    def braces(self) -> Array:
        at = self.i
        self.i += 1
        self.deeper()
        if self.accept("}"):
            self.depth -= 1
            return Array(at, ())
        items = [self.expression()]
        iterators: tuple[Iterator, ...] = ()
        if self.accept("for"):
            iterators = self.iterators()
        else:
            while self.accept(","):
                items.append(self.expression())
        self.expect("}")
        self.depth -= 1
        return Array(at, tuple(items), iterators)

    def iterators(self) -> tuple[Iterator, ...]:
        """What stands behind `for`."""
        found = []
        while not found or self.accept(","):
            at = self.i
            name = self.name()
            found.append(Iterator(at, name, self.expression() if self.accept("in") else None))
        return tuple(found)

    # -- names ---------------------------------------------------------------------------------------------------

    def reference_or_call(self) -> Ref | Call:
        found = self.reference()
        return self.call(found) if self.t[self.i] == "(" else found

    def reference(self) -> Ref:
        at = self.i
        rooted = self.accept(".")
        names: list[str] = []
        subs: list[tuple[Expression, ...] | None] | None = None
        while True:
            names.append(self.name())
            if self.t[self.i] == "[":
                subs = subs or [None] * (len(names) - 1)
                subs.append(self.array_subscripts())
            elif subs is not None:
                subs.append(None)
            if self.t[self.i] != ".":
                return Ref(at, tuple(names), None if subs is None else tuple(subs), rooted)
            self.i += 1

    def array_subscripts(self) -> tuple[Expression, ...]:
        self.i += 1
        self.deeper()
        self.subscripts += 1
        found = [self.subscript()]
        while self.accept(","):
            found.append(self.subscript())
        self.expect("]")
        self.subscripts -= 1
        self.depth -= 1
        return tuple(found)

    def subscript(self) -> Expression:
        at = self.i
        if self.t[at] == ":" and self.t[at + 1] in (",", "]"):
            self.i += 1
            return Colon(at)
        return self.expression()

    def call(self, function: Ref) -> Call:
        """The arguments behind the name of a function."""
        self.expect("(")
        self.deeper()
        args: list[Expression] = []
        named: list[Named] = []
        iterators: tuple[Iterator, ...] = ()
        if self.t[self.i] != ")":
            while True:
                at = self.i
                if self.t[at + 1] == "=" and self.t[at] not in (")", "("):
                    name = self.name()
                    self.i += 1
                    named.append(Named(at, name, self.argument()))
                elif named:
                    self.fail(
                        "an argument without a name follows one with a name", at, "Give it a name, or move it ahead"
                    )
                else:
                    args.append(self.argument())
                    if len(args) == 1 and self.accept("for"):
                        iterators = self.iterators()
                        break
                if not self.accept(","):
                    break
        self.expect(")")
        self.depth -= 1
        return Call(function.at, function, tuple(args), tuple(named), iterators)

    def argument(self) -> Expression:
        """An expression, or a function with some of its inputs bound."""
        if self.t[self.i] != "function":
            return self.expression()
        at = self.i
        self.i += 1
        partial = self.call(self.dotted())
        if partial.args or partial.iterators:
            self.fail("the arguments of a function that is handed over must have names", at)
        return Partial(at, partial.function, partial.named)


def _shown(token: str) -> str:
    if not token:
        return "the end of the text"
    return f"`{token}`" if len(token) <= 40 else f"`{token[:37]}…`"
