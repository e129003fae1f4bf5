"""A pendulum in Cartesian coordinates: the first example of the README by equations.

python examples/readme_pendulum.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import dalembert as da
from dalembert.draw import Dot, Link, Pin, Trace

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt

pendulum = da.EquationsOfMotion(
    p=["x", "y"],
    parameters=dict(m=1.0, L=1.0, g=9.81),
    mass=lambda s: [s.m, s.m],
    force=lambda s: [0, -s.m * s.g],
    holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2],
    drawing=[Trace(("x", "y")), Link((0, 0), ("x", "y")), Pin((0, 0)), Dot(("x", "y"), 0.06)],
)
sol = da.simulate(pendulum, (0, 10), p0=[1, 0], v0=[0, 0], rtol=1e-8, atol=1e-8)


def draw(path) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (plane, time, residual) = plt.subplots(1, 3, figsize=(10, 2.9), layout="constrained")
        swing = sol.at(np.linspace(0, 1.185, 21))  # half a period
        for k, (x, y) in enumerate(swing.p):
            plane.plot([0, x], [0, y], "o-", color="C0", alpha=0.15 + 0.04 * k, markevery=[1])
        plane.plot(0, 0, "o", color="black")
        plane.set(xlabel="x", ylabel="y", title="half a swing")
        plane.set_aspect("equal", adjustable="datalim")
        sol.plot("x", "y", ax=time)
        time.set(title="positions", ylim=(-1.1, 1.5))
        time.legend(loc="upper right", ncols=2, frameon=False)
        sol.plot("position residual", "velocity residual", ax=residual)
        residual.set(title="constraint residuals", ylim=(1e-15, 1e-5))
        residual.legend(loc="upper right", ncols=2, frameon=False, fontsize="small")
        for ax in (plane, time, residual):
            ax.grid(alpha=0.25)
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    print(sol)
    print(sol.stats)
    print(f"position residual {sol.max_residual('position'):.1e}, velocity residual {sol.max_residual('velocity'):.1e}")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
