"""From a graph to the port that fits it: compiled code, or CasADi's virtual machine."""

from __future__ import annotations

from typing import Literal

import casadi
import numpy as np

from dalembert.compile.emit import ALIASES, TEMPLATES
from dalembert.compile.machine import load_function
from dalembert.compile.ports import Port
from dalembert.compile.tape import compile_function, port_function
from dalembert.errors import OptionError

# Compiling takes 10 µs an instruction (35 µs below `tape.QUICK`); a call then saves 2 to 3 ns an instruction. So it
# pays after some 5000 (12 000) calls, measured on chains of rigid bodies up to 150 000 instructions, and much earlier
# when the disk cache has it. The limit only bounds the first wait, to about half a second.
LONGEST = 50_000

# Looking for repeated subexpressions takes CasADi 2 to 5 µs an instruction, and saves its virtual machine 2 to 3 ns at
# each call for each one it finds. Long graphs are spared it unless a sample gets shorter by half.
SEEDS = 50  # outputs that lie evenly among all; the sample is whatever depends on the same unknowns
REPEATED = 2.0  # instructions with repetitions for each one without

_EMITTABLE = TEMPLATES.keys() | ALIASES - {casadi.OP_PRINTME} | {casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST}


def compile_port(
    t: casadi.SX,
    x: casadi.SX,
    theta: casadi.SX,
    out: casadi.SX,
    *,
    prefer: Literal["auto", "llvm", "machine"] = "auto",
) -> Port:
    """Make a port of `out`, a function of the symbols t, x and theta; the arguments are those of `compile_tape`.

    `prefer="auto"` compiles tapes of up to `LONGEST` instructions and leaves longer ones, and those that print
    (`printme`), to CasADi's virtual machine.

    Examples
    --------
    >>> import casadi, numpy as np
    >>> t, x, theta = casadi.SX.sym("t"), casadi.SX.sym("x", 2), casadi.SX.sym("k")
    >>> compile_port(t, x, theta, t + theta * x)(1.0, np.array([2.0, 3.0]), np.array([10.0]))
    array([21., 31.])
    """
    if prefer == "auto":
        everything = port_function(t, x, theta, out, unique=False)
        if everything.n_instructions() > 2 * LONGEST and not _repeats_itself(t, x, theta, out):
            return load_function(everything)
    function = port_function(t, x, theta, out)
    if prefer == "llvm":
        return compile_function(function)
    if prefer == "machine":
        return load_function(function)
    if prefer != "auto":
        raise OptionError(f"prefer={prefer!r} is unknown; it is one of 'auto', 'llvm', 'machine'")
    length = function.n_instructions()
    short = length <= LONGEST and all(function.instruction_id(k) in _EMITTABLE for k in range(length))
    return compile_function(function) if short else load_function(function)


def _repeats_itself(t: casadi.SX, x: casadi.SX, theta: casadi.SX, out: casadi.SX) -> bool:
    """Whether a sample of the outputs gets much shorter without repeated subexpressions."""
    out = casadi.vec(out)
    seeds = np.unique(np.linspace(0, out.numel() - 1, SEEDS).astype(int))
    unknowns = np.flatnonzero(np.diff(casadi.jacobian_sparsity(out[seeds.tolist()], x).colind()))
    sample = out[np.flatnonzero(casadi.which_depends(out, x[unknowns.tolist()], 1, True)).tolist()]
    long, short = (port_function(t, x, theta, sample, unique=unique).n_instructions() for unique in (False, True))
    return long > REPEATED * short
