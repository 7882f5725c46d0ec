"""Where a synthetic negative was changed, letter for letter: to put any of its places back as they were."""

from collections.abc import Iterable

from ..errors import ItmlabError
from ..synthesis import Negative
from ..text.alignment import token_characters
from ..text.graph import tokenise


def changed_places(negative: Negative, caption: str) -> list[tuple[int, int]] | None:
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


def put_back(negative: Negative, places: list[tuple[int, int]], chosen: Iterable[int]) -> str:
    """The sentence with the words that these places had in its caption."""
    sentence = negative.sentence
    for place in sorted(chosen, reverse=True):
        start, end = places[place]
        sentence = sentence[:start] + negative.source[place] + sentence[end:]
    return sentence


def with_only(negative: Negative, places: list[tuple[int, int]], place: int) -> str:
    """The caption with this one of the changes."""
    return put_back(negative, places, (other for other in range(len(places)) if other != place))
