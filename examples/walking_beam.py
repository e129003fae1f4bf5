"""Chebyshev's walking beam: bodies and joints, a driven crank, and the force in a joint in three sets of coordinates.

A crank turns at constant speed; the end of the coupler draws a line that is nearly straight for half of the turn. The
loop is closed by a constraint that nobody has to write down, and start values are assembled from the crank's angle.

    python examples/walking_beam.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import dalembert as da

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt

SPEED = 2 * np.pi  # one turn a second

mb = da.Multibody(planar=True, name="walking beam")
crank = mb.body("crank", mass=1.0, inertia=0.1, com=(0.5, 0))
coupler = mb.body("coupler", mass=2.0, inertia=4.0, com=(2.5, 0))
rocker = mb.body("rocker", mass=1.0, inertia=0.6, com=(1.25, 0), position=(2, 0), orientation=np.pi / 2)
mb.revolute("motor", mb.ground, crank, drive=lambda t: SPEED * t)
mb.revolute("pin", crank, coupler, at=(1, 0))
mb.revolute("knee", coupler, rocker, at=(2.5, 0), to=(2.5, 0))
mb.revolute("pivot", mb.ground, rocker, at=(2, 0))
mb.marker("foot", coupler, at=(5, 0))

runs = {
    kind: da.simulate(mb.equations(kind, **options), (0, 1), rtol=1e-8, atol=1e-8, t_eval=np.linspace(0, 1, 201))
    for kind, options in (("joint", {}), ("absolute", {}), ("mixed", {"absolute": ["coupler"]}))
}
sol = runs["joint"]


def draw(path) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        left.plot(*sol["foot.position"].T, color="C3")
        for k in range(0, 200, 25):
            points = [sol[name][k] for name in ("crank.position", "coupler.position", "foot.position")]
            left.plot(*np.array(points).T, "o-", color="0.6", markersize=3, linewidth=1)
        left.set(title="the foot and its linkage", aspect="equal", xlabel="x", ylabel="y")
        right.plot(sol.t, np.linalg.norm(sol["knee.force"], axis=1), label="force in the knee")
        right.plot(sol.t, sol["motor.drive_force"], label="torque of the motor")
        right.set(title="forces", xlabel="t")
        right.legend(frameon=False)
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    for kind, run in runs.items():
        force, work = np.linalg.norm(run["knee.force"], axis=1), run["motor.drive_force"]
        sizes = f"{len(run.model.names('p')):2} positions, {len(run.model.names('lam')):2} constraints"
        print(f"{kind:9} {sizes}: largest force {force.max():.6f}, torque from {work.min():.5f} to {work.max():.5f}")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
