"""Events: direction, several and even numbers of roots in one step, terminal ones, actions and restarts."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import SimulationError

FREE = dict(p=["y"], mass=[1.0], force=[-10.0])


def ball():
    return da.EquationsOfMotion(**FREE)


def oscillator(omega=1.0):
    return da.EquationsOfMotion(p=["q"], parameters=dict(k=omega**2), mass=[1.0], force=lambda s: [-s.k * s.q])


def test_roots_of_a_pendulum_passing_the_bottom():
    """The period-2 pendulum from the horizontal passes the bottom at t = 0.5, 1.5, 2.5, …"""
    problem = da.problems.pendulum(t_end=6.0)
    sol = problem.simulate(rtol=1e-11, atol=1e-11, events=lambda s: s.x)
    np.testing.assert_allclose(sol.events.t, np.arange(0.5, 6, 1), atol=2e-7)
    assert [e.direction for e in sol.events] == [-1, 1] * 3
    np.testing.assert_allclose([e.p[1] for e in sol.events], -1.0, atol=1e-6)


@pytest.mark.parametrize(("direction", "expected"), [(0, [0.5, 1.5, 2.5, 3.5]), (1, [1.5, 3.5]), (-1, [0.5, 2.5])])
def test_direction(direction, expected):
    model = oscillator(np.pi)
    event = da.Event(lambda s: s.q, direction=direction)
    sol = da.simulate(model, (0, 4), p0=[1.0], rtol=1e-10, atol=1e-10, events=event)
    np.testing.assert_allclose(sol.events.t, expected, atol=1e-6)


def test_backwards_in_time():
    sol = da.simulate(oscillator(np.pi), (0, -2), p0=[1.0], rtol=1e-10, atol=1e-10, events=da.Event(lambda s: s.q))
    np.testing.assert_allclose(sol.events.t, [-0.5, -1.5], atol=1e-6)


def test_two_roots_inside_one_step():
    """A parabola dips below the threshold for a moment; both ends of the (long) step lie above it."""
    sol = da.simulate(
        ball(), (0, 2), p0=[0.0], v0=[10.0], first_step=2.0, rtol=1e-3, atol=1e3, events=lambda s: s.y - 4.99
    )
    assert sol.stats.accepted == 1
    half = np.sqrt(2 * 0.01 / 10)
    np.testing.assert_allclose(sol.events.t, [1 - half, 1 + half], atol=1e-7)
    assert [e.direction for e in sol.events] == [1, -1]


@pytest.mark.parametrize("depth", [1e-3, 1e-5, 1e-7])
def test_narrow_dips_between_samples(depth):
    """The dip is narrower than the distance of the samples and does not contain one of them."""
    sol = da.simulate(
        ball(), (0, 1.9), p0=[0.0], v0=[10.0], first_step=1.9, rtol=1e-3, atol=1e3, events=lambda s: s.y - (5 - depth)
    )
    assert sol.stats.accepted == 1
    assert len(sol.events) == 2
    np.testing.assert_allclose(sol.events.t, 1 + np.array([-1, 1]) * np.sqrt(depth / 5), atol=1e-4 * np.sqrt(depth))


def test_three_roots_of_two_functions_in_order_of_time():
    sol = da.simulate(
        ball(), (0, 2), p0=[0.0], v0=[10.0], first_step=2.0, rtol=1e-3, atol=1e3,
        events=[da.Event(lambda s: s.y - 3.75, name="height"), da.Event(lambda s: s.y_dot, name="apex")],
    )  # fmt: skip
    assert [e.name for e in sol.events] == ["height", "apex", "height"]
    np.testing.assert_allclose(sol.events.t, [0.5, 1.0, 1.5], atol=1e-9)
    assert sol.events.named("apex").t.tolist() == pytest.approx([1.0])


def test_terminal_event_ends_at_the_root_of_the_solution_itself():
    """Dense output is of order 3; the end of the run is as accurate as the steps."""
    problem = da.problems.pendulum(t_end=6.0)
    event = da.Event(lambda s: s.x, terminal=True, name="bottom")
    for tolerance, error in ((1e-6, 1e-5), (1e-9, 1e-7), (1e-11, 2e-9)):
        sol = problem.simulate(rtol=tolerance, atol=tolerance, events=event)
        assert sol.status == "terminated by event 'bottom'"
        assert sol.t[-1] == sol.events[0].t
        assert abs(sol.t[-1] - 0.5) < error
        assert abs(sol["x"][-1]) < 1e-13
        assert sol.max_residual("position") < 10 * tolerance


def test_terminal_after_several():
    sol = da.simulate(
        oscillator(np.pi), (0, 10), p0=[1.0], rtol=1e-10, atol=1e-10, events=da.Event(lambda s: s.q, terminal=3)
    )
    assert sol.t[-1] == pytest.approx(2.5, abs=1e-7)
    assert len(sol.events) == 3


def test_scipy_style_attributes():
    def bottom(s):
        return s.y

    bottom.terminal = True
    bottom.direction = -1
    sol = da.simulate(ball(), (0, 10), p0=[5.0], events=bottom)
    assert sol.events[0].name == "bottom"
    assert sol.t[-1] == pytest.approx(1.0, abs=1e-12)


def test_bouncing_ball_restarts_exactly():
    """t_k = t_1 (1 + 2 (e + e² + …)), v_k = e^k v_1; the constraint-free flight is integrated exactly."""
    e, height = 0.8, 5.0
    event = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -e * s.y_dot}, name="floor")
    sol = da.simulate(ball(), (0, 6), p0=[height], events=event)
    first = np.sqrt(2 * height / 10)
    impacts, t, k = [], first, 0
    while t < 6:
        impacts.append(t)
        k += 1
        t += 2 * first * e**k
    np.testing.assert_allclose(sol.events.t, impacts, atol=1e-10)
    np.testing.assert_allclose([o.v[0] for o in sol.events], -10 * first * e ** np.arange(len(impacts)), rtol=1e-9)
    # the time of an impact occurs twice in the output, before and after it
    assert np.sum(np.isclose(sol.t, impacts[0], atol=1e-9)) == 2
    after = sol.at(impacts[0] + 1e-9)
    assert after["y_dot"] == pytest.approx(e * 10 * first, rel=1e-6)
    assert sol["y"].min() > -1e-12


def test_action_by_vector_and_with_constraints():
    """Reversing the velocity of a constrained pendulum retraces its path."""
    problem = da.problems.pendulum()
    turn = da.Event(lambda s: s.t - 0.3, action=lambda s: {"v": -s.v})
    sol = problem.simulate(rtol=1e-10, atol=1e-10, events=turn)
    assert sol.events.t.tolist() == pytest.approx([0.3], abs=1e-12)
    np.testing.assert_allclose(sol.at(0.6).p, problem.p0, atol=1e-6)
    assert sol.max_residual("velocity") < 1e-8


def test_inconsistent_change_is_made_consistent():
    problem = da.problems.pendulum(start="hanging", v0=1.0)
    kick = da.Event(lambda s: s.t - 0.1, action=lambda s: {"v": s.v + np.array([0.3, 0.5])})
    with pytest.warns(da.InitialValuesCorrected):
        sol = problem.simulate(rtol=1e-9, atol=1e-9, events=kick)
    assert sol.max_residual("velocity") < 1e-7


def test_accumulating_events_are_an_error_with_the_solution_so_far():
    event = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -0.5 * s.y_dot}, name="floor")
    with pytest.raises(SimulationError, match="'floor' accumulates at t = 3") as error:
        da.simulate(ball(), (0, 10), p0=[5.0], events=event)
    assert error.value.solution.t[-1] == pytest.approx(3.0, abs=1e-6)
    assert len(error.value.solution.events) > 20


def test_starting_on_the_root_is_no_event():
    sol = da.simulate(oscillator(np.pi), (0, 0.7), p0=[0.0], v0=[1.0], events=lambda s: s.q)
    assert len(sol.events) == 0


def test_events_of_multipliers_inputs_parameters_and_time():
    """Lift-off: the rod of a thrown pendulum changes from tension to compression."""
    problem = da.problems.pendulum(start="hanging", v0=6.0, g=9.81, t_end=2.0)
    sol = problem.simulate(rtol=1e-9, atol=1e-9, events=lambda s: s.lam1)
    # λ = (v² − g y)/2 vanishes where v² = g y; with v² = v0² − 2 g (1 + y): y = (v0² − 2 g)/(3 g)
    height = (36 - 2 * 9.81) / (3 * 9.81)
    assert sol.events[0].p[1] == pytest.approx(height, abs=1e-5)


def test_action_that_fails_keeps_the_solution():
    def broken(s):
        raise RuntimeError("no idea")

    for action, message in (
        (broken, "RuntimeError: no idea"),
        (lambda s: {"z": 1.0}, "there is no 'z'"),
        (lambda s: {"y_dot": np.nan}, "sets 'y_dot' to nan"),
        (lambda s: 3, "mapping of names"),
        (lambda s: {"v": [1.0, 2.0]}, "gives 2 values for v"),
    ):
        event = da.Event(lambda s: s.y, action=action, name="floor")
        with pytest.raises(SimulationError, match=message) as error:
            da.simulate(ball(), (0, 10), p0=[5.0], events=event)
        assert error.value.solution.t[-1] == pytest.approx(1.0, abs=1e-9)


def test_faulty_events():
    with pytest.raises(da.OptionError, match="direction=2"):
        da.Event(lambda s: s.y, direction=2)
    with pytest.raises(da.OptionError, match="needs a function"):
        da.Event(3.0)
    with pytest.raises(da.OptionError, match="two events have the name 'a'"):
        da.simulate(
            ball(), (0, 1), p0=[0], events=[da.Event(lambda s: s.y, name="a"), da.Event(lambda s: s.y_dot, name="a")]
        )
    with pytest.raises(da.ModelError, match="there is no 'q'"):
        da.simulate(ball(), (0, 1), p0=[0], events=lambda s: s.q)
    with pytest.raises(da.ModelError, match="must return one number"):
        da.simulate(ball(), (0, 1), p0=[0], events=lambda s: [s.y, s.y_dot])


# -- accelerations, thresholds, check points ---------------------------------------------------------------------------

EVERY = [da.Radau5(), da.Geoms(), da.Hem5(), da.Rkf45(), da.Mexx()]
every = pytest.mark.parametrize("method", EVERY, ids=lambda m: type(m).__name__)


@every
def test_accelerations(method):
    """q = cos t: q'' has the roots of q, by vector and by name."""
    for function in (lambda s: s.a[0], lambda s: s.q_ddot):
        sol = da.simulate(oscillator(), (0, 5), p0=[1.0], method=method, rtol=1e-8, atol=1e-8, events=function)
        np.testing.assert_allclose(sol.events.t, [np.pi / 2, 3 * np.pi / 2], atol=2e-5)
        np.testing.assert_allclose([event.a for event in sol.events], [[0.0], [0.0]], atol=1e-9)


@every
def test_acceleration_of_a_constrained_body_ends_the_run(method):
    """The pendulum from the horizontal: y'' = 0 where 3 y² = 1, at y = −1/√3."""
    problem = da.problems.pendulum(t_end=1.0)
    stop = da.Event(lambda s: s.y_ddot, terminal=True, name="inflection")
    sol = problem.simulate(method=method, rtol=1e-9, atol=1e-9, events=stop)
    assert sol.status == "terminated by event 'inflection'"
    assert sol["y"][-1] == pytest.approx(-np.sqrt(1 / 3), abs=2e-6)


def test_names_of_accelerations():
    """Velocities with names of their own; a name that is taken keeps its meaning."""
    model = da.EquationsOfMotion(
        p=["phi"], v=["omega"], parameters=dict(omega_dot=5.0), mass=[1.0], force=lambda s: [-s.phi]
    )
    sol = da.simulate(model, (0, 2), p0=[1.0], events=[da.Event(lambda s: s.omega_dot - 6 + s.t, name="parameter")])
    np.testing.assert_allclose(sol.events.t, [1.0], atol=1e-9)
    plain = da.EquationsOfMotion(p=["phi"], v=["omega"], mass=[1.0], force=lambda s: [-s.phi])
    sol = da.simulate(plain, (0, 2), p0=[1.0], events=lambda s: s.omega_dot)
    np.testing.assert_allclose(sol.events.t, [np.pi / 2], atol=1e-4)


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
@pytest.mark.parametrize("method", [da.Radau5(), da.Mexx()], ids=lambda m: type(m).__name__)
def test_python_event_functions_read_accelerations_and_multipliers(method):
    problem = da.problems.pendulum(t_end=1.0)
    events = [
        da.Event(lambda s: float(s.y_ddot), name="acceleration"),
        da.Event(lambda s: s.lam1 - 5, name="multiplier"),
    ]
    sol = problem.simulate(method=method, rtol=1e-9, atol=1e-9, events=events)
    traced = problem.simulate(rtol=1e-11, atol=1e-11, events=[lambda s: s.y_ddot, lambda s: s.lam1 - 5])
    assert len(sol.events) == 4
    np.testing.assert_allclose(sol.events.t, traced.events.t, atol=2e-6)


def noise(amplitude):
    """Zero until t = 1 but for noise, then a motion that crosses zero upwards at t = 2 and downwards at t = 3."""

    def value(s):
        late = np.where(s.t > 1, (s.t - 1) * (s.t - 2) * (3 - s.t), 0.0)
        return late + np.where(s.t > 1, 0.0, amplitude * np.sin(1e4 * s.t))

    return value


@every
def test_threshold(method):
    run = dict(p0=[1.0], method=method, max_step=0.3)
    many = da.simulate(oscillator(), (0, 4), events=noise(1e-9), **run)
    assert len(many.events) > 4  # there is trouble without it
    few = da.simulate(oscillator(), (0, 4), events=da.Event(noise(1e-9), threshold=1e-6), **run)
    np.testing.assert_allclose(few.events.t, [2.0, 3.0], atol=1e-9)
    assert [event.direction for event in few.events] == [1, -1]


@every
def test_threshold_does_not_lose_roots(method):
    """Nor where a step ends within the band: here every step does, somewhere."""
    for max_step in (0.5, 0.05, 0.011):
        event = da.Event(lambda s: s.q, threshold=0.02)
        sol = da.simulate(
            oscillator(), (0, 10), p0=[1.0], method=method, max_step=max_step, rtol=1e-8, atol=1e-8, events=event
        )
        assert len(sol.events) == 3
        # a band that is left in a later step than it was entered: the root is known to the width of the band
        np.testing.assert_allclose(sol.events.t, np.pi * (np.arange(3) + 0.5), atol=0.03)


def test_threshold_and_dips():
    """A dip beyond the threshold is two roots, one that stays within it is none."""
    run = dict(p0=[0.0], v0=[10.0], first_step=2.0, rtol=1e-3, atol=1e3)
    for threshold, count in ((0.0, 2), (0.005, 2), (0.02, 0)):
        event = da.Event(lambda s: s.y - 4.99, threshold=threshold)
        sol = da.simulate(ball(), (0, 2), events=event, **run)
        assert sol.stats.accepted == 1
        assert len(sol.events) == count


def test_check_points():
    """Many roots in one long step need many points; with one, only the ends of the step are compared."""
    run = dict(p0=[0.0], v0=[10.0], first_step=2.0, rtol=1e-3, atol=1e3)
    roots = np.arange(1, 20) * 0.1
    found = {
        points: da.simulate(
            ball(), (0, 2), events=da.Event(lambda s: np.sin(10 * np.pi * s.t) + 1e-9, check_points=points), **run
        ).events
        for points in (1, 6, 50)
    }
    assert len(found[1]) == 0
    assert len(found[6]) < 19
    np.testing.assert_allclose(found[50].t[:19], roots, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(threshold=-1.0), "threshold=-1.0"),
        (dict(threshold=np.nan), "threshold=nan"),
        (dict(threshold="small"), "threshold='small'"),
        (dict(check_points=0), "check_points=0"),
        (dict(check_points=2.5), "check_points=2.5"),
    ],
)
def test_bad_thresholds_and_check_points(options, message):
    with pytest.raises(da.OptionError, match=message):
        da.Event(lambda s: s.q, **options)
