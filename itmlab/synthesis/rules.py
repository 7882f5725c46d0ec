"""Negatives by rule (VSE-C): one noun, number or relation of a caption swapped for another that contradicts it.

After Shi et al., "Learning Visually-Grounded Semantics from Contrastive Adversarial Samples", 2018.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import torch

from ..errors import ItmlabError
from ..text import SceneGraph, Span
from ..text.alignment import token_characters
from .candidates import distinct, one_each
from .edit import Change, edited
from .false_negatives import without_false_negatives
from .negative import Negative

Swaps = Mapping[str, Sequence[str]]  # a word as written in a sentence → words, in the same form, that may replace it

_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FIGURES = tuple(str(number) for number in range(2, 11))
_UPON, _BELOW = ("on", "on top of", "atop"), ("under", "underneath", "beneath", "below")
_VOWELS = "aeiou"


def of_categories(categories: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Swaps of each word for every other word of its categories (category → words)."""
    found: dict[str, dict[str, None]] = {}
    for words in categories.values():
        for word, other in product(words, words):
            if word != other:
                found.setdefault(word, {})[other] = None
    return {word: tuple(others) for word, others in found.items()}


NUMBERS: dict[str, tuple[str, ...]] = of_categories({"words": _WORDS, "figures": _FIGURES})
PLACES: dict[str, tuple[str, ...]] = {  # where each contradicts the other, whatever the captions are of
    **dict.fromkeys(_UPON, _BELOW),
    **dict.fromkeys(_BELOW, _UPON),
    **of_categories({"depth": ("behind", "in front of")}),
}


class RuleSwaps:
    """Every sentence that one swap makes of a caption, or `number` of them drawn at random.

    `nouns`, `relations` and `numbers` say what each word may be swapped for (of `scenes`:
    `itmlab.data.scenes.categories`; of real captions: `wordnet_swaps`; or `of_categories` of any lexicon); an empty
    mapping leaves a kind alone. Nouns are looked for in a graph's objects, relations in its relations, the longest
    known words first; numbers anywhere. "a" and "an" follow the new word. `filtered` drops what the image's captions
    say.
    """

    def __init__(
        self,
        nouns: Swaps,
        relations: Swaps = PLACES,
        numbers: Swaps = NUMBERS,
        *,
        number: int | None = None,
        filtered: bool = True,
    ):
        if number is not None and number < 1:
            raise ItmlabError(f"{number} negatives a caption cannot be", remedy="give 1 or more, or None for all")
        self.nouns, self.relations, self.numbers = nouns, relations, numbers
        self.number, self.filtered = number, filtered

    def __call__(
        self,
        captions: Sequence[str],
        graphs: Sequence[SceneGraph],
        image_captions: Sequence[Sequence[str]],
        *,
        generator: torch.Generator,
    ) -> list[list[Negative]]:
        """The negatives of each caption; `image_captions` are those of its image, used by the filter.

        One number is drawn a caption, so what one caption gets does not depend on how many another has to choose from.
        """
        one_each(captions, graphs, image_captions)
        seeds = torch.randint(2**62, (len(captions),), generator=generator, device=generator.device).tolist()
        return [self._of(*one) for one in zip(captions, graphs, image_captions, seeds, strict=True)]

    def _of(self, caption: str, graph: SceneGraph, image_captions: Sequence[str], seed: int) -> list[Negative]:
        places = token_characters(caption, graph.tokens)
        found = distinct(caption, (edited(caption, graph.tokens, places, [each]) for each in self._changes(graph)))
        if self.filtered:
            found = without_false_negatives(found, [caption, *image_captions])
        if self.number is None or len(found) <= self.number:
            return found
        chosen = torch.randperm(len(found), generator=torch.Generator().manual_seed(seed))[: self.number]
        return [found[at] for at in chosen.sort().values.tolist()]

    def _changes(self, graph: SceneGraph) -> Iterator[Change]:
        words = [token.lower() for token in graph.tokens]
        for kind, parts, swaps in (
            ("object", graph.objects, self.nouns),
            ("relation", graph.relations, self.relations),
        ):
            spans = dict.fromkeys(_known(words, part.span, swaps) for part in parts if part.span is not None)
            for span in filter(None, spans):
                for other in swaps[" ".join(words[span.start : span.end])]:
                    yield _with_article(words, span, other, kind)
        for at, word in enumerate(words):
            for other in self.numbers.get(word, ()):
                yield Change(Span(at, at + 1), other, "number")


def _known(words: Sequence[str], span: Span, swaps: Swaps) -> Span | None:
    """The longest part of a span that can be swapped, the last of equally long ones ("police dog": "dog")."""
    for length in range(span.end - span.start, 0, -1):
        for start in range(span.end - length, span.start - 1, -1):
            if swaps.get(" ".join(words[start : start + length])):
                return Span(start, start + length)
    return None


def _with_article(words: Sequence[str], span: Span, other: str, kind: str) -> Change:
    """The swap, and of the article before it if that must change ("an elephant": "a dog")."""
    before = words[span.start - 1] if span.start else ""
    wanted = "an" if other[:1] in _VOWELS else "a"
    if before in ("a", "an") and before != wanted:
        return Change(Span(span.start - 1, span.end), f"{wanted} {other}", kind)
    return Change(span, other, kind)
