"""Python functions behind ports."""

import threading

import numpy as np
import pytest

from dalembert.compile import OK, RETRY, STOP, python_port
from dalembert.compile import callback as callback_module
from dalembert.errors import FunctionFailed, StepRefused

X, THETA = np.array([1.0, 2.0]), np.array([3.0])


def port_of(function, n_out=2):
    return python_port(function, n_x=2, n_theta=1, n_out=n_out)


def test_value():
    def function(t, x, theta, out):
        out[:] = t + theta * x

    np.testing.assert_array_equal(port_of(function)(0.5, X, THETA), [3.5, 6.5])


def test_empty_arguments():
    def function(t, x, theta, out):
        assert x.shape == theta.shape == (0,)
        out[0] = t

    port = python_port(function, n_x=0, n_theta=0, n_out=1)
    assert port(4.0, np.empty(0), np.empty(0)) == 4.0


def test_inputs_cannot_be_written():
    def function(t, x, theta, out):
        x[0] = 5.0

    with pytest.raises(ValueError, match="read-only"):
        port_of(function)(0.0, X, THETA)
    assert X[0] == 1.0


@pytest.mark.parametrize("error", [ZeroDivisionError("no"), KeyboardInterrupt()])
def test_exception_is_kept_and_raised_again(error):
    def function(t, x, theta, out):
        raise error

    port = port_of(function)
    assert port.call_status(0.25, X, THETA, np.empty(2)) == STOP
    assert port.take_error() is error
    assert port.take_error() is None
    with pytest.raises(type(error)) as caught:
        port(0.25, X, THETA)
    assert caught.value is error
    assert "at t = 0.25, x = [1. 2.]" in error.__notes__[0]
    assert caught.traceback[-1].name == "function"


def test_exception_stays_in_its_thread():
    def function(t, x, theta, out):
        raise ValueError(threading.current_thread().name)

    port = port_of(function)
    port.call_status(0.0, X, THETA, np.empty(2))
    found = []

    def work():
        found.append(port.take_error())
        port.call_status(0.0, X, THETA, np.empty(2))
        found.append(port.take_error())

    thread = threading.Thread(target=work, name="other")
    thread.start()
    thread.join()
    assert found[0] is None
    assert str(found[1]) == "other"
    assert str(port.take_error()) == threading.current_thread().name


def test_refused_step():
    def function(t, x, theta, out):
        if t > 1:
            raise StepRefused("too far")
        out[:] = 0

    port = port_of(function)
    out = np.empty(2)
    assert port.call_status(2.0, X, THETA, out) == RETRY
    assert port.take_error() is None
    assert port.call_status(0.5, X, THETA, out) == OK
    with pytest.raises(StepRefused, match="too far"):
        port(2.0, X, THETA)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_output_not_finite(value):
    def function(t, x, theta, out):
        out[:] = 1.0, value

    port = port_of(function)
    assert port.call_status(0.0, X, THETA, np.empty(2)) == RETRY
    with pytest.raises(FunctionFailed, match="position 1"):
        port(0.0, X, THETA)


def test_old_exception_is_not_blamed_on_a_new_call():
    def function(t, x, theta, out):
        if t < 0:
            raise ValueError("old")
        out[:] = np.nan

    port = port_of(function)
    port.call_status(-1.0, X, THETA, np.empty(2))
    with pytest.raises(FunctionFailed):
        port(1.0, X, THETA)


def test_huge_numbers_are_finite():
    def function(t, x, theta, out):
        out[:] = 1.7e308

    np.testing.assert_array_equal(port_of(function)(0.0, X, THETA), 1.7e308)


def test_many_addresses(monkeypatch):
    monkeypatch.setattr(callback_module, "_MAX_VIEWS", 4)

    def function(t, x, theta, out):
        out[:] = x

    port = port_of(function)
    arrays = [np.array([k, -k], dtype=float) for k in range(20)]
    for array in arrays + arrays:
        np.testing.assert_array_equal(port(0.0, array, THETA), array)
