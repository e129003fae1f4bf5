"""Formalisms along the tree against each other, against Kane's equations, SymPy and Pinocchio."""

from dataclasses import replace
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from builders import (
    PLANAR,
    SPATIAL,
    Kinematics,
    accelerations,
    bodies_of,
    inertia_of,
    numbers,
    random_state,
    random_tree,
    skew,
)

import dalembert as da
from dalembert.multibody.equations import expressions, kinematics


def close(a, b, tolerance=1e-10):
    a, b = np.asarray(a), np.asarray(b)
    scale = max(np.abs(a).max(initial=0), np.abs(b).max(initial=0), 1e-3)
    assert np.abs(a - b).max(initial=0) <= tolerance * scale, (a, b)


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_explicit_and_residual_formalisms_agree(seed, planar):
    mb = random_tree(seed, planar=planar)
    residual, explicit = (mb.equations("joint", formalism=formalism) for formalism in ("residual", "explicit"))
    assert residual.names("p") == explicit.names("p")
    rng = np.random.default_rng(seed)
    for _ in range(3):
        p, v = random_state(residual, rng)
        close(accelerations(residual, p, v, 0.3), accelerations(explicit, p, v, 0.3))
        (M,) = numbers(residual, "mass", p=p)
        assert np.array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("kind", [*SPATIAL, *(f"planar {kind}" for kind in PLANAR)])
def test_motions_are_derivatives_of_poses(kind):
    # v = x', ω from R' Rᵀ, and both again: along p' = Z v, for chains of one kind in both directions
    planar, kind = kind.startswith("planar "), kind.removeprefix("planar ")
    for seed in range(4):
        mb = random_tree(seed, planar=planar, bodies=3, kinds=(kind,), forces=False)
        look = Kinematics(mb, bodies_of(mb))
        rng = np.random.default_rng(seed)
        p, v = random_state(mb.equations(), rng)
        a = rng.normal(size=len(v))
        scene, symbols = look.parts.scene, look.parts.symbols
        for at in look(p, v, a):
            close(at.v, at.x_dot, 1e-12)
            close(skew(at.w), at.turn, 1e-12)
        # accelerations of the recursion against derivatives of the velocities
        tree = scene.tree
        rates = tree.accelerations(scene.v, symbols.a.elements(), tree.velocities(scene.v))
        links = [tree.out(i, twist) for i, rate in enumerate(rates) for twist in (rate.w, rate.v)]
        twists = [tree.out(i, twist) for i, rate in enumerate(tree.velocities(scene.v)) for twist in (rate.w, rate.v)]
        given = [symbols.p, symbols.v, symbols.a, ca.vertcat(*symbols.parameters.values())]
        column = [ca.vertcat(*(ca.SX(x) for vector in vectors for x in vector)) for vectors in (links, twists)]
        Z = kinematics(scene)
        flow = symbols.v if Z is None else Z @ symbols.v
        along = ca.jtimes(column[1], symbols.p, flow) + ca.jtimes(column[1], symbols.v, symbols.a)
        found = ca.Function("f", given, [column[0], along])(p, v, a, look.values)
        close(*(np.array(x) for x in found), 1e-12)


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_virtual_power_of_all_bodies(seed, planar):
    # Σ (m a − m g)·∂v + (J α + ω × J ω)·∂ω = 0 for each freedom, body by body, without any recursion
    mb = random_tree(100 + seed, planar=planar, forces=False)
    model = mb.equations("joint", formalism="explicit")
    rng = np.random.default_rng(seed)
    p, v = random_state(model, rng)
    a = accelerations(model, p, v)
    total, size = 0.0, 0.0
    for body, at in zip(mb.bodies, Kinematics(mb, bodies_of(mb))(p, v, a), strict=True):
        m = getattr(body.mass, "value", body.mass)
        J = at.R @ inertia_of(body) @ at.R.T
        parts = [m * at.dv @ at.by_v, -m * np.array(mb.gravity) @ at.by_v]
        parts += [J @ at.dw @ at.by_w, np.cross(at.w, J @ at.w) @ at.by_w]
        total, size = total + sum(parts), size + sum(map(np.abs, parts))
    assert np.abs(total).max() <= 1e-11 * size.max()


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_kinetic_energy_grows_by_the_power_of_forces(seed, planar):
    # d/dt ½ vᵀ M v along the flow, by differences, is the power of the weights: joints do no work
    mb = random_tree(seed, planar=planar, bodies=3, forces=False)
    model = mb.equations("joint")
    rng = np.random.default_rng(seed)
    p, v = random_state(model, rng)
    a = accelerations(model, p, v)
    Z = numbers(model, "kinematics", p=p)[0] if "kinematics" in model.graph.functions else np.eye(len(p))
    look = Kinematics(mb, bodies_of(mb))

    def kinetic(h):
        q, u = p + h * (Z @ v), v + h * a
        (M,) = numbers(model, "mass", p=q)
        return u @ M @ u / 2

    h = 1e-3  # Richardson's extrapolation of central differences
    slopes = [(kinetic(k * h) - kinetic(-k * h)) / (2 * k * h) for k in (1, 2, 4)]
    slopes = [(4 * one - two) / 3 for one, two in pairwise(slopes)]
    slope = (16 * slopes[0] - slopes[1]) / 15
    weight = sum(
        getattr(body.mass, "value", body.mass) * np.array(mb.gravity) @ at.v
        for body, at in zip(mb.bodies, look(p, v, a), strict=True)
    )
    assert slope == pytest.approx(weight, rel=1e-8, abs=1e-8)


def test_parameters_change_the_model_without_another_one():
    mb = random_tree(3, planar=True, bodies=2, fixed=False, parameters=False, forces=False)
    other = da.Multibody(planar=True, gravity=mb.gravity[:2])
    m, x = other.parameter("m", 99.0), other.parameter("x", 77.0)
    first, second = mb.bodies
    one = other.body(first.name, m, first.inertia[5], first.com[:2])
    two = other.body(second.name, second.mass, second.inertia[5], (x, second.com[1]))
    copies = {mb.ground: other.ground, first: one, second: two}
    for joint in mb.joints:
        method = joint.kind.name.replace(" ", "_").replace("planar", "plane")
        options = {"axis": joint.axis[:2]} if method == "prismatic" else {}
        getattr(other, method)(
            joint.name,
            copies[joint.first.body], copies[joint.second.body], at=joint.first.at[:2], to=joint.second.at[:2],
            rotation=np.arctan2(joint.first.rotation[1, 0], joint.first.rotation[0, 0]),
            rotation_to=np.arctan2(joint.second.rotation[1, 0], joint.second.rotation[0, 0]), **options,
        )  # fmt: skip
    given = {"m": first.mass, "x": second.com[0]}
    p, v = random_state(mb.equations(), np.random.default_rng(0))
    for formalism in ("explicit", "residual"):
        model = other.equations(formalism=formalism).replace(given)
        close(accelerations(model, p, v), accelerations(mb.equations(), p, v), 1e-12)


def test_free_joint_whose_frame_on_the_ground_is_turned():
    # velocities are in axes of the joint's frame, gravity is in those of the world
    mb = da.Multibody(gravity=(1, 2, 3))
    body = mb.body("body", 2.0, (1, 1, 1))
    mb.free("free", mb.ground, body, rotation=(0.3, -1.0, 0.4))
    model = mb.equations()
    R = mb.joints[0].first.rotation
    p = [0, 0, 0, 1, 0, 0, 0]
    close(accelerations(model, p, np.zeros(6))[:3], R.T @ [1, 2, 3], 1e-14)


# -- other packages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_against_kanes_equations_of_sympy(seed):
    sm = pytest.importorskip("sympy")
    me = pytest.importorskip("sympy.physics.mechanics")
    bodies, kinds = [
        (3, ("revolute", "prismatic")), (3, ("revolute", "screw")), (2, ("universal", "prismatic")),
        (2, ("plane", "screw")), (3, ("revolute",)),
    ][seed]  # fmt: skip
    mb = random_tree(seed, bodies=bodies, kinds=kinds, forces=False, parameters=False, fixed=False)
    for joint in mb.joints:  # SymPy's expressions grow with every rotation about a general axis
        joint.second = replace(joint.second, rotation=None)
        if joint.number != 1:
            joint.axis, joint.second_axis = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    model = mb.equations("joint")
    N, O = me.ReferenceFrame("N"), me.Point("O")
    O.set_vel(N, 0)
    q = dict(zip(model.names("p"), me.dynamicsymbols(f"q:{len(model.names('p'))}"), strict=True))
    u = list(me.dynamicsymbols(f"u:{len(q)}"))
    spin = dict(zip(q, u, strict=True))

    def along(frame, x):
        return sum((float(c) * e for c, e in zip(x, (frame.x, frame.y, frame.z), strict=True)), me.Vector(0))

    def fixed_frame(frame, R, name):
        new = me.ReferenceFrame(name)
        new.orient_explicit(frame, sm.Matrix(R))
        new.set_ang_vel(frame, 0)
        return new

    frames, points = {-1: N}, {-1: O}
    waiting = list(mb.joints)
    while waiting:
        joint = next(j for j in waiting if {j.first.body.number, j.second.body.number} & set(frames))
        waiting.remove(joint)
        backwards = joint.first.body.number not in frames
        inner, outer = (joint.second, joint.first) if backwards else (joint.first, joint.second)
        sign = -1.0 if backwards else 1.0
        here = inner.body.number
        identity = np.eye(3)
        frame = fixed_frame(frames[here], identity if inner.rotation is None else inner.rotation, f"J{joint.number}")
        point = points[here].locatenew(f"j{joint.number}", along(frames[here], inner.at))
        point.v2pt_theory(points[here], N, frames[here])
        moves = {
            "revolute": [("angle", joint.axis, None)], "prismatic": [("distance", None, joint.axis)],
            "screw": [("angle", joint.axis, joint.pitch * np.array(joint.axis))],
            "cylindrical": [("distance", None, joint.axis), ("angle", joint.axis, None)],
            "universal": [("angle1", joint.axis, None), ("angle2", joint.second_axis, None)],
            "planar": [("x", None, (1, 0, 0)), ("y", None, (0, 1, 0)), ("angle", (0, 0, 1), None)],
        }[joint.kind.name]  # fmt: skip
        for k, (part, about, moving) in enumerate(reversed(moves) if backwards else moves):
            name = f"{joint.name}.{part}"
            if moving is not None:
                step = sign * q[name] * along(frame, moving)
                new = point.locatenew(f"m{joint.number}{k}", step)
                w = frame.ang_vel_in(N)
                new.set_vel(N, point.vel(N) + sign * spin[name] * along(frame, moving) + w.cross(step))
                point = new
            if about is not None:
                turned = frame.orientnew(f"T{joint.number}{k}", "Axis", [sign * q[name], along(frame, about)])
                turned.set_ang_vel(frame, sign * spin[name] * along(frame, about))
                frame = turned
        there = outer.body.number
        back = identity if outer.rotation is None else outer.rotation
        frames[there] = fixed_frame(frame, back.T, f"B{there}")
        points[there] = point.locatenew(f"b{there}", -along(frames[there], outer.at))
        points[there].v2pt_theory(point, N, frames[there])
    bodies, loads = [], []
    for body in mb.bodies:
        frame = frames[body.number]
        centre = points[body.number].locatenew(f"c{body.number}", along(frame, body.com))
        centre.v2pt_theory(points[body.number], N, frame)
        xx, xy, xz, yy, yz, zz = map(float, body.inertia)
        inertia = me.inertia(frame, xx, yy, zz, xy, yz, xz)
        bodies.append(me.RigidBody(f"body{body.number}", centre, frame, body.mass, (inertia, centre)))
        loads.append((centre, body.mass * along(N, mb.gravity)))
    t = me.dynamicsymbols._t
    kane = me.KanesMethod(N, list(q.values()), u, kd_eqs=[x.diff(t) - y for x, y in zip(q.values(), u, strict=True)])
    kane.kanes_equations(bodies, loads)
    evaluate = sm.lambdify([list(q.values()), u], [kane.mass_matrix, kane.forcing], cse=True)
    rng = np.random.default_rng(seed)
    explicit = mb.equations("joint", formalism="explicit")
    for _ in range(3):
        p, v = random_state(model, rng)
        M, f = (np.array(x, float) for x in evaluate(p, v))
        own_M, own_f = numbers(model, "mass", "force", p=p, v=v)
        close(own_M, M)
        close(own_f, f.ravel())
        close(accelerations(explicit, p, v), np.linalg.solve(M, f).ravel())


@pytest.mark.parametrize("seed", range(5))
def test_against_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    kinds = ("revolute", "prismatic", "spherical")
    mb = random_tree(seed, bodies=6, kinds=kinds, forces=False, parameters=False, fixed=False)
    for joint in mb.joints:  # all from the ground outwards: Pinocchio's joints have one direction
        if joint.first.body.number > joint.second.body.number:
            joint.first, joint.second = joint.second, joint.first
    parts = expressions(mb, set())
    model = pin.Model()
    model.gravity = pin.Motion(np.array(mb.gravity), np.zeros(3))
    numbers_there, order = {-1: 0}, []
    sits = {-1: pin.SE3.Identity()}  # pose of a body's frame on its joint

    def pose(frame):
        return pin.SE3(np.eye(3) if frame.rotation is None else frame.rotation, np.array(frame.at, float))

    for carrier in parts.bones.carriers:
        joint, body = carrier.joint, mb.bodies[carrier.body]
        kind = {
            "revolute": lambda axis: pin.JointModelRevoluteUnaligned(axis),
            "prismatic": lambda axis: pin.JointModelPrismaticUnaligned(axis),
            "spherical": lambda axis: pin.JointModelSpherical(),
        }[joint.kind.name](np.array(joint.axis))
        above = joint.first.body.number
        number = model.addJoint(numbers_there[above], kind, sits[above] * pose(joint.first), joint.name)
        numbers_there[body.number], sits[body.number] = number, pose(joint.second).inverse()
        inertia = pin.Inertia(body.mass, np.array(body.com, float), inertia_of(body))
        model.appendBodyToJoint(number, inertia, sits[body.number])
        order.append((joint, number))
    data = model.createData()
    ours, explicit = mb.equations("joint"), mb.equations("joint", formalism="explicit")
    rng = np.random.default_rng(seed)
    p, v = random_state(ours, rng)
    q, u = np.zeros(model.nq), np.zeros(model.nv)
    places = []
    for joint, number in order:
        own, there = parts.bones.coordinates_of(joint), model.joints[number]
        x = p[own.start : own.stop]
        if len(x) == 4:  # Pinocchio has the scalar last, of length one
            p[own.start : own.stop] = x = x / np.linalg.norm(x)
            x = np.roll(x, -1)
        q[there.idx_q : there.idx_q + there.nq] = x
        rates = parts.bones.rates_of(joint)
        u[there.idx_v : there.idx_v + there.nv] = v[rates.start : rates.stop]
        places += [there.idx_v + k for k in range(there.nv)]
    a = pin.aba(model, data, q, u, np.zeros(model.nv))[places]
    close(accelerations(ours, p, v), a)
    close(accelerations(explicit, p, v), a)
