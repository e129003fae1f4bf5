"""SymPy trees against SymPy's own evaluation."""

import subprocess
import sys

import casadi as ca
import numpy as np
import pytest
import sympy as sp

from dalembert.errors import UntraceableError
from dalembert.model.expression import Expr, scalar, to_sx
from dalembert.model.sympy_bridge import is_sympy, sympy_to_expr

x, y, z = sp.symbols("x y z")
t = sp.Symbol("t")
NAMES = ("x", "y", "z", "x_dot")
SYMBOLS = {name: scalar(ca.SX.sym(name)) for name in NAMES}


def evaluate(expression, **values):
    """Value of a translated expression, as an array."""
    sx, _ = to_sx(sympy_to_expr(expression, SYMBOLS.__getitem__))
    names = [name for name in NAMES if name in values]
    return ca.Function("f", [SYMBOLS[n].sx for n in names], [sx], {"allow_free": False})(
        *(values[n] for n in names)
    ).full()


EXPRESSIONS = [
    x + y + z - 3,
    x * y / z,
    x / 3 - sp.Rational(2, 7) * y,
    x**2 * y**-3 * z**4,
    (x - y) ** -1 + x**-2,
    sp.sqrt(x**2 + y**2) / sp.sqrt(3),
    sp.Abs(z) ** sp.Rational(1, 3) + sp.cbrt(7),
    sp.Abs(x) ** y,
    2**x + sp.E**y + sp.exp(-z),
    sp.pi * x + sp.E + sp.GoldenRatio + sp.EulerGamma,
    sp.Float("1.25") * x,
    sp.sin(x) * sp.cos(y) - sp.tan(z),
    sp.cot(x) + sp.sec(y) + sp.csc(z),
    sp.asin(x / 5) + sp.acos(y / 5) + sp.atan(z),
    sp.acot(x) + sp.asec(3 + x**2) + sp.acsc(3 + y**2),
    sp.sinh(x) + sp.cosh(y) + sp.tanh(z),
    sp.coth(x) + sp.sech(y) + sp.csch(z),
    sp.asinh(x) + sp.acosh(2 + y**2) + sp.atanh(z / 9) + sp.acoth(3 + x**2),
    sp.log(1 + x**2) + sp.log(3 + y**2, 10),
    sp.atan2(y, x),
    sp.Abs(x - 5) + sp.sign(y) + sp.sign(-z),
    sp.floor(x * 3) + sp.ceiling(y * 3),
    sp.Mod(x, 2) + sp.Mod(-y, 3) + sp.Mod(z, -2),
    sp.Min(x, y, z) + sp.Max(x, y, 1),
    sp.Heaviside(x - 1) + sp.Heaviside(y, 1),
    sp.erf(x) + sp.erfc(y),
    sp.sinc(x) + sp.sinc(y / 1000),
    sp.Piecewise((x, x < y), (y**2, x < z), (z, True)),
    sp.Piecewise((1, (x > 0) & (y > 0)), (2, (x > 0) | ~(y < z)), (3, True)),
    sp.Piecewise((1, sp.Eq(x, y)), (2, sp.Ne(y, z) & (x <= z)), (3, x >= 0), (4, True)),
    sp.diff(sp.exp(sp.sin(x * y)) / (1 + z**2), x, y),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
@pytest.mark.parametrize("values", [(0.7, 1.3, -0.4), (1.9, 0.35, 2.2), (0.2, -1.1, 0.9)])
def test_agrees_with_evalf(expression, values):
    exact = complex(expression.evalf(30, subs=dict(zip((x, y, z), map(sp.Float, values), strict=True))))
    if abs(exact.imag) > 1e-20:
        pytest.skip("complex here")
    found = evaluate(expression, x=values[0], y=values[1], z=values[2])
    assert found[0, 0] == pytest.approx(exact.real, rel=1e-13, abs=1e-14)


def test_derivatives_of_integer_powers_at_negative_base():
    sx = sympy_to_expr(x**3 + x**-2, SYMBOLS.__getitem__).sx
    slope = ca.Function("f", [SYMBOLS["x"].sx], [ca.jacobian(sx, SYMBOLS["x"].sx)])
    assert float(slope(-2.0)) == pytest.approx(12 + 0.25)


def test_fractional_part():  # which evalf itself cannot do
    assert evaluate(sp.frac(x), x=-1.25)[0, 0] == 0.75


def test_dynamicsymbols_by_name():
    q = sp.Function("x")(t)
    found = evaluate(q**2 + sp.Derivative(q, t) * sp.Symbol("y"), x=3.0, x_dot=5.0, y=2.0)
    assert found[0, 0] == 19
    with pytest.raises(UntraceableError, match="first time derivatives"):
        sympy_to_expr(q.diff(t, 2), SYMBOLS.__getitem__)


def test_shapes():
    assert isinstance(sympy_to_expr(x, SYMBOLS.__getitem__), Expr)
    assert sympy_to_expr([x, 1, 2.5, SYMBOLS["y"]], SYMBOLS.__getitem__).shape == (4,)
    assert sympy_to_expr(sp.Matrix([x, y]), SYMBOLS.__getitem__).shape == (2, 1)
    assert sympy_to_expr([[x, y], [1, 0]], SYMBOLS.__getitem__).shape == (2, 2)
    assert sympy_to_expr(np.array([x, y]), SYMBOLS.__getitem__).shape == (2,)
    rotation = sp.ImmutableMatrix([[sp.cos(x), -sp.sin(x)], [sp.sin(x), sp.cos(x)]])
    assert np.allclose(evaluate(rotation, x=0.3), np.array(rotation.subs(x, 0.3), dtype=float))


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        (sp.Symbol("unknown") + 1, "unknown"),
        (sp.Function("f")(x), "'f'"),
        (sp.gamma(x), "gamma"),
        (sp.I * x, "ImaginaryUnit"),
        (sp.Integral(sp.sin(x * t), (t, 0, 1)), "Integral"),
        (sp.zoo, "ComplexInfinity"),
        (sp.Derivative(sp.sin(x), x), "Derivative"),
    ],
    ids=str,
)
def test_unsupported_nodes_are_named(expression, named):
    with pytest.raises(UntraceableError, match=named):
        sympy_to_expr(expression, SYMBOLS.__getitem__)


def test_deep_trees():
    tree = x
    for _ in range(3000):
        tree = sp.sin(tree, evaluate=False)
    assert 0 < evaluate(tree, x=1.0)[0, 0] < 1


def test_is_sympy_and_no_import():
    assert is_sympy(x)
    assert is_sympy([1, [x]])
    assert is_sympy(sp.Matrix([1]))
    assert not is_sympy([1.0, "x", SYMBOLS["x"]])
    code = (
        "import sys; from dalembert.model.sympy_bridge import is_sympy; assert not is_sympy(1); "
        "assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
