"""Device functions without machine code of their own.

numba optimizes every function and makes machine code of it as soon as it is compiled. For functions that only serve to
be compiled into kernels this is in vain, and it was half of the time that kernels took: here they stop before it. The
kernel is optimized as a whole, its device functions with it.
"""

from __future__ import annotations

from typing import Any

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
except ImportError:  # numba moved them: compile device functions as any other
    PIPELINE: dict[str, Any] = {}
else:

    class _NoEnvironment:
        """A code generator that is not told of environments: they stand in machine code."""

        def __init__(self, codegen: Any):
            self._codegen = codegen

        def __getattr__(self, name: str) -> Any:
            return getattr(self._codegen, name)

        def set_env(self, name: str, environment: Any) -> None:
            pass

    class _DeviceLibrary(JITCodeLibrary):
        @property
        def codegen(self) -> Any:
            return _NoEnvironment(self._codegen)

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0  # as of functions that have no wrapper for Python

    class _DeviceCompiler(Compiler):
        def __init__(self, typing: Any, target: Any, library: Any, *others: Any):
            if library is None:
                library = _DeviceLibrary(target.codegen(), "device")
                library.enable_object_caching()
            super().__init__(typing, target, library, *others)

    PIPELINE = {"pipeline_class": _DeviceCompiler}
