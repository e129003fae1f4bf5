"""The program of an ensemble: two kernels, `start` for consistent start values and `integrate` for the rest.

What becomes part of the code is the model, which of its parameters members have of their own, and the `Scheme`. All
values are numbers in arrays, so that the next ensemble of the same kind has its program already.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from dalembert.compile.generated.code import Code, Module, Target
from dalembert.compile.generated.graph import Binding
from dalembert.compile.generated.group import TAPES, GroupCode, write_carry
from dalembert.compile.generated.host import compile_host, host_target
from dalembert.compile.generated.nvptx import ptx_of
from dalembert.compile.generated.straight import unknown
from dalembert.compile.generated.tape import Tapes
from dalembert.compile.generated.values import Array
from dalembert.compile.jit import Code as MachineCode
from dalembert.kept import Slot, computed
from dalembert.regularize.half_explicit import DescriptorForm
from dalembert.solvers.half.generated.calls import Calls, StraightCalls, TapeCalls, write_functions
from dalembert.solvers.half.generated.definitions import Definitions
from dalembert.solvers.half.generated.integrator import Integrator
from dalembert.solvers.half.generated.layout import INTEGRATE, START
from dalembert.solvers.half.generated.member import Member
from dalembert.solvers.half.generated.model import ModelGraph
from dalembert.solvers.half.generated.places import QUEUE, Place, Queue, each_member
from dalembert.solvers.half.generated.record import Record
from dalembert.solvers.half.generated.scheme import Scheme
from dalembert.solvers.half.generated.start import write_start
from dalembert.solvers.half.generated.tables import write_inputs

KERNELS = {"start": START, "integrate": INTEGRATE}


@dataclass(frozen=True)
class Recipe:
    """What a program is made for."""

    scheme: Scheme
    varied: tuple[int, ...] = ()  # places in θ of what members have of their own
    tables: tuple[int, ...] = ()  # of the inputs that are tables, how many coefficients their pieces have
    inputs: tuple[ca.Function | None, ...] = field(default=(), compare=False)  # t -> (u, u', u''); None: a table
    inputs_text: tuple[str, ...] = ()  # tells them apart
    events: ca.SX | None = field(default=None, compare=False)  # functions
    events_text: str = ""  # tells them apart


#: a model with some sets of varied parameters
PROGRAMS: Slot[Program] = Slot("generated integrators", most=8)


def program_of(form: DescriptorForm, recipe: Recipe) -> Program:
    """The program, made once. Raises NotEliminated, or NotWritten, where there cannot be one."""
    return form.kept.get(PROGRAMS, recipe, lambda: Program(form, recipe))


class NotWritten(Exception):
    """Functions of a model for which there is no code; `names` are CasADi's."""

    def __init__(self, names: Sequence[str]):
        super().__init__(", ".join(name.lower() for name in names))


@dataclass(frozen=True)
class Written:
    """Code for a target; for groups of threads also their tapes, and the places that each kernel needs."""

    module: Module
    tapes: Tapes | None
    places: Mapping[str, int]


class Program:
    """A model with a method around it, for any target."""

    def __init__(self, form: DescriptorForm, recipe: Recipe):
        self.recipe, self.form = recipe, form
        self.model = ModelGraph(form, recipe.varied, recipe.inputs)
        accelerations = self.model.graph.leaves("a", self.model.n_v, Binding.STATE)
        events = recipe.events
        self.events = self.model.read(events, accelerations) if events is not None and events.numel() else []
        self.definitions = Definitions(self.model, self.events)
        self._modules: dict[Target, Written] = {}
        self._ptx: dict[tuple[Target, tuple[int, int]], str] = {}
        #: numbers at an output time
        self.n_outputs = self.model.n_d + (self.model.n_m if recipe.scheme.multipliers else 0)

    def written(self, target: Target) -> Written:
        """Its code for a target."""
        known = self._modules.get(target)
        if known is None:
            known = self._modules[target] = self._write(target)
        return known

    def _write(self, target: Target) -> Written:
        definitions = self.definitions
        missing = unknown(self.model.graph, definitions.roots, gpu=target.gpu)
        if missing:
            raise NotWritten(sorted(missing))
        module = Module(target)
        tapes = Tapes(target.group) if target.group else None
        if tapes is None:
            write_functions(module, definitions)
        if self.recipe.tables:
            write_inputs(module, self.recipe.tables)
        sizes = {}
        with _kernel(module, "start", tapes) as code:
            with each_member(code) as place:
                work = self._work(code, place)
                work.prepare()
                write_start(code, work.calls, work.member, self.model)
            sizes["start"] = code.memory.size if isinstance(code, GroupCode) else 0
        with _kernel(module, "integrate", tapes) as code:
            if target.queue:
                queue = Queue(code)
                work = self._work(code, queue.place)
                integrator = work.integrator(module, self.recipe.scheme)

                def begin() -> None:
                    work.prepare()
                    integrator.begin()

                queue.write(begin, integrator.attempt, integrator.goes_on, integrator.finish)
            else:
                with each_member(code) as place:
                    work = self._work(code, place)
                    work.prepare()
                    work.integrator(module, self.recipe.scheme).write()
            sizes["integrate"] = code.memory.size if isinstance(code, GroupCode) else 0
        if tapes is not None:
            write_carry(module, tapes)
        return Written(module, tapes, sizes)

    def _work(self, code: Code, place: Place) -> Work:
        """What a kernel does its members' work with."""
        definitions, tables = self.definitions, bool(self.recipe.tables)
        member = Member(code, place, "%stride", self.n_outputs)
        varied = len(self.recipe.varied)
        theta, own = code.array(varied), code.array(len(definitions.own))
        if not isinstance(code, GroupCode):
            return Work(code, StraightCalls(code, definitions, own, tables=tables), member, varied, theta, own)
        shared = code.array(len(definitions.shared))
        code.each(len(definitions.shared), lambda k: shared.put(k, code.shared("%shared", k)))
        return Work(code, TapeCalls(code, definitions, own, shared, tables=tables), member, varied, theta, own)

    def shared(self, theta: np.ndarray) -> np.ndarray:
        """Values that all members share, from their common θ."""
        leaves = {("shared", place): float(value) for place, value in enumerate(theta)}
        return np.append(self.model.graph.evaluate(self.definitions.shared, leaves), 0.0)  # at least one number

    @computed
    def host(self) -> Host:
        """Machine code for this processor."""
        target = host_target()
        return Host(compile_host(self.written(target).module, tuple(KERNELS)), target)

    def ptx(self, target: Target, capability: tuple[int, int]) -> str:
        """Code for a GPU."""
        known = self._ptx.get((target, capability))
        if known is None:
            known = self._ptx[target, capability] = ptx_of(self.written(target).module, capability)
        return known


class Host:
    """The kernels as functions of Python. They let other threads work meanwhile."""

    def __init__(self, code: MachineCode, target: Target):
        self._code, self.target, self.width = code, target, target.width
        self._functions = {
            name: ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * len(arguments))(
                code.addresses[name]
            )
            for name, arguments in KERNELS.items()
        }

    def run(self, kernel: str, first: int, last: int, stride: int, arrays: Mapping[str, np.ndarray]) -> None:
        """A kernel for the members first … last − 1, both multiples of the width."""
        given = [arrays[name].ctypes.data for name in KERNELS[kernel]]
        self._functions[kernel](first, last, stride, *given)


@dataclass(frozen=True)
class Work:
    """Calls of a model's functions for a member, where its numbers are, and its parameters."""

    code: Code
    calls: Calls
    member: Member
    varied: int  # how many of its parameters are a member's own
    theta: Array
    own: Array

    def prepare(self) -> None:
        """Numbers that depend on the member's parameters only."""
        self.code.each(self.varied, lambda k: self.theta.put(k, self.member.own(k)))
        self.calls.prepare(self.theta, self.own)

    def integrator(self, module: Module, scheme: Scheme) -> Integrator:
        return Integrator(module, Record(self.code, self.calls, self.member, scheme))


@contextmanager
def _kernel(module: Module, name: str, tapes: Tapes | None) -> Iterator[Code]:
    """A kernel. On a processor it works on members `first` to `last`, on a GPU on those before `last`."""
    target = module.target
    given = [("ptr", argument) for argument in arguments_of(name, target)]
    bounds = [("i64", bound) for bound in (("last", "stride") if target.gpu else ("first", "last", "stride"))]
    code = Code(module, name, [*bounds, *given]) if tapes is None else GroupCode(module, name, [*bounds, *given], tapes)
    code.linkage, code.attributes = ("ptx_kernel", "nounwind") if target.gpu else ("", "nounwind")
    yield code
    code.finish()


def arguments_of(kernel: str, target: Target) -> tuple[str, ...]:
    """Pointers that a kernel for a target takes."""
    queue = QUEUE if target.queue and kernel == "integrate" else ()
    return (*KERNELS[kernel], *(TAPES if target.group else ()), *queue)
