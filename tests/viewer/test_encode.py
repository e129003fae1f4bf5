"""Channels come back as they went, up to half a step; few bytes for smooth ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalembert.viewer.encode import FINER, IS_WIDE, NARROW, WIDE, Channel, Packer, quantized, unpacked

finite = st.floats(-1e200, 1e200, allow_nan=False)


def there_and_back(t, channels):
    packer = Packer()
    packer.table(np.asarray(t, float), [Channel(np.asarray(values, float), fine) for values, fine in channels])
    return unpacked(packer.described())[0]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=30))
def test_any_numbers_come_back(pairs):
    columns = np.array(pairs).T
    found = there_and_back(np.arange(len(pairs)), [(column, 0.0) for column in columns])
    for column, back in zip(columns, found["channels"], strict=True):
        half = np.ptp(column / 2)  # the whole width may be more than there are numbers
        # a constant has no step, and one that is nearly constant is one
        assert np.abs(column / 2 - back / 2).max() <= 0.51 * half / NARROW + 1e-13 * np.abs(column).max()


def test_times_are_exact():
    t = np.array([0.0, 1 / 3, np.nextafter(1 / 3, 1), 2e9])
    np.testing.assert_array_equal(there_and_back(t, [])["t"], t)


@pytest.mark.parametrize("fine", [0.0, 1e-3])
def test_jumps_from_end_to_end(fine):
    """Differences that do not fit into 16 bits wrap around, and back."""
    values = np.array([-5.0, 5.0, -5.0, 5.0, 4.9, -5.0])
    back = there_and_back(np.arange(6), [(values, fine)])["channels"][0]
    assert np.abs(back - values).max() <= 0.5 * 10 / NARROW


def test_wide_channels_where_they_are_needed():
    turns = np.linspace(0, 5000, 400)
    _, step, flags, _ = quantized(Channel(turns, 1e-3))
    assert flags == IS_WIDE
    assert step == pytest.approx(1e-3 / FINER)
    assert np.abs(there_and_back(turns, [(turns, 1e-3)])["channels"][0] - turns).max() <= step / 2 * (1 + 1e-9)
    assert not quantized(Channel(turns, 1.0))[2]
    assert quantized(Channel(turns, 1e-30))[1] == 2500 / WIDE  # there is nothing finer


@pytest.mark.parametrize("fine", [0.0, 1e-7])
def test_what_is_no_number_is_a_gap(fine):
    values = np.array([np.nan, 1.0, 2.0, np.inf, -np.inf, -3.0, np.nan])
    back = there_and_back(np.arange(7), [(values, fine), (np.full(7, np.nan), fine), (np.full(7, 5.0), fine)])
    finite = np.isfinite(values)
    np.testing.assert_array_equal(np.isnan(back["channels"][0]), ~finite)
    np.testing.assert_allclose(back["channels"][0][finite], values[finite], atol=1e-4)
    assert np.isnan(back["channels"][1]).all()
    assert (back["channels"][2] == 5).all()
    lonely = there_and_back(np.arange(3), [([np.nan, 5.0, 5.0], fine)])["channels"][0]
    np.testing.assert_array_equal(lonely, [np.nan, 5.0, 5.0])


def test_times_of_curves_are_as_fine_as_anybody_sees():
    t = np.sort(np.random.default_rng(5).uniform(10, 30, 500))
    t[100] = t[101]  # a jump: both sides have the same time
    packer = Packer()
    packer.curve(t, [Channel(np.sin(t))])
    packer.curve(t[::-1], [Channel(np.sin(t[::-1]))])
    there, back = unpacked(packer.described())
    assert np.abs(there["t"] - t).max() < 2e-5
    assert there["t"][100] == there["t"][101]
    assert np.abs(back["t"] - t[::-1]).max() < 2e-5


def test_constants_cost_nothing():
    few, many = Packer(), Packer()
    few.table(np.zeros(500), [])
    many.table(np.zeros(500), [Channel(np.full(500, 3.7))] * 10)
    assert len(few.described()["bytes"]) == len(many.described()["bytes"])
    assert unpacked(many.described())[0]["channels"][3][0] == 3.7


def test_smooth_channels_take_few_bytes():
    t = np.linspace(0, 10, 500)
    packer = Packer()
    packer.table(t, [Channel(np.sin(t + k)) for k in range(100)])
    assert len(packer.described()["bytes"]) < 0.35 * 100 * 500 * 4  # a third of what 32-bit numbers would take
