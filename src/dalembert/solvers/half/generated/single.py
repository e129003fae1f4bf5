"""A step of one run as machine code around its model, for a kernel to call in place of stages and ports of its own.

    step(block, t, h, t_new)      try a step from t of size h to t_new; at a start, `fresh`, complete the current point
    ready(block)                  what depends on parameters only

All numbers are in a block of memory. What goes in and comes out stands at its beginning, where kernels find it (see
`generated_kernel`); what follows belongs to the code, and inputs that are tables stand at the end. The current point
has, besides its coordinates, numbers that were found on arrival there, and that the next step begins with: whoever
accepts a step keeps them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.compile.generated.code import Code, Module, Target
from dalembert.compile.generated.host import compile_host
from dalembert.compile.generated.straight import unknown
from dalembert.compile.generated.values import Array, Place, Real, Whole
from dalembert.kept import Slot
from dalembert.locks import forks_wait
from dalembert.regularize.half_explicit import DescriptorForm
from dalembert.solvers.half.generated.calls import StraightCalls, write_functions
from dalembert.solvers.half.generated.elimination import NotEliminated
from dalembert.solvers.half.generated.integrator import Integrator
from dalembert.solvers.half.generated.layout import N_OPTIONS, Head, Option
from dalembert.solvers.half.generated.member import Member
from dalembert.solvers.half.generated.program import NotWritten, Program, Recipe
from dalembert.solvers.half.generated.record import Record
from dalembert.solvers.half.generated.scheme import Scheme
from dalembert.solvers.half.generated.tables import CUBIC, write_inputs

if TYPE_CHECKING:
    from dalembert.model import Model

FUNCTIONS = ("step", "ready")
#: the name of threads that compile
WORKER = "dalembert compiles steps"
#: functions of the model that steps call
CALLED = ("prepare", "stage", "point", "rates", "kinematics", "factor", "once", "accelerate", "nearer", "along")


class OneMember(Member):
    """The run: times are arguments of the step, everything else is in the block."""

    def __init__(self, code: Code):
        super().__init__(code, lambda: "0", "1", 0)

    def stretch(self, number: Whole, what: int) -> Real:
        return Real(self.code, "%t_new" if what else "%t")


@dataclass(frozen=True)
class Text:
    """What is compiled, and what its block consists of."""

    module: Module
    places: Mapping[str, slice]  # where tables are, anything may follow
    shared: np.ndarray  # constants
    n_kept: int


@forks_wait
def written(form: DescriptorForm, scheme: Scheme, inputs: Sequence[ca.Function | None]) -> Text:
    """Code for a step; inputs that are None are tables. All parameters are the run's own. Raises NotEliminated or
    NotWritten where there is none."""
    varied = tuple(range(form.model.theta_layout.n_fixed))
    orders = tuple(CUBIC for function in inputs if function is None)
    program = Program(form, Recipe(scheme, varied, orders, inputs=tuple(inputs)))
    model, definitions, n_d = program.model, program.definitions, program.model.n_d
    n_kept, shared = definitions.n_rates + definitions.n_q, program.shared(np.zeros(len(varied)))
    sizes = {
        "head": len(Head), "x0": n_d, "next": n_d, "next_dot": n_d, "multipliers": model.n_m, "raw": model.n_p,
        "errors": n_d, "kept": n_kept, "next_kept": n_kept, "options": N_OPTIONS, "tolerances": 2 * n_d,
        "member": len(varied), "own": len(definitions.own), "shared": len(shared), "tables": 0,
    }  # fmt: skip
    ends = np.cumsum([0, *sizes.values()]).tolist()
    places = {name: slice(a, b) for name, a, b in zip(sizes, ends, ends[1:], strict=False)}
    module = Module(Target())
    missing = unknown(definitions.graph, definitions.roots, gpu=False)
    if missing:
        raise NotWritten(sorted(missing))
    write_functions(module, definitions, CALLED)
    if orders:
        write_inputs(module, orders)
    _write_ready(module, program, places)
    _write_step(module, program, places)
    return Text(module, places, shared, n_kept)


class Single:
    """Machine code for runs of a model. Other parameters need no other code."""

    def __init__(self, text: Text):
        self.places, self.n_kept = text.places, text.n_kept
        self._code = compile_host(text.module, FUNCTIONS)
        self.step = self._code.addresses["step"]
        self._ready = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64)(self._code.addresses["ready"])
        self._shared = text.shared

    def block(self, n_tables: int) -> np.ndarray:
        """Memory for a run with so many numbers of tables."""
        block = np.zeros(self.places["tables"].start + n_tables)
        block[self.places["shared"]] = self._shared
        return block

    def set_up(
        self, block: np.ndarray, settings: Mapping[str, float], rtol: np.ndarray, atol: np.ndarray, tables: np.ndarray
    ) -> None:
        """Write options, tolerances and tables of a run into its block."""
        n_d = len(block[self.places["x0"]])
        block[self.places["tables"].start :] = tables
        block[self.places["options"]][Option.PROJECTION_LIMIT] = settings["projection_limit"]
        block[self.places["tolerances"]] = np.column_stack([rtol[:n_d], atol[:n_d]]).ravel()

    def set_parameters(self, block: np.ndarray, theta: np.ndarray) -> None:
        """Parameters and discrete variables."""
        member = block[self.places["member"]]
        member[:] = theta[: len(member)]
        self._ready(block.ctypes.data)


def _write_ready(module: Module, program: Program, places: Mapping[str, slice]) -> None:
    code = _function(module, "ready", places)
    definitions = program.definitions
    own, member = (code.parameter(name) for name in ("own", "member"))
    StraightCalls(code, definitions, own, tables=False).prepare(member, own)
    code.finish()


def _write_step(module: Module, program: Program, places: Mapping[str, slice]) -> None:
    code = _function(module, "step", places, ("t", "h", "t_new"))
    definitions, scheme = program.definitions, program.recipe.scheme
    calls = StraightCalls(code, definitions, code.parameter("own"), tables=bool(program.recipe.tables))
    record = Record(code, calls, OneMember(code), scheme)
    record.errors = code.parameter("errors")
    head, kept, arrived = (code.parameter(name) for name in ("head", "kept", "next_kept"))
    integrator = Integrator(module, record)
    integrator.begin()
    record.h.put(Real(code, "%h"))
    record.last.put(True)  # t_new is exact
    record.fresh.put(head[Head.FRESH].differs(0.0))
    n_rates, n_q = definitions.n_rates, definitions.n_q
    _copy(code, n_rates, kept, record.rates)
    _copy(code, n_q, kept.behind(n_rates), record.q)
    integrator.arrive()
    _copy(code, n_rates, record.next_rates, arrived)
    _copy(code, n_q, record.at, arrived.behind(n_rates))
    _give_point(code, record)
    outcome = record.outcome.get()
    head.put(Head.OUTCOME, Real(code, code.write(f"sitofp i32 {outcome.text} to double")))
    head.put(Head.ERROR, record.error.get())
    head.put(Head.ITERATIONS, record.iterations.get())
    code.finish()


def _give_point(code: Code, record: Record) -> None:
    """The new point, with all that is known there."""
    model = record.model
    n_p, n_v, n_r = model.n_p, model.n_v, model.n_r
    new, rates = code.parameter("next"), code.parameter("next_dot")
    _copy(code, model.n_d, record.next, new)
    if model.plain:
        _copy(code, n_p, record.next.behind(n_p), rates)
    else:
        _copy(code, n_p, record.next_rates.behind(record.rate_of("p")), rates)
    _copy(code, n_v, record.b, rates.behind(n_p))
    _copy(code, n_r, record.next_rates.behind(record.n_slope - n_r), rates.behind(n_p + n_v))
    _copy(code, model.n_m, record.b.behind(n_v), code.parameter("multipliers"))
    _copy(code, n_p, record.raw, code.parameter("raw"))


def _function(module: Module, name: str, places: Mapping[str, slice], reals: Sequence[str] = ()) -> Code:
    """A function of a block and some numbers, in which the parts of the block have their names."""
    code = Code(module, name, [("i64", "block"), *(("double", real) for real in reals)])
    code.linkage, code.attributes, code.returns = "", "nounwind", ("i64", "0")
    code.line("%memory = inttoptr i64 %block to ptr")
    for part, where in places.items():
        code.line(f"%{part} = getelementptr inbounds double, ptr %memory, i64 {where.start}")
    return code


def _copy(code: Code, count: int, source: Array, target: Array) -> None:
    def body(k: Place) -> None:
        target.put(k, source[k])

    code.each(count, body)


# -- who has it --------------------------------------------------------------------------------------------------------


class Pending:
    """Code for a form, a scheme and inputs, which somebody may be compiling."""

    def __init__(self, form: DescriptorForm, scheme: Scheme, inputs: Sequence[ca.Function | None]):
        self._made_of = form, scheme, inputs
        self._found: Single | None = None
        self._impossible = False
        self._worker: threading.Thread | None = None

    def now(self) -> Single:
        """Compiled, if nobody has done that. Raises NotEliminated or NotWritten."""
        if self._found is None:
            self._found = Single(written(*self._made_of))
        return self._found

    def later(self) -> Single | None:
        """The same by a thread of its own: None until that is done, and where there is no code."""
        if self._found is None and not self._impossible and (self._worker is None or not self._worker.is_alive()):
            self._worker = threading.Thread(target=self._work, name=WORKER)
            self._worker.start()
        return self._found

    def _work(self) -> None:
        try:
            self.now()
        except (NotEliminated, NotWritten):
            self._impossible = True


PENDING: Slot[Pending] = Slot("generated steps", most=8)


def pending(form: DescriptorForm, model: Model, scheme: Scheme) -> Pending:
    """Code for runs on a form with the inputs of a variant of its model, which have formulas or are tables."""
    inputs = model.inputs.values()
    key = (scheme, *(traced.text for traced in inputs))
    return form.kept.get(PENDING, key, lambda: Pending(form, scheme, [traced.formula for traced in inputs]))
