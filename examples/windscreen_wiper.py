"""A windscreen wiper: the mechanism of the first ten minutes, from bodies and joints to an animation.

A motor turns a crank once a second, a rod moves the lower end of the wiper to and fro. The loop is closed by a
constraint that nobody has to write down.

    python examples/windscreen_wiper.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import dalembert as da

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt

mb = da.Multibody(planar=True, name="windscreen wiper")
crank = mb.body("crank", mass=0.1, inertia=2e-5, com=(0.02, 0))
rod = mb.body("rod", mass=0.2, inertia=1e-3, com=(0.125, 0))
blade = da.Line([(0, -0.08), (0, 0.45)])
wiper = mb.body("wiper", mass=0.4, inertia=8e-3, com=(0, 0.2), shape=blade, position=(0.25, 0.08))
mb.revolute("motor", mb.ground, crank, drive=lambda t: 2 * np.pi * t)
mb.revolute("pin", crank, rod, at=(0.04, 0))
mb.revolute("knee", rod, wiper, at=(0.25, 0), to=(0, -0.08))
mb.revolute("pivot", mb.ground, wiper, at=(0.25, 0.08))
mb.marker("tip", wiper, at=(0, 0.45))

sol = da.simulate(mb.equations(), (0, 2), rtol=1e-8, atol=1e-8)


def draw(path) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (angle, torque) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
        turn = sol.at(np.linspace(0, 1, 401))
        angle.plot(turn.t, np.degrees(turn["wiper.angle"]))
        angle.set(title="angle of the wiper [degrees]", xlabel="t [s]")
        torque.plot(turn.t, turn["motor.drive_force"])
        torque.set(title="torque of the motor [N m]", xlabel="t [s]")
        for ax in (angle, torque):
            ax.grid(alpha=0.25)
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    turn = sol.at(np.linspace(0, 1, 401))
    angle, torque = np.degrees(turn["wiper.angle"]), turn["motor.drive_force"]
    print(f"wipes from {angle.min():.2f} to {angle.max():.2f} degrees")
    print(f"the motor gives {torque.min():.3f} to {torque.max():.3f} N m")
    print(f"the tip is back after a turn to {np.abs(np.diff(turn['tip.position'][[0, -1]], axis=0)).max():.1e} m")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
