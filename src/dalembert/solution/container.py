"""A file of arrays and a description of them, with a checksum over everything; for other programs it is HDF5.

======================  ===============================================================================================
bytes 0 … 511           text, filled up with NUL: name and version of the format, length of the file, place and length
                        of the description, and the SHA-256 hash of those lines and of all bytes from 512 on
bytes 512 … the end     HDF5; bytes 0 … 511 are its user block. The arrays lie in it in one piece each; the dataset
                        `description` is a JSON text with their places, types and shapes, and everything else
======================  ===============================================================================================

HDF5 lays the file out in memory, without the arrays, and sees no disk: its library does not survive one that is full.
Reading takes the description and leaves HDF5 alone: its library can be led into endless loops by a damaged file, and a
checksum protects against damage, not against forgery.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FileError
from dalembert.solution import files

if TYPE_CHECKING:
    import h5py

FORMAT = "dalembert result"
#: raised whenever an older version of this module could not read the file correctly; 1 had no checksum
FORMAT_VERSION = 2
#: bytes before HDF5
HEADER = 512
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
#: of arrays: little-endian numbers
TYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")
#: of the memory in which HDF5 lays out a file
PAGE = 4096
DESCRIPTION = "description"
REMEDY = "Take a copy of it, or simulate again"


class Reference(dict):
    """Stands for an array in a description."""

    def __init__(self, path: str):
        super().__init__(dataset=path)


# -- writing -----------------------------------------------------------------------------------------------------------


def write(
    path: Path, description: Mapping[str, Any], arrays: Mapping[str, np.ndarray], labels: Mapping[str, Sequence[str]]
) -> None:
    """Put a new file in the place of `path`, or leave the old one as it is.

    Parameters
    ----------
    path : Path
    description : mapping
        For JSON, with `Reference`s to arrays.
    arrays : mapping of HDF5 paths to arrays
    labels : mapping of HDF5 paths to texts
        For other programs only.
    """
    arrays = {name: _plain(array) for name, array in arrays.items()}
    image, pieces, place = _lay_out(description, arrays, labels)
    fields = _fields(image.size, *place)

    def fill(descriptor: int) -> None:
        digest = hashlib.sha256(fields)
        # without a header until all is written: a part of a file can never be taken for the whole
        files.write_all(descriptor, bytes(HEADER), lambda _: None)
        at = HEADER
        for offset, data in [*sorted(pieces.items()), (image.size, b"")]:
            files.write_all(descriptor, image.between(at, offset), digest.update)
            files.write_all(descriptor, data, digest.update)
            at = offset + len(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        files.write_all(descriptor, _header(fields, digest.hexdigest()), lambda _: None)

    files.replace(path, fill)


def _plain(array: np.ndarray) -> np.ndarray:
    """In one piece, little-endian."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _lay_out(
    description: Mapping[str, Any], arrays: Mapping[str, np.ndarray], labels: Mapping[str, Sequence[str]]
) -> tuple[Image, dict[int, memoryview], tuple[int, int]]:
    """The file without its arrays; the bytes of the arrays by their places; place and length of the description."""
    import h5py

    image, pieces, table = Image(), {}, {}
    with h5py.File(image, "w", userblock_size=HEADER) as file:
        file.attrs["format"], file.attrs["format_version"] = FORMAT, FORMAT_VERSION
        file.attrs["dalembert_version"] = _package_version()
        for name, texts in labels.items():
            readable = np.array([_readable(text) for text in texts], object)
            file.create_dataset(name, data=readable, shape=(len(texts),), dtype=h5py.string_dtype())
        for name, array in arrays.items():
            offset = _reserve(file, name, array) if array.nbytes else HEADER
            table[name] = {"type": array.dtype.str, "shape": array.shape, "offset": offset}
            if array.nbytes:
                pieces[offset] = array.reshape(-1).view(np.uint8).data
            else:  # HDF5 gives it no place
                file.create_dataset(name, array.shape, array.dtype)
        text = json.dumps({"arrays": table, **description}, default=_item).encode("ascii")
        offset = _reserve(file, DESCRIPTION, np.array(text))
        pieces[offset] = memoryview(text)
    return image, pieces, (offset, len(text))


def _reserve(file: h5py.File, name: str, array: np.ndarray) -> int:
    """A dataset without values; returns where in the file these belong."""
    from h5py import h5d, h5p, h5s, h5t

    above, _, own = name.rpartition("/")
    group = file.require_group(above) if above else file
    how = h5p.create(h5p.DATASET_CREATE)
    how.set_layout(h5d.CONTIGUOUS)
    how.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5d.FILL_TIME_NEVER)
    how.set_obj_track_times(False)  # equal results give equal files
    space = h5s.create_simple(array.shape) if array.shape else h5s.create(h5s.SCALAR)
    return h5d.create(group.id, own.encode(), h5t.py_create(array.dtype, logical=True), space, how).get_offset()


def _item(value: Any) -> Any:
    """For JSON: numbers of NumPy as those of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a description cannot hold {type(value).__name__}")


def _readable(text: str) -> str:
    """A text that HDF5 can hold: no NUL, nothing that UTF-8 has not."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _fields(length: int, offset: int, size: int) -> bytes:
    return f"{FORMAT}\nformat {FORMAT_VERSION}\nlength {length}\ndescription {offset} {size}\n".encode("ascii")


def _header(fields: bytes, digest: str) -> bytes:
    return (fields + f"sha256 {digest}\n".encode("ascii")).ljust(HEADER, b"\0")


def _package_version() -> str:
    try:
        return importlib.metadata.version("dalembert")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


class Image(io.RawIOBase):
    """A file in memory that has pages only where something was written."""

    def __init__(self):
        self.size, self._at = 0, 0
        self._pages: dict[int, bytearray] = {}

    def seekable(self) -> bool:
        return True

    readable = writable = seekable

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def truncate(self, size: int | None = None) -> int:
        self.size = self._at if size is None else size
        return self.size

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        for page, first, part in self._parts(self._at, len(view)):
            self._pages.setdefault(page, bytearray(PAGE))[first : first + part.stop - part.start] = view[part]
        self._at += len(view)
        self.size = max(self.size, self._at)
        return len(view)

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        view[:] = self.between(self._at, self._at + len(view))
        self._at += len(view)
        return len(view)

    def between(self, start: int, stop: int) -> bytes:
        """Bytes, zero where nothing was written."""
        data = bytearray(stop - start)
        for page, first, part in self._parts(start, stop - start):
            if page in self._pages:
                data[part] = self._pages[page][first : first + part.stop - part.start]
        return bytes(data)

    @staticmethod
    def _parts(start: int, length: int) -> list[tuple[int, int, slice]]:
        """Pages, where in them a range begins, and which part of the range that is."""
        parts, done = [], 0
        while done < length:
            page, first = divmod(start + done, PAGE)
            count = min(PAGE - first, length - done)
            parts.append((page, first, slice(done, done + count)))
            done += count
        return parts


# -- reading -----------------------------------------------------------------------------------------------------------


class Content:
    """What a file holds, if it is what was written: `description`, and the arrays that it refers to."""

    def __init__(self, path: Path):
        self._data = files.read(path)
        offset, size = _verified(path, self._data)
        self.description: dict[str, Any] = json.loads(self._data[offset : offset + size])
        if not isinstance(self.description, dict):
            raise ValueError("the description is no mapping")

    def array(self, reference: Any) -> np.ndarray:
        """The array that a reference stands for, in the memory into which the file was read."""
        name = reference["dataset"]
        entry = self.description["arrays"][name]
        kind, shape, offset = entry["type"], entry["shape"], entry["offset"]
        if kind not in TYPES or not all(type(number) is int and number >= 0 for number in (*shape, offset)):
            raise ValueError(f"'{name}' has type {kind}, shape {shape} and place {offset}")
        dtype = np.dtype(kind)
        count = math.prod(shape)
        if offset + count * dtype.itemsize > len(self._data):
            raise ValueError(f"'{name}' reaches beyond the end of the file")
        array = np.frombuffer(self._data, dtype, count, offset) if count else np.zeros(0, dtype)
        if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
            raise ValueError(f"'{name}' has values that are neither true nor false")
        # where numbers do not lie as the processor likes them, on a place of their own
        return np.require(array, dtype.newbyteorder("="), "A").reshape(shape)


def _verified(path: Path, data: bytearray) -> tuple[int, int]:
    """Place and length of the description, once it is known that the file is as it was written."""
    header = bytes(data[:HEADER])
    if not header.startswith(FORMAT.encode() + b"\n"):
        what = "its beginning is not that of one"
        if header.startswith(HDF5_SIGNATURE):
            what = (
                "it is an HDF5 file without a checksum, from another program or from a dalembert whose format had "
                "none; h5py can open it. Simulate again to get a file that can be verified"
            )
        raise FileError(f"'{path}' is not a result file of dalembert, or is damaged: {what}", path)
    version = re.match(rb"[^\n]*\nformat (\d{1,6})\n", header)
    if version is not None and int(version[1]) > FORMAT_VERSION:
        raise FileError(
            f"'{path}' has format version {int(version[1])}, and this dalembert reads versions up to {FORMAT_VERSION}. "
            "Install a newer one: pip install --upgrade dalembert",
            path,
        )
    lines = rb"[^\n]*\nformat \d{1,6}\nlength (\d{1,18})\ndescription (\d{1,18}) (\d{1,18})\nsha256 [0-9a-f]{64}\n\0*"
    found = re.fullmatch(lines, header)
    if found is None:
        raise damaged(path, "its header cannot be read")
    length, offset, size = (int(found[k]) for k in (1, 2, 3))
    if len(data) != length:
        kind = "truncated" if len(data) < length else "followed by something else"
        raise damaged(path, f"it is {kind}: {len(data)} bytes, where {length} were written")
    fields = _fields(length, offset, size)
    digest = hashlib.sha256(fields)
    digest.update(memoryview(data)[HEADER:])
    if header != _header(fields, digest.hexdigest()):
        raise damaged(path, "its checksum differs from the one it was written with")
    return offset, size


def damaged(path: Path, what: str) -> FileError:
    """The error for a file that is not what was written."""
    return FileError(f"the result file '{path}' is damaged: {what}. {REMEDY}", path)
