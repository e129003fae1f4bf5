"""Animations in a real browser, from a file: they load without complaint, move, and every control does what it says."""

from __future__ import annotations

import base64
import io
import time

import numpy as np
import pytest

from dalembert.viewer.encode import unpacked
from dalembert.viewer.page import scene_data

PLAYER = "document.querySelector('.da-player').player"


def state(page, expression):
    return page.run(f"{PLAYER}.{expression}")


def paused(page):
    page.run(f"{PLAYER}.pause()")
    page.run(f"{PLAYER}.seek(0)")
    return page


def stage(page):
    """The middle of the stage, and its picture as it is drawn."""
    box = page.run("(() => { const b = document.querySelector('.da-canvas').getBoundingClientRect();"
                   "return [b.x, b.y, b.width, b.height]; })()")  # fmt: skip
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def picture(page):
    from PIL import Image

    text = page.run("document.querySelector('.da-canvas').toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text.split(",")[1]))).convert("RGB"), int)


def changed(a, b):
    """Share of pixels that differ visibly."""
    return float((np.abs(a - b).max(axis=2) > 24).mean())


@pytest.mark.parametrize("name", ["andrews", "heavy_top", "falling_block", "transistor_amplifier"])
def test_it_loads_and_moves(page, name):
    shown = page(name)
    before, frames = state(shown, "moment.time"), state(shown, "drawn")
    shown.wait(f"{PLAYER}.drawn > {frames} && {PLAYER}.moment.time !== {before}")
    paused(shown)
    first = picture(shown)
    shown.run(f"{PLAYER}.seek({PLAYER}.moment.duration * 0.4)")
    assert changed(first, picture(shown)) > 1e-3
    assert not shown.complaints()


def test_numbers_arrive_as_they_were(page, solved):
    shown = page("andrews")
    table = unpacked(scene_data(solved("andrews").animate())["data"])[0]
    times = shown.run(f"Array.from({PLAYER}.table.t)")
    np.testing.assert_array_equal(times, table["t"])
    for k in (0, len(table["channels"]) // 2, len(table["channels"]) - 1):
        values = shown.run(f"Array.from({PLAYER}.table.channels[{k}])")
        np.testing.assert_allclose(values, table["channels"][k], rtol=0, atol=1e-12 * np.abs(values).max())


def test_play_and_pause(page):
    shown = paused(page("andrews"))
    shown.click(".da-play")
    shown.wait(f"{PLAYER}.playing && {PLAYER}.moment.time > 0")
    assert "Pause" in shown.run("document.querySelector('.da-play').getAttribute('aria-label')")
    shown.click(".da-play")
    assert not state(shown, "playing")
    stopped = state(shown, "moment.time")
    time.sleep(0.2)
    assert state(shown, "moment.time") == stopped


def test_steps_and_scrubbing(page):
    shown = paused(page("andrews"))
    shown.click(".da-forth")
    one = state(shown, "moment.time")
    assert one == pytest.approx(state(shown, "moment.times[1]"))
    shown.click(".da-back")
    assert state(shown, "moment.time") == 0
    x, y, width = shown.run("(() => { const b = document.querySelector('.da-scrub').getBoundingClientRect();"
                            "return [b.x, b.y + b.height / 2, b.width]; })()")  # fmt: skip
    shown.mouse(x + 0.75 * width, y)
    assert state(shown, "moment.time / PLAYER".replace("PLAYER", f"{PLAYER}.moment.duration")) == pytest.approx(
        0.75, abs=0.02
    )


def test_repeat_and_speed(page):
    shown = paused(page("pendulum"))
    shown.click(".da-loop")
    assert state(shown, "looping") is False
    shown.run(f"{PLAYER}.seek({PLAYER}.moment.duration * 0.97)")
    shown.click(".da-play")
    shown.wait(f"!{PLAYER}.playing")
    assert state(shown, "moment.time") == state(shown, "moment.duration")
    shown.click(".da-loop")
    shown.run(f"{PLAYER}.seek({PLAYER}.moment.duration * 0.97)")
    shown.click(".da-play")
    shown.wait(f"{PLAYER}.moment.time < 0.5 * {PLAYER}.moment.duration")  # it began anew
    paused(shown)
    shown.run("document.querySelector('.da-speed').focus()")
    shown.key("ArrowDown")
    assert state(shown, "rate") == 2


def test_zoom_and_pan_in_the_plane(page):
    shown = paused(page("andrews"))
    x, y = stage(shown)
    scale = state(shown, "view.scale")
    world = state(shown, "view.world(100, 100)")
    shown.wheel(x, y, -240)
    shown.wait(f"{PLAYER}.view.scale > {1.2 * scale}")
    shown.click(".da-fit")
    assert state(shown, "view.scale") == pytest.approx(scale)
    shown.mouse(x, y, to=(x + 60, y + 30))
    moved = state(shown, "view.world(160, 130)")
    assert moved == pytest.approx(world)  # what was under the pointer stays there
    shown.click(".da-follow")
    assert state(shown, "view.follow") is True


def test_orbit_and_pan_in_space(page):
    shown = paused(page("heavy_top"))
    x, y = stage(shown)
    azimuth, elevation, before = state(shown, "view.azimuth"), state(shown, "view.elevation"), picture(shown)
    shown.mouse(x, y, to=(x + 90, y + 40))
    assert state(shown, "view.azimuth") < azimuth
    assert state(shown, "view.elevation") > elevation
    assert changed(before, picture(shown)) > 0.01
    target = state(shown, "view.target")
    shown.mouse(x, y, to=(x + 50, y), button="right")
    assert state(shown, "view.target") != target
    distance = state(shown, "view.distance")
    shown.wheel(x, y, 240)
    shown.wait(f"{PLAYER}.view.distance > {1.1 * distance}")
    shown.click(".da-fit")
    assert state(shown, "view.azimuth") == azimuth
    assert not shown.complaints()


def test_a_click_in_a_plot_goes_there(page):
    shown = paused(page("andrews"))
    x, y, left, width = shown.run(
        f"(() => {{ const p = {PLAYER}.plots[0], b = p.canvas.getBoundingClientRect();"
        "return [b.x, b.y + b.height / 2, p.left, p.width - p.left - 8]; })()"
    )
    shown.mouse(x + left + 0.3 * width, y)
    assert state(shown, "moment.t") == pytest.approx(0.3 * 0.03, abs=1e-4)
    shown.mouse(x + left + 0.3 * width, y, to=(x + left + 0.6 * width, y))
    assert state(shown, "moment.t") == pytest.approx(0.6 * 0.03, abs=1e-4)
    value = float(shown.run("document.querySelector('.da-value').textContent"))
    assert value == pytest.approx(state(shown, f"moment.value({state(shown, 'plots[0].plot.curves[0].c')})"), rel=1e-3)
    shown.click(".da-legend button")
    assert shown.run("document.querySelector('.da-legend button').getAttribute('aria-pressed')") == "false"


def test_layers_and_theme(page):
    shown = paused(page("falling_block"))
    before = picture(shown)
    shown.click(".da-layers summary")
    shown.click("[data-layer=contact]")
    assert state(shown, "layers.contact") is False
    without = picture(shown)
    assert changed(before, without) > 1e-4
    shown.click(".da-theme")
    dark = picture(shown)
    assert dark.mean() < 0.5 * without.mean()
    assert shown.run("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"


def test_dark_as_the_system_is(page):
    shown = page("pendulum", dark=True)
    assert picture(paused(shown)).mean() < 80


def test_keys(page):
    shown = paused(page("pendulum"))
    shown.run("document.querySelector('.da-canvas').focus()")
    for key, expression in (
        ("End", "moment.time === DURATION"), ("Home", "moment.time === 0"), ("ArrowRight", "moment.k === 1"),
        ("ArrowLeft", "moment.k === 0"), ("l", "looping === false"), ("l", "looping === true"),
        ("c", "view.follow === true"), ("c", "view.follow === false"), ("]", "rate === 2"), ("[", "rate === 1"),
        (" ", "playing === true"), (" ", "playing === false"),
    ):  # fmt: skip
        shown.key(key)
        shown.wait(f"{PLAYER}.{expression}".replace("DURATION", f"{PLAYER}.moment.duration"), timeout=3)
    scale = state(shown, "view.scale")
    shown.key("+")
    assert state(shown, "view.scale") == pytest.approx(1.2 * scale)
    shown.key("0")
    assert state(shown, "view.scale") == pytest.approx(scale)
    shown.key("d")
    assert shown.run("document.documentElement.dataset.theme") == "dark"


def test_two_fingers_zoom(page):
    shown = paused(page("pendulum", width=380, height=700, mobile=True))
    x, y = stage(shown)
    scale = state(shown, "view.scale")
    steps = range(0, 60, 10)
    shown.touch([(x - 30 - d, y) for d in steps], [(x + 30 + d, y) for d in steps])
    assert state(shown, "view.scale") > 1.5 * scale


OVERFLOW = """(() => {
  const wide = [...document.querySelectorAll('body *')].filter((one) => {
    if (one.closest('.da-wide, .da-equation, pre, details:not([open]) > :not(summary), .da-menu, script')) return false;
    return one.getBoundingClientRect().right > innerWidth + 1;
  });
  return [document.documentElement.scrollWidth, wide.map((one) => one.tagName + '.' + one.className)];
})()"""


@pytest.mark.parametrize("report", [False, True])
@pytest.mark.parametrize("name", ["andrews", "falling_block"])
def test_nothing_overflows_on_narrow_screens(page, name, report):
    shown = page(name, report=report, width=380, height=720, mobile=True)
    width, wide = shown.run(OVERFLOW)
    assert width <= 380
    assert not wide


def test_reports_load(page):
    shown = page("falling_block", report=True)
    titles = shown.run("[...document.querySelectorAll('h2')].map((one) => one.textContent)")
    assert titles[:3] == ["Animation", "Diagrams", "Model"]
    assert "Impacts" in titles
    assert shown.run("document.querySelectorAll('.da-figures canvas').length") >= 3
    assert shown.run("[...document.querySelectorAll('math')].every((one) => one.getBoundingClientRect().height > 0 "
                     "|| one.closest('details'))")  # fmt: skip
    shown.click(".da-report .da-play")
    shown.wait(f"{PLAYER}.moment.time > 0")
    shown.click(".da-theme-switch")
    assert shown.run("document.documentElement.dataset.theme") == "dark"
    assert not shown.complaints()


def test_everything_has_a_name(page):
    shown = page("falling_block")
    nameless = shown.run(
        "[...document.querySelectorAll('button, input, select, summary, canvas')].filter((one) => "
        "!(one.getAttribute('aria-label') || one.textContent.trim() || one.getAttribute('aria-hidden') "
        "|| one.closest('label'))).map((one) => one.outerHTML)"
    )
    assert not nameless


def test_a_clear_text_without_webgl(page):
    lost = (
        "HTMLCanvasElement.prototype.getContext = ((of) => function (kind, ...more) {"
        "return kind === 'webgl2' ? null : of.call(this, kind, ...more); })(HTMLCanvasElement.prototype.getContext)"
    )
    shown = page("heavy_top", before=lost)
    assert "WebGL 2" in shown.run("document.querySelector('.da-stage .da-message').textContent")
    assert state(shown, "plots.length") > 0
    assert not shown.complaints()


def test_a_clear_text_in_old_browsers(browser, solved, tmp_path):
    solved("pendulum").animate(tmp_path / "page.html")
    shown = browser.open(tmp_path / "page.html", before="delete window.DecompressionStream")
    shown.wait("document.querySelector('.da-message[role=alert]')")
    assert "too old" in shown.run("document.querySelector('.da-message[role=alert]').textContent")
    shown.close()


@pytest.mark.slow
def test_andrews_runs_at_thirty_frames_a_second(page):
    shown = page("andrews")
    time.sleep(2.0)
    frames, start = state(shown, "drawn"), time.monotonic()
    time.sleep(3.0)
    assert (state(shown, "drawn") - frames) / (time.monotonic() - start) >= 30
