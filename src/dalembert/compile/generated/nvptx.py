"""Generated modules as PTX, NVIDIA's assembler, by the LLVM that llvmlite brings: no toolkit is needed.

The driver of the GPU translates PTX for the device that is there (`cuda`). What it finds has constant sizes, so that
vectors live in registers as far as they fit.
"""

from __future__ import annotations

import functools
import hashlib

import llvmlite
import llvmlite.binding as llvm

from dalembert.compile import jit, store
from dalembert.compile.generated.code import Module, Target
from dalembert.compile.generated.host import INVARIANT

#: changes with what is written for a module, besides its text
FORMAT = 1
TRIPLE = "nvptx64-nvidia-cuda"
#: one member for each thread, which takes another from a queue as soon as it is done
THREADS = Target(width=1, inline=True, gpu=True, queue=True)
#: the same for models whose numbers do not fit into registers: functions take them from memory. There are few threads
#: of these for each member, so that a queue is empty before it is of use
SLOW_THREADS = Target(width=1, gpu=True)
#: a member for some threads together, for models that are too large for one
GROUPS = tuple(Target(width=1, gpu=True, group=threads) for threads in (4, 8, 16, 32))
#: compute capabilities that code is written for: that of newer devices is code for older ones
KNOWN = ((6, 0), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0))


def ptx_of(module: Module, capability: tuple[int, int]) -> str:
    """Optimized PTX for devices of a compute capability such as (9, 0); from the disk cache if it is there."""
    text = module.text() + INVARIANT + "\n"
    name = "sm_{}{}".format(*max(known for known in KNOWN if known <= capability))
    key = hashlib.sha256(f"{llvmlite.__version__}|ptx {FORMAT}|{name}|{text}".encode()).hexdigest()
    known = store.load(key)
    if known is not None:
        return known.decode()
    with jit.LOCK, jit.parsed(text) as parsed:
        machine = _machine(name)
        parsed.triple, parsed.data_layout = TRIPLE, str(machine.target_data)
        jit.optimize(parsed, machine, 3)
        ptx = machine.emit_assembly(parsed)
    store.save(key, ptx.encode())
    return ptx


@functools.cache
def _machine(name: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=name, opt=3)
