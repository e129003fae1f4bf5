"""The discrete Fourier transform, on numbers and graphs."""

from __future__ import annotations

import cmath
import math
from typing import Any

import casadi as ca

from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.externals.registry import Answer, Question, external
from dalembert.modelica.values import Arr

LARGEST = 512  # values that are only known in the simulation: the expressions grow as n log n


@external("ModelicaFFT_kiss_fftr")
def real_fft(question: Question) -> Answer:
    """Amplitudes and phases (of cosines) of a real signal: arguments 4 and 5. The answer is 0, or 1 if the number of
    values is odd."""
    signal = question.args[0].items
    n = len(signal)
    half = n // 2 + 1
    if n % 2 or not n:
        zeros = Arr((half,), [0.0] * half)
        return Answer(1, {4: zeros, 5: zeros})
    if n > LARGEST and not question.all_known():
        raise ValueError(
            f"the Fourier transform of {n} values of the simulation is too large; {LARGEST} are supported. "
            "Transform the results of the simulation instead"
        )
    found = _transform([(one, 0) for one in signal])[:half]
    amplitudes = [scalars.arithmetic("*", 2 / n, scalars.function("sqrt", [_square(x, y)])) for x, y in found]
    phases = [scalars.function("atan2", [y, x]) for x, y in found]
    return Answer(0, {4: Arr((half,), amplitudes), 5: Arr((half,), phases)})


def _square(x: Any, y: Any) -> Any:
    return scalars.arithmetic("+", scalars.arithmetic("*", x, x), scalars.arithmetic("*", y, y))


def _transform(values: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Cooley and Tukey's way: the transforms of every p-th value, p the least factor of their number, put together."""
    n = len(values)
    p = next((p for p in range(2, math.isqrt(n) + 1) if n % p == 0), n)
    if n == 1:
        return values
    parts = [_transform(values[k::p]) if p < n else [values[k]] for k in range(p)]
    m = n // p
    found = []
    for k in range(n):
        x: Any = 0
        y: Any = 0
        for j, part in enumerate(parts):
            a, b = part[k % m]
            turn = cmath.exp(-2j * math.pi * (j * k % n) / n)
            c, s = (0.0 if abs(one) < 1e-15 else one for one in (turn.real, turn.imag))
            x = _plus(x, _plus(_times(c, a), _times(-s, b)))
            y = _plus(y, _plus(_times(c, b), _times(s, a)))
        found.append((x, y))
    return found


def _plus(a: Any, b: Any) -> Any:
    return scalars.arithmetic("+", a, b) if isinstance(a, ca.SX) or isinstance(b, ca.SX) else a + b


def _times(a: float, b: Any) -> Any:
    return scalars.arithmetic("*", a, b) if isinstance(b, ca.SX) else a * b
