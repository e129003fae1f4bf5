"""Arguments of `simulate`, checked: what is wrong is named, with the value and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import OptionError
from dalembert.kept import Slot
from dalembert.model.namespace import explain_unknown
from dalembert.regularize.form import Form
from dalembert.solvers.method import Tolerances

#: steps below this overflow in the methods' matrices
SHORTEST = 1e-130


def time_span(t_span: Any) -> tuple[float, float]:
    try:
        t0, t1 = (float(t) for t in t_span)
    except (TypeError, ValueError):
        raise OptionError(f"t_span must be two numbers (start, end), not {t_span!r}") from None
    if not (np.isfinite(t0) and np.isfinite(t1)):
        raise OptionError(f"t_span = ({t0}, {t1}) must be finite")
    if t0 != t1 and abs(t1 - t0) < SHORTEST:
        raise OptionError(f"t_span = ({t0}, {t1}) is too short to be divided into steps")
    return t0, t1


def positive(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name}={value!r} is not a number") from None
    if not number > 0:
        raise OptionError(f"{name}={value!r} must be positive")
    if number < SHORTEST:
        raise OptionError(f"{name}={value!r} is smaller than any step can be")
    return number


#: pairs of numbers as tolerances, which many runs have in common
TOLERANCES: Slot[Tolerances] = Slot("tolerances", most=16)


def tolerances_for(form: Form, rtol: Any, atol: Any) -> Tolerances:
    """One relative and one absolute tolerance for each unknown."""
    if isinstance(rtol, float) and isinstance(atol, float):
        return form.kept.get(TOLERANCES, (rtol, atol), lambda: _tolerance_arrays(form.variables, rtol, atol))
    tolerances = _tolerance_arrays(form.variables, rtol, atol)
    own = [form.variables[i] for i in range(form.n)[form.slices.get("eta", slice(0, 0))]]
    if isinstance(atol, Mapping) and own and not set(own) & set(atol):
        # of the unknowns that are not the model's nobody speaks: η changes positions as velocities do
        values = tolerances.atol.copy()
        values[form.slices["eta"]] = np.exp(np.mean(np.log(values[form.slices["v"]])))
        values.flags.writeable = False
        tolerances = replace(tolerances, atol=values)
    return tolerances


def _tolerance_arrays(variables: Sequence[str], rtol: Any, atol: Any) -> Tolerances:
    smallest = 1e-14
    arrays = []
    for name, given, default, least in (("rtol", rtol, 1e-6, smallest), ("atol", atol, 1e-8, 0.0)):
        array = np.full(len(variables), default)
        if isinstance(given, Mapping):
            for variable, value in given.items():
                if variable not in variables:
                    raise OptionError(f"{name}: {explain_unknown(variable, variables)}")
                try:
                    array[list(variables).index(variable)] = float(value)
                except (TypeError, ValueError):
                    raise OptionError(f"{name} for '{variable}' is {value!r}, not a number") from None
        else:
            try:
                given = np.asarray(given, float)
            except (TypeError, ValueError):
                raise OptionError(
                    f"{name}={given!r} must be a number, an array or a mapping of names to numbers"
                ) from None
            if given.ndim and given.shape != array.shape:
                raise OptionError(
                    f"{name} has shape {given.shape}; the {len(variables)} unknowns are {', '.join(variables)}"
                )
            array[:] = given
        if not (np.isfinite(array).all() and (array > least).all()):
            bad = int(np.argmax(~(np.isfinite(array) & (array > least))))
            raise OptionError(f"{name} = {array[bad]} for '{variables[bad]}' must be finite and greater than {least:g}")
        array.flags.writeable = False  # runs share them
        arrays.append(array)
    return Tolerances(*arrays)


def output_times(t_eval: Any, t0: float, t1: float) -> np.ndarray | None:
    if t_eval is None:
        return None
    try:
        times = np.array(t_eval, float).ravel()
    except (TypeError, ValueError):
        raise OptionError(f"t_eval must be an array of times, not {t_eval!r}") from None
    direction = 1 if t1 >= t0 else -1
    if not np.isfinite(times).all():
        raise OptionError("t_eval contains values that are not finite")
    if (np.diff(times) * direction <= 0).any():
        k = int(np.argmax(np.diff(times) * direction <= 0))
        raise OptionError(
            f"t_eval must be strictly {'increasing' if direction > 0 else 'decreasing'}: {times[k]:.9g} is followed by "
            f"{times[k + 1]:.9g}"
        )
    outside = times[((times - t0) * direction < 0) | ((times - t1) * direction > 0)]
    if outside.size:
        raise OptionError(f"t_eval contains {outside[0]:.9g}, outside of the interval from {t0:.9g} to {t1:.9g}")
    return times
