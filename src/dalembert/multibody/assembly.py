"""Initial assembly: positions and velocities of a whole system from what is known of some of it.

The search works in coordinates of the joints, whatever the equations of motion are written in: all sets of coordinates
then start from the same configuration, read off the bodies. Trees take no search at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import CannotAssemble, ModelError, OptionError
from dalembert.kept import computed
from dalembert.locks import forks_wait
from dalembert.model.namespace import explain_unknown
from dalembert.multibody import algebra as al
from dalembert.multibody.closing import Closing, constrained, drives
from dalembert.multibody.contacting import gaps_at
from dalembert.multibody.equations import COORDINATES, own_bodies
from dalembert.multibody.known import gather, time_of
from dalembert.multibody.parts import Body, Frame
from dalembert.multibody.poses import Poses, columns
from dalembert.multibody.quantities import value_of, values_of
from dalembert.multibody.readings import along_tree, coordinates_and_rates
from dalembert.multibody.search import first_that_solves, quietly, search, starts
from dalembert.multibody.skeleton import Skeleton, skeleton

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

#: gaps up to this part of the system's size count as closed; most are closed to rounding errors
ACCEPTED = 1e-10
#: weight of what is guessed of bodies where it does not fit the loops
_GUESSED = 0.3
#: velocities beyond this multiple of the known ones: the position is singular
_EXCESSIVE = 1e6
#: known values of which each is left out once to find those that contradict
_MOST_TRIED = 25


@dataclass(frozen=True, eq=False)
class Assembly:
    """Positions and velocities that satisfy all constraints.

    Attributes
    ----------
    p, v : arrays
        In the coordinates asked for; `names` and `rates` say what their components are called.
    given, found : tuples of str
        Names of values that were known, and of joint coordinates and rates that were found.
    residual : float
        The largest gap that is left in any joint, in metres or radians.
    t : float
        The time at which drives are taken.

    Everything else is there by name: ``assembly["pin.angle"]`` also of cut joints, rates, "crank.position",
    "crank.com", "crank.orientation", "crank.angle" (planar systems), "crank.velocity", "crank.angular_velocity";
    "floor.gap" of contacts.
    """

    coordinates: str
    p: np.ndarray
    v: np.ndarray
    names: tuple[str, ...]
    rates: tuple[str, ...]
    given: tuple[str, ...]
    found: tuple[str, ...]
    residual: float
    t: float
    bones: Skeleton = field(repr=False)  # the tree of joints, and its state
    q: np.ndarray = field(repr=False)
    u: np.ndarray = field(repr=False)
    closing: Closing | None = field(default=None, repr=False)  # the constraints, if there are any

    def __getstate__(self) -> dict[str, Any]:
        """Expressions do not travel."""
        return self.__dict__ | {"closing": None}

    @computed
    def poses(self) -> Poses:
        """Where everything is."""
        return Poses(self.bones, self.q, self.u)

    @computed
    def gaps(self) -> dict[str, float]:
        """Of contacts, by name. Nothing keeps them from being negative: contacts take no part in the assembly."""
        return gaps_at(self.bones.system, self.poses)

    @property
    def start(self) -> dict[str, np.ndarray]:
        """As arguments of `simulate`: ``da.simulate(model, (0, 1), **assembly.start)``."""
        return {"p0": self.p, "v0": self.v}

    def __getitem__(self, name: str) -> Any:
        system = self.bones.system
        head, _, part = name.partition(".") if isinstance(name, str) else ("", "", "")
        joint = next((j for j in system.joints if j.name == head), None)
        if joint is not None:
            q, v = _of_joint(self.poses, joint)
            part = joint.kind.rates[0] if part == "speed" and joint.kind.freedoms == 1 else part
            values = dict(zip((*joint.kind.coordinates, *joint.kind.rates), (*q, *v), strict=True))
            if part in values:
                return float(values[part])
        body = next((b for b in (*system.bodies, system.ground) if b.name == head), None)
        if body is not None:
            values = _of_body(self.poses, body)
            if part in values:
                return values[part]
        if head in system.markers:
            values = _of_frame(self.poses, system.markers[head])
            if part in values:
                return values[part]
        if part and name.endswith(".gap") and name.removesuffix(".gap") in self.gaps:
            return self.gaps[name.removesuffix(".gap")]
        if name in self.names:
            return float(self.p[self.names.index(name)])
        if name in self.rates:
            return float(self.v[self.rates.index(name)])
        raise KeyError(explain_unknown(name, self.keys()))

    def keys(self) -> tuple[str, ...]:
        """All names."""
        system = self.bones.system
        names = [name for joint in system.joints for name in (*joint.coordinates, *joint.rates)]
        parts = tuple(_of_body(self.poses, system.ground))
        names += [f"{body.name}.{part}" for body in system.bodies for part in parts]
        names += [f"{name}.{part}" for name in system.markers for part in parts if not part.startswith("com")]
        names += [f"{name}.gap" for name in self.gaps]
        return tuple(dict.fromkeys([*names, *self.names, *self.rates]))

    def __repr__(self) -> str:
        return (
            f"Assembly({self.bones.system.name!r}: {len(self.given)} values given, {len(self.found)} found, "
            f"largest gap {self.residual:.1e})"
        )


def _of_joint(poses: Poses, joint: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and rates of the second body relative to the first."""
    bones = poses.bones
    if bones.in_tree(joint):
        q, v = poses.p[list(bones.coordinates_of(joint))], poses.v[list(bones.rates_of(joint))]
        return along_tree(joint, q, v, joint.number in _backwards(bones))
    A, B = poses.motion(joint.first), poses.motion(joint.second)
    return coordinates_and_rates(joint, bones.system.planar, A, B, value_of(joint.pitch))


def _backwards(bones: Skeleton) -> set[int]:
    return {carrier.joint.number for carrier in bones.carriers if carrier.joint is not None and carrier.backwards}


def _of_body(poses: Poses, body: Body) -> dict[str, Any]:
    centre = _of_frame(poses, Frame(body, body.com))
    return _of_frame(poses, Frame(body)) | {"com": centre["position"], "com_velocity": centre["velocity"]}


def _of_frame(poses: Poses, frame: Frame) -> dict[str, Any]:
    at = poses.motion(frame)
    width = 2 if poses.bones.system.planar else 3
    values = {"position": at.x[:width], "orientation": at.R, "velocity": at.v[:width], "angular_velocity": at.w}
    found: dict[str, Any] = {name: np.array(value, float) for name, value in values.items()}
    if width == 2:
        found |= {"angle": float(at.angle), "angular_velocity": float(at.w[2])}
    return found


# -- the search ----------------------------------------------------------------------------------------------------


@forks_wait
def assemble(
    system: Multibody,
    known: Mapping[str, Any] | None = None,
    coordinates: str = "joint",
    absolute: Sequence[str] | None = None,
    t: float = 0.0,
) -> Assembly:
    """See `Multibody.assemble`."""
    if not isinstance(coordinates, str) or coordinates not in COORDINATES:
        raise OptionError(f"coordinates={shown(coordinates)} must be one of {', '.join(COORDINATES)}")
    t = time_of("assemble", t)
    own = own_bodies(system, coordinates, absolute)
    bones = skeleton(system, ())
    target = bones if own == set() else skeleton(system, own)
    return assembled(system, bones, known, coordinates, target, t)


@quietly
def assembled(
    system: Multibody,
    bones: Skeleton,
    known: Mapping[str, Any] | None,
    coordinates: str,
    target: Skeleton,
    t: float,
    start: np.ndarray | None = None,
) -> Assembly:
    """The assembly in the coordinates of a skeleton; `bones` is that of joint coordinates, in numbers.

    With `start` the search begins there, and joints' own start values do not hold.
    """
    solved = _Solved(system, bones, known, t, start)
    p, v = solved.p, solved.v
    if target is not bones:
        p, v = in_coordinates(Poses(bones, p, v), target)
    given = (*solved.known.held.values(), *solved.known.equations, *solved.known.held_rates.values())
    given = tuple(dict.fromkeys((*given, *solved.known.rates)))
    found = [name for k, name in enumerate(bones.names) if k not in solved.known.held]
    found += [name for k, name in enumerate(bones.rates) if k not in solved.known.held_rates]
    closing = None if solved.known.equations else solved.closing
    return Assembly(
        coordinates,
        p,
        v,
        target.names,
        target.rates,
        given,
        tuple(found),
        solved.gap,
        t,
        bones,
        solved.p,
        solved.v,
        closing,
    )


class _Solved:
    """Positions and velocities of the tree of joints."""

    def __init__(
        self,
        system: Multibody,
        bones: Skeleton,
        known: Mapping[str, Any] | None,
        t: float,
        start: np.ndarray | None = None,
    ):
        self.system, self.bones = system, bones
        self.known = gather(system, bones, known, joints=start is None)
        inputs = drives(system, t)
        self._hold_driven(inputs)
        self.p, self.v, self.gap, self.t = self.known.p, self.known.v, 0.0, t
        self.closing: Closing | None = None
        if start is None:
            self._place_own_bodies()
        else:
            held = list(self.known.held)
            self.p = np.array(start, float)
            self.p[held] = self.known.p[held]
        if not constrained(system, bones) and not self.known.equations and not self.known.rates:
            guessed = [b for b in system.bodies if b.position is not None or b.orientation is not None]
            if all(b.number in bones.own or bones.link_of[b.number] < 0 for b in guessed):
                return
        self.columns = columns(bones)
        self.closing = Closing(system, bones, inputs, self.known.equations, self.known.rates)
        if start is None:
            self._near_the_guess()
        if self.closing.rows:
            self._close()
        if self.closing.rows or self.closing.rate_rows:
            self._move()

    def _hold_driven(self, inputs: Mapping[str, tuple[float, float, float]]) -> None:
        """Driven coordinates of the tree are known."""
        known = self.known
        for joint in self.system.joints:
            if joint.drive is None or not self.bones.in_tree(joint):
                continue
            (q,), (v,) = self.bones.coordinates_of(joint), self.bones.rates_of(joint)
            for place, held, now, value, what in (
                (q, known.held, known.p, inputs[joint.drive][0], joint.coordinates[0]),
                (v, known.held_rates, known.v, inputs[joint.drive][1], joint.rates[0]),
            ):
                if place in held and abs(now[place] - value) > 1e-9 * max(1.0, abs(value)):
                    raise CannotAssemble(
                        f"joint '{joint.name}' is driven, and its drive gives {what} = {value:g} at the start, but "
                        f"{held[place]} = {now[place]:g} is said to be known; leave that out, or change the drive",
                        joint.name, values=(held[place],),
                    )  # fmt: skip
                now[place], held[place] = value, what

    def _place_own_bodies(self) -> None:
        """Bodies with coordinates of their own start where they are said to be."""
        for number, link in self.bones.own.items():
            body = self.system.bodies[number]
            if body.position is None and body.orientation is None:
                continue
            R = np.eye(3) if body.orientation is None else body.orientation
            at = np.array(body.position or (0.0,) * 3) + R @ np.array(values_of(body.com))
            first = int(self.bones.q_at[link])
            if self.system.planar:
                values = [at[0], at[1], np.arctan2(R[1, 0], R[0, 0])]
            else:
                values = [*at, *al.euler_parameters(R)]
            for k, value in enumerate(values):
                if first + k not in self.known.held:
                    self.p[first + k] = value

    def _free(self, held: Mapping[int, str]) -> np.ndarray:
        free = np.ones(self.bones.n_v, bool)
        for place in held:
            free[list(self.columns[place])] = False
        return np.flatnonzero(free)

    def _near_the_guess(self) -> None:
        """Bring bodies to where they are about, as far as known values and loops let them."""
        free = self._free(self.known.held)
        closing = self.closing
        if not closing.guess_rows or not len(free):
            return

        def move(p: np.ndarray, step: np.ndarray) -> np.ndarray:
            return closing.move(p, free, step)

        def both(p: np.ndarray) -> tuple[np.ndarray, Any]:
            return closing.near(p, free, _GUESSED)

        nudge = 0.1 * np.sin(1.0 + np.arange(len(free)))  # out of a position from which all directions look alike
        found = [search(lambda p: closing.near(p, free), move, start) for start in (self.p, move(self.p, nudge))]
        first = self.p = min(found, key=lambda f: round(f.size, 3)).point
        if closing.rows:  # coordinates about which nobody has guessed go where loops want them
            rng = np.random.default_rng(2006)
            begin = [first, *(move(first, w * rng.standard_normal(len(free))) for w in (0.3, 1.0, 1.0, 2.0, 2.0))]
            found = [search(both, move, start) for start in begin[: 1 if len(free) > 500 else None]]
            self.p = min(found, key=lambda f: round(f.size, 3)).point

    def _search(self, free: np.ndarray, start: np.ndarray, rows: np.ndarray | None = None, tries: int | None = None):
        """From the start and from others."""
        closing = self.closing

        def scatter(rng: np.random.Generator) -> np.ndarray:
            return closing.move(start, free, rng.uniform(-np.pi, np.pi, len(free)))

        def move(p: np.ndarray, step: np.ndarray) -> np.ndarray:
            return closing.move(p, free, step)

        points = starts(start, move, scatter, len(free))
        if tries is not None:
            points = (point for point, _ in zip(points, range(tries), strict=False))
        return first_that_solves(lambda p: closing.evaluate(p, free, rows), move, points, ACCEPTED)

    def _close(self) -> None:
        free = self._free(self.known.held)
        solved, found = self._search(free, self.p)
        self.p = found.point
        scale = np.array([self.closing.size if row.length else 1.0 for row in self.closing.rows])
        self.gap = float(np.abs(found.F * scale).max(initial=0.0))
        if not solved:
            self._complain(found.F)

    def _complain(self, F: np.ndarray) -> None:
        """Say which joint cannot be closed, or which known values contradict each other."""
        nearest = Assembly(
            "joint", self.p, self.v, self.bones.names, self.bones.rates, tuple(self.known.held.values()), (), self.gap,
            self.t, self.bones, self.p, self.v,
        )  # fmt: skip
        gaps = self.closing.gaps(F)
        size = self.closing.size
        constraints = {row.owner for row in self.closing.rows if not row.known} or set(gaps)
        worst = max(constraints, key=lambda owner: gaps[owner][0] / size + gaps[owner][1])
        distance, angle = gaps[worst]
        groups = {name: [k for k, n in self.known.held.items() if _whole(n) == name] for name in self._groups()}
        text = f"the system cannot be assembled: {self._where(worst, distance, angle)}"
        values: tuple[str, ...] = ()
        if groups:
            values, hint = self._contradicting(groups)
            text += hint
        else:
            text += "; check lengths and places of the joints"
        raise CannotAssemble(f"{text} (the exception's `assembly` has this configuration)", worst, distance, angle,
                             values, nearest)  # fmt: skip

    def _groups(self) -> list[str]:
        """Known values by name; Euler parameters of a joint count as one."""
        names = [_whole(name) for name in self.known.held.values()]
        return list(dict.fromkeys([*names, *self.known.equations]))

    def _where(self, owner: str, distance: float, angle: float) -> str:
        joint = next((j for j in self.system.joints if j.name == owner), None)
        lengths = {row.length for row in self.closing.rows if row.owner == owner}
        left = []
        if True in lengths:
            left.append(f"a gap of {distance:.3g}")
        if False in lengths:
            left.append(f"an angle of {np.arcsin(min(1.0, angle)):.3g} rad")
        if joint is None:
            return f"'{owner}' does not hold, {' and '.join(left)} is left in the nearest configuration"
        loop = loop_of(self.bones, joint)
        around = f" (its loop: {', '.join(loop)})" if loop else ""
        return f"joint '{owner}' cannot be closed{around}, {' and '.join(left)} remains in the nearest configuration"

    def _contradicting(self, groups: dict[str, list[int]]) -> tuple[tuple[str, ...], str]:
        """Known values without which it would work: all of them together, then one at a time."""
        closing = self.closing
        own = np.array([k for k, row in enumerate(closing.rows) if not row.known])
        every = np.arange(self.bones.n_v)
        solved, _ = self._search(every, self.p, own)
        listed = ", ".join(f"{name} = {self._value(name, places)}" for name, places in groups.items())
        if not solved:
            return (), "; no known value is to blame: without them it cannot be closed either, so check the lengths"
        helping: dict[str, str] = {}
        for name, places in list(groups.items())[:_MOST_TRIED] if len(groups) > 1 else []:
            held = {k: n for k, n in self.known.held.items() if k not in places}
            rows = np.array([k for k, row in enumerate(closing.rows) if row.owner != name or not row.known])
            solved, found = self._search(self._free(held), self.p, rows, tries=5)
            if solved:
                helping[name] = f"{found.point[places[0]]:.6g}" if len(places) == 1 else ""
        if helping:
            what = " or ".join(
                f"'{name}'" + (f" (which would then be {x})" if x else "") for name, x in helping.items()
            )
            return tuple(helping), f"; the known values contradict each other ({listed}): leave out {what}"
        if len(groups) == 1:
            return tuple(groups), f"; with the known value {listed} it is out of reach, without it it can be closed"
        return tuple(groups), f"; the known values contradict each other ({listed}): leave out some of them"

    def _value(self, name: str, places: list[int]) -> str:
        if name in self.known.equations:
            return shown(np.round(self.known.equations[name], 6).tolist())
        return ", ".join(f"{self.p[k]:.6g}" for k in places)

    def _move(self) -> None:
        """Velocities: known ones, and the least others that the constraints ask for."""
        held = np.array(sorted(self.known.held_rates), int)
        free = np.setdiff1d(np.arange(self.bones.n_v), held)
        C, c = self.closing.rates(self.p)
        if not C.shape[0]:
            return
        scale = self.closing.column_scale
        rest = c - C[:, held] @ (self.v[held] / scale[held])
        known = float(max(np.abs(c).max(initial=0.0), np.abs(self.v[held] / scale[held]).max(initial=0.0)))
        if known == 0.0:
            return
        if not (np.abs(rest) < 1e150).all():
            self._complain_of_rates(rest)
        x, left = least_norm(C[:, free], rest, known)
        if not np.abs(left).max(initial=0.0) <= 1e-9 * known or np.abs(x).max(initial=0.0) > _EXCESSIVE * known:
            self._complain_of_rates(left if np.abs(left).max() > 1e-9 * known else C[:, free] @ x)
        self.v = np.array(self.v)
        self.v[free] = x * scale[free]

    def _complain_of_rates(self, left: np.ndarray) -> None:
        rows = [row for row in self.closing.rows if not row.known] + self.closing.rate_rows
        worst = rows[int(np.argmax(np.abs(left)))].owner
        names = tuple(dict.fromkeys((*self.known.held_rates.values(), *self.known.rates)))
        listed = ", ".join(names) or "those of drives"
        raise CannotAssemble(
            f"the known rates ({listed}) contradict the constraints: no velocity satisfies '{worst}' with them in this "
            "position, which may be a singular one; leave out some of them", worst, values=names,
        )  # fmt: skip


def _whole(name: str) -> str:
    """The name of a known value; of one of four Euler parameters that of all."""
    head, _, part = name.partition(".")
    return f"{head}.rotation" if part in ("e0", "e1", "e2", "e3") else name


def least_norm(C: Any, c: np.ndarray, known: float) -> tuple[np.ndarray, np.ndarray]:
    """The shortest x with C x = c, and what is left of c; directions that hardly matter are used if they must."""
    if not isinstance(C, np.ndarray):
        from scipy.sparse.linalg import lsqr

        x = lsqr(C, c, atol=1e-14, btol=1e-14, iter_lim=20 * max(C.shape))[0]
        return x, c - C @ x
    U, s, Vt = np.linalg.svd(C, full_matrices=False)
    x, left = np.zeros(C.shape[1]), c
    for limit in (1e-7, 1e-13):
        keep = s > limit * max(s[0] if len(s) else 0.0, 1e-300)
        x = Vt[keep].T @ ((U[:, keep].T @ c) / s[keep])
        left = c - C @ x
        if np.abs(left).max(initial=0.0) <= 1e-12 * known:
            break
    return x, left


def loop_of(bones: Skeleton, joint: Any) -> list[str]:
    """Names of the joints on the loop that a cut joint closes, this one last."""
    carried = {carrier.body: carrier for carrier in bones.carriers}

    def way(body: int) -> list[tuple[int, str]]:
        found = []
        while body in carried and carried[body].joint is not None:
            up = carried[body].joint
            found.append((up.number, up.name))
            body = (up.second if carried[body].backwards else up.first).body.number
        return found

    one, two = way(joint.first.body.number), way(joint.second.body.number)
    common = {number for number, _ in one} & {number for number, _ in two}
    names = [name for number, name in reversed(one) if number not in common]
    names += [name for number, name in two if number not in common]
    return [*names, joint.name]


# -- other coordinates ---------------------------------------------------------------------------------------------


def in_coordinates(poses: Poses, target: Skeleton) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities in the coordinates of another skeleton of the same system, read off the bodies."""
    bones, system = poses.bones, target.system
    p, v = np.zeros(target.n_q), np.zeros(target.n_v)
    backwards = _backwards(target)
    for carrier in target.carriers:
        if carrier.joint is None:
            body, link = system.bodies[carrier.body], target.own[carrier.body]
            centre = poses.motion(Frame(body, values_of(body.com)))
            q_at, v_at = int(target.q_at[link]), int(target.v_at[link])
            if system.planar:
                p[q_at : q_at + 3] = (*centre.x[:2], centre.angle)
                v[v_at : v_at + 3] = (*centre.v[:2], centre.w[2])
            else:
                R = np.array(centre.R)
                p[q_at : q_at + 7] = (*centre.x, *al.euler_parameters(R))
                v[v_at : v_at + 6] = (*centre.v, *(R.T @ np.array(centre.w)))
        elif target.in_tree(carrier.joint):
            joint = carrier.joint
            q, rate = along_tree(joint, *_of_joint(poses, joint), joint.number in backwards)
            p[list(target.coordinates_of(joint))] = q
            v[list(target.rates_of(joint))] = rate
    if not (np.isfinite(p).all() and np.isfinite(v).all()):
        raise ModelError(f"'{bones.system.name}': the assembled positions are not finite")
    return p, v
