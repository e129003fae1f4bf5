"""Instances to a flat model: variables with their attributes, equations of all parts, connections."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dalembert.checks import shown
from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.behaviour import Behaviour
from dalembert.modelica.components import Absent, Instance, InstanceArray, Variable
from dalembert.modelica.expandable import EXPANDABLE
from dalembert.modelica.flat import FlatEquation, FlatModel, FlatVariable, Origin, names_in
from dalembert.modelica.library import Definition, Library, split_name
from dalembert.modelica.overconstrained import asks
from dalembert.modelica.parser import room_for_depth
from dalembert.modelica.scopes import Klass, Part, Scope, World
from dalembert.modelica.source import Source
from dalembert.modelica.values import AT, Arr, EnumType, as_tree, is_known

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
MOST_SCALARS = 200_000
_EXPERIMENT = ("StartTime", "StopTime", "Tolerance", "Interval")


def load(model: str | Path, class_name: str | None = None, path: Iterable[str | Path] = ()) -> tuple[Library, str]:
    """A library that knows a model, and the model's full name; see `dalembert.modelica.flatten`."""
    library = Library(path)
    if not isinstance(model, str | Path):
        raise ModelicaError(f"a path, a text or the name of a class was expected, not {shown(model)}")
    if not isinstance(class_name, str | None) or class_name == "":
        raise ModelicaError(f"class_name={shown(class_name)} should be the name of a class")
    if isinstance(model, str) and _NAME.fullmatch(model) and not os.path.exists(model):
        names = [model]
        library.find(model)
    elif isinstance(model, Path) or _is_path(model):
        names = library.add_path(Path(model))
    else:
        names = library.add(Source(model))
    if class_name is None:
        class_name = _last_model(library, names)
    elif library.top(split_name(class_name)[0]) is None and len(names) == 1:
        class_name = f"{names[0]}.{class_name}"
    library.find(class_name)
    return library, class_name


def _is_path(model: str) -> bool:
    """Whether a string is meant as a path: Modelica text has spaces, and ends with a semicolon."""
    if len(model) > 4096 or "\n" in model or "\0" in model or model.rstrip().endswith(";"):
        return False
    return model.endswith(".mo") or os.path.isdir(model)


def _last_model(library: Library, names: list[str]) -> str:
    """The last class that can be simulated; within a single package, the last in there."""
    for name in reversed(names):
        definition = library.find(name)
        if definition.node.kind in ("model", "block", "class"):
            return name
    if len(names) == 1:
        package = library.find(names[0])
        for name in reversed(package.class_names()):
            inner = package.nested(name)
            if inner.node.kind in ("model", "block", "class") and "partial" not in inner.node.prefixes:
                return inner.name
    shown_names = ", ".join(names) or "nothing"
    path = library.find(names[0]).source.path if names else None
    raise ModelicaError(
        f"there is no model in the text, which defines {shown_names}", path, 1, 1, suggestion="Name one: class_name="
    )


def flatten_class(library: Library, name: str) -> FlatModel:
    """The flat model of a class.

    Examples
    --------
    >>> library = Library()
    >>> names = library.add(Source("model A parameter Real k=2; Real x(start=1); equation der(x)=-k*x; end A;"))
    >>> flat = flatten_class(library, "A")
    >>> flat.unknowns(), flat.equation_count()
    (['x'], 1)
    """
    from dalembert.modelica.balance import check_balance, check_parameters
    from dalembert.modelica.flat_functions import collect_functions
    from dalembert.modelica.types import check_types

    definition = library.find(name)
    if definition.node.kind in (
        "package",
        "function",
        "type",
        "connector",
        "expandable connector",
        "record",
        "operator",
    ):
        definition.fail(f"`{name}` is a {definition.node.kind}, and only models, blocks and classes are simulated",
                        definition.node.at)  # fmt: skip
    if "partial" in definition.node.prefixes:
        definition.fail(
            f"`{name}` is partial and cannot be simulated", definition.node.at, "Extend it by what is missing"
        )
    flattener = Flattener(library, definition)
    try:
        with room_for_depth():
            flat = flattener.run()
            collect_functions(flat, flattener.evaluator)
            check_parameters(flat)
            check_types(flat)
            check_balance(flat, definition)
    except RecursionError:
        definition.fail(f"`{name}` is nested too deeply", definition.node.at, "Divide its expressions into parts")
    return flat


class Flattener(Behaviour):
    """Walks through the instances of one model."""

    def __init__(self, library: Library, definition: Definition):
        self.world = World(library)
        super().__init__(self.world)
        self.definition = definition
        self.flat = FlatModel(definition.name, definition.node.comment)

    def run(self) -> FlatModel:
        around = self._around(self.definition)
        self.top = Instance(Klass(self.definition, around, {}), "", None, self.world, is_component=True)
        self.world.model = self.top.build()
        if self.top.builtin is not None:
            self.definition.fail(f"`{self.definition.name}` is a builtin type", self.definition.node.at)
        self.instance(self.top)
        done: set[str] = set()
        while waiting := [name for name in self.world.added if name not in done]:
            for name in waiting:
                done.add(name)
                self.flat.notes.append(f"`inner {self.world.added[name].klass.name} {name}` was added to the model")
                self.instance(self.world.added[name])
        self.connections.expand()
        self.answer_questions()
        self.buses()
        self.flat.equations += self.connections.equations()
        for variable in self.variables:
            self.finish(variable)
        self.flat.experiment = self.experiment()
        return self.flat

    def _around(self, definition: Definition) -> Part:
        """The part around a class, from the top."""
        names = split_name(definition.name)
        if len(names) == 1:
            return self.world.root
        klass = self.world.top(names[0])
        for name in names[1:-1]:
            klass = klass.scope().member(name).klass()
        return klass.scope().part

    # -- components ----------------------------------------------------------------------------------------------

    def instance(self, instance: Instance) -> None:
        for name in instance.component_names():
            entry = instance.entries[name]
            if "outer" in entry.node.prefixes and "inner" not in entry.node.prefixes:
                instance.component(name)  # it has to exist
                continue
            component = instance.component(name)
            if isinstance(component, Variable):
                self.declare(component)
            elif isinstance(component, InstanceArray):
                for item in component.items:
                    self.nested(item, entry)
            elif not isinstance(component, Absent):
                self.nested(component, entry)
        for part in instance.parts():
            self.sections(part, instance)

    def buses(self) -> None:
        """Declare what is in expandable connectors, as far as it is connected or used."""
        if not self.connections.buses:
            return
        used = self.connections.present(self.names_used())
        for bus in self.connections.buses:
            for name in bus.component_names():
                component = bus.component(name)
                if isinstance(component, Variable):
                    if component.is_parameter or component.is_constant or used & set(component.element_names()):
                        self.declare(component)
                    continue
                items = component.items if isinstance(component, InstanceArray) else [component]
                for item in items:
                    if isinstance(item, Instance) and item.kind != EXPANDABLE and self._within(item.name, used):
                        self.nested(item, bus.entries[name])

    def names_used(self) -> set[str]:
        """All names of scalars in equations, as yet without those of connections."""
        flat = self.flat
        used: set[str] = set()
        for equation in (*flat.equations, *flat.initial_equations):
            used.update(names_in(equation.left), names_in(equation.right))
        for algorithm in (*flat.algorithms, *flat.initial_algorithms):
            used.update(names_in(tuple(algorithm.statements)))
        for when in flat.whens:
            used.update(names_in(tuple(when.branches)))
        for one in flat.asserts:
            used.update(names_in(one.condition))
        return used

    @staticmethod
    def _within(path: str, used: set[str]) -> bool:
        return any(name.startswith(f"{path}.") or name.startswith(f"{path}[") for name in used)

    def nested(self, instance: Instance, entry: Any) -> None:
        definition = instance.klass.definition
        if "partial" in definition.node.prefixes and instance.kind not in ("record", "connector"):
            hint = f"Redeclare `{entry.name}`" if "replaceable" in entry.node.prefixes else None
            entry.part.source.fail(
                f"`{instance.name}` is of the partial {instance.kind} {definition.name}", entry.node.at, hint
            )
        if instance.kind in ("package", "function"):
            entry.part.source.fail(f"`{instance.name}` is declared with a {instance.kind} as its type", entry.node.at)
        if instance.kind == EXPANDABLE:
            self.connections.buses.append(instance)
            for name in instance.component_names():
                inner = instance.component(name)
                for item in inner.items if isinstance(inner, InstanceArray) else [inner]:
                    if isinstance(item, Instance) and item.kind == EXPANDABLE:
                        self.nested(item, instance.entries[name])
            return
        self.instance(instance)

    def declare(self, variable: Variable) -> None:
        """Scalars of a variable, and the equation that its binding is."""
        self.variables.append(variable)
        origin = Origin(variable.part.source, variable.entry.node.at, variable.owner.name)
        node = variable.entry.node
        prefixes = variable.prefixes
        if "stream" in prefixes:
            variable.part.source.fail(f"stream variables (`{variable.name}`) are not supported", node.at)
        if variable.type == "Clock":
            variable.part.source.fail(f"clocks (`{variable.name}`) are not supported", node.at)
        if variable.is_constant:
            variability = "constant"
        elif variable.is_parameter:
            variability = "parameter"
        elif "discrete" in prefixes or variable.type != "Real":
            variability = "discrete"
        else:
            variability = "continuous"
        causality = ""
        if variable.owner is self.top or (variable.owner.enclosing is self.top and variable.owner.kind == "connector"):
            causality = next((word for word in ("input", "output") if word in prefixes), "")
        if isinstance(variable.type, EnumType):
            self.flat.enumerations[variable.type.name] = variable.type
        if len(self.flat.variables) + math.prod(variable.dims) > MOST_SCALARS:
            variable.part.source.fail(f"with `{variable.name}` the model has more than {MOST_SCALARS} scalars", node.at)
        for name in variable.element_names():
            comment = node.comment.text if node.comment is not None else None
            self.flat.variables[name] = FlatVariable(
                name, variable.type, variability, causality, {}, None, origin, comment,
                final="final" in node.prefixes or bool(variable.entry.mod and variable.entry.mod.final),
                protected="protected" in node.prefixes,
            )  # fmt: skip
            if "flow" in prefixes:
                self.connections.flows[name] = origin
        if variability in ("discrete", "continuous") and variable.binding is not None:
            if asks(variable.binding.expression) and not self.all_connected:
                self.waiting.append(lambda: self.bind(variable, causality, origin))
            else:
                self.bind(variable, causality, origin)

    def bind(self, variable: Variable, causality: str, origin: Origin) -> None:
        closure = variable.binding
        value = self.evaluator.closure(closure)
        value = self.evaluator.fitting(value, variable.type, variable.dims, variable.name, closure)
        names = variable.element_names()
        items = value.items if isinstance(value, Arr) else [value]
        place = Origin(closure.part.source, getattr(closure.expression, "at", 0), variable.owner.name)
        for name, item in zip(names, items, strict=True):
            if causality == "input":
                self.flat.variables[name].binding = as_tree(item)  # a default, which may be replaced from outside
            else:
                self.flat.equations.append(FlatEquation(tree.Ref(AT, (name,)), as_tree(item), place))

    def finish(self, variable: Variable) -> None:
        """Attributes and values: they may be said with parameters that were only found later."""
        names = variable.element_names()
        for attribute, mod in variable.attributes.items():
            if mod.value is None:
                continue
            value = self.evaluator.closure(mod.value)
            items = value.items if isinstance(value, Arr) else [value] * len(names)
            if isinstance(value, Arr) and value.shape != variable.dims:
                mod.source.fail(f"`{attribute}` of `{variable.name}` has the size {list(value.shape)}, "
                                f"and not {list(variable.dims)}", mod.at)  # fmt: skip
            for name, item in zip(names, items, strict=True):
                self.flat.variables[name].attributes[attribute] = as_tree(item)
        if variable.is_constant or variable.is_parameter:
            self.finish_parameter(variable, names)

    def finish_parameter(self, variable: Variable, names: list[str]) -> None:
        value = variable.known
        if value is None and variable.binding is not None:
            closure = variable.binding
            evaluator = self.evaluator
            value = evaluator.constant(variable, closure) if variable.is_constant else evaluator.closure(closure)
            value = self.evaluator.fitting(value, variable.type, variable.dims, variable.name, closure)
        elif variable.known is not None and not variable.is_constant and variable.binding is not None:
            symbolic = self.evaluator.closure(variable.binding)
            if not is_known(symbolic):
                value = self.evaluator.fitting(symbolic, variable.type, variable.dims, variable.name, variable.binding)
        if value is None:
            if variable.is_constant:
                variable.part.source.fail(f"the constant `{variable.name}` has no value", variable.entry.node.at)
            if "start" not in variable.attributes and "fixed" not in variable.attributes:
                self.flat.notes.append(f"the parameter `{variable.name}` has no value")
        items = value.items if isinstance(value, Arr) else [value]
        for name, item in zip(names, items if value is not None else [None] * len(names), strict=True):
            flat = self.flat.variables[name]
            flat.structural = variable.structural
            flat.binding = None if item is None else as_tree(item)

    def experiment(self) -> dict[str, float]:
        found = {}
        for note in self.definition.notes():
            if note.name == "experiment":
                for one in note.args or ():
                    if one.name in _EXPERIMENT and one.value is not None:
                        try:
                            value = self.evaluator.value(one.value, Scope(self.top.part, None, True))
                        except ModelicaError:
                            continue
                        found[one.name] = float(value)
        return found
