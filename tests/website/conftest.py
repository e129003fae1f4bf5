"""The site with a small gallery, built once, and a browser to look at it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from browser import Browser, find_browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def builder():
    """The modules that build the site."""
    pytest.importorskip("sphinx", reason="the site needs the extra `docs`")
    sys.path.insert(0, str(ROOT))
    try:
        import docs.builder.__main__ as builder
    finally:
        sys.path.remove(str(ROOT))
    return builder


@pytest.fixture(scope="session")
def site(builder, tmp_path_factory) -> Path:
    """The folder of the built site: all pages, the code of one of them run, two problems and an example.

    Where several processes run the tests, one of them builds it, and the others wait.
    """
    small = builder.Choice(problems=("andrews", "heavy_top"), examples=("readme_pendulum",))
    base = tmp_path_factory.getbasetemp()
    work = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    told = work / "told"  # what became of it: nothing, or what went wrong
    try:
        work.mkdir()
    except FileExistsError:
        for _ in range(6000):
            if told.exists():
                break
            time.sleep(0.1)
    else:
        outcome = "it was interrupted"
        try:
            builder.build(work, shown=small, run_pages=("index.md",))
            outcome = ""
        except (Exception, SystemExit) as error:
            outcome = f"{type(error).__name__}: {error}"
        finally:
            (work / "telling").write_text(outcome, encoding="utf-8")
            (work / "telling").rename(told)
    outcome = told.read_text(encoding="utf-8")
    if outcome:
        pytest.fail(f"the site could not be built: {outcome}")
    return work / "html"


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


@pytest.fixture
def opened(browser):
    """Opens files as pages; none of them may have complained in the end."""
    pages = []

    def open_file(path, **options):
        pages.append(browser.open(path, **options))
        pages[-1].wait("document.readyState === 'complete'")
        return pages[-1]

    yield open_file
    complaints = [complaint for page in pages for complaint in page.complaints()]
    for page in pages:
        page.close()
    assert not complaints
