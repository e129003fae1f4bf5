"""A disk cache for numba kernels that notices every change of the source that matters, and no other.

numba's own cache looks only at the file in which a kernel stands: after a change in a helper module it would load a
stale kernel. Here the stamp covers all files that the kernel is made of (see `sources`), the compiler's version and the
processor. Each stamp has a directory of its own, so that two versions of the package do not overwrite each other's
kernels; the oldest directories are removed.

numba unpickles what it finds, and runs it. Here files are sealed (see `trust`), and there is one for each kernel.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import itertools
import os
import pickle
import secrets
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from dalembert.compile import store
from dalembert.compile.sources import Sources, ingredients
from dalembert.compile.together import Claim

PACKAGE = Path(__file__).resolve().parents[1]
_KEEP = 32  # stamps kept on disk for each module
_KEEP_MODULES = 256  # of which users' own files are some

# These are imported where kernels stand, but nothing of them gets into compiled code.
_CACHE = [f"compile/{name}.py" for name in ("kernel_cache", "messages", "sources", "store", "together", "trust")]
_ELSEWHERE = [f"{name}.py" for name in ("background", "errors", "file_locks", "kept", "locks", "options")]
sources = Sources(PACKAGE, without=[*_ELSEWHERE, *_CACHE])


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
def _folder(module: str, stamp: str) -> str:
    """Where kernels of this stamp stand, relative to the cache; marked as just used."""
    folder = f"kernels/{module}/{stamp[:32]}"
    own = store.cache_directory(folder)
    if own is not None:
        with contextlib.suppress(OSError):
            for place in (own, own.parent):
                os.utime(place)
            store.trim(own.parent, _KEEP, store.is_stamp)
            store.trim(own.parents[1], _KEEP_MODULES, _is_of_a_module)
    return folder


def _is_of_a_module(entry: Path) -> bool:
    return entry.is_dir() and all(map(store.is_stamp, entry.iterdir()))


class _Locator(_CacheLocator):
    """Place and stamp of one kernel; `name` tells apart those that stand in the same lines of a file."""

    def __init__(self, function, name: str):
        self._py_file = inspect.getfile(function)  # numba's warnings ask for it
        file = Path(self._py_file).resolve()
        if not file.is_file():
            raise OSError("there is no source file")
        places = store.places()
        if not places:
            raise OSError("there is no place for a cache")
        files, values = ingredients(function, PACKAGE)
        self._stamp = hashlib.sha256(f"{_platform()}|{sources.stamp(files)}".encode()).hexdigest()
        self.folder = _folder(sources.module(file), self._stamp)
        #: where it can be written to
        self.own = places[-1].path / self.folder if places[-1].writable else None
        self._directory = str(self.own or places[-1].path / self.folder)
        # Every kernel has a file of its own: several processes may be writing at once.
        self._name = hashlib.sha256(f"{name}|{values}|".encode() + function.__code__.co_code).hexdigest()[:16]

    def ensure_cache_path(self):
        """Nothing to do: the store makes directories."""

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


class _File:
    """The file of one kernel, in the way numba's cache deals with files: sealed, so that nothing is unpickled that
    others wrote or that is damaged (see `trust`). It holds the key of an overload besides its code."""

    def __init__(self, folder: str, name: str, stamp: str):
        self._folder, self._name, self._stamp = folder, f"{name}.nbc", stamp

    def load(self, key):
        content = store.load(self._name, self._folder)
        if content is None:
            return None
        stamp, known, data = pickle.loads(content)
        return data if stamp == self._stamp and known == key else None

    def save(self, key, data):
        store.save(self._name, dumps((self._stamp, key, data)), self._folder)


class KernelCache(FunctionCache):
    """The cache of one kernel. `on_miss` is called before the kernel has to be compiled; `name` stands for what the
    function encloses, which numba could not recognize in another process if it is a function itself."""

    def __init__(self, function, signature, on_miss, name=""):
        locator = _Locator(function, f"{name}|{signature}")
        self._impl_class = functools.partial(_Implementation, locator=locator)
        super().__init__(function)
        self._on_miss, self._name = on_miss, name
        base = self._impl.filename_base
        self._cache_file = _File(locator.folder, base, locator.get_source_stamp())
        self._claim = Claim(None if locator.own is None else locator.own / f"{base}.lock")

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
        except Exception:  # what another version of a library has pickled may fail in any way: compile anew
            return None

    def save_overload(self, sig, data):
        with contextlib.suppress(OSError):  # disk full, say: the kernel works all the same
            super().save_overload(sig, data)

    def flush(self):
        """Nothing to do: what cannot be used is replaced."""

    def release(self):
        """Let other processes have the kernel, once it is compiled."""
        self._claim.release()
