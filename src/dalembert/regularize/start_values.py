"""Start values as users give them, p0=[...] or p0={"x": 1.0}, turned into arrays; all faults are collected."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError, OptionError
from dalembert.model import Model
from dalembert.model.namespace import explain_unknown
from dalembert.model.start import fill_from_array, fill_from_mapping
from dalembert.model.vocabulary import VOCABULARY

#: names in a message, at most
MOST_NAMES = 10


def names_to_fix(model: Model, given: Any) -> tuple[str, ...]:
    """The names of unknowns in `fixed=`; a single one may stand alone."""
    if given is None:
        return ()
    known = model.names("x")
    given = (given,) if isinstance(given, str) else given
    try:
        if isinstance(given, Mapping | bytes):
            raise TypeError
        names = tuple(itertools.islice(given, len(known) + 1))
    except Exception:  # no sequence, or one of its own making that fails
        raise OptionError(f"fixed={shown(given)} must be a sequence of names of unknowns; values are for x0=") from None
    if names and model.mechanical:
        raise OptionError(
            "fixed= is for QuasiLinearDAE and ImplicitDAE; in EquationsOfMotion conditions hold values: "
            "initial_conditions=lambda s: [s.name - value]"
        )
    there = frozenset(known)
    wrong = [name for name in names if not isinstance(name, str) or name not in there]
    if wrong:
        condition = "the value of a derivative is a condition: initial_conditions=lambda s: [s.{}_dot - value]"
        rates = {f"{name}_dot": condition.format(name) for name in known}
        raise OptionError(f"fixed=: {explain_unknown(wrong[0], known, rates)}")
    if len(names) > len(known):
        raise OptionError(f"fixed= has more than {len(known)} names, and there are no more unknowns")
    return names


def given_values(
    model: Model, given: Mapping[str, Any], *, incomplete: bool = False, fixed: Sequence[str] = ()
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Arrays for every vector of the model (zero where nothing is given), and for those given which components were.

    A component that a mapping does not name is treated as its vector is when nothing is given: velocities and the like
    are zero, what is computed has no guess, and one that is needed is missed, unless values may be `incomplete`. See
    `Model.found_at_start` for unknowns of a DAE that are computed. What is `fixed` must be given in any case.
    """
    allowed = [f"{kind}0" for kind in model.start_kinds]
    incomplete = incomplete or model.beginning is not None
    faults = [explain_unknown(key, allowed) for key in given if key not in allowed]
    values: dict[str, np.ndarray] = {}
    known: dict[str, np.ndarray] = {}
    for kind in model.start_kinds:
        names, value = model.names(kind), given.get(f"{kind}0")
        values[kind] = model.guesses(kind)
        if value is None:
            if VOCABULARY[kind].start == "needed" and not incomplete:
                faults.append(f"{kind}0= is missing: start values for {_listed(names)}")
            continue
        known[kind] = np.ones(len(names), bool)
        if isinstance(value, Mapping):
            known[kind] = np.array([name in value for name in names], bool)
            fill_from_mapping(kind, names, value, values[kind], faults)
            found = model.found_at_start(kind)
            missing = [name for name in names if name not in value and name not in found]
            if missing and VOCABULARY[kind].start == "needed" and not incomplete:
                faults.append(_explain_missing(model, kind, missing))
        else:
            fill_from_array(kind, names, value, values[kind], faults)
    if fixed:
        fixed = frozenset(fixed)
        there = known.get("x", np.zeros(len(model.names("x")), bool))
        missing = [name for name, has in zip(model.names("x"), there, strict=True) if name in fixed and not has]
        faults.extend(f"x0: '{name}' is to be fixed, but its value is not given" for name in missing)
    if faults:
        raise ModelError(f"start values of model '{model.name}'", faults)
    return values, known


def _listed(names: Sequence[str]) -> str:
    """Names as far as one wants to read them."""
    more = f", … ({len(names)} in all)" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _explain_missing(model: Model, kind: str, missing: list[str]) -> str:
    listed = _listed([f"'{name}'" for name in missing])
    if kind == "p" and (model.names("lam") or model.names("s")):
        how = (
            "those that the constraints determine are corrected, but need a guess (initial_conditions= says which stay)"
        )
    else:
        how = "no equation tells where to start"
    return f"{kind}0: the start value{'s' if len(missing) > 1 else ''} of {listed} must be given, too; {how}"
