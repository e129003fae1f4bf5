"""What a study has found so far, on the disk as soon as it is known.

A journal is a file to which records are appended. Whenever the process is killed, all records but perhaps the last are
whole; a checksum tells. When the study ends, everything goes into one file of `solution.container`, which is HDF5 for
others, and the journal goes.

=================  ==============================================================
4 + 8 + 32 bytes   ``DSJ1``, the length of the content, its SHA-256 hash
content            a length (4 bytes), JSON of this length, the bytes of arrays
=================  ==============================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import file_locks
from dalembert.errors import FileError
from dalembert.solution import files
from dalembert.solution.container import TYPES

MAGIC = b"DSJ1"
HEAD = len(MAGIC) + 8 + 32
#: seconds after which what was appended is forced to the disk, for computers that lose power
SYNC = 5.0


def encoded(entry: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """A record."""
    plain = {name: np.asarray(a, a.dtype.newbyteorder("<"), order="C") for name, a in arrays.items()}
    table = [[name, a.dtype.str, list(a.shape)] for name, a in plain.items()]
    text = json.dumps({**entry, "arrays": table}).encode()
    content = b"".join([len(text).to_bytes(4, "little"), text, *(a.tobytes() for a in plain.values())])
    return b"".join([MAGIC, len(content).to_bytes(8, "little"), hashlib.sha256(content).digest(), content])


def records(data: bytes | bytearray, path: Path) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray], int]]:
    """Entries, their arrays, and where each record ends. The last record may be a part of one: it is left out.

    Raises FileError if anything else is not as it was written.
    """
    at = 0
    while at < len(data):
        head, rest = bytes(data[at : at + HEAD]), len(data) - at - HEAD
        if head[: len(MAGIC)] != MAGIC[: len(head)]:
            raise _damaged(path, f"there is something else at byte {at}")
        length = int.from_bytes(head[len(MAGIC) : len(MAGIC) + 8], "little")
        if rest < 0 or length > rest:
            _must_be_the_last(data, at, path)
            return
        content = bytes(data[at + HEAD : at + HEAD + length])
        if hashlib.sha256(content).digest() != head[-32:]:
            if length == rest:  # the last one, of which not all has reached the disk
                return
            raise _damaged(path, f"the checksum of the record at byte {at} differs")
        at += HEAD + length
        yield *_decoded(content, path), at


def _must_be_the_last(data: bytes | bytearray, at: int, path: Path) -> None:
    """A part of a record at the end is what a killed process leaves; one with whole records behind it is damaged."""
    later = at
    while (later := data.find(MAGIC, later + 1)) >= 0:
        length = int.from_bytes(data[later + len(MAGIC) : later + len(MAGIC) + 8], "little")
        content = bytes(data[later + HEAD : later + HEAD + length])
        if len(content) == length and hashlib.sha256(content).digest() == bytes(data[later + HEAD - 32 : later + HEAD]):
            raise _damaged(path, f"the record at byte {at} is not whole")


def _decoded(content: bytes, path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        size = int.from_bytes(content[:4], "little")
        entry = json.loads(content[4 : 4 + size])
        arrays, at = {}, 4 + size
        for name, kind, shape in entry.pop("arrays"):
            if kind not in TYPES or not all(type(n) is int and n >= 0 for n in shape):
                raise ValueError(f"an array of type {kind} and shape {shape}")
            count = math.prod(shape)
            values = np.frombuffer(content, np.dtype(kind), count, at) if count else np.zeros(0, kind)
            arrays[str(name)] = values.reshape(shape).astype(np.dtype(kind).newbyteorder("="))
            at += values.nbytes
        return entry, arrays
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise _damaged(path, f"a record cannot be read ({type(error).__name__}: {error})") from error


def _damaged(path: Path, what: str) -> FileError:
    return FileError(
        f"the journal '{path}' of a study is damaged: {what}. Delete it; only what it holds is computed again", path
    )


class Journal:
    """A journal that is open for appending; whoever has it has it alone."""

    def __init__(self, path: Path):
        self.path = path
        while True:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
            try:
                locked = file_locks.try_lock(self._file, inherited=True)
            except OSError:  # a file system without locks
                break
            # the one who had it may have removed it meanwhile, at the end of its study
            if locked and os.fstat(self._file).st_nlink:
                break
            os.close(self._file)
            if not locked:
                raise FileError(f"'{path}' is in use: another process is at work on this study", path)

    def read(self) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """All whole records. What comes after them is removed."""
        found = list(records(files.read(self.path), self.path))
        os.ftruncate(self._file, found[-1][2] if found else 0)
        return [(entry, arrays) for entry, arrays, _ in found]

    @property
    def empty(self) -> bool:
        return os.fstat(self._file).st_size == 0

    def append(self, entry: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        try:
            files.write_all(self._file, encoded(entry, arrays), lambda _: None)
        except OSError as error:
            raise FileError(f"cannot write '{self.path}': {files.reason(error)}", self.path, error.errno) from error

    def sync(self) -> None:
        os.fsync(self._file)

    def close(self, *, remove: bool = False) -> None:
        if remove and os.name != "nt":  # which does not remove what is open
            os.unlink(self.path)
        os.close(self._file)
        if remove and os.name == "nt":
            os.unlink(self.path)
