"""The solvers against each other, a library for quadratic programs, and Siconos, on random problems."""

import json
import subprocess
from pathlib import Path

import casadi
import numpy as np
import pytest
from contacts import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dalembert.errors import ComplementarityFailed, OptionError
from dalembert.linalg.complementarity import (
    ContactProblem,
    GaussSeidel,
    Lemke,
    SemismoothNewton,
    lemke,
    residual,
    solve,
)

SEEDS = st.integers(0, 2**32 - 1)
SYSTEM_PYTHON = Path("/usr/bin/python3")


def quadratic_program(problem):
    """Forces of contacts without friction as the minimum of λᵀA λ/2 + bᵀλ, by qpOASES."""
    n = problem.n
    shapes = {"h": casadi.Sparsity.dense(n, n), "a": casadi.Sparsity(0, n)}
    program = casadi.conic("minimum", "qpoases", shapes, {"printLevel": "none", "sparse": False})
    return np.asarray(program(h=problem.A, g=problem.b, lbx=0, ubx=np.inf)["x"]).ravel()


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, m=st.integers(1, 12), spare=st.integers(-8, 3), whole=st.booleans(), twins=st.integers(0, 3))
def test_normal_contacts_agree(seed, m, spare, whole, twins):
    """Positive definite, singular and degenerate: forces may differ, rates may not."""
    problem = random_problem(seed, np.ones(m, int), max(1, m + spare), 0.0, whole=whole, twins=twins)
    exact, newton = Lemke().solve(problem), SemismoothNewton().solve(problem)
    size = np.abs(problem.b).max() + 1e-300
    assert exact.residual < 1e-12
    assert newton.residual < 1e-12
    assert min(exact.lam.min(), newton.lam.min()) >= 0
    np.testing.assert_allclose(newton.y / size, exact.y / size, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, m=st.integers(1, 10))
def test_quadratic_programs_agree(seed, m):
    problem = random_problem(seed, np.ones(m, int), m + 3, 0.0)
    np.testing.assert_allclose(quadratic_program(problem), solve(problem).lam, atol=1e-7, rtol=1e-7)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, m=st.integers(2, 10), lost=st.integers(1, 6))
def test_redundant_contacts_agree_with_a_quadratic_program(seed, m, lost):
    problem = random_problem(seed, np.ones(m, int), max(1, m - lost), 0.0, twins=1)
    lam = quadratic_program(problem)
    np.testing.assert_allclose(problem.A @ lam + problem.b, solve(problem).y, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    dims=st.lists(st.sampled_from([1, 2]), min_size=1, max_size=9),
    spare=st.integers(-8, 3),
    friction=st.sampled_from([0.0, 0.1, 0.5, 2.0]),
    whole=st.booleans(),
)
def test_planar_friction_is_solved_by_all(seed, dims, spare, friction, whole):
    problem = random_problem(seed, dims, max(1, sum(dims) + spare), friction, whole=whole, twins=1)
    for solver in (Lemke(), SemismoothNewton()):
        assert solver.solve(problem).residual < 1e-11


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    dims=st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=8),
    spare=st.integers(-8, 3),
    friction=st.sampled_from([0.1, 0.5, 1.0]),
    whole=st.booleans(),
)
def test_friction_in_space(seed, dims, spare, friction, whole):
    problem = random_problem(seed, dims, max(1, sum(dims) + spare), friction, whole=whole, twins=1)
    solution = SemismoothNewton().solve(problem)
    assert solution.residual < 1e-11
    assert_coulomb(problem, solution.lam)


def assert_coulomb(problem, lam, tolerance=1e-9):
    """Signorini's and Coulomb's conditions, written down once more, contact by contact."""
    y = problem.A @ lam + problem.b
    size = max(np.abs(problem.b).max(), np.abs(lam).max(), 1e-300)
    for at, dim, friction in zip(problem.starts, problem.dims, problem.friction, strict=True):
        normal, rate = lam[at], y[at]
        assert normal >= 0
        assert rate >= -tolerance * size
        assert min(normal, rate) <= tolerance * size
        if dim == 1:
            continue
        force, sliding = lam[at + 1 : at + dim], y[at + 1 : at + dim]
        radius = friction * normal
        assert np.linalg.norm(force) <= radius * (1 + 1e-14)
        if np.linalg.norm(force) < radius - tolerance * size:
            assert np.linalg.norm(sliding) <= tolerance * size
        # sliding takes the most work from the bodies that friction can
        lost = np.linalg.norm(sliding) * radius + force @ sliding
        assert lost <= tolerance * size * max(size, 1)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, dims=st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=8))
def test_little_friction_has_one_solution(seed, dims):
    """Where forces are unique all solvers find the same, dense or sparse, from any start."""
    problem = random_problem(seed, dims, 3 * sum(dims) + 3, 0.1)
    lam = SemismoothNewton().solve(problem).lam
    sweeps = GaussSeidel(tolerance=1e-13)
    np.testing.assert_allclose(sweeps.solve(problem).lam, lam, atol=1e-10)
    sparse = ContactProblem(csr_array(problem.A), problem.b, dims, problem.friction)
    np.testing.assert_allclose(sweeps.solve(sparse).lam, lam, atol=1e-10)
    np.testing.assert_allclose(SemismoothNewton().solve(sparse, guess=lam + 1.0).lam, lam, atol=1e-10)
    np.testing.assert_allclose(solve(sparse).lam, lam, atol=1e-10)
    if max(dims) < 3:
        np.testing.assert_allclose(Lemke().solve(problem).lam, lam, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, dims=st.lists(st.sampled_from([2, 3]), min_size=1, max_size=5))
def test_preload(seed, dims):
    rng = np.random.default_rng(seed)
    free = random_problem(seed, dims, 3 * sum(dims), 0.1)
    problem = ContactProblem(free.A, free.b, dims, 0.1, preload=rng.uniform(0, 3, len(dims)))
    newton, sweeps = SemismoothNewton().solve(problem), GaussSeidel(tolerance=1e-12).solve(problem)
    np.testing.assert_allclose(newton.lam, sweeps.lam, atol=1e-9)
    if max(dims) < 3:
        np.testing.assert_allclose(Lemke().solve(problem).lam, newton.lam, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 12))
def test_nonsymmetric_problems(seed, n):
    """Sliding friction substituted makes A nonsymmetric; with a positive definite part there is one solution."""
    rng = np.random.default_rng(seed)
    G, S = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    problem = ContactProblem(G @ G.T + np.eye(n) + S - S.T, rng.normal(size=n), np.ones(n, int))
    exact = Lemke().solve(problem)
    assert exact.residual < 1e-14
    np.testing.assert_allclose(SemismoothNewton().solve(problem).lam, exact.lam, atol=1e-9)


@pytest.mark.parametrize("solver", [GaussSeidel(iterations=50), SemismoothNewton(iterations=30)])
def test_no_solution_is_reported(solver):
    with pytest.raises(ComplementarityFailed, match="contact 1") as caught:
        solver.solve(ContactProblem([[1.0, 0.0], [0.0, -1.0]], [-1.0, -1.0], [1, 1]))
    assert caught.value.contact == 1
    assert caught.value.reason in ("iterations", "ray")


def test_contacts_that_contradict_each_other():
    """A body between two walls that come closer: in space, and without friction."""
    A = np.array([[1.0, -1.0], [-1.0, 1.0]])
    with pytest.raises(ComplementarityFailed) as caught:
        solve(ContactProblem(A, [-1.0, -1.0], [1, 1]))
    assert caught.value.reason == "ray"
    with pytest.raises(ComplementarityFailed):
        solve(ContactProblem(np.kron(A, np.eye(3)), [-1.0, 1, 0, -1, 0, 1], [3, 3], friction=0.3))


def pile(layers, width, friction, seed=0):
    """Sparse problem of a wall of blocks in free fall, each on two others: rows of `layers` × `width` contacts."""
    from scipy.sparse import lil_array

    rng = np.random.default_rng(seed)
    bodies, rows = layers * width, []
    for layer in range(layers):
        for k in range(width):
            for below in (k, (k + 1) % width):
                rows.append((layer * width + k, (layer - 1) * width + below if layer else -1))
    W = lil_array((3 * len(rows), 3 * bodies))
    for c, (upper, lower) in enumerate(rows):
        side = 0.4 if c % 2 else -0.4
        frame = np.array([[np.sqrt(1 - side**2), side, 0], [-side, np.sqrt(1 - side**2), 0], [0, 0, 1]])
        for body, sign in ((upper, 1.0), (lower, -1.0)):
            if body >= 0:
                W[3 * c : 3 * c + 3, 3 * body : 3 * body + 3] = sign * frame
    W = csr_array(W)
    v = rng.normal(size=(bodies, 3)) * 0.1 - [1.0, 0, 0]
    return ContactProblem(W @ W.T, W @ v.ravel(), np.full(len(rows), 3), friction)


def test_hundreds_of_contacts_by_sparse_sweeps():
    problem = pile(8, 20, 0.4)
    assert len(problem.dims) == 320
    assert problem.A.nnz < 0.1 * problem.n**2
    sweeps = GaussSeidel(tolerance=1e-10).solve(problem)
    assert sweeps.residual <= 1e-10
    assert_coulomb(problem, sweeps.lam, 1e-8)
    newton = SemismoothNewton().solve(problem)
    assert newton.residual <= 1e-12
    assert solve(problem).solver == "SemismoothNewton"


def stack(boxes):
    """Rows of boxes one on the other, each with contacts at its four corners (two in three are redundant), 1/mass."""
    rows = []
    for k in range(boxes):
        for x in (-0.5, 0.5):
            for y in (-0.4, 0.4):
                for d in np.eye(3)[[2, 0, 1]]:
                    row = np.zeros((boxes, 6))
                    row[k] = *d, *np.cross([x, y, -0.25], d)
                    if k:
                        row[k - 1] = *-d, *-np.cross([x, y, 0.25], d)
                    rows.append(row.ravel())
    return np.array(rows), np.tile([1, 1, 1, 10.0, 8.0, 7.0], boxes)


@pytest.mark.parametrize("boxes", [1, 3, 8])
def test_stacks_of_boxes(boxes):
    W, inverse = stack(boxes)
    A, dims = W * inverse @ W.T, np.full(4 * boxes, 3)
    rng = np.random.default_rng(boxes)
    for k in range(10):
        v = rng.normal(size=6 * boxes) * (0.0, 0.1, 1.0)[k % 3]
        v[2::6] -= 1
        b = W @ v
        b[::3] += 0.5 * np.minimum(b[::3], 0)
        problem = ContactProblem(A, b, dims, friction=0.5)
        solution = solve(problem)
        assert solution.residual < 1e-11
        assert_coulomb(problem, solution.lam)


def test_sweeps_go_on_from_a_guess():
    problem = pile(3, 6, 0.3)
    first = GaussSeidel().solve(problem)
    assert GaussSeidel().solve(problem, guess=first.lam).iterations <= 3 < first.iterations


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GaussSeidel(tolerance=2.0), "tolerance=2"),
        (lambda: GaussSeidel(iterations=0), "iterations=0"),
        (lambda: SemismoothNewton(tolerance=0.0), "tolerance=0"),
        (lambda: SemismoothNewton(tolerence=1e-3), "did you mean 'tolerance'"),
        (lambda: GaussSeidel(iterations="many"), "whole number"),
        (lambda: Lemke(pivots=3), "no option 'pivots'"),
    ],
)
def test_bad_options_are_named(make, words):
    with pytest.raises(OptionError, match=words):
        make()


SICONOS = """
import json, sys
import numpy as np
import siconos.numerics as sn
answers = []
for kind, A, b, mu in json.load(sys.stdin):
    A, b = np.asfortranarray(A), np.array(b)
    n = len(b)
    x, y = np.zeros(n), np.zeros(n)
    if kind == "lcp":
        failed = sn.lcp_lexicolemke(sn.LCP(A, b), x, y, sn.SolverOptions(sn.SICONOS_LCP_LEMKE))
        failed = failed[0] if isinstance(failed, tuple) else failed
    else:
        options = sn.SolverOptions(sn.SICONOS_FRICTION_3D_NSGS)
        options.dparam[sn.SICONOS_DPARAM_TOL] = 1e-12
        options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 100000
        problem = sn.FrictionContactProblem(3, n // 3, A, b, np.array(mu))
        failed = sn.fc3d_nsgs(problem, x, y, options)
        failed = failed[0] if isinstance(failed, tuple) else failed
    answers.append([int(failed or 0), x.tolist()])
print("ANSWERS" + json.dumps(answers))
"""


def siconos(problems):
    """Answers of Siconos, which is installed for the system's Python, if at all."""
    if (
        not SYSTEM_PYTHON.exists()
        or subprocess.run([SYSTEM_PYTHON, "-c", "import siconos.numerics"], capture_output=True, env={}).returncode
    ):
        pytest.skip("Siconos is not installed")
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", SICONOS], input=json.dumps(problems), capture_output=True, text=True, check=True, env={}
    )
    return json.loads(done.stdout.split("ANSWERS")[1])


def test_siconos_agrees():
    rng = np.random.default_rng(1)
    problems = []
    for n in (1, 2, 5, 9, 20, 40):
        G, S = rng.normal(size=(n, n + 2)), rng.normal(size=(n, n))
        b = -np.abs(rng.normal(size=n))
        problems += [("lcp", G @ G.T, b, []), ("lcp", G @ G.T + np.eye(n) + S - S.T, b, [])]
    for m in (1, 2, 4, 6):
        problem = random_problem(m, np.full(m, 3), 9 * m, 0.2)
        problems.append(("cones", problem.A, problem.b, problem.friction))
    given = [(kind, A.tolist(), b.tolist(), list(mu)) for kind, A, b, mu in problems]
    compared = 0
    for (kind, A, b, mu), (failed, theirs) in zip(problems, siconos(given), strict=True):
        if failed:
            continue
        compared += 1
        mine = lemke(A, b) if kind == "lcp" else solve(ContactProblem(A, b, np.full(len(b) // 3, 3), mu)).lam
        np.testing.assert_allclose(mine, theirs, atol=1e-8 * (1 + np.abs(mine).max()))
    assert compared >= 14
    assert residual(ContactProblem(problems[0][1], problems[0][2], [1]), lemke(*problems[0][1:3])) == 0
