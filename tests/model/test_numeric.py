"""Numerical derivatives against exact ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import OptionError, StepRefused
from dalembert.model.numeric import directional_derivative, jacobian

SMOOTH = {
    "sin": (np.sin, np.cos, lambda x: -np.sin(x)),
    "exp": (np.exp, np.exp, np.exp),
    "cubic": (lambda x: x**3 - 2 * x, lambda x: 3 * x**2 - 2, lambda x: 6 * x),
    "rational": (lambda x: 1 / (1 + x**2), lambda x: -2 * x / (1 + x**2) ** 2,
                 lambda x: (6 * x**2 - 2) / (1 + x**2) ** 3),
}  # fmt: skip


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_of_known_length_scale(name, length):
    f, first, second = SMOOTH[name]
    for z in (-1.3, 0.2, 0.9):
        point = np.array([z * length])
        one = directional_derivative(lambda x: f(x / length), point, [1.0], scale=length)
        two = directional_derivative(lambda x: f(x / length), point, [1.0], order=2, scale=length)
        assert abs(one[0] * length - first(z)) < 1e-11 * max(1, abs(first(z)))
        assert abs(two[0] * length**2 - second(z)) < 1e-9 * max(1, abs(second(z)))


@pytest.mark.parametrize("scale", [0.01, 0.1, 10.0, 1e3])
def test_a_wrong_guess_of_the_scale_is_forgiven(scale):
    x = np.array([0.7])
    assert directional_derivative(np.sin, x, [1.0], scale=scale) == pytest.approx(np.cos(x), rel=1e-11)
    assert directional_derivative(np.sin, x, [1.0], 2, scale) == pytest.approx(-np.sin(x), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-3, 3), min_size=1, max_size=6),
    st.floats(-5, 5),
    st.floats(0.1, 10) | st.floats(-10, -0.1),
)
def test_polynomials_along_any_direction(coefficients, x, speed):
    p = np.polynomial.Polynomial(coefficients)
    size = max(1.0, np.polynomial.Polynomial(np.abs(coefficients))(abs(x) + 1))
    one = directional_derivative(p, [x], [speed])
    two = directional_derivative(p, [x], [speed], order=2)
    assert abs(one[0] - p.deriv()(x) * speed) < 1e-11 * size * abs(speed)
    assert abs(two[0] - p.deriv(2)(x) * speed**2) < 1e-9 * size * speed**2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=3, max_size=3), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_direction_agrees_with_jacobian(point, direction):
    def f(x):
        return np.array([np.sin(x[0]) * x[1], np.exp(x[2] - x[0]), x[0] * x[1] * x[2], 7.0])

    x, y, z = point
    exact = np.array(
        [
            [np.cos(x) * y, np.sin(x), 0],
            [-np.exp(z - x), 0, np.exp(z - x)],
            [y * z, x * z, x * y],
            [0, 0, 0],
        ]
    )
    found = jacobian(f, point)
    assert found.shape == (4, 3)
    assert np.allclose(found, exact, rtol=1e-11, atol=1e-11 * (1 + np.exp(z - x)))
    along = directional_derivative(f, point, direction)
    assert np.allclose(along, exact @ np.array(direction), rtol=1e-11, atol=1e-10 * (1 + np.exp(z - x)))


def test_matrix_valued_functions_and_scales_per_component():
    value = directional_derivative(lambda x: np.outer(np.sin(1e3 * x), x), [1e-3, 2e-3], [1.0, 0.0], scale=[1e-3, 1.0])
    c, s = np.cos([1.0]), np.sin([1.0, 2.0])
    exact = np.array([[1e3 * c[0] * 1e-3 + s[0], 1e3 * c[0] * 2e-3], [s[1], 0.0]])
    assert np.allclose(value, exact, rtol=1e-11, atol=1e-13)


def test_far_from_the_origin():
    x = np.array([1e6 + 0.3])
    # The argument itself is only known to 1e-10: more digits than this are not in the function.
    assert directional_derivative(np.sin, x, [1.0]) == pytest.approx(np.cos(x), rel=1e-8)
    assert directional_derivative(lambda x: x**2, x, [1.0]) == pytest.approx(2 * x, rel=1e-12)


def refuse(x):
    if abs(x[0]) > 1e-4:
        raise StepRefused("too far")
    return np.sin(x)


def nan_outside(x):
    return np.sqrt(1e-6 - x**2)


def raise_outside(x):
    if x[0] < -1e-3:
        raise ValueError("math domain error")
    return np.exp(x)


@pytest.mark.parametrize(
    ("f", "at", "exact"),
    [
        (refuse, 1e-5, np.cos(1e-5)),
        (nan_outside, 3e-4, -3e-4 / np.sqrt(1e-6 - 9e-8)),
        (raise_outside, 0.0, 1.0),
        (np.log, 0.01, 100.0),
    ],
)
def test_points_where_the_function_cannot_be_evaluated(f, at, exact):
    assert directional_derivative(f, [at], [1.0]) == pytest.approx([exact], rel=1e-10)


def test_no_derivative_at_all():
    def always(x):
        raise StepRefused("never")

    with pytest.raises(StepRefused, match="never"):
        directional_derivative(always, [0.0], [1.0])
    one_sided = directional_derivative(lambda x: np.array([np.sqrt(x[0]), 2 * x[0]]), [0.0], [1.0])
    assert np.isnan(one_sided[0])
    assert one_sided[1] == pytest.approx(2, rel=1e-11)


def test_steps_that_leap_over_a_narrow_bump_are_noticed():
    x = 5e-4
    exact = 1 - 2e6 * x * np.exp(-(1e6 * x**2))
    value = directional_derivative(lambda x: x + np.exp(-1e6 * x**2), [x], [1.0])
    assert value == pytest.approx([exact], rel=1e-11)


def test_a_kink_nearby_does_no_harm():
    spring = lambda x: 1e5 * np.maximum(x, 0)  # noqa: E731
    assert directional_derivative(spring, [1e-3], [1.0]) == pytest.approx([1e5], rel=1e-11)
    assert directional_derivative(spring, [-1e-3], [1.0]) == pytest.approx([0.0], abs=1e-6)


def test_zero_direction_calls_once():
    calls = []
    value = directional_derivative(lambda x: calls.append(1) or np.array([np.nan, x[0]]), [1.0, 2.0], [0.0, 0.0])
    assert np.array_equal(value, [0, 0])
    assert len(calls) == 1


def test_few_evaluations():
    calls = []
    directional_derivative(lambda x: calls.append(1) or np.sin(x), [0.3], [1.0])
    assert len(calls) <= 16


def test_no_variables_and_wrong_options():
    assert jacobian(lambda x: np.array([1.0, 2.0]), []).shape == (2, 0)
    with pytest.raises(OptionError):
        directional_derivative(np.sin, [1.0], [1.0], order=3)
    with pytest.raises(OptionError):
        directional_derivative(np.sin, [1.0], [1.0], scale=0.0)
