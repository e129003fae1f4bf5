"""Fully implicit equations F(t, x, x') = 0: faults, start values, integration."""

import numpy as np
import pytest

import dalembert as da


def pendulum():
    """Index 1 with multiplier, p' and v' mixed in a way that is not linear in x'."""
    return da.ImplicitDAE(
        x=["phi", "omega"], parameters={"g": 9.81},
        residual=lambda s: [
            s.phi_dot - s.omega + 0.1 * (s.phi_dot - s.omega) ** 3,
            np.sinh(s.omega_dot / 10) - np.sinh(-s.g * np.sin(s.phi) / 10),
        ],
    )  # fmt: skip


def test_a_residual_that_is_not_linear_in_the_derivatives():
    explicit = da.QuasiLinearDAE(x=["phi", "omega"], rhs=lambda s: [s.omega, -9.81 * np.sin(s.phi)])
    reference = da.simulate(explicit, (0, 3), x0=[1.0, 0.0], rtol=1e-12, atol=1e-12).x[-1]
    errors = []
    for tol in (1e-5, 1e-7, 1e-9):
        sol = da.simulate(pendulum(), (0, 3), x0=[1.0, 0.0], method=da.Dassl(), rtol=tol, atol=tol)
        errors.append(np.abs(sol.x[-1] - reference).max())
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 5e-7


def test_vector_of_derivatives_and_names():
    model = da.ImplicitDAE(x=["a", "b"], residual=lambda s: [s.dx[0] - s.b, s.b_dot + s.a + 0 * s.dx[1]])
    sol = da.simulate(model, (0, 1), x0={"a": 1.0, "b": 0.0}, method="dassl", rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.x[-1], [np.cos(1), -np.sin(1)], atol=1e-6)
    assert sol["a"][-1] == sol.x[-1, 0]
    assert repr(model) == "ImplicitDAE('model': 2 unknowns)"


def test_transistor_amplifier():
    """Index 1; the leading matrix is singular though every derivative occurs. Values of the IVP test set."""
    R, Ub, UF, alpha, beta = 9000.0, 6.0, 0.026, 0.99, 1e-6

    def residual(s):
        y, d = s.x, s.dx
        F1, F2 = (beta * (np.exp((y[i] - y[i + 1]) / UF) - 1) for i in (1, 4))
        c1, c3, c5 = 1e-6 * (d[0] - d[1]), 3e-6 * (d[3] - d[4]), 5e-6 * (d[6] - d[7])
        return [
            c1 + (y[0] - 0.1 * np.sin(200 * np.pi * s.t)) / 1000, -c1 + (2 * y[1] - Ub) / R + (1 - alpha) * F1,
            2e-6 * d[2] + y[2] / R - F1, c3 + (y[3] - Ub) / R + alpha * F1,
            -c3 + (2 * y[4] - Ub) / R + (1 - alpha) * F2, 4e-6 * d[5] + y[5] / R - F2,
            c5 + (y[6] - Ub) / R + alpha * F2, -c5 + y[7] / R,
        ]  # fmt: skip

    model = da.ImplicitDAE(x=[f"y{i}" for i in range(1, 9)], residual=residual)
    reference = [
        -0.5562145012262709e-2, 3.006522471903042, 2.849958788608128, 2.926422536206241,
        2.704617865010554, 2.761837778393145, 4.770927631616772, 1.236995868091548,
    ]  # fmt: skip
    sol = da.simulate(model, (0, 0.2), x0=[0, 3, 3, 6, 3, 3, 6, 0], method="dassl", rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(sol.x[-1], reference, atol=2e-5)


# -- start values ------------------------------------------------------------------------------------------------------


def test_derivatives_are_computed_and_dx0_selects_among_several():
    """x'² = x: falling or rising."""
    model = da.ImplicitDAE(x=["z"], residual=lambda s: [s.z_dot**2 - s.z])
    for sign in (-1.0, 1.0):
        start = da.consistent_initial_values(model, x0=[4.0], dx0=[1.5 * sign])
        np.testing.assert_allclose(start.x_dot, [2.0 * sign], rtol=1e-10)
        sol = da.simulate(model, (0, 1), x0=[4.0], dx0=[sign], method="dassl", rtol=1e-8, atol=1e-8)
        assert sol.x[-1, 0] == pytest.approx((2 + sign / 2) ** 2, abs=1e-6)


def test_algebraic_variables_are_corrected_and_states_stay():
    model = da.ImplicitDAE(x=["a", "z"], residual=lambda s: [s.a_dot + s.z, s.z**3 + s.z - s.a])
    start = da.consistent_initial_values(model, x0=[2.0, 0.0])
    np.testing.assert_allclose(start.x, [2.0, 1.0], atol=1e-10)
    # z' from the derivative of the second equation: (3 z² + 1) z' = a'
    np.testing.assert_allclose(start.x_dot, [-1.0, -0.25], atol=1e-9)


def test_inconsistent_derivatives():
    model = da.ImplicitDAE(x=["a", "z"], residual=lambda s: [s.a_dot + s.z, s.z**3 + s.z - s.a])
    check = da.Dassl(initial_values="check")
    with pytest.raises(da.InconsistentInitialValues, match=r"dx0 violate.*'a_dot' would have to change by 1"):
        da.simulate(model, (0, 1), x0=[2.0, 1.0], dx0=[0.0, -0.25], method=check)
    with pytest.raises(da.InconsistentInitialValues, match=r"x0 violate.*'z'"):
        da.simulate(model, (0, 1), x0=[2.0, 0.5], method=check)
    da.simulate(model, (0, 1), x0=[2.0, 1.0], dx0=[-1.0, -0.25], method=check)
    none = da.ImplicitDAE(x=["z"], residual=lambda s: [s.z_dot**2 + s.z**2 + 1])
    with pytest.raises(da.InconsistentInitialValues, match="equation 1"):
        da.simulate(none, (0, 1), x0=[1.0], method="dassl")
    with pytest.raises(da.InconsistentInitialValues, match="equation 1 is not finite"):
        da.simulate(
            da.ImplicitDAE(x=["z"], residual=lambda s: [np.log(s.z) - s.z_dot]), (0, 1), x0=[-1.0], method="dassl"
        )


def test_wrong_start_values():
    with pytest.raises(da.ModelError, match="dx0 has 1 values; the model has 2: phi_dot, omega_dot"):
        da.simulate(pendulum(), (0, 1), x0=[1, 0], dx0=[0], method="dassl")
    with pytest.raises(da.ModelError, match="x0= is missing"):
        da.simulate(pendulum(), (0, 1), method="dassl")
    with pytest.raises(da.ModelError, match="there is no 'dx0'"):
        da.simulate(da.QuasiLinearDAE(x=["z"], rhs=lambda s: [s.z]), (0, 1), x0=[1], dx0=[0])


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(x=["a", "b"], residual=lambda s: [s.a_dot]), "returned 1 values; 2 unknowns need 2: a, b"),
        (dict(x=["a"], residual=lambda s: [s.a_dot, s.a]), "returned 2 values; 1 unknowns need 1"),
        (dict(x=["a"], residual=lambda s: np.eye(2) * s.a), "2×2 matrix"),
        (dict(x=["a", "b"], residual=lambda s: [s.a_dot - s.b, s.t]), "equation 2 contains neither"),
        (dict(x=["a", "b"], residual=lambda s: [s.a_dot, s.a - 1]), "'b' occurs in no equation"),
        (dict(x=["a", "a_dot"], residual=lambda s: [s.a_dot, s.a]), "stands for the derivative of 'a'"),
        (dict(x=["dx"], residual=lambda s: [s.dx]), "'dx' is reserved"),
        (dict(x=["a"], residual=lambda s: [s.b_dot]), "there is no 'b_dot'"),
        (dict(x=[], residual=lambda s: []), "at least one unknown"),
        (dict(x=["a"], residual=None), "residual= is missing"),
        (dict(x=["a"], residual=lambda s: [float("nan") * s.a]), "NaN"),
    ],
)
def test_faults_of_models(arguments, message):
    with pytest.raises(da.ModelError, match=message):
        da.ImplicitDAE(**arguments)


# -- functions in Python -----------------------------------------------------------------------------------------------


def opaque(function):
    """The same residual behind float(), which symbols refuse."""

    def residual(s):
        float(s.t)
        return function(s)

    return residual


def test_a_residual_that_cannot_be_traced_gives_the_same_solution():
    def mixed(s):
        return [s.a_dot**3 + s.a_dot + s.z - s.k * s.push, s.z**3 + s.z - s.a]

    options = dict(x=["a", "z"], parameters={"k": 0.5}, inputs={"push": lambda t: np.sin(3 * t)})
    traced = da.ImplicitDAE(residual=mixed, **options)
    with pytest.warns(da.UntraceableWarning, match="residual"):
        python = da.ImplicitDAE(residual=opaque(mixed), **options)
    starts = [da.consistent_initial_values(model, 0.2, x0=[2.0, 0.3]) for model in (traced, python)]
    np.testing.assert_allclose(starts[1].x, starts[0].x, atol=1e-10)
    np.testing.assert_allclose(starts[1].x_dot, starts[0].x_dot, atol=1e-9)
    reference = da.simulate(traced, (0, 2), x0=[2.0, 1.0], method=da.Dassl(), rtol=1e-10, atol=1e-10).x[-1]
    for jacobian in (da.Exact(), da.Differences(), da.GroupedDifferences(pattern="estimated", partitioned=True)):
        errors = []
        for tol in (1e-5, 1e-8):
            sol = da.simulate(python, (0, 2), x0=[2.0, 1.0], method=da.Dassl(jacobian=jacobian), rtol=tol, atol=tol)
            errors.append(np.abs(sol.x[-1] - reference).max())
        assert errors[1] < 0.02 * errors[0]
        assert errors[1] < 2e-6


def test_a_residual_in_python_with_branches_events_and_failures():
    def valve(s):
        if s.level < 0.05:
            raise ValueError("the tank is empty")
        return [s.level_dot + 0.2 * float(s.level) ** 0.5]

    with pytest.warns(da.UntraceableWarning):
        tank = da.ImplicitDAE(x=["level"], residual=valve)
    # √level falls by 0.1 a second
    half = da.Event(lambda s: s.level - 0.5, terminal=True, name="half")
    sol = da.simulate(tank, (0, 6), x0=[1.0], method=da.Dassl(), rtol=1e-9, atol=1e-9, events=half)
    assert sol.t[-1] == pytest.approx(10 * (1 - np.sqrt(0.5)), abs=1e-6)
    with pytest.raises(da.FunctionFailed, match=r"residual.*ValueError: the tank is empty") as caught:
        da.simulate(tank, (0, 9), x0=[1.0], method=da.Dassl(), rtol=1e-9, atol=1e-9, max_step=0.1)
    reached = caught.value.solution
    assert reached.t[-1] == pytest.approx(10 * (1 - np.sqrt(0.05)), abs=0.11)
    assert reached.x[-1, 0] == pytest.approx((1 - 0.1 * reached.t[-1]) ** 2, abs=1e-6)


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms(), da.Hem5(), da.Rkf45(), da.Odassl()])
def test_other_methods_name_dassl(method):
    with pytest.raises(da.ModelError, match="Dassl"):
        da.simulate(pendulum(), (0, 1), x0=[1, 0], method=method)


def test_singular_equations_are_named():
    model = da.ImplicitDAE(
        x=["a", "b"], residual=lambda s: [s.a_dot + s.b_dot + s.a + s.b, 2 * (s.a_dot + s.b_dot + s.a + s.b)]
    )
    with pytest.raises(da.SingularMatrix, match=r"equation [12] and variable '[ab]'"):
        da.simulate(model, (0, 1), x0=[1, 0], method="dassl")


def test_events_inputs_and_parameters():
    model = da.ImplicitDAE(
        x=["y", "w"], parameters={"g": 10.0},
        inputs={"push": da.Input(lambda t: np.where(t < 0.5, 0.0, 5.0), breakpoints=[0.5])},
        residual=lambda s: [s.y_dot - s.w, s.w_dot + s.g - s.push],
    )  # fmt: skip
    floor = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"w": -0.5 * s.w}, name="floor")
    sol = da.simulate(model, (0, 1.5), x0=[1.25, 0.0], method="dassl", rtol=1e-9, atol=1e-9, events=floor)
    # 1.25 − 5 t² = 0 at t = 0.5 exactly: the push begins at the floor; then w = 2.5 − 5 t, back after 1 s
    assert sol.events.t[0] == pytest.approx(0.5, abs=1e-6)
    assert sol.x[-1, 0] == pytest.approx(0.0, abs=2e-5)
    heavy = da.simulate(model, (0, 0.4), x0=[1.25, 0.0], method="dassl", parameters={"g": 1.0}, rtol=1e-9, atol=1e-9)
    assert heavy.x[-1, 0] == pytest.approx(1.25 - 0.08, abs=1e-6)
    assert sol.residual("constraints").shape[1] == 0
