"""Gaps that are below zero by more than they should: refused at a start, lifted where a contact was found late."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dalembert.contact.decision import Decision
from dalembert.contact.edges import Edges
from dalembert.contact.scales import Scales
from dalembert.contact.space import ContactSpace
from dalembert.errors import ContactError, PenetratingStart
from dalembert.model.contacts import OPEN
from dalembert.simulation.hybrid import HybridState

#: gaps that are this many slacks below zero were found too late
TOO_DEEP = 1.5
#: of their slack: gaps below are lifted where nothing else leads out of there
HALFWAY = 0.5


def must_not_penetrate(
    space: ContactSpace, t: float, gaps: np.ndarray, modes: Mapping[int, float], allowed: float, occasion: str
) -> None:
    """Raise PenetratingStart if an open contact is deeper than `allowed` on an occasion that has a name."""
    if not np.isfinite(gaps).all():
        name = space.contacts[int(np.argmin(np.isfinite(gaps)))].name
        raise ContactError(f"the gap of contact '{name}' is not finite at t = {t:.9g}", name)
    if not len(gaps):
        return
    deepest = min(range(len(gaps)), key=lambda i: gaps[i] if modes[i] == OPEN else np.inf)
    if occasion and modes[deepest] == OPEN and gaps[deepest] < -allowed:
        name = space.contacts[deepest].name
        raise PenetratingStart(
            f"contact '{name}' penetrates {occasion}: its gap is {gaps[deepest]:.6g} at t = {t:.9g}. Give "
            "positions in which no gap is negative",
            name,
        )


def lifted(
    edges: Edges,
    t: float,
    vectors: dict[str, np.ndarray],
    theta: np.ndarray,
    which: Sequence[int],
    gaps: np.ndarray,
    scales: Scales,
) -> dict[str, np.ndarray]:
    """Positions out of contacts that were found later than they closed: a rebound from below zero has no end."""
    deep = [i for i in which if gaps[i] < -TOO_DEEP * scales.gap]
    return _moved(edges, t, vectors, theta, deep, -gaps[deep])


def cleared(
    edges: Edges,
    state: HybridState,
    decision: Decision,
    closed: Sequence[int],
    hit: Collection[int],
    scales: Scales,
) -> HybridState:
    """The state with gaps of zero where contacts open that hardly move, or that were not hit.

    At the edge of their slack, rounding alone would be the next event, and steps until then too short to lead away.
    """
    space = edges.space
    which = [i for i in closed if not space.contacts[i].dry]
    if all(i in decision.modes for i in which):
        return state
    t, vectors, theta = state.t, state.vectors, state.model.theta(state.t, state.discrete)
    gaps = space.gaps(t, vectors, theta)[which]
    rates, dims = space.rates(t, vectors, theta, which), space.dims_of(which)
    stay = (rates.gamma[np.cumsum(dims) - dims] <= scales.noise) | [i not in hit for i in which]
    opens = stay & (gaps < -HALFWAY * scales.gap) & [i not in decision.modes for i in which]
    if not opens.any():
        return state
    return replace(state, vectors=_moved(edges, t, dict(vectors), theta, which, np.where(opens, -gaps, 0.0)))


def _moved(
    edges: Edges, t: float, vectors: dict[str, np.ndarray], theta: np.ndarray, which: Sequence[int], by: np.ndarray
) -> dict[str, np.ndarray]:
    """Positions in which these gaps have changed so much, by a push along their normals."""
    if not len(which):
        return vectors
    rates, dims = edges.space.rates(t, vectors, theta, which), edges.space.dims_of(which)
    normal = np.cumsum(dims) - dims
    push = np.linalg.lstsq(rates.A[np.ix_(normal, normal)], by, rcond=None)[0]
    at_rest = {**vectors, "v": np.zeros_like(vectors["v"])}
    moved = {**vectors, "v": rates.answer[:, normal] @ push}
    way = edges.p_dot(t, moved, theta) - edges.p_dot(t, at_rest, theta)
    return {**vectors, "p": vectors["p"] + way}
