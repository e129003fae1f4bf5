"""`simulate`: one function over all methods."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import SimpleNamespace
from typing import Any

from dalembert.errors import OptionError, SimulationError
from dalembert.locks import forks_wait
from dalembert.model import Model
from dalembert.model.event import as_events
from dalembert.model.namespace import explain_unknown
from dalembert.model.start import with_start
from dalembert.simulation.arguments import count, own_tolerances, positive, switch, time_span, tolerances_for
from dalembert.simulation.bars import over_time
from dalembert.simulation.checkpoint import Checkpoint, Saving
from dalembert.simulation.choice import MethodChoice, first_choice, next_choice, pilot_for, piloted
from dalembert.simulation.hybrid import Transition
from dalembert.simulation.layout import integrated, whole_form
from dalembert.simulation.output import Output, Sampling
from dalembert.simulation.preparing import preparing
from dalembert.simulation.task import Task
from dalembert.solution import Solution
from dalembert.solvers import MethodOptions, resolve_method

#: arguments that are start values
START = ("p0", "v0", "r0", "w0", "s0", "lam0", "mu0", "x0", "dx0")


@forks_wait
def simulate(
    model: Model,
    t_span: Sequence[float] | None = None,
    *,
    p0: Any = None,
    v0: Any = None,
    r0: Any = None,
    w0: Any = None,
    s0: Any = None,
    lam0: Any = None,
    mu0: Any = None,
    x0: Any = None,
    dx0: Any = None,
    initial_conditions: Callable[[Any], Any] | None = None,
    fixed: Sequence[str] = (),
    method: Any = "auto",
    rtol: Any = None,
    atol: Any = None,
    t_eval: Any = None,
    first_step: float | None = None,
    max_step: float | None = None,
    max_steps: int = 1_000_000,
    events: Any = None,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    discrete: Mapping[str, Any] | None = None,
    dense_output: bool = True,
    progress: bool | Callable[[float], Any] = False,
    checkpoint: str | PathLike | Checkpoint | None = None,
    profile: bool = False,
    trace: bool = False,
    **unknown: Any,
) -> Solution:
    """Integrate a model.

    Parameters
    ----------
    model : EquationsOfMotion, QuasiLinearDAE or ImplicitDAE
    t_span : (float, float)
        Start and end; the end may lie before the start. A model with an experiment of its own (Modelica) needs none.
    p0, v0, r0, w0, s0, lam0, mu0, x0, dx0 : array or mapping of names to values
        Start values. Positions (or x) are needed; velocities default to zero; multipliers, auxiliary variables and
        contact points are computed, and the derivatives of an ImplicitDAE, for which dx0 is a first guess. A model
        with start values of its own needs none: an array takes the place of a vector of these, a mapping that of the
        named components.
    initial_conditions : callable, optional
        ``lambda s: [...]``: residuals that shall vanish at the start beside all constraints; see
        `consistent_initial_values`.
    fixed : sequence of str
        Unknowns of a DAE whose start values stay as given, while others are found.
    method : str or options object
        ``"auto"``, ``"radau5"``, ``"hem5"``, …, or e.g. ``Radau5(formulation="index2")``. "auto" takes Hedop5 or, where
        a mechanism is stiff, Radau5 or Geoms, and changes between them while it runs; Geoms for contacts, Hem5 for
        trees of thousands of bodies in joint coordinates, Qualidaes for DAEs with hidden constraints, and
        Geoms(algebraic="svd") where constraints turn out to be redundant; ``sol.method_choice`` says which and why.
    rtol, atol : float, array of one value for each unknown, or mapping of names to values (others: the default)
        Tolerances of the local error; rtol between 1e-14 and 1, atol between 1e-100 and 1e100. Default: 1e-6 and 1e-8,
        or what the model's experiment and the sizes of its unknowns say (`Model.tolerance`, `Model.nominal`).
    t_eval : array or Output, optional
        Times at which the solution is given, or an `Output` that says how to choose them and what to keep; default:
        the accepted steps, all components.
        Times within rounding of the ends count as the ends.
    first_step, max_step : float, optional
    max_steps : int
        Steps (also rejected ones) before giving up.
    events : Event, function, or sequence of those
    parameters, inputs, discrete : mappings, optional
        Other values than the model's, without recompilation; those of discrete variables are start values.
    dense_output : bool
        Keep the polynomials between the steps; without them and with t_eval, memory stays small.
    progress : bool or callable
        Show a progress bar on the standard error, or call ``progress(t)`` now and then.
    checkpoint : path or Checkpoint, optional
        Save what has been computed to this file every half minute and at the end. If that fails, a warning
        (`CheckpointFailed`) says so, and the simulation goes on. If the file is there, the same call goes on from
        it, with the bits of a run that was never stopped; the file of another simulation is refused.
    profile : bool
        Find out where the time goes: ``sol.profile`` is a table of it.
    trace : bool
        Keep a record of each step that is tried, accepted or not: ``sol.trace`` is a table of them.

    Returns
    -------
    Solution

    Raises
    ------
    SimulationError
        Its subclass says what happened; `.solution` holds everything computed until then.

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.EquationsOfMotion(
    ...     p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1])
    >>> sol = da.simulate(pendulum, (0, 10), p0=[1, 0], rtol=1e-8)
    >>> sol.at(3.0).p.shape
    (2,)
    >>> sol.max_residual("position") < 1e-8
    True
    """
    asked = {name: value for name, value in locals().items() if name not in ("unknown", "method")}
    for name in unknown:
        raise OptionError(
            f"simulate has no argument '{name}': {explain_unknown(name, inspect.unwrap(simulate).__kwdefaults__ or {})}"
        )
    if not isinstance(model, Model):
        kinds = "EquationsOfMotion, QuasiLinearDAE, ImplicitDAE"
        raise OptionError(f"simulate needs a model ({kinds}), not {type(model).__name__}")
    if isinstance(method, str) and method.lower() == "auto":
        return _chosen(asked, first_choice(integrated(model)))
    return _simulated(asked, resolve_method(method, integrated(model)))


def _simulated(asked: Mapping[str, Any], options: MethodOptions, choice: MethodChoice | None = None) -> Solution:
    """By one method; with a choice by two that take turns, if the model has such, and with the choice in the result."""
    ask = SimpleNamespace(**asked)
    model: Model = ask.model
    if model.mechanical and model.collisions is not None and not options.treats_contacts:
        raise OptionError(
            f"model '{model.name}' has collisions, whose pairs of bodies change all the time: {type(options).__name__} "
            "stops at every impact. Take time stepping, method=MoreauJean(h=...)"
        )
    t0, t1 = time_span(model.t_span if ask.t_span is None else ask.t_span)
    model = model.replace(ask.parameters, ask.inputs)
    if ask.discrete is not None:
        model = model.with_discrete(model.discrete_values(ask.discrete))
    given = {name: asked[name] for name in START if asked[name] is not None}
    if model._start and model.beginning is None:  # which is more than values
        given = with_start(model, given)
    step_limit = positive("max_step", ask.max_step) or math.inf
    if ask.max_step is None and model.least_steps:
        step_limit = abs(t1 - t0) / model.least_steps
    first, limit = positive("first_step", ask.first_step), count("max_steps", ask.max_steps)
    dense, bar = switch("dense_output", ask.dense_output), over_time(ask.progress, t0, t1)
    profiled, traced = switch("profile", ask.profile), switch("trace", ask.trace)
    saving = None if ask.checkpoint is None else Saving(ask.checkpoint)
    if saving is not None and not options.repeats:
        raise OptionError(f"checkpoint= goes on bit for bit, as {options!r} does not: take steps='generated', or none")
    clock = [time.perf_counter()]
    own = own_tolerances(model, ask.rtol, ask.atol)
    pilot = None
    if choice is not None and not choice.tried:
        pilot = preparing(pilot_for, model, own)
    if pilot is not None:
        options, form = pilot.explicit.options, pilot.explicit.form
    else:
        form = preparing(whole_form, options, model)
    clock.append(time.perf_counter())
    if t1 < t0 and form.formulation == "baumgarte" and (model.names("lam") or model.names("mu")):
        raise OptionError(
            f"t_span = ({t0:g}, {t1:g}): where time runs backwards, Baumgarte's terms drive away from the constraints. "
            "Take another formulation"
        )
    tolerances, sampling = tolerances_for(form, *own), Sampling(ask.t_eval, t0, t1, form)
    users = as_events(ask.events)
    from dalembert.simulation.drive import drive  # imports numba: not before it is needed

    task = Task(
        model=model, options=options, form=form, t0=t0, t1=t1, given=given, initial_conditions=ask.initial_conditions,
        fixed=ask.fixed, tolerances=tolerances, first_step=first, max_step=step_limit, max_steps=limit, events=users,
        own_events=len(users), sampling=sampling, dense_output=dense, trace=traced, bar=bar, checkpoint=saving,
        pilot=pilot,
    )  # fmt: skip
    solution = None
    try:
        solution = preparing(drive, task, clock if profiled else None)
    except SimulationError as error:
        solution = error.solution
        raise
    finally:
        if solution is not None:
            solution.method_choice = choice if pilot is None else piloted(pilot)
    return solution


def _chosen(asked: dict[str, Any], choice: MethodChoice) -> Solution:
    """By the method of a choice, and by others where it proves wrong."""
    while True:
        try:
            return _simulated(asked, choice.method, choice)
        except SimulationError as error:
            ran = choice if error.solution is None else error.solution.method_choice
            # what a checkpoint has is of this choice
            other = None if asked["checkpoint"] is not None else next_choice(ran, asked["model"], error)
            if other is None:
                raise
            choice = other


__all__ = ["Checkpoint", "Output", "Transition", "simulate"]
