"""An ensemble from its arguments to its result: what can be generated, numbers for it, who does it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.compile.events import traced_events
from dalembert.ensembles.cores import HostWork
from dalembert.ensembles.gpu import GpuWork
from dalembert.ensembles.inputs import Table, tabulated
from dalembert.ensembles.job import DOUBTFUL, Common, Job, Results, new_results
from dalembert.ensembles.members import KINDS, Members, read_members
from dalembert.ensembles.pieces import Copiers
from dalembert.ensembles.result import FAILED, IRREGULAR, MISSING, Ensemble
from dalembert.errors import (
    DalembertError,
    InitialValuesCorrected,
    Interrupted,
    ModelError,
    NoDevice,
    OptionError,
    SimulationError,
    warn_user,
)
from dalembert.model import Model
from dalembert.model.event import Event, as_events
from dalembert.options import one_of
from dalembert.regularize.half_explicit import DescriptorForm
from dalembert.regularize.initial import completed_values
from dalembert.simulation import simulate
from dalembert.simulation.arguments import (
    count,
    output_times,
    own_tolerances,
    positive,
    switch,
    time_span,
    tolerances_for,
)
from dalembert.simulation.bars import over_count
from dalembert.solution import Solution
from dalembert.solution.memory import in_words, memory
from dalembert.solvers import Hem5, resolve_method
from dalembert.solvers.half.generated.elimination import NotEliminated
from dalembert.solvers.half.generated.layout import N_OPTIONS, Counter, Option
from dalembert.solvers.half.generated.possible import why_not
from dalembert.solvers.half.generated.program import NotWritten, Program, Recipe, program_of
from dalembert.solvers.half.generated.scheme import EventScheme, Scheme
from dalembert.solvers.half.generated.tables import packed
from dalembert.solvers.limits import NO_WAY
from dalembert.solvers.status import Status

DEVICES = ("auto", "cpu", "gpu")
#: members from which "auto" asks a GPU
MANY = 5000
#: members that are left to `simulate`, one after the other, where generated code could not go on
MOST_ALONE = 10_000
ELSEWHERE = "da.sweep simulates any model"


def carry_out(
    model: Model,
    t_span: Sequence[float] | None,
    copiers: Copiers,
    *,
    p0: Any,
    v0: Any,
    r0: Any,
    parameters: Mapping[str, Any] | None,
    discrete: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    n: int | None,
    t_eval: Any,
    multipliers: bool,
    events: Any,
    roots: int,
    method: Any,
    rtol: Any,
    atol: Any,
    first_step: float | None,
    max_step: float | None,
    max_steps: int,
    device: str,
    workers: int | None,
    progress: bool | Callable[[int, int], Any],
) -> Ensemble:
    """The other arguments are those of `ensemble`."""
    one_of("device", device, DEVICES)
    options = _method(method, model)
    form = _form(options, model)
    t0, t1 = time_span(model.t_span if t_span is None else t_span)
    start = dict(zip((f"{kind}0" for kind in KINDS), (p0, v0, r0), strict=True))
    members = read_members(model, n, start, parameters, discrete, inputs, copiers)
    times, users, room = output_times(t_eval, t0, t1), as_events(events), count("roots", roots)
    _must_fit(members, form, times, len(users) * room)
    limits = dict(first_step=first_step, max_step=max_step, max_steps=count("max_steps", max_steps))
    tables = tabulated(members.model, t0, t1)
    tolerances = tolerances_for(form, *own_tolerances(model, rtol, atol))
    uniform = len({*zip(tolerances.rtol.tolist(), tolerances.atol.tolist(), strict=True)}) == 1
    scheme = Scheme.of(
        options,
        uniform=uniform,
        outputs=times is not None,
        multipliers=switch("multipliers", multipliers) and times is not None,
        events=tuple(EventScheme(int(event.direction), int(event.terminal)) for event in users),
        samples=max((event.check_points for event in users), default=6),
        room=room if users else 0,
    )
    recipe = _recipe(scheme, members, tables, form, users)
    program = _program(form, recipe)
    theta = members.model.theta()[: model.theta_layout.n_fixed]

    def common() -> Common:
        n_d = program.model.n_d
        return Common(
            shared=program.shared(theta),
            options=_options(options, t0, t1, times, _stretches(members.model, t0, t1), limits),
            tolerances=np.column_stack([tolerances.rtol[:n_d], tolerances.atol[:n_d]]).ravel(),
            stretches=np.ravel(_stretches(members.model, t0, t1)),
            times=np.zeros(1) if times is None or not len(times) else times,
            tables=packed(list(tables.values())) if tables else np.zeros(1),
        )

    job = Job(
        program=program, members=members, common=common, trust=options.initial_values == "trust",
        times=0 if times is None else len(times), room=room if users else 0,
    )  # fmt: skip
    work = _device(job, device, workers, copiers)
    results = new_results(members.n, program, job.times, job.room)

    alone = Alone(
        members, (t0, t1),
        dict(
            method=options, rtol=rtol, atol=atol, first_step=first_step, max_step=max_step, max_steps=max_steps,
            events=users or None,
        ),
    )  # fmt: skip
    found = Ensemble(members, results, times, tuple(str(event.name) for event in users), job.room, work.name, alone)
    with over_count(progress, members.n) as tell:
        try:
            work.run(results, tell)
            _look_again(found, results, alone, times, users)
        except KeyboardInterrupt:
            members.keep(copiers)
            missing = ~results.done
            results.counts[Counter.STATUS, missing], results.correction[missing] = MISSING, 0.0
            results.forget(missing)
            done = int(results.done.sum())
            raise Interrupted(
                f"interrupted after {done} of {members.n} members; the exception's .solution has what there is", found
            ) from None
    if isinstance(work, GpuWork):
        found.kernel_seconds = work.seconds
    _warn(results, members)
    return found


@dataclass(frozen=True)
class Alone:
    """One member by `simulate`, asked as the ensemble was."""

    members: Members
    t_span: tuple[float, float]
    asked: Mapping[str, Any]

    def __call__(self, member: int, **more: Any) -> Solution:
        members = self.members
        return simulate(members.model, self.t_span, **members.arguments(member), **self.asked, **more)


# -- what can be generated ---------------------------------------------------------------------------------------------


def _method(method: Any, model: Any) -> Hem5:
    if not isinstance(model, Model):
        raise OptionError(f"ensemble needs a model (EquationsOfMotion), not {type(model).__name__}")
    options = resolve_method(method)
    if isinstance(method, str) and method.lower() == "auto":
        options = Hem5()
    if type(options) is not Hem5:
        raise OptionError(f"ensemble integrates by Hem5, not by {type(options).__name__}: {ELSEWHERE} with any method")
    for name in options.without_code():
        raise OptionError(f"ensemble has no option {name}= of Hem5: {ELSEWHERE} with it")
    return options


def _form(options: Hem5, model: Model) -> DescriptorForm:
    """The form of a model that code can be generated for; raises ModelError with the reason."""
    form = options.formulate(model)
    reasons = why_not(form, model)
    if reasons:
        raise ModelError(f"model '{model.name}' has no generated integrator: {'; '.join(reasons)}. {ELSEWHERE}")
    return form


def _program(form: DescriptorForm, recipe: Recipe) -> Program:
    try:
        return program_of(form, recipe)
    except NotEliminated as reason:
        raise ModelError(f"model '{form.model.name}' has no generated integrator: {reason}. {ELSEWHERE}") from None


def _recipe(
    scheme: Scheme, members: Members, tables: Mapping[int, Table], form: DescriptorForm, users: Sequence[Event]
) -> Recipe:
    for event in users:
        if event.action is not None:
            raise OptionError(f"event '{event.name}' has an action, which changes the state: {ELSEWHERE} with it")
        if event.threshold:
            raise OptionError(f"event '{event.name}' has a threshold: {ELSEWHERE} with it")
    traced = traced_events(form.model, users, members.model.outputs)
    values, text = None, ""
    if traced is not None:
        graph, values = traced.graph, traced.values
        if graph.externals_in(values):
            raise OptionError(f"functions of events must be traceable for an ensemble: {ELSEWHERE} with others")
        multipliers = ca.vertcat(*(graph.symbol[kind] for kind in ("lam", "mu")))
        if ca.depends_on(values, multipliers):
            raise OptionError(f"events of an ensemble cannot read multipliers: {ELSEWHERE} with such events")
        text = ca.Function("events", [graph.t, form.x, graph.a, graph.theta], [values]).serialize()
    inputs = members.model.inputs.values()
    return Recipe(
        scheme, members.varied, tuple(coefficients.shape[1] for _, coefficients in tables.values()),
        inputs=tuple(traced.formula for traced in inputs), inputs_text=tuple(traced.text for traced in inputs),
        events=values, events_text=text,
    )  # fmt: skip


# -- numbers -----------------------------------------------------------------------------------------------------------


def _stretches(model: Model, t0: float, t1: float) -> list[tuple[float, float, float]]:
    """Between breakpoints: where each begins and ends, and what its end is shown as.

    Inputs jump at breakpoints: every evaluation is strictly on one side. Stretches that are too short for steps end
    where they begin.
    """
    low, high = sorted((t0, t1))
    inside = sorted((b for b in model.breakpoints if low <= b <= high and b != t0), reverse=t1 < t0)
    found, begin = [], float(np.nextafter(t0, t1)) if t0 in model.breakpoints else t0
    for stop in inside:
        found.append((begin, _end(begin, float(np.nextafter(stop, t0))), stop))
        begin = float(np.nextafter(stop, t1))
    if not inside or inside[-1] != t1:
        found.append((begin, _end(begin, t1), t1))
    return found


def _end(begin: float, end: float) -> float:
    """Where a stretch ends, or where it begins if that is hardly away."""
    return end if abs(end - begin) > NO_WAY * math.ulp(max(abs(begin), abs(end))) else begin


def _options(
    options: Hem5, t0: float, t1: float, times: np.ndarray | None, stretches: Sequence[Any], limits: Mapping[str, Any]
) -> np.ndarray:
    values = np.zeros(N_OPTIONS)
    values[Option.SAFETY], values[Option.MAX_GROWTH] = options.safety, options.max_growth
    values[Option.MAX_SHRINK], values[Option.PROJECTION_LIMIT] = options.max_shrink, options.projection_limit
    values[Option.MAX_STEP] = positive("max_step", limits["max_step"]) or np.inf
    values[Option.FIRST_STEP] = positive("first_step", limits["first_step"]) or 0.0
    values[Option.DIRECTION] = 1.0 if t1 >= t0 else -1.0
    values[Option.MAX_STEPS] = min(limits["max_steps"], 2**31 - 2)
    values[Option.STRETCHES] = len(stretches)
    values[Option.OUTPUTS] = 0 if times is None else len(times)
    return values


def _must_fit(members: Members, form: DescriptorForm, times: np.ndarray | None, roots: int) -> None:
    """Raise if the results cannot be held."""
    each = 2 * form.n + form.model.graph.size("v") + roots + (0 if times is None else len(times) * form.n)
    size = 8.0 * members.n * each
    if size > memory():
        raise OptionError(
            f"the results of {members.n} members would take {in_words(size)}, and there are {in_words(memory())} of "
            "memory: ask for fewer members at once, or fewer output times"
        )


# -- who does it -------------------------------------------------------------------------------------------------------


def _device(job: Job, device: str, workers: int | None, copiers: Copiers) -> HostWork | GpuWork:
    if device == "gpu" or (device == "auto" and job.members.n >= MANY):
        from dalembert.compile.generated.cuda import find_device

        try:
            return GpuWork(job, find_device(), copiers)
        except NoDevice:
            if device == "gpu":
                raise
        except NotWritten as missing:
            if device == "gpu":
                name = job.members.model.name
                raise ModelError(
                    f"model '{name}' uses {missing}, which there is no code for on a GPU: device='cpu'"
                ) from None
    try:
        return HostWork(job, copiers, None if workers is None else count("workers", workers))
    except NotWritten as missing:
        raise ModelError(
            f"model '{job.members.model.name}' uses {missing}, which there is no generated code for. {ELSEWHERE}"
        ) from None


def _look_again(
    found: Ensemble, results: Results, alone: Callable[..., Solution], times: np.ndarray | None, users: Sequence[Event]
) -> None:
    """Members that are irregular, by start values or nearly singular matrices, are left to `simulate`: it has other
    pivots, more patience, and words."""
    if not results.doubtful:
        return
    doubtful = np.isin(results.counts[Counter.STATUS], DOUBTFUL)
    if results.irregular.any():  # what came of start values that are none is nothing
        results.forget(results.irregular)
        results.counts[Counter.STATUS, results.irregular] = IRREGULAR
    for member in np.flatnonzero(results.irregular | doubtful)[:MOST_ALONE].tolist():
        try:
            solution = alone(member, **({} if times is None else {"t_eval": times}))
        except KeyboardInterrupt:
            raise
        except (DalembertError, Warning) as error:  # warnings, where users have made errors of them
            partial = error.solution if isinstance(error, SimulationError) else None
            found.told[member] = f"{type(error).__name__}: {error}"
            results.forget(member)
            results.counts[Counter.STATUS, member] = FAILED
            results.t[member] = np.nan if partial is None else partial.trajectory.interval[1]
            continue
        _put(results, solution, member, times, users)


def _put(
    results: Results, solution: Solution, member: int, times: np.ndarray | None, users: Sequence[Event]
) -> None:
    """The result of `simulate` in place of that of generated code."""
    state, model = solution.at(solution.trajectory.interval[1]), solution._needed_model("members")
    parts = [np.ravel(getattr(state, kind)) for kind in KINDS if model.graph.size(kind)]
    results.x[:, member] = np.concatenate(parts)
    results.a[:, member] = _accelerations(model, state)
    multipliers = [np.ravel(getattr(state, kind)) for kind in ("lam", "mu") if model.graph.size(kind)]
    results.lam[:, member] = np.concatenate(multipliers) if multipliers else 0.0
    results.t[member] = solution.trajectory.interval[1]
    ended = solution.status != "finished"
    results.counts[Counter.STATUS, member] = int(Status.EVENT if ended else Status.DONE)
    names = [f"terminated by event '{event.name}'" for event in users]
    results.counts[Counter.ENDED_BY, member] = names.index(solution.status) if ended else 0
    results.counts[Counter.ACCEPTED, member] = solution.stats.accepted
    results.counts[Counter.INACCURATE, member] = solution.stats.error_rejections
    results.counts[Counter.FAILED, member] = solution.stats.convergence_rejections
    if times is not None:
        results.dense[..., member] = np.nan
        kinds = (*KINDS, *(("lam", "mu") if results.dense.shape[1] > len(results.x) else ()))
        rows = np.concatenate([getattr(solution, kind) for kind in kinds if model.graph.size(kind)], axis=1)
        results.dense[: len(rows), :, member] = rows
        results.counts[Counter.OUTPUTS, member] = len(rows)
    room = len(results.roots) // max(len(users), 1)
    for e, event in enumerate(users):
        t = np.asarray(solution.events.named(str(event.name)).t)
        results.found[e, member] = len(t)
        results.roots[e * room : (e + 1) * room, member] = np.nan
        results.roots[e * room : e * room + min(len(t), room), member] = t[:room]


def _accelerations(model: Model, state: Any) -> np.ndarray:
    """At the end of a simulation; NaN where they cannot be computed."""
    given = {f"{kind}0": np.ravel(getattr(state, kind)) for kind in KINDS if model.graph.size(kind)}
    try:
        return completed_values(model, float(state.t), given, mode="trust").a
    except DalembertError:
        return np.full(model.graph.size("v"), np.nan)


def _warn(results: Results, members: Members) -> None:
    if results.changes:
        changed = sum(count for count, _, _ in results.changes)
        _, change, worst = max(results.changes, key=lambda piece: (piece[1], -piece[2]))
        warn_user(
            f"start values of {changed} of {members.n} members changed to satisfy the constraints, most "
            f"those of member {worst}, by {change:.2g} of their size; `correction` has all of them",
            InitialValuesCorrected,
        )
