"""Piecewise polynomials: exact values, jumps, both directions of time, and what cannot be asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

from dalembert.errors import OptionError
from dalembert.solution import Trajectory


def through(polynomials, times, **jumps):
    """The trajectory of one polynomial in t for each component, cut into steps."""
    t, h = np.array(times[1:], float), np.diff(np.array(times, float))
    degree = max(polynomial.degree() for polynomial in polynomials)
    coefficients = np.zeros((len(t), degree + 1, len(polynomials)))
    for k in range(len(t)):
        for i, polynomial in enumerate(polynomials):
            local = polynomial(Polynomial([t[k], h[k]]))
            coefficients[k, : local.degree() + 1, i] = local.coef
    return Trajectory(times[0], [polynomial(times[0]) for polynomial in polynomials], t, h, coefficients, **jumps)


CUBIC, LINE = Polynomial([1.0, -2.0, 0.5, 0.25]), Polynomial([0.5, 3.0])


@given(
    steps=st.lists(st.floats(0.05, 2.0), min_size=1, max_size=12),
    start=st.floats(-5.0, 5.0),
    direction=st.sampled_from([1.0, -1.0]),
    fractions=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20),
)
def test_polynomials_are_reproduced(steps, start, direction, fractions):
    times = start + direction * np.concatenate([[0.0], np.cumsum(steps)])
    trajectory = through([CUBIC, LINE], times)
    t = np.clip(times[0] + np.array(fractions) * (times[-1] - times[0]), times.min(), times.max())
    expected = np.column_stack([CUBIC(t), LINE(t)])
    scale = 1 + np.abs(times).max() ** 3
    np.testing.assert_allclose(trajectory(t), expected, rtol=0, atol=1e-12 * scale)
    assert np.array_equal(trajectory(t), [trajectory(time) for time in t])
    assert np.array_equal(trajectory(times), trajectory.points()[1])


def test_shapes():
    trajectory = through([CUBIC, LINE], [0, 1, 3])
    assert trajectory(0.5).shape == (2,)
    assert trajectory(np.array(0.5)).shape == (2,)
    assert trajectory([0.5]).shape == (1, 2)
    assert trajectory([]).shape == (0, 2)
    assert trajectory(np.zeros((3, 4))).shape == (3, 4, 2)
    assert trajectory.n == 2
    assert trajectory.interval == (0.0, 3.0)


@pytest.mark.parametrize("times", [[0.0, 1.0, 3.0], [3.0, 1.0, 0.0]])
def test_outside_is_an_error_that_names_the_interval(times):
    trajectory = through([LINE], times)
    for t in (-0.1, 3.001, [1.0, 4.0], np.nan, np.inf):
        with pytest.raises(OptionError, match=r"\[0\.0, 3\.0\]"):
            trajectory(t)


@pytest.mark.parametrize("times", [[-1.0, 1.0, 3.0], [3.0, 1.0, -1.0]])
def test_rounding_beyond_the_ends_is_forgiven(times):
    trajectory = through([LINE], times)
    assert trajectory(np.nextafter(3.0, 4.0)) == trajectory(3.0)
    assert trajectory(np.nextafter(-1.0, -2.0)) == trajectory(-1.0)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_jump_gives_the_right_limit_and_both_points(direction):
    # x = 1 before |t| = 1, then −5
    t = direction * np.array([1.0, 2.0])
    trajectory = Trajectory(
        0.0, [1.0], t, direction * np.ones(2), [[[1.0]], [[-5.0]]], restarts=[1], restart_x=[[-5.0]]
    )
    assert trajectory(direction * 0.999) == 1.0
    assert trajectory(direction) == -5.0
    assert trajectory(np.nextafter(direction, 0)) == 1.0
    times, x = trajectory.points()
    assert np.array_equal(times, direction * np.array([0, 1, 1, 2]))
    assert np.array_equal(x.ravel(), [1, 1, -5, -5])
    times, x = trajectory.curve(100)
    assert len(times) >= 100
    assert np.array_equal(x[times == direction].ravel(), [1.0, -5.0])


def test_jumps_at_both_ends_and_twice_at_one_time():
    trajectory = through([LINE], [0, 1, 2], restarts=[0, 1, 1, 2], restart_x=[[10.0], [20.0], [30.0], [40.0]])
    assert trajectory([0.0, 1.0, 2.0]).ravel().tolist() == [10.0, 30.0, 40.0]
    assert trajectory(np.nextafter(2.0, 3.0)) == 40.0
    assert trajectory(1.5) == LINE(1.5)
    times, x = trajectory.points()
    assert times.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert x.ravel().tolist() == [0.5, 10, 3.5, 20, 30, 6.5, 40]
    assert "4 jumps" in repr(trajectory)


def test_no_step_at_all():
    trajectory = Trajectory(2.0, [1.0, 4.0], [], [], [])
    assert trajectory(2.0).tolist() == [1.0, 4.0]
    assert trajectory.points()[1].shape == trajectory.curve()[1].shape == (1, 2)
    with pytest.raises(OptionError, match=r"\[2\.0, 2\.0\]"):
        trajectory(2.1)
    jumped = Trajectory(2.0, [1.0], [], [], [], restarts=[0], restart_x=[[7.0]])
    assert jumped(2.0) == 7.0


def test_curve_is_smooth_and_holds_the_accepted_points():
    trajectory = through([CUBIC], [0, 1, 3])
    t, x = trajectory.curve()
    assert len(t) >= 500
    np.testing.assert_allclose(x.ravel(), CUBIC(t), atol=1e-13)
    assert np.isin([0, 1, 3], t).all()
    assert (np.diff(t) > 0).all()


def test_points_only():
    trajectory = Trajectory.from_points([0, 1, 4], [[1, 2], [3, 4], [5, 6]])
    assert not trajectory.dense
    assert trajectory.coefficients is None
    assert trajectory.interval == (0.0, 4.0)
    assert trajectory.points()[1].tolist() == [[1, 2], [3, 4], [5, 6]]
    assert trajectory.curve() is not None
    with pytest.raises(OptionError, match="dense_output=True"):
        trajectory(0.5)
    assert "3 points" in repr(trajectory)
    empty = Trajectory.from_points([], np.zeros((0, 2)), interval=(0, 10))
    assert empty.interval == (0.0, 10.0)
    assert empty.points()[1].shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"h": [1.0]}, "shape|needs"),
        ({"coefficients": np.zeros((2, 1, 3))}, "needs"),
        ({"t": [1.0, 1.0]}, "monotone"),
        ({"h": [1.0, -1.0]}, "sign"),
        ({"restarts": [3], "restart_x": [[0.0]]}, "0 … 2"),
        ({"restarts": [2, 1], "restart_x": [[0.0], [0.0]]}, "in order"),
        ({"restarts": [1]}, "restart_x"),
    ],
)
def test_impossible_arrays(arguments, message):
    good = {"start_t": 0.0, "start_x": [0.0], "t": [1.0, 2.0], "h": [1.0, 1.0], "coefficients": np.zeros((2, 1, 1))}
    Trajectory(**good)
    with pytest.raises(OptionError, match=message):
        Trajectory(**{**good, **arguments})


def test_impossible_points():
    with pytest.raises(OptionError, match="shapes"):
        Trajectory.from_points([0, 1], [[1.0]])
    with pytest.raises(OptionError, match="interval"):
        Trajectory.from_points([], np.zeros((0, 1)))


def test_many_points_are_computed_in_pieces(monkeypatch):
    rng = np.random.default_rng(1)
    trajectory = Trajectory(0.0, rng.normal(size=3), [1.0, 2.0], [1.0, 1.0], rng.normal(size=(2, 4, 3)))
    times = np.linspace(0, 2, 1001)
    at_once = trajectory(times)
    for piece in (1, 2, 100, 3002):
        monkeypatch.setattr("dalembert.solution.trajectory.PIECE", piece)
        np.testing.assert_array_equal(trajectory(times), at_once)
