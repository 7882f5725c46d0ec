import os
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """The path of a file of the real data (ITMLAB_REAL_DATA, else ../shared/data); absent, the test is skipped."""
    root = Path(os.environ.get("ITMLAB_REAL_DATA") or REPOSITORY.parent / "shared" / "data")

    def path(name: str) -> Path:
        if not (root / name).exists():
            pytest.skip(f"{root / name} is not there (set ITMLAB_REAL_DATA to the folder of the real data)")
        return root / name

    return path
