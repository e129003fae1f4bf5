"""Draw the pictures of the README again.

python examples/make_docs_images.py [directory]      (default: docs/images)
"""

import sys
from pathlib import Path

import driven_slider
import readme_pendulum
from PIL import Image

from dalembert import demo


def make(directory: Path) -> list[Path]:
    pictures = [directory / name for name in ("pendulum.png", "driven_slider.png", "demo.png")]
    readme_pendulum.draw(pictures[0])
    driven_slider.draw(pictures[1])
    demo.picture(demo.simulate_all()).savefig(pictures[2], dpi=80)
    for path in pictures:  # a palette is enough for lines, and half the size
        with Image.open(path) as image:
            image.convert("RGB").quantize(200).save(path, optimize=True)
    return pictures


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "docs" / "images"
    for path in make(Path(sys.argv[1]) if len(sys.argv) > 1 else default):
        print(f"{path}: {path.stat().st_size // 1000} kB")
