"""`sweep`: a study from its arguments to its result."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, shown, whole
from dalembert.errors import FileError, Interrupted, OptionError
from dalembert.model import Model
from dalembert.model.event import as_events
from dalembert.model.fingerprint import fingerprint, model_parts
from dalembert.model.namespace import explain_unknown
from dalembert.options import one_of
from dalembert.simulation import simulate
from dalembert.simulation.arguments import output_times, time_span
from dalembert.simulation.bars import over_count
from dalembert.solution.files import as_path, try_out
from dalembert.sweeps.engines import Engine, engine_for
from dalembert.sweeps.journal import SYNC, Journal
from dalembert.sweeps.member import Job, Outcome
from dalembert.sweeps.result import Sweep
from dalembert.sweeps.samples import arguments, as_samples, check_names

if TYPE_CHECKING:
    from dalembert.problems import Problem

#: arguments of `simulate` that belong to the study, or make no sense for one of many
NOT_FOR_MEMBERS = ("t_eval", "dense_output", "progress", "checkpoint", "profile", "trace")
ANEW = "Give another store, or delete it to begin anew"


def sweep(
    model: Model | Problem,
    samples: Any,
    t_span: Sequence[float] | None = None,
    *,
    t_eval: Any = None,
    keep: Sequence[str] | None = None,
    summary: Callable[[Any], Mapping[str, Any]] | None = None,
    store: str | PathLike | None = None,
    workers: int | None = None,
    engine: str = "auto",
    client: Any = None,
    seed: int = 0,
    retries: int = 1,
    progress: bool | Callable[[int, int], Any] = False,
    **options: Any,
) -> Sweep:
    """Simulate a model many times, with other parameters, start values, inputs or discrete values.

    Parameters
    ----------
    model : Model or Problem
    samples : mapping of names to arrays, list of mappings, table of pandas, Grid or MonteCarlo
        What is varied: parameters, variables (their start values), inputs (constants), discrete variables, by name.
    t_span : (float, float)
        As for `simulate`; of a Problem, its own.
    t_eval : array, optional
        Times at which values are kept; default: at the end.
    keep : sequence of str, optional
        Variables and outputs of the model whose values are kept; default: all variables.
    summary : callable, optional
        ``summary(sol)`` returns what is kept in place of that: numbers or arrays by name.
    store : path, optional
        A file for the results. Each is on the disk as soon as it is known; the same call, after whatever has ended this
        one, goes on with what is missing, and tries again what has failed.
    workers : int, optional
        Threads or processes; default: as many as there are processors.
    engine : {"auto", "generated", "threads", "processes"}
        "auto" takes generated code (see `ensemble`) for many members with ``method="hem5"`` where there can be one,
        else threads, or processes if functions of the model run as Python code, which threads do one at a time.
    client : dask.distributed.Client, optional
        A cluster that simulates in place of this machine.
    seed : int
        Of draws; the same seed gives the same members.
    retries : int
        How often a member is tried again whose failure may not last: its process died, a Python function raised.
    progress : bool or callable
        Show a bar, or call ``progress(done, of)`` after each member.
    **options
        As for `simulate`: start values, method, tolerances, events, ….

    Returns
    -------
    Sweep

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> study = da.sweep(pendulum, da.Grid({"g": [1.62, 9.81], "L": [1.0]}), t_eval=[0.5, 1.0], keep=["y"])
    >>> study
    Sweep(2 of 2 members: y)
    >>> study["y"].shape, study["g"].tolist()
    ((2, 2), [1.62, 9.81])
    """
    job = _job(model, t_span, t_eval, keep, summary, options)
    seed, retries = _count("seed", seed), _count("retries", retries)
    workers = None if workers is None else _count("workers", workers, 1)
    one_of("engine", engine, ("auto", "generated", "threads", "processes"))
    values = as_samples(samples, seed)
    check_names(job.model, values)
    arguments(job.model, job.options, {name: rows[0] for name, rows in values.items()})
    result = Sweep(values, job.times, None if store is None else _asked(job))
    kept = None if store is None else Store(as_path(store, "store"), result)
    crew = engine_for(job, workers, engine, client, len(result))
    todo = np.flatnonzero(~result.success).tolist()
    with over_count(progress, len(result)) as tell:
        try:
            _run(result, crew, todo, kept, retries, tell)
        except KeyboardInterrupt:
            if kept is not None:
                kept.finish()
            where = "the exception's .solution has what there is" if kept is None else "the same call goes on"
            raise Interrupted(f"interrupted after {int(result.success.sum())} members; {where}", result) from None
        except BaseException:
            if kept is not None:
                kept.leave()
            raise
    result.engine = crew.name
    if kept is not None:
        kept.finish()
    return result


def _run(
    result: Sweep, crew: Engine, todo: Sequence[int], kept: Store | None, retries: int, tell: Callable[[int], None]
) -> None:
    def sample(number: int) -> dict[str, Any]:
        return {name: rows[number] for name, rows in result.samples.items()}

    done = len(result) - len(todo)
    tell(done)
    for attempt in range(retries + 1):
        again = []
        for number, outcome in crew.outcomes(todo, sample):
            outcome = result.take(number, outcome)
            if kept is not None:
                kept.add(number, outcome)
            if outcome.failed and not outcome.lasting and attempt < retries:
                again.append(number)
                continue
            done += 1
            tell(done)
        todo = sorted(again)
        if not todo:
            return


def _job(model: Any, t_span: Any, t_eval: Any, keep: Any, summary: Any, options: Mapping[str, Any]) -> Job:
    if not isinstance(model, Model) and isinstance(getattr(model, "model", None), Model):  # a Problem
        options = {**model.start(), **options}
        t_span, model = (0.0, model.t_end) if t_span is None else t_span, model.model
    if not isinstance(model, Model):
        raise OptionError(f"sweep needs a model or a problem, not {type(model).__name__}")
    if t_span is None:
        raise OptionError("sweep(model, samples, t_span): a model does not know when to end; give t_span=(t0, t1)")
    known = inspect.unwrap(simulate).__kwdefaults__ or {}
    for name in options:
        if name in NOT_FOR_MEMBERS:
            raise OptionError(f"sweep has no argument '{name}': it is for one simulation, not for many")
        if name not in known:
            raise OptionError(f"sweep has no argument '{name}': {explain_unknown(name, known)}")
    t0, t1 = time_span(t_span)
    if summary is not None and not callable(summary):
        raise OptionError(f"summary={shown(summary)} must be a function of a solution")
    if keep is not None:
        keep = _names(keep)
        if summary is not None:
            raise OptionError("sweep takes keep= or summary=, not both")
        variables = [name for kind in model.graph.vectors for name in model.names(kind)]
        for name in keep:
            if name not in variables and name not in model.outputs:
                raise OptionError(f"keep: {explain_unknown(name, (*variables, *model.outputs))}")
    whole_runs = any(event.terminal for event in as_events(options.get("events")))
    return Job(
        model=model, t_span=(t0, t1), options=dict(options), keep=keep, times=output_times(t_eval, t0, t1),
        summary=summary, whole=whole_runs,
    )  # fmt: skip


def _names(keep: Any) -> tuple[str, ...]:
    names: tuple[Any, ...]
    try:
        names = (keep,) if isinstance(keep, str) else tuple(keep)
    except Exception:  # no sequence, or one that fails
        names = ()
    if not names or not all(isinstance(name, str) for name in names):
        raise OptionError(f"keep={shown(keep)} must be names of variables or outputs")
    return names


def _count(name: str, value: Any, least: int = 0) -> int:
    try:
        number = whole(value)
    except NoNumber:
        number = least - 1
    if not least <= number < 2**63:
        raise OptionError(f"{name}={shown(value)} must be a whole number, at least {least}")
    return number


def _asked(job: Job) -> dict[str, str]:
    """Hashes by name of what decides about the results."""
    from dalembert import __version__

    return {
        "dalembert": __version__,
        **model_parts(job.model),
        **{name: fingerprint(value) for name, value in job.options.items()},
        "t_span": fingerprint(job.t_span),
        "t_eval": fingerprint(job.times),
        "keep": fingerprint(job.keep),
        "summary": fingerprint(job.summary),
    }


class Store:
    """The file of a study, and the journal beside it while the study is under way."""

    def __init__(self, path: Path, result: Sweep):
        """Put what is there already into the result; FileError if it is of another study, or something else."""
        self.path, self._result = try_out(path), result
        self._journal = Journal(self.path.with_name(self.path.name + ".journal"))
        try:
            if self.path.exists():
                self._take_over(Sweep.load(self.path))
            entries = self._journal.read()
            if entries:
                self._read(entries)
            self._journal.append({"asked": result._asked}, result.samples)
        except BaseException:
            self.leave()
            raise
        self._due = time.perf_counter() + SYNC

    def _take_over(self, before: Sweep) -> None:
        self._must_be_the_same(before._asked, before.samples)
        for number in np.flatnonzero(before.success[: len(self._result)]).tolist():
            values = {name: before[name][number] for name in before.names}
            self._result.take(number, Outcome(
                status=before.status[number], t_end=float(before.t_end[number]), steps=int(before.steps[number]),
                seconds=float(before.seconds[number]), values=values,
            ))  # fmt: skip

    def _read(self, entries: Sequence[tuple[dict[str, Any], dict[str, np.ndarray]]]) -> None:
        journal = self._journal.path
        try:
            for entry, arrays in entries:
                if "asked" in entry:
                    self._must_be_the_same(entry["asked"], arrays)
                elif int(entry["member"]) < len(self._result) and entry["status"] != "failed":
                    self._result.take(int(entry["member"]), Outcome(
                        status=str(entry["status"]), t_end=float(entry["t_end"]), steps=int(entry["steps"]),
                        seconds=float(entry["seconds"]), values=arrays,
                    ))  # fmt: skip
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise FileError(f"the journal '{journal}' of a study is damaged ({error}). {ANEW}", journal) from error

    def _must_be_the_same(self, asked: Mapping[str, str], samples: Mapping[str, np.ndarray]) -> None:
        ours = self._result._asked
        differ = [name for name in dict.fromkeys((*ours, *asked)) if ours.get(name) != asked.get(name)]
        mine = self._result.samples
        if set(samples) != set(mine) or any(not _same_beginning(samples[name], mine[name]) for name in mine):
            differ.append("samples")
        if differ:
            isnt = "is not the same" if len(differ) == 1 else "are not the same"
            raise FileError(f"'{self.path}' is of another study: {', '.join(differ)} {isnt}. {ANEW}", self.path)

    def add(self, number: int, outcome: Outcome) -> None:
        entry = {
            "member": number, "status": outcome.status, "message": outcome.message, "t_end": outcome.t_end,
            "steps": outcome.steps, "seconds": outcome.seconds,
        }  # fmt: skip
        self._journal.append(entry, outcome.values)
        if time.perf_counter() > self._due:
            self._journal.sync()
            self._due = time.perf_counter() + SYNC

    def finish(self) -> None:
        """All in one file."""
        self._result.save(self.path)
        self._journal.close(remove=True)

    def leave(self) -> None:
        """As it is: the journal has everything."""
        self._journal.close(remove=self._journal.empty)


def _same_beginning(one: np.ndarray, other: np.ndarray) -> bool:
    """Studies may be continued with more members."""
    n = min(len(one), len(other))
    return one.shape[1:] == other.shape[1:] and bool((one[:n] == other[:n]).all())
