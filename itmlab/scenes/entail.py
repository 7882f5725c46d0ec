"""Is what a scene graph says true of a scene? A search for the things it may speak of, in three-valued logic.

Verdicts are numbers while they are combined: 2 true, 1 undecided, 0 false; "and" is the least, "some" the greatest.
"""

from ..text.graph import SceneGraph, SceneObject
from .lexicon import Noun, attributes, nouns, relations
from .relations import Facts
from .scene import KINDS, Scene, Thing

TRUE, OPEN, FALSE = 2, 1, 0
_LEVEL = {True: TRUE, None: OPEN, False: FALSE}
_PATIENCE = 20_000
_UNKNOWN, _SCENERY = -2, -1  # stand for what an unknown word may mean, and for what the background may show


def named(lemma: str, thing: Thing) -> int:
    """Whether `lemma` names a thing."""
    entries = nouns().get(lemma)
    return OPEN if entries is None else max(_named(entry, thing) for entry in entries)


def _named(noun: Noun, thing: Thing) -> int:
    if thing.kind in noun.perhaps:
        return OPEN
    if thing.kind not in noun.means:
        return FALSE
    if noun.needs is None:
        return TRUE
    name, wanted = noun.needs
    value = getattr(thing, name)
    return OPEN if not value else TRUE if value == wanted else FALSE


def described(lemma: str, thing: Thing, others: tuple[str, ...] = ()) -> int:
    """Whether the attribute `lemma` is true of a thing; `others` are attributes said of it in the same breath."""
    entry = attributes().get(lemma)
    if entry is None or thing.category in ("stuff", "place"):
        return OPEN
    found = []
    for name in {**entry.means, **entry.perhaps}:
        value = getattr(thing, name)
        if name == "pattern" and not value:
            found.append(FALSE if KINDS[thing.kind].patterns else OPEN)
        elif not value:
            continue
        elif value in entry.means.get(name, ()):
            return TRUE
        elif value in entry.perhaps.get(name, ()):
            found.append(OPEN)
        elif name == "colour" and thing.second in entry.means.get(name, ()):
            found.append(TRUE if thing.colour in others else OPEN)  # "black and white", or only "black"
        else:
            found.append(FALSE)
    return max(found, default=OPEN)


def suits(wanted: SceneObject, thing: Thing) -> int:
    """Whether a thing can be what a graph's object speaks of, relations apart."""
    level = named(wanted.lemma, thing)
    if not level or not wanted.attributes:
        return level
    said = tuple(attribute.lemma for attribute in wanted.attributes)
    for lemma in said:
        level = min(level, described(lemma, thing, said))
        if not level:
            break
    return level


def related(facts: Facts, subject: int, lemma: str, thing: int) -> int:
    """Whether the relation word `lemma` is true of two things; "sit on" is "sit" and "on"."""
    level, rest = TRUE, lemma
    while rest:
        entry = relations().get(rest)
        if entry is not None:
            return min(level, max(_LEVEL[facts.holds(subject, name, thing)] for name in entry.means))
        first, _, rest = rest.partition(" ")
        if first in attributes():
            level = min(level, described(first, facts.things[subject]))
        elif first in relations():  # "ride on": the shorter word decides what it can
            level = min(level, related(facts, subject, first, thing))
        else:
            level = min(level, OPEN)
        if not level:
            return FALSE
    return min(level, OPEN)


def entails(facts: Facts, graph: SceneGraph) -> int:
    """TRUE, OPEN or FALSE: is what `graph` says true of the scene of `facts`?"""
    choices = [candidates(facts.scene, wanted) for wanted in graph.objects]
    if not all(choice or wanted.count == 0 for choice, wanted in zip(choices, graph.objects, strict=True)):
        return FALSE
    return Search(facts, graph, choices).best()


def candidates(scene: Scene, wanted: SceneObject) -> list[tuple[int, int]]:
    """(thing, level) of everything that an object of a graph may mean, best first."""
    entries = nouns().get(wanted.lemma)
    if entries is None:
        return [(_UNKNOWN, OPEN)]
    found = [(number, level) for number, thing in enumerate(scene.objects) if (level := suits(wanted, thing))]
    if scene.backdrop and any(scene.backdrop & (entry.means | entry.perhaps) for entry in entries):
        found.append((_SCENERY, OPEN))
    return sorted(found, key=lambda pair: -pair[1])


def is_group(wanted: SceneObject) -> bool:
    """Whether an object of a graph speaks of several things (or of none) at once."""
    return wanted.plural or (wanted.count is not None and wanted.count != 1)


class Search:
    """Gives each single object of a graph its own thing, counts the groups, and keeps the best verdict."""

    def __init__(self, facts: Facts, graph: SceneGraph, choices: list[list[tuple[int, int]]]):
        self.facts, self.graph, self.choices = facts, graph, choices
        groups = [is_group(wanted) for wanted in graph.objects]
        self.singles = [at for at, group in enumerate(groups) if not group]
        self.groups = [at for at, group in enumerate(groups) if group]
        self.singles.sort(key=lambda at: len(choices[at]))
        self.chosen: dict[int, int] = {}
        self.found, self.steps = FALSE, 0

    def best(self) -> int:
        """The greatest verdict over all ways to choose."""
        self._choose(0, TRUE)
        return self.found

    def _choose(self, depth: int, level: int) -> None:
        self.steps += 1
        if level <= self.found:
            return
        if self.steps > _PATIENCE:  # dozens of interchangeable objects: not worth more than "cannot say"
            self.found = max(self.found, OPEN)
            return
        if depth == len(self.singles):
            self.found = max(self.found, min(level, self._groups()))
            return
        at = self.singles[depth]
        used = self.chosen.values()
        for thing, fit in self.choices[at]:
            if thing >= 0 and thing in used:
                continue
            self.chosen[at] = thing
            self._choose(depth + 1, min(level, fit, self._links(at)))
            del self.chosen[at]
            if self.found == TRUE:
                return

    def _links(self, at: int) -> int:
        """The least verdict of the relations between the object just chosen and those chosen before."""
        level = TRUE
        for link in self.graph.relations:
            if at in (link.subject, link.object) and link.subject in self.chosen and link.object in self.chosen:
                level = min(level, self._link(self.chosen[link.subject], link.lemma, self.chosen[link.object]))
        return level

    def _link(self, subject: int, lemma: str, thing: int) -> int:
        if _SCENERY in (subject, thing) and lemma in relations() and relations()[lemma].category == "action":
            return FALSE  # nobody holds or rides the background
        return OPEN if subject < 0 or thing < 0 else related(self.facts, subject, lemma, thing)

    def _groups(self) -> int:
        level, taken = TRUE, []
        for at in self.groups:
            members = [
                (thing, fit) for thing, fit in self.choices[at] if thing < 0 or thing not in self.chosen.values()
            ]
            levels = {thing: min(fit, self._member(at, thing)) for thing, fit in members}
            ghost = max(levels.pop(_UNKNOWN, FALSE), levels.pop(_SCENERY, FALSE))
            level = min(level, max(ghost, _count(self.graph.objects[at], list(levels.values()))))
            sure = {thing for thing, fit in levels.items() if fit == TRUE}
            if any(sure & other for other in taken):
                level = min(level, OPEN)  # two groups that may share members
            taken.append(sure)
            if not level:
                return FALSE
        return level

    def _member(self, at: int, thing: int) -> int:
        """How surely a thing belongs to group `at`, by the group's relations to what is chosen and to other groups."""
        level = TRUE
        for link in self.graph.relations:
            if at not in (link.subject, link.object) or link.subject == link.object:
                continue
            other = link.object if link.subject == at else link.subject
            partners = [self.chosen[other]] if other in self.chosen else [number for number, _ in self.choices[other]]
            verdicts = [
                self._link(thing, link.lemma, partner) if link.subject == at else self._link(partner, link.lemma, thing)
                for partner in partners
                if partner != thing
            ]
            level = min(level, max(verdicts, default=FALSE))
        return level


def _count(wanted: SceneObject, levels: list[int]) -> int:
    """Whether as many things fit as were said: exactly a number, or at least two for a bare plural."""
    sure, possible = levels.count(TRUE), len(levels) - levels.count(FALSE)
    if wanted.count is None:
        return TRUE if sure >= 2 else OPEN if possible >= 2 else FALSE
    if wanted.count == 0:
        return FALSE if sure else OPEN if possible else TRUE
    if sure == wanted.count:
        return TRUE
    return OPEN if possible >= wanted.count else FALSE
