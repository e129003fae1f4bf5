"""Start values of a DAE from which unknowns were eliminated: given for all of them, found for those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import InconsistentInitialValues, ModelError
from dalembert.model import Model
from dalembert.model.reduced import Expansion
from dalembert.regularize.initial import InitialValues, completed_values, form_of_start
from dalembert.regularize.judgement import check_unchanged, relative_change, tell_of_unknowns
from dalembert.regularize.start_values import given_values
from dalembert.regularize.structure.aliases import Reduction


def start_by_kept(
    model: Model,
    reduction: Reduction,
    t0: float,
    given: Mapping[str, Any],
    fixed: Sequence[str],
    *,
    initial_conditions: Callable[[Any], Any] | None,
    mode: str,
    rtol: float,
    atol: float,
) -> InitialValues:
    """What `completed_values` finds for the reduced model, with all unknowns.

    Values that are given for unknowns which are one and the same may differ: then that of a fixed one counts, else that
    of the unknown whose derivative occurs, and others are said to be changed.
    """
    own, expansion, names = reduction.of(model), reduction.expansion, model.names("x")
    for j in np.flatnonzero(~np.isfinite(expansion.constants(own.theta(t0)))):
        raise ModelError(f"model '{model.name}': {_said_of(reduction, names[j])} is not finite; check the parameters")
    incomplete = form_of_start(own, fixed, initial_conditions) is not None
    values, known = given_values(model, given, incomplete=incomplete, fixed=fixed)
    held = np.isin(names, fixed)
    rank = 4 * held + 2 * ~np.isin(names, list(model.found_at_start("x")))
    mine = {}
    for kind, which in known.items():
        chosen = _of_kept(expansion, values[kind], which, rank)
        mine[f"{kind}0"] = {
            name: float(value) for name, value in zip(own.names(kind), chosen, strict=True) if not np.isnan(value)
        }
    stay = np.unique(expansion.source[held & (expansion.source >= 0)])
    found = completed_values(
        own, t0, mine, initial_conditions=initial_conditions, fixed=[own.names("x")[k] for k in stay], mode=mode,
        rtol=rtol, atol=atol,
    )  # fmt: skip
    x = expansion.states(found.values["x"], own.theta(t0))
    x_dot = expansion.rates(found.values["x_dot"])
    for j in np.flatnonzero(held & (x != values["x"])):
        said = _said_of(reduction, names[j])
        raise InconsistentInitialValues(
            f"'{names[j]}' is fixed at {values['x'][j]:.6g}, but the equations say {said}, which is {x[j]:.6g} at "
            f"t = {t0:.9g}"
        )
    correction = found.correction
    told = np.intersect1d(np.flatnonzero(known.get("x", held)), expansion.eliminated)
    if len(told) and initial_conditions is None:  # conditions dominate given values, which only say where to start
        those, before, after = [names[j] for j in told], values["x"][told], x[told]
        check_unchanged(those, "x0", before, after, t=t0, mode=mode, rtol=rtol, atol=atol)
        tell_of_unknowns(those, before, after, rank[told] >= 2, t0)
        correction = max(correction, float(relative_change(before, after).max()))
    return replace(found, values={**found.values, "x": x, "x_dot": x_dot}, correction=correction)


def _said_of(reduction: Reduction, name: str) -> str:
    """What the equations say of an unknown that was eliminated."""
    return next(str(alias) for alias in reduction.aliases if alias.variable == name)


def _of_kept(expansion: Expansion, values: np.ndarray, known: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """One value for each kept unknown, NaN where nobody gave any: that of the highest rank, the first one of several.

    Zero, unless rank tells more, may be no more than a place to be filled.
    """
    chosen = np.full(len(expansion.kept), np.nan)
    order = np.concatenate([expansion.kept, expansion.eliminated])
    order = order[known[order] & (expansion.source[order] >= 0)]
    meant = rank[order] + (values[order] != 0)
    for j in order[np.argsort(-meant, kind="stable")][::-1]:  # what is written last counts
        chosen[expansion.source[j]] = expansion.factor[j] * values[j]
    return chosen
