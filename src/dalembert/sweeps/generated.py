"""Members of a study by generated integrators: blocks of them at once, where `da.ensemble` can do what is asked."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import InitialValuesCorrected, ModelError, OptionError
from dalembert.sweeps.member import FAILED, Job, Outcome
from dalembert.sweeps.samples import arguments_of_many

if TYPE_CHECKING:
    from dalembert.ensembles import Ensemble
    from dalembert.sweeps.engines import Engine, Samples

#: members that are integrated before results are handed on, and the fewest that are worth the compilation
BLOCK, FEWEST = 4096, 64
#: arguments of `simulate` that `ensemble` has, too
KNOWN = frozenset(
    ("p0", "v0", "r0", "parameters", "discrete", "inputs", "events", "method", "rtol", "atol", "first_step", "max_step",
     "max_steps")
)  # fmt: skip


def applies(job: Job) -> bool:
    """Whether generated code is worth a try: Hem5, for variables of the model, and nothing that only `simulate` has."""
    from dalembert.solvers import Hem5

    method = job.options.get("method", "auto")
    wanted = isinstance(method, Hem5) or (isinstance(method, str) and method.lower() == "hem5") or method is Hem5
    plain = job.summary is None and not any(name in job.model.outputs for name in job.keep or ())
    given = {name for name, value in job.options.items() if value is not None}
    return wanted and plain and job.model.mechanical and given <= KNOWN


class Generated:
    """All cores by generated code; `other` takes over where there is none for the model."""

    def __init__(self, job: Job, workers: int | None, other: Engine | None):
        self.name, self._job, self._workers, self._other = "generated", job, workers, other

    def outcomes(self, numbers: Sequence[int], sample: Samples) -> Iterator[tuple[int, Outcome]]:
        for first in range(0, len(numbers), BLOCK):
            block = numbers[first : first + BLOCK]
            try:
                found, seconds = self._integrated([sample(number) for number in block])
            except (ModelError, OptionError):
                if self._other is None:
                    raise
                self.name = self._other.name
                yield from self._other.outcomes(numbers[first:], sample)
                self.name = self._other.name
                return
            for place, number in enumerate(block):
                yield number, self._outcome(found, place, seconds)

    def _integrated(self, samples: Sequence[Mapping[str, Any]]) -> tuple[Ensemble, float]:
        from dalembert.ensembles import ensemble

        job, begun = self._job, time.perf_counter()
        rows = {name: np.array([sample[name] for sample in samples]) for name in samples[0]}
        given = {name: value for name, value in job.options.items() if value is not None}
        multipliers = job.times is not None and any(name in self._multipliers for name in self._names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InitialValuesCorrected)  # other parameters have other start values
            found = ensemble(
                job.model, job.t_span, **arguments_of_many(job.model, given, rows), n=len(samples), t_eval=job.times,
                multipliers=multipliers, workers=self._workers,
            )  # fmt: skip
        return found, (time.perf_counter() - begun) / len(samples)

    @property
    def _multipliers(self) -> tuple[str, ...]:
        return tuple(name for kind in ("lam", "mu") for name in self._job.model.names(kind))

    @property
    def _names(self) -> tuple[str, ...]:
        kinds = ("p", "v", "r", "lam", "mu")
        return self._job.keep or tuple(name for kind in kinds for name in self._job.model.names(kind))

    def _outcome(self, found: Ensemble, place: int, seconds: float) -> Outcome:
        if not found.success[place]:
            return Outcome(status=FAILED, message=found.errors[place], seconds=seconds)
        event = found.ended_by(place)
        return Outcome(
            status="finished" if event is None else f"terminated by event '{event}'",
            t_end=float(found.end.t[place]),
            steps=int(found.accepted[place]),
            seconds=seconds,
            values={name: np.array(found[name][place]) for name in self._names},
        )
