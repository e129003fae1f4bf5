"""Discrete variables: constant between events, whose actions may set them."""

import numpy as np
import pytest

import dalembert as da

METHODS = [da.Radau5(), da.Geoms(), da.Hem5(), da.Mexx(), da.Rkf45(), da.Dassl()]


def motor():
    """Driven until its speed reaches 1, then braked until 0.5, and so on: a two-point controller."""
    return da.EquationsOfMotion(
        p=["angle"], v=["speed"], mass=[1.0], kinematics=[[1.0]], discrete={"on": 1.0},
        force=lambda s: [s.on * 2.0 - (1 - s.on) * 1.0],
    )  # fmt: skip


EVENTS = [
    da.Event(lambda s: s.speed - 1.0, direction=1, action=lambda s: {"on": 0}, name="off"),
    da.Event(lambda s: s.speed - 0.5, direction=-1, action=lambda s: {"on": 1}, name="on again"),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_controller_switches(method):
    sol = da.simulate(motor(), (0, 2), p0=[0.0], method=method, events=EVENTS, rtol=1e-8, atol=1e-8)
    # 0.5 s up, 0.5 s down, 0.25 s up, …
    assert sol.events.t == pytest.approx([0.5, 1.0, 1.25, 1.75, 2.0][: len(sol.events)], abs=1e-7)
    assert len(sol.events) >= 4
    assert sol.at([0.25, 0.75, 1.1, 1.5, 1.9])["on"].tolist() == [1, 0, 1, 0, 1]
    assert sol.at(0.75)["on"] == 0.0
    assert sol["speed"].max() < 1 + 1e-6
    first = int(np.argmax(np.diff(sol.t) == 0))
    assert sol["on"][first : first + 2].tolist() == [1, 0]  # before and after
    assert "on" in sol.names


def test_start_values_of_a_run():
    sol = da.simulate(motor(), (0, 0.1), p0=[0.0], v0=[1.0], discrete={"on": False})
    assert sol["speed"][-1] == pytest.approx(0.9)
    assert motor().discrete == {"on": 1.0}
    with pytest.raises(da.ModelError, match="did you mean 'on'"):
        da.simulate(motor(), (0, 1), p0=[0.0], discrete={"onn": 1})


def test_discrete_variables_in_constraints():
    """A rail that is switched from one place to another moves the bead with it, and the residuals know."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 1.0], force=[1.0, 0.0], holonomic=lambda s: [s.y - s.rail], discrete={"rail": 0.0}
    )
    switch = da.Event(lambda s: s.x - 0.5, action=lambda s: {"rail": 1.0, "y": 1.0}, name="switch")
    for method in METHODS:
        sol = da.simulate(model, (0, 2), p0=[0, 0], method=method, events=switch)
        assert sol["y"][-1] == pytest.approx(1.0)
        assert sol.max_residual("position") < 1e-8


def test_results_keep_them_in_files(tmp_path):
    sol = da.simulate(motor(), (0, 2), p0=[0.0], events=EVENTS)
    sol.save(tmp_path / "motor.h5")
    again = da.Solution.load(tmp_path / "motor.h5", model=motor())
    assert again.segments == sol.segments
    np.testing.assert_array_equal(again["on"], sol["on"])
    np.testing.assert_array_equal(again.accelerations(), sol.accelerations())
    # 2 where it is driven, −1 where it is braked
    np.testing.assert_allclose(sol.accelerations()[:, 0], np.where(sol["on"] == 1, 2.0, -1.0), atol=1e-9)
