"""Elementary functions of generated code against numbers of forty digits, and where their arguments are special."""

from __future__ import annotations

import ctypes
import functools

import mpmath
import numpy as np
import pytest

from dalembert.compile.generated import elementary
from dalembert.compile.generated.code import Module, Target
from dalembert.compile.generated.host import compile_host, host_target

UNARY = ("SIN", "COS", *elementary.UNARY)
NUMPY = {
    "SIN": np.sin, "COS": np.cos, "TAN": np.tan, "ASIN": np.arcsin, "ACOS": np.arccos, "ATAN": np.arctan,
    "EXP": np.exp, "EXPM1": np.expm1, "LOG": np.log, "LOG1P": np.log1p, "SINH": np.sinh, "COSH": np.cosh,
    "TANH": np.tanh, "ASINH": np.arcsinh, "ACOSH": np.arccosh, "ATANH": np.arctanh, "POW": np.power,
    "ATAN2": np.arctan2, "HYPOT": np.hypot,
}  # fmt: skip
EXACT = {"POW": mpmath.power, "ATAN2": mpmath.atan2, "HYPOT": mpmath.hypot}
#: units in the last place
ALLOWED = dict.fromkeys(NUMPY, 2.5) | {"POW": 8.0}


@functools.cache
def functions(width: int):
    module = Module(Target(width=width))
    names = [*UNARY, *elementary.BINARY]
    for name in names:
        code = module.function(f"f_{name}", [("ptr", "x"), ("ptr", "y"), ("ptr", "out")])
        code.linkage = ""
        x, y = code.parameter("x")[0], code.parameter("y")[0]
        if name in ("SIN", "COS"):
            value = elementary.sincos(code, x)[name == "COS"]
        else:
            value = elementary.UNARY[name](code, x) if name in elementary.UNARY else elementary.BINARY[name](code, x, y)
        code.parameter("out").put(0, value)
        code.finish()
    code = compile_host(module, [f"f_{name}" for name in names])
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
    return code, {name: kind(code.addresses[f"f_{name}"]) for name in names}


def aligned(count: int) -> np.ndarray:
    raw = np.zeros(count + 16)
    first = (-raw.ctypes.data // 8) % 8
    return raw[first : first + count]


def call(name: str, x: np.ndarray, y: np.ndarray | None = None, width: int | None = None) -> np.ndarray:
    width = width or host_target().width
    _, known = functions(width)
    count = -(-len(x) // width) * width
    a, b, out = (aligned(count) for _ in range(3))
    a[: len(x)], b[: len(x)] = x, 0.0 if y is None else y
    for k in range(0, count, width):
        known[name](*(array.ctypes.data + 8 * k for array in (a, b, out)))
    return out[: len(x)]


def points(name: str) -> tuple[np.ndarray, np.ndarray | None]:
    rng = np.random.default_rng(3)
    sign = rng.choice([-1.0, 1.0], 100)
    wide = np.concatenate([rng.uniform(-10, 10, 150), sign * 10 ** rng.uniform(-12, 2, 100), rng.uniform(-1, 1, 100)])
    large = sign * 10 ** rng.uniform(2, 13, 100)
    near_one = 1 - 10 ** rng.uniform(-15, -1, 60)
    return {
        "SIN": (np.concatenate([wide, large, np.arange(-20, 20) * np.pi / 4]), None),
        "COS": (np.concatenate([wide, large, np.arange(-20, 20) * np.pi / 4]), None),
        "TAN": (np.concatenate([wide, large]), None),
        "ASIN": (np.concatenate([rng.uniform(-1, 1, 200), near_one, [1.0, -1.0]]), None),
        "ACOS": (np.concatenate([rng.uniform(-1, 1, 200), near_one, [-1.0]]), None),
        "ATANH": (np.concatenate([rng.uniform(-1, 1, 200), near_one[near_one < 1]]), None),
        "EXP": (np.concatenate([wide, rng.uniform(-700, 700, 150)]), None),
        "EXPM1": (np.concatenate([wide, rng.uniform(-50, 700, 150)]), None),
        "SINH": (np.concatenate([wide, rng.uniform(-700, 709, 100)]), None),
        "COSH": (np.concatenate([wide, rng.uniform(-700, 709, 100)]), None),
        "LOG": (np.concatenate([np.abs(wide), 10 ** rng.uniform(-320, 308, 200), 1 + 1e-3 * sign]), None),
        "LOG1P": (np.concatenate([np.abs(wide), rng.uniform(-1, 0, 100)]), None),
        "ACOSH": (np.concatenate([1 + np.abs(wide), 10 ** rng.uniform(0, 300, 60)]), None),
        "POW": (
            np.concatenate([np.abs(wide), rng.uniform(0.5, 2, 150)]),
            np.concatenate([rng.uniform(-10, 10, len(wide)), rng.uniform(-500, 500, 150)]),
        ),
        "ATAN2": (wide, rng.permutation(wide)),
        "HYPOT": (wide, rng.permutation(wide)),
    }.get(name, (wide, None))  # fmt: skip


@pytest.mark.parametrize("name", NUMPY)
def test_errors_are_a_few_units_in_the_last_place(name):
    x, y = points(name)
    found = call(name, x, y)
    exact = EXACT.get(name) or getattr(mpmath, name.lower())
    with mpmath.workdps(40):
        for k, value in enumerate(found.tolist()):
            arguments = [mpmath.mpf(float(x[k]))] + ([] if y is None else [mpmath.mpf(float(y[k]))])
            true = mpmath.re(exact(*arguments))
            unit = mpmath.mpf(float(np.spacing(max(abs(float(true)), 1e-308))))
            assert abs(mpmath.mpf(value) - true) <= ALLOWED[name] * unit, (name, x[k], None if y is None else y[k])


@pytest.mark.parametrize("name", NUMPY)
def test_special_arguments(name):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-310, -1e-310, 1e308, -1e308, 2.0, -2.0, 0.5])
    if name in elementary.BINARY:
        x, y = (a.ravel() for a in np.meshgrid(special, special))
    else:
        x, y = special, None
        if name in ("SIN", "COS", "TAN"):  # no angle is that large
            x = special[~(np.abs(special) > 1e300)]
            assert np.isnan(call(name, np.array([1e308, np.inf, 1e15]))).all()
    with np.errstate(all="ignore"):
        wanted = NUMPY[name](x) if y is None else NUMPY[name](x, y)
    np.testing.assert_allclose(call(name, x, y), wanted, rtol=1e-14)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_members_have_the_bits_of_one_alone(width):
    x = np.linspace(-3, 3, 29)
    for name in ("SIN", "EXP", "TANH", "ATAN"):
        np.testing.assert_array_equal(call(name, x, width=width), call(name, x, width=1))


def test_a_power_of_a_positive_number():
    module = Module(host_target())
    code = module.function("power", [("ptr", "x"), ("ptr", "out")])
    code.linkage = ""
    code.parameter("out").put(0, elementary.positive_power(code, code.parameter("x")[0], -0.2))
    code.finish()
    compiled = compile_host(module, ["power"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(compiled.address)
    x, out = aligned(host_target().width), aligned(host_target().width)
    for value in (1e-30, 0.3, 1.0, 7.0, 1e20):
        x[:] = value
        function(x.ctypes.data, out.ctypes.data)
        np.testing.assert_allclose(out, value**-0.2, rtol=1e-14)
