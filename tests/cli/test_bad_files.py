"""Files that are missing, of the wrong kind, damaged, huge or unreadable: our error in one line."""

import os

import pytest
from running import document, fails, run

ENDINGS = (".py", ".mo", ".urdf")


def one_line(*arguments, code=1) -> str:
    message = fails(*arguments, code=code)
    return message.removeprefix("error: ").removesuffix("\n")


@pytest.mark.parametrize("command", ["check", "simulate", "translate"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_missing(folder, command, ending):
    message = one_line(command, f"missing{ending}", *(["--to", "c"] if command == "translate" else []))
    assert f"missing{ending}" in message
    assert "\n" not in message


@pytest.mark.parametrize("ending", ENDINGS)
def test_directories(folder, ending):
    (folder / f"folder{ending}").mkdir()
    message = one_line("check", f"folder{ending}")
    assert "directory" in message or "package.mo" in message


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "content",
    [
        b"\x7fELF\x02\x01\x01\0\0\0" + bytes(range(256)),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "model é".encode("latin-1"),
        "\ufeffx = 1".encode("utf-16"),
        b"",
    ],
    ids=["program", "picture", "latin-1", "utf-16", "empty"],
)
def test_what_is_no_text_of_this_kind(folder, ending, content):
    (folder / f"strange{ending}").write_bytes(content)
    message = one_line("check", f"strange{ending}")
    assert f"strange{ending}" in message or "defines nothing" in message


@pytest.mark.parametrize("ending", ENDINGS)
def test_huge(folder, ending):
    """Without reading it: files with holes cost nothing."""
    with open(folder / f"huge{ending}", "wb") as file:
        file.truncate(3_000_000_000)
    message = one_line("check", f"huge{ending}")
    assert "bytes" in message or "large" in message or "MB" in message


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the administrator may read everything")
@pytest.mark.parametrize("ending", ENDINGS)
def test_unreadable(folder, ending):
    path = folder / f"secret{ending}"
    path.touch(mode=0o000)
    assert "cannot be read" in one_line("check", path) or "ermission" in one_line("check", path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("ending", [".py", ".urdf"])
def test_pipes_are_not_waited_for(folder, ending):
    os.mkfifo(folder / f"pipe{ending}")
    assert "plain file" in one_line("check", f"pipe{ending}")


def test_models_in_other_files_are_told_where_to_be(folder):
    (folder / "model.txt").write_text("x")
    assert ".py, .mo or .urdf" in one_line("simulate", "model.txt")
    assert "not a Python file" in one_line("simulate", "model.txt:name")
    for name in ("a\0b.py", "x" * 5000 + ".py", "x" * 5000 + ".mo", "x" * 5000 + ".urdf", "", ":", "::", " "):
        assert run("check", name).exit_code == 1


def test_options_that_do_not_belong_to_the_model_are_refused(folder):
    assert "--class is an option of a Modelica model" in one_line("check", "mine.py", "--class", "A")
    assert "--urdf is an option of a robot" in one_line("check", "pendulum", "--urdf", "mimic=false")
    assert "--coordinates is an option of" in one_line("check", "pendulum", "--coordinates", "joint")
    assert "--coordinates is an option of bodies" in one_line("check", "mine.py", "--coordinates", "joint")
    assert "did you mean massless=" in one_line("check", "arm.urdf", "--urdf", "masless=lock")
    assert "coordinates=" in one_line("check", "arm.urdf", "--coordinates", "polar")


@pytest.mark.parametrize(
    ("option", "name"), [("--csv", "a.csv"), ("--save", "a.h5"), ("--mat", "a.mat"), ("--plot", "a.png"),
                         ("--animate", "a.html"), ("--report", "a.html"), ("--checkpoint", "a.h5")]
)  # fmt: skip
def test_places_that_cannot_be_written_are_refused_before_the_work(folder, monkeypatch, option, name):
    def never(*arguments, **options):
        raise AssertionError("it was simulated")

    (folder / name).mkdir()
    if option != "--checkpoint":  # which `simulate` itself looks at
        monkeypatch.setattr("dalembert.simulation.simulate", never)
    for place in (f"missing/{name}", name, f"{'x' * 300}{name}"):
        assert one_line("simulate", "pendulum", option, place)
    if option in ("--plot", "--animate", "--report"):
        assert "must end with" in one_line("simulate", "pendulum", option, "a.doc")


def test_two_results_do_not_overwrite_each_other(folder):
    assert "both go to" in one_line("simulate", "pendulum", "--csv", "a", "--save", "a")
    (folder / "kept.csv").write_text("precious")
    assert "--no-overwrite" in one_line("simulate", "pendulum", "--csv", "kept.csv", "--no-overwrite")
    assert (folder / "kept.csv").read_text() == "precious"
    assert "take one of them" in one_line("simulate", "pendulum", "--csv", "-", "--json")


def test_foreign_results(folder):
    (folder / "foreign.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(1000))
    assert "foreign.h5" in one_line("export", "foreign.h5", "--csv", "a.csv")
    assert "missing.h5" in one_line("export", "missing.h5")
    run("sweep", "pendulum", "--vary", "g=1", "--t-end", "0.1", "--store", "study.h5")
    assert "study.h5" in one_line("export", "study.h5")
    run("simulate", "pendulum", "--t-end", "0.1", "--save", "run.h5")
    before = (folder / "run.h5").read_bytes()
    assert "is the file that is read" in one_line("export", "run.h5", "--csv", "run.h5")
    assert (folder / "run.h5").read_bytes() == before
    assert "--animate needs --model" in one_line("export", "run.h5", "--animate", "a.html")
    assert "andrews" in one_line("export", "run.h5", "--model", "andrews")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "empty"), ("g,g\n1,2\n", "different names"), ("g,\n1,2\n", "different names"), ("g\n1\nx\n", "line 3: 'x'"),
     ("g,m\n1\n", "line 2 has 1 values"), ("g\n", "empty"), ("nothing\n1\n", "there is no 'nothing'"),
     ("g\nnan\n", "not finite")],
)  # fmt: skip
def test_tables_of_samples(folder, text, expected):
    (folder / "table.csv").write_text(text)
    assert expected in one_line("sweep", "pendulum", "--samples", "table.csv")


def test_files_of_values(folder):
    (folder / "bad.json").write_text("{")
    (folder / "list.json").write_text("[1]")
    (folder / "three.csv").write_text("time,a,b\n0,1,2\n1,1,2\n")
    (folder / "lines.txt").write_text("# comment\n\ng = 1.62\n")
    assert "no JSON" in one_line("simulate", "pendulum", "--set", "@bad.json")
    assert "values by name" in one_line("simulate", "pendulum", "--set", "@list.json")
    assert "there is no file" in one_line("simulate", "pendulum", "--set", "@missing.txt")
    found = document("simulate", "pendulum", "--t-end", "0.1", "--set", "@lines.txt", "--variables", "g")
    assert found["result"]["series"]["g"][0] == 1.62
    driven = ("simulate", "Circuits.mo", "--class", "Circuits.Filter", "--t-end", "1", "--input")
    assert "strictly increasing" in one_line(*driven, "u=cases.csv")
    assert "no column 'u'" in one_line(*driven, "u=three.csv")
    assert "there is no file 'nothing'" in one_line(*driven, "u=nothing")
    assert "there is no 'w'" in one_line(*driven, "w=1")
