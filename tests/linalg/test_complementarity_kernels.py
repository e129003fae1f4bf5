"""Kernels of complementarity as other kernels call them: Lemke's algorithm, one contact alone, one sweep."""

import numba as nb
import numpy as np
import pytest
from contacts import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.compile.kernel import kernel
from dalembert.linalg.complementarity import ContactProblem, residual, solve
from dalembert.linalg.complementarity.block_kernels import solve_block
from dalembert.linalg.complementarity.gauss_seidel import diagonal_blocks
from dalembert.linalg.complementarity.gauss_seidel_kernels import sweep_dense
from dalembert.linalg.complementarity.pivoting_kernels import NOT_FINITE, RAY, SOLVED, lemke, lemke_reals, lemke_wholes

f8, i8 = nb.float64, nb.int64


@kernel(i8(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[::1], i8[::1]))
def many_problems(M, q, z, work, whole):
    """Every row of q is a problem."""
    for k in range(q.shape[0]):
        if work.size < lemke_reals(q.shape[1]) or whole.size < lemke_wholes(q.shape[1]):
            return 100
        status = lemke(M, q[k], z[k], work, whole)
        if status != SOLVED:
            return status
    return SOLVED


@kernel(i8(f8[::1], f8[::1], i8, f8, f8, f8[::1]))
def single(a, rates, dim, friction, preload, forces):
    return 1 if solve_block(a, rates, dim, friction, preload, forces) else 0


@kernel(f8(f8[:, ::1], f8[::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1]))
def sweep_once(A, b, starts, dims, friction, preload, blocks, scale, lam, local):
    change, _ = sweep_dense(A, b, starts, dims, friction, preload, blocks, scale, lam, local, False)
    return change


def space(n):
    return np.empty(lemke_reals.py_func(n)), np.zeros(lemke_wholes.py_func(n), np.int64)


def test_lemke_within_a_kernel():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(6, 8))
    M, q, z = G @ G.T, rng.normal(size=(30, 6)), np.empty((30, 6))
    assert many_problems(M, q, z, *space(6)) == SOLVED
    w = z @ M + q
    assert np.abs(np.minimum(z, w)).max() < 1e-12


@pytest.mark.parametrize(
    ("M", "q", "status"), [(-1.0, -1.0, RAY), (np.nan, -1.0, NOT_FINITE), (1.0, np.inf, NOT_FINITE)]
)
def test_lemke_tells_what_is_wrong(M, q, status):
    assert many_problems(np.full((1, 1), M), np.full((1, 1), q), np.empty((1, 1)), *space(1)) == status


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.sampled_from([1, 2, 3]),
    friction=st.sampled_from([0.0, 1e-3, 0.3, 1.0, 5.0]),
    preload=st.sampled_from([0.0, 0.5]),
    thin=st.integers(0, 8),
)
def test_one_contact_alone(seed, dim, friction, preload, thin):
    """Also where one direction hardly moves (`thin`: by 10⁻ᵗʰⁱⁿ)."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(dim, dim)) * 10.0 ** -np.array([[0], [thin], [0]][:dim])
    problem = ContactProblem(G @ G.T, rng.normal(size=dim), [dim], friction, preload)
    forces = np.zeros(3)
    found = single(diagonal_blocks(problem)[0], np.pad(problem.b, (0, 3 - dim)), dim, friction, preload, forces)
    assert found
    assert residual(problem, forces[:dim]) < 1e-11


def test_sweeps_of_other_kernels():
    problem = random_problem(4, [3, 1, 2, 3], 30, 0.2)
    lam = np.zeros(problem.n)
    arrays = (
        problem.A, problem.b, problem.starts, problem.dims, problem.friction, problem.preload,
        diagonal_blocks(problem), problem.scale, lam, np.zeros(6),
    )  # fmt: skip
    changes = [sweep_once(*arrays) for _ in range(100)]
    assert changes[-1] < 1e-14 * changes[0]
    np.testing.assert_allclose(lam, solve(problem).lam, atol=1e-12)
