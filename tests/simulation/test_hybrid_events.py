"""Events of hybrid DAEs that are written by hand: times, clocks, claims, what does not settle."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from tests.simulation.test_hybrid_motion import ball
from tests.symbolic import Sketch, all_of, any_of, jumps

import dalembert as da


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


def test_a_relation_and_a_clock_at_the_same_time():
    """The root is where the clock stops the integration: it goes on from there, and not from before."""
    s = Sketch(
        "both", x={"y": 0.0}, discrete={"y > 1/2": 0, "clock": 0, "n": 0, "pre(n)": 0, "w": 0, "pre(w)": 0},
    )  # fmt: skip
    s.equations = [s.der["y"] - 1 - s.z["y > 1/2"]]
    s.relation("y > 1/2", s.x["y"] - 0.5)
    s.sample("clock", 0.25, 0.25)
    s.assign("w", s.z["clock"])
    s.assign("n", s.z["pre(n)"] + s.edge("w"))
    s.pre("n", "w")
    sol = da.simulate(s.build(), (0, 1.1))
    assert (np.diff(sol.t) >= 0).all()
    assert sol["y"][-1] == pytest.approx(0.5 + 2 * 0.6)
    assert sol["n"][-1] == 4
    assert jumps(sol).tolist() == [0.25, 0.5, 0.75, 1.0]
    assert sol.events.named("sample of clock").t.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert sol.events.named("y > 1/2").t.tolist() == [0.5]
    assert sol.names == ("y", "n", "w")
    assert "y > 1/2" in sol


def test_a_relation_that_stays_zero_changes_nothing():
    s = Sketch("zero", x={"a": 0.0, "b": 0.0}, discrete={"a > b": 0, "a >= b": 0})
    s.equations = [s.der["a"] - ca.sin(s.t) - s.z["a > b"], s.der["b"] - ca.sin(s.t) - s.z["a > b"]]
    s.relation("a > b", s.x["a"] - s.x["b"])
    s.relation("a >= b", s.x["a"] - s.x["b"], closed=True)
    sol = da.simulate(s.build(), (0, 20))
    assert len(jumps(sol)) == 0
    assert set(sol["a > b"]) == {0}
    assert set(sol["a >= b"]) == {1}


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
    assert sol.status == "terminated by the model"
    assert sol.success
    assert "enough" in sol.message
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
    assert np.array_equal(sol.x, again.x)
    assert np.array_equal(sol["n"], again["n"])


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
