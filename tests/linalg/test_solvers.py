"""All saddle-point solvers against NumPy: trees, loops, semi-definite M, joint coordinates, U ≠ G; and their errors."""

import numpy as np
import pytest
from systems import anything, direct, insulator_chain, joint_coordinates, positive, random_fathers, tree, with_loops

import dalembert as da
from dalembert.linalg.saddle import saddle
from dalembert.linalg.saddle.saddle import SaddlePattern, solve_saddle

GENERAL = [da.Dense(), da.RangeSpace(), da.Block(), da.Sparse(), da.Recursive(), da.Auto()]
SYMMETRIC_ONLY = [da.Symmetric(), da.ConjugateGradient()]
ALL = [*GENERAL, *SYMMETRIC_ONLY]
name = lambda solver: type(solver).__name__  # noqa: E731


def agree(solver, M, G, U=None, *, seed=0, tolerance=1e-10):
    rng = np.random.default_rng(seed)
    f, g = rng.normal(size=len(M)), rng.normal(size=len(G))
    w, lam, condition = direct(M, G, f, g, U)
    assert condition < 1e5
    mine = solve_saddle(solver, M, G, f, g, U)
    for x, y in zip(mine, (w, lam), strict=True):
        assert np.abs(x - y).max(initial=0) <= tolerance * np.abs(y).max(initial=0), name(solver)


def systems(rng):
    """Mechanisms of every kind, small."""
    n = int(rng.integers(2, 9))
    yield tree(rng, random_fathers(rng, n))
    yield tree(rng, random_fathers(rng, n, trees=2), 6, 5)
    yield tree(rng, random_fathers(rng, n), 2, 1)
    yield tree(rng, random_fathers(rng, n), 5, 3)
    yield with_loops(rng, *tree(rng, random_fathers(rng, n)), [(0, n - 1), (n // 2, -1)][: 1 + n // 4])
    yield joint_coordinates(rng, random_fathers(rng, n))
    yield joint_coordinates(rng, random_fathers(rng, n), 6, 2)
    yield insulator_chain(n, rng.normal(size=n + 2))
    M, G = tree(rng, random_fathers(rng, n))
    M[2, :], M[:, 2] = 0, 0  # the first body keeps no mass in one direction, and gets a constraint there
    yield M, np.vstack([G, np.eye(1, len(M), 2) + np.eye(1, len(M), 3)])
    M, G = tree(rng, random_fathers(rng, n), 4, 2)
    M[:4, :4] = np.diag([1.0, 2.0, 0.0, 0.0]) @ positive(rng, 4) @ np.diag([1.0, 2.0, 0.0, 0.0])
    G[:2, :4] = [[0.1, 0.2, 2.0, 0.3], [0.3, 0.1, 0.4, -1.5]]  # M has zero entries that are part of its pattern
    yield M, G


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("solver", ALL, ids=name)
def test_symmetric_systems(solver, seed):
    for M, G in systems(np.random.default_rng(seed)):
        agree(solver, M, G, seed=seed)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("solver", GENERAL, ids=name)
def test_nonsymmetric_systems(solver, seed):
    rng = np.random.default_rng(seed)
    for M, G in systems(rng):
        U = G + 0.1 * rng.normal(size=G.shape) * (G != 0)
        agree(solver, M, G, U, seed=seed)
    M, G = tree(rng, [-1, 0, 1, 2])
    agree(solver, M, G, G + 0.05 * rng.normal(size=G.shape), seed=seed)  # friction couples everything


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_anything(solver):
    """Regular matrices without structure are solved, singular ones are refused."""
    solved = refused = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        M, G, U = anything(rng)
        if U is not None and solver in SYMMETRIC_ONLY:
            continue
        f, g = rng.normal(size=len(M)), rng.normal(size=len(G))
        A = np.block([[M, (G if U is None else U).T], [G, np.zeros((len(G), len(G)))]])
        condition = np.linalg.cond(A)
        if condition < 1e6:
            x = np.linalg.solve(A, np.concatenate([f, g]))
            mine = np.concatenate(solve_saddle(solver, M, G, f, g, U))
            assert np.abs(mine - x).max() <= 1e-11 * condition * np.abs(x).max(), (name(solver), seed)
            solved += 1
        elif condition > 1e18:
            with pytest.raises(da.SingularMatrix):
                solve_saddle(solver, M, G, f, g, U)
            refused += 1
    assert solved > 20
    assert refused > 10


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_extremes(solver):
    rng = np.random.default_rng(7)
    M = positive(rng, 4)
    agree(solver, M, np.zeros((0, 4)))  # no constraint
    agree(solver, M, positive(rng, 4))  # nothing can move
    agree(solver, np.zeros((3, 3)), positive(rng, 3))  # no mass at all
    agree(solver, np.eye(1), np.eye(1))
    M, G = tree(rng, random_fathers(rng, 60, trees=5))
    agree(solver, M, G)


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_solve_belongs_to_the_last_factor(solver):
    rng = np.random.default_rng(3)
    M, G = tree(rng, [-1, 0, 1, 1, 0])
    entries = np.nonzero(M), np.nonzero(G)
    memory = solver.build(SaddlePattern(len(M), len(G), *entries))
    memory.M[:], memory.G[:] = M[entries[0]], G[entries[1]]
    assert saddle.factor(memory) == 0
    twin = saddle.fresh_saddle(memory)
    memory.M[:], memory.G[:] = np.nan, np.nan
    b = rng.normal(size=len(M) + len(G))
    w, lam, _ = direct(M, G, b[: len(M)], b[len(M) :])
    expected = np.concatenate([w, lam])
    np.testing.assert_allclose(saddle.solve(memory, b), expected, rtol=1e-9, atol=1e-12)
    del memory
    np.testing.assert_allclose(saddle.solve(twin, b), expected, rtol=1e-9, atol=1e-12)
    twin.M[:], twin.G[:] = 2 * M[entries[0]], 3 * G[entries[1]]
    assert saddle.factor(twin) == 0
    w, lam, _ = direct(2 * M, 3 * G, b[: len(M)], b[len(M) :])
    np.testing.assert_allclose(saddle.solve(twin, b), np.concatenate([w, lam]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_singular_systems_are_named_by_every_solver(solver):
    rng = np.random.default_rng(5)
    M, G = tree(rng, [-1, 0, 1, 2, 3, 4])
    names = dict(
        velocity_names=[f"{c}{k}" for k in range(6) for c in ("x", "y", "phi")],
        constraint_names=[f"hinge{k}{c}" for k in range(6) for c in "xy"],
    )
    f, g = np.ones(18), np.ones(12)
    twice = G.copy()
    twice[9] = 3 * twice[8]
    with pytest.raises(da.SingularMatrix, match="constraints 'hinge4x', 'hinge4y' are redundant"):
        solve_saddle(solver, M, twice, f, g, **names)
    empty = G.copy()
    empty[7] = 0
    with pytest.raises(da.SingularMatrix, match="constraint 'hinge3y' restrains no velocity"):
        solve_saddle(solver, M, empty, f, g, **names)
    light, free = M.copy(), G.copy()
    light[17], light[:, 17], free[:, 17] = 0, 0, 0
    with pytest.raises(da.SingularMatrix, match="velocity 'phi5' has no mass and stands in no constraint"):
        solve_saddle(solver, light, free, f, g, **names)
    light = M.copy()
    light[15:], light[:, 15:] = 0, 0
    with pytest.raises(da.SingularMatrix, match="can change without any mass"):
        solve_saddle(solver, light, G, f, g, **names)
    M[4, 4] = np.nan
    with pytest.raises(da.SingularMatrix, match=r"M is not finite at \(y1, y1\)"):
        solve_saddle(solver, M, G, f, g, **names)


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_units_do_not_matter(solver):
    rng = np.random.default_rng(11)
    M, G = insulator_chain(6, rng.normal(size=8))
    f, g = np.ones(len(M)), np.ones(len(G))
    w, lam, _ = direct(M, G, f, g)
    mine = solve_saddle(solver, 1e10 * M, 1e-7 * G, 1e10 * f, 1e-7 * g)
    np.testing.assert_allclose(mine[0], w, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mine[1] * 1e-17, lam, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", SYMMETRIC_ONLY, ids=name)
def test_symmetric_solvers_refuse_other_matrices(solver):
    M, G = tree(np.random.default_rng(0), [-1, 0])
    with pytest.raises(da.OptionError, match="use Dense, Sparse or Recursive"):
        solve_saddle(solver, M, G, np.ones(6), np.ones(4), U=2 * G)


def test_storage():
    rng = np.random.default_rng(2)
    M, G = tree(rng, [-1, 0, 1])
    diagonal = np.diag(np.diag(M))
    for mass in ("auto", "full", "block", "diagonal"):
        for constraint in ("auto", "full", "sparse"):
            for solver in (da.RangeSpace, da.ConjugateGradient):
                agree(solver(mass=mass, constraint=constraint), diagonal, G)
                if mass != "diagonal":
                    agree(solver(mass=mass, constraint=constraint), M, G)


@pytest.mark.parametrize("solver", [da.RangeSpace, da.ConjugateGradient])
def test_storage_that_contradicts_the_pattern(solver):
    """The entry is named as the model names it."""
    rng = np.random.default_rng(2)
    M, G = tree(rng, [-1, 0, 1])
    with pytest.raises(da.OptionError, match=r"mass='diagonal' contradicts the entry of M at \(v\[0\], v\[1\]\)"):
        solve_saddle(solver(mass="diagonal"), M, G, np.ones(9), np.ones(6))
    with pytest.raises(da.OptionError, match=r"mass='block' contradicts .* the entry at \(v\[0\], v\[2\]\)"):
        solve_saddle(solver(mass="block"), positive(rng, 3), np.eye(1, 3), np.ones(3), np.ones(1))
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=lambda s: [[2, s.x], [s.x, 3]], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1]
    )
    for method in (da.Mexx, da.Rkf45):
        with pytest.raises(da.OptionError, match=r"mass='diagonal' contradicts the entry of M at \(y_dot, x_dot\)"):
            da.simulate(model, (0, 1), p0=[0.6, 0.8], method=method(linear_solver=solver(mass="diagonal")))
    with pytest.raises(da.OptionError, match=r"mass='blocks' is unknown; did you mean 'block'\?"):
        solver(mass="blocks")
    with pytest.raises(da.OptionError, match="constraint='dense' is unknown"):
        solver(constraint="dense")


def pattern_of(M, G):
    return SaddlePattern(len(M), len(G), np.nonzero(M), np.nonzero(G))


def test_auto_chooses_by_size_and_topology():
    rng = np.random.default_rng(4)
    choice = lambda M, G: name(da.Auto().choose(pattern_of(M, G)))  # noqa: E731
    assert choice(*tree(rng, [-1, 0, 1])) == "Compiled"
    assert choice(*insulator_chain(100, rng.normal(size=102))) == "Recursive"
    assert choice(*with_loops(rng, *tree(rng, [-1, *range(99)]), [(5, 99)])) == "Sparse"
    assert choice(positive(rng, 30), rng.normal(size=(10, 30))) == "Dense"
    memory = da.Auto().build(pattern_of(*insulator_chain(100, rng.normal(size=102))))
    assert isinstance(memory.solver, da.Recursive)
