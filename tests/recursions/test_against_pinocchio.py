"""Recursions against Pinocchio: random trees, and every robot of example-robot-data."""

import numpy as np
import pytest
from pinocchio_models import Twin, robots
from scipy.sparse import csc_matrix
from trees import evaluate

from dalembert.recursions import derivatives, entries
from dalembert.recursions.entries import RETRY
from dalembert.recursions.tree import Tree

pin = pytest.importorskip("pinocchio")

ROBOTS = {f"{path.parts[-3]}/{path.name}": path for path in robots(pin)}
TOLERANCE = 1e-10


def assert_close(found, expected):
    assert np.abs(found - expected).max(initial=0) <= TOLERANCE * max(np.abs(expected).max(initial=0), 1.0)


def compare(twin, seed=0):
    """All forms and the mass matrix at one state."""
    model, data = twin.model, twin.data
    tree = Tree(twin.topology, matrices=True, applied_velocities=range(twin.topology.n_v))
    n_v = twin.topology.n_v
    p, v, a = twin.random_state(seed)
    q, qv, qa = twin.theirs(p, v, a)
    zero = np.zeros(n_v)
    expected = twin.forces(p, pin.rnea(model, data, q, qv, qa))
    status, tau = evaluate(entries.residual, tree, n_v, p, v, a, zero)
    assert status == 0
    assert_close(tau, expected)
    T = twin.to_their_velocities(p)
    pin.crba(model, data, q)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    _, out = evaluate(entries.mass, tree, len(tree.pattern.rows_v), p)
    found = csc_matrix((out, tree.pattern.rows_v, tree.pattern.starts_v), shape=(n_v, n_v)).toarray()
    assert_close(found, T.T @ M @ T)
    # A motion of their making, under the forces it takes: accelerations are as good as the mass matrix allows.
    status, rate = evaluate(entries.explicit, tree, n_v, p, v, tau)
    theirs = pin.aba(model, data, q, qv, pin.rnea(model, data, q, qv, qa))
    condition = np.linalg.cond(M)
    if condition > 1e15:  # a hand whose fingertips have no mass: they compute without a word, we name the joint
        assert status == RETRY
        assert not np.isfinite(theirs).all()
        assert twin.topology.mass[tree.failed] == 0
    else:
        assert status == 0
        found, scale = twin.theirs(p, v, rate)[2], max(TOLERANCE, 1e-16 * condition) * np.abs(qa).max()
        assert np.abs(found - qa).max() <= scale
        assert np.abs(found - theirs).max() <= scale
    return tree, (p, v, a), (q, qv, qa)


def random_model(seed, n, *, chain=False):
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    kinds = [
        pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ, pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ,
        pin.JointModelSpherical, pin.JointModelFreeFlyer, pin.JointModelRUBZ,
    ]  # fmt: skip
    model = pin.Model()
    way = [0]  # from the ground to the last joint: their mass matrix needs subtrees whose numbers follow each other
    for k in range(n):
        if not chain:
            del way[int(rng.integers(1, len(way) + 1)) :]
        joint = model.addJoint(way[-1], kinds[rng.integers(len(kinds))](), pin.SE3.Random(), f"joint {k}")
        way.append(joint)
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    return model


@pytest.mark.parametrize("seed", range(40))
def test_random_trees(seed):
    compare(Twin(pin, random_model(seed, 1 + seed % 15)), seed)


def test_long_chain():
    compare(Twin(pin, random_model(3, 60, chain=True)))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_robots(name, floating):
    arguments = [str(ROBOTS[name])] + ([pin.JointModelFreeFlyer()] if floating else [])
    try:
        model = pin.buildModelFromUrdf(*arguments)
    except ValueError as error:
        pytest.skip(f"Pinocchio does not read it: {error}")
    if model.njoints == 1:
        pytest.skip("nothing moves")
    compare(Twin(pin, model))


def test_derivatives_of_random_chains():
    """Of joints with one degree of freedom, where their derivatives are by the same coordinates."""
    for seed in range(5):
        pin.seed(seed)
        model = pin.Model()
        for k in range(8):
            kind = [pin.JointModelRX, pin.JointModelPY, pin.JointModelRZ][(k + seed) % 3]
            joint = model.addJoint(k if k != 4 + seed % 2 else 2, kind(), pin.SE3.Random(), f"joint {k}")
            model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
        twin = Twin(pin, model)
        tree, ours, theirs = compare(twin, seed)
        pattern, n = tree.pattern, model.nv
        n_e = len(pattern.rows_v)
        data = model.createData()
        pin.computeRNEADerivatives(model, data, *theirs)
        _, out = evaluate(derivatives.residual_derivatives, tree, 3 * n_e, *ours, np.zeros(n))
        for part, expected in zip(np.split(out, 3), (data.dtau_dq, data.dtau_dv), strict=False):
            assert_close(csc_matrix((part, pattern.rows_v, pattern.starts_v), shape=(n, n)).toarray(), expected)
