"""Transversals, offsets and blocks of random patterns against brute force, a linear program and another package."""

import itertools

import casadi as ca
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dalembert.regularize.structure import Incidence
from dalembert.regularize.structure.decomposition import triangular_blocks
from dalembert.regularize.structure.matching import best_transversal, maximum_matching, smallest_offsets


@st.composite
def square(draw, largest=6):
    """A random σ that has a transversal."""
    n = draw(st.integers(1, largest))
    places = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 1))
    cells = draw(st.lists(places, max_size=4 * n))
    diagonal = draw(st.permutations(range(n)))
    cells += [(i, j, draw(st.integers(0, 1))) for i, j in enumerate(diagonal)]
    return Incidence.of(*zip(*cells, strict=True), (n, n))


def dense(sigma):
    values = np.full(sigma.shape, -np.inf)
    values[sigma.rows, sigma.columns] = sigma.order
    return values


@settings(max_examples=200, deadline=None)
@given(square())
def test_transversal_against_all_permutations(sigma):
    values, n = dense(sigma), sigma.shape[0]
    best = max(values[range(n), list(order)].sum() for order in itertools.permutations(range(n)))
    found = best_transversal(sigma)
    assert sorted(found.tolist()) == list(range(n))
    assert values[range(n), found].sum() == best


@settings(max_examples=200, deadline=None)
@given(square(largest=9))
def test_offsets_against_a_linear_program(sigma):
    """min Σ d − Σ c tells which offsets are dual to the assignment; of these those with the least Σ c."""
    n, values = sigma.shape[0], dense(sigma)
    matched = best_transversal(sigma)
    c, d = smallest_offsets(sigma, matched)
    assert (c >= 0).all()
    assert (d - c[:, None] >= values).all()
    assert d.sum() - c.sum() == values[range(n), matched].sum()
    rows = np.zeros((len(sigma.columns), 2 * n))  # c_i − d_j ≤ −σ_ij
    entries = np.arange(len(rows))
    rows[entries, sigma.rows], rows[entries, n + sigma.columns] = 1, -1
    balance = np.concatenate([-np.ones(n), np.ones(n)])[None]
    least = linprog(
        np.concatenate([np.ones(n), np.zeros(n)]), rows, -sigma.order, balance, [d.sum() - c.sum()], bounds=(0, None)
    )
    assert round(least.fun) == c.sum()


@settings(max_examples=200, deadline=None)
@given(square(largest=9))
def test_offsets_do_not_depend_on_the_transversal(sigma):
    """Another order of rows and columns leads to other transversals, and to the same offsets."""
    n = sigma.shape[0]
    c, d = smallest_offsets(sigma, best_transversal(sigma))
    rows, columns = np.arange(n)[::-1], np.roll(np.arange(n), 1)
    other = Incidence.of(rows[sigma.rows], columns[sigma.columns], sigma.order, sigma.shape)
    c_other, d_other = smallest_offsets(other, best_transversal(other))
    assert c_other[rows].tolist() == c.tolist()
    assert d_other[columns].tolist() == d.tolist()


@settings(max_examples=200, deadline=None)
@given(square(largest=9))
def test_blocks_against_another_decomposition(sigma):
    matched = maximum_matching(sigma)
    assume((matched >= 0).all())
    blocks, values = triangular_blocks(sigma, matched), dense(sigma)
    solved: set[int] = set()
    for rows, columns in blocks:
        solved |= set(columns.tolist())
        for i in rows:
            assert matched[i] in columns
            assert set(sigma.row(i).tolist()) <= solved
    pattern = ca.Sparsity.triplet(*sigma.shape, sigma.rows.tolist(), sigma.columns.tolist())
    count, row_order, column_order, row_ends, column_ends, _, _ = pattern.btf()
    theirs = {
        (
            frozenset(row_order[row_ends[k] : row_ends[k + 1]]),
            frozenset(column_order[column_ends[k] : column_ends[k + 1]]),
        )
        for k in range(count)
    }
    assert {(frozenset(rows.tolist()), frozenset(columns.tolist())) for rows, columns in blocks} == theirs
    assert np.isfinite(values).any()
