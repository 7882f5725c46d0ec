"""What tests in several folders ask for."""

import pytest

from itmlab.doctor import chrome_path


@pytest.fixture(scope="session")
def chrome() -> str:
    """The Chrome that draws PNG figures; without one, what needs it is skipped (never in CI, which installs it)."""
    path = chrome_path()
    if path is None:
        pytest.skip("no Chrome to draw PNG figures: apt-get install chromium")
    return path
