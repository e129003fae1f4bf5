"""Trees that are no good: without inertia, without length, one body, very many bodies, far away, in many threads."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from trees import assert_close, evaluate, random_state, random_tree

from dalembert.errors import ModelError
from dalembert.multibody.pattern import branch_pattern
from dalembert.multibody.topology import FREE, PRISMATIC, REVOLUTE, SPHERICAL, Topology
from dalembert.multibody.tree_functions import tree_functions
from dalembert.recursions import entries
from dalembert.recursions.entries import RETRY
from dalembert.recursions.tree import Tree


def made_of(mass, kind, **changes):
    n = len(mass)
    given = dict(
        parent=np.arange(n) - 1, kind=kind, rotation=[np.eye(3)] * n, offset=[[0, 0, 0]] + [[1, 0, 0]] * (n - 1),
        mass=mass, com=[[0.5, 0.1, 0]] * n, inertia=[[0, 0, 0, 0, 0, 0]] * n, gravity=[0, -9.81, 0],
    )  # fmt: skip
    return Topology(**{**given, **changes})


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC, SPHERICAL, FREE])
def test_a_massless_leaf_is_named(kind):
    topology = made_of([1.0, 1.0, 0.0], [REVOLUTE, REVOLUTE, kind])
    tree = Tree(topology)
    p = np.ones(topology.n_q)
    status, _ = evaluate(entries.explicit, tree, 0, p, np.zeros(topology.n_v))
    assert status == RETRY
    assert tree.failed == 2


def test_two_coaxial_joints_with_nothing_between():
    """Each of them alone has inertia, but their sum is all that counts: what is left is rounding."""
    topology = made_of([1.0, 0.0, 1.3], [REVOLUTE] * 3, offset=[[0.1, 0.7, 0], [0.3, 0.2, 0], [0, 0, 0.4]],
                       inertia=[[0.1, 0, 0, 0.1, 0, 0.1], [0] * 6, [0.1, 0, 0, 0.2, 0, 0.3]])  # fmt: skip
    tree = Tree(topology)
    for seed in range(20):
        p, v, _ = random_state(topology, seed)
        status, _ = evaluate(entries.explicit, tree, 3, p, v)
        assert status == RETRY
        assert tree.failed == 1


def test_four_hinges_at_one_point():
    """Three of them turn the last body everywhere: about the first nothing is left."""
    rng = np.random.default_rng(4)
    for seed in range(20):
        topology = random_tree(seed, 4, kinds=[REVOLUTE], shape="chain", loose=False, offset=np.zeros((4, 3)),
                               mass=[0, 0, 0, 1.0], inertia=[[0] * 6] * 3 + [[1, 0.1, 0, 1.2, 0.2, 1.5]])  # fmt: skip
        tree = Tree(topology)
        status, _ = evaluate(entries.explicit, tree, 4, rng.normal(size=4), np.zeros(4))
        assert status == RETRY
        assert tree.failed == 0


def test_thin_straight_chains_have_inertia():
    """Their inertia across the joints is 10¹⁵ times that about them; the joints' is as good as without it."""
    n = 100_000
    chain = Topology(
        parent=np.arange(n) - 1, kind=np.zeros(n), rotation=np.tile(np.eye(3), (n, 1, 1)), mass=np.ones(n),
        offset=np.tile([1e-3, 0, 0], (n, 1)), com=np.tile([5e-4, 0, 0], (n, 1)), gravity=[0, -9.81, 0],
    )  # fmt: skip
    tree = Tree(chain)
    status, rate = evaluate(entries.explicit, tree, n, np.zeros(n), np.zeros(n))
    assert status == 0
    _, missing = evaluate(entries.residual, tree, n, np.zeros(n), np.zeros(n), rate)
    _, weight = evaluate(entries.force, tree, n, np.zeros(n), np.zeros(n))
    assert np.abs(missing).max() < 1e-11 * np.abs(weight).max()


def test_a_spherical_joint_of_a_point_mass_at_its_origin():
    topology = made_of([1.0], [SPHERICAL], com=[[0, 0, 0]])
    assert evaluate(entries.explicit, Tree(topology), 0, np.ones(4), np.zeros(3))[0] == RETRY


def test_massless_bodies_between_others():
    """A universal joint is two hinges with nothing between them, a planar one two slides and a hinge."""
    x = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]])  # z of the joint is x of the parent
    full = [0.2, 0.01, 0, 0.3, 0, 0.4]
    topology = made_of(
        [0, 1.0, 0, 0, 2.0], [REVOLUTE, REVOLUTE, PRISMATIC, PRISMATIC, REVOLUTE], rotation=[x, x, x, x, np.eye(3)],
        inertia=[[0] * 6, full, [0] * 6, [0] * 6, full],
    )  # fmt: skip
    tree = Tree(topology)
    for seed in range(5):
        p, v, _ = random_state(topology, seed)
        status, rate = evaluate(entries.explicit, tree, 5, p, v)
        assert status == 0
        assert_close(evaluate(entries.residual, tree, 5, p, v, rate)[1], 0 * v, 1e-12 * (1 + np.abs(rate).max()))


def test_nothing_has_a_length():
    topology = random_tree(0, 5, offset=np.zeros((5, 3)), com=np.zeros((5, 3)))
    p, v, _ = random_state(topology, 0)
    tree = Tree(topology)
    status, rate = evaluate(entries.explicit, tree, len(v), p, v)
    assert status == 0
    assert_close(evaluate(entries.residual, tree, len(v), p, v, rate)[1], 0 * v, 1e-11)


def test_not_a_number_is_no_motion():
    topology = random_tree(1, 4, kinds=[REVOLUTE])
    status, rate = evaluate(entries.explicit, Tree(topology), 4, [0.1, np.nan, 0.2, 0.3], np.zeros(4))
    assert status == RETRY or np.isnan(rate).any()


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_hundred_thousand_bodies(shape):
    n = 100_000
    topology = random_tree(2, n, kinds=[REVOLUTE], shape=shape, offset=np.tile([0.01, 0, 0], (n, 1)))
    tree = Tree(topology)
    p, v, _ = random_state(topology, 2)
    v = 1e-3 * v
    status, rate = evaluate(entries.explicit, tree, n, p, v)
    assert status == 0
    assert np.isfinite(rate).all()
    _, missing = evaluate(entries.residual, tree, n, p, v, rate)
    _, rest = evaluate(entries.force, tree, n, p, v)
    # moments of forces as large as those of the whole chain cancel
    assert np.abs(missing).max() < 1e-10 * max(np.abs(rest).max(), 1)


def test_the_mass_matrix_of_a_long_chain_is_refused():
    topology = random_tree(2, 100_000, kinds=[REVOLUTE], shape="chain")
    with pytest.raises(ModelError, match="explicit formalism"):
        branch_pattern(topology)


def test_wrenches_on_every_body_of_a_long_chain():
    """A derivative by them would be the whole way to the ground for each: nobody asks for it here."""
    n = 20_000
    topology = random_tree(2, n, kinds=[REVOLUTE], shape="chain", offset=np.tile([0.01, 0, 0], (n, 1)))
    made = tree_functions(topology, "explicit", applied=lambda s: np.zeros(6 * n), applied_bodies=range(n))
    assert set(made["force"].gives) == {"value"}
    p, v, _ = random_state(topology, 0)
    tree = Tree(topology, applied_bodies=range(n))
    loads = np.random.default_rng(0).normal(size=6 * n)
    status, rate = evaluate(entries.explicit, tree, n, p, 1e-3 * v, loads)
    assert status == 0
    _, missing = evaluate(entries.residual, tree, n, p, 1e-3 * v, rate, loads)
    _, rest = evaluate(entries.force, tree, n, p, 1e-3 * v, loads)
    assert np.abs(missing).max() < 1e-10 * np.abs(rest).max()


def test_a_satellite_far_away():
    """Matrices do not lose digits with the distance from the world's origin."""
    for seed in range(3):
        made = random_tree(seed, 6, shape="chain")
        kind = made.kind.copy()
        kind[0] = FREE
        fields = ("parent", "rotation", "offset", "mass", "com", "inertia", "pitch", "gravity")
        topology = Topology(kind=kind, **{name: getattr(made, name) for name in fields})
        tree, p = Tree(topology, matrices=True), random_state(topology, seed)[0]
        n_e = len(tree.pattern.rows_v)
        _, near = evaluate(entries.mass, tree, n_e, p)
        p[:3] += 7e6
        _, far = evaluate(entries.mass, tree, n_e, p)
        assert_close(far, near, 1e-15)


def test_tiny_numbers_are_the_callers_own():
    """Kernels of long chains count them as zero, but give arithmetic back as they found it."""
    tree = Tree(random_tree(0, 1000, kinds=[REVOLUTE], shape="chain"))
    tiny = np.full(4, 1e-310)
    for entry in (entries.explicit, entries.residual, entries.force):
        evaluate(entry, tree, 1000, np.full(1000, 1e-310), np.zeros(2000))
        assert (tiny * 0.5 > 0).all()


def test_many_threads_share_a_tree():
    """More threads than there are places to work in, each with a state of its own: the bits of a serial run."""
    topology = random_tree(3, 60, shape="tree")
    tree = Tree(topology)
    states = [random_state(topology, seed)[:2] for seed in range(24)]

    def rates(state):
        return [evaluate(entries.explicit, tree, topology.n_v, *state)[1] for _ in range(200)]

    alone = [evaluate(entries.explicit, tree, topology.n_v, *state)[1] for state in states]
    with ThreadPoolExecutor(12) as pool:
        for expected, found in zip(alone, pool.map(rates, states), strict=True):
            assert all((again == expected).all() for again in found)


@pytest.mark.parametrize(
    "places", [dict(applied_velocities=[5]), dict(applied_bodies=[-1]), dict(applied_bodies=[0, 0])]
)
def test_loads_must_act_somewhere(places):
    with pytest.raises(ModelError, match="must be different numbers from 0"):
        Tree(random_tree(0, 5, kinds=[REVOLUTE]), **places)


def test_no_bodies():
    nothing = Topology(parent=[], kind=[], rotation=np.zeros((0, 3, 3)), offset=np.zeros((0, 3)), mass=[])
    tree = Tree(nothing, matrices=True, inverse=True)
    for entry in (entries.explicit, entries.residual, entries.mass, entries.kinematics_rate):
        assert evaluate(entry, tree, 0, np.zeros(0))[0] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_slots_of_threads_that_are_gone():
    """A process that is forked while all slots are taken has them for itself."""
    tree = Tree(random_tree(0, 3, kinds=[REVOLUTE]))
    tree._slots[:] = 1
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # waiting for a slot would never end
        status = 1
        try:
            status = evaluate(entries.explicit, tree, 3, np.zeros(3), np.zeros(3))[0]
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
