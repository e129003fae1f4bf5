"""A problem that has bodies: start and reference values are given by joints and hold in every set of coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import OptionError
from dalembert.locks import forks_wait
from dalembert.model import EquationsOfMotion, Model
from dalembert.multibody.equations import COORDINATES, expressions
from dalembert.multibody.parts import Frame
from dalembert.multibody.system import Multibody

from ..arguments import check_choice
from ..problem import Problem, Reference

#: values of joints by name: one number, or one for each coordinate or rate
JointValues = Mapping[str, float | Sequence[float]]


@dataclass(frozen=True, kw_only=True, eq=False)
class BodiesProblem(Problem):
    """A problem with its description: `multibody` gives equations in other coordinates, and shapes for drawing.

    Examples
    --------
    >>> from dalembert.problems import pendulum_from_bodies
    >>> problem = pendulum_from_bodies(coordinates="absolute")
    >>> problem.multibody
    Multibody('pendulum_from_bodies': 1 body, 1 joint, planar)
    >>> problem.model
    EquationsOfMotion('pendulum_from_bodies': 3 positions, 3 velocities, 2 holonomic constraints)
    """

    multibody: Multibody | None = None

    def error(self, solution: Any) -> float:
        """As `Problem.error`; Euler parameters count as the rotation they stand for, of any sign and length."""
        if self.reference is None or self.reference.p is None:
            return super().error(solution)
        last = np.array(solution.p[-1], float)
        known = self.reference.p
        for at in _euler_parameters(self.model):
            e = last[at]
            e = e / np.linalg.norm(e)
            last[at] = e if e @ known[at] >= 0 else -e
        return super().error(_End(solution.t, np.array([last]), solution.v))


@dataclass(frozen=True)
class _End:
    """What `Problem.error` reads of a solution."""

    t: np.ndarray
    p: np.ndarray
    v: np.ndarray


def _euler_parameters(model: Model) -> list[slice]:
    return [slice(k, k + 4) for k, name in enumerate(model.names("p")) if name.endswith(".e0")]


def problem_of(
    system: Multibody,
    coordinates: str,
    *,
    title: str,
    t_end: float,
    known: Iterable[tuple[float, JointValues, JointValues]] = (),
    source: str = "",
    accuracy: float = 0.0,
    energy: bool = False,
) -> BodiesProblem:
    """A problem from a description whose joints have q0 (and v0, or zero), which fit together.

    Parameters
    ----------
    known : rows of t, values of the joints, rates of the joints
        References; joints that the coordinates do not contain may be left out.
    energy : bool
        Whether the total energy is an invariant of the model.
    """
    check_choice(system.name, "coordinates", coordinates, COORDINATES)
    model = system.equations(coordinates, invariant="energy" if energy else None)
    q0 = {joint.name: joint.q0 for joint in system.joints if joint.q0 is not None}
    v0 = {joint.name: (0.0,) * joint.kind.freedoms if joint.v0 is None else joint.v0 for joint in system.joints}
    p0, rates0 = in_coordinates(system, model, 0.0, q0, v0)
    references = tuple(
        Reference(t=t, p=p, v=v, source=source, accuracy=accuracy)
        for t, q, rates in known
        for p, v in [in_coordinates(system, model, t, q, rates)]
    )
    states = {name: value for element in system.elements for name, value in element.state_values().items()}
    return BodiesProblem(
        name=system.name,
        title=title,
        model=model,
        p0=p0,
        v0=rates0,
        r0=np.array(list(states.values())) if states else None,
        t_end=t_end,
        reference=next((reference for reference in references if reference.t == t_end), None),
        references=references,
        multibody=system,
    )


def in_coordinates(
    system: Multibody, model: EquationsOfMotion, t: float, q: JointValues, rates: JointValues
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of a model, from values of the joints at time t.

    Coordinates of joints are looked up; those of bodies follow from the joints along the tree of joint coordinates.
    """
    q, rates = _by_coordinate(system, q, "coordinates"), _by_coordinate(system, rates, "rates")
    names, rate_names = model.names("p"), model.names("v")
    bodies = {body.name for body in system.bodies}
    if any(name.partition(".")[0] in bodies for name in names):
        found, moving = _bodies(system, q, rates)
        q, rates = q | found, rates | moving
    for name in (*names, *rate_names):
        if name not in q and name not in rates:
            raise OptionError(f"{system.name}: no value of '{name}' at t = {t:g}")
    return np.array([q[name] for name in names]), np.array([rates[name] for name in rate_names])


def _by_coordinate(system: Multibody, values: JointValues, what: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for joint in system.joints:
        if joint.name in values:
            given = np.atleast_1d(np.asarray(values[joint.name], float)).tolist()
            found |= dict(zip(getattr(joint, what), given, strict=True))
    return found


@forks_wait
def _bodies(system: Multibody, q: dict[str, float], rates: dict[str, float]) -> tuple[dict, dict]:
    """Coordinates of all bodies and their rates."""
    parts = expressions(system, set())
    scene, symbols = parts.scene, parts.symbols
    wanted = []
    for body in system.bodies:
        motion = scene.motion(Frame(body, body.com))
        turned = [motion.angle] if system.planar else [entry for row in motion.R for entry in row]
        wanted.append(ca.vertcat(*motion.x, *motion.v, *motion.w, *turned))
    given = [[q[name] for name in parts.bones.names], [rates[name] for name in parts.bones.rates]]
    numbers = np.array(ca.Function("bodies", [symbols.p, symbols.v], [ca.horzcat(*wanted)])(*given)).T
    found: dict[str, float] = {}
    moving: dict[str, float] = {}
    for body, row in zip(system.bodies, numbers, strict=True):
        x, v, w, turned = row[:3], row[3:6], row[6:9], row[9:]
        width = 2 if system.planar else 3
        for axis, place, rate in list(zip("xyz", x, v, strict=True))[:width]:
            found[f"{body.name}.com_{axis}"], moving[f"{body.name}.com_{axis}_dot"] = place, rate
        if system.planar:
            found[f"{body.name}.angle"], moving[f"{body.name}.angle_dot"] = turned[0], w[2]
            continue
        R = turned.reshape(3, 3)
        found |= {f"{body.name}.e{k}": entry for k, entry in enumerate(euler_parameters(R))}
        moving |= {f"{body.name}.w{axis}": rate for axis, rate in zip("xyz", R.T @ w, strict=True)}
    return found, moving


def euler_parameters(R: np.ndarray) -> np.ndarray:
    """(e0, e1, e2, e3) of a rotation matrix; the largest one is positive.

    >>> euler_parameters(np.diag([1.0, -1.0, -1.0])).tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    trace = np.trace(R)
    squares = np.array([trace, *(2 * np.diag(R) - trace)]) + 1  # four times those of e
    k = int(np.argmax(squares))
    cross = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 4 e0 e1, 4 e0 e2, 4 e0 e3
    both = R + R.T  # off the diagonal 4 ei ek
    e = np.empty(4)
    if k == 0:
        e[0], e[1:] = squares[0], cross
    else:
        e[0], e[1:] = cross[k - 1], both[k - 1]
        e[k] = squares[k]
    return e / np.sqrt(squares[k]) / 2
