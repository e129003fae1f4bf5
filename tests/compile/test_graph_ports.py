"""Compiled tapes and CasADi's virtual machine against CasADi's own evaluation."""

import ctypes
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import casadi
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.compile import OK, RETRY, compile_port, compile_tape, machine_port, tape
from dalembert.compile.emit import ALIASES, TEMPLATES
from dalembert.errors import FunctionFailed, OptionError

NAMES = {getattr(casadi, name): name for name in dir(casadi) if name.startswith("OP_")}
UNARY = [
    getattr(casadi, f"OP_{name}")
    for name in (
        *(
            "NEG",
            "EXP",
            "LOG",
            "SQRT",
            "SQ",
            "TWICE",
            "SIN",
            "COS",
            "TAN",
            "ASIN",
            "ACOS",
            "ATAN",
            "NOT",
            "FLOOR",
            "CEIL",
        ),
        *("FABS", "SIGN", "ERF", "ERFINV", "INV", "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH", "LOG1P", "EXPM1"),
    )
]
BINARY = [op for op in sorted(TEMPLATES) if op not in UNARY]
SPECIAL = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.5, 1.5, 0.7, -0.9999, np.pi, 710.0),
        *(1e-310, 1e-17, -1e-17, 1e17, 1e300, -1e300, np.inf, -np.inf, np.nan),
    ]
)
EMPTY = np.empty(0)


def symbols(n, n_theta=0):
    return casadi.SX.sym("t"), casadi.SX.sym("x", n), casadi.SX.sym("theta", n_theta)


def same(left, right):
    """Equal bit for bit, where all NaN are one."""
    nan = np.isnan(right)
    np.testing.assert_array_equal(np.isnan(left), nan)
    np.testing.assert_array_equal(left[~nan].view(np.int64), right[~nan].view(np.int64))


def evaluate(port, t, x, theta=EMPTY):
    out = np.full(port.n_out, 7.0)
    status = port.call_status(t, x, theta, out)
    assert status == (OK if np.isfinite(out).all() else RETRY)
    return out


@pytest.mark.parametrize("operation", UNARY + BINARY, ids=lambda op: NAMES[op])
def test_every_operation_agrees_with_casadi(operation):
    t, x, theta = symbols(2)
    out = casadi.SX.unary(operation, x[0]) if operation in UNARY else casadi.SX.binary(operation, x[0], x[1])
    function = casadi.Function("f", [x], [out])
    compiled, machine = compile_tape(t, x, theta, out), machine_port(t, x, theta, out)
    values = np.concatenate([SPECIAL, np.random.default_rng(1).normal(0, 2, 40)])
    for a in values:
        for b in SPECIAL if operation in BINARY else [1.0]:
            point = np.array([a, b])
            expected = np.array(function(point)).ravel()
            same(evaluate(machine, 0.0, point), expected)
            if operation == casadi.OP_ERFINV:  # CasADi's own has six digits below -0.7; the compiled one is SciPy's
                np.testing.assert_allclose(evaluate(compiled, 0.0, point), scipy.special.erfinv(a), rtol=1e-14)
                np.testing.assert_allclose(expected, scipy.special.erfinv(a), rtol=1e-5)
            else:
                same(evaluate(compiled, 0.0, point), expected)


def test_constant_powers_agree():
    t, x, theta = symbols(1)
    out = casadi.vertcat(*[x**k for k in (-3, -2, -1, -0.5, 0, 1 / 3, 0.5, 1, 2, 2.5, 3, 4, 7, 150)])
    function = casadi.Function("f", [x], [out])
    port = compile_tape(t, x, theta, out)
    for a in SPECIAL:
        same(evaluate(port, 0.0, np.array([a])), np.array(function(a)).ravel())


def test_every_scalar_operation_of_casadi_is_known():
    x = casadi.SX.sym("x")
    for operation, name in NAMES.items():
        try:  # CasADi refuses matrix operations here
            scalar = casadi.Function("f", [x], [casadi.SX.binary(operation, x, 3 + x)])
        except RuntimeError:
            continue
        assert {scalar.instruction_id(k) for k in range(scalar.n_instructions())} <= (
            TEMPLATES.keys() | ALIASES | {casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST}
        ), name


SAFE = [op for op in UNARY + BINARY if op != casadi.OP_ERFINV]  # its last digits would be amplified
numbers = st.floats(-10, 10) | st.sampled_from(SPECIAL.tolist())


@given(
    steps=st.lists(st.tuples(st.sampled_from(SAFE), st.integers(0, 200), st.integers(0, 200)), min_size=1, max_size=40),
    constants=st.lists(numbers, min_size=1, max_size=3),
    points=st.lists(st.lists(numbers, min_size=5, max_size=5), min_size=1, max_size=5),
    chunk=st.sampled_from([3, 500]),
    level=st.sampled_from([0, 1]),
)
@settings(max_examples=100, deadline=None)
def test_random_graphs_agree(steps, constants, points, chunk, level):
    t, x, theta = symbols(3, 1)
    pool = [t, *casadi.vertsplit(x), theta, *map(casadi.SX, constants)]
    for operation, i, j in steps:
        a, b = pool[i % len(pool)], pool[j % len(pool)]
        pool.append(casadi.SX.unary(operation, a) if operation in UNARY else casadi.SX.binary(operation, a, b))
    out = casadi.vertcat(*pool[-8:])
    function = casadi.Function("f", [t, x, theta], [out])
    ports = [tape.compile_function(tape.port_function(t, x, theta, out), chunk=chunk, level=level)]
    ports.append(machine_port(t, x, theta, out))
    for point in points:
        point = np.array(point)
        expected = np.array(function(point[0], point[1:4], point[4])).ravel()
        for port in ports:
            same(evaluate(port, point[0], point[1:4].copy(), point[4:].copy()), expected)


def long_graph(n=40, rounds=60):
    t, x, theta = symbols(n, 2)
    values = casadi.vertsplit(x)
    for k in range(rounds):
        values = [
            casadi.sin(a + k * t) * theta[0] + b * theta[1]
            for a, b in zip(values, values[1:] + values[:1], strict=True)
        ]
    return t, x, theta, casadi.vertcat(*values)


def test_long_tapes_agree_in_any_chunks(monkeypatch):
    t, x, theta, out = long_graph()
    function = tape.port_function(t, x, theta, out)
    assert function.n_instructions() > 5000
    point, parameters = np.linspace(-1, 1, 40), np.array([0.7, 0.3])
    expected = np.array(function(0.3, point, parameters)).ravel()
    for chunk, stack in ((500, 4096), (77, 4096), (2000, 4096), (500, 1)):  # the last: work array from malloc
        monkeypatch.setattr("dalembert.compile.emit.STACK", stack)
        port = tape.compile_function(function, chunk=chunk + (stack == 1))  # another key for the other text
        same(port(0.3, point, parameters), expected)


@pytest.mark.parametrize("chunk", [2, 500])
def test_code_of_several_vectors(chunk):
    """And a number 1 that CasADi does not know, so that reciprocals stay."""
    t, one = casadi.SX.sym("t"), casadi.SX.sym("one")
    a, b, c, d = (casadi.SX.sym(name, 2) for name in "abcd")
    out = casadi.vertcat(t * a[0] + b[1] * c[0] - d[1], (one / d[0]) * a[1], (one / d[0]) * b[0])
    function = casadi.Function("code", [t, a, b, c, d, one], [out], {"cse": True})
    code = tape.compile_code(function, chunk=chunk, ones=5)
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, *[ctypes.c_void_p] * 5)(code.address)
    a, b, c, d = np.array([[2.0, 3.0], [5.0, 7.0], [11.0, 13.0], [17.0, 19.0]])
    result = np.zeros(3)
    assert call(0.5, *(x.ctypes.data for x in (a, b, c, d, result))) == OK
    np.testing.assert_array_equal(result, [0.5 * 2 + 7 * 11 - 19, (1 / 17) * 3, (1 / 17) * 5])
    d[0] = 0.0
    assert call(0.5, *(x.ctypes.data for x in (a, b, c, d, result))) == RETRY


def test_ports_are_safe_in_threads():
    t, x, theta, out = long_graph(10, 60)
    function = casadi.Function("f", [t, x, theta], [out])
    parameters = np.array([0.7, 0.3])
    points = np.random.default_rng(0).normal(size=(40, 10))
    expected = [np.array(function(0.1, point, parameters)).ravel() for point in points]
    for port in (compile_port(t, x, theta, out), machine_port(t, x, theta, out)):

        def work(k, port=port):
            for _ in range(50):
                same(port(0.1, points[k], parameters), expected[k])

        with ThreadPoolExecutor(4) as pool:
            futures = [pool.submit(work, k) for k in range(40)]
            more = [machine_port(t, x, theta, out * k) for k in range(5)]  # loading functions meanwhile does no harm
            for future in futures:
                future.result()
        assert more[3].n_out == 10


def test_ports_on_the_machine_keep_their_function():
    """And nothing keeps it when they are gone."""
    t, x, theta = symbols(1)
    port = machine_port(t, x, theta, x + 1)
    _, function = port._keep
    assert isinstance(function, casadi.Function)  # called in place, without a copy
    gone = weakref.ref(function)
    del function
    gc.collect()
    assert port(0.0, np.ones(1), EMPTY) == 2.0
    del port
    gc.collect()
    assert gone() is None


def test_machine_slots_are_given_back(monkeypatch):
    """Where the library lacks the methods of functions."""
    from dalembert.compile import machine

    monkeypatch.setattr(machine, "_has_methods", lambda: False)
    t, x, theta = symbols(1)
    gc.collect()
    bottom = machine_port(t, x, theta, x)  # takes away what is free on top
    before = len(machine._slots)
    first, second = machine_port(t, x, theta, x + 1), machine_port(t, x, theta, x + 2)
    assert len(machine._slots) == before + 2
    del first  # not on top: stays
    assert second(0.0, np.ones(1), EMPTY) == 3.0
    del second
    third = machine_port(t, x, theta, x + 3)
    assert len(machine._slots) == before + 1
    assert third(0.0, np.ones(1), EMPTY) == 4.0
    assert bottom(0.0, np.ones(1), EMPTY) == 1.0
    # a long one, whose work space does not fit on the stack
    t, x, theta, out = long_graph()
    monkeypatch.setattr(machine, "STACK", 1)
    point, parameters = np.linspace(-1, 1, 40), np.array([0.7, 0.3])
    slow = machine_port(t, x, theta, out)
    monkeypatch.undo()
    same(slow(0.3, point, parameters), machine_port(t, x, theta, out)(0.3, point, parameters))


def test_names_of_symbols_do_not_matter():
    names = ["x0", '"; DROP', "%1", "a\nb", "port", "", "π"]
    t, theta = casadi.SX.sym("%t"), casadi.SX.sym("theta", 0)
    x = casadi.vertcat(*map(casadi.SX.sym, names))
    point = np.arange(1.0, 8.0)
    for prefer in ("llvm", "machine"):
        np.testing.assert_array_equal(
            compile_port(t, x, theta, 3 * x + 1, prefer=prefer)(0.0, point, EMPTY), 3 * point + 1
        )


def test_same_tape_is_compiled_once():
    t, x, theta = symbols(2)
    other = casadi.SX.sym("other", 2)
    assert compile_tape(t, x, theta, x**2).address == compile_tape(t, other, theta, other**2).address


def test_structural_zeros_and_constants_are_written():
    t, x, theta = symbols(2)
    matrix = casadi.SX(3, 2)
    matrix[1, 0], matrix[2, 1] = x[0], 5
    for prefer in ("llvm", "machine"):
        port = compile_port(t, x, theta, matrix, prefer=prefer)
        np.testing.assert_array_equal(port(0.0, np.array([2.0, 3.0]), EMPTY, np.full(6, 9.0)), [0, 2, 0, 0, 0, 5])


@pytest.mark.parametrize("prefer", ["llvm", "machine"])
def test_empty_output(prefer):
    t, x, theta = symbols(2)
    assert compile_port(t, x, theta, casadi.SX(0, 1), prefer=prefer)(0.0, np.ones(2), EMPTY).shape == (0,)


@pytest.mark.parametrize("prefer", ["llvm", "machine"])
def test_failure_names_the_positions(prefer):
    t, x, theta = symbols(3)
    port = compile_port(t, x, theta, casadi.log(x), prefer=prefer)
    with pytest.raises(FunctionFailed, match=r"t = 2.5, at position 0 \(nan\), 2 \(-inf\) of 3"):
        port(2.5, np.array([-1.0, 1.0, 0.0]), EMPTY)
    port = compile_port(t, x, theta, casadi.vertcat(x[0], casadi.inf), prefer=prefer)
    assert port.call_status(0.0, np.ones(3), EMPTY, np.empty(2)) == RETRY


def test_wrong_arrays_are_refused():
    t, x, theta = symbols(3)
    port = compile_tape(t, x, theta, x)
    for wrong in (np.ones(2), np.ones(6)[::2]):
        with pytest.raises(ValueError, match="x must be"):
            port(0.0, wrong, EMPTY)
    with pytest.raises(TypeError, match="float64"):
        port(0.0, np.ones(3, dtype=int), EMPTY)
    fixed = np.ones(3)
    fixed.flags.writeable = False
    np.testing.assert_array_equal(port(0.0, fixed, EMPTY), fixed)


def test_the_choice_of_the_backend(monkeypatch):
    t, x, theta = symbols(1)
    assert compile_port(t, x, theta, x).backend == "llvm"
    assert compile_port(t, x, theta, x.printme(1)).backend == "machine"
    monkeypatch.setattr("dalembert.compile.graph.LONGEST", 1)
    assert compile_port(t, x, theta, x).backend == "machine"
    with pytest.raises(OptionError, match="'auto', 'llvm', 'machine'"):
        compile_port(t, x, theta, x, prefer="gpu")


@pytest.mark.parametrize("repeated", [True, False])
def test_long_graphs_are_searched_for_repetitions_only_if_there_are_many(repeated, monkeypatch):
    monkeypatch.setattr("dalembert.compile.graph.LONGEST", 100)
    t, x, theta = symbols(200, 1)
    several = [x] * 6 if repeated else [casadi.SX.sym("x", 200) for _ in range(3)]
    if not repeated:
        x = casadi.vertcat(*several)
    # nodes of their own in any case, of which some or all are the same
    out = casadi.vertcat(*(casadi.sin(part * theta) * casadi.exp(t) for part in several))
    port = compile_port(t, x, theta, out)
    assert port.backend == "machine"
    _, function = port._keep
    all_of_it, unique = (tape.port_function(t, x, theta, out, unique=unique) for unique in (False, True))
    assert unique.n_instructions() < all_of_it.n_instructions()
    assert function.n_instructions() == (unique if repeated else all_of_it).n_instructions()
    point, parameters = np.linspace(-1, 1, x.numel()), np.array([0.7])
    expected = np.array(casadi.Function("f", [t, x, theta], [out])(0.3, point, parameters)).ravel()
    same(port(0.3, point, parameters), expected)
