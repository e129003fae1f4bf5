"""Kernels compiled by several processes: helpers, locks, and what happens when they fail."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from dalembert.compile import together

fcntl = pytest.importorskip("fcntl")

# a kernel in each of two modules, and a log of who compiled them
FAMILY = """
    import os
    from dalembert.compile.kernel import device, kernel
    from dalembert.compile.kernel_cache import KernelCache

    save = KernelCache.save_overload
    def noted(self, sig, data):
        with open(os.environ["LOG"], "a") as log:
            log.write(f"{os.getpid()} {self._py_func.__name__}\\n")
        save(self, sig, data)
    KernelCache.save_overload = noted

    def make(k):
        @device
        def helper(a):
            return a * k + 1.0

        @kernel("float64(float64)", name=f"run{k}")
        def run(x):
            return helper(x) + 10.0

        return run
"""
SCRIPT = """
    import os, sys, time
    from dalembert.compile.kernel import announce

    with announce("two"):
        import one
        for _ in range(600 if "PATIENT" in os.environ else 0):
            with open(os.environ["LOG"]) as log:
                if len(log.readlines()) == 2:
                    break
            time.sleep(0.1)
        import two
    print(one.run(1.0), two.run(1.0), os.getpid())
"""


@pytest.fixture
def place(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(textwrap.dedent(text))

    write("family.py", FAMILY)
    write("one.py", "from family import make\nrun = make(1)\n")
    write("two.py", "from family import make\nrun = make(2)\n")
    write("script.py", SCRIPT)
    return tmp_path


def environment(place, **more):
    return {
        **os.environ, "DALEMBERT_CACHE_DIR": str(place / "cache"), "LOG": str(place / "log"), "DALEMBERT_QUIET": "",
        "DALEMBERT_COMPILERS": "2", **more,
    }  # fmt: skip


def run(place, *options, **more):
    command = [sys.executable, *options, str(place / "script.py")]
    done = subprocess.run(command, env=environment(place, **more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    one, two, pid = done.stdout.split()
    assert (float(one), float(two)) == (12.0, 13.0)
    log = place / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return done, [line.split()[0] == pid for line in lines]


def test_helper_compiles_what_comes_later(place):
    done, own = run(place, PATIENT="1")
    assert sorted(own) == [False, True]  # one kernel each
    assert "compiling kernels for this machine (only once) ...\n" in done.stderr
    assert "dalembert: compiled 1 kernel in" in done.stderr  # the other was there when it was asked for
    done, own = run(place)
    assert own == []
    assert done.stderr == ""


def test_one_processor(place):
    done, own = run(place, DALEMBERT_COMPILERS="1")
    assert own == [True, True]
    assert "dalembert: compiled 2 kernels in" in done.stderr
    assert done.stdout.count("\n") == 1


def test_no_place_for_a_cache(place):
    _, own = run(place, DALEMBERT_CACHE_DIR="/dev/null/nowhere")
    assert own == []  # nothing is saved


@pytest.fixture
def idle(monkeypatch):
    """No helper is at work, whatever this process has compiled before."""
    monkeypatch.setattr(together, "_helpers", [])


def test_helper_cannot_be_started(idle, monkeypatch):
    def fail(*args, **options):
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", fail)
    monkeypatch.setenv("DALEMBERT_COMPILERS", "2")
    together.start_helpers(["nothing"])
    assert together._helpers == []


@pytest.mark.parametrize("executable", [None, "", "/usr/bin/blender"])
def test_interpreter_in_another_program(idle, executable, monkeypatch):
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setenv("DALEMBERT_COMPILERS", "2")
    together.start_helpers(["nothing"])
    assert together._helpers == []


def test_helper_ends_with_its_work_and_with_its_master(idle, monkeypatch, tmp_path):
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DALEMBERT_COMPILERS", "2")
    together.start_helpers(["module_that_is_missing", "json"])
    (helper,) = together._helpers
    together.start_helpers(["json"])
    assert together._helpers == [helper]  # one at a time
    assert helper.wait(60) == 0
    together.start_helpers(["slow_module"])
    (helper,) = together._helpers
    helper.stdin.close()  # as if this process had ended
    assert helper.wait(60) == 1
    together._helpers.clear()


HOLDER = """
    import sys, time
    from dalembert.compile.together import Claim
    from pathlib import Path
    claim = Claim(Path(sys.argv[1]))
    claim.take()
    print("mine", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def held(tmp_path):
    """A lock that another process holds."""
    path = tmp_path / "kernel.lock"
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(HOLDER), str(path)], stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b"mine\n"
    yield path, owner
    owner.kill()
    owner.wait()
    owner.stdout.close()


def test_helper_passes_by_what_is_taken(held, monkeypatch):
    monkeypatch.setattr(together, "_helping", True)
    with pytest.raises(together.Taken):
        together.Claim(held[0]).take()


def test_lock_ends_with_its_owner(held):
    path, owner = held
    threading.Timer(0.5, owner.send_signal, [signal.SIGKILL]).start()
    start = time.monotonic()
    claim = together.Claim(path)
    claim.take()
    assert 0.3 < time.monotonic() - start < 30
    claim.release()


def test_patience_ends(held, monkeypatch):
    monkeypatch.setattr(together, "_PATIENCE", 0.2)
    together.Claim(held[0]).take()


def test_many_processes_at_once(place):
    """Of workers that start together, each kernel is compiled by one."""
    command = [sys.executable, str(place / "script.py")]
    workers = [
        subprocess.Popen(command, env=environment(place, DALEMBERT_COMPILERS="1"), stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for worker in workers:
        out, _ = worker.communicate(timeout=300)
        assert [float(value) for value in out.split()[:2]] == [12.0, 13.0]
    assert len((place / "log").read_text().splitlines()) == 2
