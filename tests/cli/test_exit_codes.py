"""How commands end: exit codes, closed pipes, full disks, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import pytest
from running import fails, run

from dalembert.cli.exits import Exit

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and devices of POSIX")


def shell(command: str, **options):
    """A line of a shell, in which `dalembert` is ours."""
    ours = f'dalembert() {{ "{sys.executable}" -m dalembert "$@"; }}; set -o pipefail; '
    return subprocess.run(["bash", "-c", ours + command], capture_output=True, text=True, timeout=300, **options)


def test_success_error_usage_partial(folder):
    assert run("check", "pendulum").exit_code == Exit.OK
    assert run("simulate", "pendulum", "--rtol", "-1").exit_code == Exit.ERROR
    assert run("simulate", "pendulum", "--rtol", "x").exit_code == Exit.USAGE
    assert run("simulate", "pendulum", "--max-steps", "5").exit_code == Exit.PARTIAL
    assert run("sweep", "pendulum", "--vary", "m=0", "--t-end", "0.1").exit_code == Exit.ERROR
    assert run("sweep", "pendulum", "--vary", "m=0,1", "--t-end", "0.1").exit_code == Exit.PARTIAL
    few = ["--tolerance", "1e-4", "--repeat", "1", "--t-end", "1"]
    assert run("compare", "pendulum", "--method", "hem5", *few, "--max-steps", "5").exit_code == Exit.ERROR


def test_without_a_command_the_help_is_shown():
    result = run()
    assert result.exit_code in (0, 2)  # as typer's version has it
    assert "simulate" in result.output


def test_misspelt_commands_and_options_get_the_nearest_one():
    assert "simulate" in fails("simulat", code=2).rpartition("error:")[2]
    assert "--rtol" in fails("simulate", "pendulum", "--rtoll", "1", code=2)


@POSIX
def test_a_closed_pipe_ends_quietly(folder):
    done = shell("dalembert simulate pendulum --points 20000 --csv - --save run.h5 | head -n 1")
    assert done.returncode == Exit.PIPE_CLOSED
    assert done.stdout == "time,x,y,x_dot,y_dot,lam1\n"
    assert done.stderr == ""
    assert (folder / "run.h5").stat().st_size > 1e5  # files are written before
    done = shell("dalembert info --json | sleep 0")  # nobody reads at all
    assert done.returncode in (Exit.OK, Exit.PIPE_CLOSED)
    assert done.stderr == ""


@POSIX
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_is_told():
    done = shell("dalembert info > /dev/full")
    assert done.returncode == Exit.ERROR
    assert done.stderr == "error: cannot write to the standard output: No space left on device\n"


SLOW = """
import pathlib
import dalembert as da

class Force:
    calls = 0
    def __call__(self, s):
        x = float(s.x)
        Force.calls += 1
        if Force.calls == 2000:
            pathlib.Path("under_way").touch()
        return [-x]

model = da.EquationsOfMotion(name="slow", p=["x"], mass=[1.0], force=Force(), start={"p0": [1.0]})
"""


@POSIX
def test_ctrl_c_keeps_what_was_computed(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    words = ["simulate", "slow.py", "--t-end", "1e6", "--csv", "part.csv"]
    command = [sys.executable, "-m", "dalembert", *words]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 120
        while not (tmp_path / "under_way").exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == Exit.INTERRUPTED, said
    assert "Traceback" not in said
    assert "error: interrupted at t = " in said
    assert ".solution" not in said
    assert "The table is in part.csv" in shown
    assert len((tmp_path / "part.csv").read_text().splitlines()) > 10
