"""Stiff springs in GEOMS: multipliers follow them by a factor of their stiffness, which must not cut the steps."""

import numpy as np
import pytest

import dalembert as da


def sprung_chain(seed: int, k: float, damping: float = 0.0) -> tuple[da.EquationsOfMotion, dict]:
    """A chain that hangs on a stiff spring, its other links rods, at rest where the spring carries the weight."""
    rng = np.random.default_rng(seed)
    links, angle = int(rng.integers(2, 4)), rng.uniform(0.2, 1.0)
    masses, lengths = rng.uniform(0.5, 2, links), rng.uniform(0.5, 1.5, links)

    def force(s):
        x, y = s.p[::2], s.p[1::2]
        length = np.sqrt(x[0] ** 2 + y[0] ** 2)
        speed = (x[0] * s.v[0] + y[0] * s.v[1]) / length
        pull = (k * (length - lengths[0]) + damping * speed) / length
        forces = [f for i in range(links) for f in (0, -9.81 * masses[i])]
        return [-pull * x[0], -pull * y[0] + forces[1], *forces[2:]]

    def holonomic(s):
        x, y = s.p[::2], s.p[1::2]
        return [(x[i] - x[i - 1]) ** 2 + (y[i] - y[i - 1]) ** 2 - lengths[i] ** 2 for i in range(1, links)]

    model = da.EquationsOfMotion(
        p=[name for i in range(links) for name in (f"x{i}", f"y{i}")],
        mass=list(np.repeat(masses, 2)), force=force, holonomic=holonomic,
    )  # fmt: skip
    along = np.cumsum([lengths[0] + 9.81 * masses.sum() * np.cos(angle) / k, *lengths[1:]])
    p0 = np.stack([along * np.sin(angle), -along * np.cos(angle)], 1).ravel()
    return model, dict(p0=p0)


@pytest.mark.parametrize("k", [1e4, 1e6, 1e8, 1e10])
@pytest.mark.parametrize("seed", [1, 2])
def test_steps_are_those_of_radau5(seed, k):
    model, start = sprung_chain(seed, k)
    for tol in (1e-4, 1e-7, 1e-10):
        common = dict(t_span=(0, 0.25), rtol=tol, atol=tol, max_steps=20_000, **start)
        other = da.simulate(model, method=da.Radau5(), **common).stats
        expected = other.accepted + other.rejected
        for options in (dict(), dict(algebraic="svd"), dict(accelerations="unknown")):
            taken = da.simulate(model, method=da.Geoms(**options), **common).stats
            assert taken.accepted + taken.rejected < 4 * expected + 20


def test_multipliers_remain_accurate():
    model, start = sprung_chain(3, 1e8)
    common = dict(t_span=(0, 0.25), **start)
    expected = da.simulate(model, method=da.Radau5(), rtol=1e-11, atol=1e-11, **common)
    for tol, allowed in ((1e-6, 1e-2), (1e-8, 1e-3), (1e-10, 1e-4)):
        sol = da.simulate(model, method=da.Geoms(), rtol=tol, atol=tol, **common)
        assert np.abs(sol.lam[-1] - expected.lam[-1]).max() < allowed * np.abs(expected.lam[-1]).max()
        assert np.abs(sol.p[-1] - expected.p[-1]).max() < 100 * tol
