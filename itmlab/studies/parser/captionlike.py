"""What captions look like and news text does not: noun phrases, bare participles, no full stop, no capitals."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from .conllu import Sentence, Word

CASES = frozenset({"case", "mark", "cc", "punct", "discourse", "vocative"})
LOST_WITH_THE_AUXILIARY = CASES | {"aux", "aux:pass", "cop", "expl", "conj", "parataxis", "dislocated", "nsubj:outer"}
LONGEST = 25
WHO = ("man", "woman", "boy", "girl", "person", "child", "dog", "cat", "bird", "horse", "player", "guy", "lady", "cow",
       "skier", "surfer", "train", "bus", "giraffe", "elephant", "baby", "bear", "skateboarder", "rider")  # fmt: skip
HOW = ("young", "little", "small", "large", "black", "white", "brown", "old", "tall", "red", "smiling", "big")
PLURALS = {"men": "man", "women": "woman", "people": "person", "children": "child", "dogs": "dog", "boys": "boy",
           "girls": "girl", "birds": "bird", "horses": "horse", "elephants": "elephant", "players": "player",
           "kids": "kid", "cows": "cow"}  # fmt: skip
ADJECTIVE, ARTICLE = ("ADJ", "JJ", "Degree=Pos"), ("a", "DET", "DT", "Definite=Ind|PronType=Art")
_NUMBER = ("NUM", "CD", "NumForm=Word|NumType=Card")
MANY = {"two": (_NUMBER, "nummod"), "three": (_NUMBER, "nummod"), "four": (_NUMBER, "nummod"),
        "several": (ADJECTIVE, "amod"), "some": (("DET", "DT", "_"), "det"), "many": (ADJECTIVE, "amod")}  # fmt: skip


def without_final_stop(sentence: Sentence) -> Sentence:
    """The sentence without the punctuation at its end, where nothing depends on that."""
    last = len(sentence) - 1
    while last and sentence[last].relation == "punct" and last not in {word.head for word in sentence}:
        sentence, last = sentence[:-1], last - 1
    return sentence


def with_stop(sentence: Sentence, spaced: bool) -> Sentence:
    """The sentence with a full stop, `spaced` as in the COCO captions (" .")."""
    root = next(place for place, word in enumerate(sentence) if word.head == place)
    stop = Word(".", ".", "PUNCT", ".", "_", root, "punct")
    return (*sentence[:-1], replace(sentence[-1], space=spaced), stop)


def noun_phrases(sentence: Sentence) -> Iterator[Sentence]:
    """Each noun with all that depends on it, as a sentence of its own."""
    below = _descendants(sentence)
    for place, word in enumerate(sentence):
        if word.upos in ("NOUN", "PROPN") and word.head != place:
            kept = {place}
            for child in _children(sentence, place):
                if sentence[child].relation not in CASES | {"nsubj", "cop", "aux", "nsubj:pass", "advcl", "parataxis"}:
                    kept |= below[child]
            phrase = cut(sentence, place, kept)
            if 3 <= len(phrase) <= LONGEST:
                yield phrase


def participle_phrases(sentence: Sentence, chance: random.Random) -> Iterator[Sentence]:
    """Clauses as captions say them: "he drove the car" as "a man driving the car", "it was seen" as "a dog seen"."""
    below = _descendants(sentence)
    for verb, word in enumerate(sentence):
        children = _children(sentence, verb)
        subject = next((child for child in children if sentence[child].relation in ("nsubj", "nsubj:pass")), None)
        if subject is None or subject > verb or sentence[subject].upos not in ("NOUN", "PRON"):
            continue
        if sentence[subject].xpos in ("WP", "WDT", "EX") or sentence[subject].form.lower() in ("that", "this", "it"):
            continue
        relations, participle, relation = {sentence[child].relation for child in children}, None, "acl"
        if word.upos == "VERB":
            participle = _participle(word, "aux:pass" in relations)
        elif word.upos in ("NOUN", "PROPN") and "case" in relations:
            participle, relation = word, "nmod"
        if participle is None or any(sentence[child].form.lower() in ("not", "n't", "n’t") for child in children):
            continue
        kept = below[subject] | {verb}
        lost = LOST_WITH_THE_AUXILIARY - {"case"} if relation == "nmod" else LOST_WITH_THE_AUXILIARY
        for child in children:
            if child > subject and sentence[child].relation not in lost:
                kept |= below[child]
        if not any(place > subject for place in kept - below[subject]):
            continue
        attached = replace(participle, head=subject, relation=relation)
        phrase = cut((*sentence[:verb], attached, *sentence[verb + 1 :]), subject, kept)
        if sentence[subject].upos == "PRON":
            phrase = _someone_for_the_pronoun(phrase, chance)
        if 3 <= len(phrase) <= LONGEST:
            yield phrase


def cut(sentence: Sentence, root: int, kept: set[int]) -> Sentence:
    """The words `kept`, with `root` as root; punctuation left at either end goes."""
    places = sorted(kept)
    while places and places[0] != root and sentence[places[0]].relation in ("punct", "cc"):
        places.pop(0)
    while places and places[-1] != root and sentence[places[-1]].relation == "punct":
        places.pop()
    new = {old: place for place, old in enumerate(places)}
    words = []
    for old in places:
        word = sentence[old]
        head, relation = (new[old], "root") if old == root else (new.get(word.head, new[root]), word.relation)
        words.append(replace(word, head=head, relation=relation, space=word.space or old + 1 not in new))
    return tuple(words)


def indefinite(sentence: Sentence, chance: random.Random) -> Sentence:
    """Every "the" and "my" before a singular common noun turned into "a" or "an", half of the time."""
    words = list(sentence)
    for place, word in enumerate(sentence[:-1]):
        head = sentence[word.head]
        definite = word.form.lower() in ("the", "my", "his", "our", "this", "that")
        if definite and head.xpos == "NN" and word.head > place and chance.random() < 0.5:
            article = "an" if sentence[place + 1].form[:1].lower() in "aeio" else "a"
            words[place] = Word(article, *ARTICLE, word.head, "det")
    return tuple(words)


def _someone_for_the_pronoun(phrase: Sentence, chance: random.Random) -> Sentence:
    """The root, a pronoun, replaced by somebody whom captions speak of."""
    root = next(place for place, word in enumerate(phrase) if word.head == place)
    if chance.random() < 0.3:
        noun, many = chance.choice(sorted(PLURALS)), chance.choice(tuple(MANY))
        tags, relation = MANY[many]
        someone = [Word(many, many, *tags, 0, relation)] if chance.random() < 0.8 else []
        head = Word(noun, PLURALS[noun], "NOUN", "NNS", "Number=Plur", 0, "root")
    else:
        noun = chance.choice(WHO)
        someone = [Word("a", *ARTICLE, 0, "det")] if chance.random() < 0.85 else []
        if chance.random() < 0.4:
            how = chance.choice(HOW)
            someone.append(Word(how, how, *ADJECTIVE, 0, "amod"))
        if someone and someone[0].form == "a" and (*(word.form for word in someone[1:]), noun)[0][0] in "aeiou":
            someone[0] = replace(someone[0], form="an")
        head = Word(noun, noun, "NOUN", "NN", "Number=Sing", 0, "root")
    new = root + len(someone)
    moved = [replace(word, head=word.head + len(someone) if word.head >= root else word.head) for word in phrase]
    return (*moved[:root], *(replace(word, head=new) for word in (*someone, head)), *moved[root + 1 :])


def _participle(word: Word, passive: bool) -> Word | None:
    """The participle of a verb form; None for the perfect and for verbs that captions do not put so."""
    if word.xpos == ("VBN" if passive else "VBG"):
        return word
    if passive or word.xpos not in ("VBZ", "VBD", "VBP") or not re.fullmatch("[a-z]{2,}", word.lemma):
        return None
    return replace(word, form=ing(word.lemma), xpos="VBG", features="Tense=Pres|VerbForm=Part")


def ing(lemma: str) -> str:
    """The -ing form of a verb.

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
    return [place for place, word in enumerate(sentence) if word.head == head and place != head]


def _descendants(sentence: Sentence) -> list[set[int]]:
    """For each word the places of all words below it, itself included."""
    below = [{place} for place in range(len(sentence))]
    for place in range(len(sentence)):
        at = place
        for _ in sentence:  # bounded: a tree that is none has circles
            at = sentence[at].head
            below[at].add(place)
    return below
