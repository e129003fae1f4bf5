"""Reading robot descriptions: what they say, and what is wrong with them, line by line."""

import math
import os
import pickle
import socket
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from robots import ARM, INERTIAL, joint, link, robot

from dalembert.errors import DalembertError, FileError, FileMissing, ModelError, OptionError, UrdfError, UrdfWarning
from dalembert.multibody.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from dalembert.multibody.urdf import read_urdf, xml_tree
from dalembert.multibody.urdf.robot import Robot

FULL = """
<?xml version="1.0"?>
<!-- a comment --> <?robot instruction?>
<robot name="full" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0 0 1.5707963267948966"/>
      <mass value="2.5"/>
      <inertia ixx="1" ixy="0.1" ixz="0" iyy="2" iyz="0" izz="2.5"/>
    </inertial>
    <visual><origin xyz="1 0 0"/><geometry><box size="1 2 3"/></geometry><material name="grey"/></visual>
    <visual><geometry><cylinder radius="0.1" length="2"/></geometry></visual>
    <visual><geometry><sphere radius="0.2"/></geometry><material name=""><color rgba="255 0 0 255"/></material></visual>
    <visual><geometry><capsule radius="0.2" length="0.5"/></geometry></visual>
    <visual><geometry><mesh filename="package://arm/arm.stl" scale="0.001 0.001 0.001"/></geometry></visual>
    <collision><geometry><box size="9 9 9"/></geometry></collision>
  </link>
  <link name="slider">
    <inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0"/></inertial>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/>
    <origin xyz="0 0 1" rpy="1.5707963267948966 0 0"/><axis xyz="0 3 4"/>
    <limit lower="-1" upper="2" effort="30" velocity="inf"/><dynamics damping="0.7" friction="0.1"/>
    <safety_controller k_velocity="1"/><calibration rising="0"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="arm"/><child link="slider"/><mimic joint="turn" multiplier="0.5" offset="0.25"/>
    <limit effort="1" velocity="1"/>
  </joint>
  <transmission name="t"><joint name="turn"/><actuator name="m"/></transmission>
  <gazebo reference="arm"><material>Gazebo/Red</material><plugin><joint>turn</joint></plugin></gazebo>
  <undeclared:extension><link name="arm"/></undeclared:extension>
</robot>
"""


def test_all_that_is_in_a_file():
    found = read_urdf(FULL)
    assert (found.name, found.root) == ("full", "base")
    assert [part.name for part in found.links] == ["base", "arm", "slider"]
    assert not found.notes
    arm, turn, slide = found.link("arm"), found.joint("turn"), found.joint("slide")
    assert arm.mass == 2.5
    np.testing.assert_array_equal(arm.com, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(arm.inertia, [[2, -0.1, 0], [-0.1, 1, 0], [0, 0, 2.5]], atol=1e-15)
    assert (turn.type, turn.parent, turn.child) == ("revolute", "base", "arm")
    np.testing.assert_allclose(turn.axis, [0, 0.6, 0.8])
    np.testing.assert_allclose(turn.origin.rotation @ [0, 1, 0], [0, 0, 1], atol=1e-15)
    assert turn.origin.xyz.tolist() == [0, 0, 1]
    assert (turn.limits, turn.effort, turn.velocity) == ((-1, 2), 30, None)
    assert (turn.damping, turn.friction, turn.mimic) == (0.7, 0.1, None)
    assert slide.mimic == ("turn", 0.5, 0.25)
    assert slide.axis.tolist() == [1, 0, 0]  # what URDF takes if nothing is given
    assert slide.limits is None
    lines = FULL.splitlines()
    assert lines[arm.line - 1].strip() == '<link name="arm">'
    assert lines[turn.line - 1].strip() == '<joint name="turn" type="revolute">'


def test_shapes_are_those_to_be_seen():
    arm = read_urdf(FULL).link("arm")
    assert [type(shape) for shape in arm.shapes] == [Box, Cylinder, Sphere, Capsule, Mesh]
    box, cylinder, sphere, _, mesh = arm.shapes
    assert box.size.tolist() == [1, 2, 3]
    assert box.position.tolist() == [1, 0, 0]
    assert box.color == (0.5, 0.5, 0.5, 1)
    assert (cylinder.radius, cylinder.length, cylinder.color) == (0.1, 2, None)
    assert sphere.color == (1, 0, 0, 1)
    assert mesh.file == "package://arm/arm.stl"
    assert mesh.scale.tolist() == [0.001] * 3
    assert read_urdf(FULL).link("slider").shapes[0].size.tolist() == [1, 1, 1]  # collision, where nothing is visible


def test_files_texts_and_bytes(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    for source in (file, str(file), ARM, ARM.encode(), bytearray(ARM.encode())):
        assert read_urdf(source).root == "base"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "iso8859-15"])
def test_encodings(tmp_path, encoding):
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>' + robot(link("Träger ß", ""), name="Knickarm-Büffel")
    file = tmp_path / "a.urdf"
    file.write_bytes(text.encode(encoding))
    assert read_urdf(file).root == "Träger ß"
    assert read_urdf(text).root == "Träger ß"  # a text is one already, whatever it says of itself


def test_a_quaternion_in_place_of_angles():
    text = robot(link("a"), link("b"), joint("j", "a", "b", inside='<origin xyz="1 0 0" quat_xyzw="0 0 3 3"/>'))
    np.testing.assert_allclose(read_urdf(text).joint("j").origin.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_a_robot_travels():
    found = pickle.loads(pickle.dumps(read_urdf(FULL)))
    assert found.joint("turn").axis.tolist() == [0, 0.6, 0.8]


def test_nobody_changes_a_robot():
    found = read_urdf(ARM)
    with pytest.raises(ValueError, match="read-only"):
        found.link("upper").inertia[0, 0] = 5
    with pytest.raises(AttributeError):
        found.name = "other"


def test_names_that_are_not_there():
    with pytest.raises(ModelError, match="no link 'elbow'; known: base, upper, lower"):
        read_urdf(ARM).link("elbow")
    with pytest.raises(ModelError, match="no joint"):
        read_urdf(ARM).joint(["elbow"])


def test_long_chains_are_read():
    n = 3000
    links = [link(f"l{i}") for i in range(n)]
    joints = [joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in reversed(range(n - 1))]
    found = read_urdf(robot(*links, *joints))
    assert [one.name for one in found.outward] == [f"j{i}" for i in range(n - 1)]
    assert found.poses()[f"l{n - 1}"].xyz.tolist() == [0, 0, 0]


# -- faults ----------------------------------------------------------------------------------------------------------

FAULTS = {
    # what stands in a robot; the line that is named; what is said
    "duplicate link": ([link("a"), link("a")], 3, "link 'a'.*line 2 has a link of this name"),
    "duplicate joint": (
        [link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "b", "c")], 6, "joint 'j'.*line 5"),
    "unknown parent": ([link("a"), joint("j", "A", "a")], 3, "parent 'A' is not a link.*do you mean 'a'"),
    "unknown child": ([link("a"), joint("j", "a", "b")], 3, "child 'b' is not a link"),
    "to itself": ([link("a"), joint("j", "a", "a")], 3, "joins the link 'a' to itself"),
    "two roots": ([link("a"), link("b"), link("c"), joint("j", "a", "b")], 4, "2 links have no parent \\('a', 'c'\\)"),
    "circle": (
        [link("r"), link("a"), link("b"), joint("i", "a", "b"), joint("j", "b", "a")], 3, "in a circle.*loop_joint"),
    "nothing but a circle": ([link("a"), link("b"), joint("i", "a", "b"), joint("j", "b", "a")], 2, "in a circle"),
    "two parents": (
        [link("a"), link("b"), link("c"), joint("i", "a", "b"), joint("k", "a", "c"), joint("j", "c", "b")], 7,
        "'b' is the child of joint 'i' \\(line 5\\) already.*loop_joint"),
    "no name of a link": (["<link/>"], 2, "a link: <link> has no attribute name"),
    "empty name": (['<link name="  "/>'], 2, "attribute name of <link> is empty"),
    "no name of a joint": ([link("a"), "<joint/>"], 3, "a joint: <joint> has no attribute name"),
    "no type": ([link("a"), link("b"), '<joint name="j"><parent link="a"/><child link="b"/></joint>'], 4, "type"),
    "no parent": ([link("a"), '<joint name="j" type="fixed"><child link="a"/></joint>'], 3, "no <parent link="),
    "no child": ([link("a"), '<joint name="j" type="fixed"><parent link="a"/></joint>'], 3, "no <child link="),
    "child without link": (
        [link("a"), '<joint name="j" type="fixed"><parent link="a"/><child/></joint>'], 3, "no attribute link"),
    "unknown type": ([link("a"), link("b"), joint("j", "a", "b", "rotary")], 4, "'rotary' is unknown.*revolute"),
    "zero axis": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<axis xyz="0 0 0"/>')], 4, "no direction"),
    "axis without numbers": ([link("a"), link("b"), joint("j", "a", "b", inside="<axis/>")], 4, "attribute xyz"),
    "two axes": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<axis xyz="1 0 0"/><axis xyz="1 0 0"/>')], 4,
        "more than one <axis>"),
    "text for a number": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<origin xyz="1 two 3"/>')], 4, "'two' is not a number"),
    "too few numbers": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<origin xyz="1 2"/>')], 4, "2 numbers; it needs 3"),
    "comma": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<origin xyz="1,5 2 3"/>')], 4, "separated by a point"),
    "underscore": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<origin xyz="1_000 2 3"/>')], 4, "not a number"),
    "other digits": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<origin xyz="１ 2 3"/>')], 4, "not a number"),
    "nan": ([link("a"), link("b"), joint("j", "a", "b", inside='<origin rpy="0 NaN 0"/>')], 4, "not finite"),
    "inf": ([link("a", '<inertial><mass value="inf"/><inertia ixx="1" iyy="1" izz="1"/></inertial>')], 2, "not finite"),
    "huge": ([link("a", '<inertial><origin xyz="0 0 1e99"/></inertial>')], 2, "too large"),
    "beyond numbers": ([link("a", '<inertial><mass value="1e999"/></inertial>')], 2, "too large"),
    "macro": ([link("a", '<inertial><mass value="${m}"/></inertial>')], 2, "macro of xacro.*expanded"),
    "macros": (["<xacro:arm/>", link("a")], 2, "1 element\\(s\\) of xacro are not expanded"),
    "negative mass": ([link("a", INERTIAL.replace('"2"', '"-2"'))], 2, "mass -2 is negative"),
    "negative moment": ([link("a", INERTIAL.replace('"0.4"', '"-0.4"'))], 2, "moment of inertia iyy=-0.4 is negative"),
    "no mass": ([link("a", '<inertial><inertia ixx="1" iyy="1" izz="1"/></inertial>')], 2, "<inertial> has no <mass>"),
    "no inertia": ([link("a", '<inertial><mass value="1"/></inertial>')], 2, "<inertial> has no <inertia>"),
    "no moment": (
        [link("a", '<inertial><mass value="1"/><inertia ixx="1" iyy="1"/></inertial>')], 2, "no attribute izz"),
    "two inertials": ([link("a", INERTIAL + INERTIAL)], 2, "more than one <inertial>"),
    "limits": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<limit lower="2" upper="1"/>')], 4, "limit 2 is above"),
    "damping": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<dynamics damping="-1"/>')], 4, "damping -1 is negative"),
    "unknown mimic": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<mimic joint="i"/>')], 4, "mimics 'i', which is not"),
    "own mimic": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<mimic joint="j"/>')], 4, "circle \\('j', 'j'\\)"),
    "mimics in a circle": (
        [link("a"), link("b"), link("c"), joint("i", "a", "b", inside='<mimic joint="j"/>'),
         joint("j", "a", "c", inside='<mimic joint="i"/>')], 5, "circle"),
    "mimic of a fixed joint": (
        [link("a"), link("b"), link("c"), joint("i", "a", "b", "fixed"),
         joint("j", "a", "c", inside='<mimic joint="i"/>')], 6, "a fixed joint, which has no coordinate"),
    "quaternion": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<origin quat_xyzw="0 0 0 0"/>')], 4, "no rotation"),
    "two rotations": (
        [link("a"), link("b"), joint("j", "a", "b", inside='<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>')], 4, "both"),
    "negative size": ([link("a", '<visual><geometry><box size="1 -1 1"/></geometry></visual>')], 2, "negative"),
    "no size": ([link("a", "<visual><geometry><box/></geometry></visual>")], 2, "no attribute size"),
    "no radius": ([link("a", "<visual><geometry><sphere/></geometry></visual>")], 2, "no attribute radius"),
    "no file of a mesh": ([link("a", "<visual><geometry><mesh/></geometry></visual>")], 2, "no attribute filename"),
    "color": ([link("a"), '<material name="m"><color rgba="red"/></material>'], 3, "material 'm'.*not a number"),
    "no link": (["<gazebo/>"], 1, "it has no <link>"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_named(case):
    parts, line, what = FAULTS[case]
    with pytest.raises(UrdfError, match=what) as caught:
        read_urdf(robot(*parts))
    assert caught.value.line == line
    assert f"line {line}, " in str(caught.value)


def test_faults_name_the_file(tmp_path):
    file = tmp_path / "wrong.urdf"
    file.write_text(robot(link("a"), link("a")))
    with pytest.raises(UrdfError, match=r"wrong\.urdf' has a fault") as caught:
        read_urdf(file)
    assert caught.value.path == file


def test_long_circles():
    n = 5000
    links = [link(f"l{i}", "") for i in range(n)]
    with pytest.raises(UrdfError, match="circle") as caught:
        read_urdf(robot(*links, *(joint(f"j{i}", f"l{i}", f"l{(i + 1) % n}") for i in range(n))))
    assert len(str(caught.value)) < 1000
    tree = [joint(f"j{i}", "l0", f"l{i}", inside=f'<mimic joint="j{i % (n - 1) + 1}"/>') for i in range(1, n)]
    with pytest.raises(UrdfError, match="mimics go in a circle"):
        read_urdf(robot(*links, *tree))


def test_all_faults_come_at_once():
    parts = [part for parts, _, _ in FAULTS.values() for part in parts]
    with pytest.raises(UrdfError) as caught:
        read_urdf(robot(*parts))
    faults = caught.value.faults
    assert len(faults) > 80
    assert str(caught.value).count("\n") == 51  # the message has an end all the same
    for word in ("negative", "no direction", "already", "unknown", "not finite", "more than one"):
        assert any(word in fault for fault in faults), word
    numbers = [int(fault.split()[1].rstrip(",")) for fault in faults]
    assert numbers == sorted(numbers)


MALFORMED = {
    "open element": ("<robot>\n<link name='a'>\n</robot>", 3, "mismatched tag"),
    "cut off": ("<robot>\n<link", 2, "unclosed token"),
    "no element": ("<!-- nothing -->", 1, "no element"),
    "duplicate attribute": ("<robot>\n<link name='a' name='b'/></robot>", 2, "duplicate attribute"),
    "two roots": ("<robot/>\n<robot/>", 2, "junk after document element"),
    "unknown entity": ("<robot>\n<link name='&size;'/></robot>", 2, "undefined entity.*&lt;"),
    "binary": (b"<\x00\x01\x02\x80\xff", 1, "binary"),
    "no utf-8": (b"<robot>\n<link name='\xff'/></robot>", 2, "invalid token"),
    "unknown encoding": (b"<?xml version='1.0' encoding='klingon'?><robot/>", 1, "encoding"),
    "encoding of many bytes": (b"<?xml version='1.0' encoding='utf-7'?><robot/>", 1, "UTF-8"),
    "document type": ("<!DOCTYPE robot>\n<robot/>", 1, "document type"),
    "empty": (b"", 1, "nothing in it"),
    "blank": (b" \n\t", 1, "nothing in it"),
    "lone surrogate": ("<robot name='\ud800'/>", 1, "invalid token"),
    "NUL": ("<robot name='\0'/>", 1, "invalid token"),
    "deep": ("<robot>\n" + "<a>" * 1000 + "</a>" * 1000 + "</robot>", 2, "nested more than 200"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_no_xml(case):
    text, line, what = MALFORMED[case]
    with pytest.raises(UrdfError, match=what) as caught:
        read_urdf(text)
    assert caught.value.line == line


def test_lines_count_from_the_beginning():
    with pytest.raises(UrdfError) as caught:
        read_urdf("\n\n\n" + robot(link("a"), link("a")))
    assert caught.value.line == 6


@pytest.mark.parametrize(("tag", "what"), [("sdf", "SDFormat"), ("mujoco", "MuJoCo"), ("Robot", "not <robot>")])
def test_other_root_elements(tag, what):
    with pytest.raises(UrdfError, match=what):
        read_urdf(f"<{tag}/>")


BOMB = "<!DOCTYPE r [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(12)
)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file://{secret}">]><robot name="&x;"><link name="a"/></robot>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "http://127.0.0.1:{port}/">]><robot><link name="a"/>&x;</robot>',
        '<!DOCTYPE r SYSTEM "http://127.0.0.1:{port}/robot.dtd"><robot><link name="a"/></robot>',
        '<!DOCTYPE r [<!ENTITY % x SYSTEM "file://{secret}"> %x;]><robot><link name="a"/></robot>',
        BOMB + ']><robot name="&m;"><link name="a"/></robot>',
    ],
)
def test_entities_are_never_looked_at(tmp_path, monkeypatch, text):
    secret = tmp_path / "secret"
    secret.write_text("treasure")
    opened = []
    real_open = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest, **more: opened.append(path) or real_open(path, *rest, **more))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        port = server.getsockname()[1]
        with pytest.raises(UrdfError, match="document type") as caught:
            read_urdf(text.replace("{secret}", str(secret)).replace("{port}", str(port)))
        with pytest.raises(TimeoutError):
            server.accept()
    assert "treasure" not in str(caught.value)
    assert not opened


def test_meshes_and_includes_are_not_opened(tmp_path, monkeypatch):
    (tmp_path / "part.xml").write_text("<link name='b'/>")
    mesh = f'<visual><geometry><mesh filename="file://{tmp_path}/part.xml"/></geometry></visual>'
    file = tmp_path / "robot.urdf"
    file.write_text(robot(link("a", mesh), f'<xi:include href="{tmp_path}/part.xml"/>'))
    opened = []
    real_open = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest, **more: opened.append(path) or real_open(path, *rest, **more))
    found = read_urdf(file)
    assert [one.name for one in found.links] == ["a"]
    assert [os.fspath(path) for path in opened] == [str(file)]


def test_sizes_are_bounded(monkeypatch):
    monkeypatch.setattr(xml_tree, "MOST_ELEMENTS", 5)
    with pytest.raises(UrdfError, match="more than 5 elements"):
        read_urdf(ARM)
    monkeypatch.setattr(xml_tree, "MOST_BYTES", 20)
    with pytest.raises(UrdfError, match="million bytes"):
        read_urdf(ARM)


LONG = "1" * 3_000_000


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (robot(link(LONG)), "more than 1000 characters"),
        (robot(link("a"), link("b"), joint("j", "a", "b", LONG)), "more than 1000 characters"),
        (robot(link("a"), link("b"), joint("j", "a", "b", inside=f'<axis xyz="{LONG}"/>')), "more than 10000"),
        (robot(link("a", f'<inertial><mass value="{LONG}x"/></inertial>')), "more than 10000 characters"),
        (robot(link("a", f'<inertial><mass value="{LONG[:9999]}x"/></inertial>')), "not a number"),
        (robot(link("a", f'<inertial><mass value="{LONG[:9999]}"/></inertial>')), "too large"),
        (robot(link("a", f'<inertial><origin xyz="{"1 " * 2000}"/></inertial>')), "has 2000 numbers; it needs 3"),
        (f"<a{LONG}/>", "name of an element"),
        (f"<robot>{LONG}</robot>", "no <link>"),
        (robot(link("a"), f"<gazebo><joint name='j' type='ball'><parent>{LONG}</parent><child>a</child></joint></gazebo>"),  # noqa: E501
         "is not a link"),
        (robot(link("a"), *(joint(f"j{i}", f"{i}", f"{i}") for i in range(20_000))), "60000 faults"),
        (robot(link("a"), *(joint(f"j{i}", f"{i}", f"{i + 1}") for i in range(20_000))), "40000 faults"),
    ],
)  # fmt: skip
def test_long_texts_make_short_messages(text, what):
    with pytest.raises(UrdfError, match=what) as caught:
        read_urdf(text)
    assert len(str(caught.value)) < 20_000


# -- files -----------------------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileMissing, match="no URDF file"):
        read_urdf(tmp_path / "nowhere.urdf")
    with pytest.raises(FileNotFoundError):
        read_urdf("nowhere.urdf")
    with pytest.raises(FileError, match="is a directory"):
        read_urdf(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match="not a plain file"):
        read_urdf(pipe)  # and does not wait for a writer
    with pytest.raises(FileError, match="cannot be read"):
        read_urdf("x" * 5000)
    with pytest.raises(FileError, match="no name of a file"):
        read_urdf("null\0character")
    (tmp_path / "empty.urdf").touch()
    with pytest.raises(UrdfError, match="nothing in it"):
        read_urdf(tmp_path / "empty.urdf")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(UrdfError, match=r"picture\.png' cannot be read, line 1"):
        read_urdf(tmp_path / "picture.png")


@pytest.mark.parametrize("source", [None, 5, ["<robot/>"], object(), 1.5, True])
def test_what_is_neither_file_nor_text(source):
    with pytest.raises(UrdfError, match="neither the path"):
        read_urdf(source)


def test_no_text():
    with pytest.raises(UrdfError, match="empty"):
        read_urdf(" ")


def test_options():
    with pytest.raises(OptionError, match="check_inertia"):
        read_urdf(ARM, check_inertia=True)
    with pytest.raises(OptionError, match="mimic"):
        read_urdf(ARM, mimic="no")
    follows = robot(link("a"), link("b"), joint("j", "a", "b", inside='<mimic joint="unknown"/>'))
    assert read_urdf(follows, mimic=False).joint("j").mimic is None


# -- inertias --------------------------------------------------------------------------------------------------------


def with_inertia(mass, moments, products=(0, 0, 0)):
    names = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), (*moments, *products), strict=True)
    numbers = " ".join(f'{name}="{value!r}"' for name, value in names)
    return robot(link("a", f'<inertial><mass value="{mass!r}"/><inertia {numbers}/></inertial>'))


@pytest.mark.parametrize(
    ("mass", "moments", "products", "what"),
    [
        (1.0, (1.0, 1.0, 3.0), (0, 0, 0), "triangle inequality \\(principal moments 1, 1, 3\\)"),
        (1.0, (1.0, 1.0, 1.0), (2.0, 0, 0), "not positive"),
        (1.0, (1.0, 1.0, 2.0001), (0, 0, 0), "triangle"),
        (0.0, (1.0, 1.0, 1.0), (0, 0, 0), "no mass"),
    ],
)
def test_inertias_that_no_body_has(mass, moments, products, what):
    text = with_inertia(mass, moments, products)
    with pytest.warns(UrdfWarning, match=what) as caught:
        found = read_urdf(text)
    assert "line 2, link 'a'" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert found.notes
    np.testing.assert_array_equal(found.link("a").inertia.diagonal(), moments)
    with pytest.raises(UrdfError, match=what):
        read_urdf(text, check_inertia="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_urdf(text, check_inertia="ignore").link("a").mass == mass


@pytest.mark.parametrize(
    ("mass", "moments"),
    [
        (1.0, (1.0, 1.0, 2.0)),  # a disc
        (1.0, (1.0, 1.0, 2.0000001)),  # rounded
        (1.0, (0.0, 1.0, 1.0)),  # a rod
        (1.0, (0.0, 0.0, 0.0)),  # a point
        (1.0, (-1e-20, 0.0, 1e-19)),  # a point that was converted from other units
        (0.0, (0.0, 0.0, 0.0)),
    ],
)
def test_inertias_that_bodies_have(mass, moments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_urdf(with_inertia(mass, moments)).link("a")
    np.testing.assert_allclose(found.inertia.diagonal(), moments, atol=1e-15)


def test_shapes_that_nobody_knows_are_not_drawn():
    with pytest.warns(UrdfWarning, match="<torus> is unknown"):
        found = read_urdf(robot(link("a", "<visual><geometry><torus/></geometry></visual><visual/>")))
    assert found.link("a").shapes == ()


# -- whatever is in a file, nothing but our own exceptions comes out -------------------------------------------------

FOURBAR = robot(
    link("g", ""), link("a"), link("b"), link("c"), joint("ga", "g", "a"), joint("ab", "a", "b"), joint("gc", "g", "c"),
    '<loop_joint name="bc" type="revolute"><link1 link="b" xyz="1 0 0"/><link2 link="c"/></loop_joint>',
    '<gazebo><joint name="z" type="ball"><parent>b</parent><child>c</child><pose>0 0 0 0 0 0</pose></joint></gazebo>',
    '<loop name="l" type="universal"><predecessor link="a"/><successor link="c"/><predecessor_axis xyz="1 0 0"/>'
    '<successor_axis xyz="0 1 0"/></loop>',
)  # fmt: skip
TEXTS = [FULL, ARM, FOURBAR]


def attempt(source):
    """Read it; only our own exceptions may come, and what is read makes sense."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        try:
            found = read_urdf(source)
        except DalembertError:
            return
    assert isinstance(found, Robot)
    assert len(found.outward) == len(found.joints) == len(found.links) - 1
    for one in found.links:
        assert np.isfinite(one.inertia).all()
        assert one.mass >= 0
    for one in found.joints:
        assert math.hypot(*one.axis) == pytest.approx(1)


pieces = st.sampled_from(
    ["<", ">", "/>", "</link>", "</joint>", '"', "'", "&", "&amp;", "<!--", "-->", "]]>", "<![CDATA[", "<?xml?>", "0",
     "-1", "1e308", "nan", "a", "b", "base", "<link/>", "<link name='x'/>", "<joint/>", "<origin/>", "<axis/>",
     "<mimic joint='turn'/>", "<loop_joint/>", "<loop/>", "<gazebo>", "<constraint/>", "<inertial/>", "\0",
     "\ud800", "é",     "<drake:ball_constraint/>", "xyz='1 2 3'", "<!DOCTYPE r>", "type=''", "<parent/>", "\n", " "]
)  # fmt: skip
edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.one_of(pieces, st.text(max_size=5))), max_size=6)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(TEXTS), edits)
def test_texts_with_mistakes(text, edits):
    for at, removed, added in edits:
        start = int(at * len(text))
        text = text[:start] + added + text[start + removed :]
    attempt(text if "<" in text else "<" + text)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TEXTS), st.randoms(use_true_random=False))
def test_words_that_change_places(text, random):
    """Tags stay well-formed: names, numbers and types are exchanged."""
    words = text.split('"')
    inside = range(1, len(words), 2)
    for _ in range(random.randint(1, 6)):
        words[random.choice(inside)] = random.choice([words[random.choice(inside)], "", "0 0 0", "-3", "x", "1e31"])
    attempt('"'.join(words))


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from([b"", b"<?xml version='1.0' encoding='utf-16'?>", b"<robot>", b"\xff\xfe"])
)
def test_bytes_of_any_kind(data, before):
    attempt(before + data)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="'"), max_size=12))
def test_encodings_of_any_name(encoding):
    attempt(f"<?xml version='1.0' encoding='{encoding}'?><robot><link name='a'/></robot>".encode())
