"""Recursions along the tree as expressions: poses, velocities, Newton-Euler, composite and articulated bodies.

All vectors of a link are in one set of axes: its own in spatial systems, those of the world in planar ones, where
angles add up. Accelerations are those of points (not of flow), and gravity enters as an acceleration of the ground.

References
----------
.. [1] R. Featherstone, "Rigid body dynamics algorithms", Springer, 2008, chapters 5 to 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.model.expression import Expr
from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import ONE, UNIT, ZERO, Matrix, Scalar, Vector
from dalembert.multibody.kinds import Move
from dalembert.multibody.skeleton import Skeleton


def entry(value: Any) -> Scalar:
    """An entry of the skeleton's arrays as a number or a CasADi scalar."""
    if isinstance(value, Expr):
        value = value.sx
    if isinstance(value, ca.SX):
        return float(value) if value.is_constant() else value
    return float(value)


def entries(vector: np.ndarray) -> Vector:
    return tuple(entry(x) for x in vector)


def matrix(rows: np.ndarray) -> Matrix:
    return ONE if rows.dtype == float and np.array_equal(rows, np.eye(3)) else tuple(entries(row) for row in rows)


@dataclass
class Link:
    """What is known of one link at a position: the graph grows where something is asked for."""

    parent: int
    move: Move
    R: Matrix  # to the world
    x: Vector  # origin in the world
    angle: Scalar  # in planar systems
    E: Matrix  # from the parent's axes to the link's; ONE in planar systems
    r: Vector  # from the parent's origin to the link's, in the parent's axes
    freedoms: tuple[tuple[Vector, Vector], ...]  # for each velocity: turning and moving, in the link's axes
    places: tuple[int, ...]  # where these stand in v
    mass: Scalar
    com: Vector  # from the origin, in the link's axes
    inertia: Matrix  # about com, in the link's axes
    backwards: bool  # coordinates are those of the parent relative to the link
    reach: Vector  # then: from the link's origin to the joint's frame on the parent, in the link's axes


@dataclass
class Twist:
    """Angular velocity and velocity of the origin, or their rates."""

    w: Vector
    v: Vector


class AlongTree(Sequence):
    """One thing for each link, made from that of its parent when it is first asked for.

    What a large system is asked about is a few links and those that carry them.
    """

    def __init__(self, parent: np.ndarray, make: Callable[[int], Any]):
        self._parent, self._make = parent, make
        self._made: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._parent)

    def __getitem__(self, i: int) -> Any:
        if not 0 <= i < len(self):
            raise IndexError(i)
        made = self._made
        if i not in made:
            way = []  # to the next link that is known; not by recursion, since chains are long
            at = i
            while at >= 0 and at not in made:
                way.append(at)
                at = int(self._parent[at])
            for k in reversed(way):
                made[k] = self._make(k)
        return made[i]


class Tree:
    """A skeleton at coordinates q, which are CasADi scalars or numbers."""

    def __init__(self, bones: Skeleton, q: Sequence[Scalar]):
        self.bones, self.q = bones, q
        self.planar = bones.system.planar
        self.links: Sequence[Link] = AlongTree(bones.parent, self._link)
        self._carries = np.zeros(bones.n, bool)
        self._carries[bones.parent[bones.parent >= 0]] = True

    # -- positions -------------------------------------------------------------------------------------------------

    def _link(self, i: int) -> Link:
        bones, move = self.bones, Move(int(self.bones.move[i]))
        parent = int(bones.parent[i])
        above = self.links[parent] if parent >= 0 else None
        R_up, x_up, angle_up = (above.R, above.x, above.angle) if above else (ONE, ZERO, 0.0)
        fixed, offset = matrix(bones.rotation[i]), entries(bones.offset[i])
        axis = entries(bones.axis[i])
        first = int(bones.q_at[i])
        q = self.q[first] if move in (Move.REVOLUTE, Move.PRISMATIC, Move.SCREW) else None

        shift, turned, angle = ZERO, ONE, 0.0  # of the motion itself, in the joint's frame
        if move in (Move.PRISMATIC, Move.SCREW):
            along = q if move is Move.PRISMATIC else al.times(entry(bones.pitch[i]), q)
            shift = al.scale(along, axis)
        if move in (Move.REVOLUTE, Move.SCREW):
            turned, angle = (ONE if self.planar else al.rotation_about(axis, q)), al.times(axis[2], q)
        if move is Move.SPHERICAL:
            turned = al.rotation_of(tuple(self.q[first : first + 4]))
        if move is Move.FREE:
            shift, turned = tuple(self.q[first : first + 3]), al.rotation_of(tuple(self.q[first + 3 : first + 7]))
        backwards, reach = bool(bones.backwards[i]), ZERO
        if backwards:
            reach, turned = shift, al.transpose(turned)
            shift = al.negative(al.turn(turned, reach))

        local = al.add(offset, al.turn(fixed, shift))
        if self.planar:  # one sine and cosine of the whole angle, and no products of rotations
            angle = al.total([angle_up, float(np.arctan2(fixed[1][0], fixed[0][0])), angle])
            R = al.rotation_about(UNIT[2], angle) if type(angle) is ca.SX or angle != 0.0 else ONE
            if angle is angle_up and above is not None:
                R = R_up
        else:
            R = al.product(R_up, al.product(fixed, turned))
        joint_axes = al.product(R_up, fixed)  # axes of the joint's frame
        x = al.add(x_up, al.turn(R_up, local))
        E = ONE if self.planar else al.transpose(al.product(fixed, turned))
        r = al.turn(R_up, local) if self.planar else local
        if self.planar:
            own = al.turn(joint_axes, axis)
            freedoms = {
                Move.REVOLUTE: ((axis, ZERO),),
                Move.PRISMATIC: ((ZERO, own),),
            }[move]
        elif backwards:  # the parent turns and moves relative to the link
            about = [al.turn_back(turned, unit) for unit in UNIT]
            freedoms = tuple((al.negative(axis), al.cross(axis, reach)) for axis in about)
            if move is Move.FREE:
                freedoms = (*((ZERO, al.negative(unit)) for unit in UNIT), *freedoms)
        else:
            freedoms = {
                Move.REVOLUTE: lambda: ((axis, ZERO),),
                Move.PRISMATIC: lambda: ((ZERO, axis),),
                Move.SCREW: lambda: ((axis, al.scale(entry(bones.pitch[i]), axis)),),
                Move.SPHERICAL: lambda: tuple((unit, ZERO) for unit in UNIT),
                Move.FREE: lambda: (
                    *((ZERO, al.turn_back(turned, unit)) for unit in UNIT),
                    *((unit, ZERO) for unit in UNIT),
                ),
            }[move]()
        com, inertia = entries(bones.com[i]), tuple(entries(row) for row in bones.inertia[i])
        start = int(bones.v_at[i])
        return Link(
            parent, move, R, x, angle, E, r, freedoms, tuple(range(start, start + len(freedoms))),
            entry(bones.mass[i]), al.turn(R, com) if self.planar else com,
            inertia,  # planar bodies have none but about z
            backwards,
            reach,
        )  # fmt: skip

    def out(self, i: int, a: Vector) -> Vector:
        """A vector of link i in axes of the world."""
        return a if self.planar or i < 0 else al.turn(self.links[i].R, a)

    def into(self, i: int, a: Vector) -> Vector:
        """A vector in axes of the world in those of link i."""
        return a if self.planar or i < 0 else al.turn_back(self.links[i].R, a)

    # -- velocities and accelerations ------------------------------------------------------------------------------

    def velocities(self, v: Sequence[Scalar]) -> Sequence[Twist]:
        """Of all links, in their axes."""

        def make(i: int) -> Twist:
            link = self.links[i]
            up = motions[link.parent] if link.parent >= 0 else Twist(ZERO, ZERO)
            w, u = al.turn(link.E, up.w), al.turn(link.E, al.add(up.v, al.cross(up.w, link.r)))
            for place, (turning, moving) in zip(link.places, link.freedoms, strict=True):
                w, u = al.add(w, al.scale(v[place], turning)), al.add(u, al.scale(v[place], moving))
            return Twist(w, u)

        motions = AlongTree(self.bones.parent, make)
        return motions

    def bias(self, link: Link, up: Twist, v: Sequence[Scalar]) -> Twist:
        """Acceleration of a link where its parent and its coordinates have none; `up`: the parent's velocity."""
        swing = al.turn(link.E, al.cross(up.w, al.cross(up.w, link.r)))
        w_up = al.turn(link.E, up.w)
        turning, moving = ZERO, ZERO
        for place, (about, along) in zip(link.places, link.freedoms, strict=True):
            turning = al.add(turning, al.scale(v[place], about))
            moving = al.add(moving, al.scale(v[place], along))
        u = al.add(swing, al.scale(2.0, al.cross(w_up, moving)))
        if link.backwards:  # freedoms are constant in axes of the link, which turns relative to the parent
            away = al.add(moving, al.cross(turning, link.reach))  # −x', the rate of `reach`
            u = al.add(u, al.scale(2.0, al.cross(turning, away)))
            u = al.subtract(u, al.cross(turning, al.cross(turning, link.reach)))
        return Twist(al.cross(w_up, turning), u)

    def accelerations(
        self, v: Sequence[Scalar], a: Sequence[Scalar] | None, motions: Sequence[Twist], gravity: Vector = ZERO
    ) -> Sequence[Twist]:
        """Of all links, in their axes; those of free fall are zero if `gravity` is given. Without `a`: for v' = 0."""

        def make(i: int) -> Twist:
            link = self.links[i]
            up = rates[link.parent] if link.parent >= 0 else Twist(ZERO, al.negative(gravity))
            up_v = motions[link.parent] if link.parent >= 0 else Twist(ZERO, ZERO)
            bias = self.bias(link, up_v, v)
            w = al.add(al.turn(link.E, up.w), bias.w)
            u = al.add(al.turn(link.E, al.add(up.v, al.cross(up.w, link.r))), bias.v)
            if a is not None:
                for place, (about, along) in zip(link.places, link.freedoms, strict=True):
                    w, u = al.add(w, al.scale(a[place], about)), al.add(u, al.scale(a[place], along))
            return Twist(w, u)

        rates = AlongTree(self.bones.parent, make)
        return rates

    # -- forces ----------------------------------------------------------------------------------------------------

    def newton_euler(
        self,
        v: Sequence[Scalar],
        a: Sequence[Scalar] | None,
        gravity: Vector,
        forces: dict[int, list[tuple[Vector, Vector]]],
    ) -> tuple[list[Scalar], list[tuple[Vector, Vector]]]:
        """Generalized forces that the motion needs, and what each joint transmits (torque, force) to its link.

        `forces`: for each link the (torque about its origin, force) that act on it from outside, in world axes.
        Without `a`: for v' = 0.
        """
        motions = self.velocities(v)
        rates = self.accelerations(v, a, motions, gravity)
        carried = []
        for i, link in enumerate(self.links):
            w, rate = motions[i].w, rates[i]
            c = link.com
            at_centre = al.add(rate.v, al.cross(rate.w, c), al.cross(w, al.cross(w, c)))
            f = al.scale(link.mass, at_centre)
            J = link.inertia
            n = al.add(al.turn(J, rate.w), al.cross(w, al.turn(J, w)), al.cross(c, f))
            for torque, force in forces.get(i, ()):
                n, f = al.subtract(n, self.into(i, torque)), al.subtract(f, self.into(i, force))
            carried.append((n, f))
        tau: list[Scalar] = [0.0] * self.bones.n_v
        for i in range(len(self.links) - 1, -1, -1):
            link = self.links[i]
            n, f = carried[i]
            for place, (about, along) in zip(link.places, link.freedoms, strict=True):
                tau[place] = al.plus(al.dot(about, n), al.dot(along, f))
            if self.stands_alone(i):  # in axes of the world from the beginning: no rotation need cancel
                fall = tuple(0.0 if a is None else a[place] for place in link.places[:3])
                needed = al.scale(link.mass, al.subtract(fall, gravity))
                needed = al.subtract(needed, al.add(ZERO, *(force for _, force in forces.get(i, ()))))
                for place, value in zip(link.places[:3], needed, strict=True):
                    tau[place] = value
            if link.parent >= 0:
                f_up = al.turn_back(link.E, f)
                n_up = al.add(al.turn_back(link.E, n), al.cross(link.r, f_up))
                above = carried[link.parent]
                carried[link.parent] = (al.add(above[0], n_up), al.add(above[1], f_up))
        return tau, carried

    def stands_alone(self, i: int) -> bool:
        """Whether the link is a body of its own coordinates at its centre of mass that carries nothing."""
        link = self.links[i]
        at_centre = all(type(x) is not ca.SX and x == 0.0 for x in link.com)
        plain = link.move is Move.FREE and not link.backwards and np.array_equal(self.bones.rotation[i], np.eye(3))
        return plain and link.parent < 0 and not self._carries[i] and at_centre

    def mass_matrix(self) -> list[list[Scalar]]:
        """By composite rigid bodies."""
        n_v = self.bones.n_v
        M: list[list[Scalar]] = [[0.0] * n_v for _ in range(n_v)]
        whole = [
            (link.mass, al.scale(link.mass, link.com), al.sum_of(link.inertia, al.steiner(link.mass, link.com)))
            for link in self.links
        ]
        for i in range(len(self.links) - 1, -1, -1):
            link = self.links[i]
            m, h, J = whole[i]
            if self.stands_alone(i):  # the velocity is in axes of the world: no rotation need cancel
                for k in range(3):
                    M[link.places[k]][link.places[k]] = m
                    for j in range(3):
                        M[link.places[3 + k]][link.places[3 + j]] = link.inertia[k][j]
                continue
            for k, (about, along) in enumerate(link.freedoms):
                row = link.places[k]
                L = al.add(al.turn(J, about), al.cross(h, along))
                p = al.add(al.scale(m, along), al.cross(about, h))
                for j in range(k + 1):
                    M[row][link.places[j]] = al.plus(al.dot(link.freedoms[j][0], L), al.dot(link.freedoms[j][1], p))
                    M[link.places[j]][row] = M[row][link.places[j]]
                at = i
                while self.links[at].parent >= 0:
                    here = self.links[at]
                    p = al.turn_back(here.E, p)
                    L = al.add(al.turn_back(here.E, L), al.cross(here.r, p))
                    at = here.parent
                    above = self.links[at]
                    for place, (w, u) in zip(above.places, above.freedoms, strict=True):
                        M[row][place] = M[place][row] = al.plus(al.dot(w, L), al.dot(u, p))
            if link.parent >= 0:
                whole[link.parent] = _add_composite(whole[link.parent], link, m, h, J)
        return M

    def articulated(
        self,
        v: Sequence[Scalar],
        tau: Sequence[Scalar],
        gravity: Vector,
        forces: dict[int, list[tuple[Vector, Vector]]],
    ) -> list[Scalar]:
        """v' by articulated bodies, for generalized forces tau and outer forces as in `newton_euler`."""
        n = len(self.links)
        motions = self.velocities(v)
        inertia, load, bias = [], [], []
        for i, link in enumerate(self.links):
            c, m, w = link.com, link.mass, motions[i].w
            h = al.scale(m, c)
            J = al.sum_of(link.inertia, al.steiner(m, c))
            H = ((0.0, -h[2], h[1]), (h[2], 0.0, -h[0]), (-h[1], h[0], 0.0))
            inertia.append(_six(J, H, m))
            torque, force = al.cross(w, al.turn(J, w)), al.cross(w, al.cross(w, h))
            for n_out, f_out in forces.get(i, ()):
                torque, force = al.subtract(torque, self.into(i, n_out)), al.subtract(force, self.into(i, f_out))
            load.append((*torque, *force))
            up = motions[link.parent] if link.parent >= 0 else Twist(ZERO, ZERO)
            part = self.bias(link, up, v)
            bias.append((*part.w, *part.v))
        solved: list[Any] = [None] * n
        for i in range(n - 1, -1, -1):
            link = self.links[i]
            S = [(*about, *along) for about, along in link.freedoms]
            U = [al.turn(inertia[i], column) for column in S]
            D = [[al.dot(a, b) for b in U] for a in S]
            rest = [al.minus(tau[place], al.dot(a, load[i])) for place, a in zip(link.places, S, strict=True)]
            inverse = _inverse(D)
            solved[i] = (U, inverse, rest)
            if link.parent < 0:
                continue
            W = [al.add(*(al.scale(inverse[k][j], U[j]) for j in range(len(U)))) for k in range(len(U))]
            left = inertia[i]
            for a, b in zip(U, W, strict=True):
                left = tuple(tuple(al.minus(left[r][s], al.times(a[r], b[s])) for s in range(6)) for r in range(6))
            passed = al.add(load[i], al.turn(left, bias[i]), *(al.scale(x, b) for x, b in zip(rest, W, strict=True)))
            X = _transform(link.E, link.r)
            inertia[link.parent] = al.sum_of(inertia[link.parent], al.product(al.transpose(X), al.product(left, X)))
            load[link.parent] = al.add(load[link.parent], al.turn_back(X, passed))
        result: list[Scalar] = [0.0] * self.bones.n_v
        rates: list[Vector] = []
        for i, link in enumerate(self.links):
            up = rates[link.parent] if link.parent >= 0 else (*ZERO, *al.negative(gravity))
            here = al.add(al.turn(_transform(link.E, link.r), up), bias[i])
            U, inverse, rest = solved[i]
            open_ = [al.minus(r, al.dot(u, here)) for r, u in zip(rest, U, strict=True)]
            for k, place in enumerate(link.places):
                result[place] = al.dot(tuple(inverse[k]), tuple(open_))
                about, along = link.freedoms[k]
                here = al.add(here, al.scale(result[place], (*about, *along)))
            rates.append(here)
        return result


def _add_composite(above: tuple, link: Link, m: Scalar, h: Vector, J: Matrix) -> tuple:
    """A composite body together with the one that a link carries, about the origin of the parent."""
    h_up = al.turn_back(link.E, h)
    J_up = al.turned_inertia(al.transpose(link.E), J)
    r = link.r
    rh = al.dot(r, h_up)
    moved = tuple(
        tuple(
            al.minus(
                al.plus(J_up[i][k], al.times(2.0, rh) if i == k else 0.0),
                al.plus(al.times(r[i], h_up[k]), al.times(h_up[i], r[k])),
            )
            for k in range(3)
        )
        for i in range(3)
    )
    moved = al.sum_of(moved, al.steiner(m, r))
    return (al.plus(above[0], m), al.add(above[1], h_up, al.scale(m, r)), al.sum_of(above[2], moved))


def _six(J: Matrix, H: Matrix, m: Scalar) -> Matrix:
    """Inertia about the origin for (rate of turning, acceleration of the origin): [[J, H], [Hᵀ, m]]."""
    upper = tuple((*J[i], *H[i]) for i in range(3))
    lower = tuple((H[0][i], H[1][i], H[2][i], *(m if k == i else 0.0 for k in range(3))) for i in range(3))
    return upper + lower


def _transform(E: Matrix, r: Vector) -> Matrix:
    """Takes (turning, moving) of the parent's origin to the link's: moving + turning × r, in the link's axes."""
    cross = ((0.0, r[2], -r[1]), (-r[2], 0.0, r[0]), (r[1], -r[0], 0.0))
    lower = al.product(E, cross) if E is not ONE else cross
    return tuple((*E[i], 0.0, 0.0, 0.0) for i in range(3)) + tuple((*lower[i], *E[i]) for i in range(3))


def _inverse(D: list[list[Scalar]]) -> list[list[Scalar]]:
    """Of the small symmetric matrix of a joint's freedoms, by elimination."""
    n = len(D)
    if n == 1:
        return [[1.0 / D[0][0]]]
    rows = [list(row) + [1.0 if i == k else 0.0 for k in range(n)] for i, row in enumerate(D)]
    for k in range(n):
        pivot = rows[k][k]
        rows[k] = [_over(x, pivot) for x in rows[k]]
        for i in range(n):
            if i != k:
                factor = rows[i][k]
                rows[i] = [al.minus(x, al.times(factor, y)) for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows]


def _over(x: Scalar, y: Scalar) -> Scalar:
    return 0.0 if type(x) is not ca.SX and x == 0.0 else x / y
