"""The driver's side of steps that are generated around the model: whose code it is, and the block of numbers it has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.compile.half_explicit import CompiledDescriptor
from dalembert.compile.kernel import load
from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.regularize.half_explicit import DescriptorForm
from dalembert.solvers.half.generated.elimination import NotEliminated
from dalembert.solvers.half.generated.possible import why_not
from dalembert.solvers.half.generated.program import NotWritten
from dalembert.solvers.half.generated.scheme import Scheme
from dalembert.solvers.half.generated.single import Single, pending
from dalembert.solvers.half.generated.tables import given, packed
from dalembert.solvers.half.options import Parts
from dalembert.solvers.half.stepper import HalfStepper
from dalembert.solvers.method import RunSpec

if TYPE_CHECKING:
    from dalembert.solvers.hem5 import Hem5


@dataclass(frozen=True)
class Steps:
    """Code, and how many numbers the tables of its inputs consist of."""

    code: Single
    n_tables: int


NO_TABLES = np.zeros(0)


def tables_of(model: Model) -> np.ndarray:
    """Inputs that have no formula, as code reads them."""
    tables = [given(traced) for traced in model.inputs.values() if traced.formula is None]
    return packed([table for table in tables if table is not None]) if tables else NO_TABLES


def steps_for(options: Hem5, form: DescriptorForm, model: Model) -> Steps | None:
    """Code for steps; None if nobody has to wait for it and it is not there yet. Raises ModelError with the reason
    where there cannot be any, and it is asked for."""
    wait = options.steps == "generated"
    reasons = why_not(form, model)
    reasons += [
        f"its input '{name}' runs as Python code, and is no Input.table"
        for name, traced in model.inputs.items()
        if traced.formula is None and given(traced) is None
    ]
    if not reasons:
        found = pending(form, model, Scheme.of(options))
        try:
            code = found.now() if wait else found.later()
            return None if code is None else Steps(code, len(tables_of(model)))
        except NotEliminated as reason:
            reasons.append(str(reason))
        except NotWritten as missing:
            reasons.append(f"it uses {missing}")
    if wait:
        raise ModelError(
            f"model '{model.name}' has no generated steps: {'; '.join(reasons)}. Leave out steps='generated'"
        )
    return None


class GeneratedStepper(HalfStepper):
    """A run with steps that are machine code of the model's own."""

    def __init__(self, options: Hem5, compiled: CompiledDescriptor, parts: Parts, code: Single):
        super().__init__(options, compiled, parts)
        self._code = code

    def link(self, spec: RunSpec) -> None:
        super().link(spec)
        code, state = self._code, self.state
        state.set(generated=code.step)
        code.set_up(state.block, self.options.settings(), state.rtol, state.atol, tables_of(spec.model))
        code.set_parameters(state.block, self._theta)

    def set_discrete(self, model: Model) -> None:
        super().set_discrete(model)
        self._code.set_parameters(self.state.block, self._theta)


def with_code(options: Hem5, compiled: CompiledDescriptor, parts: Parts, steps: Steps) -> GeneratedStepper:
    """The stepper of a method whose other `parts` are the usual ones."""
    load("dalembert.solvers.half.generated_kernel")
    from dalembert.solvers.half.generated_kernel import generated_half_explicit
    from dalembert.solvers.half.half_explicit_kernel import new_half_explicit_state

    code = steps.code
    own = replace(
        parts, kernel=generated_half_explicit, kind=steps,
        prepare=lambda: new_half_explicit_state(compiled, options.tableau, code.block(steps.n_tables), code.n_kept),
    )  # fmt: skip
    return GeneratedStepper(options, compiled, own, code)
