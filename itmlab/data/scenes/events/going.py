"""Riding, sailing, leading and leaping."""

from ..draft import Draft
from ..draw.body import body
from ..kinds import KINDS
from .staging import INDOORS, facing, ground, someone, stand_apart

_SADDLES = {"horse": (0.0, 0.64), "elephant": (-0.05, 0.9), "bicycle": (-0.19, 0.86), "motorcycle": (-0.34, 0.66)}


def ride(draft: Draft) -> None:
    """Someone rides an animal, a bicycle or a motorcycle, or stands on a skateboard."""
    kinds = ("bicycle", "skateboard") if draft.setting in INDOORS else (*_SADDLES, "skateboard", "horse", "bicycle")
    kind = draft.dice.choice(kinds)
    base, flip = ground(draft), facing(draft)
    animal = KINDS[kind].category == "animal"
    mount = draft.add(
        kind, base=base, flip=flip, pose=draft.dice.choice(("walk", "run", "stand")) if animal else "", size=""
    )
    it = draft.things[mount]
    way = -1 if flip else 1
    if kind == "skateboard":
        rider = someone(draft, base=base - 0.8 * it.height, pose="stand", hands="swing", flip=flip)
    else:
        forward, up = _SADDLES[kind]
        pose, hands = ("mount", "grip") if animal else ("cycle", "grip")
        rider = someone(draft, base=base, scale=0.86, pose=pose, hands=hands, flip=flip)
        who = draft.things[rider]
        hip = body(who.kind, pose, hands).hip[1] - 0.02
        draft.change(rider, x=it.x + way * forward * it.height, base=base - up * it.height + hip * who.height)
    draft.change(rider, layer=base + 0.001)
    draft.fact(rider, "ride", mount)
    draft.fact(rider, "on", mount)


def sail(draft: Draft) -> None:
    """A boat on the water, with someone in it or nobody."""
    base = draft.dice.uniform(0.53, 0.57) if draft.setting == "beach" else draft.dice.uniform(0.68, 0.78)
    boat = draft.add("boat", base=base, flip=facing(draft), scale=0.92)
    it = draft.things[boat]
    if draft.chance(0.6):
        side = draft.dice.choice((-0.24, 0.26))
        person = someone(draft, base=base - 0.24 * it.height, scale=0.8, pose="aboard", flip=it.flip)
        draft.change(person, x=it.x + side * it.height, layer=base + 0.001)
        draft.fact(person, "in", boat)


def walk_animal(draft: Draft) -> None:
    """Someone leads an animal on a leash."""
    kind = draft.dice.choice(
        ("dog", "dog", "dog", "horse", "cow", "elephant") if draft.setting not in INDOORS else ("dog",)
    )
    base, flip = ground(draft), facing(draft)
    person = someone(draft, base=base, pose="walk", hands="lead", flip=flip)
    animal = draft.add(kind, base=base - 0.005, flip=flip, pose="walk", scale=0.86)
    gap = draft.dice.uniform(0.02, 0.05)
    way = 1 if kind == "dog" else -1
    stand_apart(draft, person, animal, gap, way if not flip else -way)
    draft.fact(person, "walk" if kind == "dog" else "lead", animal)


def jump_over(draft: Draft) -> None:
    """A dog or a horse jumps over something."""
    base, flip = ground(draft), facing(draft)
    below = draft.add(draft.dice.choice(("box", "fence")), base=base, size="", scale=0.85)
    kind = "dog" if draft.setting in INDOORS else draft.dice.choice(("dog", "dog", "horse"))
    lift = 0.72 * draft.things[below].height
    animal = draft.add(kind, base=base - lift, pose="jump", flip=flip, size="", layer=base - 0.01)
    draft.fact(animal, "over", below)
