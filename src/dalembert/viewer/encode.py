"""Numbers of a page as few bytes: int16 differences in time, deflated, base64.

A channel is a function of time with an offset o and a step s: x_k = o + s q_k with whole numbers q_k, of which the
differences are stored. Neighbours in time are alike, so differences are small and compress well. Where 16 bits are not
fine enough, as for wheels that turn a thousand times, a channel is `wide` and has 32.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: largest whole number of a channel, and the number that stands for a gap
NARROW, WIDE = 32767, 2**30
GAP_NARROW, GAP_WIDE = -32768, -(2**31)
#: flags of a channel
IS_WIDE, HAS_GAPS = 1, 2
#: steps of wide channels are this much finer than asked for, so that somebody may zoom in
FINER = 8
#: bytes beyond which time counts more than size
LARGE = 4_000_000
#: of the times of a curve, as a part of all of them
FINE_TIME = 1e-6


@dataclass(frozen=True)
class Channel:
    """Values over time, and how fine they must be."""

    values: np.ndarray
    fine: float = 0.0  # the largest step that nobody sees; 0: whatever fits


@dataclass
class Packer:
    """Collects arrays; `described` gives what a page needs to find them again.

    Examples
    --------
    >>> packer = Packer()
    >>> packer.table(np.array([0.0, 1.0]), [Channel(np.array([2.0, 3.0]))])
    0
    >>> unpacked(packer.described())[0]["channels"][0].tolist()
    [2.0, 3.0]
    """

    _parts: list[bytes] = field(default_factory=list)
    _tables: list[dict[str, Any]] = field(default_factory=list)
    _arrays: list[int] = field(default_factory=list)
    _whole: list[bytes] = field(default_factory=list)
    _text: bytes = b""

    def table(self, t: np.ndarray, channels: list[Channel]) -> int:
        """Channels over common times, which are kept as they are; returns the number of the table."""
        self._parts.append(np.asarray(t, "<f8").tobytes())
        self._tables.append({"n": len(t), "channels": [self._packed(channel) for channel in channels]})
        return len(self._tables) - 1

    def curve(self, t: np.ndarray, channels: list[Channel]) -> int:
        """The same for pictures of curves: times need not be finer than anybody can see."""
        time = self._packed(Channel(t, float(np.ptp(t)) * FINE_TIME))
        self._tables.append({"n": len(t), "time": time, "channels": [self._packed(channel) for channel in channels]})
        return len(self._tables) - 1

    def _packed(self, channel: Channel) -> list[Any]:
        """Offset, step, and flags; the bytes go to the others."""
        offset, step, flags, whole = quantized(channel)
        if step:
            differences = np.diff(whole, prepend=0)
            if flags & IS_WIDE:  # the upper halves of differences are mostly equal: they stand together
                both = differences.astype("<i4").view("<u2").reshape(-1, 2)
                self._parts += [both[:, 0].tobytes(), both[:, 1].tobytes()]
            else:
                self._parts.append(differences.astype("<i2").tobytes())
        return [offset, step, flags]

    def array(self, whole: np.ndarray) -> int:
        """Whole numbers of 16 bits; returns the number of the array."""
        self._whole.append(np.asarray(whole, "<i2").ravel().tobytes())
        self._arrays.append(int(np.size(whole)))
        return len(self._arrays) - 1

    def text(self, text: str) -> None:
        """A text that belongs to the numbers; there can be one."""
        self._text = text.encode("utf-8", "replace")  # halves of characters are none

    def described(self) -> dict[str, Any]:
        """For a page: what there is, and the bytes as text."""
        whole = b"".join([*self._parts, *self._whole, self._text])
        packed = zlib.compress(whole, 9 if len(whole) < LARGE else 5)
        found = {"tables": self._tables, "arrays": self._arrays, "bytes": base64.b64encode(packed).decode()}
        return found | ({"text": len(self._text)} if self._text else {})


def quantized(channel: Channel) -> tuple[float, float, int, np.ndarray]:
    """Offset, step, flags, and whole numbers; the step of a constant is 0. What is no number is a gap."""
    values = np.asarray(channel.values, float)
    finite = np.isfinite(values)
    if not finite.any():
        return 0.0, 0.0, HAS_GAPS, np.zeros(0, int)
    low, high = float(values[finite].min()), float(values[finite].max())
    offset, half = low / 2 + high / 2, high / 2 - low / 2
    whole = finite.all()
    if whole and not half > 1e-14 * max(abs(low), abs(high)):
        return float(values[0]), 0.0, 0, np.zeros(0, int)
    wide = bool(0 < channel.fine < half / NARROW)
    step = (max(half / WIDE, channel.fine / FINER) if wide else half / NARROW) or 1.0
    if whole:
        return offset, step, IS_WIDE * wide, np.rint((values - offset) / step).astype(np.int64)
    filled = np.rint((np.where(finite, values, offset) - offset) / step).astype(np.int64)
    gap = GAP_WIDE if wide else GAP_NARROW
    return offset, step, IS_WIDE * wide | HAS_GAPS, np.where(finite, filled, gap)


def unpacked(described: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables, as a page reads them: for tests, and to look into files."""
    raw, at, found = zlib.decompress(base64.b64decode(described["bytes"])), 0, []

    def take(kind: str, count: int) -> np.ndarray:
        nonlocal at
        part = np.frombuffer(raw, kind, count, at)
        at += part.nbytes
        return part

    def channel(n: int, offset: float, step: float, flags: int) -> np.ndarray:
        if not step:
            return np.full(n, np.nan if flags & HAS_GAPS else offset)
        if flags & IS_WIDE:
            low, high = take("<u2", n), take("<u2", n)
            whole = np.cumsum((high.astype(np.uint32) << 16 | low), dtype=np.uint32).view(np.int32)
        else:
            whole = np.cumsum(take("<u2", n), dtype=np.uint16).view(np.int16)
        gaps = whole == (GAP_WIDE if flags & IS_WIDE else GAP_NARROW)
        return np.where(gaps, np.nan, offset + step * whole) if flags & HAS_GAPS else offset + step * whole

    for table in described["tables"]:
        n = table["n"]
        t = channel(n, *table["time"]) if "time" in table else take("<f8", n)
        found.append({"t": t, "channels": [channel(n, *one) for one in table["channels"]]})
    return found
