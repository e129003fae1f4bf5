"""The numerical experiments of the QUALIDAES paper, computed with this package.

R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with Modelica",
Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013, section 5. Two errors are published; its figures 4 and 7 are
curves without numbers, so for them ours stand alone, beside what the text says about the figure.

The DAEs are Modelica texts, `models/Qualidaes.mo`: with all hidden constraints written out as in the paper, and naive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from dalembert import modelica
from dalembert.errors import DalembertError
from dalembert.model.dae import DAE
from dalembert.problems import Problem, car_axis, car_axis_written_out, pendulum, pendulum_written_out
from dalembert.solvers import Dassl, Geoms, Odassl, Qualidaes, Radau5

from .reproduce import Section
from .work_precision import _aligned, work_precision

#: of the pendulum in the paper; its period is 2 up to 1e-10
GRAVITY = 13.7503716373295
#: 2-norm of the error over positions, velocities and multipliers at tolerance 1e-6, by example
PUBLISHED = {"pendulum": 1.9097e-05, "car_axis": 5.8529e-05}
#: what the paper calls the methods of its table 1
_NAMES = {
    "qualidaes written": "QULDSovd0",
    "dassl index1": "DASSLrcd0",
    "odassl acceleration": "ODASLovd0",
    "radau5 ggl": "RADAUggl",
}


@dataclass(frozen=True)
class Example:
    """One mechanism as equations of motion, and two Modelica texts: hidden constraints written out, and naive."""

    motion: Problem
    written: Problem
    naive: Problem

    @classmethod
    def pendulum(cls, t_end: float = 2.0) -> Example:
        known = pendulum_written_out(g=GRAVITY, t_end=t_end)
        texts = (_from_text("PendulumWritten", known, 5), _from_text("Pendulum", known, 5))
        return cls(pendulum(g=GRAVITY, t_end=t_end), *texts)

    @classmethod
    def car_axis(cls, t_end: float = 3.0) -> Example:
        known = car_axis_written_out(t_end=t_end)
        return cls(car_axis(t_end=t_end), _from_text("CarAxisWritten", known, 10), _from_text("CarAxis", known, 10))


def _from_text(name: str, known: Problem, n: int) -> Problem:
    """A model of the Modelica text, with what is known of the first n unknowns: positions, velocities, multipliers."""
    reference = None if known.reference is None else replace(known.reference, x=known.reference.x[:n])
    model: Any = _loaded(name)
    return Problem(
        name=name, title=f"{known.title}, from Modelica", model=model, t_end=known.t_end, reference=reference
    )


@cache
def _loaded(name: str) -> DAE:
    with as_file(files("dalembert.studies").joinpath("models", "Qualidaes.mo")) as path:
        return modelica.load(path, f"Qualidaes.{name}")


@dataclass(frozen=True)
class Dae:
    """A method on a DAE in place of the equations of motion, as a runner of a study."""

    method: Any
    dae: Problem

    def run(self, problem: Problem, tolerance: float) -> tuple[np.ndarray, np.ndarray, Mapping[str, int]]:
        solution = self.dae.simulate(method=self.method, rtol=tolerance, atol=tolerance)
        n = len(problem.p0)  # positions and velocities come first in all of them
        return solution.x[-1, :n], solution.x[-1, n : 2 * n], solution.stats.to_dict()


def methods(example: Example) -> dict[str, Any]:
    """What is compared: methods on the equations of motion, and on the DAEs."""
    twin = example.naive
    return {
        "qualidaes written": Dae(Qualidaes(), example.written),
        "qualidaes naive": Dae(Qualidaes(), twin),
        "radau5 naive": Dae(Radau5(), twin),
        "dassl naive": Dae(Dassl(), twin),
        "odassl naive": Dae(Odassl(), twin),
        "geoms": Geoms(),
        "dassl index1": Dassl(formulation="index1"),
        "odassl acceleration": Odassl(level="acceleration"),
        "radau5 ggl": Radau5(formulation="ggl"),
    }


def sections(quick: bool = False) -> Iterator[Section]:
    """All sections; `quick` takes 20 and 3 time units for the figures instead of 1000 and 500, and fewer tolerances."""
    yield _errors()
    tolerances = (1e-4, 1e-6, 1e-8) if quick else tuple(10.0**-k for k in range(4, 13))
    yield _figure(
        4, Example.pendulum, 20.0 if quick else 1000.0, tolerances, quick,
        "The paper: QUALIDAES needs the least time for the same accuracy; DASSL ends at tolerance 1e-11.",
    )  # fmt: skip
    yield _figure(
        7, Example.car_axis, 3.0 if quick else 500.0, tolerances, quick,
        "The paper: DASSL is the most efficient, down to tolerance 1e-10, then ODASSL; QUALIDAES and RADAU5 reach\n"
        "more, QUALIDAES in a little less time.",
    )  # fmt: skip


# -- errors at tolerance 1e-6 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """A run at tolerance 1e-6: its error as the paper measures it, over all unknowns, and the steps."""

    example: str
    method: str
    error: float = np.nan
    steps: int = 0
    failure: str = ""


def errors() -> Iterator[Measured]:
    """Both examples with all methods, until t = 2 and t = 3."""
    for make in (Example.pendulum, Example.car_axis):
        example = make()
        for label, method in methods(example).items():
            subject, options = (method.dae, method.method) if isinstance(method, Dae) else (example.motion, method)
            try:
                solution = subject.simulate(method=options, rtol=1e-6, atol=1e-6)
            except DalembertError as error:  # a line of the table
                reason = " ".join(f"{type(error).__name__}: {error}".split())[:100]
                yield Measured(example.motion.name, label, failure=reason)
                continue
            difference = _end(solution, example) - _known(example, sign=subject is not example.motion)
            yield Measured(
                example.motion.name, label, float(np.linalg.norm(difference)), solution.stats.to_dict()["accepted"]
            )


def _end(solution: Any, example: Example) -> np.ndarray:
    """p, v and λ at the end."""
    if solution.model.mechanical:
        return np.concatenate([solution.p[-1], solution.v[-1], solution.lam[-1]])
    return solution.x[-1, : len(_known(example, sign=False))]


def _known(example: Example, *, sign: bool) -> np.ndarray:
    """The reference; `sign`: multipliers as the paper has them."""
    reference: Any = example.motion.reference
    written: Any = example.written.reference
    if sign:
        return written.x[: 2 * len(reference.p) + len(reference.lam)]
    return np.concatenate([reference.p, reference.v, reference.lam])


def _errors() -> Section:
    lines, rows = [], list(errors())
    for name, error in PUBLISHED.items():
        lines.append(((name, "published", "QULDSovd0", f"{error:.4e}", "-"), ""))
        lines += [_line(row) for row in rows if row.example == name]
    return Section(
        title="Section 5: errors at t = 2 (pendulum) and t = 3 (car axis), tolerance 1e-6",
        table=_aligned(("example", "method", "in the paper", "error", "steps"), lines, left=3),
        remark="error: 2-norm over positions, velocities and multipliers. written: Modelica with all hidden\n"
        "constraints written out as in the paper. naive: Modelica of index 3, nothing differentiated by hand.",
    )


def _line(row: Measured) -> tuple[tuple[str, ...], str]:
    label = (row.example, row.method, _NAMES.get(row.method, ""))
    if row.failure:
        return (*label, "-", "-"), f"  {row.failure}"
    return (*label, f"{row.error:.4e}", str(row.steps)), ""


# -- figures 4 and 7 -----------------------------------------------------------------------------------------------


def _figure(
    number: int, make: Callable[[float], Example], t_end: float, tolerances: Sequence[float], quick: bool, remark: str
) -> Section:
    example = make(t_end)
    patience = 5.0 if quick else 60.0
    study = work_precision([example.motion], methods(example), tolerances, repeat=1 if quick else 2, patience=patience)
    return Section(
        title=f"Figure {number}: {example.motion.name} on [0, {t_end:g}], error at the end and time by tolerance",
        table=study.table(),
        remark=f"{remark}\nOurs: mixed error of positions and velocities. Dashed curves are DAEs of first order, the "
        "others equations of motion.",
        picture=f"figure_{number}.png",
        draw=study.plot,
    )
