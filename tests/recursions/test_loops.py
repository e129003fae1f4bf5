"""Closures of loops: random ones against differences, known ones by hand."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from trees import assert_close, by_differences, evaluate, random_state, random_tree, rotations

from dalembert.multibody.topology import AXIS, FRAME, POINT, REVOLUTE, TWIST
from dalembert.recursions import closures, entries
from dalembert.recursions.report import report
from dalembert.recursions.rows import BODY_POSITION, BODY_REPORT, BODY_ROTATION, TOTALS
from dalembert.recursions.tree import Tree


def random_loops(seed):
    """A tree with closures of all sorts between random bodies."""
    rng = np.random.default_rng([seed, 2])
    n = int(rng.integers(2, 10))
    m = int(rng.integers(1, 5))
    bodies = np.array([rng.permutation(n + 1)[:2] - 1 for _ in range(m)])
    return random_tree(
        seed, n, shuffle=seed % 2 == 1, loop_kind=rng.choice([POINT, AXIS, FRAME, POINT | AXIS, TWIST, 5, 63 - 4], m),
        loop_bodies=bodies, loop_rotation=rotations(rng, 2 * m).reshape(m, 2, 3, 3),
        loop_offset=rng.normal(size=(m, 2, 3)),
    )  # fmt: skip


@pytest.fixture(params=range(25), scope="module")
def case(request):
    topology = random_loops(request.param)
    return Tree(topology), *random_state(topology, 3)


def values(tree, what, *x):
    status, out = evaluate(getattr(closures, what), tree, tree.topology.n_loop_equations, *x)
    assert status == 0
    return out


def matrix(tree, what, pattern, n, *x):
    rows, columns = pattern
    status, out = evaluate(getattr(closures, what), tree, len(rows), *x)
    assert status == 0
    return coo_matrix((out, (rows, columns)), shape=(tree.topology.n_loop_equations, n)).toarray()


def test_closures_are_what_they_say(case):
    """From poses of the bodies in the world, in which the tree stands anywhere."""
    tree, p, v, a = case
    t, m = tree.topology, tree.topology.n_loop_equations
    _, out = evaluate(report, tree, t.n * BODY_REPORT + TOTALS + t.n_v, p, v, a, np.zeros(m))
    bodies = out[: t.n * BODY_REPORT].reshape(t.n, BODY_REPORT)
    expected = []
    for kind, pair, turns, offsets in zip(t.loop_kind, t.loop_bodies, t.loop_rotation, t.loop_offset, strict=True):
        frames = []
        for body, turned, offset in zip(pair, turns, offsets, strict=True):
            R = np.eye(3) if body < 0 else bodies[body, BODY_ROTATION : BODY_ROTATION + 9].reshape(3, 3)
            x = np.zeros(3) if body < 0 else bodies[body, BODY_POSITION : BODY_POSITION + 3]
            frames.append((R @ turned, x + R @ offset))
        (A, a0), (B, b0) = frames
        all_six = [*(A.T @ (b0 - a0)), A[:, 0] @ B[:, 2], A[:, 1] @ B[:, 2], A[:, 0] @ B[:, 1]]
        expected += [value for bit, value in enumerate(all_six) if kind >> bit & 1]
    assert_close(values(tree, "closure", p), np.array(expected), 1e-13)


def test_jacobian(case):
    tree, p, _, _ = case
    found = matrix(tree, "closure_by_p", tree.loops.by_p, len(p), p)
    assert_close(found, by_differences(lambda p: values(tree, "closure", p), p), 1e-9)


def test_derivatives_along_the_motion(case):
    tree, p, v, _ = case
    _, rate = evaluate(entries.kinematics_rate, tree, len(p), p, v)
    first = values(tree, "closure_first", p, v)
    assert_close(first, matrix(tree, "closure_by_p", tree.loops.by_p, len(p), p) @ rate, 1e-12)
    assert_close(first, matrix(tree, "closure_first_by_v", tree.loops.by_v, len(v), p) @ v, 1e-12)
    by_p = by_differences(lambda p: values(tree, "closure_first", p, v), p)
    assert_close(values(tree, "closure_second", p, v), by_p @ rate, 1e-8)


def test_multipliers_act_as_wrenches(case):
    tree, p, v, a = case
    t = tree.topology
    lam = np.random.default_rng(0).normal(size=t.n_loop_equations)
    G = matrix(tree, "closure_first_by_v", tree.loops.by_v, len(v), p)
    _, out = evaluate(report, tree, t.n * BODY_REPORT + TOTALS + t.n_v, p, v, a, lam)
    _, needed = evaluate(entries.residual, tree, t.n_v, p, v, a)
    assert_close(out[t.n * BODY_REPORT + TOTALS :], needed + G.T @ lam, 1e-12)


def test_what_is_shared_does_not_count():
    """A loop within a subtree: a joint between it and the ground has no entry, and no digits are lost far away."""
    arm = random_tree(0, 4, kinds=[REVOLUTE], shape="chain", loop_kind=[POINT], loop_bodies=[[1, 3]])
    assert set(Tree(arm).loops.by_p[1].tolist()) == {2, 3}
    away = np.array(arm.offset)
    away[0] += 1e12
    far = random_tree(0, 4, kinds=[REVOLUTE], shape="chain", loop_kind=[POINT], loop_bodies=[[1, 3]], offset=away)
    p = np.array([0.3, 0.4, 0.5, 0.6])
    np.testing.assert_array_equal(values(Tree(arm), "closure", p), values(Tree(far), "closure", p))


def test_four_bar_closes():
    """A parallelogram in the plane: the coupler stays parallel to the ground."""
    bars = random_tree(
        0, 3, kinds=[REVOLUTE], shape="chain", loose=False, rotation=[np.eye(3)] * 3,
        offset=[[0, 0, 0], [1, 0, 0], [2, 0, 0]], loop_kind=[POINT | AXIS], loop_bodies=[[-1, 2]],
        loop_offset=[[[2, 0, 0], [1, 0, 0]]],
    )  # fmt: skip
    for angle in (0.3, 1.2, 2.5):
        closed = np.array([angle, -angle, angle + np.pi])
        np.testing.assert_allclose(values(Tree(bars), "closure", closed), 0, atol=1e-15)
