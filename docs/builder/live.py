"""What the code of pages shows: it is run, and the animations, reports and pictures that it writes are put below it.

The tests run the same code and compare what it prints; here only the files count.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

#: code that writes something to look at
WRITES = re.compile(r"""\.(animate|report|savefig|plot|film)\([^)\n]*["'][^"']+\.(html|png|gif)["']""")
SHOWN = (".html", ".png", ".gif")
FENCE = re.compile(r"^```pycon\n.*?^```$", re.DOTALL | re.MULTILINE)


class PageFailed(Exception):
    """Code of a page raised an exception that the page does not show."""


def shows_something(text: str) -> bool:
    r"""Whether code of a page writes files that can be shown.

    >>> shows_something('```pycon\n>>> animation = sol.animate("pendulum.html")\n```')
    True
    >>> shows_something('`sol.animate("pendulum.html")` writes a page')
    False
    """
    return any(WRITES.search(block.group()) for block in FENCE.finditer(text))


def with_results(name: str, text: str, results: Path, embed: Callable[[Path], str]) -> str:
    """A page with the files that its code has written below each block; they are put into the folder `results`.

    `embed` makes Markdown of a file.
    """
    blocks = list(FENCE.finditer(text))
    with _elsewhere() as folder:
        written = _run(name, text, blocks, folder)
        results.mkdir(parents=True, exist_ok=True)
        for path in {path for paths in written.values() for path in paths}:
            shutil.copy(path, results / path.name)
    parts, end = [], 0
    for number, block in enumerate(blocks):
        parts += [text[end : block.end()], *(f"\n\n{embed(results / path.name)}" for path in written[number])]
        end = block.end()
    return "".join([*parts, text[end:]])


@contextlib.contextmanager
def _elsewhere() -> Iterator[Path]:
    """In a folder of its own."""
    import matplotlib

    before, backend = Path.cwd(), matplotlib.get_backend()
    matplotlib.use("Agg")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)
            matplotlib.use(backend)


def _run(name: str, text: str, blocks: list[re.Match], folder: Path) -> dict[int, list[Path]]:
    """Files that are new after each block of code."""
    space: dict = {"__name__": "__main__"}
    written: dict[int, list[Path]] = {}
    known: dict[Path, int] = {}
    for number, block in enumerate(blocks):
        for example in doctest.DocTestParser().get_examples(block.group()):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(example.source, name, "single"), space)
            except Exception as error:
                if example.exc_msg is None:
                    raise PageFailed(f"{name}: {example.source.strip()}: {type(error).__name__}: {error}") from error
        found = {path: path.stat().st_mtime_ns for path in folder.iterdir() if path.suffix in SHOWN}
        new = [path for path, when in found.items() if known.get(path) != when]
        written[number] = sorted(new, key=lambda path: found[path])
        known = found
    return written
