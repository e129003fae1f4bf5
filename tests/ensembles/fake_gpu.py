"""A driver without a GPU: memory of the "device" is that of this process, and kernels are those for this processor.

What is real are the calls: memory, copies, streams, modules, arguments of kernels. Each function answers as NVIDIA's.
"""

from __future__ import annotations

import ctypes

import numpy as np

from dalembert.compile.generated.code import Target
from dalembert.compile.generated.cuda import Device, Driver
from dalembert.compile.generated.host import compile_host
from dalembert.solvers.half.generated.program import KERNELS, arguments_of

ATTRIBUTES = {16: 132, 75: 9, 76: 0, 97: 227 * 1024}
INVALID, OUT_OF_MEMORY = 1, 2
AT_ONCE = 256  # threads of a multiprocessor


class FakeLibrary:
    """Functions of libcuda."""

    def __init__(self, *, version=12080, capability=(9, 0), free=1 << 34, count=1):
        self.version, self.capability, self.free, self.count = version, capability, free, count
        self.calls: list[str] = []
        self.memory: dict[int, np.ndarray] = {}
        self.modules: dict[bytes, tuple] = {}
        self.loaded: list[tuple] = []
        self.functions: list[tuple] = []
        self.launches: list[tuple[str, int, int, int]] = []
        self.streams, self.clock, self.moments = 0, 0, []

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name.startswith("cu"):
            self.calls.append(name)
        return found

    # -- the device ------------------------------------------------------------------------------------------------

    def cuInit(self, flags):
        return 0

    def cuDriverGetVersion(self, out):
        out._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, out):
        out._obj.value = self.count
        return 0

    def cuDeviceGet(self, out, number):
        out._obj.value = number
        return 0

    def cuDeviceGetName(self, out, size, device):
        out.value = b"Fake"
        return 0

    def cuDeviceGetAttribute(self, out, which, device):
        out._obj.value = {**ATTRIBUTES, 75: self.capability[0], 76: self.capability[1]}[which]
        return 0

    def cuDevicePrimaryCtxRetain(self, out, device):
        out._obj.value = 1
        return 0

    def cuCtxSetCurrent(self, context):
        return 0 if context.value == 1 else INVALID

    def cuMemGetInfo_v2(self, free, total):
        free._obj.value, total._obj.value = self.free, 1 << 36
        return 0

    def cuGetErrorString(self, code, out):
        out._obj.value = {1: b"invalid value", 2: b"out of memory"}.get(code.value, b"unknown error")
        return 0

    # -- memory ----------------------------------------------------------------------------------------------------

    def _allocate(self, out, size):
        if size.value > self.free:
            return OUT_OF_MEMORY
        # what is there is not zero: nobody may rely on it
        array = np.full(size.value // 8 + 8, np.nan)
        out._obj.value = array.ctypes.data
        self.memory[array.ctypes.data] = array
        return 0

    def cuMemAlloc_v2(self, out, size):
        return self._allocate(out, size)

    def cuMemHostAlloc(self, out, size, flags):
        return self._allocate(out, size)

    def _free(self, address):
        return 0 if self.memory.pop(address.value, None) is not None else INVALID

    cuMemFree_v2 = cuMemFreeHost = _free

    def cuMemcpyHtoDAsync_v2(self, to, source, size, stream):
        ctypes.memmove(to.value, source.value, size.value)
        return 0

    def cuMemcpyDtoHAsync_v2(self, to, source, size, stream):
        ctypes.memmove(to.value, source.value, size.value)
        return 0

    # -- code ------------------------------------------------------------------------------------------------------

    def cuModuleLoadDataEx(self, out, text, count, options, values):
        if text not in self.modules:
            return INVALID
        self.loaded.append(self.modules[text])
        out._obj.value = len(self.loaded)
        return 0

    def cuModuleUnload(self, module):
        return 0

    def cuModuleGetFunction(self, out, module, name):
        self.functions.append((self.loaded[module.value - 1], name.decode()))
        out._obj.value = len(self.functions)
        return 0

    def cuFuncGetAttribute(self, out, which, function):
        out._obj.value = 64
        return 0

    def cuFuncSetAttribute(self, function, which, value):
        return 0 if value <= ATTRIBUTES[97] else INVALID

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, out, function, block, fast):
        out._obj.value = AT_ONCE // block
        return 0

    def cuLaunchKernel(self, function, grid, y, z, block, by, bz, fast, stream, places, extra):
        (program, target), name = self.functions[function.value - 1]
        self.launches.append((name, grid, block, fast))
        here = Target(width=1, group=target.group, queue=target.queue)
        names = arguments_of(name, here)
        code = compile_host(program.written(here).module, tuple(KERNELS))
        words = [ctypes.cast(places[k], ctypes.POINTER(ctypes.c_int64))[0] for k in range(len(names) + 2)]
        threads = max(target.group, 1)
        if "taken" in names:
            assert ctypes.c_int64.from_address(words[-1]).value == 0  # all members are there to be taken
            assert grid * block <= max(words[0], ATTRIBUTES[16] * AT_ONCE) + block
        else:
            assert grid * block >= words[0] * threads  # every member has its threads
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * len(names))
        kind(code.addresses[name])(0, words[0], words[1], *words[2:])
        return 0

    # -- streams ---------------------------------------------------------------------------------------------------

    def cuStreamCreate(self, out, flags):
        self.streams += 1
        out._obj.value = self.streams
        return 0

    def cuStreamSynchronize(self, stream):
        return 0

    def cuStreamDestroy_v2(self, stream):
        self.streams -= 1
        return 0

    def cuEventCreate(self, out, flags):
        self.moments.append(0)
        out._obj.value = len(self.moments)
        return 0

    def cuEventRecord(self, event, stream):
        self.clock += 1
        self.moments[event.value - 1] = self.clock
        return 0

    def cuEventSynchronize(self, event):
        return 0

    def cuEventElapsedTime(self, out, first, second):
        out._obj.value = float(self.moments[second.value - 1] - self.moments[first.value - 1])
        return 0

    def cuEventDestroy_v2(self, event):
        return 0


def install(monkeypatch, library: FakeLibrary | None = None) -> FakeLibrary:
    """Let `device="gpu"` find a device that is none."""
    from dalembert.compile.generated import cuda
    from dalembert.solvers.half.generated.program import Program

    library = library or FakeLibrary()
    device = Device(Driver(library))

    def ptx(program, target, capability):
        text = f"{id(program)} {target.group}"
        library.modules[text.encode() + b"\0"] = program, target
        return text

    monkeypatch.setattr(Program, "ptx", ptx)
    monkeypatch.setattr(cuda, "find_device", lambda: device)
    return library
