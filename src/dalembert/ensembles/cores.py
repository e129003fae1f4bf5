"""Blocks of members on this processor, with all its cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np

from dalembert.ensembles.job import Job, Results
from dalembert.ensembles.pieces import Copiers, processors
from dalembert.errors import OptionError
from dalembert.solution.memory import in_words, memory
from dalembert.solvers.half.generated.layout import Counter, Option
from dalembert.solvers.half.generated.start import FOUND

#: members of a block: some tenths of a second, as a rule, after which there is progress to be told
HOST_BLOCK = 512


class HostWork:
    """Threads, each of which has a block under way."""

    def __init__(self, job: Job, copiers: Copiers, workers: int | None = None):
        self.job, self.copiers, self.host = job, copiers, job.program.host
        self.name = "cpu"
        self.workers = min(workers or processors(), -(-job.members.n // self.host.width))
        self._size = self._members_of_a_block()
        self._own = threading.local()
        self._common = job.common().arrays()
        self._stopped = False

    def _members_of_a_block(self) -> int:
        """As many as there is memory for, which each thread needs; with little of it there are fewer threads."""
        n, width, each = self.job.members.n, self.host.width, self.job.bytes_each()
        room = int(min(memory() / each, 1e18)) - n  # members, besides those that are results
        if room < width:
            raise OptionError(
                f"members are integrated {width} at a time, which takes {in_words((n + width) * each)} with the output "
                f"times that are asked for, and there are {in_words(memory())} of memory: ask for fewer output times"
            )
        self.workers = min(self.workers, room // width)
        wanted = -(-min(HOST_BLOCK, -(-n // (2 * self.workers))) // width)
        return width * min(wanted, room // self.workers // width)

    def blocks(self, n: int) -> Iterator[tuple[int, int]]:
        return ((first, min(first + self._size, n)) for first in range(0, n, self._size))

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
                self._stopped, self._common["options"][Option.STOP] = True, 1.0
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
        if self._stopped:
            return
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
