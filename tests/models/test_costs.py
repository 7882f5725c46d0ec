"""What models cost by shapes alone, beside the same counted on real tensors and by the transformer's equations."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from itmlab import recipes
from itmlab.models import CrossEncoderConfig, DualEncoderConfig, OscarDualEncoderConfig, build_model
from itmlab.models.costs import Cost, caption_inputs, image_inputs, outlined, unit_costs, without_weights
from tests.refusals import refused
from tests.training.world import MICRO

CAPTIONS = ["a dog runs", "a cat sleeps on the sofa"] * 3


def test_parameters_are_those_of_a_model_that_is_built():
    built = build_model(MICRO, CAPTIONS, seed=0)
    known = replace(MICRO, vocabulary_size=built.config.vocabulary_size)
    found = unit_costs(known, 8, 8, 36, False)
    assert found["parameters"] == sum(weight.numel() for weight in built.parameters())


def test_the_towers_of_the_papers_have_their_published_sizes():
    """ViT-B/16 without its pooler 85.8 million, BERT-base without 108.9, and two maps of 768 × 768."""
    found = unit_costs(without_weights(DualEncoderConfig.base()), 16, 32, 36, False)
    assert found["parameters"] == 85_798_656 + 108_891_648 + 2 * (768 * 768 + 768)


def test_shapes_cost_what_real_tensors_do():
    """With eager attention, which keeps its maps on every device."""
    wide = {"image_hidden": 64, "image_layers": 4, "image_intermediate": 256}
    config = replace(MICRO, attention="eager", **wide)
    shapes, model = unit_costs(config, 8, 8, 36, False), outlined(config).train()
    own = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    for unit, call in {
        "image": lambda: model.encode_images(image_inputs(config, 2, 36)),
        "caption": lambda: model.encode_captions(caption_inputs(2, 8)),
    }.items():
        kept = {}

        def keep(tensor, kept=kept):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                kept[storage.data_ptr()] = storage
            return tensor

        with FlopCounterMode(display=False) as forward, torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
            out = call()
        with FlopCounterMode(display=False) as backward:
            out.pooled.sum().backward()
        assert forward.get_total_flops() == 2 * shapes[unit].operations
        # no gradient with respect to the pictures themselves: a little less than twice
        assert backward.get_total_flops() == pytest.approx(2 * forward.get_total_flops(), rel=0.25)
        assert sum(one.nbytes() for one in kept.values()) == pytest.approx(2 * shapes[unit].kept, rel=0.02)


def test_a_transformer_costs_what_its_equations_say():
    """A layer of n positions: 4 maps h → h, two to and from the inner width f, and 2 n² h of attention twice."""
    config, pieces, regions = CrossEncoderConfig.base(), 16, 36
    found = unit_costs(config, pieces, 32, regions, True)
    n, h, f = pieces + regions, config.hidden, config.intermediate
    layer = 2 * n * (4 * h * h + 2 * h * f) + 2 * (2 * n * n * h)
    assert found["trunk"].operations == pytest.approx(config.layers * layer + 2 * h * h, rel=1e-3)
    assert found["pair"].operations < found["trunk"].operations  # the last layer answers at one position
    assert found["word"].operations == 2 * (h * h + h * config.vocabulary_size)


def test_bfloat16_keeps_between_half_and_all_of_it():
    full, low = (unit_costs(CrossEncoderConfig.tiny(), 8, 8, 36, each)["pair"] for each in (False, True))
    assert full.operations == low.operations and low.low and not full.low
    assert 0.5 * full.kept <= low.kept < full.kept


@pytest.mark.parametrize("name", ["scan", "sgraf", "vsrn", "vsepp", "oscar", "oscar_sgraf", "uniter", "triplet"])
def test_every_kind_of_model_is_counted(name):
    found = unit_costs(recipes.get(name).model, 8, 8, 6, True)
    compared = {"scan", "sgraf", "oscar_sgraf"}
    assert ("matching" in found) == (name in compared) and ("pair" in found) == (name == "uniter")
    assert all(cost.operations > 0 and cost.kept > 0 for cost in found.values() if isinstance(cost, Cost))
    assert found.get("matching", found.get("pair", found.get("caption"))).low == (
        name not in compared | {"vsrn", "vsepp"}
    )


def test_tags_of_regions_are_read_beside_them():
    oscar = OscarDualEncoderConfig(**CrossEncoderConfig.tiny("oscar", "regions").to_dict())
    costs = {tags: unit_costs(replace(oscar, object_tags=tags), 8, 8, 6, False)["image"] for tags in (True, False)}
    assert costs[True].operations == pytest.approx(2 * costs[False].operations, rel=0.3)


def test_numbers_of_the_caller_are_left_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    unit_costs(recipes.get("scan").model, 5, 6, 7, False)
    assert torch.equal(torch.get_rng_state(), before)


def test_clip_is_not_known_without_its_checkpoint():
    refused("in its checkpoint", without_weights, DualEncoderConfig.clip())
