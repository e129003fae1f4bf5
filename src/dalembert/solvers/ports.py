"""Calling ports from kernels, and the record of them."""

from typing import NamedTuple

from dalembert.compile.kernel import call_port, device
from dalembert.solvers.records import i8, record, up, vector


class Ports(NamedTuple):
    """Addresses (0 = absent), and θ with the inputs behind its first `n_parameters` entries."""

    residual: up
    jacobian: up
    inputs: up
    events: up
    theta: vector
    n_parameters: i8


ports_type = record(Ports)


@device
def evaluate(address, ports, t, x, out):
    """Call a port at time t after bringing the inputs in θ to that time. Returns the port's status."""
    theta = ports.theta
    if ports.inputs != 0:
        inputs = theta[ports.n_parameters :]
        status = call_port(ports.inputs, t, x.ctypes.data, x.ctypes.data, inputs.ctypes.data)
        if status != 0:
            return status
    return call_port(address, t, x.ctypes.data, theta.ctypes.data, out.ctypes.data)
