"""Large arrays are copied by several threads: one alone waits for every page of fresh memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

#: threads at most: more do not make memory faster
MOST_THREADS = 8
#: bytes of a piece at least, and of what is worth to be cut into pieces
PIECE, WORTH = 1 << 20, 1 << 22
#: members of a piece at least: rows of a few numbers are slow
FEWEST = 64


class Copiers:
    """Threads that come when they are needed; a context, at whose end they go."""

    def __init__(self, threads: int | None = None):
        self.threads = threads or min(processors(), MOST_THREADS)
        self._pool: ThreadPoolExecutor | None = None

    def share(self, n: int, size: int, work: Callable[[int, int], Any]) -> None:
        """Call `work(first, last)` for ranges that make up 0 … n; `size` are the bytes that it copies of each."""
        if self.threads == 1 or n * size < WORTH:
            work(0, n)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="dalembert copies")
        length = max(-(-n // self.threads), PIECE // max(size, 1), FEWEST)
        for _ in self._pool.map(lambda first: work(first, min(first + length, n)), range(0, n, length)):
            pass  # raises what a piece has raised

    def __enter__(self) -> Copiers:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._pool is not None:  # after a fault, somebody may still be at work
            self._pool.shutdown(wait=kind is not None, cancel_futures=True)


def processors() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
