"""Nouns to look through: in "a group of people" the thing is the people, in "bits of ice" the ice."""

from .dependencies import Word, hang
from .knowledge import Knowledge
from .thing import Thing
from .word_set import word_set

_TRANSPARENT = word_set(
    "group pair couple bunch row set lot pile piece bit slice stack crowd herd flock line number series collection "
    "variety amount plenty kind type sort array cluster patch pack dozen team assortment bundle strip chunk handful "
    "body batch range pieces"
)
_TWO = word_set("pair couple")
_WORN_IN_PAIRS = word_set("pants jeans shorts trousers scissors glass sunglasses shoe boot ski sock glove goggles")


def see_through(words: list[Word], things: dict[int, Thing], stands_for: dict[int, int], known: Knowledge) -> None:
    """Put what a group consists of in its place, among the things and in the tree, and note it in `stands_for`."""
    for number, thing in list(things.items()):
        kind = known.of.get(thing.name, "transparent" if thing.name in _TRANSPARENT else "")
        inner = next((at for at in words[number].children if at > number and at in things and _is_of(words[at])), -1)
        if inner < 0 or not kind.startswith("transparent"):
            continue
        content = things[inner]
        content.attributes = [*thing.attributes, *content.attributes]
        if kind == "transparent attribute":
            content.attributes.insert(0, ("group of" if thing.name == "group" else thing.name, thing.span))
        if content.plural and content.count is None and thing.name in _TWO and not thing.plural:
            content.count = None if content.name in _WORN_IN_PAIRS else 2
        if content.owner < 0:
            content.owner = thing.owner
        del things[number]
        stands_for[number] = inner
        _replace(words, number, inner)


def _is_of(word: Word) -> bool:
    return word.preposition is not None and word.preposition.name == "of"


def _replace(words: list[Word], outer: int, inner: int) -> None:
    """Put the inner word in the outer one's place in the tree."""
    head, label, preposition = words[outer].head, words[outer].label, words[outer].preposition
    for child in list(words[outer].children):
        if child != inner and (child > inner or words[child].label in ("nsubj", "cop", "expl", "nsubj:pass")):
            hang(words, child, inner, words[child].label)
    hang(words, inner, head, label)
    hang(words, outer, inner, "det")
    words[inner].preposition, words[outer].preposition = preposition, None
