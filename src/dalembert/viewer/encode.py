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

#: largest whole number of a channel
NARROW, WIDE = 32767, 2**30


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

    def table(self, t: np.ndarray, channels: list[Channel]) -> int:
        """Channels over common times; returns the number of the table."""
        parts, described = [np.asarray(t, "<f8").tobytes()], []
        for channel in channels:
            offset, step, wide, whole = quantized(channel)
            described.append([offset, step, int(wide)])
            if step:
                differences = np.diff(whole, prepend=0)
                if wide:  # the upper halves of differences are mostly equal: they stand together
                    both = differences.astype("<i4").view("<u2").reshape(-1, 2)
                    parts += [both[:, 0].tobytes(), both[:, 1].tobytes()]
                else:
                    parts.append(differences.astype("<i2").tobytes())
        self._parts += parts
        self._tables.append({"n": len(t), "channels": described})
        return len(self._tables) - 1

    def array(self, whole: np.ndarray) -> int:
        """Whole numbers of 16 bits; returns the number of the array."""
        self._whole.append(np.asarray(whole, "<i2").ravel().tobytes())
        self._arrays.append(int(np.size(whole)))
        return len(self._arrays) - 1

    def described(self) -> dict[str, Any]:
        """For a page: what there is, and the bytes as text."""
        packed = zlib.compress(b"".join([*self._parts, *self._whole]), 9)
        return {"tables": self._tables, "arrays": self._arrays, "bytes": base64.b64encode(packed).decode()}


def quantized(channel: Channel) -> tuple[float, float, bool, np.ndarray]:
    """Offset, step, whether it is wide, and whole numbers; the step of a constant is 0."""
    values = np.asarray(channel.values, float)
    low, high = float(values.min()), float(values.max())
    offset, half = low / 2 + high / 2, high / 2 - low / 2
    if not half > 1e-14 * max(abs(low), abs(high)):
        return float(values[0]), 0.0, False, np.zeros(0, int)
    wide = bool(0 < channel.fine < half / NARROW)
    step = half / (WIDE if wide else NARROW)
    return offset, step, wide, np.rint((values - offset) / step).astype(np.int64)


def unpacked(described: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables, as a page reads them: for tests, and to look into files."""
    raw, at, found = zlib.decompress(base64.b64decode(described["bytes"])), 0, []
    for table in described["tables"]:
        n = table["n"]
        t = np.frombuffer(raw, "<f8", n, at)
        at += 8 * n
        channels = []
        for offset, step, wide in table["channels"]:
            if not step:
                channels.append(np.full(n, offset))
                continue
            low = np.frombuffer(raw, "<u2", n, at)
            at += 2 * n
            if wide:
                high = np.frombuffer(raw, "<u2", n, at)
                at += 2 * n
                differences = (high.astype(np.uint32) << 16 | low).view(np.int32).astype(np.int64)
                whole = np.cumsum(differences)
            else:
                whole = np.cumsum(low.astype(np.uint16), dtype=np.uint16).view(np.int16)
            channels.append(offset + step * whole)
        found.append({"t": t, "channels": channels})
    return found
