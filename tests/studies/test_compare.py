"""`compare`: errors and times of methods on one problem, and what follows from them."""

import numpy as np
import pytest

import dalembert as da
from dalembert.studies.compare import Comparison, Trial


@pytest.fixture(scope="module")
def pendulum():
    return da.compare(da.problems.pendulum(), ["hem5", "radau5"], [1e-4, 1e-6, 1e-8], repeat=1)


def test_errors_follow_the_tolerances(pendulum):
    for method in ("hem5", "radau5"):
        errors = [trial.error for trial in pendulum.trials if trial.method == method]
        assert (np.diff(errors) < 0).all()
        assert errors[-1] < 1e-3 * errors[0]
    assert all(trial.steps > 10 and trial.evaluations > trial.steps for trial in pendulum.trials)
    assert all(trial.seconds > 0 for trial in pendulum.trials)


def test_table_frame_picture(pendulum, tmp_path):
    lines = pendulum.table().splitlines()
    assert len(lines) == 7
    assert lines[0].split()[:3] == ["method", "tolerance", "error"]
    frame = pendulum.to_pandas()
    assert list(frame["method"].unique()) == ["hem5", "radau5"]
    assert frame["error"].tolist() == [trial.error for trial in pendulum.trials]
    pendulum.plot(tmp_path / "diagram.png")
    assert (tmp_path / "diagram.png").stat().st_size > 10_000
    assert str(pendulum).endswith(str(pendulum.recommend()))


def test_a_recommendation_is_the_quickest_that_is_good_enough():
    trials = (
        Trial(method="a", tolerance=1e-4, seconds=1.0, error=1e-3, multiplier_error=1e-3),
        Trial(method="b", tolerance=1e-4, seconds=2.0, error=1e-5, multiplier_error=1e-2),
        Trial(method="c", tolerance=1e-6, seconds=3.0, error=1e-5),
        Trial(method="d", tolerance=1e-6, failure="SingularMatrix: oh"),
    )
    found = Comparison("test", trials, {name: da.Radau5() for name in "abcd"}, "nothing")
    assert found.recommend(1e-2).method == "a"
    assert found.recommend(1e-4).method == "c"  # b has multipliers that are worse than that promises
    assert "takes 2.0 times as long" in found.recommend(1e-2).why
    with pytest.raises(da.OptionError, match=r"the least is 1\.0e-05"):
        found.recommend(1e-9)
    assert "SingularMatrix: oh" in found.table()


def test_models_get_references_that_are_confirmed():
    oscillator = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [-s.z])
    found = da.compare(oscillator, ["radau5", "hem5"], [1e-5, 1e-7], t_span=(0, np.pi), p0=[1.0], repeat=1)
    assert found.reference == "radau5 at 1e-10, confirmed by hem5"
    for trial in found.trials:
        sol = da.simulate(
            oscillator, (0, np.pi), p0=[1.0], method=trial.method, rtol=trial.tolerance, atol=trial.tolerance
        )
        exact = max(abs(sol["z"][-1] + 1) / 2, abs(sol["z_dot"][-1]))
        assert trial.error == pytest.approx(exact, rel=0.05, abs=1e-9)


def test_daes_and_failures_are_rows():
    found = da.compare(da.problems.transistor_amplifier(), {"ours": da.Radau5(), "stopped": "dassl"}, [1e-5], repeat=1)
    assert [trial.method for trial in found.trials] == ["ours", "stopped"]
    assert found.trials[0].error < 1e-3
    stiff = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [-1e9 * s.z - 1e6 * s.z_dot])
    found = da.compare(stiff, ["radau5", "rkf45"], [1e-4], t_span=(0, 10), p0=[1.0], repeat=1, max_steps=2000)
    assert "TooManySteps" in found.trials[1].failure
    assert found.recommend(1e-3).method == "radau5"


def test_all_methods_that_fit_are_tried():
    found = da.compare(da.problems.pendulum(), tolerances=[1e-5], repeat=1)
    assert {"hem5", "radau5", "geoms", "mexx"} <= {trial.method for trial in found.trials}
    assert all(not trial.failure for trial in found.trials)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"problem": 5}, "needs a problem"), ({"methods": ["hem6"]}, "hem5"), ({"methods": []}, "empty"),
        ({"tolerances": "x"}, "tolerances"), ({"tolerances": []}, "tolerances"), ({"rtol": 1}, "no argument 'rtol'"),
        ({"repeat": 0}, "repeat=0"), ({"problem": da.problems.pendulum().model}, "t_span"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(arguments, why):
    with pytest.raises(da.OptionError, match=why):
        da.compare(**({"problem": da.problems.pendulum()} | arguments))
