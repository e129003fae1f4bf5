"""Curves of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
#: diagrams of their own: what is missing where a result has none
DIAGRAMS = {
    "residuals": "the model has no constraints, or was not loaded with the result",
    "step size": "single points were kept only; use simulate(..., dense_output=True)",
    "order": "it is noted for methods of variable order by simulate(..., trace=True)",
    "energy": "the model has no output of this name; give it one, outputs={'energy': lambda s: ...}",
}


def plot(sol: Solution, names: tuple[str, ...], ax: Axes | None, against: str) -> Axes:
    """One line for each name; see `Solution.plot`."""
    names = names or sol._names.get("p") or sol._names.get("x") or sol.names
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise ModelError("this cannot be plotted", [explain_unknown(wrong[0], (*sol.names, *sol.output_names))])
    if len(names) == 1 and names[0] in DIAGRAMS and names[0] not in sol:
        return diagram(sol, names[0], ax)
    residuals = [name for name in names if name in RESIDUALS and name not in sol]
    known = (*sol.names, *sol.output_names, *RESIDUALS, *DIAGRAMS)
    alone = [name for name in names if name in DIAGRAMS and name not in sol]
    if alone:
        raise OptionError(f"'{alone[0]}' is a diagram of its own: plot it on other axes than {', '.join(names)}")
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


def diagram(sol: Solution, name: str, ax: Axes | None) -> Axes:
    """Residuals of all levels, step sizes, orders, or energies over time."""
    from dalembert.viewer import pictures

    make = {"residuals": pictures.residuals, "step size": pictures.step_sizes, "order": pictures.orders}
    found = make.get(name, pictures.energy)(sol)
    if found is None:
        raise OptionError(f"'{name}' cannot be plotted: {DIAGRAMS[name]}")
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    style: dict[str, Any] = {"drawstyle": "steps-pre"} if name in ("step size", "order") else {}
    for label, values in found.curves.items():
        ax.plot(found.t, np.where(values > 0, values, np.nan) if found.log else values, label=_label(label), **style)
    if found.log:
        ax.set_yscale("log")
    ax.set_xlabel("t")
    ax.set_ylabel(_label(found.title))
    if len(found.curves) > 1:
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
