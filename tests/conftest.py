"""What tests in several folders ask for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from itmlab.workbench import chrome_path

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """The path of a file of the real data (ITMLAB_REAL_DATA, else ../shared/data); absent, the test is skipped."""
    root = Path(os.environ.get("ITMLAB_REAL_DATA") or REPOSITORY.parent / "shared" / "data")

    def path(name: str) -> Path:
        if not (root / name).exists():
            pytest.skip(f"{root / name} is not there (set ITMLAB_REAL_DATA to the folder of the real data)")
        return root / name

    return path


@pytest.fixture(scope="session")
def chrome() -> str:
    """The Chrome that draws PNG figures; without one, what needs it is skipped (never in CI, which installs it)."""
    path = chrome_path()
    if path is None:
        pytest.skip("no Chrome to draw PNG figures: apt-get install chromium")
    return path
