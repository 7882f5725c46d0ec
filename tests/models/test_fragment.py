"""Late interaction encodes each image and caption alone, and scores pairs alike in any order and number."""

import pytest
import torch

from itmlab.models import LateInteraction
from tests.models.fragments import CAPTIONS, CLOSE, KINDS, RELEASED, build, direction, encoded, parts, records


@pytest.fixture(params=[*KINDS, *RELEASED])
def model(request) -> LateInteraction:
    return build(request.param)


def test_features_and_scores_do_not_depend_on_the_batch_or_the_padding(model):
    images, captions = encoded(model)
    together = model.similarity(images, captions)
    regions, tokens = model.prepare_images(records([3, 5, 1, 4])), model.prepare_captions(CAPTIONS)
    regions["regions"][~regions["region_mask"]] = 3.0
    tokens["input_ids"][tokens["attention_mask"] == 0] = 7
    torch.testing.assert_close(model.similarity(*model(regions, tokens)), together, **CLOSE)
    for row, record in enumerate(records([3, 5, 1, 4])):
        with torch.no_grad():
            image = model.encode_images(model.prepare_images([record]))
            caption = model.encode_captions(model.prepare_captions([CAPTIONS[row]]))
        torch.testing.assert_close(image.pooled[0], images.pooled[row], **CLOSE)
        torch.testing.assert_close(caption.pooled[0], captions.pooled[row], **CLOSE)
        torch.testing.assert_close(parts(image, 0), parts(images, row), **CLOSE)
        torch.testing.assert_close(parts(caption, 0), parts(captions, row), **CLOSE)
        torch.testing.assert_close(model.similarity(image, captions)[0], together[row], **CLOSE)
        torch.testing.assert_close(model.similarity(images, caption)[:, 0], together[:, row], **CLOSE)


@pytest.fixture
def compare_at_once(model, monkeypatch):
    """Return a function that sets how many pairs are compared at a time."""
    return lambda pairs: model.matcher and monkeypatch.setattr(type(model.matcher), "pairs_at_once", pairs)


def test_chunks_add_up_to_the_whole(model, compare_at_once):
    images, captions = encoded(model, [3, 5, 1, 4, 2, 9, 5], [*CAPTIONS, "a cat", "a tree", "dog"])
    compare_at_once(10**6)
    at_once = model.similarity(images, captions)
    for chunk in (1, 5):
        compare_at_once(chunk)
        torch.testing.assert_close(model.similarity(images, captions), at_once, rtol=1e-5, atol=1e-6)


def test_gradients_reach_every_weight_that_scores_through_any_chunk(model, compare_at_once):
    model.train()
    for part in model.modules():  # statistics of batch normalisation are those of a chunk
        part.train(not isinstance(part, torch.nn.BatchNorm1d))
    gradients, names = [], [name for name, _ in model.named_parameters()]
    for chunk in (1000, 3):
        model.zero_grad()
        compare_at_once(chunk)
        images = model.encode_images(model.prepare_images(records([3, 5, 1, 4])))
        captions = model.encode_captions(model.prepare_captions(CAPTIONS))
        weights = torch.arange(16.0).view(4, 4).cos()
        (model.similarity(images, captions) * weights).sum().backward()
        assert [name for name, weights in model.named_parameters() if weights.grad is not None] == names
        gradients.append([weights.grad.clone() for weights in model.parameters()])
    for at_once, in_chunks in zip(*gradients, strict=True):
        torch.testing.assert_close(at_once, in_chunks, rtol=1e-3, atol=1e-5)


def test_autocast_and_a_saved_model_give_near_and_equal_scores(model, tmp_path):
    exact = model.similarity(*encoded(model))
    with torch.autocast("cpu", torch.bfloat16):
        rough = model.similarity(*encoded(model))
    assert rough.dtype == torch.float32 and (rough - exact).abs().max() < 0.05
    model.save(tmp_path)
    again = LateInteraction.load(tmp_path)
    assert again.config == model.config and not again.training
    assert torch.equal(again.similarity(*encoded(again)), exact)


def test_pooled_features_are_enough_where_pooled_features_are_compared():
    for kind in ("vsrn", "vsepp"):
        images, captions = encoded(build(kind))
        scores = build(kind).similarity(images.pooled, captions.pooled)
        torch.testing.assert_close(scores, images.pooled @ captions.pooled.T)


def test_vse_takes_the_mean_region_and_the_last_state():
    model = build("vsepp")
    images, captions = encoded(model)
    mean = model.images.map(records([3, 5, 1, 4])[1].features.mean(0))
    torch.testing.assert_close(images.pooled[1], mean / mean.norm(), **CLOSE)
    ids = model.prepare_captions([CAPTIONS[0]])["input_ids"]
    last = model.captions.network(model.captions.embedding(ids))[1][0, 0]
    torch.testing.assert_close(captions.pooled[0], last / last.norm(), **CLOSE)


def test_graph_and_reading_of_vsrn_are_the_papers_region_by_region():
    model = build("vsrn")
    images, _ = encoded(model)
    for row, record in enumerate(records([3, 5, 1, 4])):
        regions = [direction(model.images.map(feature)) for feature in record.features]
        for layer in model.images.graph:
            changed = []
            for region in regions:  # W_r Σ_j R_ij W_g v_j + v_i
                sums = sum((layer.one(region) @ layer.other(other)) * layer.value(other) for other in regions)
                changed.append(layer.residual(sums / len(regions)) + region)
            regions = changed
        regions = [direction(region) for region in regions]
        state = torch.zeros(16)
        network = model.images.network
        for region in regions:  # the textbook's gated recurrent unit
            r, z, n = (network.weight_ih_l0 @ region + network.bias_ih_l0).chunk(3)
            hr, hz, hn = (network.weight_hh_l0 @ state + network.bias_hh_l0).chunk(3)
            reset, update = torch.sigmoid(r + hr), torch.sigmoid(z + hz)
            state = (1 - update) * torch.tanh(n + reset * hn) + update * state
        torch.testing.assert_close(images.pooled[row], direction(state), **CLOSE)
        torch.testing.assert_close(images.local[row][images.mask[row]], torch.stack(regions), **CLOSE)
