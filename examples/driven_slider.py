"""A slider crank driven by a motor that is switched off: input, events, and other parameters without recompiling.

The crank `phi` (radius R, inertia J, damping d) drives a slider `x` (mass m) through a massless rod of length L. Every
reversal of the slider is an event; another one ends the run when the crank has become slow.

    python examples/driven_slider.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import dalembert as da
from dalembert.draw import Body, Dot, Link, Path, Pin

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt

OFF = 1.5  # s: the motor is switched off


def torque(t):
    return np.where(t < OFF, 4.0, 0.0)


crank = da.EquationsOfMotion(
    name="driven slider",
    p=["phi", "x"],
    lam=["rod"],
    parameters=dict(R=0.1, L=0.3, J=0.02, m=1.0, d=0.05),
    inputs={"torque": da.Input(torque, breakpoints=[OFF])},
    mass=lambda s: [s.J, s.m],
    force=lambda s: [s.torque - s.d * s.phi_dot, 0],
    holonomic=lambda s: [(s.x - s.R * np.cos(s.phi)) ** 2 + (s.R * np.sin(s.phi)) ** 2 - s.L**2],
    drawing=[
        Path([(0.12, -0.04), (0.48, -0.04)]),
        Body(("x", 0), da.Box((0.08, 0.06, 0.06))),
        Link((0, 0), lambda s: [s.R * np.cos(s.phi), s.R * np.sin(s.phi)]),
        Link(lambda s: [s.R * np.cos(s.phi), s.R * np.sin(s.phi)], ("x", 0)),
        Pin((0, 0)),
        Dot(lambda s: [s.R * np.cos(s.phi), s.R * np.sin(s.phi)], 0.012),
    ],
)
events = [
    da.Event(lambda s: s.x_dot, name="reversal"),
    da.Event(lambda s: s.phi_dot - 20.0, direction=-1, terminal=True, name="slow"),
]


def run(m: float = 1.0) -> da.Solution:
    """Simulate with another mass of the slider; the compiled model is used again."""
    return da.simulate(crank, (0, 10), p0=[0.0, 0.4], parameters={"m": m}, events=events, rtol=1e-8, atol=1e-8)


def draw(path) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (speed, force) = plt.subplots(1, 2, figsize=(10, 2.9), layout="constrained")
        for m, color in ((1.0, "C0"), (2.0, "C1"), (4.0, "C2")):
            sol = run(m)
            sol.plot("phi_dot", ax=speed)
            speed.lines[-1].set(color=color, label=f"m = {m:g} kg", linewidth=1)
            last = np.linspace(1.3, 1.7, 800)
            # the rod's force: the constraint is quadratic, its gradient has length 2 L
            force.plot(last, 2 * 0.3 * sol.at(last)["rod"], color=color, linewidth=1)
        speed.axvline(OFF, color="grey", linestyle=":")
        speed.set(xlabel="t [s]", ylabel="crank speed [rad/s]", title="motor off at t = 1.5 s, end at 20 rad/s")
        speed.legend(loc="upper right")
        force.axvline(OFF, color="grey", linestyle=":")
        force.set(xlabel="t [s]", ylabel="force [N]", title="force in the rod, from the multiplier")
        for ax in (speed, force):
            ax.grid(alpha=0.25)
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    for m in (1.0, 2.0, 4.0):
        sol = run(m)
        reversals = sol.events.named("reversal")
        print(f"m = {m:g}: {len(reversals)} reversals, {sol.status} at t = {sol.events.t[-1]:.6f} s")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
