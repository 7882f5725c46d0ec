"""Caption-like versions of a treebank's sentences.

Captions differ from news text: noun phrases, bare participles ("a man driving a car"), no full stop, no capitals.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

CASES = frozenset({"case", "mark", "cc", "punct", "discourse", "vocative"})
LOST_WITH_THE_AUXILIARY = CASES | {"aux", "aux:pass", "cop", "expl", "conj", "parataxis", "dislocated", "nsubj:outer"}
LONGEST = 25
ARTICLE = ("a", "DET", "DT", "Definite=Ind|PronType=Art")  # lemma and tags
WHO = (
    "man woman boy girl person child dog cat bird horse player guy lady cow skier surfer train bus giraffe "
    "baby bear skateboarder rider"
)


@dataclass(frozen=True)
class Word:
    """One syntactic word of a sentence.

    Args:
        head: the position of its head in the sentence (from 0), or its own position at the root.
        space: whether a space follows.
    """

    form: str
    lemma: str
    upos: str
    xpos: str
    features: str
    head: int
    relation: str
    space: bool = True


Sentence = tuple[Word, ...]


def without_final_stop(sentence: Sentence) -> Sentence:
    """Return the sentence without the punctuation at its end, unless a word depends on it."""
    last = len(sentence) - 1
    while last and sentence[last].relation == "punct" and last not in {word.head for word in sentence}:
        sentence, last = sentence[:-1], last - 1
    return sentence


def with_stop(sentence: Sentence, spaced: bool) -> Sentence:
    """Return the sentence with a full stop; `spaced` puts a space before it, as in the COCO captions."""
    root = next(position for position, word in enumerate(sentence) if word.head == position)
    stop = Word(".", ".", "PUNCT", ".", "_", root, "punct")
    return (*sentence[:-1], replace(sentence[-1], space=spaced), stop)


def noun_phrases(sentence: Sentence) -> Iterator[Sentence]:
    """Yield each noun with everything that depends on it, as a sentence of its own."""
    below = _descendants(sentence)
    outside = CASES | {"nsubj", "cop", "aux", "nsubj:pass", "advcl", "parataxis"}
    for noun, word in enumerate(sentence):
        if word.upos in ("NOUN", "PROPN") and word.head != noun:
            positions = {noun}
            for child in _children(sentence, noun):
                if sentence[child].relation not in outside:
                    positions |= below[child]
            phrase = cut(sentence, noun, positions)
            if 3 <= len(phrase) <= LONGEST:
                yield phrase


def participle_phrases(sentence: Sentence, chance: random.Random) -> Iterator[Sentence]:
    """Yield clauses worded as in captions.

    "He drove the car" becomes "a man driving the car", and "the dog was seen" becomes "the dog seen".
    """
    below = _descendants(sentence)
    for verb, word in enumerate(sentence):
        children = _children(sentence, verb)
        relations = {sentence[child].relation for child in children}
        subject = next((child for child in children if sentence[child].relation in ("nsubj", "nsubj:pass")), None)
        if subject is None or subject > verb or not _can_be_described(sentence[subject]):
            continue
        participle, relation = None, "acl"
        if word.upos == "VERB":
            participle = _participle(word, "aux:pass" in relations)
        elif word.upos in ("NOUN", "PROPN") and "case" in relations:
            participle, relation = word, "nmod"
        if participle is None or any(sentence[child].form.lower() in ("not", "n't", "n’t") for child in children):
            continue
        lost = LOST_WITH_THE_AUXILIARY - {"case"} if relation == "nmod" else LOST_WITH_THE_AUXILIARY
        positions = below[subject] | {verb}
        for child in children:
            if child > subject and sentence[child].relation not in lost:
                positions |= below[child]
        if not any(position > subject for position in positions - below[subject]):
            continue
        attached = replace(participle, head=subject, relation=relation)
        phrase = cut((*sentence[:verb], attached, *sentence[verb + 1 :]), subject, positions)
        if sentence[subject].upos == "PRON":
            phrase = _noun_for_the_pronoun(phrase, chance)
        if 3 <= len(phrase) <= LONGEST:
            yield phrase


def _can_be_described(subject: Word) -> bool:
    """Whether a subject is a noun or a pronoun for somebody."""
    relative = subject.xpos in ("WP", "WDT", "EX") or subject.form.lower() in ("that", "this", "it")
    return subject.upos in ("NOUN", "PRON") and not relative


def cut(sentence: Sentence, root: int, positions: set[int]) -> Sentence:
    """Return the words at these positions as a sentence with this root, without punctuation at its ends."""
    remaining = sorted(positions)
    while remaining[0] != root and sentence[remaining[0]].relation in ("punct", "cc"):
        remaining.pop(0)
    while remaining[-1] != root and sentence[remaining[-1]].relation == "punct":
        remaining.pop()
    new = {old: position for position, old in enumerate(remaining)}
    words = []
    for old in remaining:
        word = sentence[old]
        head, relation = (new[old], "ROOT") if old == root else (new.get(word.head, new[root]), word.relation)
        words.append(replace(word, head=head, relation=relation, space=word.space or old + 1 not in new))
    return tuple(words)


def indefinite(sentence: Sentence, chance: random.Random) -> Sentence:
    """Turn every "the" or "my" before a singular common noun into "a" or "an" with probability one half."""
    words = list(sentence)
    for position, word in enumerate(sentence[:-1]):
        head = sentence[word.head]
        definite = word.form.lower() in ("the", "my", "his", "our", "this", "that")
        if definite and head.xpos == "NN" and word.head > position and chance.random() < 0.5:
            article = "an" if sentence[position + 1].form[:1].lower() in "aeio" else "a"
            words[position] = Word(article, *ARTICLE, word.head, "det")
    return tuple(words)


def _noun_for_the_pronoun(phrase: Sentence, chance: random.Random) -> Sentence:
    """Replace the root, a pronoun, by "a" and a noun that captions use."""
    root, noun = next(at for at, word in enumerate(phrase) if word.head == at), chance.choice(WHO.split())
    moved = [replace(word, head=word.head + (word.head >= root)) for word in phrase]
    new = [Word("a", *ARTICLE, root + 1, "det"), Word(noun, noun, "NOUN", "NN", "Number=Sing", root + 1, "ROOT")]
    return (*moved[:root], *new, *moved[root + 1 :])


def _participle(word: Word, passive: bool) -> Word | None:
    """Return the participle of a verb form, or None for the perfect and for forms that captions do not use."""
    if word.xpos == ("VBN" if passive else "VBG"):
        return word
    if passive or word.xpos not in ("VBZ", "VBD", "VBP") or not re.fullmatch("[a-z]{2,}", word.lemma):
        return None
    return replace(word, form=ing(word.lemma), xpos="VBG", features="Tense=Pres|VerbForm=Part")


def ing(lemma: str) -> str:
    """Return the -ing form of a verb.

    >>> [ing(verb) for verb in ("ride", "sit", "lie", "see", "show")]
    ['riding', 'sitting', 'lying', 'seeing', 'showing']
    """
    if lemma.endswith("ie"):
        return lemma[:-2] + "ying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye")) and lemma != "be":
        return lemma[:-1] + "ing"
    if re.fullmatch("[^aeiou]*[aeiou][^aeiouwxy]", lemma):
        return lemma + lemma[-1] + "ing"
    return lemma + "ing"


def _children(sentence: Sentence, head: int) -> list[int]:
    return [position for position, word in enumerate(sentence) if word.head == head and position != head]


def _descendants(sentence: Sentence) -> list[set[int]]:
    """Return for each word the positions of all words below it, itself included."""
    below = [{position} for position in range(len(sentence))]
    for position in range(len(sentence)):
        above = position
        while sentence[above].head != above:
            above = sentence[above].head
            below[above].add(position)
    return below
