"""Graphs split by binding time, straight code and tapes: all say what CasADi says."""

from __future__ import annotations

import ctypes

import casadi as ca
import numpy as np
import pytest

from dalembert.compile.generated.code import LONG, Module, Target
from dalembert.compile.generated.graph import Binding, Graph
from dalembert.compile.generated.host import compile_host, host_target
from dalembert.compile.generated.straight import Straight, unknown
from dalembert.compile.generated.tape import Memory, Tapes, TooLarge, carry_out, write_tape
from dalembert.compile.generated.values import Real

N = 6


def expressions(seed: int) -> tuple[ca.SX, ca.SX]:
    """Random functions of N numbers between 1/2 and 3/2, and the numbers."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", N)
    known = [x[k] for k in range(N)] + [ca.SX(1.5), ca.SX(-0.25), ca.SX(0.0), ca.SX(1.0)]
    two = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (2 + b * b), ca.fmin, ca.atan2]
    one = [ca.sin, ca.cos, ca.fabs, lambda a: -a, lambda a: a * a]
    one += [lambda a: ca.sqrt(1 + a * a), lambda a: 1 / (3 + a * a)]
    for _ in range(40):
        a, b = (known[rng.integers(len(known))] for _ in range(2))
        known.append(two[rng.integers(len(two))](a, b) if rng.random() < 0.6 else one[rng.integers(len(one))](a))
    return ca.vertcat(*(known[k] for k in rng.choice(len(known), 8, replace=False))), x


def read(seed: int) -> tuple[Graph, list[int], list[int], ca.Function]:
    out, x = expressions(seed)
    function = ca.Function("f", [x], [ca.densify(out)])
    graph = Graph()
    leaves = graph.leaves("x", N, Binding.STATE)
    return graph, leaves, graph.read(function, [leaves])[0], function


@pytest.mark.parametrize("seed", range(12))
def test_a_graph_has_the_values_of_its_function(seed):
    graph, _, roots, function = read(seed)
    x = np.random.default_rng(seed).uniform(0.5, 1.5, N)
    leaves = {("x", k): float(value) for k, value in enumerate(x)}
    np.testing.assert_allclose(graph.evaluate(roots, leaves), function(ca.DM(x)).full().ravel(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_straight_code_has_the_values_of_its_function(seed):
    graph, leaves, roots, function = read(seed)
    target = host_target()
    module = Module(target)
    code = module.function("values", [("ptr", "x"), ("ptr", "out")])
    code.linkage = ""
    known = {leaf: lambda k=k: code.parameter("x")[k] for k, leaf in enumerate(leaves)}
    values = Straight(code, graph, known)
    for k, root in enumerate(roots):
        code.parameter("out").put(k, values[root])
    code.finish()
    compiled = compile_host(module, ["values"])
    x = np.random.default_rng(seed).uniform(0.5, 1.5, (N, target.width))
    rows, out = np.zeros((N + 8, target.width)), np.zeros((len(roots) + 8, target.width))
    first = [(-a.ctypes.data // 8) % 8 for a in (rows, out)]  # vectors are aligned
    flat = [a.reshape(-1)[k:] for a, k in zip((rows, out), first, strict=True)]
    flat[0][: x.size] = x.ravel()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(compiled.address)(*(a.ctypes.data for a in flat))
    found = flat[1][: len(roots) * target.width].reshape(len(roots), target.width)
    wanted = np.array([function(ca.DM(column)).full().ravel() for column in x.T]).T
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


def test_known_numbers_are_fetched_once_until_they_are_forgotten():
    graph, leaves, roots, _ = read(0)
    code, fetched = Module(Target()).function("values", [("ptr", "x")]), []
    known = {leaf: lambda k=k: fetched.append(k) or code.parameter("x")[k] for k, leaf in enumerate(leaves)}
    values = Straight(code, graph, known)
    first = [values[root].text for root in roots]
    once = list(fetched)
    assert sorted(once) == sorted(set(once))
    values.forget()
    assert [values[root].text for root in roots] == first  # what was computed is still there
    assert fetched == once
    assert [values[leaf].text for leaf in leaves[:2]]
    assert fetched[len(once) :] == [0, 1]


NUMPY = {"SIN": np.sin, "COS": np.cos, "SQRT": np.sqrt, "FABS": abs, "INV": lambda a: 1 / a}


def beyond_sums(kind: str, a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        if kind in NUMPY:
            return float(NUMPY[kind](a))
        return float({"DIV": np.divide, "FMIN": np.fmin, "ATAN2": np.arctan2}[kind](a, b))


@pytest.mark.parametrize("group", [1, 4, 32])
@pytest.mark.parametrize("seed", range(6))
def test_tapes_have_the_values_of_their_function(seed, group):
    graph, leaves, roots, function = read(seed)
    memory, tapes = Memory(), Tapes(group)
    known = {leaf: memory.allocate(1) for leaf in leaves}
    # some results take the places of arguments, as solutions take those of right-hand sides
    targets = [known[leaf] for leaf in leaves[:3]] + [memory.allocate(1) for _ in roots[3:]]
    segments = write_tape(graph, roots, targets, known, memory, tapes)
    x = np.random.default_rng(seed).uniform(0.5, 1.5, N)
    numbers = np.full(memory.size, np.nan)
    for value, place in memory.constants.items():
        numbers[place] = value
    for k, leaf in enumerate(leaves):
        numbers[known[leaf]] = x[k]
    carry_out(tapes, segments, numbers, beyond_sums)
    np.testing.assert_allclose(numbers[targets], function(ca.DM(x)).full().ravel(), rtol=1e-13, atol=1e-13)


def test_binding_times():
    graph = Graph()
    shared, own = graph.leaf("shared", 0, Binding.SHARED), graph.leaf("member", 0, Binding.MEMBER)
    p, v = graph.leaf("p", 0, Binding.POSITION), graph.leaf("v", 0, Binding.STATE)
    early = graph.operation("SIN", graph.operation("MUL", shared, own))
    force = graph.operation("MUL", graph.operation("MUL", early, graph.operation("COS", p)), v)
    assert graph.binding[early] == Binding.MEMBER
    assert graph.binding[force] == Binding.STATE
    assert graph.frontier([force], Binding.MEMBER) == [early]
    position = graph.frontier([force], Binding.POSITION)
    assert [graph.keys[n][0] for n in position] == ["MUL"]  # early · cos p, which v multiplies


def test_sums_of_angles_are_made_of_their_parts():
    graph = Graph()
    angles = graph.leaves("p", 5, Binding.POSITION)

    def cosines() -> list[int]:
        return [
            graph.operation("COS", graph.operation("SUB", a, b)) for a in angles for b in angles if a < b
        ]  # fmt: skip

    before = cosines()
    assert graph.find_sums(before)
    after = cosines()
    trigonometric = {graph.keys[n] for n in graph.needed(after, frozenset()) if graph.keys[n][0] in ("SIN", "COS")}
    assert len(trigonometric) == 10  # of the five angles alone
    values = {("p", k): 0.3 + 0.7 * k for k in range(5)}
    np.testing.assert_allclose(graph.evaluate(after, values), graph.evaluate(before, values), atol=1e-15)


def test_angles_that_nobody_else_wants_stay_sums():
    graph = Graph()
    a, b = graph.leaves("p", 2, Binding.POSITION)
    assert not graph.find_sums([graph.operation("SIN", graph.operation("ADD", a, b))])


def test_operations_without_code_are_named():
    x = ca.SX.sym("x", 1)
    graph = Graph()
    leaf = graph.leaves("x", 1, Binding.STATE)
    roots = graph.read(ca.Function("f", [x], [ca.vertcat(ca.erf(x), ca.erfinv(x))]), [leaf])[0]
    assert unknown(graph, roots, gpu=False) == {"ERFINV"}
    assert unknown(graph, roots, gpu=True) == {"ERF", "ERFINV"}


def test_a_model_that_is_too_large_for_a_group_is_refused():
    with pytest.raises(TooLarge, match="more than 8192"):
        Memory().allocate(9000)


@pytest.mark.parametrize("count", [3, LONG + 5])
def test_long_vectors_are_gone_through_in_loops(count):
    """Sums, maxima and products by index, written out or in a loop."""
    module = Module(Target(width=1))
    code = module.function("reduce", [("ptr", "x"), ("ptr", "out")])
    code.linkage = ""
    x, out = code.parameter("x"), code.parameter("out")
    out.put(0, code.total(count, lambda k: x[k] * x[k]))
    out.put(1, code.highest(count, lambda k: code.abs(x[k])))
    code.each(count, lambda k: out.put(k + 2, 2.0 * x[k]))

    def terms(j):
        return lambda k: [x[k] * 1.0]

    sums = out.behind(2)
    code.accumulate(count, 3, lambda k: [sums[k]], terms, lambda k, values: sums.put(k, values[0]))
    code.finish()
    compiled = compile_host(module, ["reduce"])
    values, found = np.random.default_rng(0).normal(size=count), np.zeros(count + 2)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(compiled.address)(values.ctypes.data, found.ctypes.data)
    np.testing.assert_allclose(found, [(values**2).sum(), np.abs(values).max(), *(5 * values)], rtol=1e-14)


def test_numbers_of_generated_code_have_no_truth_value():
    code = Module(Target()).function("f", [])
    with pytest.raises(TypeError, match="when"):
        bool(Real(code, "%x") < 1.0)
