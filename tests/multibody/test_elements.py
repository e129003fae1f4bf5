"""Force elements: closed forms, action and reaction, potentials, users' functions."""

import math

import casadi as ca
import numpy as np
import pytest
from builders import (
    Kinematics,
    accelerations,
    bodies_of,
    numbers,
    place,
    random_body,
    random_joint,
    random_state,
    random_tree,
)

import dalembert as da
from dalembert.model.namespace import Namespace

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def slider(mass=2.0, **options):
    """A mass on a slide along x, without gravity."""
    mb = da.Multibody(planar=True, gravity=(0, 0))
    body = mb.body("mass", mass, 0.1)
    return mb, body, mb.prismatic("slide", mb.ground, body, axis="x", **options)


def free_pair(seed, planar=False):
    """Two free bodies, and frames on them."""
    rng = np.random.default_rng(seed)
    mb = da.Multibody(planar=planar, gravity=(0, 0) if planar else (0, 0, 0))
    frames = []
    for name in ("one", "two"):
        at, turned = place(mb, rng)
        frames.append(random_body(mb, rng, name).frame(at=at, rotation=turned))
    return mb, frames, rng


# -- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["spring", "torsion", "joint", "function", "parameter"])
def test_damped_oscillator(how):
    m, k, c, x0 = 2.0, 50.0, 3.0, 0.3
    options = {"stiffness": k, "damping": c, "rest": 1.0} if how == "joint" else {}
    mb, body, slide = slider(m, **options)
    if how == "spring":
        mb.spring("spring", mb.ground.frame(at=(-1, 0)), body, k, c, length=2.0)
    elif how == "torsion":
        mb.torsion("spring", slide, k, c, rest=1.0)
    elif how == "function":
        mb.torsion("spring", slide, lambda x: k * x, lambda u: c * u, rest=1.0)
    elif how == "parameter":
        given = [mb.parameter(name, value) for name, value in (("k", k), ("c", c), ("l", 2.0))]
        mb.spring("spring", mb.ground.frame(at=(-1, 0)), body, *given)
    sol = da.simulate(mb.equations(), (0, 1.5), p0=[1 + x0], **TIGHT)
    decay, omega = c / (2 * m), math.sqrt(k / m - (c / (2 * m)) ** 2)
    t = sol.t
    exact = 1 + x0 * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
    assert sol["slide.distance"] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("planar", [True, False])
def test_torsional_spring_counts_turns(planar, coordinates):
    # wound up by five turns, with frames that are mounted at 3 and −3
    mb = da.Multibody(planar=planar, gravity=(0, 0) if planar else (0, 0, 0))
    body = mb.body("wheel", 1.0, 0.5 if planar else (0.5, 0.5, 0.5))
    mounted = (3.0, -3.0) if planar else ((0, 0, 3.0), (0, 0, -3.0))
    mb.revolute("hinge", mb.ground, body, rotation=mounted[0], rotation_to=mounted[1], stiffness=2.0)
    model = mb.equations(coordinates)
    start = 10 * np.pi + 0.25
    p0 = [start]
    if model.names("p") != ("hinge.angle",):
        p0 = [0, 0, start - (2 * np.pi - 6)]
    sol = da.simulate(model, (0, 2), p0=p0, **TIGHT)
    assert sol["hinge.angle"][-1] == pytest.approx(start * np.cos(4.0), rel=1e-7)


def test_spring_between_two_free_bodies_has_the_reduced_mass():
    mb = da.Multibody(gravity=(0, 0, 0))
    one, two = (mb.body(name, m, (1, 1, 1)) for name, m in (("one", 1.0), ("two", 3.0)))
    mb.spring("spring", one, two, 12.0, length=1.0)
    model = mb.equations()
    p0 = {"one.com_x": 0.0, "two.com_x": 1.2, "one.e0": 1.0, "two.e0": 1.0}
    p0 = [p0.get(name, 0.0) for name in model.names("p")]
    sol = da.simulate(model, (0, 3), p0=p0, **TIGHT)
    omega = math.sqrt(12.0 / 0.75)
    assert sol["spring.length"][-1] == pytest.approx(1 + 0.2 * math.cos(3 * omega), abs=1e-8)
    assert sol["spring.force"][-1] == pytest.approx(12 * 0.2 * math.cos(3 * omega), abs=1e-6)
    assert sol["energy.total"] == pytest.approx(0.5 * 12 * 0.04, abs=1e-8)


def test_spring_without_rest_length_passes_through_zero_length():
    for damping in (0.0, 1.0):
        mb, body, _ = slider(1.0)
        mb.spring("rubber", mb.ground, body, 9.0, damping)
        sol = da.simulate(mb.equations(), (0, 2), p0=[1.0], **TIGHT)
        omega = math.sqrt(9 - damping**2 / 4)
        exact = math.exp(-damping) * (math.cos(2 * omega) + damping / 2 / omega * math.sin(2 * omega))
        assert sol["slide.distance"][-1] == pytest.approx(exact, abs=1e-7)
    # and at zero length there is a force and a Jacobian
    assert accelerations(mb.equations(), [0.0], [1.0]) == pytest.approx([0.0])


def test_terminal_velocity_and_fall_with_drag():
    mb = da.Multibody()
    ball = mb.body("ball", 2.0, (1, 1, 1))
    mb.prismatic("fall", mb.ground, ball)
    mb.drag("air", ball, 0.5)
    sol = da.simulate(mb.equations(), (0, 1), p0=[0.0], **TIGHT)
    end = math.sqrt(2 * 9.81 / 0.5)
    assert sol["fall.distance_dot"][-1] == pytest.approx(-end * math.tanh(9.81 / end), rel=1e-8)
    late = da.simulate(mb.equations(), (0, 100), p0=[0.0], **TIGHT)
    assert late["fall.distance_dot"][-1] == pytest.approx(-end, rel=1e-8)
    assert np.linalg.norm(late["air.force"][-1]) == pytest.approx(2 * 9.81, rel=1e-8)


def test_drag_is_relative_to_the_wind():
    mb, body, _ = slider(1.0)
    mb.drag("air", body, 0.0, linear=2.0, wind=(3.0, 0.0))
    sol = da.simulate(mb.equations(), (0, 1), p0=[0.0], **TIGHT)
    assert sol["slide.distance_dot"][-1] == pytest.approx(3 * (1 - math.exp(-2)), abs=1e-8)


def test_friction_stops_a_slider_and_dissipates():
    mb, _, slide = slider(2.0)
    mb.friction("rubbing", slide, 4.0, smoothing=1e-6)
    sol = da.simulate(mb.equations(), (0, 0.4), p0=[0.0], v0=[1.0], method=da.Radau5(), rtol=1e-8, atol=1e-8)
    assert sol["slide.speed"][-1] == pytest.approx(1 - 2 * 0.4, abs=1e-6)
    viscous = slider(2.0)
    viscous[0].friction("oil", viscous[2], 0.0, viscous=3.0)
    sol = da.simulate(viscous[0].equations(), (0, 1), p0=[0.0], v0=[1.0], **TIGHT)
    assert sol["slide.speed"][-1] == pytest.approx(math.exp(-1.5), abs=1e-9)


def test_stiction_is_above_coulomb_friction_near_rest():
    mb, _, slide = slider(1.0)
    mb.friction("rubbing", slide, 1.0, stiction=2.0, stribeck=0.1, smoothing=1e-4)
    model = mb.equations()
    force = [-numbers(model, "force", p=[0.0], v=[u])[0][0] for u in (1e-9, 1e-3, 0.1, 10.0)]
    assert force == pytest.approx([2e-5, 1 + math.exp(-1e-4), 1 + math.exp(-1), 1.0], rel=1e-6)


def test_actuator_with_a_time_constant_lags():
    mb, _, slide = slider(2.0)
    mb.actuator("motor", slide, lambda s: 3.0 + 0 * s.t, time_constant=0.5)
    sol = da.simulate(mb.equations(), (0, 1), p0=[0.0], **TIGHT)
    assert sol["motor.force"][-1] == pytest.approx(3 * (1 - math.exp(-2)), abs=1e-8)
    assert sol["slide.speed"][-1] == pytest.approx(1.5 * (1 - 0.5 * (1 - math.exp(-2))), abs=1e-8)


def test_actuator_with_states_of_its_own():
    # a coil: L i' = u − R i − k v, force k i, against its solution by matrix exponential
    from scipy.linalg import expm

    mb, _, slide = slider(2.0)
    mb.input("voltage", lambda t: 5.0 + 0 * t)
    mb.actuator(
        "motor", slide, states={"current": 0.1},
        dynamics=lambda s: [(s.voltage - 2.0 * s["motor.current"] - 0.7 * s["slide.speed"]) / 0.3],
        force=lambda s: 0.7 * s["motor.current"],
    )  # fmt: skip
    sol = da.simulate(mb.equations(), (0, 1), p0=[0.0], r0=[0.1], **TIGHT)
    A = np.array([[-2.0 / 0.3, -0.7 / 0.3, 5.0 / 0.3], [0.7 / 2.0, 0, 0], [0, 0, 0]])
    current, speed, _ = expm(A) @ [0.1, 0.0, 1.0]
    assert sol["motor.current"][-1] == pytest.approx(current, abs=1e-8)
    assert sol["slide.speed"][-1] == pytest.approx(speed, abs=1e-8)
    assert sol["motor.force"][-1] == pytest.approx(0.7 * current, abs=1e-8)


def test_local_force_turns_with_its_frame():
    mb = da.Multibody(planar=True, gravity=(0, 0))
    body = mb.body("rocket", 1.0, 2.0)
    mb.force("thrust", body.frame(rotation=0.5), (1.0, 0.0), local=True)
    mb.force("wind", body, (0.25, 0.0))
    mb.force("spin", body, torque=3.0)
    model = mb.equations()
    names = model.names("v")
    a = dict(zip(names, accelerations(model, [0, 0, 0.3], [0, 0, 0]), strict=True))
    assert a["rocket.com_x_dot"] == pytest.approx(math.cos(0.8) + 0.25)
    assert a["rocket.com_y_dot"] == pytest.approx(math.sin(0.8))
    assert a["rocket.angle_dot"] == pytest.approx(1.5)


# -- what holds for all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("element", ["spring", "rubber", "bushing", "stiff bushing"])
def test_inner_forces_leave_momentum_alone(element, planar):
    for seed in range(3):
        mb, (a, b), rng = free_pair(seed, planar)
        if element == "spring":
            mb.spring("element", a, b, 5.0, 2.0, 0.3)
        elif element == "rubber":
            mb.spring("element", a, b, lambda x: x**3 + 1, lambda u: u)
        else:
            different = (1.0, 2.0, 3.0) if element == "stiff bushing" else 2.0
            mb.bushing("element", a, b, different, different, 0.7, 0.4)
        model = mb.equations()
        p, v = random_state(model, rng)
        acceleration = accelerations(model, p, v)
        force, torque = np.zeros(3), np.zeros(3)
        for body, at in zip(mb.bodies, Kinematics(mb, bodies_of(mb))(p, v, acceleration), strict=True):
            xx, xy, xz, yy, yz, zz = body.inertia
            J = at.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ at.R.T
            force += body.mass * at.dv
            torque += np.cross(at.x, body.mass * at.dv) + J @ at.dw + np.cross(at.w, J @ at.w)
        assert np.abs(force).max() < 1e-12
        assert np.abs(torque).max() < 1e-11


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_forces_are_the_slope_of_the_potential(seed, planar, coordinates):
    # power of all forces at zero speed against the rate of the potential energy along every freedom
    rng = np.random.default_rng(seed)
    mb = da.Multibody(planar=planar, gravity=rng.normal(size=2 if planar else 3))
    bodies = [random_body(mb, rng, name) for name in "abc"]
    random_joint(mb, rng, "revolute", "first", mb.ground, bodies[0], stiffness=3.0, rest=0.3)
    joint = random_joint(mb, rng, "prismatic", "second", bodies[1], bodies[0])
    random_joint(mb, rng, "plane", "third", bodies[1], bodies[2])
    mb.torsion("torsion", joint, 4.0, rest=-0.2)
    frames = [body.frame(*place(mb, rng)) for body in bodies]
    mb.spring("spring", frames[0], frames[2], 5.0, length=0.3)
    mb.spring("rubber", mb.ground, frames[1], 2.0)
    mb.bushing("bushing", frames[1], frames[2], (1.0, 2.0, 3.0), 1.5)
    model = mb.equations(coordinates)
    p, _ = random_state(model, rng)
    look = Kinematics(mb, [], () if coordinates == "joint" else None)
    from dalembert.multibody.equations import kinematics
    from dalembert.multibody.observe import Observer

    scene, symbols = look.parts.scene, look.parts.symbols
    potential = Observer(mb, None, look.parts)._energy_potential()
    Z = kinematics(scene)
    slope = ca.jacobian(potential, symbols.p) @ (ca.SX.eye(len(p)) if Z is None else Z)
    slope = np.array(ca.densify(ca.Function("V", [symbols.p], [slope])(p))).ravel()
    (force,) = numbers(model, "force", p=p)
    assert force == pytest.approx(-slope, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_drives_in_cut_joints_do_the_work_of_those_in_the_tree(seed, planar):
    # a generalized force in a joint does force · rate of work, in whichever coordinates
    for kind in ("revolute", "prismatic") if planar else ("revolute", "prismatic", "screw"):
        rng = np.random.default_rng(seed)
        mb = da.Multibody(planar=planar, gravity=(0, 0) if planar else (0, 0, 0))
        bodies = [random_body(mb, rng, name) for name in "ab"]
        random_joint(mb, rng, "plane" if planar else "free", "base", mb.ground, bodies[0])
        joint = random_joint(mb, rng, kind, "joint", *bodies, cut=True)
        mb.actuator("motor", joint, 2.5)
        look = Kinematics(mb, [], ())
        scene, symbols = look.parts.scene, look.parts.symbols
        rate = scene.rate(joint)
        model = mb.equations("joint")
        p, _ = random_state(model, rng)
        (force,) = numbers(model, "force", p=p)
        by = np.array(ca.densify(ca.Function("u", [symbols.p], [ca.jacobian(rate, symbols.v)])(p))).ravel()
        if kind != "screw":  # whose angle is that about the axis, wherever along it
            assert force == pytest.approx(2.5 * by, abs=1e-12)
        else:
            assert np.abs(force).max() > 0


# -- users' functions ------------------------------------------------------------------------------------------------


def with_functions(sin, choose):
    mb = da.Multibody()
    a = mb.body("a", 1.0, (0.1, 0.2, 0.25), com=(0.1, 0, -0.5))
    b = mb.body("b", 1.0, (0.1, 0.2, 0.25), com=(0, 0, -0.5))
    mb.universal("top", mb.ground, a, axis="x", second_axis="y", q0=(0.1, 0.2))
    elbow = mb.revolute("elbow", a, b, axis="x", at=(0, 0, -1), q0=0.05)
    gain = mb.parameter("gain", 2.0)
    mb.input("wave", lambda t: np.cos(3 * t))
    mb.force(
        "push", b.frame(at=(0, 0, -1)),
        lambda s: [sin(s.t) * s.velocity[0], choose(s["elbow.angle"]), s.gain * s.position[2] * s.orientation[0][1]],
        lambda s: [sin(s.wave), 0.0, s.angular_velocity[2]],
    )  # fmt: skip
    mb.spring("spring", mb.ground, b.frame(at=(1, 0, 0)), lambda x: 3 * x + sin(x), lambda u: sin(u), length=0.4)
    mb.torsion("torsion", elbow, lambda x: sin(x), lambda u: 0.1 * sin(u))
    mb.actuator(
        "motor", elbow, states={"i": 0.3}, dynamics=lambda s: [choose(s["elbow.speed"]) - s["motor.i"]],
        force=lambda s: sin(s["motor.i"]) + 0.1 * s["top.angle2"],
    )  # fmt: skip
    assert gain.value == 2.0
    return mb


@pytest.mark.parametrize("coordinates", ["joint", "mixed"])
def test_functions_that_cannot_be_traced_give_the_same(coordinates):
    smooth = with_functions(np.sin, lambda q: np.where(q > 0.1, 3.0, 2.9 + q))
    python = with_functions(math.sin, lambda q: 3.0 if q > 0.1 else 2.9 + q)
    options = {"absolute": []} if coordinates == "mixed" else {}
    with (
        pytest.warns(da.UntraceableWarning, match="force .line .* of .*test_elements.*math"),
        pytest.warns(da.UntraceableWarning, match="dynamics .line .* of .*test_elements.*branch"),
    ):
        model = python.equations(coordinates, **options)
    assert set(model.untraceable) == {"force", "dynamics"}
    same = smooth.equations(coordinates, **options)
    assert not same.untraceable
    rng = np.random.default_rng(4)
    for _ in range(5):
        p, v = random_state(model, rng)
        found = numbers(model, "force", "dynamics", p=p, v=v, t=0.7, r=[0.4])
        wanted = numbers(same, "force", "dynamics", p=p, v=v, t=0.7, r=[0.4])
        for a, b in zip(found, wanted, strict=True):
            assert a == pytest.approx(b, rel=1e-13, abs=1e-13)
    start = {"p0": [0.1, 0.2, 0.05], "r0": [0.3], "rtol": 1e-8, "atol": 1e-8}
    for method in (da.Radau5(), da.Hem5()):
        one, two = (da.simulate(m, (0, 0.3), method=method, **start) for m in (model, same))
        assert one.x[-1] == pytest.approx(two.x[-1], abs=1e-6)
    with pytest.warns(da.UntraceableWarning, match="output 'spring.force'"):
        assert one["spring.force"][-1] == pytest.approx(two["spring.force"][-1], abs=1e-5)


def test_functions_in_python_travel():
    # with all that they may read, also what they have not read so far
    cloudpickle = pytest.importorskip("cloudpickle")
    mb = da.Multibody(planar=True)
    body = mb.body("body", 1.0, 0.1)
    mb.revolute("hinge", mb.ground, body)
    mb.force("push", body.frame(at=(1, 0)), lambda s: (0.0, s["hinge.speed"] if s.t > 5 else math.sin(s.position[0])))
    with pytest.warns(da.UntraceableWarning):
        model = mb.equations()
    there = cloudpickle.loads(cloudpickle.dumps(model.graph.functions["force"].python))
    for t in (0.0, 6.0):
        state = {"t": t, "p": np.array([0.3]), "v": np.array([2.0])}
        found = there(Namespace(state.__getitem__, state))
        assert found == pytest.approx([math.cos(0.3) * (2.0 if t else math.sin(math.cos(0.3)))])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s: None, "returned None"),
        (lambda s: [1.0], "returned 1 value; 3 are needed"),
        (lambda s: [math.sin(s.t), 1.0], "returned 2 values; 3 are needed"),
        (lambda s: [s.nothing, 0, 0], "there is no 'nothing'"),
        (lambda s: [s["elbow.angel"], 0, 0], "did you mean .*elbow.angle"),
        (lambda s: 1 / 0, "ZeroDivisionError"),
        (lambda s: ["a", "b", "c"], "is not|returned"),
        (lambda s: [1j, 0, 0], "complex|returned"),
        (lambda: 0, "argument"),
    ],
)
def test_functions_with_faults(function, message):
    mb = da.Multibody()
    body = mb.body("body", 1.0, (1, 1, 1))
    mb.revolute("elbow", mb.ground, body)
    mb.force("push", body, function)
    with pytest.raises(da.ModelError, match=message):
        mb.equations()


def test_random_trees_have_finite_forces():
    for seed in range(4):
        mb = random_tree(seed, planar=bool(seed % 2))
        model = mb.equations()
        p, v = random_state(model, np.random.default_rng(seed))
        assert np.isfinite(accelerations(model, p, v)).all()
