"""Events whose functions dip below zero right at the start of a long step, and are back before its first sample."""

import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize("method", [da.Mexx(), da.Hem5(), da.Radau5()], ids=lambda method: type(method).__name__)
def test_dips_in_the_first_interval_of_a_step(method):
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=[0.0])
    start = {"p0": [0.0], "v0": [1.0], "method": method}
    t = da.simulate(model, (0, 10), **start).t  # a free motion: steps grow, and events do not change them
    longest = int(np.argmax(np.diff(t)))
    begin, length = t[longest], t[longest + 1] - t[longest]
    middle, half = begin + 0.01 * length, 0.004 * length
    dip = da.Event(lambda s: np.sqrt((s.x - middle) ** 2) - half, name="dip")
    found = da.simulate(model, (0, 10), **start, events=dip).events.named("dip").t
    assert found == pytest.approx([middle - half, middle + half], abs=1e-9)
