"""Random expressions of any types in functions, on graphs: a value, or our error with a place."""
# ruff: noqa: E501, SIM905

import random

import casadi as ca
import pytest
from symbolic_places import Functions
from test_random_expressions import FUNCTIONS, OPERATORS

from dalembert.errors import ModelicaError
from dalembert.modelica.values import RecordValue, stack

LEAVES = (
    "0 1 2 -1 1.5 true false x v m q i r s n v[1] m[2,3] m[:,1] m[1,:] v[i] v[n] v[end] v[3] v[0] r.u r.w r.none E.b E y z "
    '"text" {} {1,2} {x,2} {{1,2,3},{4,5,6}} [1,2;3,4] [v,v] 1:3 3:1 1:0 1:0.5:2 n:i {j*x for j in 1:2} sum(v[j] for j) '
    "{x for j in 1:i} {v,v}"
).split(" ")
HEAD = """package P
  type E = enumeration(a, b, c);
  record R Real u = 1; Real w[2] = {2, 3}; end R;
  function f input Real x; input Integer n = 2; output Real y[n]; output Real z; algorithm y := fill(x, n); z := x; end f;
  function g input Real x[:]; output Real y; algorithm y := sum(x); end g;
"""


def expression(rng, depth):
    kind = rng.randrange(8) if depth else 0
    if kind < 2:
        return rng.choice(LEAVES)
    parts = [expression(rng, depth - 1) for _ in range(rng.randrange(1, 4))]
    if kind < 5:
        return f"{rng.choice(FUNCTIONS)}({', '.join(parts[: rng.randrange(len(parts) + 1)])})"
    if kind == 5:
        return f"({parts[0]}) {rng.choice(OPERATORS)} ({parts[-1]})"
    if kind == 6:
        return f"(if {parts[0]} then {parts[-1]} else {expression(rng, depth - 1)})"
    return rng.choice([f"{{{', '.join(parts)}}}", f"[{'; '.join(parts)}]", f"({parts[0]})[1]", f"not ({parts[0]})",
                       f"({parts[0]}).u", f"-({parts[0]})", f"v[{parts[0]}]"])  # fmt: skip


def statement(rng, depth):
    one = expression(rng, rng.randrange(1, 4))
    kind = rng.randrange(7) if depth else 0
    if kind < 3:
        return f"{rng.choice(['y', 'v2', 'v2[i]', 'v2[1]', 'k', 'b', 'r2', 'r2.u', 'x', '(y, v2)'])} := {one};"
    inner = " ".join(statement(rng, depth - 1) for _ in range(2))
    if kind == 3:
        return f"if {one} then {inner} else {statement(rng, depth - 1)} end if;"
    if kind == 4:
        return f"for j in {one} loop {inner} end for;"
    if kind == 5:
        return f"while {one} loop {inner} {rng.choice(['break;', 'return;', 'k := k + 1;'])} end while;"
    return f"assert({one}, {expression(rng, 1)});"


def attempt(seed):
    """Whether a random function has a value; any other error than ours comes through."""
    rng = random.Random(seed)
    body = " ".join(statement(rng, 2) for _ in range(rng.randrange(1, 4)))
    text = (
        HEAD
        + f"""
      function h input Real x; input Real v[2]; input Real m[2, 3]; input Boolean q; input Integer i; input R r;
        input String s; input Integer n; output Real y = 1; protected Real v2[2] = v; Integer k = 1; Boolean b = q; R r2 = r;
      algorithm {body} end h;
      model A Real y; equation y = P.h(time, {{1, 2}}, ones(2, 3), true, 1, P.R(), "s", 2); end A; end P;"""
    )
    x, q, i = (ca.SX.sym(name) for name in "xqi")
    record = RecordValue("P.R", {"u": x, "w": stack([1.0, x])})
    matrix = stack([stack([x, 1.0, 2.0]), stack([3.0, x, 5.0])])
    try:
        Functions(text)("P.h", x, stack([x, 2.0]), matrix, q, i, record, "text", 2)
    except ModelicaError as error:
        if error.line is None:
            raise AssertionError(text) from error
        return False
    return True


@pytest.mark.parametrize("first", [*range(0, 300, 150), 400, 2300, 3200, 11800])
def test_random_functions(first):
    done = [attempt(seed) for seed in range(first, first + 150)]
    assert any(done)
    assert not all(done)
