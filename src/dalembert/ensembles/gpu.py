"""Blocks of members on a GPU: while some are integrated, the next is sent and the last one fetched."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

import numpy as np

from dalembert.compile.copying import Copies
from dalembert.compile.generated.code import Target
from dalembert.compile.generated.cuda import Buffer, Device, Loaded, Moment, Stream
from dalembert.compile.generated.group import TAPES
from dalembert.compile.generated.nvptx import GROUPS, SLOW_THREADS, THREADS
from dalembert.ensembles.job import RESULTS, WATCHED, Job, Results
from dalembert.ensembles.pieces import Copiers
from dalembert.solvers.half.generated.layout import N_COUNTERS, Counter
from dalembert.solvers.half.generated.places import QUEUE
from dalembert.solvers.half.generated.program import Program, arguments_of
from dalembert.solvers.half.generated.start import FOUND

#: how many blocks are under way, so that the device has work while this processor copies, and the part of the device's
#: free memory that they may take
SLOTS, GPU_SHARE = 4, 0.5
#: members of a block at most, and bytes: a block costs Python's time, and the device rests while the first is sent
GPU_BLOCK, GPU_BYTES = 1 << 20, 1 << 28
#: members of a block as long as there are fewer blocks than may be under way
GPU_FEW = 1 << 19
#: threads that are started together: many where there are more members than the device can work on at once, and few
#: otherwise, so that all its multiprocessors have some
MANY_TOGETHER, FEW_TOGETHER = 256, 32
#: threads that are carried along together
WARP = 32
#: numbers of a member beyond which one thread is not enough: its registers hold some of them, and slow memory the rest
LARGE = 500
#: operations of an elimination beyond which straight code takes too long to translate: groups have tapes
LONGEST = 8000


class GpuWork:
    """Blocks on a device."""

    def __init__(self, job: Job, device: Device, copiers: Copiers):
        self.job, self.device, self.copiers, self.name = job, device, copiers, f"gpu: {device.name}"
        self.target = gpu_target(job.program, device)
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
        n, each = self.job.members.n, self.job.bytes_each()
        most = min(GPU_BLOCK, GPU_BYTES // each, int(GPU_SHARE * self.device.free_bytes() / SLOTS / each))
        count = max(-(-n // max(most, WARP)), min(SLOTS, -(-n // GPU_FEW)))
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
            slots = [Slot(self, size, common) for _ in range(min(count, SLOTS))]
            for buffer in common.values():
                buffer.send(slots[0].stream)
            slots[0].stream.wait()
            self.begun.mark(slots[0].stream)
            done, k = 0, 0
            for first, last in blocks:
                slot = slots[k % len(slots)]
                done += slot.collect(results)
                tell(done)
                slot.begin(first, last, results)
                k += 1
                if k == len(slots):  # the device has work for a while
                    job.members.keep(self.copiers)
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
    length = len(model.graph.needed(definitions.functions["once"].nodes, frozenset()))
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
        if work.target.queue:
            queue = self.buffers[QUEUE[0]] = Buffer(device, (1,), np.int64)
            queue.array[:] = 0
        self.block: tuple[int, int] | None = None
        self.copies = Copies(())
        self._status = Buffer(device, (N_COUNTERS, size), np.int32)  # of the start

    def begin(self, first: int, last: int, results: Results) -> None:
        """Send a block and start its kernels; nobody waits, but for memory of its results."""
        job, stream = self.work.job, self.stream
        self.block = first, last
        copies = job.incoming(self.arrays, first, last - first)
        self.work.copiers.share(last - first, job.bytes_each("member", "x0"), copies.carry_out)
        for name in ("member", "x0"):
            if self.arrays[name].size:
                self.buffers[name].send(stream)
        self.first.mark(stream)
        if not job.trust:
            # corrected values take the place of those that were given
            self._launch("start", last - first, {"x": "x0", "counts": ""})
        self._launch("integrate", last - first)
        self.last.mark(stream)
        wanted = ["x", "a", "lam", "t", "counts", "dense", "roots", "found", *([] if job.trust else ["correction"])]
        for name in wanted:
            if self.arrays[name].size:
                self.buffers[name].fetch(stream)
        if not job.trust:
            self._status.fetch(stream)
        self.copies = job.outgoing(results, self.arrays, first, last - first)
        self.work.copiers.share(last - first, job.bytes_each(*RESULTS), self.copies.make_room)

    def _launch(self, kernel: str, count: int, others: Mapping[str, str] | None = None) -> None:
        """`others`: buffers that take the place of those with an argument's name; the status of the start has none."""
        arguments: list = [ctypes.c_int64(count), ctypes.c_int64(self.size)]
        work, target = self.work, self.work.target
        for name in arguments_of(kernel, target):
            name = (others or {}).get(name, name)
            buffer = self._status if not name else self.common.get(name) or self.buffers[name]
            arguments.append(buffer.address)
        function, together = work.loaded.function(kernel), work.together
        if target.group:
            fast = fast_bytes(target, work.written.places[kernel])
            function.launch(count * target.group, WARP, arguments, self.stream, fast)
            return
        if QUEUE[0] in arguments_of(kernel, target):
            self.buffers[QUEUE[0]].send(self.stream)  # nobody has been taken
            count = min(count, work.device.multiprocessors * function.at_once(together))
        function.launch(count, together, arguments, self.stream)

    def collect(self, results: Results) -> int:
        """Wait for the block under way; returns how many members it had."""
        if self.block is None:
            return 0
        first, last = self.block
        self.stream.wait()
        self.work.spans.append((self.first.since(self.work.begun), self.last.since(self.work.begun)))
        job, share = self.work.job, self.work.copiers.share

        def complete(begin: int, end: int) -> None:
            if not job.trust:
                status = self._status.array[Counter.STATUS, begin:end]
                results.irregular[first + begin : first + end] = status != FOUND
            job.complete(results, first + begin, first + end)

        share(last - first, job.bytes_each(*RESULTS), self.copies.carry_out)
        share(last - first, job.bytes_each(*WATCHED), complete)
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
