"""Parts of a cross-encoder's step: logits of single pairs, and words compared with words."""

import pytest
import torch

from itmlab.models import EmbeddedRegions, build_model
from itmlab.models.cross_encoder import Tokens, pair_logits
from itmlab.models.pairs import all_captions
from itmlab.train.scores import side_of
from itmlab.train.step_cross import word_tokens
from tests.train.towers import MICRO_TOWER


@pytest.fixture(scope="module")
def model(data):
    model = build_model(MICRO_TOWER, data.captions, seed=0).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights += 0.3 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(0))
    return model


def test_a_logit_does_not_depend_on_what_it_is_read_with(model, data):
    tokens = all_captions(model, data)
    with torch.no_grad():
        parts = [model.embed_regions(**part) for part in side_of(model, data.images, "images")]
    regions = EmbeddedRegions.joined(parts)
    generator = torch.Generator().manual_seed(0)
    sentences, images = (torch.randint(48, (300,), generator=generator) for _ in range(2))
    with torch.no_grad():
        logits = pair_logits(model, tokens, sentences, regions, images)
        for row in range(0, 300, 37):
            pixels = model.prepare_images([data.images[int(images[row])]])
            alone = model.similarity(pixels, model.prepare_captions([data.captions[int(sentences[row])]]))
            assert logits[row].item() == pytest.approx(alone.item(), abs=1e-4)
        assert not len(pair_logits(model, tokens, sentences[:0], regions, images[:0]))


def test_words_are_compared_where_both_sentences_have_as_many_pieces(model):
    captions = Tokens.of(model, ["a red field on the left", "the top is red, shade 1"])
    sentences = Tokens.of(model, ["a blue field on the left", "a field", "the top is blue, shade 1", "the top is"])
    of_caption = torch.tensor([0, 0, 1, 1])
    original, counts = word_tokens(model, sentences, captions, of_caption)
    special = set(model.tokenizer.all_special_ids)
    for row, (caption, alike) in enumerate(zip(of_caption.tolist(), (True, False, True, False), strict=True)):
        for at, counted in enumerate(counts[row].tolist()):
            if not alike:
                assert not counted
                continue
            exists = at < int(sentences.lengths[row])
            pieces = {int(sentences.ids[row, at]), int(captions.ids[caption, at])} if exists else special
            assert counted == (exists and not pieces & special)
            assert not exists or original[row, at] == captions.ids[caption, at]
    assert counts.any(dim=1).tolist() == [True, False, True, False]
