"""Symbols against NumPy itself: the same Python function with symbols and with numbers."""

import copy
import math

import casadi as ca
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import UntraceableError
from dalembert.model.elementary import BY_UFUNC, OF_COLUMNS
from dalembert.model.expression import Expr, ExprArray, array, matrix, scalar, to_sx, vector
from dalembert.model.numeric import directional_derivative

XS = ca.SX.sym("x", 3)
F = np.arange(6.0).reshape(2, 3) - 2.5
A = np.array([[4.0, 1.0, 0.5], [-1.0, 3.0, 0.2], [0.3, 0.1, 2.0]])


def compiled(function):
    """The traced function, and the number of dimensions of its result."""
    sx, ndim = to_sx(function(vector(XS)))
    return ca.Function("f", [XS], [sx]), ndim


def check(function, x, rtol=1e-13):
    """Symbols and numbers must give equal shapes and values."""
    traced, ndim = compiled(function)
    exact = np.asarray(function(np.array(x, dtype=float)), dtype=float)
    assert ndim == exact.ndim
    assert np.allclose(traced(x).full().reshape(exact.shape), exact, rtol=rtol, atol=1e-13, equal_nan=True)


UNARY = [
    "sin",
    "cos",
    "tan",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "exp",
    "exp2",
    "expm1",
    "cbrt",
    "square",
    "reciprocal",
    "fabs",
    "absolute",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
    "positive",
    "negative",
    "conjugate",
    "sinc",
    "logical_not",
]
UNARY_POSITIVE = ["log", "log2", "log10", "log1p", "sqrt"]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "mod",
    "fmod",
    "arctan2",
    "hypot",
    "copysign",
    "heaviside",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "logaddexp",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]
POINTS = [[0.3, -0.7, 1.9], [-2.5, 0.5, -1.5], [3.2, 1.0, -0.01]]


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name):
    for x in POINTS:
        check(getattr(np, name), x)
        check(lambda x: getattr(np, name)(x[1]), x)


@pytest.mark.parametrize("name", UNARY_POSITIVE)
def test_unary_functions_of_positive_numbers(name):
    check(getattr(np, name), [0.3, 1.0, 7.5])


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh"])
def test_unary_functions_of_small_numbers(name):
    check(getattr(np, name), [0.3, -0.9, 0.0])


def test_more_functions():
    check(np.arccosh, [1.0, 1.5, 9.0])
    check(lambda x: np.power(x, [2, 3, -1]), [-0.3, 1.5, -9.0])
    check(lambda x: np.float_power(x, 1.5), [0.3, 1.5, 9.0])
    check(scipy.special.erf, [0.3, -1.5, 2.0])
    check(lambda x: np.divmod(x, 0.7)[0] + np.modf(x)[0], [0.3, -1.5, 2.0])


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name):
    function = getattr(np, name)
    for x in POINTS:
        check(lambda x: function(x, x[0]), x)
        check(lambda x: function(x[0], x), x)
        check(lambda x: function(x, np.array([0.5, -0.5, 1.0])), x)
        check(lambda x: function(np.float64(2.0), x[1]), x)
        check(lambda x: function(F, x), x)
        check(lambda x: function(F[:, :1], x[2]), x)


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "other",
    [2, -1.5, True, np.float64(0.7), np.float32(0.5), np.int64(3), np.array(2.0), np.array([1, -2, 3]), F],
    ids=repr,
)
def test_operators_in_both_orders(operator, other):
    op = OPERATORS[operator]
    for x in POINTS:
        check(lambda x: op(x, other), x)
        check(lambda x: op(other, x), x)
        check(lambda x: op(x[1], other), x)
        check(lambda x: op(other, x[1]), x)
    assert isinstance(op(scalar(XS[0]), 2.0), Expr)
    assert isinstance(op(F, scalar(XS[0])), ExprArray)


@settings(max_examples=60, deadline=None)
@given(st.floats(-50, 50), st.floats(0.01, 9) | st.floats(-9, -0.01))
def test_division_with_remainder(a, b):
    check(lambda x: [x[0] % b, x[0] // b, a % x[1], a // x[1], np.fmod(x[0], x[1])], [a, b, 0.0])


ARRAY_FUNCTIONS = {
    "sum": np.sum,
    "sum of list": lambda x: np.sum([x[0], x[1] * 2]),
    "method sum": lambda x: (F * x).sum(axis=1),
    "sum keepdims": lambda x: np.sum(F * x, axis=0, keepdims=True),
    "sum all axes": lambda x: np.sum(F * x) + (F * x).sum(),
    "prod": np.prod,
    "mean": lambda x: np.mean(F * x, axis=-1),
    "std": np.std,
    "max": lambda x: np.max(F * x, axis=1) + (F * x).max(),
    "min": lambda x: np.min(x) - x.min(),
    "sum initial": lambda x: np.sum(x, initial=3.0) + np.max(x, initial=9.0),
    "any all": lambda x: np.any(x > 1) + 2 * np.all(x > -9),
    "where": lambda x: np.where(x > 0, x, F),
    "where scalar": lambda x: np.where((x[0] > 0) & ~(x[1] > 0) | (x[2] == 0), x[0], -1),
    "select": lambda x: np.select([x < 0, x < 1], [x**2, -x], 7),
    "piecewise": lambda x: np.piecewise(x, [x < 0, x > 1], [lambda z: -z, lambda z: z * 3, 5]),
    "clip": lambda x: np.clip(x, -0.5, 1) + x.clip(0) + np.clip(x[0], None, 0.1),
    "dot": lambda x: np.dot(F, x) + F.dot(x) + F @ x + x @ F.T,
    "matmul": lambda x: (x * A) @ A @ x,
    "vdot inner": lambda x: np.vdot(x, x) + np.inner(x, [1, 2, 3]),
    "outer": lambda x: np.outer(x, x) + np.multiply.outer(x, x),
    "cross": lambda x: np.cross(x, [1, 2, 3]) + np.cross(x, x[::-1]),
    "einsum": lambda x: np.einsum("ij,j->i", F, x) + np.einsum("ij,ij->i", F * x, F),
    "norm": lambda x: np.linalg.norm(x) + np.linalg.norm(x, 1) + np.linalg.norm(x, np.inf) + np.linalg.norm(F * x),
    "norm axis": lambda x: np.linalg.norm(F * x, axis=1),
    "norm of list": lambda x: np.linalg.norm([x[0], x[1]]),
    "solve": lambda x: np.linalg.solve(A + np.diag(x**2), x),
    "solve matrix": lambda x: np.linalg.solve(A + np.outer(x, x), F.T),
    "inv": lambda x: np.linalg.inv(A + np.diag(x**2)),
    "inv large": lambda x: np.linalg.inv(np.kron(np.eye(2), A) + np.sum(x**2)),
    "det": lambda x: np.linalg.det(A * x) + np.linalg.det(np.kron(A[:2, :2], A) + x[0]),
    "interp": lambda x: np.interp(x, [-1, 0, 0.5, 2], [3, 1, 4, 1]),
    "interp sides": lambda x: np.interp(x[0], [-1, 0.3], [3, 1], left=-5, right=8),
    "polyval": lambda x: np.polyval([1, -2, 0.5], x) + np.polyval([2, 3], x[0]),
    "concatenate": lambda x: np.concatenate([x, [x[0], 2.0], F[0]]),
    "stack": lambda x: np.stack([x, F[0]]) + np.vstack([x, x]),
    "hstack": lambda x: np.hstack([x[0], x, 1.0]),
    "block": lambda x: np.block([[A, x[:, None]], [x, np.zeros(1)]]),
    "shapes": lambda x: np.reshape(F * x, (3, 2)).T + np.transpose(F * x).reshape(2, 3),
    "diag trace": lambda x: np.diag(x) * np.trace(x * A) + np.eye(3) * x[0],
    "diff cumsum": lambda x: np.diff(x) + np.cumsum(x)[1:] + np.cumprod(x)[:2],
    "tile roll flip": lambda x: np.tile(np.roll(x, 1) + np.flip(x), 2),
    "round": lambda x: np.round(x, 1),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "zeros_like": lambda x: np.zeros_like(x) + np.ones_like(x[0]) + np.full_like(x, 2.0),
    "vectorize": lambda x: np.vectorize(lambda a: a**2 + 1)(x),
    "average": lambda x: np.average(x, weights=[1, 2, 3]) + np.ptp(x) + np.trapezoid(x)
    if hasattr(np, "trapezoid")
    else np.average(x, weights=[1, 2, 3]),
    "builtins": lambda x: [sum(x), abs(x[0]), round(x[1]), math.floor(x[0]), math.ceil(x[1]), math.trunc(x[2])],
    "reductions": lambda x: np.hypot.reduce(x) + np.logaddexp.reduce(x),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAY_FUNCTIONS)
def test_array_functions(name):
    for x in POINTS:
        check(ARRAY_FUNCTIONS[name], x, rtol=1e-12)


def rotation(a):
    c, s = np.cos(a), np.sin(a)
    return np.array([[c, -s], [s, c]])


PLAIN_OBJECT_ARRAYS = {
    "matmul": lambda x: rotation(x[0]) @ np.array([x[1], x[2]]),
    "dot": lambda x: np.dot(rotation(x[0]), rotation(x[1])).T,
    "mixed": lambda x: rotation(x[0]) @ x[1:] + 2.5 * np.array([x[0], 1.0]) * x[2],
    "functions": lambda x: np.sin(np.array([x[0], x[1]])) + np.sqrt(np.exp(np.array([x[1], x[2]]))),
    "arctan2": lambda x: np.arctan2(np.array([x[0], x[1]]), np.array([x[1], x[2]])),
    "hypot": lambda x: np.hypot(np.array([x[0]]), np.array([x[1]])),
    "powers": lambda x: np.array([x[0], x[1]]) ** 2 + np.abs(np.array([x[1], x[2]])) ** 0.5,
    "cross": lambda x: np.cross(np.array([x[0], x[1], 0]), np.array([0, 0, x[2]])),
    "norm": lambda x: np.linalg.norm(np.array([x[0], x[1]])),
    "sum mean": lambda x: np.sum(rotation(x[0])) + np.mean(np.array([x[0], x[1]])),
    "rounding": lambda x: np.floor(np.array([x[0], x[1]])) + np.ceil(np.array([x[0], x[1]])),
    "fill": lambda x: filled(x),
}


def filled(x):
    result = np.zeros(3, dtype=object)
    result[0] = x[0] * 2
    result[1:] += x[1:]
    return result


@pytest.mark.parametrize("name", PLAIN_OBJECT_ARRAYS)
def test_plain_object_arrays(name):
    for x in POINTS:
        check(PLAIN_OBJECT_ARRAYS[name], x)


def test_in_place_operations_on_arrays_of_symbols():
    def function(x):
        y = x.copy()
        y += 1
        y *= x[0]
        y[0] = 5.0
        return y

    check(function, POINTS[0])


DERIVATIVES = {
    "integer powers": lambda x: [x[0] ** 3, x[1] ** -2, x[2] ** 4, x[0] ** 2.0],
    "steps": lambda x: [np.sign(x[0]), np.floor(x[1]), np.rint(x[2]), np.trunc(x[0]), np.ceil(x[1])],
    "abs": lambda x: [np.abs(x[0]), np.fabs(x[1]), np.copysign(x[2], x[0]), np.cbrt(x[0])],
    "mod": lambda x: [np.mod(x[0], 0.7), np.mod(5.0, x[1]), np.fmod(x[1], x[2]), x[0] // 0.7],
    "min max": lambda x: [np.minimum(x[0], x[1]), np.maximum(x[1], x[2]), np.clip(x[0], -1, 1)],
    "elementary": lambda x: [np.arctan2(x[0], x[1]), np.hypot(x[1], x[2]), np.logaddexp(x[0], x[2]), np.exp2(x[0])],
    "where": lambda x: [np.where(x[0] > 0, x[0] ** 2, -x[1]), np.interp(x[1], [-3, 0, 3], [0, 1, 5])],
    "linear algebra": lambda x: np.linalg.solve(A + np.diag(x**2), x),
    "sinc": lambda x: np.sinc(x),
    "norm": lambda x: [np.linalg.norm(x)],
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_first_derivatives(name):
    function = DERIVATIVES[name]
    sx, _ = to_sx(function(vector(XS)))
    exact = ca.Function("J", [XS], [ca.jacobian(sx, XS)])
    for x in [POINTS[0], [-2.6, 0.45, -1.6]]:
        numbers = [
            directional_derivative(lambda x: np.array(function(x), dtype=float), x, e, scale=0.05) for e in np.eye(3)
        ]
        assert np.allclose(exact(x).full(), np.stack(numbers, axis=1), rtol=1e-9, atol=1e-9)


def test_sinc_has_its_second_derivative_at_zero():
    x = ca.SX.sym("x")
    second = ca.Function("f", [x], [ca.hessian(np.sinc(scalar(x)).sx, x)[0]])
    assert float(second(0.0)) == pytest.approx(-(np.pi**2) / 3)


def test_the_branch_not_taken_does_no_harm():
    z = ca.SX.sym("z", 2)
    x, y = vector(z)
    root = np.sqrt(x * y)
    for value, slope, e in [
        (0.0, [1.0, 0.0], np.where(x > 0, root, x)),
        (0.0, [1.0, 0.0], np.where(x > 0, np.sin(root) * np.exp(root) + root, x)),
        (0.0, [0.0, 0.0], np.where(x > 0, 1 / x + np.log(x), 0)),
        (3.0, [0.0, 0.0], np.where(x <= 0, 3, np.where(x > 0, x**0.5 / x, 0))),
    ]:
        evaluated = ca.Function("f", [z], [e.sx, ca.gradient(e.sx, z), ca.hessian(e.sx, z)[0]])
        for at in (0.0, -1.0):
            f, g, h = evaluated([at, 1.0])
            assert float(f) == (value if value else (at if slope[0] else 0.0))
            assert np.array_equal(g.full().ravel(), slope)
            assert np.array_equal(h.full(), np.zeros((2, 2)))


X = scalar(XS[0])
P = vector(XS)
REFUSED = {
    "bool": (lambda: 1 if X > 0 else 2, "np.where"),
    "chained": (lambda: 0 < X < 1, "np.where"),
    "and": (lambda: X > 0 and X < 1, "&"),
    "max": (lambda: max(X, 2), "np.maximum"),
    "float": (lambda: float(X), "np.sin"),
    "math": (lambda: math.sin(X), "np.sin, not math.sin"),
    "int": (lambda: int(X), r"int\(\)"),
    "complex": (lambda: complex(X), r"complex\(\)"),
    "range": (lambda: range(X), "index"),
    "index": (lambda: [1, 2][X], "index"),
    "repeat": (lambda: [1, 2] * X, "repeat"),
    "format": (lambda: f"{X:.2f}", "format '.2f'"),
    "hash": (lambda: {X: 1}, "dictionary"),
    "iteration": (lambda: list(X), "iteration"),
    "len": (lambda: len(X), "len"),
    "imaginary": (lambda: X * 1j, "complex"),
    "imaginary array": (lambda: np.array([1j]) * X, "complex"),
    "no comparison": (lambda: ~X, "no comparison"),
    "float array": (lambda: np.zeros(2).__setitem__(0, X), "array of floats"),
    "in place": (lambda: np.zeros(3).__iadd__(P), "a = a"),
    "astype": (lambda: P.astype(float), "used as a number"),
    "np.array float": (lambda: np.array([X, 1], dtype=float), "used as a number"),
    "mask": (lambda: P[P > 0], "mask"),
    "isfinite": (lambda: np.isfinite(X), "isfinite"),
    "gamma": (lambda: scipy.special.gamma(X), "gamma"),
    "sort": (lambda: np.sort(P), "np.sort"),
    "argmax": (lambda: np.argmax(P), "np.argmax"),
    "eigvals": (lambda: np.linalg.eigvals(np.outer(P, P)), "np.linalg.eigvals"),
    "allclose": (lambda: np.allclose(P, 0), "np.allclose"),
    "one-argument where": (lambda: np.where(P > 0), "np.where"),
    "plain max": (lambda: np.max(np.array([X, X + 1])), "np.stack"),
    "plain compare": (lambda: np.array([X, X + 1]) > 0, "np.stack"),
    "searchsorted": (lambda: np.searchsorted([1, 2, 3], X), "np.searchsorted"),
    "det too large": (lambda: np.linalg.det(np.eye(20) * X), "too long"),
    "add.at": (lambda: np.add.at(P.copy(), [0], X), "add.at"),
    "to_sx None": (lambda: to_sx(None), "NoneType"),
    "to_sx str": (lambda: to_sx(["a"]), "'str'"),
    "to_sx dict": (lambda: to_sx({}), "'dict'"),
    "to_sx complex": (lambda: to_sx([1j]), "complex"),
    "to_sx ragged": (lambda: to_sx([P, X]), "different shapes"),
    "to_sx cube": (lambda: to_sx(np.zeros((2, 2, 2))), "3 dimensions"),
    "to_sx generator": (lambda: to_sx(x for x in P), "generator"),
    "to_sx text array": (lambda: to_sx(np.array(["a"])), "array of <U1"),
    "to_sx MX": (lambda: to_sx(ca.MX.sym("m")), "'MX'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_symbols_cannot_do(name):
    action, remedy = REFUSED[name]
    with pytest.raises(UntraceableError, match=remedy):
        action()


def test_constants_may_be_used_as_numbers():
    two = X * 0 + 2
    assert float(two) == 2
    assert int(two) == 2
    assert math.sqrt(two + 2) == 2
    assert [10, 20, 30][two] == 30
    assert f"{two:.1f}" == "2.0"
    assert two > 1
    assert bool(X == X)
    assert hash(two) == hash(2.0)


def test_comparison_with_other_things_is_false():
    assert (X == None) is False  # noqa: E711
    assert (X != "x") is True


def test_to_sx_shapes():
    for value, shape, ndim in [
        (X, (1, 1), 0),
        (2, (1, 1), 0),
        (np.float64(2), (1, 1), 0),
        (np.array(X), (1, 1), 0),
        ([X], (1, 1), 1),
        ([], (0, 1), 1),
        ((X, 1, 2.0, np.int64(3), XS[0]), (5, 1), 1),
        ([[X, 0]], (1, 2), 2),
        ([P, P], (2, 3), 2),
        ([P, [1, 2, 3], (X, 0, np.array(1.0))], (3, 3), 2),
        (F, (2, 3), 2),
        (P, (3, 1), 1),
        (P[:, None], (3, 1), 2),
        (XS, (3, 1), 1),
        (XS.T, (1, 3), 2),
        (ca.DM([1, 2]), (2, 1), 1),
        (np.zeros((0, 3)), (0, 3), 2),
    ]:
        sx, found = to_sx(value)
        assert (sx.shape, found) == (shape, ndim)
        assert sx.is_dense() or not sx.numel()
    assert np.array_equal(ca.DM(to_sx(F)[0]).full(), F)


def test_conversions_and_casadi():
    assert array([[X, 1], [2, X]]).shape == (2, 2)
    assert isinstance(array(np.array([X, 0.5])), ExprArray)
    assert np.sin(array([X, 0.5])).shape == (2,)
    square = ca.SX.sym("M", 2, 3)
    assert matrix(square).shape == (2, 3)
    assert ca.is_equal(to_sx(matrix(square))[0], square)
    assert ca.is_equal(ca.sin(X), np.sin(X).sx, 2)
    assert isinstance(X * ca.SX(2), Expr)
    assert copy.deepcopy(X) is X
    assert str(X) == "x_0"
    assert np.shape(X) == ()
    assert isinstance(P.sum(), Expr)
    assert isinstance(P[1:], ExprArray)


LONG_X, LONG_Y = ca.SX.sym("x", 20), ca.SX.sym("y", 20)
MIXED = [0.0, 1.0, -1.0, 2.0, 0.5, -0.0, 3, True]


def _long_arrays():
    """Symbols, expressions and numbers in any order, from several columns, some of them twice."""
    x, y = vector(LONG_X), vector(LONG_Y)
    a = np.concatenate([x[::2], MIXED, 2 * y[:5], x[:7], [x[0] * y[0]] * 2])
    b = np.concatenate([y[:6], x[-10:], a[::-1][:8], MIXED])
    return a, b


@pytest.mark.parametrize(
    "ufunc",
    [ufunc for ufunc, function in BY_UFUNC.items() if function in OF_COLUMNS],
    ids=lambda ufunc: ufunc.__name__,
)
def test_long_arrays_have_the_graphs_of_their_elements(ufunc, monkeypatch):
    graphs = []
    for long in (1, 10**9):
        monkeypatch.setattr("dalembert.model.array_functions.LONG", long)
        a, b = _long_arrays()
        if ufunc.nin == 1:
            results = [ufunc(a), ufunc(a.reshape(4, 8))]
        else:
            results = [ufunc(a, b), ufunc(a, 2.0), ufunc(a[0], b), ufunc(a.reshape(4, 8), b[:8]), ufunc(1, b)]
        flat = [entry for result in results for entry in np.ravel(result)]
        assert all(np.shape(result)[-1] in (8, 32) for result in results)
        function = ca.Function("f", [LONG_X, LONG_Y], [to_sx(flat)[0]])
        graphs.append(function.serialize())
    assert graphs[0] == graphs[1]


def test_an_element_of_a_column_is_taken_out_once():
    x = vector(LONG_X)
    squares = x**2
    assert squares[3].sx is squares[3].sx
    assert str(squares[3]) == "sq(x_3)"
    assert to_sx(x)[0].shape == (20, 1)
    assert str(to_sx(matrix(LONG_X.reshape((4, 5))))[0][1, 2]) == "x_9"
