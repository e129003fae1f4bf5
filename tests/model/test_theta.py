"""The layout of θ, and discrete variables."""

import re
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.compile.system import compile_system
from dalembert.model.theta import ThetaLayout
from dalembert.regularize.system import System

ROOT = Path(da.__file__).parent


def switched(**changes):
    """A mass on a spring with a prescribed end and a damper that can be switched on; all of θ's parts occur."""
    return da.EquationsOfMotion(
        **dict(
            p=["x", "y"],
            parameters={"k": 4.0, "c": [1.0, 2.0]},
            discrete={"on": 0.0, "gear": 3},
            inputs={"end": lambda t: np.sin(2 * t)},
            mass=[1, 1],
            force=lambda s: [-s.k * (s.x - s.end) - s.on * s.c[0] * s.x_dot, -s.gear * s.y + s.end_dot],
        )
        | changes
    )


def test_the_parts_of_a_layout_cover_theta_once():
    layout = ThetaLayout(3, 2, 4)
    theta = np.arange(layout.size)
    parts = [layout.parameters, layout.discrete, layout.u, layout.du, layout.ddu]
    np.testing.assert_array_equal(np.concatenate([theta[part] for part in parts]), theta)
    np.testing.assert_array_equal(theta[layout.fixed], theta[:5])
    np.testing.assert_array_equal(theta[layout.inputs], theta[5:])
    np.testing.assert_array_equal(layout.input_rows(theta), [theta[layout.u], theta[layout.du], theta[layout.ddu]])
    assert (layout.n_fixed, layout.n_moving, layout.size) == (5, 12, 17)


def test_input_rows_are_a_window_on_theta():
    layout = ThetaLayout(1, 0, 2)
    theta = np.zeros(layout.size)
    layout.input_rows(theta)[1] = 7.0
    np.testing.assert_array_equal(theta[layout.du], 7.0)


def test_theta_of_a_model():
    model = switched()
    layout, theta = model.theta_layout, model.theta(0.5)
    np.testing.assert_array_equal(theta[layout.parameters], [4, 1, 2])
    np.testing.assert_array_equal(theta[layout.discrete], [0, 3])
    np.testing.assert_allclose(layout.input_rows(theta).ravel(), [np.sin(1), 2 * np.cos(1), -4 * np.sin(1)])
    np.testing.assert_array_equal(model.theta(0.5, discrete=[1, 2])[layout.discrete], [1, 2])
    np.testing.assert_array_equal(model.theta()[layout.inputs], 0)
    assert theta.shape == (model.graph.theta.numel(),)


@pytest.mark.parametrize("traced", [True, False])
def test_many_thetas_are_columns_of_single_ones(traced):
    end = da.Input(np.sin) if traced else da.Input(np.sin, derivatives=(np.cos, lambda t: -np.sin(t)))
    model, times = switched(inputs={"end": end}), np.array([0.0, 0.4, 2.0])
    found = model.thetas(times)
    np.testing.assert_allclose(found, np.array([model.theta(t) for t in times]).T, rtol=1e-15)
    assert model.thetas(times[:0]).shape == (model.theta_layout.size, 0)
    modes = np.array([[0, 1, 0], [1, 2, 3]])
    np.testing.assert_array_equal(model.thetas(times, discrete=modes)[model.theta_layout.discrete], modes)
    np.testing.assert_array_equal(model.thetas(times, discrete=modes[:, 1])[model.theta_layout.discrete][:, 2], [1, 2])


def test_discrete_variables_reach_compiled_functions_through_theta():
    model = switched()
    residual = compile_system(da.formulate(model)).residual
    state = np.array([0.0, 1.0, 2.0, 0.0, *np.zeros(4)])  # x, y, x', y' and their rates
    off, on = (residual(0.0, state, model.theta(0.0, discrete=np.array(modes)))[2:] for modes in ([0.0, 3], [1.0, 5]))
    np.testing.assert_allclose(off, [0, -3 + 2])
    np.testing.assert_allclose(on, [-2, -5 + 2])


def test_the_start_value_is_simulated():
    by_parameter = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [-s.k * s.x], parameters={"k": 2.0})
    by_mode = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [-s.k * s.x], discrete={"k": 2.0})
    first, second = (da.simulate(model, (0, 3), p0=[1.0], method=da.Hem5()) for model in (by_parameter, by_mode))
    np.testing.assert_array_equal(first.x, second.x)


@pytest.mark.parametrize("method", [da.Hem5(), da.Geoms(), da.Radau5(), da.Dassl()])
def test_untraceable_functions_read_discrete_variables_and_inputs(method):
    """A branch cannot be traced: both ways to write the force must give the same motion."""

    def force(s):
        return [-s.k * (s.x - s.end) - (s.c[0] * s.x_dot if s.on > 0.5 else 0.0), -s.gear * s.y + s.end_dot]

    traced, modes = switched(discrete={"on": 1, "gear": 3}), {"discrete": {"on": 1, "gear": 3}}
    with pytest.warns(da.UntraceableWarning):
        opaque = switched(force=force, **modes)
    ends = [da.simulate(model, (0, 1), p0=[1, 1], method=method, rtol=1e-8).p[-1] for model in (traced, opaque)]
    np.testing.assert_allclose(*ends, rtol=1e-6)


def test_derivatives_in_time_take_them_as_constants():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, 0], discrete={"L": 2.0}, holonomic=lambda s: [s.x**2 + s.L * s.y - s.L**2]
    )
    hidden = da.hidden_constraints(model)
    assert not ca.depends_on(hidden.g_I, model.graph.ddu)
    np.testing.assert_allclose(hidden.velocity([3.0, 1.0], [5.0, 7.0]), 2 * 3 * 5 + 2 * 7)


@pytest.mark.parametrize("kind", [da.QuasiLinearDAE, da.ImplicitDAE])
def test_daes_have_discrete_variables(kind):
    if kind is da.ImplicitDAE:
        model = kind(x=["y"], residual=lambda s: [s.y_dot + s.rate * s.y], discrete={"rate": 0.5})
    else:
        model = kind(x=["y"], rhs=lambda s: [-s.rate * s.y], discrete={"rate": 0.5})
    sol = da.simulate(model, (0, 2), x0=[1.0], method=da.Dassl(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.x[-1], np.exp(-1), rtol=1e-6)
    assert (model.discrete, model.discrete_names) == ({"rate": 0.5}, ("rate",))


def test_what_depends_on_them_is_not_constant():
    """Methods keep a constant mass matrix from the first step on; an event may change this one."""
    model = switched(mass=lambda s: [1 + s.on, 1])
    assert not model.structure.constant_mass
    assert not model.replace(parameters={"k": 5.0}).structure.constant_mass
    system: System = da.formulate(model)
    assert not system.leading_is_constant
    assert switched().structure.constant_mass


def test_promises_of_a_constant_mass_are_tried_with_other_values():
    def mass(s):
        return [1.0 if s.on < 0.5 else 2.0, 1.0]

    with pytest.warns(da.UntraceableWarning), pytest.raises(da.ModelError, match="other values at other points"):
        switched(mass=mass, constant_mass=True)
    with pytest.raises(da.ModelError, match="discrete variables"):
        switched(mass=lambda s: [1 + s.on, 1], constant_mass=True)


@pytest.mark.parametrize(
    ("discrete", "message"),
    [
        ({"x": 1.0}, "'x' is given twice"),
        ({"k": 1.0}, "'k' is given twice"),
        ({"end_dot": 1.0}, "'end_dot' is given twice"),
        ({"p": 1.0}, "discrete variable 'p': this name is reserved"),
        ({3: 1.0}, "names are non-empty strings"),
        ({"m": [1.0, 2.0]}, "must be a finite number"),
        ({"m": np.nan}, "must be a finite number"),
        ({"m": "on"}, "must be a finite number"),
        ({"m": None}, "must be a finite number"),
        ([1.0], "give a mapping of names"),
    ],
)
def test_faulty_discrete_variables(discrete, message):
    with pytest.raises(da.ModelError, match=re.escape(message)):
        switched(discrete=discrete, force=[0, 0])


def test_multipliers_do_not_take_their_names():
    with pytest.raises(da.ModelError, match="'lam1' is taken by a multiplier"):
        da.EquationsOfMotion(p=["x"], mass=[1], force=[0], discrete={"lam1": 0}, holonomic=lambda s: [s.x + s.lam1])


def test_derivatives_of_implicit_daes_do_not_take_their_names():
    with pytest.raises(da.ModelError, match="stands for the derivative of 'y'"):
        da.ImplicitDAE(x=["y"], residual=lambda s: [s.y_dot], discrete={"y_dot": 0})


def test_values_by_name():
    model = switched()
    np.testing.assert_array_equal(model.discrete_values(), [0, 3])
    np.testing.assert_array_equal(model.discrete_values({"gear": 4}), [0, 4])
    with pytest.raises(da.ModelError, match="there is no 'geer'; did you mean 'gear'"):
        model.discrete_values({"geer": 4})
    with pytest.raises(da.ModelError, match="must be a finite number"):
        model.discrete_values({"gear": np.inf})


def test_nobody_else_counts_the_entries_of_theta():
    pattern = re.compile(r"len\(theta\)|3 \* (n_u|len\((self\.|model\.|graph\.)*_?inputs\))")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in ROOT.rglob("*.py")
        for line in path.read_text().splitlines()
        if pattern.search(line)
    ]
    assert not found
