"""Words of 64 bits, known or open: on a graph, every bit is an expression that is 0 or 1."""

from __future__ import annotations

from typing import Any

import casadi as ca

_HALF, _FULL = 1 << 32, 1 << 64


class Word:
    """A known word."""

    def __init__(self, value: int):
        self.value = value % _FULL

    def left(self, n: int) -> Word:
        return Word(self.value << n)

    def right(self, n: int) -> Word:
        return Word(self.value >> n)

    def xor(self, other: Word) -> Word:
        return Word(self.value ^ other.value)

    def halves(self) -> tuple[Any, Any]:
        """The lower and the upper 32 bits, from 0 on."""
        return self.value % _HALF, self.value // _HALF


class OpenWord:
    """A word of the simulation: its bits, the lowest first, or its halves; whatever is missing is made when needed."""

    def __init__(self, bits: list[Any] | None = None, halves: tuple[Any, Any] | None = None):
        self._bits, self._halves = bits, halves

    @property
    def bits(self) -> list[Any]:
        if self._bits is None:
            self._bits = [bit for half in self._halves for bit in _bits(half)]
        return self._bits

    def halves(self) -> tuple[Any, Any]:
        if self._halves is None:
            self._halves = tuple(_number(self._bits[k : k + 32]) for k in (0, 32))
        return self._halves

    def left(self, n: int) -> OpenWord:
        return OpenWord([0] * n + self.bits[: 64 - n])

    def right(self, n: int) -> OpenWord:
        return OpenWord(self.bits[n:] + [0] * n)

    def xor(self, other: OpenWord) -> OpenWord:
        return OpenWord([_different(a, b) for a, b in zip(self.bits, other.bits, strict=True)])


def word(low: Any, high: Any) -> Any:
    """A word from two whole numbers of 32 bits with signs."""
    if isinstance(low, ca.SX) or isinstance(high, ca.SX):
        return OpenWord(halves=tuple(_unsigned(ca.SX(half)) for half in (low, high)))
    return Word(int(low) % _HALF + int(high) % _HALF * _HALF)


def total(a: Any, b: Any) -> Any:
    """a + b, without what is carried over."""
    if isinstance(a, Word):
        return Word(a.value + b.value)
    low = a.halves()[0] + b.halves()[0]
    high = a.halves()[1] + b.halves()[1] + ca.floor(low / _HALF)
    return OpenWord(halves=(_rest(low, _HALF), _rest(high, _HALF)))


def product(a: Any, factor: int) -> Any:
    """a times a number, without what is carried over: in pieces of 16 bits, whose products are exact."""
    if isinstance(a, Word):
        return Word(a.value * factor)
    pieces = [_number(a.bits[k : k + 16]) for k in (0, 16, 32, 48)]
    factors = [(factor >> k) & 0xFFFF for k in (0, 16, 32, 48)]
    found, carried = [], ca.SX(0)
    for k in range(4):
        column = sum((pieces[i] * factors[k - i] for i in range(k + 1)), carried)
        found.append(_rest(column, 1 << 16))
        carried = ca.floor(column / (1 << 16))
    return OpenWord(halves=(found[0] + 65536 * found[1], found[2] + 65536 * found[3]))


def signed(half: Any) -> Any:
    """A whole number with sign from 32 bits."""
    if isinstance(half, ca.SX):
        return half - _HALF * (half >= _HALF // 2)
    return half - _HALF if half >= _HALF // 2 else half


def real(a: Any) -> Any:
    """A word as a number between 0 and 1: its signed value in units of 2^-64, from 1/2 on."""
    low, high = a.halves()
    return (signed(high) * float(_HALF) + low) * 2.0**-64 + 0.5


def _unsigned(x: ca.SX) -> ca.SX:
    return x + _HALF * (x < 0)


def _rest(x: ca.SX, n: int) -> ca.SX:
    return x - n * ca.floor(x / n)


def _bits(half: ca.SX) -> list[Any]:
    found, rest = [], half
    for _ in range(32):
        above = ca.floor(rest / 2)
        found.append(rest - 2 * above)
        rest = above
    return found


def _number(bits: list[Any]) -> ca.SX:
    found = ca.SX(0)
    for k, bit in enumerate(bits):
        if isinstance(bit, ca.SX) or bit:
            found += bit * float(1 << k)
    return found


def _different(a: Any, b: Any) -> Any:
    if not isinstance(a, ca.SX) and not isinstance(b, ca.SX):
        return a ^ b
    if not isinstance(a, ca.SX):
        a, b = b, a
    if not isinstance(b, ca.SX):
        return 1 - a if b else a
    return a != b
