"""Start values: as users give them, p0=[...] or p0={"x": 1.0}, and those that belong to a model.

A model's own start values are used where a simulation is given none: an array p0= takes the place of all positions, a
mapping p0={"x": 1.0} that of the named ones; vectors that are not given stay the model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.model.namespace import explain_unknown

if TYPE_CHECKING:
    from dalembert.model.base import Model

#: by argument, p0 and the like: an array, or values by name where some components are left open
Start: TypeAlias = "Mapping[str, np.ndarray | dict[str, float]]"


def checked_start(model: Model, given: Any, faults: list[str]) -> Start:
    """The start values of a model, from arguments of `simulate` and names of variables; faults are collected."""
    if not isinstance(given, Mapping):
        faults.append(f"start={shown(given)}: give a mapping, {{'p0': [...]}} or {{'x': 1.0}}")
        return {}
    found = len(faults)
    values: dict[str, dict[str, float]] = {}
    by_name = {name: kind for kind in reversed(model.start_kinds) for name in model.names(kind)}
    arguments = {f"{kind}0": kind for kind in model.start_kinds}
    single: dict[str, dict[str, Any]] = {}
    for key, value in given.items():
        if key in arguments:
            kind = arguments[key]
            values[kind] = _by_name(kind, model.names(kind), value, faults)
        elif isinstance(key, str) and key in by_name:
            single.setdefault(by_name[key], {})[key] = value
        else:
            faults.append(f"start: {explain_unknown(key, (*arguments, *by_name))}")
    for kind, entries in single.items():
        for name in entries.keys() & values.get(kind, {}).keys():
            faults.append(f"start: '{name}' is given twice, in {kind}0 and by its name")
        values[kind] = values.get(kind, {}) | _by_name(kind, model.names(kind), entries, faults)
    if len(faults) > found:
        return {}
    return {f"{kind}0": _as_array(model.names(kind), own) for kind, own in values.items() if own}


def _by_name(kind: str, names: tuple[str, ...], given: Any, faults: list[str]) -> dict[str, float]:
    out, found = np.zeros(len(names)), len(faults)
    if isinstance(given, Mapping):
        fill_from_mapping(kind, names, given, out, faults)
        chosen = [name for name in names if name in given]
    else:
        fill_from_array(kind, names, given, out, faults)
        chosen = names
    faults[found:] = [f"start: {fault}" for fault in faults[found:]]
    values = dict(zip(names, out.tolist(), strict=True))
    return {name: values[name] for name in chosen}


def _as_array(names: tuple[str, ...], values: dict[str, float]) -> np.ndarray | dict[str, float]:
    """An array of complete values: the quick way of start values takes it as it is."""
    if len(values) < len(names):
        return values
    array = np.array([values[name] for name in names])
    array.flags.writeable = False
    return array


def with_start(model: Model, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The given arguments p0, v0, …, completed by the model's start values.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.model.start import with_start
    >>> model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=[0, 0], start={"p0": [1, 2], "y_dot": 3})
    >>> with_start(model, {"p0": {"x": 5}})
    {'p0': {'x': 5, 'y': 2.0}, 'v0': {'y_dot': 3.0}}
    """
    own = model._start
    if not own:
        return given
    merged = dict(own)
    for key, value in given.items():
        if value is None:
            continue
        if isinstance(value, Mapping) and key in own:
            base = own[key]
            if isinstance(base, np.ndarray):
                base = dict(zip(model.names(key[:-1]), base.tolist(), strict=True))
            value = {**base, **value}
        merged[key] = value
    return merged


def fill_from_mapping(kind: str, names: tuple[str, ...], given: Mapping, out: np.ndarray, faults: list[str]) -> None:
    """Values by name into a vector."""
    places = {name: i for i, name in enumerate(names)}
    for name, value in given.items():
        if name not in places:
            faults.append(f"{kind}0: {explain_unknown(name, names)}")
            continue
        try:
            number = real(value, flags=True)
        except NoNumber as reason:
            faults.append(f"{kind}0['{name}'] = {shown(value)} {reason}")
            continue
        if not np.isfinite(number):
            faults.append(f"{kind}0: the start value of '{name}' is {number}")
        out[places[name]] = number


def fill_from_array(kind: str, names: tuple[str, ...], given: Any, out: np.ndarray, faults: list[str]) -> None:
    """All values into a vector."""
    try:
        array = reals(given).ravel()
    except NoNumber as reason:
        faults.append(f"{kind}0 = {shown(given)} {reason}")
        return
    if array.size != len(names):
        listed = f": {', '.join(names)}" if names else ""
        faults.append(f"{kind}0 has {array.size} values; the model has {len(names)}{listed}")
        return
    finite = np.isfinite(array)
    if not finite.all():
        faults.extend(f"{kind}0: the start value of '{names[i]}' is {array[i]}" for i in np.flatnonzero(~finite))
    out[:] = array
