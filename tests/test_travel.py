"""Models, problems, solutions, events and options are pickled, copied, and sent to other processes."""

import copy
import dataclasses
import multiprocessing
import pickle
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor

import casadi as ca
import numpy as np
import pytest

import dalembert as da
import travellers
from dalembert.model import Model
from dalembert.model.travel import ARRIVED, pack_function
from dalembert.solvers import METHODS

CATALOGUE = da.problems.catalogue() | da.problems.catalogue_quasi_linear() | da.problems.catalogue_singular()
#: seconds that are simulated of each: enough for the first steps and, for some, an event or a breakpoint
SHORT = 0.5


def method_for(name):
    return da.Geoms(algebraic="svd") if name in da.problems.catalogue_singular() else "auto"


def sent(thing):
    return pickle.loads(pickle.dumps(thing))


def assert_same(found, expected):
    """Bit for bit, and able to do what a solution can."""
    np.testing.assert_array_equal(found.t, expected.t)
    np.testing.assert_array_equal(found.x, expected.x)
    middle = 0.5 * sum(expected.trajectory.interval)
    np.testing.assert_array_equal(found.at(middle).x, expected.at(middle).x)
    assert found.stats.to_dict() | {"seconds": 0} == expected.stats.to_dict() | {"seconds": 0}
    assert found.max_residual(found.model.residual_levels[0]) == expected.max_residual(found.model.residual_levels[0])


@pytest.fixture(scope="module")
def here():
    """Solutions of the catalogue in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: travellers.run(make(), method_for(name), SHORT) for name, make in CATALOGUE.items()}


@pytest.fixture(scope="module")
def elsewhere():
    """A process started by spawn."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


# -- in one process ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CATALOGUE)
def test_pickled_problems_give_the_same_solution(name, here):
    problem = sent(CATALOGUE[name]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(travellers.run(problem, method_for(name), SHORT), here[name])


@pytest.mark.parametrize("name", CATALOGUE)
def test_pickled_models_give_the_same_tapes(name):
    """Then the cache on disk knows them. The functions' derivatives are in it, so that the whole graph is compared."""
    ours = CATALOGUE[name]().model
    for mine, theirs in zip(expressions(ours), expressions(sent(ours)), strict=True):
        assert mine == theirs


def expressions(model):
    """Instructions and constants of the functions of a model and of their Jacobians."""
    graph = model.graph
    arguments = [graph.t, *graph.symbol.values(), graph.a, graph.dx, graph.theta]
    for function in graph.functions.values():
        values = [function.sx, ca.jacobian(ca.vec(function.sx), ca.vertcat(*arguments))]
        tape = ca.Function("f", arguments, values, {"cse": True})
        yield [
            (
                tape.instruction_id(k),
                tape.instruction_input(k),
                tape.instruction_output(k),
                tape.instruction_constant(k) if tape.instruction_id(k) == ca.OP_CONST else None,
            )
            for k in range(tape.n_instructions())
        ]


@pytest.mark.parametrize("how", [sent, copy.copy, copy.deepcopy])
def test_twins_of_a_model(how):
    model = da.problems.truck().model.replace(parameters={"k10": 2e4})
    twin = how(model)
    assert isinstance(twin, Model)
    assert twin is not model
    assert repr(twin) == repr(model)
    assert twin.parameters == model.parameters
    assert twin.names("p") == model.names("p")
    assert twin.breakpoints == model.breakpoints
    assert twin.structure == model.structure
    for t in (0.0, 0.3, 5.0):
        np.testing.assert_array_equal(twin.theta(t), model.theta(t))
    if how is sent:
        assert twin.kept.lock is not model.kept.lock
    else:
        assert twin.graph is model.graph
        assert twin.kept is model.kept  # compiled code is shared


@pytest.mark.parametrize("how", [sent, copy.copy, copy.deepcopy])
def test_twins_can_be_changed_on(how):
    twin = how(da.problems.pendulum().model)
    other = twin.replace(parameters={"L": 2.0})
    assert (other.parameters["L"], twin.parameters["L"]) == (2.0, 1.0)
    assert other.kept is twin.kept
    assert da.simulate(other, (0, 0.1), p0=[2, 0]).success


def test_variants_travel_together():
    first = da.problems.pendulum().model
    second = first.replace(parameters={"L": 2.0})
    first, second, again = sent((first, second, first))
    assert first is again
    assert (first.parameters["L"], second.parameters["L"]) == (1.0, 2.0)


def test_what_comes_again_is_prepared_once():
    """As the tasks of a sweep, of which each brings its model along."""
    model = da.problems.andrews().model
    first, second = (sent(model.replace(parameters={"torque": torque})) for torque in (0.033, 0.03))
    assert first.kept is second.kept
    assert (first.parameters["torque"], second.parameters["torque"]) == (0.033, 0.03)
    assert da.formulate(first, "index2") is da.formulate(second, "index2")
    start = da.problems.andrews().start()
    for twin in (first, second):
        own = da.simulate(model.replace(parameters=twin.parameters), (0, 0.005), **start)
        np.testing.assert_array_equal(da.simulate(twin, (0, 0.005), **start).x, own.x)


def test_what_differs_is_prepared_apart():
    def spring(**options):
        return da.EquationsOfMotion(
            **dict(p=["x"], mass=[1.0], force=lambda s: [-s.k * s.x], parameters={"k": 1.0}) | options
        )

    others = [
        {"p": ["y"], "force": lambda s: [-s.k * s.y]},  # a name
        {"force": lambda s: [-2 * s.k * s.x]},  # a constant
        {"parameters": {"k": 1.0, "c": 2.0}},
        {"discrete": {"on": 1.0}},
        {"discrete": {"on": 2.0}},
        {"inputs": {"end": 1.0}},
        {"autonomous": True},
        {"name": "another"},  # for messages
    ]
    twins = [sent(spring(**other)) for other in ({}, *others)]
    assert len({id(twin.kept) for twin in twins}) == len(twins)


def test_models_with_python_functions_are_prepared_apart(springs):
    assert sent(springs).kept is not sent(springs).kept


def test_few_arrivals_are_kept():
    for k in range(20):
        model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s, k=k: [-(k + 1.5) * s.x])
        assert sent(model).names("p") == ("x",)
    assert len(ARRIVED._models) <= 8


def test_locks_and_compiled_code_stay_behind():
    problem = da.problems.pendulum()
    before = len(pickle.dumps(problem.model))
    problem.simulate(method=da.Geoms())
    assert len(pickle.dumps(problem.model)) == before


def test_a_model_can_be_pickled_while_another_thread_simulates_it(springs):
    faults, started = [], threading.Event()

    def simulate():
        try:
            for _ in range(2):
                da.simulate(springs, (0, 0.05), p0=[1, 0], method=da.Hem5())
                started.set()
        except Exception as error:  # told to the main thread
            faults.append(error)
            started.set()

    thread = threading.Thread(target=simulate)
    thread.start()
    started.wait()
    times = 0
    while thread.is_alive():
        assert sent(springs).names("p") == ("z", "y")
        times += 1
    thread.join()
    assert not faults
    assert times


def test_implicit_daes_travel():
    model = da.ImplicitDAE(
        x=["y", "z"], residual=lambda s: [s.y_dot**3 + s.y_dot + s.k * s.z, s.z - s.y], parameters={"k": 2.0}
    )
    one, two = (da.simulate(m, (0, 1), x0=[1, 1], method=da.Dassl()) for m in (model, sent(model)))
    np.testing.assert_array_equal(one.x, two.x)
    assert sent(model).names("dx") == ("y_dot", "z_dot")


def test_sympy_models_travel_without_sympy():
    sympy = pytest.importorskip("sympy")
    x, y, L = sympy.symbols("x y L")
    model = da.EquationsOfMotion(
        p=["x", "y"], parameters={"L": 1.0}, mass=[1, 1], force=[0, -9.81], holonomic=[x**2 + y**2 - L**2]
    )
    assert b"sympy" not in pickle.dumps(model)
    one, two = (da.simulate(m, (0, 1), p0=[1, 0]) for m in (model, sent(model)))
    np.testing.assert_array_equal(one.x, two.x)


def test_discrete_variables_and_promises_travel():
    model = da.EquationsOfMotion(
        p=["x"], mass=[2.0], force=lambda s: [-s.on * s.x], discrete={"on": 1.0}, constant_mass=True, autonomous=True
    )
    twin = sent(model)
    assert twin.discrete == {"on": 1.0}
    assert twin.graph.promises == model.graph.promises
    assert twin.theta_layout == model.theta_layout


# -- Python functions ----------------------------------------------------------------------------------------------


@pytest.fixture
def springs():
    """A force that runs as Python code and sees variables around it, with inputs of every sort."""
    table = da.Input.table(np.linspace(0, 2, 9), np.sin(np.linspace(0, 2, 9)))
    amplitude = 0.3
    with pytest.warns(da.UntraceableWarning):
        return da.EquationsOfMotion(
            p=["z", "y"],
            mass=[1, 1],
            inputs={
                "measured": table,
                "traced": da.Input(lambda t: amplitude * np.cos(t), breakpoints=[0.7]),
                "constant": 2.0,
                "opaque": lambda t: amplitude if t < 5 else 1.0,
            },
            force=lambda s: [
                -100.0 * s.z if s.z > amplitude else -1.0 * s.z,
                s.measured + s.traced + s.constant * s.opaque - s.y,
            ],
        )


@pytest.mark.parametrize("how", [sent, copy.copy, copy.deepcopy])
def test_untraceable_functions_and_inputs(springs, how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is traced again
        twin = how(springs)
    assert twin.untraceable == springs.untraceable
    assert twin.breakpoints == springs.breakpoints
    times = np.linspace(0, 2, 7)
    np.testing.assert_array_equal(twin.thetas(times), springs.thetas(times))
    one, two = (da.simulate(m, (0, 1), p0=[1, 0], method=da.Hem5()) for m in (springs, twin))
    np.testing.assert_array_equal(one.x, two.x)


def test_a_traced_input_keeps_its_values_without_the_users_function():
    model = da.EquationsOfMotion(p=["z"], mass=[1], inputs={"u1": lambda t: t**2}, force=lambda s: [s.u1])
    given = sent(sent(model)).inputs["u1"].given
    assert given.function(3.0) == 9.0


def test_an_untraceable_diagonal_travels():
    def leading(s):
        return [1.0, 1.0 if s.a > -100 else 2.0]

    with pytest.warns(da.UntraceableWarning):
        model = da.QuasiLinearDAE(x=["a", "b"], leading=leading, rhs=lambda s: [-s.a, s.a - s.b])
    one, two = (da.simulate(m, (0, 1), x0=[1, 0]) for m in (model, sent(model)))
    np.testing.assert_array_equal(one.x, two.x)


def test_without_cloudpickle_the_error_names_function_and_remedy(springs, monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(da.ModelError, match=r"input 'opaque' \(line \d+ of .*py\).*pip install cloudpickle, or"):
        pickle.dumps(springs)
    with pytest.raises(da.ModelError, match=r"force \(line \d+ of"):
        pickle.dumps(springs.replace(inputs={"opaque": 1.0}))
    with pytest.raises(da.ModelError, match=r"action of event 'floor' \(line \d+ of"):
        pickle.dumps(da.Event(np.sin, action=lambda s: {}, name="floor"))


def test_without_cloudpickle_traced_models_and_importable_functions_travel(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert sent(da.problems.andrews()).model.names("lam")
    assert sent(da.Event(travellers.run)).function is travellers.run


def test_what_even_cloudpickle_cannot_pack_is_named():
    lock = threading.Lock()
    with pytest.raises(da.ModelError, match=r"event 'locked' \(line \d+ of .*cannot pickle.*lock.*open files, locks"):
        pickle.dumps(da.Event(lambda s: s.x if lock.locked() else 0.0, name="locked"))


def test_functions_of_the_main_module_go_by_value(monkeypatch):
    """In another process `__main__` is another module."""

    def main(s):
        return s

    monkeypatch.setattr(sys.modules["__main__"], "main", main, raising=False)
    monkeypatch.setattr(main, "__module__", "__main__", raising=False)
    main.__qualname__ = "main"
    packed = pack_function(main, "force")
    monkeypatch.delattr(sys.modules["__main__"], "main")
    assert pickle.loads(packed)(3) == 3


def test_a_pickle_of_another_version_says_so():
    state = da.problems.pendulum().model.graph.__getstate__()
    state |= {"casadi": "3.0.0", "expressions": state["expressions"][:-20]}
    graph = object.__new__(type(da.problems.pendulum().model.graph))
    with pytest.raises(da.ModelError, match=r"pickled with CasADi 3\.0\.0 and cannot be read with"):
        graph.__setstate__(state)


# -- events, options, problems, solutions --------------------------------------------------------------------------


@pytest.mark.parametrize("how", [sent, copy.copy, copy.deepcopy])
def test_events(how):
    height = 0.2
    floor = da.Event(
        lambda s: s.y - height, direction=-1, action=lambda s: {"y_dot": -0.5 * s.y_dot}, name="floor", check_points=9
    )
    twin = how(floor)
    ball = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-9.81])
    one, two = (da.simulate(ball, (0, 1), p0=[1.0], events=event) for event in (floor, twin))
    assert len(one.events)
    np.testing.assert_array_equal(one.x, two.x)
    assert (twin.name, twin.check_points, twin.direction) == ("floor", 9, -1)


@pytest.mark.parametrize("how", [sent, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("method", [*METHODS.values()])
def test_options(method, how):
    options = method(h=1e-3) if method is da.MoreauJean else method()
    twin = how(options)
    assert twin == options
    assert {f.name for f in dataclasses.fields(twin)} == {f.name for f in dataclasses.fields(options)}


@pytest.mark.parametrize("how", [sent, copy.deepcopy])
def test_problems_stay_immutable(how):
    twin = how(da.problems.pendulum())
    with pytest.raises(ValueError, match="read-only"):
        twin.p0[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        twin.reference.p[0] = 3.0
    assert any(twin.reference is known for known in twin.references)
    assert twin.error(twin.simulate(rtol=1e-9, atol=1e-9)) < 1e-5


@pytest.fixture(scope="module")
def bouncing():
    """A solution with all that one can have: events, jumps, a profile, output at given times."""
    pendulum = da.EquationsOfMotion(
        p=["x", "y"], parameters={"L": 1.0}, mass=[1, 1], force=[0, -9.81],
        holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2],
    )  # fmt: skip
    wall = da.Event(lambda s: s.x, action=lambda s: {"x_dot": -0.9 * s.x_dot, "y_dot": -0.9 * s.y_dot}, name="wall")
    return da.simulate(
        pendulum, (0, 2), p0=[1, 0], events=wall, profile=True, t_eval=np.linspace(0, 2, 21), method=da.Hem5()
    )


@pytest.mark.parametrize("how", [sent, copy.copy, copy.deepcopy])
def test_solutions(bouncing, how):
    twin = how(bouncing)
    assert_same(twin, bouncing)
    assert len(twin.events) == len(bouncing.events) > 0
    np.testing.assert_array_equal(twin.events.t, bouncing.events.t)
    np.testing.assert_array_equal(twin.events[0].v, bouncing.events[0].v)
    assert dict(twin.profile) == dict(bouncing.profile)
    assert (twin.status, twin.message, twin.method) == (bouncing.status, bouncing.message, bouncing.method)
    np.testing.assert_array_equal(twin.accelerations(), bouncing.accelerations())
    for level in ("position", "velocity", "acceleration", "invariant"):
        np.testing.assert_array_equal(twin.residual(level), bouncing.residual(level))


def test_a_sent_solution_can_be_plotted_and_saved(bouncing, tmp_path):
    import matplotlib

    matplotlib.use("agg")
    twin = sent(bouncing)
    assert len(twin.plot("x", "y").lines) == 2
    np.testing.assert_array_equal(da.Solution.load(twin.save(tmp_path / "run.h5")).x, bouncing.x)


def test_a_deep_copy_of_a_solution_is_its_own(bouncing):
    twin = copy.deepcopy(bouncing)
    twin.x[:] = 0.0
    assert np.abs(bouncing.x).max() > 0


def test_errors_travel_with_their_solution():
    with pytest.raises(da.TooManySteps) as caught:
        travellers.fail(da.problems.pendulum())
    twin = sent(caught.value)
    assert type(twin) is da.TooManySteps
    assert str(twin) == str(caught.value)
    assert_same(twin.solution, caught.value.solution)
    with pytest.raises(da.ModelError) as caught:
        da.EquationsOfMotion(p=[], mass=[], force=[])
    assert sent(caught.value).faults == caught.value.faults


# -- other processes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CATALOGUE)
def test_processes_started_by_spawn(name, here, elsewhere):
    found = elsewhere.submit(travellers.run, CATALOGUE[name](), method_for(name), SHORT).result()
    assert_same(found, here[name])


def test_python_functions_in_another_process(springs, elsewhere):
    problem = da.problems.Problem(name="springs", title="", model=springs, t_end=1.0, p0=[1, 0], v0=[0, 0])
    found = elsewhere.submit(travellers.run, problem, da.Hem5()).result()
    assert_same(found, travellers.run(problem, da.Hem5()))


def test_errors_of_another_process(elsewhere):
    with pytest.raises(da.TooManySteps, match="3 steps did not reach the end") as caught:
        elsewhere.submit(travellers.fail, da.problems.pendulum()).result()
    assert caught.value.solution.stats.accepted > 0


@pytest.mark.parametrize("method", [da.Hem5(), da.Radau5(), da.Geoms(), da.Dassl()])
def test_nothing_that_the_cache_has_is_compiled_again(method, elsewhere):
    """Kernels were compiled, or found, by a first process; the tapes of a model that nobody knew by this one."""
    unknown = 1 + np.random.default_rng().uniform(1e-6, 1e-3)  # a constant of the graph
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + unknown * s.y**2 - 1]
    )
    problem = da.problems.Problem(name="oval", title="", model=model, t_end=1.0, p0=[1, 0], v0=[0, 0])
    elsewhere.submit(travellers.run, da.problems.pendulum(), method).result()
    expected = travellers.run(problem, method)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as new:
        found, tapes, kernels, loaded = new.submit(travellers.counting, problem, method).result()
    assert_same(found, expected)
    assert (tapes, kernels) == (0, 0)
    assert loaded > 0


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


def test_a_dask_cluster(here, cluster):
    futures = {
        name: cluster.submit(travellers.run, make(), method_for(name), SHORT) for name, make in CATALOGUE.items()
    }
    for name, future in futures.items():
        assert_same(future.result(), here[name])


def test_a_dask_cluster_with_python_functions(springs, cluster):
    problem = da.problems.Problem(name="springs", title="", model=springs, t_end=1.0, p0=[1, 0], v0=[0, 0])
    assert_same(cluster.submit(travellers.run, problem, da.Hem5()).result(), travellers.run(problem, da.Hem5()))


@pytest.mark.slow
@pytest.mark.parametrize("name", da.problems.catalogue_large())
def test_large_models_on_a_dask_cluster(name, cluster):
    problem = da.problems.catalogue_large()[name]()
    expected = travellers.run(problem, "auto", 0.1)
    assert_same(cluster.submit(travellers.run, problem, "auto", 0.1).result(), expected)
