"""How many cases of each corpus, and the table of how they ended."""

from collections.abc import Iterator

import pytest

from tests.hostile.campaign import HEAD, Tally, WatchedWorker

TABLE = pytest.StashKey[list[Tally]]()


@pytest.fixture
def worker() -> Iterator[WatchedWorker]:
    """A fresh process for each corpus, so that its memory is counted from its own beginning."""
    worker = WatchedWorker()
    yield worker
    worker.close()


@pytest.fixture
def table(request: pytest.FixtureRequest) -> list[Tally]:
    """The tallies that are printed at the end."""
    return request.config.stash.setdefault(TABLE, [])


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """The table, where there is one in this process."""
    if tallies := config.stash.get(TABLE, []):
        terminalreporter.section("hostile inputs")
        terminalreporter.write_line("\n".join([HEAD, *(tally.row() for tally in tallies)]))
