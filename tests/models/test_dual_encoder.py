"""Features of two towers depend on one picture or caption only; the patch stem; the momentum copy."""

import pytest
import torch
from torch import nn

from itmlab.models import DualEncoder, Momentum, build_model
from itmlab.models.base import CutCaptions
from itmlab.models.dual_encoder import ConvolutionalStem

CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def images_of(model, pictures):
    return model.encode_images(model.prepare_images(pictures))


def captions_of(model, captions):
    return model.encode_captions(model.prepare_captions(captions))


def padded(tokens, more):
    """Add `more` columns of padding with any token number."""
    fill = {"input_ids": 7, "attention_mask": 0, "word_mask": False}
    return {name: nn.functional.pad(value, (0, more), value=fill[name]) for name, value in tokens.items()}


@pytest.mark.parametrize("training", [False, True], ids=["evaluating", "training"])
def test_features_do_not_depend_on_the_batch_or_the_padding(model, captions, pictures, training):
    model.train(training)  # without dropout nothing may differ in training either
    tokens = model.prepare_captions(captions)
    texts, images = model.encode_captions(tokens), images_of(model, pictures)
    for row, caption in enumerate(captions):
        alone = captions_of(model, [caption])
        torch.testing.assert_close(alone.pooled[0], texts.pooled[row], **CLOSE)
        words = alone.mask[0].nonzero().flatten()
        torch.testing.assert_close(alone.local[0, words], texts.local[row, words], **CLOSE)
    for row, picture in enumerate(pictures):
        alone = images_of(model, [picture])
        torch.testing.assert_close(alone.pooled[0], images.pooled[row], **CLOSE)
        torch.testing.assert_close(alone.local[0], images.local[row], **CLOSE)
    padded_texts = model.encode_captions(padded(tokens, 5))
    torch.testing.assert_close(padded_texts.pooled, texts.pooled, **CLOSE)
    assert torch.equal(padded_texts.mask[:, :-5], texts.mask) and not padded_texts.mask[:, -5:].any()


def test_captions_without_a_word_have_finite_features_and_gradients(model):
    encoded = captions_of(model, ["", "   ", "\u0007", "a cat"])
    assert not encoded.mask[:3].any()
    torch.testing.assert_close(encoded.pooled.norm(dim=1), torch.ones(4))
    encoded.pooled.sum().backward()
    assert all(weights.grad is None or weights.grad.isfinite().all() for weights in model.parameters())


def test_a_long_caption_is_cut_with_a_warning(model):
    with pytest.warns(CutCaptions, match="64 tokens"):
        tokens = model.prepare_captions(["dog " * 80, "a cat"])
    assert tokens["input_ids"].shape == (2, 64)
    assert captions_of(model, ["a cat"]).pooled.isfinite().all()


def test_without_projections_the_towers_own_features_are_compared(configure, captions, pictures):
    widths = {"image_hidden": 24, "text_hidden": 24}
    model = build_model(configure("vit", projection="none", **widths), captions, seed=3).eval()
    pixels, tokens = model.prepare_images(pictures), model.prepare_captions(captions)
    patches = model.towers.image(pixels).last_hidden_state[:, 1:]
    assert torch.equal(model.encode_images(pixels).local, patches)
    words = model.towers.text(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
    assert torch.equal(model.encode_captions(tokens).local, words)


def test_with_a_number_of_words_captions_are_cleaned_wherever_they_are_read(configure, captions, tmp_path):
    captions = [*captions, "A man's T-shirt."]
    model = build_model(configure("vit", maximum_words=4), captions, seed=3).eval()
    assert not {".", "'", "-"} & set(model.tokenizer.get_vocab())
    model.save(tmp_path)
    for current in (model, DualEncoder.load(tmp_path)):
        long = current.prepare_captions(["A DOG, runs/on the grass!"])["input_ids"]
        short = current.prepare_captions(["a dog runs on"])["input_ids"]
        assert torch.equal(long, short) and not (long == model.tokenizer.unk_token_id).any()
    words = model.caption_words("A man's T-shirt, (red).")
    assert [word for word, _ in words] == ["a", "mans", "t", "shirt"]
    mask = model.prepare_captions(["A man's T-shirt, (red)."])["word_mask"][0]
    assert [at for _, pieces in words for at in pieces] == mask.nonzero().flatten().tolist()


def test_gradients_reach_patches_and_every_parameter(model, pictures, captions):
    images, texts = images_of(model, pictures), captions_of(model, captions)
    images.local.retain_grad()
    score = images.pooled @ texts.pooled.T
    (score[0, 0] + (images.local.sum(1) @ texts.local.sum(1).T)[0, 0]).backward()
    assert images.local.grad[0].abs().sum() > 0
    assert [name for name, part in model.named_parameters() if part.requires_grad and part.grad is None] == []


def test_a_patchs_feature_follows_its_own_pixels_in_reading_order():
    torch.manual_seed(0)
    stem, pixels = ConvolutionalStem(12, 32), torch.rand(1, 3, 96, 96)
    changed = pixels.clone()
    changed[:, :, 24:36, 60:72] += 1  # row 2, column 5
    moved = (stem(changed) - stem(pixels)).abs().sum(-1)[0]
    assert moved.argmax() == 2 * 8 + 5


def test_each_update_of_the_momentum_copy_is_the_papers_average(configure, captions):
    model = build_model(configure("vit"), captions, seed=3)
    momentum = Momentum(model, 0.9)
    expected = [weights.detach().clone() for weights in model.parameters()]
    for _ in range(3):
        with torch.no_grad():
            for weights in model.parameters():
                weights.add_(torch.ones_like(weights))
        momentum.update(model)
        expected = [0.9 * slow + 0.1 * fast.detach() for slow, fast in zip(expected, model.parameters(), strict=True)]
    for slow, average in zip(momentum.model.parameters(), expected, strict=True):
        torch.testing.assert_close(slow.detach(), average)


def test_the_copy_uses_neither_dropout_nor_gradients(configure, captions, pictures):
    model = build_model(configure("vit", dropout=0.3), captions, seed=3).train()
    momentum = Momentum(model, 0.9).train()
    assert not any(part.training for part in momentum.modules())
    pixels, tokens = model.prepare_images(pictures), model.prepare_captions(captions)
    first, second = momentum.model.encode_images(pixels), momentum.model.encode_images(pixels)
    assert torch.equal(first.pooled, second.pooled) and not first.pooled.requires_grad
    assert not momentum.model.encode_captions(tokens).pooled.requires_grad
    assert not any(weights.requires_grad for weights in momentum.parameters())
    assert model.training and all(weights.requires_grad for weights in model.parameters())
