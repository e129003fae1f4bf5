"""Start states that nobody chose, for every problem with contacts: `draw("bouncing_ball", dice)`.

Dice are random numbers (`Dice(rng)`) or choices of hypothesis (`Drawn(data)`), which it can make simpler.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from index1 import Index1

from dalembert import problems


class Dice:
    """Numbers from a generator; every third one is a border, where things happen together."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def number(self, low: float, high: float) -> float:
        kind = self.rng.integers(6)
        if kind == 0:
            return low if self.rng.integers(2) else high
        if kind == 1:
            return min(max(0.0, low), high)
        return float(self.rng.uniform(low, high))

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]


class Drawn:
    """The same from hypothesis."""

    def __init__(self, data: Any):
        self.data = data

    def number(self, low: float, high: float) -> float:
        return self.data.draw(st.floats(low, high, allow_subnormal=False))

    def pick(self, choices):
        return self.data.draw(st.sampled_from(choices))


@dataclass
class Case:
    """A problem, and where to start in place of its own start values."""

    problem: Any
    p0: np.ndarray
    v0: np.ndarray
    t_end: float = 1.0
    options: dict = field(default_factory=dict)

    @property
    def model(self):
        return self.problem.model

    def gaps(self) -> np.ndarray:
        oracle = Index1(self.problem)
        first = self.model.contacts[0].normal
        return -np.array(oracle._residuals(0.0, np.concatenate([self.p0, self.v0]), self.model.theta(0.0))[0])[
            first:, 0
        ]


def draw(name: str, dice) -> Case:
    """A case in which nothing penetrates."""
    return _DRAW[name](dice)


def _restitution(dice) -> float:
    return dice.pick([0.0, 0.25, 0.5, 0.9, 1.0])


def _friction(dice) -> float:
    return dice.pick([0.0, 0.1, 0.4, 1.0])


def _gap(dice, most=1.0) -> float:
    return dice.pick([0.0, 0.0, 1.0]) * max(dice.number(0.0, most), 0.0)


def _bouncing_ball(dice):
    problem = problems.bouncing_ball(e=_restitution(dice))
    return Case(problem, np.array([0.1 + _gap(dice)]), np.array([dice.number(-5, 5)]))


def _bouncing_balls(dice):
    problem = problems.bouncing_balls(4, e=_restitution(dice))
    heights = [0.1 + _gap(dice) for _ in range(4)]
    return Case(problem, np.array(heights), np.array([dice.number(-3, 3) for _ in range(4)]))


def _ball_stack(dice):
    problem = problems.ball_stack(3, e=_restitution(dice))
    gaps = np.array([_gap(dice, 0.3) for _ in range(3)])
    return Case(
        problem, np.cumsum(gaps) + 0.1 * (1 + 2 * np.arange(3)), np.array([dice.number(-2, 2) for _ in range(3)])
    )


def _ball_chain(dice):
    problem = problems.ball_chain(4, e=_restitution(dice), impact=dice.pick(["newton", "poisson", "sequential"]))
    gaps = np.array([0.0, *(_gap(dice, 0.3) for _ in range(3))])
    return Case(problem, np.cumsum(gaps) + 0.2 * np.arange(4), np.array([dice.number(-2, 2) for _ in range(4)]))


def _newtons_cradle(dice):
    problem = problems.newtons_cradle(3, e=_restitution(dice), impact=dice.pick(["newton", "poisson", "sequential"]))
    th = np.cumsum([dice.number(-0.5, 0.3), *(_gap(dice, 0.4) for _ in range(2))])
    return Case(problem, th, np.array([dice.number(-3, 3) for _ in range(3)]))


def _falling_block(dice):
    th = dice.number(-1.2, 1.2)
    problem = problems.falling_block(e=_restitution(dice), friction=_friction(dice), th0=th, height=_gap(dice, 0.5))
    return Case(problem, problem.p0, np.array([dice.number(-1, 1), dice.number(-2, 2), dice.number(-2, 2)]), 0.8)


def _four_bar_stop(dice):
    problem = problems.four_bar_stop(e=_restitution(dice), g=dice.pick([0.0, 9.81]), torque=dice.number(-6, 6))
    p = problem.p0.copy()
    goal = dice.number(1.2, 2.5)
    l1, l2, l3, d1 = 1.0, 4.0, 2.0, 4 - np.sqrt(3)
    for phi1 in np.linspace(p[0], goal, 50):  # the branch of the start
        p[0] = phi1
        for _ in range(20):
            c, s = np.cos(p), np.sin(p)
            g = np.array([l1 * c[0] + l2 * c[1] - l3 * c[2] - d1, l1 * s[0] + l2 * s[1] - l3 * s[2]])
            J = np.array([[-l2 * s[1], l3 * s[2]], [l2 * c[1], -l3 * c[2]]])
            p[1:] -= np.linalg.solve(J, g)
    c, s = np.cos(p), np.sin(p)
    J = np.array([[-l2 * s[1], l3 * s[2]], [l2 * c[1], -l3 * c[2]]])
    rates = np.linalg.solve(J, [l1 * s[0], -l1 * c[0]])
    return Case(problem, p, dice.number(-2, 2) * np.array([1.0, *rates]))


def _woodpecker(dice):
    problem = problems.woodpecker(e=_restitution(dice), friction=dice.pick([0.0, 0.1, 0.3, 0.6]))
    most = 0.0006 / 0.0058
    p = [0.0, dice.number(-most, most), dice.number(-0.4, 0.119)]
    return Case(
        problem,
        np.clip(p, -0.4, [0.0, most * (1 - 1e-9), 0.12]),
        np.array([dice.number(-0.4, 0.1), dice.number(-4, 4), dice.number(-15, 15)]),
        0.2,
    )


def _sliding_box(dice):
    space = dice.pick([False, True])
    problem = problems.sliding_box(friction=_friction(dice), incline=dice.number(-0.5, 0.5), space=space)
    n = 3 if space else 2
    p, v = np.zeros(n), np.array([dice.number(-2, 2) for _ in range(n)])
    p[-1] = _gap(dice, 0.3)
    return Case(problem, p, v)


def _painleve_rod(dice):
    th = dice.number(-1.5, 1.5)
    problem = problems.painleve_rod(friction=dice.pick([0.0, 0.3, 0.8, 1.2]), e=_restitution(dice))
    p = np.array([0.0, 0.5 * abs(np.sin(th)) + _gap(dice, 0.3), th])
    return Case(problem, p, np.array([dice.number(-3, 3), dice.number(-2, 2), dice.number(-6, 6)]), 0.5)


def _rimless_wheel(dice):
    problem = problems.rimless_wheel(6, slope=0.2, friction=dice.pick([0.1, 0.5, 2.0]))
    th = dice.number(-1, 1)
    lowest = np.cos(np.pi / 3 * np.arange(6) - th).max()
    p = np.array([0.0, lowest + _gap(dice, 0.3), th])
    return Case(problem, p, np.array([dice.number(-1, 1), dice.number(-1, 1), dice.number(-2, 2)]), 0.8)


def _billiard(dice):
    problem = problems.billiard(2, 2)
    p, v = problem.p0.copy(), np.array([dice.number(-2, 2) for _ in range(8)])
    return Case(problem, p + [dice.number(-0.09, 0.09) for _ in range(8)], v, 2.0)


def _ball_over_edge(dice):
    problem = problems.ball_over_edge(surface=dice.pick(["one", "two"]))
    x = dice.number(-1, 0.5)
    p = np.array([x, max(x, 0.0) ** 2 + _gap(dice, 0.3)])
    return Case(problem, p, np.array([dice.number(-3, 3), dice.number(-1, 1)]))


def _ball_over_corner(dice):
    problem = problems.ball_over_corner()
    p = np.array([dice.number(-1, -0.01), 0.1 + _gap(dice, 0.3)])
    return Case(problem, p, np.array([dice.number(-1, 2), dice.number(-1, 1)]))


_DRAW = {name: globals()[f"_{name}"] for name in problems.catalogue_contact()}
