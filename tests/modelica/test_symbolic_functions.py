"""Functions on CasADi graphs: statements, loops, results, and what is refused."""

import random

import casadi as ca
import numpy as np
import pytest
from symbolic_places import Functions, number

from dalembert.errors import ModelicaError
from dalembert.modelica import flatten
from dalembert.modelica.symbolic import execution
from dalembert.modelica.values import RecordValue, stack

X, Y, N = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("n")


def functions(body, uses):
    """Functions of a text; `uses` are equations that call them, so that the flat model holds them."""
    size = 2 if "z[2]" in uses else 1
    return Functions(f"package P {body} model M Real u; Real z[{size}]; equation u = time; {uses} end M; end P;")


def one(body, uses="z[1] = P.f(u);"):
    last = "g" if "function g" in body else "f"
    return functions(f"function f input Real x; output Real y; {body} end {last};", uses)


def test_straight_statements_and_locals():
    f = one("protected Real a; Real b = 2*x; algorithm a := b + 1; y := a*a; y := y + b;")
    assert number(f("P.f", X)[0], x=3.0) == 55
    assert f("P.f", 3.0) == [55.0]
    assert isinstance(f("P.f", 1)[0], float)


def test_choices_are_made_in_the_simulation():
    f = one("algorithm if x > 1 then y := x^2; elseif x > 0 then y := 1/x; else y := -x; end if;")
    found = f("P.f", X)[0]
    for x, y in ((2.0, 4.0), (0.5, 2.0), (-3.0, 3.0), (1.0, 1.0), (0.0, 0.0)):
        assert number(found, x=x) == y
        assert f("P.f", x) == [y]


def test_return_under_a_condition():
    f = one("algorithm y := 1; if x < 0 then return; end if; y := 2; if x < 1 then y := 3; return; end if; y := y + x;")
    found = f("P.f", X)[0]
    for x, y in ((-1.0, 1.0), (0.5, 3.0), (2.0, 4.0)):
        assert number(found, x=x) == y


def test_break_under_a_condition():
    f = one("""protected Real s = 0; algorithm
      for i in 1:10 loop s := s + i; if s > x then break; end if; y := s; end for; y := 100 + s;
    """)
    found = f("P.f", X)[0]
    for x in (0.5, 3.5, 7.0, 54.0, 60.0):
        s = 0
        for i in range(1, 11):
            s += i
            if s > x:
                break
        assert number(found, x=x) == 100 + s


def test_a_break_leaves_the_innermost_loop_only():
    f = one("""algorithm y := 0; for i in 1:3 loop for j in 1:3 loop if j + x > 3 then break; end if; y := y + 1;
      end for; y := y + 10; end for;""")  # fmt: skip
    found = f("P.f", X)[0]
    for x in (0.0, 0.5, 1.5, 5.0):
        assert number(found, x=x) == 30 + 3 * sum(j + x <= 3 for j in (1, 2, 3))


def test_a_while_loop_with_an_open_end_is_unrolled():
    f = one("protected Integer i = 0; algorithm y := x; while y > 1 loop y := y/2; i := i + 1; end while; y := y + i;")
    found = f("P.f", X)[0]
    for x in (0.5, 1.5, 7.0, 1e6):
        y, i = x, 0
        while y > 1:
            y, i = y / 2, i + 1
        assert number(found, x=x) == pytest.approx(y + i, rel=1e-14)
    f.evaluator.quiet = 1  # no event looks at it
    assert np.isnan(number(f("P.f", 2 * X)[0], x=1e60))  # 200 turns
    (condition, message), *_ = f.context.claims
    assert "has not ended" in "".join(map(str, message))
    assert [number(condition, x=x) for x in (7.0, 1e60)] == [1, 0]


def test_newton_in_a_function_has_the_derivative_of_the_root():
    f = one("""algorithm y := x; for k in 1:20 loop if abs(y^2 - x) < 1e-13 then break; end if;
      y := y - (y^2 - x)/(2*y); end for;""")  # fmt: skip
    found = f("P.f", X)[0]
    assert number(found, x=2.0) == pytest.approx(2**0.5, rel=1e-13)
    assert number(ca.jacobian(found, X), x=2.0) == pytest.approx(0.5 / 2**0.5, rel=1e-8)


def test_arrays_whose_sizes_follow_from_inputs():
    f = functions(
        """function f input Real a[:]; input Integer n = 2; output Real s[n, size(a, 1)]; output Real t[size(a, 1) + 1];
        protected Real w[:] = 2*a; algorithm for i in 1:n loop for j in 1:size(a, 1) loop s[i, j] := i*w[j]; end for;
        end for; t[1] := 0; t[2:end] := cumulated(a); end f;
        function cumulated input Real a[:]; output Real b[size(a, 1)] = a; algorithm
        for i in 2:size(a, 1) loop b[i] := b[i - 1] + a[i]; end for; end cumulated;""",
        "z[1] = sum(P.f({u, 1}));",
    )
    s, t = f("P.f", stack([X, Y, 1.0]), 3)
    assert s.shape == (3, 3)
    assert number(s, x=1.0, y=2.0) == [2, 4, 2, 4, 8, 4, 6, 12, 6]
    assert number(t, x=1.0, y=2.0) == [0, 1, 3, 4]


def test_elements_by_numbers_of_the_simulation():
    f = functions(
        """function f input Real a[3]; input Integer n; output Real y; protected Real b[3] = a; algorithm
        b[n] := 10*b[n]; y := b[1] + 2*b[2] + 3*b[3]; end f;""",
        "z[1] = P.f({u, 1, 2}, 2);",
    )
    found = f("P.f", stack([X, 2.0, 3.0]), N)[0]
    for n in (1, 2, 3):
        a = [1.0, 2.0, 3.0]
        a[n - 1] *= 10
        assert number(found, x=1.0, n=n) == a[0] + 2 * a[1] + 3 * a[2]


def test_records_results_and_names():
    f = functions(
        """record R Real u; Real v[2] = {5, 6}; end R;
        function f input Real x; input Real k = 2*x; input R r = R(1); output R q; output Real b; output Boolean c;
        algorithm q.u := k + r.u; q.v[2] := r.v[1]; q.v[1] := x; b := k; c := x > 1; end f;
        function g input Real x; output Real y; protected R q; Real b; algorithm (q, b) := f(x, r = R(u = x));
        y := q.u + b; (, y) := f(y); end g;""",
        "z[1] = P.g(u);",
    )
    record, b, c = f("P.f", X, r=RecordValue("P.R", {"u": Y, "v": stack([1.0, 2.0])}))
    assert number(record, x=3.0, y=4.0) == {"u": 10, "v": [3, 1]}
    assert (number(b, x=3.0), number(c, x=3.0)) == (6, 1)
    assert number(f("P.g", X)[0], x=3.0) == 2 * (9 + 6)
    assert f("P.f", 1.0)[1:] == [2.0, False]


def test_scalar_functions_on_arrays():
    f = functions(
        "function f input Real x; input Real k; output Real y; algorithm y := k*x; end f;"
        "function g input Real v[:]; output Real y; algorithm y := sum(f(v, 3)); end g;",
        "z[1] = P.g({u, 1});",
    )
    assert number(f("P.g", stack([X, 2.0]))[0], x=1.0) == 9
    assert number(f("P.f", stack([X, 2.0]), stack([1.0, Y]))[0], x=4.0, y=5.0) == [4, 10]


def test_recursion():
    f = functions(
        "function f input Integer n; input Real x; output Real y; "
        "algorithm y := if n < 1 then 1 else x*f(n - 1, x); end f;",
        "z[1] = P.f(3, u);",
    )
    assert number(f("P.f", 5, X)[0], x=2.0) == 32
    with pytest.raises(ModelicaError, match="within more than 60 calls"):
        f("P.f", N, X)


def test_calls_with_equal_arguments_are_made_once():
    f = one("algorithm y := sin(x);")
    assert f("P.f", X)[0] is f("P.f", X)[0]
    assert f("P.f", X)[0] is not f("P.f", Y)[0]
    assert f("P.f", 1.0)[0] == f("P.f", True + 0.0)[0]


def test_assertions_in_functions():
    f = one('algorithm assert(x > 0, "x is " + String(x)); y := if x > 5 then P.g(x) else x; end f; '
            'function g input Real x; output Real y; algorithm assert(x < 10, "large"); y := x;')  # fmt: skip
    f("P.f", X)
    (first, message), (second, _) = f.context.claims
    assert message[:2] == ("function P.f: ", "x is ")
    assert number(message[2], x=3.0) == 3
    assert [number(first, x=x) for x in (-1.0, 1.0)] == [0, 1]
    assert [number(second, x=x) for x in (3.0, 7.0, 11.0)] == [1, 1, 0]
    with pytest.raises(ModelicaError, match="an assertion does not hold: x is -1"):
        f("P.f", -1.0)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("algorithm if x > 0 then x := 1; end if; y := 1;", "cannot be assigned"),
        ("algorithm y := y + 1;", "`y` has no value"),
        ("algorithm ", "gets no value"),
        ("algorithm for i in 1:integer(x) loop y := i; end for;", "has to be known"),
        ("protected Real a[integer(x)]; algorithm y := 1;", "has to be known"),
        ("protected Real a[2]; algorithm a := {1, 2, 3}; y := x;", "size"),
        ("protected Real a[2]; algorithm a[3] := x; y := x;", "not between 1 and 2"),
        ("algorithm y := 1; for i in 1:1000 loop for j in 1:1000 loop y := y + x; end for; end for;", "statements"),
        ("algorithm y := 0; while y < 1 loop end while;", "statements"),
        ("protected Integer n = 2; algorithm (y, n) := P.g(x); end f; function g input Real x; output Real y; "
         "algorithm y := x;", "1 results for 2"),
        ("algorithm y := P.g(x, 1); end f; function g input Real x; output Real y; algorithm y := x;", "1 inputs"),
        ("algorithm y := P.g(x); end f; function g input Real x[2]; output Real y; algorithm y := x[1];", "dimensions"),
        ("algorithm y := P.g({x}); end f; function g input Real x[2]; output Real y; algorithm y := x[1];", "size 1"),
        ("algorithm if x > 1 then y := {1, 2}; else y := 1; end if;", "size"),
    ],
)  # fmt: skip
def test_faults(body, reason, monkeypatch):
    monkeypatch.setattr(execution, "MOST_STATEMENTS", 3000)
    with pytest.raises(ModelicaError, match=reason) as caught:
        one(body)("P.f", X)
    assert caught.value.line == 1


class Program:
    """A random function of two numbers with loops, branches and arrays."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def expression(self, depth):
        rng = self.rng
        if not depth:
            return rng.choice(["x", "p", "a", "b", "v[1]", "v[2]", "v[3]", "1.5", "2", "v[k]"])
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        return rng.choice([
            f"({left} + {right})", f"({left} - {right})", f"({left}*sin({right}))", f"({left}/(1 + {right}^2))",
            f"(if {self.condition()} then {left} else {right})", f"max({left}, {right})", f"cos({left})",
            f"(v*{{{left}, 1, {right}}})", f"sum(v[i]*{left} for i in 1:2)", f"abs({left})",
        ])  # fmt: skip

    def condition(self):
        rng = self.rng
        base = f"{self.expression(0)} {rng.choice(['<', '>', '<=', '>='])} {self.expression(0)}"
        return rng.choice([base, base, f"not ({base})", f"({base}) and x > p", f"({base}) or a > 1"])

    def statement(self, depth, loop):
        rng = self.rng
        kind = rng.randrange(9) if depth else 0
        target = rng.choice(["a", "b", "v[1]", "v[2]", "v[k]"])
        if kind < 4:
            return f"{target} := {self.expression(2)};"
        if kind == 4:
            return f"v := {{{self.expression(1)}, {self.expression(1)}, v[1]}};"
        body = " ".join(self.statement(depth - 1, loop) for _ in range(2))
        if kind < 7:
            return f"if {self.condition()} then {body} else {self.statement(depth - 1, loop)} end if;"
        inner = " ".join(self.statement(depth - 1, True) for _ in range(2))
        if kind == 7:
            leave = f"if {self.condition()} then {rng.choice(['break', 'return'])}; end if;"
            return f"for j in 1:3 loop {inner} {leave} k := 1 + mod(k + j, 3); end for;"
        return f"k := 1; while k < 3 loop {self.statement(0, True)} k := k + 1; end while;"

    def text(self):
        body = " ".join(self.statement(3, False) for _ in range(5))
        return f"""function f input Real x; input Real p; output Real a = x; output Real b = 1;
          protected Real v[3] = {{x, p, 1}}; Integer k = 2; algorithm {body} end f;"""


@pytest.mark.parametrize("seed", range(25))
def test_random_functions_agree_with_the_flattener_and_have_their_derivatives(seed):
    text = Program(seed).text()
    f = functions(text, "(z[1], z[2]) = P.f(u, 1);")
    found = ca.vertcat(*f("P.f", X, Y))
    graph = ca.Function("f", [X, Y], [found, ca.jacobian(found, ca.vertcat(X, Y))])
    rng = random.Random(seed)
    for _ in range(3):
        x, y = round(rng.uniform(-2, 2), 6), round(rng.uniform(-2, 2), 6)
        known = flatten(f"""package P {text}
          function both input Real x; input Real p; output Real y[2]; protected Real a; Real b;
          algorithm (a, b) := f(x, p); y := {{a, b}}; end both;
          model M constant Real y[2] = both({x}, {y}); end M; end P;""")
        expected = [known.variables[name].binding.value for name in ("y[1]", "y[2]")]
        values, slopes = (np.array(one) for one in graph(x, y))
        assert values.ravel() == pytest.approx(expected, rel=1e-10, abs=1e-10)
        h = 1e-6
        for column, (dx, dy) in enumerate(((h, 0), (0, h))):
            ahead, behind = (np.array(graph(x + s * dx, y + s * dy)[0]).ravel() for s in (1, -1))
            near = [np.array(graph(x + s * dx, y + s * dy)[1])[:, column] for s in (1, -1)]
            if np.allclose(near[0], near[1], rtol=1e-3, atol=1e-3 * (1 + abs(near[0])).max()):  # no branch ends here
                slope = (ahead - behind) / (2 * h)
                assert slopes[:, column] == pytest.approx(slope, rel=1e-4, abs=1e-4 * (1 + np.abs(slope).max()))
