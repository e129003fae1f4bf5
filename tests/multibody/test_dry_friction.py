"""Dry friction in joints: sticking and sliding, in all sets of coordinates."""

import math
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import ModelError, OptionError

G = 9.81
COORDINATES = ("joint", "absolute", "mixed")
TIGHT = dict(rtol=1e-9, atol=1e-11)


def pendulum(bound, planar=True, q0=1.0):
    mb = da.Multibody(planar=planar)
    if planar:
        arm = mb.body("arm", mass=1.0, inertia=0.5, com=(0, -1.0))
        mb.revolute("hinge", mb.ground, arm, q0=q0)
    else:
        arm = mb.body("arm", mass=1.0, inertia=(0.5, 0.5, 0.5), com=(0, 0, -1.0))
        mb.revolute("hinge", mb.ground, arm, axis="y", q0=q0)
    mb.dry_friction("brake", "hinge", bound)
    return mb


def swings(bound, phi0):
    """Where it comes to rest, swing by swing."""
    phi = phi0
    while G * abs(math.sin(phi)) > bound:
        sign = -math.copysign(1.0, phi)

        def right(_, y, sign=sign):
            return [y[1], (-G * math.sin(y[0]) - sign * bound) / 1.5]

        def turns(_, y):
            return y[1]

        turns.terminal, turns.direction = True, -sign
        phi = solve_ivp(right, (0, 10), [phi, 0], events=turns, rtol=1e-12, atol=1e-13, method="DOP853").y[0, -1]
    return phi


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_pendulum_with_a_rough_hinge_stays_where_it_should(coordinates, planar):
    sol = da.simulate(pendulum(1.0, planar).equations(coordinates), (0, 9), **TIGHT)
    phi = swings(1.0, 1.0)
    assert sol["hinge.angle"][-1] == pytest.approx(phi, abs=1e-7)
    assert sol["hinge.speed"][-1] == pytest.approx(0, abs=1e-12)
    held = G * math.sin(phi)
    assert sol["brake.friction"][-1] == pytest.approx([held], abs=1e-6)
    torque = sol["hinge.torque"][-1] if planar else sol["hinge.torque"][-1][1]
    assert torque == pytest.approx(held, abs=1e-6)  # what is transmitted in the joint, cut or not
    moving = np.abs(sol["brake.sliding"][:, 0]) > 1e-3
    friction, rate = sol["brake.friction"][moving, 0], sol["brake.sliding"][moving, 0]
    assert np.abs(friction + np.sign(rate)).max() < 1e-9
    assert sol["brake.sliding"][:, 0] == pytest.approx(sol["hinge.speed"], abs=1e-12)


def test_a_slider_stops_and_a_spring_pulls_it_off():
    """A spring whose end moves at constant speed: the block sticks until the spring overcomes the friction."""
    k, bound, speed = 50.0, 3.0, 0.5
    mb = da.Multibody(planar=True, gravity=(0, 0))
    block = mb.body("block", mass=2.0, inertia=0.1)
    rail = mb.prismatic("rail", mb.ground, block, axis="x", q0=0.0, v0=1.2)
    mb.input("end", lambda t: speed * t)
    mb.actuator("spring", rail, lambda s: k * (s.end - s["rail.distance"]))
    mb.dry_friction("brake", rail, bound)
    sol = da.simulate(mb.equations(), (0, 1.0), **TIGHT)
    stuck = np.abs(sol["rail.speed"]) < 1e-12
    assert stuck.any()
    x = sol["rail.distance"][stuck][-1]
    leaves = sol.t[stuck].max()
    assert k * (speed * leaves - x) == pytest.approx(bound, abs=0.5)
    assert np.abs(sol["brake.friction"]).max() <= bound + 1e-9
    at = sol.at((leaves + sol.t[stuck].min()) / 2)
    assert at["brake.friction"][0] == pytest.approx(-at["spring.force"], abs=1e-8)


def test_bounds_are_numbers_parameters_or_functions():
    mb = da.Multibody(planar=True)
    arm = mb.body("arm", mass=1.0, inertia=0.5, com=(0, -1.0))
    hinge = mb.revolute("hinge", mb.ground, arm, q0=1.0)
    mb.dry_friction("brake", hinge, mb.parameter("bound", 1.0))
    model = mb.equations()
    for bound in (1.0, 2.0):
        sol = da.simulate(model.replace({"bound": bound}), (0, 9), **TIGHT)
        assert sol["hinge.angle"][-1] == pytest.approx(swings(bound, 1.0), abs=1e-7)
    sol = da.simulate(pendulum(lambda s: 0.5 + s["hinge.angle"] ** 2).equations(), (0, 9), **TIGHT)
    rate = sol["brake.sliding"][:, 0]
    moving = np.abs(rate) > 1e-3
    expected = -np.sign(rate) * (0.5 + sol["hinge.angle"] ** 2)
    assert sol["brake.friction"][moving, 0] == pytest.approx(expected[moving], abs=1e-9)


def test_models_and_results_travel():
    mb = pendulum(1.0)
    model = mb.equations()
    assert "1 element of dry friction" in repr(mb)
    assert "1 element of dry friction" in repr(model)
    assert model.bilateral == frozenset()
    assert {"brake.friction", "brake.sliding"} <= set(model.outputs)
    assert "brake.gap" not in model.outputs
    assert model.outputs.description("brake.friction").startswith("friction torque")
    other = pickle.loads(pickle.dumps(model))
    first, second = (da.simulate(m, (0, 1), **TIGHT)["brake.friction"] for m in (model, other))
    assert np.array_equal(first, second)


def test_dry_friction_together_with_contacts():
    """A block on a floor that a brake holds in a rail: the numbers of contacts and brakes do not mix."""
    mb = da.Multibody(planar=True)
    block = mb.body("block", mass=1.0, inertia=0.1, shape=da.Sphere(0.1), position=(0, 0.5))
    rail = mb.prismatic("rail", mb.ground, block, axis="y", q0=0.5)
    mb.dry_friction("brake", rail, 4.0)
    mb.contact("floor", block, (mb.ground, da.Plane()), restitution=0.5)
    sol = da.simulate(mb.equations(), (0, 2), **TIGHT)
    assert len(sol.impacts) >= 1
    fall = math.sqrt(2 * 0.4 / (G - 4.0))  # falls against the friction
    assert sol.impacts[0].t == pytest.approx(fall, abs=1e-8)
    assert sol["rail.distance"][-1] == pytest.approx(0.1, abs=1e-8)
    assert sol["floor.normal"][-1] + sol["brake.friction"][-1, 0] == pytest.approx(G, abs=1e-8)


def test_what_leaves_dry_friction_out_says_so():
    mb = pendulum(1.0)
    with pytest.raises(ModelError, match=r"dry friction 'brake' has no linear form; take mb\.friction"):
        mb.linearize()
    with pytest.raises(OptionError, match="dry friction 'brake' takes energy"):
        mb.equations(invariant="energy")
    with pytest.raises(OptionError, match="contacts and dry friction, and this one has 'brake'"):
        mb.equations(formalism="explicit")
    assert mb.equilibrium()["hinge.angle"] == pytest.approx(0, abs=1e-9)  # without friction


@pytest.mark.parametrize(
    ("joint", "bound", "message"),
    [
        ("hinge", -1.0, "bound=-1 must not be negative"),
        ("hinge", "much", "bound='much'"),
        ("hinge", float("inf"), "must be finite"),
        ("hing", 1.0, "there is no joint 'hing'; did you mean 'hinge'"),
        ("ball", 1.0, "one with a single freedom is needed"),
    ],
)
def test_bad_input_is_named(joint, bound, message):
    mb = da.Multibody()
    one, two = mb.body("one", 1.0, 0.1), mb.body("two", 1.0, 0.1)
    mb.revolute("hinge", mb.ground, one)
    mb.spherical("ball", one, two)
    with pytest.raises(ModelError, match=f"dry friction 'brake': .*{message}"):
        mb.dry_friction("brake", joint, bound)
    assert not mb.brakes


def test_bounds_must_be_traceable_and_single():
    mb = pendulum(lambda s: math.exp(s["hinge.angle"]))
    with pytest.raises(ModelError, match="dry friction 'brake': its bound cannot be traced"):
        mb.equations()
    with pytest.raises(ModelError, match="dry friction 'brake'"):
        pendulum(lambda s: [1.0, 2.0]).equations()
    with pytest.raises(ModelError, match=r"no 'hinge\.angel'"):
        pendulum(lambda s: s["hinge.angel"]).equations()
