"""Many colliding bodies: broad and narrow phase against brute force, motion against exact solutions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.model.collisions import Collisions, Shapes, half_spaces
from dalembert.solvers.moreau import collision_stepper
from dalembert.solvers.moreau.collide import BODY_A, BODY_B, GAP, NORMAL, new_collisions
from dalembert.solvers.moreau.detect import look

G = 9.81


def free_bodies(n, shapes, **more):
    return Collisions(
        p_at=7 * np.arange(n), v_at=6 * np.arange(n), mass=np.ones(n), inertia=np.ones(n), shapes=shapes, **more
    )


def contacts_at(data, places, turns=None):
    """Contacts as (first body, second body, gap, normal), with room for all of them."""
    n = len(places)
    point = np.zeros((n, 7))
    point[:, :3], point[:, 3] = places, 1.0
    if turns is not None:
        point[:, 3:] = turns.as_quat()[:, [3, 0, 1, 2]]
    record = new_collisions(data, 4 * n * n + 64)
    assert look(record.record, point.ravel()) == 0
    assert not record.full
    count = int(record.n_contacts)
    rows, wholes = record.contacts[:count], record.wholes[:count]
    return [
        (int(wholes[c, BODY_A]), int(wholes[c, BODY_B]), rows[c, GAP], rows[c, NORMAL : NORMAL + 3])
        for c in range(count)
    ]


# -- search for contacts -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), spread=st.floats(0.3, 20.0), unequal=st.floats(0.0, 2.5))
def test_broad_phase_finds_what_brute_force_finds(seed, n, spread, unequal):
    rng = np.random.default_rng(seed)
    radius = 10.0 ** (-unequal * rng.random(n))
    places = rng.uniform(-spread, spread, (n, 3))
    found = contacts_at(free_bodies(n, [Shapes("sphere", np.arange(n), radius[:, None])]), places)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) - radius[:, None] - radius[None]
    expected = {(i, j) for i in range(n) for j in range(i) if gaps[i, j] <= 0}
    assert len(found) == len(expected)
    assert {(max(a, b), min(a, b)) for a, b, _, _ in found} == expected
    for a, b, gap, normal in found:
        assert gap == pytest.approx(gaps[a, b], abs=1e-12)
        assert normal == pytest.approx((places[b] - places[a]) / np.linalg.norm(places[b] - places[a]), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_capsules_touch_where_segments_are_nearest(seed):
    rng = np.random.default_rng(seed)
    radius, length, places = rng.uniform(0.3, 1.0, 2), rng.uniform(0.2, 3.0, 2), rng.uniform(-0.8, 0.8, (2, 3))
    turns = Rotation.random(2, random_state=int(seed % 2**31))
    data = free_bodies(2, [Shapes("capsule", [0, 1], np.column_stack([radius, length]))])
    axes = turns.apply([0, 0, 1.0]) * length[:, None] / 2

    def distance(s):
        return np.sum((places[0] + s[0] * axes[0] - places[1] - s[1] * axes[1]) ** 2)

    nearest = min(
        minimize(distance, start, bounds=[(-1, 1)] * 2, tol=1e-14).fun for start in ([0, 0], [1, 1], [-1, 1], [1, -1])
    )
    gap = np.sqrt(nearest) - radius.sum()
    found = contacts_at(data, places, turns)
    assert len(found) == (gap <= 0)
    if found:
        assert found[0][2] == pytest.approx(gap, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_spheres_on_boxes(seed):
    rng = np.random.default_rng(seed)
    size, radius, place = rng.uniform(0.5, 2.0, 3), rng.uniform(0.2, 0.6), rng.uniform(-1.5, 1.5, 3)
    turns = Rotation.random(2, random_state=int(seed % 2**31))
    data = free_bodies(2, [Shapes("box", [0], [size]), Shapes("sphere", [1], [[radius]])])
    local = turns[0].inv().apply(place)
    outside = np.maximum(np.abs(local) - size / 2, 0.0)
    distance = np.linalg.norm(outside) if outside.any() else (np.abs(local) - size / 2).max()
    found = contacts_at(data, [np.zeros(3), place], turns)
    assert len(found) == (distance <= radius)
    if found:
        assert found[0][:2] == (1, 0)
        assert found[0][2] == pytest.approx(distance - radius, abs=1e-12)


def test_corners_of_a_box_on_a_plane():
    turn = Rotation.from_rotvec([[0.3, 0.0, 0.0]])
    data = free_bodies(1, [Shapes("box", [0], [[1.0, 1.0, 1.0]]), half_spaces([0, 0, 0], [0, 0, 1])])
    found = contacts_at(data, [[0, 0, 0.6]], turn)
    lowest = 0.6 - 0.5 * (np.cos(0.3) + np.sin(0.3))
    assert [gap for _, _, gap, _ in found] == pytest.approx([lowest] * 2)


def test_boxes_touch_along_faces():
    """A smaller box on a larger one, turned about the vertical: the corners of the smaller one."""
    turns = Rotation.from_rotvec([[0, 0, 0.0], [0, 0, 0.4]])
    data = free_bodies(2, [Shapes("box", [0, 1], [[2.0, 2.0, 1.0], [0.5, 0.5, 0.5]])])
    found = contacts_at(data, [[0, 0, 0], [0.2, 0.1, 0.74]], turns)
    assert [gap for _, _, gap, _ in found] == pytest.approx([-0.01] * 4)
    for a, b, _, normal in found:
        assert normal * (b - a) == pytest.approx([0, 0, 1.0])


def test_crossed_beams_touch():
    """No corner is in the other box: the four points in which edges cross."""
    data = free_bodies(2, [Shapes("box", [0, 1], [[4.0, 1.0, 1.0], [1.0, 4.0, 1.0]])])
    found = contacts_at(data, [[0, 0, 0], [0, 0, 0.99]])
    assert [gap for _, _, gap, _ in found] == pytest.approx([-0.01] * 4)


def test_boxes_of_the_same_size_keep_all_corners():
    data = free_bodies(2, [Shapes("box", [0, 1], [[1.0, 1.0, 1.0]] * 2)])
    assert len(contacts_at(data, [[0, 0, 0], [0, 0, 0.999]])) == 4
    assert len(contacts_at(data, [[0, 0, 0], [0.4, 0.3, 0.999]])) == 4
    assert not contacts_at(data, [[0, 0, 0], [0, 0, 1.001]])


def test_ignored_pairs_do_not_touch():
    shapes = [Shapes("sphere", [0, 1, 2], np.ones((3, 1)))]
    places = np.array([[0, 0, 0], [1.0, 0, 0], [0.5, 1.0, 0]])
    found = contacts_at(free_bodies(3, shapes, ignored=[(1, 0)]), places)
    assert {(a, b) for a, b, _, _ in found} == {(0, 2), (1, 2)}


# -- motion ------------------------------------------------------------------------------------------------------------


def balls(places, velocities=None, *, radius=0.5, friction=0.0, restitution=0.0, gravity=(0, 0, 0), **walls):
    mb = da.Multibody(gravity=gravity)
    moment = 0.4 * radius**2
    for i, place in enumerate(np.asarray(places, float).tolist()):
        mb.body(f"ball{i}", mass=1.0, inertia=moment, shape=da.Sphere(radius), position=tuple(place))
    mb.collide(friction=friction, restitution=restitution, **walls)
    model = mb.equations("absolute")
    v0 = np.zeros((len(places), 6))
    if velocities is not None:
        v0[:, :3] = velocities
    return model, v0.ravel()


FLOOR = dict(planes=[((0, 0, 0), (0, 0, 1))])


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
def test_oblique_impact_of_two_balls(restitution):
    model, v0 = balls([[0, 0, 0], [1.5, 0.6, 0]], [[1, 0, 0], [-1, 0, 0]], restitution=restitution)
    sol = da.simulate(model, (0, 1), v0=v0, method=da.MoreauJean(h=1e-4))
    v = sol.v[-1].reshape(2, 6)[:, :3]
    # at contact centres are one apart, with the offset 0.6 across
    normal = np.array([0.8, 0.6, 0.0])
    before = np.array([[1.0, 0, 0], [-1.0, 0, 0]])
    p = 0.5 * (1 + restitution) * ((before[0] - before[1]) @ normal)
    assert v == pytest.approx(before + np.outer([-p, p], normal), abs=2e-4)


def test_ball_that_slips_begins_to_roll():
    """Sliding friction turns a ball until it rolls, with 5/7 of its speed, whatever the friction."""
    model, v0 = balls([[0, 0, 0.5]], [[1.0, 0.5, 0]], friction=0.2, gravity=(0, 0, -G), **FLOOR)
    sol = da.simulate(model, (0, 0.5), v0=v0, method=da.MoreauJean(h=1e-3))
    v = sol.v[-1]
    assert v[:2] == pytest.approx([5 / 7, 2.5 / 7], rel=2e-3)
    turning = Rotation.from_quat(sol.p[-1][[4, 5, 6, 3]]).apply(v[3:])
    assert turning == pytest.approx([-v[1] / 0.5, v[0] / 0.5, 0.0], abs=1e-6)


@pytest.mark.parametrize(("angle", "slides"), [(19.9, False), (25.0, True)])
def test_box_on_an_incline(angle, slides):
    mu, a = np.tan(np.radians(20.0)), np.radians(angle)
    mb = da.Multibody(gravity=(G * np.sin(a), 0, -G * np.cos(a)))
    shape = da.Box((0.4, 0.4, 0.2))
    mb.body("box", mass=1.0, inertia=shape.mass_properties(1 / 0.032).inertia, shape=shape, position=(0, 0, 0.1))
    mb.collide(friction=mu, **FLOOR)
    sol = da.simulate(mb.equations("absolute"), (0, 1), method=da.MoreauJean(h=1e-3, tolerance=1e-10))
    speed = G * (np.sin(a) - mu * np.cos(a)) if slides else 0.0
    assert sol.v[-1] == pytest.approx([speed, 0, 0, 0, 0, 0], abs=1e-6)


def test_stack_of_boxes_stands():
    mb = da.Multibody()
    shape = da.Box((1.0, 1.0, 0.5))
    inertia = shape.mass_properties(2.0).inertia
    for i in range(4):
        mb.body(f"box{i}", mass=1.0, inertia=inertia, shape=shape, position=(0.05 * i, 0, 0.25 + 0.5 * i))
    mb.collide(friction=0.5, **FLOOR)
    sol = da.simulate(mb.equations("absolute"), (0, 1), method=da.MoreauJean(h=1e-3, tolerance=1e-8, iterations=5000))
    assert np.abs(sol.v[-1]).max() < 1e-4
    assert sol.p[-1].reshape(4, 7)[:, 2] == pytest.approx([0.25, 0.75, 1.25, 1.75], abs=1e-4)


def test_discs_in_the_plane():
    mb = da.Multibody(planar=True)
    for i in range(5):
        mb.body(f"disc{i}", mass=1.0, inertia=0.125, shape=da.Sphere(0.5), position=(0.1 * i, 0.5 + 1.05 * i))
    mb.collide(friction=0.4, restitution=0.3, planes=[((0, 0), (0, 1)), ((-1, 0), (1, 0)), ((1.5, 0), (-1, 0))])
    sol = da.simulate(mb.equations("absolute"), (0, 4), method=da.MoreauJean(h=1e-3, iterations=50_000))
    places = sol.p[-1].reshape(5, 3)[:, :2]
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(5, 1)]
    assert apart.min() > 1 - 1e-3
    assert places[:, 1].min() > 0.5 - 1e-3
    assert np.abs(sol.v[-1]).max() < 0.05


def test_many_spheres_keep_apart_and_lose_energy():
    N = 60
    problem = da.problems.spheres_in_box(N, restitution=0.5)
    times = np.linspace(0, 2, 41)
    h = 5e-3
    sol = problem.simulate(method=da.MoreauJean(h=h, tolerance=1e-6, iterations=3000), t_eval=times, dense_output=False)
    p, v = sol.p.reshape(-1, N, 7), sol.v.reshape(-1, N, 6)
    energy = 0.5 * (v[..., :3] ** 2).sum((1, 2)) + 0.2 * (v[..., 3:] ** 2).sum((1, 2)) + G * p[..., 2].sum(1)
    assert np.diff(energy).max() <= 1e-3 * energy[0]
    fastest = np.linalg.norm(v[..., :3], axis=2).max()
    apart = np.linalg.norm(p[:, :, None, :3] - p[:, None, :, :3], axis=3) + 10 * np.eye(N)
    assert apart.min() >= 2 - h * fastest - 2 * h**2 * G  # half a step of two balls that approach
    assert p[..., 2].min() >= 1 - 0.5 * h * fastest - h**2 * G
    assert np.linalg.norm(p[..., 3:], axis=2) == pytest.approx(np.ones((41, N)), abs=1e-12)


def test_momentum_is_kept():
    rng = np.random.default_rng(5)
    places = 1.3 * np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=-1).reshape(-1, 3)
    model, v0 = balls(places, rng.normal(size=(27, 3)) - 0.5 * (places - places.mean(0)), friction=0.3, restitution=0.4)
    sol = da.simulate(model, (0, 1.5), v0=v0, method=da.MoreauJean(h=2e-3))
    v, p = sol.v.reshape(-1, 27, 6), sol.p.reshape(-1, 27, 7)
    momentum = v[..., :3].sum(1)
    assert np.abs(momentum - momentum[0]).max() < 1e-13
    assert sol.stats.contacts > 30
    energy = 0.5 * (v[..., :3] ** 2).sum((1, 2)) + 0.05 * (v[..., 3:] ** 2).sum((1, 2))
    assert np.diff(energy).max() <= 1e-6 * energy[0]
    spins = Rotation.from_quat(p[..., [4, 5, 6, 3]].reshape(-1, 4)).apply(v[..., 3:].reshape(-1, 3)).reshape(-1, 27, 3)
    angular = (np.cross(p[..., :3], v[..., :3]) + 0.1 * spins).sum(1)
    # arms are those in the middle of a step
    assert np.abs(angular - angular[0]).max() < 2e-2 * np.abs(np.cross(p[0, :, :3], v[0, :, :3])).sum()


def test_order_of_bodies_does_not_matter():
    rng = np.random.default_rng(1)
    places = np.array([[0.9 * (i % 2), 0.8 * (i // 2 % 2), 0.6 + 1.05 * (i // 4)] for i in range(8)])
    places[:, :2] *= 1.3
    order = rng.permutation(8)
    ends = []
    for chosen in (np.arange(8), order):
        model, v0 = balls(places[chosen], friction=0.3, gravity=(0, 0, -G), **FLOOR)
        options = dict(h=1e-3, tolerance=1e-12, iterations=100_000)
        ends.append(da.simulate(model, (0, 0.3), v0=v0, method=da.MoreauJean(**options)).p[-1].reshape(8, 7)[:, :3])
    assert ends[0][order] == pytest.approx(ends[1], abs=1e-7)


def test_bodies_with_joints():
    """A chain of balls falls on the floor: joints hold, balls do not sink in; a free run knows the motion before."""
    mb = da.Multibody()
    bodies = [
        mb.body(f"b{i}", mass=1.0, inertia=0.02, shape=da.Sphere(0.2), position=(0.5 * i, 0, 1 + 0.1 * i))
        for i in range(4)
    ]
    for i in range(3):
        mb.spherical(f"joint{i}", bodies[i].frame(at=(0.25, 0, 0.05)), bodies[i + 1].frame(at=(-0.25, 0, -0.05)))
    free = da.simulate(mb.equations("absolute"), (0, 0.3), method=da.Hem5(), rtol=1e-9, atol=1e-9).at(0.3)
    mb.collide(friction=0.4, **FLOOR)
    model = mb.equations("absolute")
    sol = da.simulate(model, (0, 2), method=da.MoreauJean(h=1e-3))
    assert sol.at(0.3).p == pytest.approx(free.p, abs=1e-4)
    assert sol.max_residual("position") < 1e-8
    heights = sol.p.reshape(-1, 4, 7)[..., 2]
    assert heights.min() > 0.2 - 0.5e-3 * 5
    assert heights[-1].max() < 0.25
    assert sol.stats.closed_contacts >= 3
    energy = sol["energy.total"]
    assert np.diff(energy).max() < 1e-4 * energy[0]


def test_a_joint_that_does_nothing_changes_nothing():
    """The dense way, by a constraint on a body far away, against the one without matrices."""
    ends = []
    for held in (False, True):
        mb = da.Multibody()
        for i in range(4):
            mb.body(f"b{i}", mass=1.0, inertia=0.1, shape=da.Sphere(0.5), position=(0.1 * i, 0.05 * i, 0.6 + 1.1 * i))
        far = mb.body("far", mass=1.0, inertia=0.1, position=(9.0, 0, 0))
        if held:
            mb.spherical("joint", mb.ground.frame(at=(9, 0, 1)), far.frame(at=(0, 0, 1)))
        mb.collide(friction=0.3, restitution=0.2, **FLOOR)
        options = dict(h=1e-3, tolerance=1e-11, iterations=100_000, projection=False)
        sol = da.simulate(mb.equations("absolute"), (0, 0.6), method=da.MoreauJean(**options))
        ends.append([sol[f"b{i}.{name}"][-1] for i in range(4) for name in ("com_x", "com_y", "com_z", "e1", "e2")])
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


def test_room_grows_with_contacts(monkeypatch):
    method = da.MoreauJean(h=5e-3, tolerance=1e-12, iterations=20_000)
    times = dict(t_eval=[0.5, 0.8], dense_output=False)
    usual = da.problems.spheres_in_box(20, t_end=0.8).simulate(method=method, **times)
    monkeypatch.setattr(collision_stepper, "ROOM", 0)
    monkeypatch.setattr(collision_stepper, "MORE_ROOM", 2)
    again = da.problems.spheres_in_box(20, t_end=0.8).simulate(method=method, **times)
    assert usual.stats.closed_contacts > 8
    assert again.p == pytest.approx(usual.p, abs=1e-7)


def test_a_run_can_be_repeated():
    problem = da.problems.spheres_in_box(20)
    runs = [problem.simulate(method=da.MoreauJean(h=5e-3), t_eval=[2.0], dense_output=False) for _ in range(2)]
    assert (runs[0].p == runs[1].p).all()
    twin = pickle.loads(pickle.dumps(problem.model))
    third = da.simulate(twin, (0, 2), **problem.start(), method=da.MoreauJean(h=5e-3), t_eval=[2.0], dense_output=False)
    assert (third.p == runs[0].p).all()


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_bodies_that_penetrate_at_the_start_are_named():
    model, v0 = balls([[0, 0, 1.0], [0.2, 0, 1.0]], **FLOOR)
    with pytest.raises(da.InconsistentInitialValues, match="'ball1' and 'ball0'"):
        da.simulate(model, (0, 1), v0=v0, method=da.MoreauJean(h=1e-3))
    model, v0 = balls([[0, 0, 0.3]], **FLOOR)
    with pytest.raises(da.InconsistentInitialValues, match="the ground"):
        da.simulate(model, (0, 1), v0=v0, method=da.MoreauJean(h=1e-3))


def test_other_methods_refuse():
    model, _ = balls([[0, 0, 1.0]], **FLOOR)
    for method in ("auto", da.Hem5()):
        with pytest.raises(da.OptionError, match=r"MoreauJean\(h="):
            da.simulate(model, (0, 1), method=method)


def test_masses_must_agree():
    data = Collisions(
        p_at=[0], v_at=[0], mass=[2.0], inertia=[1.0], shapes=[Shapes("sphere", [0], [[0.5]])], planar=True
    )
    model = da.EquationsOfMotion(p=["x", "y", "angle"], mass=[3.0, 3.0, 1.0], force=np.zeros(3), collisions=data)
    with pytest.raises(da.ModelError, match="'x_dot' is 3"):
        da.simulate(model, (0, 1), p0=np.zeros(3), method=da.MoreauJean(h=1e-2))
