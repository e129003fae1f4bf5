"""Keys, mouse and fingers on a page in a real browser."""

from __future__ import annotations

import pytest
from acting import PLAYER, changed, clock, picture, share, stage, state

SHIFT = 8
#: how far the page is scrolled, as soon as that has not changed for five frames
SETTLED = """new Promise((done) => {
  let [last, same] = [-1, 0];
  const look = () => {
    [last, same] = scrollY === last ? [last, same + 1] : [scrollY, 0];
    if (same < 5) requestAnimationFrame(look);
    else done(last);
  };
  look();
})"""
PLANAR, SPATIAL = "pendulum", "heavy_top"


@pytest.mark.parametrize("name", [PLANAR, SPATIAL])
def test_keys_work_right_after_the_page_has_opened(page, name):
    """Nothing has to be clicked before."""
    shown = page(name)
    for key, modifiers, expression in (
        ("End", 0, "moment.time === DURATION"), ("Home", 0, "moment.time === 0"),
        ("ArrowRight", 0, "moment.k === 1"), ("ArrowLeft", 0, "moment.k === 0"),
        ("ArrowRight", SHIFT, "moment.k === 10"), ("ArrowLeft", SHIFT, "moment.k === 0"),
        ("l", 0, "looping === false"), ("L", SHIFT, "looping === true"),
        ("c", 0, "view.follow === true"), ("c", 0, "view.follow === false"), ("]", 0, "rate === 2"),
        ("[", 0, "rate === 1"), ("[", 0, "rate === 0.5"), ("]", 0, "rate === 1"), (" ", 0, "playing === true"),
        (" ", 0, "playing === false"), ("k", 0, "playing === true"), ("k", 0, "playing === false"),
    ):  # fmt: skip
        shown.key(key, modifiers)
        shown.wait(f"{PLAYER}.{expression}".replace("DURATION", f"{PLAYER}.moment.duration"), timeout=3)
    shown.key("d")
    assert shown.run("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("name", [PLANAR, SPATIAL])
def test_the_camera_by_keys(page, name):
    """Zoom, turn and move, each there and back."""
    shown = page(name)
    for there, back, modifiers in (
        ("+", "-", 0), ("q", "e", 0), ("ArrowUp", "ArrowDown", 0), ("Q", "E", SHIFT), ("ArrowUp", "ArrowDown", SHIFT),
    ):  # fmt: skip
        before = picture(shown)
        shown.key(there, modifiers)
        assert changed(before, picture(shown)) > 1e-3, there
        shown.key(back, modifiers)
        assert changed(before, picture(shown)) < 1e-3, back
    start = picture(shown)
    for key in ("+", "q", "ArrowUp"):
        shown.key(key)
    shown.key("0")
    assert changed(start, picture(shown)) < 1e-4


def test_keys_of_the_browser_stay_its_own(page):
    shown = page(PLANAR)
    shown.key("d", 2)  # with control
    assert shown.run("document.documentElement.dataset.theme") is None


def test_buttons_by_keys_alone(page):
    """Tab to a button, space presses it once; it is not taken for the key that plays."""
    shown = page(PLANAR)
    for _ in range(20):
        shown.key("Tab")
        if shown.run("document.activeElement.matches('.da-loop')"):
            break
    shown.key(" ")
    assert state(shown, "looping") is False
    assert state(shown, "playing") is False
    shown.key("Enter")
    assert state(shown, "looping") is True


def test_the_scrubber_by_keys(page):
    shown = page(PLANAR)
    shown.run("document.querySelector('.da-scrub').focus()")
    shown.key("ArrowRight")
    assert state(shown, "moment.k") == 1
    assert shown.run("document.querySelector('.da-scrub').getAttribute('aria-valuetext')") == clock(shown)
    shown.key("End")
    assert share(shown) == 1


def test_wheel_and_drag_in_the_plane(page):
    shown = page("andrews")
    x, y = map(round, stage(shown))
    scale = state(shown, "view.scale")
    left, top = shown.run("(() => { const b = document.querySelector('.da-canvas').getBoundingClientRect();"
                          "return [b.x, b.y]; })()")  # fmt: skip
    world = state(shown, f"view.world({x + 70 - left}, {y - 40 - top})")
    shown.wheel(x + 70, y - 40, -240)
    shown.wait(f"{PLAYER}.view.scale > {1.2 * scale}")
    assert state(shown, f"view.world({x + 70 - left}, {y - 40 - top})") == pytest.approx(world)  # under the pointer
    shown.mouse(x, y, to=(x + 60, y + 30))
    assert state(shown, f"view.world({x + 130 - left}, {y - 10 - top})") == pytest.approx(world)
    for delta in (-9000, 30_000):  # however far somebody turns the wheel, there is a picture
        shown.wheel(x, y, delta)
    shown.wait(f"{PLAYER}.view.scale < {scale}")
    assert state(shown, "view.scale") > 0


def test_wheel_and_drag_in_space(page):
    shown = page(SPATIAL)
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
    shown.run("document.querySelector('.da-canvas').blur()")
    shown.mouse(x, y, double=True)
    assert state(shown, "view.azimuth") == azimuth
    assert changed(before, picture(shown)) < 1e-4


def test_in_reports_the_wheel_scrolls_until_the_picture_is_chosen(page):
    shown = page(PLANAR, report=True)
    x, y = stage(shown)
    shown.wheel(x, y, 100)
    shown.wait("scrollY > 50")
    scale = state(shown, "view.scale")
    shown.click(".da-canvas")
    middle = stage(shown)
    before = shown.run(SETTLED)
    shown.wheel(*middle, -240)
    shown.wait(f"{PLAYER}.view.scale > {1.2 * scale}")
    assert shown.run(SETTLED) == before


@pytest.mark.parametrize("name", [PLANAR, SPATIAL])
def test_fingers(page, name):
    """One moves or turns, two zoom and move, a tap presses a button and goes to a time in a plot."""
    shown = page(name, width=380, height=720, mobile=True)
    x, y = stage(shown)
    before, steps = picture(shown), range(0, 60, 10)
    shown.touch([(x + d, y + d / 2) for d in steps])
    assert changed(before, picture(shown)) > 1e-3
    zoom = "view.scale" if name == PLANAR else "view.distance"
    size = state(shown, zoom)
    shown.touch([(x - 30 - d, y) for d in steps], [(x + 30 + d, y) for d in steps])
    assert state(shown, zoom) > 1.5 * size if name == PLANAR else state(shown, zoom) < size / 1.5
    shown.tap(".da-fit")
    assert changed(before, picture(shown)) < 1e-3
    shown.tap(".da-forth")
    assert state(shown, "moment.k") == 1
    shown.tap(".da-plot")
    assert share(shown) == pytest.approx(0.5, abs=0.1)
    shown.tap(".da-play")
    shown.wait(f"{PLAYER}.playing")
