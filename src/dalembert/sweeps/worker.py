"""``python -m dalembert.sweeps.worker``: simulates members that come through a pipe from the process that
started it, until that closes the pipe, or is no more."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from dalembert.sweeps.workers import answer, receive


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it decides
    # what users' functions print must not get among the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        job = pickle.loads(receive(sys.stdin.buffer))
    except EOFError:
        return
    answer(sys.stdin.buffer, answers, job.run)


if __name__ == "__main__":
    main()
