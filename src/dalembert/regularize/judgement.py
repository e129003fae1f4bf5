"""What is said about start values that had to be changed, whatever the kind of model."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar

import numpy as np

from dalembert.errors import InconsistentInitialValues, InitialValuesCorrected, warn_user

#: a relative change of a given start value beyond this is worth a warning
NOTEWORTHY = 1e-3
#: part of a value that is nothing but rounding
ROUNDING = 1e-14
#: what a warning calls values that the user gave, and what it advises
START = ("start value of", 'initial_values="check" makes this an error')
#: the same of the values that are judged now; None: changes are meant, and there is no warning
OCCASION: ContextVar[tuple[str, str] | None] = ContextVar("occasion", default=START)


def relative_change(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return np.abs(after - before) / (1 + np.abs(before))


def warn_of_change(
    names: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    demanded_by: str,
    t: float,
    occasion: tuple[str, str] | None,
) -> float:
    """The largest relative change; a warning if it is noteworthy, unless there is no `occasion` to speak of."""
    relative = relative_change(before, after)
    if not relative.size:
        return 0.0
    moved = int(np.argmax(relative))
    if relative[moved] > NOTEWORTHY and occasion is not None:
        what, remedy = occasion
        old, new = before[moved], after[moved]
        if abs(new) <= ROUNDING * abs(old):
            new = 0.0
        warn_user(
            f"{what} '{names[moved]}' changed from {old:.6g} to {new:.6g} to satisfy {demanded_by} at t = {t:.9g}; "
            f"{remedy}",
            InitialValuesCorrected,
        )
    return float(relative[moved])


def check_unchanged(
    names: Sequence[str],
    argument: str,
    before: np.ndarray,
    after: np.ndarray,
    *,
    t: float,
    mode: str,
    rtol: float,
    atol: float,
) -> None:
    """Start values of a DAE: in mode "check", changes beyond the tolerances are errors."""
    change, weight = np.abs(after - before), atol + rtol * np.abs(before)
    worst = int(np.argmax(change / weight))
    if mode == "check" and change[worst] > weight[worst]:
        raise InconsistentInitialValues(
            f"the start values {argument} violate the equations at t = {t:.9g}: '{names[worst]}' would have to change "
            f'by {change[worst]:.3e}. Correct it, or let initial_values="correct" do it.'
        )


def tell_of_unknowns(
    names: Sequence[str], before: np.ndarray, after: np.ndarray, differential: np.ndarray, t: float
) -> None:
    """Warn if a start value of a DAE changed noticeably.

    Of unknowns that are not `differential`, zero is no guess, which equations replace without a word; so they replace
    what these unknowns were before an event.
    """
    told = np.flatnonzero(differential | ((before != 0) & (OCCASION.get() is START)))
    warn_of_change([names[i] for i in told], before[told], after[told], "the equations", t, OCCASION.get())
