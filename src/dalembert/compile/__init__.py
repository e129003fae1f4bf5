"""Model functions to ports: C-ABI functions that kernels call. See `ports` for the contract.

| module | holds |
|---|---|
| `ports` | `Port`, the status codes |
| `graph` | `compile_port`: the port of a CasADi graph, by whichever of the next two fits |
| `tape`, `emit`, `jit` | graph to machine code with LLVM |
| `machine` | graph on CasADi's virtual machine |
| `callback` | Python functions |
| `kernel`, `device`, `kernel_cache` | what numba kernels need; imported where they are defined: numba takes its time |
| `sources` | which files a kernel is made of |
| `messages`, `together` | what users are told while kernels are compiled; several processes that compile |
| `store` | the directory of compiled code |

Names are imported at first use, so that `import dalembert` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.compile.callback import python_port
    from dalembert.compile.graph import compile_port
    from dalembert.compile.machine import machine_port
    from dalembert.compile.ports import OK, RETRY, STOP, Port
    from dalembert.compile.tape import compile_tape

_HOME = {
    "OK": "ports",
    "RETRY": "ports",
    "STOP": "ports",
    "Port": "ports",
    "compile_port": "graph",
    "compile_tape": "tape",
    "machine_port": "machine",
    "python_port": "callback",
}

__all__ = ["OK", "RETRY", "STOP", "Port", "compile_port", "compile_tape", "machine_port", "python_port"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
