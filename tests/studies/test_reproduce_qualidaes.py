"""The examples of the QUALIDAES paper: published errors beside ours, all methods over time and accuracy."""

import math

import pytest
from typer.testing import CliRunner

from dalembert.cli import app
from dalembert.studies.reproduce_qualidaes import PUBLISHED, Example, errors, methods

PNG = b"\x89PNG"


def test_the_quick_reproduction_prints_published_and_own_errors_and_draws(tmp_path):
    result = CliRunner().invoke(app, ["reproduce", "qualidaes", "--quick", "--plot", str(tmp_path)])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["pendulum", "published", "QULDSovd0", "1.9097e-05", "-"] in lines
    assert ["car_axis", "published", "QULDSovd0", "5.8529e-05", "-"] in lines
    for title in ("Section 5", "Figure 4", "Figure 7"):
        assert title in result.stdout
    for label in methods(Example.pendulum()):
        assert (
            sum(line[1 : 1 + len(label.split())] == label.split() for line in lines) == 8
        )  # 2 errors, 3 tolerances each
    assert {path.name for path in tmp_path.iterdir()} == {"figure_4.png", "figure_7.png"}
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(PNG)


def test_no_method_fails_and_qualidaes_is_at_least_as_accurate_as_published():
    rows = list(errors())
    assert {row.example for row in rows} == set(PUBLISHED)
    for row in rows:
        assert not row.failure, row
        assert row.error < 3e-3
        if row.method.startswith("qualidaes"):
            assert row.error <= PUBLISHED[row.example], row


def test_naive_equations_take_the_steps_of_geoms():
    """The same method on the same motion: errors agree to rounding, or nearly so."""
    by_label = {(row.example, row.method): row for row in errors()}
    for example in PUBLISHED:
        own, other = by_label[example, "qualidaes naive"], by_label[example, "geoms"]
        assert own.steps == other.steps
        assert math.isclose(own.error, other.error, rel_tol=1e-2)


@pytest.mark.parametrize("make", [Example.pendulum, Example.car_axis])
def test_examples_are_one_motion_in_three_forms(make):
    example = make()
    n = len(example.motion.p0)
    for twin in (example.written, example.naive):
        names = twin.model.names("x")
        assert twin.t_end == example.motion.t_end
        assert [twin.model.start["x0"][name] for name in names[: 2 * n]] == [*example.motion.p0, *example.motion.v0]
        assert list(twin.reference.x[: 2 * n]) == [*example.motion.reference.p, *example.motion.reference.v]


def test_texts_hide_their_constraints_or_write_them_out():
    for make in (Example.pendulum, Example.car_axis):
        example = make()
        for text, hidden in ((example.written, 0), (example.naive, 2 * len(example.motion.model.names("lam")))):
            assert text.model.index == 3
            assert len(text.model.hidden_constraints()) == hidden
