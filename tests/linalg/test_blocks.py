"""Wide constraint blocks: particular solutions and null spaces of all decompositions."""

import numba as nb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.compile.kernel import kernel
from dalembert.compile.memory import reference
from dalembert.linalg.factors.blocks import BLOCK, LU, QR, SVD, decompose_block, new_block, solve_block

KINDS = {"lu": LU, "qr": QR, "svd": SVD}


@kernel(nb.int64(reference(BLOCK), nb.int64, nb.float64, nb.float64[::1], nb.float64[::1]))
def decompose_and_solve(blocks, kind, threshold, b, out):
    block = blocks[0]
    rank = decompose_block(block, kind, threshold, True, 1.0)
    solve_block(block, kind, b, out)
    return rank


def run(A, b, kind, threshold=1e-11):
    rows, columns = A.shape
    block, out = new_block(rows, columns), np.zeros(columns)
    block.A[:] = A
    rank = decompose_and_solve(block.record, KINDS[kind], threshold, b, out)
    return out, block.K[:, : columns - rank].copy(), rank, block


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(0, 8), extra=st.integers(0, 6), power=st.integers(-8, 8))
def test_full_rank(kind, seed, rows, extra, power):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, rows + extra)) * 10.0**power
    A[: rows // 2] *= 1e6  # rows in other units
    b = rng.normal(size=rows)
    x, K, rank, _ = run(A, b, kind)
    assert rank == rows
    scale = np.abs(A).max(initial=1e-300) * (1 + np.abs(x).max(initial=0))
    assert np.abs(A @ x - b).max(initial=0) <= 1e-8 * max(scale, np.abs(b).max(initial=0))
    if rows:
        units = A / np.abs(A).max(axis=1, keepdims=True)
        assert np.abs(units @ K).max(initial=0) < 1e-9 * (1 + np.abs(K).max(initial=0))
    assert np.linalg.matrix_rank(K) == extra if extra else True


@pytest.mark.parametrize("kind", KINDS)
def test_redundant_rows_are_seen(kind):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 7))
    A = np.vstack([A, A[0] - 2 * A[2]])
    x0 = rng.normal(size=7)
    x, K, rank, _ = run(A, A @ x0, kind)
    assert rank == 4
    np.testing.assert_allclose(A @ x, A @ x0, atol=1e-10)
    np.testing.assert_allclose(A @ K, 0, atol=1e-10)
    assert K.shape == (7, 3)


def test_svd_gives_the_smallest_solution_and_an_orthonormal_basis():
    rng = np.random.default_rng(5)
    A, b = rng.normal(size=(3, 6)), rng.normal(size=3)
    x, K, _, block = run(A, b, "svd")
    np.testing.assert_allclose(x, np.linalg.pinv(A) @ b, atol=1e-12)
    np.testing.assert_allclose(K.T @ K, np.eye(3), atol=1e-13)
    scaled = A / np.abs(A).max(axis=1, keepdims=True)
    np.testing.assert_allclose(block.values[:3], np.linalg.svd(scaled, compute_uv=False), rtol=1e-12)


def test_rows_that_vanish_in_passing_stay_small():
    """What is left of them is rounding: scaled to 1 it would count as a direction, and turn the singular vectors."""
    rng = np.random.default_rng(9)
    A = rng.normal(size=(3, 6))
    noise = 1e-16 * rng.normal(size=6)
    _, _, rank, _ = run(np.vstack([A, noise]), np.zeros(4), "svd")
    assert rank == 3
    # one that has been of the size of the others keeps its scale
    block, out = new_block(4, 6), np.zeros(6)
    for size, expected in ((1.0, 4), (1e-6, 4), (1e-9, 4), (1e-15, 3)):
        block.A[:] = np.vstack([A, size * np.ones(6)])
        assert decompose_and_solve(block.record, SVD, 1e-11, np.zeros(4), out) == expected
        assert block.scale[3] == 1.0


def test_small_units_of_rows_do_not_count_as_vanishing():
    rng = np.random.default_rng(10)
    A = rng.normal(size=(3, 6))
    A[2] *= 1e-9
    b = A @ rng.normal(size=6)
    x, _, rank, _ = run(A, b, "svd")
    assert rank == 3
    np.testing.assert_allclose(A @ x, b, rtol=1e-6)


@pytest.mark.parametrize("kind", ["lu", "qr"])
def test_null_space_is_the_identity_on_independent_variables(kind):
    rng = np.random.default_rng(7)
    _, K, rank, block = run(rng.normal(size=(3, 5)), np.zeros(3), kind)
    np.testing.assert_array_equal(K[block.column[rank:]], np.eye(2))
