"""Ctrl-C: nothing that was computed is lost, whatever was at work when it came, and the next simulation works."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import dalembert as da
from dalembert.background import in_background
from dalembert.solvers import stepper as stepper_module
from dalembert.solvers.stepper import KernelStepper

PENDULUM = da.problems.pendulum()


def swing(end, problem=PENDULUM, **more):
    return da.simulate(problem.model, (0, end), p0=problem.p0, v0=problem.v0, **more)


@pytest.fixture
def impatient(monkeypatch):
    """No kernel is quick; of a problem of its own, since steppers that are used again know their pace."""
    monkeypatch.setattr(stepper_module, "IMPATIENT", 0.0)
    monkeypatch.setattr(stepper_module, "QUICK", 0.0)
    monkeypatch.setattr(stepper_module, "LARGE", 0)
    return da.problems.pendulum()


METHODS = [da.Radau5(), da.Geoms(), da.Dassl(), da.Odassl(), da.Mexx(), da.Hem5(), da.Rkf45()]


@pytest.fixture
def interrupting(monkeypatch):
    """Let the n-th call of a kernel be followed by Ctrl-C, as it is noticed when the kernel returns."""

    def install(n):
        work, calls = KernelStepper._work, []

        def interrupted(self):
            reason = work(self)
            calls.append(int(self.buffer.used[0]))
            if len(calls) == n:
                raise KeyboardInterrupt
            return reason

        monkeypatch.setattr(KernelStepper, "_work", interrupted)
        return calls

    return install


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("number", [1, 2])
def test_steps_of_the_interrupted_kernel_are_kept(method, number, interrupting):
    whole = swing(20, method=method)
    calls = interrupting(number)
    with pytest.raises(da.Interrupted, match=r"interrupted at t = ") as caught:
        swing(200, method=method)
    sol = caught.value.solution
    assert sum(calls) > 0
    assert len(sol.t) == 1 + sum(calls)
    assert sol.status == "interrupted"
    t = min(sol.t[-1], 20.0)
    np.testing.assert_allclose(sol.at(t).p, whole.at(t).p, atol=1e-2)


def test_with_events_at_most_the_last_step_is_dropped(interrupting):
    calls = interrupting(1)
    event = da.Event(lambda s: s.x, name="through")
    with pytest.raises(da.Interrupted) as caught:
        swing(200, method="hem5", events=event)
    sol = caught.value.solution
    assert len(sol.t) == sum(calls)  # the start, and all steps but one
    assert all(e.t <= sol.t[-1] for e in sol.events)


def test_output_times_of_the_interrupted_kernel_are_kept(interrupting):
    interrupting(2)
    wanted = np.linspace(0, 200, 2001)
    with pytest.raises(da.Interrupted) as caught:
        swing(200, method="hem5", t_eval=wanted, dense_output=False)
    sol = caught.value.solution
    assert len(sol.t) > 2
    np.testing.assert_array_equal(sol.t, wanted[: len(sol.t)])


def test_an_action_that_is_interrupted_keeps_everything_before_it():
    def action(s):
        raise KeyboardInterrupt

    hit = da.Event(lambda s: s.x, action=action)
    with pytest.raises(da.Interrupted) as caught:
        swing(20, events=hit)
    sol = caught.value.solution
    assert abs(sol.p[-1, 0]) < 1e-6
    assert len(sol.events) == 1


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_kernels_that_take_long_work_in_a_thread(method, impatient, monkeypatch):
    """With the same results."""
    plain = swing(5, method=method)
    threads, work = [], KernelStepper._work

    def observed(self):
        threads.append(threading.current_thread() is threading.main_thread())
        return work(self)

    monkeypatch.setattr(KernelStepper, "_work", observed)
    again = swing(5, impatient, method=method)
    assert threads
    assert not any(threads)
    np.testing.assert_array_equal(plain.x, again.x)


def test_a_kernel_that_works_in_a_thread_is_told_to_stop(impatient, monkeypatch):
    """The main thread is interrupted while it waits; the kernel returns early, and its steps are in the result."""
    work, begun = KernelStepper._work, threading.Event()

    def watched(self):
        if self.t > 20:
            begun.set()
        return work(self)

    monkeypatch.setattr(KernelStepper, "_work", watched)

    def interrupt():
        begun.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(da.Interrupted) as caught:
            swing(1e9, impatient, method="hem5", max_steps=10**9, t_eval=da.Output(max_spacing=1e5))
    finally:
        signal.signal(signal.SIGINT, before)
    assert caught.value.solution.trajectory.interval[1] > 20


def test_errors_of_work_in_the_background_arrive():
    with pytest.raises(ZeroDivisionError):
        in_background(lambda: 1 // 0)
    assert in_background(lambda: threading.current_thread() is threading.main_thread()) is False


def test_preparation_that_is_interrupted(monkeypatch):
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-s.x])

    def raises(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(da.Hem5, "new_stepper", raises)
        with pytest.raises(da.Interrupted, match="prepared: nothing had been computed") as caught:
            da.simulate(model, (0, 1), p0=[1], method="hem5")
    assert caught.value.solution is None
    assert da.simulate(model, (0, 1), p0=[1], method="hem5").success


CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import dalembert as da
problem = da.problems.pendulum_chain(60, t_end=1e6)
print("ready", flush=True)
try:
    problem.simulate(method=sys.argv[1], max_steps=10**9)
except da.Interrupted as interrupt:
    print("interrupted", flush=True)
print(da.problems.pendulum().simulate(method=sys.argv[1]).status, flush=True)
"""


@pytest.mark.parametrize("method", ["geoms", "hem5"])
@pytest.mark.parametrize("cold", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_process_that_is_interrupted_at_any_moment(method, cold, tmp_path):
    """While it imports, traces, compiles or integrates: it says so, and goes on with the next simulation."""
    environment = {**os.environ, "DALEMBERT_QUIET": "1"}
    if cold:
        environment["DALEMBERT_CACHE_DIR"] = str(tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, method], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout.readline().strip() == "ready"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(np.random.default_rng().uniform(0.5, 4.0))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
    finally:
        child.kill()
    assert out.split() == ["interrupted", "finished"], err
