"""Compiled tapes of these tests go to a directory of their own; the user's cache is not touched."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("home")))  # the user's key stays there
        yield
