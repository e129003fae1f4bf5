"""Equations that are too many or too few for their unknowns are named."""

import pickle

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.regularize.structure import Incidence, analyse
from dalembert.regularize.structure.decomposition import too_few, too_many
from dalembert.regularize.structure.matching import first_rows, maximum_matching


def complaint(model, rows=None):
    with pytest.raises(da.StructurallySingular) as raised:
        analyse(model, rows)
    return raised.value


def test_too_many_and_too_few_at_once():
    model = da.ImplicitDAE(
        x=["a", "b", "c", "d"], residual=lambda s: [s.a_dot - s.b, s.a - 1, s.b - 2, s.c + s.d * s.a], name="mixture"
    )
    error = complaint(model)
    assert error.overdetermined == ((("equation 1", "equation 2", "equation 3"), ("a", "b")),)
    assert error.underdetermined == ((("equation 4",), ("c", "d")),)
    assert "'mixture'" in str(error)
    assert "equation 1, equation 2, equation 3 contain only 'a', 'b'" in error.faults[0]
    assert "'c', 'd' occur only in equation 4; add an equation" in error.faults[1]


def test_an_unknown_in_no_equation():
    model = da.QuasiLinearDAE(
        x=["a", "b", "c"], leading=np.eye(3)[:1], rhs=lambda s: [s.a], constraints=lambda s: [s.a - s.t, s.b - s.a]
    )
    error = complaint(model)
    assert error.underdetermined == (((), ("c",)),)
    assert "'c' occurs in no equation" in str(error)
    assert error.overdetermined == ((("equation 1", "constraint 1"), ("a",)),)


def test_more_equations_than_unknowns_that_still_miss_one():
    """Equations too many are no fault of an overdetermined model."""
    model = da.QuasiLinearDAE(
        x=["a", "b", "c"],
        leading=np.eye(3)[:1],
        rhs=lambda s: [s.a],
        constraints=lambda s: [s.a - s.t, s.b - s.a, s.b - 1, s.a * s.b],
    )
    error = complaint(model)
    assert error.overdetermined == ()
    assert error.underdetermined == (((), ("c",)),)


def test_chosen_rows_of_which_one_is_too_much():
    model = da.QuasiLinearDAE(
        x=["a", "b"], leading=np.eye(2)[:1], rhs=lambda s: [s.b], constraints=lambda s: [s.a - s.t, s.b - 1]
    )
    error = complaint(model, rows=[0, 1, 2])
    assert error.overdetermined == ((("equation 1", "constraint 1", "constraint 2"), ("a", "b")),)
    for rows in ([0, 0], [0, 3], [-1, 0]):
        with pytest.raises(da.OptionError, match="0 to 2"):
            analyse(model, rows)


def test_long_lists_are_shortened():
    n = 20
    model = da.ImplicitDAE(
        x=[f"x{i}" for i in range(n)],
        residual=lambda s: [*(sum(s.x[: n - 2] ** (k + 1)) for k in range(n - 1)), s.x[n - 2] * s.x[n - 1]],
    )
    error = complaint(model)
    assert len(error.overdetermined[0][0]) == 19
    assert "equation 8, … (19 in all) contain only 'x0'" in str(error)
    assert "equation 9" not in str(error)


def test_the_error_travels():
    error = complaint(da.ImplicitDAE(x=["a", "b", "c"], residual=lambda s: [s.a_dot - 1, s.a, s.b * s.c]))
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.faults, twin.underdetermined) == (str(error), error.faults, error.underdetermined)
    assert isinstance(twin, da.ModelError)


@st.composite
def patterns(draw):
    shape = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    cells = draw(st.lists(st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1)), max_size=20))
    rows, columns = [i for i, _ in cells], [j for _, j in cells]
    return Incidence.of(rows, columns, [0] * len(cells), shape)


@settings(max_examples=200, deadline=None)
@given(patterns())
def test_parts_against_another_decomposition(sigma):
    """Together the parts are those of CasADi's Dulmage-Mendelsohn decomposition; each is as small as can be."""
    n_rows, n_columns = sigma.shape
    pattern = ca.Sparsity.triplet(n_rows, n_columns, sigma.rows.tolist(), sigma.columns.tolist())
    _, row_order, column_order, _, _, coarse_rows, coarse_columns = pattern.btf()
    over, under = too_many(sigma), too_few(sigma)
    assert {i for rows, _ in over for i in rows.tolist()} == set(row_order[: coarse_rows[2]])
    assert {j for _, columns in under for j in columns.tolist()} == set(column_order[coarse_columns[2] :])
    dense = sigma.matrix().todense() > 0
    for rows, columns in over:
        assert len(rows) == len(columns) + 1
        assert set(np.flatnonzero(dense[rows].any(axis=0))) == set(columns.tolist())
        for leave in rows:  # without any of them the others can be matched
            others = sigma.take([i for i in rows if i != leave])
            assert (maximum_matching(others) >= 0).all()
    for rows, columns in under:
        assert len(columns) == len(rows) + 1
        assert set(np.flatnonzero(dense[:, columns].any(axis=1))) == set(rows.tolist())


@settings(max_examples=200, deadline=None)
@given(patterns())
def test_first_rows_are_the_first_that_can_be_matched(sigma):
    chosen: list[int] = []
    for i in range(sigma.shape[0]):
        if (maximum_matching(sigma.take([*chosen, i])) >= 0).all():
            chosen.append(i)
    assert first_rows(sigma).tolist() == chosen
