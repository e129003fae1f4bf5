import matplotlib as mpl
import numpy as np
import pytest

from dalembert.model import EquationsOfMotion
from dalembert.solution import EventLog, Occurrence, Solution, Statistics, Trajectory

mpl.use("Agg")

M, L, GRAVITY = 2.0, 1.5, 9.81


@pytest.fixture(scope="session")
def pendulum():
    return EquationsOfMotion(
        p=["x", "y"],
        parameters={"m": M, "L": L, "g": GRAVITY},
        mass=lambda s: [s.m, s.m],
        force=lambda s: [0, -s.m * s.g],
        holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2],
        invariant=lambda s: [s.m * (s.x_dot**2 + s.y_dot**2) / 2 + s.m * s.g * s.y],
        name="pendulum",
    )


@pytest.fixture
def make_solution(pendulum):
    """A result of the pendulum with made-up cubic polynomials: everything can be computed by hand from its numbers."""

    def make(model=pendulum, **changes):
        rng = np.random.default_rng(4)
        steps, n = 5, 6  # x, y, x_dot, y_dot, lam1, eta
        h = rng.uniform(0.1, 0.5, steps)
        trajectory = Trajectory(
            0.0,
            rng.normal(size=n),
            np.cumsum(h),
            h,
            rng.normal(size=(steps, 4, n)),
            restarts=[2],
            restart_x=rng.normal(size=(1, n)),
        )
        events = EventLog(
            [Occurrence(0.25, "a/b", 1, -1, {"p": rng.normal(size=2), "v": rng.normal(size=2)})], names=("never", "a/b")
        )
        given = {
            "model": model,
            "method": "Radau5(newton_iterations=7)",
            "formulation": "ggl",
            "slices": {"p": slice(0, 2), "v": slice(2, 4), "lam": slice(4, 5), "eta": slice(5, 6)},
            "names": {"p": ("x", "y"), "v": ("x_dot", "y_dot"), "lam": ("lam1",), "eta": ("eta of lam1",)},
            "trajectory": trajectory,
            "stats": Statistics(accepted=steps, error_rejections=1, seconds=0.1),
            "events": events,
            "message": "the end was reached",
            "parameters": {"m": M, "L": L, "g": GRAVITY},
            "initial": {"p": np.array([1.0, 0.0]), "v": np.zeros(2)},
        }
        return Solution(**{**given, **changes})

    return make


@pytest.fixture
def solution(make_solution):
    return make_solution()
