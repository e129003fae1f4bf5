"""Random expressions of any types: they have a value, or are refused by our error with a place."""
# ruff: noqa: E501, SIM905

import random

import pytest

import dalembert as da
from dalembert.modelica import flatten

DECLARED = """package P
  type E = enumeration(a, b, c);
  record R Real u = 1; Real w[2] = {2, 3}; end R;
  function f input Real x; input Integer n = 2; output Real y[n]; output Real z; algorithm y := fill(x, n); z := x; end f;
  function g input Real x[:]; output Real y; algorithm y := sum(x); end g;
  model A
    parameter Integer n = 2; parameter Real k = 0.5; parameter Boolean b = true; parameter E e = E.b; constant Real c = 3;
    parameter String s = "s"; Real x(start = 1); Real v[2]; Real m[2, 3]; Boolean q; Integer i; R r; R rs[2];
"""
LEAVES = (
    "0 1 2 -1 1.5 true false time x v m q i r rs n k b e s c v[1] m[2,3] m[:,1] m[1,:] v[i] v[n] v[end] v[3] v[0] r.u r.w "
    'rs.u rs[1].w rs[2].q E E.b E.d P.c Real "text" {} {1,2} {x,k} {{1,2,3},{4,5,6}} [1,2;3,4] [v,v] 1:3 3:1 1:0 1:0.5:2 '
    "n:i y A P f g {j*k for j in 1:2} sum(v[j] for j in 1:n)"
).split(" ")
FUNCTIONS = (
    "sum product max min size ndims abs sign sqrt sin atan2 exp log div mod rem ceil floor integer der pre edge change noEvent "
    "smooth homotopy semiLinear delay sample initial terminal zeros ones fill identity diagonal linspace transpose cross skew "
    "outerProduct symmetric scalar vector matrix cat array String Integer f g R E cardinality inStream previous nothing"
).split()
OPERATORS = "+ - * / ^ .+ .- .* ./ .^ and or == <> < >=".split()


def expression(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(8) if depth else 0
    if kind < 2:
        return rng.choice(LEAVES)
    parts = [expression(rng, depth - 1) for _ in range(rng.randrange(1, 4))]
    if kind < 5:
        args = [*parts[: rng.randrange(len(parts) + 1)]]
        if args and not rng.randrange(8):
            args[-1] = f"{rng.choice(['x', 'n', 'u', 'level'])} = {args[-1]}"
        return f"{rng.choice(FUNCTIONS)}({', '.join(args)})"
    if kind == 5:
        return f"({parts[0]}) {rng.choice(OPERATORS)} ({parts[-1]})"
    if kind == 6:
        return f"(if {parts[0]} then {parts[-1]} else {expression(rng, depth - 1)})"
    return rng.choice([f"{{{', '.join(parts)}}}", f"[{'; '.join(parts)}]", f"({parts[0]})[1]", f"not ({parts[0]})",
                       f"({parts[0]}).u", f"-({parts[0]})", f"v[{parts[0]}]"])  # fmt: skip


def model(rng: random.Random) -> str:
    """A model with an expression somewhere."""
    one = expression(rng, rng.randrange(1, 4))
    rest = {"x": "der(x) = -x", "v": "v = {1, 2}", "m": "m = ones(2, 3)", "q": "q = x > 1", "i": "i = 1"}
    place = rng.randrange(9)
    declared, statement = "", ""
    if place < 3:
        declared = (
            f"{rng.choice(['Real', 'Boolean', 'Integer', 'parameter Real', 'constant Real', 'E', 'R'])} y = {one};"
        )
    elif place == 3:
        declared = f"Real y[{one}];"
    elif place == 4:
        rest[rng.choice(list(rest))] = f"{rng.choice(['x', 'v', 'm', 'q', 'i', 'r', 'r.w'])} = {one}"
    elif place == 5:
        statement = f"if {one} then assert(x > 0, s); else assert(q, String({one})); end if;"
    elif place == 6:
        statement = f"when {one} then reinit(x, {expression(rng, 1)}); end when;"
    elif place == 7:
        statement = f"for j in {one} loop assert(j > 0, s); end for;"
    else:
        declared = f"Real y(start = {one}) if {expression(rng, 1)};"
    equations = "; ".join(rest.values())
    algorithm = f"algorithm y := {one};" if not rng.randrange(6) else ""
    return f"{DECLARED} {declared} equation {equations}; {statement} {algorithm} end A; end P;"


def refusal(text: str) -> da.ModelicaError | None:
    try:
        flat = flatten(text)
        flatten(flat.to_modelica())
    except da.ModelicaError as error:
        return error
    return None


def check(seed: int) -> bool:
    """Whether the model of this seed is refused."""
    text = model(random.Random(seed))
    error = refusal(text)
    assert error is None or error.line is not None, text
    return error is not None


def test_random_expressions():
    assert 50 < sum(check(seed) for seed in range(150)) < 150


@pytest.mark.slow
def test_many_random_expressions():
    for seed in range(150, 5000):
        check(seed)
