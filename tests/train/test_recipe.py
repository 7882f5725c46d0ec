"""A recipe survives JSON, varies by field name, and says in one line what is wrong with it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import itmlab
from itmlab.fields import to_plain
from itmlab.losses import InfoCMR
from itmlab.samplers import Hardest, Softest
from itmlab.synthesis import SynHNC
from itmlab.train.recipes import Recipe
from itmlab.train.settings import MemorySettings
from tests.refusals import refused


@given(
    prior=st.floats(1e-9, 0.5),
    epochs=st.integers(1, 1000),
    milestones=st.lists(st.integers(1, 99), max_size=4),
    seed=st.integers(0, 2**31 - 1),
)
def test_variations_keep_everything_else(prior, epochs, milestones, seed):
    fne = itmlab.recipe("fne", size="base")
    varied = fne.replace(sampler__prior=prior, data__epochs=epochs, optimiser__milestones=milestones, seed=seed)
    assert Recipe.from_json(json.loads(json.dumps(varied.to_json()))) == varied
    assert varied.sampler.prior == prior and varied.optimiser.milestones == tuple(milestones)
    back = varied.replace(sampler=fne.sampler, data__epochs=fne.data.epochs, optimiser=fne.optimiser, seed=fne.seed)
    assert back == fne and len({back, fne, varied}) == 1 + (varied != fne)


def test_variations_are_spelled_with_dots_by_name_or_whole():
    assert itmlab.recipe("fne").replace(**{"sampler.prior": 0.1}) == itmlab.recipe("fne").replace(sampler__prior=0.1)
    assert itmlab.recipe("hardest").replace(memory={"length": 64}).memory == MemorySettings(length=64)
    assert itmlab.recipe("fne").replace(sampler="Softest").sampler == Softest()
    assert itmlab.recipe("fne").replace(sampler={"class": "Hardest", "rank": 2}).sampler == Hardest(rank=2)
    assert itmlab.recipe("info_nce").replace(loss="InfoCMR").loss == InfoCMR()


WRONG = [
    ("fne", {"data.epoch": 3}, "did you mean epochs"),
    ("fne", {"sampler.prior": "low"}, "sampler.prior must be .*'low'"),
    ("fne", {"sampler.prior": 2.0}, "prior"),
    ("fne", {"data.epochs": 0}, "data.epochs must be 1 or more.*got 0"),
    ("fne", {"optimiser.learning_rate": float("inf")}, "a finite number"),
    ("fne", {"optimiser.milestones": [5, "x"]}, r"optimiser.milestones\[1\] must be .*'x'"),
    ("fne", {"loss.reduce": "sum"}, "loss.reduce"),
    ("fne", {"seed": -1}, "seed must be .*-1"),
    ("fne", {"towers": {}}, "no augmentation"),
    ("scan", {"memory": {}}, "compares parts"),
    ("fne", {"tags": itmlab.recipe("tags").tags}, "tags must be null"),
    ("fne", {"adaptive_margin": {"preset": "released"}}, "memory must be null"),
    ("sam", {"adaptive_margin.with_triplet": False, "synthesis": SynHNC()}, "synthesis must be null"),
    ("fne", {"data.crop": [0.5, 1.5]}, "two shares"),
    ("tags", {"tags.generator": "file"}, "generator"),
    ("tags", {"optimiser.warm_up": 1.0}, "warm_up_share"),
]


@pytest.mark.parametrize(("name", "changes", "words"), WRONG)
def test_a_wrong_field_is_named_in_a_variation_and_in_a_file(name, changes, words, tmp_path):
    refused(words, itmlab.recipe(name).replace, **changes)
    plain = itmlab.recipe(name).to_json()
    for path, value in changes.items():
        *parents, field = path.split(".")
        inside = plain
        for parent in parents:
            inside = inside[parent]
        inside[field] = to_plain(value)
    (tmp_path / "recipe.json").write_text(json.dumps(plain))
    refused(words, Recipe.load, tmp_path / "recipe.json")


def nested(depth: int) -> list:
    return [] if depth == 0 else [nested(depth - 1)]


def test_values_too_large_to_show_are_one_short_line():
    for value in (10**5000, nested(500), {"": 10**5000}):
        for field in ("seed", "model", "sampler"):
            refused("^(?=.{,600}$)", Recipe.from_json, {**itmlab.recipe("fne").to_json(), field: value})


COUNTS = {
    "fne": "data.batch_size data.captions_per_image data.accumulate memory.length data.randaugment",
    "tags": "tags.candidates tags.top_k tags.trained_maskings tags.maskings tags.samples tags.hardest",
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_needs_more_memory_than_there_is_is_refused(name):
    for field in COUNTS[name].split():
        value = [10**12, 1] if field == "data.randaugment" else 10**12
        refused(f"{field} must be .*, got", itmlab.recipe(name).replace, **{field: value})


def test_a_grid_is_a_recipe_for_each_combination_by_a_label_that_names_it():
    grid = itmlab.recipe("fne").grid(sampler__prior=[1e-4, 1e-2], memory__length=[256, 2048])
    assert grid["prior=0.01, length=256"] == itmlab.recipe("fne").replace(sampler__prior=0.01, memory__length=256)
    assert len(grid) == 4
    margins = itmlab.recipe("fne").grid(loss__margin=[0.1, 0.2], sampler__margin=[0.1, 0.2])
    assert "loss.margin=0.1, sampler.margin=0.2" in margins, "a last name that two share is written in full"
    refused("must be a list", itmlab.recipe("fne").grid, sampler="Hardest")
    refused("prior=2.0, length=5: ", itmlab.recipe("fne").grid, sampler__prior=[2.0, 0.1], memory__length=[5])


ALIGNED = {"start": "aligned"}
IDLE = [
    ("fne", ALIGNED, {"data.epochs": 3}),
    ("fne", ALIGNED, {"warm_up.temperature": 0.1}),
    ("fne", {}, {"optimiser.milestones": (3,)}),
    ("fne", {}, {"data.regions": "detector"}),
    ("tags", {}, {"data.warm_up_epochs": 2}),
    ("uniter", {}, {"tags.hardest": 3}),
    ("tags", {}, {"tags.alignment": 0.1}),
    ("fne", {"on": "regions", **ALIGNED}, {"data.validate_every": 2}),
    ("sam", {}, {"adaptive_margin.with_triplet": False, "sampler": "Hardest"}),
]


@pytest.mark.parametrize(("name", "axes", "changes"), IDLE)
def test_an_option_without_effect_is_refused(name, axes, changes):
    refused("has no effect", itmlab.recipe(name, **axes).replace, **changes)


def test_an_option_that_gets_its_effect_by_another_is_accepted():
    fne = itmlab.recipe("fne", **ALIGNED)
    assert fne.replace(data__epochs=3, data__steps=None).data.epochs == 3
    assert fne.replace(optimiser__milestones=(3,), optimiser__schedule="step").optimiser.milestones == (3,)
    assert fne.replace(optimiser__milestones=(), data__warm_up_epochs=0) == fne
