"""Every exception and warning of the package. All derive from `DalembertError`.

A message says what happened, where (time, variable or equation by name), and what to do about it.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any


class DalembertError(Exception):
    """Base of all exceptions raised on purpose by this package."""


class ModelError(DalembertError, ValueError):
    """A model, or the data given for it, is faulty. `faults` lists every fault that was found."""

    def __init__(self, what: str, faults: list[str] | tuple[str, ...] = ()):
        self.faults = tuple(faults)
        lines = "".join(f"\n  - {fault}" for fault in self.faults)
        super().__init__(what + (":" + lines if lines else ""))


class UrdfError(ModelError):
    """A robot description (URDF) is faulty. `path` is its file or None, `line` that of the first fault or None.

    The message shows the first 50 faults; `faults` has all of them.
    """

    def __init__(self, what: str, faults: list[str] | tuple[str, ...] = (), path: Any = None, line: int | None = None):
        more = len(faults) - 50
        super().__init__(what, [*faults[:50], f"… and {more} more"] if more > 0 else faults)
        self.faults, self.path, self.line = tuple(faults), path, line


class StructurallySingular(ModelError):
    """The equations of a DAE cannot determine its unknowns, whatever numbers stand in them.

    Attributes
    ----------
    overdetermined : tuple of (equations, unknowns)
        Names of equations that contain fewer unknowns than they are, and of these unknowns.
    underdetermined : tuple of (equations, unknowns)
        Names of unknowns of which fewer equations know than there are unknowns, and of these equations.
    """

    def __init__(
        self,
        what: str,
        faults: list[str] | tuple[str, ...] = (),
        overdetermined: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (),
        underdetermined: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (),
    ):
        super().__init__(what, faults)
        self.overdetermined, self.underdetermined = overdetermined, underdetermined


class NumericallySingular(ModelError):
    """The equations of a DAE determine less than their structure promises: some depend on each other, or terms cancel.

    `equations` and `variables` are the names of those behind it.
    """

    def __init__(
        self,
        what: str,
        faults: list[str] | tuple[str, ...] = (),
        equations: tuple[str, ...] = (),
        variables: tuple[str, ...] = (),
    ):
        super().__init__(what, faults)
        self.equations, self.variables = equations, variables


class ModelicaError(ModelError):
    """Modelica text is faulty, or says something that is not supported.

    Attributes
    ----------
    path : str or None
        The file; None if the text came from elsewhere.
    line, column : int or None
        Where it is, counted from 1.
    excerpt : str
        That line, with a caret under the place.
    suggestion : str or None
        What may have been meant, or what to do.
    """

    def __init__(
        self,
        message: str,
        path: Any = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str = "",
        suggestion: str | None = None,
    ):
        self.path, self.line, self.column = path, line, column
        self.excerpt, self.suggestion = excerpt, suggestion
        place = "" if line is None else f"{path or 'Modelica text'}:{line}:{column}: "
        super().__init__("\n".join(filter(None, [place + message, excerpt, suggestion and f"  {suggestion}"])))


class CannotAssemble(ModelError):
    """Bodies and joints cannot be put together: a loop does not close, or known values contradict each other.

    Attributes
    ----------
    joint : str or None
        The joint (or coupling, or known value) with the largest gap.
    distance, angle : float
        Its gap in the nearest configuration.
    values : tuple of str
        Names of known values of which leaving one out would help.
    assembly : Assembly or None
        The nearest configuration.
    """

    def __init__(
        self,
        message: str,
        joint: str | None = None,
        distance: float = 0.0,
        angle: float = 0.0,
        values: tuple[str, ...] = (),
        assembly: Any = None,
    ):
        super().__init__(message)
        self.joint, self.distance, self.angle = joint, distance, angle
        self.values, self.assembly = values, assembly


class NoEquilibrium(DalembertError):
    """No position was found in which all forces balance."""


class OptionError(DalembertError, ValueError):
    """An option or argument is unknown or has an impossible value."""


class UntraceableError(DalembertError, TypeError):
    """A model function did something with a symbol that only numbers can do (a branch, `float(x)`, a table)."""


class StepRefused(DalembertError):
    """To be raised by a user's function that cannot be evaluated here: the method takes a smaller step."""


class SimulationError(DalembertError):
    """A simulation could not be finished. `solution` holds everything computed until then (or None)."""

    def __init__(self, message: str, solution: Any = None):
        super().__init__(message)
        self.solution = solution


class InconsistentInitialValues(SimulationError):
    """The start values violate the constraints and could not, or should not, be corrected."""


class IndexTooHigh(SimulationError):
    """The equations of a DAE have a higher index than the method can treat; the message names who is behind it."""


class StepSizeTooSmall(SimulationError):
    """No step size leads on: it fell below what numbers near t can resolve, or too many attempts in a row failed."""


class TooManySteps(SimulationError):
    """The limit on the number of steps was reached before the end of the interval."""


class SingularMatrix(SimulationError):
    """The iteration matrix is singular whatever the step size; the message names the equation or variable behind it."""


class RedundantConstraints(SingularMatrix):
    """Constraints depend on each other, and the decomposition that was chosen cannot deal with that."""


class IllPosedConstraints(SingularMatrix, InconsistentInitialValues):
    """Constraints that are in force together contradict each other, as where a surface has an edge.

    `constraints` are the names of those behind it, as the message has them.
    """

    def __init__(self, message: str, solution: Any = None, constraints: tuple[str, ...] = ()):
        super().__init__(message, solution)
        self.constraints = constraints


class SingularConfiguration(SimulationError):
    """The rank of the constraints changes: the mechanism is in a singular position."""


class ContactError(SimulationError):
    """Contacts cannot be treated as they are; the message names them. `contact` is the name of one of them."""

    def __init__(self, message: str, contact: str | None = None, solution: Any = None):
        super().__init__(message, solution)
        self.contact = contact


class PenetratingStart(ContactError, InconsistentInitialValues):
    """At the start, or after the action of an event, a gap is negative."""


class PainleveParadox(ContactError):
    """Coulomb's friction and rigid bodies contradict each other: no contact force fits while a contact slides."""


class ComplementarityFailed(SimulationError):
    """No forces or impulses were found that satisfy the conditions of contact.

    Attributes
    ----------
    contact : int or None
        Number of the contact (block) behind it, counted from 0.
    reason : str
        "ray": the path of the method goes to infinity, as where there is no solution (Painlevé); "iterations": the
        limit was reached, or rounding errors let no better answer through.
    """

    def __init__(self, message: str, contact: int | None = None, reason: str = "iterations", solution: Any = None):
        super().__init__(message, solution)
        self.contact, self.reason = contact, reason


class UnsettledEvent(SimulationError):
    """At an event of a hybrid DAE no truth values of relations and discrete variables were found that agree."""


class Chattering(SimulationError):
    """A relation of a hybrid DAE changes again and again while time stands still; `relation` names it."""

    def __init__(self, message: str, relation: str | None = None, solution: Any = None):
        super().__init__(message, solution)
        self.relation = relation


class AssertionFailed(SimulationError):
    """An assertion of the model does not hold. `name` says which one."""

    def __init__(self, message: str, name: str | None = None, solution: Any = None):
        super().__init__(message, solution)
        self.name = name


class AssertionWarning(UserWarning):
    """An assertion of the model that is only to be warned of does not hold."""


class FunctionFailed(SimulationError):
    """A user's function raised an exception, or returned a wrong shape or a value that is not finite."""


class Interrupted(SimulationError, KeyboardInterrupt):
    """Ctrl-C. `solution` holds everything computed until then."""


class NoDevice(DalembertError, RuntimeError):
    """There is no GPU that can be used, or it has refused something."""


class FileError(DalembertError, OSError):
    """A result file cannot be written or read, or is damaged. `path` is that file, `errno` the system's reason."""

    def __init__(self, message: str, path: Any = None, errno: int | None = None):
        super().__init__(message)
        self.path, self.errno = path, errno


class FileMissing(FileError, FileNotFoundError):
    """There is no file of this name."""


class NotKept(DalembertError, AttributeError):
    """A result was asked for a vector of which ``Output(components=...)`` has not kept every component."""


class CheckpointFailed(UserWarning):
    """``checkpoint=`` could not be written. The simulation goes on; `solution` is what should have been saved."""

    def __init__(self, message: str, solution: Any = None):
        super().__init__(message)
        self.solution = solution


class UntraceableWarning(UserWarning):
    """A model function could not be traced; it runs as Python code, with finite differences, and slower."""


class InitialValuesCorrected(UserWarning):
    """Start values that were given have been changed noticeably to satisfy the constraints."""


class HighIndex(UserWarning):
    """The equations of a DAE have a higher index than the method is made for."""


class DerivativeJumps(UserWarning):
    """A hidden constraint of a DAE is the derivative of a function with a kink, so that what follows from it jumps."""


class StepMissedTolerance(UserWarning):
    """Steps of the smallest size that the user allows were accepted although their error was too large."""


class ContactsNotSolved(UserWarning):
    """Steps were taken although the impulses of their contacts had not settled to the tolerance."""


class UrdfWarning(UserWarning):
    """A robot description (URDF) was read although something in it is doubtful; the message names it and its line."""


class CacheNotTrusted(UserWarning):
    """The directory of compiled code is not the user's alone, and therefore not used."""


def warn_user(message: str | Warning, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called into the package, however deep inside this happens.

    `message` may be a warning object, which then decides on the category.
    """
    package = str(Path(__file__).parent)
    level, frame = 2, sys._getframe(1)  # level 1 would be this function
    while frame is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
