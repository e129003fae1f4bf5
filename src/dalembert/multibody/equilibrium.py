"""Static equilibrium: Newton's method on the balance of forces, and dynamic relaxation where that leads nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import CannotAssemble, NoEquilibrium, OptionError
from dalembert.kept import computed
from dalembert.locks import forks_wait
from dalembert.multibody.assembly import Assembly, assembled
from dalembert.multibody.known import Known, gather, time_of
from dalembert.multibody.linearization import Linearization, about
from dalembert.multibody.mechanics import Mechanics
from dalembert.multibody.poses import columns, moved
from dalembert.multibody.search import quietly, search
from dalembert.multibody.skeleton import skeleton

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

#: forces up to this part of the weight (or of the forces at the start) count as balanced
ACCEPTED = 1e-10
_RELAXATIONS = 4  # times that relaxation is tried, for longer every time
_RELAX_STEPS = 400
_LONGEST = 0.2  # motion in a step of relaxation, in radians or lengths of the system
_NO_CONTACTS = ". Contacts take no part in the search: nothing rests on them"
_CORRECTIONS = 6  # of positions onto the constraints after a step of relaxation


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A position in which all forces balance.

    Attributes
    ----------
    p, r : arrays
        Positions in coordinates of the joints, states of elements.
    holding : dict of str to float
        The forces that hold the values said to be known, by name.
    residual : float
        The largest force that is not balanced, relative to the weight of the system.
    configuration : Assembly
        Everything by name, as ``equilibrium["crank.position"]`` has it.
    """

    p: np.ndarray
    r: np.ndarray
    holding: dict[str, float]
    residual: float
    configuration: Assembly
    held: Known = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.configuration[name]

    @property
    def start(self) -> dict[str, np.ndarray]:
        """As arguments of `simulate`, for equations in joint coordinates."""
        start = {"p0": self.p, "v0": np.zeros(self.configuration.bones.n_v)}
        return start | ({"r0": self.r} if len(self.r) else {})

    @computed
    def linearization(self) -> Linearization:
        """About the equilibrium; what was held stays held."""
        return _linear(self.configuration, self.held, self.r)

    @property
    def stability(self) -> str:
        """ "stable", "unstable" or "neutral", by the linearization."""
        return self.linearization.stability

    @property
    def stable(self) -> bool:
        return self.stability == "stable"

    def __repr__(self) -> str:
        return f"Equilibrium({self.configuration.bones.system.name!r}: {self.stability})"


@forks_wait
@quietly
def equilibrium(
    system: Multibody,
    guess: Mapping[str, Any] | None = None,
    known: Mapping[str, Any] | None = None,
    t: float = 0.0,
    stable: bool = True,
) -> Equilibrium:
    """See `Multibody.equilibrium`."""
    t = time_of("equilibrium", t)
    for what, given in (("guess", guess), ("known", known)):
        if not isinstance(given, Mapping | None):
            raise OptionError(f"equilibrium: {what}={shown(given)} must map names, such as 'motor.angle', to values")
    if not isinstance(stable, bool | np.bool_):
        raise OptionError(f"equilibrium: stable={shown(stable)} must be True or False")
    balance = _Balance(system, guess, known, t)
    found = balance.solve(stable)
    for name, gap in found.configuration.gaps.items():
        if gap < -ACCEPTED * balance.mech.size:
            raise NoEquilibrium(
                f"'{system.name}': forces balance where contact '{name}' has the gap {gap:g}. Contacts take no part in "
                "the search for an equilibrium; describe what rests on something by a joint, or let it come to rest in "
                "a simulation"
            )
    return found


def _linear(configuration: Assembly, held: Known, r: np.ndarray) -> Linearization:
    p = configuration.p
    still = {place: float(p[place]) for place in held.held}
    mech = Mechanics(configuration.bones.system, held.equations, (), configuration.t, still)
    return about(mech, [], [], (), p, np.zeros(configuration.bones.n_v), r)


class _Balance:
    def __init__(self, system: Multibody, guess: Any, known: Any, t: float):
        self.system, self.t = system, t
        bones = skeleton(system, ())
        self.held = gather(system, bones, known, joints=False)
        self.mech = Mechanics(system, self.held.equations, (), t)
        self.bones = self.mech.bones
        try:
            self.p = assembled(system, bones, {**(guess or {}), **(known or {})}, "joint", bones, t).p
        except CannotAssemble as error:  # guesses need not fit each other
            if error.assembly is None:
                raise
            self.p = assembled(system, bones, known, "joint", bones, t, error.assembly.p).p
        fixed = np.zeros(bones.n_v, bool)
        places = columns(bones)
        for place in self.held.held:
            fixed[list(places[place])] = True
        self.free = np.flatnonzero(~fixed)
        self._functions()

    def _functions(self) -> None:
        mech = self.mech
        forces = mech.f - ca.mtimes(mech.G.T, mech.lam)
        E = ca.vertcat(forces, mech.F, mech.r_rates)
        state = [mech.p, mech.v, mech.r, mech.lam]
        by = [mech.along(E), ca.jacobian(E, mech.lam), ca.jacobian(E, mech.r)]
        self._balance = mech.function(state, [E, *by])
        self._forces = mech.function([mech.p, mech.v, mech.r], [mech.f, mech.M, mech.G, mech.F])
        self.rest = np.zeros(self.bones.n_v)
        f = self._forces(self.p, self.rest, mech.r0, rates=False)[0][:, 0] * mech.columns
        g = np.linalg.norm([float(x if not hasattr(x, "value") else x.value) for x in self.system.gravity])
        weight = float(np.asarray(self.bones.mass, float).sum() * g * mech.size)
        self.work = max(weight, float(np.abs(f).max(initial=0.0)))
        self.work = self.work if self.work > 0 else 1.0

    # -- Newton ----------------------------------------------------------------------------------------------------

    def _evaluate(self, point: tuple) -> tuple[np.ndarray, np.ndarray]:
        p, lam, r = point
        mech, n, k = self.mech, self.bones.n_v, len(self.mech.rows)
        E, by_p, by_lam, by_r = self._balance(p, self.rest, r, lam * self.work, rates=False)
        scale = np.concatenate([mech.columns / self.work, np.ones(k), np.ones(len(r))])
        J = np.hstack([by_p * mech.columns, by_lam * self.work, by_r]) * scale[:, None]
        rows = np.concatenate([self.free, np.arange(n, n + k + len(r))])
        used = np.concatenate([self.free, np.arange(n, n + k + len(r))])
        return E[rows, 0] * scale[rows], J[np.ix_(rows, used)]

    def _move(self, point: tuple, step: np.ndarray) -> tuple:
        p, lam, r = point
        k, whole = len(lam), np.zeros(self.bones.n_v)
        f = len(self.free)
        whole[self.free] = step[:f]
        return moved(self.bones, p, whole * self.mech.columns), lam + step[f : f + k], r + step[f + k :]

    def _multipliers(self, p: np.ndarray, r: np.ndarray) -> np.ndarray:
        f, _, G, _ = self._forces(p, self.rest, r, rates=False)
        if not len(G):
            return np.zeros(0)
        scale = self.mech.columns[self.free]
        return np.linalg.lstsq((G[:, self.free] * scale).T, f[self.free, 0] * scale / self.work, rcond=1e-10)[0]

    def _newton(self, p: np.ndarray, r: np.ndarray) -> Any:
        return search(self._evaluate, self._move, (p, self._multipliers(p, r), r))

    # -- relaxation ------------------------------------------------------------------------------------------------

    def _relax(self, p: np.ndarray, r: np.ndarray, steps: int) -> np.ndarray:
        """Let the system move, its masses evened out, and stop it whenever forces begin to work against the motion."""
        n = self.bones.n_v
        scale, free = self.mech.columns, self.free
        v, h, far = np.zeros(n), 0.0, 0
        for _ in range(steps):
            f, M, G, _ = self._forces(p, self.rest, r, rates=False)
            f = f[:, 0] * scale / self.work
            M = M * np.outer(scale, scale)
            M = M + np.eye(n) * (1e-3 * np.trace(M) / n + 1e-300)
            M = M / (np.trace(M) / n)
            G = (G * scale)[:, free]
            K = np.block([[M[np.ix_(free, free)], G.T], [G, -1e-12 * np.eye(len(G))]])
            a = np.zeros(n)
            a[free] = np.linalg.lstsq(K, np.concatenate([f[free], np.zeros(len(G))]), rcond=1e-13)[0][: len(free)]
            if not np.abs(a).max(initial=0.0) > 0:
                return p
            if h == 0.0:
                h = np.sqrt(0.02 / np.abs(a).max())
            if v @ (M @ a) < 0:
                v, h = np.zeros(n), 0.5 * h
            else:
                h *= 1.1
            v = v + h * a
            step = h * v
            longest = np.abs(step).max()
            if longest > _LONGEST:
                step, v, far = step * (_LONGEST / longest), v * (_LONGEST / longest), far + 1
                if far > 50 * n:  # nothing keeps it
                    return p
            p = self._closed(moved(self.bones, p, step * scale))
        return p

    def _closed(self, p: np.ndarray) -> np.ndarray:
        if not self.mech.rows:
            return p
        scale = self.mech.columns
        for _ in range(_CORRECTIONS):
            _, _, G, F = self._forces(p, self.rest, self.mech.r0, rates=False)
            if np.abs(F).max() < 1e-12:
                break
            step = np.zeros(self.bones.n_v)
            step[self.free] = np.linalg.lstsq((G * scale)[:, self.free], -F[:, 0], rcond=1e-9)[0]
            p = moved(self.bones, p, step * scale)
        return p

    # -- both ------------------------------------------------------------------------------------------------------

    def solve(self, stable: bool) -> Equilibrium:
        r = self.mech.r0
        best = self._newton(self.p, r)
        if best.residual <= ACCEPTED and (not stable or self._is_stable(best)):
            return self._result(best)
        rng = np.random.default_rng(2006)
        p = self.p
        for k in range(_RELAXATIONS):
            nudge = np.zeros(self.bones.n_v)
            nudge[self.free] = 10.0 ** (k - 3) * rng.standard_normal(len(self.free))
            p = self._relax(self._closed(moved(self.bones, p, nudge * self.mech.columns)), r, _RELAX_STEPS << k)
            found = self._newton(p, r)
            if found.residual <= ACCEPTED and (not stable or self._is_stable(found)):
                return self._result(found)
            if found.residual < best.residual:
                best = found
        self._complain(best, stable)

    def _is_stable(self, found: Any) -> bool:
        return self._result(found).stability != "unstable"

    def _result(self, found: Any) -> Equilibrium:
        p, lam, r = found.point
        mech, bones = self.mech, self.bones
        E = self._balance(p, self.rest, r, lam * self.work, rates=False)[0][:, 0]
        holding = {}
        for place, name in self.held.held.items():
            (column, *more) = columns(bones)[place]
            if not more:
                holding[name] = float(-E[column])
        scales = np.array([mech.size if row.length else 1.0 for row in mech.rows])
        for k, row in enumerate(mech.rows):
            if row.known and sum(other.owner == row.owner for other in mech.rows) == 1:
                holding[row.owner] = float(-lam[k] * self.work / scales[k])
        rest = np.zeros(bones.n_v)
        gap = float(np.abs(self._forces(p, self.rest, r, rates=False)[3][:, 0] * scales).max(initial=0.0))
        configuration = Assembly(
            "joint", p, rest, bones.names, bones.rates, tuple(self.held.held.values()), bones.names, gap, self.t,
            bones, p, rest,
        )  # fmt: skip
        return Equilibrium(p, r, holding, found.residual, configuration, self.held)

    def _complain(self, best: Any, stable: bool) -> NoReturn:
        mech = self.mech
        F = best.F
        f = len(self.free)
        worst = int(np.argmax(np.abs(F)))
        if best.residual <= ACCEPTED:
            raise NoEquilibrium(
                f"'{self.system.name}': only an unstable equilibrium was found; give another guess, or stable=False"
            )
        if worst < f:
            what = f"force on '{self.bones.rates[self.free[worst]].removesuffix('_dot')}'"
        elif worst < f + len(mech.rows):
            what = f"constraint of '{mech.rows[worst - f].owner}'"
        else:
            what = f"state '{list(mech.parts.states)[worst - f - len(mech.rows)]}'"
        raise NoEquilibrium(
            f"'{self.system.name}': no equilibrium was found; in the best position the {what} is out of balance by "
            f"{best.residual:.1e} (relative to the weight). Is something free to move for ever? Hold it with "
            "known=..., or give another guess=..." + (_NO_CONTACTS if self.system.contacts else "")
        )
