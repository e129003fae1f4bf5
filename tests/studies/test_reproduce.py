"""Published results beside ours."""

import numpy as np
import pytest
from typer.testing import CliRunner

from dalembert import problems, studies
from dalembert.cli import app
from dalembert.errors import OptionError
from dalembert.solvers import Dassl
from dalembert.studies import reproduce_corrector
from dalembert.studies.reproduce_geoms import COUNTERS, PUBLISHED, SELECTORS, counters

PNG = b"\x89PNG"


def run(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_the_quick_reproduction_prints_published_and_own_numbers_and_draws(tmp_path):
    folder = tmp_path / "new" / "figures"
    result = run("reproduce", "geoms", "--quick", "--plot", folder)
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    published = next(k for k, line in enumerate(lines) if line[4:6] == ["published", "187"])
    own = next(counters())
    assert lines[published + 1][4:7] == ["ours,", "every", str(own.ours["NACCPT"])]
    assert lines[published + 1][-1] == f"{own.ratio:.2f}"
    for text in ("Tables 3 and 4", "Figure 1", "Figures 2 and 3", "Figure 4", "Figure 5", "Figure 8", "radau5 ggl"):
        assert text in result.stdout
    pictures = {path.name: path for path in folder.iterdir()}
    assert set(pictures) == {"figure_1.png", "figures_2_3.png", "figure_4.png", "figure_5.png", "figure_8.png"}
    for path in pictures.values():
        assert path.read_bytes().startswith(PNG)
        assert str(path) in result.stdout


def test_steps_are_at_most_15_percent_more_than_published():
    rows = list(counters())
    assert {(row.v0, row.tolerance, row.selector) for row in rows} == {
        (*key, s) for key in PUBLISHED for s in SELECTORS
    }
    for row in rows:
        assert row.ratio <= 1.15, row
        assert set(row.ours) == set(row.published) == set(COUNTERS)


def test_adaptive_selectors_change_when_the_pendulum_passes_45_degrees_as_published():
    # the paper: one at the start, one for each passage (none and 12), and one for each failure to converge
    for row in counters():
        passages = 0 if row.v0 == 2.8 else 12
        assert row.published["NSEL"] == 1 + passages + row.published["NCRJCT"]
        if row.selector == "adaptive":
            assert row.ours["NSEL"] == 1 + passages + row.ours["NCRJCT"]


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(OptionError, match="did you mean 'geoms'"):
        studies.reproduce("geom")
    result = run("reproduce", "geom")
    assert result.exit_code == 1
    assert "did you mean 'geoms'" in result.stderr


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    result = run("reproduce", "geoms", "--plot", file)
    assert result.exit_code == 1
    assert "is not a folder" in result.stderr


def test_the_quick_reproduction_of_mexx():
    result = run("reproduce", "mexx", "--quick")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert next(line for line in lines if line[:2] == ["standard", "0.5"])[2:8] == ["10", "162", "173"] * 2
    assert next(line for line in lines if line[:2] == ["16", "1e-05"])[2:8] == ["13", "846", "862"] * 2
    assert ["5", "roots", "were", "found."] in [line[:4] for line in lines]
    for title in (*(f"Table 5.{k}" for k in range(1, 7)), "Section 5.2", "Section 5.4", "reconstruction"):
        assert title in result.stdout


def test_corrector_prints_published_and_own_numbers_and_draws(tmp_path):
    result = run("reproduce", "corrector", "--quick", "--plot", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Table 2" in result.stdout
    assert "Figure 7" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert sum(line[:1] in (["12"], ["14"]) for line in lines) == 8
    assert sum(line[:1] in (["explicit"], ["residual"]) for line in lines) == 8
    assert [line[-2] for line in lines if line[:1] == ["*"] and len(line) > 5]  # table 3, our Jacobians
    for published in ("9739", "2229"):
        assert published in result.stdout
    assert (tmp_path / "figure_7.png").read_bytes().startswith(PNG)
    # where it bites: six strategies in two forms on two chains and a car, published percentages of the explicit form
    chains = [line for line in lines if line[:2] == ["N", "="]]
    cars = [line for line in lines if line[:1] == ["joints,"]]
    assert (len(chains), len(cars)) == (24, 12)
    assert [line[-1] for line in chains[:6]] == ["100%", "92%", "-", "82%", "-", "90%"]
    assert [line[-1] for line in cars[:6]] == ["100%", "104%", "48%", "49%", "27%", "20%"]
    assert {line[-1] for line in (*chains[6:], *cars[6:])} == {"-"}


def test_kept_jacobians_save_evaluations_as_published():
    """Not the counters, which depend on unpublished start values: fewer Jacobians, by the same factor or more."""
    for grouped in (False, True):
        counts = []
        for extended in (False, True):
            method = Dassl(jacobian=reproduce_corrector.strategy(grouped, "extended" if extended else ""))
            ours = reproduce_corrector.run(reproduce_corrector.chain(12, t_end=100.0), method, 1e-4, 1e-6)
            counts.append(ours["#Je"])
        standard, kept = (reproduce_corrector.TABLE_2[12, grouped, e][1] for e in (False, True))
        assert counts[0] / counts[1] > 0.9 * standard / kept


def test_a_chain_of_16_needs_few_difference_approximations():
    problem = reproduce_corrector.chain(16, t_end=100.0)
    counts, ends = [], []
    for kept in ("", "extended"):
        ours = reproduce_corrector.run(problem, Dassl(jacobian=reproduce_corrector.strategy(False, kept)), 1e-4, 1e-6)
        counts.append(ours["#Je"])
        ends.append(ours["solution"].p[-1])
    assert counts[0] >= 10
    assert counts[1] <= 8
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)


@pytest.mark.parametrize("form", ["explicit", "residual"])
def test_all_strategies_agree_on_the_carriage(form):
    """Table 1: grouped columns need half of the evaluations for a Jacobian or less, kept ones few Jacobians."""
    problem = problems.railway_carriage()
    runs = {}
    for grouped in (False, True):
        for kept in (False, True):
            method = Dassl(form=form, jacobian=reproduce_corrector.strategy(grouped, kept))
            runs[grouped, kept] = ours = reproduce_corrector.run(problem, method, 1e-4, 1e-4)
            assert problem.error(ours["solution"]) < 3e-4
    each = {way: (ours["#fc"] - ours["#fcw"]) / ours["#Je"] for way, ours in runs.items()}
    assert each[True, False] < 0.5 * each[False, False]
    for grouped in (False, True):
        assert runs[grouped, True]["#Je"] < 0.5 * runs[grouped, False]["#Je"]


def test_all_strategies_agree_on_the_car():
    """Table 3."""
    problem = problems.passenger_car()
    counts = {}
    for grouped, kept in reproduce_corrector.TABLE_3:
        method = Dassl(form="explicit", jacobian=reproduce_corrector.strategy(grouped, kept))
        ours = reproduce_corrector.run(problem, method, 1e-4, 1e-5)
        counts[grouped, kept] = ours["#Je"]
        assert problem.error(ours["solution"]) < 3e-3
    for (grouped, kept), count in counts.items():
        assert not kept or count < 0.5 * counts[grouped, ""]


def test_the_chain_with_an_input_is_the_test_problem():
    problem = reproduce_corrector.chain(12)
    solution = problem.simulate(rtol=1e-8, atol=1e-8)
    assert problem.error(solution) < 1e-5


def test_times_of_jacobians_are_all_counted():
    problem = reproduce_corrector.chain(4, t_end=20.0)
    method = Dassl(jacobian=reproduce_corrector.strategy(False, "extended"))
    jacobians, updates = reproduce_corrector.jacobian_times(problem, method, 1e-4, 1e-6)
    stats = problem.simulate(method=method, rtol=1e-4, atol=1e-6).stats
    assert (len(jacobians), len(updates)) == (stats.jacobian_evaluations, stats.jacobian_updates)
