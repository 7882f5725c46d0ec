"""Four papers item by item: printed numbers, claims, what was measured here, and the verdicts.

`papers.fne`, `sam`, `tags` and `itcontrast` have an `Entry` per table and figure, and for sections that claim
something: `papers.fne.table_3.published`, `.claims`, `.table()`, `.verdicts()`, `.run(run_root=...)`.
`papers.ledger()` has one row per claim. `python -m workshop reproduce fne.table_3` prints an item; `--fresh` trains it.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError

from ..plots.results import Result, save_result
from .entry import PAPERS, Claim, Entry, Table, entries, read_paper
from .words import entry_in_lines

DISCLAIMER = (
    "Measured with small models on a small drawn world: a row says what holds here, "
    "not whether a paper's own numbers are right."
)
__all__ = ["DISCLAIMER", "Claim", "Entry", "Table", "entries", "ledger", "reproduce"]

fne, sam, tags, itcontrast = (SimpleNamespace(**read_paper(paper)) for paper in PAPERS)


def ledger(chosen: str = "all") -> pandas.DataFrame:
    """Return one row per claim: its place, the paper's number, ours with its 95 % interval, and the verdict.

    "kind" tells claims of a paper from controls and from questions of this project. "headroom" is what a perfect
    method would gain, and "smallest" the effect that the seeds would have shown four times in five. A claim is "no
    test" if the experiment could not have shown the opposite; "why not" says why, also for a claim that is "not run".

    Args:
        chosen: a paper, an item, or "all".
    """
    return pandas.DataFrame([row for entry in entries(chosen).values() for row in entry.verdicts()])


def summary(chosen: str = "all") -> str:
    """Return how many claims of the papers held, by verdict. Controls and own questions are not counted."""
    rows = ledger(chosen)
    counts = rows[rows["kind"] == "paper"]["verdict"].value_counts()
    listed = ", ".join(f"{count} {says}" for says, count in counts.items())
    return f"{counts.sum()} claims of the papers: {listed}. {DISCLAIMER}"


def reproduce(
    chosen: str = "all",
    *,
    fresh: bool = False,
    keep: bool = False,
    data: CaptionSet | None = None,
    size: str = "tiny",
    seeds: int = 2,
    run_root: str | Path = "runs/papers",
    changes: Mapping[str, Any] | None = None,
    jobs: int | None = None,
) -> dict[str, Result | None]:
    """Print items with our numbers beside the papers' and their verdicts; return each item's fresh result.

    Finished runs in `run_root` are not trained again, so that the same call continues after an interruption.

    Args:
        chosen: a paper, an item, or "all".
        fresh: train the rows now instead of using the committed results; the result is written to `run_root`.
        keep: write it to `results` instead, where the ledger reads it (tiny, on scenes, unchanged only).
        changes: made in every recipe.
    """
    if keep and (not fresh or data is not None or size != "tiny" or changes):
        raise ItmlabError("only a fresh tiny run on scenes, unchanged, is kept", where="--keep", remedy="leave it out")
    results: dict[str, Result | None] = {}
    compared = {}  # items with the same rows, as two tables of a paper, are compared once
    for name, entry in entries(chosen).items():
        results[name] = None
        if fresh and entry.rows:
            began = time.monotonic()
            setting = repr([entry.rows, entry.options, entry.tested, entry.relevance, entry.truth, entry.averaged])
            if setting not in compared:
                training = {"size": size, "seeds": seeds, "changes": changes, "run_root": run_root, "jobs": jobs}
                compared[setting] = entry.run(data, **training)
            comparison = replace(compared[setting], baseline=entry.baseline or compared[setting].labels[0])
            results[name] = entry.result_of(comparison, size=size)
            save_result(results[name], None if keep else run_root)
            print(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes", flush=True)
        print(entry_in_lines(entry, results[name]), end="\n\n", flush=True)
    print(DISCLAIMER)
    return results
