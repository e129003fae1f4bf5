"""Steps on the disk instead of in the memory: a folder of plain files to which a simulation appends.

Beside ``run.h5`` stands ``run.h5.steps`` with

====================  ================================================================================================
``t``                 ends of the steps, the start being the first: one little-endian number of 8 bytes after another
``h``                 their sizes, 0 for the start
``c``*rows*           polynomials, rows × n numbers for each step; the first n of them are the state at its end
``sums``*rows*        for each block that was written: how many steps there are with it (8 bytes), and the SHA-256 hash
                      of its parts of the three files
====================  ================================================================================================

How many steps count, and a hash over the sums, stand in ``run.h5``, which is replaced as a whole: what was appended
later belongs to nobody until then. Files are never shortened, since results that were loaded look into them; a
simulation that goes on writes the same numbers to the same places once more. If a method with more rows takes over,
the polynomials are copied into a wider file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from dalembert import file_locks
from dalembert.errors import FileError
from dalembert.solution import files
from dalembert.solution.trajectory import in_order

ENDING = ".steps"
NUMBER = np.dtype("<f8")
COUNT, HASH = 8, 32
#: bytes that are written at once, and read at once when they are checked
BLOCK = 1 << 22
OURS = re.compile(r"t|h|(c|sums)\d+")


@dataclass(frozen=True)
class Extent:
    """How much of a folder belongs to a result."""

    steps: int
    rows: int
    n: int
    sums: str  # a hash over them

    @classmethod
    def from_dict(cls, description: Any) -> Extent:
        """Raises ValueError, KeyError or TypeError if it is none."""
        numbers = [description[name] for name in ("steps", "rows", "n")]
        if not all(type(number) is int and 0 <= number < 2**48 for number in numbers):
            raise ValueError(f"steps of sizes {numbers}")
        return cls(*numbers, str(description["sums"]))


def folder_of(path: Path) -> Path:
    """The folder that belongs to a result file."""
    return path.with_name(path.name + ENDING)


def _names(rows: int) -> tuple[str, str, str, str]:
    return "t", "h", f"c{rows}", f"sums{rows}"


class Spool:
    """A folder to which steps are appended. Whoever has it has it alone, until `close`."""

    def __init__(self, path: Path, n: int, extent: Extent | None = None, steps: int = 0):
        """For a result file and states of n numbers: anew, or behind the first `steps` of those that it has already."""
        self.folder, self.n = folder_of(path), n
        self._waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._files: dict[str, IO[bytes]] = {}
        self.rows = 0 if extent is None else extent.rows
        with self._errors():
            self.folder.mkdir(exist_ok=True)
            self._lock = self._locked()
        try:
            with self._errors():
                if extent is None:
                    self._remove_others(keep=0)
                    self._written, self._sums = 0, hashlib.sha256()
                else:
                    self._go_on(extent, steps)
        except BaseException:
            self.close()
            raise

    def _locked(self) -> int:
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        free = True
        with contextlib.suppress(OSError):  # a file system without locks
            free = file_locks.try_lock(descriptor, inherited=True)
        if not free:
            os.close(descriptor)
            raise FileError(f"'{self.folder}' is in use: another process is at work on this simulation", self.folder)
        return descriptor

    def _go_on(self, extent: Extent, steps: int) -> None:
        sums = self.folder / _names(self.rows)[3]
        known = sums.read_bytes()[: _length_of_sums(self.folder, extent)]
        self._written, length = 0, 0
        while length < len(known) and (upto := int.from_bytes(known[length : length + COUNT], "little")) <= steps + 1:
            self._written, length = upto, length + COUNT + HASH
        self._sums = hashlib.sha256(known[:length])
        self._open()
        for name, file in self._files.items():
            file.seek(length if file is self._files[sums.name] else self._written * self._width(name))
        self._files[sums.name].truncate()
        if self._written <= steps:  # a block reaches beyond: its first steps are one of their own
            part = slice(self._written, steps + 1)
            there = Steps(self.folder, extent)
            self._write(there.t[part], there.h[part], there.c[part])

    def _open(self) -> None:
        """The files of this number of rows, for writing; what they hold stays."""
        for name in _names(self.rows):
            if name not in self._files:
                descriptor = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
                self._files[name] = os.fdopen(descriptor, "r+b", buffering=0)

    def _width(self, name: str) -> int:
        """Bytes of a step in a file."""
        return NUMBER.itemsize * (self.rows * self.n if name.startswith("c") else 1)

    # -- writing ---------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Those that it has, besides the start."""
        return self._written + sum(len(t) for t, _, _ in self._waiting) - 1

    def begin(self, t: float, x: np.ndarray) -> None:
        """The start."""
        self.append(np.array([t]), np.zeros(1), x[None, None])

    def append(self, t: np.ndarray, h: np.ndarray, c: np.ndarray) -> None:
        """Steps: ends, sizes, polynomials of shape (steps, rows, n). FileError if they cannot be written."""
        if len(t):
            self._waiting.append((t.copy(), h.copy(), np.array(c)))
        if sum(c.nbytes for _, _, c in self._waiting) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Let the files have everything."""
        with self._errors():
            if not self._waiting:
                return
            rows = max(c.shape[1] for _, _, c in self._waiting)
            if rows > self.rows:
                self._widen(rows)
            t, h = (np.concatenate(parts) for parts in list(zip(*self._waiting, strict=True))[:2])
            polynomials = np.zeros((len(t), self.rows, self.n))
            first = 0
            for _, _, c in self._waiting:
                polynomials[first : first + len(c), : c.shape[1]] = c
                first += len(c)
            self._write(t, h, polynomials)
            self._waiting.clear()

    def _write(self, *parts: np.ndarray) -> None:
        *names, sums = _names(self.rows)
        digest, before = hashlib.sha256(), {name: self._files[name].tell() for name in (*names, sums)}
        try:
            for name, part in zip(names, parts, strict=True):
                data = np.ascontiguousarray(part, NUMBER).reshape(-1).view(np.uint8).data
                files.write_all(self._files[name].fileno(), data, digest.update)
            record = (self._written + len(parts[0])).to_bytes(COUNT, "little") + digest.digest()
            files.write_all(self._files[sums].fileno(), record, lambda _: None)
        except OSError:  # a full disk, say: as if nothing had been tried
            for name, place in before.items():
                self._files[name].seek(place)
            raise
        self._sums.update(record)
        self._written += len(parts[0])

    def _widen(self, rows: int) -> None:
        """Go on in files with more rows: those that there are get zeros."""
        before, had = self.rows, self._written
        old = None if not had else self._map(self.folder / _names(before)[2], had, before)
        for name in [name for name in self._files if name[0] in "cs"]:
            self._files.pop(name).close()
        self.rows, self._written, self._sums = rows, 0, hashlib.sha256()
        self._open()
        for name, file in self._files.items():
            file.seek(0)
            if name.startswith("sums"):
                file.truncate()
        if old is None:
            return
        t, h = (self._map(self.folder / name, had) for name in "th")
        at_once = max(1, BLOCK // self._width("c"))
        for first in range(0, had, at_once):
            part = slice(first, min(first + at_once, had))
            c = np.zeros((part.stop - first, rows, self.n))
            c[:, :before] = old[part]
            self._write(t[part], h[part], c)

    def _map(self, path: Path, count: int, rows: int = 0) -> np.ndarray:
        return _mapped(path, (count, rows, self.n) if rows else (count,))

    def give_up(self) -> None:
        """What is not written yet never will be."""
        self._waiting.clear()

    def content(self) -> Steps:
        """What there is now, safely on the disk."""
        self.flush()
        with self._errors():
            for file in self._files.values():
                os.fsync(file.fileno())
            return Steps(self.folder, Extent(self._written - 1, self.rows, self.n, self._sums.hexdigest()))

    def saved(self) -> None:
        """The result file speaks of the files as they are: others are not needed any more."""
        self._remove_others(keep=self.rows)

    def _remove_others(self, keep: int) -> None:
        names = _names(keep) if keep else ()
        with os.scandir(self.folder) as entries:
            others = [entry.path for entry in entries if OURS.fullmatch(entry.name) and entry.name not in names]
        for path in others:
            with contextlib.suppress(OSError):  # a result that is looked at, on systems that do not remove such files
                os.unlink(path)

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileError:
            raise
        except OSError as error:
            why = f"cannot write steps to '{self.folder}': {files.reason(error)}. Then the same call goes on"
            raise FileError(why, self.folder, error.errno) from error


# -- reading -----------------------------------------------------------------------------------------------------------


class Steps:
    """Steps of a folder as arrays that are read where somebody looks: `t`, `h` and `c`, the start being the first."""

    def __init__(self, folder: Path, extent: Extent):
        t, h, c, _ = _names(extent.rows)
        count = extent.steps + 1
        self.extent = extent
        self.t, self.h = _mapped(folder / t, (count,)), _mapped(folder / h, (count,))
        self.c = _mapped(folder / c, (count, extent.rows, extent.n))


def checked(path: Path, extent: Extent) -> Steps:
    """The steps of a result file, once it is known that they are as they were written; FileError if not."""
    folder = folder_of(path)
    try:
        _length_of_sums(folder, extent)
        _must_be_in_order(folder, extent)
        return Steps(folder, extent)
    except FileNotFoundError as error:
        gone = error.filename if folder.is_dir() else folder
        why = f"its steps, '{gone}', are missing. Copy them along, or simulate again"
        raise FileError(f"the result file '{path}' is not whole: {why}", path) from error
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read '{folder}': {files.reason(error)}", folder, error.errno) from error


def _length_of_sums(folder: Path, extent: Extent) -> int:
    """Bytes of the sums that belong to an extent, after everything has been compared with them."""
    *names, sums = _names(extent.rows)
    widths = [NUMBER.itemsize, NUMBER.itemsize, NUMBER.itemsize * extent.rows * extent.n]
    digest, done, length = hashlib.sha256(), 0, 0
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open(folder / name, "rb")) for name in (*names, sums)]
        while done < extent.steps + 1:
            record = opened[3].read(COUNT + HASH)
            upto = int.from_bytes(record[:COUNT], "little")
            if len(record) < COUNT + HASH or not done < upto <= extent.steps + 1:
                raise _damaged(folder, f"{sums} does not fit")
            own = hashlib.sha256()
            for file, width in zip(opened[:3], widths, strict=True):
                _pass_on(file, (upto - done) * width, own, folder)
            if own.digest() != record[COUNT:]:
                raise _damaged(folder, f"the checksum of steps {done} to {upto - 1} differs")
            digest.update(record)
            done, length = upto, length + len(record)
    if digest.hexdigest() != extent.sums:
        raise _damaged(folder, f"{sums} is not what the result file knows of")
    return length


def _must_be_in_order(folder: Path, extent: Extent) -> None:
    """What is forged has the right checksums, too. Files are read, not looked into: that would count as memory."""
    at_once = BLOCK // NUMBER.itemsize
    with open(folder / "t", "rb") as times, open(folder / "h", "rb") as sizes:
        before, direction = np.fromfile(times, NUMBER, 1), 1.0
        sizes.seek(NUMBER.itemsize)
        for first in range(0, extent.steps, at_once):
            count = min(at_once, extent.steps - first)
            t, h = (np.fromfile(file, NUMBER, count) for file in (times, sizes))
            if first == 0:
                direction = float(np.sign(h[0]))
            if not in_order(np.concatenate([before, t]), h, direction):
                raise _damaged(folder, "times are not in order")
            before = t[-1:]


def _pass_on(file: IO[bytes], count: int, digest: Any, folder: Path) -> None:
    while count:
        data = file.read(min(count, BLOCK))
        if not data:
            raise _damaged(folder, f"{os.path.basename(file.name)} is too short")
        digest.update(data)
        count -= len(data)


def _damaged(folder: Path, what: str) -> FileError:
    return FileError(f"the steps '{folder}' of a result are damaged: {what}. Take a copy, or simulate again", folder)


def _mapped(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """A file as an array that cannot be written to; what is looked at is read."""
    if not np.prod(shape):
        return np.zeros(shape)
    return np.asarray(np.memmap(path, NUMBER, "r", shape=shape))
