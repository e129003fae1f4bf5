"""Theo Jansen's legs: eleven rods a leg, loops within loops, two legs on one crank.

Every leg has four loops. Only the lengths of the rods are given; where the bodies are at the start is found from these,
and the loops are closed by the assembly. The feet draw the curve that walks.

    python examples/walking_legs.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import dalembert as da

matplotlib.use("Agg")  # draw to files only
import matplotlib.pyplot as plt

# lengths, in Jansen's units; a and l place the pivot, m is the crank
a, b, c, d, e, f, g, h, i, j, k, l, m = 38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49.0, 50.0, 61.9, 7.8, 15.0
CENTRE, PIVOT = np.array([0.0, 0.0]), np.array([-a, -l])
SPEED = np.pi  # half a turn a second


def corner(first, second, from_first, from_second):
    """The point at these distances of two points, to the left of the way from one to the other."""
    first, second = np.asarray(first), np.asarray(second)
    way = second - first
    length = np.hypot(*way)
    along = (from_first**2 - from_second**2 + length**2) / (2 * length)
    side = np.sqrt(from_first**2 - along**2)
    return first + along * way / length + side * np.array([-way[1], way[0]]) / length


def rod(mb, name, first, second):
    """A thin bar between two points."""
    length, (x, y) = np.hypot(*(second - first)), second - first
    return mb.body(
        name, mass=0.01 * length, inertia=0.01 * length**3 / 12, com=(length / 2, 0),
        shape=da.Line([(0, 0), (length, 0)]), position=first, orientation=np.arctan2(y, x),
    )  # fmt: skip


def plate(mb, name, origin, *others):
    """A triangle, with its frame at the first corner and axes of the world at the start."""
    points = [np.zeros(2), *(np.asarray(other) - origin for other in others)]
    return mb.body(name, mass=1.0, inertia=500.0, com=np.mean(points, axis=0),
                   shape=da.Line([*points, points[0]]), position=origin, orientation=0.0)  # fmt: skip


def leg(mb, crank, number, phase):
    """One leg on a pin of the crank."""
    name = f"leg{number}"
    pin = m * np.array([np.cos(phase), np.sin(phase)])
    top = corner(PIVOT, pin, b, j)  # of the upper triangle
    back = corner(PIVOT, top, d, e)
    low = corner(pin, PIVOT, k, c)
    heel = corner(low, back, g, f)
    foot = corner(low, heel, i, h)
    upper, lower = plate(mb, f"{name}_upper", PIVOT, top, back), plate(mb, f"{name}_lower", low, heel, foot)
    push, pull = rod(mb, f"{name}_push", pin, top), rod(mb, f"{name}_pull", pin, low)
    swing, link = rod(mb, f"{name}_swing", PIVOT, low), rod(mb, f"{name}_link", back, heel)
    mb.revolute(f"{name}_hip", mb.ground, upper, at=PIVOT)
    mb.revolute(f"{name}_hip2", mb.ground, swing, at=PIVOT)
    mb.revolute(f"{name}_pin", crank, push, at=pin)
    mb.revolute(f"{name}_pin2", crank, pull, at=pin)
    mb.revolute(f"{name}_top", push, upper, at=(j, 0), to=top - PIVOT)
    mb.revolute(f"{name}_knee", pull, swing, at=(k, 0), to=(c, 0))
    mb.revolute(f"{name}_knee2", swing, lower, at=(c, 0))
    mb.revolute(f"{name}_back", upper, link, at=back - PIVOT)
    mb.revolute(f"{name}_heel", link, lower, at=(f, 0), to=heel - low)
    mb.marker(f"foot{number}", lower, at=foot - low)


mb = da.Multibody(planar=True, name="walking legs", gravity=(0, -981.0))
disc = [(m * np.cos(turn), m * np.sin(turn)) for turn in np.linspace(0, 2 * np.pi, 37)]
crank = mb.body("crank", mass=2.0, inertia=300.0, shape=da.Line(disc))
mb.revolute("motor", mb.ground, crank, drive=lambda t: -SPEED * t)
for number, phase in enumerate((0.0, np.pi)):
    leg(mb, crank, number, phase)

model = mb.equations()
sol = da.simulate(model, (0, 4), rtol=1e-7, atol=1e-7)


def draw(path) -> None:
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        turn = sol.at(np.linspace(0, 2, 801))
        left.plot(*turn["foot0.position"].T, color="C3")
        left.set(title="the curve of a foot", aspect="equal", xlabel="x", ylabel="y")
        for number in (0, 1):
            right.plot(turn.t, turn[f"foot{number}.position"][:, 1], label=f"foot {number + 1}")
        right.set(title="height of the feet", xlabel="t [s]")
        right.legend(frameon=False)
        for ax in (left, right):
            ax.grid(alpha=0.25)
        figure.savefig(path, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    print(model)
    feet = sol.at(np.linspace(0, 2, 801))["foot0.position"]
    low = feet[:, 1] < feet[:, 1].min() + 2.0
    print(f"a step is {np.ptp(feet[:, 0]):.1f} long and {np.ptp(feet[:, 1]):.1f} high")
    print(f"for {100 * low.mean():.0f} % of the time the foot is within 2 of its lowest point")
    print(f"constraints hold to {sol.max_residual('position'):.0e}")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
