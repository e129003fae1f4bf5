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
