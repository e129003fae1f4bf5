"""Random planar mechanisms: bodies on pin joints, springs and dampers, a motor with dynamics of its own, an input."""

import numpy as np

import dalembert as da


def random_mechanism(seed, length=1.0, mass=1.0, time=1.0, hardness=1.0):
    """A model and start values: a tree of bodies, every joint two constraints, at most one closed loop.

    Length, mass and time are how many of the user's units make one of ours: the same mechanism in other units. Of every
    second joint spring and damper are stronger by the factor `hardness`.
    """
    unit_length, unit_mass, unit_time = length, mass, time
    unit_moment = unit_mass * unit_length**2 / unit_time**2
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    father = [int(rng.integers(-1, i)) if i else -1 for i in range(n)]
    ahead, behind = rng.uniform(0.3, 1.0, (n, 2)), rng.uniform(-1.0, -0.3, (n, 2))  # joints in the bodies' frames
    angle = rng.uniform(-1.5, 1.5, n)
    mass, inertia = rng.uniform(0.5, 2.0, n), rng.uniform(0.05, 0.3, n)
    stiffness, damping = rng.uniform(0.0, 20.0, n), rng.uniform(0.0, 0.5, n)
    with_motor, with_input = rng.random() < 0.5, rng.random() < 0.5
    loop = n > 2 and rng.random() < 0.4
    omega = rng.uniform(1.0, 5.0) / unit_time
    ahead, behind = ahead * unit_length, behind * unit_length
    mass, inertia = mass * unit_mass, inertia * (unit_mass * unit_length**2)
    stiffness[::2] *= hardness
    damping[::2] *= hardness
    stiffness, damping = stiffness * unit_moment, damping * (unit_moment * unit_time)
    gravity = 9.81 * (unit_length / unit_time**2)

    def at(x, y, phi, point):
        c, s = np.cos(phi), np.sin(phi)
        return x + c * point[0] - s * point[1], y + s * point[0] + c * point[1]

    position = np.zeros((n, 3))
    for i in range(n):
        where = (0.0, 0.0) if father[i] < 0 else at(*position[father[i]], ahead[father[i]])
        arm = at(0.0, 0.0, angle[i], behind[i])
        position[i] = where[0] - arm[0], where[1] - arm[1], angle[i]
    end = at(*position[-1], ahead[-1])  # a rod of fixed length from the last body to the ground closes the loop
    anchor = np.array(end) + rng.uniform(0.5, 1.0, 2) * unit_length
    length = float(np.hypot(*(anchor - end)))

    def holonomic(s):
        rows = []
        for i in range(n):
            x, y = at(*s.p[3 * i : 3 * i + 3], behind[i])
            k = father[i]
            ground = (0.0, 0.0) if k < 0 else at(*s.p[3 * k : 3 * k + 3], ahead[k])
            rows += [x - ground[0], y - ground[1]]
        if loop:
            x, y = at(*s.p[-3:], ahead[-1])
            rows.append((x - anchor[0]) ** 2 + (y - anchor[1]) ** 2 - length**2)
        return rows

    def force(s):
        rows = []
        for i in range(n):
            k = father[i]
            turn = s.p[3 * i + 2] - (s.p[3 * k + 2] if k >= 0 else 0.0)
            rate = s.v[3 * i + 2] - (s.v[3 * k + 2] if k >= 0 else 0.0)
            rest = angle[i] - (angle[k] if k >= 0 else 0.0)
            moment = -stiffness[i] * (turn - rest) - damping[i] * rate
            if i == 0 and with_motor:
                moment = moment + s.torque
            if i == n - 1 and with_input:
                moment = moment + 3.0 * unit_moment * s.push
            rows += [0.0, -gravity * mass[i], moment]
            if k >= 0:
                rows[3 * k + 2] = rows[3 * k + 2] - moment
        return rows

    model = da.EquationsOfMotion(
        p=[f"{name}{i}" for i in range(n) for name in ("x", "y", "phi")],
        r=["torque"] if with_motor else [],
        inputs={"push": lambda t: np.sin(omega * t)} if with_input else {},
        mass=np.column_stack([mass, mass, inertia]).ravel(), force=force, holonomic=holonomic,
        dynamics=(lambda s: [4.0 * ((1.0 / unit_time - s.phi0_dot) * unit_moment) - 2.0 / unit_time * s.torque])
        if with_motor else None,
    )  # fmt: skip
    return model, {"p0": position.ravel()} | ({"r0": [0.5 * unit_moment]} if with_motor else {})
