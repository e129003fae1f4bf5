"""Linearization about a state: x' = A x + B u, y = C x + D u in independent coordinates, and modes.

Variations of positions are measured along velocities. Of those that the constraints allow, as many are chosen as
independent ones as there are degrees of freedom, such that all others follow from them in the best conditioned way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, reals, shown
from dalembert.errors import ModelError, OptionError
from dalembert.kept import computed
from dalembert.locks import forks_wait
from dalembert.model.namespace import explain_unknown
from dalembert.multibody.assembly import assembled
from dalembert.multibody.contacting import gaps_at
from dalembert.multibody.elements import Drive
from dalembert.multibody.kinds import Move
from dalembert.multibody.known import names_of, time_of
from dalembert.multibody.mechanics import Mechanics
from dalembert.multibody.observe import Observer
from dalembert.multibody.poses import Poses
from dalembert.multibody.search import quietly

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

#: singular values of constraints below this part of the largest are zero
RANK = 1e-9
#: residuals of the state, relative to its terms, from which on it is refused
_CLOSED = 1e-6


@dataclass(frozen=True, eq=False)
class Mode:
    """A motion that keeps its shape: x(t) = Re(shape · exp(λ t)).

    Attributes
    ----------
    eigenvalue : complex
    frequency : float
        Of the undamped oscillation, |λ| / 2π.
    damping : float
        −Re λ / |λ|: 0 undamped, 1 aperiodic, negative if it grows.
    shape : dict of str to complex
        Variations of all joint coordinates (of ball joints and free bodies small rotations, "ball.turn_x"); the
        largest one is 1.
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shape: dict[str, complex]

    def __repr__(self) -> str:
        return f"Mode(frequency={self.frequency:.6g}, damping={self.damping:.3g})"


@dataclass(frozen=True, eq=False)
class Linearization:
    """x' = A x + B u, y = C x + D u for small deviations from a state.

    Attributes
    ----------
    A, B, C, D : arrays
    states, inputs, outputs : tuples of str
        x has independent coordinates, their rates, and states of elements. A deviation of the orientation of a ball
        joint or a free body is a small rotation about its axes, "ball.turn_x".
    p, v, r : arrays
        The state, in coordinates of the joints.
    residual : float
        The largest acceleration (of any velocity) in this state: zero in an equilibrium.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    p: np.ndarray
    v: np.ndarray
    r: np.ndarray
    residual: float
    _moved: np.ndarray = field(repr=False)  # variations of all coordinates from x
    _names: tuple[str, ...] = field(repr=False)

    @computed
    def eigenvalues(self) -> np.ndarray:
        return np.linalg.eigvals(self.A) if self.A.size else np.zeros(0, complex)

    @computed
    def modes(self) -> tuple[Mode, ...]:
        """Sorted by frequency; of a pair of conjugate ones the one with positive imaginary part."""
        if not self.A.size:
            return ()
        values, vectors = np.linalg.eig(self.A)
        found = []
        for value, vector in zip(values, vectors.T, strict=True):
            if value.imag < 0:
                continue
            moved = self._moved @ vector
            largest = moved[int(np.argmax(np.abs(moved)))] if np.abs(moved).max(initial=0.0) > 0 else 1.0
            value, size = complex(value), float(abs(value))
            shape = dict(zip(self._names, (moved / largest).tolist(), strict=True))
            found.append(Mode(value, size / (2 * np.pi), -value.real / size if size > 0 else 0.0, shape))
        return tuple(sorted(found, key=lambda mode: (round(mode.frequency, 12), mode.eigenvalue.real)))

    @property
    def stability(self) -> str:
        """ "stable", "unstable", or "neutral": some deviation neither grows exponentially nor is driven back."""
        size = max(float(np.abs(self.eigenvalues).max(initial=0.0)), 1e-300)
        if (self.eigenvalues.real > 1e-6 * size).any():
            return "unstable"
        return "neutral" if (np.abs(self.eigenvalues) <= 1e-6 * size).any() else "stable"

    def __repr__(self) -> str:
        return (
            f"Linearization({len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs, "
            f"{self.stability})"
        )


@forks_wait
@quietly
def linearize(
    system: Multibody,
    p: Any = None,
    v: Any = None,
    t: float = 0.0,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] = (),
    r: Any = None,
) -> Linearization:
    """See `Multibody.linearize`."""
    t = time_of("linearize", t)
    read, pushed = _chosen_inputs(system, inputs)
    mech = Mechanics(system, None, pushed, t)
    if p is None:
        start = assembled(system, mech.bones, None, "joint", mech.bones, t)
        p, v = start.p, start.v if v is None else _vector("v", v, mech.bones.n_v)
    else:
        p = _vector("p", p, mech.bones.n_q)
        v = np.zeros(mech.bones.n_v) if v is None else _vector("v", v, mech.bones.n_v)
    r = mech.r0 if r is None else _vector("r", r, len(mech.r0))
    if system.brakes:
        raise ModelError(
            f"linearize: dry friction '{system.brakes[0].name}' has no linear form; take mb.friction(...), which is "
            "smooth"
        )
    closed = [name for name, gap in gaps_at(system, Poses(mech.bones, p)).items() if gap <= _CLOSED * mech.size]
    if closed:
        raise ModelError(
            f"linearize: contact '{closed[0]}' is closed in this state, and no linear system opens and closes it; "
            "linearize a description that has a joint in its place, or none"
        )
    return about(mech, read, pushed, names_of("linearize: outputs", outputs), p, v, r)


@quietly
def about(
    mech: Mechanics,
    read: list[str],
    pushed: list[Any],
    outputs: tuple[str, ...],
    p: np.ndarray,
    v: np.ndarray,
    r: np.ndarray,
) -> Linearization:
    """Linearize about a state, all constraints of `mech` holding."""
    return _Linearized(mech, read, pushed, outputs, p, v, r).result


def _vector(what: str, value: Any, n: int) -> np.ndarray:
    try:
        entries = reals(value).astype(float)
    except NoNumber as reason:
        raise OptionError(f"linearize: {what}={shown(value)} {reason}") from None
    if entries.shape != (n,) or not np.isfinite(entries).all():
        raise OptionError(
            f"linearize: {what}={shown(value)} must have {n} finite components, those of joint coordinates"
        )
    return entries


def _chosen_inputs(system: Multibody, inputs: Sequence[str] | None) -> tuple[list[str], list[Any]]:
    """Inputs that forces read, and joints in which forces are applied."""
    driving = {joint.drive for joint in system.joints}
    driving |= {name for element in system.elements if isinstance(element, Drive) for name in element.inputs}
    if inputs is None:
        return [name for name in system.inputs if name not in driving], []
    joints = {joint.name: joint for joint in system.joints}
    read, pushed = [], []
    for name in names_of("linearize: inputs", inputs):
        if name in driving:
            raise OptionError(f"linearize: '{name}' prescribes a coordinate; deviations of drives are no inputs")
        if name in system.inputs:
            read.append(name)
        elif name in joints:
            pushed.append(system._my_joint("linearize, inputs", name))
        else:
            raise OptionError(f"linearize, inputs: {explain_unknown(name, [*system.inputs, *joints])}")
    return read, pushed


class _Linearized:
    def __init__(
        self, mech: Mechanics, read: list[str], pushed: list[Any], outputs: tuple[str, ...], p: Any, v: Any, r: Any
    ):
        self.mech, self.n, self.k = mech, mech.bones.n_v, len(mech.rows)
        self.read, self.pushed, self.names = read, pushed, outputs
        self._evaluate(p, v, r)
        n = self.n
        # velocities that the constraints allow, and as many of them as independent ones
        scale = mech.columns
        _, s, Vt = np.linalg.svd(self.G * scale) if self.k else (None, np.zeros(0), np.eye(n))
        rank = int((s > RANK * s.max(initial=0.0)).sum())
        N = Vt[rank:].T
        chosen = _independent(N)
        N = scale[:, None] * (N @ np.linalg.inv(N[chosen])) / scale[chosen]
        self.result = self._matrices(N, chosen, p, v, r)

    def _evaluate(self, p: np.ndarray, v: np.ndarray, r: np.ndarray) -> None:
        mech = self.mech
        u = [mech.symbols.inputs[name] for name in self.read]
        self.u = ca.vertcat(*u, mech.tau) if u or self.pushed else ca.SX(0, 1)
        moving = ca.mtimes(mech.G, mech.v) + ca.jtimes(mech.F, mech.u, mech.du) if self.k else ca.SX(0, 1)
        # second derivative of the constraints without G v'
        rate = mech.v if mech.Z is None else ca.mtimes(mech.Z, mech.v)
        drift = ca.jtimes(moving, mech.p, rate) if self.k else ca.SX(0, 1)
        if self.k and mech.u.numel():
            ddu = ca.DM(mech.inputs[:, 2])
            drift = drift + ca.jtimes(moving, mech.u, mech.du) + ca.jtimes(mech.F, mech.u, ddu)
        state = [mech.p, mech.v, mech.r, mech.tau]
        zero = np.zeros(len(self.pushed))
        F, moving0, drift0, M, f, G, rdot = mech.function(
            state, [mech.F, moving, drift, mech.M, mech.f, mech.G, mech.r_rates]
        )(p, v, r, zero)
        self.G = G
        if np.abs(F).max(initial=0.0) > _CLOSED or np.abs(moving0).max(initial=0.0) > _CLOSED * max(1, np.abs(v).max()):
            worst = mech.rows[int(np.argmax(np.abs(F) + np.abs(moving0)))].owner
            raise ModelError(
                f"linearize: the state violates constraints of '{worst}'; assemble it with mb.assemble(...)"
            )
        K = np.block([[M, G.T], [G, np.zeros((self.k, self.k))]])
        self.K = K
        solved = np.linalg.lstsq(K, np.concatenate([f, -drift0])[:, 0], rcond=1e-13)[0]
        self.a, self.lam = solved[: self.n], solved[self.n :]
        self.rdot = rdot
        balance = ca.mtimes(mech.M, mech.a) - mech.f + ca.mtimes(mech.G.T, mech.lam)
        second = ca.mtimes(mech.G, mech.a) + drift if self.k else ca.SX(0, 1)
        every = [mech.p, mech.v, mech.r, mech.tau, mech.a, mech.lam]
        self.every = every
        results = []
        for E in (moving, balance, second, mech.r_rates):
            results += [mech.along(E), ca.jacobian(E, mech.v), ca.jacobian(E, mech.r), ca.jacobian(E, self.u)]
        self.point = (p, v, r, zero, self.a, self.lam)
        found = mech.function(every, results)(*self.point)
        self.by = {name: found[4 * k : 4 * k + 4] for k, name in enumerate(("moving", "balance", "second", "states"))}

    def _matrices(self, N: np.ndarray, chosen: np.ndarray, p: Any, v: Any, r: Any) -> Linearization:
        mech, n, f = self.mech, self.n, N.shape[1]
        n_r, n_u = len(r), self.u.numel()
        size = 2 * f + n_r + n_u  # columns: δξ, δν, δr, δu
        dp, dv, dr, du = np.zeros((n, size)), np.zeros((n, size)), np.zeros((n_r, size)), np.zeros((n_u, size))
        dp[:, :f] = N
        dr[:, 2 * f : 2 * f + n_r] = np.eye(n_r)
        du[:, 2 * f + n_r :] = np.eye(n_u)
        dv[:, f : 2 * f] = N
        if self.k:  # δv such that its independent part is δν and the constraints on velocities go on to hold
            off = -(self.by["moving"][0] @ dp)
            particular = np.linalg.lstsq(self.G, off, rcond=1e-12)[0]
            dv += particular - N @ particular[chosen]

        def vary(E: str) -> np.ndarray:
            by_p, by_v, by_r, by_u = self.by[E]
            return by_p @ dp + by_v @ dv + by_r @ dr + by_u @ du

        solved = np.linalg.lstsq(self.K, -np.vstack([vary("balance"), vary("second")]), rcond=1e-13)[0]
        da, dlam = solved[:n], solved[n:]
        speed = dv.copy()
        for i in range(mech.bones.n):  # a small rotation about axes that turn themselves
            first = int(mech.bones.v_at[i]) + {Move.FREE: 3}.get(Move(int(mech.bones.move[i])), 0)
            if mech.bones.move[i] in (Move.SPHERICAL, Move.FREE):
                here = slice(first, first + 3)
                speed[here] += np.cross(dp[here].T, v[here]).T
        rates = np.vstack([speed[chosen], da[chosen], vary("states")])
        C = self._outputs(dp, dv, dr, du, da, dlam)
        x = 2 * f + n_r
        names = _names(mech.bones)
        states = (*(names[k] for k in chosen), *(mech.bones.rates[k] for k in chosen), *mech.parts.states)
        return Linearization(
            rates[:, :x], rates[:, x:], C[0][:, :x], C[0][:, x:], states,
            (*self.read, *(joint.name for joint in self.pushed)), C[1], p, v, r,
            float(max(np.abs(self.a).max(initial=0.0), np.abs(v).max(initial=0.0))), dp[:, :x], tuple(names),
        )  # fmt: skip

    def _outputs(self, dp: Any, dv: Any, dr: Any, du: Any, da: Any, dlam: Any) -> tuple[np.ndarray, tuple[str, ...]]:
        """Variations of outputs, and their names: components of vectors get numbers."""
        mech = self.mech
        if not self.names:
            return np.zeros((0, dp.shape[1])), ()
        observer = Observer(mech.system, set(), mech.parts)
        scales = np.array([mech.size if row.length else 1.0 for row in mech.rows])
        observer.__dict__["lam"] = mech.lam / scales if self.k else mech.lam
        observer.__dict__["contact_forces"] = observer.without_contacts
        known = {*observer.names(), *mech.bones.names, *mech.bones.rates}
        blocks, names = [], []
        for name in self.names:
            if name not in known:
                raise OptionError(f"linearize, outputs: {explain_unknown(name, known)}")
            expression = _expression(mech, observer, name)
            by = [mech.along(expression)]
            by += [ca.jacobian(expression, x) for x in (mech.v, mech.r, self.u, mech.a, mech.lam)]
            found = mech.function(self.every, by)(*self.point)
            blocks.append(sum(b @ d for b, d in zip(found, (dp, dv, dr, du, da, dlam), strict=True)))
            count = expression.numel()
            names += [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
        return np.vstack(blocks), tuple(names)


def _expression(mech: Mechanics, observer: Observer, name: str) -> ca.SX:
    """An output as a column."""
    bones = mech.bones
    if name in bones.names:
        return mech.p[bones.names.index(name)]
    if name in bones.rates:
        return mech.v[bones.rates.index(name)]
    value, width = observer.value(name)
    if not isinstance(value, tuple):
        return ca.SX(value)
    if isinstance(value[0], tuple):
        return ca.vertcat(*(ca.SX(x) for row in value[:width] for x in row[:width]))
    return ca.SX(value[2]) if width == 1 else ca.vertcat(*map(ca.SX, value[:width]))


def _independent(N: np.ndarray) -> np.ndarray:
    """Rows of N, as many as it has columns, that determine the others best: by pivoting."""
    from scipy.linalg import qr

    if not N.shape[1]:
        return np.zeros(0, int)
    return np.sort(qr(N.T, mode="economic", pivoting=True)[2][: N.shape[1]])


def _names(bones: Any) -> list[str]:
    """Of variations of positions, in the order of the velocities."""
    names = []
    for rate in bones.rates:
        head, _, part = rate.rpartition(".")
        names.append(f"{head}.turn_{part[1]}" if part in ("wx", "wy", "wz") else rate.removesuffix("_dot"))
    return names
