"""Static equilibrium, inverse dynamics and linearization, against closed forms and other ways to compute them."""

import numpy as np
import pytest
from linkages import bricard, four_bar, stewart
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize

import dalembert as da
from dalembert.errors import ModelError, NoEquilibrium, OptionError

# -- equilibrium ---------------------------------------------------------------------------------------------------


def chain(links, span, length):
    """A chain of equal links whose ends are fixed in one height."""
    mb = da.Multibody(planar=True, name="chain")
    before, at = mb.ground, (0.0, 0.0)
    for k in range(links):
        body = mb.body(
            f"b{k}", mass=1.0 / links, inertia=(length / links) ** 2 / 12 / links, com=(length / links / 2, 0)
        )
        mb.revolute(f"j{k}", before, body, at=at)
        before, at = body, (length / links, 0)
    mb.revolute("end", before, mb.ground, at=at, to=(span, 0))
    return mb


def test_chains_hang_in_a_catenary():
    sags = []
    for links in (10, 40):
        rest = chain(links, 1.0, 1.5).equilibrium()
        assert rest.stability == "stable"
        assert rest.residual < 1e-10
        sags.append(-min(rest[f"b{k}.position"][1] for k in range(links)))
        # symmetric, and the horizontal force is the same everywhere: moments about every joint balance
        heights = [rest[f"b{k}.position"][1] for k in range(1, links)]
        assert heights == pytest.approx(heights[::-1], abs=1e-9)
    a = brentq(lambda a: 2 * a * np.sinh(0.5 / a) - 1.5, 0.05, 10)
    sag = a * (np.cosh(0.5 / a) - 1)
    assert sags[1] == pytest.approx(sag, abs=2e-3)
    assert abs(sags[1] - sag) < abs(sags[0] - sag) / 8  # of second order in the length of a link


def test_networks_of_springs_have_least_energy():
    rng = np.random.default_rng(3)
    mb = da.Multibody(planar=True, gravity=(0, -2.0))
    masses, anchors = rng.uniform(0.5, 2, 4), rng.uniform(-2, 2, (4, 2)) + np.array([0, 4])
    bodies = [mb.body(f"b{k}", mass=masses[k], inertia=0.1, position=rng.uniform(-1, 1, 2)) for k in range(4)]
    for k in range(4):
        mb.spring(f"up{k}", mb.ground.frame(at=anchors[k]), bodies[k], 10.0 + k, length=0.5)
        mb.spring(f"side{k}", bodies[k], bodies[(k + 1) % 4], 4.0, length=0.3)
        mb.bushing(f"turn{k}", mb.ground, bodies[k], (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

    def energy(x):
        x = x.reshape(4, 2)
        up = [0.5 * (10.0 + k) * (np.linalg.norm(x[k] - anchors[k]) - 0.5) ** 2 for k in range(4)]
        side = [0.5 * 4.0 * (np.linalg.norm(x[k] - x[(k + 1) % 4]) - 0.3) ** 2 for k in range(4)]
        return sum(up) + sum(side) + 2.0 * masses @ x[:, 1]

    rest = mb.equilibrium(stable=True)
    found = np.array([rest[f"b{k}.com"] for k in range(4)])
    best = minimize(energy, found.ravel(), tol=1e-12)
    assert best.x == pytest.approx(found.ravel(), abs=1e-5)
    assert rest.stable


def double_pendulum(**options):
    mb = da.Multibody(planar=True)
    upper = mb.body("upper", mass=1.0, inertia=0.0, com=(0, -1))
    lower = mb.body("lower", mass=2.0, inertia=0.0, com=(0, -0.5))
    mb.revolute("shoulder", mb.ground, upper, **options)
    mb.revolute("elbow", upper, lower, at=(0, -1))
    return mb


def test_stable_and_unstable_positions():
    mb = double_pendulum()
    assert mb.equilibrium().stability == "stable"
    up = mb.equilibrium(guess={"shoulder.angle": 3.1, "elbow.angle": 0.05}, stable=False)
    assert up["shoulder.angle"] == pytest.approx(np.pi)
    assert up.stability == "unstable"
    found = mb.equilibrium(guess={"shoulder.angle": 3.1, "elbow.angle": 0.05})
    assert found.stability == "stable"
    assert found["lower.com"] == pytest.approx([0, -1.5], abs=1e-9)


def test_what_holds_an_arm():
    mb = double_pendulum()
    rest = mb.equilibrium(known={"shoulder.angle": 0.7})
    assert rest["elbow.angle"] == pytest.approx(-0.7)
    assert rest.holding["shoulder.angle"] == pytest.approx(9.81 * 3.0 * np.sin(0.7))
    held = mb.equilibrium(known={"lower.com": (1.0, -0.3)})  # a point, by two equations
    assert held["lower.com"] == pytest.approx([1.0, -0.3], abs=1e-12)
    # a slider-crank with its slider held: virtual work
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    rest = mb.equilibrium(known={"motor.angle": 1.0})
    h = 1e-5

    def potential(angle):
        at = mb.assemble(
            {"motor.angle": angle, "pin.angle": rest["pin.angle"]} if angle == 1.0 else {"motor.angle": angle}
        )
        return 9.81 * sum(at[f"{b}.com"][1] for b in ("crank", "coupler", "rocker"))

    slope = (potential(1.0 + h) - potential(1.0 - h)) / (2 * h)
    assert rest.holding["motor.angle"] == pytest.approx(slope, rel=1e-6)


def test_bodies_on_bushings_and_balls():
    mb = da.Multibody()
    block = mb.body("block", mass=2.0, inertia=(0.1, 0.2, 0.25), position=(0.3, 0.2, 0.5), orientation=(0.4, -0.9, 1.0))
    mb.bushing("mount", mb.ground, block, stiffness=(100.0, 200.0, 400.0), rotational=5.0)
    rest = mb.equilibrium()
    assert rest["block.position"] == pytest.approx([0, 0, -2 * 9.81 / 400], abs=1e-9)
    assert rest["block.orientation"] == pytest.approx(np.eye(3), abs=1e-9)
    assert rest.stable
    mb = da.Multibody()
    bob = mb.body("bob", mass=2.0, inertia=(0.1, 0.2, 0.25), com=(1.0, 0, 0))
    mb.spherical("ball", mb.ground, bob)
    rest = mb.equilibrium(stable=True)
    assert rest["bob.com"] == pytest.approx([0, 0, -1], abs=1e-9)
    assert rest.stability == "neutral"  # it may turn about the vertical
    assert np.linalg.norm(rest.p) == pytest.approx(1.0, abs=1e-14)


def test_states_of_motors_are_found_too():
    mb = da.Multibody(planar=True)
    arm = mb.body("arm", mass=1.0, inertia=0.1, com=(0, -1))
    mb.revolute("joint", mb.ground, arm)
    mb.actuator("motor", "joint", 9.81 / 2, time_constant=0.3)
    rest = mb.equilibrium()
    assert rest.r == pytest.approx([9.81 / 2])
    assert rest["joint.angle"] == pytest.approx(np.pi / 6)
    solution = da.simulate(mb.equations(), (0, 1.0), **rest.start, rtol=1e-9, atol=1e-9)
    assert solution["joint.angle"] == pytest.approx(np.full(len(solution.t), np.pi / 6), abs=1e-8)


def test_what_falls_has_no_equilibrium():
    mb = da.Multibody()
    mb.body("stone", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(NoEquilibrium, match=r"force on 'stone.com_z' is out of balance"):
        mb.equilibrium()


def test_spatial_loops_in_equilibrium():
    """Redundant constraints and all: the planar mechanism and the one in space come to rest in the same place."""
    flat, space = four_bar(1.0, 3.0, 2.5, 3.0), four_bar(1.0, 3.0, 2.5, 3.0, spatial=True)
    one, two = (mb.equilibrium(guess={"motor.angle": -1.0}) for mb in (flat, space))
    assert one.stable
    assert two.stable
    assert two["rocker.com"][:2] == pytest.approx(one["rocker.com"], abs=1e-8)
    frequencies = [rest.linearization.modes[0].frequency for rest in (one, two)]
    assert frequencies[0] == pytest.approx(frequencies[1], rel=1e-7)


# -- inverse dynamics ----------------------------------------------------------------------------------------------


def test_two_links_by_the_textbook():
    m1, m2, l1, r1, r2, J1, J2, g = 1.3, 0.8, 1.1, 0.5, 0.4, 0.07, 0.05, 9.81
    mb = da.Multibody(planar=True)
    one, two = mb.body("one", m1, J1, com=(r1, 0)), mb.body("two", m2, J2, com=(r2, 0))
    mb.revolute("a", mb.ground, one)
    mb.revolute("b", one, two, at=(l1, 0))
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-2, 2, (3, 50, 2))
    c2, s2 = np.cos(q[:, 1]), np.sin(q[:, 1])
    m11 = J1 + J2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * l1 * r2 * c2)
    m12 = J2 + m2 * (r2**2 + l1 * r2 * c2)
    m22 = J2 + m2 * r2**2
    h = m2 * l1 * r2 * s2
    g2 = m2 * r2 * g * np.cos(q.sum(1))
    wanted = np.stack([
        m11 * a[:, 0] + m12 * a[:, 1] - h * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2)
        + (m1 * r1 + m2 * l1) * g * np.cos(q[:, 0]) + g2,
        m12 * a[:, 0] + m22 * a[:, 1] + h * v[:, 0] ** 2 + g2,
    ], axis=1)  # fmt: skip
    forces = mb.inverse_dynamics(q, v, a)
    assert forces.values == pytest.approx(wanted, abs=1e-12)
    assert forces["b"] == pytest.approx(wanted[:, 1], abs=1e-12)
    by_name = mb.inverse_dynamics(
        {"a.angle": q[3, 0], "b.angle": q[3, 1]}, {"a.angle_dot": v[3, 0], "b.angle_dot": v[3, 1]}, a[3]
    )
    assert by_name.values == pytest.approx(wanted[3], abs=1e-12)


def test_forces_of_a_driven_mechanism():
    """What the drive of a simulated mechanism exerts is what inverse dynamics asks of its motor."""
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    mb.spring("spring", mb.ground, mb.bodies[1], 7.0, damping=0.4, length=0.5)
    mb.joints[0].drive = "motor.drive"
    mb.inputs["motor.drive"] = lambda t: 1.0 + np.sin(2 * t)
    solution = da.simulate(mb.equations(known={"motor.angle": 1.0}), (0, 1), rtol=1e-10, atol=1e-10)
    t = np.linspace(0.1, 0.9, 9)
    states = [solution.at(x) for x in t]
    q, v = np.array([s.p for s in states]), np.array([s.v for s in states])
    a = np.array([(solution.at(x + 1e-4).v - solution.at(x - 1e-4).v) / 2e-4 for x in t])
    plain = four_bar(1.0, 3.0, 2.5, 3.0)
    plain.spring("spring", plain.ground, plain.bodies[1], 7.0, damping=0.4, length=0.5)
    forces = plain.inverse_dynamics(q, v, a, actuators=["motor"])
    assert forces["motor"] == pytest.approx([s["motor.drive_force"] for s in states], abs=1e-5)
    assert forces.residual < 1e-9


def test_power_of_platform_legs():
    """Σ f ṡ of the legs is the rate of the energy; rates of energy by differences."""
    mb, _, _ = stewart()
    lengths = [f"leg{k}" for k in range(6)]
    h = 1e-4

    def pose(t):
        return {"platform.position": (0.1 * np.sin(t), 0.05 * t, 1.0 + 0.1 * np.cos(t)),
                "platform.orientation": (0.1 * t, 0.2 * np.sin(t), 0.1)}  # fmt: skip

    first = mb.assemble(pose(0.3))
    track = [first]
    for k in (-2, -1, 1, 2):  # near the first one, along the motion
        track.append(mb.assemble(pose(0.3 + k * h)))
    before2, before, after, after2 = track[1:]
    assert max(np.abs(x.p - first.p).max() for x in track) < 1e-2
    from dalembert.multibody.mechanics import Mechanics

    bones = Mechanics(mb).bones
    assert bones.names == first.names
    v = velocity(bones, before.p, after.p, first.p, 2 * h)
    v_before, v_after = (
        velocity(bones, before2.p, first.p, before.p, 2 * h),
        velocity(bones, first.p, after2.p, after.p, 2 * h),
    )
    a = (v_after - v_before) / (2 * h)
    forces = mb.inverse_dynamics(first.p, v, a, actuators=lengths)
    power = sum(forces[leg] * v[bones.rates.index(f"{leg}.distance_dot")] for leg in lengths)

    def energy(assembly, v):
        from dalembert.multibody.poses import Poses

        poses = Poses(bones, assembly.p, v)
        total = 0.0
        for body in mb.bodies:
            at = poses.motion(body)
            w = np.array(at.R).T @ at.w
            J = np.array([body.inertia[0], body.inertia[3], body.inertia[5]])
            total += 0.5 * body.mass * np.dot(at.v, at.v) + 0.5 * w @ (J * w) + 9.81 * body.mass * at.x[2]
        return total

    assert power == pytest.approx((energy(after, v_after) - energy(before, v_before)) / (2 * h), rel=1e-4)


def velocity(bones, p0, p1, p, dt):
    """Velocities from positions of a step, at its middle."""
    rate = (p1 - p0) / dt
    from dalembert.multibody.kinds import Move

    v = np.zeros(bones.n_v)
    for i in range(bones.n):
        q, k = int(bones.q_at[i]), int(bones.v_at[i])
        if bones.move[i] == Move.SPHERICAL:
            e, d = p[q : q + 4], rate[q : q + 4]
            B = np.array([[-e[1], e[0], e[3], -e[2]], [-e[2], -e[3], e[0], e[1]], [-e[3], e[2], -e[1], e[0]]])
            v[k : k + 3] = 2 * B @ d
        else:
            v[k] = rate[q]
    return v


def test_least_forces_of_redundant_actuators():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    at = mb.assemble({"motor.angle": 1.0})
    zero = np.zeros(3)
    one = mb.inverse_dynamics(at.p, zero, zero, actuators=["motor"])["motor"]
    both = mb.inverse_dynamics(at.p, zero, zero, actuators=["motor", "base"])
    rate = mb.assemble({"motor.angle": 1.0, "motor.speed": 1.0})["base.speed"]
    if not np.allclose(mb.assemble({"motor.angle": 1.0, "motor.speed": 1.0}).p, at.p):
        pytest.fail("the same position is needed")
    assert both["motor"] + rate * both["base"] == pytest.approx(one)  # the same power
    assert both["base"] / both["motor"] == pytest.approx(rate)  # and the shortest vector of that power
    cut = mb.inverse_dynamics(at.p, zero, zero, actuators=["pin"])["pin"]
    pin = mb.assemble({"motor.angle": 1.0, "motor.speed": 1.0})["pin.angle_dot"]
    assert cut * pin == pytest.approx(one)


def test_faulty_motions_are_refused():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    at = mb.assemble({"motor.angle": 1.0})
    zero = np.zeros(3)
    with pytest.raises(ModelError, match="positions violate the constraints of 'pin'"):
        mb.inverse_dynamics(at.p + 0.1, zero, zero)
    with pytest.raises(ModelError, match="velocities violate"):
        mb.inverse_dynamics(at.p, np.array([1.0, 0, 0]), zero)
    with pytest.raises(ModelError, match="cannot cause this motion"):
        double_pendulum().inverse_dynamics([0.3, 0.1], [0, 0], [0, 0], actuators=["shoulder"])
    with pytest.raises(OptionError, match="3 finite components"):
        mb.inverse_dynamics([0.0], zero, zero)
    with pytest.raises(OptionError, match="points in time"):
        mb.inverse_dynamics(np.zeros((4, 3)), np.zeros((5, 3)), zero)
    with pytest.raises(ModelError, match="no joint 'moter'"):
        mb.inverse_dynamics(at.p, zero, zero, actuators=["moter"])
    with pytest.raises(OptionError, match="is missing"):
        mb.inverse_dynamics({"motor.angle": 1.0}, zero, zero)
    with pytest.raises(KeyError, match="motor"):
        mb.inverse_dynamics(at.p, zero, zero)["moter"]


# -- linearization -------------------------------------------------------------------------------------------------


def test_frequencies_of_a_double_pendulum():
    m1, m2, l1, l2, g = 1.0, 2.0, 1.0, 0.5, 9.81
    M = np.array([[(m1 + m2) * l1**2, m2 * l1 * l2], [m2 * l1 * l2, m2 * l2**2]])
    K = np.diag([(m1 + m2) * g * l1, m2 * g * l2])
    values, vectors = eigh(K, M)
    modes = double_pendulum().linearize().modes
    assert [mode.frequency for mode in modes] == pytest.approx(np.sqrt(values) / (2 * np.pi))
    for mode, vector in zip(modes, vectors.T, strict=True):  # angles against the vertical
        ratio = mode.shape["elbow.angle"] / mode.shape["shoulder.angle"]
        assert ratio == pytest.approx(vector[1] / vector[0] - 1)
        assert mode.damping == pytest.approx(0.0, abs=1e-9)


def test_damped_oscillator_as_a_transfer_function():
    m, k, d = 2.0, 50.0, 3.0
    mb = da.Multibody(planar=True, gravity=(0, 0))
    block = mb.body("block", mass=m, inertia=1.0)
    mb.prismatic("slide", mb.ground, block, stiffness=k, damping=d)
    mb.input("push", 0.0)
    mb.force("pull", block, force=lambda s: [s.push, 2 * s.push])
    linear = mb.linearize(outputs=["slide.distance", "block.velocity", "block.acceleration", "slide.force"])
    assert linear.inputs == ("push",)
    assert linear.outputs[:3] == ("slide.distance", "block.velocity[0]", "block.velocity[1]")
    s = 1.0 + 2.0j
    H = (linear.C @ np.linalg.solve(s * np.eye(2) - linear.A, linear.B) + linear.D)[:, 0]
    x = 1 / (m * s**2 + d * s + k)
    row = dict(zip(linear.outputs, H, strict=True))
    assert row["slide.distance"] == pytest.approx(x)
    assert row["block.velocity[0]"] == pytest.approx(s * x)
    assert row["block.acceleration[0]"] == pytest.approx(s**2 * x)
    assert row["slide.force[1]"] == pytest.approx(-2.0)
    (mode,) = linear.modes
    assert mode.frequency == pytest.approx(np.sqrt(k / m) / (2 * np.pi))
    assert mode.damping == pytest.approx(d / (2 * np.sqrt(k * m)))
    pushed = mb.linearize(inputs=["slide", "push"])
    assert pushed.B[:, 0] == pytest.approx(pushed.B[:, 1])
    assert pushed.inputs == ("push", "slide")


def test_six_freedoms_of_a_mounted_body():
    mb = da.Multibody()
    block = mb.body("block", mass=2.0, inertia=(0.1, 0.2, 0.25), orientation=(0.3, 0.2, 0.1))
    mb.bushing("mount", mb.ground, block, stiffness=(100.0, 200.0, 400.0), rotational=5.0)
    rest = mb.equilibrium()
    squares = [100 / 2, 200 / 2, 400 / 2, 5 / 0.1, 5 / 0.2, 5 / 0.25]
    found = [mode.frequency for mode in rest.linearization.modes]
    assert found == pytest.approx(np.sqrt(np.sort(squares)) / (2 * np.pi), rel=1e-6)
    assert "block.turn_x" in rest.linearization.states


@pytest.mark.parametrize("spin", [3.0, 12.0])
def test_sleeping_tops(spin):
    """A top that spins upright: A ψ'' − i C Ω ψ' − m g l ψ = 0 in the world, seen from the turning body."""
    m, l, A, C, g = 1.0, 0.5, 0.5, 0.4, 9.81
    mb = da.Multibody()
    top = mb.body("top", mass=m, inertia=(A - m * l**2, A - m * l**2, C), com=(0, 0, l))
    mb.spherical("ball", mb.ground, top, v0=(0, 0, spin))
    linear = mb.linearize()
    assert linear.v == pytest.approx([0, 0, spin])
    world = np.roots([A, -1j * C * spin, -m * g * l])
    body = np.concatenate([world - 1j * spin, np.conj(world - 1j * spin), [0, 0]])
    assert np.sort_complex(linear.eigenvalues.round(6)) == pytest.approx(np.sort_complex(body.round(6)), abs=2e-6)
    assert linear.stability == ("unstable" if C * spin < 2 * np.sqrt(A * m * g * l) else "neutral")


def test_frequencies_of_loops_by_their_energy():
    """One degree of freedom: ω² = V''/M along the crank's angle, V and M from positions alone."""
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    mb.torsion("spring", "motor", 30.0, damping=0.5)
    rest = mb.equilibrium(guess={"motor.angle": -0.4})
    angle = rest["motor.angle"]
    h = 1e-4

    def at(x):
        near = four_bar(1.0, 3.0, 2.5, 3.0, guess={
            b: {"position": rest[f"{b}.position"], "orientation": rest[f"{b}.angle"]} for b in ("coupler", "rocker")
        })  # fmt: skip
        return near.assemble({"motor.angle": x, "motor.speed": 1.0})

    V = [9.81 * sum(at(x)[f"{b}.com"][1] for b in ("crank", "coupler", "rocker")) + 15.0 * x**2
         for x in (angle - h, angle, angle + h)]  # fmt: skip
    here = at(angle)
    M = sum(here[f"{b}.com_velocity"] @ here[f"{b}.com_velocity"] + 0.1 * here[f"{b}.angular_velocity"] ** 2
            for b in ("crank", "coupler", "rocker"))  # fmt: skip
    assert V[0] == pytest.approx(V[2], abs=1e-6)  # an equilibrium
    stiffness = (V[0] - 2 * V[1] + V[2]) / h**2
    (mode,) = rest.linearization.modes
    assert (2 * np.pi * mode.frequency) ** 2 == pytest.approx(stiffness / M, rel=1e-5)
    assert mode.damping == pytest.approx(0.5 / (2 * np.sqrt(stiffness * M)), rel=1e-5)


def test_linearization_follows_small_motions():
    """Deviations of a simulated Bricard mechanism, in motion and with a redundant constraint, to first order."""
    mb = bricard()
    first = da.simulate(mb.equations(), (0, 0.8), rtol=1e-11, atol=1e-11)
    state = first.at(0.5)
    linear = mb.linearize(state.p, state.v)
    assert len(linear.states) == 2
    h = 5e-3
    stencils = ({0: 12}, {-2: 1, -1: -8, 1: 8, 2: -1}, {-2: -1, -1: 16, 0: -30, 1: 16, 2: -1})
    v, a, jerk = (
        sum(c * first.at(0.5 + k * h).v for k, c in weights.items()) / (12 * h**order)
        for order, weights in enumerate(stencils)
    )
    k = list(mb.assemble().names).index(linear.states[0])
    # the motion itself is a deviation from itself, a little later: x = (v, a) obeys x' = A x
    assert linear.A @ [v[k], a[k]] == pytest.approx([a[k], jerk[k]], rel=1e-4)


def test_wrong_arguments_of_linearize():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    at = mb.assemble({"motor.angle": 1.0})
    with pytest.raises(ModelError, match="violates constraints of 'pin'"):
        mb.linearize(at.p + 0.1)
    with pytest.raises(OptionError, match="3 finite components"):
        mb.linearize([0.0])
    with pytest.raises(OptionError, match=r"did you mean 'motor\.angle'"):
        mb.linearize(at.p, outputs=["moter.angle"])
    with pytest.raises(OptionError, match="there is no 'push'"):
        mb.linearize(at.p, inputs=["push"])
    mb.joints[0].drive, mb.inputs["motor.drive"] = "motor.drive", 1.0
    with pytest.raises(OptionError, match="prescribes a coordinate"):
        mb.linearize(inputs=["motor.drive"])
    assert mb.linearize().A.shape == (0, 0)
