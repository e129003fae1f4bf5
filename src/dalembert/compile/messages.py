"""What the user is told while kernels are compiled: that it happens, only once, and how long it took."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from importlib import import_module

from dalembert.background import in_background
from dalembert.compile.together import start_helpers

_compiled = 0  # kernels that were not in the cache, in this process


class _Block:
    """An `announce` that is under way."""

    def __init__(self, families: tuple[str, ...]):
        self.families = families
        self.start = time.perf_counter()
        self.kernels = 0

    def seconds(self) -> float:
        return time.perf_counter() - self.start


_block: _Block | None = None


@contextlib.contextmanager
def announce(*families: str) -> Iterator[None]:
    """To be put around the import of kernel modules: say how long it took if kernels had to be compiled inside.

    `families` are all modules with kernels that will be needed, those that take longest first, so that several
    processes can compile them (see `together`).
    """
    global _block
    if _block is not None:  # the outer one speaks
        yield
        return
    _block = own = _Block(families)
    try:
        yield
    finally:
        _block = None
        if own.kernels:
            kernels = "1 kernel" if own.kernels == 1 else f"{own.kernels} kernels"
            _say(f"dalembert: compiled {kernels} in {own.seconds():.1f} s", last=True)


def _forget() -> None:
    """In a forked process: what another thread announced does not go on here."""
    global _block
    _block = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def load(*modules: str) -> None:
    """Import modules with kernels, which compiles those that are not in the cache; Ctrl-C need not wait for it."""
    if all(_is_loaded(module) for module in modules):
        return
    with announce():
        in_background(lambda: [import_module(module) for module in modules])


def _is_loaded(module: str) -> bool:
    known = sys.modules.get(module)
    return known is not None and not getattr(known.__spec__, "_initializing", False)


def tell() -> None:
    """A kernel is going to be compiled."""
    global _compiled
    _compiled += 1
    block = _block  # that of another thread may end here
    if block is None:
        if _compiled == 1:
            _say("dalembert: compiling kernels for this machine (only once) ...", last=True)
        return
    block.kernels += 1
    if block.kernels == 1:
        _say("dalembert: compiling kernels for this machine (only once) ...", last=not _rewrites())
        start_helpers(block.families)
    elif _rewrites():
        done = f"{block.kernels - 1} done in {block.seconds():.0f} s"
        _say(f"dalembert: compiling kernels for this machine (only once): {done} ...")


def _rewrites() -> bool:
    """Whether a line can be written over, so that progress can be shown."""
    return sys.stderr is not None and sys.stderr.isatty()


def _say(text: str, last: bool = False) -> None:
    if os.environ.get("DALEMBERT_QUIET", "") in ("", "0") and sys.stderr is not None:
        over = "\r\x1b[K" if _rewrites() else ""
        sys.stderr.write(over + text + ("\n" if last else ""))
        sys.stderr.flush()
