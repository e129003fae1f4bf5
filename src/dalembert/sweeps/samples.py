"""What is varied in a study: arrays by name, a grid, or draws from distributions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dalembert.checks import NoNumber, reals, said, shown, whole
from dalembert.errors import OptionError
from dalembert.model import Model
from dalembert.model.namespace import explain_unknown
from dalembert.options import one_of

#: members of one study at most: more are a slip
MOST = 10_000_000


@runtime_checkable
class Sampler(Protocol):
    """Whatever makes samples."""

    def draw(self, seed: int) -> Mapping[str, np.ndarray]:
        """Values by name, one row for each member; the same for the same seed."""


@dataclass(frozen=True)
class Grid:
    """All combinations of values; those of the last name change fastest.

    Examples
    --------
    >>> samples = Grid({"m": [1.0, 2.0], "L": [0.5, 1.0, 1.5]}).draw(0)
    >>> samples["m"].tolist(), samples["L"].tolist()
    ([1.0, 1.0, 1.0, 2.0, 2.0, 2.0], [0.5, 1.0, 1.5, 0.5, 1.0, 1.5])
    """

    axes: Mapping[str, Any]

    def draw(self, seed: int) -> dict[str, np.ndarray]:
        if not isinstance(self.axes, Mapping) or not self.axes:
            raise OptionError(f"Grid needs a mapping of names to values, not {shown(self.axes)}")
        axes = {name: _rows(name, values) for name, values in self.axes.items()}
        count = int(np.prod([len(values) for values in axes.values()], dtype=object))
        if count > MOST:
            raise OptionError(f"Grid has {count} combinations, and the most is {MOST}")
        places = np.indices([len(values) for values in axes.values()]).reshape(len(axes), -1)
        return {name: values[where] for (name, values), where in zip(axes.items(), places, strict=True)}


@dataclass(frozen=True)
class MonteCarlo:
    """Draws from distributions. More of them, with the same seed, begin with the same ones.

    Parameters
    ----------
    of : mapping of names to distributions, or callable
        A distribution is a pair (low, high), uniform between them, or an object of `scipy.stats`, such as
        ``norm(1.0, 0.1)``; a function ``of(rng)`` is given a NumPy generator for each member and returns values by
        name.
    count : int
    design : {"random", "latin", "sobol", "halton"}
        Independent draws, or points that fill the space more evenly.

    Examples
    --------
    >>> samples = MonteCarlo({"m": (1.0, 2.0)}, count=3).draw(7)
    >>> bool((samples["m"] == MonteCarlo({"m": (1.0, 2.0)}, count=5).draw(7)["m"][:3]).all())
    True
    """

    of: Mapping[str, Any] | Callable[[np.random.Generator], Mapping[str, Any]]
    count: int
    design: str = "random"

    def draw(self, seed: int) -> dict[str, np.ndarray]:
        try:
            count = whole(self.count)
        except NoNumber:
            count = 0
        if not 1 <= count <= MOST:
            raise OptionError(f"MonteCarlo: count={shown(self.count)} must be a whole number from 1 to {MOST}")
        one_of("design", self.design, ("random", "latin", "sobol", "halton"))
        if callable(self.of):
            if self.design != "random":
                raise OptionError(f"MonteCarlo: design={self.design!r} needs distributions by name, not a function")
            return _columns([self._drawn(seed, i) for i in range(count)])
        if not isinstance(self.of, Mapping) or not self.of:
            raise OptionError(f"MonteCarlo needs distributions by name, or a function, not {shown(self.of)}")
        points = self._points(count, seed)
        return {
            name: _quantile(name, distribution, column)
            for (name, distribution), column in zip(self.of.items(), points.T, strict=True)
        }

    def _drawn(self, seed: int, member: int) -> Mapping[str, Any]:
        draw: Any = self.of
        try:
            return draw(generator(seed, member))
        except Exception as error:
            raise OptionError(f"MonteCarlo: the function for member {member} raised {said(error)}") from error

    def _points(self, count: int, seed: int) -> np.ndarray:
        """In the unit cube."""
        of: Any = self.of
        if self.design == "random":  # one row after the other, so that more rows begin with the same ones
            return np.random.default_rng(np.random.SeedSequence(seed)).random((count, len(of)))
        from scipy.stats import qmc

        kinds = {"latin": qmc.LatinHypercube, "sobol": qmc.Sobol, "halton": qmc.Halton}
        points = kinds[self.design](len(of), rng=np.random.default_rng(seed))
        if self.design == "sobol":  # sequences of other lengths are balanced less well, but that is no error
            return points.random(1 << max(0, count - 1).bit_length())[:count]
        return points.random(count)


def generator(seed: int, member: int) -> np.random.Generator:
    """Random numbers for one member, whoever computes it, and when."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(member,)))


def _quantile(name: str, distribution: Any, u: np.ndarray) -> np.ndarray:
    try:
        if hasattr(distribution, "ppf"):
            return np.asarray(distribution.ppf(u), float)
        low, high = reals(distribution)
    except Exception:  # of whatever it is
        raise OptionError(
            f"MonteCarlo: '{name}' is {shown(distribution)}; give (low, high) or a distribution of scipy.stats"
        ) from None
    if not low <= high:
        raise OptionError(f"MonteCarlo: '{name}' lies between {low} and {high}, which is nowhere")
    return low + (high - low) * u


def as_samples(given: Any, seed: int) -> dict[str, np.ndarray]:
    """Finite values by name, of all the same number of rows."""
    try:
        draws, table = isinstance(given, Sampler), hasattr(given, "columns") and hasattr(given, "to_numpy")
    except Exception:  # an object that does not even say what it has
        draws = table = False
    if draws:
        given = given.draw(seed)
    elif table:  # of pandas
        given = {name: given[name].to_numpy() for name in given.columns}
    elif isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(row, Mapping) for row in given):
        given = _columns(given)
    if not isinstance(given, Mapping) or not len(given):
        raise OptionError(
            f"samples={shown(given)}: give a mapping of names to arrays, a list of mappings, a table, Grid(...) or "
            "MonteCarlo(...)"
        )
    samples = {name: _rows(name, values) for name, values in given.items()}
    counts = {name: len(values) for name, values in samples.items()}
    if len(set(counts.values())) != 1:
        told = ", ".join(f"{count} of '{name}'" for name, count in counts.items())
        raise OptionError(f"samples must have as many values of each name: there are {told}")
    if not 1 <= next(iter(counts.values())) <= MOST:
        raise OptionError("samples are empty: there is nothing to simulate")
    return samples


def _columns(rows: Sequence[Any]) -> dict[str, np.ndarray]:
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise OptionError("each sample must be a mapping of names to values")
    for i, row in enumerate(rows):
        if set(row) != set(rows[0]):
            raise OptionError(
                f"sample {i} has values of {', '.join(map(str, row))}; the first has {', '.join(map(str, rows[0]))}"
            )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _rows(name: Any, values: Any) -> np.ndarray:
    if not isinstance(name, str):
        raise OptionError(f"samples: {shown(name)} is not a name")
    try:
        array = np.atleast_1d(reals(values))
    except NoNumber as reason:
        raise OptionError(f"samples of '{name}': {reason}") from None
    if not np.isfinite(array).all():
        bad = int(np.argmax(~np.isfinite(array.reshape(len(array), -1)).all(axis=1)))
        raise OptionError(f"samples of '{name}': number {bad} is {shown(array[bad])}, which is not finite")
    return array


def arguments(model: Model, options: Mapping[str, Any], sample: Mapping[str, np.ndarray | float]) -> dict[str, Any]:
    """The arguments of `simulate` for one member: `options`, and the sample where each name belongs."""
    changed: dict[str, Any] = {}
    for name, value in sample.items():
        where, kind = _place(model, name)
        if kind is None:
            before = changed.get(where, options.get(where)) or {}
            changed[where] = {**before, name: value}
            continue
        start = f"{kind}0"
        before = changed.get(start, options.get(start))
        if before is None or isinstance(before, Mapping):
            changed[start] = {**(before or {}), name: float(value)}
        else:
            vector = np.array(before, float)
            vector[model.names(kind).index(name)] = value
            changed[start] = vector
    return {**options, **changed}


def arguments_of_many(
    model: Model, options: Mapping[str, Any], samples: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """The same for many members at once, as `ensemble` takes them: a row of values for each name."""
    changed: dict[str, Any] = {}
    for name, rows in samples.items():
        where, kind = _place(model, name)
        if kind is None:
            before = changed.get(where, options.get(where)) or {}
            changed[where] = {**before, name: rows}
            continue
        start = f"{kind}0"
        before = changed.get(start, options.get(start))
        if before is not None and not isinstance(before, Mapping):
            before = dict(zip(model.names(kind), np.array(before, float).tolist(), strict=True))
        changed[start] = {**(before or {}), name: rows}
    return {**options, **changed}


def _place(model: Model, name: str) -> tuple[str, str | None]:
    """The argument that a name belongs to, or the kind of vector of whose start values it is one."""
    for where, known in (
        ("parameters", model.parameters), ("inputs", model.inputs), ("discrete", model.discrete_names)
    ):  # fmt: skip
        if name in known:
            return where, None
    for kind in model.settable_kinds:
        if name in model.names(kind):
            return "start", kind
    known = itertools.chain(
        model.parameters, model.inputs, model.discrete_names, *(model.names(kind) for kind in model.settable_kinds)
    )
    raise OptionError(f"samples: {explain_unknown(name, tuple(known))}")


def check_names(model: Model, samples: Mapping[str, np.ndarray]) -> None:
    """Raise OptionError for names that the model does not know, and for values of another shape."""
    for name, values in samples.items():
        where, _ = _place(model, name)
        needed = np.shape(model.parameters[name]) if where == "parameters" else ()
        if values.shape[1:] != needed:
            raise OptionError(f"samples of '{name}' have shape {values.shape[1:]} each; {needed} is needed")
