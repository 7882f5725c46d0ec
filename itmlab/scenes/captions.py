"""Five captions per image, as five people might write them, each with its scene graph and what its words mean.

A caption is built by one of nine frames (plain sentence, fragment, "there is", place first, relative clause, passive,
list, count). A frame chooses what to say and in which construction; `wording` says the noun phrases.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..text.graph import SceneGraph, Span
from .entail import TRUE, entails
from .lexicon import ATTRIBUTE_OF, RELATION_OF
from .relations import Facts
from .scene import STREAM
from .wording import Chooser, Sentence, text

# constructions of a clause
PROGRESSIVE, PARTICIPLE, SIMPLE, RELATIVE = "is riding", "riding", "rides", "who is riding"
POSES = ("stand", "sit", "lie", "walk", "run", "jump", "fly", "swim")
_DONE = ("push", "pull", "eat", "feed", "pet", "hug", "photograph", "throw", "use", "climb", "drive")
PASSIVE = ("ride", "hold", "chase", "kick", "fly", "play", "walk", "lead", *_DONE)
_SAID = (*_DONE, "lean against", "look through", "sweep with", "slide down", "ride", "hold", "chase", "kick", "fly",
         "read", "play", "walk", "lead", "in", "on", "under", "over")  # fmt: skip
_NEXT = ("next to", "in front of", "behind", "under", "near", "above")
OTHER_WORDS = {
    "next to": ("next to", "next to", "beside"),
    "near": ("near", "close to", "by"),
    "lead": ("lead", "walk"),
    "over": ("jump over", "jump over", "leap over"),
    "pet": ("pet", "pet", "stroke"),
    "pull": ("pull", "pull", "drag"),
    "lean against": ("lean against", "lean against", "lean on"),
}


class Caption(NamedTuple):
    """A sentence, its scene graph, and for each object of the graph the entities of the scene that it means."""

    text: str
    graph: SceneGraph
    means: tuple[tuple[int, ...], ...]


def write_captions(facts: Facts, *, seed: int, index: int, unannotated: float, count: int = 5) -> list[Caption]:
    """Captions of one scene.

    Args:
        facts: the scene and its relations.
        seed: the world's seed.
        index: the scene's number; with `seed` it fixes every random choice.
        unannotated: 0 to 1; more makes captions more general, and so true of more other images.
        count: how many captions.

    >>> from itmlab.scenes.compose import compose
    >>> [caption.text for caption in write_captions(Facts(compose(0, 1)), seed=0, index=1, unannotated=0.0, count=1)]
    ['A brown sled and a black lamp on the grass']
    """
    dice = random.Random(f"captions/{STREAM}{seed}/{index}")
    captions: dict[str, Caption] = {}
    frames: list[tuple[Frame, float, float, float]] = []
    tries = 0
    while len(captions) < count:
        frames = frames or list(FRAMES)
        tries += 1
        at = dice.choices(range(len(frames)), [weight for _, weight, _, _ in frames])[0]
        frame, _, stop, capital = frames[at] if tries < 60 else (fragment, 1.0, 0.5, 0.5)
        sentence = Sentence()
        # where a scene offers little to say, later tries say it more specifically
        frame(Chooser(facts, dice, unannotated * max(1 - tries / 60, 0.0) ** 0.5), sentence)
        graph = sentence.graph(stop=dice.random() < stop, capital=dice.random() < capital)
        written = text(graph.tokens)
        # a caption that only names things of one sort ("A man.") should be rare
        attributes_said = sum(len(entity.attributes) for entity in graph.objects)
        one_sort = len({entity.lemma for entity in graph.objects}) == 1
        thin = one_sort and not graph.relations and not attributes_said and dice.random() < 0.8
        length = len(graph.objects) + len(graph.relations) + attributes_said
        thin = thin or length < LEAST_SAID * (1 - unannotated) * (1 - tries / 60)
        if not thin and written not in captions and entails(facts, graph) == TRUE:
            captions[written] = Caption(written, graph, tuple(sentence.means))
            if tries < 60:
                frames.pop(at)  # the five differ in their construction too
    return list(captions.values())


LEAST_SAID = 7  # objects, attributes and relations in a caption when `unannotated` is 0


# The frames. Each draws its choices in a fixed order from the caption's own stream: another order is another world.


def fragment(chooser: Chooser, sentence: Sentence) -> None:
    """Write a caption like “man riding a horse”.

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far, to which words are added.
    """
    at = _subject(chooser)
    subject = chooser.say(sentence, at, bare=chooser.chance(0.45))
    if chooser.chance(0.5):
        _clothes(chooser, sentence, subject, at)
    acts = _deed(chooser, sentence, subject, at, PARTICIPLE)
    if chooser.chance(chooser.between(0.6, 0.25)):
        say_setting(chooser, sentence, subject, at)
    elif acts and chooser.chance(chooser.between(0.3, 0.05)):
        _while(chooser, sentence)


Frame = Callable[[Chooser, Sentence], None]


def tell(chooser: Chooser, sentence: Sentence, form: str = PROGRESSIVE, *, opening: str = "") -> None:
    """Write a caption like “In the park, a man in a red hat is feeding a horse while a girl is reading a book.”

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far, to which words are added.
        form: the construction of the verb.
        opening: words to begin with, or "place" for a place.
    """
    at, span, placed = _subject(chooser), None, ""
    options = [option for option in chooser.places(at) if option[0] not in ("by", "beside")]
    if opening == "place" and options:
        placed, span, place = say_place(chooser, sentence, options)
        sentence.say(",")
    sentence.say(opening if opening != "place" else "")
    subject = chooser.say(sentence, at, bare=not opening and form == PARTICIPLE and chooser.chance(0.4))
    if span:
        sentence.relate(subject, placed, place, span)
    _outfit(chooser, sentence, subject, at, 0.85 if form != RELATIVE else 0.4)
    if not _deed(chooser, sentence, subject, at, form, second=False) and not placed and form != PARTICIPLE:
        _is_somewhere(chooser, sentence, subject, at, form)
        placed = "said"
    _rest(chooser, sentence, subject, at, bool(placed))


def done_to(chooser: Chooser, sentence: Sentence) -> None:
    """Write a caption in the passive, like “A brown horse being fed by a man in a red hat in the park.”

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far, to which words are added.
    """
    known = [fact for fact in chooser.facts.scene.facts if fact.relation in PASSIVE]
    if not known:
        return tell(chooser, sentence)
    fact = chooser.dice.choice(known)
    entity = chooser.say(sentence, fact.object)
    sentence.say(chooser.dice.choice(("", "being", "is being")))
    span = sentence.say(RELATION_OF[fact.relation].forms[2])
    sentence.say("by")
    subject = chooser.say(sentence, fact.subject)
    sentence.relate(subject, fact.relation, entity, span)
    _outfit(chooser, sentence, subject, fact.subject, 0.85)
    _rest(chooser, sentence, subject, fact.subject, False)


def listed(chooser: Chooser, sentence: Sentence) -> None:
    """Write a list, like “A blond boy, a gray cat and a yellow bucket in the kitchen”.

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far, to which words are added.
    """
    firsts = list({chooser.entities[at].kind: at for at in chooser.mains}.values())
    count = min(len(firsts), chooser.dice.choice((2, 3, 3, 4) if chooser.generic < 0.5 else (1, 2, 2, 3)))
    mentioned = chooser.dice.sample(firsts, count)
    for step, at in enumerate(mentioned):
        if step:
            sentence.say("and" if step == count - 1 else ",")
        subject = chooser.say(sentence, at)
    alike = len({chooser.facts.ground(number) for number in mentioned}) == 1
    if alike and chooser.chance(chooser.between(0.85, 0.1)):
        say_setting(chooser, sentence, subject, at)


def several(chooser: Chooser, sentence: Sentence) -> None:
    """Write about a group, like “Two brown dogs are running on the grass while a boy is eating an apple.”

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far, to which words are added.
    """
    groups = chooser.groups()
    if not groups:
        return tell(chooser, sentence)
    group, form = chooser.dice.choice(groups), chooser.dice.choice((PROGRESSIVE, PARTICIPLE, SIMPLE))
    subject = chooser.say_group(sentence, group, bare=True)
    _group_tail(chooser, sentence, subject, group, form)
    _meanwhile(chooser, sentence)


def _outfit(chooser: Chooser, sentence: Sentence, subject: int, at: int, share: float) -> None:
    """Hair and up to two garments of a person: "with red hair in a striped shirt and boots"."""
    entity = chooser.entities[at]
    worn = [number for number, other in enumerate(chooser.entities) if other.wearer == at]
    if not worn or not chooser.chance(chooser.between(share, 0.04)):
        return
    covered = {"hat", "helmet"} & {chooser.entities[number].kind for number in worn}
    adjectives = {attribute.lemma for attribute in sentence.objects[subject].attributes}
    if not covered and "blond" not in adjectives and chooser.chance(0.3):
        sentence.say("with")
        sentence.attribute(subject, f"{entity.hair}-haired", f"{entity.hair} hair")
        if chooser.chance(0.4):
            return
    chooser.dice.shuffle(worn)
    for step, garment in enumerate(worn[: 2 if chooser.chance(chooser.between(0.55, 0.0)) else 1]):
        if not step:
            words = chooser.dice.choice(("in", "in", "wearing"))
            span = sentence.say(words)
        else:
            sentence.say("and")
        number = chooser.say(sentence, garment, definite=0.0)
        sentence.relate(subject, "wear" if words == "wearing" else words, number, span)


def _rest(chooser: Chooser, sentence: Sentence, subject: int, at: int, placed: bool) -> None:
    """What the subject is near, where that is, and what another one does meanwhile."""
    mentioned = _mentioned(sentence)
    near = [place for place in neighbours(chooser, at) if place[1] not in mentioned]
    beside = bool(sentence.relations) and near and chooser.chance(chooser.between(0.4, 0.02))
    if beside:
        relation, other = chooser.dice.choice(near)
        lemma = chooser.dice.choice(OTHER_WORDS.get(relation, (relation,)))
        span = sentence.say(lemma)
        sentence.relate(subject, lemma, chooser.say(sentence, other), span)
    elif not placed and chooser.chance(chooser.between(0.6, 0.15)):
        say_setting(chooser, sentence, subject, at)
    _meanwhile(chooser, sentence)


def _meanwhile(chooser: Chooser, sentence: Sentence) -> None:
    """What another one does, or where it is, at the same time."""
    mentioned = _mentioned(sentence)
    kinds = {chooser.entities[at].kind for at in mentioned}
    options = [
        (other, [deed for deed in deeds(chooser, other) if deed[1] not in mentioned])
        for other in chooser.mains
        if chooser.entities[other].kind not in kinds
    ]
    options = [
        (other, done)
        for other, done in options
        if chooser.entities[other].pose in POSES or any(relation not in _PLACED for relation, _ in done)
    ]
    if not options or not chooser.chance(chooser.between(0.65, 0.02)):
        return
    other, done = chooser.dice.choice(options)
    sentence.say(chooser.dice.choice(("while", "while", ", while")))
    subject = chooser.say(sentence, other)
    _outfit(chooser, sentence, subject, other, 0.5)
    lively = [deed for deed in done if deed[0] not in _PLACED]
    if lively:
        say_deed(chooser, sentence, subject, other, *chooser.dice.choice(lively), PROGRESSIVE)
        return
    say_pose(sentence, subject, PROGRESSIVE, chooser.entities[other].pose)
    if done:  # "is sitting on a bench": "is on a bench" would be read of the first subject
        relation, entity = done[0]
        span = sentence.say(relation)
        sentence.relate(subject, relation, chooser.say(sentence, entity), span)


_PLACED = ("on", "in", "under", "over")
FRAMES: tuple[tuple[Frame, float, float, float], ...] = (  # frame, weight, chance of a full stop, of a capital
    (tell, 2.6, 0.9, 1.0),
    (partial(tell, form=PARTICIPLE), 2.0, 0.35, 0.6),
    (partial(tell, form=SIMPLE), 1.6, 0.85, 1.0),
    (partial(tell, form=PARTICIPLE, opening="there is"), 1.0, 0.9, 1.0),
    (partial(tell, form=RELATIVE), 0.8, 0.7, 0.95),
    (partial(tell, opening="place"), 1.2, 0.95, 1.0),
    (done_to, 0.9, 0.6, 0.9),
    (listed, 0.9, 0.5, 0.9),
    (several, 1.1, 0.75, 0.9),
)


def _subject(chooser: Chooser) -> int:
    """A main thing to talk about; those who do something first."""
    kinds = {"person": 3.0, "animal": 2.6, "vehicle": 1.4}
    weights = [
        kinds.get(chooser.entities[at].category, 0.5) * (2.0 if deeds(chooser, at) else 1.0) for at in chooser.mains
    ]
    return chooser.dice.choices(chooser.mains, weights)[0]


def _is_somewhere(chooser: Chooser, sentence: Sentence, subject: int, at: int, form: str) -> None:
    """“is in the park”, if there is anything to say."""
    if chooser.places(at):
        say_relative(chooser, sentence, form, at)
        be(sentence, subject)
        say_setting(chooser, sentence, subject, at)


def _deed(chooser: Chooser, sentence: Sentence, subject: int, at: int, form: str, *, second: bool = True) -> bool:
    """What the subject does to something that was not spoken of, or beside what it is, or its pose; whether any."""
    mentioned, pose = _mentioned(sentence), chooser.entities[at].pose
    done = [deed for deed in deeds(chooser, at) if deed[1] not in mentioned]
    near = [place for place in neighbours(chooser, at) if place[1] not in mentioned]
    if done and chooser.chance(0.85):
        chooser.dice.shuffle(done)
        say_deed(chooser, sentence, subject, at, *done[0], form)
        more = [deed for deed in done[1:] if deed[1] != done[0][1] and deed[0] not in ("in", "on", "under", "over")]
        if second and more and chooser.chance(chooser.between(0.6, 0.1)):
            sentence.say("while")
            say_deed(chooser, sentence, subject, at, *more[0], PARTICIPLE)
    elif near and chooser.chance(chooser.between(0.7, 0.35)):
        say_deed(chooser, sentence, subject, at, *chooser.dice.choice(near), form)
    elif pose in POSES and chooser.chance(chooser.between(0.85, 0.6)):
        say_relative(chooser, sentence, form, at)
        say_pose(sentence, subject, form, pose)
    else:
        return False
    return True


def _mentioned(sentence: Sentence) -> set[int]:
    """The things that a sentence has spoken of."""
    return {entity for means in sentence.means for entity in means}


def _while(chooser: Chooser, sentence: Sentence) -> None:
    """A second subject that does something at the same time."""
    mentioned = _mentioned(sentence)
    others = [other for other in chooser.mains if other not in mentioned and chooser.entities[other].pose in POSES]
    if others:
        other, joint = chooser.dice.choice(others), chooser.dice.choice(("while", "and", "as"))
        sentence.say(joint)
        number = chooser.say(sentence, other)
        say_pose(sentence, number, PROGRESSIVE if joint != "and" else PARTICIPLE, chooser.entities[other].pose)


def _group_tail(chooser: Chooser, sentence: Sentence, subject: int, group: tuple[int, ...], form: str) -> None:
    """What all of a group do, and where they are if they are in one place."""
    facts, first = chooser.facts, group[0]
    poses = {chooser.entities[at].pose for at in group}
    pose = poses.pop() if len(poses) == 1 else ""
    together = len({(facts.ground(at), facts.root(at) == at) for at in group}) == 1
    if pose in ATTRIBUTE_OF and chooser.chance(chooser.between(0.85, 0.6)):
        say_pose(sentence, subject, form, pose)
    elif form != PARTICIPLE:
        if together and chooser.places(first):
            be(sentence, subject)
            say_setting(chooser, sentence, subject, first)
        return
    if together and chooser.chance(chooser.between(0.6, 0.25)):
        say_setting(chooser, sentence, subject, first)


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


# Clauses: what a thing does, in each construction.


def deeds(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """Return what a thing does to others, apart from clothes and the ground.

    Args:
        chooser: makes the choices of this caption.
        at: the number of the thing.

    Returns:
        Relation and entity of each composed fact whose subject is the thing.
    """
    return [
        (fact.relation, fact.object)
        for fact in chooser.facts.scene.facts
        if fact.subject == at and fact.relation in _SAID and chooser.entities[fact.object].category != "stuff"
    ]


def neighbours(chooser: Chooser, at: int) -> list[tuple[str, int]]:
    """Return the relations that hold by position, without pairs such as "a box next to a box".

    Args:
        chooser: makes the choices of this caption.
        at: the number of the thing.

    Returns:
        Relation and entity of each.
    """
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


def be(sentence: Sentence, subject: int) -> None:
    """Say "is" or "are" of the subject."""
    sentence.say("are" if sentence.objects[subject].plural else "is")


def _verb(sentence: Sentence, subject: int, form: str, lemma: str, forms: tuple[str, ...]) -> str:
    """The words of a verb in a construction, still to be said; "is" or "are" before them has been."""
    third, participle, *_ = forms
    if form == SIMPLE:
        return lemma if sentence.objects[subject].plural else third
    if form != PARTICIPLE:
        be(sentence, subject)
    return participle


def say_pose(sentence: Sentence, subject: int, form: str, lemma: str) -> None:
    """Say the pose of the subject ("is sitting").

    Args:
        sentence: the caption so far.
        subject: the subject's number among the objects of the sentence.
        form: the construction of the verb.
        lemma: the pose.
    """
    sentence.attribute(subject, lemma, _verb(sentence, subject, form, lemma, ATTRIBUTE_OF[lemma].forms))


def say_relative(chooser: Chooser, sentence: Sentence, form: str, at: int) -> None:
    """Say "who" or "that" if the construction is a relative clause.

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far.
        form: the construction.
        at: the number of the thing that is spoken of.
    """
    if form == RELATIVE:
        sentence.say("who" if chooser.entities[at].category == "person" else "that")


def say_deed(
    chooser: Chooser, sentence: Sentence, subject: int, at: int, relation: str, entity: int, form: str
) -> None:
    """Say a relation of the subject to an object, with the object's noun phrase.

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far.
        subject: the subject's number among the objects of the sentence.
        at: the subject's number among the things of the scene.
        relation: the name of the relation.
        entity: the object's number among the things of the scene.
        form: the construction of the verb.
    """
    say_relative(chooser, sentence, form, at)
    placed, pose = relation in ("on", "in", *_NEXT), chooser.entities[at].pose
    if placed:  # with the pose ("sits on a bench") or without ("is on a bench")
        posed = pose in POSES and pose != "jump"
        if posed and chooser.chance(chooser.between(0.75, 0.4)):
            say_pose(sentence, subject, form, pose)
        elif form != PARTICIPLE:
            be(sentence, subject)
    lemma = chooser.dice.choice(OTHER_WORDS.get(relation, (relation,)))
    if relation == "hold" and chooser.entities[entity].kind in ("bag", "ball", "umbrella") and chooser.chance(0.3):
        lemma = "carry"
    if relation == "chase" and chooser.chance(0.3):
        lemma = "run after"
    span = sentence.say(lemma if placed else _verb(sentence, subject, form, lemma, RELATION_OF[lemma].forms))
    sentence.relate(subject, lemma, chooser.say(sentence, entity), span)


def say_setting(chooser: Chooser, sentence: Sentence, subject: int, at: int) -> None:
    """Say where in the world the subject is, if there is anything to say.

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far.
        subject: the subject's number among the objects of the sentence.
        at: the subject's number among the things of the scene.
    """
    options = chooser.places(at)
    if options:
        preposition, span, place = say_place(chooser, sentence, options)
        sentence.relate(subject, preposition, place, span)


def say_place(chooser: Chooser, sentence: Sentence, options: Sequence[tuple[str, str, str]]) -> tuple[str, Span, int]:
    """Say one of several places.

    Args:
        chooser: makes the choices of this caption.
        sentence: the caption so far.
        options: preposition, words and lemma of each place.

    Returns:
        The preposition, its span, and the place's number among the objects of the sentence.
    """
    preposition, words, lemma = chooser.dice.choice(options)
    span, (article, noun) = sentence.say(preposition), words.split()
    stuff = tuple(number for number, entity in enumerate(chooser.entities) if entity.kind == lemma)
    return preposition, span, sentence.entity(lemma, noun, stuff or (chooser.facts.scene.place,), before=article)
