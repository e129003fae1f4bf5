"""Reports: everything about a result on one page, and nothing that users wrote is taken for markup."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import dalembert as da
from dalembert.solution import Solution, Statistics, Trajectory
from dalembert.viewer.chapters import _choice
from dalembert.viewer.curves import plots_of
from dalembert.viewer.sampling import STRETCHES, thinned

VOID = {"meta", "link", "br", "input", "hr", "img"}


class Balanced(HTMLParser):
    """Checks that elements are closed as they were opened."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> was never opened"
        assert self.open.pop() == tag


def headings(html):
    return re.findall(r"<h2>(.*?)</h2>", html)


@pytest.mark.parametrize("name", ["andrews", "falling_block", "transistor_amplifier"])
def test_sections(solved, name, tmp_path):
    sol = solved(name)
    report = sol.report(tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert report.html() == html
    assert report.path == tmp_path / "report.html"
    Balanced().feed(html)
    found = headings(html)
    assert {"Animation", "Diagrams", "Model", "Parameters", "Method and options", "Statistics", "Residuals"} <= set(
        found
    )
    assert ("Impacts" in found) == bool(len(sol.impacts))
    assert "Hidden constraints" in found
    if name == "transistor_amplifier":  # capacitors between nodes
        assert "3 constraints are hidden" in html
    assert str(sol.stats.accepted) in html
    assert not re.search(r"""(src|href)\s*=\s*["'](https?:)?//""", html)  # nothing from elsewhere


def test_residuals_are_those_of_the_solution(solved):
    sol = solved("andrews")
    html = sol.report(animation=False).html()
    assert f"{sol.max_residual('position'):.3g}" in html
    assert "Animation" not in headings(html)


def test_without_a_model(solved, tmp_path):
    solved("pendulum").save(tmp_path / "run.h5")
    loaded = da.Solution.load(tmp_path / "run.h5")
    found = headings(loaded.report().html())
    assert "Statistics" in found
    assert "Model" not in found
    with pytest.raises(da.DalembertError, match="load"):
        loaded.animate()


def test_hostile_names_are_text():
    name = "</script><script>alert(1)</script>"
    model = da.EquationsOfMotion(
        p=[name, "<b>&amp;'\""], mass=[1, 1], force=[0, 0], name=name, parameters={"<i>": 1.0},
        outputs={"energy": lambda s: s.p[0]},
    )  # fmt: skip
    sol = da.simulate(
        model, (0, 1), p0=[1, 0], v0=[0, 1], events=[da.Event(lambda s: s.p[1] - 0.5, name="<img src=x>")]
    )
    for html in (sol.report(title=name).html(), sol.animate(title=name).html(), sol._repr_html_(), model._repr_html_()):
        assert "<script>alert" not in html
        assert "<img" not in html
        assert "<i>" not in html
        Balanced().feed(html)


def test_notebooks_show_results(solved):
    html = solved("falling_block")._repr_html_()
    Balanced().feed(html)
    assert "<svg" in html
    assert "ImpactLog" in html
    assert "srcdoc=" in solved("pendulum").animate()._repr_html_()
    assert "srcdoc=" in solved("pendulum").report()._repr_html_()


def failed() -> da.Solution:
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [s.x_dot**2])
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(model, (0, 5), p0=[0.0], v0=[1.0], method=da.Radau5())
    return caught.value.solution


def hybrid() -> da.Solution:
    text = """
        model Switch
          Real x(start=0, fixed=true); Boolean on(start=true); parameter Real rate = 3;
        equation
          der(x) = if on then rate else -1;
          when x > 1 then on = false; elsewhen x < 0.2 then on = true; end when;
        end Switch;"""
    return da.simulate(da.modelica.load(text), (0, 3))


def stepped() -> da.Solution:
    step = da.Input(lambda t: np.where(t > 1, 1.0, 0.0), breakpoints=(1.0,))
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [s.u - s.x], inputs={"u": step})
    return da.simulate(model, (0, 3), p0=[0.0], v0=[0.0], rtol=1e-5, max_step=0.5)


def untraceable() -> da.Solution:
    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-float(s.x)])
    return da.simulate(model, (0, 1), p0=[1.0], v0=[0.0])


def top() -> da.Solution:
    problem = da.problems.heavy_top()
    return da.simulate(problem.model, (0, 0.01), p0=problem.p0, v0=problem.v0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (failed, ["da-bad", "failed", "the step size fell", "Start and end"]),
        (hybrid, ["discrete variables", "on</td>", "Events", "rising"]),
        (stepped, ["inputs", "breakpoints", "<td>1e-05</td>", "largest step", "<td>0.5</td>"]),
        (untraceable, ["no formula"]),
        (lambda: da.problems.integrator_chain(4).simulate(), ["index is 4", "differentiated 3 times", "3 constraints"]),
        (top, ["Kinematics", "g<sup>II</sup>"]),
    ],
)
def test_very_different_results(make, words):
    html = make().report().html()
    Balanced().feed(html)
    for word in words:
        assert word in html


def test_choices_of_whatever_kind_are_told():
    @dataclasses.dataclass
    class Choice:
        method: str
        why: str
        tried: tuple = ()
        later: object = None

    choice = Choice("A()", "because <it> is stiff", (("B()", "was slow"), ("C()", "failed")), later="changed at t = 3")
    assert _choice(choice) == [
        ("chosen because", "because <it> is stiff"), ("tried", "B(): was slow"), ("tried", "C(): failed"),
        ("later", "changed at t = 3"),
    ]  # fmt: skip
    assert _choice("just a text") == [("chosen because", "just a text")]
    assert _choice(None) == []


def test_a_million_steps_make_a_small_page():
    """Of a result of any length a page of the same size; what is extreme is seen."""
    count = 1_000_000
    t = np.arange(1.0, count + 1)
    x = np.sin(t / 1000)
    x[123_456] = 9.0
    coefficients = np.zeros((count, 2, 1))
    coefficients[:, 0, 0], coefficients[1:, 1, 0] = x, np.diff(x)
    trajectory = Trajectory(0.0, [0.0], t, np.ones(count), coefficients)
    sol = Solution(
        slices={"p": slice(0, 1)}, names={"p": ("z",)}, trajectory=trajectory, stats=Statistics(accepted=count)
    )
    assert max(values.max() for plot in plots_of(sol) for values in plot.curves.values()) == 9.0
    assert len(sol.report().html()) < 150_000


def test_thinned_curves_keep_their_peaks_and_gaps():
    y = np.sin(50 * np.linspace(0, 1, 100_000))
    y[31_415] = 7.0
    y[50_000:50_010] = np.nan
    rows = thinned(y)
    assert len(rows) <= 2 * STRETCHES + 6
    assert np.nanmax(y[rows]) == 7.0
    assert np.isnan(y[rows]).sum() == 2
    assert rows[0] == 0
    assert rows[-1] == len(y) - 1


@pytest.mark.parametrize(("path", "words"), [("report.txt", "must end with .html"), (3, "name of a file")])
def test_wrong_names_of_files(solved, path, words):
    with pytest.raises(da.OptionError, match=words):
        solved("pendulum").report(path)
