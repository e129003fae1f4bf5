"""What members of an ensemble have of their own, and what they share: parameters and start values, checked.

A value is one number for all members or one for each: of a parameter or a variable an array of n numbers, of a vector
an array of n rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, reals, shown, whole
from dalembert.compile.copying import Copies
from dalembert.ensembles.pieces import Copiers
from dalembert.errors import OptionError
from dalembert.model import Model
from dalembert.model.namespace import explain_unknown
from dalembert.model.start import with_start
from dalembert.solution.memory import in_words, memory

#: of one ensemble: more are a slip
MOST = 1_000_000_000
#: vectors that start values are given for
KINDS = ("p", "v", "r")


@dataclass
class Members:
    """`model` has what all members share; `theta` and `start` have an array of n numbers for what they do not."""

    n: int
    model: Model
    theta: dict[int, np.ndarray]  # by place in θ
    start: list[Any]  # of p, v and r, one after the other
    kept: bool = False

    @property
    def varied(self) -> tuple[int, ...]:
        return tuple(sorted(self.theta))

    def keep(self, copiers: Copiers) -> None:
        """Arrays of their own in place of the caller's, who may change those later."""
        if self.kept:
            return
        varied, which = self.varied, [k for k, value in enumerate(self.start) if not isinstance(value, float)]
        columns = [*(self.theta[place] for place in varied), *(self.start[k] for k in which)]
        own = np.empty((len(columns), self.n))
        copiers.share(self.n, 8 * len(columns), Copies(zip(columns, own, strict=True)).carry_out)
        self.theta |= zip(varied, own, strict=False)
        for k, column in zip(which, own[len(varied) :], strict=True):
            self.start[k] = column
        self.kept = True

    def arguments(self, i: int) -> dict[str, Any]:
        """Of `simulate`, for one member."""
        model, at = self.model, 0
        given: dict[str, Any] = {}
        for kind in KINDS:
            size = model.graph.size(kind)
            values = [x if isinstance(x, float) else float(x[i]) for x in self.start[at : at + size]]
            if size:
                given[f"{kind}0"] = np.array(values)
            at += size
        parameters, discrete, place = {}, {}, 0
        for name, value in model.graph.parameters.items():
            places = range(place, place + value.size)
            place += value.size
            if any(k in self.theta for k in places):
                own = np.ravel(value).astype(float)
                for k in places:
                    if k in self.theta:
                        own[k - places.start] = self.theta[k][i]
                parameters[name] = own.reshape(value.shape)
        for name in model.discrete_names:
            if place in self.theta:
                discrete[name] = float(self.theta[place][i])
            place += 1
        return given | {"parameters": parameters or None, "discrete": discrete or None}


class Reading:
    """Arguments under way: faults are collected, and so are what is said about the number of members, and arrays of
    numbers for each, which are looked at together at last."""

    def __init__(self, model: Model, n: Any):
        self.model, self.faults = model, []
        self._arrays: list[tuple[str, np.ndarray]] = []
        self._numbers = 0
        self.n: int | None = None
        self._source = ""
        if n is not None:
            try:
                number = whole(n)
            except NoNumber:
                number = 0
            if not 1 <= number <= MOST:
                raise OptionError(f"n={shown(n)} must be the number of members, from 1 to {MOST}")
            self.n, self._source = number, "n ="

    def rows(self, name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray | None:
        """An array of `shape` for all members, or (n, *shape) for each, maybe the caller's; None if it is neither."""
        try:
            array = value if type(value) is np.ndarray and value.dtype.kind in "fiu" else reals(value)
        except NoNumber as reason:
            self.faults.append(f"{name} is {shown(value)}: it {reason}")
            return None
        if array.ndim == len(shape) + 1 and array.shape[1:] == shape:
            self._members(name, len(array))
            return self._of_all(name, array) if len(array) else None
        if array.shape != shape:
            each = " × ".join(map(str, ("n", *shape))) if shape else "n"
            one = f"shape {shape}" if shape else "one number"
            self.faults.append(f"{name} has shape {array.shape}; it must be {one} for all members, or {each} for each")
            return None
        array = array.astype(float)
        self._must_be_finite(name, array)
        return array

    def _of_all(self, name: str, array: np.ndarray) -> np.ndarray | None:
        """An array with numbers for each member, as doubles."""
        self._numbers += array.size
        if 8 * self._numbers > memory():
            self.faults.append(f"{name} has {array.size} numbers: there are {in_words(memory())} of memory")
            return None
        self._arrays.append((name, array))
        with np.errstate(all="ignore"):  # long doubles may be larger than doubles
            return array.astype(float, copy=False)

    def look(self, copiers: Copiers) -> None:
        """Whether numbers of members are finite."""
        doubtful: list[int] = []

        def look(first: int, last: int) -> None:
            """At numbers first … last − 1 of all arrays, one array after the other."""
            before = 0
            with np.errstate(all="ignore"):  # a sum is finite if all numbers are, but for one that overflows
                for _, array in self._arrays:
                    begin, end = max(first - before, 0), min(last - before, array.size)
                    before += array.size
                    if begin < end:
                        each = array.size // len(array)
                        if not np.isfinite(array[begin // each : -(-end // each)].sum(dtype=float)):
                            doubtful.append(first)

        if not self.faults:
            copiers.share(self._numbers, np.dtype(float).itemsize, look)
        if self.faults or doubtful:
            for name, array in self._arrays:
                self._must_be_finite(name, array, " of member {}")

    def _must_be_finite(self, name: str, array: np.ndarray, whose: str = "") -> None:
        with np.errstate(all="ignore"):
            flaws = np.argwhere(~np.isfinite(array.astype(float)))
        if len(flaws):
            value = array[tuple(flaws[0])]
            self.faults.append(f"{name}{whose.format(*flaws[0])} is {value}; values must be finite")

    def _members(self, name: str, count: int) -> None:
        if self.n is None:
            self.n, self._source = count, f"{name} has"
            if not count:
                self.faults.append(f"{name} is empty: there is no member")
        elif count != self.n:
            self.faults.append(f"{name} has values for {count} members, and {self._source} {self.n}")


def read_members(
    model: Model, n: Any, start: Mapping[str, Any], parameters: Any, discrete: Any, inputs: Any, copiers: Copiers
) -> Members:
    """From arguments of `ensemble`, whose arrays they have until they `keep` their own; raises OptionError with all
    faults."""
    reading = Reading(model, n)
    shared, theta = _parameters(reading, parameters)
    switches = _discrete(reading, discrete, theta)
    values = _start(reading, start)
    reading.look(copiers)
    if reading.n is None and not reading.faults:
        reading.faults.append("how many members are there? Give n=, or an array with a value for each")
    if reading.n is None or reading.faults:
        said = reading.faults[0] if len(reading.faults) == 1 else "".join(f"\n  - {f}" for f in reading.faults)
        raise OptionError(f"ensemble of model '{model.name}': {said}")
    model = model.replace(shared or None, inputs)
    if switches:
        model = model.with_discrete(model.discrete_values(switches))
    return Members(reading.n, model, theta, list(values))


def _parameters(reading: Reading, given: Any) -> tuple[dict[str, Any], dict[int, np.ndarray]]:
    """Those that all members share, and those that they do not, by place in θ."""
    if given is None:
        return {}, {}
    if not isinstance(given, Mapping):
        raise OptionError(f"parameters={shown(given)} must be a mapping of names to values")
    known, first, at = reading.model.graph.parameters, {}, 0
    for name, value in known.items():
        first[name] = at
        at += value.size
    shared: dict[str, Any] = {}
    theta: dict[int, np.ndarray] = {}
    for name, value in given.items():
        if name not in known:
            reading.faults.append(f"parameters: {explain_unknown(name, known)}")
            continue
        shape = known[name].shape
        rows = reading.rows(f"parameter '{name}'", value, shape)
        if rows is None:
            continue
        if rows.ndim == len(shape):
            shared[name] = value
        else:
            theta |= {first[name] + k: column for k, column in enumerate(rows.reshape(len(rows), -1).T)}
    return shared, theta


def _discrete(reading: Reading, given: Any, theta: dict[int, np.ndarray]) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"discrete={shown(given)} must be a mapping of names to values")
    names, shared = reading.model.discrete_names, {}
    layout = reading.model.theta_layout
    for name, value in given.items():
        if name not in names:
            reading.faults.append(f"discrete: {explain_unknown(name, names)}")
            continue
        rows = reading.rows(f"discrete variable '{name}'", value, ())
        if rows is None:
            continue
        if rows.ndim:
            theta[layout.n_parameters + list(names).index(name)] = rows
        else:
            shared[name] = float(rows)
    return shared


def _start(reading: Reading, given: Mapping[str, Any]) -> tuple[Any, ...]:
    model = reading.model
    given = {name: value for name, value in given.items() if value is not None}
    own = dict(with_start(model, {}))
    values: list[float | np.ndarray] = []
    for kind in KINDS:
        names = model.names(kind)
        base, missing = _defaults(kind, names, own.get(f"{kind}0"))
        values += _vector(reading, kind, names, given.get(f"{kind}0"), base, missing)
    return tuple(values)


def _defaults(kind: str, names: Sequence[str], own: Any) -> tuple[list[float], set[str]]:
    """The model's start values, zeros where it has none, and which positions are missing."""
    if own is None:
        return [0.0] * len(names), set(names) if kind == "p" else set()
    if isinstance(own, Mapping):
        return [float(own.get(name, 0.0)) for name in names], {n for n in names if n not in own and kind == "p"}
    return [float(x) for x in own], set()


def _vector(
    reading: Reading, kind: str, names: Sequence[str], given: Any, base: list[float], missing: set[str]
) -> list[float | np.ndarray]:
    values: list[float | np.ndarray] = list(base)
    if isinstance(given, Mapping):
        for name, value in given.items():
            if name not in names:
                reading.faults.append(f"{kind}0: {explain_unknown(name, names)}")
                continue
            rows = reading.rows(f"{kind}0 of '{name}'", value, ())
            if rows is not None:
                values[list(names).index(name)] = float(rows) if not rows.ndim else rows
            missing = missing - {name}
    elif given is not None:
        missing = set()
        rows = reading.rows(f"{kind}0", given, (len(names),))
        if rows is not None:
            values = [float(x) for x in rows] if rows.ndim == 1 else list(rows.T)
    if missing:
        listed = ", ".join(f"'{name}'" for name in sorted(missing)[:10])
        reading.faults.append(f"{kind}0= is missing: start values for {listed}")
    return values
