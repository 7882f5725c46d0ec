"""VSRN's images: regions that reason over each other, then read by a recurrent network."""

import torch

from itmlab.models import FragmentConfig, build_fragment

from .fragments import CLOSE, build, encoded, records


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
