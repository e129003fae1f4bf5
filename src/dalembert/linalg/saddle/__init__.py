"""Solvers of saddle-point systems. What is used directly, `solve_saddle` and `SaddlePattern`, is imported at first use:
options of methods name the solvers without loading their kernels."""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {"SaddlePattern": "solver", "solve_saddle": "saddle"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
