"""Forces and torques in joints: with weights and force elements they balance m a and the change of spin of bodies."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems
from dalembert.multibody.elements import Force, Spring
from dalembert.multibody.quantities import values_of
from dalembert.problems.bodies.problem import _bodies, _by_coordinate

GOOD = 1e-9  # of the largest force, or torque


def three(vectors, planar):
    """Vectors, or numbers about z, of a planar system with three components."""
    vectors = np.asarray(vectors, float)
    if not planar:
        return vectors
    if vectors.ndim == 1:
        return np.stack([0 * vectors, 0 * vectors, vectors], axis=-1)
    return np.concatenate([vectors, np.zeros((len(vectors), 1))], axis=1)


def imbalance(system, solution):
    """Largest faults of Newton's and of Euler's equation, relative to the largest force and torque of a joint."""
    planar = system.planar

    def of(name):
        return three(solution[name], planar)

    def rotation(body):
        R = np.asarray(solution[f"{body.name}.orientation"], float)
        if planar:
            full = np.tile(np.eye(3), (len(R), 1, 1))
            full[:, :2, :2] = R
            return full
        return R

    place, turned = {}, {}
    for body in system.bodies:
        turned[body.name] = rotation(body)
        place[body.name] = of(f"{body.name}.position")
    count = len(solution.t)
    turned["ground"], place["ground"] = np.tile(np.eye(3), (count, 1, 1)), np.zeros((count, 3))

    def point(frame):
        return place[frame.body.name] + turned[frame.body.name] @ np.array(values_of(frame.at))

    force = {body.name: np.zeros((count, 3)) for body in system.bodies} | {"ground": np.zeros((count, 3))}
    torque = {name: zero.copy() for name, zero in force.items()}  # about the origin of the world
    size, turning = 1e-300, 1e-300

    def act(name, at, f, n):
        force[name] += f
        torque[name] += n + np.cross(at, f)

    for joint in system.joints:
        f, n = of(f"{joint.name}.force"), of(f"{joint.name}.torque")
        at = point(joint.second)
        act(joint.second.body.name, at, f, n)
        act(joint.first.body.name, at, -f, -n)
        size, turning = max(size, np.abs(f).max()), max(turning, np.abs(n).max(), np.abs(np.cross(at, f)).max())
    for element in system.elements:
        if isinstance(element, Spring):
            a, b = point(element.first), point(element.second)
            pull = solution[f"{element.name}.force"][:, None] * (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
            act(element.first.body.name, a, pull, 0)
            act(element.second.body.name, b, -pull, 0)
        elif isinstance(element, Force):
            act(element.frame.body.name, point(element.frame), of(f"{element.name}.force"), 0)
    newton = euler = 0.0
    g = np.array(values_of(system.gravity))
    for body in system.bodies:
        R, m, com = turned[body.name], float(body.mass), np.array(values_of(body.com))
        w, dw = of(f"{body.name}.angular_velocity"), of(f"{body.name}.angular_acceleration")
        arm = R @ com
        a = of(f"{body.name}.acceleration") + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))
        centre = place[body.name] + arm
        xx, xy, xz, yy, yz, zz = values_of(body.inertia)
        J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ np.swapaxes(R, 1, 2)
        Jw, Jdw = np.einsum("tij,tj->ti", J, w), np.einsum("tij,tj->ti", J, dw)
        fault = force[body.name] + m * g - m * a
        newton = max(newton, np.abs(fault).max() / size)
        about_centre = torque[body.name] - np.cross(centre, force[body.name])
        spin = about_centre - Jdw - np.cross(w, Jw)
        if planar:
            spin, fault = spin[:, 2:], fault[:, :2]
        euler = max(euler, np.abs(spin).max() / turning)
    return newton, euler


LISTED = [
    ("andrews_from_bodies", {}),
    ("truck_from_bodies", {"t_end": 3.0}),
    ("six_axis_robot", {"t_end": 0.3}),
    ("six_axis_robot", {"drive": "motion"}),
    ("spatial_slider_crank", {}),
    ("spatial_slider_crank", {"drive": "none"}),
    ("stewart_platform", {"t_end": 0.3}),
    ("stewart_platform", {"drive": "springs", "t_end": 0.1}),
    ("chain_of_bodies", {}),
    ("chain_of_bodies", {"N": 5, "planar": False, "angle": 1.0}),
    ("four_bars_from_bodies", {"n": 3, "t_end": 0.6}),
]


@pytest.mark.parametrize("coordinates", ["joint", "absolute", "mixed"])
@pytest.mark.parametrize(("name", "options"), LISTED)
def test_reactions_of_listed_mechanisms_balance(name, options, coordinates):
    problem = getattr(problems, name)(coordinates=coordinates, **options)
    t = np.linspace(0, problem.t_end, 7)
    solution = problem.simulate(method=da.Hem5(), rtol=1e-7, atol=1e-7, t_eval=t)
    newton, euler = imbalance(problem.multibody, solution)
    assert newton < GOOD
    assert euler < GOOD


# -- random mechanisms -----------------------------------------------------------------------------------------------

KINDS = ("revolute", "prismatic", "universal", "cylindrical", "spherical")


def spatial_tree(random, n):
    """Bodies with random joints to a body before, which have random frames and start values."""
    mb = da.Multibody(gravity=tuple(random.normal(0, 5, 3)), name="random")
    bodies = [mb.ground]
    for k in range(n):
        moments = random.uniform(1.0, 1.8, 3) * random.uniform(0.05, 0.5)
        body = mb.body(f"body{k}", random.uniform(0.5, 3.0), tuple(moments), tuple(random.normal(0, 0.2, 3)))
        before = bodies[random.integers(max(0, len(bodies) - 3), len(bodies))]
        kind = KINDS[random.integers(len(KINDS))]
        options = {
            "at": tuple(random.normal(0, 0.5, 3)), "to": tuple(random.normal(0, 0.3, 3)),
            "rotation": tuple(random.normal(0, 1, 3)), "rotation_to": tuple(random.normal(0, 1, 3)),
        }  # fmt: skip
        if kind == "spherical":
            e = random.normal(0, 1, 4)
            options |= {"q0": tuple(e / np.linalg.norm(e)), "v0": (0.0, 0.0, 0.0)}
        else:
            freedoms = {"revolute": 1, "prismatic": 1}.get(kind, 2)
            options |= {"q0": tuple(random.normal(0, 0.7, freedoms)), "v0": (0.0,) * freedoms}
            if freedoms == 1:
                options |= {"damping": random.uniform(0, 0.5), "stiffness": random.uniform(1, 5)}
        # the tree runs through some joints from their second to their first body
        ends = (body, before) if random.random() < 0.3 and kind != "spherical" else (before, body)
        getattr(mb, kind)(f"joint{k}", *ends, **options)
        bodies.append(body)
    a, b = bodies[1], bodies[-1]
    mb.spring("spring", a.frame(at=(0.1, 0.2, 0.0)), b.frame(at=(0.0, 0.1, -0.1)), 20.0, damping=0.5, length=0.5)
    mb.spring(
        "anchor", b.frame(at=(0.0, -0.3, 0.2)), mb.ground.frame(at=(1.0, 1.0, 1.0)), 10.0, damping=0.5, length=0.3
    )
    mb.force("push", b.frame(at=(0.2, 0.0, 0.1)), (1.0, -2.0, 0.5))
    return mb


def close(mb, random):
    """A ball joint between the last body and the ground, where they are at the start."""
    q = {joint.name: joint.q0 for joint in mb.joints}
    v = {joint.name: joint.v0 for joint in mb.joints}
    found, _ = _bodies(mb, _by_coordinate(mb, q, "coordinates"), _by_coordinate(mb, v, "rates"))
    last = mb.bodies[-1]
    e = np.array([found[f"{last.name}.e{k}"] for k in range(4)])
    R = rotation_of(e)
    centre = np.array([found[f"{last.name}.com_{axis}"] for axis in "xyz"])
    at = random.normal(0, 0.3, 3)
    mb.spherical("closing", mb.ground, last, at=tuple(centre + R @ (at - np.array(last.com))), to=tuple(at), cut=True)


def rotation_of(e):
    w, x, y, z = e
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def simulated(mb, coordinates):
    from dalembert.problems.bodies.problem import problem_of

    problem = problem_of(mb, coordinates, title="random", t_end=0.3)
    t = np.linspace(0, 0.3, 4)
    return problem.simulate(method=da.Hem5(), rtol=1e-8, atol=1e-8, t_eval=t)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("closed", [False, True])
def test_reactions_of_random_mechanisms_balance(seed, closed):
    random = np.random.default_rng(100 + seed)
    mb = spatial_tree(random, 6)
    if closed:
        close(mb, random)
    ends = []
    for coordinates in ("joint", "absolute"):
        solution = simulated(mb, coordinates)
        newton, euler = imbalance(mb, solution)
        assert newton < GOOD
        assert euler < GOOD
        ends.append(np.concatenate([solution[f"{body.name}.position"][-1] for body in mb.bodies]))
    assert np.abs(ends[0] - ends[1]).max() < 1e-5


def test_the_balance_notices_a_missing_force():
    mb = spatial_tree(np.random.default_rng(100), 3)
    solution = simulated(mb, "joint")
    mb.elements.pop()
    assert imbalance(mb, solution)[0] > 1e-3
