"""Robots become bodies and joints: which calls are made, and what comes of them."""

import math

import numpy as np
import pytest
from robots import ARM, INERTIAL, Recorder, joint, link, robot

import dalembert as da
from dalembert.errors import ModelError, OptionError, UrdfError, UrdfWarning
from dalembert.multibody.shapes import Box
from dalembert.multibody.urdf import build, read_urdf


def recorded(text, **options):
    mb = Recorder()
    build(read_urdf(text), mb, **options)
    return mb.calls


def test_calls_of_a_chain():
    calls = recorded(ARM)
    assert [(call.name, call.method) for call in calls.values()] == [
        ("base", "body"), ("upper", "body"), ("lower", "body"), ("base_base", "fixed"), ("shoulder", "revolute"),
        ("elbow", "revolute"),
    ]  # fmt: skip
    assert calls["upper"].mass == 2
    np.testing.assert_array_equal(calls["upper"].inertia, np.diag([0.3, 0.4, 0.5]))
    assert calls["base_base"].arguments == ("ground", calls["base"])
    assert calls["elbow"].arguments == (calls["upper"], calls["lower"])
    np.testing.assert_array_equal(calls["elbow"].axis, [0, 0, 1])
    assert calls["elbow"].rotation_to is None


def test_all_kinds_of_joints():
    names = "abcdefg"
    kinds = ["revolute", "continuous", "prismatic", "planar", "spherical", "floating", "fixed"]
    inside = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="1 0 0"/><limit lower="-1" upper="1"/>'
    inside += '<dynamics damping="0.5" friction="0.25"/>'
    parts = [joint(f"to_{name}", "root", name, kind, inside) for name, kind in zip(names, kinds, strict=True)]
    with pytest.warns(UrdfWarning, match="damping of a planar joint is ignored"):
        found = read_urdf(robot(link("root"), *map(link, names), *parts))
    mb = Recorder()
    build(found, mb, friction=True)
    made = ["revolute", "revolute", "prismatic", "plane", "spherical", "free", "fixed"]
    assert [mb.calls[f"to_{name}"].method for name in names] == made
    for name in names:
        assert mb.calls[f"to_{name}"].at.tolist() == [1, 2, 3]
    assert mb.calls["to_a"].limits == (-1, 1)
    assert mb.calls["to_a"].damping == 0.5
    assert not hasattr(mb.calls["to_b"], "limits")
    assert not hasattr(mb.calls["to_f"], "damping")
    assert mb.calls["to_c_friction"].arguments == (mb.calls["to_c"], 0.25)
    plane, rotation = mb.calls["to_d"], found.joint("to_d").origin.rotation
    np.testing.assert_allclose(plane.rotation @ [0, 0, 1], rotation @ [1, 0, 0], atol=1e-15)  # its z is the axis
    np.testing.assert_allclose(plane.rotation_to @ [0, 0, 1], [1, 0, 0], atol=1e-15)
    bare = Recorder()
    build(found, bare, damping=False)
    assert not hasattr(bare.calls["to_a"], "damping")
    assert "to_a_friction" not in bare.calls


def test_free_bases():
    calls = recorded(robot(link("a")), fixed_base=False)
    assert calls["a_base"].method == "free"
    assert recorded(robot(link("a")), base="table")["a_base"].arguments[0] == "table"


def test_names_that_must_change():
    text = robot(
        link("a.b"), link("a_b"), link("ground"), link("x"), joint("x", "a.b", "a_b"), joint("a.b", "a_b", "ground"),
        joint("x_joint", "ground", "x"),
    )  # fmt: skip
    mb = Recorder()
    made = build(read_urdf(text), mb, prefix="left.")
    assert all(name.startswith("left.") for name in mb.calls)
    mb = Recorder()
    made = build(read_urdf(text), mb)
    assert list(made.bodies) == ["a.b", "a_b", "ground", "x"]
    assert [body.name for body in made.bodies.values()] == ["a_b", "a_b_2", "ground_2", "x"]
    assert [made.joints[name].name for name in ("x", "a.b", "x_joint")] == ["x_joint", "a_b_joint", "x_joint_2"]


def test_mimics_become_couplings():
    follows = joint("k", "a", "c", inside='<mimic joint="j" multiplier="-2" offset="0.5"/>')
    text = robot(link("a"), link("b"), link("c"), follows, joint("j", "a", "b"))
    calls = recorded(text)
    coupling = calls["k_mimic"]
    assert coupling.method == "coupling"
    assert coupling.arguments == (calls["k"], calls["j"])
    assert (coupling.ratio, coupling.offset) == (-2, 0.5)
    assert "k_mimic" not in recorded(text, mimic=False)


def test_shapes_go_with_the_bodies():
    shape = '<visual><geometry><box size="1 2 3"/></geometry></visual>'
    calls = recorded(robot(link("a", shape * 2), link("b"), joint("j", "a", "b")))
    assert [type(one) for one in calls["a"].shape] == [Box, Box]
    assert calls["b"].shape is None


# -- links without mass ----------------------------------------------------------------------------------------------

FINGERS = robot(
    link("hand", ""), link("finger", ""), link("tip", ""), joint("j", "hand", "finger"),
    joint("k", "finger", "tip", "prismatic", '<axis xyz="0 1 0"/><mimic joint="j" multiplier="2" offset="0.5"/>'),
)  # fmt: skip


def test_nothing_moves_without_mass():
    with pytest.raises(UrdfError, match="links without mass move freely") as caught:
        recorded(FINGERS)
    assert len(caught.value.faults) == 2
    assert "line 5, joint 'j': it moves the link 'finger' (line 3)" in caught.value.faults[0]
    assert "massless='lock'" in caught.value.faults[0]
    assert recorded(FINGERS, massless="keep")["j"].method == "revolute"


def test_locked_joints_are_where_mimics_put_them():
    calls = recorded(FINGERS, massless="lock")
    assert [calls[name].method for name in "jk"] == ["fixed", "fixed"]
    assert calls["k"].at.tolist() == [0, 0.5, 0]
    assert "k_mimic" not in calls
    assert recorded(FINGERS, massless="lock", mimic=False)["k"].at.tolist() == [0, 0, 0]


def test_long_chains_of_mimics():
    n = 5000
    parts = [joint(f"j{i}", "l0", f"l{i}", inside=f'<mimic joint="j{i - 1}" offset="0.5"/>') for i in range(1, n)]
    parts[0] = joint("j1", "l0", "l1", "prismatic")
    text = robot(*(link(f"l{i}", "") for i in range(n)), *reversed(parts))
    calls = recorded(text.replace("revolute", "prismatic"), massless="lock")
    assert calls[f"j{n - 1}"].method == "fixed"
    assert calls[f"j{n - 1}"].at.tolist() == [0.5 * (n - 2), 0, 0]
    assert recorded(text.replace('<link name="l7">', '<link name="l7">' + INERTIAL))["j1"].method == "prismatic"


def test_what_holds_links_without_mass():
    beyond = [link("mass"), joint("m", "tip", "mass", "fixed")]
    assert recorded(FINGERS.replace("</robot>", "".join(beyond) + "</robot>"))["j"].method == "revolute"
    follower = FINGERS.replace('<link name="tip"></link>', "").replace('child link="tip"', 'child link="mass"')
    follower = follower.replace('parent link="finger"', 'parent link="hand"').replace(
        "</robot>", link("mass") + "</robot>"
    )
    calls = recorded(follower)  # the one that follows has mass: so the other is held, too
    assert [calls[name].method for name in "jk"] == ["revolute", "prismatic"]
    with pytest.raises(UrdfError, match="'finger'"):
        recorded(follower, mimic=False)
    loop = '<loop_joint name="l" type="spherical"><link1 link="tip"/><link2 link="hand"/></loop_joint></robot>'
    closed = FINGERS.replace("</robot>", loop)
    assert recorded(closed)["l"].method == "spherical"
    with pytest.raises(UrdfError, match="'finger'"):
        recorded(closed, loops=False)


def test_free_bases_need_mass():
    with pytest.raises(UrdfError, match="line 2, link 'base': the base is to move freely, but has no mass"):
        recorded(robot(link("base", ""), link("arm"), joint("j", "base", "arm")), fixed_base=False)
    fixed = robot(
        link("base", ""), link("body"), link("arm"), joint("f", "base", "body", "fixed"), joint("j", "body", "arm")
    )
    assert recorded(fixed, fixed_base=False)["base_base"].method == "free"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"fixed_base": "yes"}, "fixed_base='yes' must be True or False"),
        ({"massless": None}, "massless=None must be"),
        ({"prefix": 3}, "prefix=3"),
        ({"loops": 1}, "loops=1"),
    ],
)
def test_options_of_build(options, what):
    with pytest.raises(OptionError, match=what):
        recorded(ARM, **options)


def test_what_is_no_robot():
    with pytest.raises(ModelError, match="read_urdf"):
        build(ARM, Recorder())


# -- with a real system ----------------------------------------------------------------------------------------------


def test_a_pendulum_swings():
    rod = '<inertial><origin xyz="0 0 -0.5"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.01"/></inertial>'
    text = robot(
        link("base", ""), link("rod", rod),
        joint("hinge", "base", "rod", "continuous", '<origin rpy="0.4 0 0"/><axis xyz="1 0 0"/>'),
    )  # fmt: skip
    mb = da.Multibody.from_urdf(text, gravity=(0, 0, -10))
    assert repr(mb) == "Multibody('r': 2 bodies, 2 joints, spatial)"
    model = mb.equations("joint")
    sol = da.simulate(model, (0, 1), p0=[1.0], v0=[0.0], rtol=1e-9, atol=1e-10)
    inertia, moment = 0.1 + 2 * 0.25, 2 * 10 * 0.5
    energy = inertia * sol["hinge.angle_dot"] ** 2 / 2 - moment * np.cos(sol["hinge.angle"] + 0.4)
    np.testing.assert_allclose(energy, -moment * math.cos(1.4), atol=1e-6)


def test_from_urdf_refuses_what_the_reader_refuses():
    with pytest.raises(UrdfError, match="negative"):
        da.Multibody.from_urdf(robot(link("a", INERTIAL.replace('"2"', '"-2"'))))
    with pytest.raises(UrdfError, match="without mass"):
        da.Multibody.from_urdf(FINGERS)
    with pytest.raises(OptionError):
        da.Multibody.from_urdf(ARM, fixed_base="perhaps")
    with pytest.raises(OptionError, match="did you mean massless="):
        da.Multibody.from_urdf(ARM, masless="lock")
    with pytest.raises(OptionError, match=r"it takes check_inertia, damping, .* prefix"):
        da.Multibody.from_urdf(ARM, base=None)


def test_from_urdf_passes_options_on():
    assert len(da.Multibody.from_urdf(FINGERS, massless="lock").joints) == 3
    follows = ARM.replace('<axis xyz="0 0 1"/></joint>\n</robot>', '<mimic joint="nobody"/></joint>\n</robot>')
    with pytest.raises(UrdfError, match="mimic=False"):
        da.Multibody.from_urdf(follows)
    assert not da.Multibody.from_urdf(follows, mimic=False).elements


def test_implausible_inertias_are_taken_over():
    text = robot(link("a"), link("b", INERTIAL.replace('"0.5"', '"5"')), joint("j", "a", "b"))
    with pytest.warns(UrdfWarning, match="triangle inequality"):
        mb = da.Multibody.from_urdf(text)
    assert mb.bodies[1].inertia == (0.3, 0.0, 0.0, 0.4, 0.0, 5.0)
    model = mb.equations("joint")
    sol = da.simulate(model, (0, 1), p0=[0.0], v0=[1.0])
    assert sol["j.angle"][-1] == pytest.approx(1.0)


def test_names_of_models():
    mb = da.Multibody.from_urdf(ARM.replace('name="r"', 'name="arm.v2"'))
    assert mb.name == "arm_v2"
    assert da.Multibody.from_urdf(ARM, name="mine").name == "mine"
    assert da.Multibody.from_urdf(ARM.replace(' name="r"', "")).name == "robot"
