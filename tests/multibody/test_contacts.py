"""Contacts of bodies: what is refused, models in all sets of coordinates, results by name."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, NoEquilibrium, OptionError
from dalembert.model.contacts import Traced, friction_force, normal_force
from dalembert.multibody.touching import OF_CONTACTS

COORDINATES = ("joint", "absolute", "mixed")


def leg(friction=0.5):
    """Two rods in a chain; the tip of the second touches the floor, its knee a wall that is fixed to a third body."""
    mb = da.Multibody(planar=True)
    thigh = mb.body("thigh", mass=1.0, inertia=0.1, com=(0, -0.5))
    shank = mb.body("shank", mass=0.7, inertia=0.05, com=(0, -0.4))
    cart = mb.body("cart", mass=2.0, inertia=0.3, shape=da.Box((0.4, 3.0, 0.1)))
    mb.revolute("hip", mb.ground, thigh, q0=0.4, v0=0.7)
    mb.revolute("knee", thigh, shank, at=(0, -1), q0=-0.3, v0=-0.2)
    mb.prismatic("rail", mb.ground, cart, axis="x", at=(1.5, 0), q0=0.2, v0=-0.4)
    mb.contact("foot", shank.frame(at=(0, -0.8)), (mb.ground, da.Plane(position=(0, -2))), friction=friction)
    mb.contact("pad", (thigh, da.Sphere(0.15, position=(0, -1))), cart, restitution=0.5, friction=friction)
    mb.contact("rods", (shank, da.Capsule(0.05, 0.8, position=(0, -0.4), rotation=(np.pi / 2, 0, 0))), cart)
    return mb


def arm():
    """Two links in space with a ball at the end, over a tilted plane, and a free capsule."""
    mb = da.Multibody()
    upper = mb.body("upper", mass=1.0, inertia=(0.1, 0.1, 0.02), com=(0, 0, -0.5))
    lower = mb.body(
        "lower", mass=1.0, inertia=(0.1, 0.1, 0.02), com=(0, 0, -0.5), shape=da.Sphere(0.1, position=(0, 0, -1))
    )
    log = mb.body("log", mass=1.0, inertia=(0.1, 0.1, 0.02), shape=da.Capsule(0.2, 1.0), position=(1, 1, 0))
    mb.spherical("shoulder", mb.ground, upper, v0=(0.3, -0.2, 0.5))
    mb.revolute("elbow", upper, lower, at=(0, 0, -1), axis="y", q0=0.6, v0=-0.9)
    mb.contact("floor", lower, (mb.ground, da.Plane((1, 2, 5), position=(0, 0, -3))), friction=0.3)
    mb.contact("knock", log, lower, friction=0.2, restitution=0.3)
    return mb


def values(model, names, v=None):
    """Results of a model at its start values."""
    start = model.start
    given = {"p": np.array(start["p0"], float), "v": np.array(start["v0"], float)}
    return {name: np.asarray(model.outputs.number(name, 0.0, given, model.theta(0.0))) for name in names}


# -- models --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [leg, arm])
def test_all_coordinates_have_the_same_gaps_points_and_velocities(build):
    mb = build()
    kinematic = ("gap", "sliding", "point", "direction")
    names = [f"{pair.name}.{part}" for pair in mb.contacts for part in kinematic]
    found = [values(mb.equations(kind), names) for kind in COORDINATES]
    for name in names:
        for other in found[1:]:
            assert other[name] == pytest.approx(found[0][name], abs=1e-12), name
    assembly = mb.assemble()
    for pair in mb.contacts:
        assert assembly[f"{pair.name}.gap"] == pytest.approx(float(found[0][f"{pair.name}.gap"]), abs=1e-12)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("build", [leg, arm])
def test_rows_of_the_model_are_rates_of_gaps_and_velocities_along_tangents(build, coordinates):
    """By differences: gaps at positions that have moved a little, points of both bodies that have moved with them."""
    mb = build()
    model = mb.equations(coordinates)
    p0, v0 = (np.array(model.start[kind], float) for kind in ("p0", "v0"))
    graph = model.graph
    rates = ca.mtimes(graph.functions["kinematics"].sx, graph.symbol["v"])
    move = ca.Function("move", [graph.symbol["p"], graph.symbol["v"]], [rates])
    h, theta, discrete = 1e-6, model.theta(0.0), graph.discrete_values
    p_dot = move(p0, v0).full().ravel()

    def at(name, p):
        return np.asarray(model.outputs.number(name, 0.0, {"p": p, "v": v0}, theta))

    for contact in model.contacts:
        ahead, behind = (at(f"{contact.name}.gap", p0 + s * p_dot) for s in (h, -h))
        by = ca.jacobian(graph.functions["holonomic"].sx[contact.normal], graph.symbol["p"])
        row = ca.Function("row", [graph.symbol["p"], graph.discrete_symbols], [by])
        assert -row(p0, discrete).full() @ p_dot == pytest.approx((ahead - behind) / (2 * h), abs=1e-7)
        pair = mb.contacts[contact.number]
        point, normal = at(f"{contact.name}.point", p0), at(f"{contact.name}.direction", p0)
        gap = at(f"{contact.name}.gap", p0)
        moved = np.zeros(3)
        for frame, sign in ((pair.first, 1.0), (pair.second, -1.0)):
            if frame.body.is_ground:
                continue
            width = len(point)
            x, R = (np.atleast_1d(at(f"{frame.body.name}.{part}", p0)) for part in ("position", "orientation"))
            own = R.T @ (point + sign * gap / 2 * normal - x)  # the nearest point, fixed to the body
            ends = [
                at(f"{frame.body.name}.position", p) + at(f"{frame.body.name}.orientation", p) @ own
                for p in (p0 + h * p_dot, p0 - h * p_dot)
            ]
            moved[:width] += sign * (ends[0] - ends[1]) / (2 * h)
        sliding = at(f"{contact.name}.sliding", p0)
        normal = np.append(normal, np.zeros(3 - len(normal)))
        across = moved - (moved @ normal) * normal
        if mb.planar:
            assert sliding == pytest.approx([across @ (normal[1], -normal[0], 0)], abs=1e-6)
        else:
            assert np.linalg.norm(sliding) == pytest.approx(np.linalg.norm(across), abs=1e-6)
        if contact.stick:
            arguments = [graph.symbol["p"], graph.symbol["v"], graph.discrete_symbols]
            stick = ca.Function("stick", arguments, [graph.functions["nonholonomic"].sx])
            rates = -stick(p0, v0, discrete).full().ravel()[list(contact.stick)]
            assert rates == pytest.approx(sliding, abs=1e-12)


def test_contacts_are_no_constraints_of_the_joints():
    model = leg().equations("absolute")
    assert all(name.startswith(("hip.", "knee.", "rail.")) for name in model.bilateral)
    assert [contact.name for contact in model.contacts][:2] == ["foot", "pad"]
    assert "contacts" in repr(model)
    assert leg().redundancy().constraints == 0


def test_names_of_contacts():
    mb = da.Multibody(planar=True)
    box = mb.body("box", 1.0, 0.1, shape=da.Box((1, 1, 1)))
    ball = mb.body("ball", 1.0, 0.1, shape=da.Sphere(0.2))
    mb.ground.shape = [da.Plane(), da.Plane((1, 0), position=(-3, 0))]
    assert mb.contact("floor", box, mb.ground) == tuple(f"floor.{k}" for k in range(1, 9))
    assert mb.contact("hit", ball, box) == ("hit",)
    assert mb.contact("sides", ball, mb.ground) == ("sides.1", "sides.2")
    assert len(mb.contacts) == 11
    assert "11 contacts" in repr(mb)


def test_friction_and_restitution_may_be_parameters():
    mb = da.Multibody(planar=True)
    disc = mb.body("disc", 1.0, 0.005, shape=da.Sphere(0.1), position=(0, 0.1))
    mb.contact("floor", disc, (mb.ground, da.Plane()), mb.parameter("e", 0.5), mb.parameter("grip", 0.0))
    model = mb.equations()
    assert model.contacts[0].restitution == "e"
    assert model.replace({"grip": 0.4, "e": 0.1}).contact_values()[1].tolist() == [0.4]


def test_directions_in_which_nothing_can_slide_have_no_friction():
    mb = da.Multibody()
    hammer = mb.body("hammer", 1.0, 0.1, shape=da.Sphere(0.1), position=(0, 0, 1))
    mb.prismatic("guide", mb.ground, hammer, axis="z", q0=1.0)
    mb.contact("anvil", hammer, (mb.ground, da.Plane()), friction=0.5)
    model = mb.equations()
    assert model.contacts[0].stick == ()
    assert "anvil.friction" not in model.outputs
    wheel = da.Multibody()
    disc = wheel.body("disc", 1.0, 0.1, shape=da.Sphere(0.1), position=(0, 0, 1))
    carrier = wheel.body("carrier", 1.0, 0.1)
    wheel.prismatic("guide", wheel.ground, carrier, axis="z", q0=1.0)
    wheel.revolute("axle", carrier, disc, axis="y")
    wheel.contact("floor", disc, (wheel.ground, da.Plane()), friction=0.5)
    assert len(wheel.equations().contacts[0].stick) == 1


def test_systems_of_many_joints_go_through_graphs():
    mb = da.Multibody(planar=True)
    last = mb.ground
    for k in range(20):
        rod = mb.body(f"rod{k}", 1.0, 0.1, com=(0.5, 0))
        mb.revolute(f"joint{k}", last, rod, at=(0, 0) if k == 0 else (1, 0), q0=0.1)
        last = rod
    mb.contact("tip", last.frame(at=(1, 0)), (mb.ground, da.Plane(position=(0, -5))), friction=0.3)
    model = mb.equations()
    assert model.graph.functions["force"].traced
    with pytest.raises(OptionError, match="systems without contacts and dry friction, and this one has 'tip'"):
        mb.equations(formalism="explicit")


# -- results -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [leg, arm])
def test_results_have_names_and_descriptions_and_travel(build):
    mb = build()
    model = mb.equations()
    names = [name for name in model.outputs if name.rpartition(".")[0] in {pair.name for pair in mb.contacts}]
    assert {name.rpartition(".")[2] for name in names} == set(OF_CONTACTS)
    assert all(model.outputs.description(name) for name in names)
    other = pickle.loads(pickle.dumps(model))
    rng = np.random.default_rng(3)
    point = {kind: rng.uniform(0.1, 1, model.graph.size(kind)) for kind in ("p", "v", "lam", "mu")}
    theta = model.theta(0.0)
    for name in names:
        assert np.array_equal(
            model.outputs.number(name, 0.0, point, theta), other.outputs.number(name, 0.0, point, theta)
        )
    width = 1 if mb.planar else 2
    first = model.contacts[0].name
    assert model.outputs.shape(f"{first}.sliding") == model.outputs.shape(f"{first}.friction") == (width,)
    assert model.outputs.shape(f"{first}.force") == (width + 1,)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("build", [leg, arm])
def test_forces_are_those_that_models_have_by_themselves(build, coordinates):
    """In all modes of contacts, with values of all multipliers and discrete variables."""
    model = build().equations(coordinates)
    graph = model.graph
    rows = {role: -graph.functions[role].sx for role in ("holonomic", "nonholonomic")}
    gaps = ca.vertcat(*(rows["holonomic"][contact.normal] for contact in model.contacts))
    nothing = ca.SX(0, 1)
    sliding = tuple(rows["nonholonomic"][list(c.stick)] if c.stick else nothing for c in model.contacts)
    traced = Traced(model.contacts, gaps, sliding)
    kinds = ("p", "v", "lam", "mu")
    symbols = [*(graph.symbol[kind] for kind in kinds), graph.discrete_symbols]
    rng = np.random.default_rng(4)
    for _ in range(5):
        point = {kind: rng.uniform(0.1, 1, graph.size(kind)) for kind in kinds}
        discrete = rng.choice([-1.0, 0.0, 1.0, 2.0], len(graph.discrete))
        held = {name for edge in model.edges for name in edge.names}  # pieces of gaps: as they are written
        discrete[[name in held for name in graph.discrete]] = 0.0
        theta = model.theta(0.0, discrete)
        for contact in model.contacts:
            expected = {"normal": normal_force(model, contact)}
            if contact.stick:
                expected["friction"] = friction_force(model, traced, contact)
            for part, force in expected.items():
                value = ca.Function("force", symbols, [force])(*point.values(), discrete).full().ravel()
                found = np.atleast_1d(model.outputs.number(f"{contact.name}.{part}", 0.0, point, theta))
                assert found == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_force_of_a_contact_does_the_work_of_its_multipliers(coordinates):
    """Jᵀ F of the force on both bodies is what the multipliers do to the velocities."""
    mb = arm()
    model = mb.equations(coordinates)
    graph = model.graph
    rng = np.random.default_rng(8)
    p0, v0 = (np.array(model.start[kind], float) for kind in ("p0", "v0"))
    lam, mu = np.zeros(graph.size("lam")), np.zeros(graph.size("mu"))
    rows = [contact.normal for contact in model.contacts]
    lam[rows], mu[:] = rng.uniform(1, 2, len(rows)), rng.uniform(-1, 1, len(mu))
    g, h = graph.functions["holonomic"].sx, graph.functions["nonholonomic"].sx
    Z = graph.functions["kinematics"].sx
    power = -ca.dot(graph.symbol["lam"], ca.mtimes(ca.jtimes(g, graph.symbol["p"], ca.mtimes(Z, graph.symbol["v"])), 1))
    power -= ca.dot(graph.symbol["mu"], h)
    symbols = [*(graph.symbol[kind] for kind in ("p", "v", "lam", "mu")), graph.discrete_symbols]
    expected = float(ca.Function("power", symbols, [power])(p0, v0, lam, mu, graph.discrete_values))
    point, theta = {"p": p0, "v": v0, "lam": lam, "mu": mu}, model.theta(0.0)

    def at(name):
        return np.asarray(model.outputs.number(name, 0.0, point, theta))

    total = 0.0
    for pair in mb.contacts:
        force, normal = at(f"{pair.name}.force"), at(f"{pair.name}.direction")
        middle, gap = at(f"{pair.name}.point"), at(f"{pair.name}.gap")
        for frame, sign in ((pair.first, 1.0), (pair.second, -1.0)):
            if not frame.body.is_ground:
                x, v, w = (at(f"{frame.body.name}.{part}") for part in ("position", "velocity", "angular_velocity"))
                total += sign * force @ (v + np.cross(w, middle + sign * gap / 2 * normal - x))
    assert total == pytest.approx(expected, rel=1e-10)


# -- what leaves contacts out --------------------------------------------------------------------------------------


def on_a_spring(height):
    mb = da.Multibody(planar=True)
    ball = mb.body("ball", 1.0, 0.1, shape=da.Sphere(0.1))
    mb.prismatic("guide", mb.ground, ball, axis="y", q0=height, stiffness=100.0, rest=height)
    mb.contact("floor", ball, (mb.ground, da.Plane()))
    return mb


def test_equilibrium_and_linearization_take_contacts_as_open():
    high, low = on_a_spring(1.0), on_a_spring(0.12)
    rest = high.equilibrium()
    assert rest["guide.distance"] == pytest.approx(1.0 - 9.81 / 100)
    assert rest["floor.gap"] == pytest.approx(0.9 - 9.81 / 100)
    linear = high.linearize(outputs=["floor.gap", "floor.normal", "guide.force"])
    assert linear.C[0].tolist() == [1.0, 0.0]
    assert linear.C[1].tolist() == [0.0, 0.0]
    with pytest.raises(NoEquilibrium, match=r"contact 'floor' has the gap -0\.0781.*take no part"):
        low.equilibrium()
    with pytest.raises(ModelError, match="contact 'floor' is closed in this state"):
        low.linearize(p=[0.1])
    free = da.Multibody(planar=True)
    free.contact("floor", free.body("ball", 1.0, 0.1, shape=da.Sphere(0.1), position=(0, 1)), (free.ground, da.Plane()))
    with pytest.raises(NoEquilibrium, match="Contacts take no part in the search"):
        free.equilibrium()


def test_inverse_dynamics_knows_no_contacts():
    mb = on_a_spring(0.1)
    without = da.Multibody(planar=True)
    without.prismatic("guide", without.ground, without.body("ball", 1.0, 0.1), axis="y", stiffness=100.0, rest=0.1)
    given = ([0.05], [0.3], [1.0])
    assert mb.inverse_dynamics(*given)["guide"] == without.inverse_dynamics(*given)["guide"]


def test_energy_is_no_invariant_of_systems_with_contacts():
    with pytest.raises(OptionError, match="impacts of contact 'floor' take energy"):
        on_a_spring(1.0).equations(invariant="energy")


# -- bad input -----------------------------------------------------------------------------------------------------


def two():
    mb = da.Multibody(planar=True)
    return mb, mb.body("one", 1.0, 0.1, shape=da.Sphere(0.1)), mb.body("two", 1.0, 0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(restitution=1.1), "contact 'c': restitution=1.1 must lie between 0"),
        (dict(restitution=-0.1), "contact 'c': restitution=-0.1 must not be negative"),
        (dict(restitution=float("nan")), "contact 'c': restitution=nan must be finite"),
        (dict(friction=-1), "contact 'c': friction=-1 must not be negative"),
        (dict(friction="rough"), "contact 'c': friction='rough'"),
        (dict(name="one"), "this name belongs to body 'one' already"),
        (dict(name="a.b"), "must not contain a dot"),
        (dict(name="lam"), "contact 'lam': this name is reserved"),
        (dict(second="one"), "both shapes are on 'one'; a body does not touch itself"),
        (dict(second="two"), "contact 'c': 'two' has no shape; give it one, mb.body"),
        (dict(second="ground"), r"contact 'c': 'ground' has no shape; give it one, mb.ground.shape = da.Plane\(\)"),
        (dict(second=("two", "Sphere")), "contact 'c': second: 'Sphere' on 'two' must be a shape"),
        (dict(second=("two", [])), "on 'two' must be a shape"),
        (dict(second=("two", da.Mesh("a.stl"))), "contact 'c', 'one' and 'two': a Mesh has no contacts"),
        (dict(second=("two", da.Plate([(0, 0), (2, 0), (0.2, 0.2), (0, 2)]))), "'one' and 'two': Plate is not convex"),
        (dict(second=("two",)), "must be a body, a frame, or a pair"),
        (dict(second=7), "second=7 must be a body, a frame, or mb.ground"),
    ],
)
def test_bad_input_is_named(change, message):
    mb, one, two_ = two()
    known = {"one": one, "two": two_, "ground": mb.ground}
    given = {"name": "c", "first": one, "second": (two_, da.Sphere(0.1))} | change
    if isinstance(given["second"], str):
        given["second"] = known[given["second"]]
    elif isinstance(given["second"], tuple) and isinstance(given["second"][0], str):
        given["second"] = (known[given["second"][0]], *given["second"][1:])
    with pytest.raises(ModelError, match=message):
        mb.contact(**given)
    assert not mb.contacts
    assert "c" not in mb._names


def test_bodies_of_other_systems_and_names_given_twice():
    mb, one, _ = two()
    other, stranger, _ = two()
    with pytest.raises(ModelError, match="'one' belongs to another Multibody"):
        mb.contact("c", one, stranger)
    with pytest.raises(ModelError, match="parameter 'e' belongs to another Multibody"):
        mb.contact("c", one, (mb.ground, da.Plane()), other.parameter("e", 0.5))
    mb.contact("c", one, (mb.ground, da.Plane()))
    with pytest.raises(ModelError, match="this name belongs to contact 'c' already"):
        mb.contact("c", one, (mb.ground, da.Plane()))


def test_contacts_that_can_never_change():
    mb, one, two_ = two()
    mb.fixed("weld", one, two_)
    mb.contact("c", one, (two_, da.Sphere(0.1)))
    with pytest.raises(ModelError, match="contact 'c': 'one' and 'two' are fixed to each other"):
        mb.equations()
    mb = da.Multibody(planar=True)
    sledge = mb.body("sledge", 1.0, 0.1, shape=da.Sphere(0.1))
    mb.prismatic("rail", mb.ground, sledge, axis="x")
    mb.contact("floor", sledge, (mb.ground, da.Plane(position=(0, -1))))
    with pytest.raises(ModelError, match="contact 'floor': the gap between 'sledge' and 'ground' does not change"):
        mb.equations()


def test_unknown_laws_of_impact():
    with pytest.raises(OptionError, match="impact='billiard' must be one of newton, poisson, sequential"):
        leg().equations(impact="billiard")
    assert leg().equations(impact="poisson").impact == "poisson"


def test_a_start_in_which_centres_coincide_is_refused_by_name():
    mb, one, two_ = two()
    mb.contact("c", one, (two_, da.Sphere(0.1)))
    with pytest.raises(da.DalembertError, match="'c'"):
        da.simulate(mb.equations(), (0, 1))
