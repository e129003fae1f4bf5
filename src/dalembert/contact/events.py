"""The events of contacts: when gaps close, when forces vanish, when sliding begins and ends.

Which of them count depends on the mode of a contact, a discrete variable: the others are constant. Values may fall
below zero by a slack that nobody notices, so that a contact which is just closed or just loaded has a sign, and one
that slips below zero from there is noticed, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import casadi as ca

from dalembert.contact.edges import event_of
from dalembert.model import Model
from dalembert.model.contacts import CLOSED, OPEN, SLACKS, SLIDING, TINY, Contact, friction_of, normal_force
from dalembert.model.event import Event
from dalembert.model.expression import scalar

#: points of a step at which event functions are looked at: gaps may close and open again within a step
POINTS = 10
#: slack of contacts that others imply, as a multiple: they have no rows of their own, and drift with the method
LOOSE = 1e3


class Change(StrEnum):
    """What happens to a contact."""

    CLOSES = "closes"
    OPENS = "opens"
    SLIPS = "begins to slide"
    STOPS = "ends to slide"
    CROSSES = "passes an edge"
    LEAVES = "has opened"


@dataclass(frozen=True)
class ContactEvent:
    """An event of the driver, and what it means."""

    contact: int
    change: Change
    event: Event
    edge: int = -1


def contact_events(model: Model, *, complementary: bool = False) -> list[ContactEvent]:
    """All events of a model's contacts; `complementary`: for methods that let contacts open within their steps."""
    graph = model.graph
    discrete = dict(zip(graph.discrete, ca.vertsplit(graph.discrete_symbols), strict=True))
    gap_slack, force_slack, speed_slack = (discrete[name] for name in SLACKS)
    gaps = -graph.value("holonomic") if model.contacts else ca.SX(0, 1)
    events = []
    for contact in (*model.contacts, *model.dry):
        mode, normal, functions = discrete[contact.mode], normal_force(model, contact), {}
        if not contact.dry:
            gap, implied = gaps[contact.normal], discrete[contact.implied]
            slack = ca.if_else(implied, LOOSE * gap_slack, gap_slack)
            held = ca.logic_and(mode != OPEN, ca.logic_not(implied))
            functions = {
                Change.CLOSES: ca.if_else(ca.logic_or(mode == OPEN, implied), gap + slack, 1),
                Change.OPENS: ca.if_else(held, normal + force_slack, 1),
            }
            if complementary:  # forces that vanish are the method's own affair
                del functions[Change.OPENS]
                functions[Change.LEAVES] = ca.if_else(mode != OPEN, LOOSE * gap_slack - gap, 1)
        if contact.stick:
            grips = ca.vertcat(*(discrete[name] for name in contact.grips))
            room = friction_of(model, contact) * normal - _length(graph.symbol["mu"][list(contact.stick)] + grips)
            functions[Change.SLIPS] = ca.if_else(mode == CLOSED, room + force_slack, 1)
            functions[Change.STOPS] = ca.if_else(mode == SLIDING, _speed(model, contact, discrete, speed_slack), 1)
        for change, function in functions.items():
            name = f"contact '{contact.name}' {change}"
            events.append(ContactEvent(contact.number, change, _event(function, name)))
    return events if complementary else events + _edge_events(model, discrete)


def _edge_events(model: Model, discrete: dict[str, ca.SX]) -> list[ContactEvent]:
    events = []
    for edge in model.edges:
        function = event_of(edge, model.graph.value("edges")[edge.number], discrete)
        name = f"contact '{model.contacts[edge.contacts[0]].name}' {Change.CROSSES}"
        events.append(ContactEvent(edge.contacts[0], Change.CROSSES, _event(function, name), edge.number))
    return events


def _event(function: ca.SX, name: str) -> Event:
    return Event(lambda s: scalar(function), direction=-1, name=name, check_points=POINTS)


def _length(vector: ca.SX) -> ca.SX:
    return ca.fabs(vector) if vector.numel() == 1 else ca.sqrt(ca.sumsqr(vector))


def _speed(model: Model, contact: Contact, discrete: dict[str, ca.SX], slack: ca.SX) -> ca.SX:
    """The speed in the direction that the contact had at the last event, d; in space d·v − |v|/2.

    That vanishes where sliding ends, and where its direction has turned by 60°, which asks for a new d: forces jump
    where it has turned by 90° (`direction`), and no step that leads beyond the event shall see that.
    """
    velocity = -model.graph.value("nonholonomic")[list(contact.stick)]
    slips = ca.vertcat(*(discrete[name] for name in contact.slips))
    if contact.dim == 2:
        return velocity * slips + slack
    moved = velocity + slips
    return ca.dot(moved, slips) / ca.sqrt(ca.sumsqr(slips) + TINY) - 0.5 * _length(moved)
