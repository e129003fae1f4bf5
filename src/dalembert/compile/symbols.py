"""Addresses of functions of C that emitted code calls, wherever this system keeps them.

LLVM calls some on its own account (`EXTRA`): one for sine and cosine of the same angle, and on Windows the one that
touches the pages of a large stack frame one after the other. Which, depends on the system that code is made for; a
system, or a version of it, may lack those that it does not need.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import sys

from dalembert.compile.emit import BINARY, UNARY

#: functions of the mathematical library, which emitted code knows by names of our own
OWN = (*UNARY, *BINARY)
#: the same under their own names, and those that deal with memory
PLAIN = ("sin", "cos", "floor", "ceil", "malloc", "free", "memset", "memcpy", "memmove")
#: what LLVM may call besides, by `sys.platform`
EXTRA = {
    "linux": ("sincos",),
    "darwin": ("__sincos_stret", "bzero", "__bzero"),
    "win32": ("__chkstk",),
}


@functools.cache
def library_symbols() -> dict[str, int]:
    """By name, as emitted code calls them."""
    symbols = {f"dalembert_{name}": _address(name) for name in OWN} | {name: _address(name) for name in PLAIN}
    missing = [name for name, address in symbols.items() if address is None]
    if missing:
        raise OSError(f"the libraries of this system lack {', '.join(missing)}")
    symbols |= {name: _address(name) for name in EXTRA.get(sys.platform, ())}
    return {name: address for name, address in symbols.items() if address is not None}


def _address(name: str) -> int | None:
    for library in _libraries():
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    return None


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """In which functions are looked for, in this order."""
    if sys.platform == "win32":
        # the runtime that Python itself is built with, and what the kernel gives to every process
        return ctypes.CDLL("ucrtbase"), ctypes.CDLL("ntdll")
    process = ctypes.CDLL(None)  # everything that the interpreter is linked with
    return (process,) if hasattr(process, "erf") else (process, ctypes.CDLL(ctypes.util.find_library("m")))
