"""Columns of arrays that are copied by machine code arrive as NumPy would copy them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.compile.copying import PAGE, Copies

KINDS = (np.float64, np.int32, np.float32, np.int8)


@st.composite
def pairs(draw, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A view of any shape and order of some array, and a target of the same shape whose rows are contiguous."""
    shape = (*draw(st.lists(st.integers(0, 3), max_size=2)), n)
    kind = draw(st.sampled_from(KINDS))
    if np.dtype(kind) == np.float64 and draw(st.booleans()):  # only doubles may stand at any distance
        step = draw(st.sampled_from((-3, -1, 2, 5)))
        whole = np.arange(abs(step) * np.prod(shape) + 1.0).reshape(-1)
        source = whole[1:].reshape(*shape[:-1], n * abs(step))[..., ::step][..., :n]
        if draw(st.booleans()):
            source = np.broadcast_to(source[..., :1], shape)  # one number for all
    else:
        source = np.arange(np.prod(shape)).astype(kind).reshape(shape)
    target = np.full((*shape[:-1], n + 2), 77, source.dtype)
    return source, target


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 40))
def test_copies_are_those_of_numpy(data, n):
    some = data.draw(st.lists(pairs(n), max_size=4))
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    Copies((source, target[..., :n]) for source, target in some).carry_out(first, last)
    for source, target in some:
        np.testing.assert_array_equal(target[..., first:last], source[..., first:last])
        assert (target[..., :first] == 77).all()
        assert (target[..., last:] == 77).all()


def test_columns_of_a_table_of_records():
    records = np.zeros(9, [("flag", "i1"), ("x", "f8")])  # doubles that no address of theirs is a multiple of 8
    records["x"] = np.arange(9)
    target = np.zeros((1, 9))
    Copies([(records["x"][None], target)]).carry_out(0, 9)
    np.testing.assert_array_equal(target[0], np.arange(9))


@pytest.mark.parametrize("kind", [np.float64, np.int8])
def test_room_is_made_within_bounds(kind):
    n, size = 3 * PAGE, np.dtype(kind).itemsize
    numbers = np.full((2, (n + 1) * size), 77, np.int8)
    target = numbers.view(kind)[:, :n]
    Copies([(np.zeros((2, n), kind), target)]).make_room(5, n - 5)
    for row in numbers:
        changed = np.flatnonzero(row != 77)
        assert changed[0] == 5 * size
        assert (np.diff(changed) == PAGE).all()
        assert changed[-1] < (n - 5) * size <= changed[-1] + PAGE


_AT_ONCE = """
import threading
import numpy as np
from dalembert.compile.copying import Copies
go, ends = threading.Barrier(16), []
def work():
    source, target = np.random.default_rng(1).normal(size=(50, 20000)), np.zeros((50, 20000))
    go.wait()
    for _ in range(20):
        Copies([(source, target)]).carry_out(0, 20000)
    ends.append((source == target).all())
threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(ends), all(ends))
"""


def test_threads_that_come_first_at_once(tmp_path):
    environment = os.environ | {"DALEMBERT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _AT_ONCE], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.stdout == "16 True\n", done.stderr
