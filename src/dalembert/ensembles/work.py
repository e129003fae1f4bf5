"""Who integrates: this processor, with all its cores, or a GPU. Members are worked on in blocks.

A block has arrays of its own, one row for each number and one column for each member (`layout.INTEGRATE`): what its
members share stands there once. Results go to the arrays of the whole ensemble as soon as a block is done.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from dalembert.compile.generated.code import Target
from dalembert.compile.generated.cuda import Buffer, Device, Loaded, Moment, Stream
from dalembert.compile.generated.group import TAPES
from dalembert.compile.generated.nvptx import GROUPS, SLOW_THREADS, THREADS
from dalembert.ensembles.members import Members
from dalembert.solvers.half.generated.layout import INTEGRATE, N_COUNTERS, START, Counter
from dalembert.solvers.half.generated.program import Program
from dalembert.solvers.half.generated.start import FOUND

#: members of a block on this processor: some tenths of a second, so that Ctrl-C is heard
HOST_BLOCK = 512
#: of a block on a GPU at most, and the part of its free memory that two blocks may take
GPU_BLOCK, GPU_SHARE = 1 << 18, 0.5
#: threads that a GPU starts together: many where there are more members than it can work on at once, and few otherwise,
#: so that all its multiprocessors have some
MANY_TOGETHER, FEW_TOGETHER = 256, 32
#: threads that a GPU carries along together
WARP = 32
#: numbers of a member beyond which one thread is not enough: its registers hold some of them, and slow memory the rest
LARGE = 500
#: operations of an elimination beyond which straight code takes too long to translate: groups have tapes
LONGEST = 8000


@dataclass(frozen=True)
class Common:
    """Arrays that all members share, by name."""

    shared: np.ndarray
    options: np.ndarray
    tolerances: np.ndarray
    stretches: np.ndarray
    times: np.ndarray
    tables: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        return dict(self.__dict__)


@dataclass
class Results:
    """Arrays of the whole ensemble; rows are numbers, columns members."""

    x: np.ndarray  # p, v, r at the end
    a: np.ndarray
    lam: np.ndarray  # and μ
    t: np.ndarray
    counts: np.ndarray  # rows of `Counter`
    irregular: np.ndarray  # members whose start values generated code could not find
    correction: np.ndarray  # of start values
    dense: np.ndarray  # times, unknowns, members
    roots: np.ndarray  # events × room, members
    found: np.ndarray  # events, members
    done: np.ndarray


    def forget_the_rest(self) -> None:
        """Members that are not done have no results."""
        for array in (self.x, self.a, self.lam, self.t, self.dense, self.roots):
            array[..., ~self.done] = np.nan


def new_results(n: int, program: Program, times: int, room: int) -> Results:
    """Memory for them: what is there means nothing before a member is `done`."""
    model, events = program.model, len(program.events)
    return Results(
        x=np.empty((model.n_d, n)), a=np.empty((model.n_v, n)), lam=np.empty((model.n_m, n)), t=np.empty(n),
        counts=np.zeros((N_COUNTERS, n), np.int32), irregular=np.zeros(n, bool), correction=np.zeros(n),
        dense=np.empty((times, program.n_outputs, n)), roots=np.empty((events * room, n)),
        found=np.zeros((events, n), np.int32), done=np.zeros(n, bool),
    )  # fmt: skip


@dataclass(frozen=True)
class Job:
    """An ensemble, ready to be integrated."""

    program: Program
    members: Members
    theta: np.ndarray  # what members share of it
    common: Callable[[], Common]
    trust: bool  # start values are taken as they are
    times: int
    room: int

    def rows(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Shapes, but for the columns, and types of the arrays of a block."""
        model, events = self.program.model, len(self.program.events)
        reals = {
            "member": (len(self.members.varied),), "x0": (model.n_d,), "x": (model.n_d,), "a": (model.n_v,),
            "lam": (model.n_m,), "t": (1,), "dense": (self.times, self.program.n_outputs),
            "roots": (events * self.room,), "correction": (1,),
        }  # fmt: skip
        counts = {"counts": (N_COUNTERS,), "found": (events,)}
        return {**{k: (v, np.float64) for k, v in reals.items()}, **{k: (v, np.int32) for k, v in counts.items()}}

    def fill(self, arrays: Mapping[str, np.ndarray], first: int, last: int) -> None:
        """Numbers of the members first … last − 1; columns that are left are like the last of them."""
        count = last - first
        for row, place in enumerate(self.members.varied):
            arrays["member"][row, :count] = self.members.theta[place][first:last]
        for row, value in enumerate(self.members.start):
            arrays["x0"][row, :count] = value if isinstance(value, float) else value[first:last]
        for name in ("member", "x0"):
            arrays[name][:, count:] = arrays[name][:, count - 1 : count]

    def take(self, results: Results, arrays: Mapping[str, np.ndarray], first: int, last: int) -> None:
        """Put the results of a block where they belong."""
        count, where = last - first, slice(first, last)
        for name in ("x", "a", "lam", "counts", "dense", "roots", "found"):
            getattr(results, name)[..., where] = arrays[name][..., :count]
        results.t[where], results.correction[where] = arrays["t"][0, :count], arrays["correction"][0, :count]
        # what was not reached is whatever was there before
        reached = results.counts[Counter.OUTPUTS, where]
        if self.times and (reached < self.times).any():
            results.dense[..., where][~_first(self.times, reached)[:, None].repeat(self.program.n_outputs, 1)] = np.nan
        for e, found in enumerate(results.found[:, where]):
            rows = results.roots[e * self.room : (e + 1) * self.room, where]
            rows[~_first(self.room, found)] = np.nan
        results.done[where] = True


def _first(count: int, reached: np.ndarray) -> np.ndarray:
    """Mask (count, members) of what lies before the number that each member has reached."""
    return np.arange(count)[:, None] < reached


# -- this processor ----------------------------------------------------------------------------------------------------


class HostWork:
    """Threads, each of which has a block under way."""

    def __init__(self, job: Job, workers: int | None = None):
        self.job, self.host = job, job.program.host
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
        job.fill(arrays, first, last)
        if job.trust:
            arrays["x"][...] = arrays["x0"]
        else:
            host.run("start", 0, stride, stride, arrays)
            results.irregular[first:last] = arrays["counts"][Counter.STATUS, : last - first] != FOUND
        arrays["x0"][...] = arrays["x"]
        host.run("integrate", 0, stride, stride, arrays)
        job.take(results, arrays, first, last)

    def _arrays(self, stride: int) -> dict[str, np.ndarray]:
        """Of this thread, for blocks of one size."""
        known = self._own.__dict__.setdefault("arrays", {})
        if stride not in known:
            known.clear()
            known[stride] = {
                name: np.zeros((*shape, stride), kind) for name, (shape, kind) in self.job.rows().items()
            } | self._common
        return known[stride]


def processors() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -- a GPU -------------------------------------------------------------------------------------------------------------


class GpuWork:
    """Blocks on a device: while one is integrated, the next is sent and the last one fetched."""

    def __init__(self, job: Job, device: Device, target: Target | None = None):
        self.job, self.device, self.name = job, device, f"gpu: {device.name}"
        self.target = target or gpu_target(job.program, device)
        self.loaded: Loaded = device.load(job.program.ptx(self.target, device.capability))
        self.written = job.program.written(self.target)
        self.spans: list[tuple[float, float]] = []  # of kernels, in seconds since the first
        self.together = MANY_TOGETHER if job.members.n >= device.multiprocessors * MANY_TOGETHER else FEW_TOGETHER

    @property
    def seconds(self) -> float:
        """In which kernels were at work."""
        total, reached = 0.0, 0.0
        for begin, end in sorted(self.spans):
            total += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
        return total

    def blocks(self) -> tuple[int, int]:
        """How many there are, and how many members each has."""
        n = self.job.members.n
        each = sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in self.job.rows().values())
        most = max(WARP, min(GPU_BLOCK, int(GPU_SHARE * self.device.free_bytes() / 2 / max(each, 1))))
        count = -(-n // most)
        return count, -(-n // (count * WARP)) * WARP

    def run(self, results: Results, tell: Callable[[int], None]) -> None:
        job, device, n = self.job, self.device, self.job.members.n
        device.enter()
        count, size = self.blocks()
        everything = job.common().arrays()
        if self.written.tapes is not None:
            everything |= dict(zip(TAPES, self.written.tapes.arrays(), strict=True))
        common = {name: _sent(device, array) for name, array in everything.items()}
        self.begun = Moment(device)
        slots: list[Slot] = []
        try:
            blocks = ((first, min(first + size, n)) for first in range(0, n, size))
            slots = [Slot(self, size, common) for _ in range(min(count, 2))]
            for buffer in common.values():
                buffer.send(slots[0].stream)
            slots[0].stream.wait()
            self.begun.mark(slots[0].stream)
            done, k = 0, 0
            for first, last in blocks:
                slot = slots[k % len(slots)]
                done += slot.collect(results)
                tell(done)
                slot.begin(first, last)
                k += 1
            for slot in slots[k % len(slots) :] + slots[: k % len(slots)]:
                done += slot.collect(results)
                tell(done)
        finally:
            for slot in slots:
                slot.close()
            for buffer in common.values():
                buffer.close()
            self.begun.close()


def gpu_target(program: Program, device: Device) -> Target:
    """Who has a member: a thread with registers, one with slow memory, or a group of threads with fast memory."""
    model, definitions = program.model, program.definitions
    vectors = 2 * model.n_d + 4 * model.n_v + 2 * definitions.n_q + definitions.n_at + definitions.n_factors
    if vectors + program.recipe.scheme.tableau.stages * definitions.n_rates <= LARGE:
        return THREADS
    length = len(model.graph.needed(definitions.functions["once"].roots, frozenset()))
    if length <= LONGEST or device.capability < (7, 0):
        return SLOW_THREADS
    for target in GROUPS[::-1]:  # those of a warp do not wait for each other
        places = program.written(target).places
        if fast_bytes(target, max(places.values())) <= device.fast_bytes:
            return target
    return SLOW_THREADS


def fast_bytes(target: Target, places: int) -> int:
    """Of the members that one warp has."""
    return 8 * (places + places % 2) * (WARP // target.group)


def _sent(device: Device, array: np.ndarray) -> Buffer:
    buffer = Buffer(device, array.shape, array.dtype)
    buffer.array[...] = array
    return buffer


class Slot:
    """Memory for a block, and the stream on which it is worked on."""

    def __init__(self, work: GpuWork, size: int, common: Mapping[str, Buffer]):
        self.work, self.size, self.common = work, size, common
        device = work.device
        self.stream, self.first, self.last = Stream(device), Moment(device), Moment(device)
        self.buffers = {name: Buffer(device, (*shape, size), kind) for name, (shape, kind) in work.job.rows().items()}
        self.arrays = {name: buffer.array for name, buffer in self.buffers.items()}
        self.block: tuple[int, int] | None = None
        self._status = Buffer(device, (N_COUNTERS, size), np.int32)  # of the start

    def begin(self, first: int, last: int) -> None:
        """Send a block and start its kernels; nobody waits."""
        job, stream = self.work.job, self.stream
        self.block = first, last
        job.fill(self.arrays, first, last)
        for name in ("member", "x0"):
            if self.arrays[name].size:
                self.buffers[name].send(stream)
        self.first.mark(stream)
        if not job.trust:
            # corrected values take the place of those that were given
            self._launch("start", START, {"x": "x0", "counts": ""}, last - first)
        self._launch("integrate", INTEGRATE, {}, last - first)
        self.last.mark(stream)
        wanted = ["x", "a", "lam", "t", "counts", "dense", "roots", "found", *([] if job.trust else ["correction"])]
        for name in wanted:
            if self.arrays[name].size:
                self.buffers[name].fetch(stream)
        if not job.trust:
            self._status.fetch(stream)

    def _launch(self, kernel: str, names: tuple[str, ...], others: Mapping[str, str], count: int) -> None:
        arguments: list = [ctypes.c_int64(count), ctypes.c_int64(self.size)]
        target = self.work.target
        for name in (*names, *(TAPES if target.group else ())):
            name = others.get(name, name)
            buffer = self._status if not name else self.common.get(name) or self.buffers[name]
            arguments.append(buffer.address)
        function = self.work.loaded.function(kernel)
        if target.group:
            fast = fast_bytes(target, self.work.written.places[kernel])
            function.launch(count * target.group, WARP, arguments, self.stream, fast)
        else:
            function.launch(count, self.work.together, arguments, self.stream)

    def collect(self, results: Results) -> int:
        """Wait for the block under way; returns how many members it had."""
        if self.block is None:
            return 0
        first, last = self.block
        self.stream.wait()
        self.work.spans.append((self.first.since(self.work.begun), self.last.since(self.work.begun)))
        self.work.job.take(results, self.arrays, first, last)
        if not self.work.job.trust:
            status = self._status.array[Counter.STATUS, : last - first]
            results.irregular[first:last] = status != FOUND
        self.block = None
        return last - first

    def close(self) -> None:
        if self.block is not None:  # the driver still writes there
            self.work.device.driver.attempt("cuStreamSynchronize", self.stream.handle)
        for buffer in (*self.buffers.values(), self._status):
            buffer.close()
        self.first.close()
        self.last.close()
        self.stream.close()
