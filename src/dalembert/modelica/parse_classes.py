"""Recursive descent: tokens to classes, their elements and modifications."""

from __future__ import annotations

from sys import intern
from typing import Any

from dalembert.modelica.parse_behaviour import BehaviourParser
from dalembert.modelica.parse_expressions import DEEPEST
from dalembert.modelica.source import KEYWORDS, nearest
from dalembert.modelica.tree import (
    ClassDef,
    Component,
    Constraint,
    Derivative,
    Element,
    Enumeration,
    Expression,
    Extends,
    External,
    File,
    Import,
    Modification,
    Modifier,
    Redeclaration,
    Section,
    Short,
)

_KINDS = frozenset(
    ("class", "model", "block", "type", "connector", "record", "package", "function", "operator", "expandable")
)
_CLASS_WORDS = _KINDS | {"partial", "encapsulated", "pure", "impure"}
_ELEMENT_WORDS = frozenset(("redeclare", "final", "inner", "outer", "replaceable"))
_TYPE_WORDS = frozenset(("flow", "stream", "discrete", "parameter", "constant", "input", "output"))
_FLOW, _VARIABILITY, _CAUSALITY = ("flow", "stream"), ("discrete", "parameter", "constant"), ("input", "output")

Args = tuple[Modifier | Redeclaration, ...]


class ClassParser(BehaviourParser):
    """Whole files."""

    __slots__ = ("shared",)

    def __init__(self, source):
        super().__init__(source)
        self.shared: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal prefixes are one object

    def prefixes(self, *words: str) -> tuple[str, ...]:
        return self.shared.setdefault(words, words)

    def file(self) -> File:
        within = None
        if self.accept("within"):
            within = () if self.t[self.i] == ";" else self.dotted().names
            self.expect(";")
        classes = []
        while self.t[self.i]:
            words = ("final",) if self.accept("final") else ()
            if self.t[self.i] not in _CLASS_WORDS:
                self.unexpected("a class (model, package, function, …)")
            classes.append(self.class_definition(words))
            self.expect(";")
        return File(within, tuple(classes))

    # -- classes -------------------------------------------------------------------------------------------------

    def class_definition(self, before: tuple[str, ...]) -> ClassDef:
        """A class; `before` are the prefixes that stand ahead of it."""
        words = [*before]
        while self.t[self.i] in ("encapsulated", "partial", "pure", "impure"):
            word = self.t[self.i]
            if word in words:
                self.fail(f"`{word}` stands here twice")
            if word in ("pure", "impure") and self.t[self.i + 1] not in ("function", "operator"):
                self.fail(f"`{word}` is for functions")
            words.append(intern(word))
            self.i += 1
        kind = self.t[self.i]
        if kind not in _KINDS:
            self.unexpected("a class (model, package, function, …)")
        self.i += 1
        if kind == "expandable":
            self.expect("connector")
            kind = "expandable connector"
        elif kind == "operator" and self.t[self.i] in ("record", "function"):
            kind = f"operator {self.t[self.i]}"
            self.i += 1
        kind = intern(kind)
        self.deeper()
        is_short = self.t[self.i] and self.t[self.i + 1] == "="
        found = self.short_class(kind, words) if is_short else self.long_class(kind, words)
        self.depth -= 1
        return found

    def short_class(self, kind: str, words: list[str]) -> ClassDef:
        at = self.i
        name = self.name()
        self.expect("=")
        place = self.i
        short: Short | Enumeration | Derivative
        if self.accept("enumeration"):
            short = Enumeration(place, self.literals())
        elif self.accept("der"):
            self.expect("(")
            function = self.dotted()
            names = []
            while not names or self.t[self.i] == ",":
                self.expect(",")
                names.append(self.name())
            self.expect(")")
            short = Derivative(place, function, tuple(names))
        else:
            causality = self.prefixes(*self.causality())
            type_ = self.dotted()
            dims = self.dimensions() if self.t[self.i] == "[" else ()
            short = Short(place, type_, causality, dims, self.class_modification() if self.t[self.i] == "(" else ())
        comment = self.comment()
        return ClassDef(
            at, kind, name, self.prefixes(*words), (), (), None, short, (), None,
            comment and comment.text, comment and comment.annotation,
        )  # fmt: skip

    def causality(self) -> list[str]:
        """Prefixes of a type: at most one of each kind, in this order."""
        found = []
        for kind in (_FLOW, _VARIABILITY, _CAUSALITY):
            if self.t[self.i] in kind:
                found.append(intern(self.t[self.i]))
                self.i += 1
        if self.t[self.i] in _TYPE_WORDS:
            self.fail(
                f"`{self.t[self.i]}` cannot follow `{self.t[self.i - 1]}`",
                suggestion="The order is flow or stream, then discrete, parameter or constant, then input or output",
            )
        return found

    def literals(self):
        """The names of an enumeration."""
        self.expect("(")
        if self.accept(":"):
            self.expect(")")
            return None
        found = []
        seen = set()
        while not found or self.accept(","):
            if not found and self.t[self.i] == ")":
                break
            at, name = self.i, self.name()
            if name in seen:
                self.fail(f"`{name}` stands twice in this enumeration", at)
            seen.add(name)
            found.append((at, name, self.comment()))
        self.expect(")")
        return tuple(found)

    def long_class(self, kind: str, words: list[str]) -> ClassDef:
        extends = self.accept("extends")
        if extends:
            words.append("extends")
        at = self.i
        name = self.name()
        args = self.class_modification() if extends and self.t[self.i] == "(" else ()
        comment = self.description()
        elements: list[Element] = []
        sections: list[Section] = []
        external = note = None
        protected = False
        while True:
            token = self.t[self.i]
            if token == "public" or token == "protected":
                protected = token == "protected"
                self.i += 1
            elif token in ("equation", "algorithm", "initial") and (section := self.section()):
                sections.append(section)
            elif token == "external" and external is None:
                external = self.external()
            elif token == "annotation" and note is None:
                note = self.annotation()
                self.expect(";")
            elif token == "end":
                break
            elif not token:
                self.fail(f"`end {name};` is missing: {kind} `{name}` begins here and has no end", at)
            else:
                self.element(elements, protected)
        self.i += 1
        if self.t[self.i] != name:
            hint = None
            if self.t[self.i] in ("if", "for", "when", "while"):
                hint = f"There is one `end {self.t[self.i]}` too many, or the statement has begun elsewhere"
            line = self.source.place(at)[0]
            self.fail(f"`end {name}` was expected here: {kind} `{name}` begins in line {line}", suggestion=hint)
        self.i += 1
        return ClassDef(
            at, kind, name, self.prefixes(*words), tuple(elements), tuple(sections), external, None, args, None,
            comment, note,
        )  # fmt: skip

    def external(self) -> External:
        at = self.i
        self.i += 1
        language = None
        if self.t[self.i][:1] == '"':
            language = self.string(self.t[self.i], self.i)
            self.i += 1
        result = function = None
        args: tuple[Expression, ...] = ()
        if self.t[self.i] not in (";", "annotation"):
            first = self.reference()
            if self.accept("="):
                result, first = first, self.reference()
            function = ".".join(first.names)
            self.expect("(")
            if self.t[self.i] != ")":
                args = self.expressions()
            self.expect(")")
        note = self.annotation()
        self.expect(";")
        return External(at, language, result, function, args, note)

    # -- elements ------------------------------------------------------------------------------------------------

    def element(self, elements: list[Element], protected: bool) -> None:
        """One element clause; each of its components becomes an element."""
        token = self.t[self.i]
        shield = ("protected",) if protected else ()
        if token == "import":
            elements.append(self.imports(shield))
        elif token == "extends":
            elements.append(self.extends(shield))
        else:
            words = [*shield]
            for word in ("redeclare", "final", "inner", "outer", "replaceable"):
                if self.accept(word):
                    words.append(word)
            self.declaration(elements, words)
        self.expect(";")

    def declaration(self, elements: list[Element], words: list[str], single: bool = False) -> None:
        """A class or components, and the constraint if it is replaceable."""
        first = len(elements)
        token = self.t[self.i]
        if token in _CLASS_WORDS:
            elements.append(self.class_definition(tuple(words)))
        elif token in KEYWORDS and token not in _TYPE_WORDS:
            if token in _ELEMENT_WORDS:
                self.fail(
                    f"`{token}` stands in the wrong order here",
                    suggestion="The order is redeclare, final, inner, outer, replaceable",
                )
            self.unexpected("a declaration")
        else:
            self.components(elements, words, single)
        if self.t[self.i] == "constrainedby":
            if "replaceable" not in words:
                self.fail("only what is replaceable can be constrained", suggestion="Write `replaceable` before it")
            constraint = self.constraint()
            for i in range(first, len(elements)):
                declared: Any = elements[i]  # a class or a component
                elements[i] = declared._replace(constraint=constraint)

    def constraint(self) -> Constraint:
        at = self.i
        self.i += 1
        type_ = self.dotted()
        args = self.class_modification() if self.t[self.i] == "(" else ()
        return Constraint(at, type_, args, self.comment())

    def components(self, elements: list[Element], words: list[str], single: bool) -> None:
        words = self.prefixes(*words, *self.causality())
        type_ = self.dotted()
        behind_type = self.dimensions() if self.t[self.i] == "[" else ()
        while True:
            at = self.i
            token = self.t[at]
            if token in (";", ")", "=", "(") and len(type_.names) == 1:
                known = nearest(type_.names[0], KEYWORDS)
                self.fail(f"a type and a name were expected; `{type_.names[0]}` stands alone", type_.at, known)
            name = self.name()
            dims = (self.dimensions() if self.t[self.i] == "[" else ()) + behind_type
            modification = self.modification()
            condition = self.expression() if not single and self.accept("if") else None
            comment = self.comment()
            elements.append(Component(at, name, type_, words, dims, modification, condition, None, comment))
            if single or self.t[self.i] != ",":
                return
            self.i += 1

    def dimensions(self) -> tuple[Expression, ...]:
        return self.array_subscripts()

    def extends(self, shield: tuple[str, ...]) -> Extends:
        self.i += 1
        at = self.i
        type_ = self.dotted()
        args = self.class_modification() if self.t[self.i] == "(" else ()
        return Extends(at, type_, args, shield, self.annotation())

    def imports(self, shield: tuple[str, ...]) -> Import:
        self.i += 1
        at = self.i
        names: list[tuple[str, str | None]]
        if self.t[self.i + 1] == "=":
            alias = self.name()
            self.i += 1
            return Import(at, self.dotted().names, ((alias, None),), shield, self.comment())
        path = [self.name()]
        while self.accept("."):
            if self.accept("*"):
                return Import(at, tuple(path), (), shield, self.comment())
            if self.accept("{"):
                names = []
                while not names or self.accept(","):
                    one = self.name()
                    names.append((one, one))
                self.expect("}")
                return Import(at, tuple(path), tuple(names), shield, self.comment())
            path.append(self.name())
        if self.accept(".*"):
            return Import(at, tuple(path), (), shield, self.comment())
        return Import(at, tuple(path), ((path[-1], None),), shield, self.comment())

    # -- modifications -------------------------------------------------------------------------------------------

    def modification(self) -> Modification | None:
        at = self.i
        args = self.class_modification() if self.t[at] == "(" else ()
        value = None
        if self.t[self.i] in ("=", ":="):
            self.i += 1
            value = self.expression()
        return Modification(at, args, value) if self.i > at else None

    def class_modification(self) -> Args:
        self.expect("(")
        self.deeper()
        found: list[Modifier | Redeclaration] = []
        if self.t[self.i] != ")":
            while not found or self.accept(","):
                found.append(self.modifier())
        self.expect(")")
        self.depth -= 1
        return tuple(found)

    def modifier(self) -> Modifier | Redeclaration:
        at = self.i
        token = self.t[at]
        words = []
        if token == "redeclare":
            self.i += 1
            words.append("redeclare")
        outer = [word for word in ("each", "final") if self.accept(word)]
        if words or self.t[self.i] == "replaceable":
            if self.accept("replaceable"):
                words.append("replaceable")
            elements: list[Element] = []
            self.declaration(elements, words, single=True)
            return Redeclaration(at, self.prefixes(*outer), elements[0])
        return self.nested_modifier(self.prefixes(*outer))

    def nested_modifier(self, words: tuple[str, ...]) -> Modifier:
        """`a.b.c = 1` is `a(b(c = 1))`; prefixes are those of the innermost name, and `final` and `each` of all."""
        at = self.i
        names = [self.name()]
        while self.accept("."):
            names.append(self.name())
        if self.depth + len(names) > DEEPEST:
            self.fail(f"more than {DEEPEST} levels are nested here")
        if self.t[self.i] == "[":
            self.fail("modifiers cannot have subscripts", suggestion="Give an array of values to the whole array")
        args = self.class_modification() if self.t[self.i] == "(" else None
        value = None
        if self.t[self.i] in ("=", ":="):
            self.i += 1
            value = self.expression()
        found = Modifier(at, names[-1], words, args, value, self.description())
        for name in reversed(names[:-1]):
            found = Modifier(at, name, words, (found,), None)
        return found
