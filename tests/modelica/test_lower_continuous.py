"""Models without events: from Modelica text to results, against exact solutions and models written by hand."""

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.modelica import flatten, load
from dalembert.modelica.lower import lower

PENDULUM = """
model Pendulum
  parameter Real m = 1, g = 13.7503716373295, L = 1;
  Real x(start = L), y(start = 0), vx(start = 0), vy(start = 0), lambda;
equation
  der(x) = vx;
  der(y) = vy;
  m*der(vx) = -2*x*lambda;
  m*der(vy) = -m*g - 2*y*lambda;
  0 = x^2 + y^2 - L^2;
  {hidden}
end Pendulum;
"""
HIDDEN = """
  0 = 2*x*vx + 2*y*vy;
  0 = 2*vx*vx + 2*vy*vy + 2*x*(-2*x*lambda)/m + 2*y*(-m*g - 2*y*lambda)/m;
"""


@pytest.mark.parametrize("hidden", ["", HIDDEN], ids=["naive", "as printed"])
def test_pendulum_with_and_without_its_hidden_constraints(hidden):
    """A period of 2: the solution returns to the start."""
    model = load(PENDULUM.replace("{hidden}", hidden))
    sol = da.simulate(model, (0, 2), rtol=1e-6, atol=1e-6)
    end = np.array([sol[name][-1] for name in ("x", "y", "vx", "vy", "lambda")])
    assert abs(end - [1, 0, 0, 0, 0]).max() <= 1.9e-5
    assert abs(sol["x"] ** 2 + sol["y"] ** 2 - 1).max() < 1e-10


@pytest.mark.slow
def test_naive_pendulum_stays_on_its_constraints_for_long():
    sol = da.simulate(load(PENDULUM.replace("{hidden}", "")), (0, 1000), rtol=1e-6)
    x, y, vx, vy, force = (sol[name] for name in ("x", "y", "vx", "vy", "lambda"))
    assert abs(x**2 + y**2 - 1).max() < 1e-8
    assert abs(x * vx + y * vy).max() < 1e-8
    assert abs(vx**2 + vy**2 - 2 * force * (x**2 + y**2) - 13.7503716373295 * y).max() < 1e-8


RLC = """
package P
  connector Pin Real v; flow Real i; end Pin;
  partial model Two Pin p, n; Real v, i; equation v = p.v - n.v; 0 = p.i + n.i; i = p.i; end Two;
  model R extends Two; parameter Real R = 1; equation R*i = v; end R;
  model L extends Two; parameter Real L = 1; equation L*der(i) = v; end L;
  model C extends Two(v(start = 1, fixed = true)); parameter Real C = 1; equation i = C*der(v); end C;
  model G Pin p; equation p.v = 0; end G;
  model Circuit
    R r(R = 0.5); L l; C c; G g;
  equation
    connect(r.n, l.p); connect(l.n, c.p); connect(c.n, r.p); connect(g.p, c.n);
    annotation(experiment(StopTime = 5, Tolerance = 1e-8));
  end Circuit;
end P;
"""


def damped(t, R):
    w = np.sqrt(1 - R**2 / 4)
    return np.exp(-R / 2 * t) * (np.cos(w * t) + R / 2 / w * np.sin(w * t))


def test_circuit_in_two_unknowns_and_everything_else_by_name():
    dae = lower(flatten(RLC))
    assert set(dae.symbols.x_names) == {"l.i", "c.v"}
    model = load(RLC)
    sol = da.simulate(model, rtol=1e-8)
    assert sol.t[-1] == 5
    assert abs(sol["c.v"] - damped(sol.t, 0.5)).max() < 1e-6
    assert np.allclose(sol["r.p.v"] - sol["r.n.v"], sol["r.R"] * sol["r.i"], atol=1e-14)
    assert np.allclose(sol["l.p.i"] + sol["c.p.i"] * -1, 0)
    assert not np.any(sol["g.p.v"])


def test_other_parameters_need_no_new_translation():
    model = load(RLC)
    sol = da.simulate(model, rtol=1e-8, parameters={"r.R": 1.0})
    assert abs(sol["c.v"] - damped(sol.t, 1.0)).max() < 1e-6
    assert model.replace({"r.R": 1.0}).graph.functions is model.graph.functions


def test_rigid_and_relative_positions_leave_no_constraint():
    """Two masses that are one, a spring between them and a third, and the distance between as a variable."""
    text = """
    model M
      parameter Real c = 4, ratio = 2;
      Real s1(start = 1, fixed = true), s2, s3(start = 0, fixed = true), v1(start = 0, fixed = true), v2;
      Real v3(start = 0, fixed = true), f, d, vd, gear;
    equation
      s1 = s2; der(s1) = v1; der(s2) = v2; der(s3) = v3;
      d = s2 - s3; vd = der(d); gear = ratio*d;
      1*der(v1) = -f; 2*der(v2) = f - c*d; 6*der(v3) = c*d;
    end M;"""
    dae = lower(flatten(text))
    assert set(dae.symbols.x_names) == {"s1", "v1", "s3", "v3"}
    model = da.modelica.load(text)
    assert model.index == 0
    sol = da.simulate(model, (0, 3), rtol=1e-8, atol=1e-10)
    w = np.sqrt(4 * (1 / 3 + 1 / 6))
    assert abs(sol["d"] - np.cos(w * sol.t)).max() < 1e-6
    assert abs(sol["gear"] - 2 * np.cos(w * sol.t)).max() < 1e-6
    assert abs(sol["vd"] + w * np.sin(w * sol.t)).max() < 1e-6
    assert np.array_equal(sol["v1"], sol["v2"])


def test_prescribed_motion_is_differentiated():
    sol = da.simulate(load("""
    model M
      Real x = sin(2*time), v = der(x), a = der(v), f;
      Real y(start = 0, fixed = true);
    equation
      3*a = f;
      der(y) = f;
    end M;"""), (0, 2), rtol=1e-8)  # fmt: skip
    assert abs(sol["f"] + 12 * np.sin(2 * sol.t)).max() < 1e-12
    assert abs(sol["y"] - 6 * (np.cos(2 * sol.t) - 1)).max() < 1e-6


def test_start_values_fixed_values_and_initial_equations():
    text = """
    model M
      parameter Real a = 3;
      parameter Real p(fixed = false, start = 1);
      Real x(start = a), y(start = 7), z, w(start = 5, fixed = true);
    initial equation
      x = 2*a;
      der(y) = 0;
      p*z = 10;
    equation
      der(x) = -x;
      der(y) = x - y;
      z = y - 1;
      w = 2*u;
      der(u) = -u;
      Real u;
    end M;""".replace("      Real u;\n", "").replace("z, w(", "z, u, w(")
    sol = da.simulate(load(text), (0, 1), rtol=1e-9)
    assert np.isclose(sol["x"][0], 6)
    assert np.isclose(sol["y"][0], 6)
    assert np.isclose(sol["z"][0], 5)
    assert np.allclose(sol["p"], 2)
    assert np.isclose(sol["u"][0], 2.5)
    assert np.isclose(sol["w"][-1], 5 * np.exp(-1))
    other = da.simulate(load(text), (0, 1), rtol=1e-9, parameters={"a": 1.0})
    assert np.isclose(other["x"][0], 2)
    assert np.isclose(other["p"][0], 10)


def test_structural_parameters_lead_to_another_translation():
    text = """
    model Chain
      parameter Integer n = 2;
      parameter Boolean steady = false;
      Real x[n](each start = 1, each fixed = true), y;
    equation
      for i in 1:n loop der(x[i]) = -i*x[i]; end for;
      y = if steady then 4 else x[1];
    end Chain;"""
    model = load(text)
    assert "x[3]" not in model.names("x")
    sol = da.simulate(model, (0, 1), rtol=1e-8, parameters={"n": 4})
    assert np.isclose(sol["x[4]"][-1], np.exp(-4), atol=1e-6)
    assert np.isclose(da.simulate(model, (0, 1), rtol=1e-8, parameters={"steady": True})["y"][-1], 4)
    assert np.isclose(load(text, parameters={"n": 3}).graph.size("x"), 3)
    with pytest.raises(da.ModelicaError, match="no parameter `m`"):
        da.simulate(model, (0, 1), parameters={"m": 4})
    with pytest.raises(da.ModelicaError, match="type Boolean"):
        load(text, parameters={"steady": 2})


def test_dependent_parameters_follow_and_can_be_given():
    text = "model M parameter Real a = 2, b = 3*a; Real x(start = b, fixed = true); equation der(x) = -a; end M;"
    model = load(text)
    sol = da.simulate(model, (0, 1), parameters={"a": 4.0})
    assert sol["b"][0] == 12
    assert np.isclose(sol["x"][-1], 8)
    assert np.isclose(da.simulate(model, (0, 1), parameters={"b": 5.0})["x"][-1], 3)
    assert np.isclose(da.simulate(model, (0, 1), parameters={"b": 5.0, "a": 1.0})["x"][-1], 4)


def test_inputs_have_values_from_outside():
    model = load("model M input Real u(start = 1); output Real y(start = 0, fixed = true); equation der(y) = u; end M;")
    assert np.isclose(da.simulate(model, (0, 1))["y"][-1], 1)
    assert np.isclose(da.simulate(model, (0, 1), rtol=1e-8, inputs={"u": lambda t: t})["y"][-1], 0.5)


def test_a_model_of_time_alone():
    sol = da.simulate(load("model M Real x = sin(time), y = 2*x; parameter Real k = 3; end M;"), (0, 1))
    assert np.allclose(sol["y"], 2 * np.sin(sol.t))
    assert sol["k"][0] == 3


def test_contradictions_are_named():
    with pytest.raises(da.ModelicaError, match=r"contains no unknown any more.*contradicts") as error:
        load("model M Real x; equation x = sin(time); x = cos(time); end M;")
    assert error.value.line == 1
    twice = load(
        "model M Real x, y(start = 1, fixed = true); equation x = sin(time); x = sin(time); der(y) = x; end M;"
    )
    assert np.isclose(da.simulate(twice, (0, 1), rtol=1e-8)["y"][-1], 2 - np.cos(1))


def test_agrees_with_a_model_written_by_hand():
    text = """
    model Tank
      parameter Real A = 2;
      Real h(start = 1, fixed = true), q;
    equation
      A*der(h) = -q + 0.1*sin(time);
      q = 0.3*sqrt(h);
    end Tank;"""
    by_hand = da.QuasiLinearDAE(
        x=["h"], leading=[2.0], rhs=lambda s: [-0.3 * np.sqrt(s.h) + 0.1 * np.sin(s.t)], start={"h": 1.0}
    )
    ours, theirs = da.simulate(load(text), (0, 3), rtol=1e-9), da.simulate(by_hand, (0, 3), rtol=1e-9)
    assert np.isclose(ours["h"][-1], theirs["h"][-1], rtol=1e-8)


def test_derivatives_that_do_not_enter_linearly():
    """√h falls evenly where der(h)² = 0.04 h, and |der(h)| tells the direction."""
    text = "model M Real h(start = 1, fixed = true); equation der(h)*abs(der(h)) = -0.04*h; end M;"
    assert isinstance(load(text), da.QuasiLinearDAE)
    assert np.isclose(da.simulate(load(text), (0, 5), rtol=1e-8)["h"][-1], 0.25, rtol=1e-6)


FEKETE = """
model Fekete "points on a sphere that repel each other, of index 3"
  parameter Integer n = 20;
  parameter Real damping = 0.5;
  parameter Real z0[n] = {1 - (2*i - 1)/n for i in 1:n};
  Real p[n, 3](start = {{sqrt(1 - z0[i]^2)*cos(2.4*i), sqrt(1 - z0[i]^2)*sin(2.4*i), z0[i]} for i in 1:n});
  Real v[n, 3](each start = 0), lambda[n], f[n, 3];
equation
  for i in 1:n loop
    f[i, :] = {sum(if i == j then 0 else (p[i, k] - p[j, k])/((p[i, :] - p[j, :])*(p[i, :] - p[j, :])) for j in 1:n)
      for k in 1:3};
    der(p[i, :]) = v[i, :];
    der(v[i, :]) = f[i, :] - damping*v[i, :] + 2*lambda[i]*p[i, :];
    p[i, :]*p[i, :] = 1;
  end for;
end Fekete;
"""


@pytest.mark.parametrize(("n", "end"), [(4, 100.0), pytest.param(20, 1000.0, marks=pytest.mark.slow)])
def test_naive_fekete_points(n, end):
    sol = da.simulate(load(FEKETE, parameters={"n": n}), (0, end), rtol=1e-6)
    p, v = (np.array([[sol[f"{name}[{i},{k}]"] for k in (1, 2, 3)] for i in range(1, n + 1)]) for name in "pv")
    f = np.array([[sol[f"f[{i},{k}]"] for k in (1, 2, 3)] for i in range(1, n + 1)])
    force = np.array([sol[f"lambda[{i}]"] for i in range(1, n + 1)])
    assert abs((p * p).sum(1) - 1).max() < 1e-8
    assert abs((p * v).sum(1)).max() < 1e-8
    assert abs((v * v + p * (f - 0.5 * v + 2 * force[:, None] * p)).sum(1)).max() < 1e-8
    ends = p[:, :, -1]
    if n == 4:  # they end as corners of a tetrahedron
        distances = np.linalg.norm(ends[:, None] - ends[None], axis=2)[~np.eye(4, dtype=bool)]
        assert np.allclose(distances, np.sqrt(8 / 3), atol=1e-3)


def test_unknowns_that_follow_time_directly_are_seen_between_steps():
    """Nothing is differentiated, and the control of errors sees nothing."""
    model = load("model M Real x; equation x + x^3 = sin(20*time); end M;")
    sol, t = da.simulate(model, (0, 1)), np.linspace(0, 1, 777)
    x = sol.at(t)["x"]
    assert abs(x + x**3 - np.sin(20 * t)).max() < 1e-6
    assert len(da.simulate(model, (0, 1), max_step=0.1).t) < 100


def test_models_travel_and_are_translated_elsewhere():
    text = "model M parameter Integer n = 2; Real x[n](each start = 1, each fixed = true); equation der(x) = -x; end M;"
    model = pickle.loads(pickle.dumps(load(text)))
    assert np.isclose(da.simulate(model, (0, 1), parameters={"n": 3})["x[3]"][-1], np.exp(-1), atol=1e-5)
