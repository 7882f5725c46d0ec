"""Five captions an image, as five people might write them, each with its scene graph and what its words mean.

A caption is built by one of nine frames (plain sentence, fragment, "there is", setting first, relative clause, passive,
list, count); a frame chooses what to say and in which construction, `wording` says the noun phrases.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..text.graph import SceneGraph, Span
from .entail import TRUE, entails
from .lexicon import attributes, relations
from .relations import Facts
from .wording import Chooser, Sentence, text


class Caption(NamedTuple):
    """A sentence, its scene graph, and for each object of the graph the entities of the scene that it means."""

    text: str
    graph: SceneGraph
    means: tuple[tuple[int, ...], ...]


def write_captions(facts: Facts, *, seed: int, index: int, unannotated: float, count: int = 5) -> list[Caption]:
    """`count` captions of the scene of `facts`, from the stream of (seed, index); `unannotated` in 0..1 is the knob.

    >>> from itmlab.scenes.compose import compose
    >>> [caption.text for caption in write_captions(Facts(compose(0, 1)), seed=0, index=1, unannotated=0.0, count=2)]
    ['Near a lake, a woman is riding a black bike.', 'An old woman who is riding a black bike near a lake.']
    """
    dice = random.Random(f"captions/{seed}/{index}")
    found: dict[str, Caption] = {}
    frames: list[tuple[Frame, float, float, float]] = []
    tries = 0
    while len(found) < count:
        frames = frames or list(FRAMES)
        tries += 1
        at = dice.choices(range(len(frames)), [weight for _, weight, _, _ in frames])[0]
        frame, _, stop, capital = frames[at] if tries < 60 else (fragment, 1.0, 0.5, 0.5)
        sentence = Sentence()
        # where a scene offers little to say, later tries say it more specifically
        frame(Chooser(facts, dice, unannotated * max(1 - tries / 60, 0.0) ** 0.5), sentence)
        graph = sentence.graph(stop=dice.random() < stop, capital=dice.random() < capital)
        written = text(graph.tokens)
        # one that only names things of one sort ("A man.") should not be written often
        says_more = graph.relations or any(entity.attributes for entity in graph.objects)
        thin = not says_more and len({entity.lemma for entity in graph.objects}) == 1 and dice.random() < 0.8
        if not thin and written not in found and entails(facts, graph) == TRUE:
            found[written] = Caption(written, graph, tuple(sentence.means))
            if tries < 60:
                frames.pop(at)  # the five differ in their construction too
    return list(found.values())


# The frames. Each draws its choices in a fixed order from the caption's own stream: another order is another world.

PROGRESSIVE, PARTICIPLE, SIMPLE, RELATIVE = "is riding", "riding", "rides", "who is riding"
_POSES = ("stand", "sit", "lie", "walk", "run", "jump", "fly", "swim")


def plain(chooser: Chooser, sentence: Sentence, form: str = PROGRESSIVE, *, dressed: bool = True) -> None:
    """As in “A man in a red shirt is riding a horse.”, or in another form."""
    at = _subject(chooser)
    subject = chooser.say(sentence, at)
    if dressed:
        _clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, form)


def fragment(chooser: Chooser, sentence: Sentence) -> None:
    """As in “man riding a horse”."""
    at = _subject(chooser)
    subject = chooser.say(sentence, at, bare=chooser.chance(0.45))
    if chooser.chance(0.5):
        _clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, PARTICIPLE)


def there_is(chooser: Chooser, sentence: Sentence) -> None:
    """As in “There is a dog next to a tree.”"""
    groups = chooser.groups()
    if groups and chooser.chance(0.4):
        sentence.say("there are")
        group = chooser.dice.choice(groups)
        _group_tail(chooser, sentence, chooser.say_group(sentence, group), group, PARTICIPLE)
        return
    sentence.say("there is")
    plain(chooser, sentence, PARTICIPLE)


def setting_first(chooser: Chooser, sentence: Sentence) -> None:
    """As in “In the park, a dog is chasing a ball.”"""
    at = _subject(chooser)
    options = [option for option in chooser.places(at) if option[0] not in ("by", "beside")]
    if not options:
        return plain(chooser, sentence)
    preposition, span, place = _say_place(chooser, sentence, options)
    sentence.say(",")
    subject = chooser.say(sentence, at)
    sentence.relate(subject, preposition, place, span)
    done, pose = _deeds(chooser, at), chooser.entities[at].pose
    if done:
        _action(chooser, sentence, subject, at, *chooser.dice.choice(done), chooser.dice.choice((PROGRESSIVE, SIMPLE)))
    elif pose in _POSES:
        _pose(sentence, subject, chooser.dice.choice((PROGRESSIVE, SIMPLE)), pose)


def passive(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A horse ridden by a man.”"""
    known = [
        fact
        for fact in chooser.facts.scene.facts
        if fact.relation in ("ride", "hold", "chase", "kick", "fly", "play", "walk", "lead")
        or (fact.relation == "wear" and chooser.entities[fact.object].kind != "trousers" and chooser.chance(0.25))
    ]
    if not known:
        return plain(chooser, sentence)
    fact = chooser.dice.choice(known)
    entity = chooser.say(sentence, fact.object)
    if chooser.chance(0.4):
        sentence.say(chooser.dice.choice(("being", "is being")))
    span = sentence.say(relations()[fact.relation].forms[2])
    sentence.say("by")
    sentence.relate(chooser.say(sentence, fact.subject), fact.relation, entity, span)
    if chooser.chance(chooser.between(0.4, 0.1)):
        _setting(chooser, sentence, len(sentence.objects) - 1, fact.subject)


def inventory(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A man, a dog and a tree”."""
    firsts = list({chooser.entities[at].kind: at for at in chooser.mains}.values())
    count = min(len(firsts), chooser.dice.choice((1, 2, 2, 2, 3)))
    told = chooser.dice.sample(firsts, count)
    for step, at in enumerate(told):
        if step:
            sentence.say("and" if step == count - 1 else ",")
        chooser.say(sentence, at)
    if count == 1 and chooser.chance(chooser.between(0.5, 0.1)):
        _setting(chooser, sentence, 0, told[0])


def counted(chooser: Chooser, sentence: Sentence) -> None:
    """As in “Two dogs are running on the grass.”"""
    groups = chooser.groups()
    if not groups:
        return plain(chooser, sentence)
    group = chooser.dice.choice(groups)
    subject = chooser.say_group(sentence, group, bare=True)
    _group_tail(chooser, sentence, subject, group, chooser.dice.choice((PROGRESSIVE, PARTICIPLE, SIMPLE)))


Frame = Callable[[Chooser, Sentence], None]
FRAMES: tuple[tuple[Frame, float, float, float], ...] = (  # frame, weight, chance of a full stop, of a capital
    (plain, 2.2, 0.9, 1.0),
    (fragment, 2.0, 0.25, 0.55),
    (partial(plain, form=SIMPLE), 1.4, 0.85, 1.0),  # “A man rides a horse.”
    (there_is, 0.9, 0.9, 1.0),
    (partial(plain, form=RELATIVE, dressed=False), 0.8, 0.7, 0.95),  # “A woman who is holding an umbrella.”
    (setting_first, 0.8, 0.95, 1.0),
    (passive, 0.8, 0.6, 0.9),
    (inventory, 0.8, 0.5, 0.9),
    (counted, 1.2, 0.7, 0.9),
)


def _subject(chooser: Chooser) -> int:
    """A main thing to talk about; those who do something first."""
    kinds = {"person": 3.0, "animal": 2.6, "vehicle": 1.4}
    weights = [
        kinds.get(chooser.entities[at].category, 0.5) * (2.0 if _deeds(chooser, at) else 1.0) for at in chooser.mains
    ]
    return chooser.dice.choices(chooser.mains, weights)[0]


def _predicate(chooser: Chooser, sentence: Sentence, subject: int, at: int, form: str) -> None:
    """What the subject does or where it is, and sometimes a second thing and the setting."""
    done, near, pose = _deeds(chooser, at), _neighbours(chooser, at), chooser.entities[at].pose
    said = True
    if done and chooser.chance(0.85):
        chooser.dice.shuffle(done)
        _action(chooser, sentence, subject, at, *done[0], form)
        more = [deed for deed in done[1:] if deed[1] != done[0][1] and deed[0] not in ("in", "on", "under", "over")]
        if more and chooser.chance(chooser.between(0.6, 0.1)):
            sentence.say("while")
            _action(chooser, sentence, subject, at, *more[0], PARTICIPLE)
    elif near and chooser.chance(chooser.between(0.7, 0.35)):
        _action(chooser, sentence, subject, at, *chooser.dice.choice(near), form)
    elif pose in _POSES and chooser.chance(chooser.between(0.85, 0.6)):
        _relative(chooser, sentence, form, at)
        _pose(sentence, subject, form, pose)
    else:
        said = False
    wants = chooser.chance(chooser.between(0.6, 0.25))
    if not said and form != PARTICIPLE:
        if chooser.places(at):
            _relative(chooser, sentence, form, at)
            _be(sentence, subject)
            _setting(chooser, sentence, subject, at)
    elif wants:
        _setting(chooser, sentence, subject, at)
    elif said and chooser.chance(chooser.between(0.3, 0.05)):
        _while(chooser, sentence)


def _while(chooser: Chooser, sentence: Sentence) -> None:
    """A second subject that does something at the same time."""
    told = {entity for means in sentence.means for entity in means}
    others = [other for other in chooser.mains if other not in told and chooser.entities[other].pose in _POSES]
    if others:
        other, joint = chooser.dice.choice(others), chooser.dice.choice(("while", "and", "as"))
        sentence.say(joint)
        number = chooser.say(sentence, other)
        _pose(sentence, number, PROGRESSIVE if joint != "and" else PARTICIPLE, chooser.entities[other].pose)


def _group_tail(chooser: Chooser, sentence: Sentence, subject: int, group: tuple[int, ...], form: str) -> None:
    """What all of a group do, and where they are if they are in one place."""
    facts, first = chooser.facts, group[0]
    poses = {chooser.entities[at].pose for at in group}
    pose = poses.pop() if len(poses) == 1 else ""
    together = len({(facts.ground(at), facts.root(at) == at) for at in group}) == 1
    if pose in attributes() and chooser.chance(chooser.between(0.85, 0.6)):
        _pose(sentence, subject, form, pose)
    elif form != PARTICIPLE:
        if together and chooser.places(first):
            _be(sentence, subject)
            _setting(chooser, sentence, subject, first)
        return
    if together and chooser.chance(chooser.between(0.6, 0.25)):
        _setting(chooser, sentence, subject, first)


# Clauses: what a thing is said to do, in each construction, and the words added to a noun.

_SAID = ("ride", "hold", "chase", "kick", "fly", "read", "play", "walk", "lead", "in", "on", "under", "over")
_NEXT = ("next to", "in front of", "behind", "under", "near", "above")
_OTHER_WORDS = {
    "next to": ("next to", "next to", "beside"),
    "near": ("near", "close to", "by"),
    "lead": ("lead", "walk"),
    "over": ("jump over", "jump over", "leap over"),
}


def _deeds(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """The composed (relation, entity) of which `at` is the subject, apart from clothes and the ground."""
    return [
        (fact.relation, fact.object)
        for fact in chooser.facts.scene.facts
        if fact.subject == at and fact.relation in _SAID and chooser.entities[fact.object].category != "stuff"
    ]


def _neighbours(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """(relation, entity) that hold by position; nobody says "a box next to a box"."""
    entity = chooser.entities[at]
    return [
        (name, other)
        for other in chooser.mains
        if other != at and not chooser.facts.between(at, other)
        if chooser.entities[other].kind != entity.kind or entity.category == "person"
        for name in _NEXT
        if chooser.facts.holds(at, name, other)
        and not (name == "under" and chooser.entities[other].category in ("animal", "person"))
    ]


def _be(sentence: Sentence, subject: int) -> None:
    sentence.say("are" if sentence.objects[subject].plural else "is")


def _verb(sentence: Sentence, subject: int, form: str, lemma: str, forms: tuple[str, ...]) -> str:
    """The words of a verb in a construction, still to be said; "is" or "are" before them has been."""
    third, participle, *_ = forms
    if form == SIMPLE:
        return lemma if sentence.objects[subject].plural else third
    if form != PARTICIPLE:
        _be(sentence, subject)
    return participle


def _pose(sentence: Sentence, subject: int, form: str, lemma: str) -> None:
    """A pose said of the subject ("is sitting")."""
    sentence.attribute(subject, lemma, _verb(sentence, subject, form, lemma, attributes()[lemma].forms))


def _relative(chooser: Chooser, sentence: Sentence, form: str, at: int) -> None:
    """The pronoun of a relative clause."""
    if form == RELATIVE:
        sentence.say("who" if chooser.entities[at].category == "person" else "that")


def _action(chooser: Chooser, sentence: Sentence, subject: int, at: int, relation: str, entity: int, form: str) -> None:
    """A relation said of the subject, its object's noun phrase included."""
    _relative(chooser, sentence, form, at)
    placed, pose = relation in ("on", "in", *_NEXT), chooser.entities[at].pose
    if placed:  # with the pose ("sits on a bench") or without ("is on a bench")
        posed = pose in _POSES and pose != "jump"
        if posed and chooser.chance(chooser.between(0.75, 0.4)):
            _pose(sentence, subject, form, pose)
        elif form != PARTICIPLE:
            _be(sentence, subject)
    lemma = chooser.dice.choice(_OTHER_WORDS.get(relation, (relation,)))
    if relation == "hold" and chooser.entities[entity].kind in ("bag", "ball", "umbrella") and chooser.chance(0.3):
        lemma = "carry"
    if relation == "chase" and chooser.chance(0.3):
        lemma = "run after"
    span = sentence.say(lemma if placed else _verb(sentence, subject, form, lemma, relations()[lemma].forms))
    sentence.relate(subject, lemma, chooser.say(sentence, entity), span)


def _setting(chooser: Chooser, sentence: Sentence, subject: int, at: int) -> None:
    """Where in the world the subject is, if there is anything to say."""
    options = chooser.places(at)
    if options:
        preposition, span, place = _say_place(chooser, sentence, options)
        sentence.relate(subject, preposition, place, span)


def _say_place(chooser: Chooser, sentence: Sentence, options: Sequence[tuple[str, str, str]]) -> tuple[str, Span, int]:
    """One of some places: its preposition, where that is said, the place's number among the objects."""
    preposition, words, lemma = chooser.dice.choice(options)
    span, (article, noun) = sentence.say(preposition), words.split()
    stuff = tuple(number for number, entity in enumerate(chooser.entities) if entity.kind == lemma)
    return preposition, span, sentence.entity(lemma, noun, stuff or (chooser.facts.scene.place,), before=article)


def _clothes(chooser: Chooser, sentence: Sentence, subject: int, at: int) -> None:
    """Something that a person wears: "in a red shirt", "wearing a hat"."""
    worn = [number for number, entity in enumerate(chooser.entities) if entity.wearer == at]
    if not worn or not chooser.chance(chooser.between(0.55, 0.1)):
        return
    garment = chooser.dice.choice(worn)
    words = chooser.dice.choice(("in", "wearing", "with"))
    if chooser.entities[garment].kind == "backpack":
        words = chooser.dice.choice(("with", "carrying", "wearing"))
    lemma = {"wearing": "wear", "carrying": "carry"}.get(words, words)
    span = sentence.say(words)
    sentence.relate(subject, lemma, chooser.say(sentence, garment), span)
