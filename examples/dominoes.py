"""Dominoes: boxes that topple each other, by time stepping.

Every tile may touch its neighbours and the table in many places at once. Nobody looks for the times of impacts: steps
have a fixed size, and in each of them all contacts are solved together, with friction.

    python examples/dominoes.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import dalembert as da

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt

COUNT, GAP = 9, 0.045
SIZE = np.array([0.015, 0.05, 0.1])
MASS = 0.05

mb = da.Multibody(name="dominoes")
inertia = MASS / 12 * np.array([SIZE[1] ** 2 + SIZE[2] ** 2, SIZE[0] ** 2 + SIZE[2] ** 2, SIZE[0] ** 2 + SIZE[1] ** 2])
for k in range(COUNT):
    # in a bend
    x, y, turn = GAP * k, 0.012 * k * (k - 1) / 2, np.arctan2(0.012 * k, GAP)
    mb.body(f"tile{k}", mass=MASS, inertia=inertia, shape=da.Box(SIZE), position=(x, y, SIZE[2] / 2),
            orientation=(0, 0, turn))  # fmt: skip
mb.collide(friction=0.3, planes=[((0, 0, 0), (0, 0, 1))])

push = {"tile0.com_x_dot": 0.2, "tile0.wy": 4.0}
sol = da.simulate(mb.equations("absolute"), (0, 1.2), v0=push, method=da.MoreauJean(h=2e-3, tolerance=1e-3))
heights = np.array([sol[f"tile{k}.position"][:, 2] for k in range(COUNT)])


def fallen() -> np.ndarray:
    """When each tile has tilted so far that it will fall."""
    tops = np.array([sol[f"tile{k}.orientation"][:, 2, 2] for k in range(COUNT)])
    return np.array([sol.t[np.argmax(row < np.cos(np.radians(30)))] for row in tops])


def draw(path) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
        ax.plot(sol.t, 100 * heights.T)
        ax.set(title="height of the tiles' centres [cm]", xlabel="t [s]")
        ax.grid(alpha=0.25)
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    for k, t in enumerate(fallen()):
        print(f"tile {k + 1} has tilted by 30 degrees at t = {t:.3f} s")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
