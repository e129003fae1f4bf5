"""An oracle for the tests of contact: event-driven integration in which modes of contacts are found by trial.

It shares with the package only the tracing of the users' functions, as `tests/problems/index1.py`. Laws of contact are
its own: all combinations of modes are tried until one satisfies its inequalities. Contacts in the plane only, and few.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

#: what forces may fall below their bounds before it is an event, in parts of the first ones
SLACK = 1e-10
OPEN, STICK, LEFT, RIGHT = "open", "stick", "slides backwards", "slides forwards"


@dataclass
class Hit:
    """An impact: rates of gaps and sliding velocities of all contacts before and after, impulses."""

    t: float
    contacts: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    impulse: np.ndarray


@dataclass
class Course:
    """What came of a run."""

    t: list[float] = field(default_factory=list)
    y: list[np.ndarray] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    changes: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)


class Inconsistent(Exception):
    """No combination of modes satisfies its inequalities."""


class Trial:
    """y = (p, v); no kinematics, dynamics or auxiliary variables; `run(t_end)`.

    Impacts slower than `rest` have no rebound, which ends sequences of impacts that accumulate.
    """

    def __init__(self, problem, rest=1e-5, rtol=1e-12, atol=1e-14):
        self.problem, self.model, self.rest, self.rtol, self.atol = problem, problem.model, rest, rtol, atol
        graph = self.model.graph
        p, v, t = graph.symbol["p"], graph.symbol["v"], graph.t
        self.n = v.numel()
        contacts = self.model.contacts
        multipliers = ca.vertcat(graph.symbol["lam"], graph.symbol["mu"])
        f = ca.substitute(graph.value("force"), multipliers, ca.SX.zeros(multipliers.numel()))
        g = graph.value("holonomic")
        own, gaps = g[: contacts[0].normal, 0], -g[contacts[0].normal :, 0]
        h = -graph.value("nonholonomic") if "nonholonomic" in graph.functions else ca.SX(0, 1)
        self.names = [contact.name for contact in contacts]
        self.own = own.numel()
        self.tangent = []  # of every contact: its row, or None
        rates = [ca.mtimes(ca.jacobian(x, p), v) + ca.jacobian(x, t) for x in (own, gaps) if x.numel()] + [h]
        for contact in contacts:
            assert len(contact.stick) <= 1, "contacts in the plane"
            self.tangent.append(self.own + len(contacts) + contact.stick[0] if contact.stick else None)
        rate = ca.vertcat(*rates)
        W = ca.jacobian(rate, v)
        bias = ca.mtimes(ca.jacobian(rate, p), v) + ca.jacobian(rate, t)
        y = ca.vertcat(p, v)
        self._parts = ca.Function(
            "parts", [t, y, graph.theta], [ca.densify(x) for x in (graph.value("mass"), f, W, bias, rate, gaps)]
        )
        self.e, self.mu = self.model.contact_values()
        self.size = np.abs(self.parts(0.0, np.concatenate([problem.p0, problem.v0]))[1]).max() or 1.0  # of forces

    def parts(self, t, y):
        M, f, W, bias, rate, gaps = (np.array(x) for x in self._parts(t, y, self.model.theta(t)))
        return M, f.ravel(), W, bias.ravel(), rate.ravel(), gaps.ravel()

    # -- smooth motion --------------------------------------------------------------------------------------------

    def solve(self, t, y, modes, scale=None):
        """Accelerations and forces (normal, tangential of each contact) in given modes."""
        M, f, W, bias, _, _ = self.parts(t, y)
        k = len(self.names)
        directions, rows, owners = [], [], []
        for i in range(self.own):
            directions.append(W[i])
            rows.append(i)
            owners.append(None)
        for i, mode in enumerate(modes):
            if mode == OPEN:
                continue
            normal, tangent = W[self.own + i], self.tangent[i]
            push = normal.copy()
            if mode in (LEFT, RIGHT):
                push -= self.mu[i] * (1 if mode == RIGHT else -1) * W[tangent]
            directions.append(push)
            rows.append(self.own + i)
            owners.append((i, "normal"))
            if mode == STICK and tangent is not None:
                directions.append(W[tangent])
                rows.append(tangent)
                owners.append((i, "tangent"))
        m = len(rows)
        D = np.array(directions).reshape(m, self.n)
        K = np.block([[M, -D.T], [W[rows], np.zeros((m, m))]])
        right = np.concatenate([f, -bias[rows]])
        solution, *_ = np.linalg.lstsq(K, right, rcond=1e-13) if m else (np.linalg.solve(M, f),)
        force = np.zeros((k, 2))
        for value, owner in zip(solution[self.n :], owners, strict=True):
            if owner is not None:
                force[owner[0], int(owner[1] == "tangent")] = value
        for i, mode in enumerate(modes):
            if mode in (LEFT, RIGHT):
                force[i, 1] = -self.mu[i] * (1 if mode == RIGHT else -1) * force[i, 0]
        a = solution[: self.n]
        residual = np.abs(K @ solution - right).max() if m else 0.0
        return a, force, W @ a + bias, residual

    def choose(self, t, y, closed, tol=0.5 * SLACK):
        """Modes of the closed contacts whose forces and accelerations fit together."""
        _, _, _, _, rate, _ = self.parts(t, y)
        size = self.size
        options = []
        for i in range(len(self.names)):
            if i not in closed:
                options.append((OPEN,))
            elif self.tangent[i] is None:
                options.append((OPEN, STICK))
            else:
                u = rate[self.tangent[i]]
                still = (STICK, OPEN, LEFT, RIGHT)
                options.append(still if abs(u) < 1e-9 else (RIGHT if u > 0 else LEFT, OPEN))
        for modes in itertools.product(*options):
            _, force, acceleration, residual = self.solve(t, y, modes)
            if residual > 1e-8 * size:  # contacts that contradict each other
                continue
            if all(
                self._fits(i, mode, force[i], acceleration, rate, tol * size)
                for i, mode in enumerate(modes)
                if i in closed
            ):
                return modes
        raise Inconsistent(f"t = {t}: {[self.names[i] for i in closed]}")

    def _fits(self, i, mode, force, acceleration, rate, tol):
        if mode == OPEN:
            return acceleration[self.own + i] >= -tol
        if force[0] < -tol:
            return False
        if self.tangent[i] is None:
            return True
        if mode == STICK:
            return abs(force[1]) <= self.mu[i] * force[0] + tol
        if abs(rate[self.tangent[i]]) >= 1e-9:
            return True
        slip = acceleration[self.tangent[i]]
        return slip * (1 if mode == RIGHT else -1) >= -tol

    # -- impacts --------------------------------------------------------------------------------------------------

    def impact(self, t, y, touching):
        """Newton's law with Coulomb's friction on all contacts that touch, by trial."""
        M, _, W, _, rate, _ = self.parts(t, y)
        size = 1 + np.abs(rate).max()
        before = rate[self.own :]
        e = np.where(self.e * np.abs(before[: len(self.names)]) < self.rest, 0.0, self.e)
        options = []
        for i in range(len(self.names)):
            if i not in touching:
                options.append((OPEN,))
            else:
                options.append((STICK, OPEN) if self.tangent[i] is None else (STICK, OPEN, LEFT, RIGHT))
        for modes in itertools.product(*options):
            directions, rows, right, owners = [], [], [], []
            for i in range(self.own):
                directions.append(W[i])
                rows.append(i)
                right.append(-rate[i])
                owners.append(None)
            for i, mode in enumerate(modes):
                if mode == OPEN:
                    continue
                tangent = self.tangent[i]
                push = W[self.own + i].copy()
                if mode in (LEFT, RIGHT):
                    push -= self.mu[i] * (1 if mode == RIGHT else -1) * W[tangent]
                directions.append(push)
                rows.append(self.own + i)
                right.append(-(1 + e[i]) * rate[self.own + i])
                owners.append((i, 0))
                if mode == STICK and tangent is not None:
                    directions.append(W[tangent])
                    rows.append(tangent)
                    right.append(-rate[tangent])
                    owners.append((i, 1))
            D = np.array(directions).reshape(len(rows), self.n)
            A = W[rows] @ np.linalg.solve(M, D.T)
            solution, *_ = np.linalg.lstsq(A, right, rcond=1e-12) if rows else (np.zeros(0),)
            if rows and np.abs(A @ solution - right).max() > 1e-10 * size:
                continue
            change = np.linalg.solve(M, D.T @ solution) if rows else np.zeros(self.n)
            impulse = np.zeros((len(self.names), 2))
            for value, owner in zip(solution, owners, strict=True):
                if owner is not None:
                    impulse[owner] = value
            for i, mode in enumerate(modes):
                if mode in (LEFT, RIGHT):
                    impulse[i, 1] = -self.mu[i] * (1 if mode == RIGHT else -1) * impulse[i, 0]
            after = rate + W @ change
            tol = 1e-10 * size
            least = 1e-10 * size * np.abs(M).max()
            if all(
                self._bounces(i, mode, impulse[i], rate, after, e[i], tol, least)
                for i, mode in enumerate(modes)
                if i in touching
            ):
                new = y.copy()
                new[self.n :] += change
                names = tuple(self.names[i] for i in touching if rate[self.own + i] < 0 or impulse[i, 0] > least)
                return new, Hit(t, names, rate[self.own :], after[self.own :], impulse)
        raise Inconsistent(f"impact at t = {t}")

    def _bounces(self, i, mode, impulse, before, after, e, tol, least):
        leaving = after[self.own + i] + e * before[self.own + i]
        if mode == OPEN:
            return leaving >= -tol
        if impulse[0] < -least:
            return False
        tangent = self.tangent[i]
        if tangent is None:
            return True
        if mode == STICK:
            return abs(impulse[1]) <= self.mu[i] * impulse[0] + least
        return after[tangent] * (1 if mode == RIGHT else -1) >= -tol

    # -- all of it ------------------------------------------------------------------------------------------------

    def run(self, t_end=None, most=2000, start=None):
        t_end = self.problem.t_end if t_end is None else t_end
        n = len(self.names)
        t, y = 0.0, np.concatenate([self.problem.p0, self.problem.v0]) if start is None else np.array(start, float)
        course = Course()
        course.t.append(t)
        course.y.append(y)
        modes = (OPEN,) * n
        closing = None
        for _ in range(most):
            *_, rate, gaps = self.parts(t, y)
            closed = [i for i in range(n) if i == closing or modes[i] != OPEN or gaps[i] < 1e-11]
            if any(rate[self.own + i] < -1e-13 for i in closed) and closed:
                y, hit = self.impact(t, y, closed)
                course.hits.append(hit)
                *_, rate, gaps = self.parts(t, y)
            closed = [i for i in closed if abs(rate[self.own + i]) < max(self.rest, 1e-12)]
            modes = self.choose(t, y, closed)
            course.changes.append((t, modes))
            t, y, closing, done = self.smooth(t, y, t_end, modes)
            course.t.append(t)
            course.y.append(y)
            if done:
                return course
        raise AssertionError("too many events")

    def smooth(self, t, y, t_end, modes):
        """To the next event: time, state, the contact that closes, whether the end is reached."""

        def rhs(t, y):
            return np.concatenate([y[self.n :], self.solve(t, y, modes)[0]])

        watched = []
        for i, mode in enumerate(modes):
            if mode == OPEN:
                watched.append((lambda t, y, i=i: self.parts(t, y)[5][i], i))
                continue
            watched.append((lambda t, y, i=i: self.solve(t, y, modes)[1][i, 0] + SLACK * self.size, None))
            if self.tangent[i] is None:
                continue
            if mode == STICK:
                for sign in (1, -1):
                    watched.append(
                        (
                            lambda t, y, i=i, sign=sign: (
                                self.mu[i] * (f := self.solve(t, y, modes)[1][i])[0] + sign * f[1] + 1e-9
                            ),
                            None,
                        )
                    )
            else:
                sign = 1 if mode == RIGHT else -1
                watched.append((lambda t, y, i=i, sign=sign: sign * self.parts(t, y)[4][self.tangent[i]], None))
        values = [function(t, y) for function, _ in watched]
        armed = [value > 1e-12 for value in values]
        step = 2e-7  # short flights of balls that come to rest must not be missed
        while True:
            run = solve_ivp(
                rhs, (t, min(t + step, t_end)), y, method="DOP853", rtol=self.rtol, atol=self.atol, dense_output=True
            )
            assert run.success, run.message
            first = None
            for a, b in itertools.pairwise(run.t):
                for j, (function, closing) in enumerate(watched):
                    grid = np.linspace(a, b, 9)
                    for lower, upper in itertools.pairwise(grid):
                        if not armed[j]:
                            armed[j] = function(upper, run.sol(upper)) > 1e-12
                            continue
                        if function(upper, run.sol(upper)) < 0:
                            root = brentq(_along(function, run.sol), lower, upper, xtol=1e-15)
                            if first is None or root < first[0]:
                                first = (root, closing)
                            break
                if first is not None:
                    break
            if first is not None:
                return first[0], run.sol(first[0]), first[1], False
            t, y, step = run.t[-1], run.y[:, -1], min(4 * step, 0.02)
            if t >= t_end:
                return t, y, None, True


def _along(function, path):
    return lambda x: function(x, path(x))
