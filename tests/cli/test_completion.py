"""Completion: what is offered where, in three shells; and that it is quick."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from running import document, fails, run

import dalembert as da
from dalembert.cli.completion import files, offers


@pytest.mark.parametrize(
    ("words", "current", "expected"),
    [
        ([], "sim", ["simulate"]),
        ([], "--v", ["--version"]),
        (["simulate"], "andr", ["andrews", "andrews_from_bodies"]),
        (["simulate"], "ar", ["arm.urdf"]),
        (["simulate"], "Pend", ["Pendulum.mo"]),
        (["simulate"], "mi", ["miller_integrator", "mine.py"]),
        (["simulate"], "cas", []),  # a table is no model
        (["simulate", "andrews"], "x", []),  # there is one argument only
        (["simulate", "andrews"], "--first", ["--first-step"]),
        (["simulate", "andrews", "--rtol", "1e-6"], "--rt", []),  # given already
        (["simulate", "andrews", "--set", "m1=1"], "--set", ["--set"]),  # repeatable
        (["simulate", "andrews", "--method"], "g", ["geoms"]),
        (["simulate", "andrews"], "--method=g", ["--method=geoms"]),
        (["simulate", "andrews", "--method"], "hem5:st", ["hem5:stages=", "hem5:steps="]),
        (["simulate", "andrews", "--method"], "hem5:stages=plain,err", ["hem5:stages=plain,error="]),
        (["simulate", "andrews", "--method", "geoms", "--option"], "sel", ["selector="]),
        (["simulate", "andrews", "--method", "hem5", "--option"], "sel", []),
        (["simulate", "andrews", "--set"], "m", [f"m{i}=" for i in range(1, 8)]),
        (["simulate", "andrews", "--initial"], "be", ["beta=", "beta_dot="]),
        (["simulate", "andrews", "--variables"], "beta,gam", ["beta,gamma", "beta,gamma_dot"]),
        (["simulate", "andrews", "--stop-when"], "phi", ["phi<", "phi_dot<"]),
        (["sweep", "andrews", "--vary"], "m7", ["m7="]),
        (["sweep", "andrews", "--samples"], "", ["cases.csv", "wind.csv", "folder/"]),
        (["simulate", "andrews", "--formulation"], "index", ["index1", "index2", "index3"]),
        (["reproduce"], "", ["geoms", "mexx", "hem5", "corrector", "qualidaes"]),
        (["translate", "pendulum", "--to"], "", ["python", "c", "fortran"]),
        (["nothing"], "", []),
    ],
)
def test_offers(folder, words, current, expected):
    (folder / "folder").mkdir()
    assert sorted(offers(words, current)) == sorted(expected)


def test_words_that_are_offered_exist():
    from dalembert.cli.completion import WORDS
    from dalembert.export import LANGUAGES
    from dalembert.multibody.urdf.read import load
    from dalembert.solvers.radau5 import FORMULATIONS
    from dalembert.studies import REPRODUCTIONS

    assert WORDS["formulation"] == FORMULATIONS
    assert WORDS["to"] == tuple(LANGUAGES)
    assert WORDS["paper"] == tuple(REPRODUCTIONS)
    for option in WORDS["urdf"]:  # all are known: the file is what is missing, or this is no value of theirs
        with pytest.raises(da.DalembertError, match=r"no URDF file|must be"):
            load(object, "missing.urdf", **{option.removesuffix("="): "nothing"})


def test_files_in_folders_hidden_ones_and_blanks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a folder").mkdir()
    for name in ("a folder/Model.mo", "a folder/notes.txt", ".hidden.mo", "two words.mo"):
        (tmp_path / name).touch()
    assert list(files("", (".mo",))) == ["a folder/", "two words.mo"]
    assert list(files("a folder/", (".mo",))) == ["a folder/Model.mo"]
    assert list(files(".h", (".mo",))) == [".hidden.mo"]
    assert files("missing/", (".mo",)) == {}


def test_names_are_found_again_and_forgotten_when_files_change(tmp_path, monkeypatch):
    from dalembert.cli import names

    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))
    found = []
    for stamp in ("1", "1", "2"):
        monkeypatch.setattr(names, "_stamp", lambda room, stamp=stamp: stamp)
        names._kept("things", "problems", lambda stamp=stamp: found.append(stamp) or ["x"])
    assert found == ["1", "2"]


def test_the_command(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for shell in ("bash", "zsh", "fish"):
        assert f"__complete {shell}" in run("completion", shell).stdout
        place = document("completion", shell, "--install")["result"]["files"]["script"]
        assert str(folder) in place
        with open(place, encoding="utf-8") as file:
            assert file.read() == run("completion", shell).stdout
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert run("completion").stdout == run("completion", "fish").stdout
    assert "known names: bash, fish, zsh" in fails("completion", "tcsh")


# -- shells ------------------------------------------------------------------------------------------------------------


def ours(folder) -> dict:
    """An environment in which `dalembert` is what is tested."""
    script = folder / "bin" / "dalembert"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dalembert "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}


def said(words: list[str], folder) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=ours(folder))
    assert "rror" not in done.stderr, done.stderr
    return done.stdout


def needed(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")


def test_bash(folder):
    """bash breaks words at = and :, and wants the rest only."""
    needed("bash")
    (folder / "two words").mkdir()
    script = """
        source <(dalembert completion bash)
        compopt() { :; }
        for COMP_LINE in "$@"; do
            COMP_POINT=${#COMP_LINE}; COMPREPLY=(); _dalembert dalembert
            printf '%s\\n' "${COMPREPLY[@]}" --
        done
    """
    lines = ["dalembert simulate andr", "dalembert simulate x --method=rad", "dalembert simulate two",
             "dalembert simulate 'two", "dalembert simulate andrews --set m1"]  # fmt: skip
    shown = said(["bash", "--norc", "-c", textwrap.dedent(script), "bash", *lines], folder)
    found = [part.split("\n")[:-1] for part in shown.split("--\n")[:-1]]
    assert found == [["andrews", "andrews_from_bodies"], ["radau5"], ["two\\ words/"], ["two words/"], ["m1="]]


def test_fish(folder):
    needed("fish")
    script = 'dalembert completion fish | source; complete -C "dalembert simulate andr"; complete -C "dalembert comp"'
    shown = [line.partition("\t") for line in said(["fish", "--no-config", "-c", script], folder).splitlines()]
    assert [word for word, _, _ in shown] == ["andrews", "andrews_from_bodies", "compare", "completion"]
    assert shown[2][2].startswith("Try methods at several tolerances")


def test_zsh(folder):
    """In a terminal of its own: what the line looks like after the tabulator key."""
    needed("zsh")
    script = r"""
        zmodload zsh/zpty
        zpty z 'zsh -f -i'
        zpty -w z 'PROMPT=; autoload -U compinit; compinit -u -D; . <(dalembert completion zsh); print r$((1+1))dy'
        zpty -r -m z out '*r2dy*'
        zpty -w -n z $'dalembert simu\tslider\t--method rad\t--formul\tbaum\t'
        zpty -r -m z out '*garte*'
        print -r -- "${out//[^[:print:]]/}"
        zpty -d z
    """
    shown = said(["zsh", "-f", "-c", textwrap.dedent(script)], folder)
    for word, typed in (("simulate", "simu"), ("slider_crank", "slider"), ("radau5", "rad"), ("baumgarte", "baum")):
        assert word.removeprefix(typed) in shown, shown


def test_it_is_quick():
    """Neither help nor completion import what computes; names come from the disk."""
    offers(["simulate", "andrews", "--set"], "m")  # and are there now
    code = """
        import sys
        from dalembert.cli.completion import respond
        sys.argv = ["dalembert"]
        assert respond(["fish", "simulate", "andrews", "--set", "m"]) == 0
        assert respond(["fish", "simulate", "andrews", "--method", "rad"]) == 0
        from typer.testing import CliRunner
        from dalembert.cli import app
        for command in ("simulate", "sweep", "check"):
            assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
        heavy = [m for m in ("numpy", "casadi", "numba", "matplotlib", "scipy", "h5py") if m in sys.modules]
        sys.exit(f"imported: {heavy}" if heavy else 0)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"m{i}=" for i in range(1, 8)] + ["radau5"]
