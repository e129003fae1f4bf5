"""Draw the pictures of README and docs again.

python examples/make_docs_images.py [directory]      (default: docs/images)

Pictures of pages need a browser, chromium; without one they stay as they are.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import driven_slider
import readme_pendulum
from PIL import Image

import dalembert as da
from dalembert import demo

sys.path.insert(0, str(Path(__file__).parents[1]))
from docs.builder import figures

#: pages by the names of their pictures: the problem, what is written of its solution, width and height of the window
PAGES = {
    "animation.png": (da.problems.andrews, "animate", 1100, 640),
    "animation_space.png": (da.problems.catalogue_multibody()["six_axis_robot"], "animate", 1100, 640),
    "report.png": (da.problems.andrews, "report", 1000, 1100),
}


def make(directory: Path) -> list[Path]:
    pictures = [directory / name for name in ("pendulum.png", "driven_slider.png", "demo.png")]
    readme_pendulum.draw(pictures[0])
    driven_slider.draw(pictures[1])
    demo.picture(demo.simulate_all()).savefig(pictures[2], dpi=80)
    return [smaller(path) for path in (*pictures, *figures.draw(directory))]


def photograph(directory: Path) -> list[Path]:
    """Pictures of pages, if there is a browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        return []
    for name, (problem, kind, width, height) in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            getattr(problem().simulate(), kind)(page)
            options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=4000"]
            command = [browser, *options, f"--window-size={width},{height}", f"--screenshot={directory / name}"]
            subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=120)
    return [smaller(directory / name) for name in PAGES]


def smaller(path: Path) -> Path:
    """A palette is enough for lines, and half the size."""
    with Image.open(path) as image:
        image.convert("RGB").quantize(128).save(path, optimize=True)
    return path


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images"
    for path in (*make(place), *photograph(place)):
        print(f"{path}: {path.stat().st_size // 1000} kB")
