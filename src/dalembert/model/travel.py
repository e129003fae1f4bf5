"""How models travel to other processes: by recipe.

Expressions go as CasADi serializes them, node by node, so that the same tapes come out at the other end, and code that
the disk cache has is found there. Python functions, of what could not be traced, of events and their actions, go by
reference where they can be imported, else by value where cloudpickle is installed. Locks and compiled code stay behind.
"""

from __future__ import annotations

import pickle
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Self

import casadi as ca

from dalembert.errors import ModelError
from dalembert.locks import renewed
from dalembert.model.functions import describe


class Arrivals:
    """The last models that came from elsewhere, by the digest of their graphs.

    Each task of a sweep brings its model along. Without this, formulations would be derived anew for each of them.
    """

    def __init__(self, most: int = 8):
        self._most = most
        self._lock = renewed(threading.Lock())
        self._models: OrderedDict[str, Any] = OrderedDict()

    def get(self, digest: str | None) -> Any:
        """The model, or None."""
        with self._lock:
            if digest in self._models:
                self._models.move_to_end(digest)
            return self._models.get(digest)

    def put(self, digest: str | None, model: Any) -> None:
        if digest is None:
            return
        with self._lock:
            self._models[digest] = model
            while len(self._models) > self._most:
                self._models.popitem(last=False)


ARRIVED = Arrivals()


class Shared:
    """Base of objects that nobody changes: copies, deep ones too, share what they are made of.

    `__getstate__` of these objects is for pickling alone.
    """

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict) -> Self:
        return self.__copy__()


class Carried:
    """Stands for a Python function in what is pickled; the function itself comes out at the other end."""

    def __init__(self, function: Callable, role: str):
        self.function, self.role = function, role

    def __reduce__(self) -> tuple:
        return pickle.loads, (pack_function(self.function, self.role),)


def carried(function: Any, role: str) -> Any:
    """A `Carried` of what can be called; numbers and None go as they are."""
    return Carried(function, role) if callable(function) else function


def pack_function(function: Callable, role: str) -> bytes:
    """A Python function as bytes for `pickle.loads`.

    What stands in `__main__` is another module in other processes: cloudpickle, if it is there, packs it by value.

    Raises
    ------
    ModelError
        That names the function and what to do.
    """
    ways: list[Callable[[Any], bytes]] = [pickle.dumps]
    try:
        import cloudpickle
    except ImportError:
        remedy = "pip install cloudpickle, or define it at the top level of a module that can be imported"
    else:
        ways.append(cloudpickle.dumps)
        remedy = "let it use nothing that cannot be pickled (open files, locks, connections)"
        if getattr(function, "__module__", None) == "__main__":
            ways.reverse()
    for pack in ways:
        try:
            return pack(function)
        except Exception as error:  # whatever a user's objects raise when they are pickled
            reason = f"{type(error).__name__}: {error}"
    raise ModelError(
        f"{describe(role, function)} is a Python function that cannot be pickled ({reason}). To send it to another "
        f"process, or to keep it, {remedy}"
    )


def pack_expressions(expressions: Sequence[ca.SX]) -> bytes:
    """Expressions with the symbols that they share, as bytes."""
    serializer = ca.StringSerializer()
    serializer.pack(list(expressions))
    return zlib.compress(serializer.encode().encode("latin-1"), 1)


def unpack_expressions(packed: bytes, version: str) -> list[ca.SX]:
    """The inverse of `pack_expressions`, done by the given version of CasADi."""
    try:
        return ca.StringDeserializer(zlib.decompress(packed).decode("latin-1")).unpack()
    except (RuntimeError, zlib.error) as error:
        reason = str(error).strip().splitlines()[-1]
        raise ModelError(
            f"the model was pickled with CasADi {version} and cannot be read with {ca.__version__} ({reason}); build "
            "it anew from its functions, or use one version on both sides"
        ) from error
