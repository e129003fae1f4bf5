"""Writing result files: full disks and other failures, links, special files, permissions, processes that are killed."""

import errno
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import DalembertError, FileError
from dalembert.solution import Solution, files

resource = pytest.importorskip("resource")


def in_child(code, *arguments, before=()):
    """Run code in an interpreter of its own; returns its output."""
    command = [*before, sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG])
@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace", "fchmod"])
def test_whatever_fails_the_old_file_stays(solution, make_solution, tmp_path, monkeypatch, call, number):
    path = solution.save(tmp_path / "run.h5")
    before = path.read_bytes()
    original, calls = getattr(os, call), []

    def fails(*arguments, **named):
        calls.append(arguments)
        if len(calls) > {"write": 3}.get(call, 0):
            raise OSError(number, os.strerror(number))
        return original(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(files.os, call, fails)
        with pytest.raises(FileError, match=r"cannot save to '.*run\.h5': .*the file that was there is kept") as raised:
            make_solution(message="new").save(path)
    assert calls
    assert os.strerror(number) in str(raised.value)
    assert raised.value.errno == number
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.h5"]


def test_writes_that_take_a_part_only(solution, tmp_path, monkeypatch):
    """The system may take as little as a byte at once."""
    rng, write = random.Random(3), os.write
    monkeypatch.setattr(files.os, "write", lambda fd, data: write(fd, data[: rng.randint(1, 700)]))
    path = solution.save(tmp_path / "pieces.h5")
    monkeypatch.undo()
    assert path.read_bytes() == solution.save(tmp_path / "whole.h5").read_bytes()


LIMITED = """
import os, resource, sys
from dalembert.solution import Solution
from dalembert.errors import FileError
sol = Solution.load(sys.argv[1])
size, folder = os.path.getsize(sys.argv[1]), os.path.dirname(sys.argv[1])
for limit in (0, 1, 100, 511, 512, 600, size // 2, size - 1):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for name in (sys.argv[1], folder + "/other.h5"):
        try:
            sol.save(name)
        except FileError as error:
            print(error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
sol.save(folder + "/fits.h5")
"""


def test_a_limit_of_the_file_size(solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    before = path.read_bytes()
    assert in_child(LIMITED, path).split() == [str(errno.EFBIG)] * 16
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["fits.h5", "run.h5"]


FULL = """
import os, subprocess, sys
from dalembert.solution import Solution
from dalembert.errors import FileError
sol, disk = Solution.load(sys.argv[1]), sys.argv[2]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
first = sol.save(disk + "/first.h5").stat().st_size
saved = 1
while True:
    try:
        sol.save(f"{disk}/{saved}.h5")
        saved += 1
    except FileError as error:
        assert "make room" in str(error), error
        print(error.errno)
        break
try:
    sol.save(disk + "/first.h5")
except FileError as error:
    print(error.errno)
assert sorted(os.listdir(disk)) == sorted(["first.h5", *(f"{k}.h5" for k in range(1, saved))])
for name in os.listdir(disk):
    assert Solution.load(f"{disk}/{name}").message == sol.message
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="only root may mount a small disk")
def test_a_full_disk(solution, tmp_path):
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no mounts here")
    path, disk = solution.save(tmp_path / "run.h5"), tmp_path / "disk"
    disk.mkdir()
    assert in_child(FULL, path, disk, before=["unshare", "-m"]).split() == [str(errno.ENOSPC)] * 2


# -- where files go ----------------------------------------------------------------------------------------------------


def test_places_that_cannot_be_written(solution, tmp_path):
    for path, why in (
        (tmp_path / "nowhere" / "run.h5", "the folder '.*nowhere' does not exist"),
        (tmp_path, "is a folder"),
        (tmp_path / ("n" * 300), "shorter name"),
        (tmp_path / "file" / "run.h5", "Not a directory"),
    ):
        (tmp_path / "file").touch()
        with pytest.raises(FileError, match=why):
            solution.save(path)
    assert os.listdir(tmp_path) == ["file"]


def test_a_current_folder_that_is_no_more(solution, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileError, match="current folder does not exist"):
        solution.save("run.h5")
    with pytest.raises(FileError, match="there is no file"):
        Solution.load("run.h5")
    Solution.load(solution.save(tmp_path / "run.h5"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors have no names here")
def test_names_of_descriptors(solution, tmp_path):
    """Those of open files, with or without a name, and of pipes are no places for files; nothing changes."""
    with (tmp_path / "output.txt").open("wb") as file:
        (tmp_path / "link").symlink_to(f"/proc/self/fd/{file.fileno()}")
        for path in (f"/proc/self/fd/{file.fileno()}", tmp_path / "link"):
            with pytest.raises(FileError, match="a part of itself"):
                solution.save(path)
        assert (tmp_path / "output.txt").samefile(f"/proc/self/fd/{file.fileno()}")
        (tmp_path / "link").unlink()
        (tmp_path / "output.txt").unlink()
    gone = tmp_path / "gone.h5"
    with gone.open("wb") as file:
        gone.unlink()
        read, write = os.pipe()
        for descriptor in (file.fileno(), read, write):
            with pytest.raises(FileError, match="cannot save to"):
                solution.save(f"/proc/self/fd/{descriptor}")
        os.close(read)
        os.close(write)
        assert file.tell() == os.fstat(file.fileno()).st_size == 0
    assert not os.listdir(tmp_path)


def test_the_longest_name_can_be_saved(solution, tmp_path):
    path = solution.save(tmp_path / ("ü" * 126 + ".h5"))
    Solution.load(solution.save(path))
    assert len(os.listdir(tmp_path)) == 1


def _identity(name: str) -> tuple[int, ...]:
    """What a file is; a link that is followed has another time of access, and is the same link."""
    found = os.lstat(name)
    return found.st_mode, found.st_dev, found.st_ino, found.st_rdev, found.st_size, found.st_mtime_ns


def test_special_files_stay_what_they_are(solution, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    os.mkfifo("pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket")
    os.symlink("pipe", "link to a pipe")
    places = {"pipe": "a pipe", "socket": "a socket", "link to a pipe": "a pipe"}
    if os.geteuid() == 0:
        os.mknod("null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        places["null"] = "a device"
    for name, kind in places.items():
        before = _identity(name)
        with pytest.raises(FileError, match=f"it is {kind}"):
            solution.save(name)
        with pytest.raises(FileError):
            Solution.load(name)
        assert _identity(name) == before
    listening.close()
    assert set(os.listdir()) == set(places)


def test_links_are_followed(solution, make_solution, tmp_path):
    real, links = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    links.mkdir()
    for name, target in (("chain.h5", "next.h5"), ("next.h5", real / "run.h5")):
        (links / name).symlink_to(target)
    for message in ("created", "replaced"):
        assert make_solution(message=message).save(links / "chain.h5") == links / "chain.h5"
        assert Solution.load(real / "run.h5").message == Solution.load(links / "chain.h5").message == message
        assert (links / "chain.h5").is_symlink()
        assert (links / "next.h5").is_symlink()
    (links / "loop").symlink_to("loop")
    (links / "astray").symlink_to(tmp_path / "missing" / "run.h5")
    for name in ("loop", "astray"):
        with pytest.raises(FileError, match=name):
            solution.save(links / name)
        with pytest.raises(FileError, match=name):
            Solution.load(links / name)
    assert os.listdir(real) == ["run.h5"]


def test_other_names_of_a_file_keep_the_old_content(solution, make_solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    os.link(path, tmp_path / "kept.h5")
    make_solution(message="new").save(path)
    assert Solution.load(path).message == "new"
    assert Solution.load(tmp_path / "kept.h5").message == solution.message


def test_permissions(solution, tmp_path):
    """Those of the file that is replaced; of new ones, what the umask leaves."""
    old = os.umask(0o027)
    try:
        path = solution.save(tmp_path / "run.h5")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        for mode in (0o600, 0o666, 0o604):
            path.chmod(mode)
            solution.save(path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(old)


FORBIDDEN = """
import os, sys
from dalembert.solution import Solution
from dalembert.errors import FileError
folder = sys.argv[1]
sol = Solution.load(folder + "/open/run.h5")
sol.save(folder + "/first.h5")
if os.geteuid() == 0:
    os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
for name in ("closed/new.h5", "closed/run.h5", "open/run.h5", "hidden/run.h5"):
    try:
        sol.save(f"{folder}/{name}")
        print("saved", name)
    except FileError as error:
        print(error.errno)
try:
    Solution.load(folder + "/hidden/run.h5")
except FileError as error:
    print(error.errno)
"""


def test_without_permission(solution):
    """A folder in which nothing may be created, a write-protected file, a folder that may not be looked into."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        folder.chmod(0o755)
        for part, mode in (("closed", 0o555), ("open", 0o777), ("hidden", 0o000)):
            (folder / part).mkdir()
            solution.save(folder / part / "run.h5").chmod(0o444)
            (folder / part).chmod(mode)
        assert in_child(FORBIDDEN, folder).split() == [str(errno.EACCES)] * 5
        for part in ("closed", "open", "hidden"):
            (folder / part).chmod(0o755)
            assert os.listdir(folder / part) == ["run.h5"]


# -- processes that are killed -----------------------------------------------------------------------------------------

SAVING = """
import sys
from dalembert.solution import Solution
one, two = (Solution.load(path) for path in sys.argv[1:3])
one.save(sys.argv[3])
print("ready", flush=True)
while True:
    two.save(sys.argv[3])
    one.save(sys.argv[3])
"""


def kill_while_saving(make_solution, folder, kills):
    table = {"table": np.arange(500_000.0)}  # enough to be killed in the middle of it
    sources = [make_solution(message=m, parameters=table).save(folder / f"{m}.h5") for m in ("one", "two")]
    contents = [source.read_bytes() for source in sources]
    place = folder / "saved"
    place.mkdir()
    path, rng, leftovers = place / "run.h5", random.Random(kills), 0
    shutil.copy(sources[0], path)
    for _ in range(kills):
        child = subprocess.Popen([sys.executable, "-c", SAVING, *sources, path], stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(rng.uniform(0.0, 0.2))
        child.kill()
        child.wait()
        child.stdout.close()
        assert path.read_bytes() in contents
        assert Solution.load(path).message in ("one", "two")
        leftovers += len(os.listdir(place)) - 1
        Solution.load(sources[0]).save(path)
        assert os.listdir(place) == ["run.h5"]
    return leftovers


def test_killed_while_saving(make_solution, tmp_path):
    kill_while_saving(make_solution, tmp_path, 3)


@pytest.mark.slow
def test_killed_while_saving_twenty_times(make_solution, tmp_path):
    # or nobody was killed while writing
    assert kill_while_saving(make_solution, tmp_path, 20) > 0


def test_leftovers_of_the_dead_are_removed_and_files_at_work_are_not(solution, tmp_path):
    path = tmp_path / "run.h5"
    dead = tmp_path / f".run.h5.{'a' * 32}.tmp"
    dead.write_bytes(b"part of a result")
    strangers = [tmp_path / name for name in (f".other.h5.{'a' * 32}.tmp", ".run.h5.tmp", f".run.h5.x.{'a' * 32}.tmp")]
    for stranger in strangers:
        stranger.touch()
    descriptor, alive = files._temporary(path, 0o600)
    solution.save(path)
    assert not dead.exists()
    assert alive.exists()
    assert all(stranger.exists() for stranger in strangers)
    os.close(descriptor)
    solution.save(path)
    assert not alive.exists()


def test_many_writers_of_one_file(make_solution, tmp_path):
    """None removes what another one is writing; the last one wins."""
    source, path = make_solution(message="one").save(tmp_path / "one.h5"), tmp_path / "run.h5"
    code = (
        "import sys; from dalembert.solution import Solution; sol = Solution.load(sys.argv[1])\n"
        "for _ in range(50): sol.save(sys.argv[2])"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, source, path]) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert path.read_bytes() == source.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["one.h5", "run.h5"]


def test_the_errors_travel(tmp_path):
    """To other processes, as those of a pool."""
    import pickle

    with pytest.raises(DalembertError) as raised:
        Solution.load(tmp_path / "missing.h5")
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is type(raised.value)
    assert str(again) == str(raised.value)
    assert again.path == raised.value.path
