"""States by kind (p, v, …) and by variable name, at one time or at many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError, NotKept
from dalembert.kept import computed
from dalembert.model.namespace import explain_unknown
from dalembert.model.vocabulary import SETTLED, VISIBLE

if TYPE_CHECKING:
    from dalembert.solution.outputs import Source


class StateView:
    """The state at one time (1-D arrays) or at N times (arrays with N rows).

    Attributes are `t`, the vectors `p, v, r, w, s, lam, mu`, and `x`, the whole state as the method integrated it (for
    a `QuasiLinearDAE` its unknowns, and the only vector). Items are the variables and the model's outputs by name. A
    vector of which only some components were kept raises `NotKept`; x of a mechanical model then has a column for each
    of `names`.

    Parameters
    ----------
    t : float or array (N,)
    x : array (n,) or (N, n)
    slices : mapping of kinds to slices
        Where each vector stands in x.
    names : mapping of kinds to names
    not_kept : mapping of kinds to names, optional
        Components that are missing, if only some were kept.
    discrete : mapping of names to values, optional
        Of the discrete variables, which are no part of x.
    settled : function, optional
        Gives x with the multipliers that are meant. Large models take their time for that: it is asked only when
        somebody looks at them.
    source : Source, optional
        What outputs of the model are computed with. It is not pickled.

    Examples
    --------
    >>> view = StateView(0.0, np.array([0.6, -0.8, 0.4, 0.3]), {"p": slice(0, 2), "v": slice(2, 4)},
    ...                  {"p": ("x", "y"), "v": ("x_dot", "y_dot")})
    >>> view.v
    array([0.4, 0.3])
    >>> view["y"]
    -0.8
    """

    def __init__(
        self,
        t: Any,  # a number, or an array
        x: np.ndarray,
        slices: Mapping[str, slice],
        names: Mapping[str, tuple[str, ...]],
        not_kept: Mapping[str, tuple[str, ...]] | None = None,
        discrete: Mapping[str, np.ndarray | float] | None = None,
        settled: Callable[[], np.ndarray] | None = None,
        source: Source | None = None,
    ):
        self._settled = settled
        self._source = source
        self.not_kept = None if not_kept is None else {kind: tuple(ns) for kind, ns in not_kept.items()}
        self._discrete = dict(discrete or {})
        self.t = t
        self._x = x
        self._slices = dict(slices)
        self._names = {kind: tuple(ns) for kind, ns in names.items()}

    @computed
    def _columns(self) -> dict[str, int]:
        """Where each variable stands in x."""
        return {
            name: self._slices[kind].start + i
            for kind in VISIBLE
            if kind in self._slices
            for i, name in enumerate(self._names.get(kind, ()))
        }

    def _vector(self, kind: str) -> np.ndarray:
        if "x" in self._slices:
            raise AttributeError(f"the model is no EquationsOfMotion: it has no '{kind}'; its unknowns are in x")
        self._must_be_whole(kind)
        return self._values(kind in SETTLED)[..., self._slices.get(kind, slice(0, 0))]

    def _values(self, settled: bool) -> np.ndarray:
        """x, with multipliers that may be looked at if they are to be `settled`."""
        make = self._settled if settled else None
        if make is not None:
            self._x = make()
            self._settled = None
        return self._x

    def _must_be_whole(self, kind: str) -> None:
        """Columns that have moved up would be taken for others."""
        missing = (self.not_kept or {}).get(kind)
        if not missing:
            return
        kept = self._names.get(kind, ())
        if not kept:
            raise NotKept(f"{kind} was not kept: name it in Output(components=...)")
        shown, absent = (f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}" for names in (kept, missing))
        raise NotKept(
            f"{kind} was not kept as a whole: Output(components=...) kept {shown}, but not {absent}. Take what there "
            f"is by name, [{kept[0]!r}], or name {kind!r} in Output(components=...)"
        )

    def __getstate__(self) -> dict:
        self._values(True)
        return {**{name: value for name, value in self.__dict__.items() if name != "_a"}, "_source": None}

    @property
    def partial(self) -> bool:
        """Whether only some components were kept."""
        return self.not_kept is not None

    @property
    def x(self) -> np.ndarray:
        """The whole state, or of a mechanical model all that was kept of it."""
        if "x" not in self._slices:
            return self._values(True)
        self._must_be_whole("x")
        return self._values(True)[..., self._slices["x"]]  # without what only its formulation has

    @property
    def p(self) -> np.ndarray:
        """Positions."""
        return self._vector("p")

    @property
    def v(self) -> np.ndarray:
        """Velocities."""
        return self._vector("v")

    @property
    def r(self) -> np.ndarray:
        """Variables of dynamic force elements."""
        return self._vector("r")

    @property
    def w(self) -> np.ndarray:
        """Auxiliary variables."""
        return self._vector("w")

    @property
    def s(self) -> np.ndarray:
        """Contact-point coordinates."""
        return self._vector("s")

    @property
    def lam(self) -> np.ndarray:
        """Multipliers of the holonomic constraints."""
        return self._vector("lam")

    @property
    def mu(self) -> np.ndarray:
        """Multipliers of the nonholonomic constraints."""
        return self._vector("mu")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all variables, without truth values of relations and the like, which hybrid DAEs have besides."""
        source = self._output_source() if self._discrete else None
        hybrid = None if source is None else source.model.hybrid
        if hybrid is None:
            return (*self._columns, *self._discrete)
        own = hybrid.internal
        return (*self._columns, *(name for i, name in enumerate(self._discrete) if i not in own))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the model's outputs."""
        source = self._output_source()
        return () if source is None else source.model.outputs.names

    def _output_source(self) -> Source | None:
        return self._source

    def _accelerations(self, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Computed once: several outputs may need them."""
        if "_a" not in self.__dict__:
            self.__dict__["_a"] = compute()
        return self.__dict__["_a"]

    def __contains__(self, name: object) -> bool:
        if name in self._columns or name in self._discrete:
            return True
        source = self._output_source()
        if source is None:
            return False
        own = source.model.beginning is not None and name in source.model.graph.parameters
        return own or name in source.model.outputs

    def __iter__(self):
        raise TypeError(f"{type(self).__name__} is not a sequence; iterate over .t, .x or .names")

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise ModelError(f"variables are taken by name, not by {shown(name)}; rows are those of .t and .x")
        if name in self._discrete:
            return self._discrete[name]
        if name not in self._columns:
            return self._output(name)
        kind = next(kind for kind, names in self._names.items() if kind in self._slices and name in names)
        column = self._values(kind in SETTLED)[..., self._columns[name]]
        return column if column.ndim else float(column)

    def _output(self, name: str) -> Any:
        source = self._output_source()
        if source is not None and name in source.model.outputs:
            return source.values(self, name)
        if source is not None and source.model.beginning is not None and name in source.model.graph.parameters:
            value = float(source.model.graph.parameters[name])
            return np.full(len(self.t), value) if np.ndim(self.t) else value
        hint = ""
        if source is None:
            hint = " (outputs of a model need the model, and there is none here; use Solution.load(path, model=...))"
        raise ModelError(explain_unknown(name, (*self.names, *self.output_names)) + hint)

    def to_dict(self) -> dict[str, Any]:
        """The times as "t", and the values of every variable by name."""
        return {"t": self.t, **{name: self[name] for name in self.names}}

    def __repr__(self) -> str:
        if np.ndim(self.t):
            return f"StateView({np.size(self.t)} times: {', '.join(self.names)})"
        return "StateView(t={:g}: {})".format(self.t, ", ".join(f"{name}={self[name]:.6g}" for name in self.names))
