"""Reference values of problems/dae that have no exact solution, each computed in two ways.

The constraints of these problems can be solved by hand, so that one or two ordinary differential equations are left.
Their Taylor series with 30 digits are one way, DOP853 of SciPy at tolerance 1e-13 the other; the difference is printed
beside the values. Run it with

    python benchmarks/dae_references.py
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
from scipy.integrate import solve_ivp

from dalembert.problems.dae.reactor import reactor_state, temperature

mp.mp.dps = 30


def taylor(right, y, t_end, degree=18, tolerance=1e-20):
    """y' = right(t, y) from 0 to t_end by Taylor series; steps as long as the last two terms allow."""
    t, y = mp.mpf(0), [mp.mpf(value) for value in y]
    while t < t_end:
        series = [[value] for value in y]
        for k in range(degree):
            rates = right(Series([t, mp.mpf(1)], k), [Series(part, k) for part in series])
            for part, rate in zip(series, rates, strict=True):
                part.append(rate[k] / (k + 1))
        sizes = [(max(abs(part[k]) for part in series), k) for k in (degree - 1, degree)]
        h = min([t_end - t, *((tolerance / size) ** (mp.mpf(1) / k) for size, k in sizes if size)])
        y = [mp.polyval(part[::-1], h) for part in series]
        t += h
    return y


class Series:
    """A truncated power series with the few operations needed here."""

    def __init__(self, coefficients, order):
        zeros = [mp.mpf(0)] * max(0, order + 1 - len(coefficients))
        self.c, self.order = [*coefficients[: order + 1], *zeros], order

    def __getitem__(self, k):
        return self.c[k]

    def _of(self, other):
        return other if isinstance(other, Series) else Series([mp.mpf(other)], self.order)

    def __add__(self, other):
        return Series([a + b for a, b in zip(self.c, self._of(other).c, strict=True)], self.order)

    __radd__ = __add__

    def __neg__(self):
        return Series([-a for a in self.c], self.order)

    def __sub__(self, other):
        return self + (-self._of(other))

    def __rsub__(self, other):
        return self._of(other) - self

    def __mul__(self, other):
        if not isinstance(other, Series):
            return Series([a * mp.mpf(other) for a in self.c], self.order)
        return Series(
            [mp.fdot(self.c[: k + 1], other.c[k::-1]) for k in range(self.order + 1)],
            self.order,
        )

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = self._of(other)
        quotient = []
        for k in range(self.order + 1):
            rest = sum((other.c[k - i] * quotient[i] for i in range(k)), mp.mpf(0))
            quotient.append((self.c[k] - rest) / other.c[0])
        return Series(quotient, self.order)

    def __rtruediv__(self, other):
        return self._of(other) / self

    def exp(self):
        result = [mp.exp(self.c[0])]
        for k in range(1, self.order + 1):
            result.append(sum((i * self.c[i] * result[k - i] for i in range(1, k + 1)), mp.mpf(0)) / k)
        return Series(result, self.order)

    def sin_cos(self):
        sine, cosine = [mp.sin(self.c[0])], [mp.cos(self.c[0])]
        for k in range(1, self.order + 1):
            sine.append(sum((i * self.c[i] * cosine[k - i] for i in range(1, k + 1)), mp.mpf(0)) / k)
            cosine.append(-sum((i * self.c[i] * sine[k - i] for i in range(1, k + 1)), mp.mpf(0)) / k)
        return Series(sine, self.order), Series(cosine, self.order)


def exp(x):
    return x.exp() if isinstance(x, Series) else np.exp(x)


def sin_cos(x):
    return x.sin_cos() if isinstance(x, Series) else (np.sin(x), np.cos(x))


# -- bridge rectifier: u_a + u_b = u_plus, from the second equation ------------------------------------------------

OMEGA = 100 * np.pi


def rectifier(t, y):
    (u,) = y
    voltage = 5 * sin_cos(OMEGA * t)[0]
    up, down = exp((voltage - u) / 0.1), exp((-1 * voltage - u) / 0.1)
    return [(1e-8 * (up + down - 2) - u / 1e5 - u / 1000) / 1e-5]


def rectifier_state(t, u):
    voltage, rate = 5 * np.sin(OMEGA * t), 5 * OMEGA * np.cos(OMEGA * t)
    a, b = (u + voltage) / 2, (u - voltage) / 2
    diodes = 1e-8 * (np.exp((a - u) / 0.05) - np.exp(-a / 0.05))
    return [a, b, u, 1e-6 * rate + diodes + voltage / 1e5]


# -- current transformer -------------------------------------------------------------------------------------------


def primary(t):
    """Current and its rate."""
    decay, (sine, cosine) = exp(t / -0.05), sin_cos(OMEGA * t)
    return decay - cosine, OMEGA * sine - 20 * decay


def slope(i):
    """Of the flux: 1 - tanh² = 4 e/(1 + e)², e = exp(2 i/i_s)."""
    e = exp(i / 0.1)
    return 0.1 * (4 * e / ((1 + e) * (1 + e)))


def transformer(t, y):
    (i_2,) = y
    i_1, rate = primary(t)
    main = slope(i_1 + i_2)
    return [(-2 * i_2 - main * rate) / (0.002 + main)]


def transformer_state(t, i_2):
    i_1, rate = primary(t)
    main = slope(i_1 + i_2)
    return [i_1, i_2, (0.001 + main) * rate + main * transformer(t, [i_2])[0]]


# -- batch reactor -------------------------------------------------------------------------------------------------


def reactor(t, y):
    A, B = y
    inverse = 1 / temperature(t)
    first, second = 4 * exp(5000 * (1 / 320 - inverse)) * A, 0.6 * exp(7000 * (1 / 320 - inverse)) * B
    return [-first, first - second]


def show(name, right, y0, t_end, states):
    series = np.array([float(value) for value in taylor(right, y0, mp.mpf(t_end))])
    other = solve_ivp(right, (0, t_end), y0, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    for label, state in states.items():
        values, compared = (np.array(state(t_end, *y)) for y in (series, other))
        difference = np.max(np.abs(values - compared) / (1 + np.abs(values)))
        print(f"{name}{label}: {[float(v) for v in values]}\n    the other way differs by {difference:.1e}")


if __name__ == "__main__":
    show("bridge_rectifier", rectifier, [0.0], 0.044, {"": rectifier_state})
    show("current_transformer", transformer, [0.0], 0.1, {"": transformer_state})
    jackets = {
        f" jacket={jacket}": lambda t, A, B, jacket=jacket: reactor_state(t, A, B, jacket) for jacket in (False, True)
    }
    show("batch_reactor", reactor, [1.0, 0.0], 1.0, jackets)
