"""Start values of DAEs that hide constraints: guesses, fixed values, initial conditions, and what cannot be."""

import warnings

import numpy as np
import pytest

import dalembert as da

G = 9.81


def pendulum(**more):
    """Of index 3, as it is written without thinking: λ = v² − g y."""
    return da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "lam"],
        leading=[1, 1, 1, 1, 0],
        rhs=lambda s: [s.vx, s.vy, -s.lam * s.x, -s.lam * s.y - G, s.x**2 + s.y**2 - 1],
        **more,
    )


def implicit_pendulum():
    return da.ImplicitDAE(
        x=["x", "y", "vx", "vy", "lam"],
        residual=lambda s: [
            s.x_dot - s.vx, s.y_dot - s.vy, s.vx_dot + s.lam * s.x, s.vy_dot + s.lam * s.y + G, s.x**2 + s.y**2 - 1
        ],
    )  # fmt: skip


def start(model, x0, **more):
    return da.consistent_initial_values(model, x0=x0, **more)


def quietly(model, x0, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return start(model, x0, **more)


def check_pendulum(found):
    """All levels, and all derivatives, by formulas of their own."""
    x, y, vx, vy, lam = found.x
    assert x * x + y * y == pytest.approx(1, abs=4e-15)
    assert x * vx + y * vy == pytest.approx(0, abs=4e-15 * (1 + np.hypot(vx, vy)))
    assert lam == pytest.approx(vx**2 + vy**2 - G * y, rel=1e-14)
    rates = [vx, vy, -lam * x, -lam * y - G, -3 * G * vy]
    np.testing.assert_allclose(found.x_dot, rates, rtol=1e-12, atol=1e-13 * np.abs(rates).max())


# -- guesses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pendulum, implicit_pendulum])
def test_consistent_values_stay_bit_for_bit(make):
    found = quietly(make(), [0.6, -0.8, 0.4, 0.3, 0.0])
    assert found.x[:4].tolist() == [0.6, -0.8, 0.4, 0.3]
    check_pendulum(found)


@pytest.mark.parametrize("make", [pendulum, implicit_pendulum])
def test_correction_is_the_nearest_point_level_by_level(make):
    """Positions go to the nearest point of the circle, whatever the velocities, and these to the nearest tangent."""
    given = np.array([0.61, -0.82, 0.5, 0.2, 0.0])
    with pytest.warns(da.InitialValuesCorrected):
        found = start(make(), given)
    check_pendulum(found)
    p = given[:2] / np.hypot(*given[:2])
    np.testing.assert_allclose(found.x[:2], p, atol=1e-14)
    np.testing.assert_allclose(found.x[2:4], given[2:4] - p * (p @ given[2:4]), atol=1e-14)
    assert found.correction > 1e-3


def test_the_same_as_equations_of_motion():
    equations = da.problems.andrews()
    from dalembert.problems.dae import naive

    problem = naive(equations)
    found = quietly(problem.model, **problem.start())
    there = da.consistent_initial_values(equations.model, **equations.start())
    for kind, values in problem.parts(found.x).items():
        np.testing.assert_allclose(values, there.values[kind], rtol=1e-11, atol=1e-11)


def test_what_constraints_determine_may_be_left_out():
    found = quietly(pendulum(), {"x": 0.6, "y": -0.8, "vx": 0.4})
    check_pendulum(found)
    np.testing.assert_allclose(found.x[:4], [0.6, -0.8, 0.4, 0.3], atol=1e-15)
    assert found.x[:3].tolist() == [0.6, -0.8, 0.4]
    found = quietly(pendulum(), {"x": 0.6, "vy": 0.3})  # y has two values, and no guess
    check_pendulum(found)
    assert found.x[0] == 0.6
    assert abs(found.x[1]) == pytest.approx(0.8)


def test_nothing_is_needed_where_nothing_is_free():
    """An integrator that is driven backwards: every unknown is a derivative of the sine."""
    chain = da.QuasiLinearDAE(
        x=["a", "b", "c"], leading=[[1, 0, 0], [0, 1, 0], [0, 0, 0]], rhs=lambda s: [s.b, s.c, s.a - np.sin(2 * s.t)]
    )
    found = da.consistent_initial_values(chain, 0.3)
    np.testing.assert_allclose(found.x, [np.sin(0.6), 2 * np.cos(0.6), -4 * np.sin(0.6)], rtol=1e-15)
    np.testing.assert_allclose(found.x_dot, [2 * np.cos(0.6), -4 * np.sin(0.6), -8 * np.cos(0.6)], rtol=1e-15)


def test_start_values_of_the_model_itself():
    model = pendulum(start={"x": 0.6, "y": -0.8, "vx": 0.4})
    check_pendulum(quietly(model, None))
    assert quietly(model, {"vx": -0.4}).x[3] == pytest.approx(-0.3)


def test_other_parameters_and_inputs():
    """Variants of a model share what was derived for it, and nothing else."""
    model = da.QuasiLinearDAE(
        x=["x", "v", "force"], leading=np.diag([1, 1, 0]), rhs=lambda s: [s.v, s.force / s.m, s.x - s.way],
        parameters={"m": 2.0}, inputs={"way": lambda t: 1 + 3 * t + t**2 / 2},
    )  # fmt: skip
    np.testing.assert_allclose(da.consistent_initial_values(model, 1.0).x, [4.5, 4, 2])
    other = model.replace({"m": 5.0}, {"way": lambda t: 2 * t})
    np.testing.assert_allclose(da.consistent_initial_values(other, 1.0).x, [2, 2, 0], atol=1e-14)
    np.testing.assert_allclose(da.consistent_initial_values(model, 1.0).x, [4.5, 4, 2])


def test_derivatives_that_are_unknowns():
    """x' occurs in no linear equation; dx0 tells which of its values is meant."""
    model = da.ImplicitDAE(
        x=["a", "b", "z"],
        residual=lambda s: [s.a_dot**2 + s.b_dot**2 - 1 - s.z, s.a_dot - 2 * s.b_dot, s.a - s.b - s.t],
    )
    for sign in (1, -1):
        found = start(model, {"a": 1.0}, dx0=[2.0, sign, 0.0])
        np.testing.assert_allclose(found.x_dot[:2], [2, 1], atol=1e-14)  # a' − b' = 1
        np.testing.assert_allclose(found.x, [1, 1, 4], atol=1e-14)
    root = da.ImplicitDAE(
        x=["a", "b"], residual=lambda s: [s.a_dot * abs(s.a_dot) - s.b * abs(s.b), s.b_dot * s.b_dot - s.a - s.b]
    )
    for sign in (1, -1):
        found = start(root, [1.0, 3.0], dx0=[3.0, 2.0 * sign])
        np.testing.assert_allclose(found.x_dot, [3, 2 * sign], rtol=1e-14)


# -- another branch ------------------------------------------------------------------------------------------------


def test_the_nearest_of_two_solutions():
    for y in (0.7, -0.7):
        with pytest.warns(da.InitialValuesCorrected, match="'y'"):
            found = start(pendulum(), {"x": 0.6, "y": y, "vx": 0.1}, fixed=["x"])
        assert found.x[1] == pytest.approx(np.sign(y) * 0.8)
    with pytest.warns(da.InitialValuesCorrected, match="'x' changed from 0.001 to 1"):
        found = start(pendulum(), [1e-3, 0, 0, 1, 0])
    check_pendulum(found)


def test_no_direction_is_nearest():
    with pytest.raises(da.InconsistentInitialValues, match=r"equation 5.*Give other .*where they change"):
        start(pendulum(), [0, 0, 0, 1, 0])


def test_a_root_that_vanishes_at_the_guess():
    """The derivative of z² by z is zero there; the given state is no way out."""
    model = da.QuasiLinearDAE(
        x=["q", "w", "z"], leading=[1, 0, 0], rhs=lambda s: [-s.z, s.q - s.w, s.z**2 - s.w], hidden="auto"
    )
    found = quietly(model, [4.0, 0.0, 0.0], fixed=["q"])
    assert found.x[:2].tolist() == [4.0, 4.0]
    assert abs(found.x[2]) == pytest.approx(2)


# -- fixed values --------------------------------------------------------------------------------------------------


def test_fixed_values_stay_and_others_give_way():
    x = np.nextafter(0.6, 1)
    with pytest.warns(da.InitialValuesCorrected, match="'y'"):
        found = start(pendulum(), {"x": x, "y": -0.5, "vx": 0.4}, fixed=["x", "vx"])
    assert found.x[[0, 2]].tolist() == [x, 0.4]
    check_pendulum(found)


def test_fixed_velocities_turn_the_rod():
    """They lie in its stage, but only positions are free."""
    with pytest.warns(da.InitialValuesCorrected):
        found = start(pendulum(), {"x": 0.5, "y": -0.9, "vx": 0.4, "vy": 0.3}, fixed=("vx", "vy"))
    np.testing.assert_allclose(found.x[:4], [0.6, -0.8, 0.4, 0.3], atol=1e-14)
    check_pendulum(found)


def test_a_fixed_multiplier():
    """The speed at which the rod carries a given force at the bottom."""
    with pytest.warns(da.InitialValuesCorrected, match="'vx'"):
        found = start(pendulum(), {"x": 0.0, "y": -1.0, "vx": 1.0, "lam": 10.0}, fixed=["x", "lam"])
    assert found.x[[0, 4]].tolist() == [0.0, 10.0]
    assert found.x[2] == pytest.approx(np.sqrt(10 - G), rel=1e-12)
    check_pendulum(found)


def test_a_fixed_algebraic_unknown_of_index_1():
    heater = da.QuasiLinearDAE(
        x=["T", "power"], leading=[1, 0], rhs=lambda s: [s.power - s.T, s.power - s.gain * (30 - s.T)],
        parameters={"gain": 10.0},
    )  # fmt: skip
    found = quietly(heater, {"power": 50.0}, fixed="power")
    np.testing.assert_allclose(found.x, [25, 50], rtol=1e-15)
    assert found.x_dot[0] == pytest.approx(25)
    with pytest.warns(da.InitialValuesCorrected, match="'T'"):
        assert start(heater, {"T": 20.0, "power": 50.0}, fixed="power").x[0] == pytest.approx(25)


def test_signs_of_zeros_are_fixed_too():
    with pytest.warns(da.InitialValuesCorrected, match="'y'"):
        found = start(pendulum(), [-0.0, -1.1, 1.0, -0.0, 0.0], fixed=["x"])
    assert np.signbit(found.x[0])


def test_simulations_begin_there():
    fixed = {"x": 0.6, "y": -0.75, "vx": 0.4}
    with pytest.warns(da.InitialValuesCorrected):
        solution = da.simulate(pendulum(), (0, 0.1), x0=fixed, fixed=["x", "vx"], method=da.Qualidaes())
    assert solution.x[0, [0, 2]].tolist() == [0.6, 0.4]
    np.testing.assert_allclose(solution.x[0, :4], [0.6, -0.8, 0.4, 0.3], atol=1e-14)


# -- initial conditions --------------------------------------------------------------------------------------------


def test_conditions_determine_the_state():
    found = quietly(
        pendulum(), [0.5, -1.0, 1.0, 0.5, 0.0], initial_conditions=lambda s: [s.x + s.y, s.vx**2 + s.vy**2 - 2.25]
    )
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found.x[:4], [half, -half, 1.5 * half, 1.5 * half], atol=1e-14)
    check_pendulum(found)


def test_conditions_need_no_start_values():
    found = quietly(pendulum(), {"y": -1.0}, initial_conditions=lambda s: [s.x - 0.6, s.vx - 0.8])
    np.testing.assert_allclose(found.x[:4], [0.6, -0.8, 0.8, 0.6], atol=1e-14)


def test_conditions_with_derivatives():
    """Where is no force to the side? And a steady state."""
    found = quietly(pendulum(), {"x": 0.1, "y": -1.0}, initial_conditions=lambda s: [s.vx_dot, s.x_dot - 0.5])
    check_pendulum(found)
    np.testing.assert_allclose(found.x[:4], [0, -1, 0.5, 0], atol=1e-14)
    motor = da.QuasiLinearDAE(
        x=["omega", "current"], leading=[1, 1], rhs=lambda s: [s.current - s.omega**2, s.voltage - s.omega - s.current],
        parameters={"voltage": 6.0},
    )  # fmt: skip
    steady = quietly(motor, {"omega": 1.0}, initial_conditions=lambda s: s.dx)
    np.testing.assert_allclose(steady.x, [2, 4], rtol=1e-14)
    assert np.abs(steady.x_dot).max() < 1e-14


def test_a_condition_that_zero_is_no_guess_for():
    """The force does not change with the velocity where that is zero; others are tried, and what is given stays."""
    found = quietly(pendulum(), {"x": 0.6, "y": -0.8}, fixed=["x"], initial_conditions=lambda s: [s.vx_dot + 6])
    check_pendulum(found)
    assert found.x[:2].tolist() == [0.6, -0.8]
    assert found.x[4] == pytest.approx(10)


def test_conditions_with_outputs_time_and_inputs():
    model = da.QuasiLinearDAE(
        x=["x", "v", "f"], leading=[[1, 0, 0], [0, 1, 0], [0, 0, 0]], rhs=lambda s: [s.v, s.f, s.f - s.push + s.x],
        inputs={"push": lambda t: np.cos(t)}, outputs={"energy": lambda s: s.v**2 + s.x**2},
    )  # fmt: skip
    found = da.consistent_initial_values(
        model,
        2.0,
        x0={"x": 1.0, "v": 1.0},
        fixed=["x"],
        initial_conditions=lambda s: [s.energy - 10 * s.t - s.push_dot],
    )
    v = np.sqrt(20 - np.sin(2.0) - 1)
    np.testing.assert_allclose(found.x, [1, v, np.cos(2.0) - 1], rtol=1e-14)


def test_too_few_conditions_change_given_values_little():
    found = quietly(pendulum(), [0.0, -1.0, 0.5, 0.0, 0.0], initial_conditions=lambda s: [s.x - 0.6])
    check_pendulum(found)
    np.testing.assert_allclose(found.x[:2], [0.6, -0.8], atol=1e-14)
    np.testing.assert_allclose(found.x[2:4], 0.4 * np.array([0.8, 0.6]), atol=1e-14)  # what is tangential of (0.5, 0)


def test_conditions_that_cannot_be_traced():
    with pytest.warns(da.UntraceableWarning):
        found = start(
            pendulum(), {"x": 0.1, "y": -1.0, "vx": 1.0},
            initial_conditions=lambda s: [s.x - 0.6 if s.y < 0 else s.x + 0.6, float(s.x_dot) - 0.8],
        )  # fmt: skip
    np.testing.assert_allclose(found.x[:4], [0.6, -0.8, 0.8, 0.6], atol=1e-9)


def test_no_conditions_are_none():
    assert quietly(pendulum(), [0.6, -0.8, 0.4, 0.3, 0], initial_conditions=lambda s: []).x[0] == 0.6


# -- modes ---------------------------------------------------------------------------------------------------------


def test_check_and_trust():
    good, bad = [0.6, -0.8, 0.4, 0.3, 8.098], [0.6, -0.8, 0.4, 0.31, 8.098]
    check_pendulum(quietly(pendulum(), good, mode="check"))
    check_pendulum(quietly(pendulum(), {"x": 0.6, "y": -0.8, "vx": 0.4}, mode="check"))  # what is missing is found
    with pytest.raises(da.InconsistentInitialValues, match=r"'v[xy]' would have to change"):
        start(pendulum(), bad, mode="check")
    trusted = quietly(pendulum(), bad, mode="trust")
    assert trusted.x.tolist() == bad
    np.testing.assert_allclose(trusted.x_dot[:4], [0.4, 0.31, -0.6 * 8.098, 0.8 * 8.098 - G])


def test_restarts_keep_differential_unknowns():
    """An event stops the motion to one side; λ follows. Another one is no concern of the constraint."""
    bounce = da.Event(lambda s: s.x, direction=1, action=lambda s: {"vx": -0.5 * s.vx, "vy": -0.5 * s.vy}, name="wall")
    solution = da.simulate(pendulum(), (0, 2), x0=[-0.6, -0.8, 0.0, 0.0, 0.0], events=bounce, method=da.Qualidaes())
    at = solution.events.t[0]
    before, after = solution.at(at - 1e-9).x, solution.at(at + 1e-9).x
    np.testing.assert_allclose(after[:2], before[:2], atol=1e-7)
    np.testing.assert_allclose(after[2:4], -0.5 * before[2:4], atol=1e-6)
    assert after[4] == pytest.approx(after[2] ** 2 + after[3] ** 2 - G * after[1], rel=1e-7)


def test_restarts_where_inputs_jump():
    """A path that is prescribed turns a corner: what follows it jumps."""
    model = da.QuasiLinearDAE(
        x=["a", "b"], leading=[[1, 0], [0, 0]], rhs=lambda s: [s.b, s.a - s.way],
        inputs={"way": da.Input(lambda t: np.where(t < 1, t, 4 * t - 3), breakpoints=[1.0])},
    )  # fmt: skip
    solution = da.simulate(model, (0, 2), method=da.Qualidaes())
    np.testing.assert_allclose(solution.at(0.5).x, [0.5, 1.0], atol=1e-8)
    np.testing.assert_allclose(solution.at(1.5).x, [3.0, 4.0], atol=1e-8)


# -- more equations than unknowns ----------------------------------------------------------------------------------


def with_energy(energy):
    return da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "lam"],
        leading=np.eye(5)[:4],
        rhs=lambda s: [s.vx, s.vy, -s.lam * s.x, -s.lam * s.y - G],
        constraints=lambda s: [s.x**2 + s.y**2 - 1, (s.vx**2 + s.vy**2) / 2 + G * s.y - s.energy],
        parameters={"energy": energy},
    )


def test_invariants_hold_at_the_start():
    """The constraint says which way the pendulum moves, and the invariant how fast."""
    with pytest.warns(da.InitialValuesCorrected):
        found = start(with_energy(2 - 0.8 * G), [0.6, -0.8, 0.8, 0.7, 0.0])
    check_pendulum(found)
    np.testing.assert_allclose(found.x[:4], [0.6, -0.8, 1.6, 1.2], atol=1e-14)
    found = quietly(with_energy(2 - 0.8 * G), {"x": 0.6, "y": -0.8, "vx": 1.0}, fixed=["x", "y"], mode="trust")
    assert found.x[2] == 1.0
    found = quietly(with_energy(2 - 0.8 * G), {"x": 0.6, "y": -0.8}, initial_conditions=lambda s: [s.vx - 1.6])
    np.testing.assert_allclose(found.x[:4], [0.6, -0.8, 1.6, 1.2], atol=1e-13)


def test_an_invariant_out_of_reach():
    """Below the lowest point; the model was good with other parameters."""
    model = with_energy(0.5 - 0.8 * G)
    quietly(model, [0.6, -0.8, 0.8, 0.6, 0.0])
    with pytest.raises(da.InconsistentInitialValues, match="constraint 2"):
        start(model.replace({"energy": -2 * G}, None), [0.6, -0.8, 0.8, 0.6, 0.0])


def test_hidden_constraints_that_are_written():
    """They change nothing, in whatever form."""
    model = da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "lam"],
        leading=np.eye(5)[:4],
        rhs=lambda s: [s.vx, s.vy, -s.lam * s.x, -s.lam * s.y - G],
        constraints=lambda s: [
            s.x**2 + s.y**2 - 1, 7 * (s.x * s.vx + s.y * s.vy), s.vx**2 + s.vy**2 - s.lam * (s.x**2 + s.y**2) - G * s.y
        ],
    )  # fmt: skip
    given = [0.61, -0.82, 0.5, 0.2, 0.0]
    with pytest.warns(da.InitialValuesCorrected):
        found, there = start(model, given), start(pendulum(), given)
    check_pendulum(found)
    np.testing.assert_allclose(found.x, there.x, atol=1e-13)
