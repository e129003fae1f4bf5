"""Motions of bodies that touch, against what is known exactly."""

import numpy as np
import pytest

import dalembert as da

G = 9.81
TIGHT = dict(rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("grip", [0.9, 1.1])
def test_a_disc_on_a_ramp_rolls_or_slips_by_tan_of_the_angle_over_three(grip):
    r, angle = 0.1, np.radians(30)
    along, out = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    mu = grip * np.tan(angle) / 3
    mb = da.Multibody(planar=True)
    disc = mb.body("disc", mass=2.0, inertia=0.5 * 2 * r * r, shape=da.Sphere(r), position=r * out)
    mb.contact("ramp", disc, (mb.ground, da.Plane(out)), friction=mu)
    sol = da.simulate(mb.equations(), (0, 1), **TIGHT)
    rolls = grip > 1
    acceleration = 2 / 3 * G * np.sin(angle) if rolls else G * (np.sin(angle) - mu * np.cos(angle))
    assert sol["disc.velocity"][-1] == pytest.approx(-acceleration * along, abs=1e-8)
    slip = 0.0 if rolls else -(acceleration - 2 * mu * G * np.cos(angle))
    assert sol["ramp.sliding"][-1] == pytest.approx([slip], abs=1e-8)
    friction = 2 * G * np.sin(angle) / 3 if rolls else 2 * mu * G * np.cos(angle)
    assert sol["ramp.friction"][-1] == pytest.approx([friction], abs=1e-8)
    assert sol["ramp.force"][-1] == pytest.approx(friction * along + 2 * G * np.cos(angle) * out, abs=1e-7)
    assert sol["ramp.point"][-1] @ out == pytest.approx(0, abs=1e-9)


def test_a_box_slides_to_rest():
    mu, v0, width, height, m = 0.3, 2.0, 1.0, 0.5, 1.5
    mb = da.Multibody(planar=True)
    box = mb.body("box", mass=m, inertia=0.1, shape=da.Box((width, height, 1)), position=(0, height / 2))
    mb.contact("floor", box, (mb.ground, da.Plane()), friction=mu)
    sol = da.simulate(mb.equations(), (0, 2), v0=[v0, 0, 0], **TIGHT)
    assert sol["box.position"][-1] == pytest.approx([v0**2 / (2 * mu * G), height / 2], abs=1e-9)
    back, front = (sol[f"floor.{k}.normal"][0] for k in (1, 2))
    assert front - back == pytest.approx(mu * m * G * height / width, abs=1e-8)  # friction has an arm
    assert front + back == pytest.approx(m * G, abs=1e-8)
    assert sum(sol[f"floor.{k}.friction"][0, 0] for k in (1, 2)) == pytest.approx(-mu * m * G, abs=1e-8)
    assert sum(sol[f"floor.{k}.normal"][-1] for k in (1, 2)) == pytest.approx(m * G, abs=1e-8)
    assert sol["floor.3.normal"].max() == 0


def test_a_sliding_ball_begins_to_roll_at_five_sevenths_of_its_speed():
    r, mu, v0 = 0.1, 0.2, np.array([3.0, 4.0, 0.0])
    mb = da.Multibody()
    ball = mb.body("ball", mass=2.0, inertia=0.4 * 2 * r * r, shape=da.Sphere(r), position=(0, 0, r))
    mb.contact("floor", ball, (mb.ground, da.Plane()), friction=mu)
    t1 = 2 * 5 / (7 * mu * G)
    sol = da.simulate(mb.equations(), (0, 2 * t1), v0=[*v0, 0, 0, 0], **TIGHT)
    assert sol["ball.velocity"][-1] == pytest.approx(5 / 7 * v0, abs=1e-7)
    assert sol["ball.position"][-1] == pytest.approx(v0 * t1 * (6 / 7 + 5 / 7) + (0, 0, r), abs=1e-6)
    half = sol.at(t1 / 2)
    assert half["ball.velocity"] == pytest.approx(6 / 7 * v0, abs=1e-7)
    assert half["floor.friction"] == pytest.approx(-mu * 2 * G * v0[:2] / 5, abs=1e-7)
    assert np.linalg.norm(sol.at(1.01 * t1)["floor.sliding"]) < 1e-7
    assert np.linalg.norm(sol.at(0.99 * t1)["floor.sliding"]) == pytest.approx(0.01 * 5, abs=1e-6)


def test_a_capsule_lies_down():
    mb = da.Multibody(planar=True)
    shape = da.Capsule(0.1, 1.0, rotation=(0, np.pi / 2, 0))
    capsule = mb.body("capsule", mass=1.0, inertia=0.1, shape=shape, position=(0, 0.7), orientation=1.0)
    mb.contact("floor", capsule, (mb.ground, da.Plane()), friction=0.3)
    sol = da.simulate(mb.equations(), (0, 3), rtol=1e-8, atol=1e-8)
    assert sol["capsule.position"][-1][1] == pytest.approx(0.1, abs=1e-8)
    assert sol["capsule.angle"][-1] == pytest.approx(0, abs=1e-8)
    assert [sol[f"floor.{k}.normal"][-1] for k in (1, 2)] == pytest.approx([G / 2, G / 2], abs=1e-6)
    assert min(sol[f"floor.{k}.gap"].min() for k in (1, 2)) > -1e-7


@pytest.mark.parametrize("offset", [0.0, 0.2])
def test_a_stack_of_boxes_rests(offset):
    """Also corners on corners: there are twice as many contacts as it takes."""
    mb = da.Multibody(planar=True)
    low, high = (
        mb.body(f"box{k}", 1.0, 1 / 6, shape=da.Box((1, 1, 1)), position=(k * offset, 0.5 + k)) for k in (0, 1)
    )
    mb.contact("floor", low, (mb.ground, da.Plane()), friction=0.5)
    names = mb.contact("between", high, low, friction=0.5)
    sol = da.simulate(mb.equations(), (0, 1), rtol=1e-8, atol=1e-8)
    assert sol["box1.position"][-1] == pytest.approx([offset, 1.5], abs=1e-9)
    assert sol["box0.position"][-1] == pytest.approx([0, 0.5], abs=1e-9)
    force = sum(sol[f"{name}.force"][-1] for name in names)
    assert force == pytest.approx([0, G], abs=1e-6)
    torque = sum(sol[f"{name}.point"][-1][0] * sol[f"{name}.normal"][-1] for name in names)
    assert torque == pytest.approx(offset * G, abs=1e-6)  # about the origin: the weight of the upper box


def test_a_leg_that_comes_down_is_the_same_in_all_coordinates():
    def state(coordinates):
        mb = da.Multibody(planar=True)
        thigh, shank = (mb.body(name, 1.0, 1 / 12, com=(0, -0.5)) for name in ("thigh", "shank"))
        mb.revolute("hip", mb.ground, thigh, q0=0.9)
        mb.revolute("knee", thigh, shank, at=(0, -1), q0=-0.3)
        floor = (mb.ground, da.Plane(position=(0, -1.8)))
        mb.contact("foot", shank.frame(at=(0, -1)), floor, friction=0.5, restitution=0.2)
        sol = da.simulate(mb.equations(coordinates), (0, 1.2), **TIGHT)
        return sol

    first, *others = (state(coordinates) for coordinates in ("joint", "absolute", "mixed"))
    for sol in others:
        assert len(sol.impacts) == len(first.impacts)
        for name in ("shank.position", "hip.force", "knee.force", "foot.force"):
            assert sol[name][-1] == pytest.approx(first[name][-1], abs=1e-5), name
    # reactions in joints know of the floor: the leg stands
    accelerations = sum(first[f"{name}.acceleration"][-1] for name in ("thigh", "shank"))
    assert np.abs(accelerations).max() < 1e-6
    assert first["hip.force"][-1] + first["foot.force"][-1] == pytest.approx([0, 2 * G], abs=1e-6)


def test_a_disc_that_rolls_in_a_ring_is_a_pendulum():
    R, r = 1.0, 0.2
    mb = da.Multibody(planar=True)
    phi = 0.5
    at = (R - r) * np.array([np.sin(phi), -np.cos(phi)])
    disc = mb.body("disc", mass=1.0, inertia=0.5 * r * r, shape=da.Sphere(r), position=at)
    mb.contact("ring", disc, (mb.ground, da.HollowSphere(R)), friction=1.0)
    sol = da.simulate(mb.equations(), (0, 3), **TIGHT)
    from scipy.integrate import solve_ivp

    swing = solve_ivp(
        lambda t, y: [y[1], -G / (1.5 * (R - r)) * np.sin(y[0])], (0, 3), [phi, 0.0], rtol=1e-11, atol=1e-11
    )
    expected = (R - r) * np.array([np.sin(swing.y[0, -1]), -np.cos(swing.y[0, -1])])
    assert sol["disc.position"][-1] == pytest.approx(expected, abs=1e-6)
    assert np.abs(sol["ring.sliding"]).max() < 1e-7
    assert sol["energy.total"] == pytest.approx(np.full(len(sol.t), sol["energy.total"][0]), abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_impacts_of_free_bodies_keep_momentum(seed):
    """Of a ball and a capsule in space, and of two polygons in the plane: to rounding errors, and no energy is made."""
    rng = np.random.default_rng(seed)
    planar = seed % 2 == 1
    mb = da.Multibody(planar=planar, gravity=(0, 0) if planar else (0, 0, 0))
    if planar:
        triangle = da.Plate([(-0.4, -0.3), (0.5, -0.2), (0.0, 0.5)])
        one = mb.body("one", 1.0, 0.1, shape=triangle, position=(-1.2, rng.uniform(-0.2, 0.2)), orientation=1.0)
        two = mb.body("two", 2.0, 0.3, shape=da.Box((0.8, 0.5, 1)), position=(0, 0), orientation=0.4)
        start = [3.0, 0, rng.uniform(-3, 3), 0, 0, 0]
    else:
        one = mb.body("one", 1.0, 0.01, shape=da.Sphere(0.2), position=(-1.2, *rng.uniform(-0.1, 0.1, 2)))
        two = mb.body(
            "two", 2.0, (0.3, 0.3, 0.05), shape=da.Capsule(0.2, 1.0), orientation=tuple(rng.uniform(-1, 1, 3))
        )
        start = [3.0, 0, 0, *rng.uniform(-3, 3, 3), 0, 0, 0, 0, 0, 0]
    mb.contact("hit", one, two, friction=0.3, restitution=0.7)
    sol = da.simulate(mb.equations(), (0, 1), v0=start, **TIGHT)
    assert len(sol.impacts) >= 1
    for name in ("momentum.linear", "momentum.angular"):
        assert sol[name][-1] == pytest.approx(sol[name][0], abs=1e-8), name
    kinetic = sol["energy.kinetic"]
    assert kinetic[-1] < kinetic[0] - 1e-3
    assert (np.diff(kinetic) < 1e-7).all()


def test_a_disc_rolls_down_into_a_valley_of_segments():
    mb = da.Multibody(planar=True)
    disc = mb.body("disc", 1.0, 0.5 * 0.01, shape=da.Sphere(0.1), position=(-0.9, 0.6))
    names = mb.contact("track", disc, (mb.ground, da.Line([(-1.2, 0.5), (0, 0), (1, 0), (2, 0.4)])), friction=0.5)
    sol = da.simulate(mb.equations(), (0, 2), rtol=1e-8, atol=1e-8)
    assert names == ("track.1", "track.2", "track.3")
    assert min(sol[f"{name}.gap"].min() for name in names) > -1e-7
    assert 0.2 < sol["disc.position"][-1][0] < 2
    assert (np.diff(sol["energy.total"]) < 1e-6).all()


def test_balls_that_fall_on_each_other_begin_to_slide_in_any_direction():
    """What is left of their velocities, by rounding, may be against the direction in which they begin to slide."""
    mb = da.Multibody()
    mb.ground.shape = da.Plane()
    balls = [
        mb.body(f"b{i}", 1.0, 0.4 * 0.04, shape=da.Sphere(0.2), position=(0.05 * i, 0.03 * i * i, 0.25 + 0.45 * i))
        for i in range(3)
    ]
    for ball in balls:
        mb.contact(f"f_{ball.name}", ball, mb.ground, friction=0.3, restitution=0.5)
    for i, k in ((1, 0), (2, 0), (2, 1)):
        mb.contact(f"c{k}{i}", balls[i], balls[k], friction=0.3, restitution=0.5)
    sol = da.simulate(mb.equations(), (0, 0.6), rtol=1e-7, atol=1e-7)
    assert sol.t[-1] == 0.6
    assert min(sol[f"{pair.name}.gap"].min() for pair in mb.contacts) > -1e-7
    assert (np.diff(sol["energy.total"]) < 1e-6).all()


def test_what_collide_was_told_becomes_contacts():
    mb = da.Multibody(planar=True)
    balls = [mb.body(f"ball{k}", 1.0, 0.1, shape=da.Sphere(0.2), position=(0.05 * k, 0.5 + 0.5 * k)) for k in range(3)]
    mb.collide(restitution=0.2, inside=((-1, 0), (1, 3)), ignore=[(balls[0], balls[2])])
    names = mb.contacts_of_collide()
    assert names[:2] == ("ball0_ball1", "ball1_ball2")
    assert names[2:5] == ("ball0_ground.1", "ball0_ground.2", "ball0_ground.3")
    assert mb.colliders is None
    sol = da.simulate(mb.equations(), (0, 0.5), rtol=1e-7, atol=1e-7)
    assert min(sol[f"{name}.gap"].min() for name in names) > -1e-7
    with pytest.raises(da.ModelError, match="has not been called"):
        mb.contacts_of_collide()
