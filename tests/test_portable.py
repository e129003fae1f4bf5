"""Nothing in the package is for one system only, as far as one system can tell."""

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert
from dalembert import file_locks

ROOT = Path(dalembert.__file__).parent
MODULES = sorted(
    module.name for module in pkgutil.walk_packages([str(ROOT)], "dalembert.") if not module.name.endswith("__main__")
)
pytestmark = pytest.mark.skipif(os.name == "nt", reason="pretends to be what this system is")


def foreign(code: str, tmp_path: Path, *arguments: str) -> str:
    """What a script prints in a process without anything that only POSIX systems have."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONWARNDEFAULTENCODING": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::EncodingWarning", "-c", f"import foreign\n{code}", *arguments],
        cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_modules_can_be_imported(tmp_path):
    code = (
        "import importlib, sys\nfor name in sys.argv[1:]:\n    importlib.import_module(name)\n"
        "print('fcntl' in sys.modules)"
    )
    assert len(MODULES) > 300
    assert foreign(code, tmp_path, *MODULES).split() == ["False"]


def test_the_usual_things_work(tmp_path):
    """Simulate, save, load, go on from a checkpoint, a sweep in processes with a store; caches are written and read."""
    code = """
import hashlib, json, os
import numpy as np
import dalembert as da
from dalembert.compile import store

pendulum = da.problems.pendulum()
sol = pendulum.simulate(method="radau5", rtol=1e-8, atol=1e-8, checkpoint="run.h5")
again = pendulum.simulate(method="radau5", rtol=1e-8, atol=1e-8, checkpoint="run.h5")
sol.save("saved.h5")
sol.save("saved.h5")
study = da.sweep(pendulum, {"g": np.linspace(1, 10, 30)}, t_eval=[0.5], keep=["x"], store="study.h5", workers=2)
more = da.sweep(pendulum, {"g": np.linspace(1, 10, 30)}, t_eval=[0.5], keep=["x"], store="study.h5", workers=2)
store.save("a key", b"something")
print(json.dumps({
    "error": pendulum.error(sol), "same": bool((again["x"] == sol["x"]).all()),
    "loaded": bool((da.Solution.load("saved.h5")["x"] == sol["x"]).all()),
    "engine": study.engine, "complete": int(study.success.sum()), "taken over": bool((more["x"] == study["x"]).all()),
    "files": sorted(os.listdir()), "kept": (store.load("a key") or b"").decode(), "direct": study["x"][3].tolist(),
}))
"""
    found = json.loads(foreign(code, tmp_path))
    assert found["error"] < 1e-6
    assert found["same"]
    assert found["loaded"]
    assert found["engine"] == "processes"
    assert found["complete"] == 30
    assert found["taken over"]
    assert found["files"] == ["run.h5", "saved.h5", "study.h5"]
    assert found["kept"] == "something"


@pytest.mark.parametrize("inherited", [False, True])
def test_locks_on_files(tmp_path, inherited):
    path = tmp_path / "file"
    mine = os.open(path, os.O_RDWR | os.O_CREAT)
    assert file_locks.try_lock(mine, inherited=inherited)
    code = (
        "import os, sys; from dalembert.file_locks import try_lock\n"
        f"print(try_lock(os.open(sys.argv[1], os.O_RDWR), inherited={inherited}))"
    )
    ask = [sys.executable, "-c", code, str(path)]
    assert subprocess.run(ask, capture_output=True, text=True, encoding="utf-8", check=True).stdout == "False\n"
    os.close(mine)
    assert subprocess.run(ask, capture_output=True, text=True, encoding="utf-8", check=True).stdout == "True\n"


def test_locks_of_windows(tmp_path, monkeypatch):
    """One byte behind the data is locked, and the position in the file stays."""
    asked = []

    class Locks:
        LK_NBLCK = 2
        taken = False

        def locking(self, descriptor, mode, length):
            asked.append((mode, os.lseek(descriptor, 0, os.SEEK_CUR), length))
            if self.taken:
                raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(file_locks, "fcntl", None)
    monkeypatch.setattr(file_locks, "msvcrt", Locks())
    file = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(file, b"abc")
    assert file_locks.try_lock(file)
    monkeypatch.setattr(Locks, "taken", True)
    assert not file_locks.try_lock(file, inherited=True)
    assert asked == [(2, file_locks.FAR, 1)] * 2
    assert os.lseek(file, 0, os.SEEK_CUR) == 3
    os.close(file)
