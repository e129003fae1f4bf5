"""Blocks of members on this processor, with all its cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np

from dalembert.ensembles.job import Job, Results
from dalembert.ensembles.pieces import Copiers, processors
from dalembert.solvers.half.generated.layout import Counter
from dalembert.solvers.half.generated.start import FOUND

#: members of a block: some tenths of a second, so that Ctrl-C is heard
HOST_BLOCK = 512


class HostWork:
    """Threads, each of which has a block under way."""

    def __init__(self, job: Job, copiers: Copiers, workers: int | None = None):
        self.job, self.copiers, self.host = job, copiers, job.program.host
        self.name = "cpu"
        self.workers = workers or processors()
        self._own = threading.local()
        self._common = job.common().arrays()
        self._stopped = False

    def blocks(self, n: int) -> Iterator[tuple[int, int]]:
        size = max(self.host.width, min(HOST_BLOCK, -(-n // (2 * self.workers))))
        size = -(-size // self.host.width) * self.host.width
        return ((first, min(first + size, n)) for first in range(0, n, size))

    def run(self, results: Results, tell: Callable[[int], None]) -> None:
        """All members; `tell` is told how many are done."""
        self.job.members.keep(self.copiers)  # before anything may take long
        blocks, done = self.blocks(self.job.members.n), 0
        running: dict[Future, int] = {}
        with ThreadPoolExecutor(self.workers, thread_name_prefix="dalembert ensemble") as pool:
            try:
                while True:
                    while len(running) < 2 * self.workers and (block := next(blocks, None)) is not None:
                        running[pool.submit(self._block, results, *block)] = block[1] - block[0]
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        done += running.pop(future)
                        future.result()
                        tell(done)
            except BaseException:
                self._stopped = True
                raise

    def _block(self, results: Results, first: int, last: int) -> None:
        if self._stopped:
            return
        job, host = self.job, self.host
        stride = -(-(last - first) // host.width) * host.width
        arrays = self._arrays(stride)
        job.incoming(arrays, first, last - first).carry_out(0, last - first)
        for name in ("member", "x0"):  # lanes that are left do as the last member does
            arrays[name][:, last - first :] = arrays[name][:, last - first - 1 : last - first]
        if job.trust:
            arrays["x"][...] = arrays["x0"]
        else:
            host.run("start", 0, stride, stride, arrays)
            results.irregular[first:last] = arrays["counts"][Counter.STATUS, : last - first] != FOUND
        arrays["x0"][...] = arrays["x"]
        host.run("integrate", 0, stride, stride, arrays)
        job.outgoing(results, arrays, first, last - first).carry_out(0, last - first)
        job.complete(results, first, last)

    def _arrays(self, stride: int) -> dict[str, np.ndarray]:
        """Of this thread, for blocks of one size."""
        known = self._own.__dict__.setdefault("arrays", {})
        if stride not in known:
            known.clear()
            known[stride] = {
                name: np.zeros((*shape, stride), kind) for name, (shape, kind) in self.job.rows().items()
            } | self._common
        return known[stride]
