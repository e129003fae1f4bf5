"""Many arrays copied at once by machine code, so that threads that copy do not wait for Python's lock.

What is copied are columns: numbers first … last − 1 of each of some rows, from wherever they stand one after the other,
at any distance, to where they stand side by side.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.compile.generated.host import compile_text

#: bytes of memory that the system gives at once, at least
PAGE = 4096
#: of a row: where its numbers come from, how many bytes lie between two of them, where they go, how many bytes each has
FIELDS = 4

# llvm's own memcpy is the C library's, which knows the processor; distances of other than a number's size are doubles'
_TEXT = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @copy(ptr %rows, i64 %count, i64 %first, i64 %last) {{
top:
 br label %head
head:
 %k = phi i64 [ 0, %top ], [ %following, %behind ]
 %goes_on = icmp slt i64 %k, %count
 br i1 %goes_on, label %row, label %over
row:
 %at = mul i64 %k, {FIELDS}
 %entry = getelementptr i64, ptr %rows, i64 %at
 %source_number = load i64, ptr %entry
 %entry_1 = getelementptr i64, ptr %entry, i64 1
 %distance = load i64, ptr %entry_1
 %entry_2 = getelementptr i64, ptr %entry, i64 2
 %target_number = load i64, ptr %entry_2
 %entry_3 = getelementptr i64, ptr %entry, i64 3
 %size = load i64, ptr %entry_3
 %source_offset = mul i64 %first, %distance
 %target_offset = mul i64 %first, %size
 %source_begin = add i64 %source_number, %source_offset
 %target_begin = add i64 %target_number, %target_offset
 %source = inttoptr i64 %source_begin to ptr
 %target = inttoptr i64 %target_begin to ptr
 %n = sub i64 %last, %first
 %side_by_side = icmp eq i64 %distance, %size
 br i1 %side_by_side, label %whole, label %next
whole:
 %bytes = mul i64 %n, %size
 call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
 br label %behind
next:
 %i = phi i64 [ 0, %row ], [ %i_1, %one ]
 %inside = icmp slt i64 %i, %n
 br i1 %inside, label %one, label %behind
one:
 %offset = mul i64 %i, %distance
 %place = getelementptr i8, ptr %source, i64 %offset
 %value = load double, ptr %place, align 1
 %goal = getelementptr double, ptr %target, i64 %i
 store double %value, ptr %goal, align 8
 %i_1 = add i64 %i, 1
 br label %next
behind:
 %following = add i64 %k, 1
 br label %head
over:
 ret void
}}

define void @touch(ptr %rows, i64 %count, i64 %first, i64 %last) {{
top:
 br label %head
head:
 %k = phi i64 [ 0, %top ], [ %following, %behind ]
 %goes_on = icmp slt i64 %k, %count
 br i1 %goes_on, label %row, label %over
row:
 %at = mul i64 %k, {FIELDS}
 %at_2 = add i64 %at, 2
 %entry = getelementptr i64, ptr %rows, i64 %at_2
 %number = load i64, ptr %entry
 %entry_1 = getelementptr i64, ptr %entry, i64 1
 %size = load i64, ptr %entry_1
 %offset = mul i64 %first, %size
 %begin = add i64 %number, %offset
 %target = inttoptr i64 %begin to ptr
 %n = sub i64 %last, %first
 %bytes = mul i64 %n, %size
 br label %next
next:
 %i = phi i64 [ 0, %row ], [ %i_1, %one ]
 %inside = icmp slt i64 %i, %bytes
 br i1 %inside, label %one, label %behind
one:
 %place = getelementptr i8, ptr %target, i64 %i
 store i8 0, ptr %place
 %i_1 = add i64 %i, {PAGE}
 br label %next
behind:
 %following = add i64 %k, 1
 br label %head
over:
 ret void
}}
"""


class Copies:
    """Copies of rows, given as pairs (source, target) of arrays of one shape, whose last axis is along the rows.

    Targets stand side by side there, sources at any distance; if that is not the size of a number, these are doubles.

    Examples
    --------
    >>> table, columns = np.arange(12.0).reshape(4, 3), np.zeros((3, 4))
    >>> copies = Copies([(table.T, columns)])
    >>> copies.carry_out(1, 3)
    >>> columns
    array([[0., 3., 6., 0.],
           [0., 4., 7., 0.],
           [0., 5., 8., 0.]])
    """

    def __init__(self, pairs: Iterable[tuple[np.ndarray, np.ndarray]]):
        self._pairs = [pair for pair in pairs if pair[0].size]  # they live as long as their addresses are known here
        entries = [np.zeros((0, FIELDS), np.int64)]
        for source, target in self._pairs:
            begins = _rows(target)
            entry = np.empty((len(begins), FIELDS), np.int64)
            entry[:, 0], entry[:, 1] = _rows(source), source.strides[-1]
            entry[:, 2], entry[:, 3] = begins, target.itemsize
            entries.append(entry)
        self._entries, self._functions = np.concatenate(entries), _functions()

    def carry_out(self, first: int, last: int) -> None:
        """For the numbers first … last − 1 of all rows. Other threads work meanwhile."""
        self._run("copy", first, last)

    def make_room(self, first: int, last: int) -> None:
        """Have the system give the memory of these numbers, which it does when they are first written to: what was
        there may be lost."""
        self._run("touch", first, last)

    def _run(self, name: str, first: int, last: int) -> None:
        self._functions[name](_address(self._entries), len(self._entries), first, last)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _rows(array: np.ndarray) -> np.ndarray:
    """Where they begin."""
    places = np.array(_address(array))
    for size, stride in zip(array.shape[:-1], array.strides[:-1], strict=True):
        places = np.add.outer(places, stride * np.arange(size))
    return places.ravel()


@functools.cache
def _functions() -> dict[str, Any]:
    names, word = ("copy", "touch"), ctypes.c_int64
    code = compile_text(_TEXT, names)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, word, word, word)
    return {name: kind(code.addresses[name]) for name in names} | {"code": code}  # it must live as long as they do
