"""Overdetermined DAEs: hidden constraints that the user has written, invariants, and contradictions."""

import itertools

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import regularized

POSITION = {"position": lambda s: s.p**2 + s.q**2 - s.L**2}
VELOCITY = {"velocity": lambda s: s.p * s.v + s.q * s.w}  # half of (6f)
ACCELERATION = {  # (6g)
    "acceleration": lambda s: (
        2 * s.v**2 + 2 * s.w**2 + 2 * s.p * (-2 * s.p * s.lam) / s.m + 2 * s.q * (-s.m * s.g - 2 * s.q * s.lam) / s.m
    )
}
ALL = POSITION | VELOCITY | ACCELERATION


def pendulum(*constraints, **options):
    return da.QuasiLinearDAE(
        x=["p", "q", "v", "w", "lam"],
        parameters={"m": 1.3, "g": 13.75, "L": 0.9},
        leading=lambda s: np.diag([1, 1, s.m, s.m, 0])[:4],
        rhs=lambda s: [s.v, s.w, -2 * s.p * s.lam, -s.m * s.g - 2 * s.q * s.lam],
        constraints=lambda s: [constraint(s) for constraint in constraints],
        **options,
    )


@pytest.mark.parametrize("order", list(itertools.permutations(ALL)))
def test_all_constraints_in_any_order(order):
    """The constraint on positions is the one of which the others are derivatives, wherever it stands."""
    model = pendulum(*(ALL[name] for name in order))
    form = regularized(model)
    assert model.index == 3
    assert [len(level) for level in form.levels] == [1, 1, 1]
    assert form.degrees_of_freedom == 2
    assert not form.added.any()
    assert len(form.invariants) == 0
    number = {name: k + 1 for k, name in enumerate(order)}
    position, velocity, acceleration = (level.names[0] for level in form.levels)
    assert position == f"constraint {number['position']}"
    assert velocity == f"constraint {number['velocity']} (derivative 1 of {position})"
    assert acceleration == f"constraint {number['acceleration']} (derivative 2 of {position})"


def test_some_are_missing():
    form = regularized(pendulum(POSITION["position"], ACCELERATION["acceleration"]))
    assert form.added.tolist() == [False, True, False]
    form = regularized(pendulum(VELOCITY["velocity"], POSITION["position"]))
    assert form.added.tolist() == [False, False, True]


def test_combinations_of_levels_are_recognized():
    """Baumgarte's combination holds where all constraints hold."""
    combination = lambda s: ACCELERATION["acceleration"](s) + 5 * VELOCITY["velocity"](s) + POSITION["position"](s)  # noqa: E731
    form = regularized(pendulum(POSITION["position"], combination))
    assert form.added.tolist() == [False, True, False]
    assert len(form.invariants) == 0


def energy(s):
    return s.m * (s.v**2 + s.w**2) / 2 + s.m * s.g * s.q - 0.3


@pytest.mark.parametrize("more", [(), tuple(VELOCITY.values()), (*VELOCITY.values(), *ACCELERATION.values())])
def test_energy_is_an_invariant(more):
    model = pendulum(POSITION["position"], *more, energy)
    form = regularized(model)
    assert form.invariants.names == (f"constraint {len(more) + 2}",)
    assert form.invariants.equations.tolist() == [4 + len(more) + 1]
    assert form.degrees_of_freedom == 2
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    found = ca.Function("e", [form.x, model.graph.theta], [form.invariants.rows])(x, model.theta(0.0))
    assert float(found) == pytest.approx(1.3 * 0.25 / 2 + 1.3 * 13.75 * 0.2 - 0.3)


def test_what_holds_if_it_holds_at_the_start_is_an_invariant():
    """(x − y)' = −(x − y): zero stays zero."""
    model = da.QuasiLinearDAE(
        x=["x", "y"], rhs=lambda s: [-s.x + np.sin(s.t), -s.y + np.sin(s.t)], constraints=lambda s: [s.x - s.y]
    )
    form = regularized(model)
    assert form.invariants.names == ("constraint 1",)
    assert not form.hides


WRONG = {
    "neither follows": lambda s: s.p * s.v - s.q * s.w,  # a wrong sign
    "nor stays": lambda s: s.q + 0.5,
    "no point was found": lambda s: s.p * s.v + s.q * s.w - 1,  # contradicts the derivative
    "together with them": lambda s: s.p**2 + s.q**2 + 1,
}


@pytest.mark.parametrize("message", WRONG)
def test_contradictions_are_named(message):
    model = pendulum(POSITION["position"], VELOCITY["velocity"], WRONG[message])
    with pytest.raises(da.ModelError, match=f"constraint 3 .*{message}"):
        regularized(model)


def test_one_of_several_is_wrong():
    model = pendulum(*ALL.values(), energy, WRONG["neither follows"])
    with pytest.raises(da.ModelError, match="constraint 5") as caught:
        regularized(model)
    assert len(caught.value.faults) == 1


def test_a_constraint_twice():
    form = regularized(pendulum(POSITION["position"], POSITION["position"]))
    assert form.added.tolist() == [False, True, True]
    assert len(form.invariants) == 0


@pytest.mark.parametrize("name", ["andrews", "four_bar_linkage", "car_axis", "slider_crank", "heavy_top", "sleigh"])
def test_mechanisms_with_all_constraints_written(name):
    """All levels as the equations of motion have them, in the order from the highest to the lowest level."""
    from naive_forms import naive

    model = getattr(da.problems, name)().model
    plain = naive(model)
    derived = regularized(plain)
    rows = ca.vertcat(*(level.rows for level in derived.levels[::-1]))
    levels = ca.Function("levels", [plain.graph.t, plain.graph.symbol["x"], plain.graph.theta], [rows])
    written = naive(model, constraints=levels)
    form = regularized(written)
    assert form.structure.index == derived.structure.index
    assert [len(level) for level in form.levels] == [len(level) for level in derived.levels]
    assert not form.added.any()
    assert len(form.invariants) == 0
