"""Counting and timing of everything that kernels call by address: ports, and the kernels of linear algebra.

A `Monitor` makes for each of these functions a *relay* of the same signature: it reads the processor's clock, calls the
function, reads the clock again and adds up. A run that is to be watched has the addresses of the relays in its records
instead of those of the functions; kernels do not know, and other runs are not touched. What a kernel itself spends is
told apart by phases: `enter` charges the time since its last call to the phase that ends, and begins another.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dalembert.compile import jit
from dalembert.errors import OptionError

#: results and arguments of the functions that kernels call, in LLVM's words
PORT = ("i32", "double", "ptr", "ptr", "ptr")
CALL1, CALL2, CALL3 = (("i64",) * (1 + n) for n in (1, 2, 3))
CALL_REALS3 = ("i64", "i64", "double", "double", "double")

#: LLVM's names of clocks that run at a constant rate and can be read by anybody
CLOCKS = {
    "x86_64": "readcyclecounter",
    "amd64": "readcyclecounter",
    "aarch64": "readsteadycounter",
    "arm64": "readsteadycounter",
}


class Watched(NamedTuple):
    """A function to be watched; several may have one name."""

    name: str
    address: int
    signature: tuple[str, ...]


# The table of 64-bit numbers: phase, time of its beginning, then for each phase its time and how often it began, then
# for each phase and function the time, then likewise the number of calls.
_ENTER = """
declare i64 @llvm.{clock}()

define i64 @enter(i64 %next) {{
 %now = call i64 @llvm.{clock}()
 %table = inttoptr i64 {table} to ptr
 %begun = getelementptr i64, ptr %table, i64 1
 %phase = load i64, ptr %table
 %before = load i64, ptr %begun
 %ticks = sub i64 %now, %before
 %i = add i64 %phase, 2
 %place = getelementptr i64, ptr %table, i64 %i
 %old = load i64, ptr %place
 %new = add i64 %old, %ticks
 store i64 %new, ptr %place
 %j = add i64 %next, {entries}
 %counter = getelementptr i64, ptr %table, i64 %j
 %count = load i64, ptr %counter
 %more = add i64 %count, 1
 store i64 %more, ptr %counter
 store i64 %next, ptr %table
 store i64 %now, ptr %begun
 ret i64 0
}}
"""

_RELAY = """
define {result} @relay{k}({parameters}) {{
 %start = call i64 @llvm.{clock}()
 %function = inttoptr i64 {address} to ptr
 %result = call {result} %function({parameters})
 %stop = call i64 @llvm.{clock}()
 %ticks = sub i64 %stop, %start
 %table = inttoptr i64 {table} to ptr
 %phase = load i64, ptr %table
 %row = mul i64 %phase, {n}
 %i = add i64 %row, {times}
 %place = getelementptr i64, ptr %table, i64 %i
 %old = load i64, ptr %place
 %new = add i64 %old, %ticks
 store i64 %new, ptr %place
 %j = add i64 %row, {calls}
 %counter = getelementptr i64, ptr %table, i64 %j
 %count = load i64, ptr %counter
 %more = add i64 %count, 1
 store i64 %more, ptr %counter
 ret {result} %result
}}
"""


class Monitor:
    """Relays for `functions`, and a clock for `n_phases` phases, the first of which is under way outside of kernels.

    `addresses` are those of the relays, in the order of the functions; `clock` is that of `enter`.
    """

    def __init__(self, functions: Sequence[Watched], n_phases: int):
        clock = CLOCKS.get(platform.machine().lower())
        if clock is None:
            raise OptionError(f"profile=True: no clock is known for processors of type '{platform.machine()}'")
        self.functions, self.n_phases = tuple(functions), n_phases
        n = len(self.functions)
        times = 2 + 2 * n_phases
        calls = times + n_phases * n
        self._table = np.zeros(calls + n_phases * n, np.int64)
        table = self._table.ctypes.data
        text = [_ENTER.format(clock=clock, table=table, entries=2 + n_phases)]
        for k, function in enumerate(self.functions):
            result, *types = function.signature
            parameters = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
            text.append(
                _RELAY.format(
                    k=k, result=result, parameters=parameters, clock=clock, address=function.address, table=table, n=n,
                    times=times + k, calls=calls + k,
                )
            )  # fmt: skip
        names = ["enter", *(f"relay{k}" for k in range(n))]
        self._code, _ = jit.build("".join(text), {}, exports=names)
        self.clock, *self.addresses = (self._code.addresses[name] for name in names)
        self._enter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self.clock)
        self.begin()

    def begin(self) -> None:
        """Set everything to zero and start the clock, in phase 0."""
        self._table[0] = 0
        self._enter(0)
        self._begun = int(self._table[1]), time.perf_counter()
        self._table[2:] = 0

    @contextlib.contextmanager
    def phase(self, phase: int) -> Iterator[None]:
        """Within this context a kernel is at work, which begins in this phase."""
        self._enter(phase)
        try:
            yield
        finally:
            self._enter(0)

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Seconds and beginnings of each phase, then seconds and calls by phase and function, up to now."""
        self._enter(int(self._table[0]))
        ticks, seconds = self._begun
        # the clock's rate, from the run itself
        tick = (time.perf_counter() - seconds) / max(1, int(self._table[1]) - ticks)
        n, size = self.n_phases, self.n_phases * len(self.functions)
        phases, entries, times, calls = np.split(self._table[2:], np.cumsum([n, n, size]))
        return phases * tick, entries.copy(), times.reshape(n, -1) * tick, calls.reshape(n, -1).copy()
