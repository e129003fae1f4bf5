"""dalembert: simulation of constrained mechanical systems and other differential-algebraic equations.

>>> import dalembert as da
>>> pendulum = da.EquationsOfMotion(
...     p=["x", "y"], parameters=dict(m=1.0, L=1.0, g=9.81), mass=lambda s: [s.m, s.m],
...     force=lambda s: [0, -s.m * s.g], holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2])
>>> sol = da.simulate(pendulum, (0, 10), p0=[1, 0], v0=[0, 0])
>>> sol["x"].shape == sol.t.shape
True
"""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any

from dalembert.locks import renewed

if TYPE_CHECKING:  # the same names for type checkers and editors; tests/test_rooms.py compares
    from dalembert import draw, modelica, problems, studies
    from dalembert.ensembles import Ensemble, ensemble
    from dalembert.errors import (
        AssertionFailed,
        AssertionWarning,
        CacheNotTrusted,
        CannotAssemble,
        Chattering,
        CheckpointFailed,
        ComplementarityFailed,
        ContactError,
        ContactsNotSolved,
        DalembertError,
        DerivativeJumps,
        FileError,
        FileMissing,
        FunctionFailed,
        HighIndex,
        IllPosedConstraints,
        InconsistentInitialValues,
        IndexTooHigh,
        InitialValuesCorrected,
        Interrupted,
        ModelError,
        ModelicaError,
        NoDevice,
        NoEquilibrium,
        NotKept,
        NumericallySingular,
        OptionError,
        PainleveParadox,
        PenetratingStart,
        RedundantConstraints,
        SimulationError,
        SingularConfiguration,
        SingularMatrix,
        StepMissedTolerance,
        StepRefused,
        StepSizeTooSmall,
        StructurallySingular,
        TooManySteps,
        UnsettledEvent,
        UntraceableError,
        UntraceableWarning,
        UrdfError,
        UrdfWarning,
    )
    from dalembert.export import translate
    from dalembert.linalg.bodies.recursive import Recursive
    from dalembert.linalg.null_space import NullSpace
    from dalembert.linalg.saddle.auto import Auto
    from dalembert.linalg.saddle.block import Block
    from dalembert.linalg.saddle.compiled import Compiled
    from dalembert.linalg.saddle.conjugate_gradient import ConjugateGradient
    from dalembert.linalg.saddle.dense import Dense
    from dalembert.linalg.saddle.range_space import RangeSpace
    from dalembert.linalg.saddle.sparse import Sparse
    from dalembert.linalg.saddle.symmetric import Symmetric
    from dalembert.model import EquationsOfMotion, ImplicitDAE, Input, QuasiLinearDAE
    from dalembert.model.event import Event
    from dalembert.model.sympy_mechanics import from_sympy
    from dalembert.multibody import (
        Box,
        Capsule,
        Cylinder,
        HollowSphere,
        Line,
        Mesh,
        Multibody,
        Plane,
        Plate,
        Point,
        Sphere,
    )
    from dalembert.regularize import consistent_initial_values, formulate, hidden_constraints
    from dalembert.simulation import Checkpoint, Output, Transition, simulate
    from dalembert.solution import Solution
    from dalembert.solvers import Dassl, Geoms, Hedop5, Hem5, Mexx, MoreauJean, Odassl, Phem56, Qualidaes, Radau5, Rkf45
    from dalembert.solvers.jacobians import Differences, Exact, GroupedDifferences
    from dalembert.studies.compare import compare
    from dalembert.sweeps import Grid, MonteCarlo, Sweep, sweep

__version__ = "0.1.0"

# Names are imported at first use: `import dalembert` stays quick.
_HOME = {
    "EquationsOfMotion": "model",
    "QuasiLinearDAE": "model",
    "ImplicitDAE": "model",
    "Input": "model",
    "Event": "model.event",
    "from_sympy": "model.sympy_mechanics",
    "Multibody": "multibody",
    "Box": "multibody",
    "Capsule": "multibody",
    "Cylinder": "multibody",
    "HollowSphere": "multibody",
    "Line": "multibody",
    "Mesh": "multibody",
    "Plane": "multibody",
    "Plate": "multibody",
    "Point": "multibody",
    "Sphere": "multibody",
    "hidden_constraints": "regularize",
    "consistent_initial_values": "regularize",
    "formulate": "regularize",
    "translate": "export",
    "simulate": "simulation",
    "Checkpoint": "simulation",
    "compare": "studies.compare",
    "ensemble": "ensembles",
    "Ensemble": "ensembles",
    "sweep": "sweeps",
    "Grid": "sweeps",
    "MonteCarlo": "sweeps",
    "Sweep": "sweeps",
    "Output": "simulation",
    "Transition": "simulation",
    "Solution": "solution",
    "Dassl": "solvers",
    "Geoms": "solvers",
    "Hedop5": "solvers",
    "Hem5": "solvers",
    "Mexx": "solvers",
    "MoreauJean": "solvers",
    "Odassl": "solvers",
    "Phem56": "solvers",
    "Qualidaes": "solvers",
    "Radau5": "solvers",
    "Rkf45": "solvers",
    "Exact": "solvers.jacobians",
    "Differences": "solvers.jacobians",
    "GroupedDifferences": "solvers.jacobians",
    "Auto": "linalg.saddle.auto",
    "Compiled": "linalg.saddle.compiled",
    "Dense": "linalg.saddle.dense",
    "Symmetric": "linalg.saddle.symmetric",
    "RangeSpace": "linalg.saddle.range_space",
    "Block": "linalg.saddle.block",
    "Sparse": "linalg.saddle.sparse",
    "Recursive": "linalg.bodies.recursive",
    "NullSpace": "linalg.null_space",
    "ConjugateGradient": "linalg.saddle.conjugate_gradient",
    "DalembertError": "errors",
    "ModelError": "errors",
    "NumericallySingular": "errors",
    "StructurallySingular": "errors",
    "UrdfError": "errors",
    "ModelicaError": "errors",
    "CannotAssemble": "errors",
    "NoEquilibrium": "errors",
    "OptionError": "errors",
    "SimulationError": "errors",
    "ContactError": "errors",
    "UnsettledEvent": "errors",
    "Chattering": "errors",
    "AssertionFailed": "errors",
    "AssertionWarning": "errors",
    "PenetratingStart": "errors",
    "PainleveParadox": "errors",
    "ComplementarityFailed": "errors",
    "IllPosedConstraints": "errors",
    "InconsistentInitialValues": "errors",
    "IndexTooHigh": "errors",
    "StepSizeTooSmall": "errors",
    "TooManySteps": "errors",
    "SingularMatrix": "errors",
    "FunctionFailed": "errors",
    "RedundantConstraints": "errors",
    "SingularConfiguration": "errors",
    "Interrupted": "errors",
    "NoDevice": "errors",
    "StepRefused": "errors",
    "UntraceableError": "errors",
    "UntraceableWarning": "errors",
    "InitialValuesCorrected": "errors",
    "HighIndex": "errors",
    "DerivativeJumps": "errors",
    "StepMissedTolerance": "errors",
    "ContactsNotSolved": "errors",
    "FileError": "errors",
    "FileMissing": "errors",
    "NotKept": "errors",
    "CheckpointFailed": "errors",
    "UrdfWarning": "errors",
    "CacheNotTrusted": "errors",
}
_ROOMS = ("draw", "modelica", "problems", "studies")

__all__ = [*_HOME, *_ROOMS]


#: threads that import rooms at the same time, each from another end, would get half of them from each other
_IMPORTING = renewed(threading.RLock())
#: rooms that import the solvers when they are used
_LATER = ("ensembles", "studies", "sweeps")


if not TYPE_CHECKING:  # for whom every name would be one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOME and name not in _ROOMS:
            raise AttributeError(f"module 'dalembert' has no attribute '{name}'")
        room = _HOME.get(name, name)
        with _IMPORTING:
            if room.split(".")[0] in _LATER:
                importlib.import_module("dalembert.solvers")
            value = importlib.import_module(f"dalembert.{room}")
        if name in _HOME:
            value = getattr(value, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
