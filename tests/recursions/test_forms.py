"""Explicit and residual form of random trees, mass matrix, derivatives: against each other and against differences."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csc_matrix
from trees import assert_close, by_differences, evaluate, random_state, random_tree

from dalembert.multibody.pattern import full_pattern, rate_by_p_pattern, rate_pattern, velocity_of_coordinate
from dalembert.multibody.topology import FREE, KIND_NAMES, PRISMATIC, REVOLUTE, SCREW, SPHERICAL
from dalembert.recursions import derivatives, entries
from dalembert.recursions.tree import Tree

#: random trees, each kind of joint alone, and each shape
CASES = {
    **{f"tree {seed}": dict(seed=seed, shuffle=seed % 3 == 0) for seed in range(30)},
    **{name: dict(seed=k, n=6, kinds=[k]) for k, name in enumerate(KIND_NAMES)},
    **{shape: dict(seed=40, n=12, shape=shape) for shape in ("chain", "star", "forest")},
    "single": dict(seed=50, n=1),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    """A tree with loads, its state, and loads."""
    topology = random_tree(**CASES[request.param])
    rng = np.random.default_rng(len(request.param))
    velocities = rng.permutation(topology.n_v)[: max(1, topology.n_v // 2)]
    bodies = rng.permutation(topology.n)[: topology.n // 2 + 1]
    tree = Tree(topology, applied_velocities=velocities, applied_bodies=bodies, matrices=True, inverse=True)
    loads = rng.normal(size=len(velocities) + 6 * len(bodies))
    return tree, *random_state(topology, 7), loads


def residual(tree, *x):
    status, out = evaluate(entries.residual, tree, tree.topology.n_v, *x)
    assert status == 0
    return out


def mass_of(tree, p):
    status, out = evaluate(entries.mass, tree, len(tree.pattern.rows_v), p)
    assert status == 0
    n_v = tree.topology.n_v
    return csc_matrix((out, tree.pattern.rows_v, tree.pattern.starts_v), shape=(n_v, n_v)).toarray()


def test_the_explicit_form_satisfies_the_residual_form(case):
    tree, p, v, _, loads = case
    status, rate = evaluate(entries.explicit, tree, len(v), p, v, loads)
    assert status == 0
    assert_close(residual(tree, p, v, rate, loads), 0 * v, 1e-11 * (1 + np.abs(rate).max()))


def test_the_residual_form_is_the_inverse_of_the_explicit_one(case):
    """With loads along all velocities that a motion takes, the motion comes back."""
    tree, p, v, a, _ = case
    topology = tree.topology
    loaded = Tree(topology, applied_velocities=range(topology.n_v))
    tau = residual(Tree(topology), p, v, a)
    status, rate = evaluate(entries.explicit, loaded, len(v), p, v, tau)
    assert status == 0
    condition = np.linalg.cond(mass_of(tree, p))
    assert_close(rate, a, 1e-14 * condition)


def test_the_force_is_what_is_missing_without_accelerations(case):
    tree, p, v, _, loads = case
    _, f = evaluate(entries.force, tree, len(v), p, v, loads)
    assert_close(f, -residual(tree, p, v, 0 * v, loads), 1e-13)


def test_mass_matrix_has_the_columns_of_the_residual_form(case):
    tree, p, v, _, loads = case
    M = mass_of(tree, p)
    rest = residual(tree, p, v, 0 * v, loads)
    columns = np.array([residual(tree, p, v, e, loads) - rest for e in np.eye(len(v))]).T
    assert_close(M, columns, 1e-13)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_entries_stand_where_one_body_carries_the_other(case):
    topology, pattern = case[0].topology, case[0].pattern
    below = {-1: set()}  # degrees of freedom between a body and the ground, its own among them
    expected = set()
    for i, (parent, kind, at) in enumerate(zip(topology.parent, topology.kind, topology.v_at, strict=True)):
        own = {int(at) + k for k in range({SPHERICAL: 3, FREE: 6}.get(kind, 1))}
        below[i] = below[parent] | own
        expected |= {(j, k) for j in own for k in below[i]}
    expected |= {(j, i) for i, j in expected}
    assert sorted(zip(pattern.rows_v.tolist(), pattern.columns_v.tolist(), strict=True)) == sorted(expected)


def test_derivatives_of_the_residual_form(case):
    tree, p, v, a, loads = case
    pattern, n_v, n_q = tree.pattern, len(v), len(p)
    sizes = [len(pattern.rows_q), len(pattern.rows_v), len(pattern.rows_v)]
    status, out = evaluate(derivatives.residual_derivatives, tree, sum(sizes), p, v, a, loads)
    assert status == 0
    by_p, by_v, by_a = np.split(out, np.cumsum(sizes)[:-1])
    by_p = csc_matrix((by_p, pattern.rows_q, pattern.starts_q), shape=(n_v, n_q)).toarray()
    by_v = csc_matrix((by_v, pattern.rows_v, pattern.starts_v), shape=(n_v, n_v)).toarray()
    by_a = csc_matrix((by_a, pattern.rows_v, pattern.starts_v), shape=(n_v, n_v)).toarray()
    assert_close(by_p, by_differences(lambda p: residual(tree, p, v, a, loads), p), 2e-9)
    assert_close(by_v, by_differences(lambda v: residual(tree, p, v, a, loads), v), 2e-9)
    assert_close(by_a, mass_of(tree, p), 1e-13)


@pytest.mark.parametrize("by", "pv")
def test_single_derivatives_are_those_of_all_at_once(case, by):
    tree, p, v, a, loads = case
    pattern = tree.pattern
    n_q, n_e = len(pattern.rows_q), len(pattern.rows_v)
    _, together = evaluate(derivatives.residual_derivatives, tree, n_q + 2 * n_e, p, v, a, loads)
    _, at_rest = evaluate(derivatives.residual_derivatives, tree, n_q + 2 * n_e, p, v, 0 * a, loads)
    part = slice(0, n_q) if by == "p" else slice(n_q, n_q + n_e)
    n_out = n_q if by == "p" else n_e
    of_residual, of_force = (getattr(derivatives, f"{form}_by_{by}") for form in ("residual", "force"))
    assert_close(evaluate(of_residual, tree, n_out, p, v, a, loads)[1], together[part], 1e-13)
    assert_close(evaluate(of_force, tree, n_out, p, v, loads)[1], -at_rest[part], 1e-13)


def test_derivatives_by_loads(case):
    tree, p, v, a, loads = case
    shape = (len(v), len(loads))
    for form, given in (("residual", (p, v, a)), ("force", (p, v))):
        _, out = evaluate(getattr(derivatives, f"{form}_by_applied"), tree, len(tree.load_rows), *given, loads)
        found = csc_matrix((out, tree.load_rows, tree.load_starts), shape=shape).toarray()
        value = getattr(entries, form)
        expected = by_differences(lambda f: evaluate(value, tree, len(v), *given, f)[1], loads, h=0.1)  # noqa: B023
        assert_close(found, expected, 1e-11)


def test_derivatives_of_the_explicit_form(case):
    tree, p, v, _, loads = case
    topology = tree.topology

    def rate(p, v, f):
        return evaluate(entries.explicit, tree, topology.n_v, p, v, f)[1]

    of_load = tree.load_rows[tree.load_starts[:-1]]
    columns = {"p": velocity_of_coordinate(topology), "v": np.arange(topology.n_v), "applied": of_load}
    functions = {"p": lambda x: rate(x, v, loads), "v": lambda x: rate(p, x, loads), "applied": lambda x: rate(p, v, x)}
    points = {"p": p, "v": v, "applied": loads}
    for by, dofs in columns.items():
        rows, cols = full_pattern(topology, dofs)
        status, out = evaluate(getattr(derivatives, f"explicit_by_{by}"), tree, len(rows), p, v, loads)
        assert status == 0
        found = coo_matrix((out, (rows, cols)), shape=(topology.n_v, len(dofs))).toarray()
        assert_close(found, by_differences(functions[by], points[by]), 1e-7)


def test_kinematics(case):
    tree, p, v, _, _ = case
    topology = tree.topology
    rows, columns = rate_pattern(topology)
    _, out = evaluate(entries.kinematics, tree, len(rows), p)
    Z = coo_matrix((out, (rows, columns)), shape=(len(p), len(v))).toarray()
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    _, rate = evaluate(entries.kinematics_rate, tree, len(p), p, v)
    assert_close(rate, Z @ v, 1e-15)
    _, first = evaluate(entries.kinematics_first, tree, len(p), p, v)

    def rate_at(p):
        return evaluate(entries.kinematics_rate, tree, len(p), p, v)[1]

    by_p = by_differences(rate_at, p, h=0.1)
    assert_close(first, by_p @ rate, 1e-12)
    rows, columns = rate_by_p_pattern(topology)
    _, out = evaluate(entries.kinematics_rate_by_p, tree, len(rows), p, v)
    assert_close(coo_matrix((out, (rows, columns)), shape=(len(p), len(p))).toarray(), by_p, 1e-12)


def test_one_degree_of_freedom_by_hand():
    """A pendulum, a mass on an inclined spring and a nut on a screw."""
    z = dict(n=1, shape="chain", loose=False)
    down = dict(gravity=[0, -9.81, 0], offset=[[0, 0, 0]], rotation=[np.eye(3)])
    pendulum = random_tree(
        0, kinds=[REVOLUTE], mass=[2.0], com=[[0.5, 0, 0]], inertia=[[0, 0, 0, 0, 0, 0.1]], **z, **down
    )
    _, rate = evaluate(entries.explicit, Tree(pendulum), 1, [0.3], [5.0])
    assert rate[0] == pytest.approx(-2 * 9.81 * 0.5 * np.cos(0.3) / (0.1 + 2 * 0.25), rel=1e-14)
    steep = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0.0]])  # z of the joint is y of the world
    sliding = random_tree(0, kinds=[PRISMATIC], mass=[2.0], stiffness=[30], damping=[4], rest=[0.1],
                          **z, **{**down, "rotation": [steep]})  # fmt: skip
    _, rate = evaluate(entries.explicit, Tree(sliding), 1, [0.3], [5.0])
    assert rate[0] == pytest.approx((-30 * 0.2 - 4 * 5) / 2 - 9.81, rel=1e-14)
    nut = random_tree(0, kinds=[SCREW], mass=[2.0], com=[[0, 0, 0]], inertia=[[1, 0, 0, 1, 0, 0.1]], pitch=[0.2],
                      **z, **{**down, "rotation": [steep]})  # fmt: skip
    _, rate = evaluate(entries.explicit, Tree(nut), 1, [0.3], [5.0])
    assert rate[0] == pytest.approx(-2 * 9.81 * 0.2 / (0.1 + 2 * 0.04), rel=1e-14)
