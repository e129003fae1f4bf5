"""Division by a diagonal mass."""

import numpy as np
import pytest
import scipy.sparse as sp

import dalembert as da
from dalembert.linalg.saddle.auto import Auto
from dalembert.linalg.saddle.diagonal import Diagonal
from dalembert.linalg.saddle.saddle import solve_saddle
from dalembert.linalg.saddle.solver import SaddlePattern

NONE = (np.zeros(0, int), np.zeros(0, int))


def pattern(rows, columns, n, constraint=NONE, n_lam=0):
    return SaddlePattern(n, n_lam, (np.asarray(rows), np.asarray(columns)), constraint)


def test_the_solution_is_a_quotient_whatever_the_order():
    rng = np.random.default_rng(0)
    n = 300
    order, masses, f = rng.permutation(n), rng.uniform(0.1, 9, n), rng.standard_normal(n)
    M = sp.coo_matrix((masses[order], (order, order)), shape=(n, n))
    w, lam = solve_saddle(Diagonal(), M, np.zeros((0, n)), f, np.zeros(0))
    np.testing.assert_array_equal(w, f / masses)
    assert lam.size == 0


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_masses_that_cannot_be_divided_by_are_named(bad):
    masses = np.ones(30)
    M = sp.coo_matrix((masses, (np.arange(30), np.arange(30))), shape=(30, 30))
    M.data[7] = bad
    names = [f"v{i}" for i in range(30)]
    with pytest.raises(da.SingularMatrix, match="v7"):
        solve_saddle(Diagonal(), M, np.zeros((0, 30)), np.ones(30), np.zeros(0), velocity_names=names)


def test_auto_divides_where_it_can():
    n = 5000
    i = np.arange(n)
    assert isinstance(Auto().choose(pattern(i, i, n)), Diagonal)
    full = pattern(np.r_[i, 0, 1], np.r_[i, 1, 0], n)
    assert not isinstance(Auto().choose(full), Diagonal)
    held = pattern(i, i, n, (np.zeros(2, int), np.arange(2)), 1)
    assert not isinstance(Auto().choose(held), Diagonal)
    for other in (full, held):
        with pytest.raises(da.OptionError, match="not diagonal, or there are constraints"):
            Diagonal().build(other)


def test_a_missing_mass_is_no_diagonal():
    """A velocity without mass and without a constraint: others say what is wrong with it."""
    assert Diagonal().obstacle(pattern(np.arange(29), np.arange(29), 30))
