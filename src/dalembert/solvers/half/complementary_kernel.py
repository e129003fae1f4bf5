"""The kernel of half-explicit Runge-Kutta methods whose stages are complementarity problems: contacts that are closed
may open in any stage, and those that contradict each other as equations do not as inequalities.
"""

from dalembert.compile.kernel import device
from dalembert.linalg.saddle.complementary_kernels import record_at
from dalembert.solvers.half import core, half_explicit_kernel
from dalembert.solvers.half.half_explicit_kernel import STATE, error_norm
from dalembert.solvers.half.runge_kutta import runge_kutta_kernel

#: jumps of accelerations are to be expected: see `runge_kutta`
FARTHEST = 10.0


@device
def begin(state, ports, la):
    """At a start a problem on acceleration level says which contacts act. Returns GO_ON or a `Status`."""
    half_explicit_kernel.clear(state)
    own = record_at(la.own)
    own.decide = 1
    code = core.begin_or_fail(state, ports, la)
    own.decide = 0
    return code


@device
def take_stages(state, ports, la):
    """As with equations; but the last factors are those of a problem, and do not serve for projections."""
    outcome = half_explicit_kernel.take_stages(state, ports, la)
    state.factors_fit = 0
    return outcome


complementary = runge_kutta_kernel(STATE, "complementary", begin, take_stages, error_norm, FARTHEST)
