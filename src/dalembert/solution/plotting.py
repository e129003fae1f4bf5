"""Curves of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import ModelError, OptionError
from dalembert.model.namespace import explain_unknown
from dalembert.model.vocabulary import RESIDUALS as LEVELS
from dalembert.solution.state_view import StateView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dalembert.solution.solution import Solution

RESIDUALS = {f"{level} residual": level for level in LEVELS}


def plot(sol: Solution, names: tuple[str, ...], ax: Axes | None, against: str) -> Axes:
    """One line for each name; see `Solution.plot`."""
    names = names or sol._names.get("p") or sol._names.get("x") or sol.names
    residuals = [name for name in names if name in RESIDUALS and name not in sol]
    known = (*sol.names, *RESIDUALS)
    faults = [explain_unknown(str(name), known) for name in names if name not in known]
    if against != "t" and against not in sol:
        faults.append("against=: " + explain_unknown(str(against), ("t", *sol.names)))
    if faults:
        raise ModelError("this cannot be plotted", faults)
    if residuals and len(residuals) < len(names):
        raise OptionError("residuals are drawn logarithmically and variables are not: plot them on two axes")
    view: StateView = sol
    if not residuals and sol.trajectory.dense:
        view = StateView(*sol.trajectory.curve(), sol._slices, sol._names, sol.not_kept)
    curves = {name: _largest(sol.residual(RESIDUALS[name])) if residuals else view[name] for name in names}
    horizontal = view.t if against == "t" else view[against]

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
        ax.set_ylabel(_label(names[0]))
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
