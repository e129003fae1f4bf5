import textwrap

import pytest
from running import lay_out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory, with files that examples speak of."""
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def user_file(tmp_path):
    """Write a user's Python file."""

    def write(text: str):
        path = tmp_path / "users.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write
