"""The named recipes carry the paper's values, and differ from each other in what their names say."""

import dataclasses

import pytest

from itmlab import recipes
from itmlab.errors import ItmlabError
from itmlab.samplers import FalseNegativeEliminating, Hardest
from itmlab.training.recipe import AdaptiveMarginSettings, Recipe


def test_fne_at_base_has_the_values_of_the_paper():
    """Sec. 3 and appendix A.2 of Li et al. 2023."""
    base = recipes.fne.sized("base")
    assert "vit-base-patch16" in base.model.image_pretrained and "bert-base-uncased" in base.model.text_pretrained
    assert (base.data.batch_size, base.data.epochs, base.data.warm_up_epochs) == (32, 25, 0)
    assert (base.memory.length, base.memory.momentum) == (8192, 0.995)
    optimiser = base.optimiser
    assert (optimiser.kind, optimiser.learning_rate, optimiser.schedule) == ("adam", 2e-5, "step")
    assert (optimiser.milestones, optimiser.clip, optimiser.weight_decay) == ((5, 15), 2.0, 0.0)
    assert base.loss.margin == 0.2
    options = base.sampler.build().options
    assert (options["prior"], options["threshold"], options["sharpness"]) == (1e-4, 0.01, 0.5)


def test_every_recipe_comes_in_every_size_and_keeps_its_method():
    for name in recipes.names():
        tiny = getattr(recipes, name)
        assert (tiny.name, tiny.size) == (name, "tiny")
        for size in recipes.SIZES:
            sized = tiny.sized(size)
            assert sized == recipes.get(name, size=size)
            kinds = [one.sampler and one.sampler.kind for one in (sized, tiny)]
            assert kinds[0] == kinds[1] and sized.loss == tiny.loss
            assert sized.adaptive_margin == tiny.adaptive_margin
            assert (sized.memory is None) == (tiny.memory is None)
            assert sized.sized("tiny") == tiny


def test_the_ablations_of_table_3_differ_from_fne_in_one_thing():
    def differing(name):
        other = recipes.get(name)
        return [
            field.name
            for field in dataclasses.fields(other)
            if getattr(other, field.name) != getattr(recipes.fne, field.name)
        ]

    assert differing("hardest_memory") == ["name", "sampler"]
    assert differing("fne_without_memory") == ["name", "memory"]
    assert isinstance(recipes.hardest_memory.sampler.build(), Hardest)
    assert isinstance(recipes.fne.sampler.build(), FalseNegativeEliminating)


def test_sam_is_its_baseline_with_an_adaptive_margin():
    """SAM, Sec. 5.4: farthest negatives beside the original triplet, τ = 10; the ablations are Tables 4 and 5."""
    assert recipes.sam.replace(adaptive_margin=None, name="hardest") == recipes.hardest
    margin = recipes.sam.sized("base").adaptive_margin
    assert (margin.temperature, margin.negatives, margin.with_triplet, margin.ceiling) == (10, "softest", True, 1)
    for temperature in (3, 5, 10):
        for negatives in ("softest", "hardest", "random"):
            for with_triplet in (True, False):
                changes = {"temperature": temperature, "negatives": negatives, "with_triplet": with_triplet}
                row = recipes.sam.replace(**{f"adaptive_margin__{name}": value for name, value in changes.items()})
                assert row.adaptive_margin == AdaptiveMarginSettings(**changes)


def test_recipes_of_before_adaptive_margins_read_as_they_did():
    for name in recipes.names():
        recipe = recipes.get(name)
        written = recipe.to_json()
        assert ("adaptive_margin" in written) == (recipe.adaptive_margin is not None)
        assert Recipe.from_json(written) == recipe


def test_an_unknown_recipe_or_size_is_one_line():
    with pytest.raises(ItmlabError, match=r"no recipe 'fnee' — did you mean fne\?"):
        recipes.get("fnee")
    with pytest.raises(ItmlabError, match=r"no size 'huge'"):
        recipes.get("fne", size="huge")
    with pytest.raises(ItmlabError, match=r"no size 'bass' — did you mean base\?"):
        recipes.fne.sized("bass")
    with pytest.raises(AttributeError, match="no recipe 'tripled'"):
        _ = recipes.tripled


def test_tiny_fne_is_tuned_to_its_world_and_base_carries_the_papers_values() -> None:
    assert recipes.fne.sampler.options == {"prior": 0.01, "preset": "released"}
    assert recipes.fne.sized("base").sampler == recipes.get("fne", "base").sampler
    assert recipes.get("fne", "base").sampler.options == {}  # p = 1/10000, λ = 0.01, a = 0.5: the sampler's defaults
    changed = recipes.fne.replace(sampler__prior=0.5)
    assert changed.sized("base").sampler == changed.sampler
