"""Numbers from users, and how arithmetic of ours and of theirs warns."""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

import dalembert as da
from dalembert.checks import (
    MOST_SHOWN,
    NoNumber,
    digits,
    flag,
    quiet_arithmetic,
    real,
    reals,
    said,
    shown,
    users_arithmetic,
    whole,
)
from fuzz.hostile import NoText, Unshowable

NUMBERS = st.one_of(
    st.floats(allow_nan=False), st.integers(-(2**1000), 2**1000), st.fractions(), st.decimals(allow_nan=False),
    st.floats(width=32, allow_nan=False).map(np.float32), st.integers(-128, 127).map(np.int8),
    st.floats(allow_nan=False).map(np.array),
)  # fmt: skip
NO_NUMBERS = st.one_of(
    st.text(), st.binary(), st.none(), st.complex_numbers(), st.complex_numbers().map(np.complex128), st.booleans(),
    st.dates(), st.timedeltas(), st.lists(st.floats()), st.dictionaries(st.text(), st.floats()), st.sets(st.integers()),
    st.timedeltas().map(np.timedelta64), st.just(np.ma.masked), st.builds(object), st.builds(Unshowable),
    some.arrays(float, st.integers(0, 3)),
)  # fmt: skip


@given(NUMBERS)
def test_every_real_number_is_one(value):
    assert real(value) == float(value)


@given(NO_NUMBERS)
def test_nothing_else_is(value):
    with pytest.raises(NoNumber, match="is"):
        real(value)
    with pytest.raises(NoNumber, match="is not a whole number"):
        whole(value)


@given(st.one_of(st.integers(), st.integers(-128, 127).map(np.int8), st.integers(-(2**50), 2**50).map(float)))
def test_whole_numbers(value):
    assert whole(value) == value
    assert type(whole(value)) is int


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, Fraction(1, 2), Decimal("NaN"), True, "3", None, 1e300 * 1j])
def test_no_whole_numbers(value):
    with pytest.raises(NoNumber, match="is not a whole number"):
        whole(value)


def test_too_large():
    with pytest.raises(NoNumber, match="too large"):
        real(10**400)
    with pytest.raises(NoNumber, match="too large"):
        reals([1, 10**400])
    assert whole(10**400) == 10**400


@given(st.lists(NUMBERS.filter(lambda value: not isinstance(value, np.ndarray)), max_size=5))
def test_arrays_of_numbers(values):
    assert reals(values).tolist() == [float(value) for value in values]
    assert reals(tuple(values)).tolist() == reals(np.array(values, object)).tolist()


@pytest.mark.parametrize(
    "values",
    [
        "01", ["0", "1"], [1, None], {1, 2}, {"x": 1}, (i for i in range(3)), [1j], np.array([1j]),
        [datetime.date.today()],
        np.array([1, 2], "m8[s]"), [1, np.ma.masked], [[1, np.ma.masked]], np.ma.array([1, 2], mask=[0, 1]),
        np.broadcast_to(1.0, 10**12), range(10**12), [[1, 2], 3], Unshowable(), np.zeros(2, [("a", float)]),
    ],
)  # fmt: skip
def test_no_arrays_of_numbers(values):
    with pytest.raises(NoNumber):
        reals(values)


def test_an_unmasked_array_is_an_array():
    assert reals(np.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_arrays_are_copies():
    values = np.ones(2)
    reals(values)[0] = 5
    assert values.tolist() == [1, 1]


def test_flags():
    assert flag(True) is flag(np.True_) is flag(np.array(True)) is True
    for value in (1, 0.0, "yes", None, [True], np.array([True]), np.ma.masked):
        with pytest.raises(NoNumber, match="True or False"):
            flag(value)


@given(st.floats(allow_nan=False))
def test_digits_tell_a_number_from_its_neighbours(number):
    assert float(digits(number)) == number


@pytest.mark.parametrize(
    "make",
    [lambda: 10**5000, Unshowable, lambda: list(range(10**5)), lambda: np.zeros((300, 300)), lambda: "x\n" * 10**6],
)
def test_whatever_can_be_shown_in_a_line(make):
    value = make()
    assert 0 < len(shown(value)) < MOST_SHOWN + 30
    assert "\n" not in shown(value)


def test_exceptions_can_be_told():
    assert said(ValueError("cold")) == "ValueError: cold"
    assert said(ValueError()) == "ValueError: no message"
    assert said(NoText()) == "NoText: its text cannot be shown"


# -- warnings of NumPy ---------------------------------------------------------------------------------------------


def test_our_arithmetic_is_quiet_and_users_is_theirs():
    huge = np.array([1e300])
    with np.errstate(over="raise"), quiet_arithmetic(), quiet_arithmetic():
        assert np.isinf(huge * huge)
        with users_arithmetic(), pytest.raises(FloatingPointError):
            huge * huge
        assert np.isinf(huge * huge)
    with np.errstate(over="ignore"), users_arithmetic():
        assert np.isinf(huge * huge)


@pytest.mark.parametrize("method", ["radau5", "dassl", "geoms", "hem5", "mexx", "rkf45"])
@pytest.mark.parametrize("g", [1e300, 1e150, 1e-300])
def test_forces_beyond_all_bounds_warn_nobody(method, g):
    model = da.EquationsOfMotion(
        p=["x", "y"], parameters={"g": 9.81}, mass=[1, 1], force=lambda s: [0, -s.g],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )  # fmt: skip
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        try:
            sol = da.simulate(model, (0, 0.1), p0=[1, 0], parameters={"g": g}, method=method, max_steps=1000)
        except da.SimulationError as failure:
            sol = failure.solution
        assert np.isfinite(sol.x).all()


def test_a_users_function_still_warns():
    def force(s):
        return [-float(s.x) + 0 * np.sqrt(np.float64(-abs(float(s.x))))]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = da.EquationsOfMotion(p=["x"], mass=[1], force=force)
    with pytest.warns(RuntimeWarning, match="invalid value"), pytest.raises(da.FunctionFailed):
        da.simulate(model, (0, 1), p0=[1.0])
