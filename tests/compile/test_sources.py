"""Stamps of kernels: they change with what the kernel is made of, and with nothing else."""

import re
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dalembert
from dalembert.compile import store
from dalembert.compile.kernel import device
from dalembert.compile.kernel_cache import sources
from dalembert.compile.sources import Sources, ingredients

PACKAGE = Path(dalembert.__file__).resolve().parent

FILES = {
    "__init__.py": "",
    "errors.py": '"""Errors."""\nclass Fault(Exception): pass\n',
    "a/__init__.py": "from house.a import unused\n",
    "a/unused.py": "x = 1\n",
    "a/kernel.py": """
        '''A kernel.'''
        from typing import TYPE_CHECKING
        from house.b import middle
        from . import constants as numbers
        from .relative import value
        from house.b import NUMBER
        if TYPE_CHECKING:
            from house.c import types
        try:
            import house.c.plain
        except ImportError:
            pass

        def run(a):
            '''Docstring.'''
            from house.c import late
            return middle.half(a) + numbers.ONE
    """,
    "a/constants.py": "ONE = 1.0\n",
    "a/relative.py": "from ..c import deep\nvalue = 3\n",
    "b/__init__.py": "NUMBER = 7\n",
    "b/middle.py": "from house.b.device import quarter\ndef half(a): return 2 * quarter(a)\n",
    "b/device.py": "def quarter(a): return a / 4\n",
    "c/__init__.py": "",
    "c/types.py": "",
    "c/late.py": "",
    "c/plain.py": "",
    "c/deep.py": "",
    "c/unrelated.py": "z = 1\n",
}


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))
    for name, text in FILES.items():
        path = tmp_path / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path / "house"


def stamp(house, file="a/kernel.py"):
    return Sources(house).stamp([house / file])


def test_closure(house):
    found = Sources(house).closure([house / "a/kernel.py"])
    assert {path.relative_to(house).as_posix() for path in found} == {
        "a/kernel.py", "a/constants.py", "a/relative.py", "b/__init__.py", "b/middle.py", "b/device.py", "c/plain.py",
        "c/deep.py",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("b/device.py", "a / 4", "a / 5"),  # a device function, two imports away
        ("b/__init__.py", "7", "8"),
        ("c/deep.py", "", "x = 1"),
        ("a/kernel.py", "middle.half(a)", "2 * middle.half(a)"),
    ],
)
def test_what_changes_the_stamp(house, file, old, new):
    before = stamp(house)
    path = house / file
    text = path.read_text()
    path.write_text(text.replace(old, new) if old else new)
    changed = stamp(house)
    path.write_text(text)
    assert changed != before == stamp(house)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("b/device.py", "def", "# a comment\n\n\ndef"),
        ("a/kernel.py", "'''Docstring.'''", "'''Another.'''\n"),
        ("a/kernel.py", "'''A kernel.'''", ""),
        ("errors.py", "pass", "x = 1"),
        ("a/unused.py", "1", "2"),
        ("c/types.py", "", "x = 1"),
        ("c/late.py", "", "x = 1"),
        ("c/unrelated.py", "1", "2"),
        ("c/new.py", "", "x = 1"),
    ],
)
def test_what_does_not(house, file, old, new):
    before = stamp(house)
    path = house / file
    path.write_text(path.read_text().replace(old, new) if old else new)
    assert stamp(house) == before


def test_what_is_left_out(house):
    found = Sources(house, without=["b/middle.py"]).closure([house / "a/kernel.py"])
    assert not {path.name for path in found} & {"middle.py", "device.py"}


#: files that hold nothing but numbers for kernels
NUMBERS = {"multibody/moves.py", "model/shape_kinds.py"}


def test_no_options_in_kernels():
    """A new option, or another error text, does not compile anything anew."""
    kernel = re.compile(r"^ *(@kernel\(|\w+ = \w+_kernel\()", re.M)
    kernels = [path for path in PACKAGE.rglob("*.py") if kernel.search(path.read_text())]
    assert len(kernels) > 10
    for path in kernels:
        names = {file.relative_to(PACKAGE).as_posix() for file in sources.closure([path])}
        rooms = ("compile", "contact", "linalg", "recursions", "solvers", "studies", "viewer")
        assert not {name for name in names if name.split("/")[0] not in rooms} - NUMBERS
        assert not {name for name in names if name.endswith("options.py")}


def test_place_and_memory_do_not_matter(house, tmp_path, monkeypatch):
    before = stamp(house)
    shutil.copytree(house, tmp_path / "elsewhere" / "house")
    assert stamp(tmp_path / "elsewhere" / "house") == before
    (syntax,) = (tmp_path / "cache" / "sources").iterdir()
    for content in (b"", b"damaged", syntax.read_bytes()[:-4]):
        syntax.write_bytes(content)
        assert stamp(house) == before
    store.save("syntax", b'{"a": 1, "b": [2]}', "sources")  # of another version
    assert stamp(house) == before
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", "/dev/null/nowhere")
    assert stamp(house) == before


def test_files_are_parsed_once(house, monkeypatch):
    before = stamp(house)
    monkeypatch.setattr("ast.parse", None)
    assert stamp(house) == before


def test_file_outside_of_the_package(house, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import numpy\nfrom house.b.middle import half\nx = 1\n")
    sources = Sources(house)
    assert {path.name for path in sources.closure([script])} == {"script.py", "middle.py", "device.py"}
    before = sources.stamp([script])
    script.write_text(script.read_text().replace("1", "2"))
    assert Sources(house).stamp([script]) != before


def test_file_that_is_broken_since_it_was_imported(house):
    before = stamp(house)
    (house / "b/device.py").write_text("def (")
    broken = stamp(house)
    (house / "b/device.py").write_text("def ((")
    assert len({before, broken, stamp(house)}) == 3


@dataclass(frozen=True)
class Tableau:
    order: int
    weights: np.ndarray


def make(step, tableau):
    @device
    def inner(a):
        return step(a) * tableau.order

    def run(a):
        return inner(a)

    return run


def test_ingredients_of_what_a_factory_made():
    from dalembert.linalg.factors.lu import factor
    from dalembert.solvers.half import half_explicit_kernel

    own = Path(__file__).resolve()
    tableau = Tableau(5, np.arange(3.0))
    files, values = ingredients(make(factor, tableau), PACKAGE)
    assert files == {own, PACKAGE / "linalg/factors/lu.py"}
    assert ingredients(make(factor, Tableau(5, np.arange(3.0))), PACKAGE) == (files, values)
    assert ingredients(make(factor, Tableau(5, np.arange(3.0) + 1)), PACKAGE)[1] != values
    assert ingredients(make(factor, Tableau(4, np.arange(3.0))), PACKAGE)[1] != values
    files, _ = ingredients(half_explicit_kernel.half_explicit, PACKAGE)  # made in loop.py, of functions that it passes
    assert {PACKAGE / "solvers/half/loop.py", PACKAGE / "solvers/half/half_explicit_kernel.py"} <= files
