"""One thread for LAPACK while a kernel calls it.

OpenBLAS spreads a factorization of a hundred rows over all processors, which takes longer than to do it on one, and
much longer where the others are busy, with simulations of a sweep, say. The number of its threads is a setting of the
whole library, so kernels set it to one around their calls and set it back after: the user's own calls of SciPy have
their threads. Kernels in several threads count themselves, the first sets and the last restores. The library that
belongs to NumPy is another one, and is not touched.

Where SciPy stands on another library than OpenBLAS, nothing is done.
"""

import ctypes
import os
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec

#: rows from which OpenBLAS thinks of threads
PARALLEL_FROM = 48

# what the table holds: a lock, how many kernels are inside, the user's number of threads, addresses of functions
_LOCK, _INSIDE, _THREADS, _GET, _SET, _LENGTH = range(6)
_table = np.zeros(_LENGTH, np.int64)
_SYMBOL = "dalembert_blas_threads"
llvm.add_symbol(_SYMBOL, _table.ctypes.data)


def find_functions() -> tuple[int, int]:
    """Addresses of the functions that get and set OpenBLAS's number of threads; zeros if there are none.

    With OpenMP in place of threads of its own OpenBLAS asks OpenMP for the number, and does not follow.
    """
    import scipy.linalg.cython_lapack

    lapack = Path(scipy.linalg.cython_lapack.__file__)
    if os.name == "nt":  # where a library gives its own symbols only: look into the one that wheels of SciPy bring
        lapack = next(lapack.parents[2].glob("scipy.libs/*openblas*.dll"), lapack)
    try:
        library = ctypes.CDLL(str(lapack))  # symbols of what it is linked to are found as well
    except OSError:
        return 0, 0
    for prefix in ("scipy_openblas", "openblas"):
        for suffix in ("", "64_", "_64"):
            try:
                functions = [library[f"{prefix}_{word}_num_threads{suffix}"] for word in ("get", "set")]
                own_threads = library[f"{prefix}_get_parallel{suffix}"]() == 1
            except AttributeError:
                continue
            if not own_threads:
                return 0, 0
            get, set_ = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
            return get, set_
    return 0, 0


_table[_GET], _table[_SET] = find_functions()


def _reset() -> None:
    """In a forked process, whose only thread is in no kernel."""
    if _table[_INSIDE]:
        ctypes.CFUNCTYPE(None, ctypes.c_int)(int(_table[_SET]))(int(_table[_THREADS]))
    _table[[_LOCK, _INSIDE]] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


@intrinsic
def _table_address(typingctx):
    """Of the table of this process; kernels on disk hold its symbol."""

    def generate(context, builder, signature, arguments):
        try:
            table = builder.module.get_global(_SYMBOL)
        except KeyError:
            table = ir.GlobalVariable(builder.module, ir.IntType(64), _SYMBOL)
        return builder.ptrtoint(table, ir.IntType(64))

    return types.uint64(), generate


@intrinsic
def _try_lock(typingctx, address):
    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        place = builder.inttoptr(arguments[0], word.as_pointer())
        answer = builder.cmpxchg(place, word(0), word(1), "acquire", "monotonic")
        return builder.extract_value(answer, 1)

    return types.boolean(types.uint64), generate


@intrinsic
def _unlock(typingctx, address):
    def generate(context, builder, signature, arguments):
        word = ir.IntType(64)
        builder.store_atomic(word(0), builder.inttoptr(arguments[0], word.as_pointer()), "release", 8)
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@intrinsic
def _get_threads(typingctx, function):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [])
        return builder.sext(builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), []), ir.IntType(64))

    return types.int64(types.int64), generate


@intrinsic
def _set_threads(typingctx, function, number):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
        number = builder.trunc(arguments[1], ir.IntType(32))
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [number])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@device
def begin_single(n):
    """Before LAPACK is called for n rows: from now on it has one thread."""
    address = _table_address()
    table = ivec(address, _LENGTH)
    if n >= PARALLEL_FROM and table[_SET] != 0:
        while not _try_lock(address):
            pass
        if table[_INSIDE] == 0:
            table[_THREADS] = _get_threads(table[_GET])
            if table[_THREADS] != 1:
                _set_threads(table[_SET], 1)
        table[_INSIDE] += 1
        _unlock(address)


@device
def end_single(n):
    """After that call."""
    address = _table_address()
    table = ivec(address, _LENGTH)
    if n >= PARALLEL_FROM and table[_SET] != 0:
        while not _try_lock(address):
            pass
        table[_INSIDE] -= 1
        # another thread may have changed the number itself, which is to stay then
        if table[_INSIDE] == 0 and table[_THREADS] != 1 and _get_threads(table[_GET]) == 1:
            _set_threads(table[_SET], table[_THREADS])
        _unlock(address)
