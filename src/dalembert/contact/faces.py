"""The part of a run's contacts that is about edges: on which pieces of surfaces they are, and impacts between these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dalembert.contact.decision import Decision
from dalembert.contact.impacts import Impacts
from dalembert.contact.scales import Happened, Scales
from dalembert.errors import ContactError
from dalembert.simulation.hybrid import HybridState
from dalembert.solution.impacts import Impact

#: impacts at an edge by turns on its two sides
MOST_FACES = 100


class Faces(Impacts):
    """Base of `Contacts`."""

    def _on_pieces(
        self, state: HybridState, vectors: Mapping[str, np.ndarray], happened: Happened, scales: Scales
    ) -> tuple[HybridState, bool]:
        """The state with the pieces of surfaces onto which the motion leads; whether it is at an edge."""
        discrete, at_edge = self.edges.held(
            state.t, vectors, state.discrete, happened.crossing, scales.gap, bool(happened.closing)
        )
        return replace(state, discrete=discrete), at_edge

    def _between_faces(
        self,
        state: HybridState,
        vectors: dict[str, np.ndarray],
        impacts: list[Impact],
        closed: Sequence[int],
        modes: Mapping[int, float],
        happened: Happened,
        scales: Scales,
    ) -> tuple[HybridState, dict[str, np.ndarray], dict[str, np.ndarray], list[Impact]]:
        """An impact at an edge may lead back onto the piece from which the motion came, and to an impact there.

        Returns the state, vectors before and after the last impact, and this."""
        before = vectors
        for _ in range(MOST_FACES):
            turned, _ = self._on_pieces(state, vectors, happened, scales)
            if self.edges.same(turned.discrete, state.discrete):
                return state, before, vectors, impacts
            state = turned
            after, more = self._impact(
                state.t, vectors, self.model.theta(state.t, state.discrete), closed, modes, scales, ()
            )
            if more:
                before, vectors, impacts = vectors, after, more
                self.impacts += more
        raise self._held_by_edge(state.t, impacts[-1].contact)

    def _on_these_pieces(
        self, t: float, vectors: Mapping[str, np.ndarray], theta: np.ndarray, rebounds: dict[int, float], scales: Scales
    ) -> dict[int, float]:
        """Those that rebound also from the pieces onto which they were thrown back."""
        which = list(rebounds)
        rates, dims = self.space.rates(t, vectors, theta, which), self.space.dims_of(which)
        speeds = rates.gamma[np.cumsum(dims) - dims]
        return {i: float(speed) for i, speed in zip(which, speeds, strict=True) if speed > scales.noise}

    def _pushed(self, state: HybridState, decision: Decision, scales: Scales) -> np.ndarray | None:
        """Discrete variables with the pieces onto which forces push what stands still at an edge; None: as they are."""
        t, theta = state.t, self.model.theta(state.t, state.discrete)
        a = self.space.motion(t, state.vectors, theta, decision.rows)
        turned = self.edges.pushed(t, state.vectors, state.discrete, a, scales.gap)
        return None if self.edges.same(turned, state.discrete) else turned

    def _held_by_edge(self, t: float, name: str) -> ContactError:
        return ContactError(
            f"contact '{name}' is held by an edge from two sides at t = {t:.9g}, as in a valley with a kink: one gap "
            "has one normal only. Give the two sides as two gaps",
            name,
        )
