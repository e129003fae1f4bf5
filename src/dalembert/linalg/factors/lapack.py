"""LAPACK in kernels: SciPy's own library, called through symbols that are registered at import, so that kernels which
use it can be kept on disk (a function pointer as a global would keep them from being cached).

Matrices are given by address and are C-ordered: LAPACK sees the transpose, so factors are those of Aᵀ and systems are
solved with TRANS = 'T'. Complex numbers are pairs of real ones.
"""

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, ivec32, layout, member
from dalembert.linalg.factors.blas_threads import begin_single, end_single

#: sizes from which LAPACK beats the loops of `lu`
WORTHWHILE = 24


def _external(name: str, arguments: int) -> types.ExternalFunction:
    symbol = f"dalembert_{name}"
    llvm.add_symbol(symbol, get_cython_function_address("scipy.linalg.cython_lapack", name))
    return types.ExternalFunction(symbol, types.void(*[types.uint64] * arguments))


_dgetrf, _zgetrf = _external("dgetrf", 6), _external("zgetrf", 6)
_dgetrs, _zgetrs = _external("dgetrs", 9), _external("zgetrs", 9)
_dsytrf, _dsytrs = _external("dsytrf", 8), _external("dsytrs", 9)

#: what LAPACK takes by address: size, number of right-hand sides, TRANS, and a place for INFO
ARGUMENTS = layout(arrays=["n", "one", "transposed", "info"])
arguments_at = member(ARGUMENTS)


def lapack_arguments(n: int) -> Memory:
    """For matrices of size n."""
    size, one, trans = np.array([n], np.int32), np.ones(1, np.int32), np.array([ord("T")], np.uint8)
    # LAPACK writes 32 bits of the 64 that are read
    return Memory(ARGUMENTS, {"n": size, "one": one, "transposed": trans, "info": np.zeros(1, np.int64)})


@device
def factor_real(to, A, pivots):
    """LU factors of Aᵀ in place. Returns 0, or k + 1 if pivot k vanishes."""
    info = ivec(to.info, 1)
    info[0] = 0
    n = ivec32(to.n, 1)[0]
    begin_single(n)
    _dgetrf(to.n, to.n, A, to.n, pivots, to.info)
    end_single(n)
    return info[0]


@device
def factor_complex(to, A, pivots):
    """As `factor_real`, for complex A."""
    info = ivec(to.info, 1)
    info[0] = 0
    n = ivec32(to.n, 1)[0]
    begin_single(n)
    _zgetrf(to.n, to.n, A, to.n, pivots, to.info)
    end_single(n)
    return info[0]


@device
def substitute_real(to, A, pivots, b):
    """A⁻¹ b in place."""
    n = ivec32(to.n, 1)[0]
    begin_single(n)
    _dgetrs(to.transposed, to.n, to.one, A, to.n, pivots, b, to.n, to.info)
    end_single(n)


@device
def substitute_complex(to, A, pivots, b):
    """A⁻¹ b in place, complex."""
    n = ivec32(to.n, 1)[0]
    begin_single(n)
    _zgetrs(to.transposed, to.n, to.one, A, to.n, pivots, b, to.n, to.info)
    end_single(n)


@device
def factor_symmetric(to, A, pivots, lower, work, length):
    """L D Lᵀ in place, from the upper triangle of the C-ordered A. Returns 0, or k + 1 if pivot k vanishes."""
    info = ivec(to.info, 1)
    info[0] = 0
    n = ivec32(to.n, 1)[0]
    begin_single(n)
    _dsytrf(lower, to.n, A, to.n, pivots, work, length, to.info)
    end_single(n)
    return info[0]


@device
def substitute_symmetric(to, A, pivots, lower, b):
    """A⁻¹ b in place with the factors of `factor_symmetric`."""
    n = ivec32(to.n, 1)[0]
    begin_single(n)
    _dsytrs(lower, to.n, to.one, A, to.n, pivots, b, to.n, to.info)
    end_single(n)
