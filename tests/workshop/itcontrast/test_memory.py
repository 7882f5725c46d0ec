"""One anchor of a batch step by step: what the explanation shows is what the synthesis does."""

import math

import numpy as np
import pytest
import torch
from workshop.analysis.kernel_memory import LEAST, attribution, read_out, synthesis_batch

from tests.plain_model import PlainModel
from tests.refusals import refused
from tests.synthesis.memory_by_loops import kernel_weights, synthetic
from tests.workshop.small_world import small_set
from tests.workshop.synthesis_batches import small_batch

SETTINGS = {"clusters": 3, "sigma": 0.3, "weights": "least_squares", "regularisation": 1e-3}


@pytest.mark.parametrize("weights", ["least_squares", "identity"])
def test_its_points_are_those_of_the_loops_over_its_clusters(weights):
    batch, settings = small_batch(), {**SETTINGS, "weights": weights}
    result = read_out(batch, 5, **settings)
    arrays = batch.anchors[5:6].numpy(), batch.candidates.numpy(), result.membership[None].numpy()
    expected = synthetic(*arrays, 3, 0.3, weights, 1e-3)[0]
    np.testing.assert_allclose(result.points.numpy(), expected, atol=1e-4)
    cosines = expected @ arrays[0][0] / np.linalg.norm(expected, axis=1)
    np.testing.assert_allclose(result.hardness.numpy(), cosines, atol=1e-4)


def test_the_distance_on_the_map_is_the_angle_to_the_anchor():
    batch = small_batch()
    result = read_out(batch, 4, **SETTINGS)
    angles = result.place.norm(dim=1)
    torch.testing.assert_close(angles.cos(), batch.scores[4], atol=1e-5, rtol=0)
    torch.testing.assert_close(result.points_place.norm(dim=1).cos(), result.hardness, atol=1e-5, rtol=0)
    assert float(angles.max()) <= math.pi


def test_prototypes_come_by_weight_and_their_effective_number_is_the_entropys():
    batch = small_batch()
    result = read_out(batch, 4, **SETTINGS)
    for cluster in range(3):
        mine = result.prototypes(cluster)
        weights = kernel_weights(batch.anchors[4].numpy(), batch.candidates[mine].numpy().T, 0.3)
        assert (np.diff(weights) <= 1e-6).all() and set(result.membership[mine].tolist()) == {cluster}
        np.testing.assert_allclose(result.kernel[mine].numpy(), weights, atol=1e-5)
        assert result.effective(cluster) == pytest.approx(math.exp(-sum(w * math.log(w) for w in weights)), rel=1e-3)
    sharp = read_out(batch, 4, **{**SETTINGS, "sigma": 0.01})
    assert all(sharp.effective(cluster) == pytest.approx(1, abs=0.05) for cluster in range(3))


def test_an_empty_cluster_has_no_hardness_no_place_and_no_prototypes():
    result = read_out(small_batch(pairs=4), 0, **{**SETTINGS, "clusters": 6})
    assert result.hardness.isnan().sum() == 3 and result.points_place[3:].isnan().all()
    assert len(result.prototypes(5)) == 0 and attribution(small_batch(pairs=4), result)[-1].cluster < 3


def test_what_a_negative_is_made_of_comes_hardest_first_with_the_worlds_truth_labels():
    batch = small_batch()
    result = read_out(batch, 4, **SETTINGS)
    rows = attribution(batch, result)
    assert [row.hardness for row in rows] == sorted(result.hardness.tolist(), reverse=True)
    for row in rows:
        assert list(row.prototypes) == result.prototypes(row.cluster)[: len(row.prototypes)].tolist()
        assert list(row.truth_labels) == [int(batch.truth[4, at]) for at in row.prototypes]
        assert all(weight >= LEAST for weight in row.weights[1:])
    assert attribution(small_batch(world=False), result)[0].truth_labels is None


@pytest.mark.parametrize("direction", ["image", "caption"])
def test_a_batch_of_a_model_holds_its_features_of_drawn_pictures_with_a_caption_each(colour_model, direction):
    data = small_set(12)
    batch = synthesis_batch(colour_model, data, direction=direction, pairs=8, seed=3)
    assert len(set(batch.images.tolist())) == 8 and (batch.captions // 2 == batch.images).all()
    sides = (batch.anchors, batch.candidates) if direction == "image" else (batch.candidates, batch.anchors)
    with torch.no_grad():
        pixels = colour_model.prepare_images([data.images[at] for at in batch.images.tolist()])
        tokens = colour_model.prepare_captions([data.captions[at] for at in batch.captions.tolist()])
        expected = colour_model.encode_images(pixels).pooled, colour_model.encode_captions(tokens).pooled
    for side, features in zip(sides, expected, strict=True):
        torch.testing.assert_close(side, torch.nn.functional.normalize(features, dim=1))
    truth = data.world.truth()[batch.images][:, batch.captions]
    assert torch.equal(batch.truth, truth if direction == "image" else truth.T)
    name = batch.candidate_name(0)
    assert name == (data.captions[batch.captions[0]] if direction == "image" else data.image_ids[batch.images[0]])
    again = synthesis_batch(colour_model, data, direction=direction, pairs=8, seed=3)
    assert torch.equal(batch.images, again.images) and torch.equal(batch.captions, again.captions)
    assert len(synthesis_batch(colour_model, data, pairs=100).images) == 12


def test_what_cannot_be_made_a_batch_is_one_line(colour_model):
    refused("1 pictures have no negatives", synthesis_batch, colour_model, small_set(1))
    together = PlainModel()
    together.encodes_apart = False
    refused("has no features of pictures alone", synthesis_batch, together, small_set(4))
