"""Models from `sympy.physics.mechanics`: equations that `KanesMethod` or `LagrangesMethod` has formed, in one call.

SymPy is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dalembert.checks import said
from dalembert.errors import DalembertError, ModelError
from dalembert.model.equations_of_motion import EquationsOfMotion
from dalembert.model.sympy_forms import Form, form_of
from dalembert.model.sympy_signals import Signals
from dalembert.model.sympy_signals import name_of as _name
from dalembert.model.sympy_signals import number as _number
from dalembert.model.vocabulary import OTHERS, VOCABULARY

#: names that mean something in the namespace of models; variables and parameters called like this get a line behind
RESERVED = frozenset((*OTHERS, *(kind for kind, about in VOCABULARY.items() if about.reserved))) - {"t"}


def from_sympy(
    method: Any,
    parameters: Mapping[Any, Any] | None = None,
    *,
    inputs: Mapping[Any, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    name: str = "model",
) -> EquationsOfMotion:
    """Equations of motion that SymPy has formed, as a model.

    Coordinates are positions, speeds are velocities, under their names; those that have a meaning in the namespace of
    models (u, v, r, s, p, …) get a line behind, ``u_``. Where kinematic equations have terms without speeds,
    q' = Z u + b, velocities are the derivatives of the coordinates, ``q_dot``. Auxiliary speeds are zero.

    Parameters
    ----------
    method : KanesMethod, LagrangesMethod, System or JointsMethod
        If its equations have not been formed yet and bodies and loads are known, they are.
    parameters : mapping of symbols (or their names) to numbers
    inputs : mapping of dynamic symbols (or their names) to functions of time, expressions of t, or numbers
        Those that are neither coordinates nor speeds.
    outputs : mapping of names to SymPy expressions or functions, optional
    start : mapping, optional
        As for `EquationsOfMotion`.
    name : str

    Examples
    --------
    A pendulum in Cartesian coordinates, by Lagrange's equations of the first kind:

    >>> import sympy, sympy.physics.mechanics as me
    >>> import dalembert as da
    >>> x, y = me.dynamicsymbols("x y")
    >>> m, g, L = sympy.symbols("m g L")
    >>> energies = m * (x.diff()**2 + y.diff()**2) / 2 - m * g * y
    >>> lagrange = me.LagrangesMethod(energies, [x, y], hol_coneqs=[x**2 + y**2 - L**2])
    >>> model = da.from_sympy(lagrange, {m: 1.0, g: 9.81, L: 1.0})
    >>> model
    EquationsOfMotion('model': 2 positions, 2 velocities, 1 holonomic constraint)
    >>> sol = da.simulate(model, (0, 1), p0=[1, 0])
    >>> sol.max_residual("position") < 1e-6
    True
    """
    try:
        from sympy.physics import mechanics
    except ImportError:
        raise DalembertError("from_sympy() needs SymPy; install it with: pip install sympy") from None
    try:
        form = form_of(method, mechanics)
    except DalembertError:
        raise
    except Exception as error:  # of SymPy, whose methods say what they miss
        raise ModelError(f"from_sympy: SymPy could not form the equations: {said(error)}") from error
    values = {key: _number(value) for key, value in _by_name(parameters, "parameters").items()}
    signals = Signals(_by_name(inputs, "inputs"))
    q, v = [_name(each) for each in form.q], [_name(each) for each in form.v]
    parts = signals.expressions(form.parts())
    given = {} if outputs is None else dict(_mapping(outputs, "outputs"))
    given = signals.expressions({key: _output(value, form) for key, value in given.items()})
    functions = signals.functions
    _must_be_known(parts, {*q, *v, *values, *functions, "t"})
    renamed = _Renamed([*q, *v, *values, *functions])
    extra = {"outputs": renamed.expressions(given), "start": start}
    return EquationsOfMotion(
        name=name, p=[renamed(each) for each in q], v=[renamed(each) for each in v],
        parameters={renamed(key): value for key, value in values.items()},
        inputs={renamed(key): value for key, value in functions.items()},
        **{role: renamed.expressions(value) for role, value in parts.items()},
        **{key: value for key, value in extra.items() if value},
    )  # fmt: skip


# -- names -------------------------------------------------------------------------------------------------------------


class _Renamed:
    """Names that are free in a model, and expressions with those."""

    def __init__(self, names: Iterable[str]):
        names = list(names)
        self._names = {name: self._free(name, names) for name in names if name in RESERVED}

    @staticmethod
    def _free(name: str, names: list[str]) -> str:
        while name in RESERVED or name in names:
            name += "_"
        return name

    def __call__(self, name: str) -> str:
        return self._names.get(name, name)

    def expressions(self, value: Any) -> Any:
        """Of lists, lists of lists, mappings; what is no expression stays."""
        if not self._names:
            return value
        if isinstance(value, list):
            return [self.expressions(entry) for entry in value]
        if isinstance(value, dict):
            return {key: self.expressions(entry) for key, entry in value.items()}
        import sympy
        from sympy.core.function import AppliedUndef

        if not isinstance(value, sympy.Basic | sympy.MatrixBase):
            return value
        others = {s: sympy.Symbol(self(s.name)) for s in value.free_symbols if s.name in self._names}
        for applied in value.atoms(AppliedUndef):
            if _name(applied) in self._names:
                others[applied] = sympy.Function(self(_name(applied)))(*applied.args)
        return value.xreplace(others)


# -- what is given -----------------------------------------------------------------------------------------------------


def _mapping(given: Any, what: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise ModelError(f"from_sympy: {what}= must be a mapping of symbols to values")
    return given


def _by_name(given: Mapping[Any, Any] | None, what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in _mapping(given, what).items() if given is not None else ():
        name = key if isinstance(key, str) else _name(key)
        if not isinstance(name, str):
            raise ModelError(f"from_sympy: {what}= has the key {key!r}; symbols and their names are keys")
        if name in found:
            raise ModelError(
                f"from_sympy: {what}= has two symbols of the name '{name}', which differ in what is assumed of them "
                "(positive=True, …); a model knows them by their names: rename one"
            )
        found[name] = value
    return found


def _output(value: Any, form: Form) -> Any:
    import sympy

    if isinstance(value, list | tuple):
        return [_output(entry, form) for entry in value]
    return form.replace(value) if isinstance(value, sympy.Basic | sympy.MatrixBase) else value


def _must_be_known(parts: Mapping[str, Any], known: set[str]) -> None:
    """Raise ModelError with the names of all symbols that have no value."""
    import sympy
    from sympy.core.function import AppliedUndef

    constants, functions = set(), set()
    for role in ("mass", "force", "kinematics", "holonomic", "nonholonomic"):
        for entry in _entries(parts.get(role, ())):
            expression = sympy.sympify(entry)
            functions |= {_name(f) for f in expression.atoms(AppliedUndef)}
            constants |= {str(s) for s in expression.free_symbols}
    faults = [f"parameters: '{name}' has no value" for name in sorted(constants - known)]
    faults += [
        f"inputs: '{name}(t)' is neither a coordinate nor a speed, and is not given"
        for name in sorted(functions - known)
    ]
    if faults:
        raise ModelError("the equations have symbols without values", faults)


def _entries(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _entries(item)
    else:
        yield value
