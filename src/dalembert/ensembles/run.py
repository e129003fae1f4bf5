"""`ensemble`: many trajectories of one mechanism. What it needs for that is loaded when it is first called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dalembert.ensembles.result import Ensemble
from dalembert.model import Model


def ensemble(
    model: Model,
    t_span: Sequence[float] | None = None,
    *,
    p0: Any = None,
    v0: Any = None,
    r0: Any = None,
    parameters: Mapping[str, Any] | None = None,
    discrete: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    n: int | None = None,
    t_eval: Any = None,
    multipliers: bool = False,
    events: Any = None,
    roots: int = 16,
    method: Any = "hem5",
    rtol: Any = None,
    atol: Any = None,
    first_step: float | None = None,
    max_step: float | None = None,
    max_steps: int = 100_000,
    device: str = "auto",
    workers: int | None = None,
    progress: bool | Callable[[int, int], Any] = False,
) -> Ensemble:
    """Integrate many trajectories of one mechanism, by code that is generated around it.

    Parameters
    ----------
    model : EquationsOfMotion
        Of the descriptor form: positions, velocities, dynamic variables r, holonomic and nonholonomic constraints, all
        of whose functions can be traced, without contacts and friction that depends on multipliers.
    t_span : (float, float)
    p0, v0, r0 : array or mapping of names to values
        Start values: of a vector (components,) for all members or (n, components) for each, of a name one number or
        n of them. They are made consistent with the constraints, as `simulate` does.
    parameters, discrete : mappings, optional
        Other values than the model's: one for all members or one for each.
    inputs : mapping, optional
        As for `simulate`, for all members. Functions that cannot be traced become piecewise polynomials.
    n : int, optional
        How many members there are, if no array tells.
    t_eval : array, optional
        Times at which p, v and r are wanted; default: at the end.
    multipliers : bool
        Also at the times of t_eval; at the end they are always known.
    events : Event, function, or sequence of those
        Their roots are recorded; one that is terminal ends its member. Actions are for `simulate`.
    roots : int
        How many roots of each event are kept of a member; all are counted.
    method : str or Hem5
    rtol, atol, first_step, max_step, max_steps
        As for `simulate`.
    device : {"auto", "cpu", "gpu"}
        All cores of this processor, with vectors of members; or an NVIDIA GPU, for which nothing but its driver has to
        be installed. "auto" asks for a GPU from some thousand members on.
    workers : int, optional
        Threads on this processor; default: as many as there are cores.
    progress : bool or callable
        Show a bar, or call ``progress(done, of)`` now and then.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum().model
    >>> res = da.ensemble(pendulum, (0, 1), p0=[1.0, 0.0], parameters={"g": np.linspace(9, 10, 100)}, device="cpu")
    >>> res
    Ensemble(100 of 100 members, cpu)
    >>> res.p.shape, res["y"].shape, bool((res.status == "finished").all())
    ((100, 2), (100,), True)
    """
    given: dict[str, Any] = {name: value for name, value in locals().items() if name not in ("model", "t_span")}
    from dalembert.ensembles.carry import carry_out  # loads LLVM: not before it is needed
    from dalembert.ensembles.pieces import Copiers

    with Copiers() as copiers:
        return carry_out(model, t_span, copiers, **given)
