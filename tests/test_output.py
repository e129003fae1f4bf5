"""Output times and components: four ways, for every method; files, jumps, bad input."""

import pickle

import numpy as np
import pytest

import dalembert as da
import dalembert.simulation.output

EVERY = [da.Radau5(), da.Geoms(), da.Hem5(), da.Rkf45(), da.Mexx()]
every = pytest.mark.parametrize("method", EVERY, ids=lambda m: type(m).__name__)
both = pytest.mark.parametrize("dense", [True, False])


@pytest.fixture(scope="module")
def problem():
    return da.problems.pendulum()


@every
@both
def test_points(problem, method, dense):
    sol = problem.simulate(method=method, t_eval=da.Output(points=9), dense_output=dense)
    np.testing.assert_allclose(sol.t, np.linspace(0, 2, 11), atol=1e-15)
    all_steps = problem.simulate(method=method)
    np.testing.assert_allclose(sol.x, all_steps.at(sol.t).x, rtol=1e-12, atol=1e-12)


@every
@both
def test_per_step(problem, method, dense):
    steps = problem.simulate(method=method).t
    sol = problem.simulate(method=method, t_eval=da.Output(per_step=3), dense_output=dense)
    assert len(sol.t) == 4 * (len(steps) - 1) + 1
    np.testing.assert_array_equal(sol.t[::4], steps)
    np.testing.assert_allclose(np.diff(sol.t), np.repeat(np.diff(steps) / 4, 4), rtol=1e-9)
    np.testing.assert_allclose(sol.x, problem.simulate(method=method).at(sol.t).x, rtol=1e-11, atol=1e-11)


@every
@both
def test_max_spacing(problem, method, dense):
    steps = problem.simulate(method=method).t
    spacing = 0.5 * np.diff(steps).max()
    sol = problem.simulate(method=method, t_eval=da.Output(max_spacing=spacing), dense_output=dense)
    assert np.isin(steps, sol.t).all()
    assert (np.diff(sol.t) <= spacing * (1 + 1e-9)).all()
    # no more than needed: as many pieces of each step as its length asks for
    assert len(sol.t) - 1 == np.ceil(np.diff(steps) / spacing - 1e-9).sum()


@both
def test_given_times(problem, dense):
    times = np.array([0.0, 0.3, 1.7, 2.0])
    for t_eval in (times, list(times), da.Output(times=times)):
        sol = problem.simulate(t_eval=t_eval, dense_output=dense)
        np.testing.assert_array_equal(sol.t, times)


@every
@both
def test_components(problem, method, dense, tmp_path):
    whole = problem.simulate(method=method, t_eval=da.Output(points=5))
    sol = problem.simulate(
        method=method, t_eval=da.Output(points=5, components=["lam", "y_dot", "y"]), dense_output=dense
    )
    assert sol.names == ("y", "y_dot", "lam1")
    assert sol.x.shape == (7, 3)
    for name in sol.names:
        np.testing.assert_array_equal(sol[name], whole[name])
    np.testing.assert_array_equal(sol.lam, whole.lam)
    for vector, names in (("p", "kept y, but not x"), ("v", "kept y_dot, but not x_dot")):
        for view in (sol, *([sol.at(1.2)] if dense else [])):
            with pytest.raises(da.NotKept, match=rf"{vector} was not kept as a whole: .* {names}\. .*\['y"):
                getattr(view, vector)
    with pytest.raises(da.OptionError, match=r"no values of p \(x\).*Output\(components=\.\.\.\) did not"):
        sol.max_residual("position")
    with pytest.raises(da.ModelError, match="'x'"):
        sol["x"]
    loaded = da.Solution.load(sol.save(tmp_path / "part.h5"), problem.model)
    np.testing.assert_array_equal(loaded.x, sol.x)
    assert loaded.partial
    assert loaded.not_kept == sol.not_kept == {"p": ("x",), "v": ("x_dot",)}
    for view in (sol, loaded, pickle.loads(pickle.dumps(sol))):
        assert not hasattr(view, "p")
        assert list(view.to_pandas().columns) == list(view.names)
        assert set(view.to_dict()) == {"t", *view.names}
        assert repr(view)
        assert str(view)
    if dense:
        np.testing.assert_array_equal(loaded.at(1.234)["y"], whole.at(1.234)["y"])
        assert sol.trajectory.coefficients.shape[2] == 3


def test_vectors_that_the_model_has_not(problem):
    """They are empty, as in results that keep everything: Output could not name them."""
    sol = problem.simulate(t_eval=da.Output(components=["y"]))
    assert sol.r.shape == sol.mu.shape == (len(sol.t), 0)
    with pytest.raises(da.NotKept, match="lam was not kept: name it"):
        _ = sol.lam


def test_vectors_named_by_all_their_components(problem):
    whole = problem.simulate(t_eval=da.Output(points=5))
    sol = problem.simulate(t_eval=da.Output(points=5, components=["y", "x", "lam1"]))
    np.testing.assert_array_equal(sol.p, whole.p)
    np.testing.assert_array_equal(sol.lam, whole.lam)


@pytest.mark.parametrize("seed", range(4))
def test_any_choice_of_components(problem, seed, tmp_path):
    """Whatever is kept: each vector is the whole one, or says what is missing."""
    rng = np.random.default_rng(seed)
    whole = problem.simulate(t_eval=da.Output(points=5))
    kept = rng.permutation(whole.names)[: rng.integers(1, len(whole.names) + 1)].tolist()
    sol = problem.simulate(t_eval=da.Output(points=5, components=kept))
    for view in (sol, da.Solution.load(sol.save(tmp_path / "run.h5"), problem.model)):
        assert set(view.names) == set(kept)
        for kind in ("p", "v", "lam"):
            if set(problem.model.names(kind)) <= set(kept):
                np.testing.assert_array_equal(getattr(view, kind), getattr(whole, kind))
            else:
                with pytest.raises(da.NotKept, match=f"^{kind} was not kept"):
                    getattr(view, kind)


def test_a_vector_that_was_not_kept(problem):
    sol = problem.simulate(t_eval=da.Output(components="p"))
    assert len(sol.t) == sol.stats.accepted + 1
    assert sol.max_residual("position") < 1e-6
    with pytest.raises(AttributeError, match=r"lam was not kept: name it in Output\(components=\.\.\.\)"):
        _ = sol.lam
    with pytest.raises(da.OptionError, match="did not keep"):
        sol.accelerations()
    with pytest.raises(AttributeError, match="v was not kept"):
        _ = sol.at(0.5).v


@both
def test_the_run_ends_early(dense):
    """Output goes as far as the integration."""
    stop = da.Event(lambda s: s.x, terminal=True)
    problem = da.problems.pendulum()
    for output, last in ((da.Output(points=9), 0.4), (da.Output(per_step=2), 0.5), (da.Output(max_spacing=0.1), 0.5)):
        sol = problem.simulate(t_eval=output, dense_output=dense, events=stop, rtol=1e-9, atol=1e-9)
        assert sol.t[-1] == pytest.approx(last, abs=1e-6)


@both
def test_jumps(dense):
    """At a jump: the state right after it."""
    ball = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-10.0])
    bounce = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -0.5 * s.y_dot})
    sol = da.simulate(
        ball, (0, 1.5), p0=[5.0], events=bounce, t_eval=da.Output(per_step=1), dense_output=dense, rtol=1e-9, atol=1e-9
    )
    at = np.argmin(np.abs(sol.t - 1.0))
    assert sol.t[at] == pytest.approx(1.0, abs=1e-9)
    assert sol["y_dot"][at] == pytest.approx(5.0, abs=1e-6)
    assert (np.diff(sol.t) > 0).all()


@both
def test_backwards_in_time(dense):
    problem = da.problems.pendulum()
    for output in (da.Output(points=3), da.Output(per_step=1), da.Output(max_spacing=0.2)):
        sol = da.simulate(problem.model, (0, -1), **problem.start(), t_eval=output, dense_output=dense)
        assert (np.diff(sol.t) < 0).all()
        assert sol.t[[0, -1]].tolist() == [0.0, -1.0]


def test_memory_without_dense_output():
    """What is stored does not grow with the steps."""
    problem = da.problems.pendulum(t_end=20.0)
    sol = problem.simulate(method=da.Mexx(), t_eval=da.Output(points=3, components=["x"]), dense_output=False)
    assert sol.trajectory.coefficients is None
    assert sol.x.shape == (5, 1)


def test_an_interval_of_no_length():
    problem = da.problems.pendulum()
    for output in (da.Output(points=3), da.Output(per_step=2), da.Output(max_spacing=0.1)):
        sol = da.simulate(problem.model, (0, 0), **problem.start(), t_eval=output)
        assert sol.t.tolist() == [0.0]


def test_quasi_linear_models():
    dae = da.QuasiLinearDAE(x=["c", "w"], leading=[1, 1], rhs=lambda s: [-s.c, s.c])
    sol = da.simulate(dae, (0, 1), x0=[1, 0], t_eval=da.Output(points=1, components=["w"]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol["w"], 1 - np.exp(-sol.t), atol=1e-8)
    for view in (sol, sol.at(0.5)):
        with pytest.raises(da.NotKept, match=r"x was not kept as a whole: .* kept w, but not c\."):
            _ = view.x
    with pytest.raises(AttributeError, match="no EquationsOfMotion"):
        _ = sol.p


def test_parts_of_another_model_are_noticed(problem, tmp_path):
    path = problem.simulate(t_eval=da.Output(points=1, components=["y"])).save(tmp_path / "part.h5")
    other = da.EquationsOfMotion(p=["x", "y", "z"], mass=[1, 1, 1], force=[0, 0, 0])
    with pytest.raises(da.ModelError, match="does not belong"):
        da.Solution.load(path, model=other)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (da.Output(points=10**7), "points=10000000"),
        (da.Output(per_step=10**7), "per_step=10000000"),
        (da.Output(max_spacing=2e-7), "max_spacing=2e-07"),
    ],
    ids=lambda value: str(value),
)
def test_more_than_the_memory_holds(problem, monkeypatch, output, words):
    """Said before anything is computed, with the size."""
    monkeypatch.setattr(dalembert.simulation.output, "memory", lambda: 1e9)
    with pytest.raises(da.OptionError, match=rf"Output\({words}\) would take 1\.4 GB, and there are 1\.0 GB of memory"):
        problem.simulate(t_eval=output)


@both
def test_steps_fill_the_memory(problem, monkeypatch, dense):
    """What one step asks for may be modest; all of them together is looked at as they come, and nothing is lost."""
    monkeypatch.setattr(dalembert.simulation.output, "memory", lambda: 5e6)
    events = [da.Event(lambda s: s.x)]  # ends buffers early
    with pytest.raises(da.SimulationError, match=r"per_step=1000\) asks for \d+ points so far") as raised:
        problem.simulate(t_eval=da.Output(per_step=1000), dense_output=dense, events=events)
    assert 0 < raised.value.solution.trajectory.interval[1] < 2.0
    assert len(raised.value.solution.t) > 1


@both
def test_memory_errors_become_ours(problem, monkeypatch, dense):
    def fails(*arguments):
        raise MemoryError

    monkeypatch.setattr(dalembert.simulation.output.Sampling, "all_times" if dense else "within", fails)
    with pytest.raises(da.SimulationError, match="memory"):
        _ = problem.simulate(t_eval=da.Output(per_step=3), dense_output=dense).t


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.Output(points=3, per_step=2), "not points= and per_step="),
        (lambda: da.Output(points=-1), "points=-1"),
        (lambda: da.Output(points=2.5), "whole number"),
        (lambda: da.Output(per_step=-1), "per_step=-1"),
        (lambda: da.Output(max_spacing=0), "max_spacing=0.0 must be positive"),
        (lambda: da.Output(max_spacing=np.inf), "finite"),
        (lambda: da.Output(components=[]), "empty"),
        (lambda: da.Output(components=[1, 2]), "names of variables"),
        (lambda: da.Output(components=7), "names of variables"),
        (lambda: da.Output(point=3), "did you mean 'points'"),
        (lambda: da.Output(3), "by name"),
    ],
)
def test_bad_outputs(make, message):
    with pytest.raises(da.OptionError, match=message):
        make()


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (da.Output(times=[0.0, 3.0]), "contains 3, outside of the interval from 0 to 2"),
        (da.Output(times=[-0.1, 1.0]), "contains -0.1, outside"),
        (da.Output(times=[0.0, 1.0, 0.5]), "strictly increasing: 1 is followed by 0.5"),
        (da.Output(times=[0.0, np.nan]), "not finite"),
        (da.Output(times="all"), "array of times"),
        (da.Output(max_spacing=1e-12), "more than 100000000 points"),
        (da.Output(components=["z"]), "components: there is no 'z'"),
        (da.Output(components=["lambda"]), "did you mean"),
    ],
)
def test_outputs_that_do_not_fit_the_run(problem, output, message):
    with pytest.raises(da.OptionError, match=message):
        problem.simulate(t_eval=output)


def test_text():
    assert repr(da.Output(points=3, components=["p"])) == "Output(points=3, components=('p',))"
