"""Ports of expressions with native functions: no Python, no compilation that grows with the model, the same numbers."""

import threading

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.compile import jit
from dalembert.compile.gather import gathered
from dalembert.compile.half_explicit import compile_descriptor
from dalembert.compile.native import gather_port
from dalembert.compile.ports import OK, RETRY
from dalembert.compile.system import compile_system
from dalembert.regularize.formulations import FORMULATIONS
from native_recipes import names, native_force, native_loaded, pair, traced_force

N = 6
CASES = [
    {},
    {"derivatives": False},
    {"varying_mass": True},
    {"varying_mass": True, "with_accelerations": True},
    {"varying_mass": True, "with_accelerations": True, "together": False},
    {"rods": True},
    {"rods": True, "varying_mass": True, "with_accelerations": True, "inputs": {"drive": np.sin}},
]


def symbols():
    return ca.SX.sym("t"), ca.SX.sym("x", 5), ca.SX.sym("theta", 2)


def test_symbols_and_constants_are_gathered():
    t, x, theta = symbols()
    out = ca.vertcat(x[3], x[4], 2.5, theta[1], t, -x[0], -1.0, 0.0, x[0])
    point = np.arange(5.0) + 10
    port = gather_port(t, x, theta, out)
    assert port.backend == "native"
    np.testing.assert_array_equal(port(0.25, point, np.array([7.0, 8.0])), [13, 14, 2.5, 8, 0.25, -10, -1, 0, 10])


def test_long_columns_without_order_are_gathered():
    t, x, theta = ca.SX.sym("t"), ca.SX.sym("x", 200), ca.SX(0, 1)
    order = np.random.default_rng(0).permutation(200)
    signs = np.random.default_rng(2).choice([-1.0, 1.0], 200)
    out = ca.vertcat(*(x[int(k)] if sign > 0 else -x[int(k)] for k, sign in zip(order, signs, strict=True)))
    point = np.random.default_rng(1).uniform(size=200)
    port = gather_port(t, x, theta, out)
    np.testing.assert_array_equal(port(0.0, point, np.zeros(0)), signs * point[order])


@pytest.mark.parametrize(
    "make",
    [
        lambda t, x, theta: x[0] + x[1],
        lambda t, x, theta: 2 * x[0],
        lambda t, x, theta: ca.fmax(x[0], -1e9),
        lambda t, x, theta: ca.if_else(x[1] > -100, x[0], 0),
        lambda t, x, theta: x[0] + 0 * ca.sin(x[1]) * x[2] + 1 - 1,
        lambda t, x, theta: ca.sqrt(x[0]) ** 2,
    ],
)
def test_what_only_looks_like_a_symbol_is_computed(make):
    t, x, theta = symbols()
    expression = make(t, x, theta)
    if not expression.is_valid_input():
        assert gathered([t, x, theta], ca.vertcat(x[1], expression)).others.tolist() in ([1], [0, 1])


def test_constants_that_look_like_numbers_of_symbols_stay_constants():
    t, x, theta = symbols()
    found = gathered([t, x, theta], ca.vertcat(3.0, -4.0, x[2]))
    assert found.source.tolist() == [-1, -1, 1]
    assert found.value[:2].tolist() == [3.0, -4.0]


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_residuals_and_jacobians_are_those_of_the_traced_model(options, formulation):
    found, expected = {}, {}
    for model, numbers in zip(pair(N, **options), (found, expected), strict=True):
        system = da.formulate(model, formulation).stacked()
        compiled = compile_system(system)
        point = np.random.default_rng(2).uniform(-1, 1, 2 * system.n)
        theta = model.theta(0.3)
        numbers["residual"] = compiled.residual(0.3, point, theta)
        nonzeros = compiled.jacobian(0.3, point, theta)
        rows, columns = compiled.jacobian_pattern
        J, E = np.zeros((2, len(system.equations), system.n))
        J[rows, columns] = nonzeros[: len(rows)]
        E[compiled.leading_pattern] = nonzeros[len(rows) :]
        numbers |= {"J": J, "E": E, "backends": {compiled.residual.backend, compiled.jacobian.backend}}
    assert "python" not in found.pop("backends")
    expected.pop("backends")
    for what, value in expected.items():
        # what the code does not give are differences
        np.testing.assert_allclose(found[what], value, rtol=1e-7, atol=1e-8, err_msg=what)


@pytest.mark.parametrize("options", CASES)
def test_ports_of_the_descriptor_form_are_exact(options):
    found, expected = (compile_descriptor(da.Hem5().formulate(model)) for model in pair(N, **options))
    model = pair(N, **options)[0]
    x = np.random.default_rng(4).uniform(-1, 1, found.rates.n_x)
    for name in ("rates", "matrices", "position", "acceleration"):
        mine, other = getattr(found, name), getattr(expected, name)
        assert (mine is None) == (other is None)
        if mine is not None:
            assert mine.backend != "python"
            np.testing.assert_allclose(mine(0.3, x, model.theta(0.3)), other(0.3, x, model.theta(0.3)), rtol=1e-14)


def test_nothing_that_grows_is_compiled(monkeypatch):
    """The text that LLVM gets is as short for a thousand masses as for ten."""
    lengths, seen, build = {}, [], jit.build
    monkeypatch.setattr(
        jit, "build", lambda text, *args, **options: (seen.append(len(text)), build(text, *args, **options))[1]
    )
    for n in (10, 1000):
        seen.clear()
        model = da.EquationsOfMotion(p=names(n), mass=np.ones(n), force=native_force(n))
        compile_descriptor(da.Hem5().formulate(model))
        lengths[n] = max(seen)
    assert lengths[1000] < lengths[10] + 100


def test_what_is_not_finite_asks_for_a_smaller_step():
    model, _ = pair(N)
    port = compile_descriptor(da.Hem5().formulate(model)).rates
    x, out = np.zeros(2 * N), np.zeros(2 * N)
    assert port.call_status(0.0, x, model.theta(0.0), out) == OK
    x[-1] = np.nan
    assert port.call_status(0.0, x, model.theta(0.0), out) == RETRY
    x[-1], x[0] = 0.0, 2e3  # where the code itself refuses
    assert port.call_status(0.0, x, model.theta(0.0), out) == RETRY


def test_applied_forces_reach_the_code():
    """They are expressions of everything, also of time and parameters; derivatives go through them."""
    common = dict(p=names(N), mass=np.ones(N), parameters={"k": 3.0, "c": 0.1, "b": 0.7})

    def applied(s):
        return [s.b * np.sin(s.t) * s.p[i] - s.v[i] ** 3 for i in range(N)]

    native = da.EquationsOfMotion(force=native_loaded(N, applied), **common)
    traced = da.EquationsOfMotion(
        force=lambda s: [f + 2 * g for f, g in zip(traced_force(s), applied(s), strict=True)], **common
    )
    assert not native.structure.autonomous
    assert not native.time_acts_through_inputs
    start = dict(p0=np.linspace(0, 1, N), v0=np.linspace(-1, 1, N))
    for method in ("hem5", "radau5", "dassl"):
        found, expected = (da.simulate(model, (0, 2), method=method, **start).x[-1] for model in (native, traced))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_several_threads_are_inside_at_once():
    model, _ = pair(40, rods=True, varying_mass=True, with_accelerations=True)
    compiled = compile_system(da.formulate(model, "index2"))
    theta, points = model.theta(0.0), np.random.default_rng(0).uniform(-1, 1, (8, compiled.residual.n_x))
    expected = [compiled.jacobian(0.0, point, theta) for point in points]
    wrong = []

    def work(k):
        for _ in range(50):
            if not np.array_equal(compiled.jacobian(0.0, points[k], theta), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
