"""Comparisons for other programs: CSV, pandas, HDF5."""

import csv
import math

import pytest

import dalembert as da
from dalembert.errors import FileError, Interrupted
from dalembert.studies.comparison import Comparison


@pytest.fixture(scope="module")
def found():
    return da.compare(da.problems.pendulum(), {"a, b": "hem5", "r": da.Radau5(formulation="index2")}, [1e-4], repeat=1,
                      max_steps=45)  # fmt: skip


def test_csv_and_pandas(found, tmp_path):
    with open(found.to_csv(tmp_path / "a.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["a, b", "r"]
    assert rows[0]["failure"].startswith("TooManySteps")  # and the other one has numbers
    assert rows[1]["failure"] == ""
    for row, trial in zip(rows, found.trials, strict=True):
        assert float(row["tolerance"]) == trial.tolerance
        assert float(row["error"]) == trial.error or math.isnan(trial.error)
        assert row["failure"] == trial.failure
    frame = found.to_pandas()
    assert frame["steps"].tolist() == [trial.steps for trial in found.trials]
    assert frame.attrs == {"problem": "pendulum", "reference": found.reference}


def test_hdf5(found, tmp_path):
    again = Comparison.load(found.save(tmp_path / "a.h5"))
    assert repr(again.trials) == repr(found.trials)  # NaN is not equal to itself
    assert again.table() == found.table()
    assert again.reference == found.reference
    assert again.methods == {label: repr(method) for label, method in found.methods.items()}
    best, other = found.recommend(1.0), again.recommend(1.0)
    assert (best.why, repr(best.options)) == (other.why, other.options)


def test_foreign_and_damaged_files(found, tmp_path):
    path = found.save(tmp_path / "a.h5")
    with pytest.raises(FileError, match="no comparison"):
        Comparison.load(da.problems.pendulum().simulate().save(tmp_path / "run.h5"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileError):
        Comparison.load(path)


def test_ctrl_c_keeps_the_trials_so_far():
    def stop(done, of):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="2 of 3 trials") as caught:
        da.compare(da.problems.pendulum(), ["hem5"], [1e-3, 1e-4, 1e-5], repeat=1, progress=stop)
    assert [trial.tolerance for trial in caught.value.solution.trials] == [1e-3, 1e-4]


def test_ctrl_c_is_no_failure_of_a_method(monkeypatch):
    from dalembert.studies import compare

    def interrupted(*arguments, **options):
        raise Interrupted("interrupted")

    monkeypatch.setattr(compare, "simulate", interrupted)
    with pytest.raises(Interrupted):
        compare.compare(da.problems.pendulum(), ["hem5"], [1e-3], repeat=1)
