"""Which word of a sentence is wrong, by three means: the head H_WoD, the score without the word, and the gradient.

The head was trained for the question (Fan et al. 2022, Eq. 8). The other two need only a score s: a wrong word lowers
it, so that s rises when the word is hidden, and the gradient of s points away from the word. Each means doubts one
word most; it is right if this word was replaced.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.metrics.statistics import Share, share
from itmlab.models import CrossEncoder
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at, on_device
from itmlab.synthesis import Negative

from .word_accuracy import word_study
from .words import cross_encoder_of, word_answers
from .wrong_picture import BothPictures

MEANS = ("head H_WoD", "score without the word", "gradient")
Doubts = dict[str, Float[Tensor, "sentence piece"]]


def word_doubts(run: Any, data: CaptionSet, images: Sequence[int], sentences: Sequence[str]) -> Doubts:
    """Return by means how much each piece of each sentence is doubted, -inf outside of words.

    Args:
        run: a cross-encoder, or a Run of one.
        data: the set of the images.
        images: the number of each sentence's image.
        sentences: the sentences.
    """
    model = cross_encoder_of(run)
    numbers, rows = torch.as_tensor(images).unique(return_inverse=True)
    source = looked_at(model, data)
    pictures = [source[number] for number in numbers.tolist()]
    answers = word_answers(model, pictures, sentences, rows.tolist())
    tokens = on_device(model, model.prepare_captions(sentences))
    ids, mask = tokens["input_ids"], tokens["attention_mask"].bool()
    with evaluating(model):
        regions = model.embed_regions(**on_device(model, model.prepare_images(pictures))).take(rows)
        gains = gains_without(model, ids, mask, regions)
        against = gradients_against(model, ids, mask, regions)
    values = zip(MEANS, (answers.mismatch, gains.cpu(), against.cpu()), strict=True)
    return {name: doubts.masked_fill(~answers.word_mask, -torch.inf) for name, doubts in values}


def gains_without(
    model: CrossEncoder, ids: Int[Tensor, "sentence piece"], mask: Bool[Tensor, "sentence piece"], regions: Any
) -> Float[Tensor, "sentence piece"]:
    """Return how much the matching score rises when a piece is hidden by [MASK]."""
    complete, gains = model.score(ids, mask, regions), []
    for piece in range(ids.shape[1]):
        hidden = ids.clone()
        hidden[:, piece] = model.tokenizer.mask_token_id
        gains.append(model.score(hidden, mask, regions) - complete)
    return torch.stack(gains, dim=1)


def gradients_against(
    model: CrossEncoder, ids: Int[Tensor, "sentence piece"], mask: Bool[Tensor, "sentence piece"], regions: Any
) -> Float[Tensor, "sentence piece"]:
    """Return -(∂s/∂e)·e of each piece's embedding e: how much the score would rise, to first order, without it."""
    caught: list[Tensor] = []

    def catch(embedding: Any, inputs: Any, output: Tensor) -> Tensor:
        caught.append(output.detach().requires_grad_())
        return caught[0]

    with torch.enable_grad(), model.text.words.register_forward_hook(catch):
        (gradient,) = torch.autograd.grad(model.score(ids, mask, regions).sum(), caught[0])
    return -(gradient * caught[0]).sum(dim=-1).detach()


def wrong_word_found(run: Any, data: CaptionSet, negatives: Sequence[Negative]) -> dict[str, BothPictures]:
    """Return by means how often the word that is doubted most is the replaced one, and the same beside a wrong picture.

    Only sentences that the world calls false count, and only those with their caption's words in the same places. The
    last entry is a word at random.

    Args:
        run: a cross-encoder, or a Run of one.
        data: the set whose captions the negatives were made from.
        negatives: with their truth (`synthetic_negatives`).
    """
    study = word_study(run, data, [negative for negative in negatives if negative.truth is False])
    sentences, images = [negative.sentence for negative in study.negatives], study.images
    right = word_doubts(run, data, images.tolist(), sentences)
    wrong = word_doubts(run, data, ((images + 1) % len(data)).tolist(), sentences)

    def accuracy(doubts: Float[Tensor, "sentence piece"]) -> Share:
        most = doubts.argmax(dim=1, keepdim=True)
        return share(study.replaced.gather(1, most).squeeze(1), images)

    chance = torch.rand(study.counted.shape, generator=torch.Generator().manual_seed(0))
    at_random = accuracy(chance.masked_fill(~study.counted, -torch.inf))
    both = {name: BothPictures(accuracy(right[name]), accuracy(wrong[name])) for name in MEANS}
    return both | {"a word at random": BothPictures(at_random, at_random)}
