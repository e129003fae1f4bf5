"""Models from SymPy's equations of motion, against SymPy's own right-hand sides and models written by hand."""

import numpy as np
import pytest

import dalembert as da

sympy = pytest.importorskip("sympy")
me = pytest.importorskip("sympy.physics.mechanics")

m, g, L, k = sympy.symbols("m g L k")
VALUES = {m: 1.3, g: 9.81, L: 0.9}


def double_pendulum():
    """By Kane, with speeds that are not the rates of the angles."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    N = me.ReferenceFrame("N")
    A, B = N.orientnew("A", "Axis", [q1, N.z]), N.orientnew("B", "Axis", [q2, N.z])
    A.set_ang_vel(N, u1 * N.z)
    B.set_ang_vel(N, (u1 + u2) * N.z)
    O = me.Point("O")
    P = O.locatenew("P", L * A.x)
    Q = P.locatenew("Q", L * B.x)
    O.set_vel(N, 0)
    P.v2pt_theory(O, N, A)
    Q.v2pt_theory(P, N, B)
    bodies = [me.Particle("p", P, m), me.Particle("q", Q, m)]
    kane = me.KanesMethod(N, q_ind=[q1, q2], u_ind=[u1, u2], kd_eqs=[q1.diff() - u1, q2.diff() - u1 - u2])
    kane.kanes_equations(bodies, [(P, m * g * N.x), (Q, m * g * N.x)])
    return kane, (q1, q2, u1, u2)


def test_kane_gives_sympys_own_accelerations():
    kane, state = double_pendulum()
    model = da.from_sympy(kane, VALUES)
    assert model.names("p") == ("q1", "q2")
    assert model.names("v") == ("u1", "u2")
    rhs = sympy.lambdify([*state, m, g, L], kane.rhs())
    sol = da.simulate(model, (0, 2), p0=[0.4, 0.7], v0=[0.1, -0.2], rtol=1e-10, atol=1e-10)
    from scipy.integrate import solve_ivp

    exact = solve_ivp(
        lambda t, y: np.ravel(rhs(*y, 1.3, 9.81, 0.9)), (0, 2), [0.4, 0.7, 0.1, -0.2], rtol=1e-11, atol=1e-12
    )
    np.testing.assert_allclose(np.concatenate([sol.p[-1], sol.v[-1]]), exact.y[:, -1], atol=1e-7)


def test_kane_with_dependent_coordinates_keeps_its_constraints():
    """A point on a circle: one configuration constraint, whose derivative SymPy wants as a constraint on speeds."""
    x, y, u, w = me.dynamicsymbols("x y vx vy")
    N = me.ReferenceFrame("N")
    O = me.Point("O")
    O.set_vel(N, 0)
    P = O.locatenew("P", x * N.x + y * N.y)
    P.set_vel(N, u * N.x + w * N.y)
    circle = x**2 + y**2 - L**2
    kane = me.KanesMethod(
        N, q_ind=[x], q_dependent=[y], configuration_constraints=[circle], u_ind=[u], u_dependent=[w],
        velocity_constraints=[2 * x * u + 2 * y * w], kd_eqs=[x.diff() - u, y.diff() - w],
    )  # fmt: skip
    kane.kanes_equations([me.Particle("P", P, m)], [(P, -m * g * N.y)])
    model = da.from_sympy(kane, VALUES, start={"p0": [0.9, 0.0]})
    assert len(model.names("lam")) == 1
    assert not model.names("mu")
    by_hand = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.3, 1.3], force=[0, -1.3 * 9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 0.81]
    )
    sol = da.simulate(model, (0, 3), rtol=1e-9)
    other = da.simulate(by_hand, (0, 3), p0=[0.9, 0.0], rtol=1e-9)
    np.testing.assert_allclose(sol.p[-1], other.p[-1], atol=1e-6)
    assert sol.max_residual("position") < 1e-8


def test_kane_with_a_constraint_on_speeds_alone():
    """A sleigh: it cannot move sideways."""
    x, y, phi, u, w, omega = me.dynamicsymbols("x y phi vx vy omega")
    inertia = sympy.symbols("J")
    N = me.ReferenceFrame("N")
    B = N.orientnew("B", "Axis", [phi, N.z])
    B.set_ang_vel(N, omega * N.z)
    O, C = me.Point("O"), me.Point("C")
    O.set_vel(N, 0)
    C.set_pos(O, x * N.x + y * N.y)
    C.set_vel(N, u * N.x + w * N.y)
    body = me.RigidBody("sleigh", C, B, m, (me.inertia(B, 0, 0, inertia), C))
    kane = me.KanesMethod(
        N, q_ind=[x, y, phi], u_ind=[u, omega], u_dependent=[w],
        kd_eqs=[x.diff() - u, y.diff() - w, phi.diff() - omega],
        velocity_constraints=[-u * sympy.sin(phi) + w * sympy.cos(phi)],
    )  # fmt: skip
    kane.kanes_equations([body], [(C, 0 * N.x)])
    model = da.from_sympy(kane, {m: 2.0, "J": 0.5})
    assert len(model.names("mu")) == 1
    names = dict(zip(model.names("v"), range(3), strict=True))
    start = np.zeros(3)
    start[names["vx"]], start[names["omega"]] = 1.0, 0.5
    sol = da.simulate(model, (0, 4 * np.pi), p0=[0, 0, 0], v0=start, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([sol["x"][-1], sol["y"][-1]], [0, 0], atol=1e-5)  # a circle of radius 2
    assert sol["y"].max() == pytest.approx(4.0, abs=1e-3)


def test_lagrange_with_forces_inputs_and_outputs():
    z = me.dynamicsymbols("z")
    F = me.dynamicsymbols("F")
    N = me.ReferenceFrame("N")
    P = me.Point("P")
    P.set_vel(N, z.diff() * N.x)
    lagrange = me.LagrangesMethod(m * z.diff() ** 2 / 2 - k * z**2 / 2, [z], forcelist=[(P, F * N.x)], frame=N)
    model = da.from_sympy(
        lagrange, {m: 1.0, "k": 4.0}, inputs={F: lambda t: np.sin(t)},
        outputs={"energy": m * z.diff() ** 2 / 2 + k * z**2 / 2}, name="driven",
    )  # fmt: skip
    assert model.name == "driven"
    sol = da.simulate(model, (0, 5), p0=[0.0], rtol=1e-10, atol=1e-10)
    exact = (np.sin(5.0) - np.sin(10.0) / 2) / 3
    assert sol["z"][-1] == pytest.approx(exact, abs=1e-8)
    np.testing.assert_allclose(sol["energy"], sol["z_dot"] ** 2 / 2 + 2 * sol["z"] ** 2)


def test_what_is_missing_is_named():
    kane, _ = double_pendulum()
    with pytest.raises(da.ModelError) as caught:
        da.from_sympy(kane, {m: 1.0})
    assert list(caught.value.faults) == ["parameters: 'L' has no value", "parameters: 'g' has no value"]
    z, F = me.dynamicsymbols("z F")
    with pytest.raises(da.ModelError, match=r"'F\(t\)' is neither a coordinate nor a speed"):
        da.from_sympy(me.LagrangesMethod(z.diff() ** 2 + F * z, [z]))
    with pytest.raises(da.ModelError, match="KanesMethod"):
        da.from_sympy(5)
