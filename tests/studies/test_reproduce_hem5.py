"""The comparison of HEM5 with Runge-Kutta-Fehlberg: published results beside ours."""

import numpy as np
import pytest
from typer.testing import CliRunner

from dalembert.cli import app
from dalembert.problems import ball_over_corner, ball_over_edge, four_bar_linkage
from dalembert.studies.reproduce_hem5 import DRIFT_LIMIT, MAX_STEP, drift, tables
from dalembert.studies.reproduce_hem5_contact import REMEDIES, edge_run, plain_index_2


def test_the_quick_reproduction_prints_published_and_own_numbers_and_draws(tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "hem5", "--quick", "--plot", str(tmp_path / "figures")])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    published = lines.index(["1e-05", "published", "0.104", "988", "3.16e-09", "6.97e-16"])
    own = next(row for row in tables("Hem5", quick=True) if row.tolerance == 1e-5)
    assert lines[published + 1][:4] == ["1e-05", "ours", f"{own.ours[0]:.3g}", str(own.ours[1])]
    for text in ("Figures 2 and 3", "Figure 4", "Table 1", "Table 2", "Figure 6a", "Figure 6b", "our choice"):
        assert text in result.stdout
    pictures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert pictures == {
        "figures_2_3.png", "figure_4.png", "figure_6a.png", "figure_6b.png", "rocking_block.png", "ball_over_edge.png",
        "ball_over_corner.png",
    }  # fmt: skip
    for text in ("ill-posed", "'ground' and constraint 'parabola'", "LCP (13)", "NSCD", "Figure 7a", "Figure 7b"):
        assert text in result.stdout


def test_hem5_keeps_the_velocities_of_the_linkage_and_drifts_less():
    linkage = four_bar_linkage()
    hem5, rkf45 = drift(linkage, "Hem5"), drift(linkage, "Rkf45")
    for sol in (hem5, rkf45):
        assert np.diff(sol.t).max() <= MAX_STEP * (1 + 1e-9)
        assert linkage.error(sol) < 1e-7
        assert max(sol.max_residual("position"), sol.max_residual("velocity")) <= DRIFT_LIMIT
    assert hem5.max_residual("velocity") < 1e-14
    assert hem5.max_residual("position") < 1e-3 * rkf45.max_residual("position")


def test_table_1_hem5_needs_less_work_than_published_and_keeps_velocities():
    for row in tables("Hem5"):
        assert row.ours[1] < row.published[1], row
        assert row.ours[2] <= row.tolerance
        assert row.ours[3] < 1e-15


def test_table_1_with_projection_nothing_exceeds_the_published_columns():
    rows = [row for row in tables("Hem5") if row.variant == "ours, default"]
    assert len(rows) == 10
    for row in rows:
        assert row.ours[1] <= row.published[1]
        assert row.ours[2] <= row.published[2]
        assert row.ours[3] < 1e-15


def test_the_ratio_of_work_grows_as_published():
    ours, other = ({row.tolerance: row for row in tables(m) if row.variant == "ours"} for m in ("Hem5", "Rkf45"))
    ratio = {tolerance: other[tolerance].ours[1] / ours[tolerance].ours[1] for tolerance in ours}
    assert all(ratio[tolerance] < 1 for tolerance in (1e-3, 1e-4, 1e-5))
    assert all(ratio[tolerance] > 5 for tolerance in (1e-6, 1e-8, 1e-10, 1e-11))


@pytest.mark.parametrize("remedy", REMEDIES)
@pytest.mark.parametrize("problem", [ball_over_edge(), ball_over_edge(surface="one"), ball_over_corner()])
def test_both_remedies_pass_both_edges(problem, remedy):
    for tolerance in (1e-5, 1e-8):
        sol = edge_run(problem, remedy, tolerance)
        assert problem.error(sol) < 10 * tolerance
        assert min(sol[f"{contact.name}.gap"].min() for contact in problem.model.contacts) > -tolerance


def test_the_plain_method_names_the_constraints_at_the_edge():
    assert "'ground' and constraint 'parabola'" in plain_index_2()


def test_table_2_the_drift_limit_determines_the_steps_of_order_4_as_published():
    rows = {(row.tolerance, row.variant): row for row in tables("Rkf45", quick=True)}
    for tolerance in (1e-8, 1e-11):
        plain, extrapolated = rows[tolerance, "ours"], rows[tolerance, "ours, order 5"]
        assert 0.9 * tolerance < plain.ours[3] <= tolerance + 1e-15  # rounding: the limit is tested in the kernel
        assert 0.9 * tolerance < plain.published[3] <= tolerance
        assert extrapolated.ours[1] < 0.1 * plain.ours[1]
