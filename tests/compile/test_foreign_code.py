"""Code for other systems: what it calls is what `symbols` looks for there, and LLVM's older linker takes it, too."""

import re
import sys

import casadi
import llvmlite.binding as llvm
import numpy as np
import pytest

from dalembert.compile import compile_tape, jit, symbols
from dalembert.compile import emit as emit_module
from dalembert.compile.emit import TEMPLATES, emit, read_tape
from dalembert.compile.machine import _LIBRARY, _WRAPPER, _library_path
from dalembert.compile.ports import Port
from dalembert.compile.tape import port_function

SYSTEMS = {
    "x86_64-unknown-linux-gnu": ("linux", "x86-64-v3", ""),
    "aarch64-unknown-linux-gnu": ("linux", "generic", ""),
    "x86_64-apple-macosx11.0.0": ("darwin", "x86-64", "_"),
    "arm64-apple-macosx11.0.0": ("darwin", "apple-m1", "_"),
    "x86_64-pc-windows-msvc": ("win32", "x86-64", ""),
    "aarch64-pc-windows-msvc": ("win32", "generic", ""),
}
CALL = re.compile(r"^\s+(?:callq|jmp|bl|b)\s+([_A-Za-z][\w$]*)", re.MULTILINE)


def every_operation() -> str:
    x = casadi.SX.sym("x", 2)
    rows = [casadi.sin(x[0]) + casadi.cos(x[0])]
    for operation in TEMPLATES:
        two = casadi.SX.binary if operation in (casadi.OP_POW, casadi.OP_ATAN2) else None
        try:
            rows.append(two(operation, *casadi.vertsplit(x)) if two else casadi.SX.unary(operation, x[0]))
        except RuntimeError:
            rows.append(casadi.SX.binary(operation, x[0], x[1]))
    return emit(read_tape(port_function(casadi.SX.sym("t"), x, casadi.SX(0, 1), casadi.vertcat(*rows))))


def many_operations() -> str:
    """In pieces, with numbers that outlive them."""
    x = casadi.SX.sym("x", 600)
    rows = casadi.vertsplit(x)
    for k in range(1200):
        rows[k % 600] = casadi.exp(rows[k % 600]) * rows[(7 * k + 1) % 600]
    return emit(read_tape(port_function(casadi.SX.sym("t"), x, casadi.SX(0, 1), casadi.vertcat(*rows))))


def with_more_than_the_stack_holds() -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emit_module, "STACK", 100)
        return many_operations()


def virtual_machine() -> str:
    return _WRAPPER.format(
        handle="i64", function=1, n_arg=3, n_res=1, n_w=3000, n_out=5, work="%w = alloca i64, i64 3000", free=""
    )


CASES = {
    "operations": (every_operation, {f"dalembert_{name}" for name in symbols.OWN} | {"dalembert_erfinv"}),
    "stack": (many_operations, {"dalembert_exp"}),
    "heap": (with_more_than_the_stack_holds, {"dalembert_exp", "malloc", "free"}),
    "machine": (virtual_machine, {"checkout", "evaluate", "release"}),
}


@pytest.fixture(scope="module")
def texts():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return {name: make() for name, (make, _) in CASES.items()}


def names_called(text: str, triple: str, level: int) -> set[str]:
    _, processor, prefix = SYSTEMS[triple]
    target = llvm.Target.from_triple(triple).create_target_machine(
        cpu=processor, opt=level, reloc="pic", codemodel="small"
    )
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(target.target_data)
    names = {name.removeprefix(prefix) for name in CALL.findall(target.emit_assembly(module))}
    return {name for name in names if not re.fullmatch(r"chunk\d+|L?BB\d+_\d+", name)}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("triple", SYSTEMS)
def test_what_code_calls_is_known(texts, case, triple):
    platform = SYSTEMS[triple][0]
    called = names_called(texts[case], triple, 0) | names_called(texts[case], triple, 1)
    asked = CASES[case][1]
    assert asked <= called
    assert called - asked <= {*symbols.PLAIN, *symbols.EXTRA[platform]}


def test_sine_and_cosine_and_stack_probes_are_those_of_the_system(texts):
    """The lists hold nothing that LLVM has given up."""
    found = {platform: set() for platform, _, _ in SYSTEMS.values()}
    for triple, (platform, _, _) in SYSTEMS.items():
        called = names_called(texts["operations"], triple, 1) | names_called(texts["machine"], triple, 1)
        found[platform] |= called & set(symbols.EXTRA[platform])
    assert found == {"linux": {"sincos"}, "darwin": {"__sincos_stret"}, "win32": {"__chkstk"}}


def test_functions_of_this_system_are_found():
    found = symbols.library_symbols()
    assert {f"dalembert_{name}" for name in symbols.OWN} | set(symbols.PLAIN) <= found.keys()
    assert all(address > 0 for address in found.values())


@pytest.mark.parametrize(("platform", "names"), [("win32", ("ucrtbase", "ntdll")), ("darwin", (None, "libm.dylib"))])
def test_libraries_of_other_systems(monkeypatch, platform, names):
    """Windows keeps them under names of its own; elsewhere the process has them, or the mathematical library."""
    asked = []

    def opened(name):
        asked.append(name)
        return object()  # has nothing

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(symbols.ctypes, "CDLL", opened)
    monkeypatch.setattr(symbols.ctypes.util, "find_library", lambda name: f"lib{name}.dylib")
    for function in (symbols._libraries, symbols.library_symbols):
        monkeypatch.setattr(symbols, function.__name__, function.__wrapped__)
    assert len(symbols._libraries()) == 2
    assert tuple(asked) == names
    with pytest.raises(OSError, match=r"the libraries of this system lack dalembert_exp, .*memmove"):
        symbols.library_symbols()


def test_the_older_linker_gives_the_same(monkeypatch):
    """Windows has no other."""
    t, x, theta = casadi.SX.sym("t"), casadi.SX.sym("x", 2), casadi.SX(0, 1)
    out = casadi.vertcat(casadi.sin(x[0]) + casadi.cos(x[0]), casadi.exp(x[1]) ** x[0], casadi.erfinv(x[0]))
    point = np.array([0.3, 1.7])
    expected = compile_tape(t, x, theta, out)(0.0, point, np.empty(0))
    monkeypatch.setattr(jit, "JIT_LINK", False)
    monkeypatch.setattr(jit, "_engine", None)
    function = port_function(t, x, theta, out)
    code, _ = jit.build(emit(read_tape(function)))
    port = Port(code.address, n_x=2, n_theta=0, n_out=3, backend="llvm", keep=code)
    np.testing.assert_array_equal(port(0.0, point, np.empty(0)), expected)


@pytest.mark.parametrize("name", ["libcasadi.so", "libcasadi.so.3.7", "libcasadi.3.7.dylib", "libcasadi.dll"])
def test_names_of_casadis_library(name):
    assert _LIBRARY.fullmatch(name)
    assert not _LIBRARY.fullmatch("libcasadi.dll.a")
    assert not _LIBRARY.fullmatch("libcasadi.lib")
    assert not _LIBRARY.fullmatch("libcasadi_integrator_cvodes.so")
    assert _LIBRARY.search(_library_path())
