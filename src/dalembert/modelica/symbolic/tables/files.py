"""Tables in files: text, comma-separated values, MATLAB files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

LARGEST = 50_000_000  # bytes of one file
_HEAD = re.compile(r"(?:double|float)\s+([^\s,()]+)\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def read_table(path: str, name: str, delimiter: str = ",", header_lines: int = 0) -> np.ndarray:
    """The table with a name in a file.

    Raises
    ------
    ValueError
        If there is none, with the names of those that are there.
    """
    where = Path(path)
    try:
        if where.stat().st_size > LARGEST:
            raise ValueError(f"the file {path} has more than {LARGEST} bytes")
        if where.suffix.lower() == ".mat":
            return _from_mat(where, name)
        text = where.read_text(encoding="utf-8-sig")
    except OSError as reason:
        raise ValueError(f"the file {path} with the table `{name}` cannot be read: {reason.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the file {path} is no text") from None
    if where.suffix.lower() == ".csv":
        return _from_csv(text, path, delimiter, header_lines)
    return _from_text(text, path, name)


def _from_text(text: str, path: str, name: str) -> np.ndarray:
    """`double name(rows, columns)` and its numbers, after a first line that begins with #1."""
    if not text.startswith("#1"):
        raise ValueError(f"the file {path} does not begin with #1, as files with tables do")
    body = re.sub(r"#[^\n]*", "", text)
    heads = list(_HEAD.finditer(body))
    for i, head in enumerate(heads):
        if head[1] == name:
            rows, columns = int(head[2]), int(head[3])
            words = re.split(
                r"[\s,;]+", body[head.end() : heads[i + 1].start() if i + 1 < len(heads) else None].strip()
            )
            words = [word for word in words if word]
            if len(words) != rows * columns:
                raise ValueError(f"the table `{name}` of {path} has {len(words)} numbers, not {rows} x {columns}")
            return np.array(_numbers(words, path)).reshape(rows, columns)
    raise ValueError(f"there is no table `{name}` in {path}; there are: {', '.join(h[1] for h in heads) or 'none'}")


def _from_csv(text: str, path: str, delimiter: str, header_lines: int) -> np.ndarray:
    rows = [
        _numbers([word.strip() for word in line.split(delimiter or ",")], path)
        for line in text.splitlines()[header_lines:]
        if line.strip()
    ]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"the rows of {path} have different lengths, or there are none")
    return np.array(rows)


def _from_mat(path: Path, name: str) -> np.ndarray:
    from scipy.io import loadmat

    try:
        found = loadmat(str(path), variable_names=[name])
    except (NotImplementedError, ValueError, TypeError):
        raise ValueError(f"{path} is no MATLAB file of version 4, 6 or 7") from None
    table = found.get(name)
    if table is None or table.ndim != 2 or not np.issubdtype(table.dtype, np.number):
        raise ValueError(f"there is no matrix `{name}` in {path}")
    return np.asarray(table, float)


def _numbers(words: list[str], path: str) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError:
        wrong = next(word for word in words if not _is_number(word))
        raise ValueError(f"`{wrong[:30]}` in {path} is no number") from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
