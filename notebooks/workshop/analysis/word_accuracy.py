"""How often a cross-encoder judges and corrects words correctly, over many synthetic negatives.

The paper counts every word that is not the caption's as wrong. Only a world with known truth can say which of these
words are true of the picture all the same; `word_truth` asks it.

References:
    Fan et al. (2022), TAGS-DC, Sec. 4.4: accuracies of the heads H_WoD and H_WoC.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Interval, Share, interval, share
from itmlab.models import CrossEncoder
from itmlab.models.pairs import looked_at
from itmlab.synthesis import Negative
from itmlab.synthesis.tags import graphs_of
from itmlab.text import SceneGraph, parse, phrases
from itmlab.text.alignment import Pieces, align, token_characters
from itmlab.text.graph import tokenise
from itmlab.text.tokens import plain_text

from .negatives import TRUTH_LABELS, cross_encoder_of
from .scoring import require_truth
from .words import WordAnswers, explained, word_answers

# Where a synthetic negative differs from its caption, in characters.


def changed_places(negative: Negative, caption: str) -> list[tuple[int, int]] | None:
    """Return the changed places of the sentence in order, each from its first character to the one behind its last.

    None if restoring all of them does not give the caption again. Then the sentence was not made from the caption word
    by word (a retrieved sentence), or its tokeniser splits differently.
    """
    tokens = token_characters(negative.sentence, tokenise(negative.sentence))
    if any(span.end > len(tokens) for span in negative.spans):
        return None
    places = [(tokens[span.start][0], tokens[span.end - 1][1]) for span in negative.spans]
    return places if put_back(negative, places) == caption else None


def put_back(negative: Negative, places: Sequence[tuple[int, int]], without: int | None = None) -> str:
    """Return the caption with only the change `without`: all other changed places have the caption's words again."""
    sentence = negative.sentence
    for number, (start, end) in reversed(list(enumerate(places))):
        if number != without:
            sentence = sentence[:start] + negative.source[number] + sentence[end:]
    return sentence


# A cross-encoder's answers for each piece of many negatives.

KINDS = ("object", "attribute", "relation", "other")  # of phrases; what lies outside all of them is "other"
OTHER = KINDS.index("other")


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
        kind: the kind of phrase that a piece belongs to, as an index of `KINDS`.
        place: the changed place that a piece belongs to, or -1.
        images: the image of each row.
    """

    negatives: list[Negative]
    answers: WordAnswers
    original: Int[Tensor, "row piece"]
    kind: Int[Tensor, "row piece"]
    place: Int[Tensor, "row piece"]
    images: Int[Tensor, "row"]

    @property
    def counted(self) -> Bool[Tensor, "row piece"]:
        """True at pieces of words."""
        return self.answers.word_mask

    @property
    def replaced(self) -> Bool[Tensor, "row piece"]:
        """Words that are not the caption's (G = 0 in Eq. 8)."""
        return self.counted & (self.answers.input_ids != self.original)

    @property
    def flagged(self) -> Bool[Tensor, "row piece"]:
        """Words that the model judges as replaced."""
        return self.answers.mismatch > FLAGGED

    def discrimination(self, kind: str | None = None) -> WordAccuracy:
        """Return how often a word is judged correctly as kept or replaced: all words, or those of one of `KINDS`.

        References:
            Fan et al. (2022), Sec. 4.4: 66.5 %. The paper does not say of which words.
        """
        return self._accuracy(self.flagged == self.replaced, kind)

    def correction(self, kind: str | None = None) -> WordAccuracy:
        """Return how often the model would write the caption's own piece: of all words, or of those of one kind.

        References:
            Fan et al. (2022), Sec. 4.4: 87.3 %. The paper does not say of which words.
        """
        return self._accuracy(self.answers.written == self.original, kind)

    def _accuracy(self, correct: Bool[Tensor, "row piece"], kind: str | None) -> WordAccuracy:
        counted, rows = self.counted, self.images[:, None].expand_as(correct)
        if kind is not None:
            counted = counted & (self.kind == KINDS.index(kind))
        masks = (counted, counted & self.replaced, counted & ~self.replaced)
        return WordAccuracy(*(share(correct[mask], rows[mask]) for mask in masks))


def word_study(model: Any, data: CaptionSet, negatives: Sequence[Negative]) -> WordStudy:
    """Ask a cross-encoder about every word of these negatives.

    Args:
        model: a cross-encoder, or a Run of one.
        data: the set whose captions the negatives were made from.
        negatives: with the numbers of their image and caption (`Negative.of`). Those that were truncated, or that have
            another number of pieces than their caption, are left out.

    Raises:
        ItmlabError: no negative is left.
    """
    cross_encoder = cross_encoder_of(model)
    places = [_places_of_pieces(cross_encoder, each, data.captions[each.caption]) for each in negatives]
    chosen = [negative for negative, place in zip(negatives, places, strict=True) if place is not None]
    if not chosen:
        message = f"none of {len(negatives)} negatives has its caption's words in the same positions"
        raise ItmlabError(message, where=data.name, remedy="use a generator that replaces words")
    sentences, images = [negative.sentence for negative in chosen], [negative.image for negative in chosen]
    answers = word_answers(cross_encoder, looked_at(cross_encoder, data), sentences, images)
    graphs = graphs_of(data, [negative.caption for negative in chosen])
    captions = [data.captions[negative.caption] for negative in chosen]
    pieces = align(cross_encoder.tokenizer, captions, graphs, cross_encoder.config.maximum_tokens)
    place = pad_sequence([place for place in places if place is not None], batch_first=True, padding_value=-1)
    return WordStudy(chosen, answers, pieces.input_ids, piece_kinds(pieces, graphs), place, torch.tensor(images))


def _places_of_pieces(model: CrossEncoder, negative: Negative, caption: str) -> Int[Tensor, "piece"] | None:
    """Return the number of the changed place for every piece of a sentence, or -1.

    None if it has another number of pieces than its caption, or differs outside of the changed places.
    """
    encode, places = model.tokenizer.backend_tokenizer.encode, changed_places(negative, caption)
    changed, original = encode(plain_text(negative.sentence)), encode(plain_text(caption))
    if places is None or not len(changed.ids) == len(original.ids) <= model.config.maximum_tokens:
        return None
    place_of_piece = torch.full((len(changed.ids),), -1)
    for piece, (first, last) in enumerate(changed.offsets):
        for number, (start, end) in enumerate(places):
            if first < end and last > start:
                place_of_piece[piece] = number
    elsewhere = place_of_piece < 0
    is_same = torch.tensor(changed.ids)[elsewhere].equal(torch.tensor(original.ids)[elsewhere])
    return place_of_piece if is_same else None


def piece_kinds(pieces: Pieces, graphs: Sequence[SceneGraph]) -> Int[Tensor, "row piece"]:
    """Return for each piece the kind of the shortest phrase that contains its word, as an index of `KINDS`."""
    kinds = torch.full(pieces.input_ids.shape, OTHER)
    for row, graph in enumerate(graphs):
        of_word = torch.full((len(graph.tokens) + 1,), OTHER)  # the last is for pieces of no word
        for phrase in sorted(phrases(graph), key=lambda phrase: phrase.span.start - phrase.span.end):  # longest first
            of_word[phrase.span.start : phrase.span.end] = KINDS.index(phrase.kind)
        kinds[row] = of_word[pieces.first_word[row].clamp(max=len(graph.tokens))]
    return kinds


def on_next_picture(model: Any, data: CaptionSet, study: WordStudy) -> WordStudy:
    """Ask about the same sentences beside the next picture of the data.

    What is judged correctly there as well was judged from the words alone.
    """
    shifted = [negative.of((negative.image + 1) % len(data.images), negative.caption) for negative in study.negatives]
    return replace(study, answers=word_study(model, data, shifted).answers)


def picture_worth(study: WordStudy, elsewhere: WordStudy) -> dict[str, Interval]:
    """Return how many points accuracy gains from the right picture: `study` minus `elsewhere`, paired.

    Returns:
        "found" is the gain in balanced discrimination, "put right" and "left right" are the gains in the correction of
        replaced and of kept words. Intervals are a 95 % bootstrap over pictures.
    """
    replaced, kept = study.replaced, study.counted & ~study.replaced
    judged = [(asked.flagged == asked.replaced).int() for asked in (study, elsewhere)]
    corrected = [(asked.answers.written == asked.original).int() for asked in (study, elsewhere)]

    def gain(correct: Sequence[Tensor], *masks: Tensor) -> Interval:
        counts = [((correct[0] - correct[1]) * mask).sum(dim=1) for mask in masks] + [mask.sum(dim=1) for mask in masks]

        def mean(rows: Float[ndarray, "row count"]) -> float:
            differences, words = rows.sum(axis=0).reshape(2, -1)
            return 100 * np.mean(differences / words)

        return interval(torch.stack(counts, dim=1).numpy(), study.images.numpy(), mean, times=2000)

    return {
        "found": gain(judged, replaced, kept),
        "put right": gain(corrected, replaced),
        "left right": gain(corrected, kept),
    }


# The same answers against the world's truth: a replaced word may well be true of the picture.

REPLACED = {True: "replaced, true", None: "replaced, undecided", False: "replaced, false"}  # by what the world says
WORDS = ("kept", *REPLACED.values())
SENTENCES = ("caption", "made wrong", "corrected")


@dataclass(frozen=True)
class WordTruth:
    """What the world says of the sentences and words of a study.

    Args:
        mismatched: by kind of word (`WORDS`) the share that the model judges as not fitting. A replaced word is true
            or false as the caption is with only that place changed.
        sentences: by stage (`SENTENCES`) the number of sentences with each truth label (1, 0, -1 undecided).
        restored: the share of corrections that give the caption again.
        true: the share of decided corrections that are true of the picture, over all sentences ("all") and by the kind
            of the only changed place.
    """

    mismatched: dict[str, Share]
    sentences: dict[str, dict[int, int]]
    restored: Share
    true: dict[str, Share]


def word_truth(model: Any, data: CaptionSet, study: WordStudy, *, above: float = 0.0) -> WordTruth:
    """Judge a study by the world of `data`.

    Args:
        model: the model of the study.
        data: a set with a world.
        study: what `word_study` returned.
        above: words are corrected from this mismatch on; the paper corrects all.

    Raises:
        ItmlabError: the data have no world.
    """
    require_truth(data.world, data)
    images, negatives = study.images, study.negatives
    sentences = [negative.sentence for negative in negatives]
    captions = [data.captions[negative.caption] for negative in negatives]
    answers = explained(cross_encoder_of(model), sentences, study.answers)
    corrected = [answer.corrected(above) for answer in answers]
    parse([*captions, *sentences, *corrected])  # fills the cache that the world reads

    def labels(texts: Sequence[str]) -> Int[Tensor, "row"]:
        judged = zip(images.tolist(), texts, strict=True)
        return torch.tensor([TRUTH_LABELS[data.world.entails(image, text)] for image, text in judged])

    of_stage = {stage: labels(texts) for stage, texts in zip(SENTENCES, (captions, sentences, corrected), strict=True)}
    restored = [new.casefold() == old.casefold() for new, old in zip(corrected, captions, strict=True)]
    after = of_stage["corrected"]
    decided = after >= 0
    of_kind = {kind: decided & torch.tensor([negative.kind == (kind,) for negative in negatives]) for kind in KINDS}
    chosen = {"all": decided} | {kind: rows for kind, rows in of_kind.items() if rows.any()}
    return WordTruth(
        _mismatched(data, study),
        {stage: {label: int((values == label).sum()) for label in (1, 0, -1)} for stage, values in of_stage.items()},
        share(torch.tensor(restored), images),
        {kind: share(after[rows] == 1, images[rows]) for kind, rows in chosen.items()},
    )


def _mismatched(data: CaptionSet, study: WordStudy) -> dict[str, Share]:
    """Return the share of pieces judged as not fitting, by kind of word."""
    sentences = {}  # for each row and changed place the caption with only that change
    for row, negative in enumerate(study.negatives):
        places = changed_places(negative, data.captions[negative.caption])
        sentences |= {(row, place): put_back(negative, places, without=place) for place in range(len(places))}
    parse(list(sentences.values()))
    rows, word = study.images[:, None].expand_as(study.place), torch.zeros_like(study.place)
    for (row, place), sentence in sentences.items():
        verdict = data.world.entails(int(study.images[row]), sentence)
        word[row, study.replaced[row] & (study.place[row] == place)] = WORDS.index(REPLACED[verdict])
    masks = {name: study.counted & (word == number) for number, name in enumerate(WORDS)}
    return {name: share(study.flagged[mask], rows[mask]) for name, mask in masks.items()}
