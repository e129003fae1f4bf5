"""Everything that Sphinx reads, in one folder: the pages, what their code shows, and the generated pages."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from docs.builder import commands, gallery, live, reference

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
#: pages that stand in the root of the repository
ROOT_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
#: the list that pages of the top folder go to which no list names
GUIDE = ":caption: Guide"


class Stage:
    """The folder that is filled. What would not change is left alone, so that Sphinx need not read it again."""

    def __init__(self, folder: Path):
        self.folder, self.kept = folder, set()
        folder.mkdir(parents=True, exist_ok=True)

    def text(self, name: str, text: str) -> None:
        self.bytes(name, text.encode())

    def bytes(self, name: str, content: bytes) -> None:
        path = self.folder / name
        self.kept.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)

    def finish(self) -> None:
        """What nobody has put here this time goes."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_file() and path not in self.kept:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def stage(
    folder: Path, extra: Path, cache: Path, *, shown: gallery.Choice, run_pages: Iterable[str] | None, say: Callable
) -> None:
    """Fill `folder` with what Sphinx reads, and `extra` with files that stand beside its pages.

    `shown` says what the gallery holds; `run_pages` names the pages whose code is run for what it shows, None: all.
    """
    here, beside = Stage(folder), Stage(extra)
    fingerprint = sources_digest()
    pages = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
    for path in sorted((DOCS / "images").iterdir()):
        here.bytes(f"images/{path.name}", path.read_bytes())
    for name, text in pages.items():
        if live.shows_something(text) and (run_pages is None or name in run_pages):
            text = _with_results(name, text, cache / "live", fingerprint, beside, say)
        here.text(name, _listed(text, pages) if name == "index.md" else text)
    for name, page in ROOT_PAGES.items():
        here.text(page, (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "]("))
    for name, text in reference.write(folder).items():
        here.text(f"reference/{name}", text)
    here.text("reference/command_line.md", commands.write())
    gallery.stage(here, beside, cache / "gallery", fingerprint, shown, say)
    here.finish()
    beside.finish()


def sources_digest() -> str:
    """Of everything that results depend on: the package, the examples, and how the site is built."""
    digest = hashlib.sha256()
    for place in (ROOT / "src", ROOT / "examples", DOCS / "builder", DOCS / "static", DOCS / "conf.py"):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path):
                digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _with_results(name: str, text: str, cache: Path, fingerprint: str, beside: Stage, say: Callable) -> str:
    """The page with what its code shows, from the cache if neither has changed."""
    key = hashlib.sha256(f"{fingerprint}\0{name}\0{text}".encode()).hexdigest()[:24]
    results, stem = cache / key, name.removesuffix(".md")
    if not (results / "page.md").exists():
        say(f"running {name}")
        shutil.rmtree(results, ignore_errors=True)
        up = "../" * name.count("/")
        made = live.with_results(name, text, results, lambda path: embedded(f"{up}live/{stem}/{path.name}", path))
        (results / "page.md").write_text(made, encoding="utf-8")
    for path in results.iterdir():
        os.utime(path)  # `prune` keeps what was used
        if path.suffix in live.SHOWN:
            beside.bytes(f"live/{stem}/{path.name}", path.read_bytes())
    return (results / "page.md").read_text(encoding="utf-8")


def embedded(address: str, path: Path) -> str:
    """Markdown that shows a file."""
    if path.suffix != ".html":
        return f'```{{raw}} html\n<p><img class="shown" src="{address}" alt="{path.stem}"></p>\n```'
    kind = "report" if 'class="da-report"' in path.read_text(encoding="utf-8", errors="replace") else "animation"
    return (
        f'```{{raw}} html\n<figure class="live {kind}"><iframe src="{address}" title="{path.stem}" loading="lazy">'
        f'</iframe><figcaption><a href="{address}">{path.name}</a></figcaption></figure>\n```'
    )


def _listed(index: str, pages: Iterable[str]) -> str:
    """The first page, with pages of the top folder that no list names at the end of the guide.

    >>> index = "```{toctree}\\n:caption: Guide\\n\\nmodels\\n```"
    >>> print(_listed(index, ["index.md", "models.md", "more.md", "a/b.md"]))
    ```{toctree}
    :caption: Guide
    <BLANKLINE>
    models
    more
    ```
    """
    lists = TOCTREE.findall(index)
    listed = {line.strip().split("<")[-1].rstrip(">") for entries in lists for line in entries.splitlines()}
    missing = [name[:-3] for name in pages if "/" not in name and name[:-3] not in listed | {"index"}]
    guide = next(entries for entries in lists if GUIDE in entries)
    return index.replace(guide, guide + "".join(f"{name}\n" for name in missing))
