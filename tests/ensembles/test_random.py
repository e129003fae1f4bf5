"""Ensembles of models that nobody has chosen do what `simulate` does: ends, values on the way, events, counters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders import random_tree

import dalembert as da
from dalembert.regularize.initial import completed_values
from mechanisms import random_mechanism

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")

MEMBERS = 11
#: products, smooth functions, and some with kinks, of two variables and a number
TERMS = (
    lambda a, b, c: c * a * b, lambda a, b, c: c * np.sin(a + c), lambda a, b, c: c * np.cos(a * b),
    lambda a, b, c: c * np.tanh(a - b), lambda a, b, c: c * np.exp(-a * a), lambda a, b, c: c * np.sqrt(1 + a * a),
    lambda a, b, c: c / (1 + b * b), lambda a, b, c: c * np.where(a > b, a, b),
    lambda a, b, c: c * np.maximum(a, 0.1 * b), lambda a, b, c: c * abs(a) * a,
    lambda a, b, c: c * np.arctan2(a, 2 + b * b), lambda a, b, c: c * a**3 / (1 + a**2),
)  # fmt: skip
INPUTS = (
    lambda: da.Input(lambda t: np.sin(3 * t)),
    lambda: da.Input(lambda t: np.where(t < 0.4, 0 * t, (t - 0.4) ** 3), breakpoints=[0.4]),
    lambda: da.Input.table(np.linspace(-1, 2, 13), np.cos(np.arange(13.0))),
    lambda: da.Input(lambda t: np.where(t < 0.25, 1.0, np.where(t < 0.7, -1.0, t)), breakpoints=[0.25, 0.7]),
)
JUMPS = 3  # the last of them, which no constraint may follow


def random_model(seed: int) -> tuple[da.EquationsOfMotion, dict[str, Any]]:
    """A model with up to five positions and three constraints, and arguments for both ways to integrate it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    m = int(rng.integers(0, min(n - 1, 3) + 1))
    positions = [f"q{i}" for i in range(n)]
    names = positions + [f"{q}_dot" for q in positions]
    kind = int(rng.integers(len(INPUTS))) if rng.random() < 0.5 else None
    dynamic, driven = rng.random() < 0.3, rng.random() < 0.4 and kind not in (None, JUMPS)
    weights = rng.normal(size=(m, n))
    chosen = [(int(rng.integers(len(TERMS))), *rng.choice(names, 2), float(rng.normal())) for _ in range(2 * n)]

    def mass(s):
        diagonal = [1.0 + i + 0.3 * np.cos(getattr(s, q)) for i, q in enumerate(positions)]
        rows = [[diagonal[i] if i == j else 0.0 for j in range(n)] for i in range(n)]
        rows[0][1] = rows[1][0] = 0.2 * np.sin(s.q0 - s.q1)
        return rows

    def force(s):
        rows = []
        for i, q in enumerate(positions):
            row = -s.k * getattr(s, q) - 0.2 * getattr(s, f"{q}_dot")
            for number, a, b, c in chosen[2 * i : 2 * i + 2]:
                row = row + 0.3 * TERMS[number](getattr(s, a), getattr(s, b), c)
            rows.append(row)
        if kind is not None:
            rows[0] = rows[0] + s.u
        if dynamic:
            rows[-1] = rows[-1] + s.z
        return rows

    def holonomic(s):
        rows = []
        for j in range(m):
            row = sum(weights[j, i] * getattr(s, q) for i, q in enumerate(positions))
            rows.append(row + 0.15 * np.sin(s.L * getattr(s, f"q{j}")) + 0.1 * getattr(s, f"q{(j + 1) % n}") ** 2)
        if driven and m:
            rows[0] = rows[0] + 0.1 * s.u
        return rows

    model = da.EquationsOfMotion(
        p=positions, mass=mass, force=force, holonomic=holonomic if m else None, parameters={"k": 1.3, "L": 1.0},
        inputs={} if kind is None else {"u": INPUTS[kind]()}, r=["z"] if dynamic else [],
        dynamics=(lambda s: [np.sin(s.q0) * s.k - s.z]) if dynamic else None,
    )  # fmt: skip
    given: dict[str, Any] = dict(
        t_span=(0.0, 1.0), p0=0.2 * rng.normal(size=(MEMBERS, n)), v0=0.5 * rng.normal(size=(MEMBERS, n)),
        parameters={"k": rng.uniform(0.5, 3, MEMBERS), "L": rng.uniform(0.8, 1.2, MEMBERS)}, rtol=1e-7, atol=1e-7,
    )  # fmt: skip
    if dynamic:
        given["r0"] = rng.normal(size=(MEMBERS, 1))
    if rng.random() < 0.7:
        given["t_eval"] = np.unique(rng.choice([0.0, 0.25, 0.4, np.nextafter(0.4, 1), 0.7, 1.0, *rng.random(4)], 5))
    if rng.random() < 0.2:
        given["t_span"] = (1.0, 0.0)
        if "t_eval" in given:
            given["t_eval"] = given["t_eval"][::-1]
    if rng.random() < 0.6:
        level, direction = 0.1 * rng.normal(), int(rng.integers(-1, 2))
        given["events"] = [
            da.Event(lambda s: s.q0 - level, name="level", direction=direction, terminal=[0, 0, 1, 2][rng.integers(4)]),
            da.Event(lambda s: s.q1_dot, name="turn"), da.Event(lambda s: s.t - 0.4, name="clock"),
        ]  # fmt: skip
    return model, given


def check(model: da.EquationsOfMotion, given: dict[str, Any], members: tuple[int, ...]) -> None:
    times = given.get("t_eval")
    found = da.ensemble(model, **given, device="cpu", multipliers=times is not None)
    for i in members:
        own = {key: value[i] if key in ("p0", "v0", "r0") else value for key, value in given.items()}
        own["parameters"] = {name: values[i] for name, values in given["parameters"].items()}
        sol = da.simulate(model, **own, method="hem5")
        assert found.success[i], found.errors[i]
        counters = sol.stats.accepted, sol.stats.error_rejections, sol.stats.convergence_rejections
        assert counters == (found.accepted[i], found.rejected[i], found.failed[i])
        t_end = sol.trajectory.interval[1]
        assert found.end.t[i] == pytest.approx(t_end, abs=1e-9)
        end = sol.at(t_end)
        for kind, far in (("p", 1e-9), ("v", 1e-9), ("r", 1e-9), ("lam", 1e-6)):
            np.testing.assert_allclose(getattr(found.end, kind)[i], getattr(end, kind), rtol=0, atol=far)
        for event in given.get("events", ()):
            roots, t = found.events[event.name], sol.events.named(event.name).t
            assert roots.count[i] == len(t)
            np.testing.assert_allclose(roots.t[i, : len(t)], t[:16], rtol=0, atol=1e-7)
        if times is None:
            continue
        assert np.isfinite(found.p[i]).all(axis=1).sum() == len(sol.t)
        changed = model.replace(own["parameters"], None)
        for j, t in enumerate(sol.t):
            start = {f"{kind}0": getattr(sol, kind)[j] for kind in ("p", "v", "r") if model.graph.size(kind)}
            for kind in ("p", "v", "r"):
                np.testing.assert_allclose(getattr(found, kind)[i, j], getattr(sol, kind)[j], rtol=0, atol=1e-8)
            if t not in model.breakpoints:
                lam = completed_values(changed, float(t), start, mode="trust").lam
                np.testing.assert_allclose(found.lam[i, j], lam, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 3, 9, 23, 31, 42])
def test_models_of_random_terms(seed):
    check(*random_model(seed), (0, 4, 9))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_models_of_random_terms(seed):
    check(*random_model(seed), (1, 10))


def mechanism(seed: int) -> tuple[da.EquationsOfMotion, dict[str, Any]]:
    model, start = random_mechanism(seed)
    rng = np.random.default_rng(seed)
    speeds = rng.normal(size=(MEMBERS, len(model.names("v"))))  # constraints change them
    return model, dict(t_span=(0.0, 0.5), **start, v0=speeds, parameters={}, rtol=1e-7, atol=1e-7) | {
        key: np.tile(value, (MEMBERS, 1)) for key, value in start.items()
    }


@pytest.mark.parametrize("seed", [0, 19, 24, 110])
def test_mechanisms_of_bodies_on_joints(seed):
    check(*mechanism(seed), (0, 7))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 260))
def test_many_mechanisms_of_bodies_on_joints(seed):
    check(*mechanism(seed), (0, 7))


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_bodies_on_joints_of_all_kinds(seed, planar, coordinates):
    model = random_tree(seed, planar=planar, bodies=3).equations(coordinates)
    speeds = np.random.default_rng(seed).normal(size=(MEMBERS, len(model.names("v"))))
    check(model, dict(t_span=(0.0, 0.3), v0=speeds, parameters={}, rtol=1e-7, atol=1e-7), (0, 7))
