"""Studies by generated integrators: what single simulations give, up to rounding; and others where there are none."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

N = 70


def pendulum_study(**more):
    samples = {"L": np.linspace(0.8, 1.2, N), "y_dot": np.linspace(0.0, 1.0, N)}
    return da.sweep(da.problems.pendulum(), samples, **{"method": "hem5", "rtol": 1e-7, "atol": 1e-7, **more})


def test_values_are_those_of_threads():
    found, other = pendulum_study(), pendulum_study(engine="threads")
    assert (found.engine, other.engine) == ("generated", "threads")
    assert found.names == other.names
    assert found.status == other.status == ["finished"] * N
    np.testing.assert_array_equal(found.steps, other.steps)
    for name in found.names:
        np.testing.assert_allclose(found[name], other[name], rtol=1e-9, atol=1e-10)


def test_output_times_with_multipliers():
    times = [0.3, 1.0, 2.0]
    found, other = (pendulum_study(t_eval=times, keep=["x", "lam1"], engine=engine) for engine in ("auto", "threads"))
    assert found.engine == "generated"
    np.testing.assert_allclose(found["x"], other["x"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found["lam1"], other["lam1"], rtol=0, atol=1e-6 * np.abs(other["lam1"]).max())


def test_events_end_members():
    event = da.Event(lambda s: s.x, terminal=True, name="lowest")
    found, other = (pendulum_study(events=event, engine=engine) for engine in ("auto", "threads"))
    assert found.status == other.status
    np.testing.assert_allclose(found.t_end, other.t_end, rtol=1e-9)


def test_failures_are_told():
    found = pendulum_study(max_steps=20)
    assert found.status == ["failed"] * N
    assert "too many steps" in found.errors[0]


@pytest.mark.parametrize(
    "more",
    [
        {"method": "radau5"},
        {"summary": lambda sol: {"most": sol["x"].max()}},
        {"method": da.Hem5(drift_limit=1e-3)},
        {"events": da.Event(lambda s: s.x, action=lambda s: {"x_dot": 0.0, "y_dot": 0.0}, name="stop")},
    ],
    ids=["method", "summary", "option", "action"],
)
def test_what_generated_code_cannot_do_is_simulated(more):
    found = pendulum_study(**more)
    assert found.engine != "generated"
    assert found.success.all()


def test_asked_for_by_name_it_says_why_not():
    with pytest.raises(da.OptionError, match="integrates by Hem5"):
        pendulum_study(method="radau5", engine="generated")


def test_a_store_goes_on(tmp_path):
    path = tmp_path / "study.h5"
    first = pendulum_study(store=path)
    again = pendulum_study(store=path)
    np.testing.assert_array_equal(first["x"], again["x"])
    loaded = da.Sweep.load(path)
    np.testing.assert_array_equal(loaded["y_dot"], first["y_dot"])


def test_events_that_ended_members_are_named():
    spring = da.EquationsOfMotion(p=["x"], mass=[1.0], parameters={"k": 1.0}, force=lambda s: [-s.k * s.x])
    events = [da.Event(lambda s: s.x_dot, name="rare", direction=1), da.Event(lambda s: s.x, name="often", terminal=20)]
    for engine in ("auto", "threads"):
        found = da.sweep(
            spring, {"k": np.linspace(1, 4, N)}, (0, 200), p0=[0.1], method="hem5", events=events, engine=engine
        )  # fmt: skip
        assert set(found.status) == {"terminated by event 'often'"}


@pytest.mark.filterwarnings("ignore:input 'u'")
def test_an_input_that_fails_is_a_failure_of_members():
    def sensor(t):
        if float(t) > 0.5:
            raise RuntimeError("no signal")
        return 1.0

    model = da.EquationsOfMotion(
        p=["x"], mass=[1.0], parameters={"k": 1.0}, inputs={"u": sensor}, force=lambda s: [-s.k * s.x + s.u]
    )  # fmt: skip
    found = da.sweep(model, {"k": np.linspace(1, 4, N)}, (0, 1), p0=[0.1], method="hem5")
    assert found.engine != "generated"
    assert found.status == ["failed"] * N
    assert "no signal" in found.errors[N - 1]
