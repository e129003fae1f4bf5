"""The README and the examples run. (The pages of docs/ are collected by pytest itself.)"""

import importlib
import re
import runpy
import sys
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = (
    "readme_pendulum", "driven_slider", "bouncing_ball", "parameter_sweep", "walking_beam", "windscreen_wiper",
    "walking_legs", "dominoes",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_windows():
    import matplotlib.pyplot as plt

    backend = matplotlib.get_backend()
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.switch_backend(backend)


@pytest.fixture
def examples(monkeypatch):
    """Make the examples importable, without leaving them behind."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name in (*EXAMPLES, "make_docs_images"):
            del sys.modules[name]


def test_python_blocks_of_the_readme_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    namespace = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)
    assert namespace["sol"].success


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", [path.relative_to(ROOT).as_posix() for path in sorted(PAGES)])
def test_links_lead_somewhere(page):
    file = ROOT / page
    text = file.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)  # an array is no link
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (file.parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs_and_draws_only_when_asked(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script, picture = ROOT / "examples" / f"{name}.py", tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(sys, "argv", [str(script), str(picture)])
    runpy.run_path(str(script), run_name="__main__")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_every_example_is_listed_and_tested():
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"make_docs_images"}
    assert scripts == set(EXAMPLES)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"examples/{name}.py" in readme for name in EXAMPLES)


def test_example_models_do_what_they_say(examples):
    slider = importlib.import_module("driven_slider")
    sol = slider.run()
    assert sol.status == "terminated by event 'slow'"
    assert sol.max_residual("position") < 1e-8
    reversals = sol.events.named("reversal")
    # at a reversal crank and rod are in line
    assert all(min(abs(o.p[1] - 0.4), abs(o.p[1] - 0.2)) < 1e-6 for o in reversals)

    ball = importlib.import_module("bouncing_ball")
    heights = [o.p[1] - ball.ground(o.p[0]) for o in ball.sol.events]
    assert heights
    assert max(map(abs, heights)) < 1e-8


def test_pictures_of_the_readme_can_be_made_again(examples, tmp_path):
    script = importlib.import_module("make_docs_images")
    pictures = script.make(tmp_path)
    committed = ROOT / "docs" / "images"
    assert {path.name for path in pictures} | set(script.PAGES) == {path.name for path in committed.iterdir()}
    assert all(path.stat().st_size < 100_000 for path in (*pictures, *committed.iterdir()))
