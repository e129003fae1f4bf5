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
from typing import Any

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


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"dalembert.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"dalembert.{name}")
    else:
        raise AttributeError(f"module 'dalembert' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
