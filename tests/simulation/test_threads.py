"""One model in many threads: the same results as one after the other, bit for bit."""

import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da

METHODS = ("hem5", "rkf45", "mexx", "radau5", "geoms", "dassl", "odassl", "auto")
T_END = 0.12

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.UntraceableWarning")


def drag(s):
    """A force that cannot be traced, of parameters, an input and a discrete variable."""
    pull = float(s.u_x) * float(s.gain)
    return [pull - 0.1 * float(s.x_dot), -float(s.g) - (0.05 if float(s.on) > 0.5 else 0.0) * float(s.y_dot)]


def traced(s):
    return [s.u_x * s.gain - 0.1 * s.x_dot, -s.g - 0.05 * s.on * s.y_dot]


def new_model(opaque):
    return da.EquationsOfMotion(
        p=["x", "y"], parameters={"g": 9.81, "gain": 1.0}, inputs={"u_x": 0.0}, discrete={"on": 1}, mass=[1, 1],
        force=drag if opaque else traced, holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )  # fmt: skip


def events(k):
    """Events of one run: with functions that cannot be traced and those that can, with actions that change the state
    and a discrete variable, and one that ends the run."""
    return [
        da.Event(lambda s: float(s.x) - 0.995, name="slower", action=lambda s: {"x_dot": 0.9 * s.x_dot, "on": 0}),
        da.Event(lambda s: s.y + 0.03 - 0.001 * k, name="seen"),
        da.Event(lambda s: s.t - 0.05 - 0.002 * k, name="again", action=lambda s: {"on": 1}),
        da.Event(lambda s: float(s.t) - 0.1 - 0.001 * k, name="end", terminal=True),
    ]


def run(model, task):
    """One simulation and all numbers of its result as bytes."""
    method, k = task
    solution = da.simulate(
        model, (0.0, T_END), p0=[1.0, 0.0], method=method, events=events(k), rtol=1e-6, atol=1e-6,
        parameters={"g": 9.0 + 0.1 * k, "gain": 0.5 + k}, inputs={"u_x": lambda t: 0.1 * k * np.sin(20.0 * t)},
    )  # fmt: skip
    times = np.linspace(0.0, solution.t[-1], 7)
    numbers = [solution.t, solution.x, solution.at(times).x, solution.residual("position")]
    found = [(event.name, float(event.t)) for event in solution.events]
    return solution.status, solution.stats.accepted, found, *(np.ascontiguousarray(part).tobytes() for part in numbers)


def together(model, tasks):
    """All at once, in as many threads, which begin at the same moment."""
    barrier = threading.Barrier(len(tasks))

    def one(task):
        barrier.wait(60)
        return run(model, task)

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(one, tasks))


def rounds(count, seed, fresh_every):
    """Rounds of eight threads, in which a new model is shared by all now and then: preparations compete then."""
    rng = random.Random(seed)
    expected = {}
    serial = {opaque: new_model(opaque) for opaque in (True, False)}
    shared = {opaque: new_model(opaque) for opaque in (True, False)}
    interval = sys.getswitchinterval()
    try:
        for number in range(count):
            opaque = rng.random() < 0.5
            if number % fresh_every == 0:
                shared[opaque] = new_model(opaque)
            one = rng.choice(METHODS)
            tasks = [(one if rng.random() < 0.5 else rng.choice(METHODS), rng.randrange(4)) for _ in range(8)]
            for task in tasks:
                if (opaque, task) not in expected:
                    expected[opaque, task] = run(serial[opaque], task)
            sys.setswitchinterval(rng.choice([1e-5, 1e-4, interval]))
            found = together(shared[opaque], tasks)
            sys.setswitchinterval(interval)
            for task, result in zip(tasks, found, strict=True):
                assert result == expected[opaque, task], f"round {number}, {'opaque' if opaque else 'traced'}: {task}"
    finally:
        sys.setswitchinterval(interval)


def test_threads_give_what_one_after_the_other_gives():
    rounds(4, seed=1, fresh_every=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_rounds(seed):
    rounds(100, seed=100 + seed, fresh_every=5)


def test_every_thread_hears_of_its_own_fault():
    """An exception of one thread's function stays in that thread."""
    model = new_model(True)
    good = run(model, ("hem5", 1))

    def one(k):
        if k % 2:
            return run(model, ("hem5", 1))

        def value(s):
            if float(s.t) > 0.03:
                raise RuntimeError(f"of thread {k}")
            return 1.0

        with pytest.raises(Exception, match=f"of thread {k}"):
            da.simulate(model, (0, T_END), p0=[1.0, 0.0], method="hem5", events=da.Event(value, name="v"))
        return None

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(one, range(8)))
    assert [result == good for result in results] == [False, True] * 4
