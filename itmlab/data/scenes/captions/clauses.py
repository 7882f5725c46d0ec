"""What a thing is said to do: verb phrases in several constructions, and the words added to a noun."""

from ..lexicon import attributes, relations
from .choose import Chooser
from .sentence import Sentence

PROGRESSIVE, PARTICIPLE, SIMPLE, RELATIVE = "is riding", "riding", "rides", "who is riding"
_SAID = ("ride", "hold", "chase", "kick", "fly", "read", "play", "walk", "lead", "in", "on", "under", "over")
_NEXT = ("next to", "in front of", "behind", "under", "near", "above")
_OTHER_WORDS = {
    "next to": ("next to", "next to", "beside"),
    "near": ("near", "close to", "by"),
    "lead": ("lead", "walk"),
}


def deeds(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """The composed (relation, thing) of which `at` is the subject, apart from clothes and the ground."""
    return [
        (fact.relation, fact.object)
        for fact in chooser.facts.scene.facts
        if fact.subject == at and fact.relation in _SAID and chooser.things[fact.object].category != "stuff"
    ]


def alike(chooser: Chooser, one: int, other: int) -> bool:
    """Two things of a kind that nobody would set against one another ("a box next to a box")."""
    kind = chooser.things[one]
    return kind.kind == chooser.things[other].kind and kind.category != "person"


def neighbours(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """(relation, thing) that hold by position."""
    return [
        (name, other)
        for other in chooser.mains
        if other != at and not chooser.facts.between(at, other) and not alike(chooser, at, other)
        for name in _NEXT
        if chooser.facts.holds(at, name, other)
        and not (name == "under" and chooser.things[other].category in ("animal", "person"))
    ]


def conjugate(sentence: Sentence, subject: int, form: str, third: str, participle: str, base: str) -> str:
    """The words of a verb in a construction."""
    plural = sentence.objects[subject].plural
    if form == PARTICIPLE:
        return participle
    if form == SIMPLE:
        return base if plural else third
    return ("are " if plural else "is ") + participle


def relative(sentence: Sentence, chooser: Chooser, form: str, at: int) -> None:
    """The pronoun of a relative clause."""
    if form == RELATIVE:
        sentence.say("who" if chooser.things[at].category == "person" else "that")


def verb(sentence: Sentence, subject: int, form: str, lemma: str) -> None:
    """A pose said of the subject ("is sitting")."""
    third, participle = attributes()[lemma].forms
    words = conjugate(sentence, subject, form, third, participle, lemma).split()
    if len(words) > 1:
        sentence.say(words[0])
    sentence.attribute(subject, lemma, words[-1])


def action(chooser: Chooser, sentence: Sentence, subject: int, at: int, relation: str, thing: int, form: str) -> None:
    """A relation said of the subject, its object's noun phrase included."""
    relative(sentence, chooser, form, at)
    pose = chooser.things[at].pose
    if relation in ("on", "in", "under", "over") or relation in _NEXT:
        place(chooser, sentence, subject, relation, thing, form, pose)
        return
    lemma = chooser.dice.choice(_OTHER_WORDS.get(relation, (relation,)))
    if relation == "hold" and chooser.things[thing].kind in ("bag", "ball", "umbrella") and chooser.chance(0.3):
        lemma = "carry"
    if relation == "chase" and chooser.chance(0.3):
        lemma = "run after"
    third, participle, _ = relations()[lemma].forms
    words = conjugate(sentence, subject, form, third, participle, lemma)
    if words.startswith(("is ", "are ")):
        first, _, words = words.partition(" ")
        sentence.say(first)
    span = sentence.say(words)
    sentence.relate(subject, lemma, chooser.say(sentence, thing), span)


def place(chooser: Chooser, sentence: Sentence, subject: int, relation: str, thing: int, form: str, pose: str) -> None:
    """Where the subject is, with its pose or without."""
    if relation == "over":
        lemma = chooser.dice.choice(("jump over", "jump over", "leap over"))
        third, participle, _ = relations()[lemma].forms
        words = conjugate(sentence, subject, form, third, participle, lemma)
        first, _, rest = words.partition(" ")
        span = sentence.say(rest if first in ("is", "are") and sentence.say(first) else words)
        sentence.relate(subject, lemma, chooser.say(sentence, thing), span)
        return
    if pose in ("stand", "sit", "lie", "walk", "run", "fly", "swim") and chooser.chance(chooser.between(0.75, 0.4)):
        verb(sentence, subject, form, pose)
    elif form != PARTICIPLE:
        sentence.say("are" if sentence.objects[subject].plural else "is")
    words = chooser.dice.choice(_OTHER_WORDS.get(relation, (relation,)))
    span = sentence.say(words)
    sentence.relate(subject, words, chooser.say(sentence, thing), span)


def setting(chooser: Chooser, sentence: Sentence, subject: int, at: int) -> bool:
    """Where in the world the subject is; whether there was anything to say."""
    options = chooser.places(at)
    if not options:
        return False
    preposition, words, lemma = chooser.dice.choice(options)
    span = sentence.say(preposition)
    sentence.relate(subject, preposition, setting_words(chooser, sentence, words, lemma), span)
    return True


def setting_words(chooser: Chooser, sentence: Sentence, words: str, lemma: str) -> int:
    """The noun phrase of the setting."""
    article, noun = words.split()
    things = enumerate(chooser.things)
    means = tuple(number for number, thing in things if thing.kind in (lemma, chooser.facts.scene.setting))
    stuff = tuple(number for number in means if chooser.things[number].kind == lemma)
    return sentence.thing(lemma, noun, stuff or means[-1:], before=article)


def clothes(chooser: Chooser, sentence: Sentence, subject: int, at: int) -> None:
    """Something that a person wears: "in a red shirt", "wearing a hat"."""
    worn = [number for number, thing in enumerate(chooser.things) if thing.wearer == at]
    if not worn or not chooser.chance(chooser.between(0.55, 0.1)):
        return
    garment = chooser.dice.choice(worn)
    words = chooser.dice.choice(("in", "wearing", "with"))
    if chooser.things[garment].kind == "backpack":
        words = chooser.dice.choice(("with", "carrying", "wearing"))
    lemma = {"wearing": "wear", "carrying": "carry"}.get(words, words)
    span = sentence.say(words)
    sentence.relate(subject, lemma, chooser.say(sentence, garment), span)
