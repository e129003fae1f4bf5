"""A disk cache for numba kernels that notices every change of the source.

numba's own cache looks only at the file in which a kernel stands: after a change in a helper module it would load a
stale kernel. Here the stamp covers the source of all rooms that kernels are made of. Each stamp has a directory of
its own, so that two versions of the package do not overwrite each other's kernels; the oldest directories are removed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
from pathlib import Path

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from dalembert.compile import store

ROOMS = ("compile", "linalg", "solvers", "contact", "multibody")
_KEEP = 8  # stamps kept on disk


def source_stamp(package: Path, rooms: tuple[str, ...] = ROOMS) -> str:
    """Hash of the contents of all Python files in the rooms, and of the compiler's version."""
    digest = hashlib.sha256(f"{store.FORMAT}|{numba.__version__}|{llvmlite.__version__}".encode())
    for room in rooms:
        for path in sorted((package / room).rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(package)}|{len(content)}|".encode() + content)
    return digest.hexdigest()


@functools.cache
def package_stamp() -> str:
    """The stamp of this package as it was when first asked for."""
    return source_stamp(Path(__file__).parents[1])


@functools.cache
def _directory() -> Path | None:
    directory = store.cache_directory("kernels")
    if directory is None:
        return None
    own = directory / package_stamp()[:32]
    with contextlib.suppress(OSError):
        own.mkdir(exist_ok=True)
        os.utime(own)
        store.trim(directory, _KEEP)
        return own
    return None


class _Locator(_CacheLocator):
    def __init__(self, function, file: str):
        self._py_file = file  # numba's warnings ask for it
        self._line = function.__code__.co_firstlineno
        self._directory = str(_directory() / self.get_suitable_cache_subpath(file))

    def get_cache_path(self):
        return self._directory

    def get_source_stamp(self):
        # The kernel's own file may lie outside the rooms (tests, users).
        return package_stamp() + hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()

    def get_disambiguator(self):
        return str(self._line)

    @classmethod
    def from_function(cls, function, file):
        locator = cls(function, file)
        locator.ensure_cache_path()
        return locator


class _Implementation(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class KernelCache(FunctionCache):
    """The cache of one kernel. `on_miss` is called before the kernel has to be compiled; `name` stands for what the
    function encloses, which numba could not recognize in another process if it is a function itself."""

    _impl_class = _Implementation

    def __init__(self, function, on_miss, name=""):
        if _directory() is None or not os.path.exists(inspect.getfile(function)):
            raise OSError("there is no place, or no source file, for a cache")
        super().__init__(function)
        self._on_miss, self._name = on_miss, name

    def _index_key(self, sig, codegen):
        if not self._name:
            return super()._index_key(sig, codegen)
        return sig, codegen.magic_tuple(), (self._py_func.__qualname__, self._name)

    def load_overload(self, sig, target_context):
        try:
            result = super().load_overload(sig, target_context)
        except Exception:  # a damaged file makes pickle or LLVM raise nearly anything: compile anew
            result = None
            with contextlib.suppress(OSError):
                self.flush()
        if result is None:
            self._on_miss()
        return result

    def save_overload(self, sig, data):
        with contextlib.suppress(OSError):  # disk full, say: the kernel works all the same
            super().save_overload(sig, data)
