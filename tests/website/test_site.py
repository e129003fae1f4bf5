"""The documentation as a site: Sphinx builds it without complaint, it refers to nothing elsewhere, and browsers show it
from a file, on wide and narrow screens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from crawl import Page, broken, crawl, is_elsewhere

import dalembert as da

ROOT = Path(__file__).parents[2]
#: of every kind: prose with formulas, code with what it shows, wide tables, the gallery, the reference
LOOKED_AT = (
    "index.html", "first_steps.html", "methods/geoms.html", "methods/overview.html", "multibody.html",
    "gallery/index.html", "gallery/andrews.html", "reference/methods.html", "reference/command_line.html",
)  # fmt: skip
# of Sphinx and its extensions about each other
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")


@pytest.fixture(scope="module")
def pages(site):
    return crawl(site)


def test_every_page_is_there(site):
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert len(sources) > 40
    assert not [str(page) for page in sources if not (site / page).is_file()]


def test_links_lead_somewhere(pages):
    assert len(pages) > 60
    assert not broken(pages)


def test_crawling_finds_what_is_broken(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="#there">x</a><a href="b.html">y</a><img src="c.png"></p>')
    found = broken(crawl(tmp_path))
    assert sorted(found) == ["a.html: #there (no such place)", "a.html: b.html", "a.html: c.png"]


def test_nothing_is_loaded_from_elsewhere(site, pages):
    assert not {(path.name, address) for path, page in pages.items() for address in page.loads if is_elsewhere(address)}
    styles = [path.read_text(errors="replace") for path in (site / "_static").rglob("*.css")]
    assert styles
    assert not [text for text in styles if "url(http" in text or "url(//" in text or "@import" in text]


def test_formulas_are_mathml(site):
    text = (site / "methods" / "geoms.html").read_text(encoding="utf-8")
    assert text.count("<math ") > 20
    assert "$" not in text.partition("<article")[2].partition('<div class="highlight')[0]
    assert "MathJax" not in text


def test_reference_has_every_public_name(site):
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    missing = [name for name in da._HOME if f'id="dalembert.{name}"' not in text]
    assert not missing
    undocumented = [room for room in da._ROOMS if f'id="dalembert.{room}.' not in text]
    assert not undocumented
    methods = (site / "reference" / "methods.html").read_text(encoding="utf-8")
    assert "largest ratio of successive steps" in methods  # a comment beside an option


def test_reference_has_every_command(site):
    import typer

    from dalembert.cli import app

    text = Page(site / "reference" / "command_line.html")
    group = typer.main.get_command(app)
    names = group.list_commands(group.make_context("dalembert", [], resilient_parsing=True))
    assert set(names) <= text.places


def test_code_of_pages_shows_what_it_writes(site):
    assert (site / "live" / "index" / "andrews.html").stat().st_size > 10_000
    assert "live/index/andrews.html" in Page(site / "index.html").loads


@pytest.mark.parametrize("width", [1100, 380])
def test_pages_in_a_browser(opened, site, width):
    for name in LOOKED_AT:
        page = opened(site / name, width=width, height=800, mobile=width < 500)
        shown, room = page.run("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert shown <= room, name


def test_search(opened, site):
    page = opened(site / "search.html")
    page.wait("document.querySelector('input[name=q]')")
    page.ask("Page.navigate", url=(site / "search.html").as_uri() + "?q=strangeness")
    page.wait("document.querySelectorAll('#search-results li a').length > 0")
    found = page.run("[...document.querySelectorAll('#search-results li a')].map((one) => one.getAttribute('href'))")
    assert any("methods/geoms" in address for address in found)


def test_an_animation_inside_of_a_page_moves(opened, site):
    """With the mouse, as a reader would: the frame is another document."""
    page = opened(site / "gallery" / "andrews.html")
    page.run("document.querySelector('figure.live').scrollIntoView({block: 'start'})")
    page.wait("document.querySelector('figure.live iframe')")

    def frame():
        tree = page.ask("Page.getFrameTree")["frameTree"]
        return next((one["frame"]["id"] for one in tree.get("childFrames", ())), None)

    inside = page.ask("Page.createIsolatedWorld", frameId=frame())["executionContextId"]

    def ask(expression):
        answer = page.ask("Runtime.evaluate", expression=expression, contextId=inside, returnByValue=True)
        return answer["result"].get("value")

    def clock():
        return ask("document.querySelector('.da-clock')?.textContent")

    for _ in range(200):
        if ask("!!document.querySelector('.da-player')?.dataset.ready"):
            break
        page.run("new Promise((done) => setTimeout(done, 50))")
    before = clock()
    x, y = ask("(() => { const b = document.querySelector('.da-play').getBoundingClientRect();"
               "return [b.x + b.width / 2, b.y + b.height / 2]; })()")  # fmt: skip
    left, top = page.run("(() => { const b = document.querySelector('figure.live iframe').getBoundingClientRect();"
                         "return [b.x, b.y]; })()")  # fmt: skip
    if "Play" in ask("document.querySelector('.da-play').getAttribute('aria-label')"):
        page.mouse(left + x, top + y)
    for _ in range(100):
        if clock() != before:
            break
        page.run("new Promise((done) => setTimeout(done, 50))")
    assert clock() != before


def test_a_fault_in_a_page_fails_the_build(builder, tmp_path, monkeypatch):
    """Sphinx's warnings are errors: a link that leads nowhere is one."""
    from docs.builder import stage

    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "images").mkdir()
    (folder / "index.md").write_text(
        "# A page\n\n[nowhere](missing.md)\n\n```{toctree}\n:caption: Guide\n\nother\n```\n"
    )
    (folder / "other.md").write_text("# Another\n")
    monkeypatch.setattr(stage, "DOCS", folder)
    monkeypatch.setattr(stage.reference, "write", lambda folder: {})
    monkeypatch.setattr(stage.commands, "write", lambda: "# Commands\n")
    nothing = builder.Choice(problems=(), examples=())
    with pytest.raises(SystemExit, match="the site has faults"):
        builder.build(tmp_path / "work", shown=nothing, run_pages=())


@pytest.mark.slow
def test_the_whole_site(builder, tmp_path, browser):
    """Everything: all pages' code, all of the gallery; each page on a wide and on a narrow screen."""
    site = builder.build(tmp_path).parent
    pages = crawl(site)
    assert not broken(pages)
    assert len(list((site / "gallery").glob("*_animation.html"))) > 55
    complaints = {}
    for path in pages:
        for width in (1100, 380):
            page = browser.open(path, width=width, height=800, mobile=width < 500)
            page.wait("document.readyState === 'complete'")
            shown, room = page.run("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            found = [*page.complaints(), *([f"{shown} pixels wide"] if shown > room else [])]
            if found:
                complaints[f"{path.relative_to(site)} at {width}"] = found
            page.close()
    assert not complaints, json.dumps(complaints, indent=1)
