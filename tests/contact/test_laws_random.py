"""Thousands of random impacts: no energy is created, momentum is kept, nobody approaches afterwards."""

import numpy as np
import pytest
from contacts import random_rows, starts_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dalembert.contact.laws import LAWS, resolve

SEEDS = st.integers(0, 2**32 - 1)


def assert_lawful(W, inverse, v, dims, friction, e, law):
    """Whatever the law: see the module's first line. Returns the impulses."""
    before = W @ v
    answer = resolve(W * inverse @ W.T, before, dims, friction, e, law)
    p, gamma = answer.impulse, answer.gamma_after
    after = v + inverse * (W.T @ p)
    speed = np.abs(before).max() + 1e-300
    np.testing.assert_allclose(W @ after / speed, gamma / speed, atol=1e-9)
    starts = starts_of(dims)
    assert p[starts].min() >= 0
    assert gamma[starts].min() >= -1e-10 * speed
    energy = lambda v: 0.5 * (v**2 / inverse).sum()  # noqa: E731
    assert energy(after) - energy(v) <= 1e-12 * (energy(v) + energy(after))
    work = 0.5 * p @ (before + gamma)
    assert work <= 1e-13 * np.abs(p) @ (np.abs(before) + np.abs(gamma))
    for at, dim, mu in zip(starts, dims, np.broadcast_to(friction, len(dims)), strict=True):
        assert np.linalg.norm(p[at + 1 : at + dim]) <= mu * p[at] * (1 + 1e-12)
    used = answer.restitution_used
    assert (used >= 0).all()
    assert (used <= e).all()
    return answer


@settings(max_examples=100, deadline=None)
@given(
    seed=SEEDS,
    dims=st.lists(st.sampled_from([1, 2]), min_size=1, max_size=7),
    spare=st.integers(-5, 4),
    whole=st.booleans(),
    law=st.sampled_from(LAWS),
)
def test_impacts_in_the_plane(seed, dims, spare, whole, law):
    """Redundant contacts, ties, contacts that open already, different restitutions."""
    rng = np.random.default_rng(seed)
    W, v = random_rows(seed, dims, max(1, sum(dims) + spare), whole=whole, twins=1)
    e, friction = rng.choice([0, 0.3, 0.9, 1.0], len(dims)), rng.choice([0, 0.2, 1.0], len(dims))
    assert_lawful(W, np.ones(W.shape[1]), v, dims, friction, e, law)


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    dims=st.lists(st.sampled_from([1, 3]), min_size=1, max_size=5),
    spare=st.integers(0, 4),
    law=st.sampled_from(LAWS),
)
def test_impacts_in_space(seed, dims, spare, law):
    rng = np.random.default_rng(seed)
    W, v = random_rows(seed, dims, sum(dims) + spare)
    e, friction = rng.choice([0, 0.3, 0.9, 1.0], len(dims)), rng.choice([0, 0.2, 1.0], len(dims))
    assert_lawful(W, 10 ** rng.uniform(-1, 1, W.shape[1]), v, dims, friction, e, law)


@pytest.mark.parametrize("law", LAWS)
def test_thousand_impacts_of_one_restitution(law):
    """Without friction and with one restitution no law needs less of it, and Newton's holds contact by contact."""
    rng = np.random.default_rng(5)
    for k in range(1000):
        m = int(rng.integers(1, 6))
        W, _ = random_rows(k, np.ones(m, int), m + 2)
        e = rng.uniform()
        v = np.linalg.lstsq(W, -np.abs(rng.normal(size=m)), rcond=None)[0]  # everybody approaches
        answer = assert_lawful(W, np.ones(m + 2), v, np.ones(m, int), 0.0, np.full(m, e), law)
        assert (answer.restitution_used == e).all()
        if law == "newton":
            slack = answer.gamma_after + e * (W @ v)
            assert np.abs(np.minimum(answer.impulse, slack)).max() < 1e-10


def spheres(seed, count):
    """Spheres that touch a first one: rows of all contacts (normal, two tangential), masses, velocities, positions.

    Coordinates of a sphere are its velocity and its spin.
    """
    rng = np.random.default_rng(seed)
    radius, mass = rng.uniform(0.5, 2, count), rng.uniform(0.5, 3, count)
    x = np.zeros((count, 3))
    W = np.zeros((3 * (count - 1), 6 * count))
    for k in range(1, count):
        frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        normal = frame[0]
        x[k] = (radius[0] + radius[k]) * normal
        for row, d in enumerate(frame):
            at = 3 * (k - 1) + row
            # velocity of the point of sphere k relative to that of sphere 0, along d
            W[at, 6 * k : 6 * k + 3], W[at, :3] = d, -d
            W[at, 6 * k + 3 : 6 * k + 6] = np.cross(-radius[k] * normal, d)
            W[at, 3:6] = -np.cross(radius[0] * normal, d)
    inertia = 0.4 * mass * radius**2
    M = np.concatenate([[m] * 3 + [i] * 3 for m, i in zip(mass, inertia, strict=True)])
    return W, M, rng.normal(size=6 * count), x


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, count=st.integers(2, 5), friction=st.sampled_from([0.0, 0.3, 1.5]), law=st.sampled_from(LAWS))
def test_spheres_keep_momentum(seed, count, friction, law):
    W, M, v, x = spheres(seed, count)
    dims = np.full(count - 1, 3)
    answer = assert_lawful(W, 1 / M, v, dims, friction, np.full(count - 1, 0.8), law)
    dv = (W.T @ answer.impulse).reshape(count, 6)  # changes of momentum and spin of each
    np.testing.assert_allclose(dv[:, :3].sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((np.cross(x, dv[:, :3]) + dv[:, 3:]).sum(axis=0), 0, atol=1e-12)


def test_sphere_on_the_floor_rolls_or_slides():
    """A sphere with speed 1 downwards and 3 sideways: slides if friction is little, else ends rolling (2/7 of slip)."""
    A, before = np.diag([1.0, 3.5, 3.5]), [-1.0, 3.0, 0.0]
    slides = resolve(A, before, [3], 0.2, 0.5)
    np.testing.assert_allclose(slides.impulse, [1.5, -0.3, 0], atol=1e-14)
    rolls = resolve(A, before, [3], 0.9, 0.5)
    np.testing.assert_allclose(rolls.gamma_after, [0.5, 0, 0], atol=1e-14)
    np.testing.assert_allclose(rolls.impulse[1], -3.0 * 2 / 7, rtol=1e-14)


def test_restitution_that_would_create_energy_is_scaled_down():
    """Newton's law where the normal impulse turns sliding round, and friction then works for it (Kane's pendulum)."""
    A, before = np.array([[2.0, -1.8], [-1.8, 2.0]]), np.array([-1.0, 0.5])
    literal = np.linalg.solve(A, [2.0, -0.5])  # e = 1, sticks in the end
    assert literal[1] < literal[0]
    assert literal @ (2 * before + A @ literal) > 0.1
    for law in LAWS:
        answer = resolve(A, before, [2], 1.0, 1.0, law)
        assert answer.impulse @ (before + answer.gamma_after) <= 1e-14
        if law != "poisson":
            np.testing.assert_allclose(answer.gamma_after[0], answer.restitution_used[0], rtol=1e-12)
    assert 0.1 < resolve(A, before, [2], 1.0, 1.0, "newton").restitution_used[0] < 0.9


def test_the_factor_is_the_largest():
    rng = np.random.default_rng(8)
    scaled = 0
    for k in range(200):
        W, v = random_rows(k, [2, 2], 5)
        e = np.array([1.0, 0.5])
        A, before = W @ W.T, W @ v
        answer = resolve(A, before, [2, 2], rng.choice([0.3, 1.0]), e)
        if (answer.restitution_used < e).any():
            scaled += 1
            np.testing.assert_allclose(answer.restitution_used[0], 2 * answer.restitution_used[1], rtol=1e-12)
            energy = answer.impulse @ (before + answer.gamma_after)
            assert energy <= 0
            assert energy > -1e-6 * np.abs(answer.impulse) @ np.abs(before)
    assert scaled > 5


def test_ball_in_a_slot_stops():
    """It touches both walls and moves to one of them: no restitution is possible."""
    A, before = np.array([[1.0, -1.0], [-1.0, 1.0]]), [-1.0, 1.0]
    for law in LAWS:
        answer = resolve(A, before, [1, 1], 0.0, 1.0, law)
        np.testing.assert_allclose(answer.gamma_after, 0, atol=1e-8)


def test_sparse_matrices_are_welcome():
    W, v = random_rows(3, [1, 2, 3], 9)
    for law in LAWS:
        dense = resolve(W @ W.T, W @ v, [1, 2, 3], 0.2, 0.5, law)
        sparse = resolve(csr_array(W @ W.T), W @ v, [1, 2, 3], 0.2, 0.5, law)
        np.testing.assert_allclose(sparse.gamma_after, dense.gamma_after, atol=1e-10)
