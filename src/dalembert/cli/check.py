"""`dalembert check`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.app import app
from dalembert.cli.shown import new_console, new_table, row
from dalembert.cli.subjects import loaded
from dalembert.errors import UntraceableWarning

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.model import Model


@app.command()
def check(
    model: Annotated[str, typer.Argument(help="path/to/file.py:model (or a function that returns it), or a problem.")],
) -> None:
    """Build a model and say what it consists of; if there are start values, also make them consistent."""
    from dalembert.model import Model
    from dalembert.model.vocabulary import VOCABULARY
    from dalembert.problems import Problem

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntraceableWarning)  # the table below says it
        subject = loaded(model, (Problem, Model))
    built = subject.model if isinstance(subject, Problem) else subject
    console = new_console()
    console.print(repr(built), markup=False, highlight=False, soft_wrap=True)
    table = new_table("", ">count", "names")
    for kind in built.state_kinds:
        names = [name for name in built.names(kind) if name not in _of_contacts(built)]
        if names:
            row(table, VOCABULARY[kind].title, str(len(names)), ", ".join(names))
    if built.has_contacts and built.contacts:
        row(table, "contacts", str(len(built.contacts)), ", ".join(contact.name for contact in built.contacts))
    if built.has_contacts and built.dry:
        row(table, "dry friction", str(len(built.dry)), ", ".join(element.name for element in built.dry))
    modes = [name for name in built.discrete if name not in _of_contacts(built)]
    others = (("parameters", built.parameters), ("discrete variables", modes), ("inputs", built.inputs))
    for noun, names in (*others, ("outputs", built.outputs.names)):
        if names:
            row(table, noun, str(len(names)), ", ".join(names))
    if built.mechanical:
        from dalembert.regularize import hidden_constraints

        hidden = hidden_constraints(built)
        row(table, "hidden constraints", str(hidden.g_I.numel()), "holonomic, on velocity level")
        row(table, "", str(hidden.g_II.numel()), "holonomic, on acceleration level")
        row(table, "", str(hidden.h_I.numel()), "nonholonomic, on acceleration level")
    else:
        rows = built.n_differential + built.n_constraints
        row(table, "equations", str(rows), "")
        _structure_rows(table, built)
    console.print(table)
    if built.untraceable:
        console.print("Functions that cannot be traced; they run as Python code with finite differences:")
        for role, reason in built.untraceable.items():
            console.print(f"  {role}: {reason}", markup=False, highlight=False, soft_wrap=True)
    else:
        console.print("All functions are traced.")
    if isinstance(subject, Problem) or built.start:
        console.print(_start_values(built, subject.start() if isinstance(subject, Problem) else built.start))


def _of_contacts(model: Model) -> set[str]:
    """Names of multipliers and discrete variables that belong to contacts."""
    if not model.has_contacts:
        return set()
    from dalembert.model.contacts import SLACKS

    every = (*model.contacts, *model.dry)
    own = (name for contact in every for name in (contact.name, *contact.stick_names, *contact.discrete))
    return {*own, *SLACKS}


def _structure_rows(table: Table, model: Model) -> None:
    """What structural analysis tells of a DAE; nothing if its functions run as Python code."""
    from dalembert.regularize.structure import listed

    structure = model.structure
    if structure is None:
        return
    row(table, "index", str(structure.index), "")
    row(table, "degrees of freedom", str(structure.degrees_of_freedom), "")
    for count, names in structure.differentiated.items():
        times = {1: "once", 2: "twice"}.get(count, f"{count} times")
        row(table, f"differentiated {times}", str(len(names)), listed(names))
    if structure.eliminated:
        row(table, "eliminated", str(len(structure.eliminated)), listed([str(own) for own in structure.eliminated]))
    blocks = structure.blocks
    largest = max(blocks, key=lambda block: len(block[0]))[1]
    names = listed([structure.variables[j] for j in sorted(largest)])
    row(table, "blocks", str(len(blocks)), f"the largest one has {len(largest)}: {names}" if len(largest) > 1 else "")


def _start_values(model: Model, given: Mapping[str, Any]) -> Table:
    from dalembert.regularize import consistent_initial_values

    start = consistent_initial_values(model, 0.0, **given)
    table = new_table("start values", ">given", ">consistent")
    for kind in model.state_kinds:
        names, old = model.names(kind), given.get(f"{kind}0", {})
        old = old if isinstance(old, Mapping) else dict(zip(names, old, strict=True))
        for i, name in enumerate(names):
            row(table, name, f"{old[name]:.10g}" if name in old else "", f"{start.values[kind][i]:.10g}")
    return table
