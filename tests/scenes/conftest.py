"""A small world, drawn once for all tests of it."""

import pytest

from itmlab.scenes import load
from itmlab.scenes.compose import compose
from itmlab.scenes.relations import Facts


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("scenes")


@pytest.fixture(scope="session")
def scenes(cache):
    """120 images with their captions."""
    return load(images=120, cache=cache)


@pytest.fixture(scope="session")
def many():
    """The facts of 1,000 scenes, not drawn."""
    return [Facts(compose(0, index)) for index in range(1000)]
