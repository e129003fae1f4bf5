"""Cable drum, four-bar linkage, rocking block: closed forms, accelerations at the start, events."""

from math import factorial

import numpy as np
import pytest
from index1 import Index1
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import problems

# t = 4: friction, height and velocity of the load
DRUM = [
    (0.0, -6.465832123876663, -3.048560716011213),
    (0.125, -6.300961956535737, -2.972990593644228),
    (0.25, -6.086873705079286, -2.874687614257710),
    (0.5, -5.385381541969242, -2.551218204835897),
    (0.75, -3.644774721378027, -1.739658948472998),
    (1.0, 8.0, 4.0),
    (1.25, -16.20754071293328, -7.298743214511120),
    (1.5, -11.07918861011388, -5.115101423735766),
]


@pytest.mark.parametrize(("friction", "height", "velocity"), DRUM)
def test_drum_closed_form(friction, height, velocity):
    reference = problems.cable_drum(friction).reference
    assert reference.p == pytest.approx([height, 0, 1, height - 1], rel=1e-14, abs=1e-14)
    assert reference.v == pytest.approx([velocity, 0, 0, velocity], rel=1e-14, abs=1e-14)


def test_drum_multipliers():
    expected = [0.5330974231100674, -2.1323896924402694, -1.1323896924402694]
    assert problems.cable_drum().reference.lam == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("near", [1 - 1e-3, 1 - 1e-6, 1 - 1e-9, 1 + 1e-6])
def test_drum_closed_form_has_no_cancellation_where_damping_vanishes(near):
    """y1'' = -A - B y1' with B = 0 at friction 1: around it, the power series of the solution."""
    A, B = (10 - 11 * near) / (11 - 10 * near), (1 - near) / (11 - 10 * near)
    series = -A * sum((-B) ** k * 4 ** (k + 2) / factorial(k + 2) for k in range(8))
    assert problems.cable_drum(near).reference.p[0] == pytest.approx(series, rel=1e-13)


@pytest.mark.parametrize("method", [da.Radau5(formulation="index2"), da.Radau5(formulation="ggl"), da.Geoms()])
@pytest.mark.parametrize("friction", [friction for friction, _, _ in DRUM])
def test_drum_with_forces_of_the_multipliers(friction, method):
    problem = problems.cable_drum(friction)
    sol = problem.simulate(method=method, rtol=1e-11, atol=1e-11)
    assert problem.error(sol) < 1e-11
    assert sol.lam[-1] == pytest.approx(problem.reference.lam, rel=1e-9, abs=1e-9)


def test_drum_turns_once_without_friction():
    p0, p1 = problems.cable_drum(0.0).p0, problems.cable_drum(0.0).reference.p
    assert (p0[3] - p1[3]) / (2 * np.pi) == pytest.approx(1.03, abs=0.005)


def test_four_bar_linkage_accelerations_at_the_start():
    oracle = Index1(problems.four_bar_linkage())
    a, _ = oracle.accelerations(0.0, oracle.y0)
    assert a == pytest.approx([18 / 11, 0.708566239459995, 18 / 11], rel=1e-13)


@pytest.mark.parametrize("t_end", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("options", [{}, {"g": 9.81}, {"l2": 2.0}])
def test_four_bar_linkage_reaches_its_references(options, t_end):
    problem = problems.four_bar_linkage(**options, t_end=t_end)
    for method in (da.Radau5(), da.Geoms()):
        sol = problem.simulate(method=method, rtol=1e-12, atol=1e-12)
        assert problem.error(sol) < 1e-9
    assert sol.lam[-1] == pytest.approx(problem.reference.lam, rel=1e-8)  # of Geoms
    assert len(problem.references) == 3


def test_four_bar_linkage_energy_comes_from_the_torque():
    problem = problems.four_bar_linkage(g=9.81, t_end=2.0)
    sol = problem.simulate(method=da.Geoms(), rtol=1e-11, atol=1e-11)
    (a1, a2, a3), (w1, w2, w3) = sol.p.T, sol.v.T
    kinetic = (4 / 3 * w1**2 + 16 / 3 * w2**2 + 4 / 3 * w3**2) / 2 + 2 * np.cos(a1 - a2) * w1 * w2
    potential = 9.81 * (1.5 * np.sin(a1) + 2 * np.sin(a2) + np.sin(a3))
    balance = kinetic + potential - 6 * a1
    assert np.abs(balance - balance[0]).max() < 1e-7


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms()])
def test_rocking_block_reaches_its_reference_and_stays_in_contact(method):
    problem = problems.rocking_block()
    sol = problem.simulate(method=method, rtol=1e-11, atol=1e-11)
    assert problem.error(sol) < 1e-10
    assert sol.lam.max() < -1.6  # the ground pushes
    assert np.ptp(sol.p[:, 0]) < 1e-13


def test_rocking_block_falls_flat_when_known():
    problem = problems.rocking_block(t_end=1.0)
    assert problem.reference is None
    flat = da.Event(lambda s: s.th, name="flat", terminal=True)
    sol = problem.simulate(method=da.Radau5(), rtol=1e-11, atol=1e-11, events=[flat])
    assert sol.t[-1] == pytest.approx(problems.ROCKING_BLOCK_FLAT, abs=1e-10)


def test_rocking_block_with_other_dimensions():
    """Against the equation for the angle."""
    L, H, m, g = 0.2, 0.1, 3.0, 9.81
    problem = problems.rocking_block(L=L, H=H, m=m, g=g, th0=np.pi / 10, th_dot0=-0.1, t_end=0.09)

    def rhs(t, y):
        height = L / 2 * np.sin(y[0]) + H / 2 * np.cos(y[0])
        slope = L / 2 * np.cos(y[0]) - H / 2 * np.sin(y[0])
        inertia = m * (L**2 + H**2) / 12 + m * slope**2
        return [y[1], (m * slope * height * y[1] ** 2 - m * g * slope) / inertia]

    known = solve_ivp(rhs, (0, 0.09), [np.pi / 10, -0.1], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    sol = problem.simulate(method=da.Radau5(), rtol=1e-11, atol=1e-11)
    assert [sol.p[-1, 2], sol.v[-1, 2]] == pytest.approx(known, abs=1e-9)
