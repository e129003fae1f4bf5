"""What a simulation returns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import DalembertError, OptionError, SimulationError
from dalembert.locks import prepared, renewed
from dalembert.model import Model
from dalembert.model.theta import values_of
from dalembert.model.vocabulary import FUNCTIONS, RESIDUALS, SETTLED
from dalembert.solution.events import EventLog
from dalembert.solution.impacts import ImpactLog
from dalembert.solution.outputs import Source, off_breakpoints
from dalembert.solution.profile import Profile
from dalembert.solution.segments import SegmentInfo, segment_at
from dalembert.solution.state_view import StateView
from dalembert.solution.statistics import Statistics
from dalembert.solution.trace import Trace
from dalembert.solution.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from dalembert.viewer.animation import Animation
    from dalembert.viewer.report import Report


#: vectors without which residuals cannot be computed, by level
NEEDED = {level: FUNCTIONS[function].reads for level, function in RESIDUALS.items()}

#: the vectors whose equations are the rows of a residual, where constraints can be released
ROWS = {"position": ("s", "lam"), "velocity": ("lam", "mu"), "acceleration": ("lam", "mu")}

_COMPLETING = renewed(threading.RLock())


class Solution(StateView):
    """The result of a simulation.

    As a `StateView` it has `t`, `p, v, r, w, s, lam, mu` and `x` (one row for each time), and the variables and the
    model's outputs by name, ``sol["x"]``; here at the accepted steps, or at the times `t_eval` as far as they were
    reached. Where the state jumps, an accepted time stands twice: before and after.

    Parameters
    ----------
    model : Model or None
        None after loading without one; then residuals, accelerations and outputs are not available.
    method : str
        The options of the method, as text.
    formulation : str
    slices : mapping of kinds to slices
        Where p, v, r, w, s, lam, mu, eta (or x) stand in the state vector.
    names : mapping of kinds to names
    trajectory : Trajectory
    stats : Statistics, or a function that returns them
    events : EventLog
    status : str
        "finished", "terminated by event 'name'", "interrupted" or "failed".
    message : str
        The same in a sentence; after a failure what happened and what to do.
    parameters : mapping, or a function that returns one
        Values of the model's parameters.
    t_eval : array, optional
        Times asked for in place of the accepted steps.
    initial : mapping, optional
        Start values by kind.
    not_kept : mapping of kinds to names, optional
        Components that are missing, if only some were kept.
    profile : Profile, optional
        Where the time went; ``simulate(..., profile=True)`` asks for it.
    segments : sequence of SegmentInfo, optional
        Stretches of time between jumps, if constraints in force or discrete variables have changed.
    impacts : ImpactLog, optional
        Impacts of contacts.
    trace : Trace, optional
        Every step that was tried; ``simulate(..., trace=True)`` asks for it.
    settings : mapping of names to texts, or a function that returns one, optional
        Tolerances and other arguments of `simulate`, for people. Files do not hold them.

    Examples
    --------
    A point that moves with constant velocity, in one step:

    >>> straight = Trajectory(0.0, [0.0, 2.0], [3.0], [3.0], [[[6.0, 2.0], [6.0, 0.0]]])
    >>> sol = Solution(slices={"p": slice(0, 1), "v": slice(1, 2)}, names={"p": ("z",), "v": ("z_dot",)},
    ...                trajectory=straight, stats=Statistics(accepted=1), method="by hand")
    >>> sol
    Solution(finished, t = 0 … 3, 1 step, by hand)
    >>> sol["z"]
    array([0., 6.])
    >>> sol.at(0.5).p
    array([1.])
    """

    t: np.ndarray
    #: what ``method="auto"`` chose, why, and what it had tried before; None if the method was given
    method_choice: Any = None

    def __init__(
        self,
        *,
        slices: Mapping[str, slice],
        names: Mapping[str, tuple[str, ...]],
        trajectory: Trajectory,
        stats: Statistics | Callable[[], Statistics],
        model: Model | None = None,
        method: str = "",
        formulation: str = "",
        events: EventLog | None = None,
        status: str = "finished",
        message: str = "",
        parameters: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        t_eval: np.ndarray | None = None,
        initial: Mapping[str, Any] | None = None,
        not_kept: Mapping[str, tuple[str, ...]] | None = None,
        profile: Profile | None = None,
        segments: Sequence[SegmentInfo] = (),
        trace: Trace | None = None,
        impacts: ImpactLog | None = None,
        settings: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
    ):
        if t_eval is not None:
            t_eval = np.array(t_eval, float)
        t, x, settled = trajectory.looked_at()
        if t_eval is not None and trajectory.dense:
            t, x, settled = trajectory.looked_at(t_eval[trajectory.covers(t_eval)])
        self.segments = tuple(segments) or (SegmentInfo(trajectory.interval[0]),)
        self._direction = -1.0 if trajectory.interval[1] < trajectory.interval[0] else 1.0
        self._numbers = self._segment_at(t, repeated=t_eval is None)
        super().__init__(t, x, slices, names, not_kept, self._discrete_at(self._numbers), settled)
        self.model = model
        self.method = method
        self.formulation = formulation
        self.trajectory = trajectory
        self._when_asked_for("stats", stats)
        self.events = EventLog() if events is None else events
        self.impacts = ImpactLog() if impacts is None else impacts
        self.status = status
        self.message = message
        self._when_asked_for("parameters", parameters if callable(parameters) else dict(parameters or {}))
        self._when_asked_for("settings", settings if callable(settings) else dict(settings or {}))
        self.t_eval = t_eval
        self.initial = dict(initial or {})
        self.profile = profile
        self.trace = trace

    def _when_asked_for(self, name: str, value: Any) -> None:
        """An attribute, or the function that gives it."""
        self.__dict__[f"_make_{name}" if callable(value) else name] = value

    @classmethod
    def later(cls, content: Callable[[], dict[str, Any]]) -> Solution:
        """A result that is put together when somebody looks at it; `content` gives the arguments."""
        solution = cls.__new__(cls)
        solution.__dict__["_content"] = content
        return solution

    def __getattr__(self, name: str) -> Any:
        self._complete()
        make = self.__dict__.get(f"_make_{name}")
        if make is not None:
            self.__dict__[name] = make()
        return object.__getattribute__(self, name)  # or its AttributeError, which says what a vector lacks

    def _complete(self) -> None:
        with prepared(_COMPLETING):
            content = self.__dict__.get("_content")
            if content is not None:
                try:
                    self.__init__(**content())
                except MemoryError:
                    raise SimulationError(
                        "this result does not fit into the memory: ask for fewer points (t_eval=, with "
                        "dense_output=False), or keep fewer components (Output)"
                    ) from None
                del self.__dict__["_content"]

    def __getstate__(self) -> dict[str, Any]:
        self._complete()
        self._values(True)
        waiting = [name for name in self.__dict__ if name.startswith("_make_")]
        made = {name.removeprefix("_make_"): getattr(self, name.removeprefix("_make_")) for name in waiting}
        return {name: value for name, value in self.__dict__.items() if name not in (*waiting, "_a")} | made

    @property
    def success(self) -> bool:
        """Whether the end of the interval, or an event that ends the simulation, was reached."""
        return self.status == "finished" or self.status.startswith("terminated")

    def at(self, t: float | np.ndarray) -> StateView:
        """The state at any time of the interval, or at an array of times; right after the jump where it jumps."""
        time, x, settled = self.trajectory.looked_at(t)
        discrete = self._discrete_at(self._segment_at(np.ravel(time)))
        discrete = {name: np.reshape(values, np.shape(time))[()] for name, values in discrete.items()}
        source = None if self.model is None else Source(self.model, self.trajectory.interval)
        return StateView(time, x, self._slices, self._names, self.not_kept, discrete, settled, source)

    def _curve(self) -> StateView:
        """Many points for a smooth drawing, if there is dense output."""
        if not self.trajectory.dense:
            return self
        t, x = self.trajectory.curve(settled=False)
        later = None if self.trajectory.settled else lambda: self.trajectory.curve()[1]
        discrete = self._discrete_at(self._segment_at(t, repeated=True))
        return StateView(t, x, self._slices, self._names, self.not_kept, discrete, later, self._output_source())

    def _output_source(self) -> Source | None:
        return None if self.model is None else Source(self.model, self.trajectory.interval, doubled=True)

    def _segment_at(self, t: np.ndarray, *, repeated: bool = False) -> np.ndarray | None:
        """Numbers of segments; None if there is nothing to tell apart."""
        if len(self.segments) == 1 and not self.segments[0].discrete:
            return None
        return segment_at(self.segments, t, self._direction, repeated=repeated)

    def _discrete_at(self, numbers: np.ndarray | None) -> dict[str, np.ndarray]:
        if numbers is None:
            return {}
        names = self.segments[0].discrete
        columns = np.array([values_of(segment.discrete) for segment in self.segments]).T[:, numbers]
        return dict(zip(names, columns, strict=True))

    # -- constraints -----------------------------------------------------------------------------------------------

    def residual(self, level: str) -> np.ndarray:
        """Residuals of the constraints at the times `t`.

        Parameters
        ----------
        level : {"position", "velocity", "acceleration", "invariant"}
            (c, g), (g^I, h), (g^II, h^I) or e. The acceleration in g^II follows from the equations of motion with the
            multipliers of the result. Those of constraints are zero while these are not in force. A DAE has the levels
            "constraints", those that were written as such, and "hidden": all that its unknowns satisfy, those that its
            equations hide among them.

        Returns
        -------
        array (N, rows)
        """
        from dalembert.solution.residuals import constraint_residual

        model = self._needed_model("residuals")
        if not isinstance(level, str):
            raise OptionError(f"residual level {shown(level)} must be one of {', '.join(model.residual_levels)}")
        vectors = self._model_vectors(*NEEDED.get(level, ()))
        residual = constraint_residual(model, level, self._off_breakpoints(model), vectors, self._thetas(model))
        if level in ROWS and any(segment.active is not None for segment in self.segments):
            residual[self._released(model, level)] = 0.0
        return residual

    def max_residual(self, level: str) -> float:
        """The largest absolute value of `residual(level)`; 0 if there is no such constraint."""
        return float(np.abs(self.residual(level)).max(initial=0.0))

    def accelerations(self) -> np.ndarray:
        """v' at the times `t`, shape (N, n_v), from the equations of motion with the multipliers of the result.

        Where the mass matrix is singular, the part that it leaves open follows from the constraints.
        """
        from dalembert.solution.residuals import accelerations

        model = self._needed_model("accelerations")
        vectors = self._model_vectors(*NEEDED["acceleration"])
        return accelerations(model, self._off_breakpoints(model), vectors, self._thetas(model))

    def _thetas(self, model: Model) -> np.ndarray:
        """θ at the times `t`, as columns."""
        discrete = self._discrete_at(self._numbers)
        return model.thetas(self._off_breakpoints(model), np.array(list(discrete.values())) if discrete else None)

    def _off_breakpoints(self, model: Model) -> np.ndarray:
        """The times `t`, and a rounding error beside breakpoints: where states before and after them were computed."""
        return off_breakpoints(self.t, self.trajectory.interval, model.breakpoints, doubled=True)

    def _released(self, model: Model, level: str) -> np.ndarray:
        """Mask of the residuals (times, rows) of constraints that were not in force."""
        rows = [(kind, name) for kind in ROWS[level] for name in model.names(kind)]
        released = [
            [segment.active is not None and kind != "s" and name not in segment.active for kind, name in rows]
            for segment in self.segments
        ]
        return np.array(released, bool).reshape(len(self.segments), len(rows))[self._numbers]

    def _needed_model(self, what: str) -> Model:
        if self.model is None:
            raise DalembertError(f"{what} need the model, and this result has none; use Solution.load(path, model=...)")
        return self.model

    def _model_vectors(self, *needed: str) -> dict[str, np.ndarray]:
        """Each vector of the model with a column for each time; NaN for those that this result has not."""
        values = {}
        model = self._needed_model("vectors")
        for kind in model.graph.vectors:
            names, known = model.names(kind), self._names.get(kind, ())
            missing = [name for name in names if name not in known]
            if missing and kind in needed:
                listed = f"{', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}"
                why = "Output(components=...) did not keep them" if self.partial else "the method does without"
                raise OptionError(f"this result has no values of {kind} ({listed}), which are needed here: {why}")
            if missing or kind not in self._slices:
                values[kind] = np.full((len(names), len(self.t)), np.nan)
            else:
                values[kind] = np.ascontiguousarray(self._values(kind in SETTLED)[:, self._slices[kind]].T)
        return values

    # -- export ----------------------------------------------------------------------------------------------------

    def to_pandas(self, outputs: str | Sequence[str] = ()) -> pd.DataFrame:
        """A table of all variables by name, with the times as index; `attrs` says what it is about.

        Parameters
        ----------
        outputs : sequence of str, or "all"
            Names of outputs to be added; each entry of a vector or matrix has a column, ``tip[0]``, ``tip[1]``.
        """
        from dalembert.solution.exports import to_pandas

        return to_pandas(self, outputs)

    def to_csv(self, path: str | PathLike, outputs: str | Sequence[str] = ()) -> Path:
        """Write a table as text, times in the first column, names in the first line; `outputs` as for `to_pandas`."""
        from dalembert.solution.exports import to_csv

        return to_csv(self, path, outputs)

    def to_xarray(self, outputs: str | Sequence[str] = ()) -> xr.Dataset:
        """A dataset of all variables over the dimension t; `outputs`, which are added, keep their shapes.

        Events have a dimension of their own, with names and times `event_t`; units and descriptions, as far as the
        model knows them, are attributes of the variables.
        """
        from dalembert.solution.exports import to_xarray

        return to_xarray(self, outputs)

    def to_hdf5(self, path: str | PathLike, outputs: str | Sequence[str] = ()) -> Path:
        """Write plain datasets for other programs: t, and variables and `outputs` by name. `save` writes everything."""
        from dalembert.solution.exports import to_hdf5

        return to_hdf5(self, path, outputs)

    def to_mat(self, path: str | PathLike, outputs: str | Sequence[str] | None = None) -> Path:
        """Write a result file as Modelica tools do (MATLAB 4, "trajectory"), for their plots and comparisons.

        `outputs` as for `to_pandas`; of a model that comes from Modelica all of them by default.
        """
        from dalembert.solution.trajectory_files import to_mat

        return to_mat(self, path, outputs)

    def plot(self, *names: str, ax: Axes | None = None, against: str = "t") -> Axes:
        """Draw variables and outputs over time, or over another variable.

        Parameters
        ----------
        *names : str
            Variables and outputs (each entry of a vector is a curve); default: all positions. Or "position residual"
            and the like (logarithmic, the largest of each level at the times `t`). Or one of the diagrams "residuals"
            (of all levels), "step size", "order" (needs ``simulate(..., trace=True)``) and "energy".
        ax : matplotlib Axes, optional
            Where to draw; default: a new figure.
        against : str
            "t" or the variable (or scalar output) on the horizontal axis: ``sol.plot("x_dot", against="x")`` is a phase
            diagram.

        Returns
        -------
        matplotlib Axes
        """
        from dalembert.solution.plotting import plot

        return plot(self, names, ax, against)

    def animate(
        self,
        path: str | PathLike | None = None,
        *,
        drawing: Any = None,
        frames: int | None = None,
        plots: Any = None,
        title: str | None = None,
        speed: float | None = None,
        **options: Any,
    ) -> Animation:
        """A moving picture: a page that browsers open from a file, or a film. Notebooks show what it returns.

        Parameters
        ----------
        path : path, optional
            A page (``.html``), a film (``.gif``; ``.mp4``: ``pip install dalembert[video]``), a picture (``.png``).
        drawing : Drawing or parts of `dalembert.draw`, optional
            What the model looks like. Default: as the model says; without any drawing, columns.
        frames : int, optional
            Equidistant ones; moments right before and after events and impacts are added. Default: 480, and fewer for
            scenes of thousands of bodies.
        plots : sequence of names or of lists of names, optional
            Variables and outputs that are plotted beside it. Default: what seems to matter; []: none.
        title : str, optional
            Default: the name of the model.
        speed : float, optional
            Time of the model in a second.
        **options
            Of films and pictures, see `Animation.save`.

        Examples
        --------
        >>> import dalembert as da
        >>> sol = da.problems.car_axis().simulate()
        >>> len(sol.animate(frames=100).html()) < 200_000
        True
        """
        from dalembert.viewer.animation import animate

        return animate(
            self, path, drawing=drawing, frames=frames, plots=plots, title=title, speed=speed, **options
        )

    def report(self, path: str | PathLike | None = None, *, title: str | None = None, animation: bool = True) -> Report:
        """Everything about this result on one page: equations, parameters, method, statistics, diagrams, animation.

        Parameters
        ----------
        path : path, optional
            A file whose name ends with ``.html``. Notebooks show what is returned.
        title : str, optional
            Default: the name of the model.
        animation : bool
            Whether it has one.

        Examples
        --------
        >>> import dalembert as da
        >>> da.problems.pendulum().simulate().report(title="A pendulum")
        Report('A pendulum', ...)
        """
        from dalembert.viewer.report import report

        return report(self, path, title=title, animation=animation)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from dalembert.viewer.summary import solution_html

        return solution_html(self)

    def save(self, path: str | PathLike) -> Path:
        """Write everything but the model to an HDF5 file; a file of this name is replaced in one go, or not at all.

        Links are followed; devices, pipes and the like are refused. `FileError` says why a file cannot be written.
        """
        from dalembert.solution.storage import save

        return save(self, path)

    @classmethod
    def load(cls, path: str | PathLike, model: Model | None = None) -> Solution:
        """Read a result written by `save`; `FileError` if a single bit of the file is not as it was written.

        Parameters
        ----------
        path : path
        model : Model, optional
            The model it came from, for residuals, accelerations and outputs. Its variables must have the same names.
            Its parameters are replaced by those of the result; inputs are taken as the model has them.
        """
        from dalembert.solution.storage import load

        return load(cls, path, model)

    # -- text ------------------------------------------------------------------------------------------------------

    @property
    def method_name(self) -> str:
        """The method without its options; several if they took turns.

        >>> import dalembert as da
        >>> da.problems.pendulum().simulate(method=da.Radau5(formulation="index2")).method_name
        'Radau5'
        """
        return " and ".join(part.partition("(")[0] for part in self.method.split(" and ")) or "unknown"

    def __repr__(self) -> str:
        first, last = self.trajectory.interval
        steps = f"{self.stats.accepted} step{'' if self.stats.accepted == 1 else 's'}"
        parts = [self.status, f"t = {first:.6g} … {last:.6g}", steps, self.method]
        return f"Solution({', '.join(part for part in parts if part)})"

    def __str__(self) -> str:
        lines = [repr(self)]
        if self.message:
            lines.append(f"  {self.message}")
        if self.formulation:
            lines.append(f"  formulation: {self.formulation}")
        if len(self.events):
            lines.append(f"  events: {self.events!r}")
        if len(self.impacts):
            lines.append(f"  impacts: {self.impacts!r}")
        lines.append(f"  variables: {', '.join(self.names)}")
        return "\n".join(lines)
