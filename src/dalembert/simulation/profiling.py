"""From the numbers of a `Monitor` to a `Profile`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dalembert.solution.profile import Profile

if TYPE_CHECKING:
    from dalembert.compile.monitor import Monitor


def profile(monitor: Monitor, preparation: Mapping[str, float]) -> Profile:
    """Everything up to now."""
    from dalembert.solvers.phases import NAMES

    phases, entries, times, calls = monitor.read()
    spent: dict[str, tuple[int, float]] = {}
    for k, function in enumerate(monitor.functions):
        before = spent.get(function.name, (0, 0.0))
        spent[function.name] = (before[0] + calls[:, k].sum(), before[1] + times[:, k].sum())
    inside = [p for p in range(1, len(phases)) if entries[p]]
    own = phases - times.sum(axis=1)
    for p in [*inside, 0]:
        # a phase that does nothing but call can come out slightly negative: clocks are read between the two
        spent[NAMES[p]] = (entries[p], max(0.0, own[p]))
    return Profile(spent, {NAMES[p]: (entries[p], phases[p]) for p in inside}, preparation)
