"""The cache against damage, forgery, other users, and writers that are killed."""

import os
import pickle
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from pathlib import Path

import pytest

from dalembert.compile import store, trust
from dalembert.errors import CacheNotTrusted

posix = pytest.mark.skipif(not trust.POSIX, reason="owners and modes of files")
root = pytest.mark.skipif(not trust.POSIX or os.geteuid() != 0, reason="only root can be another user")

# a tape and a kernel, what they compute, and how many of them had to be compiled
SCRIPT = """
    import casadi, numpy as np, sys, warnings
    from dalembert.compile import compile_tape, jit
    built = []
    build = jit.build
    jit.build = lambda *args, **options: built.append(1) or build(*args, **options)
    from dalembert.compile.kernel import kernel

    @kernel("float64(float64)")
    def run(a):
        s = 0.0
        for k in range(5):
            s += a * k
        return s

    x = casadi.SX.sym("x", 2)
    port = compile_tape(casadi.SX.sym("t"), x, casadi.SX(0, 1), casadi.sin(x) + x**2)
    print(run(1.5), port(0.0, np.ones(2), np.empty(0))[0], len(built), 1 - sum(run.stats.cache_hits.values()))
"""
RIGHT = ["15.0", "1.8414709848078965"]


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("script") / "script.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return path


@pytest.fixture(scope="module")
def template(script, tmp_path_factory):
    """A cache with one of each, and the home with its key, to be copied: processes take their time."""
    place = tmp_path_factory.mktemp("template")
    assert run(script, place / "cache")[0] == (1, 1)
    assert run(script, place / "cache") == ((0, 0), "")
    return place


def start(script, cache, *before, home=None, **more):
    home = home or cache.parent / "home"
    environment = {
        **os.environ, "DALEMBERT_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(home), "HOME": str(home),
        "DALEMBERT_QUIET": "1", **more,
    }  # fmt: skip
    command = [*before, sys.executable, str(script)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(script, cache, *before, **more):
    """How many tapes and kernels a process has compiled; its result must be right. And what it wrote to stderr."""
    process = start(script, cache, *before, **more)
    out, err = process.communicate()
    assert process.returncode == 0, err
    *result, tapes, kernels = out.split()
    assert result == RIGHT
    return (int(tapes), int(kernels)), err


def damaged(whole, rng):
    """A content with something wrong, in one of many ways."""
    at, length = rng.randrange(len(whole)), rng.choice([1, 1, 8, 64, 1000])
    ways = [
        lambda: whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :],
        lambda: whole[:at] + bytes(len(whole[at : at + length])) + whole[at + length :],
        lambda: whole[:at] + rng.randbytes(len(whole[at : at + length])) + whole[at + length :],
        lambda: whole[:at],
        lambda: whole[:at] + whole[at + length :],
        lambda: whole[:at] + whole[at : at + length] + whole[at:],
        lambda: whole + rng.randbytes(length),
        lambda: rng.randbytes(len(whole)),
        lambda: b"",
    ]
    return rng.choice(ways)()


def entries(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file() and path.suffix in (".o", ".nbc"))


def check_damage(cache, count, seed):
    """Every file at many places: what is read is what was written, or nothing."""
    rng = random.Random(seed)
    found = entries(cache)
    assert len(found) >= 3  # a tape, a kernel, what is known of sources
    (_, keys) = store._search()
    for path in found:
        name, whole = path.relative_to(cache).as_posix(), path.read_bytes()
        good = trust.unseal(name, whole, keys, trusted=False)
        assert good
        for _ in range(count):
            content = damaged(whole, rng)
            for trusted in (False, True):
                data = trust.unseal(name, content, keys, trusted)
                assert data is None or data == good
                assert data is None or trusted or content == whole


@pytest.fixture
def filled(template, tmp_path, monkeypatch):
    """A cache with one of each, which this process uses, too."""
    cache = tmp_path / "cache"
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(cache))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return cache


def test_damage_is_seen(filled):
    check_damage(filled, 40, seed=1)


@pytest.mark.slow
def test_damage_is_seen_at_200_places(filled):
    check_damage(filled, 200, seed=2)


def check_processes(script, cache, seed):
    """Whole processes on a cache of which every file is damaged: right results, and a cache that is good again."""
    rng = random.Random(seed)
    for path in [*entries(cache), next((cache.parent / "home").rglob("key"))]:
        path.write_bytes(damaged(path.read_bytes(), rng))
    run(script, cache)
    assert run(script, cache) == ((0, 0), "")


def test_processes_on_a_damaged_cache(script, filled):
    check_processes(script, filled, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_processes_on_a_damaged_cache(script, filled, seed):
    check_processes(script, filled, seed)


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_nothing_foreign_is_unpickled(script, filled, tmp_path):
    """Pickles as they are, and sealed with another key; afterwards entries are replaced.

    Their sizes may differ from those before: numba's numbers of functions, which begin at random, are in their symbols.
    """
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    old = entries(filled)
    for path in old:
        name = path.relative_to(filled).as_posix()
        path.write_bytes(bomb if path.suffix == ".o" else trust.seal(name, bomb, b"a key of somebody else's"))
    assert run(script, filled)[0] == (1, 1)
    assert not (tmp_path / "exploded").exists()
    assert entries(filled) == old
    assert not any(path.read_bytes().endswith(bomb) for path in old)
    assert run(script, filled) == ((0, 0), "")


def test_entries_cannot_be_exchanged(filled, monkeypatch):
    store.save("one", b"1")
    store.save("two", b"2")
    tapes = filled / "tapes"
    os.replace(tapes / "one.o", tapes / "two.o")
    assert store.load("two") is None
    store.save("two", b"3")
    assert store.load("two") == b"3"


@posix
def test_special_files_are_no_entries(filled, tmp_path):
    """A pipe does not keep anybody waiting, a link is not followed, and a directory is none."""
    store.save("real", b"data")
    tapes = filled / "tapes"
    os.mkfifo(tapes / "pipe.o")
    (tapes / "link.o").symlink_to("real.o")
    (tapes / "folder.o").mkdir()
    assert [store.load(key) for key in ("real", "pipe", "link", "folder")] == [b"data", None, None, None]
    for key in ("pipe", "link", "folder"):
        store.save(key, b"new")
    assert [store.load(key) for key in ("real", "pipe", "link")] == [b"data", b"new", b"new"]


@posix
def test_everything_is_the_users_alone(filled, tmp_path):
    old = os.umask(0)
    try:
        store.save("key", b"data", "tapes")
        store.save("a", b"data", "kernels/module/stamp")
    finally:
        os.umask(old)
    paths = [path for path in filled.rglob("*") if path.name in ("kernels", "module", "stamp", "a", "key.o", "tapes")]
    paths += [filled, tmp_path / "home" / "dalembert" / "key"]
    assert len(paths) == 8
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths)


@posix
def test_directory_open_to_others_is_not_used(script, filled, tmp_path):
    os.chmod(filled, 0o777)
    before = {path: path.read_bytes() for path in entries(filled)}
    (tapes, kernels), err = run(script, filled)
    assert (tapes, kernels) == (1, 1)
    assert err.count("CacheNotTrusted") == 1
    assert "can be written by other users (mode 777)" in err
    assert f"{tmp_path / 'home' / 'dalembert'} is used instead" in err
    assert len(entries(tmp_path / "home" / "dalembert")) == len(before)
    assert {path: path.read_bytes() for path in entries(filled)} == before
    os.chmod(filled, 0o700)
    assert run(script, filled) == ((0, 0), "")


@posix
def test_own_directories_are_closed(filled, monkeypatch, tmp_path):
    """Folders within, and the directory that is the user's by its name, made by older versions, say."""
    os.chmod(filled / "tapes", 0o777)
    store.save("key", b"data")
    assert stat.S_IMODE((filled / "tapes").stat().st_mode) == 0o700
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    own = tmp_path / "new" / "dalembert"
    own.mkdir(parents=True)
    own.chmod(0o775)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.places() == (store.Place(own, True),)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


@root
def test_directory_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, 12345, 12345)
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(other))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    with pytest.warns(CacheNotTrusted, match=r"belongs to user 12345, not to .*yours alone"):
        store.save("key", b"data")
    assert store.load("key") == b"data"
    assert (tmp_path / "home" / "dalembert" / "tapes" / "key.o").exists()
    assert not list(other.iterdir())


# -- what can only be read -----------------------------------------------------------------------------------------


@pytest.fixture
def read_only(monkeypatch):
    """Lets directories pass for some that cannot be written to, also for root."""
    monkeypatch.setattr(store, "_found", {})
    closed = []
    can_write = store._can_write
    monkeypatch.setattr(store, "_can_write", lambda directory: directory not in closed and can_write(directory))
    yield closed.append
    store._found.clear()


@posix
def test_filled_cache_that_can_only_be_read(filled, tmp_path, monkeypatch, read_only):
    """It is used without the key with which it was made; what is missing goes to the user's own directory."""
    store.save("known", b"data")
    os.chmod(filled, 0o755)
    read_only(filled)
    monkeypatch.setattr(store, "_found", {})
    monkeypatch.setattr(trust, "only_trusted", lambda directory: None)  # of the directories above, here
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert [place.writable for place in store.places()] == [False, True]
    assert store.load("known") == b"data"
    store.save("new", b"more")
    assert store.load("new") == b"more"
    assert not (filled / "tapes" / "new.o").exists()
    # what others could have written counts for nothing
    entry = filled / "tapes" / "known.o"
    entry.chmod(0o666)
    assert store.load("known") is None
    entry.chmod(0o644)
    assert store.load("known") == b"data"
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-1] + b"b")
    assert store.load("known") is None
    entry.write_bytes(whole)
    trust._trusted_inside.cache_clear()
    (filled / "tapes").chmod(0o777)
    assert store.load("known") is None
    trust._trusted_inside.cache_clear()


@posix
def test_who_can_have_written(tmp_path):
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    tmp_path.chmod(0o700)
    above = trust.only_trusted(tmp_path)
    assert trust.only_trusted(place) == above
    if above is not None:
        pytest.skip(f"the directory of this test {above}")
    place.parent.chmod(0o777)
    assert "which can be written by other users (mode 777)" in trust.only_trusted(place)
    place.parent.chmod(0o1777)  # the sticky bit: nobody can put another in its place
    assert trust.only_trusted(place) is None
    place.chmod(0o1777)
    assert "can be written by other users" in trust.only_trusted(place)


UNSHARE = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"')


@root
@pytest.mark.parametrize("key", ["here", "lost"])
def test_read_only_mount(script, filled, key):
    try:
        subprocess.run([*UNSHARE, str(filled), "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    if trust.only_trusted(filled) is not None:
        pytest.skip("the directory of this test is open to others")
    home = None if key == "here" else filled.parent / "another home"
    assert run(script, filled, *UNSHARE, str(filled), home=home) == ((0, 0), "")


@root
@pytest.mark.slow
def test_cache_of_an_administrator():
    """Root has filled it and opened it for reading; another user uses it, and cannot write there."""
    as_user = ("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups")
    package = os.path.dirname(os.path.dirname(store.__file__))
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        place = Path(place)
        script, cache = place / "script.py", place / "cache"
        script.write_text(textwrap.dedent(SCRIPT))
        code = f"import numba, os; os.listdir({package!r}); os.listdir({str(place)!r})"
        try:
            subprocess.run([*as_user, sys.executable, "-c", code], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("another user can read nothing here")
        run(script, cache)
        for path in (cache, *cache.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        if trust.only_trusted(cache) is not None:
            pytest.skip("the directory of this test is open to others")
        assert run(script, cache, *as_user, home="/nonexistent") == ((0, 0), "")


# -- keys ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "dalembert"


def again():
    """As another process would see it."""
    store._found.clear()


@pytest.mark.parametrize("fault", ["missing", "empty", "long", "open", "folder"])
def test_key_that_cannot_be_used_is_replaced(home, fault):
    store.save("key", b"data")
    again()
    assert store.load("key") == b"data"
    path = home / "key"
    old = path.read_bytes()
    if fault == "open":
        if not trust.POSIX:
            pytest.skip("modes of files")
        path.chmod(0o644)
    elif fault in ("missing", "folder"):
        path.unlink()
        if fault == "folder":
            path.mkdir()
    else:
        path.write_bytes(b"" if fault == "empty" else old * 2)
    again()
    assert store.load("key") is None
    store.save("key", b"new")
    again()
    assert store.load("key") == b"new"
    if fault != "folder":  # then it is where the entries are
        assert path.read_bytes() != old
        assert len(path.read_bytes()) == 32


def test_no_home(home, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    monkeypatch.setattr(store, "_own", lambda: iter([]))
    store.save("key", b"data")
    again()
    assert store.load("key") == b"data"
    assert len((tmp_path / "cache" / "key").read_bytes()) == 32
    monkeypatch.undo()


def test_key_that_is_given(home, tmp_path, monkeypatch):
    """Several users, or machines that come and go, share a key."""
    path = tmp_path / "shared key"
    path.write_bytes(bytes(range(32)))
    path.chmod(0o640)
    monkeypatch.setenv("DALEMBERT_CACHE_KEY", str(path))
    store.save("key", b"data")
    assert not (home / "key").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert store.load("key") == b"data"
    if trust.POSIX:
        path.chmod(0o666)
        again()
        with pytest.warns(CacheNotTrusted, match="DALEMBERT_CACHE_KEY"):
            assert store.load("key") is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX")
def test_processes_agree_on_a_key(tmp_path):
    reader, writer = os.pipe()
    children = []
    for _ in range(8):
        children.append(os.fork())
        if children[-1] == 0:
            os.write(writer, trust.make_key(tmp_path / "key") or bytes(32))
            os._exit(0)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert os.read(reader, 1000) == 8 * (tmp_path / "key").read_bytes()
    assert len(list(tmp_path.iterdir())) == 1
    os.close(reader)
    os.close(writer)


# -- killed --------------------------------------------------------------------------------------------------------


def left_over(cache):
    return [path for path in cache.parent.rglob("*.tmp*") if path.is_file()]


def check_kills(script, cache, moments, seed):
    """Killed in the middle of compiling and saving; the next one compiles at most what is missing."""
    rng = random.Random(seed)
    whole = None
    for _ in range(moments):
        for path in entries(cache):
            path.unlink()
        process = start(script, cache)
        if whole is not None:
            time.sleep(rng.uniform(0.3, 1.0) * whole)
        else:
            while process.poll() is None and not list(cache.rglob("*.lock")):  # it has begun to compile
                time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        begin = time.monotonic()
        run(script, cache)
        whole = time.monotonic() - begin
        assert left_over(cache) == []


def test_killed_while_compiling(script, filled):
    for path in filled.rglob("*.lock"):
        path.unlink()
    check_kills(script, filled, 1, seed=1)


@pytest.mark.slow
def test_killed_at_20_moments(script, filled):
    check_kills(script, filled, 20, seed=2)
    assert run(script, filled) == ((0, 0), "")


WRITER = """
    import os, signal
    from dalembert.compile import store
    replace = os.replace
    def last_words(*paths):
        print("writing", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    os.replace = last_words
    store.save("key", b"data")
"""


@pytest.mark.skipif(store.fcntl is None, reason="signals and locks of POSIX")
def test_leftovers_of_killed_writers_go_and_of_running_ones_stay(tmp_path, home):
    path = tmp_path / "writer.py"
    path.write_text(textwrap.dedent(WRITER))
    writer = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"writing\n"
    again()
    store.places()
    assert len(left_over(tmp_path / "cache")) == 1
    writer.kill()
    writer.communicate()
    again()
    store.places()
    assert left_over(tmp_path / "cache") == []


@pytest.mark.skipif(store.fcntl is None, reason="locks of POSIX")
def test_who_loses_an_unfinished_file_writes_again(home, monkeypatch):
    replace, lost = os.replace, []

    def once(source, target):
        if not lost:
            lost.append(source)
            os.unlink(source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", once)
    store.save("key", b"data")
    assert store.load("key") == b"data"
    assert lost


def test_full_disk(home, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    store.save("key", b"data")
    monkeypatch.setattr(os, "replace", full)
    store.save("key", b"new")
    assert store.load("key") == b"data"
    assert left_over(home.parents[1] / "cache") == []


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_at_once(script, tmp_path, count):
    processes = [start(script, tmp_path / "cache") for _ in range(count)]
    outputs = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * count, outputs
    assert {tuple(out.split()[:2]) for out, _ in outputs} == {tuple(RIGHT)}
    assert run(script, tmp_path / "cache") == ((0, 0), "")
