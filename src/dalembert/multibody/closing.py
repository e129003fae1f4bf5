"""The equations of an assembly as functions of numbers: closure of loops, and known values that are no coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.errors import UntraceableWarning
from dalembert.model.inputs import TracedInput
from dalembert.multibody import algebra as al
from dalembert.multibody.elements import Coupling, Drive, Element
from dalembert.multibody.equations import constraints, kinematics
from dalembert.multibody.known import rows_of
from dalembert.multibody.parts import Frame, Joint
from dalembert.multibody.poses import are_lengths, moved
from dalembert.multibody.scene import Scene, Symbols
from dalembert.multibody.search import DENSE
from dalembert.multibody.skeleton import Skeleton

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

_LENGTHS = ("x", "y", "z", "side", "side1", "side2", "height", "roll")


@dataclass(frozen=True)
class RowInfo:
    """What an equation belongs to: its joint, coupling or drive, or a known value."""

    owner: str  # name of a joint or element, or of the known value
    label: str
    length: bool
    joint: Joint | None = None
    known: bool = False


def constrained(system: Multibody, bones: Skeleton) -> bool:
    """Whether there is any constraint between the coordinates, apart from drives of coordinates."""
    if bones.cut or any(type(e).constraints is not Element.constraints for e in system.elements):
        return True
    return any(joint.kind.name == "rolling disc" for joint in system.joints)


def drives(system: Multibody, t: float) -> dict[str, tuple[float, float, float]]:
    """Values of the inputs that drive joints, with two derivatives."""
    driving = [joint.drive for joint in system.joints if joint.drive is not None]
    driving += [name for element in system.elements if isinstance(element, Drive) for name in element.inputs]
    found = {}
    for name in driving:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UntraceableWarning)  # the model says it
            traced = TracedInput(name, system.inputs[name])
        values = traced.python(t) if traced.sx is None else np.array(traced.sx(t)).ravel()
        found[name] = tuple(float(x) for x in values)
    return found


def numeric_symbols(system: Multibody, bones: Skeleton, states: Mapping[str, float] | None = None) -> Symbols:
    """Symbols of a scene in which parameters are numbers."""
    return Symbols(
        ca.SX.sym("t"), ca.SX.sym("p", bones.n_q), ca.SX.sym("v", bones.n_v), ca.SX.sym("a", bones.n_v),
        ca.SX.sym("r", len(states or ())), ca.SX(0, 1), {name: ca.SX.sym(name) for name in system.inputs},
        {name: ca.SX.sym(f"{name}_dot") for name in system.inputs},
        {name: ca.SX(parameter.value) for name, parameter in system.parameters.items()}, tuple(states or ()),
    )  # fmt: skip


def size_of(bones: Skeleton) -> float:
    """A length that is typical for the system: the longest arm on any body, 1 if there is none."""
    arms = [np.asarray(bones.offset, float), np.asarray(bones.body_offset, float)]
    arms += [np.array([bones.placement(frame)[2] for j in bones.cut for frame in (j.first, j.second)], float)]
    longest = max((float(np.abs(a).max(initial=0.0)) for a in arms), default=0.0)
    return longest if longest > 1e-100 else 1.0


def row_info(system: Multibody, name: str, joint: Joint | None, label: str) -> RowInfo:
    """Of a constraint by its full name, "pin.lam_x"."""
    owner = name.partition(".lam_")[0]
    counts = joint
    if joint is None:
        counts = next((e.joint for e in system.elements if e.name == owner and isinstance(e, Coupling)), None)
    sliding = label in ("drive", "coupling") and counts is not None and counts.kind.name == "prismatic"
    return RowInfo(owner, label, label in _LENGTHS or sliding, joint)


class Closing:
    """F(p) = 0 and C(p) v = c in tangent coordinates; lengths are measured in those of the system.

    Attributes
    ----------
    rows, rate_rows : lists of RowInfo
        Of the equations for positions, and of those that come in for velocities besides.
    guess_rows : number of equations for where bodies are about
    """

    def __init__(
        self,
        system: Multibody,
        bones: Skeleton,
        inputs: Mapping[str, tuple[float, float, float]],
        equations: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
        axes: Mapping[int, str] | None = None,
    ):
        self.system, self.bones = system, bones
        self.size = size_of(bones)
        symbols = numeric_symbols(system, bones)
        scene = self.scene = Scene(bones, symbols, axes)
        found, owners = constraints(scene)
        self.rows = [
            row_info(system, name, joint, label) for (name, _), (joint, label) in zip(found, owners, strict=True)
        ]
        expressions = [row for _, row in found]
        for name, value in (equations or {}).items():
            for expression, length in rows_of(scene, name, value):
                self.rows.append(RowInfo(name, "", length, known=True))
                expressions.append(expression)
        self.rate_rows: list[RowInfo] = []
        moving = []
        for name, value in (rates or {}).items():
            for expression, length in rows_of(scene, name, value):
                self.rate_rows.append(RowInfo(name, "", length, known=True))
                moving.append(expression)
        guess = self._guess(scene)
        self.guess_rows = len(guess)

        self._scale = np.array([self.size if row.length else 1.0 for row in self.rows])
        self._rate_scale = np.array([self.size if row.length else 1.0 for row in self.rate_rows])
        self.column_scale = np.where(are_lengths(bones), self.size, 1.0)
        driving = [name for name in inputs if name in symbols.inputs]
        self.inputs = np.array([inputs.get(name, (0.0,))[0] for name in symbols.inputs])  # of forces: zero
        self._u = np.array([inputs[name][0] for name in driving])
        self._du = np.array([inputs[name][1] for name in driving])
        u = ca.vertcat(*(symbols.inputs[name] for name in driving)) if driving else ca.SX(0, 1)
        F, Fg, V = (ca.vertcat(*map(ca.SX, rows)) if rows else ca.SX(0, 1) for rows in (expressions, guess, moving))
        Z = kinematics(scene)
        self.sparse = len(self.rows) * bones.n_v > DENSE

        def tangent(E: ca.SX) -> ca.SX:
            J = ca.jacobian(E, symbols.p)
            return J if Z is None else ca.mtimes(J, Z)

        # inputs that only forces read are no part of these expressions
        G = tangent(F)
        self._close = ca.Function("close", [symbols.p, u], [F, G])
        self._near = ca.Function("near", [symbols.p], [Fg, tangent(Fg)])
        self._rates = ca.Function(
            "rates", [symbols.p, u, symbols.v], [G, ca.jacobian(F, u), V, ca.jacobian(V, symbols.v)]
        )

    def _guess(self, scene: Scene) -> list[Any]:
        """Where bodies that joints carry are about, lengths in those of the system."""
        rows: list[Any] = []
        width = 2 if scene.planar else 3
        for body in self.system.bodies:
            if body.number in self.bones.own or self.bones.link_of[body.number] < 0:
                continue
            at = scene.motion(Frame(body)) if body.position is not None or body.orientation is not None else None
            if body.position is not None:
                rows += [al.minus(a, x) / self.size for a, x in zip(at.x[:width], body.position, strict=False)]
            if body.orientation is not None:
                wanted = body.orientation
                rows += [al.minus(at.R[i][k], float(wanted[i, k])) for i in range(3) for k in range(3)]
        return [row for row in rows if type(row) is ca.SX]

    # -- numbers ---------------------------------------------------------------------------------------------------

    def _matrix(self, J: ca.DM, scale: np.ndarray, columns: np.ndarray, rows: np.ndarray | None = None) -> Any:
        if self.sparse:
            from scipy.sparse import csc_matrix, diags

            A = csc_matrix(J.sparse())
            A = (diags(1 / scale) @ A @ diags(self.column_scale)).tocsr()
            return (A if rows is None else A[rows])[:, columns].tocsc()
        A = J.full().reshape(len(scale), self.bones.n_v)
        A = A / scale[:, None] * self.column_scale
        return (A if rows is None else A[rows])[:, columns]

    def evaluate(self, p: np.ndarray, columns: np.ndarray, rows: np.ndarray | None = None) -> tuple[np.ndarray, Any]:
        """F and its Jacobian with respect to the given velocities, both without units."""
        F, J = self._close(p, self._u)
        F = F.full().ravel() / self._scale
        return (F if rows is None else F[rows]), self._matrix(J, self._scale, columns, rows)

    def near(self, p: np.ndarray, columns: np.ndarray, weight: float | None = None) -> tuple[np.ndarray, Any]:
        """How far bodies are from where they should be about; with a weight, behind the equations themselves."""
        F, J = self._near(p)
        F, J = F.full().ravel(), self._matrix(J, np.ones(self.guess_rows), columns)
        if weight is None:
            return F, J
        closing, by_p = self.evaluate(p, columns)
        return np.concatenate([closing, weight * F]), self._stacked(by_p, weight * J)

    def _stacked(self, A: Any, B: Any) -> Any:
        if not self.sparse:
            return np.vstack([A, B])
        from scipy.sparse import vstack

        return vstack([A, B]).tocsc()

    def rates(self, p: np.ndarray) -> tuple[Any, np.ndarray]:
        """C and c in C v = c, without units; rows of positions first, then those of known rates."""
        J, by_u, V, by_v = self._rates(p, self._u, np.zeros(self.bones.n_v))
        every = np.arange(self.bones.n_v)
        closing = np.array([not row.known for row in self.rows], bool)
        C = self._matrix(J, self._scale, every, closing)
        c = -(by_u.full() @ self._du / self._scale)[closing] if len(self._du) else np.zeros(int(closing.sum()))
        D = self._matrix(by_v, self._rate_scale, every)
        d = -V.full().ravel() / self._rate_scale
        return self._stacked(C, D), np.concatenate([c, d])

    def move(self, p: np.ndarray, columns: np.ndarray, step: np.ndarray) -> np.ndarray:
        """A step of the given velocities."""
        whole = np.zeros(self.bones.n_v)
        whole[columns] = step
        return moved(self.bones, p, whole * self.column_scale)

    def gaps(self, F: np.ndarray) -> dict[str, tuple[float, float]]:
        """Of each owner of equations the distance and the angle that are left, from F without units."""
        found: dict[str, tuple[float, float]] = {}
        for row, value in zip(self.rows, F, strict=True):
            distance, angle = found.get(row.owner, (0.0, 0.0))
            if row.length:
                distance = float(np.hypot(distance, value * self.size))
            else:
                angle = float(np.hypot(angle, value))
            found[row.owner] = (distance, angle)
        return found
