"""Trees of files that were parsed before, on disk beside compiled code.

The key is the content of the file, so nothing becomes stale. Entries are sealed by the user's key as all others (see
`compile/trust.py`), and what is read may consist of nodes of trees only.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path

from dalembert.modelica import tree
from dalembert.modelica.parser import collector_paused, parse
from dalembert.modelica.source import Source, read

_PART = "modelica"
_MOST = 16384  # files on disk; the standard library has some 2700
_SMALLEST = 2000  # characters: shorter texts are parsed as quickly as read
_trimmed: set[Path] = set()


class _NodesOnly(pickle.Unpickler):
    """Reads trees, and nothing else."""

    def find_class(self, module: str, name: str) -> type:
        found = getattr(tree, name, None) if module == tree.__name__ else None
        if not (isinstance(found, type) and issubclass(found, tuple)):
            raise pickle.UnpicklingError(f"{module}.{name} is no node of a tree")
        return found


def load_file(path: str | Path) -> tuple[Source, tree.File]:
    """The text and the tree of a file, from the cache if it is there."""
    source = read(path)
    return source, load_tree(source)


def load_tree(source: Source) -> tree.File:
    """The tree of a text, from the cache if it is there.

    Examples
    --------
    >>> load_tree(Source("model A end A;")).classes[0].name
    'A'
    """
    if len(source.text) < _SMALLEST:
        return parse(source)
    from dalembert.compile import store  # only where something is kept

    digest = hashlib.sha256(f"{tree.FORMAT}|".encode())
    digest.update(source.text.encode("utf-8", "surrogatepass"))
    key = digest.hexdigest()
    if (data := store.load(key, _PART)) is not None and (found := _unpacked(data)) is not None:
        return found
    found = parse(source)
    try:
        data = pickle.dumps(found, protocol=5)
    except RecursionError:  # long chains of operators: they are parsed each time
        return found
    folder = store.cache_directory(_PART)
    if folder is not None and folder not in _trimmed:
        _trimmed.add(folder)
        store.trim(folder, _MOST, lambda entry: entry.suffix == ".o")
    store.save(key, data, _PART)
    return found


def _unpacked(data: bytes) -> tree.File | None:
    """The tree in an entry; None if it is of another make."""
    try:
        with collector_paused():
            found = _NodesOnly(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, TypeError, ValueError, EOFError, AttributeError, IndexError, RecursionError):
        return None
    return found if isinstance(found, tree.File) else None
