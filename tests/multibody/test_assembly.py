"""Initial assembly, against closed forms and random closed chains."""

import numpy as np
import pytest
from linkages import circles, coordinates, four_bar, point_of, random_loop, stewart
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.errors import CannotAssemble, ModelError, OptionError


@pytest.mark.parametrize("seed", range(12))
def test_four_bars_by_intersection_of_circles(seed):
    rng = np.random.default_rng(seed)
    crank, coupler, rocker, ground = 1.0, *rng.uniform(2.0, 3.0, 2), 3.2
    mb = four_bar(crank, coupler, rocker, ground, spatial=bool(seed % 2))
    for angle in rng.uniform(-np.pi, np.pi, 5):
        tip = crank * np.array([np.cos(angle), np.sin(angle)])
        wanted = circles(tip, coupler, (ground, 0), rocker)
        assembly = mb.assemble({"motor.angle": angle})
        found = point_of(assembly, "coupler", (coupler, 0) if mb.planar else (coupler, 0, 0))[:2]
        assert min(np.linalg.norm(found - w) for w in wanted) < 1e-12
        assert assembly["motor.angle"] == angle
        assert assembly.residual < 1e-14 * 10
        assert assembly.given == ("motor.angle",)
        assert "elbow.angle" in assembly.found
        assert "base.angle_dot" in assembly.found


@pytest.mark.parametrize("branch", [0, 1])
def test_positions_of_bodies_choose_the_branch(branch):
    angle, lengths = 0.9, (1.0, 3.0, 2.5, 3.0)
    tip = np.array([np.cos(angle), np.sin(angle)])
    wanted = circles(tip, 3.0, (3.0, 0), 2.5)[branch]
    about = {"position": tip + 0.1, "orientation": np.arctan2(*(wanted - tip)[::-1]) + 0.2}
    mb = four_bar(*lengths, guess={"coupler": about})
    assembly = mb.assemble({"motor.angle": angle})
    assert point_of(assembly, "coupler", (3.0, 0)) == pytest.approx(wanted, abs=1e-12)
    # nothing but the guess tells the crank's angle
    about = {"position": tip, "orientation": np.arctan2(*(wanted - tip)[::-1])}
    assert four_bar(*lengths, guess={"coupler": about}).assemble()["motor.angle"] == pytest.approx(angle, abs=1e-8)


def test_what_is_closed_already_stays_as_it_is():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    first = mb.assemble({"motor.angle": 0.9})
    named = dict(zip(first.names, first.p, strict=True))
    again = mb.assemble(named)
    assert np.array_equal(first.p, again.p)
    # little is changed where little is wrong, and in no direction that closure does not ask for
    bodies = {
        b: {"position": first[f"{b}.position"] + 1e-4, "orientation": first[f"{b}.angle"]}
        for b in ("crank", "coupler", "rocker")
    }
    near = four_bar(1.0, 3.0, 2.5, 3.0, guess=bodies).assemble()
    assert near.p == pytest.approx(first.p, abs=1e-3)


def test_slider_crank_at_all_angles():
    mb = da.Multibody(planar=True)
    crank, rod, slider = (mb.body(name, 1.0, 0.1) for name in ("crank", "rod", "slider"))
    mb.revolute("motor", mb.ground, crank)
    mb.revolute("pin", crank, rod, at=(1, 0))
    mb.revolute("wrist", rod, slider, at=(3, 0))
    mb.prismatic("slide", mb.ground, slider)
    for angle in np.linspace(-3, 3, 13):
        assembly = mb.assemble({"motor.angle": angle, "motor.speed": 2.0})
        root = np.sqrt(9 - np.sin(angle) ** 2)
        sign = np.sign(assembly["slide.distance"] - np.cos(angle))
        assert assembly["slide.distance"] == pytest.approx(np.cos(angle) + sign * root, abs=1e-12)
        rate = -np.sin(angle) - sign * np.sin(angle) * np.cos(angle) / root
        assert assembly["slide.distance_dot"] == pytest.approx(2 * rate, abs=1e-11)
    # the other way round: the distance is known (of a joint where the loop may be cut)
    assembly = mb.assemble({"slide.distance": 3.0})
    assert np.hypot(*(assembly["rod.position"] - [3.0, 0.0])) == pytest.approx(3.0, abs=1e-12)


def test_velocities_are_derivatives_of_positions():
    mb = four_bar(1.0, 3.0, 2.5, 3.0, spatial=True)
    at = mb.assemble({"motor.angle": 1.0, "motor.angle_dot": 1.0})
    h = 1e-5
    near = [mb.assemble({"motor.angle": 1.0 + s * h}) for s in (-1, 1)]
    for name in ("rocker.position", "rocker.com", "coupler.com", "pin.angle", "base.angle", "elbow.angle"):
        rate = {"pin": "pin.angle_dot", "base": "base.angle_dot", "elbow": "elbow.speed"}.get(name.split(".")[0])
        rate = rate or name.replace("position", "velocity").replace("com", "com_velocity")
        slope = (np.array(near[1][name]) - np.array(near[0][name])) / (2 * h)
        assert at[rate] == pytest.approx(slope, abs=1e-8), name


def test_least_velocities_where_more_are_free():
    mb = da.Multibody(planar=True)
    a, b, c = (mb.body(name, 1.0, 0.1) for name in "abc")
    for name, body in zip(("ja", "jb", "jc"), (a, b, c), strict=True):
        mb.revolute(name, mb.ground, body)
    mb.coupling("k", "ja", "jb", ratio=2.0)
    assembly = mb.assemble({"ja.speed": 4.0, "jb.angle": 0.3})
    assert assembly.v == pytest.approx([4.0, 2.0, 0.0])
    assert assembly["ja.angle"] == pytest.approx(0.6)


KINDS = [
    ("revolute", "spherical", "spherical", "revolute"),
    ("revolute", "universal", "spherical", "prismatic"),
    ("revolute", "cylindrical", "universal", "cylindrical", "revolute"),
    ("spherical", "prismatic", "spherical"),
    ("universal", "prismatic", "spherical", "revolute"),
    ("revolute",) * 7,
    ("cylindrical",) * 4,
]


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "-".join(kind[:3] for kind in kinds))
@pytest.mark.parametrize("seed", range(3))
def test_random_spatial_loops_close(kinds, seed):
    mb, values = random_loop(np.random.default_rng(seed), kinds)
    # one joint is known where the loop can be closed; all others are found
    known = coordinates(kinds[0], "j0", values["j0"][1])
    assembly = mb.assemble(known)
    for joint in mb.joints:
        A, B = joint.first, joint.second
        ends = [point_of(assembly, frame.body.name, frame.at) if not frame.body.is_ground else np.array(frame.at)
                for frame in (A, B)]  # fmt: skip
        if joint.kind.name in ("revolute", "spherical", "universal"):
            assert np.linalg.norm(ends[0] - ends[1]) < 1e-10
        axes = [(np.eye(3) if f.body.is_ground else assembly[f"{f.body.name}.orientation"]) @ f.rotation
                if f.rotation is not None else assembly[f"{f.body.name}.orientation"] for f in (A, B)]  # fmt: skip
        if joint.kind.name in ("revolute", "prismatic", "cylindrical"):
            assert np.linalg.norm(np.cross(axes[0][:, 2], axes[1][:, 2])) < 1e-10
    for name, value in known.items():
        assert assembly[name] == pytest.approx(value, abs=1e-12)
    for name in assembly.names:
        if name.endswith(".e0"):
            first = assembly.names.index(name)
            assert np.linalg.norm(assembly.p[first : first + 4]) == pytest.approx(1.0, abs=1e-15)


def test_all_coordinates_of_a_random_loop_are_read_back():
    kinds = KINDS[2]
    mb, values = random_loop(np.random.default_rng(5), kinds)
    known = {}
    for joint in list(values)[:-1]:
        known |= coordinates(values[joint][0], joint, values[joint][1])
    assembly = mb.assemble(known)
    for name, value in coordinates(values["j4"][0], "j4", values["j4"][1]).items():  # closed by what was known
        assert assembly[name] == pytest.approx(value, abs=1e-9)


def test_legs_of_a_stewart_platform():
    mb, feet, hips = stewart()
    R = Rotation.from_rotvec([0.1, -0.2, 0.15]).as_matrix()
    x = np.array([0.05, -0.1, 1.1])
    moving = {"platform.velocity": (0.1, 0.2, -0.3), "platform.angular_velocity": (0.3, 0, -0.1)}
    assembly = mb.assemble({"platform.position": x, "platform.orientation": R, **moving})
    assert assembly["platform.orientation"] == pytest.approx(R, abs=1e-12)
    for k, (foot, hip) in enumerate(zip(feet, hips, strict=True)):
        leg = x + R @ hip - foot
        assert abs(assembly[f"leg{k}.distance"]) == pytest.approx(np.linalg.norm(leg), abs=1e-11)
        rate = np.array([0.1, 0.2, -0.3]) + np.cross([0.3, 0, -0.1], R @ hip)
        along = rate @ leg / np.linalg.norm(leg) * np.sign(assembly[f"leg{k}.distance"])
        assert assembly[f"leg{k}.distance_dot"] == pytest.approx(along, abs=1e-10)
    # lengths in, pose out
    lengths = {f"leg{k}.distance": assembly[f"leg{k}.distance"] for k in range(6)}
    back = mb.assemble(lengths)
    for k, (foot, hip) in enumerate(zip(feet, hips, strict=True)):
        hip_in_world = point_of(back, "platform", hip)
        assert np.linalg.norm(hip_in_world - foot) == pytest.approx(abs(lengths[f"leg{k}.distance"]), abs=1e-10)


@pytest.mark.parametrize("spatial", [False, True])
def test_all_sets_of_coordinates_start_from_the_same(spatial):
    mb = four_bar(1.0, 3.0, 2.5, 3.0, spatial=spatial)
    known = {"motor.angle": 1.0, "motor.speed": 2.0}
    joint, absolute, mixed = (mb.assemble(known, c) for c in ("joint", "absolute", "mixed"))
    some = mb.assemble(known, "mixed", absolute=["coupler"])
    for assembly in (absolute, mixed, some):
        for name in {*joint.keys()} & {*assembly.keys()}:
            assert np.allclose(assembly[name], joint[name], atol=1e-14), name
    place = absolute.names.index("rocker.com_x")
    assert absolute.p[place : place + 2] == pytest.approx(joint["rocker.com"][:2], abs=1e-14)
    place = absolute.rates.index("rocker.com_x_dot")
    assert absolute.v[place : place + 2] == pytest.approx(joint["rocker.com_velocity"][:2], abs=1e-14)
    if spatial:
        place = absolute.names.index("coupler.e0")
        e = absolute.p[place : place + 4]
        R = Rotation.from_quat([*e[1:], e[0]]).as_matrix()
        assert np.allclose(R, joint["coupler.orientation"], atol=1e-14)
        place = absolute.rates.index("coupler.wx")
        w = absolute.v[place : place + 3]
        assert R @ w == pytest.approx(joint["coupler.angular_velocity"], abs=1e-14)


def test_models_start_where_they_were_assembled():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    mb.joints[0].q0, mb.joints[0].v0 = (1.0,), (2.0,)
    ends = []
    for c in ("joint", "absolute", "mixed"):
        model = mb.equations(c)
        solution = da.simulate(model, (0, 0.3), rtol=1e-9, atol=1e-9)
        assert solution["crank.angle"][0] == pytest.approx(1.0, abs=1e-12)
        ends.append(np.concatenate([solution["rocker.com"][-1], solution["coupler.com"][-1]]))
    assert ends[1] == pytest.approx(ends[0], abs=1e-7)
    assert ends[2] == pytest.approx(ends[0], abs=1e-7)
    assert mb.equations("joint", known=False).start == {}
    assert mb.equations("joint", known={"motor.angle": 0.5}).start["p0"][0] == 0.5


def test_states_of_elements_start_too():
    mb = da.Multibody(planar=True)
    arm = mb.body("arm", 1.0, 0.1)
    mb.revolute("motor", mb.ground, arm, q0=0.4)
    mb.actuator("drive", "motor", states={"current": 0.7}, dynamics=lambda s: [-s["drive.current"]],
                force=lambda s: [s["drive.current"]])  # fmt: skip
    assert mb.equations().start["r0"].tolist() == [0.7]


# -- impossible, and nearly so -------------------------------------------------------------------------------------


def test_loops_that_cannot_close_are_named():
    with pytest.raises(CannotAssemble, match=r"joint 'pin' cannot be closed \(its loop: .*motor.*a gap of 2") as caught:
        four_bar(1.0, 1.0, 1.0, 5.0).assemble()
    assert caught.value.joint == "pin"
    assert caught.value.distance == pytest.approx(2.0, abs=1e-6)
    ends = [point_of(caught.value.assembly, *end) for end in (("coupler", (1.0, 0)), ("rocker", (1.0, 0)))]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(2.0, abs=1e-6)
    with pytest.raises(CannotAssemble, match="check the lengths"):
        four_bar(1.0, 1.0, 1.0, 5.0).assemble({"motor.angle": 1.0})
    with pytest.raises(CannotAssemble, match="'pin'"):
        four_bar(1.0, 1.0, 1.0, 5.0).equations("absolute")


def test_of_two_loops_the_impossible_one_is_named():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    link = mb.body("link", 1.0, 0.1)
    mb.revolute("far", mb.ground, link, at=(0, 20))
    mb.revolute("short", link, mb.bodies[1], at=(1, 0), to=(1, 1))
    with pytest.raises(CannotAssemble) as caught:
        mb.assemble()
    assert caught.value.joint == "short" or "far" in str(caught.value)
    assert caught.value.distance > 5


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-8])
def test_nearly_impossible_loops_are_impossible(gap):
    with pytest.raises(CannotAssemble) as caught:
        four_bar(1.0, 1.0, 1.0, 3.0 + gap).assemble()
    assert caught.value.distance == pytest.approx(gap, rel=1e-3)


@pytest.mark.parametrize("spare", [0.0, 1e-12, 1e-9, 1e-6])
def test_nearly_stretched_loops_are_possible(spare):
    assembly = four_bar(1.0, 1.0, 1.0, 3.0 - spare).assemble()
    assert assembly.residual < 1e-10
    assert assembly["coupler.angle"] % np.pi == pytest.approx(0.0, abs=2e-5 + 2 * np.sqrt(spare)) or assembly[
        "coupler.angle"
    ] % np.pi == pytest.approx(np.pi, abs=2e-5 + 2 * np.sqrt(spare))


def test_dead_centres():
    """Coupler and rocker in one line: the crank's angle decides, and only zero is a possible rate."""
    crank, coupler, rocker, ground = 2.0, 3.0, 1.5, 3.0
    angle = np.arccos((crank**2 + ground**2 - (coupler + rocker) ** 2) / (2 * crank * ground))
    mb = four_bar(crank, coupler, rocker, ground)
    assembly = mb.assemble({"motor.angle": angle, "motor.speed": 0.0})
    assert assembly.residual < 1e-10
    assert np.linalg.norm(assembly["coupler.position"] - [ground, 0]) == pytest.approx(coupler + rocker)
    with pytest.raises(CannotAssemble, match=r"known rates \(motor.angle_dot\) contradict"):
        mb.assemble({"motor.angle": angle, "motor.speed": 1.0})
    with pytest.raises(CannotAssemble, match="out of reach"):
        mb.assemble({"motor.angle": angle + 1e-3})


def test_contradicting_values_are_named():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    with pytest.raises(CannotAssemble, match="known values contradict each other") as caught:
        mb.assemble({"motor.angle": 0.2, "base.angle": 1.9})
    assert set(caught.value.values) == {"motor.angle", "base.angle"}
    good = mb.assemble({"motor.angle": 0.2})
    with pytest.raises(CannotAssemble) as caught:
        mb.assemble({"motor.angle": 0.2, "base.angle": good["base.angle"], "crank.angle": 0.9})
    assert set(caught.value.values) >= {"crank.angle"}
    with pytest.raises(CannotAssemble, match="rates"):
        mb.assemble({"motor.angle": 0.2, "motor.speed": 1.0, "base.speed": 7.0})


def test_angles_may_be_off_by_turns():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    good = mb.assemble({"motor.angle": 0.2})
    again = mb.assemble(
        {"motor.angle": 0.2, "pin.angle": good["pin.angle"] + 2 * np.pi, "crank.angle": 0.2 - 2 * np.pi}
    )
    assert again["rocker.com"] == pytest.approx(good["rocker.com"], abs=1e-10)


# -- trees, drives, couplings --------------------------------------------------------------------------------------


def test_trees_take_no_search(monkeypatch):
    import dalembert.multibody.assembly as module

    def refuse(*arguments, **options):
        raise AssertionError("no equations are needed")

    monkeypatch.setattr(module, "Closing", refuse)
    rng = np.random.default_rng(1)
    mb = da.Multibody()
    before, turned, place = mb.ground, Rotation.identity(), np.zeros(3)
    q, axes, offsets = rng.uniform(-3, 3, 300), rng.standard_normal((300, 3)), rng.standard_normal((300, 3))
    for k in range(300):
        body = mb.body(f"b{k}", 1.0, (0.1, 0.1, 0.1))
        mb.revolute(f"j{k}", before, body, axis=axes[k], at=offsets[k], q0=q[k], v0=0.1 * k)
        place = place + turned.apply(offsets[k])
        turned = turned * Rotation.from_rotvec(q[k] * axes[k] / np.linalg.norm(axes[k]))
        before = body
    floating = mb.body("floating", 1.0, (1, 1, 1), com=(1, 0, 0), position=(1, 2, 3), orientation=(0, 0, np.pi / 2))
    assembly = mb.assemble()
    assert np.array_equal(assembly.p[:300], q)
    assert assembly.v[:300] == pytest.approx(0.1 * np.arange(300))
    assert assembly["b299.position"] == pytest.approx(place, abs=1e-11)
    assert assembly["b299.orientation"] == pytest.approx(turned.as_matrix(), abs=1e-11)
    assert assembly[f"{floating.name}.com"] == pytest.approx([1, 3, 3])
    assert assembly["floating.position"] == pytest.approx([1, 2, 3])
    known = mb.assemble({"j7.angle": 0.25, "floating.com_x": 9.0})
    assert known["j7.angle"] == 0.25
    assert known["floating.com"][0] == 9.0


def test_numbers_agree_with_expressions():
    """Poses and twists from arrays, against what results of a model say."""
    mb = da.Multibody()
    a, b, c, d = (mb.body(name, 1.0, (0.1, 0.2, 0.25), com=(0.1, 0.2, 0.3)) for name in "abcd")
    mb.universal("u", mb.ground, a, at=(1, 0, 0), q0=(0.3, -0.4), v0=(1.0, 2.0))
    mb.screw("s", a, b, pitch=0.3, axis=(1, 1, 0), at=(0, 1, 0), rotation=(0.1, 0.2, 0.3), q0=0.7, v0=0.3)
    e = np.array([0.5, 0.1, -0.4, 0.3]) / np.linalg.norm([0.5, 0.1, -0.4, 0.3])
    mb.spherical("ball", c, b, to=(0, 0, 1), at=(0.2, 0, 0), q0=e, v0=(0.1, 0.2, 0.3))  # run through backwards
    mb.plane("p", c, d, q0=(0.1, 0.2, 0.3), v0=(1, 2, 3))
    assembly = mb.assemble()
    model = mb.equations("joint")
    solution = da.simulate(model, (0, 1e-3), rtol=1e-9, atol=1e-9)
    for name in ("a.position", "b.com", "c.position", "d.com", "c.orientation", "d.velocity", "c.angular_velocity"):
        assert solution[name][0] == pytest.approx(assembly[name], abs=1e-11), name
    # of the second body relative to the first, whichever way the tree runs
    R = assembly["c.orientation"].T @ assembly["b.orientation"]
    assert np.allclose(R, Rotation.from_quat([*e[1:], e[0]]).as_matrix(), atol=1e-12)
    assert [assembly[f"ball.e{k}"] for k in range(4)] == pytest.approx(e, abs=1e-12)
    assert [assembly[f"ball.w{k}"] for k in "xyz"] == pytest.approx([0.1, 0.2, 0.3], abs=1e-12)


def test_driven_joints_are_where_their_drive_is():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    mb.joints[0].drive = "motor.drive"
    mb.inputs["motor.drive"] = lambda t: 0.5 + 3 * t
    assembly = mb.assemble(t=0.1)
    assert assembly["motor.angle"] == pytest.approx(0.8)
    assert assembly["motor.speed"] == pytest.approx(3.0)
    plain = four_bar(1.0, 3.0, 2.5, 3.0).assemble({"motor.angle": 0.8, "motor.speed": 3.0})
    assert assembly["rocker.com_velocity"] == pytest.approx(plain["rocker.com_velocity"], abs=1e-10)
    with pytest.raises(CannotAssemble, match="driven"):
        mb.assemble({"motor.angle": 2.0})


def test_gears_and_rolling_discs():
    mb = da.Multibody(planar=True)
    one, two, disc = (mb.body(name, 1.0, 0.1) for name in ("one", "two", "disc"))
    mb.revolute("a", mb.ground, one)
    mb.revolute("b", mb.ground, two, at=(1, 0))
    mb.gear("mesh", "a", "b", 20, 10)
    mb.rolling_disc("roll", mb.ground, disc, radius=0.5)
    assembly = mb.assemble({"a.angle": 3.0, "a.speed": 1.0, "roll.distance": 2.0, "roll.distance_dot": -1.0})
    assert assembly["b.angle"] == pytest.approx(-6.0)
    assert assembly["b.speed"] == pytest.approx(-2.0)
    assert assembly["roll.angle"] == pytest.approx(-4.0)
    assert assembly["roll.angle_dot"] == pytest.approx(2.0)
    assert assembly["disc.position"] == pytest.approx([2.0, 0.5])


def test_long_closed_chains():
    """A ring of 120 links in space, far from closed at the start."""
    mb = da.Multibody()
    bodies = [mb.body(f"b{k}", 1.0, (0.1, 0.1, 0.1)) for k in range(120)]
    mb.spherical("first", mb.ground, bodies[0])
    for k in range(119):
        mb.spherical(f"j{k}", bodies[k], bodies[k + 1], at=(1, 0, 0))
    mb.spherical("last", bodies[-1], mb.ground, at=(1, 0, 0), to=(30, 10, 0))
    assembly = mb.assemble()
    assert point_of(assembly, "b119", (1, 0, 0)) == pytest.approx([30, 10, 0], abs=1e-9)


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"moter.angle": 1.0}, "did you mean 'motor.angle'"),
        ({"motor.angle": "x"}, "is not a number"),
        ({"motor.angle": np.nan}, "finite"),
        ({"motor.angle": [1, 2]}, "is not a number"),
        ({"crank.position": 3.0}, "2 finite components"),
        ({"crank.orientation": [[1, 0], [0, 1]]}, "one angle"),
        ({3: 1.0}, "not a name"),
        ([1.0], "must map names"),
    ],
)
def test_bad_values(known, text):
    with pytest.raises(ModelError, match=text):
        four_bar(1.0, 3.0, 2.5, 3.0).assemble(known)


def test_all_faults_are_collected_and_options_checked():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    with pytest.raises(ModelError) as caught:
        mb.assemble({"a.b": 1.0, "motor.angle": None})
    assert len(caught.value.faults) == 2
    with pytest.raises(OptionError, match="coordinates"):
        mb.assemble(coordinates="polar")
    with pytest.raises(OptionError, match="t="):
        mb.assemble(t="now")
    with pytest.raises(KeyError, match="did you mean"):
        mb.assemble()["moter.angle"]
    ball = da.Multibody()
    body = ball.body("body", 1.0, (1, 1, 1))
    ball.spherical("ball", ball.ground, body)
    with pytest.raises(ModelError, match=r"all of e0, e1, e2, e3 must be given"):
        ball.assemble({"ball.e1": 0.5})
    with pytest.raises(ModelError, match="length 1"):
        ball.assemble({f"ball.e{k}": 1.0 for k in range(4)})
