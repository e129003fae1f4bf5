"""`compare`: which method is the best for a problem, found by trying them.

Every method runs at every tolerance; errors are those of the last point, against the reference values of the problem,
or, where there are none, against a run that is much tighter and confirmed by a second method.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.checks import real, shown
from dalembert.errors import DalembertError, Interrupted, ModelError, OptionError, SimulationError
from dalembert.model import Model
from dalembert.problems import Problem
from dalembert.simulation import simulate
from dalembert.simulation.arguments import count, positive, time_span
from dalembert.simulation.bars import over_count
from dalembert.solution import Solution
from dalembert.solvers import METHODS, MethodOptions, resolve_method
from dalembert.studies.comparison import Comparison, Recommendation, Trial

#: if nothing else is wanted
TOLERANCES = (1e-4, 1e-6, 1e-8)
#: of a reference that has to be computed, of those asked for; no tighter than this
TIGHTER, TIGHTEST = 1e-3, 1e-12
#: two methods must agree on it as much better than the errors that are measured with it
CONFIRMED = 0.1
#: arguments of `simulate` that leave the solution as it is
STEPS = {"first_step", "max_step", "max_steps"}
#: motion, and multipliers
MOTION, FORCES = ("p", "v", "x"), ("lam", "mu")

__all__ = ["Comparison", "Recommendation", "Trial", "compare"]


def compare(
    problem: Problem | Model,
    methods: Iterable[Any] | Mapping[str, Any] | None = None,
    tolerances: Sequence[float] = TOLERANCES,
    *,
    t_span: Sequence[float] | None = None,
    repeat: int = 3,
    patience: float = 10.0,
    report: Callable[[str], Any] | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    **options: Any,
) -> Comparison:
    """Try methods on a problem at several tolerances, and measure time and error.

    Parameters
    ----------
    problem : Problem, or Model with t_span
    methods : names and options objects, or a mapping of labels to those, optional
        Default: every method that can treat the model, with default options.
    tolerances : sequence of float
        Each is rtol and atol of a run.
    t_span : (float, float), optional
        Of a Problem, its own.
    repeat : int
        Timed runs of each; the quickest counts.
    patience : float
        Seconds that a run may take before tighter tolerances of its method are left out.
    report : callable, optional
        Is told a line of text for each method.
    progress : bool or callable
        Show a bar, or call ``progress(done, of)`` after each run of a method at a tolerance.
    **options
        As for `simulate`: start values, events, parameters, ….

    Examples
    --------
    >>> import dalembert as da
    >>> found = da.compare(da.problems.pendulum(), ["hem5", "radau5"], [1e-4, 1e-7], repeat=1)
    >>> [trial.error < 1e-2 for trial in found.trials]
    [True, True, True, True]
    >>> found.recommend(1e-2).method in ("hem5", "radau5")
    True
    """
    model, span, options, known = _subject(problem, t_span, options)
    limits = _tolerances(tolerances)
    repeat, patience = count("repeat", repeat), positive("patience", patience) or math.inf
    chosen = _methods(methods, model)
    given = options

    def run(method: MethodOptions, tolerance: float) -> Solution:
        return simulate(model, span, **given, method=method, rtol=tolerance, atol=tolerance)

    tell = report or (lambda _: None)
    values, source = known if known is not None else _reference(run, chosen, min(limits), tell)
    trials: list[Trial] = []
    of = len(chosen) * len(limits)
    try:
        with over_count(progress, of) as told:
            for label, method in chosen.items():
                tell(f"{label}: {len(limits)} tolerances")
                for trial in _tried(label, method, limits, run, values, repeat, patience):
                    trials.append(trial)
                    told(len(trials))
    except KeyboardInterrupt:
        known = Comparison(model.name, tuple(trials), chosen, source)
        message = f"interrupted after {len(trials)} of {of} trials; the exception's .solution has them"
        raise Interrupted(message, known) from None
    return Comparison(model.name, tuple(trials), chosen, source)


def _subject(
    problem: Any, t_span: Any, options: dict[str, Any]
) -> tuple[Model, tuple[float, float], dict[str, Any], tuple[dict[str, np.ndarray], str] | None]:
    """Model, interval, arguments of `simulate`, and reference values at the end with their source, if there are any."""
    for name in ("method", "rtol", "atol", "t_eval", "checkpoint"):
        if name in options:
            raise OptionError(f"compare has no argument '{name}': methods= and tolerances= say what is compared")
    if isinstance(problem, Model):
        if t_span is None:
            raise OptionError("compare(model, ..., t_span=(t0, t1)): a model does not know when to end")
        return problem, time_span(t_span), options, None
    if not isinstance(problem, Problem):
        raise OptionError(f"compare needs a problem or a model, not {type(problem).__name__}")
    reference, span = problem.reference, (0.0, problem.t_end) if t_span is None else time_span(t_span)
    known = None
    if reference is not None and not {*options} - STEPS and span == (0.0, reference.t):
        values = {kind: getattr(reference, kind) for kind in (*MOTION, *FORCES)}
        known = {kind: value for kind, value in values.items() if value is not None}, "the problem's reference values"
    return problem.model, span, {**problem.start(), **options}, known


def _tolerances(given: Any) -> list[float]:
    try:
        values = sorted({real(value) for value in given}, reverse=True)
    except Exception:  # no numbers, or nothing that has entries
        values = []
    if not values:
        raise OptionError(f"tolerances={shown(given)} must be a sequence of numbers, e.g. [1e-4, 1e-6]")
    return values


def _methods(given: Any, model: Model) -> dict[str, MethodOptions]:
    if given is None:
        return {name: one for name in METHODS if (one := _fitting(name, model)) is not None}
    if not isinstance(given, Mapping):
        try:
            given = [given] if isinstance(given, str | MethodOptions) else list(given)
        except Exception:
            raise OptionError(f"methods={shown(given)} must be names and options objects") from None
        given = {method if isinstance(method, str) else repr(method): method for method in given}
    if not given:
        raise OptionError("methods= is empty: name at least one")
    return {str(label): resolve_method(method, model) for label, method in given.items()}


def _fitting(name: str, model: Model) -> MethodOptions | None:
    """A method with its defaults, if it can treat the model at all."""
    try:
        options = METHODS[name]()
        options.formulate(model)
    except (OptionError, ModelError):
        return None
    return None if options.treats_contacts else options


def _end(solution: Solution) -> dict[str, np.ndarray]:
    kinds = [kind for kind in (*MOTION, *FORCES) if kind in solution._slices]
    if "x" in kinds:
        kinds = ["x"]
    return {kind: getattr(solution, kind)[-1] for kind in kinds if kind in solution._slices}


def _error(found: Mapping[str, np.ndarray], values: Mapping[str, np.ndarray], kinds: Sequence[str]) -> float:
    worst = math.nan
    for kind in kinds:
        if kind in values and kind in found and len(found[kind]) == len(values[kind]) and len(values[kind]):
            known = np.isfinite(values[kind])
            if known.any():
                away = np.abs(found[kind] - values[kind])[known] / (1.0 + np.abs(values[kind][known]))
                worst = float(np.fmax(worst, away.max() if np.isfinite(away).all() else np.inf))
    return worst


def _reference(
    run: Callable[[MethodOptions, float], Solution], methods: Mapping[str, MethodOptions], tightest: float,
    tell: Callable[[str], Any],
) -> tuple[dict[str, np.ndarray], str]:  # fmt: skip
    """Values at the end by a tight run, which a second method confirms."""
    tolerance = max(TIGHTER * tightest, TIGHTEST)
    tell(f"reference at tolerance {tolerance:.0e}")
    found: list[tuple[str, dict[str, np.ndarray]]] = []
    reasons = []
    for label, method in methods.items():
        try:
            found.append((label, _end(run(method, tolerance))))
        except Interrupted:
            raise
        except SimulationError as error:
            reasons.append(f"{label}: {type(error).__name__}")
        if len(found) == 2:
            break
    if not found:
        raise SimulationError(
            f"no method could compute reference values at tolerance {tolerance:.0e} ({'; '.join(reasons)}): compare "
            "with a looser tolerance"
        )
    (label, values), *others = found
    if others and _error(others[0][1], values, MOTION) > CONFIRMED * max(tightest, tolerance) * 1e3:
        away = _error(others[0][1], values, MOTION)
        return values, f"{label} at {tolerance:.0e} (but {others[0][0]} differs by {away:.1e}: errors are uncertain)"
    confirmed = f", confirmed by {others[0][0]}" if others else ", confirmed by nobody"
    return values, f"{label} at {tolerance:.0e}{confirmed}"


def _tried(
    label: str, method: MethodOptions, limits: Sequence[float], run: Callable[[MethodOptions, float], Solution],
    values: Mapping[str, np.ndarray], repeat: int, patience: float,
) -> Iterator[Trial]:  # fmt: skip
    slow = 0.0
    for tolerance in limits:
        if slow > patience:
            yield Trial(method=label, tolerance=tolerance, failure=f"not tried: the last took {slow:.1f} s")
            continue
        best, solution = math.inf, None
        try:
            for k in range(repeat + 1):  # the first one compiles
                begun = time.process_time()
                solution = run(method, tolerance)
                slow = time.process_time() - begun
                best = min(best, slow) if k or slow > patience else best
                if slow > patience:
                    break
        except Interrupted:
            raise
        except DalembertError as error:
            yield Trial(method=label, tolerance=tolerance, failure=f"{type(error).__name__}: {error}")
            continue
        assert solution is not None, "it was run once at least"
        found, counts = _end(solution), solution.stats
        yield Trial(
            method=label,
            tolerance=tolerance,
            seconds=best,
            error=_error(found, values, MOTION),
            multiplier_error=_error(found, values, FORCES),
            steps=counts.accepted,
            rejected=counts.rejected,
            evaluations=counts.rhs_evaluations,
        )
