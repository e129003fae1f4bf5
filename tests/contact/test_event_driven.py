"""Contact as events: exact solutions, all smooth methods, what users see."""

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ContactError, PainleveParadox, PenetratingStart

METHODS = ("radau5", "geoms", "dassl", "mexx", "hem5", "rkf45")
G = 9.81


def ball(e=0.9, **more):
    return da.EquationsOfMotion(
        p=["y"], mass=[1.0], force=[-G], unilateral=lambda s: [s.y], contacts=["floor"], restitution=e, **more
    )


def box(mu=0.3, **more):
    """A box on a floor, in the plane."""
    return da.EquationsOfMotion(
        p=["x", "z"], mass=[2.0, 2.0], force=[0, -2 * G], unilateral=lambda s: [s.z], contacts=["floor"],
        friction=mu, sliding=lambda s: [s.x_dot], **more,
    )  # fmt: skip


def rocking(mu=0.0, e=0.0, L=1.0, H=0.5):
    """A block with two corners, in the plane."""

    def height(s, side):
        return s.z + side * L / 2 * np.sin(s.th) - H / 2 * np.cos(s.th)

    def speed(s, side):
        return s.x_dot + s.th_dot * (H / 2 * np.cos(s.th) - side * L / 2 * np.sin(s.th))

    rough = dict(friction=mu, sliding=lambda s: [speed(s, -1), speed(s, 1)]) if mu else {}
    return da.EquationsOfMotion(
        p=["x", "z", "th"], mass=[1, 1, (L**2 + H**2) / 12], force=[0, -G, 0], contacts=["A", "B"], restitution=e,
        unilateral=lambda s: [height(s, -1), height(s, 1)], **rough,
    )  # fmt: skip


def changes_of(sol, name="floor"):
    """When a contact changes its mode."""
    modes = [segment.discrete[f"{name}_mode"] for segment in sol.segments]
    return [segment.t for segment, a, b in zip(sol.segments[1:], modes, modes[1:], strict=False) if a != b]


def rests_at(e, height):
    """When a ball that falls from a height is at rest."""
    return np.sqrt(2 * height / G) * (1 + e) / (1 - e)


def bounces_at(e, height, count):
    return np.sqrt(2 * height / G) * (1 + 2 * np.concatenate([[0], np.cumsum(e ** np.arange(1, count))]))


@pytest.mark.parametrize("method", METHODS)
def test_a_bouncing_ball_comes_to_rest(method):
    sol = da.simulate(ball(), (0, 10), p0=[0.9], method=method, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sol.impacts.t[:20], bounces_at(0.9, 0.9, 20), rtol=0, atol=1e-9)
    assert [rest.contact for rest in sol.impacts.rests] == ["floor"]
    assert abs(sol.impacts.rests[0].t - rests_at(0.9, 0.9)) < 1e-9
    after = sol.at(np.linspace(8.2, 10, 50))
    assert np.abs(after.p).max() == 0
    assert np.abs(after.v).max() == 0
    np.testing.assert_allclose(after.lam, G, rtol=1e-12)
    assert (sol.at(np.linspace(0.01, 0.4, 9)).lam == 0).all()
    assert sol["floor.gap"].min() > -1e-12


def test_impacts_say_what_happened():
    sol = da.simulate(ball(0.5), (0, 1), p0=[1.0])
    first = sol.impacts[0]
    speed = np.sqrt(2 * G)
    assert first.contact == "floor"
    np.testing.assert_allclose([first.before[0], first.after[0], first.impulse[0]], [-speed, speed / 2, 1.5 * speed])
    np.testing.assert_allclose([first.v_before[0], first.v_after[0]], [-speed, speed / 2])
    assert first.t == sol.impacts.t[0] == sol.impacts.named("floor").t[0]
    assert "floor" in repr(sol.impacts)
    assert len(sol.events) == 0
    with pytest.raises(da.ModelError, match="ceiling"):
        sol.impacts.named("ceiling")


def test_elastic_balls_bounce_for_ever():
    sol = da.simulate(ball(1.0), (0, 20), p0=[1.0], rtol=1e-10, atol=1e-12)
    energy = 0.5 * sol.v[:, 0] ** 2 + G * sol.p[:, 0]
    np.testing.assert_allclose(energy, G, rtol=1e-8)
    assert len(sol.impacts) == 1 + int((20 - np.sqrt(2 / G)) / (2 * np.sqrt(2 / G)))
    assert not sol.impacts.rests


def test_no_rebound():
    sol = da.simulate(ball(0.0), (0, 2), p0=[1.0])
    assert len(sol.impacts) == 1
    assert sol.p[-1, 0] == 0
    assert sol["floor.normal"][-1] == pytest.approx(G)


@pytest.mark.parametrize("heights", [np.ones(10), np.linspace(0.5, 1.0, 10)], ids=["at once", "one by one"])
def test_ten_balls(heights):
    n, e = 10, 0.5
    model = da.EquationsOfMotion(
        p=[f"y{i}" for i in range(n)], mass=np.ones(n), force=-G * np.ones(n), restitution=e,
        unilateral=lambda s: [s.p[i] for i in range(n)],
    )  # fmt: skip
    sol = da.simulate(model, (0, 3), p0=heights)
    for i, height in enumerate(heights):
        times = sol.impacts.named(f"contact{i + 1}").t
        np.testing.assert_allclose(times[:6], bounces_at(e, height, 6), atol=1e-7)
    assert {rest.contact for rest in sol.impacts.rests} == {f"contact{i + 1}" for i in range(n)}
    assert np.abs(sol.p[-1]).max() == 0


@pytest.mark.parametrize("method", METHODS)
def test_box_slides_to_rest(method):
    sol = da.simulate(box(), (0, 3), p0=[0, 0], v0=[4, 0], method=method)
    assert sol.p[-1, 0] == pytest.approx(16 / (2 * 0.3 * G), rel=1e-7)
    assert np.abs(sol.v[-1]).max() == 0
    np.testing.assert_allclose(changes_of(sol), [4 / (0.3 * G)], atol=1e-8)
    np.testing.assert_allclose(sol["floor.friction"][0], -0.3 * 2 * G)
    np.testing.assert_allclose(sol["floor.friction"][-1], 0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_stick_and_slip_under_a_periodic_force(method):
    """A box pushed to and fro: the times of each change follow from the force alone."""
    m, mu, F = 2.0, 0.3, 8.0
    model = da.EquationsOfMotion(
        p=["x", "z"], mass=[m, m], force=lambda s: [s.F, -m * G], inputs={"F": lambda t: F * np.sin(2 * t)},
        unilateral=lambda s: [s.z], contacts=["floor"], friction=mu, sliding=lambda s: [s.x_dot],
    )  # fmt: skip
    sol = da.simulate(model, (0, 3), p0=[0, 0], method=method, rtol=1e-8, atol=1e-10)
    slips = np.arcsin(mu * m * G / F) / 2
    changes = changes_of(sol)
    assert changes[0] == pytest.approx(slips, abs=1e-8)

    def speed(t):
        return (F / 2 * (np.cos(2 * slips) - np.cos(2 * t)) - mu * m * G * (t - slips)) / m

    assert speed(changes[1]) == pytest.approx(0, abs=1e-7)
    assert changes[1] > slips + 0.1
    between = np.linspace(slips, changes[1], 30)
    np.testing.assert_allclose(sol.at(between).v[:, 0], speed(between), atol=1e-7)


def test_sliding_in_space_follows_its_direction():
    """A disc that slides while a force bends its path: against the equations in the plane of the floor."""
    from scipy.integrate import solve_ivp

    mu = 0.3
    model = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1, 1, 1], force=[0, 1.0, -G], unilateral=lambda s: [s.z], contacts=["floor"],
        friction=mu, sliding=lambda s: [[s.x_dot, s.y_dot]],
    )  # fmt: skip
    sol = da.simulate(model, (0, 1), p0=[0, 0, 0], v0=[4, 0.5, 0], rtol=1e-9, atol=1e-11)

    def right(t, y):
        v = y[2:]
        a = np.array([0, 1.0]) - mu * G * v / np.linalg.norm(v)
        return [*v, *a]

    reference = solve_ivp(right, (0, 1), [0, 0, 4, 0.5], rtol=1e-12, atol=1e-12, method="DOP853").y[:, -1]
    np.testing.assert_allclose(np.concatenate([sol.p[-1, :2], sol.v[-1, :2]]), reference, atol=1e-7)


@pytest.mark.parametrize("incline", [0.25, 0.32])
@pytest.mark.parametrize("mu", [0.29])
def test_block_on_two_corners_sticks_up_to_the_critical_angle(incline, mu):
    """Friction of two corners depends on each other; together they hold what both may."""
    model = rocking(mu)
    tilted = da.EquationsOfMotion(
        p=["x", "z", "th"], mass=[1, 1, 1.25 / 12], force=[G * np.sin(incline), -G * np.cos(incline), 0],
        contacts=["A", "B"], friction=mu,
        unilateral=lambda s: [s.z - 0.5 * np.sin(s.th) - 0.25 * np.cos(s.th),
                              s.z + 0.5 * np.sin(s.th) - 0.25 * np.cos(s.th)],
        sliding=lambda s: [s.x_dot + s.th_dot * (0.25 * np.cos(s.th) + 0.5 * np.sin(s.th)),
                           s.x_dot + s.th_dot * (0.25 * np.cos(s.th) - 0.5 * np.sin(s.th))],
    )  # fmt: skip
    assert model.contacts[0].dim == tilted.contacts[0].dim == 2
    sol = da.simulate(tilted, (0, 1), p0=[0, 0.25, 0])
    a = 0.0 if np.tan(incline) < mu else G * (np.sin(incline) - mu * np.cos(incline))
    assert sol.p[-1, 0] == pytest.approx(a / 2, abs=1e-9)
    total = sol["A.friction"][-1, 0] + sol["B.friction"][-1, 0]
    assert total == pytest.approx(a - G * np.sin(incline))


def test_the_load_of_redundant_corners_may_move():
    """The force on a box on two corners grows until it slides: only the sum of both bounds counts."""
    mu = 0.3
    model = da.EquationsOfMotion(
        p=["x", "z", "th"], mass=[1, 1, 0.1], inputs={"F": lambda t: 2 * t}, force=lambda s: [s.F, -G, 0.1 * s.F],
        contacts=["A", "B"], friction=mu,
        unilateral=lambda s: [s.z - 0.5 * np.sin(s.th), s.z + 0.5 * np.sin(s.th)],
        sliding=lambda s: [s.x_dot + 0.5 * np.sin(s.th) * s.th_dot, s.x_dot - 0.5 * np.sin(s.th) * s.th_dot],
    )  # fmt: skip
    sol = da.simulate(model, (0, 3), p0=[0, 0, 0], rtol=1e-8, atol=1e-10)
    slips = mu * G / 2
    still, moving = sol.at(np.linspace(0, slips - 1e-3, 20)), sol.at(3.0)
    assert np.abs(still.v).max() < 1e-12
    assert moving.v[0] == pytest.approx(9 - slips**2 - mu * G * (3 - slips), rel=1e-7)


def test_rocking_block_falls_flat_and_stays():
    th = np.pi / 3
    start = [0, 0.5 * np.sin(th) + 0.25 * np.cos(th), th]
    sol = da.simulate(rocking(), (0, 2), p0=start, rtol=1e-10, atol=1e-12)
    assert sol.impacts.t[0] == pytest.approx(da.problems.ROCKING_BLOCK_FLAT, abs=1e-9)
    np.testing.assert_allclose(sol.p[-1], [0, 0.25, 0], atol=1e-10)
    np.testing.assert_allclose(sol.lam[-1], [G / 2, G / 2], rtol=1e-9)


def test_rocking_with_restitution_accumulates():
    th = np.pi / 3
    start = [0, 0.5 * np.sin(th) + 0.25 * np.cos(th), th]
    sol = da.simulate(rocking(e=0.5), (0, 2), p0=start)
    assert len(sol.impacts.rests) == 1
    np.testing.assert_allclose(sol.p[-1], [0, 0.25, 0], atol=1e-8)
    assert np.abs(sol.v[-1]).max() < 1e-12
    assert min(sol["A.gap"].min(), sol["B.gap"].min()) > -1e-7


@pytest.mark.parametrize(
    ("law", "after"),
    [("newton", [-1 / 3, 2 / 3, 2 / 3]), ("poisson", [-1 / 3, 2 / 3, 2 / 3]), ("sequential", [0, 0, 1])],
)
def test_newtons_cradle(law, after):
    model = da.EquationsOfMotion(
        p=["q1", "q2", "q3"], mass=[1, 1, 1], force=[0, 0, 0], restitution=1.0, impact=law,
        unilateral=lambda s: [s.q2 - s.q1 - 1, s.q3 - s.q2 - 1],
    )  # fmt: skip
    sol = da.simulate(model, (0, 2), p0=[-1, 1, 2], v0=[1, 0, 0])
    np.testing.assert_allclose(sol.v[-1], after, atol=1e-12)


def rod(mu):
    """A rod whose lower tip slides on the floor."""
    return da.EquationsOfMotion(
        p=["x", "y", "th"], mass=[1, 1, 1 / 3], force=[0, -G, 0], unilateral=lambda s: [s.y - np.sin(s.th)],
        contacts=["tip"], friction=mu, sliding=lambda s: [s.x_dot + np.sin(s.th) * s.th_dot],
    )  # fmt: skip


def test_painleve_is_named():
    th = np.arctan(2)  # where 4/3 is the smallest friction for which there is a paradox
    with pytest.raises(PainleveParadox, match="'tip'") as caught:
        da.simulate(rod(1.34), (0, 1), p0=[0, np.sin(th), th], v0=[-5, 0, 0])
    assert caught.value.contact == "tip"
    sol = da.simulate(rod(1.32), (0, 0.01), p0=[0, np.sin(th), th], v0=[-5, 0, 0])
    assert sol.success


def test_penetrating_start_is_refused():
    with pytest.raises(PenetratingStart, match=r"'floor' penetrates at the start: its gap is -0\.1"):
        da.simulate(ball(), (0, 1), p0=[-0.1])
    assert issubclass(PenetratingStart, da.InconsistentInitialValues)


def test_an_action_may_not_penetrate_either():
    push = da.Event(lambda s: s.t - 0.1, action=lambda s: {"y": -1.0}, name="push")
    with pytest.raises(PenetratingStart, match="after the action") as caught:
        da.simulate(ball(), (0, 1), p0=[1.0], events=push)
    assert caught.value.solution.t[-1] == pytest.approx(0.1)


def test_actions_and_contacts_together():
    """A kick upwards while the ball rests on the floor."""
    kick = da.Event(lambda s: s.t - 1.0, action=lambda s: {"y_dot": 3.0}, name="kick")
    sol = da.simulate(ball(0.0), (0, 2), p0=[0.0], events=kick)
    assert sol.events.t[0] == pytest.approx(1.0)
    assert sol.impacts.t[-1] == pytest.approx(1 + 6 / G, abs=1e-7)
    assert sol.at(1 + 3 / G).p[0] == pytest.approx(9 / (2 * G), abs=1e-7)


def test_a_floor_that_stops_lets_go():
    """A lift that moves up and stops at once: the ball flies on, and lands."""
    lift = da.Input(lambda t: np.where(t < 1, 2.0 * t, 2.0), breakpoints=[1.0])
    model = da.EquationsOfMotion(
        p=["y"], mass=[1.0], force=[-G], inputs={"u": lift}, unilateral=lambda s: [s.y - s.u], contacts=["lift"]
    )
    sol = da.simulate(model, (0, 3), p0=[0.0], v0=[2.0])
    assert sol.impacts.t[-1] == pytest.approx(1 + 4 / G, abs=1e-7)
    assert sol.at(1 + 2 / G).p[0] == pytest.approx(2 + 4 / (2 * G), abs=1e-7)
    assert sol.p[-1, 0] == pytest.approx(2)


def test_a_floor_that_starts_hits():
    lift = da.Input(lambda t: np.where(t < 1, 0.0, 2.0 * (t - 1)), breakpoints=[1.0])
    model = da.EquationsOfMotion(
        p=["y"], mass=[1.0], force=[-G], inputs={"u": lift}, unilateral=lambda s: [s.y - s.u], contacts=["lift"],
        restitution=0.5,
    )  # fmt: skip
    sol = da.simulate(model, (0, 1.2), p0=[0.0])
    assert sol.impacts[0].t == pytest.approx(1.0)
    assert sol.at(1.0).v[0] == pytest.approx(3.0)


def test_force_that_jumps_lifts_off():
    """A magnet is switched on at t = 1: the contact opens there, without an impact."""
    force = da.Input(lambda t: np.where(t < 1, 0.0, 2 * G), breakpoints=[1.0])
    model = da.EquationsOfMotion(
        p=["y"], mass=[1.0], force=lambda s: [s.u - G], inputs={"u": force}, unilateral=lambda s: [s.y]
    )
    sol = da.simulate(model, (0, 2), p0=[0.0])
    assert sol.p[-1, 0] == pytest.approx(G / 2, rel=1e-7)
    assert len(sol.impacts) == 0


def test_contact_is_lost_where_its_force_vanishes():
    """A bead slides off a sphere: it leaves where cos = 2/3."""
    model = da.EquationsOfMotion(
        p=["x", "z"], mass=[1, 1], force=[0, -G], unilateral=lambda s: [np.sqrt(s.x**2 + s.z**2) - 1]
    )
    start = 0.1
    sol = da.simulate(
        model, (0, 1.2), p0=[np.sin(start), np.cos(start)], rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    leaves = sol.segments[1].t
    assert sol.segments[1].active == ()
    assert sol.at(leaves).p[1] == pytest.approx(2 / 3 * np.cos(start), abs=1e-8)


def test_grazing_contact_does_not_hang():
    """A ball that just touches the ceiling at the top of its flight."""
    top = 0.5
    model = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-G], unilateral=lambda s: [top - s.y, s.y])
    sol = da.simulate(model, (0, 1), p0=[0.0], v0=[np.sqrt(2 * G * top)])
    assert sol["contact1.gap"].min() > -1e-7
    assert sol.success


def test_weightless_contact_is_found_again():
    """At rest on the floor without any force; then a force grows and presses, later pulls."""
    model = da.EquationsOfMotion(
        p=["y"], mass=[1.0], inputs={"F": lambda t: -np.sin(t)}, force=lambda s: [s.F], unilateral=lambda s: [s.y]
    )
    sol = da.simulate(model, (0, 5), p0=[0.0], rtol=1e-9, atol=1e-11)
    assert sol["contact1.gap"].min() > -1e-9
    assert np.abs(sol.at(np.linspace(0, np.pi - 0.01, 20)).p).max() < 1e-9
    t = 5 - np.pi
    assert sol.p[-1, 0] == pytest.approx(t - np.sin(t), rel=1e-6)


def test_time_runs_forwards():
    with pytest.raises(da.OptionError, match="forwards in time"):
        da.simulate(ball(), (1, 0), p0=[1.0])


def test_results_travel(tmp_path):
    sol = da.simulate(box(restitution=0.5), (0, 1), p0=[0, 0.1], v0=[1, 0])
    for copy in (pickle.loads(pickle.dumps(sol)), da.Solution.load(sol.save(tmp_path / "run.h5"), model=box())):
        assert len(copy.impacts) == len(sol.impacts) > 3
        assert copy.impacts.rests == sol.impacts.rests
        for mine, other in zip(sol.impacts, copy.impacts, strict=True):
            assert (mine.t, mine.contact) == (other.t, other.contact)
            np.testing.assert_array_equal(mine.impulse, other.impulse)
            assert (mine.v_after is None) == (other.v_after is None)
        np.testing.assert_array_equal(copy["floor.normal"], sol["floor.normal"])


def test_models_travel():
    model = pickle.loads(pickle.dumps(box(0.4)))
    sol = da.simulate(model, (0, 3), p0=[0, 0], v0=[4, 0])
    assert sol.p[-1, 0] == pytest.approx(16 / (2 * 0.4 * G), rel=1e-7)


def test_parameters_of_contacts():
    model = da.EquationsOfMotion(
        p=["y"], mass=[1.0], force=[-G], parameters={"e": 0.5}, unilateral=lambda s: [s.y], restitution="e"
    )
    sol = da.simulate(model, (0, 0.6), p0=[1.0], parameters={"e": 0.8})
    assert sol.impacts[0].after[0] == pytest.approx(0.8 * np.sqrt(2 * G))
    with pytest.raises(da.ModelError, match="'e' of model 'model' is the restitution of contact 'contact1'"):
        da.simulate(model, (0, 1), p0=[1.0], parameters={"e": 1.5})


def test_start_values_take_contacts_as_open():
    start = da.consistent_initial_values(box(), p0=[0, 1.0], v0=[1, 0])
    np.testing.assert_array_equal(start.p, [0, 1.0])
    np.testing.assert_array_equal(start.lam, [0.0])


def test_output_times_and_sparse_memory():
    t = np.linspace(0, 2, 41)
    dense = da.simulate(ball(0.5), (0, 2), p0=[1.0], t_eval=t)
    sparse = da.simulate(ball(0.5), (0, 2), p0=[1.0], t_eval=t, dense_output=False)
    np.testing.assert_allclose(sparse.p, dense.p, atol=1e-14)
    np.testing.assert_allclose(sparse.lam, dense.lam, atol=1e-12)


def test_residuals_are_those_of_closed_contacts():
    sol = da.simulate(ball(0.5), (0, 3), p0=[1.0])
    assert sol.max_residual("position") < 1e-9
    assert sol.max_residual("velocity") < 1e-9
    assert sol.max_residual("acceleration") < 1e-9


def test_undefined_normal_is_named():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -1.0], unilateral=lambda s: [np.log(s.y)], contacts=["pole"]
    )
    with pytest.raises(ContactError, match="'pole' is not finite"):
        da.simulate(model, (0, 1), p0=[0, 0.0])


def test_rebounds_of_several_corners_accumulate_together():
    """A box in space falls on its corners, rocks ever faster over all of them, and lies flat."""
    mb = da.Multibody(gravity=(0, 0, -G))
    mb.ground.shape = da.Plane(normal=(0, 0, 1))
    body = mb.body(
        "box", mass=1.0, inertia=(0.02, 0.03, 0.04), shape=da.Box((0.6, 0.4, 0.3)), position=(0, 0, 0.5),
        orientation=(0.3, 0.2, 0.1),
    )  # fmt: skip
    corners = mb.contact("floor", body, mb.ground, restitution=0.3, friction=0.4)
    sol = da.simulate(mb.equations(), (0, 2))
    assert sol["box.position"][-1, 2] == pytest.approx(0.15, abs=1e-7)
    assert np.abs(sol.v[-1]).max() < 1e-9
    assert min(sol[f"{name}.gap"].min() for name in corners) > -1e-7
    energy = sol["energy.total"]
    assert (np.diff(energy) < 1e-6 * energy.max()).all()
