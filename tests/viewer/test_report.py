"""Reports: everything about a result on one page, and nothing that users wrote is taken for markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import dalembert as da
from dalembert.viewer.pictures import Curves
from dalembert.viewer.report import POINTS, thinned

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
    assert ("Hidden constraints" in found) == (name != "transistor_amplifier")
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


def test_failed_runs_have_reports():
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [s.x_dot**2])
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(model, (0, 5), p0=[0.0], v0=[1.0], method=da.Radau5())
    sol = getattr(caught.value, "solution", None)
    if sol is None:
        pytest.skip("this failure leaves no result")
    assert "failed" in sol.report().html()


def test_thinned_curves_keep_their_peaks():
    t = np.linspace(0, 1, 100_000)
    y = np.sin(50 * t)
    y[31_415] = 7.0
    rows = thinned(Curves("", t, {"y": y}))
    assert len(rows) <= 2 * POINTS
    assert y[rows].max() == 7.0
    assert rows[0] == 0
    assert rows[-1] == len(t) - 1


@pytest.mark.parametrize(("path", "words"), [("report.txt", "must end with .html"), (3, "name of a file")])
def test_wrong_names_of_files(solved, path, words):
    with pytest.raises(da.OptionError, match=words):
        solved("pendulum").report(path)
