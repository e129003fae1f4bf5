"""The kernel of a method: its loop over the steps."""

from dalembert.compile.kernel import kernel
from dalembert.compile.memory import reference
from dalembert.linalg.saddle.saddle import saddle_at
from dalembert.solvers.buffer import buffer_type
from dalembert.solvers.events import scan_type
from dalembert.solvers.half import core
from dalembert.solvers.ports import ports_type
from dalembert.solvers.records import i8
from dalembert.solvers.status import GO_ON


def stepping_kernel(layout, name, begin, step):
    """A kernel for records of the layout, made of two device functions of the method.

    ``begin(state, ports, la)`` prepares a start, ``step(state, ports, la, buffer, scan)`` tries one step. Both return
    GO_ON or a `Status`.
    """

    @kernel(i8(reference(layout), ports_type, buffer_type, scan_type), name=name)
    def run(states, ports, buffer, scan):
        """Take steps until the end, a full buffer, an event or a failure. Returns a `Status`."""
        state = states[0]
        la = saddle_at(state.saddle)
        if state.first == 1:
            code = begin(state, ports, la)
            if code != GO_ON:
                return code
            state.first = 0
        while True:
            code = core.why_to_stop(state, buffer)
            if code != GO_ON:
                return code
            core.open_step(state, la, buffer)
            code = step(state, ports, la, buffer, scan)
            if code != GO_ON:
                return code

    return run
