"""What a run takes, before it is begun: beside runs that were made, counts by hand, and the book's table."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import itmlab
from itmlab import recipes
from itmlab.cli import app
from itmlab.models.costs import Cost
from itmlab.recipes.dry_run import GPUS, PUBLISHED, THIS_MACHINE, base_table, batch_work, data_sizes, estimate
from itmlab.training.loop import train
from tests.refusals import refused
from tests.training.world import micro, small_world

PAGE = Path(itmlab.__file__).parent / "book" / "pages" / "real_data.md"


@pytest.mark.parametrize(
    "changes", [{}, {"data__accumulate": 2, "data__captions_per_image": "all"}, {"data__steps": 5}]
)
def test_steps_are_those_that_a_run_makes(changes, tmp_path):
    recipe, data = micro(data__epochs=2, **changes), small_world()
    found = estimate(recipe, data)
    run = train(recipe, data, tmp_path / "run", progress=False)
    assert run.history[-1]["step"] == found.steps
    assert found.parameters == pytest.approx(sum(one.numel() for one in run.model.parameters()), rel=0.2)  # vocabulary


def test_published_size_of_coco():
    coco = PUBLISHED["coco"]
    assert coco.images == 82_783 + 30_504 and coco.captions == 616_767 - 2 * 25_010


def test_lengths_are_those_of_the_real_captions(real_data):
    """Words and punctuation as BERT splits them, and 2 of the frame; of the longest of 32 the mean."""
    from itmlab.data import load

    for name, file in (("flickr30k", "flickr30k/captions_val.jsonl.gz"), ("coco", "coco/captions_val1k.jsonl.gz")):
        words = [2 + len(re.findall(r"\w+|[^\w\s]", one)) for one in load("captions", real_data(file)).captions]
        longest = [max(words[start : start + 32]) for start in range(0, len(words), 32)]
        assert sum(words) / len(words) == pytest.approx(PUBLISHED[name].pieces, abs=1.5)
        assert sum(longest) / len(longest) == pytest.approx(PUBLISHED[name].longest, abs=4)


def test_memory_is_added_up_from_what_holds_it():
    found = estimate(recipes.get("fne", "base"))
    weights = 4 * found.parameters
    assert found.memory["gradients"] == found.memory["weights"] == found.memory["copy of the model"] == weights
    assert found.memory["Adam's two means"] == 2 * weights and found.memory["bfloat16 weights"] == weights / 2
    assert found.memory["queue"] == 2 * 8192 * 768 * 4
    assert estimate(recipes.get("triplet", "base")).memory["copy of the model"] == 0
    whole, half = (estimate(recipes.get("fne", "base"), processes=count) for count in (1, 2))
    assert half.memory["activations"] == whole.memory["activations"] / 2
    assert half.hours[GPUS[0].name] == pytest.approx(whole.hours[GPUS[0].name] / 2)


def test_a_step_of_fne_encodes_a_batch_twice_and_learns_from_once():
    """Forward and backward are three passes, the momentum copy's one more (Li et al. 2023, Sec. 3.3)."""
    with_memory, without = (estimate(recipes.get(name, "base")) for name in ("fne", "fne_without_memory"))
    assert with_memory.step_operations / without.step_operations == pytest.approx(4 / 3)
    assert with_memory.hours[GPUS[0].name] == pytest.approx(
        (with_memory.steps * with_memory.step_operations + with_memory.validation_operations) / (0.4 * 312e12) / 3600
    )


def test_a_step_of_tags_is_counted_as_algorithm_1_goes():
    """Per pair: 2 × 399 mined and 20 × 20 made are scored; 1 + 2 × 31 pairs and 31 sentences are learnt from."""
    recipe = recipes.get("tags_dc", "base")
    unit = {"pair": 1.0, "trunk": 100.0, "word": 0.0}
    costs = {name: Cost(value, value, True) for name, value in unit.items()} | {"pieces": 16}
    done = sum(times * cost.operations for times, cost in batch_work(recipe, costs)) / recipe.data.batch_size
    assert done == 3 * (1 + 2 * 31) + 2 * 399 + 400 + 100 * (20 + 3 * 31 + 3 * recipe.tags.trained_maskings)
    kept = sum(times * cost.kept for times, cost in batch_work(recipe, costs)) / recipe.data.batch_size
    assert kept >= (1 + 2 * 31) + 100 * 31


def test_memory_is_that_of_the_last_steps():
    """UNITER's pretraining matches from a share of its steps on: its time is of both parts, its memory of the last."""
    recipe = recipes.get("uniter_pretraining", "base")
    whole, half = (estimate(recipe.replace(tags__matching_begins=begins)) for begins in (0.0, 0.5))
    assert half.memory == whole.memory and half.step_operations < whole.step_operations


def test_single_precision_takes_the_gpus_other_number():
    low, full = (estimate(recipes.get("fne", "base").replace(optimiser__precision=one)) for one in ("auto", "float32"))
    assert full.step_operations == low.step_operations
    assert full.hours[GPUS[0].name] == pytest.approx(low.hours[GPUS[0].name] * 312 / 19.5)
    assert full.memory["activations"] > low.memory["activations"] and full.memory["bfloat16 weights"] == 0


def test_what_does_not_fit_is_said():
    found = estimate(recipes.get("tags_dc", "base"))
    assert not found.fits(GPUS[1]) and "its memory does not hold it" in str(found)
    assert "does not hold" not in str(estimate(recipes.get("fne", "base")))
    assert json.loads(json.dumps(found.to_json()))["steps"] == 1500


def test_a_small_model_is_timed_here():
    found = estimate(micro(), small_world(), measured=True)
    assert set(found.hours) == {THIS_MACHINE} and found.hours[THIS_MACHINE] > 0
    assert "small world" in str(found) and THIS_MACHINE in str(found)


def test_sizes_of_data_that_are_there():
    found = data_sizes(small_world())
    assert (found.images, found.captions, found.validation) == (32, 64, (8, 16))


def test_refusals():
    refused("no sizes of 'flickr'.*flickr30k", estimate, micro(), "flickr")


def test_a_dry_run_needs_no_data_and_leaves_nothing(tmp_path):
    run = tmp_path / "run"
    words = ["train", str(run), "--recipe", "fne", "--size", "base", "--data", "flickr30k", "--dry-run"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0 and "113,275 steps of 32 pairs" in done.output, done.output
    assert not run.exists()


def table_of(data) -> str:
    heading = {"flickr30k": "### Flickr30K, base size", "coco": "### COCO, base size"}[data]
    return PAGE.read_text(encoding="utf-8").split(f"{heading}\n\n")[1].partition("\n\n")[0]


@pytest.mark.parametrize(("data", "names"), [("flickr30k", ("fne", "scan")), ("coco", ("tags_dc",))])
def test_the_books_table_is_what_is_computed(data, names):
    page = table_of(data)
    written = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    for line in base_table(data, names).splitlines()[2:]:
        first, *cells = line.split(" | ")
        assert next(row[1:] for row in written if first.removeprefix("| ") in row[0]) == cells


def test_every_recipe_stands_in_the_books_table():
    for data in ("flickr30k", "coco"):
        page = table_of(data)
        wanted = [name for name in recipes.names() if not name.endswith(("+regions", "+scratch", "+coco"))]
        wanted = [name for name in wanted if recipes.get(name, "base").model != recipes.get(name).model]
        assert [name for name in wanted if f"`{name}`" not in page] == []
