"""Values in code under way: numbers of all members with Python's operators, and places in memory that hold them.

Every operation writes a line of the function (`code.Code`) that the number belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from dalembert.compile.generated.code import Code


class Number:
    """A value in the making: a name or a literal."""

    __slots__ = ("code", "text")
    scalar = ""

    def __init__(self, code: Code, text: str):
        self.code, self.text = code, text

    def __bool__(self) -> bool:
        raise TypeError("a number of generated code has no value yet: use when(...) and select(...)")


Operand: TypeAlias = "Real | float"


class Real(Number):
    """One double for each member."""

    __slots__ = ()
    scalar = "double"

    def __add__(self, other: Operand) -> Real:
        return self.code.arithmetic("fadd", self, other)

    def __radd__(self, other: float) -> Real:
        return self.code.arithmetic("fadd", other, self)

    def __sub__(self, other: Operand) -> Real:
        return self.code.arithmetic("fsub", self, other)

    def __rsub__(self, other: float) -> Real:
        return self.code.arithmetic("fsub", other, self)

    def __mul__(self, other: Operand) -> Real:
        return self.code.arithmetic("fmul", self, other)

    def __rmul__(self, other: float) -> Real:
        return self.code.arithmetic("fmul", other, self)

    def __truediv__(self, other: Operand) -> Real:
        return self.code.arithmetic("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Real:
        return self.code.arithmetic("fdiv", other, self)

    def __neg__(self) -> Real:
        return Real(self.code, self.code.write(f"fneg {self.code.target.real} {self.text}"))

    def __lt__(self, other: Operand) -> Truth:
        return self.code.compare("olt", self, other)

    def __le__(self, other: Operand) -> Truth:
        return self.code.compare("ole", self, other)

    def __gt__(self, other: Operand) -> Truth:
        return self.code.compare("ogt", self, other)

    def __ge__(self, other: Operand) -> Truth:
        return self.code.compare("oge", self, other)

    def equals(self, other: Operand) -> Truth:
        return self.code.compare("oeq", self, other)

    def differs(self, other: Operand) -> Truth:
        """Also if one of them is NaN."""
        return self.code.compare("une", self, other)


class Truth(Number):
    """One truth value for each member."""

    __slots__ = ()
    scalar = "i1"

    def _with(self, operation: str, other: Truth) -> Truth:
        kind = self.code.target.of("i1")
        return Truth(self.code, self.code.write(f"{operation} {kind} {self.text}, {other.text}"))

    def __and__(self, other: Truth) -> Truth:
        return self._with("and", other)

    def __or__(self, other: Truth) -> Truth:
        return self._with("or", other)

    def __invert__(self) -> Truth:
        return self._with("xor", self.code.truth(True))


class Whole(Number):
    """One 32-bit integer for each member."""

    __slots__ = ()
    scalar = "i32"

    def _with(self, operation: str, other: Whole | int) -> Whole:
        kind = self.code.target.of("i32")
        return Whole(self.code, self.code.write(f"{operation} {kind} {self.text}, {self.code.whole(other).text}"))

    def __add__(self, other: Whole | int) -> Whole:
        return self._with("add", other)

    def __sub__(self, other: Whole | int) -> Whole:
        return self._with("sub", other)

    def half(self) -> Whole:
        """Rounded down."""
        return self._with("ashr", 1)

    def _compared(self, how: str, other: Whole | int) -> Truth:
        kind, right = self.code.target.of("i32"), self.code.whole(other).text
        return Truth(self.code, self.code.write(f"icmp {how} {kind} {self.text}, {right}"))

    def __lt__(self, other: Whole | int) -> Truth:
        return self._compared("slt", other)

    def __ge__(self, other: Whole | int) -> Truth:
        return self._compared("sge", other)

    def equals(self, other: Whole | int) -> Truth:
        return self._compared("eq", other)


class Index(Number):
    """One 64-bit integer that all members share."""

    __slots__ = ()

    def _with(self, operation: str, other: Index | int) -> Index:
        right = other.text if isinstance(other, Index) else str(other)
        return Index(self.code, self.code.write(f"{operation} i64 {self.text}, {right}"))

    def __add__(self, other: Index | int) -> Index:
        return self._with("add", other)

    __radd__ = __add__

    def __mul__(self, other: Index | int) -> Index:
        return self._with("mul", other)


Place = Index | int


class Array:
    """Memory for some numbers of each member; indices are Python's or `Index`."""

    def __init__(self, code: Code, pointer: str, kind: type[Number] = Real, *, offset: int = 0, space: str = ""):
        self.code, self.pointer, self.kind, self.offset, self.space = code, pointer, kind, offset, space

    def behind(self, offset: int) -> Array:
        """The same from another place on."""
        return Array(self.code, self.pointer, self.kind, offset=self.offset + offset, space=self.space)

    def _address(self, place: Place) -> str:
        kind = self.code.target.of(self.kind.scalar)
        if isinstance(place, int) and not place + self.offset:
            return self.pointer
        if isinstance(place, Index):
            at = (place + self.offset if self.offset else place).text
        else:
            at = str(place + self.offset)
        return self.code.write(f"getelementptr inbounds {kind}, ptr{self.space} {self.pointer}, i64 {at}")

    @property
    def address(self) -> str:
        """Of its first number, for calls."""
        return self._address(0)

    def __getitem__(self, place: Place) -> Any:
        kind = self.code.target.of(self.kind.scalar)
        return self.kind(self.code, self.code.write(f"load {kind}, ptr{self.space} {self._address(place)}"))

    def put(self, place: Place, value: Any) -> None:
        """For all members, also those that the code around does not concern."""
        value, address = self.code.as_kind(self.kind, value), self._address(place)
        self.code.line(f"store {self.code.target.of(self.kind.scalar)} {value.text}, ptr{self.space} {address}")

    def __setitem__(self, place: Place, value: Any) -> None:
        """For the members that the code around concerns."""
        code = self.code
        value = code.as_kind(self.kind, value)
        if code.mask is not None and code.target.width > 1:
            value = code.select(code.mask, value, self[place])
        self.put(place, value)


class Rows:
    """A matrix of numbers of each member."""

    def __init__(self, array: Array, width: int):
        self._array, self._width = array, width

    def _place(self, i: Place, k: Place) -> Place:
        return i * self._width + k

    def get(self, i: Place, k: Place) -> Any:
        return self._array[self._place(i, k)]

    def put(self, i: Place, k: Place, value: Any) -> None:
        self._array.put(self._place(i, k), value)


class Variable:
    """One number of each member that changes."""

    def __init__(self, array: Array):
        self._array = array

    def get(self) -> Any:
        return self._array[0]

    def set(self, value: Any) -> None:
        """For the members that the code around concerns."""
        self._array[0] = value

    def put(self, value: Any) -> None:
        """For all members."""
        self._array.put(0, value)
