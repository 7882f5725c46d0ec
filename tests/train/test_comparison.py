"""Recipes compared: the same numbers as evaluating each run, paired against the baseline, with honest intervals."""

import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import torch

import itmlab
from itmlab import ensemble
from itmlab.errors import ItmlabError
from itmlab.metrics.by_image import RECALLS, TRUTHS
from itmlab.metrics.semantic import ncs
from itmlab.metrics.statistics import holm, resample, seeds_needed
from itmlab.scenes import load
from itmlab.train.comparison import (
    BATCH_SIZE,
    Comparison,
    compare,
    compare_runs,
    directory_name,
    share_of_oracle,
)
from itmlab.train.comparison import trained as trained_runs
from itmlab.train.scores import relevance_matrix, similarity
from tests.refusals import refused
from tests.train.world import micro


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("compare")
    given = {"triplet": micro("triplet"), "<b>FNE</b>": micro("fne")}
    return root, given, compare(given, data, seeds=2, run_root=root, split="train", progress=False)


def rows_of(comparison):
    """A row per run: the values of its seed by column."""
    return [
        {column: values[seed] for column, values in comparison.per_seed(label).items()}
        for label in comparison.labels
        for seed in range(len(comparison.seeds))
    ]


def test_each_seed_has_the_recall_of_its_run(trained, data):
    _, _, comparison = trained
    rows = rows_of(comparison)
    assert comparison.labels == ["triplet", "<b>FNE</b>"] and comparison.seeds == [0, 1]
    for row, run in zip(rows, [run for group in comparison.runs.values() for run in group], strict=True):
        scores = run.evaluate(data, split="train")
        for direction in ("i2t", "t2i"):
            for k in (1, 5, 10):
                assert row[f"{direction} R@{k}"] == pytest.approx(scores[direction][k])
        assert row["RSum"] == pytest.approx(sum(row[measure] for measure in RECALLS))


def test_the_table_has_means_and_differences_are_paired(trained):
    _, _, comparison = trained
    first, second = comparison.table()
    assert first["recipe"] == "triplet" and first["seeds"] == 2
    assert first["RSum"] == pytest.approx(np.mean(comparison.per_seed("triplet")["RSum"]))
    value, lower, upper = comparison.difference("<b>FNE</b>")["RSum"]
    assert value == pytest.approx(second["RSum"] - first["RSum"]) and lower <= value <= upper
    assert comparison.difference("triplet")["RSum"] == (0.0, 0.0, 0.0)
    assert all(lower <= value <= upper for value, lower, upper in comparison.intervals("triplet").values())


def test_it_is_shown_as_text_and_as_escaped_html(trained):
    _, _, comparison = trained
    assert "RSum − triplet" in repr(comparison)
    page = comparison._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;FNE" in page and page.count("</tr>") == 3 and page.count("<caption>") == 1


def test_with_a_relevance_it_adds_ncs_as_the_runs_are_evaluated(trained, data):
    root, given, _ = trained
    settings = {"seeds": 2, "run_root": root, "split": "train", "progress": False}
    plain, again = compare(given, data, **settings), compare(given, data, relevance="cider", **settings)
    assert again.per_seed("<b>FNE</b>")["RSum"] == plain.per_seed("<b>FNE</b>")["RSum"]
    assert again.difference("<b>FNE</b>")["RSum"] == plain.difference("<b>FNE</b>")["RSum"]
    rows = rows_of(again)
    for row, run in zip(rows, [run for group in again.runs.values() for run in group], strict=True):
        part = data.split("train")
        scores, relevance = similarity(run.model, part), relevance_matrix(part)
        for k in (1, 5, 10):
            assert row[f"i2t N@{k}"] == pytest.approx(ncs(scores, relevance.T, k))
            without = {"positives": part.positives.T, "keep_ground_truth": False}
            assert row[f"t2i N(N)@{k}"] == pytest.approx(ncs(scores.T, relevance, k, **without))
        assert row["Nsum"] == pytest.approx(sum(value for name, value in row.items() if " N@" in name))
    difference = again.difference("<b>FNE</b>")["Nsum(N)"]
    assert difference[0] == pytest.approx(np.mean([row["Nsum(N)"] for row in rows[2:]]) - again.table()[0]["Nsum(N)"])
    assert difference[1] <= difference[0] <= difference[2]
    assert "Nsum − triplet" in repr(again)


def test_seeds_averaged_are_compared_with_single_ones_by_the_first_of_them(trained, data):
    *_, comparison = trained
    one, other = comparison.runs["triplet"]
    pairs = [ensemble(pair) for pair in ((one, other), (other, one))]
    found = compare_runs({"one": [one, other], "two": pairs}, data, split="train", progress=False)
    alone, averaged = (found.per_seed(label)["RSum"] for label in ("one", "two"))
    assert found.seeds == comparison.seeds and alone == comparison.per_seed("triplet")["RSum"]
    assert averaged[0] == pytest.approx(pairs[0].evaluate(data, split="train")["rsum"])


@pytest.fixture(scope="module")
def by_truth(trained, tmp_path_factory):
    """The trained runs on drawn scenes, whose world knows what is true; and these."""
    scenes = load(images=60, cache=tmp_path_factory.mktemp("scenes"))
    scenes.splits = {"test": torch.arange(0, 60, 4)}
    return compare_runs(trained[-1].runs, scenes, truth=True, progress=False), scenes


def test_folds_are_galleries_of_their_own_whose_pictures_are_pooled(trained, tmp_path):
    """COCO 1K: block after block as if it were alone; what is meant over five tables is here over all pictures."""
    scenes = load(images=60, cache=tmp_path)
    scenes.splits = {"test": torch.arange(0, 60, 2)}
    runs, brightness = trained[-1].runs, {"brightness": lambda run, pictures: np.arange(30.0)}
    folded = compare_runs(runs, scenes, truth=True, relevance="cider", metrics=brightness, folds=2, progress=False)
    held_out, whole = scenes.split("test"), compare_runs(runs, scenes, truth=True, metrics=brightness, progress=False)
    blocks = [held_out.select(range(15)), held_out.select(range(15, 30))]
    for part in blocks:
        part.splits = {"test": torch.arange(15)}
    alone = [compare_runs(runs, part, truth=True, progress=False) for part in blocks]
    for label in runs:
        for measure in (*RECALLS, *TRUTHS):
            joined = [part.totals[label][:, part.measures.index(measure)] for part in alone]
            assert (folded.totals[label][:, folded.measures.index(measure)] == np.concatenate(joined, axis=1)).all()
    for kind, values in folded.oracles.items():
        assert (values == np.concatenate([part.oracles[kind] for part in alone], axis=1)).all()
    assert (folded.counts[0] == whole.counts[0]).all() and folded.images == 30
    for row, same in zip(rows_of(folded), rows_of(whole), strict=True):
        assert row["brightness"] == same["brightness"] == pytest.approx(14.5) and row["RSum"] > same["RSum"]
    (run, *_), *_ = runs.values()
    asked = run.evaluate(scenes, relevance="cider", folds=2)
    ours = rows_of(folded)[0]
    assert ours["RSum"] == pytest.approx(asked["rsum"])  # every picture has five captions
    assert ours["i2t N@5"] == pytest.approx(asked["semantic"]["NCS"]["i2t"][5])
    refused("30 images cannot be cut into folds=4", compare_runs, runs, scenes, folds=4, progress=False)


def test_with_truth_its_measures_are_those_that_the_runs_are_evaluated_to(by_truth):
    comparison, scenes = by_truth
    names = {"mAP@R": "map_at_r", "R-Precision": "rprecision"}
    runs = [run for group in comparison.runs.values() for run in group]
    for row, run in zip(rows_of(comparison), runs, strict=True):
        found = run.evaluate(scenes, truth=True)
        truth = found["truth"]
        assert row["RSum"] == pytest.approx(found["rsum"])
        for side in ("i2t", "t2i"):
            assert {name: row[f"{side} {name}"] for name in names} == pytest.approx(
                {name: truth[side][theirs] for name, theirs in names.items()}
            )
            assert row[f"{side} unannotated@1"] == pytest.approx(truth[side]["first"]["unannotated"])
        for kind in ("truth", "specific"):
            assert row[share_of_oracle(kind)] == pytest.approx(100 * found["rsum"] / truth["oracle"][kind]["rsum"])


def test_intervals_draw_the_same_images_for_all_recipes_and_seeds(by_truth):
    """A draw of the bootstrap written out, an image after the other."""
    comparison, _ = by_truth
    images = resample(np.random.default_rng(0), 15, BATCH_SIZE, counts=True)
    for label, draw in (("triplet", 0), ("<b>FNE</b>", 7)):
        reached, asked, oracle = np.zeros((2, 12)), np.zeros(12), np.zeros(6)
        for image, times in enumerate(images[draw]):
            reached += times * comparison.totals[label][:, :, image]
            asked += times * comparison.counts[:, image]
            oracle += times * comparison.oracles["specific"][:, image]
        for seed in range(2):
            drawn = dict(zip(comparison.columns, comparison._draws[label][draw, seed], strict=True))
            assert [drawn[name] for name in (*RECALLS, *TRUTHS)] == pytest.approx(100 * reached[seed] / asked)
            share = (reached[seed, :6] / asked[:6]).sum() / (oracle / asked[:6]).sum()
            assert drawn[share_of_oracle("specific")] == pytest.approx(100 * share)
    value, lower, upper = comparison.difference("<b>FNE</b>")["t2i mAP@R"]
    first, second = comparison.table()
    assert value == pytest.approx(second["t2i mAP@R"] - first["t2i mAP@R"]) and lower <= value <= upper
    assert comparison.intervals("triplet")["RSum"][0] == pytest.approx(first["RSum"])


def test_runs_that_are_not_paired_and_truth_without_a_world_are_refused(trained, data, tmp_path):
    _, given, comparison = trained
    runs = {**comparison.runs, "<b>FNE</b>": comparison.runs["<b>FNE</b>"][:1]}
    refused("paired by their seeds", compare_runs, runs, data, split="train")
    refused("no recipe 'hardest' to compare", compare_runs, comparison.runs, data, baseline="hardest")
    settings = {"run_root": tmp_path, "split": "train", "truth": True}
    refused("the data has no world", compare, given, data, **settings)
    assert not any(tmp_path.iterdir()), "said before the first is trained"


def test_trained_alone_gives_the_same_runs_to_be_asked_of_other_pictures(trained, data):
    root, given, comparison = trained
    runs = trained_runs(given, data, seeds=2, run_root=root, progress=False)
    assert {label: [run.directory for run in group] for label, group in runs.items()} == {
        label: [run.directory for run in group] for label, group in comparison.runs.items()
    }
    found = compare_runs(runs, data, split="train", progress=False)
    assert found.table() == comparison.table()
    refused("wanted at least one and each once", trained_runs, given, data, seeds=[0, 0], run_root=root)


def test_what_is_trained_is_not_trained_again(trained, data):
    root, given, comparison = trained
    weights = sorted(root.rglob("model.safetensors"))
    before = [path.stat().st_mtime_ns for path in weights]
    again = compare(given, data, seeds=[1, 0], run_root=root, baseline="<b>FNE</b>", split="train", progress=False)
    assert [path.stat().st_mtime_ns for path in weights] == before and len(weights) == 4
    first, second = again.difference("triplet")["RSum"], comparison.difference("<b>FNE</b>")["RSum"]
    assert first.value == pytest.approx(-second.value)


def made_up(seeds=3, images=400, effect=0.1, noise=0.02):
    """Two recipes whose true difference is known: `effect` in the probability of a hit, images alike for both."""
    random = np.random.default_rng(1)
    difficulty, counts = random.random((1, 1, images)), np.repeat([[1.0], [5.0]], 3, axis=0) * np.ones(images)

    def hits(shift):
        chance = np.clip(0.3 + shift + 0.4 * difficulty + noise * random.standard_normal((seeds, 1, 1)), 0, 1)
        one = random.random((seeds, 3, images)) < chance
        many = random.binomial(5, np.broadcast_to(chance, (seeds, 3, images)))
        return np.concatenate([one, many], axis=1).astype(float)

    found = {"base": hits(0), "better": hits(effect), "same": hits(0)}
    return Comparison(found, counts, RECALLS, "base", list(range(seeds)), {})


def test_a_real_difference_is_told_from_none():
    comparison = made_up()
    value, lower, upper = comparison.difference("better")["RSum"]
    assert 0 < lower < value < upper and lower < 6 * 10 < upper + 15
    value, lower, upper = comparison.difference("same")["RSum"]
    assert lower < 0 < upper


def test_the_interval_of_queries_agrees_with_the_formula_for_a_share():
    """With one seed, recall of independent images is a binomial share: ±1.96 √(p(1−p)/n)."""
    comparison = made_up(seeds=1, images=1000, noise=0.0)
    value, lower, upper = np.array(comparison.intervals("base")["i2t R@1"]) / 100
    expected = 1.96 * (value * (1 - value) / 1000) ** 0.5
    assert (upper - lower) / 2 == pytest.approx(expected, rel=0.1)


def test_each_difference_has_a_p_that_agrees_with_its_interval_and_is_corrected_for_all():
    comparison = made_up()
    tested = comparison.tests("RSum", "t2i R@1")
    assert list(tested) == ["better", "same"] and list(tested["same"]) == ["RSum", "t2i R@1"]
    every = [one for row in tested.values() for one in row.values()]
    assert [one.corrected for one in every] == pytest.approx(holm([one.p for one in every]))
    assert tested["better"]["RSum"].difference == comparison.difference("better")["RSum"]
    assert tested["better"]["RSum"].p < 0.05 < tested["same"]["RSum"].p
    assert comparison.tests(baseline="better")["base"]["RSum"].difference[0] < 0
    refused("nothing compared is called 'RSun' — did you mean RSum", comparison.tests, "RSun")


def test_a_verdict_says_what_was_held_and_what_could_have_been_seen():
    comparison = made_up()
    verdicts = comparison.verdict("better")
    assert set(verdicts) == {*RECALLS, "RSum"} and all(measure in repr(verdicts) for measure in verdicts)
    held = verdicts["RSum"]
    assert held.verdict == "held" and held.difference == comparison.difference("better")["RSum"]
    assert held.smallest == pytest.approx(2.8016 / 3.92 * (held.difference.upper - held.difference.lower), rel=1e-3)
    assert comparison.verdict("better", "t2i R@5", expected="lower")["t2i R@5"].verdict == "contrary"
    assert comparison.verdict("same")["RSum"].verdict == "not seen"
    assert comparison.verdict("same", "RSum", expected="equal", margin=60)["RSum"].verdict == "held"
    refused("no recipe 'bettr' to compare", comparison.verdict, "bettr")


def test_power_is_of_the_paired_deviations_over_seeds_and_of_what_the_pictures_leave():
    comparison = made_up(seeds=4)
    paired = np.subtract(comparison.per_seed("better")["t2i R@5"], comparison.per_seed("base")["t2i R@5"])
    place = comparison.measures.index("t2i R@5")
    each = (comparison.totals["better"] - comparison.totals["base"])[:, place].mean(axis=0) / 5  # an image, over seeds
    of_pictures = 100 * float(np.std(each)) / len(each) ** 0.5
    needed = {label: power.seeds for label, power in comparison.power(4.0, "t2i R@5").items()}
    expected = [seeds_needed(float(np.std(paired, ddof=1)), 4.0, fixed=of_pictures * near) for near in (0.9, 1.1)]
    assert expected[0] <= needed["better"] <= expected[1] and set(needed) == {"better", "same"}
    too_few = comparison.power(2.8 * of_pictures * 0.8, "t2i R@5")["better"]
    assert too_few.seeds == math.inf and "images" in repr(too_few), "it says why"
    refused("one seed", made_up(seeds=1).power, 1.0)


def test_as_a_data_frame_it_has_the_same_numbers():
    comparison = made_up()
    frame = comparison.to_pandas().set_index(["recipe", "measure"])
    tested = comparison.tests("RSum")["same"]["RSum"]
    row = frame.loc[("same", "RSum")]
    assert tuple(row[["difference", "difference lower", "difference upper"]]) == pytest.approx(tested.difference)
    assert row["p (Holm)"] == tested.corrected and frame.loc[("base", "RSum"), "p"] != frame.loc[("base", "RSum"), "p"]


def test_own_metrics_are_compared_picture_by_picture(trained, data):
    _, _, comparison = trained
    of_picture = {}

    def brightness(run, split):
        of_picture[str(run.directory)] = values = np.linspace(0, 50, len(split)) + len(run.recipe.name)
        values[::4] = np.nan
        return values

    found = compare_runs(comparison.runs, data, split="train", metrics={"brightness": brightness}, progress=False)
    first, second = found.table()
    assert first["brightness"] == pytest.approx(np.nanmean(next(iter(of_picture.values()))))
    assert first["RSum"] == pytest.approx(comparison.table()[0]["RSum"])
    ends = found.difference("<b>FNE</b>")["brightness"]
    assert ends == pytest.approx((-4, -4, -4)) and "brightness − triplet" in repr(found)
    assert second["brightness"] - first["brightness"] == pytest.approx(-4), "3 letters beside 7"
    for wrong, said in (
        ({"RSum": brightness}, "there is a measure 'RSum' already"),
        ({"few": lambda run, split: [1.0]}, r"metric 'few' gave shape \(1,\), wanted a number for each of the 32"),
        ({"none": lambda run, split: np.full(len(split), np.nan)}, "no image has a value of none in every run"),
    ):
        refused(said, compare_runs, comparison.runs, data, split="train", metrics=wrong, progress=False)


def test_what_cannot_be_compared_is_said(data, tmp_path):
    for given, options, said in (
        ([itmlab.recipe("fne"), itmlab.recipe("fne").replace(seed=2)], {}, "different names"),
        ([], {}, "different names"),
        ([itmlab.recipe("fne")], {"baseline": "fn"}, "did you mean fne"),
        ([itmlab.recipe("fne")], {"seeds": [1, 1], "split": "train"}, "seeds are"),
        ([itmlab.recipe("fne")], {"seeds": 0, "split": "train"}, "seeds are"),
        ([itmlab.recipe("fne")], {"split": "tset"}, "no split 'tset'"),
        (
            [itmlab.recipe("fne")],
            {},
            "split 'test': recall at k=10 of 8 candidates — compare on a split of 10 images or more",
        ),
        (
            [itmlab.recipe("fne")],
            {"relevance": "cider"},
            "k=10 of 7 candidates — compare on a split of 11 images or more",
        ),
        ([itmlab.recipe("fne")], {"split": "train", "relevance": "cidre"}, "did you mean cider"),
    ):
        with pytest.raises(ItmlabError, match=said):
            compare(given, data, run_root=tmp_path, **options)


def test_a_label_is_a_folder_inside_the_root_and_each_variation_has_its_own(data):
    names = {directory_name(label, micro(), data) for label in ("../../etc", "..", "p = 1e-3")}
    assert all("/" not in name and not name.startswith(".") for name in names) and len(names) == 3
    assert directory_name("a", micro(), data) != directory_name("a", micro(data__epochs=9), data)
    assert directory_name("a", micro(), data) == directory_name("a", micro(seed=9), data)


SCRIPT = """
import signal, sys
from dataclasses import dataclass
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore Ctrl-C
from itmlab import compare, load
from itmlab.samplers import Hardest
from tests.train.world import micro

@dataclass
class Second(Hardest):
    rank: int = 1

data = load("scenes", images=40, size=32, cache=sys.argv[1])
given = {name: micro(name, data__epochs=40) for name in ("triplet", "fne")}
given["fne"] = given["fne"].replace(sampler=Second())
compare(given, data, seeds=1, run_root=sys.argv[2], split="train", jobs=int(sys.argv[3]), progress=False)
"""


def start_script(root, scenes, jobs):
    command = [sys.executable, "-c", SCRIPT, str(scenes), str(root), str(jobs)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


def weights(root):
    return {path.parts[-3:]: path.read_bytes() for path in root.rglob("*.safetensors")}


@pytest.fixture(scope="module")
def trained_by_script(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole")
    process = start_script(root / "runs", root / "scenes", jobs=1)
    process.communicate()
    assert process.returncode == 0
    return root


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_side_by_side_it_leaves_no_worker_and_resumes_to_the_same_weights(how, trained_by_script, tmp_path):
    """A script with a sampler of its own, stopped while both recipes train."""
    scenes = trained_by_script / "scenes"
    stopped = start_script(tmp_path, scenes, jobs=2)
    while len(list(tmp_path.glob("*/*/checkpoint.pt"))) < 2:
        assert stopped.poll() is None, stopped.stderr.read()
        time.sleep(0.05)
    children = psutil.Process(stopped.pid).children(recursive=True)
    stopped.send_signal(how)
    message = stopped.communicate()[1]
    assert how == signal.SIGKILL or "compare again to resume" in message
    assert len(children) >= 2 and not psutil.wait_procs(children, timeout=60)[1], message
    resumed = start_script(tmp_path, scenes, jobs=2)
    resumed.communicate()
    assert resumed.returncode == 0 and len(weights(tmp_path)) == 2
    assert weights(tmp_path) == weights(trained_by_script / "runs")


def test_an_error_in_a_worker_is_one_line_and_impossible_jobs_are_refused(data, tmp_path):
    settings = {"seeds": 1, "run_root": tmp_path, "split": "train", "progress": False}
    broken = {"a": micro(data__batch_size=8, start=str(tmp_path / "nothing")), "b": micro("triplet")}
    refused("no shipped run", compare, broken, data, jobs=2, **settings)
    refused("jobs is 0", compare, [micro()], data, jobs=0, **settings)
