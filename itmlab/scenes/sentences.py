"""Sentences as scene graphs in the words of the world: what the parser reads, made ready for `entail`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..text.graph import Attribute, Relation, SceneGraph, SceneObject, Span
from ..text.rules.lexicon import word_set
from .entail import OPEN, TRUE
from .lexicon import ATTRIBUTES, NOUNS, RELATIONS, nouns

_DENIALS = word_set("not n't never nobody nothing neither nor without cannot except unless no-one hardly")
SMALL_WORDS = word_set(  # leaving them out changes nothing of what a sentence says
    "a an the is are was were am be being been there here who whom that which while and as of by some it its this "
    "these those has have does do to 's ' '' `` in on at with group pair couple bunch lot lots set crowd number his "
    "her their he she they them him"
)


@dataclass(frozen=True)
class Spoken:
    """What a sentence says; `whole` is false where some of its words found no place in the graph."""

    graph: SceneGraph
    whole: bool

    def judged(self, level: int) -> int:
        """The verdict on the sentence, given that on its graph: true only if all of it was understood."""
        return level if self.whole or level != TRUE else OPEN


def spoken(sentences: Sequence[str], *, cache: bool = True) -> list[Spoken]:
    """What each sentence says, by the shipped parser and the world's own words.

    A sentence that denies something ("without a hat") is beyond the graph: it is empty. "No dogs" is a count of 0.
    """
    from ..text.parsing import parse

    return [_spoken(graph) for graph in parse(sentences, cache=cache)]


@lru_cache(maxsize=4096)
def understood(sentence: str) -> Spoken:
    """What one sentence says, remembered: it is often asked of picture after picture."""
    return spoken([sentence])[0]


def _spoken(graph: SceneGraph) -> Spoken:
    said = [token.lower() for token in graph.tokens]
    if _DENIALS & set(said):
        return Spoken(SceneGraph(tokens=graph.tokens), whole=False)
    objects = tuple(_object(graph, thing) for thing in graph.objects)
    links = tuple(replace(link, lemma=_relation(graph, link)) for link in graph.relations)
    own = SceneGraph(objects, links, graph.tokens)
    return Spoken(own, whole=bool(objects) and not any(_meant(word) for word in _unsaid(own, said)))


def _object(graph: SceneGraph, thing: SceneObject) -> SceneObject:
    """The object under the world's name for the words that say it; "the mountains" are one place."""
    words = graph.text(thing.span).lower().split() if thing.span else thing.lemma.split()
    lemma, more = _NOUN_OF.get(" ".join(words), thing.lemma), ()
    if lemma not in nouns() and len(words) > 1 and words[-1] in _NOUN_OF and thing.span:
        before = words[:-1]
        if all(word in _ATTRIBUTE_OF for word in before):  # "blond boy" read as one name
            lemma = _NOUN_OF[words[-1]]
            start = thing.span.start
            more = tuple(Attribute(_ATTRIBUTE_OF[w], Span(start + at, start + at + 1)) for at, w in enumerate(before))
    described = tuple(_attribute(graph, one) for one in thing.attributes if one.lemma not in ("group of", "pair of"))
    plain = replace(thing, lemma=lemma, attributes=more + described)
    if lemma in nouns() and all(entry.category in ("place", "stuff") for entry in nouns()[lemma]):
        return replace(plain, count=1, plural=False) if plain.count is None else plain
    return plain


def _attribute(graph: SceneGraph, attribute: Attribute) -> Attribute:
    words = graph.text(attribute.span).lower() if attribute.span else attribute.lemma
    return replace(attribute, lemma=_ATTRIBUTE_OF.get(words, attribute.lemma))


def _relation(graph: SceneGraph, link: Relation) -> str:
    """The world's name for a relation, from the words that say it rather than from how graphs usually name them."""
    if link.span is None:
        return link.lemma
    words = graph.text(link.span).lower().split()
    said = " ".join(words)
    verb, _, usual = link.lemma.partition(" ")
    if said in _RELATION_OF and (len(words) > 1 or not usual):
        return _RELATION_OF[said]
    rest = " ".join(words[1:]) or usual  # the preposition may stand elsewhere: "On the grass a dog stands."
    if not usual or rest not in _RELATION_OF:
        return link.lemma
    return f"{_RELATION_OF.get(words[0]) or _ATTRIBUTE_OF.get(words[0]) or verb} {_RELATION_OF[rest]}"


def _unsaid(graph: SceneGraph, words: list[str]) -> Iterable[str]:
    """Words that no part of the graph stands on."""
    spans = [part.span for thing in graph.objects for part in (thing, *thing.attributes)]
    spans += [link.span for link in graph.relations]
    covered = {at for span in spans if span is not None for at in range(span.start, span.end)}
    return (word for at, word in enumerate(words) if at not in covered)


def _meant(word: str) -> bool:
    """Whether leaving a word out may change what a sentence says."""
    from ..text.rules.noun_phrases import NUMBERS

    small = word in SMALL_WORDS or word in NUMBERS or word in ("one", "no", "single")
    return not small and any(letter.isalnum() for letter in word)


def _forms(entries: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    table: dict[str, str] = {}
    for lemma, forms in entries:
        for form in (lemma, *forms):
            table.setdefault(form, lemma)
    return {form: lemma for form, lemma in table.items() if form}


_NOUN_OF = _forms((noun.lemma, (noun.plural,)) for noun in NOUNS)
_ATTRIBUTE_OF = _forms((entry.lemma, entry.forms) for entry in ATTRIBUTES)
_RELATION_OF = _forms((entry.lemma, entry.forms) for entry in RELATIONS)
