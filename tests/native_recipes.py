"""Small native functions for tests, and the same models traced: a chain of masses on springs.

    force       f_i = k (p_{i−1} − p_i) + k (p_{i+1} − p_i) − 0.3 (p_i − p_{i−1})³ − c v_i; on the last the input drive
    mass        M_ii = 2 + 0.3 cos p_i,  M_{i,i+1} = 0.5 cos(p_i − p_{i+1})
    holonomic   p_{2k}² + p_{2k+1}² − 2
    kinematics  p_i' = (1 + 0.2 cos p_i) v_i

k and c are parameters of the model where it has some, or numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numba as nb
import numpy as np
from numba import types

import dalembert as da
from dalembert.model.native import Code, NativeFunction

REAL = types.CPointer(types.float64)
SIGNATURE = types.int32(types.float64, REAL, REAL, REAL, REAL)


class native:
    """A function in machine code, which is compiled when somebody wants to call it."""

    def __init__(self, function: Callable):
        self._function = function

    @functools.cached_property
    def address(self) -> int:
        self._code = nb.cfunc(SIGNATURE)(self._function)
        return self._code.address


# record: n, place of k in θ or −1, of c, of the input drive, and k and c as numbers


@nb.njit
def constants(theta, record):
    k = theta[int(record[1])] if record[1] >= 0 else record[4]
    c = theta[int(record[2])] if record[2] >= 0 else record[5]
    return k, c


@nb.njit
def left(x, i):
    return x[i - 1] if i > 0 else 0.0


@nb.njit
def right(x, i, n):
    return x[i + 1] if i + 1 < n else x[i]


@nb.njit
def fill_force(x, theta, out, record):
    n = int(record[0])
    k, c = constants(theta, record)
    for i in range(n):
        stretch = x[i] - left(x, i)
        out[i] = -k * stretch + k * (right(x, i, n) - x[i]) - 0.3 * stretch**3 - c * x[n + i]
    if record[3] >= 0:
        out[n - 1] += theta[int(record[3])]


@nb.njit
def fill_force_by_p(x, theta, out, record):
    """Diagonal, below, above; the springs alone."""
    n = int(record[0])
    k, _ = constants(theta, record)
    for i in range(n):
        slope = k + 0.9 * (x[i] - left(x, i)) ** 2
        out[i] = -slope - (k if i + 1 < n else 0.0)
        if i > 0:
            out[n + i - 1] = slope
        if i + 1 < n:
            out[2 * n - 1 + i] = k


@nb.njit
def fill_mass(x, out, n):
    """Diagonal, below, above."""
    for i in range(n):
        out[i] = 2 + 0.3 * np.cos(x[i])
        if i + 1 < n:
            out[n + i] = out[2 * n - 1 + i] = 0.5 * np.cos(x[i] - x[i + 1])


@native
def force(t, x, theta, out, record):
    if x[0] > 1e3:
        return 1
    fill_force(x, theta, out, record)
    return 0


@native
def force_by_p(t, x, theta, out, record):
    fill_force_by_p(x, theta, out, record)
    return 0


@native
def force_by_v(t, x, theta, out, record):
    _, c = constants(theta, record)
    for i in range(int(record[0])):
        out[i] = -c
    return 0


@native
def with_a(t, x, theta, out, record):
    """M a − f; the work space behind the results holds f."""
    n = int(record[0])
    for i in range(n):
        a = x[2 * n + i]
        out[i] = (2 + 0.3 * np.cos(x[i])) * a
        if i > 0:
            out[i] += 0.5 * np.cos(x[i] - x[i - 1]) * x[2 * n + i - 1]
        if i + 1 < n:
            out[i] += 0.5 * np.cos(x[i] - x[i + 1]) * x[2 * n + i + 1]
    f = nb.carray(out, 2 * n)[n:]
    fill_force(x, theta, f, record)
    for i in range(n):
        out[i] -= f[i]
    return 0


@nb.njit
def with_a_by_p_into(x, theta, out, record):
    n = int(record[0])
    fill_force_by_p(x, theta, out, record)
    for i in range(3 * n - 2):
        out[i] = -out[i]
    for i in range(n):
        out[i] -= 0.3 * np.sin(x[i]) * x[2 * n + i]
        if i + 1 < n:
            turn = 0.5 * np.sin(x[i] - x[i + 1])
            out[i] -= turn * x[2 * n + i + 1]
            out[i + 1] += turn * x[2 * n + i]
            out[n + i] -= turn * x[2 * n + i]
            out[2 * n - 1 + i] += turn * x[2 * n + i + 1]


@native
def with_a_by_p(t, x, theta, out, record):
    with_a_by_p_into(x, theta, out, record)
    return 0


@native
def with_a_derivatives(t, x, theta, out, record):
    """By p, by v and by a in one call."""
    n = int(record[0])
    whole = nb.carray(out, 7 * n - 4)
    with_a_by_p_into(x, theta, whole, record)
    _, c = constants(theta, record)
    for i in range(n):
        whole[3 * n - 2 + i] = c
    fill_mass(x, whole[4 * n - 2 :], n)
    return 0


@native
def with_a_by_v(t, x, theta, out, record):
    _, c = constants(theta, record)
    for i in range(int(record[0])):
        out[i] = c
    return 0


@native
def mass(t, x, theta, out, record):
    fill_mass(x, out, int(record[0]))
    return 0


@native
def lengths(t, x, theta, out, record):
    for i in range(int(record[0]) // 2):
        out[i] = x[2 * i] ** 2 + x[2 * i + 1] ** 2 - 2.0
    return 0


@native
def lengths_by_p(t, x, theta, out, record):
    for i in range(2 * (int(record[0]) // 2)):
        out[i] = 2 * x[i]
    return 0


@native
def lengths_first(t, x, theta, out, record):
    n = int(record[0])
    for i in range(n // 2):
        out[i] = 2 * (x[2 * i] * x[n + 2 * i] + x[2 * i + 1] * x[n + 2 * i + 1])
    return 0


@native
def lengths_second(t, x, theta, out, record):
    n = int(record[0])
    for i in range(n // 2):
        out[i] = 2 * (x[n + 2 * i] ** 2 + x[n + 2 * i + 1] ** 2)
    return 0


@native
def stretching(t, x, theta, out, record):
    for i in range(int(record[0])):
        out[i] = 1 + 0.2 * np.cos(x[i])
    return 0


@native
def stretching_rate(t, x, theta, out, record):
    n = int(record[0])
    for i in range(n):
        out[i] = (1 + 0.2 * np.cos(x[i])) * x[n + i]
    return 0


@native
def applied_force(t, x, theta, out, record):
    """The springs, and what users apply, which stands behind p and v."""
    n = int(record[0])
    fill_force(x, theta, out, record)
    for i in range(n):
        out[i] += 2 * x[2 * n + i]
    return 0


@native
def by_applied(t, x, theta, out, record):
    for i in range(int(record[0])):
        out[i] = 2.0
    return 0


def _code(data, theta, functions, scratch=(), together=None):
    places = [theta[name].start if name in theta else -1 for name in ("k", "c", "drive")]
    record = np.array([data["n"], *places, data.get("k", 3.0), data.get("c", 0.1)])
    addresses = {what: function.address for what, function in functions.items()}
    room = dict.fromkeys(scratch, data["n"])
    return Code(addresses, record.ctypes.data, (record, functions), room, together or {})


def springs(data, theta):
    functions = {
        "value": force, "by p": force_by_p, "by v": force_by_v, "with a": with_a, "with a by p": with_a_by_p,
        "with a by v": with_a_by_v, "with a by a": mass,
    }  # fmt: skip
    together = {("with a by p", "with a by v", "with a by a"): with_a_derivatives.address}
    return _code(data, theta, functions, scratch=["with a"], together=together if data.get("together") else None)


def loaded(data, theta):
    return _code(
        data, theta, {"value": applied_force, "by p": force_by_p, "by v": force_by_v, "by applied": by_applied}
    )


def masses(data, theta):
    return _code(data, theta, {"value": mass})


def rods(data, theta):
    return _code(
        data, theta, {"value": lengths, "by p": lengths_by_p, "first": lengths_first, "second": lengths_second}
    )


def stretched(data, theta):
    return _code(data, theta, {"value": stretching, "rate": stretching_rate})


# -- models --------------------------------------------------------------------------------------------------------


def tridiagonal(n):
    i = np.arange(n)
    return np.concatenate([i, i[1:], i[:-1]]), np.concatenate([i, i[:-1], i[1:]])


def diagonal(n):
    return np.arange(n), np.arange(n)


def native_force(n, derivatives=True, with_accelerations=False, moves=False, together=True):
    gives = {"value": None}
    if derivatives:
        gives |= {"by p": tridiagonal(n), "by v": diagonal(n)}
    if with_accelerations:
        gives |= {"with a": None, "with a by p": tridiagonal(n), "with a by v": diagonal(n)}
        gives["with a by a"] = tridiagonal(n)
    return NativeFunction(f"{__name__}:springs", {"n": n, "together": together}, gives, moves=moves)


def native_mass(n):
    return NativeFunction(f"{__name__}:masses", {"n": n}, {"value": tridiagonal(n)}, reads=("p",))


def native_rods(n, gives=("by p", "first", "second")):
    m = n // 2
    known = {"by p": (np.repeat(np.arange(m), 2), np.arange(2 * m)), "first": None, "second": None}
    chosen = {"value": None} | {what: known[what] for what in gives}
    return NativeFunction(f"{__name__}:rods", {"n": n}, chosen, reads=("p",), rows=m)


def native_kinematics(n, rate=True):
    gives = {"value": diagonal(n)} | ({"rate": None} if rate else {})
    return NativeFunction(f"{__name__}:stretched", {"n": n}, gives, reads=("p",))


def native_loaded(n, applied):
    """The springs, and twice what `applied` returns."""
    gives = {"value": None, "by p": tridiagonal(n), "by v": diagonal(n), "by applied": diagonal(n)}
    return NativeFunction(f"{__name__}:loaded", {"n": n}, gives, applied=applied)


def traced_force(s):
    p, v, f = s.p, s.v, []
    n = len(p)
    for i in range(n):
        stretch = p[i] - (p[i - 1] if i else 0.0)
        f.append(-s.k * stretch + (s.k * (p[i + 1] - p[i]) if i + 1 < n else 0.0) - 0.3 * stretch**3 - s.c * v[i])
    f[-1] = f[-1] + (s.drive if len(s.u) else 0.0)
    return f


def traced_mass(s):
    p = s.p
    n = len(p)
    M = [[0.0] * n for _ in range(n)]
    for i in range(n):
        M[i][i] = 2 + 0.3 * np.cos(p[i])
        if i + 1 < n:
            M[i][i + 1] = M[i + 1][i] = 0.5 * np.cos(p[i] - p[i + 1])
    return M


def traced_rods(s):
    return [s.p[2 * i] ** 2 + s.p[2 * i + 1] ** 2 - 2.0 for i in range(len(s.p) // 2)]


def names(n):
    return [f"x{i}" for i in range(n)]


def pair(n=6, varying_mass=False, rods=False, inputs=None, with_accelerations=False, **native_options):
    """The native model and the traced one."""
    common = dict(p=names(n), parameters={"k": 3.0, "c": 0.1}, inputs=inputs)
    moves = inputs is not None
    natives = dict(
        mass=native_mass(n) if varying_mass else np.ones(n),
        force=native_force(n, with_accelerations=with_accelerations, moves=moves, **native_options),
        holonomic=native_rods(n) if rods else None,
    )
    traced = dict(
        mass=traced_mass if varying_mass else np.ones(n),
        force=traced_force,
        holonomic=traced_rods if rods else None,
    )
    return da.EquationsOfMotion(**common, **natives), da.EquationsOfMotion(**common, **traced)


def run(model, p0, v0):
    """What another process is asked for."""
    return da.simulate(model, (0, 2), p0=p0, v0=v0, method="hem5").x
