"""A disk cache for numba kernels that notices every change of the source that matters, and no other.

numba's own cache looks only at the file in which a kernel stands: after a change in a helper module it would load a
stale kernel. Here the stamp covers all files that the kernel is made of (see `sources`), the compiler's version and the
processor. Each stamp has a directory of its own, so that two versions of the package do not overwrite each other's
kernels; the oldest directories are removed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import itertools
import os
import secrets
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from dalembert.compile import store
from dalembert.compile.sources import Sources, ingredients
from dalembert.compile.together import Claim

PACKAGE = Path(__file__).resolve().parents[1]
_KEEP = 32  # stamps kept on disk for each module
_KEEP_MODULES = 256  # of which users' own files are some

# These are imported where kernels stand, but nothing of them gets into compiled code.
_CACHE = [f"compile/{name}.py" for name in ("kernel_cache", "messages", "sources", "store", "together")]
sources = Sources(PACKAGE, without=["errors.py", "options.py", *_CACHE])


def _number_functions() -> None:
    """Begin numba's numbers of functions at random.

    By these it tells apart the symbols of functions with the same name and types, in every process from 1. Of two
    kernels compiled in different processes and loaded into a third one, LLVM would then take the first for both.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(47) << 16)


_number_functions()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_functions)


@functools.cache
def _platform() -> str:
    """What makes compiled code useless elsewhere."""
    processor = llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()
    return f"2|{store.FORMAT}|{numba.__version__}|{llvmlite.__version__}|{processor}"


@functools.cache
def _directory(module: str, stamp: str) -> Path | None:
    kernels = store.cache_directory("kernels")
    if kernels is None:
        return None
    own = kernels / module / stamp[:32]
    with contextlib.suppress(OSError):
        own.mkdir(parents=True, exist_ok=True)
        for place in (own, own.parent):
            os.utime(place)
        store.trim(own.parent, _KEEP)
        store.trim(kernels, _KEEP_MODULES)
        return own if os.access(own, os.W_OK | os.X_OK) else None
    return None


class _Locator(_CacheLocator):
    """Place and stamp of one kernel; `name` tells apart those that stand in the same lines of a file."""

    def __init__(self, function, name: str):
        self._py_file = inspect.getfile(function)  # numba's warnings ask for it
        file = Path(self._py_file).resolve()
        if not file.is_file():
            raise OSError("there is no source file")
        files, values = ingredients(function, PACKAGE)
        self._stamp = hashlib.sha256(f"{_platform()}|{sources.stamp(files)}".encode()).hexdigest()
        directory = _directory(sources.module(file), self._stamp)
        if directory is None:
            raise OSError("there is no place for a cache")
        self._directory = str(directory)
        # Every kernel has files of its own: numba gives wrong answers if two processes add to one index at once.
        self._name = hashlib.sha256(f"{name}|{values}|".encode() + function.__code__.co_code).hexdigest()[:16]

    def get_cache_path(self):
        return self._directory

    def get_source_stamp(self):
        return self._stamp

    def get_disambiguator(self):
        return self._name

    @classmethod
    def from_function(cls, function, file):
        raise NotImplementedError("locators are made by KernelCache")


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function, locator):
        # numba's own would look for a locator among its classes
        self._lineno = function.__code__.co_firstlineno
        self._locator = locator
        abiflags = getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(f"{Path(locator._py_file).stem}.{function.__qualname__}", abiflags)


class KernelCache(FunctionCache):
    """The cache of one kernel. `on_miss` is called before the kernel has to be compiled; `name` stands for what the
    function encloses, which numba could not recognize in another process if it is a function itself."""

    def __init__(self, function, signature, on_miss, name=""):
        locator = _Locator(function, f"{name}|{signature}")
        self._impl_class = functools.partial(_Implementation, locator=locator)
        super().__init__(function)
        self._on_miss, self._name = on_miss, name
        self._claim = Claim(Path(self._cache_path) / f"{self._impl.filename_base}.lock")

    def _index_key(self, sig, codegen):
        if not self._name:
            return super()._index_key(sig, codegen)
        return sig, codegen.magic_tuple(), (self._py_func.__qualname__, self._name)

    def load_overload(self, sig, target_context):
        result = self._load(sig, target_context)
        if result is None:
            self._on_miss()
            self._claim.take()
            result = self._load(sig, target_context)  # another process may have compiled it meanwhile
        return result

    def _load(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file makes pickle or LLVM raise nearly anything: compile anew
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig, data):
        with contextlib.suppress(OSError):  # disk full, say: the kernel works all the same
            super().save_overload(sig, data)

    def release(self):
        """Let other processes have the kernel, once it is compiled."""
        self._claim.release()
