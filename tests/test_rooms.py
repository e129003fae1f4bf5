"""Imports between the rooms go one way, and `import dalembert` loads nothing heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dalembert

ROOT = Path(dalembert.__file__).parent

#: a room imports from its own or a lower rank
RANKS = {
    "background": 0, "checks": 0, "errors": 0, "file_locks": 0, "kept": 0, "locks": 0, "options": 0,
    "draw": 1, "model": 1, "modelica": 1, "multibody": 1, "problems": 1,
    "regularize": 2,
    "compile": 3, "export": 3, "linalg": 3, "recursions": 3,
    "solvers": 4,
    "solution": 5, "viewer": 5,
    "contact": 6, "simulation": 6,
    "ensembles": 7, "studies": 7, "sweeps": 7,
    "cli": 8, "demo": 8, "__main__": 8,
}  # fmt: skip

#: file and what it imports although it ranks higher
EXCEPTIONS = {
    ("model/dae.py", "dalembert.regularize.structure.hidden_levels"),  # model.hidden_constraints()
    ("model/dae.py", "dalembert.regularize.structure.analyse"),  # model.structure, model.index: at their first call
    ("problems/problem.py", "dalembert.simulate"),  # Problem.simulate, a convenience: at its first call, never before
    ("modelica/cache.py", "dalembert.compile.store"),  # what is kept on disk is sealed there; no solvers
}

MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported(tree: ast.AST, package: str) -> Iterator[tuple[str, int]]:
    """Dotted names of everything of this package that a module of `package` imports, and the lines.

    Imports inside of functions count; those for type checkers alone do not.
    """
    if isinstance(tree, ast.If) and ast.unparse(tree.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for node in tree.orelse:
            yield from imported(node, package)
        return
    if isinstance(tree, ast.Import):
        names = [alias.name for alias in tree.names]
    elif isinstance(tree, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) + 1 - tree.level] if tree.level else []
        names = [".".join([*above, *filter(None, [tree.module]), alias.name]) for alias in tree.names]
    else:
        names = []
    yield from ((name, tree.lineno) for name in names if name.split(".")[0] == "dalembert")
    for child in ast.iter_child_nodes(tree):
        yield from imported(child, package)


def rank_of(name: str) -> int:
    """The rank of a dotted name; public names of `dalembert` rank as the rooms in which they live."""
    if name == "dalembert.__version__":
        return 0
    if name == "dalembert":  # the door to every room
        return max(RANKS.values())
    first = name.split(".")[1]
    return RANKS[first if first in RANKS else dalembert._HOME[first].split(".")[0]]


def violations(text: str, path: str) -> list[str]:
    """Imports in a module, by its path in the package, that go the wrong way."""
    parts = Path(path).with_suffix("").parts
    rank, package = RANKS[parts[0]], ".".join(["dalembert", *parts[:-1]])
    return [
        f"{path}:{line} imports {name}"
        for name, line in imported(ast.parse(text), package)
        if rank_of(name) > rank and (path, name) not in EXCEPTIONS
    ]


def test_every_room_has_a_rank():
    rooms = {path.relative_to(ROOT).with_suffix("").parts[0] for path in MODULES}
    assert rooms == set(RANKS)


@pytest.mark.parametrize("room", RANKS)
def test_imports_go_one_way(room):
    mine = [path for path in MODULES if path.relative_to(ROOT).with_suffix("").parts[0] == room]
    wrong = [fault for path in mine for fault in violations(path.read_text(), path.relative_to(ROOT).as_posix())]
    assert mine
    assert not wrong


def test_exceptions_are_still_needed():
    for path, name in EXCEPTIONS:
        tree = ast.parse((ROOT / path).read_text())
        assert name in {found for found, _ in imported(tree, "dalembert." + path.split("/")[0])}


@pytest.mark.parametrize(
    "text",
    [
        "from dalembert.simulation import simulate",
        "import dalembert as da",
        "import dalembert.solution.solution",
        "from dalembert import solution",
        "from dalembert import Solution",
        "from ..solution import Solution",
        "def f():\n    from dalembert.studies import work_precision",
        "if True:\n    from dalembert.cli import app",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from dalembert.simulation import simulate",
        "def f():\n    from dalembert import simulate",
    ],
)
def test_violations_are_found(text):
    assert violations(text, "solvers/invented.py")


@pytest.mark.parametrize(
    "text",
    [
        "from dalembert.linalg.factors import lu",
        "from dalembert import errors, Event",
        "from . import status",
        "from ..solvers.status import Count",
        "if TYPE_CHECKING:\n    from dalembert.solution import Solution",
        "import numpy",
    ],
)
def test_what_is_allowed_is_not_found(text):
    assert not violations(text, "solvers/invented.py")


def loaded_by(code: str) -> set[str]:
    """The modules that a new interpreter has loaded after `code`, submodules of other packages left out."""
    show = "; import sys; print(*(m for m in sys.modules if '.' not in m or m.startswith('dalembert')))"
    done = subprocess.run([sys.executable, "-c", code + show], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_type_checkers_see_the_same_public_names():
    blocks = (node for node in ast.parse((ROOT / "__init__.py").read_text()).body if isinstance(node, ast.If))
    (names,) = (block.body for block in blocks if ast.unparse(block.test) == "TYPE_CHECKING")
    seen = {alias.name: node.module for node in names for alias in node.names}
    homes = {name: f"dalembert.{home}" for name, home in dalembert._HOME.items()}
    assert seen == homes | dict.fromkeys(dalembert._ROOMS, "dalembert")


def test_import_of_the_package_loads_nothing_else():
    loaded = loaded_by("import dalembert")
    assert {name for name in loaded if name.startswith("dalembert")} == {"dalembert", "dalembert.locks"}
    assert not loaded & {"numpy", "scipy", "casadi", "numba", "llvmlite", "matplotlib"}


def test_public_names_and_models_load_no_kernels():
    """Kernels, and numba with them, are imported by the first simulation."""
    code = (
        "import dalembert as da; [getattr(da, name) for name in da.__all__]; "
        "problem = da.problems.andrews(); method = da.Geoms(); method.formulate(problem.model)"
    )
    loaded = loaded_by(code)
    assert "casadi" in loaded
    assert not loaded & {"numba", "llvmlite", "matplotlib", "h5py", "rich"}
    assert not {name for name in loaded if name.startswith("dalembert") and name.endswith(("kernel", "kernels"))}


def test_threads_may_be_the_first_to_use_rooms():
    """All at once, each from another end. One process alone would rarely show what goes wrong."""
    text = """
import threading
import dalembert as da
model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-s.x])
start, done = threading.Barrier(4), []
def work(k):
    start.wait()
    (
        lambda: da.ensemble(model, (0, 1), p0=[1], n=2, device="cpu"),
        lambda: da.simulate(model, (0, 1), p0=[1], method="hem5"),
        lambda: da.Hem5(),
        lambda: da.sweep(model, {"x": [1.0, 2.0]}, (0, 1)),
    )[k]()
    done.append(k)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert sorted(done) == [0, 1, 2, 3]
"""
    for _ in range(6):
        subprocess.run([sys.executable, "-c", text], check=True, timeout=300)
