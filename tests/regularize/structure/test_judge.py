"""Structure that promises more than the numbers hold."""

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import analyse, regularized
from dalembert.regularize.structure.judge import judge
from naive_forms import naive


def charges(factor):
    """Nodes with a capacitor between them whose rows are opposites up to a factor, and a source with its current."""
    return da.ImplicitDAE(
        x=["a", "b", "v", "i"],
        parameters={"C": 2.0},
        residual=lambda s: [
            s.C * (s.a_dot - s.b_dot) + s.a - s.v,
            -factor(s) * s.C * (s.a_dot - s.b_dot) + s.b,
            s.v - np.sin(s.t),
            s.v_dot - s.i,
        ],
    )


def test_rows_with_the_same_derivatives():
    with pytest.raises(da.NumericallySingular, match="equation 1, equation 2 do not determine") as caught:
        regularized(charges(lambda s: 1 + s.v**2))
    assert caught.value.equations == ("equation 1", "equation 2")
    assert set(caught.value.variables) == {"a", "b"}
    assert "cancel; put" not in str(caught.value)


def test_terms_that_cancel_in_one_equation():
    model = da.ImplicitDAE(
        x=["a", "b", "f"],
        residual=lambda s: [
            s.a_dot - s.b * np.cos(s.b) ** 2 - s.b * np.sin(s.b) ** 2 + s.b + s.a,  # b is not in it
            s.b - s.a - s.f,
            s.a - np.sin(s.t),
        ],
    )
    assert analyse(model).c.tolist() == [0, 0, 1]
    with pytest.raises(da.NumericallySingular, match="equation 1 does not determine 'b'"):
        regularized(model)


def test_redundant_constraints_of_a_mechanism():
    """Bricard's mechanism moves although it should not: where constraints hold they depend on each other."""
    problem = da.problems.bricard()
    model, equations = naive(problem.model), problem.model
    regularized(model)
    values = da.consistent_initial_values(equations, 0.0, p0=problem.p0, v0=problem.v0).values
    x = np.concatenate([values[kind] for kind in equations.state_kinds if equations.graph.size(kind)])
    with pytest.raises(da.NumericallySingular, match="at t = 0, though not at all points near it") as caught:
        judge(model, 0.0, x, np.zeros(len(x)))
    assert {name.split()[0] for name in caught.value.equations} >= {"constraint"}


def crossing():
    return da.ImplicitDAE(x=["a", "b"], residual=lambda s: [s.a_dot - s.b, s.a**2 - s.t**2])


def test_special_points():
    """a² = t² has two branches that meet at zero."""
    model = crossing()
    regularized(model)
    judge(model, 1.0, np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    with pytest.raises(da.NumericallySingular, match="at t = 0, though not at all points near it") as caught:
        judge(model, 0.0, np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert caught.value.equations == ("equation 2",)
    assert caught.value.variables == ("a",)


def test_parameters_of_the_point_count():
    """A capacitor of a variant of the model is zero."""
    model = da.ImplicitDAE(
        x=["v", "i", "w"], parameters={"C": 1.0}, residual=lambda s: [s.C * s.v_dot - s.i, s.v - np.sin(s.t), s.w - s.v]
    )
    regularized(model)
    zero = model.replace(parameters={"C": 0.0})
    judge(model, 0.0, np.zeros(3), np.zeros(3))
    judge(zero, 0.0, np.zeros(3), np.zeros(3))  # the voltage is given: nothing depends on C v'
    free = da.ImplicitDAE(x=["v", "i"], parameters={"C": 1.0}, residual=lambda s: [s.C * s.v_dot - s.i, s.v + s.i])
    with pytest.raises(da.NumericallySingular, match="equation 1 does not determine derivative 1 of 'v'"):
        judge(free.replace(parameters={"C": 0.0}), 0.0, np.zeros(2), np.zeros(2))


def test_values_that_are_not_finite_are_not_judged():
    judge(crossing(), 0.0, np.array([np.nan, 1.0]), np.zeros(2))


@pytest.mark.parametrize("n", [20, 500])
@pytest.mark.parametrize("what", ["regular", "singular", "nonlinear"])
def test_large_blocks(n, what):
    """A ring of capacitors: with none to ground its matrix is singular, and the sum of all rows a constraint."""

    def residual(s):
        v, rate = s.x[:n], s.dx[:n]
        ring = s.C * (2 * rate - np.roll(rate, 1) - np.roll(rate, -1))
        ground = 0.1 if what == "regular" else np.zeros(n)
        size = 1 + s.x[0] ** 2 if what == "nonlinear" else 1.0
        rows = ring + ground * rate + v
        rows[3] = size * ring[3] + v[3]
        return [*rows, s.x[n] - np.sin(s.t), s.dx[n] - s.x[n + 1]]

    names = [*(f"v{k}" for k in range(n)), "given", "rate"]
    model = da.ImplicitDAE(x=names, residual=residual, parameters={"C": 3.0})
    if what != "nonlinear":
        assert regularized(model).degrees_of_freedom == n - (what == "singular")
        return
    with pytest.raises(da.NumericallySingular) as caught:
        regularized(model)
    assert set(caught.value.equations) == {f"equation {k + 1}" for k in range(n)}
    assert len(str(caught.value)) < 2000
