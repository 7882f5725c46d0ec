"""How often a cross-encoder judges and corrects words correctly, over many synthetic negatives.

The paper counts every word that is not the caption's as wrong. Only a world with known truth can say which of these
words are true of the picture all the same; `word_truth` asks it.

References:
    Fan et al. (2022), TAGS-DC, Sec. 4.4: accuracies of the heads H_WoD and H_WoC.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Interval, Share, percentile_interval, share
from itmlab.models import CrossEncoder
from itmlab.models.pairs import looked_at
from itmlab.synthesis import Negative
from itmlab.synthesis.tags import graphs_of
from itmlab.text import SceneGraph, phrases
from itmlab.text.alignment import Pieces, align, token_characters
from itmlab.text.graph import tokenise
from itmlab.text.tokens import plain_text

from .accuracies import WordAccuracy, word_accuracy
from .negatives import truth_labels_of
from .scoring import require_truth
from .words import WordAnswers, cross_encoder_of, spelled, word_answers

# Where a synthetic negative differs from its caption, in characters.

Place = tuple[int, int]  # the first character and the one behind the last


def changed_places(negative: Negative, caption: str) -> list[Place] | None:
    """Return the changed places of the sentence in order.

    None if restoring all of them does not give the caption again. Then the sentence was not made from the caption word
    by word (a retrieved sentence), or its tokeniser splits differently.
    """
    try:
        tokens = token_characters(negative.sentence, tokenise(negative.sentence))
        places = [(tokens[span.start][0], tokens[span.end - 1][1]) for span in negative.spans]
    except (ItmlabError, IndexError):
        return None
    replacements = [negative.sentence[start:end] for start, end in places]
    if not places or replacements != list(negative.replacement):
        return None
    return places if put_back(negative, places, range(len(places))) == caption else None


def put_back(negative: Negative, places: list[Place], chosen: Iterable[int]) -> str:
    """Return the sentence with the caption's words in the chosen places."""
    sentence = negative.sentence
    for place in sorted(chosen, reverse=True):
        start, end = places[place]
        sentence = sentence[:start] + negative.source[place] + sentence[end:]
    return sentence


def with_only(negative: Negative, places: list[Place], place: int) -> str:
    """Return the caption with a single one of the changes."""
    return put_back(negative, places, (other for other in range(len(places)) if other != place))


# A cross-encoder's answers for each piece of many negatives.

KINDS = ("object", "attribute", "relation", "other")  # of phrases; what lies outside all of them is "other"
OTHER = KINDS.index("other")


@dataclass(frozen=True)
class WordStudy:
    """A cross-encoder's answers on the words of synthetic negatives, position by position with their captions.

    Args:
        negatives: the sentences.
        answers: the model's answers.
        original: the caption's pieces.
        counted: True at pieces of words.
        kind: the kind of phrase that a piece belongs to, as an index of `KINDS`.
        place: the changed place that a piece belongs to, or -1.
        images: the image of each row.
        left_out: how many sentences have another number of pieces than their caption.
    """

    negatives: list[Negative]
    answers: WordAnswers
    original: Int[Tensor, "row piece"]
    counted: Bool[Tensor, "row piece"]
    kind: Int[Tensor, "row piece"]
    place: Int[Tensor, "row piece"]
    images: Int[Tensor, "row"]
    left_out: int

    @property
    def replaced(self) -> Bool[Tensor, "row piece"]:
        """Words that are not the caption's (G = 0 in Eq. 8)."""
        return self.counted & (self.answers.input_ids != self.original)

    def discrimination(self, kind: str | None = None, *, threshold: float = 0.5) -> WordAccuracy:
        """Return how often a word is judged correctly as kept or replaced: all words, or those of one of `KINDS`."""
        judged_kept = 1 - self.answers.mismatch >= threshold
        return word_accuracy(judged_kept == ~self.replaced, self.replaced, self._counted(kind), self.images)

    def correction(self, kind: str | None = None) -> WordAccuracy:
        """Return how often the model would write the caption's own piece: of all words, or of those of one kind."""
        correct = self.answers.written == self.original
        return word_accuracy(correct, self.replaced, self._counted(kind), self.images)

    def _counted(self, kind: str | None) -> Bool[Tensor, "row piece"]:
        return self.counted if kind is None else self.counted & (self.kind == KINDS.index(kind))


def word_study(model: Any, data: CaptionSet, negatives: Sequence[Negative]) -> WordStudy:
    """Ask a cross-encoder about every word of these negatives.

    Args:
        model: a cross-encoder, or a Run of one.
        data: the set whose captions the negatives were made from.
        negatives: with the numbers of their image and caption (`Negative.of`). Those that were truncated, or that have
            another number of pieces than their caption, are left out and counted.

    Raises:
        ItmlabError: no negative is left.
    """
    cross_encoder = cross_encoder_of(model)
    usable = _usable(cross_encoder, data, negatives)
    if not usable:
        message = f"none of {len(negatives)} negatives has its caption's words in the same positions"
        raise ItmlabError(message, where=data.name, remedy="use a generator that replaces words")
    chosen, captions = [negative for negative, _ in usable], [negative.caption for negative, _ in usable]
    image_of_row = torch.tensor([negative.image for negative in chosen])
    images, rows = image_of_row.unique(return_inverse=True)
    source = looked_at(cross_encoder, data)
    pictures = [source[image] for image in images.tolist()]
    answers = word_answers(cross_encoder, pictures, [negative.sentence for negative in chosen], rows.tolist())
    parsed, texts = graphs_of(data, captions), [data.captions[caption] for caption in captions]
    pieces = align(cross_encoder.tokenizer, texts, parsed, cross_encoder.config.maximum_tokens)
    kind, place = piece_kinds(pieces, parsed), torch.full(answers.input_ids.shape, -1)
    for row, (_, place_of_piece) in enumerate(usable):
        place[row, : len(place_of_piece)] = torch.tensor(place_of_piece)
    left_out = len(negatives) - len(chosen)
    return WordStudy(chosen, answers, pieces.input_ids, answers.word_mask, kind, place, image_of_row, left_out)


def _usable(
    cross_encoder: CrossEncoder, data: CaptionSet, negatives: Sequence[Negative]
) -> list[tuple[Negative, list[int]]]:
    """Return the negatives whose pieces correspond to their caption's and differ in the changed places only.

    Each comes with the number of the changed place for every piece, or -1.
    """
    usable, encode = [], cross_encoder.tokenizer.backend_tokenizer.encode
    for negative in negatives:
        caption = data.captions[negative.caption]
        places = changed_places(negative, caption)
        if places is None:
            continue
        changed, original = (encode(plain_text(text)) for text in (negative.sentence, caption))
        if len(changed.ids) != len(original.ids) or len(changed.ids) > cross_encoder.config.maximum_tokens:
            continue
        place_of_piece = [
            next((number for number, (start, end) in enumerate(places) if first < end and last > start), -1)
            for first, last in changed.offsets
        ]
        pairs = zip(changed.ids, original.ids, place_of_piece, strict=True)
        if all(piece == before or place >= 0 for piece, before, place in pairs):
            usable.append((negative, place_of_piece))
    return usable


def piece_kinds(pieces: Pieces, graphs: Sequence[SceneGraph]) -> Int[Tensor, "row piece"]:
    """Return for each piece the kind of the shortest phrase that contains its word, as an index of `KINDS`."""
    kinds = torch.full(pieces.input_ids.shape, OTHER)
    for row, graph in enumerate(graphs):
        of_word = torch.tensor([*_kinds(graph), OTHER])  # the last is for pieces of no word
        kinds[row] = of_word[pieces.first_word[row].clamp(max=len(of_word) - 1)]
    return kinds


def _kinds(graph: SceneGraph) -> list[int]:
    """Return for each token of the sentence the kind of the shortest phrase that contains it."""
    kinds = [OTHER] * len(graph.tokens)
    for phrase in sorted(phrases(graph), key=lambda phrase: phrase.span.start - phrase.span.end):  # the longest first
        kinds[phrase.span.start : phrase.span.end] = [KINDS.index(phrase.kind)] * (phrase.span.end - phrase.span.start)
    return kinds


def on_next_picture(model: Any, data: CaptionSet, study: WordStudy) -> WordStudy:
    """Ask about the same sentences beside the next picture of the data.

    What is judged correctly there as well was judged from the words alone.
    """
    shifted = [negative.of((negative.image + 1) % len(data.images), negative.caption) for negative in study.negatives]
    return replace(study, answers=word_study(model, data, shifted).answers)


def picture_worth(study: WordStudy, elsewhere: WordStudy, *, threshold: float = 0.5) -> dict[str, Interval]:
    """Return how many points accuracy gains from the right picture: `study` minus `elsewhere`, paired.

    Returns:
        "found" is the gain in balanced discrimination, "put right" and "left right" are the gains in the correction of
        replaced and of kept words. Intervals are a 95 % bootstrap over pictures.
    """
    both, picture = (study, elsewhere), study.images.unique(return_inverse=True)[1]
    pictures = int(picture.max()) + 1
    drawn = torch.randint(pictures, (2000, pictures), generator=torch.Generator().manual_seed(0))
    judged = [asked.replaced == (asked.answers.mismatch > threshold) for asked in both]
    corrected = [asked.answers.written == asked.original for asked in both]
    kept_words = study.counted & ~study.replaced

    def gains(here_correct: Tensor, elsewhere_correct: Tensor, words: Tensor) -> Float[Tensor, "1+draw"]:
        counts = [(mask & words).sum(1) for mask in (here_correct, elsewhere_correct, torch.ones_like(words))]
        sums = torch.zeros(pictures, 3).index_add(0, picture, torch.stack(counts, 1).float())
        sums = torch.cat([sums.sum(0)[None], sums[drawn].sum(1)])
        return 100 * (sums[:, 0] - sums[:, 1]) / sums[:, 2]

    worth = {
        "found": (gains(*judged, study.replaced) + gains(*judged, kept_words)) / 2,
        "put right": gains(*corrected, study.replaced),
        "left right": gains(*corrected, kept_words),
    }
    return {name: percentile_interval(gain[0].item(), gain[1:].double().numpy()) for name, gain in worth.items()}


# The same answers against the world's truth: a replaced word may well be true of the picture.

WORDS = ("kept", "replaced, true", "replaced, undecided", "replaced, false")
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


def word_truth(
    model: Any, data: CaptionSet, study: WordStudy, *, threshold: float = 0.5, above: float = 0.0
) -> WordTruth:
    """Judge a study by the world of `data`.

    Args:
        model: the model of the study.
        data: a set with a world.
        study: what `word_study` returned.
        threshold: a word does not fit if its probability of being kept is below it.
        above: words are corrected from this mismatch on; the paper corrects all.

    Raises:
        ItmlabError: the data have no world.
    """
    require_truth(data.world, data)
    cross_encoder, images = cross_encoder_of(model), study.images.tolist()
    sentences = [negative.sentence for negative in study.negatives]
    captions = [data.captions[negative.caption] for negative in study.negatives]
    corrected = [sentence.corrected(above) for sentence in spelled(cross_encoder, sentences, study.answers)]
    single_changes = {}  # for each row and changed place the caption with only that change
    for row, (negative, caption) in enumerate(zip(study.negatives, captions, strict=True)):
        places = changed_places(negative, caption) or []
        single_changes |= {(row, place): with_only(negative, places, place) for place in range(len(places))}
    stages = dict(zip(SENTENCES, (captions, sentences, corrected), strict=True))
    pairs = [pair for texts in stages.values() for pair in zip(images, texts, strict=True)]
    pairs += [(images[row], sentence) for (row, _), sentence in single_changes.items()]
    labels = truth_labels_of(data, pairs)
    of_stage = {
        stage: torch.tensor([labels[pair] for pair in zip(images, texts, strict=True)])
        for stage, texts in stages.items()
    }
    after, negatives = of_stage["corrected"], study.negatives
    chosen = {"all": after >= 0}
    for kind in KINDS:
        alone = torch.tensor([negative.kind == (kind,) for negative in negatives])
        if alone.any():
            chosen[kind] = (after >= 0) & alone
    restored = [new.casefold() == old.casefold() for new, old in zip(corrected, captions, strict=True)]
    of_place = {place: labels[images[place[0]], sentence] for place, sentence in single_changes.items()}
    return WordTruth(
        _mismatched(study, of_place, threshold),
        {stage: {label: int((values == label).sum()) for label in (1, 0, -1)} for stage, values in of_stage.items()},
        share(torch.tensor(restored), study.images),
        {kind: share(after[rows] == 1, study.images[rows]) for kind, rows in chosen.items()},
    )


def _mismatched(study: WordStudy, truth_labels: Mapping[tuple[int, int], int], threshold: float) -> dict[str, Share]:
    """Return the share of pieces judged as not fitting, by kind of word."""
    judged, rows = 1 - study.answers.mismatch < threshold, study.images[:, None].expand(study.counted.shape)
    word: Int[Tensor, "row piece"] = torch.full(study.counted.shape, WORDS.index("kept"))
    of_label = {1: 1, -1: 2, 0: 3}  # index of WORDS by truth label
    for row, piece in study.replaced.nonzero().tolist():
        word[row, piece] = of_label[truth_labels[row, int(study.place[row, piece])]]
    masks = {name: study.counted & (word == number) for number, name in enumerate(WORDS)}
    return {name: share(judged[mask], rows[mask]) for name, mask in masks.items()}
