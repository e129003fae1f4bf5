"""Everything around a GPU, with a driver that is none; and the code that a real one would be given."""

from __future__ import annotations

import numpy as np
import pytest
from fake_gpu import FakeLibrary, install
from families import family

import dalembert as da
from dalembert.compile.generated import cuda
from dalembert.compile.generated.cuda import Device, Driver, find_device
from dalembert.compile.generated.nvptx import GROUPS, SLOW_THREADS, THREADS
from dalembert.ensembles import gpu
from dalembert.solvers.half.generated.program import Recipe, program_of
from dalembert.solvers.half.generated.scheme import EventScheme, Scheme

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")


def equal(one: da.Ensemble, other: da.Ensemble) -> None:
    np.testing.assert_allclose(one.end.p, other.end.p, rtol=0, atol=1e-10)
    np.testing.assert_allclose(one.end.lam, other.end.lam, rtol=1e-7)
    for name in ("accepted", "rejected", "failed"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(np.asarray(one.status), np.asarray(other.status))


@pytest.mark.parametrize("target", [None, GROUPS[1]], ids=["threads", "groups"])
def test_blocks_come_and_go_and_nothing_is_left(monkeypatch, target):
    library = install(monkeypatch)
    monkeypatch.setattr(gpu, "GPU_BLOCK", 64)
    if target is not None:
        monkeypatch.setattr(gpu, "gpu_target", lambda program, device: target)
    given = family("andrews", 400)
    there = da.ensemble(**given, device="gpu")
    assert there.device == "gpu: Fake"
    assert there.kernel_seconds > 0
    equal(there, da.ensemble(**given, device="cpu"))
    kernels = [launch[0] for launch in library.launches]
    assert kernels == ["start", "integrate"] * 7  # 400 members in blocks of 64
    assert library.streams == 0
    find = cuda.find_device()
    find.pieces.clear()
    assert not library.memory  # and what was held for the next ensemble is given back as well


def test_memory_is_used_again(monkeypatch):
    library = install(monkeypatch)
    given = family("pendulum", 100)
    da.ensemble(**given, device="gpu")
    library.calls.clear()
    da.ensemble(**given, device="gpu")
    assert "cuMemAlloc_v2" not in library.calls
    assert "cuModuleLoadDataEx" not in library.calls  # nor is code translated again


def test_output_times_and_events(monkeypatch):
    install(monkeypatch)
    given = family("pendulum", 40)
    more = dict(t_eval=np.linspace(0, given["t_span"][1], 7), events=da.Event(lambda s: s.x, name="lowest"))
    there, here = (da.ensemble(**given, **more, device=device) for device in ("gpu", "cpu"))
    np.testing.assert_allclose(there.p, here.p, rtol=0, atol=1e-12)
    np.testing.assert_allclose(there.events["lowest"].t, here.events["lowest"].t, rtol=0, atol=1e-12)


def test_blocks_are_bounded_by_the_memory_of_the_device(monkeypatch):
    library = install(monkeypatch, FakeLibrary(free=1 << 20))
    given = family("pendulum", 4000)
    there = da.ensemble(**given, device="gpu")
    assert there.success.all()
    assert len(library.launches) > 2
    assert max(launch[1] * launch[2] for launch in library.launches) * 8 * 30 < 1 << 20


def test_a_device_without_memory_is_an_error_with_a_remedy(monkeypatch):
    install(monkeypatch, FakeLibrary(free=1 << 12))
    with pytest.raises(da.NoDevice, match=r"cuMemAlloc.*out of memory.*device='cpu'"):
        da.ensemble(**family("pendulum", 10), device="gpu")


def test_auto_takes_a_gpu_for_many_members(monkeypatch):
    install(monkeypatch)
    monkeypatch.setattr("dalembert.ensembles.carry.MANY", 50)
    assert da.ensemble(**family("pendulum", 49)).device == "cpu"
    assert da.ensemble(**family("pendulum", 50)).device == "gpu: Fake"


def test_functions_that_a_gpu_does_not_have(monkeypatch):
    install(monkeypatch)
    monkeypatch.setattr("dalembert.solvers.half.generated.program.Program.ptx", _honest)
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [_erf(s.x)])
    with pytest.raises(da.ModelError, match="uses erf, which there is no code for on a GPU: device='cpu'"):
        da.ensemble(model, (0, 1), p0=[1.0], n=2, device="gpu")
    assert da.ensemble(model, (0, 1), p0=[1.0], n=2, device="cpu").success.all()


def _honest(program, target, capability):
    return str(program.written(target))


def _erf(x):
    import casadi as ca

    from dalembert.model.expression import scalar, to_sx

    return scalar(ca.erf(to_sx(x)[0]))


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (FakeLibrary(version=10020), "driver is too old: it knows CUDA 10.2, and 11.0 is needed"),
        (FakeLibrary(count=0), "no GPU .*CUDA_VISIBLE_DEVICES"),
        (FakeLibrary(capability=(3, 5)), "'Fake' has compute capability 3.5; 6.0 is the least"),
    ],
)
def test_devices_that_cannot_be_used_are_named(library, words):
    with pytest.raises(da.NoDevice, match=words):
        Device(Driver(library))


def test_without_a_gpu():
    try:
        find_device()
        pytest.skip("there is a GPU here")
    except da.NoDevice:
        pass
    with pytest.raises(da.NoDevice, match="device='cpu'"):
        da.ensemble(**family("pendulum", 2), device="gpu")


@pytest.mark.parametrize("target", [THREADS, SLOW_THREADS, GROUPS[0], GROUPS[3]], ids=["threads", "slow", "4", "32"])
def test_code_for_a_gpu_is_written(target):
    """PTX by LLVM; what a device makes of it only a device can tell."""
    model = da.problems.pendulum().model
    scheme = Scheme(da.Hem5.tableau, outputs=True, multipliers=True, events=(EventScheme(terminal=1),), room=4)
    graph = model.graph
    recipe = Recipe(scheme, (0,), events=graph.symbol["p"][0], events_text="x")
    program = program_of(da.Hem5().formulate(model), recipe)
    ptx = program.ptx(target, (9, 0))
    assert ".target sm_90" in ptx
    assert program.ptx(target, (12, 0)) == ptx  # newer devices take the code of older ones
    assert ptx.count(".entry") == 2
    assert "fma.rn.f64" in ptx
    assert ("bar.warp.sync" in ptx) == bool(target.group)
    assert "call.uni" not in ptx or target is not THREADS  # everything is inlined where registers suffice


def test_who_has_a_member_depends_on_its_size(monkeypatch):
    install(monkeypatch)
    device = cuda.find_device()
    recipe = Recipe(Scheme(da.Hem5.tableau))
    programs = [program_of(da.Hem5().formulate(da.problems.pendulum_chain(n).model), recipe) for n in (2, 20)]
    assert [gpu.gpu_target(program, device) for program in programs] == [THREADS, SLOW_THREADS]
    monkeypatch.setattr(gpu, "LONGEST", 1000)
    assert gpu.gpu_target(programs[1], device) == GROUPS[-1]
