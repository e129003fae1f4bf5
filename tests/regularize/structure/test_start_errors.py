"""Start values of DAEs that cannot be: contradictions, what nothing determines, and bad arguments, all by name."""

import numpy as np
import pytest

import dalembert as da


def pendulum(**more):
    return da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "lam"],
        leading=[1, 1, 1, 1, 0],
        rhs=lambda s: [s.vx, s.vy, -s.lam * s.x, -s.lam * s.y - 9.81, s.x**2 + s.y**2 - 1],
        **more,
    )


GIVEN = {"x": 0.6, "y": -0.8, "vx": 0.4, "vy": 0.3}


def refused(x0, *parts, kind=da.InconsistentInitialValues, model=None, t0=0.0, **more):
    """The error has all these parts in its message."""
    with pytest.raises(kind) as caught:
        da.consistent_initial_values(pendulum() if model is None else model, t0, x0=x0, **more)
    for part in parts:
        assert part in str(caught.value)
    return str(caught.value)


# -- contradictions ------------------------------------------------------------------------------------------------


def test_fixed_values_off_the_circle():
    refused(
        GIVEN | {"y": -0.5}, "equation 5", "'x' and 'y' stay as given", "residual of -3.9", "out of fixed=", "t = 0",
        fixed=["x", "y"],
    )  # fmt: skip


def test_a_fixed_value_beyond_reach():
    refused(GIVEN | {"x": 2.0}, "equation 5", "'x' stays as given", "Leave it out of fixed=", fixed=["x"])


def test_fixed_velocities_against_the_rod():
    text = refused(GIVEN | {"vy": 0.4}, "derivative 1 of equation 5", "'vx'", "'vy'", fixed=["x", "y", "vx", "vy"])
    assert "4 are given, and only 2 can be chosen" in text


def test_everything_fixed_and_consistent():
    found = da.consistent_initial_values(pendulum(), x0=GIVEN, fixed=list(GIVEN))
    assert found.x[4] == pytest.approx(0.25 + 9.81 * 0.8)


def test_conditions_against_each_other():
    refused(
        GIVEN, "equation 5", "initial condition 1", "initial condition 3", "only 2 can be chosen",
        initial_conditions=lambda s: [s.x - 0.6, s.vx - 0.8, s.y - 0.1],
    )  # fmt: skip


def test_a_condition_against_a_fixed_value():
    text = refused(
        GIVEN, "initial condition 1", "'x'", "out of fixed=, or", fixed=["x"], initial_conditions=lambda s: [s.x - 0.7]
    )
    assert "vx" not in text


def test_only_what_contradicts_is_named():
    """Two rods of their own; one of them is impossible."""
    model = da.QuasiLinearDAE(
        x=["a", "b", "c", "d"], leading=np.diag([1, 0, 1, 0]),
        rhs=lambda s: [s.b, s.a**2 + s.b**2 - 1, s.d, s.c**2 + s.d**2 - 1],
    )  # fmt: skip
    text = refused({"a": 0.5, "c": 3.0}, "equation 4", "'c'", model=model, fixed=["a", "c"])
    assert "equation 2" not in text
    assert "'a'" not in text


def test_equations_without_solution():
    model = da.QuasiLinearDAE(
        x=["a", "b"], leading=[[1, 0], [0, 0]], rhs=lambda s: [s.b, s.a**2 + np.exp(s.b) ** 2 * 0 + 1]
    )
    refused([1.0, 0.0], "equation 2", "contradict each other", "'a'", model=model)


# -- what nothing determines ---------------------------------------------------------------------------------------


def test_missing_start_values():
    refused({"x": 0.6, "y": -0.8}, "'vx' and 'vy'", "give 1 of them in x0=", "initial condition")
    refused(None, "'x', 'y', 'vx' and 'vy'", "give 2 of them")
    refused({"vx": 1.0}, "'x', 'y' and 'vy'", "give 1 of them")


def test_a_state_of_its_own():
    model = da.QuasiLinearDAE(
        x=["a", "b", "c"], leading=np.diag([1, 1, 0]), rhs=lambda s: [s.c, -s.b, s.a - np.sin(s.t)]
    )
    refused({"a": 0.0}, "start value of 'b'", "give it in x0=, or an initial condition", model=model)
    found = da.consistent_initial_values(model, x0={"b": 2.0})
    np.testing.assert_allclose(found.x, [0, 2, 1], atol=1e-15)


def test_what_conditions_leave_open():
    refused({"y": -1.0}, "'vx' and 'vy'", initial_conditions=lambda s: [s.x - 0.6])


# -- values that cannot be evaluated -------------------------------------------------------------------------------


def test_a_logarithm_of_nothing():
    """Zero is no guess for what stands in a logarithm; others are looked for, unless the value was given."""
    model = da.QuasiLinearDAE(
        x=["a", "b", "z"], leading=np.diag([1, 1, 0]), rhs=lambda s: [s.b, s.z, s.a - np.log(s.t + 1)]
    )
    assert da.consistent_initial_values(model, 1.0).x[0] == pytest.approx(np.log(2))
    refused({"a": 1.0}, "equation 3 is not finite", "t = -2", model=model, t0=-2.0)
    states = da.QuasiLinearDAE(x=["q", "z"], leading=np.diag([1, 0]), rhs=lambda s: [-s.z, s.q - np.log(s.z)])
    found = da.consistent_initial_values(states, x0={"q": 1.0}, fixed=["q"])
    assert found.x.tolist() == [1.0, pytest.approx(np.e)]


def test_values_that_overflow():
    refused([1e300, 1e300, 0, 0, 0], "equation 5", "not finite")


# -- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x0", [[np.nan, 0, 0, 0, 0], {"x": np.inf}, [1, 2], {"z": 1.0}, "x", [[1j] * 5], {"x": "a"}])
def test_bad_start_values(x0):
    with pytest.raises(da.ModelError):
        da.consistent_initial_values(pendulum(), x0=x0)


@pytest.mark.parametrize("fixed", [["z"], ["x", 3], 5, {"x": 1.0}, [None], b"x", ["x"] * 99, [["x"]], np.array([1.0])])
def test_bad_names_of_fixed_values(fixed):
    with pytest.raises(da.OptionError, match="fixed="):
        da.consistent_initial_values(pendulum(), x0=GIVEN, fixed=fixed)
    with pytest.raises(da.OptionError, match="fixed="):
        da.simulate(pendulum(), (0, 1), x0=GIVEN, fixed=fixed)


def test_generators_without_end():
    import itertools

    with pytest.raises(da.OptionError, match="more than 5 names"):
        da.consistent_initial_values(pendulum(), x0=GIVEN, fixed=itertools.repeat("x"))


def test_fixed_values_must_be_given():
    refused({"x": 0.6, "vx": 0.4}, "'y' is to be fixed", kind=da.ModelError, fixed=["x", "y"])


def test_derivatives_are_no_unknowns():
    refused(GIVEN, "s.vx_dot - value", kind=da.OptionError, fixed=["vx_dot"])


def test_equations_of_motion_have_conditions():
    model = da.problems.pendulum().model
    with pytest.raises(da.OptionError, match="initial_conditions"):
        da.consistent_initial_values(model, p0=[1, 0], fixed=["x"])
    assert da.consistent_initial_values(model, p0=[1, 0], fixed=()).p[0] == 1


def test_functions_in_python_cannot_be_fixed():
    with pytest.warns(da.UntraceableWarning):
        model = da.QuasiLinearDAE(x=["a"], rhs=lambda s: [-float(s.a)])
    for more in (dict(fixed=["a"]), dict(initial_conditions=lambda s: [s.a - 1])):
        with pytest.raises(da.OptionError, match="rhs= cannot"):
            da.consistent_initial_values(model, x0=[1.0], **more)


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([1.0], "must be a function"),
        (lambda s: [s.z], "no 'z'"),
        (lambda s: s.x, "list of residuals"),
        (lambda s: [[s.x, s.y], [s.x, s.y]], "list of residuals"),
        (lambda s: [s.lam_dot], "derivative of 'lam'"),
        (lambda s: 1 / 0, "ZeroDivisionError"),
        (lambda s: None, "None"),
        (lambda s: ["x"], "initial_conditions"),
    ],
)
def test_faulty_conditions(conditions, words):
    refused(GIVEN, words, kind=da.ModelError, initial_conditions=conditions)


def test_a_condition_that_is_not_finite():
    refused(GIVEN | {"y": -0.0}, "initial condition 1", "not finite", initial_conditions=lambda s: [np.log(s.x - 2)])
    refused(GIVEN, "initial condition 1", initial_conditions=lambda s: [s.x * np.nan])


def test_a_condition_that_says_nothing():
    refused(GIVEN, "initial condition 2", initial_conditions=lambda s: [s.x - 0.6, 1.0 + 0 * s.x])
    found = da.consistent_initial_values(pendulum(), x0=GIVEN, initial_conditions=lambda s: [s.x - 0.6, 0 * s.x])
    assert found.x[0] == 0.6
