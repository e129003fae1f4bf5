"""Random multibody systems, and numbers from their models, for the tests of this room."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.model.evaluate import PointFunction
from dalembert.multibody.equations import expressions, kinematics
from dalembert.multibody.parts import Frame

SPATIAL = ("revolute", "prismatic", "screw", "cylindrical", "universal", "spherical", "plane", "free")
PLANAR = ("revolute", "prismatic", "pin_in_slot", "plane")
#: freedoms of each kind
FREEDOMS = {
    "revolute": 1, "prismatic": 1, "screw": 1, "cylindrical": 2, "universal": 2, "spherical": 3, "plane": 3, "free": 6,
    "pin_in_slot": 2, "fixed": 0, "rolling_disc": 1,
}  # fmt: skip


def unit(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def rotation(rng):
    return Rotation.random(random_state=rng).as_matrix()


def random_body(mb, rng, name, parameter=False):
    """A body of random mass, centre and inertia, which is that of three points and so one that exists."""
    mass = float(rng.uniform(0.5, 2.0))
    if parameter:
        mass = mb.parameter(f"mass of {name}", mass)
    if mb.planar:
        return mb.body(name, mass=mass, inertia=rng.uniform(0.05, 0.5), com=rng.uniform(-0.5, 0.5, 2))
    R = rotation(rng)
    a, b = rng.uniform(0.1, 0.5, 2)
    J = R @ np.diag([a, b, rng.uniform(abs(a - b) + 0.02, a + b - 0.02)]) @ R.T
    return mb.body(name, mass=mass, inertia=(J + J.T) / 2, com=rng.uniform(-0.5, 0.5, 3))


def place(mb, rng):
    """Options of a joint's frame on a body."""
    if mb.planar:
        return rng.uniform(-1, 1, 2), float(rng.uniform(-3, 3))
    return rng.uniform(-1, 1, 3), rotation(rng) if rng.random() < 0.7 else None


def random_joint(mb, rng, kind, name, first, second, **options):
    """A joint of this kind with random frames and axes."""
    (at, turned), (to, turned_to) = place(mb, rng), place(mb, rng)
    options = {"at": at, "rotation": turned, "to": to, "rotation_to": turned_to} | options
    if not mb.planar and kind in ("revolute", "prismatic", "screw", "cylindrical", "universal"):
        options["axis"] = unit(rng) if rng.random() < 0.6 else str(rng.choice(["x", "y", "z", "-x", "-y", "-z"]))
    if mb.planar and kind == "prismatic":
        options["axis"] = rng.normal(size=2)
    if kind == "universal":
        axis = options["axis"] if not isinstance(options["axis"], str) else _letter(options["axis"])
        options["second_axis"] = np.cross(axis, unit(rng))
    if kind == "screw":
        options["pitch"] = float(rng.uniform(0.02, 0.3) * rng.choice([-1, 1]))
    return getattr(mb, kind)(name, first, second, **options)


def _letter(text):
    return (-1 if text.startswith("-") else 1) * np.eye(3)["xyz".index(text[-1])]


def random_tree(seed, *, planar=False, bodies=4, kinds=None, forces=True, fixed=True, parameters=True):
    """A tree of bodies on random joints, run through in both directions, with force elements of all kinds."""
    rng = np.random.default_rng(seed)
    mb = da.Multibody(planar=planar, gravity=rng.normal(size=2 if planar else 3) * 5)
    kinds = kinds or (PLANAR if planar else SPATIAL)
    made = [mb.ground]
    for k in range(bodies):
        body = random_body(mb, rng, f"body {k}", parameters and rng.random() < 0.3)
        kind = kinds[int(rng.integers(len(kinds)))]
        if fixed and k and rng.random() < 0.2:
            kind = "fixed"
        ends = [made[int(rng.integers(len(made)))], body]
        if rng.random() < 0.5:
            ends.reverse()
        random_joint(mb, rng, kind, f"joint {k}", *ends)
        made.append(body)
    if forces:
        load(mb, rng)
    return mb


def random_frame(mb, rng, other_than=None):
    body = other_than
    while body is other_than:
        choice = int(rng.integers(-1, len(mb.bodies)))
        body = mb.bodies[choice] if choice >= 0 else mb.ground
    at, turned = place(mb, rng)
    return body.frame(at=at, rotation=turned)


def load(mb, rng):
    """Force elements between random frames and in random joints."""
    dim = 2 if mb.planar else 3
    a = random_frame(mb, rng)
    mb.spring("spring", a, random_frame(mb, rng, a.body), rng.uniform(1, 9), rng.uniform(0, 1), rng.uniform(0, 1))
    a = random_frame(mb, rng)
    mb.spring("rubber", a, random_frame(mb, rng, a.body), lambda x: 3 * x + x**3, lambda u: 0.1 * u)
    a = random_frame(mb, rng)
    k = mb.parameter("bushing stiffness", 4.0)
    mb.bushing("bushing", a, random_frame(mb, rng, a.body), k, rng.uniform(0, 4, 3), 0.2, 0.1)
    mb.drag("drag", random_frame(mb, rng, mb.ground), 0.3, linear=0.1, wind=rng.normal(size=dim))
    push = mb.parameter("push", 1.5)
    mb.force("push body", random_frame(mb, rng, mb.ground), [push, *rng.normal(size=dim - 1)], local=True)
    mb.force("swirl", random_frame(mb, rng, mb.ground), lambda s: np.sin(s.t) * s.velocity + s.push * s.position)
    single = [joint for joint in mb.joints if joint.kind.freedoms == 1]
    if single:
        mb.torsion("torsion", single[0], 2.0, 0.3, rest=0.2)
        mb.friction("friction", single[-1], 0.4, viscous=0.1, stiction=0.6, stribeck=0.3, smoothing=0.2)
        mb.actuator("motor", single[-1], lambda s: np.cos(s.t) - 0.1 * s[f"{single[0].name}.speed"])


# -- numbers from models -------------------------------------------------------------------------------------------


def numbers(model, *roles, p, v=None, t=0.0, r=None):
    """Values of a model's functions (mass as a matrix)."""
    graph = model.graph
    values = {kind: np.zeros(graph.size(kind)) for kind in graph.vectors}
    values["p"] = np.asarray(p, float)
    values["v"] = np.zeros(len(model.names("v"))) if v is None else np.asarray(v, float)
    if r is not None:
        values["r"] = np.asarray(r, float)
    found = PointFunction(model, [graph.value(role) for role in roles])(t, values, model.theta(t))
    return [found[k] if role in ("mass", "kinematics") else np.ravel(found[k]) for k, role in enumerate(roles)]


def accelerations(model, p, v, t=0.0):
    M, f = numbers(model, "mass", "force", p=p, v=v, t=t)
    if M.shape[1] == 1:
        M = np.diag(M[:, 0])
    return np.linalg.solve(M, f)


def random_state(model, rng):
    """Random coordinates, of which Euler parameters have random lengths, and velocities."""
    p = rng.uniform(-1.5, 1.5, len(model.names("p")))
    for k, name in enumerate(model.names("p")):
        if name.endswith(".e0"):
            e = rng.normal(size=4)
            p[k : k + 4] = e / np.linalg.norm(e) * rng.uniform(0.8, 1.2)
    return p, rng.normal(size=len(model.names("v")))


class Kinematics:
    """Poses, velocities and accelerations of frames of a system, as functions of its coordinates.

    `body(number)` and `frame(frame)` are (x, R, v, w, v', w') in the world, at the last `at(p, v, a)`.
    """

    def __init__(self, mb, frames, own=()):
        self.parts = expressions(mb, None if own is None else set(own))
        scene, symbols = self.parts.scene, self.parts.symbols
        Z = kinematics(scene)
        rates = symbols.v if Z is None else Z @ symbols.v

        def along(x):
            return ca.jtimes(x, symbols.p, rates) + ca.jtimes(x, symbols.v, symbols.a)

        outputs = []
        for frame in frames:
            m = scene.motion(frame)
            x, v, w = (ca.vertcat(*(ca.SX(y) for y in vector)) for vector in (m.x, m.v, m.w))
            R = ca.vertcat(*(ca.horzcat(*(ca.SX(y) for y in row)) for row in m.R))
            # rates by differentiation along p' = Z v, besides those that the scene has
            turn = along(R.reshape((9, 1))).reshape((3, 3)) @ R.T
            outputs += [x, R, v, w, along(v), along(w), along(x), turn]
            outputs += [ca.jacobian(v, symbols.v), ca.jacobian(w, symbols.v), ca.SX(m.angle)]
        parameters = ca.vertcat(*symbols.parameters.values())
        self.values = [parameter.value for parameter in mb.parameters.values()]
        self.function = ca.Function("f", [symbols.p, symbols.v, symbols.a, parameters], outputs)
        self.count = len(frames)
        self.names, self.rates = scene.bones.names, scene.bones.rates

    def __call__(self, p, v=None, a=None):
        """For each frame a namespace of arrays."""
        v = np.zeros(len(self.rates)) if v is None else v
        found = self.function(p, v, np.zeros(len(self.rates)) if a is None else a, self.values)
        found = [np.array(x) for x in found]
        names = ("x", "R", "v", "w", "dv", "dw", "x_dot", "turn", "by_v", "by_w", "angle")
        columns = ("x", "v", "w", "dv", "dw", "x_dot")
        size = len(names)
        return [
            SimpleNamespace(**{
                name: y.ravel() if name in columns else y
                for name, y in zip(names, found[size * k : size * (k + 1)], strict=True)
            })
            for k in range(self.count)
        ]  # fmt: skip


def bodies_of(mb):
    """Frames of all bodies at their centres of mass."""
    return [Frame(body, body.com) for body in mb.bodies]


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def inertia_of(body):
    xx, xy, xz, yy, yz, zz = body.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# -- coordinates from poses ------------------------------------------------------------------------------------------


def about(R, axis):
    """The angle of a rotation about a known axis."""
    one = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    one /= np.linalg.norm(one)
    turned = R @ one
    return np.arctan2(turned @ np.cross(axis, one), turned @ one)


def quaternion(R):
    """Scalar first."""
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)


def joint_coordinates(joint, A, B):
    """Coordinates by name from the poses (R, x) of the joint's frames in the world."""
    R, d = A[0].T @ B[0], A[0].T @ (B[1] - A[1])
    axis = np.array(joint.axis)
    kind = joint.kind.name
    if kind in ("pin in slot", "rolling disc"):
        return {"distance": d[0], "angle": about(R, np.array([0.0, 0, 1]))}
    if kind == "planar":
        return {"x": d[0], "y": d[1], "angle": about(R, np.array([0.0, 0, 1]))}
    if kind == "universal":
        second = np.array(joint.second_axis)
        turned = R @ second
        angle1 = np.arctan2(turned @ np.cross(axis, second), turned @ second)
        rest = Rotation.from_rotvec(-angle1 * axis).as_matrix() @ R
        return {"angle1": angle1, "angle2": about(rest, second)}
    named = {"distance": d @ axis}
    if kind in ("revolute", "screw", "cylindrical"):
        named["angle"] = d @ axis / joint.pitch if kind == "screw" else about(R, axis)
    if kind in ("spherical", "free"):
        named |= dict(zip(("e0", "e1", "e2", "e3"), quaternion(R), strict=True))
        named |= dict(zip("xyz", d, strict=True))
    return named


def definition(joint, q):
    """Pose (R, x) of the second frame in the first from the coordinates: what the kinds of joints mean."""
    axis = np.array(joint.axis)
    kind, one = joint.kind.name, np.eye(3)

    def turn(about, angle):
        return Rotation.from_rotvec(angle * np.asarray(about)).as_matrix()

    if kind == "revolute":
        return turn(axis, q[0]), np.zeros(3)
    if kind == "prismatic":
        return one, q[0] * axis
    if kind == "screw":
        return turn(axis, q[0]), joint.pitch * q[0] * axis
    if kind == "cylindrical":
        return turn(axis, q[1]), q[0] * axis
    if kind == "universal":
        return turn(axis, q[0]) @ turn(joint.second_axis, q[1]), np.zeros(3)
    if kind == "planar":
        return turn(one[2], q[2]), np.array([q[0], q[1], 0])
    if kind == "pin in slot":
        return turn(one[2], q[1]), np.array([q[0], 0, 0])
    if kind == "rolling disc":
        return turn(one[2], q[1]), np.array([q[0], joint.radius, 0])
    if kind == "fixed":
        return one, np.zeros(3)
    R = Rotation.from_quat(np.roll(q[-4:], -1)).as_matrix()
    return R, np.array(q[:3]) if kind == "free" else np.zeros(3)


def pose(frame):
    """(R, x) of a frame in that of its body."""
    at = np.array([getattr(x, "value", x) for x in frame.at], float)
    return np.eye(3) if frame.rotation is None else frame.rotation, at


def times(A, B):
    return A[0] @ B[0], A[1] + A[0] @ B[1]


def inverse(A):
    return A[0].T, -A[0].T @ A[1]


def world_poses(mb, q):
    """Poses of all bodies (and of the ground) from coordinates of the joints of a tree, by name of the joint."""
    poses = {-1: (np.eye(3), np.zeros(3))}
    while len(poses) <= len(mb.bodies):
        for joint in mb.joints:
            one, two = joint.first.body.number, joint.second.body.number
            if (one in poses) == (two in poses):
                continue
            across = times(times(pose(joint.first), definition(joint, q[joint.name])), inverse(pose(joint.second)))
            if one in poses:
                poses[two] = times(poses[one], across)
            else:
                poses[one] = times(poses[two], inverse(across))
    return poses


def start_from(mb, model, poses):
    """p of a model in any coordinates where the bodies have these poses."""
    named = {}
    for joint in mb.joints:
        A = times(poses[joint.first.body.number], pose(joint.first))
        B = times(poses[joint.second.body.number], pose(joint.second))
        named |= {f"{joint.name}.{part}": x for part, x in joint_coordinates(joint, A, B).items()}
    for body in mb.bodies:
        R, x = times(poses[body.number], pose(Frame(body, body.com)))
        named |= {f"{body.name}.com_{axis}": y for axis, y in zip("xyz", x, strict=True)}
        named |= {f"{body.name}.e{k}": e for k, e in enumerate(quaternion(R))}
        named[f"{body.name}.angle"] = np.arctan2(R[1, 0], R[0, 0])
    if mb.planar:
        named |= planar_angles(mb, named)
    return np.array([named[name] for name in model.names("p")])


def planar_angles(mb, named):
    """Angles of all bodies that differ from each other by what is in the joints, and not by turns besides."""
    angles, going = {-1: 0.0}, True
    while going:
        going = False
        for joint in mb.joints:
            one, two = joint.first.body.number, joint.second.body.number
            if (one in angles) != (two in angles):
                a, b = (np.arctan2(R[1, 0], R[0, 0]) for R in (pose(joint.first)[0], pose(joint.second)[0]))
                turns = "angle" in joint.kind.coordinates
                mounted = b - a - 2 * np.pi * np.round((b - a) / 2 / np.pi)
                across = (named[f"{joint.name}.angle"] if turns else 0.0) - mounted
                angles |= {two: angles[one] + across} if one in angles else {one: angles[two] - across}
                going = True
    return {f"{body.name}.angle": angles[body.number] for body in mb.bodies if body.number in angles}


def random_coordinates(mb, rng):
    """Coordinates of all joints by name."""
    found = {}
    for joint in mb.joints:
        q = rng.uniform(-1.2, 1.2, len(joint.kind.coordinates))
        if "e0" in joint.kind.coordinates:
            q[-4:] = quaternion(rotation(rng))
        found[joint.name] = q
    return found
