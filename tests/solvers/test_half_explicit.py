"""What half-explicit methods share: descriptor form, ports, projection, events, inputs, failures."""

import math

import numpy as np
import pytest

import dalembert as da
from dalembert.compile.half_explicit import compile_descriptor
from dalembert.regularize import descriptor_form

METHODS = [da.Hem5(), da.Hedop5(), da.Phem56(), da.Rkf45(), da.Mexx()]
every = pytest.mark.parametrize("method", METHODS)
before_multipliers = pytest.mark.parametrize("method", METHODS[:4])  # forces are evaluated before multipliers are known


def pendulum(**given):
    arguments = dict(p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1])
    return da.EquationsOfMotion(**(arguments | given))


@pytest.fixture(scope="module")
def reference():
    return da.simulate(pendulum(), (0, 2), p0=[1, 0], method=da.Hem5(), rtol=1e-12, atol=1e-12)


# -- form and ports ----------------------------------------------------------------------------------------------------


def moving():
    """Everything that the form knows: kinematics, time, inputs, r, friction, holonomic and nonholonomic constraints."""
    return da.EquationsOfMotion(
        p=["x", "y", "th"], v=["u1", "u2", "u3"], r=["q"], inputs={"e": np.sin},
        kinematics=lambda s: [[np.cos(s.th), -np.sin(s.th), 0], [np.sin(s.th), np.cos(s.th), 0], [0, 0, 1]],
        mass=lambda s: [[2 + s.x**2, 0.1, 0], [0.1, 1, 0], [0, 0, 1 + s.t]],
        force=lambda s: [s.q - s.u1, s.e, 0.2 * s.lam1**2 * s.u3], dynamics=lambda s: [s.x - s.q],
        holonomic=lambda s: [s.x**2 + s.y * s.t - s.e], nonholonomic=lambda s: [s.u2 - s.x * s.u3 + s.t],
    )  # fmt: skip


def test_ports_give_what_the_form_says():
    model = moving()
    form = descriptor_form(model)
    compiled = compile_descriptor(form)
    assert form.has_friction
    assert not form.plain_kinematics
    assert form.variables == ("x", "y", "th", "u1", "u2", "u3", "q", "lam1", "mu1")
    rng = np.random.default_rng(3)
    t, state = 0.7, rng.normal(size=9)
    (x, y, th), (u1, u2, u3), q, lam = state[:3], state[3:6], state[6], state[7]
    theta = model.theta(t)
    e, e_dot, e_ddot = np.sin(t), np.cos(t), -np.sin(t)
    Z = np.array([[np.cos(th), -np.sin(th), 0], [np.sin(th), np.cos(th), 0], [0, 0, 1]])
    p_dot = Z @ [u1, u2, u3]
    np.testing.assert_allclose(
        compiled.rates(t, state, theta), [*p_dot, q - u1, e, 0.2 * lam**2 * u3, x - q], atol=1e-14
    )
    np.testing.assert_allclose(compiled.kinematics(t, state, theta), p_dot, atol=1e-15)
    values = compiled.matrices(t, state, theta)
    n_M, n_C = len(compiled.mass_pattern[0]), len(compiled.constraint_pattern[0])
    M, C, F = np.zeros((3, 3)), np.zeros((2, 3)), np.zeros((3, 2))
    M[compiled.mass_pattern] = values[:n_M]
    C[compiled.constraint_pattern] = values[n_M : n_M + n_C]
    F[compiled.friction_pattern] = compiled.friction(t, state, theta)
    np.testing.assert_allclose(M, [[2 + x**2, 0.1, 0], [0.1, 1, 0], [0, 0, 1 + t]])
    G = np.array([2 * x, t, 0])
    np.testing.assert_allclose(C, [G @ Z, [0, 1, -x]], atol=1e-15)
    np.testing.assert_allclose(values[n_M + n_C :], [y - e_dot, t], atol=1e-15)
    np.testing.assert_allclose(F, [[0, 0], [0, 0], [0.4 * lam * u3, 0]])
    np.testing.assert_allclose(compiled.position(t, state, theta), [x**2 + y * t - e])
    turning = u3 * np.array([-np.sin(th) * u1 - np.cos(th) * u2, np.cos(th) * u1 - np.sin(th) * u2, 0])
    gamma = [2 * p_dot[0] ** 2 + 2 * p_dot[1] - e_ddot + G @ turning, -p_dot[0] * u3 + 1]
    np.testing.assert_allclose(compiled.acceleration(t, state, theta), gamma, atol=1e-13)


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_ports_of_python_functions():
    """Whatever cannot be traced gives the same numbers, to the accuracy of differences."""
    python = da.EquationsOfMotion(
        p=["x", "y"], mass=lambda s: [1 + float(s.x) ** 2, 2.0], force=lambda s: [float(s.x_dot), -9.81],
        holonomic=lambda s: [math.hypot(s.x, s.y) - 1 - 0.1 * math.sin(s.t)],
        nonholonomic=lambda s: [float(s.x) * float(s.x_dot) + float(s.y_dot) + float(s.t)],
    )  # fmt: skip
    traced = da.EquationsOfMotion(
        p=["x", "y"], mass=lambda s: [1 + s.x**2, 2.0], force=lambda s: [s.x_dot, -9.81],
        holonomic=lambda s: [np.sqrt(s.x**2 + s.y**2) - 1 - 0.1 * np.sin(s.t)],
        nonholonomic=lambda s: [s.x * s.x_dot + s.y_dot + s.t],
    )  # fmt: skip
    state = np.array([0.4, 0.8, 0.3, -0.2, np.nan, np.nan])
    answers = []
    for model in (python, traced):
        compiled = compile_descriptor(descriptor_form(model))
        assert not compiled.form.has_friction
        values = compiled.matrices(0.3, state, model.theta(0.3))
        M, C = np.zeros((2, 2)), np.zeros((2, 2))
        n = len(compiled.mass_pattern[0])
        M[compiled.mass_pattern] = values[:n]
        C[compiled.constraint_pattern] = values[n:-2]
        others = (compiled.rates, compiled.position, compiled.acceleration)
        answers.append([M, C, values[-2:], *(port(0.3, state, model.theta(0.3)) for port in others)])
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@every
def test_models_that_need_other_methods(method):
    name = type(method).__name__
    for problem in (da.problems.ball_in_ellipse(), da.problems.motor_pendulum()):
        with pytest.raises(da.ModelError, match=f"{name} cannot treat .* take Geoms or Radau5"):
            problem.simulate(method=method)
    dae = da.QuasiLinearDAE(x=["x"], leading=[1], rhs=lambda s: [-s.x])
    with pytest.raises(da.ModelError, match=f"{name} needs EquationsOfMotion"):
        da.simulate(dae, (0, 1), x0=[1], method=method)


@before_multipliers
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_python_forces_that_read_multipliers(method):
    model = pendulum(force=lambda s: [0.0, -9.81 + 0 * float(s.lam1)])
    with pytest.raises(da.ModelError, match="depend on the multipliers"):
        da.simulate(model, (0, 1), p0=[1, 0], method=method)
    sometimes = pendulum(force=lambda s: [0.0, -9.81 + (0 * float(s.lam1) if float(s.t) > 0.5 else 0)])
    with pytest.raises(da.FunctionFailed, match="multipliers are NaN for forces") as caught:
        da.simulate(sometimes, (0, 1), p0=[1, 0], method=method)
    assert caught.value.solution.t[-1] == pytest.approx(0.5, abs=1e-3)


# -- what they can integrate -------------------------------------------------------------------------------------------


@every
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_untraceable_model(method, reference):
    model = pendulum(
        force=lambda s: [0.0, -9.81 if float(s.y) < 9 else 0.0], holonomic=lambda s: [math.hypot(s.x, s.y) - 1]
    )
    sol = da.simulate(model, (0, 2), p0=[1, 0], method=method, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(sol.p[-1], reference.p[-1], atol=2e-6)
    assert sol.max_residual("position") < 1e-14
    assert sol.max_residual("velocity") < 1e-11


@every
def test_semidefinite_mass(method, reference):
    """The angle has no mass of its own: positive on the null space of the constraints is enough."""
    model = da.EquationsOfMotion(
        p=["x", "y", "phi"], mass=[1, 1, 0], force=[0, -9.81, 0],
        holonomic=lambda s: [s.x - np.sin(s.phi), s.y + np.cos(s.phi)],
    )  # fmt: skip
    sol = da.simulate(model, (0, 2), p0=[1, 0, np.pi / 2], method=method, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.p[-1, :2], reference.p[-1], atol=1e-7)
    assert sol.max_residual("velocity") < 1e-14


@every
def test_no_constraints_and_no_multipliers(method):
    model = da.EquationsOfMotion(p=["q"], mass=[2.0], force=lambda s: [-8 * s.q])
    sol = da.simulate(model, (0, 3), p0=[1.0], method=method, rtol=1e-9, atol=1e-9, t_eval=[1.0, 2.5])
    np.testing.assert_allclose(sol["q"], np.cos(2 * sol.t), atol=1e-7)


SOLVERS = [
    da.Dense(), da.Compiled(), da.RangeSpace(), da.Block(), da.Sparse(), da.Recursive(), da.Auto(),
]  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("problem", [da.problems.andrews(), da.problems.heavy_top(t_end=0.2)], ids=lambda p: p.name)
@before_multipliers
def test_linear_solvers_agree(method, problem, solver):
    chosen = type(method)(linear_solver=solver)
    sol = problem.simulate(method=chosen, rtol=1e-9, atol=1e-9)
    other = problem.simulate(method=method, rtol=1e-9, atol=1e-9)
    assert abs(sol.stats.accepted - other.stats.accepted) <= 2
    np.testing.assert_allclose(sol.p[-1], other.p[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(sol.lam[-1], other.lam[-1], rtol=0, atol=1e-6 * np.abs(sol.lam).max())
    assert sol.max_residual("velocity") < 1e-10


@pytest.mark.parametrize("solver", [da.Symmetric(), da.ConjugateGradient()])
def test_symmetric_solvers_serve_methods_on_acceleration_level(solver):
    problem = da.problems.andrews()
    assert problem.error(problem.simulate(method=da.Rkf45(linear_solver=solver), rtol=1e-9, atol=1e-9)) < 1e-6
    with pytest.raises(da.OptionError, match="symmetric"):  # U is not G in the stages of HEM5
        problem.simulate(method=da.Hem5(linear_solver=solver))


@every
def test_backwards_in_time(method):
    forth = da.simulate(pendulum(), (0, 1), p0=[1, 0], method=method, rtol=1e-10, atol=1e-10)
    back = da.simulate(pendulum(), (1, 0), p0=forth.p[-1], v0=forth.v[-1], method=method, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(back.p[-1], [1, 0], atol=1e-7)
    np.testing.assert_allclose(back.at(0.4).v, forth.at(0.4).v, atol=1e-7)


@every
def test_parameters_and_inputs_of_the_run_count(method):
    """One compiled model, other numbers: not those with which it was compiled."""
    model = da.EquationsOfMotion(
        p=["z"],
        parameters=dict(m=1.0),
        inputs={"f": lambda t: 1.0 + 0 * t},
        mass=lambda s: [s.m],
        force=lambda s: [s.f],
    )
    ends = []
    for parameters, inputs in (({}, {}), (dict(m=2.0), {}), ({}, {"f": lambda t: 3.0 + 0 * t})):
        sol = da.simulate(model, (0, 1), p0=[0], method=method, parameters=parameters, inputs=inputs)
        ends.append(sol["z"][-1])
    np.testing.assert_allclose(ends, [0.5, 0.25, 1.5], rtol=1e-9)


@every
def test_inputs_with_breakpoints_and_rates(method):
    """The suspension of a pendulum moves by an input whose acceleration jumps at t = 1."""

    def drive(t):
        return np.where(t < 1.0, 0.0, 0.1 * (t - 1.0) ** 2)

    model = da.EquationsOfMotion(
        p=["x", "y"], inputs={"d": da.Input(drive, breakpoints=[1.0])}, mass=[1, 1], force=[0, -9.81],
        holonomic=lambda s: [(s.x - s.d) ** 2 + s.y**2 - 1],
    )  # fmt: skip
    sol = da.simulate(model, (0, 2), p0=[0.6, -0.8], method=method, rtol=1e-10, atol=1e-10)
    other = da.simulate(model, (0, 2), p0=[0.6, -0.8], method=da.Radau5(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sol.p[-1], other.p[-1], atol=1e-7)
    assert sol.max_residual("velocity") < 1e-12
    assert 1.0 in np.round(sol.t, 12)


@every
def test_steps_grow_quickly_where_there_is_no_error(method):
    flight = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=[0, -9.81])
    sol = da.simulate(flight, (0, 100), v0=[1, 50], p0=[0, 0], method=method)
    assert sol.stats.accepted < 15
    np.testing.assert_allclose(sol.p[-1], [100, 5000 - 9.81 * 5000], rtol=1e-12)


# -- the driver --------------------------------------------------------------------------------------------------------


@every
def test_events(method):
    """The period-2 pendulum passes the bottom at t = 0.5, 1.5, …; dense output is as accurate as the steps."""
    problem = da.problems.pendulum(t_end=6.0)
    sol = problem.simulate(method=method, rtol=1e-10, atol=1e-10, events=lambda s: s.x)
    np.testing.assert_allclose(sol.events.t, np.arange(0.5, 6, 1), atol=1e-7)
    stop = problem.simulate(
        method=method, rtol=1e-10, atol=1e-10, events=da.Event(lambda s: s.x, terminal=2, name="bottom")
    )
    assert stop.status == "terminated by event 'bottom'"
    assert stop.t[-1] == pytest.approx(1.5, abs=1e-8)
    assert abs(stop.p[-1, 0]) < 1e-12


@every
def test_event_on_a_multiplier_and_action(method):
    """Constraint forces are known between the steps; actions restart the method."""
    problem = da.problems.pendulum(t_end=2.0)
    sol = problem.simulate(method=method, rtol=1e-10, atol=1e-10, events=lambda s: s.lam1 - 10)
    exact = da.problems.pendulum(t_end=2.0).simulate(
        method=da.Radau5(), rtol=1e-12, atol=1e-12, events=lambda s: s.lam1 - 10
    )
    np.testing.assert_allclose(sol.events.t, exact.events.t, atol=1e-6)
    ball = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-10.0])
    bounce = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -0.5 * s.y_dot})
    sol = da.simulate(ball, (0, 2.6), p0=[5.0], method=method, events=bounce)
    np.testing.assert_allclose(sol.events.t, [1.0, 2.0, 2.5], atol=1e-9)


@every
def test_t_eval_files_and_checkpoints(method, tmp_path):
    problem = da.problems.andrews()
    times = np.linspace(0, problem.t_end, 7)
    sol = problem.simulate(method=method, rtol=1e-9, atol=1e-9, checkpoint=tmp_path / "run.h5")
    given = problem.simulate(method=method, rtol=1e-9, atol=1e-9, t_eval=times, dense_output=False)
    np.testing.assert_array_equal(given.t, times)
    np.testing.assert_allclose(given.x, sol.at(times).x, rtol=1e-12, atol=1e-12)
    loaded = da.Solution.load(tmp_path / "run.h5", problem.model)
    assert loaded.trajectory.coefficients.shape[1] == (15 if isinstance(method, da.Mexx) else 6)
    np.testing.assert_array_equal(loaded.at(0.0123).x, sol.at(0.0123).x)


def test_many_buffers():
    sol = da.problems.pendulum(t_end=40.0).simulate(method=da.Hem5(), rtol=1e-9, atol=1e-9)
    assert sol.stats.accepted > 5000
    assert da.problems.pendulum(t_end=40.0).error(sol) < 1e-7


# -- failures ----------------------------------------------------------------------------------------------------------


@every
def test_redundant_constraints_are_named(method):
    model = pendulum(holonomic=lambda s: [s.x**2 + s.y**2 - 1, 2 * s.x**2 + 2 * s.y**2 - 2], lam=["rod", "twin"])
    with pytest.raises(da.SingularMatrix, match=r"'rod', 'twin' are redundant.*Geoms\(algebraic='svd'\)"):
        da.simulate(model, (0, 1), p0=[1, 0], method=method)


@every
def test_leaving_the_domain_of_a_function(method):
    model = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [-1 / np.sqrt(s.x)])
    with pytest.raises(da.FunctionFailed, match="equation of motion of 'x_dot' cannot be evaluated") as caught:
        da.simulate(model, (0, 2), p0=[0.1], v0=[-1], method=method)
    assert 0.08 < caught.value.solution.t[-1] < 0.09


@every
def test_blow_up(method):
    model = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [s.x**3])
    with pytest.raises((da.StepSizeTooSmall, da.FunctionFailed)) as caught:
        da.simulate(model, (0, 5), p0=[1], v0=[1], method=method)
    assert caught.value.solution.t[-1] == pytest.approx(1.311, abs=1e-3)


@every
def test_too_many_steps(method):
    with pytest.raises(da.TooManySteps, match="10 steps did not reach the end") as caught:
        da.simulate(pendulum(), (0, 2), p0=[1, 0], method=method, max_steps=10)
    assert caught.value.solution.stats.accepted <= 10


@every
def test_start_values(method):
    impossible = pendulum(holonomic=lambda s: [s.x**2 + s.y**2 + 1])
    with pytest.raises(da.InconsistentInitialValues, match="lam1"):
        da.simulate(impossible, (0, 1), p0=[1, 0], method=method)
    with pytest.raises(da.InconsistentInitialValues, match=r"residual is 2\.1"):
        da.simulate(pendulum(), (0, 1), p0=[1.1, 0], method=type(method)(initial_values="check"))
    with pytest.warns(da.InitialValuesCorrected):
        sol = da.simulate(pendulum(), (0, 1), p0=[1.1, 0], method=method)
    assert sol.max_residual("position") < 1e-14
    np.testing.assert_allclose(sol.lam[0], [0.0], atol=1e-12)


@every
def test_exceptions_of_python_functions_come_through(method):
    def force(s):
        if float(s.t) > 0.3:
            raise ZeroDivisionError("broken spring")
        return [0.0, -9.81]

    with pytest.warns(da.UntraceableWarning):
        model = pendulum(force=force)
    with pytest.raises(da.FunctionFailed, match="broken spring"):
        da.simulate(model, (0, 1), p0=[1, 0], method=method)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(projection="all"), "projection='all' is unknown"),
        (dict(projection_every=0), "at least 1"),
        (dict(projection_limit=0.0), "must be positive"),
        (dict(drift_limit=-1.0), "drift_limit"),
        (dict(min_step=-1e-3), "min_step"),
        (dict(safety=1.5), "between 0 and 1"),
        (dict(max_growth=0.5), "exceed 1"),
        (dict(max_shrink=2.0), "between 0 and 1"),
        (dict(linear_solver="dense"), "linear_solver='dense' must be a solver"),
        (dict(initial_values="guess"), "initial_values"),
        (dict(projektion="both"), "did you mean 'projection'"),
        (dict(min_step="small"), "min_step='small' must be a finite number"),
    ],
)
@pytest.mark.parametrize("method", [da.Hem5, da.Rkf45])
def test_bad_options(method, options, message):
    with pytest.raises(da.OptionError, match=message):
        method(**options)


def test_bad_error_option():
    with pytest.raises(da.OptionError, match=r"min_step=0\.1 is larger than max_step=0\.01"):
        da.simulate(pendulum(), (0, 1), p0=[1, 0], method=da.Hem5(min_step=0.1), max_step=0.01)
    with pytest.raises(da.OptionError, match="error='velocities' is unknown"):
        da.Hem5(error="velocities")


def test_only_changed_options_are_shown():
    assert repr(da.Hem5(error="positions", projection="none")) == "Hem5(projection='none', error='positions')"
    assert repr(da.Rkf45()) == "Rkf45()"


@pytest.mark.parametrize("method", [da.Hem5(), da.Hedop5(), da.Phem56(), da.Rkf45()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("first_step", [1e-8, 1e-12, 1e-16, 1e-40, 1e-129])
def test_velocities_within_the_shortest_steps(method, first_step):
    """Differences of positions over such steps are rounding errors, and must not be divided by the step."""
    pendulum = da.problems.pendulum(g=9.81, start=1.0)
    output = da.Output(per_step=3)
    sol = pendulum.simulate(method=method, first_step=first_step, t_eval=output, rtol=1e-8, atol=1e-8)
    early = np.abs(sol.t) < 1e-4
    assert early.sum() > 8
    assert np.abs(sol.v[early] - sol.v[0] - np.outer(sol.t[early], sol.accelerations()[0])).max() < 1e-7
