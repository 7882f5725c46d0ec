"""Is what a sentence says true of a scene? The parser's reading in the world's words, then a three-valued search.

Truth labels are numbers while they are combined: 2 true, 1 undecided, 0 false; "and" is the least, "some" the greatest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ..text.graph import Attribute, Relation, SceneGraph, SceneObject, Span
from ..text.rules.lexicon import word_set
from .lexicon import ATTRIBUTE_OF, ATTRIBUTES, NOUNS, PAIRS, RELATION_OF, RELATIONS, Noun, kinds_of, nouns
from .relations import Facts
from .scene import KINDS, Entity, Scene

TRUE, OPEN, FALSE = 2, 1, 0
_LEVEL = {True: TRUE, None: OPEN, False: FALSE}
_PATIENCE = 20_000
_UNKNOWN, _SCENERY = -2, -1  # stand for what an unknown word may mean, and for what the background may show


def entails(facts: Facts, graph: SceneGraph) -> int:
    """Judge whether a graph is true of a scene.

    Args:
        facts: the scene.
        graph: what a sentence says.

    Returns:
        TRUE, OPEN or FALSE.
    """
    choices = [candidates(facts.scene, wanted) for wanted in graph.objects]
    if not all(choice or wanted.count == 0 for choice, wanted in zip(choices, graph.objects, strict=True)):
        return FALSE
    return Search(facts, graph, choices).best()


def candidates(scene: Scene, wanted: SceneObject) -> list[tuple[int, int]]:
    """Return everything that an object of a graph may mean, best first.

    Args:
        scene: where it is looked for.
        wanted: the object of the graph.

    Returns:
        The number of each entity and how well it fits.
    """
    if wanted.lemma not in nouns():
        return [(_UNKNOWN, OPEN)]
    kinds = kinds_of(wanted.lemma)
    possible = [(number, entity) for number, entity in enumerate(scene.objects) if entity.kind in kinds]
    fits = [(number, level) for number, entity in possible if (level := suits(wanted, entity))]
    if scene.backdrop & kinds:
        fits.append((_SCENERY, OPEN))
    return sorted(fits, key=lambda pair: -pair[1])


def is_group(wanted: SceneObject) -> bool:
    """Return whether an object of a graph speaks of several things (or of none) at once."""
    return wanted.plural or (wanted.count is not None and wanted.count != 1)


class Search:
    """Gives each single object of a graph its own entity, counts the groups, and keeps the best truth label."""

    def __init__(self, facts: Facts, graph: SceneGraph, choices: list[list[tuple[int, int]]]):
        self.facts, self.graph, self.choices = facts, graph, choices
        self.groups = [at for at, wanted in enumerate(graph.objects) if is_group(wanted)]
        singles = [at for at, wanted in enumerate(graph.objects) if not is_group(wanted)]
        self.singles = sorted(singles, key=lambda at: len(choices[at]))
        self.chosen: dict[int, int] = {}
        self.reached, self.steps = FALSE, 0

    def best(self) -> int:
        """Return the greatest truth label over all ways to choose."""
        self._choose(0, TRUE)
        return self.reached

    def _choose(self, depth: int, level: int) -> None:
        self.steps += 1
        if level <= self.reached:
            return
        if self.steps > _PATIENCE:  # dozens of interchangeable objects: not worth more than "cannot say"
            self.reached = max(self.reached, OPEN)
            return
        if depth == len(self.singles):
            self.reached = max(self.reached, min(level, self._groups()))
            return
        at = self.singles[depth]
        used = self.chosen.values()
        for entity, fit in self.choices[at]:
            if entity >= 0 and entity in used:
                continue
            self.chosen[at] = entity
            self._choose(depth + 1, min(level, fit, self._links(at)))
            del self.chosen[at]
            if self.reached == TRUE:
                return

    def _links(self, at: int) -> int:
        """The least truth label of the relations between the object just chosen and those chosen before."""
        level = TRUE
        for link in self.graph.relations:
            if at in (link.subject, link.object) and link.subject in self.chosen and link.object in self.chosen:
                level = min(level, self._link(self.chosen[link.subject], link.lemma, self.chosen[link.object]))
        return level

    def _link(self, subject: int, lemma: str, entity: int) -> int:
        if _SCENERY in (subject, entity) and lemma in RELATION_OF and RELATION_OF[lemma].category == "action":
            return FALSE  # the background is not held or ridden
        return OPEN if subject < 0 or entity < 0 else related(self.facts, subject, lemma, entity)

    def _groups(self) -> int:
        level, taken = TRUE, []
        for at in self.groups:
            free = [
                (entity, fit) for entity, fit in self.choices[at] if entity < 0 or entity not in self.chosen.values()
            ]
            levels = {entity: min(fit, self._member(at, entity)) for entity, fit in free}
            ghost = max(levels.pop(_UNKNOWN, FALSE), levels.pop(_SCENERY, FALSE))
            level = min(level, max(ghost, _count(self.graph.objects[at], list(levels.values()))))
            sure = {entity for entity, fit in levels.items() if fit == TRUE}
            if any(sure & other for other in taken):
                level = min(level, OPEN)  # two groups that may share members
            taken.append(sure)
            if not level:
                return FALSE
        return level

    def _member(self, at: int, entity: int) -> int:
        """How surely an entity belongs to group `at`, by its relations to what is chosen and to other groups."""
        level = TRUE
        for link in self.graph.relations:
            if at not in (link.subject, link.object) or link.subject == link.object:
                continue
            other = link.object if link.subject == at else link.subject
            partners = [self.chosen[other]] if other in self.chosen else [number for number, _ in self.choices[other]]
            pairs = [
                (entity, first) if link.subject == at else (first, entity) for first in partners if first != entity
            ]
            level = min(level, max((self._link(first, link.lemma, second) for first, second in pairs), default=FALSE))
        return level


def _count(wanted: SceneObject, levels: list[int]) -> int:
    """Whether as many entities fit as were said: exactly a number, or at least two for a bare plural."""
    sure, possible = levels.count(TRUE), len(levels) - levels.count(FALSE)
    if wanted.count is None:
        return TRUE if sure >= 2 else OPEN if possible >= 2 else FALSE
    if wanted.count == 0:
        return FALSE if sure else OPEN if possible else TRUE
    return TRUE if sure == wanted.count else OPEN if possible >= wanted.count else FALSE


def suits(wanted: SceneObject, entity: Entity) -> int:
    """Judge whether an entity can be what an object of a graph means, apart from its relations.

    Args:
        wanted: the object of the graph.
        entity: the thing.
    """
    level = named(wanted.lemma, entity)
    if not level:
        return level
    adjectives = tuple(attribute.lemma for attribute in wanted.attributes)
    return min([level, *(described(lemma, entity, adjectives) for lemma in adjectives)])


def named(lemma: str, entity: Entity) -> int:
    """Judge whether `lemma` names an entity."""
    entries = nouns().get(lemma)
    return OPEN if entries is None else max(_named(entry, entity) for entry in entries)


def _named(noun: Noun, entity: Entity) -> int:
    if entity.kind in noun.perhaps or entity.kind not in noun.means:
        return OPEN if entity.kind in noun.perhaps else FALSE
    name, wanted = noun.needs or ("kind", entity.kind)
    value = getattr(entity, name)
    return OPEN if not value else TRUE if value == wanted else FALSE


def described(lemma: str, entity: Entity, others: tuple[str, ...] = ()) -> int:
    """Judge whether an attribute is true of an entity.

    Args:
        lemma: the attribute.
        entity: the thing.
        others: attributes that the same phrase gives it.
    """
    entry = ATTRIBUTE_OF.get(lemma)
    if entry is None or entity.category in ("stuff", "place"):
        return OPEN
    levels = []
    for name in {**entry.means, **entry.perhaps}:
        value = getattr(entity, name)
        if name == "pattern" and not value:
            levels.append(FALSE if KINDS[entity.kind].patterns else OPEN)
        elif not value:
            continue
        elif value in entry.means.get(name, ()):
            return TRUE
        elif value in entry.perhaps.get(name, ()):
            levels.append(OPEN)
        elif name == "colour" and entity.second in entry.means.get(name, ()):
            levels.append(TRUE if entity.colour in others else OPEN)  # "black and white", or only "black"
        else:
            levels.append(FALSE)
    return max(levels, default=OPEN)


def related(facts: Facts, subject: int, lemma: str, entity: int) -> int:
    """Judge whether a relation word is true of two entities; "sit on" is "sit" and "on".

    Args:
        facts: the scene.
        subject: the number of the first entity.
        lemma: the relation word.
        entity: the number of the second one.
    """
    level, rest = TRUE, lemma
    while rest:
        entry = RELATION_OF.get(rest)
        if entry is not None:
            return min(level, max(_LEVEL[facts.holds(subject, name, entity)] for name in entry.means))
        first, _, rest = rest.partition(" ")
        if first in ATTRIBUTE_OF:
            level = min(level, described(first, facts.entities[subject]))
        elif first in RELATION_OF:  # "ride on": the shorter word decides what it can
            level = min(level, related(facts, subject, first, entity))
        else:
            level = min(level, OPEN)
        if not level:
            return FALSE
    return min(level, OPEN)


# What a sentence says: the graph that the shipped parser reads, put into the words of the table.

_DENIALS = word_set("not n't never nobody nothing neither nor without cannot except unless no-one hardly")
SMALL_WORDS = word_set(  # leaving them out does not change the meaning of a sentence
    "a an the is are was were am be being been there here who whom that which while and as of by some it its this "
    "these those has have does do to 's ' '' `` in on at with group pair couple bunch lot lots set crowd number his "
    "her their he she they them him"
)


class Parsed(NamedTuple):
    """What a sentence says; `covered` is false where some of its words found no place in the graph.

    >>> partly = Parsed(SceneGraph(), covered=False)
    >>> partly.truth_label(TRUE) == OPEN, partly.truth_label(FALSE) == FALSE
    (True, True)
    """

    graph: SceneGraph
    covered: bool

    def truth_label(self, level: int) -> int:
        """Return the truth label of the sentence, given that of its graph: true only if all of it was understood."""
        return level if self.covered or level != TRUE else OPEN


def parsed(sentences: Sequence[str], *, cache: bool = True) -> list[Parsed]:
    """Parse sentences with the shipped parser and the words of the world.

    Args:
        sentences: what to parse.
        cache: whether to keep the results on disk.
    """
    from ..text.parsing import parse

    return [_parsed(graph) for graph in parse(sentences, cache=cache)]


@lru_cache(maxsize=4096)
def parsed_sentence(sentence: str) -> Parsed:
    """Parse one sentence, and remember it: it is often asked of picture after picture."""
    return parsed([sentence])[0]


def _parsed(graph: SceneGraph) -> Parsed:
    words = [token.lower() for token in graph.tokens]
    if _DENIALS & set(words):
        return Parsed(SceneGraph(tokens=graph.tokens), covered=False)
    objects = tuple(_object(graph, entity) for entity in graph.objects)
    links = tuple(replace(link, lemma=_relation(graph, link)) for link in graph.relations)
    objects, links = _dressed(objects, links)
    parts = (*links, *(part for entity in objects for part in (entity, *entity.attributes)))
    spanned = {at for part in parts if part.span for at in range(part.span.start, part.span.end)}
    covered = bool(objects) and not any(_meant(word) for at, word in enumerate(words) if at not in spanned)
    return Parsed(SceneGraph(objects, links, graph.tokens), covered)


def _dressed(
    objects: tuple[SceneObject, ...], links: tuple[Relation, ...]
) -> tuple[tuple[SceneObject, ...], tuple[Relation, ...]]:
    """Clothes do nothing: a garment's deeds are its wearer's; hair becomes an attribute.

    A garment is worn by the person it is linked to, or whom the sentence named last before it: parsers take the second
    of two garments for a subject, and in "a kite flown by a man in a hat" the kite for the wearer.
    """
    people = [at for at, part in enumerate(objects) if _is(part.lemma, "person")]
    worn = [at for at, part in enumerate(objects) if part.lemma == "hair" or _is(part.lemma, "worn")]
    linked = [link for link in links if link.object in worn and link.lemma in ("in", "wear", "with", "have")]
    wearers = {link.object: link.subject for link in linked if link.subject in people}
    for at in worn:
        before = [part for part in people if part < at]
        if at not in wearers and before and any(link.object in (at, at - 1) for link in linked):
            wearers[at] = before[-1]
    if not wearers:
        return objects, links
    dressed = list(objects)
    for at, who in wearers.items():
        poses = tuple(part for part in dressed[at].attributes if part.lemma in _POSES)
        hair = tuple(part for part in dressed[at].attributes if f"{part.lemma}-haired" in ATTRIBUTE_OF)
        if dressed[at].lemma == "hair":  # "red hair" is an attribute of its wearer
            spans = [part.span and dressed[at].span and Span(part.span.start, dressed[at].span.end) for part in hair]
            hair = tuple(replace(a, lemma=f"{a.lemma}-haired", span=b) for a, b in zip(hair, spans, strict=True))
        else:
            hair = ()
        dressed[at] = replace(
            dressed[at], attributes=tuple(part for part in dressed[at].attributes if part not in poses)
        )
        dressed[who] = replace(dressed[who], attributes=(*dressed[who].attributes, *poses, *hair))
    keep = [at for at, part in enumerate(dressed) if not (part.lemma == "hair" and at in wearers)]
    place = {at: number for number, at in enumerate(keep)}
    of_wearers = [
        replace(link, subject=wearers.get(link.subject, link.subject)) for link in links if link.object in place
    ]
    of_wearers = [link for link in of_wearers if wearers.get(link.object, link.subject) == link.subject != link.object]
    moved = dict.fromkeys(replace(link, subject=place[link.subject], object=place[link.object]) for link in of_wearers)
    return tuple(dressed[at] for at in keep), tuple(moved)


_POSES = frozenset(entry.lemma for entry in ATTRIBUTES if entry.category == "pose")


def _is(lemma: str, category: str) -> bool:
    return any(entry.category == category for entry in nouns().get(lemma, ()))


def _object(graph: SceneGraph, entity: SceneObject) -> SceneObject:
    """The object under the world's name for the words that say it; "the mountains" are one place."""
    words = graph.text(entity.span).lower().split() if entity.span else entity.lemma.split()
    lemma, more = _NOUN_OF.get(" ".join(words), entity.lemma), ()
    if lemma not in nouns() and len(words) > 1 and words[-1] in _NOUN_OF and entity.span:
        before = words[:-1]
        if all(word in _ATTRIBUTE_OF for word in before):  # "blond boy" read as one name
            lemma = _NOUN_OF[words[-1]]
            start = entity.span.start
            more = tuple(Attribute(_ATTRIBUTE_OF[w], Span(start + at, start + at + 1)) for at, w in enumerate(before))
    described = tuple(
        _attribute(graph, attribute)
        for attribute in entity.attributes
        if attribute.lemma not in ("group of", "pair of")
    )
    plain = replace(entity, lemma=lemma, attributes=more + described)
    if lemma in PAIRS:
        return replace(plain, count=1, plural=False)
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
    phrase = " ".join(words)
    verb, _, usual = link.lemma.partition(" ")
    if phrase in _RELATION_OF and (len(words) > 1 or not usual):
        return _RELATION_OF[phrase]
    rest = " ".join(words[1:]) or usual  # the preposition may stand elsewhere: "On the grass a dog stands."
    if not usual or rest not in _RELATION_OF:
        return link.lemma
    return f"{_RELATION_OF.get(words[0]) or _ATTRIBUTE_OF.get(words[0]) or verb} {_RELATION_OF[rest]}"


def _meant(word: str) -> bool:
    """Whether leaving a word out may change what a sentence says."""
    from ..text.rules.noun_phrases import NUMBERS

    small = word in SMALL_WORDS or word in NUMBERS or word in ("one", "no", "single")
    return not small and any(letter.isalnum() for letter in word)


def _forms(entries: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    """Each form with its lemma; where two lemmas share a form, the first in the table has it."""
    return {form: lemma for lemma, forms in reversed(list(entries)) for form in (lemma, *forms) if form}


_NOUN_OF = _forms((noun.lemma, (noun.plural,)) for noun in NOUNS)
_ATTRIBUTE_OF = _forms((entry.lemma, entry.forms) for entry in ATTRIBUTES)
_RELATION_OF = _forms((entry.lemma, entry.forms) for entry in RELATIONS)
