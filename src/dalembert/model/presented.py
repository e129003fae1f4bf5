"""Models as HTML: what notebooks show, and what reports begin with."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.model.typeset import Equation, equations, identifier, typeset
from dalembert.model.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from dalembert.model.base import Model

#: rows of a mass matrix, or entries of a vector, that are written out
MOST_ROWS = 40
#: the same in notebooks
FEW_ROWS = 12

STYLE = """
.da-model{font:14px/1.5 system-ui,sans-serif;max-width:60em}
.da-model table{border-collapse:collapse;font-size:.92em}
.da-model td,.da-model th{padding:.15em .7em;text-align:left;border:0;border-bottom:1px solid rgb(128 128 128 / .25)}
.da-model .da-equation{overflow-x:auto;overflow-y:hidden;margin:.25em 0;text-align:left}
.da-model math[display=block]{text-align:left;margin-left:1em;width:max-content}
.da-model summary{cursor:pointer}
""".strip()

#: roles of functions: the title of the section, and the left-hand side of a row by the name of its variable
_SECTIONS = {
    "kinematics": ("Kinematics", None),
    "force": ("Forces f", None),
    "dynamics": ("Dynamic force elements", "r"),
    "auxiliary": ("Auxiliary equations", None),
    "contact_points": ("Contact points", None),
    "holonomic": ("Constraints on positions", "lam"),
    "nonholonomic": ("Constraints on velocities", "mu"),
    "invariant": ("Invariants", None),
    "rhs": ("Right-hand sides k", None),
    "constraints": ("Constraints", None),
    "residual": ("Equations", None),
}


def model_html(model: Model) -> str:
    """A short page about a model, for notebooks."""
    parts = [f"<style>{STYLE}</style>", f"<p><b>{escape(repr(model))}</b></p>", variables_html(model)]
    parts += [f"<h4>{title}</h4>{body}" for title, body in sections(model, FEW_ROWS)]
    if model.graph.parameters:
        parts.append(f"<details><summary>Parameters</summary>{parameters_html(model.parameters)}</details>")
    return f'<div class="da-model">{"".join(parts)}</div>'


def variables_html(model: Model) -> str:
    """Names of all unknowns by kind."""
    rows = []
    for kind in model.state_kinds:
        names = model.names(kind)
        if names:
            listed = ", ".join(f"<math>{identifier(name)}</math>" for name in names[:24])
            more = f", … ({len(names)})" if len(names) > 24 else ""
            rows.append(f"<tr><th>{escape(VOCABULARY[kind].title)}</th><td>{listed}{more}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def parameters_html(parameters: dict[str, Any]) -> str:
    """Values of parameters by name."""
    rows = "".join(
        f"<tr><th><math>{identifier(name)}</math></th><td><code>{escape(name)}</code></td><td>{_value(value)}</td></tr>"
        for name, value in parameters.items()
    )
    return f"<table>{rows}</table>"


def _value(value: Any) -> str:
    if np.ndim(value) == 0:
        return f"{float(value):.10g}"
    flat = np.ravel(value)
    listed = ", ".join(f"{x:.6g}" for x in flat[:9])
    return escape(f"[{listed}{', …' if flat.size > 9 else ''}]")


def sections(model: Model, most: int = MOST_ROWS) -> Iterator[tuple[str, str]]:
    """Titles, and equations as HTML."""
    functions = model.graph.functions
    matrix = "mass" if "mass" in functions else "leading" if "leading" in functions else None
    if matrix is not None:
        title = "Mass matrix M" if matrix == "mass" else "Leading matrix E"
        yield title, matrix_html(model, functions[matrix], "M" if matrix == "mass" else "E", most)
    for role, (title, names) in _SECTIONS.items():
        function = functions.get(role)
        if function is None:
            continue
        if role == "kinematics":
            rows, columns = function.shape
            own = not function.traced or rows != columns or not _is_identity(function.sx)
            if own:
                yield title, matrix_html(model, function, "Z", most)
            continue
        if not function.traced:
            yield title, "<p>in machine code or as a Python function; it has no formula</p>"
            continue
        yield title, rows_html(model, function.sx, _lefts(model, role, names, function.sx.numel()), most)


def _is_identity(matrix: ca.SX) -> bool:
    return ca.is_equal(ca.sparsify(matrix), ca.SX.eye(matrix.shape[0]), 1)


def _lefts(model: Model, role: str, names: str | None, count: int) -> list[str]:
    """Left-hand sides of the rows of a function."""
    if role == "force":
        names = [name.removesuffix("_dot") for name in model.names("v")]
        return [f"<msub><mi>f</mi>{identifier(name)}</msub>" for name in names]
    if role == "dynamics":
        return [identifier(f"{name}_dot") for name in model.names("r")]
    if role == "rhs":
        return [f"<msub><mi>k</mi><mn>{k + 1}</mn></msub>" for k in range(count)]
    return ["<mn>0</mn>"] * count


def rows_html(model: Model, expression: ca.SX, lefts: list[str], most: int = MOST_ROWS) -> str:
    """Rows of a column as equations, with what they share."""
    found = typeset(model.graph, expression[:most] if expression.numel() > most else expression)
    if found is None:
        return f"<p>{expression.numel()} expressions, too long to be written out</p>"
    shown = equations(lefts[: len(found.rows)], found)
    return _listed(shown, found.named, expression.numel() - len(shown))


def matrix_html(model: Model, function: Any, letter: str, most: int) -> str:
    """Entries of a matrix that are not zero; those of a diagonal as such."""
    if not function.traced:
        return "<p>in machine code or as a Python function; it has no formula</p>"
    expression = function.sx
    if function.ndim == 1 or min(expression.shape) == 1:
        expression = ca.diag(ca.vec(expression))
    sparse = ca.sparsify(expression)
    places = list(zip(*sparse.sparsity().get_triplet(), strict=True))
    if letter == "M":  # symmetric: one half says it all
        keep = [k for k, (i, j) in enumerate(places) if i <= j]
    else:
        keep = list(range(len(places)))
    values = ca.vertcat(ca.SX(0, 1), *(sparse.nz[k] for k in keep[:most]))
    if not keep:
        return "<p>zero</p>"
    found = typeset(model.graph, values)
    if found is None:
        return f"<p>{len(places)} entries, too long to be written out</p>"
    lefts = [
        f"<msub><mi>{letter}</mi><mrow><mn>{i + 1}</mn><mo>,</mo><mn>{j + 1}</mn></mrow></msub>"
        for i, j in (places[k] for k in keep[:most])
    ]
    return _listed(equations(lefts, found), found.named, len(keep) - min(len(keep), most))


def _listed(shown: list[Equation], named: list[Equation], left_out: int) -> str:
    parts = [one.html() for one in shown]
    if left_out:
        parts.append(f"<p>… and {left_out} more</p>")
    if named:
        inner = "".join(one.html() for one in named)
        parts.append(f"<details><summary>with {len(named)} shared parts</summary>{inner}</details>")
    return "".join(parts)
