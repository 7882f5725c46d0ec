"""What four papers say, item by item, and what holds of it here: published numbers, runs, figures, verdicts.

`fne`, `sam`, `tags` and `itcontrast` have an `Entry` for each table and figure, and for sections that claim something:
`papers.fne.table_3.published`, `.claims`, `.table()`, `.verdict()`, `.figure()`, `.run(run_root=…)`. `ledger` has a row
for each claim. `python -m itmlab reproduce fne.table_3` prints the same, `--fresh` trains.
"""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..storage import write_json
from .entry import PAPERS, Claim, Entry, Table, one_of
from .measured import RESULTS, saved

if TYPE_CHECKING:
    import pandas

    from ..data import CaptionSet
    from ..training import Comparison

__all__ = ["Claim", "Entry", "Table", "draw_claims", "draw_items", "entries", "items", "ledger"]
__all__ += ["plan", "report", "reproduce"]


def __getattr__(name: str) -> Any:
    if name in ("draw_claims", "draw_items"):  # plotly, when it is asked for
        return getattr(import_module(f"{__name__}.drawing"), name)
    if name in PAPERS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'itmlab.papers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *PAPERS])


def entries(chosen: str = "all") -> dict[str, Entry]:
    """The items of all papers, of one (`fne`), or one item (`fne.table_3`), by name; an unknown one is an ItmlabError.

    >>> list(entries("itcontrast"))[-1]
    'itcontrast.figure_3'
    """
    modules = {paper: vars(import_module(f"{__name__}.{paper}")) for paper in PAPERS}
    every = {
        paper: {each.name: each for each in module.values() if isinstance(each, Entry)}
        for paper, module in modules.items()
    }
    single = {name: entry for found in every.values() for name, entry in found.items()}
    of_papers = {"all": single, **every}
    return of_papers[chosen] if chosen in of_papers else {chosen: one_of(chosen, {**single, **of_papers})}


def ledger(chosen: str = "all") -> "pandas.DataFrame":
    """A row a claim: what is said and where, the paper's number, ours with its 95 % interval, and the verdict.

    "smallest" is the effect that the seeds could have seen (four times in five); "why not" and "command" say what a row
    that is "not run" would take.
    """
    import pandas

    return pandas.DataFrame([row for entry in entries(chosen).values() for row in entry.verdicts()])


def items(chosen: str = "all") -> list[dict[str, Any]]:
    """A dictionary an item: "item", "name", "title", "place", "claims" (ledger rows), "figures", "verdict" in words.

    "why not" is why it is not run, or what shows it where it claims nothing.
    """
    from .drawing import verdicts_in_words

    found = []
    for entry in entries(chosen).values():
        claims = entry.verdicts()
        reason = entry.without or next((row["why not"] for row in claims if row["why not"]), "")
        told = {"item": entry.item, "name": entry.name, "title": entry.title, "place": entry.place, "claims": claims}
        found.append({**told, "figures": list(entry.figures), "verdict": verdicts_in_words(claims), "why not": reason})
    return found


def report(entry: Entry, result: Mapping[str, Any] | None = None) -> str:
    """An item in lines: the table as printed and as measured (in `result`), then each claim with its verdict."""
    from .drawing import known, number, told

    lines = [f"{entry.item}: {entry.title}", f"  {entry.place}"]
    if entry.published is not None:
        frame = entry.table(result)
        for part in dict.fromkeys(frame.columns.get_level_values(0)):
            rows = frame[part].dropna(how="all").to_string(float_format=lambda value: f"{value:.4g}", na_rep="·")
            lines += [f"  {part}", *(f"    {line}" for line in rows.splitlines())]
    for row in entry.verdicts(result):
        printed = f" (the paper: {number(row['printed'], '' if row['mark'] else '+')})" if known(row["printed"]) else ""
        lines.append(f"  {told(row)}{' ' if row['unit'] else ''}{row['unit']}{printed}: {row['claim']}")
        missed = f"; {row['smallest']:.2g} would have been seen" if row["verdict"] == "not seen" else ""
        why = f"{row['why not']}: " if row["why not"] else ""
        lines.append(f"      {why}{row['by'] or row['command']}{missed}".removesuffix(": "))
    lines += [f"  note: {note}" for note in entry.notes]
    if not entry.claims:
        lines.append(f"  {entry.without}{'; figures: ' if entry.figures else ''}{', '.join(entry.figures)}")
    return "\n".join(lines)


def reproduce(
    chosen: str = "all",
    *,
    fresh: bool = False,
    keep: bool = False,
    data: "CaptionSet | None" = None,
    size: str = "tiny",
    seeds: int = 2,
    run_root: str | Path = "runs/papers",
    out: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    folds: int = 1,
    jobs: int | None = None,
    **options: Any,
) -> dict[str, dict[str, Any] | None]:
    """Print items ours beside theirs with their verdicts: from what is committed, or `fresh` from a run of now.

    A fresh run's result is a JSON file in `run_root`, or with `keep` (tiny, on scenes, unchanged) where the ledger
    reads it. `folds` blocks of the test pictures are ranked by themselves (COCO 1K: 5). Figures go to the folder
    `out`. `options` are those of `scenes`. Gives each item's fresh result.
    """
    from ..errors import ItmlabError
    from ..studies.kit.saving import write_figure

    if keep and (not fresh or data is not None or size != "tiny" or changes or folds > 1 or options):
        raise ItmlabError("only a fresh tiny run on scenes, unchanged, is kept", where="--keep", remedy="leave it out")
    found: dict[str, dict[str, Any] | None] = {}
    compared: list[tuple[Any, Comparison]] = []  # items of the same rows, as two tables of a paper, are compared once
    for name, entry in entries(chosen).items():
        found[name] = None
        if fresh and entry.recipes is not None:
            given = entry.data(**options) if data is None else data
            asked = {"size": size, "seeds": seeds, "changes": changes, "run_root": run_root, "jobs": jobs}
            rows = entry.recipes(size), given.fingerprint, entry.tested, entry.relevance, entry.truth, entry.averaged
            comparison = next((one for same, one in compared if same == rows), None)
            other = entry.test_data() if entry.tested and data is None else None
            comparison = comparison or entry.run(given, tested=other, folds=folds, **asked)
            compared.append((rows, comparison))
            comparison = replace(comparison, baseline=entry.baseline or comparison.labels[0])
            found[name] = entry.kept(comparison, data=given.fingerprint, size=size)
            found[name]["provenance"] |= {"folds": folds} if folds > 1 else {}
            write_json((RESULTS if keep else Path(run_root)) / f"{name}.json", found[name])
            saved.cache_clear()
        print(report(entry, found[name]), end="\n\n", flush=True)
        if out is not None and (entry.claims or entry.figures):
            print(write_figure(entry.figure(found[name]), Path(out) / f"{name}.html", force=True))
    return found
