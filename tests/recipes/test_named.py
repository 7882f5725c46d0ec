"""The named recipes carry the paper's values, and differ from each other in what their names say."""

import dataclasses
import json
from dataclasses import replace

import pytest

from itmlab import recipes
from itmlab.data.batches import Augmentation
from itmlab.errors import ItmlabError
from itmlab.losses import LossWeights
from itmlab.models import DualEncoderConfig, LateInteractionConfig
from itmlab.recipes.recipe import Recipe
from itmlab.recipes.settings import AdaptiveMarginSettings, LossSettings, SamplerSettings, SynthesisSettings
from itmlab.runs.checkpoint import shipped_directory, shipped_names
from itmlab.samplers import FalseNegativeEliminating, Hardest


def test_fne_at_base_has_the_values_of_the_paper():
    """Sec. 3 and appendix A.2 of Li et al. 2023."""
    base = recipes.fne.sized("base")
    assert "vit-base-patch16" in base.model.image_pretrained and "bert-base-uncased" in base.model.text_pretrained
    assert (base.data.batch_size, base.data.epochs, base.data.warm_up_epochs) == (32, 25, 0)
    assert (base.memory.length, base.memory.momentum) == (8192, 0.995)
    optimiser = base.optimiser
    assert (optimiser.kind, optimiser.learning_rate, optimiser.schedule) == ("adam", 2e-5, "step")
    assert (optimiser.milestones, optimiser.weight_decay) == ((5, 15), 0.0)
    assert optimiser.clip == 2, "the released code divides its hinges by the batch before it clips"
    assert base.loss.margin == 0.2
    options = base.sampler.build().options
    assert (options["prior"], options["threshold"], options["sharpness"]) == (1e-4, 0.01, 0.5)


def test_fne_at_base_as_released_has_the_values_of_the_code():
    """Train.py, data.py and model.py of LuminosityX/FNE; what is in its loss is the sampler's preset."""
    paper, released = (recipes.get("fne", "base", preset=preset) for preset in ("paper", "released"))
    assert paper == recipes.fne.sized("base") and paper.data.augmentation is None
    assert released.model == DualEncoderConfig.base("released") and released.memory.length == 8224 == 257 * 32
    assert released.data.augmentation == Augmentation(crop=(0.5, 1.0), flip=0.5, randaugment=(2, 7))
    assert released.optimiser.precision == "float32" and released.sampler.options == {"preset": "released"}
    same = {"model": paper.model, "memory": paper.memory, "sampler": paper.sampler, "optimiser__precision": "auto"}
    assert released.replace(**same, data__crop=None, data__flip=0, data__randaugment=None) == paper
    assert Recipe.from_json(json.loads(json.dumps(released.to_json()))) == released
    for name, size in (("fne", "tiny"), ("triplet", "base")):
        with pytest.raises(ItmlabError, match=f"no preset 'released' of {name} in size {size}"):
            recipes.get(name, size, preset="released")


def test_every_recipe_comes_in_every_size_and_keeps_its_method():
    for name in recipes.names():
        tiny = getattr(recipes, name)
        assert (tiny.name, tiny.size) == (name, "tiny")
        for size in recipes.SIZES:
            sized = tiny.sized(size)
            assert sized == recipes.get(name, size=size)
            kinds = [one.sampler and one.sampler.kind for one in (sized, tiny)]
            assert kinds[0] == kinds[1]
            assert (sized.loss and sized.loss.kind) == (tiny.loss and tiny.loss.kind)
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


def test_the_oracles_are_the_hardest_of_the_memory_by_the_worlds_truth():
    for name, take in (("oracle_true_negatives", "true_negatives"), ("oracle_false_negatives", "false_negatives")):
        for size in recipes.SIZES:
            oracle = recipes.get(name, size)
            assert oracle.sampler.build().take == take
            assert oracle.replace(name="hardest_memory", sampler=SamplerSettings("hardest")) == recipes.get(
                "hardest_memory", size
            )
    assert recipes.info_nce.data == recipes.fne.data and recipes.info_nce.optimiser == recipes.fne.optimiser


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


def test_recipes_of_before_a_field_came_read_and_are_written_as_they_were():
    later = ("adaptive_margin", "tags", "start", "extra_negatives", "synthesis")
    for name in recipes.names():
        recipe = recipes.get(name)
        written = recipe.to_json()
        assert [field for field in later if field in written] == [
            one for one in later if getattr(recipe, one) is not None
        ]
        assert Recipe.from_json(written) == recipe
    assert not {"crop", "flip", "randaugment"} & set(recipes.fne.sized("base").to_json()["data"])
    scratch = recipes.get("fne+scratch")
    for part in ("steps", "validation", "regions", "edition"):
        assert part not in scratch.to_json()["data"] and part in recipes.tags.to_json()["data"]
    for part in ("warm_up_share", "betas"):
        assert part not in scratch.to_json()["optimiser"] and part in recipes.tags.to_json()["optimiser"]


def test_shipped_recipes_keep_their_bytes(tmp_path):
    for name in shipped_names():
        path = shipped_directory(name) / "recipe.json"
        Recipe.load(path).save(tmp_path / "recipe.json")
        assert (tmp_path / "recipe.json").read_bytes() == path.read_bytes(), name


@pytest.mark.parametrize(("size", "kept", "synthetic"), [("base", 31, 1e-3), ("large", 23, 5e-4)])
def test_tags_dc_at_base_and_large_has_the_values_of_the_paper(size, kept, synthetic):
    """TAGS-DC, appendix A.1 and Table 5 (Flickr30K)."""
    first, second = recipes.tags.sized(size), recipes.tags_dc.sized(size)
    for recipe in (first, second):
        settings = recipe.tags
        assert (settings.candidates, settings.top_k, settings.maskings, settings.samples) == (399, 31, 20, 20)
        assert (settings.hardest, settings.temperature, settings.margin, settings.probability) == (kept, 1.5, 0.2, 0.15)
        assert settings.trained_maskings == 20, "Algorithm 1, line 5: each of the K maskings"
        assert (settings.matching, settings.masking, settings.generator) == ("triplet", "phrase", "dynamic")
        assert (settings.correction, settings.replaced_weight, settings.kept_weight) == ("all", 1.0, 1.0)
        assert recipe.optimiser.betas == (0.9, 0.98) and recipe.optimiser.schedule == "linear"
        assert recipe.optimiser.epsilon == 1e-6 and recipe.data.batch_size * recipe.data.accumulate >= 128
        assert recipe.optimiser.warm_up_share == 0.1 and recipe.model.dropout == 0.1 and recipe.start is None
    assert first.tags.weights == LossWeights(1.0, 0.1, synthetic, 0.0, 0.0)
    assert second.tags.weights == LossWeights(1.0, 0.1, synthetic, synthetic, synthetic)
    assert (first.data.steps, second.data.steps) == (5000, 1500)
    assert first.optimiser.learning_rate == {"base": 5e-5, "large": 4e-5}[size]
    assert second.optimiser.learning_rate == 1e-5
    assert (first.model.layers, first.model.hidden) == {"base": (12, 768), "large": (24, 1024)}[size]


@pytest.mark.parametrize(("size", "kept", "synthetic", "rate"), [("base", 31, 1e-4, 5e-5), ("large", 23, 5e-4, 4e-5)])
def test_tags_on_coco_has_the_other_half_of_table_5(size, kept, synthetic, rate):
    first, second = recipes.get("tags+coco", size), recipes.get("tags_dc+coco", size)
    assert first.tags.weights == LossWeights(1.0, 0.05, synthetic, 0.0, 0.0)
    assert second.tags.weights == LossWeights(1.0, 0.05, synthetic, 5e-4, 5e-4)
    assert (first.optimiser.learning_rate, second.optimiser.learning_rate) == (rate, 1e-5)
    for name in ("tags", "tags_dc"):
        flickr, coco = recipes.get(name, size), recipes.get(f"{name}+coco", size)
        assert coco.tags.hardest == kept and coco.tags.temperature == 1.5
        assert coco.replace(name=name, tags__weights=flickr.tags.weights, data=flickr.data) == flickr
        assert recipes.get(f"{name}+coco").replace(name=name) == recipes.get(name), "in tiny there is one world"


def test_the_released_scripts_of_tags_by_name():
    """LibertFan/TAGS, `run_cmds/train_pnsgd_base_flickr.sh` and `train_pnsgd2_large_coco.sh`; METHODS 3.7."""
    first = recipes.get("tags", "base", preset="released")
    assert first.tags.weights == LossWeights(1.0, 0.05, 5e-4, 0.0, 0.0) and first.tags.temperature == 2.0
    assert first.data.batch_size * first.data.accumulate == 16 * 8
    second = recipes.get("tags_dc+coco", "large", preset="released")
    assert second.tags.weights == LossWeights(1.0, 0.05, 1e-4, 5e-4, 5e-4) and second.tags.temperature == 1.5
    assert second.data.batch_size * second.data.accumulate == 32 * 8
    assert (second.tags.top_k, second.tags.hardest) == (31, 31)
    for recipe in (first, second):
        assert (recipe.tags.word_means, recipe.tags.correction, recipe.tags.kept_weight) == ("captions", "masked", 0.11)
        assert not recipe.tags.filtered
        assert Recipe.from_json(recipe.to_json()) == recipe


@pytest.mark.parametrize("size", ["tiny", "base", "large"])
@pytest.mark.parametrize("data", ["", "+coco"])
def test_the_ablations_of_tags_differ_from_it_in_one_thing(data, size):
    tags = recipes.get(f"tags{data}", size)
    assert recipes.get(f"wm{data}", size) == tags.replace(name=f"wm{data}", tags__masking="word")
    assert recipes.get(f"sg{data}", size) == tags.replace(name=f"sg{data}", tags__generator="static")
    assert recipes.get("uniter", size).tags.weights.wanted == ("retrieved",)


def test_the_tiny_stages_begin_where_the_ones_before_end():
    starts = {name: getattr(recipes, name).start for name in ("uniter", "tags", "wm", "sg", "tags_dc")}
    assert starts == {**dict.fromkeys(("uniter", "tags", "wm", "sg"), "uniter_pretraining"), "tags_dc": "tags"}
    assert recipes.uniter_pretraining.start == "region_dual_encoder" and recipes.region_dual_encoder.start is None
    assert (recipes.vit_dual_encoder.start, recipes.towers.start) == ("towers", None)
    assert len({getattr(recipes, name).model for name in (*starts, "uniter_pretraining")}) == 1


def test_a_cross_encoder_recipe_of_a_name_of_ones_own_keeps_what_was_changed():
    changed = recipes.tags.replace(name="mine", tags__temperature=1.0)
    assert changed.sized("base").tags == changed.tags and changed.sized("base").model.layers == 12
    named = recipes.tags.replace(tags__temperature=1.0)
    assert named.sized("base").tags.temperature == 1.0


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
    assert recipes.fne.sampler.options == {"prior": 0.1, "preset": "released"}
    assert recipes.get("fne+scratch").sampler.options == {"prior": 0.01, "preset": "released"}
    assert recipes.fne.sized("base").sampler == recipes.get("fne", "base").sampler
    assert recipes.get("fne", "base").sampler.options == {}  # p = 1/10000, λ = 0.01, a = 0.5: the sampler's defaults
    changed = recipes.fne.replace(sampler__prior=0.5)
    assert changed.sized("base").sampler == changed.sampler


def test_itcontrast_at_base_has_the_values_of_the_paper():
    """ITContrast, Sec. 4.1; σ of Eq. 3, τ and Z of Eq. 7."""
    base = recipes.itcontrast.sized("base")
    assert (base.data.epochs, base.data.batch_size, base.optimiser.learning_rate) == (20, 128, 2e-5)
    assert (base.synthesis.sigma, base.loss.kind, base.loss.temperature, base.loss.noise) == (
        0.1,
        "info_cmr",
        0.05,
        128,
    )
    assert (base.model.form, base.model.hidden, base.model.layers) == ("oscar", 768, 12)
    assert base.replace(name="oscar+syn+info") == recipes.get("oscar+syn+info", "base")


@pytest.mark.parametrize("encoder", ["scan", "sgraf", "vsrn", "vsepp", "oscar"])
@pytest.mark.parametrize("size", ["tiny", "base", "large"])
def test_its_parts_go_onto_every_encoder_by_name(encoder, size):
    plain = recipes.get(encoder, size)
    writing = 1 / 128 if encoder == "vsrn" else 0.0  # as released: hinges summed over 128 pairs, writing averaged
    assert plain.loss == LossSettings("max_of_hinges", writing=writing) and plain.synthesis is None
    for parts in ("+syn", "+info", "+syn+info"):
        recipe = recipes.get(encoder + parts, size)
        assert (recipe.synthesis == SynthesisSettings(detach=False)) == ("syn" in parts)
        assert (recipe.loss == LossSettings("info_cmr", writing=writing)) == ("info" in parts)
        assert recipe.replace(name=encoder, loss=plain.loss, synthesis=None) == plain
    if encoder in ("scan", "sgraf"):
        control = recipes.get(f"{encoder}+features", size)
        assert control == plain.replace(name=control.name, loss__global_features=True)
    kinds = {"scan": "scan_t2i", "oscar": None}
    assert getattr(plain.model, "kind", None) == kinds.get(encoder, encoder)


@pytest.mark.parametrize(
    ("encoder", "epochs", "falls"),
    [(name, 30, 15) for name in ("scan", "scan_i2t", "vsrn", "vsepp")]
    + [("sgraf", 40, 30), ("sgr", 40, 30), ("saf", 30, 20)],
)
def test_the_matchers_at_base_have_the_values_of_their_papers(encoder, epochs, falls):
    base = recipes.get(encoder, "base")
    assert (base.data.epochs, base.data.batch_size, base.loss.margin) == (epochs, 128, 0.2)
    optimiser = base.optimiser
    assert (optimiser.kind, optimiser.learning_rate, optimiser.milestones) == ("adam", 2e-4, (falls,))
    assert optimiser.clip == 2 / 128, "2 of hinges summed over the batch, of which ours is the mean"
    assert (base.model.region_dimension, base.model.word_dimension) == (2048, 300)


def test_a_matcher_keeps_what_was_changed_of_its_method_at_every_size():
    for kind in ("scan_i2t", "saf", "sgr"):
        mine = recipes.scan.replace(name="mine", model__kind=kind, model__aggregation="mean").sized("base")
        assert mine.model == LateInteractionConfig.base(kind, aggregation="mean")  # i2t with its own λ: 4 and 5
        assert mine.optimiser == recipes.get(kind, "base").optimiser
    changes = {"lambda_softmax": 4.0, "lambda_lse": 20.0, "batch_norm": True, "dropout": 0.1, "graph_layers": 2}
    for name in ("scan", "scan_i2t", "sgraf"):
        mine = recipes.get(name).replace(**{f"model__{field}": value for field, value in changes.items()})
        for size in ("base", "large", "tiny"):
            assert mine.sized("base").sized(size).model == replace(recipes.get(name, size).model, **changes)
    released = recipes.get("vsrn", "base", preset="released")
    assert released.sized("tiny").sized("base").model == released.model


@pytest.mark.parametrize("size", ["tiny", "base"])
def test_sam_as_released_has_the_values_of_its_readme(size):
    """`--metric_samples soft --metric_div 10 --cider_weight 5` on Flickr30K; COCO's 10 % has values of its own."""
    margin = recipes.get("sam", size, preset="released").adaptive_margin
    assert (margin.preset, margin.negatives, margin.temperature, margin.weight) == ("released", "softest", 10.0, 5.0)
    assert margin.with_triplet and margin.ceiling == 1.0
    paper = recipes.get("sam", size)
    assert recipes.get("sam", size, "released").replace(adaptive_margin=paper.adaptive_margin) == paper


@pytest.mark.parametrize("name", ["scan", "scan_i2t", "sgr", "saf", "vsrn"])
def test_the_released_matchers_are_the_papers_with_a_preset(name):
    paper, released = recipes.get(name, "base"), recipes.get(name, "base", preset="released")
    assert released.model.released and not paper.model.released
    assert released.optimiser.milestones == ((10, 20) if name == "vsrn" else paper.optimiser.milestones)
    assert Recipe.from_json(released.to_json()) == released
    assert released.replace(model=paper.model, optimiser=paper.optimiser) == paper


@pytest.mark.parametrize("size", ["tiny", "base", "large"])
def test_sgraf_on_oscars_features_is_oscar_with_a_matcher_and_sgrafs_loss(size):
    """ITContrast, Tables 1 and 2, "Ours (SGRAF)"."""
    recipe, oscar = recipes.get("oscar_sgraf", size), recipes.get("oscar", size)
    assert recipe.model.matcher == "sgraf" and recipe.loss == LossSettings("max_of_hinges") and not recipe.synthesis
    assert (recipe.start, recipe.optimiser) == (oscar.start, oscar.optimiser)
    plain = replace(recipe.model, matcher=None, similarity_dimension=256, matcher_dropout=0.4)
    assert plain == oscar.model and (size == "tiny" or recipe.data == oscar.data)


def test_names_that_were_published_are_kept_in_files_and_read_with_the_new_ones():
    recipe = recipes.tags
    written = recipe.to_json()
    assert (written["tags"]["drawn"], written["tags"]["kept"]) == (recipe.tags.candidates, recipe.tags.top_k)
    renamed = {**written, "tags": {**written["tags"], "candidates": 7, "top_k": 2}}
    del renamed["tags"]["drawn"], renamed["tags"]["kept"]
    assert Recipe.from_json(renamed) == recipe.replace(tags__drawn=7, tags__kept=2)
    assert Recipe.from_json(renamed) == recipe.replace(tags__candidates=7, tags__top_k=2) != recipe
    assert "deviation" in recipes.fne.to_json()["model"] and Recipe.from_json(recipes.fne.to_json()) == recipes.fne
    config = recipes.fne.model
    assert type(config).from_dict({**config.to_dict(), "std": (0.1, 0.2, 0.3)}).to_dict()["deviation"] == [
        0.1,
        0.2,
        0.3,
    ]


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_recipes_are_read_and_written_as_they_were(name):
    stored = json.loads((shipped_directory(name) / "recipe.json").read_text())
    assert Recipe.from_json(stored).to_json() == stored
    config = json.loads((shipped_directory(name) / "config.json").read_text())
    assert type(Recipe.from_json(stored).model).from_dict(config).to_dict() == config


def test_a_method_on_regions_is_that_method_begun_with_another_encoder_that_sees():
    seeing = recipes.region_dual_encoder
    assert (seeing.data.regions, seeing.data.edition, seeing.start) == ("detector", "rich", None)
    for name in recipes.ON_REGIONS:
        ours, method = recipes.get(name), recipes.get(name.removesuffix("+regions"))
        assert (ours.start, ours.model, ours.data.regions) == ("region_dual_encoder", seeing.model, "detector")
        assert (method.start, method.model) == ("vit_dual_encoder", recipes.vit_dual_encoder.model)
        assert (ours.data.batch_size, ours.data.captions_per_image, ours.data.steps) == (32, 1, 300)
        assert (ours.data.batch_size, ours.data.steps) == (method.data.batch_size, method.data.steps)
        for part in ("loss", "sampler", "memory", "adaptive_margin"):
            assert getattr(ours, part) == getattr(method, part)


def test_a_method_from_scratch_is_that_method_with_a_warm_up_and_nothing_to_begin_with():
    for name in recipes.FROM_RANDOM:
        ours, method = recipes.get(name), recipes.get(name.removesuffix("+scratch"))
        assert ours.start is None and (ours.data.warm_up_epochs, method.data.warm_up_epochs) == (6, 0)
        assert (ours.model, ours.memory, ours.adaptive_margin) == (method.model, method.memory, method.adaptive_margin)
        assert (ours.sampler and ours.sampler.kind) == (method.sampler and method.sampler.kind)
        base, published = recipes.get(name, "base"), recipes.get(method.name, "base")
        assert base.model.image_pretrained is None and base.model.text_pretrained is None
        assert replace(base, name=method.name, model=published.model) == published


def test_every_tiny_recipe_of_pictures_mirrors_them_and_says_in_which_world_it_began():
    for name in recipes.names():
        recipe = recipes.get(name)
        sees = getattr(recipe.model, "visual", "pictures") == "pictures" and recipe.start is not None
        assert not sees or recipe.data.flip == 0.5, name
        assert recipe.start is None or recipe.data.edition == "rich" or name in recipes.CONTRAST, name


def test_the_transformer_that_reads_both_together_begins_with_the_one_that_reads_them_apart():
    sizes = replace(recipes.region_dual_encoder.model, dropout=0.0).to_dict()
    assert recipes.uniter_pretraining.model.to_dict().items() <= sizes.items()
