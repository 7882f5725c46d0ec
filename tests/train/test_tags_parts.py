"""Parts of a cross-encoder's step by themselves: kept inputs, rows of pairs, words beside words."""

import dataclasses

import pytest
import torch

from itmlab.models import EmbeddedRegions, build_model
from itmlab.models.cross_encoder import Tokens, by_length, pair_logits
from itmlab.models.pairs import ImageInputs, all_captions
from itmlab.scenes import load
from itmlab.train.scores import prepared_images
from itmlab.train.step_cross import word_tokens
from tests.train.towers import MICRO_TOWER


@pytest.fixture(scope="module")
def model(data):
    model = build_model(MICRO_TOWER, data.captions, seed=0).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights += 0.3 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(0))
    return model


class Counted:
    """Pictures that count how often each is asked for."""

    def __init__(self, pictures):
        self.pictures, self.asked = pictures, []

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        self.asked.append(index)
        return self.pictures[index]


@pytest.mark.parametrize(("bytes_", "twice"), [(2**29, []), (32 * 32 * 3, [4]), (0, [7, 4])])
def test_pictures_are_decoded_once_as_far_as_they_fit(bytes_, twice, model, data):
    part = data.select(range(9))
    part.images = Counted(part.images)
    inputs = ImageInputs(model, part, keep_bytes=bytes_)
    first, again = inputs([7, 4])["pixels"], inputs([7, 4])["pixels"]
    assert first.equal(again) and first.equal(model.prepare_images([data.images[7], data.images[4]])["pixels"])
    assert part.images.asked == [7, 4, *twice]


def test_regions_are_cut_out_once_as_far_as_they_fit(tmp_path_factory):
    data = load(images=6, cache=tmp_path_factory.mktemp("scenes"), regions=True)
    tower = build_model(
        dataclasses.replace(MICRO_TOWER, visual="regions", region_dimension=192),
        data.captions,
        seed=0,
    )
    data.regions = Counted(data.regions)
    inputs = ImageInputs(tower, data)
    first, again = inputs([3, 1, 3]), inputs([3, 1, 3])
    assert data.regions.asked == [3, 1]
    assert all(value.equal(again[name]) for name, value in first.items())
    data.regions.asked.clear()
    small = ImageInputs(tower, data, keep_bytes=10)
    assert all(value.equal(first[name]) for name, value in small([3, 1, 3]).items())
    assert data.regions.asked == [3, 1, 3]


def test_a_logit_does_not_depend_on_what_it_is_read_with(model, data):
    tokens = all_captions(model, data)
    with torch.no_grad():
        parts = [model.embed_regions(**part) for part in prepared_images(model, data.images)]
    regions = EmbeddedRegions.joined(parts)
    generator = torch.Generator().manual_seed(0)
    sentences, images = (torch.randint(48, (300,), generator=generator) for _ in range(2))
    with torch.no_grad():
        found = pair_logits(model, tokens, sentences, regions, images)
        for row in range(0, 300, 37):
            pixels = model.prepare_images([data.images[int(images[row])]])
            alone = model.similarity(pixels, model.prepare_captions([data.captions[int(sentences[row])]]))
            assert found[row].item() == pytest.approx(alone.item(), abs=1e-4)
        assert not len(pair_logits(model, tokens, sentences[:0], regions, images[:0]))


def test_all_captions_are_what_the_tower_reads(model, data):
    tokens = all_captions(model, data)
    for row in (0, 17, 95):
        prepared = model.prepare_captions([data.captions[row]])
        one = tokens.take(torch.tensor([row]))
        assert one.ids.tolist() == prepared["input_ids"].tolist() and bool(one.mask.all())
    assert by_length(tokens.lengths, 40).__next__().shape == (40,)
    order = torch.cat(list(by_length(tokens.lengths, 40)))
    assert sorted(order.tolist()) == list(range(96)) and bool((tokens.lengths[order].diff() >= 0).all())


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
            there = at < int(sentences.lengths[row])
            pieces = {int(sentences.ids[row, at]), int(captions.ids[caption, at])} if there else special
            assert counted == (there and not pieces & special)
            assert not there or original[row, at] == captions.ids[caption, at]
    assert counts.any(dim=1).tolist() == [True, False, True, False]
