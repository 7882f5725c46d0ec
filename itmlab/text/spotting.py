"""Where words from a lemmatised graph stand in a sentence, inflected or spelt a little differently."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from .graph import Span
from .lemmas import noun_lemma, verb_lemma

GAP = 2  # tokens that may stand between two words of a phrase ("sit [down] on", "in [the] middle of")
ALIKE = 0.8  # similarity of spelling ("blond", "blonde"; "feild", "field")
SHORTEST = 4  # letters: shorter words are alike too easily
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def spot(words: Sequence[str], tokens: Sequence[str]) -> list[tuple[float, Span]]:
    """Every place where all `words` stand in this order, each with a score: 1 letter for letter, less otherwise.

    Words and tokens are lower-case. A place costs 0.05 for each token that stands between its words.
    """
    likeness = [[_likeness(word, token) for token in tokens] for word in words]
    found = []
    for start in range(len(tokens)):
        at, score = start, likeness[0][start]
        for row in likeness[1:]:
            if not score:
                break
            following = range(at + 1, min(at + 2 + GAP, len(tokens)))
            best = max(following, key=lambda place: row[place] - 0.05 * (place - at), default=None)
            if best is None or not row[best]:
                score = 0.0
                break
            score, at = score + row[best] - 0.05 * (best - at - 1), best
        if score:
            found.append((score / len(words), Span(start, at + 1)))
    return found


@lru_cache(maxsize=100_000)
def _likeness(word: str, token: str) -> float:
    """1 for the same word, 0.95 for a form of it, its similarity of spelling above 0.8, else 0."""
    if word == token:
        return 1.0
    if _lemmas(word) & _lemmas(token):
        return 0.95
    if word.isdecimal() and int(word) < len(NUMBERS):
        return 0.95 if NUMBERS[int(word)] == token else 0.0
    shortest = min(len(word), len(token))
    if shortest < SHORTEST or 2 * shortest < ALIKE * (len(word) + len(token)):
        return 0.0
    ratio = SequenceMatcher(None, word, token, autojunk=False).ratio()
    return ratio * 0.9 if ratio >= ALIKE else 0.0


@lru_cache(maxsize=20_000)
def _lemmas(word: str) -> frozenset[str]:
    return frozenset((word, noun_lemma(word), verb_lemma(word)))
