"""Mechanisms for tests, and their geometry by other means."""

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as da


def four_bar(crank, coupler, rocker, ground, *, spatial=False, guess=None):
    """Crank at the origin, rocker at (ground, 0); the coupler's far end is pinned to the rocker's."""
    mb = da.Multibody(planar=not spatial, gravity=(0, -9.81, 0) if spatial else None)

    def at(x):
        return (x, 0, 0) if spatial else (x, 0)

    lengths = {"crank": crank, "coupler": coupler, "rocker": rocker}
    bodies = {
        name: mb.body(name, mass=1.0, inertia=(0.01, 0.1, 0.1) if spatial else 0.1, com=at(length / 2),
                      **(guess or {}).get(name, {}))
        for name, length in lengths.items()
    }  # fmt: skip
    mb.revolute("motor", mb.ground, bodies["crank"])
    mb.revolute("elbow", bodies["crank"], bodies["coupler"], at=at(crank))
    mb.revolute("base", mb.ground, bodies["rocker"], at=at(ground))
    mb.revolute("pin", bodies["coupler"], bodies["rocker"], at=at(coupler), to=at(rocker))
    return mb


def circles(a, ra, b, rb):
    """Both points at distance ra from a and rb from b."""
    a, b = np.array(a, float), np.array(b, float)
    d = np.linalg.norm(b - a)
    along = (d**2 + ra**2 - rb**2) / (2 * d)
    across = np.sqrt(ra**2 - along**2)
    u = (b - a) / d
    n = np.array([-u[1], u[0]])
    return a + along * u + across * n, a + along * u - across * n


def point_of(assembly, body, at):
    """A point of a body in the world."""
    position, R = assembly[f"{body}.position"], assembly[f"{body}.orientation"]
    return position + (R @ np.array([*at, 0.0])[:3])[: len(position)]


def stewart(*, base=1.0, top=0.6, drive=None):
    """A platform on six legs: universal joint, slider, ball."""
    mb = da.Multibody(name="stewart")
    platform = mb.body("platform", mass=10.0, inertia=(1.0, 1.0, 2.0))
    feet = [base * np.array([np.cos(x), np.sin(x), 0]) for x in np.repeat(np.arange(3) * 2.1, 2) + [0, 0.4] * 3]
    hips = [top * np.array([np.cos(x), np.sin(x), 0]) for x in np.repeat(np.arange(3) * 2.1, 2) + [-0.3, 0.7] * 3]
    for k, (foot, hip) in enumerate(zip(feet, hips, strict=True)):
        lower = mb.body(f"lower{k}", mass=1.0, inertia=(0.1, 0.1, 0.01), position=foot)
        upper = mb.body(f"upper{k}", mass=1.0, inertia=(0.1, 0.1, 0.01), position=0.5 * (foot + hip) + [0, 0, 0.5])
        mb.universal(f"foot{k}", mb.ground, lower, axis="x", second_axis="y", at=foot)
        mb.prismatic(f"leg{k}", lower, upper, axis="z")
        mb.spherical(f"hip{k}", upper, platform, to=hip)
    return mb, feet, hips


def random_loop(rng, kinds):
    """A closed chain of joints that is closed at random coordinates, which are returned with the system.

    Every joint has a random frame on its first body; the last one is placed where the chain ends up.
    """
    mb = da.Multibody()
    place, turned = np.zeros(3), Rotation.identity()  # of the current body, in the world
    before, values = mb.ground, {}
    for k, kind in enumerate(kinds):
        at, axes = rng.uniform(-1, 1, 3), Rotation.random(random_state=int(rng.integers(1 << 30)))
        last = k == len(kinds) - 1
        q = rng.uniform(-1.2, 1.2, {"universal": 2, "cylindrical": 2, "spherical": 3}.get(kind, 1))
        move, shift = motion(kind, q)
        place, turned = place + turned.apply(at + axes.apply(shift)), turned * axes * move
        if last:  # its frame on the ground
            getattr(mb, kind)(f"j{k}", before, mb.ground, at=at, rotation=axes.as_matrix(), to=place,
                              rotation_to=turned.as_matrix())  # fmt: skip
        else:
            body = mb.body(f"b{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
            getattr(mb, kind)(f"j{k}", before, body, at=at, rotation=axes.as_matrix())
            before = body
        values[f"j{k}"] = (kind, q)
    return mb, values


def motion(kind, q):
    """Rotation and shift of a joint at its coordinates, in its frame."""
    z = np.array([0.0, 0.0, 1.0])
    if kind == "revolute":
        return Rotation.from_rotvec(q[0] * z), np.zeros(3)
    if kind == "prismatic":
        return Rotation.identity(), q[0] * z
    if kind == "cylindrical":
        return Rotation.from_rotvec(q[1] * z), q[0] * z
    if kind == "universal":
        return Rotation.from_rotvec(q[0] * z) * Rotation.from_rotvec(q[1] * np.array([1.0, 0.0, 0.0])), np.zeros(3)
    return Rotation.from_rotvec(q), np.zeros(3)  # spherical


def coordinates(kind, name, q):
    """Coordinates by name."""
    parts = {"revolute": ["angle"], "prismatic": ["distance"], "cylindrical": ["distance", "angle"],
             "universal": ["angle1", "angle2"]}  # fmt: skip
    if kind == "spherical":
        x, y, z, w = Rotation.from_rotvec(q).as_quat()
        return {f"{name}.e{k}": value for k, value in enumerate((w, x, y, z))}
    return {f"{name}.{part}": value for part, value in zip(parts[kind], q, strict=True)}


def bricard():
    """Six links in a ring, IFToMM A04: places and axes of the joints as in `da.problems.bricard`."""
    mb = da.Multibody(gravity=(0, -9.81, 0), name="bricard")
    places = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    axes = "yzxyzx"
    thin, long = 0.1**2 / 6, (1 + 0.1**2) / 12
    before, origin = mb.ground, np.zeros(3)
    for k in range(5):
        rod = places[k + 1] - places[k]
        inertia = np.where(rod == 0, long, thin)
        body = mb.body(f"rod{k + 1}", mass=1.0, inertia=inertia, com=rod / 2)
        mb.revolute(f"j{k + 1}", before, body, axis=axes[k], at=places[k] - origin)
        before, origin = body, places[k]
    mb.revolute("j6", before, mb.ground, axis=axes[5], at=places[5] - places[4], to=places[5], cut=True)
    return mb


def parallelogram(*, cranks=3, offset=0.0):
    """Equal cranks on one coupler; with an offset the pins are not in one line."""
    mb = da.Multibody(planar=True, name="parallelogram")
    coupler = mb.body("coupler", mass=2.0, inertia=0.5, com=(1.0, 0))
    for k in range(cranks):
        at = (float(k), offset * (k % 2))
        crank = mb.body(f"crank{k}", mass=1.0, inertia=0.1, com=(0.5, 0))
        mb.revolute(f"base{k}", mb.ground, crank, at=at)
        mb.revolute(f"pin{k}", crank, coupler, at=(1.0, 0), to=at)
    return mb


def door(*, hinges=2):
    """A leaf on hinges in one line."""
    mb = da.Multibody(name="door")
    leaf = mb.body("leaf", mass=20.0, inertia=(6.7, 8.2, 1.6), com=(0.5, 0.1, 1.0))
    for k in range(hinges):
        at = (0, 0, 0.3 + 0.7 * k)
        mb.revolute(f"hinge{k}", mb.ground, leaf, at=at, to=at)
    return mb
