"""Five captions an image, as five people might write them, each with its scene graph and what its words mean."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ..text.graph import SceneGraph
from .entail import TRUE, entails
from .lexicon import attributes, relations
from .relations import Facts
from .wording import Chooser, Sentence, text

# What a thing is said to do: verb phrases in several constructions, and the words added to a noun.


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


# The ways in which people build a caption: plain, fragment, "there is", setting first, relative, passive, list.


_POSES = ("stand", "sit", "lie", "walk", "run", "jump", "fly", "swim")


def _subject(chooser: Chooser) -> int:
    """A main thing to talk about; those who do something first."""
    weights = []
    for at in chooser.mains:
        kind = {"person": 3.0, "animal": 2.6, "vehicle": 1.4}.get(chooser.things[at].category, 0.5)
        weights.append(kind * (2.0 if deeds(chooser, at) else 1.0))
    return chooser.dice.choices(chooser.mains, weights)[0]


def _predicate(chooser: Chooser, sentence: Sentence, subject: int, at: int, form: str) -> None:
    """What the subject does or where it is, and sometimes a second thing and the setting."""
    done = deeds(chooser, at)
    near = neighbours(chooser, at)
    pose = chooser.things[at].pose
    said = False
    if done and chooser.chance(0.85):
        chooser.dice.shuffle(done)
        action(chooser, sentence, subject, at, *done[0], form)
        more = [deed for deed in done[1:] if deed[1] != done[0][1] and deed[0] not in ("in", "on", "under", "over")]
        if more and chooser.chance(chooser.between(0.6, 0.1)):
            sentence.say("while")
            action(chooser, sentence, subject, at, *more[0], PARTICIPLE)
        said = True
    elif near and chooser.chance(chooser.between(0.7, 0.35)):
        action(chooser, sentence, subject, at, *chooser.dice.choice(near), form)
        said = True
    elif pose in _POSES and chooser.chance(chooser.between(0.85, 0.6)):
        relative(sentence, chooser, form, at)
        verb(sentence, subject, form, pose)
        said = True
    wants = chooser.chance(chooser.between(0.6, 0.25))
    if not said and form in (PROGRESSIVE, SIMPLE, RELATIVE):
        if chooser.places(at):
            relative(sentence, chooser, form, at)
            sentence.say("are" if sentence.objects[subject].plural else "is")
            setting(chooser, sentence, subject, at)
        return
    if wants:
        setting(chooser, sentence, subject, at)
    elif said and chooser.chance(chooser.between(0.3, 0.05)):
        _while(chooser, sentence, at)


def _while(chooser: Chooser, sentence: Sentence, at: int) -> None:
    """A second subject that does something at the same time."""
    others = [
        other
        for other in chooser.mains
        if other not in {thing for means in sentence.means for thing in means} and chooser.things[other].pose in _POSES
    ]
    if not others:
        return
    other = chooser.dice.choice(others)
    joint = chooser.dice.choice(("while", "and", "as"))
    sentence.say(joint)
    number = chooser.say(sentence, other)
    verb(sentence, number, PROGRESSIVE if joint != "and" else PARTICIPLE, chooser.things[other].pose)


def plain(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A man in a red shirt is riding a horse.”"""
    at = _subject(chooser)
    subject = chooser.say(sentence, at)
    clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, PROGRESSIVE)


def fragment(chooser: Chooser, sentence: Sentence) -> None:
    """As in “man riding a horse”."""
    at = _subject(chooser)
    subject = chooser.say(sentence, at, bare=chooser.chance(0.45))
    if chooser.chance(0.5):
        clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, PARTICIPLE)


def simple(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A man rides a horse.”"""
    at = _subject(chooser)
    subject = chooser.say(sentence, at)
    clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, SIMPLE)


def there_is(chooser: Chooser, sentence: Sentence) -> None:
    """As in “There is a dog next to a tree.”"""
    groups = chooser.groups()
    if groups and chooser.chance(0.4):
        sentence.say("there are")
        group = chooser.dice.choice(groups)
        subject, at = chooser.say_group(sentence, group), group[0]
        _group_tail(chooser, sentence, subject, group, PARTICIPLE)
        return
    sentence.say("there is")
    at = _subject(chooser)
    subject = chooser.say(sentence, at)
    clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, PARTICIPLE)


def relative_clause(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A woman who is holding an umbrella.”"""
    at = _subject(chooser)
    subject = chooser.say(sentence, at)
    _predicate(chooser, sentence, subject, at, RELATIVE)


def setting_first(chooser: Chooser, sentence: Sentence) -> None:
    """As in “In the park, a dog is chasing a ball.”"""
    at = _subject(chooser)
    options = [option for option in chooser.places(at) if option[0] not in ("by", "beside")]
    if not options:
        return plain(chooser, sentence)
    preposition, words, lemma = chooser.dice.choice(options)
    span = sentence.say(preposition)
    place = setting_words(chooser, sentence, words, lemma)
    sentence.say(",")
    subject = chooser.say(sentence, at)
    sentence.relate(subject, preposition, place, span)
    done = deeds(chooser, at)
    pose = chooser.things[at].pose
    if done:
        action(chooser, sentence, subject, at, *chooser.dice.choice(done), chooser.dice.choice((PROGRESSIVE, SIMPLE)))
    elif pose in _POSES:
        verb(sentence, subject, chooser.dice.choice((PROGRESSIVE, SIMPLE)), pose)


def passive(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A horse ridden by a man.”"""
    known = [
        fact
        for fact in chooser.facts.scene.facts
        if fact.relation in ("ride", "hold", "chase", "kick", "fly", "play", "walk", "lead")
        or (fact.relation == "wear" and chooser.things[fact.object].kind != "trousers" and chooser.chance(0.25))
    ]
    if not known:
        return plain(chooser, sentence)
    fact = chooser.dice.choice(known)
    thing = chooser.say(sentence, fact.object)
    if chooser.chance(0.4):
        sentence.say(chooser.dice.choice(("being", "is being")))
    span = sentence.say(relations()[fact.relation].forms[2])
    sentence.say("by")
    sentence.relate(chooser.say(sentence, fact.subject), fact.relation, thing, span)
    if chooser.chance(chooser.between(0.4, 0.1)):
        setting(chooser, sentence, len(sentence.objects) - 1, fact.subject)


def inventory(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A man, a dog and a tree”."""
    firsts = list({chooser.things[at].kind: at for at in chooser.mains}.values())
    count = min(len(firsts), chooser.dice.choice((1, 2, 2, 2, 3)))
    told = chooser.dice.sample(firsts, count)
    for step, at in enumerate(told):
        if step:
            sentence.say("and" if step == count - 1 else ",")
        chooser.say(sentence, at)
    if count == 1 and chooser.chance(chooser.between(0.5, 0.1)):
        setting(chooser, sentence, 0, told[0])


def counted(chooser: Chooser, sentence: Sentence) -> None:
    """As in “Two dogs are running on the grass.”"""
    groups = chooser.groups()
    if not groups:
        return plain(chooser, sentence)
    group = chooser.dice.choice(groups)
    subject = chooser.say_group(sentence, group, bare=True)
    _group_tail(chooser, sentence, subject, group, chooser.dice.choice((PROGRESSIVE, PARTICIPLE, SIMPLE)))


def _group_tail(chooser: Chooser, sentence: Sentence, subject: int, group: tuple[int, ...], form: str) -> None:
    poses = {chooser.things[at].pose for at in group}
    pose = poses.pop() if len(poses) == 1 else ""
    if pose in attributes() and chooser.chance(chooser.between(0.85, 0.6)):
        verb(sentence, subject, form, pose)
    elif form != PARTICIPLE:
        if _same_place(chooser.facts, group) and chooser.places(group[0]):
            sentence.say("are")
            setting(chooser, sentence, subject, group[0])
        return
    if _same_place(chooser.facts, group) and chooser.chance(chooser.between(0.6, 0.25)):
        setting(chooser, sentence, subject, group[0])


def _same_place(facts: Facts, group: tuple[int, ...]) -> bool:
    return len({(facts.ground(at), facts.root(at) == at) for at in group}) == 1


Frame = Callable[[Chooser, Sentence], None]
FRAMES: tuple[tuple[Frame, float, float, float], ...] = (  # frame, weight, chance of a full stop, of a capital
    (plain, 2.2, 0.9, 1.0),
    (fragment, 2.0, 0.25, 0.55),
    (simple, 1.4, 0.85, 1.0),
    (there_is, 0.9, 0.9, 1.0),
    (relative_clause, 0.8, 0.7, 0.95),
    (setting_first, 0.8, 0.95, 1.0),
    (passive, 0.8, 0.6, 0.9),
    (inventory, 0.8, 0.5, 0.9),
    (counted, 1.2, 0.7, 0.9),
)


# Five different captions of a scene, all of them true of it.


@dataclass(frozen=True)
class Caption:
    """A sentence, its scene graph, and for each object of the graph the things of the scene that it means."""

    text: str
    graph: SceneGraph
    means: tuple[tuple[int, ...], ...]


def write_captions(facts: Facts, *, seed: int, index: int, unannotated: float, count: int = 5) -> list[Caption]:
    """`count` captions of the scene of `facts`, from the stream of (seed, index); `unannotated` in 0..1 is the knob."""
    dice = random.Random(f"captions/{seed}/{index}")
    found: dict[str, Caption] = {}
    frames = list(FRAMES)
    tries = 0
    while len(found) < count:
        if not frames:
            frames = list(FRAMES)
        tries += 1
        at = dice.choices(range(len(frames)), [weight for _, weight, _, _ in frames])[0]
        frame, _, stop, capital = frames[at] if tries < 60 else (fragment, 1.0, 0.5, 0.5)
        sentence = Sentence()
        # where a scene offers little to say, later tries say it more specifically
        frame(Chooser(facts, dice, unannotated * max(1 - tries / 60, 0.0) ** 0.5), sentence)
        graph = sentence.graph(stop=dice.random() < stop, capital=dice.random() < capital)
        written = text(graph.tokens)
        thin = _says_little(graph) and dice.random() < 0.8
        if not thin and written not in found and entails(facts, graph) == TRUE:
            found[written] = Caption(written, graph, tuple(sentence.means))
            if tries < 60:
                frames.pop(at)
    return list(found.values())


def _says_little(graph: SceneGraph) -> bool:
    """Whether a graph only names things of one sort ("A man."), which should not be written often."""
    named = {thing.lemma for thing in graph.objects}
    return len(named) == 1 and not graph.relations and not any(thing.attributes for thing in graph.objects)
