"""What models become: names, values and equations of the flat model, one feature of the language at a time."""
# ruff: noqa: E501

import pytest

import dalembert as da
from dalembert.modelica import flatten
from dalembert.modelica.printer import expression_text


def equations(flat):
    return [f"{expression_text(one.left, 1)} = {expression_text(one.right)}" for one in flat.equations]


def initial(flat):
    return [f"{expression_text(one.left, 1)} = {expression_text(one.right)}" for one in flat.initial_equations]


def value(flat, name):
    return expression_text(flat.variables[name].binding)


def attribute(flat, name, which):
    return expression_text(flat.variables[name].attributes[which])


# title: text, then what has to be among the equations
EQUATIONS = {
    "extends": (
        "package P model A Real x; equation x = 1; end A; model B extends A; Real y; equation y = x; end B; end P;",
        ["x = 1", "y = x"],
    ),
    "two base classes": (
        "package P model A Real x; equation x = 1; end A; model C Real z = 2; end C; model B extends A; extends C; end B; end P;",
        ["x = 1", "z = 2.0"],
    ),
    "components": (
        "package P model A parameter Real k = 1; Real x; equation x = k; end A; model B A a(k = 3), b; end B; end P;",
        ["a.x = a.k", "b.x = b.k"],
    ),
    "a base class sees its own names": (
        "package P constant Real c = 1; model A Real x = c; end A; model B extends A; Real c = 5; end B; end P;",
        ["x = 1.0", "c = 5.0"],
    ),
    "imports": (
        "package P package Q constant Real c = 2; constant Real d = 3; end Q; "
        "model B import P.Q; import R = P.Q; import P.Q.{d}; import P.Q.*; Real x = Q.c; Real y = R.c; Real z = d; Real w = c; end B; end P;",
        ["x = 2.0", "y = 2.0", "z = 3.0", "w = 2.0"],
    ),
    "names from the top": (
        "package P constant Real c = 2; model B constant Real P = 3; Real x = .P.c; end B; end P;",
        ["x = 2.0"],
    ),
    "for and arrays": (
        "model A parameter Integer n = 3; Real x[n]; equation x[1] = 1; for i in 2:n loop x[i] = 2*x[i-1]; end for; end A;",
        ["x[1] = 1", "x[2] = 2 * x[1]", "x[3] = 2 * x[2]"],
    ),
    "nested and implicit for": (
        "model A Real x[2,2]; equation for i, j loop x[i,j] = i + 10*j; end for; end A;",
        ["x[1,1] = 11", "x[1,2] = 21", "x[2,1] = 12", "x[2,2] = 22"],
    ),
    "implicit for over an enumeration": (
        "package P type E = enumeration(a, b); model A Real x[E]; equation for e loop x[e] = Integer(e); end for; end A; end P;",
        ["x[1] = 1", "x[2] = 2"],
    ),
    "array equations": (
        "model A Real x[2], y[2]; equation x = {1, time}; y = [1, 2; 3, 0]*x + 2*x; end A;",
        ["x[1] = 1", "x[2] = time", "y[1] = x[1] + 2 * x[2] + 2 * x[1]", "y[2] = 3 * x[1] + 2 * x[2]"],
    ),
    "slices and end": (
        "model A Real x[4], y[2], z; equation x = {1, 2, 3, 4}; y = x[2:end-1]; z = x[end]*y*y; end A;",
        ["y[1] = x[2]", "y[2] = x[3]", "z = x[4] * y[1] * y[1] + x[4] * y[2] * y[2]"],
    ),
    "comprehension and reductions": (
        "model A Real x[3] = {i^2 for i in 1:3}; Real y = sum(x[i]*i for i in 1:3); Real z = max(x); end A;",
        ["x[2] = 4.0", "y = x[1] + x[2] * 2 + x[3] * 3", "z = max(max(x[1], x[2]), x[3])"],
    ),
    "if-equation with a parameter that decides on structure": (
        "model A parameter Boolean b = true; Real x, y; equation if b then x = 1; y = 2; else x = y; y = time; x = 3; end if; end A;",
        ["x = 1", "y = 2"],
    ),
    "if-equation that stays": (
        "model A Real x; equation if time > 1 then x = 1; elseif time > 0.5 then x = 2; else x = 3; end if; end A;",
        ["x = if time > 1 then 1 elseif time > 0.5 then 2 else 3"],
    ),
    "if-equation as a residual": (
        "model A Real x, y; equation y = 1; if time > 1 then x = y; else y = 2*x; end if; end A;",
        ["0.0 = if time > 1 then x - y else y - 2 * x"],
    ),
    "if-expression whose other branch makes no sense": (
        "model A parameter Integer n = 1; Real x[n] = {1.5}; Real y = if n > 1 then x[2] else x[1]; end A;",
        ["y = x[1]"],
    ),
    "conditional components": (
        "package P model R Real v; equation v = 1; end R; model A parameter Boolean b = false; R r if b; R s if not b; end A; end P;",
        ["s.v = 1"],
    ),
    "component arrays": (
        "package P model R parameter Real k = 1; Real v = k; end R; model A R r[2](k = {4, 5}); R q[2](each k = 7); end A; end P;",
        ["r[1].v = r[1].k", "r[2].v = r[2].k"],
    ),
    "records": (
        "package P record R Real a; Real b[2]; end R; model A R r, s; equation r.a = 1; r.b = {2, 3}; s = r; end A; end P;",
        ["s.a = r.a", "s.b[1] = r.b[1]", "s.b[2] = r.b[2]"],
    ),
    "record constructors and bindings": (
        "package P record R Real a = 9; Real b; end R; model A R r = R(b = 2, a = 1); R s(b = time); end A; end P;",
        ["r.a = 1.0", "r.b = 2.0", "s.a = 9.0", "s.b = time"],
    ),
    "enumerations": (
        "package P type E = enumeration(one, two); model A parameter E e = E.two; Real x = if e == E.two then 1 else 2; "
        "Real y[E] = {3, 4}; Real z = y[E.two]; Integer n = Integer(E.two); end A; end P;",
        ["x = if e == P.E.two then 1 else 2", "z = y[2]", "n = 2"],
    ),
    "functions stay calls": (
        "package P function f input Real x; output Real y; algorithm y := x^2; end f; model A Real x = f(time); end A; end P;",
        ["x = P.f(time)"],
    ),
    "functions of known values are computed": (
        "package P function f input Integer n; output Real y = 1; algorithm for i in 2:n loop y := y*i; end for; end f; "
        "model A Real x = f(5); end A; end P;",
        ["x = 120.0"],
    ),
    "functions with several results": (
        "package P function f input Real x; output Real a; output Real b; algorithm a := x; b := 2*x; end f; "
        "model A Real a, b, c; equation (a, b) = f(time); (, c) = f(3); end A; end P;",
        ["(a, b) = P.f(time)", "c = 6.0"],
    ),
    "functions of arrays": (
        "package P function f input Real x[:]; output Real y[size(x, 1)]; algorithm y := 2*x; end f; "
        "model A Real x[2] = {time, 1}; Real y[2]; equation y = f(x); end A; end P;",
        ["{y[1], y[2]} = P.f({x[1], x[2]})"],
    ),
    "functions of scalars on arrays": (
        "package P function f input Real x; output Real y; algorithm y := x; end f; model A Real x[2] = f({time, 1}); Real y[2] = sin(x); end A; end P;",
        ["x[1] = P.f(time)", "x[2] = 1.0", "y[1] = sin(x[1])"],
    ),
    "inline functions": (
        "package P function f input Real x; output Real y; algorithm y := x + 1; annotation(Inline = true); end f; model A Real x = f(time); end A; end P;",
        ["x = time + 1"],
    ),
    "empty algorithms": (
        "package P function f input Real x[:]; output Real y = sum(x); algorithm end f; model A Real y = f({time, 2}); Real z = f({1, 2}); end A; end P;",
        ["y = P.f({time, 2})", "z = 3.0"],
    ),
    "default and named arguments": (
        "package P function f input Real x; input Real k = 2*x; output Real y; algorithm y := x*k; end f; "
        "model A Real a = f(3); Real b = f(x = 3, k = 1); end A; end P;",
        ["a = 18.0", "b = 3.0"],
    ),
    "redeclared components": (
        "package P model A Real x = 1; end A; model B Real x = 2; end B; model C replaceable A a; end C; "
        "model D C c(redeclare B a); C d; end D; end P;",
        ["c.a.x = 2.0", "d.a.x = 1.0"],
    ),
    "redeclared classes": (
        "package P model A Real x = 1; end A; model B parameter Real k = 3; Real x = k; end B; "
        "model C replaceable model M = A; M m; end C; model D extends C(redeclare model M = B(k = 5)); end D; end P;",
        ["m.x = m.k"],
    ),
    "redeclared packages": (
        "package P partial package M constant Real k; end M; package W extends M(k = 4); end W; "
        "model C replaceable package Medium = M; Real x = Medium.k; end C; model D C c(redeclare package Medium = W); end D; end P;",
        ["c.x = 4.0"],
    ),
    "class extends": (
        "package P package A replaceable model M Real x = 1; end M; end A; "
        "package B extends A; redeclare model extends M Real y = 2*x; end M; end B; model D B.M m; end D; end P;",
        ["m.x = 1.0", "m.y = 2 * m.x"],
    ),
    "inner and outer": (
        "package P model W Real g = 9; end W; model A outer W w; Real x = w.g; end A; model B A a; end B; model C inner W w; B b; end C; end P;",
        ["w.g = 9.0", "b.a.x = w.g"],
    ),
    "algorithms": (
        "model A Real x, y; algorithm x := time; for i in 1:2 loop x := x + i; end for; y := x; end A;",
        [],
    ),
    "noEvent, smooth, der, pre": (
        "model A Real x(start = 1), y; discrete Real z; equation der(x) = -noEvent(abs(x)); y = smooth(0, if x > 0 then x else 0); "
        "when sample(0, 1) then z = pre(z) + 1; end when; end A;",
        ["der(x) = -noEvent(abs(x))", "y = smooth(0, if x > 0 then x else 0)"],
    ),
    "strings": (
        'model A parameter String s = "a" + "b"; parameter Integer n = 2; Real x = time; equation assert(x > -1, s + String(n)); end A;',
        ["x = time"],
    ),
    "short classes with sizes and prefixes": (
        "package P type V = Real[2](each unit = \"m\"); connector In = input Real; block B In u; Real v[3] = fill(u, 3); end B; "
        "model A V x = {1, time}; B b(u = x[2]); end A; end P;",
        ["x[2] = time", "b.u = x[2]", "b.v[3] = b.u"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", EQUATIONS)
def test_equations(title):
    text, wanted = EQUATIONS[title]
    flat = flatten(text)
    found = equations(flat)
    for one in wanted:
        assert one in found, found
    assert flat.equation_count() == len(flat.unknowns())


@pytest.mark.parametrize("title", EQUATIONS)
def test_flat_text_is_modelica(title):
    """What is printed can be read, and has the same variables and as many equations."""
    flat = flatten(EQUATIONS[title][0])
    again = flatten(flat.to_modelica())
    assert {name.replace("'", "") for name in again.unknowns()} == set(flat.unknowns())
    assert again.equation_count() == flat.equation_count()
    assert flatten(again.to_modelica()).equation_count() == flat.equation_count()


CIRCUIT = """
package P
  connector Pin Real v; flow Real i; end Pin;
  partial model Two Pin p, n; Real v, i; equation v = p.v - n.v; i = p.i; p.i + n.i = 0; end Two;
  model R extends Two; parameter Real R = 1; equation v = R*i; end R;
  model V extends Two; parameter Real V = 1; equation v = V; end V;
  model G Pin p; equation p.v = 0; end G;
  model Pair Pin p, n; R a(R = 2), b(R = 3); equation connect(p, a.p); connect(a.n, b.p); connect(b.n, n); end Pair;
  model Circuit V v(V = 10); Pair r[2]; G g;
  equation
    for i in 1:2 loop connect(v.p, r[i].p); connect(r[i].n, g.p); end for;
    connect(v.n, g.p);
  end Circuit;
end P;
"""


def test_connections():
    flat = flatten(CIRCUIT, "P.Circuit")
    found = equations(flat)
    assert flat.equation_count() == len(flat.unknowns()) == 40
    assert "v.p.i + r[1].p.i + r[2].p.i = 0.0" in found
    assert "r[1].n.i + g.p.i + r[2].n.i + v.n.i = 0.0" in found
    # seen from within, a connector of the component itself is the other face
    assert "-r[1].p.i + r[1].a.p.i = 0.0" in found
    assert sum(one.endswith("p.v") or one.endswith("n.v") for one in found) >= 10


def test_what_is_not_connected_does_not_flow():
    flat = flatten(CIRCUIT.replace("connect(v.n, g.p);", ""), "P.Circuit")
    assert "v.n.i = 0.0" in equations(flat)


def test_connected_arrays_and_conditional_connectors():
    text = """package P
      connector C Real v[2]; flow Real i[2]; end C;
      model S C c; equation c.v = {1, 2}; end S;
      model M parameter Boolean b = true; C c if b; S d; equation connect(c, d.c); end M;
      model A M m[2](b = {true, false}); end A; end P;"""
    flat = flatten(text, "P.A")
    assert "m[1].c.v[2] = m[1].d.c.v[2]" in equations(flat)
    assert "m[2].d.c.i[1] = 0.0" in equations(flat)
    assert not any("m[2].c." in name for name in flat.variables)
    assert flat.equation_count() == len(flat.unknowns()) == 12


def test_modifiers_outer_over_inner():
    text = """package P
      model A parameter Real k = 1; parameter Real l = 2; Real x(start = 3, unit = "m") = k; end A;
      model B A a(k = 4, x(start = 5)); end B;
      model C extends B(a(k = 6)); parameter Real q = 7; end C;
      model D C c(a(l = r), q = 8); parameter Real r = 9; end D; end P;"""
    flat = flatten(text)
    assert [value(flat, f"c.a.{name}") for name in "kl"] == ["6.0", "r"]
    assert attribute(flat, "c.a.x", "start") == "5"
    assert attribute(flat, "c.a.x", "unit") == '"m"'
    assert value(flat, "c.q") == "8.0"


def test_parameters_and_structural_parameters():
    text = """model A parameter Integer n = m + 1; parameter Integer m = 2; parameter Real k = 2*l; final parameter Real l = 3;
      constant Real c = 4; Real x[n](each start = k); equation for i in 1:n loop der(x[i]) = -c*x[i]; end for; end A;"""
    flat = flatten(text)
    assert flat.variables["n"].structural
    assert flat.variables["m"].structural
    assert not flat.variables["k"].structural
    assert value(flat, "k") == "2 * l"
    assert flat.variables["l"].final
    assert [attribute(flat, f"x[{i}]", "start") for i in (1, 3)] == ["k", "k"]
    assert equations(flat)[0] == "der(x[1]) = -4.0 * x[1]"


def test_initial_equations_and_attributes():
    text = """model A Real x(start = 1, fixed = true, stateSelect = StateSelect.prefer, nominal = 10); Real y;
      initial equation y = 2; equation der(x) = y; der(y) = -x; annotation(experiment(StopTime = 3, Tolerance = 1e-8)); end A;"""
    flat = flatten(text)
    assert initial(flat) == ["y = 2"]
    assert attribute(flat, "x", "stateSelect") == "StateSelect.prefer"
    assert flat.experiment == {"StopTime": 3.0, "Tolerance": 1e-8}


def test_when_clauses():
    text = """model A Real h(start = 1), v; Integer n(start = 0); Boolean up = h > 1;
      equation der(h) = v; der(v) = -9.81;
      when {h < 0, initial()} then reinit(v, -0.8*pre(v)); n = pre(n) + 1; if n > 2 then terminate("enough"); end if;
      elsewhen edge(up) then n = 0; end when;
      algorithm when change(n) then assert(n < 9, "many"); end when; end A;"""
    flat = flatten(text)
    [when] = flat.whens
    assert [expression_text(condition) for condition, _ in when.branches] == ["{h < 0, initial()}", "edge(up)"]
    assert flat.equation_count() == len(flat.unknowns()) == 4
    assert "reinit(v, -0.8 * pre(v))" in flat.to_modelica()
    assert 'terminate("enough")' in flat.to_modelica()


def test_assertions():
    text = 'model A parameter Real k = 2; Real x = time; equation assert(k > 1, "k", AssertionLevel.warning); assert(1 > 0, ""); end A;'
    [one] = flatten(text).asserts
    assert (expression_text(one.condition), one.level) == ("k > 1", "warning")


def test_functions_are_collected_with_what_they_call():
    text = """package P constant Real c = 3; type E = enumeration(a, b);
      record R Real u; Real w[2]; end R;
      function g input Real x; output Real y; algorithm y := c*x; end g;
      function f input Real x; input E e; output R r; protected Real z[2]; algorithm
        for i in 1:2 loop z[i] := g(x) + i; end for; r.u := if e == E.a then 1 else 2; r.w := z;
        annotation(derivative(noDerivative = e) = df); end f;
      function df input Real x; input E e; input Real dx; output R r; algorithm r := R(dx, {0, 0}); end df;
      model A R r = f(time, E.a); end A; end P;"""
    flat = flatten(text)
    assert set(flat.functions) == {"P.f", "P.g", "P.df"}
    rule = flat.functions["P.f"].derivatives[0]
    assert (rule.function, rule.without) == ("P.df", ("e",))
    assert [one.name for one in flat.records["P.R"].fields] == ["u", "w"]
    assert "y := 3.0 * x" in flat.to_modelica()
    assert flatten(flat.to_modelica()).equation_count() == 3


def test_functions_of_packages_with_other_constants_are_others():
    text = """package P partial package M constant Real k; function f input Real x; output Real y; algorithm y := k*x; end f; end M;
      package V extends M(k = 2); end V; package W extends M(k = 3); end W;
      model C replaceable package Medium = V; Real x = Medium.f(time); end C;
      model A C a, b(redeclare package Medium = W), c; Real z = V.f(time); end A; end P;"""
    flat = flatten(text)
    bodies = {name: expression_text(one.statements[0].value) for name, one in flat.functions.items()}
    found = {one.left.names[0]: bodies[one.right.function.names[0]] for one in flat.equations}
    assert found == {"a.x": "2.0 * x", "b.x": "3.0 * x", "c.x": "2.0 * x", "z": "2.0 * x"}


def test_missing_inner_components_are_added_with_a_note():
    flat = flatten(
        "package P model W parameter Real g = 9; end W; model A outer W w; Real x = w.g; end A; model B A a; end B; end P;"
    )
    assert equations(flat) == ["a.x = w.g"]
    assert "`inner P.W w` was added" in flat.notes[0]


def test_overdetermined_models_are_kept_with_a_note():
    flat = flatten("model A Real x, y; equation x = time; y = x; y = time; end A;")
    assert "1 more than needed" in flat.notes[0]
    assert len(flat.equations) == 3


def test_external_objects_and_functions_are_kept():
    text = """package P
      class T extends ExternalObject; function constructor input Real a[:]; output T t; external "C" t = make(a); end constructor;
        function destructor input T t; external "C" drop(t); end destructor; end T;
      function get input T t; input Real u; output Real y; external "C" y = get(t, u); end get;
      model A parameter Real a[2] = {1, 2}; T t = T(a); Real y = get(t, time); end A; end P;"""
    flat = flatten(text)
    assert flat.variables["t"].type == "P.T"
    assert value(flat, "t") == "P.T({a[1], a[2]})"
    assert equations(flat) == ["y = P.get(t, time)"]
    assert flat.functions["P.get"].external.function == "get"
    assert [one.external.function for one in flat.externals["P.T"]] == ["make", "drop"]
    assert flatten(flat.to_modelica()).equation_count() == 1


def test_long_sums_and_large_sets():
    flat = flatten(
        "model A Real x[1500] = fill(time, 1500); Real y = sum(x); Real z = " + "time + " * 1000 + "1; end A;"
    )
    assert flat.equation_count() == 1502
    assert flatten(flat.to_modelica()).equation_count() == 1502
    pins = CIRCUIT.replace("r[2]", "r[300]").replace("1:2 loop", "1:300 loop")
    flat = flatten(pins, "P.Circuit")
    assert flat.equation_count() == len(flat.unknowns()) == 8 + 16 * 300


def test_files_packages_and_names(tmp_path, monkeypatch):
    (tmp_path / "P").mkdir()
    (tmp_path / "P" / "package.mo").write_text("package P constant Real k = 2; end P;")
    (tmp_path / "P" / "A.mo").write_text("within P; model A Real x = k; end A;")
    assert equations(flatten("P.A", path=[tmp_path])) == ["x = 2.0"]
    assert equations(flatten(tmp_path / "P", "P.A")) == ["x = 2.0"]
    assert equations(flatten(str(tmp_path / "P"), "A")) == ["x = 2.0"]
    monkeypatch.setenv("MODELICAPATH", str(tmp_path))
    assert equations(flatten("model B extends P.A; end B;")) == ["x = 2.0"]
    with pytest.raises(da.ModelicaError, match="no model"):
        flatten("package Q end Q;")
