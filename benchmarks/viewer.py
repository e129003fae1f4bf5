"""Pages and films: how large they are, how long they take to make, and how many frames a second a browser shows.

    python benchmarks/viewer.py [--large] [--seconds 3]

Frame rates are those of a headless chromium that draws with the processor, as on a machine without graphics; it shows
at most 60 frames a second. A film's image is compared with one of matplotlib's FuncAnimation, which draws the whole
figure for each. Goals: Andrews' page below 1 MB and at 30 frames a second or better; images 10 times as quick.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.viewer.flat import FlatStage

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "viewer"))
from browser import Browser, find_browser

PLAYER = "document.querySelector('.da-player').player"
SMALL, RATE, RATIO = 1_000_000, 30.0, 10.0


def spheres(count: int, t_end: float = 1.5) -> da.Solution:
    """So many spheres that fall into a box."""
    times = np.linspace(0, t_end, 301)
    problem = da.problems.spheres_in_box(count, t_end=t_end)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.ContactsNotSolved)
        return problem.simulate(method=da.MoreauJean(h=1e-2), t_eval=times, dense_output=False)


def chain(links: int) -> da.Solution:
    """A chain that swings."""
    problem = da.problems.chain_of_bodies(links, t_end=0.5)
    return problem.simulate(method=da.Rkf45(), rtol=1e-4, atol=1e-4)


SUBJECTS = {
    "Andrews (planar)": lambda: da.problems.andrews().simulate(),
    "robot (spatial)": lambda: da.problems.six_axis_robot().simulate(),
    "200 spheres": lambda: spheres(200),
}
LARGE = {"10 000 spheres": lambda: spheres(10_000), "chain of 1000": lambda: chain(1000)}


def page_of(sol: da.Solution, path: Path) -> tuple[da.viewer.Animation, float]:
    """The page of a result, and the CPU time that it took."""
    start = time.process_time()
    animation = sol.animate(path)
    return animation, time.process_time() - start


def rate_of(browser: Browser, path: Path, seconds: float) -> tuple[float, float, list[str]]:
    """Frames a second while it plays, milliseconds of script for one of them, and what the browser complained of."""
    page = browser.open(path, still=False)
    page.wait("document.querySelector('.da-player[data-ready]')", timeout=120)
    page.run("new Promise((done) => setTimeout(done, 1000))")
    frames = page.run(
        f"new Promise((done) => {{ const first = {PLAYER}.drawn; setTimeout(() => done({PLAYER}.drawn - first), "
        f"{1000 * seconds}); }})"
    )
    script = page.run(
        f"(() => {{ const p = {PLAYER}; p.pause(); const start = performance.now();"
        "for (let k = 0; k < 20; k++) p.seek((p.moment.duration * k) / 20);"
        "return (performance.now() - start) / 20; })()"
    )
    complaints = page.complaints()
    page.close()
    return frames / seconds, script, complaints


def film_of(sol: da.Solution, count: int = 40) -> tuple[float, float]:
    """CPU milliseconds of an image of ours, and of one as FuncAnimation draws them."""
    animation = sol.animate()
    stage = FlatStage(animation, 640, 480, dark=False)
    moments = np.linspace(0, len(animation.t) - 1, count)
    stage.draw(0.0)
    start = time.process_time()
    for moment in moments:
        stage.draw(moment)
    ours = time.process_time() - start
    theirs = whole_figures(animation, moments)
    return 1000 * ours / count, 1000 * theirs / count


def whole_figures(animation: da.viewer.Animation, moments: np.ndarray) -> float:
    """The same links, dots and traces as lines of an ordinary figure with axes; seconds for all images."""
    import io

    from matplotlib import animation as of_matplotlib
    from matplotlib.figure import Figure

    from dalembert.viewer.now import Now

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    axes = figure.add_subplot(aspect="equal")
    (low, high), items = animation.scene.box, animation.scene.items
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.grid(visible=True)
    lines = [axes.plot([], [])[0] for _ in items]
    clock = axes.set_title("")

    def draw(moment):
        now = Now(animation.scene, moment)
        clock.set_text(f"t = {now.t(animation.t):.4g}")
        for line, item in zip(lines, items, strict=True):
            ends = [item[end] for end in "ab" if end in item] or item.get("through") or [item["at"]]
            points = now.way(item["at"]) if item["kind"] == "trace" else np.array([now.place(end) for end in ends])
            line.set_data(points[:, 0], points[:, 1])

    film = of_matplotlib.FuncAnimation(figure, draw, frames=moments, init_func=lambda: None, cache_frame_data=False)
    start = time.process_time()
    film._init_draw()
    for moment in moments:  # what saving does, without the encoder
        film._draw_next_frame(moment, blit=False)
        figure.savefig(io.BytesIO(), format="rgba", dpi=100)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="also thousands of bodies")
    parser.add_argument("--seconds", type=float, default=3.0, help="of playing")
    given = parser.parse_args()
    program, missed = find_browser(), []
    print(f"{'':20}{'frames':>8}{'page kB':>9}{'made s':>8}{'frames/s':>10}{'script ms':>11}")
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, Path(folder) / "profile") if program else None
        for name, make in (SUBJECTS | (LARGE if given.large else {})).items():
            path = Path(folder) / "page.html"
            animation, seconds = page_of(make(), path)
            size = path.stat().st_size
            row = f"{name:20}{len(animation.t):8}{size / 1000:9.0f}{seconds:8.2f}"
            if browser is not None:
                rate, script, complaints = rate_of(browser, path, given.seconds)
                row += f"{rate:10.1f}{script:11.2f}" + (f"  {complaints}" if complaints else "")
                if name.startswith("Andrews") and (rate < RATE or size >= SMALL):
                    missed.append(name)
            print(row, flush=True)
        if browser is not None:
            browser.close()
    ours, theirs = film_of(da.problems.andrews().simulate())
    print(f"image of a film of Andrews: {ours:.1f} ms, with FuncAnimation {theirs:.1f} ms: {theirs / ours:.1f} times")
    if theirs < RATIO * ours:
        missed.append("films")
    print(f"missed: {', '.join(missed)}" if missed else "all goals are met")


if __name__ == "__main__":
    main()
