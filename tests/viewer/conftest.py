"""A browser for all tests, and pages of some problems."""

from __future__ import annotations

import pytest
from browser import Browser, find_browser

import dalembert as da


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("no browser: install chromium (tests/viewer/install_browser.sh), or name one in $DALEMBERT_BROWSER")
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
def opened(browser):
    """Opens files as pages that stand still; none of them may have complained in the end."""
    pages = []

    def open_file(path, **options):
        pages.append(browser.open(path, **options))
        return pages[-1]

    yield open_file
    complaints = [complaint for page in pages for complaint in page.complaints()]
    for page in pages:
        page.close()
    assert not complaints


@pytest.fixture
def page(opened, solved, tmp_path):
    """Opens the animation, or the report, of a problem."""

    def open_page(name: str, *, report: bool = False, **options):
        path = tmp_path / f"{name}.html"
        sol = solved(name)
        if report:
            sol.report(path)
        else:
            sol.animate(path)
        return opened(path, **options).ready()

    return open_page
