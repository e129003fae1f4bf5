"""Every control that a page shows is operated with the mouse and does what it says; one without a test is a failure."""

from __future__ import annotations

import time

import numpy as np
import pytest
from acting import CONTROLS, PLAYER, changed, clock, picture, share, stage, state
from complete import complete


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Animations with everything in them, and a report, as files."""
    folder = tmp_path_factory.mktemp("pages")
    solutions = {"planar": complete(spatial=False), "spatial": complete(spatial=True)}
    for name, sol in solutions.items():
        sol.animate(folder / f"{name}.html")
    solutions["planar"].report(folder / "report.html")
    return {path.stem: path for path in folder.iterdir()}


def play(page):
    page.click(".da-play")
    page.wait(f"{PLAYER}.playing && {PLAYER}.moment.time > 0")
    assert "Pause" in page.run("document.querySelector('.da-play').getAttribute('aria-label')")
    page.click(".da-play")
    assert "Play" in page.run("document.querySelector('.da-play').getAttribute('aria-label')")
    stopped = clock(page)
    time.sleep(0.1)
    assert clock(page) == stopped


def step_on(page):
    page.run(f"{PLAYER}.seek(0)")
    page.click(".da-forth")
    assert state(page, "moment.time") == pytest.approx(state(page, "moment.times[1]"))


def step_back(page):
    page.run(f"{PLAYER}.seek({PLAYER}.moment.times[5])")
    page.click(".da-back")
    assert state(page, "moment.time") == pytest.approx(state(page, "moment.times[4]"))


def scrub(page):
    x, y, width = page.run("(() => { const b = document.querySelector('.da-scrub').getBoundingClientRect();"
                           "return [b.x, b.y + b.height / 2, b.width]; })()")  # fmt: skip
    page.mouse(x + 0.75 * width, y)
    assert share(page) == pytest.approx(0.75, abs=0.02)
    page.mouse(x + 0.75 * width, y, to=(x + 0.25 * width, y))
    assert share(page) == pytest.approx(0.25, abs=0.02)


def repeat(page):
    """Near the end: with repetition it begins anew, without it stays there."""
    for on in (False, True):
        page.run(f"{PLAYER}.seek({PLAYER}.moment.duration * 0.99)")
        page.click(".da-loop")
        assert page.run("document.querySelector('.da-loop').getAttribute('aria-pressed')") == str(on).lower()
        page.click(".da-play")
        if on:
            page.wait(f"{PLAYER}.moment.time < 0.5 * {PLAYER}.moment.duration")
            page.click(".da-play")
        else:
            page.wait(f"!{PLAYER}.playing")
            assert share(page) == 1


def speed(page):
    """Chosen with keys, as a list is: it shows four times as much in the same time."""
    page.click(".da-speed")
    page.key("Escape")
    page.run(f"{PLAYER}.setRate(1)")
    for _ in range(2):
        page.key("ArrowDown")
    assert state(page, "rate") == 4
    assert page.run("document.querySelector('.da-speed').selectedOptions[0].textContent") == "4 ×"
    page.run(f"{PLAYER}.moment.seek(0); {PLAYER}.play(); {PLAYER}.before = performance.now() - 100; {PLAYER}.fps = 0")
    page.wait(f"{PLAYER}.moment.time > 0.3")
    page.run(f"{PLAYER}.pause(); {PLAYER}.setRate(1)")


def fit(page):
    """What was moved away comes back."""
    page.run(f"{PLAYER}.follow(false)")
    page.click(".da-fit")
    before = picture(page)
    x, y = stage(page)
    page.mouse(x, y)  # in a report the wheel scrolls, until somebody has chosen the picture
    page.wheel(x, y, -400)
    page.wait(f"!{PLAYER}.view.fitted")
    assert changed(before, picture(page)) > 1e-3
    page.click(".da-fit")
    np.testing.assert_array_equal(before, picture(page))


def follow(page):
    """The body stays where it is on the screen."""
    page.click(".da-follow")
    assert page.run("document.querySelector('.da-follow').getAttribute('aria-pressed')") == "true"
    assert state(page, "view.follow") is True
    page.click(".da-follow")
    assert state(page, "view.follow") is False


def theme(page):
    light = picture(page)
    page.click(".da-theme")
    assert picture(page).mean() < 0.5 * light.mean()
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    page.click(".da-theme")
    np.testing.assert_array_equal(light, picture(page))


def menu(name):
    def check(page):
        page.click(f".da-{name}-menu summary")
        assert page.run(f"document.querySelector('.da-{name}-menu').open")
        box = page.run(f"(() => {{ const e = document.querySelector('.da-{name}-menu .da-menu');"
                       "const b = e.getBoundingClientRect();"
                       "return [b.left, b.top, innerWidth - b.right, innerHeight - b.bottom]; })()")  # fmt: skip
        assert min(box) >= 0  # all of it can be seen
        page.mouse(*stage(page))
        assert not page.run(f"document.querySelector('.da-{name}-menu').open")
        page.click(f".da-{name}-menu summary")
        page.key("Escape")
        assert not page.run(f"document.querySelector('.da-{name}-menu').open")

    return check


def layer(name):
    def check(page):
        page.run(f"{PLAYER}.seek({PLAYER}.moment.duration / 2)")
        where = ".da-overlay" if name == "labels" and not state(page, "scene.planar") else ".da-canvas"
        before = picture(page, where)
        page.click(".da-layers-menu summary")
        page.click(f"[data-layer={name}]")
        assert state(page, f"layers.{name}") is False
        assert changed(before, picture(page, where), 4) > 1e-5  # lines of the grid are faint
        page.click(f"[data-layer={name}]")
        np.testing.assert_array_equal(before, picture(page, where))
        page.mouse(*stage(page))

    return check


def canvas(page):
    """A drag moves, or turns, the picture."""
    before = picture(page)
    x, y = stage(page)
    page.mouse(x, y, to=(x + 80, y + 30))
    assert changed(before, picture(page)) > 1e-3
    page.click(".da-fit")


def plot(page):
    """A click goes there, and a drag along; the cursor and the numbers go with it."""
    x, y, left, width = page.run(
        "(() => { const e = document.querySelector('.da-plot'); e.scrollIntoView({ block: 'nearest' });"
        f"const p = ({PLAYER} || {{plots: []}}).plots.find((p) => p.canvas === e) || {{ width: e.clientWidth }};"
        "const b = e.getBoundingClientRect(); return [b.x, b.y + b.height / 2, 48, p.width - 48 - 8]; })()"
    )
    page.mouse(x + left + 0.3 * width, y)
    assert share(page) == pytest.approx(0.3, abs=0.01)
    before = picture(page, ".da-plot")
    page.mouse(x + left + 0.3 * width, y, to=(x + left + 0.6 * width, y))
    assert share(page) == pytest.approx(0.6, abs=0.01)
    assert changed(before, picture(page, ".da-plot")) > 1e-4
    t = state(page, "moment.t")
    shown = float(page.run("document.querySelector('.da-value').textContent"))
    assert shown == pytest.approx(-1.0 + 0.6 * t, abs=2e-3)  # x of the body, the first curve


def legend(page):
    before = picture(page, ".da-plot")
    page.click(".da-legend button")
    assert page.run("document.querySelector('.da-legend button').getAttribute('aria-pressed')") == "false"
    assert changed(before, picture(page, ".da-plot")) > 1e-3
    page.click(".da-legend button")
    np.testing.assert_array_equal(before, picture(page, ".da-plot"))


def theme_of_reports(page):
    page.click(".da-theme-switch")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    page.click(".da-theme-switch")


def link(page):
    page.click(".da-top nav a[href='#statistics']")
    page.wait("document.querySelector('#statistics').getBoundingClientRect().top < innerHeight")
    page.run("scrollTo(0, 0)")


def folded(page):
    page.run("document.querySelectorAll('.da-report details').forEach((one) => (one.open = false))")
    chosen = "section:not(.da-player) details:not(.da-details) > summary"
    page.run(f"document.querySelector({chosen!r}).scrollIntoView({{ block: 'center' }})")
    page.click(chosen)
    assert page.run(f"document.querySelector({chosen!r}).parentElement.open")
    page.run("scrollTo(0, 0)")


CHECKS = {
    "da-scrub": scrub, "da-play": play, "da-back": step_back, "da-forth": step_on, "da-loop": repeat, "da-speed": speed,
    "da-fit": fit, "da-follow": follow, "da-theme": theme, "da-layers-menu": menu("layers"),
    "da-help-menu": menu("help"), "da-canvas": canvas, "da-plot": plot, "legend": legend,
    **{f"layer {name}": layer(name) for name in ("traces", "force", "contact", "velocity", "labels", "grid")},
    "da-theme-switch": theme_of_reports, "link": link, "folded": folded, "da-equation": folded,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["planar", "spatial", "report"])
def test_every_control_does_what_it_says(opened, pages, kind):
    page = opened(pages[kind]).ready()
    found = sorted(set(page.run(CONTROLS)))
    assert not set(found) - set(CHECKS), "controls without a test"
    needed = set(CHECKS) - {"da-theme-switch", "link", "folded", "da-equation"}
    assert needed <= set(found), "tests without a control"
    wrong = {}
    for name in found:
        try:
            CHECKS[name](page)
        except (AssertionError, TimeoutError, RuntimeError) as reason:
            wrong[name] = str(reason)[:300]
    assert not wrong


@pytest.mark.parametrize("kind", ["planar", "spatial", "report"])
def test_everything_has_a_name(opened, pages, kind):
    page = opened(pages[kind]).ready()
    nameless = page.run(
        "[...document.querySelectorAll('button, input, select, summary, canvas, iframe')].filter((one) => "
        "!(one.getAttribute('aria-label') || one.textContent.trim() || one.getAttribute('aria-hidden') "
        "|| one.closest('label'))).map((one) => one.outerHTML)"
    )
    assert not nameless


@pytest.mark.parametrize("kind", ["planar", "spatial", "report"])
def test_everything_can_be_reached_by_tab(opened, pages, kind):
    """In the order of the page, and with a rim that shows where one is."""
    page = opened(pages[kind]).ready()
    page.run("document.querySelectorAll('.da-details').forEach((one) => (one.open = true))")
    page.run("window.all = [...document.querySelectorAll('button, input, select, summary, a[href], [tabindex]')]"
             ".filter((one) => one.checkVisibility())")  # fmt: skip
    count, reached = page.run("all.length"), set()
    for _ in range(count):
        page.key("Tab")
        reached.add(page.run("all.indexOf(document.activeElement)"))
        style, width = page.run("((s) => [s.outlineStyle, s.outlineWidth])(getComputedStyle(document.activeElement))")
        assert style != "none", page.run("document.activeElement.outerHTML")
        assert width != "0px"
    assert reached == set(range(count))
