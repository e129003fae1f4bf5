"""Geometric discontinuities: edges, where the surface of a contact passes from one smooth piece to another.

An edge is an event. What lies beyond is found out by going there: the pieces that the motion leads onto are held from
then on, and a Moreau-Jean step across the edge selects which of the closed contacts stay so (NSCD [1]_). The smooth
method then goes on from the edge itself, with those alone. Where the normal jumps, the rates of gaps on the new piece
say whether there is an impact, or whether the body leaves the surface.

References
----------
.. [1] J. J. Moreau, "Unilateral contact and dry friction in finite freedom dynamics", 1988; M. Jean, "The non-smooth
   contact dynamics method", 1999.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from dalembert.contact.laws import resolve
from dalembert.contact.space import ContactSpace, Vectors
from dalembert.model import Model
from dalembert.model.contacts import OPEN
from dalembert.model.edges import Edge
from dalembert.model.evaluate import PointFunction
from dalembert.regularize.hidden import derive
from dalembert.regularize.start_problems import start_problems

#: switching functions up to so many slacks are at their edge
NEAR = 4.0
#: slack of switching functions, in units of what gaps may be wrong by; of their terms: rounding
OF_GAP, OF_TERMS = 1e-2, 1e-15
#: how far the motion is followed to see what is ahead, in units of the slack of gaps
AHEAD = (30.0, 1e3, 3e4, 1e6)
#: sizes of the Moreau-Jean step, as parts of the time in which forces change velocities
STEPS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
#: of the rates in such a step: contacts that separate faster have opened; rows that differ less are the same
OPENED, SAME = 1e-7, 1e-11


class Edges:
    """The edges of a model's contacts in a run."""

    def __init__(self, model: Model, space: ContactSpace, *, found: bool = True):
        """`found`: whether edges are events; else gaps are taken as they were written."""
        self.model, self.space, self.edges = model, space, model.edges if found else ()
        names = list(model.discrete_names)
        self._side = [names.index(edge.side) for edge in self.edges]
        self._slack = [names.index(edge.slack) for edge in self.edges]
        self._level = [names.index(edge.level) if edge.level else -1 for edge in self.edges]
        self._levels = np.array([bool(edge.level) for edge in self.edges], bool)

    @cached_property
    def _functions(self) -> PointFunction:
        graph = self.model.graph
        functions = graph.value("edges")
        return PointFunction(self.model, [functions, ca.densify(ca.jacobian(functions, graph.symbol["p"]))])

    @cached_property
    def _flow(self) -> PointFunction:
        return PointFunction(self.model, [derive(self.model).p_dot])

    def p_dot(self, t: float, vectors: Vectors, theta: np.ndarray) -> np.ndarray:
        return self._flow(t, vectors, theta)[0].ravel()

    def reached(
        self, t: float, vectors: dict[str, np.ndarray], discrete: np.ndarray, crossed: Collection[int]
    ) -> dict[str, np.ndarray]:
        """Vectors with positions on the edges that are crossed: events find them a little beyond.

        There both pieces have the same gaps. Closed contacts and other constraints stay as they are.
        """
        if not crossed:
            return vectors
        theta = self.model.theta(t, discrete)
        values, J = (out.reshape(len(self.edges), -1) for out in self._functions(t, vectors, theta))
        values = values.ravel()
        beyond = np.where(self._levels, values - np.rint(values), values)
        least = NEAR * discrete[self._slack]
        which = [k for k in crossed if not self.edges[k].given and abs(beyond[k]) <= least[k]]
        if not which:
            return vectors
        _, rows = start_problems(self.model).position(t, vectors, theta)
        n_s = len(vectors["s"])
        rows = (rows if isinstance(rows, np.ndarray) else rows.toarray())[:, n_s:]
        names = list(self.model.discrete_names)
        closed = {c.normal for c in self.space.contacts if discrete[names.index(c.mode)] != OPEN}
        contacts = {c.normal for c in self.space.contacts}
        n_lam = self.space.n["lam"]
        lam = [i for i in range(n_lam) if i in closed or i not in contacts]
        held = rows[len(rows) - n_lam :][lam]
        A = np.vstack([J[which], held])
        move = np.linalg.lstsq(A, -np.concatenate([beyond[which], np.zeros(len(lam))]), rcond=1e-10)[0]
        return {**vectors, "p": vectors["p"] + move}

    # -- pieces ----------------------------------------------------------------------------------------------------

    def held(
        self, t: float, vectors: Vectors, discrete: np.ndarray, crossed: Collection[int], gap: float, closing: bool
    ) -> tuple[np.ndarray, bool]:
        """Discrete variables with the pieces that the motion leads onto, and whether there is an edge right here.

        `crossed` are edges that have just been reached, `gap` is what gaps may be wrong by; positions will be corrected
        by as much if contacts are `closing`.
        """
        if not self.edges:
            return discrete, False
        free = discrete.copy()
        free[self._side] = 0.0  # functions as they were written
        theta = self.model.theta(t, free)
        values, J = (out.reshape(len(self.edges), -1) for out in self._functions(t, vectors, theta))
        values = values.ravel()
        terms = np.abs(J) @ np.abs(vectors["p"]) + np.abs(values)
        sizes, distance = np.abs(J).max(axis=1, initial=0), self._distance(values)
        slack = np.maximum(OF_GAP * gap * sizes, OF_TERMS * terms) + np.finfo(float).tiny
        near = distance <= NEAR * slack
        near[list(crossed)] = True
        p_dot = self.p_dot(t, vectors, theta)
        speed = np.abs(p_dot).max(initial=0)
        undecided = near.copy()
        for far in AHEAD if near.any() and speed > 0 else ():
            h = far * gap / speed
            moved = {**vectors, "p": vectors["p"] + h * p_dot}
            there = self._functions(t + h, moved, self.model.theta(t + h, free))[0].ravel()
            values = np.where(undecided, there, values)
            undecided &= self._distance(values) <= 2 * slack
            if not undecided.any():
                values = np.where(near | self._levels, values, there)  # they may depend on those that have changed
                break
        new = discrete.copy()
        for k in range(len(self.edges)):
            new[self._slack[k]] = slack[k]
            if not undecided[k] or discrete[self._side[k]] == 0:  # else it goes along the edge
                self._put(new, k, values[k])
        here = self._functions(t, vectors, self.model.theta(t, new))[0].ravel()  # on the pieces that are held
        for k in range(len(self.edges)):
            corrected = 2 * gap * sizes[k] if closing and distance[k] <= 20 * gap * sizes[k] else 0.0
            self._widen(new, k, here[k], slack[k] + corrected)
        return new, bool(near.any())

    def _put(self, discrete: np.ndarray, k: int, value: float) -> None:
        """Hold the piece of edge k on which its function has this value."""
        if self._levels[k]:
            discrete[self._side[k]], discrete[self._level[k]] = 1.0, np.floor(value)
        else:
            discrete[self._side[k]] = 1.0 if value >= 0 else -1.0

    def _widen(self, discrete: np.ndarray, k: int, value: float, slack: float) -> None:
        """Let the slack be such that the event of edge k is still to come, if it is right here."""
        inside = discrete[self._side[k]] * value
        if self._levels[k]:
            above = value - discrete[self._level[k]]
            inside = min(above, 1 - above)
        discrete[self._slack[k]] = slack + max(0.0, -inside)

    def pushed(
        self, t: float, vectors: Vectors, discrete: np.ndarray, acceleration: np.ndarray, gap: float
    ) -> np.ndarray:
        """As `held`, for edges from which velocities lead away by next to nothing: accelerations decide."""
        theta = self.model.theta(t, discrete)  # pieces are smooth: they tell on which side the motion stays
        new, slack = discrete.copy(), discrete[self._slack]
        size = np.abs(acceleration).max(initial=0)
        here, J = (out.reshape(len(self.edges), -1) for out in self._functions(t, vectors, theta))
        here = here.ravel()
        near = self._distance(here) <= NEAR * slack
        if not near.any() or not size > 0:
            return new
        h = np.sqrt(2 * AHEAD[0] * gap / size)
        way = [self.p_dot(t, {**vectors, "v": vectors["v"] + k * h * acceleration}, theta) for k in (0.0, 0.5)]
        moved = [{**vectors, "p": vectors["p"] + h * p_dot} for p_dot in way]
        by_v, there = (
            self._functions(t + h, point, self.model.theta(t + h, discrete))[0].ravel() - here for point in moved
        )
        by_a = there - by_v
        for k in np.flatnonzero(near):
            against = by_v[k] * by_a[k] < 0
            # at most so far it gets before it is turned round
            excursion = by_v[k] ** 2 / (4 * abs(by_a[k])) if against else np.inf
            if excursion <= 10 * gap * np.abs(J[k]).max() or (by_v[k] == 0 and abs(by_a[k]) > slack[k]):
                self._put(new, k, by_a[k] + (np.rint(here[k]) if self._levels[k] else 0.0))
        here = self._functions(t, vectors, self.model.theta(t, new))[0].ravel()
        for k in np.flatnonzero(near):
            self._widen(new, k, here[k], slack[k])
        return new

    def same(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Whether discrete variables hold the same pieces."""
        places = [k for k in (*self._side, *self._level) if k >= 0]
        return np.array_equal(one[places], other[places])

    def _distance(self, values: np.ndarray) -> np.ndarray:
        """From the edge: zero, or for functions with levels the next whole number."""
        return np.where(self._levels, np.abs(values - np.rint(values)), np.abs(values))

    def released(self, discrete: np.ndarray, modes: Mapping[int, float]) -> np.ndarray:
        """Pieces are held only for contacts that are closed: others fly over edges without noticing."""
        new = discrete.copy()
        for edge, place in zip(self.edges, self._side, strict=True):
            if all(modes.get(i, OPEN) == OPEN for i in edge.contacts):
                new[place] = 0.0
        return new

    # -- which contacts stay closed --------------------------------------------------------------------------------

    def selected(
        self, t: float, vectors: Vectors, theta: np.ndarray, candidates: Sequence[int], friction: np.ndarray
    ) -> list[int]:
        """Those of the closed contacts that a Moreau-Jean step across the edge keeps closed.

        Steps are as short as they can be for a definite answer: on acceleration level contacts may be the same, and
        differ only further on.
        """
        candidates = list(candidates)
        if not candidates or not np.abs(vectors["v"]).max(initial=0) > 0:
            return candidates
        space, dims = self.space, self.space.dims_of(candidates)
        normal = np.cumsum(dims) - dims
        a = space.motion(t, vectors, theta, np.zeros(0, int))
        rates = space.rates(t, vectors, theta, candidates)
        # velocities satisfy closed contacts to the accuracy of the method only: forces of a short step would be less
        impulse = np.linalg.lstsq(rates.A[np.ix_(normal, normal)], -rates.gamma[normal], rcond=None)[0]
        v = vectors["v"] + rates.drift + rates.answer[:, normal] @ impulse
        pushed = np.abs(a).max(initial=0)
        time = np.abs(v).max() / pushed if pushed > 0 else 1.0
        p_dot = self.p_dot(t, {**vectors, "v": v}, theta)
        for h in np.array(STEPS) * time:
            ahead = {**vectors, "p": vectors["p"] + h * p_dot, "v": v + h * a}
            rates = space.rates(t, ahead, theta, candidates)
            found = resolve(rates.A, rates.gamma, dims, friction[candidates], np.zeros(len(candidates)), "newton")
            size = np.abs(rates.gamma[normal]).max()
            opens = found.gamma_after[normal] > OPENED * size
            kept = normal[~opens]
            if not _redundant(rates.A[np.ix_(kept, kept)]):
                break
        return [i for i, gone in zip(candidates, opens, strict=True) if not gone]


def _redundant(A: np.ndarray) -> bool:
    """Whether rows of contacts depend on each other."""
    if len(A) < 2:
        return False
    scale = np.sqrt(np.abs(np.diag(A)))
    scale[scale == 0] = 1.0
    return bool(np.linalg.eigvalsh(A / np.outer(scale, scale))[0] < SAME)


def event_of(edge: Edge, function: ca.SX, discrete: Mapping[str, ca.SX]) -> ca.SX:
    """Falls through zero where the motion has passed the edge."""
    side = discrete[edge.side]
    return ca.if_else(side == 0, 1, edge.inside(function, discrete) + discrete[edge.slack])
