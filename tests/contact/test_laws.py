"""Laws of impact: known answers, energy, and what cannot be."""

import numpy as np
import pytest

from dalembert.contact.laws import LAWS, resolve
from dalembert.errors import ModelError, OptionError


def chain(n, masses=None):
    """Normal rows of n balls in a row, and 1/mass."""
    W = np.zeros((n - 1, n))
    for i in range(n - 1):
        W[i, i], W[i, i + 1] = -1.0, 1.0
    return W, np.ones(n) if masses is None else 1 / np.asarray(masses, float)


def after(W, inverse, v, **options):
    impulses = resolve(W * inverse @ W.T, W @ v, dims=np.ones(len(W), int), **options)
    return v + inverse * (W.T @ impulses.impulse), impulses


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_two_bodies(law, e):
    m1, m2, v1, v2 = 2.0, 0.7, 3.0, -1.0
    W, inverse = chain(2, [m1, m2])
    v, impulses = after(W, inverse, np.array([v1, v2]), restitution=e, law=law)
    np.testing.assert_allclose(v[0], v1 - (1 + e) * m2 / (m1 + m2) * (v1 - v2), rtol=1e-14)
    np.testing.assert_allclose(m1 * v[0] + m2 * v[1], m1 * v1 + m2 * v2, rtol=1e-15)
    assert impulses.restitution_used.tolist() == [e]


@pytest.mark.parametrize(
    ("law", "expected"),
    [("newton", [-1 / 3, 2 / 3, 2 / 3]), ("sequential", [0, 0, 1]), ("poisson", [0, 0, 1])],
)
def test_newtons_cradle(law, expected):
    """Poisson: compression leads to a common speed of 1/3 by impulses 2/3 and 1/3, which restitution doubles."""
    W, inverse = chain(3)
    v, impulses = after(W, inverse, np.array([1.0, 0.0, 0.0]), restitution=1.0, law=law)
    if law == "poisson":
        expected = np.array([1.0, 0, 0]) + W.T @ [4 / 3, 2 / 3]
    np.testing.assert_allclose(v, expected, atol=1e-15)
    if law == "newton":
        np.testing.assert_allclose(impulses.impulse, [4 / 3, 2 / 3], rtol=1e-15)


def test_long_cradle_sends_as_many_away_as_come():
    W, inverse = chain(7)
    v, _ = after(W, inverse, np.array([1.0, 1, 0, 0, 0, 0, 0]), restitution=1.0, law="sequential")
    np.testing.assert_allclose(v, [0, 0, 0, 0, 0, 1, 1], atol=1e-14)


@pytest.mark.parametrize("law", LAWS)
def test_nobody_approaches(law):
    answer = resolve([[2.0, 1.0], [1.0, 2.0]], [1.0, 0.0], [1, 1], restitution=0.5, law=law)
    assert answer.impulse.tolist() == [0.0, 0.0]
    assert answer.gamma_after.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("law", LAWS)
def test_no_contact(law):
    assert resolve(np.zeros((0, 0)), [], [], law=law).impulse.shape == (0,)


def test_bad_input_is_named():
    with pytest.raises(OptionError, match="did you mean 'newton'"):
        resolve([[1.0]], [-1.0], [1], law="Newton")
    for bad, words in [
        (dict(restitution=1.1), "restitution of contact 0 is 1.1; it must be between 0 and 1"),
        (dict(restitution=[0.1, 0.2]), "restitution has 2 entries; there are 1 contacts"),
        (dict(friction=-0.1), "friction of contact 0 is -0.1"),
        (dict(restitution=np.nan), "restitution of contact 0 is nan"),
        (dict(A=[[-1.0]]), "negative"),
        (dict(A=[[np.inf]]), "not finite"),
        (dict(A=np.eye(2)), r"shape \(2, 2\)"),
        (dict(gamma_before=[1.0, 2.0]), "b has 2 entries"),
        (dict(dims=[4]), "1, 2 or 3 rows"),
    ]:
        arguments = dict(A=[[1.0]], gamma_before=[-1.0], dims=[1]) | bad
        with pytest.raises(ModelError, match=words):
            resolve(**arguments)
    with pytest.raises(ModelError, match="not symmetric"):
        resolve([[1.0, 0.5], [0.0, 1.0]], [-1.0, 1.0], [1, 1])
