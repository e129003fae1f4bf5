"""The kernel of Radau 5 with dense linear algebra."""

from dalembert.compile.kernel import kernel
from dalembert.compile.memory import reference
from dalembert.solvers.events import scan_type
from dalembert.solvers.ports import ports_type
from dalembert.solvers.radau.core import STATE, buffer_type, control_type, make_run
from dalembert.solvers.radau.dense import ALGEBRA, correct, decompose, prepare, solve_real, solve_stages
from dalembert.solvers.records import i8

_run = make_run(decompose, prepare, solve_stages, solve_real, correct)


@kernel(i8(reference(ALGEBRA), ports_type, reference(STATE), control_type, buffer_type, scan_type))
def radau_dense(la, ports, state, control, buffer, scan):
    """Take steps until the end, a full buffer, an event, or a failure."""
    return _run(la[0], ports, state[0], control, buffer, scan)
