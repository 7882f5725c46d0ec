"""A sentence under construction: its tokens, and its scene graph with the tokens that say each part."""

from dataclasses import dataclass, field

from ....text.graph import Attribute, Relation, SceneGraph, SceneObject, Span

_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")  # from 2 on
_UNSPACED = (",", ".")


@dataclass
class Sentence:
    """Say words; say things, attributes and relations, and their spans are kept."""

    tokens: list[str] = field(default_factory=list)
    objects: list[SceneObject] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    means: list[tuple[int, ...]] = field(default_factory=list)  # scene objects behind each graph object

    def say(self, words: str) -> Span:
        """Add words; the span they take."""
        start = len(self.tokens)
        self.tokens += words.split()
        return Span(start, len(self.tokens))

    def thing(
        self,
        lemma: str,
        surface: str,
        means: tuple[int, ...],
        *,
        before: str = "",
        adjectives: tuple[str, ...] = (),
        count: int | None = 1,
    ) -> int:
        """A noun phrase: `before` (article or number), adjectives ("and" is only said), noun; its object's number."""
        if before == "a":
            before = "an" if (*adjectives, surface)[0][0] in "aeiou" else "a"
        self.say(before)
        said = [Attribute(word, self.say(word)) if word != "and" else self.say(word) for word in adjectives]
        attributes = tuple(entry for entry in said if isinstance(entry, Attribute))
        span = self.say(surface)
        self.objects.append(SceneObject(lemma, attributes, count, count != 1, span))
        self.means.append(means)
        return len(self.objects) - 1

    def attribute(self, number: int, lemma: str, surface: str) -> None:
        """Say a verb or adjective about an object after its noun ("is running")."""
        entry = self.objects[number]
        said = (*entry.attributes, Attribute(lemma, self.say(surface)))
        self.objects[number] = SceneObject(entry.lemma, said, entry.count, entry.plural, entry.span)

    def relate(self, subject: int, lemma: str, thing: int, span: Span) -> None:
        """Note a relation whose words have been said at `span`."""
        self.relations.append(Relation(subject, lemma, thing, span))

    def graph(self, *, stop: bool, capital: bool) -> SceneGraph:
        """The finished graph; its tokens are those of `text`."""
        tokens = [*self.tokens, "."] if stop else list(self.tokens)
        if capital:
            tokens[0] = tokens[0][0].upper() + tokens[0][1:]
        return SceneGraph(tuple(self.objects), tuple(self.relations), tuple(tokens))


def text(tokens: tuple[str, ...]) -> str:
    """The tokens as one writes them: no blank before a comma or a full stop."""
    written = ""
    for token in tokens:
        written += token if token in _UNSPACED or not written else " " + token
    return written


def number_word(count: int) -> str:
    """The English word of a count from 2 to 12; a scene shows no more of a kind."""
    return _NUMBERS[count - 2]
