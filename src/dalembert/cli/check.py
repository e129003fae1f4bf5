"""`dalembert check`: what a model consists of, first as data, then as tables."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.cli.answer import Answer
from dalembert.cli.app import command
from dalembert.cli.options import Json, Which
from dalembert.cli.results import variable_names
from dalembert.cli.shown import line, new_table, row
from dalembert.cli.subjects import is_modelica_class, modelica_source, subject_of
from dalembert.errors import UntraceableWarning

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dalembert.cli.subjects import Subject
    from dalembert.model import Model

#: names and values that are listed of one kind
MOST_NAMES = 40


@command(
    examples=(
        "dalembert check mine.py:rod",
        "dalembert check Pendulum.mo --set L=2",
        "dalembert check arm.urdf --coordinates absolute --json",
    )
)
def check(which: Which, json: Json = False) -> Answer:
    """Build a model and say what it consists of; if there are start values, also make them consistent."""
    flat = _flat(which) if is_modelica_class(which) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntraceableWarning)  # the table says it
        subject = subject_of(which)
        model = subject.model
        facts = {
            "model": model.name, "title": subject.title, "kind": type(model).__name__, "text": repr(model),
            "flat": flat,
            "variables": _variables(model), "parameters": model.parameters, "inputs": list(model.inputs),
            "outputs": list(model.outputs.names), "events": _events(model), "hidden": _hidden(model),
            "structure": _structure(model), "untraceable": dict(model.untraceable), "start": _start(subject),
        }  # fmt: skip
    return Answer(facts, lambda console: _show(console, facts))


# -- what there is -----------------------------------------------------------------------------------------------------


def _flat(which: Which) -> dict[str, Any]:
    """Of a Modelica class, before it is translated."""
    from dalembert import modelica

    flat = modelica.flatten(modelica_source(which.model), which.class_name, path=which.path or ())
    kinds = Counter(variable.variability for variable in flat.variables.values())
    counts = {f"{kind} variables": kinds[kind] for kind in ("constant", "parameter", "discrete", "continuous")}
    counts |= {
        "inputs": sum(variable.causality == "input" for variable in flat.variables.values()),
        "unknowns": len(flat.unknowns()), "equations": flat.equation_count(),
        "initial equations": len(flat.initial_equations), "when-clauses": len(flat.whens),
        "algorithms": len(flat.algorithms), "assertions": len(flat.asserts), "functions": len(flat.functions),
    }  # fmt: skip
    return {"class": flat.name, "counts": {what: n for what, n in counts.items() if n}, "notes": list(flat.notes)}


def _variables(model: Model) -> dict[str, list[str]]:
    """Names by kind; those of contacts and of truth values are called by what they belong to."""
    own = _of_contacts(model)
    found = {kind: [name for name in model.names(kind) if name not in own] for kind in model.state_kinds}
    if model.has_contacts:
        found["contacts"] = [contact.name for contact in model.contacts]
        found["dry"] = [element.name for element in model.dry]
    found["discrete"] = [name for name in variable_names(model) if name in model.discrete and name not in own]
    return {kind: names for kind, names in found.items() if names}


def _of_contacts(model: Model) -> set[str]:
    """Names of multipliers and discrete variables that belong to contacts."""
    if not model.has_contacts:
        return set()
    from dalembert.model.contacts import SLACKS

    every = (*model.contacts, *model.dry)
    own = (name for contact in every for name in (contact.name, *contact.stick_names, *contact.discrete))
    return {*own, *SLACKS}


def _events(model: Model) -> dict[str, list[str]]:
    """What makes events of a hybrid model."""
    hybrid = model.hybrid
    if hybrid is None:
        return {}
    kinds = {
        "events by relations": hybrid.relations,
        "clocks": hybrid.samples,
        "assignments at events": hybrid.assignments,
        "restarts (reinit)": hybrid.reinits,
        "assertions": [claim for claim in hybrid.claims if not claim.ends],
        "ends (terminate)": [claim for claim in hybrid.claims if claim.ends],
    }
    return {what: [each.name for each in own] for what, own in kinds.items() if own}


def _hidden(model: Model) -> dict[str, int] | None:
    """How many constraints follow from those of a mechanical model."""
    if not model.mechanical:
        return None
    from dalembert.regularize import hidden_constraints

    hidden = hidden_constraints(model)
    return {
        "holonomic, on velocity level": hidden.g_I.numel(),
        "holonomic, on acceleration level": hidden.g_II.numel(),
        "nonholonomic, on acceleration level": hidden.h_I.numel(),
    }


def _structure(model: Model) -> dict[str, Any] | None:
    """What structural analysis tells of a DAE; None if its functions run as Python code, or if it is mechanical."""
    if model.mechanical:
        return None
    known = {"equations": model.n_differential + model.n_constraints}
    structure = model.structure
    if structure is None:
        return known
    hidden: list[str] = []
    if model.hidden == "auto" and structure.hides:
        levels = model.hidden_constraints().levels
        hidden = [n for level in levels for n, added in zip(level.names, level.added, strict=True) if added]
    largest = max(structure.blocks, key=lambda block: len(block[0]))[1]
    return {
        **known, "index": structure.index, "degrees of freedom": structure.degrees_of_freedom, "hidden": hidden,
        "differentiated": {str(count): list(names) for count, names in structure.differentiated.items()},
        "eliminated": [str(own) for own in structure.eliminated], "blocks": len(structure.blocks),
        "largest block": [structure.variables[j] for j in sorted(largest)],
    }  # fmt: skip


def _start(subject: Subject) -> dict[str, dict[str, float | None]] | None:
    """Values as they were given, and made consistent; None if there are none."""
    model = subject.model
    given = subject.start or model.start
    if not given and model.beginning is None:
        return None
    from dalembert.regularize import consistent_initial_values

    own = {} if model.beginning is not None else {name: v for name, v in given.items() if name != "discrete"}
    start = consistent_initial_values(model, 0.0 if model.t_span is None else model.t_span[0], **own)
    found: dict[str, dict[str, float | None]] = {}
    for kind in model.state_kinds:
        names, old = model.names(kind), given.get(f"{kind}0", {})
        old = old if isinstance(old, Mapping) else dict(zip(names, old, strict=True))
        for name, value in zip(names, start.values[kind], strict=True):
            found[name] = {"given": float(old[name]) if name in old else None, "consistent": float(value)}
    return found


# -- what is shown -----------------------------------------------------------------------------------------------------


def _show(console: Console, facts: Mapping[str, Any]) -> None:
    if facts["flat"] is not None:
        console.print(_flat_table(facts["flat"]))
        for note in facts["flat"]["notes"]:
            line(console, f"note: {note}")
    line(console, facts["text"])
    console.print(_parts_table(facts))
    if facts["untraceable"]:
        line(console, "Functions that cannot be traced; they run as Python code with finite differences:")
        for role, reason in facts["untraceable"].items():
            line(console, f"  {role}: {reason}")
    else:
        line(console, "All functions are traced.")
    if facts["start"] is not None:
        console.print(_start_table(facts["start"], facts["variables"]))


def _flat_table(flat: Mapping[str, Any]) -> Table:
    table = new_table("", ">count")
    table.title, table.title_justify = f"flat model {flat['class']}", "left"
    for what, count in flat["counts"].items():
        row(table, what, str(count))
    return table


def _parts_table(facts: Mapping[str, Any]) -> Table:
    from dalembert.model.vocabulary import VOCABULARY
    from dalembert.regularize.structure import listed

    table = new_table("", ">count", "names")

    def rows(what: str, names: Any, most: int | None = MOST_NAMES) -> None:
        if names:
            names = list(names)
            row(table, what, str(len(names)), ", ".join(names) if most is None else listed(names, most=most))

    others = {"contacts": "contacts", "dry": "dry friction", "discrete": "discrete variables"}
    for kind, names in facts["variables"].items():
        rows(others.get(kind) or VOCABULARY[kind].title, names, None if kind in VOCABULARY else MOST_NAMES)
    for noun in ("parameters", "inputs", "outputs"):
        rows(noun, facts[noun])
    for what, names in facts["events"].items():
        rows(what, names)
    for i, (where, count) in enumerate((facts["hidden"] or {}).items()):
        row(table, "" if i else "hidden constraints", str(count), where)
    structure = facts["structure"]
    if structure is None:
        return table
    row(table, "equations", str(structure["equations"]), "")
    if "index" not in structure:
        return table
    row(table, "index", str(structure["index"]), "")
    row(table, "degrees of freedom", str(structure["degrees of freedom"]), "")
    rows("hidden constraints", structure["hidden"])
    for count, names in structure["differentiated"].items():
        rows(f"differentiated {({'1': 'once', '2': 'twice'}).get(count, f'{count} times')}", names)
    rows("eliminated", structure["eliminated"])
    largest = structure["largest block"]
    words = f"the largest one has {len(largest)}: {listed(largest)}" if len(largest) > 1 else ""
    row(table, "blocks", str(structure["blocks"]), words)
    return table


def _start_table(start: Mapping[str, Mapping[str, float | None]], variables: Mapping[str, Any]) -> Table:
    table = new_table("start values", ">given", ">consistent")
    for kind, names in variables.items():
        own = [name for name in names if name in start and kind not in ("contacts", "dry", "discrete")]
        for name in own[:MOST_NAMES]:
            given = start[name]["given"]
            row(table, name, "" if given is None else f"{given:.10g}", f"{start[name]['consistent']:.10g}")
        if len(own) > MOST_NAMES:
            row(table, f"… and {len(own) - MOST_NAMES} more", "", "")
    return table
