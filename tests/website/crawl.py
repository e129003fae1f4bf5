"""What pages of a site refer to."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: attributes that make a browser load something
LOADED = {
    "script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src", "audio": "src",
    "object": "data", "embed": "src",
}  # fmt: skip
#: relations of <link> that load nothing
NOT_LOADED = {"canonical", "next", "prev", "index", "search", "up", "author", "help", "contents", "top"}


class Page(HTMLParser):
    """Addresses that a page links to and loads, and the names of its places."""

    def __init__(self, path: Path):
        super().__init__(convert_charrefs=True)
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attributes}
        self.places |= {told[name] for name in ("id", "name") if name in told}
        if tag == "a" and "href" in told:
            self.links.add(told["href"])
        elif tag in LOADED and LOADED[tag] in told and told.get("rel") not in NOT_LOADED:
            self.loads.add(told[LOADED[tag]])


def is_elsewhere(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https", "ftp") or address.startswith("//")


def crawl(site: Path) -> dict[Path, Page]:
    """All pages of a site."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def broken(pages: dict[Path, Page]) -> list[str]:
    """References to files and places that do not exist."""
    found = []
    for path, page in pages.items():
        for address in page.links | page.loads:
            parts = urlsplit(address)
            if parts.scheme or address.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{path.name}: {address}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                found.append(f"{path.name}: {address} (no such place)")
    return found
