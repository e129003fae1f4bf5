"""Models whose functions are recursions: quantities against differences, simulations of both forms and of loops."""

import pickle

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from trees import assert_close, by_differences, evaluate, random_state, random_tree

import dalembert as da
from dalembert.errors import ModelError, OptionError
from dalembert.multibody.pattern import rate_pattern, turning_joints
from dalembert.multibody.topology import POINT, REVOLUTE, Topology
from dalembert.multibody.tree_functions import TreeData, tree_functions
from dalembert.recursions import entries, recipes
from dalembert.recursions.report import report
from dalembert.recursions.rows import BODY_REPORT
from dalembert.recursions.tree import Tree


def model_of(topology, formalism="residual", **options):
    p, v = ([f"{kind}{k}" for k in range(n)] for kind, n in (("q", topology.n_q), ("w", topology.n_v)))
    return da.EquationsOfMotion(p=p, v=v, **tree_functions(topology, formalism, **options))


def energy(topology, p, v):
    n = topology.n * BODY_REPORT
    lam = np.zeros(topology.n_loop_equations)
    _, out = evaluate(report, Tree(topology), n + 8 + topology.n_v, p, v, 0 * v, lam)
    return out[n] + out[n + 1]


def calm_start(topology, seed):
    """Euler parameters of length one, small velocities."""
    p, v, _ = random_state(topology, seed)
    for at in turning_joints(topology).first_q:
        p[at : at + 4] /= np.linalg.norm(p[at : at + 4])
    return p, 0.3 * v


def test_derivatives_of_kinematics():
    for seed in range(10):
        topology = random_tree(seed)
        tree, (p, v, _) = Tree(topology), random_state(topology, seed)
        turning, n = turning_joints(topology), len(rate_pattern(topology)[0])

        def entry(what, x, n_out, tree=tree):
            return evaluate(getattr(entries, f"kinematics{what}"), tree, n_out, *x)[1]

        def matrix(what, pattern, shape, entry=entry, p=p, v=v):
            return coo_matrix((entry(what, (p, v), len(pattern[0])), pattern), shape=shape).toarray()

        found = matrix("_by_p", turning.entries_by_p, (n, len(p)))
        assert_close(found, by_differences(lambda p, n=n: entry("", (p,), n), p, h=0.1), 1e-12)
        n_q = len(p)
        found = matrix("_first_by_p", turning.diagonal, (n_q, n_q))
        expected = by_differences(lambda p, v=v: entry("_first", (p, v), len(p)), p, h=0.1)
        assert_close(found, expected, 1e-12)
        found = matrix("_first_by_v", turning.by_v, (n_q, len(v)))
        expected = by_differences(lambda v, p=p: entry("_first", (p, v), len(p)), v, h=0.1)
        assert_close(found, expected, 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_both_forms_give_one_motion(seed):
    topology = random_tree(seed, 4, shuffle=seed == 3)
    p, v = calm_start(topology, seed)
    tight = dict(rtol=1e-9, atol=1e-9)
    ends = [
        da.simulate(model_of(topology, formalism), (0, 0.5), p0=p, v0=v, method=method, **tight).p[-1]
        for formalism, method in [("explicit", da.Rkf45()), ("residual", da.Hem5()), ("residual", da.Radau5())]
    ]
    for end in ends[1:]:
        assert_close(end, ends[0], 1e-6)


def test_the_motion_is_that_of_the_kernels():
    """One evaluation through the model: its accelerations at the start."""
    topology = random_tree(5, 6)
    p, v = calm_start(topology, 1)
    _, rate = evaluate(entries.explicit, Tree(topology), topology.n_v, p, v)
    for formalism in ("explicit", "residual"):
        start = da.consistent_initial_values(model_of(topology, formalism), p0=p, v0=v)
        assert_close(start.a, rate, 1e-10)


def test_energy_is_kept():
    topology = random_tree(2, 5, loose=False)
    p, v = calm_start(topology, 2)
    for formalism in ("explicit", "residual"):
        sol = da.simulate(model_of(topology, formalism), (0, 1), p0=p, v0=v, rtol=1e-9, atol=1e-9)
        before, after = energy(topology, p, v), energy(topology, sol.p[-1], sol.v[-1])
        assert after == pytest.approx(before, abs=1e-6 * max(abs(before), 1))


@pytest.mark.parametrize("formalism", ["explicit", "residual"])
@pytest.mark.parametrize("method", [da.Rkf45(), da.Radau5()], ids=["rkf45", "radau5"])
def test_forces_of_users(formalism, method):
    """A torque that holds a pendulum against its weight, and a wrench that does the same."""
    pendulum = Topology(
        parent=[-1, 0], kind=[REVOLUTE] * 2, rotation=[np.eye(3)] * 2, offset=[[0, 0, 0], [1, 0, 0]], mass=[1.0, 1.0],
        com=[[0.5, 0, 0]] * 2, gravity=[0, -9.81, 0],
    )  # fmt: skip

    def hold(s):
        a, b = s.p[0], s.p[0] + s.p[1]
        second = 0.5 * 9.81 * np.cos(b)
        first = 0.5 * 9.81 * np.cos(a) + 9.81 * np.cos(a) + second
        # the first by a torque; the second by its weight, turned into its own axes, at its origin
        return [first - second - 9.81 * np.cos(a), 9.81 * np.sin(b), 9.81 * np.cos(b), 0, 0, 0, second]

    model = model_of(pendulum, formalism, applied=hold, applied_velocities=[0], applied_bodies=[1])
    sol = da.simulate(model, (0, 1), p0=[0.3, 0.4], v0=[0.1, -0.1], method=method, rtol=1e-8, atol=1e-8)
    free = Topology(**{**{n: getattr(pendulum, n) for n in ("parent", "kind", "rotation", "offset", "mass", "com")}})
    expected = da.simulate(model_of(free), (0, 1), p0=[0.3, 0.4], v0=[0.1, -0.1], rtol=1e-10, atol=1e-10)
    assert_close(sol.p[-1], expected.p[-1], 1e-5)


def four_bar():
    return random_tree(
        0, 3, kinds=[REVOLUTE], shape="chain", loose=False, rotation=[np.eye(3)] * 3, gravity=[0, -9.81, 0],
        offset=[[0, 0, 0], [1, 0, 0], [2, 0, 0]], loop_kind=[3], loop_bodies=[[-1, 2]],
        loop_offset=[[[2.1, 0, 0], [1.2, 0, 0]]],
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")
@pytest.mark.parametrize("method", [da.Hem5(), da.Geoms(), da.Radau5(), da.Mexx()], ids=lambda m: type(m).__name__)
def test_a_closed_loop(method):
    topology = four_bar()
    model = model_of(topology)
    sol = da.simulate(model, (0, 1), p0=[1.0, -0.5, -2.5], v0=[1.0, 0, 0], method=method, rtol=1e-7, atol=1e-7)
    loops = recipes.tree_of(model.graph.functions["force"].native.data)
    from dalembert.recursions.closures import closure

    _, g = evaluate(closure, loops, 2, sol.p[-1])
    assert np.abs(g).max() < 1e-5
    assert energy(topology, sol.p[-1], sol.v[-1]) == pytest.approx(energy(topology, sol.p[0], sol.v[0]), rel=1e-4)


@pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")
def test_a_loop_with_spherical_joints():
    """A ring that hangs on the ground with both ends, in space."""
    topology = random_tree(
        1, 3, kinds=[3], shape="chain", loose=False, rotation=[np.eye(3)] * 3, gravity=[0, 0, -9.81],
        offset=[[0, 0, 0], [1, 0, 0], [1, 0, 0]], loop_kind=[POINT], loop_bodies=[[-1, 2]],
        loop_offset=[[[2.0, 0, 0], [1.0, 0, 0]]],
    )  # fmt: skip
    about_y = [[np.cos(a / 2), 0, np.sin(a / 2), 0] for a in (np.pi / 3, -np.pi / 3, -np.pi / 3)]
    p, v = np.concatenate(about_y), 0.1 * np.ones(9)
    ends = []
    for method in (da.Hem5(), da.Geoms()):
        sol = da.simulate(model_of(topology), (0, 0.5), p0=p, v0=v, method=method, rtol=1e-8, atol=1e-8)
        ends.append(sol.p[-1])
        assert energy(topology, sol.p[-1], sol.v[-1]) == pytest.approx(energy(topology, sol.p[0], sol.v[0]), abs=1e-4)
    assert_close(ends[1], ends[0], 1e-4)


def test_models_travel():
    topology = random_tree(7, 4)
    p, v = calm_start(topology, 7)
    model = model_of(topology)
    again = pickle.loads(pickle.dumps(model))
    ends = [da.simulate(m, (0, 0.2), p0=p, v0=v).p[-1] for m in (model, again)]
    np.testing.assert_array_equal(*ends)


def test_one_record_for_all_functions():
    made = tree_functions(random_tree(7, 4))
    data = made["force"].data
    assert made["mass"].data is data
    assert recipes.tree_of(data) is recipes.tree_of(data)
    other = pickle.loads(pickle.dumps(data))
    assert isinstance(other, TreeData)
    assert (other.topology.parent == data.topology.parent).all()


def test_no_body_of_its_own_for_plain_coordinates():
    assert tree_functions(random_tree(0, 3, kinds=[0, 1, 2]))["kinematics"] is None
    assert tree_functions(random_tree(0, 3, kinds=[3]))["kinematics"] is not None
    assert tree_functions(random_tree(0, 3))["holonomic"] is None


def test_unknown_formalism():
    with pytest.raises(OptionError, match="'residual' or 'explicit'"):
        tree_functions(random_tree(0, 2), "lagrange")


def test_a_joint_that_carries_nothing_is_named():
    chain = random_tree(0, 4, kinds=[REVOLUTE], shape="chain", mass=[1, 1, 0, 0], inertia=np.zeros((4, 6)))
    with pytest.raises(ModelError, match="joint 2 carries nothing"):
        tree_functions(chain, "explicit")
    held = random_tree(0, 4, kinds=[REVOLUTE], shape="chain", mass=[0, 0, 0, 1], inertia=np.zeros((4, 6)))
    assert tree_functions(held, "explicit")["kinematics"] is None
