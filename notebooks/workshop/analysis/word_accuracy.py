"""Word discrimination and correction over many synthetic negatives: how often right, and right by the world's truth.

TAGS-DC (Fan et al., 2022), Sec. 4.4: accuracies of H_WoD and H_WoC, whole and by type of phrase. The paper counts any
word that is not the caption's as wrong; only a world can say which of them are true of the picture all the same.
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
from itmlab.text import SceneGraph, phrases
from itmlab.text.alignment import Pieces, align, token_characters
from itmlab.text.graph import tokenise
from itmlab.text.tokens import plain_text

from .accuracies import WordAccuracy, word_correction_accuracy, word_discrimination_accuracy
from .negatives import graphs, truth_labels_of
from .words import WordAnswers, cross_encoder_of, spelled, word_answers

# Where a synthetic negative was changed, letter for letter: to put any of its places back as they were.

Place = tuple[int, int]  # its first character, and the one behind its last


def changed_places(negative: Negative, caption: str) -> list[Place] | None:
    """First and behind-the-last character of each changed place of the sentence, in order.

    None where putting all of them back does not give the caption again: such a sentence was not made of it word by
    word (a retrieved one), or by a tokeniser of words that cuts otherwise.
    """
    try:
        tokens = token_characters(negative.sentence, tokenise(negative.sentence))
        places = [(tokens[span.start][0], tokens[span.end - 1][1]) for span in negative.spans]
    except (ItmlabError, IndexError):
        return None
    said = [negative.sentence[start:end] for start, end in places]
    if not places or said != list(negative.replacement):
        return None
    return places if put_back(negative, places, range(len(places))) == caption else None


def put_back(negative: Negative, places: list[Place], chosen: Iterable[int]) -> str:
    """The sentence with the words that these places had in its caption."""
    sentence = negative.sentence
    for place in sorted(chosen, reverse=True):
        start, end = places[place]
        sentence = sentence[:start] + negative.source[place] + sentence[end:]
    return sentence


def with_only(negative: Negative, places: list[Place], place: int) -> str:
    """The caption with this one of the changes."""
    return put_back(negative, places, (other for other in range(len(places)) if other != place))


# How often each word of many negatives is told rightly, piece by piece.

KINDS = ("object", "attribute", "relation", "other")  # of phrases; what lies outside all of them is "other"
OTHER = KINDS.index("other")


@dataclass(frozen=True)
class WordStudy:
    """A cross-encoder's answers on the words of sentences that were made wrong, piece under piece with their captions.

    `original` holds the caption's pieces, `kind` the type of phrase that a piece stands in (a number into `KINDS`),
    `place` the changed place that it stands in (-1: none), `counted` is true at pieces of words. `images` are the
    rows' in the data. `left_out` counts the sentences that have another number of pieces than their caption.
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
        """Is a word said to be replaced exactly when it is? Of all words, or of those in phrases of one kind."""
        kept = 1 - self.answers.mismatch
        rows = self.answers.input_ids, self.original, self._counted(kind)
        return word_discrimination_accuracy(kept, *rows, threshold=threshold, images=self.images)

    def correction(self, kind: str | None = None) -> WordAccuracy:
        """Is the piece that the model would write the caption's own? Of all words, or of those of one kind."""
        rows = self.answers.input_ids, self.original, self._counted(kind)
        return word_correction_accuracy(self.answers.written, *rows, images=self.images)

    def _counted(self, kind: str | None) -> Bool[Tensor, "row piece"]:
        if kind is None:
            return self.counted
        if kind not in KINDS:
            raise ItmlabError(f"no kind of phrase {kind!r}", remedy=f"the kinds are {', '.join(KINDS)}")
        return self.counted & (self.kind == KINDS.index(kind))


def word_study(model: Any, data: CaptionSet, negatives: Sequence[Negative]) -> WordStudy:
    """What a cross-encoder or Run says of every word of these negatives of captions of `data`.

    They carry the numbers of their image and caption (`Negative.of`), and must have been made word by word: those with
    another number of pieces than their caption, or cut, are left out and counted. None left is an ItmlabError.
    """
    cross_encoder = cross_encoder_of(model)
    usable = _usable(cross_encoder, data, negatives)
    if not usable:
        raise ItmlabError(
            f"none of {len(negatives)} negatives has its caption's words in its places",
            where=data.name,
            remedy="give those of a generator that replaces words, numbered by image and caption",
        )
    kept, captions = [one for one, _ in usable], [one.caption for one, _ in usable]
    image_of = torch.tensor([one.image for one in kept])
    images, rows = image_of.unique(return_inverse=True)
    source = looked_at(cross_encoder, data)
    pictures = [source[image] for image in images.tolist()]
    answers = word_answers(cross_encoder, pictures, [one.sentence for one in kept], rows.tolist())
    parsed = graphs(data, captions)
    pieces = align(
        cross_encoder.tokenizer, [data.captions[at] for at in captions], parsed, cross_encoder.config.maximum_tokens
    )
    length = answers.input_ids.shape[1]  # of a row, its caption has as many
    kind, place = piece_kinds(pieces, parsed)[:, :length], torch.full(answers.input_ids.shape, -1)
    for row, (_, inside) in enumerate(usable):
        place[row, : len(inside)] = torch.tensor(inside)
    left_out = len(negatives) - len(kept)
    return WordStudy(kept, answers, pieces.input_ids, answers.word_mask, kind, place, image_of, left_out)


def _usable(
    cross_encoder: CrossEncoder, data: CaptionSet, negatives: Sequence[Negative]
) -> list[tuple[Negative, list[int]]]:
    """The negatives whose pieces stand under those of their captions, and differ in the changed places only.

    With each, for every piece the number of the changed place that it stands in, or -1.
    """
    found, encode = [], cross_encoder.tokenizer.backend_tokenizer.encode
    for negative in negatives:
        if not 0 <= negative.caption < len(data.captions):
            raise ItmlabError(
                f"{negative.sentence[:60]!r} is of no caption of the data", remedy="number it: Negative.of"
            )
        caption = data.captions[negative.caption]
        where = changed_places(negative, caption)
        if where is None:
            continue
        made, was = (encode(plain_text(text)) for text in (negative.sentence, caption))
        if len(made.ids) != len(was.ids) or len(made.ids) > cross_encoder.config.maximum_tokens:
            continue
        inside = [
            next((at for at, (start, end) in enumerate(where) if first < end and last > start), -1)
            for first, last in made.offsets
        ]
        if all(one == other or at >= 0 for one, other, at in zip(made.ids, was.ids, inside, strict=True)):
            found.append((negative, inside))
    return found


def piece_kinds(pieces: Pieces, graphs: Sequence[SceneGraph]) -> Int[Tensor, "row piece"]:
    """For each piece the kind of the shortest phrase that its word stands in, as a number into `KINDS`."""
    found = torch.full(pieces.input_ids.shape, OTHER)
    for row, graph in enumerate(graphs):
        of_word = torch.tensor([*_kinds(graph), OTHER])  # the last for pieces of no word
        found[row] = of_word[pieces.first_word[row].clamp(max=len(of_word) - 1)]
    return found


def _kinds(graph: SceneGraph) -> list[int]:
    """For each token of the sentence the kind of the shortest phrase that it stands in."""
    kinds = [OTHER] * len(graph.tokens)
    for phrase in sorted(phrases(graph), key=lambda one: one.span.start - one.span.end):  # the longest first
        kinds[phrase.span.start : phrase.span.end] = [KINDS.index(phrase.kind)] * (phrase.span.end - phrase.span.start)
    return kinds


def on_next_picture(model: Any, data: CaptionSet, study: WordStudy) -> WordStudy:
    """The same sentences asked beside the next picture of the data: what is told as well there is told from words."""
    shifted = [one.of((one.image + 1) % len(data.images), one.caption) for one in study.negatives]
    return replace(study, answers=word_study(model, data, shifted).answers)


def picture_worth(study: WordStudy, elsewhere: WordStudy, *, threshold: float = 0.5) -> dict[str, Interval]:
    """How many points more of the words are told rightly beside their own picture than in `elsewhere`, paired.

    "found" is the mean over replaced and kept words of discrimination (balanced), "put right" and "left right" are
    corrections of the replaced and of the kept; 95 % bootstrap over pictures. ItmlabError: studies of other sentences.
    """
    if study.replaced.shape != elsewhere.replaced.shape or not study.replaced.equal(elsewhere.replaced):
        remedy = "ask the same sentences: on_next_picture"
        raise ItmlabError("two studies of other sentences", where="picture_worth", remedy=remedy)
    both, picture = (study, elsewhere), study.images.unique(return_inverse=True)[1]
    found = [one.replaced == (one.answers.mismatch > threshold) for one in both]
    written = [one.answers.written == one.original for one in both]
    kept, pictures = study.counted & ~study.replaced, int(picture.max()) + 1
    drawn = torch.randint(pictures, (2000, pictures), generator=torch.Generator().manual_seed(0))

    def gained(own: Tensor, other: Tensor, words: Tensor) -> Float[Tensor, "1+draw"]:
        counts = torch.stack([(each & words).sum(1) for each in (own, other, torch.ones_like(words))], 1)
        sums = torch.zeros(pictures, 3).index_add(0, picture, counts.float())
        sums = torch.cat([sums.sum(0)[None], sums[drawn].sum(1)])
        return 100 * (sums[:, 0] - sums[:, 1]) / sums[:, 2]

    worth = {"found": (gained(*found, study.replaced) + gained(*found, kept)) / 2}
    worth |= {"put right": gained(*written, study.replaced), "left right": gained(*written, kept)}
    return {name: percentile_interval(each[0].item(), each[1:].double().numpy()) for name, each in worth.items()}


# Word discrimination and correction against the world's truth: a replaced word may well be true of the picture.

WORDS = ("kept", "replaced, true", "replaced, undecided", "replaced, false")
SENTENCES = ("caption", "made wrong", "corrected")


@dataclass(frozen=True)
class WordTruth:
    """What the world says of the sentences and words of a study.

    `mismatched[words]` is the share of them that the model says do not fit; a replaced word is true or false as the
    caption is with only that place changed. `sentences[stage]` counts truth labels: 1 true, 0 false, -1 undecided.
    `restored` is the share of corrections that give the caption again, `true` that of those decided that are true of
    the picture, by the kind of the only place that was changed ("all": of all sentences).
    """

    mismatched: dict[str, Share]
    sentences: dict[str, dict[int, int]]
    restored: Share
    true: dict[str, Share]


def word_truth(
    model: Any, data: CaptionSet, study: WordStudy, *, threshold: float = 0.5, above: float = 0.0
) -> WordTruth:
    """Judge a study of `model` by `data`'s world; without a world it is an ItmlabError.

    A word does not fit if its probability of being kept is below `threshold`. Correction rewrites words from a
    mismatch of `above` on (the paper: all of them).
    """
    if data.world is None:
        remedy = "use the data set scenes"
        raise ItmlabError("only a world says which sentences are true", where=data.name, remedy=remedy)
    cross_encoder, images = cross_encoder_of(model), study.images.tolist()
    made = [one.sentence for one in study.negatives]
    captions = [data.captions[one.caption] for one in study.negatives]
    corrected = [each.corrected(above) for each in spelled(cross_encoder, made, study.answers)]
    alone = {}  # for each row and changed place the caption with only that change
    for row, (negative, caption) in enumerate(zip(study.negatives, captions, strict=True)):
        places = changed_places(negative, caption) or []
        alone |= {(row, place): with_only(negative, places, place) for place in range(len(places))}
    whole = zip(images * len(SENTENCES), captions + made + corrected, strict=True)
    truth_label = truth_labels_of(data, [*whole, *((images[row], one) for (row, _), one in alone.items())])
    said = {
        stage: torch.tensor([truth_label[pair] for pair in zip(images, sentences, strict=True)])
        for stage, sentences in zip(SENTENCES, (captions, made, corrected), strict=True)
    }
    after, decided = said["corrected"], said["corrected"] >= 0
    kinds = [one.kind[0] if len(one.kind) == 1 else "" for one in study.negatives]
    chosen = {kind: decided & torch.tensor([each == kind for each in kinds]) for kind in KINDS if kind in kinds}
    restored = [new.casefold() == old.casefold() for new, old in zip(corrected, captions, strict=True)]
    of_place = {place: truth_label[images[place[0]], one] for place, one in alone.items()}
    return WordTruth(
        _mismatched(study, of_place, threshold),
        {stage: {sort: int((found == sort).sum()) for sort in (1, 0, -1)} for stage, found in said.items()},
        share(torch.tensor(restored), study.images),
        {kind: share(after[rows] == 1, study.images[rows]) for kind, rows in {"all": decided, **chosen}.items()},
    )


def _mismatched(study: WordStudy, truth_labels: Mapping[tuple[int, int], int], threshold: float) -> dict[str, Share]:
    """How many pieces of words of each sort are said not to fit."""
    said, owners = 1 - study.answers.mismatch < threshold, study.images[:, None].expand(study.counted.shape)
    sort: Int[Tensor, "row piece"] = torch.full(study.counted.shape, WORDS.index("kept"))
    number = {1: 1, -1: 2, 0: 3}  # of WORDS, by truth label
    for row, piece in study.replaced.nonzero().tolist():
        sort[row, piece] = number[truth_labels[row, int(study.place[row, piece])]]
    masks = {name: study.counted & (sort == number) for number, name in enumerate(WORDS)}
    return {name: share(said[mask], owners[mask]) for name, mask in masks.items()}
