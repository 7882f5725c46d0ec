"""The named recipes carry the papers' values, and differ from each other in what their names say."""

import json
from dataclasses import fields
from functools import reduce

import pytest

from itmlab import recipes
from itmlab.losses import LossWeights
from itmlab.recipes.recipe import Recipe
from itmlab.runs.checkpoint import shipped_directory, shipped_names
from itmlab.synthesis import SynHNC
from tests.refusals import refused

MATCHER = {"data.batch_size": 128, "loss.margin": 0.2, "optimiser.kind": "adam", "optimiser.learning_rate": 2e-4}
TAGS = {"candidates": 399, "top_k": 31, "maskings": 20, "samples": 20, "temperature": 1.5, "margin": 0.2}
TAGS |= {"probability": 0.15, "trained_maskings": 20, "matching": "triplet", "masking": "phrase", "correction": "all"}
TAGS = {f"tags.{name}": value for name, value in TAGS.items()} | {"optimiser.warm_up_share": 0.1, "start": None}
WEIGHTS = {  # Table 5 of TAGS-DC: λ of what is retrieved, masked, synthetic, discriminated and corrected
    ("tags", "base"): (1.0, 0.1, 1e-3, 0.0, 0.0),
    ("tags_dc", "base"): (1.0, 0.1, 1e-3, 1e-3, 1e-3),
    ("tags", "large"): (1.0, 0.1, 5e-4, 0.0, 0.0),
    ("tags_dc", "large"): (1.0, 0.1, 5e-4, 5e-4, 5e-4),
    ("tags+coco", "base"): (1.0, 0.05, 1e-4, 0.0, 0.0),
    ("tags_dc+coco", "base"): (1.0, 0.05, 1e-4, 5e-4, 5e-4),
    ("tags_dc+coco", "large"): (1.0, 0.05, 5e-4, 5e-4, 5e-4),
}
SCHEDULES = {  # TAGS-DC, appendix A.1: learning rate, steps, how many made negatives are trained on
    ("tags", "base"): (5e-5, 5000, 31),
    ("tags", "large"): (4e-5, 5000, 23),
    ("tags_dc", "base"): (1e-5, 1500, 31),
    ("tags_dc", "large"): (1e-5, 1500, 23),
    ("tags+coco", "large"): (4e-5, 5000, 23),
}
PAPERS = {
    ("fne", "base", "paper"): {  # Li et al. (2023), Sec. 3 and appendix A.2
        **{"data.batch_size": 32, "data.epochs": 25, "memory.length": 8192, "memory.momentum": 0.995},
        **{"optimiser.kind": "adam", "optimiser.learning_rate": 2e-5, "optimiser.milestones": (5, 15)},
        **{"optimiser.clip": 2, "loss.margin": 0.2, "sampler.preset": "paper", "sampler.prior": 1e-4},
    },
    ("fne", "base", "released"): {  # Train.py, data.py and model.py of LuminosityX/FNE
        **{"data.crop": (0.5, 1.0), "data.flip": 0.5, "data.randaugment": (2, 7), "memory.length": 257 * 32},
        **{"optimiser.precision": "float32", "sampler.preset": "released"},
    },
    ("sam", "base", "paper"): {  # Biten et al. (2022), Sec. 5.4
        **{"adaptive_margin.temperature": 10, "adaptive_margin.negatives": "softest"},
        **{"adaptive_margin.with_triplet": True, "adaptive_margin.ceiling": 1},
    },
    ("sam", "tiny", "released"): {"adaptive_margin.preset": "released", "adaptive_margin.weight": 5.0},
    ("itcontrast", "base", "paper"): {  # Wu et al. (2023), Sec. 4.1
        **{"data.epochs": 20, "data.batch_size": 128, "optimiser.learning_rate": 2e-5, "synthesis.sigma": 0.1},
        **{"loss.temperature": 0.05, "loss.noise": 128, "model.form": "oscar"},
    },
    ("tags", "base", "released"): {  # LibertFan/TAGS, train_pnsgd_base_flickr.sh
        **{"tags.temperature": 2.0, "tags.weights": LossWeights(1.0, 0.05, 5e-4, 0.0, 0.0), "tags.filtered": False},
        **{"tags.word_means": "captions", "tags.correction": "masked", "tags.kept_weight": 0.11},
    },
    ("scan", "base", "paper"): {**MATCHER, "data.epochs": 30, "optimiser.milestones": (15,)},
    ("vsrn", "base", "released"): {**MATCHER, "optimiser.milestones": (10, 20), "model.released": True},
    ("sgraf", "base", "paper"): {**MATCHER, "data.epochs": 40, "optimiser.milestones": (30,)},
    ("saf", "base", "paper"): {**MATCHER, "data.epochs": 30, "optimiser.milestones": (20,)},
    **{
        (*name, "paper"): {"optimiser.learning_rate": rate, "data.steps": steps, "tags.hardest": hardest, **TAGS}
        for name, (rate, steps, hardest) in SCHEDULES.items()
    },
}


@pytest.mark.parametrize("named", PAPERS, ids=" ".join)
def test_a_recipe_has_the_values_of_its_paper_or_its_code(named):
    recipe = recipes.get(*named)
    assert {path: reduce(getattr, path.split("."), recipe) for path in PAPERS[named]} == PAPERS[named]


@pytest.mark.parametrize("named", WEIGHTS, ids=" ".join)
def test_tags_has_the_loss_weights_of_table_5(named):
    assert recipes.get(*named).tags.weights == LossWeights(*WEIGHTS[named])


def test_every_recipe_comes_in_every_size_and_survives_json():
    for name in recipes.names():
        for size in recipes.SIZES:
            recipe = recipes.get(name, size)
            assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    for named in recipes.RELEASED:
        released = recipes.get(*named, preset="released")
        assert Recipe.from_json(json.loads(json.dumps(released.to_json()))) == released


def differing(name: str, other: str, size: str) -> set[str]:
    ours, theirs = recipes.get(name, size), recipes.get(other, size)
    return {item.name for item in fields(ours) if getattr(ours, item.name) != getattr(theirs, item.name)} - {"name"}


@pytest.mark.parametrize("size", ["tiny", "base", "large"])
@pytest.mark.parametrize(
    ("name", "other", "parts"),
    [
        ("hardest_memory", "fne", {"sampler"}),
        ("fne_without_memory", "fne", {"memory"}),
        ("oracle_true_negatives", "hardest_memory", {"sampler"}),
        ("sam", "hardest", {"adaptive_margin"}),
        ("wm", "tags", {"tags"}),
        ("sg+coco", "tags+coco", {"tags"}),
        ("itcontrast", "oscar+syn+info", set()),
        *((f"{encoder}+syn", encoder, {"synthesis"}) for encoder in recipes.ENCODERS),
        *((f"{encoder}+info", encoder, {"loss"}) for encoder in recipes.ENCODERS),
        ("scan+features", "scan", {"global_features"}),
    ],
)
def test_a_variation_differs_in_one_part(name, other, parts, size):
    assert differing(name, other, size) == parts


def test_synthesis_of_itcontrast_passes_gradients():
    assert recipes.get("scan+syn").synthesis == SynHNC(detach=False)


def test_tiny_recipes_start_from_the_stage_before():
    starts = {
        "uniter": "uniter_pretraining",
        "tags": "uniter_pretraining",
        "tags_dc": "tags",
        "fne": "vit_dual_encoder",
    }
    starts |= {"uniter_pretraining": "region_dual_encoder", "vit_dual_encoder": "towers", "towers": None}
    starts |= {"fne+regions": "region_dual_encoder", "fne+scratch": None, "itcontrast": "region_dual_encoder"}
    for name, start in starts.items():
        recipe = recipes.get(name)
        assert recipe.start == start
        if start and name != "itcontrast" and name != "uniter_pretraining":
            assert recipes.get(start).model == recipe.model


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_files_are_read_and_written_unchanged(name):
    stored = json.loads((shipped_directory(name) / "recipe.json").read_text())
    config = json.loads((shipped_directory(name) / "config.json").read_text())
    recipe = Recipe.from_json(stored)
    assert recipe.to_json() == stored and type(recipe.model).from_dict(config).to_dict() == config


def test_an_unknown_name_size_or_preset_is_refused():
    refused(r"did you mean fne\?", recipes.get, "fnee")
    refused(r"did you mean base\?", recipes.get, "fne", "bass")
    refused("no preset 'released' of triplet", recipes.get, "triplet", "base", preset="released")
    with pytest.raises(AttributeError, match="no recipe 'tripled'"):
        _ = recipes.tripled
