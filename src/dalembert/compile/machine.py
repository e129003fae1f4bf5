"""Long tapes on CasADi's virtual machine; nothing to compile but a small wrapper.

The wrapper calls three methods of the C++ object behind a `casadi.Function`, which the port keeps alive. Their mangled
names hold the types of their arguments: a library in which these differ does not have them. There the function is
handed over to CasADi's C interface instead, through a file, which takes longer than to make the function.

The C interface keeps the functions loaded by `casadi_c_push_file` in one global vector. Its slots are used as a stack
here: slots on top whose ports are gone are freed before the next is taken. Room for many is made at the beginning,
because a vector that moves while another thread evaluates a function in it would be fatal.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import casadi

from dalembert.compile import jit
from dalembert.compile.emit import STACK
from dalembert.compile.ports import Port
from dalembert.compile.symbols import library_symbols
from dalembert.compile.tape import port_function
from dalembert.locks import held

_CAPACITY = 1 << 12  # functions that may be loaded without moving the vector
_lock = held(threading.Lock())
_slots: list[bool] = []  # for each function loaded here: is it in use?
_base = 0  # functions that somebody else had loaded before

_LIBRARY = re.compile(r"libcasadi(\.[\d.]+)?\.(so|dylib|dll)[\d.]*")
_METHODS = {  # of casadi::Function
    "checkout": "_ZNK6casadi8Function8checkoutEv",
    "release": "_ZNK6casadi8Function7releaseEi",
    "evaluate": "_ZNK6casadi8FunctionclEPPKdPPdPxS4_i",
}
_C_INTERFACE = {
    "checkout": "casadi_c_checkout_id",
    "release": "casadi_c_release_id",
    "evaluate": "casadi_c_eval_id",
}

# %arg, %res, %iw and %w are of this call alone, so that several threads may be inside. The memory
# object is checked out for each call for the same reason; CasADi guards that by a lock.
_WRAPPER = """
declare i32 @checkout({handle})
declare void @release({handle}, i32)
declare i32 @evaluate({handle}, ptr, ptr, ptr, ptr, i32)
declare ptr @malloc(i64)
declare void @free(ptr)

define i32 @port(double %t, ptr %x, ptr %theta, ptr %out) {{
entry:
 %time = alloca double
 store double %t, ptr %time
 %arg = alloca ptr, i64 {n_arg}
 %res = alloca ptr, i64 {n_res}
 %arg1 = getelementptr ptr, ptr %arg, i64 1
 %arg2 = getelementptr ptr, ptr %arg, i64 2
 store ptr %time, ptr %arg
 store ptr %x, ptr %arg1
 store ptr %theta, ptr %arg2
 store ptr %out, ptr %res
 {work}
 %null = icmp eq ptr %w, null
 br i1 %null, label %stop, label %evaluate
evaluate:
 %iw = getelementptr double, ptr %w, i64 {n_w}
 %mem = call i32 @checkout({handle} {function})
 %flag = call i32 @evaluate({handle} {function}, ptr %arg, ptr %res, ptr %iw, ptr %w, i32 %mem)
 call void @release({handle} {function}, i32 %mem)
 {free}
 %failed = icmp ne i32 %flag, 0
 br i1 %failed, label %stop, label %check
check:
 %k = phi i64 [ 0, %evaluate ], [ %next, %body ]
 %more = icmp ult i64 %k, {n_out}
 br i1 %more, label %body, label %fine
body:
 %p = getelementptr double, ptr %out, i64 %k
 %value = load double, ptr %p
 %zero = fmul double %value, 0.0
 %bad = fcmp uno double %zero, 0.0
 %next = add i64 %k, 1
 br i1 %bad, label %retry, label %check
fine:
 ret i32 0
retry:
 ret i32 1
stop:
 ret i32 2
}}
"""


def machine_port(t: casadi.SX, x: casadi.SX, theta: casadi.SX, out: casadi.SX) -> Port:
    """Put `out`, a function of the symbols t, x and theta, on CasADi's virtual machine. See `compile_tape`.

    Examples
    --------
    >>> import casadi, numpy as np
    >>> t, x, theta = casadi.SX.sym("t"), casadi.SX.sym("x", 2), casadi.SX(0, 1)
    >>> machine_port(t, x, theta, x[0] * x[1])(0.0, np.array([2.0, 3.0]), np.empty(0))
    array([6.])
    """
    return load_function(port_function(t, x, theta, out))


def load_function(function: casadi.Function) -> Port:
    """Make the port of a function made by `port_function`."""
    # an address goes as a whole number: both are passed in the same way
    handle, number, keep = ("i64", int(function.this), function) if _has_methods() else _in_slot(function)
    n_w, n_iw = function.sz_w(), function.sz_iw()
    words = n_w + n_iw + 1
    on_stack = words <= STACK
    text = _WRAPPER.format(
        handle=handle,
        function=number,
        n_arg=function.sz_arg(),
        n_res=function.sz_res(),
        n_w=n_w,
        n_out=function.numel_out(0),
        work=f"%w = alloca i64, i64 {words}" if on_stack else f"%w = call ptr @malloc(i64 {8 * words})",
        free="" if on_stack else "call void @free(ptr %w)",
    )
    code, _ = jit.build(text, _symbols(_has_methods()), level=0)
    return Port(
        code.address,
        n_x=function.numel_in(1),
        n_theta=function.numel_in(2),
        n_out=function.numel_out(0),
        backend="machine",
        keep=(code, keep),
    )


def _in_slot(function: casadi.Function) -> tuple[str, int, _Slot]:
    slot = _Slot(function)
    return "i32", slot.number, slot


class _Slot:
    """A place in CasADi's vector of loaded functions, given back when this object dies."""

    def __init__(self, function: casadi.Function):
        with _lock:
            library = _library()
            while _slots and not _slots[-1]:
                _slots.pop()
                library.casadi_c_pop()
            self.number = _base + len(_slots)
            _push(library, function.save)
            _slots.append(True)
            if library.casadi_c_n_loaded() != self.number + 1:
                raise RuntimeError("somebody else changed CasADi's list of loaded functions (casadi_c_push_file)")
        weakref.finalize(self, _release, self.number - _base)


def _release(index: int) -> None:
    """Only mark the slot: garbage collection may call this at any time, also while a slot is being taken."""
    _slots[index] = False


@functools.cache
def _opened() -> ctypes.PyDLL:
    """CasADi's own shared library, already in the process."""
    # PyDLL keeps the GIL: loading a function makes symbols, which CasADi does not guard against other threads.
    return ctypes.PyDLL(_library_path())


@functools.cache
def _has_methods() -> bool:
    return all(hasattr(_opened(), name) for name in _METHODS.values())


@functools.cache
def _library() -> ctypes.PyDLL:
    """The library, with room made for the functions to come."""
    global _base
    library = _opened()
    library.casadi_c_push_file.argtypes = [ctypes.c_char_p]
    library.casadi_c_pop.restype = None
    _base = library.casadi_c_n_loaded()
    x = casadi.SX.sym("x")
    nothing = casadi.Function("nothing", [x], [x])
    # Taking the functions away again leaves the vector's memory as it is.
    _push(library, lambda path: casadi.FileSerializer(path).pack([nothing] * _CAPACITY))
    library.casadi_c_pop()
    return library


def _library_path() -> str:
    """The file that the process has open: the wheel may hold a second copy, with a list of functions of its own."""
    beside = (str(path) for path in Path(casadi.__file__).parent.iterdir())
    return next(path for path in (*_open_files(), *beside) if _LIBRARY.fullmatch(os.path.basename(path)))


def _open_files() -> list[str]:
    """Paths of libraries in this process, among others, where the system tells; several times perhaps."""
    if sys.platform == "darwin":
        system = ctypes.CDLL(None)
        system._dyld_get_image_name.restype = ctypes.c_char_p
        return [os.fsdecode(system._dyld_get_image_name(k)) for k in range(system._dyld_image_count())]
    try:
        lines = os.fsdecode(Path("/proc/self/maps").read_bytes()).splitlines()
    except OSError:  # Windows gives back the library that is open if one of its name is asked for again
        return []
    return [line.split(maxsplit=5)[-1] for line in lines]


def _push(library: ctypes.PyDLL, save: Callable[[str], None]) -> None:
    """Load what `save` writes to the file whose path it gets."""
    handle, path = tempfile.mkstemp(suffix=".casadi")
    os.close(handle)
    try:
        save(path)
        if library.casadi_c_push_file(path.encode()):
            raise RuntimeError("CasADi could not load a function that it had saved")
    finally:
        os.unlink(path)


@functools.cache
def _symbols(methods: bool) -> dict[str, int]:
    names = _METHODS if methods else _C_INTERFACE
    found = {name: ctypes.cast(getattr(_opened(), symbol), ctypes.c_void_p).value for name, symbol in names.items()}
    return found | {name: library_symbols()[name] for name in ("malloc", "free")}
