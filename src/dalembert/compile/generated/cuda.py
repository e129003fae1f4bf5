"""NVIDIA's driver through ctypes: devices, modules of PTX, memory, streams. Nothing else of CUDA has to be installed.

The library that is asked can be replaced (`Driver(library)`), so that everything around a device is tested without one.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.compile.generated.nvptx import KNOWN
from dalembert.errors import NoDevice
from dalembert.locks import renewed

#: CUDA 11.0, the first that knows the devices that code is written for
OLDEST_DRIVER = 11000

# numbers of the driver's interface
MULTIPROCESSORS, MAJOR, MINOR, FAST_BYTES = 16, 75, 76, 97  # attributes of devices
LOCAL_BYTES, REGISTERS, MOST_FAST_BYTES = 3, 4, 8  # of functions
USUAL_FAST_BYTES = 48 * 1024  # that functions may have without asking
LOG_BUFFER, LOG_SIZE = 5, 6  # options of the translator
LOG_BYTES = 8192

ADVICE = "device='cpu' runs the same on all cores of this machine"


class Driver:
    """The driver's functions, with exceptions in place of codes."""

    def __init__(self, library: Any):
        self._library = library

    def __call__(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            raise NoDevice(f"the GPU refused {name}: {self._words(code)}. {ADVICE}")

    def attempt(self, name: str, *arguments: Any) -> int:
        """The code of a function that may fail."""
        return getattr(self._library, name)(*arguments)

    def _words(self, code: int) -> str:
        text = c_char_p()
        if self._library.cuGetErrorString(c_int(code), byref(text)) or not text.value:
            return f"error {code}"
        return f"{text.value.decode(errors='replace')} (error {code})"


def _library() -> Any:
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoDevice(
        f"there is no NVIDIA GPU here, or its driver is not installed ({names[0]} was not found). {ADVICE}"
    )


@functools.cache
def find_device() -> Device:
    """The first device of this machine; raises NoDevice where there is none that can be used."""
    driver = Driver(_library())
    code = driver.attempt("cuInit", 0)
    if code:
        raise NoDevice(f"the driver of the NVIDIA GPU cannot be used: {driver._words(code)}. {ADVICE}")
    return Device(driver)


class Device:
    """A GPU with its context, in which all threads of this process work."""

    def __init__(self, driver: Driver, number: int = 0):
        self.driver = driver
        version, count = c_int(), c_int()
        driver("cuDriverGetVersion", byref(version))
        if version.value < OLDEST_DRIVER:
            raise NoDevice(
                f"the NVIDIA driver is too old: it knows CUDA {_dotted(version.value)}, and {_dotted(OLDEST_DRIVER)} "
                f"is needed. Update it, or: {ADVICE}"
            )
        driver("cuDeviceGetCount", byref(count))
        if not count.value:
            raise NoDevice(f"the NVIDIA driver is there, but no GPU ($CUDA_VISIBLE_DEVICES may hide it). {ADVICE}")
        handle = c_int()
        driver("cuDeviceGet", byref(handle), number)
        name = ctypes.create_string_buffer(256)
        driver("cuDeviceGetName", name, 256, handle)
        self.name = name.value.decode(errors="replace")
        self.capability = (self._attribute(MAJOR, handle), self._attribute(MINOR, handle))
        self.multiprocessors = self._attribute(MULTIPROCESSORS, handle)
        self.fast_bytes = self._attribute(FAST_BYTES, handle)  # of a group of threads at most
        self.version = version.value
        if self.capability < KNOWN[0]:
            raise NoDevice(
                f"'{self.name}' has compute capability {_numbers(self.capability)}; {_numbers(KNOWN[0])} is the least "
                f"that there is code for. {ADVICE}"
            )
        self._context = c_void_p()
        driver("cuDevicePrimaryCtxRetain", byref(self._context), handle)
        self._modules: dict[str, Loaded] = {}
        self._lock = renewed(threading.Lock())
        self.pieces = Pieces(self)
        self.enter()

    def _attribute(self, which: int, handle: c_int) -> int:
        value = c_int()
        self.driver("cuDeviceGetAttribute", byref(value), which, handle)
        return value.value

    def enter(self) -> None:
        """To be called in every thread that works with the device."""
        self.driver("cuCtxSetCurrent", self._context)

    def free_bytes(self) -> int:
        free, total = c_size_t(), c_size_t()
        self.driver("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def load(self, ptx: str) -> Loaded:
        """A module; the driver translates it, and keeps that on disk itself."""
        with self._lock:
            loaded = self._modules.get(ptx)
            if loaded is None:
                if len(self._modules) >= MOST_MODULES:
                    self._modules.pop(next(iter(self._modules))).unload()
                loaded = self._modules[ptx] = Loaded(self, ptx)
            return loaded

    def __repr__(self) -> str:
        return f"Device({self.name!r}, compute capability {_numbers(self.capability)})"


#: that stay loaded
MOST_MODULES = 16


def _numbers(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


class Loaded:
    """A module on a device."""

    def __init__(self, device: Device, ptx: str):
        self.device, self._functions = device, {}
        self._handle = c_void_p()
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (c_int * 2)(LOG_BUFFER, LOG_SIZE)
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), c_void_p(LOG_BYTES))
        text = ptx.encode() + b"\0"
        code = device.driver.attempt("cuModuleLoadDataEx", byref(self._handle), text, 2, options, values)
        if code:
            said = " ".join(log.value.decode(errors="replace").split())[:500]
            raise NoDevice(f"'{device.name}' cannot load the code: {device.driver._words(code)}. {said} {ADVICE}")

    def function(self, name: str) -> Function:
        if name not in self._functions:
            handle = c_void_p()
            self.device.driver("cuModuleGetFunction", byref(handle), self._handle, name.encode())
            self._functions[name] = Function(self.device, handle)
        return self._functions[name]

    def unload(self) -> None:
        self.device.driver.attempt("cuModuleUnload", self._handle)


@dataclass
class Function:
    """A kernel."""

    device: Device
    handle: c_void_p
    allowed: int = 0  # bytes of fast memory that it has asked for

    def attribute(self, which: int) -> int:
        value = c_int()
        self.device.driver("cuFuncGetAttribute", byref(value), which, self.handle)
        return value.value

    def at_once(self, group: int) -> int:
        """How many threads, in such groups, a multiprocessor works on at the same time."""
        groups = c_int()
        self.device.driver(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(groups), self.handle, group, c_size_t(0)
        )
        return max(groups.value, 1) * group

    def launch(self, threads: int, group: int, arguments: list[Any], stream: Stream, fast_bytes: int = 0) -> None:
        """At least so many threads, in groups with fast memory of their own; arguments are ctypes numbers."""
        if fast_bytes > max(self.allowed, USUAL_FAST_BYTES):
            self.device.driver("cuFuncSetAttribute", self.handle, MOST_FAST_BYTES, fast_bytes)
            self.allowed = fast_bytes
        places = (c_void_p * len(arguments))(*(ctypes.cast(ctypes.pointer(a), c_void_p) for a in arguments))
        groups = -(-threads // group)
        self.device.driver(
            "cuLaunchKernel", self.handle, groups, 1, 1, group, 1, 1, fast_bytes, stream.handle, places, None
        )


class Stream:
    """Work that is done in order, beside that of other streams."""

    def __init__(self, device: Device):
        self.device, self.handle = device, c_void_p()
        device.driver("cuStreamCreate", byref(self.handle), 1)

    def wait(self) -> None:
        """Until everything is done; raises what went wrong on the way."""
        self.device.driver("cuStreamSynchronize", self.handle)

    def close(self) -> None:
        self.device.driver.attempt("cuStreamDestroy_v2", self.handle)


class Moment:
    """A place on a stream, whose time is known once the stream has come there."""

    def __init__(self, device: Device):
        self.device, self.handle = device, c_void_p()
        device.driver("cuEventCreate", byref(self.handle), 0)

    def mark(self, stream: Stream) -> None:
        self.device.driver("cuEventRecord", self.handle, stream.handle)

    def since(self, earlier: Moment) -> float:
        """Seconds; waits for this moment."""
        value = c_float()
        self.device.driver("cuEventSynchronize", self.handle)
        self.device.driver("cuEventElapsedTime", byref(value), earlier.handle, self.handle)
        return 1e-3 * value.value

    def close(self) -> None:
        self.device.driver.attempt("cuEventDestroy_v2", self.handle)


@dataclass(frozen=True)
class Piece:
    """Memory of a device, and as much of the host's that it can be copied to and from without help of the processor."""

    bytes: int
    remote: c_uint64
    local: c_void_p


class Pieces:
    """Memory that was used and may be used again: to ask for it takes longer than most ensembles."""

    def __init__(self, device: Device):
        self.device, self._free, self._held = device, [], 0
        self._lock = renewed(threading.Lock())

    def take(self, wanted: int) -> Piece:
        """At least so many bytes."""
        size = -(-max(wanted, LEAST_PIECE) // LEAST_PIECE) * LEAST_PIECE
        with self._lock:
            fitting = [piece for piece in self._free if size <= piece.bytes <= 2 * size]
            if fitting:
                best = min(fitting, key=lambda piece: piece.bytes)
                self._free.remove(best)
                self._held -= best.bytes
                return best
        try:
            return self._new(size)
        except NoDevice:
            self.clear()  # what nobody uses may be in the way
            return self._new(size)

    def _new(self, size: int) -> Piece:
        driver, remote, local = self.device.driver, c_uint64(), c_void_p()
        driver("cuMemAlloc_v2", byref(remote), c_size_t(size))
        try:
            driver("cuMemHostAlloc", byref(local), c_size_t(size), 0)
        except NoDevice:
            driver.attempt("cuMemFree_v2", remote)
            raise
        return Piece(size, remote, local)

    def give_back(self, piece: Piece) -> None:
        with self._lock:
            if self._held + piece.bytes <= MOST_HELD:
                self._free.append(piece)
                self._held += piece.bytes
                return
        self._release(piece)

    def _release(self, piece: Piece) -> None:
        self.device.driver.attempt("cuMemFree_v2", piece.remote)
        self.device.driver.attempt("cuMemFreeHost", piece.local)

    def clear(self) -> None:
        with self._lock:
            pieces, self._free, self._held = self._free, [], 0
        for piece in pieces:
            self._release(piece)


#: bytes of a piece are a multiple of this, and so many are held for the next ensemble
LEAST_PIECE, MOST_HELD = 1 << 16, 1 << 31


class Buffer:
    """An array on a device, and its image on the host."""

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: Any = float):
        self.device = device
        count = int(np.prod(shape))
        self._piece = device.pieces.take(count * np.dtype(dtype).itemsize)
        raw = (ctypes.c_char * self._piece.bytes).from_address(self._piece.local.value)
        self.array = np.frombuffer(raw, dtype, count).reshape(shape)

    @property
    def address(self) -> c_uint64:
        """On the device, as an argument of kernels."""
        return self._piece.remote

    def send(self, stream: Stream) -> None:
        piece, size = self._piece, c_size_t(self.array.nbytes)
        self.device.driver("cuMemcpyHtoDAsync_v2", piece.remote, piece.local, size, stream.handle)

    def fetch(self, stream: Stream) -> None:
        piece, size = self._piece, c_size_t(self.array.nbytes)
        self.device.driver("cuMemcpyDtoHAsync_v2", piece.local, piece.remote, size, stream.handle)

    def close(self) -> None:
        """Nobody may use it any more, the device included."""
        self.device.pieces.give_back(self._piece)
