"""What is kept on disk: tapes and kernels."""

import subprocess
import sys
import textwrap

import casadi
import numpy as np
import pytest

from dalembert.compile import compile_tape, machine_port, python_port, store, tape
from dalembert.compile.kernel import call_port, device, kernel


def run(script, cache, arguments=(), **environment):
    """Run a script in a new process and return what it wrote."""
    import os

    env = {**os.environ, "DALEMBERT_CACHE_DIR": str(cache), "DALEMBERT_QUIET": "", **environment}
    done = subprocess.run([sys.executable, str(script), *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


TAPE = """
    import casadi, numpy as np
    from dalembert.compile import compile_tape, jit
    built = []
    build = jit.build
    jit.build = lambda *args, **options: built.append(1) or build(*args, **options)
    x = casadi.SX.sym("x", 3)
    port = compile_tape(casadi.SX.sym("t"), x, casadi.SX(0, 1), casadi.sin(x) + x**2.5 + casadi.erf(x))
    print(len(built), port(0.0, np.ones(3), np.empty(0))[0])
"""


def test_tape_is_loaded_in_a_second_process(script, tmp_path):
    path, cache = script(TAPE), tmp_path / "cache"
    first, second = run(path, cache).stdout.split(), run(path, cache).stdout.split()
    assert (first[0], second[0]) == ("1", "0")
    assert first[1] == second[1]


def test_damaged_file_is_compiled_again(script, tmp_path):
    path, cache = script(TAPE), tmp_path / "cache"
    expected = run(path, cache).stdout.split()[1]
    (file,) = (cache / "tapes").iterdir()
    whole = file.read_bytes()
    for damaged in (b"", b"nonsense", whole[:-100], whole[:200] + b"\xff" + whole[201:]):
        file.write_bytes(damaged)
        assert run(path, cache).stdout.split() == ["1", expected]
        assert file.read_bytes() == whole


@pytest.mark.parametrize("place", ["/dev/null/nowhere", "/proc"])
def test_no_place_for_a_cache_is_silent(place, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", place)
    assert store.load("key") is None
    store.save("key", b"data")
    monkeypatch.setattr(tape, "_codes", type(tape._codes)())
    x = casadi.SX.sym("x")
    assert compile_tape(casadi.SX.sym("t"), x, casadi.SX(0, 1), 2 * x)(0.0, np.ones(1), np.empty(0)) == 2.0


def test_another_directory_has_what_is_compiled_from_then_on(monkeypatch, tmp_path):
    """Also what this process has compiled before, for the directory that was in use then."""
    x = casadi.SX.sym("x")
    for place in (tmp_path / "one", tmp_path / "two", tmp_path / "one"):
        monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(place))
        codes = [compile_tape(casadi.SX.sym("t"), x, casadi.SX(0, 1), 2.125 * x).address for _ in range(2)]
        assert codes[0] == codes[1]
        assert len(list((place / "tapes").iterdir())) == 1


def test_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.cache_directory("a") == tmp_path / "dalembert" / "a"
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "own"))
    assert store.cache_directory() == tmp_path / "own"


def test_trim_keeps_the_newest_and_what_is_not_ours(tmp_path):
    import os

    for k in range(6):
        (tmp_path / str(k)).mkdir()
        os.utime(tmp_path / str(k), (k, k))
    store.trim(tmp_path, 2, lambda entry: entry.name != "1")
    assert {path.name for path in tmp_path.iterdir()} == {"1", "4", "5"}


@device
def twice(a):
    return 2.0 * a


@kernel("int32(uintp, float64, float64[::1], float64[::1], float64[::1])")
def evaluate(port, t, x, theta, out):
    """Call a port and double its output."""
    status = call_port(port, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data)
    for k in range(out.size):
        out[k] = twice(out[k])
    return status


def fill(t, x, theta, out):
    out[:] = t + theta[0] * x


def test_kernel_calls_all_backends():
    t, x, theta = casadi.SX.sym("t"), casadi.SX.sym("x", 2), casadi.SX.sym("theta")
    point, parameters = np.array([1.0, 2.0]), np.array([3.0])
    ports = [
        compile_tape(t, x, theta, t + theta * x),
        machine_port(t, x, theta, t + theta * x),
        python_port(fill, n_x=2, n_theta=1, n_out=2),
    ]
    assert [port.backend for port in ports] == ["llvm", "machine", "python"]
    for port in ports:
        out = np.empty(2)
        assert evaluate(port.address, 0.5, point, parameters, out) == 0
        np.testing.assert_array_equal(out, [7.0, 13.0])
        assert evaluate(port.address, np.nan, point, parameters, out) == 1


KERNEL = """
    from dalembert.compile.kernel import announce, device, kernel

    with announce():
        @device
        def helper(a):
            return a + 1.0

        @kernel("float64(float64)")
        def run(a):
            return helper(a)

    print(run(1.0), sum(run.stats.cache_hits.values()), run.stats.cache_path)
"""


def test_kernel_is_announced_cached_and_survives_damage(script, tmp_path):
    path, cache = script(KERNEL), tmp_path / "cache"
    first = run(path, cache)
    assert first.stdout.startswith(f"2.0 0 {cache}")
    assert "compiling kernels" in first.stderr
    assert "dalembert: compiled 1 kernel in" in first.stderr
    second = run(path, cache)
    assert second.stdout.startswith("2.0 1")
    assert second.stderr == ""
    for file in cache.rglob("*.nb?"):
        file.write_bytes(b"damaged")
        assert run(path, cache, DALEMBERT_QUIET="1").stdout.startswith("2.0 0")
        assert run(path, cache).stdout.startswith("2.0 1")
    path.write_text(path.read_text().replace("a + 1.0", "a + 5.0"))
    assert run(path, cache, DALEMBERT_QUIET="1").stdout.startswith("6.0 0")


def test_kernel_sees_helpers_in_other_files(script, tmp_path):
    """A device function that reaches the kernel through two imports counts, what does not get into it does not."""
    cache = tmp_path / "cache"
    head = "from dalembert.compile.kernel import device, kernel\n"
    deep = script(f"{head}\n@device\ndef deep(a):\n    return a + 1.0\n", "deep.py")
    script(f"{head}from deep import deep\n\n@device\ndef middle(a):\n    return deep(a)\n", "middle.py")
    other = script("x = 1\n", "other.py")
    path = script(
        f"{head}import other\nfrom middle import middle\n\n"
        "@kernel('float64(float64)')\ndef run(a):\n    'A docstring.'\n    return middle(a)\n\n"
        "print(run(1.0), sum(run.stats.cache_hits.values()))\n"
    )
    assert run(path, cache, DALEMBERT_QUIET="1").stdout == "2.0 0\n"
    assert run(path, cache).stdout == "2.0 1\n"
    other.write_text("x = 2\n")
    path.write_text("# a comment\n\n" + path.read_text().replace("A docstring.", "Another."))
    assert run(path, cache).stdout == "2.0 1\n"
    deep.write_text(deep.read_text().replace("1.0", "2.0"))
    assert run(path, cache, DALEMBERT_QUIET="1").stdout == "3.0 0\n"
    assert run(path, cache).stdout == "3.0 1\n"
    deep.write_text(deep.read_text().replace("2.0", "1.0"))  # the old version is still there
    assert run(path, cache).stdout == "2.0 1\n"


FACTORY = """
    import sys
    from dalembert.compile.kernel import device, kernel

    def make(factor):
        @device
        def helper(a):  # long enough not to be inlined
            s = 0.0
            for i in range(100):
                s += (a + i) * factor
                if s > 1e300:
                    s = 0.0
            for i in range(100):
                s -= i * factor
            return s

        @kernel("float64(float64)", name=f"run{factor}")
        def run(a):
            return helper(a) + helper(a + 1.0) + helper(a - 1.0)

        return run

    for factor in sys.argv[1:]:
        print(make(float(factor))(1.0))
"""


def test_kernels_of_different_processes_are_told_apart(script, tmp_path):
    path, cache = script(FACTORY), tmp_path / "cache"
    assert run(path, cache, arguments=["2"]).stdout.split() == ["600.0"]
    assert run(path, cache, arguments=["3"]).stdout.split() == ["900.0"]
    both = run(path, cache, arguments=["2", "3"])
    assert both.stdout.split() == ["600.0", "900.0"]
    assert both.stderr == ""


def test_kernel_without_a_place_for_the_cache(script):
    done = run(script(KERNEL), "/dev/null/nowhere")
    assert done.stdout.startswith("2.0 0")
