"""Forces that are linear in the multipliers, f + F λ, in half-explicit Runge-Kutta methods: friction of what slides."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from steps import fixed_steps, orders

import dalembert as da
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.sparse import Sparse

G, MU = 9.81, 0.3
RUNGE_KUTTA = [da.Hem5(), da.Hedop5(), da.Phem56(), da.Rkf45()]
every = pytest.mark.parametrize("method", RUNGE_KUTTA, ids=lambda method: type(method).__name__)


# -- problems ----------------------------------------------------------------------------------------------------------


def track(force=lambda s, friction: [friction[0], -G + friction[1]], **others):
    """A bead slides to the right on z = 0.2 sin x; F depends on positions."""

    def forces(s):
        slope = 0.2 * np.cos(s.x)
        return force(s, [MU * s.lam1, MU * s.lam1 * slope])  # the force on the bead is −λ, upwards

    return da.EquationsOfMotion(
        p=["x", "z"], mass=[1, 1], force=forces, holonomic=lambda s: [s.z - 0.2 * np.sin(s.x)], **others
    )


TRACK = dict(p0=[0.0, 0.0], v0=[4.0, 0.8])


def on_track(t):
    """The bead's x and x' from its one equation of motion."""

    def rates(_, y):
        x, u = y
        slope, bend = 0.2 * np.cos(x), -0.2 * np.sin(x)
        # a (1, slope) + u² (0, bend) = (0, −g) + N ((−slope, 1) − μ (1, slope)), N and a are unknown
        a = np.linalg.solve([[1, slope + MU], [slope, MU * slope - 1]], [0, -G - u**2 * bend])[0]
        return [u, a]

    found = solve_ivp(rates, (0, t), [0.0, 4.0], method="DOP853", rtol=1e-13, atol=1e-14)
    x, u = found.y[:, -1]
    return np.array([x, 0.2 * np.sin(x), u, 0.2 * np.cos(x) * u])


def bowl(**others):
    """A bead slides around in the bowl z = (x² + y²)/4; F depends on velocities, which give friction its direction."""

    def forces(s):
        x_dot, y_dot, z_dot = s.v
        normal = -s.lam1 * np.sqrt(1 + (s.x**2 + s.y**2) / 4)
        part = -MU * normal / np.sqrt(x_dot**2 + y_dot**2 + z_dot**2)
        return [part * x_dot, part * y_dot, part * z_dot - G]

    return da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1, 1, 1], force=forces, holonomic=lambda s: [s.z - (s.x**2 + s.y**2) / 4], **others
    )


BOWL = dict(p0=[1.0, 0.0, 0.25], v0=[0.5, 3.0, 0.25])


def in_bowl(t):
    """Position and velocity of the bead in Cartesian coordinates, from Newton's law."""

    def rates(_, y):
        p, v = y[:3], y[3:]
        gradient = np.array([-p[0] / 2, -p[1] / 2, 1.0])
        n = gradient / np.linalg.norm(gradient)
        # n·a is what keeps the bead on the surface
        N = ((v[0] ** 2 + v[1] ** 2) / 2) / np.linalg.norm(gradient) + G * n[2]
        return [*v, *(N * n - MU * N * v / np.linalg.norm(v) - [0, 0, G])]

    start = [*BOWL["p0"], *BOWL["v0"]]
    return solve_ivp(rates, (0, t), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


def end(sol):
    return np.concatenate([sol.p[-1], sol.v[-1]])


# -- order -------------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("which", ["track", "bowl"])
def test_order_five(which, method):
    model, start, t, exact, counts = {
        "track": (track(), TRACK, 0.8, on_track, (16, 32, 64)),
        "bowl": (bowl(), BOWL, 0.6, in_bowl, (16, 32, 64)),
    }[which]
    errors = [np.linalg.norm(end(fixed_steps(model, t, n, method, **start)) - exact(t)) for n in counts]
    order = orders(np.array(errors))
    assert errors[-1] < 1e-7
    assert (order > 4.6).all(), order


