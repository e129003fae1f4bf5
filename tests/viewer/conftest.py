"""A browser for all tests of a file, and pages of some problems."""

from __future__ import annotations

import pytest
from browser import Browser, find_browser

import dalembert as da


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("no browser: install chromium, or name one in $DALEMBERT_BROWSER")
    try:
        browser = Browser(program, tmp_path_factory.mktemp("profile"))
        browser.ask("Browser.getVersion")
    except (OSError, RuntimeError, TimeoutError) as reason:
        pytest.skip(f"{program} cannot be started: {reason}")
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def solved():
    """Results of problems, each computed once."""
    known = {}

    def solve(name: str):
        if name not in known:
            known[name] = getattr(da.problems, name)().simulate()
        return known[name]

    return solve


@pytest.fixture
def page(browser, solved, tmp_path):
    """Opens the animation of a problem."""
    opened = []

    def open_page(name: str, *, report: bool = False, **options):
        path = tmp_path / f"{name}.html"
        sol = solved(name)
        if report:
            sol.report(path)
        else:
            sol.animate(path)
        opened.append(browser.open(path, **options))
        return opened[-1].ready()

    yield open_page
    for one in opened:
        one.close()
