"""Loops in robot descriptions: every way to write one gives the same joint."""

import numpy as np
import pytest
from robots import joint, link, robot

import dalembert as da
from dalembert.errors import UrdfError, UrdfWarning
from dalembert.multibody.placement import about, from_quaternion
from dalembert.multibody.urdf import build, read_urdf
from dalembert.multibody.urdf.robot import Pose

# a parallelogram: cranks of length 1 on the ground at x = 0 and x = 2, a coupler of length 2 on the first
CRANK = '<inertial><origin xyz="0 0.5 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.01" izz="0.1"/></inertial>'
COUPLER = '<inertial><origin xyz="1 0 0"/><mass value="2"/><inertia ixx="0.01" iyy="0.7" izz="0.7"/></inertial>'
PARTS = [
    link("ground_link", ""), link("left", CRANK), link("right", CRANK), link("coupler", COUPLER),
    joint("j1", "ground_link", "left"),
    joint("j2", "ground_link", "right", inside='<origin xyz="2 0 0"/><axis xyz="0 0 1"/>'),
    joint("j3", "left", "coupler", inside='<origin xyz="0 1 0"/><axis xyz="0 0 1"/>'),
]  # fmt: skip

WAYS = {
    "Drake": '<loop_joint name="close" type="revolute"><link1 link="coupler" xyz="2 0 0" rpy="0 0 0"/>'
    '<link2 link="right" xyz="0 1 0" rpy="0 0 0"/><axis xyz="0 0 1"/></loop_joint>',
    "Isaac Sim": '<loop_joint name="close" type="continuous"><link1 link="coupler" xyz="2 0 0"/>'
    '<link1 link="right" xyz="0 1 0"/><axis xyz="0 0 1"/></loop_joint>',
    "parent and child": '<loop_joint name="close" type="revolute"><child link="right"/><parent link="coupler"/>'
    '<parent_origin xyz="2 0 0"/><child_origin xyz="0 1 0"/><axis xyz="0 0 2" frame="parent"/></loop_joint>',
    "URDF+": '<loop name="close" type="revolute"><predecessor link="coupler"><origin xyz="2 0 0"/></predecessor>'
    '<successor link="right"><origin xyz="0 1 0"/></successor><axis xyz="0 0 1"/></loop>',
    "constraint": '<constraint name="close" type="revolute"><parent link="coupler"/><parent_origin xyz="2 0 0"/>'
    '<parent_axis xyz="0 0 1"/><child link="right"/><child_origin xyz="0 1 0"/><child_axis xyz="0 0 1"/></constraint>',
    "Gazebo": '<gazebo><joint name="close" type="revolute"><parent>coupler</parent><child>right</child>'
    "<pose>0 1 0 0 0 0</pose><axis><xyz>0 0 1</xyz></axis></joint></gazebo>",
}


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_say_the_same(way):
    found = read_urdf(robot(*PARTS, WAYS[way]))
    assert len(found.loops) == 1
    loop = found.loops[0]
    assert (loop.name, loop.type, loop.first, loop.second) == ("close", "revolute", "coupler", "right")
    np.testing.assert_allclose(loop.first_pose.xyz, [2, 0, 0], atol=1e-15)
    np.testing.assert_allclose(loop.second_pose.xyz, [0, 1, 0], atol=1e-15)
    for pose in (loop.first_pose, loop.second_pose):
        np.testing.assert_allclose(pose.rotation, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(loop.axis, [0, 0, 1])
    assert loop.line == 9


def test_balls_of_drake():
    text = (
        '<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/>'
        '<drake:ball_constraint_body_B name="right"/><drake:ball_constraint_p_AP value="2 0 0"/>'
        '<drake:ball_constraint_p_BQ value="0 1 0"/></drake:ball_constraint>'
    )
    loop = read_urdf(robot(*PARTS, text)).loops[0]
    assert (loop.type, loop.first, loop.second) == ("spherical", "coupler", "right")
    assert (loop.first_pose.xyz.tolist(), loop.second_pose.xyz.tolist()) == ([2, 0, 0], [0, 1, 0])


def test_a_closed_chain_runs():
    """Two cranks about z and about x, and a coupler with a ball at either end: the loop stays closed."""
    across = joint("j2", "ground_link", "right", inside='<origin xyz="2 0 0"/><axis xyz="1 0 0"/>')
    ball = joint("j3", "left", "coupler", "ball", '<origin xyz="0 1 0"/>')
    mb = da.Multibody(gravity=(0, 0, -9.81))
    made = build(read_urdf(robot(*PARTS[:5], across, ball, WAYS["Drake"].replace("revolute", "spherical"))), mb)
    assert set(made.joints) == {"j1", "j2", "j3", "close"}
    model = mb.equations("joint")
    p0 = [float(name == "j3.e0") for name in model.names("p")]
    sol = da.simulate(model, (0, 0.5), p0=p0, v0=[0.0] * len(model.names("v")), rtol=1e-8, atol=1e-9)
    left, right = sol["j1.angle"][-1], sol["j2.angle"][-1]
    assert abs(right) > 0.5
    turned, (e, *vector) = about(np.array([0, 0, left])), (sol[f"j3.e{i}"][-1] for i in range(4))
    end = turned @ (np.array([0, 1, 0]) + from_quaternion(*vector, e) @ [2, 0, 0])
    np.testing.assert_allclose(end, [2, 0, 0] + about(np.array([right, 0, 0])) @ [0, 1, 0], atol=1e-6)


def test_poses_of_gazebo_are_taken_at_zero():
    """A pose on the child; where it is on the parent follows from the tree, however it is turned."""
    turned = joint("j2", "ground_link", "right", inside='<origin xyz="2 0 0" rpy="0.3 -0.7 1.1"/>')
    close = WAYS["Gazebo"].replace("0 1 0 0 0 0", "0.1 0.2 0.3 0.4 0.5 0.6")
    found = read_urdf(robot(*PARTS[:5], turned, PARTS[6], close))
    loop, at_zero = found.loops[0], found.poses()
    first, second = at_zero[loop.first].of(loop.first_pose), at_zero[loop.second].of(loop.second_pose)
    np.testing.assert_allclose(first.xyz, second.xyz, atol=1e-14)
    np.testing.assert_allclose(first.rotation, second.rotation, atol=1e-14)
    for flag in ("<use_parent_model_frame>1</use_parent_model_frame>", ""):
        of_model = close.replace("</axis>", f"{flag}</axis>")
        if not flag:
            of_model = close.replace("<xyz>", '<xyz expressed_in="__model__">')
        loop = read_urdf(robot(*PARTS[:5], turned, PARTS[6], of_model)).loops[0]
        np.testing.assert_allclose(second.rotation @ loop.axis, [0, 0, 1], atol=1e-14)


def test_the_world_is_an_end():
    text = WAYS["Gazebo"].replace("<parent>coupler</parent>", "<parent>world</parent>")
    loop = read_urdf(robot(*PARTS, text)).loops[0]
    assert (loop.first, loop.second) == (None, "right")
    np.testing.assert_allclose(loop.first_pose.xyz, [2, 1, 0])


def test_axes_on_both_links():
    text = WAYS["constraint"].replace('<child_axis xyz="0 0 1"/>', '<child_axis xyz="0 3 0"/>')
    loop = read_urdf(robot(*PARTS, text)).loops[0]
    np.testing.assert_allclose(loop.axis, [0, 0, 1])
    np.testing.assert_allclose(loop.second_pose.rotation @ loop.axis, [0, 1, 0], atol=1e-15)
    loop = read_urdf(robot(*PARTS, text.replace("revolute", "universal"))).loops[0]
    np.testing.assert_allclose(loop.second_axis, [0, 1, 0])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<loop_joint/>", "no attribute name"),
        ('<loop_joint name="l" type="revolute"/>', "loop 'l': it needs two links"),
        (WAYS["Drake"].replace("revolute", "floating"), "type 'floating' is unknown"),
        (WAYS["Drake"].replace("coupler", "copler"), "end 'copler' is not a link"),
        (WAYS["Gazebo"].replace("coupler", "copler"), "end 'copler' is not a link"),
        (WAYS["Drake"].replace("coupler", "right"), "joins the link 'right' to itself"),
        (WAYS["Drake"].replace("close", "j1"), "line 6 has a joint of this name"),
        (WAYS["Gazebo"].replace("close", "j1"), "line 6 has a joint of this name"),
        (WAYS["Drake"].replace("2 0 0", "2 0"), "it needs 3 numbers"),
        (WAYS["Drake"].replace("0 0 1", "0 0 0"), "no direction"),
        (WAYS["Gazebo"].replace("0 0 1", "0 0 0"), "no direction"),
        (WAYS["Gazebo"].replace("0 1 0 0 0 0", "0 1 0"), "it needs 6 numbers"),
        (WAYS["Gazebo"].replace("<pose>", '<pose relative_to="left">'), "relative to another frame"),
        (WAYS["Drake"].replace("revolute", "universal"), "needs two axes"),
        (WAYS["Gazebo"].replace("revolute", "universal"), "needs two axes"),
        (WAYS["constraint"].replace("revolute", "universal"), "perpendicular"),
        (WAYS["Drake"].replace('link="right"', ""), "no attribute link"),
        ("<drake:ball_constraint/>", "no <drake:ball_constraint_body_A>"),
    ],
)
def test_faults_of_loops(text, what):
    with pytest.raises(UrdfError, match=what) as caught:
        read_urdf(robot(*PARTS, text))
    assert caught.value.line == 9


def test_what_is_not_read():
    with pytest.warns(UrdfWarning, match=r"couplings of URDF\+ are not read"):
        read_urdf(robot(*PARTS, '<coupling name="c"/>'))
    with pytest.warns(UrdfWarning, match="does not name two links"):
        assert not read_urdf(robot(*PARTS, '<constraint name="c"/>')).loops


def test_poses_go_back():
    pose = Pose(np.array([1.0, 2.0, 3.0]), np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]))
    there_and_back = pose.of(pose.back())
    np.testing.assert_allclose(there_and_back.xyz, 0, atol=1e-15)
    np.testing.assert_allclose(there_and_back.rotation, np.eye(3))
