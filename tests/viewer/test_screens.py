"""Pages load without complaint and show something: small and dark screens, old browsers, every problem."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from acting import PLAYER, changed, picture, state
from complete import complete
from PIL import Image
from still import EVERY, animated

from dalembert.viewer.encode import unpacked
from dalembert.viewer.page import page as whole_page
from dalembert.viewer.page import player, scene_data


@pytest.mark.parametrize("name", ["andrews", "heavy_top", "falling_block", "transistor_amplifier"])
def test_it_plays_by_itself(page, name):
    shown = page(name, still=False)
    before, frames = state(shown, "moment.time"), state(shown, "drawn")
    shown.wait(f"{PLAYER}.drawn > {frames} && {PLAYER}.moment.time !== {before}")
    shown.key("k")
    shown.key("Home")
    first = picture(shown)
    shown.run(f"{PLAYER}.seek({PLAYER}.moment.duration * 0.4)")
    assert changed(first, picture(shown)) > 1e-3


def test_nothing_moves_for_those_who_want_it_so(page):
    shown = page("pendulum")  # as the browser says: reduced motion
    assert state(shown, "playing") is False
    assert state(shown, "moment.time") == 0


def test_numbers_arrive_as_they_were(page, solved):
    shown = page("andrews")
    data = scene_data(solved("andrews").animate())
    tables = unpacked(data["data"])
    np.testing.assert_array_equal(shown.run(f"Array.from({PLAYER}.table.t)"), tables[0]["t"])
    for k in (0, len(tables[0]["channels"]) // 2, len(tables[0]["channels"]) - 1):
        values = shown.run(f"Array.from({PLAYER}.table.channels[{k}])")
        np.testing.assert_allclose(values, tables[0]["channels"][k], rtol=0, atol=1e-12 * np.abs(values).max())
    curve = data["plots"][0]["curves"][0]
    table = tables[curve["table"]]
    np.testing.assert_allclose(shown.run(f"Array.from({PLAYER}.plots[0].curves[0].t)"), table["t"], atol=1e-12)
    values = shown.run(f"Array.from({PLAYER}.plots[0].curves[0].values)")
    np.testing.assert_allclose(values, table["channels"][curve["c"]], atol=1e-12 * np.abs(values).max())


def test_every_problem_in_one_page(opened, tmp_path):
    """All in the plane, and as many in space as a page can have contexts for: none complains, each shows something."""
    scenes = [player(animated(name)) for name in EVERY]
    path = tmp_path / "all.html"
    path.write_text(whole_page("all", "".join(scenes), kind="report"))
    shown = opened(path).ready()
    empty = shown.run("""[...document.querySelectorAll('.da-player')].filter(({ player }) => {
      if (player.lost) return false;
      const small = Object.assign(document.createElement('canvas'), { width: 60, height: 40 });
      const context = small.getContext('2d');
      player.layers.grid = false;
      player.draw();
      context.drawImage(player.canvas, 0, 0, 60, 40);
      const { data } = context.getImageData(0, 0, 60, 40);
      let [low, high] = [255, 0];
      for (let k = 0; k < data.length; k += 4) [low, high] = [Math.min(low, data[k]), Math.max(high, data[k])];
      return high - low < 40;
    }).map(({ player }) => player.scene.title)""")
    assert not empty
    assert shown.run("[...document.querySelectorAll('.da-player')].filter((one) => one.player.lost).length") <= 6


@pytest.mark.parametrize("name", ["heavy_top", "six_axis_robot", "passenger_car"])
def test_pictures_without_a_browser_look_the_same(page, solved, name, tmp_path):
    """Two programs that have nothing in common draw the same scene from the same place."""
    shown = page(name)
    shown.run(f"{PLAYER}.seek({PLAYER}.moment.duration * 0.5)")
    seen = picture(shown)
    animation = solved(name).animate()
    height, width = seen.shape[:2]
    middle = (animation.t[0] + animation.t[-1]) / 2
    view = tuple(np.degrees([-0.9, 0.38]))
    animation.save(tmp_path / "still.png", t=middle, width=width, height=height, view=view)
    drawn = np.asarray(Image.open(tmp_path / "still.png").convert("RGB"), int)
    same = changed(seen[60:], drawn[60:], 60)  # edges, and ways that are still to come; not the texts above
    aside = changed(seen[60:], np.roll(drawn, 40, axis=1)[60:], 60)
    assert same < 0.02
    assert same < 0.25 * aside


def test_a_picture_that_was_taken_away_comes_back(page):
    shown = page("heavy_top")
    before = picture(shown)
    shown.run(f"{PLAYER}.move('orbit', 50, 0)")
    turned = picture(shown)
    shown.run(f"{PLAYER}.view.gl.getExtension('WEBGL_lose_context').loseContext()")
    shown.wait(f"{PLAYER}.lost")
    shown.click(".da-play")
    shown.wait(f"!{PLAYER}.lost && {PLAYER}.moment.time > 0")
    shown.click(".da-play")
    shown.key("Home")
    assert changed(turned, picture(shown)) < 1e-3  # seen from where it was seen before
    assert changed(before, picture(shown)) > 1e-2


OVERFLOW = """(() => {
  const wide = [...document.querySelectorAll('body *')].filter((one) => {
    if (one.closest('.da-wide, .da-equation, pre, details:not([open]) > :not(summary), script')) return false;
    const box = one.getBoundingClientRect();
    return box.width && (box.right > innerWidth + 1 || box.left < -1);
  });
  return [document.documentElement.scrollWidth, wide.map((one) => one.tagName + '.' + one.className)];
})()"""


@pytest.mark.parametrize("report", [False, True])
@pytest.mark.parametrize("name", ["andrews", "falling_block", "heavy_top"])
def test_nothing_overflows_on_narrow_screens(page, name, report):
    shown = page(name, report=report, width=380, height=720, mobile=True)
    for script in ("0", "document.querySelectorAll('.da-layers-menu').forEach((one) => (one.open = true))"):
        shown.run(script)
        width, wide = shown.run(OVERFLOW)
        assert width <= 380
        assert not wide


def test_controls_are_large_enough_for_fingers(opened, tmp_path):
    complete(spatial=False).animate(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html", width=380, height=720, mobile=True).ready()
    small = shown.run("[...document.querySelectorAll('.da-controls button, .da-controls select, .da-controls summary, "
                      ".da-scrub')].filter((one) => one.checkVisibility()).map((one) => [one.outerHTML, "
                      "one.getBoundingClientRect()]).filter(([_, b]) => b.width < 24 || b.height < 20)")  # fmt: skip
    assert not small
    rows = shown.run("new Set([...document.querySelectorAll('.da-controls > .da-button')].map((one) => "
                     "Math.round(one.getBoundingClientRect().top))).size")  # fmt: skip
    assert rows == 1


def test_dark_as_the_system_is(page):
    assert picture(page("pendulum", dark=True)).mean() < 80
    shown = page("pendulum", dark=True, report=True)
    assert shown.run("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"


def test_reports_are_printed_on_white_paper(page):
    """Dark pages, too; with everything on paper that is on the screen, and as dark as before afterwards."""
    shown = page("falling_block", report=True, dark=True)
    assert picture(shown).mean() < 80
    shown.run("addEventListener('beforeprint', () => { window.printed = document.documentElement.dataset.theme; })")
    paper = base64.b64decode(shown.ask("Page.printToPDF", printBackground=True)["data"])
    assert paper.startswith(b"%PDF")
    assert shown.run("window.printed") == "light"
    assert picture(shown).mean() < 80
    shown.ask("Emulation.setEmulatedMedia", media="print")
    assert shown.run("getComputedStyle(document.querySelector('.da-controls')).display") == "none"
    assert shown.run("[...document.querySelectorAll('.da-report section')].every((one) => one.offsetHeight > 20)")


def test_a_clear_text_without_webgl(page):
    lost = (
        "HTMLCanvasElement.prototype.getContext = ((of) => function (kind, ...more) {"
        "return kind === 'webgl2' ? null : of.call(this, kind, ...more); })(HTMLCanvasElement.prototype.getContext)"
    )
    shown = page("heavy_top", before=lost)
    assert "WebGL 2" in shown.run("document.querySelector('.da-stage .da-message').textContent")
    shown.key("End")  # plots and times are there
    assert state(shown, "moment.time") == state(shown, "moment.duration")


def test_a_clear_text_in_old_browsers(opened, solved, tmp_path):
    solved("pendulum").animate(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html", before="delete window.DecompressionStream")
    shown.wait("document.querySelector('.da-message[role=alert]')")
    assert "too old" in shown.run("document.querySelector('.da-message[role=alert]').textContent")


@pytest.mark.parametrize("report", [False, True])
def test_a_clear_text_without_scripts(opened, solved, tmp_path, report):
    (solved("pendulum").report if report else solved("pendulum").animate)(tmp_path / "page.html")
    shown = opened(tmp_path / "page.html", scripts=False)
    shown.loaded()
    root = shown.ask("DOM.getDocument")["root"]["nodeId"]
    found = shown.ask("DOM.querySelector", nodeId=root, selector="noscript p")["nodeId"]
    assert found, "what is written for those without scripts is not shown"
    assert "switched off" in shown.ask("DOM.getOuterHTML", nodeId=found)["outerHTML"]


def test_damaged_data_is_told(browser, solved, tmp_path):
    page = solved("pendulum").animate().html()
    at = page.index('"bytes":"') + 200
    (tmp_path / "page.html").write_text(page[:at] + "!!!!" + page[at + 4 :])
    shown = browser.open(tmp_path / "page.html")
    shown.wait("document.querySelector('.da-message[role=alert]')")
    assert "could not be shown" in shown.run("document.querySelector('.da-message[role=alert]').textContent")
    shown.close()


def test_andrews_is_drawn_quickly(page):
    """A frame takes a small part of a thirtieth of a second; `benchmarks/viewer.py` measures frames a second."""
    shown = page("andrews")
    milliseconds = shown.run(f"(() => {{ const p = {PLAYER}, start = performance.now();"
                             "for (let k = 0; k < 200; k++) p.seek((p.moment.duration * k) / 200);"
                             "return (performance.now() - start) / 200; })()")  # fmt: skip
    assert milliseconds < 1000 / 30


@pytest.mark.slow
def test_andrews_runs_at_thirty_frames_a_second(page):
    shown = page("andrews", still=False)
    shown.run("new Promise((done) => setTimeout(done, 1000))")
    counted = shown.run(f"new Promise((done) => {{ const first = {PLAYER}.drawn; setTimeout(() => done({PLAYER}.drawn"
                        " - first), 3000); })")  # fmt: skip
    assert counted / 3 >= 30
