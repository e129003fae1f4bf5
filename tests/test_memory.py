"""Memory stays bounded, however many simulations and models a process sees."""

import contextlib
import gc
import itertools
import os

import numpy as np
import pytest

import dalembert as da


def resident() -> float:
    """Megabytes of this process, after a collection of garbage."""
    gc.collect()
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


NUMBERS = itertools.count()
METHODS = (da.Hem5(), da.Radau5(), da.Geoms(), da.Dassl(), da.Mexx(), da.Rkf45())


def simulations(count: int) -> None:
    """Of one model: every method, events as fresh lambdas, other parameters and inputs."""
    model = da.EquationsOfMotion(
        p=["x", "y"], parameters={"g": 9.81}, inputs={"wind": lambda t: 0.0 * t}, mass=[1, 1],
        force=lambda s: [s.wind, -s.g], holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )  # fmt: skip
    for k in range(count):
        sol = da.simulate(
            model, (0, 0.2), p0=[1, 0], method=METHODS[k % len(METHODS)], parameters={"g": 9.0 + k % 7},
            inputs={"wind": lambda t, k=k: np.sin((1 + k % 50) * t)} if k % 10 == 0 else None,
            events=lambda s, k=k: s.y + 1e-4 * (k % 500) if k % 5 == 0 else s.y + 0.1,
        )  # fmt: skip
        assert sol.success


def models(count: int) -> None:
    """Different ones, each with a method of its own; every tenth with functions that run as Python code."""
    for k in range(count):
        stiffness = 1.0 + 1e-6 * next(NUMBERS)  # never the same again
        opaque = k % 10 == 0
        force = (lambda s, c=stiffness: [-c * float(s.q)]) if opaque else (lambda s, c=stiffness: [-c * s.q])
        with pytest.warns(da.UntraceableWarning) if opaque else contextlib.nullcontext():
            model = da.EquationsOfMotion(p=["q"], mass=[1.0], force=force)
        sol = da.simulate(model, (0, 0.1), p0=[1.0], method=METHODS[k % len(METHODS)])
        assert sol.p[-1, 0] == pytest.approx(np.cos(0.1 * np.sqrt(stiffness)), abs=1e-4)


@pytest.mark.parametrize(
    ("work", "count", "megabytes"),
    [
        (simulations, 300, 3.0),
        (models, 150, 4.0),
        pytest.param(simulations, 5000, 5.0, marks=pytest.mark.slow),
        pytest.param(models, 1000, 5.0, marks=pytest.mark.slow),
    ],
)
def test_memory_does_not_grow(work, count, megabytes):
    """The first half fills stores and heaps, also with garbage that is not collected yet; the second needs no more."""
    work(count)
    before = resident()
    work(count)
    assert resident() - before < megabytes
