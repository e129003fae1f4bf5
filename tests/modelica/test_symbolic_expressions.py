"""Trees on CasADi graphs: values, folding, and what is refused."""

import math
import random

import casadi as ca
import pytest
from symbolic_places import Names, number

from dalembert.errors import ModelicaError
from dalembert.modelica.parser import parse_expression
from dalembert.modelica.source import Source
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.calls import Calls
from dalembert.modelica.symbolic.expressions import Expressions
from dalembert.modelica.values import Arr, EnumType, RecordValue, stack


def evaluate(text, seen=None, enumerations=None, **values):
    source = Source(text)
    context = Names(source, values)
    calls = Calls()
    calls.enumerations = enumerations or {}
    found = Expressions(context, calls).value(parse_expression(source))
    if seen is not None:
        seen += context.seen
    return found


X, Y = ca.SX.sym("x"), ca.SX.sym("y")


def test_known_numbers_stay_numbers():
    assert evaluate("2 + 3 * 4") == 14
    assert isinstance(evaluate("2 + 3 * 4"), int)
    assert evaluate("1 / 4") == 0.25
    assert evaluate("2 ^ 3") == 8
    assert evaluate("not (1 < 2 and 3 < 2)") is True
    assert evaluate("sqrt(16) + max(2, 3) + min({4, 2, 5})") == 9
    assert evaluate("mod(-7, 3)") == 2
    assert evaluate("div(-7, 3)") == -2
    assert evaluate('"a" + "b"') == "ab"
    assert evaluate("if 1 > 2 then x else 3", x=X) == 3


def test_trivial_operations_vanish():
    assert evaluate("0 * x", x=X) == 0
    assert evaluate("x - x", x=X) == 0
    assert evaluate("x / 0.5 * 0", x=X) == 0
    for text in ("x + 0", "0 + x", "x * 1", "1 * x", "x / 1", "x ^ 1", "x - 0", "if x > 2 then x else x"):
        assert ca.is_equal(evaluate(text, x=X), X), text


def test_only_relations_that_stay_open_and_may_make_events_are_asked_for():
    seen = []
    evaluate("if x > 1 and 2 > 1 or noEvent(x < 3) or smooth(1, if x <= 4 then 1 else x) > 5 then 1 else x", seen, x=X)
    assert seen == [">", ">"]
    seen = []
    evaluate("floor(x) + noEvent(floor(x)) + floor(2.5) + der(x)", seen, x=X)
    assert seen == ["floor", "der"]


def test_branches_without_value_are_not_looked_at():
    found = evaluate("if x > 0 then 1 / x else (if y > 0 then 1 / 0 else sqrt(-1) + 2)", x=X, y=Y)
    assert number(found, x=2.0, y=1.0) == 0.5
    assert math.isnan(number(evaluate("if x > 0 then 1 else sqrt(-1)", x=X), x=-1.0))
    assert number(evaluate("if x > 0 then sqrt(x) else 0", x=X), x=-1.0) == 0
    slope = ca.jacobian(evaluate("if x > 0 then sqrt(x) else 2*x", x=X), X)
    assert number(slope, x=-1.0) == 2


def test_arrays():
    v = stack([X, Y])
    assert number(evaluate("v * v", v=v), x=3.0, y=4.0) == 25
    assert number(evaluate("sum(v[i] * i for i in 1:2)", v=v), x=3.0, y=4.0) == 11
    assert number(evaluate("sum(v[i] * i for i)", v=v), x=3.0, y=4.0) == 11
    assert number(evaluate("([1, 2; 3, 4] * v)[2]", v=v), x=3.0, y=4.0) == 25
    assert number(evaluate("v[end]", v=v), x=3.0, y=4.0) == 4
    assert number(evaluate("max(v)", v=v), x=3.0, y=4.0) == 4
    assert number(evaluate("(cross({x, 0, 0}, {0, y, 0}))[3]", x=X, y=Y), x=3.0, y=4.0) == 12
    assert evaluate("size(v, 1)", v=v) == 2
    assert evaluate("{i + j for i in 1:2, j in 1:3}") == Arr((3, 2), [2, 3, 3, 4, 4, 5])
    assert evaluate("fill(7, 0, 3)") == Arr((0, 3), [])
    assert number(evaluate("product(v .^ 2)", v=v), x=3.0, y=4.0) == 144
    found = evaluate("if x > 0 then v else {1, 2}", x=X, v=v)
    assert [number(item, x=-1.0, y=4.0) for item in found.items] == [1, 2]


def test_subscripts_that_change():
    i = ca.SX.sym("i")
    found = evaluate("({10, 20, 30})[i]", i=i)
    assert [number(found, i=k) for k in (1, 2, 3)] == [10, 20, 30]
    rows = evaluate("([1, 2; 3, 4])[i, :]", i=i)
    assert [number(item, i=2) for item in rows.items] == [3, 4]


def test_records_and_enumerations():
    record = RecordValue("R", {"re": X, "im": stack([1, Y])})
    assert number(evaluate("r.re + r.im[2]", r=record), x=1.0, y=2.0) == 3
    records = stack([record, record])
    assert number(evaluate("sum(r.re)", r=records), x=1.5) == 3
    kinds = {"P.E": EnumType("P.E", ["a", "b"])}
    source = Source("e")
    evaluator = Expressions(Names(source, {}), Calls())
    evaluator.calls.enumerations = kinds
    from dalembert.modelica import tree

    assert evaluator.value(tree.Ref(0, ("P.E", "b"))) == 2
    with pytest.raises(ModelicaError, match="no value `c`"):
        evaluator.value(tree.Ref(0, ("P.E", "c")))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", "division by zero"), ("x / 0", "division by zero"), ("true + 1", "for numbers"),
        ("1 and true", "Boolean"), ("({1, 2})[3]", "not between 1 and 2"), ("{1, 2} + {1, 2, 3}", "equal sizes"),
        ("if 1 then 2 else 3", "true or false"), ("{i for i in 1:x}", "has to be known"), ("unknown", "no `unknown`"),
        ("sqrt(-1)", "has no value"), ("sin(1, 2)", "1 arguments"), ("1:0:3", "not 0"), ("nothing(x)", "no function"),
        ("x[1]", "1 subscripts for 0 dimensions"), ("v.w", "no field"), ("1:1e9", "elements"),
        ("String(x) == \"a\"", "compared"),
        ("\"a\" < x", "compared"), ("if x > 1 then {1, 2} else {1}", "different sizes"),
    ],
)  # fmt: skip
def test_faults_have_a_place(text, reason):
    with pytest.raises(ModelicaError, match=reason) as caught:
        evaluate(text, x=X, v=stack([X, Y]))
    assert caught.value.line == 1


def random_expression(rng, depth, boolean=False):
    if boolean:
        if not depth or rng.randrange(3) == 0:
            return f"({random_expression(rng, 0)} {rng.choice(['<', '<=', '>', '>='])} {random_expression(rng, 0)})"
        left, right = (random_expression(rng, depth - 1, True) for _ in range(2))
        return rng.choice([f"({left} and {right})", f"({left} or {right})", f"(not {left})"])
    if not depth:
        return rng.choice(["x", "y", "0", "1", "2.5", "x", "y", "(-1)"])
    a, b = (random_expression(rng, depth - 1) for _ in range(2))
    kind = rng.randrange(6)
    if kind < 2:
        return f"({a} {rng.choice(['+', '-', '*'])} {b})"
    if kind == 2:
        return f"({a} / (1 + abs({b})))"
    if kind == 3:
        return f"{rng.choice(['sin', 'cos', 'atan', 'tanh', 'abs', 'sign', 'floor', 'ceil'])}({a})"
    if kind == 4:
        return f"(if {random_expression(rng, 1, True)} then {a} else {b})"
    return rng.choice([f"max({a}, {b})", f"min({a}, {b})", f"{{{a}, {b}}} * {{{b}, 2}}", f"atan2({a}, 1 + {b} ^ 2)",
                       f"mod({a}, 3)", f"rem({a}, 2)", f"div({a}, 2)"])  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_graphs_agree_with_numbers(seed):
    """The same tree on known numbers, which Python computes, and on symbols, which CasADi computes."""
    rng = random.Random(seed)
    text = random_expression(rng, 4)
    source = Source(text)
    graph = Expressions(Quiet(source, {"x": X, "y": Y}), Calls()).value(parse_expression(source))
    for _ in range(5):
        point = {"x": rng.uniform(-3, 3), "y": rng.uniform(-3, 3)}
        assert number(graph, **point) == pytest.approx(float(evaluate(text, **point)), rel=1e-12, abs=1e-12)


class Quiet(Names):
    def special(self, name, node, evaluator):
        return scalars.function(name, [evaluator.value(arg) for arg in node.args])
