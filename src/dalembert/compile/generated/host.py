"""Generated modules as machine code of this processor."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

from dalembert.compile import jit, store
from dalembert.compile.generated.code import Module, Target

#: changes with what is written for a module, besides its text
FORMAT = 5
#: metadata that loads of memory which nobody changes refer to
INVARIANT = "!0 = !{}"


@functools.cache
def host_target() -> Target:
    """As many members at once as a vector register holds, twice: operations then wait less for each other."""
    features = jit.processor_features()
    if features.get("avx512f"):
        return Target(width=8)
    return Target(width=4 if features.get("avx") else 2)


def compile_host(module: Module, exports: Sequence[str]) -> jit.Code:
    """Optimized machine code, from the disk cache if it is there."""
    return compile_text(module.text() + INVARIANT + "\n", exports)


def compile_text(text: str, exports: Sequence[str]) -> jit.Code:
    """The same of LLVM IR."""
    key = hashlib.sha256(f"{jit.fingerprint()}|generated {FORMAT}|{exports}|{text}".encode()).hexdigest()
    code = jit.load(key, exports)
    if code is None:
        code, image = jit.build(text, level=1, exports=exports, passes=1)
        store.save(key, image)
    return code
