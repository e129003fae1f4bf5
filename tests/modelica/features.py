"""One small model for each feature of the language, with values that can be said without simulating.

The page `docs/modelica_support.md` is written from this list (`python tests/modelica/support_page.py`).
"""
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, exp, pi, sin


@dataclass(frozen=True)
class Feature:
    """A model, and what its variables are at the time `stop`."""

    group: str
    title: str
    text: str
    values: dict[str, float]
    stop: float = 1.0
    tolerance: float = 1e-5
    name: str | None = None
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Refusal:
    """What is not supported, and words of the message that says so."""

    title: str
    text: str
    words: str


_PIN = """
  connector Pin Real v; flow Real i; end Pin;
  partial model TwoPin Pin p, n; Real v = p.v - n.v; Real i = p.i; equation p.i + n.i = 0; end TwoPin;
  model Ground Pin p; equation p.v = 0; end Ground;
  model Source extends TwoPin; parameter Real V = 1; equation v = V; end Source;
  model Resistor extends TwoPin; parameter Real R = 1; equation v = R*i; end Resistor;
  model Capacitor extends TwoPin(v(start = 0, fixed = true)); parameter Real C = 1; equation C*der(v) = i; end Capacitor;
"""

FEATURES = [
    # -- classes ----------------------------------------------------------------------------------------------------
    Feature("Classes", "equations with derivatives, start values", "model M Real x(start = 1, fixed = true); equation der(x) = -x; end M;", {"x": exp(-1)}),
    Feature("Classes", "equations in any form and order", "model M Real x(start = 1, fixed = true), y, z; equation 0 = y + z - 3; 2*z = y*x; x + der(x) = 0; end M;", {"y": 3/(1 + exp(-1)/2), "z": 3 - 3/(1 + exp(-1)/2)}),
    Feature("Classes", "extends with modifiers", "package P model A parameter Real k = 1; Real x(start = k, fixed = true); equation der(x) = k; end A; model M extends A(k = 3); end M; end P;", {"x": 6}),
    Feature("Classes", "several base classes", "package P partial model A Real x; end A; partial model B Real y = 2*time; end B; model M extends A; extends B; equation x = y; end M; end P;", {"x": 2}),
    Feature("Classes", "nested modifiers, outer ones over inner ones", "package P model A parameter Real k = 1; Real x = k*time; end A; model B A a(k = 2); end B; model M B b(a(k = 5)), c; end M; end P;", {"b.a.x": 5, "c.a.x": 2}),
    Feature("Classes", "final, each, protected", "package P model A final parameter Real k = 2; parameter Real l; protected Real h = k*l*time; public Real x = h; end A; model M A a[2](each l = 3); end M; end P;", {"a[1].x": 6, "a[2].x": 6}),
    Feature("Classes", "short classes, types with attributes", "package P type Length = Real(unit = \"m\", min = 0); model A Length x = time; end A; model B = A; model M B b; end M; end P;", {"b.x": 1}),
    Feature("Classes", "packages, constants, qualified names", "package P package Q constant Real c = 4; end Q; model M Real x = Q.c*time + P.Q.c; end M; end P;", {"x": 8}),
    Feature("Classes", "all forms of import", "package P package Q constant Real a = 1, b = 2; package R constant Real c = 3; end R; end Q; model M import P.Q; import S = P.Q.R; import P.Q.{a, b}; import P.Q.R.*; Real x = Q.a + S.c + a + b + c + time; end M; end P;", {"x": 11}),
    Feature("Classes", "replaceable and redeclared components", "package P model A Real x = 1; end A; model B extends A(x = 2*time); end B; model C replaceable A a; end C; model M C c(redeclare B a); end M; end P;", {"c.a.x": 2}),
    Feature("Classes", "replaceable models and packages, constrainedby", "package P partial package Medium constant Real rho; end Medium; package Water extends Medium(rho = 1000); end Water; model Tank replaceable package Fluid = Medium constrainedby Medium; Real m = Fluid.rho*time; end Tank; model M Tank t(redeclare package Fluid = Water); end M; end P;", {"t.m": 1000}),
    Feature("Classes", "model extends (class extends)", "package P model A replaceable model B Real x = 1; end B; end A; model M extends A; redeclare model extends B Real y = 2*x + time; end B; B b; end M; end P;", {"b.y": 3}),
    Feature("Classes", "inner and outer components", "package P model World parameter Real g = 9.81; end World; model Body outer World world; Real a = world.g*time; end Body; model M inner World world(g = 3); Body b[2]; end M; end P;", {"b[2].a": 3}),
    Feature("Classes", "inner and outer classes", "package P partial function law input Real x; output Real y; end law; model Part outer function f = law; Real y = f(time); end Part; model M inner function f extends law; algorithm y := 2*x; end f; Part p; end M; end P;", {"p.y": 2}),
    Feature("Classes", "inner components that nobody has declared", "package P model World parameter Real g = 4; end World; model M outer World world; Real a = world.g*time; end M; end P;", {"a": 4}),
    Feature("Classes", "conditional components", "package P model A Real x = time; end A; model M parameter Boolean with = true; A a if with; A b if not with; end M; end P;", {"a.x": 1}),
    # -- values -----------------------------------------------------------------------------------------------------
    Feature("Values", "parameters that depend on each other", "model M parameter Real a = 2*b; parameter Real b = c + 1; parameter Real c = 3; Real x = a*time; end M;", {"x": 8}),
    Feature("Values", "parameters that the start determines (fixed = false)", "model M parameter Real p(fixed = false, start = 1); Real x(start = 3, fixed = true); initial equation p*p = 4; equation der(x) = p; end M;", {"x": 5, "p": 2}),
    Feature("Values", "records, nested and with modifiers", "package P record A Real u = 1; Real v = 2; end A; record B A a; Real w; end B; model M parameter B b(a(u = 3), w = 4); Real x = (b.a.u + b.a.v + b.w)*time; end M; end P;", {"x": 9}),
    Feature("Values", "record constructors and equations of records", "package P record R Real a; Real b; end R; model M R r; R s = R(1, b = time); equation r = s; end M; end P;", {"r.a": 1, "r.b": 1}),
    Feature("Values", "enumerations", "package P type E = enumeration(slow, fast); model M parameter E e = E.fast; Real x = if e == E.fast then 2*time else time; Integer n = Integer(e); end M; end P;", {"x": 2, "n": 2}),
    Feature("Values", "arrays indexed by enumerations and Booleans", "package P type E = enumeration(a, b, c); model M parameter Real v[E] = {1, 2, 3}; parameter Real w[Boolean] = {5, 7}; Real x = v[E.c]*time + w[true]; end M; end P;", {"x": 10}),
    Feature("Values", "strings", "model M parameter String s = \"a\" + \"b\"; Real x = if s == \"ab\" then time else 0; end M;", {"x": 1}),
    Feature("Values", "units, quantities and comments as metadata", "model M \"a model\" Real x(quantity = \"Length\", unit = \"m\", displayUnit = \"mm\", nominal = 10) = time \"a length\"; end M;", {"x": 1}),
    Feature("Values", "overloaded operators on complex numbers", "operator record Complex Real re; Real im; encapsulated operator 'constructor' function fromReal import Complex; input Real re; input Real im = 0; output Complex result(re = re, im = im); algorithm end fromReal; end 'constructor'; encapsulated operator function '+' import Complex; input Complex a; input Complex b; output Complex c; algorithm c := Complex(a.re + b.re, a.im + b.im); end '+'; encapsulated operator function '*' import Complex; input Complex a; input Complex b; output Complex c; algorithm c := Complex(a.re*b.re - a.im*b.im, a.re*b.im + a.im*b.re); end '*'; end Complex; model M Complex a = Complex(time, 2); Complex b = a*a + Complex(1); end M;", {"b.re": -2, "b.im": 4}, name="M"),
    # -- arrays -----------------------------------------------------------------------------------------------------
    Feature("Arrays", "vectors and matrices in equations", "model M parameter Real A[2, 2] = [1, 2; 3, 4]; Real x[2] = A*{time, 1}; Real y = {1, 2}*x; end M;", {"x[1]": 3, "x[2]": 7, "y": 17}),
    Feature("Arrays", "states in arrays, for-equations", "model M parameter Integer n = 3; Real x[n](each start = 1, each fixed = true); equation for i in 1:n loop der(x[i]) = -i*x[i]; end for; end M;", {"x[1]": exp(-1), "x[3]": exp(-3)}),
    Feature("Arrays", "sizes from parameters and from values, end", "model M parameter Real v[:] = {1, 2, 4}; Real s = v[end]*time; Integer n = size(v, 1); end M;", {"s": 4, "n": 3}),
    Feature("Arrays", "slices and ranges", "model M Real x[4] = {1, 2, 3, 4}*time; Real y[2] = x[2:3]; Real z[2] = x[{4, 1}]; Real w[2] = x[1:2:4]; end M;", {"y[2]": 3, "z[1]": 4, "w[2]": 3}),
    Feature("Arrays", "comprehension and reductions", "model M Real x[3] = {i^2*time for i in 1:3}; Real s = sum(x[i]*i for i in 1:3); Real p = product(i for i in 1:4); Real m = max(x); end M;", {"x[3]": 9, "s": 36, "p": 24, "m": 9}),
    Feature("Arrays", "functions of arrays", "model M Real a[3] = cross({1, 0, 0}, {0, time, 0}); Real b[2, 2] = transpose([1, 2; 3, 4])*time; Real c = sum(identity(3)) + sum(ones(2, 2)) + sum(fill(2, 3)) + sum(linspace(0, 1, 3)) + scalar({{5}}); Real d[3] = cat(1, {1}, {2, time}); end M;", {"a[3]": 1, "b[1,2]": 3, "c": 19.5, "d[3]": 1}),
    Feature("Arrays", "element by element: .* ./ .^ and functions of arrays", "model M Real x[2] = {1, 2} .* {3, time} ./ {2, 2} .+ 1; Real y[2] = sin({0, time}); end M;", {"x[1]": 2.5, "x[2]": 2, "y[2]": sin(1)}),
    Feature("Arrays", "arrays of components, modified one by one", "package P model A parameter Real k = 1; Real x = k*time; end A; model M A a[3](k = {1, 2, 3}); Real s = sum(a.x); end M; end P;", {"s": 6}),
    Feature("Arrays", "subscripts that change during the simulation", "model M Integer i(start = 1) = if time < 0.5 then 1 else 2; Real v[2] = {time, 3*time}; Real x = v[i]; end M;", {"x": 3}),
    # -- expressions ------------------------------------------------------------------------------------------------
    Feature("Expressions", "mathematical functions", "model M Real a = sqrt(1 + 3*time) + exp(0) + log(1) + log10(100) + abs(-time) + sign(-2); Real b = atan2(time, 1) + asin(0) + acos(1) + tan(0) + sinh(0) + cosh(0) + tanh(0); end M;", {"a": 2 + 1 + 0 + 2 + 1 - 1, "b": pi/4 + 1}),
    Feature("Expressions", "if expressions and elseif", "model M Real x = if time < 0.3 then 1 elseif time < 0.6 then 2 else 3; end M;", {"x": 3}),
    Feature("Expressions", "div, mod, rem, ceil, floor, integer: with events", "model M Real a = floor(3.5*time), b = ceil(3.2*time), c = mod(3.5*time, 2), d = rem(-3.5*time, 2), e = div(7.5*time, 2); Integer n = integer(3.5*time); end M;", {"a": 3, "b": 4, "c": 1.5, "d": -1.5, "e": 3, "n": 3}, 1.0),
    Feature("Expressions", "min, max", "model M Real x = min(time, 0.5) + max(time, 2); Real y = max({time, 3, 2}); end M;", {"x": 2.5, "y": 3}),
    Feature("Expressions", "noEvent, smooth", "model M Real x = noEvent(if time > 0.5 then time else 0.5); Real y = smooth(0, if time > 0.5 then 2*time else 1); end M;", {"x": 1, "y": 2}),
    Feature("Expressions", "homotopy, semiLinear", "model M Real x = homotopy(actual = 2*time, simplified = time); Real y = semiLinear(time - 2, 1, 3); end M;", {"x": 2, "y": -3}),
    # -- functions --------------------------------------------------------------------------------------------------
    Feature("Functions", "functions with algorithms, several results", "package P function f input Real x; output Real y; output Real z; algorithm y := 2*x; z := y + 1; end f; model M Real a, b; equation (a, b) = f(time); end M; end P;", {"a": 2, "b": 3}),
    Feature("Functions", "arguments by name, defaults", "package P function f input Real x; input Real k = 2; input Real l = k + 1; output Real y; algorithm y := k*x + l; end f; model M Real a = f(time), b = f(time, l = 5), c = f(k = 3, x = time); end M; end P;", {"a": 5, "b": 7, "c": 7}),
    Feature("Functions", "if, for, while, break, return in functions", "package P function f input Real x; input Integer n; output Real y; algorithm y := 0; for i in 1:n loop if i == 4 then break; end if; y := y + i*x; end for; while y > 100 loop y := y/2; end while; if n > 2 then y := y + 1; return; end if; y := 0; end f; model M Real a = f(time, 9); end M; end P;", {"a": 7}),
    Feature("Functions", "arrays and records as inputs and outputs", "package P record R Real a; Real b[2]; end R; function f input Real v[:]; output R r; protected Real s = sum(v); algorithm r.a := s; r.b := {v[1], v[end]}; end f; model M R r = f({time, 2, 3}); end M; end P;", {"r.a": 6, "r.b[2]": 3}),
    Feature("Functions", "recursion with a known end", "package P function fact input Integer n; output Integer f; algorithm f := if n <= 1 then 1 else n*fact(n - 1); end fact; model M Real x = fact(5)*time; end M; end P;", {"x": 120}),
    Feature("Functions", "functions that are applied to each element", "package P function f input Real x; output Real y; algorithm y := x^2; end f; model M Real v[2] = f({time, 3}); end M; end P;", {"v[1]": 1, "v[2]": 9}),
    Feature("Functions", "derivatives of functions, found or given by annotation", "package P function f input Real x; output Real y; algorithm y := x^3; annotation(derivative = df); end f; function df input Real x; input Real dx; output Real dy; algorithm dy := 3*x^2*dx; end df; model M Real x = f(time); Real v = der(x); end M; end P;", {"x": 1, "v": 3}),
    Feature("Functions", "functions as arguments of functions", "package P partial function law input Real x; output Real y; end law; function twice input law f; input Real x; output Real y; algorithm y := f(f(x)); end twice; function g extends law; input Real k = 1; algorithm y := k*x + 1; end g; model M Real a = twice(function g(k = 2), time); end M; end P;", {"a": 7}),
    Feature("Functions", "inlined functions", "package P function f input Real x; output Real y; algorithm y := 2*x; annotation(Inline = true); end f; model M Real a = f(time); end M; end P;", {"a": 2}),
    # -- connections ------------------------------------------------------------------------------------------------
    Feature("Connections", "connect: equal potentials, sums of flows", f"package P {_PIN} model M Source s(V = 2); Resistor r(R = 4); Capacitor c(C = 0.25); Ground g; equation connect(s.p, r.p); connect(r.n, c.p); connect(c.n, s.n); connect(s.n, g.p); end M; end P;", {"c.v": 2*(1 - exp(-1)), "g.p.i": 0}),
    Feature("Connections", "connectors within components, hierarchies", f"package P {_PIN} model RC Pin p, n; Resistor r; Capacitor c; equation connect(p, r.p); connect(r.n, c.p); connect(c.n, n); end RC; model M Source s; RC rc; Ground g; equation connect(s.p, rc.p); connect(s.n, rc.n); connect(g.p, s.n); end M; end P;", {"rc.c.v": 1 - exp(-1)}),
    Feature("Connections", "arrays of connectors, connect in loops", f"package P {_PIN} model M Source s(V = 6); Resistor r[3](R = {{1, 2, 3}}); Ground g; equation connect(s.p, r[1].p); for i in 1:2 loop connect(r[i].n, r[i + 1].p); end for; connect(r[3].n, s.n); connect(g.p, s.n); end M; end P;", {"r[2].i": 1, "r[3].v": 3}),
    Feature("Connections", "signals: input and output connectors", "package P connector In = input Real; connector Out = output Real; block Gain parameter Real k = 1; In u; Out y; equation y = k*u; end Gain; block Clock Out y; equation y = time; end Clock; model M Clock c; Gain g(k = 3); equation connect(c.y, g.u); end M; end P;", {"g.y": 3}),
    Feature("Connections", "connections with conditional components", f"package P {_PIN} model M parameter Boolean open = true; Source s; Resistor r if not open; Resistor q(R = 2); Ground g; equation connect(s.p, r.p); connect(r.n, g.p); connect(s.p, q.p); connect(q.n, g.p); connect(s.n, g.p); end M; end P;", {"q.i": 0.5}),
    Feature("Connections", "expandable connectors (buses)", "package P connector In = input Real; connector Out = output Real; expandable connector Bus end Bus; block Sender Bus bus; Out y = 2*time; equation connect(y, bus.speed); end Sender; block Receiver Bus bus; In u; Real x = u; equation connect(bus.speed, u); end Receiver; model M Sender s; Receiver r; Bus bus; equation connect(s.bus, bus); connect(bus, r.bus); end M; end P;", {"r.x": 2}),
    Feature("Connections", "overconstrained connectors (loops are cut)", "package P record Angle Real c; Real s; function equalityConstraint input Angle a; input Angle b; output Real r[1]; algorithm r[1] := a.c*b.s - a.s*b.c; end equalityConstraint; end Angle; connector Frame Angle R; flow Real f; end Frame; model Fixed Frame b; equation Connections.root(b.R); b.R.c = cos(time); b.R.s = sin(time); end Fixed; model Bar Frame a, b; equation Connections.branch(a.R, b.R); b.R.c = a.R.c; b.R.s = a.R.s; a.f + b.f = 0; end Bar; model M Fixed f; Bar p; equation connect(f.b, p.a); end M; end P;", {"p.b.R.c": cos(1), "p.b.R.s": sin(1)}),
    # -- equations --------------------------------------------------------------------------------------------------
    Feature("Equations", "if equations", "model M Real x, y; equation if time < 0.5 then x = 1; y = 2; else x = 3*time; y = x; end if; end M;", {"x": 3, "y": 3}),
    Feature("Equations", "if equations that parameters decide", "model M parameter Boolean fast = true; Real x(start = 0, fixed = fast); equation if fast then der(x) = 2; else x = 1; end if; end M;", {"x": 2}),
    Feature("Equations", "initial equations", "model M Real x; initial equation der(x) = 0; equation der(x) = 2 - x + (if time > 0.5 then 1 else 0); end M;", {"x": 3 - exp(-0.5)}),
    Feature("Equations", "initial algorithms", "model M Real x; parameter Real p(fixed = false); initial algorithm p := 3; x := 2*p; equation der(x) = 1; end M;", {"x": 7}),
    Feature("Equations", "hidden constraints: a pendulum in Cartesian coordinates", "model M Real x(start = 1, fixed = true), y(start = 0), vx, vy(start = 0, fixed = true), lambda; equation der(x) = vx; der(y) = vy; der(vx) = -lambda*x; der(vy) = -lambda*y; x^2 + y^2 = 1; end M;", {"x": 1, "y": 0}),
    Feature("Equations", "rigid couplings without state selection", "package P connector Flange Real phi; flow Real tau; end Flange; model Inertia Flange a, b; parameter Real J = 1; Real phi = a.phi; Real w = der(phi); equation b.phi = a.phi; J*der(w) = a.tau + b.tau; end Inertia; model Gear Flange a, b; parameter Real ratio = 2; equation a.phi = ratio*b.phi; 0 = ratio*a.tau + b.tau; end Gear; model Torque Flange b; equation b.tau = -1; end Torque; model M Torque t; Inertia i(phi(start = 0, fixed = true), w(start = 0, fixed = true)), j(J = 4); Gear g; equation connect(t.b, i.a); connect(i.b, g.a); connect(g.b, j.a); end M; end P;", {"i.w": 0.5, "j.phi": 0.125}),
    Feature("Equations", "more equations than unknowns, if they are consistent", "model M Real x(start = 1, fixed = true), y(start = 0); equation der(x) = -y; der(y) = x; x^2 + y^2 = 1; end M;", {"x": cos(1), "y": sin(1)}),
    Feature("Equations", "implicit equations", "model M Real x(start = 1); equation x^3 + x = 2*time; end M;", {"x": 1}),
    Feature("Equations", "assert and its levels", "model M Real x = time; equation assert(x < 2, \"too large\"); assert(x < 0.5, \"large\", AssertionLevel.warning); end M;", {"x": 1}),
    Feature("Equations", "stateSelect as a hint", "model M Real x(start = 1, fixed = true, stateSelect = StateSelect.prefer); Real y(stateSelect = StateSelect.never) = 2*x; equation der(x) = -x; end M;", {"y": 2*exp(-1)}),
    # -- events -----------------------------------------------------------------------------------------------------
    Feature("Events", "relations as events, located", "model M Real x(start = 0, fixed = true); equation der(x) = if x < 0.5 then 1 else 0.25; end M;", {"x": 0.5 + 0.125}),
    Feature("Events", "when, pre, discrete variables", "model M Real x(start = 0, fixed = true); discrete Real d(start = 0, fixed = true); equation der(x) = 1; when x > 0.5 then d = pre(d) + 2*x; end when; end M;", {"d": 1}),
    Feature("Events", "elsewhen, several conditions", "model M Integer n(start = 0, fixed = true); equation when {time > 0.2, time > 0.4} then n = pre(n) + 1; elsewhen time > 0.6 then n = 10 + pre(n); end when; end M;", {"n": 12}),
    Feature("Events", "sample", "model M Integer n(start = 0, fixed = true); equation when sample(0.05, 0.1) then n = pre(n) + 1; end when; end M;", {"n": 10}),
    Feature("Events", "reinit: a bouncing ball", "model M Real h(start = 1, fixed = true), v(start = 0, fixed = true); parameter Real g = 2; equation der(h) = v; der(v) = -g; when h < 0 then reinit(v, -0.5*pre(v)); end when; end M;", {"h": 0.25, "v": 0}, 1.5),
    Feature("Events", "edge, change", "model M Boolean b = time > 0.5; Integer n(start = 0, fixed = true), m(start = 0, fixed = true); equation when edge(b) then n = pre(n) + 1; end when; when change(b) then m = pre(m) + 1; end when; end M;", {"n": 1, "m": 1}),
    Feature("Events", "initial() and terminal()", "model M Real x(start = 0), y(start = 0); equation when initial() then x = 3; end when; when terminal() then y = 5; end when; end M;", {"x": 3}),
    Feature("Events", "Boolean equations and state machines by pre", "model M Boolean on(start = false, fixed = true); Real T(start = 0, fixed = true); equation on = T < 1 or pre(on) and T < 2; der(T) = if on then 4 else 0; end M;", {"T": 2, "on": 0}),
    Feature("Events", "when in algorithms", "model M Integer n(start = 0, fixed = true); Real s(start = 0, fixed = true); algorithm when sample(0.1, 0.2) then n := n + 1; s := s + n; end when; end M;", {"n": 5, "s": 15}),
    Feature("Events", "friction that sticks and slips", "model M Real v(start = 1, fixed = true), f; parameter Real mu = 2; Boolean stuck(start = false, fixed = true); equation der(v) = -f; stuck = v <= 0 or pre(stuck); f = if stuck then v else mu; end M;", {"v": 0}, tolerance=1e-4),
    Feature("Events", "terminate", "model M Real x = time; equation when time > 0.25 then terminate(\"enough\"); end when; end M;", {"x": 0.25}, 1.0),
    # -- algorithms -------------------------------------------------------------------------------------------------
    Feature("Algorithms", "algorithm sections", "model M Real x, y; algorithm x := time; y := x + 1; x := 2*y; end M;", {"x": 4, "y": 2}),
    Feature("Algorithms", "if and for statements", "model M Real s; Real v[3]; algorithm s := 0; for i in 1:3 loop v[i] := i*time; if i <> 2 then s := s + v[i]; end if; end for; end M;", {"s": 4, "v[3]": 3}),
    Feature("Algorithms", "while and break", "model M Real s; Integer n; algorithm s := 0; n := 0; while n < 10 loop n := n + 1; s := s + n*time; if n >= 4 then break; end if; end while; end M;", {"s": 10, "n": 4}),
    Feature("Algorithms", "functions with several results in algorithms", "package P function f input Real x; output Real y; output Real z; algorithm y := x; z := 2*x; end f; model M Real a, b; algorithm (a, b) := f(time); b := b + a; end M; end P;", {"a": 1, "b": 3}),
    # -- experiment -------------------------------------------------------------------------------------------------
    Feature("Simulation", "annotation(experiment) gives end time and tolerance", "model M Real x(start = 1, fixed = true); equation der(x) = -x; annotation(experiment(StopTime = 2, Tolerance = 1e-8)); end M;", {"x": exp(-2)}, 2.0),
    Feature("Simulation", "inputs of the model", "model M input Real u = 2; Real x(start = 0, fixed = true); equation der(x) = u; end M;", {"x": 2}),
    Feature("Simulation", "parameters changed without translating again", "model M parameter Real k = 1; Real x(start = 1, fixed = true); equation der(x) = -k*x; end M;", {"x": exp(-3)}, options={"parameters": {"k": 3.0}}),
    Feature("Simulation", "names in quotes", "model M Real 'a b' = time; Real '1' = 2*'a b'; end M;", {"'1'": 2}),
]  # fmt: skip

REFUSALS = [
    Refusal("clocks and clocked equations", "model M Real x; equation x = previous(x); end M;", "clocked"),
    Refusal("state machines of Modelica 3.3", "package P model A end A; model M A a; equation initialState(a); end M; end P;", "state machines"),
    Refusal("spatialDistribution", "model M Real x, y; equation (x, y) = spatialDistribution(1, 2, time, true); end M;", "spatialDistribution"),
    Refusal("streams", "package P connector C Real p; flow Real m; stream Real h; end C; model M C c; end M; end P;", "stream"),
    Refusal("delay", "model M Real x = delay(time, 0.1); end M;", "delay"),
    Refusal("external functions of the user's own C code", "package P function f input Real x; output Real y; external \"C\" y = my_function(x); end f; model M Real x = f(time); end M; end P;", "my_function"),
    Refusal("partial derivatives of functions", "package P function f input Real x; output Real y; algorithm y := x^2; end f; function d = der(f, x); model M Real x = d(time); end M; end P;", "partial derivatives"),
]  # fmt: skip

