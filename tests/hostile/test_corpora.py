"""Every corpus: what is refused is refused in one line, what is accepted can be used, and nothing else happens."""

import pytest

from tests.hostile.campaign import CORPORA, Tally, WatchedWorker, campaign
from tests.hostile.villains import DEEDS

SHORT = {"captions": 100, "pictures": 200, "tables": 200, "documents": 150, "checkpoints": 100, "regions": 200,
         "options": 60}  # fmt: skip
LONG = 10_000


@pytest.mark.parametrize("name", CORPORA)
def test_every_input_is_refused_in_a_line_or_can_be_used(
    name: str, worker: WatchedWorker, table: list[Tally], pytestconfig: pytest.Config
) -> None:
    count = pytestconfig.getoption("--cases") or (LONG if pytestconfig.getoption("--long") else SHORT[name])
    tally = campaign(name, count, worker)
    table.append(tally)
    assert tally.faults == [], "\n".join(tally.faults)
    assert min(tally.counts["refused"], tally.counts["accepted"]) >= count / 20  # so that both are tried


def test_a_worker_notices_what_no_input_may_do(worker: WatchedWorker) -> None:
    """So that zero faults says something: each of these is one."""
    found = [worker.ask("villains", number)[:2] for number in range(len(DEEDS))]
    assert [outcome for outcome, _ in found] == ["fault"] * len(DEEDS), found
