"""Tapes written number by number, without a graph: for code of many thousand operations, of which CasADi would make
objects that take longer than everything else.

    writer = Writer(2, 1)                       # arguments x1 and x2 have two numbers and one
    (a, b), (c,) = writer.arguments()
    port = writer.port([a * c - b, 1.0 / c])

Numbers that are known are floats, and what multiplies with 0 or ±1, or adds 0, writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi

from dalembert.compile.emit import Tape
from dalembert.compile.ports import Port
from dalembert.compile.tape import compile_from

_ADD, _SUB, _MUL, _NEG, _ABS, _INV, _DIV = (
    getattr(casadi, f"OP_{name}") for name in ("ADD", "SUB", "MUL", "NEG", "FABS", "INV", "DIV")
)
#: instructions up to which the better code generator, which takes a second for them, is worth its while: factors have a
#: number for each operation, and code half as long fits into the processor's cache
THOROUGH = 10_000
_INPUT, _OUTPUT, _CONST = casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST


class Number:
    """The result of an operation on a tape."""

    __slots__ = ("at", "writer")

    def __init__(self, writer: Writer, at: int):
        self.writer, self.at = writer, at

    def __add__(self, other: Number | float) -> Number:
        if other.__class__ is not Number and other == 0:
            return self
        return self.writer.write(_ADD, self, other)

    __radd__ = __add__

    def __sub__(self, other: Number | float) -> Number:
        if other.__class__ is not Number and other == 0:
            return self
        return self.writer.write(_SUB, self, other)

    def __rsub__(self, other: float) -> Number:
        return -self if other == 0 else self.writer.write(_SUB, other, self)

    def __mul__(self, other: Number | float) -> Number | float:
        if other.__class__ is not Number:
            if other == 0:
                return 0.0
            if abs(other) == 1:
                return self if other == 1 else -self
        return self.writer.write(_MUL, self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Number:
        return self.writer.write(_NEG, self, self)

    def __abs__(self) -> Number:
        return self.writer.write(_ABS, self, self)

    def __truediv__(self, other: Number | float) -> Number:
        return self.writer.write(_DIV, self, other)

    def __rtruediv__(self, other: float) -> Number:
        return self.writer.write(_INV, self, self) if other == 1 else self.writer.write(_DIV, other, self)


class Writer:
    """A tape in the making."""

    def __init__(self, *lengths: int):
        self._lengths = lengths
        self._lines: list[tuple[int, int, int]] = []  # operation and where its arguments stand
        self._constants: dict[float, int] = {}

    def arguments(self) -> list[list[Number]]:
        """The numbers in each vector, once."""
        out = []
        for argument, length in enumerate(self._lengths, 1):
            first = len(self._lines)
            self._lines += [(_INPUT, argument, position) for position in range(length)]
            out.append([Number(self, first + k) for k in range(length)])
        return out

    def write(self, operation: int, a: Number | float, b: Number | float) -> Number:
        i = a.at if a.__class__ is Number else self._constant(a)
        j = b.at if b.__class__ is Number else self._constant(b)
        self._lines.append((operation, i, j))
        return Number(self, len(self._lines) - 1)

    def _constant(self, value: float) -> int:
        at = self._constants.get(value)
        if at is None:
            self._lines.append((_CONST, 0, 0))
            at = self._constants[value] = len(self._lines) - 1
        return at

    def tape(self, out: Sequence[Number | float]) -> Tape:
        """What the results depend on, in registers that are used again."""
        ends = [number.at if number.__class__ is Number else self._constant(float(number)) for number in out]
        lines, needed = self._lines, bytearray(len(self._lines))
        for at in ends:
            needed[at] = 1
        last = [0] * len(lines)
        for k in range(len(lines) - 1, -1, -1):
            operation, i, j = lines[k]
            if not needed[k] or operation in (_INPUT, _CONST):
                continue
            for of in (i, j):
                needed[of] = 1
                last[of] = max(last[of], k)
        results: dict[int, list[int]] = {}
        for position, at in enumerate(ends):
            results.setdefault(at, []).append(position)
        values = {at: value for value, at in self._constants.items()}
        register = [0] * len(lines)
        free: list[int] = []
        count = 0
        instructions: list[tuple] = []
        for k, (operation, i, j) in enumerate(lines):
            if not needed[k]:
                continue
            given: tuple[int, ...] = (i, j)
            if operation == _CONST:
                given = ()
            elif operation != _INPUT:
                given = (register[i],) if operation in (_NEG, _ABS, _INV) else (register[i], register[j])
                free += [register[of] for of in {i, j} if last[of] == k]
            if free:
                own = free.pop()
            else:
                own, count = count, count + 1
            register[k] = own
            instructions.append((operation, given, (own,), values.get(k)))
            for position in results.get(k, ()):
                instructions.append((_OUTPUT, (own,), (0, position), None))
            if last[k] == 0:
                free.append(own)
        return Tape(tuple(instructions), count, len(self._lengths))

    def port(self, out: Sequence[Number | float]) -> Port:
        """Machine code of two vectors for these results."""
        tape = self.tape(out)
        code = compile_from(tape, level=1 if len(tape.instructions) <= THOROUGH else None)
        n_x, n_theta = self._lengths
        return Port(code.address, n_x=n_x, n_theta=n_theta, n_out=len(out), backend="llvm", keep=code)
