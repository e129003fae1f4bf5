"""Parameter studies: many simulations of one model, with other parameters, start values, inputs."""

from __future__ import annotations

from .result import Sweep
from .run import sweep
from .samples import Grid, MonteCarlo

__all__ = ["Grid", "MonteCarlo", "Sweep", "sweep"]
