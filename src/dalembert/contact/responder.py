"""What happens at the events of contacts: impacts, opening, sticking and sliding; an answer to the driver's events.

The sets of contacts are those of event-driven schemes: all of them (I0), the closed ones (I1), and those whose gaps
stay closed (I2), which are in force as constraints until the next event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dalembert.contact.accumulation import Series, bounces_to_rest, hardly_open
from dalembert.contact.decision import Decision, decide, mode_values
from dalembert.contact.edges import Edges
from dalembert.contact.events import Change, ContactEvent, contact_events
from dalembert.contact.laws import resolve
from dalembert.contact.space import Vectors, contact_space, named
from dalembert.errors import ContactError, PenetratingStart
from dalembert.model import EquationsOfMotion
from dalembert.model.contacts import CLOSED, OPEN, SLACKS, SLIDING
from dalembert.simulation.hybrid import HybridState, Transition
from dalembert.solution.impacts import Impact, Rest
from dalembert.solvers.method import Tolerances

#: of the absolute tolerance, and of the largest values: slack of gaps and speeds
OF_TOLERANCE, OF_VALUES = 1e-2, 1e-13
#: an impact with a restitution that is less by this has not made use of all of it
UNUSED = 1e-6
#: of the largest force
OF_FORCE = 1e-10
#: responses at practically the same time that mean that contacts get nowhere
AT_ONCE, INSTANT = 200, 1e-13
#: gaps that are this many slacks below zero were found too late
TOO_DEEP = 1.5
#: of their slack: gaps below are lifted where nothing else leads out of there
HALFWAY = 0.5
#: so many impacts of several contacts in this part of the interval may accumulate together
CROWD, CROWDED = 40, 0.02
#: impacts at an edge by turns on its two sides
MOST_FACES = 100


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


class Contacts:
    """The contacts of a run: their events, and what these change."""

    def __init__(
        self, model: EquationsOfMotion, tolerances: Tolerances, t0: float, t1: float, *, complementary: bool = False
    ):
        """`complementary`: the method itself decides in its steps which of the closed contacts act."""
        self.model, self.tolerances, self.t0, self.t1 = model, tolerances, t0, t1
        self.complementary = complementary
        self.space = contact_space(model)
        self.restitution, self.friction = model.contact_values()
        self.events: list[ContactEvent] = contact_events(model, complementary=complementary)
        self.edges = Edges(model, self.space, found=not complementary)
        self.impacts: list[Impact] = []
        self.rests: list[Rest] = []
        self._recent: deque[float] = deque(maxlen=AT_ONCE)
        self.flight = np.inf  # the shortest one that follows the last event
        self._hits: deque[tuple[float, str]] = deque(maxlen=CROWD)
        self._fastest = 0.0  # of all impacts

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
        self._must_not_penetrate(t, gaps, modes, scales, occasion)
        closed = [
            i for i in range(len(gaps)) if modes[i] != OPEN or i in happened.closing or gaps[i] <= 10 * scales.gap
        ]
        vectors = self._lifted(t, vectors, theta, [i for i in closed if modes[i] == OPEN], gaps, scales)
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
                new = self._cleared(new, decision, closed, scales)
                return replace(new, discrete=self.edges.released(new.discrete, decision.modes))
            self._continue(t, series, impacts)
            resting.add(series.contact)  # what remains of its rebounds is as if it had none
            vectors, _ = self._impact(t, before, theta, closed, modes, scales, resting)

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

    def _discrete(self, state: HybridState, name: str) -> float:
        return float(state.discrete[self.model.discrete_names.index(name)])

    def _must_not_penetrate(
        self, t: float, gaps: np.ndarray, modes: Mapping[int, float], scales: Scales, occasion: str
    ) -> None:
        if not np.isfinite(gaps).all():
            name = self.space.contacts[int(np.argmin(np.isfinite(gaps)))].name
            raise ContactError(f"the gap of contact '{name}' is not finite at t = {t:.9g}", name)
        allowed = self.tolerances.tightest[1] + 1e3 * scales.gap + scales.noise * 1e-3
        if not len(gaps):
            return
        deepest = min(range(len(gaps)), key=lambda i: gaps[i] if modes[i] == OPEN else np.inf)
        if occasion and modes[deepest] == OPEN and gaps[deepest] < -allowed:
            name = self.space.contacts[deepest].name
            raise PenetratingStart(
                f"contact '{name}' penetrates {occasion}: its gap is {gaps[deepest]:.6g} at t = {t:.9g}. Give "
                "positions in which no gap is negative",
                name,
            )

    def _lifted(
        self,
        t: float,
        vectors: dict[str, np.ndarray],
        theta: np.ndarray,
        which: Sequence[int],
        gaps: np.ndarray,
        scales: Scales,
    ) -> dict[str, np.ndarray]:
        """Positions out of contacts that were found later than they closed: a rebound from below zero has no end."""
        deep = [i for i in which if gaps[i] < -TOO_DEEP * scales.gap]
        return self._moved(t, vectors, theta, deep, -gaps[deep])

    def _cleared(self, state: HybridState, decision: Decision, closed: Sequence[int], scales: Scales) -> HybridState:
        """The state with gaps of zero where contacts open that hardly move: at the edge of their slack, rounding alone
        would be the next event."""
        which = [i for i in closed if not self.space.contacts[i].dry]
        if all(i in decision.modes for i in which):
            return state
        t, vectors, theta = state.t, state.vectors, self.model.theta(state.t, state.discrete)
        gaps = self.space.gaps(t, vectors, theta)[which]
        rates, dims = self.space.rates(t, vectors, theta, which), self.space.dims_of(which)
        slow = rates.gamma[np.cumsum(dims) - dims] <= scales.noise
        opens = slow & (gaps < -HALFWAY * scales.gap) & [i not in decision.modes for i in which]
        if not opens.any():
            return state
        return replace(state, vectors=self._moved(t, dict(vectors), theta, which, np.where(opens, -gaps, 0.0)))

    def _moved(
        self, t: float, vectors: dict[str, np.ndarray], theta: np.ndarray, which: Sequence[int], by: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Positions by which these gaps have changed so much, by a push along their normals."""
        if not len(which):
            return vectors
        rates, dims = self.space.rates(t, vectors, theta, which), self.space.dims_of(which)
        normal = np.cumsum(dims) - dims
        push = np.linalg.lstsq(rates.A[np.ix_(normal, normal)], by, rcond=None)[0]
        at_rest = {**vectors, "v": np.zeros_like(vectors["v"])}
        moved = {**vectors, "v": rates.answer[:, normal] @ push}
        way = self.edges.p_dot(t, moved, theta) - self.edges.p_dot(t, at_rest, theta)
        return {**vectors, "p": vectors["p"] + way}

    # -- impacts ---------------------------------------------------------------------------------------------------

    def _impact(
        self,
        t: float,
        vectors: dict[str, np.ndarray],
        theta: np.ndarray,
        closed: Sequence[int],
        modes: Mapping[int, float],
        scales: Scales,
        resting: Collection[int],
    ) -> tuple[dict[str, np.ndarray], list[Impact]]:
        """Vectors after an impact, if there is one; contacts that are `resting` do not rebound."""
        if not closed:
            return vectors, []
        space = self.space
        rates = space.rates(t, vectors, theta, closed)
        dims = space.dims_of(closed)
        normal = np.cumsum(dims) - dims
        before = rates.gamma
        # contacts that are in force already approach by what methods err only
        allowed = np.array([scales.speed if modes[i] == OPEN else scales.noise for i in closed])
        if not (before[normal] < -allowed).any():
            return vectors, []
        before = before.copy()
        before[normal[np.abs(before[normal]) <= allowed]] = 0.0
        e = np.where(np.isin(closed, list(resting)), 0.0, self.restitution[closed])
        found = resolve(rates.A, before, dims, self.friction[closed], e, self.model.impact)
        v = vectors["v"] + rates.drift + rates.answer @ found.impulse
        impacts, largest = [], np.abs(found.impulse).max(initial=0)
        for k, i in enumerate(closed):
            if found.impulse[normal[k]] > 1e-14 * largest:
                part = slice(normal[k], normal[k] + dims[k])
                rows = (rows[part].copy() for rows in (before, found.gamma_after, found.impulse))
                impacts.append(Impact(t, space.contacts[i].name, *rows, vectors["v"].copy(), v.copy()))
        return {**vectors, "v": v}, impacts

    def _backwards(self, t: float, vectors: Vectors, theta: np.ndarray, decision: Decision) -> float:
        """The largest speed of a contact in the plane against the direction in which it begins to slide: noise."""
        velocities = self.space.sliding(t, vectors, theta)
        against = (-float(velocities[i] @ d) for i, d in decision.slips.items() if self.space.contacts[i].dim == 2)
        return max((0.0, *against))

    def _restitutions(self, impacts: Sequence[Impact]) -> np.ndarray:
        """Of each contact, what an impact has left of it: with friction less, where else energy would be created."""
        numbers = {contact.name: contact.number for contact in self.space.contacts}
        used = self.restitution.copy()
        for hit in impacts:
            i = numbers[hit.contact]
            found = -hit.after[0] / hit.before[0] if hit.before[0] < 0 else 1.0
            if found < used[i] - UNUSED:  # what rounding makes of it does not count
                used[i] = max(found, 0.0)
        return used

    def _slowest(self, scales: Scales) -> float:
        """Rebounds that are slower come to rest. Where contacts accumulate together (a box that rocks on its corners)
        no series tells when, and what the tolerances do not tell from zero is no rebound."""
        if len(self._hits) < CROWD or len({name for _, name in self._hits}) < 2:
            return scales.speed
        if self._hits[-1][0] - self._hits[0][0] > CROWDED * abs(self.t1 - self.t0):
            return scales.speed
        rtol, atol = self.tolerances.tightest
        return max(scales.speed, 10 * (atol + rtol * self._fastest))

    def _rebounds(self, impacts: Sequence[Impact], resting: Collection[int], scales: Scales) -> dict[int, float]:
        """Contacts that leave after an impact, and their speeds."""
        numbers = {contact.name: contact.number for contact in self.space.contacts}
        speeds = {numbers[impact.contact]: float(impact.after[0]) for impact in impacts}
        return {i: speed for i, speed in speeds.items() if speed > scales.speed and i not in resting}

    def _continue(self, t: float, series: Series, impacts: Sequence[Impact]) -> None:
        """Take down all impacts of a series to come: copies of the first ones, ever smaller."""
        name = self.space.contacts[series.contact].name
        first = next(-impact.before[0] for impact in impacts if impact.contact == name)
        for when, speed in series.impacts(t):
            share = speed / first
            self.impacts += [
                Impact(when, one.contact, share * one.before, share * one.after, share * one.impulse) for one in impacts
            ]
        self.rests.append(Rest(t + series.lasts, name))

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
