"""Damaged and forged result files: an error of ours, or the same result; never a crash, never another result."""

import copy
import hashlib
import json
import math
import random
import re

import numpy as np
import pytest

from dalembert.errors import DalembertError, FileError
from dalembert.solution import Occurrence, Profile, SegmentInfo, Solution, Trace, Trajectory
from dalembert.solution import files as file_room

HEADER = 512


@pytest.fixture
def full_solution(make_solution):
    """With everything that a file can hold."""
    rows = np.zeros((3, 9))
    rows[:, 0], rows[:, 1] = [0.0, 0.1, 0.2], 0.1
    return make_solution(
        parameters={"m": 2.0, "table": np.arange(6.0).reshape(2, 3), "on": True, "n": 3, "text": "ü"},
        profile=Profile({"rates": (3, 0.1)}, {"stages": (1, 0.2)}, {"compilation": 1.0}),
        segments=[SegmentInfo(0.0, None, {"gear": 1.0}), SegmentInfo(0.5, ("lam1",), {"gear": 2.0})],
        trace=Trace(rows, ("x", "y")),
        t_eval=[0.1, 0.2, 0.3],
        not_kept={"v": ("z_dot",)},
    )


def everything(sol):
    """A text that differs for results that differ; on the way, all that a user may look at."""
    parts = [repr(sol), str(sol), str(sol.stats), sol.method, sol.formulation, sol.status, sol.message, sol.not_kept]
    parts += [sol.t.tobytes(), sol.trajectory.interval, sol.to_dict(), sol.names, sol._slices, sol._names]
    parts += [repr(sol.parameters), repr(sol.initial), repr(sol.t_eval), sol.segments, sol.success]
    for kind in ("p", "v", "lam", "mu", "x"):
        try:
            parts.append(getattr(sol, kind).tobytes())
        except DalembertError as error:
            parts.append(str(error))
    if sol.trajectory.dense and np.isfinite(sol.trajectory.interval).all():
        times = np.linspace(*sol.trajectory.interval, 7)
        parts += [sol.at(times)._x.tobytes(), repr(sol.at(times[0])), sol.trajectory.coefficients.tobytes()]
    parts += [str(sol.profile), str(sol.trace), repr(sol.events), sol.events.t.tobytes(), len(sol.to_pandas())]
    parts += [(event, {kind: value.tobytes() for kind, value in event.state.items()}) for event in sol.events]
    if sol.trace is not None:
        parts += [tuple(sol.trace), len(sol.trace.to_pandas())]
    return repr(parts)


def damage(data, rng):
    """Another file: bits, bytes or blocks changed, parts lost, moved, repeated or added."""
    data = bytearray(data)
    at = rng.randrange(len(data)) if rng.random() < 0.8 else rng.randrange(HEADER)
    length = rng.choice([1, 2, 8, 64, 512, 4096])
    kind = rng.randrange(8)
    if kind <= 1:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at : at + length] = bytes(len(data[at : at + length]))
    elif kind == 3:
        data[at : at + length] = rng.randbytes(len(data[at : at + length]))
    elif kind == 4:
        del data[at:]
    elif kind == 5:
        data += rng.choice([b"\0", b"\n", rng.randbytes(length), bytes(data[:length])])
    elif kind == 6:
        del data[at : at + length]
    else:
        other = rng.randrange(len(data))
        data[at : at + length] = data[other : other + length]
    return bytes(data)


def damaged_files(sol, path, times, seed):
    good, rng, same = sol.save(path).read_bytes(), random.Random(seed), 0
    expected = everything(Solution.load(path))
    for _ in range(times):
        bad = damage(good, rng)
        path.write_bytes(bad)
        if bad == good:
            same += 1
            assert everything(Solution.load(path)) == expected
            continue
        with pytest.raises(FileError, match=re.escape(str(path))):
            Solution.load(path)
    assert same < times / 4


def test_damaged_files(full_solution, tmp_path):
    damaged_files(full_solution, tmp_path / "run.h5", 200, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_thousands_of_damaged_files(full_solution, make_solution, tmp_path, seed):
    damaged_files(full_solution if seed % 2 else make_solution(), tmp_path / "run.h5", 2000, seed)


def test_every_byte_counts(make_solution, tmp_path):
    """No byte of the file is without effect, not even where nothing is written."""
    path = tmp_path / "run.h5"
    good = make_solution().save(path).read_bytes()
    for at in [*range(HEADER), *range(HEADER, len(good), 61), len(good) - 1]:
        bad = bytearray(good)
        bad[at] ^= 0x10
        path.write_bytes(bad)
        with pytest.raises(FileError):
            Solution.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "is damaged: it is truncated"),
        (lambda data: data + b"\0", "is damaged: it is followed by something else"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "is damaged: its checksum differs"),
        (lambda data: data.replace(b"length", b"lengtX", 1), "is damaged: its header cannot be read"),
        (lambda data: data[:100], "is damaged: its header cannot be read"),
        (lambda data: bytes(len(data)), "is not a result file of dalembert, or is damaged"),
        (lambda data: b"", "is not a result file of dalembert, or is damaged"),
    ],
)
def test_messages(make_solution, tmp_path, change, message):
    path = make_solution().save(tmp_path / "run.h5")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(FileError, match=rf"run\.h5' {message}") as raised:
        Solution.load(path)
    assert raised.value.path == path


# -- forged: with a checksum that fits ---------------------------------------------------------------------------------


def signed(body, offset, size):
    """A file with a valid header."""
    fields = f"dalembert result\nformat 2\nlength {HEADER + len(body)}\ndescription {offset} {size}\n".encode()
    digest = hashlib.sha256(fields + body).hexdigest()
    return (fields + f"sha256 {digest}\n".encode()).ljust(HEADER, b"\0") + body


def description_of(data):
    found = re.search(rb"\ndescription (\d+) (\d+)\n", data[:HEADER])
    offset, size = int(found[1]), int(found[2])
    return json.loads(data[offset : offset + size]), offset, size


def with_text(data, text):
    """A file with another description, which is added at the end."""
    return signed(data[HEADER:] + text, len(data), len(text))


def test_forging_works(full_solution, tmp_path):
    """Or the tests below would test nothing."""
    path = full_solution.save(tmp_path / "run.h5")
    data = path.read_bytes()
    assert signed(data[HEADER:], *description_of(data)[1:]) == data
    description = description_of(data)[0]
    description["message"] = "forged"
    path.write_bytes(with_text(data, json.dumps(description).encode()))
    assert Solution.load(path).message == "forged"


VALUES = [
    None, True, False, -1, 0, 1, 2, 3, 2**31, 2**63, 2**70, -(2**70), 10**400, 0.5, math.nan, math.inf, 1e308,
    "", "x", "\ud800", [], [[]], [None], [1, 2], ["x"], [-1], [2**62, 2**62], [[0, 1], [2]],
    {}, {"x": 1}, {"dataset": "trajectory/t"}, {"dataset": "nowhere"}, {"dataset": None}, {"dataset": []},
    "<f8", "<O8", "|O", ">f8", "|V8", "<U8", "|S8", "<M8[s]",
]  # fmt: skip


def mutate(value, rng):
    """Somewhere in a description, something else."""
    while isinstance(value, dict | list) and value:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if not isinstance(value[key], dict | list) or not value[key] or rng.random() < 0.2:
            if rng.random() < 0.1:
                del value[key]
            elif rng.random() < 0.1 and isinstance(value, list):
                value.append(copy.deepcopy(value[key]))
            else:
                value[key] = copy.deepcopy(rng.choice(VALUES))
            return
        value = value[key]


def forged_files(sol, path, times, seed):
    """Whatever they hold: an error of ours, or a result that can be looked at like any other."""
    data, rng, loaded = sol.save(path).read_bytes(), random.Random(seed), 0
    _, offset, size = description_of(data)
    for round_ in range(times):
        if round_ % 3:
            description = description_of(data)[0]
            for _ in range(rng.choice([1, 1, 2, 5])):
                mutate(description, rng)
            path.write_bytes(with_text(data, json.dumps(description).encode()))
        elif round_ % 2:  # other places of the description, damaged or not
            path.write_bytes(signed(damage(data, rng)[HEADER:], rng.choice([offset, rng.randrange(2**40)]), size))
        else:  # the text itself
            text = bytearray(data[offset : offset + size])
            for _ in range(rng.choice([1, 3])):
                text[rng.randrange(len(text))] = rng.choice(b'0123456789{}[]",:.-eNIt\\ \xff')
            path.write_bytes(with_text(data, bytes(text)))
        try:
            with np.errstate(all="ignore"):
                everything(Solution.load(path))
            loaded += 1
            Solution.load(path, model=sol.model)
        except DalembertError:
            pass
    assert 0 < loaded < times


def test_forged_files(full_solution, make_solution, tmp_path):
    forged_files(full_solution, tmp_path / "run.h5", 300, 1)
    points = Trajectory.from_points([0.0, 0.1], np.ones((2, 6)), interval=(0.0, 3.0))
    forged_files(make_solution(trajectory=points, t_eval=[0.0, 0.1]), tmp_path / "run.h5", 100, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_thousands_of_forged_files(full_solution, tmp_path, seed):
    forged_files(full_solution, tmp_path / "run.h5", 3000, seed)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"17",
        b"[" * 100_000,
        b'{"arrays":' * 50_000,
        b"9" * 10_000,
        b"\xff\xfe",
        b"{}",
        b'"' + b"x" * 100_000,
    ],
    ids=lambda text: text[:8].decode("latin1"),
)
def test_descriptions_that_are_none(solution, tmp_path, text):
    path = solution.save(tmp_path / "run.h5")
    path.write_bytes(with_text(path.read_bytes(), text))
    with pytest.raises(FileError, match="does not describe a result"):
        Solution.load(path)


def test_dimensions_beyond_the_file(full_solution, tmp_path):
    path = full_solution.save(tmp_path / "run.h5")
    data = path.read_bytes()
    for shape in (
        [2**62],
        [2**31, 2**31, 2**31],
        [10**30, 0, 6],
        [1] * 200,
        [5, 4, 7],
        [-5, -4, 6],
        [5.0, 4, 6],
        [True, 4, 6],
    ):
        description = description_of(data)[0]
        description["arrays"]["trajectory/coefficients"]["shape"] = shape
        path.write_bytes(with_text(data, json.dumps(description).encode()))
        with pytest.raises(FileError, match="does not describe a result"):
            Solution.load(path)


def test_a_file_that_is_larger_than_the_memory(solution, tmp_path, monkeypatch):
    path = solution.save(tmp_path / "run.h5")
    with path.open("r+b") as file:
        file.truncate(2**40)  # takes no room on the disk
    monkeypatch.setattr(file_room, "memory", lambda: 2.0**38)
    with pytest.raises(FileError, match=r"1\.1 TB do not fit into the memory"):
        Solution.load(path)


def test_loading_needs_no_hdf5(solution, tmp_path, monkeypatch):
    """Whose library can be led into endless loops."""
    import sys

    path = solution.save(tmp_path / "run.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert Solution.load(path).message == solution.message
    assert isinstance(Solution.load(path).events[0], Occurrence)
