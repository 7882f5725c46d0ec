"""Which words of a caption to hide: whole phrases of its scene graph (TAGS), or single words (its ablation "WM").

TAGS: Fan et al., 2022, Sec. 2.1.1 and A.1, read as METHODS 3.1 says. Words: UNITER (Chen et al., 2020).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import torch

from ..errors import ItmlabError
from .graph import SceneGraph, Span

PhraseKind = Literal["object", "attribute", "relation", "word"]
PROBABILITY = 0.15  # TAGS, appendix A.1; UNITER


@dataclass(frozen=True)
class Phrase:
    """Tokens that are hidden together, and their kind in the scene graph ("word" for a single word)."""

    kind: PhraseKind
    span: Span


def phrases(graph: SceneGraph) -> list[Phrase]:
    """Return the phrases of a graph in the order of the sentence, each span once.

    Parts without a span, or with a span of punctuation only, are left out. Spans may be nested ("group of people" and
    "people"). A span that two parts share ("a man and a dog run") is one phrase, whose kind is the first of object,
    attribute, relation.

    Args:
        graph: the scene graph of a sentence.

    Raises:
        ItmlabError: a span outside the sentence.

    >>> from itmlab.text import Attribute, SceneObject
    >>> dog = SceneObject("dog", (Attribute("brown", Span(1, 2)),), span=Span(2, 3))
    >>> [(phrase.kind, phrase.span.start) for phrase in phrases(SceneGraph((dog,), (), ("a", "brown", "dog")))]
    [('attribute', 1), ('object', 2)]
    """
    parts: list[tuple[PhraseKind, Span | None]] = [("object", entity.span) for entity in graph.objects]
    parts += [("attribute", attribute.span) for entity in graph.objects for attribute in entity.attributes]
    parts += [("relation", link.span) for link in graph.relations]
    first: dict[Span, PhraseKind] = {}
    for kind, span in parts:
        if span is not None and _has_word(graph, span):
            first.setdefault(span, kind)
    return [Phrase(first[span], span) for span in sorted(first)]


def words(graph: SceneGraph) -> list[Phrase]:
    """Return every token with a letter or digit as a phrase; in a sentence without any, every token but blanks."""
    tokens = [Phrase("word", Span(at, at + 1)) for at, token in enumerate(graph.tokens) if token.strip()]
    return [phrase for phrase in tokens if _has_word(graph, phrase.span)] or tokens


class Masking(ABC):
    """Base class of maskings: each candidate is hidden with the same probability, and at least one of them.

    If chance hides none, one candidate is hidden, all equally likely.

    Args:
        probability: of hiding a candidate, between 0 and 1.

    Raises:
        ItmlabError: the probability is out of range.
    """

    def __init__(self, probability: float = PROBABILITY):
        if not 0 <= probability <= 1:
            raise ItmlabError(f"a probability of {probability} cannot be", remedy="give one between 0 and 1")
        self.probability = probability

    @abstractmethod
    def candidates(self, graph: SceneGraph, length: int | None = None) -> list[Phrase]:
        """Return what may be hidden, in the order of the sentence.

        Args:
            graph: the scene graph of the sentence.
            length: how many tokens a model reads; phrases behind them are left out.
        """

    def __call__(self, graph: SceneGraph, *, generator: torch.Generator, length: int | None = None) -> list[Phrase]:
        """Draw the phrases that are hidden, in the order of the sentence; none for a sentence without tokens."""
        return self.draw(graph, 1, generator=generator, length=length)[0]

    def draw(
        self, graph: SceneGraph, times: int, *, generator: torch.Generator, length: int | None = None
    ) -> list[list[Phrase]]:
        """Draw several maskings of one sentence (TAGS: K = 20), the same as by that many calls."""
        candidates = self.candidates(graph, length)
        if not candidates:
            return [[] for _ in range(times)]
        # One number a phrase and one for the last resort, used or not: so the numbers drawn never depend on chance.
        chance = torch.rand(times, len(candidates) + 1, generator=generator, device=generator.device)
        hidden = chance[:, :-1] < self.probability
        resort = (chance[:, -1] * len(candidates)).long().clamp(max=len(candidates) - 1)
        hidden |= torch.nn.functional.one_hot(resort, len(candidates)).bool() & ~hidden.any(dim=1, keepdim=True)
        return [list(compress(candidates, row)) for row in hidden.tolist()]

    def expected_share(self, graph: SceneGraph, length: int | None = None) -> float:
        """Return the expected share of the sentence's words that are hidden; 0 for a sentence without tokens.

        If c of n phrases cover a word, each is drawn with p, and none at all with (1 − p)ⁿ; then one of n is
        taken. So the word is hidden with 1 − (1 − p)ᶜ + (1 − p)ⁿ · c / n.
        """
        counted, candidates = words(graph), self.candidates(graph, length)
        if not candidates:
            return 0.0
        spared, number, share = 1 - self.probability, len(candidates), 0.0
        phrases_at = Counter(at for phrase in candidates for at in range(phrase.span.start, phrase.span.end))
        for word in counted:
            covering = phrases_at[word.span.start]
            share += 1 - spared**covering + spared**number * covering / number
        return share / len(counted)


class PhraseMasking(Masking):
    """Hides whole phrases of the scene graph, or words where the graph has no phrase (TAGS, Sec. 2.1 and A.1)."""

    def candidates(self, graph: SceneGraph, length: int | None = None) -> list[Phrase]:
        """Return the graph's phrases; its words where it has none within `length`."""
        return _within(phrases(graph), length) or _within(words(graph), length)


class WordMasking(Masking):
    """Hides single words, never punctuation (UNITER; TAGS' ablation "WM").

    >>> graph = SceneGraph(tokens=("a", "brown", "dog", "."))
    >>> [graph.text(phrase.span) for phrase in WordMasking(0.5)(graph, generator=torch.Generator().manual_seed(1))]
    ['brown', 'dog']
    """

    def candidates(self, graph: SceneGraph, length: int | None = None) -> list[Phrase]:
        """Return every word within `length`."""
        return _within(words(graph), length)


def realised_share(graph: SceneGraph, hidden: Sequence[Phrase | Span]) -> float:
    """Return the share of the sentence's words that these phrases hide; 0 for a sentence without tokens."""
    counted = words(graph)
    spans = [phrase.span if isinstance(phrase, Phrase) else phrase for phrase in hidden]
    covered = {token for span in spans for token in range(span.start, span.end)}
    return sum(word.span.start in covered for word in counted) / len(counted) if counted else 0.0


def _within(phrases: list[Phrase], length: int | None) -> list[Phrase]:
    return phrases if length is None else [phrase for phrase in phrases if phrase.span.end <= length]


def _has_word(graph: SceneGraph, span: Span) -> bool:
    if not 0 <= span.start <= span.end <= len(graph.tokens):
        raise ItmlabError(
            f"the phrase of tokens {span.start} to {span.end} lies outside a sentence of {len(graph.tokens)}",
            remedy="mask a graph with the tokens that its spans count",
        )
    return any(character.isalnum() for token in graph.tokens[span.start : span.end] for character in token)
