import copy
import pickle

import numpy as np
import pytest

from dalembert.errors import ModelError, OptionError
from dalembert.solution import EventLog, Occurrence, Statistics


def test_statistics():
    one = Statistics(accepted=10, error_rejections=2, convergence_rejections=1, decompositions=4, seconds=0.5)
    assert one.rejected == 3
    total = one + Statistics(accepted=5, linear_solves=7, seconds=0.25)
    assert (total.accepted, total.rejected, total.linear_solves, total.seconds) == (15, 3, 7, 0.75)
    assert Statistics.from_dict(total.to_dict()) == total
    assert Statistics.from_dict({"accepted": np.int64(3)}) == Statistics(accepted=3)
    with pytest.raises(OptionError, match="did you mean 'accepted'"):
        Statistics.from_dict({"acepted": 1})
    with pytest.raises(TypeError):
        one + 1


def test_statistics_print_aligned_nonzero_rows():
    lines = str(Statistics(accepted=1234, back_substitutions=5, seconds=0.0123456)).splitlines()
    assert [line.split()[-1] for line in lines] == ["1234", "5", "0.0123"]
    assert len({len(line) for line in lines}) == 1
    assert lines[1].startswith("back substitutions ")
    assert str(Statistics()).split() == ["accepted", "0"]


LOG = EventLog(
    [
        Occurrence(1.0, "floor", 0, -1, {"p": np.array([0.0]), "v": np.array([-2.0])}),
        Occurrence(1.5, "apex", 1, 1, {"p": np.array([0.3]), "v": np.array([0.0])}),
        Occurrence(2.0, "floor", 0, -1, {"p": np.array([0.0]), "v": np.array([-1.0])}),
    ],
    names=("floor", "apex", "wall"),
)


def test_event_log_is_a_sequence():
    assert len(LOG) == 3
    assert LOG.t.tolist() == [1.0, 1.5, 2.0]
    assert LOG[1].name == "apex"
    assert LOG[1].v == 0.0
    assert LOG[-1] in LOG
    assert LOG[:2].t.tolist() == [1.0, 1.5]
    assert [event.number for event in LOG] == [0, 1, 0]
    assert LOG.named("floor").t.tolist() == [1.0, 2.0]
    assert len(LOG.named("wall")) == 0
    assert repr(LOG) == "EventLog(3 occurrences: 2 × 'floor', 1 × 'apex')"
    assert repr(EventLog()) == "EventLog(no occurrences)"
    assert EventLog().t.shape == (0,)
    assert repr(LOG[0]) == "Occurrence(t=1, name='floor', falling)"


def test_errors_of_events():
    with pytest.raises(ModelError, match="did you mean 'floor'"):
        LOG.named("flor")
    with pytest.raises(AttributeError, match="has no 'lam'; its state holds p, v"):
        _ = LOG[0].lam


def test_occurrences_can_be_copied():
    for twin in (copy.deepcopy(LOG[0]), pickle.loads(pickle.dumps(LOG[0]))):
        assert twin.v == -2.0
