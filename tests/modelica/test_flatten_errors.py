"""What is wrong with models, or not supported: named with its place."""
# ruff: noqa: E501

import random
import re

import pytest
from test_flatten import CIRCUIT, EQUATIONS

import dalembert as da
from dalembert.modelica import flatten
from dalembert.modelica.source import Source

# text, words of the message, the text at the place
FAULTS = [
    ("model A Real x = y; end A;", "there is no `y` here", "y;"),
    ("model A Reel x = 1; end A;", "Did you mean `Real`", "Reel"),
    ("model A extends B; end A;", "there is no class `B`", "B;"),
    ("model A extends A; end A;", "extends itself", None),
    ("package P model A A a; end A; end P;", "contain itself", None),
    ("model A Real x; end A;", "0 equations for 1 unknowns; not determined: x", "x;"),
    ("model A Real x, y; equation x = 1; x = 2; end A;", "surplus: x = 2", "y;"),
    ("package P block B input Real u; output Real y = u; end B; model A B b; end A; end P;", "not determined: b.u", "u;"),
    ("package P model M parameter Real k = 1; end M; model A M m(q = 2); end A; end P;", "no element `q`", "q = 2"),
    ("package P model M final parameter Real k = 1; end M; model A M m(k = 2); end A; end P;", "is final in P.M", "k = 2"),
    ("package P model M parameter Real k(final min = 1) = 1; end M; model A M m(k(min = 2)); end A; end P;", "final", "min = 2"),
    ("model A Real x(strat = 1) = 2; end A;", "Did you mean `start`", "strat"),
    ("model A parameter Real k = l; parameter Real l = k; Real x = k; end A;", "depends on itself", None),
    ("model A parameter Integer n = n + 1; Real x[n]; end A;", "depends on itself", None),
    ("model A Real x = 1; parameter Real k = x; end A;", "`x`, which is no parameter", None),
    ("model A parameter Real k = time; end A;", "`time`, which is no parameter", None),
    ("model A Integer n = integer(time); Real x[n]; end A;", "not known before the simulation", "n]"),
    ("model A Real x[2] = {1, 2, 3}; end A;", "size [2], and its value [3]", None),
    ("model A Real x[2]; equation x = {1, 2} + {1, 2, 3}; end A;", "equal sizes", None),
    ("model A Real x[2]; equation x = 1; end A;", "different sizes", None),
    ("model A Real x[2] = {1, 2}; Real y = x[3]; end A;", "subscript 3 is not between 1 and 2", "3]"),
    ("model A Real x = 1; Real y = x[1]; end A;", "subscripts", None),
    ("model A Boolean b = 1; end A;", "of type Boolean", "1;"),
    ("model A Real x = true + 1; end A;", "is for numbers", None),
    ('model A Real x = "a" + 1; end A;', "String(x)", None),
    ("model A parameter Real k = 1/0; end A;", "division by zero", None),
    ("model A Real x = sinn(1); end A;", "Did you mean `sin`", "sinn"),
    ("model A Real x = sin(1, 2); end A;", "1 arguments, not 2", None),
    ("package P function f input Real x; output Real y; algorithm y := x; end f; model A Real x = f(); end A; end P;", "input `x`", None),
    ("package P function f input Real x; output Real y; algorithm y := x; end f; model A Real x = f(1, z = 2); end A; end P;", "no input `z`", None),
    ("package P function f input Real x; output Real y; algorithm while true loop y := x; end while; end f; model A parameter Real x = f(1); Real z[integer(x)]; end A; end P;", "takes too long", None),
    ("package P function f input Real x; output Real y; algorithm y := f(x); end f; model A constant Real x = f(1); Real z = x; end A; end P;", "calls itself", None),
    ("package P function f input Real x; output Real y; equation y = x; end f; model A Real x = f(time); end A; end P;", "has equations", None),
    ("package P model W Real g; end W; partial model V Real g; end V; model A outer V w; Real x = w.g; end A; model B A a; end B; end P;", "has no `inner w`", "w;"),
    ("package P model M protected Real x = 1; end M; model A M m; Real y = m.x; end A; end P;", "protected", None),
    ("package P model M Real x = 1; end M; model A M m if false; Real y = m.x; end A; end P;", "condition is false", "m.x"),
    ("model A Real x(start = 1); equation der(x) = 1; reinit(x, 2); end A;", "when-clause", None),
    ("model A Real x; equation when time > 1 then 2*x = 1; end when; end A;", "variable on the left", None),
    ("model A Real x, y; equation if time > 1 then x = 1; y = 2; else x = 2; end if; end A;", "different numbers of equations", None),
    ("model A Real x; equation if time > 1 then x = 1; else x = yy; end if; end A;", "there is no `yy`", "yy;"),
    ("model A Real x = 1; equation assert(1 > 2, \"never\"); end A;", "does not hold: never", None),
    ("model A Real x; equation 1 = 2; x = 1; end A;", "1 = 2", None),
    ("partial model A Real x; end A;", "is partial", None),
    ("package P replaceable partial model M Real x; end M; model A M m; end A; end P;", "partial model", None),
    (CIRCUIT.replace("connect(v.n, g.p)", "connect(v.n, g.q)"), "no component `q`", "g.q"),
    (CIRCUIT.replace("connect(v.n, g.p)", "connect(v, g.p)"), "only connectors", None),
    (CIRCUIT.replace("connect(v.n, g.p)", "connect(v.n.v, g.p.i)"), "only one is a flow", None),
    ("package P function f end f; model A extends f; end A; end P;", "model P.A cannot extend function P.f", "f;"),
    ("package P model M Real x = 1; end M; model A extends M; Real x = 2; end A; end P;", "inherited from P.M", "x = 2"),
    ("package P record R Real x; equation x = 1; end R; model A R r; end A; end P;", "cannot have equations", "equation"),
    # not supported
    ("package P connector C Real p; flow Real m; stream Real h; end C; model A C c; end A; end P;", "stream", "h;"),
    ("package P expandable connector C end C; model A C c, d; equation connect(c.x, d.y); end A; end P;", "nothing says what `x` in `c` is", "connect"),
    ("package P expandable connector C end C; connector D = Real; model M D d[2]; end M; model A C c; M m; equation connect(c.x[1], m.d[2]); end A; end P;", "size of `x`", "c.x"),
    ("package P operator record Q Real re; end Q; model A Q q(re = 1), r = q + q; end A; end P;", "`+` is not defined for records of P.Q", "+ q"),
    ("model A Real Boolean = 1; end A;", "name of a builtin type", "Boolean"),
    ("package P record R protected Real x; end R; model A R r; end A; end P;", "`x` is protected", "x;"),
    ("package P Real x = 1; model A end A; model B Real y = x; end B; end P;", "only constants may", "x = 1"),
    ("package P connector C = input Real; model A input C c; end A; end P;", "its type says input already", "c;"),
    ("package P connector C flow Boolean b; Real v; end C; model A C c; end A; end P;", "has to be a number", "b;"),
    ("package P model M end M; model A parameter M m; end A; end P;", "is parameter, and a component of a model", "m;"),
    ("package P model W Real g = 1; end W; model V outer W w(g = 2); end V; model A inner W w; V v; end A; end P;", "cannot be modified", "w(g"),
    ("model A Real x; algorithm x := 1; if time > 1 then break; end if; end A;", "`break` is for loops", "break"),
    ("model A Real x(start = 0); algorithm when time > 1 then when time > 2 then x := 1; end when; end when; end A;", "within each other", "when time > 2"),
    ("package P connector I = input Real; connector O = output Real; block S O y = 1; end S; model A S s, t; equation connect(s.y, t.y); end A; end P;", "both give a signal", "connect"),
    ("model A parameter Real p = 1; constant Real c = p; Real x = c; end A;", "constant `c` depends on parameters", "p; Real"),
    ("model A Boolean b = time > 1; Real x = b; end A;", "is a Real, and `b` is a Boolean", None),
    ("model A Integer n = 2*time; end A;", "`n` is an Integer", None),
    ("model A Boolean b = time > 1 and 2*time; end A;", "has to be a Boolean", None),
    ("model A Real x = if time then 1 else 2; end A;", "a condition has to be a Boolean", None),
    ("model A Boolean b = time > 1; String s = if b then \"a\" else 2; end A;", "is an Integer or a String", None),
    ("model A Integer n(start = 0); equation when time > 1 then n = pre(n) + 0.5; end when; end A;", "is an Integer, and", None),
    ("model A parameter Real p = 1; equation when time > 1 then reinit(p, 2); end when; end A;", "`p` is none", None),
    ("model A Integer n = integer(time); Real x = der(n); end A;", "`der` is for Real", None),
    ("model A discrete Real d(start = 0); Real x = der(d); equation when time > 1 then d = 1; end when; end A;", "changes at events only", None),
    ("package P type E = enumeration(a, b); type F = enumeration(a, b); model A E e = if time > 1 then E.a else E.b; Boolean b = e == F.a; end A; end P;", "cannot be compared", None),
    ("package P function f input Integer n; output Real y; algorithm y := n; end f; model A Real x = f(time); end A; end P;", "input `n` of function P.f is of type Integer", None),
    ("model A Real x; equation x = previous(x); end A;", "clocked", None),
    ("model A Real x; algorithm x := 1; return; end A;", "`return` is for functions", "return"),
    ("package P model M outer model N = Real; N n; end M; model A M m; end A; end P;", "has no `inner model N`", "N = Real"),
    ("package P function f input Real x; output Real y; algorithm y := x; end f; function d = der(f, x); model A Real x = d(time); end A; end P;", "partial derivatives", None),
    ("model A Real v = 1; equation Connections.root(v); end A;", "no overconstrained record", "v);"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "there"), FAULTS)
def test_faults(text, words, there):
    with pytest.raises(da.ModelicaError) as caught:
        flatten(text, "P.Circuit" if text.startswith("\npackage P\n") else None)
    error = caught.value
    assert words in str(error)
    assert error.line is not None
    if there is not None:
        line = text.split("\n")[error.line - 1]
        assert line[error.column - 1 :].startswith(there), line[error.column - 1 :][:40]


A = "model A Real x = 1; end A;"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3,), "was expected, not 3"),
        ((None,), "was expected, not None"),
        ((b"model A end A;",), "was expected"),
        ((["A"],), "was expected"),
        ((A, 3), "class_name=3"),
        ((A, ""), "class_name=''"),
        ((A, "B"), "no class `B`"),
        ((A, None, 3), "path=3"),
        ((A, None, [3]), "path="),
        (("A" * 5000,), "there is no class"),
        (("A/" * 300 + ".mo",), "cannot be read"),
        (("",), "no model"),
        (("\0",), "no meaning"),
        ((" ",), "no model"),
    ],
)
def test_arguments_that_make_no_sense(arguments, words):
    with pytest.raises(da.ModelicaError, match=re.escape(words)):
        flatten(*arguments)


NAMES = (
    "sum max size der pre String Integer cat fill ones zeros identity transpose cross skew diagonal linspace scalar vector "
    "matrix product ndims abs mod integer noEvent smooth homotopy semiLinear delay sample initial edge change terminate "
    "reinit assert Connections connect for if when each redeclare replaceable final constant parameter input output flow "
    "protected extends algorithm equation Boolean E R x f a.b P.Q time P Real true end"
)
REPLACEMENTS = [*NAMES.split(), "0", "-1", "2", "1.5", '"s"', "{1, 2}", "[1, 2; 3, 4]", "{{1}}", "(1, 2)", "1:3", ":"]


def test_depth_is_limited():
    with pytest.raises(da.ModelicaError, match="too deeply") as caught:
        flatten("model A Real x = " + "(" * 30 + "time" + (" + time" * 900 + ")") * 30 + "; end A;").to_modelica()
    assert caught.value.line == 1


def check(seed: int) -> bool:
    """Flatten a damaged model; whether it is refused."""
    rng = random.Random(seed)
    tokens = [token for token in Source(rng.choice([text for text, _ in EQUATIONS.values()])).tokens() if token]
    for _ in range(rng.randrange(1, 3)):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        change = rng.randrange(4)
        if change == 0:
            del tokens[i]
        elif change == 1:
            tokens[i] = tokens[j]
        elif change == 2:
            tokens.insert(i, tokens[j])
        else:
            tokens[i] = rng.choice(REPLACEMENTS)
    text = " ".join(tokens)
    error = refusal(text)
    assert error is None or error.line is not None or str(error).startswith("there is no "), text
    return error is not None


def refusal(text: str) -> da.ModelicaError | None:
    try:
        flatten(text).to_modelica()
    except da.ModelicaError as error:
        return error
    return None


def test_damaged_models():
    assert sum(check(seed) for seed in range(150)) > 75


@pytest.mark.slow
def test_many_damaged_models():
    for seed in range(150, 5000):
        check(seed)
