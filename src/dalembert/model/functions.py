"""A model's functions: traced into a CasADi graph where possible, kept as Python code where not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, reals, said, shown
from dalembert.errors import UntraceableError, UntraceableWarning, warn_user
from dalembert.model.expression import to_sx
from dalembert.model.namespace import Namespace, UnknownName
from dalembert.model.sympy_bridge import is_sympy, sympy_to_expr

if TYPE_CHECKING:
    from dalembert.model.native import NativeFunction


@dataclass(frozen=True)
class ModelFunction:
    """What a user gave for one role (`force`, `holonomic`, …).

    `sx` is the traced value, or None if the function is `native` or runs as Python code; `reason` then says why. `ndim`
    is the number of dimensions of what the user returned: a mass given as a vector means a diagonal.
    """

    role: str
    shape: tuple[int, int]
    ndim: int
    sx: ca.SX | None
    python: Callable[[Namespace], Any] | None = None
    reason: str | None = None
    native: NativeFunction | None = None  # machine code in place of both
    applied: ca.SX | None = None  # its traced argument
    chosen: tuple[int, ...] | None = None  # rows of the native function that are in force; None: all

    @property
    def traced(self) -> bool:
        return self.sx is not None


def describe(role: str, function: Any) -> str:
    """Name a user's function for a message: role, and file and line if there is one."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f"{role} (line {code.co_firstlineno} of {code.co_filename})" if code else role


def call_with_symbols(function: Any, namespace: Namespace) -> tuple[ca.SX, int]:
    """Trace: return the SX matrix and the number of dimensions of what the function returned."""
    value = function(namespace) if callable(function) else function
    if is_sympy(value):
        value = sympy_to_expr(value, namespace._lookup)
    return to_sx(value)


def call_with_numbers(function: Callable, namespace: Namespace) -> np.ndarray:
    """Evaluate an untraceable function; the result is a float array of one or two dimensions."""
    value = numbers_of(function(namespace))
    return value.reshape(-1) if value.ndim == 0 else value


def numbers_of(value: Any) -> np.ndarray:
    """A float array of what a user's function returned. NumPy alone would take None for NaN, and text for numbers."""
    if value is None:
        raise TypeError("it returned None; is a `return` missing?")
    try:
        return reals(value)
    except NoNumber as reason:
        why = "" if "is not" in str(reason) else f", which {reason}"
        raise TypeError(f"it returned {shown(value)}{why}; return real numbers, as a list or an array") from None


def warn_untraceable(where: str, reason: str) -> None:
    """Tell the user which function runs as Python code, and why."""
    warn_user(
        f"{where} cannot be traced and runs as Python code with finite differences, which is slower. Reason: {reason}",
        UntraceableWarning,
    )


def trace(
    role: str, function: Any, symbols: Namespace, samples: Callable[[], list[Namespace]], faults: list[str]
) -> ModelFunction | None:
    """Trace `function`; failing that, try it with numbers and keep it as Python code. Faults are collected.

    `samples()` returns namespaces at sample points; the function counts as evaluable if one of them works.
    """
    where = describe(role, function)
    try:
        sx, ndim = call_with_symbols(function, symbols)
        return ModelFunction(role, sx.shape, ndim, sx)
    except UnknownName as unknown:
        faults.append(f"{where}: {unknown}")
        return None
    except Exception as error:
        reason = said(error).splitlines()[0]
        traceable = isinstance(error, UntraceableError)
    if not callable(function):
        faults.append(f"{where}: {reason}")
        return None
    failure: Exception | None = None
    for namespace in samples():
        try:
            value = call_with_numbers(function, namespace)
        except UnknownName as unknown:
            faults.append(f"{where}: {unknown}")
            return None
        except Exception as error:
            failure = error
            continue
        if value.ndim > 2:
            faults.append(f"{where}: returned an array of {value.ndim} dimensions; return a vector or a matrix")
            return None
        shape = value.shape if value.ndim == 2 else (value.size, 1)
        warn_untraceable(where, reason)
        return ModelFunction(role, shape, value.ndim, None, function, reason)
    # what it does with symbols is worth telling only where it differs from what it does with numbers
    message = said(failure)
    hint = "" if traceable or message.startswith(reason) else f" (with symbols: {reason})"
    faults.append(f"{where}: {message}{hint}")
    return None
