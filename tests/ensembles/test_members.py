"""What members have of their own: any arrays, copied, by several threads if they are large."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from fake_gpu import install
from families import family
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.ensembles import cores, pieces
from dalembert.ensembles.members import read_members
from dalembert.ensembles.pieces import Copiers

PENDULUM = da.problems.pendulum().model
REALS = (np.float64, np.float32, np.longdouble)
pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")


def test_ranges_make_up_everything_and_run_in_several_threads(monkeypatch):
    monkeypatch.setattr(pieces, "WORTH", 0)
    monkeypatch.setattr(pieces, "PIECE", 800)
    seen, threads, together = np.zeros(1003, int), set(), threading.Barrier(3, timeout=60)

    def work(first, last):
        seen[first:last] += 1
        threads.add(threading.get_ident())
        together.wait()  # there is a piece for each thread

    with Copiers(3) as copiers:
        copiers.share(1003, 8, work)
    assert (seen == 1).all()
    assert len(threads) == 3
    assert threading.get_ident() not in threads


def test_what_goes_wrong_in_a_piece_is_told(monkeypatch):
    monkeypatch.setattr(pieces, "WORTH", 0)

    def work(first, last):
        if first:
            raise ZeroDivisionError

    with Copiers(2) as copiers, pytest.raises(ZeroDivisionError):
        copiers.share(10**6, 8, work)


def test_few_numbers_take_no_threads():
    threads = []
    with Copiers(4) as copiers:
        copiers.share(1000, 8, lambda first, last: threads.append(threading.get_ident()))
        copiers.share(0, 8, lambda first, last: threads.append(threading.get_ident()))
    assert threads == [threading.get_ident()] * 2


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_results_do_not_depend_on_pieces(monkeypatch, device):
    if device == "gpu":
        install(monkeypatch)
    given = family("andrews", 200)
    events = da.Event(lambda s: s.beta_dot, name="turn")
    more = dict(t_eval=np.linspace(0, given["t_span"][1], 5), events=events, device=device)
    whole = da.ensemble(**given, **more)
    monkeypatch.setattr(pieces, "WORTH", 0)
    monkeypatch.setattr(pieces, "PIECE", 1)
    monkeypatch.setattr(pieces, "FEWEST", 7)
    monkeypatch.setattr(pieces, "processors", lambda: 4)
    cut = da.ensemble(**given, **more)
    for name in ("p", "v", "status", "accepted", "correction"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))
    np.testing.assert_array_equal(whole.events["turn"].t, cut.events["turn"].t)
    np.testing.assert_array_equal(whole.end.lam, cut.end.lam)


def test_a_matrix_as_parameter():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 1.0], parameters={"K": np.eye(2)},
        force=lambda s: [-(s.K[0, 0] * s.x + s.K[0, 1] * s.y), -(s.K[1, 0] * s.x + s.K[1, 1] * s.y)],
    )  # fmt: skip
    stiffness = np.random.default_rng(0).uniform(0.1, 1.0, (5, 2, 2))
    given = dict(p0=[1.0, 0.5], rtol=1e-8, atol=1e-8)
    found = da.ensemble(model, (0, 1), parameters={"K": stiffness}, device="cpu", **given)
    np.testing.assert_array_equal(found.samples["K"], stiffness)
    for i in (0, 3):
        sol = da.simulate(model, (0, 1), parameters={"K": stiffness[i]}, method="hem5", **given)
        np.testing.assert_allclose(found.end.p[i], sol.p[-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, np.longdouble, object, bool])
def test_numbers_of_other_types(kind):
    found = da.ensemble(PENDULUM, (0, 0.1), p0=np.array([[1, 0], [0, 1]], kind), parameters={"g": 2}, device="cpu")
    same = da.ensemble(PENDULUM, (0, 0.1), p0=[[1.0, 0.0], [0.0, 1.0]], parameters={"g": 2.0}, device="cpu")
    np.testing.assert_array_equal(found.end.p, same.end.p)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_arrays_that_were_handed_over_may_change_afterwards(monkeypatch, device):
    install(monkeypatch)
    g, p0 = np.linspace(9, 10, 3), np.array([[1.0, 0.0]] * 3)
    found = da.ensemble(PENDULUM, (0, 0.5), p0=p0, parameters={"g": g}, device=device)
    p0[:], g[:] = np.nan, np.nan
    np.testing.assert_allclose(found.solution(1).p[-1], found.end.p[1], rtol=0, atol=1e-9)
    assert found["g"].tolist() == [9.0, 9.5, 10.0]
    assert found["x at start"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_arrays_may_change_after_an_interruption(monkeypatch, device):
    install(monkeypatch)
    monkeypatch.setattr(cores, "HOST_BLOCK", 8)  # some are not even begun

    def stop(done, of):
        raise KeyboardInterrupt

    g = np.linspace(9, 10, 300)
    with pytest.raises(da.Interrupted) as caught:
        da.ensemble(PENDULUM, (0, 0.5), p0=[1, 0], parameters={"g": g}, device=device, progress=stop)
    g[:] = np.nan
    found = caught.value.solution
    np.testing.assert_array_equal(found["g"], np.linspace(9, 10, 300))
    missing = found.status == "missing"
    assert missing.any()
    assert np.isnan(found.end.p[missing]).all()
    assert (found.accepted[missing] == 0).all()
    assert (found.correction[missing] == 0).all()


@settings(max_examples=30, deadline=None)
@hypothesis_given(st.integers(0, 299), st.sampled_from(REALS), st.booleans(), st.data())
def test_one_flaw_among_many_numbers_is_found(place, kind, in_rows, data):
    flaw = data.draw(st.sampled_from((np.nan, np.inf, -np.inf)))
    arrays = {"g": np.full(300, 9.81, kind), "p0": np.tile(np.array([1, 0], kind), (300, 1))}
    name, column = ("p0", data.draw(st.integers(0, 1))) if in_rows else ("g", None)
    arrays[name][place if column is None else (place, column)] = flaw
    with Copiers(3) as copiers, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "WORTH", 0)
        patch.setattr(pieces, "PIECE", 8)
        with pytest.raises(da.OptionError, match=f"of member {place} is {flaw}; values must be finite"):
            read_members(PENDULUM, None, {"p0": arrays["p0"]}, {"g": arrays["g"]}, None, None, copiers)


def test_numbers_whose_sum_overflows_are_numbers():
    with Copiers(1) as copiers:
        huge = np.full(5, 1.7e308)
        assert read_members(PENDULUM, None, {"p0": [1, 0]}, {"g": huge}, None, None, copiers).n == 5


def test_columns_of_a_larger_array():
    table = np.random.default_rng(3).uniform(0.9, 1.1, (6, 4))[::-2]
    found = da.ensemble(PENDULUM, (0, 0.5), p0=[1, 0], parameters={"m": table[:, 1], "g": table[:, 3]}, device="cpu")
    np.testing.assert_array_equal(found["m"], table[:, 1])
    np.testing.assert_array_equal(found["g"], table[:, 3])


def test_results_go_as_soon_as_nobody_has_them():
    found = da.ensemble(PENDULUM, (0, 0.5), p0=[1, 0], n=3, device="cpu")
    assert not found.errors
    assert found.success.all()
    gone = weakref.ref(found)
    gc.disable()
    try:
        del found
        assert gone() is None
    finally:
        gc.enable()
