"""Start values as users give them, p0=[...] or p0={"x": 1.0}, turned into arrays; all faults are collected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.model.namespace import explain_unknown
from dalembert.model.vocabulary import VOCABULARY


def given_values(model: Model, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], set[str]]:
    """Arrays for every vector of the model (zero where nothing is given), and which vectors were given."""
    allowed = [f"{kind}0" for kind in model.start_kinds]
    faults = [explain_unknown(key, allowed) for key in given if key not in allowed]
    values: dict[str, np.ndarray] = {}
    known: set[str] = set()
    for kind in model.start_kinds:
        names, value = model.names(kind), given.get(f"{kind}0")
        values[kind] = np.zeros(len(names))
        if value is None:
            if VOCABULARY[kind].start == "needed":
                faults.append(f"{kind}0= is missing: start values for {', '.join(names)}")
            continue
        known.add(kind)
        if isinstance(value, Mapping):
            _from_mapping(kind, names, value, values[kind], faults)
        else:
            _from_array(kind, names, value, values[kind], faults)
    if faults:
        raise ModelError(f"start values of model '{model.name}'", faults)
    return values, known


def _from_mapping(kind: str, names: tuple[str, ...], given: Mapping, out: np.ndarray, faults: list[str]) -> None:
    for name, value in given.items():
        if name not in names:
            faults.append(f"{kind}0: {explain_unknown(name, names)}")
            continue
        try:
            number = real(value, flags=True)
        except NoNumber as reason:
            faults.append(f"{kind}0['{name}'] = {shown(value)} {reason}")
            continue
        if not np.isfinite(number):
            faults.append(f"{kind}0: the start value of '{name}' is {number}")
        out[names.index(name)] = number


def _from_array(kind: str, names: tuple[str, ...], given: Any, out: np.ndarray, faults: list[str]) -> None:
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
