"""`simulate`: output times, inputs with breakpoints, parameters, threads, interruption, checkpoints."""

import math
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da


def test_output_times_are_met_exactly_and_interpolated():
    problem = da.problems.pendulum()
    times = np.linspace(0, 2, 41)
    sol = problem.simulate(rtol=1e-10, atol=1e-10, t_eval=times)
    assert sol.t.tolist() == times.tolist()
    assert sol.p.shape == (41, 2)
    dense = problem.simulate(rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(sol.p[1:], dense.at(times[1:]).p)


def test_output_without_polynomials_is_the_same():
    problem = da.problems.car_axis()
    for times in (np.linspace(0.5, 3, 11), np.linspace(0, 3, 7), [0.0], [3.0], []):
        kept, dropped = (problem.simulate(t_eval=times, dense_output=d) for d in (True, False))
        assert kept.t.tolist() == dropped.t.tolist() == list(times)
        np.testing.assert_allclose(kept.x, dropped.x, rtol=0, atol=1e-13)
    with pytest.raises(da.OptionError, match="dense_output=True"):
        dropped.at(1.234)


def test_empty_interval_returns_the_consistent_start():
    sol = da.simulate(da.problems.pendulum(g=9.81).model, (1, 1), p0=[0, -1], v0=[1, 0])
    assert sol.t.tolist() == [1.0]
    assert sol.lam[0, 0] == pytest.approx((1 + 9.81) / 2)


def test_start_values_by_name():
    model = da.problems.pendulum().model
    by_name = da.simulate(model, (0, 1), p0={"x": 0.6, "y": -0.8}, v0={"x_dot": 0.4, "y_dot": 0.3})
    by_array = da.simulate(model, (0, 1), p0=[0.6, -0.8], v0=[0.4, 0.3])
    np.testing.assert_array_equal(by_name.x, by_array.x)


def compiled_form(model):
    """What the default method calls, compiled at its first use."""
    from dalembert.compile.system import compile_system

    return compile_system(da.Radau5().formulate(model))


def test_parameters_change_without_recompiling():
    problem = da.problems.pendulum(g=9.81)
    problem.simulate()
    compiled = compiled_form(problem.model)
    for g in (1.62, 3.7, 24.8):
        sol = problem.simulate(parameters={"g": g}, rtol=1e-10, atol=1e-10)
        other = da.problems.pendulum(g=g)
        np.testing.assert_allclose(sol.p[-1], other.simulate(rtol=1e-10, atol=1e-10).p[-1], atol=1e-12)
        assert sol.parameters["g"] == g
        assert compiled_form(problem.model.replace({"g": g})) is compiled
    assert problem.model.parameters["g"] == 9.81


def driven(u):
    return da.EquationsOfMotion(p=["q"], mass=[1.0], force=lambda s: [s.u1 - s.q], inputs={"u1": u})


def test_inputs_change_without_recompiling():
    model = driven(lambda t: 0 * t)
    da.simulate(model, (0, 1), p0=[0.0])
    compiled = compiled_form(model)
    sol = da.simulate(model, (0, 2), p0=[0.0], inputs={"u1": lambda t: np.sin(2 * t)}, rtol=1e-9, atol=1e-9)
    exact = (2 * np.sin(2) - np.sin(4)) / 3  # q'' + q = sin 2t
    assert sol["q"][-1] == pytest.approx(exact, abs=1e-7)
    assert compiled_form(sol.model) is compiled


def test_breakpoints_of_inputs_are_met():
    """A step at t = 1: with the breakpoint the solution is exact to the tolerance, on either side of it."""
    for step in (lambda t: np.where(t > 1, 1.0, 0.0), lambda t: np.where(t >= 1, 1.0, 0.0)):
        model = driven(da.Input(step, breakpoints=[1.0]))
        sol = da.simulate(model, (0, 3), p0=[0.0], rtol=1e-9, atol=1e-9)
        exact = np.where(sol.t > 1, 1 - np.cos(sol.t - 1), 0.0)
        np.testing.assert_allclose(sol["q"], exact, atol=1e-7)
        assert sol.stats.error_rejections + sol.stats.convergence_rejections <= 8
        assert np.abs(sol.t - 1.0).min() < 1e-15
    unmarked = da.simulate(driven(step), (0, 3), p0=[0.0], rtol=1e-9, atol=1e-9)
    assert unmarked.stats.rejected > sol.stats.rejected


def prescribed(drive, force):
    """x follows an input; the multiplier is m x'' − force."""
    return da.EquationsOfMotion(
        p=["x"], mass=[2.0], force=force, inputs={"drive": drive}, holonomic=lambda s: [s.x - s.drive]
    )


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms(), da.Dassl(), da.Odassl(), da.Hem5(), da.Mexx()])
def test_multipliers_right_after_breakpoints(method):
    """They jump with u'', or with a force that contains the time, and go on where nothing jumps."""

    def ramp(power):
        return da.Input(lambda t: np.where(t < 1, 0.0, (t - 1) ** power), breakpoints=[1.0])

    def late(s):
        return [np.where(s.t < 1, 0.0, 5.0)]

    for drive, force, before, after in (
        (ramp(2), [0.0], 0.0, -4.0), (ramp(5), [0.0], 0.0, 0.0), (ramp(5), late, 0.0, 5.0),
    ):  # fmt: skip
        model = prescribed(drive, force)
        sol = da.simulate(model, (0, 2), p0=[0.0], method=method, rtol=1e-8, atol=1e-8)
        assert sol.at(0.9).lam == pytest.approx([before], abs=1e-4)
        later = sol.at(np.array([1.0 + 1e-9, 1.5]))
        assert later.lam[0] == pytest.approx([after], abs=1e-4)
        assert later["x"][1] == pytest.approx(0.5**2 if after == -4.0 else 0.5**5, abs=2e-6)


@pytest.mark.parametrize("tolerance", [1e-5, 1e-8])
@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms(), da.Dassl(), da.Odassl(), da.Hem5(), da.Mexx()])
def test_prescribed_motion_between_the_points(method, tolerance):
    """No freedom is left: points are exact whatever the steps, but the polynomials in between must follow as well."""
    model = prescribed(lambda t: np.sin(3 * t), [0.0])
    sol = da.simulate(model, (0, 10), p0=[0.0], v0=[3.0], method=method, rtol=tolerance, atol=tolerance)
    t = np.linspace(0, 10, 501)
    between = sol.at(t)
    allowed = (100 if not isinstance(method, da.Mexx) else 1000) * tolerance
    np.testing.assert_allclose(between["x"], np.sin(3 * t), atol=allowed)
    np.testing.assert_allclose(between["x_dot"], 3 * np.cos(3 * t), atol=10 * allowed)


def test_smooth_breakpoints_cost_no_start_values(monkeypatch):
    from dalembert.simulation import segments

    found = []

    def noted(model, t, given, **options):
        found.append(t)
        return da.consistent_initial_values(model, t, **given, **options)

    monkeypatch.setattr(segments, "start_values", noted)
    problem = da.problems.railway_carriage()
    sol = problem.simulate(method=da.Dassl(), rtol=1e-4, atol=1e-4)
    assert len(problem.model.breakpoints) == 8
    assert not found
    assert problem.error(sol) < 1e-3


def test_tables_as_inputs():
    t = np.linspace(0, 3, 301)
    model = driven(da.Input.table(t, np.sin(2 * t)))
    sol = da.simulate(model, (0, 2), p0=[0.0], rtol=1e-9, atol=1e-9)
    assert sol["q"][-1] == pytest.approx((2 * np.sin(2) - np.sin(4)) / 3, abs=1e-6)


def test_prescribed_motion_through_inputs_in_constraints():
    """x = u(t): velocity and acceleration constraints contain u' and u''."""
    model = da.EquationsOfMotion(
        p=["x"], mass=[2.0], force=[0.0], inputs={"drive": lambda t: np.sin(3 * t)}, holonomic=lambda s: [s.x - s.drive]
    )
    for formulation in ("index1", "index2", "index3", "ggl"):
        sol = da.simulate(
            model, (0, 2), p0=[0.0], v0=[3.0], method=da.Radau5(formulation=formulation), rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(sol["x"], np.sin(3 * sol.t), atol=1e-6)
        # index 3 weighs errors of velocities by h
        loose = 50 if formulation == "index3" else 1
        np.testing.assert_allclose(sol["x_dot"], 3 * np.cos(3 * sol.t), atol=1e-6 * loose)
        np.testing.assert_allclose(sol.lam[5:, 0], 18 * np.sin(3 * sol.t[5:]), atol=2e-3 * loose)


def test_a_thousand_runs_in_a_pool_of_two():
    """Every run has its own work space: results equal those of runs one after the other, bit for bit."""
    problem = da.problems.pendulum(g=9.81)
    angles = np.linspace(0.1, 3.0, 1000)

    def run(angle):
        p0 = [np.sin(angle), -np.cos(angle)]
        return da.simulate(problem.model, (0, 0.5), p0=p0, parameters={"g": 5 + angle}).p[-1]

    one_by_one = [run(angle) for angle in angles[::50]]
    with ThreadPoolExecutor(2) as pool:
        in_pool = list(pool.map(run, angles))
    np.testing.assert_array_equal(in_pool[::50], one_by_one)
    assert np.isfinite(in_pool).all()


def test_kernels_release_the_interpreter():
    """While a long simulation runs in one thread, another thread goes on: its loop keeps counting."""
    problem = da.problems.slider_crank()
    problem.simulate()
    longest, stop = [0.0], threading.Event()

    def watch():
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0)
            now = time.perf_counter()
            longest[0] = max(longest[0], now - last)
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    problem.simulate(rtol=1e-12, atol=1e-12)
    duration = time.perf_counter() - begin
    stop.set()
    watcher.join()
    assert longest[0] < 0.8 * duration


def test_interruption_keeps_what_was_computed():
    problem = da.problems.slider_crank()
    problem.simulate()
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for jobs in the background
    try:
        timer.start()
        with pytest.raises(da.Interrupted, match=r"interrupted at t = .*\.solution") as interrupted:
            da.simulate(problem.model, (0, 1000.0), **problem.start(), rtol=1e-10, atol=1e-10)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    sol = interrupted.value.solution
    assert isinstance(interrupted.value, KeyboardInterrupt)
    assert sol.status == "interrupted"
    assert len(sol.t) > 10
    assert np.isfinite(sol.x).all()
    assert sol.at(sol.t[-1] / 2).p.shape == (7,)


def test_checkpoint_holds_the_result(tmp_path):
    problem = da.problems.pendulum()
    path = tmp_path / "run.h5"
    sol = problem.simulate(checkpoint=path)
    loaded = da.Solution.load(path, model=problem.model)
    np.testing.assert_array_equal(loaded.x, sol.x)
    assert da.Solution.load(path).status == "finished"
    failed = tmp_path / "failed.h5"
    with pytest.raises(da.TooManySteps):
        problem.simulate(checkpoint=failed, max_steps=5)
    assert da.Solution.load(failed).status == "failed"


def test_progress_bar_runs(capsys):
    sol = da.problems.pendulum().simulate(progress=True)
    assert sol.status == "finished"


def test_tolerances_by_name_and_by_component():
    problem = da.problems.pendulum()
    n = 5  # of p, v and λ
    np.testing.assert_array_equal(
        problem.simulate(rtol=1e-7, atol=np.full(n, 1e-7)).x, problem.simulate(rtol=np.full(n, 1e-7), atol=1e-7).x
    )
    tight = problem.simulate(rtol=1e-6, atol={"x": 1e-11, "y": 1e-11, "x_dot": 1e-11, "y_dot": 1e-11})
    assert tight.stats.accepted >= problem.simulate(rtol=1e-6, atol=1e-8).stats.accepted


def test_steps_respect_their_limits():
    problem = da.problems.pendulum()
    sol = problem.simulate(max_step=0.01, first_step=1e-4)
    steps = np.diff(sol.t)
    assert steps[0] == pytest.approx(1e-4)
    assert steps.max() < 0.01 * (1 + 1e-9)
    with pytest.raises(da.TooManySteps, match="5 steps did not reach the end") as error:
        problem.simulate(max_steps=5)
    assert 0 < error.value.solution.t[-1] < 2


def test_method_by_name_class_and_object():
    problem = da.problems.pendulum()
    results = [problem.simulate(method=m).x for m in ("radau5", "Radau5", da.Radau5, da.Radau5())]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    with pytest.raises(da.OptionError, match="did you mean 'radau5'"):
        problem.simulate(method="radau")


def test_a_thousand_accepted_steps_cross_many_buffers():
    problem = da.problems.pendulum(t_end=40.0)
    sol = problem.simulate(method="radau5", rtol=1e-10, atol=1e-10)
    assert sol.stats.accepted > 2 * 512
    assert len(sol.t) == sol.stats.accepted + 1
    assert (np.diff(sol.t) > 0).all()
    assert problem.error(sol) < 1e-6


@pytest.mark.parametrize("method", ["hem5", "mexx", "radau5", "geoms", "dassl"])
def test_breakpoints_that_are_too_near_for_a_step(method):
    """Between them nothing changes: neither are start values lost, nor output times."""
    high = 3 * 0.1  # 0.30000000000000004

    def force(t):
        return np.where(t < high, 1.0, 2.0)

    for breakpoints, span in (([high], (0.3, 1.0)), ([0.3, high], (0.0, 1.0)), ([0.3], (0.0, high)), ([], (0.3, high))):
        model = da.EquationsOfMotion(
            p=["x"], mass=[1.0], force=lambda s: [s.u], inputs={"u": da.Input(force, breakpoints=breakpoints)}
        )  # fmt: skip
        times = np.array([span[0], span[1]])
        for dense in (True, False):
            sol = da.simulate(
                model, span, p0=[5.0], v0=[1.0], t_eval=times, dense_output=dense, method=method, rtol=1e-8, atol=1e-8
            )  # fmt: skip
            first, after = max(0.3 - span[0], 0.0), max(span[1] - max(0.3, span[0]), 0.0)
            exact = 5.0 + (first + after) + 0.5 * first**2 + first * after + after**2
            np.testing.assert_array_equal(sol.t, times)
            np.testing.assert_allclose(sol.p[:, 0], [5.0, exact], rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:input")
@pytest.mark.parametrize("method", ["hem5", "radau5", "geoms"])
def test_inputs_in_python_are_differentiated_where_somebody_reads_that(method):
    calls = []

    def wave(t):
        calls.append(t)
        return math.sin(5 * float(t))

    def model(**more):
        calls.clear()
        return da.EquationsOfMotion(
            p=["x", "y"], mass=[1.0, 1.0], inputs={"u": wave}, force=lambda s: [s.u - s.x, -s.y], **more
        )  # fmt: skip

    given = dict(t_span=(0, 2), p0=[0.5, 0.0], method=method, rtol=1e-7, atol=1e-7)
    sol = da.simulate(model(), **given)
    assert len(calls) < 2 * sol.stats.rhs_evaluations + 500
    c = 1 / (1 - 25)  # x'' + x = sin 5 t
    exact = 0.5 * np.cos(2) - 5 * c * np.sin(2) + c * np.sin(10)
    assert sol["x"][-1] == pytest.approx(exact, abs=1e-5)

    turns = da.Event(lambda s: s.rate, name="turns")
    sol = da.simulate(model(outputs={"rate": lambda s: s.u_dot}), **given, events=turns)
    times = np.arange(1, 7, 2) * np.pi / 10
    np.testing.assert_allclose(sol.events.named("turns").t, times, rtol=0, atol=1e-7)
    np.testing.assert_allclose(sol["rate"], 5 * np.cos(5 * sol.t), rtol=0, atol=1e-6)

    guided = model(holonomic=lambda s: [s.y - s.u])
    sol = da.simulate(guided, **given | {"v0": [0.0, 5.0]})
    np.testing.assert_allclose(sol["y_dot"], 5 * np.cos(5 * sol.t), rtol=0, atol=1e-6)
