"""Flat models to DAEs in symbols.

| module | holds |
|---|---|
| `atoms`, `linear` | unknowns and derivatives in trees; equations as sums |
| `symbols` | the symbols of a translation, the discrete part of θ |
| `parameters` | values of parameters: numbers, symbols, expressions |
| `classify`, `fold` | discrete variables and their equations; choices that parameters make |
| `eliminate`, `continuous` | unknowns that follow from others; values, derivatives, residuals |
| `context`, `watch` | what names, relations and operators mean; what makes events |
| `whens`, `order` | what happens at events, and in which order |
| `start` | start values, fixed ones, initial equations |
| `translate`, `assemble` | the way through all of these |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.model.hybrid import SymbolicDAE
    from dalembert.modelica.flat import FlatModel


def lower(flat: FlatModel, parameters: Mapping[str, Any] | None = None) -> SymbolicDAE:
    """The DAE in symbols of a flat model, with other values of parameters if wanted.

    Raises
    ------
    ModelicaError
        With the place in the text.

    Examples
    --------
    >>> from dalembert.modelica import flatten
    >>> flat = flatten("model M parameter Real k = 2; Real x(start = 1), y = 3*x; equation der(x) = -k*x; end M;")
    >>> dae = lower(flat)
    >>> dae.residual, dae.symbols.x_names, dict(dae.outputs)
    (SX((der(x)+(k*x))), ('x',), {'y': SX((3*x))})
    """
    from dalembert.modelica.lower.translate import Translation
    from dalembert.modelica.parser import collector_paused, room_for_depth

    with room_for_depth(), collector_paused():
        return Translation(flat, parameters or {}).run()
