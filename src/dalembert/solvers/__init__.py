"""Methods: one file each with its options; kernels are imported at first use."""

from __future__ import annotations

import difflib
import functools
from typing import Any

from dalembert.checks import shown
from dalembert.errors import OptionError
from dalembert.model import Model
from dalembert.model.native_blocks import lacks_derivatives
from dalembert.solvers.dassl import Dassl
from dalembert.solvers.geoms import Geoms
from dalembert.solvers.hedop5 import Hedop5
from dalembert.solvers.hem5 import Hem5
from dalembert.solvers.method import MethodOptions
from dalembert.solvers.mexx import Mexx
from dalembert.solvers.moreau_jean import MoreauJean
from dalembert.solvers.odassl import Odassl
from dalembert.solvers.phem56 import Phem56
from dalembert.solvers.qualidaes import Qualidaes
from dalembert.solvers.radau5 import Radau5
from dalembert.solvers.rkf45 import Rkf45

#: names for simulate(method=...)
METHODS: dict[str, type[MethodOptions]] = {
    "dassl": Dassl,
    "geoms": Geoms,
    "hedop5": Hedop5,
    "hem5": Hem5,
    "mexx": Mexx,
    "moreaujean": MoreauJean,
    "odassl": Odassl,
    "phem56": Phem56,
    "qualidaes": Qualidaes,
    "radau5": Radau5,
    "rkf45": Rkf45,
}


@functools.cache
def _defaults(name: str) -> MethodOptions:
    """A method with its default options."""
    return METHODS[name]()


def _suitable(model: Model | None) -> str:
    from dalembert.regularize.structure.system import is_regularized

    if model is None:
        return "radau5"
    if is_regularized(model):
        return "qualidaes"
    return "hem5" if lacks_derivatives(model.graph) else "radau5"


def resolve_method(method: Any, model: Model | None = None) -> MethodOptions:
    """An options object from a name, a class or an options object.

    "auto" is the method that suits most problems; for DAEs with hidden constraints the one that keeps them, for models
    of so many bodies that nobody can have their Jacobians one that needs none.
    """
    if isinstance(method, MethodOptions):
        return method
    if isinstance(method, type) and issubclass(method, MethodOptions):
        return method()
    if isinstance(method, str):
        method = str.__str__(method)
        name = method.lower()
        if name == "auto":
            return _defaults(_suitable(model))
        if name in METHODS:
            return _defaults(name)
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise OptionError(f"unknown method '{method}'{hint} (known: auto, {', '.join(METHODS)})")
    raise OptionError(f"method must be a name or an options object such as Radau5(), not {shown(method)}")


__all__ = [
    "METHODS", "Dassl", "Geoms", "Hedop5", "Hem5", "MethodOptions", "Mexx", "MoreauJean", "Odassl", "Phem56",
    "Qualidaes", "Radau5", "Rkf45", "resolve_method",
]  # fmt: skip
