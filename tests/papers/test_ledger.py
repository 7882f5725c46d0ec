"""Verdicts out of committed intervals: the ledger, what it reads them from, results that are kept, the figures."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from itmlab import papers
from itmlab.metrics.statistics import Interval
from itmlab.papers import entry as entry_module
from itmlab.papers.drawing import draw_claims, draw_items
from itmlab.papers.entry import Claim, Entry, Table
from itmlab.papers.measured import RESULTS, Measured, apart, drawn, row, share
from itmlab.storage import read_json
from itmlab.training import compare_runs
from tests.refusals import refused
from tests.training.world import micro, small_world

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = papers.entries()


@pytest.fixture(scope="module")
def ledger():
    return papers.ledger()


def test_the_ledger_has_a_row_for_each_claim_of_four_papers_with_its_place(ledger) -> None:
    assert len(ledger) >= 40 and set(ledger.paper) == {"FNE", "SAM", "TAGS-DC", "ITContrast"}
    assert not ledger.duplicated(["item", "claim"]).any() and ledger.place.str.contains(r"Sec\.|Table|Figure|A\.").all()
    assert set(ledger.verdict) == {"held", "not seen", "contrary", "not run"}
    assert len(ledger) == sum(len(entry.claims) for entry in ENTRIES.values())


def test_a_measured_row_says_how_and_another_why_not(ledger) -> None:
    run = ledger[ledger.verdict != "not run"]
    assert run[["here", "lower", "upper", "smallest"]].notna().all(axis=None) and (run.by != "").all()
    assert (run["why not"] == "").all() and (run.unit != "").all()
    assert run.command.str.startswith("python -m itmlab").all()
    not_run = ledger[ledger.verdict == "not run"]
    assert not_run.here.isna().all() and (not_run["why not"] != "").all()
    assert (not_run.command.str.contains("--fresh") | not_run["why not"].str.contains("python -m|seeds")).all()


def test_no_printed_number_stands_in_a_measured_ones_place(ledger) -> None:
    both = ledger.dropna(subset=["printed", "here"])
    assert len(both) > 25 and (abs(both.printed - both.here) > 1e-6).all()
    for entry in ENTRIES.values():
        for file in (claim.here.file for claim in entry.claims if claim.here):
            assert (ROOT / "figures" / f"{file}.json").exists() or (RESULTS / f"{file}.json").exists()


def test_every_item_is_listed_with_its_verdicts_and_the_figures_that_show_it() -> None:
    items = papers.items()
    assert [item["name"] for item in items] == list(ENTRIES)
    for item in items:
        assert item["verdict"] and (item["claims"] or item["why not"])
        assert all((ROOT / "figures" / f"{name}.json").exists() for name in item["figures"]), item["item"]
    assert papers.items("fne.table_3")[0]["verdict"] == "2 held, 4 not seen, 2 contrary"


def test_the_saved_figure_of_items_says_what_the_ledger_says() -> None:
    saved = read_json(ROOT / "figures" / "claims_by_item.json")["provenance"]["items"]
    told = ("item", "title", "verdict", "why not", "figures")
    assert saved == [{name: item[name] for name in told} for item in papers.items()]


def test_names_lead_to_items_and_an_unknown_one_is_told() -> None:
    assert papers.fne.table_3 is papers.entries("fne.table_3")["fne.table_3"]
    by_paper = [papers.entries(paper) for paper in ("fne", "sam", "tags", "itcontrast")]
    assert len(papers.entries("all")) == sum(map(len, by_paper))
    refused("no item 'fne.table3'.*did you mean fne.table_3", papers.entries, "fne.table3")
    refused("FNE, Figure 1 is no table", papers.fne.figure_1.table)
    refused("Figure 7 has no recipes to run.*drawn pictures", papers.fne.figure_7.run, run_root="runs")


# Where intervals come from.


def test_committed_intervals_are_those_of_the_figures() -> None:
    gains = read_json(ROOT / "figures" / "fne_contrasts.json")["provenance"]["gains"]["learning rate 1e-4"]
    _, memory, elimination, *_ = papers.fne.table_3.claims
    assert memory.here.interval() == Interval(*gains["the memory alone"]["RSum"])
    assert elimination.here.interval() == Interval(*gains["elimination, with the memory"]["RSum"])
    told = read_json(ROOT / "figures" / "discrimination_seeing.json")["provenance"]["shares"]
    hardest = "made by tags: the 5 that it scores highest"
    shown = drawn("discrimination_seeing", "uniter", heading=hardest, nth=1).interval()
    assert f"right picture {shown.value:.1f} %" in told[hardest]["uniter"]
    table = read_json(ROOT / "figures" / "recall_by_stage.json")["provenance"]["table"]
    (found,) = [one for one in table if one["recipe"] == "tags"]
    assert row("recall_by_stage", "tags").interval() == Interval(found["difference"], found["lower"], found["upper"])
    refused("fluency, panel 1: no row 'absent'", drawn("fluency", "absent").interval)


def fixed(value: float, lower: float, upper: float) -> Measured:
    return Measured("fluency", lambda content: Interval(value, lower, upper))


def test_two_intervals_apart_are_as_of_independent_values() -> None:
    found = apart(fixed(10, 7, 13), fixed(4, 0, 8)).interval()
    assert found == pytest.approx((6, 1, 11))  # 3-4-5
    one_sided = apart(fixed(10, 7, 14), fixed(4, 1, 4)).interval()
    assert one_sided == pytest.approx((6, 3, 6 + 5))


def test_a_share_has_wilsons_interval_in_percent() -> None:
    assert share("fluency", lambda figure: (193 / 200, 200)).interval() == pytest.approx((96.5, 93.0, 98.3), abs=0.05)


# Verdicts of an entry made up for it.

NAMED = Table.read(["i2t R@1", "t2i R@1"], "ours | 50 40\n theirs | 48 41")


def made_up(**claim) -> Entry:
    return Entry("fne.table_9", "made up", "nowhere", NAMED, (Claim("ours is better", **claim),))


@pytest.mark.parametrize(
    ("ends", "expected", "said"),
    [
        ((2, 1, 3), {}, "held"),
        ((2, -1, 5), {}, "not seen"),
        ((-2, -3, -1), {}, "contrary"),
        ((-2, -3, -1), {"expected": "lower"}, "held"),
        ((2, 1, 3), {"expected": "equal", "margin": 4.0}, "held"),
        ((2, 1, 3), {"expected": "equal", "margin": 0.5}, "contrary"),
        ((60, 55, 65), {"mark": 50.0}, "held"),
    ],
)
def test_the_interval_decides(ends, expected, said) -> None:
    (found,) = made_up(here=fixed(*ends), rows=("ours", "theirs", "RSum"), **expected).verdicts()
    assert found["verdict"] == said and (found["here"], found["lower"], found["upper"]) == ends
    assert found["printed"] == 1.0 and found["unit"] == "RSum"
    assert found["smallest"] == pytest.approx(1.43 * (ends[2] - ends[1]) / 2, rel=0.01)


def test_without_a_measurement_it_is_not_run_and_says_what_it_takes() -> None:
    (found,) = made_up(rows=("ours", "theirs", "i2t R@1"), without="needs a GPU").verdicts()
    assert found["verdict"] == "not run" and found["why not"] == "needs a GPU" and math.isnan(found["here"])
    assert found["printed"] == 2.0


# Runs that are kept.


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of results of its own."""
    entry_module.saved.cache_clear()
    monkeypatch.setattr(entry_module, "RESULTS", tmp_path)
    yield tmp_path
    entry_module.saved.cache_clear()


def test_a_kept_run_goes_before_the_figure_but_never_for_what_it_did_not_measure(results) -> None:
    made = made_up(here=fixed(2, 1, 3), rows=("ours", "theirs", "i2t R@1"))
    elsewhere = replace(made, claims=(replace(made.claims[0], without="another data set", here=None),))
    kept = {"provenance": {"seeds": [0, 1], "size": "tiny"}, "table": [{"recipe": "ours", "i2t R@1": 7.0}]}
    kept["differences"] = {"ours − theirs": {"i2t R@1": [-2.0, -3.0, -1.0]}}
    (results / "fne.table_9.json").write_text(json.dumps(kept))
    (found,) = made.verdicts()
    assert found["verdict"] == "contrary" and "2 seeds" in found["by"] and found["measured in"] == "fne.table_9"
    assert elsewhere.verdicts()[0]["verdict"] == "not run"
    beside = made.table()
    assert beside["here"].loc["ours", "i2t R@1"] == 7 and math.isnan(beside["here"].loc["theirs", "i2t R@1"])
    assert beside["printed"].loc["ours", "i2t R@1"] == 50


def test_committed_results_say_what_made_them() -> None:
    for path in RESULTS.glob("*.json"):
        made = read_json(path)["provenance"]
        assert made["command"].startswith("python -m itmlab") and made["recipes"] and made["data"], path
        assert made["versions"]["itmlab"] and len(made["seeds"]) > 0


def test_a_run_is_trained_judged_and_kept_by_one_call(tmp_path, results, monkeypatch, capsys) -> None:
    rows = {f"{part}/4 of K": micro("hardest") for part in (1, 4)}
    plain = replace(papers.fne.figure_5, recipes=lambda size: rows)
    monkeypatch.setattr(papers, "entries", lambda chosen: {"fne.figure_5": plain})
    small = small_world()
    small.splits["test"] = torch.cat([small.splits["val"], small.splits["test"]])  # ten pictures at least
    asked = {"changes": {"data__epochs": 1, "data__validation": 0}, "seeds": 1, "jobs": 1, "data": small}
    (found,) = papers.reproduce("fne.figure_5", fresh=True, run_root=tmp_path / "runs", **asked).values()
    assert found == read_json(tmp_path / "runs" / "fne.figure_5.json")
    assert found["differences"]["4/4 of K − 1/4 of K"]["RSum"] == [0.0, 0.0, 0.0]
    assert found["provenance"]["seeds"] == [0] and found["provenance"]["recipes"]["1/4 of K"]["data"]["epochs"] == 1
    printed = capsys.readouterr().out
    assert "not seen: +0.00" in printed and "tiny, 1 seed" in printed
    refused("only a fresh tiny run on scenes, unchanged, is kept", papers.reproduce, "fne.figure_5", keep=True)
    claim = Claim("two find more than one", ("two seeds", "1/4 of K", "RSum"))
    plainly = replace(plain, averaged={"two seeds": "1/4 of K"}, claims=(claim,), without="wants a GPU")
    assert plainly.verdicts(found)[0]["why not"] == "its rows want two seeds or more"
    two = plainly.run(**asked | {"seeds": 2}, run_root=tmp_path / "runs")
    single, both = two.runs["1/4 of K"], two.runs["two seeds"]
    kept = {"run_root": tmp_path / "runs", **asked}
    (alone,) = plain.runs(chosen=["1/4 of K"], **kept)["1/4 of K"]
    assert alone.directory == single[0].directory, "some rows alone are the runs of all rows"
    refused("no row '3/4 of K'.*did you mean 4/4 of K", plain.runs, chosen=["3/4 of K"], **kept)
    refused("no row ''", plain.runs, chosen=[], **kept)
    assert [pair.runs for pair in both] == [single, single[::-1]] and two.labels == [*rows, "two seeds"]
    other = small_world(copies=4)
    other.splits["test"] = torch.arange(12)
    elsewhere = plain.run(**asked, run_root=tmp_path / "runs", tested=other)
    assert [run.directory for run in elsewhere.runs["1/4 of K"]] == [single[0].directory], "trained on the first data"
    assert elsewhere.by_seed() == compare_runs(elsewhere.runs, other, progress=False).by_seed()
    small.splits["test"] = torch.cat([other.splits["test"], torch.arange(12, 20)])  # two galleries of ten
    (folded,) = papers.reproduce("fne.figure_5", fresh=True, folds=2, run_root=tmp_path / "folds", **asked).values()
    assert folded["provenance"]["folds"] == 2 and "folds" not in found["provenance"]
    again = plain.run(**asked, folds=2, run_root=tmp_path / "folds")
    assert folded["table"][0]["RSum"] == pytest.approx(again.by_seed()[0]["RSum"], abs=1e-3)
    assert again.by_seed() == compare_runs(again.runs, small, folds=2, progress=False).by_seed()


def test_rows_that_begin_with_what_ships_are_asked_about_pictures_that_it_has_not_seen() -> None:
    """`region_dual_encoder` learnt from the first 5,000 of seed 0: so 2,400 of another seed, or the last of 6,000."""
    for name, entry in papers.entries("all").items():
        if entry.recipes and any(row.start for row in entry.recipes("tiny").values()):
            asked = {**entry.options, **entry.tested}
            assert asked.get("seed", 0) != 0 or "images" not in asked, name


# Drawn and told.


def test_a_figure_has_a_diamond_and_an_interval_a_claim_that_has_them() -> None:
    rows = papers.sam.table_1.verdicts() + papers.fne.table_2.verdicts()
    figure = draw_claims(rows, title="<b>one</b>")
    diamonds = [one for one in figure.data if one.marker.symbol == "diamond"]
    dots = [one for one in figure.data if one.error_x.array]
    assert len(diamonds) == 7 and len(dots) == 5 and "<b>one</b>" not in figure.layout.title.text
    assert dots[0].x[0] == pytest.approx(-math.sqrt(-rows[0]["here"]))
    words = " ".join(each.text for each in figure.layout.annotations)
    assert "contrary: −0.12 (−0.16 to −0.10)" in words and "not run" in words
    assert papers.fne.figure_7.figure() is not None  # the committed one, where nothing is claimed


def test_the_figure_of_items_has_a_square_for_each_claim(ledger) -> None:
    figure = draw_items(papers.items(), title="all")
    squares = {one.name: len(one.x) for one in figure.data if one.marker.symbol == "square"}
    counts = ledger.verdict.value_counts()
    assert squares == {f"{name} ({counts[name]})": counts[name] for name in counts.index}


def test_an_item_is_told_in_lines_and_in_html_with_its_words_escaped() -> None:
    told = papers.report(papers.tags.section_4_2)
    assert "contrary: 82.0 (78.7 to 84.8) % of the sentences (the paper: 96.5)" in told
    hostile = replace(papers.fne.table_3, title="<script>alert(1)</script>")
    page = hostile._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "A memory without elimination" in page


def test_the_command_prints_an_item_and_writes_its_figure(tmp_path, capsys) -> None:
    from typer.testing import CliRunner

    from itmlab.cli import app

    result = CliRunner().invoke(app, ["reproduce", "fne.table_3", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (
        "FNE, Table 3" in result.output and "not seen: +0.62 (−0.50 to +1.8) RSum (the paper: +12.8)" in result.output
    )
    assert (tmp_path / "fne.table_3.html").exists()
    refused_line = CliRunner().invoke(app, ["reproduce", "fne.table_3", "--data", "flickr30k"])
    assert "no other data are committed" in str(refused_line.exception)
