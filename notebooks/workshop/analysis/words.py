"""Which words of a sentence do not fit a picture, and what the model would write instead.

The head H_WoD gives each piece of a word the probability that it was replaced (Eq. 8). The head H_WoC gives the piece
that belongs there (Eq. 9). The mismatch of a word is the largest of its pieces'.

References:
    Fan et al. (2022), TAGS-DC, Sec. 2.4 and Figure 4.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from PIL import Image
from torch import Tensor

from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.losses.tags import REPLACED
from itmlab.metrics import CausalModel, fluency
from itmlab.metrics.statistics import Interval, interval
from itmlab.models import CrossEncoder
from itmlab.models.encoded import evaluating
from itmlab.models.pairs import looked_at, on_device
from itmlab.synthesis.tags import Vocabulary
from itmlab.text.tokens import plain_text

from .negatives import SyntheticNegatives, cross_encoder_of
from .scoring import as_score, matching


@dataclass(frozen=True)
class Word:
    """A word of a sentence and what the model says of it.

    Args:
        text: the word.
        start: its first character in the sentence.
        end: the character behind its last.
        mismatch: the largest probability of its pieces to have been replaced (H_WoD).
        correction: what H_WoC would write there; the word itself if no piece would change.
        joined: whether the correction continues the word before it, without a space.
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


class Part(NamedTuple):
    """A piece of a sentence, the probability that it does not fit (None: not read), and whether the model wrote it."""

    text: str
    mismatch: float | None = None
    rewritten: bool = False


@dataclass(frozen=True)
class ExplainedSentence:
    """A sentence about a picture, and its words in order.

    >>> sentence = ExplainedSentence("a dog.", (Word("a", 0, 1, 0.1, "a"), Word("dog", 2, 5, 0.9, "cat")))
    >>> sentence.corrected(), sentence.corrected(0.95)
    ('a cat.', 'a dog.')
    """

    sentence: str
    words: tuple[Word, ...]

    def corrected(self, above: float = 0.0) -> str:
        """Return the sentence with the words corrected whose mismatch is at least `above` (in the paper: all)."""
        return "".join(part.text for part in self.parts(above))

    def parts(self, above: float = 0.0) -> list[Part]:
        """Return the corrected sentence in parts; words that stay have their mismatch.

        Text between words is never rewritten.
        """
        parts: list[Part] = []
        position = 0
        for word in self.words:
            between, is_rewritten = self.sentence[position : word.start], word.rewritten and word.mismatch >= above
            part = Part(word.correction, None, True) if is_rewritten else Part(word.text, word.mismatch)
            if is_rewritten and word.joined and parts:
                between = between.strip()
            elif not between and parts and (is_rewritten or parts[-1].rewritten):
                would_merge = parts[-1].text[-1:].isalnum() and part.text[:1].isalnum()
                between = " " if would_merge else ""  # two words must not become one
            parts += [Part(between), part]
            position = word.end
        return [part for part in [*parts, Part(self.sentence[position:])] if part.text]


# What a cross-encoder answers for sentences about pictures.

BATCH_SIZE = 64  # sentences through the cross-encoder


@dataclass(frozen=True)
class WordAnswers:
    """A cross-encoder's answers for each piece of sentences, on the CPU, padded to the longest sentence.

    Args:
        input_ids: the pieces.
        word_mask: False at special pieces and padding.
        mismatch: the probability of "replaced" (H_WoD).
        written: the piece that H_WoC would write, never a special one.
    """

    input_ids: Int[Tensor, "sentence piece"]
    word_mask: Bool[Tensor, "sentence piece"]
    mismatch: Float[Tensor, "sentence piece"]
    written: Int[Tensor, "sentence piece"]


def word_answers(
    model: CrossEncoder, images: Sequence[Any], sentences: Sequence[str], image_of: Sequence[int]
) -> WordAnswers:
    """Ask a cross-encoder about sentences. The answer for one sentence does not depend on the others.

    Args:
        model: the cross-encoder.
        images: pictures or records of regions, whichever the model reads.
        sentences: the sentences; pieces behind the model's `maximum_tokens` are not read.
        image_of: the number of each sentence's image.

    Raises:
        ItmlabError: there is no sentence.
    """
    tokens, rows = model.prepare_captions(sentences), torch.as_tensor(image_of)
    ids, mask = tokens["input_ids"], tokens["attention_mask"].bool()
    allowed = Vocabulary(model.tokenizer).allowed
    mismatch, written = [], []
    with evaluating(model):
        for batch in torch.arange(len(ids)).split(BATCH_SIZE):
            image_numbers, image_of_row = rows[batch].unique(return_inverse=True)
            pictures = model.prepare_images([images[image] for image in image_numbers.tolist()])
            regions = model.embed_regions(**on_device(model, pictures)).take(on_device(model, image_of_row))
            text = on_device(model, ids[batch]), on_device(model, mask[batch])
            outputs = model(*text, regions, heads=("wod", "woc"))
            mismatch.append(outputs.wod.float().softmax(dim=-1)[..., REPLACED].cpu())
            logits = outputs.woc.float().cpu()[..., : len(allowed)].masked_fill(~allowed, -torch.inf)
            written.append(logits.argmax(dim=-1))
    return WordAnswers(ids, tokens["word_mask"], torch.cat(mismatch), torch.cat(written))


def explain_words(model: Any, picture: Any, sentences: Sequence[str]) -> list[ExplainedSentence]:
    """Explain sentences about one picture word by word.

    Args:
        model: a cross-encoder or a Run of one. Only a model trained with word discrimination and correction (TAGS-DC)
            has learnt to answer.
        picture: a picture or a record of regions.
        sentences: words behind the model's `maximum_tokens` are not read.

    Raises:
        ItmlabError: a sentence has no words, or the picture is not of the kind that the model reads.
    """
    cross_encoder = cross_encoder_of(model)
    for number, sentence in enumerate(sentences):
        if not sentence.strip():
            raise ItmlabError(f"sentence {number} has no words", remedy="describe what the picture may show")
    if cross_encoder.reads == "regions" and not hasattr(picture, "features"):
        raise ItmlabError("this model looks at regions, not at pictures", remedy="give a record of `data.regions`")
    return explained(cross_encoder, [picture], sentences, [0] * len(sentences))


def explained(
    cross_encoder: CrossEncoder, images: Sequence[Any], sentences: Sequence[str], image_of: Sequence[int]
) -> list[ExplainedSentence]:
    """Explain sentences about several pictures; the arguments are those of `word_answers`.

    A correction begins with a capital letter where its word does.
    """
    answers = word_answers(cross_encoder, images, sentences, image_of)
    vocabulary, encode = Vocabulary(cross_encoder.tokenizer), cross_encoder.tokenizer.backend_tokenizer.encode
    results = []
    for row, sentence in enumerate(sentences):
        encoding, words = encode(plain_text(sentence)), []
        for _, pieces in groupby(answers.word_mask[row].nonzero()[:, 0].tolist(), encoding.word_ids.__getitem__):
            positions = list(pieces)
            start, end = encoding.offsets[positions[0]][0], encoding.offsets[positions[-1]][1]
            text, written = sentence[start:end], tuple(answers.written[row, positions].tolist())
            correction, joined = text, False
            if written != tuple(encoding.ids[position] for position in positions):
                correction = vocabulary.words(written)
                joined = not bool(vocabulary.beginning[written[0]]) and correction[:1].isalnum()
                if text[:1].isupper():
                    correction = correction[:1].upper() + correction[1:]
            mismatch = answers.mismatch[row, positions].max().item()
            words.append(Word(text, start, end, mismatch, correction, joined))
        results.append(ExplainedSentence(sentence, tuple(words)))
    return results


# Fluency of captions, negatives and corrected negatives (Table 3).


def fluency_table(
    made: Mapping[str, SyntheticNegatives], *, model: str | CausalModel = "scenes", corrected_by: Any = None
) -> dict[str, dict[str, Interval]]:
    """Return median and mean perplexity of the captions, of named negatives and of corrected negatives.

    The paper prints means; outliers do not move the median. Sentences without words are left out.

    Args:
        made: negatives by name. The captions are those of the first one.
        model: a causal language model by name, folder or in memory.
        corrected_by: a cross-encoder with H_WoC, which rewrites the first negatives ("corrected").
    """
    first = next(iter(made.values()))
    images = first.data.image_of_caption[list(first.captions)].tolist()
    sentences_of = {"captions": ([first.data.captions[number] for number in first.captions], images)}
    for name, source in made.items():
        sentences, images = [negative.sentence for negative in source.all()], source.images.tolist()
        sentences_of[name] = sentences, images
        if source is first and corrected_by is not None:
            model_of_words = cross_encoder_of(corrected_by)
            rewritten = explained(model_of_words, looked_at(model_of_words, source.data), sentences, images)
            sentences_of["corrected"] = [sentence.corrected() for sentence in rewritten], images
    table = {}
    for name, (sentences, images) in sentences_of.items():
        measured = fluency(sentences, model)
        known = measured.tokens > 0
        cases = measured.perplexity[known].numpy(), torch.tensor(images)[known].numpy()
        table[name] = {"median perplexity": interval(*cases, np.median), "mean perplexity": interval(*cases)}
    return table


# One picture's rows of Figure 4: a caption, the altered sentence, and the model's correction.


@dataclass(frozen=True)
class WordRow:
    """A sentence in parts, each model's score in [0, 1], and the truth label (1, 0, -1; None without a world)."""

    name: str
    parts: Sequence[Part]
    scores: dict[str, float] = field(default_factory=dict)
    truth_label: int | None = None


@dataclass(frozen=True)
class WordExample:
    """A picture and the rows of sentences about it."""

    picture: Image.Image
    rows: Sequence[WordRow]


def word_example(
    models: dict[str, Any], data: CaptionSet, image: int, sentence: str, *, caption: str | None = None, above: float = 0
) -> WordExample:
    """Explain a sentence about an image of `data`, and correct it.

    Args:
        models: Runs or models by name. The last one, a cross-encoder, explains; all of them score.
        data: where it has a world, each sentence gets its truth label.
        image: the number of the image.
        sentence: the sentence to explain.
        caption: the caption that the sentence was made from, if there is one.
        above: words are rewritten from this mismatch on.
    """
    cross_encoder = cross_encoder_of(list(models.values())[-1])
    (answer,) = explain_words(cross_encoder, looked_at(cross_encoder, data)[image], [sentence])
    parts_of = {} if caption is None else {"caption": [Part(caption)]}
    parts_of["sentence" if caption is None else "made wrong"] = answer.parts(math.inf)
    parts_of["corrected"] = [part._replace(mismatch=None) for part in answer.parts(above)]
    texts = ["".join(part.text for part in parts) for parts in parts_of.values()]
    scores = {
        name: as_score(model, matching(model, data)([image] * len(texts), texts)).tolist()
        for name, model in models.items()
    }
    labels = [None] * len(texts) if data.world is None else data.world.truth([image], texts)[0].tolist()
    rows = [
        WordRow(name, parts, {model: values[number] for model, values in scores.items()}, labels[number])
        for number, (name, parts) in enumerate(parts_of.items())
    ]
    return WordExample(data.images[image], rows)
