"""Forks while other threads prepare simulations, and from within a user's function."""

import faulthandler
import multiprocessing
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert import locks
from dalembert.kept import Kept, Slot

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def in_child(work):
    """Whether `work` ends well in a forked process, in less time than one that waits for ever."""
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(120, exit=True)
        try:
            work()
        except BaseException:
            faulthandler.dump_traceback()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def small(k=1.0):
    return da.EquationsOfMotion(
        p=["x", "y"], mass=[1, k], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1]
    )  # fmt: skip


def fall(model):
    return da.simulate(model, (0, 0.2), p0=[1, 0], method="hem5").x[-1].tolist()


class Other:
    """Another thread that has something until it is told to let go."""

    def __init__(self, take, give_back):
        self._has, self._go = threading.Event(), threading.Event()

        def work():
            take()
            self._has.set()
            self._go.wait(60)
            give_back()

        self.thread = threading.Thread(target=work)
        self.thread.start()
        self._has.wait(60)

    def let_go(self):
        self._go.set()
        self.thread.join()


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_lock_of_another_thread_begins_anew(kind):
    lock = locks.renewed(kind())
    other = Other(lock.acquire, lock.release)
    assert in_child(lambda: lock.acquire(timeout=5) or os._exit(1))
    assert not lock.acquire(timeout=0.01)
    other.let_go()


def test_lock_of_the_forking_thread_stays_its_own():
    lock = locks.renewed(threading.RLock())

    def work():
        lock.release()  # an error if it were a new one
        assert lock.acquire(timeout=5)

    with lock:
        assert in_child(work)


def test_fork_waits_for_what_must_not_be_left_half_done(monkeypatch):
    monkeypatch.setattr(locks, "_held", [threading.RLock()])
    (lock,) = locks._held
    for take, give_back in ((lock.acquire, lock.release), (locks.begin, locks.end)):
        done = []
        other = Other(take, lambda done=done, give_back=give_back: (done.append(1), give_back()))
        threading.Timer(0.3, other.let_go).start()
        assert in_child(lambda done=done: os._exit(0 if done else 1))
        other.thread.join()
    assert lock.acquire(timeout=5)
    lock.release()
    assert locks._depth == 0


def test_patience_ends(monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    other = Other(locks.begin, locks.end)
    assert in_child(lambda: fall(small()))
    other.let_go()


def test_half_made_things_are_made_again_in_the_child(monkeypatch):
    """A thread that makes something for so long that nobody waits for it."""
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    slot, kept = Slot("things"), Kept()
    begun, go = threading.Event(), threading.Event()

    def make():
        begun.set()
        go.wait(60)
        return "parent's"

    thread = threading.Thread(target=kept.get, args=(slot, 1, make))
    thread.start()
    begun.wait(60)
    assert in_child(lambda: os._exit(0 if kept.get(slot, 1, lambda: "child's") == "child's" else 1))
    go.set()
    thread.join()
    assert kept.get(slot, 1, lambda: "new") == "parent's"


def check_forks(count, seed, size):
    """Forks at random moments of preparing and running a simulation; the child uses the same model or another one."""
    rng = random.Random(seed)
    fall(small())
    for k in range(count):
        problem = da.problems.pendulum_chain(size + k, t_end=0.005)
        thread = threading.Thread(target=problem.simulate, kwargs={"method": "radau5"})
        thread.start()
        time.sleep(rng.uniform(0.0, 0.01 * size))
        same = rng.random() < 0.5
        good = in_child(lambda: problem.simulate(method="radau5") if same else fall(small(2.0 + k)))  # noqa: B023
        thread.join()
        assert good, f"fork {k} of {count}, {'same' if same else 'another'} model"


def test_fork_while_another_thread_prepares():
    check_forks(3, seed=1, size=20)


@pytest.mark.slow
def test_forks_at_many_moments():
    check_forks(40, seed=2, size=60)


@pytest.mark.filterwarnings("ignore::dalembert.UntraceableWarning")
@pytest.mark.parametrize("where", ["tracing", "force", "action"])
def test_fork_within_a_users_function(where):
    """The child, too, comes to the end of the simulation in which it began, and can do another."""
    parent = os.getpid()
    children = []

    def fork():
        if not children:
            children.append(os.fork())
            if children[0] == 0:
                faulthandler.dump_traceback_later(120, exit=True)

    def force(s):
        if where == "tracing" or (where == "force" and float(s.t) > 0.05):
            fork()
        return [0.0 * float(s.x), -9.81]

    def act(s):
        if where == "action":
            fork()
        return {"y_dot": 0.9 * s.y_dot}

    model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=force, holonomic=lambda s: [s.x**2 + s.y**2 - 1])
    try:
        event = da.Event(lambda s: s.t - 0.1, name="e", action=act)
        end = da.simulate(model, (0, 0.2), p0=[1, 0], method="hem5", events=event).x[-1]
        assert np.isfinite(end).all()
        fall(small(3.0))
    except BaseException:
        if os.getpid() != parent:
            os._exit(1)
        raise
    if os.getpid() != parent:
        os._exit(0)
    assert os.waitpid(children[0], 0)[1] == 0


def _task(k):
    return fall(small(k))


def test_pools_of_processes_from_threads():
    """Each thread has a pool whose workers are forked while the other threads simulate."""
    expected = [_task(k) for k in (1.0, 2.0)]
    context = multiprocessing.get_context("fork")

    def one(_):
        own = _task(1.0)
        with context.Pool(2) as pool:
            found = pool.map_async(_task, (1.0, 2.0)).get(120)
        return [own, *found]

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(one, range(3))) == [[expected[0], *expected]] * 3
