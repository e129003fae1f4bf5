"""Lemke's algorithm and the contact problem: known answers, degenerate problems, bad input."""

import numpy as np
import pytest

from dalembert.errors import ComplementarityFailed, ModelError, OptionError
from dalembert.linalg.complementarity import ContactProblem, Lemke, lemke, residual, solve


def violation(M, q, z):
    return np.abs(np.minimum(z, M @ z + q)).max()


def test_textbook_problem():
    M = np.array([[1.0, 0, 0], [2, 1, 0], [2, 2, 1]])
    q = np.array([-8.0, -12, -14])  # Murty's: as many pivots as there can be, in other methods
    assert lemke(M, q).tolist() == [8.0, 0.0, 0.0]


def test_nothing_to_do():
    assert lemke(np.eye(2), [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert lemke(np.zeros((0, 0)), []).shape == (0,)
    assert solve(ContactProblem(np.zeros((0, 0)), [], [])).lam.shape == (0,)


@pytest.mark.parametrize("n", [3, 10, 40, 150])
def test_positive_definite_but_nonsymmetric(n):
    rng = np.random.default_rng(n)
    G, S = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    M, q = G @ G.T / n + 0.1 * np.eye(n) + S - S.T, rng.normal(size=n)
    z = lemke(M, q)
    assert z.min() >= 0
    assert violation(M, q, z) < 1e-12


@pytest.mark.parametrize("n", [2, 5, 12, 30])
def test_ties_everywhere(n):
    """Equal rows, equal right-hand sides: every ratio test has ties."""
    M, q = np.ones((n, n)), -np.ones(n)
    z = lemke(M, q)
    np.testing.assert_allclose(z.sum(), 1, rtol=1e-14)
    M = np.kron(np.eye(n), np.array([[2.0, 1.0], [1.0, 2.0]]))
    z = lemke(M, np.full(2 * n, -3.0))
    np.testing.assert_allclose(z, 1, rtol=1e-14)


def test_no_solution_ends_on_a_ray():
    with pytest.raises(ComplementarityFailed) as caught:
        lemke([[-1.0]], [-1.0])
    assert caught.value.reason == "ray"
    assert caught.value.contact == 0


def test_painleve_rod():
    """Normal acceleration of the tip of a sliding rod: beyond critical friction nothing keeps it out of the floor."""
    angle, g = np.arctan(2.0), 9.81

    def problem(mu):
        A = 1 + 3 * np.cos(angle) * (np.cos(angle) - mu * np.sin(angle))
        return ContactProblem([[A]], [-g], dims=[1])

    assert solve(problem(1.33)).lam[0] > g
    with pytest.raises(ComplementarityFailed, match="contact 0") as caught:
        solve(problem(1.34))
    assert caught.value.reason == "ray"
    assert caught.value.contact == 0


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(size):
    problem = ContactProblem(np.array([[2.0, 1.0], [1.0, 3.0]]) * size, [-1e-7, 2e-7], dims=[1, 1])
    lam = solve(problem).lam
    np.testing.assert_allclose(lam, [0.5e-7 / size, 0], rtol=1e-14)


@pytest.mark.parametrize(
    ("push", "slide", "expected"),
    [
        (-2.0, 3.0, [2.0, -1.0]),  # slides
        (-2.0, -3.0, [2.0, 1.0]),
        (-2.0, 0.5, [2.0, -0.5]),  # sticks
        (1.0, 3.0, [0.0, 0.0]),  # open
    ],
)
def test_planar_friction(push, slide, expected):
    solution = solve(ContactProblem(np.eye(2), [push, slide], dims=[2], friction=0.5))
    np.testing.assert_allclose(solution.lam, expected, atol=1e-15)
    assert solution.residual < 1e-15
    assert solution.solver == "Lemke"


def test_preload_holds_an_open_contact():
    solution = solve(ContactProblem(np.eye(2), [1.0, 3.0], dims=[2], friction=0.5, preload=4.0))
    np.testing.assert_allclose(solution.lam, [0.0, -2.0], atol=1e-15)


def test_guess_that_is_the_answer():
    problem = ContactProblem([[2.0, 1.0], [1.0, 2.0]], [-1.0, 1.0], dims=[1, 1])
    assert Lemke().solve(problem, guess=[0.5, 0.0]).iterations == 0
    np.testing.assert_allclose(Lemke().solve(problem, guess=[7.0, 7.0]).lam, [0.5, 0.0], atol=1e-15)


def test_residual_of_violations():
    problem = ContactProblem(np.eye(2), [-2.0, 3.0], dims=[2], friction=0.5)
    assert residual(problem, [2.0, -1.0]) == 0
    for wrong in ([2.0, 1.0], [2.0, -0.9], [2.0, -1.1], [1.9, -0.95], [-1.0, 0.0]):
        assert residual(problem, wrong) > 0.01


def test_round_cones_are_refused_by_name():
    with pytest.raises(OptionError, match=r"contact 1 has friction in space.*SemismoothNewton"):
        Lemke().solve(ContactProblem(np.eye(4), np.ones(4), dims=[1, 3], friction=0.5))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(A=[[1.0, 0.0]]), r"A has shape \(1, 2\)"),
        (dict(A=[1.0]), "must be a matrix"),
        (dict(A="M"), "not an array of numbers"),
        (dict(A=[[np.nan]]), "A has entries that are not finite"),
        (dict(b=[np.inf]), r"b\[0\] is inf"),
        (dict(b=[[1.0]]), "must be a vector"),
        (dict(dims=[0]), "dims of contact 0 is 0"),
        (dict(dims=[1, 1]), "2 rows together"),
        (dict(friction=-1.0), "friction of contact 0 is -1; it must be at least 0"),
        (dict(friction=[0.1, 0.2]), "friction has 2 entries; there are 1 contacts"),
        (dict(friction="much"), "friction='much'"),
        (dict(friction=np.inf), "friction of contact 0 is inf"),
        (dict(preload=-1.0), "preload of contact 0"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(ModelError, match=words):
        ContactProblem(**(dict(A=[[1.0]], b=[-1.0], dims=[1]) | arguments))


def test_every_fault_is_told():
    with pytest.raises(ModelError) as caught:
        ContactProblem([[np.nan]], [np.nan], [7], friction=-1)
    assert len(caught.value.faults) == 4


def test_bad_forces_are_named():
    problem = ContactProblem([[1.0]], [-1.0], [1])
    with pytest.raises(ModelError, match="lam has 2 entries, the problem 1 rows"):
        residual(problem, [1.0, 2.0])
    with pytest.raises(ModelError, match="guess"):
        solve(problem, guess=[np.nan])
