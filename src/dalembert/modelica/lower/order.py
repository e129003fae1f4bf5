"""The order in which discrete variables are found at an event."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model.hybrid import Assignment
from dalembert.modelica.lower.symbols import DISCRETE, Space


def in_order(assignments: Sequence[Assignment], space: Space) -> list[Assignment]:
    """Assignments such that each comes after those that it reads, as far as they do not read each other."""
    by_place = {one.place: one for one in assignments}
    reads = {
        one.place: [
            place for kind, name in space.in_graph(one.value) if kind == DISCRETE
            for place in [space.place(name)] if place in by_place and place != one.place
        ]
        for one in assignments
    }  # fmt: skip
    done: set[int] = set()
    found: list[Assignment] = []
    for first in assignments:
        waiting, path = [(first.place, False)], set()
        while waiting:
            place, leaving = waiting.pop()
            if leaving:
                path.discard(place)
                if place not in done:
                    done.add(place)
                    found.append(by_place[place])
            elif place not in done and place not in path:
                path.add(place)
                waiting.append((place, True))
                waiting += [(other, False) for other in sorted(reads[place], reverse=True)]
    return found
