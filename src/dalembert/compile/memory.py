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
    """A record and the arrays behind its addresses. `record` is an array of one element, for kernels to take."""

    def __init__(self, dtype: np.dtype, values: Mapping[str, Any]):
        self.record = np.zeros(1, dtype)
        self.arrays: dict[str, Any] = {}
        if set(values) != set(dtype.names):
            raise KeyError(f"fields differ: {sorted(set(values) ^ set(dtype.names))}")
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                if not value.flags.c_contiguous or value.dtype.itemsize not in (1, 4, 8):
                    raise TypeError(f"'{name}' must be C-ordered and of plain numbers")
                self.record[0][name] = value.ctypes.data
                self.arrays[name] = value
            elif isinstance(value, Memory):
                self.record[0][name] = value.record.ctypes.data
                self.arrays[name] = value
            else:
                self.record[0][name] = value

    def fresh(self, shared: Iterable[str] = ()) -> Memory:
        """A second record with arrays of its own, for another run; arrays named in `shared` are not copied."""
        twin = Memory.__new__(Memory)
        twin.record, twin.arrays = self.record.copy(), dict(self.arrays)
        shared = set(shared)
        for name, value in self.arrays.items():
            if name in shared:
                continue
            copy = value.fresh() if isinstance(value, Memory) else value.copy()
            twin.arrays[name] = copy
            twin.record[0][name] = (copy.record if isinstance(copy, Memory) else copy).ctypes.data
        return twin

    def set(self, **scalars: float) -> None:
        """Write scalars."""
        for name, value in scalars.items():
            self.record[0][name] = value

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name in own.get("arrays", ()):
            return own["arrays"][name]
        if "record" in own and name in own["record"].dtype.names:
            return own["record"][0][name]
        raise AttributeError(name)


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
ivec = _view(types.int64, 1)
imat = _view(types.int64, 2)


def member(dtype: np.dtype):
    """An intrinsic that gives the record at an address, by reference."""
    record = nb.from_dtype(dtype)

    @intrinsic
    def at(typingctx, address):
        def codegen(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(record))

        return record(types.uint64), codegen

    return at
