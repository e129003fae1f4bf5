"""Trees on disk."""

import pickle

import pytest
from corpus import TEXTS

from dalembert.compile import store
from dalembert.modelica import cache
from dalembert.modelica.parser import parse
from dalembert.modelica.source import Source

TEXT = TEXTS["equations"] * 3  # long enough to be kept


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "cache"


def entries(directory):
    return sorted((directory / "modelica").glob("*"))


def test_trees_are_kept_and_read_back(directory, monkeypatch):
    tree = cache.load_tree(Source(TEXT))
    assert tree == parse(TEXT)
    assert len(entries(directory)) == 1
    monkeypatch.setattr(cache, "parse", None)  # nobody parses now
    assert cache.load_tree(Source(TEXT)) == tree
    with pytest.raises(TypeError):
        cache.load_tree(Source(TEXT + " "))


def test_damaged_entries_are_parsed_anew(directory):
    tree = cache.load_tree(Source(TEXT))
    [entry] = entries(directory)
    data = bytearray(entry.read_bytes())
    data[-10] ^= 1
    entry.write_bytes(data)
    assert cache.load_tree(Source(TEXT)) == tree
    entry.write_bytes(b"")
    assert cache.load_tree(Source(TEXT)) == tree


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("it ran",))


@pytest.mark.parametrize("thing", [Evil(), (1, 2), "text"])
def test_entries_may_hold_nodes_only_even_if_sealed(directory, monkeypatch, thing):
    tree = cache.load_tree(Source(TEXT))
    [entry] = entries(directory)
    store.save(entry.stem, pickle.dumps(thing), "modelica")
    assert cache.load_tree(Source(TEXT)) == tree


def test_forged_entries_are_not_read(directory, monkeypatch):
    tree = cache.load_tree(Source(TEXT))
    [entry] = entries(directory)
    entry.write_bytes(pickle.dumps(Evil()))
    assert cache.load_tree(Source(TEXT)) == tree


def test_no_cache_is_no_trouble(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert cache.load_tree(Source(TEXT)) == parse(TEXT)
