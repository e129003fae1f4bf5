"""Partitioned linear algebra as kernels, for the stage solver to call by address."""

import numba as nb

from dalembert.compile.kernel import address_of, kernel
from dalembert.compile.memory import mat, member, vec
from dalembert.solvers.radau import partitioned as algebra
from dalembert.solvers.radau.core import state_at

i8, u8, f8 = nb.int64, nb.uint64, nb.float64
_at = member(algebra.ALGEBRA)


@kernel(i8(u8, u8))
def decompose(la, state):
    """See `radau.core`; so for the others."""
    return 1 if algebra.decompose(_at(la), state_at(state)) else 0


@kernel(i8(u8, f8, f8, f8))
def prepare(la, gamma, alpha, beta):
    return 1 if algebra.prepare(_at(la), gamma, alpha, beta) else 0


@kernel(i8(u8, u8, u8))
def solve_stages(la, R, D):
    own = _at(la)
    algebra.solve_stages(own, mat(R, own.n_rows, 3), mat(D, own.n, 3))
    return 0


@kernel(i8(u8, u8, u8))
def solve_real(la, R, out):
    own = _at(la)
    algebra.solve_real(own, vec(R, own.n_rows), vec(out, own.n))
    return 0


@kernel(i8(u8, u8, u8))
def correct(la, F, out):
    own = _at(la)
    return 1 if algebra.correct(own, vec(F, own.n_rows), vec(out, own.n)) else 0


ADDRESSES = {
    "decompose": address_of(decompose),
    "prepare": address_of(prepare),
    "solve_stages": address_of(solve_stages),
    "solve_real": address_of(solve_real),
    "correct": address_of(correct),
}
