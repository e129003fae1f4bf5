"""The driver's side of the method for many colliding bodies: one record more, which grows with the contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.compile.half_explicit import CompiledDescriptor
from dalembert.errors import ContactError, ModelError, OptionError, PenetratingStart
from dalembert.model.collisions import Collisions
from dalembert.solvers.method import RunSpec, Snapshot
from dalembert.solvers.moreau.collide import BODY_A, BODY_B, GAP, new_collisions, with_more_room
from dalembert.solvers.moreau.detect import look
from dalembert.solvers.moreau.kernel import moreau_jean
from dalembert.solvers.moreau.many import moreau_jean_of_bodies
from dalembert.solvers.moreau.stepper import MoreauStepper
from dalembert.solvers.status import Count

if TYPE_CHECKING:
    from dalembert.solvers.moreau_jean import MoreauJean

#: contacts that there is room for at first, for each shape and besides
ROOM, MORE_ROOM = 4, 64
#: contacts for which there is room where bodies have joints, too: their matrix is full
MOST_BESIDE_JOINTS = 1000
#: penetration at the start that steps may have left behind, as a part of the size of the smallest body
ALLOWED = 0.02
#: by how much masses of model and collisions may differ, relatively
SAME = 1e-9


class CollisionStepper(MoreauStepper):
    """A run of the method with `model.collisions`."""

    default_tolerance = 1e-4

    def __init__(self, options: MoreauJean, compiled: CompiledDescriptor):
        form = compiled.form
        self.data: Collisions = form.model.collisions
        room = ROOM * len(self.data.shape_body) + MORE_ROOM
        self.held = bool(form.constraint_names)  # joints, or contacts of the model's own
        if self.held and room > MOST_BESIDE_JOINTS:
            raise ModelError(
                f"model '{form.model.name}' has {len(self.data.shape_body)} colliding shapes and constraints "
                f"('{form.constraint_names[0]}', …): the matrix of so many contacts is not formed. Leave out "
                "joints, or let fewer bodies collide"
            )
        super().__init__(options, compiled, room if self.held else 0)
        self.collisions = new_collisions(self.data, room)

    def link(self, spec: RunSpec) -> None:
        super().link(spec)
        self.state.set(collisions=self.collisions.address)

    def start(self, t: float, x: np.ndarray, x_dot: np.ndarray, t_end: float, first_step: float | None) -> None:
        if t_end < t:
            raise OptionError(
                f"from t = {t:g} to {t_end:g}: collisions have no past that follows from what comes after them; they "
                "are simulated forwards in time"
            )
        super().start(t, x, x_dot, t_end, first_step)
        self._forget()
        if self.counts[Count.STEPS] == 0:
            self._check_mass(t, x)
            self._must_not_penetrate(t, x, x_dot)
            self._forget()

    def _forget(self) -> None:
        """What an earlier run has left."""
        self.collisions.set(valid=0, full=0, n_contacts=0, n_pairs=0)
        self.collisions.old_keys[:] = -1

    def _check_mass(self, t: float, x: np.ndarray) -> None:
        """Masses of model and collisions must be the same; a model may give accelerations in place of forces."""
        data, model = self.data, self.form.model
        rows, columns = self.compiled.mass_pattern
        values = self.compiled.matrices(t, x, self.model.theta(t))[: len(rows)]
        own, n = np.zeros(model.graph.size("v")), 2 if data.planar else 3
        turning = 3 if not data.planar else 1
        moments = np.diagonal(data.inertia, axis1=1, axis2=2)[:, 3 - turning :]
        for k in range(n):
            own[data.v_at + k] = data.mass
        for k in range(turning):
            own[data.v_at + n + k] = moments[:, k]
        found = np.zeros_like(own)
        np.add.at(found, rows[rows == columns], values[rows == columns])
        bodies = own > 0
        if (found[bodies] == 1.0).all():
            return
        wrong = np.flatnonzero(bodies & ~(np.abs(found - own) <= SAME * own))
        if len(wrong):
            i = int(wrong[0])
            raise ModelError(
                f"model '{model.name}': the mass of '{model.names('v')[i]}' is {found[i]:g}, but collisions= says "
                f"{own[i]:g}"
            )

    def _must_not_penetrate(self, t: float, x: np.ndarray, x_dot: np.ndarray) -> None:
        """Beyond what steps leave behind, from which a run may go on."""
        while True:
            look(self.collisions.record, np.ascontiguousarray(x))
            if not self.collisions.full:
                break
            self._grow()
        n = int(self.collisions.n_contacts)
        gaps = self.collisions.contacts[:n, GAP]
        h, v, places = self.options.h, self.form.slices["v"], self.data.v_at[:, None] + np.arange(3 - self.data.planar)
        speed, acceleration = (np.abs(values[v][places]).max(initial=0.0) for values in (x, x_dot))
        sizes = self.data.bounds()[self.data.shape_body >= 0]
        allowed = ALLOWED * sizes.min(initial=np.inf) + h * speed + h * h * acceleration
        if not n or gaps.min() >= -allowed:
            return
        worst = int(np.argmin(gaps))
        names = ("the ground", *self.data.names)
        a, b = (names[int(self.collisions.wholes[worst, k]) + 1] for k in (BODY_A, BODY_B))
        raise PenetratingStart(
            f"'{b}' and '{a}' penetrate each other by {-gaps[worst]:.6g}. Move them apart at the start, t = {t:.9g}",
            contact=f"{b} and {a}",
        )

    def _grow(self) -> None:
        """Twice the room for contacts. The record has another address then, so that earlier copies do not fit."""
        if self.held:
            raise ContactError(
                f"there are more than {int(self.collisions.room_contacts)} contacts at t = {self.t:.9g}, for which "
                "bodies with joints have no room: let fewer bodies collide"
            )
        self.collisions = with_more_room(self.collisions, self.data, 2 * int(self.collisions.room_contacts))
        self.state.set(collisions=self.collisions.address)
        self._begun = []

    def take_steps(self) -> int:
        while True:
            kernel = moreau_jean if self.held else moreau_jean_of_bodies
            status = kernel(self.state.record, self.ports, self.buffer, self.scan)
            if not self.collisions.full:
                return status
            self._grow()

    # -- snapshots -------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        taken = super().snapshot()
        own = {"collisions": self.collisions.contents(), "room": np.array([int(self.collisions.room_contacts)])}
        return Snapshot(taken.method, {**taken.arrays, **own})

    def restore(self, snapshot: Snapshot) -> None:
        arrays = dict(snapshot.arrays)
        contents, room = arrays.pop("collisions", None), arrays.pop("room", None)
        super().restore(Snapshot(snapshot.method, arrays))
        if room is None or contents is None:
            raise OptionError("the snapshot is not of a run with collisions")
        if int(room[0]) != int(self.collisions.room_contacts):
            self.collisions = new_collisions(self.data, int(room[0]))
            self.state.set(collisions=self.collisions.address)
            self._begun = []
        self.collisions.set_contents(contents)
