"""Combinations of equations in which derivatives cancel take the place of one of them."""

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import analyse, regularized
from dalembert.regularize.structure.analysis import equations_of


def test_transistor_amplifier():
    """Index 1, five degrees of freedom: the sums of three pairs of rows are the algebraic equations."""
    model = da.problems.transistor_amplifier().model
    names = equations_of(model)[0].names
    assert [names[k] for k in (0, 3, 6)] == [
        "(equation 1) + (equation 2)", "(equation 4) + (equation 5)", "(equation 7) + (equation 8)",
    ]  # fmt: skip
    assert model.index == 1
    assert model.structure.degrees_of_freedom == 5
    assert not model.structure.hides


def circuit(source):
    """Nodes a, b with a capacitor between them alone, and node v that a source holds, whose current is wanted."""
    return da.QuasiLinearDAE(
        x=["a", "b", "v", "current"],
        parameters={"C": 2.0, "R": 3.0},
        leading=lambda s: [[s.C, -s.C, 0, 0], [-s.C, s.C, 0, 0], [0, 0, s.C, 0], [0, 0, 0, 0]],
        rhs=lambda s: [(s.v - s.a) / s.R, -s.b / s.R, s.current + (s.a - s.v) / s.R, s.v - source(s)],
    )


def test_circuit_with_a_capacitor_between_nodes():
    model = circuit(lambda s: np.sin(s.t))
    assert equations_of(model)[0].names[0] == "(equation 1) + (equation 2)"
    form = regularized(model)
    assert form.degrees_of_freedom == 1
    assert model.index == 2
    a, t, v = 0.7, 0.4, np.sin(0.4)
    current = 2 * np.cos(t) + (v - a) / 3
    for level in model.hidden_constraints().values([a, v - a, v, current], t):  # what flows into a flows out of b
        np.testing.assert_allclose(level, 0, atol=1e-14)


def test_combinations_with_derivatives_count():
    """a' + 2 b' + c = 0 and a + 2 b = sin t: c = −cos t is hidden."""
    model = da.ImplicitDAE(
        x=["a", "b", "c"],
        residual=lambda s: [s.a_dot + 2 * s.b_dot + s.c, s.a + 2 * s.b - np.sin(s.t), s.c_dot + s.a - s.b],
    )
    assert model.index == 3
    form = regularized(model)
    assert form.degrees_of_freedom == 0
    assert [level.names for level in form.levels] == [
        ("equation 2",),
        ("(equation 1) − (d/dt) (equation 2)",),
        ("derivative 1 of (equation 1) − (d/dt) (equation 2)",),
    ]
    assert form.added.tolist() == [False, True, True]
    t = 0.3
    a_minus_b = -np.sin(t)  # c' = sin t
    b = (np.sin(t) - a_minus_b) / 3
    for level in model.hidden_constraints().values([b + a_minus_b, b, -np.cos(t)], t):
        np.testing.assert_allclose(level, 0, atol=1e-14)


def test_combinations_hold_for_all_parameters():
    """Rows that are opposites for the given parameters only are no reason to combine them."""
    model = da.ImplicitDAE(
        x=["a", "b"], parameters={"C": 2.0, "D": 2.0},
        residual=lambda s: [s.C * s.a_dot + s.C * s.b_dot + s.a, s.D * s.a_dot + 2 * s.b_dot + s.b],
    )  # fmt: skip
    assert equations_of(model)[0].names == ("equation 1", "equation 2")
    assert analyse(model).c.tolist() == [0, 0]


def test_regular_equations_stay_as_they_are():
    for name in ("robertson", "van_der_pol"):
        if hasattr(da.problems, name):
            model = getattr(da.problems, name)().model
            assert all("(" not in equation for equation in equations_of(model)[0].names)
    model = da.ImplicitDAE(x=["a", "b"], residual=lambda s: [s.a_dot + s.b_dot + s.a, s.a_dot - s.b_dot + s.b])
    assert equations_of(model)[0].names == ("equation 1", "equation 2")
    assert equations_of(model)[0].spent is None


@pytest.mark.parametrize("n", [3, 30])
def test_equations_that_depend_on_each_other_are_named(n):
    """The same equation twice: no combination helps."""
    model = da.ImplicitDAE(
        x=[f"x{k}" for k in range(n)],
        residual=lambda s: [
            s.x[0] + s.x[1] - np.sin(s.t), 2 * (s.x[0] + s.x[1]) - 2 * np.sin(s.t),
            *(s.dx[k - 2] + s.x[k] for k in range(2, n)),
        ],
    )  # fmt: skip
    with pytest.raises(da.NumericallySingular) as caught:
        regularized(model)
    assert {"equation 1", "equation 2"} <= set(caught.value.equations)
