"""Native functions: functions of a model that are machine code over flat arrays.

A `NativeFunction` names its code by data: a *recipe*, the place of a Python function that makes machine code for this
data when it is first needed, in whatever process. Nothing is traced and nothing grows with the size of the model: in
the graph the function stands as external symbols, in sparse patterns, and ports call its code where they need numbers.

What a function gives are *quantities*, by name:

| quantity | meaning | reads |
|---|---|---|
| value | the function itself; for mass and kinematics the nonzeros of the matrix | `reads` |
| by p, by v, … | derivative of the value by a vector, its nonzeros | `reads` |
| first, second | of constraints: derivatives along the flow, velocities held | `reads`, v |
| first | of kinematics: (dZ/dt) v | p, v |
| rate | of kinematics: p' = Z v | p, v |
| with a | of the force: M a − f, the force that is missing for the acceleration a | `reads`, a |
| Q by k | derivative of the quantity Q (of its nonzeros if it is a matrix) by a vector | as Q |

Derivatives that are needed and not given are differences, evaluated in groups of columns.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.locks import renewed

if TYPE_CHECKING:
    from dalembert.model.graph import Graph

Pattern = tuple[np.ndarray, np.ndarray]  # rows, columns
#: what functions in these roles may be; all others run through the graph
ROLES = ("force", "mass", "kinematics", "holonomic", "nonholonomic", "dynamics", "invariant")
#: the argument beside vectors of the model: what `applied=` returns
APPLIED = "applied"


@dataclass(frozen=True)
class Code:
    """What a recipe makes: machine code for quantities, and what it works on.

    Parameters
    ----------
    addresses : mapping of str to int
        For each quantity that is given the address of
        ``int32 native(double t, double *x, double *theta, double *out, void *record)``. `x` holds the vectors that
        the quantity reads, one after the other, `theta` parameters, discrete variables and inputs. It returns 0, or 1
        where it cannot be evaluated, and may be called by several threads at once.
    record : int
        The address that is handed on.
    keep : object
        Whatever must live as long as the addresses are used.
    scratch : mapping of str to int, optional
        Numbers of work space that a quantity needs: they stand in `out`, behind the results.
    together : mapping of tuples of str to int, optional
        Addresses of code for several quantities at once, which writes one after the other: it is called where all of
        them are needed.
    """

    addresses: Mapping[str, int]
    record: int = 0
    keep: Any = None
    scratch: Mapping[str, int] = field(default_factory=dict)
    together: Mapping[tuple[str, ...], int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class NativeFunction:
    """A function of a model that is machine code.

    Parameters
    ----------
    recipe : str
        ``"package.module:name"`` of a function ``name(data, theta)`` that returns a `Code`. `theta` maps names of
        parameters, discrete variables and inputs (u, u_dot) to their places in θ (slices).
    data : object
        What the recipe works on; it must be possible to pickle it.
    gives : mapping
        Name of the quantity → rows and columns of its nonzeros, in the order in which the code writes them, for
        matrices (also mass and kinematics); None for vectors.
    reads : sequence of str
        The vectors that the value depends on.
    applied : callable, optional
        A function of the namespace, traced as others are, whose values the code gets behind the vectors: forces that
        users write, for example. Derivatives by them are "by applied".
    moves : bool
        Whether the time or inputs occur in it.
    rows : int, optional
        Length of the vector, where the model does not know it: the number of constraints, or of invariants.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.model.native import NativeFunction
    >>> chain = NativeFunction("my_package.chains:springs", {"stiffness": 3.0}, gives={"value": None})
    >>> da.EquationsOfMotion(p=["x", "y"], mass=[1.0, 1.0], force=chain)
    EquationsOfMotion('model': 2 positions, 2 velocities)
    """

    recipe: str
    data: Any
    gives: Mapping[str, Pattern | None]
    reads: Sequence[str] = ("p", "v")
    applied: Callable[[Any], Any] | None = None
    moves: bool = False
    rows: int | None = None
    _codes: dict = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=lambda: renewed(threading.Lock()), init=False, repr=False)

    def __post_init__(self) -> None:
        faults = []
        module, _, name = self.recipe.partition(":") if isinstance(self.recipe, str) else ("", "", "")
        if not (module and name):
            faults.append(f"recipe={shown(self.recipe)}: give 'package.module:name' of a function that makes the code")
        if not isinstance(self.gives, Mapping) or "value" not in self.gives:
            faults.append(f"gives={shown(self.gives)}: give a mapping with at least 'value'")
        if faults:
            raise ModelError("a native function has faults", faults)
        object.__setattr__(self, "reads", tuple(self.reads))
        gives = {what: None if p is None else _whole_pattern(what, p) for what, p in self.gives.items()}
        object.__setattr__(self, "gives", gives)

    def __repr__(self) -> str:
        return f"NativeFunction({self.recipe!r}, gives {', '.join(self.gives)})"

    def __getstate__(self) -> dict[str, Any]:
        """Code is made anew at the other end; what `applied` returns travels with the graph."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_codes", "_lock", "applied")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, applied=None, _codes={}, _lock=renewed(threading.Lock()))

    def code(self, graph: Graph) -> Code:
        """The machine code, made once for each layout of θ."""
        theta = graph.theta_places()
        key = tuple((name, part.start, part.stop) for name, part in theta.items())
        with self._lock:
            if key not in self._codes:
                self._codes[key] = _make(self.recipe, self.data, theta)
            return self._codes[key]

    def arguments(self, what: str, has_applied: bool) -> tuple[str, ...]:
        """The vectors that a quantity reads, in the order in which the code gets them."""
        reads = self.reads
        if what.startswith(("first", "second", "rate")) and "v" not in reads:
            reads = (*reads, "v")
        if what.startswith("with a"):
            reads = (*reads, "a")
        return (*reads, APPLIED) if has_applied else reads


def _whole_pattern(what: str, given: Any) -> Pattern:
    try:
        rows, columns = (np.ascontiguousarray(part, np.int64).ravel() for part in given)
    except (TypeError, ValueError):
        rows, columns = np.zeros(0, np.int64), np.zeros(1, np.int64)
    if len(rows) != len(columns):
        raise ModelError("a native function has faults", [f"gives: '{what}' needs rows and columns of its nonzeros"])
    return rows, columns


def _make(recipe: str, data: Any, theta: Mapping[str, slice]) -> Code:
    module, _, name = recipe.partition(":")
    try:
        make = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ModelError(
            f"the code of a native function was not found: recipe '{recipe}' ({error}); install the package that has it"
        ) from error
    return make(data, theta)
