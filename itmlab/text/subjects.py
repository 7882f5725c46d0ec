"""Who a word of a caption is said of: subjects, the nouns of participles and relative clauses, all joined by "and"."""

from .dependencies import Word
from .knowledge import Knowledge
from .noun_phrases import Phrases
from .word_set import word_set

_RELATIVE = word_set("that which who whom what where")
_CLAUSES = word_set("acl acl:relcl advcl xcomp ccomp parataxis conj dep appos amod")
_NO_VERBS = word_set("aux aux:pass cop case compound det")
_MOST_TOGETHER = 24  # things in one list: what passes it is no caption, and every pair of them may be related
_DEEPEST = 12  # clauses inside clauses


class Subjects:
    """Questions about one caption; words and things are given and told by the number of their word."""

    def __init__(self, words: list[Word], phrases: Phrases, known: Knowledge):
        self.words, self.phrases, self.known = words, phrases, known

    def of(self, number: int, depth: int = 0) -> list[int]:
        """The things of which word `number` is said."""
        if number < 0 or depth > _DEEPEST:
            return []
        word = self.words[number]
        for child in word.children:
            if self.words[child].label in ("nsubj", "nsubj:pass"):
                if self.words[child].text in _RELATIVE and self.words[child].pos != "NOUN":
                    return self._antecedent(number, depth)
                if self.phrases.find(child) >= 0:
                    return self.together(child)
        if word.head >= 0 and word.label in _CLAUSES:
            return self._antecedent(number, depth)
        if word.head < 0:
            left = [c for c in word.children if c < number and self.is_thing(c) and self.words[c].preposition is None]
            return self.together(left[-1]) if left else []
        return []

    def _antecedent(self, number: int, depth: int) -> list[int]:
        """What the clause of word `number` hangs on, or what that is said of in turn."""
        word, head = self.words[number], self.words[number].head
        if head < 0:
            return []
        if not self.is_thing(head) or (word.label == "conj" and not self.is_verb(number)):
            return self.of(head, depth + 1)
        if word.label == "conj":
            return self.together(head)
        if self.has_subject(head) and word.label in ("advcl", "parataxis", "dep"):
            return self.of(head, depth + 1)
        bearer = self.bearer(head, depth + 1) if self.is_verb(number) else []
        if bearer:
            return bearer
        return self.joined(head) if word.label in ("acl", "acl:relcl", "advcl") else self.together(head)

    def bearer(self, number: int, depth: int = 0) -> list[int]:
        """Who wears a garment: in "a man in a hat riding a horse" no hat rides."""
        thing = self.phrases.things.get(self.phrases.find(number))
        word = self.words[number]
        if thing is None or thing.name not in self.known.worn or word.head < 0:
            return []
        if word.preposition is not None and word.preposition.name in ("in", "with"):
            return self.together(word.head) if self.is_thing(word.head) else self.of(word.head, depth)
        if word.label == "obj" and self.words[word.head].verb == "wear":
            return self.of(word.head, depth)
        return []

    def referents(self, number: int, depth: int = 0) -> list[int]:
        """What a word that governs a preposition speaks of: itself, or the things that it is said of."""
        if number < 0 or depth > _DEEPEST:
            return []
        if self.is_thing(number):
            there = any(self.words[child].label == "expl" for child in self.words[number].children)
            said = self.of(number) if self.has_subject(number) and not there else []
            return said or self.joined(number)
        word = self.words[number]
        if word.verb == "be" or self.has_subject(number) or word.pos in ("ADJ", "VERB"):
            found = self.of(number)
            if found:
                return found
        return self.referents(word.head, depth + 1)

    def together(self, number: int) -> list[int]:
        """The thing of a word and those joined to it by "and", in the order of the caption."""
        found, waiting = [], [number]
        while waiting and len(found) < _MOST_TOGETHER:
            one = waiting.pop()
            if self.is_thing(one) and self.phrases.find(one) not in found:
                found.append(self.phrases.find(one))
            waiting += [child for child in reversed(self.words[one].children) if self._is_joined(child)]
        return found

    def joined(self, number: int) -> list[int]:
        """Also what stands before "and": "leaves and branches of a tree" are both the tree's."""
        head = self.words[number].head
        return self.together(head if head < number and self._is_joined(number) and self.is_thing(head) else number)

    def _is_joined(self, number: int) -> bool:
        word = self.words[number]
        plain = word.label == "conj" and word.head >= 0 and word.preposition is None
        return plain and self.is_thing(number) and not self.has_subject(number)

    def is_thing(self, number: int) -> bool:
        """Whether a word stands for a thing."""
        return self.phrases.find(number) >= 0

    def has_subject(self, number: int) -> bool:
        """Whether a word has a subject of its own."""
        return any(self.words[child].label in ("nsubj", "nsubj:pass") for child in self.words[number].children)

    def is_verb(self, number: int) -> bool:
        """Whether a word says a deed ("be" and auxiliaries do not)."""
        word = self.words[number]
        if number in self.phrases.used or word.label in _NO_VERBS:
            return False
        return word.verb != "be" if word.pos == "VERB" else word.pos == "AUX" and word.verb in ("have", "do")
