"""Recipes compared: the same numbers as evaluating each run, paired against the baseline, with honest intervals."""

import math
from copy import copy

import numpy as np
import pytest
import torch

import itmlab
from itmlab import ensemble
from itmlab.metrics.by_image import RECALLS, TRUTHS
from itmlab.metrics.semantic import ncs
from itmlab.metrics.statistics import holm
from itmlab.scenes import load
from itmlab.train.comparison import Comparison, compare, compare_runs
from itmlab.train.scores import relevance_matrix, similarity
from itmlab.train.workers import directory_name
from itmlab.train.workers import trained as trained_runs
from tests.refusals import refused
from tests.train.world import micro, small_world

QUIET = {"split": "train", "progress": False}
pytestmark = pytest.mark.slow  # nearly every test needs four trained runs


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("compare")
    recipes = {"triplet": micro("triplet"), "<b>FNE</b>": micro("fne")}
    return root, recipes, compare(recipes, data, seeds=2, run_root=root, jobs=1, **QUIET)


def rows_of(comparison):
    """A row per run: the values of its seed by column, and the run."""
    return [
        ({column: values[seed] for column, values in comparison.per_seed(label).items()}, run)
        for label, runs in comparison.runs.items()
        for seed, run in enumerate(runs)
    ]


def test_each_seed_has_the_recall_of_its_run(trained, data):
    _, _, comparison = trained
    assert comparison.labels == ["triplet", "<b>FNE</b>"] and comparison.seeds == [0, 1]
    for row, run in rows_of(comparison):
        scores = run.evaluate(data, split="train")
        for direction in ("i2t", "t2i"):
            for k in (1, 5, 10):
                assert row[f"{direction} R@{k}"] == pytest.approx(scores[direction][k])
        assert row["RSum"] == pytest.approx(sum(row[measure] for measure in RECALLS))


def test_the_table_has_means_and_differences_are_paired(trained):
    _, _, comparison = trained
    first, second = (np.array(comparison.per_seed(label)["RSum"]) for label in comparison.labels)
    assert comparison.labels[0] == "triplet" and len(first) == 2
    assert comparison.intervals("triplet")["RSum"].value == pytest.approx(first.mean())
    value, lower, upper = comparison.difference("<b>FNE</b>")["RSum"]
    assert value == pytest.approx((second - first).mean()) and lower <= value <= upper
    assert comparison.difference("triplet")["RSum"] == (0.0, 0.0, 0.0)
    assert all(lower <= value <= upper for value, lower, upper in comparison.intervals("triplet").values())


def test_it_is_shown_as_text_and_as_escaped_html(trained):
    _, _, comparison = trained
    assert "RSum − triplet" in repr(comparison)
    page = comparison._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;FNE" in page and page.count("</tr>") == 3 and page.count("<caption>") == 1


def test_with_a_relevance_it_adds_ncs_as_the_runs_are_evaluated(trained, data):
    *_, plain = trained
    comparison, part = compare_runs(plain.runs, data, relevance="cider", **QUIET), data.split("train")
    assert comparison.difference("<b>FNE</b>")["RSum"] == plain.difference("<b>FNE</b>")["RSum"]
    for row, run in rows_of(comparison):
        scores, relevance = similarity(run.model, part), relevance_matrix(part)
        for k in (1, 5, 10):
            assert row[f"i2t N@{k}"] == pytest.approx(ncs(scores, relevance.T, k))
            assert row[f"t2i N(N)@{k}"] == pytest.approx(ncs(scores.T, relevance, k, without=part.positives.T))
        assert row["Nsum"] == pytest.approx(sum(value for name, value in row.items() if " N@" in name))
    assert "Nsum − triplet" in repr(comparison)


def test_an_ensemble_is_compared_by_the_seed_of_its_first_run(trained, data):
    *_, comparison = trained
    first, second = comparison.runs["triplet"]
    both = ensemble([first, second])
    compared = compare_runs({"one": [first], "two": [both]}, data, **QUIET)
    assert compared.seeds == [0] and compared.per_seed("one")["RSum"] == comparison.per_seed("triplet")["RSum"][:1]
    assert compared.per_seed("two")["RSum"] == pytest.approx([both.evaluate(data, split="train")["rsum"]])


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """Drawn scenes, whose world knows what is true."""
    scenes = load(images=60, cache=tmp_path_factory.mktemp("scenes"))
    scenes.splits = {"test": torch.arange(0, 60, 2)}
    return scenes


def test_folds_are_galleries_of_their_own_whose_pictures_are_pooled(trained, scenes):
    """COCO 1K: block after block as if it were alone; here the mean is over all pictures, not over five tables."""
    runs = {label: group[:1] for label, group in trained[-1].runs.items()}
    options = {"truth": True, "metrics": {"brightness": lambda run, pictures: np.arange(30.0)}, "progress": False}
    folded = compare_runs(runs, scenes, relevance="cider", folds=2, **options)
    held_out = scenes.split("test")
    blocks = [held_out.select(range(15)), held_out.select(range(15, 30))]
    for part in blocks:
        part.splits = {"test": torch.arange(15)}
    alone = [compare_runs(runs, part, truth=True, progress=False) for part in blocks]
    for label in runs:
        for measure in (*RECALLS, *TRUTHS):
            joined = [part.totals[label][:, part.measures.index(measure)] for part in alone]
            assert (folded.totals[label][:, folded.measures.index(measure)] == np.concatenate(joined, axis=1)).all()
    (row, run), *_ = rows_of(folded)
    evaluated = run.evaluate(scenes, relevance="cider", folds=2)
    assert row["brightness"] == pytest.approx(14.5) and folded.images == 30
    assert row["RSum"] == pytest.approx(evaluated["rsum"])  # every picture has five captions
    assert row["i2t N@5"] == pytest.approx(evaluated["semantic"]["NCS"]["i2t"][5])
    refused("compare on a split of 40 images", compare_runs, runs, scenes, folds=4, progress=False)


def test_with_truth_its_measures_are_those_of_the_evaluated_runs(trained, scenes):
    names = {"mAP@R": "map_at_r", "R-Precision": "rprecision"}
    for row, run in rows_of(compare_runs(trained[-1].runs, scenes, truth=True, progress=False)):
        evaluated = run.evaluate(scenes, truth=True)
        truth = evaluated["truth"]
        assert row["RSum"] == pytest.approx(evaluated["rsum"])
        for side in ("i2t", "t2i"):
            for name, key in names.items():
                assert row[f"{side} {name}"] == pytest.approx(truth[side][key])
            assert row[f"{side} unannotated@1"] == pytest.approx(truth[side]["first"]["unannotated"])


def test_finished_runs_are_not_trained_again_and_can_be_compared_elsewhere(trained, data):
    root, recipes, comparison = trained
    weights = sorted(root.rglob("model.safetensors"))
    before = [path.stat().st_mtime_ns for path in weights]
    runs = trained_runs(recipes, data, seeds=[1, 0], run_root=root, progress=False)
    again = compare_runs(runs, data, baseline="<b>FNE</b>", **QUIET)
    assert [path.stat().st_mtime_ns for path in weights] == before and len(weights) == 4
    first, second = again.difference("triplet")["RSum"], comparison.difference("<b>FNE</b>")["RSum"]
    assert first.value == pytest.approx(-second.value)


def test_models_are_in_memory_only_while_their_runs_are_scored(trained, data):
    """Issue 44, entry 31."""
    runs = trained[-1].runs
    opened = {label: [itmlab.Run(run.directory) for run in group] for label, group in runs.items()}
    most = []

    def loaded(_, split):
        most.append(sum("model" in vars(run) for group in opened.values() for run in group))
        return np.zeros(len(split))

    compare_runs(opened, data, metrics={"loaded": loaded}, **QUIET)
    assert max(most) == 1 and not any("model" in vars(run) for group in opened.values() for run in group)


def test_a_run_that_is_given_twice_is_refused(trained, data):
    """Issue 44, entry 31: one run must not count as two seeds, nor an ensemble of the same two."""
    first, second = trained[-1].runs["triplet"]
    refused("one run twice", compare_runs, {"a": [first, itmlab.Run(first.directory)]}, data, **QUIET)
    pairs = [ensemble(pair) for pair in ((first, second), (second, first))]
    refused("one run twice", compare_runs, {"a": [first, second], "b": pairs}, data, **QUIET)


def test_other_splits_pictures_and_features_of_the_same_ids_have_runs_of_their_own(trained, data):
    """Issue 44, entry 1."""
    root, recipes, _ = trained
    resplit, repainted, remeasured = copy(data), copy(data), copy(data)
    for changed in (resplit, repainted, remeasured):
        vars(changed).pop("fingerprint", None)
    resplit.splits = {"train": data.splits["test"], "val": data.splits["val"], "test": data.splits["train"][:8]}
    repainted.images = [picture.rotate(90) for picture in data.images]
    remeasured.regions = small_world(regions=2).regions
    names = {directory_name("a", micro(), changed) for changed in (data, resplit, repainted, remeasured)}
    assert len(names) == 4
    options = {"seeds": 1, "run_root": root, "jobs": 1, "progress": False}
    runs = trained_runs({"triplet": recipes["triplet"].replace(data__epochs=1)}, resplit, **options)
    again = trained_runs({"triplet": recipes["triplet"].replace(data__epochs=1)}, data, **options)
    assert runs["triplet"][0].directory != again["triplet"][0].directory


def test_a_label_is_a_folder_inside_the_root_and_each_variation_has_its_own(data):
    names = {directory_name(label, micro(), data) for label in ("../../etc", "..", "p = 1e-3")}
    assert all("/" not in name and not name.startswith(".") for name in names) and len(names) == 3
    assert directory_name("a", micro(), data) != directory_name("a", micro(data__epochs=9), data)
    assert directory_name("a", micro(), data) == directory_name("a", micro(seed=9), data)


def invented(seeds=3, images=400, effect=0.1, noise=0.02):
    """Recipes whose true difference is known: `effect` in the probability of a hit, on images equally hard for all."""
    random = np.random.default_rng(1)
    difficulty, counts = random.random((1, 1, images)), np.repeat([[1.0], [5.0]], 3, axis=0) * np.ones(images)

    def hits(shift):
        chance = np.clip(0.3 + shift + 0.4 * difficulty + noise * random.standard_normal((seeds, 1, 1)), 0, 1)
        of_images = random.random((seeds, 3, images)) < chance
        of_captions = random.binomial(5, np.broadcast_to(chance, (seeds, 3, images)))
        return np.concatenate([of_images, of_captions], axis=1).astype(float)

    totals = {"base": hits(0), "better": hits(effect), "same": hits(0)}
    return Comparison(totals, counts, RECALLS, "base", list(range(seeds)), {})


def test_each_difference_has_a_p_that_agrees_with_its_interval_and_is_corrected_for_all():
    comparison = invented()
    tested = comparison.tests("RSum", "t2i R@1")
    assert list(tested) == ["better", "same"] and list(tested["same"]) == ["RSum", "t2i R@1"]
    every = [result for row in tested.values() for result in row.values()]
    assert [result.corrected for result in every] == pytest.approx(holm([result.p for result in every]))
    assert tested["better"]["RSum"].difference == comparison.difference("better")["RSum"]
    assert tested["better"]["RSum"].p < 0.05 < tested["same"]["RSum"].p
    assert comparison.tests(baseline="better")["base"]["RSum"].difference[0] < 0
    refused("did you mean RSum", comparison.tests, "RSun")


def test_a_verdict_says_what_held_and_what_could_have_been_seen():
    comparison = invented()
    verdicts = comparison.verdict("better")
    assert set(verdicts) == {*RECALLS, "RSum"} and all(measure in repr(verdicts) for measure in verdicts)
    held = verdicts["RSum"]
    assert held.verdict == "held" and held.difference == comparison.difference("better")["RSum"] and held.smallest > 0
    assert comparison.verdict("better", "t2i R@5", expected="lower")["t2i R@5"].verdict == "contrary"
    assert comparison.verdict("same")["RSum"].verdict == "not seen"
    assert comparison.verdict("same", "RSum", expected="equal", margin=60)["RSum"].verdict == "held"
    refused("no recipe 'bettr'", comparison.verdict, "bettr")


def test_power_follows_from_the_deviations_over_seeds_and_over_images():
    comparison = invented(seeds=4)
    large, small = comparison.power(30.0), comparison.power(20.0)
    assert set(large) == {"better", "same"} and 2 <= large["better"] <= small["better"] < math.inf
    assert comparison.power(0.1)["better"] == math.inf, "the images alone leave too much uncertainty"
    assert "better: no number of seeds" in repr(comparison.power(0.1))
    refused("one seed", invented(seeds=1).power, 1.0)


def test_custom_metrics_are_compared_image_by_image(trained, data):
    *_, comparison = trained

    def brightness(run, split):
        values = np.linspace(0, 50, len(split)) + len(run.recipe.name)
        values[::4] = np.nan
        return values

    compared = compare_runs(comparison.runs, data, metrics={"brightness": brightness}, **QUIET)
    assert compared.per_seed("triplet")["RSum"] == pytest.approx(comparison.per_seed("triplet")["RSum"])
    assert compared.difference("<b>FNE</b>")["brightness"] == pytest.approx((-4, -4, -4))
    assert "brightness − triplet" in repr(compared)
    refused("there is a measure 'RSum'", compare_runs, comparison.runs, data, metrics={"RSum": brightness}, **QUIET)
    few = {"few": lambda run, split: [1.0]}
    refused(r"metric 'few' gave shape \(1,\)", compare_runs, comparison.runs, data, metrics=few, **QUIET)


FNE = [itmlab.recipe("fne")]


@pytest.mark.parametrize(
    ("recipes", "options", "word"),
    [
        ([*FNE, FNE[0].replace(seed=2)], {}, "different names"),
        (FNE, {"baseline": "fn"}, "did you mean fne"),
        (FNE, {"seeds": 0, "split": "train"}, "seeds must be"),
        (FNE, {}, "compare on a split of 10 images or more"),
        (FNE, {"split": "train", "relevance": "cidre"}, "did you mean cider"),
        (FNE, {"split": "train", "truth": True}, "the data has no world"),
        (FNE, {"split": "train", "jobs": 0}, "jobs must be"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_training(recipes, options, word, data, tmp_path):
    refused(word, compare, recipes, data, run_root=tmp_path, **options)
    assert not any(tmp_path.iterdir())


def test_runs_that_are_not_paired_are_refused(trained, data):
    runs = dict(trained[-1].runs)
    refused("no recipe 'hardest'", compare_runs, runs, data, baseline="hardest")
    refused("paired by their seeds", compare_runs, runs | {"<b>FNE</b>": runs["<b>FNE</b>"][:1]}, data, split="train")
