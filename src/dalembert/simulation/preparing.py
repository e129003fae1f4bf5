"""Ctrl-C before the first step."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import ParamSpec, TypeVar

from dalembert.background import in_background, listening
from dalembert.errors import DalembertError, Interrupted

P = ParamSpec("P")
T = TypeVar("T")


#: what every simulation imports in the end
NEEDED = ("scipy.linalg.cython_lapack", "dalembert.simulation.drive")
_loaded = False


def _load() -> None:
    """Import what a simulation needs, numba above all: imports that are interrupted leave other packages in pieces."""
    global _loaded
    if not _loaded:
        in_background(lambda: [import_module(module) for module in NEEDED])
        _loaded = True


def preparing(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """work(...), with Ctrl-C as an exception of ours; once the loop runs, that says more."""
    try:
        _load()
        with listening():
            return work(*args, **kwargs)
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, DalembertError):
            raise
        raise Interrupted("interrupted while the simulation was prepared: nothing had been computed yet") from None
