"""What happens in pictures: each event adds a cluster of things around x = 0 and notes the facts.

`EVENTS`, at the end, gives every event its weight and its settings. The order of an event's random draws is part of the
world's version.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from .draw.people import body, hand
from .scene import KINDS, PEOPLE, SETTINGS, Draft

INDOORS, WATER = ("room", "kitchen"), ("beach", "lake", "harbor")
# how high one sits, in heights of the seat
SEATS = {"bench": 0.47, "chair": 0.46, "sofa": 0.46, "box": 0.93, "suitcase": 0.74, "sled": 0.85}
_GRASPS = {"balloon": "up", "umbrella": "up", "flower": "front", "book": "front", "cup": "side", "bag": "side",
           "ball": "front"}  # fmt: skip
MORE_GRASPS = _GRASPS | {"bucket": "side", "camera": "front", "apple": "front", "banana": "front", "cake": "front",
                          "pizza": "front", "broom": "sweep", "laptop": "front"}  # fmt: skip
_DROPS = {"umbrella": 0.15, "flower": 0.3, "book": 0.3, "guitar": 0.36, "cup": 0.4, "bag": 0.86, "ball": 0.3,
          "bucket": 0.9, "camera": 0.4, "apple": 0.4, "banana": 0.3, "cake": 0.1, "pizza": 0.4,
          "laptop": 0.1}  # fmt: skip


# What events share: where to stand, which way to look, things put in hands, beside others and on seats.


def ground(draft: Draft) -> float:
    """Return a random place to stand on, in picture heights from the top."""
    return draft.dice.uniform(*(SETTINGS[draft.setting].standing or (max(draft.horizon + 0.2, 0.78), 0.95)))


def facing(draft: Draft) -> bool:
    """Return at random whether something looks to the left."""
    return draft.chance(0.5)


def someone(draft: Draft, **how) -> int:
    """Add a person of a chance kind; their number."""
    return draft.add(draft.dice.choice(PEOPLE), **how)


def put_in_hand(draft: Draft, person: int, kind: str, **chosen) -> int:
    """Put a thing of `kind` into a person's near hand, whose pose must be set."""
    who = draft.entities[person]
    x, y = hand(who.kind, who.pose, who.hands, x=who.x, base=who.base, height=who.height, flip=who.flip)
    held = draft.add(kind, base=who.base, **chosen)
    drop = _DROPS.get(kind, 0.0)
    if kind == "guitar":
        x = who.x + (-0.1 if who.flip else 0.1) * who.height
    if kind == "ball":
        x += (-0.05 if who.flip else 0.05) * who.height
    draft.change(held, x=x, base=y + drop * draft.entities[held].height, layer=who.base + 0.002, flip=who.flip)
    return held


def stand_apart(draft: Draft, first: int, second: int, gap: float, way: int) -> None:
    """Put the second thing beside the first.

    Args:
        draft: the scene so far.
        first: the number of the first thing.
        second: the number of the second one.
        gap: the free space between them in picture heights.
        way: 1 for the right, -1 for the left.
    """
    a, b = draft.entities[first].extent, draft.entities[second].extent
    shift = a[2] + gap - b[0] if way > 0 else a[0] - gap - b[2]
    draft.change(second, x=draft.entities[second].x + shift)


def seated(draft: Draft, seat: int, kind: str, *, side: float = 0.0, hands: str = "front") -> int:
    """Add a person who sits on a seat.

    Args:
        draft: the scene so far.
        seat: the number of the seat.
        kind: of the person.
        side: how many of its heights the person sits from the middle.
        hands: what the hands do.
    """
    it = draft.entities[seat]
    person = draft.add(kind, base=it.base, pose="sit", hands=hands, flip=it.flip, scale=0.95)
    who = draft.entities[person]
    hip = body(who.kind, "sit", hands).hip[1] - 0.05
    base = it.base - SEATS[it.kind] * it.height + hip * who.height
    draft.change(person, x=it.x + side * it.height, base=min(base, it.base + 0.02), layer=it.base + 0.001)
    draft.fact(person, "on", seat)
    return person


# People who do something: hold, play, chase, kick, fly a kite.

_CHASES = (
    *(("dog", whom) for whom in ("cat", "ball", "rabbit", "boy", "girl", "man")),
    *(("boy", whom) for whom in ("dog", "girl", "cat", "ball")),
    *(("girl", whom) for whom in ("dog", "boy", "ball", "rabbit")),
    *(("cat", "ball"), ("cat", "dog"), ("man", "dog"), ("woman", "dog")),
)


def hold(draft: Draft, grasps: Mapping[str, str] = _GRASPS) -> None:
    """Add someone who stands or walks and holds something; an umbrella may shelter a second person."""
    kind = draft.dice.choice(tuple(grasps))
    pose = draft.dice.choice(("stand", "stand", "walk"))
    person = someone(draft, base=ground(draft), pose=pose, hands=grasps[kind], flip=facing(draft))
    if kind == "bag" and draft.chance(0.3):
        draft.change(person, hands="lead")
    draft.fact(person, "hold", put_in_hand(draft, person, kind, size=""))
    if kind in ("umbrella", "book"):
        draft.fact(person, "under" if kind == "umbrella" else "read", len(draft.entities) - 1)


def play_guitar(draft: Draft) -> None:
    """Add someone who plays the guitar, standing or sitting."""
    sits = draft.chance(0.35)
    base, flip = ground(draft), facing(draft)
    if sits:
        seat = draft.add(draft.dice.choice(("chair", "bench", "sofa")), base=base, flip=flip)
        person = seated(draft, seat, draft.dice.choice(PEOPLE), hands="strum")
    else:
        person = someone(draft, base=base, pose="stand", hands="strum", flip=flip)
    guitar = put_in_hand(draft, person, "guitar")
    for relation in ("hold", "play"):
        draft.fact(person, relation, guitar)


def chase(draft: Draft) -> None:
    """Add one who runs after another, or after a ball."""
    base, flip = ground(draft), facing(draft)
    who, whom = draft.dice.choice(_CHASES)
    running, hands = {"flip": flip, "base": base, "pose": "run"}, {"hands": "swing"}
    first = draft.add(who, **running, **(hands if who in PEOPLE else {}))
    second = draft.add(whom, **(running if whom != "ball" else {"base": base}), **(hands if whom in PEOPLE else {}))
    stand_apart(draft, first, second, draft.dice.uniform(0.02, 0.06), -1 if flip else 1)
    draft.fact(first, "chase", second)


def kick(draft: Draft) -> None:
    """Add someone who kicks a ball."""
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose="kick", hands="swing", flip=flip)
    ball = draft.add("ball", base=base - 0.03, size="")
    stand_apart(draft, person, ball, 0.0, -1 if flip else 1)
    draft.fact(person, "kick", ball)


def fly_kite(draft: Draft) -> None:
    """Add someone who flies a kite."""
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose=draft.dice.choice(("stand", "run")), hands="up", flip=flip)
    kite = draft.add("kite", (-1 if flip else 1) * draft.dice.uniform(0.2, 0.34), draft.dice.uniform(0.3, 0.36))
    draft.change(kite, height=draft.dice.uniform(0.22, 0.27))
    draft.fact(person, "fly", kite)


# One or several of a kind, doing the same.


def animals(draft: Draft) -> None:
    """Add one animal, or up to four of a kind."""
    _many(draft, draft.dice.choice(SETTINGS[draft.setting].animals.split()), draft.dice.choice((1, 1, 1, 2, 2, 3, 4)))


def people(draft: Draft) -> None:
    """Add one to three people of a kind, doing the same."""
    _many(draft, draft.dice.choice(PEOPLE), draft.dice.choice((1, 2, 2, 3)))


def vehicles(draft: Draft, kinds: str = "car car bus truck bicycle motorcycle") -> None:
    """Add one vehicle, or two or three."""
    kind = draft.dice.choice(kinds.split())
    _many(draft, kind, draft.dice.choice((1, 1, 2, 3) if kind not in ("bus", "truck", "tractor") else (1,)))


def toys(draft: Draft, kinds: str = "ball balloon box bag flower ball balloon") -> None:
    """Add one to four of a toy."""
    kind = draft.dice.choice(kinds.split())
    _many(draft, kind, draft.dice.choice((1, 2, 3, 4)))


def _many(draft: Draft, kind: str, count: int) -> None:
    table = KINDS[kind]
    poses = {
        "person": ("stand", "walk", "run", "jump"),
        "animal": tuple(name for name in table.poses if name not in ("fly", "swim", "jump", "climb")),
    }
    pose = draft.dice.choice(poses.get(table.category, ("",)))
    hands = {"run": "swing", "walk": "swing", "jump": "cheer"}.get(pose, "") if kind in PEOPLE else ""
    flip, base = facing(draft), ground(draft)
    alike = {"size": ""} if count > 1 else {}
    if table.colours and draft.chance(0.6):
        alike["colour"] = draft.dice.choice(table.colours)
    scale = (1.25, 1.1, 0.86, 0.8)[count - 1] if table.height < 0.3 else 1.0 if count < 3 else 0.8
    for step in range(count):
        at = min(base + draft.dice.uniform(-0.03, 0.03), 0.96)
        if kind == "duck" and draft.setting == "lake":
            pose, at = "swim", draft.dice.uniform(0.6, 0.78)
        number = draft.add(kind, 0.0, at, pose=pose, flip=flip, hands=hands, scale=scale, **alike)
        if kind == "balloon":
            draft.change(number, base=at - draft.dice.uniform(0.0, 0.4))
        if pose == "jump" and kind in PEOPLE:
            draft.change(number, base=at - 0.06)
        if step:
            stand_apart(draft, number - 1, number, draft.dice.uniform(-0.02, 0.03), 1)


# Riding, sailing, leading and leaping.

_SADDLES = {"horse": (0.0, 0.64), "elephant": (-0.05, 0.9), "bicycle": (-0.19, 0.86), "motorcycle": (-0.34, 0.66)}


def ride(draft: Draft) -> None:
    """Add someone who rides an animal, a bicycle or a motorcycle, or stands on a skateboard."""
    kinds = ("bicycle", "skateboard") if draft.setting in INDOORS else (*_SADDLES, "skateboard", "horse", "bicycle")
    kind = draft.dice.choice(kinds)
    base, flip = ground(draft), facing(draft)
    animal = KINDS[kind].category == "animal"
    pose = draft.dice.choice(("walk", "run", "stand")) if animal else ""
    mount = draft.add(kind, base=base, flip=flip, pose=pose, size="")
    it, way = draft.entities[mount], -1 if flip else 1
    if kind == "skateboard":
        rider = someone(draft, base=base - 0.8 * it.height, pose="stand", hands="swing", flip=flip)
    else:
        forward, up = _SADDLES[kind]
        pose = "mount" if animal else "cycle"
        rider = someone(draft, base=base, scale=0.86, pose=pose, hands="grip", flip=flip)
        who = draft.entities[rider]
        hip = body(who.kind, pose, "grip").hip[1] - 0.02
        draft.change(rider, x=it.x + way * forward * it.height, base=base - up * it.height + hip * who.height)
    draft.change(rider, layer=base + 0.001)
    draft.fact(rider, "ride", mount)
    draft.fact(rider, "on", mount)


def sail(draft: Draft) -> None:
    """Add a boat on the water, with a person in it or empty."""
    base = draft.dice.uniform(*{"beach": (0.53, 0.57), "harbor": (0.58, 0.66)}.get(draft.setting, (0.68, 0.78)))
    boat = draft.add("boat", base=base, flip=facing(draft), scale=0.92)
    it = draft.entities[boat]
    if draft.chance(0.6):
        side = draft.dice.choice((-0.24, 0.26))
        person = someone(draft, base=base - 0.24 * it.height, scale=0.8, pose="aboard", flip=it.flip)
        draft.change(person, x=it.x + side * it.height, layer=base + 0.001)
        draft.fact(person, "in", boat)


def walk_animal(draft: Draft) -> None:
    """Add someone who leads an animal on a leash."""
    kinds = ("dog",) if draft.setting in INDOORS else ("dog", "dog", "dog", "horse", "cow", "elephant")
    kind = draft.dice.choice(kinds)
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose="walk", hands="lead", flip=flip)
    animal = draft.add(kind, base=base - 0.005, flip=flip, pose="walk", scale=0.86)
    ahead = 1 if kind == "dog" else -1
    stand_apart(draft, person, animal, draft.dice.uniform(0.02, 0.05), -ahead if flip else ahead)
    draft.fact(person, "walk" if kind == "dog" else "lead", animal)


def jump_over(draft: Draft) -> None:
    """Add a dog or a horse that jumps over something."""
    base, flip = ground(draft), facing(draft)
    below = draft.add(draft.dice.choice(("box", "fence")), base=base, size="", scale=0.85)
    kind = "dog" if draft.setting in INDOORS else draft.dice.choice(("dog", "dog", "horse"))
    lift = 0.72 * draft.entities[below].height
    animal = draft.add(kind, base=base - lift, pose="jump", flip=flip, size="", layer=base - 0.01)
    draft.fact(animal, "over", below)


# Sitting, standing beside, lying under: people, animals and furniture.


def sit(draft: Draft) -> None:
    """Add someone who sits on a seat, perhaps reading, or an animal does."""
    base = ground(draft)
    seats = ("chair", "sofa", "sofa", "box") if draft.setting in INDOORS else ("bench", "bench", "chair", "box")
    kind = draft.dice.choice(seats)
    seat = draft.add(kind, base=base, flip=facing(draft), size="")
    wide = kind in ("bench", "sofa")
    side = draft.dice.uniform(-0.4, 0.4) if wide else 0.0
    if draft.chance(0.3):
        animal = draft.add(draft.dice.choice(("cat", "dog", "cat", "bird")), pose="sit", flip=facing(draft), scale=0.85)
        if draft.entities[animal].kind == "bird":
            draft.change(animal, pose="stand")
        elif wide and draft.chance(0.4):
            draft.change(animal, pose="lie")
        it = draft.entities[seat]
        draft.change(animal, x=side * it.height, base=base - SEATS[kind] * it.height, layer=base + 0.001)
        draft.fact(animal, "on", seat)
        return
    person = seated(draft, seat, draft.dice.choice(PEOPLE), side=side)
    if draft.chance(0.4):
        entity = put_in_hand(draft, person, draft.dice.choice(("book", "book", "cup", "flower")), size="")
        draft.fact(person, "hold", entity)
        if draft.entities[entity].kind == "book":
            draft.fact(person, "read", entity)
    elif wide and draft.chance(0.45):
        draft.change(person, x=-0.5 * draft.entities[seat].height)
        seated(draft, seat, draft.dice.choice(PEOPLE), side=0.45)


def table(draft: Draft, tops: str = "cup flower book cat cup bag") -> None:
    """Add a table with something on it, perhaps with an animal or a thing under it."""
    base = ground(draft)
    number = draft.add("table", base=base)
    height = draft.entities[number].height
    kind = draft.dice.choice(tops.split())
    top = draft.add(kind, draft.dice.uniform(-0.16, 0.16), base, size="")
    if kind == "cat":
        draft.change(top, pose=draft.dice.choice(("sit", "lie")))
    draft.change(top, base=base - 0.97 * height, layer=base + 0.001)
    draft.fact(top, "on", number)
    if draft.chance(0.6):
        kind = draft.dice.choice(("dog", "cat", "ball", "rabbit", "box"))
        low = draft.add(kind, 0.0, base - 0.008, scale=0.74, size="")
        if KINDS[kind].category == "animal":
            draft.change(low, pose="lie" if kind != "rabbit" else "sit", flip=facing(draft))
        draft.change(low, layer=base - 0.004)
        draft.fact(low, "under", number)


def beside(draft: Draft, more: str = "") -> None:
    """Add someone beside an animal, a vehicle or a thing."""
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose="stand", flip=flip)
    entities = ("dog", "cat", "bicycle", "box", "chair", "rabbit", *more.split())
    if draft.setting not in INDOORS:
        entities += ("horse", "motorcycle", "sheep", "cow", "elephant")
    kind = "snowman" if draft.setting == "winter" and draft.chance(0.5) else draft.dice.choice(entities)
    poses = [name for name in KINDS[kind].poses if name in ("stand", "sit", "lie")]
    base -= draft.dice.uniform(0, 0.015)
    pose = draft.dice.choice(poses) if poses else ""
    other = draft.add(kind, base=base, pose=pose, flip=facing(draft))
    stand_apart(draft, person, other, draft.dice.uniform(0.0, 0.03), draft.dice.choice((-1, 1)))


def under_tree(draft: Draft) -> None:
    """Add someone or an animal under a tree."""
    base = ground(draft)
    draft.add("tree", base=base - 0.03, size="", scale=1.05)
    kind = draft.dice.choice(("dog", "cat", "rabbit", "sheep", "cow", "boy", "girl", "horse", "bench"))
    poses = {"boy": "stand", "girl": "stand", "horse": "stand", "bench": "", "cow": "lie", "sheep": "lie"}
    pose = poses.get(kind, "sit")
    low = draft.add(kind, draft.dice.choice((-0.12, 0.12)), base, pose=pose, flip=facing(draft), scale=0.8, size="")
    draft.fact(low, "under", low - 1)


def perched(draft: Draft) -> None:
    """Add an owl, a bird or a cat on something."""
    base = ground(draft)
    below = draft.add(draft.dice.choice(("box", "suitcase", "drum", "bench", "piano")), base=base, size="")
    it = draft.entities[below]
    top = {"box": 0.93, "suitcase": 0.76, "drum": 0.9, "bench": SEATS["bench"], "piano": 0.97}[it.kind]
    kind = draft.dice.choice(("owl", "owl", "bird", "cat"))
    pose = "stand" if kind == "bird" else "sit"
    side = (-0.2 if it.flip else 0.2) * it.height if it.kind == "piano" else 0.0
    above = draft.add(kind, it.x + side, base - top * it.height, pose=pose, flip=facing(draft), scale=0.8, size="")
    draft.change(above, layer=base + 0.001)
    draft.fact(above, "on", below)


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
    """Return the event in which someone does something to one of several kinds.

    Args:
        relation: what is done.
        kinds: the kinds to which it may be done, separated by blanks.
        hands: what the hands do.
        pose: of the person.
        gap: the free space between the two.
        ahead: whether the thing is ahead of the person.
        turned: whether the thing looks the other way than the person.
        held: the kinds that the person may hold, separated by blanks.
    """

    def make(draft: Draft) -> None:
        base, flip, kind = ground(draft), facing(draft), draft.dice.choice(kinds.split())
        person = someone(draft, base=base, pose=pose, hands=hands, flip=flip)
        poses = [name for name in KINDS[kind].poses if name in (("stand",) if kind in PEOPLE else _STILL)]
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
    """Add someone who has just thrown a ball."""
    flip = facing(draft)
    person = someone(draft, base=ground(draft), pose="stand", hands="throw", flip=flip)
    ball = put_in_hand(draft, person, "ball", size="")
    it = draft.entities[ball]
    draft.change(ball, x=it.x + (-0.12 if flip else 0.12), base=it.base - 0.05)
    draft.fact(person, "throw", ball)


def eat(draft: Draft) -> None:
    """Add someone who eats, standing or on a seat, or a monkey that does."""
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
    """Add someone who sweeps with a broom."""
    person = someone(draft, base=ground(draft), pose="stand", hands="sweep", flip=facing(draft))
    broom = put_in_hand(draft, person, "broom")
    draft.change(broom, base=draft.entities[person].base + 0.004)
    for relation in ("hold", "sweep with"):
        draft.fact(person, relation, broom)


def use_laptop(draft: Draft) -> None:
    """Add someone who sits with a laptop on their knees."""
    seats = ("chair", "sofa") if draft.setting in INDOORS else ("bench", "chair", "suitcase")
    seat = draft.add(draft.dice.choice(seats), base=ground(draft), flip=facing(draft), size="")
    person = seated(draft, seat, draft.dice.choice(PEOPLE))
    laptop = put_in_hand(draft, person, "laptop")
    it, way = draft.entities[laptop], -1 if draft.entities[person].flip else 1
    draft.change(laptop, x=it.x + way * 0.07, base=it.base + 0.01, layer=draft.entities[seat].base + 0.002)
    draft.fact(person, "use", laptop)


def climb(draft: Draft) -> None:
    """Add someone who climbs a ladder, or a monkey a tree."""
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
    """Add someone who drives a tractor."""
    base, flip = ground(draft), facing(draft)
    tractor = draft.add("tractor", base=base, flip=flip)
    it, way = draft.entities[tractor], -1 if flip else 1
    person = someone(draft, base=base - 0.58 * it.height, scale=0.78, pose="aboard", hands="grip", flip=flip)
    draft.change(person, x=it.x - 0.32 * way * it.height, layer=base + 0.001)
    for relation in ("drive", "on"):
        draft.fact(person, relation, tractor)


def glide(draft: Draft) -> None:
    """Add someone who rides a scooter, sits on a sled in the snow or comes down a slide."""
    kinds = {"winter": ("sled",), "playground": ("slide", "slide", "scooter")}.get(draft.setting, ("scooter",))
    kind, base, flip = draft.dice.choice(kinds), ground(draft), facing(draft)
    below, way = draft.add(kind, base=base, flip=flip), -1 if flip else 1
    it = draft.entities[below]
    if kind == "sled":
        rider = seated(draft, below, draft.dice.choice(PEOPLE))
    elif kind == "slide":
        child = draft.dice.choice(("boy", "girl"))
        rider = draft.add(child, base=base, pose="sit", hands="cheer", flip=flip, scale=0.8)
        who = draft.entities[rider]
        up = 0.5 * it.height - body(who.kind, "sit", "cheer").hip[1] * who.height
        draft.change(rider, x=it.x - 0.1 * way * it.height, base=base - up, layer=base + 0.001)
    else:
        rider = someone(draft, base=base - 0.02, pose="stand", hands="grip", flip=flip)
        who = draft.entities[rider]
        grip = body(who.kind, "stand", "grip").hands[0]
        draft.change(below, height=(grip[1] * who.height + 0.02) / 0.95)
        handlebar = 0.24 * draft.entities[below].height
        draft.change(rider, x=it.x + way * (handlebar - grip[0] * who.height), layer=base + 0.001)
    draft.fact(rider, "slide down" if kind == "slide" else "ride", below)
    if (rider, "on", below) not in {(fact.subject, fact.relation, fact.object) for fact in draft.facts}:
        draft.fact(rider, "on", below)


def train(draft: Draft) -> None:
    """Add a train on the track."""
    draft.add("train", base=0.64, flip=facing(draft))


# All events: what happens, its weight and its settings.


class Event(NamedTuple):
    """A way to fill a part of a picture: its maker, its weight, where it happens."""

    make: Callable[[Draft], None]
    weight: float
    settings: tuple[str, ...] = tuple(SETTINGS)


OUTDOORS = tuple(name for name in SETTINGS if name not in INDOORS)
_OPEN = ("desert", "field", "mountain", "winter", "forest")
ANYONE, _FODDER = "man woman boy girl", "bucket bucket apple banana"
_TAME, _WILD = "dog cat horse pig cow sheep rabbit", "fox monkey penguin bear lion turtle zebra giraffe"
STANDING, _LEANT_ON = "tractor fountain sign lamp bush bush", "car fence lamp tree tractor sign"
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
    Event(partial(beside, more=f"{_WILD} {STANDING}"), 2.6),
    Event(beside, 5.0, ("winter",)),
    Event(under_tree, 0.6, OUTDOORS),
    Event(deed("push", "cart cart sled", "push", "walk", gap=0.015), 1.1),
    Event(deed("pull", "cart suitcase suitcase sled", "pull", "walk", gap=0.01, ahead=False, turned=True), 1.2),
    Event(deed("feed", f"{_TAME} duck elephant {_WILD}", "front", gap=0.03, turned=True, held=_FODDER), 1.8),
    Event(deed("pet", f"{_TAME} lion", "touch", gap=-0.02, turned=True), 1.3),
    Event(deed("hug", f"{ANYONE} dog bear", "hug", gap=-0.07, turned=True), 1.0),
    Event(deed("lean against", _LEANT_ON, "fold", "lean", gap=-0.03, ahead=False), 1.1, OUTDOORS),
    Event(deed("photograph", f"{ANYONE} {_WILD} dog", "eye", gap=0.09, turned=True, held="camera"), 1.8),
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
