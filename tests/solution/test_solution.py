"""Values by kind, name and time; export; text."""

import sys

import numpy as np
import pytest

from dalembert.errors import DalembertError, ModelError, OptionError
from dalembert.solution import Solution, Statistics, Trajectory


def test_vectors_and_names(solution):
    t, x = solution.trajectory.points()
    assert len(t) == 7  # start, five steps, one jump
    assert np.array_equal(solution.t, t)
    assert np.array_equal(solution.x, x)
    assert np.array_equal(solution.p, x[:, :2])
    assert np.array_equal(solution.v, x[:, 2:4])
    assert np.array_equal(solution.lam, x[:, 4:5])
    for absent in (solution.r, solution.w, solution.s, solution.mu):
        assert absent.shape == (7, 0)
    assert np.array_equal(solution["y_dot"], x[:, 3])
    assert np.array_equal(solution["lam1"], x[:, 4])
    assert solution.names == ("x", "y", "x_dot", "y_dot", "lam1")
    assert "x" in solution
    assert "eta of lam1" not in solution
    assert solution.success
    assert not hasattr(solution, "eta")


@pytest.mark.parametrize(
    ("name", "message"), [("x_dt", "did you mean 'x_dot'"), ("eta of lam1", "there is no"), (0, "by name")]
)
def test_unknown_names(solution, name, message):
    with pytest.raises(ModelError, match=message):
        solution[name]
    with pytest.raises(ModelError, match=message):
        solution.at(0.1)[name]


def test_iteration_is_refused(solution):
    with pytest.raises(TypeError, match="not a sequence"):
        list(solution)


def test_at(solution):
    t = np.linspace(*solution.trajectory.interval, 11)
    many = solution.at(t)
    assert many.p.shape == (11, 2)
    assert np.array_equal(many.t, t)
    one = solution.at(t[3])
    assert one.t == t[3]
    assert one.lam.shape == (1,)
    assert one.mu.shape == (0,)
    assert one["x"] == one.x[0] == many["x"][3]
    assert isinstance(one["x"], float)
    assert "y=" in repr(one)
    assert "11 times" in repr(many)
    with pytest.raises(OptionError, match="outside the interval"):
        solution.at(-1.0)


def test_t_eval_replaces_the_steps_as_far_as_they_were_reached(make_solution):
    t_eval = np.array([0.0, 0.1, 0.2, 100.0])
    sol = make_solution(t_eval=t_eval, status="failed")
    assert np.array_equal(sol.t, t_eval[:3])
    assert np.array_equal(sol.x, sol.trajectory(t_eval[:3]))
    assert sol.p.shape == (3, 2)
    assert np.array_equal(sol.t_eval, t_eval)
    assert not sol.success
    assert sol.residual("position").shape == (3, 1)
    assert make_solution(t_eval=[]).residual("acceleration").shape == (0, 1)


def test_points_only(make_solution):
    trajectory = Trajectory.from_points([0.0, 0.5], np.arange(12.0).reshape(2, 6))
    sol = make_solution(trajectory=trajectory, t_eval=[0.0, 0.5])
    assert sol["y"].tolist() == [1.0, 7.0]
    with pytest.raises(OptionError, match="dense_output=True"):
        sol.at(0.2)


def test_quasi_linear_has_x_only():
    sol = Solution(
        slices={"x": slice(0, 2)}, names={"x": ("A", "B")}, stats=Statistics(),
        trajectory=Trajectory(0, [1.0, 2.0], [], [], []),
    )  # fmt: skip
    assert sol.x.tolist() == [[1.0, 2.0]]
    assert sol["B"].tolist() == [2.0]
    with pytest.raises(AttributeError, match="DAE: it has no 'lam'; its unknowns are in x"):
        _ = sol.lam
    assert sol.at(0.0)["A"] == 1.0


def test_export(solution):
    table = solution.to_dict()
    assert list(table) == ["t", *solution.names]
    assert np.array_equal(table["y"], solution["y"])
    pd = pytest.importorskip("pandas")
    frame = solution.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.name == "t"
    assert list(frame.columns) == list(solution.names)
    assert np.array_equal(frame["lam1"], solution["lam1"])


def test_without_pandas(solution, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DalembertError, match="pip install pandas"):
        solution.to_pandas()


def test_text(solution, make_solution):
    assert repr(solution).startswith("Solution(finished, t = 0 … ")
    assert "5 steps, Radau5(" in repr(solution)
    text = str(solution)
    for part in ("the end was reached", "ggl", "1 × 'a/b'", "x, y, x_dot"):
        assert part in text
    stopped = make_solution(status="terminated by event 'stop'")
    assert stopped.status in repr(stopped)
    assert stopped.success
    assert not make_solution(status="interrupted").success
