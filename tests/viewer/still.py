"""Results without a simulation: a model that stays where it starts."""

from __future__ import annotations

from functools import cache

import numpy as np

from dalembert.problems import (
    catalogue,
    catalogue_contact,
    catalogue_large,
    catalogue_multibody,
    catalogue_quasi_linear,
    catalogue_singular,
)
from dalembert.solution import Solution, Statistics, Trajectory

EVERY = {
    name: make
    for listed in (
        catalogue, catalogue_contact, catalogue_large, catalogue_multibody, catalogue_quasi_linear, catalogue_singular
    )
    for name, make in listed().items()
}  # fmt: skip


@cache
def animated(name: str):
    """The animation of a problem that stays where it starts."""
    return still(EVERY[name]()).animate(frames=3)


def still(problem, *, moments: int = 3) -> Solution:
    """The start of a problem at some moments; values that nobody gave are zero."""
    model, slices, names, values, at = problem.model, {}, {}, [], 0
    for kind in model.state_kinds:
        own = model.names(kind)
        if not own:
            continue
        given = getattr(problem, f"{kind}0", None)
        values.append(np.zeros(len(own)) if given is None else np.asarray(given, float))
        slices[kind], names[kind] = slice(at, at + len(own)), own
        at += len(own)
    x = np.tile(np.concatenate(values), (moments, 1))
    t = np.linspace(0.0, problem.t_end, moments)
    trajectory = Trajectory.from_points(t, x)
    return Solution(
        model=model, slices=slices, names=names, trajectory=trajectory, stats=Statistics(), parameters=model.parameters
    )
