"""Events of hybrid DAEs that are written by hand: reinitialization, friction, ideal diodes, switches."""

import casadi as ca
import numpy as np
import pytest
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
    with pytest.raises(da.Chattering, match=r"'h < 0' changes ever faster until t = 4\.06") as caught:
        da.simulate(ball().build(), (0, 5))
    assert caught.value.relation == "h < 0"
    assert caught.value.solution["n"][-1] > 30


def test_ball_comes_to_rest_if_the_model_says_so():
    sol = da.simulate(ball(rest=0.01).build(), (0, 5))
    assert sol["flying"][-1] == 0
    assert sol["v"][-1] == 0
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
    assert locked.any()
    assert not locked.all()
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


@pytest.mark.parametrize("method", METHODS)
def test_feedback_drives_a_switch_over(method):
    """A relaxation oscillator: between its saturations the amplifier has a solution, too, which leads nowhere."""
    s = Sketch("oscillator", x={"c": 0, "out": 10, "in": 5}, discrete={"high": 1, "low": 0}, parameters={"V0": 1e4})
    x = s.x
    high = s.relation("high", s.p["V0"] * x["in"] - 10)
    low = s.relation("low", -10 - s.p["V0"] * x["in"])
    s.equations = [
        s.der["c"] - (x["out"] - x["c"]), x["in"] - (0.5 * x["out"] - x["c"]),
        x["out"] - ca.if_else(high, 10, ca.if_else(low, -10, s.p["V0"] * x["in"])),
    ]  # fmt: skip
    sol = da.simulate(s.build(given=["c"]), (0, 10), method=method, rtol=1e-8, atol=1e-10)
    # c goes from 0 and then from −5 towards 10 until 5, where V0·in = 10 is left
    edge = 5 - 10 / 1e4
    times = np.log(10 / (10 - edge)) + np.arange(12) * np.log((10 + edge) / (10 - edge))
    up = np.flatnonzero(np.diff(sol["out"]) != 0)
    assert np.unique(np.round(sol.t[up], 6)) == pytest.approx(times[times < 10], abs=2e-6)
    assert set(np.round(sol["out"], 6)) == {10.0, -10.0}


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
