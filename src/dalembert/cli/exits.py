"""Exit codes."""

from enum import IntEnum


class Exit(IntEnum):
    """What a process says about how it ended."""

    OK = 0
    ERROR = 1  # the model or an option is wrong, a file cannot be read or written, nothing could be computed
    USAGE = 2  # the command line itself cannot be understood
    PARTIAL = 3  # something is missing: a simulation stopped on its way, members of a sweep failed
    FAULT = 4  # of dalembert itself, with a traceback
    INTERRUPTED = 130  # Ctrl-C, as shells have it
    PIPE_CLOSED = 141  # whoever reads the output has gone, as shells have it
