"""LAPACK in kernels: SciPy's own library, called through symbols that are registered at import, so that kernels which
use it stay on disk between sessions (a function pointer as a global would keep them from being cached).

Matrices are C-ordered: LAPACK sees the transpose, so factors are those of Aᵀ and systems are solved with TRANS = 'T'.
"""

from typing import NamedTuple

import llvmlite.binding as llvm
import numba as nb
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from dalembert.compile.kernel import device, record

#: sizes from which LAPACK beats the loops of `lu`
WORTHWHILE = 24


def _external(name: str, arguments: int) -> types.ExternalFunction:
    symbol = f"dalembert_{name}"
    llvm.add_symbol(symbol, get_cython_function_address("scipy.linalg.cython_lapack", name))
    return types.ExternalFunction(symbol, types.void(*[types.uintp] * arguments))


_dgetrf, _zgetrf = _external("dgetrf", 6), _external("zgetrf", 6)
_dgetrs, _zgetrs = _external("dgetrs", 9), _external("zgetrs", 9)


class Lapack(NamedTuple):
    """The arguments that LAPACK takes by address."""

    n: nb.int32[::1]
    one: nb.int32[::1]
    transposed: nb.uint8[::1]
    info: nb.int32[::1]


lapack_type = record(Lapack)


def lapack_arguments(n: int) -> Lapack:
    """For matrices of size n."""
    return Lapack(np.array([n], np.int32), np.ones(1, np.int32), np.array([ord("T")], np.uint8), np.zeros(1, np.int32))


@device
def factor_real(to, A, pivots):
    """LU factors of Aᵀ in place. Returns 0, or k + 1 if pivot k vanishes."""
    size, info = to.n.ctypes.data, to.info.ctypes.data
    _dgetrf(size, size, A.ctypes.data, size, pivots.ctypes.data, info)
    return to.info[0]


@device
def factor_complex(to, A, pivots):
    """As `factor_real`, for complex A."""
    size, info = to.n.ctypes.data, to.info.ctypes.data
    _zgetrf(size, size, A.ctypes.data, size, pivots.ctypes.data, info)
    return to.info[0]


@device
def substitute_real(to, A, pivots, b):
    """A⁻¹ b in place."""
    size, info = to.n.ctypes.data, to.info.ctypes.data
    trans, one = to.transposed.ctypes.data, to.one.ctypes.data
    _dgetrs(trans, size, one, A.ctypes.data, size, pivots.ctypes.data, b.ctypes.data, size, info)


@device
def substitute_complex(to, A, pivots, b):
    """A⁻¹ b in place, complex."""
    size, info = to.n.ctypes.data, to.info.ctypes.data
    trans, one = to.transposed.ctypes.data, to.one.ctypes.data
    _zgetrs(trans, size, one, A.ctypes.data, size, pivots.ctypes.data, b.ctypes.data, size, info)
