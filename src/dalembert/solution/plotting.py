"""Curves of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import ModelError, OptionError
from dalembert.model.namespace import explain_unknown
from dalembert.model.vocabulary import RESIDUALS as LEVELS
from dalembert.solution.outputs import entries
from dalembert.solution.state_view import StateView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dalembert.solution.solution import Solution

RESIDUALS = {f"{level} residual": level for level in LEVELS}


def plot(sol: Solution, names: tuple[str, ...], ax: Axes | None, against: str) -> Axes:
    """One line for each name; see `Solution.plot`."""
    names = names or sol._names.get("p") or sol._names.get("x") or sol.names
    residuals = [name for name in names if name in RESIDUALS and name not in sol]
    known = (*sol.names, *sol.output_names, *RESIDUALS)
    faults = [explain_unknown(str(name), known) for name in names if name not in sol and name not in RESIDUALS]
    if against != "t" and against not in sol:
        faults.append("against=: " + explain_unknown(str(against), ("t", *sol.names, *sol.output_names)))
    if faults:
        raise ModelError("this cannot be plotted", faults)
    if residuals and len(residuals) < len(names):
        raise OptionError("residuals are drawn logarithmically and variables are not: plot them on two axes")
    view: StateView = sol if residuals else sol._curve()
    curves: dict[str, np.ndarray] = {}
    for name in names:
        values = _largest(sol.residual(RESIDUALS[name])) if residuals else view[name]
        curves |= entries(name, values, len(view.t))
    horizontal = view.t if against == "t" else view[against]
    if horizontal.ndim > 1:
        raise OptionError(f"against='{against}' is an output of shape {horizontal.shape[1:]}; take a scalar")

    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    # a few single points are better seen as such
    marker = "." if len(horizontal) < 50 else ""
    for name, curve in curves.items():
        ax.plot(horizontal, curve, marker=marker, label=_label(name))
    if residuals:
        ax.set_yscale("log")
    ax.set_xlabel(_label(against))
    if len(curves) == 1:
        ax.set_ylabel(_label(next(iter(curves))))
    else:
        ax.legend()
    return ax


def _label(name: str) -> str:
    r"""A name as a label: formulas between dollar signs are set if they are formulas, anything else is shown as it is.

    >>> _label(r"$\beta$"), _label(r"$\frac{1}$"), _label("2$")
    ('$\\beta$', '\\$\\frac{1}\\$', '2\\$')
    """
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    text = name.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    if is_math_text(text):
        try:
            MathTextParser("path").parse(text)
            return text
        except (ValueError, RuntimeError):
            pass
    # labels that begin with an underscore are left out of legends
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def _largest(residual: np.ndarray) -> np.ndarray:
    """The largest in each row; exact zeros, which a logarithmic axis cannot show, become gaps."""
    largest = np.abs(residual).max(axis=1, initial=0.0)
    return np.where(largest > 0, largest, np.nan)
