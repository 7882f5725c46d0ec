"""VSRN: regions that reason over each other, read by a recurrent network, and told of in words."""

from itertools import pairwise

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.models import FragmentConfig, build_fragment
from tests.models.fragments import CAPTIONS, CLOSE, build, encoded, records


def unit(vector: torch.Tensor) -> torch.Tensor:
    return vector / vector.norm()


def test_the_graph_and_the_reading_are_the_papers_region_by_region():
    model = build("vsrn")
    images, _ = encoded(model)
    for row, record in enumerate(records([3, 5, 1, 4])):
        regions = [unit(model.images.map(feature)) for feature in record.features]
        for layer in model.images.graph:
            changed = []
            for one in regions:  # W_r Σ_j R_ij W_g v_j + v_i
                sums = sum((layer.one(one) @ layer.other(other)) * layer.value(other) for other in regions)
                changed.append(layer.residual(sums / len(regions)) + one)
            regions = changed
        regions = [unit(region) for region in regions]
        state = torch.zeros(16)
        network = model.images.network
        for region in regions:  # the textbook's gated recurrent unit
            ours, kept = network.weight_ih_l0 @ region + network.bias_ih_l0, network.weight_hh_l0 @ state
            (r, z, n), (hr, hz, hn) = ours.chunk(3), (kept + network.bias_hh_l0).chunk(3)
            reset, update = torch.sigmoid(r + hr), torch.sigmoid(z + hz)
            state = (1 - update) * torch.tanh(n + reset * hn) + update * state
        torch.testing.assert_close(images.pooled[row], unit(state), **CLOSE)
        torch.testing.assert_close(images.local[row][images.mask[row]], torch.stack(regions), **CLOSE)


def test_a_caption_is_written_word_by_word_as_the_paper_says():
    model = build("vsrn")
    images, _ = encoded(model)
    tokens = model.prepare_captions(CAPTIONS)
    writer, found = model.writer, []
    for row, record in enumerate(records([3, 5, 1, 4])):
        regions = model.encode_images(model.prepare_images([record])).local[0]
        read, _ = writer.reader(regions[None])
        state, nats = read[0, -1], 0.0
        pieces = tokens["input_ids"][row][tokens["attention_mask"][row].bool()]
        for before, piece in pairwise(pieces):
            asked = [writer.weigh(torch.tanh(writer.part(one) + writer.state(state))).exp() for one in read[0]]
            context = sum(share / sum(asked) * one for share, one in zip(asked, read[0], strict=True))
            state = writer.writer(torch.cat([writer.embedding(before), context])[None], state[None])[0]
            nats -= writer.answer(state).softmax(dim=0)[piece].log()
        found.append(nats)
    torch.testing.assert_close(model.caption_nats(images, tokens), torch.stack(found), **CLOSE)


def test_writing_depends_on_neither_padding_nor_company():
    model = build("vsrn")
    images, _ = encoded(model)
    together = model.caption_nats(images, model.prepare_captions(CAPTIONS))
    for row, record in enumerate(records([3, 5, 1, 4])):
        alone = model.encode_images(model.prepare_images([record]))
        nats = model.caption_nats(alone, model.prepare_captions([CAPTIONS[row]]))
        torch.testing.assert_close(nats[0], together[row], **CLOSE)
    empty = model.caption_nats(images, model.prepare_captions(["", "cat", "", "dog"]))
    assert torch.isfinite(empty).all() and (empty > 0).all()


def test_its_gradient_reaches_the_regions():
    model = build("vsrn")
    images = model.encode_images(model.prepare_images(records([3, 5])))
    model.caption_nats(images, model.prepare_captions(CAPTIONS[:2])).sum().backward()
    for part in (model.images.map[0], model.images.graph[0].value, model.writer.answer):
        assert torch.isfinite(part.weight.grad).all() and part.weight.grad.abs().sum() > 0
    assert model.captions.embedding.weight.grad is None and model.images.network.weight_ih_l0.grad is None


def test_only_vsrn_writes():
    with pytest.raises(ItmlabError, match="vsepp writes no captions"):
        other = build("vsepp")
        other.caption_nats(encoded(other)[0], other.prepare_captions(CAPTIONS))


def test_the_order_of_regions_is_read():
    model, record = build("vsrn", graph_layers=1), records([5])
    forth = model.encode_images(model.prepare_images(record)).pooled
    record[0].features = record[0].features.flip(0)
    back = model.encode_images(model.prepare_images(record)).pooled
    assert (forth * back).sum() < 0.999


def test_a_fresh_graph_changes_nothing():
    fresh = build_fragment(FragmentConfig.tiny("vsrn"), ["a cat", "a dog"] * 2, seed=0)
    local = torch.randn(1, 3, 96)
    assert torch.equal(fresh.images.graph[0](local, torch.ones(1, 3, dtype=torch.bool)), local)


def test_scores_are_cosines():
    images, captions = encoded(build("vsrn"))
    torch.testing.assert_close(build("vsrn").similarity(images, captions), images.pooled @ captions.pooled.T)
