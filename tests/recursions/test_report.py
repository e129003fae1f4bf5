"""Energies, momentum, poses, accelerations and joint forces of random trees: laws of mechanics that they obey."""

import numpy as np
import pytest
from trees import assert_close, evaluate, random_state, random_tree

from dalembert.errors import ModelError
from dalembert.multibody.topology import FREE, VELOCITIES, Topology
from dalembert.recursions import entries
from dalembert.recursions.report import report
from dalembert.recursions.results import results
from dalembert.recursions.rows import BODY_REPORT, TOTALS
from dalembert.recursions.tree import Tree


def reported(tree, *x):
    """Parts of the report by name; those of bodies have a row for each body."""
    t = tree.topology
    status, out = evaluate(report, tree, t.n * BODY_REPORT + TOTALS + t.n_v, *x)
    assert status == 0
    bodies = out[: t.n * BODY_REPORT].reshape(t.n, BODY_REPORT)
    totals = out[t.n * BODY_REPORT :]
    names = ("position", "rotation", "velocity", "spin", "acceleration", "spin_rate", "force", "moment")
    found = dict(zip(names, np.split(bodies, np.cumsum([3, 9, 3, 3, 3, 3, 3]), axis=1), strict=True))
    found["rotation"] = found["rotation"].reshape(-1, 3, 3)
    found |= dict(kinetic=totals[0], potential=totals[1], linear=totals[2:5], angular=totals[5:8])
    return found | dict(missing=totals[8:])


@pytest.fixture(params=range(20), scope="module")
def case(request):
    topology = random_tree(request.param, shuffle=request.param % 2 == 1)
    bodies = np.arange(topology.n)[:: 1 + request.param % 2]
    tree = Tree(topology, applied_bodies=bodies)
    p, v, a = random_state(topology, 5)
    wrenches = np.zeros((topology.n, 6))
    wrenches[bodies] = np.random.default_rng(request.param).normal(size=(len(bodies), 6))
    return tree, p, v, a, wrenches, wrenches[bodies]


def along(tree, p, v, a, h):
    """The state a time h later on a parabola, short enough that e does not leave it."""
    n_q = tree.topology.n_q
    _, rate = evaluate(entries.kinematics_rate, tree, n_q, p, v)
    _, turning = evaluate(entries.kinematics_first, tree, n_q, p, v)
    _, push = evaluate(entries.kinematics_rate, tree, n_q, p, a)
    return p + h * rate + h * h / 2 * (turning + push), v + h * a


def derivative(function, h=1e-4):
    """At zero, by central differences of order 4."""
    return (8 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12 * h)


def test_velocities_and_accelerations_are_derivatives(case):
    tree, p, v, a, _, loads = case
    now = reported(tree, p, v, a, loads)

    def later(name):
        return lambda h: reported(tree, *along(tree, p, v, a, h), a, loads)[name]

    assert_close(now["velocity"], derivative(later("position")), 1e-7)
    assert_close(now["acceleration"], derivative(later("velocity")), 1e-7)
    assert_close(now["spin_rate"], derivative(later("spin")), 1e-7)
    turning = derivative(later("rotation")) @ np.swapaxes(now["rotation"], 1, 2)
    assert_close(now["spin"], np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1), 1e-7)


def test_energy_changes_by_the_power_of_forces(case):
    tree, p, v, _, wrenches, loads = case
    _, rate = evaluate(entries.explicit, tree, tree.topology.n_v, p, v, loads)
    now = reported(tree, p, v, rate, loads)

    def energy(h):
        found = reported(tree, *along(tree, p, v, rate, h), rate, loads)
        return found["kinetic"] + found["potential"]

    force = np.einsum("nij,nj->ni", now["rotation"], wrenches[:, :3])
    moment = np.einsum("nij,nj->ni", now["rotation"], wrenches[:, 3:])
    power = (force * now["velocity"]).sum() + (moment * now["spin"]).sum() - tree.topology.damping @ (v * v)
    assert derivative(energy) == pytest.approx(power, abs=1e-6 * max(1, abs(now["kinetic"]), abs(now["potential"])))
    assert_close(now["missing"], 0 * v, 1e-11 * (1 + np.abs(rate).max()))


def test_kinetic_energy_is_that_of_the_mass_matrix(case):
    tree, p, v, a, _, loads = case
    matrices = Tree(tree.topology, matrices=True)
    pattern = matrices.pattern
    _, out = evaluate(entries.mass, matrices, len(pattern.rows_v), p)
    expected = 0.5 * (out * v[pattern.rows_v] * v[pattern.columns_v]).sum()
    assert reported(tree, p, v, a, loads)["kinetic"] == pytest.approx(expected, rel=1e-12)


def test_forces_on_every_body_balance(case):
    """Newton's and Euler's laws for each body alone: joint below it, joints above it, weight, loads."""
    tree, p, v, a, wrenches, loads = case
    t, now = tree.topology, reported(tree, p, v, a, loads)
    i, j = np.triu_indices(3)
    for k in range(t.n):
        R, x, w, dw = (now[name][k] for name in ("rotation", "position", "spin", "spin_rate"))
        c, inertia = R @ t.com[k], np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = t.inertia[k]
        J = R @ inertia @ R.T
        acceleration = now["acceleration"][k] + np.cross(dw, c) + np.cross(w, np.cross(w, c))
        force = now["force"][k] + t.mass[k] * t.gravity + R @ wrenches[k, :3]
        moment = now["moment"][k] + R @ wrenches[k, 3:] - np.cross(c, now["force"][k] + R @ wrenches[k, :3])
        for child in np.flatnonzero(t.parent == k):
            force = force - now["force"][child]
            arm = now["position"][child] - x - c
            moment = moment - now["moment"][child] - np.cross(arm, now["force"][child])
        scale = 1 + np.abs(now["force"]).max() + np.abs(now["moment"]).max()
        assert np.abs(force - t.mass[k] * acceleration).max() < 1e-12 * scale
        assert np.abs(moment - J @ dw - np.cross(w, J @ w)).max() < 1e-11 * scale


def test_free_systems_keep_their_momentum():
    """Nothing but gravity acts on trees on free joints: momentum grows by the weight and its moment."""
    for seed in range(5):
        made = random_tree(seed, 6, shape="chain", loose=False)
        kind = made.kind.copy()
        kind[0] = FREE
        fields = ("parent", "rotation", "offset", "mass", "com", "inertia", "pitch", "gravity")
        topology = Topology(kind=kind, **{name: getattr(made, name) for name in fields})
        tree, (p, v, _) = Tree(topology), random_state(topology, seed)
        _, rate = evaluate(entries.explicit, tree, int(VELOCITIES[kind].sum()), p, v)
        now = reported(tree, p, v, rate)

        def later(name, topology=topology, tree=tree, p=p, v=v, rate=rate):
            return lambda h: reported(tree, *along(tree, p, v, rate, h), rate)[name]

        centers = now["position"] + np.einsum("nij,nj->ni", now["rotation"], topology.com)
        weight = topology.mass[:, None] * topology.gravity
        assert_close(derivative(later("linear")), weight.sum(0), 1e-7)
        assert_close(derivative(later("angular")), np.cross(centers, weight).sum(0), 1e-7)
        assert_close(now["force"][0], 0 * weight[0], 1e-10)


def test_results_at_many_times(case):
    tree, p, v, a, _, loads = case
    flat = loads.ravel()
    found = results(tree, np.stack([p, p]), np.stack([v, 2 * v]), np.stack([a, a]), np.stack([flat, 0 * flat]))
    for k, one in enumerate([reported(tree, p, v, a, loads), reported(tree, p, 2 * v, a, 0 * loads)]):
        for name, other in dict(angular_velocity="spin", momentum="linear", angular_acceleration="spin_rate").items():
            np.testing.assert_array_equal(getattr(found, name)[k], one[other])
        for name in ("position", "rotation", "velocity", "acceleration", "force", "moment", "kinetic", "missing"):
            np.testing.assert_array_equal(getattr(found, name)[k], one[name])


def test_results_ask_for_rows_of_the_right_length(case):
    tree, p, v, a, *_ = case
    with pytest.raises(ModelError, match="'v' has shape"):
        results(tree, p, v[:-1], a)
