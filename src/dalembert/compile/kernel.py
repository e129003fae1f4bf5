"""What numba kernels need: calling ports by address, and a decorator whose disk cache is safe.

A kernel takes the addresses of ports as `uintp` and arrays, and is compiled for one explicit signature:

    @kernel("int32(uintp, float64, float64[::1], float64[::1], float64[::1])")
    def evaluate(port, t, x, theta, out):
        return call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from dalembert.background import in_background
from dalembert.compile.device import PIPELINE
from dalembert.compile.messages import announce, load, tell
from dalembert.compile.together import Taken

try:
    from dalembert.compile.kernel_cache import KernelCache
except ImportError:  # numba moved the parts that the cache is made of
    KernelCache = None

__all__ = [
    "DEVICE", "OPTIONS", "address_of", "announce", "call1", "call2", "call3", "call_code", "call_port", "call_reals3",
    "device", "inlined", "kernel", "load", "record",
]  # fmt: skip

# Kernels allocate nothing: without reference counting their code is shorter, faster and quicker to compile.
OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}

# For functions without a signature of their own, which are compiled into the kernels that call them.
DEVICE = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **PIPELINE}
device = njit(**DEVICE)
# The same, put into the place of every call: for short ones in the innermost loops, where handing over arrays, seven
# numbers each, takes longer than the work.
inlined = njit(**DEVICE, forceinline=True)


def record(cls: type) -> types.NamedTuple:
    """The numba type of a NamedTuple class whose annotations are numba types."""
    return types.NamedTuple(list(cls.__annotations__.values()), cls)


@intrinsic
def call_port(typingctx, address, t, x, theta, out):
    """Call the port at `address`: t is float64, the others uintp (`array.ctypes.data`). Returns its status, int32."""
    signature = types.int32(types.uintp, types.float64, types.uintp, types.uintp, types.uintp)

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [ir.DoubleType(), pointer, pointer, pointer])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        pointers = [builder.inttoptr(argument, pointer) for argument in arguments[2:]]
        return builder.call(function, [arguments[1], *pointers])

    return signature, generate


@intrinsic
def call_code(typingctx, address, t, a, b, c, d, out):
    """Call code of four vectors (`tape.compile_code`) as `call_port` calls a port. Returns its status, int32."""
    signature = types.int32(types.uint64, types.float64, *[types.uint64] * 5)

    def generate(context, builder, signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function_type = ir.FunctionType(ir.IntType(32), [ir.DoubleType(), *[pointer] * 5])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        pointers = [builder.inttoptr(argument, pointer) for argument in arguments[2:]]
        return builder.call(function, [arguments[1], *pointers])

    return signature, generate


def _call(result: types.Type, *arguments: types.Type):
    """An intrinsic that calls the C function at an address (the first argument)."""
    signature = result(types.uint64, *arguments)

    def codegen(context, builder, signature, values):
        of = [context.get_value_type(argument) for argument in signature.args[1:]]
        function_type = ir.FunctionType(context.get_value_type(signature.return_type), of)
        return builder.call(builder.inttoptr(values[0], function_type.as_pointer()), list(values[1:]))

    if len(arguments) == 1:

        @intrinsic
        def call(typingctx, address, a):
            return signature, codegen
    elif len(arguments) == 2:

        @intrinsic
        def call(typingctx, address, a, b):
            return signature, codegen
    elif len(arguments) == 3:

        @intrinsic
        def call(typingctx, address, a, b, c):
            return signature, codegen
    else:

        @intrinsic
        def call(typingctx, address, a, b, c, d):
            return signature, codegen

    return call


# calls of kernels by their `address_of`: arguments are addresses of records and arrays, or real numbers
call1 = _call(types.int64, types.uint64)
call2 = _call(types.int64, types.uint64, types.uint64)
call3 = _call(types.int64, types.uint64, types.uint64, types.uint64)
call_reals3 = _call(types.int64, types.uint64, types.float64, types.float64, types.float64)


def address_of(compiled: Any) -> int:
    """The address of a kernel as a C function; the kernel must stay alive as long as it is called."""
    (result,) = compiled.overloads.values()
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


def kernel(signature: Any, name: str = "") -> Callable[[Callable], Any]:
    """Compile a function for `signature` at once, without the GIL, or load it from the disk cache.

    Like `njit(signature, cache=True, nogil=True, error_model="numpy")`, but the cache sees changes of every file that
    kernels are made of (see `kernel_cache`). The user is told once when compiling is necessary. A function made within
    another one, from device functions that differ from call to call, needs a `name` by which the cache tells them
    apart.
    """

    def decorate(function: Callable) -> Any:
        dispatcher = njit(**OPTIONS)(function)
        if KernelCache is None:  # numba's own cache would run whatever it finds
            tell()
        else:
            try:
                dispatcher._cache = KernelCache(function, signature, tell, name)
            except OSError:  # no place for a cache: compile in every process
                tell()

        def load_or_compile() -> None:
            try:
                dispatcher.compile(signature)
            finally:
                if hasattr(dispatcher._cache, "release"):
                    dispatcher._cache.release()

        try:
            # another thread would wait for the module that this one imports, and this one for it
            load_or_compile() if _importing() else in_background(load_or_compile)
        except Taken:  # this process only helps another one, and somebody else compiles this kernel
            return dispatcher
        dispatcher.disable_compile()
        return dispatcher

    return decorate


def _importing() -> bool:
    """Whether this thread is executing a module of ours."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("dalembert."):
            return True
        frame = frame.f_back
    return False
