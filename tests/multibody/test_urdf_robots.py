"""Real robots, as Pinocchio reads them: placements, axes, masses and inertias."""

import warnings
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import UrdfError, UrdfWarning
from dalembert.model.evaluate import PointFunction
from dalembert.multibody.placement import about
from dalembert.multibody.urdf import build, read_urdf
from dalembert.multibody.urdf.robot import Pose


def robot_files():
    """All URDF files of example-robot-data, if that is installed."""
    try:
        robots = Path(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots"))
    except PackageNotFoundError:
        return []
    return sorted(path for path in robots.rglob("*.urdf") if path.name != "ur3.urdf")  # which is empty


FILES = robot_files()
pytestmark = pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
each = pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)


@pytest.fixture
def pin():
    return pytest.importorskip("pinocchio")


def read(file, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        return read_urdf(file, **{"mimic": False, **options})


def merged(robot):
    """Mass, first moment and inertia about the frame of each moving joint's child, with all that is fixed to it.

    Also where every link is in that frame; the root stands for what is fixed to the ground.
    """
    on = {robot.root: ("universe", Pose())}
    for joint in robot.outward:
        carrier, pose = on[joint.parent]
        on[joint.child] = (carrier, pose.of(joint.origin)) if joint.type == "fixed" else (joint.name, Pose())
    sums = {}
    for link in robot.links:
        carrier, pose = on[link.name]
        c = pose.xyz + pose.rotation @ link.com
        about_origin = pose.rotation @ link.inertia @ pose.rotation.T + link.mass * (c @ c * np.eye(3) - np.outer(c, c))
        mass, moment, inertia = sums.get(carrier, (0.0, np.zeros(3), np.zeros((3, 3))))
        sums[carrier] = mass + link.mass, moment + link.mass * c, inertia + about_origin
    return on, sums


@each
def test_masses_inertias_and_placements(pin, file):
    robot = read(file)
    model = pin.buildModelFromUrdf(str(file))
    on, sums = merged(robot)
    assert sorted(name for name in model.names if name != "universe") == sorted(
        joint.name for joint in robot.joints if joint.type != "fixed"
    )
    for i, name in enumerate(model.names):
        inertia = model.inertias[i]
        mass, moment, about_origin = sums[name]
        c = inertia.lever
        theirs = inertia.inertia + inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))
        assert inertia.mass == pytest.approx(mass, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(inertia.mass * c, moment, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(theirs, about_origin, rtol=1e-12, atol=1e-12)
        if name == "universe":
            continue
        joint = robot.joint(name)
        carrier, pose = on[joint.parent]
        place = pose.of(joint.origin)
        assert model.names[model.parents[i]] == carrier
        np.testing.assert_allclose(model.jointPlacements[i].translation, place.xyz, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.jointPlacements[i].rotation, place.rotation, rtol=1e-12, atol=1e-12)
        if joint.limits is not None:
            at = model.idx_qs[i]
            limits = model.lowerPositionLimit[at], model.upperPositionLimit[at]
            np.testing.assert_allclose(limits, joint.limits, rtol=1e-12)


@each
def test_axes(pin, file):
    """Where all joints are after they have moved."""
    robot = read(file)
    model = pin.buildModelFromUrdf(str(file))
    data = model.createData()
    angles = np.random.default_rng(5).uniform(-2, 2, model.nv)
    pin.forwardKinematics(model, data, pin.integrate(model, pin.neutral(model), angles))
    at = {name: angles[model.idx_vs[i]] for i, name in enumerate(model.names) if i}
    poses = {robot.root: Pose()}
    for joint in robot.outward:
        q = at.get(joint.name, 0.0)
        moved = Pose(q * joint.axis) if joint.type == "prismatic" else Pose(rotation=about(q * joint.axis))
        poses[joint.child] = poses[joint.parent].of(joint.origin).of(moved)
    for i, name in enumerate(model.names):
        if i:
            found = poses[robot.joint(name).child]
            np.testing.assert_allclose(data.oMi[i].translation, found.xyz, atol=1e-12)
            np.testing.assert_allclose(data.oMi[i].rotation, found.rotation, atol=1e-12)


@each
def test_equations_of_the_built_system(pin, file):
    """Mass matrix and forces of joint coordinates; joints that move nothing are left out on both sides."""
    robot = read(file)
    theirs = pin.buildModelFromUrdf(str(file))
    mb = da.Multibody(gravity=(0, 0, -9.81))
    made = build(robot, mb, damping=False, massless="lock")
    moving = [joint.name for joint in robot.joints if made.joints[joint.name].kind.freedoms]
    idle = [name for name in theirs.names[1:] if name not in moving]
    if idle:
        theirs = pin.buildReducedModel(theirs, [theirs.getJointId(name) for name in idle], pin.neutral(theirs))
    if not moving:
        pytest.skip("nothing moves")
    model = mb.equations("joint", formalism="residual")
    names = list(model.names("p"))
    order = [names.index(made.joints[name].coordinates[0]) for name in theirs.names[1:]]
    random = np.random.default_rng(3)
    q, v = random.uniform(-2, 2, (2, theirs.nv))
    p, rates = np.empty(len(names)), np.empty(len(names))
    p[order], rates[order] = q, v
    values = {kind: np.zeros(model.graph.size(kind)) for kind in model.graph.vectors} | {"p": p, "v": rates}
    roles = [model.graph.value(role) for role in ("mass", "force")]
    mass, force = PointFunction(model, roles)(0.0, values, model.theta(0.0))
    data = theirs.createData()
    configuration = pin.integrate(theirs, pin.neutral(theirs), q)
    M = pin.crba(theirs, data, configuration)
    M = np.triu(M) + np.triu(M, 1).T
    bias = pin.nonLinearEffects(theirs, data, configuration, v)
    ours = mass[np.ix_(order, order)]
    np.testing.assert_allclose(ours, M, atol=1e-10 * np.abs(M).max())
    np.testing.assert_allclose(-np.ravel(force)[order], bias, atol=1e-10 * max(1.0, np.abs(bias).max()))


def test_most_robots_need_nothing_special():
    """Of all files a few have faults, which are named; the others are built as they are."""
    faulty = {}
    for file in FILES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UrdfWarning)
            try:
                da.Multibody.from_urdf(file)
            except UrdfError as error:
                faulty[file.stem] = error.faults[0]
    assert {name: fault.split(": ")[1][:12] for name, fault in faulty.items()} == {
        "alex_psyonic_hands": "it mimics 'i",
        "romeo": "it moves the",
        "romeo_laas_small": "it moves the",
    }
