"""Whether two things mean the same, told by a hash: models, functions, options, start values.

Who goes on with work that another process has begun must know that it is the same work. Expressions count as CasADi
serializes them, Python functions by their code, what they close over, and the constants and functions of their module
that they use. What a function gets from elsewhere (a file, the clock) is not seen.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import types
from collections.abc import Iterable, Mapping, Set
from typing import Any

import casadi as ca
import numpy as np

from dalembert.kept import Kept, computed
from dalembert.model.base import Model
from dalembert.model.travel import Carried, pack_expressions

#: functions that call functions, and so on: deeper ones are not looked at
DEPTH = 40
#: attributes of a model that say nothing about its motion, or are parts of their own
APART = ("kept", "graph", "name", "_inputs", "_outputs", "_start")
#: of its graph
APART_IN_GRAPH = ("parameters", "discrete")
PLAIN = (type(None), bool, int, float, complex, str, bytes)


def fingerprint(*values: Any) -> str:
    """A hash of values and of everything that they consist of.

    Examples
    --------
    >>> fingerprint([1, 2.0], {"a": np.zeros(2)}) == fingerprint([1, 2.0], {"a": np.zeros(2)})
    True
    >>> fingerprint(lambda s: s.x - 1) == fingerprint(lambda s: s.x - 2)
    False
    """
    return _Hasher().of(values).hex()


def model_parts(model: Model) -> dict[str, str]:
    """Hashes of a model: its equations, its parameters, its inputs, its discrete variables."""
    graph = {k: v for k, v in model.graph.__getstate__().items() if k not in APART_IN_GRAPH}
    own = {k: v for k, v in dict(model.__dict__).items() if k not in APART and not _derived(model, k)}
    return {
        "model": fingerprint(type(model).__name__, model.name, model.hidden, graph, own),
        "parameters": fingerprint(model.graph.parameters),
        "inputs": fingerprint({name: one.__getstate__() for name, one in model._inputs.items()}),
        "discrete": fingerprint(model.graph.discrete),
    }


def _derived(value: Any, name: str) -> bool:
    """Whether an attribute was computed from the others, and may be there or not."""
    return isinstance(getattr(type(value), name, None), computed | functools.cached_property)


class _Hasher:
    """Hashes values, each with its kind, so that different things never look alike."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, Any]] = {}  # with the objects, so that no other takes their place
        self._open: set[int] = set()  # those that are being looked at: a function may call itself
        self._digest = hashlib.sha256()

    def of(self, value: Any, depth: int = 0) -> bytes:
        """The hash of one value."""
        before, self._digest = self._digest, hashlib.sha256()
        try:
            self._compound(value, depth)
            return self._digest.digest()
        finally:
            self._digest = before

    def _say(self, *words: Any) -> None:
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self._digest.update(len(data).to_bytes(8, "little") + data)

    def feed(self, value: Any, depth: int) -> None:
        if isinstance(value, PLAIN):
            self._say(type(value).__name__, value if isinstance(value, bytes) else repr(value))
        elif isinstance(value, np.ndarray | np.generic):
            self._array(np.asarray(value), depth)
        elif isinstance(value, ca.SX):
            self._say("expression", pack_expressions([value]))
        elif isinstance(value, ca.Function):
            self._say("expression", value.serialize())
        elif isinstance(value, types.ModuleType):
            self._say("module", value.__name__)
        elif depth > DEPTH or id(value) in self._open:
            self._say("within itself", type(value).__name__)
        else:
            if id(value) not in self._known:
                self._open.add(id(value))
                self._known[id(value)] = self.of(value, depth + 1), value
                self._open.discard(id(value))
            self._say(self._known[id(value)][0])

    def _array(self, array: np.ndarray, depth: int) -> None:
        self._say("array", array.dtype.str, array.shape)
        if array.dtype.hasobject:
            self._all(array.ravel().tolist(), depth)
        else:
            self._say(np.ascontiguousarray(array).tobytes())

    def _all(self, values: Iterable[Any], depth: int) -> None:
        for value in values:
            self.feed(value, depth)

    def _compound(self, value: Any, depth: int) -> None:
        self._say(type(value).__name__)
        if isinstance(value, Mapping):
            for key, item in sorted(value.items(), key=lambda pair: repr(pair[0])):
                self._say(repr(key))
                self.feed(item, depth)
        elif isinstance(value, Set):
            self._say(*sorted(_Hasher().of((item,)) for item in value))
        elif isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif isinstance(value, types.CodeType):
            self._code(value, depth)
        elif isinstance(value, types.MethodType):
            self._all((value.__func__, value.__self__), depth)
        elif isinstance(value, functools.partial):
            self._all((value.func, value.args, value.keywords), depth)
        elif isinstance(value, type | types.BuiltinFunctionType | np.ufunc):
            self._say(getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__))
        elif isinstance(value, Carried):
            self.feed(value.function, depth)
        elif isinstance(value, Model):
            self._say(*model_parts(value).values())
        elif isinstance(value, Kept):
            pass
        elif isinstance(value, list | tuple):
            self._all(value, depth)
        else:
            self._object(value, depth)

    def _object(self, value: Any, depth: int) -> None:
        """What is pickled of ours, fields of dataclasses, attributes of others; at last, what they look like."""
        packs = getattr(type(value), "__getstate__", None)
        if type(value).__module__.startswith("dalembert.") and packs not in (None, object.__getstate__):
            state: Any = value.__getstate__()
        elif dataclasses.is_dataclass(value):
            state = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        else:
            state = getattr(value, "__dict__", None)
        if state:
            if isinstance(state, Mapping):
                state = {k: v for k, v in state.items() if not _derived(value, k)}
            self.feed(state, depth)
        else:
            self._say(re.sub(r" at 0x[0-9a-f]+", "", repr(value)))

    def _function(self, function: types.FunctionType, depth: int) -> None:
        self._code(function.__code__, depth)
        self._all((function.__defaults__, function.__kwdefaults__), depth)
        for cell in function.__closure__ or ():
            try:
                self.feed(cell.cell_contents, depth)
            except ValueError:  # it is still empty
                self._say("empty")
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                self._say(name)
                self.feed(function.__globals__[name], depth)

    def _code(self, code: types.CodeType, depth: int) -> None:
        self._say(code.co_code, code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount)
        self._all(code.co_consts, depth)


def _names(code: types.CodeType) -> set[str]:
    """Names that a function, or one within it, looks up."""
    within = (_names(const) for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*within)
