"""A ball that bounces down a wavy slope: an event whose action changes the velocity.

The event function is the height over the ground. At each root the action reflects the velocity at the ground's normal
and takes part of the energy away; the integration restarts from there.

    python examples/bouncing_ball.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import dalembert as da
from dalembert.draw import Dot, Drawing, Path, Trace

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt


def ground(x):
    return 0.15 * np.cos(2.5 * x) - 0.25 * x


def slope(x):
    return -0.375 * np.sin(2.5 * x) - 0.25


hills = [(float(x), float(ground(x))) for x in np.linspace(-0.5, 9.5, 120)]
ball = da.EquationsOfMotion(
    name="bouncing ball",
    p=["x", "y"],
    parameters=dict(m=1.0, g=9.81, restitution=0.85),
    mass=lambda s: [s.m, s.m],
    force=lambda s: [0, -s.m * s.g],
    drawing=Drawing([Path(hills), Trace(("x", "y")), Dot(("x", "y"), 0.12)], follow=False),
)


def bounce(s):
    """The velocity after an impact; what is not named stays as it is."""
    normal = np.array([-slope(s.x), 1.0])
    normal /= np.linalg.norm(normal)
    return {"v": s.v - (1 + s.restitution) * (normal @ s.v) * normal}


impact = da.Event(lambda s: s.y - ground(s.x), direction=-1, action=bounce, name="impact")
sol = da.simulate(ball, (0, 4), p0=[0.0, 1.0], v0=[0.4, 0.0], events=impact, rtol=1e-9, atol=1e-9)


def draw(path) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
        x = np.linspace(sol["x"].min() - 0.3, sol["x"].max() + 0.3, 600)
        ax.fill_between(x, ground(x), ground(x).min() - 0.3, color="0.85", linewidth=0)
        sol.plot("y", ax=ax, against="x")
        places = np.array([event.p for event in sol.events])
        ax.plot(*places.T, "o", color="C3", markersize=4)
        ax.set(title=f"{len(sol.events)} impacts", xlabel="x", ylabel="y")
        ax.set_aspect("equal", adjustable="datalim")
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    for event in sol.events:
        energy = 0.5 * event.v @ event.v + 9.81 * event.p[1]
        print(f"t = {event.t:.6f}   x = {event.p[0]:8.5f}   y = {event.p[1]:8.5f}   energy before {energy:8.4f}")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
