"""Many verdicts at once are the verdicts one by one, and the knob turns how many nobody annotated."""

import numpy as np

from itmlab.data.scenes.captions import write_captions
from itmlab.data.scenes.entail import TRUE, entails
from itmlab.data.scenes.truth import Verdicts


def test_columns_are_the_verdicts_one_by_one(many):
    scenes = many[:60]
    verdicts = Verdicts(scenes)
    for index in range(60):
        for caption in write_captions(many[index], seed=0, index=index, unannotated=0.8):
            one_by_one = [entails(facts, caption.graph) for facts in scenes]
            assert verdicts.column(caption.graph).tolist() == one_by_one


def test_the_knob_turns_the_share_of_true_pairs_that_nobody_annotated(many):
    scenes = many[:150]
    verdicts = Verdicts(scenes)
    shares = []
    for knob in (0.0, 0.25, 0.5, 0.75, 1.0):
        captions = [
            caption
            for index, facts in enumerate(scenes)
            for caption in write_captions(facts, seed=0, index=index, unannotated=knob)
        ]
        true = np.stack([verdicts.column(caption.graph) for caption in captions]) == TRUE
        shares.append(true.sum(axis=1).mean() - 1)
    assert shares == sorted(shares)
    assert shares[-1] > 3 * shares[0] > 0
