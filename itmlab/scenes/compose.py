"""A scene made up from its own random stream: a setting, one or two events, something behind, something above.

`EVENTS` lists what can happen, how often and in which settings.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from .draw.people import body
from .events import (
    INDOORS,
    MORE_GRASPS,
    WATER,
    animals,
    beside,
    chase,
    facing,
    fly_kite,
    ground,
    hold,
    jump_over,
    kick,
    people,
    perched,
    play_guitar,
    put_in_hand,
    ride,
    sail,
    seated,
    sit,
    someone,
    stand_apart,
    table,
    toys,
    under_tree,
    vehicles,
    walk_animal,
)
from .scene import KINDS, PEOPLE, SETTINGS, STREAM, Draft, Entity, Scene


class Event(NamedTuple):
    """A way to fill a part of a picture: its maker, its weight, where it happens."""

    make: Callable[[Draft], None]
    weight: float
    settings: tuple[str, ...] = tuple(SETTINGS)


_STILL = ("stand", "sit")

# Most deeds are a person with certain hands, and a thing or an animal before them.


def deed(
    relation: str,
    kinds: str,
    hands: str,
    pose: str = "stand",
    *,
    gap: float = 0.0,
    ahead: bool = True,
    turned: bool = False,
    held: str = "",
) -> Callable[[Draft], None]:
    """The event that someone in `pose` stands in `relation` to one of `kinds`, `gap` ahead or behind.

    `turned`: it faces back. `held` is what they hold besides: one of several kinds.
    """

    def make(draft: Draft) -> None:
        base, flip, kind = ground(draft), facing(draft), draft.dice.choice(kinds.split())
        person = someone(draft, base=base, pose=pose, hands=hands, flip=flip)
        poses = [name for name, _, _ in KINDS[kind].poses if name in (("stand",) if kind in PEOPLE else _STILL)]
        other = draft.add(kind, base=base - 0.004, pose=draft.dice.choice(poses) if poses else "", flip=flip ^ turned)
        if kind == "telescope":  # at the height of their eyes
            who = draft.entities[person]
            draft.change(other, height=body(who.kind, pose, hands).head[1] * who.height / 0.74)
        stand_apart(draft, person, other, gap, 1 if flip ^ ahead else -1)
        draft.fact(person, relation, other)
        if relation == "hug" and kind in PEOPLE:
            draft.change(other, hands="hug")
            draft.fact(other, relation, person)
        if held:
            draft.fact(person, "hold", put_in_hand(draft, person, draft.dice.choice(held.split()), size=""))

    return make


def throw(draft: Draft) -> None:
    """Someone has just thrown a ball."""
    flip = facing(draft)
    person = someone(draft, base=ground(draft), pose="stand", hands="throw", flip=flip)
    ball = put_in_hand(draft, person, "ball", size="")
    it = draft.entities[ball]
    draft.change(ball, x=it.x + (-0.12 if flip else 0.12), base=it.base - 0.05)
    draft.fact(person, "throw", ball)


def eat(draft: Draft) -> None:
    """Someone eats, standing or on a seat; or a monkey does."""
    base, flip, kind = ground(draft), facing(draft), draft.dice.choice(("apple", "banana", "pizza", "cake"))
    if draft.chance(0.25):
        eater = draft.add("monkey", base=base, pose="sit", flip=flip, size="")
        who, kind = draft.entities[eater], draft.dice.choice(("apple", "banana"))
        food = draft.add(kind, who.x + (-0.25 if flip else 0.25) * who.height, base - 0.44 * who.height, flip=flip)
        draft.change(food, layer=base + 0.002)
    else:
        if draft.chance(0.4):
            seat = draft.add(draft.dice.choice(("chair", "bench")), base=base, flip=flip)
            eater = seated(draft, seat, draft.dice.choice(PEOPLE), hands="eat")
        else:
            eater = someone(draft, base=base, pose="stand", hands="eat", flip=flip)
        food = put_in_hand(draft, eater, kind)
        draft.change(food, layer=base + 0.002)
    for relation in ("hold", "eat"):
        draft.fact(eater, relation, food)


def sweep(draft: Draft) -> None:
    """Someone sweeps with a broom."""
    person = someone(draft, base=ground(draft), pose="stand", hands="sweep", flip=facing(draft))
    broom = put_in_hand(draft, person, "broom")
    draft.change(broom, base=draft.entities[person].base + 0.004)
    for relation in ("hold", "sweep with"):
        draft.fact(person, relation, broom)


def use_laptop(draft: Draft) -> None:
    """Someone sits with a laptop on their knees."""
    seats = ("chair", "sofa") if draft.setting in INDOORS else ("bench", "chair", "suitcase")
    seat = draft.add(draft.dice.choice(seats), base=ground(draft), flip=facing(draft), size="")
    person = seated(draft, seat, draft.dice.choice(PEOPLE))
    laptop = put_in_hand(draft, person, "laptop")
    it, way = draft.entities[laptop], -1 if draft.entities[person].flip else 1
    draft.change(laptop, x=it.x + way * 0.07, base=it.base + 0.01, layer=draft.entities[seat].base + 0.002)
    draft.fact(person, "use", laptop)


def climb(draft: Draft) -> None:
    """Someone climbs a ladder, or a monkey a tree."""
    base, flip = ground(draft), facing(draft)
    if draft.setting not in INDOORS and draft.chance(0.35):
        below = draft.add("tree", base=base - 0.02, size="", shade=0.3)
        it = draft.entities[below]
        climber = draft.add("monkey", it.x, base - 0.2 * it.height, pose="climb", flip=flip, size="", scale=0.8)
    else:
        below = draft.add("ladder", base=base)
        it, up = draft.entities[below], draft.dice.uniform(0.16, 0.32)
        climber = someone(draft, base=base, pose="climb", hands="climb", flip=flip, scale=0.85)
        back = (0.13 if flip else -0.13) * draft.entities[climber].height
        draft.change(climber, x=it.x + back, base=base - up * it.height)
        draft.fact(climber, "on", below)
    draft.change(climber, layer=base + 0.001)
    draft.fact(climber, "climb", below)


def drive(draft: Draft) -> None:
    """Someone drives a tractor."""
    base, flip = ground(draft), facing(draft)
    tractor = draft.add("tractor", base=base, flip=flip)
    it, way = draft.entities[tractor], -1 if flip else 1
    person = someone(draft, base=base - 0.58 * it.height, scale=0.78, pose="aboard", hands="grip", flip=flip)
    draft.change(person, x=it.x - 0.32 * way * it.height, layer=base + 0.001)
    for relation in ("drive", "on"):
        draft.fact(person, relation, tractor)


def glide(draft: Draft) -> None:
    """Someone rides a scooter, sits on a sled in the snow or comes down a slide."""
    kinds = {"winter": ("sled",), "playground": ("slide", "slide", "scooter")}.get(draft.setting, ("scooter",))
    kind, base, flip = draft.dice.choice(kinds), ground(draft), facing(draft)
    below, way = draft.add(kind, base=base, flip=flip), -1 if flip else 1
    it = draft.entities[below]
    if kind == "sled":
        rider = seated(draft, below, draft.dice.choice(PEOPLE))
    elif kind == "slide":
        rider = draft.add(
            draft.dice.choice(("boy", "girl")), base=base, pose="sit", hands="cheer", flip=flip, scale=0.8
        )
        who = draft.entities[rider]
        up = 0.5 * it.height - body(who.kind, "sit", "cheer").hip[1] * who.height
        draft.change(rider, x=it.x - 0.1 * way * it.height, base=base - up, layer=base + 0.001)
    else:
        rider = someone(draft, base=base - 0.02, pose="stand", hands="grip", flip=flip)
        who = draft.entities[rider]
        grip = body(who.kind, "stand", "grip").hands[0]
        draft.change(below, height=(grip[1] * who.height + 0.02) / 0.95)
        draft.change(
            rider, x=it.x + way * (0.24 * draft.entities[below].height - grip[0] * who.height), layer=base + 0.001
        )
    draft.fact(rider, "slide down" if kind == "slide" else "ride", below)
    if (rider, "on", below) not in {(fact.subject, fact.relation, fact.object) for fact in draft.facts}:
        draft.fact(rider, "on", below)


def train(draft: Draft) -> None:
    """A train on the track."""
    draft.add("train", base=0.64, flip=facing(draft))


# All events.

OUTDOORS = tuple(name for name in SETTINGS if name not in INDOORS)
_OPEN = ("desert", "field", "mountain", "winter", "forest")
_ANYONE, _FODDER = "man woman boy girl", "bucket bucket apple banana"
_TAME, _WILD = "dog cat horse pig cow sheep rabbit", "fox monkey penguin bear lion turtle zebra giraffe"
_STANDING, _LEANT_ON = "tractor fountain sign lamp bush bush", "car fence lamp tree tractor sign"
EVENTS: tuple[Event, ...] = (
    Event(partial(hold, grasps=MORE_GRASPS), 2.0),
    Event(hold, 1.8),
    Event(play_guitar, 0.9),
    Event(ride, 2.0),
    Event(sail, 2.6, WATER),
    Event(walk_animal, 1.2),
    Event(chase, 1.7),
    Event(kick, 0.9),
    Event(fly_kite, 0.9, OUTDOORS),
    Event(sit, 1.8),
    Event(partial(table, tops="cup flower book cat cake pizza apple laptop"), 1.0),
    Event(partial(table, tops="cup cake pizza apple banana"), 2.0, ("kitchen",)),
    Event(jump_over, 0.7),
    Event(animals, 5.5),
    Event(people, 0.8),
    Event(partial(vehicles, kinds="car bus truck motorcycle scooter tractor"), 4.0, ("street",)),
    Event(partial(vehicles, kinds="tractor tractor truck cart"), 1.8, ("field", "garden")),
    Event(partial(vehicles, kinds="cart scooter car sled bus motorcycle"), 1.4, _OPEN),
    Event(partial(toys, kinds="ball balloon box suitcase bucket drum flower"), 1.0),
    Event(partial(beside, more=f"{_WILD} {_STANDING}"), 2.6),
    Event(beside, 5.0, ("winter",)),
    Event(under_tree, 0.6, OUTDOORS),
    Event(deed("push", "cart cart sled", "push", "walk", gap=0.015), 1.1),
    Event(deed("pull", "cart suitcase suitcase sled", "pull", "walk", gap=0.01, ahead=False, turned=True), 1.2),
    Event(deed("feed", f"{_TAME} duck elephant {_WILD}", "front", gap=0.03, turned=True, held=_FODDER), 1.8),
    Event(deed("pet", f"{_TAME} lion", "touch", gap=-0.02, turned=True), 1.3),
    Event(deed("hug", f"{_ANYONE} dog bear", "hug", gap=-0.07, turned=True), 1.0),
    Event(deed("lean against", _LEANT_ON, "fold", "lean", gap=-0.03, ahead=False), 1.1, OUTDOORS),
    Event(deed("photograph", f"{_ANYONE} {_WILD} dog", "eye", gap=0.09, turned=True, held="camera"), 1.8),
    Event(deed("look through", "telescope", "eye", gap=-0.02), 0.9),
    Event(deed("play", "piano", "push", gap=-0.015), 0.6),
    Event(deed("play", "drum", "sweep", gap=-0.03), 0.6),
    Event(throw, 1.0),
    Event(eat, 1.5),
    Event(sweep, 0.9),
    Event(sweep, 1.5, INDOORS),
    Event(use_laptop, 0.9),
    Event(climb, 1.1),
    Event(drive, 0.9, ("field", "garden", "street", "desert", "winter")),
    Event(glide, 0.8),
    Event(glide, 7.0, ("playground", "winter")),
    Event(train, 12.0, ("station",)),
    Event(perched, 0.9),
)
BEHIND = f"tree house house tent tent car fence truck bench bus {_STANDING} slide".split()
BEHIND_INDOORS = ("table", "sofa", "chair", "piano", "lamp", "ladder")
ABOVE = ("bird", "balloon", "airplane", "helicopter")
_SHARED = frozenset({"man", "woman", "boy", "girl", "dog", "ball"})  # kinds that two events may both bring


def compose(seed: int, index: int) -> Scene:
    """Scene number `index` of the world of `seed`; it does not depend on any other scene.

    >>> scene = compose(0, 3)
    >>> scene.setting, [entity.kind for entity in scene.objects if entity.category == "animal"]
    ('garden', ['monkey'])
    """
    dice = random.Random(f"scenes/{STREAM}{seed}/{index}")
    weights = [setting.weight for setting in SETTINGS.values()]
    while True:  # a draft in which something does not fit is discarded
        draft = Draft(dice, dice.choices(tuple(SETTINGS), weights)[0])
        if _fill(draft):
            dress(draft)
            return draft.freeze()


def _fill(draft: Draft) -> bool:
    """Add one or two events and perhaps something behind and above them; whether all of it can be seen."""
    first = _cluster(draft, 0.96)
    if first is None:
        return False
    slack = 0.98 - first
    second = _cluster(draft, slack) if slack > 0.26 and draft.chance(0.8) else None
    if (second is None and draft.chance(0.5)) or draft.chance(0.4):
        _behind(draft)
    if draft.setting not in INDOORS and draft.chance(0.16):
        _above(draft)
    return _seen(draft.entities)


def _cluster(draft: Draft, room: float) -> float | None:
    """Add one event in the free width; the width it takes, None when none of a few fits."""
    fitting = [event for event in EVENTS if draft.setting in event.settings]
    for _ in range(6):
        start = len(draft.entities)
        draft.dice.choices(fitting, [event.weight for event in fitting])[0].make(draft)
        left, right = draft.span(start)
        kinds = {entity.kind for entity in draft.entities[start:]} - {"tree"}
        clear = min(entity.extent[1] for entity in draft.entities[start:]) > 0.01
        if right - left <= room and clear and not kinds & {entity.kind for entity in draft.entities[:start]} - _SHARED:
            _place(draft, start, left, right)
            return right - left
        draft.discard(start)
    return None


def _place(draft: Draft, start: int, left: float, right: float) -> None:
    """Move the new cluster to a free place; earlier things make way to the other side."""
    count, dice = len(draft.entities), draft.dice
    if start == 0:
        draft.move(0, count, dice.uniform(0.01, 0.99 - (right - left)) - left)
        return
    old_left, old_right = draft.span(0, start)
    free = max(0.99 - (right - left) - (old_right - old_left), 0.0)
    edge, gap = dice.uniform(0, 0.5) * free, dice.uniform(0, 0.5) * free
    if dice.random() < 0.5:
        draft.move(0, start, 0.005 + edge - old_left)
        draft.move(start, count, 0.005 + edge + old_right - old_left + gap - left)
    else:
        draft.move(start, count, 0.005 + edge - left)
        draft.move(0, start, 0.005 + edge + right - left + gap - old_left)


def _behind(draft: Draft) -> None:
    """Add a thing behind the events, where there is room for it."""
    kind = draft.dice.choice(BEHIND_INDOORS if draft.setting in INDOORS else BEHIND)
    if any(entity.kind in (kind, "boat", "tree") for entity in draft.entities):
        return
    lowest = min((entity.base for entity in draft.entities), default=1.0)
    base = min(draft.horizon + draft.dice.uniform(0.08, 0.14), lowest - 0.07)
    if SETTINGS[draft.setting].shore or base < draft.horizon + 0.03:
        return
    draft.add(kind, draft.dice.uniform(0.2, 0.8), base, scale=0.95, flip=draft.chance(0.5))


def _above(draft: Draft) -> None:
    """Add something in the air, where there is room for it."""
    tops = [entity.extent for entity in draft.entities]
    kind = draft.dice.choice(ABOVE)
    if any(entity.kind in ("kite", kind) for entity in draft.entities):
        return
    x, base = draft.dice.uniform(0.15, 0.85), draft.dice.uniform(0.22, 0.3)
    half = {"airplane": 0.2, "helicopter": 0.19}.get(kind, 0.14)
    if all(x + half < left or x - half > right or top > base + 0.03 for left, top, right, _ in tops):
        draft.add(kind, x, base, pose="" if kind == "balloon" else "fly", flip=draft.chance(0.5), size="", scale=0.85)


def _seen(entities: list[Entity]) -> bool:
    """Nothing reaches far out of the picture or hides most of another thing's box."""
    for at, entity in enumerate(entities):
        left, top, right, bottom = entity.extent
        if left < -0.05 or right > 1.05 or top < -0.03 or bottom > 1.0:
            return False
        area = (right - left) * (bottom - top)
        for other in entities[at + 1 :] + entities[:at]:
            a, b, c, d = other.extent
            nearer = (other.layer or other.base) > (entity.layer or entity.base)
            hidden = max(min(right, c) - max(left, a), 0) * max(min(bottom, d) - max(top, b), 0)
            if nearer and hidden > 0.62 * area:
                return False
    return True


_EXTRAS = (  # garment, its chance, who may wear it, garments and poses that it does not go with
    ("helmet", 0.12, _ANYONE, "hat"),
    ("glasses", 0.22, _ANYONE, ""),
    ("boots", 0.3, _ANYONE, "aboard"),
    ("apron", 0.12, _ANYONE, "coat"),
    ("tie", 0.22, "man boy", "coat scarf apron"),
)


def dress(draft: Draft) -> None:
    """Put clothes on everyone."""
    for number, person in enumerate(tuple(draft.entities)):
        if person.kind not in PEOPLE:
            continue
        cold = draft.setting in ("winter", "mountain") or draft.chance(0.06)
        dress = person.kind in ("woman", "girl") and not cold and draft.chance(0.42)
        _wear(draft, number, "coat" if cold and draft.chance(0.75) else "dress" if dress else "shirt")
        if not dress:
            skirt = person.kind in ("woman", "girl") and draft.chance(0.4)
            _wear(draft, number, "skirt" if skirt else "trousers")
        for kind, share in (("hat", 0.3), ("scarf", 0.45 if cold else 0.03), ("backpack", 0.14)):
            if draft.chance(share) and not (kind == "backpack" and person.hands == "strum"):
                _wear(draft, number, kind)
        for kind, share, who, instead in _EXTRAS:
            worn = {person.pose, *(entity.kind for entity in draft.entities if entity.wearer == number)}
            if person.kind in who.split() and draft.chance(share) and not worn & {*instead.split()}:
                _wear(draft, number, kind)


def _wear(draft: Draft, number: int, kind: str) -> None:
    garment, who = draft.add(kind), draft.entities[number]
    draft.change(garment, wearer=number, x=who.x, base=who.base, height=who.height, flip=who.flip)
    draft.fact(number, "wear", garment)
