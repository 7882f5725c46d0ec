"""Table 4 against one pair after the other."""

import pytest

from itmlab.data.scenes import load
from itmlab.explain import discriminated, synthetic_negatives
from itmlab.models import TwoTowerConfig, build_model

from .small_tower import small_tower


def test_it_is_the_share_of_pairs_in_which_the_caption_scores_higher(tmp_path):
    data = load(images=4, cache=tmp_path)
    towers = {"one": small_tower(data.captions), "another": small_tower(data.captions, seed=3)}
    pair = build_model(TwoTowerConfig.tiny(), data.captions, seed=1).eval()
    settings = {"maskings": 2, "samples": 3, "truth": False}
    made = {
        "tags": synthetic_negatives(data, [0, 6, 11], "tags", run=towers["one"], **settings),
        "rules": synthetic_negatives(data, [2, 7], "vse_c", keep=3, truth=False),
    }
    table = discriminated(made, {**towers, "pair": pair})
    assert {name: list(row) for name, row in table.items()} == {
        name: ["one", "another", "pair"] for name in ("tags", "rules")
    }
    for name, found in made.items():
        for tower_name, tower in towers.items():
            higher = 0
            for negative in found.all():
                picture = tower.prepare_images([data.images[negative.image]])
                said = tower.prepare_captions([data.captions[negative.caption], negative.sentence])
                own, other = tower.similarity(picture, said)[0].tolist()
                higher += own > other
            share = table[name][tower_name]
            assert (share.count, share.of) == (higher, len(found))
            assert share.percent == pytest.approx(100 * higher / len(found))
