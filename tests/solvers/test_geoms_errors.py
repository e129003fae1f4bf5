"""GEOMS: every way to fail has its exception, with the level and the names of constraints or variables."""

import numpy as np
import pytest

import dalembert as da

PENDULUM = dict(p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1], lam=["rod"])
ALONG_THE_ROD = dict(invariant=lambda s: [s.x * s.x_dot + s.y * s.y_dot])  # follows from the constraint


def fails(exception, match, method=None, extra=None, **run):
    model = da.EquationsOfMotion(**{**PENDULUM, **(extra or {})})
    with pytest.raises(exception, match=match) as caught:
        da.simulate(model, (0, 1), **{"p0": [1, 0], "v0": [0, 1.0], "method": method or da.Geoms(), **run})
    return caught.value


def test_redundant_positions():
    twice = dict(holonomic=lambda s: [s.x**2 + s.y**2 - 1, 3 * (s.x**2 + s.y**2) - 3], lam=["rod", "copy"])
    for algebraic in ("lu", "qr"):
        fails(
            da.RedundantConstraints, r"position level.*'rod'.*'copy'.*algebraic='svd'",
            da.Geoms(algebraic=algebraic, initial_values="trust"), extra={**twice, "mass": [1, 1]},
        )  # fmt: skip


def test_contact_points_that_are_not_determined():
    contact = dict(s=["q"], contact_points=lambda s: [s.q**2 - (s.x - 1) ** 2])
    fails(
        da.RedundantConstraints,
        r"do not determine s; dependent: contact-point equation of 'q'",
        extra=contact,
        s0=[0.0],
    )


def test_redundant_invariants():
    method = da.Geoms(invariants="impose")
    fails(da.RedundantConstraints, r"velocity level, or invariants.*'rod'.*invariant 1", method, ALONG_THE_ROD)


def test_redundancy_that_is_not_uniform():
    method = da.Geoms(invariants="impose", algebraic="svd")
    fails(da.RedundantConstraints, r"not uniformly.*0, 1 and 0 of them", method, ALONG_THE_ROD)


def test_a_redundant_invariant_does_no_harm_when_points_are_projected_onto_it():
    model = da.EquationsOfMotion(**PENDULUM, **ALONG_THE_ROD)
    sol = da.simulate(model, (0, 1), p0=[1, 0], v0=[0, 1], method=da.Geoms(), rtol=1e-8, atol=1e-8)
    assert sol.success
    assert sol.max_residual("invariant") < 1e-10


def test_too_many_steps():
    error = fails(da.TooManySteps, "5 steps did not reach the end", max_steps=5)
    assert 0 < error.solution.t[-1] < 1


@pytest.mark.filterwarnings("ignore::dalembert.UntraceableWarning")
def test_a_function_that_raises():
    def force(s):
        if float(s.x) < 0.5:
            raise ValueError("the table ends")
        return [0.0, -9.81]

    error = fails(
        da.FunctionFailed, r"force \(line \d+ of .*test_geoms_errors.*the table ends", extra=dict(force=force)
    )
    assert error.solution.p[-1, 0] > 0.5


def test_leaving_the_domain_of_a_function():
    root = dict(force=lambda s: [np.sqrt(s.x - 0.5), -9.81])
    fails(da.FunctionFailed, "equation of motion of 'x_dot'.*no step size avoids it", extra=root, v0=[0, 0])


def test_start_values_are_checked():
    fails(da.InconsistentInitialValues, "'rod'.*'x' would have to change", da.Geoms(initial_values="check"), p0=[3, 0])


@pytest.mark.parametrize("option", [dict(algebraic="chol"), dict(safety=2), dict(rank_threshold=3), dict(scaling="h")])
def test_options(option):
    (name,) = option
    with pytest.raises(da.OptionError, match=name):
        da.Geoms(**option)
