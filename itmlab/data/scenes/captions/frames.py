"""The ways in which people build a caption: plain, fragment, "there is", setting first, relative, passive, list."""

from collections.abc import Callable

from ..facts import Facts
from ..lexicon import attributes, relations
from . import clauses
from .choose import Chooser
from .clauses import PARTICIPLE, PROGRESSIVE, RELATIVE, SIMPLE
from .sentence import Sentence

_POSES = ("stand", "sit", "lie", "walk", "run", "jump", "fly", "swim")


def _subject(chooser: Chooser) -> int:
    """A main thing to talk about; those who do something first."""
    weights = []
    for at in chooser.mains:
        kind = {"person": 3.0, "animal": 2.6, "vehicle": 1.4}.get(chooser.things[at].category, 0.5)
        weights.append(kind * (2.0 if clauses.deeds(chooser, at) else 1.0))
    return chooser.dice.choices(chooser.mains, weights)[0]


def _predicate(chooser: Chooser, sentence: Sentence, subject: int, at: int, form: str) -> None:
    """What the subject does or where it is, and sometimes a second thing and the setting."""
    done = clauses.deeds(chooser, at)
    near = clauses.neighbours(chooser, at)
    pose = chooser.things[at].pose
    said = False
    if done and chooser.chance(0.85):
        chooser.dice.shuffle(done)
        clauses.action(chooser, sentence, subject, at, *done[0], form)
        more = [deed for deed in done[1:] if deed[1] != done[0][1] and deed[0] not in ("in", "on", "under", "over")]
        if more and chooser.chance(chooser.between(0.6, 0.1)):
            sentence.say("while")
            clauses.action(chooser, sentence, subject, at, *more[0], PARTICIPLE)
        said = True
    elif near and chooser.chance(chooser.between(0.7, 0.35)):
        clauses.action(chooser, sentence, subject, at, *chooser.dice.choice(near), form)
        said = True
    elif pose in _POSES and chooser.chance(chooser.between(0.85, 0.6)):
        clauses.relative(sentence, chooser, form, at)
        clauses.verb(sentence, subject, form, pose)
        said = True
    wants = chooser.chance(chooser.between(0.6, 0.25))
    if not said and form in (PROGRESSIVE, SIMPLE, RELATIVE):
        if chooser.places(at):
            clauses.relative(sentence, chooser, form, at)
            sentence.say("are" if sentence.objects[subject].plural else "is")
            clauses.setting(chooser, sentence, subject, at)
        return
    if wants:
        clauses.setting(chooser, sentence, subject, at)
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
    clauses.verb(sentence, number, PROGRESSIVE if joint != "and" else PARTICIPLE, chooser.things[other].pose)


def plain(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A man in a red shirt is riding a horse.”"""
    at = _subject(chooser)
    subject = chooser.say(sentence, at)
    clauses.clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, PROGRESSIVE)


def fragment(chooser: Chooser, sentence: Sentence) -> None:
    """As in “man riding a horse”."""
    at = _subject(chooser)
    subject = chooser.say(sentence, at, bare=chooser.chance(0.45))
    if chooser.chance(0.5):
        clauses.clothes(chooser, sentence, subject, at)
    _predicate(chooser, sentence, subject, at, PARTICIPLE)


def simple(chooser: Chooser, sentence: Sentence) -> None:
    """As in “A man rides a horse.”"""
    at = _subject(chooser)
    subject = chooser.say(sentence, at)
    clauses.clothes(chooser, sentence, subject, at)
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
    clauses.clothes(chooser, sentence, subject, at)
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
    place = clauses.setting_words(chooser, sentence, words, lemma)
    sentence.say(",")
    subject = chooser.say(sentence, at)
    sentence.relate(subject, preposition, place, span)
    done = clauses.deeds(chooser, at)
    pose = chooser.things[at].pose
    if done:
        clauses.action(
            chooser, sentence, subject, at, *chooser.dice.choice(done), chooser.dice.choice((PROGRESSIVE, SIMPLE))
        )
    elif pose in _POSES:
        clauses.verb(sentence, subject, chooser.dice.choice((PROGRESSIVE, SIMPLE)), pose)


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
        clauses.setting(chooser, sentence, len(sentence.objects) - 1, fact.subject)


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
        clauses.setting(chooser, sentence, 0, told[0])


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
        clauses.verb(sentence, subject, form, pose)
    elif form != PARTICIPLE:
        if _same_place(chooser.facts, group) and chooser.places(group[0]):
            sentence.say("are")
            clauses.setting(chooser, sentence, subject, group[0])
        return
    if _same_place(chooser.facts, group) and chooser.chance(chooser.between(0.6, 0.25)):
        clauses.setting(chooser, sentence, subject, group[0])


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
