"""Functions that are not written in Modelica: those of the standard library's own C code, and LAPACK.

| module | holds |
|---|---|
| `registry` | functions by their names in C, and what they answer |
| `standard_tables` | tables |
| `strings` | texts, files, messages |
| `words`, `random_numbers` | words of 64 bits; generators of random numbers |
| `fourier` | the discrete Fourier transform |
| `lapack` | linear algebra |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.symbolic.externals import (  # noqa: F401  (they register their functions)
    fourier,
    lapack,
    random_numbers,
    standard_tables,
    strings,
)
from dalembert.modelica.symbolic.externals.registry import FUNCTIONS, Answer, Question

if TYPE_CHECKING:
    from dalembert.modelica.flat_functions import FlatFunction
    from dalembert.modelica.symbolic.functions import Body

__all__ = ["Answer", "call_external"]


def call_external(name: str, args: list[Any], function: FlatFunction, body: Body) -> Any:
    """The answer of an external function: a value, or an `Answer` with what it writes into its arguments."""
    if (function.external.language or "C") == "builtin":
        return _builtin(name, args, body)
    found = FUNCTIONS.get(name)
    if found is None:
        language = function.external.language or "C"
        body.fail(f"the external function `{name}` ({language}) is not supported", body.call)
    try:
        return found(Question(name, args, body))
    except ValueError as reason:
        if isinstance(reason, ModelicaError):
            raise
        body.fail(str(reason), body.call)


def _builtin(name: str, args: list[Any], body: Body) -> Any:
    """A function of the language itself under another name."""
    held = tuple(tree.Literal(0, arg) for arg in args)
    return body.evaluator.value(tree.Call(0, tree.Ref(0, (name,)), held))
