"""Bad input of every kind: an exception of ours that names the fault, and nothing computed is lost."""

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import StepRefused, TooManySteps, UntraceableWarning


def raises(error):
    raise error


@pytest.fixture(scope="module")
def pendulum():
    return da.problems.pendulum().model


def oscillator(force=lambda s: [-s.x], **changes):
    return da.EquationsOfMotion(**{"p": ["x"], "mass": [1.0], "force": force, **changes})


def opaque(function):
    """The same function, but not traceable; the model is built without the warning."""

    def call(s):
        float(s.x)
        return function(s)

    return call


def quietly(build):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntraceableWarning)
        return build()


def failing(simulation, message, kind=da.SimulationError, before=np.inf):
    """Run `simulation`, which must fail; check the exception and its partial solution, and return the latter."""
    with pytest.raises(kind, match=message) as caught:
        quietly(simulation)
    sol = caught.value.solution
    assert sol is not None
    assert np.isfinite(sol.x).all()
    assert sol.t[-1] < before
    assert not sol.success
    return sol


# -- arguments of simulate ---------------------------------------------------------------------------------------------

ARGUMENTS = {
    "one time": ({"t_span": (0,)}, r"t_span must be two numbers"),
    "three times": ({"t_span": (0, 1, 2)}, r"t_span must be two numbers"),
    "a number as span": ({"t_span": 3}, r"t_span must be two numbers .* not 3"),
    "no span": ({"t_span": None}, r"t_span must be two numbers"),
    "text as span": ({"t_span": "ab"}, r"t_span"),
    "NaN in span": ({"t_span": (0, np.nan)}, r"t_span .*nan.* must be finite"),
    "infinite span": ({"t_span": (0, np.inf)}, r"t_span .*inf.* must be finite"),
    "rtol 0": ({"rtol": 0}, r"rtol = 0.* for 'x' must be finite and greater"),
    "rtol negative": ({"rtol": -1}, r"rtol = -1"),
    "rtol NaN": ({"rtol": np.nan}, r"rtol = nan"),
    "rtol below rounding": ({"rtol": 1e-20}, r"rtol = 1e-20"),
    "rtol of wrong shape": ({"rtol": [1, 2]}, r"rtol has shape \(2,\)"),
    "rtol text": ({"rtol": "a"}, r"rtol='a'"),
    "rtol of unknown": ({"rtol": {"xx": 1}}, r"rtol: there is no 'xx'; did you mean 'x'"),
    "rtol without a digit": ({"rtol": 2.0}, r"rtol = 2.0 for 'x' .* at most 1: .*not a single digit"),
    "rtol by name without a digit": ({"rtol": {"y": 1e300}}, r"rtol = 1e\+300 for 'y'"),
    "atol beyond reach": ({"atol": 1.7e308}, r"atol = 1.7e\+308 .* at most 1e\+100: errors are divided by it"),
    "atol below reach": ({"atol": 5e-324}, r"atol = 5e-324 .* greater than 1e-100"),
    "atol 0": ({"atol": 0}, r"atol = 0"),
    "atol infinite": ({"atol": np.inf}, r"atol = inf"),
    "atol of a number": ({"atol": {3: 1}}, r"atol: 3 is not a name"),
    "atol NaN by name": ({"atol": {"y": np.nan}}, r"atol = nan for 'y'"),
    "t_eval not increasing": ({"t_eval": [0, 0.5, 0.2]}, r"strictly increasing: 0\.5 is followed by 0\.2"),
    "t_eval twice": ({"t_eval": [0.5, 0.5]}, r"strictly increasing"),
    "t_eval outside": ({"t_eval": [0.5, 2]}, r"t_eval contains 2, outside of the interval"),
    "t_eval hardly outside": (
        {"t_eval": [0.5, 1 + 1e-14]},
        r"t_eval contains 1.00000000000001, outside of the interval from 0 to 1$",
    ),
    "t_eval before the start": ({"t_eval": [-1e-9, 0.5]}, r"t_eval contains -1e-09, outside"),
    "t_eval hardly increasing": (
        {"t_eval": [0.5, np.nextafter(0.5, 0)]},
        r"increasing: 0.5 is followed by 0.49999999999999994",
    ),
    "t_eval NaN": ({"t_eval": [np.nan]}, r"t_eval contains values that are not finite"),
    "t_eval text": ({"t_eval": "a"}, r"t_eval must be an array"),
    "first_step negative": ({"first_step": -1}, r"first_step=-1 must be positive"),
    "first_step NaN": ({"first_step": np.nan}, r"first_step=nan must be positive"),
    "first_step text": ({"first_step": "a"}, r"first_step='a' is not a number"),
    "max_step 0": ({"max_step": 0}, r"max_step=0 must be positive"),
    "max_step a list": ({"max_step": [1, 2]}, r"max_step=\[1, 2\] is not a number"),
    "max_steps 0": ({"max_steps": 0}, r"max_steps=0 must be a positive whole number"),
    "max_steps fraction": ({"max_steps": 2.5}, r"max_steps=2\.5"),
    "max_steps None": ({"max_steps": None}, r"max_steps=None"),
    "method misspelled": ({"method": "radu5"}, r"unknown method 'radu5'; did you mean 'radau5'"),
    "method of a number": ({"method": 3}, r"method must be a name or an options object"),
    "method None": ({"method": None}, r"method must be a name"),
    "method of another class": ({"method": dict}, r"method must be a name"),
    "events a number": ({"events": 3}, r"events=3 must be an Event, a function"),
    "events text": ({"events": "ab"}, r"events='ab' must be an Event"),
    "events a list of numbers": ({"events": [3]}, r"an event needs a function .* not 3"),
    "p0 missing": ({"p0": None}, r"p0= is missing: start values for x, y"),
    "p0 too short": ({"p0": [1]}, r"p0 has 1 values; the model has 2: x, y"),
    "p0 too long": ({"p0": [1, 2, 3]}, r"p0 has 3 values"),
    "p0 NaN": ({"p0": [np.nan, 0]}, r"the start value of 'x' is nan"),
    "p0 text": ({"p0": "ab"}, r"p0 = 'ab' is not an array of numbers"),
    "p0 complex": ({"p0": [1j, 0]}, r"is not an array of numbers"),
    "p0 of unknown": ({"p0": {"q": 1}}, r"there is no 'q'; known names: x, y"),
    "p0 of a number": ({"p0": {3: 1}}, r"3 is not a name; known names: x, y"),
    "v0 infinite": ({"v0": [0, np.inf]}, r"'y_dot' is inf"),
    "v0 too short": ({"v0": [1]}, r"v0 has 1 values; the model has 2: x_dot, y_dot"),
    "lam0 NaN": ({"lam0": [np.nan]}, r"'lam1' is nan"),
    "r0 without r": ({"r0": [1]}, r"r0 has 1 values; the model has 0"),
    "x0 of a mechanical system": ({"x0": [1, 0]}, r"there is no 'x0'"),
    "parameter unknown": ({"parameters": {"mm": 3}}, r"there is no 'mm'; did you mean 'm'"),
    "parameter of wrong shape": ({"parameters": {"m": [1, 2]}}, r"'m' has shape \(2,\); the model was built with \(\)"),
    "parameter NaN": ({"parameters": {"m": np.nan}}, r"'m' = nan is not finite"),
    "input unknown": ({"inputs": {"q": 1}}, r"there is no 'q'; known names: none"),
}


@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments(pendulum, arguments, message):
    arguments = {"t_span": (0, 1), "p0": [1, 0], **arguments}
    with pytest.raises((da.OptionError, da.ModelError), match=message):
        da.simulate(pendulum, **arguments)


@pytest.mark.parametrize(("t0", "t1"), [(0.0, 5.0), (0.1, 0.3), (-7.0, 1e3), (1e6, 1e6 + 1), (5.0, 0.0), (0.3, -0.1)])
def test_output_times_within_rounding_of_the_ends_are_the_ends(pendulum, t0, t1):
    start, end = np.nextafter(t0, -np.sign(t1 - t0) * np.inf), np.nextafter(t1, np.sign(t1 - t0) * np.inf)
    sol = da.simulate(pendulum, (t0, t1), p0=[0.01, -0.99995], t_eval=[start, 0.5 * (t0 + t1), end], rtol=1e-2, atol=1)
    assert sol.t.tolist() == [t0, 0.5 * (t0 + t1), t1]
    assert len(sol.x) == 3


def test_output_times_outside_stay_apart(pendulum):
    with pytest.raises(da.OptionError, match=r"t_eval contains 1\.0000000000000002, outside"):
        da.simulate(pendulum, (0, 1), p0=[1, 0], t_eval=[0.5, 1.0, np.nextafter(1.0, 2.0)])


@pytest.mark.parametrize("tolerance", [{"rtol": {"x": "a"}}, {"atol": {"x": [1, 2]}}], ids=str)
def test_tolerances_by_name_must_be_numbers(pendulum, tolerance):
    with pytest.raises(da.OptionError, match="'x'"):
        da.simulate(pendulum, (0, 1), p0=[1, 0], **tolerance)


def test_all_faults_of_start_values_at_once(pendulum):
    with pytest.raises(da.ModelError) as caught:
        da.simulate(pendulum, (0, 1), p0=[1], v0=[np.nan, 0], lam0={"q": 1}, r0=[1])
    assert len(caught.value.faults) == 4


@pytest.mark.parametrize("model", [None, 3, "pendulum", da.EquationsOfMotion, da.problems.pendulum()], ids=repr)
def test_no_model(model):
    with pytest.raises(da.OptionError, match="simulate needs a model"):
        da.simulate(model, (0, 1), p0=[1, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "ggl2"}, "formulation='ggl2' is unknown; did you mean 'ggl'"),
        ({"formulation": None}, "formulation=None is unknown"),
        ({"initial_values": "x"}, "initial_values='x' is unknown"),
        ({"safety": 2}, "safety=2"),
        ({"safety": np.nan}, "safety=nan"),
        ({"max_growth": 0.5}, "max_growth=0.5"),
        ({"newton_iterations": 1}, "newton_iterations=1"),
        pytest.param({"safety": "a"}, "safety='?a"),
        pytest.param({"keep_step": 3}, "keep_step=3"),
        pytest.param({"newton_iterations": None}, "newton_iterations=None"),
        pytest.param({"newton_iterations": 2.5}, "newton_iterations=2.5"),
        pytest.param({"jacobian_rate": "a"}, "jacobian_rate"),
    ],
    ids=str,
)
def test_options_of_radau5(options, message):
    with pytest.raises(da.OptionError, match=message):
        da.Radau5(**options)


@pytest.mark.parametrize("number", [1, 3])
def test_whole_numbers_for_real_options(pendulum, number):
    da.simulate(pendulum, (0, 0.1), p0=[1, 0], method=da.Radau5(jacobian_rate=number, max_growth=8))


def test_harmless_oddities(pendulum):
    """Backwards, nowhere, one output time, none at all, a huge first step, start values as a column."""
    there = da.simulate(pendulum, (0, 1), p0=[1, 0], rtol=1e-9, atol=1e-10)
    back = da.simulate(pendulum, (1, 0), p0=there.p[-1], v0=there.v[-1], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(back.p[-1], [1, 0], atol=1e-6)
    nowhere = da.simulate(pendulum, (1, 1), p0=[[1], [0]])
    assert nowhere.t.tolist() == [1.0]
    assert da.simulate(pendulum, (0, 1), p0=[1, 0], t_eval=0.5).t.tolist() == [0.5]
    assert len(da.simulate(pendulum, (0, 1), p0=[1, 0], t_eval=[]).t) == 0
    assert da.simulate(pendulum, (0, 1), p0=[1, 0], first_step=100, max_step=np.inf).success
    assert da.simulate(pendulum, (0, 1), p0={"x": 1, "y": 0}, rtol={"x": 1e-9}, method=da.Radau5).success


def test_too_many_steps(pendulum):
    sol = failing(
        lambda: da.simulate(pendulum, (0, 1), p0=[1, 0], max_steps=3),
        "3 steps did not reach the end; stopped at t = .* Raise max_steps",
        TooManySteps,
        before=1,
    )
    assert len(sol.t) == 4


# -- constraints and start values --------------------------------------------------------------------------------------


def spatial(holonomic, **changes):
    return da.EquationsOfMotion(
        **{"p": ["x", "y", "z"], "mass": [1, 1, 1], "force": [0, -9.81, 0], "holonomic": holonomic, **changes}
    )


@pytest.mark.parametrize("formulation", ["ggl", "index1", "index2", "index3", "baumgarte"])
def test_a_constraint_given_twice(formulation):
    model = spatial(lambda s: [s.x**2 + s.y**2 - 1, 2 * (s.x**2 + s.y**2 - 1)])
    failing(
        lambda: da.simulate(model, (0, 1), p0=[1, 0, 0], method=da.Radau5(formulation=formulation)),
        r"singular at t = 0: holonomic constraint 'lam[12]'.*redundant",
    )


def test_contradictory_constraints():
    with pytest.raises(da.SimulationError, match=r"holonomic constraint 'lam1' keeps a residual.*contradict"):
        da.simulate(spatial(lambda s: [s.x**2 + s.y**2 - 1, s.x**2 + s.y**2 - 2]), (0, 1), p0=[1, 0, 0])
    with pytest.raises(da.SimulationError, match=r"holonomic constraint 'rod' keeps a residual"):
        da.simulate(spatial(lambda s: [s.x**2 + s.y**2 + 1], lam=["rod"]), (0, 1), p0=[1, 0, 0])


def test_a_constraint_without_gradient(pendulum):
    with pytest.raises(da.SimulationError, match="holonomic constraint 'lam1'"):
        da.simulate(pendulum, (0, 1), p0=[0, 0])
    failing(
        lambda: da.simulate(spatial(lambda s: [(s.x**2 + s.y**2 - 1) ** 2]), (0, 1), p0=[1, 0, 0]),
        "holonomic constraint 'lam1'",
    )


def test_start_values_out_of_range(pendulum):
    with pytest.raises(da.SimulationError, match="holonomic constraint 'lam1'"):
        da.simulate(pendulum, (0, 1), p0=[1e200, 0])


def test_a_singular_mass_that_nothing_replaces():
    with pytest.raises(da.SimulationError, match="'y_dot'"):
        da.simulate(da.EquationsOfMotion(p=["x", "y"], mass=[1, 0], force=[0, -9.81]), (0, 1), p0=[1, 0])
    with pytest.raises(da.SimulationError, match=r"'y_dot'|'y'"):
        da.simulate(da.EquationsOfMotion(p=["x", "y"], mass=[1, 0], force=[0, 0]), (0, 1), p0=[1, 0])


def test_functions_that_are_not_defined_at_the_start():
    with pytest.raises(da.SimulationError, match="equation of motion of 'x_dot' is not finite at the start"):
        da.simulate(oscillator(lambda s: [np.sqrt(s.x - 2)]), (0, 1), p0=[1])
    model = quietly(lambda: oscillator(opaque(lambda s: raises(ValueError("no")) if s.x == 1 else [-s.x])))
    with pytest.raises(da.SimulationError, match=r"force \(line .*raised ValueError: no at t = 0"):
        da.simulate(model, (0, 1), p0=[1])


@pytest.mark.parametrize("what", [lambda: [np.nan], lambda: raises(StepRefused("not here"))], ids=["NaN", "refused"])
def test_untraceable_functions_that_are_not_defined_at_the_start(what):
    model = quietly(lambda: oscillator(opaque(lambda s: what() if s.x == 1 else [-s.x])))
    with pytest.raises(da.SimulationError, match="force"):
        da.simulate(model, (0, 1), p0=[1])


def test_own_hidden_constraints_are_checked():
    model = spatial(lambda s: [s.x**2 + s.y**2 - 1], velocity_constraints=lambda s: [s.x * s.x_dot + s.y * s.y_dot])
    with pytest.raises(da.ModelError, match=r"velocity_constraints: row 1 \('lam1'\) gives"):
        da.simulate(model, (0, 1), p0=[1, 0, 0])


# -- failures in the middle of a run -----------------------------------------------------------------------------------

LATE = {
    "raises": (lambda: raises(ValueError("no data")), r"force \(line \d+ of .*raised ValueError: no data at t = 0\.5"),
    "wrong length": (lambda: [1, 2], r"force .*returned an array of shape \(2,\) at t = 0\.5\d*; .* \(1,\)"),
    "None": (lambda: None, r"force .*returned None.* at t = 0\.5"),
    "text": (lambda: "a", r"force .*returned 'a'.* at t = 0\.5"),
    "too deep": (lambda: raises(RecursionError("deep")), r"force .*RecursionError: deep at t = 0\.5"),
    "NaN": (lambda: [np.nan], r"not finite beyond t = 0\.5|force .*returned nan"),
    "infinite": (lambda: [np.inf], r"not finite beyond t = 0\.5|force .*returned inf"),
    "refused": (lambda: raises(StepRefused("not here")), r"beyond t = 0\.5|not here"),
}


@pytest.mark.parametrize(("what", "message"), LATE.values(), ids=LATE)
@pytest.mark.parametrize("formulation", ["ggl", "index1"])
def test_untraceable_force_fails_in_the_middle(what, message, formulation):
    model = quietly(lambda: oscillator(opaque(lambda s: what() if s.t > 0.5 else [-s.x])))
    method = da.Radau5(formulation=formulation)
    sol = failing(lambda: da.simulate(model, (0, 1), p0=[1], method=method), message, before=0.5 + 1e-9)
    assert sol.t[-1] > 0.1
    np.testing.assert_allclose(sol["x"], np.cos(sol.t), atol=1e-4)


def test_nan_of_an_untraceable_function_is_named():
    model = quietly(lambda: oscillator(opaque(lambda s: [np.nan] if s.t > 0.5 else [-s.x])))
    failing(lambda: da.simulate(model, (0, 1), p0=[1]), r"force|equation of motion of 'x_dot'")


def test_unknown_name_on_a_branch_taken_later():
    model = quietly(lambda: oscillator(opaque(lambda s: [s.xx] if s.t > 0.5 else [-s.x])))
    failing(lambda: da.simulate(model, (0, 1), p0=[1]), r"force .* at t = 0\.5\d*: there is no 'xx'", before=0.51)


def test_steps_refused_for_a_while_are_repeated():
    refusals = []

    def force(s):
        if s.t > 0.5 and len(refusals) < 4:
            refusals.append(s.t)
            raise StepRefused("try again")
        return [-s.x]

    sol = da.simulate(quietly(lambda: oscillator(opaque(force))), (0, 1), p0=[1], rtol=1e-8)
    assert len(refusals) == 4
    assert sol.p[-1, 0] == pytest.approx(np.cos(1), abs=1e-6)


@pytest.mark.parametrize(
    ("force", "end"),
    [
        (lambda s: [-9.81 * np.sqrt(s.x)], 0.5),
        (lambda s: [-9.81 + np.log(s.x)], 0.46),
        (lambda s: [np.arccos(s.t + 0.5) - s.x], 0.51),
        (lambda s: [-1 / s.x**2], 1.12),
        (lambda s: [1 / (0.5 - s.t)], 0.51),
    ],
    ids=["sqrt", "log", "arccos", "1/x²", "1/(t-1/2)"],
)
def test_traced_functions_that_end(force, end):
    sol = failing(lambda: da.simulate(oscillator(force), (0, 3), p0=[1]), r"'x_dot'", before=end)
    assert sol.t[-1] > 0.3


def test_interrupted():
    model = quietly(lambda: oscillator(opaque(lambda s: raises(KeyboardInterrupt) if s.t > 0.5 else [-s.x])))
    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = 0\.") as caught:
        da.simulate(model, (0, 1), p0=[1])
    assert isinstance(caught.value, da.SimulationError)
    sol = caught.value.solution
    assert sol.status == "interrupted"
    assert 0.1 < sol.t[-1] < 0.5
    np.testing.assert_allclose(sol["x"], np.cos(sol.t), atol=1e-4)


# -- events ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": 3}, "an event needs a function of the namespace s, not 3"),
        ({"direction": 2}, "direction=2 of an event must be 0, 1"),
        ({"direction": None}, "direction=None"),
        ({"direction": np.array([1, 2])}, "direction="),
        ({"terminal": "a"}, "terminal='a' of an event must be True, False or the number"),
        ({"terminal": -1}, "terminal=-1"),
        ({"terminal": 2.5}, "terminal=2.5"),
        ({"action": 3}, "action=3 of an event must be a function"),
        ({"name": 3}, "name=3 of an event must be a non-empty string"),
    ],
    ids=str,
)
def test_faulty_events(arguments, message):
    with pytest.raises(da.OptionError, match=message):
        da.Event(**{"function": lambda s: s.x, **arguments})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda s: s.q, r"event 'event 1' \(line .*there is no 'q'"),
        (lambda s: [s.x, s.x], "event 'event 1' returned 2 values; it must return one number"),
        (lambda s: None, "event 'event 1' .*returned None"),
        (lambda s: "a", "event 'event 1' .*returned 'a'"),
        (lambda s: np.nan, "event 'event 1' contains a constant that is NaN"),
        (lambda s: 1 / 0, "event 'event 1' .*ZeroDivisionError"),
        (lambda: 1, "event 'event 1' .*positional argument"),
    ],
)
def test_faulty_event_functions(function, message):
    with pytest.raises(da.ModelError, match=message):
        da.simulate(oscillator(), (0, 1), p0=[1], events=function)


def test_events_of_the_same_name():
    events = [da.Event(lambda s: s.x, name="a"), da.Event(lambda s: s.x_dot, name="a")]
    with pytest.raises(da.OptionError, match="two events have the name 'a'"):
        da.simulate(oscillator(), (0, 1), p0=[1], events=events)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: raises(ValueError("no data")), r"event 'gate' \(line .*raised ValueError: no data at t = 0\.5"),
        (lambda: [1, 2], r"event 'gate' .*shape \(2,\) at t = 0\.5"),
        (lambda: None, r"event 'gate' .*returned None.* at t = 0\.5"),
        (lambda: np.nan, r"event"),
    ],
    ids=["raises", "two values", "None", "NaN"],
)
def test_event_function_fails_in_the_middle(what, message):
    event = da.Event(lambda s: what() if s.t > 0.5 else s.x - 10, name="gate")
    sol = failing(lambda: da.simulate(oscillator(), (0, 1), p0=[1], events=event), message, before=1)
    assert sol.t[-1] > 0.1


@pytest.mark.parametrize("traced", [True, False])
def test_an_event_function_that_is_not_finite_is_named(traced):
    function = (lambda s: np.sqrt(0.5 - s.t) + 1) if traced else (lambda s: np.nan if s.t > 0.5 else 1.0)
    event = da.Event(function, name="gate")
    failing(lambda: da.simulate(oscillator(), (0, 1), p0=[1], events=event), r"'gate'.* t = 0\.5")


def act(action):
    event = da.Event(lambda s: s.x - 0.5, action=action, name="gate")
    return lambda: da.simulate(oscillator(), (0, 3), p0=[1], events=event)


BAD_ACTIONS = {
    "raises": (lambda s: raises(ValueError("no")), r"action of event 'gate' raised ValueError: no at t = 1\.047"),
    "number": (lambda s: 3, r"'gate' must return a mapping of names to values, not 3"),
    "text": (lambda s: "ab", r"'gate' must return a mapping"),
    "NaN": (lambda s: {"x": np.nan}, r"'gate' sets 'x' to nan at t = 1\.047"),
    "None": (lambda s: {"x": None}, r"'gate' sets 'x' to None"),
    "too long": (lambda s: {"v": [1, 2]}, r"'gate' gives 2 values for v, which has 1"),
    "unknown": (lambda s: {"xx": 1}, r"'gate': there is no 'xx'; did you mean 'x'"),
    "time": (lambda s: {"t": 1}, r"'gate': there is no 't'"),
    "no name": (lambda s: {3: 1}, r"'gate': 3 is not a name"),
    "unknown read": (lambda s: {"x": s.xx}, r"'gate' raised UnknownName: there is no 'xx'"),
    "assignment": (lambda s: setattr(s, "x", 3), r"must not assign to s\.x"),
}


@pytest.mark.parametrize(("action", "message"), BAD_ACTIONS.values(), ids=BAD_ACTIONS)
def test_actions_that_fail(action, message):
    sol = failing(act(action), message, before=1.05)
    assert sol.t[-1] == pytest.approx(np.pi / 3, abs=1e-4)
    assert len(sol.events.t) == 1


@pytest.mark.parametrize("value", ["a", [1, 2], {1}, 1j], ids=repr)
def test_actions_that_return_no_numbers(value):
    failing(act(lambda s: {"x": value}), r"event 'gate'.*'x'", before=1.05)


def test_interrupted_in_an_action():
    with pytest.raises(KeyboardInterrupt) as caught:
        act(lambda s: raises(KeyboardInterrupt))()
    assert caught.value.solution.t[-1] == pytest.approx(np.pi / 3, abs=1e-4)


def bouncing(restitution, **changes):
    event = da.Event(
        lambda s: s.x, direction=-1, action=lambda s: {"x_dot": -restitution * s.x_dot}, name="floor", **changes
    )
    return lambda: da.simulate(oscillator([-9.81]), (0, 10), p0=[1.0], events=event)


@pytest.mark.parametrize(
    "restitution",
    [
        0.5,
        0.7,
        0.9,
        0.1,
    ],
)
def test_a_bouncing_ball_that_comes_to_rest(restitution):
    """Infinitely many bounces in finite time: an error that names the event, and never a ball below the floor."""
    sol = failing(bouncing(restitution), r"event 'floor' accumulates at t = .*terminal|at rest")
    assert sol["x"].min() > -1e-6


def test_a_bouncing_ball_that_does_not():
    sol = bouncing(1.0)()
    assert sol["x"].min() > -1e-6
    fall = np.sqrt(2 / 9.81)
    np.testing.assert_allclose(sol.events.t, fall * np.arange(1, 2 * len(sol.events.t), 2), atol=1e-4)


# -- solutions that go wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rhs", "end"), [(lambda s: [s.y**2], 1.0), (lambda s: [np.exp(s.y)], np.exp(-1))], ids=["square", "exp"]
)
def test_blow_up_in_finite_time(rhs, end):
    sol = failing(lambda: da.simulate(da.QuasiLinearDAE(x=["y"], rhs=rhs), (0, 2), x0=[1]), r"'y'|equation 1")
    assert sol.t[-1] == pytest.approx(end, rel=1e-3)


def test_growth_beyond_the_range_of_numbers():
    model = da.QuasiLinearDAE(x=["y"], rhs=lambda s: [1000 * s.y])
    sol = failing(lambda: da.simulate(model, (0, 2), x0=[1], max_steps=20_000), r"t = 0\.", before=0.71)
    assert sol.t[-1] > 0.1


def test_discontinuous_right_hand_sides_end():
    """Every crossing costs steps; sliding along the discontinuity costs all of them. Neither hangs."""
    sol = da.simulate(oscillator(lambda s: [-np.sign(s.x)]), (0, 20), p0=[1])
    assert sol["x"].max() < 1.01
    rest = oscillator(lambda s: [-s.x - 2 * np.sign(s.x_dot)])
    sol = failing(lambda: da.simulate(rest, (0, 20), p0=[1], max_steps=3000), "3000 steps .* chattering", before=20)
    assert np.abs(sol["x"] - 1).max() < 0.1


def test_stiff_oscillators():
    sol = da.simulate(oscillator(lambda s: [-1e10 * (s.x - np.cos(s.t)) - 1e5 * s.x_dot]), (0, 10), p0=[1])
    np.testing.assert_allclose(sol["x"], np.cos(sol.t), atol=2e-5)
    assert sol.stats.accepted < 2000
    fast = oscillator(lambda s: [-1e8 * s.x])
    sol = failing(lambda: da.simulate(fast, (0, 10), p0=[1], max_steps=2000), "fast oscillation", before=10)
    assert np.abs(sol["x"]).max() < 1.01


@pytest.mark.parametrize("method", [da.Radau5(formulation="baumgarte"), da.Dassl(formulation="baumgarte")], ids=str)
def test_baumgarte_backwards(method):
    """What is damped forwards grows backwards."""
    problem = da.problems.pendulum()
    with pytest.raises(da.OptionError, match="time runs backwards, Baumgarte's terms drive away"):
        da.simulate(problem.model, (0, -1), p0=problem.p0, v0=problem.v0, method=method)
    free = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-s.x])
    assert da.simulate(free, (0, -1), p0=[1], method=method).success
