"""What ``method="auto"`` takes, what it says about it, and how it changes its mind."""

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.simulation.pilot import tightened
from dalembert.solvers.method import Tolerances

AT = 5.0  # where `melting` changes


def melting(*, backwards=False):
    """Two masses on a circle's chord; what holds them together is soft, and hardens with time, or the reverse."""
    sign = -1 if backwards else 1
    return da.EquationsOfMotion(
        p=["x", "y", "z"],
        parameters=dict(hard=3e7),
        mass=[1, 1, 1],
        force=lambda s: [
            0,
            -9.81,
            -(1.0 + s.hard * 0.5 * (1 + np.tanh(sign * 20 * (s.t - AT)))) * ((s.z - s.x) + 1e-2 * (s.z_dot - s.x_dot)),
        ],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )


START = {"p0": [1, 0, 1], "v0": [0, 0, 0]}


def names(sol):
    choice = sol.method_choice
    return [type(choice.method).__name__, *(change.method.split("(")[0] for change in choice.changes)]


def test_it_says_what_it_chose_and_why():
    sol = da.problems.pendulum().simulate()
    assert isinstance(sol.method_choice.method, da.Hedop5)
    assert "not stiff" in str(sol.method_choice)
    assert sol.method_choice.tried == sol.method_choice.changes == ()
    assert sol.method.startswith("Hedop5")
    assert str(pickle.loads(pickle.dumps(sol)).method_choice) == str(sol.method_choice)
    assert da.problems.pendulum().simulate(method="radau5").method_choice is None
    dae = da.problems.naive(da.problems.pendulum())
    assert isinstance(dae.simulate().method_choice.method, da.Qualidaes)
    assert "hide constraints" in str(dae.simulate(method="AUTO").method_choice)
    assert names(da.problems.bouncing_ball().simulate()) == ["Geoms"]
    assert names(da.problems.ball_in_ellipse().simulate()) == ["Radau5"]
    assert names(da.problems.pendulum().simulate(rtol=1e-11, atol=1e-11)) == ["Mexx"]


def test_without_stiffness_the_result_is_that_of_the_explicit_method():
    problem = da.problems.andrews()
    asked = tightened(Tolerances(np.array([1e-6]), np.array([1e-8])))
    own = problem.simulate(method=da.Hedop5(), rtol=float(asked.rtol[0]), atol=float(asked.atol[0]))
    sol = problem.simulate()
    for kind in ("t", "p", "v"):
        np.testing.assert_array_equal(getattr(sol, kind), getattr(own, kind))
    np.testing.assert_allclose(sol.lam, own.lam, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["railway_carriage", "moving_chain", "passenger_car"])
def test_with_stiffness_the_result_is_that_of_the_implicit_method(name):
    problem = getattr(da.problems, name)()
    sol = problem.simulate(rtol=1e-5, atol=1e-5)
    assert "stiff from the start" in sol.method_choice.why
    own = problem.simulate(method=sol.method_choice.method, rtol=1e-5, atol=1e-5)
    for kind in ("t", "p", "v"):
        np.testing.assert_array_equal(getattr(sol, kind), getattr(own, kind))
    np.testing.assert_allclose(sol.lam, own.lam, rtol=1e-7, atol=1e-7 * np.abs(own.lam).max(initial=1.0))
    t = np.linspace(0, problem.t_end, 50)
    np.testing.assert_allclose(sol.at(t).lam, own.at(t).lam, rtol=1e-4, atol=1e-5 * np.abs(own.lam).max(initial=1.0))


@pytest.mark.parametrize(("backwards", "first", "then"), [(False, "Hedop5", "Radau5"), (True, "Radau5", "Hedop5")])
def test_it_changes_on_the_way(backwards, first, then):
    model, end = melting(backwards=backwards), 30.0 if backwards else 10.0
    sol = da.simulate(model, (0, end), **START, rtol=1e-6, atol=1e-6)
    assert (names(sol)[0], names(sol)[-1]) == (first, then)
    near = [change.t for change in sol.method_choice.changes]
    assert any(AT - 0.5 < t < AT + (8 if backwards else 2) for t in near)
    assert f"from t = {near[0]:.6g} on" in str(sol.method_choice)
    alone = da.simulate(model, (0, end), **START, method="radau5", rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.p[-1], alone.p[-1], atol=1e-3)
    # constraints hold on all levels that both methods keep, multipliers belong to the motion, at steps and between
    assert sol.max_residual("position") < 1e-6
    assert sol.max_residual("velocity") < 1e-5
    for t in np.linspace(0.1, end - 0.1, 77):
        state = sol.at(t)
        right = da.consistent_initial_values(model, t, p0=state.p, v0=state.v).lam
        np.testing.assert_allclose(state.lam, right, rtol=1e-4, atol=1e-4 * np.abs(sol.lam).max())
    # dense output goes through the points
    np.testing.assert_allclose(sol.at(sol.t).p, sol.p, atol=1e-9)
    explicit = da.simulate(model, (0, end), **START, method="hedop5", rtol=1e-6, atol=1e-6)
    assert sol.stats.accepted < 0.2 * explicit.stats.accepted


def test_the_same_call_takes_the_same_steps():
    model = melting()
    one, two = (da.simulate(model, (0, 10), **START) for _ in range(2))
    assert len(names(one)) > 1
    np.testing.assert_array_equal(one.x, two.x)
    assert str(one.method_choice) == str(two.method_choice)


def test_events_are_found_across_changes():
    model = melting()
    events = da.Event(lambda s: s.x, name="below")
    sol = da.simulate(model, (0, 10), **START, events=events, rtol=1e-8, atol=1e-8)
    own = da.simulate(model, (0, 10), **START, events=events, rtol=1e-8, atol=1e-8, method="radau5")
    assert len(names(sol)) > 1
    np.testing.assert_allclose(sol.events.named("below").t, own.events.named("below").t, atol=1e-5)


def test_output_at_times_and_of_components():
    model, t = melting(), np.linspace(0, 10, 41)
    sol = da.simulate(model, (0, 10), **START)
    for options in ({}, {"dense_output": False}):
        at = da.simulate(model, (0, 10), **START, t_eval=t, **options)
        np.testing.assert_allclose(at.p, sol.at(t).p, atol=1e-12)
        np.testing.assert_allclose(at.lam, sol.at(t).lam, atol=1e-6)
    some = da.simulate(model, (0, 10), **START, t_eval=da.Output(times=t, components=["x", "lam1"]))
    np.testing.assert_allclose(some["lam1"], sol.at(t).lam[:, 0], atol=1e-6)


def test_constraints_that_are_released_stay_so_after_a_change():
    model = melting()
    cut = da.Event(lambda s: s.t - 4.0, action=lambda s: da.Transition(active=[]), name="cut")
    options = {"events": cut, "rtol": 1e-7, "atol": 1e-7}
    sol = da.simulate(model, (0, 7), **START, **options)
    assert "Radau5" in names(sol)
    own = da.simulate(model, (0, 7), **START, **options, method="radau5")
    np.testing.assert_allclose(sol.p[-1], own.p[-1], rtol=1e-4, atol=1e-3)
    assert (sol.lam[sol.t > 4.01] == 0).all()
    assert (sol.lam[sol.t < 3.99] != 0).any()


def test_a_run_that_goes_on_has_the_bits_of_one_that_was_not_stopped(tmp_path):
    model, path = melting(), tmp_path / "run.h5"
    whole = da.simulate(model, (0, 10), **START)
    assert len(names(whole)) > 1
    checkpoint = da.Checkpoint(path, every=0.0)
    for most in range(60, whole.stats.accepted, 37):
        with pytest.raises(da.TooManySteps):
            da.simulate(model, (0, 10), **START, checkpoint=checkpoint, max_steps=most)
    with pytest.raises(da.FileError, match="method"):
        da.simulate(model, (0, 10), **START, checkpoint=checkpoint, method="hedop5")
    sol = da.simulate(model, (0, 10), **START, checkpoint=checkpoint)
    np.testing.assert_array_equal(sol.x, whole.x)
    assert str(sol.method_choice) == str(whole.method_choice)


def test_a_method_that_cannot_go_on_is_replaced():
    """Steps of explicit methods fall to nothing where a damper becomes as strong as a wall, before anybody looks."""
    model = da.EquationsOfMotion(
        p=["x"], mass=[1.0], force=lambda s: [1.0 - 1e9 * s.x_dot * (s.t > 0.5)],
    )  # fmt: skip
    sol = da.simulate(model, (0, 1), p0=[0.0])
    assert names(sol)[-1] == "Radau5"
    assert sol.p[-1, 0] == pytest.approx(0.125, abs=1e-6)


def test_tolerances_are_those_of_the_model_s_unknowns():
    problem = da.problems.slider_crank()
    n = sum(len(problem.model.names(kind)) for kind in ("p", "v", "lam"))
    one = problem.simulate(rtol=1e-5, atol=np.full(n, 1e-5))
    two = problem.simulate(rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(one.x, two.x)
    with pytest.raises(da.OptionError, match="unknowns are"):
        problem.simulate(atol=np.full(3, 1e-5))


def test_a_profile_is_of_one_method():
    sol = da.simulate(melting(), (0, 10), **START, profile=True)
    assert names(sol) == ["Hedop5"]
    assert sol.profile["saddle-point systems" if "saddle-point systems" in sol.profile else "rates"] is not None


def test_redundant_constraints_lead_to_another_method():
    problem = da.problems.bricard()
    sol = problem.simulate()
    assert problem.error(sol) < 1e-4
    choice = sol.method_choice
    assert repr(choice.method) == "Geoms(algebraic='svd')"
    assert len(choice.tried) == 1
    assert "depend on each" in choice.tried[0][1]
    with pytest.raises(da.SingularMatrix):
        problem.simulate(method="radau5")


def test_with_a_checkpoint_it_stays_with_its_method(tmp_path):
    with pytest.raises(da.SingularMatrix):
        da.problems.bricard().simulate(checkpoint=tmp_path / "run.h5")


def test_other_failures_are_what_they_are():
    with pytest.raises(da.TooManySteps) as failure:
        da.problems.andrews().simulate(max_steps=5)
    assert names(failure.value.solution) == ["Hedop5"]
