"""Functions with jumps and kinks in equations that are differentiated."""

import warnings

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import regularized
from dalembert.regularize.structure.switching import switches


def driven(path, integrators=1):
    """x1' = x2, …, and x1 follows a path: it is differentiated as often as there are integrators."""
    n = integrators + 1
    return da.ImplicitDAE(
        x=[f"x{k + 1}" for k in range(n)],
        parameters={"one": 1.0},
        discrete={"mode": 1.0},
        residual=lambda s: [*(s.dx[k] - s.x[k + 1] for k in range(n - 1)), s.x[0] - path(s)],
    )


JUMPS = {
    "sign": lambda s: np.sign(s.t - 2),
    "floor": lambda s: np.floor(s.t),
    "ceil": lambda s: np.ceil(3 * s.t),
    "fmod": lambda s: np.fmod(s.t, 2.0),
    "a comparison": lambda s: np.where(s.t > 50, 1.0, s.t),
    "copysign": lambda s: np.copysign(1.0, s.t - 7),
}
KINKS = {
    "abs": lambda s: np.abs(s.t - 3),
    "minimum": lambda s: np.minimum(s.t, 2.0),
    "maximum": lambda s: np.maximum(np.sin(s.t), s.x[-1] - s.x[-1] + 0.5 * s.one),
    "a comparison": lambda s: np.where(s.t > 50, 50.0, s.t),
}
SMOOTH = [
    lambda s: np.sinc(s.t),  # a series near zero
    lambda s: np.where(s.t > 1, s.t**4, s.t**4),
    lambda s: s.t * np.abs(s.t) ** 3,
    lambda s: np.abs(s.t**2 + 1),  # never switches
    lambda s: np.where(s.mode > 0, s.t, 2 * s.t),  # constant between events
    lambda s: np.maximum(s.one, 2) * s.t,
]


@pytest.mark.parametrize("name", JUMPS)
def test_jumps_have_no_derivative(name):
    with pytest.raises(da.ModelError, match=f"equation 2 contains {name}, and jumps .* differentiated once"):
        regularized(driven(JUMPS[name]))


@pytest.mark.parametrize("name", KINKS)
def test_kinks_have_one_derivative(name):
    with pytest.warns(da.DerivativeJumps, match=f"equation 2 contains {name}, and has a kink where"):
        regularized(driven(KINKS[name]))
    with pytest.raises(da.ModelError, match=f"equation 3 contains {name}, and has a kink .* differentiated 2 times"):
        regularized(driven(KINKS[name], 2))


@pytest.mark.parametrize("path", SMOOTH)
def test_pieces_that_fit_together_pass(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regularized(driven(path, 2))


def test_higher_kinks():
    """t |t| has one continuous derivative."""
    with pytest.warns(da.DerivativeJumps, match="its derivative 2 jumps"):
        regularized(driven(lambda s: s.t * np.abs(s.t), 2))
    with pytest.raises(da.ModelError, match="its derivative 2 jumps"):
        regularized(driven(lambda s: s.t * np.abs(s.t), 3))


def test_equations_that_are_not_differentiated_may_have_kinks():
    model = da.ImplicitDAE(
        x=["p", "v", "force"],
        residual=lambda s: [s.p_dot - s.v, s.v_dot + abs(s.v) * s.v + np.sign(s.v) - s.force, s.p - np.sin(s.t)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(regularized(model).levels) == 3


def test_equations_that_give_derivatives_are_differentiated_as_well():
    """x1' = |x2| is differentiated for x1''."""
    model = da.ImplicitDAE(
        x=["x1", "x2", "x3"],
        residual=lambda s: [s.x1_dot - abs(s.x2), s.x2_dot - s.x3, s.x1 - np.sin(s.t)],
    )
    with pytest.warns(da.DerivativeJumps, match="equation 1 contains abs"):
        regularized(model)


def test_switches_of_conditions_are_found_once():
    x = ca.SX.sym("x", 2)
    found = switches(ca.vertcat(ca.if_else(ca.logic_and(x[0] > 1, x[1] < 2), x[0], 3), x[0] ** 2))
    assert [switch.name for switch in found] == ["a comparison", "a comparison"]
    assert all(switch.rows == (0,) for switch in found)
