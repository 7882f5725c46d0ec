"""One picture's rows of TAGS-DC's Figure 4: a caption, the sentence made wrong, and what the model makes of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Literal

from PIL import Image

from ..data.captionset import CaptionSet
from ..errors import ItmlabError
from ..training.reading import looked_at
from .explained_sentence import ExplainedSentence
from .matching import as_score, matching
from .one_towers import one_tower_of
from .words import explained


@dataclass(frozen=True)
class Part:
    """Some letters without a blank in them; `blank` stands before them. Of a word, its mismatch or its `mark`.

    "restored": rewritten to the caption's word; "other": rewritten to another; "missed": left, though not the
    caption's; "rewritten": the caption is not known.
    """

    text: str
    blank: bool
    mismatch: float | None = None
    mark: Literal["restored", "other", "missed", "rewritten"] | None = None


@dataclass(frozen=True)
class WordRow:
    """A sentence in parts, its score by each model in [0, 1], and the world's verdict (1, 0, -1) where there is one."""

    name: str
    parts: tuple[Part, ...]
    scores: dict[str, float] = field(default_factory=dict)
    verdict: int | None = None


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
    """A sentence on an image of `data` as the last of the `models` (Runs or models), a one tower, explains it.

    All of them score it, whatever their kinds. `caption` is what it was made of, if anything. Words are rewritten from
    a mismatch of `above` on. Where the data have a world, each sentence has its verdict.
    """
    if not models:
        raise ItmlabError("no model to explain words", remedy="give one or more by name")
    *others, name = models
    tower = one_tower_of(models[name])
    matches = {other: matching(models[other], data) for other in others}

    def told(sentences: Sequence[str]) -> list[ExplainedSentence]:
        answers = explained(tower, [looked_at(tower, data)[image]], sentences, [0] * len(sentences), name=name)
        scores = {
            other: as_score(models[other], match([image] * len(sentences), sentences)).tolist()
            for other, match in matches.items()
        }
        return [
            replace(one, scores={other: row[at] for other, row in scores.items()} | one.scores)
            for at, one in enumerate(answers)
        ]

    first = told([sentence] if caption is None else [sentence, caption])
    own = None if caption is None else [word.text.casefold() for word in first[1].words]
    better = first[0].corrected(above)
    last = told([better])[0] if better.strip() else ExplainedSentence(better, ())
    rows = [] if caption is None else [WordRow("caption", tuple(_plain([(caption, False)])), first[1].scores)]
    rows += [
        WordRow("sentence" if caption is None else "made wrong", tuple(_coloured(first[0])), first[0].scores),
        WordRow("corrected", tuple(_marked(_plain(first[0].parts(above)), own)), last.scores),
    ]
    if data.world is not None:
        said = ([] if caption is None else [caption]) + [sentence, better]
        verdicts = data.world.truth([image], said)[0].tolist()
        rows = [replace(row, verdict=verdict) for row, verdict in zip(rows, verdicts, strict=True)]
    return WordExample(data.images[image], tuple(rows))


def _coloured(one: ExplainedSentence) -> Iterable[Part]:
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
            yield Part(piece, blank, mark="rewritten" if rewritten else None)
            blank = True
        blank = text[-1:].isspace() or (blank and not text.strip())


def _marked(parts: Iterable[Part], caption: Sequence[str] | None) -> Iterable[Part]:
    """With the marks that comparing with the caption's words gives."""
    parts = list(parts)
    if caption is None:
        yield from parts
        return
    said = [part.text.casefold() for part in parts]
    if len(said) == len(caption):
        kept = {at for at, (one, other) in enumerate(zip(said, caption, strict=True)) if one == other}
    else:
        blocks = SequenceMatcher(None, said, caption, autojunk=False).get_matching_blocks()
        kept = {block.a + at for block in blocks for at in range(block.size)}
    for number, part in enumerate(parts):
        rewritten, its_own = part.mark is not None, number in kept
        mark = ("restored" if its_own else "other") if rewritten else (None if its_own else "missed")
        yield replace(part, mark=mark)
