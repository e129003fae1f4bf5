"""Models with events: from Modelica text to results, against exact solutions."""

import numpy as np
import pytest

import dalembert as da
from dalembert.modelica import flatten, load
from dalembert.modelica.lower import lower


def run(text, end, **options):
    return da.simulate(load(text), (0, end), **({"rtol": 1e-8, "atol": 1e-9} | options))


def at(sol, name, t):
    """The value of something right after the last event at or before t, linearly between stored times."""
    return float(np.interp(t, sol.t, sol[name]))


# -- what comes out of the translation -----------------------------------------------------------------------------


def test_relations_have_readable_names_and_come_once():
    dae = lower(flatten("""
    model M
      Real x(start = 1), y, z; parameter Real a = 2;
    equation
      der(x) = if x > a then -1 else 1;
      y = if x > a then 3 else 4;
      z = if noEvent(x > 1) then 1 else smooth(1, if x > 5 then 2 else 3);
    end M;"""))  # fmt: skip
    assert [one.name for one in dae.hybrid.relations] == ["x > a"]


def test_relations_of_time_are_time_events():
    dae = lower(flatten("""
    model M
      parameter Real T = 2, f = 3; Real x; discrete Real next(start = 5);
    equation
      der(x) = (if time < T then 1 else 2) + (if 2*time >= 6 then 1 else 0) + (if sin(time) > 0.5 then 1 else 0)
        + (if f*time > 3 then 1 else 0);
      when time >= pre(next) then next = pre(next) + 1; end when;
    end M;"""))  # fmt: skip
    kinds = {one.name: (None if one.by_time is None else str(one.by_time), one.rising) for one in dae.hybrid.relations}
    assert kinds["time < T"][1] is False
    assert kinds["time < T"][0] is not None
    assert kinds["sin(time) > 0.5"][0] is None
    assert kinds["f * time > 3"][0] is not None
    assert kinds["time >= pre(next)"][0] is not None


def test_derivatives_in_relations_are_unknowns_of_their_own():
    dae = lower(flatten("""
    model M Real x(start = 1), y; Boolean b;
    equation der(x)*der(x) = 1 - x + y; b = der(x) > 0; y = if b then 1 else 2; end M;"""))  # fmt: skip
    assert "der(x)" in dae.symbols.x_names
    assert dae.residual.numel() == 2


# -- results -------------------------------------------------------------------------------------------------------


def test_bouncing_ball():
    sol = run("""
    model Ball
      parameter Real e = 0.5, g = 10;
      Real h(start = 1.8, fixed = true), v(start = 0, fixed = true);
      Integer bounces(start = 0, fixed = true);
    equation
      der(h) = v; der(v) = -g;
      when h < 0 then reinit(v, -e*pre(v)); bounces = pre(bounces) + 1; end when;
    end Ball;""", 1.7)  # fmt: skip
    # it falls for 0.6, flies for 0.6, for 0.3, for 0.15
    assert sol["bounces"][-1] == 4
    tau = 1.7 - 1.65
    assert np.isclose(sol["v"][-1], 0.375 - 10 * tau, atol=1e-5)
    assert np.isclose(sol["h"][-1], 0.375 * tau - 5 * tau**2, atol=1e-5)


def test_thermostat_with_elsewhen():
    sol = run("""
    model Thermostat
      Real T(start = 20, fixed = true); Boolean on(start = true, fixed = true); Integer switched(start = 0);
    equation
      der(T) = if on then 1 else -2;
      when T > 22 then on = false; switched = pre(switched) + 1;
      elsewhen T < 18 then on = true; switched = pre(switched) + 1; end when;
    end Thermostat;""", 9.0)  # fmt: skip
    # up for 2, down for 2, up for 4, then down
    assert sol["switched"][-1] == 3
    assert np.isclose(sol["T"][-1], 20.0, atol=1e-5)


def test_sampled_controller():
    sol = run("""
    model M
      Real x(start = 1, fixed = true); discrete Real u(start = 0, fixed = true); Integer n(start = 0);
    equation
      der(x) = u;
      when sample(0.5, 0.5) then u = -x; n = pre(n) + 1; end when;
    end M;""", 2.25)  # fmt: skip
    # from 0.5 on, each half second halves x
    assert sol["n"][-1] == 4
    assert np.isclose(sol["x"][-1], 0.125 * (1 - 0.25), atol=1e-9)


def test_edge_change_and_pre():
    sol = run("""
    model M
      Boolean b = sin(time) > 0.5; Integer ups(start = 0), changes(start = 0); Real y(start = 0, fixed = true);
    equation
      der(y) = if b then 1 else 0;
      when edge(b) then ups = pre(ups) + 1; end when;
      when change(b) then changes = pre(changes) + 1; end when;
    end M;""", 10.0)  # fmt: skip
    assert sol["ups"][-1] == 2
    assert sol["changes"][-1] == 4
    assert np.isclose(sol["y"][-1], 2 * (np.pi - 2 * np.arcsin(0.5)), atol=1e-6)


def test_functions_that_jump():
    sol = run("""
    model M
      Real x(start = 0, fixed = true), f(start = 0, fixed = true), m(start = 0, fixed = true);
      Real saw = mod(time, 0.5); Integer n = integer(x);
    equation
      der(x) = 2; der(f) = floor(x) + ceil(x) + n; der(m) = saw;
    end M;""", 1.75)  # fmt: skip
    # x = 2 t; sums of floor over t = 0 … 1.75: steps of 0.5 with values 0, 1, 2, 3
    floors = 0.5 * (0 + 1 + 2) + 0.25 * 3
    assert np.isclose(sol["f"][-1], 2 * floors + floors + 1.75, atol=1e-6)
    assert np.isclose(sol["m"][-1], 3 * 0.125 + 0.25**2 / 2, atol=1e-6)
    assert sol["n"][-1] == 3


def test_algorithms_with_when_and_loops():
    sol = run("""
    model M
      parameter Integer n = 3; Real x(start = 0, fixed = true), s;
      Integer count(start = 0); discrete Real kept(start = -1);
    algorithm
      s := 0;
      for i in 1:n loop s := s + i*time; end for;
      when x > 1 then count := pre(count) + 1; kept := s; elsewhen x > 2 then count := 10*pre(count); end when;
    equation
      der(x) = 1;
    end M;""", 3.0)  # fmt: skip
    assert sol["count"][-1] == 10
    assert np.isclose(sol["kept"][-1], 6.0, atol=1e-6)
    assert np.isclose(sol["s"][-1], 18.0)


def test_initial_equations_of_discrete_variables():
    sol = run("""
    model M
      parameter Real a = 4; discrete Real z; Integer k; Boolean first(start = false); Real x(start = 0, fixed = true);
    initial equation
      z = 2*a; pre(k) = 7;
    equation
      when initial() then first = true; end when;
      when time > 0.5 then z = pre(z) + 1; k = pre(k) + 1; end when;
      der(x) = z;
    end M;""", 1.0)  # fmt: skip
    assert sol["first"][0] == 1
    assert (sol["z"][0], sol["z"][-1]) == (8, 9)
    assert sol["k"][-1] == 8
    assert np.isclose(sol["x"][-1], 4 + 4.5)


def test_initial_equations_say_what_a_variable_was_before():
    """Steps of a sequence: each is active if it was chosen in the event before."""
    sol = run("""
    model Steps
      Boolean first, second, next_first, next_second, go = time >= 1; Real x(start = 0, fixed = true);
    initial equation
      first = true; second = false;
    equation
      first = pre(next_first); second = pre(next_second);
      next_first = first and not (first and go);
      next_second = (first and go) or second;
      der(x) = if second then 1 else 0;
    end Steps;""", 3.0)  # fmt: skip
    assert (sol["first"][0], sol["first"][-1], sol["second"][-1]) == (1, 0, 1)
    assert np.isclose(sol["x"][-1], 2.0)


def test_enumerations_and_discrete_equations_in_any_order():
    sol = run("""
    model M
      type Phase = enumeration(rest, rise, fall);
      Phase phase; Boolean up, down, both = up and not down; Real x(start = 0, fixed = true);
    equation
      phase = if up then Phase.rise elseif down then Phase.fall else Phase.rest;
      up = time >= 1 and time < 2;
      down = time >= 2 and x > 0.25;
      der(x) = if phase == Phase.rise then 1 elseif phase == Phase.fall then -1 else 0;
    end M;""", 4.0)  # fmt: skip
    assert sol["phase"][-1] == 1
    assert np.isclose(sol["x"][-1], 0.25, atol=1e-6)
    assert at(sol, "both", 1.5) == 1


def test_choices_by_parameters_stay_in_theta_or_are_translated_anew():
    text = """
    model M
      parameter Boolean fast = false, free = false;
      Real x(start = 0, fixed = true), y;
    equation
      der(x) = if fast then 2 else 1;
      if free then y = 5; else y = x; end if;
    end M;"""
    model = load(text)
    assert np.isclose(da.simulate(model, (0, 1))["x"][-1], 1)
    assert np.isclose(da.simulate(model, (0, 1), parameters={"fast": True})["x"][-1], 2)
    assert np.isclose(da.simulate(model, (0, 1), parameters={"free": True, "fast": True})["y"][-1], 5)


def test_assertions_and_terminations():
    text = """
    model M
      parameter Real most = 1; Real x(start = 0, fixed = true);
    equation
      der(x) = 1;
      assert(x < most, "x = " + String(x) + " is too large");
    end M;"""
    with pytest.raises(da.SimulationError, match="too large"):
        run(text, 2.0)
    run(text, 0.5)
    sol = run("""
    model M Real x(start = 0, fixed = true);
    equation der(x) = 1; when x > 1.5 then terminate("far enough"); end when; end M;""", 3.0)  # fmt: skip
    assert np.isclose(sol.t[-1], 1.5, atol=1e-6)
    with pytest.raises(da.ModelicaError, match="assertion does not hold: no"):
        load('model M parameter Integer n = 3; Real x[n]; equation assert(n < 3, "no"); x = fill(0, n); end M;')


def test_friction_sticks_and_slides():
    """A mass on a belt of dry friction: the textbook's mode machine, with relations, pre and discrete equations."""
    sol = run("""
    model Friction
      parameter Real R = 1; Real v(start = 1, fixed = true), a, f, u = if time < 3 then 0 else 2, s;
      Boolean slides, breaks(start = false, fixed = true); Integer mode(start = 1, fixed = true);
    equation
      der(v) = a; a = u - f;
      a = if slides then s - R else 0;
      f = if slides then R else s;
      breaks = pre(mode) == 0 and (s > 1.01*R or pre(breaks) and s > R);
      slides = pre(mode) == 1 or breaks;
      mode = if slides and v > 0 then 1 else 0;
    end Friction;""", 4.0)  # fmt: skip
    # it stops at t = 1, and moves from t = 3 on with 2 - 1
    assert abs(at(sol, "v", 2.0)) < 1e-6
    assert np.isclose(sol["v"][-1], 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("equation der(x) = delay(x, 1);", "`delay` is not supported"),
        ("Boolean b; equation der(x) = 1; not b = x > 1;", "no equation has the discrete variable `b` alone"),
        ("equation der(x) = pre(2*x);", "`pre` is for variables"),
        ("equation der(x) = if sample(x, 1) then 1 else 0;", "start of a sample has to be known"),
        ("parameter Real p; equation der(x) = p;", "`p` has no value"),
    ],
)
def test_what_is_refused_has_a_place(body, message):
    with pytest.raises(da.ModelicaError, match=message.replace("(", r"\(")) as error:
        load(f"model M Real x(start = 0); {body} end M;")
    assert error.value.line == 1
