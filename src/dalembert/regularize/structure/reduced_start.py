"""Start values of a DAE from which unknowns were eliminated: given for all of them, found for those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model import Model
from dalembert.model.reduced import Expansion
from dalembert.regularize.judgement import check_unchanged, relative_change, tell_of_unknowns
from dalembert.regularize.start_values import given_values
from dalembert.regularize.structure.aliases import Reduction

if TYPE_CHECKING:
    from dalembert.regularize.initial import InitialValues


def start_by_kept(
    model: Model,
    reduction: Reduction,
    t0: float,
    given: Mapping[str, Any],
    complete: Callable[[Model, Mapping[str, Any]], InitialValues],
    *,
    mode: str,
    rtol: float,
    atol: float,
) -> InitialValues:
    """What `complete` finds for the reduced model and the given values, with all unknowns.

    Values that are given for unknowns which are one and the same may differ: then that of the unknown counts whose
    derivative occurs, and others are said to be changed.
    """
    own, expansion = reduction.of(model), reduction.expansion
    values, known = given_values(model, given)
    moves = ~np.isin(model.names("x"), list(model.found_at_start("x")))
    mine = {}
    for kind, which in known.items():
        chosen = _of_kept(expansion, values[kind], which, moves)
        names = [model.names(kind)[j] for j in expansion.kept]
        mine[f"{kind}0"] = {name: float(v) for name, v in zip(names, chosen, strict=True) if not np.isnan(v)}
    found = complete(own, mine)
    x = expansion.states(found.values["x"], own.theta(t0))
    x_dot = expansion.rates(found.values["x_dot"])
    told = np.intersect1d(np.flatnonzero(known["x"]), expansion.eliminated)
    correction = found.correction
    if len(told):
        names, before, after = [model.names("x")[j] for j in told], values["x"][told], x[told]
        check_unchanged(names, "x0", before, after, t=t0, mode=mode, rtol=rtol, atol=atol)
        tell_of_unknowns(names, before, after, moves[told], t0)
        correction = max(correction, float(relative_change(before, after).max()))
    return replace(found, values={**found.values, "x": x, "x_dot": x_dot}, correction=correction)


def _of_kept(expansion: Expansion, values: np.ndarray, known: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """One value for each kept unknown, NaN where nobody gave any.

    The first one of an unknown whose derivative occurs; of others zero may be no more than a place to be filled.
    """
    chosen = np.full(len(expansion.kept), np.nan)
    order = np.concatenate([expansion.kept, expansion.eliminated])
    order = order[known[order] & (expansion.source[order] >= 0)]
    meant = 2 * moves[order] + (values[order] != 0)
    for j in order[np.argsort(-meant, kind="stable")][::-1]:  # what is written last counts
        chosen[expansion.source[j]] = expansion.factor[j] * values[j]
    return chosen
