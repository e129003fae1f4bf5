"""Records by reference: one pointer in place of dozens of arrays.

numba passes a named tuple of arrays by value, seven numbers for each array and call. A linear algebra with fifty
arrays spends more time on that than on its work, and takes minutes to compile. Here the arrays' addresses stand in one
structured record that kernels receive by reference; device functions make views where they need them:

    X = mat(la.X, la.n_f, la.n)        nz = vec(la.nonzeros, la.n_nonzeros)        V = ivec(la.V, la.n_V)

Scalars are fields too, and can be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numba as nb
import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

ADDRESS, REAL, WHOLE = np.uint64, np.float64, np.int64


def layout(*, arrays: Iterable[str], reals: Iterable[str] = (), wholes: Iterable[str] = ()) -> np.dtype:
    """The structured type of a record with these fields."""
    fields = [(name, ADDRESS) for name in arrays]
    return np.dtype([*fields, *((name, REAL) for name in reals), *((name, WHOLE) for name in wholes)], align=True)


class Memory:
    """A record together with the arrays behind its addresses, in one piece of memory.

    `record` is an array of one element, for kernels to take. Values are arrays, other memories (records by reference)
    or scalars. `fresh` makes an independent copy: one copy of the piece, and all addresses moved.
    """

    # what stays alive with a record and its copies, or tells what it is for
    ports: Any
    leading_port: Any
    pattern: Any
    solver: Any
    tree: Any

    def __init__(self, dtype: np.dtype, values: Mapping[str, Any]):
        if set(values) != set(dtype.names):
            raise KeyError(f"fields differ: {sorted(set(values) ^ set(dtype.names))}")
        self.dtype = dtype
        self._scalars = {name: (kind.kind, offset // 8) for name, (kind, offset, *_) in dtype.fields.items()}
        self._arrays: dict[str, tuple[int, tuple[int, ...], np.dtype]] = {}
        self._members: dict[str, tuple[int, Memory]] = {}
        end = _aligned(dtype.itemsize)
        for name, value in values.items():
            if isinstance(value, Memory):
                self._members[name] = (end, value)
                end += _aligned(value._piece.nbytes)
            elif isinstance(value, np.ndarray):
                if not value.flags.c_contiguous:
                    raise TypeError(f"'{name}' must be C-ordered")
                self._arrays[name] = (end, value.shape, value.dtype)
                end += _aligned(value.nbytes)
        self._set_piece(np.zeros(end // 8, np.uint64))
        base = self.address
        pointers = []
        for name, (offset, _, _) in self._arrays.items():
            pointers.append(dtype.fields[name][1] // 8)
            self._piece[pointers[-1]] = base + offset
            getattr(self, name)[...] = values[name]
        for name, (offset, value) in self._members.items():
            pointers.append(dtype.fields[name][1] // 8)
            self._piece[pointers[-1]] = base + offset
            start, moved = offset // 8, value._piece.copy()
            moved[value._pointers] += _shift(base + offset, value.address)
            self._piece[start : start + len(moved)] = moved
            pointers.extend(start + value._pointers)
        self.set(**{name: values[name] for name in set(dtype.names) - set(self._arrays) - set(self._members)})
        self._pointers = np.array(sorted(pointers), dtype=np.int64)

    def _set_piece(self, piece: np.ndarray) -> None:
        """Live in this memory. Views of it are made at their first use, and kept."""
        self._piece, self.address = piece, piece.ctypes.data
        self._words = {"u": piece, "f": piece.view(REAL), "i": piece.view(WHOLE)}
        for name in (*self._arrays, *self._members):
            self.__dict__.pop(name, None)

    @property
    def memory(self) -> np.ndarray:
        """All of it, as words."""
        return self._piece

    @property
    def record(self) -> np.ndarray:
        return np.ndarray((1,), self.dtype, self._piece)

    def _in(self, piece: np.ndarray) -> Memory:
        """A record like this one in another piece of memory, which holds its contents."""
        twin = Memory.__new__(Memory)
        twin.__dict__.update(self.__dict__)
        twin._set_piece(piece)
        return twin

    def fresh(self) -> Memory:
        """A second record with arrays of its own, for another run."""
        twin = self._in(self._piece.copy())
        twin._piece[self._pointers] += _shift(twin.address, self.address)
        return twin

    def become(self, other: Memory) -> None:
        """Take over everything from a record of the same layout, whose copy this one is."""
        self._piece[:] = other._piece
        self._piece[self._pointers] += _shift(self.address, other.address)

    def contents(self) -> np.ndarray:
        """All numbers, without addresses: what another copy of this record, in any process, can `set_contents`."""
        return self._piece[self._numbers()]

    def set_contents(self, numbers: np.ndarray) -> None:
        self._piece[self._numbers()] = numbers

    def _numbers(self) -> np.ndarray:
        """Mask of the words that are no addresses."""
        mask = np.ones(len(self._piece), bool)
        mask[self._addresses()] = False
        return mask

    def _addresses(self) -> list[int]:
        own = [word for kind, word in self._scalars.values() if kind == "u"]
        return own + [offset // 8 + k for offset, member in self._members.values() for k in member._addresses()]

    def set(self, **scalars: float) -> None:
        """Write scalars."""
        words, places = self._words, self._scalars
        for name, value in scalars.items():
            kind, word = places[name]
            words[kind][word] = value

    def places(self, names: Iterable[str]) -> np.ndarray:
        """Where scalars stand in `memory`: whoever clears the same ones again and again does so at once."""
        return np.array([self._scalars[name][1] for name in names], np.int64)

    def address_in(self, name: str) -> int:
        """The address that stands in a field."""
        return int(self._piece[self._scalars[name][1]])

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name in own.get("_arrays", ()):
            offset, shape, dtype = own["_arrays"][name]
            own[name] = np.ndarray(shape, dtype, own["_piece"], offset)
            return own[name]
        if name in own.get("_members", ()):
            offset, value = own["_members"][name]
            own[name] = value._in(own["_piece"][offset // 8 : offset // 8 + len(value._piece)])
            return own[name]
        if name in own.get("_scalars", ()):
            kind, word = own["_scalars"][name]
            return own["_words"][kind][word]
        raise AttributeError(name)


def _shift(new: int, old: int) -> np.uint64:
    """What to add to addresses; unsigned numbers wrap, so that a shift downwards is one too."""
    return np.uint64((new - old) % 2**64)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


def reference(dtype: np.dtype) -> types.Array:
    """The numba type of the array of one record that kernels take; its element [0] is the record itself."""
    return types.Array(nb.from_dtype(dtype), 1, "C")


def _view(element: types.Type, ndim: int):
    """An intrinsic that makes an array from an address and its lengths, without a reference count."""

    def codegen(context, builder, signature, arguments):
        array = context.make_array(signature.return_type)(context, builder)
        data = builder.inttoptr(arguments[0], context.get_data_type(element).as_pointer())
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(element)))
        shape = list(arguments[1:])
        strides = [size] if ndim == 1 else [builder.mul(shape[1], size), size]
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    result = types.Array(element, ndim, "C")
    if ndim == 1:

        @intrinsic
        def view(typingctx, address, n):
            return result(types.uint64, types.intp), codegen
    else:

        @intrinsic
        def view(typingctx, address, rows, columns):
            return result(types.uint64, types.intp, types.intp), codegen

    return view


vec, mat = _view(types.float64, 1), _view(types.float64, 2)
cvec = _view(types.complex128, 1)
ivec = _view(types.int64, 1)
imat = _view(types.int64, 2)
ivec32 = _view(types.int32, 1)


def member(dtype: np.dtype):
    """An intrinsic that gives the record at an address, by reference."""
    record = nb.from_dtype(dtype)

    @intrinsic
    def at(typingctx, address):
        def codegen(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(record))

        return record(types.uint64), codegen

    return at
