"""Results as files: everything but the model becomes a description and arrays, which `container` writes, and back.

What comes back has been checked piece by piece: a file may have been forged, and its checksum with it. It can then hold
other numbers, but nothing that would be carried out, or that the classes of results could not stand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, FileError, ModelError, OptionError
from dalembert.model import Model
from dalembert.model.vocabulary import VOCABULARY, Role
from dalembert.solution import container, spool
from dalembert.solution.events import EventLog, Occurrence
from dalembert.solution.files import as_path
from dalembert.solution.impacts import Impact, ImpactLog, Rest
from dalembert.solution.profile import Profile
from dalembert.solution.segments import SegmentInfo
from dalembert.solution.statistics import Statistics
from dalembert.solution.trace import Trace
from dalembert.solution.trajectory import Trajectory

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

TEXTS = ("method", "formulation", "status", "message")
IMPACT_ROWS = ("before", "after", "impulse", "v_before", "v_after")
JUMPS = ("restarts", "restart_x")
STEPS = ("start_x", "t", "h", "coefficients", *JUMPS)
#: what a description that nobody of us wrote may lead to
UNFIT = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError)


def save(sol: Solution, path: str | PathLike) -> Path:
    """Write a result, or leave an old file of this name as it is."""
    path = as_path(path)
    writer = Writer()
    description = writer.describe(sol)
    labels = {f"names/{kind}": names for kind, names in sol._names.items()}
    container.write(path, description, writer.arrays, labels)
    return path


def load(cls: type[Solution], path: str | PathLike, model: Model | None) -> Solution:
    """Read a file and, if a model is given, put it and the result together."""
    if model is not None and not isinstance(model, Model):
        raise OptionError(f"model= must be a model or None, not {type(model).__name__}")
    path = as_path(path)
    try:
        content = container.Content(path)
        if content.description.get("kind", "result") != "result":
            raise FileError(f"'{path}' is a {content.description['kind']}, not one result: Sweep.load reads it", path)
        arguments = Reader(content, path).arguments()
        solution = cls(model=None, **arguments)
    except FileError:
        raise
    except (DalembertError, *UNFIT) as error:
        raise container.damaged(path, f"it does not describe a result ({type(error).__name__}: {error})") from error
    if model is not None:
        solution.model = _matching(model, arguments, path)
    return solution


def _matching(model: Model, arguments: Mapping[str, Any], path: Path) -> Model:
    """The model with the parameters of the result, if the names of all variables agree."""
    saved, not_kept, kinds = arguments["names"], arguments["not_kept"] or {}, model.graph.vectors
    faults = []
    for kind in dict.fromkeys((*kinds, *saved, *not_kept)):
        word = VOCABULARY.get(kind)
        if word is not None and not word.visible:
            continue
        theirs, ours = tuple(saved.get(kind, ())), model.names(kind)
        if not_kept.get(kind):
            rest = set(not_kept[kind])
            theirs = tuple(n for n in ours if n in rest or n in theirs) if {*theirs, *rest} == set(ours) else theirs
        # a method may do without multipliers
        if theirs != ours and (theirs or word is None or word.role is not Role.MULTIPLIER):
            faults.append(
                f"{kind}: {', '.join(theirs) or 'none'} in the file, {', '.join(ours) or 'none'} in the model"
            )
    if faults:
        raise ModelError(f"'{path}' does not belong to model '{model.name}'", faults)
    return model.replace(parameters=arguments["parameters"])


# -- writing -----------------------------------------------------------------------------------------------------------


class Writer:
    """Turns a result into what JSON can hold, and arrays by their HDF5 paths. With `beside`, steps that are on the disk
    stay there: the file is the one to whose folder they belong."""

    def __init__(self, *, beside: bool = False):
        self._beside = beside
        self.arrays: dict[str, np.ndarray] = {}

    def describe(self, sol: Solution) -> dict[str, Any]:
        return {
            **{text: getattr(sol, text) for text in TEXTS},
            "names": sol._names,
            "slices": {kind: [columns.start, columns.stop] for kind, columns in sol._slices.items()},
            "not_kept": sol.not_kept,
            "stats": sol.stats.to_dict(),
            "parameters": self._mapping("parameters", sol.parameters),
            "initial": self._mapping("initial", sol.initial),
            "t_eval": None if sol.t_eval is None else self._array("t_eval", sol.t_eval),
            "trajectory": self._trajectory(sol.trajectory),
            "events": self._events(sol.events),
            "segments": self._segments(sol.segments),
            "impacts": self._impacts(sol.impacts),
            "profile": None if sol.profile is None else self._profile(sol.profile),
            "trace": None if sol.trace is None else self._trace(sol.trace),
        }

    def _array(self, path: str, array: Any) -> container.Reference:
        self.arrays[path] = np.asarray(array)
        return container.Reference(path)

    def _mapping(self, where: str, mapping: Mapping[str, Any]) -> dict[str, Any]:
        """Names given by users never become HDF5 names, in which '/' and '.' are special."""
        values = {}
        for i, (name, value) in enumerate(mapping.items()):
            if isinstance(value, np.generic):
                value = value.item()
            if not isinstance(value, bool | int | float | str):
                try:
                    array = np.asarray(value)
                except ValueError:  # sequences of unequal length
                    array = np.asarray(None)
                if array.dtype.newbyteorder("<").str not in container.TYPES:
                    raise DalembertError(f"{where}: '{name}' = {value!r} cannot be saved; numbers, arrays, texts can")
                value = self._array(f"{where}/{i:06d}", array)
            values[name] = value
        return values

    def _trajectory(self, trajectory: Trajectory) -> dict[str, Any]:
        if self._beside and trajectory.extent is not None:
            jumps = {name: self._array(f"trajectory/{name}", getattr(trajectory, name)) for name in JUMPS}
            return {"dense": True, "spooled": vars(trajectory.extent), **jumps}
        if trajectory.dense:
            steps = {name: self._array(f"trajectory/{name}", getattr(trajectory, name)) for name in STEPS}
            return {"dense": True, "start_t": trajectory.start_t, **steps}
        t, x = (self._array(f"trajectory/{name}", a) for name, a in zip("tx", trajectory.points(), strict=True))
        return {"dense": False, "interval": trajectory.interval, "t": t, "x": x}

    def _events(self, events: EventLog) -> dict[str, Any]:
        whole = {
            "name": [events.names.index(event.name) for event in events],
            "number": [event.number for event in events],
            "direction": [event.direction for event in events],
        }
        state = {}
        for kind in dict.fromkeys(kind for event in events for kind in event.state):
            # all values in a row; −1 marks an occurrence without this vector
            vectors = [event.state.get(kind) for event in events]
            length = np.array([-1 if vector is None else len(vector) for vector in vectors], np.int64)
            values = np.concatenate([np.zeros(0), *(v for v in vectors if v is not None)])
            state[kind] = {
                "length": self._array(f"events/state/{kind}/length", length),
                "values": self._array(f"events/state/{kind}/values", values),
            }
        return {
            "names": events.names,
            "t": self._array("events/t", events.t),
            **{key: self._array(f"events/{key}", np.array(numbers, np.int64)) for key, numbers in whole.items()},
            "state": state,
        }

    def _impacts(self, impacts: ImpactLog) -> dict[str, Any]:
        of = impacts.contacts.index
        rows: dict[str, list[np.ndarray]] = {name: [] for name in IMPACT_ROWS}
        for impact in impacts:
            for name, kept in rows.items():
                value = getattr(impact, name)
                kept.append(np.zeros(0) if value is None else value)
        return {
            "contacts": impacts.contacts,
            "t": self._array("impacts/t", impacts.t),
            "contact": self._array("impacts/contact", np.array([of(i.contact) for i in impacts], np.int64)),
            "rests": self._array("impacts/rests", np.array([rest.t for rest in impacts.rests], float)),
            "resting": self._array("impacts/resting", np.array([of(r.contact) for r in impacts.rests], np.int64)),
            # all values in a row; impacts without velocities have none there
            "lengths": {
                name: self._array(f"impacts/lengths/{name}", np.array([len(row) for row in kept], np.int64))
                for name, kept in rows.items()
            },
            "rows": {
                name: self._array(f"impacts/rows/{name}", np.concatenate([np.zeros(0), *kept]))
                for name, kept in rows.items()
            },
        }

    def _segments(self, segments: Sequence[SegmentInfo]) -> dict[str, Any]:
        names = tuple(segments[0].discrete)
        values = np.array([[segment.discrete[name] for name in names] for segment in segments], float)
        return {
            "t": self._array("segments/t", [segment.t for segment in segments]),
            "names": names,
            "values": self._array("segments/values", values.reshape(len(segments), len(names))),
            "active": [segment.active for segment in segments],  # names, or None: all
        }

    def _profile(self, profile: Profile) -> dict[str, Any]:
        return {"entries": dict(profile), "phases": profile.phases, "preparation": profile.preparation}

    def _trace(self, trace: Trace) -> dict[str, Any]:
        return {"rows": self._array("trace/rows", trace.rows), "variables": trace.variables}


# -- reading -----------------------------------------------------------------------------------------------------------


class Reader:
    """The inverse of `Writer`; raises one of `UNFIT` or an error of ours if something does not fit."""

    def __init__(self, content: container.Content, path: Path):
        self._content, self._path = content, path

    def arguments(self) -> dict[str, Any]:
        """Those of a `Solution`, without the model."""
        d = self._content.description
        trajectory = self._trajectory(d["trajectory"])
        names = {kind: _texts(texts) for kind, texts in d["names"].items()}
        slices = {kind: slice(_whole(first), _whole(last)) for kind, (first, last) in d["slices"].items()}
        for kind, part in slices.items():
            used = part.start + len(names.get(kind, ()))
            if not (0 <= part.start <= part.stop <= trajectory.n and used <= trajectory.n):
                raise ValueError(f"{kind} lies outside of the state")
        return {
            **{text: _text(d[text]) for text in TEXTS},
            "names": names,
            "slices": slices,
            "not_kept": None if d["not_kept"] is None else {k: _texts(texts) for k, texts in d["not_kept"].items()},
            "stats": Statistics.from_dict({name: _number(value) for name, value in d["stats"].items()}),
            "parameters": self._mapping(d["parameters"]),
            "initial": self._mapping(d["initial"]),
            "t_eval": None if d["t_eval"] is None else self._array(d["t_eval"], 1),
            "trajectory": trajectory,
            "events": self._events(d["events"]),
            "segments": self._segments(d["segments"]),
            "impacts": self._impacts(d["impacts"]) if "impacts" in d else None,
            "profile": None if d["profile"] is None else self._profile(d["profile"]),
            "trace": None if d["trace"] is None else self._trace(d["trace"]),
        }

    def _array(self, reference: Any, dimensions: int, kind: str = "f") -> np.ndarray:
        array = self._content.array(reference)
        if array.ndim != dimensions or array.dtype != {"f": np.float64, "i": np.int64}[kind]:
            raise ValueError(f"'{reference['dataset']}' has shape {array.shape} and type {array.dtype}")
        return array

    def _mapping(self, mapping: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._value(value) for name, value in mapping.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, bool | int | float | str):
            return value
        array = self._content.array(value)
        return array.copy() if array.ndim else array.item()

    def _trajectory(self, d: Mapping[str, Any]) -> Trajectory:
        if d["dense"] is True:
            dimensions = {"coefficients": 3, "restart_x": 2}
            steps: dict[str, Any] = {
                name: self._array(d[name], dimensions.get(name, 1), "i" if name == "restarts" else "f")
                for name in (JUMPS if "spooled" in d else STEPS)
            }
            if "spooled" in d:
                return Trajectory.from_steps(spool.checked(self._path, spool.Extent.from_dict(d["spooled"])), **steps)
            return Trajectory(_number(d["start_t"]), **steps)
        first, last = (_number(t) for t in d["interval"])
        return Trajectory.from_points(self._array(d["t"], 1), self._array(d["x"], 2), interval=(first, last))

    def _events(self, d: Mapping[str, Any]) -> EventLog:
        names, t = _texts(d["names"]), self._array(d["t"], 1)
        name, number, direction = (self._array(d[key], 1, "i").tolist() for key in ("name", "number", "direction"))
        states: list[dict[str, np.ndarray]] = [{} for _ in t]
        if not all(0 <= k < len(names) for k in name):
            raise ValueError("an event has no name")
        for kind, entry in d["state"].items():
            lengths, values, start = self._array(entry["length"], 1, "i").tolist(), self._array(entry["values"], 1), 0
            if any(length < -1 for length in lengths) or sum(n for n in lengths if n > 0) != len(values):
                raise ValueError(f"{kind} of events does not fit together")
            for state, length in zip(states, lengths, strict=True):
                if length >= 0:
                    state[kind] = values[start : start + length].copy()
                    start += length
        rows = zip(t.tolist(), name, number, direction, states, strict=True)
        return EventLog((Occurrence(at, names[k], n, sign, state) for at, k, n, sign, state in rows), names)

    def _impacts(self, d: Mapping[str, Any]) -> ImpactLog:
        contacts, t = _texts(d["contacts"]), self._array(d["t"], 1).tolist()
        numbers, resting = (self._array(d[key], 1, "i").tolist() for key in ("contact", "resting"))
        rests = self._array(d["rests"], 1).tolist()
        if not all(0 <= k < len(contacts) for k in (*numbers, *resting)) or len(rests) != len(resting):
            raise ValueError("the impacts do not fit together")
        columns = []
        for name in IMPACT_ROWS:
            lengths, values = self._array(d["lengths"][name], 1, "i"), self._array(d["rows"][name], 1)
            if len(lengths) != len(t) or (lengths < 0).any() or lengths.sum() != len(values):
                raise ValueError(f"{name} of impacts does not fit together")
            columns.append([row.copy() for row in np.split(values, np.cumsum(lengths)[:-1])] if t else [])
        impacts = [
            Impact(at, contacts[k], *rows[:3], *(row if len(row) else None for row in rows[3:]))
            for at, k, *rows in zip(t, numbers, *columns, strict=True)
        ]
        return ImpactLog(impacts, [Rest(at, contacts[k]) for at, k in zip(rests, resting, strict=True)], contacts)

    def _segments(self, d: Mapping[str, Any]) -> list[SegmentInfo]:
        names, active = _texts(d["names"]), d["active"]
        t, values = self._array(d["t"], 1).tolist(), self._array(d["values"], 2)
        if values.shape != (len(t), len(names)) or len(active) != len(t) or not t:
            raise ValueError("the segments do not fit together")
        return [
            SegmentInfo(at, None if held is None else _texts(held), dict(zip(names, row, strict=True)))
            for at, held, row in zip(t, active, values.tolist(), strict=True)
        ]

    def _profile(self, d: Mapping[str, Any]) -> Profile:
        parts = [{name: tuple(map(_number, spent)) for name, spent in d[key].items()} for key in ("entries", "phases")]
        return Profile(*parts, {name: _number(seconds) for name, seconds in d["preparation"].items()})

    def _trace(self, d: Mapping[str, Any]) -> Trace:
        trace = Trace(self._array(d["rows"], 2), _texts(d["variables"]))
        trace.check()
        return trace


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.50} is no text")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(f"{values!r:.50} is no list of texts")
    return tuple(_text(value) for value in values)


def _number(value: Any) -> int | float:
    if type(value) not in (int, float) or (type(value) is int and not math.isfinite(float(value))):
        raise TypeError(f"{value!r:.50} is no number")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.50} is no whole number")
    return value
