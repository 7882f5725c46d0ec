"""Which words of a sentence do not fit a picture, and what the model would write.

TAGS-DC (Fan et al., 2022), Sec. 2.4 and Figure 4: the head H_WoD gives each piece of a word the probability that it was
replaced (Eq. 8), H_WoC the piece that belongs there (Eq. 9). A word's mismatch is the largest of its pieces'.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from PIL import Image
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.data.faults import one_line
from itmlab.data.pictures import read_image
from itmlab.errors import ItmlabError
from itmlab.losses.words import REPLACED
from itmlab.models import CrossEncoder
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at, on_device
from itmlab.synthesis import Negative
from itmlab.synthesis.refill import Vocabulary
from itmlab.text.tokens import plain_text

from .negatives import synthetic_negatives
from .scoring import as_score, matching, model_of


@dataclass(frozen=True)
class Word:
    """A word of a sentence, the characters `start` to `end` of it.

    `mismatch` is the largest probability of its pieces to have been replaced (H_WoD), `correction` what H_WoC would
    write there: the word as it stands where no piece of it would change. `joined` says that the correction goes on
    with the word before it, without a blank.
    """

    text: str
    start: int
    end: int
    mismatch: float
    correction: str
    joined: bool = False

    @property
    def rewritten(self) -> bool:
        """Whether the correction is another word."""
        return self.correction != self.text


@dataclass(frozen=True)
class ExplainedSentence:
    """A sentence on a picture: its words, in order, and by the name of each model the score s in [0, 1] (Eq. 3).

    >>> found = ExplainedSentence("a dog.", (Word("a", 0, 1, 0.1, "a"), Word("dog", 2, 5, 0.9, "cat")))
    >>> found.corrected(), found.corrected(0.95)
    ('a cat.', 'a dog.')
    """

    sentence: str
    words: tuple[Word, ...]
    scores: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """The scores, and each word that more likely does not fit than fits or that would be rewritten, on its line."""
        scores = ", ".join(f"{name} {100 * score:.1f} %" for name, score in self.scores.items())
        lines = [
            f"  {one_line(word.text)}: {100 * word.mismatch:.0f} %"
            + (f", rather {one_line(word.correction)}" if word.rewritten else "")
            for word in self.words
            if word.rewritten or word.mismatch > 0.5
        ]
        return "\n".join([f"“{one_line(self.sentence)}” {scores}".rstrip(), *lines])

    def corrected(self, above: float = 0.0) -> str:
        """The sentence with the corrections of words whose mismatch is `above` or more (the paper's: of all)."""
        return "".join(text for text, _ in self.parts(above))

    def parts(self, above: float = 0.0) -> list[tuple[str, bool]]:
        """The corrected sentence in parts, each with whether it was rewritten; what is between words is never."""
        found: list[tuple[str, bool]] = []
        at = 0
        for word in self.words:
            between, change = self.sentence[at : word.start], word.rewritten and word.mismatch >= above
            if change and word.joined and found:
                between = between.strip()
            elif not between and found and (change or found[-1][1]):
                run_on = found[-1][0][-1:].isalnum() and word.correction[:1].isalnum()
                between = " " if run_on else ""  # two words must not become one
            found += [(between, False), (word.correction if change else word.text, change)]
            at = word.end
        found.append((self.sentence[at:], False))
        return [part for part in found if part[0]]


# A cross-encoder asked what it makes of sentences on pictures: every head that speaks of words, and the score.

BATCH_SIZE = 64  # sentences through the cross-encoder


@dataclass(frozen=True)
class WordAnswers:
    """What a cross-encoder says of each piece of sentences, each on its picture; on the CPU, padded to the longest.

    `mismatch` is the probability of "replaced" (H_WoD), `written` the piece that H_WoC would write there, special ones
    never. `word_mask` is false at special pieces and padding, `match` the matching logit.
    """

    input_ids: Int[Tensor, "sentence piece"]
    word_mask: Bool[Tensor, "sentence piece"]
    mismatch: Float[Tensor, "sentence piece"]
    written: Int[Tensor, "sentence piece"]
    match: Float[Tensor, "sentence"]


def cross_encoder_of(model: Any) -> CrossEncoder:
    """The model itself, or the model of a Run; one that does not read words and picture together is an ItmlabError."""
    model = model_of(model)
    if model.encodes_apart:
        fault = f"{type(model).__name__} has no heads that discriminate and correct words"
        raise ItmlabError(fault, remedy="take a cross-encoder")
    return model


def word_answers(
    model: CrossEncoder, images: Sequence[Any], sentences: Sequence[str], image_of: Sequence[int] | None = None
) -> WordAnswers:
    """The answers on each sentence, on image `image_of[sentence]` (default: on image number sentence).

    Images are pictures or records of regions, whichever the model reads; each is embedded once. What is said of a
    sentence depends on no other. Pieces behind the model's `maximum_tokens` are not read.
    """
    rows = torch.arange(len(sentences)) if image_of is None else torch.as_tensor(image_of, dtype=torch.long)
    if not len(sentences) or rows.shape != (len(sentences),) or int(rows.max()) >= len(images):
        raise ItmlabError(
            f"{len(sentences)} sentences on {len(images)} images", remedy="give one or more, each with its image"
        )
    if model.reads == "regions" and not all(hasattr(image, "features") for image in images):
        raise ItmlabError("this model looks at regions, not at pictures", remedy="give records of `data.regions`")
    tokens = model.prepare_captions(sentences)
    ids, mask, word_mask = tokens["input_ids"], tokens["attention_mask"].bool(), tokens["word_mask"]
    mismatch, written = torch.zeros(ids.shape), torch.zeros_like(ids)
    match, allowed = torch.zeros(len(ids)), Vocabulary(model.tokenizer).allowed
    with evaluating(model):
        for some in torch.argsort(rows, stable=True).split(BATCH_SIZE):  # sentences on one image stand together
            different, at = rows[some].unique(return_inverse=True)
            pictures = model.prepare_images([images[image] for image in different.tolist()])
            regions = model.embed_regions(**on_device(model, pictures))
            length, device = int(mask[some].sum(dim=1).max()), regions.values.device
            given = ids[some, :length].to(device), mask[some, :length].to(device), regions.take(at.to(device))
            said = model(*given, heads=("itm", "wod", "woc"))
            mismatch[some, :length] = said.wod.float().softmax(dim=-1)[..., REPLACED].cpu()
            logits = said.woc.float().cpu()[..., : len(allowed)].masked_fill(~allowed, -torch.inf)
            written[some, :length] = logits.argmax(dim=-1)
            match[some] = said.itm.float().cpu()
    return WordAnswers(ids, word_mask, mismatch, written, match)


def explain_words(
    model: Any, picture: Any, sentences: Sequence[str], *, name: str | None = None
) -> list[ExplainedSentence]:
    """Each sentence as `model` explains it on one picture, its file or a record of regions; its score is under `name`.

    The model is a cross-encoder or a Run of one; only one trained with word discrimination and correction (TAGS-DC) has
    learnt to answer. Words behind its `maximum_tokens` are not read. A sentence without words is an ItmlabError.
    """
    picture = read_image(picture) if isinstance(picture, Path) else picture
    name = name or (model.recipe.name if hasattr(model, "recipe") else "model")
    return explained(model, [picture], sentences, [0] * len(sentences), name=name)


def explained(
    model: Any, pictures: Sequence[Any], sentences: Sequence[str], image_of: Sequence[int], *, name: str = "model"
) -> list[ExplainedSentence]:
    """The same for sentences on several pictures, sentence s on picture `image_of[s]`."""
    cross_encoder = cross_encoder_of(model)
    for number, sentence in enumerate(sentences):
        if not sentence.strip():
            raise ItmlabError(f"sentence {number} has no words", remedy="write what the picture may show")
    return spelled(cross_encoder, sentences, word_answers(cross_encoder, pictures, sentences, image_of), name)


def spelled(
    cross_encoder: CrossEncoder, sentences: Sequence[str], answers: WordAnswers, name: str = "model"
) -> list[ExplainedSentence]:
    """Answers on pieces as answers on the words of the sentences."""
    known, scores = Vocabulary(cross_encoder.tokenizer), answers.match.sigmoid().tolist()
    words = (tuple(_words(cross_encoder, known, sentence, answers, row)) for row, sentence in enumerate(sentences))
    return [ExplainedSentence(*one, {name: score}) for *one, score in zip(sentences, words, scores, strict=True)]


def corrections(
    model: Any, data: CaptionSet, images: Sequence[int], sentences: Sequence[str], above: float = 0.0
) -> list[str]:
    """Each sentence as the model would write it on image `images[s]` of the set (Eq. 9), word by word.

    Only words whose mismatch is `above` or more are rewritten; capital letters and punctuation stay as they were.
    """
    cross_encoder = cross_encoder_of(model)
    different, image_of = torch.as_tensor(images).unique(return_inverse=True)
    source = looked_at(cross_encoder, data)
    pictures = [source[image] for image in different.tolist()]
    return [one.corrected(above) for one in explained(cross_encoder, pictures, sentences, image_of.tolist())]


def _words(
    cross_encoder: CrossEncoder, known: Vocabulary, sentence: str, answers: WordAnswers, row: int
) -> Iterator[Word]:
    """The words that the cross-encoder reads, each with what it says of its pieces."""
    encoding = cross_encoder.tokenizer.backend_tokenizer.encode(plain_text(sentence))
    pieces: dict[int, list[int]] = {}
    last = min(len(encoding.ids), cross_encoder.config.maximum_tokens) - 1  # the closing piece
    for at, word in enumerate(encoding.word_ids[:last]):
        if word is not None:
            pieces.setdefault(word, []).append(at)
    for word, places in pieces.items():
        start, end = encoding.word_to_chars(word)
        own = sentence[start:end]
        drawn = tuple(answers.written[row, places].tolist())
        same = drawn == tuple(encoding.ids[place] for place in places)
        correction = own if same else known.words(drawn)
        if not same and own[:1].isupper():
            correction = correction[:1].upper() + correction[1:]
        joined = not same and not bool(known.beginning[drawn[0]]) and correction[:1].isalnum()
        yield Word(own, start, end, float(answers.mismatch[row, places].max()), correction, joined)


# One picture's rows of Figure 4: a caption, the sentence made wrong, and what the model makes of it.


@dataclass(frozen=True)
class Part:
    """A piece of a sentence without spaces in it.

    Args:
        blank: whether a space stands before it.
        mismatch: of a word that the model read, the probability that it does not fit.
        rewritten: whether the model wrote it.
    """

    text: str
    blank: bool
    mismatch: float | None = None
    rewritten: bool = False


@dataclass(frozen=True)
class WordRow:
    """A sentence in parts, its score by each model in [0, 1], and its truth label (1, 0, -1) where there is one."""

    name: str
    parts: tuple[Part, ...]
    scores: dict[str, float] = field(default_factory=dict)
    truth_label: int | None = None


@dataclass(frozen=True)
class WordExample:
    """A picture and what is said of it."""

    picture: Image.Image
    rows: tuple[WordRow, ...]


def word_example(
    models: Mapping[str, Any],
    data: CaptionSet,
    image: int,
    sentence: str,
    *,
    caption: str | None = None,
    above: float = 0.0,
) -> WordExample:
    """A sentence on an image of `data` as the last of the `models` (Runs or models), a cross-encoder, explains it.

    All of them score it, whatever their kinds. `caption` is what it was made of, if anything. Words are rewritten from
    a mismatch of `above` on. Where the data have a world, each sentence has its truth label.
    """
    if not models:
        raise ItmlabError("no model to explain words", remedy="give one or more by name")
    *others, name = models
    cross_encoder = cross_encoder_of(models[name])
    matches = {other: matching(models[other], data) for other in others}

    def told(sentences: Sequence[str]) -> list[ExplainedSentence]:
        answers = explained(
            cross_encoder, [looked_at(cross_encoder, data)[image]], sentences, [0] * len(sentences), name=name
        )
        asked = [image] * len(sentences), sentences
        found = {other: as_score(models[other], match(*asked)).tolist() for other, match in matches.items()}
        before = [{other: scores[at] for other, scores in found.items()} for at in range(len(sentences))]
        return [replace(one, scores=some | one.scores) for one, some in zip(answers, before, strict=True)]

    first = told([sentence] if caption is None else [sentence, caption])
    better = first[0].corrected(above)
    last = told([better])[0] if better.strip() else ExplainedSentence(better, ())
    rows = [] if caption is None else [WordRow("caption", tuple(_plain([(caption, False)])), first[1].scores)]
    rows += [
        WordRow("sentence" if caption is None else "made wrong", tuple(coloured(first[0])), first[0].scores),
        WordRow("corrected", tuple(_plain(first[0].parts(above))), last.scores),
    ]
    if data.world is not None:
        said = ([] if caption is None else [caption]) + [sentence, better]
        truth_labels = data.world.truth([image], said)[0].tolist()
        rows = [replace(row, truth_label=truth_label) for row, truth_label in zip(rows, truth_labels, strict=True)]
    return WordExample(data.images[image], tuple(rows))


def coloured(one: ExplainedSentence) -> Iterable[Part]:
    """The sentence as it stands; what the model did not read has no mismatch."""
    at = 0
    for word in one.words:
        between = one.sentence[at : word.start]
        yield from _plain([(between.strip(), False)])
        yield Part(word.text, blank=between[-1:].isspace(), mismatch=word.mismatch)
        at = word.end
    yield from _plain([(one.sentence[at:], False)])


def _plain(parts: Iterable[tuple[str, bool]]) -> Iterable[Part]:
    """Texts cut at blanks; those rewritten are marked so."""
    blank = False
    for text, rewritten in parts:
        blank |= text[:1].isspace()
        for piece in text.split():
            yield Part(piece, blank, rewritten=rewritten)
            blank = True
        blank = text[-1:].isspace() or (blank and not text.strip())


# One caption through Algorithm 1 (Figure 2): its maskings, what each is refilled with, what is kept, the words' heads.


@dataclass(frozen=True)
class Refilled:
    """A refilled sentence and s(I, T⁻); whether C1 `dropped` it; of the hardest, what is said of its `words`."""

    negative: Negative
    score: float
    dropped: bool
    words: ExplainedSentence | None


@dataclass(frozen=True)
class Algorithm1:
    """A caption with its picture and score s(I, T), and by masking, which stands as "[MASK]", the sentences made."""

    picture: Image.Image
    caption: str
    score: float
    maskings: dict[str, list[Refilled]]


def algorithm_1(
    run: Any,
    data: CaptionSet,
    caption: int,
    *,
    maskings: int = 4,
    samples: int = 4,
    keep: int = 4,
    temperature: float = 1.5,
    seed: int = 0,
) -> Algorithm1:
    """Algorithm 1 for one caption of the set by its number, with `run`'s cross-encoder in every part of it.

    `maskings` (K), `samples` (L), `keep` (m) and `temperature` (τ) are the paper's; a sentence is said once, with the
    masking that made it first. ItmlabError: a model without these heads, a caption that is not there.
    """
    cross_encoder = cross_encoder_of(run)
    drawing = {"run": run, "maskings": maskings, "samples": samples, "temperature": temperature, "seed": seed}
    every = synthetic_negatives(data, [caption], **drawing, keep=None, filtered=False)
    stay = [one.sentence for one in synthetic_negatives(data, [caption], **drawing, keep=None).all()]
    image, hardest = int(data.image_of_caption[caption]), stay[:keep]
    told = explain_words(run, looked_at(cross_encoder, data)[image], hardest) if hardest else []
    words, masked = dict(zip(hardest, told, strict=True)), {}
    for negative, score in zip(every.all(), every.scores[1].tolist(), strict=True):
        hidden = _hidden(cross_encoder, data.captions[caption], negative.masked)
        one = Refilled(negative, score, negative.sentence not in stay, words.get(negative.sentence))
        masked.setdefault(hidden, []).append(one)
    own = float(matching(run, data)([image], [data.captions[caption]])[0].sigmoid())
    return Algorithm1(data.images[image], data.captions[caption], own, masked)


def _hidden(cross_encoder: CrossEncoder, caption: str, places: Sequence[int]) -> str:
    """The caption with "[MASK]" for each of the pieces at these places."""
    offsets = cross_encoder.tokenizer.backend_tokenizer.encode(plain_text(caption)).offsets
    for start, end in (offsets[place] for place in reversed(places)):
        caption = f"{caption[:start]}[MASK]{caption[end:]}"
    return caption
