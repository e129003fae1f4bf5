"""Inputs: numbers, functions, tables; their rates; faults."""

import numpy as np
import pytest

import dalembert as da
from dalembert.compile.system import compile_system
from dalembert.errors import UntraceableWarning


def driven(given, **changes):
    """x'' = q(t)."""
    return da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [s.q], inputs={"q": given}, **changes)


def run(model, t_end=1.0, **options):
    return da.simulate(model, (0, t_end), **{"p0": [0.0], "rtol": 1e-9, "atol": 1e-10, **options})


def test_numbers_and_functions():
    assert run(driven(2.0)).p[-1, 0] == pytest.approx(1.0, abs=1e-9)
    assert run(driven(lambda t: 6 * t)).p[-1, 0] == pytest.approx(1.0, abs=1e-9)
    assert run(driven(lambda t: np.where(t < 5, 6 * t, 0))).p[-1, 0] == pytest.approx(1.0, abs=1e-9)


def test_other_inputs_without_recompiling():
    model = driven(2.0)
    assert run(model).p[-1, 0] == pytest.approx(1.0, abs=1e-8)
    compiled = compile_system(da.Radau5().formulate(model))
    assert run(model, inputs={"q": 4.0}).p[-1, 0] == pytest.approx(2.0, abs=1e-8)
    other = run(model.replace(inputs={"q": lambda t: 6 * t}))
    assert other.p[-1, 0] == pytest.approx(1.0, abs=1e-8)
    assert compile_system(da.Radau5().formulate(other.model)) is compiled
    assert run(model).p[-1, 0] == pytest.approx(1.0, abs=1e-8)


def test_an_input_may_be_called_u():
    model = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [s.u], inputs={"u": lambda t: 6 * t})
    assert run(model).p[-1, 0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("traced", [True, False])
def test_rates_reach_functions_and_constraints(traced, recwarn):
    """x follows q through a constraint: velocity and acceleration need q' and q''; the force uses q_dot."""
    model = da.EquationsOfMotion(
        p=["x", "y"],
        mass=[2, 1],
        force=lambda s: [0, s.q_dot],
        holonomic=lambda s: [s.x - s.q],
        inputs={"q": (lambda t: np.sin(3 * t)) if traced else (lambda t: np.sin(3 * float(t)))},
    )
    assert bool(model.untraceable) is not traced
    sol = run(model, p0=[0, 0], v0=[3, 0])
    np.testing.assert_allclose(sol["x"], np.sin(3 * sol.t), atol=1e-8)
    np.testing.assert_allclose(sol["x_dot"], 3 * np.cos(3 * sol.t), atol=1e-7)
    np.testing.assert_allclose(sol["lam1"], 18 * np.sin(3 * sol.t), atol=1e-4)  # -M x''
    np.testing.assert_allclose(sol["y"], (1 - np.cos(3 * sol.t)) / 3, atol=1e-7)


def test_untraceable_inputs_are_announced():
    with pytest.warns(UntraceableWarning, match=r"input 'q' \(line \d+ of .*Reason: UntraceableError: a branch"):
        model = driven(lambda t: 6 * t if t < 5 else 0.0)
    assert set(model.untraceable) == {"input q"}
    assert run(model).p[-1, 0] == pytest.approx(1.0, abs=1e-7)


def test_tables():
    t = np.linspace(0, 2, 41)
    model = driven(da.Input.table(t, np.sin(t)))  # no warning: nothing is lost, its derivatives are exact
    sol = run(model)
    assert sol.p[-1, 0] == pytest.approx(1 - np.sin(1), abs=1e-6)
    assert run(model, 3.0).p[-1, 0] > 0  # constant beyond the end
    u, du, ddu = model.input_values(1.0)[:, 0]
    np.testing.assert_allclose([u, du, ddu], [np.sin(1), np.cos(1), -np.sin(1)], atol=1e-3)
    np.testing.assert_allclose(model.input_values(5.0)[:, 0], [np.sin(2), 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("t", "values", "message"),
    [
        ([0, 1], [0], r"shapes \(2,\) and \(1,\)"),
        ([0], [0], "length ≥ 2"),
        ([0, 0], [0, 1], "strictly increasing"),
        ([1, 0], [0, 1], "strictly increasing"),
        ([0, np.nan], [0, 1], "finite"),
        ([0, 1], [0, np.inf], "finite"),
        ([0, 1], ["a", "b"], "vectors of numbers"),
        ([[0, 1]], [[0, 1]], "two vectors"),
        (None, None, "two vectors"),
    ],
)
def test_faulty_tables(t, values, message):
    with pytest.raises(da.ModelError, match=message):
        da.Input.table(t, values)


def test_given_derivatives_are_used():
    calls = []

    def rate(t):
        calls.append(t)
        return 3 * np.cos(3 * t)

    given = da.Input(lambda t: np.sin(3 * t), derivatives=(rate, lambda t: -9 * np.sin(3 * t)))
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, 0], holonomic=lambda s: [s.x - s.q], inputs={"q": given}
    )
    sol = run(model, p0=[0, 0], v0=[3, 0])
    assert calls
    np.testing.assert_allclose(sol["x_dot"], 3 * np.cos(3 * sol.t), atol=1e-7)


def test_breakpoints_make_jumps_exact():
    step = da.Input(lambda t: np.where(t > 0.5, 2.0, 0.0), breakpoints=[0.5, 7.0])
    sol = run(driven(step))
    assert sol.p[-1, 0] == pytest.approx(0.25, abs=1e-9)
    assert 0.5 in sol.t.round(12)
    backwards = da.simulate(driven(step), (1, 0), p0=[0.25], v0=[1.0], rtol=1e-9, atol=1e-10)
    assert backwards.p[-1, 0] == pytest.approx(0.0, abs=1e-9)


FAULTS = {
    "NaN": (np.nan, r"input 'q' is nan; it must be finite"),
    "infinite": (np.inf, r"input 'q' is inf"),
    "text": ("a", r"input 'q' must be a function of time or a number, not 'a'"),
    "None": (None, r"input 'q' must be a function of time or a number, not None"),
    "array": ([1, 2], r"input 'q' must be a function of time or a number"),
    "two values": (lambda t: [t, t], r"input 'q' must return one number, not an array of 2"),
    "no value": (lambda t: [], r"input 'q' must return one number"),
    "NaN function": (lambda t: np.nan, r"input 'q' is nan at all times"),
    "None function": (lambda t: None, r"input 'q' .*returned None; is a `return` missing"),
    "text function": (lambda t: "a", r"input 'q' .*returned 'a'; return real numbers"),
    "complex": (lambda t: 1j * t, r"input 'q' .*return real numbers"),
    "raises": (lambda t: 1 / 0, r"input 'q' \(line \d+ .*raised ZeroDivisionError: division by zero at t = 0"),
    "no argument": (lambda: 1, r"input 'q' .*takes 0 positional arguments"),
    "breakpoint NaN": (da.Input(1.0, breakpoints=[np.nan]), r"input 'q': breakpoints=\[nan\] must be .* finite"),
    "breakpoints no list": (da.Input(1.0, breakpoints=3), r"breakpoints=3"),
    "breakpoints text": (da.Input(1.0, breakpoints=["a"]), r"breakpoints=\['a'\]"),
    "derivatives no functions": (da.Input(lambda t: t, derivatives=3), r"derivatives=3 must be two functions"),
    "one derivative": (da.Input(lambda t: t, derivatives=(lambda t: 1,)), r"must be two functions"),
    "derivative raises": (
        da.Input(lambda t: t, derivatives=(lambda t: 1 / 0, lambda t: 0)),
        r"the first derivative of input 'q' .*ZeroDivisionError",
    ),
}


@pytest.mark.parametrize(("given", "message"), FAULTS.values(), ids=FAULTS)
def test_faults(given, message):
    with pytest.raises(da.ModelError, match=message) as caught:
        driven(given)
    assert len(caught.value.faults) == 1
    with pytest.raises(da.ModelError, match=message):
        driven(1.0).replace(inputs={"q": given})


def test_an_input_defined_on_an_interval_only():
    def recorded(t):
        if not 10 <= t <= 12:
            raise IndexError("no data")
        return 2.0 * float(t > 0)

    with pytest.warns(UntraceableWarning, match="input 'q'"):
        model = driven(recorded)
    sol = da.simulate(model, (10.5, 11.5), p0=[0])
    assert sol.p[-1, 0] == pytest.approx(1.0, abs=1e-6)


def raises(error):
    raise error


def late(t, what):
    return what() if t > 0.5 else 1.0


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: raises(ValueError("no data")), r"input 'q' \(line \d+ .*raised ValueError: no data at t = 0\.[5-9]"),
        (lambda: [1, 2], r"input 'q' .*array of shape \(2,\); return one number at t = 0\.[5-9]"),
        (lambda: None, r"input 'q' .*returned None.* at t = 0\.[5-9]"),
        (lambda: np.nan, r"input .*not finite beyond t = 0\.(5|49999)"),
    ],
    ids=["raises", "two values", "None", "NaN"],
)
def test_failure_in_the_middle(what, message):
    with pytest.warns(UntraceableWarning):
        model = driven(lambda t: late(t, what))
    with pytest.raises(da.SimulationError, match=message) as caught:
        run(model)
    sol = caught.value.solution
    assert 0 < sol.t[-1] < 0.5 + 1e-9
    assert np.isfinite(sol.x).all()
    assert sol.status == "failed"


def test_a_traced_input_that_ends():
    with pytest.raises(da.SimulationError, match=r"input.* is not finite beyond t = 0\.5") as caught:
        run(driven(lambda t: np.sqrt(0.5 - t)))
    assert 0.4 < caught.value.solution.t[-1] <= 0.5
