"""LLVM IR to an address, in this process, with LLVM's ORC linker.

Each `LLJIT` serves some libraries: LLVM gives the memory of a library back, but not what it knows of it, 9 kB each,
before the engine goes; and that goes with the last of its libraries, which keep it alive. External symbols are given to
each library by address, so nothing depends on which symbols the Python executable exports, and the process-wide symbol
table of LLVM stays as it is.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
from collections.abc import Iterator, Sequence

import llvmlite
import llvmlite.binding as llvm

from dalembert.compile import store
from dalembert.compile.symbols import library_symbols
from dalembert.locks import held

LOCK = held(threading.RLock())  # LLVM's objects here are shared by all threads
LIBRARIES = 64  # of one engine
JIT_LINK = sys.platform != "win32"  # LLVM's newer linker; there is the older one for Windows
_numbers = itertools.count()
_engine: llvm.LLJIT | None = None  # the one for the next libraries
_libraries = 0  # that it has


class Code:
    """Machine code in memory: `addresses` of its functions, valid as long as this object lives; `address` of the first.

    There is one function, `port`, unless others are named.
    """

    def __init__(self, image: bytes, symbols: dict[str, int], exports: Sequence[str] = ("port",)):
        builder = llvm.JITLibraryBuilder().add_object_img(image)
        for name in exports:
            builder.export_symbol(name)
        for name, address in symbols.items():
            if name.encode() in image:
                builder.import_symbol(name, address)
        with LOCK:
            self._tracker = builder.link(_next_engine(), f"port{next(_numbers)}")
        self.addresses: dict[str, int] = {name: self._tracker[name] for name in exports}
        self.address = self.addresses[exports[0]]


def build(
    text: str,
    symbols: dict[str, int] | None = None,
    *,
    level: int = 1,
    exports: Sequence[str] = ("port",),
    passes: int = 0,
) -> tuple[Code, bytes]:
    """Compile IR and load it; return the code and the object file.

    LLVM's optimization `passes` are left out: in straight-line code they find little that CasADi has not removed.
    Measured on 400 to 2600 instructions, O1 takes 1.2 to 1.4 times as long and gains nothing; O2 with vectorization
    takes 3 to 7 times as long and gains between nothing and a fifth of the run time. `level` is the code generator's:
    0 compiles 3 to 6 times faster than 1, code that takes 1.2 to 1.8 times as long; 2 is like 1. Code with variables
    and loops needs passes, of this level.
    """
    with LOCK, parsed(text) as module:
        target = _target(level)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        if passes:
            optimize(module, target, passes)
        image = target.emit_object(module)
        return Code(image, _symbols_in(image) if symbols is None else symbols, exports), image


@contextlib.contextmanager
def parsed(text: str) -> Iterator[llvm.ModuleRef]:
    """IR as a module, which goes with its types and constants: LLVM's usual context would keep them for ever."""
    context = llvm.create_context()
    try:
        with llvm.parse_assembly(text, context) as module:
            yield module
    finally:
        context.close()


def optimize(module: llvm.ModuleRef, target: llvm.TargetMachine, level: int) -> None:
    """LLVM's passes of a level; vectors are written by whoever wants them."""
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)


def load(key: str, exports: Sequence[str] = ("port",)) -> Code | None:
    """Load an object file from the disk cache, None if there is none that works."""
    image = store.load(key)
    if image is None:
        return None
    try:
        return Code(image, _symbols_in(image), exports)
    except RuntimeError:
        return None


@functools.cache
def fingerprint() -> str:
    """What object code depends on besides the tape: the compiler and the processor."""
    target = _target(1)
    return "|".join([str(store.FORMAT), llvmlite.__version__, target.triple, *_processor()])


def _symbols_in(image: bytes) -> dict[str, int]:
    """The same for one image; what takes a while to load only if it is called there."""
    if b"dalembert_erfinv" not in image:
        return library_symbols()
    from numba.extending import get_cython_function_address

    erfinv = get_cython_function_address("scipy.special.cython_special", "__pyx_fuse_0erfinv")
    return library_symbols() | {"dalembert_erfinv": erfinv}


@functools.cache
def _processor() -> tuple[str, str]:
    _initialize()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def processor_features() -> dict[str, bool]:
    """What this processor can, by LLVM's names."""
    _initialize()
    return dict(llvm.get_host_cpu_features())


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def _target(level: int) -> llvm.TargetMachine:
    name, features = _processor()
    triple = llvm.get_process_triple()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel="small"
    )


def _next_engine() -> llvm.LLJIT:
    """An engine for one more library; to be called with the lock held."""
    global _engine, _libraries
    if _engine is None or _libraries == LIBRARIES:
        name, features = _processor()
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(cpu=name, features=features)
        _engine, _libraries = llvm.create_lljit_compiler(machine, use_jit_link=JIT_LINK), 0
    _libraries += 1
    return _engine
