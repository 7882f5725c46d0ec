"""The named recipes carry the papers' values, and differ from each other in what their names say."""

import json
from dataclasses import fields
from functools import reduce
from itertools import product

import pytest

import itmlab
from itmlab.errors import ItmlabError
from itmlab.losses import LossWeights
from itmlab.train.named import PRESETS, SIZES, STARTS, VIEWS, names
from itmlab.train.recipes import Recipe
from tests.refusals import refused

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
    ("itcontrast", "base", "paper"): {  # Wu et al. (2023), Sec. 4.1
        **{"data.epochs": 20, "data.batch_size": 128, "optimiser.learning_rate": 2e-5, "synthesis.sigma": 0.1},
        **{"loss.temperature": 0.05, "loss.noise": 128, "model.form": "oscar"},
    },
    ("tags", "base", "paper"): {  # Fan et al. (2022), A.1 and Table 5
        **{"optimiser.learning_rate": 5e-5, "data.steps": 5000, "optimiser.warm_up_share": 0.1, "start": None},
        **{"tags.candidates": 399, "tags.top_k": 31, "tags.hardest": 31, "tags.maskings": 20, "tags.samples": 20},
        **{"tags.temperature": 1.5, "tags.margin": 0.2, "tags.probability": 0.15, "tags.trained_maskings": 20},
        "tags.weights": LossWeights(1.0, 0.1, 1e-3, 0.0, 0.0),
    },
    ("tags_dc", "large", "paper"): {
        **{"optimiser.learning_rate": 1e-5, "data.steps": 1500, "tags.hardest": 23},
        "tags.weights": LossWeights(1.0, 0.1, 5e-4, 5e-4, 5e-4),
    },
    ("tags", "base", "released"): {  # LibertFan/TAGS, train_pnsgd_base_flickr.sh
        **{"tags.temperature": 2.0, "tags.weights": LossWeights(1.0, 0.05, 5e-4, 0.0, 0.0), "tags.filtered": False},
        **{"tags.word_means": "captions", "tags.correction": "masked", "tags.kept_weight": 0.11},
    },
}


def of(name: str, size: str, preset: str = "paper", **axes: str) -> Recipe:
    return itmlab.recipe(name, size=size, preset=preset, **axes)


@pytest.mark.parametrize("named", PAPERS, ids=" ".join)
def test_a_recipe_has_the_values_of_its_paper_or_its_code(named):
    recipe = of(*named)
    assert {path: reduce(getattr, path.split("."), recipe) for path in PAPERS[named]} == PAPERS[named]


def test_every_combination_is_a_recipe_that_survives_json_or_one_clear_line():
    tiny, count = set(), 0
    for name, on, start, size, preset in product(names(), (None, *VIEWS), (None, *STARTS), SIZES, PRESETS):
        try:
            recipe = itmlab.recipe(name, on=on, start=start, size=size, preset=preset)
        except ItmlabError as error:
            assert "\n" not in str(error) and error.remedy
            continue
        count += 1
        assert recipe.name == name and Recipe.from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
        tiny |= {name} if (on, start, size) == (None, None, "tiny") else set()
    assert count > 300 and tiny == set(names())


def differing(first: Recipe, second: Recipe) -> set[str]:
    return {item.name for item in fields(first) if getattr(first, item.name) != getattr(second, item.name)} - {"name"}


@pytest.mark.parametrize("size", SIZES)
def test_a_variation_differs_in_one_part(size):
    encoders = ("vsepp", "scan", "sgraf", "vsrn", "oscar")
    for name, other, parts in (
        ("hardest_memory", "fne", {"sampler"}),
        ("fne_without_memory", "fne", {"memory"}),
        ("oracle_true_negatives", "hardest_memory", {"sampler"}),
        ("sam", "hardest", {"adaptive_margin"}),
        ("wm", "tags", {"tags"}),
        ("itcontrast", "oscar+syn+info", set()),
        *((f"{encoder}+syn", encoder, {"synthesis"}) for encoder in encoders),
        *((f"{encoder}+info", encoder, {"loss"}) for encoder in encoders),
        ("scan+features", "scan", {"global_features"}),
    ):
        assert differing(of(name, size), of(other, size)) == parts
    if size == "tiny":
        assert differing(of("fne", size), of("fne", size, on="regions")) == {"model", "data", "start"}


def test_tiny_recipes_start_from_the_stage_before():
    starts = {"tags_dc": "tags", "vit_dual_encoder": "towers", "fne": "towers"}
    for name, start in starts.items():
        assert of(name, "tiny").start == start and of(start, "tiny").model == of(name, "tiny").model
    assert of("uniter", "tiny").start == "uniter_pretraining" and of("fne", "tiny", start="scratch").start is None
    assert of("fne", "tiny", start="aligned").start == "vit_dual_encoder"
    assert of("fne", "tiny", on="regions", start="aligned").start == "region_dual_encoder"


@pytest.mark.parametrize(
    ("name", "axes", "words"),
    [
        ("fnee", {}, r"did you mean fne\?"),
        ("fne", {"size": "bass"}, r"did you mean base\?"),
        ("fne", {"on": "region"}, r"did you mean regions\?"),
        ("scan+sin", {}, r"did you mean syn\?"),
        ("triplet", {"size": "base", "preset": "released"}, "triplet has no recipe"),
        ("scan", {"on": "pictures"}, "scan has no recipe on pictures"),
        ("tags", {"start": "aligned"}, "tags has no recipe"),
    ],
)
def test_an_impossible_combination_is_refused_in_one_line(name, axes, words):
    refused(words, itmlab.recipe, name, **axes)
