"""What happens at the events of contacts: impacts, opening, sticking and sliding; an answer to the driver's events.

The sets of contacts are those of event-driven schemes: all of them (I0), the closed ones (I1), and those whose gaps
stay closed (I2), which are in force as constraints until the next event.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dalembert.contact.accumulation import bounces_to_rest, hardly_open
from dalembert.contact.clearance import cleared, lifted, must_not_penetrate
from dalembert.contact.decision import Decision, decide, mode_values
from dalembert.contact.events import Change
from dalembert.contact.faces import Faces
from dalembert.contact.impacts import AT_ONCE, INSTANT
from dalembert.contact.scales import Happened, Scales
from dalembert.contact.space import Vectors, named
from dalembert.errors import ContactError
from dalembert.model.contacts import CLOSED, OPEN, SLACKS, SLIDING
from dalembert.simulation.hybrid import HybridState, Transition

#: of the largest force
OF_FORCE = 1e-10


class Contacts(Faces):
    """The contacts of a run: their events, and what these change."""

    # -- the start -------------------------------------------------------------------------------------------------

    def begin(self, t: float, vectors: Mapping[str, np.ndarray]) -> HybridState:
        """The state at the start, from values that satisfy the other constraints."""
        model = self.model
        state = HybridState(model, t, vectors, model.graph.discrete_values, model.bilateral)
        state = replace(state, discrete=self._all_open(state.discrete))
        return self._settled(state, Happened(), "at the start")

    def _all_open(self, discrete: np.ndarray) -> np.ndarray:
        discrete = discrete.copy()
        own = {name for contact in self.space.contacts for name in contact.discrete}
        for k, name in enumerate(self.model.discrete_names):
            if name in own:
                discrete[k] = 0.0
        return discrete

    # -- events ----------------------------------------------------------------------------------------------------

    def respond(self, state: HybridState, which: Sequence[int], occasion: str = "") -> HybridState:
        """The state after the events `which` of contacts (numbers in `events`), or after anything else happened."""
        happened = Happened()
        sets = {
            Change.CLOSES: happened.closing,
            Change.OPENS: happened.opening,
            Change.LEAVES: happened.opening,
            Change.SLIPS: happened.slipping,
            Change.STOPS: happened.stopping,
        }
        for event in map(self.events.__getitem__, which):
            if event.change is Change.CROSSES:
                happened.crossing.add(event.edge)
            else:
                sets[event.change].add(event.contact)
        self._must_progress(state.t, which)
        return self._settled(state, happened, occasion)

    def _must_progress(self, t: float, which: Sequence[int]) -> None:
        self._recent.append(t)
        if len(self._recent) == AT_ONCE and abs(t - self._recent[0]) <= INSTANT * abs(self.t1 - self.t0):
            names = named(self.space.contacts, sorted({self.events[k].contact for k in which}))
            raise ContactError(
                f"{names} change{'s' if len(which) < 2 else ''} back and forth at t = {t:.9g} without progress: forces "
                "of redundant contacts with friction may have no unique course. Take MoreauJean(h=...), which needs "
                "none",
                self.space.contacts[self.events[which[0]].contact].name if which else None,
            )

    def _settled(self, state: HybridState, happened: Happened, occasion: str) -> HybridState:
        """Impacts, then the decision which contacts are in force from here on."""
        model, space, t = self.model, self.space, state.t
        vectors = self.edges.reached(t, dict(state.vectors), state.discrete, happened.crossing)
        theta = model.theta(t, state.discrete)
        modes = {contact.number: self._discrete(state, contact.mode) for contact in space.contacts}
        gaps = space.gaps(t, vectors, theta)
        scales = Scales.of(vectors, gaps, self.tolerances)
        state, at_edge = self._on_pieces(state, vectors, happened, scales)
        theta = model.theta(t, state.discrete)
        allowed = self.tolerances.tightest[1] + 1e3 * scales.gap + scales.noise * 1e-3
        must_not_penetrate(space, t, gaps, modes, allowed, occasion)
        closed = [
            i for i in range(len(gaps)) if modes[i] != OPEN or i in happened.closing or gaps[i] <= 10 * scales.gap
        ]
        vectors = lifted(self.edges, t, vectors, theta, [i for i in closed if modes[i] == OPEN], gaps, scales)
        before, resting = vectors, set()
        vectors, impacts = self._impact(t, before, theta, closed, modes, scales, resting)
        self.impacts += impacts
        self._hits.extend((impact.t, impact.contact) for impact in impacts)
        self._fastest = max([self._fastest, *(-float(impact.before[0]) for impact in impacts)])
        if at_edge and impacts:
            state, before, vectors, impacts = self._between_faces(
                state, vectors, impacts, closed, modes, happened, scales
            )
            theta = model.theta(t, state.discrete)
        pieces = 0  # that were tried in vain
        low: set[int] = set()  # contacts that open, but not far enough for anybody to notice
        while True:
            rebounds = self._rebounds(impacts, resting, scales)
            if at_edge:
                rebounds = self._on_these_pieces(t, vectors, theta, rebounds, scales)
            new, decision = self._decided(state, vectors, closed, rebounds, modes, happened, scales, at_edge, low)
            hardly = hardly_open(
                space, t, vectors, model.theta(t, new.discrete), decision,
                [i for i in closed if i not in rebounds and i not in low and i not in happened.opening], scales.gap,
            )  # fmt: skip
            if impacts and hardly:
                low |= hardly
                continue
            series, self.flight = bounces_to_rest(
                space, t, vectors, model.theta(t, new.discrete), decision, rebounds, self._restitutions(impacts),
                max(abs(t), abs(self.t1 - self.t0)), np.abs(vectors["p"]).max(initial=0), self._slowest(scales),
                {i: max(scales.gap, -float(gaps[i]) - scales.gap) for i in rebounds},
            )  # fmt: skip
            if series is None and at_edge and decision.modes:
                turned = self._pushed(new, decision, scales)
                if turned is not None:
                    pieces += 1
                    if pieces > 2 or impacts:  # it would bounce between them for ever
                        raise self._held_by_edge(t, space.contacts[next(iter(decision.modes))].name)
                    state = replace(state, discrete=turned)
                    theta = model.theta(t, turned)
                    continue
            if series is None:
                new = cleared(self.edges, new, decision, closed, self._numbers(impacts), scales)
                return replace(new, discrete=self.edges.released(new.discrete, decision.modes))
            self._continue(t, series, impacts)
            resting.add(series.contact)  # what remains of its rebounds is as if it had none
            vectors, _ = self._impact(t, before, theta, closed, modes, scales, resting)

    def _discrete(self, state: HybridState, name: str) -> float:
        return float(state.discrete[self.model.discrete_names.index(name)])

    # -- the decision ----------------------------------------------------------------------------------------------

    def _decided(
        self,
        state: HybridState,
        vectors: dict[str, np.ndarray],
        closed: Sequence[int],
        rebounds: Mapping[int, float],
        modes: Mapping[int, float],
        happened: Happened,
        scales: Scales,
        at_edge: bool,
        low: Collection[int] = (),
    ) -> tuple[HybridState, Decision]:
        model, space, t = self.model, self.space, state.t
        theta = model.theta(t, state.discrete)
        stays = []
        if closed:
            rates, dims = space.rates(t, vectors, theta, closed), space.dims_of(closed)
            for i, speed in zip(closed, rates.gamma[np.cumsum(dims) - dims], strict=True):
                most = scales.speed if modes[i] == OPEN else scales.noise
                if i not in rebounds and (speed <= most or i in low):
                    stays.append(i)
        if at_edge:
            stays = self.edges.selected(t, vectors, theta, stays, self.friction)
        stays += [contact.number for contact in space.contacts if contact.dry]
        slides: dict[int, np.ndarray] = {}
        for i, velocity in space.sliding(t, vectors, theta).items():
            speed = np.linalg.norm(velocity)
            # in space the event may be that its direction has turned, at any speed
            stops = i in happened.stopping and space.contacts[i].dim == 2
            if i in stays and speed > scales.noise and not stops:
                slides[i] = velocity / speed
        trial = Decision(modes={i: SLIDING if i in slides else CLOSED for i in stays}, slips=slides)
        trial_discrete = self._with(state.discrete, mode_values(space, trial, scales.speed))
        decision = decide(
            space, t, vectors, model.theta(t, trial_discrete), stays, slides, self.friction,
            opening=happened.opening, slipping=happened.slipping,
        )  # fmt: skip
        decision.slips |= {i: d for i, d in slides.items() if decision.modes.get(i) == SLIDING}
        values = mode_values(space, decision, scales.speed)
        if self.complementary:  # every closed contact has a row of its own
            values |= {name: 0.0 for contact in space.contacts for name in (contact.implied, contact.load)}
        load = max(OF_FORCE * decision.scale, np.finfo(float).tiny)
        backwards = self._backwards(t, vectors, theta, decision)
        values |= dict(zip(SLACKS, (scales.gap, load, scales.speed + backwards), strict=True))
        names = (*model.names("lam"), *model.names("mu"))
        active = model.bilateral | {names[row] for row in decision.rows}
        active |= {space.contacts[i].implied for i in decision.implied}
        new = replace(state, vectors=self._held(t, vectors, theta, decision, slides))
        return new.changed(Transition(values=values, active=active), "contact"), decision

    def _backwards(self, t: float, vectors: Vectors, theta: np.ndarray, decision: Decision) -> float:
        """The largest speed of a contact in the plane against the direction in which it begins to slide: noise."""
        velocities = self.space.sliding(t, vectors, theta)
        against = (-float(velocities[i] @ d) for i, d in decision.slips.items() if self.space.contacts[i].dim == 2)
        return max((0.0, *against))

    def _held(
        self,
        t: float,
        vectors: dict[str, np.ndarray],
        theta: np.ndarray,
        decision: Decision,
        sliding: Collection[int],
    ) -> dict[str, np.ndarray]:
        """Velocities that satisfy what is in force; they do already, to the accuracy of a method.

        Contacts that begin to slide begin at rest: against their direction, be it by rounding, they would stop at once.
        """
        which = list(decision.modes)
        begin = [self.space.rows[i][1:] for i in decision.slips if i not in sliding]
        held = np.concatenate([decision.rows, *begin])
        if not len(held):
            return vectors
        rates, all_rows = self.space.rates(t, vectors, theta, which), self.space.rows_of(which)
        rows = np.flatnonzero(np.isin(all_rows, held))
        impulse = np.linalg.lstsq(rates.A[np.ix_(rows, rows)], -rates.gamma[rows], rcond=None)[0]
        return {**vectors, "v": vectors["v"] + rates.drift + rates.answer[:, rows] @ impulse}

    def _with(self, discrete: np.ndarray, values: Mapping[str, float]) -> np.ndarray:
        return np.array([values.get(n, x) for n, x in zip(self.model.discrete_names, discrete, strict=True)])
