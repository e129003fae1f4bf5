"""Calling ports from kernels, and the record of them."""

from typing import NamedTuple

from dalembert.compile.kernel import call_port, inlined
from dalembert.solvers.records import i8, record, up, vector


class Ports(NamedTuple):
    """Addresses (0 = absent), and θ with the inputs behind its first `n_fixed` entries (`model.theta`)."""

    residual: up
    jacobian: up
    inputs: up
    events: up
    theta: vector
    n_fixed: i8


ports_type = record(Ports)


@inlined
def set_inputs(ports, t, x):
    """Bring the inputs in θ to time t; x is any array. Returns the port's status."""
    if ports.inputs == 0:
        return 0
    inputs = ports.theta[ports.n_fixed :]
    return call_port(ports.inputs, t, x.ctypes.data, x.ctypes.data, inputs.ctypes.data)


@inlined
def evaluate(address, ports, t, x, out):
    """Call a port at time t after bringing the inputs in θ to that time. Returns the port's status."""
    status = set_inputs(ports, t, x)
    if status != 0:
        return status
    return call_port(address, t, x.ctypes.data, ports.theta.ctypes.data, out.ctypes.data)
