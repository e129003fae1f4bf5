"""Recursive descent: tokens to equations and statements."""

from __future__ import annotations

from collections.abc import Callable

from dalembert.modelica.parse_expressions import ExpressionParser
from dalembert.modelica.source import KEYWORDS, nearest
from dalembert.modelica.tree import (
    Annotation,
    Assignment,
    Break,
    Call,
    CallStatement,
    Comment,
    Connect,
    Equation,
    Expression,
    For,
    If,
    Ref,
    Return,
    Section,
    Statement,
    Tuple,
    When,
    While,
)

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class BehaviourParser(ExpressionParser):
    """Sections with equations and algorithms, and the comments behind everything."""

    __slots__ = ()

    # -- comments ------------------------------------------------------------------------------------------------

    def comment(self) -> Comment | None:
        text = self.description()
        note = self.annotation()
        return None if text is None and note is None else Comment(text, note)

    def description(self) -> str | None:
        """A string, or several of them with plus signs."""
        token = self.t[self.i]
        if token[:1] != '"':
            return None
        text = self.string(token, self.i)
        self.i += 1
        while self.t[self.i] == "+" and self.t[self.i + 1][:1] == '"':
            text += self.string(self.t[self.i + 1], self.i + 1)
            self.i += 2
        return text

    def annotation(self) -> Annotation | None:
        """Skip an annotation: only its brackets have to be in order."""
        if self.t[self.i] != "annotation":
            return None
        start = self.i + 1
        if self.t[start] != "(":
            self.i = start
            self.unexpected("`(`")
        tokens, i, depth = self.t, start, 0
        while True:
            token = tokens[i]
            i += 1
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
                if not depth:
                    break
            elif not token or (token == ";" and depth < 2):
                self.fail("the brackets of this annotation do not close", start - 1, "Count its parentheses and braces")
        self.i = i
        return Annotation(start, i)

    # -- sections ------------------------------------------------------------------------------------------------

    def section(self) -> Section | None:
        """A section, if one begins here."""
        at = self.i
        initial = self.t[at] == "initial" and self.t[at + 1] in ("equation", "algorithm")
        kind = self.t[at + initial]
        if kind not in ("equation", "algorithm"):
            return None
        self.i += 1 + initial
        one = self.equation if kind == "equation" else self.statement
        ends = ("end", "equation", "algorithm", "public", "protected", "external", "annotation", "")
        items = []
        while self.t[self.i] not in ends and not (
            self.t[self.i] == "initial" and self.t[self.i + 1] in ("equation", "algorithm")
        ):
            items.append(one())
            self.expect(";")
        return Section(at, "equation" if kind == "equation" else "algorithm", initial, tuple(items))

    def block(self, one: Callable[[], Statement], ends: tuple[str, ...]) -> tuple[Statement, ...]:
        items = []
        while self.t[self.i] not in ends:
            if not self.t[self.i]:
                self.unexpected(f"`{ends[-1]}`")
            items.append(one())
            self.expect(";")
        return tuple(items)

    # -- equations -----------------------------------------------------------------------------------------------

    def equation(self) -> Statement:
        at = self.i
        token = self.t[at]
        if token in ("if", "for", "when"):
            return self.compound(self.equation)
        if token == "connect":
            self.i += 1
            self.expect("(")
            left = self.reference()
            self.expect(",")
            right = self.reference()
            self.expect(")")
            return Connect(at, left, right, self.comment())
        left = self.side()
        if self.t[self.i] == "=":
            place = self.i
            self.i += 1
            return Equation(place, left, self.expression(), self.comment())
        if isinstance(left, Call):
            return CallStatement(at, left, self.comment())
        if self.t[self.i] == ":=":
            self.fail("`:=` is for algorithms", suggestion="Equations have `=`")
        if isinstance(left, Ref) and (hint := self.forgotten(left)):
            self.fail(f"this is no equation: `{left.names[0]}` stands alone", at, hint)
        self.unexpected("`=`")

    def side(self) -> Expression:
        """The left side of an equation: if-expressions would need parentheses."""
        found = self.operand(1)
        if self.t[self.i] == ":":
            self.fail("a range cannot be the left side of an equation")
        return found

    def forgotten(self, name: Ref) -> str | None:
        """What a lone name where a statement begins may have been meant to be."""
        if self.t[self.i].isidentifier():
            return nearest(name.names[0], KEYWORDS) or "Declarations belong above the first `equation` or `algorithm`"
        return None

    def compound(self, one: Callable[[], Statement]) -> Statement:
        """if, for, when and while, of equations or of statements."""
        at, word = self.i, self.t[self.i]
        self.i += 1
        self.deeper()
        found: Statement
        if word == "for":
            iterators = self.iterators()
            self.expect("loop")
            body = self.block(one, ("end",))
            self.end_of(word, at)
            found = For(at, iterators, body, self.comment())
        elif word == "while":
            condition = self.expression()
            self.expect("loop")
            body = self.block(one, ("end",))
            self.end_of(word, at)
            found = While(at, condition, body, self.comment())
        elif word == "when":
            branches = self.branches(one, "elsewhen", ("elsewhen", "end"))
            self.end_of(word, at)
            found = When(at, branches, self.comment())
        else:
            branches = self.branches(one, "elseif", ("elseif", "else", "end"))
            otherwise = self.block(one, ("end",)) if self.accept("else") else None
            self.end_of(word, at)
            found = If(at, branches, otherwise, self.comment())
        self.depth -= 1
        return found

    def branches(self, one, again: str, ends: tuple[str, ...]) -> tuple[tuple[Expression, tuple[Statement, ...]], ...]:
        found = []
        while not found or self.accept(again):
            condition = self.expression()
            self.expect("then")
            found.append((condition, self.block(one, ends)))
        return tuple(found)

    def end_of(self, word: str, at: int) -> None:
        self.expect("end")
        if self.t[self.i] != word:
            line = self.source.place(at)[0]
            self.fail(f"`end {word}` was expected here: `{word}` in line {line} is open")
        self.i += 1

    # -- statements ----------------------------------------------------------------------------------------------

    def statement(self) -> Statement:
        at = self.i
        token = self.t[at]
        if token in ("if", "for", "when", "while"):
            return self.compound(self.statement)
        if token == "break":
            self.i += 1
            return Break(at, self.comment())
        if token == "return":
            self.i += 1
            return Return(at, self.comment())
        if token == "(":
            target = self.parentheses()
            if not isinstance(target, Tuple):
                target = Tuple(at, (target,))
            wrong = next((item for item in target.items if item is not None and not isinstance(item, Ref)), None)
            if wrong is not None:
                self.fail("only variables can be assigned to", wrong.at)
            self.assigns()
            place = self.i - 1
            function = self.reference() if self.t[self.i] not in ("pure", "der", "initial") else self.word()
            return Assignment(place, target, self.call(function), self.comment())
        if token in ("der", "initial", "pure"):
            return CallStatement(at, self.call(self.word()), self.comment())
        left = self.reference()
        if self.t[self.i] == "(":
            return CallStatement(at, self.call(left), self.comment())
        if hint := self.forgotten(left):
            self.fail(f"this is no statement: `{left.names[0]}` stands alone", at, hint)
        self.assigns()
        place = self.i - 1
        return Assignment(place, left, self.expression(), self.comment())

    def word(self) -> Ref:
        self.i += 1
        return Ref(self.i - 1, (self.t[self.i - 1],))

    def assigns(self) -> None:
        if self.t[self.i] == "=":
            self.fail("`=` is for equations", suggestion="Assignments in algorithms are written `:=`")
        self.expect(":=")
