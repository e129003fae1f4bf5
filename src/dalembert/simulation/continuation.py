"""Where a simulation was when a checkpoint was written, and what it takes to go on from there bit for bit.

The file is a result file that has more: what the simulation was asked to do, as hashes by name, and a *place*: all that
changes while the loop runs and is no result, as numbers, texts and arrays. Records of steppers go to kernels as they
are; so a place is signed with the user's key, and one that nobody has signed is not taken up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compile import store
from dalembert.errors import DalembertError, FileError
from dalembert.model.fingerprint import fingerprint, model_parts
from dalembert.solution import Solution, container, storage
from dalembert.solution.files import as_path

if TYPE_CHECKING:
    from dalembert.simulation.task import Task

#: raised whenever what a place consists of has changed
VERSION = 1
#: names of keys of the description, and the folder of arrays
ASKED, PLACE = "asked", "continuation"
#: what a signature is for
SIGNED_AS = "checkpoint"
ANEW = "Give another file name, or delete the file to begin anew"

#: the hash of a part of what a simulation was asked to do, and a short text of it, or none
Part = tuple[str, str | None]


@dataclass(frozen=True)
class Place:
    """Of a simulation under way: `memory` is what its parts remember, `arguments` those of the result up to there."""

    memory: Mapping[str, Any]
    arguments: Mapping[str, Any] | None = None  # of a place that was read


def parts(task: Task) -> dict[str, Part]:
    """What decides about a result, by name. The limit of steps does not: it may be raised to go on."""
    from dalembert import __version__

    sampling, spool = task.sampling, str(task.checkpoint is not None and task.checkpoint.spool)
    output = (sampling.times, sampling.per_step, sampling.max_spacing, sampling.columns)
    tolerances = {name: getattr(task.tolerances, name) for name in ("rtol", "atol")}
    return {
        "dalembert": (__version__, __version__),
        **{name: (hashed, None) for name, hashed in model_parts(task.model).items()},
        "method": _method(task),
        "t_span": (fingerprint(task.t0, task.t1), f"({task.t0!r}, {task.t1!r})"),
        "start values": (fingerprint(task.given, task.initial_conditions, task.fixed), None),
        **{name: (fingerprint(values), _spread(values)) for name, values in tolerances.items()},
        "t_eval": (fingerprint(output), None),
        "first_step": (fingerprint(task.first_step), str(task.first_step)),
        "max_step": (fingerprint(task.max_step), str(task.max_step)),
        "events": (fingerprint(list(task.events[: task.own_events])), None),
        "dense_output": (str(task.dense_output), str(task.dense_output)),
        "trace": (str(task.trace), str(task.trace)),
        "spool": (spool, spool),
    }


def _method(task: Task) -> Part:
    if task.pilot is None:
        return fingerprint(task.options), repr(task.options)
    return fingerprint("auto", task.options), f"'auto' with {task.options!r}"


def _spread(values: np.ndarray) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:g}" if low == high else f"{low:g} … {high:g}"


# -- files -------------------------------------------------------------------------------------------------------------


def write(path: Path, solution: Solution, asked: Mapping[str, Part], place: Place | None) -> None:
    """A result file that says of what simulation it is, and, if there is a place, how to go on."""
    writer = storage.Writer(beside=True)
    description = writer.describe(solution) | {ASKED: {name: list(part) for name, part in asked.items()}}
    if place is not None:
        arrays: dict[str, np.ndarray] = {}
        memory = _packed(place.memory, arrays)
        signature = store.sign(SIGNED_AS, _digest(memory, arrays))
        if signature is not None:  # else the user has no place for a key, and the next call begins anew
            writer.arrays |= arrays
            description[PLACE] = {"version": VERSION, "memory": memory, "signature": signature}
    labels = {f"names/{kind}": names for kind, names in solution._names.items()}
    container.write(as_path(path), description, writer.arrays, labels)


def read(path: Path, asked: Mapping[str, Part], task: Task) -> Place | Solution | None:
    """The place where the simulation was, or its result if that is finished, or None if it failed before there was
    anything to go on from; raises FileError for other files."""
    content = container.Content(path)
    description = content.description
    try:
        if ASKED not in description:
            raise FileError(
                f"'{path}' is a result, but not of a simulation with checkpoint=: it would be overwritten. {ANEW}", path
            )
        before = {str(name): (str(hashed), text) for name, (hashed, text) in description[ASKED].items()}
        _must_be_the_same(path, before, asked)
        arguments = storage.Reader(content, path).arguments()
        solution = Solution(model=task.model, **arguments)
        if solution.success:
            return solution
        if PLACE not in description:  # it failed before anything was worth keeping
            return None
        return Place(_memory(path, content), arguments)
    except FileError:
        raise
    except (DalembertError, *storage.UNFIT) as error:
        raise container.damaged(path, f"it does not describe a checkpoint ({type(error).__name__}: {error})") from error


def _must_be_the_same(path: Path, there: Mapping[str, Part], here: Mapping[str, Part]) -> None:
    differ = [name for name in dict.fromkeys((*here, *there)) if there.get(name, ("",))[0] != here.get(name, ("",))[0]]
    if not differ:
        return
    words = []
    for name in differ:
        texts = there.get(name, (None, None))[1], here.get(name, (None, None))[1]
        told = all(isinstance(text, str) for text in texts)
        words.append(f"{name} ({texts[0]:.80} there, {texts[1]:.80} here)" if told else name)
    differs = "is not the same" if len(words) == 1 else "are not the same"
    raise FileError(f"'{path}' is the checkpoint of another simulation: {', '.join(words)} {differs}. {ANEW}", path)


def _memory(path: Path, content: container.Content) -> dict[str, Any]:
    place = content.description[PLACE]
    if place["version"] != VERSION:
        raise FileError(f"'{path}' was written by a dalembert that goes on in another way. {ANEW}", path)
    arrays = {
        name: content.array(container.Reference(name))
        for name in content.description["arrays"]
        if name.startswith(f"{PLACE}/")
    }
    digest, signature = _digest(place["memory"], arrays), place["signature"]
    if not isinstance(signature, str) or not store.is_signed(SIGNED_AS, digest, signature):
        raise FileError(
            f"the checkpoint '{path}' was not written by you on this machine, so that it cannot be known whether its "
            f"records are safe to go on with; Solution.load reads the result up to there. {ANEW}",
            path,
        )
    return _unpacked(place["memory"], arrays)


def _digest(memory: Any, arrays: Mapping[str, np.ndarray]) -> bytes:
    digest = hashlib.sha256(json.dumps([VERSION, memory], sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.newbyteorder('<').str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)
    return digest.digest()


def _packed(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """For JSON: arrays as references, which go to `arrays`."""
    if isinstance(value, np.ndarray):
        path = f"{PLACE}/{len(arrays):06d}"
        arrays[path] = value
        return container.Reference(path)
    if isinstance(value, Mapping):
        return {key: _packed(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(item, arrays) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"dataset"}:
            return arrays[value["dataset"]].copy()
        return {key: _unpacked(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_unpacked(item, arrays) for item in value]
    return value
