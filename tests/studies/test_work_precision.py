"""Work-precision studies: rows, failures, tables, figure; peers against the reference values."""

from __future__ import annotations

import dataclasses
import math
import time

import matplotlib.image
import numpy as np
import pytest

import dalembert as da
from dalembert.studies import METHODS, PEERS, Row, Study, available_peers, work_precision
from dalembert.studies.peers import CasadiIdas, ScipyOde, intervals

LOOSE, TIGHT = 1e-4, 1e-7


class Broken:
    """A method that fails at the tighter tolerance."""

    def run(self, problem, tolerance):
        if tolerance < 1e-5:
            raise ZeroDivisionError("cannot go\nfurther")
        return np.array(problem.reference.p), np.array(problem.reference.v), {}


class Slow:
    """A method that takes CPU time."""

    def run(self, problem, tolerance):
        end = time.process_time() + 0.03
        while time.process_time() < end:
            pass
        return np.array(problem.reference.p), np.array(problem.reference.v), {"accepted": 1}


class SlowAtFirst(Slow):
    """A method that compiles something in its first run."""

    ready = False

    def run(self, problem, tolerance):
        if not self.ready:
            self.ready = True
            return super().run(problem, tolerance)
        return np.array(problem.reference.p), np.array(problem.reference.v), {}


class NotFinite:
    def run(self, problem, tolerance):
        return np.full(len(problem.p0), np.nan), np.array(problem.v0), {}


@pytest.fixture(scope="module")
def study():
    methods = {"ggl": da.Radau5(formulation="ggl"), "index2": METHODS["radau5 index2"](), "broken": Broken()}
    return work_precision(["pendulum", da.problems.car_axis()], methods, [LOOSE, TIGHT], repeat=1)


def test_every_combination_has_a_row(study):
    assert len(study.rows) == 2 * 3 * 2
    assert study.problems == ("pendulum", "car_axis")
    assert study.methods == ("ggl", "index2", "broken")
    assert study.peers == {"broken"}


@pytest.mark.parametrize("problem", ["pendulum", "car_axis"])
@pytest.mark.parametrize("method", ["ggl", "index2"])
def test_errors_fall_and_work_grows_with_the_tolerance(study, problem, method):
    loose, tight = study.select(problem, method)
    assert (loose.tolerance, tight.tolerance) == (LOOSE, TIGHT)
    assert tight.error < 0.1 * loose.error < 1e-2
    assert tight.accepted > loose.accepted > 0
    assert tight.rhs_evaluations > tight.accepted
    assert loose.seconds > 0


def test_failures_are_rows(study):
    assert [(row.problem, row.tolerance) for row in study.failures] == [("pendulum", TIGHT), ("car_axis", TIGHT)]
    row = study.failures[0]
    assert row.failure == "ZeroDivisionError: cannot go\nfurther"
    assert math.isnan(row.error)
    assert math.isnan(row.seconds)


def test_failure_of_our_own_method_is_a_row():
    problem = dataclasses.replace(da.problems.pendulum(), p0=np.array([1.1, 0.0]))
    (row,) = work_precision([problem], {"strict": da.Radau5(initial_values="check")}, [1e-6], repeat=1).rows
    assert row.failure.startswith("InconsistentInitialValues: ")


def test_results_that_are_not_finite_are_failures():
    (row,) = work_precision(["pendulum"], {"nan": NotFinite()}, [1e-6], repeat=1).rows
    assert "not finite" in row.failure


def test_methods_that_take_too_long_are_skipped_with_a_reason():
    study = work_precision(["pendulum"], {"slow": Slow()}, [1e-3, 1e-4], repeat=1, patience=0.01)
    done, skipped = study.rows
    assert done.failure is None
    assert done.accepted == 1
    assert done.rhs_evaluations is None
    assert skipped.failure.startswith("Skipped: tolerance 1e-03 took 0.0")


def test_time_for_compilation_skips_nothing():
    study = work_precision(["pendulum"], {"compiles": SlowAtFirst()}, [1e-3, 1e-4], repeat=1, patience=0.02)
    assert not study.failures


def test_best_is_the_cheapest_row_that_reaches_the_error():
    rows = [
        Row(problem="P", method="a", tolerance=1e-3, seconds=1.0, error=1e-2),
        Row(problem="P", method="a", tolerance=1e-5, seconds=3.0, error=1e-4),
        Row(problem="P", method="b", tolerance=1e-5, seconds=2.0, error=1e-3),
        Row(problem="P", method="b", tolerance=1e-9, failure="X: y"),
    ]
    study = Study(tuple(rows))
    assert study.best("P", 1e-1) is rows[0]
    assert study.best("P", 1e-3) is rows[2]
    assert study.best("P", 1e-3, "a") is rows[1]
    assert study.best("P", 1e-9) is None
    with pytest.raises(da.OptionError, match="unknown problem 'Q'"):
        study.best("Q", 1.0)
    assert study.ratios((1e-1, 1e-3, 1e-9), relative_to="b").splitlines() == [
        "problem  method  <= 1e-01  <= 1e-03  <= 1e-09",
        "P        a           0.50      1.50         -",
        "P        b           1.00      1.00         -",
    ]


def test_table_is_aligned_and_names_failures(study):
    head, *lines = study.table().splitlines()
    assert head.split() == ["problem", "method", "tolerance", "error", "ms", "ratio", "steps", "rhs"]
    assert len(lines) == len(study.rows)
    assert [line for line in lines if line.endswith("ZeroDivisionError: cannot go further")] == [lines[5], lines[11]]
    end = head.index("tolerance") + len("tolerance")
    assert {line[end - 5 : end] for line in lines} == {"1e-04", "1e-07"}


def test_plot_is_written(study, tmp_path):
    path = study.plot(tmp_path / "new" / "study.png")
    height, width = matplotlib.image.imread(path).shape[:2]
    assert width > height > 100


def test_registry():
    assert {f"radau5 {form}" for form in ("ggl", "index1", "index2", "index3")} <= set(METHODS)
    assert METHODS["radau5 index3"]() == da.Radau5(formulation="index3")
    assert [row.method for row in work_precision(["pendulum"], ["radau5 ggl"], [1e-4], 1).rows] == ["radau5 ggl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["pendulm"], ["radau5 ggl"], [1e-4]), "unknown problem 'pendulm'; did you mean 'pendulum'?"),
        ((["pendulum"], ["radau5 gl"], [1e-4]), "unknown method 'radau5 gl'; did you mean 'radau5 ggl'?"),
        ((["pendulum", "pendulum"], ["radau5 ggl"], [1e-4]), "different names"),
        ((["pendulum"], ["radau5 ggl"], [1e-4], 0), "at least one timed run"),
        (([3], ["radau5 ggl"], [1e-4]), "not int"),
        (([da.problems.transistor_amplifier()], ["radau5 ggl"], [1e-4]), "'transistor_amplifier' is a QuasiLinearDAE"),
    ],
)
def test_faults_are_named(arguments, message):
    with pytest.raises(da.OptionError) as caught:
        work_precision(*arguments)
    assert message in str(caught.value)


# -- peers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eliminate", [False, True])
@pytest.mark.parametrize("name", ["andrews", "heavy_top", "rolling_disc"])
def test_idas_agrees_with_the_reference(name, eliminate):
    study = work_precision([name], {"idas": CasadiIdas(eliminate=eliminate)}, [1e-10], repeat=1)
    (row,) = study.rows
    assert row.failure is None
    assert row.error < 2e-5
    assert row.rhs_evaluations >= row.accepted > 100


@pytest.mark.parametrize("name", ["motor_pendulum", "ball_in_ellipse"])
def test_idas_with_all_kinds_of_variables(name):
    (row,) = work_precision([name], {"idas": CasadiIdas()}, [1e-9], repeat=1).rows
    assert row.failure is None
    assert row.error < 1e-5


def test_peers_restart_at_breakpoints():
    problem = da.problems.truck()
    spans = intervals(problem)
    assert len(spans) == 3
    assert (spans[0][0], spans[-1][1]) == (0.0, problem.t_end)
    assert all(
        left[1] < b < right[0] for left, b, right in zip(spans, problem.model.breakpoints, spans[1:], strict=False)
    )
    (row,) = work_precision([problem], {"idas": CasadiIdas()}, [1e-8], repeat=1).rows
    assert row.failure is None
    assert row.error < 1e-4


def test_models_without_an_index_0_form_become_failure_rows():
    (row,) = work_precision(["ball_in_ellipse"], {"dop853": ScipyOde()}, [1e-6], repeat=1).rows
    assert row.failure.startswith("ModelError: ")


def test_every_installed_peer_solves_the_pendulum():
    lines = []
    peers = available_peers(report=lines.append)
    assert len(peers) + len(lines) == len(PEERS)
    study = work_precision(["pendulum"], peers, [1e-6], repeat=1)
    assert not study.failures
    assert max(row.error for row in study.rows) < 1e-3


def test_missing_peer_is_reported(monkeypatch):
    monkeypatch.setitem(PEERS, "nobody", (("a_package_that_is_not_there",), CasadiIdas))
    lines = []
    assert "nobody" not in available_peers(report=lines.append)
    assert any("'nobody' is left out: ModuleNotFoundError" in line for line in lines)
