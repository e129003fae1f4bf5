"""Arguments of `simulate`, checked: what is wrong is named, with the value and what to do."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set, Sized
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.checks import LARGEST_WHOLE, NoNumber, digits, flag, real, reals, shown, whole
from dalembert.errors import OptionError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.namespace import explain_unknown
from dalembert.regularize.form import Form
from dalembert.solvers.method import Tolerances

#: steps below this overflow in the methods' matrices
SHORTEST = 1e-130
#: times beyond this: their differences to the power of a method's order would overflow
FARTHEST = 1e130
#: relative tolerances lie between these: below are rounding errors, above not a single digit is asked for
TIGHTEST, LOOSEST = 1e-14, 1.0
#: and absolute ones between these, since errors are divided by them and squared
SMALLEST, LARGEST = 1e-100, 1e100
#: numbers that need not be looked at
PLAIN = (float, int)
#: output times may lie this many units of rounding beyond the ends
SLACK = 8


def time_span(t_span: Any) -> tuple[float, float]:
    if type(t_span) is tuple and len(t_span) == 2 and type(t_span[0]) in PLAIN and type(t_span[1]) in PLAIN:
        t0, t1 = t_span
        if abs(t0) <= FARTHEST and abs(t1) <= FARTHEST and not 0 < abs(t1 - t0) < SHORTEST:
            return float(t0), float(t1)
    try:
        if isinstance(t_span, str | bytes | Set | Mapping):  # of these, entries come in no order, or are no numbers
            raise TypeError
        t0, t1 = (real(t) for t in itertools.islice(t_span, 3))
    except Exception:  # of a generator, say
        raise OptionError(f"t_span must be two numbers (start, end), not {shown(t_span)}") from None
    if not (np.isfinite(t0) and np.isfinite(t1)):
        raise OptionError(f"t_span = ({t0}, {t1}) must be finite")
    if max(abs(t0), abs(t1)) > FARTHEST:
        raise OptionError(f"t_span = ({t0}, {t1}) must lie within ±{FARTHEST:g}; take another unit of time")
    if t0 != t1 and abs(t1 - t0) < SHORTEST:
        raise OptionError(f"t_span = ({t0}, {t1}) is too short to be divided into steps")
    return t0, t1


def positive(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = real(value)
    except NoNumber as reason:
        raise OptionError(f"{name}={shown(value)} {reason}; give a positive number or None") from None
    if not number > 0:
        raise OptionError(f"{name}={shown(value)} must be positive")
    if number < SHORTEST:
        raise OptionError(f"{name}={shown(value)} is smaller than any step can be")
    return number


def count(name: str, value: Any) -> int:
    try:
        number = whole(value)
    except NoNumber:
        number = 0
    if not 1 <= number <= LARGEST_WHOLE:
        raise OptionError(f"{name}={shown(value)} must be a positive whole number, at most 2**63 - 1")
    return number


def switch(name: str, value: Any) -> bool:
    try:
        return flag(value)
    except NoNumber:
        raise OptionError(f"{name}={shown(value)} must be True or False") from None


#: what is asked for if nobody says anything
RTOL, ATOL = 1e-6, 1e-8


def own_tolerances(model: Model, rtol: Any, atol: Any) -> tuple[Any, Any]:
    """Those of the model where none is given: its experiment's, and absolute ones that fit its unknowns' sizes."""
    if rtol is None:
        rtol = RTOL if model.tolerance is None else min(max(float(model.tolerance), 10 * TIGHTEST), LOOSEST)
    if atol is not None:
        return rtol, atol
    most = ATOL if model.tolerance is None else ATOL / RTOL * rtol if isinstance(rtol, float) else ATOL
    sizes = {name: most * size for name, size in model.nominal.items() if size > 0 and size != 1}
    if not sizes:
        return rtol, most
    return rtol, {name: min(max(sizes.get(name, most), 10 * SMALLEST), LARGEST) for name in model.names("x")}


#: pairs of numbers as tolerances, which many runs have in common
TOLERANCES: Slot[Tolerances] = Slot("tolerances", most=16)


def tolerances_for(form: Form, rtol: Any, atol: Any) -> Tolerances:
    """One relative and one absolute tolerance for each unknown."""
    if isinstance(rtol, float) and isinstance(atol, float):
        return form.kept.get(TOLERANCES, (rtol, atol), lambda: _tolerance_arrays(form.variables, rtol, atol))
    of_model = form.slices["x"].stop if "x" in form.slices else form.n
    if of_model < form.n:  # what only the form has, derivatives and multipliers, is told nothing about
        tolerances = _tolerance_arrays(form.variables[:of_model], rtol, atol)
        return Tolerances(*(_extended(each, form.n) for each in (tolerances.rtol, tolerances.atol)))
    tolerances = _tolerance_arrays(form.variables, rtol, atol)
    own = [form.variables[i] for i in range(form.n)[form.slices.get("eta", slice(0, 0))]]
    if isinstance(atol, Mapping) and own and not set(own) & set(atol):
        # of the unknowns that are not the model's nobody speaks: η changes positions as velocities do
        values = tolerances.atol.copy()
        values[form.slices["eta"]] = np.exp(np.mean(np.log(values[form.slices["v"]])))
        values.flags.writeable = False
        tolerances = replace(tolerances, atol=values)
    return tolerances


def _extended(values: np.ndarray, n: int) -> np.ndarray:
    """Further values in the middle of those that are there."""
    out = np.concatenate([values, np.full(n - len(values), np.exp(np.mean(np.log(values))))])
    out.flags.writeable = False
    return out


def _tolerance_arrays(variables: Sequence[str], rtol: Any, atol: Any) -> Tolerances:
    arrays = []
    limits = ("rtol", rtol, 1e-6, TIGHTEST, LOOSEST), ("atol", atol, 1e-8, SMALLEST, LARGEST)
    for name, given, default, least, most in limits:
        array = np.full(len(variables), default)
        if isinstance(given, Mapping):
            for variable, value in given.items():
                if variable not in variables:
                    raise OptionError(f"{name}: {explain_unknown(variable, variables)}")
                try:
                    array[list(variables).index(variable)] = real(value)
                except NoNumber as reason:
                    raise OptionError(f"{name} for '{variable}' is {shown(value)}, which {reason}") from None
        else:
            try:
                several = given.ndim > 0 if isinstance(given, np.ndarray) else isinstance(given, Sized)
                given = reals(given) if several else np.array(real(given))
            except NoNumber:
                raise OptionError(
                    f"{name}={shown(given)} must be a number, an array or a mapping of names to numbers"
                ) from None
            if given.ndim and given.shape != array.shape:
                raise OptionError(
                    f"{name} has shape {given.shape}; the {len(variables)} unknowns are {', '.join(variables)}"
                )
            array[:] = given
        fits = np.isfinite(array) & (array > least) & (array <= most)
        if not fits.all():
            bad = int(np.argmax(~fits))
            raise OptionError(
                f"{name} = {array[bad]} for '{variables[bad]}' must be finite and greater than {least:g}, and at "
                f"most {most:g}: {_WHY[name]}"
            )
        array.flags.writeable = False  # runs share them
        arrays.append(array)
    return Tolerances(*arrays)


_WHY = {
    "rtol": "below is the rounding of numbers, and above not a single digit would be right",
    "atol": "errors are divided by it, and squared; choose it well below the values that matter, in their unit",
}


def output_times(t_eval: Any, t0: float, t1: float) -> np.ndarray | None:
    if t_eval is None:
        return None
    try:
        times = reals(t_eval).ravel()
    except NoNumber:
        raise OptionError(f"t_eval must be an array of times, not {shown(t_eval)}") from None
    direction = 1 if t1 >= t0 else -1
    if not np.isfinite(times).all():
        raise OptionError("t_eval contains values that are not finite")
    if (np.diff(times) * direction <= 0).any():
        k = int(np.argmax(np.diff(times) * direction <= 0))
        order = "increasing" if direction > 0 else "decreasing"
        raise OptionError(f"t_eval must be strictly {order}: {digits(times[k])} is followed by {digits(times[k + 1])}")
    within = np.clip(times, min(t0, t1), max(t0, t1))
    slack = SLACK * np.spacing(max(abs(t0), abs(t1)))
    outside = np.abs(times - within) > slack
    outside[1:] |= (np.diff(within) == 0) & (within[1:] != times[1:])  # they shall differ, too
    if outside.any():
        raise OptionError(
            f"t_eval contains {digits(times[np.argmax(outside)])}, outside of the interval from {digits(t0)} to "
            f"{digits(t1)}"
        )
    return within
