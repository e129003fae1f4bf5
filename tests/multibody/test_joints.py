"""Joints: what their coordinates mean, and the same joints as constraints; drives, gears, racks, rolling, screws."""

import casadi as ca
import numpy as np
import pytest
from builders import (
    FREEDOMS,
    PLANAR,
    SPATIAL,
    Kinematics,
    definition,
    numbers,
    pose,
    random_body,
    random_coordinates,
    random_joint,
    random_tree,
    start_from,
    times,
    world_poses,
)
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.multibody.closure import closure
from dalembert.multibody.parts import Frame

ALL = [(kind, False) for kind in (*SPATIAL, "fixed")] + [(kind, True) for kind in (*PLANAR, "fixed", "rolling_disc")]


def two_bodies(kind, planar, seed, backwards=False, **options):
    """A body on the ground by a free joint, and another one on it by the joint in question."""
    rng = np.random.default_rng(seed)
    mb = da.Multibody(planar=planar)
    one, two = random_body(mb, rng, "one"), random_body(mb, rng, "two")
    random_joint(mb, rng, "plane" if planar else "free", "base", mb.ground, one)
    if kind == "rolling_disc":
        options["radius"] = 0.4
    joint = random_joint(mb, rng, kind, "joint", *((two, one) if backwards else (one, two)), **options)
    return mb, joint, rng


def random_q(mb, rng):
    """Coordinates of each joint; a disc rolls."""
    q = random_coordinates(mb, rng)
    for joint in mb.joints:
        if joint.kind.name == "rolling disc":
            q[joint.name][0] = -joint.radius * q[joint.name][1]
    return q


def random_p(mb, rng, model):
    """The same, and p of a model in joint coordinates."""
    q = random_q(mb, rng)
    named = {f"{j.name}.{part}": x for j in mb.joints for part, x in zip(j.kind.coordinates, q[j.name], strict=True)}
    return q, np.array([named[name] for name in model.names("p")])


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("kind", "planar"), ALL)
def test_coordinates_mean_the_second_body_relative_to_the_first(kind, planar, backwards):
    for seed in range(3):
        mb, joint, rng = two_bodies(kind, planar, seed, backwards)
        look = Kinematics(mb, [joint.first, joint.second])
        q, p = random_p(mb, rng, mb.equations())
        A, B = look(p)
        R, d = definition(joint, q["joint"])
        assert np.abs(A.R.T @ B.R - R).max() < 1e-13
        assert np.abs(A.R.T @ (B.x - A.x) - d).max() < 1e-13


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_speeds_are_those_of_the_second_body_in_its_own_axes(kind, backwards):
    mb, joint, rng = two_bodies(kind, False, 5, backwards)
    look = Kinematics(mb, [joint.first, joint.second])
    model = mb.equations()
    _, p = random_p(mb, rng, model)
    v = rng.normal(size=len(model.names("v")))
    A, B = look(p, v)
    w = [v[model.names("v").index(f"joint.w{axis}")] for axis in "xyz"]
    assert np.abs(B.R.T @ (B.w - A.w) - w).max() < 1e-13
    if kind == "free":
        u = [v[model.names("v").index(f"joint.{axis}_dot")] for axis in "xyz"]
        assert np.abs(A.R.T @ (B.v - A.v - np.cross(A.w, B.x - A.x)) - u).max() < 1e-13


@pytest.mark.parametrize(("kind", "planar"), ALL)
def test_cut_joint_has_the_equations_that_its_motion_satisfies(kind, planar):
    for seed in range(3):
        mb, joint, rng = two_bodies(kind, planar, seed)
        look = Kinematics(mb, [])
        rows = closure(look.parts.scene, joint)
        freedoms = 2 if kind == "rolling_disc" else FREEDOMS[kind]  # that it rolls is an equation in the tree, too
        count = (3 if planar else 6) - freedoms + (kind == "rolling_disc")
        assert len(rows) == count
        assert len({label for label, _ in rows}) == count
        _, p = random_p(mb, rng, mb.equations())
        symbols = look.parts.symbols
        residual = ca.Function("g", [symbols.p], [ca.vertcat(*(ca.SX(row) for _, row in rows), 0)])(p)
        assert np.abs(np.array(residual)).max() < 1e-13


@pytest.mark.parametrize(("kind", "planar"), ALL)
def test_absolute_coordinates_have_independent_equations(kind, planar):
    for seed in range(3):
        mb, joint, rng = two_bodies(kind, planar, seed, cut=True)
        del joint
        q = random_q(mb, rng)
        model = mb.equations("absolute")
        p = start_from(mb, model, world_poses(mb, q))
        count = (3 if planar else 6) - FREEDOMS[kind]
        if not count:
            assert not model.names("lam")
            continue
        assert len(model.names("lam")) == count
        (g,) = numbers(model, "holonomic", p=p)
        assert np.abs(g).max() < 1e-13
        G = jacobian(model, p)
        assert np.linalg.matrix_rank(G, tol=1e-8) == count


def jacobian(model, p, t=0.0):
    """dg/dv of the holonomic constraints."""
    graph = model.graph
    g = graph.value("holonomic")
    Z = graph.value("kinematics") if "kinematics" in graph.functions else ca.SX.eye(len(p))
    f = ca.Function("G", [graph.t, graph.symbol["p"], graph.theta], [ca.jacobian(g, graph.symbol["p"]) @ Z])
    return np.array(ca.densify(f(t, p, model.theta(t))))


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_trees_satisfy_the_constraints_of_absolute_and_mixed_coordinates(seed, planar):
    mb = random_tree(seed, planar=planar, forces=False)
    rng = np.random.default_rng(seed)
    poses = world_poses(mb, random_coordinates(mb, rng))
    for own in (None, [body.name for body in mb.bodies if rng.random() < 0.5]):
        model = mb.equations("absolute") if own is None else mb.equations("mixed", absolute=own)
        p = start_from(mb, model, poses)
        if model.names("lam"):
            (g,) = numbers(model, "holonomic", p=p)
            assert np.abs(g).max() < 1e-13
            G = jacobian(model, p)
            assert np.linalg.matrix_rank(G, tol=1e-8) == len(G)
        held = sum(j.kind.freedoms for j in mb.joints)
        assert len(model.names("v")) - len(model.names("lam")) == held


# -- which joints are cut --------------------------------------------------------------------------------------------


def four_bar(**options):
    """Closed by construction: a quadrangle with corners (0, 0), (0, 1), (2, 2), (3, 0)."""
    mb = da.Multibody(planar=True)
    corners = np.array([[0.0, 0], [0, 1], [2, 2], [3, 0]])
    for k in range(3):
        edge = corners[k + 1] - corners[k]
        mb.body(f"bar {k}", 1.0 + k, 0.1, edge / 2, position=corners[k])
    ends = [mb.ground, *mb.bodies, mb.ground]
    for k in range(4):
        at = corners[k] if k in (0,) else corners[k] - corners[k - 1]
        to = corners[3] if k == 3 else (0, 0)
        mb.revolute(f"pin {k}", ends[k], ends[k + 1], at=at, to=to, **options.get(f"pin {k}", {}))
    return mb


def test_loops_are_cut_where_the_user_says():
    for k in range(4):
        model = four_bar(**{f"pin {k}": {"cut": True}}).equations()
        assert [name.split(".")[0] for name in model.names("lam")] == [f"pin {k}"] * 2
        assert f"pin {k}.angle" not in model.names("p")
        assert numbers(model, "holonomic", p=np.zeros(3))[0] == pytest.approx([0, 0], abs=1e-15)
    kept = four_bar(**{f"pin {k}": {"cut": False} for k in (1, 2, 3)}).equations()
    assert [name.split(".")[0] for name in kept.names("lam")] == ["pin 0"] * 2


def test_the_joint_with_most_freedoms_is_cut():
    mb = da.Multibody()
    a, b = (mb.body(name, 1.0, (1, 1, 1)) for name in "ab")
    mb.spherical("ball", mb.ground, a)
    mb.revolute("hinge", mb.ground, b)
    mb.cylindrical("tube", b, a, at=(1, 0, 0))
    assert {name.split(".")[0] for name in mb.equations(known=False, redundant="keep").names("lam")} == {"ball"}


@pytest.mark.parametrize("coordinates", ["joint", "absolute", "mixed"])
def test_joints_whose_turns_are_counted_keep_their_coordinate(coordinates):
    mb = da.Multibody()
    a, b = (mb.body(name, 1.0, (1, 1, 1)) for name in "ab")
    mb.spherical("ball", mb.ground, a)
    mb.revolute("hinge", mb.ground, b, axis=(1, 2, 3))
    mb.revolute("counted", b, a, at=(1, 0, 0), to=(0, 0, 1), axis=(2, -1, 1), stiffness=3.0)
    options = {"absolute": ["a", "b"]} if coordinates == "mixed" else {}
    model = mb.equations(coordinates, known=False, redundant="keep", **options)
    assert "counted.angle" in model.names("p")


def test_fixed_joint_that_is_cut_becomes_six_equations():
    mb = da.Multibody()
    a, b = (mb.body(name, 1.0, (1, 1, 1)) for name in "ab")
    mb.revolute("hinge", mb.ground, a, axis="y")
    mb.fixed("weld", a, b, at=(1, 0, 0), cut=True)
    welded = da.Multibody()
    c, d = (welded.body(name, 1.0, (1, 1, 1)) for name in "ab")
    welded.revolute("hinge", welded.ground, c, axis="y", q0=0.0)
    welded.fixed("weld", c, d, at=(1, 0, 0))
    for coordinates in ("joint", "absolute"):
        model = mb.equations(coordinates)
        assert sum(name.startswith("weld") for name in model.names("lam")) == 6
        p0 = start_from(
            mb, model, {-1: (np.eye(3), np.zeros(3)), 0: (np.eye(3), np.zeros(3)), 1: (np.eye(3), [1, 0, 0])}
        )
        sol = da.simulate(model, (0, 0.7), p0=p0, rtol=1e-9, atol=1e-9)
        reference = da.simulate(welded.equations(), (0, 0.7), p0=[0.0], rtol=1e-9, atol=1e-9)
        assert sol["b.position"][-1] == pytest.approx(reference["b.position"][-1], abs=1e-7)


# -- drives, gears, rolling, screws ----------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw"])
def test_driven_joint_follows_its_function(kind, coordinates):
    mb = da.Multibody()
    arm = mb.body("arm", 1.0, (0.1, 0.1, 0.1), com=(0.3, 0, 0.1))
    options = {"pitch": 0.2} if kind == "screw" else {}
    joint = getattr(mb, kind)("motor", mb.ground, arm, axis=(1, 2, 2), drive=lambda t: 5 * t + np.sin(t), **options)
    model = mb.equations(coordinates)
    one = np.eye(3)
    start = {"p0": start_from(mb, model, {-1: (one, np.zeros(3)), 0: (one, np.zeros(3))})}
    axis = np.array([1, 2, 2]) / 3
    speed = 6.0  # at the start
    if coordinates == "joint":
        start["v0"] = [speed]
    else:
        w = axis * speed * (kind != "prismatic")
        u = axis * speed * {"revolute": 0, "prismatic": 1, "screw": 0.2}[kind] + np.cross(w, arm.com)
        start["v0"] = np.concatenate([u, w])
    sol = da.simulate(model, (0, 2), rtol=1e-9, atol=1e-9, **start)
    value = 10 + np.sin(2)
    R, d = definition(joint, [value])
    assert sol["arm.orientation"][-1] == pytest.approx(R, abs=1e-7)
    assert sol["arm.position"][-1] == pytest.approx(d, abs=1e-7)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("planar", [True, False])
def test_gear_reduces_inertia_by_the_square_of_its_ratio(planar, coordinates):
    mb = da.Multibody(planar=planar, gravity=(0, 0) if planar else (0, 0, 0))
    J = {"inertia": 0.3} if planar else {"inertia": (0.3, 0.3, 0.3)}
    x = (1, 0) if planar else (1, 0, 0)
    small, large = (
        mb.body("small", 1.0, **J),
        mb.body("large", 1.0, **{k: np.multiply(v, 4) for k, v in J.items()}, com=x),
    )
    pinion = mb.revolute("pinion", mb.ground, small)
    wheel = mb.revolute("wheel", mb.ground, large, at=x, to=x)
    mb.gear("gear", pinion, wheel, teeth=10, other_teeth=30)
    mb.actuator("motor", pinion, 2.0)
    one = np.eye(3)
    model = mb.equations(coordinates)
    p0 = start_from(mb, model, {k: (one, np.zeros(3)) for k in (-1, 0, 1)})
    sol = da.simulate(model, (0, 8), p0=p0, rtol=1e-9, atol=1e-9)  # many turns
    a = 2.0 / (0.3 + 1.2 / 9)
    assert sol["pinion.angle"][-1] == pytest.approx(a * 32, rel=1e-7)
    assert sol["wheel.angle"][-1] == pytest.approx(-a * 32 / 3, rel=1e-7)


def test_ratio_and_teeth_may_be_parameters():
    mb = da.Multibody(planar=True)
    one, two = (mb.body(name, 1.0, 0.3) for name in ("one", "two"))
    a, b = mb.revolute("a", mb.ground, one), mb.revolute("b", mb.ground, two)
    mb.gear("gear", a, b, mb.parameter("teeth", 10), 30, inner=True)
    model = mb.equations()
    assert numbers(model, "holonomic", p=[3.0, 1.0])[0] == pytest.approx([0.0])
    assert numbers(model.replace({"teeth": 15}), "holonomic", p=[2.0, 1.0])[0] == pytest.approx([0.0])


def test_rack_and_coupling():
    mb = da.Multibody(planar=True, gravity=(0, 0))
    rack, wheel = mb.body("rack", 2.0, 0.1), mb.body("wheel", 1.0, 0.5)
    slide, turn = mb.prismatic("slide", mb.ground, rack, axis="x"), mb.revolute("turn", mb.ground, wheel, at=(0, 1))
    mb.rack("teeth", slide, turn, radius=0.25)
    mb.actuator("motor", turn, 1.0)
    sol = da.simulate(mb.equations(), (0, 2), p0=[0.0, 0.0], rtol=1e-9, atol=1e-9)
    a = 1.0 / (0.5 + 2.0 * 0.25**2)
    assert sol["turn.angle"][-1] == pytest.approx(2 * a, rel=1e-8)
    assert sol["slide.distance"][-1] == pytest.approx(0.5 * a, rel=1e-8)
    mb.coupling("late", slide, turn, ratio=0.25, offset=0.5)
    model = mb.equations(known=False, redundant="keep")
    assert numbers(model, "holonomic", p=[0.5, 0.0])[0] == pytest.approx([0.5, 0.0])


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_disc_rolls_down_a_slope(coordinates, backwards):
    slope, r, m, J = 0.4, 0.3, 2.0, 0.5
    mb = da.Multibody(planar=True)
    disc = mb.body("disc", m, J)
    if backwards:  # the ground rolls on the disc: a disc of the ground on a line of the body
        mb.rolling_disc("roll", disc, mb.ground, radius=r, rotation=-slope, rotation_to=-slope, to=(0, 0))
    else:
        mb.rolling_disc("roll", mb.ground, disc, radius=r, rotation=-slope, rotation_to=-slope)
    model = mb.equations(coordinates)
    if backwards:
        assert len(model.names("v")) - len(model.names("lam")) == 1
        return
    p0 = [0.0, 0.0] if coordinates == "joint" else [r * np.sin(slope), r * np.cos(slope), 0.0]
    sol = da.simulate(model, (0, 3), p0=p0, rtol=1e-9, atol=1e-9)
    way = 9.81 * np.sin(slope) / (1 + J / (m * r**2)) * 9 / 2
    along = np.array([np.cos(slope), -np.sin(slope)])
    centre = sol["disc.position"][-1][:2] - r * np.array([np.sin(slope), np.cos(slope)])
    assert centre @ along == pytest.approx(way, rel=1e-7)
    assert sol["disc.angle"][-1] == pytest.approx(-way / r, rel=1e-7)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_pin_in_slot_moves_as_scotch_yoke(coordinates):
    # a crank turned evenly moves a yoke by the cosine
    mb = da.Multibody(planar=True, gravity=(0, 0))
    crank, yoke = mb.body("crank", 1.0, 0.1), mb.body("yoke", 3.0, 0.1)
    mb.revolute("motor", mb.ground, crank, drive=lambda t: 2 * t)
    mb.prismatic("guide", mb.ground, yoke, axis="x")
    mb.pin_in_slot("slot", yoke, crank, rotation=np.pi / 2, to=(0.5, 0))
    model = mb.equations(coordinates)
    one = np.eye(3)
    poses = {-1: (one, np.zeros(3)), 0: (one, np.zeros(3)), 1: (one, np.array([0.5, 0, 0]))}
    speeds = {"motor.angle_dot": 2.0, "crank.angle_dot": 2.0, "slot.angle_dot": 2.0, "slot.distance_dot": 1.0}
    v0 = [speeds.get(name, 0.0) for name in model.names("v")]
    sol = da.simulate(model, (0, 2), p0=start_from(mb, model, poses), v0=v0, rtol=1e-9, atol=1e-9)
    assert sol["yoke.position"][-1][:2] == pytest.approx([0.5 * np.cos(4), 0], abs=1e-7)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_nut_falls_along_a_screw(coordinates):
    mb = da.Multibody()
    pitch, m, J = 0.05, 2.0, 0.01
    nut = mb.body("nut", m, (J, J, J))
    mb.screw("thread", mb.ground, nut, pitch=mb.parameter("pitch", pitch))
    model = mb.equations(coordinates)
    p0 = [0.0] if coordinates == "joint" else [0, 0, 0, 1, 0, 0, 0]
    sol = da.simulate(model, (0, 2), p0=p0, rtol=1e-9, atol=1e-9)
    drop = -9.81 * 2 / (1 + J / (m * pitch**2))  # g t²/2 with the share of the turning mass
    assert sol["nut.position"][-1] == pytest.approx([0, 0, drop], abs=1e-7)
    turned = Rotation.from_rotvec([0, 0, drop / pitch]).as_matrix()
    assert sol["nut.orientation"][-1] == pytest.approx(turned, abs=1e-6)


# -- Euler parameters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["spherical", "free", "own"])
def test_euler_parameters_turn_on_and_on(kind):
    # a symmetric top without forces: precession at J₃ ω₃ / J₁ in closed form, through all orientations
    mb = da.Multibody(gravity=(0, 0, 0))
    J1, J3, w = 0.5, 0.8, np.array([3.0, 0.0, 7.0])
    top = mb.body("top", 1.0, (J1, J1, J3))
    if kind != "own":
        getattr(mb, kind)("ball", mb.ground, top)
    model = mb.equations()
    p0 = np.zeros(len(model.names("p")))
    p0[-4] = 1.0
    v0 = np.concatenate([np.zeros(len(model.names("v")) - 3), w])
    T = 20.0  # some forty turns
    sol = da.simulate(model, (0, T), p0=p0, v0=v0, rtol=1e-10, atol=1e-10)
    L = np.array([J1 * w[0], 0, J3 * w[2]])
    R = Rotation.from_rotvec(L / J1 * T) * Rotation.from_rotvec([0, 0, (1 - J3 / J1) * w[2] * T])
    assert sol["top.orientation"][-1] == pytest.approx(R.as_matrix(), abs=1e-6)


def test_start_from_all_orientations():
    # the same motion seen from turned axes, half turns among them, gives the turned result
    results = []
    turns = [np.zeros(3), [np.pi, 0, 0], [0, np.pi, 0], [0, 0, np.pi], [1.2, -2.0, 0.7]]
    for turn in turns:
        S = Rotation.from_rotvec(turn)
        mb = da.Multibody(gravity=S.apply([0, 0, -9.81]))
        top = mb.body("top", 1.0, (0.3, 0.4, 0.5), com=(0.1, 0.2, 0.7))
        mb.spherical("ball", mb.ground, top)
        e = np.roll((S * Rotation.from_rotvec([0.5, 0.2, 0.1])).as_quat(), 1)
        sol = da.simulate(mb.equations(), (0, 2), p0=e, v0=[1.0, 2.0, 3.0], rtol=1e-10, atol=1e-10)
        results.append(S.inv().as_matrix() @ sol["top.orientation"][-1])
    for other in results[1:]:
        assert other == pytest.approx(results[0], abs=1e-7)


def test_frames_on_frames():
    mb = da.Multibody()
    body = mb.body("body", 1.0, (1, 1, 1))
    turned = Rotation.from_rotvec([0.1, 0.2, 0.3]).as_matrix()
    frame = body.frame(at=(1, 2, 3), rotation=turned).frame(at=(0, 1, 0), rotation=(0.5, 0, 0)).frame(at=(1, 0, 0))
    half = Rotation.from_rotvec([0.5, 0, 0]).as_matrix()
    steps = [(turned, np.array([1, 2, 3])), (half, np.array([0, 1, 0])), (np.eye(3), np.array([1, 0, 0]))]
    expected = times(times(steps[0], steps[1]), steps[2])
    R, x = pose(frame)
    assert expected[0] == pytest.approx(R, abs=1e-15)
    assert expected[1] == pytest.approx(x, abs=1e-15)
    assert isinstance(frame, Frame)
