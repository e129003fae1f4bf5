"""Where classes are found."""

import os

import pytest

import dalembert as da
from dalembert.modelica.library import Library
from dalembert.modelica.source import Source


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.delenv("MODELICAPATH", raising=False)
    write(
        tmp_path,
        {
            "P/package.mo": "within; package P constant Real k = 1; model Here end Here; end P;",
            "P/package.order": "Z\nk\nHere\nA\n",
            "P/A.mo": "within P; model A end A;",
            "P/Z.mo": "within P; model Z end Z;",
            "P/Other.mo": "within P; model Other end Other;",
            "P/Q/package.mo": "within P; package Q end Q;",
            "P/Q/B.mo": "within P.Q; model B model C end C; end B;",
            "P/Wrong.mo": "within P.R; model Wrong end Wrong;",
            "P/Misnamed.mo": "within P; model Else end Else;",
            "S.mo": "package S model T end T; end S;",
            "V 1.9.0/package.mo": "package V end V;",
            "V 1.10.0/package.mo": "package V model Newest end Newest; end V;",
        },
    )
    return tmp_path


def test_classes_in_directories_and_files(shelf):
    library = Library([shelf])
    for name in ("P", "P.Here", "P.A", "P.Q", "P.Q.B", "P.Q.B.C", "S.T", "V.Newest"):
        assert library.find(name).name == name
    assert library.find("P").class_names() == ["Here", "Z", "A", "Misnamed", "Other", "Q", "Wrong"]


def test_files_are_read_when_they_are_needed(shelf):
    library = Library(shelf)
    (shelf / "P" / "A.mo").write_text("within P; model A garbage")
    assert library.find("P.Q.B")
    with pytest.raises(da.ModelicaError, match=r"A\.mo:1:"):
        library.find("P.A")


def test_the_search_path(shelf, tmp_path, monkeypatch):
    other = tmp_path / "other"
    write(other, {"S.mo": "package S model Mine end Mine; end S;", "U.mo": "model U end U;"})
    monkeypatch.setenv("MODELICAPATH", os.pathsep.join([str(shelf), str(other)]))
    assert Library().find("S.T")
    assert Library().find("U")
    assert Library([other]).find("S.Mine")
    assert Library([shelf / "P"]).find("P.A")  # the package itself is on the path


def test_text_is_found_before_files(shelf):
    library = Library([shelf])
    assert library.add(Source("package S model X end X; end S;")) == ["S"]
    assert library.find("S.X")
    assert library.add(Source("within P.Q; model New end New;")) == ["P.Q.New"]
    assert library.find("P.Q.New")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("P.Wrong", "`within P.R;` and lies in the package `P`"),
        ("P.Misnamed", "should define `Misnamed`"),
        ("P.Oter", "Did you mean `Other`"),
        ("Nowhere.A", "there is no class `Nowhere`"),
    ],
)
def test_what_is_not_found(shelf, name, words):
    with pytest.raises(da.ModelicaError, match=words):
        Library([shelf]).find(name)


def test_names_twice():
    library = Library()
    library.add(Source("model A Real x; Real x; end A;"))
    with pytest.raises(da.ModelicaError, match="declared twice"):
        library.find("A").elements()
