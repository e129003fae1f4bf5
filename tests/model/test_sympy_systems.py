"""Systems of SymPy's mechanics against SymPy's own equations, integrated by SciPy."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

sympy = pytest.importorskip("sympy")
me = pytest.importorskip("sympy.physics.mechanics")

t = me.dynamicsymbols._t
m, g, L, k, c, J, r = sympy.symbols("m g L k c J r")
VALUES = {m: 1.3, g: 9.81, L: 0.9, k: 2.0, c: 0.3, J: 0.2, r: 0.4}
SHAKE = sympy.sin(3 * t) / 5


def reference(method, y0, values=VALUES, known=()):
    """Where SymPy's own mass matrix and forcing lead until t = 1; `known`: functions of time by symbol."""
    q = list(method.q)
    u = [each.diff(t) for each in q] if isinstance(method, me.LagrangesMethod) else list(method.u)
    states = sympy.symbols(f"y:{len(q) + len(u)}")
    numbers = []
    for matrix in (method.mass_matrix_full, method.forcing_full):
        matrix = matrix.subs(dict(known)).doit()
        matrix = me.msubs(matrix, dict(zip([*q, *u], states, strict=True)))
        numbers.append(matrix.subs(values))
    function = sympy.lambdify([t, states], numbers, "numpy")

    def rates(time, y):
        mass, forcing = (np.array(part, float) for part in function(time, y))
        return np.linalg.solve(mass, forcing.ravel())[: len(y)]

    return solve_ivp(rates, (0, 1), y0, rtol=1e-10, atol=1e-12, method="DOP853").y[:, -1]


def end(model, p0, v0):
    sol = da.simulate(model, (0, 1), p0=p0, v0=v0, rtol=1e-10, atol=1e-10)
    return np.concatenate([sol.p[-1], sol.v[-1]])


def particle(*velocity):
    """A frame and a particle with these components of its velocity."""
    frame, point = me.ReferenceFrame("N"), me.Point("P")
    point.set_vel(frame, sum((v * axis for v, axis in zip(velocity, frame, strict=False)), 0 * frame.x))
    return frame, point, me.Particle("P", point, m)


def pendulum_on(velocity, auxiliary=()):
    """Turned by q with the speed u, on a support that moves."""
    q, u = me.dynamicsymbols("q u")
    frame, support = me.ReferenceFrame("N"), me.Point("O")
    rod = frame.orientnew("A", "Axis", [q, frame.z])
    rod.set_ang_vel(frame, u * frame.z)
    support.set_vel(frame, velocity(frame))
    tip = support.locatenew("P", L * rod.x)
    tip.v2pt_theory(support, frame, rod)
    kane = me.KanesMethod(frame, [q], [u], kd_eqs=[q.diff() - u], u_auxiliary=list(auxiliary))
    reaction = me.dynamicsymbols("R")
    kane.kanes_equations([me.Particle("P", tip, m)], [(tip, m * g * frame.x), (support, reaction * frame.x)])
    return kane


# -- Kane --------------------------------------------------------------------------------------------------------------


def test_auxiliary_speeds_are_zero():
    aux = me.dynamicsymbols("aux")
    kane = pendulum_on(lambda frame: aux * frame.x, [aux])
    model = da.from_sympy(kane, VALUES)
    assert model.names("v") == ("u_",)  # u is the vector of all inputs in models
    np.testing.assert_allclose(end(model, [0.4], [0.1]), reference(kane, [0.4, 0.1]), atol=1e-8)


def test_auxiliary_speeds_beside_constraints():
    x, y, u, w, aux, force = me.dynamicsymbols("x y u w aux R")
    frame, point, body = particle(u, w, aux)
    kane = me.KanesMethod(
        frame, [x], [u], kd_eqs=[x.diff() - u, y.diff() - w], q_dependent=[y], u_dependent=[w], u_auxiliary=[aux],
        configuration_constraints=[x**2 + y**2 - L**2], velocity_constraints=[x * u + y * w],
    )  # fmt: skip
    kane.kanes_equations([body], [(point, -m * g * frame.y + force * frame.z)])
    model = da.from_sympy(kane, VALUES)
    assert (len(model.names("lam")), len(model.names("mu"))) == (1, 0)
    start = [0.0, -0.9, 0.5, 0.0]
    np.testing.assert_allclose(end(model, start[:2], start[2:]), reference(kane, start), atol=1e-8)


@pytest.mark.parametrize(
    "given", [SHAKE, lambda time: np.sin(3 * time) / 5, da.Input(lambda time: np.sin(3 * time) / 5)],
    ids=["expression", "function", "Input"],
)  # fmt: skip
def test_supports_that_inputs_move(given):
    """The equations have the second derivative of the input."""
    s = me.dynamicsymbols("s")
    kane = pendulum_on(lambda frame: s.diff(t) * frame.y)
    model = da.from_sympy(kane, VALUES, inputs={s: given})
    expected = reference(kane, [0.4, 0.1], known={s: SHAKE})
    np.testing.assert_allclose(end(model, [0.4], [0.1]), expected, atol=1e-8)


def test_inputs_whose_derivatives_are_given():
    s = me.dynamicsymbols("s")
    kane = pendulum_on(lambda frame: s.diff(t) * frame.y)
    expected = reference(kane, [0.4, 0.1], known={s: SHAKE})
    second = {s.diff(t, 2): lambda time: -9 * np.sin(3 * time) / 5}
    model = da.from_sympy(kane, VALUES, inputs={s: 0.0, **second})
    assert set(model.inputs) == {"s_", "s_ddot"}
    np.testing.assert_allclose(end(model, [0.4], [0.1]), expected, atol=1e-8)
    functions = (lambda time: 3 * np.cos(3 * time) / 5, lambda time: -9 * np.sin(3 * time) / 5)
    table = da.Input(lambda time: float(np.sin(3 * time) / 5), derivatives=functions)
    np.testing.assert_allclose(end(da.from_sympy(kane, VALUES, inputs={s: table}), [0.4], [0.1]), expected, atol=1e-8)


def test_kinematics_with_terms_without_speeds():
    """q' = 2 u + cos(t): velocities of the model are the derivatives of the coordinates."""
    q, u = me.dynamicsymbols("q u")
    frame, point, body = particle(u + q * sympy.sin(t))
    kane = me.KanesMethod(frame, [q], [u], kd_eqs=[q.diff() - 2 * u - sympy.cos(t)])
    kane.kanes_equations([body], [(point, -k * q * frame.x)])
    model = da.from_sympy(kane, VALUES, outputs={"speed": u, "rate": q.diff()})
    assert model.names("v") == ("q_dot",)
    sol = da.simulate(model, (0, 1), p0=[0.4], v0=[2 * 0.1 + 1.0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose([sol["q"][-1], sol["speed"][-1]], reference(kane, [0.4, 0.1]), atol=1e-8)
    np.testing.assert_allclose(sol["rate"], 2 * sol["speed"] + np.cos(sol.t), atol=1e-12)


def test_terms_without_speeds_that_depend_on_positions_and_constraints():
    x, y, u1, u2 = me.dynamicsymbols("x y u1 u2")
    rates = [sympy.cos(y) * u1 + sympy.sin(t), u2 - u1 + x / 3]
    frame, point, body = particle(*rates)
    kane = me.KanesMethod(
        frame, [x, y], [u1], u_dependent=[u2], kd_eqs=[x.diff() - rates[0], y.diff() - rates[1]],
        velocity_constraints=[rates[1] - x * rates[0]],
    )  # fmt: skip
    kane.kanes_equations([body], [(point, -k * x * frame.x - k * y * frame.y)])
    model = da.from_sympy(kane, VALUES, outputs={"u1": u1, "u2": u2})
    assert len(model.names("mu")) == 1
    start = {x: 0.3, y: 0.2, u1: 0.5}
    start[u2] = float((0.5 - 0.1 + 0.3 * rates[0]).subs(start).subs(t, 0))
    v0 = [float(rate.subs(start).subs(t, 0)) for rate in rates]
    sol = da.simulate(model, (0, 1), p0=[0.3, 0.2], v0=v0, rtol=1e-10, atol=1e-10)
    expected = reference(kane, list(start.values()))
    np.testing.assert_allclose([sol[name][-1] for name in ("x", "y", "u1", "u2")], expected, atol=1e-7)


def test_constraints_on_speeds_that_depend_on_time():
    x, y, u, w = me.dynamicsymbols("x y u w")
    frame, point, body = particle(u, w)
    kane = me.KanesMethod(
        frame, [x, y], [u], kd_eqs=[x.diff() - u, y.diff() - w], u_dependent=[w],
        velocity_constraints=[w - sympy.cos(t) * u - sympy.sin(2 * t)],
    )  # fmt: skip
    kane.kanes_equations([body], [(point, -m * g * frame.y - k * x * frame.x)])
    start = [0.3, 0.0, 0.5, 0.5]
    model = da.from_sympy(kane, VALUES)
    np.testing.assert_allclose(end(model, start[:2], start[2:]), reference(kane, start), atol=1e-8)


def test_a_disc_that_rolls():
    """With the radius r, whose name models reserve, and speeds that are no derivatives of coordinates."""
    q1, q2, q3, u1, u2, u3 = me.dynamicsymbols("q1:4 u1:4")
    frame = me.ReferenceFrame("N")
    yaw = frame.orientnew("Y", "Axis", [q1, frame.z])
    lean = yaw.orientnew("L", "Axis", [q2, yaw.x])
    disc = lean.orientnew("R", "Axis", [q3, lean.y])
    turning = disc.ang_vel_in(frame)
    disc.set_ang_vel(frame, u1 * lean.x + u2 * lean.y + u3 * lean.z)
    kinematic = [(turning - disc.ang_vel_in(frame)).dot(axis) for axis in lean]
    contact = me.Point("C")
    contact.set_vel(frame, 0)
    centre = contact.locatenew("D", r * lean.z)
    centre.v2pt_theory(contact, frame, disc)
    inertia = me.inertia(lean, m / 4 * r**2, m / 2 * r**2, m / 4 * r**2)
    body = me.RigidBody("disc", centre, disc, m, (inertia, centre))
    kane = me.KanesMethod(frame, [q1, q2, q3], [u1, u2, u3], kd_eqs=kinematic)
    kane.kanes_equations([body], [(centre, -m * g * yaw.z)])
    model = da.from_sympy(kane, VALUES)
    assert "r_" in model.parameters
    start = [0.1, 0.2, 0.0, 0.3, 2.0, 0.5]
    np.testing.assert_allclose(end(model, start[:3], start[3:]), reference(kane, start), atol=1e-7)


def test_more_coordinates_than_speeds():
    """A body that turns freely, by quaternions; what its kinematics keeps, |e| = 1, needs no constraint."""
    e0, e1, e2, e3, wx, wy, wz = me.dynamicsymbols("e0:4 wx wy wz")
    frame, body_frame = me.ReferenceFrame("N"), me.ReferenceFrame("B")
    body_frame.orient_quaternion(frame, (e0, e1, e2, e3))
    body_frame.set_ang_vel(frame, wx * body_frame.x + wy * body_frame.y + wz * body_frame.z)
    turn = sympy.Matrix([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]])
    rates = turn * sympy.Matrix([wx, wy, wz]) / 2
    centre = me.Point("C")
    centre.set_vel(frame, 0)
    body = me.RigidBody("b", centre, body_frame, m, (me.inertia(body_frame, 1, 2, 3), centre))
    coordinates = [e0, e1, e2, e3]
    kinematic = [e.diff() - rate for e, rate in zip(coordinates, rates, strict=True)]
    kane = me.KanesMethod(frame, coordinates, [wx, wy, wz], kd_eqs=kinematic)
    kane.kanes_equations([body], [(body_frame, -c * wx * body_frame.x)])
    start = [1.0, 0, 0, 0, 0.3, 2.0, 0.1]
    model = da.from_sympy(kane, VALUES)
    np.testing.assert_allclose(end(model, start[:4], start[4:]), reference(kane, start), atol=1e-8)


def test_equations_that_were_not_formed_yet_are():
    q, u = me.dynamicsymbols("q u")
    frame, point, body = particle(u)

    def kane():
        return me.KanesMethod(
            frame, [q], [u], kd_eqs=[q.diff() - u], bodies=[body], forcelist=[(point, -k * q * frame.x)]
        )

    formed = kane()
    formed.kanes_equations()
    found = end(da.from_sympy(kane(), VALUES), [0.4], [0.1])
    np.testing.assert_allclose(found, reference(formed, [0.4, 0.1]), atol=1e-8)


def test_functions_with_kinks():
    q, u = me.dynamicsymbols("q u")
    frame, point, body = particle(u)
    force = -k * sympy.Abs(q) * q - c * sympy.Max(u, 0) - sympy.Piecewise((q, q > 0), (2 * q, True)) - sympy.tanh(u)
    kane = me.KanesMethod(frame, [q], [u], kd_eqs=[q.diff() - u])
    kane.kanes_equations([body], [(point, force * frame.x)])
    np.testing.assert_allclose(
        end(da.from_sympy(kane, VALUES), [0.2], [-0.9]), reference(kane, [0.2, -0.9]), atol=1e-6
    )


# -- Lagrange ----------------------------------------------------------------------------------------------------------


def test_lagrange_with_both_kinds_of_constraints():
    x, y, z = me.dynamicsymbols("x y z")
    energies = m * (x.diff() ** 2 + y.diff() ** 2 + z.diff() ** 2) / 2 - m * g * z
    lagrange = me.LagrangesMethod(
        energies, [x, y, z], hol_coneqs=[x**2 + y**2 + z**2 - L**2], nonhol_coneqs=[y.diff() - x * x.diff()]
    )
    model = da.from_sympy(lagrange, VALUES)
    assert (len(model.names("lam")), len(model.names("mu"))) == (1, 1)
    start = [0.0, 0.0, -0.9, 0.7, 0.0, 0.0]
    np.testing.assert_allclose(end(model, start[:3], start[3:]), reference(lagrange, start), atol=1e-8)


def test_lagrange_with_a_constraint_that_depends_on_time():
    x, y = me.dynamicsymbols("x y")
    energies = m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y
    lagrange = me.LagrangesMethod(energies, [x, y], hol_coneqs=[x**2 + y**2 - (L + sympy.sin(t) / 5) ** 2])
    model = da.from_sympy(lagrange, VALUES)
    start = [0.9, 0.0, 0.2, 0.3]
    np.testing.assert_allclose(end(model, start[:2], start[2:]), reference(lagrange, start), atol=1e-7)


def test_lagrange_with_forces_and_a_moving_support():
    q, s, force = me.dynamicsymbols("q s F")
    frame, point, _ = particle()
    point.set_vel(frame, (s + L * sympy.sin(q)).diff(t) * frame.x + (-L * sympy.cos(q)).diff(t) * frame.y)
    across, up = s + L * sympy.sin(q), -L * sympy.cos(q)
    energies = m * (across.diff(t) ** 2 + up.diff(t) ** 2) / 2 - m * g * up
    load = (point, (force - c * q.diff()) * frame.x)
    lagrange = me.LagrangesMethod(energies, [q], forcelist=[load], frame=frame)
    known = {s: SHAKE, force: sympy.exp(-t)}
    model = da.from_sympy(lagrange, VALUES, inputs=known)
    np.testing.assert_allclose(end(model, [0.4], [0.1]), reference(lagrange, [0.4, 0.1], known=known), atol=1e-8)


# -- bodies and joints -------------------------------------------------------------------------------------------------


def cart_and_rod(speeds="u1 u2"):
    q1, q2 = me.dynamicsymbols("q1 q2")
    u1, u2 = me.dynamicsymbols(speeds) if speeds else (q1.diff(), q2.diff())
    wall, cart, rod = me.RigidBody("wall"), me.RigidBody("cart", mass=m), me.RigidBody("rod", mass=m)
    rod.central_inertia = me.inertia(rod.frame, 0, 0, J)
    joints = (
        me.PrismaticJoint("rail", wall, cart, q1, u1, joint_axis=wall.frame.x),
        me.PinJoint("pin", cart, rod, q2, u2, joint_axis=cart.frame.z, child_point=L * rod.frame.y),
    )
    system = me.System.from_newtonian(wall)
    system.add_joints(*joints)
    system.apply_uniform_gravity(-g * wall.frame.y)
    system.add_actuators(me.TorqueActuator(-c * u2, cart.frame.z, rod.frame, cart.frame))
    return system


needs_system = pytest.mark.skipif(not hasattr(me, "System"), reason="SymPy 1.13 brought System")


@needs_system
def test_systems_of_bodies_and_joints():
    system, start = cart_and_rod(), [0.1, 0.5, 0.0, 0.2]
    model = da.from_sympy(system, VALUES)  # which forms the equations
    np.testing.assert_allclose(end(model, start[:2], start[2:]), reference(system.eom_method, start), atol=1e-8)
    other = cart_and_rod(speeds=None)
    other.form_eoms(eom_method=me.LagrangesMethod)  # of which Lagrange's method takes loads for all forces
    model = da.from_sympy(other, VALUES)
    assert model.names("v") == ("q1_dot", "q2_dot")
    np.testing.assert_allclose(end(model, start[:2], start[2:]), reference(system.eom_method, start), atol=1e-8)


@needs_system
def test_a_system_with_a_loop():
    """Two pendulums whose tips are held together: constraints on positions and speeds, of which one set is kept."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    wall = me.RigidBody("wall")
    rods = [me.RigidBody(f"rod{i}", mass=m) for i in (1, 2)]
    system = me.System.from_newtonian(wall)
    tips = []
    for i, (rod, q, u) in enumerate(zip(rods, (q1, q2), (u1, u2), strict=True)):
        rod.central_inertia = me.inertia(rod.frame, 0, 0, J)
        joint = me.PinJoint(
            f"pin{i}", wall, rod, q, u, joint_axis=wall.frame.z, parent_point=i * L * wall.frame.x,
            child_point=L / 2 * rod.frame.y,
        )  # fmt: skip
        system.add_joints(joint)
        tips.append(rod.masscenter.locatenew(f"T{i}", -L / 2 * rod.frame.y))
    system.apply_uniform_gravity(-g * wall.frame.y)
    away = tips[1].pos_from(tips[0])
    system.add_holonomic_constraints(away.dot(away) - L**2)  # as far apart as their supports
    system.q_ind, system.q_dep = [q1], [q2]
    system.u_ind, system.u_dep = [u1], [u2]
    model = da.from_sympy(system, VALUES)
    assert (len(model.names("lam")), len(model.names("mu"))) == (1, 0)
    start = [0.4, 0.4, 0.2, 0.2]
    np.testing.assert_allclose(end(model, start[:2], start[2:]), reference(system.eom_method, start), atol=1e-7)


@pytest.mark.skipif(not hasattr(me, "JointsMethod"), reason="it was removed")
def test_the_older_method_of_joints():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        q, u = me.dynamicsymbols("q u")
        wall, rod = me.Body("wall"), me.Body("rod", mass=m, central_inertia=None)
        joint = me.PinJoint("pin", wall, rod, q, u, child_point=L * rod.frame.y, joint_axis=wall.frame.z)
        rod.apply_force(-m * g * wall.frame.y)
        joints = me.JointsMethod(wall, joint)
        model = da.from_sympy(joints, {**VALUES, **dict.fromkeys(_inertias(rod), 0.1)})
        expected = reference(joints.method, [0.5, 0.1], {**VALUES, **dict.fromkeys(_inertias(rod), 0.1)})
    np.testing.assert_allclose(end(model, [0.5], [0.1]), expected, atol=1e-8)


def _inertias(body) -> set:
    return body.central_inertia.to_matrix(body.frame).free_symbols


# -- what cannot be ----------------------------------------------------------------------------------------------------


def kane_with(force):
    q, u = me.dynamicsymbols("q u")
    frame, point, body = particle(u)
    kane = me.KanesMethod(frame, [q], [u], kd_eqs=[q.diff() - u])
    kane.kanes_equations([body], [(point, force(q) * frame.x)])
    return kane


def test_numbers_of_sympy_and_names_as_text():
    model = da.from_sympy(kane_with(lambda q: -k * q), {"m": sympy.Rational(1, 2), k: sympy.pi})
    assert model.parameters == {"m": 0.5, "k": np.pi}


def test_what_cannot_be_translated_is_said():
    with pytest.raises(da.ModelError, match="besselj"):
        da.from_sympy(kane_with(lambda q: sympy.besselj(1, q)), VALUES)
    one, other = sympy.Symbol("k"), sympy.Symbol("k", positive=True)
    with pytest.raises(da.ModelError, match="two symbols of the name 'k'"):
        da.from_sympy(kane_with(lambda q: one + other), {**VALUES, other: 1.0})
    s, third = me.dynamicsymbols("s third")
    with pytest.raises(da.ModelError, match="derivative number 3 of the input 's'"):
        da.from_sympy(kane_with(lambda q: s.diff(t, 3)), VALUES, inputs={s: np.sin})
    with pytest.raises(da.ModelError, match="function of t alone"):
        da.from_sympy(kane_with(lambda q: s), VALUES, inputs={s: third})
    with pytest.raises(da.ModelError, match="mapping"):
        da.from_sympy(kane_with(lambda q: q), [1.0])
    q, u, b = me.dynamicsymbols("q u b")
    unformed = me.KanesMethod(me.ReferenceFrame("N"), [q], [u], kd_eqs=[q.diff() - u])
    with pytest.raises(da.ModelError, match="not been formed yet"):
        da.from_sympy(unformed, VALUES)
    frame, point, body = particle(u)
    driven = me.KanesMethod(frame, [q, b], [u], kd_eqs=[q.diff() - u, b.diff() - 1])
    driven.kanes_equations([body], [(point, 0 * frame.x)])
    with pytest.raises(da.ModelError, match="choose speeds"):
        da.from_sympy(driven, VALUES)


@needs_system
def test_what_sympy_itself_refuses_is_our_error():
    system = cart_and_rod()
    system.add_holonomic_constraints(system.q[0] - sympy.sin(system.q[1]))  # nobody depends on it
    with pytest.raises(da.ModelError, match="SymPy could not form the equations"):
        da.from_sympy(system, VALUES)
