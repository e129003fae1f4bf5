"""Hidden constraints of DAEs in which they are known."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import regularized


def numbers(form, t, x, y=()):
    """Values of all constraints, by level."""
    graph = form.model.graph
    symbols = [graph.t, form.x, form.y, graph.theta]
    function = ca.Function("h", symbols, [level.rows for level in form.levels])
    return [np.array(part).ravel() for part in function.call([t, x, np.array(y, float), form.model.theta(t)])]


def pendulum_of_the_paper(implicit):
    """(6a) to (6e)."""
    names, parameters = ["p", "q", "v", "w", "lam"], {"m": 1.3, "g": 13.7503716373295, "L": 0.9}

    def rhs(s):
        return [s.v, s.w, -2 * s.p * s.lam, -s.m * s.g - 2 * s.q * s.lam, s.p**2 + s.q**2 - s.L**2]

    if implicit:
        return da.ImplicitDAE(
            x=names,
            parameters=parameters,
            residual=lambda s: np.array(rhs(s)) - [s.p_dot, s.q_dot, s.m * s.v_dot, s.m * s.w_dot, 0],
        )
    return da.QuasiLinearDAE(
        x=names, parameters=parameters, rhs=rhs, leading=lambda s: np.diag([1, 1, s.m, s.m, 0]), name="pendulum"
    )


@pytest.mark.parametrize("implicit", [False, True])
def test_pendulum_of_the_paper(implicit):
    form = regularized(pendulum_of_the_paper(implicit))
    assert [len(level) for level in form.levels] == [1, 1, 1]
    assert form.y.numel() == 0
    assert form.degrees_of_freedom == 2
    assert [level.names[0] for level in form.levels] == [
        "equation 5", "derivative 1 of equation 5", "derivative 2 of equation 5",
    ]  # fmt: skip
    assert form.added.tolist() == [False, True, True]
    m, g, L = 1.3, 13.7503716373295, 0.9
    rng = np.random.default_rng(3)
    for _ in range(5):
        p, q, v, w, lam = x = rng.uniform(-2, 2, 5)
        (h0,), (h1,), (h2,) = numbers(form, 0.7, x)
        assert h0 == pytest.approx(p**2 + q**2 - L**2, rel=1e-13)
        assert h1 == pytest.approx(2 * p * v + 2 * q * w, rel=1e-13)  # (6f)
        expected = 2 * v**2 + 2 * w**2 + 2 * p * (-2 * p * lam) / m + 2 * q * (-m * g - 2 * q * lam) / m  # (6g)
        assert h2 == pytest.approx(expected, rel=1e-13)


def test_differential_equations_stay_as_they_are():
    model = pendulum_of_the_paper(False)
    form = regularized(model)
    assert form.differential_names == ("equation 1", "equation 2", "equation 3", "equation 4")
    x = np.array([0.3, -0.4, 0.5, 0.6, 0.7])
    E, k = ca.Function("f", [form.x, model.graph.theta], [form.E, form.k])(x, model.theta(0.0))
    np.testing.assert_array_equal(np.array(E), np.diag([1, 1, 1.3, 1.3, 0])[:4])
    np.testing.assert_allclose(np.array(k).ravel(), [0.5, 0.6, -2 * 0.3 * 0.7, -1.3 * 13.7503716373295 + 0.8 * 0.7])


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("backwards", [False, True])
def test_chain_of_integrators(n, backwards):
    """x1' = x2, …, and x1 is given: all unknowns are derivatives of it, in whatever order equations stand."""
    order = np.arange(n)[::-1] if backwards else np.arange(n)

    def residual(s):
        rows = [s.dx[k] - s.x[k + 1] for k in range(n - 1)] + [s.x[0] - np.sin(2 * s.t)]
        return [rows[k] for k in order]

    form = regularized(da.ImplicitDAE(x=[f"x{k + 1}" for k in range(n)], residual=residual))
    assert form.structure.index == n
    assert form.degrees_of_freedom == 0
    assert [len(level) for level in form.levels] == [1] * n
    t = 0.4
    exact = [2.0**k * np.sin(2 * t + k * np.pi / 2) for k in range(n)]
    for level in numbers(form, t, exact):
        np.testing.assert_allclose(level, 0, atol=1e-13 * 2**n)
    away = numbers(form, t, np.array(exact) + 1)
    np.testing.assert_allclose(np.abs(np.concatenate(away)), 1, rtol=1e-12)


def test_capacitor_at_a_source():
    """C (v1' − v2') = i with v2 given: v2' is that of the source, and no constraint is hidden."""
    circuit = da.QuasiLinearDAE(
        x=["v1", "v2", "i"],
        parameters={"C": 2.0, "R": 3.0},
        inputs={"source": lambda t: np.sin(t)},
        leading=lambda s: [[s.C, -s.C, 0], [0, 0, 0], [0, 0, 0]],
        rhs=lambda s: [s.i, s.v1 / s.R + s.i, s.v2 - s.source],
    )
    form = regularized(circuit)
    assert [len(level) for level in form.levels] == [2]
    assert form.y.numel() == 0
    assert form.degrees_of_freedom == 1
    rates = ca.Function("f", [form.x, circuit.graph.theta], [form.rates])([0.1, 0.2, 0.3], circuit.theta(0.5))
    np.testing.assert_allclose(np.array(rates).ravel(), [np.cos(0.5) + 0.3 / 2.0, np.cos(0.5), 0])


def test_loop_of_capacitors():
    """Three capacitors in a loop: their voltages add up to zero, so do their rates, and that gives the current."""
    circuit = da.ImplicitDAE(
        x=["va", "vb", "vc", "ia", "ib", "ic", "loop"],
        parameters={"A": 1.0, "B": 2.0, "C": 5.0},
        residual=lambda s: [
            s.A * s.va_dot - s.ia,
            s.B * s.vb_dot - s.ib,
            s.C * s.vc_dot - s.ic,
            s.va + s.vb + s.vc,
            s.ia - s.loop + s.va,  # each with a resistor beside it
            s.ib - s.loop + s.vb / 2,
            s.ic - s.loop + s.vc / 3,
        ],
    )
    form = regularized(circuit)
    assert [len(level) for level in form.levels] == [4, 1]
    assert form.degrees_of_freedom == 2
    assert form.levels[1].names == ("derivative 1 of equation 4",)
    *_, ia, ib, ic, _ = x = np.array([0.1, 0.2, -0.3, 1.0, 2.0, 3.0, 4.0])
    assert numbers(form, 0.0, x)[1][0] == pytest.approx(ia / 1 + ib / 2 + ic / 5)


def test_derivatives_that_are_no_linear_ones_are_unknowns():
    """a'³ + a' = b, b given: a' is an unknown of its own, and the constraint b = … is differentiated for b'."""
    form = regularized(
        da.ImplicitDAE(
            x=["a", "b", "c"],
            residual=lambda s: [s.a_dot**3 + s.a_dot - s.b, s.b - np.sin(s.t) * s.a, s.c - s.b_dot],
        )
    )
    assert form.y_names == ("der(a)",)
    assert form.y_of.tolist() == [[0, 1]]
    assert form.differential_names == ("equation 3", "derivative of 'a'")
    assert [len(level) for level in form.levels] == [2, 1]
    a, b, y, t = 0.3, 0.5, 0.7, 0.4
    h0, h1 = numbers(form, t, [a, b, 0.2], [y])
    np.testing.assert_allclose(h0, [y**3 + y - b, b - np.sin(t) * a], rtol=1e-12)
    np.testing.assert_allclose(h1, [0.2 - np.cos(t) * a - np.sin(t) * y], rtol=1e-12)
    assert form.x.numel() + 1 - 3 == form.degrees_of_freedom == 1


def test_nothing_is_hidden():
    form = regularized(da.QuasiLinearDAE(x=["a", "b"], leading=[1, 0], rhs=lambda s: [-s.a + s.b, s.a - 2 * s.b]))
    assert not form.hides
    assert [len(level) for level in form.levels] == [1]
    assert not form.added.any()


def test_inputs_have_two_derivatives():
    def chain(n):
        return da.ImplicitDAE(
            x=[f"x{k + 1}" for k in range(n)],
            inputs={"path": lambda t: np.sin(t)},
            residual=lambda s: [s.dx[k] - s.x[k + 1] for k in range(n - 1)] + [s.x[0] - s.path],
        )

    form = regularized(chain(3))
    for level in numbers(form, 0.3, [np.sin(0.3), np.cos(0.3), -np.sin(0.3)]):
        np.testing.assert_allclose(level, 0, atol=1e-15)
    with pytest.raises(da.ModelError, match=r"equation 4 has to be differentiated 3 times.* input 'path'"):
        regularized(chain(4))


def test_hidden_constraints_of_a_model():
    hidden = pendulum_of_the_paper(False).hidden_constraints()
    assert len(hidden) == 2
    assert repr(hidden).splitlines() == [
        "HiddenConstraints(of model 'pendulum': 2 hidden, by level",
        "  0: 1, 0 of them hidden",
        "  1: 1, 1 of them hidden",
        "  2: 1, 1 of them hidden)",
    ]
    position, velocity, _ = hidden.values([0.9, 0.0, 0.1, 5.0, 0.0])
    assert position == pytest.approx(0)
    assert velocity == pytest.approx(0.18)
    for wrong in ([1.0], "x", [np.nan] * 4):
        with pytest.raises(da.ModelError):
            hidden.values(wrong)
    with pytest.raises(da.ModelError, match="t='now'"):
        hidden.values([0.0] * 5, t="now")


def test_derivatives_that_are_unknowns_are_found_for_values():
    model = da.ImplicitDAE(
        x=["a", "b", "c"],
        residual=lambda s: [s.a_dot**3 + s.a_dot - s.b, s.b - np.sin(s.t) * s.a, s.c - s.b_dot],
    )
    t, y, a = 0.4, 0.7, (0.7**3 + 0.7) / np.sin(0.4)
    hidden = model.hidden_constraints()
    levels = hidden.values([a, y**3 + y, np.cos(t) * a + np.sin(t) * y], t)
    assert [len(level) for level in levels] == [2, 1]
    for level in levels:
        np.testing.assert_allclose(level, 0, atol=1e-10)


def test_nothing_is_hidden_in_ordinary_differential_equations():
    hidden = da.QuasiLinearDAE(x=["z"], rhs=lambda s: [-s.z]).hidden_constraints()
    assert repr(hidden) == "HiddenConstraints(of model 'model': none)"
    assert len(hidden) == 0
    assert hidden.values([1.0]) == []


def test_functions_in_python_hide_everything():
    def rhs(s):
        return [float(s.x[1]), float(s.x[0]) - 1.0]

    with pytest.warns(da.UntraceableWarning):
        model = da.QuasiLinearDAE(x=["a", "b"], leading=[1, 0], rhs=rhs)
    with pytest.raises(da.ModelError, match="runs as Python code"):
        model.hidden_constraints()


def test_values_are_those_of_the_variant():
    model = pendulum_of_the_paper(False)
    model.hidden_constraints()
    longer = model.replace(parameters={"L": 2.0})
    assert longer.hidden_constraints().values([2.0, 0, 0, 0, 0])[0] == pytest.approx(0)


def elastic_joint_robot():
    """Two links with elastic joints, whose tip follows a circle: which torques does that take?

    M(q) q'' = −K (q − r) + …, J r'' = K (q − r) + τ, tip(q) = path(t): the path is differentiated four times.
    """

    def residual(s):
        q, r, q_dot, r_dot, tau = s.x[:2], s.x[2:4], s.x[4:6], s.x[6:8], s.x[8:]
        cos, sin = np.cos(q[1] - q[0]), np.sin(q[1] - q[0])
        mass = [[s.heavy, 0.5 * cos], [0.5 * cos, 1.0]]
        torque = [0.5 * sin * q_dot[1] ** 2 - 100 * (q[0] - r[0]), -0.5 * sin * q_dot[0] ** 2 - 80 * (q[1] - r[1])]
        inertia = [mass[i][0] * s.dx[4] + mass[i][1] * s.dx[5] for i in range(2)]
        return [
            *(s.dx[i] - q_dot[i] for i in range(2)),
            *(s.dx[2 + i] - r_dot[i] for i in range(2)),
            *(torque[i] - inertia[i] for i in range(2)),
            100 * (q[0] - r[0]) + tau[0] - 0.3 * s.dx[6],
            80 * (q[1] - r[1]) + tau[1] - 0.2 * s.dx[7],
            np.cos(q[0]) + np.cos(q[1]) - (1.2 + 0.2 * np.cos(s.t)),
            np.sin(q[0]) + np.sin(q[1]) - (0.5 + 0.2 * np.sin(s.t)),
        ]

    names = ["q1", "q2", "r1", "r2", "q1_dot_", "q2_dot_", "r1_dot_", "r2_dot_", "tau1", "tau2"]
    return da.ImplicitDAE(x=names, residual=residual, parameters={"heavy": 1.5})


def test_robot_of_index_5():
    """All constraints determine all unknowns; their solution at neighbouring times satisfies the equations."""
    model = elastic_joint_robot()
    form = regularized(model)
    assert form.structure.index == 5
    assert form.degrees_of_freedom == 0
    assert [len(level) for level in form.levels] == [2, 2, 2, 2, 2]
    assert form.y.numel() == 0
    h, graph = form.constraints, model.graph
    function = ca.Function("h", [graph.t, form.x, graph.theta], [h, ca.jacobian(h, form.x)])

    def solution(t, x):
        for _ in range(30):
            rows, J = (np.array(part) for part in function(t, x, model.theta(t)))
            x = x - np.linalg.solve(J, rows.ravel())
        np.testing.assert_allclose(rows, 0, atol=1e-9)
        return x

    t, step = 0.7, 1e-3
    x = solution(t, np.array([-0.3, 0.9, -0.3, 0.9, 0, 0, 0, 0, 0, 0], float))
    ahead, behind, far, back = (solution(t + k * step, x) for k in (1, -1, 2, -2))
    x_dot = (8 * (ahead - behind) - (far - back)) / (12 * step)
    residual = ca.Function("F", [graph.t, graph.symbol["x"], graph.dx, graph.theta], [graph.value("residual")])
    np.testing.assert_allclose(np.array(residual(t, x, x_dot, model.theta(t))), 0, atol=1e-6)


def test_unsafe_divisions_are_avoided():
    """z z' = …: a derivative that is divided by z is an unknown of its own, and so is one of a singular group."""
    model = da.ImplicitDAE(
        x=["z", "f", "g"],
        residual=lambda s: [s.z * s.z_dot - s.f, s.z - 2 - np.sin(s.t), s.g + s.f**2 - 1],
    )
    form = regularized(model)
    z, y, t = 2 + np.sin(0.3), np.cos(0.3), 0.3
    # the source gives z' at once: f = z z' remains, without a division
    assert form.y.numel() == 0
    assert all(np.isfinite(level).all() for level in numbers(form, 0.0, [0.0, 0.0, 0.0]))
    for level in numbers(form, t, [z, z * y, 1 - (z * y) ** 2]):
        np.testing.assert_allclose(level, 0, atol=1e-14)

    implicit = da.ImplicitDAE(
        x=["z", "w", "f"],
        residual=lambda s: [s.z * s.z_dot + s.w - 1, s.z**2 + s.w**2 - 1, s.f - s.w_dot],
    )
    form = regularized(implicit)
    assert form.y_names == ("der(z)",)
    assert all(np.isfinite(level).all() for level in numbers(form, 0.0, [0.0, 1.0, 0.0], [0.0]))


def test_definite_groups_are_solved_and_others_are_not():
    """A mass matrix with a mechanism's entries is solved in the graph; one that may be singular gives unknowns."""

    def model(matrix):
        return da.QuasiLinearDAE(
            x=["p", "q", "v", "w", "lam"],
            leading=lambda s: np.block(
                [[np.eye(2), np.zeros((2, 3))], [np.zeros((2, 2)), np.array(matrix(s)), np.zeros((2, 1))]]
            ),
            rhs=lambda s: [s.v, s.w, -2 * s.p * s.lam, -9.81 - 2 * s.q * s.lam],
            constraints=lambda s: [s.p**2 + s.q**2 - 1],
        )

    solved = regularized(model(lambda s: [[2.0, np.cos(s.p - s.q)], [np.cos(s.p - s.q), 1.0]]))
    assert solved.y.numel() == 0
    crossed = regularized(model(lambda s: [[np.sin(s.p), 1.5], [1.0, np.cos(s.q)]]))
    assert crossed.y_names == ("der(v)", "der(w)")
    x = np.array([0.3, 0.4, 0.5, -0.6, 0.7])
    M = np.array([[np.sin(0.3), 1.5], [1.0, np.cos(0.4)]])
    rates = np.linalg.solve(M, [-2 * 0.3 * 0.7, -9.81 - 2 * 0.4 * 0.7])
    by_name = dict(zip(crossed.constraint_names, np.concatenate(numbers(crossed, 0.0, x, rates)), strict=True))
    assert by_name["equation 3"] == pytest.approx(0, abs=1e-14)
    assert by_name["equation 4"] == pytest.approx(0, abs=1e-14)
    second = 2 * (0.5**2 + 0.6**2) + 2 * (0.3 * rates[0] + 0.4 * rates[1])
    assert by_name["derivative 2 of constraint 1"] == pytest.approx(second, rel=1e-13)


@pytest.mark.parametrize("kind", ["to ground", "between nodes"])
def test_many_unknowns(kind):
    """A ladder of 10 000 nodes with a source: constraints stay sparse, whatever couples the derivatives."""
    n = 10_000

    def residual(s):
        v, v_dot = s.x[:n], s.dx[:n]
        current = v[:-1] - v[1:]
        if kind == "between nodes":
            current = current + s.C * (v_dot[:-1] - v_dot[1:])
        inner = current[:-1] - current[1:] - s.C * v_dot[1:-1]
        return [*inner, current[-1] - s.C * v_dot[-1], v[0] - np.sin(s.t), s.x[n] - current[0] - s.C * v_dot[0]]

    names = [*(f"v{k}" for k in range(n)), "source"]
    form = regularized(da.ImplicitDAE(x=names, residual=residual, parameters={"C": 2.0}))
    assert form.degrees_of_freedom == n - 1
    assert form.E.shape[0] == n
    assert ca.jacobian_sparsity(form.constraints, ca.vertcat(form.x, form.y)).nnz() < 10 * n
