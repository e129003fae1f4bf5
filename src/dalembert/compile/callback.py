"""Python functions behind ports, for models that cannot be traced."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import numpy as np

from dalembert.compile.ports import OK, RETRY, SIGNATURE, STOP, Port
from dalembert.errors import StepRefused

_MAX_VIEWS = 512  # a kernel calls with few different addresses; more are a sign that arrays come and go


def python_port(
    function: Callable[[float, np.ndarray, np.ndarray, np.ndarray], None], *, n_x: int, n_theta: int, n_out: int
) -> Port:
    """Put a Python function behind a port.

    Parameters
    ----------
    function : callable
        `function(t, x, theta, out)` fills `out`. The arrays are windows on the kernel's memory: x and theta cannot
        be written to, and none may be kept beyond the call (copy instead).
    n_x, n_theta, n_out : int
        Lengths of the arrays.

    Notes
    -----
    `StepRefused`, and outputs that are not finite, ask for a smaller step (RETRY). Every other exception, also
    KeyboardInterrupt, stops the kernel (STOP) and is kept for `Port.take_error` in the same thread, with a note that
    says at which time and state it happened.

    Examples
    --------
    >>> def fall(t, x, theta, out):
    ...     out[:] = x[1], -theta[0]
    >>> python_port(fall, n_x=2, n_theta=1, n_out=2)(0.0, np.array([1.0, 2.0]), np.array([9.81]))
    array([ 2.  , -9.81])
    """
    errors = threading.local()
    inputs_x, inputs_theta, outputs = {}, {}, {}  # address -> view; making one costs more than a short function
    isfinite = np.isfinite

    def view(views: dict, address: int | None, size: int, writeable: bool) -> np.ndarray:
        if address is None or size == 0:
            array = np.empty(size)
        else:
            array = np.frombuffer((ctypes.c_double * size).from_address(address))
        array.flags.writeable = writeable
        if len(views) >= _MAX_VIEWS:
            views.clear()
        views[address] = array
        return array

    def call(t, x_address, theta_address, out_address):
        # `get` and not `in`: another thread may clear the cache in between.
        try:
            x = inputs_x.get(x_address)
            if x is None:
                x = view(inputs_x, x_address, n_x, False)
            theta = inputs_theta.get(theta_address)
            if theta is None:
                theta = view(inputs_theta, theta_address, n_theta, False)
            out = outputs.get(out_address)
            if out is None:
                out = view(outputs, out_address, n_out, True)
            function(t, x, theta, out)
            return RETRY if 0 in isfinite(out).tobytes() else OK  # three times cheaper than .all()
        except StepRefused as refusal:
            errors.refusal = refusal
            return RETRY
        except BaseException as error:
            errors.error = error
            _note(error, t, inputs_x.get(x_address))
            return STOP

    callback = SIGNATURE(call)
    return Port(
        ctypes.cast(callback, ctypes.c_void_p).value,
        n_x=n_x,
        n_theta=n_theta,
        n_out=n_out,
        backend="python",
        keep=callback,
        errors=errors,
    )


def _note(error: BaseException, t: float, x: np.ndarray | None) -> None:
    """Say where it happened; the exception itself stays what the user's function raised."""
    state = "" if x is None else f", x = {np.array2string(x, threshold=20, precision=6)}"
    error.add_note(f"(raised in a model function at t = {t!r}{state})")
