"""Workers of a study: each simulates members one after the other, here or in a process of its own.

A process that dies costs the member that it was simulating; the next one gets another process.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from typing import IO, Any, Protocol

from dalembert.errors import SimulationError
from dalembert.sweeps.member import FAILED, Job, Outcome

#: members that a process is given at once: the next one is there when it has finished one
AHEAD = 2
#: bytes of the length of a message
LENGTH = 8
#: seconds that a process has to end when nobody needs it any more
GRACE = 10.0
#: deaths of processes one after the other, without an answer, that mean that none can do it
MOST_DEATHS = 8

Take = Callable[[], int | None]
Put = Callable[[int, Outcome], None]


class Worker(Protocol):
    """Whoever simulates members one after the other."""

    def serve(self, take: Take, sample: Callable[[int], Mapping[str, Any]], put: Put) -> None:
        """Until there is nothing to take."""

    def close(self) -> object: ...


class Local:
    """The thread that calls it."""

    def __init__(self, job: Job):
        self._job = job

    def serve(self, take: Take, sample: Callable[[int], Mapping[str, Any]], put: Put) -> None:
        while (number := take()) is not None:
            put(number, self._job.run(sample(number)))

    def close(self) -> None:
        pass


class Remote:
    """Base of workers that are processes."""

    def __init__(self) -> None:
        self._pipes: tuple[IO[bytes], IO[bytes]] | None = None  # to it, from it

    def _start(self) -> tuple[IO[bytes], IO[bytes]]:
        raise NotImplementedError

    def _wait(self) -> int:
        """For its end; returns the exit code, negative for a signal."""
        raise NotImplementedError

    def serve(self, take: Take, sample: Callable[[int], Mapping[str, Any]], put: Put) -> None:
        sent: deque[int] = deque()
        waiting: deque[int] = deque()  # those that a process had got before it died at another
        deaths = 0  # since the last answer
        while True:
            try:
                if self._pipes is None:
                    self._pipes = self._start()
                to, from_it = self._pipes
                while len(sent) < AHEAD:
                    number = waiting.popleft() if waiting else take()
                    if number is None:
                        break
                    sent.append(number)
                    send(to, pickle.dumps(sample(number)))
                if not sent:
                    return
                answer = receive(from_it)
            except (OSError, EOFError):
                code = self.close()
                how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
                deaths += 1
                if deaths > MOST_DEATHS or not sent:
                    raise SimulationError(
                        f"processes that shall simulate members die one after the other, {how}: their messages say "
                        "why. Try engine='threads'"
                    ) from None
                dead = sent.popleft()
                waiting.extend(sent)
                sent.clear()
                put(dead, Outcome(status=FAILED, message=f"the process that simulated it died {how}", lasting=False))
                continue
            deaths = 0
            put(sent.popleft(), pickle.loads(answer))  # of a process that this one has started

    def close(self) -> int:
        if self._pipes is None:
            return 0
        pipes, self._pipes = self._pipes, None
        for pipe in pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        return self._wait()


class Spawned(Remote):
    """A new process, which is sent the job."""

    def __init__(self, packed: bytes):
        super().__init__()
        self._packed = packed

    def _start(self) -> tuple[IO[bytes], IO[bytes]]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dalembert.sweeps.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )  # fmt: skip
        down, up = self._process.stdin, self._process.stdout
        assert down is not None, "a pipe was asked for"
        assert up is not None, "a pipe was asked for"
        send(down, self._packed)
        return down, up

    def _wait(self) -> int:
        try:
            return self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class Forked(Remote):
    """A copy of this process, which has everything compiled. It is made at once: before other threads are there."""

    def __init__(self, job: Job):
        super().__init__()
        self._job, self._after = job, None
        down, up = os.pipe(), os.pipe()
        with warnings.catch_warnings():  # newer Pythons warn of forks where there are threads; ours wait for that
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                _close_all_but(down[0], up[1])
                answer(os.fdopen(down[0], "rb"), os.fdopen(up[1], "wb"), job.run)
            finally:
                os._exit(0)
        os.close(down[0])
        os.close(up[1])
        self._pipes = os.fdopen(down[1], "wb"), os.fdopen(up[0], "rb")

    def _start(self) -> tuple[IO[bytes], IO[bytes]]:
        """Another one in place of one that died: threads are at work now, and a fork would copy what they are at."""
        self._after = Spawned(self._job.packed())
        return self._after._start()

    def _wait(self) -> int:
        if self._after is not None:
            return self._after._wait()
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _close_all_but(*kept: int) -> None:
    """Files of the process that was forked, other workers' pipes above all: they must see when that one ends."""
    import resource  # not on every system, and where it is not, nobody forks

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    before = 3
    for one in (*sorted(kept), min(most, 1 << 16)):
        os.closerange(before, one)
        before = one + 1


def answer(questions: IO[bytes], answers: IO[bytes], run: Callable[[Mapping[str, Any]], Outcome]) -> None:
    """Simulate what is asked for, until nobody asks any more."""
    try:
        while True:
            send(answers, pickle.dumps(run(pickle.loads(receive(questions)))))
    except (EOFError, OSError):
        return


def send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(len(message).to_bytes(LENGTH, "little") + message)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """A whole message; EOFError if the other side is no more."""
    return _exactly(pipe, int.from_bytes(_exactly(pipe, LENGTH), "little"))


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data
