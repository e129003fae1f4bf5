"""Plots without a display: what is drawn, where, and with which labels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, OptionError
from dalembert.solution import Trajectory


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_positions_by_default(solution):
    ax = solution.plot()
    assert [line.get_label() for line in ax.lines] == ["x", "y"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y"]
    assert ax.get_xlabel() == "t"
    t, y = ax.lines[1].get_data()
    assert len(t) >= 500
    smooth = ~np.isin(t, solution.t)
    np.testing.assert_allclose(y[smooth], solution.at(t[smooth])["y"], rtol=1e-9, atol=1e-9)
    assert (t == solution.t[2]).sum() == 2  # both sides of the jump


def test_one_name_on_given_axes_against_another(solution):
    _, ax = plt.subplots()
    assert solution.plot("y", ax=ax, against="x") is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert ax.get_legend() is None
    x, y = ax.lines[0].get_data()
    assert (x[0], y[0]) == tuple(solution.p[0])
    assert (x[-1], y[-1]) == tuple(solution.p[-1])


def test_points_only(make_solution):
    sol = make_solution(trajectory=Trajectory.from_points([0.0, 0.5], np.arange(12.0).reshape(2, 6)))
    line = sol.plot("lam1").lines[0]
    assert line.get_xdata().tolist() == [0.0, 0.5]
    assert line.get_ydata().tolist() == [4.0, 10.0]
    assert line.get_marker() == "."


def test_residuals(solution):
    ax = solution.plot("position residual", "velocity residual")
    assert ax.get_yscale() == "log"
    assert [line.get_label() for line in ax.lines] == ["position residual", "velocity residual"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.abs(solution.residual("position")[:, 0]))
    assert np.array_equal(ax.lines[0].get_xdata(), solution.t)
    ax.figure.canvas.draw()


def test_errors(solution):
    with pytest.raises(ModelError, match="did you mean 'x_dot'") as raised:
        solution.plot("x_dt", "nothing", against="yy")
    assert len(raised.value.faults) == 3
    with pytest.raises(OptionError, match="two axes"):
        solution.plot("x", "position residual")
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    "name", ["$\\frac{1}$", "$", "$$", "a$b$c", "\\$x$", "$\\beta$", "x\0y", "\ud800", "_hidden", "{", "\n", "$_$", "%"]
)
def test_any_name_can_be_drawn(make_solution, name, tmp_path):
    sol = make_solution(names={"p": (name, "y"), "v": ("x_dot", "y_dot"), "lam": ("lam1",)})
    for number, ax in enumerate([sol.plot(), sol.plot(name), sol.plot("y", against=name)]):
        ax.figure.savefig(tmp_path / f"{number}.png")


def test_formulas_are_set_as_such(make_solution):
    sol = make_solution(names={"p": ("$\\beta$", "2$"), "v": ("x_dot", "y_dot")})
    assert [line.get_label() for line in sol.plot().lines] == ["$\\beta$", "2\\$"]


def test_every_name_is_in_the_legend(make_solution):
    legend = make_solution(names={"p": ("_hidden", "y"), "v": ("x_dot", "y_dot")}).plot().get_legend()
    assert [text.get_text().strip("\u200b") for text in legend.get_texts()] == ["_hidden", "y"]


def test_results_without_positions(make_solution):
    """Only multipliers were kept: they are drawn by default."""
    sol = make_solution(
        names={"lam": ("lam1",)}, slices={"lam": slice(4, 5)}, not_kept={"p": ("x", "y"), "v": ("x_dot", "y_dot")}
    )
    assert [line.get_label() for line in sol.plot().lines] == ["lam1"]


def test_diagrams_of_a_run():
    sol = da.problems.pendulum().simulate(method=da.Dassl(), trace=True)
    steps = sol.plot("step size")
    np.testing.assert_allclose(steps.lines[0].get_ydata(), np.abs(sol.trajectory.h))
    assert steps.get_yscale() == "log"
    orders = sol.plot("order").lines[0].get_ydata()
    assert 1 <= orders.min() < orders.max() <= 5
    labels = [line.get_label() for line in sol.plot("residuals").lines]
    assert labels == ["position", "velocity", "acceleration"]


def test_energies():
    model = da.EquationsOfMotion(
        p=["z"], mass=[1.0], force=lambda s: [-s.z], outputs={"energy.total": lambda s: (s.z**2 + s.z_dot**2) / 2}
    )
    sol = da.simulate(model, (0, 1), p0=[1.0], v0=[0.0])
    np.testing.assert_allclose(sol.plot("energy").lines[0].get_ydata(), 0.5, rtol=1e-3)


@pytest.mark.parametrize(
    ("names", "words"),
    [(["order"], "trace=True"), (["energy"], "outputs="), (["x", "step size"], "diagram of its own")],
)
def test_diagrams_that_are_not_there(names, words):
    sol = da.problems.pendulum().simulate()
    with pytest.raises(da.OptionError, match=words):
        sol.plot(*names)
