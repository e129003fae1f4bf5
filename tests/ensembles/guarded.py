"""Run ensembles whose arrays lie right behind, or right before, pages that nobody may touch: a process of its own.

python guarded.py behind|before
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import warnings

import numpy as np
from families import family

import dalembert as da
from dalembert.compile.generated.code import Target
from dalembert.compile.generated.host import compile_host
from dalembert.ensembles.cores import HostWork
from dalembert.solvers.half.generated.program import Host

PAGE = mmap.PAGESIZE
FORBIDDEN, ALLOWED = 0, mmap.PROT_READ | mmap.PROT_WRITE
libc = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """A copy of an array between two pages without access."""

    def __init__(self, array: np.ndarray, *, behind: bool):
        pages = -(-array.nbytes // PAGE)
        self._map = mmap.mmap(-1, (pages + 2) * PAGE)
        self._begin = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        offset = PAGE if behind else (pages + 1) * PAGE - array.nbytes
        self.array = np.frombuffer(self._map, array.dtype, array.size, offset).reshape(array.shape)
        self.array[...] = array
        self._protect(FORBIDDEN)

    def _protect(self, access: int) -> None:
        for at in (self._begin, self._begin + len(self._map) - PAGE):
            if libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(PAGE), access):
                raise OSError(ctypes.get_errno(), "mprotect")

    def back(self, array: np.ndarray) -> None:
        array[...] = self.array
        self._protect(ALLOWED)


usual_run, usual_init = Host.run, HostWork.__init__


def install(behind: bool, target: Target | None) -> None:
    """Let all kernels work on guarded arrays, with code for the given target."""

    def run(self, kernel, first, last, stride, arrays):
        guards = {name: Guarded(array, behind=behind) for name, array in arrays.items() if array.size}
        usual_run(self, kernel, first, last, stride, arrays | {name: guard.array for name, guard in guards.items()})
        for name, guard in guards.items():
            guard.back(arrays[name])

    def init(self, job, copiers, workers=None):
        if target is not None:
            code = compile_host(job.program.written(target).module, ("start", "integrate"))
            job.program.__dict__["host"] = Host(code, target)
        usual_init(self, job, copiers, workers)

    Host.run, HostWork.__init__ = run, init


def everything(behind: bool) -> None:
    for target in (None, Target(width=1)):
        install(behind, target)
        for name in ("pendulum", "andrews", "heavy_top"):
            given = family(name, 5)
            t1 = given["t_span"][1]
            events = [
                da.Event(lambda s, t=0.3 * t1: s.t - t, name="clock"),
                da.Event(lambda s, t=0.9 * t1: s.t - t, terminal=1),
            ]
            da.ensemble(**given, device="cpu", workers=1)
            found = da.ensemble(
                **given, device="cpu", workers=1, events=events, roots=1, t_eval=np.linspace(0, t1, 4), multipliers=True
            )
            assert (found.status == "ended by event").all(), found.errors
        drive = {"u": da.Input(lambda t: np.where(t < 0.5, -1.0, 1.0), breakpoints=[0.0, 0.5, 1.0])}
        spline = {"u": da.Input.table([0, 0.5, 1], [0, 1, 0])}
        for inputs in (drive, spline):
            model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [s.u], inputs=inputs)
            event = da.Event(lambda s: s.u - 0.5, name="jump")
            for span in ((0, 1), (1, 0), (-1, 2), (0.5, 0.5)):
                found = da.ensemble(
                    model, span, p0=[0.0], n=3, events=event, t_eval=[*span[:1], *span[1:]][: 1 + (span[0] != span[1])],
                    device="cpu",
                )  # fmt: skip
                assert found.success.all(), found.errors


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    everything(sys.argv[1] == "behind")
    sys.stdout.write("nothing was touched\n")
