"""Events of hybrid DAEs that are written by hand: relations, reinitialization, times, clocks."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from tests.symbolic import Sketch, all_of, any_of, jumps

import dalembert as da

METHODS = ["radau5", "dassl", "qualidaes"]
FREE, BACKWARD, STUCK, FORWARD = 2.0, -1.0, 0.0, 1.0


def ball(e=0.8, rest=0.0):
    """Falls, and bounces; with `rest`, it lies when it hits the floor more slowly than that."""
    s = Sketch(
        "ball", x={"h": 1.0, "v": 0.0}, parameters={"g": 9.81, "e": e, "slow": rest},
        discrete={
            "h < 0": 0, "v small": 0, "hit": 0, "pre(hit)": 0, "n": 0, "pre(n)": 0, "flying": 1, "pre(flying)": 1,
        },
    )  # fmt: skip
    s.equations = [s.der["h"] - s.x["v"], s.der["v"] + s.z["flying"] * s.p["g"]]
    s.relation("h < 0", -s.x["h"])
    s.relation("v small", s.p["slow"] + s.x["v"])
    s.assign("hit", s.z["h < 0"])
    s.assign("n", s.z["pre(n)"] + s.edge("hit"))
    rests = all_of(s.edge("hit"), s.z["v small"])
    s.assign("flying", all_of(s.z["pre(flying)"], ca.logic_not(rests)))
    s.pre("hit", "n", "flying")
    s.reinit(s.edge("hit"), "v", ca.if_else(rests, 0, -s.p["e"] * s.x["v"]))
    return s


def bounces(e, until, g=9.81):
    first = np.sqrt(2 / g)
    times = first + np.concatenate([[0.0], np.cumsum(2 * first * e ** np.arange(1, 60))])
    return times[times < until]


@pytest.mark.parametrize("method", METHODS)
def test_ball_bounces_when_it_should(method):
    sol = da.simulate(ball().build(), (0, 3), method=method, rtol=1e-8, atol=1e-10)
    exact = bounces(0.8, 3)
    found = [t for t in jumps(sol) if abs(sol.at(t)["h"]) < 1e-6]
    assert np.abs(np.unique(np.round(found, 6)) - np.round(exact, 6)).max() <= 1.01e-6
    assert sol["n"][-1] == len(exact)
    assert sol.at(exact[0] + 1e-6)["v"] == pytest.approx(0.8 * 9.81 * exact[0], rel=1e-4)


def test_bounces_that_accumulate_are_named_and_the_result_survives():
    with pytest.raises(da.Chattering, match="'h < 0' changes ever faster until t = 4.06") as caught:
        da.simulate(ball().build(), (0, 5))
    assert caught.value.relation == "h < 0"
    assert caught.value.solution["n"][-1] > 30


def test_ball_comes_to_rest_if_the_model_says_so():
    sol = da.simulate(ball(rest=0.01).build(), (0, 5))
    assert sol["flying"][-1] == 0 and sol["v"][-1] == 0
    assert abs(sol["h"][-1]) < 1e-6


def test_parameters_are_changed_without_another_model():
    model = ball().build()
    sol = da.simulate(model, (0, 2), parameters={"e": 0.9})
    assert sol["n"][-1] == len(bounces(0.9, 2))
    assert sol["e"][0] == 0.9


def clutch(torque, mu=4.0, w=(0.0, 0.0)):
    """Two inertias, friction between them: stuck, it is parametrized by the friction torque, else by acceleration."""
    s = Sketch(
        "clutch", x={"w1": w[0], "w2": w[1], "a1": 0, "a2": 0, "f": 0, "sa": 0},
        discrete={
            "sa > mu": 0, "sa < -mu": 0, "w > 0": 0, "w < 0": 0, "start forward": 0, "start backward": 0, "locked": 0,
            "mode": STUCK, "pre(mode)": STUCK, "initial": 0,
        },
    )  # fmt: skip
    x, z, sa = s.x, s.z, s.x["sa"]
    sliding = ca.if_else(
        z["start forward"], mu,
        ca.if_else(z["start backward"], -mu, ca.if_else(z["pre(mode)"] == FORWARD, mu, -mu)),
    )  # fmt: skip
    s.equations = [
        s.der["w1"] - x["a1"], s.der["w2"] - x["a2"], x["a1"] - (torque(s.t) - x["f"]), 2 * x["a2"] - x["f"],
        x["f"] - ca.if_else(z["locked"], sa, sliding), x["a1"] - x["a2"] - ca.if_else(z["locked"], 0, sa - sliding),
    ]  # fmt: skip
    s.relation("sa > mu", sa - mu)
    s.relation("sa < -mu", -sa - mu)
    s.relation("w > 0", x["w1"] - x["w2"])
    s.relation("w < 0", x["w2"] - x["w1"])
    stuck, was_forward, was_backward = (z["pre(mode)"] == mode for mode in (STUCK, FORWARD, BACKWARD))
    s.assign("start forward", any_of(all_of(stuck, z["sa > mu"]), all_of(z["initial"], z["w > 0"])))
    s.assign("start backward", any_of(all_of(stuck, z["sa < -mu"]), all_of(z["initial"], z["w < 0"])))
    s.assign("locked", ca.logic_not(any_of(was_forward, z["start forward"], was_backward, z["start backward"])))
    s.assign(
        "mode",
        ca.if_else(
            all_of(any_of(was_forward, z["start forward"]), z["w > 0"]), FORWARD,
            ca.if_else(all_of(any_of(was_backward, z["start backward"]), z["w < 0"]), BACKWARD, STUCK),
        ),
    )  # fmt: skip
    s.pre("mode")
    s.flags["initial"] = "initial"
    return s


def clutch_by_small_steps(torque, mu, w, until, steps):
    """The same by an explicit scheme with a set-valued friction law, for comparison."""
    h, (w1, w2) = until / steps, w
    for k in range(steps):
        tau = torque((k + 0.5) * h)
        free = (w1 + h * tau) - w2
        # the impulse that would make both equal, as far as friction can give it
        impulse = np.clip(free / (1 + 0.5), -mu * h, mu * h)
        w1, w2 = w1 + h * tau - impulse, w2 + 0.5 * impulse
    return w1, w2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("w", [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
def test_clutch_sticks_and_slips(method, w):
    sol = da.simulate(clutch(lambda t: 10 * ca.sin(3 * t), w=w).build(), (0, 5), method=method)
    expected = clutch_by_small_steps(lambda t: 10 * np.sin(3 * t), 4.0, w, 5.0, 100_000)
    assert sol.x[-1, :2] == pytest.approx(expected, abs=2e-3)
    assert np.abs(sol["f"]).max() <= 4.0 + 1e-9
    locked = sol["locked"] == 1
    assert locked.any() and not locked.all()
    assert np.abs(sol["w1"] - sol["w2"])[locked].max() < 1e-6


def test_locked_clutch_has_no_events():
    sol = da.simulate(clutch(lambda t: ca.sin(3 * t)).build(), (0, 50))
    assert len(jumps(sol)) == 0
    assert np.abs(sol["w1"] - sol["w2"]).max() < 1e-9


def rectifier():
    """A bridge of ideal diodes with a resistor and a capacitor behind it: each is s > 0 or not."""
    diodes = {f"{what}{i}": 0.0 for what in "sv" for i in range(4)}
    s = Sketch(
        "rectifier", x={"u": 0.0, **diodes, "i": 0.0, "va": 0.0, "vb": 0.0, "vc": 0.0},
        parameters={"C": 1e-3, "R": 100.0, "Ron": 1e-5, "Goff": 1e-5, "Ri": 1.0},
        discrete={f"off{i}": 1 for i in range(4)},
    )  # fmt: skip
    x, p = s.x, s.p
    source = 10 * ca.sin(2 * np.pi * 50 * s.t)
    current = []
    for i in range(4):
        off = s.relation(f"off{i}", -x[f"s{i}"], closed=True)
        s.equations.append(x[f"v{i}"] - x[f"s{i}"] * ca.if_else(off, 1, p["Ron"]))
        current.append(x[f"s{i}"] * ca.if_else(off, p["Goff"], 1))
    # terminals a and b of the source, plus of the load u, minus of the load vc with the resistances to ground
    s.equations += [
        x["va"] - x["vb"] - (source - p["Ri"] * x["i"]),
        x["v0"] - (x["va"] - x["u"] - x["vc"]), x["v1"] - (x["vb"] - x["u"] - x["vc"]),
        x["v2"] - (x["vc"] - x["va"]), x["v3"] - (x["vc"] - x["vb"]),
        x["i"] - (current[0] - current[2]),
        -x["i"] - (current[1] - current[3]),
        x["vb"],
        p["C"] * s.der["u"] + x["u"] / p["R"] - (current[0] + current[1]),
    ]  # fmt: skip
    return s


@pytest.mark.parametrize("method", METHODS)
def test_bridge_rectifier_charges_its_capacitor(method):
    sol = da.simulate(rectifier().build(), (0, 0.1), method=method)
    # with the source's resistance: u follows |10 sin| while it is above, and decays with RC = 0.1 s between
    from scipy.integrate import solve_ivp

    def rate(t, u):
        source = abs(10 * np.sin(2 * np.pi * 50 * t))
        return [(max(source - u[0], 0.0) / 1.0 - u[0] / 100.0) / 1e-3]

    exact = solve_ivp(rate, (0, 0.1), [0.0], max_step=1e-5, rtol=1e-8).y[0, -1]
    assert sol["u"][-1] == pytest.approx(exact, rel=2e-3)
    assert len(jumps(sol)) >= 18


def test_a_clock_strikes_on_time_and_a_controller_holds_its_output():
    s = Sketch(
        "controlled", x={"y": 0.0}, parameters={"T": 0.1},
        discrete={"clock": 0, "w": 0, "pre(w)": 0, "u": 0, "pre(u)": 0, "k": 0, "pre(k)": 0},
    )  # fmt: skip
    s.equations = [s.der["y"] - (s.z["u"] - s.x["y"])]
    s.sample("clock", 0.0, s.p["T"])
    s.assign("w", s.z["clock"])
    s.assign("u", ca.if_else(s.edge("w"), 2 * (1 - s.x["y"]), s.z["pre(u)"]))
    s.assign("k", s.z["pre(k)"] + s.edge("w"))
    s.pre("w", "u", "k")
    sol = da.simulate(s.build(), (0, 10), rtol=1e-9, atol=1e-11)
    y, u, decay = 0.0, 0.0, np.exp(-0.1)
    for _ in range(100):
        u = 2 * (1 - y)
        y = u + (y - u) * decay
    assert sol["y"][-1] == pytest.approx(y, abs=1e-8)
    assert sol["k"][-1] == 101  # also at the start and at the end
    ticks = jumps(sol)
    assert np.array_equal(ticks, np.arange(1, 101) * 0.1)  # exactly
    assert sol.at(0.05)["u"] == 2.0


def test_times_of_events_may_depend_on_what_happened():
    """Each event says when the next one is: at T, then 3 T, 7 T, 15 T, …"""
    s = Sketch(
        "times", x={"y": 0.0}, parameters={"T": 0.1},
        discrete={"late": 0, "w": 0, "pre(w)": 0, "next": 0.1, "pre(next)": 0.1, "n": 0, "pre(n)": 0},
    )  # fmt: skip
    s.equations = [s.der["y"] - s.z["n"]]
    s.relation("late", s.t - s.z["pre(next)"], at=s.z["pre(next)"], closed=True)
    s.assign("w", s.z["late"])
    s.assign("n", s.z["pre(n)"] + s.edge("w"))
    s.assign("next", s.z["pre(next)"] + ca.if_else(s.edge("w"), s.p["T"] * 2 ** s.z["n"], 0))
    s.pre("w", "n", "next")
    sol = da.simulate(s.build(), (0, 5))
    expected = 0.1 * (2.0 ** np.arange(1, 6) - 1)
    assert np.allclose(jumps(sol), expected, rtol=1e-14)
    y = sum(n * (b - a) for n, (a, b) in enumerate(zip([0, *expected], [*expected, 5.0], strict=True)))
    assert sol["y"][-1] == pytest.approx(y, rel=1e-9)


@pytest.mark.parametrize("closed", [True, False])
def test_relations_of_time_at_the_very_start(closed):
    s = Sketch("step", x={"y": 0.0}, discrete={"on": 0, "first": -1, "initial": 0})
    s.equations = [s.der["y"] - s.z["on"]]
    s.relation("on", s.t, at=0, closed=closed)
    s.assign("first", ca.if_else(s.z["initial"], s.z["on"], s.z["first"]))
    s.flags["initial"] = "initial"
    sol = da.simulate(s.build(), (0, 1))
    assert sol["first"][-1] == closed
    assert sol["y"][-1] == pytest.approx(1.0, rel=1e-9)


def test_events_at_the_same_time_are_one():
    """Two relations with the same root, a clock and a breakpoint of an input, all at t = 1: a counter counts one."""
    s = Sketch(
        "together", x={"y": 0.0, "q": 0.0}, inputs={"u": da.Input(lambda t: 1.0 + (t > 1), breakpoints=[1.0])},
        discrete={"a": 0, "b": 0, "clock": 0, "w": 0, "pre(w)": 0, "n": 0, "pre(n)": 0, "all": 0, "pre(all)": 0},
    )  # fmt: skip
    s.equations = [s.der["y"] - 1, s.der["q"] - s.u["u"]]
    s.relation("a", s.x["y"] - 1)
    s.relation("b", s.x["y"] ** 3 - 1)
    s.sample("clock", 1.0, 1.0)
    s.assign("w", any_of(s.z["a"], s.z["b"], s.z["clock"]))
    s.assign("n", s.z["pre(n)"] + s.edge("w"))
    s.assign("all", any_of(s.z["pre(all)"], all_of(s.z["a"], s.z["b"], s.z["clock"])))
    s.pre("w", "n", "all")
    sol = da.simulate(s.build(), (0, 1.5))
    assert sol["n"][-1] == 1
    assert len(jumps(sol)) <= 2


def test_a_relation_that_stays_zero_changes_nothing():
    s = Sketch("zero", x={"a": 0.0, "b": 0.0}, discrete={"a > b": 0, "a >= b": 0})
    s.equations = [s.der["a"] - ca.sin(s.t) - s.z["a > b"], s.der["b"] - ca.sin(s.t) - s.z["a > b"]]
    s.relation("a > b", s.x["a"] - s.x["b"])
    s.relation("a >= b", s.x["a"] - s.x["b"], closed=True)
    sol = da.simulate(s.build(), (0, 20))
    assert len(jumps(sol)) == 0
    assert set(sol["a > b"]) == {0} and set(sol["a >= b"]) == {1}


def test_chattering_is_named():
    s = Sketch("relay", x={"y": 1.0}, discrete={"y > 0": 1})
    s.equations = [s.der["y"] - ca.if_else(s.z["y > 0"], -1, 1)]
    s.relation("y > 0", s.x["y"])
    with pytest.raises(da.Chattering, match=r"'y > 0' changes again and again at t = 1 ") as caught:
        da.simulate(s.build(), (0, 3))
    assert caught.value.solution.t[-1] == pytest.approx(1.0, abs=1e-5)


def test_an_event_that_does_not_settle_is_named():
    s = Sketch("liar", x={"y": 0.0, "w": 0.0}, discrete={"w < 1": 0, "on": 0})
    s.equations = [s.der["y"] - 1, s.x["w"] - ca.if_else(s.z["on"], ca.if_else(s.z["w < 1"], 2, 0), 3)]
    s.relation("w < 1", 1 - s.x["w"])
    s.relation("on", s.t - 1, at=1)
    with pytest.raises(da.UnsettledEvent, match=r"at t = 1 has no end: .*'w < 1'") as caught:
        da.simulate(s.build(), (0, 2))
    assert caught.value.solution.t[-1] == 1.0


def test_bits_that_go_round_together_are_found():
    """Of two relations both want to change; only one may. One change at a time finds it."""
    s = Sketch("flip", x={"y": 0.0, "a": 0.0, "b": 0.0}, discrete={"A": 0, "B": 0, "late": 0})
    s.equations = [
        s.der["y"] - s.x["a"] - s.x["b"],
        s.x["a"] - ca.if_else(s.z["late"], ca.if_else(s.z["B"], -1, 1), -1),
        s.x["b"] - ca.if_else(s.z["late"], ca.if_else(s.z["A"], -1, 1), -1),
    ]
    s.relation("A", s.x["a"])
    s.relation("B", s.x["b"])
    s.relation("late", s.t - 1, at=1)
    sol = da.simulate(s.build(), (0, 2))
    assert {sol["A"][-1], sol["B"][-1]} == {0, 1}


def test_a_pendulum_is_pushed():
    """Reinitialization of one velocity of a higher-index model: the other follows from the constraint."""
    s = Sketch(
        "pushed", x={"x": 0.6, "y": -0.8, "vx": 0.0, "vy": 0.0, "lam": 0.0},
        discrete={"late": 0, "w": 0, "pre(w)": 0},
    )  # fmt: skip
    x = s.x
    s.equations = [
        s.der["x"] - x["vx"], s.der["y"] - x["vy"], s.der["vx"] + x["x"] * x["lam"],
        s.der["vy"] + x["y"] * x["lam"] + 9.81, x["x"] ** 2 + x["y"] ** 2 - 1,
    ]  # fmt: skip
    s.relation("late", s.t - 0.5, at=0.5)
    s.assign("w", s.z["late"])
    s.pre("w")
    s.reinit(s.edge("w"), "vx", 2 * x["vx"])
    model = s.build(given=["x", "y", "vx", "vy"])
    assert model.index == 3
    for method in ("radau5", "qualidaes", "odassl", "dassl"):
        sol = da.simulate(model, (0, 1), method=method, rtol=1e-8, atol=1e-9)
        k = np.flatnonzero(np.diff(sol.t) == 0)[0]
        before, after = sol.x[k], sol.x[k + 1]
        assert sol.t[k] == 0.5
        assert after[2] == pytest.approx(2 * before[2], rel=1e-12)
        assert after[:2] == pytest.approx(before[:2], abs=1e-7)
        assert after[0] * after[2] + after[1] * after[3] == pytest.approx(0, abs=1e-9)
        energy = sol["vx"] ** 2 / 2 + sol["vy"] ** 2 / 2 + 9.81 * sol["y"]
        assert energy[k + 1 :] == pytest.approx(energy[-1], abs=1e-5)


def test_time_does_not_run_backwards():
    with pytest.raises(da.OptionError, match="forwards in time"):
        da.simulate(ball().build(), (1, 0))


def test_assertions_fail_with_their_message_and_keep_the_result():
    s = Sketch("asserted", x={"y": 0.0}, discrete={"y < 1": 1})
    s.equations = [s.der["y"] - 1]
    s.relation("y < 1", 1 - s.x["y"])
    s.claim(s.z["y < 1"], "y is ", s.x["y"], ", which is too much", name="assert at line 3")
    with pytest.raises(da.AssertionFailed, match=r"y is 1, which is too much \(at t = 1, assert at line 3\)") as caught:
        da.simulate(s.build(), (0, 2))
    assert caught.value.solution.t[-1] == pytest.approx(1.0, rel=1e-9)


def test_terminations_end_the_run():
    s = Sketch("ended", x={"y": 0.0}, discrete={"y > 1": 0})
    s.equations = [s.der["y"] - 1]
    s.relation("y > 1", s.x["y"] - 1)
    s.claim(s.z["y > 1"], "enough", name="terminate", ends=True)
    sol = da.simulate(s.build(), (0, 2))
    assert sol.status == "terminated by the model" and sol.success and "enough" in sol.message
    assert sol.t[-1] == pytest.approx(1.0, rel=1e-9)


def test_warnings_are_given_once():
    s = Sketch("warned", x={"y": 0.0}, discrete={"y < 1": 1, "clock": 0})
    s.equations = [s.der["y"] - 1]
    s.relation("y < 1", 1 - s.x["y"])
    s.sample("clock", 0, 0.1)
    s.claim(s.z["y < 1"], "large", name="assert", warns=True)
    with pytest.warns(da.AssertionWarning, match="large") as caught:
        da.simulate(s.build(), (0, 2))
    assert len(caught) == 1


def test_users_events_stand_beside_those_of_the_model():
    model = ball().build()
    top = da.Event(lambda s: s.v, direction=-1, name="top")
    kick = da.Event(lambda s: s.t - 1.0, action=lambda s: {"v": s.v + 1.0, "n": s.n + 100}, name="kick")
    sol = da.simulate(model, (0, 2), events=[top, kick])
    assert len(sol.events.named("top").t) == 3
    assert sol["n"][-1] > 100
    before, after = (sol.x[sol.t == 1.0][k, 1] for k in (0, -1))
    assert after == pytest.approx(before + 1.0)


def test_hybrid_models_travel():
    import pickle

    model = pickle.loads(pickle.dumps(ball().build()))
    sol, again = da.simulate(model, (0, 2)), da.simulate(ball().build(), (0, 2))
    assert np.array_equal(sol.x, again.x) and np.array_equal(sol["n"], again["n"])


def flow_matrix(A, b, t):
    """Of y' = A y + b, for (y, 1)."""
    big = np.zeros((len(A) + 1, len(A) + 1))
    big[:-1, :-1], big[:-1, -1] = A, b
    return expm(big * t)


def test_random_piecewise_linear_systems_against_exact_solutions():
    """y' = A_i y + b_i on both sides of a hyperplane, crossed and not slid on, against matrix exponentials."""
    rng, tried = np.random.default_rng(5), 0
    while tried < 6:
        n = int(rng.integers(2, 5))
        A = [rng.normal(size=(n, n)) - 0.3 * np.eye(n) for _ in range(2)]
        b, c, y0 = [rng.normal(size=n) for _ in range(2)], rng.normal(size=n), rng.normal(size=n)

        def flow(side, y, t, n=n, A=A, b=b):
            return (flow_matrix(A[side], b[side], t) @ np.append(y, 1.0))[:n]

        t, y, side, times, transversal = 0.0, y0, int(c @ y0 > 0), [], True
        step = [flow_matrix(A[k], b[k], 1e-3) for k in range(2)]
        while transversal and t < 2:
            ahead, low = y, t
            while low < 2 and (c @ (new := (step[side] @ np.append(ahead, 1.0))[:n])) * (1 if side else -1) >= 0:
                ahead, low = new, low + 1e-3
            if low >= 2:
                break
            root = brentq(lambda g, z=ahead, s=side, c=c: c @ flow(s, z, g), 1e-9 * (low == t), 1e-3, xtol=1e-15)
            y, t, side = flow(side, ahead, root), low + root, 1 - side
            times.append(t)
            speeds = [c @ (A[s] @ y + b[s]) for s in range(2)]
            transversal = speeds[0] * speeds[1] > 1e-2
        if not transversal or not times:
            continue
        tried += 1
        if times[-1] > 1.999:
            continue
        y = flow(side, y, 2 - t)
        s = Sketch("linear", x={f"y{i}": y0[i] for i in range(n)}, discrete={"side": 0})
        x = s.symbols.x
        s.equations = [
            s.symbols.dx[i]
            - ca.if_else(s.z["side"], ca.dot(ca.DM(A[1][i]), x) + b[1][i], ca.dot(ca.DM(A[0][i]), x) + b[0][i])
            for i in range(n)
        ]
        s.relation("side", ca.dot(ca.DM(c), x))
        sol = da.simulate(s.build(), (0, 2), rtol=1e-9, atol=1e-11)
        assert sol.x[-1] == pytest.approx(y, abs=1e-6)
        assert jumps(sol) == pytest.approx(times, abs=1e-7)
