"""Models as source files in other languages.

| module | holds |
|---|---|
| `content` | what is written of a model: equations, all constraints, derivatives, start values |
| `names`, `languages`, `statements` | identifiers; operations of Python, C and Fortran; tapes as statements |
| `write`, `in_python`, `in_c`, `in_fortran` | functions and tables of a model in a template |
| `templates/` | one driver, in three languages |
| `method` | the numbers of its method |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.errors import OptionError
from dalembert.model import Model

__all__ = ["LANGUAGES", "translate"]

#: languages, and how names of their files end
LANGUAGES = {"python": ".py", "c": ".c", "fortran": ".f90"}


def translate(
    model: Model,
    to: str,
    t_span: Sequence[float] | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    **start: Any,
) -> str:
    """A DAE as the text of a program that needs nothing but a compiler, or Python with NumPy.

    The program has the differential equations, the constraints of all levels, also those that the equations hide, their
    derivatives, start values, parameters as variables that can be edited, and a driver: it integrates with a method of
    order 5 (Radau) that keeps all constraints, and writes CSV.

    Parameters
    ----------
    model : QuasiLinearDAE or ImplicitDAE
        Modelica models (`dalembert.modelica.load`) are such ones; mechanical problems are as
        `dalembert.problems.naive(problem).model`.
    to : {"python", "c", "fortran"}
    t_span : (float, float)
        Start and end, which may be given to the program, too. A model with an experiment of its own needs none.
    rtol, atol : float
        Tolerances; by default those of the model's experiment, or 1e-6 and 1e-8.
    parameters : mapping
        Other values of parameters.
    x0, dx0 : array or mapping of names to values
        Start values, as in `simulate`.

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.ImplicitDAE(
    ...     x=["x", "y", "vx", "vy", "lam"], parameters={"L": 1.0},
    ...     residual=lambda s: [s.vx - s.x_dot, s.vy - s.y_dot, -s.lam * s.x - s.vx_dot, -s.lam * s.y - 9.81 - s.vy_dot,
    ...                         s.x**2 + s.y**2 - s.L**2])
    >>> text = da.translate(pendulum, "c", (0, 10), x0=[1, 0, 0, 0, 0])
    >>> [line.strip() for line in text.splitlines() if line.startswith("    h[0] = ")]
    ['h[0] = x * x + y * y - L * L; /* equation 5 (level 0) */']
    """
    from dalembert.export.content import content_of
    from dalembert.export.in_c import CWriter
    from dalembert.export.in_fortran import FortranWriter
    from dalembert.export.in_python import PythonWriter

    writers = {"python": PythonWriter, "c": CWriter, "fortran": FortranWriter}
    if not isinstance(to, str) or to not in writers:
        from dalembert.model.namespace import explain_unknown

        raise OptionError(f"to={to!r}: {explain_unknown(str(to), writers)}; languages are {', '.join(writers)}")
    return writers[to](content_of(model, t_span, start, rtol=rtol, atol=atol, parameters=parameters)).source()
