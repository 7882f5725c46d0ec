"""The words between the noun phrases of a caption (verbs, prepositions), hung where its scene graph says."""

from collections import Counter
from collections.abc import Sequence

from ..lemmas import noun_lemma
from .caption_phrases import Phrase, Tree
from .caption_tags import COLLECTIVES, DETERMINERS, Tag, noun_tag, same_verb, verb_tag
from .scene_captions import Triple

PREPOSITIONS = {"on", "in", "at", "with", "of", "under", "behind", "near", "by", "above", "over", "below", "beside",
                "inside", "against", "through", "around", "across", "along", "from", "to", "between", "into", "onto",
                "beneath", "underneath", "atop", "towards", "toward", "outside", "upon", "beyond", "down", "up", "for",
                "alongside", "off"}  # fmt: skip
PLACES = {"top", "front", "side", "back", "middle", "edge", "bottom", "end"}
ADVERBS = {"down", "up", "out", "over", "off", "around", "along", "through"}
BE = ("is", "are")


class Unexplained(Exception):
    """A word for which neither the graph nor the grammar has a place."""


class Joining:
    """One caption's tree while its phrases are joined; `root` is the place of the root so far."""

    def __init__(self, tree: Tree, phrases: Sequence[Phrase], triples: Sequence[Triple]):
        self.tree, self.phrases, self.root = tree, phrases, phrases[0].head
        self.verbs: dict[int, int] = {}  # the verb that a noun is subject of
        self.related = sorted({(noun_lemma(first), relation, noun_lemma(last)) for first, relation, last in triples})

    def join(self, said: set[str], adjectives: Counter[str]) -> int:
        """Explain the words between and after the phrases; the place of the root."""
        for number, phrase in enumerate(self.phrases[1:], 1):
            self._join_one(self.phrases[:number], phrase)
        return self._rest(said, adjectives)

    def _join_one(self, earlier: Sequence[Phrase], phrase: Phrase) -> None:
        between = list(range(earlier[-1].end, phrase.start))
        words = [self.tree.tokens[place] for place in between]
        if words == ["and"]:
            self.tree.put(between[0], ("CCONJ", "CC", "and", "_"), phrase.head, "cc")
            self.tree.hang(phrase.head, earlier[-1].head, "conj")
            return
        be = bool(words) and words[0] in BE
        if be and (self.root != self.phrases[0].head or self.verbs):
            raise Unexplained
        auxiliary = between.pop(0) if be else None
        if between and self.tree.tokens[between[0]] not in PREPOSITIONS | {"next"}:
            self._verb(earlier, phrase, auxiliary, between.pop(0), between)
        elif auxiliary is not None:
            self._place_is_said(phrase, auxiliary, between)
        else:
            self._preposition(earlier, phrase, between)

    def _verb(
        self, earlier: Sequence[Phrase], phrase: Phrase, auxiliary: int | None, verb: int, between: list[int]
    ) -> None:
        """ "a man [is] riding a horse", "a man sits on a bench", "a plate [is] covered by cheese"."""
        tree, tokens = self.tree, self.tree.tokens
        tag = verb_tag(tokens[verb], finite=auxiliary is None)
        subject = None if tag is None else self._subject(earlier, phrase, tag)
        if tag is None or subject is None:
            raise Unexplained
        passive = tag[1] == "VBN"
        if auxiliary is not None or tag[1] in ("VBZ", "VBP"):
            if subject != self.root or self.root != self.phrases[0].head or self.verbs:
                raise Unexplained
            tree.put(verb, tag, verb, "")
            tree.hang(subject, verb, "nsubj:pass" if passive else "nsubj")
            self.root = verb
        else:
            tree.put(verb, tag, subject, "acl")
        self.verbs[subject] = verb
        if auxiliary is not None:
            tree.put(auxiliary, be_tag(tokens[auxiliary]), verb, "aux:pass" if passive else "aux")
        if len(between) == 2 and tokens[between[0]] in ADVERBS and tokens[between[1]] != "of":
            adverb = between.pop(0)
            tree.put(adverb, ("ADV", "RB", tokens[adverb], "_"), verb, "advmod")
        if passive and not between:
            raise Unexplained
        agent = passive and tokens[between[0]] == "by"
        tree.hang(self._prepositions(between, phrase.head), verb, "obl:agent" if agent else "obl" if between else "obj")

    def _place_is_said(self, phrase: Phrase, copula: int, between: list[int]) -> None:
        """ "the dog is on the beach"."""
        if not between:
            raise Unexplained
        noun = self._prepositions(between, phrase.head)
        self.tree.put(copula, be_tag(self.tree.tokens[copula]), noun, "cop")
        self.tree.heads[noun] = noun
        self.tree.hang(self.phrases[0].head, noun, "nsubj")
        self.root = noun

    def _preposition(self, earlier: Sequence[Phrase], phrase: Phrase, between: list[int]) -> None:
        """ "a dog on the beach", by the only noun, by a noun before "of", or by what the graph joins it to."""
        if not between:
            raise Unexplained
        if self.tree.tokens[between[0]] == "of":
            target = earlier[-1].head
        elif len(earlier) == 1 and not self.verbs and self.root == earlier[0].head:
            target = self.root
        else:
            target = self._joined_to(earlier, phrase)
        noun = self._prepositions(between, phrase.head)
        upright = self.tree.tags[target][0] == "VERB" or (target == self.root and self.tree.tags[target][0] != "NOUN")
        self.tree.hang(noun, target, "obl" if upright else "nmod")

    def _subject(self, earlier: Sequence[Phrase], phrase: Phrase, tag: Tag) -> int | None:
        """The nearest earlier noun that the graph joins to this one by the verb, in either direction (passives)."""
        name = self._name(phrase)
        for other in reversed(earlier):
            for first, relation, last in self.related:
                pair = {first.split()[-1], last.split()[-1]}
                if same_verb(relation, tag[2]) and pair == {self._name(other), name}:
                    return self._collective_above(other.head)
        return None

    def _joined_to(self, earlier: Sequence[Phrase], phrase: Phrase) -> int:
        """The nearest earlier noun that the graph relates to this one, or its verb where the relation says that."""
        for other in reversed(earlier):
            for first, relation, last in self.related:
                if first.split()[-1] == self._name(other) and last.split()[-1] == self._name(phrase):
                    verb = self.verbs.get(other.head)
                    by_verb = verb is not None and (verb == self.root or same_verb(relation, self.tree.tags[verb][2]))
                    return verb if by_verb else other.head
        raise Unexplained

    def _name(self, phrase: Phrase) -> str:
        return noun_lemma(self.tree.tokens[phrase.head])

    def _collective_above(self, noun: int) -> int:
        """The "group" of "group of people", or the first of coordinated nouns; else the noun itself."""
        above, relation = self.tree.heads[noun], self.tree.relations[noun]
        if above is None or above == noun:
            return noun
        shared = relation == "conj" or (relation == "nmod" and self.tree.tags[above][2] in COLLECTIVES)
        return self._collective_above(above) if shared else noun

    def _prepositions(self, between: list[int], noun: int) -> int:
        """Hang prepositions on their noun; the noun that the phrase hangs by ("top" in "on top of the table")."""
        tree, words = self.tree, [self.tree.tokens[place] for place in between]
        if len(words) in (3, 4) and words[-1] == "of" and words[-2] in PLACES and words[0] in PREPOSITIONS:
            place = between[-2]
            tree.put(place, noun_tag(words[-2]), place, "")
            tree.put(between[0], ("ADP", "IN", words[0], "_"), place, "case")
            if len(words) == 4:
                if words[1] not in DETERMINERS:
                    raise Unexplained
                tree.put(between[1], ("DET", "DT", DETERMINERS[words[1]], "_"), place, "det")
            tree.put(between[-1], ("ADP", "IN", "of", "_"), noun, "case")
            tree.hang(noun, place, "nmod")
            return place
        if words != ["next", "to"] and (len(words) > 2 or any(word not in PREPOSITIONS for word in words)):
            raise Unexplained
        for place, word in zip(between, words, strict=True):
            tree.put(place, ("ADP", "IN", word, "_"), noun, "case")
        return noun

    def _rest(self, said: set[str], adjectives: Counter[str]) -> int:
        """Explain what follows the last phrase: nothing, "is red", "is walking" or "walking"."""
        tree, last = self.tree, self.phrases[-1]
        *auxiliaries, word = tree.tokens[last.end :] or [""]
        if not word:
            return self.root
        be = len(auxiliaries) == 1 and auxiliaries[0] in BE
        if word not in said or (be and (self.verbs or tree.tags[self.root][0] != "NOUN")) or (auxiliaries and not be):
            raise Unexplained
        place = len(tree.tokens) - 1
        tag = verb_tag(word, finite=False) if word.endswith("ing") and len(word) > 4 else None
        if tag is None and be and adjectives[word]:
            tag = "ADJ", "JJ", word, "Degree=Pos"
        if tag is None:
            raise Unexplained
        if not be:
            tree.put(place, tag, last.head, "acl")
            return self.root
        tree.put(last.end, be_tag(auxiliaries[0]), place, "cop" if tag[0] == "ADJ" else "aux")
        tree.put(place, tag, place, "")
        tree.hang(self.root, place, "nsubj")
        return place


def be_tag(form: str) -> Tag:
    """The tag of "is" or "are" as an auxiliary."""
    return "AUX", "VBZ" if form == "is" else "VBP", "be", "Tense=Pres|VerbForm=Fin"
