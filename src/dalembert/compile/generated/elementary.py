"""Elementary functions as generated code, for vectors of members and for GPUs, where there is no library to call.

Arguments are reduced to a small interval, where a polynomial takes over; its coefficients interpolate the function at
Chebyshev points (`benchmarks/elementary_coefficients.py` prints them). Errors are a few units in the last place
(`tests/compile/test_elementary.py` measures them). Sines and cosines of angles beyond 2⁴⁵ are NaN.

Whole numbers are read off the bits of sums with 1.5·2⁵², since conversions of NaN to integers mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dalembert.compile.generated.code import Code
from dalembert.compile.generated.values import Operand, Real, Truth

#: adding it leaves a whole number in the last bits
MAGIC = 1.5 * 2.0**52
#: π/2 in three parts, of 53 bits each
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
#: ln 2 in two parts: products of the first with exponents are exact
LN2 = (0.6931471805598903, 5.497923018708371e-14)
LARGEST_ANGLE = 2.0**45
INFINITY, NAN = math.inf, math.nan

# (sin r/r − 1)/z and (cos r − 1 + z/2)/z² for z = r², |r| ≤ π/4 and a little more
SIN = (-0.16666666666666663, 0.00833333333333029, -0.0001984126983578818, 2.7557315611669283e-06,
       -2.5051032052364444e-08, 1.5911114983475975e-10)  # fmt: skip
COS = (0.041666666666666664, -0.0013888888888886986, 2.480158729815862e-05, -2.755731696463517e-07,
       2.087608383796075e-09, -1.137824422983457e-11)  # fmt: skip
# (exp r − 1 − r)/r² for |r| ≤ ln 2/2 and a little more
EXP = (0.5000000000000001, 0.16666666666666669, 0.041666666666616864, 0.008333333333329503, 0.0013888888920770123,
       0.00019841269865788537, 2.4801515879478315e-05, 2.7557264294679126e-06, 2.762261407861969e-07,
       2.5102327723609146e-08)  # fmt: skip
# (log((1 + s)/(1 − s))/s − 2)/z for z = s², s ≤ (√2 − 1)/(√2 + 1)
LOG = (0.6666666666666666, 0.4000000000000094, 0.2857142857076445, 0.2222222240054776, 0.181817947008978,
       0.15386290534658992, 0.13267418596474884, 0.1310072138350349)  # fmt: skip
# (atan r/r − 1)/z for z = r², |r| ≤ tan(π/8)
ATAN = (-0.3333333333333333, 0.1999999999999509, -0.14285714284577217, 0.11111111008107874, -0.09090904289128517,
        0.07692176510795928, -0.06664417824186955, 0.058573396761385246, -0.05081236164642543, 0.03911053674347613,
        -0.019029290809743138)  # fmt: skip


def polynomial(code: Code, x: Real, coefficients: Sequence[float]) -> Real:
    """Horner's scheme; the constant comes first."""
    total = code.real(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = code.fma(total, x, coefficient)
    return total


# -- bits --------------------------------------------------------------------------------------------------------------


def _bits(code: Code, x: Real) -> str:
    return code.write(f"bitcast {code.target.real} {x.text} to {code.target.of('i64')}")


def _from_bits(code: Code, bits: str) -> Real:
    return Real(code, code.write(f"bitcast {code.target.of('i64')} {bits} to {code.target.real}"))


def _whole(code: Code, operation: str, bits: str, constant: int) -> str:
    value = str(constant) if code.target.width == 1 else f"splat (i64 {constant})"
    return code.write(f"{operation} {code.target.of('i64')} {bits}, {value}")


def _odd(code: Code, bits: str, mask: int = 1) -> Truth:
    """Whether one of the bits in the mask is set."""
    masked = _whole(code, "and", bits, mask)
    zero = "0" if code.target.width == 1 else "zeroinitializer"
    return Truth(code, code.write(f"icmp ne {code.target.of('i64')} {masked}, {zero}"))


def _negated(code: Code, x: Real, bits: str) -> Real:
    """−x where the last bit but one is set."""
    sign = _whole(code, "and", _whole(code, "shl", bits, 62), -(2**63))
    both = code.write(f"xor {code.target.of('i64')} {_bits(code, x)}, {sign}")
    return _from_bits(code, both)


def _power_of_two(code: Code, exponent: Real) -> Real:
    """Of a whole number that is the exponent of a normal number."""
    bits = _bits(code, _added(code, exponent, MAGIC + 1023.0))
    return _from_bits(code, _whole(code, "shl", bits, 52))


def _added(code: Code, a: Real, b: Operand, operation: str = "fadd") -> Real:
    """A sum that must be rounded as it stands."""
    return Real(code, code.write(f"{operation} {code.target.real} {a.text}, {code.real(b).text}"))


# -- angles ------------------------------------------------------------------------------------------------------------


def sincos(code: Code, x: Real) -> tuple[Real, Real]:
    """Sine and cosine."""
    shifted = _added(code, x * (2.0 / math.pi), MAGIC)
    n = _added(code, shifted, MAGIC, "fsub")
    r = x
    for part in HALF_PI:  # the first difference is exact
        r = code.fma(-n, part, r)
    r = code.select(code.abs(x) < LARGEST_ANGLE, r, NAN)
    z = r * r
    sine = code.fma(r * z, polynomial(code, z, SIN), r)
    cosine = code.fma(z, code.fma(z, polynomial(code, z, COS), -0.5), 1.0)
    bits = _bits(code, shifted)
    crossed = _odd(code, bits)
    s, c = code.select(crossed, cosine, sine), code.select(crossed, sine, cosine)
    # the cosine is negative in the second and third quadrant, the sine in the third and fourth
    return _negated(code, s, bits), _negated(code, c, _whole(code, "add", bits, 1))


def tan(code: Code, x: Real) -> Real:
    s, c = sincos(code, x)
    return s / c


def atan(code: Code, x: Real) -> Real:
    return atan2(code, x, code.real(1.0))


def atan2(code: Code, y: Real, x: Real) -> Real:
    """The angle of the point (x, y)."""
    a, b = code.abs(y), code.abs(x)
    steep = a > b
    low, high = code.select(steep, b, a), code.select(steep, a, b)
    # an angle up to π/4 between the nearer axis and the point, of which π/4 is taken where it exceeds π/8
    endless = low.equals(INFINITY)  # both are: exactly π/4
    far = (low > high * math.tan(math.pi / 8)) | endless
    ratio = code.select(far, low - high, low) / code.select(far, low + high, high)
    ratio = code.select(high.equals(0.0) | endless, 0.0, ratio)
    z = ratio * ratio
    small = code.fma(ratio * z, polynomial(code, z, ATAN), ratio)
    angle = code.select(far, math.pi / 4 + (small + 3.061616997868383e-17), small)
    quarter, half = HALF_PI[:2], (math.pi, 1.2246467991473532e-16)
    angle = code.select(steep, quarter[0] - (angle - quarter[1]), angle)
    left = _odd(code, _bits(code, x), -(2**63))  # also −0
    angle = code.select(left, half[0] - (angle - half[1]), angle)
    angle = code.select(a.differs(a) | b.differs(b), NAN, angle)
    return code.copysign(angle, y)


def asin(code: Code, x: Real) -> Real:
    return atan2(code, x, code.sqrt((1.0 - x) * (1.0 + x)))


def acos(code: Code, x: Real) -> Real:
    return atan2(code, code.sqrt((1.0 - x) * (1.0 + x)), x)


# -- exponentials ------------------------------------------------------------------------------------------------------


def _reduced(code: Code, x: Real) -> tuple[Real, Real]:
    """k and r with x = k ln 2 + r."""
    k = _added(code, _added(code, x * (1.0 / math.log(2.0)), MAGIC), MAGIC, "fsub")
    return k, code.fma(-k, LN2[1], code.fma(-k, LN2[0], x))


def _scaled(code: Code, x: Real, k: Real) -> Real:
    """x · 2ᵏ, in two factors, as 2ᵏ alone may be too large or too small."""
    first = _added(code, _added(code, k * 0.5, MAGIC), MAGIC, "fsub")
    return x * _power_of_two(code, first) * _power_of_two(code, k - first)


def exp(code: Code, x: Real) -> Real:
    inside = code.larger(code.smaller(x, 710.0), -746.0)
    k, r = _reduced(code, inside)
    value = code.fma(r * r, polynomial(code, r, EXP), r) + 1.0
    return _scaled(code, value, k)


def expm1(code: Code, x: Real) -> Real:
    inside = code.larger(code.smaller(x, 709.0), -60.0)
    k, r = _reduced(code, inside)
    small = code.fma(r * r, polynomial(code, r, EXP), r)
    scale = _power_of_two(code, code.smaller(k, 1023.0))
    value = code.fma(small, scale, scale - 1.0)
    value = code.select(k.equals(0.0), small, value)
    return code.select(x > 709.0, exp(code, x), value)


def _log_parts(code: Code, x: Real) -> tuple[Real, Real]:
    """log x of a positive finite number as a sum of two numbers, of which the second is the rounding of the first."""
    tiny = x < 2.0**-1022
    x = code.select(tiny, x * 2.0**54, x)
    bits = _bits(code, x)
    exponent = _whole(code, "ashr", _whole(code, "sub", bits, 0x3FE6A09E667F3BCD), 52)  # 1/√2 counts as 2⁰
    mantissa = _from_bits(code, code.write(
        f"sub {code.target.of('i64')} {bits}, {_whole(code, 'shl', exponent, 52)}"))  # fmt: skip
    k = _added(code, _from_bits(code, _whole(code, "add", exponent, 0x4338000000000000)), MAGIC, "fsub")
    k = code.select(tiny, k - 54.0, k)
    f = _added(code, mantissa, 1.0, "fsub")
    d = _added(code, f, 2.0)
    rest = _added(code, f, _added(code, d, 2.0, "fsub"), "fsub")
    s = f / d
    low = (code.fma(-s, d, f) - s * rest) / d
    z = s * s
    tail = code.fma(s * z, polynomial(code, z, LOG), low + low)
    high = _added(code, s, s)
    first = code.fma(k, LN2[0], high)
    lost = _added(code, high, _added(code, first, k * LN2[0], "fsub"), "fsub")
    second = lost + code.fma(k, LN2[1], tail)
    total = _added(code, first, second)
    return total, _added(code, second, _added(code, total, first, "fsub"), "fsub")


def log(code: Code, x: Real) -> Real:
    value, _ = _log_parts(code, x)
    value = code.select(x < INFINITY, value, x)
    value = code.select(x.equals(0.0), -INFINITY, value)
    return code.select(x >= 0.0, value, NAN)


def log1p(code: Code, x: Real) -> Real:
    y = _added(code, x, 1.0)
    lost = _added(code, x, _added(code, y, 1.0, "fsub"), "fsub")
    value = log(code, y) + code.select(y < INFINITY, lost / y, 0.0)
    value = code.select(y.equals(1.0), x, value)
    return code.select(y.equals(0.0), -INFINITY, value)


def power(code: Code, x: Real, y: Real) -> Real:
    """x to the power y."""
    a = code.abs(x)
    high, low = _log_parts(code, a)
    e = y * high
    rest = code.select(code.finite(e), code.fma(y, high, -e) + y * low, 0.0)
    value = exp(code, e)
    value = code.select(value < INFINITY, code.fma(value, rest, value), value)
    infinite, positive = a.equals(INFINITY), y > 0.0
    value = code.select(a.equals(0.0), code.select(positive, 0.0, INFINITY), value)
    value = code.select(infinite, code.select(positive, INFINITY, 0.0), value)
    is_whole = code.intrinsic("floor", y).equals(y)
    half = y * 0.5
    odd = is_whole & ~code.intrinsic("floor", half).equals(half)
    negative = code.copysign(1.0, x) < 0.0  # also −0
    value = code.select(negative & odd, -value, value)
    value = code.select((x < 0.0) & ~infinite & ~is_whole, NAN, value)
    value = code.select(x.differs(x) | y.differs(y), NAN, value)
    return code.select(y.equals(0.0) | x.equals(1.0) | (a.equals(1.0) & code.abs(y).equals(INFINITY)), 1.0, value)


def positive_power(code: Code, x: Real, y: float) -> Real:
    """x to the power y of a positive finite number: a few more roundings than `power` has, and half of the work."""
    return exp(code, y * _log_parts(code, x)[0])


# -- hyperbolic --------------------------------------------------------------------------------------------------------


def sinh(code: Code, x: Real) -> Real:
    a = code.abs(x)
    e = expm1(code, code.smaller(a, 700.0))
    value = 0.5 * (e + e / (e + 1.0))
    half = exp(code, 0.5 * a)
    return code.copysign(code.select(a > 700.0, (0.5 * half) * half, value), x)


def cosh(code: Code, x: Real) -> Real:
    a = code.abs(x)
    e, half = exp(code, code.smaller(a, 700.0)), exp(code, 0.5 * a)
    return code.select(a > 700.0, (0.5 * half) * half, 0.5 * (e + 1.0 / e))


def tanh(code: Code, x: Real) -> Real:
    e = expm1(code, 2.0 * code.smaller(code.abs(x), 30.0))
    return code.copysign(code.select(x.differs(x), x, e / (e + 2.0)), x)


def asinh(code: Code, x: Real) -> Real:
    a = code.abs(x)
    large = a > 1e150
    b = code.select(large, 1.0, a)
    value = log1p(code, b + b * b / (1.0 + code.sqrt(1.0 + b * b)))
    return code.copysign(code.select(large, log(code, a) + math.log(2.0), value), x)


def acosh(code: Code, x: Real) -> Real:
    large = x > 1e150
    b = code.select(large, 1.0, x) - 1.0
    value = log1p(code, b + code.sqrt(b * (b + 2.0)))
    return code.select(x >= 1.0, code.select(large, log(code, x) + math.log(2.0), value), NAN)


def atanh(code: Code, x: Real) -> Real:
    a = code.abs(x)
    return code.copysign(0.5 * log1p(code, 2.0 * a / (1.0 - a)), x)


def hypot(code: Code, x: Real, y: Real) -> Real:
    a, b = code.abs(x), code.abs(y)
    high, low = code.larger(a, b), code.smaller(a, b)
    ratio = code.select(high > 0.0, low / high, 0.0)
    value = code.select(a.differs(a) | b.differs(b), NAN, high * code.sqrt(code.fma(ratio, ratio, 1.0)))
    return code.select(a.equals(INFINITY) | b.equals(INFINITY), INFINITY, value)


#: of one argument and of two, by CasADi's names; SIN and COS come in pairs
UNARY: dict[str, Callable[[Code, Real], Real]] = {
    "TAN": tan, "ASIN": asin, "ACOS": acos, "ATAN": atan, "EXP": exp, "EXPM1": expm1, "LOG": log, "LOG1P": log1p,
    "SINH": sinh, "COSH": cosh, "TANH": tanh, "ASINH": asinh, "ACOSH": acosh, "ATANH": atanh,
}  # fmt: skip
BINARY: dict[str, Callable[[Code, Real, Real], Real]] = {"POW": power, "ATAN2": atan2, "HYPOT": hypot}
