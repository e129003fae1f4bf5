"""Reading and writing words of memory by address, and places to work in that threads take turns in.

Rows of bodies hold real and whole numbers side by side, so that what a recursion needs of a body comes with the same
cache lines. Indices are not looked at: neither negative ones nor the end of memory.
"""

from __future__ import annotations

import platform

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from dalembert.compile.kernel import DEVICE

#: Short functions on numbers and tuples of them, compiled into the place of every call. a·b + c may be one operation.
formula = njit(**DEVICE, forceinline=True, fastmath={"contract"})
#: the same for the loops over bodies, which are called once
sweep = njit(**DEVICE, fastmath={"contract"})

#: threads that evaluate one model at the same time; others wait
SLOTS = 8
#: words of a slot: whether it is taken, and the processor's state to go back to
SLOT_WORDS = 2

#: bodies from which on numbers may fade away along a chain, and changing the processor's state takes no time
LONG = 200

_X86 = platform.machine().lower() in ("x86_64", "amd64")
_FLUSH = 0x8040  # results and arguments below 10⁻³⁰⁸ are zero


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


def _control(name: str):
    """Store the processor's state of arithmetic at an address, or load it from there; nothing on other processors."""

    @intrinsic
    def control(typingctx, address):
        def generate(context, builder, signature, arguments):
            if _X86:
                pointer = ir.IntType(8).as_pointer()
                kind = ir.FunctionType(ir.VoidType(), [pointer])
                function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.sse.{name}")
                builder.call(function, [builder.inttoptr(arguments[0], pointer)])
            return context.get_dummy_value()

        return types.void(types.uint64), generate

    return control


_save, _load = _control("stmxcsr"), _control("ldmxcsr")


@formula
def skip(address, words):
    """The address of a word further on."""
    return address + types.uint64(8 * words)


@sweep
def take_slot(slots, n):
    """The number of a slot that is nobody else's until `give_slot`; waits while all are taken.

    Until then, numbers too small for full precision are zero if there are many bodies. Long chains in which a motion
    has not yet come far are full of them, and processors take many times as long for them.
    """
    k = 0
    while _swap(skip(slots, SLOT_WORDS * k), 1) != 0:
        k = k + 1 if k + 1 < SLOTS else 0
    if n > LONG:
        state = skip(slots, SLOT_WORDS * k + 1)
        _save(state)
        before = small(state, 0)
        put_small(state, 0, before | types.int32(_FLUSH))
        _load(state)
        put_small(state, 0, before)
    return k


@sweep
def give_slot(slots, k, n):
    if n > LONG:
        _load(skip(slots, SLOT_WORDS * k + 1))
    _swap(skip(slots, SLOT_WORDS * k), 0)
