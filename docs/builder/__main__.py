"""Build the site: `python -m docs.builder`, or `make docs`."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from docs.builder.gallery import EVERYTHING, Choice

ROOT = Path(__file__).parents[2]


def build(
    work: Path, *, shown: Choice = EVERYTHING, run_pages: Iterable[str] | None = None, say=lambda text: None
) -> Path:
    """Build the site below `work`; returns its first page. Raises SystemExit if Sphinx complains about anything."""
    from docs.builder.stage import sources_digest, stage
    from sphinx.cmd.build import main as sphinx

    source, extra, html = work / "source", work / "extra", work / "html"
    stage(source, extra, work / "cache", shown=shown, run_pages=run_pages, say=say)
    say("Sphinx")
    arguments = ["-b", "html", "-W", "--keep-going", "-q", "-c", str(ROOT / "docs"), "-d", str(work / "doctrees")]
    stamp, digest = work / "stamp", sources_digest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != digest:
        arguments.append("-E")  # docstrings, or how pages are made: Sphinx cannot know
    failed = sphinx([*arguments, "-D", f"html_extra_path={extra}", str(source), str(html)])
    if failed:
        raise SystemExit(f"the site has faults: Sphinx ended with code {failed}")
    stamp.write_text(digest, encoding="utf-8")
    return html / "index.html"


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m docs.builder", description=__doc__)
    options.add_argument("--work", type=Path, default=ROOT / "build" / "docs", help="where it is built")
    options.add_argument("--quick", action="store_true", help="a small gallery, and no code of pages is run")
    options.add_argument("--fresh", action="store_true", help="forget what was built before")
    given = options.parse_args()
    if given.fresh:
        shutil.rmtree(given.work, ignore_errors=True)
    start = time.perf_counter()
    small = Choice(problems=("andrews", "heavy_top"), examples=("readme_pendulum",))
    page = build(
        given.work.resolve(),
        shown=small if given.quick else EVERYTHING,
        run_pages=() if given.quick else None,
        say=lambda text: print(text, flush=True),
    )
    print(f"built in {time.perf_counter() - start:.0f} s: {page.as_uri()}")


if __name__ == "__main__":
    sys.exit(main())
