import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Lists of faults and stamps of checked pictures go to a cache of the test's own."""
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
