"""What tests in several folders ask for."""

import os
import re

if "PYTEST_XDIST_WORKER" in os.environ:  # `-n 2`: processes share the cores, so each computes on one; before torch asks
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # no test is timed: these machines are shared
settings.load_profile("untimed")

SLOW_FOLDERS = {"benchmarks", "browser", "notebooks", "real"}
REPOSITORY = Path(__file__).resolve().parents[1]
ORDER = {"notebooks": 0, "browser": 2, "train": 3, "workshop": 4, "text": 4}  # all else 1
SLOW_TESTS = set((Path(__file__).parent / "slow_tests.txt").read_text(encoding="utf-8").split())


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--long` repeats tests of kills and damage by the thousand."""
    parser.addoption("--long", action="store_true", help="kills and damage by the thousand, not by the dozen")


def pytest_configure(config: pytest.Config) -> None:
    """The quick selection does not even import files that hold slow tests alone."""
    if config.option.markexpr == "not slow":
        config.option.ignore = [*(config.option.ignore or []), *map(str, slow_files())]


def slow_files() -> Iterator[Path]:
    """The files whose tests are all slow, and the workshop with the examples in its docstrings."""
    for path in Path(__file__).parent.rglob("test_*.py"):
        file, source = path.relative_to(REPOSITORY), path.read_text(encoding="utf-8")
        tests = re.findall(r"^def (test_\w+)", source, re.MULTILINE)
        named = bool(tests) and all(f"{file}::{test}" in SLOW_TESTS for test in tests)
        if named or SLOW_FOLDERS.intersection(file.parts) or "pytestmark = pytest.mark.slow" in source:
            yield path
    yield from (REPOSITORY / "notebooks" / "workshop").iterdir()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks `slow` what `pytest -m "not slow"`, the quick selection, leaves out (`tests/slow_tests.py` measures it).

    The tour, one piece of many minutes, comes first. The browser's tests, which wait for pages against a clock, come
    when it is over; with `-n 2` the other process then has training, whose files take longest, and at the end short
    files, so that both processes end together.
    """
    items.sort(key=lambda item: ORDER.get(Path(item.nodeid).parts[1], 1))
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in SLOW_TESTS or SLOW_FOLDERS.intersection(Path(test).parts):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n 2` the tests of a file stay in one process, for what they share; so do all of the browser's."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "browser" if file.startswith("tests/browser/") else file

    return ByFile(config, log)


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
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    path = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chrome to draw PNG figures: apt-get install chromium")
    return path
