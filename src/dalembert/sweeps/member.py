"""One simulation of a study: what it is asked to do, and what is kept of it."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.checks import said
from dalembert.errors import (
    DalembertError,
    FunctionFailed,
    ModelError,
    OptionError,
    SimulationError,
)
from dalembert.kept import computed
from dalembert.model import Model
from dalembert.model.travel import carried
from dalembert.simulation import Output, simulate
from dalembert.solution import Solution
from dalembert.sweeps.samples import arguments

#: statuses of members besides those of a `Solution`
MISSING, FAILED = "missing", "failed"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What all members have in common. It can be pickled."""

    model: Model
    t_span: tuple[float, float]
    options: Mapping[str, Any]
    keep: tuple[str, ...] | None = None  # names; None: all variables
    times: np.ndarray | None = None  # None: the end
    summary: Callable[[Solution], Mapping[str, Any]] | None = None
    whole: bool = False  # whether the end may be an event, so that all steps are needed

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"summary": carried(self.summary, "summary")}

    def packed(self) -> bytes:
        return pickle.dumps(self)

    def run(self, sample: Mapping[str, Any]) -> Outcome:
        """Simulate one member; whatever happens to it is in the outcome."""
        begun = time.perf_counter()
        try:
            own = arguments(self.model, self.options, sample)
            solution = simulate(self.model, self.t_span, **own, **self._output)
            values = self._values(solution)
        except KeyboardInterrupt:  # ours is one, too
            raise
        except Exception as error:  # whatever a user's function may raise
            return Outcome(
                status=FAILED,
                message=f"{type(error).__name__}: {error}" if isinstance(error, DalembertError) else said(error),
                seconds=time.perf_counter() - begun,
                lasting=isinstance(error, SimulationError | ModelError | OptionError)
                and not isinstance(error, FunctionFailed),
            )
        return Outcome(
            status=solution.status,
            t_end=float(solution.trajectory.interval[1]),
            steps=int(solution.stats.accepted),
            seconds=time.perf_counter() - begun,
            values=values,
        )

    @computed
    def _output(self) -> dict[str, Any]:
        if self.summary is not None or self.whole:
            return {} if self.times is None else {"t_eval": self.times}
        times = np.array([self.t_span[1]]) if self.times is None else self.times
        variables = None
        if self.keep is not None and not any(name in self.model.outputs for name in self.keep):
            variables = self.keep
        return {"t_eval": Output(times=times, components=variables), "dense_output": False}

    def _values(self, solution: Solution) -> dict[str, np.ndarray]:
        if self.summary is not None:
            found = self.summary(solution)
            if not isinstance(found, Mapping):
                raise OptionError(f"summary= must return a mapping of names to numbers, not {type(found).__name__}")
            return {str(name): np.asarray(value, float) for name, value in found.items()}
        names = solution.names if self.keep is None else self.keep
        columns = {name: np.asarray(solution[name], float) for name in names}
        if self.times is None:
            return {name: values[-1] for name, values in columns.items()}
        missing = len(self.times) - len(solution.t)  # of a run that an event has ended
        return {
            name: np.concatenate([values, np.full((missing, *values.shape[1:]), np.nan)]) if missing else values
            for name, values in columns.items()
        }


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a member."""

    status: str
    message: str = ""
    t_end: float = np.nan
    steps: int = 0
    seconds: float = 0.0
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    lasting: bool = True  # whether it would be the same again

    @property
    def failed(self) -> bool:
        return self.status == FAILED

    def fits(self, shapes: Mapping[str, Sequence[int]]) -> Outcome:
        """Itself if its values are of these names and shapes, or a failure that says what differs."""
        own = {name: value.shape for name, value in self.values.items()}
        if self.failed or own == {name: tuple(shape) for name, shape in shapes.items()}:
            return self
        differ = [name for name in dict.fromkeys((*shapes, *own)) if own.get(name) != tuple(shapes.get(name, (-1,)))]
        why = f"its result has other names or shapes than the first ({', '.join(differ)})"
        return replace(self, status=FAILED, message=f"OptionError: {why}", values={})
