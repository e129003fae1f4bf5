"""LLVM IR written by Python: numbers with operators, variables, loops and branches, for one member or several at once.

A `Real` is a number of each of `width` members: `double` where that is one, as on a GPU, where each thread has a member
of its own; otherwise a vector register. Code reads the same in both cases. Where members part, `when` and `repeat`
carry out a branch if it concerns any of them, and variables change only for those that it concerns:

    error = code.variable(0.0)
    with code.when(x < 0.0):
        error.set(1.0)                    # of the members with x < 0

Text is written directly, as in `emit`. Products and sums may be fused; everything else is as IEEE has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.compile.emit import literal
from dalembert.compile.generated.values import Array, Index, Number, Operand, Place, Real, Rows, Truth, Variable, Whole

#: vectors that are longer are gone through in loops: their numbers do not fit into registers anyway
LONG = 24


@dataclass(frozen=True)
class Target:
    """What code is written for."""

    width: int = 1  # members at once
    inline: bool = False  # functions become part of their callers: calls through memory are dear on a GPU
    gpu: bool = False
    group: int = 0  # threads that have a member together (`group`); 0: each has its own, or several
    queue: bool = False  # a thread takes another member as soon as its own is done

    def of(self, scalar: str) -> str:
        """The type of such a number for all members."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    @property
    def real(self) -> str:
        return self.of("double")

    @property
    def suffix(self) -> str:
        """Of intrinsics."""
        return "f64" if self.width == 1 else f"v{self.width}f64"


@dataclass
class Module:
    """Functions and tables that belong together."""

    target: Target
    functions: list[str] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # metadata

    def text(self) -> str:
        return "\n".join([*self.tables.values(), *self.declarations, *self.functions, *self.notes]) + "\n"

    def table(self, name: str, values: np.ndarray) -> Table:
        """Constant doubles that code can look up by index."""
        flat = np.asarray(values, float).ravel()
        entries = ", ".join(f"double {literal(value)}" for value in flat.tolist())
        space = " addrspace(4)" if self.target.gpu else ""
        self.tables[name] = f"@{name} = internal{space} constant [{len(flat)} x double] [{entries}]"
        return Table(name, len(flat), space)

    def function(self, name: str, parameters: Sequence[tuple[str, str]], *, hot: bool = True) -> Code:
        """A function without result; it is complete when `finish` was called. `hot`: worth being inlined."""
        return Code(self, name, parameters, inline=self.target.inline and hot)


@dataclass(frozen=True)
class Table:
    name: str
    size: int
    space: str


class Code:
    """A function of a module, written from its beginning to its end."""

    def __init__(self, module: Module, name: str, parameters: Sequence[tuple[str, str]], *, inline: bool = False):
        self.module, self.target, self.name, self.parameters = module, module.target, name, parameters
        self.mask: Truth | None = None
        self._lines: list[str] = []
        self._allocations: list[str] = []
        self._count = 0
        self._inline = inline
        self.linkage, self.attributes = "internal", "alwaysinline nounwind" if inline else "noinline nounwind"
        self.returns = ("void", "")  # type and value

    # -- text ------------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self._lines.append(f" {text}")

    def write(self, instruction: str) -> str:
        """A new name for the result of an instruction."""
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f" {name} = {instruction}")
        return name

    def _label(self, what: str) -> str:
        self._count += 1
        return f"{what}{self._count}"

    def _mark(self, label: str) -> None:
        self._lines.append(f"{label}:")

    def finish(self) -> None:
        given = ", ".join(f"{kind} %{name}" for kind, name in self.parameters)
        kind, value = self.returns
        head = f"define {self.linkage} {kind} @{self.name}({given}) {self.attributes} {{\ntop:"
        tail = f" ret {kind} {value}".rstrip()
        self.module.functions.append("\n".join([head, *self._allocations, *self._lines, tail, "}"]))

    def declare(self, text: str) -> None:
        self.module.declarations[f"declare {text}"] = None

    # -- numbers ---------------------------------------------------------------------------------------------------

    def real(self, value: Real | float) -> Real:
        if isinstance(value, Real):
            return value
        constant = literal(float(value))
        return Real(self, constant if self.target.width == 1 else f"splat (double {constant})")

    def whole(self, value: Whole | int) -> Whole:
        if isinstance(value, Whole):
            return value
        return Whole(self, str(value) if self.target.width == 1 else f"splat (i32 {value})")

    def truth(self, value: Truth | bool) -> Truth:
        if isinstance(value, Truth):
            return value
        text = "true" if value else "false"
        return Truth(self, text if self.target.width == 1 else f"splat (i1 {text})")

    def as_kind(self, kind: type[Number], value: Any) -> Any:
        return {Real: self.real, Whole: self.whole, Truth: self.truth}[kind](value)

    def spread(self, scalar: str, kind: str = "double") -> str:
        """The name of a number that all members share, as a number of each."""
        if self.target.width == 1:
            return scalar
        of = self.target.of(kind)
        one = self.write(f"insertelement {of} poison, {kind} {scalar}, i64 0")
        return self.write(f"shufflevector {of} {one}, {of} poison, <{self.target.width} x i32> zeroinitializer")

    def arithmetic(self, operation: str, a: Operand, b: Operand) -> Real:
        a, b = self.real(a), self.real(b)
        return Real(self, self.write(f"{operation} contract {self.target.real} {a.text}, {b.text}"))

    def compare(self, how: str, a: Operand, b: Operand) -> Truth:
        a, b = self.real(a), self.real(b)
        return Truth(self, self.write(f"fcmp {how} {self.target.real} {a.text}, {b.text}"))

    def select(self, condition: Truth, a: Any, b: Any) -> Any:
        kind = next((type(x) for x in (a, b) if isinstance(x, Number)), Real)
        a, b = self.as_kind(kind, a), self.as_kind(kind, b)
        of, truth = self.target.of(kind.scalar), self.target.of("i1")
        return kind(self, self.write(f"select {truth} {condition.text}, {of} {a.text}, {of} {b.text}"))

    def intrinsic(self, name: str, *arguments: Operand) -> Real:
        """Of LLVM, on doubles."""
        of, full = self.target.real, f"@llvm.{name}.{self.target.suffix}"
        self.declare(f"{of} {full}({', '.join([of] * len(arguments))})")
        given = ", ".join(f"{of} {self.real(a).text}" for a in arguments)
        return Real(self, self.write(f"call {of} {full}({given})"))

    def sqrt(self, a: Real) -> Real:
        return self.intrinsic("sqrt", a)

    def abs(self, a: Real) -> Real:
        return self.intrinsic("fabs", a)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Real:
        return self.intrinsic("fma", a, b, c)

    def copysign(self, a: Operand, b: Operand) -> Real:
        return self.intrinsic("copysign", a, b)

    def larger(self, a: Operand, b: Operand) -> Real:
        """The first if one of them is NaN, as `max` in kernels does."""
        a = self.real(a)
        return self.select(self.compare("ogt", b, a), b, a)

    def smaller(self, a: Operand, b: Operand) -> Real:
        a = self.real(a)
        return self.select(self.compare("olt", b, a), b, a)

    def finite(self, a: Real) -> Truth:
        return self.abs(a) < float("inf")

    def any(self, condition: Truth) -> str:
        """Whether it is true for one of the members at least, as one truth value."""
        width = self.target.width
        if width == 1:
            return condition.text
        self.declare(f"i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)")
        return self.write(f"call i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1> {condition.text})")

    def anyone(self, condition: Truth) -> Truth:
        """Whether it is true for one of the threads that were started together, which wait for each other here."""
        if not self.target.gpu:
            return condition
        self.declare("i32 @llvm.nvvm.barrier0.or(i32)")
        number = self.write(f"zext i1 {condition.text} to i32")
        answer = self.write(f"call i32 @llvm.nvvm.barrier0.or(i32 {number})")
        return Truth(self, self.write(f"icmp ne i32 {answer}, 0"))

    def as_index(self, value: Whole) -> Index:
        """Where there is one member only."""
        assert self.target.width == 1
        return Index(self, self.write(f"sext i32 {value.text} to i64"))

    # -- memory ----------------------------------------------------------------------------------------------------

    def array(self, count: int, kind: type[Number] = Real) -> Array:
        """Memory of the function's own."""
        self._count += 1
        name = f"%a{self._count}"
        of = self.target.of(kind.scalar if kind is not Truth else "i1")
        self._allocations.append(f" {name} = alloca [{max(count, 1)} x {of}]")
        return Array(self, name, kind)

    def scalar(self, kind: str) -> str:
        """The address of one number that all members share."""
        self._count += 1
        name = f"%i{self._count}"
        self._allocations.append(f" {name} = alloca {kind}")
        return name

    def rows(self, count: int, width: int) -> Rows:
        """A matrix whose columns are looked after one by one, in `each` and `accumulate`."""
        return Rows(self.array(count * width), width)

    def variable(self, value: Any, kind: type[Number] | None = None) -> Variable:
        """With its first value, for all members."""
        kind = kind or (type(value) if isinstance(value, Number) else Truth if isinstance(value, bool) else Real)
        variable = Variable(self.array(1, kind))
        variable.put(value)
        return variable

    def parameter(self, name: str, kind: type[Number] = Real) -> Array:
        """Memory that the caller gives."""
        return Array(self, f"%{name}", kind)

    def lookup(self, table: Table, place: Place) -> Real:
        """A constant of a table."""
        at = place.text if isinstance(place, Index) else str(place)
        space = f"ptr{table.space}"
        address = self.write(f"getelementptr inbounds double, {space} @{table.name}, i64 {at}")
        return Real(self, self.spread(self.write(f"load double, {space} {address}")))

    def shared(self, pointer: str, place: Place) -> Real:
        """A double in memory that all members share."""
        at = place.text if isinstance(place, Index) else str(place)
        address = self.write(f"getelementptr inbounds double, ptr {pointer}, i64 {at}")
        return Real(self, self.spread(self.write(f"load double, ptr {address}, !invariant.load !0")))

    def call(self, function: str, *arguments: Array | Real | str) -> None:
        """One of the module's functions; text stands for a pointer."""
        given = []
        for argument in arguments:
            if isinstance(argument, Array):
                given.append(f"ptr {argument.address}")
            elif isinstance(argument, Real):
                given.append(f"{self.target.real} {argument.text}")
            else:
                given.append(f"ptr {argument}")
        self.line(f"call void @{function}({', '.join(given)})")

    # -- numbers of a vector ---------------------------------------------------------------------------------------

    def each(self, count: int, body: Callable[[Any], None]) -> None:
        """body(k) for every index; of long vectors in a loop."""
        if count > LONG:
            with self.count(0, count) as k:
                body(k)
            return
        for k in range(count):
            body(k)

    def total(self, count: int, term: Callable[[Any], Real]) -> Real:
        """The sum of term(k)."""
        return self.totals(count, lambda k: [term(k)], 1)[0]

    def totals(self, count: int, terms: Callable[[Any], Sequence[Real]], several: int) -> list[Real]:
        """The sums of several terms."""
        return self._combined(count, terms, several, lambda a, b: a + b)

    def highest(self, count: int, term: Callable[[Any], Real]) -> Real:
        """The largest of term(k), at least zero."""
        return self._combined(count, lambda k: [term(k)], 1, self.larger)[0]

    def _combined(
        self, count: int, terms: Callable[[Any], Sequence[Real]], several: int, combine: Callable[[Real, Real], Real]
    ) -> list[Real]:
        if count <= LONG:
            values = [self.real(0.0)] * several
            for k in range(count):
                values = [combine(value, term) for value, term in zip(values, terms(k), strict=True)]
            return values
        parts = [self.variable(0.0) for _ in range(several)]
        with self.count(0, count) as k:
            for part, term in zip(parts, terms(k), strict=True):
                part.put(combine(part.get(), term))
        return [part.get() for part in parts]

    def accumulate(
        self, count: int, last: Place, begin: Callable[[Any], Sequence[Real]],
        terms: Callable[[Index], Callable[[Any], Sequence[Real]]], end: Callable[[Any, list[Real]], None],
    ) -> None:  # fmt: skip
        """end(k, sums) for every index, where the sums are begin(k) + Σ_{j < last} terms(j)(k)."""

        def of(k: Any) -> None:
            sums = [self.variable(value) for value in begin(k)]
            with self.count(0, last) as j:
                for variable, value in zip(sums, terms(j)(k), strict=True):
                    variable.put(variable.get() + value)
            end(k, [variable.get() for variable in sums])

        if self.target.group or count > LONG:
            self.each(count, of)
            return
        # all sums at once, in registers
        sums = [[self.variable(value) for value in begin(k)] for k in range(count)]
        with self.count(0, last) as j:
            term = terms(j)
            for k, row in enumerate(sums):
                for variable, value in zip(row, term(k), strict=True):
                    variable.put(variable.get() + value)
        for k, row in enumerate(sums):
            end(k, [variable.get() for variable in row])

    # -- flow ------------------------------------------------------------------------------------------------------

    @contextmanager
    def when(self, condition: Truth) -> Iterator[None]:
        """What follows concerns the members for which the condition is true."""
        before = self.mask
        inner = condition if before is None or self.target.width == 1 else condition & before
        with self.only_if(self.any(inner)):
            self.mask = inner
            yield
            self.mask = before

    @contextmanager
    def repeat(self, condition: Callable[[], Truth]) -> Iterator[None]:
        """As long as the condition is true for any member, for those."""
        before = self.mask
        head, body, behind = self._label("head"), self._label("body"), self._label("behind")
        self.line(f"br label %{head}")
        self._mark(head)
        inner = condition()
        if before is not None and self.target.width > 1:
            inner = inner & before
        self.line(f"br i1 {self.any(inner)}, label %{body}, label %{behind}")
        self._mark(body)
        self.mask = inner
        yield
        self.mask = before
        self.line(f"br label %{head}")
        self._mark(behind)

    @contextmanager
    def only_if(self, condition: str) -> Iterator[None]:
        """If one truth value, which all members share, is true."""
        then, behind = self._label("then"), self._label("behind")
        self.line(f"br i1 {condition}, label %{then}, label %{behind}")
        self._mark(then)
        yield
        self.line(f"br label %{behind}")
        self._mark(behind)

    @contextmanager
    def unless_zero(self, index: Index) -> Iterator[None]:
        """If an index, which all members share, is not zero."""
        with self.only_if(self.write(f"icmp ne i64 {index.text}, 0")):
            yield

    @contextmanager
    def count(self, first: Place, last: Place, step: int = 1) -> Iterator[Index]:
        """For every index (or every so-many-th) from the first to the one before the last, which all members share."""
        start, end = (x.text if isinstance(x, Index) else str(x) for x in (first, last))
        memory = self.scalar("i64")
        head, body, behind = self._label("head"), self._label("body"), self._label("behind")
        self.line(f"store i64 {start}, ptr {memory}")
        self.line(f"br label %{head}")
        self._mark(head)
        now = self.write(f"load i64, ptr {memory}")
        goes_on = self.write(f"icmp slt i64 {now}, {end}")
        self.line(f"br i1 {goes_on}, label %{body}, label %{behind}")
        self._mark(body)
        yield Index(self, now)
        following = self.write(f"add nsw i64 {now}, {step}")
        self.line(f"store i64 {following}, ptr {memory}")
        self.line(f"br label %{head}")
        self._mark(behind)
