"""Details known from the literature: accelerations and multipliers at the start, equilibria, special values."""

import numpy as np
import pytest
from index1 import Index1
from scipy.special import ellipk

from dalembert import problems
from dalembert.problems.andrews import INITIAL_ACCELERATION
from dalembert.problems.pendulum import GRAVITY_OF_PERIOD_2


def test_pendulum_gravity_gives_period_2():
    assert abs(4 * ellipk(0.5) ** 2 - GRAVITY_OF_PERIOD_2) < 1e-14
    problem = problems.pendulum()
    assert np.array_equal(problem.reference.p, [1.0, 0.0])
    assert np.array_equal(problem.reference.v, [0.0, 0.0])


def test_pendulum_of_the_iftomm_library():
    reference = problems.pendulum(g=9.81, start=-np.pi / 2, t_end=10.0).reference
    assert reference.p == pytest.approx([-0.27508746257611686, -0.96141920509912506], abs=1e-13)
    assert np.hypot(*reference.v) == pytest.approx(4.343160692864683, abs=1e-12)


def test_hanging_pendulum_turns_where_energy_says():
    v0 = 2.8
    modulus2 = v0**2 / (4 * GRAVITY_OF_PERIOD_2)
    quarter = ellipk(modulus2) / np.sqrt(GRAVITY_OF_PERIOD_2)
    reference = problems.pendulum(start="hanging", v0=v0, t_end=quarter).reference
    assert np.abs(reference.v).max() < 1e-14
    assert -reference.p[1] == pytest.approx(1 - v0**2 / (2 * GRAVITY_OF_PERIOD_2), abs=1e-14)


def test_andrews_start_accelerations_and_multipliers():
    problem = problems.andrews()
    oracle = Index1(problem)
    a, lam = oracle.accelerations(0.0, oracle.y0)
    assert np.abs(a - INITIAL_ACCELERATION).max() < 1e-8
    at_start = next(reference for reference in problem.references if reference.t == 0.0)
    assert np.abs(lam - at_start.lam).max() < 1e-9


def test_andrews_published_and_computed_end_values_differ_by_a_time_shift():
    ours, published, _ = problems.andrews().references
    oracle = Index1(problems.andrews())
    a, _ = oracle.accelerations(ours.t, np.concatenate([ours.p, ours.v]))
    shift = (published.p[0] - ours.p[0]) / ours.v[0]
    assert shift == pytest.approx(1.0e-12, rel=0.05)
    assert np.abs(published.p - ours.p - shift * ours.v).max() < 1e-12
    assert np.abs(a[2:4] - [324102.600707578719, 566749.422000995553]).max() < 1e-4


def test_car_axis_start_accelerations():
    oracle = Index1(problems.car_axis())
    a, lam = oracle.accelerations(0.0, oracle.y0)
    assert a == pytest.approx([0, -1, 0, -1], abs=1e-12)
    assert lam == pytest.approx([0, 0], abs=1e-15)


@pytest.mark.parametrize("springs", ["pneumatic", "linear"])
@pytest.mark.parametrize("version", ["constrained", "unconstrained"])
def test_truck_starts_in_equilibrium(version, springs):
    oracle = Index1(problems.truck(version=version, springs=springs))
    a, lam = oracle.accelerations(0.0, oracle.y0)
    masses = np.array([1450, 3335, 14313, 600, 1100, 948, 11515, 11515, 33000])
    assert np.abs(masses * a).max() < 3e-8  # N: the springs' offsets are printed to 1e-9 N, the levers are a few metres
    if version == "constrained":
        assert lam == pytest.approx([0.0, -68056.2088888888], abs=1e-8)


def test_pneumatic_and_linear_axle_springs_have_one_stiffness_in_equilibrium():
    accelerations = []
    for springs in ("pneumatic", "linear"):
        oracle = Index1(problems.truck(version="unconstrained", springs=springs))
        y = oracle.y0.copy()
        y[[0, 3]] += 1e-5
        accelerations.append(oracle.accelerations(0.0, y)[0])
    assert np.abs(accelerations[0] - accelerations[1]).max() < 1e-4 * np.abs(accelerations[0]).max()


def test_truck_road_is_flat_before_the_onsets():
    model = problems.truck().model
    onsets = (2 / 15, 2 / 15 + 0.3)
    assert model.breakpoints == pytest.approx(onsets)
    assert not np.any(model.input_values(onsets[0] - 1e-9))
    heights = np.array([model.input_values(onsets[0] + t) for t in (1.0, 6.0)])[:, :2]  # value and rate
    assert heights[:, 0, 1] == pytest.approx([0.001 * np.exp(-1), 0.001 * 6**6 * np.exp(-6)])
    assert heights[1, 1, 1] == pytest.approx(0, abs=1e-12)  # the top of the bump


@pytest.mark.parametrize("road", ["sine", "fourier"])
def test_truck11_starts_in_equilibrium(road):
    oracle = Index1(problems.truck11(road=road))
    a, lam = oracle.accelerations(0.0, oracle.y0)
    assert np.abs(a).max() < 1e-11
    assert lam == pytest.approx([-68056.20888889], abs=1e-7)
    assert oracle.model.parameters["I_chassis"] == pytest.approx(10205.937752525251, abs=1e-8)


def test_slider_crank_rigid_start():
    oracle = Index1(problems.slider_crank(start="rigid"))
    a, lam = oracle.accelerations(0.0, oracle.y0)
    assert a[2] == pytest.approx(-3789.473684210526, rel=1e-11)
    assert a[5:7] == pytest.approx([192.4342105263158, 1273.026315789474], rel=1e-11)
    assert lam[1] == pytest.approx(286.3023157894737, rel=1e-11)


def test_slider_crank_start_is_the_published_one_to_its_printed_digits():
    problem = problems.slider_crank()
    printed_p = [0, 0, 0.450016933, 0, 0, 0.103339863e-4, 0.169327969e-4]
    printed_v = [150, -74.9957670, -0.268938672e-5, 0.444896105, 0.463434311e-2, -0.178591076e-5, -0.268938672e-5]
    assert problem.p0 == pytest.approx(printed_p, abs=3e-10)
    assert problem.v0 == pytest.approx(printed_v, abs=1e-7)


def test_slider_crank_rod_frequencies():
    graph_problem = problems.slider_crank(start="rigid")
    oracle = Index1(graph_problem)
    M, _, f0, _ = (np.array(x) for x in oracle._first(0.0, oracle.y0, oracle.model.theta(0.0)))
    y = oracle.y0.copy()
    y[7:] = 0.0  # at rest, so that only the elastic forces act
    stiffness = np.empty((4, 4))
    for i in range(4):
        bent = y.copy()
        bent[3 + i] = 1e-6
        stiffness[:, i] = -np.array(oracle._first(0.0, bent, oracle.model.theta(0.0))[2]).ravel()[3:] / 1e-6
    squares = np.linalg.eigvals(np.linalg.solve(M[3:, 3:], stiffness))
    assert np.sort(np.sqrt(squares.real)) == pytest.approx([1276.7, 5106.7, 6840.8, 24612.7], rel=1e-4)
    assert f0.shape == (7, 1)


def test_slider_crank_agrees_with_the_published_end_values():
    """Up to what the rounding of the published start values leaves open."""
    ours, published = problems.slider_crank().references
    assert np.abs(ours.p - published.p).max() < 3e-10
    assert np.abs(ours.v - published.v).max() < 5e-9
    assert np.abs(ours.lam - published.lam).max() < 2e-6
