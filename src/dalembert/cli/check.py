"""`dalembert check`."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.app import app
from dalembert.cli.options import ClassName, SearchPath, Settings, SubjectText, settings_of
from dalembert.cli.results import chosen_names
from dalembert.cli.shown import new_console, new_table, row
from dalembert.cli.subjects import is_modelica, loaded, modelica_source
from dalembert.errors import UntraceableWarning

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.model import Model

#: names and values that are listed of one kind
MOST_NAMES = 40


@app.command()
def check(model: SubjectText, class_name: ClassName = None, path: SearchPath = None, settings: Settings = None) -> None:
    """Build a model and say what it consists of; if there are start values, also make them consistent.

    dalembert check file.py:model

    dalembert check Modelica.Electrical.Analog.Examples.ChuaCircuit
    """
    from dalembert.model import Model
    from dalembert.problems import Problem

    if is_modelica(model) or class_name is not None or path:
        built = _check_modelica(model, class_name, path, settings_of(settings))
        _show(built, built.start)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntraceableWarning)  # the table below says it
        subject = loaded(model, (Problem, Model))
    built = (subject.model if isinstance(subject, Problem) else subject).replace(settings_of(settings))
    _show(built, subject.start() if isinstance(subject, Problem) else built.start)


def _check_modelica(text: str, class_name: str | None, path: Sequence[Path] | None, parameters: Mapping) -> Model:
    """Say what the flat model has, then translate it."""
    from dalembert import modelica

    source = modelica_source(text)
    flat = modelica.flatten(source, class_name, path=path or ())
    console, table = new_console(), new_table("", ">count")
    table.title, table.title_justify = f"flat model {flat.name}", "left"
    kinds = Counter(variable.variability for variable in flat.variables.values())
    for kind in ("constant", "parameter", "discrete", "continuous"):
        if kinds[kind]:
            row(table, f"{kind} variables", str(kinds[kind]))
    inputs = sum(variable.causality == "input" for variable in flat.variables.values())
    counts = {
        "inputs": inputs,
        "unknowns": len(flat.unknowns()),
        "equations": flat.equation_count(),
        "initial equations": len(flat.initial_equations),
        "when-clauses": len(flat.whens),
        "algorithms": len(flat.algorithms),
        "assertions": len(flat.asserts),
        "functions": len(flat.functions),
    }
    for what, count in counts.items():
        if count:
            row(table, what, str(count))
    console.print(table)
    for note in flat.notes:
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    return modelica.load(source, class_name, path=path or (), parameters=parameters)


def _show(built: Model, start: Mapping[str, Any]) -> None:
    """What a model consists of, and its start values."""
    from dalembert.model.vocabulary import VOCABULARY
    from dalembert.regularize.structure import listed

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
    if built.hybrid is not None:
        modes = [name for name in chosen_names(built, None) if name in modes]  # without truth values of relations
    others = (("parameters", built.parameters), ("discrete variables", modes), ("inputs", built.inputs))
    for noun, names in (*others, ("outputs", built.outputs.names)):
        if names:
            row(table, noun, str(len(names)), listed(list(names), most=MOST_NAMES))
    _event_rows(table, built)
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
    if start or built.beginning is not None:
        console.print(_start_values(built, start))


def _of_contacts(model: Model) -> set[str]:
    """Names of multipliers and discrete variables that belong to contacts."""
    if not model.has_contacts:
        return set()
    from dalembert.model.contacts import SLACKS

    every = (*model.contacts, *model.dry)
    own = (name for contact in every for name in (contact.name, *contact.stick_names, *contact.discrete))
    return {*own, *SLACKS}


def _event_rows(table: Table, model: Model) -> None:
    """What makes events of a hybrid model."""
    from dalembert.regularize.structure import listed

    hybrid = model.hybrid
    if hybrid is None:
        return
    kinds = {
        "events by relations": hybrid.relations,
        "clocks": hybrid.samples,
        "assignments at events": hybrid.assignments,
        "restarts (reinit)": hybrid.reinits,
        "assertions": [claim for claim in hybrid.claims if not claim.ends],
        "ends (terminate)": [claim for claim in hybrid.claims if claim.ends],
    }
    for what, own in kinds.items():
        if own:
            row(table, what, str(len(own)), listed([each.name for each in own], most=MOST_NAMES))


def _structure_rows(table: Table, model: Model) -> None:
    """What structural analysis tells of a DAE; nothing if its functions run as Python code."""
    from dalembert.regularize.structure import listed

    structure = model.structure
    if structure is None:
        return
    row(table, "index", str(structure.index), "")
    row(table, "degrees of freedom", str(structure.degrees_of_freedom), "")
    if model.hidden == "auto" and structure.hides:
        hidden = model.hidden_constraints()
        names = [name for level in hidden.levels for name, added in zip(level.names, level.added, strict=True) if added]
        row(table, "hidden constraints", str(len(names)), listed(names))
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

    own = {} if model.beginning is not None else given  # which is more than values: some are fixed, others guesses
    start = consistent_initial_values(model, 0.0 if model.t_span is None else model.t_span[0], **own)
    table = new_table("start values", ">given", ">consistent")
    for kind in model.state_kinds:
        names, old = model.names(kind), given.get(f"{kind}0", {})
        old = old if isinstance(old, Mapping) else dict(zip(names, old, strict=True))
        for i, name in enumerate(names[:MOST_NAMES]):
            row(table, name, f"{old[name]:.10g}" if name in old else "", f"{start.values[kind][i]:.10g}")
        if len(names) > MOST_NAMES:
            row(table, f"… and {len(names) - MOST_NAMES} more", "", "")
    return table
