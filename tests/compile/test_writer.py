"""Tapes written number by number, and three columns at once, against NumPy."""

import ctypes

import casadi as ca
import numpy as np
import pytest

from dalembert.compile.tape import compile_code
from dalembert.compile.writer import Writer

OPERATIONS = (
    lambda p, q, c: p + q, lambda p, q, c: p - q, lambda p, q, c: 0.5 * p * q, lambda p, q, c: c - abs(p),
    lambda p, q, c: 1.0 / (1.0 + p * p), lambda p, q, c: -p * c,
)  # fmt: skip


def test_known_numbers_write_nothing():
    writer = Writer(1, 0)
    (x,), _ = writer.arguments()
    assert x * 1 is x
    assert x + 0.0 is x
    assert x - 0 is x
    assert 0 * x == 0.0
    port = writer.port([x * -1, 2.5, 0.0 - x])
    np.testing.assert_array_equal(port(0.0, np.array([3.0]), np.zeros(0)), [-3.0, 2.5, -3.0])


@pytest.mark.parametrize("seed", range(10))
def test_random_tapes(seed):
    """Longer than one chunk, with values that are used much later."""
    rng = np.random.default_rng(seed)
    writer = Writer(5, 3)
    x, theta = writer.arguments()
    a, b = rng.uniform(0.5, 2.0, 5), rng.uniform(0.5, 2.0, 3)
    numbers, values = [*x, *theta], [*a, *b]
    for _ in range(int(rng.integers(10, 3000))):
        i, j = rng.integers(0, len(numbers), 2)
        kind = rng.integers(0, 6)
        known = float(rng.choice([0.0, 1.0, -1.0, 0.7]))
        for each in (numbers, values):
            each.append(OPERATIONS[kind](each[i], each[j], known))
        if not abs(values[-1]) < 1e3:
            numbers.pop()
            values.pop()
    chosen = rng.integers(0, len(numbers), 40)
    port = writer.port([numbers[k] for k in chosen])
    np.testing.assert_allclose(port(0.0, a, b), [values[k] for k in chosen], rtol=1e-12, atol=1e-12)


def test_three_columns_at_once():
    rng = np.random.default_rng(3)
    t, A, x, y = ca.SX.sym("t"), ca.SX.sym("A", 6), ca.SX.sym("x", 2), ca.SX.sym("y", 3)
    out = ca.vertcat(ca.reshape(A, 3, 2) @ x - 2 * y, -y[0], 3 * (A[0] * A[1] + t) * x[1], y[1] + y[1], ca.SX(0))
    function = ca.Function("f", [t, A, x, y], [ca.densify(out)])
    code = compile_code(function, wide=frozenset({2, 3}))
    pointer = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, pointer, pointer, pointer, pointer)(code.address)
    a, X, Y, result = rng.normal(size=6), rng.normal(size=(2, 3)), rng.normal(size=(3, 3)), np.full((8, 3), 7.0)
    assert call(0.25, a.ctypes.data, X.ctypes.data, Y.ctypes.data, result.ctypes.data) == 0
    for k in range(3):
        expected = np.array(function(0.25, a, X[:, k], Y[:, k])).ravel()
        np.testing.assert_allclose(result[:7, k], expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(result[7], 7.0)  # nothing behind the results is touched


def test_three_columns_of_what_is_not_linear_are_refused():
    t, x = ca.SX.sym("t"), ca.SX.sym("x", 2)
    with pytest.raises(NotImplementedError):
        compile_code(ca.Function("f", [t, x], [ca.sin(x)]), wide=frozenset({1}))
