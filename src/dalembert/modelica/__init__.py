"""Modelica text: from files to flat models.

| module | holds |
|---|---|
| `source` | text, tokens, places, errors with a caret |
| `tree` | the nodes of syntax trees |
| `parse_expressions`, `parse_behaviour`, `parse_classes`, `parser` | recursive descent, Modelica 3.6 |
| `printer`, `print_classes` | trees back to text |
| `cache` | trees on disk |
| `library` | classes by their full names, the search path, packages in directories |
| `modifiers`, `scopes`, `components` | classes with modifiers; lookup of names; instances and their variables |
| `values`, `operators`, `builtins` | numbers, arrays, records and trees, and what can be done with them |
| `references`, `calls`, `functions`, `running`, `evaluate` | expressions to values, or to trees of scalars |
| `connections`, `statements`, `behaviour`, `flattener` | connections, equations and algorithms of all instances |
| `flat`, `flat_functions`, `balance`, `print_flat` | the flat model, whether it is balanced, and its text |
| `symbolic/`, `lower/` | expressions, functions and algorithms on graphs; flat models to DAEs in symbols |
| `loading` | all the way from text to a model |

What is not supported is an error that names the construct and its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.model.dae import DAE
    from dalembert.modelica.flat import FlatModel

__all__ = ["flatten", "load"]


def load(
    model: str | Path,
    class_name: str | None = None,
    path: Iterable[str | Path] = (),
    parameters: Mapping[str, Any] | None = None,
) -> DAE:
    """The model of a Modelica class, ready for `dalembert.simulate`.

    All variables, parameters and constants are found by their Modelica names in the solution, also those that were
    eliminated. An experiment annotation makes ``t_span`` superfluous.

    Parameters
    ----------
    model : str or Path
        A file, the directory of a package, Modelica text, or the full name of a class on the search path.
    class_name : str, optional
        Which class; by default the last one of the text that is a model, block or class.
    path : iterable of str or Path
        Directories with packages, looked at before those of ``$MODELICAPATH``.
    parameters : mapping, optional
        Other values of parameters. ``simulate(model, parameters=...)`` takes them, too: most need nothing else; those
        on which the equations themselves depend, such as sizes, lead to another translation.

    Raises
    ------
    ModelicaError
        With file, line and column.

    Examples
    --------
    >>> import dalembert as da
    >>> ball = da.modelica.load('''
    ...   model Pendulum "in Cartesian coordinates, without any hidden constraint"
    ...     parameter Real L = 1, g = 9.81;
    ...     Real x(start = L, fixed = true), y, vx, vy(start = 0, fixed = true), F;
    ...   equation
    ...     der(x) = vx;  der(vx) = -F*x;
    ...     der(y) = vy;  der(vy) = -F*y - g;
    ...     x^2 + y^2 = L^2;
    ...     annotation(experiment(StopTime = 10));
    ...   end Pendulum;''')
    >>> sol = da.simulate(ball, rtol=1e-8)
    >>> bool(abs(sol["x"]**2 + sol["y"]**2 - 1).max() < 1e-8)
    True
    """
    from dalembert.modelica.loading import load as load_model

    return load_model(model, class_name, path, parameters)


def flatten(model: str | Path, class_name: str | None = None, path: Iterable[str | Path] = ()) -> FlatModel:
    """The flat model of a Modelica class: scalar variables and equations.

    Parameters
    ----------
    model : str or Path
        A file, the directory of a package, Modelica text, or the full name of a class on the search path.
    class_name : str, optional
        Which class; by default the last one of the text that is a model, block or class.
    path : iterable of str or Path
        Directories with packages, looked at before those of ``$MODELICAPATH``.

    Raises
    ------
    ModelicaError
        With file, line and column.

    Examples
    --------
    >>> flat = flatten("model Decay parameter Real k = 2; Real x(start = 1); equation der(x) = -k*x; end Decay;")
    >>> print(flat.to_modelica())
    class Decay
      parameter Real k = 2.0;
      Real x(start = 1);
    equation
      der(x) = -k * x;
    end Decay;
    """
    from dalembert.modelica.flattener import flatten_class, load

    library, name = load(model, class_name, path)
    return flatten_class(library, name)
