"""The part of equations of motion that is about contacts: their rows among the constraints, forces, and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.model.base import Model
from dalembert.model.collisions import Collisions
from dalembert.model.contacts import (
    IMPACTS,
    NOTHING,
    Contact,
    Traced,
    contact_forces,
    contact_outputs,
    trace_contacts,
    trace_dry_friction,
    with_edges,
    with_rows,
)
from dalembert.model.edges import Edge
from dalembert.model.functions import ModelFunction
from dalembert.model.outputs import LazyOutputs


class Touching(Model):
    """Base of `EquationsOfMotion`."""

    contacts: tuple[Contact, ...] = ()
    dry: tuple[Contact, ...] = ()  # elements of dry friction
    edges: tuple[Edge, ...] = ()
    impact: str = "newton"
    collisions: Collisions | None = None

    @property
    def has_contacts(self) -> bool:
        """Whether there are contacts, or elements of dry friction."""
        return bool(self.contacts or self.dry)

    @property
    def bilateral(self) -> frozenset[str]:
        """Names of the constraints that are always in force: all but those of contacts."""
        of_contacts = {name for contact in self.contacts for name in (contact.name, *contact.stick_names)}
        of_contacts |= {name for element in self.dry for name in element.stick_names}
        return frozenset((*self.names("lam"), *self.names("mu"))) - of_contacts

    def contact_values(self) -> tuple[np.ndarray, np.ndarray]:
        """Restitution and friction of each contact, as numbers; of dry friction 0 and 1."""
        values = {name: float(value) for name, value in self.graph.parameters.items() if not value.ndim}
        every = (*self.contacts, *self.dry)
        pairs = [[values[x] if isinstance(x, str) else x for x in (c.restitution, c.friction)] for c in every]
        e, mu = np.array(pairs, float).reshape(-1, 2).T
        for numbers, most, what in ((e, 1.0, "restitution"), (mu, np.inf, "friction")):
            for contact in np.array(every, object)[~((numbers >= 0) & (numbers <= most))]:
                bound = "between 0 and 1" if what == "restitution" else "positive or zero"
                raise ModelError(
                    f"parameter '{getattr(contact, what)}' of model '{self.name}' is the {what} of contact "
                    f"'{contact.name}': it must be {bound}"
                )
        return e, mu

    def _trace_contacts(
        self,
        unilateral: Any,
        names: Any,
        restitution: Any,
        friction: Any,
        sliding: Any,
        edges: Any,
        impact: Any,
        faults: list[str],
    ) -> Traced | None:
        functions = self.graph.functions
        if impact not in IMPACTS:
            faults.append(f"impact={shown(impact)} must be one of {', '.join(map(repr, IMPACTS))}")
        if unilateral is None:
            others = {"contacts": names, "restitution": restitution, "friction": friction, "sliding": sliding}
            others["edges"] = edges
            faults.extend(
                f"{argument}= is given, but there are no contacts: unilateral= is missing"
                for argument, given in others.items()
                if given is not None
            )
            return None
        for role in ("holonomic", "nonholonomic"):
            if role in functions and not functions[role].traced:
                faults.append(f"unilateral= needs a {role}= that can be traced, too")
                return None
        first = tuple(functions[role].shape[0] if role in functions else 0 for role in ("holonomic", "nonholonomic"))
        traced = trace_contacts(self, unilateral, names, restitution, friction, sliding, first, faults)
        if traced is not None:
            traced = with_edges(self, traced, edges, faults)
            self.contacts, self.edges, self.impact = traced.contacts, traced.edges, impact
        return traced

    def _trace_dry_friction(self, given: Any, traced: Traced | None, faults: list[str]) -> Traced | None:
        if given is None:
            return traced
        function = self.graph.functions.get("nonholonomic")
        if function is not None and not function.traced:
            faults.append("dry_friction= needs a nonholonomic= that can be traced, too")
            return traced
        known = traced or NOTHING
        first = (function.shape[0] if function is not None else 0) + known.stick_rows.numel()
        found = trace_dry_friction(self, given, known, first, faults)
        self.dry = found.dry
        return found if found.every else None

    def _add_rows(self, traced: Traced, faults: list[str]) -> Traced:
        """The rows of contacts among the constraints, and their discrete variables."""
        graph = self.graph
        taken = {*(n for names in graph.vectors.values() for n in names), *graph.other_names()}
        for name in sorted(taken & set(traced.discrete())):
            faults.append(f"the name '{name}' is taken by a discrete variable of a contact; rename it or the contact")
        graph.add_discrete(traced.discrete())
        if traced.dry:
            graph.functions["bound"] = ModelFunction("bound", (len(traced.dry), 1), 1, ca.densify(traced.bounds))
        traced = traced.in_symbols_of(dict(zip(graph.discrete, ca.vertsplit(graph.discrete_symbols), strict=True)))
        if traced.edges:
            graph.functions["edges"] = with_rows(None, "edges", traced.switching)
        for role, rows in (("holonomic", traced.gaps), ("nonholonomic", traced.stick_rows)):
            if rows.numel():
                graph.functions[role] = with_rows(graph.functions.get(role), role, -rows)
        return traced

    def _add_forces(self, traced: Traced, outputs: Any, faults: list[str]) -> Any:
        """The forces of contacts that no multiplier has; returns the outputs, with those of contacts."""
        force = self.graph.functions.get("force")
        if force is not None:
            if not force.traced:
                faults.append("contacts and dry friction need a force= that can be traced, too")
                return outputs
            more = ca.densify(contact_forces(self, traced))
            self.graph.functions["force"] = replace(force, sx=force.sx + more)
        if isinstance(outputs, LazyOutputs) or not isinstance(outputs, Mapping | None):
            return outputs
        return {**contact_outputs(self, traced), **(outputs or {})}

    def _set_collisions(self, given: Any, faults: list[str]) -> None:
        if given is None:
            return
        if not isinstance(given, Collisions):
            faults.append(f"collisions={shown(given)} must be Collisions(...), or use Multibody.collide")
            return
        widths = {"p": 3, "v": 3} if given.planar else {"p": 7, "v": 6}
        for kind, at in (("p", given.p_at), ("v", given.v_at)):
            n = self.graph.size(kind)
            outside = np.flatnonzero((at < 0) | (at + widths[kind] > n))
            if len(outside):
                faults.append(
                    f"collisions=: {kind}_at={at[outside[0]]} of '{given.names[outside[0]]}': {widths[kind]} entries "
                    f"from there on do not fit into the {n} of {kind}"
                )
            if len(np.unique((at[:, None] + np.arange(widths[kind])).ravel())) != at.size * widths[kind]:
                faults.append(f"collisions=: {kind}_at= gives two bodies the same entries of {kind}")
        self.collisions = given
