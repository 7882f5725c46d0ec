"""Which words of a sentence do not fit a picture, and what the model would write (TAGS-DC, Sec. 2.4 and Figure 4)."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..models import OneTower
from ..synthesis.vocabulary import Vocabulary
from ..text.tokenise import plain_text
from ..training.reading import looked_at
from .explained_sentence import ExplainedSentence, Word
from .one_towers import WordAnswers, one_tower_of, word_answers


def words(model: Any, picture: Any, sentences: Sequence[str], *, name: str = "model") -> list[ExplainedSentence]:
    """Each sentence explained by `model` on one picture (or record of regions), with its score under `name`.

    The model is a one tower or a Run of one; only one trained with word discrimination and correction (TAGS-DC) has
    learnt to answer. Words behind its `maximum_tokens` are not read. A sentence without words is an ItmlabError.
    """
    return explained(model, [picture], sentences, [0] * len(sentences), name=name)


def explained(
    model: Any, pictures: Sequence[Any], sentences: Sequence[str], image_of: Sequence[int], *, name: str = "model"
) -> list[ExplainedSentence]:
    """The same for sentences on several pictures, sentence s on picture `image_of[s]`."""
    tower = one_tower_of(model)
    for number, sentence in enumerate(sentences):
        if not sentence.strip():
            raise ItmlabError(f"sentence {number} has no words", remedy="write what the picture may show")
    return spelled(tower, sentences, word_answers(tower, pictures, sentences, image_of), name)


def spelled(
    tower: OneTower, sentences: Sequence[str], answers: WordAnswers, name: str = "model"
) -> list[ExplainedSentence]:
    """Answers on pieces as answers on the words of the sentences."""
    vocabulary, scores = Vocabulary(tower.tokenizer), answers.match.sigmoid().tolist()
    return [
        ExplainedSentence(
            sentence,
            tuple(_words(tower, vocabulary, sentence, answers.mismatch[row], answers.written[row])),
            {name: scores[row]},
        )
        for row, sentence in enumerate(sentences)
    ]


def corrections(
    model: Any, data: CaptionSet, images: Sequence[int], sentences: Sequence[str], above: float = 0.0
) -> list[str]:
    """Each sentence as the model would write it on image `images[s]` of the set (Eq. 9), word by word.

    Only words whose mismatch is `above` or more are rewritten; capital letters and punctuation stay as they were.
    """
    tower = one_tower_of(model)
    different, image_of = torch.as_tensor(images).unique(return_inverse=True)
    source = looked_at(tower, data)
    pictures = [source[image] for image in different.tolist()]
    return [one.corrected(above) for one in explained(tower, pictures, sentences, image_of.tolist())]


def _words(
    tower: OneTower,
    vocabulary: Vocabulary,
    sentence: str,
    mismatch: Float[Tensor, "piece"],
    written: Int[Tensor, "piece"],
) -> Iterator[Word]:
    """The words that the tower reads, each with what it says of its pieces."""
    text = plain_text(sentence)
    encoding = tower.tokenizer.backend_tokenizer.encode(text)
    pieces: dict[int, list[int]] = {}
    last = min(len(encoding.ids), tower.config.maximum_tokens) - 1  # the closing piece
    for at, word in enumerate(encoding.word_ids[:last]):
        if word is not None:
            pieces.setdefault(word, []).append(at)
    for word, places in pieces.items():
        start, end = encoding.word_to_chars(word)
        own = sentence[start:end]
        drawn = tuple(written[places].tolist())
        same = drawn == tuple(encoding.ids[place] for place in places)
        correction = own if same else vocabulary.words(drawn)
        if not same and own[:1].isupper():
            correction = correction[:1].upper() + correction[1:]
        joined = not same and not bool(vocabulary.beginning[drawn[0]]) and correction[:1].isalnum()
        yield Word(own, start, end, float(mismatch[places].max()), correction, joined)
