"""Compiled tapes of these tests go to a directory of their own; the user's cache is not touched."""

import pytest


@pytest.fixture(scope="session")
def _places(tmp_path_factory):
    return tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True, scope="module")
def _own_cache(_places):
    """For these modules and no others, though tests of others follow in the same process."""
    cache, home = _places
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE_DIR", str(cache))
        patch.setenv("XDG_CACHE_HOME", str(home))  # the user's key stays there
        yield
