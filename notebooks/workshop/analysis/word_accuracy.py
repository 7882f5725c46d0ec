"""How often a cross-encoder judges and corrects words correctly, over many synthetic negatives.

As in the paper, every word that is not the caption's counts as wrong.

References:
    Fan et al. (2022), TAGS-DC, Sec. 4.4: accuracies of the heads H_WoD and H_WoC.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Share, share
from itmlab.models import CrossEncoder
from itmlab.models.pairs import looked_at
from itmlab.synthesis import Negative
from itmlab.text.alignment import token_characters
from itmlab.text.graph import tokenise
from itmlab.text.tokens import plain_text

from .negatives import cross_encoder_of
from .words import WordAnswers, word_answers

FLAGGED = 0.5  # a word does not fit if the probability that it was replaced is above this


@dataclass(frozen=True)
class WordAccuracy:
    """Accuracy over all counted words, over replaced words and over kept words.

    Most words are kept, so `all` is high for a model that never finds an error; `balanced` is not.
    """

    all: Share
    replaced: Share
    kept: Share

    @property
    def balanced(self) -> float:
        """The mean of the accuracies of replaced and of kept words, in percent."""
        return (self.replaced.percent + self.kept.percent) / 2


@dataclass(frozen=True)
class WordStudy:
    """A cross-encoder's answers on the words of synthetic negatives, position by position with their captions.

    Args:
        negatives: the sentences.
        answers: the model's answers.
        original: the caption's pieces.
        images: the image of each row.
    """

    negatives: list[Negative]
    answers: WordAnswers
    original: Int[Tensor, "row piece"]
    images: Int[Tensor, "row"]

    @property
    def counted(self) -> Bool[Tensor, "row piece"]:
        """True at pieces of words."""
        return self.answers.word_mask

    @property
    def replaced(self) -> Bool[Tensor, "row piece"]:
        """Words that are not the caption's (G = 0 in Eq. 8)."""
        return self.counted & (self.answers.input_ids != self.original)

    def discrimination(self) -> WordAccuracy:
        """Return how often a word is judged correctly as kept or replaced.

        References:
            Fan et al. (2022), Sec. 4.4: 66.5 %. The paper does not say of which words.
        """
        return self._accuracy((self.answers.mismatch > FLAGGED) == self.replaced)

    def correction(self) -> WordAccuracy:
        """Return how often the model would write the caption's own piece.

        References:
            Fan et al. (2022), Sec. 4.4: 87.3 %. The paper does not say of which words.
        """
        return self._accuracy(self.answers.written == self.original)

    def _accuracy(self, correct: Bool[Tensor, "row piece"]) -> WordAccuracy:
        rows = self.images[:, None].expand_as(correct)
        masks = (self.counted, self.replaced, self.counted & ~self.replaced)
        return WordAccuracy(*(share(correct[mask], rows[mask]) for mask in masks))


def word_study(model: Any, data: CaptionSet, negatives: Sequence[Negative]) -> WordStudy:
    """Ask a cross-encoder about every word of these negatives.

    Args:
        model: a cross-encoder, or a Run of one.
        data: the set whose captions the negatives were made from.
        negatives: with the numbers of their image and caption (`Negative.of`). Those that were truncated, or whose
            pieces are not in the positions of their caption's, are left out.

    Raises:
        ItmlabError: no negative is left.
    """
    cross_encoder = cross_encoder_of(model)
    chosen = [each for each in negatives if is_in_place(cross_encoder, each, data.captions[each.caption])]
    if not chosen:
        message = f"none of {len(negatives)} negatives has its caption's words in the same positions"
        raise ItmlabError(message, where=data.name, remedy="use a generator that replaces words")
    sentences, images = [negative.sentence for negative in chosen], [negative.image for negative in chosen]
    answers = word_answers(cross_encoder, looked_at(cross_encoder, data), sentences, images)
    captions = cross_encoder.prepare_captions([data.captions[negative.caption] for negative in chosen])
    return WordStudy(chosen, answers, captions["input_ids"], torch.tensor(images))


def is_in_place(model: CrossEncoder, negative: Negative, caption: str) -> bool:
    """Return whether a sentence has the pieces of its caption in the same positions outside of the changed places."""
    encode, sentence = model.tokenizer.backend_tokenizer.encode, negative.sentence
    changed, original = encode(plain_text(sentence)), encode(plain_text(caption))
    if not len(changed.ids) == len(original.ids) <= model.config.maximum_tokens:
        return False
    characters = token_characters(sentence, tokenise(sentence))
    places = [place for span in negative.spans for place in characters[span.start : span.end]]
    return all(
        new == old or any(first < end and last > start for start, end in places)
        for new, old, (first, last) in zip(changed.ids, original.ids, changed.offsets, strict=True)
    )


def on_next_picture(model: Any, data: CaptionSet, study: WordStudy) -> WordStudy:
    """Ask about the same sentences beside the next picture of the data.

    What is judged correctly there as well was judged from the words alone.
    """
    shifted = [negative.of((negative.image + 1) % len(data.images), negative.caption) for negative in study.negatives]
    return replace(study, answers=word_study(model, data, shifted).answers)
