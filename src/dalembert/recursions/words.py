"""Reading and writing words of memory by address, and places to work in that threads take turns in.

Rows of bodies hold real and whole numbers side by side, so that what a recursion needs of a body comes with the same
cache lines. Indices are not looked at: neither negative ones nor the end of memory.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from dalembert.compile.kernel import DEVICE

#: Short functions on numbers and tuples of them, compiled into the place of every call. a·b + c may be one operation.
formula = njit(**DEVICE, forceinline=True, fastmath={"contract"})
#: the same for the loops over bodies, which are called once
sweep = njit(**DEVICE, fastmath={"contract"})

#: threads that evaluate one model at the same time; others wait
SLOTS = 8


def _word(number: types.Type, kind: ir.Type):
    """Intrinsics that read and write word k behind an address."""

    def place(builder, address, k):
        return builder.gep(builder.inttoptr(address, kind.as_pointer()), [k])

    @intrinsic
    def read(typingctx, address, k):
        def generate(context, builder, signature, arguments):
            return builder.load(place(builder, *arguments))

        return number(types.uint64, types.int64), generate

    @intrinsic
    def write(typingctx, address, k, value):
        def generate(context, builder, signature, arguments):
            builder.store(arguments[2], place(builder, *arguments[:2]))
            return context.get_dummy_value()

        return types.void(types.uint64, types.int64, number), generate

    return read, write


real, put = _word(types.float64, ir.DoubleType())
whole, put_whole = _word(types.int64, ir.IntType(64))
small, put_small = _word(types.int32, ir.IntType(32))


@intrinsic
def _swap(typingctx, address, value):
    """Write a word and return what stood there, in one operation that no other thread can see half done."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("xchg", pointer, arguments[1], "acq_rel")

    return types.int64(types.uint64, types.int64), generate


@formula
def skip(address, words):
    """The address of a word further on."""
    return address + types.uint64(8 * words)


@sweep
def take_slot(slots):
    """The number of a slot that is nobody else's until `_swap(…, 0)`; waits while all are taken."""
    k = 0
    while _swap(skip(slots, k), 1) != 0:
        k = k + 1 if k + 1 < SLOTS else 0
    return k


@formula
def give_slot(slots, k):
    _swap(skip(slots, k), 0)
