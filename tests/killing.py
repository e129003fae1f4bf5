"""Processes that are killed at random moments, and results that nobody can tell from those of others."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def assert_same(one: Any, other: Any) -> None:
    """Two solutions bit for bit, but for the seconds that they took."""
    assert one.status == other.status
    for get in (
        lambda s: s.t, lambda s: s.x, lambda s: s.events.t, lambda s: s.impacts.t, lambda s: s.trajectory.coefficients,
        lambda s: s.trajectory.restart_x, lambda s: s.trajectory.restarts,
    ):  # fmt: skip
        np.testing.assert_array_equal(get(one), get(other))
    for mine, theirs in zip(one.events, other.events, strict=True):
        assert (mine.name, mine.number, mine.direction) == (theirs.name, theirs.number, theirs.direction)
        assert all((value == theirs.state[kind]).all() for kind, value in mine.state.items())
    for mine, theirs in zip(one.impacts, other.impacts, strict=True):
        assert mine.contact == theirs.contact
        np.testing.assert_array_equal(mine.impulse, theirs.impulse)
    assert one.impacts.rests == other.impacts.rests
    assert [(s.t, s.active, s.discrete) for s in one.segments] == [(s.t, s.active, s.discrete) for s in other.segments]
    mine, theirs = one.stats.to_dict(), other.stats.to_dict()
    assert mine | {"seconds": 0} == theirs | {"seconds": 0}
    assert (one.trace is None) == (other.trace is None)
    if one.trace is not None:
        np.testing.assert_array_equal(one.trace.rows, other.trace.rows)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the seconds that it takes."""
    begun = time.perf_counter()
    return call(), time.perf_counter() - begun


def kill_again_and_again(
    script: str, arguments: Sequence[Any], seconds: float, kills: int, seed: int, look: Callable[[], Any]
) -> list[Any]:
    """Start a script, kill it, and so on; let it finish at last. Returns what `look` saw after each death.

    The script says "ready" when it begins with what shall survive, and needs so many seconds from there.
    """

    def start() -> subprocess.Popen:
        child = subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        return child

    dice, seen = random.Random(seed), []
    for _ in range(kills):
        with start() as child:
            time.sleep(dice.uniform(0.0, 2 * seconds / kills))
            child.kill()
        seen.append(look())
    with start() as last:
        assert last.wait() == 0
    return seen
