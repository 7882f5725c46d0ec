"""The ledger: every verdict follows from a committed result, and a fresh run is trained, judged and kept."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from workshop import papers
from workshop.papers import entry as entry_module
from workshop.papers.entry import Claim, Entry, Table, independent_difference, sum_of
from workshop.papers.words import entry_in_lines
from workshop.plots.results import Result, list_results, load_result

from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Interval
from itmlab.train import compare_runs
from tests.train.world import micro, small_world

FIGURES = Path(__file__).resolve().parents[3] / "figures"
ENTRIES = papers.entries()


@pytest.fixture(scope="module")
def ledger():
    return papers.ledger()


def test_every_claim_has_a_row_a_place_and_an_owner(ledger) -> None:
    assert len(ledger) == sum(len(entry.claims) for entry in ENTRIES.values()) == 123
    assert set(ledger.paper) == {"FNE", "SAM", "TAGS-DC", "ITContrast"}
    assert not ledger.duplicated(["item", "claim"]).any() and ledger.place.str.contains(r"Sec\.|Table|Figure|A\.").all()
    assert ledger.kind.value_counts().to_dict() == {"paper": 94, "control": 14, "own": 15}
    assert papers.summary().startswith("94 claims of the papers: ")


def test_a_verdict_follows_from_its_result(ledger) -> None:
    """The interval is read from the results again, by the rule of METHODS: it lies on one side, or it does not."""
    claims = [(entry, claim) for entry in ENTRIES.values() for claim in entry.claims]
    for (entry, claim), row in zip(claims, ledger.to_dict("records"), strict=True):
        if row["verdict"] == "not run":
            continue
        if row["measured in"] == entry.name:
            pair, result = {"row": claim.compare[0], "minus": claim.compare[1]}, load_result(entry.name)
            recalls = [name for name in entry.added(claim) if result.select(**pair, measure=name)] or [claim.measure]
            value, lower, upper = sum_of([result.interval(**pair, measure=name) for name in recalls])
        else:
            value, lower, upper = claim.interval()
        if claim.must_win:
            control = load_result(row["measured in"]).interval(row=claim.must_win, measure=claim.measured["measure"])
            assert row["headroom"] == control.value and (row["verdict"] == "no test") == (control.lower <= 0)
        assert (row["here"], row["lower"], row["upper"]) == (value, lower, upper)
        if row["verdict"] == "no test":
            assert row["why not"], row["claim"]
            continue
        if claim.expected == "equal":
            least, most = claim.mark - claim.margin, claim.mark + claim.margin
            held, contrary = least <= lower and upper <= most, upper < least or lower > most
        else:
            above, below = lower > claim.mark, upper < claim.mark
            held, contrary = (above, below) if claim.expected == "higher" else (below, above)
            if row["p"] >= 0.05:  # by Holm over the claims of the item; NaN where no p was measured
                held = contrary = False
        assert row["verdict"] == ("held" if held else "contrary" if contrary else "not seen"), row["claim"]


def test_a_measured_row_says_how_and_another_why_not(ledger) -> None:
    run = ledger[ledger.verdict != "not run"]
    assert run[["here", "lower", "upper", "smallest"]].notna().all(axis=None)
    assert set(run["measured in"]) <= {*list_results()} and ((run["why not"] == "") == (run.verdict != "no test")).all()
    assert (run.by != "").all() and (run.unit != "").all() and run.command.str.contains("python -m").all()
    not_run = ledger[ledger.verdict == "not run"]
    assert not_run.here.isna().all() and (not_run["why not"] != "").all() and (not_run["measured in"] == "").all()


def test_no_printed_number_stands_in_a_measured_ones_place(ledger) -> None:
    both = ledger.dropna(subset=["printed", "here"])
    assert len(both) > 25 and (abs(both.printed - both.here) > 1e-6).all()


def test_items_name_committed_figures_that_show_them() -> None:
    for entry in ENTRIES.values():
        assert entry.claims or entry.without
        assert all((FIGURES / f"{name}.json").exists() for name in entry.figures), entry.item


def test_names_lead_to_items_and_an_unknown_name_is_refused() -> None:
    assert papers.fne.table_3 is papers.entries("fne.table_3")["fne.table_3"]
    with pytest.raises(ItmlabError, match="did you mean fne"):
        papers.entries("fne.table3")
    with pytest.raises(ItmlabError, match="not a table"):
        papers.fne.figure_1.table()
    with pytest.raises(ItmlabError, match="no recipes"):
        papers.fne.figure_7.run(run_root="runs")


def test_a_difference_of_independent_intervals() -> None:
    assert independent_difference(Interval(10, 7, 13), Interval(4, 0, 8)) == pytest.approx((6, 1, 11))  # 3, 4, 5
    assert independent_difference(Interval(10, 7, 14), Interval(4, 1, 4)) == pytest.approx((6, 3, 11))


# Runs of an invented entry.

NAMED = Table(["i2t R@1", "t2i R@1"], {"ours": [50, 40], "theirs": [48, 41]})
CLAIM = Claim("ours is better", ("ours", "theirs", "RSum"))
INVENTED = Entry("fne.table_9", "invented", "nowhere", NAMED, (CLAIM,), without="needs a GPU")


def run_of(*rows, seeds=(0, 1)) -> Result:
    return Result(INVENTED.name, "Better?", "python -m itmlab", rows, seeds=seeds)


def difference(value, lower, upper, measure="RSum") -> dict:
    return {"row": "ours", "minus": "theirs", "measure": measure, "value": value, "lower": lower, "upper": upper}


def test_a_run_of_the_entry_answers_its_claim_and_fills_its_table() -> None:
    mean = {"row": "ours", "measure": "i2t R@1", "value": 7.0, "minus": ""}
    run = run_of(difference(-2, -3, -1), mean)
    (row,) = INVENTED.verdicts(run)
    assert row["verdict"] == "contrary" and row["printed"] == 1.0 and "2 seeds" in row["by"]
    assert row["smallest"] == pytest.approx(1.43, rel=0.01)
    table = INVENTED.table(run)
    assert table["here"].loc["ours", "i2t R@1"] == 7 and math.isnan(table["here"].loc["theirs", "i2t R@1"])
    assert table["printed"].loc["ours", "i2t R@1"] == 50


def test_the_papers_recalls_are_added_where_it_prints_four_of_six() -> None:
    table = Table(["i2t R@1", "i2t R@10"], {"ours": [50, 90], "theirs": [48, 88]})
    entry = replace(INVENTED, published=table, rows={"ours": {}, "theirs": {}})
    single = [difference(1, 0.5, 1.5, "i2t R@1"), difference(2, 1, 3, "i2t R@10")]
    (row,) = entry.verdicts(run_of(difference(9, 8, 10), *single))
    assert (row["printed"], row["here"], row["lower"], row["upper"]) == (4, 3, 1.5, 4.5)


def test_claims_of_an_entry_are_corrected_for_their_number() -> None:
    claims = [CLAIM, replace(CLAIM, says="theirs is better", compare=("theirs", "ours", "RSum"))]
    first, second = {**difference(1, 0.1, 1.9), "p": 0.03}, {**difference(-1, -1.9, -0.1), "p": 0.03}
    run = run_of(first, {**second, "row": "theirs", "minus": "ours"})
    for known, verdicts in ((claims[:1], ["held"]), (claims, ["not seen", "not seen"])):
        rows = replace(INVENTED, claims=known).verdicts(run)
        assert [row["verdict"] for row in rows] == verdicts and rows[0]["p"] == pytest.approx(0.03 * len(known))


def test_without_an_oracle_row_the_headroom_is_what_rsum_lacks_to_the_truth() -> None:
    level = {"row": "theirs", "minus": "", "value": 400.0, "measure": "RSum"}
    share = {**level, "value": 80.0, "measure": "RSum, % of oracle (specific)"}
    (row,) = INVENTED.verdicts(run_of(difference(9, 8, 10), level, share))
    assert row["headroom"] == pytest.approx(100)


def test_a_row_continues_the_run_of_another_with_the_same_seed(tmp_path, entry, data) -> None:
    rows = {"first": {"recipe": "hardest"}, "second": {"recipe": "hardest", "after": "first"}}
    runs = replace(entry, rows=rows, baseline="first").runs(seeds=2, **options(data, tmp_path))
    starts = [run.recipe.start for run in runs["second"]]
    assert starts == [str(run.directory) for run in runs["first"]] and len({*starts}) == 2


def test_a_claim_without_a_measurement_says_what_it_needs() -> None:
    (row,) = INVENTED.verdicts()
    assert row["verdict"] == "not run" and row["why not"] == "needs a GPU" and math.isnan(row["here"])
    entry = replace(INVENTED, rows={"theirs": {}}, averaged={"ours": "theirs"})
    assert "two or more seeds" in entry.verdicts(run_of(difference(1, 0, 2, "t2i R@1"), seeds=(0,)))[0]["why not"]


@pytest.mark.parametrize(
    ("oracle", "harmful", "reason"),
    [
        (0.5, -9, "oracle gains 0.5"),
        (9, -9, ""),
        (9, 9, "did not lose"),
        (-9, -9, "oracle gains -9.0"),
        (9, None, "'harmful' was not run"),
    ],
)
def test_a_trial_that_could_not_have_shown_the_opposite_is_no_test(oracle, harmful, reason) -> None:
    whole = replace(INVENTED, oracle="oracle", harmful="harmful", baseline="theirs")
    of_family = replace(INVENTED, families={"theirs": ["oracle", "harmful"]})
    controls = [
        {**difference(value, value - 0.1, value + 0.1), "row": row}
        for row, value in (("oracle", oracle), ("harmful", harmful))
        if value is not None
    ]
    for tested in (whole, of_family):
        (row,) = tested.verdicts(run_of(difference(2, 1, 3), *controls))
        assert row["verdict"] == ("no test" if reason else "held") and reason in row["why not"]
        assert row["headroom"] == oracle


@pytest.fixture
def entry(monkeypatch):
    """FNE's Figure 5 with micro recipes, as the only item."""
    monkeypatch.setattr(entry_module, "recipe_of", lambda *_: micro("hardest"))
    rows = {f"{part}/4 of K": {} for part in (1, 4)}
    entry = replace(papers.fne.figure_5, rows=rows, truth=False)  # the pictures of `data` have no world
    monkeypatch.setattr(papers, "entries", lambda chosen: {"fne.figure_5": entry})
    return entry


@pytest.fixture
def data():
    small = small_world()
    small.splits["test"] = torch.cat([small.splits["val"], small.splits["test"]])  # ten pictures at least
    return small


def options(data, tmp_path) -> dict:
    return {"changes": {"data__epochs": 1, "data__validation": 0}, "jobs": 1, "data": data, "run_root": tmp_path}


def test_a_fresh_run_is_trained_judged_and_written(tmp_path, entry, data, capsys) -> None:
    (result,) = papers.reproduce("fne.figure_5", fresh=True, seeds=1, **options(data, tmp_path)).values()
    pair = {"row": "4/4 of K", "minus": "1/4 of K", "measure": "RSum"}
    saved = load_result("fne.figure_5", tmp_path)
    assert result.seeds == [0] and saved.interval(**pair) == (0.0, 0.0, 0.0)
    assert saved.row(**pair)["per_seed"] == [0.0]
    assert saved.recipes["1/4 of K"]["data"]["epochs"] == 1 and saved.data["fingerprint"]
    assert "not run RSum" in capsys.readouterr().out, "one seed has no interval over seeds"
    with pytest.raises(ItmlabError, match="--keep"):
        papers.reproduce("fne.figure_5", keep=True)


def test_rows_share_runs_and_pairs_of_seeds_are_averaged(tmp_path, entry, data) -> None:
    averaged = replace(entry, averaged={"two seeds": "1/4 of K"})
    three = averaged.run(seeds=3, **options(data, tmp_path))
    first, second, third = single = three.runs["1/4 of K"]
    assert three.labels == ["1/4 of K", "4/4 of K", "two seeds"]
    pairs = [[first, second], [second, third], [third, first]]
    assert [pair.members for pair in three.runs["two seeds"]] == pairs
    two = averaged.run(seeds=2, **options(data, tmp_path))
    assert two.labels == ["1/4 of K", "4/4 of K"], "both pairs of two seeds are the same"
    (alone,) = entry.runs(chosen=["1/4 of K"], seeds=1, **options(data, tmp_path))["1/4 of K"]
    assert alone.directory == single[0].directory, "some rows alone are the runs of all rows"


def test_rows_are_tested_on_other_data(tmp_path, entry, data, monkeypatch) -> None:
    other = small_world(copies=4)
    other.splits["test"] = torch.arange(20)
    monkeypatch.setattr(Entry, "data", lambda self, **drawn: other if drawn else data)
    comparison = entry.run(seeds=1, **{**options(data, tmp_path), "data": None})
    assert comparison.totals.keys() == (again := compare_runs(comparison.runs, other, progress=False)).totals.keys()
    assert all((comparison.totals[label] == again.totals[label]).all() for label in comparison.labels)


def test_rows_that_start_pretrained_are_tested_on_unseen_pictures() -> None:
    """`region_dual_encoder` learnt from the first 5,000 pictures of seed 0, which has 6,000 by default."""
    for name, entry in ENTRIES.items():
        if any(recipe.start for recipe in entry.recipes().values()):
            used = {**entry.options, **entry.tested}
            assert used.get("seed", 0) != 0 or used.get("images", 6000) == 6000, name


# Words.


def test_the_command_prints_an_item() -> None:
    from typer.testing import CliRunner
    from workshop.__main__ import app

    result = CliRunner().invoke(app, ["reproduce", "sam.table_4"])
    assert result.exit_code == 0, result.output
    measured = r"held: \+[\d.]+ \(\+[\d.]+ to \+[\d.]+\) RSum \(the paper: \+3\.4\)"
    assert re.search(measured, result.output)
    words = "contrary: 82.0 (78.7 to 84.8) % of the sentences (the paper: 96.5)"
    assert words in entry_in_lines(papers.tags.section_4_2)
