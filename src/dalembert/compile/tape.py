"""Graph to machine code: the tape of a CasADi function, compiled with LLVM, kept in memory and on disk."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

import casadi

from dalembert.compile import jit, lanes, store
from dalembert.compile.emit import CHUNK, Tape, emit, read_tape
from dalembert.compile.ports import Port
from dalembert.locks import renewed

QUICK = 1500  # longer tapes go to LLVM's quick code generator: 3 times faster there, code 1.2 to 1.3 times slower

# by directories and key, used last at the end: a directory has all that was compiled while it was in use
_codes: OrderedDict[tuple[tuple[store.Place, ...], str], jit.Code] = OrderedDict()
_lock = renewed(threading.Lock())
_MAX_CODES = 256  # ports keep their own code alive; this many are kept besides, for models that are built again


def port_function(
    t: casadi.SX, x: casadi.SX, theta: casadi.SX, out: casadi.SX, *, unique: bool = True
) -> casadi.Function:
    """Make the SX function (t, x, theta) -> dense column, `unique`: without repeated subexpressions.

    Its names are constant: the names of the user's symbols play no role from here on.
    """
    column = casadi.vec(casadi.densify(out))
    return casadi.Function("port", [t, x, theta], [column], ["t", "x", "theta"], ["out"], {"cse": unique})


def compile_tape(t: casadi.SX, x: casadi.SX, theta: casadi.SX, out: casadi.SX) -> Port:
    """Compile `out`, a function of the symbols t, x and theta, to machine code.

    Parameters
    ----------
    t, x, theta : casadi.SX
        A scalar symbol and two column vectors of symbols, which may be empty.
    out : casadi.SX
        Expressions; a matrix is taken column by column, with its structural zeros.

    Examples
    --------
    >>> import casadi, numpy as np
    >>> t, x, theta = casadi.SX.sym("t"), casadi.SX.sym("x", 2), casadi.SX.sym("g")
    >>> port = compile_tape(t, x, theta, casadi.vertcat(x[1], -theta * casadi.sin(x[0])))
    >>> port(0.0, np.array([0.0, 3.0]), np.array([9.81])) + 0.0
    array([3., 0.])
    """
    return compile_function(port_function(t, x, theta, out))


def compile_function(function: casadi.Function, *, chunk: int = CHUNK, level: int | None = None) -> Port:
    """Compile a function made by `port_function`; `chunk` and `level` are for measurements and tests."""
    code = compile_code(function, chunk=chunk, level=level)
    return Port(
        code.address,
        n_x=function.numel_in(1),
        n_theta=function.numel_in(2),
        n_out=function.numel_out(0),
        backend="llvm",
        keep=code,
    )


def compile_code(
    function: casadi.Function,
    *,
    chunk: int = CHUNK,
    level: int | None = None,
    ones: int | None = None,
    wide: frozenset[int] = frozenset(),
) -> jit.Code:
    """Machine code of a function of t and any number of vectors: ``int32 code(t, x1, x2, ..., out)``.

    The input `ones` is no argument, but the constant 1 (see `read_tape`). If there are inputs that are `wide`, they and
    the output have rows of three numbers (see `lanes`), and nobody looks whether results are finite.
    """
    return compile_from(read_tape(function, ones), chunk=chunk, level=level, wide=wide)


def compile_from(
    tape: Tape, *, chunk: int = CHUNK, level: int | None = None, wide: frozenset[int] = frozenset()
) -> jit.Code:
    """`compile_code` for a tape that is there."""
    if unknown := tape.unknown() if not wide else tape.operations() - lanes.KNOWN:
        raise NotImplementedError(f"no machine code for the CasADi operations {sorted(unknown)}")
    if level is None:
        level = 1 if len(tape.instructions) <= QUICK else 0
    key = _key(tape, chunk, level, wide)
    code = _remembered(key)
    if code is None:
        code = jit.load(key)
        if code is None:
            code, image = jit.build(lanes.emit_lanes(tape, wide) if wide else emit(tape, chunk), level=level)
            store.save(key, image)
        code = _remember(key, code)
    return code


def _key(tape: Tape, chunk: int, level: int, wide: frozenset[int] = frozenset()) -> str:
    """Hash of everything the object code depends on. `repr` of a float is exact, and NaN has one."""
    content = f"{jit.fingerprint()}|{chunk}|{level}|{tape.registers}|{tape.vectors}|{tape.instructions!r}"
    content += f"|{lanes.FORMAT}|{sorted(wide)}" if wide else ""
    return hashlib.sha256(content.encode()).hexdigest()


def _remembered(key: str) -> jit.Code | None:
    where = store.places()
    with _lock:
        code = _codes.get((where, key))
        if code is not None:
            _codes.move_to_end((where, key))
        return code


def _remember(key: str, code: jit.Code) -> jit.Code:
    """Keep the code; if another thread compiled the same tape meanwhile, return that."""
    where = store.places()
    with _lock:
        code = _codes.setdefault((where, key), code)
        if len(_codes) > _MAX_CODES:
            _codes.popitem(last=False)
        return code
