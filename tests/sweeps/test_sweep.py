"""Studies: every engine gives the bits of single simulations; nothing that is finished is lost, whatever happens."""

import os
import random
import signal
import threading

import numpy as np
import pytest
from scipy import stats

import dalembert as da
from dalembert.sweeps import engines, journal
from dalembert.sweeps import run as runs
from killing import kill_again_and_again, timed

PENDULUM = da.problems.pendulum()
SAMPLES = {"L": np.linspace(0.9, 1.1, 6), "m": np.linspace(1.0, 2.0, 6)}
START = {"p0": [0.0, -1.0], "v0": [0.5, 0.0]}


def swing(s):
    """A pendulum by its angle, whatever its length."""
    return [-s.g / s.L * np.sin(s.phi)]


MODEL = da.EquationsOfMotion(
    p=["phi"], mass=[1.0], parameters={"g": 9.81, "L": 1.0, "m": 1.0}, force=swing,
    outputs={"tip": lambda s: [s.L * np.sin(s.phi), -s.L * np.cos(s.phi)]},
)  # fmt: skip


def slow_force(s):
    """Python code that cannot be traced."""
    return [-9.81 / float(s.L) * np.sin(float(s.phi))]


def one_by_one(samples, **options):
    rows = [dict(zip(samples, row, strict=True)) for row in zip(*samples.values(), strict=True)]
    return [da.simulate(MODEL, (0, 2), p0=[1.0], parameters=row, **options) for row in rows]


@pytest.mark.parametrize("engine", ["auto", "threads", "processes"])
def test_members_are_single_simulations(engine):
    study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], engine=engine, workers=1 if engine == "processes" else 2)
    expected = one_by_one(SAMPLES, t_eval=[2.0], dense_output=False)
    for name in ("phi", "phi_dot"):
        np.testing.assert_array_equal(study[name], [sol[name][-1] for sol in expected])
    assert study.status == ["finished"] * 6
    np.testing.assert_array_equal(study["L"], SAMPLES["L"])
    np.testing.assert_array_equal(study.steps, [sol.stats.accepted for sol in expected])


def test_copies_of_this_process_give_the_same(monkeypatch):
    monkeypatch.setattr(engines, "MANY", 2)
    plain = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], engine="threads", workers=1)
    study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], workers=2)
    assert study.engine == "processes"
    np.testing.assert_array_equal(study["phi"], plain["phi"])


def test_values_at_times_outputs_and_summaries():
    t = [0.0, 0.5, 2.0]
    study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], t_eval=t, keep=["phi", "tip"])
    expected = one_by_one(SAMPLES, t_eval=t, dense_output=False)
    assert study["tip"].shape == (6, 3, 2)
    np.testing.assert_array_equal(study["tip"], [sol["tip"] for sol in expected])
    highest = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], summary=lambda sol: {"top": sol["phi"].max(), "t": sol.t[:2]})
    assert highest.names == ("top", "t")
    assert highest["t"].shape == (6, 2)
    frame = study.to_pandas(at_times=True)
    assert list(frame.columns) == ["L", "m", "phi", "tip[0]", "tip[1]"]
    assert frame.loc[(3, 0.5), "tip[1]"] == study["tip"][3, 1, 1]
    table = study.to_pandas()
    assert table.loc[2, "phi"] == study["phi"][2, -1]
    assert list(table["status"]) == ["finished"] * 6


def test_start_values_inputs_and_problems():
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], inputs={"u": 0.0}, force=lambda s: [s.u])
    study = da.sweep(model, {"z": [1.0, 2.0], "z_dot": [0.0, 1.0], "u": [0.0, 2.0]}, (0, 1), p0=[0.0])
    np.testing.assert_allclose(study["z"], [1.0, 4.0], atol=1e-9)  # the study's z is that at the end
    np.testing.assert_array_equal(study.samples["z"], [1.0, 2.0])
    problem = da.sweep(PENDULUM, {"g": [PENDULUM.model.parameters["g"]]})
    assert problem["x"][0] == pytest.approx(PENDULUM.reference.p[0], abs=1e-4)


def test_events_that_end_members():
    event = da.Event(lambda s: s.phi, terminal=True, name="below")
    study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], events=event, t_eval=[0.1, 1.9])
    assert study.status == ["terminated by event 'below'"] * 6
    assert (study.t_end < 1).all()
    assert np.isfinite(study["phi"][:, 0]).all()
    assert np.isnan(study["phi"][:, 1]).all()
    assert study.success.all()
    ends = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], events=event)
    np.testing.assert_allclose(ends["phi"], 0, atol=1e-7)


# -- samples -----------------------------------------------------------------------------------------------------------


def test_draws_are_reproducible_and_can_be_continued():
    of = {"L": (0.9, 1.1), "m": stats.norm(1.0, 0.1)}
    for design in ("random", "latin", "sobol", "halton"):
        one, other = (da.MonteCarlo(of, 8, design).draw(seed) for seed in (3, 3))
        np.testing.assert_array_equal(one["m"], other["m"])
        assert (one["m"] != da.MonteCarlo(of, 8, design).draw(4)["m"]).all()
        assert ((one["L"] >= 0.9) & (one["L"] <= 1.1)).all()
    many = da.MonteCarlo(of, 4000).draw(0)
    assert stats.kstest(many["m"], stats.norm(1.0, 0.1).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(da.MonteCarlo(of, 10).draw(0)["m"], many["m"][:10])
    own = da.MonteCarlo(lambda rng: {"L": rng.uniform(0.9, 1.1)}, 5)
    np.testing.assert_array_equal(own.draw(1)["L"][:3], da.MonteCarlo(own.of, 3).draw(1)["L"])


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        ({"L": [1.0], "m": [1.0, 2.0]}, "1 of 'L', 2 of 'm'"), ({}, "mapping"),
        ({"len": [1.0]}, "no 'len'; .*L, g, m, phi"),
        ({"L": ["a"]}, "'L'"), ({"L": [np.nan]}, "not finite"), ({"L": [[1.0, 2.0]]}, "shape"), (5, "mapping"),
        ([{"L": 1.0}, {"m": 1.0}], "sample 1 has values of m"), (da.Grid({}), "Grid needs"), ({"L": []}, "empty"),
        (da.MonteCarlo({"L": (2, 1)}, 3), "nowhere"), (da.MonteCarlo({"L": (1, 2)}, 0), "count=0"),
        (da.MonteCarlo({"L": "x"}, 3), "scipy.stats"), (da.MonteCarlo({"L": (1, 2)}, 3, "sobl"), "sobol"),
    ],
)  # fmt: skip
def test_bad_samples_are_named(samples, why):
    with pytest.raises(da.OptionError, match=why):
        da.sweep(MODEL, samples, (0, 1), p0=[1.0])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"t_span": None}, "t_span"), ({"keep": ["psi"]}, "keep: .*psi"), ({"workers": 0}, "workers=0"),
        ({"engine": "gpu"}, "engine='gpu'"), ({"rtoll": 1}, "no argument 'rtoll'"), ({"checkpoint": "a"}, "for many"),
        ({"summary": 3}, "summary=3"), ({"seed": -1}, "seed=-1"), ({"t_eval": [7.0]}, "outside"),
        ({"keep": ["phi"], "summary": dict}, "not both"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(options, why):
    arguments = {"t_span": (0, 1), "p0": [1.0]} | options
    with pytest.raises(da.OptionError, match=why):
        da.sweep(MODEL, SAMPLES, **arguments)


# -- failures ----------------------------------------------------------------------------------------------------------


def test_failed_members_keep_their_errors_and_are_tried_again(tmp_path):
    samples = {"L": [1.0, 1e-12, 1.1]}
    study = da.sweep(MODEL, samples, (0, 2), p0=[1.0], max_steps=200, store=tmp_path / "s.h5")
    assert study.status == ["finished", "failed", "finished"]
    assert "TooManySteps" in study.errors[1]
    assert np.isnan(study["phi"][1])
    assert study.to_pandas().loc[1, "error"] == study.errors[1]
    loaded = da.Sweep.load(tmp_path / "s.h5")
    assert loaded.errors == study.errors
    calls = []
    da.sweep(
        MODEL, samples, (0, 2), p0=[1.0], max_steps=200, store=tmp_path / "s.h5", progress=lambda *d: calls.append(d)
    )
    assert calls == [(2, 3), (3, 3)]  # only the one that failed


def test_a_summary_that_changes_its_shape_is_a_failure():
    study = da.sweep(
        MODEL, SAMPLES, (0, 2), p0=[1.0], workers=1, summary=lambda sol: {"t": sol.t[: int(sol.parameters["m"] * 5)]}
    )
    assert study.success.sum() == 1
    assert "other names or shapes" in study.errors[5]


def dies_once(sol):
    """A member whose process dies when it is simulated for the first time."""
    mark = os.environ["DIES_ONCE"] + f"/{sol.parameters['L']:.3f}"
    if sol.parameters["L"] > 1.05 and not os.path.exists(mark):
        open(mark, "w", encoding="utf-8").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"phi": sol["phi"][-1]}


def dies_always(sol):
    if sol.parameters["L"] > 1.05:
        os._exit(3)
    return {"phi": sol["phi"][-1]}


def test_processes_that_die_are_followed_by_others(tmp_path, monkeypatch):
    monkeypatch.setenv("DIES_ONCE", str(tmp_path))
    monkeypatch.setattr(engines, "MANY", 2)
    study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], summary=dies_once, workers=2)
    assert study.engine == "processes"
    np.testing.assert_array_equal(study["phi"], [sol["phi"][-1] for sol in one_by_one(SAMPLES)])


def test_members_that_kill_their_processes_cost_nobody_else(monkeypatch):
    monkeypatch.setattr(engines, "MANY", 2)
    samples = {"L": [1.0, 0.9, 1.1, 0.95]}
    study = da.sweep(MODEL, samples, (0, 2), p0=[1.0], summary=dies_always, workers=2, retries=0)
    assert study.status == ["finished", "finished", "failed", "finished"]
    assert "died with exit code 3" in study.errors[2]


def test_python_functions_take_processes():
    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(p=["phi"], mass=[1.0], parameters={"L": 1.0}, force=slow_force)
    study = da.sweep(model, {"L": [0.9, 1.0, 1.1]}, (0, 0.5), p0=[1.0], workers=2)
    assert study.engine == "processes"
    alone = da.simulate(model, (0, 0.5), p0=[1.0], parameters={"L": 1.1}, t_eval=[0.5], dense_output=False)
    assert study["phi"][2] == alone["phi"][-1]
    lock = threading.Lock()  # which cannot travel
    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(p=["phi"], mass=[1.0], force=lambda s: [float(s.phi) if lock else 0.0])
    assert da.sweep(model, {"phi": [0.1, 0.2]}, (0, 0.1), workers=2).engine == "threads"


# -- stores ------------------------------------------------------------------------------------------------------------


def test_stores_are_files_that_anybody_can_read(tmp_path):
    import h5py

    path = tmp_path / "s.h5"
    study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], store=path)
    assert os.listdir(tmp_path) == ["s.h5"]
    with h5py.File(path) as file:
        names = [name.decode() for name in file["names/values"][()]]
        np.testing.assert_array_equal(file["values/000000"][()], study[names[0]])
    loaded = da.Sweep.load(path)
    for name in ("phi", "phi_dot", "L"):
        np.testing.assert_array_equal(loaded[name], study[name])
    np.testing.assert_array_equal(loaded.steps, study.steps)
    calls = []
    again = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], store=path, progress=lambda *done: calls.append(done))
    assert calls == [(6, 6)]
    np.testing.assert_array_equal(again.seconds, study.seconds)  # they are those of the file
    with pytest.raises(da.FileError, match="is a sweep, not one result"):
        da.Solution.load(path)
    with pytest.raises(da.FileError, match="is no study"):
        da.Sweep.load(one_by_one({"L": [1.0]})[0].save(tmp_path / "one.h5"))


def test_more_members_go_on_from_fewer(tmp_path):
    path, calls = tmp_path / "s.h5", []
    few, more = (da.MonteCarlo({"L": (0.9, 1.1)}, count) for count in (3, 5))
    da.sweep(MODEL, few, (0, 1), p0=[1.0], store=path)
    study = da.sweep(MODEL, more, (0, 1), p0=[1.0], store=path, progress=lambda *done: calls.append(done))
    assert calls == [(3, 5), (4, 5), (5, 5)]
    np.testing.assert_array_equal(study["phi"], da.sweep(MODEL, more, (0, 1), p0=[1.0])["phi"])


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("rtol", dict(rtol=1e-9)), ("t_span", dict(t_span=(0, 3))), ("samples", dict(samples={"L": [1.0]})),
        ("p0", dict(p0=[0.5])), ("keep", dict(keep=["phi"])), ("model", dict(model=PENDULUM.model, p0=[1.0, 0.0])),
    ],
)  # fmt: skip
def test_stores_of_other_studies_are_refused_by_name(tmp_path, what, change):
    arguments = dict(model=MODEL, samples={"L": [0.9, 1.0]}, t_span=(0, 1), p0=[1.0])
    da.sweep(**arguments, store=tmp_path / "s.h5")
    with pytest.raises(da.FileError, match=f"another study: .*{what}"):
        da.sweep(**(arguments | change), store=tmp_path / "s.h5")
    assert os.listdir(tmp_path) == ["s.h5"]


class Stop(Exception):
    pass


def stopped_after(count, path):
    def progress(done, of):
        if done == count:
            raise Stop

    with pytest.raises(Stop):
        da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], store=path, workers=2, progress=progress)


def test_journals_lose_what_was_not_whole_and_nothing_else(tmp_path):
    path = tmp_path / "s.h5"
    expected = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0])
    stopped_after(3, path)
    book = tmp_path / "s.h5.journal"
    whole = book.read_bytes()
    for cut in range(1, 60, 7):
        book.write_bytes(whole[:-cut])
        study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], store=path)
        np.testing.assert_array_equal(study["phi"], expected["phi"])
        assert not book.exists()
        path.unlink()
    rng, refused = random.Random(4), 0
    ends = [end for *_, end in journal.records(whole, book)]
    for _ in range(60):  # a single bit
        data = bytearray(whole)
        place = rng.randrange(len(data))
        data[place] ^= 1 << rng.randrange(8)
        book.write_bytes(data)
        try:
            found = list(journal.records(data, book))
        except da.FileError:
            refused += 1
            continue
        assert place >= ends[-2]  # only the last one can be taken for one that was not finished
        assert len(found) == len(ends) - 1
    assert refused > 40
    book.write_text("something else")
    with pytest.raises(da.FileError, match="damaged"):
        da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], store=path)


def test_two_processes_cannot_work_on_one_study(tmp_path):
    path = tmp_path / "s.h5"
    mine = runs.Journal(tmp_path / "s.h5.journal")
    with pytest.raises(da.FileError, match="in use"):
        da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], store=path)
    mine.close(remove=True)


RUNNING = """
import sys
import numpy as np
import dalembert as da
problem = da.problems.andrews()
samples = da.MonteCarlo({"m1": (0.04, 0.05)}, int(sys.argv[3]))
problem.simulate()
print("ready", flush=True)
study = da.sweep(problem, samples, store=sys.argv[1], workers=2, engine=sys.argv[4], rtol=1e-8, atol=1e-8)
np.save(sys.argv[2], np.column_stack([study[name] for name in study.names]))
"""


def kill_at_random(tmp_path, kills, seed, members, engine="auto"):
    store, result, problem = tmp_path / "s.h5", tmp_path / "result.npy", da.problems.andrews()
    samples = da.MonteCarlo({"m1": (0.04, 0.05)}, members)
    problem.simulate()
    whole, seconds = timed(lambda: da.sweep(problem, samples, workers=2, engine=engine, rtol=1e-8, atol=1e-8))
    script = (store, result, members, engine)
    done = kill_again_and_again(RUNNING, script, seconds, kills, seed, lambda: finished(store))
    assert (np.diff(done) >= 0).all()  # nothing finished is lost
    np.testing.assert_array_equal(np.load(result), np.column_stack([whole[name] for name in whole.names]))
    return done


def finished(store):
    """Members that a store and its journal have."""
    members, book = set(), store.with_name("s.h5.journal")
    if store.exists():
        members |= set(np.flatnonzero(da.Sweep.load(store).success).tolist())
    if book.exists():
        members |= {entry["member"] for entry, *_ in journal.records(book.read_bytes(), book) if "member" in entry}
    return len(members)


def test_killed_at_a_random_moment(tmp_path):
    kill_at_random(tmp_path, 1, 3, 300)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path):
    assert len(set(kill_at_random(tmp_path, 20, 5, 10_000, "threads"))) > 3


# -- clusters ----------------------------------------------------------------------------------------------------------


def test_a_cluster_gives_the_same_bits():
    distributed = pytest.importorskip("dask.distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        study = da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0], client=client)
    assert study.engine == "cluster"
    np.testing.assert_array_equal(study["phi"], da.sweep(MODEL, SAMPLES, (0, 2), p0=[1.0])["phi"])


@pytest.mark.slow
def test_a_cluster_survives_the_death_of_a_worker():
    distributed = pytest.importorskip("dask.distributed")
    samples = da.MonteCarlo({"L": (0.9, 1.1)}, 300)
    expected = da.sweep(MODEL, samples, (0, 50), p0=[1.0], rtol=1e-10, atol=1e-10)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids, killed = list(client.run(os.getpid).values()), []

        def progress(done, of):
            if done == 40 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        study = da.sweep(MODEL, samples, (0, 50), p0=[1.0], rtol=1e-10, atol=1e-10, client=client, progress=progress)
    assert killed
    assert study.success.all()
    np.testing.assert_array_equal(study["phi"], expected["phi"])
