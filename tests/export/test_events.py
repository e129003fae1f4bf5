"""Hybrid Modelica models as programs in three languages: events are where `simulate` finds them."""

import numpy as np
import pytest
from compilers import LANGUAGES, failing, program, ran

import dalembert as da

MODELS = {
    "bouncing ball": """
        model Ball
          Real h(start = 1, fixed = true), v(start = 0, fixed = true);
          Integer count(start = 0, fixed = true);
        equation
          der(h) = v;
          der(v) = -9.81;
          when h < 0 then
            reinit(v, -0.7*pre(v));
            count = pre(count) + 1;
          end when;
          annotation(experiment(StopTime = 2));
        end Ball;""",
    "sampled controller": """
        model Sampled
          Real x(start = 1, fixed = true);
          discrete Real u(start = 0, fixed = true);
          parameter Real period = 0.13;
        equation
          der(x) = -x + u + (if time > 0.4 then 1 else 0);
          when sample(0.05, period) then
            u = 0.5*pre(u) - 0.3*x;
          end when;
          annotation(experiment(StopTime = 1));
        end Sampled;""",
    "friction": """
        model Friction "A mass that is pulled back and forth, and sticks where the pull is weak"
          Real x(start = 0, fixed = true), v(start = 0, fixed = true), a, f, pull;
          Real s "parameter of the characteristic: velocity or force";
          Boolean forward(start = false, fixed = true), backward(start = false, fixed = true);
          Integer mode(start = 0, fixed = true);
        equation
          der(x) = v;
          der(v) = a;
          pull = 3*sin(4*time);
          a = pull - f;
          forward = pre(mode) == 0 and (s > 1 or pre(forward) and s > 0.9) or pre(mode) == 1 and v > 0;
          backward = pre(mode) == 0 and (s < -1 or pre(backward) and s < -0.9) or pre(mode) == -1 and v < 0;
          mode = if (pre(mode) == 1 or forward) and v > 0 then 1
            elseif (pre(mode) == -1 or backward) and v < 0 then -1 else 0;
          f = if forward or pre(mode) == 1 then 1 elseif backward or pre(mode) == -1 then -1 else s;
          a = if forward or pre(mode) == 1 then s - 1 elseif backward or pre(mode) == -1 then s + 1 else 0;
          annotation(experiment(StopTime = 3));
        end Friction;""",
    "diode": """
        model Diode "A constraint that depends on a truth value, and hidden ones beside it"
          Real u, i, s, q(start = 0, fixed = true), x(start = 1), y(start = 0), vx, vy, F;
          Boolean off(start = true);
        equation
          off = s < 0;
          u = s*(if off then 1 else 1e-3);
          i = s*(if off then 1e-3 else 1);
          der(q) = i;
          5*sin(6*time) = u + i + q;
          der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - 9.81;
          x^2 + y^2 = 1;
          annotation(experiment(StopTime = 2));
        end Diode;""",
}


@pytest.mark.parametrize("name", MODELS)
def test_programs_find_the_events(name, tmp_path):
    model = da.modelica.load(MODELS[name])
    solution = da.simulate(model, rtol=1e-9, atol=1e-10)
    for language in LANGUAGES:
        (tmp_path / language).mkdir()
        table = ran(program(da.translate(model, language, rtol=1e-8, atol=1e-9), language, tmp_path / language))
        assert (np.diff(table["time"]) == 0).any()  # both sides of events
        for variable in table.names[1:]:
            scale = np.abs(table[variable]).max()
            assert abs(table[variable][-1] - solution[variable][-1]) < 1e-5 * max(scale, 1e-3), (language, variable)


def test_ends_and_assertions(tmp_path):
    text = """
        model Falling
          Real h(start = 1, fixed = true), v(start = 0, fixed = true);
          parameter Real deepest = -1;
        equation
          der(h) = v;
          der(v) = -9.81;
          assert(h > deepest, "too deep");
          when h < -0.5 then
            terminate("it is down");
          end when;
          annotation(experiment(StopTime = 2));
        end Falling;"""
    for language in LANGUAGES:
        folder = tmp_path / language
        folder.mkdir()
        table = ran(program(da.translate(da.modelica.load(text), language), language, folder))
        assert table["time"][-1] == pytest.approx(np.sqrt(3 / 9.81), rel=1e-6)
        changed = da.translate(da.modelica.load(text), language, parameters={"deepest": 0.0})
        assert "too deep" in failing(program(changed, language, folder))


def test_equidistant_results_of_a_model_with_events(tmp_path):
    model = da.modelica.load(MODELS["bouncing ball"])
    table = ran(program(da.translate(model, "c"), "c", tmp_path), 1.0, 1e-8, 10)
    np.testing.assert_allclose(table["time"], np.linspace(0, 1, 11))
    solution = da.simulate(model, (0, 1), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(table["h"], solution.at(table["time"])["h"], atol=1e-5)
