"""Result files (HDF5).

Attributes of the root tell the format and its version; the groups are `names`, `slices`, `trajectory`, `stats`,
`events`, `parameters`, `initial`, `segments` and, if there are such, `profile` and `trace`. Names given by users never
become HDF5 names, in which '/' and '.' are special: such mappings are numbered datasets with the name as an attribute.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, ModelError
from dalembert.model import Model
from dalembert.model.vocabulary import VOCABULARY, Role
from dalembert.solution.events import EventLog, Occurrence
from dalembert.solution.profile import Profile
from dalembert.solution.segments import SegmentInfo
from dalembert.solution.statistics import Statistics
from dalembert.solution.trace import Trace
from dalembert.solution.trajectory import Trajectory

if TYPE_CHECKING:
    import h5py

    from dalembert.solution.solution import Solution

FORMAT = "dalembert solution"
#: raised whenever an older version of this module could not read the file correctly
FORMAT_VERSION = 1
TEXTS = ("method", "formulation", "status", "message")


def save(sol: Solution, path: str | PathLike) -> Path:
    """Write to a temporary file beside `path`, then rename it."""
    import h5py

    path = Path(path)
    if not path.parent.is_dir():
        raise DalembertError(f"cannot save to '{path}': the folder '{path.parent}' does not exist")
    if path.is_dir():
        raise DalembertError(f"cannot save to '{path}': it is a folder; give the name of a file, e.g. 'run.h5'")
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with h5py.File(temporary, "w") as file:
            _write(sol, file)
        os.replace(temporary, path)
    except OSError as error:
        raise DalembertError(f"cannot save to '{path}': {error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def load(cls: type[Solution], path: str | PathLike, model: Model | None) -> Solution:
    """Read a file and, if a model is given, put it and the result together."""
    import h5py

    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file '{path}'")
    no_result = f"'{path}' is not a result file of dalembert"
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise DalembertError(f"{no_result}: {error}") from error
    with file:
        if file.attrs.get("format") != FORMAT:
            raise DalembertError(f"{no_result}: it is an HDF5 file of another kind")
        version = int(file.attrs["format_version"])
        if version > FORMAT_VERSION:
            raise DalembertError(
                f"'{path}' has format version {version}, written by dalembert {file.attrs['dalembert_version']}; this "
                f"dalembert reads versions up to {FORMAT_VERSION}. Install a newer one: pip install --upgrade dalembert"
            )
        try:
            content = _read(file)
        except (KeyError, ValueError, OSError) as error:
            raise DalembertError(f"the result file '{path}' is damaged: {error}") from error
    if model is not None:
        model = _matching(model, content, path)
    return cls(model=model, **content)


def _matching(model: Model, content: Mapping[str, Any], path: Path) -> Model:
    """The model with the parameters of the result, if the names of all variables agree."""
    saved, kinds = content["names"], model.graph.vectors
    faults = []
    for kind in dict.fromkeys((*kinds, *saved)):
        word = VOCABULARY.get(kind)
        if word is not None and not word.visible:
            continue
        theirs, ours = tuple(saved.get(kind, ())), model.names(kind)
        if content["partial"] and set(theirs) <= set(ours):
            continue
        # a method may do without multipliers
        if theirs != ours and (theirs or word is None or word.role is not Role.MULTIPLIER):
            faults.append(
                f"{kind}: {', '.join(theirs) or 'none'} in the file, {', '.join(ours) or 'none'} in the model"
            )
    if faults:
        raise ModelError(f"'{path}' does not belong to model '{model.name}'", faults)
    return model.replace(parameters=content["parameters"])


def _write(sol: Solution, file: h5py.File) -> None:
    file.attrs["format"] = FORMAT
    file.attrs["format_version"] = FORMAT_VERSION
    file.attrs["dalembert_version"] = _package_version()
    file.attrs["partial"] = sol.partial
    for text in TEXTS:
        file[text] = getattr(sol, text)
    for kind, names in sol._names.items():
        _write_texts(file, f"names/{kind}", names)
    for kind, columns in sol._slices.items():
        file[f"slices/{kind}"] = np.array([columns.start, columns.stop])
    _write_mapping(file.create_group("stats"), sol.stats.to_dict())
    _write_mapping(file.create_group("parameters"), sol.parameters)
    _write_mapping(file.create_group("initial"), sol.initial)
    if sol.t_eval is not None:
        file["t_eval"] = sol.t_eval
    _write_trajectory(file.create_group("trajectory"), sol.trajectory)
    _write_events(file.create_group("events"), sol.events)
    _write_segments(file.create_group("segments"), sol.segments)
    if sol.profile is not None:
        _write_profile(file.create_group("profile"), sol.profile)
    if sol.trace is not None:
        _write_trace(file.create_group("trace"), sol.trace)


def _write_profile(group: h5py.Group, profile: Profile) -> None:
    for name, part in (("entries", profile), ("phases", profile.phases), ("preparation", profile.preparation)):
        _write_mapping(group.create_group(name), {key: np.array(value, float) for key, value in part.items()})


def _read_profile(group: h5py.Group) -> Profile:
    return Profile(*(_read_mapping(group[name]) for name in ("entries", "phases", "preparation")))


def _write_segments(group: h5py.Group, segments: Sequence[SegmentInfo]) -> None:
    group["t"] = np.array([segment.t for segment in segments])
    discrete = tuple(segments[0].discrete)
    _write_texts(group, "names", discrete)
    group["values"] = np.array([[segment.discrete[name] for name in discrete] for segment in segments])
    _write_texts(group, "active", tuple(json.dumps(segment.active) for segment in segments))  # names, or null: all


def _read_segments(group: h5py.Group) -> list[SegmentInfo]:
    names = _read_texts(group["names"])
    segments = []
    for t, values, text in zip(group["t"][()], group["values"][()], _read_texts(group["active"]), strict=True):
        active = json.loads(text)
        active = None if active is None else tuple(active)
        segments.append(SegmentInfo(float(t), active, dict(zip(names, map(float, values), strict=True))))
    return segments


def _write_trace(group: h5py.Group, trace: Trace) -> None:
    group["rows"] = trace.rows
    _write_texts(group, "variables", trace.variables)


def _read_trace(group: h5py.Group) -> Trace:
    return Trace(group["rows"][()], _read_texts(group["variables"]))


def _read(file: h5py.File) -> dict[str, Any]:
    return {
        **{text: file[text].asstr()[()] for text in TEXTS},
        "names": {kind: _read_texts(node) for kind, node in file.get("names", {}).items()},
        "slices": {kind: slice(*node[()].tolist()) for kind, node in file.get("slices", {}).items()},
        "stats": Statistics.from_dict(_read_mapping(file["stats"])),
        "parameters": _read_mapping(file["parameters"]),
        "initial": _read_mapping(file["initial"]),
        "t_eval": file["t_eval"][()] if "t_eval" in file else None,
        "trajectory": _read_trajectory(file["trajectory"]),
        "events": _read_events(file["events"]),
        "partial": bool(file.attrs.get("partial", False)),
        "profile": _read_profile(file["profile"]) if "profile" in file else None,
        "segments": _read_segments(file["segments"]) if "segments" in file else (),
        "trace": _read_trace(file["trace"]) if "trace" in file else None,
    }


def _write_trajectory(group: h5py.Group, trajectory: Trajectory) -> None:
    group.attrs["dense"] = trajectory.dense
    if not trajectory.dense:
        group["interval"] = np.array(trajectory.interval)
        group["t"], group["x"] = trajectory.points()
        return
    for name in ("start_t", "start_x", "t", "h", "coefficients", "restarts", "restart_x"):
        group[name] = getattr(trajectory, name)


def _read_trajectory(group: h5py.Group) -> Trajectory:
    content = {name: node[()] for name, node in group.items()}
    return Trajectory(**content) if group.attrs["dense"] else Trajectory.from_points(**content)


def _write_events(group: h5py.Group, events: EventLog) -> None:
    _write_texts(group, "names", events.names)
    group["name"] = np.array([events.names.index(event.name) for event in events], int)
    group["t"] = events.t
    group["number"] = np.array([event.number for event in events], int)
    group["direction"] = np.array([event.direction for event in events], int)
    for kind in dict.fromkeys(kind for event in events for kind in event.state):
        # all values in a row; −1 marks an occurrence without this vector
        vectors = [event.state.get(kind) for event in events]
        group[f"state/{kind}/length"] = np.array([-1 if vector is None else len(vector) for vector in vectors])
        group[f"state/{kind}/values"] = np.concatenate([np.zeros(0), *(v for v in vectors if v is not None)])


def _read_events(group: h5py.Group) -> EventLog:
    names = _read_texts(group["names"])
    t, name, number, direction = (group[key][()] for key in ("t", "name", "number", "direction"))
    states: list[dict[str, np.ndarray]] = [{} for _ in t]
    for kind, node in group.get("state", {}).items():
        lengths, values = node["length"][()], node["values"][()]
        start = 0
        for state, length in zip(states, lengths, strict=True):
            if length >= 0:
                state[kind] = values[start : start + length].copy()
                start += length
    occurrences = (
        Occurrence(float(t[i]), names[name[i]], int(number[i]), int(direction[i]), states[i]) for i in range(len(t))
    )
    return EventLog(occurrences, names)


def _write_texts(group: h5py.Group, name: str, texts: tuple[str, ...]) -> None:
    import h5py

    # a dataset, as attributes are limited to 64 kB
    group.create_dataset(name, data=np.array(texts, object), shape=(len(texts),), dtype=h5py.string_dtype())


def _read_texts(node: h5py.Dataset) -> tuple[str, ...]:
    return tuple(node.asstr()[()]) if len(node) else ()


def _write_mapping(group: h5py.Group, mapping: Mapping[str, Any]) -> None:
    for i, (name, value) in enumerate(mapping.items()):
        try:
            group[f"{i:06d}"] = value
        except TypeError:
            where = group.name.strip("/")
            raise DalembertError(f"{where}: '{name}' = {value!r} cannot be saved; numbers, arrays, texts can") from None
        group[f"{i:06d}"].attrs["name"] = name


def _read_mapping(group: h5py.Group) -> dict[str, Any]:
    import h5py

    mapping = {}
    for node in group.values():
        value = node.asstr()[()] if h5py.check_string_dtype(node.dtype) else node[()]
        mapping[node.attrs["name"]] = value.item() if isinstance(value, np.generic) else value
    return mapping


def _package_version() -> str:
    try:
        return importlib.metadata.version("dalembert")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
