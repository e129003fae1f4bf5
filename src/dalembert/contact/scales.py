"""What counts as zero in a state, and what has happened to contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dalembert.solvers.method import Tolerances

#: of the absolute tolerance, and of the largest values: slack of gaps and speeds
OF_TOLERANCE, OF_VALUES = 1e-2, 1e-13


@dataclass
class Scales:
    """What counts as zero in a state."""

    gap: float
    speed: float
    noise: float  # of velocities, as methods compute them

    @classmethod
    def of(cls, vectors: Mapping[str, np.ndarray], gaps: np.ndarray, tolerances: Tolerances) -> Scales:
        rtol, atol = tolerances.tightest
        length = max(np.abs(vectors["p"]).max(initial=0), np.abs(gaps).max(initial=0))
        speed = np.abs(vectors["v"]).max(initial=0)
        return cls(
            max(OF_TOLERANCE * atol, OF_VALUES * length),
            max(OF_TOLERANCE * atol, OF_VALUES * speed),
            10 * (atol + rtol * speed),
        )


@dataclass
class Happened:
    """Contacts to which something has happened."""

    closing: set[int] = field(default_factory=set)
    opening: set[int] = field(default_factory=set)
    slipping: set[int] = field(default_factory=set)
    stopping: set[int] = field(default_factory=set)  # in space: or turning
    crossing: set[int] = field(default_factory=set)  # numbers of edges
