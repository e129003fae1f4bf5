"""Forces, masses and constraints of a system, and all their derivatives, as functions of numbers.

In coordinates of the joints, for what is asked of a system before it moves. M v' = f − Gᵀ λ; positions are varied along
velocities, so that Euler parameters need no special treatment.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.errors import UntraceableError, UntraceableWarning
from dalembert.kept import computed
from dalembert.model.inputs import TracedInput
from dalembert.multibody import algebra as al
from dalembert.multibody.closing import RowInfo, row_info, size_of
from dalembert.multibody.equations import expressions, kinematics
from dalembert.multibody.known import rows_of
from dalembert.multibody.parts import Joint
from dalembert.multibody.poses import are_lengths
from dalembert.multibody.skeleton import skeleton

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody


class Mechanics:
    """A system in numbers.

    Parameters
    ----------
    equations : mapping, optional
        Known values that are no coordinates; they become constraints.
    pushed : sequence of Joint
        Joints in which forces τ are applied besides all others.
    held : mapping, optional
        Places of coordinates that do not move, and their values.
    """

    def __init__(
        self,
        system: Multibody,
        equations: Mapping[str, Any] | None = None,
        pushed: Sequence[Joint] = (),
        t: float = 0.0,
        held: Mapping[int, float] | None = None,
    ):
        self.system, self.t = system, t
        self.bones = skeleton(system, ())
        self.parts = expressions(system, set())
        scene, symbols = self.parts.scene, self.parts.symbols
        if symbols.untraced:
            one = symbols.untraced[0]
            raise UntraceableError(
                f"{one.where}: its function cannot be traced ({one.reason}), and derivatives are needed here; write it "
                "with NumPy's functions"
            )
        self.size = size_of(self.bones)
        self.columns = np.where(are_lengths(self.bones), self.size, 1.0)

        rows = [row for _, row in self.parts.rows]
        self.rows: list[RowInfo] = [
            row_info(system, name, joint, label)
            for (name, _), (joint, label) in zip(self.parts.rows, self.parts.owners, strict=True)
        ]
        for name, value in (equations or {}).items():
            for row, length in rows_of(scene, name, value):
                self.rows.append(RowInfo(name, "", length, known=True))
                rows.append(row)
        for place, value in (held or {}).items():
            self.rows.append(RowInfo(self.bones.names[place], "", False, known=True))
            rows.append(symbols.p[place] - value)
        scales = [self.size if row.length else 1.0 for row in self.rows]
        self.tau = ca.SX.sym("tau", len(pushed))
        for k, joint in enumerate(pushed):
            scene.drive(joint, self.tau[k])

        self.symbols = symbols
        self.p, self.v, self.a, self.r = symbols.p, symbols.v, symbols.a, symbols.r
        self.lam = ca.SX.sym("lam", len(rows))
        self.u = ca.vertcat(*symbols.inputs.values()) if symbols.inputs else ca.SX(0, 1)
        self.du = ca.vertcat(*symbols.input_rates.values()) if symbols.inputs else ca.SX(0, 1)
        self._parameters = ca.vertcat(*symbols.parameters.values()) if symbols.parameters else ca.SX(0, 1)
        self._values = np.array([parameter.value for parameter in system.parameters.values()])
        self.F = (
            ca.vertcat(*(row / s for row, s in zip(map(ca.SX, rows), scales, strict=True))) if rows else ca.SX(0, 1)
        )
        self.Z = kinematics(scene)
        self.G = self.along(self.F)
        gravity = tuple(scene.value(x) for x in system.gravity)
        needed, _ = scene.tree.newton_euler(scene.v, None, gravity, scene.forces)
        applied = [al.minus(f, n) for f, n in zip(scene.joint_forces, needed, strict=True)]
        self.f = ca.vertcat(*map(ca.SX, applied)) if applied else ca.SX(0, 1)
        rates = self.parts.state_rates
        self.r_rates = ca.vertcat(*map(ca.SX, rates)) if rates else ca.SX(0, 1)
        self.r0 = np.array(list(self.parts.states.values()), float)
        self.inputs = self._inputs(t)

    def _inputs(self, t: float) -> np.ndarray:
        """Values and two derivatives of all inputs, as columns."""
        found = np.zeros((len(self.system.inputs), 3))
        for k, (name, given) in enumerate(self.system.inputs.items()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UntraceableWarning)
                traced = TracedInput(name, given)
            found[k] = traced.python(t) if traced.sx is None else np.ravel(traced.sx(t).full())
        return found

    @computed
    def M(self) -> ca.SX:
        return al.sx_matrix(self.parts.scene.tree.mass_matrix()) if self.bones.n_v else ca.SX(0, 0)

    def along(self, E: ca.SX) -> ca.SX:
        """The derivative of expressions when positions move along velocities."""
        J = ca.jacobian(E, self.p)
        return J if self.Z is None else ca.mtimes(J, self.Z)

    def function(self, arguments: Sequence[ca.SX], results: Sequence[ca.SX]) -> Any:
        """Expressions of numbers: returns dense arrays; time, parameters and inputs have their values."""
        fixed = [self.symbols.t, self._parameters, self.u, self.du]
        f = ca.Function("f", [*arguments, *fixed], [ca.densify(e) for e in results])
        u, du = self.inputs[:, 0], self.inputs[:, 1]

        def evaluate(*values: np.ndarray, rates: bool = True) -> list[np.ndarray]:
            return [x.full() for x in f.call([*values, self.t, self._values, u, du if rates else 0 * du])]

        return evaluate
