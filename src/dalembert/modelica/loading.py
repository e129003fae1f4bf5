"""From Modelica text to a model that can be simulated, and to others with other values of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dalembert.errors import ModelError, ModelicaError
from dalembert.model.dae import DAE
from dalembert.model.symbolic import build
from dalembert.modelica.flat import FlatModel, FlatVariable
from dalembert.modelica.flattener import flatten_class
from dalembert.modelica.flattener import load as load_library
from dalembert.modelica.lower.translate import Translation
from dalembert.modelica.parser import collector_paused, room_for_depth
from dalembert.modelica.source import Source
from dalembert.modelica.tree import Literal

#: the class by which others are changed
_CHANGED = "ChangedClass"


@dataclass(frozen=True)
class Recipe:
    """What a model was loaded from.

    Values of parameters on which sizes, the choice of equations or the contents of tables depend are part of the
    translation: `made` has others made from the same text.
    """

    model: str | Path
    class_name: str | None
    path: tuple[str | Path, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    part_of_it: frozenset[str] = frozenset()  # parameters that need another translation
    values: Mapping[str, float] = field(default_factory=dict)  # of all others, as they were
    divisors: frozenset[str] = frozenset()  # those that must not become zero

    def needs(self, parameters: Mapping[str, Any]) -> bool:
        """Whether these values need another translation."""
        return any(
            name in self.part_of_it or name not in self.values or (name in self.divisors and is_zero(value))
            for name, value in parameters.items()
        )

    def other(self, model: DAE, parameters: Mapping[str, Any]) -> DAE:
        """The same class with other values of parameters; those that the model has by now stay."""
        now = {name: float(value) for name, value in model.graph.parameters.items()}
        changed = {name: value for name, value in now.items() if value != self.values.get(name)}
        return load(self.model, self.class_name, self.path, {**self.parameters, **changed, **parameters})


def load(
    model: str | Path,
    class_name: str | None = None,
    path: Iterable[str | Path] = (),
    parameters: Mapping[str, Any] | None = None,
) -> DAE:
    """See `dalembert.modelica.load`."""
    path, given = tuple(path), dict(parameters or {})
    library, name = load_library(model, class_name, path)
    flat = flatten_class(library, name)
    structural = {key: value for key, value in given.items() if _is_structural(flat, key)}
    if structural:
        flat = _modified(library, flat, structural)
    with room_for_depth(), collector_paused():
        translation = Translation(flat, {key: value for key, value in given.items() if key not in structural})
        dae = translation.run()
    try:
        found = build(dae)
    except ModelError as reason:
        definition = library.find(name)
        raise definition.source.error(str(reason), definition.node.at) from None
    found.notes = (*flat.notes, *translation.calls.notes)
    found.units = {name: unit for name, variable in flat.variables.items() if (unit := _unit(variable))}
    found.comments = {name: variable.comment for name, variable in flat.variables.items() if variable.comment}
    found.recipe = Recipe(
        model, class_name, path, given, frozenset(translation.context.folded), dict(dae.symbols.parameter_values),
        frozenset(factor.name() for factor, _ in translation.elimination.divisors if factor.is_symbolic()),
    )  # fmt: skip
    return found


def _unit(variable: FlatVariable) -> str:
    """Empty if there is none that can be told without values of parameters."""
    unit = variable.attributes.get("unit")
    return unit.value if isinstance(unit, Literal) and isinstance(unit.value, str) else ""


def is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0


def _is_structural(flat: FlatModel, name: str) -> bool:
    variable = flat.variables.get(name)
    return variable is not None and variable.structural and variable.variability == "parameter"


def _modified(library: Any, flat: FlatModel, values: Mapping[str, Any]) -> FlatModel:
    """The flat model of a class with other values of parameters, written as a modification."""
    parts = []
    for name, value in values.items():
        if "[" in name:
            raise ModelicaError(
                f"`{name}` is an element of an array on which the structure depends: its value cannot be given",
                suggestion="Write a class that extends this one and modifies the array",
            )
        variable = flat.variables[name]
        if variable.final:
            raise ModelicaError(f"`{name}` is final; its value follows from others")
        *outer, last = name.split(".")
        text = f"{last} = {_literal(value, variable.type, name)}"
        for one in reversed(outer):
            text = f"{one}({text})"
        parts.append(text)
    name = _CHANGED
    while library.top(name) is not None:
        name += "_"
    library.add(Source(f"model {name} extends {flat.name}({', '.join(parts)}); end {name};", "parameters="))
    changed = flatten_class(library, name)
    changed.name, changed.experiment = flat.name, flat.experiment
    return changed


def _literal(value: Any, kind: Any, name: str) -> str:
    """A value as Modelica text."""
    if isinstance(value, bool) or (kind == "Boolean" and value in (0, 1)):
        return "true" if value else "false"
    if isinstance(value, str) and hasattr(kind, "literals"):
        literal = value.rsplit(".", 1)[-1]
        if literal in kind.literals:
            return f"{kind.name}.{literal}"
        raise ModelicaError(f"{name} = {value!r} is not one of {', '.join(kind.literals)}")
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, int | float):
        if hasattr(kind, "literals") and isinstance(value, int) and 1 <= value <= len(kind.literals):
            return f"{kind.name}.{kind.literals[value - 1]}"
        if kind == "Integer" and float(value).is_integer():
            return str(int(value))
        return repr(float(value)) if kind == "Real" else repr(value)
    raise ModelicaError(f"{name} = {value!r} is not of type {kind}")
