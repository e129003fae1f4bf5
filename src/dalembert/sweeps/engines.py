"""Who simulates the members of a study: threads of this process, processes of their own, or a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from dalembert.background import UNHEARD
from dalembert.errors import DalembertError
from dalembert.sweeps.generated import FEWEST, Generated, applies
from dalembert.sweeps.member import FAILED, Job, Outcome
from dalembert.sweeps.workers import Forked, Local, Spawned, Worker

#: members that a cluster is given at once, for each of its threads
AHEAD = 3
#: seconds of a member below which Python's share of it keeps threads waiting for each other
SHORT = 0.05
#: so many members must be left that it matters
MANY = 20
#: whether copies of this process work: Apple's own libraries do not in them
FORKS = hasattr(os, "fork") and sys.platform != "darwin"

Samples = Callable[[int], Mapping[str, Any]]
T = TypeVar("T")


class Engine(Protocol):
    """Whoever simulates members."""

    name: str

    def outcomes(self, numbers: Sequence[int], sample: Samples) -> Iterator[tuple[int, Outcome]]:
        """What became of the members of these numbers, as they come. Closing it early leaves nobody at work."""


def processors() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Here:
    """This machine: threads, each of which has a worker, be that itself or a process."""

    def __init__(self, name: str, count: int, worker: Callable[[], Worker]):
        self.name, self._count, self._worker = name, count, worker

    def outcomes(self, numbers: Sequence[int], sample: Samples) -> Iterator[tuple[int, Outcome]]:
        todo, stopped, lock = iter(numbers), threading.Event(), threading.Lock()
        results: queue.SimpleQueue[tuple[int, Outcome | BaseException]] = queue.SimpleQueue()
        workers = [self._worker() for _ in range(min(self._count, len(numbers)))]  # forks come before threads

        def take() -> int | None:
            with lock:
                return None if stopped.is_set() else next(todo, None)

        def work(worker: Worker) -> None:
            try:
                worker.serve(take, sample, lambda number, outcome: results.put((number, outcome)))
            except BaseException as error:  # a fault of ours, or no memory: the study must not wait for ever
                results.put((-1, error))
            finally:
                worker.close()

        crew = [
            threading.Thread(target=work, args=(worker,), name=f"dalembert sweep {i}", daemon=True)
            for i, worker in enumerate(workers)
        ]
        for thread in crew:
            thread.start()
        try:
            for _ in numbers:
                number, outcome = _next(results)
                if isinstance(outcome, BaseException):
                    raise outcome
                yield number, outcome
        finally:
            stopped.set()
            for thread in crew:
                thread.join()


def _next(results: queue.SimpleQueue[T]) -> T:
    """What comes next, however long that takes; Ctrl-C is heard meanwhile."""
    while True:
        with contextlib.suppress(queue.Empty):
            return results.get(timeout=UNHEARD if UNHEARD > 0 else None)


class Measured:
    """Threads, or processes where members are so short that threads would wait: copies of this one, or new ones."""

    def __init__(self, job: Job, count: int):
        self.name, self._job, self._count = "threads", job, count
        self._packed = b""

    def outcomes(self, numbers: Sequence[int], sample: Samples) -> Iterator[tuple[int, Outcome]]:
        # who has once died in a process of its own must not be tried again in this one
        if self.name != "processes" and self._count > 1 and len(numbers) > MANY:
            for number in numbers[:2]:  # the first one compiles what all need
                outcome = self._job.run(sample(number))
                yield number, outcome
            numbers = numbers[2:]
            self.name = "processes" if outcome.seconds < SHORT and self._can_travel() else "threads"
        yield from Here(self.name, self._count, self._worker).outcomes(numbers, sample)

    def _can_travel(self) -> bool:
        """Whether a process can have the job: a copy has it, a new one must be sent it."""
        if not FORKS:
            try:
                self._packed = self._job.packed()
            except DalembertError:
                return False
        return True

    def _worker(self) -> Worker:
        if self.name != "processes":
            return Local(self._job)
        return Forked(self._job) if FORKS else Spawned(self._packed)


class Cluster:
    """A cluster of Dask, by its client. What becomes of workers that die is Dask's affair."""

    name = "cluster"

    def __init__(self, client: Any, packed: bytes):
        self._client, self._packed = client, packed

    def outcomes(self, numbers: Sequence[int], sample: Samples) -> Iterator[tuple[int, Outcome]]:
        from dask.distributed import as_completed

        client, todo, running = self._client, iter(numbers), {}
        job = client.scatter(self._packed, broadcast=True)
        finished = as_completed()

        def submit(most: int) -> None:
            for _, number in zip(range(most), todo, strict=False):
                future = client.submit(run_packed, job, dict(sample(number)), pure=False)
                running[future.key] = number, future
                finished.add(future)

        try:
            submit(AHEAD * max(1, sum(client.nthreads().values())))
            while running:
                future = next(finished)
                number, _ = running.pop(future.key)
                submit(1)
                error = future.exception()
                if error is None:
                    yield number, future.result()
                else:
                    yield number, Outcome(status=FAILED, message=f"{type(error).__name__}: {error}", lasting=False)
        finally:
            client.cancel([future for _, future in running.values()])


_arrived: tuple[bytes, Job] | None = None


def run_packed(packed: bytes, sample: Mapping[str, Any]) -> Outcome:
    """One member, by a worker of a cluster that may have seen the job before."""
    global _arrived
    if _arrived is None or _arrived[0] != packed:
        _arrived = packed, pickle.loads(packed)
    return _arrived[1].run(sample)


def engine_for(job: Job, workers: int | None, wanted: str, client: Any, members: int = 0) -> Engine:
    """Who shall simulate so many members."""
    if client is not None:
        return Cluster(client, job.packed())
    if wanted == "generated" or (wanted == "auto" and members >= FEWEST and applies(job)):
        other = None if wanted == "generated" else engine_for(job, workers, wanted, client)
        return Generated(job, workers, other)
    count = workers or processors()
    if wanted == "processes" or (wanted == "auto" and count > 1 and job.model.untraceable):
        try:
            packed = job.packed()
        except DalembertError:  # a function that cannot travel: threads are slower, but right
            if wanted == "processes":
                raise
        else:
            return Here("processes", count, lambda: Spawned(packed))
    return Measured(job, count) if wanted == "auto" else Here("threads", count, lambda: Local(job))
